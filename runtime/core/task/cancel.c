/* cancel.c: cancellations, and what sets them off: kills, failures of parents and groups, deadlines of calls and of
 * blocks.
 *
 * A cancellation has a target: the whole task, or a scope, which is one call (a frame) or one `with deadline` block.
 * It is asked for at any time and delivered when the task next goes on, unless a finally within the target runs: then
 * it waits (T_CANCEL). */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

/* ---- cancellation ---- */

static const char *cancel_text(const char *why)
{
    return why ? why : "cancelled";
}

static TfyFrame *frame_by_scope(TfyTask *task, uint32_t scope)
{
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev)
        if (frame_at(task, at)->scope == scope) return frame_at(task, at);
    return NULL;
}

static Deadline *deadline_by_scope(Cold *cold, uint32_t scope)
{
    for (uint32_t i = cold->deadline_count; i > 0; i--)
        if (cold->deadlines[i - 1].scope == scope) return &cold->deadlines[i - 1];
    return NULL;
}

/* The outermost scope that has run out of time, or the whole task (NO_INDEX), as far as no finally on the way holds
 * it back. 0: nothing. */
static uint32_t deliverable(const TfyTask *task)
{
    const Cold *cold = task->cold;
    uint32_t target = 0, deadline = cold->deadline_count;
    if (!(task->state & T_CANCEL)) return 0;
    if (cold->kill && cold->kill_force) return NO_INDEX;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        const TfyFrame *frame = frame_at(task, at);
        for (; deadline && cold->deadlines[deadline - 1].frame == at; deadline--) {
            const Deadline *inner = &cold->deadlines[deadline - 1];
            if (inner->mask < frame->mask) return target; /* a finally runs within it */
            if (inner->flags & FRAME_EXPIRED) target = inner->scope;
        }
        if (frame->mask) return target;
        if (frame->flags & FRAME_EXPIRED) target = frame->scope;
    }
    return cold->kill ? NO_INDEX : target;
}

bool tfy__cancel_ready(const TfyTask *task)
{
    return deliverable(task) != 0;
}

static void refresh_cancel(TfyTask *task)
{
    const Cold *cold = cold_of(task);
    bool waits = cold->kill;
    for (uint32_t i = 0; i < cold->deadline_count && !waits; i++) waits = cold->deadlines[i].flags & FRAME_EXPIRED;
    for (uint32_t at = task->top; at != TFY_NO_FRAME && !waits; at = frame_at(task, at)->prev)
        waits = frame_at(task, at)->flags & FRAME_EXPIRED;
    if (!waits) task->state &= ~(uint32_t)T_CANCEL;
}

void tfy__cancel_frame_ends(TfyTask *task, TfyFrame *frame)
{
    tfy__timers_del(&task->loop->timers, frame->timer);
    frame->timer = 0;
    if (!(frame->flags & FRAME_EXPIRED)) return;
    frame->flags &= ~FRAME_EXPIRED;
    refresh_cancel(task);
}

/* A scope has run out of time. False: it has ended meanwhile. */
static bool expire(TfyTask *task, uint32_t scope)
{
    TfyFrame *frame = frame_by_scope(task, scope);
    Deadline *deadline = frame ? NULL : deadline_by_scope(cold_of(task), scope);
    if (!frame && !deadline) return false;
    uint64_t *timer = frame ? &frame->timer : &deadline->timer;
    tfy__timers_del(&task->loop->timers, *timer); /* a replay armed it for what the history brings */
    *timer = 0;
    if (frame)
        frame->flags |= FRAME_EXPIRED;
    else
        deadline->flags |= FRAME_EXPIRED;
    return true;
}

void tfy__cancel_apply(Cold *cold, uint32_t scope, bool force, const char *why)
{
    TfyTask *task = cold->task;
    if (!task) return;
    if (scope != NO_INDEX) {
        if (!expire(task, scope)) return;
    } else {
        if (cold->cancelled && !force) return;
        if (!cold->kill) cold->kill_why = cancel_text(why);
        cold->kill = true;
        cold->kill_force |= force;
    }
    task->state |= T_CANCEL;
    if (!tfy__cancel_ready(task)) return;
    if (cold->pending) tfy__step_cancel(cold);
    tfy__sched_wake(task);
}

static bool record_cancel(Cold *cold, const char *why, bool force)
{
    const TfyLogRecord *record;
    if (!tfy__history_expect(cold, TFY_R_TASK_CANCEL, 0, &record)) return false;
    if (record) {
        tfy__history_take(cold);
        return true;
    }
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_PASSAGES, cold->task->passages);
    tfy__put_text(&out, TFY_P_WHY, why);
    tfy__put_true(&out, TFY_P_FORCE, force);
    tfy__put_end(&out);
    bool ok = tfy__record_append(cold, TFY_R_TASK_CANCEL, cold->log.step, 0, &out) > 0;
    tfy__buffer_free(&out);
    return ok;
}

/* Cleanup is skipped: children first, then the task as it stands. */
static void end_by_force(TfyTask *task)
{
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        for (uint32_t child = frame_at(task, at)->children; child;) {
            Cold *cold = tfy__child(task->loop, child);
            if (!cold) return;
            child = cold->siblings.next;
            tfy__cancel_request(cold, "its parent was killed", NULL, true);
            cold->parent = NULL; /* it ends by itself; the parent does not wait */
        }
        frame_at(task, at)->children = 0;
    }
    tfy__task_release_frames(task);
}

/* True: it is the target. */
static bool mark_scope(TfyTask *task, uint16_t *flags, uint64_t *timer, bool target)
{
    tfy__timers_del(&task->loop->timers, *timer);
    *timer = 0;
    *flags &= ~(FRAME_EXPIRED | FRAME_TIMED_OUT);
    if (target) *flags |= FRAME_TIMED_OUT;
    return target;
}

/* The scopes that a cancellation unwinds have no deadline of their own any more, which could pass while their cleanup
 * runs; only the target's boundary makes a Timeout of it. */
static void mark_scopes(TfyTask *task, uint32_t target)
{
    Cold *cold = cold_of(task);
    uint32_t deadline = cold->deadline_count;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        TfyFrame *frame = frame_at(task, at);
        for (; deadline && cold->deadlines[deadline - 1].frame == at; deadline--) {
            Deadline *inner = &cold->deadlines[deadline - 1];
            if (mark_scope(task, &inner->flags, &inner->timer, inner->scope == target)) return;
        }
        if (mark_scope(task, &frame->flags, &frame->timer, frame->scope == target)) return;
    }
}

/* Where the task stands. */
static uint32_t line_of(const TfyTask *task)
{
    if (task->top == TFY_NO_FRAME) return cold_of(task)->workflow->line;
    const TfyFrame *frame = frame_at(task, task->top);
    return frame->pc ? frame->workflow->resume[frame->pc - 1]->line : frame->workflow->line;
}

bool tfy__cancel_deliver(TfyTask *task)
{
    Cold *cold = cold_of(task);
    uint32_t target = deliverable(task);
    bool whole = target == NO_INDEX, force = whole && cold->kill_force;
    const char *why = whole ? cold->kill_why : "timeout";
    if (cold->pending) tfy__step_cancel(cold);
    mark_scopes(task, target);
    if (whole) cold->kill = cold->kill_force = false;
    if (whole) cold->cancelled = true;
    refresh_cancel(task);
    if (!record_cancel(cold, why, force)) {
        tfy__sched_halt(task);
        return false;
    }
    if (force) end_by_force(task);
    tfy__answer_drop(task);
    tfy_drop(task, tfy_take_error(task));
    if (strcmp(why, OVER_MEMORY) == 0) {
        tfy_panic(task, line_of(task), "the task uses more memory than a task may");
    } else {
        TfyObj *text = tfy_string_of(task, why, strlen(why));
        if (text) tfy_fail(task, &tfy_type_cancelled, 0, (TfyValue[]){tfy_of_obj(text)});
    }
    tfy_cut(task, 0);
    if (!force) return true;
    tfy__task_finish(task);
    return false;
}

void tfy__cancel_request(Cold *cold, const char *why, const char *by, bool force)
{
    tfy__out_release(cold->run->loop); /* those that are not meant wait again */
    TfyTask *task = cold->task;
    if (!task || cold->end_state || (cold->cancelled && !force) || (cold->kill && (cold->kill_force || !force))) return;
    if (!tfy__history_live(cold)) { /* the arrival may stand in its history */
        cold->cancel_again = why;
        cold->cancel_again_force |= force;
        return;
    }
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_NAME, "kill");
    tfy__put_flag(&out, TFY_P_FORCE, force);
    tfy__put_text(&out, TFY_P_WHY, why);
    tfy__put_text(&out, TFY_P_BY, by ? by : "");
    tfy__put_int(&out, TFY_P_PASSAGES, task->passages);
    tfy__put_true(&out, TFY_P_IN_SLICE, by == cold->log.path); /* it kills itself */
    tfy__put_end(&out);
    if (tfy__record_append(cold, TFY_R_SIGNAL, cold->log.step, 0, &out) > 0)
        tfy__cancel_apply(cold, NO_INDEX, force, why);
    tfy__buffer_free(&out);
}

void tfy__children_cancel(TfyTask *task, const TfyFrame *frame, const char *why)
{
    TfyLoop *loop = task->loop;
    for (uint32_t child = frame->children; child;) {
        Cold *cold = tfy__child(loop, child);
        if (!cold) return;
        child = cold->siblings.next;
        tfy__cancel_request(cold, why, NULL, false);
    }
}

bool tfy_kill_task(TfyTask *task, const TfyPoint *point, int64_t handle)
{
    if (task->state & T_HALTED) return false;
    Cold *cold = cold_of(task);
    cold->log.step++;
    Cold *target = tfy__task_known(cold->run, handle);
    const TfyLogRecord *record;
    if (!tfy__history_expect(cold, TFY_R_VALUE, point->number, &record)) return tfy__sched_halt(task), false;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_KILL, target ? target->log.path : "unknown");
    tfy__put_end(&out);
    bool ok = !out.failed;
    if (record && ok && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(cold, record, "it kills task %s", target ? target->log.path : "unknown");
        ok = false;
    } else if (record && ok) {
        tfy__history_take(cold);
    } else {
        if (target) tfy__cancel_request(target, "killed", cold->log.path, false);
        ok = tfy__record_append(cold, TFY_R_VALUE, cold->log.step, point->number, &out) > 0;
    }
    tfy__buffer_free(&out);
    if (!ok) tfy__sched_halt(task);
    return ok;
}

/* ---- deadlines of calls and blocks ---- */

static bool is_gone(const Cold *cold, uint64_t timer)
{
    return timer && !tfy__timers_has(&cold->run->loop->timers, timer);
}

/* Timers carry only the task; the scope that ran out is the outermost one whose timer is gone. 0: none. */
static uint32_t expired_scope(Cold *cold)
{
    TfyTask *task = cold->task;
    uint32_t scope = 0, deadline = cold->deadline_count;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        for (; deadline && cold->deadlines[deadline - 1].frame == at; deadline--)
            if (is_gone(cold, cold->deadlines[deadline - 1].timer)) scope = cold->deadlines[deadline - 1].scope;
        if (is_gone(cold, frame_at(task, at)->timer)) scope = frame_at(task, at)->scope;
    }
    return scope;
}

static void scope_expired(void *arg)
{
    Cold *cold = arg;
    TfyTask *task = cold->task;
    uint32_t scope = cold->run->loop->draining ? 0 : expired_scope(cold);
    if (!scope) return;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_SCOPE, scope);
    tfy__put_int(&out, TFY_P_PASSAGES, task->passages);
    tfy__put_end(&out);
    if (tfy__record_append(cold, TFY_R_TIMER_FIRED, cold->log.step, 0, &out) > 0)
        tfy__cancel_apply(cold, scope, false, "timeout");
    tfy__buffer_free(&out);
}

uint64_t tfy__scope_arm(Cold *cold, int64_t due_ms)
{
    TfyLoop *loop = cold->run->loop;
    uint64_t timer = tfy__timers_add(&loop->timers, tfy__due_ns(loop, due_ms), scope_expired, cold);
    if (!timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
    return timer;
}

/* When a scope's time is up: recorded, and a timer for it. False: halted. */
static bool arm_scope(Cold *cold, const TfyPoint *point, int64_t timeout_ms, const char *why, uint64_t *timer)
{
    TfyTask *task = cold->task;
    TfyLoop *loop = task->loop;
    const TfyLogRecord *record;
    int64_t due_ms = tfy__due_from_now(loop, timeout_ms);
    if (!tfy__history_expect(cold, TFY_R_TASK_YIELD, point->number, &record)) return tfy__sched_halt(task), false;
    if (record) {
        due_ms = tfy__step_recorded_due(loop, record);
        tfy__history_take(cold);
    } else {
        TfyBuffer out = {0};
        tfy__put_due(&out, due_ms, why);
        int64_t lsn = tfy__record_append(cold, TFY_R_TASK_YIELD, cold->log.step, point->number, &out);
        tfy__buffer_free(&out);
        if (lsn < 0) return tfy__sched_halt(task), false;
    }
    if (loop->replay_only) return true;
    *timer = tfy__scope_arm(cold, due_ms);
    return *timer != 0;
}

bool tfy__scope_deadline(Cold *cold, const TfyPoint *point, int64_t timeout_ms)
{
    return arm_scope(cold, point, timeout_ms, "timeout", &frame_at(cold->task, cold->task->top)->timer);
}

void tfy__scope_raise_timeout(TfyTask *task, uint32_t line, const char *message)
{
    tfy_drop(task, tfy_take_error(task));
    TfyObj *text = tfy_string_of(task, message, strlen(message));
    if (text) tfy_fail(task, &tfy_type_timeout, line, (TfyValue[]){tfy_of_obj(text), tfy_of_bool(false)});
    tfy_cut(task, 0);
}

static bool reserve_deadline(Cold *cold)
{
    return GROW(cold->deadlines, cold->deadline_cap, cold->deadline_count + 1, 4);
}

bool tfy_deadline_begin(TfyTask *task, const TfyPoint *point, int64_t ms, int64_t *out)
{
    if (task->state & T_HALTED) return false;
    Cold *cold = cold_of(task);
    if (!reserve_deadline(cold)) return tfy__starved(task);
    uint64_t timer = 0;
    cold->log.step++;
    if (!arm_scope(cold, point, ms, "deadline", &timer)) return false;
    *out = ++task->scopes;
    take_care(task);
    cold->deadlines[cold->deadline_count++] =
        (Deadline){.frame = task->top, .scope = task->scopes, .mask = frame_at(task, task->top)->mask, .timer = timer};
    return true;
}

/* The innermost block ends. Answers its flags. */
static uint16_t pop_deadline(Cold *cold)
{
    Deadline *last = &cold->deadlines[--cold->deadline_count];
    tfy__timers_del(&cold->run->loop->timers, last->timer);
    return last->flags;
}

void tfy__deadlines_drop(TfyTask *task)
{
    Cold *cold = cold_of(task);
    while (cold->deadline_count && cold->deadlines[cold->deadline_count - 1].frame == task->top) pop_deadline(cold);
}

void tfy_deadline_end(TfyTask *task, uint32_t line, int64_t scope)
{
    Cold *cold = cold_of(task);
    const Deadline *found = deadline_by_scope(cold, (uint32_t)scope);
    if (!found) return;
    uint32_t index = (uint32_t)(found - cold->deadlines);
    uint16_t flags = 0;
    while (cold->deadline_count > index) flags = pop_deadline(cold);
    if (task->state & T_CANCEL) refresh_cancel(task);
    if (flags & FRAME_TIMED_OUT && tfy_error_is(task, &tfy_type_cancelled))
        tfy__scope_raise_timeout(task, line, "the deadline has passed");
}

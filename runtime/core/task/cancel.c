/* cancel.c: cancellations and their causes: kills, failures of parents and groups, deadlines of calls and of
 * blocks.
 *
 * A cancellation has a target: the whole task, or a scope, which is one call (a frame) or one `with deadline`
 * block. It can be requested at any time and is delivered when the task next continues, unless a finally within
 * the target runs: then it waits (T_CANCEL). */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"

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

static Deadline *deadline_by_scope(TaskRest *rest, uint32_t scope)
{
    for (uint32_t i = rest->deadline_count; i > 0; i--)
        if (rest->deadlines[i - 1].scope == scope) return &rest->deadlines[i - 1];
    return NULL;
}

/* The outermost scope that has run out of time, or the whole task (NO_INDEX), unless a finally within it defers
 * the delivery. 0: nothing. */
static uint32_t deliverable(const TfyTask *task)
{
    const TaskRest *rest = task->rest;
    uint32_t target = 0, deadline = rest->deadline_count;
    if (!(task->state & T_CANCEL)) return 0;
    if (rest->kill && rest->kill_force) return NO_INDEX;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        const TfyFrame *frame = frame_at(task, at);
        for (; deadline && rest->deadlines[deadline - 1].frame == at; deadline--) {
            const Deadline *inner = &rest->deadlines[deadline - 1];
            if (inner->mask < frame->mask) return target; /* a finally runs within it */
            if (inner->flags & FRAME_EXPIRED) target = inner->scope;
        }
        if (frame->mask) return target;
        if (frame->flags & FRAME_EXPIRED) target = frame->scope;
    }
    return rest->kill ? NO_INDEX : target;
}

bool tfy__cancel_ready(const TfyTask *task)
{
    return deliverable(task) != 0;
}

static void refresh_cancel(TfyTask *task)
{
    const TaskRest *rest = rest_of(task);
    bool waits = rest->kill;
    for (uint32_t i = 0; i < rest->deadline_count && !waits; i++) waits = rest->deadlines[i].flags & FRAME_EXPIRED;
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

/* A scope has run out of time. False: it has finished meanwhile. */
static bool expire(TfyTask *task, uint32_t scope)
{
    TfyFrame *frame = frame_by_scope(task, scope);
    Deadline *deadline = frame ? NULL : deadline_by_scope(rest_of(task), scope);
    if (!frame && !deadline) return false;
    uint64_t *timer = frame ? &frame->timer : &deadline->timer;
    tfy__timers_del(&task->loop->timers, *timer); /* a replay set it for a timeout that the history contains */
    *timer = 0;
    if (frame)
        frame->flags |= FRAME_EXPIRED;
    else
        deadline->flags |= FRAME_EXPIRED;
    return true;
}

void tfy__cancel_apply(TaskRest *rest, uint32_t scope, bool force, const char *why)
{
    TfyTask *task = rest->task;
    if (!task) return;
    if (scope != NO_INDEX) {
        if (!expire(task, scope)) return;
    } else {
        if (rest->cancelled && !force) return;
        if (!rest->kill) rest->kill_why = cancel_text(why);
        rest->kill = true;
        rest->kill_force |= force;
    }
    CHECK(!rest->kill || rest->kill_why);
    task->state |= T_CANCEL;
    if (!tfy__cancel_ready(task)) return;
    if (rest->step) tfy__step_give_up(rest);
    tfy__sched_wake(task);
}

void tfy__put_cancel(TfyBuffer *out, int64_t passages, const char *why, bool force)
{
    tfy__put_begin(out);
    tfy__put_int(out, TFY_P_PASSAGES, passages);
    tfy__put_text(out, TFY_P_WHY, why);
    tfy__put_true(out, TFY_P_FORCE, force);
}

void tfy__put_kill(TfyBuffer *out, const TfyLoop *loop, const char *why, const char *by, bool force)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_NAME, "kill");
    tfy__put_flag(out, TFY_P_FORCE, force);
    tfy__put_text(out, TFY_P_WHY, why);
    tfy__put_text(out, TFY_P_BY, by ? by : "");
    if (by) tfy__put_via(out, loop);
}

static bool record_cancel(TaskRest *rest, const char *why, bool force)
{
    const TfyLogRecord *record;
    if (!tfy__history_expect(rest, TFY_R_TASK_CANCEL, 0, &record)) return false;
    if (record) {
        tfy__history_take(rest);
        return true;
    }
    TfyBuffer out = {0};
    tfy__put_cancel(&out, rest->task->passages, why, force);
    tfy__put_end(&out);
    bool ok = tfy__record_append(rest, TFY_R_TASK_CANCEL, rest->log.step, 0, &out) > 0;
    tfy__buffer_free(&out);
    return ok;
}

/* Ends a task without cleanup: requests the end of its children, then releases its frames as they are. */
static void end_by_force(TfyTask *task)
{
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        for (uint32_t child = frame_at(task, at)->children; child;) {
            TaskRest *rest = tfy__child(task->loop, child);
            if (!rest) return;
            child = rest->siblings.next;
            tfy__cancel_request(rest, "its parent was killed", NULL, true);
            rest->parent = NULL; /* it finishes by itself; the parent does not wait */
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

/* The scopes that a cancellation unwinds lose their own deadlines, which could otherwise pass during their
 * cleanup; only the target's boundary turns the cancellation into a Timeout. */
static void mark_scopes(TfyTask *task, uint32_t target)
{
    TaskRest *rest = rest_of(task);
    uint32_t deadline = rest->deadline_count;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        TfyFrame *frame = frame_at(task, at);
        for (; deadline && rest->deadlines[deadline - 1].frame == at; deadline--) {
            Deadline *inner = &rest->deadlines[deadline - 1];
            if (mark_scope(task, &inner->flags, &inner->timer, inner->scope == target)) return;
        }
        if (mark_scope(task, &frame->flags, &frame->timer, frame->scope == target)) return;
    }
}

/* The source line at which the task is. */
static uint32_t line_of(const TfyTask *task)
{
    if (task->top == TFY_NO_FRAME) return rest_of(task)->workflow->line;
    const TfyFrame *frame = frame_at(task, task->top);
    return frame->pc ? frame->workflow->resume[frame->pc - 1]->line : frame->workflow->line;
}

bool tfy__cancel_deliver(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    uint32_t target = deliverable(task);
    CHECK(target != NO_INDEX || rest->kill);
    CHECK(task->state & T_CANCEL);
    bool whole = target == NO_INDEX, force = whole && rest->kill_force;
    const char *why = whole ? rest->kill_why : "timeout";
    if (rest->step) tfy__step_give_up(rest);
    mark_scopes(task, target);
    if (whole) rest->kill = rest->kill_force = false;
    if (whole) rest->cancelled = true;
    refresh_cancel(task);
    if (!record_cancel(rest, why, force)) {
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

void tfy__cancel_request(TaskRest *rest, const char *why, const char *by, bool force)
{
    tfy__out_release(rest->run->loop); /* tasks that this does not concern will wait again */
    TfyTask *task = rest->task;
    if (!task || rest->end_state || (rest->cancelled && !force) || (rest->kill && (rest->kill_force || !force))) return;
    if (!tfy__history_live(rest)) { /* the arrival may be in its history */
        rest->cancel_again = why;
        rest->cancel_again_force |= force;
        return;
    }
    TfyBuffer out = {0};
    tfy__put_kill(&out, rest->run->loop, why, by, force);
    tfy__put_int(&out, TFY_P_PASSAGES, task->passages);
    tfy__put_true(&out, TFY_P_IN_SLICE, by == rest->log.path); /* it kills itself */
    tfy__put_end(&out);
    if (tfy__record_append(rest, TFY_R_SIGNAL, rest->log.step, 0, &out) > 0)
        tfy__cancel_apply(rest, NO_INDEX, force, why);
    tfy__buffer_free(&out);
}

void tfy__children_cancel(TfyTask *task, const TfyFrame *frame, const char *why)
{
    TfyLoop *loop = task->loop;
    for (uint32_t child = frame->children; child;) {
        TaskRest *rest = tfy__child(loop, child);
        if (!rest) return;
        child = rest->siblings.next;
        tfy__cancel_request(rest, why, NULL, false);
    }
}

bool tfy_kill_task(TfyTask *task, const TfyPoint *point, int64_t handle)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    rest->log.step++;
    TaskRest *target = tfy__task_known(rest->run, handle);
    const TfyLogRecord *record;
    if (!tfy__history_expect(rest, TFY_R_VALUE, point->number, &record)) return tfy__sched_halt(task), false;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_KILL, target ? target->log.path : "unknown");
    tfy__put_end(&out);
    bool ok = !out.failed;
    if (record && ok && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(rest, record, "it kills task %s", target ? target->log.path : "unknown");
        ok = false;
    } else if (record && ok) {
        tfy__history_take(rest);
    } else {
        if (target) tfy__cancel_request(target, "killed", rest->log.path, false);
        ok = tfy__record_append(rest, TFY_R_VALUE, rest->log.step, point->number, &out) > 0;
    }
    tfy__buffer_free(&out);
    if (!ok) tfy__sched_halt(task);
    return ok;
}

/* ---- deadlines of calls and blocks ---- */

static bool is_gone(const TaskRest *rest, uint64_t timer)
{
    return timer && !tfy__timers_has(&rest->run->loop->timers, timer);
}

/* Timers carry only the task; the scope that ran out is the outermost one whose timer has fired. 0: none. */
static uint32_t expired_scope(TaskRest *rest)
{
    TfyTask *task = rest->task;
    uint32_t scope = 0, deadline = rest->deadline_count;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        for (; deadline && rest->deadlines[deadline - 1].frame == at; deadline--)
            if (is_gone(rest, rest->deadlines[deadline - 1].timer)) scope = rest->deadlines[deadline - 1].scope;
        if (is_gone(rest, frame_at(task, at)->timer)) scope = frame_at(task, at)->scope;
    }
    return scope;
}

static void scope_expired(void *arg)
{
    TaskRest *rest = arg;
    TfyTask *task = rest->task;
    uint32_t scope = rest->run->loop->draining ? 0 : expired_scope(rest);
    if (!scope) return;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_SCOPE, scope);
    tfy__put_int(&out, TFY_P_PASSAGES, task->passages);
    tfy__put_end(&out);
    if (tfy__record_append(rest, TFY_R_TIMER_FIRED, rest->log.step, 0, &out) > 0)
        tfy__cancel_apply(rest, scope, false, "timeout");
    tfy__buffer_free(&out);
}

uint64_t tfy__scope_arm(TaskRest *rest, int64_t due_ms)
{
    TfyLoop *loop = rest->run->loop;
    uint64_t timer = tfy__timers_add(&loop->timers, tfy__due_ns(loop, due_ms), scope_expired, rest);
    if (!timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
    return timer;
}

/* Records when a scope's time is up, and sets a timer for it. False: halted. */
static bool arm_scope(TaskRest *rest, const TfyPoint *point, int64_t timeout_ms, const char *why, uint64_t *timer)
{
    TfyTask *task = rest->task;
    TfyLoop *loop = task->loop;
    const TfyLogRecord *record;
    int64_t due_ms = tfy__due_from_now(loop, timeout_ms);
    if (!tfy__history_expect(rest, TFY_R_TASK_YIELD, point->number, &record)) return tfy__sched_halt(task), false;
    if (record) {
        due_ms = tfy__step_recorded_due(loop, record);
        tfy__history_take(rest);
    } else {
        TfyBuffer out = {0};
        tfy__put_due(&out, due_ms, why);
        TfyTicket ticket = tfy__record_append(rest, TFY_R_TASK_YIELD, rest->log.step, point->number, &out);
        tfy__buffer_free(&out);
        if (ticket < 0) return tfy__sched_halt(task), false;
    }
    if (loop->replay_only) return true;
    *timer = tfy__scope_arm(rest, due_ms);
    return *timer != 0;
}

bool tfy__scope_deadline(TaskRest *rest, const TfyPoint *point, int64_t timeout_ms)
{
    return arm_scope(rest, point, timeout_ms, "timeout", &frame_at(rest->task, rest->task->top)->timer);
}

void tfy__scope_raise_timeout(TfyTask *task, uint32_t line, const char *message)
{
    tfy_drop(task, tfy_take_error(task));
    TfyObj *text = tfy_string_of(task, message, strlen(message));
    if (text) tfy_fail(task, &tfy_type_timeout, line, (TfyValue[]){tfy_of_obj(text), tfy_of_bool(false)});
    tfy_cut(task, 0);
}

static bool reserve_deadline(TaskRest *rest)
{
    return GROW(rest->deadlines, rest->deadline_cap, rest->deadline_count + 1, 4);
}

bool tfy_deadline_begin(TfyTask *task, const TfyPoint *point, int64_t ms, int64_t *out)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    if (!reserve_deadline(rest)) return tfy__starved(task);
    uint64_t timer = 0;
    rest->log.step++;
    if (!arm_scope(rest, point, ms, "deadline", &timer)) return false;
    *out = ++task->scopes;
    take_care(task);
    rest->deadlines[rest->deadline_count++] =
        (Deadline){.frame = task->top, .scope = task->scopes, .mask = frame_at(task, task->top)->mask, .timer = timer};
    return true;
}

/* The innermost block ends. Returns its flags. */
static uint16_t pop_deadline(TaskRest *rest)
{
    Deadline *last = &rest->deadlines[--rest->deadline_count];
    tfy__timers_del(&rest->run->loop->timers, last->timer);
    return last->flags;
}

void tfy__deadlines_drop(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    while (rest->deadline_count && rest->deadlines[rest->deadline_count - 1].frame == task->top) pop_deadline(rest);
}

void tfy_deadline_end(TfyTask *task, uint32_t line, int64_t scope)
{
    TaskRest *rest = rest_of(task);
    const Deadline *found = deadline_by_scope(rest, (uint32_t)scope);
    if (!found) return;
    uint32_t index = (uint32_t)(found - rest->deadlines);
    uint16_t flags = 0;
    while (rest->deadline_count > index) flags = pop_deadline(rest);
    if (task->state & T_CANCEL) refresh_cancel(task);
    if (flags & FRAME_TIMED_OUT && tfy_error_is(task, &tfy_type_cancelled))
        tfy__scope_raise_timeout(task, line, "the deadline has passed");
}

/* undo.c: the entries that undo steps.
 *
 * Each entry belongs to a frame; frames nest, so the entries of the running frame are the last ones of the task's
 * list. Only recorded facts decide about an entry (how the attempts of its step ended, whether StepStart is in the
 * log), so that a replay keeps and runs the same ones. Steps report their attempts to the newest entry of their
 * frame; if that entry belongs to another step, it is never used again. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"

/* NULL: the running frame has none. */
static Undo *newest(const TfyTask *task)
{
    const TaskRest *rest = task->rest;
    Undo *last = rest->undo_count ? &rest->undos[rest->undo_count - 1] : NULL;
    return last && last->frame == task->top ? last : NULL;
}

static bool reserve(TaskRest *rest, uint32_t more)
{
    return GROW(rest->undos, rest->undo_cap, rest->undo_count + more, 4);
}

static void drop_args(TfyTask *task, const Undo *undo)
{
    const TfyField *params = undo->block->params;
    for (uint32_t i = 0; i < undo->block->param_count; i++) tfy__drop_value(task, params[i].type, undo->args[i]);
    free(undo->args);
}

static void drop_newest(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    CHECK(rest->undo_count > 0);
    CHECK(rest->undos[rest->undo_count - 1].height > 0);
    CHECK(rest->undos[rest->undo_count - 1].height <= rest->undo_count);
    drop_args(task, &rest->undos[--rest->undo_count]);
}

/* ---- called by generated code ---- */

bool tfy_undo_push(TfyTask *task, const TfyPoint *point, const TfyWorkflow *block, const TfyValue *args)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    TfyValue *kept = malloc((block->param_count + 1) * sizeof *kept);
    if (!kept || !reserve(rest, 1)) {
        free(kept);
        return tfy__starved(task);
    }
    for (uint32_t i = 0; i < block->param_count; i++) kept[i] = tfy__keep_value(block->params[i].type, args[i]);
    uint32_t height = (uint32_t)tfy_undo_height(task) + 1;
    CHECK(height <= rest->undo_count + 1);
    CHECK(rest->undo_count < rest->undo_cap);
    CHECK(!rest->undo_count || rest->undos[rest->undo_count - 1].frame <= task->top);
    rest->undos[rest->undo_count++] =
        (Undo){.frame = task->top, .height = height, .block = block, .point = point, .args = kept, .idle = true};
    take_care(task);
    return true;
}

void tfy_undo_done(TfyTask *task, TfyObj *answer)
{
    Undo *undo = newest(task);
    if (undo) tfy_set(task, &undo->args[undo->block->param_count - 1].o, answer);
}

void tfy_undo_failed(TfyTask *task)
{
    const Undo *undo = newest(task);
    if (!undo || !task->error) return; /* halted */
    bool vague = tfy_error_is(task, &tfy_type_timeout) || tfy_error_is(task, &tfy_type_cancelled);
    bool begun = !undo->idle && (!undo->once || undo->started);
    if (!undo->unknown && !(vague && begun)) drop_newest(task);
}

int64_t tfy_undo_height(const TfyTask *task)
{
    const Undo *undo = newest(task);
    return undo ? undo->height : 0;
}

/* ---- called by steps ---- */

void tfy__undo_attempt(TfyTask *task, bool once)
{
    Undo *undo = newest(task);
    if (!undo) return;
    undo->once = once;
    undo->idle = undo->started = false;
}

void tfy__undo_again(TfyTask *task)
{
    Undo *undo = newest(task);
    if (undo) undo->idle = undo->started = false;
}

void tfy__undo_started(TfyTask *task)
{
    Undo *undo = newest(task);
    if (undo) undo->started = true;
}

void tfy__undo_retried(TfyTask *task)
{
    Undo *undo = newest(task);
    if (!undo) return;
    if (tfy_error_is(task, &tfy_type_timeout) && (!undo->once || undo->started)) undo->unknown = true;
    undo->idle = true;
}

void tfy__undo_unknown(TfyTask *task, bool unknown)
{
    Undo *undo = newest(task);
    if (undo) undo->unknown = unknown;
}

/* ---- running the blocks ---- */

static bool push_block(TfyTask *task, const Undo *undo)
{
    const TfyFrame *frame = frame_at(task, task->top);
    if (frame->depth >= DEPTH_MAX + DEPTH_SPARE)
        return tfy_panic(task, frame->workflow->line, "workflow calls nested deeper than %u", DEPTH_MAX);
    if (!tfy__task_push(task, undo->block)) return tfy__out_of_memory(task);
    TfyValue *slots = (TfyValue *)(frame_at(task, task->top) + 1);
    memcpy(slots, undo->args, undo->block->param_count * sizeof *slots);
    return true;
}

TfyStatus tfy_undo(TfyTask *task, const TfyPoint *point)
{
    const Undo *undo = newest(task);
    if (task->state & T_HALTED || !undo) return TFY_WAIT; /* for ever */
    TaskRest *rest = rest_of(task);
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_OF, undo->point->id);
    tfy__put_end(&out);
    rest->log.step++;
    bool ok = tfy__record_fact(rest, TFY_R_UNDO, point->number, &out);
    tfy__buffer_free(&out);
    if (!ok) return TFY_WAIT;
    Undo taken = rest->undos[--rest->undo_count];
    if (push_block(task, &taken)) {
        free(taken.args);
        return TFY_CALL;
    }
    drop_args(task, &taken);
    return TFY_AGAIN;
}

bool tfy_undo_lost(TfyTask *task, const TfyPoint *point)
{
    if (task->state & T_HALTED || !task->error) return false;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_error(&out, task->error);
    tfy__put_end(&out);
    bool ok = tfy__record_fact(rest_of(task), TFY_R_UNDO, point->number, &out);
    tfy__buffer_free(&out);
    if (ok) tfy_drop(task, tfy_take_error(task));
    return ok;
}

/* ---- after a return ---- */

static bool begin_unwinding(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    TfyFrame *frame = frame_at(task, task->top);
    Unwinding *unwinding = malloc(sizeof *unwinding);
    if (!unwinding) {
        tfy__loop_fail(task->loop, TFY_E_NOMEM, "no memory to undo what task %s did", rest->log.path);
        return false;
    }
    *unwinding = (Unwinding){.error = tfy_take_error(task), .below = rest->unwinding};
    rest->unwinding = unwinding;
    take_care(task);
    frame->flags |= FRAME_UNDOING;
    frame->mask++;
    return true;
}

static void end_unwinding(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    Unwinding *unwinding = rest->unwinding;
    TfyFrame *frame = frame_at(task, task->top);
    CHECK(unwinding && frame->flags & FRAME_UNDOING);
    frame->flags &= (uint16_t)~FRAME_UNDOING;
    CHECK(frame->mask > 0);
    CHECK(!task->error);
    frame->mask--;
    task->error = unwinding->error;
    rest->unwinding = unwinding->below;
    free(unwinding);
}

bool tfy__undo_returned(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    bool goes_on = frame_at(task, task->top)->flags & FRAME_UNDOING;
    if (!goes_on && (!task->error || !newest(task))) return true;
    if (!goes_on && !begin_unwinding(task)) return false;
    for (;;) {
        if (task->error && !tfy_undo_lost(task, rest->unwinding->point)) return tfy__sched_halt(task), false;
        const Undo *undo = newest(task);
        if (!undo) break;
        rest->unwinding->point = undo->point;
        TfyStatus status = tfy_undo(task, undo->point);
        if (status == TFY_WAIT) tfy__sched_halt(task);
        if (status != TFY_AGAIN) return false;
    }
    end_unwinding(task);
    return true;
}

/* ---- ends ---- */

void tfy__undo_frame_ends(TfyTask *task)
{
    bool hands_over = rest_of(task)->group && frame_at(task, task->top)->prev == TFY_NO_FRAME;
    while (!hands_over && newest(task)) drop_newest(task);
}

void tfy__undo_drop_all(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    while (rest->undo_count) drop_newest(task);
    while (rest->unwinding) {
        Unwinding *unwinding = rest->unwinding;
        tfy_drop(task, unwinding->error);
        rest->unwinding = unwinding->below;
        free(unwinding);
    }
}

/* In the order in which the bodies ended, the entries of each in their own order. The parent waits in the frame
 * that made the body; even if it is in a deeper frame now, the entries go to that frame. */
void tfy__undo_hand_over(TaskRest *body)
{
    TaskRest *parent = body->parent;
    uint32_t count = body->undo_count;
    if (!parent || !parent->task) {
        tfy__undo_drop_all(body->task);
        return;
    }
    if (!reserve(parent, count)) {
        tfy__loop_fail(body->run->loop, TFY_E_NOMEM, "no memory for what task %s leaves to undo", body->log.path);
        return;
    }
    uint32_t at = parent->undo_count, height = 0;
    while (at > 0 && parent->undos[at - 1].frame > body->parent_frame) at--;
    if (at > 0 && parent->undos[at - 1].frame == body->parent_frame) height = parent->undos[at - 1].height;
    memmove(&parent->undos[at + count], &parent->undos[at], (parent->undo_count - at) * sizeof *parent->undos);
    for (uint32_t i = 0; i < count; i++) {
        parent->undos[at + i] = body->undos[i];
        parent->undos[at + i].frame = body->parent_frame;
        parent->undos[at + i].height = ++height;
    }
    parent->undo_count += count;
    take_care(parent->task);
    body->undo_count = 0;
}

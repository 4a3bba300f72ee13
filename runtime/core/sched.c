/* sched.c: running one task until it stops: the trampoline over its frames. */
#include <string.h>

#include "core.h"
#include "wal/kill_point.h"

void tfy__sched_halt(TfyTask *task)
{
    task->state |= T_HALTED;
}

void tfy__sched_wake(TfyTask *task)
{
    if (state_of(task) != TFY_TASK_RUNNING)
        tfy__ready_push(task->loop, task); /* inside tfy_perform the frame simply goes on */
}

/* A call that ran out of time unwinds with a cancellation; at its boundary that becomes a Timeout the caller can catch. */
static void timeout_at_boundary(TfyTask *task, const TfyFrame *frame)
{
    if (!(frame->flags & FRAME_TIMED_OUT) || !task->error || task->error->type != &tfy_type_cancelled) return;
    uint32_t line = frame->workflow->line;
    tfy_drop(task, tfy_take_error(task));
    TfyObj *text = tfy_string_of(task, "the call ran out of time", 24);
    if (text) tfy_fail(task, &tfy_type_timeout, line, (TfyValue[]){tfy_of_obj(text), tfy_of_bool(false)});
    tfy_cut(task, 0);
}

/* The top frame has said TFY_RETURN: children first, then the caller. True: there is a frame to go on with. */
static bool frame_finish(TfyTask *task)
{
    TfyFrame *frame = frame_at(task, task->top);
    if (!(task->state & T_RETURNING) && frame->children) {
        task->state |= T_RETURNING;
        task->passages++;
        cold_of(task)->answer_type = task->error ? NULL : frame->workflow->result;
        if (task->error) tfy__children_cancel(task, frame, "its parent failed");
        if (task->state & T_REPLAYING) tfy__history_async(task);
        if (tfy__cancel_ready(task)) {
            if (!tfy__cancel_deliver(task)) return false;
            tfy__children_cancel(task, frame, "its parent was cancelled");
        }
    }
    if (frame->children) {
        set_state(task, TFY_TASK_JOINING);
        return false;
    }
    task->state &= ~(uint32_t)T_RETURNING;
    cold_of(task)->answer_type = NULL;
    tfy__timers_del(&task->loop->timers, frame->timer);
    if (task->state & T_CANCEL && cold_of(task)->cancel_scope == frame->scope)
        task->state &= ~(uint32_t)T_CANCEL; /* too late */
    timeout_at_boundary(task, frame);
    tfy__task_pop(task);
    if (task->top != TFY_NO_FRAME) return true;
    tfy__task_finish(task);
    return false;
}

/* Before a frame runs again: what came from outside meanwhile. False: do not run. */
static bool prepare(TfyTask *task)
{
    if (task->state & T_HALTED) return false;
    if (task->state & T_REPLAYING) tfy__history_async(task);
    if (task->state & T_HALTED) return false;
    if (tfy__cancel_ready(task)) {
        if (!tfy__cancel_deliver(task)) return false;
        if (task->state & T_RETURNING)
            tfy__children_cancel(task, frame_at(task, task->top), "its parent was cancelled");
    }
    if (task->state & T_RETURNING) return frame_finish(task);
    cold_of(task)->answer_type = NULL; /* the frame takes it now */
    return true;
}

#define T_SLOW (T_CANCEL | T_RETURNING | T_REPLAYING | T_HALTED)

/* A task that gets every answer at once would never let others run: after a slice of such answers it queues again. */
#define AGAIN_COST (TFY_FUEL_SLICE / 64)

#define UNLIKELY(condition) __builtin_expect(condition, 0)

static inline TfyStatus run_top(TfyTask *task)
{
    TfyFrame *frame = frame_at(task, task->top);
    TfyStatus status = frame->workflow->run(task, frame);
    tfy__kill_point("point");
    return status;
}

/* What a frame said decides what comes next, until the task stops. */
static void go_on(TfyLoop *loop, TfyTask *task, TfyStatus status)
{
    for (;; status = run_top(task)) {
        switch (status) {
        case TFY_YIELD:
        case TFY_SPENT:
            task->passages++;
            tfy__ready_push(loop, task);
            return;
        case TFY_CALL: break;
        case TFY_RETURN:
            if (!frame_finish(task)) return;
            break;
        case TFY_AGAIN:
            task->fuel -= AGAIN_COST;
            if (task->fuel < 0) {
                tfy__ready_push(loop, task);
                return;
            }
            if (task->state & T_SLOW && !prepare(task)) return;
            break;
        case TFY_WAIT: return;
        case TFY_STOP: tfy__sched_halt(task); return;
        }
    }
}

/* A task that something is to be told before it goes on. */
static void run_slow(TfyLoop *loop, TfyTask *task)
{
    task->state = (task->state & ~(uint32_t)(T_QUEUED | T_STATE)) | TFY_TASK_RUNNING;
    task->fuel = TFY_FUEL_SLICE;
    if (task->state & T_SLOW && !prepare(task)) return;
    go_on(loop, task, run_top(task));
}

static void take_slots(TfyLoop *loop, uint32_t slots[SCHED_TASKS], uint32_t count)
{
    uint32_t from = loop->ring_head & loop->ring_mask, straight = loop->ring_mask + 1 - from;
    if (straight > count) straight = count;
    memcpy(slots, loop->ring + from, straight * sizeof *slots);
    memcpy(slots + straight, loop->ring, (count - straight) * sizeof *slots);
    loop->ring_head += count;
}

/* The common case, a task that goes from one plain yield to the next, stays in this loop and touches two cache lines: its hot part and its
 * frame. What it costs is mostly stores, so nothing is written that has its value already. All else leaves the loop. */
uint32_t tfy__sched_run_ready(TfyLoop *loop, uint32_t count)
{
    uint32_t slots[SCHED_TASKS];
    TfyTask *const tasks = loop->tasks;
    take_slots(loop, slots, count);
    for (const uint32_t *slot = slots, *end = slots + count; slot < end; slot++) {
        TfyTask *task = &tasks[*slot];
        if (UNLIKELY(task->state != (T_QUEUED | TFY_TASK_READY))) {
            run_slow(loop, task);
        } else {
            task->state = TFY_TASK_RUNNING;
            if (UNLIKELY(task->fuel != TFY_FUEL_SLICE)) task->fuel = TFY_FUEL_SLICE;
            TfyStatus status = run_top(task);
            if (!UNLIKELY(status != TFY_YIELD || task->state != TFY_TASK_RUNNING)) {
                task->passages++;
                task->state = T_QUEUED | TFY_TASK_READY;
                loop->ring[loop->ring_tail++ & loop->ring_mask] = *slot;
                continue;
            }
            go_on(loop, task, status);
        }
        if (loop->failure) return (uint32_t)(slot - slots) + 1;
    }
    return count;
}

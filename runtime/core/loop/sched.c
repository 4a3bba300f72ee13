/* sched.c: runs one task until it stops: the trampoline over its frames. */
#include <string.h>

#include "core/loop/state.h"
#include "base/kill_point.h"

void tfy__sched_halt(TfyTask *task)
{
    task->state |= T_HALTED;
}

void tfy__sched_wake(TfyTask *task)
{
    /* inside tfy_perform the frame simply continues */
    if (state_of(task) != TFY_TASK_RUNNING) tfy__ready_push(task->loop, task);
}

/* A call that ran out of time unwinds with a cancellation; at its boundary that becomes a Timeout, which the
 * caller can catch. */
static void timeout_at_boundary(TfyTask *task, const TfyFrame *frame)
{
    if (!(frame->flags & FRAME_TIMED_OUT) || !task->error || task->error->type != &tfy_type_cancelled) return;
    tfy__scope_raise_timeout(task, frame->workflow->line, "the call ran out of time");
}

/* A frame that had children has finished. Even if none is left this counts as a suspension: whether the last one
 * finishes just before or just after may differ between a run and its replay. False: the task has finished or was
 * halted. */
static bool begin_waiting(TfyTask *task, const TfyFrame *frame)
{
    task->state |= T_RETURNING | T_ANSWERED;
    task->passages++;
    rest_of(task)->answer_type = task->error ? NULL : frame->workflow->result;
    if (task->error) tfy__children_cancel(task, frame, "its parent failed");
    if (task->state & T_REPLAYING) tfy__history_async(task);
    if (!tfy__cancel_ready(task)) return true;
    if (!tfy__cancel_deliver(task)) return false;
    tfy__children_cancel(task, frame, "its parent was cancelled");
    return true;
}

/* The top frame has returned TFY_RETURN: children first, then the caller. True: there is a frame to continue with. */
static bool frame_finish(TfyTask *task)
{
    TfyFrame *frame = frame_at(task, task->top);
    const uint32_t waited = FRAME_SPAWNED | FRAME_UNDOING;
    if ((frame->flags & waited) == FRAME_SPAWNED && !(task->state & T_RETURNING) && !begin_waiting(task, frame))
        return false;
    if (frame->children) {
        set_state(task, TFY_TASK_JOINING);
        return false;
    }
    if (task->state & T_RETURNING) {
        task->state &= ~(uint32_t)(T_RETURNING | T_ANSWERED);
        task->fuel = TFY_FUEL_SLICE;
        rest_of(task)->answer_type = NULL;
    }
    if ((rest_of(task)->undo_count || frame->flags & FRAME_UNDOING) && !tfy__undo_returned(task))
        return !(task->state & T_HALTED);
    frame = frame_at(task, task->top);
    if (frame->timer || frame->flags & FRAME_EXPIRED) tfy__cancel_frame_ends(task, frame);
    timeout_at_boundary(task, frame);
    if (rest_of(task)->undo_count) tfy__undo_frame_ends(task);
    tfy__task_pop(task);
    if (task->top != TFY_NO_FRAME) return !(frame_at(task, task->top)->flags & FRAME_UNDOING) || frame_finish(task);
    tfy__task_finish(task);
    return false;
}

/* In a replay other tasks must run first: before a task that has just taken input from outside continues, and
 * before a task whose step was answered at once, which may have waited the first time. */
static bool others_first(const TfyTask *task)
{
    return task->state & T_FOLLOWING && !tfy__history_at_cursor(rest_of(task));
}

/* Before a frame runs again: handles input from outside that has arrived meanwhile. False: the task must not run. */
static bool prepare(TfyTask *task)
{
    if (task->state & T_HALTED) return false;
    if (task->state & T_MUFFLED && tfy__out_holds(task)) return false;
    if (task->state & T_REPLAYING) tfy__history_async(task);
    if (task->state & T_HALTED) return false;
    if (others_first(task)) {
        tfy__ready_push(task->loop, task);
        return false;
    }
    TfyFrame *frame = frame_at(task, task->top);
    if (tfy__cancel_ready(task)) {
        if (!tfy__cancel_deliver(task)) return false;
        if (task->state & T_RETURNING) tfy__children_cancel(task, frame, "its parent was cancelled");
        /* a task that never started has nothing to clean up, and must not start now */
        if (frame->pc == 0) {
            tfy__frame_release(task, frame);
            return frame_finish(task);
        }
    }
    if (task->state & T_RETURNING) return frame_finish(task);
    TaskRest *rest = rest_of(task);
    CHECK(!rest->step && !rest->after_left);
    CHECK(task->top != TFY_NO_FRAME);
    rest->answer_type = NULL; /* the frame uses it now */
    rest->granted_from = NULL;
    rest->granted_lock = NULL;
    if (rest->granted_signal) tfy__signal_taken(rest);
    task->state &= ~(uint32_t)T_ANSWERED;
    return true;
}

#define T_SLOW (T_CANCEL | T_MUFFLED | T_RETURNING | T_REPLAYING | T_HALTED | T_ANSWERED)

/* A task that gets every answer at once would never let others run: after so many answers it queues again. */
#define ANSWERS_AT_ONCE 64

#define MANY_TASKS 16384u /* more do not fit in the cache */
#define EARLY      24u    /* how many tasks ahead to prefetch then */

#define PLAIN ((uint32_t)T_QUEUED | TFY_TASK_READY) /* in the ring, and no input from outside has arrived */

static inline TfyStatus run_top(TfyTask *task)
{
    TfyFrame *frame = frame_at(task, task->top);
    TfyStatus status = frame->workflow->run(task, frame);
    tfy__kill_point(TFY_KILL_POINT);
    return status;
}

/* Has a frame that returned TFY_RETURN finished, with nothing else attached to it or its task? */
static inline bool returns_plainly(const TfyTask *task, const TfyFrame *frame)
{
    return __builtin_expect(task->room != 0, 1) && frame_is_bare(frame);
}

/* The top frame has returned TFY_CALL. The common case, a workflow that calls others which return at once: runs
 * callee and caller in turn until one of them returns anything else, and returns that. The address of the caller's
 * frame is kept here and not read back from the callee's: so a call need not wait until everything that the last
 * one wrote has been read again. */
static __attribute__((noinline, aligned(64))) TfyStatus run_calls(TfyTask *task, uint32_t caller)
{
    TfyStatus status;
    do {
        TfyFrame *callee = frame_at(task, task->top);
        status = callee->workflow->run(task, callee);
        callee = frame_at(task, task->top); /* the stack may have moved */
        if (UNLIKELY(status != TFY_RETURN)) return status;
        if (UNLIKELY(!returns_plainly(task, callee))) return status;
        leave_frame(task, callee, caller);
        TfyFrame *frame = frame_at(task, caller);
        status = frame->workflow->run(task, frame);
    } while (__builtin_expect(status == TFY_CALL, 1));
    return status;
}

/* A frame's status decides what comes next, until the task stops. */
static void go_on(TfyLoop *loop, TfyTask *task, TfyStatus status)
{
    for (int answers = 0;; status = run_top(task)) {
        if (status == TFY_CALL && tfy__kill_armed) continue; /* each stop is counted */
        while (status == TFY_CALL) status = run_calls(task, frame_at(task, task->top)->prev);
        switch (status) {
        case TFY_YIELD:
        case TFY_SPENT:
            if (status == TFY_SPENT && loop->test) tfy__test_spent(loop->test);
            task->passages++;
            tfy__ready_push(loop, task);
            return;
        case TFY_CALL: break; /* handled above */
        case TFY_RETURN: {
            TfyFrame *frame = frame_at(task, task->top);
            if (frame->prev != TFY_NO_FRAME && returns_plainly(task, frame))
                leave_frame(task, frame, frame->prev);
            else if (!frame_finish(task))
                return;
            break;
        }
        case TFY_AGAIN:
            if (++answers > ANSWERS_AT_ONCE || others_first(task)) {
                tfy__ready_push(loop, task);
                return;
            }
            task->fuel = TFY_FUEL_SLICE; /* as if it had waited */
            if (task->state & T_SLOW && !prepare(task)) return;
            break;
        case TFY_WAIT:
            if (loop->park_after_ms >= 0) tfy__park_consider(rest_of(task)->run);
            if (state_of(task) == TFY_TASK_SLEEPING) tfy__fold_asleep(task);
            return;
        case TFY_STOP: /* the frame is being left and has released its slots */
            tfy__sched_halt(task);
            task->state |= T_RETURNING;
            return;
        }
    }
}

void tfy__sched_run_task(TfyLoop *loop, TfyTask *task)
{
    mark_running(task);
    task->fuel = TFY_FUEL_SLICE;
    if (task->state & T_SLOW && !prepare(task)) return;
    go_on(loop, task, run_top(task));
}

/* ring_read, ring_write: copy `count` entries out of or into the ring, from `at` on. */
static void ring_read(const TfyLoop *loop, uint32_t at, uint32_t *to, uint32_t count)
{
    uint32_t from = at & loop->ring_mask, straight = loop->ring_mask + 1 - from;
    if (straight > count) straight = count;
    memcpy(to, loop->ring + from, straight * sizeof *to);
    memcpy(to + straight, loop->ring, (count - straight) * sizeof *to);
}

static void ring_write(TfyLoop *loop, uint32_t at, const uint32_t *from, uint32_t count)
{
    uint32_t to = at & loop->ring_mask, straight = loop->ring_mask + 1 - to;
    if (straight > count) straight = count;
    memcpy(loop->ring + to, from, straight * sizeof *from);
    memcpy(loop->ring, from + straight, (count - straight) * sizeof *from);
}

/* Inserts the tasks that have yielded at `tail`, where the ring ended before they ran: the tasks that the last one
 * made ready come after them. */
static void requeue(TfyLoop *loop, const uint32_t *from, const uint32_t *to, uint32_t tail)
{
    const uint32_t count = (uint32_t)(to - from), mask = loop->ring_mask;
    if (!count) return;
    for (uint32_t i = loop->ring_tail; i != tail; i--) loop->ring[(i - 1 + count) & mask] = loop->ring[(i - 1) & mask];
    ring_write(loop, tail, from, count);
    loop->ring_tail += count;
}

/* Prefetches the memory of the task in this slot. */
static inline void fetch_early(const TfyLoop *loop, uint32_t slot)
{
    const TaskCell *cell = &loop->cells[slot];
    __builtin_prefetch(&cell->task);
    __builtin_prefetch(&cell->task.fuel, 1);
}

#define NOT_RUN ((TfyStatus)-1)

/* The common case, tasks that go from one plain yield to the next: runs them until one does anything else, and
 * returns its place and its status: TFY_YIELD if it made others ready, NOT_RUN if something arrived for it
 * meanwhile. Every instruction counts here. Such a task touches two cache lines, its hot part and its frame; it
 * keeps its state in the ring; and input from outside (a kill by itself) is seen at its next turn. */
static inline __attribute__((always_inline)) const uint32_t *run_plain(TfyLoop *loop, const uint32_t *slot,
                                                                       const uint32_t *end, TfyStatus *said, bool many)
{
    TaskCell *const cells = loop->cells;
    const uint32_t tail = loop->ring_tail;
    TfyStatus status = TFY_YIELD;
    for (; slot < end; slot++) {
        TfyTask *task = &cells[*slot].task;
        if (many) fetch_early(loop, slot[EARLY]);
        if (UNLIKELY(task->state != PLAIN)) {
            status = NOT_RUN;
            break;
        }
        task->fuel = TFY_FUEL_SLICE;
        status = run_top(task);
        if (UNLIKELY(status != TFY_YIELD)) break;
        task->passages++;
        if (UNLIKELY(loop->ring_tail != tail)) break;
    }
    *said = status;
    return slot;
}

static __attribute__((noinline, aligned(64))) const uint32_t *run_few(TfyLoop *loop, const uint32_t *slot,
                                                                      const uint32_t *end, TfyStatus *said)
{
    return run_plain(loop, slot, end, said, false);
}

static __attribute__((noinline)) const uint32_t *run_many(TfyLoop *loop, const uint32_t *slot, const uint32_t *end,
                                                          TfyStatus *said)
{
    return run_plain(loop, slot, end, said, true);
}

/* The tasks in [yielded, slot) have yielded and are put back in the ring only when something else happens. */
uint32_t tfy__sched_run_ready(TfyLoop *loop, uint32_t count)
{
    uint32_t slots[SCHED_TASKS + EARLY];
    const uint32_t *yielded = slots, *const end = slots + count;
    CHECK(count <= SCHED_TASKS && count <= loop->ring_tail - loop->ring_head);
    ring_read(loop, loop->ring_head, slots, count);
    loop->ring_head += count;
    /* the first tasks of the next call are prefetched in this one */
    uint32_t behind = loop->ring_tail - loop->ring_head;
    if (behind > EARLY) behind = EARLY;
    ring_read(loop, loop->ring_head, slots + count, behind);
    for (uint32_t i = behind; i < EARLY; i++) slots[count + i] = 0;
    while (yielded < end) {
        TfyStatus status = NOT_RUN;
        uint32_t tail = loop->ring_tail;
        bool many = loop->task_count > MANY_TASKS;
        const uint32_t *slot = many ? run_many(loop, yielded, end, &status) : run_few(loop, yielded, end, &status);
        requeue(loop, yielded, slot, tail);
        yielded = slot;
        if (slot == end) break;
        TfyTask *task = task_at(loop, *slot);
        if (status == TFY_YIELD) {
            requeue(loop, slot, slot + 1, loop->ring_tail);
        } else if (status == NOT_RUN) {
            tfy__sched_run_task(loop, task);
        } else {
            if (status != TFY_WAIT) mark_running(task);
            go_on(loop, task, status);
        }
        yielded = slot + 1;
        if (loop->failure) break;
    }
    return (uint32_t)(yielded - slots);
}

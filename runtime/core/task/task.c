/* task.c: the memory of tasks and their frames.
 *
 * The hot part of a task is stored in a stretch of memory that is reserved once, so that a 32-bit slot number
 * identifies a task and the task never moves. Frames are on the task's own small stack, which grows by doubling
 * and may move: hence offsets, not pointers. The first bytes of the stack are in the same two cache lines as the
 * hot part: most tasks have one small frame. Only this file acquires and releases memory of tasks and frames. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/loop/state.h"
#include "core/step/budget.h"

#define CELLS_BYTES ((size_t)TASK_MAX * sizeof(TaskCell))
#define HUGE_FROM   (1u << 16) /* tasks */
/* bytes of a stack that has outgrown the task's cell: enough for small workflows that call small ones */
#define SECOND_STACK 256u
/* free TaskRests that are kept: enough for a slice that spawns in an endless loop */
#define RESTS_KEPT 16384u

int tfy__tasks_init(TfyLoop *loop)
{
    /* Address space only; a page takes memory when it is first used. */
    void *cells = mmap(NULL, CELLS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED) return TFY_E_NOMEM;
    madvise(cells, CELLS_BYTES, MADV_DONTDUMP);
    loop->cells = cells;
    loop->ring_mask = 1023;
    loop->ring = malloc((loop->ring_mask + 1) * sizeof *loop->ring);
    return loop->ring ? 0 : TFY_E_NOMEM;
}

void tfy__tasks_deinit(TfyLoop *loop)
{
    if (loop->cells) munmap(loop->cells, CELLS_BYTES);
    free(loop->free_slots);
    free(loop->ring);
    tfy__table_free(&loop->by_tid);
    while (loop->free_rests) {
        TaskRest *rest = loop->free_rests;
        loop->free_rests = rest->next_in_run;
        free(rest);
    }
}

/* ---- the ready ring ---- */

static bool ring_grow(TfyLoop *loop)
{
    uint32_t cap = loop->ring_mask + 1, count = loop->ring_tail - loop->ring_head;
    uint32_t *ring = malloc((size_t)cap * 2 * sizeof *ring);
    if (!ring) return false;
    for (uint32_t i = loop->ring_head; i != loop->ring_head + count; i++)
        ring[i & (cap * 2 - 1)] = loop->ring[i & loop->ring_mask];
    CHECK(count <= cap);
    free(loop->ring);
    loop->ring = ring;
    loop->ring_mask = cap * 2 - 1;
    return true;
}

/* Every live task has a place in the ring before it is made (task_new grows it), so that waking never fails. */
static bool ring_reserve(TfyLoop *loop)
{
    uint32_t in_cells = loop->task_count - loop->free_count;
    return in_cells < loop->ring_mask || ring_grow(loop);
}

void tfy__ready_push(TfyLoop *loop, TfyTask *task)
{
    if (task->state & (T_QUEUED | T_FREE)) return; /* a second wake-up changes nothing */
    task->state |= T_QUEUED;
    set_state(task, TFY_TASK_READY);
    if (task->state & T_FOLLOWING) {
        tfy__history_await_turn(rest_of(task));
        return;
    }
    loop->ring[loop->ring_tail++ & loop->ring_mask] = slot_of(loop, task);
}

/* ---- the table of tasks by number ---- */

TaskRest *tfy__task_by_tid(TfyLoop *loop, int64_t tid)
{
    /* no two numbers have the same mix */
    TaskRest *rest = TABLE_ITEM(tfy__table_find(&loop->by_tid, tfy__mix((uint64_t)tid)), TaskRest, by_tid);
    if (rest) return rest;
    Folded *folded = tfy__folded_by_tid(loop, tid);
    return folded ? tfy__unfold(loop, folded) : NULL;
}

TaskRest *tfy__task_by_path(const Run *run, const char *path)
{
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (strcmp(rest->log.path, path) == 0) return rest;
    Folded *folded = tfy__folded_by_path(run, path);
    return folded ? tfy__unfold(run->loop, folded) : NULL;
}

TaskRest *tfy__task_of_handle(const Run *run, int64_t handle)
{
    TaskRest *rest = tfy__task_by_tid(run->loop, run->log.root + handle);
    return rest && rest->run == run ? rest : NULL;
}

/* ---- tasks ---- */

static TfyTask *slot_take(TfyLoop *loop)
{
    if (loop->free_count) {
        TfyTask *task = task_at(loop, loop->free_slots[--loop->free_count]);
        CHECK(task->state == T_FREE);
        return task;
    }
    if (loop->task_count == TASK_MAX) return NULL;
    /* releasing a slot must not need memory */
    if (!GROW(loop->free_slots, loop->free_cap, loop->task_count + 1, 1024)) return NULL;
    /* With many tasks the page tables of small pages cost more than the tasks; with few, a huge page would be
     * wasted. */
    if (loop->task_count == HUGE_FROM) madvise(loop->cells, CELLS_BYTES, MADV_HUGEPAGE);
    return task_at(loop, loop->task_count++);
}

static void slot_return(TfyLoop *loop, TfyTask *task)
{
    *task = (TfyTask){.state = T_FREE};
    CHECK(loop->free_count < loop->task_count && loop->task_count <= loop->free_cap);
    CHECK(slot_of(loop, task) < loop->task_count);
    loop->free_slots[loop->free_count++] = slot_of(loop, task);
}

static char *first_stack(TfyTask *task)
{
    return ((TaskCell *)task)->stack;
}

/* A call that stays within task->room needs no check of rare conditions: the stack is large enough, and it has
 * fewer than DEPTH_MAX frames, since no frame is smaller than its head. */
static void set_room(TfyTask *task)
{
    const TaskRest *rest = rest_of(task);
    const uint32_t deepest = DEPTH_MAX * (uint32_t)sizeof(TfyFrame);
    const bool care = task->loop->test || rest->undo_count || rest->deadline_count || rest->unwinding;
    task->room = care ? 0 : rest->stack_cap < deepest ? rest->stack_cap : deepest;
}

uint32_t tfy__tasks_limit(const TfyLoop *loop)
{
    uint32_t limit = loop->options.max_tasks;
    return limit && limit < TASK_MAX ? limit : TASK_MAX;
}

bool tfy__tasks_full(const TfyLoop *loop)
{
    return loop->task_count - loop->free_count + loop->folded.asleep >= tfy__tasks_limit(loop);
}

static TaskRest *cold_take(TfyLoop *loop)
{
    TaskRest *rest = loop->free_rests;
    if (!rest) return malloc(sizeof *rest);
    CHECK(loop->free_rest_count > 0);
    loop->free_rests = rest->next_in_run;
    loop->free_rest_count--;
    return rest;
}

static void cold_return(TfyLoop *loop, TaskRest *rest)
{
    if (loop->free_rest_count == RESTS_KEPT) {
        free(rest);
        return;
    }
    rest->next_in_run = loop->free_rests;
    loop->free_rests = rest;
    loop->free_rest_count++;
}

/* False: no memory. */
static bool keep_path(TaskRest *rest, const char *path)
{
    size_t size = strlen(path) + 1;
    rest->log.path = size <= sizeof rest->short_path ? rest->short_path : malloc(size);
    if (!rest->log.path) return false;
    memcpy(rest->log.path, path, size);
    return true;
}

TaskRest *tfy__task_new(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, int64_t tid, const char *path)
{
    TaskRest *rest = cold_take(loop);
    if (!rest) return NULL;
    memset(rest, 0, sizeof *rest);
    rest->run = run;
    rest->workflow = workflow;
    rest->next_record = NO_INDEX;
    rest->log.tid = tid;
    rest->log.run = &run->log;
    TfyTask *task = NULL;
    if (keep_path(rest, path) && ring_reserve(loop) && tfy__table_reserve(&loop->by_tid)) task = slot_take(loop);
    if (!task) {
        if (rest->log.path != rest->short_path) free(rest->log.path);
        cold_return(loop, rest);
        return NULL;
    }
    CHECK(task->rest == NULL);
    CHECK(!rest->step && !rest->joiners.first && !rest->undo_count);
    rest->task = task;
    *task = (TfyTask){.top = TFY_NO_FRAME, .heap = &loop->heap, .loop = loop, .rest = rest, .state = TFY_TASK_CREATED};
    task->stack = first_stack(task);
    rest->stack_cap = FIRST_STACK;
    set_room(task);
    if (run->history) task->state |= T_FOLLOWING;
    rest->next_in_run = run->tasks;
    if (run->tasks) run->tasks->prev_in_run = rest;
    run->tasks = rest;
    run->live++;
    tfy__table_add(&loop->by_tid, &rest->by_tid, tfy__mix((uint64_t)tid));
    return rest;
}

TaskRest *tfy__task_new_ended(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, int64_t tid, const char *path)
{
    TaskRest *rest = tfy__task_new(loop, run, workflow, tid, path);
    if (!rest) return NULL;
    tfy__task_vacate(rest);
    CHECK(run->live > 0);
    run->live--;
    return rest;
}

void tfy__task_vacate(TaskRest *rest)
{
    TfyTask *task = rest->task;
    CHECK(task && task->rest == rest);
    TfyLoop *loop = task->loop;
    if (task->stack != first_stack(task)) tfy__free(&loop->heap, task->stack, rest->stack_cap);
    rest->stack_cap = 0;
    rest->task = NULL;
    slot_return(loop, task);
}

void tfy__task_give_back(TaskRest *rest)
{
    tfy__task_release_frames(rest->task);
    tfy__task_vacate(rest);
}

void tfy__rest_retire(TfyLoop *loop, TaskRest *rest)
{
    CHECK(!rest->task);
    CHECK(!rest->step && !rest->joiners.first && !rest->followers);
    CHECK(rest->prev_in_run ? rest->prev_in_run->next_in_run == rest : rest->run->tasks == rest);
    CHECK(!rest->next_in_run || rest->next_in_run->prev_in_run == rest);
    tfy__table_remove(&loop->by_tid, &rest->by_tid);
    if (rest->prev_in_run)
        rest->prev_in_run->next_in_run = rest->next_in_run;
    else
        rest->run->tasks = rest->next_in_run;
    if (rest->next_in_run) rest->next_in_run->prev_in_run = rest->prev_in_run;
    free(rest->deadlines);
    free(rest->undos);
    if (rest->log.path != rest->short_path) free(rest->log.path);
    cold_return(loop, rest);
}

void tfy__rest_free(TfyLoop *loop, TaskRest *rest)
{
    rest->granted_from = NULL; /* it has no task to return to */
    rest->granted_lock = NULL;
    if (rest->granted_signal) tfy__signal_taken(rest);
    tfy__budget_leave(&rest->budget);
    free(rest->why);
    if (rest->task) tfy__task_give_back(rest);
    TfyTask scratch = {.heap = &loop->heap, .loop = loop};
    if (rest->end_state == TFY_TASK_COMPLETED && !rest->workflow->result->scalar) tfy_drop(&scratch, rest->value.o);
    tfy_drop(&scratch, rest->failure);
    tfy__channels_free(rest);
    while (rest->followers) {
        Follower *follower = rest->followers;
        rest->followers = follower->next;
        free(follower);
    }
    for (Hold *hold = rest->holds, *next; hold; hold = next) {
        next = hold->next;
        free(hold);
    }
    free(rest->failure_text);
    tfy__rest_retire(loop, rest);
}

/* ---- frames ---- */

static bool stack_reserve(TfyTask *task, uint32_t need)
{
    TaskRest *rest = rest_of(task);
    if (need <= rest->stack_cap) return true;
    const bool first = task->stack == first_stack(task);
    const size_t cap = tfy__grow_cap(first ? SECOND_STACK : rest->stack_cap, need, SECOND_STACK, 1);
    if (cap > UINT32_MAX / 2) return false;
    char *stack = first ? tfy__alloc(task->heap, cap) : tfy__realloc(task->heap, task->stack, rest->stack_cap, cap);
    if (!stack) return false;
    if (first) memcpy(stack, task->stack, rest->stack_cap);
    task->stack = stack;
    CHECK(cap >= need && cap % sizeof(TfyValue) == 0);
    rest->stack_cap = (uint32_t)cap;
    set_room(task);
    return true;
}

/* A frame at an offset where there is room for it. */
static inline TfyFrame *place_frame(TfyTask *task, const TfyWorkflow *workflow, uint32_t at, uint32_t depth)
{
    TfyFrame *frame = frame_at(task, at);
    *frame = (TfyFrame){.workflow = workflow, .prev = task->top, .scope = ++task->scopes, .depth = depth};
    task->top = at;
    return frame;
}

void *tfy__task_push(TfyTask *task, const TfyWorkflow *workflow)
{
    if (task->loop->test) workflow = tfy__test_stand_in(task->loop->test, workflow);
    uint32_t at = task->top == TFY_NO_FRAME ? 0 : task->top + frame_at(task, task->top)->workflow->frame_size;
    CHECK(workflow->frame_size >= sizeof(TfyFrame) && workflow->frame_size % sizeof(TfyValue) == 0);
    if (!stack_reserve(task, at + workflow->frame_size)) return NULL;
    CHECK(task->top == TFY_NO_FRAME || task->top < at);
    TfyFrame *frame = place_frame(task, workflow, at, depth_of(task) + 1);
    memset(frame + 1, 0, workflow->frame_size - sizeof *frame);
    return frame;
}

void tfy__task_pop(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    TfyFrame *frame = frame_at(task, task->top);
    CHECK(frame->prev == TFY_NO_FRAME ? frame->depth == 1 : frame->prev < task->top);
    if (rest->deadline_count) tfy__deadlines_drop(task);
    leave_frame(task, frame, frame->prev);
}

/* Releases the values of a frame that will not run again: its parameters before it started, else the live slots at
 * its point. */
void tfy__frame_release(TfyTask *task, TfyFrame *frame)
{
    TfyValue *slots = (TfyValue *)(frame + 1);
    const TfyWorkflow *workflow = frame->workflow;
    if (frame->pc == 0) {
        for (uint32_t i = 0; i < workflow->param_count; i++)
            if (!workflow->params[i].type->scalar) tfy_drop(task, slots[i].o);
        return;
    }
    const TfyPoint *point = workflow->resume[frame->pc - 1];
    CHECK(point->live_count * sizeof *slots <= workflow->frame_size - sizeof *frame);
    for (uint32_t i = 0; i < point->live_count; i++)
        if (!point->live[i].type->scalar) tfy_drop(task, slots[point->live[i].slot].o);
}

/* Drops an unused answer. */
void tfy__answer_drop(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    if (rest->granted_from) tfy__channel_return(rest);
    if (rest->granted_lock) tfy__lock_return(rest);
    if (rest->granted_signal) tfy__signal_return(rest);
    if (rest->answer_type && rest->answer_type->kind == TFY_HANDLE)
        tfy__out_let_go(task->loop, rest->run->uuid, task->result.i);
    if (rest->answer_type) tfy_discard(task, rest->answer_type);
    rest->answer_type = NULL;
    task->state &= ~(uint32_t)T_ANSWERED;
}

void tfy__task_release_frames(TfyTask *task)
{
    tfy__undo_drop_all(task);
    while (task->top != TFY_NO_FRAME) {
        TfyFrame *frame = frame_at(task, task->top);
        bool released = task->state & T_RETURNING || frame->flags & FRAME_UNDOING; /* it has returned */
        if (!released) tfy__frame_release(task, frame);
        task->state &= ~(uint32_t)T_RETURNING;
        tfy__timers_del(&task->loop->timers, frame->timer);
        tfy__task_pop(task);
    }
    tfy__answer_drop(task);
    tfy_drop(task, task->error);
    task->error = NULL;
}

/* May the task call one more workflow? During cleanup it has some spare depth. */
static bool may_call(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    const TfyFrame *frame = frame_at(task, task->top);
    bool cleaning = task->state & T_CANCEL || rest->cancelled || frame->mask;
    if (frame->depth < DEPTH_MAX + (cleaning ? DEPTH_SPARE : 0)) return true;
    return tfy_panic(task, frame->workflow->line, "workflow calls nested deeper than %u", DEPTH_MAX);
}

static __attribute__((noinline)) TfyValue *push_carefully(TfyTask *task, const TfyWorkflow *workflow,
                                                          const TfyPoint *point, int64_t timeout_ms)
{
    TaskRest *rest = rest_of(task);
    set_room(task);
    if (rest->undo_count) tfy__undo_attempt(task, false);
    if (depth_of(task) >= DEPTH_MAX && !may_call(task)) return NULL;
    TfyFrame *frame = tfy__task_push(task, workflow);
    if (!frame) {
        tfy__out_of_memory(task);
        return NULL;
    }
    if (timeout_ms == TFY_NEVER) return (TfyValue *)(frame + 1);
    if (!tfy__scope_deadline(rest, point, timeout_ms)) {
        tfy__task_pop(task);
        return NULL;
    }
    return (TfyValue *)(frame_at(task, task->top) + 1);
}

#define FEW_SLOTS 4 /* zeroed together, whether the frame has them or not */

/* The slots of a small frame that fits on the stack, above this one; NULL: it needs more than that. */
static inline TfyValue *push_small(TfyTask *task, const TfyFrame *caller, const TfyWorkflow *workflow)
{
    const uint32_t small = sizeof(TfyFrame) + FEW_SLOTS * sizeof(TfyValue);
    const uint32_t at = task->top + caller->workflow->frame_size;
    if (UNLIKELY(at + small > task->room || workflow->frame_size > small)) return NULL;
    TfyValue *slots = (TfyValue *)(place_frame(task, workflow, at, caller->depth + 1) + 1);
    for (int i = 0; i < FEW_SLOTS; i++) slots[i].i = 0;
    return slots;
}

TfyValue *tfy_push(TfyTask *task, const TfyWorkflow *workflow, const TfyPoint *point, int64_t timeout_ms)
{
    TfyValue *slots = timeout_ms == TFY_NEVER ? push_small(task, tfy_frame(task), workflow) : NULL;
    return slots ? slots : push_carefully(task, workflow, point, timeout_ms);
}

static __attribute__((noinline)) TfyStatus call_carefully(TfyTask *task, const TfyWorkflow *workflow, TfyValue first,
                                                          TfyValue second)
{
    const TfyValue args[TFY_CALL_ARGS] = {first, second};
    TfyValue *slots = push_carefully(task, workflow, NULL, TFY_NEVER);
    for (uint32_t i = 0; i < workflow->param_count; i++) {
        if (slots)
            slots[i] = args[i];
        else
            tfy__drop_value(task, workflow->params[i].type, args[i]);
    }
    return slots ? TFY_CALL : TFY_AGAIN;
}

__attribute__((aligned(64))) TfyStatus tfy_call(TfyTask *task, const void *frame, const TfyWorkflow *workflow,
                                                TfyValue first, TfyValue second)
{
    TfyValue *slots = push_small(task, frame, workflow);
    if (UNLIKELY(!slots)) return call_carefully(task, workflow, first, second);
    slots[0] = first;
    slots[1] = second;
    return TFY_CALL;
}

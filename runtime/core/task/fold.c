/* fold.c: a task with little state is kept as a small record (folded.h), and rebuilt when it is needed.
 *
 * Most of a million tasks sleep, and most of a long run's tasks have finished. The memory of a step, a stack and
 * the links in all the queues is then released. State that cannot be found elsewhere is kept in 80 bytes, in
 * chunks aligned to their size, so that a timer that has nothing but a record finds its loop. Rare state (more
 * than one live slot, counters that have moved) is allocated separately.
 *
 * Folding and unfolding together cost about as much as a short sleep: only sleeps that last, in a process with
 * many tasks, are folded. Worlds of tests fold whenever possible. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/loop/state.h"

#define FOLD_FROM_MS    1000  /* the shortest sleep that is folded */
#define FOLD_FROM_TASKS 1024u /* folds only if so many tasks are alive */

#define CHUNK_BYTES ((size_t)2 << 20)
#define CHUNK_HEAD  16
#define PER_CHUNK   ((uint32_t)((CHUNK_BYTES - CHUNK_HEAD) / sizeof(Folded)))
#define FOLDED_MAX  (FOLDED_REF - 1)

struct FoldedChunk {
    TfyLoop *loop;
    uint32_t first; /* number of items[0] */
    Folded items[PER_CHUNK];
};
_Static_assert(sizeof(FoldedChunk) <= CHUNK_BYTES && offsetof(FoldedChunk, items) == CHUNK_HEAD, "it fills its bytes");

/* State that most sleeping tasks do not have. */
struct FoldedExtra {
    uint64_t randoms;
    uint32_t scopes, scope, spawned; /* of the task, of its frame, of the task */
    int32_t priority;
    uint16_t flags; /* of the frame */
    TfyValue values[];
};

/* ---- records ---- */

static Folded *folded_at(const FoldedTasks *tasks, uint32_t number)
{
    return &tasks->chunks[number / PER_CHUNK]->items[number % PER_CHUNK];
}

static FoldedChunk *chunk_of(const Folded *folded)
{
    return (FoldedChunk *)((uintptr_t)folded & ~(uintptr_t)(CHUNK_BYTES - 1));
}

static uint32_t number_of(const Folded *folded)
{
    const FoldedChunk *chunk = chunk_of(folded);
    return chunk->first + (uint32_t)(folded - chunk->items);
}

static bool add_chunk(TfyLoop *loop)
{
    FoldedTasks *tasks = &loop->folded;
    if (!GROW(tasks->chunks, tasks->chunk_cap, tasks->chunk_count + 1, 8)) return false;
    FoldedChunk *chunk = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
    if (!chunk) return false;
    if (tasks->chunk_count) madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE); /* wasted on the first one */
    chunk->loop = loop;
    chunk->first = tasks->chunk_count * PER_CHUNK;
    tasks->chunks[tasks->chunk_count++] = chunk;
    if (!tasks->used) tasks->used = 1;
    return true;
}

static uint32_t *bucket_of(FoldedTasks *tasks, int64_t tid)
{
    /* numbers are assigned in sequence, so neighbours stay together */
    return &tasks->by_tid[(uint32_t)tid & (tasks->by_tid_cap - 1)];
}

static void enter(FoldedTasks *tasks, Folded *folded)
{
    uint32_t *bucket = bucket_of(tasks, folded->tid);
    folded->next = *bucket;
    *bucket = number_of(folded);
}

static bool reserve_bucket(FoldedTasks *tasks)
{
    if (tasks->count < tasks->by_tid_cap) return true;
    uint32_t cap = tasks->by_tid_cap ? tasks->by_tid_cap * 2 : 1024;
    uint32_t *table = calloc(cap, sizeof *table);
    if (!table) return false;
    free(tasks->by_tid);
    tasks->by_tid = table;
    tasks->by_tid_cap = cap;
    for (uint32_t number = 1; number < tasks->used; number++) {
        Folded *folded = folded_at(tasks, number);
        if (folded->kind != FOLDED_FREE) enter(tasks, folded);
    }
    return true;
}

/* A record, entered in the table; NULL: no memory. */
static Folded *take(TfyLoop *loop, FoldedKind kind, int64_t tid)
{
    FoldedTasks *tasks = &loop->folded;
    const uint32_t room = tasks->chunk_count * PER_CHUNK;
    uint32_t number = tasks->first_free;
    if (!reserve_bucket(tasks)) return NULL;
    if (!number && tasks->used >= room && (room >= FOLDED_MAX - PER_CHUNK || !add_chunk(loop))) return NULL;
    if (!number) number = tasks->used++;
    Folded *folded = folded_at(tasks, number);
    if (number == tasks->first_free) tasks->first_free = folded->next;
    CHECK(kind != FOLDED_FREE);
    CHECK(number < tasks->used && number < tasks->chunk_count * PER_CHUNK);
    folded->kind = (uint8_t)kind;
    folded->tid = tid;
    enter(tasks, folded);
    tasks->count++;
    CHECK(tasks->count < tasks->used);
    if (kind != FOLDED_ENDED) tasks->asleep++;
    return folded;
}

static void give(FoldedTasks *tasks, Folded *folded)
{
    CHECK(folded->kind != FOLDED_FREE);
    CHECK(tasks->count > 0);
    const uint32_t number = number_of(folded);
    uint32_t *link = bucket_of(tasks, folded->tid);
    while (*link != number) {
        CHECK(*link);
        link = &folded_at(tasks, *link)->next;
    }
    CHECK(folded->kind == FOLDED_ENDED || tasks->asleep > 0);
    *link = folded->next;
    tasks->count--;
    if (folded->kind != FOLDED_ENDED) tasks->asleep--;
    CHECK(tasks->asleep <= tasks->count);
    folded->kind = FOLDED_FREE;
    folded->next = tasks->first_free;
    tasks->first_free = number;
}

Folded *tfy__folded_by_tid(const TfyLoop *loop, int64_t tid)
{
    FoldedTasks *tasks = (FoldedTasks *)&loop->folded;
    if (!tasks->count) return NULL;
    for (uint32_t number = *bucket_of(tasks, tid); number;) {
        Folded *folded = folded_at(tasks, number);
        if (folded->tid == tid) return folded;
        number = folded->next;
    }
    return NULL;
}

/* ---- places ---- */

/* FOLDED_PLACES: there is no room for one more. */
static uint32_t place_number(FoldedTasks *tasks, const TfyWorkflow *workflow, const TfySite *site, uint32_t pc)
{
    if (!tasks->places && !(tasks->places = calloc(FOLDED_PLACES, sizeof *tasks->places))) return FOLDED_PLACES;
    const uint64_t key = (uint64_t)(uintptr_t)workflow ^ (uint64_t)(uintptr_t)site << 20;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) % FOLDED_PLACES;
    for (FoldedPlace *place; (place = &tasks->places[at])->workflow; at = (at + 1) % FOLDED_PLACES)
        if (place->workflow == workflow && place->site == site && place->pc == pc) return at;
    if (tasks->place_count >= FOLDED_PLACES / 4 * 3) return FOLDED_PLACES;
    tasks->places[at] = (FoldedPlace){workflow, site, pc};
    tasks->place_count++;
    return at;
}

static const FoldedPlace *place_of(const TfyLoop *loop, const Folded *folded)
{
    CHECK(loop->folded.places[folded->place].workflow);
    return &loop->folded.places[folded->place];
}

/* ---- reading ---- */

static TaskRest *parent_of(const TfyLoop *loop, const Folded *folded)
{
    CHECK(folded->kind == FOLDED_CHILD);
    return rest_of(task_at(loop, folded->parent));
}

static Run *run_of(const TfyLoop *loop, const Folded *folded)
{
    return folded->kind == FOLDED_CHILD ? parent_of(loop, folded)->run : folded->run;
}

static void path_of(const TfyLoop *loop, const Folded *folded, char *out, size_t size)
{
    if (folded->kind == FOLDED_CHILD)
        snprintf(out, size, "%s.%u", parent_of(loop, folded)->log.path, folded->ordinal);
    else
        snprintf(out, size, "%s", folded->kind == FOLDED_LOOSE ? folded->loose_path : folded->path);
}

Folded *tfy__folded_by_path(const Run *run, const char *path)
{
    const FoldedTasks *tasks = &run->loop->folded;
    char own[512];
    for (uint32_t number = 1; number < tasks->used; number++) {
        Folded *folded = folded_at(tasks, number);
        if (folded->kind == FOLDED_FREE || run_of(run->loop, folded) != run) continue;
        path_of(run->loop, folded, own, sizeof own);
        if (strcmp(own, path) == 0) return folded;
    }
    return NULL;
}

Folded *tfy__folded_next(const TfyLoop *loop, const Run *run, uint32_t *at)
{
    const FoldedTasks *tasks = &loop->folded;
    while (tasks->asleep && ++*at < tasks->used) {
        Folded *folded = folded_at(tasks, *at);
        if (folded->kind == FOLDED_FREE || folded->kind == FOLDED_ENDED) continue;
        if (!run || run_of(loop, folded) == run) return folded;
    }
    return NULL;
}

const TfyPoint *tfy__folded_point(const TfyLoop *loop, const Folded *folded)
{
    return place_of(loop, folded)->site->point;
}

const TfyValue *tfy__folded_values(const Folded *folded)
{
    return folded->has_extra ? folded->extra->values : &folded->value;
}

Siblings *tfy__siblings(TfyLoop *loop, uint32_t child)
{
    if (child & FOLDED_REF) return &folded_at(&loop->folded, child & ~FOLDED_REF)->siblings;
    return &rest_of(task_at(loop, child - 1))->siblings;
}

/* ---- folding ---- */

/* Another reference now represents a child. */
static void replace_child(TfyLoop *loop, Siblings siblings, const TaskRest *parent, uint32_t parent_frame, uint32_t was,
                          uint32_t now)
{
    uint32_t *from_prev =
        siblings.prev ? &tfy__siblings(loop, siblings.prev)->next : &frame_at(parent->task, parent_frame)->children;
    CHECK(*from_prev == was);
    *from_prev = now;
    if (!siblings.next) return;
    Siblings *next = tfy__siblings(loop, siblings.next);
    CHECK(next->prev == was);
    next->prev = now;
}

static bool log_fits(const TfyLogTask *log)
{
    return log->head - log->born <= UINT32_MAX && log->head >= log->born && log->step <= UINT32_MAX;
}

static bool may_fold(const TaskRest *rest)
{
    const Run *run = rest->run;
    const TfyLoop *loop = run->loop;
    return rest != run->root && !run->history && loop->log && !loop->test && !rest->group && !rest->followers &&
           !rest->after_left && !rest->channels && !rest->holds && !rest->undo_count && !rest->deadline_count &&
           !rest->unwinding && !rest->budget && log_fits(&rest->log);
}

static void keep_log(Folded *folded, const TfyLogTask *log)
{
    folded->head = log->head;
    folded->chain = log->chain;
    folded->born_back = (uint32_t)(log->head - log->born);
    folded->step = (uint32_t)log->step;
}

/* A plain sleep: no timeout that ends it, and in no queue. */
static bool step_may_fold(const Step *step)
{
    const uint8_t family = step->call.tool->family;
    return (family == TFY_F_SLEEP || family == TFY_F_SLEEP_UNTIL) && !step->backoff_only &&
           step->due_kind == DUE_SLEEP && step->stage == STAGE_RUN && step->timer && !step->queue && !step->queued &&
           step->timeout_ms == TFY_NEVER && step->call.attempt == 1 && !step->retry &&
           step->call.step == step->rest->log.step;
}

static bool frame_may_fold(const TfyTask *task, const TaskRest *rest)
{
    const TfyFrame *frame = frame_at(task, task->top);
    return frame->depth == 1 && frame->workflow == rest->workflow && frame->pc && !frame->children && !frame->mask &&
           !frame->timer && !(frame->flags & ~FRAME_SPAWNED) && rest->workflow->resume[frame->pc - 1]->live_count < 64;
}

static bool worth_it(const TfyLoop *loop, const Step *step)
{
    const uint32_t alive = loop->task_count - loop->free_count + loop->folded.asleep;
    return loop->world.folds || (alive >= FOLD_FROM_TASKS && step->due_ms >= loop->now_ms + FOLD_FROM_MS);
}

static bool asleep_may_fold(const TfyTask *task, const TaskRest *rest)
{
    const TfyLoop *loop = task->loop;
    const Step *step = rest->step;
    if (task->state != TFY_TASK_SLEEPING || task->passages != 1 || task->error || !step) return false;
    if (!worth_it(loop, step)) return false;
    return may_fold(rest) && step_may_fold(step) && frame_may_fold(task, rest) && !rest->joiners.first && !rest->kill &&
           !rest->cancelled && !rest->cancel_again && !rest->answer_type && !rest->joined;
}

static bool needs_rest(const TaskRest *rest, const TfyFrame *frame, const TfyPoint *point)
{
    return point->live_count > 1 || rest->task->scopes != 1 || frame->scope != 1 || rest->spawned || rest->randoms ||
           rest->priority || frame->flags;
}

/* The record takes ownership of the live slots. False: no memory. */
static bool keep_frame(Folded *folded, const TaskRest *rest, const TfyFrame *frame)
{
    const TfyPoint *point = frame->workflow->resume[frame->pc - 1];
    const TfyValue *slots = (const TfyValue *)(frame + 1);
    folded->has_extra = needs_rest(rest, frame, point);
    if (folded->has_extra) {
        FoldedExtra *extra = malloc(sizeof *extra + point->live_count * sizeof *extra->values);
        if (!extra) return false;
        *extra = (FoldedExtra){.randoms = rest->randoms,
                               .scopes = rest->task->scopes,
                               .scope = frame->scope,
                               .spawned = rest->spawned,
                               .priority = rest->priority,
                               .flags = frame->flags};
        folded->extra = extra;
    }
    TfyValue *values = (TfyValue *)tfy__folded_values(folded);
    for (uint32_t i = 0; i < point->live_count; i++) values[i] = slots[point->live[i].slot];
    return true;
}

/* False: the path is too long for a task without a parent. */
static bool keep_kin(Folded *folded, TaskRest *rest)
{
    if (folded->kind == FOLDED_LOOSE) {
        const size_t size = strlen(rest->log.path) + 1;
        if (size > sizeof folded->loose_path) return false;
        folded->run = rest->run;
        memcpy(folded->loose_path, rest->log.path, size);
        return true;
    }
    TfyLoop *loop = rest->run->loop;
    CHECK(rest->parent->task && rest->parent_frame <= rest->parent->task->top);
    folded->parent = slot_of(loop, rest->parent->task);
    folded->parent_frame = rest->parent_frame;
    folded->siblings = rest->siblings;
    folded->ordinal = (uint32_t)strtoul(strrchr(rest->log.path, '.') + 1, NULL, 10);
    return true;
}

static void timer_fired(void *arg)
{
    Folded *folded = arg;
    TfyLoop *loop = chunk_of(folded)->loop;
    CHECK(folded->kind == FOLDED_CHILD || folded->kind == FOLDED_LOOSE);
    CHECK(folded->timer);
    folded->timer = 0;
    TaskRest *rest = tfy__unfold(loop, folded);
    if (rest) tfy__step_timer_fired(rest->step);
}

void tfy__fold_asleep(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    TfyLoop *loop = task->loop;
    if (!asleep_may_fold(task, rest)) return;
    Step *step = rest->step;
    const TfyFrame *frame = frame_at(task, task->top);
    const uint32_t place = place_number(&loop->folded, rest->workflow, step->call.site, frame->pc);
    Folded *folded =
        place < FOLDED_PLACES ? take(loop, rest->parent ? FOLDED_CHILD : FOLDED_LOOSE, rest->log.tid) : NULL;
    if (!folded) return;
    if (!keep_kin(folded, rest) || !tfy__timers_redirect(&loop->timers, (uint32_t)step->timer, timer_fired, folded)) {
        give(&loop->folded, folded);
        return;
    }
    if (!keep_frame(folded, rest, frame)) {
        tfy__timers_redirect(&loop->timers, (uint32_t)step->timer, tfy__step_timer_fired, step);
        give(&loop->folded, folded);
        return;
    }
    CHECK(!rest->run->history);
    CHECK(tfy__timers_has(&loop->timers, step->timer));
    tfy__log_forget_task(loop->log, &rest->log);
    keep_log(folded, &rest->log);
    folded->unheld = rest->unheld;
    folded->place = (uint16_t)place;
    folded->timer = (uint32_t)step->timer;
    folded->due_ms = step->due_ms;
    if (folded->kind == FOLDED_CHILD)
        replace_child(loop, rest->siblings, rest->parent, rest->parent_frame, slot_of(loop, task) + 1,
                      number_of(folded) | FOLDED_REF);
    step->timer = 0;
    tfy__step_free(step);
    tfy__task_vacate(rest);
    tfy__rest_retire(loop, rest);
}

static void link_ended(FoldedTasks *tasks, Folded *folded)
{
    Run *run = folded->run;
    CHECK(folded->kind == FOLDED_ENDED);
    folded->ended_prev = 0;
    folded->ended_next = run->folded_ended;
    if (run->folded_ended) folded_at(tasks, run->folded_ended)->ended_prev = number_of(folded);
    run->folded_ended = number_of(folded);
}

static void unlink_ended(FoldedTasks *tasks, const Folded *folded)
{
    CHECK(folded->kind == FOLDED_ENDED);
    CHECK(folded->ended_prev || folded->run->folded_ended == number_of(folded));
    if (folded->ended_prev)
        folded_at(tasks, folded->ended_prev)->ended_next = folded->ended_next;
    else
        folded->run->folded_ended = folded->ended_next;
    if (folded->ended_next) folded_at(tasks, folded->ended_next)->ended_prev = folded->ended_prev;
}

/* Nothing can refer to it any more. */
static void forget(TfyLoop *loop, TaskRest *rest)
{
    TfyTask scratch = {.heap = &loop->heap, .loop = loop};
    tfy__drop_value(&scratch, rest->workflow->result, rest->value);
    tfy__log_forget_task(loop->log, &rest->log);
    tfy__rest_retire(loop, rest);
}

void tfy__fold_ended(TaskRest *rest)
{
    TfyLoop *loop = rest->run->loop;
    if (rest->end_state != TFY_TASK_COMPLETED || !may_fold(rest)) return;
    if (rest->unheld) {
        forget(loop, rest);
        return;
    }
    const size_t size = strlen(rest->log.path) + 1;
    if (size > sizeof((Folded *)NULL)->path) return;
    const uint32_t place = place_number(&loop->folded, rest->workflow, NULL, 0);
    Folded *folded = place < FOLDED_PLACES ? take(loop, FOLDED_ENDED, rest->log.tid) : NULL;
    if (!folded) return;
    tfy__log_forget_task(loop->log, &rest->log);
    keep_log(folded, &rest->log);
    folded->place = (uint16_t)place;
    folded->has_extra = folded->unheld = false;
    folded->value = rest->value;
    folded->run = rest->run;
    memcpy(folded->path, rest->log.path, size);
    link_ended(&loop->folded, folded);
    tfy__rest_retire(loop, rest);
}

/* ---- unfolding ---- */

static void restore_log(TfyLogTask *log, const Folded *folded)
{
    log->head = folded->head;
    log->chain = folded->chain;
    log->born = folded->head - folded->born_back;
    log->step = folded->step;
}

/* The frame takes the ownership of the live slots back. False: no memory. */
static bool restore_frame(TfyLoop *loop, TaskRest *rest, Folded *folded)
{
    TfyTask *task = rest->task;
    TfyFrame *frame = tfy__task_push(task, rest->workflow);
    if (!frame) return false;
    const FoldedPlace *place = place_of(loop, folded);
    CHECK(place->pc && place->workflow == rest->workflow);
    const TfyPoint *point = rest->workflow->resume[place->pc - 1];
    const TfyValue *values = tfy__folded_values(folded);
    TfyValue *slots = (TfyValue *)(frame + 1);
    frame->pc = place->pc;
    for (uint32_t i = 0; i < point->live_count; i++) slots[point->live[i].slot] = values[i];
    if (!folded->has_extra) return true;
    frame->scope = folded->extra->scope;
    frame->flags = folded->extra->flags;
    task->scopes = folded->extra->scopes;
    rest->spawned = folded->extra->spawned;
    rest->randoms = folded->extra->randoms;
    rest->priority = folded->extra->priority;
    free(folded->extra);
    return true;
}

static void restore_kin(TfyLoop *loop, TaskRest *rest, const Folded *folded)
{
    if (folded->kind != FOLDED_CHILD) return;
    rest->parent = parent_of(loop, folded);
    rest->parent_frame = folded->parent_frame;
    rest->siblings = folded->siblings;
    replace_child(loop, rest->siblings, rest->parent, rest->parent_frame, number_of(folded) | FOLDED_REF,
                  slot_of(loop, rest->task) + 1);
}

/* False: no memory; nothing was moved yet. */
static bool restore_asleep(TfyLoop *loop, TaskRest *rest, Folded *folded)
{
    TfyTask *task = rest->task;
    rest->unheld = folded->unheld;
    Step *step = tfy__step_asleep(task, place_of(loop, folded)->site, folded->step, folded->due_ms);
    if (!step) return false;
    if (!restore_frame(loop, rest, folded)) {
        tfy__step_free(step);
        return false;
    }
    restore_kin(loop, rest, folded);
    if (folded->timer) step->timer = tfy__timers_redirect(&loop->timers, folded->timer, tfy__step_timer_fired, step);
    task->passages = 1;
    set_state(task, TFY_TASK_SLEEPING);
    return true;
}

static void restore_ended(TaskRest *rest, const Folded *folded)
{
    tfy__task_vacate(rest);
    rest->end_state = TFY_TASK_COMPLETED;
    rest->log.state = TFY_TASK_COMPLETED;
    rest->value = folded->value;
}

TaskRest *tfy__unfold(TfyLoop *loop, Folded *folded)
{
    char path[512];
    path_of(loop, folded, path, sizeof path);
    Run *run = run_of(loop, folded);
    TaskRest *rest = tfy__task_new(loop, run, place_of(loop, folded)->workflow, folded->tid, path);
    CHECK(!rest || run->live > (folded->kind != FOLDED_ENDED));
    if (rest) run->live--; /* a sleeping task was counted all the time */
    if (rest && folded->kind == FOLDED_ENDED) {
        restore_ended(rest, folded);
        unlink_ended(&loop->folded, folded);
    } else if (!rest || !restore_asleep(loop, rest, folded)) {
        if (rest) tfy__task_vacate(rest);
        if (rest) tfy__rest_retire(loop, rest);
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for task %s", path);
        return NULL;
    }
    restore_log(&rest->log, folded);
    give(&loop->folded, folded);
    return rest;
}

TaskRest *tfy__child(TfyLoop *loop, uint32_t child)
{
    if (child & FOLDED_REF) return tfy__unfold(loop, folded_at(&loop->folded, child & ~FOLDED_REF));
    return rest_of(task_at(loop, child - 1));
}

bool tfy__unfold_run(Run *run, uint32_t most)
{
    uint32_t at = 0;
    for (Folded *folded; most && (folded = tfy__folded_next(run->loop, run, &at)); most--)
        if (!tfy__unfold(run->loop, folded)) return false;
    return true;
}

void tfy__fold_run(Run *run)
{
    for (TaskRest *rest = run->tasks, *next; rest; rest = next) {
        next = rest->next_in_run;
        if (rest->task && state_of(rest->task) == TFY_TASK_SLEEPING) tfy__fold_asleep(rest->task);
    }
}

/* ---- closing ---- */

static void drop_values(TfyLoop *loop, Folded *folded)
{
    TfyTask scratch = {.heap = &loop->heap, .loop = loop};
    const FoldedPlace *place = place_of(loop, folded);
    if (folded->kind == FOLDED_ENDED) {
        tfy__drop_value(&scratch, place->workflow->result, folded->value);
        return;
    }
    const TfyPoint *point = place->workflow->resume[place->pc - 1];
    const TfyValue *values = tfy__folded_values(folded);
    for (uint32_t i = 0; i < point->live_count; i++) tfy__drop_value(&scratch, point->live[i].type, values[i]);
    if (folded->has_extra) free(folded->extra);
}

void tfy__folded_drop(Run *run)
{
    TfyLoop *loop = run->loop;
    while (loop->folded.count && run->folded_ended) {
        Folded *folded = folded_at(&loop->folded, run->folded_ended);
        CHECK(folded->kind == FOLDED_ENDED && folded->run == run);
        run->folded_ended = folded->ended_next;
        drop_values(loop, folded);
        give(&loop->folded, folded);
    }
}

void tfy__folded_free(TfyLoop *loop)
{
    FoldedTasks *tasks = &loop->folded;
    for (uint32_t number = 1; number < tasks->used; number++) {
        Folded *folded = folded_at(tasks, number);
        if (folded->kind != FOLDED_FREE) drop_values(loop, folded);
    }
    for (uint32_t i = 0; i < tasks->chunk_count; i++) free(tasks->chunks[i]);
    free(tasks->chunks);
    free(tasks->by_tid);
    free(tasks->places);
    *tasks = (FoldedTasks){0};
}

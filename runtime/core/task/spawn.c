/* spawn.c: how runs and tasks start: parents and children, tasks that start after others. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"
#include "core/step/budget.h"

#define PRIORITY_MAX 1000
#define PAYLOAD_KEPT 65536 /* bytes */

/* The payload of a spawn or an end: a separate buffer, since input from outside is handled while it is being
 * written. */
TfyBuffer *tfy__family_payload(TfyLoop *loop)
{
    if (loop->family_payload.cap > PAYLOAD_KEPT) tfy__buffer_free(&loop->family_payload);
    tfy__buffer_reset(&loop->family_payload);
    return &loop->family_payload;
}

const TfyWorkflow *tfy__workflow_by_name(const TfyProgram *program, const char *name)
{
    for (uint32_t i = 0; i < program->workflow_count; i++)
        if (strcmp(program->workflows[i]->name, name) == 0) return program->workflows[i];
    return NULL;
}

/* ---- runs ---- */

/* Its end is random in every kind of uuid that a run has; its start may be the time. */
static uint64_t hash_of(const uint8_t uuid[16])
{
    uint64_t end;
    memcpy(&end, uuid + 16 - sizeof end, sizeof end);
    return tfy__mix(end);
}

Run *tfy__run_by_uuid(const TfyLoop *loop, const uint8_t uuid[16])
{
    TfyLink *link = tfy__table_find(&loop->by_uuid, hash_of(uuid));
    for (; link; link = tfy__table_next(link)) {
        Run *run = TABLE_ITEM(link, Run, by_uuid);
        if (memcmp(run->log.uuid, uuid, sizeof run->log.uuid) == 0) return run;
    }
    return NULL;
}

Run *tfy__run_by_id(const TfyLoop *loop, int64_t id)
{
    return TABLE_ITEM(tfy__table_find(&loop->by_id, tfy__mix((uint64_t)id)), Run, by_id);
}

/* In both tables. */
static bool reserve(TfyLoop *loop)
{
    return tfy__table_reserve(&loop->by_uuid) && (!loop->options.hub || tfy__table_reserve(&loop->by_id));
}

Run *tfy__run_new(TfyLoop *loop, Loaded *loaded, const TfyLogRun *log)
{
    Run *run = reserve(loop) ? calloc(1, sizeof *run) : NULL;
    if (!run) return NULL;
    run->loop = loop;
    run->loaded = loaded;
    run->log = *log;
    tfy__uuid_text(log->uuid, run->uuid);
    LIST2_APPEND(&loop->runs, run, prev, next);
    tfy__table_add(&loop->by_uuid, &run->by_uuid, hash_of(log->uuid));
    if (loop->options.hub) tfy__table_add(&loop->by_id, &run->by_id, tfy__mix((uint64_t)log->id));
    loop->runs_live++;
    return run;
}

void tfy__run_release(TfyLoop *loop, Run *run)
{
    tfy__history_drop(loop, run);
    tfy__folded_drop(run);
    tfy__groups_free(run);
    tfy__locks_free(loop, run);
    tfy__signals_free(loop, run);
    while (run->tasks) {
        TaskRest *rest = run->tasks;
        if (loop->log) tfy__log_forget_task(loop->log, &rest->log);
        tfy__rest_free(loop, rest);
    }
    tfy__ceiling_free(run);
    free(run->forks);
    free(run->result);
    free(run->error);
    free(run->trace);
    free(run->difference);
}

/* Performers that keep things together have the same function. */
static void have_forgotten(TfyLoop *loop, const Run *run)
{
    void (*told)(TfyLoop * loop, const char *run_uuid) = NULL;
    for (int i = 0; i < TFY_F_COUNT; i++) {
        const TfyPerformer *performer = loop->performers[i];
        if (!performer || !performer->forget || performer->forget == told) continue;
        told = performer->forget;
        told(loop, run->uuid);
    }
}

void tfy__run_discard(TfyLoop *loop, Run *run)
{
    tfy__park_unlist(run);
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (rest->step) tfy__step_cancel(rest);
    tfy__history_forget_deferred(run);
    LIST2_REMOVE(&loop->runs, run, prev, next);
    tfy__table_remove(&loop->by_uuid, &run->by_uuid);
    if (loop->options.hub) tfy__table_remove(&loop->by_id, &run->by_id);
    CHECK(run->ended || loop->runs_live > 0);
    if (!run->ended) loop->runs_live--;
    have_forgotten(loop, run);
    tfy__run_release(loop, run);
    free(run);
}

/* Pushes the first frame of a task, which keeps its arguments. */
static bool start_frame(TaskRest *rest, const TfyValue *args)
{
    TfyTask *task = rest->task;
    TfyFrame *frame = tfy__task_push(task, rest->workflow);
    if (!frame) return false;
    TfyValue *slots = (TfyValue *)(frame + 1);
    for (uint32_t i = 0; i < rest->workflow->param_count; i++)
        slots[i] = tfy__keep_value(rest->workflow->params[i].type, args[i]);
    if (!rest->after_left) tfy__ready_push(task->loop, task);
    return true;
}

TaskRest *tfy__run_begin_root(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args, int64_t tid)
{
    TaskRest *rest = tfy__task_new(loop, run, workflow, tid, "1");
    if (!rest) return NULL;
    run->root = rest;
    return start_frame(rest, args) ? rest : NULL;
}

/* ---- spawn ---- */

static void link_child(TaskRest *child, TaskRest *parent)
{
    TfyTask *task = parent->task;
    TfyFrame *frame = frame_at(task, task->top);
    const uint32_t self = slot_of(task->loop, child->task) + 1;
    CHECK(child->run == parent->run);
    CHECK(!child->parent && !child->siblings.prev && !child->siblings.next);
    child->parent = parent;
    child->parent_frame = task->top;
    child->siblings.next = frame->children;
    CHECK(!frame->children || !tfy__siblings(task->loop, frame->children)->prev);
    if (frame->children) tfy__siblings(task->loop, frame->children)->prev = self;
    CHECK(self != frame->children);
    frame->children = self;
    frame->flags |= FRAME_SPAWNED;
}

/* The `with` clause of a spawn. */
typedef struct With {
    int64_t priority;
    const TfyValue *after; /* handles */
    int64_t after_count;
} With;

static TaskRest *awaited_task(const Run *run, TfyValue handle)
{
    TaskRest *rest = tfy__task_of_handle(run, handle.i);
    return rest && !rest->end_state ? rest : NULL; /* a task that only the log knows has finished */
}

/* False: no memory. */
static bool begin_after(TaskRest *child, const With *with)
{
    for (int64_t i = 0; i < with->after_count; i++) {
        TaskRest *awaited = awaited_task(child->run, with->after[i]);
        if (!awaited) continue;
        Follower *follower = malloc(sizeof *follower);
        if (!follower) return false;
        *follower = (Follower){.child = child, .next = awaited->followers};
        awaited->followers = follower;
        child->after_left++;
    }
    return true;
}

static void write_with(TfyBuffer *out, Run *run, const With *with)
{
    if (with->priority) tfy__put_int(out, TFY_P_PRIORITY, with->priority);
    if (!with->after_count) return;
    tfy__put(out, TFY_P_AFTER);
    for (int64_t i = 0; i < with->after_count; i++) {
        const TaskRest *rest = tfy__task_known(run, with->after[i].i);
        tfy__buffer_printf(out, "%s\"%s\"", i ? "," : "[", rest ? rest->log.path : "?");
    }
    tfy__buffer_char(out, ']');
}

/* A child to be made, and the result of making it. */
typedef struct Birth {
    const TfyWorkflow *workflow;
    const TfyValue *args; /* borrowed */
    Bond bond;
    const With *with;
    char path[512];
    int64_t tid;  /* or a negative code; TFY_E_FULL: refused */
    int64_t born; /* lsn of its TaskSpawn; refused: the number of tasks at that time */
    /* the history has it; the record is not taken yet: taking the last record ends a history, and the child must
     * still be found in it */
    bool recorded;
} Birth;

/* "PARENT.N". False: too long. */
static bool write_path(Birth *birth, const char *parent, uint32_t number)
{
    char digits[10], *at = digits + sizeof digits;
    size_t len = strlen(parent);
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    size_t count = (size_t)(digits + sizeof digits - at);
    if (len + 1 + count >= sizeof birth->path) return false;
    memcpy(birth->path, parent, len);
    birth->path[len] = '.';
    memcpy(birth->path + len + 1, at, count);
    birth->path[len + 1 + count] = '\0';
    return true;
}

/* What the program determines: the rest of the payload, the same in every replay. */
static void write_request(TfyBuffer *out, Run *run, const Birth *birth)
{
    tfy__put_name(out, TFY_P_WORKFLOW, birth->workflow->name);
    tfy__put(out, TFY_P_ARGS);
    tfy__encode_args(out, birth->workflow->params, birth->workflow->param_count, birth->args);
    write_with(out, run, birth->with);
    tfy__put_true(out, TFY_P_BODY, birth->bond == BOND_BODY);
    tfy__put_true(out, TFY_P_DETACHED, birth->bond == BOND_NONE);
    tfy__put_end(out);
}

static void take_spawn(TaskRest *rest, Birth *birth, const TfyLogRecord *record, const char *request)
{
    const char *recorded = tfy__record_tail(record, TFY_P_WORKFLOW);
    if (!recorded || strcmp(recorded, request) != 0) {
        tfy__history_diverge(rest, record, "it spawns {%s", request);
        birth->tid = TFY_E_DIVERGED;
        return;
    }
    const bool full = tfy__record_has(record, TFY_P_FULL);
    birth->tid = full ? TFY_E_FULL : tfy__history_born(rest->run, record->lsn);
    birth->born = full ? tfy__record_int(record, TFY_P_FULL) : record->lsn;
    birth->recorded = true;
}

/* Writes the spawn into the parent's chain, or finds it there. The payload starts with the number that a new child
 * would be given. */
static void record_spawn(TaskRest *rest, const TfyPoint *point, Birth *birth)
{
    TfyLoop *loop = rest->task->loop;
    const bool full = tfy__tasks_full(loop);
    const int64_t tid = loop->log ? tfy__log_coming_tid(loop->log, &rest->run->log) : 0;
    const TfyLogRecord *record = NULL;
    TfyBuffer *out = tfy__family_payload(loop);
    tfy__put_begin(out);
    if (full) {
        tfy__put_int(out, TFY_P_FULL, tfy__tasks_limit(loop));
    } else {
        tfy__put_int(out, TFY_P_TID, tid);
        tfy__put_name(out, TFY_P_PATH, birth->path);
    }
    const size_t request = out->len + 1; /* after the comma */
    write_request(out, rest->run, birth);
    birth->tid = TFY_E_NOMEM;
    if (out->depth > TFY_JSON_DEPTH) {
        birth->tid = TFY_E_INVALID;
    } else if (!tfy__history_expect(rest, TFY_R_TASK_SPAWN, point->number, &record)) {
        birth->tid = TFY_E_DIVERGED;
    } else if (record && !out->failed) {
        take_spawn(rest, birth, record, out->data + request);
    } else if (!out->failed) {
        const TfyTicket ticket = tfy__record_append(rest, TFY_R_TASK_SPAWN, rest->log.step, point->number, out);
        birth->tid = ticket < 0 ? ticket : full ? TFY_E_FULL : tfy__log_next_tid(loop->log, &rest->run->log);
        birth->born = full ? (int64_t)tfy__tasks_limit(loop) : rest->log.head;
    }
}

/* No child: the task panics, or is halted. */
static TaskRest *spawn_failed(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, int64_t code)
{
    if (code == TFY_E_NOMEM)
        tfy__buffer_refused(task, &task->loop->family_payload);
    else if (code == TFY_E_INVALID)
        tfy_panic(task, point->line, "the arguments of %s nest deeper than %d levels, so they cannot be recorded",
                  workflow->name, TFY_JSON_DEPTH);
    else
        tfy__sched_halt(task);
    return NULL;
}

static TaskRest *spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                       Bond bond, const With *with)
{
    if (task->state & T_HALTED) return NULL;
    TaskRest *rest = rest_of(task);
    TfyLoop *loop = task->loop;
    task->fuel -= (int32_t)SPAWN_FUEL;
    Birth birth;
    birth.workflow = workflow;
    birth.args = args;
    birth.bond = bond;
    birth.with = with;
    birth.recorded = false;
    if (!write_path(&birth, rest->log.path, ++rest->spawned)) {
        tfy_panic(task, point->line, "tasks are nested too deep: %.60s…", rest->log.path);
        return NULL;
    }
    rest->log.step++;
    record_spawn(rest, point, &birth);
    /* the log says so: a replay with another limit reaches the same result */
    if (birth.tid == TFY_E_FULL) {
        if (birth.recorded) tfy__history_take(rest);
        tfy_panic(task, point->line, "there are %lld tasks already: the limit of this process", (long long)birth.born);
        return NULL;
    }
    if (birth.tid < 0) return spawn_failed(task, point, workflow, birth.tid);
    TaskRest *child = tfy__task_new(loop, rest->run, workflow, birth.tid, birth.path);
    if (child) {
        child->log.born = child->log.head = birth.born;
        if (!tfy__history_attach(child) && loop->log) tfy__log_add_task(loop->log, &child->log);
        if (bond != BOND_NONE) link_child(child, rest);
        child->priority = (int32_t)with->priority;
        child->budget = tfy__budget_share(rest->budget);
    }
    /* the log knows the child: a panic here could not be replayed */
    if (!child || !begin_after(child, with) || !start_frame(child, args)) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for task %s", birth.path);
        tfy__sched_halt(task);
        return NULL;
    }
    if (birth.recorded) tfy__history_take(rest);
    if (loop->tells) tfy__activity(child->task, "TaskStep", "%s begins", workflow->name);
    return child;
}

TaskRest *tfy__task_spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                          Bond bond)
{
    return spawn(task, point, workflow, args, bond, &(With){0});
}

bool tfy_spawn_with(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                    int64_t priority, const TfyValue *after, int64_t after_count, bool detached, int64_t *out)
{
    if (priority < -PRIORITY_MAX || priority > PRIORITY_MAX)
        return tfy_panic(task, point->line, "a priority is between -%d and %d, not %lld", PRIORITY_MAX, PRIORITY_MAX,
                         (long long)priority);
    const With with = {.priority = priority, .after = after, .after_count = after_count};
    const TaskRest *child = spawn(task, point, workflow, args, detached ? BOND_NONE : BOND_CHILD, &with);
    if (child) *out = tfy__task_handle(child);
    return child != NULL;
}

bool tfy_spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args, int64_t *out)
{
    const TaskRest *child = tfy__task_spawn(task, point, workflow, args, BOND_CHILD);
    if (child) *out = tfy__task_handle(child);
    return child != NULL;
}

bool tfy_spawn_detached(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                        int64_t *out)
{
    const TaskRest *child = tfy__task_spawn(task, point, workflow, args, BOND_NONE);
    if (child) *out = tfy__task_handle(child);
    return child != NULL;
}

static bool spawn_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                         Bond bond)
{
    TaskRest *child = tfy__task_spawn(task, point, workflow, args, bond);
    if (child) child->unheld = true;
    return child != NULL;
}

bool tfy_spawn_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args)
{
    return spawn_unheld(task, point, workflow, args, BOND_CHILD);
}

bool tfy_spawn_detached_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args)
{
    return spawn_unheld(task, point, workflow, args, BOND_NONE);
}

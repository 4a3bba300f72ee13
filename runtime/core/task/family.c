/* family.c: tasks among each other: runs, spawn, parents and children, the end of a task and of a run. */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

#define PRIORITY_MAX 1000
#define PAYLOAD_KEPT 65536 /* bytes */

/* For the payload of a spawn or an end: a buffer of its own, since what came from outside is taken up while it is
 * being written. */
static TfyBuffer *family_payload(TfyLoop *loop)
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

Run *tfy__run_new(TfyLoop *loop, const TfyLogRun *log)
{
    Run *run = calloc(1, sizeof *run);
    if (!run) return NULL;
    run->loop = loop;
    run->log = *log;
    tfy__uuid_text(log->uuid, run->uuid);
    LIST_APPEND(&loop->runs, run, next);
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
    free(run->forks);
    free(run->result);
    free(run->error);
}

void tfy__run_discard(TfyLoop *loop, Run *run)
{
    tfy__park_unlist(run);
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (rest->step) tfy__step_cancel(rest);
    tfy__history_forget_deferred(run);
    LIST_REMOVE(&loop->runs, run, next);
    if (!run->ended) loop->runs_live--;
    tfy__run_release(loop, run);
    free(run);
}

/* Puts the first frame under a task, its arguments kept. */
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
    child->parent = parent;
    child->parent_frame = task->top;
    child->siblings.next = frame->children;
    if (frame->children) tfy__siblings(task->loop, frame->children)->prev = self;
    CHECK(self != frame->children);
    frame->children = self;
    frame->flags |= FRAME_SPAWNED;
}

static void unlink_child(TaskRest *child)
{
    TaskRest *parent = child->parent;
    if (!parent || !parent->task) return;
    TfyLoop *loop = parent->task->loop;
    TfyFrame *frame = frame_at(parent->task, child->parent_frame);
    const Siblings siblings = child->siblings;
    if (siblings.prev)
        tfy__siblings(loop, siblings.prev)->next = siblings.next;
    else
        frame->children = siblings.next;
    if (siblings.next) tfy__siblings(loop, siblings.next)->prev = siblings.prev;
    child->siblings = (Siblings){0, 0};
    bool waits = parent->task->state & T_RETURNING && parent->task->top == child->parent_frame;
    if (!frame->children && waits) tfy__ready_push(loop, parent->task);
}

/* What stands behind `with` of a spawn. */
typedef struct With {
    int64_t priority;
    const TfyValue *after; /* handles */
    int64_t after_count;
} With;

static TaskRest *awaited_task(const Run *run, TfyValue handle)
{
    TaskRest *rest = tfy__task_of_handle(run, handle.i);
    return rest && !rest->end_state ? rest : NULL; /* one that only the log knows has ended */
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

/* Those that begin after it: in the order in which they were spawned. One that was killed before is on its way
 * already. */
static void let_followers_begin(TaskRest *ended)
{
    Follower *first = NULL;
    while (ended->followers) {
        Follower *follower = ended->followers;
        ended->followers = follower->next;
        follower->next = first;
        first = follower;
    }
    while (first) {
        Follower *follower = first;
        TaskRest *child = follower->child;
        first = follower->next;
        free(follower);
        CHECK(child->after_left > 0);
        if (--child->after_left == 0 && child->task && state_of(child->task) == TFY_TASK_CREATED)
            tfy__ready_push(child->task->loop, child->task);
    }
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

/* A child that is to be made, and what becomes of it. */
typedef struct Birth {
    const TfyWorkflow *workflow;
    const TfyValue *args; /* borrowed */
    Bond bond;
    const With *with;
    char path[512];
    int64_t tid;  /* or a negative code; TFY_E_FULL: refused */
    int64_t born; /* lsn of its TaskSpawn; refused: how many tasks there were */
    bool
        recorded; /* the history has it; the record is not taken yet: the last one of a history ends it, and the child still has to be found there */
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

/* What the program decides: the rest of the payload, the same in every replay. */
static void write_request(TfyBuffer *out, Run *run, const Birth *birth)
{
    tfy__put_text(out, TFY_P_WORKFLOW, birth->workflow->name);
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

/* Writes the spawn into the parent's chain, or finds it there. The payload begins with the number that the child is
 * given if it is new. */
static void record_spawn(TaskRest *rest, const TfyPoint *point, Birth *birth)
{
    TfyLoop *loop = rest->task->loop;
    const bool full = tfy__tasks_full(loop);
    const int64_t tid = loop->log ? tfy__log_coming_tid(loop->log) : 0;
    const TfyLogRecord *record = NULL;
    TfyBuffer *out = family_payload(loop);
    tfy__put_begin(out);
    if (full) {
        tfy__put_int(out, TFY_P_FULL, tfy__tasks_limit(loop));
    } else {
        tfy__put_int(out, TFY_P_TID, tid);
        tfy__put_text(out, TFY_P_PATH, birth->path);
    }
    const size_t request = out->len + 1; /* behind the comma */
    write_request(out, rest->run, birth);
    birth->tid = TFY_E_NOMEM;
    if (out->depth > TFY_JSON_DEPTH) {
        birth->tid = TFY_E_INVALID;
    } else if (!tfy__history_expect(rest, TFY_R_TASK_SPAWN, point->number, &record)) {
        birth->tid = TFY_E_DIVERGED;
    } else if (record && !out->failed) {
        take_spawn(rest, birth, record, out->data + request);
    } else if (!out->failed) {
        const int64_t lsn = tfy__record_append(rest, TFY_R_TASK_SPAWN, rest->log.step, point->number, out);
        birth->tid = lsn < 0 ? lsn : full ? TFY_E_FULL : tfy__log_next_tid(loop->log);
        birth->born = full ? (int64_t)tfy__tasks_limit(loop) : lsn;
    }
}

/* No child: the task panics, or stops for good. */
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
    if (birth.tid == TFY_E_FULL) { /* the log says so: a replay with another limit comes to the same */
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
    }
    if (!child || !begin_after(child, with) ||
        !start_frame(child, args)) { /* the log knows the child: a panic here could not be replayed */
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
        return tfy_panic(task, point->line, "a priority lies between -%d and %d, it is not %lld", PRIORITY_MAX,
                         PRIORITY_MAX, (long long)priority);
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

/* ---- the end of a task ---- */

const char *tfy__failure_kind(const TaskRest *ended)
{
    if (ended->end_state == TFY_TASK_CANCELLED) return "killed";
    return ended->failure && ended->failure->type == &tfy_type_panic ? "panicked" : "failed";
}

static TfyTaskState end_state_of(const TfyTask *task)
{
    if (!task->error) return TFY_TASK_COMPLETED;
    return task->error->type == &tfy_type_cancelled ? TFY_TASK_CANCELLED : TFY_TASK_FAILED;
}

static TfyObj *error_message(const TfyObj *error)
{
    return tfy_field(error, 0).o;
}

#define CAUSES_SOUGHT 1000 /* tasks: many that fail together must not each look at all others */

/* The name of a task's workflow, where it is quickly found. */
static const char *workflow_at(const Run *run, const char *path)
{
    const TaskRest *rest = run->tasks;
    for (int i = 0; rest && strcmp(rest->log.path, path) != 0; i++) rest = i < CAUSES_SOUGHT ? rest->next_in_run : NULL;
    return rest ? rest->workflow->name : NULL;
}

/* The joined task that is the cause. Its own sentence ends with its own place, so the chain reads from the outside in
 * and the places from the inside out. False: the error tells of no task that ended. */
static bool say_cause(TfyBuffer *out, const TaskRest *rest, const TfyObj *error)
{
    if (error->type != &tfy_type_task_failed) return false;
    const TfyString *message = (const TfyString *)tfy_field(error, 0).o,
                    *path = (const TfyString *)tfy_field(error, 1).o, *kind = (const TfyString *)tfy_field(error, 2).o;
    bool killed = kind && strcmp(kind->bytes, "killed") == 0;
    bool failed = kind && (strcmp(kind->bytes, "failed") == 0 || strcmp(kind->bytes, "panicked") == 0);
    if (!path || !message || !(killed || failed)) return false;
    const char *workflow = workflow_at(rest->run, path->bytes);
    tfy__buffer_printf(out, ": task %s%s%s%s %s", path->bytes, workflow ? " (" : "", workflow ? workflow : "",
                       workflow ? ")" : "", killed ? "was killed" : kind->bytes);
    if (failed) tfy__buffer_printf(out, ": %.*s", (int)message->byte_len, message->bytes);
    return true;
}

char *tfy__failure_sentence(const TaskRest *rest, const TfyObj *error)
{
    TfyBuffer out = {0};
    const TfyString *message = (const TfyString *)error_message(error);
    tfy__buffer_text(&out, error->type->name);
    bool joined = say_cause(&out, rest, error);
    if (!joined && message && message->byte_len)
        tfy__buffer_printf(&out, ": %.*s", (int)message->byte_len, message->bytes);
    if (error->aux) {
        uint32_t line = error->aux;
        const char *file = tfy__line_file(rest->run->loop->program, &line);
        tfy__buffer_printf(&out, joined ? ", joined at %s:%u" : " (%s:%u)",
                           file ? file : rest->run->loop->program->name, line);
    }
    if (!out.failed) return out.data;
    tfy__buffer_free(&out);
    return NULL;
}

/* A result that nests deeper than JSON may could be written and never read again: the task that made it panics. */
static void write_value(TfyTask *task, TfyBuffer *out)
{
    const TfyWorkflow *workflow = rest_of(task)->workflow;
    tfy__put_value(out, TFY_P_VALUE, workflow->result, task->result);
    if (out->depth <= TFY_JSON_DEPTH) return;
    tfy__buffer_reset(out);
    tfy__put_begin(out);
    TfyValue result = tfy_take(task);
    tfy__drop_value(task, workflow->result, result);
    tfy_panic(task, workflow->line, "the result nests deeper than %d levels, so it cannot be recorded", TFY_JSON_DEPTH);
    tfy_cut(task, 0);
}

/* What the last record of a task says. Answers how it ended. */
static TfyTaskState write_end(TfyTask *task, TfyBuffer *out)
{
    tfy__put_begin(out);
    if (end_state_of(task) == TFY_TASK_COMPLETED) write_value(task, out);
    TfyTaskState state = end_state_of(task);
    tfy__put_true(out, TFY_P_CANCELLED, state == TFY_TASK_CANCELLED);
    if (state == TFY_TASK_FAILED) tfy__put_error(out, task->error);
    tfy__put_end(out);
    return state;
}

static bool record_end(TaskRest *rest, TfyTaskState *state)
{
    TfyTask *task = rest->task;
    TfyBuffer *out = family_payload(task->loop);
    *state = write_end(task, out);
    TfyRecordType type = *state == TFY_TASK_COMPLETED ? TFY_R_TASK_EXIT : TFY_R_TASK_ABORT;
    const TfyLogRecord *record;
    if (!tfy__history_expect(rest, type, 0, &record)) return false;
    if (out->failed) {
        tfy__loop_fail(task->loop, TFY_E_NOMEM, "no memory to write a record");
        return false;
    }
    if (record && strcmp(record->payload, out->data) != 0) {
        tfy__history_diverge(rest, record, "the task ends with %s", out->data);
        return false;
    }
    if (record) {
        tfy__history_take(rest);
        return true;
    }
    tfy__count_end(task->loop->metrics.tasks_ended, *state);
    return tfy__record_append(rest, type, rest->log.step, 0, out) > 0;
}

/* The run's last task has ended. */
static void run_finish(TfyLoop *loop, Run *run)
{
    TaskRest *root = run->root;
    const TfyLogRecord *record;
    if (!tfy__history_expect(root, TFY_R_TASK_COMPLETE, 0, &record)) return;
    TfyBuffer out = {0};
    bool ok = root->end_state == TFY_TASK_COMPLETED;
    tfy__put_begin(&out);
    tfy__put_flag(&out, TFY_P_OK, ok);
    if (ok && root->workflow->result->kind != TFY_NOTHING) {
        TfyBuffer value = {0};
        tfy__encode(&value, root->workflow->result, root->value);
        tfy__put_json(&out, TFY_P_VALUE, value.data, value.len);
        run->result = value.failed ? NULL : value.data;
    } else if (root->end_state == TFY_TASK_FAILED) {
        tfy__put_error(&out, root->failure);
    } else {
        tfy__put_true(&out, TFY_P_CANCELLED, !ok);
    }
    tfy__put_end(&out);
    if (!ok) run->error = strdup(root->failure_text ? root->failure_text : "cancelled");
    if (record)
        tfy__history_take(root);
    else if (tfy__record_append(root, TFY_R_TASK_COMPLETE, root->log.step, 0, &out) > 0)
        tfy__count_end(loop->metrics.runs_ended, root->end_state);
    tfy__buffer_free(&out);
    run->log.state = root->end_state;
    run->log.ended_ms = loop->now_ms;
    run->ended = true;
    loop->runs_live--;
    tfy__out_let_go(loop, run->uuid, 0);
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (rest->end_state == TFY_TASK_FAILED && rest != root && !rest->joined)
            tfy__report_text(loop, "task %s (%s) failed and nobody joined it: %s\n", rest->log.path,
                             rest->workflow->name, rest->failure_text);
    tfy__activity_run_ended(run);
    if (loop->log) tfy__log_end_run(loop->log, &run->log);
}

void tfy__task_finish(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    TfyLoop *loop = task->loop;
    TfyTaskState state;
    if (!tfy__locks_release(rest) || !record_end(rest, &state)) {
        if (!task->error) tfy__drop_value(task, rest->workflow->result, tfy_take(task)); /* nobody will have it */
        tfy__sched_halt(task);
        return;
    }
    rest->end_state = state;
    rest->log.state = state;
    if (state == TFY_TASK_COMPLETED) {
        rest->value = tfy_take(task);
    } else {
        if (state == TFY_TASK_FAILED) rest->failure_text = tfy__failure_sentence(rest, task->error);
        if (state == TFY_TASK_FAILED)
            tfy__activity(task, "TaskFailure", "%s", rest->failure_text ? rest->failure_text : "failed");
        rest->failure = tfy_take_error(task);
    }
    if (loop->tells)
        tfy__activity(task, "Completed", "%s",
                      state == TFY_TASK_COMPLETED   ? "done"
                      : state == TFY_TASK_CANCELLED ? "cancelled"
                                                    : "failed");
    if (rest->undo_count) tfy__undo_hand_over(rest);
    unlink_child(rest);
    for (Step *joiner; (joiner = rest->joiners.first);) {
        tfy__wait_leave(joiner);
        tfy__step_join_ended(joiner);
    }
    if (rest->followers) let_followers_begin(rest);
    if (rest->group) tfy__group_body_ended(rest);
    Run *run = rest->run;
    tfy__task_give_back(rest);
    tfy__fold_ended(rest);
    if (--run->live == 0) run_finish(loop, run);
}

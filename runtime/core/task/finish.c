/* finish.c: how tasks and runs finish: what is recorded, and who is told. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"
#include "core/step/budget.h"

static void unlink_child(TaskRest *child)
{
    TaskRest *parent = child->parent;
    if (!parent || !parent->task) return;
    TfyLoop *loop = parent->task->loop;
    TfyFrame *frame = frame_at(parent->task, child->parent_frame);
    const Siblings siblings = child->siblings;
    uint32_t *from_prev = siblings.prev ? &tfy__siblings(loop, siblings.prev)->next : &frame->children;
    CHECK(*from_prev == slot_of(loop, child->task) + 1);
    *from_prev = siblings.next;
    if (siblings.next) tfy__siblings(loop, siblings.next)->prev = siblings.prev;
    child->siblings = (Siblings){0, 0};
    bool waits = parent->task->state & T_RETURNING && parent->task->top == child->parent_frame;
    if (!frame->children && waits) tfy__ready_push(loop, parent->task);
}

/* Tasks that start after it, in the order in which they were spawned. A task that was killed before is already on
 * its way. */
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

#define CAUSES_SOUGHT 1000 /* tasks: many that fail together must not each search all others */

/* The name of a task's workflow, if it can be found quickly. */
static const char *workflow_at(const Run *run, const char *path)
{
    const TaskRest *rest = run->tasks;
    for (int i = 0; rest && strcmp(rest->log.path, path) != 0; i++) rest = i < CAUSES_SOUGHT ? rest->next_in_run : NULL;
    return rest ? rest->workflow->name : NULL;
}

/* Names the joined task that is the cause. Its own sentence ends with its own place, so the chain reads from the
 * outside in and the places from the inside out. False: the error is not about a task that finished. */
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
        const char *file = tfy__line_file(program_of(rest->run), &line);
        tfy__buffer_printf(&out, joined ? ", joined at %s:%u" : " (%s:%u)", file ? file : program_of(rest->run)->name,
                           line);
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

/* The last record of a task. Returns how the task ended. */
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
    TfyBuffer *out = tfy__family_payload(task->loop);
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

/* The run's last task has finished. */
static void run_finish(TfyLoop *loop, Run *run)
{
    TaskRest *root = run->root;
    const TfyLogRecord *record;
    CHECK(!run->ended && root->end_state);
    CHECK(loop->runs_live > 0);
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
    if (loop->runs_seen.ended) loop->runs_seen.ended(loop->runs_seen.state, run->uuid);
    if (loop->options.stay) LIST_APPEND(&loop->runs_over, run, over_next);
}

void tfy__task_finish(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    TfyLoop *loop = task->loop;
    TfyTaskState state;
    CHECK(!rest->end_state);
    CHECK(!rest->step && task->top == TFY_NO_FRAME);
    CHECK(!rest->deadline_count && !rest->unwinding);
    if (!tfy__locks_release(rest) || !record_end(rest, &state)) {
        if (!task->error) tfy__drop_value(task, rest->workflow->result, tfy_take(task)); /* nothing will use it */
        tfy__sched_halt(task);
        return;
    }
    CHECK(!rest->holds);
    tfy__budget_leave(&rest->budget);
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
    CHECK(run->live > 0);
    if (--run->live == 0)
        run_finish(loop, run);
    else if (loop->park_after_ms >= 0)
        tfy__park_consider(run); /* the others may all wait */
}

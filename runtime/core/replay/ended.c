/* ended.c: finished tasks that are not in memory. A run that was resumed from a snapshot knows only those that it
 * still needs; when a task joins, kills or awaits any other by its number, the log is read. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"

/* How it ended, from its last record. */
static bool take_end(TaskRest *rest, const TfyLogEnd *end)
{
    TfyLoop *loop = rest->run->loop;
    const TfyProgram *program = program_of(rest->run);
    TfyTask scratch = {.heap = &loop->heap, .loop = loop};
    const TfyExact exact = {program->errors, program->error_count};
    const TfyLogRecord record = tfy__record_of_payload(end->payload);
    TfyPayload payload;
    bool ok = tfy__payload_open(&payload, &record);
    json_t *value = tfy__payload_get(&payload, TFY_P_VALUE), *error = tfy__payload_get(&payload, TFY_P_ERROR);
    const TfyType *result = rest->workflow->result;
    uint32_t mark = tfy_mark(&scratch);
    char text[TFY_ERROR_TEXT];
    TfyValue read = {.i = 0};
    rest->end_state = end->type == TFY_R_TASK_EXIT ? TFY_TASK_COMPLETED : error ? TFY_TASK_FAILED : TFY_TASK_CANCELLED;
    if (ok && rest->end_state == TFY_TASK_COMPLETED && result->kind != TFY_NOTHING) {
        ok = tfy__decode_exact(&scratch, &exact, result, value, &read, text);
        if (ok) rest->value = tfy__keep_value(result, read);
    } else if (ok && error) {
        ok = tfy__decode_exact(&scratch, &exact, &tfy_type_any_error, error, &read, text);
        if (ok) rest->failure = tfy_keep(read.o);
        if (ok) rest->failure_text = tfy__failure_sentence(rest, read.o);
    }
    tfy_cut(&scratch, mark);
    tfy_drop(&scratch, tfy_take_error(&scratch));
    tfy__payload_close(&payload);
    return ok;
}

/* A replay writes no log, but a replay that starts at a snapshot reads the log of its history. */
static int find_end(const Run *run, int64_t tid, TfyLogEnd *end)
{
    TfyLog *log = run->loop->log ? run->loop->log : run->history ? run->history->log : NULL;
    return log ? tfy__log_find_end(log, &run->log, tid, end) : TFY_E_ABSENT;
}

static TaskRest *from_log(Run *run, int64_t tid)
{
    TfyLogEnd end;
    const int code = find_end(run, tid, &end);
    if (code == TFY_E_NOMEM) run->loop->heap.ran_out = true; /* not finding it proves nothing then */
    if (code < 0 && code != TFY_E_NOMEM && code != TFY_E_ABSENT)
        tfy__loop_fail(run->loop, code, "the end of a task that is needed cannot be read from the log");
    if (code < 0) return NULL;
    const TfyWorkflow *workflow = tfy__workflow_by_name(program_of(run), end.workflow);
    TaskRest *rest = workflow ? tfy__task_new_ended(run->loop, run, workflow, tid, end.path) : NULL;
    if (workflow && !rest) run->loop->heap.ran_out = true;
    if (rest) {
        rest->log.born = end.born;
        rest->log.head = end.head;
        rest->log.chain = end.chain;
        rest->joined = true; /* its failure was reported, or is about to be used */
        if (!take_end(rest, &end)) tfy__loop_fail(run->loop, TFY_E_DATA, "the end of task %s cannot be read", end.path);
    }
    tfy__log_end_free(&end);
    return rest;
}

TaskRest *tfy__task_known(Run *run, int64_t handle)
{
    TaskRest *rest = tfy__task_of_handle(run, handle);
    bool elsewhere = !rest && run->in_log && handle > 0 && handle < INT64_MAX - run->log.root;
    return elsewhere ? from_log(run, run->log.root + handle) : rest;
}

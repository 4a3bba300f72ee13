#include "cli/program/result.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/frame/cli.h"
#include "cli/frame/report.h"
#include "cli/program/reading.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

const TfyLogRecord *tfy__result_record(const TfyHistory *history)
{
    for (uint32_t i = history->record_count; i-- > 0;) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type == TFY_R_TASK_COMPLETE && record->tid == history->run.root) return record;
    }
    return NULL;
}

static const char *workflow_at(const TfyHistory *history, const char *path)
{
    for (uint32_t i = 0; i < history->task_count; i++)
        if (strcmp(history->tasks[i].path, path) == 0) return history->task_workflows[i];
    return NULL;
}

/* Names the joined task that caused the failure. Returns false if the error does not name one. */
static bool add_cause(TfyBuffer *out, const TfyHistory *history, const json_t *error)
{
    const char *kind = tfy__json_text(error, "kind"), *path = tfy__json_text(error, "task");
    const bool killed = strcmp(kind, "killed") == 0,
               failed = strcmp(kind, "failed") == 0 || strcmp(kind, "panicked") == 0;
    if (strcmp(tfy__json_text(error, "error"), "TaskFailed") != 0 || !(killed || failed)) return false;
    const char *workflow = workflow_at(history, path);
    tfy__buffer_printf(out, ": task %s%s%s%s %s", path, workflow ? " (" : "", workflow ? workflow : "",
                       workflow ? ")" : "", killed ? "was killed" : kind);
    if (failed) tfy__buffer_printf(out, ": %s", tfy__json_text(error, "message"));
    return true;
}

/* A line number counts over all files of the program. */
static void add_place(TfyBuffer *out, const json_t *layout, json_int_t line, bool joined)
{
    const char *file = json_string_value(json_object_get(layout, "file"));
    json_int_t first = 1;
    const json_t *module;
    size_t i;
    json_array_foreach(json_object_get(layout, "modules"), i, module)
    {
        const json_int_t begins = json_integer_value(json_object_get(module, "line"));
        if (i == 0 || begins > line) continue;
        file = json_string_value(json_object_get(module, "file"));
        first = begins;
    }
    if (line > 0 && file)
        tfy__buffer_printf(out, joined ? ", joined at %s:%lld" : " (%s:%lld)", file, (long long)(line - first + 1));
}

/* Prints the same words as the process that ran it (core/task/finish.c), as far as the log has them. */
static int print_failure(const TfyHistory *history, const json_t *error)
{
    TfyBuffer out = {0};
    json_t *layout = json_loads(history->program_layout, 0, NULL);
    const char *name = tfy__json_text(error, "error"), *message = tfy__json_text(error, "message");
    tfy__buffer_text(&out, *name ? name : "no reason is known");
    const bool joined = add_cause(&out, history, error);
    if (!joined && *message) tfy__buffer_printf(&out, ": %s", message);
    add_place(&out, layout, json_integer_value(json_object_get(error, "line")), joined);
    tfy__fail(EXIT_RUN_FAILED, "%s failed: %s", history->workflow ? history->workflow : "the run",
              out.failed ? "memory ran out" : out.data);
    tfy__buffer_free(&out);
    json_decref(layout);
    return EXIT_RUN_FAILED;
}

/* Prints the value as the process does, byte for byte: nothing for a workflow that returns nothing. */
static int print_outcome(const TfyLogRecord *end)
{
    size_t len;
    const char *value = tfy__record_raw(end, TFY_P_VALUE, &len);
    if (!value) return EXIT_DONE;
    fwrite(value, 1, len, stdout);
    putchar('\n');
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__result_print(const TfyHistory *history)
{
    char run[37];
    int status;
    TfyPayload payload;
    tfy__uuid_text(history->run.uuid, run);
    const TfyLogRecord *end = tfy__result_record(history);
    tfy__payload_open(&payload, end ? end : &(TfyLogRecord){.payload = "{}", .payload_len = 2});
    if (history->run.state == TFY_TASK_CANCELLED)
        status = tfy__fail(EXIT_RUN_FAILED, "%s was cancelled (run %s)",
                           history->workflow ? history->workflow : "the run", run);
    else if (!end)
        status = tfy__fail(EXIT_DATA, "run %s has ended, and the record of its end is missing", run);
    else if (history->run.state == TFY_TASK_FAILED)
        status = print_failure(history, tfy__payload_get(&payload, TFY_P_ERROR));
    else
        status = print_outcome(end);
    tfy__payload_close(&payload);
    return status;
}

int tfy__result_of(TfyLog *log, const char *run)
{
    TfyHistory *history;
    int status = tfy__db_read(log, tfy__history_read_tail, run, &history);
    if (status != EXIT_DONE) return status;
    status = tfy__result_print(history);
    tfy__history_free(history);
    return status;
}

int tfy__result_again(const TfyHistory *history)
{
    char run[37];
    tfy__uuid_text(history->run.uuid, run);
    tfy__say("run %s has already ended: it %s", run,
             history->run.state == TFY_TASK_COMPLETED   ? "completed"
             : history->run.state == TFY_TASK_CANCELLED ? "was cancelled"
                                                        : "failed");
    return tfy__result_print(history);
}

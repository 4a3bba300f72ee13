#include "cli/program/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/program/reading.h"
#include "cli/program/result.h"
#include "core/loop.h"
#include "wal/log/run_id.h"
#include "wal/rows/payload.h"

/* Encodes the arguments as InstructionStart has them, in a loop without a log. */
static int encode(const TfyProgram *program, const TfyWorkflow *workflow, const char *params, TfyBuffer *text)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLoop *loop;
    const TfyOptions options = {.quiet = true};
    int code = tfy_open(&loop, program, &options, error);
    if (code != TFY_OK) return code;
    code = tfy__encode_arguments(loop, workflow, params, text, error);
    tfy_close(loop);
    return code;
}

/* Arguments that do not fit the parameters are no match; the start then says so. */
static bool are_same(const TfyProgram *program, const TfyWorkflow *workflow, const char *params, const char *birth)
{
    size_t len = 0;
    TfyBuffer text = {0};
    const TfyLogRecord record = tfy__record_of_payload(birth);
    const char *raw = tfy__record_raw(&record, TFY_P_ARGS, &len);
    const int code = encode(program, workflow, params, &text);
    const bool same = code == TFY_OK && raw && text.len == len && memcmp(text.data, raw, len) == 0;
    tfy__buffer_free(&text);
    return same;
}

static bool is_program(TfyLog *log, int64_t row, const TfyProgram *program)
{
    char hash[33], own[33], *layout = NULL;
    const uint8_t *bytes = (const uint8_t *)program->hash;
    for (int i = 0; i < 16; i++) snprintf(own + 2 * i, 3, "%02x", bytes[i]);
    const bool known = tfy__log_program_hash(log, row, hash, &layout) == TFY_OK;
    free(layout);
    return known && strcmp(hash, own) == 0;
}

static TfyNamed judge(TfyLog *log, const TfyLogRun *row, const TfyProgram *program, const char *run, bool same,
                      int *status)
{
    const char *name = tfy__program_name();
    if (!same) {
        *status = tfy__fail(EXIT_DATA, "run %s has that name and other arguments; '%s inspect %s' shows them", run,
                            strcmp(name, "tfy") == 0 ? name : "tfy", run);
        return TFY_NAMED_FAILED;
    }
    tfy__say("run %s", run);
    if (row->state >= TFY_TASK_COMPLETED) {
        *status = tfy__result_of(log, run);
        return TFY_NAMED_ENDED;
    }
    if (is_program(log, row->program, program)) return TFY_NAMED_UNFINISHED;
    *status = tfy__fail(EXIT_WAITING, "it was started by another version of %s; continue with: tfy resume %s",
                        program->name, run);
    return TFY_NAMED_FAILED;
}

TfyNamed tfy__named_find(const TfyArgs *args, const TfyProgram *program, const TfyWorkflow *workflow,
                         const char *params, char run[37], int *status)
{
    const char *name = args->option[OPT_RUN_ID];
    const TfyLogOptions options = {.path = tfy__db_path(args), .read_only = true, .existing = true};
    char error[TFY_ERROR_TEXT] = "";
    uint8_t uuid[16];
    TfyLog *log = NULL;
    TfyLogRun row;
    TfyLogOutline outline = {0};
    TfyNamed found = TFY_NAMED_FAILED;
    if (!tfy__run_name_fits(name)) {
        *status = tfy__fail(EXIT_USAGE, "--id takes 1 to %d visible ASCII characters", TFY_RUN_NAME_MAX);
        return found;
    }
    tfy__run_id_of("", program->name, workflow->name, name, uuid);
    tfy__uuid_text(uuid, run);
    int code = tfy__log_open(&log, &options, error);
    if (code == TFY_E_ABSENT) return TFY_NAMED_NEW;
    if (code == TFY_OK) code = tfy__log_find_run(log, uuid, &row);
    if (code == TFY_OK) code = tfy__log_outline(log, &row, &outline);
    if (code == TFY_OK)
        found = judge(log, &row, program, run, are_same(program, workflow, params, outline.birth), status);
    else if (log && code == TFY_E_ABSENT)
        found = TFY_NAMED_NEW;
    else
        *status = tfy__fail(tfy__exit_status(code), "%s", *error ? error : "the runs of the database cannot be read");
    tfy__log_outline_free(&outline);
    tfy__log_close(log, false);
    return found;
}

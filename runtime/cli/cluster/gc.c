/* gc.c: tfy gc on PostgreSQL: runs that have ended are removed, or moved into a file, while others are executed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cli/cluster/cluster.h"
#include "cli/cluster/gc.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "tfy.h"
#include "wal/history/history.h"
#include "wal/keep/import.h"
#include "wal/store/pg_gc.h"

typedef struct Collect {
    const TfyArgs *args;
    const TfyGcOptions *options;
    TfyLog *from, *archive; /* NULL: nothing is archived */
    json_t *runs;           /* of the report; NULL: it is a text */
    char error[TFY_ERROR_TEXT];
} Collect;

/* ---- the archive ---- */

static int open_archive(Collect *collect)
{
    const TfyLogOptions options = {.path = collect->options->archive, .no_thread = true};
    int code = tfy__shared_log_open(tfy__db_path(collect->args), &collect->from, collect->error);
    if (!code) code = tfy__log_open(&collect->archive, &options, collect->error);
    if (code) return code;
    const TfyTicket ticket = tfy__log_opened(collect->archive, tfy_version(), "archives");
    return ticket < 0 ? (int)ticket : 0;
}

static int close_archive(Collect *collect, int code)
{
    char error[TFY_ERROR_TEXT] = "";
    if (collect->from) tfy__log_close(collect->from, false);
    const int closed = collect->archive ? tfy__log_close_saying(collect->archive, true, error) : 0;
    if (!code && closed) snprintf(collect->error, sizeof collect->error, "%s", error);
    return code ? code : closed;
}

/* It is in the file for good before it goes. One that an interrupted gc has archived is there already. */
static int archive(Collect *collect, const char *run, const uint8_t uuid[16])
{
    TfyHistory *history = NULL;
    TfyLogRun there;
    int64_t doubts;
    if (tfy__log_find_run(collect->archive, uuid, &there) == 0) return 0;
    int code = tfy__history_read_whole(collect->from, run, &history, collect->error);
    if (!code) code = tfy__import_run(collect->archive, history, &doubts, collect->error);
    if (!code && (code = tfy__log_sync(collect->archive)) != 0) tfy__log_error_text(collect->archive, collect->error);
    tfy__history_free(history);
    return code;
}

/* ---- what is said ---- */

static int see(void *state, const TfyPgGone *gone)
{
    Collect *collect = state;
    char run[37], ended[32];
    const TfyLogRun row = {.state = gone->state};
    tfy__uuid_text(gone->uuid, run);
    if (collect->archive) {
        const int code = archive(collect, run, gone->uuid);
        if (code) return code;
    }
    if (collect->runs) {
        json_array_append_new(collect->runs,
                              json_pack("{s:s,s:s,s:I}", "run", run, "state", tfy__db_run_state(&row, false), "records",
                                        (json_int_t)gone->records));
    } else if (collect->options->dry_run) {
        tfy__db_time(gone->ended_ms, ended);
        printf("%s  %-9s  %s  %" PRId64 " records\n", run, tfy__db_run_state(&row, false), ended, gone->records);
    }
    return 0;
}

static void print_json(Collect *collect, const TfyPgGcResult *result)
{
    json_t *report = json_pack("{s:b,s:I,s:I,s:I,s:I,s:I,s:O}", "dry_run", collect->options->dry_run, "records",
                               (json_int_t)result->records, "kept", (json_int_t)result->kept, "sessions",
                               (json_int_t)result->sessions, "bytes_before", (json_int_t)result->bytes_before,
                               "bytes_after", (json_int_t)result->bytes_after, "runs", collect->runs);
    tfy__report_print(report, 2);
}

static void print_text(const TfyGcOptions *options, const TfyPgGcResult *result)
{
    tfy__say("%" PRId64 " run%s with %" PRId64 " records %s", result->runs, result->runs == 1 ? "" : "s",
             result->records,
             options->dry_run   ? "would go"
             : options->archive ? "were archived and dropped"
                                : "were dropped");
    if (result->kept)
        tfy__say("%" PRId64 " run%s: a start with the same key or --id must find a run for a day", result->kept,
                 result->kept == 1 ? " stays" : "s stay");
}

static int refuse_options(const TfyArgs *args, const TfyGcOptions *options)
{
    if (options->max_bytes >= 0)
        return tfy__fail(EXIT_USAGE,
                         "--max-size is for files: PostgreSQL keeps the room of what is removed for what comes; "
                         "use --older-than or --keep");
    if (options->compact || args->word_count) return tfy__fail(EXIT_USAGE, "--compact works on files only, so far");
    return EXIT_DONE;
}

int tfy__cluster_gc(const TfyArgs *args, const TfyGcOptions *options)
{
    Collect collect = {.args = args, .options = options};
    TfyPgGcResult result = {0};
    const int status = refuse_options(args, options);
    if (status != EXIT_DONE) return status;
    if (args->option[OPT_JSON] && !(collect.runs = json_array())) return tfy__fail(EXIT_BUG, "memory ran out");
    const TfyPgGcOptions gc = {.older_than_ms = options->older_than_ms,
                               .keep = options->keep,
                               .dry_run = options->dry_run,
                               .see = see,
                               .state = &collect};
    int code = options->archive && !options->dry_run ? open_archive(&collect) : 0;
    if (!code) code = tfy__pg_gc(tfy__db_path(args), &gc, &result, collect.error);
    code = close_archive(&collect, code);
    if (!code && collect.runs)
        print_json(&collect, &result);
    else if (!code)
        print_text(options, &result);
    json_decref(collect.runs);
    return code ? tfy__fail(tfy__exit_status(tfy__cluster_code(code)), "%s", collect.error)
                : tfy__flush_stdout(EXIT_DONE);
}

/* verify.c: see verify.h. */
#include "cli/cluster/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cli/cluster/cluster.h"
#include "cli/frame/progress.h"
#include "cli/frame/report.h"
#include "tfy.h"
#include "wal/history/history.h"

enum { PROGRESS_EVERY = 64 };

typedef struct Verifying {
    TfyLog *log;
    int64_t runs, tasks, records;
    json_t *damaged; /* {"run", "error"} each */
    char error[TFY_ERROR_TEXT];
} Verifying;

/* One that was removed since the list was made is no damage. */
static int check_run(Verifying *verifying, const TfyLogRun *row)
{
    char run[37];
    TfyHistory *history = NULL;
    tfy__uuid_text(row->uuid, run);
    const int code = tfy__history_read_stored(verifying->log, run, &history, verifying->error);
    if (code == TFY_E_ABSENT) return 0;
    if (code && code != TFY_E_DATA) return code;
    verifying->runs++;
    if (code) {
        json_t *one = json_pack("{s:s,s:s}", "run", run, "error", verifying->error);
        return json_array_append_new(verifying->damaged, one) == 0 ? 0 : TFY_E_NOMEM;
    }
    verifying->tasks += history->task_count;
    verifying->records += history->record_count;
    tfy__history_free(history);
    return 0;
}

/* The oldest runs first. */
static int check_runs(Verifying *verifying)
{
    TfyLogRun *rows = NULL;
    TfyProgress progress = {0};
    uint32_t count = 0;
    int code = tfy__log_runs(verifying->log, &rows, NULL, &count);
    if (code) snprintf(verifying->error, sizeof verifying->error, "the list of runs cannot be read");
    for (uint32_t i = 0; !code && i < count; i++) {
        if (i % PROGRESS_EVERY == 0) tfy__progress(&progress, "runs", i, count);
        code = check_run(verifying, &rows[count - 1 - i]);
    }
    tfy__progress_end(&progress);
    free(rows);
    return code;
}

static void print_json(const Verifying *verifying, const char *db)
{
    tfy__report_print(json_pack("{s:s,s:b,s:I,s:I,s:I,s:O}", "db", db, "sound", !json_array_size(verifying->damaged),
                                "runs", verifying->runs, "tasks", verifying->tasks, "records", verifying->records,
                                "damaged", verifying->damaged),
                      2);
}

static void print_text(const Verifying *verifying)
{
    const size_t damaged = json_array_size(verifying->damaged);
    const json_t *one;
    size_t i;
    json_array_foreach(verifying->damaged, i, one)
        printf("run %s: %s\n", tfy__json_text(one, "run"), tfy__json_text(one, "error"));
    if (damaged)
        printf("%zu of %" PRId64 " runs are damaged\n", damaged, verifying->runs);
    else
        printf("the database is sound: %" PRId64 " records of %" PRId64 " tasks in %" PRId64 " runs\n",
               verifying->records, verifying->tasks, verifying->runs);
}

int tfy__cluster_verify(const TfyArgs *args)
{
    Verifying verifying = {.damaged = json_array()};
    if (!verifying.damaged) return tfy__fail(EXIT_BUG, "memory ran out");
    int code = tfy__shared_log_open(tfy__db_path(args), &verifying.log, verifying.error);
    if (!code) code = check_runs(&verifying);
    if (verifying.log) tfy__log_close(verifying.log, false);
    int status = code ? tfy__fail(tfy__exit_status(code), "%s", verifying.error) : EXIT_DONE;
    if (!code && args->option[OPT_JSON])
        print_json(&verifying, tfy__db_path(args));
    else if (!code)
        print_text(&verifying);
    if (!code && json_array_size(verifying.damaged)) status = EXIT_DATA;
    json_decref(verifying.damaged);
    return tfy__flush_stdout(status);
}

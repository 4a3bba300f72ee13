/* hold.c: tfy hold and tfy release: runs of a database of PostgreSQL that no worker may take, and that they may take again. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cluster/cluster.h"
#include "cli/frame/commands.h"
#include "cli/look/db.h"
#include "wal/history/history.h"

/* What is done to each run: hold or release of TfyClusterOps. */
typedef struct Change {
    int (*make)(TfyCluster *cluster, int64_t run, int64_t *owner);
    bool holds;
    TfyCluster *cluster;
    TfyLog *log;
} Change;

static void say_held(const char *run, const TfyLogRun *row, bool before, int64_t owner)
{
    if (owner)
        printf("%s: held as soon as session %" PRId64 " leaves it; until then it continues\n", run, owner);
    else if (before)
        printf("%s: is held already (%s)\n", run, tfy__db_held_why(row));
    else
        printf("%s: held\n", run);
}

static void say_released(const char *run, const TfyLogRun *row, bool changed)
{
    if (!changed)
        printf("%s: is not held\n", run);
    else
        printf("%s: released%s%s%s\n", run, row->held ? " (it was held: " : "", row->held ? tfy__db_held_why(row) : "",
               row->held ? ")" : "");
}

static int change_run(const Change *change, const char *name)
{
    char error[TFY_ERROR_TEXT] = "", run[37];
    TfyLogRun row;
    int64_t owner = 0;
    int code = tfy__history_find(change->log, name, &row, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    tfy__uuid_text(row.uuid, run);
    code = change->make(change->cluster, row.id, &owner);
    if (code == TFY_E_STATE) return tfy__fail(tfy__exit_status(code), "run %s has already ended", run);
    if (code == TFY_E_ABSENT) return tfy__fail(tfy__exit_status(code), "run %s is not there any more", run);
    if (code < 0) return tfy__cluster_failed(change->cluster, code);
    if (change->holds)
        say_held(run, &row, !code, owner);
    else
        say_released(run, &row, code);
    return EXIT_DONE;
}

/* All of them are tried; the status is that of the first one that failed. */
static int change_runs(const TfyArgs *args, Change *change)
{
    int result = EXIT_DONE;
    for (int i = 0; i < args->word_count; i++) {
        const int status = change_run(change, args->words[i]);
        if (result == EXIT_DONE) result = status;
    }
    return tfy__flush_stdout(result);
}

static int open_both(const TfyArgs *args, Change *change)
{
    char error[TFY_ERROR_TEXT] = "";
    if (!tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE, "runs are held in a database of PostgreSQL: --db postgresql://USER@HOST/NAME");
    const int status = tfy__db_cluster(args, &change->cluster);
    if (status != EXIT_DONE) return status;
    const int code = tfy__shared_log_open(tfy__db_path(args), &change->log, error);
    return code == 0 ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

static int change(const TfyArgs *args, bool holds)
{
    Change change = {.holds = holds};
    int status = open_both(args, &change);
    if (status == EXIT_DONE) {
        change.make = holds ? change.cluster->ops->hold : change.cluster->ops->release;
        status = change_runs(args, &change);
    }
    if (change.log) tfy__log_close(change.log, false);
    if (change.cluster) change.cluster->ops->close(change.cluster);
    return status;
}

int tfy__cmd_hold(const TfyArgs *args)
{
    return change(args, true);
}

int tfy__cmd_release(const TfyArgs *args)
{
    return change(args, false);
}

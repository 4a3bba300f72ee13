/* move.c: see move.h. */
#include "cli/cluster/move.h"

#include <stdio.h>
#include <string.h>

#include "cli/cluster/carry.h"
#include "cli/cluster/program.h"
#include "wal/history/move.h"
#include "wal/rows/payload.h"

typedef struct Moving {
    TfyCarry carry;
    TfyKept program; /* the other one */
} Moving;

/* ---- a run ---- */

static int note_claimed(const Moving *moving, TfyLogTask *root, int64_t claims)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_SESSION, moving->carry.session);
    tfy__put_text(&out, TFY_P_WORKER, "tfy move");
    tfy__put_int(&out, TFY_P_CLAIMS, claims);
    tfy__put_end(&out);
    const TfyTicket ticket = tfy__log_append_payload(moving->carry.log, root, TFY_R_CLAIMED, root->step, 0, &out);
    return ticket < 0 ? (int)ticket : 0;
}

/* If something was sent to the run meanwhile, it stays, and is made ready for whoever claims it. */
static int leave(Moving *moving, TfyLogRun *run, const TfyClaimed *claimed, int64_t due_ms)
{
    TfyStoreLeaving stayed;
    TfyLog *log = moving->carry.log;
    int code = tfy__log_hand_back(log, run, claimed->mail, due_ms);
    if (!code) code = tfy__carry_sync(&moving->carry);
    if (code || !tfy__log_stayed(log, &stayed, 1)) return code;
    code = tfy__log_hand_on(log, run);
    return code ? code : tfy__carry_sync(&moving->carry);
}

/* 1; 0: it has gone on since. */
static int move_claimed(Moving *moving, const TfyMovable *movable, const TfyClaimed *claimed, int64_t due_ms,
                        char *error_text)
{
    TfyHistory *history = NULL;
    int code = tfy__history_read_tail(moving->carry.log, movable->uuid, &history, error_text);
    if (code) return code;
    TfyLogTask *root = history->tasks;
    while (root->tid != history->run.root) root++;
    history->run.owned.claims = claimed->claims;
    const bool same = history->run.lsn == movable->lsn;
    if (same) code = note_claimed(moving, root, claimed->claims);
    if (same && !code) code = tfy__move_append(moving->carry.log, history, moving->program.hash, moving->program.id);
    if (!code) code = leave(moving, &history->run, claimed, same ? due_ms : 0);
    if (code) tfy__log_error_text(moving->carry.log, error_text);
    tfy__history_free(history);
    return code ? code : same;
}

static int move_run(Moving *moving, const TfyMovable *movable, char *error_text)
{
    TfyLogRun row;
    TfyClaimed claimed;
    int64_t due_ms;
    const TfyClusterOps *ops = moving->carry.cluster->ops;
    int code = tfy__history_find(moving->carry.log, movable->uuid, &row, error_text);
    if (code) return code;
    const int64_t queue = ops->queue_beside(moving->carry.cluster, row.id, moving->program.id);
    int64_t taken =
        queue < 0 ? queue : ops->take(moving->carry.cluster, moving->carry.session, row.id, &claimed, &due_ms);
    if (taken < 0) return tfy__log_refuse(error_text, tfy__cluster_code(taken), "%s", moving->carry.cluster->error);
    return taken ? move_claimed(moving, movable, &claimed, due_ms, error_text) : 0;
}

static int move_runs(Moving *moving, const TfyMovable *runs, uint32_t count, uint32_t *moved)
{
    char error[TFY_ERROR_TEXT] = "";
    for (uint32_t i = 0; i < count; i++) {
        const int code = move_run(moving, &runs[i], error);
        if (code < 0) return tfy__fail(tfy__exit_status(code), "run %s: %s", runs[i].uuid, error);
        *moved += code > 0;
        if (code)
            printf("run %s: moved\n", runs[i].uuid);
        else
            printf("run %s: not moved: a worker has it or has continued it, or it has to wait for others to end\n",
                   runs[i].uuid);
    }
    return EXIT_DONE;
}

int tfy__cluster_move(const TfyArgs *args, const char *to, const TfyMovable *runs, uint32_t count, uint32_t *moved)
{
    char error[TFY_ERROR_TEXT] = "";
    Moving moving = {.program = {0}};
    *moved = 0;
    int code = tfy__carry_open(tfy__db_path(args), "tfy move", &moving.carry, error);
    int status = code ? tfy__fail(tfy__exit_status(code), "%s", error) : EXIT_DONE;
    if (status == EXIT_DONE)
        status = tfy__is_source(to) ? tfy__program_keep(moving.carry.cluster, to, &moving.program)
                                    : tfy__program_of_version(moving.carry.cluster, to, &moving.program);
    if (status == EXIT_DONE) status = move_runs(&moving, runs, count, moved);
    code = tfy__carry_close(&moving.carry, error);
    if (code && status == EXIT_DONE) status = tfy__fail(tfy__exit_status(code), "%s", error);
    return status;
}

/* db.c: reads runs, and finds places in the source of their programs. */
#include "cli/look/db.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/lower_bound.h"
#include "tfy.h"
#include "wal/store/lock.h"
#include "wal/store/pg_address.h"
#include "wal/history/history.h"

int tfy__db_history(const TfyArgs *args, TfyHistory **history)
{
    TfyLog *log;
    *history = NULL;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_read(log, tfy__history_read, args->word_count ? args->words[0] : "last", history);
    tfy__log_close(log, false);
    return status;
}

int tfy__db_with_history(const TfyArgs *args, TfyHistoryShow *show)
{
    TfyHistory *history;
    const bool held = tfy__db_held(tfy__db_path(args));
    int status = tfy__db_history(args, &history);
    if (status != EXIT_DONE) return status;
    status = tfy__flush_stdout(show(args, history, held));
    tfy__history_free(history);
    return status;
}

static int look_at(TfyLog *log, const char *run, int (*look)(void *state, const TfyHistory *history), void *state)
{
    TfyHistory *history = NULL;
    int status = tfy__db_read(log, tfy__history_read, run, &history);
    if (status == EXIT_DONE) status = look(state, history);
    tfy__history_free(history);
    return status;
}

int tfy__db_runs(const TfyArgs *args, int (*look)(void *state, const TfyHistory *history), void *state)
{
    TfyLog *log;
    TfyLogRun *runs = NULL;
    char id[37];
    uint32_t count = 0;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    if (args->word_count) {
        status = look_at(log, args->words[0], look, state);
    } else if (tfy__log_runs(log, &runs, NULL, &count) != TFY_OK) {
        status = tfy__fail(EXIT_LOG, "the runs cannot be read");
    }
    for (uint32_t i = 0; i < count; i++) {
        tfy__uuid_text(runs[i].uuid, id);
        if (status == EXIT_DONE) status = look_at(log, id, look, state);
    }
    free(runs);
    tfy__log_close(log, false);
    return status;
}

static int program_of_run(TfyLog *log, const char *run, char **source, char **layout, char live[37], char *error)
{
    TfyHistory *history = NULL;
    int code = tfy__history_read(log, run, &history, error);
    if (code == TFY_OK) {
        *layout = strdup(history->program_layout);
        *source = strdup(history->program_source);
        if (!*layout || !*source) code = TFY_E_NOMEM;
        if (live && history->run.state < TFY_TASK_COMPLETED) tfy__uuid_text(history->run.uuid, live);
    }
    tfy__history_free(history);
    return code;
}

int tfy__db_program(TfyLog *log, const char *word, char **source, char **layout, char live[37])
{
    char error[TFY_ERROR_TEXT] = "";
    if (live) *live = '\0';
    int code = program_of_run(log, word, source, layout, live, error);
    if (code == TFY_E_ABSENT) {
        code = tfy__log_find_program(log, word, source, layout);
        snprintf(error, sizeof error,
                 code == TFY_E_INVALID
                     ? "several programs of the database have a hash that starts with '%.40s'; give more of it"
                     : "'%.60s' is not a FILE.tfy, a run, or a program's hash; 'tfy ps' lists runs and their programs",
                 word);
    }
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

void tfy__db_say_base(const TfyHistory *history)
{
    if (history->run.base_lsn)
        tfy__say("the run was compacted: little is left of what came before record %lld",
                 (long long)history->run.base_lsn);
}

bool tfy__db_is_base(const TfyHistory *history, const TfyLogRecord *record)
{
    return history->run.base_lsn && record->lsn == history->run.base_lsn;
}

bool tfy__db_held(const char *db_path)
{
    char owner[TFY_LOCK_OWNER_BYTES];
    if (tfy__pg_is_address(db_path)) return false; /* each run of it has an owner of its own */
    return tfy__lock_held(db_path, owner, sizeof owner);
}

static const char *unfinished_state(const TfyLogRun *run, bool held)
{
    switch (run->turn) {
    case TFY_RUN_READY: return "queued";
    case TFY_RUN_DUE: return "waiting";
    case TFY_RUN_OWNED: return "running";
    case TFY_RUN_HELD: return "held";
    default: return run->parked_ms == TFY_QUEUED_MS ? "queued" : held ? "running" : "stopped";
    }
}

const char *tfy__db_held_why(const TfyLogRun *run)
{
    static const char *const names[TFY_HELD_COUNT] = {[TFY_HELD_PERSON] = "person",
                                                      [TFY_HELD_POISON] = "poison",
                                                      [TFY_HELD_DAMAGED] = "damaged",
                                                      [TFY_HELD_LOST] = "lost"};
    return run->state < TFY_TASK_COMPLETED && run->held < TFY_HELD_COUNT ? names[run->held] : NULL;
}

const char *tfy__db_run_state(const TfyLogRun *run, bool held)
{
    switch (run->state) {
    case TFY_TASK_COMPLETED: return "completed";
    case TFY_TASK_FAILED: return "failed";
    case TFY_TASK_CANCELLED: return "cancelled";
    default: return unfinished_state(run, held);
    }
}

int tfy__db_number(const TfyArgs *args, TfyOption option, uint64_t *out)
{
    const char *text = args->option[option];
    char *end = NULL;
    if (!text) return EXIT_DONE;
    errno = 0;
    const unsigned long long number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!number || errno || *end)
        return tfy__fail(EXIT_USAGE, "--%s takes a number from 1 on, not '%s'", tfy__option_at(option)->name, text);
    *out = number;
    return EXIT_DONE;
}

/* Tasks are in the order of their creation. */
uint32_t tfy__db_task_born(const TfyHistory *history, int64_t lsn)
{
    const uint32_t index = (uint32_t)LOWER_BOUND(history->tasks, history->task_count, born, lsn);
    return index < history->task_count && history->tasks[index].born == lsn ? index : UINT32_MAX;
}

void tfy__db_time(int64_t ms, char text[32])
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || strftime(text, 32, "%Y-%m-%d %H:%M:%S", &parts) == 0) strcpy(text, "?");
}

void tfy__db_add_took(TfyBuffer *out, int64_t started_ms, int64_t ended_ms)
{
    const int64_t ms = ended_ms - started_ms, seconds = ms / 1000;
    char text[32] = "";
    if (ended_ms && ms < 0)
        snprintf(text, sizeof text, "?"); /* the clock was set back meanwhile: the duration is unknown */
    else if (ended_ms && seconds < 1000)
        snprintf(text, sizeof text, "%.1f s", (double)ms / 1000);
    else if (ended_ms && seconds < 86400)
        snprintf(text, sizeof text, "%" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    else if (ended_ms)
        snprintf(text, sizeof text, "%" PRId64 " d %" PRId64 " h", seconds / 86400, seconds / 3600 % 24);
    tfy__buffer_printf(out, "  %9s", text);
}

/* import.c: adds runs of other databases to this one. */
#include "wal/keep/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wal/history/in_flight.h"
#include "wal/history/shared.h"
#include "wal/log/log_state.h"
#include "wal/history/move.h"
#include "wal/log/saved.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

/* ---- in doubt ---- */

/* tasks[i] is the history's task i as the log must continue it. */
static int doubt_steps(TfyLog *log, const TfyHistory *history, TfyLogTask *tasks, int64_t *doubts)
{
    if (history->run.state >= TFY_TASK_COMPLETED) return 0;
    const TfyLogRecord **open = tfy__in_flight(history, history->record_count);
    int code = open ? 0 : TFY_E_NOMEM;
    for (uint32_t i = 0; !code && i < history->task_count; i++) {
        if (!open[i]) continue;
        const int64_t lsn = tfy__in_flight_doubt(log, &tasks[i], open[i], NULL,
                                                 "this is a copy: only the original knows whether it happened");
        code = lsn < 0 ? (int)lsn : 0;
        *doubts += !code;
    }
    free(open);
    return code;
}

int tfy__import_doubt(TfyLog *log, TfyHistory *history, int64_t *doubts)
{
    const int code = doubt_steps(log, history, history->tasks, doubts);
    for (uint32_t i = 0; i < history->task_count; i++) tfy__log_forget_task(log, &history->tasks[i]);
    return code;
}

/* ---- the run ---- */

typedef struct Importing {
    TfyLog *log;
    TfyHistory *history;
    TfyLogRun run;
    TfyLogTask *tasks; /* the history's, with their numbers here */
    uint32_t born;     /* number of tasks that have their row */
} Importing;

static const char *name_of(const TfyLog *log)
{
    return log->path ? log->path : "the database";
}

static bool is_there(TfyLog *log, const uint8_t uuid[16], TfyLogRun *run, int *code)
{
    pthread_mutex_lock(&log->store_mutex);
    *code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!*code) {
        *code = TFY_STORE(log->store, TFY_CALL_READ, find_run, uuid, run);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    const bool there = !*code;
    if (*code == TFY_E_ABSENT) *code = 0;
    return there;
}

/* Queues the next task's row just before the root's first record, or after the spawn that created the task. */
static void bear_task(Importing *importing, int64_t lsn)
{
    TfyLogTask *task = &importing->tasks[importing->born++];
    task->born = lsn; /* 0: the record that comes next */
    task->head = 0;
    task->chain = 0;
    tfy__log_add_task(importing->log, task);
}

static int append_records(Importing *importing)
{
    const TfyHistory *history = importing->history;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        TfyLogTask *task = &importing->tasks[history->record_tasks[i]];
        const TfyStoreGap *gap = tfy__history_gap(history, record->lsn);
        if (record->type == TFY_R_INSTRUCTION_START) bear_task(importing, 0);
        const TfyTicket ticket = gap ? tfy__log_copy_behind_gap(importing->log, task, record, gap->chain)
                                     : tfy__log_copy(importing->log, task, record);
        if (ticket < 0) return (int)ticket;
        const int64_t lsn = task->head;
        if (record->lsn == history->run.base_lsn) importing->run.base_lsn = lsn;
        if (tfy__record_spawns(record)) bear_task(importing, lsn);
        if (tfy__record_is_move(record)) importing->run.moved_lsn = lsn;
        if (tfy__record_is_options(record)) importing->run.options_lsn = lsn;
    }
    return 0;
}

/* Queues all programs that the run ever had; the newest is its own. */
static int queue_programs(Importing *importing)
{
    const TfyHistory *history = importing->history;
    int64_t id = 0;
    for (uint32_t i = 0; id >= 0 && i < history->move_count; i++) {
        const TfyHistoryMove *move = &history->moves[i];
        id = tfy__log_program(importing->log, move->hash, move->tfyc, move->source, move->layout);
    }
    if (id >= 0)
        id = tfy__log_program(importing->log, history->program_hash, history->program_tfyc, history->program_source,
                              history->program_layout);
    importing->run.program = id;
    return id < 0 ? (int)id : 0;
}

/* The number here of a task of the history. */
static int64_t number_task(Importing *importing, int64_t tid)
{
    TfyLog *log = importing->log;
    const int64_t distance = tid - importing->history->run.root;
    if (log->shared) return tfy__log_owned_tid(&importing->run, distance + 1);
    log->next_tid = importing->run.root + distance + 1;
    return importing->run.root + distance;
}

static void number_run(Importing *importing)
{
    TfyLog *log = importing->log;
    const TfyHistory *history = importing->history;
    importing->run = history->run;
    if (log->shared)
        tfy__shared_own_tasks(log, &importing->run, history);
    else
        importing->run.root = log->next_tid;
    importing->run.imported = (log->shared ? 0 : log->last) + history->record_count;
    importing->run.lsn = importing->run.snap = 0;
}

static int begin_run(Importing *importing)
{
    TfyLog *log = importing->log;
    TfyHistory *history = importing->history;
    number_run(importing);
    /* Its snapshot has another database's numbers: it resumes from its records, or from where they start. */
    importing->run.parked_ms = importing->run.parked_at_ms = 0;
    /* Unset until these records have numbers here. */
    importing->run.moved_lsn = importing->run.base_lsn = importing->run.options_lsn = 0;
    int code = queue_programs(importing);
    if (!code) code = tfy__log_begin_run(log, &importing->run);
    for (uint32_t i = 0; i < history->task_count; i++) {
        TfyLogTask *task = &importing->tasks[i];
        *task = history->tasks[i];
        task->tid = number_task(importing, task->tid);
        task->run = &importing->run;
        task->dirty = false;
        task->next_dirty = NULL;
        task->dirty_link = NULL;
    }
    return code;
}

/* Queues the run's row with its end, its last move, its options, and its start; and that it leaves a session. */
static int finish_run(Importing *importing)
{
    TfyLogRun *run = &importing->run;
    run->state = importing->history->run.state;
    if (importing->log->shared) return tfy__log_hand_on(importing->log, run);
    return run->state >= TFY_TASK_COMPLETED || run->moved_lsn || run->base_lsn || run->options_lsn
               ? tfy__log_change_run(importing->log, run)
               : 0;
}

/* New records have points of the run's current program. */
static int queue_doubts(Importing *importing, int64_t *doubts)
{
    TfyHistory *history = importing->history;
    const int code = history->move_count ? tfy__history_adapt(history, history->program_layout) : 0;
    return code ? code : doubt_steps(importing->log, history, importing->tasks, doubts);
}

static int queue_run(Importing *importing, const char *uuid, int64_t *doubts)
{
    TfyHistory *history = importing->history;
    int code = begin_run(importing);
    if (!code) code = append_records(importing);
    if (!code) code = tfy__saved_queue(importing->log, uuid, history->saved);
    if (!code) code = queue_doubts(importing, doubts);
    if (!code) code = finish_run(importing);
    for (uint32_t i = 0; i < history->task_count; i++) tfy__log_forget_task(importing->log, &importing->tasks[i]);
    return code;
}

int tfy__import_run(TfyLog *log, TfyHistory *history, int64_t *doubts, char *error_text)
{
    char uuid[37];
    Importing importing = {.log = log, .history = history};
    int code;
    tfy__uuid_text(history->run.uuid, uuid);
    if (is_there(log, history->run.uuid, &importing.run, &code))
        return tfy__log_refuse(error_text, TFY_E_STATE, "%s already has run %s; nothing was imported", name_of(log),
                               uuid);
    if (code) return tfy__log_refuse(error_text, code, "the runs of %s cannot be read", name_of(log));
    if ((code = tfy__saved_fits(log, history->saved, error_text))) return code;
    importing.tasks = malloc(history->task_count * sizeof *importing.tasks);
    code = importing.tasks ? queue_run(&importing, uuid, doubts) : TFY_E_NOMEM;
    free(importing.tasks);
    if (!code) return 0;
    /* Half of it may be queued. */
    tfy__writer_fail(log, code, "a run could not be imported");
    return tfy__log_refuse(error_text, code, "run %s could not be written to %s", uuid, name_of(log));
}

/* ---- openings ---- */

void tfy__import_epoch(TfyLog *log, int64_t epoch)
{
    if (epoch > log->meta.epoch) log->meta.epoch = epoch; /* written with the mark of the close */
}

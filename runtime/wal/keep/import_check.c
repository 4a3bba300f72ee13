/* import_check.c: checks whether a history from outside is consistent. */
#include "wal/keep/import_compacted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wal/history/move.h"
#include "wal/log/saved.h"
#include "wal/store/store.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

/* ---- tasks and records ---- */

static bool is_root(const TfyHistory *history, const TfyLogTask *task)
{
    return task->tid == history->run.root;
}

static bool is_birth(const TfyLogRecord *record)
{
    return record->type == TFY_R_INSTRUCTION_START || tfy__record_spawns(record);
}

static int refuse(char *error_text, const TfyLogTask *task, int64_t lsn, const char *why)
{
    return tfy__log_refuse(error_text, TFY_E_DATA, "task %s of the run, record %" PRId64 ": %s", task->path, lsn, why);
}

/* Tasks ascend by their own numbers and by those of the records that started them; the root is the first. */
static int check_tasks(const TfyHistory *history, char *error_text)
{
    static const int64_t numbers_max = INT64_C(1) << 40;
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i], *before = i ? task - 1 : NULL;
        if (!before ? !is_root(history, task) || strchr(task->path, '.')
                    : task->tid <= before->tid || task->born <= before->born || !strchr(task->path, '.') ||
                          task->tid - history->run.root > numbers_max)
            return refuse(error_text, task, task->born, "the task cannot have been born there");
    }
    return history->task_count ? 0 : tfy__log_refuse(error_text, TFY_E_DATA, "the run has no tasks");
}

/* The position of a task while its records are checked. */
typedef struct Stand {
    /* lsn of its newest record; before the first one: of its birth, or 0 for the root. */
    int64_t lsn;
    uint64_t chain; /* chain value there */
} Stand;

/* After a gap the chain continues from the last missing record; the record before it must be the one that the gap
 * names. */
static int check_gap(const TfyHistory *history, uint32_t index, Stand *stand, uint32_t *gaps, char *error_text)
{
    const TfyLogRecord *record = &history->records[index];
    const TfyStoreGap *gap = tfy__history_gap(history, record->lsn);
    if (!gap) return 0;
    if (gap->below != stand->lsn || record->lsn > history->run.base_lsn)
        return refuse(error_text, &history->tasks[history->record_tasks[index]], record->lsn,
                      "nothing can be missing before it");
    stand->chain = gap->chain;
    ++*gaps;
    return 0;
}

/* In the order of the log: a task is born, then each of its records follows the previous one. */
static int check_records(const TfyHistory *history, Stand *stands, char *error_text)
{
    uint32_t born = 0, gaps = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const uint32_t at = history->record_tasks[i];
        const TfyLogTask *task = &history->tasks[at];
        const bool first = is_birth(record) && record->type == TFY_R_INSTRUCTION_START;
        if (i && record->lsn <= record[-1].lsn) return refuse(error_text, task, record->lsn, "it is out of order");
        if (is_birth(record)) {
            if (born == history->task_count || history->tasks[born].born != record->lsn || first != (born == 0))
                return refuse(error_text, task, record->lsn, "the task that it made is missing");
            born++;
        }
        if (at >= born) return refuse(error_text, task, record->lsn, "its task is not born yet");
        if (record->v != TFY_RECORD_V || !tfy__record_type_known(record->type))
            return refuse(error_text, task, record->lsn, "this tfy does not know its type");
        const int code = check_gap(history, i, &stands[at], &gaps, error_text);
        if (code) return code;
        stands[at] = (Stand){record->lsn, tfy__chain_next(stands[at].chain, record)};
        if (stands[at].chain != record->chain)
            return refuse(error_text, task, record->lsn, "it was changed since it was written");
    }
    if (gaps != history->gap_count)
        return tfy__log_refuse(error_text, TFY_E_DATA, "records are missing before one that is not there");
    return born == history->task_count
               ? 0
               : tfy__log_refuse(error_text, TFY_E_DATA, "a task of the run has no first record");
}

/* The row of a run and its records must state the same end. */
static int check_end(const TfyHistory *history, char *error_text)
{
    int state = TFY_TASK_READY;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != TFY_R_TASK_COMPLETE || history->record_tasks[i] != 0) continue;
        state = tfy__record_end(record);
        if (state == TFY_TASK_FAILED && history->run.state == TFY_TASK_CANCELLED) state = TFY_TASK_CANCELLED;
    }
    const bool open = history->run.state >= 0 && history->run.state < TFY_TASK_COMPLETED;
    return history->run.state == state || (open && state == TFY_TASK_READY)
               ? 0
               : tfy__log_refuse(error_text, TFY_E_DATA, "the end of the run does not match its records");
}

/* ---- whether its saved rows have their records ---- */

typedef struct SaveRecord {
    const char *task; /* its path */
    int64_t step;
    const TfyLogRecord *record;
    bool used; /* a row belongs to it */
} SaveRecord;

static int by_step(const void *left, const void *right)
{
    const SaveRecord *a = left, *b = right;
    const int order = strcmp(a->task, b->task);
    return order ? order : (a->step > b->step) - (a->step < b->step);
}

static bool is_save(const TfyLogRecord *record, const char *table)
{
    if (record->type != TFY_R_VALUE) return false;
    return table ? tfy__record_is(record, TFY_P_SAVE, table) : tfy__record_has(record, TFY_P_SAVE);
}

/* The save records of a history, and where it may have lost some. */
typedef struct Saves {
    const TfyHistory *history;
    SaveRecord *records; /* by task and step */
    size_t count;
    TfyLostSteps *lost;
} Saves;

/* False: out of memory. */
static bool find_saves(Saves *saves)
{
    const TfyHistory *history = saves->history;
    saves->records = malloc((history->record_count + 1) * sizeof *saves->records);
    saves->lost = tfy__import_lost(history);
    for (uint32_t i = 0; saves->records && i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (is_save(record, NULL))
            saves->records[saves->count++] =
                (SaveRecord){history->tasks[history->record_tasks[i]].path, record->step, record, false};
    }
    if (saves->count) qsort(saves->records, saves->count, sizeof *saves->records, by_step);
    return saves->records && saves->lost;
}

static int check_rows(const Saves *all, const TfySavedRows *saved, char *error_text)
{
    for (uint32_t i = 0; i < saved->row_count; i++) {
        const TfySavedRow *row = &saved->rows[i];
        SaveRecord *save = bsearch(&(SaveRecord){.task = row->task, .step = row->step}, all->records, all->count,
                                   sizeof *all->records, by_step);
        if (!save && tfy__import_is_lost(all->history, all->lost, row->task, row->step)) continue;
        if (!save || save->used || !is_save(save->record, saved->table.name))
            return tfy__log_refuse(error_text, TFY_E_DATA,
                                   "step %" PRId64 " of task %.80s saved no such row in table %.63s", row->step,
                                   row->task, saved->table.name);
        save->used = true;
    }
    return 0;
}

static int check_saved(const TfyHistory *history, char *error_text)
{
    Saves saves = {.history = history};
    int code = 0;
    if (!history->saved || (code = tfy__saved_check(history->saved, error_text))) return code;
    if (!find_saves(&saves)) code = tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to check the run");
    for (const TfySavedRows *saved = history->saved; saved && !code; saved = saved->next)
        code = check_rows(&saves, saved, error_text);
    free(saves.records);
    free(saves.lost);
    return code;
}

/* ---- the whole check ---- */

static int check_chains(const TfyHistory *history, char *error_text)
{
    Stand *stands = malloc((history->task_count + 1) * sizeof *stands);
    int code = stands ? 0 : tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to check the run");
    for (uint32_t i = 0; !code && i < history->task_count; i++)
        stands[i] = (Stand){i ? history->tasks[i].born : 0, tfy__chain_seed(history->run.uuid, history->tasks[i].path)};
    if (!code) code = check_records(history, stands, error_text);
    for (uint32_t i = 0; !code && i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        if (stands[i].chain != task->chain)
            code = refuse(error_text, task, task->head, "it is not the newest of its task");
    }
    free(stands);
    return code;
}

int tfy__import_check(const TfyHistory *history, char *error_text)
{
    int code = check_tasks(history, error_text);
    if (!code) code = check_chains(history, error_text);
    if (!code && history->run.base_lsn) code = tfy__import_check_base(history, error_text);
    if (!code) code = check_end(history, error_text);
    if (!code && !tfy__history_moves_fit(history))
        code = tfy__log_refuse(error_text, TFY_E_DATA, "its moves do not lead from one program to the next");
    return code ? code : check_saved(history, error_text);
}

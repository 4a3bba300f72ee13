/* import_check.c: whether a history that comes from outside is one. */
#include "import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "move.h"
#include "saved.h"
#include "store.h"

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

/* Tasks ascend in the numbers they have and in those of the records that made them; the root is the first. */
static int check_tasks(const TfyHistory *history, char *error_text)
{
    static const int64_t numbers_max = INT64_C(1) << 40;
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i], *before = i ? task - 1 : NULL;
        if (!before ? !is_root(history, task) || strchr(task->path, '.')
                    : task->tid <= before->tid || task->born <= before->born || !strchr(task->path, '.') ||
                          task->tid - history->run.root > numbers_max)
            return refuse(error_text, task, task->born, "it is not where the task can have been born");
    }
    return history->task_count ? 0 : tfy__log_refuse(error_text, TFY_E_DATA, "the run has no tasks");
}

/* In the order of the log: a task is born, then its records follow one from the other. */
static int check_records(const TfyHistory *history, uint64_t *chains, char *error_text)
{
    uint32_t born = 0;
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
        if (record->v != TFY_RECORD_V || !record->type || record->type >= TFY_R_COUNT)
            return refuse(error_text, task, record->lsn, "this tfy does not know its kind");
        chains[at] = tfy__chain_next(chains[at], record);
        if (chains[at] != record->chain)
            return refuse(error_text, task, record->lsn, "it was changed since it was written");
    }
    return born == history->task_count ? 0
                                       : tfy__log_refuse(error_text, TFY_E_DATA, "a task of the run was never born");
}

/* The row of a run and its records must tell the same end. */
static int check_end(const TfyHistory *history, char *error_text)
{
    int state = TFY_TASK_READY;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != TFY_R_TASK_COMPLETE || history->record_tasks[i] != 0) continue;
        const bool done = strncmp(record->payload, "{\"ok\":true", 10) == 0;
        state = done                                       ? TFY_TASK_COMPLETED
                : history->run.state == TFY_TASK_CANCELLED ? TFY_TASK_CANCELLED
                                                           : TFY_TASK_FAILED;
    }
    const bool open = history->run.state >= 0 && history->run.state < TFY_TASK_COMPLETED;
    return history->run.state == state || (open && state == TFY_TASK_READY)
               ? 0
               : tfy__log_refuse(error_text, TFY_E_DATA, "the run did not end as it says");
}

/* ---- whether its rows have their records ---- */

typedef struct SaveRecord {
    const char *task; /* its path */
    int64_t step;
    const TfyLogRecord *record;
    bool used; /* a row is its */
} SaveRecord;

static int by_step(const void *left, const void *right)
{
    const SaveRecord *a = left, *b = right;
    const int order = strcmp(a->task, b->task);
    return order ? order : (a->step > b->step) - (a->step < b->step);
}

static bool is_save(const TfyLogRecord *record, const char *table)
{
    char head[SAVED_NAME + 32];
    const int len = snprintf(head, sizeof head, "{\"save\":\"%s\",", table ? table : "");
    return record->type == TFY_R_VALUE && strncmp(record->payload, head, table ? (size_t)len : 9) == 0;
}

/* By task and step; *count of them. */
static SaveRecord *find_saves(const TfyHistory *history, size_t *count)
{
    SaveRecord *saves = malloc((history->record_count + 1) * sizeof *saves);
    *count = 0;
    for (uint32_t i = 0; saves && i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (is_save(record, NULL))
            saves[(*count)++] =
                (SaveRecord){history->tasks[history->record_tasks[i]].path, record->step, record, false};
    }
    if (saves) qsort(saves, *count, sizeof *saves, by_step);
    return saves;
}

static int check_rows(const TfySavedRows *saved, SaveRecord *saves, size_t count, char *error_text)
{
    for (uint32_t i = 0; i < saved->row_count; i++) {
        const TfySavedRow *row = &saved->rows[i];
        SaveRecord *save =
            bsearch(&(SaveRecord){.task = row->task, .step = row->step}, saves, count, sizeof *saves, by_step);
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
    size_t count;
    int code = 0;
    if (!history->saved || (code = tfy__saved_check(history->saved, error_text))) return code;
    SaveRecord *saves = find_saves(history, &count);
    if (!saves) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to check the run");
    for (const TfySavedRows *saved = history->saved; saved && !code; saved = saved->next)
        code = check_rows(saved, saves, count, error_text);
    free(saves);
    return code;
}

/* ---- all of it ---- */

static int check_chains(const TfyHistory *history, char *error_text)
{
    uint64_t *chains = malloc((history->task_count + 1) * sizeof *chains);
    int code = chains ? 0 : tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to check the run");
    for (uint32_t i = 0; !code && i < history->task_count; i++)
        chains[i] = tfy__chain_seed(history->run.uuid, history->tasks[i].path);
    if (!code) code = check_records(history, chains, error_text);
    for (uint32_t i = 0; !code && i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        if (chains[i] != task->chain) code = refuse(error_text, task, task->head, "it is not the newest of its task");
    }
    free(chains);
    return code;
}

int tfy__import_check(const TfyHistory *history, char *error_text)
{
    int code = check_tasks(history, error_text);
    if (!code) code = check_chains(history, error_text);
    if (!code) code = check_end(history, error_text);
    if (!code && !tfy__history_moves_fit(history))
        code = tfy__log_refuse(error_text, TFY_E_DATA, "the programs it had do not follow one from the other");
    return code ? code : check_saved(history, error_text);
}

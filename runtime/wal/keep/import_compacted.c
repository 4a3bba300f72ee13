/* import_compacted.c: see import_compacted.h. */
#include "wal/keep/import_compacted.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wal/rows/payload.h"
#include "wal/store/store.h"
#include "wal/history/history.h"

/* ---- the snapshot ---- */

/* By task: its chain value just before the snapshot. */
static uint64_t *chains_at(const TfyHistory *history)
{
    uint64_t *chains = malloc((history->task_count + 1) * sizeof *chains);
    for (uint32_t i = 0; chains && i < history->task_count; i++)
        chains[i] = tfy__chain_seed(history->run.uuid, history->tasks[i].path);
    for (uint32_t i = 0; chains && i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->lsn < history->run.base_lsn) chains[history->record_tasks[i]] = record->chain;
    }
    return chains;
}

/* The position of a task that had finished by then no longer matters. */
static bool fits(const TfyHistory *history, const uint64_t *chains, const json_t *json, bool ended)
{
    const json_t *number = tfy__member_get(json, TFY_S_TASK);
    const char *path = tfy__member_text(json, TFY_S_PATH), *chain = tfy__member_text(json, TFY_S_CHAIN);
    const int64_t distance = json_integer_value(number);
    if (!json_is_integer(number) || distance < 0 || distance > INT64_C(1) << 40) return false;
    const TfyLogTask *task = tfy__history_task(history, history->run.root + distance);
    return task && task->born < history->run.base_lsn && chain && (!path || strcmp(path, task->path) == 0) &&
           (ended || strtoull(chain, NULL, 16) == chains[task - history->tasks]);
}

static bool all_fit(const TfyHistory *history, const uint64_t *chains, const json_t *tasks, bool ended)
{
    const json_t *task;
    size_t i;
    json_array_foreach(tasks, i, task)
    {
        if (!fits(history, chains, task, ended)) return false;
    }
    return true;
}

static const TfyLogRecord *find_base(const TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->lsn == history->run.base_lsn)
            return record->type == TFY_R_SNAPSHOT && history->record_tasks[i] == 0 ? record : NULL;
    }
    return NULL;
}

int tfy__import_check_base(const TfyHistory *history, char *error_text)
{
    const TfyLogRecord *base = find_base(history);
    if (!base)
        return tfy__log_refuse(error_text, TFY_E_DATA,
                               "record %" PRId64 " is not a snapshot at which the run can start",
                               history->run.base_lsn);
    TfyPayload snapshot;
    tfy__payload_open(&snapshot, base);
    uint64_t *chains = chains_at(history);
    const bool fine = snapshot.json && chains &&
                      all_fit(history, chains, tfy__member_get(snapshot.json, TFY_S_TASKS), false) &&
                      all_fit(history, chains, tfy__member_get(snapshot.json, TFY_S_ENDED), true);
    const int code = fine ? 0 : chains ? TFY_E_DATA : TFY_E_NOMEM;
    free(chains);
    tfy__payload_close(&snapshot);
    return code ? tfy__log_refuse(error_text, code, "the snapshot at which the run starts does not fit its tasks") : 0;
}

/* ---- missing steps ---- */

static int by_path(const void *left, const void *right)
{
    return strcmp(((const TfyLostSteps *)left)->path, ((const TfyLostSteps *)right)->path);
}

/* A task has lost the records before a gap. Its position at the snapshot is an upper bound of how far the loss
 * extends. */
TfyLostSteps *tfy__import_lost(const TfyHistory *history)
{
    TfyLostSteps *lost = malloc((history->task_count + 1) * sizeof *lost);
    bool *gapped = calloc(history->task_count + 1, sizeof *gapped);
    for (uint32_t i = 0; lost && i < history->task_count; i++) lost[i] = (TfyLostSteps){history->tasks[i].path, 0};
    for (uint32_t i = history->record_count; lost && gapped && i > 0; i--) {
        const TfyLogRecord *record = &history->records[i - 1];
        const uint32_t at = history->record_tasks[i - 1];
        if (record->lsn <= history->run.base_lsn && record->step > lost[at].upto) lost[at].upto = record->step;
        gapped[at] |= tfy__history_gap(history, record->lsn) != NULL;
    }
    for (uint32_t i = 0; lost && gapped && i < history->task_count; i++)
        if (!gapped[i]) lost[i].upto = 0;
    if (lost && gapped) {
        qsort(lost, history->task_count, sizeof *lost, by_path);
    } else {
        free(lost);
        lost = NULL;
    }
    free(gapped);
    return lost;
}

bool tfy__import_is_lost(const TfyHistory *history, const TfyLostSteps *lost, const char *path, int64_t step)
{
    if (!history->run.base_lsn) return false;
    const TfyLostSteps *task = bsearch(&(TfyLostSteps){.path = path}, lost, history->task_count, sizeof *lost, by_path);
    return !task || step <= task->upto;
}

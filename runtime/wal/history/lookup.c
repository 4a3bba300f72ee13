/* lookup.c: what a history that was read has, by number; and its end. */
#include <stdlib.h>

#include <jansson.h>

#include "wal/history/history.h"
#include "wal/history/move.h"
#include "wal/log/root.h"
#include "wal/log/saved.h"
#include "wal/store/store.h"

void tfy__history_free(TfyHistory *history)
{
    if (!history) return;
    if (!history->task_workflows) free(history->workflow); /* otherwise it is one of them */
    json_decref(history->snapshot);
    tfy__root_free(&history->root);
    free(history->snapshot_layout);
    tfy__history_forget_moves(history);
    tfy__saved_rows_free(history->saved);
    for (uint32_t i = 0; i < history->task_count; i++) {
        free(history->tasks[i].path);
        if (history->task_workflows) free(history->task_workflows[i]);
    }
    for (uint32_t i = 0; i < history->record_count; i++) free((char *)history->records[i].payload);
    free(history->tasks);
    free(history->task_workflows);
    free(history->records);
    free(history->record_tasks);
    free(history->gaps);
    free(history->program_source);
    free(history->program_layout);
    free(history->program_tfyc);
    free(history);
}

static int by_task(const void *key, const void *task)
{
    const int64_t a = *(const int64_t *)key, b = ((const TfyLogTask *)task)->tid;
    return (a > b) - (a < b);
}

const TfyLogTask *tfy__history_task(const TfyHistory *history, int64_t tid)
{
    if (!history->task_count) return NULL;
    return bsearch(&tid, history->tasks, history->task_count, sizeof *history->tasks, by_task);
}

int64_t tfy__history_greatest(const TfyHistory *history, TfyRecordType type, TfyMember member)
{
    int64_t greatest = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const int64_t number = record->type == type ? tfy__record_int(record, member) : 0;
        if (number > greatest) greatest = number;
    }
    return greatest;
}

static int by_gap(const void *key, const void *gap)
{
    const int64_t a = *(const int64_t *)key, b = ((const TfyStoreGap *)gap)->lsn;
    return (a > b) - (a < b);
}

const TfyStoreGap *tfy__history_gap(const TfyHistory *history, int64_t lsn)
{
    if (!history->gap_count) return NULL;
    return bsearch(&lsn, history->gaps, history->gap_count, sizeof *history->gaps, by_gap);
}

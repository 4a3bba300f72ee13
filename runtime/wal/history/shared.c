/* shared.c: see shared.h. */
#include "wal/history/shared.h"

#include "wal/log/log_state.h"

/* No number may be missing. The chains are checked with the tasks. */
static int take_head(void *state, const TfyLogRecord *record)
{
    TfyHeads *heads = state;
    if (record->lsn != heads->upto + 1) return TFY_E_DATA;
    TfyHead *head = tfy__heads_find(heads, record->tid);
    if (!head && !(head = tfy__heads_add(heads, record->tid))) return TFY_E_NOMEM;
    head->lsn = record->lsn;
    head->chain = record->chain;
    if (record->step > head->step) head->step = record->step;
    heads->upto = record->lsn;
    return 0;
}

int tfy__shared_heads(TfyLog *log, TfyLogRun *run, TfyHeads *heads)
{
    const int64_t from = run->snap ? run->snap : 1;
    int64_t greatest;
    tfy__heads_clear(heads);
    heads->upto = from - 1;
    int code = TFY_STORE(log->store, TFY_CALL_READ, see_records, run->id, from, take_head, heads);
    if (!code && (heads->upto < run->lsn || heads->upto < from)) code = TFY_E_DATA;
    if (!code) code = TFY_STORE(log->store, TFY_CALL_READ, last_task, run->id, &greatest);
    if (code) return code;
    run->lsn = heads->upto;
    run->owned.tasks = (uint32_t)greatest;
    return 0;
}

void tfy__shared_give_slot(TfyLog *log, TfyHistory *history)
{
    TfyLogRun *run = &history->run;
    run->owned.slot = ++log->slots;
    run->root = tfy__log_owned_tid(run, run->root);
    for (uint32_t i = 0; i < history->task_count; i++)
        history->tasks[i].tid = tfy__log_owned_tid(run, history->tasks[i].tid);
    for (uint32_t i = 0; i < history->record_count; i++)
        history->records[i].tid = tfy__log_owned_tid(run, history->records[i].tid);
}

void tfy__shared_own_tasks(TfyLog *log, TfyLogRun *run, const TfyHistory *history)
{
    int64_t last = history->run.root;
    for (uint32_t i = 0; i < history->task_count; i++)
        if (history->tasks[i].tid > last) last = history->tasks[i].tid;
    tfy__log_own(log, run, (uint32_t)(last - history->run.root + 1));
    run->root = tfy__log_owned_tid(run, 1);
}

int tfy__shared_carry(TfyLog *log, const TfyHistory *history)
{
    int code = tfy__log_error(log);
    for (uint32_t i = 0; !code && i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        TfyStoreTask row;
        if (task->head <= history->run.snap || task->head == task->born) continue;
        tfy__mark_task_row(log, task, &row);
        code = tfy__batch_add_task(log->filling, &row, false);
        if (code) tfy__log_give_up(log, "memory ran out");
    }
    return code;
}

#include "wal/keep/doubt.h"
#include "base/grow.h"

#include <stdlib.h>

#include "wal/history/shared.h"
#include "wal/log/log_state.h"

/* The tasks of a run that may be alive: a row is as old as the mark before. */
typedef struct Alive {
    TfyStoreTask *rows; /* without their texts; malloc'ed */
    size_t count, room;
} Alive;

static int take_alive(void *state, const TfyStoreTask *row)
{
    Alive *alive = state;
    if (row->state >= TFY_TASK_COMPLETED) return 0;
    if (!GROW(alive->rows, alive->room, alive->count + 1, 64)) return TFY_E_NOMEM;
    alive->rows[alive->count++] = *row;
    return 0;
}

/* The task's record before this one, which may be behind a gap. */
static int step_back(TfyStore *store, const TfyLogRun *run, const TfyLogRecord *record, int64_t *below)
{
    TfyStoreGap gap;
    const int64_t prev = record->prev;
    const int code = record->lsn > run->base_lsn ? TFY_E_ABSENT
                                                 : TFY_STORE(store, TFY_CALL_READ, get_gap, run->id, record->lsn, &gap);
    *below = code ? prev : gap.below;
    return code == TFY_E_ABSENT ? 0 : code;
}

/* Nothing but kills and records of the run can come after an InDoubt before it is resolved. */
static int look_at(TfyLog *log, const TfyHeads *heads, const TfyLogRun *run, const TfyStoreTask *row, bool *doubt)
{
    const TfyHead *head = tfy__heads_find(heads, row->tid);
    int64_t lsn = head && head->lsn > row->head ? head->lsn : row->head;
    int code = 0;
    while (!code && lsn != row->base) {
        TfyLogRecord record;
        code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, lsn, &record);
        if (code) break;
        *doubt |= record.type == TFY_R_IN_DOUBT;
        const bool between =
            tfy__record_is_nobodys(&record) || record.type == TFY_R_SIGNAL || record.type == TFY_R_TASK_CANCEL;
        if (!between) break;
        code = step_back(log->store, run, &record, &lsn);
        if (!code && lsn >= record.lsn) code = TFY_E_DATA;
    }
    return code;
}

/* own: of a run of a shared database, the heads of its tasks, which the caller clears; a file has them in its log. */
static int read_heads(TfyLog *log, const TfyLogRun *run, TfyHeads *own)
{
    TfyLogRun row = *run;
    char text[TFY_ERROR_TEXT];
    return log->shared ? tfy__shared_heads(log, &row, own) : tfy__recover_tail(log, text);
}

static int look_through(TfyLog *log, const TfyLogRun *run, bool *doubt)
{
    Alive alive = {0};
    TfyHeads own = {0};
    int code = read_heads(log, run, &own);
    const TfyHeads *heads = log->shared ? &own : &log->heads;
    if (!code) code = TFY_STORE(log->store, TFY_CALL_READ, see_tasks, run->id, take_alive, &alive);
    for (size_t i = 0; !code && !*doubt && i < alive.count; i++) code = look_at(log, heads, run, &alive.rows[i], doubt);
    tfy__heads_clear(&own);
    free(alive.rows);
    return code;
}

int tfy__run_in_doubt(TfyLog *log, const TfyLogRun *run, bool *doubt)
{
    TfyStore *store = log->store;
    *doubt = false;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(store, TFY_CALL_READ, look);
    if (!code) {
        code = look_through(log, run, doubt);
        store->ops->look_away(store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

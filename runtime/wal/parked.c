/* parked.c: runs that have left memory: which are due, and what becomes of them when the clock is set back. */
#include "log_state.h"

#include <stdlib.h>

/* ---- those that are due ---- */

typedef struct Due {
    TfyLogRun *runs;
    uint32_t room, count;
    int64_t now_ms, next_ms;
} Due;

static int take_due(void *state, const TfyLogRun *run)
{
    Due *due = state;
    if (run->parked_ms > due->now_ms || due->count == due->room) {
        due->next_ms = run->parked_ms;
        return 1;
    }
    due->runs[due->count++] = *run;
    return 0;
}

int tfy__log_parked_due(TfyLog *log, int64_t program, int64_t now_ms, TfyLogRun *runs, uint32_t room, uint32_t *count,
                        int64_t *next_ms)
{
    Due due = {.runs = runs, .room = room, .now_ms = now_ms, .next_ms = INT64_MAX};
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, see_parked, program, INT64_MAX, take_due, &due);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    *count = due.count;
    *next_ms = due.next_ms;
    return code < 0 ? code : 0;
}

static int take_first(void *state, const TfyLogRun *run)
{
    *(int64_t *)state = run->id;
    return 1;
}

int tfy__log_parked_programs(TfyLog *log, int64_t **ids, uint32_t *count)
{
    int64_t last_run, programs = 0, last_tid;
    *ids = NULL;
    *count = 0;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, last_ids, &last_run, &programs, &last_tid);
        if (!code && !(*ids = malloc((size_t)(programs + 1) * sizeof **ids))) code = TFY_E_NOMEM;
        for (int64_t program = 1; code >= 0 && program <= programs; program++) {
            code = TFY_STORE(log->store, TFY_CALL_READ, see_parked, program, INT64_MAX, take_first, &(*ids)[*count]);
            if (code > 0) ++*count;
        }
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    if (code >= 0) return 0;
    free(*ids);
    *ids = NULL;
    return code;
}

/* ---- a clock that was set back ---- */

typedef struct Ahead {
    TfyLogRun *runs;
    uint32_t room, count;
} Ahead;

static int take_ahead(void *state, const TfyLogRun *run)
{
    Ahead *ahead = state;
    if (ahead->count == ahead->room) return 1;
    ahead->runs[ahead->count++] = *run;
    return 0;
}

static int find_ahead(TfyLog *log, int64_t program, int64_t now_ms, Ahead *ahead)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, see_ahead, program, now_ms + TFY_AHEAD_MS, take_ahead, ahead);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code < 0 ? code : 0;
}

int tfy__log_parked_again(TfyLog *log, int64_t program, int64_t now_ms, uint32_t most)
{
    Ahead ahead = {.runs = malloc((size_t)most * sizeof *ahead.runs), .room = most};
    int code = ahead.runs ? find_ahead(log, program, now_ms, &ahead) : TFY_E_NOMEM;
    for (uint32_t i = 0; !code && i < ahead.count; i++) {
        TfyLogRun *run = &ahead.runs[i];
        run->parked_ms = now_ms + (run->parked_ms - run->parked_at_ms);
        run->parked_at_ms = now_ms;
        code = tfy__log_change_run(log, run);
    }
    free(ahead.runs);
    return code ? code : (int)ahead.count;
}

/* parked.c: runs that have left memory: which are due, and what happens to them when the clock is set back. */
#include "wal/log/log_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "wal/log/root.h"

/* ---- due runs ---- */

typedef struct Due {
    const TfyDueAt *at;
    TfyLogRun *runs;
    uint32_t room, count;
    int64_t next_ms;
} Due;

static int take_due(void *state, const TfyLogRun *run)
{
    Due *due = state;
    const int pass = due->at->pass && due->count < due->room ? due->at->pass(due->at->state, run) : 0;
    if (pass) return pass < 0 ? pass : 0;
    if (run->parked_ms > due->at->now_ms || due->count == due->room) {
        due->next_ms = run->parked_ms;
        return 1;
    }
    due->runs[due->count++] = *run;
    return 0;
}

int tfy__log_parked_due(TfyLog *log, int64_t program, const TfyDueAt *at, TfyLogRun *runs, uint32_t room,
                        uint32_t *count, int64_t *next_ms)
{
    Due due = {.at = at, .runs = runs, .room = room, .next_ms = INT64_MAX};
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

/* For each program, one run for each root in which parked runs of it work. */
typedef struct Places {
    TfyLog *log;
    int64_t *ids;
    uint32_t id_count, id_room;
    TfyRoot *roots; /* of the current program */
    uint32_t count, room;
} Places;

static bool is_new(const Places *places, const TfyRoot *root)
{
    for (uint32_t i = 0; i < places->count; i++) {
        const TfyRoot *other = &places->roots[i];
        const bool same = root->path ? tfy__root_is(root, other) && strcmp(root->path, other->path) == 0 : !other->path;
        if (same) return false;
    }
    return true;
}

static int take_place(void *state, const TfyLogRun *run)
{
    Places *places = state;
    TfyRoot root;
    int code = tfy__log_root_locked(places->log, run, &root);
    const bool added = !code && is_new(places, &root);
    if (added && (!GROW(places->roots, places->room, places->count + 1, 8) ||
                  !GROW(places->ids, places->id_room, places->id_count + 1, 16)))
        code = TFY_E_NOMEM;
    if (!added || code) {
        tfy__root_free(&root);
        return code;
    }
    places->roots[places->count++] = root;
    places->ids[places->id_count++] = run->id;
    return 0;
}

int tfy__log_parked_programs(TfyLog *log, int64_t **ids, uint32_t *count)
{
    int64_t last_run, programs = 0, last_tid;
    Places places = {.log = log};
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, last_ids, &last_run, &programs, &last_tid);
        for (int64_t program = 1; !code && program <= programs; program++) {
            code = TFY_STORE(log->store, TFY_CALL_READ, see_parked, program, INT64_MAX, take_place, &places);
            while (places.count) tfy__root_free(&places.roots[--places.count]);
        }
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    free(places.roots);
    if (code) free(places.ids);
    *ids = code ? NULL : places.ids;
    *count = code ? 0 : places.id_count;
    return code;
}

/* ---- all that have not ended ---- */

typedef struct Unfinished {
    TfyLog *log;
    int64_t program;
    void (*see)(void *state, const TfyLogRun *run, const TfyLogRecord *birth);
    void *state;
} Unfinished;

static int see_birth(void *state, const TfyLogRun *run)
{
    const Unfinished *unfinished = state;
    TfyStore *store = unfinished->log->store;
    TfyStoreTask root;
    TfyLogRecord birth;
    if (run->program != unfinished->program) return 0;
    int code = TFY_STORE(store, TFY_CALL_READ, get_task, run->id, run->root, &root);
    if (!code) code = TFY_STORE(store, TFY_CALL_READ, get_record, run->id, root.born, &birth);
    if (!code) unfinished->see(unfinished->state, run, &birth);
    return code == TFY_E_ABSENT ? 0 : code; /* compacted */
}

int tfy__log_see_unfinished(TfyLog *log, int64_t program,
                            void (*see)(void *state, const TfyLogRun *run, const TfyLogRecord *birth), void *state)
{
    Unfinished unfinished = {log, program, see, state};
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, see_runs, true, see_birth, &unfinished);
        if (!code) code = TFY_STORE(log->store, TFY_CALL_READ, see_parked, program, INT64_MAX, see_birth, &unfinished);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code < 0 ? code : 0;
}

typedef struct Programs {
    int64_t *rows;
    uint32_t count, room;
} Programs;

static int take_program(void *state, const TfyLogRun *run)
{
    Programs *programs = state;
    for (uint32_t i = 0; i < programs->count; i++)
        if (programs->rows[i] == run->program) return 0;
    if (!GROW(programs->rows, programs->room, programs->count + 1, 8)) return TFY_E_NOMEM;
    programs->rows[programs->count++] = run->program;
    return 0;
}

/* One parked run of a program says as much as all. */
static int take_parked(void *state, const TfyLogRun *run)
{
    const int code = take_program(state, run);
    return code ? code : 1;
}

static int see_programs(TfyStore *store, Programs *programs)
{
    int64_t last_run, last = 0, last_tid;
    int code = TFY_STORE(store, TFY_CALL_READ, see_runs, true, take_program, programs);
    if (!code) code = TFY_STORE(store, TFY_CALL_READ, last_ids, &last_run, &last, &last_tid);
    for (int64_t program = 1; code >= 0 && program <= last; program++)
        code = TFY_STORE(store, TFY_CALL_READ, see_parked, program, INT64_MAX, take_parked, programs);
    return code < 0 ? code : 0;
}

int tfy__log_live_programs(TfyLog *log, int64_t **rows, uint32_t *count)
{
    Programs programs = {.rows = NULL};
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = see_programs(log->store, &programs);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    if (code) free(programs.rows);
    *rows = code ? NULL : programs.rows;
    *count = code ? 0 : programs.count;
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

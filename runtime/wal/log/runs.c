/* runs.c: queries about runs without their histories: which runs exist, to which run a task belongs, how a task
 * finished, which programs they have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "wal/log/log_state.h"

/* ---- lists of runs ---- */

typedef struct Listing {
    TfyLog *log;
    TfyLogRun *runs;
    char **names; /* of their root workflows, if named */
    uint32_t count, room, name_room;
    bool named;
} Listing;

static int list_run(void *state, const TfyLogRun *run)
{
    Listing *listing = state;
    if (!GROW(listing->runs, listing->room, listing->count + 1, 64) ||
        !GROW(listing->names, listing->name_room, listing->count + 1, 64))
        return TFY_E_NOMEM;
    listing->runs[listing->count] = *run;
    listing->names[listing->count] = NULL;
    if (listing->named) {
        TfyStoreTask root;
        TfyLogRecord birth;
        TfyStore *store = listing->log->store;
        int code = TFY_STORE(store, TFY_CALL_READ, get_task, run->id, run->root, &root);
        if (!code) code = TFY_STORE(store, TFY_CALL_READ, get_record, run->id, root.born, &birth);
        if (code) return code == TFY_E_ABSENT ? TFY_E_DATA : code;
        if (!(listing->names[listing->count] = tfy__record_workflow(&birth))) return TFY_E_NOMEM;
    }
    listing->count++;
    return 0;
}

static int list_runs(Listing *listing, bool unfinished)
{
    TfyStore *store = listing->log->store;
    pthread_mutex_lock(&listing->log->store_mutex);
    int code = TFY_STORE(store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(store, TFY_CALL_READ, see_runs, unfinished, list_run, listing);
        store->ops->look_away(store);
    }
    pthread_mutex_unlock(&listing->log->store_mutex);
    if (!code) return 0;
    for (uint32_t i = 0; i < listing->count; i++) free(listing->names[i]);
    free(listing->names);
    free(listing->runs);
    return code;
}

int tfy__log_unfinished(TfyLog *log, int64_t **ids, uint32_t *count)
{
    Listing listing = {.log = log};
    *ids = NULL;
    *count = 0;
    const int code = list_runs(&listing, true);
    if (code) return code;
    *ids = malloc((listing.count + 1) * sizeof **ids);
    for (uint32_t i = 0; *ids && i < listing.count; i++) (*ids)[i] = listing.runs[i].id;
    *count = listing.count;
    free(listing.runs);
    free(listing.names);
    return *ids ? 0 : TFY_E_NOMEM;
}

int tfy__log_runs(TfyLog *log, TfyLogRun **runs, char ***names, uint32_t *count)
{
    Listing listing = {.log = log, .named = names != NULL};
    *runs = NULL;
    if (names) *names = NULL;
    *count = 0;
    const int code = list_runs(&listing, false);
    if (code) return code;
    for (uint32_t i = 0, j = listing.count; i + 1 < j; i++) {
        j--;
        const TfyLogRun run = listing.runs[i];
        char *name = listing.names[i];
        listing.runs[i] = listing.runs[j];
        listing.names[i] = listing.names[j];
        listing.runs[j] = run;
        listing.names[j] = name;
    }
    *runs = listing.runs;
    if (names)
        *names = listing.names;
    else
        free(listing.names);
    *count = listing.count;
    return 0;
}

/* ---- one run ---- */

/* path NULL: it is not wanted. The caller holds the store's mutex, and looks. */
static int see_task(TfyLog *log, int64_t of, int64_t tid, TfyLogRun *run, char **path, int64_t *born)
{
    TfyStoreTask row;
    int code = TFY_STORE(log->store, TFY_CALL_READ, get_task, of, tid, &row);
    if (!code && path && !(*path = strdup(row.path))) code = TFY_E_NOMEM;
    if (!code && born) *born = row.born;
    return code ? code : TFY_STORE(log->store, TFY_CALL_READ, get_run, row.run, run);
}

int tfy__log_run_of(TfyLog *log, int64_t tid, TfyLogRun *run)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = see_task(log, 0, tid, run, NULL, NULL);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

int tfy__log_seen_run(TfyLog *log, int64_t tid, TfyLogRun *run)
{
    return see_task(log, 0, tid, run, NULL, NULL);
}

int tfy__log_seen_task(TfyLog *log, const TfyLogRecord *record, TfyLogRun *run, char **path, int64_t *born)
{
    *path = NULL;
    const int code = see_task(log, record->run, record->tid, run, path, born);
    if (code) {
        free(*path);
        *path = NULL;
    }
    return code;
}

int tfy__log_find_run(TfyLog *log, const uint8_t uuid[16], TfyLogRun *run)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, find_run, uuid, run);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

/* ---- the end of one task ---- */

static int read_end(TfyLog *log, const TfyLogRun *run, int64_t tid, TfyLogEnd *end)
{
    TfyStoreTask row;
    TfyLogRecord record;
    int code = TFY_STORE(log->store, TFY_CALL_READ, get_task, run->id, tfy__log_stored_tid(log, tid), &row);
    if (code || row.run != run->id) return code ? code : TFY_E_ABSENT;
    const TfyHead *head = tfy__heads_find(&log->heads, tid);
    end->path = strdup(row.path);
    end->born = row.born;
    end->head = head && head->lsn > row.head ? head->lsn : row.head;
    code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, row.born, &record);
    if (!code) end->workflow = tfy__record_workflow(&record);
    if (!code) code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, end->head, &record);
    if (code) return code;
    if (record.type != TFY_R_TASK_EXIT && record.type != TFY_R_TASK_ABORT) return TFY_E_ABSENT;
    end->type = record.type;
    end->chain = record.chain;
    end->payload = strndup(record.payload, record.payload_len);
    return end->path && end->workflow && end->payload ? 0 : TFY_E_NOMEM;
}

int tfy__log_find_end(TfyLog *log, const TfyLogRun *run, int64_t tid, TfyLogEnd *end)
{
    *end = (TfyLogEnd){0};
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = read_end(log, run, tid, end);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    if (code) tfy__log_end_free(end);
    return code;
}

void tfy__log_end_free(TfyLogEnd *end)
{
    free(end->path);
    free(end->workflow);
    free(end->payload);
    *end = (TfyLogEnd){0};
}

/* ---- the start and the end of a run ---- */

/* The end is the last record of the root task, except for arrivals that came too late. */
enum { ARRIVALS_BEHIND_END = 64 };

static int read_payload(TfyLog *log, const TfyLogRun *run, int64_t lsn, char **payload)
{
    TfyLogRecord record;
    const int code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, lsn, &record);
    if (code) return code;
    *payload = strndup(record.payload, record.payload_len);
    return *payload ? 0 : TFY_E_NOMEM;
}

/* The newest record of a run that has ended: of its root, or in a shared database, where the rows of tasks are those of the
 * newest snapshot, of any of its tasks. */
static int64_t end_of(const TfyLog *log, const TfyLogRun *run, const TfyStoreTask *root)
{
    if (log->shared) return run->lsn;
    const TfyHead *head = tfy__heads_find(&log->heads, run->root);
    return head && head->lsn > root->head ? head->lsn : root->head;
}

static int read_end_payload(TfyLog *log, const TfyLogRun *run, const TfyStoreTask *root, char **payload)
{
    TfyLogRecord record;
    int64_t lsn = end_of(log, run, root);
    for (int i = 0; i < ARRIVALS_BEHIND_END && lsn > root->born; i++, lsn = log->shared ? lsn - 1 : record.prev) {
        const int code = TFY_STORE(log->store, TFY_CALL_READ, get_record, run->id, lsn, &record);
        if (code) return code;
        if (record.type != TFY_R_TASK_COMPLETE) continue;
        *payload = strndup(record.payload, record.payload_len);
        return *payload ? 0 : TFY_E_NOMEM;
    }
    return 0;
}

static int read_outline(TfyLog *log, const TfyLogRun *run, TfyLogOutline *outline)
{
    TfyStoreTask root;
    int code = TFY_STORE(log->store, TFY_CALL_READ, get_task, run->id, run->root, &root);
    if (code) return code;
    code = read_payload(log, run, root.born, &outline->birth);
    if (!code && run->options_lsn) code = read_payload(log, run, run->options_lsn, &outline->options);
    if (code || run->state < TFY_TASK_COMPLETED) return code;
    return read_end_payload(log, run, &root, &outline->end);
}

int tfy__log_outline(TfyLog *log, const TfyLogRun *run, TfyLogOutline *outline)
{
    *outline = (TfyLogOutline){0};
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = read_outline(log, run, outline);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    if (code) tfy__log_outline_free(outline);
    return code;
}

void tfy__log_outline_free(TfyLogOutline *outline)
{
    free(outline->birth);
    free(outline->options);
    free(outline->end);
    *outline = (TfyLogOutline){0};
}

/* ---- the database itself ---- */

/* Retention may have deleted the beginning of the chain. */
static int see_own(TfyLog *log, bool (*see)(void *state, const TfyLogRecord *record), void *state)
{
    TfyLogRecord record;
    for (int64_t lsn = log->self.head; lsn > 0; lsn = record.prev) {
        const int code = TFY_STORE(log->store, TFY_CALL_READ, get_record, 0, lsn, &record);
        if (code) return code == TFY_E_ABSENT ? 0 : code;
        if (see(state, &record)) return 0;
    }
    return 0;
}

int tfy__log_see_own(TfyLog *log, bool (*see)(void *state, const TfyLogRecord *record), void *state)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = see_own(log, see, state);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

int tfy__log_see(TfyLog *log, int64_t from, int (*see)(void *state, const TfyLogRecord *record), void *state)
{
    return tfy__log_see_of(log, 0, from, see, state);
}

int tfy__log_see_of(TfyLog *log, int64_t run, int64_t from, int (*see)(void *state, const TfyLogRecord *record),
                    void *state)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, see_records, run, from, see, state);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

void tfy__log_rest(TfyLog *log)
{
    pthread_mutex_lock(&log->store_mutex);
    log->store->ops->shrink(log->store);
    pthread_mutex_unlock(&log->store_mutex);
}

/* ---- programs ---- */

int tfy__log_program_hash(TfyLog *log, int64_t id, char hash[33], char **layout)
{
    *layout = NULL;
    TfyStore *store = log->store;
    TfyStoreProgram program;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(store, TFY_CALL_READ, get_program, id, NULL, &program);
        for (int i = 0; !code && i < 16; i++) sprintf(hash + 2 * i, "%02x", program.hash[i]);
        if (!code && !(*layout = strdup(program.layout))) code = TFY_E_NOMEM;
        store->ops->look_away(store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

static bool hash_begins(const uint8_t hash[16], const char *text)
{
    char hex[33];
    for (int i = 0; i < 16; i++) sprintf(hex + 2 * i, "%02x", hash[i]);
    return strncasecmp(hex, text, strlen(text)) == 0;
}

static int find_program(TfyStore *store, const char *hash, char **source, char **layout)
{
    int64_t run, newest, tid;
    TfyStoreProgram program;
    int code = TFY_STORE(store, TFY_CALL_READ, last_ids, &run, &newest, &tid);
    for (int64_t id = 1; !code && id <= newest; id++) {
        code = TFY_STORE(store, TFY_CALL_READ, get_program, id, NULL, &program);
        const bool found = !code && hash_begins(program.hash, hash);
        /* Retention may have deleted it. */
        if (code == TFY_E_ABSENT) code = 0;
        if (found && *layout) return TFY_E_INVALID;
        if (found && (!(*layout = strdup(program.layout)) || !(*source = strdup(program.source)))) return TFY_E_NOMEM;
    }
    return code || *layout ? code : TFY_E_ABSENT;
}

int tfy__log_find_program(TfyLog *log, const char *hash, char **source, char **layout)
{
    TfyStore *store = log->store;
    *source = *layout = NULL;
    if (strlen(hash) < 4 || strlen(hash) > 32 || hash[strspn(hash, "0123456789abcdefABCDEF")]) return TFY_E_ABSENT;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(store, TFY_CALL_READ, look);
    if (!code) {
        code = find_program(store, hash, source, layout);
        store->ops->look_away(store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    if (!code) return 0;
    free(*source);
    free(*layout);
    *source = *layout = NULL;
    return code;
}

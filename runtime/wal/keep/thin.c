#include "wal/keep/thin.h"

#include <stdio.h>
#include <string.h>

#include "wal/log/log_state.h"
#include "wal/rows/payload.h"
#include "wal/store/store_sqlite.h"

/* Statements, prepared once for a part. */
typedef enum Which { OPEN, CLOSE, SEE, DROP, DROP_GAPS, GET_MARK, PUT_MARK, DROP_INBOX, DROP_TASK, STATEMENTS } Which;

static const char *const texts[STATEMENTS] = {
    [OPEN] = "UPDATE meta SET gc=1",
    [CLOSE] = "UPDATE meta SET gc=0",
    [SEE] = "SELECT lsn, tid, prev, chain FROM wal WHERE lsn BETWEEN ? AND ? ORDER BY lsn",
    [DROP] = "DELETE FROM wal WHERE lsn BETWEEN ? AND ?",
    [DROP_GAPS] = "DELETE FROM gap WHERE lsn BETWEEN ? AND ?",
    [GET_MARK] = ("SELECT lsn, gone_rows, gone_sum, (SELECT max(lsn) FROM mark WHERE lsn<?1) FROM mark WHERE lsn>=?1"
                  " ORDER BY lsn LIMIT 1"),
    [PUT_MARK] = "UPDATE mark SET gone_rows=?, gone_sum=? WHERE lsn=?",
    [DROP_INBOX] = "DELETE FROM inbox WHERE tid=?",
    [DROP_TASK] = "DELETE FROM task WHERE tid=? AND run=?",
};

typedef struct Thinning {
    const json_t *part;
    SqliteStore *store;
    sqlite3_stmt *statements[STATEMENTS];
    TfyLogRun run;
    int64_t from, base;
    int64_t tid;       /* a task that was found to be the run's; 0: none yet */
    TfyStoreMark mark; /* the one that sealed the records being deleted; lsn 0: none yet */
    int64_t before;    /* the mark before it */
} Thinning;

/* ---- SQL ---- */

/* Steps through a statement with so many numbers; see: called for each row. */
static int query(Thinning *t, Which which, int count, const int64_t *values, int (*see)(Thinning *t, sqlite3_stmt *row))
{
    sqlite3_stmt **statement = &t->statements[which];
    int code = *statement
                   ? 0
                   : tfy__sqlite_answer(t->store, sqlite3_prepare_v2(t->store->db, texts[which], -1, statement, NULL));
    if (code) return code;
    for (int i = 0; i < count; i++) sqlite3_bind_int64(*statement, i + 1, values[i]);
    int step;
    while ((step = sqlite3_step(*statement)) == SQLITE_ROW && !code) code = see(t, *statement);
    if (!code) code = tfy__sqlite_answer(t->store, step);
    sqlite3_reset(*statement);
    return code;
}

#define EXECUTE(t, which, ...)                                                                                         \
    query(t, which, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, NULL)

/* ---- marks ---- */

static int take_mark(Thinning *t, sqlite3_stmt *row)
{
    t->mark.lsn = sqlite3_column_int64(row, 0);
    t->mark.gone_rows = sqlite3_column_int64(row, 1);
    t->mark.gone_sum = (uint64_t)sqlite3_column_int64(row, 2);
    t->before = sqlite3_column_int64(row, 3);
    return 0;
}

/* The sum wraps around; SQLite's own addition would not. */
static int write_mark(Thinning *t)
{
    return t->mark.lsn ? EXECUTE(t, PUT_MARK, t->mark.gone_rows, (int64_t)t->mark.gone_sum, t->mark.lsn) : 0;
}

/* Finds the mark that sealed a record. */
static int reach_mark(Thinning *t, int64_t lsn)
{
    if (lsn > t->before && lsn <= t->mark.lsn) return 0;
    int code = write_mark(t);
    t->mark.lsn = 0;
    if (!code) code = query(t, GET_MARK, 1, &lsn, take_mark);
    return code || t->mark.lsn ? code : TFY_E_STATE;
}

/* ---- records, gaps, tasks ---- */

static int check_task(Thinning *t, int64_t tid)
{
    TfyStoreTask task;
    TfyStore *store = &t->store->base;
    if (tid == t->tid) return 0;
    const int code = TFY_STORE(store, TFY_CALL_READ, get_task, t->run.id, tid, &task);
    if (code || task.run != t->run.id) return code && code != TFY_E_ABSENT ? code : TFY_E_STATE;
    t->tid = tid;
    return 0;
}

static int count_gone(Thinning *t, sqlite3_stmt *row)
{
    const TfyLogRecord record = {.lsn = sqlite3_column_int64(row, 0),
                                 .tid = sqlite3_column_int64(row, 1),
                                 .prev = sqlite3_column_int64(row, 2),
                                 .chain = (uint64_t)sqlite3_column_int64(row, 3)};
    int code = check_task(t, record.tid);
    if (!code) code = reach_mark(t, record.lsn);
    t->mark.gone_rows++;
    t->mark.gone_sum += tfy__store_segment_part(&record);
    return code;
}

/* All of the range must be there: another compaction may have been faster. */
static int drop_range(Thinning *t, int64_t first, int64_t last)
{
    if (first < 1 || last < first || last >= t->base) return TFY_E_INVALID;
    int code = query(t, SEE, 2, (int64_t[]){first, last}, count_gone);
    if (!code) code = EXECUTE(t, DROP, first, last);
    if (!code && sqlite3_changes(t->store->db) != last - first + 1) code = TFY_E_STATE;
    return code ? code : EXECUTE(t, DROP_GAPS, first, last);
}

static int put_gap(Thinning *t, const json_t *row)
{
    json_int_t lsn, below, chain;
    TfyStore *store = &t->store->base;
    if (json_unpack((json_t *)row, "[III]", &lsn, &below, &chain) != 0) return TFY_E_INVALID;
    const TfyStoreGap gap = {.lsn = lsn, .below = below, .chain = (uint64_t)chain};
    return TFY_STORE(store, TFY_CALL_PUT, put_gap, &gap);
}

static int drop_task(Thinning *t, int64_t tid)
{
    const int code = tid == t->run.root ? TFY_E_INVALID : EXECUTE(t, DROP_INBOX, tid);
    if (code) return code;
    const int deleted = EXECUTE(t, DROP_TASK, tid, t->run.id);
    return deleted || sqlite3_changes(t->store->db) == 1 ? deleted : TFY_E_STATE;
}

static int drop_all(Thinning *t)
{
    size_t i;
    json_t *row;
    int code = 0;
    json_array_foreach(json_object_get(t->part, "drop"), i, row)
    {
        json_int_t first, last;
        if (code) break;
        code = json_unpack(row, "[II]", &first, &last) == 0 ? drop_range(t, first, last) : TFY_E_INVALID;
    }
    json_array_foreach(json_object_get(t->part, "gaps"), i, row) code = code ? code : put_gap(t, row);
    json_array_foreach(json_object_get(t->part, "tasks"), i, row) code =
        code ? code : drop_task(t, json_integer_value(row));
    return code ? code : write_mark(t);
}

/* ---- the run ---- */

/* Reads the run's row, and whether the part still fits it. */
static int read_run(Thinning *t)
{
    char uuid[37];
    json_int_t id, from, base;
    const char *run;
    TfyLogRecord snapshot;
    TfyStore *store = &t->store->base;
    if (json_unpack((json_t *)t->part, "{s:s,s:I,s:I,s:I}", "run", &run, "id", &id, "from", &from, "base", &base) != 0)
        return TFY_E_INVALID;
    t->from = from;
    t->base = base;
    int code = TFY_STORE(store, TFY_CALL_READ, get_run, id, &t->run);
    if (code) return code == TFY_E_ABSENT ? TFY_E_STATE : code;
    tfy__uuid_text(t->run.uuid, uuid);
    if (strcmp(uuid, run) != 0 || (t->run.base_lsn != t->from && t->run.base_lsn != t->base)) return TFY_E_STATE;
    code = TFY_STORE(store, TFY_CALL_READ, get_record, t->run.id, t->base, &snapshot);
    if (code) return code == TFY_E_ABSENT ? TFY_E_STATE : code;
    return snapshot.type == TFY_R_SNAPSHOT && snapshot.tid == t->run.root ? 0 : TFY_E_INVALID;
}

static int thin_run(Thinning *t)
{
    TfyStore *store = &t->store->base;
    int code = read_run(t);
    if (!code) code = query(t, OPEN, 0, NULL, NULL);
    if (!code) code = drop_all(t);
    if (!code && t->run.base_lsn != t->base) {
        t->run.base_lsn = t->base;
        code = TFY_STORE(store, TFY_CALL_PUT, put_run, &t->run, TFY_RUN_CHANGES);
    }
    return code ? code : query(t, CLOSE, 0, NULL, NULL);
}

/* The writer's transaction. */
static int thin(void *state, TfyStore *store)
{
    Thinning *t = state;
    t->store = (SqliteStore *)store;
    const int code = thin_run(t);
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(t->statements[i]);
    return code;
}

TfyTicket tfy__thin_announce(TfyLog *log, const char *why, const TfyLogRun *const *runs, uint32_t count)
{
    TfyBuffer text = {0};
    char uuid[37];
    tfy__put_begin(&text);
    tfy__put_text(&text, TFY_P_WHY, why);
    tfy__put(&text, TFY_P_RUNS);
    for (uint32_t i = 0; i < count; i++) {
        tfy__uuid_text(runs[i]->uuid, uuid);
        tfy__buffer_printf(&text, "%s\"%s\"", i ? "," : "[", uuid);
    }
    tfy__buffer_text(&text, count ? "]" : "[]");
    tfy__put_end(&text);
    return tfy__log_append_payload(log, tfy__log_self(log), TFY_R_COMPACTED, 0, 0, &text);
}

/* Before the first part: the log says what is about to happen, and a mark seals what may go. It also writes the rows
 * of all tasks that ended before the snapshot, so that none is written again after its task was dropped. */
static int prepare(TfyLog *log, const Thinning *t)
{
    const TfyLogRun *named = &t->run;
    int64_t code = t->run.base_lsn == t->base ? 0 : tfy__thin_announce(log, "compacted", &named, 1);
    if (code >= 0) code = log->mark_lsn < t->base ? tfy__mark_add(log, false) : 0;
    return code < 0 ? (int)code : tfy__log_sync(log);
}

static int look(Thinning *t, TfyLog *log)
{
    t->store = (SqliteStore *)log->store;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = read_run(t);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

static int refuse(TfyLog *log, int code, char *error_text)
{
    switch (code) {
    case 0: return 0;
    case TFY_E_INVALID: return tfy__log_refuse(error_text, code, "the request is not understood");
    case TFY_E_NOMEM: return tfy__log_refuse(error_text, code, "the process that runs it has no memory for it");
    case TFY_E_STATE:
        return tfy__log_refuse(error_text, code, "%s",
                               tfy__log_full(log) ? "the disk is full" : "another gc has changed it meanwhile");
    case TFY_STORE_FULL: return tfy__log_refuse(error_text, TFY_E_STATE, "the disk is full");
    case TFY_STORE_HELD: return tfy__log_refuse(error_text, TFY_E_STATE, "%s", log->store->error);
    default:
        return tfy__log_refuse(error_text, code, "%s",
                               log->store->error[0] ? log->store->error : "the log could not be changed");
    }
}

int tfy__thin(TfyLog *log, const json_t *part, int64_t *base, char *error_text)
{
    Thinning t = {.part = part};
    int code = tfy__log_path(log) ? tfy__log_sync(log) : TFY_E_INVALID;
    if (!code) code = look(&t, log);
    if (!code) code = prepare(log, &t);
    if (!code) code = tfy__writer_alone(log, thin, &t);
    *base = t.base;
    return refuse(log, code, error_text);
}

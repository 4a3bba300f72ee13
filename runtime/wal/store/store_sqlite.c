/* store_sqlite.c: rows of the log in SQLite: one prepared statement each, bound and stepped without copies. */
#include "wal/store/store_sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "wal/store/schema.h"

#define TASK_COLUMNS    "tid,run,path,program,born,base,base_chain,head,chain,step,state,wait,sum"
#define RUN_COLUMNS     "id,uuid,program,root,state,started,ended,imported,sum,origin,parked,moved,base,parked_at,options"
#define RECORD_COLUMNS  "lsn,tid,prev,v,ts,type,step,point,payload,chain"
#define RECORD_PLACES   "(?,?,?,?,?,?,?,?,?,?)"
#define FOUR_RECORDS    RECORD_PLACES "," RECORD_PLACES "," RECORD_PLACES "," RECORD_PLACES
#define PROGRAM_COLUMNS "id,hash,tfyc,source,layout,sum"
#define MARK_COLUMNS    "lsn,epoch,rows,sum,chain,gone_rows,gone_sum"

enum { MANY = 16 }; /* records that S_PUT_MANY has places for */

static const char *const texts[S_COUNT] = {
    [S_BEGIN] = "BEGIN IMMEDIATE",
    [S_COMMIT] = "COMMIT",
    [S_ROLLBACK] = "ROLLBACK",
    [S_LOOK] = "BEGIN",
    [S_PUT_RECORD] = "INSERT INTO wal(" RECORD_COLUMNS ") VALUES" RECORD_PLACES,
    /* FAIL: a failure in the middle rolls back the whole transaction anyway, so SQLite need not remember the earlier
     * state of its pages. */
    [S_PUT_MANY] = "INSERT OR FAIL INTO wal(" RECORD_COLUMNS ") VALUES" FOUR_RECORDS "," FOUR_RECORDS "," FOUR_RECORDS
                   "," FOUR_RECORDS,
    [S_BEAR_TASK] = "INSERT INTO task(" TASK_COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
    /* Updates name only columns that change: SQLite updates an index if the statement names one of its columns,
     * changed or not. */
    [S_PUT_TASK] = "UPDATE task SET (program,head,chain,step,state,wait,sum)=(?4,?8,?9,?10,?11,?12,?13) WHERE tid=?1",
    [S_BEAR_RUN] = "INSERT INTO run(" RUN_COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_PUT_RUN] = "UPDATE run SET (program,state,ended,imported,sum,parked,moved,base,parked_at,options)="
                  "(?3,?5,?7,?8,?9,?11,?12,?13,?14,?15) WHERE id=?1",
    [S_END_RUN] = "UPDATE run SET (state,ended,sum)=(?2,?3,?4) WHERE id=?1",
    [S_PUT_PROGRAM] = "INSERT INTO program(" PROGRAM_COLUMNS ") VALUES(?,?,?,?,?,?)",
    [S_PUT_GAP] = "INSERT OR REPLACE INTO gap(lsn,below,chain) VALUES(?,?,?)",
    [S_PUT_MARK] = "INSERT INTO mark(lsn,epoch,rows,sum,chain) VALUES(?,?,?,?,?)",
    [S_PUT_META] =
        "INSERT OR REPLACE INTO meta(id,epoch,dev,ino,clean,next_lsn,next_tid,mark,sum,db,owner,base,base_chain)"
        " VALUES(1,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_GET_META] = "SELECT epoch,dev,ino,clean,next_lsn,next_tid,mark,sum,db,owner,base,base_chain FROM meta",
    [S_GET_MARK] = "SELECT " MARK_COLUMNS " FROM mark WHERE lsn<? ORDER BY lsn DESC LIMIT 1",
    [S_GET_RECORD] = "SELECT " RECORD_COLUMNS " FROM wal WHERE lsn<=? ORDER BY lsn DESC",
    [S_GET_TASK] = "SELECT " TASK_COLUMNS " FROM task WHERE tid=?",
    [S_GET_RUN] = "SELECT " RUN_COLUMNS " FROM run WHERE id=?",
    [S_GET_GAP] = "SELECT lsn,below,chain FROM gap WHERE lsn=?",
    [S_FIND_RUN] = "SELECT " RUN_COLUMNS " FROM run WHERE uuid=?",
    [S_GET_PROGRAM] = "SELECT " PROGRAM_COLUMNS " FROM program WHERE id=?",
    [S_GET_PROGRAM_BY_HASH] = "SELECT " PROGRAM_COLUMNS " FROM program WHERE hash=?",
    [S_SEE_RECORDS] = "SELECT " RECORD_COLUMNS " FROM wal WHERE lsn>=? ORDER BY lsn",
    [S_SEE_TASKS] = "SELECT " TASK_COLUMNS " FROM task WHERE run=? ORDER BY tid",
    [S_SEE_RUNS] = "SELECT " RUN_COLUMNS " FROM run ORDER BY id",
    [S_SEE_MARKS] = "SELECT " MARK_COLUMNS " FROM mark ORDER BY lsn",
    [S_SEE_UNFINISHED] = "SELECT " RUN_COLUMNS " FROM run WHERE state<12 AND parked=0 ORDER BY id",
    [S_SEE_PARKED] = "SELECT " RUN_COLUMNS " FROM run WHERE parked>0 AND parked<=?2 AND program=?1 ORDER BY "
                     "parked,id",
    /* SQLite starts at the first of two lower bounds; the other one only shows that the partial index suffices. */
    [S_SEE_AHEAD] = "SELECT " RUN_COLUMNS " FROM run WHERE parked_at>?2 AND parked_at>0 AND program=?1 "
                    "ORDER BY parked_at,id",
    [S_LAST_IDS] = "SELECT (SELECT max(id) FROM run),(SELECT max(id) FROM program),(SELECT max(tid) FROM task)",
};

static SqliteStore *inside(TfyStore *store)
{
    return (SqliteStore *)store;
}

static bool is_as_large(const char *name, rlim_t limit)
{
    struct stat info;
    return name && stat(name, &info) == 0 && (rlim_t)info.st_size >= limit;
}

/* Whether the database or its -wal file has reached this process's limit for files (RLIMIT_FSIZE; SIGXFSZ is
 * ignored). SQLite takes only ENOSPC for a full disk and does not keep errno; but it writes as much as fits. */
static bool is_at_limit(sqlite3 *db)
{
    struct rlimit size;
    const char *name = sqlite3_db_filename(db, "main");
    if (!name || getrlimit(RLIMIT_FSIZE, &size) < 0 || size.rlim_cur == RLIM_INFINITY) return false;
    return is_as_large(name, size.rlim_cur) || is_as_large(sqlite3_filename_wal(name), size.rlim_cur);
}

/* Translates a result of SQLite for the log. Anything that is not clearly "no room" or "damaged" counts as a failure
 * of the disk. */
int tfy__sqlite_answer(SqliteStore *store, int code)
{
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return 0;
    snprintf(store->base.error, sizeof store->base.error, "%s", sqlite3_errmsg(store->db));
    const int extended = sqlite3_extended_errcode(store->db);
    if (extended == SQLITE_IOERR_DATA) {
        snprintf(store->base.error, sizeof store->base.error, "page %lld was changed since it was written",
                 (long long)tfy__page_vfs_damaged(store->db));
        return TFY_E_DATA;
    }
    store->base.limited = extended == SQLITE_IOERR_WRITE && is_at_limit(store->db);
    if (store->base.limited) return TFY_STORE_FULL;
    if ((code & 255) == SQLITE_FULL || extended == SQLITE_IOERR_SHMSIZE) return TFY_STORE_FULL;
    switch (code & 255) {
    case SQLITE_NOMEM: return TFY_E_NOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH: return TFY_E_DATA;
    default: return TFY_E_IO;
    }
}

static int prepared(SqliteStore *store, Statement which, sqlite3_stmt **statement)
{
    int code = SQLITE_OK;
    if (!store->statements[which]) {
        code =
            sqlite3_prepare_v3(store->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[which], NULL);
    }
    *statement = store->statements[which];
    return tfy__sqlite_answer(store, code);
}

/* Steps a statement that returns no rows, and resets it for the next time. */
static int finish(SqliteStore *store, sqlite3_stmt *statement)
{
    const int code = tfy__sqlite_answer(store, sqlite3_step(statement));
    sqlite3_reset(statement);
    return code;
}

static int execute(SqliteStore *store, Statement which)
{
    sqlite3_stmt *statement;
    const int code = prepared(store, which, &statement);
    return code ? code : finish(store, statement);
}

/* ---- writing ---- */

/* Describes what prevents the -wal file from being emptied, and how large it is. */
static void describe_reader(SqliteStore *store, const char *then, char *text, size_t size)
{
    char reader[80];
    const unsigned megabytes = store->wal_pages / ((1u << 20) / SCHEMA_PAGE_BYTES);
    tfy__sqlite_name_reader(store->path, reader, sizeof reader);
    snprintf(text, size,
             "%s has been reading the database for a long time: its -wal file has grown to %u pages (%u MB); %s",
             reader, store->wal_pages, megabytes, then);
}

/* The -wal file has reached its limit: everything in it must move to the main file, and no process may still read
 * it. */
static int empty_wal(SqliteStore *store)
{
    sqlite3_busy_timeout(store->db, 0);
    const int code = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    sqlite3_busy_timeout(store->db, SQLITE_BUSY_MS);
    if ((code & 255) != SQLITE_BUSY && (code & 255) != SQLITE_LOCKED) {
        if (!code) store->wal_pages = store->moved_pages = 0;
        return tfy__sqlite_answer(store, code);
    }
    describe_reader(store, "runs pause until it finishes", store->base.error, sizeof store->base.error);
    return TFY_STORE_HELD;
}

static int get_meta(TfyStore *store, TfyStoreMeta *meta);

static uint32_t data_version(SqliteStore *store)
{
    uint32_t version = 0;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

/* If the lock's file was removed, the lock is lost: another process may have opened the database since, or may have
 * continued to write it between our reading and our first commit. Only one of the two continues: the one whose epoch
 * is in the file. */
static int check_epoch(SqliteStore *store)
{
    const uint32_t version = data_version(store);
    TfyStoreMeta meta;
    if (version == store->data_version || store->epoch < 0) return 0;
    const int code = get_meta(&store->base, &meta);
    if (code) return code;
    store->data_version = version;
    if (store->owns && meta.epoch == store->epoch) return 0;
    snprintf(store->base.error, sizeof store->base.error,
             "%s writes it, too, because its lock was removed: was %s-tfy deleted?", meta.owner, store->path);
    return TFY_E_HELD;
}

static int begin(TfyStore *store, const TfyStoreHold *hold)
{
    SqliteStore *self = inside(store);
    int code = self->wal_pages >= store->wal_limit ? empty_wal(self) : 0;
    if (!code) code = execute(self, S_BEGIN);
    if (!code && (code = check_epoch(self))) execute(self, S_ROLLBACK);
    self->next_epoch = self->epoch;
    self->writing = !code;
    self->record_at = 0;
    return code;
}

static int commit(TfyStore *store)
{
    SqliteStore *self = inside(store);
    const int code = execute(self, S_COMMIT);
    if (code) return code;
    self->writing = false;
    self->data_version = data_version(self); /* our own change counts, too; nobody else can have written since begin */
    self->owns |= self->next_epoch != self->epoch;
    self->epoch = self->next_epoch;
    if (self->wal_pages < self->moved_pages) {
        self->moved_pages = 0; /* the file was restarted */
        self->reader_named = false;
    }
    return 0;
}

static void rollback(TfyStore *store)
{
    /* After some failures SQLite has already rolled back; another rollback would only overwrite the message that
     * matters. */
    SqliteStore *self = inside(store);
    char kept[sizeof store->error];
    memcpy(kept, store->error, sizeof kept);
    if (!sqlite3_get_autocommit(self->db)) execute(self, S_ROLLBACK);
    memcpy(store->error, kept, sizeof kept);
    /* Dropping SQLite's cache counts as a change; no other process can have written meanwhile. */
    if (self->writing) self->data_version = data_version(self);
    self->writing = false;
    self->record_at = 0;
}

enum { RECORD_WORDS = 10 };

/* Binds to the parameters behind `at`. */
static void bind_record(sqlite3_stmt *to, int at, const TfyLogRecord *record)
{
    sqlite3_bind_int64(to, at + 1, record->lsn);
    sqlite3_bind_int64(to, at + 2, record->tid);
    sqlite3_bind_int64(to, at + 3, record->prev);
    sqlite3_bind_int(to, at + 4, record->v);
    sqlite3_bind_int64(to, at + 5, record->ts_ms);
    sqlite3_bind_int(to, at + 6, record->type);
    sqlite3_bind_int64(to, at + 7, record->step);
    sqlite3_bind_int64(to, at + 8, record->point);
    sqlite3_bind_text64(to, at + 9, record->payload, record->payload_len, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(to, at + RECORD_WORDS, (int64_t)record->chain);
}

static int put_record(TfyStore *store, const TfyLogRecord *record)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_PUT_RECORD, &to);
    if (code) return code;
    bind_record(to, 0, record);
    return finish(inside(store), to);
}

static int put_many(TfyStore *store, const TfyLogRecord *const records[MANY])
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_PUT_MANY, &to);
    if (code) return code;
    for (int i = 0; i < MANY; i++) bind_record(to, i * RECORD_WORDS, records[i]);
    return finish(inside(store), to);
}

static int put_records(TfyStore *store, const TfyLogRecord *const *records, uint32_t count)
{
    int code = 0;
    while (!code && count) {
        const uint32_t put = count >= MANY ? MANY : 1;
        code = put == MANY ? put_many(store, records) : put_record(store, *records);
        records += put;
        count -= put;
    }
    return code;
}

static void bind_words(sqlite3_stmt *to, int first, const int64_t *words, int count)
{
    for (int i = 0; i < count; i++) sqlite3_bind_int64(to, first + i, words[i]);
}
#define BIND(to, first, ...)                                                                                           \
    bind_words(to, first, (const int64_t[]){__VA_ARGS__},                                                              \
               (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static void bind_text(sqlite3_stmt *to, int place, const char *text)
{
    sqlite3_bind_text(to, place, text, -1, SQLITE_STATIC);
}

static int put_task(TfyStore *store, const TfyStoreTask *task, bool birth)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), birth ? S_BEAR_TASK : S_PUT_TASK, &to);
    if (code) return code;
    BIND(to, 1, task->tid, task->run);
    bind_text(to, 3, task->path);
    BIND(to, 4, task->program, task->born, task->base, (int64_t)task->base_chain, task->head, (int64_t)task->chain,
         task->step, task->state, task->wait, (int64_t)tfy__store_sum_task(task));
    return finish(inside(store), to);
}

/* Updating three columns costs half as much as updating all: SQLite maintains only the indexes that contain them. */
static int end_run(TfyStore *store, const TfyLogRun *run)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_END_RUN, &to);
    if (code) return code;
    BIND(to, 1, run->id, run->state, run->ended_ms, (int64_t)tfy__store_sum_run(run));
    return finish(inside(store), to);
}

static int put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut put)
{
    sqlite3_stmt *to;
    uint8_t origin[TFY_ORIGIN_SIZE];
    if (put == TFY_RUN_ENDS) return end_run(store, run);
    const int code = prepared(inside(store), put == TFY_RUN_BEGINS ? S_BEAR_RUN : S_PUT_RUN, &to);
    if (code) return code;
    tfy__store_origin_blob(run, origin);
    BIND(to, 1, run->id);
    sqlite3_bind_blob(to, 2, run->uuid, 16, SQLITE_STATIC);
    BIND(to, 3, run->program, run->root, run->state, run->started_ms, run->ended_ms, run->imported,
         (int64_t)tfy__store_sum_run(run));
    sqlite3_bind_blob(to, 10, run->origin_lsn ? origin : NULL, TFY_ORIGIN_SIZE, SQLITE_STATIC);
    BIND(to, 11, run->parked_ms, run->moved_lsn, run->base_lsn, run->parked_at_ms, run->options_lsn);
    return finish(inside(store), to);
}

static int put_program(TfyStore *store, const TfyStoreProgram *program)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_PUT_PROGRAM, &to);
    if (code) return code;
    BIND(to, 1, program->id);
    sqlite3_bind_blob(to, 2, program->hash, 16, SQLITE_STATIC);
    bind_text(to, 3, program->tfyc);
    bind_text(to, 4, program->source);
    bind_text(to, 5, program->layout);
    BIND(to, 6, (int64_t)tfy__store_sum_program(program));
    return finish(inside(store), to);
}

static int put_gap(TfyStore *store, const TfyStoreGap *gap)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_PUT_GAP, &to);
    if (code) return code;
    BIND(to, 1, gap->lsn, gap->below, (int64_t)gap->chain);
    return finish(inside(store), to);
}

static int put_mark(TfyStore *store, const TfyStoreMark *mark)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_PUT_MARK, &to);
    if (code) return code;
    BIND(to, 1, mark->lsn, mark->epoch, mark->rows, (int64_t)mark->sum, (int64_t)mark->chain);
    return finish(inside(store), to);
}

static int put_meta(TfyStore *store, const TfyStoreMeta *meta)
{
    sqlite3_stmt *to;
    const int code = prepared(inside(store), S_PUT_META, &to);
    if (code) return code;
    inside(store)->next_epoch = meta->epoch;
    BIND(to, 1, meta->epoch, meta->dev, meta->ino, meta->clean, meta->next_lsn, meta->next_tid, meta->mark,
         (int64_t)tfy__store_sum_meta(meta));
    sqlite3_bind_blob(to, 9, meta->db, 16, SQLITE_STATIC);
    bind_text(to, 10, meta->owner);
    BIND(to, 11, meta->base, (int64_t)meta->base_chain);
    return finish(inside(store), to);
}

static void place(TfyStore *store, TfyWalPlace *place)
{
    tfy__page_vfs_place(inside(store)->db, place);
}

static int renew(TfyStore *store, bool all)
{
    SqliteStore *self = inside(store);
    if (!all && !tfy__page_vfs_foreign(self->db)) return 0;
    const int code = tfy__sqlite_renew(self->db);
    if (code) snprintf(store->error, sizeof store->error, "%s", sqlite3_errstr(code));
    return !code ? 0 : (code & 255) == SQLITE_BUSY ? TFY_E_HELD : TFY_E_IO;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* While a reader keeps the file from restarting, trying at every commit would cost time for nothing. */
static bool checkpoint_due(TfyStore *store)
{
    const SqliteStore *self = inside(store);
    const uint32_t first = least(CHECKPOINT_PAGES, store->wal_limit / 4);
    return self->wal_pages >=
           (self->moved_pages ? self->moved_pages + least(CHECKPOINT_AGAIN_PAGES, store->wal_limit / 16) : first);
}

static int checkpoint(TfyStore *store)
{
    SqliteStore *self = inside(store);
    const int code = sqlite3_wal_checkpoint_v2(self->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    const bool again = self->moved_pages != 0;
    self->moved_pages = self->wal_pages;
    if (again && self->wal_pages >= store->wal_limit / 4 && !self->reader_named) {
        describe_reader(self, "stop it, or runs must pause", store->notice, sizeof store->notice);
        self->reader_named = true;
    }
    /* A reader in the way only means that less is moved; if the disk is full, the rows stay in the -wal file, where
     * they are safe, too. */
    if ((code & 255) == SQLITE_BUSY || (code & 255) == SQLITE_LOCKED || (code & 255) == SQLITE_FULL) return 0;
    return tfy__sqlite_answer(self, code);
}

static bool move_all(TfyStore *store)
{
    int frames = 0, moved = 0;
    const int code = sqlite3_wal_checkpoint_v2(inside(store)->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
    return !code && frames == moved;
}

/* ---- reading ---- */

static int look(TfyStore *store)
{
    return execute(inside(store), S_LOOK);
}

/* The statement of a look-up stays on its row for readers of its strings; their last use ends here, and with it the
 * hold on the -wal file. */
static void look_away(TfyStore *store)
{
    for (int i = S_GET_META; i < S_COUNT; i++) sqlite3_reset(inside(store)->statements[i]);
    inside(store)->record_at = 0;
    rollback(store);
}

static int damaged(SqliteStore *store, const char *what, int64_t id)
{
    snprintf(store->base.error, sizeof store->base.error, "%s %lld was changed since it was written", what,
             (long long)id);
    return TFY_E_DATA;
}

static const char *text_at(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

static bool id_at(sqlite3_stmt *row, int column, uint8_t id[16])
{
    const void *blob = sqlite3_column_blob(row, column);
    if (!blob || sqlite3_column_bytes(row, column) != 16) return false;
    memcpy(id, blob, 16);
    return true;
}

static int64_t word_at(sqlite3_stmt *row, int column)
{
    return sqlite3_column_int64(row, column);
}

/* A value too large for its field would be cut and could pass for another row's; such a record is damaged. */
static int read_record(SqliteStore *store, sqlite3_stmt *row, TfyLogRecord *record)
{
    const int64_t v = word_at(row, 3), type = word_at(row, 5), point = word_at(row, 7);
    *record = (TfyLogRecord){.lsn = word_at(row, 0),
                             .tid = word_at(row, 1),
                             .prev = word_at(row, 2),
                             .v = (uint8_t)v,
                             .ts_ms = word_at(row, 4),
                             .type = (uint8_t)type,
                             .step = word_at(row, 6),
                             .point = (uint32_t)point,
                             .payload = text_at(row, 8),
                             .chain = (uint64_t)word_at(row, 9)};
    record->payload_len = (uint32_t)sqlite3_column_bytes(row, 8);
    if (v != record->v || type != record->type || point != record->point) return damaged(store, "record", record->lsn);
    return 0;
}

static int read_task(SqliteStore *store, sqlite3_stmt *row, TfyStoreTask *task)
{
    *task = (TfyStoreTask){.tid = word_at(row, 0),
                           .run = word_at(row, 1),
                           .path = text_at(row, 2),
                           .program = word_at(row, 3),
                           .born = word_at(row, 4),
                           .base = word_at(row, 5),
                           .base_chain = (uint64_t)word_at(row, 6),
                           .head = word_at(row, 7),
                           .chain = (uint64_t)word_at(row, 8),
                           .step = word_at(row, 9),
                           .state = word_at(row, 10),
                           .wait = word_at(row, 11)};
    return (uint64_t)word_at(row, 12) == tfy__store_sum_task(task) ? 0 : damaged(store, "task", task->tid);
}

static int read_run(SqliteStore *store, sqlite3_stmt *row, TfyLogRun *run)
{
    *run = (TfyLogRun){.id = word_at(row, 0),
                       .program = word_at(row, 2),
                       .root = word_at(row, 3),
                       .state = (int)word_at(row, 4),
                       .started_ms = word_at(row, 5),
                       .ended_ms = word_at(row, 6),
                       .imported = word_at(row, 7),
                       .parked_ms = word_at(row, 10),
                       .moved_lsn = word_at(row, 11),
                       .base_lsn = word_at(row, 12),
                       .parked_at_ms = word_at(row, 13),
                       .options_lsn = word_at(row, 14)};
    if (!id_at(row, 1, run->uuid) ||
        !tfy__store_origin_read(run, sqlite3_column_blob(row, 9), sqlite3_column_bytes(row, 9)) ||
        (uint64_t)word_at(row, 8) != tfy__store_sum_run(run))
        return damaged(store, "run", run->id);
    return 0;
}

/* Steps to the one row of a look-up. The statement stays on it until the next look-up or look_away. */
static int look_up(SqliteStore *store, sqlite3_stmt *statement)
{
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) return 0;
    const int why = code == SQLITE_DONE ? TFY_E_ABSENT : tfy__sqlite_answer(store, code);
    sqlite3_reset(statement);
    return why;
}

static int prepared_again(SqliteStore *store, Statement which, sqlite3_stmt **statement)
{
    const int code = prepared(store, which, statement);
    if (!code) sqlite3_reset(*statement);
    return code;
}

static int get_meta(TfyStore *store, TfyStoreMeta *meta)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_GET_META, &row);
    if (!code) code = look_up(self, row);
    if (code) return code;
    *meta = (TfyStoreMeta){.epoch = word_at(row, 0),
                           .dev = word_at(row, 1),
                           .ino = word_at(row, 2),
                           .clean = word_at(row, 3),
                           .next_lsn = word_at(row, 4),
                           .next_tid = word_at(row, 5),
                           .mark = word_at(row, 6),
                           .base = word_at(row, 10),
                           .base_chain = (uint64_t)word_at(row, 11)};
    if (self->epoch < 0) {
        self->epoch = meta->epoch;
        self->data_version = data_version(self);
    }
    snprintf(meta->owner, sizeof meta->owner, "%s", text_at(row, 9));
    const bool sound = id_at(row, 8, meta->db) && (uint64_t)word_at(row, 7) == tfy__store_sum_meta(meta);
    sqlite3_reset(row);
    return sound ? 0 : damaged(self, "the row of meta", 1);
}

static void read_mark(sqlite3_stmt *row, TfyStoreMark *mark)
{
    *mark = (TfyStoreMark){.lsn = word_at(row, 0),
                           .epoch = word_at(row, 1),
                           .rows = word_at(row, 2),
                           .sum = (uint64_t)word_at(row, 3),
                           .chain = (uint64_t)word_at(row, 4),
                           .gone_rows = word_at(row, 5),
                           .gone_sum = (uint64_t)word_at(row, 6)};
}

static int get_mark(TfyStore *store, int64_t below, TfyStoreMark *mark)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_GET_MARK, &row);
    if (code) return code;
    sqlite3_bind_int64(row, 1, below);
    if ((code = look_up(self, row))) return code;
    read_mark(row, mark);
    sqlite3_reset(row);
    return 0;
}

/* Steps to the newest record up to this lsn. Walks over chains go down, so their next record is often a few rows below the
 * last one, and so many steps cost less than a new search. */
static int seek_record(SqliteStore *store, int64_t lsn, sqlite3_stmt **row)
{
    enum { STEPS_DOWN = 3 };
    const bool near = store->record_at > lsn && store->record_at - lsn <= STEPS_DOWN;
    int code = near ? prepared(store, S_GET_RECORD, row) : prepared_again(store, S_GET_RECORD, row);
    if (!code && !near) sqlite3_bind_int64(*row, 1, lsn);
    store->record_at = 0;
    do {
        if (!code) code = look_up(store, *row);
    } while (!code && word_at(*row, 0) > lsn);
    if (!code) store->record_at = word_at(*row, 0);
    return code;
}

static int get_record(TfyStore *store, int64_t run, int64_t lsn, TfyLogRecord *record)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    const int code = seek_record(self, lsn, &row);
    if (code) return code;
    return self->record_at == lsn ? read_record(self, row, record) : TFY_E_ABSENT;
}

static int get_task(TfyStore *store, int64_t run, int64_t tid, TfyStoreTask *task)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_GET_TASK, &row);
    if (code) return code;
    sqlite3_bind_int64(row, 1, tid);
    return (code = look_up(self, row)) ? code : read_task(self, row, task);
}

static int get_run(TfyStore *store, int64_t id, TfyLogRun *run)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_GET_RUN, &row);
    if (code) return code;
    sqlite3_bind_int64(row, 1, id);
    if ((code = look_up(self, row))) return code;
    code = read_run(self, row, run);
    sqlite3_reset(row);
    return code;
}

static int get_gap(TfyStore *store, int64_t run, int64_t lsn, TfyStoreGap *gap)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_GET_GAP, &row);
    if (code) return code;
    sqlite3_bind_int64(row, 1, lsn);
    if ((code = look_up(self, row))) return code;
    *gap = (TfyStoreGap){.lsn = lsn, .below = word_at(row, 1), .chain = (uint64_t)word_at(row, 2)};
    sqlite3_reset(row);
    return 0;
}

static int find_run(TfyStore *store, const uint8_t uuid[16], TfyLogRun *run)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_FIND_RUN, &row);
    if (code) return code;
    sqlite3_bind_blob(row, 1, uuid, 16, SQLITE_TRANSIENT);
    if ((code = look_up(self, row))) return code;
    code = read_run(self, row, run);
    sqlite3_reset(row);
    return code;
}

static int get_program(TfyStore *store, int64_t id, const uint8_t hash[16], TfyStoreProgram *program)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, hash ? S_GET_PROGRAM_BY_HASH : S_GET_PROGRAM, &row);
    if (code) return code;
    if (hash) {
        sqlite3_bind_blob(row, 1, hash, 16, SQLITE_TRANSIENT);
    } else {
        sqlite3_bind_int64(row, 1, id);
    }
    if ((code = look_up(self, row))) return code;
    *program = (TfyStoreProgram){
        .id = word_at(row, 0), .tfyc = text_at(row, 2), .source = text_at(row, 3), .layout = text_at(row, 4)};
    const bool sound = id_at(row, 1, program->hash) && (uint64_t)word_at(row, 5) == tfy__store_sum_program(program);
    return sound ? 0 : damaged(self, "program", program->id);
}

static int see_records(TfyStore *store, int64_t run, int64_t from, TfyStoreSeeRecord *see, void *state)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_SEE_RECORDS, &row);
    if (code) return code;
    sqlite3_bind_int64(row, 1, from);
    int stepped = SQLITE_DONE;
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW) {
        TfyLogRecord record;
        code = read_record(self, row, &record);
        if (!code) code = see(state, &record);
    }
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_reset(row);
    return code;
}

static int see_tasks(TfyStore *store, int64_t run, TfyStoreSeeTask *see, void *state)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_SEE_TASKS, &row);
    if (code) return code;
    sqlite3_bind_int64(row, 1, run);
    int stepped = SQLITE_DONE;
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW) {
        TfyStoreTask task;
        code = read_task(self, row, &task);
        if (!code) code = see(state, &task);
    }
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_reset(row);
    return code;
}

static int show_runs(SqliteStore *self, sqlite3_stmt *row, TfyStoreSeeRun *see, void *state)
{
    int code = 0, stepped = SQLITE_DONE;
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW) {
        TfyLogRun run;
        code = read_run(self, row, &run);
        if (!code) code = see(state, &run);
    }
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_reset(row);
    return code;
}

static int see_runs(TfyStore *store, bool unfinished, TfyStoreSeeRun *see, void *state)
{
    sqlite3_stmt *row;
    const int code = prepared_again(inside(store), unfinished ? S_SEE_UNFINISHED : S_SEE_RUNS, &row);
    return code ? code : show_runs(inside(store), row, see, state);
}

static int see_parked(TfyStore *store, int64_t program, int64_t upto_ms, TfyStoreSeeRun *see, void *state)
{
    sqlite3_stmt *row;
    const int code = prepared_again(inside(store), S_SEE_PARKED, &row);
    if (code) return code;
    BIND(row, 1, program, upto_ms);
    return show_runs(inside(store), row, see, state);
}

static int see_ahead(TfyStore *store, int64_t program, int64_t after_ms, TfyStoreSeeRun *see, void *state)
{
    sqlite3_stmt *row;
    const int code = prepared_again(inside(store), S_SEE_AHEAD, &row);
    if (code) return code;
    BIND(row, 1, program, after_ms);
    return show_runs(inside(store), row, see, state);
}

static int see_marks(TfyStore *store, TfyStoreSeeMark *see, void *state)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_SEE_MARKS, &row);
    if (code) return code;
    int stepped = SQLITE_DONE;
    while (!code && (stepped = sqlite3_step(row)) == SQLITE_ROW) {
        TfyStoreMark mark;
        read_mark(row, &mark);
        code = see(state, &mark);
    }
    if (!code) code = tfy__sqlite_answer(self, stepped);
    sqlite3_reset(row);
    return code;
}

static void shrink(TfyStore *store)
{
    sqlite3_db_release_memory(inside(store)->db);
}

static int last_ids(TfyStore *store, int64_t *run, int64_t *program, int64_t *tid)
{
    SqliteStore *self = inside(store);
    sqlite3_stmt *row;
    int code = prepared_again(self, S_LAST_IDS, &row);
    if (!code) code = look_up(self, row);
    if (code) return code;
    *run = word_at(row, 0);
    *program = word_at(row, 1);
    *tid = word_at(row, 2);
    sqlite3_reset(row);
    return 0;
}

static void close_store(TfyStore *store, bool clean)
{
    SqliteStore *self = inside(store);
    for (int i = 0; i < S_COUNT; i++) sqlite3_finalize(self->statements[i]);
    tfy__sqlite_free_saved(self);
    if (clean) {
        /* All pages move to the main file and the -wal file becomes empty, so the next opening has nothing to walk,
         * and a program that only reads has nothing to move. */
        sqlite3_db_config(self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        sqlite3_exec(self->db, "PRAGMA journal_size_limit=0", NULL, NULL, NULL);
    }
    sqlite3_close(self->db);
    free(self->path);
    free(self);
}

const TfyStoreOps tfy__store_sqlite_ops = {
    .begin = begin,
    .put_records = put_records,
    .put_task = put_task,
    .put_run = put_run,
    .put_program = put_program,
    .put_gap = put_gap,
    .put_mark = put_mark,
    .put_meta = put_meta,
    .put_table = tfy__sqlite_put_table,
    .put_row = tfy__sqlite_put_row,
    .commit = commit,
    .rollback = rollback,
    .place = place,
    .renew = renew,
    .checkpoint_due = checkpoint_due,
    .checkpoint = checkpoint,
    .move_all = move_all,
    .shrink = shrink,
    .look = look,
    .look_away = look_away,
    .get_meta = get_meta,
    .get_mark = get_mark,
    .get_record = get_record,
    .get_task = get_task,
    .get_run = get_run,
    .get_gap = get_gap,
    .find_run = find_run,
    .get_program = get_program,
    .see_records = see_records,
    .see_tasks = see_tasks,
    .see_runs = see_runs,
    .see_parked = see_parked,
    .see_ahead = see_ahead,
    .see_marks = see_marks,
    .see_columns = tfy__sqlite_see_columns,
    .see_tables = tfy__sqlite_see_tables,
    .see_saved = tfy__sqlite_see_saved,
    .last_ids = last_ids,
    .close = close_store,
};

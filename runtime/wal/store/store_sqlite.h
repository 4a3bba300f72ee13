/* store_sqlite.h: the internals of the SQLite store, shared by its opening (sqlite_open.c) and its rows
 * (store_sqlite.c).
 *
 * There is one connection. A writer makes its checkpoints explicitly: SQLite's automatic ones discard their errors,
 * and a checkpoint that could not sync must stop the process. The -wal file is kept between openings and overwritten,
 * never truncated during operation. */
#ifndef WAL_STORE_STORE_SQLITE_H
#define WAL_STORE_STORE_SQLITE_H

#include <sqlite3.h>

#include "wal/store/store.h"

typedef enum Statement {
    S_BEGIN,
    S_COMMIT,
    S_ROLLBACK,
    S_LOOK,
    S_PUT_RECORD,
    S_PUT_MANY,
    S_BEAR_TASK,
    S_PUT_TASK,
    S_BEAR_RUN,
    S_PUT_RUN,
    S_END_RUN,
    S_PUT_PROGRAM,
    S_PUT_GAP,
    S_PUT_MARK,
    S_PUT_META,
    S_GET_META,
    S_GET_MARK,
    S_GET_RECORD,
    S_GET_TASK,
    S_GET_RUN,
    S_GET_GAP,
    S_FIND_RUN,
    S_GET_PROGRAM,
    S_GET_PROGRAM_BY_HASH,
    S_SEE_RECORDS,
    S_SEE_TASKS,
    S_SEE_RUNS,
    S_SEE_UNFINISHED,
    S_SEE_PARKED,
    S_SEE_AHEAD,
    S_SEE_MARKS,
    S_LAST_IDS,
    S_COUNT
} Statement;

/* The statement that writes rows of one shape. */
typedef struct SavedStatement {
    sqlite3_stmt *statement;
    struct SavedStatement *next;
} SavedStatement;

typedef struct SqliteStore {
    TfyStore base;                     /* must be first */
    sqlite3 *db;                       /* the one connection */
    sqlite3_stmt *statements[S_COUNT]; /* prepared at first use */
    SavedStatement *saved;             /* those of saved tables */
    int64_t record_at;                 /* the row that S_GET_RECORD's statement is on; 0: not known */
    /* Pages in the -wal file after the last commit; 0: the next commit restarts the file. */
    uint32_t wal_pages;
    /* wal_pages at the last checkpoint, until the file restarts. */
    uint32_t moved_pages;
    /* People have been told which reader prevents the -wal file from being emptied. */
    bool reader_named;
    uint32_t data_version; /* SQLite's: changes when another connection writes */
    bool writing;          /* between begin and commit or rollback */
    bool owns;             /* our epoch is in the file */
    /* The epoch in meta's row, and the one that this transaction sets. -1: not read yet. */
    int64_t epoch, next_epoch;
    char *path; /* as given, for messages */
} SqliteStore;

enum { CHECKPOINT_PAGES = 3000, CHECKPOINT_AGAIN_PAGES = 750, SQLITE_BUSY_MS = 10000 };

/* Writes one sentence about the process that has been reading the database for too long (sqlite_reader.c). Opens
 * nothing. */
void tfy__sqlite_name_reader(const char *path, char *name, size_t size);

extern const TfyStoreOps tfy__store_sqlite_ops;

/* Translates a result of SQLite for the log; keeps SQLite's message. */
int tfy__sqlite_answer(SqliteStore *store, int code);

/* sqlite_saved.c */
int tfy__sqlite_put_table(TfyStore *store, const char *sql);
int tfy__sqlite_put_row(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count);
int tfy__sqlite_see_columns(TfyStore *store, const char *table, TfyStoreSeeColumn *see, void *state);
int tfy__sqlite_see_tables(TfyStore *store, TfyStoreSeeTable *see, void *state);
int tfy__sqlite_see_saved(TfyStore *store, const char *table, const char *run_uuid, TfyStoreSeeSaved *see, void *state);
void tfy__sqlite_free_saved(SqliteStore *store);

/* Rewrites the main file, with its page sums, and the -wal file in place, and syncs both; returns an SQLite code
 * (sqlite_renew.c). */
int tfy__sqlite_renew(sqlite3 *db);

#endif

/* store.h: where the log's rows are kept. Its implementations share one table of functions, and their tests:
 *
 *   store_sqlite.c   a file, which one process writes
 *   store_memory.c   the same in memory: tests, simulation, scheduler benches
 *   store_shared.c   a database in memory that several sessions write (shared.h)
 *   store_pg.c       the same on a server of PostgreSQL (pg.h)
 *
 * A file numbers records and tasks over all its runs, so that look-ups there do without the run. In a shared database
 * each run numbers its own records 1, 2, 3 …, and nobody's chain, marks and meta do not exist: those calls are NULL.
 *
 * Writing: begin, any number of puts, then commit (all are durable) or rollback (none happened). Only one caller at a
 * time: the log guarantees that. Reading: between look and look_away a reader sees committed rows. Strings and
 * payloads of a row stay valid until the next look-up of that kind or look_away, or until a visitor returns. Every
 * row except wal's carries `sum`, a hash of its columns, which put writes and every read checks.
 *
 * Each call passes a fault seam first: a test can make any of them fail, or end the process there. */
#ifndef WAL_STORE_STORE_H
#define WAL_STORE_STORE_H

#include "wal/rows/record.h"
#include "wal/rows/row.h"
#include "wal/store/ahead.h"
#include "wal/store/page_vfs.h"
#include "tfy_program.h"

/* No room: nothing of the transaction happened, and it may be retried. */
#define TFY_STORE_FULL (-100)
/* A file of the store has lost its name; `error` continues after that name, and says what became of the records. */
#define TFY_STORE_LOST (-102)
/* Like TFY_STORE_FULL, but because a reader prevents the -wal file from being emptied; `error` names the reader. */
#define TFY_STORE_HELD (-101)
/* Of a shared database: the session has ended, and this transaction did not happen, nor will any other of it. */
#define TFY_STORE_FENCED (-103)
/* The answer got lost: nobody knows whether the transaction happened, before `settle` has been told. */
#define TFY_STORE_UNKNOWN (-104)
/* The database cannot be reached; nothing happened. Try again under the same number. */
#define TFY_STORE_AWAY (-105)

/* Who commits into a shared database. The transaction happens only if the session lives and has had commit - 1 commits:
 * so it is fenced, renews the lease, and is there once however often it is sent. */
typedef struct TfyStoreHold {
    int64_t session; /* above 0 */
    int64_t commit;  /* 1, 2, 3 … */
} TfyStoreHold;

/* A run that leaves its owner: nobody's from this commit on, unless something has arrived that the owner did not see. */
typedef struct TfyStoreLeaving {
    int64_t run;
    int64_t mail;   /* number of the newest mail that its owner has seen; -1: it leaves in any case */
    int64_t due_ms; /* when somebody takes it up; 0: at once; INT64_MAX: when something arrives for it */
    /* How often it has had an owner, with this one: a run that the same session has claimed again has left before. 0: that is not
     * known, and such a run counts as one that has stayed. */
    int64_t claims;
    bool damaged;   /* it is held (TFY_HELD_DAMAGED) */
    uint32_t place; /* which of the session's logs lets it go (TfyLog), for them alone */
} TfyStoreLeaving;

/* What the owner of a run says to what was sent. */
typedef struct TfyStoreVerdict {
    int64_t run, n;
    const char *text;
    int code; /* 0: it was taken; TFY_E_…: text says why not */
} TfyStoreVerdict;

#define TFY_VERDICT_TAKEN "taken"
/* Given to all that an ended run has not seen. */
#define TFY_VERDICT_ENDED "the run has ended"

/* The one row of table meta: about the whole file, as of the last opening, mark or close. */
typedef struct TfyStoreMeta {
    uint8_t db[16];   /* the database's id, made at its creation */
    int64_t epoch;    /* number of openings for writing so far */
    char owner[64];   /* "pid 123 (name)" of the last one */
    int64_t dev, ino; /* the file as that opening saw it: reveals a copy */
    int64_t clean;    /* 1: it was closed cleanly, so mark is the newest record */
    int64_t next_lsn; /* as of mark */
    int64_t next_tid; /* as of mark */
    int64_t mark;     /* lsn of the newest mark */
    /* lsn of the newest mark that was deleted with all its records; 0: none. */
    int64_t base;
    uint64_t base_chain; /* its chain; or the seed of the marks */
} TfyStoreMeta;

/* A row of table mark: a checkpoint of all heads, and a seal on the records since the previous mark. */
typedef struct TfyStoreMark {
    int64_t lsn;       /* the last record it covers; 0: the first mark of a new file */
    int64_t epoch;     /* the writer's epoch */
    int64_t rows;      /* records in its segment */
    uint64_t sum;      /* sum of a hash over (lsn, tid, prev, chain) of each of them */
    int64_t gone_rows; /* deleted ones; not in the chain, because it changes */
    uint64_t gone_sum; /* their part of sum */
    uint64_t chain;    /* over the previous mark's chain, lsn, epoch, rows and sum */
} TfyStoreMark;

typedef struct TfyStoreProgram {
    int64_t id;         /* row id */
    uint8_t hash[16];   /* of the source and the compiler's version */
    const char *tfyc;   /* the compiler's version */
    const char *source; /* text of all its modules */
    const char *layout; /* JSON: points and frames */
} TfyStoreProgram;

typedef struct TfyStoreTask {
    int64_t tid;
    int64_t run;      /* row id of its run; 0: none (tid 0) */
    const char *path; /* "1.3.2" */
    int64_t program;  /* row id of its program; 0: none */
    int64_t born;     /* lsn of its InstructionStart or TaskSpawn */
    /* The end of a walk along prev: 0 of a root, `born` of a child, or the last deleted record. Written at birth and
     * by retention; an update does not change it or base_chain. */
    int64_t base;
    uint64_t base_chain; /* the chain before its first record: the seed, or the chain of base */
    int64_t head;        /* lsn of its newest record when the row was written */
    uint64_t chain;      /* chain of head */
    int64_t step;        /* step counter at head */
    int64_t state, wait; /* TfyTaskState; and what it waits for */
} TfyStoreTask;

/* A row of table gap: a record behind others of its task that retention deleted, here or in the database that the run
 * comes from. */
typedef struct TfyStoreGap {
    int64_t run;    /* as in TfyLogRecord */
    int64_t lsn;    /* that record */
    int64_t below;  /* the task's last existing record before the deleted ones, or its base */
    uint64_t chain; /* of the last deleted one */
} TfyStoreGap;

/* The calls that a test can make fail. */
typedef enum TfyStoreCall {
    TFY_CALL_BEGIN,
    TFY_CALL_PUT,
    TFY_CALL_COMMIT,
    TFY_CALL_COMMITTED,
    TFY_CALL_CHECKPOINT,
    TFY_CALL_READ,
    TFY_CALL_SETTLE,
} TfyStoreCall;

typedef struct TfyStore TfyStore;

/* A visitor returns 0 to continue; any other result stops the walk and becomes its result. */
typedef int TfyStoreSeeRecord(void *state, const TfyLogRecord *record);
typedef int TfyStoreSeeTask(void *state, const TfyStoreTask *task);
typedef int TfyStoreSeeRun(void *state, const TfyLogRun *run);
typedef int TfyStoreSeeColumn(void *state, const char *name, const char *decl);
typedef int TfyStoreSeeTable(void *state, const char *name);
/* Cells are those of the columns behind the key. */
typedef int TfyStoreSeeSaved(void *state, const char *task, int64_t step, const TfyCell *cells);
typedef int TfyStoreSeeMark(void *state, const TfyStoreMark *mark);

/* Why a run's row is written. With TFY_RUN_ENDS, the row differs from the stored one only in the run's state, the
 * time and the sum. */
typedef enum TfyRunPut { TFY_RUN_BEGINS, TFY_RUN_CHANGES, TFY_RUN_ENDS } TfyRunPut;

/* All return 0 or a negative code; a look-up of one row returns TFY_E_ABSENT if there is none. */
typedef struct TfyStoreOps {
    /* hold: NULL in a file. */
    int (*begin)(TfyStore *store, const TfyStoreHold *hold);
    /* In the order of their lsn; many at once are put in half the time. */
    int (*put_records)(TfyStore *store, const TfyLogRecord *const *records, uint32_t count);
    int (*put_task)(TfyStore *store, const TfyStoreTask *task, bool birth);
    int (*put_run)(TfyStore *store, const TfyLogRun *run, TfyRunPut put);
    int (*put_program)(TfyStore *store, const TfyStoreProgram *program);
    int (*put_gap)(TfyStore *store, const TfyStoreGap *gap);
    int (*put_mark)(TfyStore *store, const TfyStoreMark *mark);
    int (*put_meta)(TfyStore *store, const TfyStoreMeta *meta);
    /* Saved tables (saved.h): creates or widens one; writes a row of one, by a statement with as many parameters as
     * cells. */
    int (*put_table)(TfyStore *store, const char *sql);
    int (*put_row)(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count);
    /* Shared databases alone. `stayed` names those that do not leave, after the commit. */
    int (*put_leaving)(TfyStore *store, const TfyStoreLeaving *leaving, uint32_t count);
    /* The same: of runs that the session owns, in the order in which what they answer was sent, and one for each. */
    int (*put_verdict)(TfyStore *store, const TfyStoreVerdict *verdict);
    int (*commit)(TfyStore *store);
    /* After TFY_STORE_UNKNOWN of this commit: whether it happened. Another code than 0 says as little as before, but
     * TFY_STORE_FENCED: the session has ended, and what it was told durable stands. */
    int (*settle)(TfyStore *store, const TfyStoreHold *hold, bool *happened);
    void (*rollback)(TfyStore *store);
    void (*place)(TfyStore *store, TfyWalPlace *place); /* place of the last commit, for the witness */
    /* Rewrites all that its files hold and syncs it: after a failed sync (all), or where page sums are missing. */
    int (*renew)(TfyStore *store, bool all);
    bool (*checkpoint_due)(TfyStore *store);
    /* Moves committed rows to their final place; never needed for durability. */
    int (*checkpoint)(TfyStore *store);
    /* The same for the last time; returns whether all rows are there now, synced. */
    bool (*move_all)(TfyStore *store);
    /* Starts a consistent view for several reads; not nested. */
    int (*look)(TfyStore *store);
    void (*look_away)(TfyStore *store);
    /* Shared databases alone; NULL: this one reads nothing ahead. Look-ups and walks are answered from these rows until the next
     * call; ahead NULL: from none. */
    void (*use_ahead)(TfyStore *store, const TfyAhead *ahead);
    int (*get_meta)(TfyStore *store, TfyStoreMeta *meta);
    int (*get_mark)(TfyStore *store, int64_t below, TfyStoreMark *mark); /* the newest with lsn < below */
    int (*get_record)(TfyStore *store, int64_t run, int64_t lsn, TfyLogRecord *record);
    int (*get_task)(TfyStore *store, int64_t run, int64_t tid, TfyStoreTask *task);
    int (*get_run)(TfyStore *store, int64_t id, TfyLogRun *run);
    int (*get_gap)(TfyStore *store, int64_t run, int64_t lsn, TfyStoreGap *gap);
    int (*find_run)(TfyStore *store, const uint8_t uuid[16], TfyLogRun *run);
    /* By hash unless that is NULL. */
    int (*get_program)(TfyStore *store, int64_t id, const uint8_t hash[16], TfyStoreProgram *program);
    /* lsn ascending; of one run, or with run 0 of the whole file. */
    int (*see_records)(TfyStore *store, int64_t run, int64_t from, TfyStoreSeeRecord *see, void *state);
    int (*see_tasks)(TfyStore *store, int64_t run, TfyStoreSeeTask *see, void *state);   /* tid ascending */
    int (*see_runs)(TfyStore *store, bool unfinished, TfyStoreSeeRun *see, void *state); /* id ascending */
    /* Visits runs of a program that are parked and due by then, the earliest first; runs of the same time by their ids. */
    int (*see_parked)(TfyStore *store, int64_t program, int64_t upto_ms, TfyStoreSeeRun *see, void *state);
    /* Visits runs that were parked when the clock showed more than `after`, in the order of that time, then of their ids. */
    int (*see_ahead)(TfyStore *store, int64_t program, int64_t after_ms, TfyStoreSeeRun *see, void *state);
    int (*see_marks)(TfyStore *store, TfyStoreSeeMark *see, void *state); /* lsn ascending */
    /* Visits the columns of a saved table. TFY_E_ABSENT: no such table; TFY_E_DATA: the name belongs to something
     * else. */
    int (*see_columns)(TfyStore *store, const char *table, TfyStoreSeeColumn *see, void *state);
    int (*see_tables)(TfyStore *store, TfyStoreSeeTable *see, void *state); /* the saved ones, by name */
    int (*see_saved)(TfyStore *store, const char *table, const char *run_uuid, TfyStoreSeeSaved *see, void *state);
    void (*shrink)(TfyStore *store); /* gives back memory that only speeds up the next calls */
    int (*last_ids)(TfyStore *store, int64_t *run, int64_t *program, int64_t *tid); /* greatest of each; 0: none */
    int (*last_task)(TfyStore *store, int64_t run, int64_t *tid); /* its greatest; shared databases alone */
    void (*close)(TfyStore *store, bool clean);                   /* clean: moves committed rows to the main file */
} TfyStoreOps;

struct TfyStore {
    const TfyStoreOps *ops;
    /* NULL, or called before each call: returns 0, or the code to fail with. */
    int (*fault)(void *state, int call);
    void *fault_state;
    char error[300]; /* the last failure, for messages */
    /* A warning for people although nothing has failed yet; the code that reports it empties it. */
    char notice[300];
    /* With TFY_STORE_FULL: this process may not grow its files; the disk is not full. */
    bool limited;
    /* Runs that the last commit was to let go, and that stayed; valid until the next begin. */
    const TfyStoreLeaving *stayed;
    uint32_t stayed_count;
    /* Pages that the -wal file may have; beyond that, begin returns TFY_STORE_HELD. */
    uint32_t wal_limit;
};

/* Opens an existing file or creates it (write only; the caller must hold the writer lock). error_text gets one
 * message. */
typedef enum TfyStoreMode { TFY_STORE_READ, TFY_STORE_WRITE, TFY_STORE_CREATE } TfyStoreMode;
/* 0: the file is ours and of this format; TFY_E_ABSENT: no such file; any other code comes with a message that says
 * why not. Changes and creates nothing. */
int tfy__store_identify(const char *path, char *error_text);
int tfy__store_open_sqlite(TfyStore **store, const char *path, TfyStoreMode mode, char *error_text);
int tfy__store_open_memory(TfyStore **store);

/* Writes a new database's first rows: meta with a fresh id, mark 0, the task row of tid 0. Runs inside a transaction
 * of the caller. */
int tfy__store_found(TfyStore *store);
uint64_t tfy__store_mark_seed(const uint8_t db[16]); /* the chain before the first mark */
uint64_t tfy__store_mark_chain(uint64_t previous, const TfyStoreMark *mark);
/* What a record adds to its segment's sum. */
uint64_t tfy__store_segment_part(const TfyLogRecord *record);

/* The sums of rows. */
uint64_t tfy__store_sum_meta(const TfyStoreMeta *meta);
uint64_t tfy__store_sum_program(const TfyStoreProgram *program);
uint64_t tfy__store_sum_run(const TfyLogRun *run);
uint64_t tfy__store_sum_task(const TfyStoreTask *task);

/* Column origin of table run: NULL, or 16 bytes uuid and 8 bytes lsn, most significant byte first. read: false if it
 * is neither. */
#define TFY_ORIGIN_SIZE 24
void tfy__store_origin_blob(const TfyLogRun *run, uint8_t blob[TFY_ORIGIN_SIZE]);
bool tfy__store_origin_read(TfyLogRun *run, const void *blob, int size);

/* Writes a message into error_text (TFY_ERROR_TEXT bytes, may be NULL) and returns code. */
int tfy__log_refuse(char *error_text, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline int tfy__store_ask(TfyStore *store, TfyStoreCall call)
{
    return store->fault ? store->fault(store->fault_state, call) : 0;
}

/* Calls through the seam: TFY_STORE(store, TFY_CALL_READ, get_meta, &meta). */
#define TFY_STORE(store_, call_, verb_, ...)                                                                           \
    (tfy__store_ask(store_, call_) ?: (store_)->ops->verb_((store_)__VA_OPT__(, ) __VA_ARGS__))

#endif

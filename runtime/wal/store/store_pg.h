/* store_pg.h: the parts of the store in PostgreSQL (pg.h):
 *   store_pg.c        opening, closing, the table of functions
 *   pg_put.c          gathers what a transaction puts
 *   pg_statements.c   makes statements of it
 *   pg_listed.c       what lists show of the runs
 *   pg_commit.c       sends them, and finds out what became of them
 *   pg_tails.c        remembers where the session's runs end
 *   pg_loss.c         notices that acknowledged commits are gone
 *   pg_read.c         look-ups and walks
 *   pg_ahead.c        rows that were read ahead of them
 *   pg_saved.c        saved tables */
#ifndef WAL_STORE_STORE_PG_H
#define WAL_STORE_STORE_PG_H

#include "base/list.h"
#include "base/table.h"
#include "wal/store/ahead.h"
#include "wal/store/pg.h"
#include "wal/store/pg_link.h"
#include "wal/store/pg_schema.h"

/* ---- what a transaction puts ---- */

/* Texts are in one buffer, where it grows; rows have their places there. `order`: in which they were put, since the last one of
 * several for the same row counts. */
typedef struct PgRecord {
    TfyLogRecord row;
    size_t payload_at;
} PgRecord;

typedef struct PgTask {
    TfyStoreTask row;
    size_t path_at;
    uint32_t order;
} PgTask;

typedef struct PgRun {
    TfyLogRun row;
    uint32_t order;
} PgRun;

typedef struct PgProgram {
    TfyStoreProgram row;
    size_t tfyc_at, source_at, layout_at;
} PgProgram;

typedef struct PgGap {
    TfyStoreGap row;
    uint32_t order;
} PgGap;

typedef struct PgLeaving {
    TfyStoreLeaving row;
    uint32_t order;
} PgLeaving;

/* A run that a commit which was sent is to let go. */
typedef struct PgLeft {
    TfyStoreLeaving row;
    bool written; /* its row changes, which lets it go, too */
    bool left;
} PgLeft;

typedef struct PgVerdict {
    TfyStoreVerdict row;
    size_t text_at;
} PgVerdict;

/* A statement on a saved table; cells point into the texts once they do not grow any more. */
typedef struct PgSaved {
    size_t sql_at, cells_at;
    uint32_t cells;
} PgSaved;

#define PG_LIST(Type)                                                                                                  \
    struct {                                                                                                           \
        Type *items;                                                                                                   \
        uint32_t count, room;                                                                                          \
    }

typedef struct PgRequest {
    bool open;
    TfyStoreHold hold;
    TfyBuffer texts;
    PG_LIST(PgRecord) records;
    PG_LIST(PgTask) births;
    PG_LIST(PgTask) tasks;
    PG_LIST(PgRun) begun;
    PG_LIST(PgRun) runs;
    PG_LIST(PgProgram) programs;
    PG_LIST(PgGap) gaps;
    PG_LIST(PgLeaving) leaving;
    PG_LIST(PgVerdict) verdicts;
    PG_LIST(PgSaved) saved;
    PG_LIST(TfyCell) cells;
} PgRequest;

/* Rows of one statement, column by column. */
enum { PG_COLUMNS = 20 };
typedef struct PgPack {
    TfyPgColumn columns[PG_COLUMNS];
    const uint32_t *types;
    int width, at;
    uint32_t rows;
    size_t bytes;
} PgPack;

/* ---- the statements of each connection ---- */

typedef enum PgWrite {
    W_FENCE,
    W_PROGRAMS,
    W_BEGUN,
    W_CHANGED,
    W_APPENDED,
    W_RECORDS,
    W_PIECES,
    W_LISTED,
    W_ASKED,
    W_ANSWERED,
    W_UNASKED,
    W_BIRTHS,
    W_TASKS,
    W_GAPS,
    W_RUNS,
    W_VERDICTS,
    W_LEAVING,
    W_ENDED,
    W_AFTER,
    W_SESSION,
    W_CONFIRM,
    W_OWNED,
    W_LOST,
    W_COUNT
} PgWrite;

/* Each has rows of its own that stay valid until the next of that kind. */
typedef enum PgRead {
    R_GET_RECORD,
    R_GET_TASK,
    R_GET_RUN,
    R_FIND_RUN,
    R_GET_GAP,
    R_GET_PROGRAM,
    R_FIND_PROGRAM,
    R_PIECES,
    R_SEE_RECORDS,
    R_SEE_TASKS,
    R_SEE_RUNS,
    R_SEE_UNFINISHED,
    R_LAST_IDS,
    R_LAST_TASK,
    R_COUNT
} PgRead;

/* The columns of rows, as pg_read.c takes them apart. */
#define TFY_PG_RECORD_COLUMNS "run, lsn, task, prev, v, ts, type, step, point, payload, chain"
#define TFY_PG_TASK_COLUMNS   "run, task, path, program, born, base, base_chain, head, chain, step, state, wait, sum"
#define TFY_PG_RUN_COLUMNS                                                                                             \
    "id, uuid, program, root, state, started, ended, imported, sum, origin, parked, moved, base, parked_at, options,"  \
    " lsn, snap, owner, due, coalesce(array_position(ARRAY['person', 'poison', 'damaged', 'lost'], held),"             \
    " (held IS NOT NULL)::int4)"
enum {
    TFY_PG_RUN_SNAP = 16,
    TFY_PG_RECORD_PAYLOAD = 9,
    TFY_PG_RECORD_BEFORE = 11, /* of those that were read ahead: bytes of payload before it */
    TFY_PG_WALK_ROWS = 512     /* how many a walk fetches at once */
};

extern const TfyPgStatement tfy__pg_writes[W_COUNT];
extern const TfyPgStatement tfy__pg_reads[R_COUNT];

/* The snapshot that reads between look and look_away share begins with the first of them. */
typedef enum PgView { NO_VIEW, VIEW_ASKED, VIEW_BEGUN } PgView;

/* A run that the session has written. */
typedef struct PgWritten PgWritten;

typedef struct PgStore {
    TfyStore base; /* must be first */
    TfyPgAddress address;
    TfyPgLink writing, reading;
    int64_t session;
    PgRequest request;
    PgPack pack;
    TfyTable tails;
    LIST(PgWritten) written; /* the newest last */
    TfyTable written_by_run;
    uint32_t written_count;
    /* Of the last commit that was sent. */
    PG_LIST(PgLeft) leaving; /* by the run */
    int leaving_at[2];       /* which statements let runs go; -1: none */
    TfyStoreLeaving *stayed;
    uint32_t stayed_room;
    PgView view;
    const TfyAhead *ahead;      /* NULL: nothing was read ahead */
    TfyPgResult *kept[R_COUNT]; /* of look-ups */
    TfyPgResult *program_rows;  /* of the last program that was looked up by its number, which cannot change */
    TfyStoreProgram program;
    TfyBuffer payload; /* of the last record that was looked up, if it was in pieces */
} PgStore;

static inline PgStore *tfy__pg_inside(TfyStore *store)
{
    return (PgStore *)store;
}

/* Takes over a link's message. */
int tfy__pg_told(PgStore *store, const TfyPgLink *link, int code);

/* pg_loss.c */
/* Remembers which runs a transaction writes that is sent, of the newest ones. */
void tfy__pg_note_written(PgStore *store);
void tfy__pg_forget_written(PgStore *store);
/* What the session's row says; beat -1: there is none. If it has had fewer commits than were acknowledged, the runs that may have
 * lost records are held: TFY_E_DATA, with a message. Other codes are those of the link. */
int tfy__pg_read_session(PgStore *store, const TfyStoreHold *hold, bool *lives, int64_t *beat);
/* Why the fence has refused this commit: TFY_STORE_FENCED: the session has ended; TFY_STORE_AWAY: not known, try again; else as
 * tfy__pg_read_session. */
int tfy__pg_why_fenced(PgStore *store, const TfyStoreHold *hold);

/* pg_put.c */
int tfy__pg_begin(TfyStore *store, const TfyStoreHold *hold);
int tfy__pg_put_records(TfyStore *store, const TfyLogRecord *const *records, uint32_t count);
int tfy__pg_put_task(TfyStore *store, const TfyStoreTask *task, bool birth);
int tfy__pg_put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut put);
int tfy__pg_put_program(TfyStore *store, const TfyStoreProgram *program);
int tfy__pg_put_gap(TfyStore *store, const TfyStoreGap *gap);
int tfy__pg_put_verdict(TfyStore *store, const TfyStoreVerdict *verdict);
int tfy__pg_put_leaving(TfyStore *store, const TfyStoreLeaving *leaving, uint32_t count);
int tfy__pg_put_saved(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count);
void tfy__pg_rollback(TfyStore *store);
void tfy__pg_request_free(PgRequest *request);

/* pg_statements.c */
void tfy__pg_sort_rows(PgRequest *request);
/* Queues the fence and all rows; then runs leave. */
int tfy__pg_queue_rows(PgStore *store);
/* Which of the runs that were to leave the session owns. */
int tfy__pg_ask_owned(PgStore *store, TfyPgAsk *ask, int64_t session);

/* pg_commit.c */
int tfy__pg_commit(TfyStore *store);
int tfy__pg_settle(TfyStore *store, const TfyStoreHold *hold, bool *happened);

/* pg_tails.c: runs that an acknowledged commit of this session has written and that have not left it since. They are the session's
 * while it lives, which the fence sees to, and nobody else writes them. So their owner and their newest record are looked for in
 * the database only once in each claim. After a commit of another outcome nothing is remembered. */
/* The lsn of the run's newest record; 0: unknown. */
int64_t tfy__pg_tail(const PgStore *store, int64_t run);
/* After an acknowledged commit, whose rows are still in the request. */
void tfy__pg_note_tails(PgStore *store);
void tfy__pg_forget_tails(PgStore *store);

/* pg_read.c */
int tfy__pg_look(TfyStore *store);
void tfy__pg_look_away(TfyStore *store);
void tfy__pg_use_ahead(TfyStore *store, const TfyAhead *ahead);
int tfy__pg_get_meta(TfyStore *store, TfyStoreMeta *meta);
int tfy__pg_get_record(TfyStore *store, int64_t run, int64_t lsn, TfyLogRecord *record);
int tfy__pg_get_task(TfyStore *store, int64_t run, int64_t tid, TfyStoreTask *task);
int tfy__pg_get_run(TfyStore *store, int64_t id, TfyLogRun *run);
int tfy__pg_get_gap(TfyStore *store, int64_t run, int64_t lsn, TfyStoreGap *gap);
int tfy__pg_find_run(TfyStore *store, const uint8_t uuid[16], TfyLogRun *run);
int tfy__pg_get_program(TfyStore *store, int64_t id, const uint8_t hash[16], TfyStoreProgram *program);
int tfy__pg_see_records(TfyStore *store, int64_t run, int64_t from, TfyStoreSeeRecord *see, void *state);
int tfy__pg_see_tasks(TfyStore *store, int64_t run, TfyStoreSeeTask *see, void *state);
int tfy__pg_see_runs(TfyStore *store, bool unfinished, TfyStoreSeeRun *see, void *state);
int tfy__pg_last_ids(TfyStore *store, int64_t *run, int64_t *program, int64_t *tid);
int tfy__pg_last_task(TfyStore *store, int64_t run, int64_t *tid);
/* A statement in the view that look has opened; connects if there is none. */
int tfy__pg_read(PgStore *store, const TfyPgAsk *ask, TfyPgResult **result);

/* pg_saved.c */
int tfy__pg_put_table(TfyStore *store, const char *sql);
int tfy__pg_put_row(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count);
int tfy__pg_see_columns(TfyStore *store, const char *table, TfyStoreSeeColumn *see, void *state);
int tfy__pg_see_tables(TfyStore *store, TfyStoreSeeTable *see, void *state);
int tfy__pg_see_saved(TfyStore *store, const char *table, const char *run_uuid, TfyStoreSeeSaved *see, void *state);

#endif

/* pg_link.h: a connection to a database of PostgreSQL: statements that are sent together, their answers, and what an error
 * means.
 *
 * Statements are queued, then sent with one Sync; their answers are read until that of the Sync. If one fails, the server skips
 * those behind it. No call waits longer than the link's patience once all is sent; whoever is not answered by then closes the
 * connection.
 *
 * A lost connection is closed at once. The next call connects again: at once after a connection that had worked, then after 50
 * ms, and twice as long each time, up to 2 s. In between it fails at once.
 *
 * Codes, besides those of libpq's absence and of memory:
 *   TFY_STORE_AWAY     there is no connection, the server only reads, or it was told to cancel; nothing happened
 *   TFY_STORE_UNKNOWN  it was lost after something had been sent, or the server warned of what it has done
 *   TFY_STORE_FULL     the server has no room or memory
 *   TFY_PG_AGAIN       another transaction was in the way; the same may succeed now
 *   TFY_E_DATA         rows that are not as they have to be, or damage
 *   TFY_E_STATE        the database is not set up as it has to be
 *   TFY_E_IO           anything else that the server cannot do */
#ifndef WAL_STORE_PG_LINK_H
#define WAL_STORE_PG_LINK_H

#include "wal/store/pg_address.h"
#include "wal/store/pg_rows.h"
#include "wal/store/store.h"

#define TFY_PG_AGAIN (-120)

enum { TFY_PG_FORMAT = 2 /* of the tables; meta.format */, TFY_PG_STATE_BYTES = 6 };

/* A statement that is prepared in each connection. A plan that is kept must be right for any number of rows in its arrays and in
 * the tables: so such a statement looks up each row by itself, by a subquery or a list of ids. Those that join an array with a
 * table are planned anew each time. */
typedef struct TfyPgStatement {
    const char *text;
    const char *what; /* for messages: "append records" */
    bool planned_anew;
    TfyPgRole needs;
} TfyPgStatement;

/* A statement that was queued. */
typedef struct TfyPgQueued {
    const char *what;
    TfyPgRole needs;
} TfyPgQueued;

typedef struct TfyPgLink {
    const TfyPgApi *api;
    const TfyPgAddress *address;
    const TfyPgStatement *statements;
    int statement_count;
    int64_t patience_ms; /* how long answers may take */
    bool bare;           /* the database has no tables yet */
    bool newer;          /* its tables may be for newer programs */
    TfyPgConn *conn;     /* NULL: there is none */
    uint8_t db[16];      /* the database's id */
    bool known;          /* db was read */
    int64_t lease_ms;    /* of new sessions, as meta has it */
    TfyPgRole needs;     /* of statements that do not say; TFY_PG_ANYBODY: a reader's */
    char prefix[41];     /* of the database's roles; "": it has none */
    TfyPgQueued *sent;   /* the queued statements */
    int queued, room;
    enum { PG_LISTENS_NOT, PG_LISTENS, PG_LISTENS_REFUSED } listens; /* pg_notice.h */
    bool warned;                                                     /* the server has warned since the last sending */
    int failed_at;                  /* of the statements sent together, the one that failed; -1: none */
    char state[TFY_PG_STATE_BYTES]; /* SQLSTATE of the last error; "" of one that is not the server's */
    int64_t again_ms, pause_ms;     /* no attempt to connect before; the next pause */
    int lost_pid;                   /* of the server's process behind the last lost connection; 0: none */
    char error[300];
} TfyPgLink;

/* Sees the answer to the statement of this number. May keep it: then sets *kept, and clears it later. A code other than 0 is
 * the result of the call, after all answers. */
typedef int TfyPgSee(void *state, int number, TfyPgResult *result, bool *kept);

/* Connects, unless there is a connection that works; also checks that the tables are there in this format, and prepares the
 * statements. */
int tfy__pg_link_open(TfyPgLink *link);
/* A link of its own, without a session and without prepared statements; it connects when it is opened. Whatever this returns,
 * both are freed by tfy__pg_leave. 0, or a code with a message (TFY_ERROR_TEXT bytes). */
int tfy__pg_reach(TfyPgLink *link, TfyPgAddress *address, const char *text, int64_t patience_ms, char *error_text);
void tfy__pg_leave(TfyPgLink *link, TfyPgAddress *address);
/* The same for people: with a message that names the database (TFY_ERROR_TEXT bytes), and TFY_E_IO if it does not answer. */
int tfy__pg_link_first(TfyPgLink *link, char *error_text);
/* Whether there is a connection, and it has not ended since it was last used. */
bool tfy__pg_link_lives(TfyPgLink *link);
/* Without an answer of any kind. */
void tfy__pg_link_drop(TfyPgLink *link);
void tfy__pg_link_free(TfyPgLink *link);

/* One of the link's own statements, without parameters yet. */
void tfy__pg_ask(const TfyPgLink *link, TfyPgAsk *ask, int statement);
/* Any other one. */
void tfy__pg_ask_text(TfyPgAsk *ask, const char *text, const char *what);

/* How a transaction that writes begins, whatever is usual in the database. */
#define TFY_PG_BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

int tfy__pg_queue(TfyPgLink *link, const TfyPgAsk *ask);
/* BEGIN, and the settings of a transaction where a connection cannot hold them. */
int tfy__pg_queue_begin(TfyPgLink *link, const char *begin);
int tfy__pg_queue_text(TfyPgLink *link, const char *text, const char *what);
/* COMMIT, which may happen even if this fails: then TFY_STORE_UNKNOWN, not _AWAY. */
int tfy__pg_queue_commit(TfyPgLink *link);
/* Sends what is queued. see: NULL: nobody is interested. */
int tfy__pg_sync(TfyPgLink *link, TfyPgSee *see, void *state);
/* Forgets what was queued, with its connection. */
void tfy__pg_unqueue(TfyPgLink *link);

/* One statement alone; its rows are the caller's to clear. */
int tfy__pg_one(TfyPgLink *link, const TfyPgAsk *ask, TfyPgResult **result);

/* Whether a transaction is open, and has not failed. */
bool tfy__pg_in_transaction(const TfyPgLink *link);

/* Ends the server's process of the last lost connection, which may hold rows. */
int tfy__pg_end_lost(TfyPgLink *link);

#endif

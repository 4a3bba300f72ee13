/* pg.h: a database of PostgreSQL that several sessions write, as a store of the log.
 *
 * A store belongs to one session, or to none, and then only reads. It has a connection to write and one to read, and is used
 * by one thread at a time. What a transaction puts is gathered in memory, and commit sends it in one pipeline: the fence,
 * the rows by arrays, COMMIT. So a commit is one round trip, and nothing is sent before it.
 *
 * The rules are those of the database in memory (shared.h), kept by the statements:
 *   - The first statement changes the session's row, if it lives and has had all commits before. Otherwise it fails, and with
 *     it the transaction.
 *   - Runs that the transaction writes are checked to be the session's. Rows of table run are locked in the order of ids.
 *   - Records of a run begin behind its newest one, and are dense.
 * A statement that finds fewer rows than it has to divides by zero, which the server answers with an error in place of
 * everything behind it.
 *
 * After a lost answer, settle reads the session's row in a new connection. That a commit happened is said only when an
 * acknowledged commit has followed it, so that it is as durable as any. */
#ifndef WAL_STORE_PG_H
#define WAL_STORE_PG_H

#include "wal/store/pg_api.h"
#include "wal/store/store.h"

typedef struct TfyPgOpen {
    const char *address; /* pg_address.h */
    int64_t session;     /* 0: only reads */
    int64_t lease_ms;    /* of the session; no answer is waited for longer than a third of it. 0: meta's */
    const TfyPgApi *api; /* tests; NULL: libpq */
    bool newer;          /* also if the tables are for newer programs: to end what was begun before */
} TfyPgOpen;

/* Connects. 0, or a negative code with a message (TFY_ERROR_TEXT bytes): TFY_E_ABSENT: libpq is missing, or the database has
 * no tables; TFY_E_INVALID: the address is wrong; TFY_E_DATA: the tables have another format; TFY_E_IO: it does not answer. */
int tfy__pg_open(TfyStore **store, const TfyPgOpen *open, char *error_text);

#endif

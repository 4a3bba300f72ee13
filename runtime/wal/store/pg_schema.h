/* pg_schema.h: the tables of a shared database, in PostgreSQL.
 *
 *   meta      the database: its id, the format of its tables, the oldest format whose programs may use it (reads_from), the
 *             lease of new sessions, and whether it may lose what it has acknowledged when a standby takes over. least_claims:
 *             no run is claimed under a number that is not above it. roles: pg_roles.h
 *   session   the processes that write. beat counts its commits, and at is when the last one was; state 0: it lives, 8: it has ended in
 *             order, 9: otherwise
 *   program, deployment, queue, tenant   what may run, and in which order
 *   run       owner: the session that alone writes it; NULL: nobody's, and then due says when somebody takes it up: 0: at once,
 *             INT64_MAX: when something arrives. mail: how much has ever arrived. lsn, snap: its newest record and Snapshot
 *             as of this row. crashes, vain, freed: how often processes died of it, how often in a row nothing was recorded
 *             of it, and its newest record when that was counted last; solo: it needs a process of its own; held: nobody
 *             claims it (cluster.h). The other columns are those of a file (schema.h)
 *             program_name, workflow, by, labels, error, tokens_in, tokens_out, cost: what lists show (pg_listed.h)
 *   record    (run, lsn), dense from 1 in each run. A payload above TFY_PG_PIECE bytes is in table piece, and the record has
 *             -v instead of v, and {"pieces", "bytes", "hash"} as its payload
 *   task      the rows of tasks, roots too, as of the run's newest Snapshot
 *   gap       as in a file
 *   inbox     what is on its way to a run, until its owner has recorded it; then the verdict, for a day, and in `code`
 *             0 or the TFY_E_… that it means
 *   question  what runs ask people: the record that asks. One that its task has left otherwise than by an answer stays until
 *             the run ends; whoever reads looks whether the task has gone on
 *   dep       a run that may begin when another has ended; waits of its row counts these
 *   permit, duty   what sessions hold
 *
 * The tables of `save` are in schema saved. Its domains name the types that a saved table can have. */
#ifndef WAL_STORE_PG_SCHEMA_H
#define WAL_STORE_PG_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/store/pg_link.h"
#include "wal/store/pg_roles.h"

enum { TFY_PG_PIECE = 256 << 10, TFY_PG_PAYLOAD_MOST = 64 << 20 };

typedef struct TfyPgMake {
    int64_t lease_ms; /* 0: 30 s; 3 s to 5 min */
    bool lossy;
    const char *roles; /* their prefix (pg_roles.h); NULL: "tfy" */
    TfyPgRoles *made;  /* what became of them; NULL: nobody wants to know */
    int format;        /* of the tables; tests make older ones; 0: the newest */
} TfyPgMake;

/* Makes the tables in a database that has none. All or nothing. 0, or a negative code with a message (TFY_ERROR_TEXT bytes). */
int tfy__pg_create(const char *address, const TfyPgMake *make, char *error_text);

#endif

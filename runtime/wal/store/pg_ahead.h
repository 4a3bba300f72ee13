/* pg_ahead.h: rows that were read ahead (ahead.h) from a database of PostgreSQL: of each run its row, its tasks, the birth of its
 * root task and its records from the newest snapshot on. Of a long run only the first tasks and records are among them. */
#ifndef WAL_STORE_PG_AHEAD_H
#define WAL_STORE_PG_AHEAD_H

#include "wal/store/ahead.h"
#include "wal/store/pg_link.h"

/* Reads them in one round trip. A code of pg_link.h. */
int tfy__pg_read_ahead(TfyPgLink *link, const int64_t *runs, uint32_t count, TfyAhead **ahead);

/* Rows of one run that follow each other in a result. */
typedef struct TfyPgFound {
    const TfyPgApi *api;
    const TfyPgResult *rows; /* NULL: nothing is known of them */
    int first, count;
    bool whole; /* no further row follows them in the database */
} TfyPgFound;

/* ahead: NULL: there is nothing to be found. */
TfyPgFound tfy__pg_ahead_run(const TfyAhead *ahead, int64_t run);
TfyPgFound tfy__pg_ahead_record(const TfyAhead *ahead, int64_t run, int64_t lsn);
TfyPgFound tfy__pg_ahead_task(const TfyAhead *ahead, int64_t run, int64_t task);
TfyPgFound tfy__pg_ahead_records(const TfyAhead *ahead, int64_t run, int64_t from);
TfyPgFound tfy__pg_ahead_tasks(const TfyAhead *ahead, int64_t run, int64_t from);

#endif

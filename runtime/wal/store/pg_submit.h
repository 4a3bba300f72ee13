/* pg_submit.h: runs that begin in a database of PostgreSQL, many at once: each is put into a queue with its first record, and nobody
 * owns it. */
#ifndef WAL_STORE_PG_SUBMIT_H
#define WAL_STORE_PG_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/rows/row.h"

typedef struct TfyPgSubmitter TfyPgSubmitter;

/* One of them. */
typedef struct TfyPgSubmit {
    TfyLogRun row;     /* as for `submit` of cluster.h; its id is set */
    const char *birth; /* the payload of its first record */
    bool known;        /* set: the database has had a run of this uuid, and this one is not put there */
} TfyPgSubmit;

/* 0, or a negative code with a message (TFY_ERROR_TEXT bytes), as tfy__pg_open. */
int tfy__pg_submitter_open(TfyPgSubmitter **submitter, const char *address, char *error_text);
/* NULL is ignored. */
void tfy__pg_submitter_close(TfyPgSubmitter *submitter);

/* Where and when runs begin. */
typedef struct TfyPgBegin {
    int64_t queue;
    int64_t priority;     /* each point lets them go before 64 runs that were there before */
    const int64_t *after; /* row ids of runs that have to end first; those that have ended do not count */
    uint32_t after_count;
    const char *tenant; /* for whom; NULL: for nobody */
} TfyPgBegin;

/* Puts runs of one program into a queue, all of them or none; those that are known stay as they are. 0, or a code of cluster.h with a message (tfy__pg_submitter_error); TFY_E_ABSENT: there is no such tenant; TFY_E_FULL: it has
 * as many ready runs as it may. Again after TFY_STORE_AWAY or _UNKNOWN it does no harm. */
int tfy__pg_submit(TfyPgSubmitter *submitter, const TfyPgBegin *begin, TfyPgSubmit *runs, uint32_t count);
const char *tfy__pg_submitter_error(const TfyPgSubmitter *submitter);

#endif

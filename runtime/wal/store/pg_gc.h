/* pg_gc.h: removes runs that have ended from a database of PostgreSQL, a thousand in each transaction, and partitions of records
 * that are empty for good. What is removed leaves nothing behind; rows of saved tables belong to the application and stay. */
#ifndef WAL_STORE_PG_GC_H
#define WAL_STORE_PG_GC_H

#include "wal/store/cluster.h"

/* A run that has ended and that goes. */
typedef struct TfyPgGone {
    int64_t run; /* row id */
    uint8_t uuid[16];
    int state;
    int64_t ended_ms, records;
} TfyPgGone;

/* Sees a run before it goes; any other result than 0 ends everything, before this run and those that follow. */
typedef int TfyPgSeeGone(void *state, const TfyPgGone *gone);

/* A run goes if one of the first two says so, but none that was started under a key or a name within a day. */
typedef struct TfyPgGcOptions {
    int64_t older_than_ms; /* it ended longer ago than this, by the database's clock; -1: at any time */
    int64_t keep;          /* so many that ended later stay; -1: no limit */
    bool dry_run;          /* nothing goes */
    TfyPgSeeGone *see;
    void *state;
} TfyPgGcOptions;

typedef struct TfyPgGcResult {
    int64_t runs, records;
    int64_t kept;       /* runs that stay because of their key */
    int64_t sessions;   /* ended ones that nothing needs any more */
    int64_t partitions; /* of records */
    int64_t bytes_before, bytes_after;
} TfyPgGcResult;

/* May be ended at any time, and done again. 0, the code of `see`, or a negative code with a message (TFY_ERROR_TEXT bytes). */
int tfy__pg_gc(const char *address, const TfyPgGcOptions *options, TfyPgGcResult *result, char *error_text);

#endif

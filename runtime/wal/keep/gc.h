/* gc.h: retention: runs that have ended are dropped, or moved to an archive, and the file stays verifiable.
 *
 * A run goes as a whole, with its records, tasks and row, in one transaction, the only kind in which the triggers let
 * records be deleted. Each mark then says how many of its records are gone and what they added to its sum; marks at
 * the beginning of which nothing is left go too, and meta says where the rest begins. A Compacted record in the chain
 * of the database itself, written before, names the runs.
 *
 * Runs that stay can lose the records before their newest snapshot (compact.h). */
#ifndef WAL_KEEP_GC_H
#define WAL_KEEP_GC_H

#include <stdbool.h>

#include "tfy_program.h"
#include "wal/history/history.h"

/* Whether a run, read from its newest snapshot on, could go on from there alone. False: no, and why (TFY_ERROR_TEXT
 * bytes) says what is in the way. */
typedef bool TfyGcCheck(void *state, const TfyHistory *tail, char *why);

/* A run that has ended goes when one of these says so. */
typedef struct TfyGcOptions {
    int64_t older_than_ms; /* it ended longer ago than this; -1: no matter when */
    int64_t keep;          /* as many newer ones are kept; -1: no matter how many */
    int64_t max_bytes;     /* and, oldest first, until the file needs no more than this; -1: no matter how large */
    const char *archive;   /* a database that gets each run before it goes; NULL: none */
    bool compact;          /* runs that stay lose what comes before their newest snapshot … */
    TfyGcCheck *check;     /* … if this says that they can do without */
    void *check_state;
    bool dry_run;        /* only say what would go */
    const char *version; /* of this program, for Opened */
} TfyGcOptions;

/* A run that goes. */
typedef struct TfyGcRun {
    TfyLogRun run;
    int64_t records, bytes; /* what it has; bytes are an estimate */
} TfyGcRun;

/* A run that is compacted, or that could not be. */
typedef struct TfyGcCompacted {
    TfyLogRun run;
    int64_t base;                 /* the snapshot it begins at now */
    int64_t records, bytes;       /* that went; bytes are an estimate */
    char refused[TFY_ERROR_TEXT]; /* why it was left as it is; "": it was not */
} TfyGcCompacted;

typedef struct TfyGcResult {
    TfyGcRun *runs; /* oldest end first; malloc'ed */
    uint32_t count;
    TfyGcCompacted *compacted; /* malloc'ed */
    uint32_t compacted_count;
    int64_t records, programs;         /* that went with their runs; programs that no run needs any more */
    int64_t bytes_before, bytes_after; /* that the file needs, free pages not counted */
} TfyGcResult;

/* Told after each run that has gone. */
typedef void TfyGcProgress(void *state, const char *what, int64_t done, int64_t of);

int tfy__gc(const char *path, const TfyGcOptions *options, TfyGcProgress *progress, void *state, TfyGcResult *result,
            char *error_text);
void tfy__gc_free(TfyGcResult *result);

#endif

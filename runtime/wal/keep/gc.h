/* gc.h: retention: drops finished runs, or moves them to an archive; the file stays verifiable.
 *
 * A run is deleted as a whole, with its records, tasks and row, in one transaction, the only kind in which the
 * triggers allow deleting records. Each mark then says how many of its records are gone and what they added to its
 * sum; the marks at the start with no records left are deleted, too, and meta says where the rest starts. A Compacted
 * record in the database's own chain, written before, names the runs.
 *
 * Runs that stay can lose the records before their newest snapshot (compact.h). */
#ifndef WAL_KEEP_GC_H
#define WAL_KEEP_GC_H

#include <stdbool.h>

#include "tfy_program.h"
#include "wal/history/history.h"

/* Whether a run, read from its newest snapshot, could continue from there alone. False: no, and why (TFY_ERROR_TEXT
 * bytes) says what prevents it. *from: the snapshot that was tried, which is a newer one if the run goes on. */
typedef bool TfyGcCheck(void *state, const TfyHistory *tail, int64_t *from, char *why);

/* Gives a part of a compaction (thin.h) to the process that has the database. 0, or a code with a sentence. */
typedef int TfyGcSend(void *state, const struct json_t *part, char *error_text);

/* A finished run is dropped if one of these says so, but none that was started with a key within a day. */
typedef struct TfyGcOptions {
    int64_t older_than_ms; /* it finished longer ago than this; -1: at any time */
    int64_t keep;          /* so many newer ones are kept; -1: no limit */
    /* And, oldest first, until the file needs no more than this; -1: no limit. */
    int64_t max_bytes;
    const char *archive; /* a database that receives each run first; NULL: none */
    bool compact;        /* the other runs lose what comes before their newest snapshot … */
    TfyGcCheck *check;   /* … if this says that they do not need it */
    void *check_state;
    /* NULL: nobody else writes. Else another process has the database: this one only reads it, and that one deletes.
     * Only `compact` can be done so. */
    TfyGcSend *send;
    void *send_state;
    bool dry_run;        /* only report what would be dropped */
    const char *version; /* of this program, for Opened */
} TfyGcOptions;

/* A run that is dropped. */
typedef struct TfyGcRun {
    TfyLogRun run;
    int64_t records, bytes; /* its own; bytes are an estimate */
} TfyGcRun;

/* A run that is compacted, or that could not be. */
typedef struct TfyGcCompacted {
    TfyLogRun run;
    int64_t base;                 /* the snapshot at which it now starts */
    int64_t records, bytes;       /* deleted ones; bytes are an estimate */
    char refused[TFY_ERROR_TEXT]; /* why it was left unchanged; "": it was compacted */
} TfyGcCompacted;

typedef struct TfyGcResult {
    TfyGcRun *runs; /* the one that finished first comes first; malloc'ed */
    uint32_t count;
    uint32_t kept_count; /* runs that an option chose and that stay, because their key was used within a day */
    TfyGcCompacted *compacted; /* malloc'ed */
    uint32_t compacted_count;
    /* Deleted with their runs; and programs that no run needs any more. */
    int64_t records, programs;
    int64_t bytes_before, bytes_after; /* that the file needs, without free pages */
} TfyGcResult;

/* Called after each run that was dropped. */
typedef void TfyGcProgress(void *state, const char *what, int64_t done, int64_t of);

int tfy__gc(const char *path, const TfyGcOptions *options, TfyGcProgress *progress, void *state, TfyGcResult *result,
            char *error_text);
void tfy__gc_free(TfyGcResult *result);

#endif

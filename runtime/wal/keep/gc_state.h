/* gc_state.h: the internals of retention, shared by gc.c (runs that are dropped) and compact.c (runs that lose their
 * start). */
#ifndef WAL_KEEP_GC_STATE_H
#define WAL_KEEP_GC_STATE_H

#include <sqlite3.h>

#include "wal/keep/gc.h"
#include "wal/log/log_state.h"

typedef struct Gc {
    const char *path;
    const TfyGcOptions *options;
    TfyGcResult *result;
    char *error_text;
    TfyLog *log, *archive;
    TfyStore *store;
    sqlite3_stmt *delete_record;
    TfyStoreMark *marks;
    TfyStoreMark *before; /* the marks as of the start of the transaction */
    size_t mark_count, mark_room;
    int64_t *tids; /* of one run */
    size_t tid_count, tid_room;
    size_t run_room;      /* of the result */
    int64_t part_records; /* of a part that another process deletes (thin.h), at most */
} Gc;

/* Visits a record; `gap` is the one before it, or NULL. A result other than 0 ends the walk with it. The payload
 * belongs to the store. */
typedef int TfyGcSee(void *state, const TfyLogRecord *record, const TfyStoreGap *gap);

/* Bytes of a record in the file, without unused parts of pages. */
int64_t tfy__gc_record_bytes(const TfyLogRecord *record);

/* Visits each record of a task of the run, from its newest to its first. */
int tfy__gc_walk(Gc *gc, const TfyLogRun *run, int64_t tid, TfyGcSee *see, void *state);

int tfy__gc_execute(Gc *gc, const char *text);
sqlite3 *tfy__gc_database(const Gc *gc);

/* Records in the database's own chain what is about to happen to runs, and waits until that is durable. */
int tfy__gc_announce(Gc *gc, const char *why, const TfyLogRun *const *runs, uint32_t count);

/* A transaction in which records may be deleted; commit also updates the marks for the deleted records. code: the
 * result of the work inside it. */
int tfy__gc_begin(Gc *gc);
int tfy__gc_commit(Gc *gc, int code);
int tfy__gc_delete_record(Gc *gc, const TfyLogRecord *record);

#endif

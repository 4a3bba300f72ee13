/* gc_state.h: the inside of retention, shared by gc.c (runs that go) and compact.c (runs that lose their beginning). */
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
    TfyStoreMark *before; /* the marks as they were when the transaction began */
    size_t mark_count, mark_room;
    int64_t *tids; /* of one run */
    size_t tid_count, tid_room;
    size_t run_room; /* of the result */
} Gc;

/* Sees a record; `gap` is the one it stands behind, or NULL. Not 0 ends the walk with that. The payload is the
 * store's. */
typedef int TfyGcSee(void *state, const TfyLogRecord *record, const TfyStoreGap *gap);

/* What a record takes up in the file, but for the part of a page that stays empty. */
int64_t tfy__gc_record_bytes(const TfyLogRecord *record);

/* Each record of a task of the run, from its newest to its first. */
int tfy__gc_walk(Gc *gc, const TfyLogRun *run, int64_t tid, TfyGcSee *see, void *state);

int tfy__gc_execute(Gc *gc, const char *text);
sqlite3 *tfy__gc_database(const Gc *gc);

/* Tells in the chain of the database itself what is about to happen to runs, and waits until that is durable. */
int tfy__gc_announce(Gc *gc, const char *why, const TfyLogRun *const *runs, uint32_t count);

/* A transaction in which records may be deleted; commit writes what the marks have lost by it. code: of what was done
 * in it. */
int tfy__gc_begin(Gc *gc);
int tfy__gc_commit(Gc *gc, int code);
int tfy__gc_delete_record(Gc *gc, const TfyLogRecord *record);

#endif

/* history.h: runs read back, whole or from their newest snapshot on, for whoever replays, copies or prints them. */
#ifndef WAL_HISTORY_HISTORY_H
#define WAL_HISTORY_HISTORY_H

#include "wal/log/log.h"

/* A run read back whole: its tasks and all their records in lsn order. Freed with tfy__history_free. */
typedef struct TfyHistory {
    TfyLogRun run;
    char *workflow; /* name of the root workflow */
    TfyRoot root;   /* where it works now */
    uint8_t program_hash[16];
    char *program_source, *program_layout, *program_tfyc;
    TfyLogTask *tasks;     /* by tid ascending; .run points at run above */
    char **task_workflows; /* name per task */
    uint32_t task_count;
    TfyLogRecord *records;  /* lsn ascending; payloads owned by the history */
    uint32_t *record_tasks; /* index into tasks, per record */
    uint32_t record_count;
    struct TfyStoreGap *gaps; /* of a compacted run: records before which others are missing, lsn ascending */
    uint32_t gap_count;
    /* Of a run that was read from its newest snapshot: records are those behind it, tasks those that were alive then
     * or made since. Of one that was compacted (run.base_lsn) and read whole: the snapshot stands among the records;
     * what goes before it are the births of tasks and whatever else was kept, and only what comes behind it can be
     * replayed. */
    struct json_t *snapshot; /* its payload; NULL: the run was read from its beginning */
    char *snapshot_layout;   /* of the program that wrote it, which the run may have left since */
    size_t snapshot_bytes;
    int64_t snapshot_lsn, snapshot_ms; /* its number, and the wall clock then */
    struct TfyLog
        *log; /* where a replay looks for tasks that had ended by then; borrowed, NULL: there are none to look for */
    struct TfyHistoryMove *moves; /* programs it had before, whose numbers of points records still have; NULL: none */
    uint32_t move_count, move_cap;
    struct TfySavedRows *saved; /* the rows it saved (saved.h), of a run that was read whole; NULL: none */
} TfyHistory;

/* Finds a run: a uuid in full, a unique prefix of at least 4 characters of it, "last", or its row id. Checks the
 * chains of all it reads. */
int tfy__history_read(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
/* The same, but from its newest snapshot on, if it has one: what taking it up again needs. */
int tfy__history_read_tail(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
/* The same with numbers of points as they are stored, for copies: of a run that was moved, those of several programs. */
int tfy__history_read_stored(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
/* As it is stored, and with the rows it saved: all that goes into another database. */
int tfy__history_read_whole(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
void tfy__history_free(TfyHistory *history);

/* A task of the history by its number, NULL: it has none. */
const TfyLogTask *tfy__history_task(const TfyHistory *history, int64_t tid);

/* The gap that a record of the history stands behind; NULL: none. */
const struct TfyStoreGap *tfy__history_gap(const TfyHistory *history, int64_t lsn);

#endif

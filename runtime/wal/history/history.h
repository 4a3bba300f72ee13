/* history.h: runs read back, whole or from their newest snapshot on, to be replayed, copied or printed. */
#ifndef WAL_HISTORY_HISTORY_H
#define WAL_HISTORY_HISTORY_H

#include "wal/log/log.h"
#include "wal/rows/payload.h"

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
    /* Of a compacted run: the records before which others are missing, lsn ascending. */
    struct TfyStoreGap *gaps;
    uint32_t gap_count;
    /* Of a run that was read from its newest snapshot: records are those behind it, tasks those that were alive then
     * or were created later. Of a compacted run (run.base_lsn) that was read whole: the snapshot is among the
     * records; before it are the births of tasks and whatever else was kept, and only what comes behind it can be
     * replayed. */
    struct json_t *snapshot; /* its payload; NULL: the run was read from its start */
    char *snapshot_layout;   /* of the program that wrote it, which the run may have left since */
    size_t snapshot_bytes;
    int64_t snapshot_lsn, snapshot_ms; /* its number, and the wall clock then */
    /* Where a replay looks for tasks that had finished by then; borrowed. NULL: there are none to look for. */
    struct TfyLog *log;
    /* Earlier programs, whose point numbers some records still have; NULL: none. */
    struct TfyHistoryMove *moves;
    uint32_t move_count, move_cap;
    /* The rows it saved (saved.h), of a run that was read whole; NULL: none. */
    struct TfySavedRows *saved;
} TfyHistory;

/* Finds a run as tfy__history_read does, and reads only its row. TFY_E_ABSENT; TFY_E_INVALID: several have the name. */
int tfy__history_find(TfyLog *log, const char *run, TfyLogRun *found, char *error_text);
/* Finds a run: by its full uuid, a unique prefix of at least 4 characters of it, "last", or its row id. Checks the
 * chains of everything it reads. */
int tfy__history_read(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
/* The same, but from its newest snapshot on, if there is one: this suffices for a resume. */
int tfy__history_read_tail(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
/* The same for runs with these row ids, in one view of the log: as many of them, from the first one on, as have no more than
 * so many records together, and one at least. Returns their number, or a negative code, and nothing then. */
enum { TFY_RECORDS_AT_ONCE = 4096 };
int tfy__history_read_tails(TfyLog *log, const int64_t *ids, uint32_t count, TfyHistory **histories, char *error_text);
/* The same with point numbers as stored, for copies: a run that was moved has those of several programs. */

int tfy__history_read_stored(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
/* As stored, and with the rows it saved: everything that goes into another database. */
int tfy__history_read_whole(TfyLog *log, const char *run, TfyHistory **history, char *error_text);
void tfy__history_free(TfyHistory *history);

/* A task of the history by its number; NULL: none. */
const TfyLogTask *tfy__history_task(const TfyHistory *history, int64_t tid);

/* The greatest number that a member has in the records of a type; 0: none of them has it. */
int64_t tfy__history_greatest(const TfyHistory *history, TfyRecordType type, TfyMember member);

/* The gap before a record of the history; NULL: none. */
const struct TfyStoreGap *tfy__history_gap(const TfyHistory *history, int64_t lsn);

#endif

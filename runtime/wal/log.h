/* log.h: the log as the scheduler sees it: append, hand over, wait until synced; and reading back what a file holds.
 *
 * One process writes (writer lock in "<db>-tfy"). The loop appends records to memory and hands them over once per
 * turn; one writer commits what is queued in one transaction with synchronous=FULL (a thread; inline when a single
 * record waits), then publishes the last durable lsn and makes the event descriptor readable. Records become durable
 * strictly in lsn order: a crash leaves a prefix.
 *
 * Invariants
 *   - lsn is dense; append gives the next one. prev and chain are computed at append, from the TfyLogTask.
 *   - nothing that left the process depends on a record above tfy__log_durable().
 *   - a failed write or sync is final: tfy__log_error() stays set, tfy__log_durable() never moves again. */
#ifndef WAL_LOG_H
#define WAL_LOG_H

#include "record.h"
#include "base/buffer.h"

typedef struct TfyLog TfyLog;

/* A run: one submitted workflow with all its tasks. */
typedef struct TfyLogRun {
    int64_t id;         /* row id; given by tfy__log_begin_run */
    uint8_t uuid[16];   /* UUIDv7 */
    int64_t program;    /* row id of its program */
    int64_t root;       /* tid of its root task */
    uint8_t origin[16]; /* a fork: the uuid of the run whose records it began with … */
    int64_t origin_lsn; /* … and the last of those there; 0: it is no fork */
    int64_t moved_lsn;  /* the newest record that gave it another program; 0: none did */
    int state;          /* TfyTaskState of the run: READY (unfinished), COMPLETED, FAILED, CANCELLED */
    int64_t started_ms, ended_ms;
    int64_t imported; /* its records up to this lsn came from another database: the numbers of records and tasks
                         in their payloads are that one's; 0: none */
    int64_t
        base_lsn; /* it was compacted: of its records before this Snapshot few are left (compact.h); 0: it was not */
    int64_t parked_ms;    /* not in memory before this time, wall clock; INT64_MAX: till somebody wants it; 0: it is */
    int64_t parked_at_ms; /* what the clock showed when that was said; 0: parked_ms is no time */
} TfyLogRun;

/* A task as the log knows it: embedded in the scheduler's task, or in a TfyHistory. */
typedef struct TfyLogTask {
    int64_t tid;     /* unique in the file; 0: the database itself */
    TfyLogRun *run;  /* NULL for tid 0 */
    char *path;      /* "1.3.2": its place in its run; owned by whoever holds this struct */
    int64_t born;    /* lsn of its InstructionStart or TaskSpawn */
    int64_t head;    /* lsn of its newest record; before the first: born of a child, 0 of a root */
    uint64_t chain;  /* chain value of the head; before the first: the seed */
    int64_t step;    /* its step counter, for the task row */
    int state, wait; /* TfyTaskState; what it waits for (record type or 0): for the task row */
    bool dirty;      /* changed since the last mark */
    struct TfyLogTask *next_dirty;
    struct TfyLogTask **dirty_link; /* what points at this task in that list, so that it leaves at once */
} TfyLogTask;

/* The directory that a run works in (root.h). */
typedef struct TfyRoot {
    char *path;       /* absolute, links followed; NULL: it is not known */
    int64_t dev, ino; /* of the directory */
    int64_t born_ns;  /* when it was made, by the file system's clock; 0: not known */
} TfyRoot;

typedef struct TfyLogOptions {
    const char *path;   /* NULL: memory only */
    bool read_only;     /* inspect, replay: never writes, needs no lock, works beside a live writer */
    bool existing;      /* fail with TFY_E_ABSENT instead of creating the file */
    bool adopt;         /* take a copy, or a file whose end is missing, as it is and as one's own (tfy adopt) */
    bool forgets;       /* memory only: records are numbered and no more (measurements of what tasks alone cost) */
    bool no_thread;     /* commit inline always (tests, kill harness) */
    uint32_t wal_pages; /* that the -wal file may have before runs pause; 0: 65536, which is 512 MB */
    int64_t (*wall_ms)(void *state); /* the clock for ts */
    /* Simulations: there is no thread, and what the thread would do is done by tfy__log_write; this is the monotonic
     * clock of the pauses that the writer makes. NULL: a thread and the real clock. */
    int64_t (*by_hand_ms)(void *state);
    void *clock_state;
    uint32_t mark_every; /* records between marks, at least; 0: 16384 */
    int (*fault)(void *state,
                 int call); /* tests: asked before each TfyStoreCall (store.h); 0, or the code to fail with */
    void *fault_state;
} TfyLogOptions;

/* Opens or creates. Checks application_id, user_version, the newest mark and the tail's chains; refuses what is not
 * ours, newer, damaged or held, with one sentence in error_text that says what and what to do. A write open appends
 * nothing by itself: the caller appends Opened. */
int tfy__log_open(TfyLog **log, const TfyLogOptions *options, char *error_text);

/* clean: writes a mark and meta.clean = 1. Waits for the writer. */
int tfy__log_close(TfyLog *log, bool clean);
/* The same; when something could not be written, now or before, error_text (TFY_ERROR_TEXT bytes) says so and how far
 * the log is safe. */
int tfy__log_close_saying(TfyLog *log, bool clean, char *error_text);

const char *tfy__log_path(const TfyLog *log);    /* of the file, links followed (place.h); NULL: in memory */
int64_t tfy__log_epoch(const TfyLog *log);       /* of this opening */
const uint8_t *tfy__log_uuid(const TfyLog *log); /* 16 bytes: the database's id */
TfyLogTask *tfy__log_self(TfyLog *log);          /* tid 0, for Opened and ShutdownMarker */

/* Registers a program (by hash); answers its row id, or a negative code. */
int64_t tfy__log_program(TfyLog *log, const uint8_t hash[16], const char *tfyc, const char *source, const char *layout);

/* Gives a run its id and queues its row (state READY). end queues the row's new state and end time, and nothing else
 * of it may have changed since it was queued last; change queues all of it, as for a run that leaves memory or is
 * taken up again (parked_ms says which). What is queued rides with the next commit. */
int tfy__log_begin_run(TfyLog *log, TfyLogRun *run);
int tfy__log_end_run(TfyLog *log, const TfyLogRun *run);
int tfy__log_change_run(TfyLog *log, const TfyLogRun *run);
/* Of a program's parked runs those that are due, at most `room`; *next_ms: when there will be others (INT64_MAX: no
 * time is known). What is queued for them is not seen before it is committed. */
typedef struct TfyDueAt {
    int64_t now_ms;
    /* Asked of each while the store is read: 1: it is passed over; 0; or a negative code, which ends the search.
     * NULL: none is. */
    int (*pass)(void *state, const TfyLogRun *run);
    void *state;
} TfyDueAt;
int tfy__log_parked_due(TfyLog *log, int64_t program, const TfyDueAt *at, TfyLogRun *runs, uint32_t room,
                        uint32_t *count, int64_t *next_ms);
/* A parked run of each program and working root that have some, for who wants to know these; *ids is malloc'ed. */
int tfy__log_parked_programs(TfyLog *log, int64_t **ids, uint32_t *count);
/* A clock that is behind by less was corrected; who waits for less is not parked. */
enum { TFY_AHEAD_MS = 60000 };

/* Of a program's parked runs, those that were parked when the clock showed more than it does now, which was set back
 * since: what they have to wait counts from now on. Queued; answers how many, at most `most`, or a negative code. */
int tfy__log_parked_again(TfyLog *log, int64_t program, int64_t now_ms, uint32_t most);
/* A run by one of its tasks. */
int tfy__log_run_of(TfyLog *log, int64_t tid, TfyLogRun *run);

int64_t tfy__log_next_tid(TfyLog *log);         /* takes the next task number */
int64_t tfy__log_coming_tid(const TfyLog *log); /* which that will be */

/* Tells the log of a new task: computes its seed, queues its task row. task->path and run must be set; born of a
 * child too (a root's is the lsn that is given next). */
void tfy__log_add_task(TfyLog *log, TfyLogTask *task);
/* The struct is about to be freed: the log drops every reference to it (its last row is queued first). */
void tfy__log_forget_task(TfyLog *log, TfyLogTask *task);

/* Appends; the payload is copied. Answers the lsn, or a negative code after a failure. Not durable yet. */
int64_t tfy__log_append(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point,
                        const char *payload, size_t payload_len);
/* The same with a payload that was built in a buffer, which is given back; TFY_E_NOMEM where it could not be built. */
int64_t tfy__log_append_payload(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point,
                                TfyBuffer *payload);

/* Appends a record that was written elsewhere: with its own step, point, type, version and time, in the chain of this
 * task. */
int64_t tfy__log_copy(TfyLog *log, TfyLogTask *task, const TfyLogRecord *record);
/* The same, of a record that stands behind a gap: of those that the run came without, the last one had this chain. */
int64_t tfy__log_copy_behind_gap(TfyLog *log, TfyLogTask *task, const TfyLogRecord *record, uint64_t chain);

int64_t tfy__log_last(const TfyLog *log);    /* the newest appended lsn */
int64_t tfy__log_durable(const TfyLog *log); /* the newest synced lsn */
int tfy__log_error(const TfyLog *log);       /* 0, or the final failure (TFY_E_IO) */
void tfy__log_error_text(TfyLog *log,
                         char *error_text); /* its sentence, with the last durable lsn (TFY_ERROR_TEXT bytes) */
bool tfy__log_full(
    const TfyLog *
        log); /* nothing can be written for now, for the disk is full or a reader stands in the way: the writer keeps what is
                           queued and tries again; runs pause */
/* A sentence (TFY_ERROR_TEXT bytes) that people should see: why runs pause, that they go on, who reads for too long.
 * False: nothing new. */
bool tfy__log_notice(TfyLog *log, char *text);

/* Looks whether the files of a writing log still have their names; if not, the log fails. Commits look too: this is
 * for times without any. */
void tfy__log_look(TfyLog *log);

/* Hands what was appended to the writer; returns at once (unless it commits inline). Once per turn. */
void tfy__log_flush(TfyLog *log);
/* What was not handed over yet is never written: the log is as a process leaves it that is killed here. */
void tfy__log_give_up(TfyLog *log, const char *why);
int tfy__log_event_fd(
    const TfyLog *log); /* readable after the durable lsn moved or the writer failed; -1: none (inline) */
void tfy__log_event_clear(TfyLog *log);
int tfy__log_sync(TfyLog *log); /* flush and block until all is durable */
/* Does one round of what the writer's thread does, for a log that has none (by_hand_ms). False: there was nothing to
 * do, or not yet. */
bool tfy__log_write(TfyLog *log);

/* ---- reading ---- */

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

/* How one task of a run ended. 0; TFY_E_ABSENT: the run has no such task, or it has not ended; else what went wrong. */
typedef struct TfyLogEnd {
    char *path, *workflow;
    int64_t born, head;
    uint64_t chain;
    int type;      /* TFY_R_TASK_EXIT or TFY_R_TASK_ABORT */
    char *payload; /* of that record */
} TfyLogEnd;
int tfy__log_find_end(TfyLog *log, const TfyLogRun *run, int64_t tid, TfyLogEnd *end);
void tfy__log_end_free(TfyLogEnd *end);

/* The layout (malloc'ed) of the one program whose hash begins so: hex, at least 4 digits. TFY_E_ABSENT: there is
 * none; TFY_E_INVALID: several. */
int tfy__log_find_layout(TfyLog *log, const char *hash, char **layout);
/* The hash of a program by its row id, in hex. */
int tfy__log_program_hash(TfyLog *log, int64_t id, char hash[33]);

/* Ids of unfinished runs, oldest first; *ids is malloc'ed. */
int tfy__log_unfinished(TfyLog *log, int64_t **ids, uint32_t *count);

/* All runs, newest first, for ps. *runs is malloc'ed; names[i] is the root workflow, malloc'ed. */
int tfy__log_runs(TfyLog *log, TfyLogRun **runs, char ***names, uint32_t *count);

void tfy__uuid_text(const uint8_t uuid[16], char out[37]);

#endif

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
#ifndef WAL_LOG_LOG_H
#define WAL_LOG_LOG_H

#include "base/buffer.h"
#include "wal/rows/record.h"
#include "wal/rows/row.h"

typedef struct TfyLog TfyLog;

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

/* ---- reading: without the histories of runs (history/history.h) ---- */

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

#endif

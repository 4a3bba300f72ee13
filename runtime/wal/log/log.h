/* log.h: the log as the scheduler sees it: append, hand over, wait until synced; and reading back what a file holds.
 *
 * One process writes (writer lock in "<db>-tfy"). The loop appends records to memory and hands them over once per
 * turn. One writer commits the queued records in one transaction with synchronous=FULL (in a thread, or inline if a
 * single record waits); then it publishes the last durable lsn and makes the event descriptor readable. Records
 * become durable strictly in lsn order: a crash leaves a prefix.
 *
 * Invariants
 *   - lsn is dense; append assigns the next one. append also computes prev and chain, from the TfyLogTask.
 *   - A ticket is for waiting, in this process: tickets grow by one with each record that is appended, whichever run it
 *     is of, and nothing that is stored holds one. An lsn is a record's number in its history: prev, head, born, and what
 *     readers continue from. In a file all histories share their numbers, so that an lsn can stand for a ticket there;
 *     test builds (TFY_POISON) number tickets apart, so that nothing takes one for the other.
 *   - Nothing that left the process depends on a record above tfy__log_durable().
 *   - In a shared database an lsn is a number in its run, and a run's records are appended by its owner alone.
 *   - A failed write or sync is final: tfy__log_error() stays set, tfy__log_durable() never moves again.
 *
 * Several loops of a process that share a session in a shared database have a log each (TfyLogOptions.with). They share the
 * writer, which puts what all have handed over into one commit. Tickets are each log's own. */
#ifndef WAL_LOG_LOG_H
#define WAL_LOG_LOG_H

#include "base/buffer.h"
#include "wal/rows/record.h"
#include "wal/rows/row.h"

struct TfyAhead;
struct TfyStoreLeaving;
struct TfyStoreVerdict;

typedef struct TfyLog TfyLog;
typedef int64_t TfyTicket; /* above 0; where a call may fail, a negative code */

typedef struct TfyLogOptions {
    const char *path; /* NULL: memory only */
    bool read_only;   /* inspect, replay: never writes, needs no lock, works beside a live writer */
    bool existing;    /* fail with TFY_E_ABSENT instead of creating the file */
    /* Take over a copy, or a file whose end is missing, in its present state (tfy adopt). */
    bool adopt;
    /* Memory only: records are numbered but not kept (measurements of the cost of tasks alone). */
    bool forgets;
    bool no_thread;                  /* commit inline always (tests, kill harness) */
    uint32_t wal_pages;              /* limit of the -wal file before runs pause; 0: 65536, which is 512 MB */
    int64_t (*wall_ms)(void *state); /* the clock for ts */
    /* Simulations: there is no thread, tfy__log_write does its work, and this is the monotonic clock for the writer's
     * pauses. NULL: a thread and the real clock. */
    int64_t (*by_hand_ms)(void *state);
    void *clock_state;
    uint32_t mark_every; /* least number of records between marks; 0: 16384 */
    /* A shared database instead of a path, opened; the log closes it, also if it cannot be opened. */
    struct TfyStore *store;
    int64_t session;  /* of this process there; nobody else writes in it */
    int64_t lease_ms; /* how long its tools may work without news from the database */
    /* In the writer's thread, after each commit that was acknowledged: when it was first sent (CLOCK_BOOTTIME). */
    void (*renewed)(void *state, int64_t sent_ns);
    /* In that thread, before a commit is sent the first time: whether it may be. NULL: always. Until it may, runs pause. */
    bool (*may_send)(void *state);
    void *renewed_state; /* of both */
    /* The log of another loop of this session, which is closed behind this one: its writer commits for both, and `store` is
     * for reading alone. What concerns the session is as there. */
    TfyLog *with;
    /* Tests: called before each TfyStoreCall (store.h); returns 0, or the code to fail with. */
    int (*fault)(void *state, int call);
    void *fault_state;
} TfyLogOptions;

/* Opens or creates a log. Checks application_id, user_version, the newest mark and the tail's chains. Refuses a file
 * that is not ours, newer, damaged or held, with a message in error_text that says what is wrong and what to do.
 * Opening for writing appends nothing by itself: the caller appends Opened. */
int tfy__log_open(TfyLog **log, const TfyLogOptions *options, char *error_text);

/* clean: writes a mark and meta.clean = 1. Waits for the writer. */
int tfy__log_close(TfyLog *log, bool clean);
/* The same; if anything could not be written, now or earlier, error_text (TFY_ERROR_TEXT bytes) says so, and up to
 * which record the log is safe. */
int tfy__log_close_saying(TfyLog *log, bool clean, char *error_text);

const char *tfy__log_path(const TfyLog *log);    /* of the file, links followed (place.h); NULL: in memory */
int64_t tfy__log_epoch(const TfyLog *log);       /* of this opening */
const uint8_t *tfy__log_uuid(const TfyLog *log); /* 16 bytes: the database's id */
TfyLogTask *tfy__log_self(TfyLog *log);          /* tid 0, for Opened and ShutdownMarker */

/* Registers a program (by hash); returns its row id, or a negative code. */
int64_t tfy__log_program(TfyLog *log, const uint8_t hash[16], const char *tfyc, const char *source, const char *layout);

/* begin assigns a run its id, which in a shared database is given, and queues its row (state READY). end queues the row's new state and end time; nothing
 * else in it may have changed since it was last queued. change queues the whole row, for example of a run that leaves
 * memory or returns to it (parked_ms says which). Queued rows are written with the next commit. */
int tfy__log_begin_run(TfyLog *log, TfyLogRun *run);
int tfy__log_end_run(TfyLog *log, const TfyLogRun *run);
int tfy__log_change_run(TfyLog *log, const TfyLogRun *run);

/* ---- a shared database alone ---- */

/* Queues that a run leaves its session, and its row. It has ended, or its newest record is a Snapshot, so that whoever takes
 * it up starts there. mail, due_ms: as in TfyStoreLeaving; if more mail has arrived by then, it stays, and tfy__log_stayed tells. */
int tfy__log_leave(TfyLog *log, TfyLogRun *run, int64_t mail, int64_t due_ms);
/* Queues that a run leaves, by its row id, with which its program cannot continue: it is held. claims: as in TfyStoreLeaving. */
int tfy__log_set_aside(TfyLog *log, int64_t run, int64_t claims);
/* The same for a run that this session has only copied: whoever takes it up starts from its records. */
int tfy__log_hand_on(TfyLog *log, TfyLogRun *run);
/* The same for a run to which this session has only added records of nobody's: it waits as before. mail: as tfy__log_leave. */
int tfy__log_hand_back(TfyLog *log, TfyLogRun *run, int64_t mail, int64_t due_ms);
/* Queues what becomes of something that was sent to a run of this session: in one commit with what was appended for it
 * before the next hand-over. */
int tfy__log_verdict(TfyLog *log, const struct TfyStoreVerdict *verdict);
/* Takes at most `room` runs that were to leave with records that are durable now, and stayed. */
uint32_t tfy__log_stayed(TfyLog *log, struct TfyStoreLeaving *stayed, uint32_t room);
/* Renews the lease by an empty commit, unless one was sent within a third of it, or is under way. The loop calls it in its
 * turns, so that a loop that hangs loses the lease. */
void tfy__log_beat(TfyLog *log);
bool tfy__log_shared(const TfyLog *log);
/* Lets readings be answered from these rows; NULL: no more. */
void tfy__log_ahead(TfyLog *log, const struct TfyAhead *ahead);
/* A task's number in the store. */
int64_t tfy__log_stored_tid(const TfyLog *log, int64_t tid);

/* A program's parked runs that are due, at most `room`; *next_ms: when the next ones are due (INT64_MAX: unknown).
 * Rows that are queued for them are not seen before they are committed. */
typedef struct TfyDueAt {
    int64_t now_ms;
    /* Called for each run while the store is read. 1: skip it; 0: take it; a negative code ends the search. NULL:
     * take all. */
    int (*pass)(void *state, const TfyLogRun *run);
    void *state;
} TfyDueAt;
int tfy__log_parked_due(TfyLog *log, int64_t program, const TfyDueAt *at, TfyLogRun *runs, uint32_t room,
                        uint32_t *count, int64_t *next_ms);
/* Shows the runs of a program that have not ended, parked ones too, and their InstructionStart. Both are valid during the
 * call. 0 or a negative code. */
int tfy__log_see_unfinished(TfyLog *log, int64_t program,
                            void (*see)(void *state, const TfyLogRun *run, const TfyLogRecord *birth), void *state);
/* One parked run for each program and working root that has any, for callers that look for these; *ids is
 * malloc'ed. */
int tfy__log_parked_programs(TfyLog *log, int64_t **ids, uint32_t *count);
/* The rows of the programs of runs that have not ended, parked ones too; *programs is malloc'ed. 0 or a negative code. */
int tfy__log_live_programs(TfyLog *log, int64_t **programs, uint32_t *count);
/* A clock that is behind by less was corrected; a run that waits for less is not parked. */
enum { TFY_AHEAD_MS = 60000 };

/* Parks again those of a program's parked runs that were parked when the clock showed more than it does now, because
 * it was set back since: the rest of their wait counts from now on. Queues their rows; returns how many, at most
 * `most`, or a negative code. */
int tfy__log_parked_again(TfyLog *log, int64_t program, int64_t now_ms, uint32_t most);
/* Finds a run by one of its tasks. */
int tfy__log_run_of(TfyLog *log, int64_t tid, TfyLogRun *run);

/* Assigns a number to the next task of a run; NULL: to the root of a new one, which exists in a file alone. */
int64_t tfy__log_next_tid(TfyLog *log, TfyLogRun *run);
/* The number that comes next, unassigned, as records name it. */
int64_t tfy__log_coming_tid(const TfyLog *log, const TfyLogRun *run);

/* Registers a new task: computes its seed, queues its task row. task->path and run must be set, and `born` of a child
 * (that of a root is the lsn that is assigned next). */
void tfy__log_add_task(TfyLog *log, TfyLogTask *task);
/* The struct is about to be freed: the log queues its last row, then drops every reference to it. */
void tfy__log_forget_task(TfyLog *log, TfyLogTask *task);

/* Appends a record; copies the payload. Returns its ticket, or a negative code after a failure. Its lsn is task->head then.
 * Not durable yet. */
TfyTicket tfy__log_append(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point,
                          const char *payload, size_t payload_len);
/* The same with a payload built in a buffer, which is released; TFY_E_NOMEM if the buffer has failed. */
TfyTicket tfy__log_append_payload(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point,
                                  TfyBuffer *payload);

/* Appends a record that was written elsewhere: with its own step, point, type, version and time, in the chain of this
 * task. */
TfyTicket tfy__log_copy(TfyLog *log, TfyLogTask *task, const TfyLogRecord *record);
/* The same for a record behind a gap; chain is that of the last record that the run came without. */
TfyTicket tfy__log_copy_behind_gap(TfyLog *log, TfyLogTask *task, const TfyLogRecord *record, uint64_t chain);

/* Appends the record of an opening for writing. version: the runtime's; how: "adopted", "imports", …; NULL: none of these.
 * Returns as tfy__log_append does. */
TfyTicket tfy__log_opened(TfyLog *log, const char *version, const char *how);

TfyTicket tfy__log_last(const TfyLog *log);    /* of the newest appended record */
TfyTicket tfy__log_durable(const TfyLog *log); /* of the newest synced record */
/* The same as numbers in the file, for those who follow it record by record. */
int64_t tfy__log_last_lsn(const TfyLog *log);
int64_t tfy__log_durable_lsn(const TfyLog *log);
int64_t tfy__log_last_ms(const TfyLog *log); /* when it was appended, by the record; 0: the log forgets, or has none */
int tfy__log_error(const TfyLog *log);       /* 0, or the final failure (TFY_E_IO) */
/* The message of the failure, with the last durable lsn (TFY_ERROR_TEXT bytes). */
void tfy__log_error_text(TfyLog *log, char *error_text);
/* Nothing can be written for now, because the disk is full or a reader is in the way. The writer keeps the queue and
 * tries again; runs pause. */
bool tfy__log_full(const TfyLog *log);
/* A message (TFY_ERROR_TEXT bytes) for people: why runs pause, that they continue, which reader has been reading for
 * too long. False: nothing new. */
bool tfy__log_notice(TfyLog *log, char *text);

/* Checks whether the files of a writing log still have their names; if not, the log fails. Commits check this, too:
 * this call is for times without commits. The second call without a commit since the first also gives back memory that
 * only makes commits faster. */
void tfy__log_look(TfyLog *log);

/* Hands appended rows to the writer; returns at once (unless it commits inline). Call it once per turn. */
void tfy__log_flush(TfyLog *log);
/* Discards everything not yet handed over: the log is in the state that killing the process here would leave. */
void tfy__log_give_up(TfyLog *log, const char *why);
/* Readable after the durable ticket moved or the writer failed; -1: none (inline). */
int tfy__log_event_fd(const TfyLog *log);
void tfy__log_event_clear(TfyLog *log);
int tfy__log_sync(TfyLog *log); /* flushes and blocks until all is durable */
/* Does one round of the writer thread's work, for a log without a thread (by_hand_ms). False: there is nothing to do,
 * or not yet. */
bool tfy__log_write(TfyLog *log);

/* ---- reading, except the histories of runs (history/history.h) ---- */

/* How one task of a run finished. 0; TFY_E_ABSENT: the run has no such task, or it has not finished; any other code
 * is a failure. */
typedef struct TfyLogEnd {
    char *path, *workflow;
    int64_t born, head;
    uint64_t chain;
    int type;      /* TFY_R_TASK_EXIT or TFY_R_TASK_ABORT */
    char *payload; /* of that record */
} TfyLogEnd;
int tfy__log_find_end(TfyLog *log, const TfyLogRun *run, int64_t tid, TfyLogEnd *end);
void tfy__log_end_free(TfyLogEnd *end);

/* Visits the durable records of the database's own chain, newest first, until the visitor returns true. 0, or a negative
 * code. */
int tfy__log_see_own(TfyLog *log, bool (*see)(void *state, const TfyLogRecord *record), void *state);

/* Visits durable records of all chains from this lsn on, in their order, until the visitor returns another value than 0.
 * 0, the visitor's value above 0, or a negative code. */
int tfy__log_see(TfyLog *log, int64_t from, int (*see)(void *state, const TfyLogRecord *record), void *state);
/* The same in a shared database, where a visit is of one run, by its row id. A file has it visit those of all. */
int tfy__log_see_of(TfyLog *log, int64_t run, int64_t from, int (*see)(void *state, const TfyLogRecord *record),
                    void *state);
/* For such a visitor alone, in a file: the run of a task, as it is in what the visitor sees. */
int tfy__log_seen_run(TfyLog *log, int64_t tid, TfyLogRun *run);
/* For such a visitor alone: the run of a record, and its task's path (malloc'ed), and the lsn of the task's first record. */
int tfy__log_seen_task(TfyLog *log, const TfyLogRecord *record, TfyLogRun *run, char **path, int64_t *born);

/* Gives back memory that only speeds up the next reads: before a pause. */
void tfy__log_rest(TfyLog *log);

/* The run with that uuid, by the unique index. TFY_E_ABSENT: there is none. */
int tfy__log_find_run(TfyLog *log, const uint8_t uuid[16], TfyLogRun *run);

/* How a run started and ended, without its history: the payloads of some records. */
typedef struct TfyLogOutline {
    char *birth;   /* of its InstructionStart */
    char *options; /* of the record of what a resume was given at last; NULL: the birth has all */
    char *end;     /* of its TaskComplete; NULL: it has not ended */
} TfyLogOutline;
int tfy__log_outline(TfyLog *log, const TfyLogRun *run, TfyLogOutline *outline);
void tfy__log_outline_free(TfyLogOutline *outline);

/* Source and layout (malloc'ed) of the one program whose hash starts with these hexadecimal digits, at least 4.
 * TFY_E_ABSENT: no such program; TFY_E_INVALID: several. */
int tfy__log_find_program(TfyLog *log, const char *hash, char **source, char **layout);
/* The hash of a program by its row id, in hex, and its layout (malloc'ed). */
int tfy__log_program_hash(TfyLog *log, int64_t id, char hash[33], char **layout);

/* Ids of unfinished runs, oldest first; *ids is malloc'ed. */
int tfy__log_unfinished(TfyLog *log, int64_t **ids, uint32_t *count);

/* All runs, newest first. *runs is malloc'ed; names[i] is the root workflow's name, malloc'ed. names NULL: they are not asked for,
 * which saves a look-up of two rows for each run. */
int tfy__log_runs(TfyLog *log, TfyLogRun **runs, char ***names, uint32_t *count);

#endif

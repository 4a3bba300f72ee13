/* log_state.h: the log's internals, shared by its parts:
 *   log.c      the loop's side: append, rows, flush
 *   mark.c     marks: dirty task rows and the seal over a segment
 *   writer.c   the writer's side: commits what is queued, in a thread or inline
 *   guard.c    compares the witness with the contents of the files
 *   files.c    whether the files still have their names
 *   recover.c  checks the newest mark and the tail behind it
 *   heads.c    heads of tasks as of the tail, by task number
 *   history.c  reads back whole runs
 *
 * A log has one loop, and a writer. Loops of one process that share a database's session have a log each, and the writer of
 * the first one, whose store commits for all (TfyLogOptions.with). Data that only the loop uses needs no lock. The writer's
 * `mutex` guards the queue, and whatever the writer tells its logs. `store_mutex` guards a store, and is held for a whole
 * commit or a whole reading; its holder never waits for the holders of `mutex`. */
#ifndef WAL_LOG_LOG_STATE_H
#define WAL_LOG_LOG_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "wal/log/batch.h"
#include "wal/store/files.h"
#include "wal/log/heads.h"
#include "wal/log/saved.h"
#include "wal/store/hold.h"
#include "wal/log/log.h"
#include "wal/store/store.h"
#include "wal/store/wal_file.h"
#include "wal/log/witness.h"

typedef struct TfyLogProgram {
    uint8_t hash[16];
    int64_t id;
} TfyLogProgram;

/* Commits what its logs hand over, in a thread of its own or inline.
 *
 * Invariants
 *   - One commit is under way at a time. It has whole batches, and those of a log in the order in which they were handed over.
 *   - Each log has tickets of its own. `durable` of a log moves when a commit with its batches has returned.
 *   - An error is that of all logs. The first log is closed last. */
typedef struct TfyWriter {
    TfyLog *first; /* whose store and options it uses */
    /* under mutex */
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* wakes the writer: there is work, or it must exit */
    pthread_cond_t rest; /* wakes waiters: the writer finished something */
    LIST(TfyLog) logs;   /* the first one first */
    uint32_t places;     /* given to logs so far */
    pthread_t thread;
    bool thread_started, stopping;
    bool writing; /* a commit is in progress */
    /* The thread moves the -wal file's pages when it has no other work. */
    bool checkpoint_wanted;
    TfyBatches queue;
    size_t queued_bytes;
    /* Of a shared database, when the answer to a commit got lost: its batches. Nothing else is sent before the database has
     * said whether it happened; if not, they are sent again under the same number, and nothing with them. */
    TfyBatches unsure;
    int64_t commits;      /* acknowledged ones; used by whoever is `writing` */
    int64_t sent_ns;      /* CLOCK_BOOTTIME when the commit under way was first sent */
    int64_t renewed_ns;   /* … and when the newest acknowledged one was */
    TfyBatch *empty;      /* blocks to reuse */
    bool hangs;           /* may_send has said no to the last commit */
    int64_t full_ms;      /* monotonic time of the last attempt that found the disk full */
    char error_text[300]; /* why error is set */
    /* error_text says what became of the files, and of the acknowledged records. */
    bool files_lost;
    char notice_text[300];

    /* published */
    atomic_int error;   /* 0, or the final failure */
    atomic_bool full;   /* nothing can be written for now */
    atomic_bool notice; /* notice_text is new */
} TfyWriter;

struct TfyLog {
    /* as opened */
    TfyStore *store; /* of a log that has joined another one: for reading alone */
    TfyWriter *writer, own;
    char *path;     /* NULL: in memory; resolved (place.h) */
    int lock_fd;    /* the writer lock; -1: none */
    TfyHold *hold;  /* the main file, by whatever name; NULL: it did not exist */
    TfyFiles files; /* of a writing log, as opened */
    bool read_only, inline_only, adopts;
    /* Records are numbered but not kept: nobody can read or check them. */
    bool forgets;
    int64_t (*by_hand_ms)(void *state); /* not NULL: tfy__log_write replaces the thread */
    int64_t (*wall_ms)(void *state);
    void *clock_state;
    uint32_t mark_every; /* least number of records between marks */
    /* A shared database, and this session's place in it: there are no marks, meta, witness and chain of nobody's,
     * programs are made elsewhere, and runs, too, but for copies; all that is numbered is so within its run. */
    bool shared;
    int64_t session, lease_ms;
    void (*renewed)(void *state, int64_t sent_ns);
    bool (*may_send)(void *state);
    void *renewed_state;
    TfyStoreMeta meta;    /* as read; epoch, owner and file are this opening's */
    TfyWalVerdict walked; /* the state of the -wal file; TFY_WAL_HOLDS if not inspected */

    /* the loop's side */
    TfyLogTask self; /* tid 0 */
    int64_t last;    /* records appended ever; in a file the newest one's lsn, too */
    int64_t last_ms; /* … and its ts */
    int64_t next_tid, next_run, next_program;
    uint32_t slots;       /* given to runs so far */
    int64_t mark_lsn;     /* of the newest mark, queued or stored */
    uint64_t mark_chain;  /* its chain */
    int64_t segment_rows; /* records since mark_lsn */
    uint64_t segment_sum; /* over them */
    TfyLogTask *dirty;    /* tasks changed since mark_lsn; not of a shared database */
    int64_t dirty_count;
    TfySavedTable *saved;    /* saved tables with rows written to them */
    TfyBatch *filling;       /* rows appended since the last flush; never NULL on a writing log */
    TfyLogProgram *programs; /* programs in the file or queued */
    size_t program_count, program_cap;

    /* what the writer tells, under its mutex */
    TfyLog *next;            /* in the writer's list */
    uint32_t place;          /* there; never that of another log */
    uint32_t queued;         /* batches that were handed over, and are not durable */
    bool moved;              /* `durable` has, and the loop has not been woken yet */
    TfyStoreLeaving *stayed; /* runs that were to leave and did not, until the loop takes them */
    uint32_t stayed_count, stayed_room;

    /* published by the writer */
    atomic_llong durable; /* records synced ever; in a file the newest one's lsn, too */
    int event_fd;         /* -1: none */

    /* the store, under store_mutex */
    pthread_mutex_t store_mutex;
    TfyHeads heads;     /* of the tail as far as it is read */
    int64_t looked_lsn; /* newest synced lsn at the last look; -1: there was none */
    bool gave_back;     /* the store's memory was given back since the last commit */
    TfyWitness witness; /* as read; on a writing log, as last written */
};

/* guard.c */
/* Before the store is opened: reads the witness, walks the -wal file. */
int tfy__guard_before(TfyLog *log, char *error_text);
/* After the log has been read: checks that it holds all that was acknowledged. */
int tfy__guard_recovered(TfyLog *log, char *error_text);
/* A commit that ends with this record (0: no record) is on the disk; the caller holds store_mutex. */
int tfy__guard_synced(TfyLog *log, int64_t lsn);
void tfy__guard_failed(TfyLog *log); /* a write or sync has failed; the committing thread calls it */

/* checks that the opened files still have their names; the caller holds store_mutex */
int tfy__guard_look(TfyLog *log);

/* mark.c */
void tfy__mark_touch(TfyLog *log, TfyLogTask *task);   /* makes the task dirty */
void tfy__mark_untouch(TfyLog *log, TfyLogTask *task); /* removes it from the dirty list */
bool tfy__mark_due(const TfyLog *log);                 /* whether the next mark is due */
void tfy__mark_count(TfyLog *log, const TfyLogRecord *record);
int tfy__mark_add(TfyLog *log, bool clean); /* queues the dirty rows, the mark and meta */
/* an update: without base and base_chain */
void tfy__mark_task_row(const TfyLog *log, const TfyLogTask *task, TfyStoreTask *row);
int tfy__mark_run_row(TfyLog *log, const TfyLogRun *run, TfyRunPut put); /* queues it */
/* Of a shared database: queues the rows of the run's dirty tasks and its own. */
int tfy__mark_run(TfyLog *log, TfyLogRun *run);

/* Gives a run whose tasks have numbers up to this one its slot in this process. */
void tfy__log_own(TfyLog *log, TfyLogRun *run, uint32_t tasks);
/* The number in this process of a task of an owned run. */
int64_t tfy__log_owned_tid(const TfyLogRun *run, int64_t stored);

/* writer.c */
/* Moves the filling batch to the queue; commits inline if that is better. */
void tfy__writer_hand_over(TfyLog *log);
int tfy__writer_wait(TfyLog *log);   /* until the queue is empty; TFY_E_STATE: the disk is full */
bool tfy__writer_round(TfyLog *log); /* by hand: one commit or checkpoint */
void tfy__writer_look(TfyLog *log);  /* for tfy__log_look */
/* Whether a hold is due: no commit is waiting or under way, or was sent within a third of the lease. */
bool tfy__writer_silent(TfyLog *log);
/* One transaction of the caller's, after all that was handed over, in its own thread. 0; or a code, and nothing
 * happened; a failed write is final, as everywhere. */
int tfy__writer_alone(TfyLog *log, int (*work)(void *state, TfyStore *store), void *state);
void tfy__writer_stop(TfyLog *log);
void tfy__writer_fail(TfyLog *log, int code, const char *why);
TfyBatch *tfy__writer_batch(TfyLog *log); /* an empty one; NULL: out of memory */

/* recover.c */
int tfy__recover(TfyLog *log, char *error_text);
/* Reads on to the newest record; call it between look and look_away. */
int tfy__recover_tail(TfyLog *log, char *error_text);

#endif

/* log_state.h: the log's inside, shared by its parts:
 *   log.c      the loop's side: append, rows, flush
 *   mark.c     marks: dirty task rows and the seal over a segment
 *   writer.c   the writer's side: commits what is queued, in a thread or inline
 *   guard.c    what the witness remembers against what the files hold
 *   files.c    whether the files still have their names
 *   recover.c  the newest mark and the tail behind it, checked
 *   heads.c    heads of tasks as of the tail, by task number
 *   history.c  a run read back whole
 *
 * Two threads at most. What the loop alone touches needs no lock. `mutex` guards the queue between them;
 * `store_mutex` guards the store, held for a whole commit or a whole reading; whoever holds it never waits for
 * `mutex` holders. */
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

struct TfyLog {
    /* as opened */
    TfyStore *store;
    char *path;     /* NULL: in memory; resolved (place.h) */
    int lock_fd;    /* the writer lock; -1: none */
    TfyHold *hold;  /* the main file, by whatever name; NULL: there was none yet */
    TfyFiles files; /* of a writing log, as it was opened */
    bool read_only, inline_only, adopts;
    bool forgets;                       /* records are numbered and no more: nobody can read or check them */
    int64_t (*by_hand_ms)(void *state); /* not NULL: tfy__log_write stands in for the thread */
    int64_t (*wall_ms)(void *state);
    void *clock_state;
    uint32_t mark_every;  /* records between marks, at least */
    TfyStoreMeta meta;    /* as it was read; epoch, owner and file are this opening's */
    TfyWalVerdict walked; /* what the -wal file was found to be; TFY_WAL_HOLDS where nobody looked */

    /* the loop's side */
    TfyLogTask self; /* tid 0 */
    int64_t last;    /* newest appended lsn */
    int64_t next_tid, next_run, next_program;
    int64_t mark_lsn;     /* of the newest mark, queued or stored */
    uint64_t mark_chain;  /* its chain */
    int64_t segment_rows; /* records since it */
    uint64_t segment_sum; /* over them */
    TfyLogTask *dirty;    /* tasks changed since it */
    int64_t dirty_count;
    TfySavedTable *saved;    /* saved tables that were written to */
    TfyBatch *filling;       /* what was appended since the last flush; never NULL on a writing log */
    TfyLogProgram *programs; /* programs known to be in the file or queued */
    size_t program_count, program_cap;

    /* between loop and writer, under mutex */
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* the writer: there is work, or the end */
    pthread_cond_t rest; /* whoever waits for the writer: it finished something */
    pthread_t thread;
    bool thread_started, stopping;
    bool writing;           /* somebody is committing */
    bool checkpoint_wanted; /* the thread moves the -wal file's pages when it has nothing better to do */
    TfyBatches queue;
    size_t queued_bytes;
    TfyBatch *empty;      /* blocks to use again */
    int64_t full_ms;      /* monotonic time of the last attempt that found no room */
    char error_text[300]; /* why error is set */
    bool files_lost;      /* it says what became of the files, and of what was acknowledged */
    char notice_text[300];

    /* published by the writer */
    atomic_llong durable; /* newest synced lsn */
    atomic_int error;     /* 0, or the final failure */
    atomic_bool full;     /* nothing can be written for now */
    atomic_bool notice;   /* notice_text is new */
    int event_fd;         /* -1: none */

    /* the store, under store_mutex */
    pthread_mutex_t store_mutex;
    TfyHeads heads;     /* of the tail as far as it was read */
    TfyWitness witness; /* as it was read; on a writing log, as it was written last */
};

/* guard.c */
int tfy__guard_before(TfyLog *log,
                      char *error_text); /* before the store is opened: reads the witness, walks the -wal file */
int tfy__guard_recovered(TfyLog *log,
                         char *error_text); /* the log has been read: does it hold what was acknowledged? */
int tfy__guard_synced(
    TfyLog *log, int64_t lsn); /* a commit that ends with this record (0: none) is on the disk; store_mutex is held */
void tfy__guard_failed(TfyLog *log); /* a write or sync has failed; the one who commits calls this */

int tfy__guard_look(TfyLog *log); /* whether the files are still those that were opened; store_mutex is held */

/* mark.c */
void tfy__mark_touch(TfyLog *log, TfyLogTask *task);   /* the task is dirty now */
void tfy__mark_untouch(TfyLog *log, TfyLogTask *task); /* takes it out of the list */
bool tfy__mark_due(const TfyLog *log);                 /* it is time for the next one */
void tfy__mark_count(TfyLog *log, const TfyLogRecord *record);
int tfy__mark_add(TfyLog *log, bool clean);                         /* queues the dirty rows, the mark and meta */
void tfy__mark_task_row(const TfyLogTask *task, TfyStoreTask *row); /* an update: without base and base_chain */

/* writer.c */
void tfy__writer_hand_over(TfyLog *log); /* the filling batch joins the queue; commits inline where that is better */
int tfy__writer_wait(TfyLog *log);       /* until the queue is empty; TFY_E_STATE: the disk is full */
bool tfy__writer_round(TfyLog *log);     /* by hand: one commit or checkpoint */
void tfy__writer_look(TfyLog *log);      /* fails the log when its files are not those that were opened */
void tfy__writer_stop(TfyLog *log);
void tfy__writer_fail(TfyLog *log, int code, const char *why);
TfyBatch *tfy__writer_batch(TfyLog *log); /* an empty one; NULL: no memory */

/* recover.c */
int tfy__recover(TfyLog *log, char *error_text);
int tfy__recover_tail(TfyLog *log, char *error_text); /* reads on to the newest record; between look and look_away */

#endif

/* worker.h: tfy-worker: a machine's part in a database of PostgreSQL that many machines share.
 *
 *   worker   starts a child for each program, starts it again when it ends, and speaks for those that are dead
 *   child    a program's process: a session, the hub's thread, and a loop that executes runs, or several (host/loops.h)
 *
 * A child that dies takes no other program with it. It tells its worker, through a pipe, the number of its session, and
 * behind that what its watchers say (base/lease.h), and TFY_CHILD_SOLO. In a page that both have mapped each loop writes which run
 * it executes. If the process dies of that, by a signal or of memory, the run is to blame (wal/store/cluster.h): from then on it needs a
 * second child of its program, one that works on such runs alone, one at a time, and ends when there are none.
 *
 * Invariants
 *   - A child's session is ended by its worker only when the child has been reaped, its pipe has ended, and nothing is left of its tools.
 *     Otherwise other workers end it when it has been silent for a lease.
 *   - Children have signal SIGTERM sent to them when their worker dies, so none is left that nobody can stop. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/hub.h"
#include "wal/store/cluster.h"

enum {
    TFY_WORKER_PROGRAMS = 32,
    TFY_CHILD_SOLO = 'S',  /* a run waits for a child of its own */
    TFY_CHILD_STARVED = 12, /* the exit status of a child whose memory ran out … */
    TFY_CHILD_OUTDATED = 13 /* … and of one that has drained, since the database's tables are for newer programs */
};

/* What a child writes for its worker. */
typedef struct TfyChildPage {
    volatile int64_t executes[TFY_LOOPS_MOST]; /* of each loop: row id of a run; 0: none */
    volatile int32_t died;         /* by which loop the process dies, from 1; 0: that is not known */
    volatile int64_t acknowledged; /* commits of its session */
} TfyChildPage;

/* What the command line says. Strings are those of argv. */
typedef struct TfyWorkerWords {
    bool log_json;    /* log_format says so */
    const char *self; /* argv[0] */
    const char *db, *pool, *name, *llm, *models, *secrets, *secrets_from, *log_level, *log_format;
    const char *drain; /* as it was typed, or as it is without that, and read: */
    int64_t drain_ms;
    const char *programs[TFY_WORKER_PROGRAMS]; /* NAME=FILE.so */
    int program_count;
    const char *threads; /* as it was typed, or NULL, and read: */
    uint32_t loops;
    int report; /* in a child: the pipe; otherwise -1 */
    int page;   /* in a child: what has the page; otherwise -1 */
    bool solo;  /* a child of runs that need one of their own */
    char host[64];
} TfyWorkerWords;

/* "shop=/path/of/shop.so" or "shop.so": the file. */
const char *tfy__worker_file(const char *program);
/* What such a program is called, in messages; as long as the word. */
int tfy__worker_name_len(const char *program);

/* Says a line as tfy__say does, unless standard error is a pipe that nobody empties: a process that waits for a reader neither
 * starts others again nor stops. */
void tfy__worker_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what became of a run of which a process died, and what a person can do. */
void tfy__worker_blame(const TfyBlame *blame);

/* Runs until a signal ends it. Both return the exit status. */
int tfy__worker_supervise(const TfyWorkerWords *words);
int tfy__worker_child(const TfyWorkerWords *words);

#endif

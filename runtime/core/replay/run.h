/* run.h: a run: its tasks, what they share, and its history while it replays. */
#ifndef CORE_REPLAY_RUN_H
#define CORE_REPLAY_RUN_H

#include "core/task/task.h"
#include "wal/history/history.h"

struct TfyReplayReport;
struct TfyStepping;

/* Where a run left the one that it was copied from. */
typedef struct Fork {
    int64_t lsn;   /* the last record that was copied */
    uint64_t seed; /* of random and uuid behind it */
} Fork;

struct Run {
    TfyLoop *loop;
    TfyLogRun log; /* id, uuid, state */
    char uuid[37];
    uint64_t seed;                 /* of random and uuid */
    int64_t max_queue, max_memory; /* TfyOptions' when it began; 0: none */
    uint32_t live;                 /* tasks that have not ended */
    TaskRest *root;
    uint32_t folded_ended; /* the newest folded task of it that has ended; 0: none */
    TaskRest *tasks;       /* all of its tasks, ended ones included, newest first (TaskRest.next_in_run) */
    Group *groups;         /* all that were ever made */
    SignalName *signals;   /* every name that came or is waited for */
    SignalId *signal_ids;
    uint64_t signal_count; /* signals that ever came: the newest seq */
    Lock **locks;          /* by name: LOCK_BUCKETS lists; NULL before the first use */
    Fork *forks;           /* the run is a fork, perhaps of a fork: oldest first */
    uint32_t fork_count;
    bool ended;
    bool rooted;      /* its records say where it works: in the loop's root */
    char *result;     /* JSON of the root's value, or NULL */
    char *error;      /* what the root failed with, for people */
    struct Run *next; /* all runs of the loop, oldest first */
    /* snapshots */
    uint32_t since_records;  /* records since the newest one */
    uint64_t since_bytes;    /* … their payloads */
    uint64_t snapshot_bytes; /* the newest one's size; 0: there is none */
    bool snapshot_due;       /* it stands in loop->snapshots_due */
    struct Run *due_next;
    /* parking */
    bool park_listed; /* it will be looked at whether it may leave memory */
    int64_t park_look_ns;
    struct Run *park_next;
    bool stuck_told; /* people know that nothing can move it any more */
    bool in_log;     /* tasks that have ended need not be at hand: the log knows them */
    /* replay */
    TfyHistory *history; /* NULL once everything recorded has been taken up (or for a new run) */
    bool owns_history;
    bool *taken;             /* per record */
    uint32_t *next_of_task;  /* per record: index of the same task's next record, or NO_INDEX */
    uint32_t *first_of_task; /* per task of the history: index of its first record */
    uint32_t cursor;         /* lowest record that is not taken */
    LIST(Step) deferred;     /* steps that want to go live before the cursor has reached the end */
    LIST(TaskRest) turns;    /* tasks that are ready meanwhile (T_FOLLOWING and T_QUEUED), in order */
};

/* spawn.c */
Run *tfy__run_new(TfyLoop *loop, const TfyLogRun *log);
void tfy__run_discard(TfyLoop *loop, Run *run); /* as if it had never been taken up; nothing of it may be under way */
void tfy__run_release(TfyLoop *loop, Run *run); /* all it holds; the struct is the caller's to free */
TaskRest *tfy__run_begin_root(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args, int64_t tid);

/* replay.c: the history of a run as the source of answers */
const TfyLogRecord *tfy__history_peek(const TaskRest *rest); /* NULL: none left */
void tfy__history_take(TaskRest *rest);                      /* the peeked one; resets passages */
bool tfy__history_at_cursor(const TaskRest *rest);           /* is the peeked one next in the run's order? */
void tfy__history_async(TfyTask *task);                      /* takes arrivals and cancellations that belong here */
/* Its next record came from outside while it stood here, but others come before it: it has to wait for it. */
bool tfy__history_arrives_later(const TfyTask *task);
/* A record that follows from what the program does: taken and compared, or written. False: the task is halted. */
bool tfy__record_fact(TaskRest *rest, TfyRecordType type, uint32_t point, const TfyBuffer *payload);
/* For records written without suspending: true and *record set when recorded; true and NULL when live; false:
 * diverged. */
bool tfy__history_expect(TaskRest *rest, TfyRecordType type, uint32_t point, const TfyLogRecord **record);
void tfy__history_diverge(TaskRest *rest, const TfyLogRecord *record, const char *now_format, ...)
    __attribute__((format(printf, 3, 4)));
const char *tfy__kill_reason(const char *why);          /* the static text that is this one */
bool tfy__history_live(const TaskRest *rest);           /* may this task append now? */
int64_t tfy__history_born(const Run *run, int64_t lsn); /* the task that a TaskSpawn of the history made */
bool tfy__history_attach(TaskRest *rest);     /* a task was made: find its records; false: it has no history */
void tfy__history_defer(Step *step);          /* go live when the cursor has reached the end */
void tfy__history_forget_deferred(Run *run);  /* nobody is to go live any more */
void tfy__history_await_turn(TaskRest *rest); /* ready, but its run replays */
void tfy__history_drop(TfyLoop *loop, Run *run);

/* debug.c: a replay that stops at records; see debug.h */
void tfy__debug_begin(TfyLoop *loop, const struct TfyStepping *stepping);
void tfy__debug_stop(TaskRest *rest, uint32_t index); /* it is about to take this record */
void tfy__debug_end(Run *run);                        /* everything was taken, or a difference was met */

/* A replay after which somebody looks at the run as it stands then; 0: fine. */
typedef int TfyRunCheck(Run *run, void *state);
int tfy__replay_checked(const TfyProgram *program, TfyHistory *history, const TfyOptions *options, TfyRunCheck *check,
                        void *state, struct TfyReplayReport *report);

/* fork.c: runs that began as a copy of another one's records */
/* What its first record says, or the snapshot that it begins at; `first` is the number of the record that copies are
 * counted from. False: no memory. */
bool tfy__fork_begin(Run *run, const json_t *forks, int64_t first); /* fork_of, as a payload has it; NULL: none */
uint64_t tfy__fork_seed(const TaskRest *rest);                      /* of the task's next random number */

/* snapshot.c, restore.c and ended.c */
int tfy__snapshot_init(TfyLoop *loop, char *error_text);
void tfy__snapshot_count(Run *run, size_t bytes); /* a record of so many bytes was appended */
void tfy__snapshots_write(TfyLoop *loop);         /* between two slices: of the runs for which it is time */
int tfy__snapshot_write(Run *run);                /* of this one, now; TFY_E_STATE: it cannot have one */
/* Builds the tasks of a new run from the snapshot of its history. 0, or a code with a sentence: then the run holds
 * what was made so far. */
int tfy__snapshot_restore(TfyLoop *loop, Run *run, const TfyHistory *history, char *error_text);
/* A task of the run by its handle, whether it lives, has ended and is at hand, or is found in the log. NULL: there is
 * none. */
TaskRest *tfy__task_known(Run *run, int64_t handle);

/* root.c */
int tfy__root_open(TfyLoop *loop, char *error_text);
void tfy__root_close(TfyLoop *loop);
/* May a run that works there be taken up by this process? */
bool tfy__root_serves(const TfyLoop *loop, const TfyRoot *recorded);
/* The same for a run that was asked for by name: 0, or a code with a sentence; TfyOptions.move_root allows any. */
int tfy__root_check(const TfyLoop *loop, const TfyHistory *history, char *error_text);
/* Records that the run goes on here, where it worked elsewhere. 1: done, and the history is of no use any more; 0: it
 * works here. */
int tfy__root_take(TfyLoop *loop, TfyHistory *history, char *error_text);
/* Whether a parked run works elsewhere, while the store is read: 1, 0, or a negative code. state: the loop. */
int tfy__root_elsewhere(void *state, const TfyLogRun *run);
bool tfy__root_has_parked(TfyLoop *loop, const TfyLogRun *run); /* the same in between: it works here */

/* park.c */
int tfy__park_init(TfyLoop *loop, char *error_text);
int tfy__park_open(TfyLoop *loop); /* from now on parked runs of the program are woken, too */
void tfy__park_consider(Run *run); /* one of its tasks has begun to wait */
/* At those whose time has come. That is no timer: a loop with nothing else to do does not wait for it. */
void tfy__park_look(TfyLoop *loop);
void tfy__park_unlist(Run *run);        /* it goes */
void tfy__park_arm(TfyLoop *loop);      /* the timer for park_next_ms */
uint32_t tfy__park_wake(TfyLoop *loop); /* those that are due; how many */
void tfy__park_resumed(Run *run);       /* it is in memory again: its row has to say so */
/* Brings a parked run back, by its name or one of its tasks. False: there is none. */
bool tfy__park_reach(TfyLoop *loop, const char *name);
bool tfy__park_reach_tid(TfyLoop *loop, int64_t tid);

#endif

/* run.h: a run: its tasks, what they share, and its history while it replays. */
#ifndef CORE_REPLAY_RUN_H
#define CORE_REPLAY_RUN_H

#include "core/task/task.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

struct TfyReplayReport;
struct TfyStepping;

/* Where a run diverged from the run that it was copied from. */
typedef struct Fork {
    int64_t lsn;   /* the last record that was copied */
    uint64_t seed; /* of random and uuid after it */
} Fork;

/* A working root (loop/root.c). */
typedef struct Root {
    TfyRoot at;
    int fd; /* of its directory */
    struct Root *next;
} Root;

/* A program of the loop (loop/programs.c). */
typedef struct Loaded {
    TfyLoop *loop;
    const TfyProgram *program;
    Root *root;          /* where its runs work; NULL: a replay, which has none */
    const char *secrets; /* where the values of its secrets are; NULL: as TfyOptions says */
    int64_t row;         /* its row in the log; 0: not known yet */
    bool snapshots;      /* its runs can be written to a snapshot, and restored */
    bool parks;          /* … and leave memory: it opens no descriptors */
    struct Loaded *next;
} Loaded;

struct Run {
    TfyLoop *loop;
    Loaded *loaded; /* its program, of the loop's */
    TfyLogRun log;  /* id, uuid, state */
    char uuid[37];
    uint64_t seed;                 /* of random and uuid */
    int64_t max_queue, max_memory; /* TfyOptions' when it started; 0: none */
    bool digests_only;             /* it started with record_prompts "digest" */
    TfyCeiling ceiling;            /* with which it started, or what a resume put in its place; owned */
    bool yolo;                     /* a process of it answers every approval with yes, or did */
    struct Budget *budget;         /* what it may ask of models (step/budget.h); NULL: none, or not yet asked */
    uint32_t live;                 /* tasks that have not finished */
    TaskRest *root;
    uint32_t folded_ended; /* its newest folded task that has finished; 0: none */
    TaskRest *tasks;       /* all of its tasks, ended ones included, newest first (TaskRest.next_in_run) */
    Group *groups;         /* every group ever made */
    SignalName *signals;   /* every name that arrived or is waited for */
    SignalId *signal_ids;
    uint64_t signal_count; /* signals that ever arrived: the newest seq */
    Lock **locks;          /* by name: LOCK_BUCKETS lists; NULL before the first use */
    Fork *forks;           /* the run is a fork, perhaps of a fork: oldest first */
    uint32_t fork_count;
    char *trace; /* the id of its caller's trace, which it is part of; owned; NULL: it is a trace of its own */
    bool ended;
    int64_t mail;            /* in a shared database: number of the newest mail that it has taken (loop/claim.h) */
    bool rooted;             /* its records say that it works in its program's root */
    char *result;            /* JSON of the root's value, or NULL */
    char *error;             /* the root's error, for people */
    char *difference;        /* where it differs from its log (diverged.h), owned; NULL: nowhere so far */
    struct Run *prev, *next; /* all runs of the loop, oldest first */
    TfyLink by_uuid;
    TfyLink by_id; /* in a shared database alone */
    struct Run *over_next;   /* in loop->runs_over */
    /* snapshots */
    uint32_t since_records;  /* records since the newest one */
    uint64_t since_bytes;    /* … their payloads */
    uint64_t snapshot_bytes; /* the newest one's size; 0: there is none */
    bool snapshot_due;       /* it is in loop->snapshots_due */
    struct Run *due_next;
    /* parking */
    bool park_listed; /* it will be checked for leaving memory */
    int64_t park_look_ns;
    struct Run *park_next;
    bool stuck_told; /* people were told that no event can wake it */
    bool in_log;     /* tasks that have finished need not be in memory: the log knows them */
    /* replay */
    TfyHistory *history; /* NULL once every record has been taken (or for a new run) */
    bool owns_history;
    bool *taken;             /* per record */
    uint32_t *next_of_task;  /* per record: index of the same task's next record, or NO_INDEX */
    uint32_t *first_of_task; /* per task of the history: index of its first record */
    uint32_t cursor;         /* the lowest record that is not taken */
    LIST(Step) deferred;     /* steps that will go live once the cursor has reached the end */
    /* tasks that are ready meanwhile (T_FOLLOWING and T_QUEUED), in order */
    LIST(TaskRest) turns;
};

static inline const TfyProgram *program_of(const Run *run)
{
    return run->loaded->program;
}

/* spawn.c */
Run *tfy__run_new(TfyLoop *loop, Loaded *loaded, const TfyLogRun *log); /* NULL: no memory */
Run *tfy__run_by_uuid(const TfyLoop *loop, const uint8_t uuid[16]);     /* NULL: it is not in memory */
Run *tfy__run_by_id(const TfyLoop *loop, int64_t id); /* the same, by its row, in a shared database */
/* as if it had never been resumed; nothing of it may be under way */
void tfy__run_discard(TfyLoop *loop, Run *run);
void tfy__run_release(TfyLoop *loop, Run *run); /* all its data; the caller frees the struct */
TaskRest *tfy__run_begin_root(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args, int64_t tid);

/* step.c: appends a record about the whole run, which a replay passes over: the root's passages go on counting */
TfyTicket tfy__run_note(Run *run, TfyRecordType type, const TfyBuffer *payload);

/* replay.c: the history of a run as the source of answers */
const TfyLogRecord *tfy__history_peek(const TaskRest *rest); /* NULL: none left */
void tfy__history_take(TaskRest *rest);                      /* the peeked one; resets passages */
bool tfy__history_at_cursor(const TaskRest *rest);           /* is the peeked one next in the run's order? */
void tfy__history_async(TfyTask *task); /* takes arrivals and cancellations recorded for this place */
/* True: its next record arrived from outside while it was here, but others come before it, so it must wait. */
bool tfy__history_arrives_later(const TfyTask *task);
/* A record that follows from the program: taken and compared, or written. False: the task is halted. */
bool tfy__record_fact(TaskRest *rest, TfyRecordType type, uint32_t point, const TfyBuffer *payload);
/* For records written without suspending: true and *record set: recorded; true and NULL: live; false: diverged. */
bool tfy__history_expect(TaskRest *rest, TfyRecordType type, uint32_t point, const TfyLogRecord **record);
/* Takes the trace of its caller from its first record. False: no memory. */
bool tfy__trace_note(Run *run, const TfyLogRecord *birth);
void tfy__history_diverge(TaskRest *rest, const TfyLogRecord *record, const char *now_format, ...)
    __attribute__((format(printf, 3, 4)));
const char *tfy__kill_reason(const char *why);          /* the static text that equals this one */
/* The payloads of a kill and of a TaskCancel, open for more members; a kill without `by` is not a person's. */
void tfy__put_kill(TfyBuffer *out, const TfyLoop *loop, const char *why, const char *by, bool force);
void tfy__put_cancel(TfyBuffer *out, int64_t passages, const char *why, bool force);
bool tfy__history_live(const TaskRest *rest);           /* may this task append now? */
int64_t tfy__history_born(const Run *run, int64_t lsn); /* the task that a TaskSpawn of the history made */
bool tfy__history_attach(TaskRest *rest);               /* a task was made: finds its records; false: it has none */
void tfy__history_defer(Step *step);                    /* goes live when the cursor has reached the end */
void tfy__history_forget_deferred(Run *run);            /* nothing will go live any more */
void tfy__history_await_turn(TaskRest *rest);           /* ready, but its run replays */
void tfy__history_drop(TfyLoop *loop, Run *run);

/* debug.c: a replay that stops at records (core/loop.h) */
void tfy__debug_begin(TfyLoop *loop, const struct TfyStepping *stepping);
void tfy__debug_stop(TaskRest *rest, uint32_t index); /* before this record is taken */
void tfy__debug_end(Run *run);                        /* every record was taken, or a difference was found */

/* Inspects the run at the end of a replay; 0: no objection. */
typedef int TfyRunCheck(Run *run, void *state);
int tfy__replay_checked(const TfyProgram *program, TfyHistory *history, const TfyOptions *options, TfyRunCheck *check,
                        void *state, struct TfyReplayReport *report);

/* fork.c: runs that started as a copy of another run's records */
/* Reads what its first record says, or the snapshot that it starts at; `first` is the number of the record from
 * which copies are counted. forks: fork_of, as a payload has it; NULL: none. False: no memory. */
bool tfy__fork_begin(Run *run, const json_t *forks, int64_t first);
uint64_t tfy__fork_seed(const TaskRest *rest); /* of the task's next random number */

/* snapshot.c, restore.c and ended.c */
int tfy__snapshot_init(TfyLoop *loop, char *error_text);
void tfy__snapshot_count(Run *run, size_t bytes); /* a record of so many bytes was appended */
void tfy__snapshots_write(TfyLoop *loop);         /* between two slices: writes those that are due */
int tfy__snapshot_write(Run *run);                /* of this run, now; TFY_E_STATE: it cannot have one */
/* Builds the tasks of a new run from the snapshot of its history. 0, or a code with a sentence; the run then holds
 * what was made so far. */
int tfy__snapshot_restore(TfyLoop *loop, Run *run, const TfyHistory *history, char *error_text);
/* A task of the run by its handle, whether it lives, has finished and is in memory, or is found in the log. NULL:
 * there is none. */
TaskRest *tfy__task_known(Run *run, int64_t handle);

/* ceiling.c */
/* Of a new run. given: what its start says; NULL: nothing. False: no memory. */
bool tfy__ceiling_begin(Run *run, const TfyCeiling *given);
void tfy__ceiling_write(const Run *run, TfyBuffer *out, TfyMember member);
/* json: as it was written; NULL: there is none. False: no memory. */
bool tfy__ceiling_read(Run *run, const json_t *json);
/* Whether this process may continue it: 0, or a code with a sentence. */
int tfy__ceiling_check(const Run *run, char *error_text);
/* The options of this process hold for the run from here on; records them if they say anything new. 0, or TFY_E_…. */
int tfy__ceiling_resume(Run *run);
void tfy__ceiling_free(Run *run);
/* A person grants its tools more: "TOOL:reads=PATH". False: no memory. */
bool tfy__ceiling_grant(Run *run, const char *grant);
/* Takes what a record of its history says of this; records of other kinds change nothing. False: no memory. */
bool tfy__ceiling_pass(Run *run, const TfyLogRecord *record);

/* prompts.c */
#define DIGESTS_ONLY "digest" /* TfyOptions.record_prompts, and what such a run records */
bool tfy__is_digests_only(const char *record_prompts);
/* Whether the option has one of its values: 0, or a code with a sentence. */
int tfy__prompts_check(const char *record_prompts, char *error_text);

/* root.c */
/* path NULL: the current directory. *out is the loop's. 0, or TFY_E_ABSENT with a sentence. */
int tfy__root_open(TfyLoop *loop, const char *path, Root **out, char *error_text);
void tfy__roots_close(TfyLoop *loop);
/* May a run that works there continue with this program? */
bool tfy__root_serves(const Loaded *loaded, const TfyRoot *recorded);
/* The same for a run requested by name: 0, or a code with a sentence; TfyOptions.move_root allows any. */
int tfy__root_check(const Loaded *loaded, const TfyHistory *history, char *error_text);
/* Records that a run that worked elsewhere continues in the program's root. 1: done, and the history is out of date;
 * 0: it works there. */
int tfy__root_take(const Loaded *loaded, TfyHistory *history, char *error_text);
/* Whether a parked run of the program works elsewhere, for use while the store is read: 1, 0, or a negative code. state:
 * its Loaded. */
int tfy__root_elsewhere(void *state, const TfyLogRun *run);

/* park.c */
int tfy__park_init(TfyLoop *loop, char *error_text);
int tfy__park_open(TfyLoop *loop); /* from now on wakes parked runs of the program, too */
void tfy__park_consider(Run *run); /* one of its tasks has started to wait */
/* Checks the runs whose time has come. That time is not a timer: a loop with nothing else to do does not wait for
 * it. */
void tfy__park_look(TfyLoop *loop);
/* Lets a run leave memory at once, however short it waits. False: it stays, because something of it is under way. */
bool tfy__park_now(Run *run);
void tfy__park_unlist(Run *run);        /* the run is removed */
void tfy__park_arm(TfyLoop *loop);      /* the timer for park_next_ms */
uint32_t tfy__park_wake(TfyLoop *loop); /* wakes the due runs; returns how many */
void tfy__park_resumed(Run *run);       /* it is in memory again: its row must say so */
/* Brings a parked run back, by its name or one of its tasks. queued: one that has not begun, too. False: there is none. */
bool tfy__park_reach(TfyLoop *loop, const char *name, bool queued);
bool tfy__park_reach_tid(TfyLoop *loop, int64_t tid);

#endif

/* state.h: the loop, with all that the scheduler has: runs, tasks, steps. Private to core/.
 *
 * Its parts have headers of their own: time/timers.h, task/shared.h, task/task.h, task/folded.h, step/steps.h,
 * replay/run.h and leaving.h.
 *
 * Invariants
 *   - One thread owns a loop. A task stands in at most one place: the ready ring, one pending step, a wait for its
 *     children, or nowhere (ended).
 *   - Tasks lie in one reserved stretch of memory and never move; the rest of each is allocated one by one.
 *   - A record is appended (or, in replay, taken from the history) before its effect is visible to any other task or
 *     to the outside.
 *   - passages counts suspensions since the task's last record; it is 0 after every record. What comes from outside
 *     carries it.
 *   - While a run replays, only the task that owns the record at the history's cursor runs, so that tasks meet each
 *     other in the recorded order. It stops where it stopped then, and where it was answered at once now: behind
 *     that, others may come first. Nothing goes live before the cursor has reached the end.
 *   - What a task was handed (a message, a lock, a signal) is its own when its frame goes on with it; before that a
 *     cancellation gives it back.
 *   - Fuel is full after every passage, whether the task waited there or was answered at once: loops are cut at the
 *     same rounds in a replay. */
#ifndef CORE_LOOP_STATE_H
#define CORE_LOOP_STATE_H

#include <signal.h>
#include "base/sys_memory.h"
#include "base/grow.h"
#include "core/loop.h"
#include "core/loop/leaving.h"
#include "core/loop/test.h"
#include "core/replay/run.h"
#include "core/step/steps.h"
#include "core/task/folded.h"
#include "core/time/timers.h"
#include "core/world.h"
#include "observe/line.h"
#include "observe/metrics.h"
#include "value/heap.h"
#include "value/json.h"
#include "wal/rows/payload.h"
#include "wal/log/root.h"

typedef struct Watch {
    int fd;
    TfyFdHandler handler; /* NULL: free */
    void *arg;
    uint32_t generation;
    uint32_t next_free;
} Watch;

/* ---- the loop ---- */

struct TfyLoop {
    const TfyProgram *program;
    TfyOptions options;
    TfyWorld world;
    TfyHeap heap;
    TfyLog *log; /* NULL in a replay */
    bool replay_only;
    TfyRoot root;
    int root_fd;
    bool root_known;         /* runs record it */
    bool only_rooted;        /* runs that do not say where they work are left, too */
    uint32_t left_elsewhere; /* by tfy_resume_all: runs of this program that work elsewhere */
    struct {                 /* parked runs that do, as far as they were met: ascending */
        int64_t *ids;
        size_t count, room;
    } elsewhere;
    char *lock_path;

    TaskCell *cells;     /* reserved: TASK_MAX entries */
    uint32_t task_count; /* entries ever used */
    uint32_t *free_slots;
    uint32_t free_count, free_cap;

    uint32_t *ring;                           /* ready tasks, slot numbers; a power of two */
    uint32_t ring_mask, ring_head, ring_tail; /* free running */

    TaskRest *free_rests; /* linked by next_in_run */
    uint32_t free_rest_count;

    TfyTable by_tid; /* of TaskRest */

    FoldedTasks folded;

    LIST(Run) runs; /* oldest first */
    uint32_t runs_live;

    Timers timers;
    int64_t now_ns, now_ms;
    int64_t wall_read_ns; /* monotonic time at which now_ms was read */
    int64_t looked_ns;    /* the same, of the last look at the log's files */

    void *poller;
    Watch *watches;
    uint32_t watch_cap, watch_free;
    uint32_t watch_count; /* descriptors watched now */

    LIST(Step) sync; /* ascending sync_lsn */
    LIST(Step) work; /* to advance in the next turn */
    Step *free_steps;
    uint32_t in_flight;           /* calls a performer has */
    Step *room_first, *room_last; /* of them those that wait for room (room.c) */
    uint64_t room_timer;          /* when they are tried again; 0: none wait */
    bool room_told;               /* people know that steps wait for room */

    LIST(Outgoing) out;
    int stdout_error; /* errno of what ended it; 0: it is fine */
    size_t out_bytes; /* of text for stdout and stderr among them */
    bool stdout_closed;
    struct TfyOutlet *outlets[3]; /* by descriptor; NULL: it is written directly */
    bool direct[3];               /* … for good: it never blocks */
    signed char terminal[3];      /* 1: it is a terminal, -1: it is not; 0: nobody has asked yet */
    uint64_t left_out;            /* messages and events that nobody read and that were dropped; not told yet */
    uint32_t *muffled;            /* slots of tasks that wait for their output to be read, in order */
    uint32_t muffled_count, muffled_cap;

    Injection *injections;
    struct TfyRehearsal *rehearsal; /* somebody watches: rehearse.h; else NULL */
    Registration *registrations;
    Limiter *limiters;
    TfyTest *test; /* a test of the language runs here; else NULL */
    void *effect_slots[TFY_M_COUNT];
    const TfyPerformer *performers[TFY_F_COUNT];

    void (*on_notice)(void *state, const char *text); /* NULL: nobody listens */
    void *notice_state;
    void (*on_question)(void *state, const TfyQuestion *question);
    void *question_state;

    int64_t park_after_ms; /* a run that waits longer leaves memory; below 0: none does */
    LIST(Run) park_list;   /* runs to be looked at, by time */
    uint32_t parked;       /* runs that have left memory, as far as is known; 0: there is none */
    int64_t park_next_ms;  /* when the first of them has to be back */
    uint64_t wake_timer;
    bool wake_due;            /* that time has come */
    Run *snapshots_due;       /* runs of which one is to be written */
    uint32_t snapshot_every;  /* records from one to the next; 0: never */
    bool snapshot_exactly;    /* … whatever it costs (tests) */
    uint32_t temp_floor;      /* release stack: what lies below belongs to the statement of a frame that is running */
    TfyBuffer payload;        /* of the record or key that is being written */
    TfyBuffer family_payload; /* the same, of a spawn or a task's end */

    int failure;                       /* TFY_E_…: sticky; the loop does nothing any more */
    volatile sig_atomic_t interrupted; /* how often tfy_drain was called, 2 at most: set by a signal handler */
    volatile int64_t grace_ms;         /* … and what it was told the first time */
    volatile int wake_fd;              /* an eventfd that ends the loop's sleep; -1: it has not slept yet */
    bool draining;                     /* nothing starts any more */
    int64_t drain_until_ns;
    void (*on_drain)(void *state, const char *calls, int64_t grace_ms); /* NULL: nobody listens */
    void *drain_state;
    _Atomic(TfyLoop *) *drained_by; /* where a signal handler finds the loop; NULL: nowhere */
    bool shutdown_written;
    uint64_t events;                /* sequence number of the last activity event */
    TfyPal *pal;                    /* live events for subscribers; NULL: nobody can subscribe */
    void (*published)(void *state); /* there is something new for them */
    void *published_state;
    TfyLineFilter lines;     /* log lines that are shown */
    int64_t opened_ms;       /* wall clock: when this process began */
    TfyMetrics metrics;      /* counters; gauges are read when somebody asks */
    bool tells;              /* somebody listens to live events, or log lines of the runtime's own are shown */
    TfyReplayReport *report; /* replay: where differences go */
    const struct TfyStepping *stepping; /* replay that stops at records (debug.h); else NULL */
    uint32_t stop_at;                   /* … at this one next */
    bool stepped_away;                  /* … and is not wanted any more */
    size_t memory_watch;                /* look at the tasks' memory when the heap holds more */
    char *deadlock_text;                /* what tfy_deadlock answered, owned */
    const TfyScheduling *policy;        /* NULL: fifo */
    void *policy_queue;
    uint32_t policy_count; /* ready tasks that stand there */
    uint64_t policy_seq;
    char failure_text[1024];
};

/* A task by its slot number, and the other way round. */
static inline TfyTask *task_at(const TfyLoop *loop, uint32_t slot)
{
    return &loop->cells[slot].task;
}

static inline uint32_t slot_of(const TfyLoop *loop, const TfyTask *task)
{
    return (uint32_t)((const TaskCell *)task - loop->cells);
}

/* The performer of a family; NULL: there is none, or an earlier family has the same. So a walk over all families
 * meets each one once. */
static inline const TfyPerformer *performer_once(const TfyLoop *loop, int family)
{
    for (int before = 0; before < family; before++)
        if (loop->performers[before] == loop->performers[family]) return NULL;
    return loop->performers[family];
}

/* What a step put on the release stack. It may be answered in the middle of another task's statement. */
static inline void cut_temps(TfyTask *task)
{
    tfy_cut(task, task->loop->temp_floor);
}

/* What programs hold of a task: its number counted from its run's root. It stands in recorded arguments, and a run
 * that is imported into another database gets other numbers there but keeps these. */
static inline int64_t tfy__task_handle(const TaskRest *rest)
{
    return rest->log.tid - rest->run->log.root;
}

/* sched.c */
#define SCHED_TASKS 256u /* at most, in one go */
/* Runs the first `count` tasks of the ring, which has that many; answers how many ran: fewer only after a failure. */
uint32_t tfy__sched_run_ready(TfyLoop *loop, uint32_t count);
void tfy__sched_run_task(TfyLoop *loop,
                         TfyTask *task); /* one slice of a task that is ready but does not stand in the ring */
void tfy__sched_wake(TfyTask *task);     /* a step is answered: result or error is set */
void tfy__sched_halt(TfyTask *task);

/* policy.c */
int tfy__policy_init(TfyLoop *loop, const char *name, char *error_text);
uint32_t tfy__policy_run(TfyLoop *loop, uint32_t most); /* like tfy__sched_run_ready, with a policy */
void tfy__policy_close(TfyLoop *loop);

/* memory.c */
#define OVER_MEMORY "over its memory limit" /* why a task is cancelled; delivered, it is a panic */
void tfy__memory_init(TfyLoop *loop);
void tfy__memory_look(TfyLoop *loop); /* cancels tasks that are over the limit */

/* deadlock.c */
bool tfy__deadlocked(const TfyLoop *loop); /* of an idle loop: nothing can ever move any of its live tasks */
int tfy__deadlock_record(TfyLoop *loop);   /* leaves in the chains of stuck runs who waits for whom, and syncs */
bool tfy__deadlock_tell(Run *run);         /* whether it is stuck; people are told, once: others may go on for long */

/* drain.c */
bool tfy__wake_open(TfyLoop *loop);     /* wake_fd is there */
bool tfy__drain_goes_on(TfyLoop *loop); /* begins one, or looks whether something is still waited for */
bool tfy__drain_lets_start(const Step *step);

/* loop.c */
int tfy__loop_open_replay(TfyLoop **loop, const TfyProgram *program, const TfyOptions *options, char *error_text);
int tfy__submit(TfyLoop *loop, const TfyWorkflow *workflow, const TfyValue *args, int64_t *tid);
/* Has the loop failed, if only because the system had no memory for a task's values? Then nothing more is done or
 * recorded. */
bool tfy__loop_starved(TfyLoop *loop);

/* The code of a call that failed. For want of memory nobody may have written a sentence: then this does. */
int tfy__explained(int code, char *error_text);
void tfy__loop_fail_log(TfyLoop *loop,
                        int code); /* the log took no record: its own sentence, with how far it is safe */
void tfy__loop_clock(TfyLoop *loop);
uint32_t tfy__point_line(const TfyLoop *loop, uint32_t number);
/* The file a line of the program lies in, NULL for its main file; *line becomes the line within it. */
const char *tfy__line_file(const TfyProgram *program, uint32_t *line);
const TfyPoint *tfy__point_of(const TfyLoop *loop, uint32_t number);

#endif

/* state.h: the loop, with everything that the scheduler has: runs, tasks, steps. Private to core/.
 *
 * Its parts have headers of their own: time/timers.h, task/shared.h, task/task.h, task/folded.h, step/steps.h,
 * replay/run.h and leaving.h.
 *
 * Invariants
 *   - One thread owns a loop. A task is in at most one place: the ready ring, one pending step, a wait for its
 *     children, or nowhere (finished).
 *   - Tasks are stored in one reserved stretch of memory and never move; the rest of each is allocated separately.
 *   - A record is appended (or, in replay, taken from the history) before its effect is visible to any other task
 *     or to the outside.
 *   - passages counts suspensions since the task's last record; it is 0 after every record. Records of input from
 *     outside carry it.
 *   - While a run replays, only the task that owns the record at the history's cursor runs, so that tasks meet
 *     each other in the recorded order. It stops where it stopped then, and also where it was answered at once
 *     now: after that, others may come first. Nothing goes live before the cursor has reached the end.
 *   - An answer that was handed to a task (a message, a lock, a signal) is its own once its frame continues with
 *     it; before that a cancellation returns it.
 *   - Fuel is full after every passage, whether the task waited there or was answered at once: loops are cut at
 *     the same rounds in a replay. */
#ifndef CORE_LOOP_STATE_H
#define CORE_LOOP_STATE_H

#include <pthread.h>
#include <signal.h>
#include "base/sys_memory.h"
#include "base/grow.h"
#include "core/loop.h"
#include "core/served.h"
#include "core/loop/claim.h"
#include "core/loop/leaving.h"
#include "core/loop/test.h"
#include "core/replay/diverged.h"
#include "core/replay/run.h"
#include "core/step/steps.h"
#include "core/task/folded.h"
#include "core/time/timers.h"
#include "core/world.h"
#include "hub/hub.h"
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

typedef struct Post Post; /* post.c */

/* ---- the loop ---- */

struct TfyLoop {
    const TfyProgram *program; /* the one that it was opened for: of runs that name none */
    LIST(Loaded) programs;     /* that one first */
    TfyOptions options;
    const TfySender *sender; /* of the arrivals from now on (served.h); borrowed; NULL: nobody vouches for them */
    const char *cell_level;  /* "full", "partial": what this machine can do; NULL: not needed yet */
    TfyWorld world;
    TfyHeap heap;
    TfyLog *log;                      /* NULL in a replay */
    bool replay_only, keep_sandboxes; /* keep_sandboxes: tfy__keep_sandboxes was called */
    LIST(Root) roots;                 /* of the programs, each once (root.c) */
    bool root_known, only_rooted;     /* runs record it; also leaves runs that do not record where they work */
    uint32_t left_elsewhere;          /* by tfy_resume_all: runs of these programs that work elsewhere */
    struct {                          /* the parked runs among them that were found so far, ascending */
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

    LIST(Run) runs;   /* oldest first */
    TfyTable by_uuid; /* the same */
    TfyTable by_id;   /* the same, in a shared database alone */
    uint32_t runs_live;
    LIST(Diverged) diverged; /* runs that are set aside (replay/diverged.h), oldest first */
    LIST(Run) runs_over;     /* that have ended and leave memory at the end of the turn (TfyOptions.stay) */

    Timers timers;
    int64_t now_ns, now_ms;
    int64_t wall_read_ns; /* monotonic time at which now_ms was read */
    int64_t looked_ns;    /* monotonic time at which the log's files were last checked */

    struct {
        pthread_mutex_t mutex;
        LIST(Post) waiting;
        LIST(Post) undurable; /* the loop's own: what is called when their records are durable */
        struct {
            TfyPosted call; /* NULL: nothing */
            void *arg;
        } moved[TFY_ON_DURABLE_MOST]; /* … when any are */
        TfyTicket seen;               /* the durable ticket at the last call */
    } posts;                          /* by other threads (post.c) */

    TfyRunsSeen runs_seen;       /* by a server */
    TfyDivergedTold on_diverged; /* NULL: a run that differs from its log fails the loop */
    void *diverged_state;
    void (*turned)(void *state, int64_t took_ns); /* NULL: nobody wants to know */
    void *turned_state;

    void *poller;
    Watch *watches;
    uint32_t watch_cap, watch_free;
    uint32_t watch_count; /* descriptors watched now */

    LIST(Step) sync; /* ascending sync_ticket */
    LIST(Step) work; /* to advance in the next turn */
    Step *free_steps;
    uint32_t in_flight;           /* calls a performer has */
    Step *room_first, *room_last; /* those among them that wait for room (room.c) */
    uint64_t room_timer;          /* when they are tried again; 0: none wait */
    bool room_told;               /* people were told that steps wait for room */

    LIST(Outgoing) out;
    int stdout_error;                     /* errno of the write that ended it; 0: it works */
    size_t out_bytes;                     /* bytes of text for stdout and stderr among them */
    bool prints_to_stderr, stdout_closed; /* stdout_closed: nothing is written to it */
    struct TfyOutlet *outlets[3];         /* by descriptor; NULL: it is written directly */
    bool direct[3];                       /* … for good: it never blocks */
    signed char terminal[3];              /* 1: it is a terminal, -1: it is not; 0: not determined yet */
    bool status_shown, mid_line;          /* on the terminal: a status line; a text that did not end its line */
    uint64_t left_out;                    /* unread messages and events that were dropped and not reported yet */
    uint32_t *muffled;                    /* slots of tasks that wait until their output is read, in order */
    uint32_t muffled_count, muffled_cap;

    Injection *injections;
    const TfyRehearsal *rehearsal; /* NULL: the run is not observed */
    Registration *registrations;
    Limiter *limiters;
    TfyTest *test; /* the test of the language that runs here, or NULL */
    void *effect_slots[TFY_M_COUNT];
    const TfyPerformer *performers[TFY_F_COUNT];

    void (*on_notice)(void *state, const char *text); /* NULL: no listener */
    void *notice_state;
    void (*on_question)(void *state, const TfyQuestion *question);
    void *question_state;

    int64_t park_after_ms; /* a run that waits longer leaves memory; below 0: none does */
    LIST(Run) park_list;   /* runs to be checked, by time */
    uint32_t parked;       /* runs that are known to have left memory; 0: none */
    int64_t park_next_ms;  /* when the first of them must be back in memory */
    uint64_t wake_timer;
    const TfyClaim *claim;    /* of the run that is being resumed; NULL: it was this session's before */
    int64_t deployed_look_ns; /* when the row of its program is looked for; INT64_MAX: it is known */
    uint64_t beat_timer;      /* renews the lease of a shared database's session */
    bool wake_due;            /* that time has come */
    Run *snapshots_due;       /* runs whose snapshot is due */
    uint32_t snapshot_every;  /* records from one to the next; 0: never */
    bool snapshot_exactly;    /* … whatever it costs (tests) */
    uint32_t temp_floor;      /* release stack: those below are a running frame's */
    TfyBuffer payload;        /* of the record or key being written */
    TfyBuffer family_payload; /* the same, of a spawn or a task's end */

    int failure;              /* TFY_E_…: sticky; the loop does nothing more */
    bool finished;            /* tfy__finish was called */
    _Atomic int interrupted;  /* calls of tfy_drain, at most 2; set by a signal handler, or another thread */
    _Atomic int64_t grace_ms; /* … and the grace of its first call */
    _Atomic int wake_fd;      /* an eventfd that ends the loop's sleep; -1: it has not slept yet */
    bool draining;            /* nothing new starts */
    int64_t drain_until_ns;
    void (*on_drain)(void *state, const char *calls, int64_t grace_ms); /* NULL: no listener */
    void *drain_state;
    _Atomic(TfyLoop *) *drained_by; /* where a signal handler finds the loop; NULL: nowhere */
    bool shutdown_written;
    uint64_t events;                /* sequence number of the last activity event */
    TfyPal *pal;                    /* live events for subscribers; NULL: not open */
    void (*published)(void *state); /* there are new events for them */
    void *published_state;
    TfyLineFilter lines;                /* which log lines are shown */
    int64_t opened_ms;                  /* wall clock: when this process started */
    TfyMetrics metrics;                 /* counters; gauges are read on request */
    bool tells;                         /* events or the runtime's own log lines are wanted */
    TfyReplayReport *report;            /* replay: where differences are reported */
    const struct TfyStepping *stepping; /* replay that stops at records; else NULL */
    uint32_t stop_at;                   /* … at this one next */
    bool stepped_away;                  /* … and not at all any more */
    size_t memory_watch;                /* inspect the tasks' memory when the heap holds more */
    char *deadlock_text;                /* tfy_deadlock's last result, owned */
    const TfyScheduling *policy;        /* NULL: fifo */
    void *policy_queue;
    uint32_t policy_count; /* ready tasks in its queue */
    uint64_t policy_seq;
    char failure_text[1024];
};

/* A task by its slot number, and the reverse. */
static inline TfyTask *task_at(const TfyLoop *loop, uint32_t slot)
{
    return &loop->cells[slot].task;
}

static inline uint32_t slot_of(const TfyLoop *loop, const TfyTask *task)
{
    return (uint32_t)((const TaskCell *)task - loop->cells);
}

/* The performer of a family; NULL: there is none, or an earlier family has the same one. So a walk over all
 * families visits each performer once. */
static inline const TfyPerformer *performer_once(const TfyLoop *loop, int family)
{
    for (int before = 0; before < family; before++)
        if (loop->performers[before] == loop->performers[family]) return NULL;
    return loop->performers[family];
}

/* Drops what a step put on the release stack. A step may be answered in the middle of another task's statement. */
static inline void cut_temps(TfyTask *task)
{
    tfy_cut(task, task->loop->temp_floor);
}

/* A program's handle of a task: its number counted from its run's root. Recorded arguments contain it, and a run
 * that is imported into another database gets other task numbers but keeps its handles. */
static inline int64_t tfy__task_handle(const TaskRest *rest)
{
    return rest->log.tid - rest->run->log.root;
}

/* loop.c */
int tfy__loop_open_replay(TfyLoop **loop, const TfyProgram *program, const TfyOptions *options, char *error_text);
int tfy__submit(TfyLoop *loop, Loaded *loaded, const TfyWorkflow *workflow, const TfyValue *args, const TfyStart *start,
                int64_t *tid);
/* Has the loop failed, if only because the system had no memory for a task's values? Then nothing more is done or
 * recorded. */
bool tfy__loop_starved(TfyLoop *loop);

/* Returns the code of a call that failed. If lack of memory left it without a sentence, adds one. */
int tfy__explained(int code, char *error_text);
/* The log took no record: fails with the log's own sentence, which says how far the log is safe. */
void tfy__loop_fail_log(TfyLoop *loop, int code);
void tfy__loop_clock(TfyLoop *loop);

#include "core/loop/phases.h"

#endif

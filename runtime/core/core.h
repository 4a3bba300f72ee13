/* core.h: the scheduler's own data: loop, runs, tasks, pending steps. Private to core/.
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
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <jansson.h>
#include <signal.h>
#include <string.h>

#include "base/buffer.h"
#include "base/grow.h"
#include "base/list.h"
#include "base/sys_memory.h"
#include "base/table.h"
#include "core/effect.h"
#include "core/loop.h"
#include "core/loop/test.h"
#include "core/world.h"
#include "observe/line.h"
#include "observe/metrics.h"
#include "observe/pal.h"
#include "value/heap.h"
#include "value/json.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"
#include "wal/log/root.h"

#define TASK_MAX    (1u << 22) /* tasks alive at once in a process */
#define DEPTH_MAX   100000u    /* nested workflow calls; 64 more while cleaning up */
#define DEPTH_SPARE 64u
#define FIRST_STACK (128u - (uint32_t)sizeof(TfyTask)) /* bytes of stack that come with a task */
#define NO_INDEX    UINT32_MAX
#define SPAWN_FUEL  16u /* what a spawn costs, in turns of a loop: others are let in before thousands were made */

#define UNLIKELY(condition) __builtin_expect(condition, 0)

/* task->state: a TfyTaskState in the low byte, flags above. */
enum {
    T_STATE = 0xff,
    T_CANCEL = 1 << 8,     /* a cancellation waits to be delivered */
    T_RETURNING = 1 << 9,  /* the top frame is done and waits for its children */
    T_HALTED = 1 << 10,    /* divergence or failed log: never run again */
    T_REPLAYING = 1 << 11, /* has records of its history left */
    T_QUEUED = 1 << 12,    /* stands in the ready ring */
    T_FREE = 1 << 13,      /* slot is free */
    T_FOLLOWING =
        1
        << 14, /* its run replays: when ready it waits for its turn, and runs when the history's cursor stands at its record */
    T_MUFFLED = 1 << 16,  /* it has printed more than anybody reads: it waits before it runs again */
    T_ANSWERED = 1 << 15, /* task->result or task->error is an answer that no frame has taken yet */
};

/* frame->flags */
enum {
    FRAME_TIMED_OUT = 1, /* the call ran out of time; its cancellation becomes a Timeout at its boundary */
    FRAME_EXPIRED = 2,   /* the time is up, and the task has not been told yet: a finally within the call runs */
    FRAME_UNDOING = 8,   /* it has returned, was cancelled while it waited for its children, and undoes its steps */
    FRAME_SPAWNED = 4,   /* had a child: its end counts as a suspension, whether or not a child is still alive */
};

typedef struct TaskRest TaskRest;
typedef struct Run Run;
typedef struct Step Step;
typedef struct FdWait FdWait; /* wait_fd.c */

/* Steps that wait for the same thing, in order of arrival. A step stands in at most one. */
typedef struct WaitQueue {
    Step *first, *last;
} WaitQueue;

typedef struct Message {
    uint64_t seq;   /* of its channel, from 1 */
    TfyValue value; /* kept */
} Message;

/* A channel. Its number follows from its maker and is the same in every replay: nothing about its making is recorded. */
typedef struct Channel {
    char *name;                /* "1.2/1": its maker's path and the how manieth it made; owned */
    int64_t capacity;          /* messages that are accepted before somebody receives */
    const TfyType *elem;       /* what it carries; NULL before the first message */
    Message *ring;             /* those accepted and not received */
    uint32_t head, count, cap; /* cap: a power of two, or 0 */
    uint64_t sent;             /* messages ever accepted: the newest seq */
    bool closed;
    WaitQueue senders, receivers;
} Channel;

/* A lock or semaphore of a run, made by its first use. */
typedef struct Lock {
    TfyObj *name;    /* string, kept */
    int64_t permits; /* 1: a lock */
    int64_t free;    /* permits that nobody holds */
    WaitQueue waiters;
    struct Lock *next; /* bucket of the run's table */
} Lock;
#define LOCK_BUCKETS 256u

/* A signal that came for a run. */
typedef struct Signal {
    char *value;  /* JSON, owned */
    uint64_t seq; /* of its run, from 1 */
    struct SignalName *name;
    struct Signal *next;
} Signal;

/* The signals of one name that nobody took yet, oldest first, and the tasks that wait for one: only one of the two
 * has any. */
typedef struct SignalName {
    TfyObj *text; /* string, kept */
    LIST(Signal) kept;
    WaitQueue waiters;
    struct SignalName *next; /* all names of the run */
} SignalName;

/* The id that a sender gave a signal, so that it can send it again without harm. */
typedef struct SignalId {
    struct SignalId *next;
    char text[];
} SignalId;

/* A permit that a task holds. */
typedef struct Hold {
    Lock *lock;
    struct Hold *next;
} Hold;

/* The bodies of one parallel or race. It lives as long as its run. */
typedef struct Group {
    uint32_t alive;         /* bodies that have not ended */
    TaskRest *first_ended;  /* the first to end, in the order of the log; NULL: none yet */
    TaskRest *first_failed; /* the first that did not end well; NULL: none yet */
    WaitQueue waiter;       /* the parent's step, while it waits for them: parallel, race, room or abandon */
    struct Group *next;     /* all groups of the run */
} Group;

/* ---- bounds on the use of a tool ---- */

/* The steps of one run that wait for a tool, in order of arrival. */
typedef struct LimitTurn {
    const Run *run;
    WaitQueue waiters;
    struct LimitTurn *next; /* the run whose turn comes then */
} LimitTurn;

/* The beginning of a step of a tool with `rate`. */
typedef struct LimitStart {
    int64_t at_ns; /* monotonic clock; one of an earlier process is as long ago as its record by the wall clock */
    int64_t run;   /* row id of its run */
} LimitStart;

/* A tool with `limit` or `rate`, made by its first use. */
typedef struct Limiter {
    TfyLoop *loop;
    const TfyTool *tool;
    uint32_t in_use;                  /* steps that were admitted and have not left */
    uint32_t start_head, start_count; /* ring of tool->rate entries: */
    LimitStart *starts;               /* the newest starts, the earliest first */
    uint64_t timer;                   /* when the window has moved; 0: nobody waits for that */
    LIST(LimitTurn) turns;            /* runs in whose name steps wait, the next to be served first */
    struct Limiter *next;
} Limiter;

/* A task that begins when another has ended. */
typedef struct Follower {
    TaskRest *child;
    struct Follower *next;
} Follower;

/* ---- timers ---- */

/* A hierarchical wheel: six levels of 256 slots with a bitmap each. A slot of level k holds the timers of 256^k ticks
 * (a tick: a millisecond), oldest first; a timer lies on the level of the highest digit in which its tick differs
 * from the wheel's, so all of a lower level come before all of a higher one. The wheel turns only as far as it has
 * to: when a slot's time has come, its timers are spread over the levels below.
 *   - Every timer that is set stands in one list, of a slot or `due`, or in the heap `late`.
 *   - Timers of the wheel's own tick and earlier are not in slots: those that came up with it are in `due`, by
 *     (due_ns, creation); those that were set since are in `late`, which is a heap, as nothing is known about their
 *     order.
 *   - The wheel moves on when both are empty. So timers with the same deadline fire in the order of their creation. */
enum {
    WHEEL_LEVELS = 6, /* 2^48 ticks: more than an int64_t of nanoseconds has */
    WHEEL_BITS = 8,
    WHEEL_SLOTS = 1 << WHEEL_BITS,
    TIMER_HANDLERS = 64, /* different ones */
};

typedef struct Timer {
    int64_t due_ns;
    void *arg;
    uint32_t next, prev; /* neighbours in its list; late: 0, and its place in the heap */
    uint32_t generation; /* how often this node was used, from 1: the handle's upper half */
    uint16_t place;      /* level * WHEEL_SLOTS + slot, or TIMER_… */
    uint8_t handler;     /* index into handlers */
} Timer;

enum { TIMER_DUE = WHEEL_LEVELS * WHEEL_SLOTS, TIMER_LATE, TIMER_FREE };

typedef struct TimerList {
    uint32_t first, last; /* nodes; 0: none */
} TimerList;

typedef struct LateTimer {
    int64_t due_ns;
    uint64_t seq; /* in order of creation */
    uint32_t node;
} LateTimer;

/* A node that is free again, and its next generation: a timer is set without reading the node. */
typedef struct SpareTimer {
    uint32_t node, generation;
} SpareTimer;

typedef struct Timers {
    Timer *nodes;       /* by number; 0 is none */
    uint32_t cap, used; /* nodes there is room for; that were ever used, with node 0 */
    SpareTimer *spare;  /* nodes that are free again; room for cap */
    uint32_t spare_count;
    uint32_t count; /* timers that are set */
    uint64_t tick;  /* where the wheel stands */
    uint64_t full[WHEEL_LEVELS][WHEEL_SLOTS / 64];
    TimerList slots[WHEEL_LEVELS * WHEEL_SLOTS];
    TimerList due;
    LateTimer *late; /* 4-ary heap by (due_ns, seq) */
    uint32_t late_count, late_cap;
    uint64_t late_seq;
    int64_t next_ns; /* what tfy__timers_next said; valid if next_known */
    bool next_known;
    uint8_t handler_count;
    TfyTimerHandler handlers[TIMER_HANDLERS];
} Timers;

void tfy__timers_deinit(Timers *timers);
uint64_t tfy__timers_add(Timers *timers, int64_t due_ns, TfyTimerHandler fire, void *arg); /* 0: no memory */
void tfy__timers_del(Timers *timers, uint64_t handle);
bool tfy__timers_has(const Timers *timers, uint64_t handle);
/* What a timer does when it fires; when that is stays. node: the handle's lower half; answers the handle, 0:
 * there are too many handlers. */
uint64_t tfy__timers_redirect(Timers *timers, uint32_t node, TfyTimerHandler fire, void *arg);
int64_t tfy__timers_due(const Timers *timers, uint64_t handle); /* of one that is set */
/* No timer is due earlier; INT64_MAX: there is none. Exact but for a slot of many timers: then it can be the slot's
 * begin, and who waits until then, fires what is due and asks again gets a better answer. */
int64_t tfy__timers_next(Timers *timers);
bool tfy__timers_fire_one(Timers *timers, int64_t now_ns); /* the earliest, if it is due */

/* ---- runs ---- */

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

/* ---- tasks ---- */

/* A `with deadline` block that has begun. */
typedef struct Deadline {
    uint32_t frame; /* its frame, an offset on the stack */
    uint32_t scope; /* its number among the task's scopes: calls and blocks */
    uint16_t mask;  /* its frame's mask when it began: a higher one now means that a finally within it runs */
    uint16_t flags; /* FRAME_EXPIRED, FRAME_TIMED_OUT */
    uint64_t timer;
} Deadline;

/* What is to be done when what a step did has to be undone. */
typedef struct Undo {
    uint32_t frame;  /* whose entry it is, an offset on the stack */
    uint32_t height; /* entries of that frame, this one included */
    const TfyWorkflow *block;
    const TfyPoint *point; /* of the step */
    TfyValue *args;        /* block->param_count of them, kept */
    bool idle;             /* no attempt is under way: none has begun yet, or it pauses between two */
    bool once;             /* the newest attempt is of a once step … */
    bool started;          /* … and its StepStart is in the log */
    bool unknown;          /* an attempt that has ended may have done it */
} Undo;

/* A frame with FRAME_UNDOING. */
typedef struct Unwinding {
    TfyObj *error;           /* pending until its blocks have run, owned */
    const TfyPoint *point;   /* of the step whose block runs */
    struct Unwinding *below; /* of a frame below */
} Unwinding;

/* A task's hot part and the beginning of its stack, in two cache lines that are fetched together; tfy.h says which
 * one is written when. */
typedef struct TaskCell {
    TfyTask task;
    char stack[FIRST_STACK];
} TaskCell;
_Static_assert(sizeof(TaskCell) == 128, "two cache lines");

/* The neighbours of a live child among those of its parent's frame, as references: 0 is none, else the child's slot +
 * 1 or, of one that is folded, FOLDED_REF and its number. */
typedef struct Siblings {
    uint32_t prev, next;
} Siblings;
#define FOLDED_REF 0x80000000u

/* The part of a task that is not touched by a plain yield. */
struct TaskRest {
    TfyTask *task;  /* NULL once ended and its slot was given back */
    TfyLogTask log; /* tid, path, head, chain, step */
    Run *run;
    const TfyWorkflow *workflow;
    uint32_t stack_cap;    /* bytes */
    uint32_t spawned;      /* children so far: numbers paths */
    uint64_t randoms;      /* random numbers drawn */
    TaskRest *parent;      /* who spawned it; NULL for a root */
    uint32_t parent_frame; /* offset of the frame that did */
    Siblings siblings;     /* live children of that frame */
    Step *step;            /* the step under way */
    WaitQueue joiners;     /* steps that wait for this task's end */
    Follower *followers;   /* tasks that begin after it */
    uint32_t after_left;   /* how many it begins after are still alive; 0: it may begin */
    int32_t priority;
    Group *group; /* it is a body of a parallel or race; NULL: no */
    /* cancellation: T_CANCEL is set while the kill below or an expired call (FRAME_EXPIRED) waits to be delivered */
    bool kill;            /* a cancellation of the whole task waits */
    bool kill_force;      /* … and skips cleanup */
    bool cancelled;       /* a cancellation of the whole task was delivered */
    const char *kill_why; /* static text: "killed", "its parent failed" … */
    /* A cancellation asked for while the run replays: repeated when it goes live, unless its history had it. */
    const char *cancel_again;
    bool cancel_again_force;
    Deadline *deadlines; /* blocks with a deadline, those of inner frames behind those of outer ones */
    uint32_t deadline_count, deadline_cap;
    Unwinding *unwinding; /* innermost first */
    Undo *undos;          /* entries, those of inner frames behind those of outer ones */
    uint32_t undo_count, undo_cap;
    Channel **channels; /* those it made */
    uint32_t channel_count, channel_cap;
    Hold *holds; /* the permits it has, newest first */
    /* What its answer took from others: given back when nobody takes the answer. At most one is set. */
    Channel *granted_from;
    uint64_t granted_seq;
    Lock *granted_lock;
    struct Signal *granted_signal; /* owned */
    const TfyType *answer_type;    /* of task->result while it waits to be taken; NULL: nothing there */
    /* replay */
    uint32_t next_record;            /* index into run->history of the next own record; NO_INDEX: none left */
    TaskRest *turn_prev, *turn_next; /* neighbours in the run's queue of tasks that wait for their turn */
    /* after the end */
    TfyTaskState end_state;              /* COMPLETED, FAILED, CANCELLED; 0 while alive */
    TfyValue value;                      /* its result, owned */
    TfyObj *failure;                     /* its error, owned */
    char *failure_text;                  /* for people: "StepFailed: … (build, line 12)" */
    bool unheld;                         /* nobody in its run has its handle */
    bool joined;                         /* somebody has had its answer: an unjoined failure is reported */
    TaskRest *prev_in_run, *next_in_run; /* run->tasks; next: also the free list */
    TfyLink by_tid;
    char short_path[24]; /* log.path points here when it fits */
};

/* ---- folded tasks ---- */

/* What is kept of a task of which little is left: of one that sleeps, one frame deep and with nothing else hanging on
 * it, and of one that has ended well. Its cell, its TaskRest and its step are given back; when its timer fires, or when
 * anybody asks for it, they are made again as they were (fold.c).
 *   - It stands in no list of tasks: tfy__task_by_tid finds it and unfolds it, and whoever walks over run->tasks asks
 *     for those that sleep.
 *   - Asleep, it keeps its place among its parent's children, by reference, and its timer. Its parent has a live
 *     child, so it is never folded itself: its slot and its frames stay where they are.
 *   - The log has its row as of its head; nothing refers to its TfyLogTask.
 *   - Its run does not replay: a replay folds nothing, and whether a task was folded leaves no trace in the log. */
typedef enum FoldedKind {
    FOLDED_FREE,
    FOLDED_CHILD, /* asleep */
    FOLDED_LOOSE, /* asleep, and nobody's child: detached */
    FOLDED_ENDED,
} FoldedKind;

typedef struct FoldedExtra FoldedExtra; /* fold.c */

typedef struct Folded {
    int64_t tid, head;
    uint64_t chain;
    union {
        TfyValue value;     /* asleep: its only live slot; ended: its result, owned */
        FoldedExtra *extra; /* asleep with has_extra; owned */
    };
    uint32_t born_back; /* records from its born to its head */
    uint32_t step;
    uint32_t next; /* in its bucket of by_tid; free: the next free one */
    uint16_t place;
    uint8_t kind; /* FoldedKind */
    bool has_extra : 1, unheld : 1;
    union {
        struct {
            uint32_t parent, parent_frame; /* a child: its parent's slot, the frame's offset on its stack */
        };
        Run *run; /* others */
    };
    union {
        struct {
            union {
                struct {
                    Siblings siblings; /* a child */
                    uint32_t ordinal;  /* the end of its path */
                };
                char loose_path[12];
            };
            uint32_t timer; /* node */
            int64_t due_ms;
        };
        struct {
            char path[16];                   /* ended */
            uint32_t ended_prev, ended_next; /* neighbours in its run's list; 0: none */
        };
    };
} Folded;
_Static_assert(sizeof(Folded) == 80, "a million of them are meant to be small");

/* Where a task can stand when it is folded: what all that do so share. */
typedef struct FoldedPlace {
    const TfyWorkflow *workflow; /* NULL: a free entry of the table */
    const TfySite *site;         /* of its sleep; NULL: it has ended */
    uint32_t pc;
} FoldedPlace;
#define FOLDED_PLACES 1024u /* a hash table, at most three quarters full */

typedef struct FoldedChunk FoldedChunk; /* fold.c */

typedef struct FoldedTasks {
    FoldedChunk **chunks;
    uint32_t chunk_count, chunk_cap, used; /* numbers ever used, with 0, which is none */
    uint32_t first_free;                   /* 0: none */
    uint32_t asleep;                       /* live tasks among them */
    uint32_t *by_tid;                      /* hash table of numbers */
    uint32_t by_tid_cap, count;
    FoldedPlace *places;
    uint32_t place_count;
} FoldedTasks;

/* Steps that people answer. */
static inline bool is_question(const TfyTool *tool)
{
    return tool->family == TFY_F_APPROVE || tool->family == TFY_F_ASK;
}

/* Steps that wait until a descriptor is ready and do nothing with it. */
static inline bool is_io_wait(const TfyTool *tool)
{
    return tool->family == TFY_F_READABLE || tool->family == TFY_F_WRITABLE;
}
/* What the result of a step is recorded as, unless its performer says otherwise. */
static inline uint8_t result_record(const TfyTool *tool)
{
    return is_io_wait(tool) ? TFY_R_IO_READY : TFY_R_TOOL_RESULT;
}

static inline TaskRest *rest_of(const TfyTask *task)
{
    return task->rest;
}
static inline TfyFrame *frame_at(const TfyTask *task, uint32_t offset)
{
    return (TfyFrame *)(task->stack + offset);
}
/* Frames on its stack. */
static inline uint32_t depth_of(const TfyTask *task)
{
    return task->top == TFY_NO_FRAME ? 0 : frame_at(task, task->top)->depth;
}
/* The top frame is gone: the one below it, at frame->prev, is running. */
static inline void leave_frame(TfyTask *task, TfyFrame *frame, uint32_t prev)
{
    task->top = prev;
#ifdef TFY_POISON
    memset(frame, 0xde, frame->workflow->frame_size);
#endif
}
/* Does anything hang on a frame that would have to end with it? Children, mask and flags are one word. */
static inline bool frame_is_bare(const TfyFrame *frame)
{
    uint64_t word;
    _Static_assert(offsetof(TfyFrame, depth) == offsetof(TfyFrame, children) + sizeof word, "they lie together");
    memcpy(&word, (const char *)frame + offsetof(TfyFrame, children), sizeof word);
    return !(word | frame->timer);
}
static inline TfyTaskState state_of(const TfyTask *task)
{
    return task->state & T_STATE;
}
static inline void set_state(TfyTask *task, TfyTaskState state)
{
    task->state = (task->state & ~(uint32_t)T_STATE) | state;
}

/* A task that goes from one plain yield to the next keeps the state it has in the ring; before it does anything else
 * it is marked. */
static inline void mark_running(TfyTask *task)
{
    task->state = (task->state & ~(uint32_t)(T_QUEUED | T_STATE)) | TFY_TASK_RUNNING;
}

/* ---- steps under way ---- */

typedef enum Stage {
    STAGE_BEGIN,   /* an attempt is to begin: TaskYield (timeout, sleep), StepStart */
    STAGE_OUTCOME, /* begun; the outcome comes from the history, or else the work has to be started */
    STAGE_SYNC,    /* waits until everything appended is durable */
    STAGE_RUN,     /* the performer, a timer, a person or another task has it */
    STAGE_SETTLE,  /* the attempt failed (task->error): try again or give up */
    STAGE_BACKOFF, /* waits before the next attempt */
    STAGE_DOUBT,   /* a once step may have happened: waits for its probe or a person */
} Stage;

enum { FEW_ARGS = 4 };

/* Which flags a step may have in which stage; step.c checks it each time the step is advanced.
 *
 *             in_call  in_sync  probing  queue
 *   BEGIN        -        -        -      may: in the line of a tool with a limit
 *   OUTCOME      -        -        -      -
 *   SYNC         -        yes      -      -
 *   RUN         may       -        -      may: an inner wait, which has no performer
 *   SETTLE       -        -        -      -
 *   BACKOFF      -        -        -      -
 *   DOUBT       may      may      may     -
 *
 * A step whose queue still holds it when it is freed is `dead` until the queue lets go of it; it is nobody's step
 * then. Only a step of a run that replays is `deferred`. `admitted` follows `lined_up`, and `limiter` is set only for an
 * admitted one. */
struct Step {
    TfyCall call; /* what the performer sees; call.args are kept */
    TaskRest *rest;
    Stage stage;
    int64_t retry, backoff_ms, timeout_ms;
    int64_t asks;        /* prompts: further askings left */
    int64_t due_ms;      /* wall clock: of the timeout, the backoff or the sleep; 0: none */
    bool counted;        /* this suspension was counted in passages */
    bool started;        /* StepStart is in the log for this attempt */
    bool from_history;   /* … and was there when the process began: a crash fell in between */
    bool timeout_begun;  /* TaskYield is in the log for this attempt */
    bool bounded;        /* due_ms is that of the timeout, not the end of a sleep */
    bool in_call;        /* the performer has it */
    bool unanswered;     /* … but never will answer: it is not in flight (rehearse.h) */
    bool probing;        /* the performer has its probe */
    bool doubt_recorded; /* InDoubt is in the log */
    bool waits_room;     /* in_call, but there was no room to begin: it stands in the loop's queue for room … */
    bool waited_room;    /* … or has, in this call */
    bool unknown;        /* an earlier attempt of this once step may have done it */
    bool backoff_only;   /* tfy_backoff: not an effect */
    bool deferred;       /* stands in run->deferred */
    bool in_sync;        /* stands in the loop's sync queue */
    bool in_work;        /* stands in the loop's work queue */
    int64_t begun_ns;    /* in_call: when the performer was given it */
    bool told_idle;      /* live events said that it waits */
    bool asking;         /* approve, ask: the question was shown */
    bool lined_up;       /* a tool with a limit: it has asked for admission … */
    bool admitted;       /* … and was admitted */
    bool noted;          /* … before the snapshot that it was restored from, which has its start */
    bool dead;           /* freed as soon as it has left the queues above */
    int64_t sync_lsn;    /* STAGE_SYNC: what must be durable */
    uint64_t timer;
    TaskRest *target; /* join: whom; NULL: unknown */
    Limiter *limiter; /* in whose in_use it is counted; NULL: in none */
    char *
        failure; /* in doubt: the error its attempt ended with, as JSON, owned; NULL: the process ended, or it is not in doubt */
    TfyValue few_args[FEW_ARGS]; /* call.args of a tool with few parameters */
    char key[160];
    Step *sync_next; /* each queue has its own link */
    Step *work_next;
    Step *deferred_next;
    Step *room_next;
    FdWait *fd_wait;               /* the tool waits for a descriptor of its own; NULL: it does not */
    WaitQueue *queue;              /* where it waits for something inside its run; NULL: nowhere */
    Step *queue_prev, *queue_next; /* neighbours there; next: also the free list */
};

/* ---- what leaves the process ---- */

typedef struct Outgoing {
    int64_t lsn; /* leaves when this is durable */
    enum {
        OUT_STDOUT,
        OUT_STDERR,
        OUT_EVENT,
        OUT_LET_GO, /* text is a run's uuid, arg a handle */
        OUT_DOUBT,  /* people are told of a step in doubt; arg is its task's tid */
        OUT_NUDGE   /* subscribers may be told what waited for the lsn */
    } to;
    int64_t arg;
    char *text; /* owned */
    size_t len;
    uint64_t seq; /* OUT_EVENT: its number */
    TfyPalEvent event;
    struct Outgoing *next;
} Outgoing;

/* A tool that the embedding program performs itself (tfy_register_effect). */
typedef struct Registration {
    char *tool;     /* its name, owned */
    TfyEffect call; /* NULL: taken back */
    void *state;    /* the embedding program's */
    struct Registration *next;
} Registration;

typedef struct InjectedAnswer {
    char *json, *error;
    struct InjectedAnswer *next;
} InjectedAnswer;

/* Answers given by a test (tfy_inject), per tool. */
typedef struct Injection {
    char *tool;
    LIST(InjectedAnswer) answers;
    struct Injection *next;
} Injection;
void tfy__answers_free(TfyLoop *loop); /* those that were given beforehand, and what was registered */

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

/* task.c */
uint32_t tfy__tasks_limit(const TfyLoop *loop);
bool tfy__tasks_full(const TfyLoop *loop); /* no further one may be made */
int tfy__tasks_init(TfyLoop *loop);
void tfy__tasks_deinit(TfyLoop *loop);
TaskRest *tfy__task_new(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, int64_t tid,
                        const char *path); /* NULL: no memory */
void *tfy__task_push(TfyTask *task, const TfyWorkflow *workflow);
void tfy__task_pop(TfyTask *task);
/* Calls and returns of a task take care while a test watches it, a deadline bounds it, or it has something to undo:
 * whoever begins one of these says so here; where it turns out at a call that none is left, care ends. */
static inline void take_care(TfyTask *task)
{
    task->room = 0;
}
void tfy__frame_release(TfyTask *task, TfyFrame *frame); /* its slots; it is not run again */
void tfy__task_release_frames(TfyTask *task);            /* all of them, without running anything */
void tfy__answer_drop(TfyTask *task);
void tfy__task_give_back(TaskRest *rest); /* the slot; the rest stays for joiners */
void tfy__task_vacate(TaskRest *rest);    /* the same, of a task whose frames hold nothing any more */
void tfy__rest_free(TfyLoop *loop, TaskRest *rest);
void tfy__rest_retire(TfyLoop *loop, TaskRest *rest); /* the same, of one that holds nothing any more */
TaskRest *tfy__task_new_ended(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, int64_t tid,
                              const char *path);               /* one that has no slot any more; NULL: no memory */
TaskRest *tfy__task_by_tid(TfyLoop *loop, int64_t tid);        /* unfolds it; NULL: there is none */
TaskRest *tfy__task_by_path(const Run *run, const char *path); /* the same */
/* What programs hold of a task: its number counted from its run's root. It stands in recorded arguments, and a run
 * that is imported into another database gets other numbers there but keeps these. */
static inline int64_t tfy__task_handle(const TaskRest *rest)
{
    return rest->log.tid - rest->run->log.root;
}
TaskRest *tfy__task_of_handle(const Run *run, int64_t handle); /* NULL: the run has no such task */
void tfy__ready_push(TfyLoop *loop, TfyTask *task);

/* fold.c */
void tfy__fold_asleep(
    TfyTask *task); /* it has just begun to wait, for time alone: folds it if it may and is worth it */
/* Its slot was given back: folds it if it may, or forgets it when nobody can ask for it. The caller forgets the TaskRest. */
void tfy__fold_ended(TaskRest *rest);
TaskRest *tfy__unfold(TfyLoop *loop, Folded *folded);         /* NULL: no memory; the loop has failed */
Folded *tfy__folded_by_tid(const TfyLoop *loop, int64_t tid); /* NULL: none */
/* Those that sleep, of one run or (NULL) of all, in no particular order: the next one behind *at, which begins as 0.
 * NULL: no more. */
Folded *tfy__folded_next(const TfyLoop *loop, const Run *run, uint32_t *at);
bool tfy__unfold_run(Run *run, uint32_t most);                 /* so many that sleep; false: the loop has failed */
Folded *tfy__folded_by_path(const Run *run, const char *path); /* looks at all of them; NULL: none */
const TfyPoint *tfy__folded_point(const TfyLoop *loop, const Folded *folded); /* where it sleeps */
const TfyValue *tfy__folded_values(const Folded *folded);                     /* of the point's live slots, in order */
Siblings *tfy__siblings(TfyLoop *loop, uint32_t child);                       /* of a reference */
TaskRest *tfy__child(TfyLoop *loop, uint32_t child);                          /* unfolded; NULL: the loop has failed */
void tfy__folded_drop(Run *run); /* those that have ended: the run leaves memory */
void tfy__fold_run(Run *run);    /* tasks that were unfolded to be looked at */
void tfy__folded_free(TfyLoop *loop);

/* sched.c */
#define SCHED_TASKS 256u /* at most, in one go */
/* Runs the first `count` tasks of the ring, which has that many; answers how many ran: fewer only after a failure. */
uint32_t tfy__sched_run_ready(TfyLoop *loop, uint32_t count);
void tfy__sched_run_task(TfyLoop *loop,
                         TfyTask *task); /* one slice of a task that is ready but does not stand in the ring */
void tfy__sched_wake(TfyTask *task);     /* a step is answered: result or error is set */
void tfy__sched_halt(TfyTask *task);

/* family.c and cancel.c */
Run *tfy__run_new(TfyLoop *loop, const TfyLogRun *log);
void tfy__run_discard(TfyLoop *loop, Run *run); /* as if it had never been taken up; nothing of it may be under way */
void tfy__run_release(TfyLoop *loop, Run *run); /* all it holds; the struct is the caller's to free */
TaskRest *tfy__run_begin_root(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args, int64_t tid);
void tfy__task_finish(TfyTask *task);                        /* task->error or task->result says how */
typedef enum Bond { BOND_CHILD, BOND_BODY, BOND_NONE } Bond; /* a child, a body of a group, a detached task */
/* Starts a task of the run; the answer, or NULL with task->error set or the task halted. */
TaskRest *tfy__task_spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                          Bond bond);
char *tfy__failure_sentence(const TaskRest *rest,
                            const TfyObj *error);     /* for people; the caller frees it; NULL: no memory */
const char *tfy__failure_kind(const TaskRest *ended); /* TaskFailed.kind of a task that did not end well */
void tfy__children_cancel(TfyTask *task, const TfyFrame *frame, const char *why);
void tfy__cancel_request(TaskRest *rest, const char *why, const char *by, bool force); /* records the arrival */
bool tfy__cancel_ready(
    const TfyTask *task); /* something that waits can be delivered: no finally within its target runs */
void tfy__cancel_frame_ends(TfyTask *task, TfyFrame *frame); /* a call that has ended has its time no more */
bool tfy__cancel_deliver(TfyTask *task); /* records it and raises it; false: the task has ended or was halted */
void tfy__cancel_apply(
    TaskRest *rest, uint32_t scope, bool force,
    const char *why); /* the arrival is in the log: act on it. scope: a call's, or NO_INDEX: the task */
bool tfy__scope_deadline(TaskRest *rest, const TfyPoint *point,
                         int64_t timeout_ms);            /* of the top frame; false: task->error or halted */
uint64_t tfy__scope_arm(TaskRest *rest, int64_t due_ms); /* the timer of one of its scopes; 0: failed */
void tfy__scope_raise_timeout(TfyTask *task, uint32_t line, const char *message); /* instead of the pending error */
void tfy__deadlines_drop(TfyTask *task);                                          /* those of the top frame */
const TfyWorkflow *tfy__workflow_by_name(const TfyProgram *program, const char *name);

/* undo.c */
void tfy__undo_attempt(TfyTask *task, bool once); /* a step of the running frame is asked for */
void tfy__undo_again(TfyTask *task);              /* … another attempt of it */
void tfy__undo_started(TfyTask *task);            /* … its StepStart is in the log */
void tfy__undo_retried(TfyTask *task); /* … its attempt failed with task->error, and there will be another */
void tfy__undo_unknown(TfyTask *task, bool unknown); /* … its attempt may have done it; or none of them has */
void tfy__undo_frame_ends(TfyTask *task); /* the top frame: its entries go, unless its task hands them over */
void tfy__undo_hand_over(TaskRest *body); /* to the parent's frame; drops them when there is none */
/* The top frame has returned and its children have ended: when it was cancelled meanwhile, its steps are undone
 * first. False: not now; a block was pushed (it runs next) or the task was halted. */
bool tfy__undo_returned(TfyTask *task);
void tfy__undo_drop_all(TfyTask *task);

/* step.c and its parts */
void tfy__step_advance(Step *step);                /* goes on as far as possible; completes or waits */
void tfy__step_queue(Step *step);                  /* advance it in the next turn's work */
void tfy__step_cancel(TaskRest *rest);             /* aborts the step under way and frees it */
void tfy__step_synced(TfyLoop *loop);              /* begins steps that waited for the disk, so many in one go */
bool tfy__step_is_synced(const TfyLoop *loop);     /* one of them could */
void tfy__step_answer(Step *step, TfyValue value); /* final: takes a borrowed value */
void tfy__step_raise(Step *step);                  /* final: task->error is set */
Step *tfy__step_new(TfyTask *task, const TfySite *site);
/* A step as a snapshot has it; args NULL: a pause between two attempts of a call. NULL: no memory. */
Step *tfy__step_restore(TfyTask *task, const TfySite *site, const TfyValue *args, const char *key);
TfyTaskState tfy__step_wait_state(const Step *step);
void tfy__wait_enter(WaitQueue *queue, Step *step);
void tfy__wait_leave(Step *step); /* it need not wait anywhere */
void tfy__step_free(Step *step);
void tfy__step_drop_key(Step *step); /* the extra argument of a probe */
void tfy__step_wait_sync(Step *step);
int64_t tfy__step_append(Step *step, TfyRecordType type, const TfyBuffer *payload);
void tfy__put_due(TfyBuffer *out, int64_t due_ms, const char *why); /* the payload of a TaskYield */
int64_t tfy__due_from_now(const TfyLoop *loop, int64_t delay_ms);   /* wall clock; never overflows */
/* When a recorded pause is over. A clock that was set back since says less than it said when the pause began: then
 * the pause begins anew, since nobody knows how much of it is over, and a year back must not make it a year long. */
int64_t tfy__step_recorded_due(const TfyLoop *loop, const TfyLogRecord *record);
int64_t
tfy__step_due(const Step *step); /* its due_ms by the clock as it is now; by its timer if that was set meanwhile */
int64_t tfy__due_ns(const TfyLoop *loop, int64_t due_ms); /* the same time on the monotonic clock */
void tfy__step_arm(Step *step);                           /* its timer, for due_ms */
void tfy__error_json(TfyBuffer *out, const TfyObj *error);
void tfy__put_error(TfyBuffer *out, const TfyObj *error); /* as the member "error" */
int64_t tfy__record_append(TaskRest *rest, TfyRecordType type, int64_t step, uint32_t point,
                           const TfyBuffer *payload); /* resets passages */
void tfy__step_timer_fired(void *step);               /* its timer's handler */
Step *tfy__step_asleep(TfyTask *task, const TfySite *site, int64_t number,
                       int64_t due_ms); /* a sleep that has begun, without its timer; NULL: no memory */
void tfy__step_join_ended(Step *step);  /* the task it waits for has ended */
void tfy__step_begin_again(Step *step); /* one more attempt, at once */

bool tfy__step_work(TfyLoop *loop); /* advances one queued step; false: none */

/* group.c: the bodies of parallel and race */
Group *tfy__group_new(Run *run);            /* NULL: no memory */
void tfy__group_body_ended(TaskRest *body); /* its last record is written */
void tfy__groups_free(Run *run);

/* wait_fd.c */
void tfy__wait_fd_stop(Step *step); /* it waits for one, and need not any more */

/* channel.c */
Channel *tfy__channel_add(TaskRest *maker); /* its next one; NULL: no memory */
bool tfy__channel_put(TfyLoop *loop, Channel *channel,
                      Message message); /* behind the others; its value is taken over */
void tfy__channels_free(TaskRest *maker);
void tfy__channel_return(
    TaskRest *rest); /* a message that was received and not taken goes back to the head of its queue */

/* limiter.c */
bool tfy__limit_holds(const Run *run);                 /* one of its steps still counts in the window of a rate */
void tfy__limit_write(const Run *run, TfyBuffer *out); /* its part of the windows, for a snapshot */
/* back_ms: by which the clock was set back since. False: no memory. */
bool tfy__limit_read(Run *run, const json_t *starts, int64_t back_ms);
bool tfy__limit_bounds(const Step *step);                           /* its tool has a limit or a rate */
bool tfy__limit_admit(Step *step);                                  /* goes on; false: waits or halted */
void tfy__limit_leave(Step *step);                                  /* an attempt is over, or never began */
void tfy__limit_note(const Step *step, const TfyLogRecord *record); /* the history says when an attempt was */
void tfy__limits_free(TfyLoop *loop);

/* lock.c */
Lock *tfy__lock_of(Run *run, TfyObj *name, int64_t permits); /* made when it is missing; NULL: no memory */
void tfy__locks_free(TfyLoop *loop, Run *run);
bool tfy__locks_release(TaskRest *rest); /* all that it holds; false: halted */
void tfy__lock_return(TaskRest *rest);   /* a lock that was granted and not taken */

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

/* signal.c */
SignalName *tfy__signal_name_of(Run *run, const char *text, size_t len); /* made when it is missing; NULL: no memory */
bool tfy__signal_remember(Run *run, const char *id);
void tfy__signals_free(TfyLoop *loop, Run *run);
void tfy__signal_recorded(Run *run, const TfyLogRecord *record); /* the history brings one */
void tfy__signal_return(TaskRest *rest);                         /* one that was handed to it and not taken */
void tfy__signal_taken(TaskRest *rest);

/* person.c */
void tfy__person_ask(Step *step);                         /* approve: question is in the log and durable */
Run *tfy__run_named(TfyLoop *loop, const char *name);     /* a run of this loop, as people name it; NULL: none */
int tfy__arrive_refused(TfyLoop *loop, char *error_text); /* the loop has stopped: nothing can be recorded any more */
bool tfy__person_answer_value(TfyTask *task, const TfyType *type, const char *answer, TfyValue *out);
void tfy__person_in_doubt(Step *step); /* nobody but a person knows whether a once step was done */
void tfy__person_tell_doubt(TfyLoop *loop,
                            int64_t tid);  /* the task's step is in doubt, unless it was resolved meanwhile */
void tfy__person_raise_failed(Step *step); /* "resolve --fail": ToolError */
bool tfy__probe_start(Step *step);         /* turns the call into its probe's; false: it could not */
void tfy__probe_done(Step *step, TfyValue answer);

/* tell.c */
void tfy__out_push(TfyLoop *loop, int to, int64_t lsn, const char *text, size_t len);
/* Descriptors are closed like that: whoever sees it from outside sees what came before, too. handle 0: all of the
 * run. */
void tfy__out_let_go(TfyLoop *loop, const char *run_uuid, int64_t handle);
void tfy__out_push_event(TfyLoop *loop, const char *text, uint64_t seq, const TfyPalEvent *event);
int64_t tfy__out_lsn(const TfyLoop *loop); /* what must be durable before something that is known now may leave */
void tfy__out_flush(TfyLoop *loop);        /* everything that is durable */
void tfy__out_free(TfyLoop *loop);
void tfy__out_charge(TfyTask *task, int fd); /* it has printed there: it waits when too much is queued */
bool tfy__out_holds(TfyTask *task);          /* a muffled task: true: it was set aside */
void tfy__out_release(TfyLoop *loop);        /* those that were set aside may look again */
int tfy__out_await(TfyLoop *loop);           /* what is in the outlets is read, see tfy__out_finish */
void tfy__out_look(TfyLoop *loop);           /* a write has failed, or there is room again */

/* activity.c */
const char *tfy__state_name(TfyTaskState state);
void tfy__count_call(const Step *step, bool failed, bool timeout); /* an attempt of its tool has ended */
void tfy__count_end(uint64_t counts[TFY_ENDED_COUNT], TfyTaskState state);
int tfy__activity_init(TfyLoop *loop, char *error_text);
void tfy__activity_run_ended(const Run *run); /* its last record is appended */
/* What the program itself says: an event with a stage of its own (level: NULL), or one that goes with a log line. */
void tfy__activity_say(TfyTask *task, const TfyPoint *point, const char *stage, const char *level, const char *text,
                       size_t len);
void tfy__line_say(TfyTask *task, const TfyPoint *point, const char *level, const char *text, size_t len);
void tfy__line_report(TfyLoop *loop, const char *text, size_t len);

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

/* snapshot.c, snapshot_restore.c and ended.c */
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

/* task.h: a task: its hot part with its first frames in one cell, and the rest.
 *
 * Invariants: see core/loop/state.h. */
#ifndef CORE_TASK_TASK_H
#define CORE_TASK_TASK_H

#include "core/task/shared.h"
#include "base/table.h"
#include "tfy_program.h"
#include <string.h>

#define TASK_MAX    (1u << 22) /* tasks alive at once in a process */
#define DEPTH_MAX   100000u    /* nested workflow calls; 64 more while cleaning up */
#define DEPTH_SPARE 64u
#define FIRST_STACK (128u - (uint32_t)sizeof(TfyTask)) /* bytes of stack that come with a task */
#define NO_INDEX    UINT32_MAX
#define SPAWN_FUEL  16u /* in turns of a loop: others run before thousands of children were made */

#define UNLIKELY(condition) __builtin_expect(condition, 0)

/* task->state: a TfyTaskState in the low byte, flags above. */
enum {
    T_STATE = 0xff,
    T_CANCEL = 1 << 8,     /* a cancellation waits to be delivered */
    T_RETURNING = 1 << 9,  /* the top frame has finished and waits for its children */
    T_HALTED = 1 << 10,    /* divergence or failed log: never runs again */
    T_REPLAYING = 1 << 11, /* has records of its history left */
    T_QUEUED = 1 << 12,    /* is in the ready ring */
    T_FREE = 1 << 13,      /* slot is free */
    T_FOLLOWING = 1 << 14, /* its run replays: it runs when the history's cursor is at its record */
    T_MUFFLED = 1 << 16,   /* it waits before it runs again: its output must be read first */
    T_ANSWERED = 1 << 15,  /* task->result or task->error is an answer that no frame has used */
};

/* frame->flags */
enum {
    FRAME_TIMED_OUT = 1, /* the call ran out of time; its cancellation becomes a Timeout at its boundary */
    /* the time is up, but the cancellation is not delivered yet: a finally within the call runs */
    FRAME_EXPIRED = 2,
    FRAME_UNDOING = 8, /* returned, was cancelled while it waited for its children, and undoes its steps */
    FRAME_SPAWNED = 4, /* had a child: its end counts as a suspension, even if no child is alive */
};

/* A `with deadline` block that has started. */
typedef struct Deadline {
    uint32_t frame; /* its frame, an offset on the stack */
    uint32_t scope; /* its number among the task's scopes: calls and blocks */
    uint16_t mask;  /* its frame's mask at its start; higher now: a finally within it runs */
    uint16_t flags; /* FRAME_EXPIRED, FRAME_TIMED_OUT */
    uint64_t timer;
} Deadline;

/* An undo entry: the block that undoes a step. */
typedef struct Undo {
    uint32_t frame;  /* the frame it belongs to, an offset on the stack */
    uint32_t height; /* entries of that frame, this one included */
    const TfyWorkflow *block;
    const TfyPoint *point; /* of the step */
    TfyValue *args;        /* block->param_count of them, kept */
    bool idle;             /* no attempt is under way: before the first, or between two */
    bool once;             /* the newest attempt is of a once step … */
    bool started;          /* … and its StepStart is in the log */
    bool unknown;          /* an attempt that has finished may have done it */
} Undo;

/* A frame with FRAME_UNDOING. */
typedef struct Unwinding {
    TfyObj *error;           /* pending until its blocks have run, owned */
    const TfyPoint *point;   /* of the step whose block runs */
    struct Unwinding *below; /* of a frame below */
} Unwinding;

/* A task's hot part and the start of its stack, in two cache lines that are fetched together;
 * tfy_program.h says which one is written when. */
typedef struct TaskCell {
    TfyTask task;
    char stack[FIRST_STACK];
} TaskCell;
_Static_assert(sizeof(TaskCell) == 128, "two cache lines");

/* The neighbours of a live child among the children of its parent's frame, as references: 0 is none; else the
 * child's slot + 1 or, for a folded child, FOLDED_REF and its number. */
typedef struct Siblings {
    uint32_t prev, next;
} Siblings;
#define FOLDED_REF 0x80000000u

/* The part of a task that a plain yield does not use. */
struct TaskRest {
    TfyTask *task;  /* NULL once it has finished and its slot was released */
    TfyLogTask log; /* tid, path, head, chain, step */
    Run *run;
    const TfyWorkflow *workflow;
    uint32_t stack_cap;    /* bytes */
    uint32_t spawned;      /* children so far: numbers paths */
    uint64_t randoms;      /* random numbers drawn */
    TaskRest *parent;      /* its spawner; NULL for a root */
    uint32_t parent_frame; /* offset of the frame that did */
    Siblings siblings;     /* live children of that frame */
    Step *step;            /* the step under way */
    WaitQueue joiners;     /* steps that wait for this task's end */
    Follower *followers;   /* tasks that start after it */
    uint32_t after_left;   /* how many of the tasks it starts after are alive; 0: it may start */
    int32_t priority;
    Group *group; /* the parallel or race that it is a body of; NULL: none */
    /* cancellation: T_CANCEL is set while the kill below or an expired call (FRAME_EXPIRED) waits to be delivered */
    bool kill;            /* a cancellation of the whole task waits */
    bool kill_force;      /* … and skips cleanup */
    bool cancelled;       /* a cancellation of the whole task was delivered */
    uint32_t says_ms;     /* when more of what a model says may be told: monotonic, modulo 2^32 */
    const char *kill_why; /* static text: "killed", "its parent failed" … */
    /* A cancellation requested while the run replays: repeated when it goes live, unless its history had it. */
    const char *cancel_again;
    bool cancel_again_force;
    Deadline *deadlines; /* those of inner frames come after those of outer ones */
    uint32_t deadline_count, deadline_cap;
    Unwinding *unwinding; /* innermost first */
    Undo *undos;          /* entries; those of inner frames come after those of outer ones */
    uint32_t undo_count, undo_cap;
    Channel **channels; /* the channels that it made */
    uint32_t channel_count, channel_cap;
    Hold *holds;           /* the permits it has, newest first */
    struct Budget *budget; /* the innermost around it (step/budget.h); NULL: none */
    /* What its answer took from others: returned if the answer is not used. At most one is set. */
    Channel *granted_from;
    uint64_t granted_seq;
    Lock *granted_lock;
    struct Signal *granted_signal; /* owned */
    const TfyType *answer_type;    /* of task->result while it is unused; NULL: nothing there */
    /* replay */
    uint32_t next_record;            /* index into run->history of its next own record; NO_INDEX: none */
    TaskRest *turn_prev, *turn_next; /* neighbours in its run's queue for turns */
    /* after the end */
    TfyTaskState end_state;              /* COMPLETED, FAILED, CANCELLED; 0 while alive */
    TfyValue value;                      /* its result, owned */
    TfyObj *failure;                     /* its error, owned */
    char *why;                           /* a person's reason for the no that is its answer, owned; NULL: none */
    char *failure_text;                  /* for people: "StepFailed: … (build, line 12)" */
    bool unheld;                         /* no value in its run is its handle */
    bool joined;                         /* its answer was used: an unjoined failure is reported */
    TaskRest *prev_in_run, *next_in_run; /* run->tasks; next: also the free list */
    TfyLink by_tid;
    char short_path[24]; /* log.path points here when it fits */
};

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
/* The top frame is removed: the one below it, at frame->prev, is running. */
static inline void leave_frame(TfyTask *task, TfyFrame *frame, uint32_t prev)
{
    task->top = prev;
#ifdef TFY_POISON
    memset(frame, 0xde, frame->workflow->frame_size);
#endif
}
/* True if nothing is attached to a frame that must end with it. Children, mask and flags are one word. */
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

/* A task that goes from one plain yield to the next keeps its state in the ring; before it does anything else it
 * must be marked as running. */
static inline void mark_running(TfyTask *task)
{
    task->state = (task->state & ~(uint32_t)(T_QUEUED | T_STATE)) | TFY_TASK_RUNNING;
}

/* task.c */
uint32_t tfy__tasks_limit(const TfyLoop *loop);
bool tfy__tasks_full(const TfyLoop *loop); /* no further task may be made */
int tfy__tasks_init(TfyLoop *loop);
void tfy__tasks_deinit(TfyLoop *loop);
/* NULL: no memory */
TaskRest *tfy__task_new(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, int64_t tid, const char *path);
void *tfy__task_push(TfyTask *task, const TfyWorkflow *workflow);
void tfy__task_pop(TfyTask *task);
/* Calls and returns of a task check more while a test watches it, a deadline bounds it, or it has undo entries.
 * Code that starts one of these calls take_care; the first call that finds none left ends it. */
static inline void take_care(TfyTask *task)
{
    task->room = 0;
}
void tfy__frame_release(TfyTask *task, TfyFrame *frame); /* its slots; it does not run again */
void tfy__task_release_frames(TfyTask *task);            /* all frames, without running anything */
void tfy__answer_drop(TfyTask *task);
void tfy__task_give_back(TaskRest *rest); /* the slot; the rest stays for joiners */
void tfy__task_vacate(TaskRest *rest);    /* the same for a task whose frames hold nothing */
void tfy__rest_free(TfyLoop *loop, TaskRest *rest);
void tfy__rest_retire(TfyLoop *loop, TaskRest *rest); /* the same for a rest that holds nothing */
/* a task without a slot; NULL: no memory */
TaskRest *tfy__task_new_ended(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, int64_t tid, const char *path);
TaskRest *tfy__task_by_tid(TfyLoop *loop, int64_t tid);        /* unfolds it; NULL: there is none */
TaskRest *tfy__task_by_path(const Run *run, const char *path); /* the same */
TaskRest *tfy__task_of_handle(const Run *run, int64_t handle); /* NULL: the run has no such task */
void tfy__ready_push(TfyLoop *loop, TfyTask *task);

/* spawn.c, finish.c and cancel.c */
void tfy__task_finish(TfyTask *task);                        /* task->error or task->result says how */
typedef enum Bond { BOND_CHILD, BOND_BODY, BOND_NONE } Bond; /* a child, a body of a group, a detached task */
/* Starts a task of the run; the answer, or NULL with task->error set or the task halted. */
TaskRest *tfy__task_spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                          Bond bond);
/* for people; the caller frees it; NULL: no memory */
char *tfy__failure_sentence(const TaskRest *rest, const TfyObj *error);
const char *tfy__failure_kind(const TaskRest *ended); /* TaskFailed.kind of a task that did not finish well */
void tfy__children_cancel(TfyTask *task, const TfyFrame *frame, const char *why);
void tfy__cancel_request(TaskRest *rest, const char *why, const char *by, bool force); /* records the arrival */
bool tfy__cancel_ready(const TfyTask *task); /* a waiting one can be delivered: no finally within its target runs */
void tfy__cancel_frame_ends(TfyTask *task, TfyFrame *frame); /* drops the deadline of a call that has finished */
/* records it and raises it; false: the task has finished or was halted */
bool tfy__cancel_deliver(TfyTask *task);
/* Acts on an arrival that is in the log. scope: a call's, or NO_INDEX: the task. */
void tfy__cancel_apply(TaskRest *rest, uint32_t scope, bool force, const char *why);
/* Of the top frame; false: task->error is set or the task is halted. */
bool tfy__scope_deadline(TaskRest *rest, const TfyPoint *point, int64_t timeout_ms);
uint64_t tfy__scope_arm(TaskRest *rest, int64_t due_ms); /* the timer of one of its scopes; 0: failed */
void tfy__scope_raise_timeout(TfyTask *task, uint32_t line, const char *message); /* replaces the pending error */
void tfy__deadlines_drop(TfyTask *task);                                          /* the deadlines of the top frame */
const TfyWorkflow *tfy__workflow_by_name(const TfyProgram *program, const char *name);
/* The payload of a spawn or an end: a separate buffer, since input from outside is handled while it is being
 * written. */
TfyBuffer *tfy__family_payload(TfyLoop *loop);

/* undo.c */
void tfy__undo_attempt(TfyTask *task, bool once);    /* the running frame requests a step */
void tfy__undo_again(TfyTask *task);                 /* … another attempt of it */
void tfy__undo_started(TfyTask *task);               /* … its StepStart is in the log */
void tfy__undo_retried(TfyTask *task);               /* … its attempt failed with task->error; another will follow */
void tfy__undo_unknown(TfyTask *task, bool unknown); /* … its attempt may have done it; or none of them has */
void tfy__undo_frame_ends(TfyTask *task);            /* the top frame: drops its entries, or its task hands them over */
void tfy__undo_hand_over(TaskRest *body);            /* to the parent's frame; drops them if there is none */
/* The top frame has returned and its children have finished: if it was cancelled meanwhile, its steps are undone
 * first. False: not now; a block was pushed (it runs next) or the task was halted. */
bool tfy__undo_returned(TfyTask *task);
void tfy__undo_drop_all(TfyTask *task);

#endif

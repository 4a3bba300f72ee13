/* steps.h: steps under way: what a task waits for, from the asking to the answer. step.h is for the files of a step alone. */
#ifndef CORE_STEP_STEPS_H
#define CORE_STEP_STEPS_H

#include "core/task/task.h"
#include <jansson.h>

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

/* wait_fd.c */
void tfy__wait_fd_stop(Step *step); /* it waits for one, and need not any more */

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

#endif

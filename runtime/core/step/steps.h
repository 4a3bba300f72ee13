/* steps.h: steps under way: what a task waits for, from its request to its answer. Every file of core sees this
 * one through loop/state.h; step.h is for the files that work on steps. */
#ifndef CORE_STEP_STEPS_H
#define CORE_STEP_STEPS_H
#include "core/task/task.h"
#include <jansson.h>

/* ---- limits on the use of a tool ---- */

/* The steps of one run that wait for a tool, in order of arrival. */
typedef struct LimitTurn {
    const Run *run;
    WaitQueue waiters;
    struct LimitTurn *next; /* the run whose turn is next */
} LimitTurn;

/* The start of a step of a tool with `rate`. */
typedef struct LimitStart {
    /* monotonic clock; the age of a start in an earlier process is that of its record by the wall clock */
    int64_t at_ns;
    int64_t run; /* row id of its run */
} LimitStart;

/* A tool with `limit` or `rate`, made by its first use. */
typedef struct Limiter {
    TfyLoop *loop;
    const TfyProgram *program; /* the first whose step asked */
    const TfyTool *tool;
    char *host;                       /* the effect http: whom it bounds, as an address has it; owned; else NULL */
    uint32_t in_use;                  /* steps that were admitted and have not left */
    uint32_t start_head, start_count; /* of the ring starts */
    LimitStart *starts;               /* ring of tool->rate entries: the newest starts, earliest first */
    uint64_t timer;                   /* fires when the window has moved; 0: no step waits for it */
    LIST(LimitTurn) turns;            /* runs that have waiting steps, in the order of their turns */
    struct Limiter *next;
} Limiter;

/* Steps that people answer. */
static inline bool is_question(const TfyTool *tool)
{
    return tool->family == TFY_F_APPROVE || tool->family == TFY_F_ASK;
}

/* Steps that only wait until a descriptor is ready. */
static inline bool is_io_wait(const TfyTool *tool)
{
    return tool->family == TFY_F_READABLE || tool->family == TFY_F_WRITABLE;
}
/* The record type of a step's result, unless its performer sets another. */
static inline uint8_t result_record(const TfyTool *tool)
{
    return is_io_wait(tool) ? TFY_R_IO_READY : TFY_R_TOOL_RESULT;
}

typedef enum Stage {
    STAGE_BEGIN,   /* an attempt starts: TaskYield (timeout, sleep), StepStart */
    STAGE_OUTCOME, /* started; the outcome comes from the history, or else the work must be started */
    STAGE_SYNC,    /* waits until everything appended is durable */
    STAGE_RUN,     /* a performer, a timer, a person or another task will answer it */
    STAGE_SETTLE,  /* the attempt failed (task->error): try again or give up */
    STAGE_BACKOFF, /* waits before the next attempt */
    STAGE_DOUBT,   /* a once step may have happened: waits for its probe or a person */
    STAGE_DEAD,    /* the task no longer has it: freed once it has left the loop's queues */
} Stage;

enum { FEW_ARGS = 4 };

/* The loop's queues that hold a step, in Step.queued. Each has a link of its own. A freed step stays in them: it is
 * STAGE_DEAD until the last of them releases it. */
enum {
    IN_SYNC = 1,     /* loop->sync */
    IN_WORK = 2,     /* loop->work */
    IN_DEFERRED = 4, /* its run's deferred steps: only in a run that replays */
};

/* Is a performer working on the step? */
typedef enum CallState {
    CALL_NONE,
    CALL_BEGUN,
    CALL_NO_ROOM,    /* there was no room to start: it is in the loop's queue for room */
    CALL_UNANSWERED, /* no answer will ever come, so it is not in flight */
} CallState;

/* Does the log have a StepStart of the attempt? */
typedef enum StartState {
    START_NONE,
    START_MADE,  /* by this process */
    START_FOUND, /* by an earlier process: it is in the history */
} StartState;

/* What ends at due_ms, once the log has a TaskYield of the attempt. During a backoff, due_ms ends the backoff. */
typedef enum DueKind {
    DUE_NONE, /* the attempt has none */
    DUE_SLEEP,
    DUE_TIMEOUT,
} DueKind;

/* How the doubt about a once step is resolved. */
typedef enum DoubtState {
    DOUBT_NONE,     /* it is not in doubt, or no probe and no person was asked yet */
    DOUBT_PROBES,   /* its probe starts when the log is durable */
    DOUBT_PROBED,   /* the performer has its probe */
    DOUBT_RECORDED, /* InDoubt is in the log: a person decides */
} DoubtState;

/* The admission of a step whose tool has a limit or a rate. */
typedef enum Admission {
    ADMISSION_NONE,
    ADMISSION_ASKED,
    ADMISSION_GRANTED,
} Admission;

/* The states that a step may have in each stage; step.c checks them each time the step is advanced.
 *
 *             in_call  IN_SYNC  doubt           start  queue
 *   BEGIN        -        -     -                may   may: in the line of a tool with a limit
 *   OUTCOME      -        -     -                may   -
 *   SYNC         -       yes    -                may   -
 *   RUN         may       -     PROBED            may   may: an inner wait, which has no performer
 *   SETTLE       -        -     RECORDED          may   -
 *   BACKOFF      -        -     RECORDED          may   -
 *   DOUBT        -        -     RECORDED          yes   -
 *   DEAD         -       may    -                 -     -
 *
 * A step that a drain keeps from starting is in SYNC but no longer in the queue; it is never advanced again. After
 * BEGIN a step is counted. In BEGIN it is counted only if it was past BEGIN in a snapshot and must be admitted again.
 * A step that times out in the line of its limiter reaches SETTLE uncounted. `limiter` is set only for an admitted
 * step. */
struct Step {
    TfyCall call; /* what the performer sees; call.args are kept */
    TaskRest *rest;
    Stage stage;
    CallState in_call;
    StartState started;
    DueKind due_kind;
    DoubtState doubt;
    Admission admission;
    uint8_t queued;          /* IN_… */
    bool counted;            /* this suspension was counted in passages */
    bool noted;              /* the snapshot that it was restored from contains its start */
    bool waited_room;        /* there was no room for its call, now or before */
    bool unknown;            /* an earlier attempt of this once step may have had its effect */
    bool backoff_only;       /* tfy_backoff: not an effect */
    bool told_idle;          /* a live event reported that it waits */
    bool asking;             /* approve, ask, in doubt: the question was shown */
    struct BudgetHold *hold; /* what it has put down for a request to a model; owned; NULL: nothing */
    struct Round *round;     /* its call takes several exchanges (round.h); owned; NULL: one so far */
    struct Aside *aside;     /* in_call: a person was asked about the call (aside.c); owned; NULL: nobody was */
    int64_t retry, backoff_ms, timeout_ms;
    int64_t asks;          /* prompts: attempts left */
    int64_t due_ms;        /* wall clock: the end of the timeout, the backoff or the sleep; 0: none */
    int64_t again_ms;      /* wall clock: when its performer may start again (tfy__call_wait); 0: at once */
    int64_t begun_ns;      /* in_call: when the performer received it */
    TfyTicket sync_ticket; /* STAGE_SYNC: the ticket up to which the log must be durable */
    uint64_t timer;
    TaskRest *target;   /* join: the task; NULL: unknown */
    TfyObj *model_call; /* the id of the model's call that it carries out, a string, kept; NULL: none */
    Limiter *limiter;   /* the limiter whose in_use counts it; NULL: none */
    /* in doubt: the error its attempt failed with, as JSON, owned; NULL: the process ended, or it is not in doubt */
    char *failure;
    TfyValue few_args[FEW_ARGS]; /* call.args of a tool with few parameters */
    char key[160];
    Step *sync_next, *work_next, *deferred_next, *room_next; /* each queue has its own link */
    FdWait *fd_wait;               /* the tool waits for a descriptor of its own; NULL: it does not */
    WaitQueue *queue;              /* the queue inside its run where it waits; NULL: none */
    Step *queue_prev, *queue_next; /* neighbours there; next: also the free list */
};

/* step.c and its parts */
void tfy__step_advance(Step *step); /* continues as far as possible; completes or waits */
void tfy__step_queue(Step *step);   /* the next turn advances it */
/* aborts the step under way and frees it; give_up: and nobody elsewhere need work for it */
void tfy__step_cancel(TaskRest *rest), tfy__step_give_up(TaskRest *rest);
void tfy__step_synced(TfyLoop *loop);              /* starts steps whose records are durable, SYNCED_STEPS at most */
bool tfy__step_is_synced(const TfyLoop *loop);     /* at least one of them could start */
void tfy__step_answer(Step *step, TfyValue value); /* final: takes a borrowed value */
void tfy__step_raise(Step *step);                  /* final: task->error is set */
bool tfy__step_retriable(const Step *step);        /* does its `retry` handle task->error? */
Step *tfy__step_new(TfyTask *task, const TfySite *site);
/* A step from a snapshot; args NULL: a pause between two attempts of a call. NULL: no memory. */
Step *tfy__step_restore(TfyTask *task, const TfySite *site, const TfyValue *args, const char *key);
TfyTaskState tfy__step_wait_state(const Step *step);
void tfy__wait_enter(WaitQueue *queue, Step *step);
void tfy__wait_leave(Step *step); /* leaves its queue, if it is in one */
void tfy__step_free(Step *step);
void tfy__step_drop_key(Step *step); /* releases the extra argument of a probe */
void tfy__step_wait_sync(Step *step);
TfyTicket tfy__step_append(Step *step, TfyRecordType type, const TfyBuffer *payload);
void tfy__put_due(TfyBuffer *out, int64_t due_ms, const char *why); /* the payload of a TaskYield */
int64_t tfy__due_from_now(const TfyLoop *loop, int64_t delay_ms);   /* wall clock; never overflows */
/* The end of a recorded pause. If the clock was set back since, it shows an earlier time than at the start of the
 * pause: the pause then starts anew, since the elapsed part is unknown. A clock set back by a year never makes a
 * pause a year long. */
int64_t tfy__step_recorded_due(const TfyLoop *loop, const TfyLogRecord *record);
/* Its due_ms and its again_ms by the present clock; by its timer once that was set. */
int64_t tfy__step_due(const Step *step), tfy__step_again(const Step *step);
int64_t tfy__due_ns(const TfyLoop *loop, int64_t due_ms); /* due_ms on the monotonic clock */
void tfy__step_arm(Step *step);                           /* sets its timer, for the earlier of the two */
void tfy__error_json(TfyBuffer *out, const TfyObj *error);
void tfy__put_error(TfyBuffer *out, const TfyObj *error); /* writes the error as the member "error" */
/* Appends a record to the chain of the task, and resets passages. */
TfyTicket tfy__record_append(TaskRest *rest, TfyRecordType, int64_t step, uint32_t point, const TfyBuffer *payload);
void tfy__step_timer_fired(void *step); /* its timer's handler */
/* A sleep that has started, without its timer; NULL: no memory. */
Step *tfy__step_asleep(TfyTask *task, const TfySite *site, int64_t number, int64_t due_ms);
void tfy__step_join_ended(Step *step);  /* the task that it joins has finished */
void tfy__step_begin_again(Step *step); /* one more attempt, at once */
bool tfy__step_work(TfyLoop *loop);     /* advances one queued step; false: none */

/* wait_fd.c */
void tfy__wait_fd_stop(Step *step); /* ends its wait for a descriptor */

/* limiter.c */
bool tfy__limit_holds(const Run *run);                 /* one of its steps still counts in the window of a rate */
void tfy__limit_write(const Run *run, TfyBuffer *out); /* writes its starts, for a snapshot */
/* Reads them. back_ms: how far the clock was set back since. False: no memory. */
bool tfy__limit_read(Run *run, const json_t *starts, int64_t back_ms);
bool tfy__limit_bounds(const Step *step);                           /* its tool has a limit or a rate */
bool tfy__limit_admit(Step *step);                                  /* true: continues; false: waits or halted */
void tfy__limit_leave(Step *step);                                  /* an attempt has finished, or never started */
void tfy__limit_note(const Step *step, const TfyLogRecord *record); /* notes a start that the history contains */
void tfy__limits_free(TfyLoop *loop);

/* person.c */
void tfy__person_ask(Step *step);                       /* approve: question is in the log and durable */
Run *tfy__run_named(TfyLoop *loop, const char *name);   /* a run of this loop, by a name that people use; NULL: none */
void tfy__put_via(TfyBuffer *out, const TfyLoop *loop); /* how the arrival under way came, where that is known */
int tfy__arrive_refused(TfyLoop *loop, char *error_text); /* the loop has stopped: nothing more can be recorded */
void tfy__person_in_doubt(Step *step);                    /* only a person knows whether a once step was done */
/* Reports that the task's step is in doubt, unless it was resolved meanwhile. */
void tfy__person_tell_doubt(TfyLoop *loop, int64_t tid);
void tfy__person_raise_failed(Step *step); /* for "resolve --fail": raises a ToolError */
bool tfy__probe_start(Step *step);         /* turns the call into its probe's; false: it could not */
void tfy__probe_done(Step *step, TfyValue answer);

/* A tool that the embedding program performs itself (tfy_register_effect). */
typedef struct Registration {
    char *tool;     /* its name, owned */
    TfyEffect call; /* NULL: removed */
    void *state;    /* passed to call */
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
void tfy__answers_free(TfyLoop *loop); /* injected answers and registrations */

/* The arguments as JSON, without added ones that are not given: as a runtime wrote them that did not know those. */
void tfy__step_encode_args(TfyBuffer *out, const TfyTool *tool, const TfyValue *args);

#endif

/* effect.h: how an effect is performed: the contract between the scheduler and the files in effects/.
 *
 * The scheduler owns everything that is recorded: it writes StepStart and waits for its sync before start(), counts
 * attempts, runs timeouts and retries, writes the result record. A performer only does the work of one attempt:
 * start() begins it and it later ends in exactly one tfy__call_done or tfy__call_fail (both may also happen inside
 * start). After abort() it must not complete any more.
 *
 * What became of an attempt is one of three (TfyOutcome), and only the performer can say which: it keeps
 * call->outcome true while it works. Of a `once` step that may have been done the scheduler keeps the undo, asks the
 * probe, and else a person; nothing of that follows from the kind of error. */
#ifndef CORE_EFFECT_H
#define CORE_EFFECT_H

#include <jansson.h>

#include "base/room.h"
#include "tfy_program.h"
#include "base/buffer.h"
#include "base/sys_memory.h"

/* What is known of an attempt. UNKNOWN is what holds when nobody says otherwise: a doubt asks a person, a wrong
 * certainty does a thing twice or leaves it undone. */
typedef enum TfyOutcome {
    TFY_UNKNOWN,  /* it may have been done: it was begun, and how it ended does not tell */
    TFY_NOT_DONE, /* certainly not: it was never begun (not started, not connected), or the tool's contract says that such an end is a failure */
    TFY_DONE      /* tfy__call_done has its result */
} TfyOutcome;

typedef struct TfyCall {
    TfyLoop *loop;
    TfyTask *task; /* for allocating values; stable while the call lives */
    const TfySite *site;
    const TfyTool *tool;   /* = site->tool, or the probe that is asked instead */
    const TfyType *result; /* what done() must be given */
    TfyValue *args;        /* tool->param_count values, kept by the call */
    const char *key;       /* "run/path/step", or the key from the source; NUL-terminated */
    int64_t step;
    uint32_t attempt;    /* from 1 */
    uint64_t digest;     /* of the tool's name and arguments */
    uint32_t occurrence; /* llm: how many equal requests this run made before, for cassettes; set by the performer */
    TfyOutcome
        outcome; /* of the attempt if it failed now: UNKNOWN when start() is called, from then on the performer's to keep */
    void *state;         /* the performer's own */
    uint8_t record_type; /* TfyRecordType of the result; TOOL_RESULT unless the performer sets another */
    TfyBuffer extra;     /* members to add to the result's payload, each beginning with a comma: ,"model":"x" */
    bool
        value_in_extra; /* the payload gets no "value" member: the performer wrote what replay needs to extra (LLMPlan's answer) */
} TfyCall;

struct TfyPerformer {
    const char *name;
    void (*start)(TfyCall *call);
    void (*abort)(TfyCall *call); /* cancelled or timed out: stop the work, release state */
    void (*close)(TfyLoop *loop); /* the loop closes; no call is in flight; may be NULL */
    /* Turns a recorded payload back into the result where the record has no plain "value" (LLMPlan: decode the
     * answer). payload is the whole JSON object. true: *out (borrowed) is the result; false: task->error is set as it
     * was then. NULL: not needed. */
    bool (*replay)(TfyTask *task, const TfySite *site, const char *payload, size_t len, TfyValue *out);
    /* A descriptor that it gave out is not needed any more; handle 0: all of this run. First for the program (durable
     * false: nobody may use it any more), then for the world, when all that was recorded before is durable. NULL: it
     * gives out none. */
    void (*let_go)(TfyLoop *loop, const char *run_uuid, int64_t handle, bool durable);
    /* What it keeps for a run beyond its calls and rebuilds in `replay`: as one JSON value, for a snapshot; and from
     * one (NULL: nothing). */
    void (*save)(TfyLoop *loop, const char *run_uuid, TfyBuffer *out);
    void (*restore)(TfyLoop *loop, const char *run_uuid, const json_t *json);
    /* Ends what it left running for a former owner of the database, which is dead, and waits for that: 0, or a
     * negative code when it takes longer. NULL: it leaves nothing. */
    int (*end_former)(const char *lock_path, int timeout_ms);
    /* Gets ready before the first call, so that a wrong setting is heard at once: 0, or a negative code with a
     * sentence. NULL: not needed. */
    int (*prepare)(TfyLoop *loop, char *error_text);
};

/* The attempt succeeded. result is borrowed. */
void tfy__call_done(TfyCall *call, TfyValue result);
/* It failed, and call->outcome says what that means, with an error of a type: fields as for tfy_record_of, borrowed. */
void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields);
/* The usual failures. code: the tool's exit code or an errno value. */
void tfy__call_tool_error(TfyCall *call, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tfy__call_bad_value(TfyCall *call, const char *path, const char *message);

/* A tool in C answered true, but waits for a descriptor (tfy_wait_fd): the step goes on when that is ready. */
bool tfy__call_waits(const TfyCall *call);

/* The performer's own code set task->error (a panic, or tfy_tool_fail). */
void tfy__call_panicked(TfyCall *call);

/* The system had no memory for it. Of that nothing is recorded: the process ends with this turn, as if killed. */
void tfy__call_starved(TfyCall *call);

/* The process, or the machine, has no room for it now (error: an errno value), and nothing has begun that cannot
 * begin again. Of that nothing is recorded: the step waits, and start() is called again. */
void tfy__call_no_room(TfyCall *call, int error);

/* ---- services of the loop for performers ---- */

/* The loop cannot go on: it stops with this turn, and tfy_run and its like answer the code. After TFY_E_LOST and
 * TFY_E_NOMEM nothing of this turn is recorded, as if the process had been killed. The first call counts. */
void tfy__loop_fail(TfyLoop *loop, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Calls handler(arg, events) on the loop's thread when the descriptor has events. Answers a handle, or a negative
 * code. */
typedef void (*TfyFdHandler)(void *arg, uint32_t events);
/* With TFY_FD_ONCE among the events (world.h), what was reported is not reported again before tfy__watch_arm asks for
 * it; ask when a call said EAGAIN. Others are told until there is nothing left to tell. */
int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg);
void tfy__watch_arm(TfyLoop *loop, int64_t handle, uint32_t events);
void tfy__watch_del(TfyLoop *loop, int64_t handle); /* before the descriptor is closed */

/* Calls handler(arg) once when the monotonic clock reaches deadline_ns. Answers a handle (never 0). */
typedef void (*TfyTimerHandler)(void *arg);
uint64_t tfy__timer_add(TfyLoop *loop, int64_t deadline_ns, TfyTimerHandler handler, void *arg);
void tfy__timer_del(TfyLoop *loop, uint64_t handle); /* unknown and fired handles are fine */

const TfySite *tfy__site_at(TfyLoop *loop, uint32_t point); /* what is asked for at a point; NULL: nothing */
int64_t tfy__now_ns(TfyLoop *loop);                         /* of this turn */
int64_t tfy__wall_ms(TfyLoop *loop);
const char *tfy__root(TfyLoop *loop);      /* absolute working root */
int tfy__root_fd(TfyLoop *loop);           /* its directory descriptor, opened at start */
const char *tfy__lock_path(TfyLoop *loop); /* "<db>-tfy", or NULL for a log in memory; the watcher locks byte 1 of it */
const char *tfy__llm_option(TfyLoop *loop);     /* TfyOptions.llm or NULL */
const char *tfy__secrets_option(TfyLoop *loop); /* TfyOptions.secrets or NULL */
const char *
tfy__source_name(TfyLoop *loop,
                 uint32_t i); /* the i-th file of the program, as messages name it; NULL: there are no more */
const char *tfy__run_uuid(TfyTask *task);  /* of the task's run, 36 characters */
const char *tfy__task_path(TfyTask *task); /* "1.3.2" */
int64_t tfy__epoch(TfyLoop *loop);         /* how manieth opening of the database this is, from 1 */

/* One place per module for what it keeps with the loop; NULL at first. */
enum { TFY_M_PROCESS, TFY_M_LLM, TFY_M_HTTP, TFY_M_FILE, TFY_M_CANVAS, TFY_M_NET, TFY_M_POOL, TFY_M_COUNT };
void **tfy__effect_slot(TfyLoop *loop, int module);

/* Live activity (PAL): stage is one of ADR-0007's names; published after everything appended so far is synced. */
void tfy__activity(TfyTask *task, const char *stage, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What a model counted, for the figures. */
void tfy__count_tokens(TfyLoop *loop, int64_t prompt, int64_t completion);

/* A line for people, with its newline, on stderr after everything appended so far is synced; nothing in replay. */
void tfy__report_text(TfyLoop *loop, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

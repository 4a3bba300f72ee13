/* effect.h: the contract between the scheduler and the files in effects/, which perform effects.
 *
 * The scheduler owns everything that is recorded: it writes StepStart and waits for its sync before start(),
 * counts attempts, runs timeouts and retries, and writes the result record. A performer only does the work of one
 * attempt: start() starts it, and it later finishes with exactly one tfy__call_done or tfy__call_fail (also
 * possible inside start). After abort() it must not complete any more.
 *
 * An attempt has one of three outcomes (TfyOutcome), and only the performer knows which: it keeps call->outcome
 * true while it works. If a `once` step may have been done, the scheduler keeps the undo entry and asks the probe,
 * or else a person. The kind of error decides nothing. */
#ifndef CORE_EFFECT_H
#define CORE_EFFECT_H

#include <jansson.h>

#include "base/room.h"
#include "tfy_program.h"
#include "base/buffer.h"
#include "base/sys_memory.h"

/* The outcome of an attempt. UNKNOWN is the default: a doubt asks a person, while a wrong certainty does a thing
 * twice or leaves it undone. */
typedef enum TfyOutcome {
    /* it may have been done: it was started, and its end does not show the outcome */
    TFY_UNKNOWN,
    /* it was certainly not done: it never started (not executed, not connected), or the tool's contract defines
     * such an end as a failure */
    TFY_NOT_DONE,
    TFY_DONE /* tfy__call_done has its result */
} TfyOutcome;

struct TfyPayload; /* wal/rows/payload.h */
struct TfyRecord_;
struct Step;

typedef struct TfyAmount { /* of what is asked of models; cost: in millionths of the unit of the prices */
    int64_t tokens, cost, calls;
} TfyAmount;
#define TFY_UNBOUNDED INT64_MAX

typedef struct TfyCall {
    TfyLoop *loop;
    TfyTask *task; /* for allocating values; stable while the call lives */
    const TfySite *site;
    const TfyTool *tool;   /* = site->tool, or the probe that is called instead */
    const TfyType *result; /* the type that done() must be given */
    TfyValue *args;        /* tool->param_count values, kept by the call */
    const char *key;       /* "run/path/step", or the key from the source; NUL-terminated */
    int64_t step;
    int64_t fence; /* in a shared database: how often the run has had an owner, which only grows; 0: it is not shared */
    uint32_t attempt;    /* from 1 */
    uint32_t tries;      /* what tfy__call_wait was told last in this attempt; 0: it has not waited */
    bool begun;          /* an earlier process has begun this attempt, and how that ended is not known */
    uint64_t digest;     /* of the tool's name and arguments */
    uint32_t occurrence; /* llm: how many equal requests this run made before, for cassettes; the performer sets it */
    /* of the attempt if it failed now: UNKNOWN when start() is called; from then on the performer keeps it true */
    TfyOutcome outcome;
    void *state;                  /* the performer's own */
    const struct TfyRound *round; /* NULL: this is the first exchange of the attempt (exchange.h) */
    uint8_t record_type;          /* TfyRecordType of the result; TOOL_RESULT unless the performer sets another */
    TfyBuffer extra;              /* members to add to the result's payload, each starting with a comma: ,"model":"x" */
    bool value_in_extra; /* no "value" member: the performer wrote all that replay needs to extra (LLMPlan's answer) */
} TfyCall;

struct TfyPerformer {
    const char *name;
    void (*start)(TfyCall *call);
    void (*abort)(TfyCall *call); /* cancelled or timed out: stop the work, release state */
    void (*close)(TfyLoop *loop); /* the loop closes; no call is in flight; may be NULL */
    /* Under a budget: records what an attempt can come to before its work starts, and takes such a record of the history,
     * or that of a wait. tfy__budget_request and tfy__budget_requested, or NULL: it neither asks nor waits. False: the log
     * has failed. */
    bool (*request)(struct Step *step);
    void (*requested)(struct Step *step, const struct TfyRecord_ *record);
    /* The most that the attempt can come to, and members for that record. cost -1: no price is known. False: no memory. */
    bool (*reserve)(TfyCall *call, TfyAmount *most, TfyBuffer *members);
    /* What a database may ask for in a day; NULL: all that it wants. May itself be NULL. */
    const TfyAmount *(*day)(TfyLoop *loop);
    /* Turns a recorded payload back into the result if the record has no plain "value" (LLMPlan: decode the
     * answer). payload is the whole JSON object. true: *out (borrowed) is the result; false: task->error is set as
     * it was then. NULL: not needed. */
    bool (*replay)(TfyTask *task, const TfySite *site, const struct TfyPayload *payload, TfyValue *out);
    /* The history answered an attempt of this performer: with its result or failure, or its time ran out (the payload
     * is empty then). For state that `replay` cannot rebuild: it needs the arguments, or belongs to failures. NULL:
     * not needed. */
    void (*recorded)(TfyCall *call, const struct TfyPayload *payload);
    /* Appends members of a JSON object: what an attempt sends, for people who look back (tfy__stop_json); secrets are their
     * names. messages: [{"role", "content"}] as the log has them, or NULL. False: no memory, or task->error is set. NULL:
     * it sends nothing. */
    bool (*tell)(TfyCall *call, const json_t *messages, TfyBuffer *out);
    /* Releases a descriptor of this performer; handle 0: all of the run. Called twice: first for the program
     * (durable false: the program may not use it any more), then for the world, once everything recorded before is
     * durable. NULL: the performer makes no descriptors. */
    void (*let_go)(TfyLoop *loop, const char *run_uuid, int64_t handle, bool durable);
    /* State of a run that the performer keeps beyond its calls and rebuilds in `replay` or `recorded`: save writes it as one
     * JSON value for a snapshot, restore reads it back. NULL: none. */
    void (*save)(TfyLoop *loop, const char *run_uuid, TfyBuffer *out);
    void (*restore)(TfyLoop *loop, const char *run_uuid, const json_t *json);
    /* The run leaves memory: it has ended, or a snapshot has it. Drops what is kept for it. NULL: nothing, or let_go does. */
    void (*forget)(TfyLoop *loop, const char *run_uuid);
    /* Ends the processes that it left running for a former owner of the database, which is dead, and waits for
     * their end: 0, or a negative code if that takes longer. NULL: it leaves none. */
    int (*end_former)(const char *lock_path, int timeout_ms);
    const struct TfyInquiry *inquiry; /* of calls that take several exchanges (exchange.h); NULL: they take one */
    const struct RoundOps *rounds;    /* … and &tfy__rounds */
    /* Prepares for the first call of a program, so that a wrong setting is reported at once: 0, or a negative code with a
     * sentence. NULL: not needed. */
    int (*prepare)(TfyLoop *loop, const TfyProgram *program, char *error_text);
    /* Asks git about the root while no loop is open; words end with NULL. out (may be NULL) gets what it prints, without
     * its last newline. Returns its exit status; -1: it could not be run. NULL: the performer has nothing to do with git. */
    int (*ask)(const char *root, const char *const *words, const char *input, TfyBuffer *out);
};

/* The attempt succeeded. result is borrowed. */
void tfy__call_done(TfyCall *call, TfyValue result);
/* The attempt failed with an error of this type; call->outcome says whether it may have been done. fields as for
 * tfy_record_of, borrowed. */
void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields);
void tfy__call_fail_recorded(TfyCall *call, json_t *error); /* … with a built-in error, as a record has it */
/* The usual failures. code: the tool's exit code or an errno value. */
void tfy__call_tool_error(TfyCall *call, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tfy__call_bad_value(TfyCall *call, const char *path, const char *message);

/* Somebody outside asks to wait that long: the end of the wait is recorded, then start() is called anew. The run may leave
 * memory meanwhile; the step's timeout goes on. tries: those of the performer so far. lost: see tfy__budget_leave_off. */
void tfy__call_wait(TfyCall *call, int64_t wait_ms, uint32_t tries, bool lost);

/* A tool in C returned true, but waits for a descriptor (tfy_wait_fd): the step continues when that is ready. */
bool tfy__call_waits(const TfyCall *call);

void tfy__call_unanswered(TfyCall *call); /* nobody ever will: it is under way, but the loop does not wait for it */
/* Appends a record that belongs to the call's run and to no step (tfy__record_is_nobodys), before the record of the
 * call's outcome: both are in one commit. False: the loop has failed. */
bool tfy__call_note(TfyCall *call, uint8_t record_type, const TfyBuffer *payload);
/* A person was asked about a call. grant: what it may have besides, "TOOL:reads=PATH", borrowed; NULL: nothing. */
typedef void TfyGranted(TfyCall *call, const char *grant);
/* Asks a person whether a call that is under way may have what its sandbox refused. answered is called once, unless the
 * call is aborted before; until then the call stays under way. A grant is recorded then; one for the run is in
 * tfy__ceiling. False: nobody is to be asked. */
bool tfy__call_ask(TfyCall *call, const char *question, const char *grant, TfyGranted *answered);
bool tfy__budget_request(struct Step *step); /* budgets (step/budget.c): these two are for a performer's table */
void tfy__budget_requested(struct Step *step, const struct TfyRecord_ *record);
bool tfy__budget_refuses(TfyCall *call),
    tfy__budget_holds(const TfyCall *call);                           /* no room: it failed; all was put down */
void tfy__budget_settle(TfyCall *call, int64_t tokens, int64_t cost); /* what it came to; a part below 0: not known */
void tfy__budget_leave_off(TfyCall *call,
                           bool lost); /* it starts again; lost: it stays charged, else it is free again */
void tfy__budget_close(TfyLoop *loop);
void tfy__budget_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out); /* members of the performer's value */
void tfy__budget_restore(TfyLoop *loop, const char *run_uuid, const json_t *json);
bool tfy__budget_read(const char *text, TfyAmount *limit, char *error); /* "cost=5,tokens=1M"; false: error says why */

/* Has the performer read a recorded result without a plain value. False: it reads none, or task->error is set. */
bool tfy__call_read(const TfyCall *call, const struct TfyPayload *payload, TfyValue *out);
/* When the time of the attempt ends, by the monotonic clock; 0: it has no limit. */
int64_t tfy__call_deadline_ns(const TfyCall *call);
void tfy__digest_text(uint64_t digest, char out[17]); /* as records have it */

void tfy__call_panicked(TfyCall *call); /* the performer's own code set task->error (a panic, or tfy_tool_fail) */

/* The system had no memory for the call. Nothing is recorded of it: the process ends with this turn, as a kill
 * would end it. */
void tfy__call_starved(TfyCall *call);

/* The process, or the machine, has no room for the call now (error: an errno value), and nothing has started that
 * cannot start again. Nothing is recorded: the step waits, and start() is called again. error 0: it waits for
 * something of the performer's own, and nobody is told. */
void tfy__call_no_room(TfyCall *call, int error);
/* What a call waits for may be there: start() of those without room is called with the next turn. */
void tfy__call_room_again(TfyLoop *loop);

/* ---- what a call would do, for the question of an `approve` policy (step/asked_rows.c) ---- */

void tfy__show_row(TfyBuffer *out, const char *label); /* starts a row; "]" ends it */
void tfy__show_word(TfyBuffer *out, const char *bytes, size_t len);
void tfy__show_text(TfyBuffer *out, const TfyObj *string);
/* A row for each entry of a map of texts; NULL: none. */
void tfy__show_entries(TfyBuffer *out, const char *label, const char *between, const TfyObj *map);

/* ---- services of the loop for performers ---- */

/* The loop cannot continue: it stops with this turn, and tfy_run and the like return the code. After TFY_E_LOST
 * and TFY_E_NOMEM nothing of this turn is recorded, as if the process had been killed. The first call counts. */
void tfy__loop_fail(TfyLoop *loop, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Calls handler(arg, events) on the loop's thread when the descriptor has events. Returns a handle, or a negative
 * code. */
typedef void (*TfyFdHandler)(void *arg, uint32_t events);
/* With TFY_FD_ONCE among the events (world.h), a reported event is not reported again until tfy__watch_arm; call
 * that after EAGAIN. Without it, an event is reported as long as it holds. */
int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg);
void tfy__watch_arm(TfyLoop *loop, int64_t handle, uint32_t events);
void tfy__watch_del(TfyLoop *loop, int64_t handle); /* before the descriptor is closed */

typedef void (*TfyTimerHandler)(void *arg); /* called once, when the monotonic clock reaches the deadline */
uint64_t tfy__timer_add(TfyLoop *loop, int64_t deadline_ns, TfyTimerHandler handler, void *arg); /* never 0 */
void tfy__timer_del(TfyLoop *loop, uint64_t handle); /* unknown and fired handles are allowed */

/* What is requested at a point of the program of a run; NULL: nothing. */
const TfySite *tfy__site_at(TfyLoop *loop, const char *run_uuid, uint32_t point);
int64_t tfy__now_ns(TfyLoop *loop), tfy__wall_ms(TfyLoop *loop); /* of this turn: monotonic, and by the calendar */
const char *tfy__root(TfyTask *task); /* where the task's run works, absolute; NULL: a replay */
int tfy__root_fd(TfyTask *task);      /* a descriptor of it, as long as the loop is open */
const char *tfy__program_root(TfyLoop *loop, const TfyProgram *program); /* where runs of it work that start now */
const char *tfy__lock_path(TfyLoop *loop); /* "<db>-tfy", or NULL for a log in memory; the watcher locks byte 1 of it */
bool tfy__is_served(TfyLoop *loop);        /* TfyOptions.served */
const char *tfy__llm_option(TfyLoop *loop), *tfy__models_option(TfyLoop *loop); /* TfyOptions.llm, .models, or NULL */
bool tfy__keeps_prompts(TfyTask *task); /* whether the log keeps what the task's run sends to models */
size_t tfy__output_most(TfyLoop *loop), tfy__file_most(TfyLoop *loop); /* bytes kept: of an output, a body; of a file */
/* Where the values of a program's secrets are, or NULL. */
const char *tfy__secrets_option(TfyLoop *loop, const TfyProgram *program);
const char *tfy__secrets_command(TfyLoop *loop); /* TfyOptions.secrets_from or NULL */
/* How far tools may go, whatever the program says. Each member: NULL: as the program says. */
typedef struct TfyCeiling {
    const char *sandbox; /* "readonly", "workspace", "open" */
    const char *network; /* "none", "any", or rules with commas between them */
    const char *grants;  /* what tools may do besides, "TOOL:reads=PATH", with newlines between them */
    bool runners;        /* runners, which no sandbox holds, may start */
    const char *granted; /* the same, by people while the run was under way */
    const char *budget;  /* what it may ask of models, "cost=5,tokens=1M" */
    const char *level;   /* of the sandbox when the run began: "full", "partial"; NULL: no tool needed one */
} TfyCeiling;
TfyCeiling tfy__ceiling(TfyTask *task);                     /* of a run that works now */
TfyCeiling tfy__ceiling_option(TfyLoop *loop);              /* of runs that start now */
const char *tfy__sandbox_level_option(TfyLoop *loop);       /* "full", "partial"; NULL: as far as the kernel goes */
void tfy__set_cell_level(TfyLoop *loop, const char *level); /* static text: what was found */
const TfyProgram *tfy__program_of(TfyTask *task);
const TfyProgram *tfy__program_at(TfyLoop *loop, uint32_t i); /* the i-th that is loaded; NULL: there are fewer */
const char *tfy__source_name(TfyLoop *loop, uint32_t i);      /* the i-th file of all, as messages name it; or NULL */
const char *tfy__run_uuid(TfyTask *task);                     /* of the task's run, 36 characters */
const char *tfy__task_path(TfyTask *task);                    /* "1.3.2" */
int64_t tfy__handles(TfyLoop *loop); /* above it 2^34 numbers that no other loop or opening has */

/* One slot per module for its data with the loop; NULL at first. */
/* clang-format off */
enum {
    TFY_M_PROCESS, TFY_M_LLM, TFY_M_HTTP, TFY_M_CODE, TFY_M_CANVAS, TFY_M_NET, TFY_M_POOL, TFY_M_WROTE, TFY_M_SENT,
    TFY_M_SANDBOX, TFY_M_SECRET, TFY_M_DAY, TFY_M_MCP, TFY_M_COUNT
};
/* clang-format on */
void **tfy__effect_slot(TfyLoop *loop, int module);

/* Live activity (PAL). stage: see the table in docs/runtime.md; the event is published once everything appended
 * so far is synced. */
void tfy__activity(TfyTask *task, const char *stage, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What a model says, for those who watch, and in no log line: a piece of the answer, its last one, or that it was lost.
 * False: not now, for a task is told of 20 times a second at most; the text may be told later. */
typedef enum TfySays { TFY_SAYS_MORE, TFY_SAYS_LAST, TFY_SAYS_VOID } TfySays;
bool tfy__activity_says(TfyTask *task, TfySays kind, const char *text, size_t len);

void tfy__count_repeat(TfyLoop *loop); /* a request to a model is sent again */
/* Adds an answer to the metrics, as tfy__metrics_answer. */
void tfy__count_answer(TfyLoop *loop, const char *model, const int64_t tokens[3], int64_t cost);

/* Prints a line for people, with its newline, on stderr once everything appended so far is synced; prints nothing
 * in replay. */
void tfy__report_text(TfyLoop *loop, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

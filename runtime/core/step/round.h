/* round.h: calls that take several exchanges. A performer that talks with a server may be told in the middle of a call
 * that the server wants to know more from people first, or that it does the work as a task of its own:
 *
 *   start() ──ask_more──▶ McpRound, then a question for each request ──answers──▶ start() anew, with them in call.round
 *   start() ──away──▶ McpTask ──time──▶ start() anew, with the task in call.round ──poll──▶ …
 *
 * All of it is one attempt: it has one number, one key and one time limit. What is known is in the log before it has any
 * effect, so that the process may end between any two of these arrows, and the run leave memory.
 *
 * While a question is open, the call's tool, arguments, result and digest are those of the effect `ask`; everything that
 * handles questions sees an ordinary one, of the same step. The answers are Approval records. A step whose tool is
 * `once` leaves another StepStart behind the answers, since from there on it may be done; not if the server has a task
 * of it, which is asked for its end by whoever comes.
 *
 * The code is reached through Round.ops, so that programs without such performers do not carry it. */
#ifndef CORE_STEP_ROUND_H
#define CORE_STEP_ROUND_H

#include "core/exchange.h"
#include "core/step/step.h"

typedef struct RoundOps {
    /* A McpRound or McpTask of the history. */
    void (*take)(Step *step, const TfyLogRecord *record);
    /* The StepStart of the open question. Its words were made of what is recorded, perhaps by another library. False: it
     * is another step's. */
    bool (*take_question)(Step *step, const TfyLogRecord *record);
    /* The open question has this answer, which is recorded. */
    void (*answered)(Step *step, const TfyObj *answer);
    /* Is this an answer to the open question? False: error says why not. */
    bool (*fits)(const Step *step, const char *answer, char *error);
    /* Whether the open question is a form, which a JSON object answers; else yes or no does. */
    bool (*is_form)(const Step *step);
    /* How it may be answered, for its record. */
    void (*put_type)(const Step *step, TfyBuffer *out);
    /* For a snapshot: one JSON value, and back. False: it is not one, or no memory. */
    void (*write)(const Step *step, TfyBuffer *out);
    bool (*read)(Step *step, const json_t *json);
    /* Nobody will wait for the call any more, though the run goes on: the server is told to end its task. */
    void (*abandon)(Step *step);
    /* The step ends, or another attempt starts: it is as if nobody had been asked. */
    void (*drop)(Step *step);
} RoundOps;

typedef struct Round {
    const RoundOps *ops;
    TfyRound shown;   /* call.round */
    StartState begun; /* the step's `started` before the first question */
    /* while a question is open: what the call has else; NULL: none is */
    TfyValue *args;
    uint64_t digest;
    TfyValue question[3]; /* its arguments: the text, and what stands below it or NULL */
} Round;

extern const RoundOps tfy__rounds;

/* Of a step whether a question is open in the middle of its call. */
static inline bool asks_more(const Step *step)
{
    return step->round && step->round->args;
}

/* Whether the server has made a task of the call, which is asked for its end. */
static inline bool is_away(const Step *step)
{
    return step->round && step->round->shown.away;
}

/* The arguments of the call, also while a question takes their place. */
static inline TfyValue *call_args(const Step *step)
{
    return asks_more(step) ? step->round->args : step->call.args;
}

#endif

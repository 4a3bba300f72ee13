/* llm_turn.h: one question of an agent to its model, and the turn that its answer is.
 *
 * An agent's loop is a workflow that the compiler writes (dsl/check_agent.c). Its step NAME.next asks the model and
 * gives a turn, a record of
 *
 *   said   thread           what the conversation grows by: the answer, and what is told at once of calls that cannot be
 *                           performed
 *   calls  list<NAME.Call>  the calls to perform, 32 at most; `answer` is the last one that counts
 *   ids    list<string>     of the calls, as the model is told of their results
 *   reads  list<int>        by call: so many from here on only read
 *   unfit  string?          why the answer is none: to be asked again
 *   tokens int              that the model counted in the question; -1: it did not say
 *   window int              how many it can read; 0: nobody knows
 *   long   bool             the question was too long for it, and unfit says how it put that: nothing else is there
 *
 * A turn follows from the recorded answer alone, so a replay makes it again. */
#ifndef EFFECTS_LLM_TURN_H
#define EFFECTS_LLM_TURN_H

#include <jansson.h>

#include "core/effect.h"

/* The tools of a question, in the neutral form; the caller owns them. NULL: task->error is set. */
json_t *tfy__turn_tools(const TfyCall *call);

/* What a turn is made of. */
typedef struct TfyAnswer {
    const char *text;
    size_t len;           /* bytes */
    const json_t *calls;  /* a list of {id, tool, args}; NULL: none */
    const json_t *opaque; /* {from, items}: what only its provider understands; NULL: nothing */
    bool cut;             /* the answer was longer than the endpoint gives: its last call may be half of one */
    const char *too_long; /* there is no answer, since the question was too long; NULL: there is one */
    int64_t tokens, window;
} TfyAnswer;

/* Whether a prompt's answer is a turn: NAME.next of an agent. */
static inline bool tfy__is_turn(const TfyTool *tool)
{
    return tool->agent && !tool->compacts;
}

/* Whether the newest message of a conversation is a question that something else came before, so that no endpoint has
 * counted the tokens yet. False also without memory. */
bool tfy__turn_continues(TfyTask *task, const TfyObj *chat);

/* Makes the turn of an answer. The result is borrowed. False: task->error is set. */
bool tfy__turn_decode(TfyTask *task, const TfyTool *tool, const TfyAnswer *answer, TfyValue *out);

#endif

/* agent.h: what was made for a prompt that is an agent. */
#ifndef DSL_AGENT_H
#define DSL_AGENT_H

#include "type.h"

/* One offer, resolved. */
typedef struct Target {
    const Offer *offer;
    const char *as;         /* what the model calls it, which is the name of its case */
    Decl *decl;             /* a tool, prompt, workflow or fn, or NULL: */
    const Builtin *builtin; /* an effect */
    const Type *result;
    const char *doc;
    TypeField *params;
    uint32_t param_count;
    bool reads;    /* changes nothing, so it may run beside its neighbours */
    int64_t times; /* at most; 0: as often as one likes */
    /* what it sees and does, for people, a line each; NULL: nothing, or the program has mistakes */
    const char *reaches;
} Target;

typedef struct Agent {
    const Decl *prompt;
    Decl *calls;   /* enum NAME.Call: a case for each target, in their order, and answer */
    Decl *next;    /* prompt NAME.next: asks the model once */
    Decl *compact; /* prompt NAME.compact: asks it for a summary of what is older */
    Decl *loop;    /* workflow NAME */
    const Target *targets;
    uint32_t target_count;
    int64_t most; /* tokens of an answer */
} Agent;

/* coder.Call and coder.next; NULL: it has no such name. */
Decl *agent_member(const Decl *prompt, const char *name);

/* For those who complete what is written: the names of the rows, NULL at the end, and the effects that can be offered,
 * by their number; NULL: there are no more. */
const char *const *agent_row_names(void);
const Builtin *agent_effect_at(size_t i);

#endif

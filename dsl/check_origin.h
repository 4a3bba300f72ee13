/* check_origin.h: labels, where untrusted values come from, and what a fn, workflow, tool or prompt does with those
 * that it is given (check_trust.c). */
#ifndef DSL_CHECK_ORIGIN_H
#define DSL_CHECK_ORIGIN_H

#include "ast.h"

/* Where an untrusted value comes from, or what it went through. */
typedef struct Origin {
    const char *says; /* "it comes from the prompt", … */
    const char *name; /* … and "plan"; NULL: nothing is named */
    const char *who;  /* "a model chose this"; the same along the way */
    Span span;
    const struct Origin *before; /* NULL: this is the source */
} Origin;

typedef struct Label {
    const Origin *from; /* NULL: trusted, but for: */
    uint64_t params;    /* the parameters of the body that reach it */
    /* Only for a report (trust.h): what chose it among others. The source is what chose, the span the choice. */
    const Origin *chosen; /* NULL: nothing from outside, but for: */
    uint64_t choosers;    /* the parameters of the body that choose it */
} Label;

/* A place that takes only what is trusted. */
typedef struct Place {
    const char *what; /* "decides which program 'run' starts"; NULL: it is declared so */
    const char *name; /* of the parameter */
    Span span;
    bool unless_approved; /* a call of the tool that has `approve` may be given anything */
} Place;

/* What a body calls, as it was when the body was walked. */
typedef struct Callee {
    struct Reach *reach;
    uint32_t seen; /* its `changed` when it was read */
} Callee;

/* A call that the last round looks at: the words of its command, or, with a policy, what a person is asked about. */
typedef struct Looked {
    const Expr *call, *argv;
    Policy *policy;
} Looked;

/* The summary of a fn, workflow, tool or prompt. */
typedef struct Reach {
    Label result;
    const Place **places; /* by parameter; NULL: none */
    const Expr **words;   /* by parameter: a word of an argv that may be read as an option; NULL: none */
    Label *sent;          /* by parameter: what goes into its channels */
    Label *given;         /* by parameter: what any caller gives for it */
    Label handed;         /* what any caller sends into the channels of the result */
    uint32_t count;
    /* What it calls, and when, by Trust.clock: what callers read of it changed; its body was walked last, 0: never. */
    struct Callee *callees;
    uint32_t callee_count, callee_cap, changed, walked;
    bool unsettled; /* something that only its body reads has changed since */
    bool speaks;    /* something in its body is refused or warned of */
    Looked *looked;
    uint32_t looked_count, looked_cap;
    struct Sight *sight; /* of a workflow, in programs with agents (agent_trust.c) */
} Reach;

/* "it comes from the prompt 'plan'". Put together only for those who read it: most origins are never shown. */
const char *check_origin_text(Arena *arena, const Origin *origin);

/* "from the prompt 'plan', line 10": the source of a value, in the words of an approval. */
const char *check_origin_words(Arena *arena, const SourceSet *sources, const Origin *origin);

#endif

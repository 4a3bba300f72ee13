/* check_trust.h: what the files of the pass of the labels share: its state, and how a value gets into a place.
 *
 * check_trust.c follows values through a program, check_sent.c those that are sent into a channel, to each name that it
 * has; check_place.c knows the places that take only trusted ones. */
#ifndef DSL_CHECK_TRUST_H
#define DSL_CHECK_TRUST_H

#include "check_internal.h"
#include "trust.h"

/* Parameters behind this many share the last bit. */
enum { PARAM_BITS = 63 };

typedef struct Trust {
    Check *c;
    const Program *program;
    Arena *arena;
    Reach *reach; /* of the declaration at hand */
    const Decl *decl;
    Label *given;           /* what the innermost closure gives; NULL: none */
    const Closure *closure; /* that closure */
    Table errors;           /* full name of a declared error → Reach *, whose result is what its fields hold */
    bool approved;          /* the call at hand has `approve` */
    TrustReport *notes;     /* NULL: nobody asks for them */
    TrustReport *calls;     /* where calls are noted; NULL: nowhere */
    Label decides;          /* what decides whether the statement at hand is reached; only for notes */
    /* What changed last, and when something did that every declaration may read: a body is walked again only if what it
     * reads has changed since. */
    uint32_t clock, common;
    bool shared;  /* variables at hand are those of an inline function, which is a declaration of its own, too */
    bool first;   /* this body was not walked before */
    bool reports; /* the last round */
} Trust;

static inline uint64_t param_bit(uint32_t index)
{
    return UINT64_C(1) << (index < PARAM_BITS ? index : PARAM_BITS);
}

/* Joins into a label that is kept; true when it grew. */
static inline bool label_grow(Label *kept, Label label)
{
    const bool grows = (label.from && !kept->from) || (label.params & ~kept->params) ||
                       (label.chosen && !kept->chosen) || (label.choosers & ~kept->choosers);
    if (label.from && !kept->from) kept->from = label.from;
    if (label.chosen && !kept->chosen) kept->chosen = label.chosen;
    kept->params |= label.params;
    kept->choosers |= label.choosers;
    return grows;
}

static inline Label *label_of_variable(Trust *t, const Variable *variable)
{
    if (!variable->label) ((Variable *)variable)->label = arena_new(t->arena, Label);
    return variable->label;
}

static inline Label read_variable(Trust *t, const Variable *variable)
{
    const Label label = *label_of_variable(t, variable);
    ((Variable *)variable)->label_read = true;
    return label;
}

static inline bool has_handle(Trust *t, const Expr *e)
{
    return t->c->has_handle_types && e->type && type_has_handle(t->c, e->type);
}

static inline bool variable_has_handle(Trust *t, const Variable *variable)
{
    return t->c->has_handle_types && variable->type && type_has_handle(t->c, variable->type);
}

/* ---- check_trust.c ---- */
Label label_expr(Trust *t, const Expr *e);
const Origin *origin_of(const Trust *t, Label label); /* in this body, whoever called it; NULL: it is trusted */
void into_variable(Trust *t, const Variable *variable, Label label);
Reach *reach_of(Trust *t, const Decl *decl); /* never NULL */
/* A value stands in a place: a mistake if it comes from outside. */
void into_place(Trust *t, Span span, Label label, const Place *place);
/* A word of a command that a program may read as an option. */
void into_word(Trust *t, Label label, const Expr *word);

/* ---- check_sent.c ---- */
/* What is sent into the channels that an expression gives is in every name that they have. */
void into_handles(Trust *t, const Expr *e, Label label);
/* Where they get one more: as a variable, in another channel, for callers, and around the innermost closure. */
void share_handles(Trust *t, const Expr *value, const Variable *variable);
void send_handles(Trust *t, const Expr *call);
void return_handles(Trust *t, const Expr *value);
void give_handles(Trust *t, const Expr *value);

/* ---- check_place.c ---- */
const Place *place_declared(Trust *t, const Decl *decl, uint32_t index); /* NULL: the parameter takes anything */
void places_of_builtin(Trust *t, const Expr *call);
void places_of_tool(Trust *t, const Decl *decl);
void places_of_prompt(Trust *t, const Decl *decl);
/* Reports a value from outside in a place, with the way that it took; once for each place in the source. */
void place_refuse(Check *c, Span span, const Origin *origin, const Place *place);

/* ---- agent_trust.c ---- */

/* Whether a program has prompts that offer something to a model. */
bool agents_offer(const Program *program);
/* Refuses agents that see what strangers write, see what is private, and act outside with nobody asked. */
void agents_trust(Trust *t);

#endif

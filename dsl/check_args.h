/* check_args.h: the arguments of a call, and where each of them goes.
 *
 * Every callee becomes a list of slots first: one per parameter or field, in the order of their declaration. Binding
 * is then the same for a fn, a workflow, a tool, a record, an error, an enum case, a built-in effect and a method. */
#ifndef DSL_CHECK_ARGS_H
#define DSL_CHECK_ARGS_H

#include "check_internal.h"

/* What an argument can go to. */
typedef struct Slot {
    const char *name;
    const Type *type;
    const Expr *value; /* default or NULL */
    bool optional;     /* may be left out without a default */
    Span span;         /* where it is declared; len 0 for built-ins */
    /* an inline function of `type`: what it gives, as the tables of builtin.c have it; else NULL */
    const char *gives;
    bool folds;  /* … of what came before and of `type` */
    bool later;  /* its argument is checked behind all others, by the caller */
    bool infers; /* its argument decides what U is; `type` is what the surroundings want, or NULL */
} Slot;

typedef enum SlotRule {
    SLOTS_FREE,       /* positional first, then named */
    SLOTS_NAMED_ONLY, /* records */
    SLOTS_ERROR,      /* one positional string, the message, then named */
} SlotRule;

typedef struct Slots {
    const char *owner; /* what is called; for messages */
    const char *noun;  /* "parameter", "field" */
    Slot *items;
    uint32_t count;
    SlotRule rule;
} Slots;

void slots_init(Check *c, Slots *slots, const char *owner, const char *noun, uint32_t count);
void slots_of_params(Check *c, Slots *slots, const Decl *decl);
void slots_of_fields(Check *c, Slots *slots, const char *owner, const TypeField *fields, uint32_t count);
void slots_of_builtin(Check *c, Slots *slots, const Builtin *builtin, const Type *receiver);

/* Checks the arguments and sets e->argv; `first` is 1 when a receiver comes before them. */
void slots_bind(Check *c, Expr *e, const Slots *slots, uint32_t first);
/* http: argv holds `limit` and `rate` too, behind the e->argc arguments; NULL: not given. They belong to the place: the
 * request does not have them. */
void slots_bind_http(Check *c, Expr *e, const Builtin *builtin);

#endif

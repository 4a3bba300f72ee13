/* check_sent.c: what is sent into a channel, to each name that the channel has (check_trust.c).
 *
 * A channel gets a second name where a value that holds it is bound, given, returned, caught, chosen, or sent itself. A
 * value from outside that is sent by one name is received by all of them. So wherever something takes a label from a
 * value, the value takes one back: into_handles follows the expression to the variables that it was made of, into the
 * bodies of groups, and to the workflow that returned it. */
#include "check_trust.h"

/* ---- to the other side of a result ---- */

/* Its bodies give these channels: they are read when the body at hand is walked again. */
static void into_closure(Trust *t, Closure *closure, Label label)
{
    if (!closure->sent) closure->sent = arena_new(t->arena, Label);
    t->reach->unsettled |= label_grow(closure->sent, label);
}

static void into_bodies(Trust *t, const Expr *e, Label label)
{
    if (e->closure) into_closure(t, e->closure, label);
    for (const ParallelBody *body = e->bodies; body; body = body->next) {
        if (body->closure) into_closure(t, body->closure, label);
        if (body->yield) into_handles(t, body->yield, label);
    }
}

/* The channels of a result may be the callee's own, or of what it was given. */
static void into_call(Trust *t, const Expr *e, Label label)
{
    const bool is_own = e->call == CALL_FN || e->call == CALL_WORKFLOW;
    for (uint32_t i = 0; i < e->argc; i++)
        if (e->argv[i] && has_handle(t, e->argv[i])) into_handles(t, e->argv[i], label);
    if (!is_own) return;
    Reach *callee = reach_of(t, e->decl);
    callee->unsettled |= label_grow(&callee->handed, (Label){.from = origin_of(t, label)});
}

static void into_step(Trust *t, const Expr *e, Label label)
{
    into_handles(t, e->left, label);
    for (const Policy *policy = e->policies; policy; policy = policy->next)
        if (policy->kind == POL_ELSE) into_handles(t, policy->value, label);
}

void into_handles(Trust *t, const Expr *e, Label label)
{
    if (!e || !(label.from || label.params)) return;
    switch (e->kind) {
    case EX_NAME:
        if (e->variable) into_variable(t, e->variable, label);
        return;
    case EX_IF:
        into_handles(t, e->left, label);
        into_handles(t, e->right, label);
        return;
    case EX_YIELD: into_step(t, e, label); return;
    case EX_CALL: into_call(t, e, label); return;
    case EX_PARALLEL:
    case EX_RACE:
    case EX_PARALLEL_FOR: into_bodies(t, e, label); return;
    case EX_LIST:
        for (const Arg *arg = e->args; arg; arg = arg->next) into_handles(t, arg->value, label);
        return;
    case EX_MAP:
        for (const MapEntry *entry = e->entries; entry; entry = entry->next) into_handles(t, entry->value, label);
        return;
    default:
        into_handles(t, e->left, label);
        if (e->kind == EX_BINARY) into_handles(t, e->right, label);
        return;
    }
}

/* ---- where a channel gets a name ---- */

void share_handles(Trust *t, const Expr *value, const Variable *variable)
{
    if (has_handle(t, value)) into_handles(t, value, read_variable(t, variable));
}

/* A channel that is sent has a name at each end. */
void send_handles(Trust *t, const Expr *call)
{
    into_handles(t, call->argv[0], label_expr(t, call->argv[1]));
    if (has_handle(t, call->argv[1])) into_handles(t, call->argv[1], label_expr(t, call->argv[0]));
}

void return_handles(Trust *t, const Expr *value)
{
    if (t->reach && has_handle(t, value)) into_handles(t, value, t->reach->handed);
}

void give_handles(Trust *t, const Expr *value)
{
    if (t->closure && t->closure->sent && has_handle(t, value)) into_handles(t, value, *t->closure->sent);
}

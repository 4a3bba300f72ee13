/* lower_yield.c: the roots of statements: yield with its policies, and what can stand in its place.
 *
 * Effects hand their policies to the runtime; nested workflow calls are retried by code made here, because only the caller can call
 * again: arguments are kept in variables, and tfy_backoff records the attempt and waits. */
#include <string.h>

#include "lower.h"

typedef struct Policies {
    const Expr *retry, *backoff, *timeout, *key, *otherwise;
    const char *label;
} Policies;

static const char *plain_text(Lower *l, const Expr *e)
{
    const Expr *part = e->parts;
    return part ? arena_strndup(l->arena, part->text, part->text_len) : "";
}

static Policies read_policies(Lower *l, const Expr *e)
{
    Policies p = {0};
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        switch (policy->kind) {
        case POL_RETRY: p.retry = policy->value; break;
        case POL_BACKOFF: p.backoff = policy->value; break;
        case POL_TIMEOUT: p.timeout = policy->value; break;
        case POL_KEY: p.key = policy->value; break;
        case POL_ELSE: p.otherwise = policy->value; break;
        case POL_AS: p.label = plain_text(l, policy->value); break;
        default: machine_bug("a policy the lowering does not know");
        }
    }
    return p;
}

/* Where the answer goes. */
typedef struct Target {
    Var *var;      /* NULL: nowhere */
    bool replaces; /* it holds something that must be given back */
} Target;

/* Stores a value of type `from` in dst, or forgets it. */
static void store_as(Lower *l, const Target *dst, const Type *to, Val *value, const Type *from)
{
    if (dst->var && value) lower_store(l, dst->var, lower_convert(l, value, from, to), dst->replaces);
}

/* At the resume point: the answer goes to dst, converted when `else null` made the whole a T?. */
static void take_answer(Lower *l, const Expr *e, const Target *dst)
{
    const Type *from = e->left->type;
    if (from->kind == TYPE_NOTHING) return;
    bool boxes = e->type != from && from->scalar;
    if (!dst->var || !boxes) {
        lower_instr(l, IN_TAKE, dst->var, NULL)->type = from;
        return;
    }
    Var *taken = lower_temp(l, machine_rep(from));
    lower_instr(l, IN_TAKE, taken, NULL)->type = from;
    store_as(l, dst, e->type, val_of(l, taken), from);
}

/* `else V`: an error that can be replaced is dropped and V taken; all others go on to the landing. */
static void lower_else(Lower *l, const Expr *e, const Expr *otherwise, const Target *dst, MBlock *landing, MBlock *done)
{
    MBlock *replace = machine_block(l->routine);
    lower_branch(l, val_pure(l, RT_REPLACEABLE, REP_BOOL, 0), replace, landing);
    lower_begin(l, replace);
    lower_instr(l, IN_DROP_ERROR, NULL, NULL);
    store_as(l, dst, e->type, lower_expr(l, otherwise), otherwise->to);
    lower_end(l);
    lower_go(l, done);
}

/* Ends the block at a point; goes on behind it. */
static Term *stop_at(Lower *l, Point *point, MBlock *landing)
{
    Term *term = &l->cur->term;
    if (term->kind != TERM_NONE) machine_bug("a block was ended twice");
    term->kind = TERM_POINT;
    term->line = l->line;
    term->point = point;
    term->landing = landing;
    term->to = machine_block(l->routine);
    landing->landing = true;
    return term;
}

static void go_on_behind(Lower *l, Term *term)
{
    machine_note_term(l->routine, term);
    lower_take_touched(l, term);
    lower_begin(l, term->to);
}

static Val **lower_args(Lower *l, const Expr *call)
{
    Val **args = arena_alloc(l->arena, (call->argc + 1) * sizeof *args);
    for (uint32_t i = 0; i < call->argc; i++) args[i] = call->argv[i] ? lower_expr(l, call->argv[i]) : val_null(l);
    return args;
}

/* ---- effects ---- */

static Point *effect_point(Lower *l, const Expr *call, const char *label)
{
    const char *kind = call->call == CALL_TOOL ? "tool" : call->call == CALL_PROMPT ? "prompt" : "effect";
    const char *name = call->decl ? call->decl->name.text : call->builtin->name;
    Point *point = machine_point(l->routine, ASK_EFFECT, label, kind, name, l->line);
    point->result = call->type;
    point->callee = call->call == CALL_BUILTIN ? NULL : call->decl;
    point->builtin = call->call == CALL_BUILTIN ? call->builtin : NULL;
    return point;
}

static void lower_effect(Lower *l, const Expr *e, const Policies *p, const Target *dst)
{
    const Expr *call = e->left;
    MBlock *landing = p->otherwise ? machine_block(l->routine) : l->landing;
    Val **args = lower_args(l, call);
    Val *retry = p->retry ? lower_expr(l, p->retry) : NULL, *backoff = p->backoff ? lower_expr(l, p->backoff) : NULL;
    Val *timeout = p->timeout ? lower_expr(l, p->timeout) : NULL, *key = p->key ? lower_expr(l, p->key) : NULL;
    Term *term = stop_at(l, effect_point(l, call, p->label), landing);
    term->args = args;
    term->argc = call->argc;
    term->retry = retry;
    term->backoff = backoff;
    term->timeout = timeout;
    term->key = key;
    go_on_behind(l, term);
    take_answer(l, e, dst);
    lower_end(l);
    if (!p->otherwise) return;
    MBlock *done = machine_block(l->routine);
    lower_go(l, done);
    lower_begin(l, landing);
    lower_else(l, e, p->otherwise, dst, l->landing, done);
    lower_begin(l, done);
}

/* ---- nested workflows ---- */

static Term *stop_for_call(Lower *l, const Expr *call, const char *label, Val **args, Val *timeout, MBlock *landing)
{
    Point *point = machine_point(l->routine, ASK_CALL, label, "call", call->decl->name.text, l->line);
    point->callee = call->decl;
    Term *term = stop_at(l, point, landing);
    term->callee = call->decl;
    term->args = args;
    term->argc = call->argc;
    term->timeout = timeout;
    return term;
}

/* Arguments that a second attempt needs again. */
static void steady_args(Lower *l, const Expr *call, Val **args)
{
    for (uint32_t i = 0; i < call->argc; i++) args[i] = lower_steady(l, args[i], call->argv[i]->to, "arg");
}

typedef struct Retry {
    Val *count, *backoff;
    Var *attempt;
    MBlock *again;
} Retry;

/* The error of an attempt arrives: once more, or on to `beyond`. */
static void lower_retry(Lower *l, const Expr *call, const Retry *r, MBlock *arrives, MBlock *beyond)
{
    MBlock *pause = machine_block(l->routine);
    Val *attempt = val_of(l, r->attempt);
    arrives->landing = true;
    lower_begin(l, arrives);
    Val *left = val_compare(l, OP_LT, attempt, r->count);
    lower_branch(l, val_binary(l, VAL_AND, REP_BOOL, left, val_pure(l, RT_RETRIABLE, REP_BOOL, 0)), pause, beyond);
    lower_forget(l);
    lower_begin(l, pause);
    lower_instr(l, IN_SET, r->attempt, val_unary(l, VAL_NEXT, REP_INT, attempt));
    Point *point = machine_point(l->routine, ASK_BACKOFF, NULL, "retry", call->decl->name.text, l->line);
    point->result = call->type;
    Term *term = stop_at(l, point, beyond);
    term->args = arena_alloc(l->arena, sizeof *term->args);
    term->args[0] = attempt;
    term->argc = 1;
    term->backoff = r->backoff;
    go_on_behind(l, term);
    lower_go(l, r->again);
}

static void lower_nested(Lower *l, const Expr *e, const Policies *p, const Target *dst)
{
    const Expr *call = e->left;
    const Type *integer = l->machine->program->core.integer;
    Retry r = {0};
    MBlock *done = machine_block(l->routine), *arrives = p->retry ? machine_block(l->routine) : NULL;
    MBlock *instead = p->otherwise ? machine_block(l->routine) : NULL, *beyond = instead ? instead : l->landing;
    Val **args = lower_args(l, call);
    Val *timeout = p->timeout ? lower_expr(l, p->timeout) : NULL;
    if (p->retry) {
        steady_args(l, call, args);
        if (timeout) timeout = lower_steady(l, timeout, integer, "timeout");
        r.count = lower_steady(l, lower_expr(l, p->retry), integer, "retries");
        r.backoff = p->backoff ? lower_steady(l, lower_expr(l, p->backoff), integer, "backoff") : NULL;
        r.attempt = lower_hidden(l, integer, "attempt");
        r.again = machine_block(l->routine);
        lower_instr(l, IN_SET, r.attempt, val_int(l, 0));
        lower_end(l);
        lower_go(l, r.again);
        lower_begin(l, r.again);
    }
    go_on_behind(l, stop_for_call(l, call, p->label, args, timeout, arrives ? arrives : beyond));
    take_answer(l, e, dst);
    lower_end(l);
    if (!arrives && !instead) return;
    lower_go(l, done);
    if (arrives) lower_retry(l, call, &r, arrives, beyond);
    if (instead) {
        instead->landing = true;
        lower_begin(l, instead);
        lower_else(l, e, p->otherwise, dst, l->landing, done);
    }
    lower_begin(l, done);
}

/* ---- the public verbs ---- */

void lower_yield(Lower *l, const Expr *e, Var *dst, bool replaces)
{
    const Expr *call = e->left;
    const Target target = {dst, replaces};
    Policies p = read_policies(l, e);
    if (call->call == CALL_WORKFLOW) {
        lower_nested(l, e, &p, &target);
    } else if (call->call == CALL_BUILTIN && !call->builtin->suspends) {
        store_as(l, &target, e->type, lower_effect_now(l, call, p.label), call->type);
    } else {
        lower_effect(l, e, &p, &target);
    }
}

void lower_into(Lower *l, const Expr *e, Var *dst, bool replaces)
{
    e = lower_strip(e);
    if (e->kind != EX_YIELD) {
        lower_store(l, dst, lower_expr(l, e), replaces);
    } else if (e->type == e->to || !e->type->scalar) {
        lower_yield(l, e, dst, replaces);
    } else {
        Var *taken = lower_hidden(l, e->type, "answer");
        lower_yield(l, e, taken, false);
        lower_store(l, dst, lower_convert(l, val_of(l, taken), e->type, e->to), replaces);
    }
}

Val *lower_root(Lower *l, const Expr *e, const char *name)
{
    e = lower_strip(e);
    if (e->kind != EX_YIELD) return lower_expr(l, e);
    Var *taken = lower_hidden(l, e->type, name);
    lower_yield(l, e, taken, false);
    Val *value = val_of(l, taken);
    return e->to ? lower_convert(l, value, e->type, e->to) : value;
}

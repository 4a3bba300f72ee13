/* lower_yield.c: the roots of statements: yield with its policies, and what can be in its place.
 *
 * Effects hand their policies to the runtime; nested workflow calls are retried by code made here, because only the
 * caller can call again: arguments are kept in variables, and tfy_backoff records the attempt and waits. */
#include <string.h>

#include "../dsl/check_internal.h"
#include "lower.h"

typedef struct Policies {
    const Expr *retry, *backoff, *timeout, *key, *otherwise, *call;
    const Policy *approve;
    const CatchName *retry_on; /* NULL: every error that can be tried again */
    const Policy *undo;
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
        case POL_RETRY:
            p.retry = policy->value;
            p.retry_on = policy->errors;
            break;
        case POL_BACKOFF: p.backoff = policy->value; break;
        case POL_TIMEOUT: p.timeout = policy->value; break;
        case POL_KEY: p.key = policy->value; break;
        case POL_CALL: p.call = policy->value; break;
        case POL_ELSE: p.otherwise = policy->value; break;
        case POL_UNDO: p.undo = policy; break;
        case POL_APPROVE: p.approve = policy; break;
        case POL_AS: p.label = plain_text(l, policy->value); break;
        default: UNREACHED("every policy is lowered");
        }
    }
    return p;
}

/* Where the answer goes. */
typedef struct Target {
    Var *var;      /* NULL: nowhere */
    bool replaces; /* it holds something that must be released */
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
    if (dst->var && dst->replaces) lower_keep_old(l, dst->var);
    if (!dst->var || !boxes) {
        lower_instr(l, IN_TAKE, dst->var, NULL)->type = from;
        return;
    }
    Var *taken = lower_temp(l, machine_rep(from));
    lower_instr(l, IN_TAKE, taken, NULL)->type = from;
    store_as(l, dst, e->type, val_of(l, taken), from);
}

/* `else V`: an error that can be replaced is dropped and V taken; all others continue to the landing. */
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

/* Ends the block at a point; continues behind it. */
Term *lower_stop_at(Lower *l, Point *point, MBlock *landing)
{
    Term *term = &l->cur->term;
    CHECK(term->kind == TERM_NONE);
    CHECK(l->routine->kind == ROUTINE_WORKFLOW);
    term->kind = TERM_POINT;
    term->line = l->line;
    term->point = point;
    term->landing = landing;
    term->to = machine_block(l->routine);
    landing->landing = true;
    return term;
}

void lower_go_on_behind(Lower *l, Term *term)
{
    CHECK(l->cur && term == &l->cur->term);
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

static const char *callee_name(const Expr *call)
{
    return call->builtin ? call->builtin->name : call->decl->full_name;
}

/* The runtime's name of http in the repeat class of this call. */
static const char *http_effect(const Expr *call)
{
    static const char *const names[] = {
        [REPEAT_ONCE] = "http", [REPEAT_IDEMPOTENT] = "http_idempotent", [REPEAT_PURE] = "http_pure"};
    return names[builtin_repeat(call)];
}

/* `limit` and `rate` of http, which are literals. */
static void take_limits(Point *point, const Expr *call)
{
    const Expr *limit = call->argv[call->argc], *rate = call->argv[call->argc + 1];
    if (limit) point->limit = limit->int_value;
    if (!rate) return;
    point->rate = rate->left->int_value;
    point->rate_ms = rate->right->int_value;
}

static Point *effect_point(Lower *l, const Expr *call, const char *label)
{
    const char *kind = call->call == CALL_TOOL ? "tool" : call->call == CALL_PROMPT ? "prompt" : "effect";
    Point *point = lower_point(l, ASK_EFFECT, label, kind, callee_name(call));
    point->result = call->type;
    point->words = call->words;
    point->callee = call->builtin ? NULL : call->decl;
    point->builtin = call->builtin;
    if (call->builtin && call->builtin->id == BI_HTTP) {
        point->effect = http_effect(call);
        take_limits(point, call);
    }
    if (call->builtin && call->builtin->id == BI_ASK && call->type->kind == TYPE_RECORD && !type_is_answer(call->type))
        point->effect = "ask_form";
    if (call->builtin && type_is_descriptor(call->builtin->receiver)) point->effect = call->builtin->name;
    if (call->builtin && call->builtin->receiver == TYPE_CHANNEL) point->channel = call->argv[0]->to;
    return point;
}

/* The way of a step's errors: its undo hears of them first, then `else`, then the surroundings. Places nothing yet. */
typedef struct Errors {
    MBlock *undo, *otherwise; /* NULL: not there */
    MBlock *first;            /* where they arrive */
} Errors;

static Errors plan_errors(Lower *l, const Policies *p)
{
    Errors errors = {.undo = p->undo ? machine_block(l->routine) : NULL,
                     .otherwise = p->otherwise ? machine_block(l->routine) : NULL};
    errors.first = errors.undo ? errors.undo : errors.otherwise ? errors.otherwise : l->landing;
    errors.first->landing = true;
    return errors;
}

/* Continues in `done`, whatever the outcome of the step. */
static void lower_errors(Lower *l, const Expr *e, const Policies *p, const Target *dst, const Errors *errors,
                         MBlock *done)
{
    if (errors->undo) {
        lower_begin(l, errors->undo);
        lower_undo_failed(l);
        if (errors->otherwise)
            lower_go(l, errors->otherwise);
        else
            lower_raise(l, l->landing);
        lower_forget(l);
    }
    if (errors->otherwise) {
        lower_begin(l, errors->otherwise);
        lower_else(l, e, p->otherwise, dst, l->landing, done);
    }
}

static void lower_effect(Lower *l, const Expr *e, const Policies *p, const Target *dst)
{
    const Expr *call = e->left;
    Errors errors = plan_errors(l, p);
    Val **args = lower_args(l, call);
    Val *retry = p->retry ? lower_expr(l, p->retry) : NULL, *backoff = p->backoff ? lower_expr(l, p->backoff) : NULL;
    Val *timeout = p->timeout ? lower_expr(l, p->timeout) : NULL, *key = p->key ? lower_expr(l, p->key) : NULL;
    Val *id = p->call ? lower_expr(l, p->call) : NULL;
    Point *point = effect_point(l, call, p->label);
    point->retry_on = p->retry_on;
    Undo undo = {0};
    if (p->undo) undo = lower_undo_begin(l, p->undo, point);
    Term *term = lower_stop_at(l, point, errors.first);
    term->args = args;
    term->argc = call->argc;
    term->retry = retry;
    term->backoff = backoff;
    term->timeout = timeout;
    term->key = key;
    term->call = id;
    lower_go_on_behind(l, term);
    take_answer(l, e, dst);
    if (p->undo) lower_undo_done(l, &undo, dst->var, e->type);
    lower_end(l);
    if (!errors.undo && !errors.otherwise) return;
    MBlock *done = machine_block(l->routine);
    lower_go(l, done);
    lower_errors(l, e, p, dst, &errors, done);
    lower_begin(l, done);
}

/* ---- nested workflows ---- */

static Point *call_point(Lower *l, const Expr *call, const char *label)
{
    Point *point = lower_point(l, ASK_CALL, label, "call", call->decl->full_name);
    point->callee = call->decl;
    return point;
}

static Term *stop_for_call(Lower *l, const Expr *call, Point *point, Val **args, Val *timeout, MBlock *landing)
{
    Term *term = lower_stop_at(l, point, landing);
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
    const CatchName *on; /* NULL: every error that can be tried again */
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
    Val *meant = r->on ? lower_error_is(l, r->on) : val_pure(l, RT_RETRIABLE, REP_BOOL, 0);
    lower_branch(l, val_binary(l, VAL_AND, REP_BOOL, left, meant), pause, beyond);
    lower_forget(l);
    lower_begin(l, pause);
    lower_instr(l, IN_SET, r->attempt, val_unary(l, VAL_NEXT, REP_INT, attempt));
    Point *point = lower_point(l, ASK_BACKOFF, NULL, "retry", call->decl->full_name);
    point->result = call->type;
    Term *term = lower_stop_at(l, point, beyond);
    term->args = arena_alloc(l->arena, sizeof *term->args);
    term->args[0] = attempt;
    term->argc = 1;
    term->backoff = r->backoff;
    lower_go_on_behind(l, term);
    lower_go(l, r->again);
}

static void lower_nested(Lower *l, const Expr *e, const Policies *p, const Target *dst)
{
    const Expr *call = e->left;
    const Type *integer = l->machine->program->core.integer;
    Retry r = {0};
    MBlock *done = machine_block(l->routine), *arrives = p->retry ? machine_block(l->routine) : NULL;
    Errors errors = plan_errors(l, p);
    Val **args = lower_args(l, call);
    Val *timeout = p->timeout ? lower_expr(l, p->timeout) : NULL;
    Point *point = call_point(l, call, p->label);
    Undo undo = {0};
    if (p->retry) {
        steady_args(l, call, args);
        if (timeout) timeout = lower_steady(l, timeout, integer, "timeout");
        r.on = p->retry_on;
        r.count = lower_steady(l, lower_expr(l, p->retry), integer, "retries");
        r.backoff = p->backoff ? lower_steady(l, lower_expr(l, p->backoff), integer, "backoff") : NULL;
        r.attempt = lower_hidden(l, integer, "attempt");
        r.again = machine_block(l->routine);
        lower_instr(l, IN_SET, r.attempt, val_int(l, 0));
        if (p->undo) undo = lower_undo_begin(l, p->undo, point);
        lower_end(l);
        lower_go(l, r.again);
        lower_begin(l, r.again);
    } else if (p->undo) {
        undo = lower_undo_begin(l, p->undo, point);
    }
    lower_go_on_behind(l, stop_for_call(l, call, point, args, timeout, arrives ? arrives : errors.first));
    take_answer(l, e, dst);
    if (p->undo) lower_undo_done(l, &undo, dst->var, e->type);
    lower_end(l);
    if (!arrives && !errors.undo && !errors.otherwise) return;
    lower_go(l, done);
    if (arrives) lower_retry(l, call, &r, arrives, errors.first);
    lower_errors(l, e, p, dst, &errors, done);
    lower_begin(l, done);
}

/* ---- approval ---- */

static void lower_denied(Lower *l, const char *callee)
{
    lower_call(l, RT_DENIED, NULL, 2, val_int(l, l->line), val_string(l, callee, (uint32_t)strlen(callee)));
    lower_raise(l, l->landing);
    lower_forget(l);
}

/* `approve "question"`: asking is a step of its own, before the step and all its attempts; only a yes continues. The
 * arguments are computed for the question and again for the call: nothing that they are made of changes meanwhile. */
static void lower_approval(Lower *l, const Expr *call, const Policy *policy)
{
    const Type *boolean = l->machine->program->core.boolean;
    MBlock *approved = machine_block(l->routine), *refused = machine_block(l->routine);
    Point *point = lower_point(l, ASK_EFFECT, NULL, "approve", callee_name(call));
    point->builtin = builtin_by_id(BI_APPROVE);
    point->effect = "approve_call";
    point->asked = call;
    point->origins = policy->origins;
    point->result = boolean;
    Val **shown = lower_args(l, call), **args = arena_alloc(l->arena, (2 + call->argc) * sizeof *args);
    args[0] = lower_expr(l, policy->value);
    args[1] = val_null(l);
    if (call->argc) memcpy(args + 2, shown, call->argc * sizeof *args);
    Term *term = lower_stop_at(l, point, l->landing);
    term->args = args;
    term->argc = 2 + call->argc;
    lower_go_on_behind(l, term);
    Var *answer = lower_hidden(l, boolean, "approved");
    lower_instr(l, IN_TAKE, answer, NULL)->type = boolean;
    lower_branch_on(l, val_of(l, answer), approved, refused);
    lower_begin(l, refused);
    lower_denied(l, callee_name(call));
    lower_begin(l, approved);
}

/* ---- the public verbs ---- */

void lower_yield(Lower *l, const Expr *e, Var *dst, bool replaces)
{
    const Expr *call = e->left;
    const Target target = {dst, replaces};
    Policies p = read_policies(l, e);
    if (p.approve) lower_approval(l, call, p.approve);
    if (call->call == CALL_WORKFLOW) {
        lower_nested(l, e, &p, &target);
    } else if (call->builtin && !call->builtin->suspends) {
        store_as(l, &target, e->type, lower_effect_now(l, call, p.label), call->type);
    } else {
        lower_effect(l, e, &p, &target);
    }
}

void lower_into(Lower *l, const Expr *e, Var *dst, bool replaces)
{
    e = lower_strip(e);
    if (lower_is_group(e)) {
        Var *given = lower_hidden(l, e->type, "given");
        lower_group(l, e, given);
        lower_store(l, dst, lower_convert(l, val_of(l, given), e->type, e->to), replaces);
    } else if (e->kind != EX_YIELD) {
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
    if (e->kind != EX_YIELD && !lower_is_group(e)) return lower_expr(l, e);
    Var *taken = lower_hidden(l, e->type, name);
    if (e->kind == EX_YIELD)
        lower_yield(l, e, taken, false);
    else
        lower_group(l, e, taken);
    Val *value = val_of(l, taken);
    return e->to ? lower_convert(l, value, e->type, e->to) : value;
}

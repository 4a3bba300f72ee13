/* check_conc.c: what runs beside or apart from its body: parallel, race, undo; and `with`, which holds something for a
 * block.
 *
 * A body of parallel or race and an undo are closures: they run in a frame of their own on copies of the variables
 * they read, so nothing outside can be assigned in them and nothing but their value leaves them. Variables are
 * numbered in order of declaration, so a variable is outside a closure exactly when its number is below the
 * closure's floor. */
#include "check_internal.h"

/* ---- closures ---- */

void check_open_closure(Check *c, ClosureScope *scope, ClosureKind kind, const Type *want)
{
    Body *body = c->body;
    *scope = (ClosureScope){.kind = kind, .want = want, .outer = body->closure};
    scope->closure = arena_new(c->arena, Closure);
    scope->closure->result = c->core->nothing;
    scope->floor = body->decl->variable_count;
    scope->finally_of = body->finally_of;
    scope->loop = body->loop;
    scope->incomplete = body->incomplete;
    body->closure = scope;
    body->finally_of = NULL;
    body->loop = NULL;
    body->incomplete = false;
}

Closure *check_close_closure(Check *c, const ClosureScope *scope)
{
    CHECK(c->body->closure == scope);
    c->body->closure = scope->outer;
    c->body->finally_of = scope->finally_of;
    c->body->loop = scope->loop;
    c->body->incomplete = scope->incomplete;
    return scope->closure;
}

/* In the order of their ids, each once. */
static void add_capture(Check *c, ClosureScope *scope, Variable *variable)
{
    Closure *closure = scope->closure;
    CHECK(variable->id < scope->floor);
    uint32_t at = 0, end = closure->capture_count;
    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        if (closure->captures[middle] == variable) return;
        if (closure->captures[middle]->id < variable->id)
            at = middle + 1;
        else
            end = middle;
    }
    closure->captures = arena_grow(c->arena, closure->captures, &scope->capture_cap, closure->capture_count + 1,
                                   sizeof *closure->captures);
    memmove(closure->captures + at + 1, closure->captures + at,
            (closure->capture_count - at) * sizeof *closure->captures);
    closure->captures[at] = variable;
    closure->capture_count++;
}

void check_capture(Check *c, Variable *variable)
{
    for (ClosureScope *scope = c->body ? c->body->closure : NULL; scope && variable->id < scope->floor;
         scope = scope->outer)
        add_capture(c, scope, variable);
}

/* Mistake 22. */
bool check_refuse_outside(Check *c, const Expr *root)
{
    const ClosureScope *scope = c->body->closure;
    const Variable *variable = root->variable;
    if (!scope || variable->id >= scope->floor) return false;
    bool undo = scope->kind == CLOSURE_UNDO;
    Diag *diag = diag_error(c->diags, root->span, "'%s' is outside this %s, which works on a copy", variable->name,
                            undo ? "undo" : "body");
    if (!undo) diag_hint(c->diags, diag, "return values with 'give'");
    diag_other(c->diags, diag, variable->span, "declared here");
    return true;
}

/* Mistake 28. */
bool check_refuse_leaving(Check *c, const Stmt *s, const char *word)
{
    const ClosureScope *scope = c->body->closure;
    if (!scope) return false;
    if (s->kind != ST_RETURN && !scope->loop) return false; /* there is no loop to leave anyway */
    bool undo = scope->kind == CLOSURE_UNDO;
    Diag *diag = diag_error(c->diags, s->keyword.len ? s->keyword : s->span, "'%s' may not leave %s", word,
                            undo ? "'undo'" : "a body of parallel or race");
    if (!undo) diag_hint(c->diags, diag, "end the body with 'give'");
    return true;
}

/* ---- give ---- */

static void report_give_place(Check *c, const Stmt *s)
{
    const ClosureScope *scope = c->body->closure;
    Span at = s->keyword.len ? s->keyword : s->span;
    if (scope && scope->kind == CLOSURE_BODY) {
        Diag *diag = diag_error(c->diags, at, "'give' may not leave 'finally'");
        diag_other(c->diags, diag, c->body->finally_of->finally->span, "the finally block");
    } else if (scope) {
        diag_error(c->diags, at, "'give' may not leave 'undo', which has no value");
    } else {
        Diag *diag = diag_error(c->diags, at, "'give' ends a body of parallel or race, and this is not one");
        diag_hint(c->diags, diag, "a workflow ends with 'return'");
    }
}

bool check_give(Check *c, Stmt *s)
{
    ClosureScope *scope = c->body->closure;
    if (!scope || scope->kind != CLOSURE_BODY || c->body->finally_of) {
        report_give_place(c, s);
        check_expr_or_nothing(c, s->value, NULL);
        return true;
    }
    Closure *closure = scope->closure;
    if (scope->gives) {
        check_expr_to(c, s->value, closure->result, (Why){"the first 'give' of this body", scope->give_span});
        return false;
    }
    const Type *type = check_expr(c, s->value, scope->want);
    if (scope->want && check_coerce(c, s->value, scope->want)) type = scope->want;
    if (type->kind == TYPE_NULL) {
        Diag *diag = diag_error(c->diags, s->value->span, "the type of this value is not known");
        diag_hint(c->diags, diag, "bind it first: let name: T? = null");
        type = c->core->bad;
    }
    closure->result = type;
    scope->gives = true;
    scope->give_span = s->span;
    return false;
}

/* ---- bodies of parallel and race ---- */

static void check_body_block(Check *c, ClosureScope *scope, Block *block)
{
    const Facts *before = c->facts;
    uint32_t undo_seen = c->body->undo_seen;
    bool falls = check_block(c, block);
    scope->closure->undoes = c->body->undo_seen > undo_seen;
    c->facts = before;
    if (!falls || !scope->gives || scope->closure->result->kind == TYPE_BAD || c->body->incomplete) return;
    Span brace = block->span.len ? (Span){block->span.off + block->span.len - 1, 1} : block->span;
    Diag *diag =
        diag_error(c->diags, brace, "this body can end without a value of type %s", scope->closure->result->name);
    diag_other(c->diags, diag, scope->give_span, "here it gives one");
}

static void check_body_yield(Check *c, ClosureScope *scope, Expr *yield)
{
    uint32_t undo_seen = c->body->undo_seen;
    scope->closure->result = check_expr_or_nothing(c, yield, scope->want);
    if (scope->want && scope->closure->result->kind != TYPE_NOTHING && check_coerce(c, yield, scope->want))
        scope->closure->result = scope->want;
    scope->closure->undoes = c->body->undo_seen > undo_seen;
}

static void check_one_body(Check *c, ParallelBody *body, const Type *want)
{
    ClosureScope scope;
    check_open_closure(c, &scope, CLOSURE_BODY, want);
    if (body->block)
        check_body_block(c, &scope, body->block);
    else
        check_body_yield(c, &scope, body->yield);
    body->closure = check_close_closure(c, &scope);
}

static bool refuse_outside_workflow(Check *c, const Expr *e, const char *word)
{
    if (c->body->kind == BODY_WORKFLOW) return false;
    Diag *diag =
        diag_error(c->diags, (Span){e->span.off, (uint32_t)strlen(word)}, "'%s' is allowed only in a workflow", word);
    diag_other(c->diags, diag, c->body->decl->name.span, "'%s' is %s", c->body->decl->name.text,
               decl_kind_word(c->body->decl->kind));
    return true;
}

static void check_body_names(Check *c, const Expr *e)
{
    for (const ParallelBody *body = e->bodies; body; body = body->next) {
        for (const ParallelBody *other = e->bodies; other != body; other = other->next) {
            if (!body->name.text || !check_same_name(other->name.text, body->name.text)) continue;
            Diag *diag = diag_error(c->diags, body->name.span, "two bodies are named '%s'", body->name.text);
            diag_other(c->diags, diag, other->name.span, "the first one");
            break;
        }
    }
}

static const Type *wanted_of(const Type *want, const char *name)
{
    want = type_strip(want);
    if (!want || want->kind != TYPE_RECORD || !name) return NULL;
    int at = type_find_field(want->fields, want->field_count, name);
    return at >= 0 ? want->fields[at].type : NULL;
}

/* Names and types of the bodies; all: those that give nothing too. Answers their number; *bad: some body has no
 * type. */
static uint32_t fields_of_bodies(Check *c, const Expr *e, TypeField *fields, bool all, bool *bad)
{
    uint32_t count = 0;
    for (const ParallelBody *body = e->bodies; body; body = body->next) {
        const Type *type = body->closure->result;
        *bad |= type->kind == TYPE_BAD || !body->name.text;
        if (!all && type->kind == TYPE_NOTHING) continue;
        fields[count++] = (TypeField){.name = body->name.text, .type = type, .span = body->name.span};
    }
    (void)c;
    return count;
}

static uint32_t check_bodies(Check *c, Expr *e, const Type *want)
{
    uint32_t count = 0, undo_seen = c->body->undo_seen;
    check_label(c, e->label);
    check_body_names(c, e);
    for (ParallelBody *body = e->bodies; body; body = body->next, count++)
        check_one_body(c, body, wanted_of(want, body->name.text));
    e->handles = type_list(c, type_task(c, c->core->nothing));
    e->undoes = c->body->undo_seen > undo_seen;
    return count;
}

const Type *check_parallel(Check *c, Expr *e, const Type *want)
{
    if (refuse_outside_workflow(c, e, "parallel")) return c->core->bad;
    uint32_t count = check_bodies(c, e, want);
    TypeField *fields = arena_alloc(c->arena, (count + 1) * sizeof *fields);
    bool bad = false;
    count = fields_of_bodies(c, e, fields, false, &bad);
    if (bad) return c->core->bad;
    return count ? type_of_bodies(c, TYPE_RECORD, fields, count) : c->core->nothing;
}

const Type *check_race(Check *c, Expr *e)
{
    if (refuse_outside_workflow(c, e, "race")) return c->core->bad;
    uint32_t count = check_bodies(c, e, NULL);
    TypeField *fields = arena_alloc(c->arena, (count + 1) * sizeof *fields);
    bool bad = false;
    fields_of_bodies(c, e, fields, true, &bad);
    if (bad) return c->core->bad;
    if (count) return type_of_bodies(c, TYPE_ENUM, fields, count);
    diag_error(c->diags, e->span, "this race is empty, so it would never end");
    return c->core->bad;
}

const Type *check_parallel_for(Check *c, Expr *e, const Type *want)
{
    if (refuse_outside_workflow(c, e, "parallel")) return c->core->bad;
    check_label(c, e->label);
    Range range = check_range(c, e->range, e->range_end, e->var, e->var2);
    if (e->limit) check_expr_to(c, e->limit, c->core->integer, (Why){0});
    want = type_strip(want);
    ClosureScope scope;
    check_open_closure(c, &scope, CLOSURE_BODY, want && want->kind == TYPE_LIST ? want->elem : NULL);
    uint32_t names = check_scope_enter(c);
    scope.closure->first = check_add_loop_variable(c, e->var, range.first);
    if (e->var2.text) scope.closure->second = check_add_loop_variable(c, e->var2, range.second);
    check_body_block(c, &scope, e->block);
    check_scope_leave(c, names);
    e->closure = check_close_closure(c, &scope);
    e->handles = type_list(c, type_task(c, c->core->nothing));
    e->undoes = e->closure->undoes;
    const Type *gives = e->closure->result;
    return gives->kind == TYPE_BAD || gives->kind == TYPE_NOTHING ? gives : type_list(c, gives);
}

/* ---- undo ---- */

/* What fails in an undo stays there: it is recorded, and the error that was on its way continues. */
static TryScope *swallow_errors(Check *c)
{
    static const Catch everything;
    TryScope *scope = arena_new(c->arena, TryScope);
    scope->clauses = arena_new(c->arena, Clause);
    scope->clauses->catch = &everything;
    scope->parent = c->body->scope;
    return scope;
}

void check_undo(Check *c, Policy *policy, const Type *answer, Name let_name)
{
    const Facts *before = c->facts;
    ClosureScope scope;
    check_open_closure(c, &scope, CLOSURE_UNDO, NULL);
    uint32_t names = check_scope_enter(c);
    c->body->scope = swallow_errors(c);
    bool answers = let_name.text && strcmp(let_name.text, "_") != 0 && answer->kind != TYPE_NOTHING &&
                   answer->kind != TYPE_BAD && !name_table_get(&c->locals, let_name.text);
    if (answers) {
        scope.closure->answer = check_add_variable(c, let_name, type_optional(c, answer), false);
        scope.closure->answer->role = NULL;
    }
    uint32_t undo_seen = c->body->undo_seen;
    check_block(c, policy->block);
    scope.closure->undoes = c->body->undo_seen > undo_seen;
    c->body->undo_seen++;
    c->body->scope = c->body->scope->parent;
    check_scope_leave(c, names);
    policy->closure = check_close_closure(c, &scope);
    c->facts = before;
}

/* ---- with ---- */

/* A limit that is written out is known here; any other is looked at when the block begins. */
static void check_budget(Check *c, const Stmt *s)
{
    const Expr *call = s->value;
    if (s->timeout) diag_error(c->diags, s->timeout->span, "a budget waits for nothing, so it takes no timeout");
    if (!call->args)
        diag_error(c->diags, call->span, "a budget bounds something: budget(tokens: 100_000), cost or calls");
    for (const Arg *arg = call->args; arg; arg = arg->next) {
        const Expr *value = arg->value;
        const bool negative = value->kind == EX_UNARY && value->op == OP_NEG;
        const bool zero =
            (value->kind == EX_INT && value->int_value <= 0) || (value->kind == EX_FLOAT && value->float_value <= 0);
        if (!arg->name.text)
            diag_error(c->diags, value->span, "say what this bounds: tokens, cost or calls");
        else if (negative || zero)
            diag_error(c->diags, value->span, "'%s' must be above 0", arg->name.text);
    }
}

bool check_with(Check *c, Stmt *s)
{
    Expr *call = s->value;
    if (c->body->kind != BODY_WORKFLOW) {
        Diag *diag = diag_error(c->diags, s->keyword, "'with' is allowed only in a workflow");
        diag_other(c->diags, diag, c->body->decl->name.span, "'%s' is %s", c->body->decl->name.text,
                   decl_kind_word(c->body->decl->kind));
        return true;
    }
    check_label(c, s->label);
    if (call->kind == EX_CALL) {
        call->type = call->to = check_call_in_mode(c, call, MODE_WITH, NULL);
    }
    if (s->timeout) check_expr_to(c, s->timeout, c->core->duration, (Why){0});
    if (call->builtin && call->builtin->id == BI_BUDGET) check_budget(c, s);
    if (s->timeout && call->builtin && call->builtin->id == BI_DEADLINE)
        diag_error(c->diags, s->timeout->span, "a deadline is a timeout itself, so it takes none");
    uint32_t undo_seen = c->body->undo_seen;
    bool falls = check_block(c, s->block);
    s->undoes = c->body->undo_seen > undo_seen;
    return falls;
}

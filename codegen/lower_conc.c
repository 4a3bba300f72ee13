/* lower_conc.c: parallel, race, undo and with.
 *
 * A closure (a body, an undo) becomes a routine of its own whose parameters are what it captures. The bodies of a group
 * are tasks; their handles are in a hidden list. Whatever leaves a group early (an error, a cancellation, a won race)
 * first waits until all its tasks have ended, with cancellation held: nothing of a group is left behind it.
 *
 * Undo entries are in a list of the task. A body that can add some notes its height at its beginning; its landing
 * runs those above it before anybody else hears of the error. */
#include <string.h>

#include "lower.h"

/* ---- closures ---- */

static void pass_capture(Lower *inner, const Variable *variable)
{
    if (!variable || strcmp(variable->name, "_") == 0) return;
    lower_param(inner, variable);
}

/* The routine of a closure: block, or one yield. */
static Routine *lower_closure(Lower *l, const Closure *closure, const char *name, const Block *block, const Expr *yield)
{
    Lower inner;
    CHECK(!block != !yield);
    lower_open_closure(&inner, l, closure, name);
    for (uint32_t i = 0; i < closure->capture_count; i++) pass_capture(&inner, closure->captures[i]);
    pass_capture(&inner, closure->first);
    pass_capture(&inner, closure->second);
    pass_capture(&inner, closure->answer);
    inner.root = yield;
    if (yield) inner.line = lower_line_of(&inner, yield->span);
    if (block) {
        lower_block(&inner, block);
    } else if (closure->result->kind == TYPE_NOTHING) {
        lower_yield(&inner, yield, NULL, false);
        lower_end(&inner);
    } else {
        lower_instr(&inner, IN_RESULT, NULL, lower_root(&inner, yield, "value"))->type = closure->result;
        lower_end(&inner);
        lower_end_block(&inner, TERM_RETURN);
    }
    lower_close_routine(&inner);
    return inner.routine;
}

typedef struct Words {
    Val **items;
    uint32_t count;
} Words;

static void add_word(Lower *l, Words *words, const Variable *variable)
{
    if (!variable || strcmp(variable->name, "_") == 0) return;
    words->items[words->count++] = val_word(l, val_of(l, lower_local(l, variable)));
}

/* What a closure captures, as an array. The answer of an undo is not there yet. */
static Val *capture_words(Lower *l, const Closure *closure)
{
    Words words = {.items = arena_alloc(l->arena, (closure->capture_count + 4) * sizeof(Val *))};
    for (uint32_t i = 0; i < closure->capture_count; i++) add_word(l, &words, closure->captures[i]);
    add_word(l, &words, closure->first);
    add_word(l, &words, closure->second);
    if (closure->answer) words.items[words.count++] = val_word(l, val_null(l));
    return val_array(l, REP_WORD, words.items, words.count);
}

/* What starts a closure's routine hands over exactly its parameters. */
static Val *args_of(Lower *l, const Closure *closure, const Routine *routine)
{
    Val *words = capture_words(l, closure);
    CHECK(words->argc == routine->param_count);
    return words;
}

static Val *flow_of(Lower *l, Routine *routine)
{
    Val *flow = val_new(l, VAL_FLOW, REP_NONE);
    flow->routine = routine;
    return flow;
}

/* ---- undo ---- */

Undo lower_undo_begin(Lower *l, const Policy *policy, Point *point)
{
    Undo undo = {.closure = policy->closure};
    Routine *routine = lower_closure(l, policy->closure, "undo", policy->block, NULL);
    routine->of = point;
    lower_call(l, RT_UNDO_PUSH, NULL, 3, val_point(l, point), flow_of(l, routine),
               args_of(l, policy->closure, routine));
    return undo;
}

void lower_undo_done(Lower *l, const Undo *undo, Var *answer, const Type *type)
{
    const Variable *seen = undo->closure->answer;
    if (!seen || !answer) return;
    Val *value = lower_convert(l, val_of(l, answer), type, seen->type);
    lower_call(l, RT_UNDO_DONE, NULL, 1, value);
}

void lower_undo_failed(Lower *l)
{
    lower_call(l, RT_UNDO_FAILED, NULL, 0);
}

Val *lower_undo_height(Lower *l)
{
    const Type *integer = l->machine->program->core.integer;
    Var *height = lower_hidden(l, integer, "undo_height");
    lower_instr(l, IN_SET, height, val_pure(l, RT_UNDO_HEIGHT, REP_INT, 0));
    return val_of(l, height);
}

static Term *stop_for_undo(Lower *l, MBlock *lost, MBlock *again)
{
    Term *term = lower_end_block(l, TERM_POINT);
    term->point = lower_point(l, ASK_UNDO, NULL, "undo", NULL);
    term->point->asks = lower_whole_origin(l);
    term->landing = lost;
    term->to = again;
    return term;
}

/* Where an error has just arrived: runs the entries above height, last first, and lets the error continue behind
 * them. */
void lower_unwind(Lower *l, Val *height)
{
    MBlock *head = machine_block(l->routine), *run = machine_block(l->routine), *done = machine_block(l->routine);
    MBlock *lost = lower_landing(l), *outer = l->landing;
    Var *error = lower_hidden(l, l->machine->program->core.any_error, "undo_error");
    lower_instr(l, IN_TAKE_ERROR, error, NULL);
    lower_instr(l, IN_MASK, NULL, NULL)->i = 1;
    lower_forget(l);
    lower_go(l, head);
    lower_begin(l, head);
    lower_branch(l, val_compare(l, OP_GT, val_pure(l, RT_UNDO_HEIGHT, REP_INT, 0), height), run, done);
    lower_forget(l);
    lower_begin(l, run);
    const Point *point = stop_for_undo(l, lost, head)->point;
    lower_begin(l, lost);
    l->landing = l->routine->failed;
    lower_call(l, RT_UNDO_LOST, NULL, 1, val_point(l, (Point *)point));
    l->landing = outer;
    lower_end(l);
    lower_go(l, head);
    lower_begin(l, done);
    lower_instr(l, IN_MASK, NULL, NULL)->i = -1;
    lower_instr(l, IN_PUT_ERROR, error, NULL);
    lower_forget(l);
}

/* ---- groups ---- */

typedef struct Group {
    const Expr *e;
    Var *handles;    /* list of the tasks */
    MBlock *outer;   /* where errors go behind the group */
    MBlock *early;   /* … and where they arrive in it */
    uint64_t around; /* what is around the group itself */
} Group;

static Point *wait_point(Lower *l, const char *label, const char *effect, const Type *result)
{
    Point *point = lower_point(l, ASK_EFFECT, label, effect, NULL);
    point->effect = effect;
    point->result = result;
    return point;
}

/* Stops until the runtime's effect about the group has its answer. */
static void wait_for(Lower *l, const Group *g, const char *effect, const char *label, const Type *result, Val *limit,
                     MBlock *landing)
{
    Term *term = lower_stop_at(l, wait_point(l, label, effect, result), landing);
    term->args = arena_alloc(l->arena, 2 * sizeof *term->args);
    term->args[0] = val_of(l, g->handles);
    term->args[1] = limit;
    term->argc = limit ? 2 : 1;
    lower_go_on_behind(l, term);
}

/* Waits for all that still run, cancelled, while nothing can disturb it. An error of the waiting itself (no memory)
 * is dropped: there is one on its way, or the race is won. */
static void abandon(Lower *l, const Group *g)
{
    MBlock *failed = lower_landing(l), *after = machine_block(l->routine);
    lower_instr(l, IN_MASK, NULL, NULL)->i = 1;
    wait_for(l, g, "abandon", NULL, l->machine->program->core.nothing, NULL, failed);
    lower_go(l, after);
    lower_begin(l, failed);
    lower_instr(l, IN_DROP_ERROR, NULL, NULL);
    lower_go(l, after);
    lower_begin(l, after);
    lower_instr(l, IN_MASK, NULL, NULL)->i = -1;
}

/* A task that waits for its bodies knows them by their order. */
static uint64_t enter_group(Lower *l, const Expr *e)
{
    const char *names = "group";
    for (const ParallelBody *body = e->bodies; body; body = body->next)
        names = arena_printf(l->arena, "%s %s", names, body->name.text);
    return lower_enter(l, names);
}

static void open_group(Lower *l, Group *g, const Expr *e)
{
    *g = (Group){.e = e, .outer = l->landing, .around = enter_group(l, e)};
    g->handles = lower_hidden(l, e->handles, "handles");
    Val *none =
        lower_call(l, RT_LIST_OF, NULL, 3, val_type(l, e->handles), val_int(l, 0), val_array(l, REP_WORD, NULL, 0));
    lower_store(l, g->handles, none, false);
    lower_end(l);
    g->early = l->landing = lower_landing(l);
}

static void branch_off(Lower *l, const Group *g, Routine *routine, const Closure *closure, const char *name)
{
    Point *point = lower_point(l, ASK_MARK, NULL, "branch", NULL);
    if (l->routine->kind == ROUTINE_WORKFLOW) point->asks = lower_asks(l, "branch", name);
    routine->of = point;
    lower_call(l, RT_BRANCH, NULL, 4, val_point(l, point), flow_of(l, routine), args_of(l, closure, routine),
               val_place(l, g->handles));
    lower_end(l);
}

/* Behind the wait: errors first give the group up. */
static void close_group(Lower *l, const Group *g)
{
    MBlock *done = machine_block(l->routine);
    l->landing = g->outer;
    lower_go(l, done);
    lower_begin(l, g->early);
    Var *error = lower_hidden(l, l->machine->program->core.any_error, "group_error");
    lower_instr(l, IN_TAKE_ERROR, error, NULL);
    lower_forget(l);
    abandon(l, g);
    lower_instr(l, IN_PUT_ERROR, error, NULL);
    lower_forget(l);
    lower_raise(l, g->outer);
    lower_begin(l, done);
    l->around = g->around;
}

static void take_into(Lower *l, Var *dst, const Type *type)
{
    if (type->kind != TYPE_NOTHING) lower_instr(l, IN_TAKE, dst, NULL)->type = type;
}

static void lower_bodies(Lower *l, const Group *g)
{
    for (const ParallelBody *body = g->e->bodies; body; body = body->next) {
        Span span = body->block ? body->block->span : body->yield->span;
        uint32_t line = l->line;
        Routine *routine = lower_closure(l, body->closure, body->name.text, body->block, body->yield);
        l->line = lower_line_of(l, span);
        branch_off(l, g, routine, body->closure, body->name.text);
        l->line = line;
    }
}

static void lower_parallel(Lower *l, const Expr *e, Var *dst)
{
    Group g;
    open_group(l, &g, e);
    lower_bodies(l, &g);
    wait_for(l, &g, "parallel", e->label.text, e->type, NULL, g.early);
    take_into(l, dst, e->type);
    lower_end(l);
    close_group(l, &g);
}

/* The losers have ended before the winner is inspected. */
static void lower_race(Lower *l, const Expr *e, Var *dst)
{
    Group g;
    open_group(l, &g, e);
    lower_bodies(l, &g);
    wait_for(l, &g, "race", e->label.text, e->type, NULL, g.early);
    Var *won = dst ? lower_hidden(l, e->type, "won") : NULL;
    take_into(l, won, e->type);
    lower_end(l);
    l->landing = g.outer;
    abandon(l, &g);
    if (dst) lower_store(l, dst, val_of(l, won), false);
    lower_end(l);
    close_group(l, &g);
}

/* Before the next task: room for it, or the end of the loop when one has failed. */
static void wait_for_room(Lower *l, const Group *g, Val *limit, MBlock *exit)
{
    MBlock *full = machine_block(l->routine), *go_on = machine_block(l->routine);
    Val *running = val_pure(l, RT_LIST_LEN, REP_INT, 1, val_of(l, g->handles));
    lower_branch(l, val_compare(l, OP_GE, running, limit), full, go_on);
    lower_forget(l);
    lower_begin(l, full);
    const Type *boolean = l->machine->program->core.boolean;
    wait_for(l, g, "room", NULL, boolean, limit, g->early);
    Var *room = lower_temp(l, REP_BOOL);
    lower_instr(l, IN_TAKE, room, NULL)->type = boolean;
    lower_branch(l, val_of(l, room), go_on, exit);
    lower_forget(l);
    lower_begin(l, go_on);
}

static void lower_parallel_for(Lower *l, const Expr *e, Var *dst)
{
    Group g;
    const Type *integer = l->machine->program->core.integer;
    Routine *routine = lower_closure(l, e->closure, "for", e->block, NULL);
    Counted c = {.span = e->span, .first = e->closure->first, .second = e->closure->second};
    lower_counted_over(l, &c, e->range, e->range_end);
    Val *limit = e->limit ? lower_steady(l, lower_expr(l, e->limit), integer, "limit") : NULL;
    lower_end(l);
    open_group(l, &g, e);
    lower_counted_open(l, &c);
    if (limit) wait_for_room(l, &g, limit, c.exit);
    branch_off(l, &g, routine, e->closure, "for");
    lower_counted_close(l, &c);
    wait_for(l, &g, "parallel", e->label.text, e->type, NULL, g.early);
    take_into(l, dst, e->type);
    lower_end(l);
    close_group(l, &g);
}

bool lower_is_group(const Expr *e)
{
    return e->kind == EX_PARALLEL || e->kind == EX_PARALLEL_FOR || e->kind == EX_RACE;
}

void lower_group(Lower *l, const Expr *e, Var *dst)
{
    if (e->kind == EX_PARALLEL)
        lower_parallel(l, e, dst);
    else if (e->kind == EX_RACE)
        lower_race(l, e, dst);
    else
        lower_parallel_for(l, e, dst);
}

/* ---- with ---- */

static void hold_lock(Lower *l, const Stmt *s, Scope *scope)
{
    const Expr *call = s->value;
    const CoreTypes *core = &l->machine->program->core;
    Val *permits = call->builtin->id == BI_LOCK ? val_int(l, 1) : lower_expr(l, call->argv[1]);
    scope->held = lower_steady(l, lower_expr(l, call->argv[0]), core->string, "lock");
    Val *timeout = s->timeout ? lower_expr(l, s->timeout) : NULL;
    Term *term = lower_stop_at(l, wait_point(l, s->label.text, "lock", core->nothing), l->landing);
    term->args = arena_alloc(l->arena, 2 * sizeof *term->args);
    term->args[0] = scope->held;
    term->args[1] = permits;
    term->argc = 2;
    term->timeout = timeout;
    lower_go_on_behind(l, term);
}

static void hold_deadline(Lower *l, const Stmt *s, Scope *scope)
{
    Var *number = lower_hidden(l, l->machine->program->core.integer, "deadline");
    Point *point = lower_point(l, ASK_MARK, s->label.text, "deadline", NULL);
    lower_call(l, RT_DEADLINE_BEGIN, number, 2, val_point(l, point), lower_expr(l, s->value->argv[0]));
    lower_end(l);
    scope->held = val_of(l, number);
}

/* The parts that are given are bits, as in tfy_program.h. */
static void hold_budget(Lower *l, const Stmt *s)
{
    const Expr *call = s->value;
    Val *parts[3];
    int64_t given = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const Expr *part = i < call->argc ? call->argv[i] : NULL;
        if (part) given |= INT64_C(1) << i;
        parts[i] = part ? lower_expr(l, part) : i == 1 ? val_float(l, 0) : val_int(l, 0);
    }
    lower_call(l, RT_BUDGET_BEGIN, NULL, 4, val_int(l, given), parts[0], parts[1], parts[2]);
    lower_end(l);
}

void lower_let_go(Lower *l, const Scope *scope)
{
    if (scope->stmt->value->builtin->id == BI_BUDGET) {
        lower_call(l, RT_BUDGET_END, NULL, 0);
    } else if (scope->stmt->value->builtin->id == BI_DEADLINE) {
        lower_call(l, RT_DEADLINE_END, NULL, 2, val_int(l, lower_line_of(l, scope->stmt->span)), scope->held);
    } else {
        Point *point = lower_point(l, ASK_MARK, NULL, "unlock", NULL);
        lower_call(l, RT_UNLOCK, NULL, 2, val_point(l, point), scope->held);
    }
    lower_end(l);
}

void lower_with(Lower *l, const Stmt *s)
{
    MBlock *outer = l->landing, *done = machine_block(l->routine);
    Scope scope = {.kind = SCOPE_WITH, .outer = l->scope, .stmt = s};
    if (s->value->builtin->id == BI_BUDGET)
        hold_budget(l, s);
    else if (s->value->builtin->id == BI_DEADLINE)
        hold_deadline(l, s, &scope);
    else
        hold_lock(l, s, &scope);
    Val *height = s->undoes ? lower_undo_height(l) : NULL;
    MBlock *arrive = lower_landing(l);
    l->scope = &scope;
    l->landing = arrive;
    const uint64_t around = lower_enter(l, "with");
    lower_block(l, s->block);
    l->around = around;
    l->scope = scope.outer;
    l->landing = outer;
    if (l->cur) {
        lower_let_go(l, &scope);
        lower_go(l, done);
    }
    lower_begin(l, arrive);
    if (height) lower_unwind(l, height);
    lower_let_go(l, &scope);
    lower_raise(l, outer);
    lower_begin(l, done);
}

/* lower_stmt.c: statements that are neither match nor try. */
#include <string.h>

#include "lower.h"

/* ---- if ---- */

static void lower_if_stmt(Lower *l, const Stmt *s)
{
    MBlock *yes = machine_block(l->routine), *join = machine_block(l->routine);
    MBlock *no = s->else_block ? machine_block(l->routine) : join;
    lower_branch_on(l, lower_root(l, s->value, "cond"), yes, no);
    lower_begin(l, yes);
    lower_block(l, s->block);
    if (l->cur) lower_go(l, join);
    if (s->else_block) {
        lower_begin(l, no);
        lower_block(l, s->else_block);
        if (l->cur) lower_go(l, join);
    }
    lower_begin(l, join);
}

/* ---- loops ---- */

typedef struct Loop {
    Scope scope;
    MBlock *head, *exit;
} Loop;

static void open_loop(Lower *l, Loop *loop, const char *kind)
{
    loop->head = machine_block(l->routine);
    loop->exit = machine_block(l->routine);
    loop->scope = (Scope){.kind = SCOPE_LOOP, .outer = l->scope, .on_break = loop->exit, .on_continue = loop->head};
    lower_go(l, loop->head);
    lower_begin(l, loop->head);
    Term *term = lower_end_block(l, TERM_FUEL);
    term->to = machine_block(l->routine);
    term->landing = l->landing;
    if (l->routine->kind == ROUTINE_WORKFLOW) term->point = lower_point(l, ASK_FUEL, NULL, "loop", kind);
    lower_begin(l, term->to);
    l->scope = &loop->scope;
}

static void close_loop(Lower *l, Loop *loop)
{
    l->scope = loop->scope.outer;
    loop->head->loop_end = l->routine->order_count;
    lower_begin(l, loop->exit);
}

static void lower_while(Lower *l, const Stmt *s)
{
    Loop loop;
    open_loop(l, &loop, "while");
    MBlock *body = machine_block(l->routine);
    lower_branch_on(l, lower_root(l, s->value, "cond"), body, loop.exit);
    lower_begin(l, body);
    lower_block(l, s->block);
    if (l->cur) lower_go(l, loop.head);
    close_loop(l, &loop);
}

static void bind_element(Lower *l, const Variable *variable, Val *value)
{
    if (!variable || strcmp(variable->name, "_") == 0) return;
    lower_store(l, lower_local(l, variable), value, false);
}

static void bind_iteration(Lower *l, const Counted *c)
{
    Val *at = val_of(l, c->counter);
    if (c->list) {
        const Type *elem = c->type->elem;
        bind_element(l, c->second ? c->second : c->first, val_pure(l, RT_LIST_ITEM, machine_rep(elem), 2, c->list, at));
    } else if (c->map) {
        const Type *type = c->type;
        bind_element(l, c->first, val_pure(l, RT_MAP_KEY_AT, machine_rep(type->key), 2, c->map, at));
        bind_element(l, c->second, val_pure(l, RT_MAP_VALUE_AT, machine_rep(type->elem), 2, c->map, at));
    }
    lower_end(l);
}

void lower_counted_over(Lower *l, Counted *c, const Expr *range, const Expr *range_end)
{
    const Type *integer = l->machine->program->core.integer;
    Val *value = lower_root(l, range, "items");
    c->type = range->type;
    if (range_end) {
        c->counter = lower_local(l, c->first);
        Val *end = lower_expr(l, range_end);
        c->end = lower_steady(l, end, integer, "end");
        lower_instr(l, IN_SET, c->counter, value);
        return;
    }
    bool counts = c->type->kind == TYPE_LIST && c->second;
    Val *items = lower_steady(l, value, c->type, "items");
    c->counter = counts ? lower_local(l, c->first) : lower_hidden(l, integer, "at");
    if (c->type->kind == TYPE_LIST)
        c->list = items;
    else
        c->map = items;
    c->end = val_pure(l, c->list ? RT_LIST_LEN : RT_MAP_LEN, REP_INT, 1, items);
    lower_instr(l, IN_SET, c->counter, val_int(l, 0));
}

void lower_counted_open(Lower *l, Counted *c)
{
    Loop loop;
    open_loop(l, &loop, "for");
    MBlock *body = machine_block(l->routine);
    c->head = loop.head;
    c->exit = loop.exit;
    c->step = machine_block(l->routine);
    c->scope = loop.scope;
    c->scope.on_continue = c->step;
    l->scope = &c->scope;
    lower_branch(l, val_compare(l, OP_LT, val_of(l, c->counter), c->end), body, c->exit);
    lower_forget(l);
    lower_begin(l, body);
    bind_iteration(l, c);
}

void lower_counted_close(Lower *l, Counted *c)
{
    Loop loop = {.scope = c->scope, .head = c->head, .exit = c->exit};
    if (l->cur) lower_go(l, c->step);
    lower_begin(l, c->step);
    l->line = lower_line_of(l, c->span);
    lower_instr(l, IN_SET, c->counter, val_unary(l, VAL_NEXT, REP_INT, val_of(l, c->counter)));
    lower_end(l);
    lower_go(l, c->head);
    close_loop(l, &loop);
}

static void lower_for(Lower *l, const Stmt *s)
{
    Counted c = {.span = s->span, .first = s->variable, .second = s->variable2};
    lower_counted_over(l, &c, s->value, s->range_end);
    lower_end(l);
    lower_counted_open(l, &c);
    uint32_t scope = l->kept_count;
    lower_keep(l, s->variable);
    lower_keep(l, s->variable2);
    lower_block(l, s->block);
    lower_keep_end(l, scope);
    lower_counted_close(l, &c);
}

/* ---- the small ones ---- */

static void lower_let(Lower *l, const Stmt *s)
{
    lower_into(l, s->value, lower_local(l, s->variable), false);
    if (l->cur) lower_end(l);
    lower_keep(l, s->variable);
}

static void lower_expr_stmt(Lower *l, const Stmt *s)
{
    const Expr *e = lower_strip(s->value);
    if (e->kind == EX_YIELD)
        lower_yield(l, e, NULL, false);
    else if (lower_is_group(e))
        lower_group(l, e, NULL);
    else if (e->kind == EX_SPAWN)
        lower_spawn(l, e, false);
    else
        lower_expr(l, e);
    lower_end(l);
}

static void lower_plain_yield(Lower *l, const Stmt *s)
{
    Term *term = lower_end_block(l, TERM_POINT);
    term->point = lower_point(l, ASK_YIELD, s->label.text, "yield", NULL);
    term->landing = l->landing;
    term->to = machine_block(l->routine);
    lower_begin(l, term->to);
}

static void lower_stmt(Lower *l, const Stmt *s)
{
    switch (s->kind) {
    case ST_LET:
    case ST_VAR: lower_let(l, s); return;
    case ST_ASSIGN: lower_assign(l, s); return;
    case ST_EXPR: lower_expr_stmt(l, s); return;
    case ST_YIELD: lower_plain_yield(l, s); return;
    case ST_IF: lower_if_stmt(l, s); return;
    case ST_WHILE: lower_while(l, s); return;
    case ST_FOR: lower_for(l, s); return;
    case ST_MATCH: lower_match(l, s); return;
    case ST_RETURN: lower_return(l, s); return;
    case ST_FAIL: lower_fail(l, s); return;
    case ST_BREAK:
    case ST_CONTINUE: lower_loop_jump(l, s); return;
    case ST_TRY: lower_try(l, s); return;
    case ST_WITH: lower_with(l, s); return;
    case ST_GIVE: lower_return(l, s); return;
    case ST_ASSERT: lower_assert(l, s); return;
    case ST_MOCK: lower_mock(l, s); return;
    default: UNREACHED("every statement is lowered");
    }
}

#define BLOCK_INSTRS   100
#define BLOCKS_BETWEEN 24

/* Between two statements nothing is borrowed: a long routine may be cut here into several C functions. Behind a call
 * the rest of its statement and the next one share a block, so that a row of calls would never start a block of its
 * own; after some blocks one is made. */
static void begin_statement(Lower *l)
{
    CHECK(lower_is_idle(l));
    bool far = l->routine->order_count - l->last_fresh >= BLOCKS_BETWEEN;
    if (l->cur->count >= (far ? 1 : BLOCK_INSTRS)) {
        MBlock *next = machine_block(l->routine);
        lower_go(l, next);
        lower_begin(l, next);
    }
    if (l->cur->count) return;
    l->cur->fresh = true;
    l->last_fresh = l->routine->order_count;
}

void lower_block(Lower *l, const Block *block)
{
    uint32_t scope = l->kept_count;
    const Stmt *outer = l->stmt;
    for (const Stmt *s = block->stmts; s && l->cur; s = s->next) {
        l->stmt = s;
        l->line = lower_line_of(l, s->span);
        l->machine->place.off = s->span.off;
        begin_statement(l);
        lower_stmt(l, s);
    }
    l->stmt = outer;
    lower_keep_end(l, scope);
}

/* made.c: see made.h. */
#include "made.h"

Name made_name(const Make *m, const char *text)
{
    return (Name){text, m->at};
}

Expr *made(const Make *m, ExprKind kind)
{
    Expr *e = arena_new(m->c->arena, Expr);
    e->kind = kind;
    e->height = 1;
    e->span = e->op_span = m->at;
    return e;
}

Expr *made_id(const Make *m, const char *name)
{
    Expr *e = made(m, EX_NAME);
    e->name = made_name(m, name);
    return e;
}

Expr *made_number(const Make *m, int64_t value)
{
    Expr *e = made(m, EX_INT);
    e->int_value = value;
    e->text = arena_printf(m->c->arena, "%lld", (long long)value);
    e->text_len = (uint32_t)strlen(e->text);
    return e;
}

static Expr *text_piece(const Make *m, const char *text)
{
    Expr *e = made(m, EX_TEXT);
    e->text = text;
    e->text_len = (uint32_t)strlen(text);
    return e;
}

Expr *made_string(const Make *m, const char *text, Expr *value)
{
    Expr *e = made(m, EX_STRING);
    e->parts = *text ? text_piece(m, text) : value;
    if (*text) e->parts->next = value;
    return e;
}

Expr *made_field(const Make *m, Expr *left, const char *name)
{
    Expr *e = made(m, EX_FIELD);
    e->left = left;
    e->name = made_name(m, name);
    return e;
}

Expr *made_member(const Make *m, const char *variable, const char *name)
{
    return made_field(m, made_id(m, variable), name);
}

Expr *made_item(const Make *m, Expr *left, Expr *at)
{
    Expr *e = made(m, EX_INDEX);
    e->left = left;
    e->right = at;
    return e;
}

Expr *made_binary(const Make *m, Op op, Expr *left, Expr *right)
{
    Expr *e = made(m, EX_BINARY);
    e->op = op;
    e->left = left;
    e->right = right;
    return e;
}

void made_arg(const Make *m, Args *args, const char *name, Expr *value)
{
    Arg *arg = arena_new(m->c->arena, Arg);
    arg->name = made_name(m, name);
    arg->value = value;
    LIST_APPEND(args, arg, next);
}

Expr *made_call_with(const Make *m, Expr *callee, Args args)
{
    Expr *e = made(m, EX_CALL);
    e->left = callee;
    e->args = args.first;
    return e;
}

Expr *made_call(const Make *m, Expr *callee, Expr *first, Expr *second)
{
    Args args = {0};
    if (first) made_arg(m, &args, NULL, first);
    if (second) made_arg(m, &args, NULL, second);
    return made_call_with(m, callee, args);
}

Expr *made_list(const Make *m, Expr *only)
{
    Args args = {0};
    Expr *e = made(m, EX_LIST);
    if (only) made_arg(m, &args, NULL, only);
    e->args = args.first;
    return e;
}

Expr *made_yield(const Make *m, Expr *called, Policy *policies)
{
    Expr *e = made(m, EX_YIELD);
    e->left = called;
    e->policies = policies;
    return e;
}

Stmt *put(const Make *m, Stmts *to, StmtKind kind, Expr *value)
{
    Stmt *s = arena_new(m->c->arena, Stmt);
    s->kind = kind;
    s->span = s->keyword = m->at;
    s->value = value;
    LIST_APPEND(to, s, next);
    return s;
}

void put_named(const Make *m, Stmts *to, StmtKind kind, const char *name, Expr *value)
{
    put(m, to, kind, value)->name = made_name(m, name);
}

void put_assign(const Make *m, Stmts *to, const char *name, Op op, Expr *value)
{
    Stmt *s = put(m, to, ST_ASSIGN, value);
    s->target = made_id(m, name);
    s->op = op;
}

Block *made_block(const Make *m, Stmts stmts)
{
    Block *b = arena_new(m->c->arena, Block);
    b->span = m->at;
    b->stmts = stmts.first;
    return b;
}

Expr *made_bool(const Make *m, bool value)
{
    Expr *e = made(m, EX_BOOL);
    e->int_value = value;
    return e;
}

Arm *put_arm(const Make *m, Arms *to, const char *name, Stmts stmts)
{
    Arm *arm = arena_new(m->c->arena, Arm);
    arm->span = m->at;
    arm->patterns = arena_new(m->c->arena, Pattern);
    arm->patterns->kind = name ? PAT_CASE : PAT_ELSE;
    arm->patterns->span = m->at;
    if (name) arm->patterns->case_name = made_name(m, name);
    arm->block = made_block(m, stmts);
    LIST_APPEND(to, arm, next);
    return arm;
}

void made_bind(const Make *m, Arm *arm, const char *const *names, uint32_t count)
{
    LIST(Binding) list = {0};
    for (uint32_t i = 0; i < count; i++) {
        Binding *b = arena_new(m->c->arena, Binding);
        b->name = made_name(m, names[i]);
        LIST_APPEND(&list, b, next);
    }
    arm->patterns->bindings = list.first;
    arm->patterns->has_bindings = count > 0;
}

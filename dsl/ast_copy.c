/* ast_copy.c: a copy of a fn as it was written, for each use that gives it other types. */
#include "ast_copy.h"

#include <stddef.h>
#include <string.h>

#include "../runtime/base/list.h"

static Expr *copy_expr(Arena *arena, const Expr *from);
static Block *copy_block(Arena *arena, const Block *from);

/* What is as written comes before what the checker sets, in every node. */
#define COPY_WRITTEN(arena, from, Node, first_set)                                                                     \
    ((Node *)memcpy(arena_new(arena, Node), from, offsetof(Node, first_set)))

static Arg *copy_args(Arena *arena, const Arg *from)
{
    LIST(Arg) list = {0};
    for (; from; from = from->next) {
        Arg *arg = arena_new(arena, Arg);
        *arg = *from;
        arg->value = copy_expr(arena, from->value);
        LIST_APPEND(&list, arg, next);
    }
    return list.first;
}

static MapEntry *copy_entries(Arena *arena, const MapEntry *from)
{
    LIST(MapEntry) list = {0};
    for (; from; from = from->next) {
        MapEntry *entry = arena_new(arena, MapEntry);
        *entry = *from;
        entry->key = copy_expr(arena, from->key);
        entry->value = copy_expr(arena, from->value);
        LIST_APPEND(&list, entry, next);
    }
    return list.first;
}

static Expr *copy_parts(Arena *arena, const Expr *from)
{
    LIST(Expr) list = {0};
    for (; from; from = from->next) {
        Expr *part = copy_expr(arena, from);
        LIST_APPEND(&list, part, next);
    }
    return list.first;
}

static Expr *copy_expr(Arena *arena, const Expr *from)
{
    if (!from) return NULL;
    Expr *e = COPY_WRITTEN(arena, from, Expr, type);
    e->left = copy_expr(arena, from->left);
    e->right = copy_expr(arena, from->right);
    e->cond = copy_expr(arena, from->cond);
    e->parts = copy_parts(arena, from->parts);
    e->args = copy_args(arena, from->args);
    e->entries = copy_entries(arena, from->entries);
    e->next = NULL;
    return e;
}

static Pattern *copy_patterns(Arena *arena, const Pattern *from)
{
    LIST(Pattern) list = {0};
    for (; from; from = from->next) {
        Pattern *pattern = COPY_WRITTEN(arena, from, Pattern, decl);
        LIST(Binding) bindings = {0};
        for (const Binding *b = from->bindings; b; b = b->next) {
            Binding *binding = arena_new(arena, Binding);
            binding->name = b->name;
            LIST_APPEND(&bindings, binding, next);
        }
        pattern->bindings = bindings.first;
        pattern->literal = copy_expr(arena, from->literal);
        LIST_APPEND(&list, pattern, next);
    }
    return list.first;
}

static Arm *copy_arms(Arena *arena, const Arm *from)
{
    LIST(Arm) list = {0};
    for (; from; from = from->next) {
        Arm *arm = arena_new(arena, Arm);
        *arm = *from;
        arm->patterns = copy_patterns(arena, from->patterns);
        arm->guard = copy_expr(arena, from->guard);
        arm->block = copy_block(arena, from->block);
        LIST_APPEND(&list, arm, next);
    }
    return list.first;
}

static Stmt *copy_stmt(Arena *arena, const Stmt *from)
{
    Stmt *s = COPY_WRITTEN(arena, from, Stmt, variable);
    s->target = copy_expr(arena, from->target);
    s->value = copy_expr(arena, from->value);
    s->range_end = copy_expr(arena, from->range_end);
    s->block = copy_block(arena, from->block);
    s->else_block = copy_block(arena, from->else_block);
    s->arms = copy_arms(arena, from->arms);
    return s;
}

static Block *copy_block(Arena *arena, const Block *from)
{
    if (!from) return NULL;
    Block *block = arena_new(arena, Block);
    LIST(Stmt) list = {0};
    block->span = from->span;
    for (const Stmt *s = from->stmts; s; s = s->next) {
        Stmt *copy = copy_stmt(arena, s);
        LIST_APPEND(&list, copy, next);
    }
    block->stmts = list.first;
    return block;
}

Field *ast_copy_param(Arena *arena, const Field *from)
{
    Field *field = COPY_WRITTEN(arena, from, Field, type);
    field->next = NULL;
    return field;
}

Decl *ast_copy_fn(Arena *arena, const Decl *from)
{
    Decl *decl = arena_new(arena, Decl);
    decl->kind = DECL_FN;
    decl->span = from->span;
    decl->name = from->name;
    decl->doc = from->doc;
    decl->result = from->result;
    decl->module = from->module;
    decl->block = copy_block(arena, from->block);
    return decl;
}

/* lower_assign.c: assignments. Values do not change: `s.a = v` makes a copy of s with another a, and binds it. When
 * nobody else holds the old value the copy is left out (tfy_own_*), and the same holds for x = x.push(e) and its
 * relatives.
 *
 * The right side is evaluated first, then the indexes of the left side, then the path is walked; nothing that can
 * allocate comes between two steps of the walk, because the places it goes through are only valid until then. */
#include <string.h>

#include "lower.h"

/* ---- is the right side about the same place? ---- */

static bool is_same_index(const Expr *a, const Expr *b);

static bool is_same_path(const Expr *a, const Expr *b)
{
    a = lower_strip(a);
    b = lower_strip(b);
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case EX_NAME: return a->variable && a->variable == b->variable;
    case EX_FIELD:
        if (a->call == CALL_CASE || a->optional || b->optional) return false;
        return a->field_index == b->field_index && is_same_path(a->left, b->left);
    case EX_INDEX: return is_same_path(a->left, b->left) && is_same_index(a->right, b->right);
    default: return false;
    }
}

/* Only indexes that can be left out: evaluating them cannot fail. */
static bool is_same_index(const Expr *a, const Expr *b)
{
    a = lower_strip(a);
    b = lower_strip(b);
    if (a->kind == EX_INT && b->kind == EX_INT) return a->int_value == b->int_value;
    if (a->kind == EX_NAME && b->kind == EX_NAME) return a->variable && a->variable == b->variable;
    return false;
}

/* ---- walking the left side ---- */

/* The indexes of a path, outermost container first, evaluated before the walk. */
typedef struct Path {
    const Expr *steps[64];
    Val *indexes[64];
    uint32_t count;
    Var *root;
} Path;

static void read_path(Lower *l, Path *path, const Expr *target)
{
    target = lower_strip(target);
    if (target->kind == EX_NAME) {
        path->root = lower_local(l, target->variable);
        return;
    }
    read_path(l, path, target->left);
    CHECK(path->count < sizeof path->steps / sizeof *path->steps);
    path->steps[path->count] = target;
    path->indexes[path->count++] = target->kind == EX_INDEX ? lower_expr(l, target->right) : NULL;
}

/* The place of the container after `count` steps. */
static Val *walk(Lower *l, const Path *path, uint32_t count)
{
    Val *place = val_place(l, path->root);
    for (uint32_t i = 0; i < count; i++) {
        const Expr *step = path->steps[i];
        Val *index = path->indexes[i];
        Val *at;
        if (step->kind == EX_FIELD)
            at = lower_call(l, RT_OWN_FIELD, NULL, 2, place, val_int(l, step->field_index));
        else if (step->left->type->kind == TYPE_LIST)
            at = lower_call(l, RT_OWN_ITEM, NULL, 2, place, index);
        else
            at = lower_call(l, RT_OWN_ENTRY, NULL, 3, place, val_word(l, index), val_zero(l, REP_BOOL));
        place = val_place(l, at->var);
    }
    return place;
}

static void put(Lower *l, Var *place, Val *value)
{
    Instr *instr = machine_instr(l->routine, l->cur, IN_PUT, l->line);
    instr->dst = place;
    instr->a = value;
    lower_note(l, instr);
}

/* target = value, where target is more than a name. */
static void assign_path(Lower *l, const Expr *target, Val *value)
{
    Path path = {.count = 0};
    read_path(l, &path, target);
    CHECK(path.count > 0);
    const Expr *last = path.steps[path.count - 1];
    Val *index = path.indexes[path.count - 1];
    if (last->kind == EX_FIELD) {
        put(l, walk(l, &path, path.count)->var, value);
        return;
    }
    Val *place = walk(l, &path, path.count - 1);
    if (last->left->type->kind == TYPE_LIST)
        lower_call(l, RT_LIST_PUT, NULL, 3, place, index, val_word(l, value));
    else
        lower_call(l, RT_MAP_PUT, NULL, 3, place, val_word(l, index), val_word(l, value));
}

static Val *place_of(Lower *l, const Expr *target)
{
    Path path = {.count = 0};
    read_path(l, &path, target);
    return walk(l, &path, path.count);
}

/* ---- x = x.push(e) and its relatives ---- */

static bool assign_method(Lower *l, const Expr *target, const Expr *e)
{
    Val *a, *b, *place;
    if (e->kind != EX_CALL || e->call != CALL_METHOD || !is_same_path(target, e->argv[0])) return false;
    switch (e->builtin->id) {
    case BI_LIST_PUSH:
    case BI_LIST_CONCAT:
    case BI_THREAD_JOIN:
    case BI_LIST_SET:
    case BI_MAP_SET: break;
    default: return false;
    }
    a = lower_expr(l, e->argv[1]);
    b = e->argc > 2 ? lower_expr(l, e->argv[2]) : NULL;
    place = place_of(l, target);
    switch (e->builtin->id) {
    case BI_LIST_PUSH: lower_call(l, RT_LIST_PUSH, NULL, 2, place, val_word(l, a)); break;
    case BI_LIST_CONCAT:
    case BI_THREAD_JOIN: lower_call(l, RT_LIST_APPEND, NULL, 2, place, a); break;
    case BI_LIST_SET: lower_call(l, RT_LIST_PUT, NULL, 3, place, a, val_word(l, b)); break;
    default: lower_call(l, RT_MAP_PUT, NULL, 3, place, val_word(l, a), val_word(l, b)); break;
    }
    return true;
}

/* s = s + t */
static bool assign_concat(Lower *l, const Expr *target, const Expr *e)
{
    if (e->kind != EX_BINARY || e->op != OP_ADD || e->type->kind != TYPE_STRING || !is_same_path(target, e->left))
        return false;
    Val *part = lower_expr(l, e->right);
    lower_call(l, RT_STRING_APPEND, NULL, 2, place_of(l, target), part);
    return true;
}

/* ---- the forms ---- */

static void assign_op(Lower *l, const Stmt *s)
{
    const Expr *target = lower_strip(s->target);
    const Type *type = target->type;
    Val *value = lower_expr(l, s->value);
    if (type->kind == TYPE_STRING) {
        lower_call(l, RT_STRING_APPEND, NULL, 2, place_of(l, target), value);
    } else if (target->kind == EX_NAME) {
        Var *var = lower_local(l, target->variable);
        lower_store(l, var, lower_arithmetic(l, s->op, type, val_of(l, var), value), true);
    } else {
        Var *place = place_of(l, target)->var;
        put(l, place, lower_arithmetic(l, s->op, type, val_read(l, place, machine_rep(type)), value));
    }
}

void lower_assign(Lower *l, const Stmt *s)
{
    const Expr *target = lower_strip(s->target), *e = s->value;
    if (s->op != OP_NONE) {
        assign_op(l, s);
    } else if (assign_method(l, target, lower_strip(e)) || assign_concat(l, target, lower_strip(e))) {
        /* done in place */
    } else if (target->kind == EX_NAME) {
        lower_into(l, e, lower_local(l, target->variable), true);
    } else {
        assign_path(l, target, lower_root(l, e, "value"));
    }
    lower_end(l);
}

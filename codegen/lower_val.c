/* lower_val.c: building the trees of machine.h. */
#include <stdarg.h>

#include "lower.h"

Val *val_new(Lower *l, ValKind kind, Rep rep)
{
    Val *val = arena_new(l->arena, Val);
    val->kind = kind;
    val->rep = rep;
    return val;
}

Val *val_read(Lower *l, Var *var, Rep rep)
{
    Val *val = val_new(l, VAL_VAR, rep);
    val->var = var;
    return val;
}

Val *val_of(Lower *l, Var *var)
{
    return val_read(l, var, var->rep);
}

Val *val_int(Lower *l, int64_t value)
{
    Val *val = val_new(l, VAL_INT, REP_INT);
    val->i = value;
    return val;
}

Val *val_float(Lower *l, double value)
{
    Val *val = val_new(l, VAL_FLOAT, REP_FLOAT);
    val->f = value;
    return val;
}

Val *val_bool(Lower *l, bool value)
{
    Val *val = val_new(l, VAL_BOOL, REP_BOOL);
    val->i = value;
    return val;
}

Val *val_null(Lower *l)
{
    return val_new(l, VAL_NULL, REP_OBJ);
}

Val *val_zero(Lower *l, Rep rep)
{
    switch (rep) {
    case REP_INT: return val_int(l, 0);
    case REP_FLOAT: return val_float(l, 0);
    case REP_BOOL: return val_bool(l, false);
    default: return val_null(l);
    }
}

Val *val_type(Lower *l, const Type *type)
{
    Val *val = val_new(l, VAL_TYPE, REP_NONE);
    val->type = type;
    return val;
}

Val *val_point(Lower *l, Point *point)
{
    Val *val = val_new(l, VAL_POINT, REP_NONE);
    val->point = point;
    return val;
}

Val *val_string(Lower *l, const char *bytes, uint32_t len)
{
    Val *val = val_new(l, VAL_STRING, REP_OBJ);
    val->index = machine_string(l->machine, bytes, len);
    return val;
}

Val *val_unary(Lower *l, ValKind kind, Rep rep, Val *a)
{
    Val *val = val_new(l, kind, rep);
    val->a = a;
    return val;
}

Val *val_binary(Lower *l, ValKind kind, Rep rep, Val *a, Val *b)
{
    Val *val = val_unary(l, kind, rep, a);
    val->b = b;
    return val;
}

Val *val_field(Lower *l, Val *object, uint32_t index, const Type *type)
{
    CHECK(object->rep == REP_OBJ);
    Val *val = val_unary(l, VAL_FIELD, machine_rep(type), object);
    val->index = index;
    return val;
}

Val *val_tag(Lower *l, Val *object)
{
    return val_unary(l, VAL_TAG, REP_INT, object);
}

Val *val_compare(Lower *l, Op op, Val *a, Val *b)
{
    CHECK(a->rep == b->rep);
    Val *val = val_binary(l, VAL_CMP, REP_BOOL, a, b);
    val->op = op;
    return val;
}

Val *val_place(Lower *l, Var *var)
{
    CHECK(var->owned || var->rep == REP_PLACE);
    Val *val = val_new(l, VAL_PLACE, REP_NONE);
    val->var = var;
    return val;
}

Val *val_word(Lower *l, Val *value)
{
    if (value->kind == VAL_VAR && value->var->rep == REP_WORD) return val_read(l, value->var, REP_WORD);
    return val_unary(l, VAL_WORD, REP_WORD, value);
}

Val *val_array(Lower *l, Rep rep, Val **items, uint32_t count)
{
    Val *val = val_new(l, VAL_ARRAY, rep);
    val->args = items;
    val->argc = count;
    return val;
}

Val *val_pure(Lower *l, RtId id, Rep rep, uint32_t argc, ...)
{
    Val *val = val_new(l, VAL_CALL, rep);
    va_list list;
    val->func = machine_func(id);
    CHECK(val->func->fail == FAIL_NEVER); /* a tree cannot fail */
    val->args = arena_alloc(l->arena, (argc + 1) * sizeof *val->args);
    val->argc = argc;
    va_start(list, argc);
    for (uint32_t i = 0; i < argc; i++) val->args[i] = va_arg(list, Val *);
    va_end(list);
    return val;
}

bool val_is_variable(const Val *value)
{
    return value->kind == VAL_VAR && value->var->kind != VAR_TEMP;
}

Val *val_narrow(Lower *l, Val *value, const Type *stored, const Type *known)
{
    if (stored == known || stored->kind != TYPE_OPTIONAL || known != stored->elem || !known->scalar) return value;
    return val_unary(l, VAL_UNBOX, machine_rep(known), value);
}

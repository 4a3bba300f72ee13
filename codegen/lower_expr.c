/* lower_expr.c: expressions. What cannot fail stays a tree; what can becomes instructions in the current block,
 * their value in a temporary. Expressions change no variable, so a tree may be evaluated later than it was built,
 * within its statement. */
#include <stdarg.h>
#include <string.h>

#include "lower.h"

/* ---- instructions ---- */

Var *lower_temp(Lower *l, Rep rep)
{
    static const char letters[REP_COUNT] = {
        [REP_INT] = 'i', [REP_FLOAT] = 'f', [REP_BOOL] = 'b', [REP_OBJ] = 'o', [REP_WORD] = 'v', [REP_PLACE] = 'p'};
    CHECK(letters[rep]);
    uint32_t number = ++l->next_temp[rep];
    Var *var = machine_var(l->routine, VAR_TEMP, NULL, rep, arena_printf(l->arena, "%c%u", letters[rep], number));
    var->id = number;
    return var;
}

static Val *finish_call(Lower *l, Instr *instr, Rep result)
{
    const RtFunc *func = instr->func;
    CHECK(!instr->dst || instr->dst->rep == result);
    if (!instr->dst && result != REP_NONE) instr->dst = lower_temp(l, result);
    if (!func || func->fail != FAIL_NEVER) instr->landing = l->landing;
    if (func ? func->temp : result == REP_OBJ) l->temps = true;
    if (func && func->halts) l->landing->halts = true;
    lower_note(l, instr);
    return instr->dst ? val_of(l, instr->dst) : NULL;
}

Val *lower_call_with(Lower *l, RtId id, Var *dst, Val **args, uint32_t argc)
{
    Instr *instr = machine_instr(l->routine, l->cur, IN_CALL, l->line);
    instr->func = machine_func(id);
    instr->dst = dst;
    instr->args = args;
    instr->argc = argc;
    return finish_call(l, instr, instr->func->result);
}

Val *lower_call(Lower *l, RtId id, Var *dst, uint32_t argc, ...)
{
    Val **args = arena_alloc(l->arena, (argc + 1) * sizeof *args);
    va_list list;
    va_start(list, argc);
    for (uint32_t i = 0; i < argc; i++) args[i] = va_arg(list, Val *);
    va_end(list);
    return lower_call_with(l, id, dst, args, argc);
}

static Val *call_decl(Lower *l, const Decl *decl, Val **args, uint32_t argc)
{
    Instr *instr = machine_instr(l->routine, l->cur, IN_CALL, l->line);
    instr->decl = decl;
    instr->args = args;
    instr->argc = argc;
    return finish_call(l, instr, machine_rep(decl->type));
}

/* Puts a value into a temporary, so that it can be used twice. */
static Val *bind_value(Lower *l, Val *value)
{
    if (value->kind == VAL_VAR || value->kind == VAL_NULL) return value;
    Var *temp = lower_temp(l, value->rep);
    lower_instr(l, IN_SET, temp, value);
    return val_of(l, temp);
}

/* ---- sidelines: parts that are evaluated only sometimes ---- */

typedef struct Side {
    MBlock *first, *last; /* NULL first: the value needs no instructions */
    Val *value;
} Side;

static Side lower_side(Lower *l, const Expr *e)
{
    MBlock *before = l->cur, *first = machine_block(l->routine);
    machine_place(l->routine, first);
    l->cur = first;
    Side side = {first, NULL, lower_expr(l, e)};
    side.last = l->cur;
    l->cur = before;
    if (side.last != first || first->count) return side;
    /* nothing happened: take the block back */
    CHECK(l->routine->order[l->routine->order_count - 1] == first);
    l->routine->order_count--;
    first->placed = false;
    return (Side){NULL, NULL, side.value};
}

static void end_side(Lower *l, Side *side, Var *dst, MBlock *join)
{
    if (!side->first) {
        side->first = side->last = machine_block(l->routine);
        machine_place(l->routine, side->first);
    }
    l->cur = side->last;
    lower_instr(l, IN_SET, dst, side->value);
    lower_go(l, join);
}

static Val *lower_choice(Lower *l, Val *cond, Side yes, Side no, Rep rep)
{
    if (!yes.first && !no.first) {
        Val *val = val_binary(l, VAL_COND, rep, cond, yes.value);
        val->c = no.value;
        return val;
    }
    MBlock *from = l->cur, *join = machine_block(l->routine);
    Var *dst = lower_temp(l, rep);
    end_side(l, &yes, dst, join);
    end_side(l, &no, dst, join);
    l->cur = from;
    lower_branch(l, cond, yes.first, no.first);
    lower_begin(l, join);
    return val_of(l, dst);
}

static Val *lower_logic(Lower *l, const Expr *e)
{
    bool and = e->op == OP_AND;
    Val *left = lower_expr(l, e->left);
    MBlock *from = l->cur;
    Side right = lower_side(l, e->right);
    if (!right.first) return val_binary(l, and? VAL_AND : VAL_OR, REP_BOOL, left, right.value);
    MBlock *join = machine_block(l->routine);
    Var *dst = lower_temp(l, REP_BOOL);
    end_side(l, &right, dst, join);
    l->cur = from;
    lower_instr(l, IN_SET, dst, left);
    lower_branch(l, val_of(l, dst), and? right.first : join, and? join : right.first);
    lower_begin(l, join);
    return val_of(l, dst);
}

/* left ?? right, of the given type */
Val *lower_coalesce(Lower *l, const Expr *left_expr, const Expr *right, const Type *type)
{
    const Type *optional = left_expr->type;
    Val *left = bind_value(l, lower_expr(l, left_expr));
    if (optional->kind == TYPE_NULL) return lower_expr(l, right);
    Side yes = {NULL, NULL, val_narrow(l, left, optional, type)};
    Side no = lower_side(l, right);
    return lower_choice(l, val_compare(l, OP_NE, left, val_null(l)), yes, no, machine_rep(type));
}

static Val *lower_if(Lower *l, const Expr *e)
{
    Val *cond = lower_expr(l, e->cond);
    Side yes = lower_side(l, e->left);
    Side no = lower_side(l, e->right);
    return lower_choice(l, cond, yes, no, machine_rep(e->left->to));
}

/* ---- strings ---- */

typedef struct Parts {
    Val **items;
    uint32_t count, cap;
} Parts;

static void add_part(Lower *l, Parts *parts, Val *value)
{
    if (parts->count == parts->cap)
        parts->items = arena_grow(l->arena, parts->items, &parts->cap, parts->count + 1, sizeof *parts->items);
    parts->items[parts->count++] = value;
}

Val *lower_text(Lower *l, const Type *type, Val *value)
{
    if (type->kind == TYPE_STRING) return value;
    return lower_call(l, RT_TEXT, NULL, 2, val_type(l, type), val_word(l, value));
}

static void collect_parts(Lower *l, Parts *parts, const Expr *e)
{
    e = lower_strip(e);
    if (e->kind == EX_BINARY && e->op == OP_ADD && e->type->kind == TYPE_STRING) {
        collect_parts(l, parts, e->left);
        collect_parts(l, parts, e->right);
    } else if (e->kind == EX_STRING) {
        for (const Expr *part = e->parts; part; part = part->next) {
            if (part->kind == EX_TEXT) {
                if (part->text_len) add_part(l, parts, val_string(l, part->text, part->text_len));
            } else if (part->to->kind == TYPE_STRING) {
                collect_parts(l, parts, part);
            } else {
                add_part(l, parts, lower_text(l, part->to, lower_expr(l, part)));
            }
        }
    } else {
        add_part(l, parts, lower_expr(l, e));
    }
}

static Val *lower_string(Lower *l, const Expr *e)
{
    Parts parts = {0};
    collect_parts(l, &parts, e);
    if (parts.count == 0) return val_string(l, "", 0);
    if (parts.count == 1) return parts.items[0];
    return lower_call(l, RT_CONCAT, NULL, 2, val_int(l, parts.count), val_array(l, REP_OBJ, parts.items, parts.count));
}

/* ---- operators ---- */

Val *lower_arithmetic(Lower *l, Op op, const Type *type, Val *a, Val *b)
{
    static const RtId on_ints[] = {[OP_ADD] = RT_INT_ADD,
                                   [OP_SUB] = RT_INT_SUB,
                                   [OP_MUL] = RT_INT_MUL,
                                   [OP_DIV] = RT_INT_DIV,
                                   [OP_MOD] = RT_INT_MOD};
    static const RtId on_floats[] = {[OP_ADD] = RT_FLOAT_ADD,
                                     [OP_SUB] = RT_FLOAT_SUB,
                                     [OP_MUL] = RT_FLOAT_MUL,
                                     [OP_DIV] = RT_FLOAT_DIV,
                                     [OP_MOD] = RT_FLOAT_MOD};
    CHECK(op >= OP_ADD && op <= OP_MOD);
    return lower_call(l, type->kind == TYPE_FLOAT ? on_floats[op] : on_ints[op], NULL, 2, a, b);
}

static bool is_bare_enum(const Type *type)
{
    if (type->kind != TYPE_ENUM) return false;
    for (uint32_t i = 0; i < type->case_count; i++)
        if (type->cases[i].has_fields) return false;
    return true;
}

Val *lower_equal(Lower *l, const Type *type, Val *a, Val *b)
{
    if (type->scalar || a->kind == VAL_NULL || b->kind == VAL_NULL) return val_compare(l, OP_EQ, a, b);
    if (is_bare_enum(type)) return val_compare(l, OP_EQ, val_tag(l, a), val_tag(l, b));
    return val_pure(l, RT_EQUAL, REP_BOOL, 3, val_type(l, type), val_word(l, a), val_word(l, b));
}

static Val *lower_not(Lower *l, Val *value)
{
    if (value->kind != VAL_CMP || (value->op != OP_EQ && value->op != OP_NE))
        return val_unary(l, VAL_NOT, REP_BOOL, value);
    return val_compare(l, value->op == OP_EQ ? OP_NE : OP_EQ, value->a, value->b);
}

Val *lower_compare(Lower *l, const Expr *e, Val *a, Val *b)
{
    const Type *type = e->left->to;
    if (e->op == OP_EQ) return lower_equal(l, type, a, b);
    if (e->op == OP_NE) return lower_not(l, lower_equal(l, type, a, b));
    if (type->scalar) return val_compare(l, e->op, a, b);
    Val *order = val_pure(l, RT_COMPARE, REP_INT, 3, val_type(l, type), val_word(l, a), val_word(l, b));
    return val_compare(l, e->op, order, val_int(l, 0));
}

static Val *lower_comparison(Lower *l, const Expr *e)
{
    Val *a = lower_expr(l, e->left), *b = lower_expr(l, e->right);
    return lower_compare(l, e, a, b);
}

static Val *lower_binary(Lower *l, const Expr *e)
{
    switch (e->op) {
    case OP_AND:
    case OP_OR: return lower_logic(l, e);
    case OP_COALESCE: return lower_coalesce(l, e->left, e->right, e->type);
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return lower_comparison(l, e);
    default: break;
    }
    if (e->type->kind == TYPE_STRING) return lower_string(l, e);
    Val *a = lower_expr(l, e->left), *b = lower_expr(l, e->right);
    return lower_arithmetic(l, e->op, e->type, a, b);
}

static Val *lower_unary(Lower *l, const Expr *e)
{
    Val *value = lower_expr(l, e->left);
    if (e->op == OP_NOT) return lower_not(l, value);
    if (value->kind == VAL_INT && value->i != INT64_MIN) return val_int(l, -value->i);
    if (value->kind == VAL_FLOAT) return val_float(l, -value->f);
    if (value->rep == REP_FLOAT) return val_unary(l, VAL_NEG, REP_FLOAT, value);
    return lower_call(l, RT_INT_NEG, NULL, 1, value);
}

/* ---- constants ---- */

/* The value of a constant expression that needs no code, or NULL. */
static Val *fold(Lower *l, const Expr *e);

static Val *fold_binary(Lower *l, const Expr *e)
{
    Val *a = fold(l, e->left), *b = a ? fold(l, e->right) : NULL;
    int64_t out = 0;
    if (!b || a->kind != VAL_INT || b->kind != VAL_INT) return NULL;
    switch (e->op) {
    case OP_ADD: return __builtin_add_overflow(a->i, b->i, &out) ? NULL : val_int(l, out);
    case OP_SUB: return __builtin_sub_overflow(a->i, b->i, &out) ? NULL : val_int(l, out);
    case OP_MUL: return __builtin_mul_overflow(a->i, b->i, &out) ? NULL : val_int(l, out);
    default: return NULL;
    }
}

static Val *fold_raw(Lower *l, const Expr *e)
{
    switch (e->kind) {
    case EX_NULL:
    case EX_BOOL:
    case EX_INT:
    case EX_FLOAT:
    case EX_DURATION: return lower_expr(l, e);
    case EX_STRING: return e->parts && (e->parts->kind != EX_TEXT || e->parts->next) ? NULL : lower_expr(l, e);
    case EX_FIELD:
        if (e->call == CALL_CASE) return lower_expr(l, e);
        return e->decl && e->decl->kind == DECL_CONST ? fold(l, e->decl->value) : NULL;
    case EX_NAME: return e->decl && e->decl->kind == DECL_CONST ? fold(l, e->decl->value) : NULL;
    case EX_BINARY: return fold_binary(l, e);
    case EX_UNARY:
        if (e->op != OP_NEG) return NULL;
        Val *value = fold(l, e->left);
        if (value && value->kind == VAL_INT && value->i != INT64_MIN) return val_int(l, -value->i);
        return value && value->kind == VAL_FLOAT ? val_float(l, -value->f) : NULL;
    default: return NULL;
    }
}

static Val *fold(Lower *l, const Expr *e)
{
    e = lower_strip(e);
    const Type *to = e->to;
    if (to->kind == TYPE_OPTIONAL && to->elem->scalar && e->type->kind != TYPE_NULL) return NULL; /* a box */
    return fold_raw(l, e);
}

bool lower_folds(Lower *l, const Decl *constant)
{
    return fold(l, constant->value) != NULL;
}

static Val *lower_const(Lower *l, const Decl *decl)
{
    Val *value = fold(l, decl->value);
    return value ? value : call_decl(l, decl, NULL, 0);
}

/* ---- names, fields, indexes ---- */

static Val *lower_name(Lower *l, const Expr *e)
{
    if (!e->variable) return val_narrow(l, lower_const(l, e->decl), e->decl->type, e->type);
    return val_narrow(l, val_of(l, lower_local(l, e->variable)), e->variable->type, e->type);
}

static Val *lower_case(Lower *l, const Expr *e)
{
    Val *val = val_new(l, VAL_CASE, REP_OBJ);
    CHECK(e->case_index < e->type->case_count);
    val->type = e->type;
    val->index = e->case_index;
    return val;
}

/* left?.name and what follows it: what `lower` makes of e where left is not null, else null. Within e the hidden
 * variable of the access holds left. */
static Val *lower_optional(Lower *l, const Expr *access, const Expr *e, Val *(*lower)(Lower *, const Expr *))
{
    const Type *known = access->variable->type;
    Val *value = bind_value(l, lower_expr(l, access->left));
    if (value->kind == VAL_NULL) return value;
    MBlock *before = l->cur, *first = machine_block(l->routine);
    machine_place(l->routine, first);
    l->cur = first;
    Var *held = l->by_id[access->variable->id] = lower_temp(l, machine_rep(known));
    lower_instr(l, IN_SET, held, val_narrow(l, value, access->left->type, known));
    Val *made = lower(l, e);
    Side yes = {first, l->cur, made}, no = {NULL, NULL, val_null(l)};
    l->cur = before;
    return lower_choice(l, val_compare(l, OP_NE, value, val_null(l)), yes, no, REP_OBJ);
}

static Val *lower_held_field(Lower *l, const Expr *e)
{
    const Type *stored = e->variable->type->fields[e->field_index].type;
    Val *held = val_of(l, l->by_id[e->variable->id]);
    return lower_convert(l, val_field(l, held, e->field_index, stored), stored, e->type);
}

static Val *lower_field(Lower *l, const Expr *e)
{
    if (e->optional) return lower_optional(l, e, e, lower_held_field);
    if (e->call == CALL_CASE) return lower_case(l, e);
    if (e->decl) return lower_name(l, e); /* a module's constant */
    Val *object = lower_expr(l, e->left);
    const Type *inside = e->left->type;
    CHECK(inside->kind == TYPE_ANY_ERROR || e->field_index < inside->field_count);
    const Type *stored = inside->kind == TYPE_ANY_ERROR ? e->type : inside->fields[e->field_index].type;
    return val_narrow(l, val_field(l, object, e->field_index, stored), stored, e->type);
}

static Val *lower_index(Lower *l, const Expr *e)
{
    Val *object = lower_expr(l, e->left), *index = lower_expr(l, e->right);
    const Type *inside = e->left->type;
    if (inside->kind == TYPE_STRING) return lower_call(l, RT_STRING_AT, NULL, 2, object, index);
    Val *word = inside->kind == TYPE_LIST ? lower_call(l, RT_LIST_AT, NULL, 2, object, index)
                                          : lower_call(l, RT_MAP_AT, NULL, 2, object, val_word(l, index));
    return val_narrow(l, val_read(l, word->var, machine_rep(inside->elem)), inside->elem, e->type);
}

/* ---- lists, maps, records ---- */

Val *lower_words(Lower *l, Expr *const *argv, uint32_t argc)
{
    Val **items = arena_alloc(l->arena, (argc + 1) * sizeof *items);
    for (uint32_t i = 0; i < argc; i++) items[i] = argv[i] ? lower_expr(l, argv[i]) : val_null(l);
    return val_array(l, REP_WORD, items, argc);
}

static Val *lower_list(Lower *l, const Expr *e)
{
    Parts items = {0};
    for (const Arg *arg = e->args; arg; arg = arg->next) add_part(l, &items, lower_expr(l, arg->value));
    return lower_call(l, RT_LIST_OF, NULL, 3, val_type(l, e->type), val_int(l, items.count),
                      val_array(l, REP_WORD, items.items, items.count));
}

static Val *lower_record(Lower *l, const Expr *e)
{
    if (e->type->kind == TYPE_THREAD) return lower_list(l, e);
    CHECK(e->argc == e->type->field_count);
    Val *fields = lower_words(l, e->argv, e->argc);
    return lower_call(l, RT_RECORD_OF, NULL, 2, val_type(l, e->type), fields);
}

static Val *lower_map(Lower *l, const Expr *e)
{
    Parts keys = {0}, values = {0};
    if (e->call == CALL_RECORD) return lower_record(l, e);
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        add_part(l, &keys, lower_expr(l, entry->key));
        add_part(l, &values, lower_expr(l, entry->value));
    }
    return lower_call(l, RT_MAP_OF, NULL, 4, val_type(l, e->type), val_int(l, keys.count),
                      val_array(l, REP_WORD, keys.items, keys.count),
                      val_array(l, REP_WORD, values.items, values.count));
}

/* ---- json literals ---- */

static const Type *json_container(Lower *l, TypeKind kind)
{
    const CoreTypes *core = &l->machine->program->core;
    for (const Type *type = l->machine->program->types; type; type = type->next)
        if (type->kind == kind && type->elem == core->json && (kind != TYPE_MAP || type->key == core->string))
            return type;
    UNREACHED("the checker makes the types that json literals are built with");
}

static Val *to_json(Lower *l, const Type *type, Val *value)
{
    return lower_call(l, RT_TO_JSON, NULL, 2, val_type(l, type), val_word(l, value));
}

static Val *lower_json(Lower *l, const Expr *e);

static Val *lower_json_list(Lower *l, const Expr *e)
{
    const Type *type = json_container(l, TYPE_LIST);
    Parts items = {0};
    for (const Arg *arg = e->args; arg; arg = arg->next) add_part(l, &items, lower_json(l, arg->value));
    return to_json(l, type,
                   lower_call(l, RT_LIST_OF, NULL, 3, val_type(l, type), val_int(l, items.count),
                              val_array(l, REP_WORD, items.items, items.count)));
}

static Val *lower_json_map(Lower *l, const Expr *e)
{
    const Type *type = json_container(l, TYPE_MAP);
    Parts keys = {0}, values = {0};
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        add_part(l, &keys, lower_expr(l, entry->key));
        add_part(l, &values, lower_json(l, entry->value));
    }
    return to_json(l, type,
                   lower_call(l, RT_MAP_OF, NULL, 4, val_type(l, type), val_int(l, keys.count),
                              val_array(l, REP_WORD, keys.items, keys.count),
                              val_array(l, REP_WORD, values.items, values.count)));
}

/* A part of a literal, as a json of its own. */
static Val *lower_json(Lower *l, const Expr *e)
{
    switch (e->kind) {
    case EX_MAP: return lower_json_map(l, e);
    case EX_LIST: return lower_json_list(l, e);
    case EX_NULL: return to_json(l, json_container(l, TYPE_OPTIONAL), val_null(l));
    default: break;
    }
    Val *value = lower_expr(l, e);
    return e->to->kind == TYPE_JSON ? value : to_json(l, e->to, value);
}

/* ---- calls ---- */

static Val *lower_fn(Lower *l, const Expr *e)
{
    CHECK(e->decl->kind == DECL_FN && e->argc == e->decl->param_count);
    Val **args = arena_alloc(l->arena, (e->argc + 1) * sizeof *args);
    for (uint32_t i = 0; i < e->argc; i++) args[i] = lower_expr(l, e->argv[i]);
    return call_decl(l, e->decl, args, e->argc);
}

static Val *lower_full_case(Lower *l, const Expr *e)
{
    CHECK(e->case_index < e->type->case_count && e->argc == e->type->cases[e->case_index].field_count);
    Val *fields = lower_words(l, e->argv, e->argc);
    return lower_call(l, RT_ENUM_OF, NULL, 3, val_type(l, e->type), val_int(l, e->case_index), fields);
}

/* ---- effects that give their answer at once ---- */

static Val *mark_point(Lower *l, const Expr *call, const char *label)
{
    return val_point(l, lower_point(l, ASK_MARK, label, call->builtin->name, NULL));
}

Val *lower_effect_now(Lower *l, const Expr *call, const char *label)
{
    Val *args[4] = {0};
    CHECK(call->argc <= sizeof args / sizeof *args);
    for (uint32_t i = 0; i < call->argc; i++) args[i] = call->argv[i] ? lower_expr(l, call->argv[i]) : val_null(l);
    switch (call->builtin->id) {
    case BI_KILL: return lower_call(l, RT_KILL, NULL, 2, mark_point(l, call, label), args[0]);
    case BI_SELF: return lower_call(l, RT_SELF, NULL, 0);
    case BI_NOW: return lower_call(l, RT_NOW, NULL, 1, mark_point(l, call, label));
    case BI_RANDOM: return lower_call(l, RT_RANDOM, NULL, 0);
    case BI_RANDOM_INT: return lower_call(l, RT_RANDOM_INT, NULL, 2, args[0], args[1]);
    case BI_UUID: return lower_call(l, RT_UUID, NULL, 0);
    case BI_PRINT: return lower_call(l, RT_PRINT, NULL, 2, mark_point(l, call, label), args[0]);
    case BI_LOG: return lower_call(l, RT_LOG, NULL, 3, mark_point(l, call, label), args[0], args[1]);
    case BI_PROGRESS: return lower_call(l, RT_PROGRESS, NULL, 4, mark_point(l, call, label), args[0], args[1], args[2]);
    case BI_EMIT: return lower_call(l, RT_EMIT, NULL, 3, mark_point(l, call, label), args[0], args[1]);
    case BI_SAVE:
        l->machine->saves = true;
        return lower_call(l, RT_SAVE, NULL, 4, mark_point(l, call, label), args[0], val_type(l, call->argv[1]->type),
                          args[1]);
    case BI_CHANNEL: return lower_call(l, RT_CHANNEL, NULL, 1, args[0]);
    case BI_CHANNEL_CLOSE: return lower_call(l, RT_CHANNEL_CLOSE, NULL, 2, mark_point(l, call, label), args[0]);
    case BI_CLOSE: return lower_call(l, RT_CLOSE, NULL, 1, args[0]);
    default: UNREACHED("every effect that answers at once is lowered");
    }
}

static Val *lower_spawn_with(Lower *l, const Expr *e, Point *point, Val *flow, Val *args)
{
    Val *priority = val_int(l, 0);
    Parts after = {0};
    for (const Arg *arg = e->args; arg; arg = arg->next) {
        if (arg->value->kind != EX_LIST || strcmp(arg->name.text, "after") != 0) {
            priority = lower_expr(l, arg->value);
            continue;
        }
        for (const Arg *task = arg->value->args; task; task = task->next)
            add_part(l, &after, lower_expr(l, task->value));
    }
    return lower_call(l, RT_SPAWN_WITH, NULL, 7, val_point(l, point), flow, args, priority,
                      val_array(l, REP_WORD, after.items, after.count), val_int(l, after.count),
                      val_bool(l, e->detached));
}

Val *lower_spawn(Lower *l, const Expr *e, bool held)
{
    static const RtId routines[2][2] = {{RT_SPAWN_UNHELD, RT_SPAWN_DETACHED_UNHELD}, {RT_SPAWN, RT_SPAWN_DETACHED}};
    const Expr *call = e->left;
    CHECK(call->decl->kind == DECL_WORKFLOW);
    Val *args = lower_words(l, call->argv, call->argc), *flow = val_new(l, VAL_FLOW, REP_NONE);
    Point *point = lower_point(l, ASK_MARK, NULL, "spawn", call->decl->full_name);
    flow->decl = call->decl;
    if (e->args) return lower_spawn_with(l, e, point, flow, args);
    return lower_call(l, routines[held][e->detached], NULL, 3, val_point(l, point), flow, args);
}

/* ---- dispatch ---- */

const Expr *lower_strip(const Expr *e)
{
    while (e->kind == EX_PAREN) e = e->left;
    return e;
}

static Val *lower_held_method(Lower *l, const Expr *e)
{
    Expr plain = *e;
    plain.type = plain.to = e->left->type;
    return lower_convert(l, lower_method(l, &plain), plain.type, e->type);
}

/* The name is a plain word (dsl/check_call.c). */
static Val *lower_secret(Lower *l, const Expr *e)
{
    const Expr *word = e->argv[0]->parts;
    const char *name = arena_printf(l->arena, "%.*s", (int)word->text_len, word->text);
    MSecret *known = l->machine->secrets;
    while (known && strcmp(known->name, name) != 0) known = known->next;
    if (!known) {
        known = arena_alloc(l->machine->arena, sizeof *known);
        *known = (MSecret){name, l->machine->secrets};
        l->machine->secrets = known;
    }
    return lower_call(l, RT_SECRET, NULL, 1, lower_expr(l, e->argv[0]));
}

static Val *lower_call_expr(Lower *l, const Expr *e)
{
    if (e->call == CALL_METHOD && e->left->optional) return lower_optional(l, e->left, e, lower_held_method);
    switch (e->call) {
    case CALL_FN: return lower_fn(l, e);
    case CALL_RECORD: return lower_record(l, e);
    case CALL_CASE: return lower_full_case(l, e);
    case CALL_METHOD: return lower_method(l, e);
    case CALL_BUILTIN:
        if (e->builtin->id == BI_SECRET) return lower_secret(l, e);
        return lower_effect_now(l, e, NULL);
    case CALL_TRUST: return lower_expr(l, e->argv[0]);
    case CALL_CALLS:
    case CALL_OUTPUT: return lower_test_call(l, e);
    default: UNREACHED("a step is called under yield");
    }
}

static Val *lower_raw(Lower *l, const Expr *e)
{
    switch (e->kind) {
    case EX_NULL: return val_null(l);
    case EX_BOOL: return val_bool(l, e->int_value != 0);
    case EX_INT: return val_int(l, e->int_value);
    case EX_FLOAT: return val_float(l, e->float_value);
    case EX_DURATION: return val_int(l, e->int_value);
    case EX_STRING: return lower_string(l, e);
    case EX_TEXT: return val_string(l, e->text, e->text_len);
    case EX_NAME: return lower_name(l, e);
    case EX_FIELD: return lower_field(l, e);
    case EX_INDEX: return lower_index(l, e);
    case EX_CALL: return lower_call_expr(l, e);
    case EX_BINARY: return lower_binary(l, e);
    case EX_UNARY: return lower_unary(l, e);
    case EX_LIST: return lower_list(l, e);
    case EX_MAP: return lower_map(l, e);
    case EX_JSON: return lower_json(l, e->left);
    case EX_IF: return lower_if(l, e);
    case EX_SPAWN: return lower_spawn(l, e, true);
    default: UNREACHED("every expression is lowered");
    }
}

Val *lower_convert(Lower *l, Val *value, const Type *from, const Type *to)
{
    if (from == to || from->kind == TYPE_NULL) return value;
    const Type *base = to->kind == TYPE_OPTIONAL ? to->elem : to;
    if (base->kind == TYPE_FLOAT && value->rep == REP_INT) {
        value = value->kind == VAL_INT ? val_float(l, (double)value->i) : val_unary(l, VAL_FLOAT_OF, REP_FLOAT, value);
    }
    if (to->kind != TYPE_OPTIONAL || from->kind == TYPE_OPTIONAL || !base->scalar) return value;
    return lower_call(l, RT_BOX, NULL, 2, val_type(l, to), val_word(l, value));
}

Val *lower_expr(Lower *l, const Expr *e)
{
    if (e->kind == EX_PAREN) {
        Val *value = lower_expr(l, e->left);
        return lower_convert(l, value, e->left->to, e->to);
    }
    CHECK(e->type && e->to && e->type->kind != TYPE_BAD); /* the checker has been here */
    Val *value = lower_raw(l, e);
    const Type *from = e->kind == EX_IF ? e->left->to : e->type;
    if (value) value = lower_convert(l, value, from, e->to);
    CHECK(!value || value->rep == machine_rep(e->to));
    return value;
}

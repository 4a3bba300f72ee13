/* eval.c: expressions. */
#include "interp.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const Expr *strip(const Expr *e)
{
    while (e->kind == EX_PAREN) e = e->left;
    return e;
}

/* ---- raising ---- */

bool panic(Frame *f, const char *format, ...)
{
    Task *task = f->task;
    char *text;
    va_list args;
    if (task->raised.kind) return false;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) abort();
    va_end(args);
    task->raised = (Raised){.kind = RAISED_PANIC, .panic = text, .line = f->line};
    return false;
}

bool raise_error(Frame *f, const Type *type, const Value **fields)
{
    Value *error = value_items(V_RECORD, type->field_count);
    for (uint32_t i = 0; i < type->field_count; i++) error->items[i] = fields[i];
    error->type = type;
    error->line = f->line;
    f->task->raised = (Raised){.kind = RAISED_ERROR, .error = error};
    return false;
}

const Value *overflow(Frame *f)
{
    panic(f, "the result does not fit an int (64 bits)");
    return NULL;
}

const Value *finite_or_panic(Frame *f, double value)
{
    if (isfinite(value)) return value_float(value);
    panic(f, "the result is not a finite number");
    return NULL;
}

/* ---- operators ---- */

static const Value *int_arithmetic(Frame *f, Op op, int64_t a, int64_t b)
{
    __int128 wide = 0;
    if ((op == OP_DIV || op == OP_MOD) && b == 0) {
        panic(f, "division by zero");
        return NULL;
    }
    switch (op) {
    case OP_ADD: wide = (__int128)a + b; break;
    case OP_SUB: wide = (__int128)a - b; break;
    case OP_MUL: wide = (__int128)a * b; break;
    case OP_DIV: wide = (__int128)a / b; break;
    default: wide = (__int128)a % b; break;
    }
    return wide < INT64_MIN || wide > INT64_MAX ? overflow(f) : value_int((int64_t)wide);
}

static const Value *float_arithmetic(Frame *f, Op op, double a, double b)
{
    if ((op == OP_DIV || op == OP_MOD) && b == 0) {
        panic(f, "division by zero");
        return NULL;
    }
    switch (op) {
    case OP_ADD: return finite_or_panic(f, a + b);
    case OP_SUB: return finite_or_panic(f, a - b);
    case OP_MUL: return finite_or_panic(f, a * b);
    case OP_DIV: return finite_or_panic(f, a / b);
    default: return finite_or_panic(f, fmod(a, b));
    }
}

const Value *arithmetic(Frame *f, Op op, const Value *a, const Value *b)
{
    if (a->kind == V_STRING) {
        Buf text = {0};
        buf_add(&text, a->text, a->len);
        buf_add(&text, b->text, b->len);
        return value_text(text.data, text.len);
    }
    return a->kind == V_FLOAT ? float_arithmetic(f, op, a->f, b->f) : int_arithmetic(f, op, a->i, b->i);
}

bool value_compare(Op op, const Value *a, const Value *b)
{
    switch (op) {
    case OP_EQ: return value_equal(a, b);
    case OP_NE: return !value_equal(a, b);
    case OP_LT: return value_order(a, b) < 0;
    case OP_LE: return value_order(a, b) <= 0;
    case OP_GT: return value_order(a, b) > 0;
    default: return value_order(a, b) >= 0;
    }
}

static const Value *eval_binary(Frame *f, const Expr *e)
{
    const Value *a = eval(f, e->left), *b;
    if (!a) return NULL;
    if (e->op == OP_AND && !a->i) return a;
    if (e->op == OP_OR && a->i) return a;
    if (e->op == OP_COALESCE && a->kind != V_NULL) return a;
    if (!(b = eval(f, e->right))) return NULL;
    switch (e->op) {
    case OP_AND:
    case OP_OR:
    case OP_COALESCE: return b;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_MOD: return made_of(arithmetic(f, e->op, a, b), a, b);
    default: return value_bool(value_compare(e->op, a, b));
    }
}

static const Value *eval_unary(Frame *f, const Expr *e)
{
    const Value *a = eval(f, e->left);
    if (!a) return NULL;
    if (e->op == OP_NOT) return value_bool(!a->i);
    if (a->kind == V_FLOAT) return made_of(value_float(-a->f), a, NULL);
    return a->i == INT64_MIN ? overflow(f) : made_of(value_int(-a->i), a, NULL);
}

/* ---- containers ---- */

static const Value *outside(Frame *f, int64_t index, const Value *list)
{
    panic(f, "index %lld is outside a list of length %zu", (long long)index, list->len);
    return NULL;
}

const Value *list_at(Frame *f, const Value *list, const Value *index)
{
    bool inside = index->i >= 0 && (uint64_t)index->i < list->len;
    return inside ? list->items[index->i] : outside(f, index->i, list);
}

const Value *map_at(Frame *f, const Value *map, const Value *key)
{
    const Value *value = map_get(map, key);
    if (value) return value;
    if (key->kind == V_INT)
        panic(f, "key %lld is not in the map", (long long)key->i);
    else if (key->kind == V_CASE)
        panic(f, "key %s is not in the map", key->type->cases[key->case_index].name);
    else
        panic(f, "key \"%.80s\" is not in the map", key->text);
    return NULL;
}

static const Value *eval_index(Frame *f, const Expr *e)
{
    const Value *object = eval(f, e->left), *index = object ? eval(f, e->right) : NULL;
    if (!index) return NULL;
    if (object->kind == V_LIST) return list_at(f, object, index);
    if (object->kind == V_MAP) return map_at(f, object, index);
    size_t points = text_points(object->text, object->len);
    if (index->i >= 0 && (uint64_t)index->i < points)
        return made_of(text_slice(object, index->i, index->i + 1), object, NULL);
    panic(f, "index %lld is outside a string of length %zu", (long long)index->i, points);
    return NULL;
}

static const Value *eval_list(Frame *f, const Expr *e)
{
    size_t count = 0, at = 0;
    for (const Arg *arg = e->args; arg; arg = arg->next) count++;
    Value *list = value_items(V_LIST, count);
    for (const Arg *arg = e->args; arg; arg = arg->next)
        if (!(list->items[at++] = eval(f, arg->value))) return NULL;
    return list;
}

const Value **eval_args(Frame *f, const Expr *call)
{
    const Value **args = must_alloc((call->argc + 1) * sizeof *args);
    for (uint32_t i = 0; i < call->argc; i++)
        if (!(args[i] = call->argv[i] ? eval(f, call->argv[i]) : &value_null)) return NULL;
    if (call->kind == EX_CALL) look_at_places(f, call, args);
    return args;
}

static const Value *eval_record(Frame *f, const Expr *e)
{
    const Value **fields = eval_args(f, e);
    if (!fields) return NULL;
    Value *record = value_items(V_RECORD, e->argc);
    memcpy(record->items, fields, e->argc * sizeof *fields);
    record->type = e->type;
    record->line = f->line;
    return record;
}

static const Value *eval_case(Frame *f, const Expr *e)
{
    const Value **fields = e->kind == EX_CALL ? eval_args(f, e) : NULL;
    if (e->kind == EX_CALL && !fields) return NULL;
    Value *made = value_items(V_CASE, e->kind == EX_CALL ? e->argc : 0);
    if (made->len) memcpy(made->items, fields, made->len * sizeof *fields);
    made->type = e->type;
    made->case_index = e->case_index;
    return made;
}

static const Value *eval_map(Frame *f, const Expr *e)
{
    if (e->call == CALL_RECORD) return eval_record(f, e);
    size_t count = 0;
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) count++;
    Value *map = value_map(count);
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        const Value *key = eval(f, entry->key), *value = key ? eval(f, entry->value) : NULL;
        if (!value) return NULL;
        map_put(map, key, value);
    }
    return map;
}

/* ---- json literals ---- */

static bool json_text(Frame *f, Buf *out, const Expr *e);

static bool json_list(Frame *f, Buf *out, const Expr *e)
{
    buf_text(out, "[");
    for (const Arg *arg = e->args; arg; arg = arg->next) {
        buf_text(out, arg == e->args ? "" : ",");
        if (!json_text(f, out, arg->value)) return false;
    }
    buf_text(out, "]");
    return true;
}

/* Of two names that turn out equal the later one counts. */
static bool json_object(Frame *f, Buf *out, const Expr *e)
{
    size_t count = 0;
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) count++;
    Value *map = value_map(count);
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        Buf text = {0};
        const Value *key = eval(f, entry->key);
        f->json_outside |= is_outside(key);
        if (!key || !json_text(f, &text, entry->value)) return false;
        map_put(map, key, value_text(text.data, text.len));
    }
    buf_text(out, "{");
    for (size_t i = 0; i < map->len; i++) {
        buf_text(out, i ? "," : "");
        quote_text(out, map->keys[i]->text, map->keys[i]->len);
        buf_text(out, ":");
        buf_add(out, map->items[i]->text, map->items[i]->len);
    }
    buf_text(out, "}");
    return true;
}

static bool json_text(Frame *f, Buf *out, const Expr *e)
{
    if (e->kind == EX_MAP) return json_object(f, out, e);
    if (e->kind == EX_LIST) return json_list(f, out, e);
    const Value *value = e->kind == EX_NULL ? &value_null : eval(f, e);
    if (value) value_json(out, e->to, value);
    f->json_outside |= is_outside(value);
    return value != NULL;
}

static const Value *eval_json(Frame *f, const Expr *e)
{
    Buf text = {0};
    const bool outer = f->json_outside;
    f->json_outside = false;
    const Value *made = json_text(f, &text, e->left) ? json_parse(text.data, text.len) : NULL; /* its one text */
    if (f->json_outside) made = from_outside(made);
    f->json_outside = outer;
    return made;
}

/* ---- strings ---- */

static const Value *eval_string(Frame *f, const Expr *e)
{
    bool outside = false;
    Buf text = {0};
    for (const Expr *part = e->parts; part; part = part->next) {
        if (part->kind == EX_TEXT) {
            buf_add(&text, part->text, part->text_len);
            continue;
        }
        const Value *value = eval(f, part);
        if (!value) return NULL;
        value_print(&text, part->to, value);
        outside |= is_outside(value);
    }
    const Value *made = value_text(text.data, text.len);
    return outside ? from_outside(made) : made;
}

/* ---- the rest ---- */

static const Value *eval_name(Frame *f, const Expr *e)
{
    if (e->variable) return f->vars[e->variable->id];
    return eval(f, e->decl->value);
}

static const Value *eval_field(Frame *f, const Expr *e)
{
    if (e->call == CALL_CASE) return eval_case(f, e);
    if (e->decl) return eval(f, e->decl->value); /* a module's constant */
    const Value *object = eval(f, e->left);
    if (object && e->optional && object->kind == V_NULL) return object;
    return object ? object->items[e->field_index] : NULL;
}

static const Value *eval_fn_call(Frame *f, const Expr *e)
{
    const Value **args = eval_args(f, e);
    return args ? call_fn(f, e->decl, args) : NULL;
}

/* left?.name(…): the hidden variable holds left while the call is evaluated. */
static const Value *eval_optional_method(Frame *f, const Expr *e)
{
    const Value *left = eval(f, e->left->left);
    if (!left || left->kind == V_NULL) return left;
    f->vars[e->left->variable->id] = left;
    Expr plain = *e;
    plain.type = plain.to = e->left->type;
    return eval_method(f, &plain);
}

static const Value *eval_call(Frame *f, const Expr *e)
{
    if (e->call == CALL_METHOD && e->left->optional) return eval_optional_method(f, e);
    switch (e->call) {
    case CALL_FN: return eval_fn_call(f, e);
    case CALL_RECORD: return eval_record(f, e);
    case CALL_CASE: return eval_case(f, e);
    case CALL_METHOD: return eval_method(f, e);
    case CALL_BUILTIN: return effect_now(f, e);
    case CALL_TRUST: return from_inside(eval(f, e->argv[0]));
    case CALL_CALLS:
    case CALL_OUTPUT: return eval_test_call(f, e);
    default: fprintf(stderr, "interp: a call of kind %d\n", (int)e->call); exit(70);
    }
}

static const Value *eval_if(Frame *f, const Expr *e)
{
    const Value *cond = eval(f, e->cond);
    return cond ? eval(f, cond->i ? e->left : e->right) : NULL;
}

static const Value *eval_raw(Frame *f, const Expr *e)
{
    switch (e->kind) {
    case EX_NULL: return &value_null;
    case EX_BOOL: return value_bool(e->int_value);
    case EX_INT:
    case EX_DURATION: return value_int(e->int_value);
    case EX_FLOAT: return value_float(e->float_value);
    case EX_STRING: return eval_string(f, e);
    case EX_TEXT: return value_text(e->text, e->text_len);
    case EX_NAME: return eval_name(f, e);
    case EX_FIELD: return eval_field(f, e);
    case EX_INDEX: return eval_index(f, e);
    case EX_CALL: return eval_call(f, e);
    case EX_BINARY: return eval_binary(f, e);
    case EX_UNARY: return eval_unary(f, e);
    case EX_LIST: return eval_list(f, e);
    case EX_MAP: return eval_map(f, e);
    case EX_JSON: return eval_json(f, e);
    case EX_IF: return eval_if(f, e);
    case EX_PAREN: return eval(f, e->left);
    default: fprintf(stderr, "interp: an expression of kind %d\n", (int)e->kind); exit(70);
    }
}

/* An int literal where a float is wanted is that float. */
static const Value *convert(const Value *value, const Type *to)
{
    if (!value || !to || value->kind != V_INT) return value;
    if (to->kind == TYPE_OPTIONAL) to = to->elem;
    return to->kind == TYPE_FLOAT ? value_float((double)value->i) : value;
}

const Value *eval(Frame *f, const Expr *e)
{
    return convert(eval_raw(f, e), e->to);
}

const Value *eval_root(Frame *f, const Expr *e)
{
    const Expr *bare = strip(e);
    if (bare->kind == EX_YIELD) return convert(eval_yield(f, bare), e->to);
    if (bare->kind == EX_SPAWN) return eval_spawn(f, bare);
    if (bare->kind == EX_PARALLEL) return eval_parallel(f, bare);
    if (bare->kind == EX_PARALLEL_FOR) return eval_parallel_for(f, bare);
    if (bare->kind == EX_RACE) return eval_race(f, bare);
    return eval(f, e);
}

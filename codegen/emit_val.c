/* emit_val.c: values as C expressions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

const char *emit_ctype(Rep rep)
{
    static const char *const types[REP_COUNT] = {
        [REP_NONE] = "void ",   [REP_INT] = "int64_t ",   [REP_FLOAT] = "double ",   [REP_BOOL] = "bool ",
        [REP_OBJ] = "TfyObj *", [REP_WORD] = "TfyValue ", [REP_PLACE] = "TfyValue *"};
    return types[rep];
}

const char *emit_member(Rep rep)
{
    static const char *const members[REP_COUNT] = {
        [REP_NONE] = "", [REP_INT] = "i", [REP_FLOAT] = "f", [REP_BOOL] = "b",
        [REP_OBJ] = "o", [REP_WORD] = "", [REP_PLACE] = ""};
    return members[rep];
}

const char *emit_maker(Rep rep)
{
    static const char *const makers[REP_COUNT] = {[REP_INT] = "tfy_of_int(",
                                                  [REP_FLOAT] = "tfy_of_float(",
                                                  [REP_BOOL] = "tfy_of_bool(",
                                                  [REP_OBJ] = "tfy_of_obj("};
    CHECK(makers[rep]); /* a value that is nothing, or already a word, is not converted */
    return makers[rep];
}

/* ---- types ---- */

static const char *core_name(const Machine *machine, const Type *type)
{
    const CoreTypes *core = &machine->program->core;
    if (type->core) return type->core;
    if (type->kind == TYPE_LIST && type->elem == core->string) return "list_string";
    if (type->kind == TYPE_OPTIONAL && type->elem == core->string) return "optional_string";
    if (type->kind == TYPE_MAP && type->key == core->string && type->elem == core->string) return "map_string_string";
    return NULL;
}

void emit_type(Emit *e, Text *out, const Type *type)
{
    const char *core = core_name(e->machine, type);
    if (core) {
        text_format(out, "&tfy_type_%s", core);
        return;
    }
    CHECK(type->id < e->machine->program->type_count);
    e->needed[type->id] = true;
    if (type->decl)
        text_format(out, "&tfyg_type_%s", type->decl->c_name);
    else
        text_format(out, "&tfyg_type_%u", type->id);
}

/* ---- variables ---- */

/* Notes that the function under way must declare it. */
static void mention(Emit *e, Var *var)
{
    if (var->kind == VAR_TEMP) {
        if (var->id > e->temps[var->rep]) e->temps[var->rep] = var->id;
        return;
    }
    if (var->seen == e->stamp || var->slot >= 0 || var->kind == VAR_PARAM) return;
    var->seen = e->stamp;
    if (e->local_count == e->local_cap)
        e->locals = arena_grow(e->arena, e->locals, &e->local_cap, e->local_count + 1, sizeof *e->locals);
    e->locals[e->local_count++] = var;
}

void emit_var(Emit *e, Text *out, Var *var)
{
    mention(e, var);
    if (var->kind == VAR_PARAM && e->routine->kind == ROUTINE_HOOK)
        text_format(out, "A[%u].%s", var->id, emit_member(var->rep));
    else if (var->slot >= 0)
        text_format(out, "F->%s", var->name);
    else
        text_put(out, var->name);
}

static void emit_read(Emit *e, Text *out, const Val *val)
{
    Var *var = val->var;
    emit_var(e, out, var);
    if (var->rep == REP_WORD && val->rep != REP_WORD) text_format(out, ".%s", emit_member(val->rep));
    if (var->rep == REP_PLACE && val->rep != REP_PLACE) text_format(out, "->%s", emit_member(val->rep));
}

static void emit_place(Emit *e, Text *out, const Val *val)
{
    text_put(out, "&");
    emit_var(e, out, val->var);
    if (val->var->rep == REP_PLACE) text_put(out, "->o");
}

/* ---- literals ---- */

/* The shortest text that reads back as the same number. */
static void emit_float(Text *out, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    text_put(out, text);
    if (!strpbrk(text, ".e")) text_put(out, ".0");
}

/* ---- calls and arrays ---- */

static void emit_args(Emit *e, Text *out, Val *const *args, uint32_t argc, const char *before)
{
    for (uint32_t i = 0; i < argc; i++) {
        text_put(out, i ? ", " : before);
        emit_val(e, out, args[i]);
    }
}

static void emit_call(Emit *e, Text *out, const Val *val)
{
    text_format(out, "%s(%s", val->func->name, val->func->task ? "t" : "");
    emit_args(e, out, val->args, val->argc, val->func->task ? ", " : "");
    text_put(out, ")");
    if (val->func->result == REP_WORD && val->rep != REP_WORD) text_format(out, ".%s", emit_member(val->rep));
}

static void emit_word_item(Emit *e, Text *out, const Val *val)
{
    if (val->rep == REP_WORD) {
        emit_val(e, out, val);
        return;
    }
    if (val->kind == VAL_VAR && val->var->rep == REP_WORD) {
        emit_var(e, out, val->var);
        return;
    }
    bool whole = val->rep == REP_BOOL; /* all eight bytes must be defined */
    text_put(out, whole ? "tfy_of_bool(" : "");
    if (!whole) text_format(out, "{.%s = ", emit_member(val->rep));
    emit_val(e, out, val);
    text_put(out, whole ? ")" : "}");
}

static void emit_array(Emit *e, Text *out, const Val *val)
{
    if (!val->argc) {
        text_put(out, "NULL");
        return;
    }
    text_put(out, val->rep == REP_OBJ ? "(TfyObj *[]){" : "(TfyValue[]){");
    for (uint32_t i = 0; i < val->argc; i++) {
        if (i) text_put(out, ", ");
        if (val->rep == REP_OBJ)
            emit_val(e, out, val->args[i]);
        else
            emit_word_item(e, out, val->args[i]);
    }
    text_put(out, "}");
}

static void emit_word(Emit *e, Text *out, const Val *val)
{
    text_put(out, emit_maker(val->a->rep));
    emit_val(e, out, val->a);
    text_put(out, ")");
}

/* ---- operators ---- */

static const char *c_operator(Op op)
{
    static const char *const texts[] = {
        [OP_EQ] = "==", [OP_NE] = "!=", [OP_LT] = "<", [OP_LE] = "<=", [OP_GT] = ">", [OP_GE] = ">="};
    CHECK(op >= OP_EQ && op <= OP_GE);
    return texts[op];
}

static bool is_operator(const Val *val)
{
    switch (val->kind) {
    case VAL_AND:
    case VAL_OR:
    case VAL_CMP:
    case VAL_NEXT:
    case VAL_COND:
    case VAL_IS: return true;
    default: return false;
    }
}

void emit_operand(Emit *e, Text *out, const Val *val)
{
    bool negative =
        (val->kind == VAL_INT && val->i < 0) || (val->kind == VAL_FLOAT && val->f < 0) || val->kind == VAL_NEG;
    bool wrap = is_operator(val) || negative;
    if (wrap) text_put(out, "(");
    emit_val(e, out, val);
    if (wrap) text_put(out, ")");
}

static void emit_infix(Emit *e, Text *out, const Val *val, const char *op)
{
    emit_operand(e, out, val->a);
    text_format(out, " %s ", op);
    emit_operand(e, out, val->b);
}

/* Comparisons bind tighter than && and ||, and chains of one of them need no parentheses. */
static void emit_logic_side(Emit *e, Text *out, const Val *val, ValKind kind)
{
    if (val->kind == VAL_CMP || val->kind == VAL_IS || val->kind == kind)
        emit_val(e, out, val);
    else
        emit_operand(e, out, val);
}

static void emit_logic(Emit *e, Text *out, const Val *val)
{
    emit_logic_side(e, out, val->a, val->kind);
    text_put(out, val->kind == VAL_AND ? " && " : " || ");
    emit_logic_side(e, out, val->b, val->kind);
}

static void emit_choice(Emit *e, Text *out, const Val *val)
{
    emit_operand(e, out, val->a);
    text_put(out, " ? ");
    emit_operand(e, out, val->b);
    text_put(out, " : ");
    emit_operand(e, out, val->c);
}

static void emit_prefix(Emit *e, Text *out, const char *prefix, const Val *val)
{
    text_put(out, prefix);
    emit_operand(e, out, val->a);
}

void emit_not(Emit *e, Text *out, const Val *val)
{
    static const Op opposite[] = {
        [OP_EQ] = OP_NE, [OP_NE] = OP_EQ, [OP_LT] = OP_GE, [OP_LE] = OP_GT, [OP_GT] = OP_LE, [OP_GE] = OP_LT};
    if (val->kind == VAL_NOT) {
        emit_val(e, out, val->a);
    } else if (val->kind == VAL_CMP) { /* floats too: there is no NaN */
        Val other = *val;
        other.op = opposite[val->op];
        emit_val(e, out, &other);
    } else {
        text_put(out, "!");
        emit_operand(e, out, val);
    }
}

/* ---- dispatch ---- */

void emit_val(Emit *e, Text *out, const Val *val)
{
    switch (val->kind) {
    case VAL_VAR: emit_read(e, out, val); return;
    case VAL_INT: text_int(out, val->i); return;
    case VAL_FLOAT: emit_float(out, val->f); return;
    case VAL_BOOL: text_put(out, val->i ? "true" : "false"); return;
    case VAL_NULL: text_put(out, "NULL"); return;
    case VAL_STRING: text_format(out, "S(%u)", val->index); return;
    case VAL_CASE:
        CHECK(!val->type->cases[val->index].field_count);
        e->needed[val->type->id] = true;
        text_format(out, "CASE(%u, %s)", val->type->id, val->type->cases[val->index].name);
        return;
    case VAL_TYPE: emit_type(e, out, val->type); return;
    case VAL_POINT:
        CHECK(val->point->number);
        text_format(out, "&tfyg_p%u", val->point->number);
        return;
    case VAL_FLOW: text_format(out, "&tfyg_wf_%s", val->routine ? val->routine->name : val->decl->c_name); return;
    case VAL_TOOL:
        if (val->decl)
            text_format(out, "&tfyg_tool_%s", val->decl->c_name);
        else
            text_format(out, "&tfy_effect_%s", val->text);
        return;
    case VAL_CTEXT: text_quote_c(out, val->text, strlen(val->text)); return;
    case VAL_FIELD:
        text_put(out, "tfy_field(");
        emit_val(e, out, val->a);
        text_format(out, ", %u).%s", val->index, emit_member(val->rep));
        return;
    case VAL_UNBOX:
        text_put(out, "tfy_unbox(");
        emit_val(e, out, val->a);
        text_format(out, ").%s", emit_member(val->rep));
        return;
    case VAL_TAG:
        text_put(out, "tfy_tag(");
        emit_val(e, out, val->a);
        text_put(out, ")");
        return;
    case VAL_IS:
        emit_operand(e, out, val->a);
        text_put(out, "->type == ");
        emit_type(e, out, val->type);
        return;
    case VAL_CALL: emit_call(e, out, val); return;
    case VAL_NOT: emit_prefix(e, out, "!", val); return;
    case VAL_NEG: emit_prefix(e, out, "-", val); return;
    case VAL_FLOAT_OF: emit_prefix(e, out, "(double)", val); return;
    case VAL_AND:
    case VAL_OR: emit_logic(e, out, val); return;
    case VAL_CMP: emit_infix(e, out, val, c_operator(val->op)); return;
    case VAL_NEXT:
        emit_operand(e, out, val->a);
        text_put(out, " + 1");
        return;
    case VAL_COND: emit_choice(e, out, val); return;
    case VAL_WORD: emit_word(e, out, val); return;
    case VAL_PLACE: emit_place(e, out, val); return;
    case VAL_ARRAY: emit_array(e, out, val); return;
    }
}

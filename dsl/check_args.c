/* check_args.c: arguments go to slots, by place or by name; defaults fill what is left. An argument can be an inline
 * function, which is checked here with the element it is given. */
#include "check_args.h"

void slots_init(Check *c, Slots *slots, const char *owner, const char *noun, uint32_t count)
{
    *slots = (Slots){.owner = owner, .noun = noun, .count = count};
    slots->items = arena_alloc(c->arena, (count + 1) * sizeof(Slot));
}

void slots_of_params(Check *c, Slots *slots, const Decl *decl)
{
    uint32_t i = 0;
    slots_init(c, slots, decl->name.text, "parameter", decl->param_count);
    for (const Field *f = decl->params; f; f = f->next) {
        const Type *type = f->type ? f->type : c->core->bad;
        slots->items[i++] = (Slot){.name = f->name.text, .type = type, .value = f->value, .span = f->name.span};
    }
    CHECK(i == slots->count);
}

void slots_of_fields(Check *c, Slots *slots, const char *owner, const TypeField *fields, uint32_t count)
{
    slots_init(c, slots, owner, "field", count);
    for (uint32_t i = 0; i < count; i++) {
        slots->items[i] =
            (Slot){.name = fields[i].name, .type = fields[i].type, .value = fields[i].value, .span = fields[i].span};
    }
}

void slots_of_builtin(Check *c, Slots *slots, const Builtin *builtin, const Type *receiver)
{
    slots_init(c, slots, builtin->name, "parameter", builtin->param_count);
    for (uint32_t i = 0; i < builtin->param_count; i++) {
        const BuiltinParam *p = &builtin->params[i];
        slots->items[i] = (Slot){.name = p->name, .optional = p->optional};
        slots->items[i].folds = p->type[0] == '(';
        slots->items[i].infers = strcmp(p->type, "U") == 0;
        slots->items[i].type =
            type_of_notation(c, slots->items[i].folds ? strchr(p->type, ' ') + 1 : p->type, receiver);
        const char *arrow = strstr(p->type, "=> ");
        slots->items[i].gives = arrow ? arrow + 3 : NULL;
    }
}

/* ---- binding arguments ---- */

static int find_slot(const Slots *slots, const char *name)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        if (check_same_name(slots->items[i].name, name)) return (int)i;
    }
    return -1;
}

static void report_unknown_slot(Check *c, const Slots *slots, const Arg *arg)
{
    const char **names = arena_alloc(c->arena, (slots->count + 1) * sizeof *names);
    for (uint32_t i = 0; i < slots->count; i++) names[i] = slots->items[i].name;
    const char *near = diag_nearest(arg->name.text, strlen(arg->name.text), names, slots->count);
    if (near)
        diag_replace(diag_error(c->diags, arg->name.span, "no %s '%s' in %s; did you mean '%s'?", slots->noun,
                                arg->name.text, slots->owner, near),
                     near);
    else
        diag_error(c->diags, arg->name.span, "no %s '%s' in %s", slots->noun, arg->name.text, slots->owner);
}

typedef struct Binder {
    const Slots *slots;
    Expr **argv; /* the part of the call's argv that belongs to the slots */
    uint32_t at; /* next positional slot */
    bool named_seen;
    bool reported; /* one report about the form of the arguments is enough */
} Binder;

static void report_form(Check *c, Binder *b, const Arg *arg)
{
    const Slots *slots = b->slots;
    if (b->reported) return;
    b->reported = true;
    if (b->named_seen) {
        diag_error(c->diags, arg->value->span, "an argument without a name cannot follow a named one");
    } else if (slots->rule == SLOTS_NAMED_ONLY && slots->count) {
        Diag *diag = diag_error(c->diags, arg->value->span, "a record is built by name");
        diag_hint(c->diags, diag, "write %s(%s: …)", slots->owner, slots->items[0].name);
    } else if (slots->rule == SLOTS_ERROR && b->at == 1) {
        Diag *diag = diag_error(c->diags, arg->value->span, "only an error's message is given without a name");
        if (slots->count > 1) diag_hint(c->diags, diag, "write %s: …", slots->items[1].name);
    } else {
        diag_error(c->diags, arg->value->span, "too many arguments: %s takes %u", slots->owner, slots->count);
    }
}

/* The slot an argument goes to, or -1 after a report. */
static int place_arg(Check *c, Binder *b, const Arg *arg)
{
    const Slots *slots = b->slots;
    if (arg->name.text) {
        b->named_seen = true;
        int slot = find_slot(slots, arg->name.text);
        if (slot < 0) report_unknown_slot(c, slots, arg);
        return slot;
    }
    uint32_t limit = slots->rule == SLOTS_FREE ? slots->count : slots->rule == SLOTS_ERROR ? 1 : 0;
    if (b->named_seen || b->at >= limit) {
        report_form(c, b, arg);
        return -1;
    }
    return (int)b->at++;
}

/* ---- inline functions ---- */

static const Type *refuse_inline(Check *c, const Expr *body, const char *needs)
{
    diag_error(c->diags, body->span, "this inline function must give %s, not %s", needs, body->type->name);
    return c->core->bad;
}

/* The type of what an inline function gives. */
static const Type *inline_body(Check *c, Expr *body, const char *gives)
{
    const CoreTypes *core = c->core;
    if (strcmp(gives, "bool") == 0) return check_expr_to(c, body, core->boolean, (Why){0}) ? core->boolean : core->bad;
    const Type *type = check_expr(c, body, NULL);
    if (type->kind == TYPE_BAD) return type;
    if (type->kind == TYPE_NULL) return refuse_inline(c, body, "a value whose type is known");
    if (strcmp(gives, "ordered") == 0 && !type_is_ordered(type))
        return refuse_inline(c, body, "int, float, string, time or duration");
    if (strcmp(gives, "key") == 0 && !type_is_key(type))
        return refuse_inline(c, body, "string, int or an enum without values");
    return body->to;
}

/* What came before and an element give what comes next, which has the type of the initial value. */
static const Type *fold_body(Check *c, Expr *body, const Type *before)
{
    return check_expr_to(c, body, before, (Why){0}) ? before : c->core->bad;
}

/* x => body, where x is an element, or (before, x) => body. It may use everything around it, changes nothing and takes
 * no steps. */
static void check_inline(Check *c, Expr *e, const Slot *slot)
{
    const Facts *before = c->facts;
    const Type *element = slot->type, *folded = c->inline_type;
    uint32_t scope = check_scope_enter(c);
    e->variable = check_add_parameter(c, e->name, slot->folds ? folded : element);
    if (slot->folds) e->variable2 = check_add_parameter(c, e->var2, element);
    c->body->inline_depth++;
    c->inline_type = slot->folds ? fold_body(c, e->left, folded) : inline_body(c, e->left, slot->gives);
    c->body->inline_depth--;
    check_scope_leave(c, scope);
    c->facts = before;
    e->type = c->inline_type;
    e->to = type_list(c, strcmp(slot->gives, "bool") == 0 ? element : e->type);
}

static bool check_inline_params(Check *c, const Slots *slots, const Slot *slot, Expr *e)
{
    Diag *diag;
    if (slot->folds == (e->var2.text != NULL)) return true;
    if (slot->folds) {
        diag = diag_error(c->diags, e->name.span, "%s takes an inline function of two parameters", slots->owner);
        diag_hint(c->diags, diag, "as in %s(0, (sum, x) => sum + x)", slots->owner);
    } else {
        diag = diag_error(c->diags, e->var2.span, "%s takes an inline function of one parameter", slots->owner);
        diag_hint(c->diags, diag, "as in %s(%s => …)", slots->owner, e->name.text);
    }
    return false;
}

static bool report_no_initial(Check *c, Expr *e)
{
    Diag *diag = diag_error(c->diags, e->span, "fold begins with an initial value");
    diag_hint(c->diags, diag, "as in fold(0, (sum, x) => sum + x)");
    e->type = e->to = c->core->bad;
    return true;
}

/* `{}`, `[]`, null and 0 for a float get their type from the surroundings; everything else has its own type. */
static void bind_initial(Check *c, const Slot *slot, Expr *e)
{
    const Type *want = slot->type, *type = check_expr(c, e, want);
    bool literal = type->kind == TYPE_NULL || (type->kind == TYPE_INT && want && type_strip(want)->kind == TYPE_FLOAT);
    if (literal && want && check_coerce(c, e, type->kind == TYPE_NULL ? want : type_strip(want))) type = e->to;
    if (type->kind == TYPE_NULL) {
        Diag *diag = diag_error(c->diags, e->span, "the type of the initial value is not known");
        diag_hint(c->diags, diag, "annotate the result: let name: T? = …");
        type = e->type = e->to = c->core->bad;
    }
    c->inline_type = type;
}

static void bind_inline(Check *c, const Slots *slots, const Slot *slot, Expr *e)
{
    if (!slot->folds) c->inline_type = c->core->bad;
    if (e->kind == EX_LAMBDA) {
        if (check_inline_params(c, slots, slot, e)) {
            check_inline(c, e, slot);
            return;
        }
        c->inline_type = e->type = e->to = c->core->bad;
        return;
    }
    Diag *diag = diag_error(c->diags, e->span, "%s takes an inline function", slots->owner);
    const char *form = slot->folds ? "(sum, x) => %s(sum, x)" : "x => %s(x)";
    if (e->kind == EX_NAME) {
        const char *wanted = arena_printf(c->arena, form, e->name.text);
        diag_hint(c->diags, diag, "write %s", wanted);
        diag_replace(diag, wanted);
    } else {
        diag_hint(c->diags, diag, slot->folds ? "as in %s(0, (sum, x) => sum + x)" : "as in %s(x => …)", slots->owner);
    }
    c->inline_type = c->core->bad;
    e->type = e->to = c->core->bad;
}

static void bind_arg(Check *c, Binder *b, Arg *arg)
{
    int at = place_arg(c, b, arg);
    if (at < 0) {
        if (arg->value->kind != EX_LAMBDA) check_expr(c, arg->value, NULL);
        b->reported = true;
        return;
    }
    CHECK((uint32_t)at < b->slots->count);
    const Slot *slot = &b->slots->items[at];
    if (b->argv[at]) {
        Diag *diag =
            diag_error(c->diags, arg->name.text ? arg->name.span : arg->value->span, "'%s' is given twice", slot->name);
        diag_other(c->diags, diag, b->argv[at]->span, "first given here");
        check_expr(c, arg->value, slot->type);
        return;
    }
    b->argv[at] = arg->value;
    if (slot->later) return;
    if (slot->infers && arg->value->kind == EX_LAMBDA)
        b->reported = report_no_initial(c, arg->value);
    else if (slot->infers)
        bind_initial(c, slot, arg->value);
    else if (slot->gives)
        bind_inline(c, b->slots, slot, arg->value);
    else
        check_expr_to(c, arg->value, slot->type, (Why){slot->span.len ? "declared here" : NULL, slot->span});
}

static void fill_defaults(Check *c, Binder *b, Span close)
{
    for (uint32_t i = 0; i < b->slots->count; i++) {
        const Slot *slot = &b->slots->items[i];
        if (b->argv[i] || slot->optional) continue;
        if (slot->value) {
            b->argv[i] = (Expr *)slot->value;
        } else if (!b->reported) {
            Diag *diag =
                diag_error(c->diags, close, "%s '%s' of %s is missing", b->slots->noun, slot->name, b->slots->owner);
            if (slot->span.len) diag_other(c->diags, diag, slot->span, "declared here");
            b->reported = true;
        }
    }
}

void slots_bind(Check *c, Expr *e, const Slots *slots, uint32_t first)
{
    e->argc = slots->count + first;
    e->argv = arena_alloc(c->arena, (e->argc + 1) * sizeof *e->argv);
    Binder binder = {.slots = slots, .argv = e->argv + first};
    for (Arg *arg = e->args; arg; arg = arg->next) bind_arg(c, &binder, arg);
    fill_defaults(c, &binder, e->span);
}

/* ---- http's limits ---- */

/* of limit and of a rate's count, as for tools */
enum { HTTP_LIMIT_MAX = 1000000 };

static bool counts(const Expr *e)
{
    return e->kind == EX_INT && e->int_value >= 1 && e->int_value <= HTTP_LIMIT_MAX;
}

static void settle_type(Expr *e, const Type *type)
{
    e->type = e->to = type;
}

static void check_limit(Check *c, Expr *e)
{
    settle_type(e, c->core->integer);
    if (!counts(e)) diag_error(c->diags, e->span, "'limit' is a number from 1 to %d, written here", HTTP_LIMIT_MAX);
}

/* N/D: for the parser a division. */
static void check_rate(Check *c, Expr *e)
{
    const bool divides = e->kind == EX_BINARY && e->op == OP_DIV;
    settle_type(e, c->core->bad);
    if (divides) settle_type(e->left, c->core->integer);
    if (divides) settle_type(e->right, c->core->duration);
    if (divides && counts(e->left) && e->right->kind == EX_DURATION && e->right->int_value >= 1) return;
    Diag *diag = diag_error(c->diags, e->span, "'rate' is a number and a time, written here, such as 10/1s");
    if (divides && e->left->kind == EX_INT && e->right->kind == EX_DURATION)
        diag_hint(c->diags, diag, "the number is from 1 to %d, and the time at least 1ms", HTTP_LIMIT_MAX);
}

void slots_bind_http(Check *c, Expr *e, const Builtin *builtin)
{
    Slots slots, all;
    const uint32_t count = builtin->param_count;
    slots_of_builtin(c, &slots, builtin, NULL);
    slots_init(c, &all, builtin->name, "parameter", count + 2);
    memcpy(all.items, slots.items, count * sizeof *all.items);
    all.items[count] = (Slot){.name = "limit", .type = c->core->bad, .optional = true, .later = true};
    all.items[count + 1] = (Slot){.name = "rate", .type = c->core->bad, .optional = true, .later = true};
    slots_bind(c, e, &all, 0);
    if (e->argv[count]) check_limit(c, e->argv[count]);
    if (e->argv[count + 1]) check_rate(c, e->argv[count + 1]);
    e->argc = count;
}

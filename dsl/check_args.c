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
        slots->items[i++] = (Slot){f->name.text, type, f->value, false, f->name.span, NULL};
    }
    CHECK(i == slots->count);
}

void slots_of_fields(Check *c, Slots *slots, const char *owner, const TypeField *fields, uint32_t count)
{
    slots_init(c, slots, owner, "field", count);
    for (uint32_t i = 0; i < count; i++) {
        slots->items[i] = (Slot){fields[i].name, fields[i].type, fields[i].value, false, fields[i].span, NULL};
    }
}

void slots_of_builtin(Check *c, Slots *slots, const Builtin *builtin, const Type *receiver)
{
    slots_init(c, slots, builtin->name, "parameter", builtin->param_count);
    for (uint32_t i = 0; i < builtin->param_count; i++) {
        const BuiltinParam *p = &builtin->params[i];
        slots->items[i] = (Slot){.name = p->name, .optional = p->optional};
        slots->items[i].type = type_of_notation(c, p->type, receiver);
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

/* x => body, where x is an element. It may use everything around it, changes nothing and takes no steps. */
static void check_inline(Check *c, Expr *e, const Type *element, const char *gives)
{
    const Facts *before = c->facts;
    uint32_t scope = check_scope_enter(c);
    e->variable = check_add_variable(c, e->name, element, false);
    c->body->inline_depth++;
    c->inline_type = inline_body(c, e->left, gives);
    c->body->inline_depth--;
    check_scope_leave(c, scope);
    c->facts = before;
    e->type = c->inline_type;
    e->to = type_list(c, strcmp(gives, "bool") == 0 ? element : e->type);
}

static void bind_inline(Check *c, const Slots *slots, const Slot *slot, Expr *e)
{
    c->inline_type = c->core->bad;
    if (e->kind == EX_LAMBDA) {
        check_inline(c, e, slot->type, slot->gives);
        return;
    }
    Diag *diag = diag_error(c->diags, e->span, "%s takes an inline function", slots->owner);
    if (e->kind == EX_NAME) {
        diag_hint(c->diags, diag, "write x => %s(x)", e->name.text);
        diag_replace(diag, arena_printf(c->arena, "x => %s(x)", e->name.text));
    } else {
        diag_hint(c->diags, diag, "as in %s(x => …)", slots->owner);
    }
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
    if (slot->gives)
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

/* check_generic.c: fns with type parameters, and fns that take functions.
 *
 * Such a fn is a template. It is checked once with open types, which fit everything, so that mistakes which depend on
 * no type are told where they are. Each call infers what its type parameters are from the arguments, left to right;
 * an argument whose type its surroundings decide ([], null, 3 for a float, an inline function) waits for the others.
 * The template is then copied for these types and functions, at most once for each set of them, and the copy is
 * checked and compiled like any other fn: there are no boxes, and a function that is given costs a call. What is wrong
 * in a copy is told once, at its place, with what the types are.
 *
 * An inline function becomes a fn of its own. What it uses from around it are its last parameters: the copy takes them
 * along as parameters of its own, and passes them on wherever it calls the function. */
#include "ast_copy.h"
#include "check_args.h"

enum {
    DEPTH_MAX = 50,    /* copies that ask for copies */
    COPIES_MAX = 5000, /* in one program */
    NAME_SHOWN_MAX = 60,
};

/* A function that a copy was given. */
typedef struct Given {
    Name name; /* of the parameter */
    const TypeExpr *written;
    Function function;
    uint32_t held_at; /* of the copy's parameters, the first one that is held for it */
    struct Given *next;
} Given;

struct Generic {
    TypeBinding *bindings;
    Given *given;
    Span call; /* the first one it was made for */
};

/* ---- templates ---- */

static bool is_function(const Field *f)
{
    return f->type_expr && f->type_expr->kind == TYX_FUNCTION;
}

static TypeBinding *binding_named(TypeBinding *bindings, const TypeExpr *written)
{
    if (written->kind != TYX_NAME || written->qualifier.text || !written->name.text) return NULL;
    for (TypeBinding *b = bindings; b; b = b->next)
        if (check_same_name(b->name.text, written->name.text)) return b;
    return NULL;
}

const Type *generic_bound(const Check *c, const TypeExpr *written)
{
    const TypeBinding *b = binding_named(c->bindings, written);
    return !b ? NULL : b->type ? b->type : c->core->bad;
}

/* Does a type have the name in it? */
static bool mentions(const TypeExpr *written, const char *name)
{
    if (!written) return false;
    if (written->kind == TYX_NAME) return !written->qualifier.text && check_same_name(written->name.text, name);
    for (const TypeExpr *arg = written->args; arg; arg = arg->next)
        if (mentions(arg, name)) return true;
    return mentions(written->result, name);
}

static void check_type_param(Check *c, const Decl *decl, const Binding *param)
{
    const char *name = param->name.text;
    for (const Binding *before = decl->type_params; before != param; before = before->next) {
        if (!check_same_name(before->name.text, name)) continue;
        Diag *diag = diag_error(c->diags, param->name.span, "'%s' is declared twice", name);
        diag_other(c->diags, diag, before->name.span, "first declared here");
        return;
    }
    const Decl *taken = check_find_decl(c, name);
    if (taken && (taken->kind == DECL_TYPE || taken->kind == DECL_ENUM || taken->kind == DECL_ERROR)) {
        Diag *diag =
            diag_error(c->diags, param->name.span, "'%s' is already the name of %s", name, decl_kind_word(taken->kind));
        diag_other(c->diags, diag, taken->name.span, "declared here");
        return;
    }
    if (type_core_named(c, name)) {
        diag_error(c->diags, param->name.span, "'%s' is built in; choose another name", name);
        return;
    }
    for (const Field *f = decl->params; f; f = f->next)
        if (mentions(f->type_expr, name)) return;
    Diag *diag = diag_error(c->diags, param->name.span, "no argument can say what '%s' is", name);
    diag_hint(c->diags, diag, "use it in the type of a parameter");
}

/* Defaults are values of one type, and no function is a value. */
static void check_no_default(Check *c, const Decl *decl, Field *f)
{
    bool open = is_function(f);
    for (const Binding *p = decl->type_params; p; p = p->next) open |= mentions(f->type_expr, p->name.text);
    if (!open || !f->value) return;
    diag_error(c->diags, f->value->span, "'%s' takes no default: its type is known only where '%s' is called",
               f->name.text, decl->name.text);
    f->value = NULL;
}

TypeBinding *generic_open(Check *c, Decl *decl)
{
    LIST(TypeBinding) bindings = {0};
    for (const Binding *p = decl->type_params; p; p = p->next) {
        TypeBinding *b = arena_new(c->arena, TypeBinding);
        *b = (TypeBinding){.name = p->name, .type = type_open(c, p->name.text)};
        LIST_APPEND(&bindings, b, next);
        check_type_param(c, decl, p);
    }
    decl->generic = decl->type_params != NULL;
    for (Field *f = decl->params; f; f = f->next) {
        decl->generic |= is_function(f);
        check_no_default(c, decl, f);
    }
    return bindings.first;
}

void generic_keep_open(Check *c, Decl *decl, TypeBinding *bindings)
{
    if (!decl->generic) return;
    decl->parts = arena_new(c->arena, Generic);
    decl->parts->bindings = bindings;
}

TypeBinding *generic_bindings(const Decl *decl)
{
    return decl->parts ? decl->parts->bindings : NULL;
}

const Type *generic_function_type(Check *c, const TypeExpr *written)
{
    const char *text = "fn(";
    for (const TypeExpr *arg = written->args; arg; arg = arg->next)
        text = arena_printf(c->arena, "%s%s%s", text, check_type_expr(c, arg)->name, arg->next ? ", " : "");
    return type_open(c, arena_printf(c->arena, "%s) -> %s", text, check_type_expr(c, written->result)->name));
}

/* ---- inference ---- */

typedef struct Inference {
    Check *c;
    Expr *call;
    Decl *decl;
    TypeBinding *bindings;
    LIST(Given) given;
    bool failed; /* it was said why */
} Inference;

static bool is_bound(const Inference *in, const TypeExpr *written)
{
    for (const TypeBinding *b = in->bindings; b; b = b->next)
        if (!b->type && mentions(written, b->name.text)) return false;
    return true;
}

/* What a written type of the callee is for this call, as far as that is known. */
static const Type *resolve(Inference *in, const TypeExpr *written)
{
    Check *c = in->c;
    TypeBinding *bindings = c->bindings;
    const Module *module = c->module;
    const Span at = c->at;
    DiagList own, *diags = c->diags;
    diag_init(&own, c->arena, diags->sources);
    c->bindings = in->bindings;
    c->module = in->decl->module;
    c->diags = &own;
    const Type *type = check_type_expr(c, written);
    c->bindings = bindings;
    c->module = module;
    c->diags = diags;
    c->at = at;
    for (Diag *diag = own.first, *next; diag && !in->failed; diag = next) {
        next = diag->next;
        diag_other(diags, diag, in->call->span, "%s in this call", generic_types(c, in->bindings));
        diag_adopt(diags, diag);
    }
    in->failed |= own.errors > 0;
    return type;
}

const char *generic_types(Check *c, const TypeBinding *bindings)
{
    const char *text = "";
    for (const TypeBinding *b = bindings; b; b = b->next) {
        if (!b->type) continue;
        const char *name = b->type->name;
        const bool is_long = strlen(name) > NAME_SHOWN_MAX;
        text = arena_printf(c->arena, "%s%s%s is %.*s%s", text, *text ? ", " : "", b->name.text,
                            is_long ? NAME_SHOWN_MAX : (int)strlen(name), name, is_long ? "…" : "");
    }
    return text;
}

static void unify(Inference *in, const TypeExpr *written, const Type *type, const char *by, Span span)
{
    TypeBinding *b = binding_named(in->bindings, written);
    if (type->kind == TYPE_NULL || type->kind == TYPE_NOTHING) return;
    if (b) {
        if (!b->type) *b = (TypeBinding){b->name, type, by, span, b->next};
        return;
    }
    if (written->kind == TYX_OPTIONAL) {
        unify(in, written->args, type_strip(type), by, span);
    } else if (written->kind == TYX_GENERIC && (type->elem || type->kind == TYPE_BAD)) {
        const Type *first = type->kind == TYPE_MAP ? type->key : type->elem;
        const bool open = type->kind == TYPE_BAD;
        unify(in, written->args, open ? type : first, by, span);
        if (written->args->next && (open || type->kind == TYPE_MAP))
            unify(in, written->args->next, open ? type : type->elem, by, span);
    }
}

/* Why a parameter has its type in this call. */
static Why why_of(Inference *in, const Field *f, const TypeExpr *written, const Expr *arg)
{
    for (const TypeBinding *b = in->bindings; b; b = b->next) {
        if (!b->type || !mentions(written, b->name.text) || b->span.off == arg->span.off) continue;
        return (Why){arena_printf(in->c->arena, "%s is %s by the argument '%s'", b->name.text, b->type->name, b->by),
                     b->span};
    }
    return (Why){"declared here", f->name.span};
}

/* Its type is what is wanted, if anything is. */
static bool waits(const Expr *e)
{
    switch (e->kind) {
    case EX_PAREN: return waits(e->left);
    case EX_UNARY: return e->op == OP_NEG && waits(e->left);
    case EX_INT:
    case EX_NULL: return true;
    case EX_LIST: return !e->args;
    case EX_MAP: return !e->entries || e->entries->name.text;
    default: return false;
    }
}

static void infer_value(Inference *in, const Field *f, Expr *arg)
{
    const bool known = is_bound(in, f->type_expr);
    check_expr(in->c, arg, known ? resolve(in, f->type_expr) : NULL);
    unify(in, f->type_expr, arg->type, f->name.text, arg->span);
}

static void fit_value(Inference *in, const Field *f, Expr *arg)
{
    const Type *want = resolve(in, f->type_expr);
    if (check_coerce(in->c, arg, want)) return;
    check_mismatch(in->c, arg, want, why_of(in, f, f->type_expr, arg));
    in->failed = true;
}

static void report_unbound(Inference *in, const TypeBinding *b, Span span)
{
    if (!in->failed) {
        Diag *diag =
            diag_error(in->c->diags, span, "no argument says what %s of '%s' is", b->name.text, in->decl->name.text);
        diag_hint(in->c->diags, diag, "bind the argument first, with its type: let name: T = …");
        diag_other(in->c->diags, diag, b->name.span, "%s is declared here", b->name.text);
    }
    in->failed = true;
}

static bool check_bound(Inference *in, const TypeExpr *written, Span span)
{
    for (const TypeBinding *b = in->bindings; b; b = b->next) {
        if (b->type || !mentions(written, b->name.text)) continue;
        report_unbound(in, b, span);
        return false;
    }
    return true;
}

/* ---- functions as arguments ---- */

static uint32_t count_types(const TypeExpr *written)
{
    uint32_t count = 0;
    for (; written; written = written->next) count++;
    return count;
}

static void give(Inference *in, const Field *f, Function function)
{
    Given *given = arena_new(in->c->arena, Given);
    *given = (Given){.name = f->name, .written = f->type_expr, .function = function};
    LIST_APPEND(&in->given, given, next);
}

static const char *function_text(Inference *in, const Field *f)
{
    const char *text = "fn(";
    for (const TypeExpr *arg = f->type_expr->args; arg; arg = arg->next)
        text = arena_printf(in->c->arena, "%s%s%s", text, resolve(in, arg)->name, arg->next ? ", " : "");
    const bool known = is_bound(in, f->type_expr->result);
    const char *result = known ? resolve(in, f->type_expr->result)->name : f->type_expr->result->name.text;
    return arena_printf(in->c->arena, "%s) -> %s", text, result ? result : "…");
}

static bool check_lambda_params(Inference *in, const Field *f, const Expr *e)
{
    const uint32_t wanted = count_types(f->type_expr->args), got = e->var2.text ? 2 : 1;
    if (wanted == got) return true;
    Diag *diag =
        diag_error(in->c->diags, e->span, "this inline function has %u parameter%s, and '%s' is called with %u", got,
                   got == 1 ? "" : "s", f->name.text, wanted);
    if (wanted > 2) diag_hint(in->c->diags, diag, "an inline function has at most two; declare a fn and name it here");
    diag_other(in->c->diags, diag, f->name.span, "declared here");
    in->failed = true;
    return false;
}

/* What the inline function gives: as the parameter says, or whatever it is, which then says what a type is. */
static const Type *lambda_result(Inference *in, const Field *f, Expr *body)
{
    Check *c = in->c;
    const TypeExpr *written = f->type_expr->result;
    if (is_bound(in, written)) {
        const Type *want = resolve(in, written);
        if (!check_expr_to(c, body, want, why_of(in, f, written, body))) in->failed = true;
        return want;
    }
    const Type *type = check_expr(c, body, NULL);
    if (type->kind == TYPE_NULL) {
        diag_error(c->diags, body->span, "this inline function must give a value whose type is known, not null");
        in->failed = true;
    }
    unify(in, written, type, f->name.text, body->span);
    if (!check_bound(in, written, body->span)) return c->core->bad;
    const Type *want = resolve(in, written);
    if (!check_coerce(c, body, want)) {
        check_mismatch(c, body, want, why_of(in, f, written, body));
        in->failed = true;
    }
    return want;
}

static Decl *lift(Check *c, Expr *e, const Closure *closure, const Type *result)
{
    Decl *fn = arena_new(c->arena, Decl);
    fn->kind = DECL_FN;
    fn->span = e->span;
    fn->name = (Name){"inline function", e->span};
    fn->full_name = fn->name.text;
    fn->c_name = arena_printf(c->arena, "%ul_%s", c->copy_count++, "fn");
    fn->module = c->body->decl->module;
    fn->type = result;
    fn->lambda = e;
    fn->around = c->body->decl;
    fn->captures = closure->captures;
    fn->capture_count = closure->capture_count;
    fn->param_count = 1 + (e->variable2 != NULL) + closure->capture_count;
    if (!c->body->decl->generic) check_add_decl(c, fn);
    return fn;
}

static void infer_lambda(Inference *in, const Field *f, Expr *e)
{
    Check *c = in->c;
    const TypeExpr *first = f->type_expr->args;
    ClosureScope scope;
    const Facts *before = c->facts;
    if (!check_lambda_params(in, f, e)) return;
    for (const TypeExpr *arg = first; arg; arg = arg->next)
        if (!check_bound(in, arg, e->span)) return;
    check_open_closure(c, &scope, CLOSURE_FUNCTION, NULL);
    const uint32_t names = check_scope_enter(c);
    e->variable = check_add_parameter(c, e->name, resolve(in, first));
    if (e->var2.text) e->variable2 = check_add_parameter(c, e->var2, resolve(in, first->next));
    c->body->inline_depth++;
    const Type *result = lambda_result(in, f, e->left);
    c->body->inline_depth--;
    check_scope_leave(c, names);
    const Closure *closure = check_close_closure(c, &scope);
    c->facts = before;
    e->type = e->to = result;
    Decl *fn = lift(c, e, closure, result);
    give(in, f, (Function){fn, closure->captures, closure->capture_count});
}

static void refuse_function(Inference *in, const Expr *e, const char *what)
{
    Diag *diag =
        diag_error(in->c->diags, e->span, "'%s' is %s, and only a fn can be given to a fn", e->name.text, what);
    diag_hint(in->c->diags, diag, "a fn takes no steps; go through the values with 'for'");
    in->failed = true;
}

static Decl *named_fn(Inference *in, const Expr *e)
{
    Check *c = in->c;
    const Decl *import = e->kind == EX_FIELD ? check_import_of(c, e->left) : NULL;
    Decl *decl = import               ? check_find_imported(c, import, e->name, NAME_CALL)
                 : e->kind == EX_NAME ? check_find_decl(c, e->name.text)
                                      : NULL;
    if (decl && decl->kind == DECL_FN) return decl;
    if (import && !decl) {
        in->failed = true;
    } else if (decl) {
        refuse_function(in, e, decl_kind_word(decl->kind));
    } else if (e->kind == EX_NAME && builtin_effect(e->name.text)) {
        refuse_function(in, e, "a built-in effect");
    } else {
        Diag *diag = diag_error(c->diags, e->span, "'%s' takes a function here", in->decl->name.text);
        diag_hint(c->diags, diag, "write the name of a fn, or an inline function: x => …");
        in->failed = true;
    }
    return NULL;
}

static TypeBinding *fresh_bindings(Check *c, const Decl *decl)
{
    LIST(TypeBinding) bindings = {0};
    for (const Binding *p = decl->type_params; p; p = p->next) {
        TypeBinding *b = arena_new(c->arena, TypeBinding);
        b->name = p->name;
        LIST_APPEND(&bindings, b, next);
    }
    return bindings.first;
}

static Decl *copy_for(Inference *in);

/* A generic fn that is given takes its types from what it is called with. */
static Decl *fix_generic(Inference *in, const Field *f, const Expr *e, Decl *decl)
{
    Check *c = in->c;
    Expr *call = arena_new(c->arena, Expr);
    *call = (Expr){.kind = EX_CALL, .span = e->span};
    Inference inner = {.c = c, .call = call, .decl = decl, .bindings = fresh_bindings(c, decl)};
    const Field *param = decl->params;
    for (const TypeExpr *arg = f->type_expr->args; arg && param; arg = arg->next, param = param->next) {
        if (is_function(param)) break;
        if (!check_bound(in, arg, e->span)) return NULL;
        unify(&inner, param->type_expr, resolve(in, arg), f->name.text, e->span);
    }
    for (; param; param = param->next) {
        if (!is_function(param)) continue;
        diag_error(c->diags, e->span, "'%s' takes a function itself, so it cannot be given to a fn", decl->name.text);
        in->failed = true;
        return NULL;
    }
    for (const TypeBinding *b = inner.bindings; b; b = b->next)
        if (!b->type) report_unbound(&inner, b, e->span);
    in->failed |= inner.failed;
    if (inner.failed || c->body->decl->generic) return NULL;
    return copy_for(&inner);
}

static bool fits_function(Inference *in, const Field *f, const Decl *decl)
{
    const Field *param = decl->params;
    const TypeExpr *arg = f->type_expr->args;
    bool same = decl->type->kind != TYPE_NOTHING;
    for (; arg && param; arg = arg->next, param = param->next) {
        const Type *got = param->type ? param->type : in->c->core->bad;
        unify(in, arg, got, f->name.text, f->name.span);
        const Type *want = is_bound(in, arg) ? resolve(in, arg) : got;
        same &= want == got || want->kind == TYPE_BAD || got->kind == TYPE_BAD;
    }
    same &= !arg && !param;
    unify(in, f->type_expr->result, decl->type, f->name.text, f->name.span);
    if (!same || !is_bound(in, f->type_expr->result)) return same;
    const Type *want = resolve(in, f->type_expr->result);
    return want == decl->type || want->kind == TYPE_BAD || decl->type->kind == TYPE_BAD;
}

static const char *signature_text(Check *c, const Decl *decl)
{
    const char *text = "fn(";
    for (const Field *p = decl->params; p; p = p->next)
        text = arena_printf(c->arena, "%s%s%s", text, p->type->name, p->next ? ", " : "");
    const bool gives = decl->type->kind != TYPE_NOTHING;
    return arena_printf(c->arena, "%s)%s%s", text, gives ? " -> " : "", gives ? decl->type->name : "");
}

/* In a template nothing more is known of what such a function gives. */
static void bind_rest(Inference *in, const Field *f)
{
    for (TypeBinding *b = in->bindings; b; b = b->next)
        if (!b->type && mentions(f->type_expr, b->name.text)) b->type = in->c->core->bad;
}

/* A function that the fn around this place was given is given on. */
static void pass_function(Inference *in, const Field *f, Expr *e, Variable *local)
{
    Check *c = in->c;
    local->used = true;
    e->variable = local;
    e->type = e->to = local->type;
    if (!local->written) {
        in->failed = true;
        return;
    }
    const TypeExpr *want = f->type_expr->args, *got = local->written->args;
    bool same = true;
    for (; want && got; want = want->next, got = got->next) {
        const Type *type = check_type_expr(c, got);
        unify(in, want, type, f->name.text, e->span);
        same &= type->kind == TYPE_BAD || !is_bound(in, want) || resolve(in, want) == type;
    }
    const Type *result = check_type_expr(c, local->written->result);
    unify(in, f->type_expr->result, result, f->name.text, e->span);
    const bool fits =
        result->kind == TYPE_BAD || !is_bound(in, f->type_expr->result) || resolve(in, f->type_expr->result) == result;
    if (!same || want || got || !fits) {
        Diag *diag = diag_error(c->diags, e->span, "'%s' needs %s, and '%s' is %s", f->name.text, function_text(in, f),
                                local->name, generic_function_type(c, local->written)->name);
        diag_other(c->diags, diag, local->span, "declared here");
        in->failed = true;
    }
    if (!local->function) return;
    for (uint32_t i = 0; i < local->function->held_count; i++) check_capture(c, local->function->held[i]);
    give(in, f, *local->function);
}

static void infer_named(Inference *in, const Field *f, Expr *e)
{
    Check *c = in->c;
    Variable *local = e->kind == EX_NAME ? name_table_get(&c->locals, e->name.text) : NULL;
    if (local && (local->written || local->type->kind == TYPE_BAD)) {
        pass_function(in, f, e, local);
        return;
    }
    Decl *decl = local ? NULL : named_fn(in, e);
    if (local) {
        diag_error(c->diags, e->span, "'%s' is a %s, not a function", e->name.text, local->type->name);
        in->failed = true;
    }
    if (!decl) return;
    e->decl = decl;
    const bool in_template = c->body->decl->generic;
    if (decl->generic) decl = fix_generic(in, f, e, decl);
    if (!decl && in_template && !in->failed) bind_rest(in, f);
    if (!decl) return;
    if (!fits_function(in, f, decl)) {
        Diag *diag = diag_error(c->diags, e->span, "'%s' needs %s, and '%s' is %s", f->name.text, function_text(in, f),
                                decl->name.text, signature_text(c, decl));
        diag_other(c->diags, diag, decl->name.span, "declared here");
        in->failed = true;
        return;
    }
    e->type = e->to = decl->type;
    give(in, f, (Function){.decl = decl});
}

/* ---- copies ---- */

static const char *key_of(const Inference *in)
{
    Arena *arena = in->c->arena;
    const char *key = in->decl->c_name;
    for (const TypeBinding *b = in->bindings; b; b = b->next) key = arena_printf(arena, "%s,%u", key, b->type->id);
    for (const Given *g = in->given.first; g; g = g->next)
        key = arena_printf(arena, "%s|%s", key, g->function.decl->c_name);
    return key;
}

static bool may_copy(Inference *in)
{
    Check *c = in->c;
    if (c->body->decl->copy_depth < DEPTH_MAX && c->copy_count < COPIES_MAX) return true;
    Diag *diag = diag_error(c->diags, in->call->span, "'%s' is called with new types or functions without end",
                            in->decl->name.text);
    diag_hint(c->diags, diag, "a generic fn that calls itself gives itself the types and functions that it has");
    in->failed = true;
    return false;
}

static void add_field(Decl *decl, Field ***end, Field *field)
{
    **end = field;
    *end = &field->next;
    decl->param_count++;
}

/* Values as they are, then what the functions hold. */
static void copy_params(Inference *in, Decl *copy)
{
    Field **end = &copy->params;
    for (const Field *f = in->decl->params; f; f = f->next) {
        if (is_function(f)) continue;
        Field *field = ast_copy_param(in->c->arena, f);
        field->type = resolve(in, f->type_expr);
        add_field(copy, &end, field);
    }
    for (Given *g = in->given.first; g; g = g->next) {
        g->held_at = copy->param_count;
        for (uint32_t i = 0; i < g->function.held_count; i++) {
            Field *field = arena_new(in->c->arena, Field);
            field->name = (Name){"_", g->name.span};
            field->type = g->function.held[i]->type;
            add_field(copy, &end, field);
        }
    }
}

static Decl *copy_for(Inference *in)
{
    Check *c = in->c;
    const char *key = key_of(in);
    Decl *copy = name_table_get(&c->copies, key);
    if (copy || !may_copy(in)) return copy;
    copy = ast_copy_fn(c->arena, in->decl);
    copy->origin = in->decl;
    copy->copy_depth = c->body->decl->copy_depth + 1;
    copy->full_name = in->decl->full_name;
    copy->c_name = arena_printf(c->arena, "%ui_%s", c->copy_count++, in->decl->name.text);
    copy_params(in, copy);
    copy->type = in->decl->result ? resolve(in, in->decl->result) : c->core->nothing;
    copy->parts = arena_new(c->arena, Generic);
    *copy->parts = (Generic){in->bindings, in->given.first, in->call->span};
    copy->types = generic_types(c, in->bindings);
    if (in->failed) return NULL;
    name_table_put(c, &c->copies, key, copy);
    check_add_decl(c, copy);
    return copy;
}

/* Names the functions that a copy was given; its parameters are there. */
void generic_bind_functions(Check *c, Decl *decl)
{
    for (const Given *g = decl->parts ? decl->parts->given : NULL; g; g = g->next) {
        Function *function = arena_new(c->arena, Function);
        *function = (Function){.decl = g->function.decl, .held_count = g->function.held_count};
        function->held = arena_alloc(c->arena, (function->held_count + 1) * sizeof(Variable *));
        const Field *f = decl->params;
        for (uint32_t i = 0; i < g->held_at; i++) f = f->next;
        for (uint32_t i = 0; i < function->held_count; i++, f = f->next) function->held[i] = f->variable;
        Variable *variable = check_add_parameter(c, g->name, generic_function_type(c, g->written));
        variable->written = g->written;
        variable->function = function;
    }
}

static void note_types(Check *c, Diag *diag, const Decl *copy)
{
    const TypeBinding *b = copy->parts->bindings;
    if (!b) return;
    if (b->next)
        diag_other(c->diags, diag, copy->parts->call, "%s in this call", copy->types);
    else
        diag_other(c->diags, diag, b->span, "%s by the argument '%s'", copy->types, b->by);
}

/* What is wrong in a copy is told once at a place, with what the types are. */
void generic_check_copy(Check *c, Decl *copy)
{
    DiagList own, *diags = c->diags;
    if (copy->origin->broken) return;
    diag_init(&own, c->arena, diags->sources);
    c->diags = &own;
    check_body(c, copy);
    c->diags = diags;
    for (Diag *diag = own.first, *next; diag; diag = next) {
        next = diag->next;
        note_types(c, diag, copy);
        diag_adopt(diags, diag);
    }
    if (own.errors) ((Decl *)copy->origin)->broken = true;
}

/* ---- calls ---- */

static Expr *name_of(Check *c, Variable *variable, Span span)
{
    Expr *name = arena_new(c->arena, Expr);
    *name = (Expr){.kind = EX_NAME, .height = 1, .span = span, .name = {variable->name, span}, .variable = variable};
    name->type = name->to = variable->type;
    return name;
}

static void infer_all(Inference *in)
{
    Expr **argv = in->call->argv;
    uint32_t i = 0;
    for (const Field *f = in->decl->params; f; f = f->next, i++)
        if (!is_function(f) && argv[i] != f->value && !waits(argv[i])) infer_value(in, f, argv[i]);
    i = 0;
    for (const Field *f = in->decl->params; f; f = f->next, i++)
        if (!is_function(f) && argv[i] != f->value && waits(argv[i])) infer_value(in, f, argv[i]);
    i = 0;
    for (const Field *f = in->decl->params; f; f = f->next, i++) {
        if (!is_function(f)) continue;
        if (argv[i]->kind == EX_LAMBDA)
            infer_lambda(in, f, argv[i]);
        else
            infer_named(in, f, argv[i]);
    }
    for (const TypeBinding *b = in->bindings; b; b = b->next)
        if (!b->type) report_unbound(in, b, in->call->span);
    i = 0;
    for (const Field *f = in->decl->params; f && !in->failed; f = f->next, i++)
        if (!is_function(f) && argv[i] != f->value) fit_value(in, f, argv[i]);
}

/* The copy has no parameters for functions, but for what they hold. */
static void pass_to_copy(Inference *in, const Decl *copy)
{
    Expr *e = in->call, **argv = arena_alloc(in->c->arena, (copy->param_count + 1) * sizeof *argv);
    uint32_t count = 0, i = 0;
    for (const Field *f = in->decl->params; f; f = f->next, i++)
        if (!is_function(f)) argv[count++] = e->argv[i];
    for (const Given *g = in->given.first; g; g = g->next)
        for (uint32_t k = 0; k < g->function.held_count; k++)
            argv[count++] = name_of(in->c, g->function.held[k], e->span);
    CHECK(count == copy->param_count);
    e->argv = argv;
    e->argc = count;
}

const Type *generic_call(Check *c, Expr *e, Decl *decl)
{
    Slots slots;
    Inference in = {.c = c, .call = e, .decl = decl, .bindings = fresh_bindings(c, decl)};
    const uint32_t errors = c->diags->errors;
    e->call = CALL_FN;
    e->decl = decl;
    slots_of_params(c, &slots, decl);
    for (uint32_t i = 0; i < slots.count; i++) slots.items[i].later = true;
    slots_bind(c, e, &slots, 0);
    if (c->diags->errors != errors) {
        check_args_loosely(c, e);
        return c->core->bad;
    }
    infer_all(&in);
    if (in.failed) return c->core->bad;
    const Type *result = decl->result ? resolve(&in, decl->result) : c->core->nothing;
    e->types = generic_types(c, in.bindings);
    if (in.failed || c->body->decl->generic) return in.failed ? c->core->bad : result;
    Decl *copy = copy_for(&in);
    if (!copy) return c->core->bad;
    e->decl = copy;
    pass_to_copy(&in, copy);
    return copy->type;
}

static bool check_function_args(Check *c, Expr *e, const Variable *variable)
{
    const TypeExpr *written = variable->written->args;
    uint32_t wanted = count_types(written), got = 0;
    for (const Arg *arg = e->args; arg; arg = arg->next) {
        got++;
        if (!arg->name.text) continue;
        diag_error(c->diags, arg->name.span, "the parameters of '%s' have no names", variable->name);
        return false;
    }
    if (wanted == got) return true;
    Diag *diag = diag_error(c->diags, e->span, "'%s' takes %u argument%s, got %u", variable->name, wanted,
                            wanted == 1 ? "" : "s", got);
    diag_other(c->diags, diag, variable->span, "declared here");
    return false;
}

const Type *generic_call_function(Check *c, Expr *e, Variable *variable)
{
    variable->used = true;
    e->left->variable = variable;
    if (!check_function_args(c, e, variable)) {
        check_args_loosely(c, e);
        return c->core->bad;
    }
    const Function *function = variable->function;
    const uint32_t held = function ? function->held_count : 0;
    const TypeExpr *written = variable->written->args;
    e->argv = arena_alloc(c->arena, (count_types(written) + held + 1) * sizeof *e->argv);
    e->argc = 0;
    for (Arg *arg = e->args; arg; arg = arg->next, written = written->next) {
        check_expr_to(c, arg->value, check_type_expr(c, written), (Why){"declared here", variable->span});
        e->argv[e->argc++] = arg->value;
    }
    for (uint32_t i = 0; i < held; i++) {
        check_capture(c, function->held[i]);
        e->argv[e->argc++] = name_of(c, function->held[i], e->span);
    }
    if (function) {
        e->call = CALL_FN;
        e->decl = function->decl;
    }
    return check_type_expr(c, variable->written->result);
}

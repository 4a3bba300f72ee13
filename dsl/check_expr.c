/* check_expr.c: the types of expressions.
 *
 * check_expr gives an expression its own type; check_expr_to makes it fit a wanted one. Only leaves ever differ in
 * `type` and `to`: parentheses and if-expressions pass the wanted type down to their parts. */
#include "check_agent.h"
#include "check_internal.h"

Expr *expr_strip(Expr *e)
{
    while (e->kind == EX_PAREN) e = e->left;
    return e;
}

/* ---- fitting a wanted type ---- */

/* 3, -3, (3) and if c { 1 } else { 2 }: what may be where a float is wanted. */
static bool is_int_literal(const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return true;
    case EX_PAREN: return is_int_literal(e->left);
    case EX_UNARY: return e->op == OP_NEG && is_int_literal(e->left);
    case EX_IF: return is_int_literal(e->left) && is_int_literal(e->right);
    default: return false;
    }
}

static bool fits(const Expr *e, const Type *want)
{
    const Type *type = e->type;
    if (type == want || type->kind == TYPE_BAD || want->kind == TYPE_BAD) return true;
    if (e->kind == EX_PAREN) return fits(e->left, want);
    if (e->kind == EX_IF) return fits(e->left, want) && fits(e->right, want);
    if (want->kind == TYPE_FLOAT) return type->kind == TYPE_INT && is_int_literal(e);
    if (want->kind != TYPE_OPTIONAL) return false;
    return type->kind == TYPE_NULL || type == want->elem || (want->elem->kind == TYPE_FLOAT && is_int_literal(e));
}

/* Requires fits(e, want). */
static void retarget(Expr *e, const Type *want)
{
    if (e->type == want || e->type->kind == TYPE_BAD || want->kind == TYPE_BAD) {
        e->to = want;
        return;
    }
    if (e->kind == EX_PAREN || e->kind == EX_IF) {
        retarget(e->left, want);
        if (e->kind == EX_IF) retarget(e->right, want);
        e->type = want;
    } else if (e->kind == EX_UNARY && type_strip(want)->kind == TYPE_FLOAT && e->type->kind == TYPE_INT) {
        e->type = type_strip(want);
        retarget(e->left, e->type);
    } else if (e->kind == EX_INT && want->kind == TYPE_OPTIONAL && want->elem->kind == TYPE_FLOAT) {
        e->type = want->elem;
    }
    e->to = want;
}

bool check_coerce(Check *c, Expr *e, const Type *want)
{
    (void)c;
    if (!fits(e, want)) return false;
    retarget(e, want);
    return true;
}

void check_fix_behind(Diag *diag, const Expr *e, const char *text)
{
    bool close = e->kind == EX_NAME || e->kind == EX_FIELD || e->kind == EX_CALL || e->kind == EX_INDEX ||
                 e->kind == EX_PAREN || e->kind == EX_STRING;
    if (close) diag_fix(diag, (Span){e->span.off + e->span.len, 0}, text);
}

static void hint_mismatch(Check *c, Diag *diag, const Expr *e, const Type *want)
{
    const Type *got = e->type;
    if (type_is_answer(want) && got == want->elem) {
        diag_hint(c->diags, diag, "write Answer(value: …, by: null, at: …)");
    } else if (got->kind == TYPE_NULL) {
        diag_hint(c->diags, diag, "only %s? can be null", want->name);
    } else if (want->kind == TYPE_DURATION && e->kind == EX_INT) {
        diag_hint(c->diags, diag, "did you mean %llds?", (long long)e->int_value);
        diag_fix(diag, e->span, arena_printf(c->arena, "%llds", (long long)e->int_value));
    } else if (want->kind == TYPE_JSON && type_is_printable(got)) {
        diag_hint(c->diags, diag, "use .to_json()");
        check_fix_behind(diag, e, ".to_json()");
    } else if (want->kind == TYPE_STRING && type_is_printable(got)) {
        diag_hint(c->diags, diag, "write \"${…}\" or .to_string()");
        check_fix_behind(diag, e, ".to_string()");
    } else if (want->kind == TYPE_FLOAT && got->kind == TYPE_INT) {
        diag_hint(c->diags, diag, "int and float do not mix; use .to_float()");
        check_fix_behind(diag, e, ".to_float()");
    } else if (want->kind == TYPE_INT && got->kind == TYPE_FLOAT) {
        diag_hint(c->diags, diag, "use .to_int(), which cuts the fraction off");
        check_fix_behind(diag, e, ".to_int()");
    } else if (want->kind == TYPE_BOOL && got->kind == TYPE_OPTIONAL) {
        diag_hint(c->diags, diag, "test it: != null");
        check_fix_behind(diag, e, " != null");
    }
}

void check_mismatch(Check *c, const Expr *e, const Type *want, Why why)
{
    Diag *diag;
    if (e->type->kind == TYPE_BAD || want->kind == TYPE_BAD) return;
    if (e->type->kind == TYPE_OPTIONAL && e->type->elem == want) {
        check_null_error(c, e);
        return;
    }
    if (e->type->kind == TYPE_NOTHING)
        diag = diag_error(c->diags, e->span, "expected %s, but this gives no value", want->name);
    else
        diag = diag_error(c->diags, e->span, "expected %s, got %s", want->name, e->type->name);
    hint_mismatch(c, diag, e, want);
    if (why.text && why.span.len) diag_other(c->diags, diag, why.span, "%s", why.text);
}

bool check_expr_to(Check *c, Expr *e, const Type *want, Why why)
{
    check_expr_or_nothing(c, e, want);
    if (check_coerce(c, e, want)) return true;
    check_mismatch(c, e, want, why);
    e->type = e->to = c->core->bad;
    return false;
}

/* The one type two expressions can share, without changing them. */
static const Type *common_type(Check *c, const Expr *a, const Expr *b)
{
    const Type *ta = a->type, *tb = b->type;
    if (ta->kind == TYPE_BAD || tb->kind == TYPE_BAD) return c->core->bad;
    if (fits(b, ta) && ta->kind != TYPE_NULL) return ta;
    if (fits(a, tb) && tb->kind != TYPE_NULL) return tb;
    if (ta->kind == TYPE_NULL && tb->kind == TYPE_NULL) return ta;
    if (ta->kind == TYPE_NULL && tb->kind != TYPE_NOTHING) return type_optional(c, tb);
    if (tb->kind == TYPE_NULL && ta->kind != TYPE_NOTHING) return type_optional(c, ta);
    return NULL;
}

const Type *check_unify(Check *c, Expr *a, Expr *b)
{
    const Type *type = common_type(c, a, b);
    if (!type || type->kind == TYPE_BAD) return type;
    if (!check_coerce(c, a, type) || !check_coerce(c, b, type)) return NULL;
    return type;
}

/* ---- names ---- */

static const Type *report_unknown_name(Check *c, const Expr *e)
{
    const char *name = e->name.text;
    if (builtin_effect(name)) {
        Diag *diag = diag_error(c->diags, e->span, "'%s' is a built-in effect, not a value", name);
        diag_hint(c->diags, diag, "call it: %s(…)", name);
        return c->core->bad;
    }
    const char *near = check_nearest_name(c, name, NAME_VALUE);
    if (near)
        diag_replace(diag_error(c->diags, e->span, "unknown name '%s'; did you mean '%s'?", name, near), near);
    else
        diag_error(c->diags, e->span, "unknown name '%s'", name);
    return c->core->bad;
}

static const Type *infer_decl_name(Check *c, Expr *e, Decl *decl)
{
    switch (decl->kind) {
    case DECL_CONST: e->decl = decl; return check_const(c, decl);
    case DECL_BAD: return c->core->bad;
    default: break;
    }
    const char *name = e->kind == EX_FIELD && e->left->name.text
                           ? arena_printf(c->arena, "%s.%s", e->left->name.text, e->name.text)
                           : decl->name.text;
    Diag *diag = diag_error(c->diags, e->span, "'%s' is %s, not a value", name, decl_kind_word(decl->kind));
    if (decl->kind == DECL_ENUM && decl->cases)
        diag_hint(c->diags, diag, "name a case: %s.%s", name, decl->cases->name.text);
    if (decl->kind == DECL_IMPORT) diag_hint(c->diags, diag, "name something in it: %s.name", name);
    if (decl->kind == DECL_ERROR || decl->kind == DECL_TYPE) diag_hint(c->diags, diag, "make one: %s(…)", name);
    diag_other(c->diags, diag, decl->name.span, "declared here");
    return c->core->bad;
}

static const Type *refuse_any_error(Check *c, const Expr *e)
{
    Diag *diag = diag_error(c->diags, e->span,
                            "'%s' can be one of several errors here, so it cannot be kept or passed on", e->name.text);
    diag_hint(c->diags, diag, "use %s.message, 'match %s { … }' or 'fail %s'", e->name.text, e->name.text,
              e->name.text);
    return c->core->bad;
}

static const Type *refuse_function(Check *c, const Expr *e)
{
    Diag *diag = diag_error(c->diags, e->span, "'%s' is a function; it is called, or given to a fn", e->name.text);
    diag_other(c->diags, diag, e->variable->span, "declared here");
    return c->core->bad;
}

static const Type *infer_name(Check *c, Expr *e)
{
    bool allow_any_error = c->allow_any_error;
    c->allow_any_error = false;
    Variable *variable = name_table_get(&c->locals, e->name.text);
    if (!variable) {
        Decl *decl = check_find_decl(c, e->name.text);
        return decl ? infer_decl_name(c, e, decl) : report_unknown_name(c, e);
    }
    e->variable = variable;
    variable->used = true;
    check_capture(c, variable);
    if (variable->written) return refuse_function(c, e);
    const Type *type = variable->type;
    if (type->kind == TYPE_OPTIONAL || type->kind == TYPE_ANY_ERROR) {
        const Type *known = flow_known(c, e);
        if (known) type = known;
    }
    return type->kind == TYPE_ANY_ERROR && !allow_any_error ? refuse_any_error(c, e) : type;
}

/* ---- fields and indexes ---- */

static Diag *report_null(Check *c, const Expr *e)
{
    const Expr *at = e;
    while (at->kind == EX_PAREN) at = at->left;
    Diag *diag = diag_error(c->diags, e->span, "this may be null; use ?? or test it");
    const Type *type = e->type;
    if (at->kind == EX_NAME && at->variable) {
        diag_other(c->diags, diag, at->variable->span, "declared as %s here", type->name);
    } else if (at->kind == EX_FIELD && at->left->type && at->left->type->fields) {
        const TypeField *field = &at->left->type->fields[at->field_index];
        if (field->span.len) diag_other(c->diags, diag, field->span, "declared as %s here", type->name);
    }
    return diag;
}

void check_null_error(Check *c, const Expr *e)
{
    report_null(c, e);
}

/* What is between a value and the name of its part becomes another mark, where nothing but the mark is there. */
static void fix_dot(Check *c, Diag *diag, const Expr *access, const char *mark, const char *text)
{
    uint32_t end = access->left->span.off + access->left->span.len;
    Span span = {end, (uint32_t)strlen(mark)};
    if (span.off + span.len != access->name.span.off) return;
    if (memcmp(source_text(c->program->sources, span), mark, span.len) == 0) diag_fix(diag, span, text);
}

const Type *check_null_access(Check *c, const Expr *access)
{
    Diag *diag = report_null(c, access->left);
    diag_hint(c->diags, diag, "?.%s gives null where it is null", access->name.text);
    fix_dot(c, diag, access, ".", "?.");
    return c->core->bad;
}

void check_hint_fields(Check *c, Diag *diag, const Type *type)
{
    enum { SHOWN = 12 };
    const char *list = "";
    for (uint32_t i = 0; i < type->field_count && i < SHOWN; i++)
        list = arena_printf(c->arena, "%s%s%s", list, i ? ", " : "", type->fields[i].name);
    if (type->field_count)
        diag_hint(c->diags, diag, "%s %s%s", type->field_count == 1 ? "its only field is" : "its fields are", list,
                  type->field_count > SHOWN ? ", …" : "");
}

static const Type *report_no_field(Check *c, const Expr *e, const Type *type)
{
    const char *name = e->name.text;
    if (builtin_method(type->kind, name)) {
        Diag *diag = diag_error(c->diags, e->name.span, "'%s' is a method of %s", name, type->name);
        diag_hint(c->diags, diag, "call it: .%s(…)", name);
        return c->core->bad;
    }
    if (type->kind == TYPE_JSON) {
        Diag *diag = diag_error(c->diags, e->name.span, "json is opaque: it has no fields");
        diag_hint(c->diags, diag, "use .get(\"%s\"), or decode it: let name: Type = value.decode()", name);
        return c->core->bad;
    }
    const char *near = check_nearest_field(c, name, type->fields, type->field_count);
    if (!near) {
        const char *method = builtin_nearest_method(type->kind, name);
        Diag *diag = diag_error(c->diags, e->name.span, "no field '%s' in %s", name, type->name);
        bool by_key = type->kind == TYPE_MAP && type->key->kind == TYPE_STRING;
        if (by_key && !method) diag_hint(c->diags, diag, "read a map by key: [\"%s\"]", name);
        if (method) {
            diag_hint(c->diags, diag, "did you mean the method .%s(…)?", method);
            diag_replace(diag, arena_printf(c->arena, "%s()", method));
        } else {
            check_hint_fields(c, diag, type);
        }
        return c->core->bad;
    }
    const TypeField *field = &type->fields[type_find_field(type->fields, type->field_count, near)];
    Diag *diag = diag_replace(
        diag_error(c->diags, e->name.span, "no field '%s' in %s; did you mean '%s'?", name, type->name, near), near);
    if (field->span.len) diag_other(c->diags, diag, field->span, "declared here");
    return c->core->bad;
}

const Type *check_enum_of(Check *c, const Expr *e)
{
    const Decl *decl = NULL;
    const Decl *import = e->kind == EX_FIELD ? check_import_of(c, e->left) : NULL;
    if (e->kind == EX_FIELD && !import && e->left->kind == EX_NAME && !name_table_get(&c->locals, e->left->name.text)) {
        const Decl *prompt = check_find_decl(c, e->left->name.text);
        decl = prompt ? agent_member(prompt, e->name.text) : NULL;
    }
    const bool is_name = e->kind == EX_NAME && !name_table_get(&c->locals, e->name.text);
    if (is_name) decl = check_find_decl(c, e->name.text);
    if (import && import->imported) decl = check_peek_imported(c, import, e->name.text);
    const Type *type = decl && decl->kind == DECL_ENUM ? decl->type : NULL;
    if (is_name && !decl) type = type_core_named(c, e->name.text);
    return type && type->kind == TYPE_ENUM ? type : NULL;
}

/* Enum.case or module.name, or NULL when the left side names neither. */
static const Type *infer_qualified(Check *c, Expr *e)
{
    const Type *type = check_enum_of(c, e->left);
    if (type) return check_case(c, e, type);
    const Decl *import = check_import_of(c, e->left);
    if (!import) return NULL;
    Decl *decl = check_find_imported(c, import, e->name, NAME_VALUE);
    return decl ? infer_decl_name(c, e, decl) : c->core->bad;
}

bool check_optional_left(Check *c, Expr *access)
{
    Expr *left = access->left;
    if (check_expr(c, left, NULL)->kind == TYPE_BAD) return false;
    flow_widen(left); /* as in ??, a second test is idle, not wrong */
    if (left->type->kind != TYPE_OPTIONAL) {
        Diag *diag = diag_error(c->diags, access->name.span, "%s is never null", left->type->name);
        diag_hint(c->diags, diag, "write .%s", access->name.text);
        fix_dot(c, diag, access, "?.", ".");
        return false;
    }
    if (c->body->kind == BODY_CONST) {
        diag_error(c->diags, access->name.span, "a constant is made of literals, operators and other constants");
        return false;
    }
    access->variable = check_add_variable(c, (Name){"_", left->span}, left->type->elem, false);
    return true;
}

/* left?.name: the field of what left is, or null. */
static const Type *infer_optional_field(Check *c, Expr *e)
{
    if (!check_optional_left(c, e)) return c->core->bad;
    const Type *type = e->left->type->elem;
    int index = type_find_field(type->fields, type->field_count, e->name.text);
    if (index < 0) return report_no_field(c, e, type);
    e->field_index = (uint32_t)index;
    return type_optional(c, type->fields[index].type);
}

static const Type *infer_field(Check *c, Expr *e)
{
    if (e->optional) return infer_optional_field(c, e);
    const Type *type = infer_qualified(c, e);
    if (type) return type;
    c->allow_any_error = expr_strip(e->left)->kind == EX_NAME;
    type = check_expr(c, e->left, NULL);
    c->allow_any_error = false;
    switch (type->kind) {
    case TYPE_BAD: return type;
    case TYPE_OPTIONAL: return check_null_access(c, e);
    case TYPE_ANY_ERROR:
        if (check_same_name(e->name.text, "message")) return c->core->string;
        Diag *diag = diag_error(c->diags, e->name.span, "an error of unknown kind has only '.message'");
        diag_hint(c->diags, diag, "catch one kind, or match on it first");
        return c->core->bad;
    default: break;
    }
    int index = type_find_field(type->fields, type->field_count, e->name.text);
    if (index < 0) return report_no_field(c, e, type);
    e->field_index = (uint32_t)index;
    e->type = type->fields[index].type;
    const Type *known = e->type->kind == TYPE_OPTIONAL ? flow_known(c, e) : NULL;
    return known ? known : e->type;
}

static const Type *infer_index(Check *c, Expr *e)
{
    const Type *type = check_expr(c, e->left, NULL);
    const CoreTypes *core = c->core;
    switch (type->kind) {
    case TYPE_LIST: check_expr_to(c, e->right, core->integer, (Why){0}); return type->elem;
    case TYPE_STRING: check_expr_to(c, e->right, core->integer, (Why){0}); return core->string;
    case TYPE_MAP: check_expr_to(c, e->right, type->key, (Why){0}); return type->elem;
    case TYPE_OPTIONAL: check_null_error(c, e->left); break;
    case TYPE_JSON: {
        Diag *diag = diag_error(c->diags, e->left->span, "json is opaque: it has no elements to index");
        diag_hint(c->diags, diag, "use .get(\"path\"), or decode it: let name: Type = value.decode()");
        break;
    }
    case TYPE_BAD: break;
    default: diag_error(c->diags, e->left->span, "%s has no elements to index", type->name);
    }
    check_expr(c, e->right, NULL);
    return core->bad;
}

/* ---- literals ---- */

static const Type *infer_string(Check *c, Expr *e)
{
    for (Expr *part = e->parts; part; part = part->next) {
        if (part->kind == EX_TEXT) {
            part->type = part->to = c->core->string;
            continue;
        }
        const Type *type = check_expr(c, part, NULL);
        check_reserved(c, e, part);
        if (type->kind == TYPE_OPTIONAL) {
            check_null_error(c, part);
        } else if (!type_is_printable(type) || type_has_handle(c, type)) {
            Diag *diag = diag_error(c->diags, part->span, "%s has no text form", type->name);
            if (type->kind == TYPE_ERROR) {
                diag_hint(c->diags, diag, "write .message");
                check_fix_behind(diag, part, ".message");
            }
        }
    }
    return c->core->string;
}

static const Type *report_mixed(Check *c, const Expr *first, const Expr *other, const char *what)
{
    Diag *diag = diag_error(c->diags, other->span, "%s of one type, but this is %s", what, other->type->name);
    diag_other(c->diags, diag, first->span, "this is %s", first->type->name);
    return c->core->bad;
}

/* The common type of a row of values: folded from the left, then every value is made to fit it. */
static const Type *infer_elements(Check *c, Arg *args)
{
    Expr *first = args->value;
    const Type *type = check_expr(c, first, NULL);
    for (Arg *arg = args->next; arg; arg = arg->next) {
        check_expr(c, arg->value, type_strip(type));
        if (type->kind == TYPE_BAD || arg->value->type->kind == TYPE_BAD) {
            type = c->core->bad;
            continue;
        }
        Expr folded = {.kind = EX_BAD, .type = type};
        bool literal = type->kind == TYPE_INT && is_int_literal(first);
        const Type *common = common_type(c, literal ? first : &folded, arg->value);
        if (!common) return report_mixed(c, first, arg->value, "the elements of a list are");
        type = common;
    }
    for (Arg *arg = args; arg && type->kind != TYPE_BAD; arg = arg->next) {
        if (check_coerce(c, arg->value, type)) continue;
        check_mismatch(c, arg->value, type, (Why){"the list's elements start here", first->span});
        return c->core->bad;
    }
    return type;
}

static const Type *report_unknown_elements(Check *c, const Expr *e, const char *shape)
{
    if (c->body->decl->generic) return c->core->bad; /* a copy may know */
    Diag *diag =
        diag_error(c->diags, e->span, "the type of this %s is not known here", e->kind == EX_LIST ? "list" : "map");
    diag_hint(c->diags, diag, "annotate it: let name: %s = …", shape);
    return c->core->bad;
}

static const Type *infer_list(Check *c, Expr *e, const Type *want)
{
    want = type_strip(want);
    if (want && want->kind == TYPE_JSON) return check_refuse_bare_json(c, e);
    if (want && want->kind == TYPE_LIST) {
        for (Arg *arg = e->args; arg; arg = arg->next) check_expr_to(c, arg->value, want->elem, (Why){0});
        return want;
    }
    if (!e->args) return report_unknown_elements(c, e, "list<string>");
    const Type *elem = infer_elements(c, e->args);
    if (elem->kind == TYPE_NULL) return report_unknown_elements(c, e, "list<string?>");
    return type_list(c, elem);
}

/* ---- maps ---- */

/* A bare name before ':' where the key is not a string: a variable, or a case of the enum that the keys are of. */
static bool refuse_bare_key(Check *c, Name name, const Type *key)
{
    bool is_case = false;
    for (uint32_t i = 0; i < key->case_count; i++) is_case |= strcmp(key->cases[i].name, name.text) == 0;
    Diag *diag = diag_error(c->diags, name.span, "a key that is not a string is written in brackets");
    diag_hint(c->diags, diag, "write [%s%s%s]: …", is_case ? key->name : "", is_case ? "." : "", name.text);
    return false;
}

static bool check_map_key(Check *c, MapEntry *entry, const Type *key)
{
    if (entry->name.text && key && (key->kind == TYPE_ENUM || key->kind == TYPE_INT))
        return refuse_bare_key(c, entry->name, key);
    if (entry->name.text) {
        Diag *diag = diag_error(c->diags, entry->name.span, "a map's key is written \"%s\"", entry->name.text);
        diag_hint(c->diags, diag, "for a record, name its type: Type(%s: …)", entry->name.text);
        return false;
    }
    if (key) return check_expr_to(c, entry->key, key, (Why){0});
    return check_expr(c, entry->key, NULL)->kind != TYPE_BAD;
}

static const Type *fill_map(Check *c, Expr *e, const Type *map)
{
    for (MapEntry *entry = e->entries; entry; entry = entry->next) {
        check_map_key(c, entry, map->key);
        check_expr_to(c, entry->value, map->elem, (Why){0});
    }
    return map;
}

/* Of a type that is known in copies only. */
static const Type *fill_open(Check *c, Expr *e, const Type *open)
{
    for (MapEntry *entry = e->entries; entry; entry = entry->next) {
        if (entry->key) check_expr(c, entry->key, NULL);
        check_expr(c, entry->value, NULL);
    }
    return open;
}

/* Without a wanted type the first entry decides. */
static const Type *infer_map(Check *c, Expr *e, const Type *want)
{
    want = type_strip(want);
    if (want && (want->kind == TYPE_RECORD || want->kind == TYPE_ERROR)) return check_build_from_braces(c, e, want);
    if (want && want->kind == TYPE_MAP) return fill_map(c, e, want);
    if (want && want->kind == TYPE_JSON) return check_refuse_bare_json(c, e);
    MapEntry *first = e->entries;
    if (c->body->decl->generic && want && want->kind == TYPE_BAD) return fill_open(c, e, want);
    if (!first) return report_unknown_elements(c, e, "map<string, int>");
    bool key_ok = check_map_key(c, first, NULL);
    const Type *elem = check_expr(c, first->value, NULL);
    if (!key_ok || elem->kind == TYPE_BAD) return c->core->bad;
    if (elem->kind == TYPE_NULL) return report_unknown_elements(c, e, "map<string, int?>");
    if (!type_is_key(first->key->type)) {
        diag_error(c->diags, first->key->span, "a map's keys are string, int or an enum, not %s",
                   first->key->type->name);
        return c->core->bad;
    }
    const Type *map = type_map(c, first->key->type, elem);
    for (MapEntry *entry = first->next; entry && map->kind == TYPE_MAP; entry = entry->next) {
        check_map_key(c, entry, map->key);
        check_expr_to(c, entry->value, map->elem, (Why){"the first value is here", first->value->span});
    }
    return map;
}

/* ---- operators ---- */

static const char *op_text(Op op)
{
    static const char *const texts[] = {
        [OP_OR] = "||", [OP_AND] = "&&", [OP_EQ] = "==",       [OP_NE] = "!=", [OP_LT] = "<",  [OP_LE] = "<=",
        [OP_GT] = ">",  [OP_GE] = ">=",  [OP_COALESCE] = "??", [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*",
        [OP_DIV] = "/", [OP_MOD] = "%",  [OP_NOT] = "!",       [OP_NEG] = "-",
    };
    return texts[op];
}

/* One operand is an int literal and the other a float: the literal is meant as a float. */
static void meet_float(Check *c, Expr *left, Expr *right)
{
    if (left->type->kind == TYPE_FLOAT && is_int_literal(right)) check_coerce(c, right, left->type);
    if (right->type->kind == TYPE_FLOAT && is_int_literal(left)) check_coerce(c, left, right->type);
}

/* The result of arithmetic on two kinds, or TYPE_BAD. */
static TypeKind arithmetic_kind(Op op, TypeKind a, TypeKind b)
{
    bool additive = op == OP_ADD || op == OP_SUB;
    if (a == b) {
        if (a == TYPE_INT) return TYPE_INT;
        if (a == TYPE_FLOAT) return TYPE_FLOAT;
        if (a == TYPE_DURATION && additive) return TYPE_DURATION;
        if (a == TYPE_TIME && op == OP_SUB) return TYPE_DURATION;
        if (a == TYPE_STRING && op == OP_ADD) return TYPE_STRING;
    }
    if (a == TYPE_DURATION && b == TYPE_INT && (op == OP_MUL || op == OP_DIV)) return TYPE_DURATION;
    if (a == TYPE_TIME && b == TYPE_DURATION && additive) return TYPE_TIME;
    return TYPE_BAD;
}

static const Type *scalar_type(const Check *c, TypeKind kind)
{
    switch (kind) {
    case TYPE_INT: return c->core->integer;
    case TYPE_FLOAT: return c->core->floating;
    case TYPE_DURATION: return c->core->duration;
    case TYPE_TIME: return c->core->time;
    default: return c->core->string;
    }
}

static const Type *report_operands(Check *c, const Expr *e, Op op, const Expr *left, const Expr *right)
{
    TypeKind a = left->type->kind, b = right->type->kind;
    if (a == TYPE_OPTIONAL || b == TYPE_OPTIONAL) {
        check_null_error(c, a == TYPE_OPTIONAL ? left : right);
        return c->core->bad;
    }
    Span span = e->op_span.len ? e->op_span : e->span;
    Diag *diag =
        diag_error(c->diags, span, "'%s' does not fit %s and %s", op_text(op), left->type->name, right->type->name);
    if ((a == TYPE_INT && b == TYPE_FLOAT) || (a == TYPE_FLOAT && b == TYPE_INT))
        diag_hint(c->diags, diag, "int and float do not mix; use .to_float() or .to_int()");
    else if (op == OP_ADD && (a == TYPE_STRING || b == TYPE_STRING))
        diag_hint(c->diags, diag, "put the value into the string: \"… ${value}\"");
    else if (op == OP_ADD && a == TYPE_LIST)
        diag_hint(c->diags, diag, "use .concat(…) or .push(…)");
    else if (op == OP_MUL && a == TYPE_INT && b == TYPE_DURATION)
        diag_hint(c->diags, diag, "write the duration first: 5s * n");
    return c->core->bad;
}

/* Requires both operands checked. e gives operator and place; it is a binary expression or an op-assignment's value. */
const Type *check_binary_type(Check *c, Expr *e, Expr *left, Expr *right)
{
    if (left->type->kind == TYPE_BAD || right->type->kind == TYPE_BAD) return c->core->bad;
    meet_float(c, left, right);
    TypeKind kind = arithmetic_kind(e->op, left->to->kind, right->to->kind);
    return kind == TYPE_BAD ? report_operands(c, e, e->op, left, right) : scalar_type(c, kind);
}

static const Type *infer_logic(Check *c, Expr *e)
{
    check_expr_to(c, e->left, c->core->boolean, (Why){0});
    const Facts *before = c->facts;
    flow_assume(c, e->left, e->op == OP_AND);
    check_expr_to(c, e->right, c->core->boolean, (Why){0});
    c->facts = before;
    return c->core->boolean;
}

static bool is_null(const Expr *e)
{
    return e->type->kind == TYPE_NULL;
}

static const Type *report_never_null(Check *c, const Expr *e)
{
    if (e->type->kind == TYPE_NULL)
        diag_error(c->diags, e->span, "null is always equal to null");
    else
        diag_error(c->diags, e->span, "%s is never null", e->type->name);
    return c->core->boolean;
}

/* Tests against null inspect the declared type: a second test of a narrowed name is idle, not wrong. */
static const Type *infer_null_test(Check *c, Expr *path, Expr *null)
{
    flow_widen(path);
    if (path->type->kind == TYPE_BAD) return c->core->boolean;
    if (path->type->kind != TYPE_OPTIONAL) return report_never_null(c, path);
    check_coerce(c, null, path->type);
    return c->core->boolean;
}

static const Type *infer_equality(Check *c, Expr *e)
{
    check_expr(c, e->left, NULL);
    check_expr(c, e->right, type_strip(e->left->type));
    if (is_null(e->right)) return infer_null_test(c, e->left, e->right);
    if (is_null(e->left)) return infer_null_test(c, e->right, e->left);
    if (check_unify(c, e->left, e->right)) return c->core->boolean;
    Diag *diag = diag_error(c->diags, e->op_span.len ? e->op_span : e->span, "%s and %s cannot be equal",
                            e->left->type->name, e->right->type->name);
    TypeKind a = e->left->type->kind, b = e->right->type->kind;
    if ((a == TYPE_INT && b == TYPE_FLOAT) || (a == TYPE_FLOAT && b == TYPE_INT))
        diag_hint(c->diags, diag, "int and float do not mix; use .to_float() or .to_int()");
    return c->core->boolean;
}

static const Type *infer_order(Check *c, Expr *e)
{
    const Type *left = check_expr(c, e->left, NULL), *right = check_expr(c, e->right, NULL);
    if (left->kind == TYPE_BAD || right->kind == TYPE_BAD) return c->core->boolean;
    meet_float(c, e->left, e->right);
    if (e->left->to != e->right->to || !type_is_ordered(e->left->to)) report_operands(c, e, e->op, e->left, e->right);
    return c->core->boolean;
}

static const Type *infer_coalesce(Check *c, Expr *e, const Type *want)
{
    bool known = want && want->kind != TYPE_BAD && want->kind != TYPE_NOTHING && want->kind != TYPE_NULL;
    const Type *left = check_expr(c, e->left, known ? type_optional(c, want) : NULL);
    flow_widen(e->left);
    left = e->left->type;
    if (left->kind == TYPE_BAD || left->kind == TYPE_NULL) return check_expr(c, e->right, want);
    if (left->kind != TYPE_OPTIONAL) {
        Diag *diag = diag_error(c->diags, e->left->span, "%s is never null", left->name);
        diag_hint(c->diags, diag, "remove ?? and what follows");
        uint32_t end = e->left->span.off + e->left->span.len;
        diag_fix(diag, (Span){end, e->span.off + e->span.len - end}, "");
        check_expr(c, e->right, left);
        return c->core->bad;
    }
    check_expr(c, e->right, left->elem);
    if (check_coerce(c, e->right, left->elem)) return left->elem;
    if (check_coerce(c, e->right, left)) return left;
    check_mismatch(c, e->right, left->elem, (Why){"this is the value it replaces", e->left->span});
    return c->core->bad;
}

static const Type *infer_binary(Check *c, Expr *e, const Type *want)
{
    switch (e->op) {
    case OP_OR:
    case OP_AND: return infer_logic(c, e);
    case OP_EQ:
    case OP_NE: return infer_equality(c, e);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return infer_order(c, e);
    case OP_COALESCE: return infer_coalesce(c, e, want);
    default: break;
    }
    check_expr(c, e->left, NULL);
    check_expr(c, e->right, NULL);
    return check_binary_type(c, e, e->left, e->right);
}

static const Type *infer_unary(Check *c, Expr *e)
{
    if (e->op == OP_NOT) {
        check_expr_to(c, e->left, c->core->boolean, (Why){0});
        return c->core->boolean;
    }
    const Type *type = check_expr(c, e->left, NULL);
    switch (type->kind) {
    case TYPE_BAD:
    case TYPE_INT:
    case TYPE_FLOAT:
    case TYPE_DURATION: return type;
    case TYPE_OPTIONAL: check_null_error(c, e->left); return c->core->bad;
    default: diag_error(c->diags, e->span, "'-' does not fit %s", type->name); return c->core->bad;
    }
}

static const Type *infer_if(Check *c, Expr *e, const Type *want)
{
    check_expr_to(c, e->cond, c->core->boolean, (Why){0});
    const Facts *before = c->facts;
    flow_assume(c, e->cond, true);
    check_expr(c, e->left, want);
    c->facts = before;
    flow_assume(c, e->cond, false);
    check_expr(c, e->right, want ? want : type_strip(e->left->type));
    c->facts = before;
    if (want && check_coerce(c, e->left, want) && check_coerce(c, e->right, want)) return want;
    const Type *type = check_unify(c, e->left, e->right);
    return type ? type : report_mixed(c, e->left, e->right, "both branches are");
}

/* ---- dispatch ---- */

static const Type *infer_paren(Check *c, Expr *e, const Type *want)
{
    const Type *type = check_expr(c, e->left, want);
    c->allow_any_error = false;
    return type;
}

static const Type *refuse_lambda(Check *c, const Expr *e)
{
    Diag *diag = diag_error(c->diags, e->span, "no inline function is taken here");
    diag_hint(c->diags, diag, "methods such as xs.map(x => x.name) take one, and parameters of the type fn(T) -> U");
    return c->core->bad;
}

static const Type *infer(Check *c, Expr *e, const Type *want)
{
    const CoreTypes *core = c->core;
    switch (e->kind) {
    case EX_BAD: return core->bad;
    case EX_NULL: return core->null;
    case EX_BOOL: return core->boolean;
    case EX_INT: return core->integer;
    case EX_FLOAT: return core->floating;
    case EX_DURATION: return core->duration;
    case EX_STRING: return infer_string(c, e);
    case EX_TEXT: return core->string;
    case EX_NAME: return infer_name(c, e);
    case EX_FIELD: return infer_field(c, e);
    case EX_INDEX: return infer_index(c, e);
    case EX_CALL: return check_call(c, e, want);
    case EX_BINARY: return infer_binary(c, e, want);
    case EX_UNARY: return infer_unary(c, e);
    case EX_LIST: return infer_list(c, e, want);
    case EX_MAP: return infer_map(c, e, want);
    case EX_JSON: return check_json(c, e);
    case EX_IF: return infer_if(c, e, want);
    case EX_PAREN: return infer_paren(c, e, want);
    case EX_YIELD: return check_yield(c, e, want);
    case EX_SPAWN: return check_spawn(c, e);
    case EX_LAMBDA: return refuse_lambda(c, e);
    case EX_PARALLEL: return check_parallel(c, e, want);
    case EX_PARALLEL_FOR: return check_parallel_for(c, e, want);
    case EX_RACE: return check_race(c, e);
    }
    return core->bad;
}

/* Only what keeps a secret whole may hold one. */
static bool carries_secrets(const Expr *e)
{
    switch (e->kind) {
    case EX_STRING:
    case EX_LIST:
    case EX_MAP:
    case EX_IF:
    case EX_PAREN:
    case EX_CALL: return true;
    case EX_BINARY: return e->op == OP_ADD || e->op == OP_COALESCE;
    default: return false;
    }
}

const Type *check_expr_or_nothing(Check *c, Expr *e, const Type *want)
{
    bool secret_ok = c->secret_ok;
    if (e->kind != EX_NAME && e->kind != EX_PAREN) c->allow_any_error = false;
    c->secret_ok = secret_ok && carries_secrets(e);
    e->type = infer(c, e, want);
    c->secret_ok = secret_ok;
    e->to = e->type;
    return e->type;
}

const Type *check_expr(Check *c, Expr *e, const Type *want)
{
    const Type *type = check_expr_or_nothing(c, e, want);
    if (type->kind != TYPE_NOTHING) return type;
    diag_error(c->diags, e->span, "a value is needed, but this gives none");
    e->type = e->to = c->core->bad;
    return e->type;
}

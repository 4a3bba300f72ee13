/* check_type.c: types as people write them, and the declarations that make new ones: records, errors, enums. */
#include "check_agent.h"
#include "check_internal.h"

/* ---- types as written ---- */

/* Names that other languages use for our types. */
static const char *name_elsewhere(const char *name)
{
    static const char *const pairs[][2] = {
        {"str", "string"},   {"text", "string"},  {"integer", "int"},   {"long", "int"},    {"boolean", "bool"},
        {"number", "float"}, {"double", "float"}, {"array", "list"},    {"vector", "list"}, {"dict", "map"},
        {"object", "map"},   {"any", "json"},     {"datetime", "time"}, {"List", "list"},   {"Map", "map"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (strcmp(pairs[i][0], name) == 0) return pairs[i][1];
    }
    return NULL;
}

/* How others call what gives no value. */
static bool means_nothing(const char *name)
{
    static const char *const names[] = {"void", "unit", "none", "None", "never"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static const Type *report_no_type(Check *c, const TypeExpr *written, const Decl *decl)
{
    Diag *diag =
        diag_error(c->diags, written->span, "'%s' is %s, not a type", decl->name.text, decl_kind_word(decl->kind));
    diag_other(c->diags, diag, decl->name.span, "declared here");
    return c->core->bad;
}

static bool declares_type(const Decl *decl)
{
    return decl->kind == DECL_TYPE || decl->kind == DECL_ENUM || decl->kind == DECL_ERROR;
}

static const Type *resolve_qualified(Check *c, const TypeExpr *written)
{
    const Decl *decl = check_find_qualified(c, written->qualifier, written->name, NAME_TYPE);
    if (!decl) return c->core->bad;
    if (!declares_type(decl)) return report_no_type(c, written, decl);
    return decl->type ? decl->type : c->core->bad;
}

static const Type *report_unknown_type(Check *c, const TypeExpr *written)
{
    const char *name = written->name.text;
    const Decl *decl = check_find_decl(c, name);
    if (decl) return decl->kind == DECL_BAD ? c->core->bad : report_no_type(c, written, decl);
    if (strcmp(name, "nothing") == 0) {
        Diag *diag = diag_error(c->diags, written->span, "'nothing' is allowed only in task<nothing>");
        diag_hint(c->diags, diag, "something that gives no value is declared without '->'");
        return c->core->bad;
    }
    if (means_nothing(name)) {
        Diag *diag = diag_error(c->diags, written->span, "unknown type '%s'", name);
        diag_hint(c->diags, diag,
                  "something that gives no value is declared without '->', and its task is a task<nothing>");
        return c->core->bad;
    }
    const char *near = name_elsewhere(name);
    if (!near) near = check_nearest_name(c, name, NAME_TYPE);
    if (near)
        diag_fix(diag_error(c->diags, written->span, "unknown type '%s'; did you mean '%s'?", name, near),
                 written->name.span, near);
    else
        diag_error(c->diags, written->span, "unknown type '%s'", name);
    return c->core->bad;
}

static const Type *resolve_named(Check *c, const TypeExpr *written)
{
    const char *name = written->name.text;
    if (written->qualifier.text) return resolve_qualified(c, written);
    if (!name) return c->core->bad;
    const Type *bound = generic_bound(c, written);
    if (bound) return bound;
    const Type *core = type_core_named(c, name);
    const Decl *decl = check_find_decl(c, name);
    const bool own = decl && declares_type(decl);
    if (core) c->has_handle_types |= type_is_descriptor(core->kind);
    const bool is_theirs = c->module->of_server && own; /* a server's tools give what its file says */
    if (core && !is_theirs && !(own && type_is_later(core))) return core;
    if (own) return decl->type ? decl->type : c->core->bad;
    if (strcmp(name, "list") == 0 || strcmp(name, "map") == 0) {
        diag_error(c->diags, written->span, "'%s' needs the type of its elements: %s", name,
                   *name == 'l' ? "list<T>" : "map<K, T>");
        return c->core->bad;
    }
    if (strcmp(name, "channel") == 0) {
        diag_error(c->diags, written->span, "'channel' needs the type of its messages: channel<T>");
        return c->core->bad;
    }
    if (strcmp(name, "Answer") == 0) {
        diag_error(c->diags, written->span, "'Answer' needs the type of its value: Answer<T>");
        return c->core->bad;
    }
    return report_unknown_type(c, written);
}

static uint32_t count_args(const TypeExpr *written)
{
    uint32_t count = 0;
    for (const TypeExpr *arg = written->args; arg; arg = arg->next) count++;
    return count;
}

static bool check_arity(Check *c, const TypeExpr *written, uint32_t want)
{
    uint32_t got = count_args(written);
    if (got == want) return true;
    diag_error(c->diags, written->span, "'%s' takes %u type%s, got %u", written->name.text, want, want == 1 ? "" : "s",
               got);
    return false;
}

static const Type *resolve_map(Check *c, const TypeExpr *written)
{
    const Type *key = check_type_expr(c, written->args), *elem = check_type_expr(c, written->args->next);
    if (type_is_key(key)) return type_map(c, key, elem);
    Diag *diag =
        diag_error(c->diags, written->args->span, "a map's keys are string, int or an enum, not %s", key->name);
    if (key->kind == TYPE_ENUM) diag_hint(c->diags, diag, "the cases of a key carry no values");
    return c->core->bad;
}

/* task<nothing> is the task of a workflow without a result; nothing is not a type anywhere else. */
static const Type *resolve_task(Check *c, const TypeExpr *written)
{
    const TypeExpr *arg = written->args;
    bool nothing =
        arg->kind == TYX_NAME && arg->name.text && !arg->qualifier.text && strcmp(arg->name.text, "nothing") == 0;
    return type_task(c, nothing ? c->core->nothing : check_type_expr(c, arg));
}

/* recv answers null when a channel is closed, so its messages are never null. */
static const Type *resolve_channel(Check *c, const TypeExpr *written)
{
    const Type *elem = check_type_expr(c, written->args);
    if (elem->kind == TYPE_BAD) return elem;
    if (elem->kind != TYPE_OPTIONAL) return type_channel(c, elem);
    Diag *diag = diag_error(c->diags, written->args->span,
                            "a channel cannot carry %s: recv answers null when it is closed", elem->name);
    diag_hint(c->diags, diag, "carry a record with a field of that type");
    return c->core->bad;
}

static const Type *resolve_answer(Check *c, const TypeExpr *written)
{
    const Type *value = check_type_expr(c, written->args);
    c->at = written->span;
    return type_answer(c, value);
}

static void report_no_generic(Check *c, const TypeExpr *written)
{
    const char *name = written->name.text, *near = name_elsewhere(name);
    if (!near && !type_core_named(c, name) && !check_find_decl(c, name))
        near = diag_nearest(name, strlen(name), (const char *[]){"list", "map", "task", "channel", "Answer"}, 5);
    if (near)
        diag_fix(diag_error(c->diags, written->span, "unknown type '%s'; did you mean '%s'?", name, near),
                 written->name.span, near);
    else
        diag_error(c->diags, written->span,
                   "'%s' takes no types; those that do are list<T>, map<K, T>, task<T>, channel<T> and Answer<T>",
                   name);
}

static const Type *resolve_generic(Check *c, const TypeExpr *written)
{
    const char *name = written->name.text;
    if (strcmp(name, "list") == 0)
        return check_arity(c, written, 1) ? type_list(c, check_type_expr(c, written->args)) : c->core->bad;
    if (strcmp(name, "map") == 0) return check_arity(c, written, 2) ? resolve_map(c, written) : c->core->bad;
    if (strcmp(name, "task") == 0) return check_arity(c, written, 1) ? resolve_task(c, written) : c->core->bad;
    if (strcmp(name, "channel") == 0) return check_arity(c, written, 1) ? resolve_channel(c, written) : c->core->bad;
    if (strcmp(name, "Answer") == 0) return check_arity(c, written, 1) ? resolve_answer(c, written) : c->core->bad;
    report_no_generic(c, written);
    return c->core->bad;
}

static const Type *refuse_function(Check *c, const TypeExpr *written)
{
    Diag *diag = diag_error(c->diags, written->span, "a function can only be a parameter of a fn");
    diag_hint(c->diags, diag, "a function is called or given to a fn; it is never kept, returned or recorded");
    return c->core->bad;
}

const Type *check_type_expr(Check *c, const TypeExpr *written)
{
    c->at = written->span;
    switch (written->kind) {
    case TYX_NAME: return resolve_named(c, written);
    case TYX_GENERIC: return resolve_generic(c, written);
    case TYX_FUNCTION: return refuse_function(c, written);
    case TYX_OPTIONAL: break;
    }
    const Type *inner = check_type_expr(c, written->args);
    if (inner->kind != TYPE_OPTIONAL) return type_optional(c, inner);
    diag_error(c->diags, written->span, "%s? is not a type; one '?' says all there is to say", inner->name);
    return c->core->bad;
}

/* ---- declared types ---- */

static uint32_t count_fields(const Field *fields)
{
    uint32_t count = 0;
    for (; fields; fields = fields->next) count++;
    return count;
}

void check_declare_types(Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = c->program->decls[i];
        TypeKind kind = decl->kind == DECL_TYPE    ? TYPE_RECORD
                        : decl->kind == DECL_ERROR ? TYPE_ERROR
                        : decl->kind == DECL_ENUM  ? TYPE_ENUM
                                                   : TYPE_BAD;
        if (decl->made_for) continue;
        decl->param_count = count_fields(decl->params);
        if (agent_is(decl)) agent_declare(c, decl);
        if (kind != TYPE_BAD && decl->name.text) decl->type = type_declare(c, kind, decl->full_name, decl);
    }
}

static void check_field_name(Check *c, Table *seen, const Field *f)
{
    if (!f->name.text) return;
    const Field *before = name_table_get(seen, f->name.text);
    if (!before) {
        name_table_put(c, seen, f->name.text, (Field *)f);
        return;
    }
    Diag *diag = diag_error(c->diags, f->name.span, "'%s' is declared twice", f->name.text);
    diag_other(c->diags, diag, before->name.span, "first declared here");
}

/* Types of a list of fields or parameters. */
void check_resolve_fields(Check *c, Field *fields)
{
    Table seen = {0};
    for (Field *f = fields; f; f = f->next) {
        check_field_name(c, &seen, f);
        f->type = !f->type_expr                                          ? c->core->bad
                  : c->function_ok && f->type_expr->kind == TYX_FUNCTION ? generic_function_type(c, f->type_expr)
                                                                         : check_type_expr(c, f->type_expr);
    }
}

static void copy_fields(TypeField *to, const Field *fields)
{
    for (const Field *f = fields; f; f = f->next) {
        *to++ = (TypeField){f->name.text ? f->name.text : "_", f->type, f->value, f->name.span, f->doc};
    }
}

static void fill_record(Check *c, Decl *decl, Type *type)
{
    check_resolve_fields(c, decl->params);
    CHECK(!type->fields);
    type->field_count = decl->param_count;
    type->fields = arena_alloc(c->arena, (decl->param_count + 1) * sizeof(TypeField));
    copy_fields(type->fields, decl->params);
}

static void fill_error(Check *c, Decl *decl, Type *type)
{
    check_resolve_fields(c, decl->params);
    type->field_count = decl->param_count + 1;
    type->fields = arena_alloc(c->arena, (decl->param_count + 1) * sizeof(TypeField));
    type->fields[0] = type_message_field(c, decl->name.text);
    copy_fields(type->fields + 1, decl->params);
    for (const Field *f = decl->params; f; f = f->next) {
        if (f->name.text && strcmp(f->name.text, "message") == 0)
            diag_error(c->diags, f->name.span, "every error has 'message' already");
    }
}

static void fill_case(Check *c, TypeCase *to, EnumCase *from)
{
    check_resolve_fields(c, from->fields);
    *to = (TypeCase){.name = from->name.text ? from->name.text : "_",
                     .has_fields = from->has_fields,
                     .span = from->name.span,
                     .doc = from->doc};
    to->field_count = count_fields(from->fields);
    to->fields = arena_alloc(c->arena, (to->field_count + 1) * sizeof(TypeField));
    copy_fields(to->fields, from->fields);
}

static void fill_enum(Check *c, Decl *decl, Type *type)
{
    Table seen = {0};
    uint32_t count = 0;
    for (const EnumCase *k = decl->cases; k; k = k->next) count++;
    type->cases = arena_alloc(c->arena, (count + 1) * sizeof(TypeCase));
    if (!count) diag_error(c->diags, decl->name.span, "an enum needs at least one case");
    for (EnumCase *k = decl->cases; k; k = k->next) {
        fill_case(c, &type->cases[type->case_count++], k);
        if (!k->name.text) continue;
        const EnumCase *before = name_table_get(&seen, k->name.text);
        if (before) {
            Diag *diag = diag_error(c->diags, k->name.span, "'%s' is declared twice", k->name.text);
            diag_other(c->diags, diag, before->name.span, "first declared here");
        }
        name_table_put(c, &seen, k->name.text, k);
    }
}

static void fill_types(Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = c->program->decls[i];
        Type *type = (Type *)decl->type;
        c->module = decl->module;
        if (!type || decl->made_for) continue;
        if (decl->kind == DECL_TYPE) fill_record(c, decl, type);
        if (decl->kind == DECL_ERROR) fill_error(c, decl, type);
        if (decl->kind == DECL_ENUM) fill_enum(c, decl, type);
    }
}

/* A value of a record holds its record fields directly, so a circle of them could never be built. */
typedef enum Visit { VISIT_NEW, VISIT_OPEN, VISIT_DONE } Visit;

typedef struct ContainWalk {
    Visit *visits; /* by type id */
    const Type **path;
    uint32_t *next; /* the field to inspect next, for each type of the path */
    uint32_t depth;
} ContainWalk;

static bool holds_fields_directly(const Type *type)
{
    return (type->kind == TYPE_RECORD || type->kind == TYPE_ERROR) && type->decl;
}

static void step_containment(Check *c, ContainWalk *walk)
{
    const Type *at = walk->path[walk->depth - 1];
    if (walk->next[walk->depth - 1] == at->field_count) {
        walk->visits[at->id] = VISIT_DONE;
        walk->depth--;
        return;
    }
    TypeField *field = &at->fields[walk->next[walk->depth - 1]++];
    if (!holds_fields_directly(field->type) || walk->visits[field->type->id] == VISIT_DONE) return;
    if (walk->visits[field->type->id] == VISIT_OPEN) {
        Diag *diag = diag_error(c->diags, field->span,
                                field->type == at ? "'%s' contains itself" : "'%s' contains itself by way of '%s'",
                                field->type->name, at->name);
        diag_hint(c->diags, diag, "use %s? or list<%s>", field->type->name, field->type->name);
        field->type = c->core->bad;
        return;
    }
    walk->visits[field->type->id] = VISIT_OPEN;
    CHECK(walk->depth < c->program->type_count);
    walk->path[walk->depth] = field->type;
    walk->next[walk->depth++] = 0;
}

static void check_containment(Check *c)
{
    uint32_t count = c->program->type_count;
    ContainWalk walk = {.visits = arena_alloc(c->arena, count * sizeof(Visit)),
                        .path = arena_alloc(c->arena, count * sizeof(Type *)),
                        .next = arena_alloc(c->arena, count * sizeof(uint32_t))};
    for (const Type *type = c->program->types; type; type = type->next) {
        if (!holds_fields_directly(type) || walk.visits[type->id] != VISIT_NEW) continue;
        walk.visits[type->id] = VISIT_OPEN;
        walk.path[0] = type;
        walk.next[0] = 0;
        walk.depth = 1;
        while (walk.depth) step_containment(c, &walk);
    }
}

void check_fill_types(Check *c)
{
    fill_types(c);
    check_containment(c);
}

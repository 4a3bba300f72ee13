/* check.c: the passes of the checker, in order: names, types, signatures, constants and defaults, tools and prompts,
 * bodies, errors, names that nothing uses. Each pass requires only what the ones before it made, so declarations may
 * be in any order. */
#include "check_agent.h"
#include "check_internal.h"
#include "trust.h"

#define CONST_DEPTH_MAX 100 /* constants that use constants declared behind them */

/* ---- tables of names ---- */

bool check_same_name(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

void *name_table_get(const Table *table, const char *name)
{
    const TableItem *item = name ? table_find(table, name, strlen(name)) : NULL;
    return item ? item->value : NULL;
}

void name_table_put(Check *c, Table *table, const char *name, void *value)
{
    table_add(c->arena, table, name, strlen(name))->value = value;
}

/* ---- names of declarations ---- */

static const char *nearest_own_name(Check *c, const char *name, NameUse use);

/* A pass goes over the declarations of all files; names mean what they mean in the file of each. */
static Decl *decl_at(Check *c, uint32_t i)
{
    c->module = c->program->decls[i]->module;
    c->place.off = c->program->decls[i]->span.off;
    return c->program->decls[i];
}

Decl *check_find_decl(const Check *c, const char *name)
{
    return name_table_get(&c->scopes[c->module->number], name);
}

const Decl *check_import_of(const Check *c, const Expr *e)
{
    if (e->kind != EX_NAME || name_table_get(&c->locals, e->name.text)) return NULL;
    Decl *decl = check_find_decl(c, e->name.text);
    if (!decl || decl->kind != DECL_IMPORT) return NULL;
    decl->used = true;
    return decl;
}

static void report_not_in_module(Check *c, const Module *module, Name name, NameUse use)
{
    const Module *here = c->module;
    c->module = module;
    const char *near = nearest_own_name(c, name.text, use);
    c->module = here;
    if (near)
        diag_replace(
            diag_error(c->diags, name.span, "no '%s' in %s; did you mean '%s'?", name.text, module->file, near), near);
    else
        diag_error(c->diags, name.span, "no '%s' in %s", name.text, module->file);
}

/* A module's own imports are its own affair. */
Decl *check_peek_imported(const Check *c, const Decl *import, const char *name)
{
    Decl *decl = import->imported ? name_table_get(&c->scopes[import->imported->number], name) : NULL;
    return decl && decl->kind != DECL_IMPORT ? decl : NULL;
}

Decl *check_find_imported(Check *c, const Decl *import, Name name, NameUse use)
{
    Decl *decl = check_peek_imported(c, import, name.text);
    if (!decl && import->imported && name.text) report_not_in_module(c, import->imported, name, use);
    return decl;
}

Decl *check_find_qualified(Check *c, Name module, Name name, NameUse use)
{
    Decl *import = check_find_decl(c, module.text);
    if (import && import->kind == DECL_IMPORT) {
        import->used = true;
        return check_find_imported(c, import, name, use);
    }
    Decl *member = import && name.text ? agent_member(import, name.text) : NULL;
    if (member) return member;
    if (import)
        diag_error(c->diags, module.span, "'%s' is %s, not a module", module.text, decl_kind_word(import->kind));
    else
        diag_error(c->diags, module.span, "unknown module '%s'", module.text);
    return NULL;
}

const char *decl_kind_word(DeclKind kind)
{
    static const char *const words[] = {
        [DECL_BAD] = "a declaration",   [DECL_IMPORT] = "an import", [DECL_CONST] = "a constant",
        [DECL_TYPE] = "a type",         [DECL_ERROR] = "an error",   [DECL_ENUM] = "an enum",
        [DECL_TOOL] = "a tool",         [DECL_PROMPT] = "a prompt",  [DECL_FN] = "a fn",
        [DECL_WORKFLOW] = "a workflow", [DECL_TEST] = "a test",      [DECL_SANDBOX] = "a sandbox",
    };
    return words[kind];
}

typedef struct Candidates {
    const char **names;
    uint32_t count, cap;
} Candidates;

static void add_candidate(Check *c, Candidates *list, const char *name)
{
    list->names = arena_grow(c->arena, list->names, &list->cap, list->count + 1, sizeof *list->names);
    list->names[list->count++] = name;
}

static bool decl_serves(DeclKind kind, NameUse use)
{
    switch (kind) {
    case DECL_CONST: return use == NAME_VALUE;
    case DECL_TYPE: return use == NAME_CALL || use == NAME_TYPE;
    case DECL_ENUM: return use == NAME_VALUE || use == NAME_TYPE;
    case DECL_ERROR: return use != NAME_VALUE && use != NAME_SANDBOX;
    case DECL_TOOL:
    case DECL_PROMPT:
    case DECL_FN:
    case DECL_WORKFLOW: return use == NAME_CALL;
    case DECL_SANDBOX: return use == NAME_SANDBOX;
    default: return false;
    }
}

static void add_builtin_candidates(Check *c, Candidates *list, NameUse use)
{
    static const char *const makers[] = {"list", "map", "task", "channel"};
    const char *effects[BI_COUNT];
    size_t count = use == NAME_CALL ? builtin_effect_names(effects) : 0;
    for (size_t i = 0; i < count; i++) add_candidate(c, list, effects[i]);
    for (size_t i = 0; use == NAME_TYPE && i < sizeof makers / sizeof *makers; i++) add_candidate(c, list, makers[i]);
    const char *const *given = sandbox_given_names();
    for (; use == NAME_SANDBOX && *given; given++) add_candidate(c, list, *given);
    for (const Type *type = type_next_core(c, NULL); type; type = type_next_core(c, type)) {
        bool is_error = type->kind == TYPE_ERROR;
        bool fits = is_error ? use == NAME_CALL || use == NAME_TYPE || use == NAME_ERROR : use == NAME_TYPE;
        if (fits) add_candidate(c, list, type->name);
    }
}

static void add_own_candidates(Check *c, Candidates *list, NameUse use)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        const Decl *decl = c->program->decls[i];
        if (decl->module == c->module && decl->name.text && decl_serves(decl->kind, use))
            add_candidate(c, list, decl->name.text);
    }
}

static const char *nearest_own_name(Check *c, const char *name, NameUse use)
{
    Candidates list = {0};
    if (c->diags->errors > c->diags->limit) return NULL;
    add_own_candidates(c, &list, use);
    return diag_nearest(name, strlen(name), list.names, list.count);
}

const char *check_nearest_name(Check *c, const char *name, NameUse use)
{
    Candidates list = {0};
    if (c->diags->errors > c->diags->limit) return NULL;
    for (uint32_t i = 0; use == NAME_VALUE && i < c->undo_count; i++) add_candidate(c, &list, c->undo[i].name);
    add_own_candidates(c, &list, use);
    add_builtin_candidates(c, &list, use);
    return diag_nearest(name, strlen(name), list.names, list.count);
}

const char *check_nearest_field(Check *c, const char *name, const TypeField *fields, uint32_t count)
{
    Candidates list = {0};
    if (c->diags->errors > c->diags->limit) return NULL;
    for (uint32_t i = 0; i < count; i++) add_candidate(c, &list, fields[i].name);
    return diag_nearest(name, strlen(name), list.names, list.count);
}

/* ---- pass 1: names ---- */

/* Effects that the language gained when programs could have declared their names already: theirs hides ours. */
static bool is_later_effect(const Builtin *effect)
{
    switch (effect->id) {
    case BI_READ_BYTES:
    case BI_WRITE_BYTES:
    case BI_LIST_FILES:
    case BI_CODE_MAP:
    case BI_CODE_SYMBOLS:
    case BI_CODE_OUTLINE:
    case BI_CODE_REFERENCES:
    case BI_BUDGET:
    case BI_EXISTS:
    case BI_REMOVE_FILE:
    case BI_LAND:
    case BI_MAKE_DIR:
    case BI_ENV:
    case BI_ZONE: return true;
    default: return false;
    }
}

static bool is_taken_name(const Check *c, const Decl *decl)
{
    static const char *const generics[] = {"list", "map", "task", "channel"};
    const char *name = decl->name.text;
    const Builtin *effect = builtin_effect(name);
    if (decl->kind == DECL_SANDBOX && sandbox_given(name)) return true;
    const Type *core = type_core_named(c, name);
    if ((core && !type_is_later(core)) || (effect && !is_later_effect(effect))) return true;
    bool is_type = decl->kind == DECL_TYPE || decl->kind == DECL_ENUM || decl->kind == DECL_ERROR;
    for (size_t i = 0; is_type && i < sizeof generics / sizeof *generics; i++) {
        if (strcmp(generics[i], name) == 0) return true;
    }
    return false;
}

static void declare_name(Check *c, Decl *decl)
{
    if (!decl->name.text) return;
    const Decl *before = check_find_decl(c, decl->name.text);
    if (before) {
        Diag *diag = diag_error(c->diags, decl->name.span, "'%s' is declared twice", decl->name.text);
        diag_other(c->diags, diag, before->name.span, "first declared here");
        return;
    }
    if (!c->module->of_server && is_taken_name(c, decl)) {
        diag_error(c->diags, decl->name.span, "'%s' is built in; choose another name", decl->name.text);
    }
    name_table_put(c, &c->scopes[c->module->number], decl->name.text, decl);
}

/* What the program as a whole calls a declaration. */
static void name_decl(Check *c, Decl *decl, Module *module)
{
    decl->module = module;
    decl->full_name = decl->c_name = decl->name.text;
    if (!module->number || !decl->name.text) return;
    decl->full_name = arena_printf(c->arena, "%s.%s", module->name, decl->name.text);
    decl->c_name = arena_printf(c->arena, "%um_%s", module->number, decl->name.text);
}

void check_add_decl(Check *c, Decl *decl)
{
    Program *program = c->program;
    program->decls =
        arena_grow(c->arena, program->decls, &c->decl_cap, program->decl_count + 1, sizeof *program->decls);
    program->decls[program->decl_count++] = decl;
}

static void collect_decls(Check *c, Module *module)
{
    c->module = module;
    for (Decl *decl = module->decls; decl; decl = decl->next) {
        check_add_decl(c, decl);
        name_decl(c, decl, module);
        if (decl->kind == DECL_IMPORT && !decl->imported && !c->diags->errors)
            diag_error(c->diags, decl->span, "an import needs a program that is made of files");
        if (decl->kind != DECL_TEST && decl->kind != DECL_BAD) declare_name(c, decl);
    }
}

static void collect_modules(Check *c)
{
    uint32_t count = 0;
    for (const Module *module = c->program->modules; module; module = module->next, count++)
        CHECK(module->number == count); /* it indexes the scopes */
    c->scopes = arena_alloc(c->arena, count * sizeof *c->scopes);
    for (Module *module = c->program->modules; module; module = module->next) collect_decls(c, module);
}

/* ---- pass 2: signatures ---- */

static void refuse_handles(Check *c, const Field *params, const TypeExpr *result, const Type *result_type,
                           const char *where)
{
    for (const Field *f = params; f; f = f->next) {
        if (f->type && type_has_handle(c, f->type))
            diag_error(c->diags, f->span,
                       "%s cannot be passed to %s: tasks, channels and descriptors stay inside a run", f->type->name,
                       where);
    }
    if (result && type_has_handle(c, result_type))
        diag_error(c->diags, result->span,
                   "%s cannot come out of %s: tasks, channels and descriptors stay inside a run", result_type->name,
                   where);
}

static const Type *default_result(const Check *c, const Decl *decl)
{
    return decl->kind == DECL_PROMPT ? c->core->string
                                     : c->core->nothing; /* a prompt's answer is text unless it says more */
}

static void resolve_fails(Check *c, Decl *decl)
{
    const ErrorSet *set = errors_empty();
    for (CatchName *n = decl->fails; n; n = n->next) {
        n->type = check_error_name(c, n);
        if (n->type->kind == TYPE_BAD) continue;
        if (errors_is_checked(c, n->type)) {
            if (errors_has(set, n->type)) diag_error(c->diags, n->name.span, "'%s' is listed twice", n->name.text);
            set = errors_add(c, set, n->type);
            continue;
        }
        Diag *diag = diag_error(c->diags, n->name.span, "'%s' is always possible and not listed", n->name.text);
        diag_hint(c->diags, diag, "'fails' lists declared errors and Denied");
    }
    decl->errors = set;
}

static void register_workflow(Check *c, Decl *decl)
{
    resolve_fails(c, decl);
    WorkflowErrors *errors = errors_register(c, decl);
    if (decl->name.text && check_find_decl(c, decl->name.text) == decl)
        name_table_put(c, &c->workflows, decl->full_name, errors);
}

/* Labels are inferred; written are only the two that nobody could infer. */
static void check_labels(Check *c, const Decl *decl)
{
    for (const Field *f = decl->params; f; f = f->next)
        if (f->label == LABEL_UNTRUSTED && decl->kind != DECL_WORKFLOW && decl->kind != DECL_PROMPT)
            diag_error(
                c->diags, f->label_span,
                "only a parameter of a workflow or a prompt is declared untrusted; elsewhere the compiler knows it");
    if (decl->result_label == LABEL_NONE || (decl->kind == DECL_TOOL && decl->result_label == LABEL_TRUSTED)) return;
    Diag *diag = diag_error(c->diags, decl->result_label_span, "only the result of a tool is declared trusted");
    if (decl->kind == DECL_TOOL)
        diag_hint(c->diags, diag, "a tool's result is untrusted unless its author vouches for it");
}

static void resolve_signature(Check *c, Decl *decl)
{
    c->function_ok = decl->kind == DECL_FN;
    c->bindings = c->function_ok ? generic_open(c, decl) : NULL;
    generic_keep_open(c, decl, c->bindings);
    check_labels(c, decl);
    check_resolve_fields(c, decl->params);
    decl->type = decl->result ? check_type_expr(c, decl->result) : default_result(c, decl);
    c->function_ok = false;
    c->bindings = NULL;
    if (decl->kind == DECL_TOOL) refuse_handles(c, decl->params, decl->result, decl->type, "a tool");
    if (decl->kind == DECL_PROMPT) refuse_handles(c, decl->params, decl->result, decl->type, "a prompt");
    if (decl->kind != DECL_WORKFLOW) return;
    register_workflow(c, decl);
    if (decl->full_name && strcmp(decl->full_name, "main") == 0)
        refuse_handles(c, decl->params, decl->result, decl->type, "the workflow a run starts with");
}

static bool has_signature(const Decl *decl)
{
    return decl->kind == DECL_TOOL || decl->kind == DECL_PROMPT || decl->kind == DECL_FN || decl->kind == DECL_WORKFLOW;
}

/* ---- pass 3: constants and defaults ---- */

static const Type *check_const_value(Check *c, Decl *decl)
{
    Body body = {.kind = BODY_CONST, .decl = decl}, *outer = c->body;
    const Module *from = c->module;
    c->module = decl->module;
    const Type *type = decl->result ? check_type_expr(c, decl->result) : NULL;
    c->body = &body;
    if (!decl->value) {
        type = c->core->bad;
    } else if (type) {
        check_expr_to(c, decl->value, type, (Why){"annotated here", decl->result->span});
    } else {
        type = check_expr(c, decl->value, NULL);
        if (type->kind == TYPE_NULL) {
            diag_error(c->diags, decl->value->span, "the type of '%s' is not known; annotate it", decl->name.text);
            type = c->core->bad;
        }
    }
    c->body = outer;
    c->module = from;
    return type;
}

/* Checks a constant where it is first needed; a circle is found by meeting one that is still open. */
const Type *check_const(Check *c, Decl *decl)
{
    if (decl->type) return decl->type;
    if (name_table_get(&c->consts_open, decl->full_name)) {
        diag_error(c->diags, decl->name.span, "the constant '%s' needs itself", decl->name.text);
        return decl->type = c->core->bad;
    }
    if (c->const_depth == CONST_DEPTH_MAX) {
        diag_error(c->diags, decl->name.span, "constants use each other more than %d deep; declare them in order",
                   CONST_DEPTH_MAX);
        return decl->type = c->core->bad;
    }
    c->const_depth++;
    name_table_put(c, &c->consts_open, decl->full_name, decl);
    const Type *type = check_const_value(c, decl);
    name_table_put(c, &c->consts_open, decl->full_name, NULL);
    c->const_depth--;
    if (!decl->type) decl->type = type;
    return decl->type;
}

static void check_defaults(Check *c, Decl *decl, Field *fields)
{
    Body body = {.kind = BODY_CONST, .decl = decl};
    c->body = &body;
    for (Field *f = fields; f; f = f->next) {
        if (f->value) check_expr_to(c, f->value, f->type, (Why){"declared here", f->name.span});
    }
    c->body = NULL;
}

/* The fields of an enum's case are written as parameters are. */
static void refuse_labels(Check *c, const Field *fields)
{
    for (const Field *f = fields; f; f = f->next)
        if (f->label) diag_error(c->diags, f->label_span, "a field of an enum has no label; a parameter may have one");
}

static void check_constants(Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (decl->kind == DECL_CONST && decl->name.text) check_const(c, decl);
    }
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (decl->made_for) continue;
        check_defaults(c, decl, decl->params);
        for (EnumCase *k = decl->cases; k; k = k->next) {
            refuse_labels(c, k->fields);
            check_defaults(c, decl, k->fields);
        }
    }
}

/* ---- the passes ---- */

static void write_agents(Check *c)
{
    const uint32_t count = c->program->decl_count; /* what is made is behind it */
    for (uint32_t i = 0; i < count; i++) {
        Decl *decl = decl_at(c, i);
        if (!decl->agent) continue;
        resolve_fails(c, decl);
        agent_write(c, decl);
        if (decl->agent->loop->block)
            name_table_put(c, &c->workflows, decl->full_name, errors_register(c, decl->agent->loop));
    }
    bool circle = false;
    for (uint32_t i = 0; i < count && !circle; i++)
        if (c->program->decls[i]->agent) circle = agent_refuse_circle(c, decl_at(c, i));
}

static void check_signatures(Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (has_signature(decl)) resolve_signature(c, decl);
    }
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (decl->kind == DECL_SANDBOX) check_sandbox(c, decl);
    }
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (!decl->made_for && (decl->kind == DECL_TOOL || decl->kind == DECL_PROMPT)) check_attrs(c, decl);
        if (decl->is_server) check_server_attrs(c, decl);
    }
    write_agents(c);
}

static void check_bodies(Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (decl->is_server) check_server(c, decl);
        if (decl->kind == DECL_TOOL) check_tool(c, decl);
        if (decl->kind == DECL_PROMPT && !decl->agent) check_prompt(c, decl);
        if (decl->origin)
            generic_check_copy(c, decl);
        else if ((decl->kind == DECL_FN && !decl->lambda) || decl->kind == DECL_WORKFLOW)
            check_body(c, decl);
        if (decl->kind == DECL_TEST) check_test(c, decl);
    }
}

/* Servers tell their clients so of what they offer, which is documented. */
static void note_reading(Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        Decl *decl = decl_at(c, i);
        if (decl->kind == DECL_WORKFLOW && decl->doc) decl->reads = agent_reads(c, decl);
    }
}

/* What the passes behind this one rely on when nothing was reported. */
static void check_is_complete(const Check *c)
{
    for (uint32_t i = 0; i < c->program->decl_count; i++) {
        const Decl *decl = c->program->decls[i];
        CHECK(decl->kind != DECL_BAD);
        CHECK(decl->kind == DECL_IMPORT || decl->generic || (decl->type && decl->type->kind != TYPE_BAD));
    }
}

Program *check_program(Module *module, const SourceSet *sources, Arena *arena, DiagList *diags)
{
    return trust_check_program(module, sources, arena, diags, NULL);
}

Program *trust_check_program(Module *module, const SourceSet *sources, Arena *arena, DiagList *diags,
                             TrustReport *report)
{
    Program *program = arena_new(arena, Program);
    Check check = {.program = program, .arena = arena, .diags = diags, .core = &program->core};
    program->modules = module;
    program->sources = sources;
    program->arena = arena;
    check.place.sources = sources;
    bug_compiles(&check.place);
    diag_init(&check.idle, arena, sources);
    type_init_core(&check);
    collect_modules(&check);
    check_declare_types(&check);
    check_fill_types(&check);
    check_signatures(&check);
    check_constants(&check);
    check_bodies(&check);
    errors_solve(&check);
    CHECK(!check.undo_count && !check.const_depth); /* every scope was left */
    if (!diags->errors) {
        check_is_complete(&check);
        note_reading(&check);
        check_trust(&check, report);
        check_unused(&check);
        check_flags(&check);
        if (report && !diags->errors) trust_finish(program, diags, report);
    }
    bug_compiles(NULL);
    return program;
}

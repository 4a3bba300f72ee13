/* lower.c: declarations → machines.
 *
 * Requires a program that check found right. Keeps: one line number per instruction, and the rule of machine.h that
 * every variable a statement touched is used by its IN_END (or by the end of its block), so that nothing borrowed
 * outlives its owner. */
#include <string.h>

#include "../dsl/agent.h"
#include "lower.h"

/* ---- routines ---- */

/* Where errors of the whole routine arrive: its undo entries run before it fails. */
static MBlock *outermost_landing(Lower *l, bool undoes)
{
    l->routine->failed = lower_landing(l);
    l->unwind = undoes ? lower_landing(l) : NULL;
    return l->unwind ? l->unwind : l->routine->failed;
}

static void open_routine(Lower *l, Machine *machine, RoutineKind kind, const char *name, const Decl *decl,
                         const Type *result, Span span)
{
    *l = (Lower){.machine = machine, .arena = machine->arena};
    l->line = source_global_line(machine->program->sources, span.off);
    l->routine = machine_routine(machine, kind, name, decl, result, l->line);
    if (kind == ROUTINE_WORKFLOW) l->routine->label = decl->full_name;
    uint32_t count = decl ? decl->variable_count : 0;
    l->by_id = arena_alloc(l->arena, (count + 1) * sizeof *l->by_id);
    l->routine->entry = machine_block(l->routine);
    l->landing = outermost_landing(l, decl && kind == ROUTINE_WORKFLOW && decl->undoes);
    lower_begin(l, l->routine->entry);
}

/* Closures are named after what they are in: main.a, main.a.undo; and numbered where that is not enough. No name
 * in a program starts with a digit, so those of closures in C do. */
void lower_open_closure(Lower *l, const Lower *outer, const Closure *closure, const char *name)
{
    Machine *machine = outer->machine;
    const Decl *decl = outer->routine->decl;
    const char *label = arena_printf(machine->arena, "%s.%s", outer->routine->label, name);
    uint32_t ordinal = machine_ordinal(machine, label);
    if (ordinal > 1) label = arena_printf(machine->arena, "%s%u", label, ordinal);
    *l = (Lower){.machine = machine, .arena = machine->arena, .line = outer->line};
    const char *base = outer->routine->test ? outer->routine->name : decl->name.text;
    const char *symbol = arena_printf(machine->arena, "%u_%s", machine->routine_count, base);
    l->routine = machine_routine(machine, ROUTINE_WORKFLOW, symbol, decl, closure->result, l->line);
    l->routine->label = label;
    l->routine->closure = closure;
    l->routine->test = outer->routine->test;
    l->by_id = arena_alloc(l->arena, (decl->variable_count + 1) * sizeof *l->by_id);
    l->routine->entry = machine_block(l->routine);
    l->landing = outermost_landing(l, closure->undoes);
    lower_begin(l, l->routine->entry);
}

void lower_param(Lower *l, const Variable *variable)
{
    Var *var = machine_var(l->routine, VAR_PARAM, variable->type, machine_rep(variable->type),
                           lower_unique_name(l, variable->name, variable->id));
    var->label = variable->name;
    CHECK(!l->by_id[variable->id]);
    l->by_id[variable->id] = var;
    l->routine->param_count++;
    lower_keep(l, variable);
}

static void add_params(Lower *l, const Decl *decl)
{
    for (const Field *f = decl->params; f; f = f->next) lower_param(l, f->variable);
}

void lower_close_routine(Lower *l)
{
    lower_keep_end(l, 0);
    CHECK(!l->scope && !l->inline_depth);
    if (l->cur) CHECK(lower_is_idle(l));
    if (l->cur) lower_end_block(l, TERM_RETURN);
    l->landing = l->routine->failed;
    if (l->unwind) {
        lower_begin(l, l->unwind);
        lower_unwind(l, val_int(l, 0));
        lower_raise(l, l->routine->failed);
    }
    l->landing = NULL;
    lower_begin(l, l->routine->failed);
    lower_end_block(l, TERM_FAILED);
}

static void lower_body(Machine *machine, RoutineKind kind, const char *name, const Decl *decl)
{
    Lower l;
    CHECK(decl->type && decl->type->kind != TYPE_BAD);
    open_routine(&l, machine, kind, name, decl, decl->type, decl->span);
    l.routine->test = decl->kind == DECL_TEST;
    add_params(&l, decl);
    lower_block(&l, decl->block);
    lower_close_routine(&l);
}

/* A test is a workflow. Its name is free text, so in C it goes by a number. */
static void lower_test(Machine *machine, const Decl *decl)
{
    if (!machine->tests || decl->module->number) return; /* an imported file has its tests for itself */
    uint32_t number = 1;
    for (uint32_t i = 0; i < machine->routine_count; i++) number += machine->routines[i]->test;
    lower_body(machine, ROUTINE_WORKFLOW, arena_printf(machine->arena, "0_%u", number), decl);
}

/* A routine that computes one expression. */
static Routine *lower_value_routine(Machine *machine, RoutineKind kind, const char *name, const Decl *decl,
                                    const Expr *value)
{
    Lower l;
    CHECK(value->to && value->to->kind != TYPE_BAD);
    open_routine(&l, machine, kind, name, decl, value->to, value->span);
    if (decl && kind == ROUTINE_HOOK) add_params(&l, decl);
    lower_instr(&l, IN_RESULT, NULL, lower_expr(&l, value))->type = value->to;
    lower_end(&l);
    lower_end_block(&l, TERM_RETURN);
    lower_close_routine(&l);
    return l.routine;
}

/* An inline function that a fn was given. Its variables are those of the declaration it is in. */
static void lower_lambda(Machine *machine, const Decl *decl)
{
    Lower l;
    const Expr *e = decl->lambda;
    open_routine(&l, machine, ROUTINE_FN, decl->c_name, decl->around, decl->type, decl->span);
    lower_param(&l, e->variable);
    if (e->variable2) lower_param(&l, e->variable2);
    for (uint32_t i = 0; i < decl->capture_count; i++) lower_param(&l, decl->captures[i]);
    lower_instr(&l, IN_RESULT, NULL, lower_expr(&l, e->left))->type = decl->type;
    lower_end(&l);
    lower_end_block(&l, TERM_RETURN);
    lower_close_routine(&l);
}

static void add_hook(Machine *machine, const void *owner, const char *what, const Decl *decl, const char *name,
                     const Expr *value)
{
    const char *full = arena_printf(machine->arena, "%s_%s", what, name);
    machine_add_hook(machine, owner, what, lower_value_routine(machine, ROUTINE_HOOK, full, decl, value));
}

/* Defaults of parameters and fields: the runtime needs them when it decodes JSON. */
static void lower_defaults(Machine *machine, const char *owner, const Field *fields)
{
    for (const Field *f = fields; f; f = f->next) {
        if (f->value && !machine_hook(machine, f->value, "default"))
            add_hook(machine, f->value, "default", NULL, arena_printf(machine->arena, "%s_%s", owner, f->name.text),
                     f->value);
    }
}

/* A fn is never called from outside, unless a model is offered it. */
static void lower_offered(Machine *machine, const Agent *agent)
{
    for (uint32_t i = 0; i < agent->target_count; i++) {
        const Decl *decl = agent->targets[i].decl;
        if (decl && decl->kind == DECL_FN) lower_defaults(machine, decl->c_name, decl->params);
    }
}

/* The argv of an exec tool, or the request line of an http tool, and what is after it, under the names of
 * TfyTool's members. */
static void lower_provider(Machine *machine, const Decl *decl)
{
    static const char *const options[][2] = {
        {"stdin", "input"}, {"cwd", "cwd"}, {"env", "env"}, {"body", "input"}, {"headers", "env"}};
    const Expr *value = decl->provider == PROV_HTTP ? decl->pieces : decl->provider_value;
    add_hook(machine, decl, "argv", decl, decl->c_name, value);
    for (const ProviderOption *option = decl->options; option; option = option->next)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strcmp(option->name.text, options[i][0]) == 0)
                add_hook(machine, decl, options[i][1], decl, decl->c_name, option->value);
}

/* How an MCP server is started, or its address, and what is after it, under the names of TfyMcpServer's members. */
static void lower_server(Machine *machine, const Decl *decl)
{
    static const char *const options[][2] = {{"cwd", "cwd"}, {"env", "env"}, {"headers", "env"}};
    add_hook(machine, decl, decl->provider == PROV_HTTP ? "url" : "argv", decl, decl->c_name, decl->provider_value);
    for (const ProviderOption *option = decl->options; option; option = option->next)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strcmp(option->name.text, options[i][0]) == 0)
                add_hook(machine, decl, options[i][1], decl, decl->c_name, option->value);
}

static void lower_prompt(Machine *machine, const Decl *decl)
{
    static const char *const rows[] = {"model", "system", "user"};
    for (const PromptRow *row = decl->rows; row; row = row->next)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(row->name.text, rows[i]) == 0) add_hook(machine, decl, rows[i], decl, decl->c_name, row->value);
    if (decl->files) add_hook(machine, decl, "files", decl, decl->c_name, decl->files);
}

static void lower_const_decl(Machine *machine, const Decl *decl)
{
    Lower l = {.machine = machine, .arena = machine->arena};
    if (!lower_folds(&l, decl)) lower_value_routine(machine, ROUTINE_CONST, decl->c_name, decl, decl->value);
}

static void lower_decl(Machine *machine, const Decl *decl)
{
    const char *name = decl->c_name;
    switch (decl->kind) {
    case DECL_CONST: lower_const_decl(machine, decl); return;
    case DECL_TYPE:
    case DECL_ERROR: lower_defaults(machine, name, decl->params); return;
    case DECL_ENUM:
        if (decl->made_for) { /* the other defaults of what a model is offered are there */
            lower_offered(machine, decl->made_for->agent);
            return;
        }
        for (const EnumCase *c = decl->cases; c; c = c->next)
            lower_defaults(machine, arena_printf(machine->arena, "%s_%s", name, c->name.text), c->fields);
        return;
    case DECL_TOOL:
        lower_defaults(machine, name, decl->params);
        if (decl->provider == PROV_EXEC || decl->provider == PROV_HTTP) lower_provider(machine, decl);
        return;
    case DECL_PROMPT:
        if (decl->agent) return; /* its loop is a workflow */
        lower_defaults(machine, name, decl->params);
        lower_prompt(machine, decl);
        return;
    case DECL_FN:
        if (decl->lambda)
            lower_lambda(machine, decl);
        else if (!decl->generic)
            lower_body(machine, ROUTINE_FN, name, decl);
        return;
    case DECL_WORKFLOW:
        lower_defaults(machine, name, decl->params);
        lower_body(machine, ROUTINE_WORKFLOW, name, decl);
        return;
    case DECL_TEST: lower_test(machine, decl); return;
    case DECL_IMPORT:
        if (decl->is_server) lower_server(machine, decl);
        return;
    default: return;
    }
}

Machine *lower_program(const Program *program, const LowerOptions *options, Arena *arena)
{
    Machine *machine = arena_new(arena, Machine);
    machine->program = program;
    machine->tests = options->tests;
    machine->debug = options->debug;
    machine->arena = arena;
    machine->place.sources = program->sources;
    bug_compiles(&machine->place);
    for (uint32_t i = 0; i < program->decl_count; i++) {
        machine->place.off = program->decls[i]->span.off;
        lower_decl(machine, program->decls[i]);
    }
    return machine;
}

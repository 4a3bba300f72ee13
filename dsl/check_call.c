/* check_call.c: calls of every form: fn, workflow, tool, prompt, record, error, enum case, built-in effect, method.
 * All end in the same place: `argv` holds one expression per parameter or field, in the order of their declaration,
 * defaults filled in. */
#include "check_agent.h"
#include "check_args.h"
#include "pattern.h"

/* Its parameters may be anything. */
static void check_lambda_loosely(Check *c, Expr *e)
{
    const Facts *before = c->facts;
    uint32_t scope = check_scope_enter(c);
    e->variable = check_add_parameter(c, e->name, c->core->bad);
    if (e->var2.text) e->variable2 = check_add_parameter(c, e->var2, c->core->bad);
    c->body->inline_depth++;
    check_expr(c, e->left, NULL);
    c->body->inline_depth--;
    check_scope_leave(c, scope);
    c->facts = before;
}

void check_args_loosely(Check *c, Expr *e)
{
    for (Arg *arg = e->args; arg; arg = arg->next) {
        if (arg->value->kind == EX_LAMBDA)
            check_lambda_loosely(c, arg->value);
        else
            check_expr(c, arg->value, NULL);
    }
}

static const Type *give_up(Check *c, Expr *e)
{
    check_args_loosely(c, e);
    return c->core->bad;
}

/* ---- records, errors, cases ---- */

static const Type *build_fields(Check *c, Expr *e, const Type *type)
{
    Slots slots;
    slots_of_fields(c, &slots, type->name, type->fields, type->field_count);
    slots.rule = type->kind == TYPE_ERROR ? SLOTS_ERROR : SLOTS_NAMED_ONLY;
    e->call = CALL_RECORD;
    e->decl = type->decl;
    slots_bind(c, e, &slots, 0);
    return type;
}

/* Answer(value: …, by: …, at: …): what its value is says which Answer it is. */
static const Type *build_answer(Check *c, Expr *e)
{
    const TypeField *fields = type_answer(c, c->core->boolean)->fields;
    Slots slots;
    slots_of_fields(c, &slots, "Answer", fields, 3);
    slots.rule = SLOTS_NAMED_ONLY;
    slots.items[0].later = true;
    e->call = CALL_RECORD;
    slots_bind(c, e, &slots, 0);
    if (!e->argv[0]) return c->core->bad;
    const Type *value = check_expr(c, e->argv[0], NULL);
    c->at = e->argv[0]->span;
    return type_answer(c, value);
}

/* { name: value } where a record or error is wanted. The entries become named arguments, which only this function
 * inspects. */
const Type *check_build_from_braces(Check *c, Expr *e, const Type *type)
{
    LIST(Arg) args = {0};
    for (MapEntry *entry = e->entries; entry; entry = entry->next) {
        Arg *arg = arena_new(c->arena, Arg);
        if (entry->key) {
            diag_error(c->diags, entry->key->span, "a field of %s is written name: value", type->name);
            return c->core->bad;
        }
        arg->name = entry->name;
        arg->value = entry->value;
        LIST_APPEND(&args, arg, next);
    }
    Expr call = *e;
    call.args = args.first;
    build_fields(c, &call, type);
    e->call = call.call;
    e->decl = call.decl;
    e->argv = call.argv;
    e->argc = call.argc;
    return type;
}

/* The case of an enum by name, or NULL after a report. */
static const TypeCase *find_case(Check *c, Expr *e, Name name, const Type *type)
{
    if (type->kind != TYPE_ENUM) return NULL;
    for (uint32_t i = 0; i < type->case_count; i++) {
        if (!check_same_name(type->cases[i].name, name.text)) continue;
        e->call = CALL_CASE;
        e->decl = type->decl;
        e->case_index = i;
        return &type->cases[i];
    }
    const char **names = arena_alloc(c->arena, (type->case_count + 1) * sizeof *names);
    for (uint32_t i = 0; i < type->case_count; i++) names[i] = type->cases[i].name;
    const char *near = diag_nearest(name.text, strlen(name.text), names, type->case_count);
    Diag *diag = near ? diag_replace(diag_error(c->diags, name.span, "no case '%s' in %s; did you mean '%s'?",
                                                name.text, type->name, near),
                                     near)
                      : diag_error(c->diags, name.span, "no case '%s' in %s", name.text, type->name);
    if (type->decl) diag_other(c->diags, diag, type->decl->name.span, "declared here");
    return NULL;
}

/* The enum as its declaration calls it. */
static const char *enum_name(const Type *type)
{
    return type->decl ? type->decl->name.text : type->name;
}

const Type *check_case(Check *c, Expr *e, const Type *type)
{
    const TypeCase *found = find_case(c, e, e->name, type);
    if (!found) return c->core->bad;
    if (!found->has_fields) return type;
    Diag *diag = diag_error(c->diags, e->span, "the case '%s' carries values", found->name);
    diag_hint(c->diags, diag, "write %s.%s(…)", enum_name(type), found->name);
    diag_other(c->diags, diag, found->span, "declared here");
    return c->core->bad;
}

static const Type *build_case(Check *c, Expr *e, const Type *type)
{
    Slots slots;
    const TypeCase *found = find_case(c, e, e->left->name, type);
    if (!found) return give_up(c, e);
    if (!found->has_fields) {
        Diag *diag = diag_error(c->diags, e->span, "the case '%s' carries no values", found->name);
        diag_hint(c->diags, diag, "write %s.%s", enum_name(type), found->name);
        uint32_t end = e->left->span.off + e->left->span.len;
        diag_fix(diag, (Span){end, e->span.off + e->span.len - end}, "");
        return give_up(c, e);
    }
    slots_of_fields(c, &slots, found->name, found->fields, found->field_count);
    slots_bind(c, e, &slots, 0);
    return type;
}

/* ---- what is allowed where ---- */

/* Mistake 17. */
static const Type *refuse_idle_yield(Check *c, const char *name)
{
    Diag *diag = diag_error(c->diags, c->yield_word, "nothing suspends here; remove 'yield'");
    diag_hint(c->diags, diag, "'%s' is done at once", name);
    return c->core->bad;
}

static const Type *refuse_spawn(Check *c, const Expr *e, const char *name, const char *what)
{
    Diag *diag = diag_error(c->diags, e->span, "spawn starts a workflow, but '%s' is %s", name, what);
    diag_hint(c->diags, diag, "call it from a workflow and spawn that");
    return c->core->bad;
}

/* Mistakes 16 and 23: a fn, a constant, a tool or a prompt's text takes no steps. */
static void refuse_effect_here(Check *c, const Expr *e, const char *name, const Builtin *builtin)
{
    const Decl *decl = c->body->decl;
    Diag *diag;
    if (c->body->inline_depth) {
        diag = diag_error(c->diags, e->span, "'%s' takes a step, and an inline function takes none", name);
        diag_hint(c->diags, diag, "go through the list with 'for'");
        return;
    }
    if (c->body->kind != BODY_FN) {
        diag_error(c->diags, e->span, "'%s' cannot be used here: a declaration takes no steps", name);
        return;
    }
    switch (builtin ? builtin->id : BI_COUNT) {
    case BI_NOW: diag_error(c->diags, e->span, "the clock is not repeatable; pass the time in"); return;
    case BI_RANDOM:
    case BI_RANDOM_INT:
    case BI_UUID: diag_error(c->diags, e->span, "randomness is not repeatable; pass the value in"); return;
    default: break;
    }
    diag = diag_error(c->diags, e->span, "'%s' is an effect and a fn takes no steps; make it a workflow", name);
    diag_other(c->diags, diag, decl->name.span, "'%s' is a fn", decl->name.text);
}

static bool is_with_effect(const Builtin *builtin)
{
    return builtin && (builtin->id == BI_LOCK || builtin->id == BI_SEMAPHORE || builtin->id == BI_DEADLINE ||
                       builtin->id == BI_BUDGET);
}

/* lock, semaphore, deadline and budget hold for a block, so they are after `with` and nowhere else. */
static bool check_with_mode(Check *c, const Expr *e, CallMode mode, const char *name, const Builtin *builtin)
{
    Diag *diag;
    if (mode == MODE_WITH && is_with_effect(builtin)) return true;
    if (mode == MODE_WITH) {
        diag = diag_error(c->diags, e->span, "'with' takes lock, semaphore, deadline or budget, not '%s'", name);
    } else {
        diag = diag_error(c->diags, e->span, "'%s' holds for a block, so it is written after 'with'", name);
        diag_hint(c->diags, diag, "write with %s(…) { … }", name);
    }
    return false;
}

/* Mistakes 15 and 17, and what spawn takes. True: the call may be here. */
static bool check_mode(Check *c, Expr *e, CallMode mode, const char *name, bool wants_yield, bool effect,
                       const Builtin *builtin)
{
    if (mode == MODE_WITH || is_with_effect(builtin)) return check_with_mode(c, e, mode, name, builtin);
    if (mode == MODE_SPAWN) {
        refuse_spawn(c, e, name, builtin ? "a built-in effect" : "not a workflow");
        return false;
    }
    if (effect && (c->body->kind != BODY_WORKFLOW || c->body->inline_depth)) {
        refuse_effect_here(c, e, name, builtin);
        return false;
    }
    if (wants_yield && mode == MODE_PLAIN) {
        const char *why = !builtin || builtin->suspends ? "suspends"
                          : builtin->id == BI_SAVE      ? "writes a row that stays"
                                                        : "brings a value from outside";
        Diag *diag = diag_error(c->diags, e->span, "'%s' %s; write 'yield %s(…)'", name, why, name);
        diag_hint(c->diags, diag, "yield comes first in a statement: let x = yield %s(…)", name);
        if (e == c->statement || e == c->let_value) diag_fix(diag, (Span){e->span.off, 0}, "yield ");
        return false;
    }
    if (!wants_yield && mode == MODE_YIELD) {
        refuse_idle_yield(c, name);
        return false;
    }
    return true;
}

/* ---- declared callees ---- */

static bool check_spawn_target(Check *c, Expr *e, const Decl *decl)
{
    if (decl->kind == DECL_WORKFLOW) return true;
    refuse_spawn(c, e, decl->name.text, decl_kind_word(decl->kind));
    return false;
}

static const Type *call_declared(Check *c, Expr *e, Decl *decl, CallKind kind)
{
    Slots slots;
    e->call = kind;
    e->decl = decl;
    slots_of_params(c, &slots, decl);
    slots_bind(c, e, &slots, 0);
    return decl->type ? decl->type : c->core->bad;
}

/* jobs.send, as it is written; the method alone when that is long. */
static const char *called_as(Check *c, const Expr *callee)
{
    if (callee->span.len > 40) return callee->name.text;
    return arena_strndup(c->arena, source_text(c->program->sources, callee->span), callee->span.len);
}

static const Type *call_steps(Check *c, Expr *e, Decl *decl, CallKind kind, CallMode mode)
{
    const char *name = e->left->kind == EX_FIELD ? called_as(c, e->left) : decl->name.text;
    bool ok = mode == MODE_SPAWN ? check_spawn_target(c, e, decl) : check_mode(c, e, mode, name, true, true, NULL);
    c->secret_ok = kind == CALL_TOOL;
    const Type *type = call_declared(c, e, decl, kind);
    return ok ? type : c->core->bad;
}

static const Type *call_fn(Check *c, Expr *e, Decl *decl, CallMode mode)
{
    if (c->body->kind == BODY_CONST) {
        diag_error(c->diags, e->span,
                   "a constant is made of literals, operators and other constants; it calls nothing");
        return give_up(c, e);
    }
    bool ok = mode == MODE_SPAWN ? check_spawn_target(c, e, decl)
                                 : check_mode(c, e, mode, decl->name.text, false, false, NULL);
    const Type *type = decl->generic ? generic_call(c, e, decl) : call_declared(c, e, decl, CALL_FN);
    return ok ? type : c->core->bad;
}

static const Type *call_decl(Check *c, Expr *e, Decl *decl, CallMode mode)
{
    switch (decl->kind) {
    case DECL_FN: return call_fn(c, e, decl, mode);
    case DECL_WORKFLOW: return call_steps(c, e, decl, CALL_WORKFLOW, mode);
    case DECL_TOOL: return call_steps(c, e, decl, CALL_TOOL, mode);
    case DECL_PROMPT:
        if (decl->agent) return call_steps(c, e, decl->agent->loop, CALL_WORKFLOW, mode);
        return call_steps(c, e, decl, CALL_PROMPT, mode);
    case DECL_TYPE:
    case DECL_ERROR:
        if (!decl->type || decl->type->kind == TYPE_BAD) return give_up(c, e);
        if (!check_mode(c, e, mode, decl->name.text, false, false, NULL)) return give_up(c, e);
        return build_fields(c, e, decl->type);
    case DECL_ENUM: {
        Diag *diag = diag_error(c->diags, e->span, "'%s' is an enum; name the case", decl->name.text);
        if (decl->cases) diag_hint(c->diags, diag, "write %s.%s", decl->name.text, decl->cases->name.text);
        return give_up(c, e);
    }
    case DECL_CONST:
    case DECL_SANDBOX:
        diag_error(c->diags, e->left->span, "'%s' is %s and cannot be called", decl->name.text,
                   decl_kind_word(decl->kind));
        return give_up(c, e);
    default: return give_up(c, e);
    }
}

/* ---- built-in effects ---- */

/* Where nondeterminism enters, a reader must see it: what gives a value is written with yield even when it does not
 * suspend. So is what changes something that stays: save. */
static bool needs_yield(const Builtin *builtin)
{
    return builtin->suspends || builtin->id == BI_SAVE || strcmp(builtin->result, "nothing") != 0;
}

/* join and kill take a task of any result, which no notation says. */
static const Type *call_on_task(Check *c, Expr *e, const Builtin *builtin)
{
    Slots slots;
    slots_init(c, &slots, builtin->name, "parameter", 1);
    slots.items[0] = (Slot){.name = builtin->params[0].name, .type = c->core->bad};
    slots_bind(c, e, &slots, 0);
    if (!e->argv[0] || e->argv[0]->type->kind == TYPE_BAD) return c->core->bad;
    const Type *task = e->argv[0]->type;
    e->argv[0]->to = task;
    if (task->kind == TYPE_TASK) return builtin->id == BI_JOIN ? task->elem : c->core->nothing;
    if (task->kind == TYPE_OPTIONAL)
        check_null_error(c, e->argv[0]);
    else
        diag_error(c->diags, e->argv[0]->span, "%s needs a task, the value of spawn, not %s", builtin->name,
                   task->name);
    return c->core->bad;
}

/* readable and close take a listener as well as a stream. */
static const Type *call_on_descriptor(Check *c, Expr *e, const Builtin *builtin)
{
    Slots slots;
    slots_init(c, &slots, builtin->name, "parameter", 1);
    slots.items[0] = (Slot){.name = builtin->params[0].name, .type = c->core->bad};
    slots_bind(c, e, &slots, 0);
    if (!e->argv[0] || e->argv[0]->type->kind == TYPE_BAD) return c->core->bad;
    const Type *type = e->argv[0]->type;
    e->argv[0]->to = type;
    if (type_is_descriptor(type->kind)) return c->core->nothing;
    if (type->kind == TYPE_OPTIONAL)
        check_null_error(c, e->argv[0]);
    else
        diag_error(c->diags, e->argv[0]->span, "%s needs a listener or a stream, not %s", builtin->name, type->name);
    return c->core->bad;
}

/* channel(n) carries what its annotation says; a signal brings it. */
static const Type *wanted_result(Check *c, const Expr *e, const Builtin *builtin, const Type *want)
{
    bool channel = builtin->id == BI_CHANNEL;
    if (channel && want && want->kind == TYPE_CHANNEL) return want;
    if (!channel && want && !type_has_handle(c, want)) return want;
    if (!channel && c->statement && c->statement->kind == EX_YIELD && c->statement->left == e) return c->core->nothing;
    if (!channel && want) {
        diag_error(c->diags, e->span, "a signal cannot bring %s", want->name);
        return c->core->bad;
    }
    Diag *diag = channel ? diag_error(c->diags, e->span, "the type of this channel's messages is not known")
                         : diag_error(c->diags, e->span, "the type of this signal's value is not known");
    diag_hint(c->diags, diag,
              channel ? "annotate it: let c: channel<T> = channel(8)" : "annotate it: let v: T = yield signal(…)");
    return c->core->bad;
}

/* ---- secrets ---- */

static bool is_secret_name(const Expr *e)
{
    const Expr *part = e->kind == EX_STRING ? e->parts : NULL;
    if (!part || part->next || part->kind != EX_TEXT || part->text_len > 63) return false;
    bool digit_first = part->text[0] >= '0' && part->text[0] <= '9';
    size_t plain = strspn(part->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return part->text_len && !digit_first && plain >= part->text_len;
}

static const Type *call_secret(Check *c, Expr *e, const Builtin *builtin, CallMode mode)
{
    Slots slots;
    bool here = c->secret_ok;
    c->secret_ok = false;
    e->call = CALL_BUILTIN;
    e->builtin = builtin;
    slots_of_builtin(c, &slots, builtin, NULL);
    slots_bind(c, e, &slots, 0);
    if (!check_mode(c, e, mode, builtin->name, false, false, builtin)) return c->core->bad;
    if (e->argv[0] && e->argv[0]->type->kind == TYPE_STRING && !is_secret_name(e->argv[0])) {
        diag_error(c->diags, e->argv[0]->span, "a secret is named by a plain word, such as \"API_KEY\"");
        return c->core->bad;
    }
    if (here) return c->core->string;
    Diag *diag = diag_error(c->diags, e->span, "a secret can only be given to exec, http or a tool");
    diag_hint(c->diags, diag,
              "write it where the step is taken: yield http(…, headers: { \"Authorization\": \"Bearer "
              "${secret(…)}\" })");
    return c->core->bad;
}

/* ---- save ---- */

enum { SAVED_NAME_MAX = 63, SAVED_FIELDS_MAX = 60 };

/* The log's own tables, and what SQLite and the rows' keys are called. */
/* Whatever is in the log's schema: indexes and triggers share one space of names with tables. */
static bool is_taken(const char *name, size_t len)
{
    static const char *const names[] = {"meta",
                                        "wal",
                                        "mark",
                                        "program",
                                        "run",
                                        "task",
                                        "gap",
                                        "obj",
                                        "wake",
                                        "inbox",
                                        "history",
                                        "task_run",
                                        "run_live",
                                        "run_parked",
                                        "run_parked_at",
                                        "wal_never_updates",
                                        "wal_never_deletes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) return true;
    }
    return (len >= 7 && memcmp(name, "sqlite_", 7) == 0) || (len >= 4 && memcmp(name, "tfy_", 4) == 0);
}

static void check_table_name(Check *c, const Expr *e)
{
    const Expr *part = e->kind == EX_STRING ? e->parts : NULL;
    const bool plain = part && !part->next && part->kind == EX_TEXT && part->text_len &&
                       part->text_len <= SAVED_NAME_MAX &&
                       strspn(part->text, "abcdefghijklmnopqrstuvwxyz0123456789_") >= part->text_len &&
                       !(part->text[0] >= '0' && part->text[0] <= '9');
    if (!plain) {
        Diag *diag =
            diag_error(c->diags, e->span, "a table is named by a plain word in small letters, such as \"orders\"");
        diag_hint(c->diags, diag, "tables are the program's, not the run's: put what differs into a field");
    } else if (is_taken(part->text, part->text_len)) {
        diag_error(c->diags, e->span, "'%.*s' is a name that the log or SQLite needs; take another",
                   (int)part->text_len, part->text);
    }
}

static bool same_but_case(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0 && strcmp(a, b) != 0;
}

/* What a column cannot be called. */
static void check_row(Check *c, const Expr *e, const Type *row)
{
    if (row->field_count > SAVED_FIELDS_MAX)
        diag_error(c->diags, e->span, "a row has at most %d fields, and %s has %u", SAVED_FIELDS_MAX, row->name,
                   row->field_count);
    for (uint32_t i = 0; i < row->field_count; i++) {
        const char *name = row->fields[i].name;
        if (strncasecmp(name, "tfy_", 4) == 0)
            diag_error(c->diags, e->span,
                       "field '%s' of %s cannot be a column: names that start with tfy_ belong to the row's key", name,
                       row->name);
        for (uint32_t j = 0; j < i; j++) {
            if (same_but_case(row->fields[j].name, name))
                diag_error(c->diags, e->span,
                           "fields '%s' and '%s' of %s would be one column: SQLite does not tell them apart",
                           row->fields[j].name, name, row->name);
        }
    }
}

/* save takes a record of any type, which no notation says. */
static const Type *call_save(Check *c, Expr *e, const Builtin *builtin)
{
    Slots slots;
    slots_init(c, &slots, builtin->name, "parameter", 2);
    slots.items[0] = (Slot){.name = builtin->params[0].name, .type = c->core->string};
    slots.items[1] = (Slot){.name = builtin->params[1].name, .type = c->core->bad};
    slots_bind(c, e, &slots, 0);
    if (!e->argv[0] || !e->argv[1] || e->argv[0]->type->kind == TYPE_BAD || e->argv[1]->type->kind == TYPE_BAD)
        return c->core->bad;
    const Type *row = e->argv[1]->type;
    e->argv[1]->to = row;
    check_table_name(c, e->argv[0]);
    if (row->kind == TYPE_OPTIONAL)
        check_null_error(c, e->argv[1]);
    else if (row->kind != TYPE_RECORD)
        diag_error(c->diags, e->argv[1]->span, "save needs a record, whose fields are the columns, not %s", row->name);
    else if (type_has_handle(c, row))
        diag_error(c->diags, e->argv[1]->span, "%s cannot be saved: tasks, channels and descriptors stay inside a run",
                   row->name);
    else
        check_row(c, e->argv[1], row);
    return c->core->nothing;
}

static const Type *call_effect(Check *c, Expr *e, const Builtin *builtin, CallMode mode, const Type *want)
{
    Slots slots;
    if (builtin->id == BI_SECRET) return call_secret(c, e, builtin, mode);
    bool ok = check_mode(c, e, mode, builtin->name, needs_yield(builtin), true, builtin);
    e->call = CALL_BUILTIN;
    e->builtin = builtin;
    if (builtin->id == BI_JOIN || builtin->id == BI_KILL) {
        const Type *type = call_on_task(c, e, builtin);
        return ok ? type : c->core->bad;
    }
    if (builtin->id == BI_SAVE) {
        const Type *type = call_save(c, e, builtin);
        return ok ? type : c->core->bad;
    }
    if (builtin->id == BI_READABLE || builtin->id == BI_CLOSE) {
        const Type *type = call_on_descriptor(c, e, builtin);
        return ok ? type : c->core->bad;
    }
    slots_of_builtin(c, &slots, builtin, NULL);
    c->secret_ok = builtin->id == BI_EXEC || builtin->id == BI_HTTP;
    if (builtin->id == BI_HTTP)
        slots_bind_http(c, e, builtin);
    else
        slots_bind(c, e, &slots, 0);
    if (builtin->id == BI_EXEC && e->argc) check_argv(c, e->argv[0]);
    if (!ok) return c->core->bad;
    if (builtin->id == BI_CHANNEL || builtin->id == BI_SIGNAL) return wanted_result(c, e, builtin, want);
    if (builtin->id == BI_APPROVE || builtin->id == BI_ASK) return check_person(c, e, builtin, type_strip(want));
    return type_of_notation(c, builtin->result, NULL);
}

/* ---- methods ---- */

static const Type *report_no_method(Check *c, Expr *e, const Type *receiver)
{
    Name name = e->left->name;
    if (type_find_field(receiver->fields, receiver->field_count, name.text) >= 0) {
        diag_error(c->diags, name.span, "'%s' is a field of %s and cannot be called", name.text, receiver->name);
        return give_up(c, e);
    }
    const char *near = builtin_nearest_method(receiver->kind, name.text);
    if (near)
        diag_replace(diag_error(c->diags, name.span, "no method '%s' on %s; did you mean '%s'?", name.text,
                                receiver->name, near),
                     near);
    else
        diag_error(c->diags, name.span, "no method '%s' on %s", name.text, receiver->name);
    return give_up(c, e);
}

static bool is_number(const Type *type)
{
    return type->kind == TYPE_INT || type->kind == TYPE_FLOAT || type->kind == TYPE_DURATION;
}

/* What the elements of a list must be for a method; NULL: they are. */
static const char *wanted_elements(const Builtin *builtin, const Type *elem)
{
    if (elem->kind == TYPE_BAD) return NULL;
    switch (builtin->id) {
    case BI_LIST_JOIN: return elem->kind == TYPE_STRING ? NULL : "list<string>";
    case BI_LIST_SUM: return is_number(elem) ? NULL : "a list of int, float or duration";
    case BI_LIST_SORT:
    case BI_LIST_MIN:
    case BI_LIST_MAX: return type_is_ordered(elem) ? NULL : "a list of int, float, string, time or duration";
    case BI_LIST_UNIQUE: return type_is_key(elem) ? NULL : "a list of string, int or an enum without values";
    case BI_LIST_FLATTEN: return elem->kind == TYPE_LIST ? NULL : "a list of lists";
    case BI_LIST_COMPACT: return elem->kind == TYPE_OPTIONAL ? NULL : "a list whose elements may be null";
    default: return NULL;
    }
}

static bool check_method_fits(Check *c, const Expr *e, const Builtin *builtin, const Type *receiver)
{
    const Type *elem = receiver->elem;
    const char *wanted = receiver->kind == TYPE_LIST ? wanted_elements(builtin, elem) : NULL;
    if (wanted) {
        diag_error(c->diags, e->left->name.span, "%s needs %s, got %s", builtin->name, wanted, receiver->name);
        return false;
    }
    if (strcmp(builtin->result, "T?") == 0 && elem->kind == TYPE_OPTIONAL) {
        Diag *diag = diag_error(c->diags, e->left->name.span, "%s on %s would give %s?", builtin->name, receiver->name,
                                elem->name);
        diag_hint(c->diags, diag, "test first (len, contains), then use [ ]");
        return false;
    }
    if (builtin->receiver == TYPE_BAD && (!type_is_printable(receiver) || type_has_handle(c, receiver))) {
        diag_error(c->diags, e->left->name.span, "%s has no text form", receiver->name);
        return false;
    }
    return true;
}

/* json.decode gives the type its surroundings want. */
static const Type *decoded_type(Check *c, const Expr *e, const Type *want)
{
    if (want && want->kind == TYPE_BAD) return want;
    if (!want || want->kind == TYPE_NOTHING || want->kind == TYPE_NULL) {
        Diag *diag = diag_error(c->diags, e->left->name.span, "the type to decode into is not known here");
        diag_hint(c->diags, diag, "annotate it: let name: Type = value.decode()");
        return c->core->bad;
    }
    if (!type_has_handle(c, want)) return want;
    diag_error(c->diags, e->left->name.span, "%s cannot come out of json", want->name);
    return c->core->bad;
}

/* A pattern that is written out is inspected here; others when they are used. */
static void check_pattern(Check *c, const Expr *e)
{
    const Expr *at = e ? expr_strip((Expr *)e) : NULL;
    char error[200];
    if (!at || at->kind != EX_STRING || !at->parts || at->parts->kind != EX_TEXT || at->parts->next) return;
    if (pattern_check(at->parts->text, at->parts->text_len, error, sizeof error)) return;
    diag_error(c->diags, at->span, "this pattern is wrong %s", error);
}

/* In `left?.name(…)` the method's receiver is the variable that holds left when it is not null. */
static Expr *optional_receiver(Check *c, const Expr *access)
{
    Expr *name = arena_new(c->arena, Expr);
    *name = (Expr){.kind = EX_NAME, .height = 1, .span = access->left->span, .variable = access->variable};
    name->name = (Name){access->variable->name, access->left->span};
    name->type = name->to = access->variable->type;
    return name;
}

static Expr *receiver_of(Check *c, Expr *access)
{
    if (access->optional) return check_optional_left(c, access) ? optional_receiver(c, access) : NULL;
    return check_expr(c, access->left, NULL)->kind == TYPE_BAD ? NULL : access->left;
}

/* A step that is taken or not, as `?.` has it, would be hard to see in a history. */
static bool check_optional_effect(Check *c, const Expr *e, const Builtin *builtin)
{
    if (!e->left->optional || !builtin->effect) return true;
    Diag *diag =
        diag_error(c->diags, e->left->name.span, "'%s' takes a step, and no step is taken through '?.'", builtin->name);
    diag_hint(c->diags, diag, "test it first: if value != null { … }");
    return false;
}

/* What the method itself gives is kept on the callee: behind ?. the call may be null as well. */
static const Type *called_type(Check *c, Expr *e, const Type *type)
{
    e->left->type = type;
    return e->left->optional && type->kind != TYPE_BAD ? type_optional(c, type) : type;
}

/* A string that is written out, without values in it; NULL: it is not. */
static const Expr *plain_literal(const Expr *e)
{
    const Expr *at = e ? expr_strip((Expr *)e) : NULL;
    const bool is_plain = at && at->kind == EX_STRING && at->parts && at->parts->kind == EX_TEXT && !at->parts->next;
    return is_plain ? at->parts : NULL;
}

/* What time.format shows, as far as it is written out. The letters are those of write_part in runtime/value/clock.c. */
static void check_layout(Check *c, const Expr *e)
{
    const Expr *text = plain_literal(e);
    for (uint32_t i = 0; text && i < text->text_len; i++) {
        if (text->text[i] != '%') continue;
        const char letter = ++i < text->text_len ? text->text[i] : '\0';
        if (letter && strchr("YmdeHIMSLpAaBbjGVusZz%", letter)) continue;
        Diag *diag = diag_error(c->diags, e->span,
                                letter ? "there is no '%%%c' in a layout" : "a layout ends with '%%'", letter);
        diag_hint(c->diags, diag, "such as \"%%Y-%%m-%%d %%H:%%M\"; a percent sign is written %%%%");
        return;
    }
}

/* The time of day that time.next looks for. */
static void check_clock(Check *c, const Expr *e)
{
    const Expr *text = plain_literal(e);
    int hour = 0, minute = 0, second = 0, end = 0;
    if (!text) return;
    const char *at = arena_strndup(c->arena, text->text, text->text_len);
    const int parts = sscanf(at, "%2d:%2d%n:%2d%n", &hour, &minute, &end, &second, &end);
    const bool is_plain = strspn(at, "0123456789:") == text->text_len && parts >= 2 && !at[end];
    if (is_plain && hour < 24 && minute < 60 && second < 60) return;
    diag_error(c->diags, e->span, "\"%s\" is not a time of day such as \"09:00\"", at);
}

static void check_method_texts(Check *c, const Expr *e, const Builtin *builtin)
{
    if (builtin->param_count && strcmp(builtin->params[0].name, "pattern") == 0) check_pattern(c, e->argv[1]);
    if (builtin->id == BI_STRING_VETTED) check_vetted(c, e->argv[1]);
    if (builtin->id == BI_TIME_FORMAT) check_layout(c, e->argv[1]);
    if (builtin->id == BI_TIME_NEXT) check_clock(c, e->argv[1]);
}

static const Type *call_method(Check *c, Expr *e, CallMode mode, const Type *want)
{
    Slots slots;
    Expr *self = receiver_of(c, e->left);
    if (!self) return give_up(c, e);
    const Type *receiver = self->type;
    if (!e->left->optional && strcmp(e->left->name.text, "or") == 0) { /* as in ??, a second test is idle, not wrong */
        flow_widen(e->left->left);
        receiver = e->left->left->type;
    }
    const Builtin *builtin = builtin_method(receiver->kind, e->left->name.text);
    if (!builtin && receiver->kind == TYPE_OPTIONAL) {
        check_null_access(c, e->left);
        return give_up(c, e);
    }
    if (!builtin) return report_no_method(c, e, receiver);
    if (!check_optional_effect(c, e, builtin)) return give_up(c, e);
    if (c->body->kind == BODY_CONST) {
        diag_error(c->diags, e->span,
                   "a constant is made of literals, operators and other constants; it calls nothing");
        return give_up(c, e);
    }
    if (!check_method_fits(c, e, builtin, receiver)) return give_up(c, e);
    const char *name = builtin->effect ? called_as(c, e->left) : builtin->name;
    if (!check_mode(c, e, mode, name, builtin->suspends, builtin->effect, builtin->effect ? builtin : NULL))
        return give_up(c, e);
    e->call = CALL_METHOD;
    e->builtin = builtin;
    slots_of_builtin(c, &slots, builtin, receiver);
    /* until the inline function is seen, which may be missing */
    c->inline_type = c->core->bad;
    if (slots.count && slots.items[0].infers) slots.items[0].type = want;
    slots_bind(c, e, &slots, 1);
    e->argv[0] = self;
    check_method_texts(c, e, builtin);
    if (builtin->id == BI_JSON_DECODE) return called_type(c, e, decoded_type(c, e, want));
    return called_type(c, e, type_of_notation(c, builtin->result, receiver));
}

/* ---- which of them ---- */

/* hash(text), as other languages write it. */
static bool report_method_name(Check *c, const Expr *e, const char *name)
{
    static const TypeKind kinds[] = {TYPE_STRING, TYPE_LIST, TYPE_MAP, TYPE_INT, TYPE_FLOAT, TYPE_TIME};
    bool is_method = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) is_method |= builtin_method(kinds[i], name) != NULL;
    if (!is_method || !e->args) return false;
    Diag *diag = diag_error(c->diags, e->left->span, "'%s' is a method", name);
    diag_hint(c->diags, diag, "write value.%s(%s)", name, e->args->next ? "…" : "");
    return true;
}

static const Type *report_unknown_callee(Check *c, Expr *e)
{
    const Expr *callee = e->left;
    const char *name = callee->name.text;
    const Variable *variable = name_table_get(&c->locals, name);
    if (variable && variable->type->kind == TYPE_BAD) return give_up(c, e);
    if (variable) {
        Diag *diag =
            diag_error(c->diags, callee->span, "'%s' is a %s and cannot be called", name, variable->type->name);
        diag_other(c->diags, diag, variable->span, "declared here");
        return give_up(c, e);
    }
    const char *near = check_nearest_name(c, name, NAME_CALL);
    if (report_method_name(c, e, name)) return give_up(c, e);
    if (near)
        diag_replace(diag_error(c->diags, callee->span, "unknown name '%s'; did you mean '%s'?", name, near), near);
    else
        diag_error(c->diags, callee->span, "unknown name '%s'", name);
    return give_up(c, e);
}

static const Type *call_named(Check *c, Expr *e, CallMode mode, const Type *want)
{
    const char *name = e->left->name.text;
    Variable *local = name_table_get(&c->locals, name);
    if (local && local->written) {
        bool ok = check_mode(c, e, mode, name, false, false, NULL);
        const Type *type = generic_call_function(c, e, local);
        return ok ? type : c->core->bad;
    }
    Decl *decl = check_find_decl(c, name);
    if (decl) return call_decl(c, e, decl, mode);
    const Builtin *builtin = builtin_effect(name);
    if (builtin) return call_effect(c, e, builtin, mode, want);
    const Type *of_trust;
    if (mode == MODE_PLAIN && check_trust_call(c, e, want, &of_trust)) return of_trust;
    const Type *of_test;
    if (mode == MODE_PLAIN && check_test_call(c, e, &of_test)) return of_test;
    const Type *type = type_core_named(c, name);
    if (type && (type->fields || type->kind == TYPE_THREAD)) {
        if (!check_mode(c, e, mode, name, false, false, NULL)) return give_up(c, e);
        return build_fields(c, e, type);
    }
    if (strcmp(name, "Answer") == 0)
        return check_mode(c, e, mode, name, false, false, NULL) ? build_answer(c, e) : give_up(c, e);
    return report_unknown_callee(c, e);
}

/* Enum.case(…), module.name(…) or value.method(…). */
static const Type *call_dotted(Check *c, Expr *e, CallMode mode, const Type *want)
{
    if (e->left->optional) return call_method(c, e, mode, want);
    const Decl *import = check_import_of(c, e->left->left);
    Decl *decl = import ? check_find_imported(c, import, e->left->name, NAME_CALL) : NULL;
    if (import) return decl ? call_decl(c, e, decl, mode) : give_up(c, e);
    const Type *type = check_enum_of(c, e->left->left);
    if (!type) return call_method(c, e, mode, want);
    if (!check_mode(c, e, mode, enum_name(type), false, false, NULL)) return give_up(c, e);
    return build_case(c, e, type);
}

static const Type *call_any(Check *c, Expr *e, CallMode mode, const Type *want)
{
    switch (e->left->kind) {
    case EX_BAD: return give_up(c, e);
    case EX_NAME: return call_named(c, e, mode, want);
    case EX_FIELD: return call_dotted(c, e, mode, want);
    default:
        if (check_expr(c, e->left, NULL)->kind != TYPE_BAD)
            diag_error(c->diags, e->left->span, "this cannot be called");
        return give_up(c, e);
    }
}

/* secret(…) itself, and methods that put values together and leave each as it is. */
static bool call_keeps_secrets(const Expr *e)
{
    static const char *const methods[] = {"concat", "push", "set"};
    if (e->left->kind == EX_NAME) return check_same_name(e->left->name.text, "secret");
    for (size_t i = 0; e->left->kind == EX_FIELD && i < sizeof methods / sizeof *methods; i++)
        if (check_same_name(e->left->name.text, methods[i])) return true;
    return false;
}

const Type *check_call_in_mode(Check *c, Expr *e, CallMode mode, const Type *want)
{
    bool secret_ok = c->secret_ok;
    c->secret_ok = secret_ok && call_keeps_secrets(e);
    const Type *type = call_any(c, e, mode, want);
    c->secret_ok = secret_ok;
    return type;
}

const Type *check_call(Check *c, Expr *e, const Type *want)
{
    return check_call_in_mode(c, e, MODE_PLAIN, want);
}

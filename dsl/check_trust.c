/* check_trust.c: refuses texts and numbers from outside in places that decide what happens.
 *
 * Every value is trusted or untrusted. Nothing is carried at run time: this pass infers a label for each variable,
 * parameter and result, and looks at the trusted places when no label changes any more. Within a body a variable has
 * one label for all its uses. A fn and a workflow have a summary: which of their parameters reach the result, which
 * reach a trusted place, and what flows into the channels that they are given.
 *
 * Choosing does not count: a condition, an index, a key, find and filter give the label of what is chosen from. So
 * a model may choose among what the program wrote, and may not write it.
 *
 * All labels only grow, and there are finitely many, so the rounds end. */
#include "check_internal.h"
#include "sandbox.h"

/* Parameters behind this many share the last bit. */
enum { PARAM_BITS = 63, NOTES_MAX = 6 };

/* Where an untrusted value comes from, or what it went through. */
typedef struct Origin {
    const char *text; /* "it comes from the prompt 'plan'" */
    const char *who;  /* "a model chose this"; the same along the way */
    Span span;
    const struct Origin *before; /* NULL: this is the source */
} Origin;

typedef struct Label {
    const Origin *from; /* NULL: trusted, but for: */
    uint64_t params;    /* the parameters of the body that reach it */
} Label;

/* A place that takes only what is trusted. */
typedef struct Place {
    const char *what; /* "decides which program 'run' starts"; NULL: it is declared so */
    const char *name; /* of the parameter */
    Span span;
    bool unless_approved; /* a call of the tool that has `approve` may be given anything */
} Place;

/* The summary of a fn, workflow, tool or prompt. */
typedef struct Reach {
    Label result;
    const Place **places; /* by parameter; NULL: none */
    const Expr **words;   /* by parameter: a word of an argv that may be read as an option; NULL: none */
    Label *sent;          /* by parameter: what goes into its channels */
    uint32_t count;
} Reach;

typedef struct Trust {
    Check *c;
    const Program *program;
    Arena *arena;
    Reach *reach; /* of the declaration at hand */
    const Decl *decl;
    Label *given;       /* what the innermost closure gives; NULL: none */
    Table error_labels; /* full name of a declared error → Label *: what its fields hold */
    bool approved;      /* the call at hand has `approve` */
    bool changed;
    bool reports; /* the last round */
} Trust;

/* ---- labels ---- */

static const Label clean = {0};

static uint64_t param_bit(uint32_t index)
{
    return UINT64_C(1) << (index < PARAM_BITS ? index : PARAM_BITS);
}

static Label both(Label a, Label b)
{
    return (Label){a.from ? a.from : b.from, a.params | b.params};
}

static Label from_outside(Trust *t, Span span, const char *who, const char *text)
{
    Origin *origin = arena_new(t->arena, Origin);
    *origin = (Origin){text, who, span, NULL};
    return (Label){origin, 0};
}

static Label through(Trust *t, Label label, const char *name, Span span)
{
    if (!label.from) return label;
    Origin *origin = arena_new(t->arena, Origin);
    *origin = (Origin){arena_printf(t->arena, "and through '%s'", name), label.from->who, span, label.from};
    label.from = origin;
    return label;
}

/* Joins into a label that is kept; true when it grew. */
static bool grow(Label *kept, Label label)
{
    const bool grows = (label.from && !kept->from) || (label.params & ~kept->params);
    if (label.from && !kept->from) kept->from = label.from;
    kept->params |= label.params;
    return grows;
}

static void keep(Trust *t, Label *kept, Label label)
{
    t->changed |= grow(kept, label);
}

static Label *label_of_variable(Trust *t, const Variable *variable)
{
    if (!variable->label) ((Variable *)variable)->label = arena_new(t->arena, Label);
    return variable->label;
}

static void into_variable(Trust *t, const Variable *variable, Label label)
{
    Label *kept = label_of_variable(t, variable);
    const bool first = label.from && !kept->from;
    keep(t, kept, first && variable->name ? through(t, label, variable->name, variable->span) : label);
}

static Reach *reach_of(Trust *t, const Decl *decl)
{
    if (decl->reach) return decl->reach;
    Reach *reach = arena_new(t->arena, Reach);
    reach->count = decl->param_count;
    reach->places = arena_alloc(t->arena, (reach->count + 1) * sizeof *reach->places);
    reach->words = arena_alloc(t->arena, (reach->count + 1) * sizeof *reach->words);
    reach->sent = arena_alloc(t->arena, (reach->count + 1) * sizeof *reach->sent);
    memset(reach->places, 0, (reach->count + 1) * sizeof *reach->places);
    memset(reach->words, 0, (reach->count + 1) * sizeof *reach->words);
    memset(reach->sent, 0, (reach->count + 1) * sizeof *reach->sent);
    ((Decl *)decl)->reach = reach;
    return reach;
}

/* ---- places ---- */

/* Some expressions are looked at more than once, each time in another role. */
static bool is_reported(const Trust *t, Span span)
{
    const Diag *diag = t->c->diags->first;
    while (diag && (diag->level != DIAG_ERROR || diag->span.off != span.off)) diag = diag->next;
    return diag != NULL;
}

static void report(Trust *t, Span span, Label label, const Place *place)
{
    const Origin *origin = label.from;
    if (is_reported(t, span)) return;
    Diag *diag = place->what ? diag_error(t->c->diags, span, "this %s, and %s", place->what, origin->who)
                             : diag_error(t->c->diags, span, "'%s' takes only what is trusted, and %s", place->name,
                                          origin->who);
    const Origin *way[NOTES_MAX];
    int count = 0;
    for (; origin; origin = origin->before) {
        if (count == NOTES_MAX) count--; /* the source is always told */
        way[count++] = origin;
    }
    while (count > 0) {
        origin = way[--count];
        if (origin->span.len) diag_other(t->c->diags, diag, origin->span, "%s", origin->text);
    }
    if (!place->what) diag_other(t->c->diags, diag, place->span, "declared trusted here");
    const char *written = source_text(t->program->sources, span);
    const bool is_short = span.len <= 40 && *written != '[' && !memchr(written, '\n', span.len);
    const char *text = is_short ? arena_strndup(t->arena, written, span.len) : "value";
    diag_hint(t->c->diags, diag,
              "let it choose among your own: known.find(k => k == %s), or check it: %s.vetted(\"…\")%s", text, text,
              place->unless_approved ? ", or let a person see it: approve \"…\"" : "");
}

static void into_place(Trust *t, Span span, Label label, const Place *place)
{
    if (t->reports && label.from) report(t, span, label, place);
    for (uint32_t i = 0; t->reach && i < t->reach->count; i++) {
        const Place *kept = t->reach->places[i];
        const bool is_stricter = !kept || (kept->unless_approved && !place->unless_approved);
        if (!(label.params & param_bit(i)) || !is_stricter) continue;
        t->reach->places[i] = place;
        t->changed = true;
    }
}

/* A word of a command that a program may read as an option. It is worth a warning once somebody else says it. */
static void into_word(Trust *t, Label label, const Expr *word)
{
    const Origin *source = label.from;
    while (source && source->before) source = source->before;
    if (t->reports && source) check_argv_warn(t->c, word, source->span, source->text);
    for (uint32_t i = 0; t->reach && i < t->reach->count; i++) {
        if (!(label.params & param_bit(i)) || t->reach->words[i]) continue;
        t->reach->words[i] = word;
        t->changed = true;
    }
}

static const Place *place_named(Trust *t, const char *what, Span span)
{
    Place *place = arena_new(t->arena, Place);
    *place = (Place){.what = what, .span = span};
    return place;
}

/* ---- expressions ---- */

static Label label_expr(Trust *t, const Expr *e);
static void walk_block(Trust *t, const Block *block);

static bool has_handle(Trust *t, const Expr *e)
{
    return t->c->has_handle_types && e->type && type_has_handle(t->c, e->type);
}

/* What is sent into a channel is in every name of that channel. */
static void into_handles(Trust *t, const Expr *e, Label label)
{
    if (!e || !(label.from || label.params)) return;
    switch (e->kind) {
    case EX_NAME:
        if (e->variable) into_variable(t, e->variable, label);
        return;
    case EX_IF:
        into_handles(t, e->left, label);
        into_handles(t, e->right, label);
        return;
    case EX_CALL:
        for (uint32_t i = 0; i < e->argc; i++)
            if (e->argv[i] && has_handle(t, e->argv[i])) into_handles(t, e->argv[i], label);
        return;
    case EX_LIST:
        for (const Arg *arg = e->args; arg; arg = arg->next) into_handles(t, arg->value, label);
        return;
    case EX_MAP:
        for (const MapEntry *entry = e->entries; entry; entry = entry->next) into_handles(t, entry->value, label);
        return;
    default:
        into_handles(t, e->left, label);
        if (e->kind == EX_BINARY) into_handles(t, e->right, label);
        return;
    }
}

/* A value gets a second name. */
static Label bind(Trust *t, const Variable *variable, const Expr *value)
{
    const Label label = value ? label_expr(t, value) : clean;
    if (!variable) return label;
    into_variable(t, variable, label);
    if (value && has_handle(t, value)) into_handles(t, value, *label_of_variable(t, variable));
    return label;
}

static Label label_list(Trust *t, const Arg *args)
{
    Label label = clean;
    for (; args; args = args->next) label = both(label, label_expr(t, args->value));
    return label;
}

static Label label_entries(Trust *t, const MapEntry *entries)
{
    Label label = clean;
    for (; entries; entries = entries->next) {
        label = both(label, label_expr(t, entries->value));
        if (entries->key) label = both(label, label_expr(t, entries->key));
    }
    return label;
}

static bool is_comparison(Op op)
{
    return op >= OP_EQ && op <= OP_GE;
}

static const Expr *root_of(const Expr *e)
{
    while (e && (e->kind == EX_FIELD || e->kind == EX_INDEX || e->kind == EX_PAREN)) e = e->left;
    return e;
}

/* ---- calls ---- */

/* A parameter's label, in the body that calls, is that of what is given for it. */
static Label given_for(const Reach *reach, Label label, const Label *args)
{
    Label out = {label.from, 0};
    for (uint32_t i = 0; i < reach->count; i++)
        if (label.params & param_bit(i)) out = both(out, args[i]);
    return out;
}

static const Place *declared_place(Trust *t, const Decl *decl, uint32_t index)
{
    const Field *f = decl->params;
    for (; f && index; f = f->next) index--;
    if (!f || f->label != LABEL_TRUSTED) return NULL;
    Place *place = arena_new(t->arena, Place);
    *place = (Place){.name = f->name.text, .span = f->name.span};
    return place;
}

/* A person sees the command of this very call. The approval of a workflow shows none. */
static bool is_waived(const Trust *t, const Decl *decl, const Place *place)
{
    return place->unless_approved && t->approved && decl->kind == DECL_TOOL;
}

static Label label_call(Trust *t, const Expr *e, const Decl *decl)
{
    Reach *reach = reach_of(t, decl);
    Label *args = arena_alloc(t->arena, (reach->count + 1) * sizeof *args);
    for (uint32_t i = 0; i < reach->count; i++) {
        const Expr *arg = i < e->argc ? e->argv[i] : NULL;
        args[i] = arg ? label_expr(t, arg) : clean;
        const Place *place = arg ? declared_place(t, decl, i) : NULL;
        if (!place) place = reach->places[i];
        if (arg && place && !is_waived(t, decl, place)) into_place(t, arg->span, args[i], place);
        const Expr *begin = arg && reach->words[i] ? check_argv_begin(arg) : NULL;
        if (begin) into_word(t, label_expr(t, begin), reach->words[i]);
    }
    for (uint32_t i = 0; i < reach->count && i < e->argc; i++) {
        if (!e->argv[i] || !has_handle(t, e->argv[i])) continue;
        into_handles(t, e->argv[i], given_for(reach, reach->sent[i], args));
        args[i] = label_expr(t, e->argv[i]);
    }
    const Label label = given_for(reach, reach->result, args);
    return label.from && !reach->result.from
               ? through(t, label, decl->name.text ? decl->name.text : "a function", e->span)
               : label;
}

static Label label_args(Trust *t, const Expr *e, uint32_t from)
{
    Label label = clean;
    for (uint32_t i = from; i < e->argc; i++)
        if (e->argv[i] && e->argv[i]->kind != EX_LAMBDA) label = both(label, label_expr(t, e->argv[i]));
    return label;
}

/* What a built-in makes of what it is given. */
typedef enum Rule {
    RULE_DATA,    /* made of all of it, and of what an inline function gives */
    RULE_CHOICE,  /* chosen from the receiver */
    RULE_MAPPED,  /* made by the inline function */
    RULE_TRUSTED, /* a truth, or the runtime's own */
    RULE_SOURCE,  /* from outside */
} Rule;

static Rule rule_of(const Builtin *builtin)
{
    switch (builtin->id) {
    case BI_LIST_GET:
    case BI_LIST_FIRST:
    case BI_LIST_LAST:
    case BI_LIST_SLICE:
    case BI_LIST_REMOVE:
    case BI_LIST_FILTER:
    case BI_LIST_FIND:
    case BI_LIST_SORT_BY:
    case BI_MAP_GET:
    case BI_MAP_REMOVE:
    case BI_RECV:
    case BI_JOIN: return RULE_CHOICE;
    case BI_LIST_MAP:
    case BI_LIST_FOLD: return RULE_MAPPED;
    case BI_STRING_CONTAINS:
    case BI_STRING_STARTS_WITH:
    case BI_STRING_ENDS_WITH:
    case BI_STRING_MATCHES:
    case BI_STRING_VETTED:
    case BI_INT_WITHIN:
    case BI_LIST_CONTAINS:
    case BI_LIST_ANY:
    case BI_LIST_ALL:
    case BI_MAP_CONTAINS:
    case BI_APPROVE:
    case BI_ASK:
    case BI_SECRET:
    case BI_EXISTS:
    case BI_ENV:
    case BI_COMMIT:
    case BI_LISTENER_ADDRESS:
    case BI_SELF:
    case BI_NOW:
    case BI_RANDOM:
    case BI_UUID:
    case BI_LISTEN: return RULE_TRUSTED;
    case BI_EXEC:
    case BI_HTTP:
    case BI_READ_FILE:
    case BI_READ_BYTES:
    case BI_LIST_FILES:
    case BI_LLM:
    case BI_SIGNAL:
    case BI_ACCEPT:
    case BI_CONNECT:
    case BI_STDIN:
    case BI_STREAM_ADDRESS:
    case BI_READ:
    case BI_READ_LINE: return RULE_SOURCE;
    default: return RULE_DATA;
    }
}

static void label_lambda(Trust *t, const Expr *lambda, Label element, Label initial, Label *result)
{
    const Variable *first = lambda->variable, *second = lambda->variable2;
    if (second) {
        if (first) into_variable(t, first, initial);
        into_variable(t, second, element);
    } else if (first) {
        into_variable(t, first, element);
    }
    *result = label_expr(t, lambda->left);
    if (second && first) into_variable(t, first, *result);
}

static Label label_method(Trust *t, const Expr *e, Rule rule)
{
    const Label receiver = e->argc && e->argv[0] ? label_expr(t, e->argv[0]) : clean;
    const Label others = label_args(t, e, 1);
    Label made = clean;
    for (uint32_t i = 1; i < e->argc; i++)
        if (e->argv[i] && e->argv[i]->kind == EX_LAMBDA) label_lambda(t, e->argv[i], receiver, others, &made);
    switch (rule) {
    case RULE_CHOICE: return receiver;
    case RULE_MAPPED: return both(others, made);
    case RULE_TRUSTED: return clean;
    default: return both(both(receiver, others), made);
    }
}

static const char *who_gives(const Builtin *builtin)
{
    return builtin->id == BI_LLM ? "a model chose this" : "this comes from outside";
}

/* The argument with this name decides something. */
static void argument_place(Trust *t, const Expr *e, const char *name, const char *what)
{
    const Builtin *builtin = e->builtin;
    for (uint32_t i = 0; i < builtin->param_count && i < e->argc; i++)
        if (e->argv[i] && strcmp(builtin->params[i].name, name) == 0)
            into_place(t, e->argv[i]->span, label_expr(t, e->argv[i]), place_named(t, what, e->argv[i]->span));
}

/* The names in an environment: the keys of a map. */
static void names_place(Trust *t, const Expr *env)
{
    const Expr *map = env ? expr_strip((Expr *)env) : NULL;
    if (!map) return;
    const Place *place = place_named(t, "names a variable of a tool's environment", map->span);
    if (map->kind != EX_MAP) {
        into_place(t, map->span, label_expr(t, map), place);
        return;
    }
    for (const MapEntry *entry = map->entries; entry; entry = entry->next)
        if (entry->key) into_place(t, entry->key->span, label_expr(t, entry->key), place);
}

/* words.concat(more) begins as words do. */
static bool keeps_first(const Expr *call)
{
    const bool adds =
        call->call == CALL_METHOD && (call->builtin->id == BI_LIST_CONCAT || call->builtin->id == BI_LIST_PUSH);
    return adds && call->argc && call->argv[0];
}

/* The first word of an argv, or all of one that is not written out. */
static void program_place(Trust *t, const Expr *argv, const char *what)
{
    const Expr *list = argv ? expr_strip((Expr *)argv) : NULL;
    while (list && list->kind == EX_CALL && keeps_first(list)) list = expr_strip(list->argv[0]);
    if (!list) return;
    const Expr *program = list->kind != EX_LIST || !list->args ? argv : list->args->value;
    into_place(t, program->span, label_expr(t, program), place_named(t, what, program->span));
}

/* Where a sandbox lets a command reach the network, or there is none, every word of it decides what it does there. */
static void words_place(Trust *t, const Expr *argv, const Sandbox *sandbox)
{
    if (!argv || !sandbox || (sandbox->root != SANDBOX_OPEN && sandbox->network == NETWORK_NONE)) return;
    const char *what = sandbox->root == SANDBOX_OPEN ? "is a word of a command without a sandbox"
                                                     : "is a word of a command that can reach the network";
    const Expr *list = expr_strip((Expr *)argv);
    Place *place = arena_new(t->arena, Place);
    *place = (Place){.what = what, .span = argv->span, .unless_approved = true};
    if (list->kind != EX_LIST) into_place(t, argv->span, label_expr(t, argv), place);
    for (const Arg *word = list->kind == EX_LIST ? list->args : NULL; word; word = word->next)
        into_place(t, word->value->span, label_expr(t, word->value), place);
}

static void option_word(void *trust, const Expr *word)
{
    into_word(trust, label_expr(trust, word), word);
}

static void exec_places(Trust *t, const Expr *e)
{
    check_argv_options(e->argv[0], option_word, t);

    if (!t->approved) words_place(t, e->argv[0], t->program->sandbox);
    argument_place(t, e, "cwd", "decides where a command runs");
    if (e->argc > 3 && e->argv[3]) names_place(t, e->argv[3]);
}

static void builtin_places(Trust *t, const Expr *e)
{
    switch (e->builtin->id) {
    case BI_EXEC: exec_places(t, e); return;
    case BI_HTTP: argument_place(t, e, "url", "decides which address is asked"); return;
    case BI_CONNECT:
    case BI_LISTEN: argument_place(t, e, "address", "decides which address is used"); return;
    case BI_LLM:
        argument_place(t, e, "model", "decides which model is asked");
        argument_place(t, e, "system", "is what a model obeys");
        return;
    default: return;
    }
}

static Label label_builtin(Trust *t, const Expr *e)
{
    const Builtin *builtin = e->builtin;
    const Rule rule = rule_of(builtin);
    const Label args = label_args(t, e, 0);
    if (builtin->receiver != TYPE_BAD && !builtin->effect) return label_method(t, e, rule);
    if (builtin->id == BI_SEND) into_handles(t, e->argv[0], label_expr(t, e->argv[1]));
    builtin_places(t, e);
    if (rule == RULE_SOURCE)
        return from_outside(t, e->span, who_gives(builtin),
                            arena_printf(t->arena, "it comes from '%s'", builtin->name));
    return rule == RULE_TRUSTED ? clean : args;
}

static Label label_tool(Trust *t, const Expr *e, const Decl *tool)
{
    if (t->reports) check_argv_call(t->c, e, tool);
    (void)label_call(t, e, tool);
    if (tool->result_label == LABEL_TRUSTED) return clean;
    const char *what = tool->kind == DECL_PROMPT ? "the prompt" : "the tool";
    return from_outside(t, e->span, tool->kind == DECL_PROMPT ? "a model chose this" : "this comes from a tool",
                        arena_printf(t->arena, "it comes from %s '%s'", what, tool->name.text));
}

static Label label_error(Trust *t, const Expr *e, const Decl *error)
{
    Label *kept = name_table_get(&t->error_labels, error->full_name);
    if (!kept) name_table_put(t->c, &t->error_labels, error->full_name, kept = arena_new(t->arena, Label));
    const Label label = label_args(t, e, 0);
    keep(t, kept, (Label){label.from, 0});
    if (label.params && !kept->from)
        keep(t, kept, from_outside(t, e->span, "this was in an error", "it was put into an error here"));
    return label;
}

static Label label_any_call(Trust *t, const Expr *e)
{
    if (e->call == CALL_METHOD && e->left->optional) /* left?.name(): the hidden variable holds left */
        into_variable(t, e->left->variable, label_expr(t, e->left->left));
    switch (e->call) {
    case CALL_FN:
    case CALL_WORKFLOW: return label_call(t, e, e->decl);
    case CALL_TOOL:
    case CALL_PROMPT: return label_tool(t, e, e->decl);
    case CALL_BUILTIN: return label_builtin(t, e);
    case CALL_METHOD:
        return e->builtin->suspends || e->builtin->effect ? label_builtin(t, e)
                                                          : label_method(t, e, rule_of(e->builtin));
    case CALL_RECORD: return e->decl && e->decl->kind == DECL_ERROR ? label_error(t, e, e->decl) : label_args(t, e, 0);
    case CALL_CASE: return label_args(t, e, 0);
    case CALL_TRUST: (void)label_expr(t, e->argv[0]); return clean;
    default: return clean;
    }
}

/* ---- closures ---- */

/* What a closure's block gives. */
static Label label_block(Trust *t, const Block *block)
{
    Label given = clean, *outer = t->given;
    if (!block) return clean;
    t->given = &given;
    walk_block(t, block);
    t->given = outer;
    return given;
}

static Label label_bodies(Trust *t, const Expr *e)
{
    Label label = clean;
    for (const ParallelBody *body = e->bodies; body; body = body->next)
        label = both(label, body->yield ? label_expr(t, body->yield) : label_block(t, body->block));
    return label;
}

static Label label_range(Trust *t, const Expr *from, const Expr *to)
{
    const Label label = from ? label_expr(t, from) : clean;
    return to ? both(label, label_expr(t, to)) : label;
}

static Label label_parallel_for(Trust *t, const Expr *e)
{
    const Label range = label_range(t, e->range, e->range_end);
    if (e->limit) (void)label_expr(t, e->limit);
    if (e->closure && e->closure->first) into_variable(t, e->closure->first, range);
    if (e->closure && e->closure->second) into_variable(t, e->closure->second, range);
    return label_block(t, e->block);
}

static Label label_step(Trust *t, const Expr *e)
{
    const bool outer = t->approved;
    t->approved = false;
    for (const Policy *policy = e->policies; policy; policy = policy->next) t->approved |= policy->kind == POL_APPROVE;
    Label label = label_expr(t, e->left);
    t->approved = outer;
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        const Label value = policy->value ? label_expr(t, policy->value) : clean;
        if (policy->kind == POL_ELSE) label = both(label, value);
        if (policy->closure && policy->closure->answer) into_variable(t, policy->closure->answer, label);
        if (policy->block) (void)label_block(t, policy->block);
    }
    return label;
}

/* What an inline function takes along from around it is given to it behind its parameters. */
static uint32_t first_capture(const Decl *fn)
{
    return fn->param_count - fn->capture_count;
}

static Label label_name(Trust *t, const Expr *e)
{
    if (!e->variable) return clean; /* a constant */
    for (uint32_t i = 0; t->decl->lambda && i < t->decl->capture_count; i++)
        if (t->decl->captures[i] == e->variable) return (Label){NULL, param_bit(first_capture(t->decl) + i)};
    return *label_of_variable(t, e->variable);
}

static Label label_member(Trust *t, const Expr *e)
{
    if (e->call == CALL_CASE || (!e->left || e->decl)) return clean;
    const Label label = label_expr(t, e->left);
    if (e->optional && e->variable) into_variable(t, e->variable, label);
    return label;
}

static Label label_expr(Trust *t, const Expr *e)
{
    Label label = clean;
    if (!e) return clean;
    switch (e->kind) {
    case EX_NAME: return label_name(t, e);
    case EX_FIELD: return label_member(t, e);
    case EX_INDEX: (void)label_expr(t, e->right); return label_expr(t, e->left);
    case EX_STRING:
        for (const Expr *part = e->parts; part; part = part->next) label = both(label, label_expr(t, part));
        return label;
    case EX_CALL: return label_any_call(t, e);
    case EX_BINARY:
        label = both(label_expr(t, e->left), label_expr(t, e->right));
        return is_comparison(e->op) ? clean : label;
    case EX_UNARY:
    case EX_PAREN:
    case EX_JSON: return label_expr(t, e->left);
    case EX_LIST: return label_list(t, e->args);
    case EX_MAP: return e->argc ? label_args(t, e, 0) : label_entries(t, e->entries);
    case EX_IF: (void)label_expr(t, e->cond); return both(label_expr(t, e->left), label_expr(t, e->right));
    case EX_YIELD: return label_step(t, e);
    case EX_SPAWN: (void)label_list(t, e->args); return label_expr(t, e->left);
    case EX_PARALLEL:
    case EX_RACE: return label_bodies(t, e);
    case EX_PARALLEL_FOR: return label_parallel_for(t, e);
    default: return clean;
    }
}

/* ---- statements ---- */

static void walk_match(Trust *t, const Stmt *s)
{
    const Label label = label_expr(t, s->value);
    for (const Arm *arm = s->arms; arm; arm = arm->next) {
        for (const Pattern *pattern = arm->patterns; pattern; pattern = pattern->next)
            for (const Binding *b = pattern->bindings; b; b = b->next)
                if (b->variable) into_variable(t, b->variable, label);
        if (arm->guard) (void)label_expr(t, arm->guard);
        walk_block(t, arm->block);
    }
}

/* An error that the program declares holds what the program puts in; others hold texts of tools and models. */
static Label label_caught(Trust *t, const Type *type, Span span)
{
    const Label *kept = type && type->decl ? name_table_get(&t->error_labels, type->decl->full_name) : NULL;
    if (type && type->decl) return kept ? *kept : clean;
    return from_outside(t, span, "this is the text of an error", "it comes from an error that is caught here");
}

static void walk_catch(Trust *t, const Catch *catch)
{
    Label label = catch->names ? clean : label_caught(t, NULL, catch->var.span);
    for (const CatchName *name = catch->names; name; name = name->next)
        label = both(label, label_caught(t, name->type, name->name.span));
    if (catch->variable) into_variable(t, catch->variable, label);
    for (const CatchField *field = catch->fields; field; field = field->next)
        if (field->variable) into_variable(t, field->variable, label);
    walk_block(t, catch->block);
}

static void walk_assign(Trust *t, const Stmt *s)
{
    const Expr *root = root_of(s->target);
    for (const Expr *at = s->target; at && at != root; at = at->left) {
        if (at->kind != EX_INDEX) continue;
        const Label key = label_expr(t, at->right);
        const bool stays = at->left->type && type_strip(at->left->type)->kind == TYPE_MAP;
        if (stays && root->variable) into_variable(t, root->variable, key);
    }
    (void)bind(t, root ? root->variable : NULL, s->value);
}

static void walk_for(Trust *t, const Stmt *s)
{
    const Label label = label_range(t, s->value, s->range_end);
    if (s->variable) into_variable(t, s->variable, label);
    if (s->variable2) into_variable(t, s->variable2, label);
    if (s->variable2 && has_handle(t, s->value)) into_handles(t, s->value, *label_of_variable(t, s->variable2));
    if (s->variable && has_handle(t, s->value)) into_handles(t, s->value, *label_of_variable(t, s->variable));
    walk_block(t, s->block);
}

static void walk_stmt(Trust *t, const Stmt *s)
{
    switch (s->kind) {
    case ST_LET:
    case ST_VAR: (void)bind(t, s->variable, s->value); return;
    case ST_ASSIGN: walk_assign(t, s); return;
    case ST_MATCH: walk_match(t, s); return;
    case ST_FOR: walk_for(t, s); return;
    case ST_RETURN:
        if (s->value && t->reach) keep(t, &t->reach->result, label_expr(t, s->value));
        return;
    case ST_GIVE:
        if (s->value && t->given) grow(t->given, label_expr(t, s->value));
        return;
    case ST_TRY:
        walk_block(t, s->block);
        for (const Catch *catch = s->catches; catch; catch = catch->next) walk_catch(t, catch);
        walk_block(t, s->finally);
        return;
    case ST_MOCK: return;
    default:
        if (s->value) (void)label_expr(t, s->value);
        if (s->timeout) (void)label_expr(t, s->timeout);
        walk_block(t, s->block);
        walk_block(t, s->else_block);
        return;
    }
}

static void walk_block(Trust *t, const Block *block)
{
    for (const Stmt *s = block ? block->stmts : NULL; s; s = s->next) walk_stmt(t, s);
}

/* ---- declarations ---- */

/* Before the first '/' of the path of an http tool's address, and where `${+…}` leaves everything as it is. */
static void line_places(Trust *t, const Decl *decl)
{
    const Expr *line = decl->provider_value;
    int slashes = 0;
    for (const Expr *part = line && line->kind == EX_STRING ? line->parts : NULL; part; part = part->next) {
        for (uint32_t i = 0; part->kind == EX_TEXT && i < part->text_len; i++) slashes += part->text[i] == '/';
        if (part->kind != EX_TEXT && (slashes < 3 || part->reserved))
            into_place(t, part->span, label_expr(t, part),
                       place_named(t, "decides which address is asked", part->span));
    }
}

/* A probe is given what its tool was. */
static void probe_places(Trust *t, const Decl *tool, Span span)
{
    const Reach *reach = tool->probe ? reach_of(t, tool->probe) : NULL;
    for (uint32_t i = 0; reach && i < tool->param_count; i++) {
        const Place *place = declared_place(t, tool->probe, i);
        if (!place) place = reach->places[i];
        if (place) into_place(t, span, (Label){NULL, param_bit(i)}, place);
    }
}

static void walk_tool(Trust *t, const Decl *decl)
{
    if (decl->provider == PROV_EXEC) {
        program_place(t, decl->provider_value, "decides which program a tool starts");
        check_argv_options(decl->provider_value, option_word, t);
        words_place(t, decl->provider_value, decl->sandbox ? decl->sandbox : t->program->sandbox);
    }
    if (decl->provider == PROV_HTTP) line_places(t, decl);
    for (const ProviderOption *option = decl->options; option; option = option->next) {
        const char *name = option->name.text ? option->name.text : "";
        if (strcmp(name, "probe") == 0) {
            probe_places(t, decl, option->value->span);
            continue;
        }
        const Label label = label_expr(t, option->value);
        if (strcmp(name, "cwd") == 0)
            into_place(t, option->value->span, label, place_named(t, "decides where a tool runs", option->value->span));
        if (strcmp(name, "env") == 0) names_place(t, option->value);
    }
}

static void walk_prompt(Trust *t, const Decl *decl)
{
    for (const PromptRow *row = decl->rows; row; row = row->next) {
        const Label label = label_expr(t, row->value);
        const char *what = strcmp(row->name.text, "system") == 0  ? "is what a model obeys"
                           : strcmp(row->name.text, "model") == 0 ? "decides which model is asked"
                                                                  : NULL;
        if (what) into_place(t, row->value->span, label, place_named(t, what, row->value->span));
    }
}

static void begin_params(Trust *t, const Decl *decl)
{
    uint32_t index = 0;
    for (const Field *f = decl->params; f; f = f->next, index++) {
        if (!f->variable) continue;
        Label label = {NULL, f->label == LABEL_TRUSTED ? 0 : param_bit(index)};
        if (f->label == LABEL_UNTRUSTED)
            label.from = from_outside(t, f->name.span, "this comes from a stranger", "declared untrusted here").from;
        Label *kept = label_of_variable(t, f->variable);
        if (!kept->from && label.from)
            keep(t, kept, label); /* without a note for itself */
        else
            into_variable(t, f->variable, label);
    }
}

static void end_params(Trust *t, const Decl *decl)
{
    uint32_t index = 0;
    for (const Field *f = decl->params; f; f = f->next, index++) {
        if (!f->variable || !t->c->has_handle_types || !type_has_handle(t->c, f->type)) continue;
        Label label = *label_of_variable(t, f->variable);
        label.params &= ~param_bit(index);
        keep(t, &t->reach->sent[index], label);
    }
}

/* A fn made of an inline function: it has no block, and gives one value. */
static void walk_lambda(Trust *t, const Decl *decl)
{
    const Expr *e = decl->lambda;
    if (e->variable) into_variable(t, e->variable, (Label){NULL, param_bit(0)});
    if (e->variable2) into_variable(t, e->variable2, (Label){NULL, param_bit(1)});
    keep(t, &t->reach->result, label_expr(t, e->left));
}

static void walk_decl(Trust *t, const Decl *decl)
{
    if (decl->generic || decl->kind == DECL_TEST || decl->kind == DECL_IMPORT) return;
    if (decl->kind != DECL_FN && decl->kind != DECL_WORKFLOW && decl->kind != DECL_TOOL && decl->kind != DECL_PROMPT)
        return;
    t->decl = decl;
    t->reach = reach_of(t, decl);
    t->given = NULL;
    t->approved = false;
    begin_params(t, decl);
    if (decl->lambda) walk_lambda(t, decl);
    if (decl->kind == DECL_TOOL) walk_tool(t, decl);
    if (decl->kind == DECL_PROMPT) walk_prompt(t, decl);
    walk_block(t, decl->block);
    end_params(t, decl);
}

static void walk_program(Trust *t)
{
    t->changed = false;
    for (uint32_t i = 0; i < t->program->decl_count; i++) walk_decl(t, t->program->decls[i]);
}

void check_trust(Check *c)
{
    Trust trust = {.c = c, .program = c->program, .arena = c->arena};
    do walk_program(&trust);
    while (trust.changed);
    trust.reports = true;
    walk_program(&trust);
}

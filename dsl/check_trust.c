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
 * All labels only grow, and there are finitely many, so the rounds end. A round walks the bodies that read what has
 * changed since their last walk; the others would come to the same labels again. */
#include "check_trust.h"

/* ---- labels ---- */

static const Label clean = {0};

static Label both(Label a, Label b)
{
    return (Label){a.from ? a.from : b.from, a.params | b.params, a.chosen ? a.chosen : b.chosen,
                   a.choosers | b.choosers};
}

/* name: NULL if what it says names nothing. */
static Label from_outside(Trust *t, Span span, const char *who, const char *says, const char *name)
{
    Origin *origin = arena_new(t->arena, Origin);
    *origin = (Origin){.says = says, .name = name, .who = who, .span = span};
    return (Label){.from = origin};
}

/* What the compiler wrote, which has a dot in its name, is nothing that people can look at. */
static Label through(Trust *t, Label label, const char *name, Span span)
{
    if (!label.from || strchr(name, '.')) return label;
    Origin *origin = arena_new(t->arena, Origin);
    *origin = (Origin){.says = "and through", .name = name, .who = label.from->who, .span = span, .before = label.from};
    label.from = origin;
    return label;
}

/* What callers of the declaration at hand read. */
static void keep(Trust *t, Label *kept, Label label)
{
    if (label_grow(kept, label)) t->reach->changed = ++t->clock;
}

/* A variable of the body at hand. What nobody has read yet is read as it is then. */
static void keep_own(Trust *t, const Variable *variable, Label label)
{
    if (!label_grow(variable->label, label) || !variable->label_read) return;
    if (t->shared) t->common = ++t->clock;
    t->reach->unsettled = true;
}

/* A value that others choose, where the span is. It stays trusted, but a report names the choice. */
static Label chosen_by(Trust *t, Label value, Label by, Span span)
{
    const Origin *from = by.from ? by.from : by.chosen ? by.chosen->before : NULL;
    if (!t->notes) return value;
    if (from && !value.chosen) {
        Origin *choice = arena_new(t->arena, Origin);
        *choice = (Origin){.span = span, .before = from};
        value.chosen = choice;
    }
    value.choosers |= by.params | by.choosers;
    return value;
}

void into_variable(Trust *t, const Variable *variable, Label label)
{
    Label *kept = label_of_variable(t, variable);
    const bool first = label.from && !kept->from;
    keep_own(t, variable, first && variable->name ? through(t, label, variable->name, variable->span) : label);
}

static void *per_param(Trust *t, const Decl *decl, size_t size)
{
    const size_t all = (decl->param_count + 1) * size;
    return memset(arena_alloc(t->arena, all), 0, all);
}

Reach *reach_of(Trust *t, const Decl *decl)
{
    if (decl->reach) return decl->reach;
    Reach *reach = arena_new(t->arena, Reach);
    reach->count = decl->param_count;
    reach->places = per_param(t, decl, sizeof *reach->places);
    reach->words = per_param(t, decl, sizeof *reach->words);
    reach->sent = per_param(t, decl, sizeof *reach->sent);
    reach->given = per_param(t, decl, sizeof *reach->given);
    ((Decl *)decl)->reach = reach;
    return reach;
}

/* ---- in this body, whoever called it ---- */

/* Where a value comes from. NULL: only trusted values reach it. */
const Origin *origin_of(const Trust *t, Label label)
{
    const Origin *from = label.from;
    for (uint32_t i = 0; !from && t->reach && i < t->reach->count; i++)
        if (label.params & param_bit(i)) from = t->reach->given[i].from;
    return from;
}

/* Which choice from outside let it through, here or in a caller. NULL: none. */
static const Origin *chosen_from(const Trust *t, Label label, Span span)
{
    const Origin *chosen = label.chosen;
    for (uint32_t i = 0; !chosen && t->notes && t->reach && i < t->reach->count; i++) {
        const Label *given = &t->reach->given[i];
        if (label.choosers & param_bit(i)) chosen = chosen_by((Trust *)t, clean, *given, span).chosen;
        if (label.params & param_bit(i) && !chosen) chosen = given->chosen;
    }
    return chosen;
}

/* ---- places ---- */

/* What a parameter brings along is noted where it is given. */
static void note_choice(Trust *t, Span span, Label label, const Place *place)
{
    label.params = 0;
    const Origin *chosen = chosen_from(t, label, span);
    if (chosen)
        trust_note(t->arena, t->notes,
                   (TrustNote){.kind = TRUST_CHOSEN,
                               .span = chosen->span,
                               .from = chosen->before,
                               .in = t->decl,
                               .place = place,
                               .at = span});
}

void into_place(Trust *t, Span span, Label label, const Place *place)
{
    if (label.from && t->reach) t->reach->speaks = true;
    if (t->reports && label.from) place_refuse(t->c, span, label.from, place);
    if (t->reports && t->notes && !label.from) note_choice(t, span, label, place);
    for (uint32_t i = 0; t->reach && i < t->reach->count; i++) {
        const Place *kept = t->reach->places[i];
        const bool is_stricter = !kept || (kept->unless_approved && !place->unless_approved);
        if (!(label.params & param_bit(i)) || !is_stricter) continue;
        t->reach->places[i] = place;
        t->reach->changed = ++t->clock;
    }
}

/* A word of a command that a program may read as an option. It is worth a warning once somebody else says it. */
void into_word(Trust *t, Label label, const Expr *word)
{
    const Origin *source = label.from;
    while (source && source->before) source = source->before;
    if (source && t->reach) t->reach->speaks = true;
    if (t->reports && source) check_argv_warn(t->c, word, source->span, check_origin_text(t->arena, source));
    for (uint32_t i = 0; t->reach && i < t->reach->count; i++) {
        if (!(label.params & param_bit(i)) || t->reach->words[i]) continue;
        t->reach->words[i] = word;
        t->reach->changed = ++t->clock;
    }
}

/* ---- expressions ---- */

static void walk_block(Trust *t, const Block *block);

/* A value gets a second name. */
static Label bind(Trust *t, const Variable *variable, const Expr *value)
{
    const Label label = value ? label_expr(t, value) : clean;
    if (!variable) return label;
    into_variable(t, variable, label);
    if (value) share_handles(t, value, variable);
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

enum { FEW_ARGS = 8 }; /* whose labels need no memory of their own */

/* A parameter's label, in the body that calls, is that of what is given for it. */
static Label given_for(Trust *t, const Reach *reach, Label label, const Label *args, Span span)
{
    Label out = {.from = label.from, .chosen = label.chosen};
    for (uint32_t i = 0; i < reach->count; i++) {
        if (label.params & param_bit(i)) out = both(out, args[i]);
        if (label.choosers & param_bit(i)) out = chosen_by(t, out, args[i], span);
    }
    return out;
}

/* A person sees the command of this very call. The approval of a workflow shows none. */
static bool is_waived(const Trust *t, const Decl *decl, const Place *place)
{
    return place->unless_approved && t->approved && decl->kind == DECL_TOOL;
}

static const char *param_name(const Decl *tool, uint32_t index)
{
    const Field *f = tool->params;
    for (; index; f = f->next) index--;
    return f->name.text;
}

static void note_reached(Trust *t, const char *tool, const char *param, const Expr *arg, Label label)
{
    const Origin *from = origin_of(t, label);
    if (from)
        trust_note(
            t->arena, t->notes,
            (TrustNote){
                .kind = TRUST_REACHES, .span = arg->span, .from = from, .in = t->decl, .tool = tool, .param = param});
}

static void note_callee(Trust *t, Reach *callee)
{
    Reach *by = t->reach;
    if (by->callee_count && by->callees[by->callee_count - 1].reach == callee) return;
    by->callees = arena_grow(t->arena, by->callees, &by->callee_cap, by->callee_count + 1, sizeof *by->callees);
    by->callees[by->callee_count++] = (Callee){callee, callee->changed};
}

/* What callers give for a parameter goes on into what its body calls; without calls, only the reports read it. */
static void note_given(Reach *reach, uint32_t index, Label label)
{
    const bool grows = label_grow(&reach->given[index], label);
    reach->unsettled |= grows && reach->callee_count;
}

static Label label_call(Trust *t, const Expr *e, const Decl *decl)
{
    Reach *reach = reach_of(t, decl);
    Label few[FEW_ARGS], *args = few;
    if (reach->count > FEW_ARGS) args = arena_alloc(t->arena, reach->count * sizeof *args);
    note_callee(t, reach);
    for (uint32_t i = 0; i < reach->count; i++) {
        const Expr *arg = i < e->argc ? e->argv[i] : NULL;
        args[i] = arg ? label_expr(t, arg) : clean;
        const Place *place = arg ? place_declared(t, decl, i) : NULL;
        if (!place) place = reach->places[i];
        if (arg && place && !is_waived(t, decl, place)) into_place(t, arg->span, args[i], place);
        const Expr *begin = arg && reach->words[i] ? check_argv_begin(arg) : NULL;
        if (begin) into_word(t, label_expr(t, begin), reach->words[i]);
        note_given(reach, i,
                   (Label){.from = origin_of(t, args[i]), .chosen = arg ? chosen_from(t, args[i], arg->span) : NULL});
        if (t->notes && t->reports && decl->dangerous && arg)
            note_reached(t, decl->full_name, param_name(decl, i), arg, args[i]);
    }
    for (uint32_t i = 0; i < reach->count && i < e->argc; i++) {
        if (!e->argv[i] || !has_handle(t, e->argv[i])) continue;
        into_handles(t, e->argv[i], given_for(t, reach, reach->sent[i], args, e->span));
        args[i] = label_expr(t, e->argv[i]);
    }
    const Label label = given_for(t, reach, reach->result, args, e->span);
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

static void label_lambda(Trust *t, const Expr *lambda, Label element, Label initial, Label *result)
{
    const Variable *first = lambda->variable, *second = lambda->variable2;
    const bool outer = t->shared;
    t->shared = true;
    if (second) {
        if (first) into_variable(t, first, initial);
        into_variable(t, second, element);
    } else if (first) {
        into_variable(t, first, element);
    }
    *result = label_expr(t, lambda->left);
    if (second && first) into_variable(t, first, *result);
    t->shared = outer;
}

/* The ways out that are written: what is checked or vouched for comes from outside. */
static void note_way_out(Trust *t, TrustKind kind, const Expr *e, Label label, const Expr *why)
{
    const Origin *from = origin_of(t, label);
    if (t->notes && t->reports && (from || why))
        trust_note(t->arena, t->notes,
                   (TrustNote){.kind = kind, .span = e->span, .from = from, .in = t->decl, .why = why});
}

static Label label_truth(Trust *t, const Expr *e, Label receiver, Label others)
{
    switch (e->builtin->id) {
    case BI_STRING_VETTED: note_way_out(t, TRUST_VETTED, e, receiver, NULL); return clean;
    case BI_INT_WITHIN: note_way_out(t, TRUST_WITHIN, e, receiver, NULL); return others; /* as good as its bounds */
    default: return chosen_by(t, clean, both(receiver, others), e->span);
    }
}

static Label label_method(Trust *t, const Expr *e, LabelRule rule)
{
    const Label receiver = e->argc && e->argv[0] ? label_expr(t, e->argv[0]) : clean;
    const Label others = label_args(t, e, 1);
    Label made = clean;
    for (uint32_t i = 1; i < e->argc; i++)
        if (e->argv[i] && e->argv[i]->kind == EX_LAMBDA) label_lambda(t, e->argv[i], receiver, others, &made);
    switch (rule) {
    case RULE_CHOICE: return chosen_by(t, receiver, both(others, made), e->span);
    case RULE_MAPPED: return both(others, made);
    case RULE_TRUSTED: return label_truth(t, e, receiver, both(others, made));
    default: return both(both(receiver, others), made);
    }
}

static const char *who_gives(const Builtin *builtin)
{
    return builtin->id == BI_LLM ? "a model chose this" : "this comes from outside";
}

/* The call whose words are looked at. */
typedef struct Guarding {
    Trust *t;
    Expr *call;
    LIST(ArgvWord) words;
} Guarding;

/* Does what a word begins with come from outside in this call? Of a tool, the word is made of its parameters. */
static bool is_outside(const Guarding *g, Label label)
{
    Trust *t = g->t;
    if (g->call->call != CALL_TOOL) return origin_of(t, label);
    for (uint32_t i = 0; i < g->call->argc; i++) {
        const Expr *begin = label.params & param_bit(i) && g->call->argv[i] ? check_argv_begin(g->call->argv[i]) : NULL;
        if (begin && origin_of(t, label_expr(t, begin))) return true;
    }
    return false;
}

static void guard_word(void *state, const Expr *word, uint32_t at, bool behind)
{
    enum { SHOWN_MAX = 40 };
    Guarding *g = state;
    Arena *arena = g->t->arena;
    if (!is_outside(g, label_expr(g->t, word))) return;
    const char *written = source_text(g->t->program->sources, word->span);
    const bool is_short = word->span.len <= SHOWN_MAX && !memchr(written, '\n', word->span.len);
    ArgvWord *found = arena_new(arena, ArgvWord);
    *found = (ArgvWord){at, is_short ? arena_printf(arena, "'%.*s'", (int)word->span.len, written) : "an argument",
                        behind, NULL};
    LIST_APPEND(&g->words, found, next);
}

static void look_later(Trust *t, Looked looked)
{
    Reach *by = t->reach;
    by->looked = arena_grow(t->arena, by->looked, &by->looked_cap, by->looked_count + 1, sizeof *by->looked);
    by->looked[by->looked_count++] = looked;
}

/* What the warning says of a program, the runtime refuses in a run; also behind an option, which may take no value. */
static void guard_words(Trust *t, const Expr *call, const Expr *argv)
{
    Guarding g = {.t = t, .call = (Expr *)call};
    if (call->words) return;
    if (!t->reports) {
        look_later(t, (Looked){.call = call, .argv = argv});
        return;
    }
    check_argv_options(argv, guard_word, &g);
    g.call->words = g.words.first;
}

static Label label_builtin(Trust *t, const Expr *e)
{
    const Builtin *builtin = e->builtin;
    const LabelRule rule = builtin->label;
    const Label args = label_args(t, e, 0);
    if (builtin->receiver != TYPE_BAD && !builtin->effect) return label_method(t, e, rule);
    if (builtin->id == BI_SEND) send_handles(t, e);
    places_of_builtin(t, e);
    for (uint32_t i = 0; t->notes && t->reports && builtin_is_dangerous(builtin) && i < e->argc; i++)
        if (e->argv[i]) note_reached(t, builtin->name, builtin->params[i].name, e->argv[i], label_expr(t, e->argv[i]));
    if (builtin->id == BI_EXEC) guard_words(t, e, e->argv[0]);
    if (rule == RULE_SOURCE) return from_outside(t, e->span, who_gives(builtin), "it comes from", builtin->name);
    if (builtin->id == BI_ENV || builtin->id == BI_EXISTS) return chosen_by(t, clean, args, e->span);
    return rule == RULE_TRUSTED ? clean : args;
}

static Label label_tool(Trust *t, const Expr *e, const Decl *tool)
{
    if (t->first) check_argv_call(t->c, e, tool);
    if (tool->kind == DECL_TOOL && tool->provider == PROV_EXEC) guard_words(t, e, tool->provider_value);
    (void)label_call(t, e, tool);
    if (tool->result_label == LABEL_TRUSTED) return clean;
    const Decl *named = tool->made_for ? tool->made_for : tool;
    return tool->kind == DECL_PROMPT
               ? from_outside(t, e->span, "a model chose this", "it comes from the prompt", named->name.text)
               : from_outside(t, e->span, "this comes from a tool", "it comes from the tool", named->name.text);
}

static Reach *reach_of_error(Trust *t, const Decl *error)
{
    Reach *reach = name_table_get(&t->errors, error->full_name);
    if (!reach) name_table_put(t->c, &t->errors, error->full_name, reach = arena_new(t->arena, Reach));
    return reach;
}

/* Errors have no parameters of their own: a caller's value counts as one from outside. */
static void into_error(Trust *t, const Decl *error, Label label, Span span)
{
    Reach *kept = reach_of_error(t, error);
    bool grows = label_grow(&kept->result, (Label){.from = label.from});
    if (label.params && !kept->result.from)
        grows |= label_grow(&kept->result, from_outside(t, span, "this was in an error",
                                                        "it comes from what was put into an error", NULL));
    if (grows) kept->changed = ++t->clock;
}

/* What is sent into a channel that an error holds is in every name of it. */
static void share_error(Trust *t, const Decl *error, const Variable *variable)
{
    if (variable_has_handle(t, variable)) into_error(t, error, read_variable(t, variable), variable->span);
}

static Label label_error(Trust *t, const Expr *e, const Decl *error)
{
    const Label label = label_args(t, e, 0);
    into_error(t, error, label, e->span);
    if (!has_handle(t, e)) return label;
    note_callee(t, reach_of_error(t, error));
    into_handles(t, e, reach_of_error(t, error)->result);
    return label;
}

static Label label_any_call(Trust *t, const Expr *e)
{
    if (e->call == CALL_METHOD && e->left->optional) /* left?.name(): the hidden variable holds left */
        into_variable(t, e->left->variable, label_expr(t, e->left->left));
    if (t->calls && t->reports) trust_note_call(t->arena, t->calls, (TrustCall){t->decl, e, t->approved});
    switch (e->call) {
    case CALL_FN:
    case CALL_WORKFLOW: return label_call(t, e, e->decl);
    case CALL_TOOL:
    case CALL_PROMPT: return label_tool(t, e, e->decl);
    case CALL_BUILTIN: return label_builtin(t, e);
    case CALL_METHOD:
        return e->builtin->suspends || e->builtin->effect ? label_builtin(t, e) : label_method(t, e, e->builtin->label);
    case CALL_RECORD: return e->decl && e->decl->kind == DECL_ERROR ? label_error(t, e, e->decl) : label_args(t, e, 0);
    case CALL_CASE: return label_args(t, e, 0);
    case CALL_TRUST:
        note_way_out(t, TRUST_STATED, e, label_expr(t, e->argv[0]), e->args->next->value->parts);
        return clean;
    default: return clean;
    }
}

/* ---- closures ---- */

/* What a closure's block gives. */
static Label label_block(Trust *t, const Block *block, const Closure *closure)
{
    Label given = clean, *outer = t->given;
    const Closure *around = t->closure;
    if (!block) return clean;
    t->given = &given;
    t->closure = closure;
    walk_block(t, block);
    t->given = outer;
    t->closure = around;
    return given;
}

static Label label_bodies(Trust *t, const Expr *e)
{
    Label label = clean;
    for (const ParallelBody *body = e->bodies; body; body = body->next)
        label = both(label, body->yield ? label_expr(t, body->yield) : label_block(t, body->block, body->closure));
    return label;
}

static Label label_range(Trust *t, const Expr *from, const Expr *to)
{
    const Label label = from ? label_expr(t, from) : clean;
    return to ? both(label, label_expr(t, to)) : label;
}

/* The variables of a loop. */
static void name_elements(Trust *t, const Expr *range, Label label, const Variable *first, const Variable *second)
{
    const Variable *names[] = {second, first};
    for (int i = 0; i < 2; i++) {
        if (!names[i]) continue;
        into_variable(t, names[i], label);
        share_handles(t, range, names[i]);
    }
}

static Label label_parallel_for(Trust *t, const Expr *e)
{
    const Label range = label_range(t, e->range, e->range_end);
    if (e->limit) (void)label_expr(t, e->limit);
    if (e->closure) name_elements(t, e->range, range, e->closure->first, e->closure->second);
    return label_block(t, e->block, e->closure);
}

/* For the question of an `approve` policy: where the arguments of its call come from. */
static void note_origins(Trust *t, const Expr *call, Policy *policy)
{
    if (!t->reports) {
        look_later(t, (Looked){.call = call, .policy = policy});
        return;
    }
    const Origin **origins = arena_alloc(t->arena, (call->argc + 1) * sizeof *origins);
    for (uint32_t i = 0; i < call->argc; i++) {
        const Origin *from = call->argv[i] ? origin_of(t, label_expr(t, call->argv[i])) : NULL;
        if (!from) continue;
        origins[i] = from;
        policy->origins = origins;
    }
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
        if (policy->kind == POL_APPROVE) note_origins(t, e->left, (Policy *)policy);
        if (policy->closure && policy->closure->answer) {
            into_variable(t, policy->closure->answer, label);
            share_handles(t, e, policy->closure->answer);
        }
        if (policy->block) (void)label_block(t, policy->block, policy->closure);
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
        if (t->decl->captures[i] == e->variable) return (Label){.params = param_bit(first_capture(t->decl) + i)};
    return read_variable(t, e->variable);
}

static Label label_member(Trust *t, const Expr *e)
{
    if (e->call == CALL_CASE || (!e->left || e->decl)) return clean;
    const Label label = label_expr(t, e->left);
    if (e->optional && e->variable) into_variable(t, e->variable, label);
    return label;
}

Label label_expr(Trust *t, const Expr *e)
{
    Label label = clean;
    if (!e) return clean;
    switch (e->kind) {
    case EX_NAME: return label_name(t, e);
    case EX_FIELD: return label_member(t, e);
    case EX_INDEX: label = label_expr(t, e->right); return chosen_by(t, label_expr(t, e->left), label, e->span);
    case EX_STRING:
        for (const Expr *part = e->parts; part; part = part->next) label = both(label, label_expr(t, part));
        return label;
    case EX_CALL: return label_any_call(t, e);
    case EX_BINARY:
        label = both(label_expr(t, e->left), label_expr(t, e->right));
        return is_comparison(e->op) ? chosen_by(t, clean, label, e->span) : label;
    case EX_UNARY:
    case EX_PAREN:
    case EX_JSON: return label_expr(t, e->left);
    case EX_LIST: return label_list(t, e->args);
    case EX_MAP: return e->argc ? label_args(t, e, 0) : label_entries(t, e->entries);
    case EX_IF:
        label = label_expr(t, e->cond);
        return chosen_by(t, both(label_expr(t, e->left), label_expr(t, e->right)), label, e->span);
    case EX_YIELD: return label_step(t, e);
    case EX_SPAWN: (void)label_list(t, e->args); return label_expr(t, e->left);
    case EX_PARALLEL:
    case EX_RACE: return label_bodies(t, e);
    case EX_PARALLEL_FOR: return label_parallel_for(t, e);
    default: return clean;
    }
}

/* ---- statements ---- */

/* What a pattern binds. */
static void name_part(Trust *t, const Expr *value, Label label, const Pattern *pattern, const Variable *variable)
{
    const Decl *error = pattern->error_type ? pattern->error_type->decl : NULL;
    into_variable(t, variable, label);
    if (error)
        share_error(t, error, variable);
    else
        share_handles(t, value, variable);
}

static void walk_match(Trust *t, const Stmt *s)
{
    const Label label = label_expr(t, s->value), outer = t->decides;
    t->decides = chosen_by(t, outer, label, s->span);
    for (const Arm *arm = s->arms; arm; arm = arm->next) {
        for (const Pattern *pattern = arm->patterns; pattern; pattern = pattern->next)
            for (const Binding *b = pattern->bindings; b; b = b->next)
                if (b->variable) name_part(t, s->value, label, pattern, b->variable);
        if (arm->guard) (void)label_expr(t, arm->guard);
        walk_block(t, arm->block);
    }
    t->decides = outer;
}

/* if and while: what is assigned and returned in their blocks is chosen by the condition. */
static void walk_branches(Trust *t, const Stmt *s)
{
    const Label outer = t->decides;
    t->decides = chosen_by(t, outer, label_expr(t, s->value), s->value->span);
    walk_block(t, s->block);
    walk_block(t, s->else_block);
    t->decides = outer;
}

/* An error that the program declares holds what the program puts in; others hold texts of tools and models. */
static Label label_caught(Trust *t, const Type *type, Span span)
{
    if (type && type->decl) {
        Reach *kept = reach_of_error(t, type->decl);
        note_callee(t, kept);
        return kept->result;
    }
    return from_outside(t, span, "this is the text of an error", "it comes from an error that is caught here", NULL);
}

static void share_caught(Trust *t, const Catch *catch, const Variable *variable)
{
    for (const CatchName *name = catch->names; variable && name; name = name->next)
        if (name->type && name->type->decl) share_error(t, name->type->decl, variable);
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
    share_caught(t, catch, catch->variable);
    for (const CatchField *field = catch->fields; field; field = field->next) share_caught(t, catch, field->variable);
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
    if (root && root->variable) into_variable(t, root->variable, t->decides);
}

static void walk_for(Trust *t, const Stmt *s)
{
    const Label label = label_range(t, s->value, s->range_end);
    name_elements(t, s->value, label, s->variable, s->variable2);
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
    case ST_IF:
    case ST_WHILE: walk_branches(t, s); return;
    case ST_RETURN:
        if (s->value && t->reach) keep(t, &t->reach->result, both(label_expr(t, s->value), t->decides));
        if (s->value) return_handles(t, s->value);
        return;
    case ST_GIVE:
        if (s->value && t->given) label_grow(t->given, both(label_expr(t, s->value), t->decides));
        if (s->value) give_handles(t, s->value);
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

static void begin_params(Trust *t, const Decl *decl)
{
    uint32_t index = 0;
    for (const Field *f = decl->params; f; f = f->next, index++) {
        if (!f->variable) continue;
        Label label = {.params = f->label == LABEL_TRUSTED ? 0 : param_bit(index)};
        if (f->label == LABEL_UNTRUSTED)
            label.from =
                from_outside(t, f->name.span, "this comes from a stranger", "declared untrusted here", NULL).from;
        Label *kept = label_of_variable(t, f->variable);
        if (!kept->from && label.from)
            keep_own(t, f->variable, label); /* without a note for itself */
        else
            into_variable(t, f->variable, label);
    }
}

static void end_params(Trust *t, const Decl *decl)
{
    uint32_t index = 0;
    for (const Field *f = decl->params; f; f = f->next, index++) {
        if (!f->variable || !t->c->has_handle_types || !type_has_handle(t->c, f->type)) continue;
        Label label = read_variable(t, f->variable);
        label.params &= ~param_bit(index);
        keep(t, &t->reach->sent[index], label);
    }
}

/* A fn made of an inline function: it has no block, and gives one value. */
static void walk_lambda(Trust *t, const Decl *decl)
{
    const Expr *e = decl->lambda;
    if (e->variable) into_variable(t, e->variable, (Label){.params = param_bit(0)});
    if (e->variable2) into_variable(t, e->variable2, (Label){.params = param_bit(1)});
    keep(t, &t->reach->result, label_expr(t, e->left));
    return_handles(t, e->left);
}

/* Has something changed that the declaration at hand reads, since it was walked? */
static bool is_stale(const Trust *t)
{
    const Reach *reach = t->reach;
    bool stale = !reach->walked || reach->unsettled || t->common > reach->walked;
    for (uint32_t i = 0; !stale && i < reach->callee_count; i++)
        stale = reach->callees[i].reach->changed > reach->callees[i].seen;
    return stale;
}

/* Instead of walking a body in which nothing is refused. */
static void look_now(Trust *t)
{
    for (uint32_t i = 0; i < t->reach->looked_count; i++) {
        const Looked *looked = &t->reach->looked[i];
        if (looked->policy)
            note_origins(t, looked->call, looked->policy);
        else
            guard_words(t, looked->call, looked->argv);
    }
}

/* Is there more to report about the body? A list of all that is let through needs every one. */
static bool is_told(const Trust *t)
{
    return t->reach->speaks || t->notes || t->calls;
}

/* False: it has no body, or that was up to date. */
static bool walk_decl(Trust *t, const Decl *decl)
{
    if (decl->generic || decl->kind == DECL_TEST || decl->kind == DECL_IMPORT) return false;
    if (decl->kind != DECL_FN && decl->kind != DECL_WORKFLOW && decl->kind != DECL_TOOL && decl->kind != DECL_PROMPT)
        return false;
    t->decl = decl;
    t->reach = reach_of(t, decl);
    if (t->reports && !is_told(t)) look_now(t);
    if (!(t->reports ? is_told(t) : is_stale(t))) return false;
    t->first = !t->reach->walked;
    t->reach->unsettled = false;
    t->reach->walked = t->clock;
    t->reach->callee_count = t->reach->looked_count = 0;
    t->shared = decl->lambda;
    t->given = NULL;
    t->closure = NULL;
    t->approved = false;
    t->decides = clean;
    begin_params(t, decl);
    if (decl->lambda) walk_lambda(t, decl);
    if (decl->kind == DECL_TOOL) places_of_tool(t, decl);
    if (decl->kind == DECL_PROMPT) places_of_prompt(t, decl);
    walk_block(t, decl->block);
    end_params(t, decl);
    return true;
}

/* False: nothing was left to walk. A loop may need its body walked again: that is done while the body is at hand. */
static bool walk_program(Trust *t)
{
    bool walked = false;
    for (uint32_t i = 0; i < t->program->decl_count; i++)
        for (bool again = true; again && walk_decl(t, t->program->decls[i]); walked = true) again = !t->reports;
    return walked;
}

void check_trust(Check *c, TrustReport *report)
{
    TrustReport calls = {0};
    Trust trust = {.c = c, .program = c->program, .arena = c->arena, .notes = report, .calls = report, .clock = 1};
    const bool has_agents = agents_offer(c->program);
    if (has_agents && !report) trust.calls = &calls;
    while (walk_program(&trust)) continue;
    trust.reports = true;
    (void)walk_program(&trust);
    if (has_agents) agents_trust(&trust);
}

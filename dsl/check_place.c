/* check_place.c: the places that take only what is trusted, and the message about a value from outside in one
 * (check_trust.c). */
#include "check_trust.h"

/* ---- the message ---- */

/* Some expressions are looked at more than once, each time in another role. */
static bool is_reported(const Check *c, Span span)
{
    const Diag *diag = c->diags->first;
    while (diag && (diag->level != DIAG_ERROR || diag->span.off != span.off)) diag = diag->next;
    return diag != NULL;
}

void place_refuse(Check *c, Span span, const Origin *origin, const Place *place)
{
    enum { NOTES_MAX = 6 };
    if (is_reported(c, span)) return;
    Diag *diag = place->what
                     ? diag_error(c->diags, span, "this %s, and %s", place->what, origin->who)
                     : diag_error(c->diags, span, "'%s' takes only what is trusted, and %s", place->name, origin->who);
    const Origin *way[NOTES_MAX];
    int count = 0;
    for (; origin; origin = origin->before) {
        if (count == NOTES_MAX) count--; /* the source is always told */
        way[count++] = origin;
    }
    while (count > 0) {
        origin = way[--count];
        if (origin->span.len) diag_other(c->diags, diag, origin->span, "%s", check_origin_text(c->arena, origin));
    }
    if (!place->what) diag_other(c->diags, diag, place->span, "declared trusted here");
    const char *written = source_text(c->program->sources, span);
    const bool is_short = span.len <= 40 && *written != '[' && !memchr(written, '\n', span.len);
    const char *text = is_short ? arena_strndup(c->arena, written, span.len) : "value";
    diag_hint(c->diags, diag, "let it choose among your own: known.find(k => k == %s), or check it: %s.vetted(\"…\")%s",
              text, text, place->unless_approved ? ", or let a person see it: approve \"…\"" : "");
}

/* ---- places ---- */

const Place *place_declared(Trust *t, const Decl *decl, uint32_t index)
{
    const Field *f = decl->params;
    for (; f && index; f = f->next) index--;
    if (!f || f->label != LABEL_TRUSTED) return NULL;
    Place *place = arena_new(t->arena, Place);
    *place = (Place){.name = f->name.text, .span = f->name.span};
    return place;
}

static const Place *place_named(Trust *t, const char *what, Span span)
{
    Place *place = arena_new(t->arena, Place);
    *place = (Place){.what = what, .span = span};
    return place;
}

/* ---- of calls ---- */

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
    if (!argv || !sandbox_reaches_out(sandbox)) return;
    const char *what = sandbox->root == SANDBOX_OPEN ? "is a word of a command without a sandbox"
                                                     : "is a word of a command that can reach the network";
    const Expr *list = expr_strip((Expr *)argv);
    Place *place = arena_new(t->arena, Place);
    *place = (Place){.what = what, .span = argv->span, .unless_approved = true};
    if (list->kind != EX_LIST) into_place(t, argv->span, label_expr(t, argv), place);
    for (const Arg *word = list->kind == EX_LIST ? list->args : NULL; word; word = word->next)
        into_place(t, word->value->span, label_expr(t, word->value), place);
}

static void option_word(void *trust, const Expr *word, uint32_t at, bool behind)
{
    if (!behind) into_word(trust, label_expr(trust, word), word);
}

static void exec_places(Trust *t, const Expr *e)
{
    check_argv_options(e->argv[0], option_word, t);

    if (!t->approved) words_place(t, e->argv[0], t->program->sandbox);
    argument_place(t, e, "cwd", "decides where a command runs");
    if (e->argc > 3 && e->argv[3]) names_place(t, e->argv[3]);
}

void places_of_builtin(Trust *t, const Expr *e)
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

/* ---- of declarations ---- */

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
        const Place *place = place_declared(t, tool->probe, i);
        if (!place) place = reach->places[i];
        if (place) into_place(t, span, (Label){.params = param_bit(i)}, place);
    }
}

void places_of_tool(Trust *t, const Decl *decl)
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

void places_of_prompt(Trust *t, const Decl *decl)
{
    for (const PromptRow *row = decl->rows; row; row = row->next) {
        const Label label = label_expr(t, row->value);
        const char *what = strcmp(row->name.text, "system") == 0  ? "is what a model obeys"
                           : strcmp(row->name.text, "model") == 0 ? "decides which model is asked"
                                                                  : NULL;
        if (what) into_place(t, row->value->span, label, place_named(t, what, row->value->span));
    }
}

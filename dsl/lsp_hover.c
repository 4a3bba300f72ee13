/* lsp_hover.c: what the name under the cursor is, and where it is declared. */
#include <string.h>

#include "agent.h"
#include "lsp_internal.h"

/* ---- hover ---- */

static const char *repeat_meaning(RepeatClass repeat)
{
    static const char *const meanings[] = {
        [REPEAT_ONCE] = "once: never silently repeated; after a crash in the middle of it a person or a probe decides",
        [REPEAT_IDEMPOTENT] = "idempotent: may be repeated with the same key",
        [REPEAT_PURE] = "pure: may be repeated freely",
    };
    return meanings[repeat];
}

static void explain_variable(LspText *to, const Located *at)
{
    const Variable *v = at->variable;
    const Type *type = at->type && at->type->kind != TYPE_BAD ? at->type : v->type;
    lsp_add(to, "%s%s: %s", v->param ? "" : v->mutable ? "var " : "let ", v->name, lsp_type_name(type));
}

static bool needs_yield(const Builtin *builtin)
{
    const bool held = builtin->id == BI_LOCK || builtin->id == BI_SEMAPHORE || builtin->id == BI_DEADLINE ||
                      builtin->id == BI_BUDGET; /* behind `with` */
    bool made = builtin->id == BI_CHANNEL;
    return builtin->effect && !held && !made && (builtin->suspends || strcmp(builtin->result, "nothing") != 0);
}

/* Its rows, as they are written. */
static void add_rows(LspText *to, const Decl *sandbox)
{
    const Source *source = sandbox->module->source;
    lsp_add(to, " {\n");
    for (const PromptRow *row = sandbox->rows; row; row = row->next) {
        const uint32_t from = row->name.span.off - source->base;
        const uint32_t end = row->value->span.off + row->value->span.len - source->base;
        if (row->name.text && end > from && end <= source->len)
            lsp_add(to, "    %.*s\n", (int)(end - from), source->text + from);
    }
    lsp_add(to, "}");
}

/* The model of an agent; its parameters and its result are the compiler's own. */
static bool is_next(const Decl *decl)
{
    return decl->kind == DECL_PROMPT && decl->made_for;
}

static void explain_code(LspText *to, const Located *at)
{
    switch (at->kind) {
    case LOC_VARIABLE: explain_variable(to, at); break;
    case LOC_DECL:
        if (is_next(at->decl))
            lsp_add(to, "%s(_)", at->decl->name.text);
        else
            lsp_add_decl(to, at->decl);
        if (at->decl->kind == DECL_SANDBOX) add_rows(to, at->decl);
        break;
    case LOC_FIELD: lsp_add(to, "%s.%s: %s", at->owner, at->field->name, lsp_type_name(at->type)); break;
    case LOC_PARAM:
        lsp_add(to, "%s(%s: %s)", at->decl->name.text, at->param->name.text, lsp_type_name(at->type));
        break;
    case LOC_CASE:
        lsp_add(to, "%s.", at->type->name);
        lsp_add_case(to, &at->type->cases[at->case_index]);
        break;
    case LOC_BUILTIN:
        if (needs_yield(at->builtin)) lsp_add(to, "yield ");
        if (at->type) lsp_add(to, "%s.", lsp_type_name(at->type));
        lsp_add_builtin(to, at->builtin, at->type);
        break;
    case LOC_BUILTIN_PARAM:
        lsp_add(to, "%s(%s: %s)", at->builtin->name, at->builtin_param->name, at->builtin_param->type);
        break;
    case LOC_TYPE: lsp_add_record(to, at->type); break;
    case LOC_TYPE_PARAM:
        lsp_add(to, "%s, a type that %s is called with", at->type_param->name.text, at->decl->name.text);
        break;
    case LOC_NONE: break;
    }
}

/* What is below the signature. */
static void explain_words(LspText *to, const Located *at)
{
    const Decl *decl = at->kind == LOC_DECL ? at->decl : NULL;
    const Type *declared = at->variable ? at->variable->type : at->field ? at->field->type : NULL;
    const char *doc = decl                    ? decl->doc
                      : at->kind == LOC_FIELD ? at->field->doc
                      : at->kind == LOC_PARAM ? at->param->doc
                      : at->kind == LOC_CASE  ? at->type->cases[at->case_index].doc
                                              : NULL;
    if (doc) lsp_add(to, "\n\n%s", doc);
    if (decl && is_next(decl))
        lsp_add(to, "\n\nthe model of '%s', asked once; a mock gives a call, a list of calls, or a failure",
                decl->made_for->name.text);
    if (at->types && *at->types) lsp_add(to, "\n\n%s here", at->types);
    if (decl && decl->kind == DECL_TOOL) lsp_add(to, "\n\n%s", repeat_meaning(decl->repeat));
    bool repeats = at->kind == LOC_BUILTIN && at->builtin->suspends && needs_yield(at->builtin);
    if (repeats) lsp_add(to, "\n\n%s", repeat_meaning(at->builtin->repeat));
    if (at->row && at->row->reaches) lsp_add(to, "\n\n%s", at->row->reaches);
    if (declared && at->type && at->type != declared && declared->kind == TYPE_OPTIONAL)
        lsp_add(to, "\n\ndeclared as %s; known not to be null here", declared->name);
}

json_t *lsp_hover(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    if (at.kind == LOC_NONE) return json_null();
    LspText text = lsp_text_new(analysis->sources.arena);
    lsp_add(&text, "```tfy\n");
    explain_code(&text, &at);
    lsp_add(&text, "\n```");
    explain_words(&text, &at);
    return json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value", lsp_text(text.text), "range",
                     lsp_range(analysis, at.span));
}

json_t *lsp_definition(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    return at.kind == LOC_NONE || !at.target.len ? json_null() : lsp_location(analysis, at.target);
}

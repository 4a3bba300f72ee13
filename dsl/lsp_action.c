/* lsp_action.c: what an editor can do at a place: the edits that diagnostics bring with them, and "run test" above each
 * test. */
#include <string.h>

#include "lsp_internal.h"

/* ---- quick fixes ---- */

static const char *title_of(Arena *arena, const LspAnalysis *analysis, const Diag *diag)
{
    const char *old = source_text(&analysis->sources, diag->fix_span);
    int len = (int)diag->fix_span.len;
    if (!len) return arena_printf(arena, "insert '%s'", diag->fix);
    if (!*diag->fix) return arena_printf(arena, "remove '%.*s'", len, old);
    return arena_printf(arena, "replace '%.*s' by '%s'", len, old, diag->fix);
}

static json_t *fix_of(const LspAnalysis *analysis, const Diag *diag)
{
    json_t *edit =
        json_pack("{s:o, s:o}", "range", lsp_range(analysis, diag->fix_span), "newText", lsp_text(diag->fix));
    json_t *changes = json_object();
    json_object_set_new(changes, analysis->document->uri, json_pack("[o]", edit));
    return json_pack("{s:o, s:s, s:b, s:[o], s:{s:o}}", "title",
                     lsp_text(title_of(analysis->sources.arena, analysis, diag)), "kind", "quickfix", "isPreferred",
                     true, "diagnostics", lsp_diagnostic(analysis, diag), "edit", "changes", changes);
}

static bool touches(Span span, size_t from, size_t to)
{
    return span.off <= to && span.off + span.len >= from;
}

/* A client may request other kinds of actions only. */
static bool wants_fixes(const json_t *params)
{
    const json_t *only = json_object_get(json_object_get(params, "context"), "only"), *kind;
    size_t i;
    if (!json_is_array(only)) return true;
    json_array_foreach(only, i, kind)
    {
        const char *text = json_string_value(kind);
        if (text && (!*text || strcmp(text, "quickfix") == 0)) return true;
    }
    return false;
}

json_t *lsp_code_action(LspServer *server, const json_t *params)
{
    const LspDocument *document = lsp_document_of(server, params);
    const json_t *range = json_object_get(params, "range");
    size_t from, to;
    if (!document || !lsp_offset_of(document->text, document->len, json_object_get(range, "start"), &from) ||
        !lsp_offset_of(document->text, document->len, json_object_get(range, "end"), &to))
        return NULL;
    json_t *list = json_array();
    const LspAnalysis *analysis = wants_fixes(params) ? lsp_analyse(server, document) : NULL;
    if (!analysis) return list;
    const Source *source = analysis->source;
    for (const Diag *diag = lsp_shown_diags(analysis)->first; diag; diag = diag->next) {
        bool here = diag->fix && source_of(&analysis->sources, diag->fix_span.off) == source &&
                    source_of(&analysis->sources, diag->span.off) == source;
        if (here && touches(diag->span, source->base + from, source->base + to))
            json_array_append_new(list, fix_of(analysis, diag));
    }
    return list;
}

/* ---- lenses ---- */

/* The command is the client's: it runs `tfy test FILE --filter NAME`. */
static json_t *lens_of(const LspAnalysis *analysis, const Decl *decl, const char *name)
{
    return json_pack("{s:o, s:{s:s, s:s, s:[s, o]}}", "range", lsp_range(analysis, decl->value->span), "command",
                     "title", "run test", "command", "tfy.runTest", "arguments", analysis->document->uri,
                     lsp_text(name));
}

json_t *lsp_code_lens(LspServer *server, const json_t *params)
{
    const LspDocument *document = lsp_document_of(server, params);
    if (!document) return NULL;
    json_t *list = json_array();
    const LspAnalysis *analysis = lsp_analyse(server, document);
    for (const Decl *decl = analysis ? analysis->module->decls : NULL; decl; decl = decl->next) {
        const Expr *part = decl->kind == DECL_TEST && decl->value ? decl->value->parts : NULL;
        if (!part) continue;
        const char *name = arena_strndup(analysis->sources.arena, part->text, part->text_len);
        json_array_append_new(list, lens_of(analysis, decl, name));
    }
    return list;
}

/* lsp_diagnostic.c: the mistakes in a text, for the editor's margin. */
#include <stdlib.h>

#include "lsp_internal.h"

enum { LSP_TAG_UNNECESSARY = 1 };

static json_t *related(const LspAnalysis *analysis, const Diag *diag)
{
    json_t *list = json_array();
    for (const DiagPlace *place = diag->others.first; place; place = place->next)
        json_array_append_new(list, json_pack("{s:o, s:o}", "location", lsp_location(analysis, place->span), "message",
                                              lsp_text(place->message)));
    return list;
}

json_t *lsp_diagnostic(const LspAnalysis *analysis, const Diag *diag)
{
    json_t *result = json_pack("{s:o, s:i, s:s}", "range", lsp_range(analysis, diag->span), "severity",
                               diag->level == DIAG_ERROR ? 1 : 2, "source", "tfyc");
    const char *message = diag->message;
    if (diag->hint) message = arena_printf(analysis->sources.arena, "%s\nhint: %s", message, diag->hint);
    json_object_set_new(result, "message", lsp_text(message));
    if (diag->unnecessary) json_object_set_new(result, "tags", json_pack("[i]", LSP_TAG_UNNECESSARY));
    if (diag->others.first) json_object_set_new(result, "relatedInformation", related(analysis, diag));
    return result;
}

/* Returns the import of the main file that leads to a file with mistakes: a direct one if there is one. */
static const Decl *import_of(const LspAnalysis *analysis, const Source *source)
{
    const Decl *first = NULL;
    for (const Decl *decl = analysis->module->decls; decl; decl = decl->next) {
        if (decl->kind != DECL_IMPORT || !decl->imported) continue;
        if (decl->imported->source == source) return decl;
        if (!first) first = decl;
    }
    return first;
}

/* A mistake in another file is reported once for each file, at its import, with a link. */
static void add_elsewhere(const LspAnalysis *analysis, json_t *list, const Diag *diag, const Source **last)
{
    const Source *source = source_of(&analysis->sources, diag->span.off);
    const Decl *import = source == *last ? NULL : import_of(analysis, source);
    if (!import) return;
    *last = source;
    DiagPlace there = {.span = diag->span, .message = diag->message};
    Diag here = {.span = import->value->span, .others = {&there, &there}};
    here.message = arena_printf(analysis->sources.arena, "there are mistakes in '%s'", source->name);
    json_array_append_new(list, lsp_diagnostic(analysis, &here));
}

/* Like the compiler, reports mistakes of meaning only in a text without mistakes of form. */
const DiagList *lsp_shown_diags(const LspAnalysis *analysis)
{
    return analysis->parse_diags.errors ? &analysis->parse_diags : &analysis->check_diags;
}

/* The editor sorts them. */
static json_t *diagnostics_of(const LspAnalysis *analysis)
{
    json_t *list = json_array();
    const Source *last = NULL;
    for (const Diag *diag = lsp_shown_diags(analysis)->first; diag; diag = diag->next) {
        if (source_of(&analysis->sources, diag->span.off) == analysis->source)
            json_array_append_new(list, lsp_diagnostic(analysis, diag));
        else if (diag->level == DIAG_ERROR)
            add_elsewhere(analysis, list, diag, &last);
    }
    return list;
}

static json_t *refuse_large(void)
{
    return json_pack("[{s:{s:{s:i, s:i}, s:{s:i, s:i}}, s:i, s:s, s:s}]", "range", "start", "line", 0, "character", 0,
                     "end", "line", 0, "character", 0, "severity", 2, "source", "tfyc", "message",
                     "this file is too large to be checked while typing; 'tfy check' reads it");
}

static bool has_imports(const LspAnalysis *analysis)
{
    for (const Decl *decl = analysis->module->decls; decl; decl = decl->next)
        if (decl->kind == DECL_IMPORT) return true;
    return false;
}

void lsp_publish(LspServer *server, LspDocument *document)
{
    const LspAnalysis *analysis = lsp_analyse(server, document);
    document->imports = analysis && has_imports(analysis);
    lsp_notify(server, "textDocument/publishDiagnostics",
               json_pack("{s:s, s:I, s:o}", "uri", document->uri, "version", document->version, "diagnostics",
                         analysis ? diagnostics_of(analysis) : refuse_large()));
}

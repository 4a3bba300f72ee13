/* lsp_symbol.c: the outline of a file, and the declarations of a workspace by their names. */
#include <ctype.h>

#include "lsp_internal.h"

/* The protocol's kinds of symbols. */
enum {
    SYMBOL_MODULE = 2,
    SYMBOL_CLASS = 5,
    SYMBOL_METHOD = 6,
    SYMBOL_FIELD = 8,
    SYMBOL_ENUM = 10,
    SYMBOL_INTERFACE = 11,
    SYMBOL_FUNCTION = 12,
    SYMBOL_CONSTANT = 14,
    SYMBOL_ENUM_MEMBER = 22,
    SYMBOL_STRUCT = 23,
    SYMBOL_EVENT = 24,
};

static json_t *symbol(const LspAnalysis *analysis, Name name, int kind, Span whole)
{
    return json_pack("{s:o, s:i, s:o, s:o}", "name", lsp_text(*name.text ? name.text : "test"), "kind", kind, "range",
                     lsp_range(analysis, span_join(whole, name.span)), "selectionRange",
                     lsp_range(analysis, name.span));
}

static void add_fields(const LspAnalysis *analysis, json_t *children, const Field *fields)
{
    for (const Field *f = fields; f; f = f->next)
        if (f->name.text) json_array_append_new(children, symbol(analysis, f->name, SYMBOL_FIELD, f->span));
}

static int kind_of(const Decl *decl)
{
    switch (decl->kind) {
    case DECL_IMPORT: return SYMBOL_MODULE;
    case DECL_CONST: return SYMBOL_CONSTANT;
    case DECL_TYPE: return SYMBOL_STRUCT;
    case DECL_ERROR: return SYMBOL_CLASS;
    case DECL_ENUM: return SYMBOL_ENUM;
    case DECL_TOOL: return SYMBOL_INTERFACE;
    case DECL_PROMPT: return SYMBOL_EVENT;
    case DECL_SANDBOX: return SYMBOL_STRUCT;
    case DECL_TEST: return SYMBOL_METHOD;
    default: return SYMBOL_FUNCTION;
    }
}

/* A test is named by a string. */
static bool name_of(const LspAnalysis *analysis, const Decl *decl, Name *name)
{
    *name = decl->name;
    const Expr *part = decl->kind == DECL_TEST && decl->value ? decl->value->parts : NULL;
    if (!part) return name->text != NULL;
    name->text = arena_strndup(analysis->sources.arena, part->text, part->text_len);
    name->span = decl->value->span;
    return true;
}

static json_t *decl_symbol(const LspAnalysis *analysis, const Decl *decl)
{
    Name name;
    if (!name_of(analysis, decl, &name)) return NULL;
    json_t *result = symbol(analysis, name, kind_of(decl), decl->span), *children = json_array();
    const char *detail = lsp_decl_signature(analysis->sources.arena, decl);
    if (*detail) json_object_set_new(result, "detail", lsp_text(detail));
    if (decl->kind == DECL_TYPE || decl->kind == DECL_ERROR) add_fields(analysis, children, decl->params);
    for (const EnumCase *k = decl->cases; k; k = k->next)
        if (k->name.text) json_array_append_new(children, symbol(analysis, k->name, SYMBOL_ENUM_MEMBER, k->span));
    json_object_set_new(result, "children", children);
    return result;
}

json_t *lsp_document_symbol(LspServer *server, const json_t *params)
{
    const LspDocument *document = lsp_document_of(server, params);
    if (!document) return NULL;
    json_t *list = json_array();
    const LspAnalysis *analysis = lsp_analyse(server, document);
    for (const Decl *decl = analysis ? analysis->module->decls : NULL; decl; decl = decl->next) {
        json_t *entry = decl_symbol(analysis, decl);
        if (entry) json_array_append_new(list, entry);
    }
    return list;
}

/* ---- of the workspace ---- */

enum { FOUND_MAX = 500 }; /* an editor repeats the request with every letter */

typedef struct Find {
    LspServer *server;
    const char *query;
    json_t *list;
} Find;

/* The letters of the query in their order, whatever is between them and however they are written. */
static bool matches(const char *name, const char *query)
{
    for (; *query; query++, name++) {
        while (*name && tolower((unsigned char)*name) != tolower((unsigned char)*query)) name++;
        if (!*name) return false;
    }
    return true;
}

static void find_in_file(void *state, const LspDocument *file)
{
    Find *find = state;
    LspAnalysis analysis;
    if (json_array_size(find->list) >= FOUND_MAX) return;
    lsp_analysis_init(&analysis, find->server, file, file->text, file->len);
    for (const Decl *decl = analysis.module->decls; decl; decl = decl->next) {
        Name name;
        bool listed = decl->kind != DECL_IMPORT && name_of(&analysis, decl, &name) && matches(name.text, find->query);
        if (!listed || json_array_size(find->list) >= FOUND_MAX) continue;
        json_array_append_new(find->list,
                              json_pack("{s:o, s:i, s:o}", "name", lsp_text(*name.text ? name.text : "test"), "kind",
                                        kind_of(decl), "location", lsp_location(&analysis, name.span)));
    }
    lsp_analysis_deinit(&analysis);
}

json_t *lsp_workspace_symbol(LspServer *server, const json_t *params)
{
    const json_t *query = json_object_get(params, "query");
    if (!json_is_string(query)) return NULL;
    Find find = {server, json_string_value(query), json_array()};
    lsp_each_file(server, NULL, find_in_file, &find);
    return find.list;
}

/* lsp_call.c: the signature of the call that the cursor is in, while its arguments are written.
 *
 * A half-written call seldom parses, so the brackets are counted over the tokens, and where the text as it is says
 * nothing about the name before the bracket, a text is asked in which the call takes no arguments. */
#include <stdlib.h>
#include <string.h>

#include "grammar.h"
#include "lsp_internal.h"

/* An open bracket before the cursor. */
typedef struct Open {
    uint32_t name;   /* index of the token before a '(' that is a name; UINT32_MAX: no call */
    uint32_t start;  /* offset behind the bracket, in the text */
    uint32_t commas; /* at its own depth */
    uint32_t last;   /* index of the first token of the argument that is being written */
    int kind;        /* of the bracket */
} Open;

typedef struct Call {
    uint32_t name_off;    /* of the callee's name, in the text */
    uint32_t start;       /* behind its bracket */
    uint32_t argument;    /* which one by its place */
    const char *arg_name; /* which one by its name, or NULL */
    const char *closers;  /* what closes the brackets around it that are opened on its line */
} Call;

static Open open_at(const TokenList *tokens, uint32_t i, uint32_t base)
{
    bool call = tokens->items[i].kind == TOK_LP && i && tokens->items[i - 1].kind == TOK_ID;
    return (Open){call ? i - 1 : UINT32_MAX, tokens->items[i].off + tokens->items[i].len - base, 0, i + 1,
                  tokens->items[i].kind};
}

static bool opens(int kind)
{
    return kind == TOK_LP || kind == TOK_LSQ || kind == TOK_LBRACE || kind == TOK_INTERP_BEG;
}

static bool closes(int kind)
{
    return kind == TOK_RP || kind == TOK_RSQ || kind == TOK_RBRACE || kind == TOK_INTERP_END;
}

/* The name before ':' at the beginning of an argument. */
static const char *argument_name(Arena *arena, const SourceSet *sources, const TokenList *tokens, uint32_t i,
                                 uint32_t limit)
{
    if (i + 1 >= tokens->count || tokens->items[i].off >= limit || tokens->items[i].kind != TOK_ID) return NULL;
    if (tokens->items[i + 1].kind != TOK_COLON) return NULL;
    return arena_strndup(arena, source_text(sources, token_span(tokens->items[i])), tokens->items[i].len);
}

static const char *closer_of(int kind)
{
    switch (kind) {
    case TOK_LP: return ")";
    case TOK_LSQ: return "]";
    case TOK_LBRACE: return "}";
    default: return "}\""; /* of a string's ${ */
    }
}

static const char *closers_of(Arena *arena, const char *text, const Open *stack, uint32_t depth)
{
    const char *closers = ")";
    for (uint32_t i = depth; i > 1 && !memchr(text + stack[i - 2].start, '\n', stack[i - 1].start - stack[i - 2].start);
         i--)
        closers = arena_printf(arena, "%s%s", closers, closer_of(stack[i - 2].kind));
    return closers;
}

/* The innermost call whose brackets hold the offset; false: none does. */
static bool find_call(Arena *arena, const LspDocument *document, uint32_t off, Call *call)
{
    SourceSet sources;
    DiagList diags;
    TokenList tokens;
    Open *stack = NULL;
    uint32_t depth = 0, cap = 0;
    source_set_init(&sources, arena);
    diag_init(&diags, arena, &sources);
    Source *source = source_add(&sources, document->path, document->text, document->len);
    lexer_run(&sources, source, &diags, &tokens);
    uint32_t limit = source->base + off;
    for (uint32_t i = 0; i < tokens.count && tokens.items[i].off < limit; i++) {
        int kind = tokens.items[i].kind;
        if (opens(kind)) {
            stack = arena_grow(arena, stack, &cap, depth + 1, sizeof *stack);
            stack[depth++] = open_at(&tokens, i, source->base);
        } else if (closes(kind) && depth) {
            depth--;
        } else if (kind == TOK_COMMA && depth) {
            stack[depth - 1].commas++;
            stack[depth - 1].last = i + 1;
        }
    }
    while (depth && stack[depth - 1].name == UINT32_MAX) depth--;
    if (depth) {
        const Open *open = &stack[depth - 1];
        *call = (Call){tokens.items[open->name].off - source->base, open->start, open->commas,
                       argument_name(arena, &sources, &tokens, open->last, limit),
                       closers_of(arena, document->text, stack, depth)};
    }
    lexer_deinit(&tokens);
    return depth > 0;
}

/* ---- what is called ---- */

/* Not the declaration's own head. */
static bool is_callable(const Located *at)
{
    switch (at->kind) {
    case LOC_DECL: return at->span.off != at->decl->name.span.off && at->decl->kind != DECL_IMPORT;
    case LOC_CASE: return at->span.off != at->target.off && at->type->cases[at->case_index].has_fields;
    case LOC_TYPE: return at->type->fields != NULL;
    default: return at->kind == LOC_BUILTIN;
    }
}

/* The document with the call's arguments, and what follows them on their line, taken away; malloc'ed. */
static char *without_arguments(const LspDocument *document, const Call *call, size_t *len)
{
    size_t start = call->start, closing = strlen(call->closers);
    const char *end = memchr(document->text + start, '\n', document->len - start);
    size_t rest = end ? (size_t)(document->text + document->len - end) : 0;
    char *text = malloc(start + closing + rest + 1);
    if (!text) abort();
    memcpy(text, document->text, start);
    memcpy(text + start, call->closers, closing);
    if (rest) memcpy(text + start + closing, end, rest);
    *len = start + closing + rest;
    text[*len] = 0;
    return text;
}

/* ---- the answer ---- */

static void add_called(LspText *to, const Located *at)
{
    bool record = at->kind == LOC_DECL && (at->decl->kind == DECL_TYPE || at->decl->kind == DECL_ERROR);
    if (record && at->decl->type) {
        lsp_add_call(to, at->decl->type);
    } else if (at->kind == LOC_DECL) {
        lsp_add_decl(to, at->decl);
    } else if (at->kind == LOC_CASE) {
        lsp_add(to, "%s.", at->type->name);
        lsp_add_case(to, &at->type->cases[at->case_index]);
    } else if (at->kind == LOC_BUILTIN) {
        lsp_add_builtin(to, at->builtin, at->type);
    } else {
        lsp_add_call(to, at->type);
    }
}

static json_t *param_label(const LspServer *server, const LspText *text, const LspParam *param)
{
    const char *start = text->text + param->place.off;
    if (!server->label_offsets) return json_stringn(start, param->place.len);
    size_t from = lsp_units(text->text, param->place.off), len = lsp_units(start, param->place.len);
    return json_pack("[I, I]", (json_int_t)from, (json_int_t)(from + len));
}

/* One beyond the last when there is no such parameter: nothing is marked. */
static uint32_t active_param(const LspText *text, const Call *call)
{
    if (!call->arg_name) return call->argument < text->param_count ? call->argument : text->param_count;
    uint32_t i = 0;
    while (i < text->param_count && strcmp(text->params[i].name, call->arg_name) != 0) i++;
    return i;
}

static json_t *help_of(const LspServer *server, const LspAnalysis *analysis, const Located *at, const Call *call)
{
    LspText text = lsp_text_new(analysis->sources.arena);
    add_called(&text, at);
    json_t *params = json_array();
    for (uint32_t i = 0; i < text.param_count; i++)
        json_array_append_new(params, json_pack("{s:o}", "label", param_label(server, &text, &text.params[i])));
    json_t *signature = json_pack("{s:o, s:o}", "label", lsp_text(text.text), "parameters", params);
    if (at->kind == LOC_DECL && at->decl->doc)
        json_object_set_new(signature, "documentation",
                            json_pack("{s:s, s:o}", "kind", "markdown", "value", lsp_text(at->decl->doc)));
    return json_pack("{s:[o], s:i, s:i}", "signatures", signature, "activeSignature", 0, "activeParameter",
                     (int)active_param(&text, call));
}

static json_t *help_without_arguments(LspServer *server, const LspDocument *document, const Call *call)
{
    size_t len;
    LspAnalysis analysis;
    char *text = without_arguments(document, call, &len);
    lsp_analysis_init(&analysis, server, document, text, len);
    Located at = locate_at(analysis.program, analysis.source->base + call->name_off);
    json_t *help = is_callable(&at) ? help_of(server, &analysis, &at, call) : json_null();
    lsp_analysis_deinit(&analysis);
    free(text);
    return help;
}

json_t *lsp_signature_help(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    Call call;
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    if (!analysis) return json_null();
    const LspDocument *document = analysis->document;
    if (!find_call(analysis->sources.arena, document, off - analysis->source->base, &call)) return json_null();
    Located at = locate_at(analysis->program, analysis->source->base + call.name_off);
    if (is_callable(&at)) return help_of(server, analysis, &at, &call);
    return at.kind == LOC_NONE ? help_without_arguments(server, document, &call) : json_null();
}

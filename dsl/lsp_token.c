/* lsp_token.c: what each name of a file is, for the editor's colours. Words, numbers, strings and comments are the
 * grammar's of the editor (dsl/editors): they need no checker. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lsp_internal.h"

/* The protocol's words; an answer holds their numbers. */
typedef enum TokenType {
    TT_NAMESPACE,
    TT_STRUCT,
    TT_ENUM,
    TT_CLASS,
    TT_FUNCTION,
    TT_METHOD,
    TT_PROPERTY,
    TT_PARAMETER,
    TT_VARIABLE,
    TT_ENUM_MEMBER,
    TT_TYPE_PARAMETER,
    TT_COUNT
} TokenType;

static const char *const types[] = {
    [TT_NAMESPACE] = "namespace",
    [TT_STRUCT] = "struct",
    [TT_ENUM] = "enum",
    [TT_CLASS] = "class",
    [TT_FUNCTION] = "function",
    [TT_METHOD] = "method",
    [TT_PROPERTY] = "property",
    [TT_PARAMETER] = "parameter",
    [TT_VARIABLE] = "variable",
    [TT_ENUM_MEMBER] = "enumMember",
    [TT_TYPE_PARAMETER] = "typeParameter",
};

enum { MOD_DECLARATION = 1, MOD_READONLY = 2, MOD_DEFAULT_LIBRARY = 4, MOD_ASYNC = 8 };

static const char *const modifiers[] = {"declaration", "readonly", "defaultLibrary", "async"};

json_t *lsp_token_legend(void)
{
    json_t *type_list = json_array(), *modifier_list = json_array();
    for (int i = 0; i < TT_COUNT; i++) json_array_append_new(type_list, json_string(types[i]));
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
        json_array_append_new(modifier_list, json_string(modifiers[i]));
    return json_pack("{s:o, s:o}", "tokenTypes", type_list, "tokenModifiers", modifier_list);
}

typedef struct Mark {
    Span span;
    TokenType type;
    uint32_t modifiers;
    uint32_t number; /* in the order of the walk */
} Mark;

typedef struct Marks {
    const LspAnalysis *analysis;
    Mark *items;
    uint32_t count, cap;
} Marks;

/* ---- what a name is ---- */

static TokenType type_of_decl(const Decl *decl)
{
    switch (decl->kind) {
    case DECL_IMPORT: return TT_NAMESPACE;
    case DECL_CONST: return TT_VARIABLE;
    case DECL_TYPE: return TT_STRUCT;
    case DECL_ERROR: return TT_CLASS;
    case DECL_ENUM: return TT_ENUM;
    case DECL_SANDBOX: return TT_STRUCT;
    default: return TT_FUNCTION;
    }
}

/* What can suspend the task is marked as other languages mark it. */
static uint32_t modifiers_of_decl(const Decl *decl)
{
    bool suspends = decl->kind == DECL_TOOL || decl->kind == DECL_PROMPT || decl->kind == DECL_WORKFLOW;
    return suspends ? MOD_ASYNC : decl->kind == DECL_CONST ? MOD_READONLY : 0;
}

static TokenType type_of_name(const Located *name)
{
    switch (name->kind) {
    case LOC_VARIABLE: return name->variable->param ? TT_PARAMETER : TT_VARIABLE;
    case LOC_DECL: return type_of_decl(name->decl);
    case LOC_FIELD: return TT_PROPERTY;
    case LOC_PARAM:
    case LOC_BUILTIN_PARAM: return TT_PARAMETER;
    case LOC_CASE: return TT_ENUM_MEMBER;
    case LOC_TYPE_PARAM: return TT_TYPE_PARAMETER;
    case LOC_BUILTIN: return name->type ? TT_METHOD : TT_FUNCTION;
    default: return name->type->kind == TYPE_ERROR ? TT_CLASS : TT_STRUCT;
    }
}

static uint32_t modifiers_of_name(const Located *name)
{
    bool core = name->kind == LOC_BUILTIN || name->kind == LOC_BUILTIN_PARAM || name->kind == LOC_TYPE;
    uint32_t set = core ? MOD_DEFAULT_LIBRARY : 0;
    bool itself = name->span.off == name->target.off && name->target.len;
    if (itself || (name->kind == LOC_DECL && name->span.off == name->decl->name.span.off)) set |= MOD_DECLARATION;
    if (name->kind == LOC_VARIABLE && !name->variable->mutable) set |= MOD_READONLY;
    if (name->kind == LOC_DECL) set |= modifiers_of_decl(name->decl);
    if (name->kind == LOC_BUILTIN && name->builtin->suspends) set |= MOD_ASYNC;
    return set;
}

/* The path of an import is passed as a name too; it is a string. */
static void note_name(void *state, const Located *name)
{
    Marks *marks = state;
    const char *text = source_text(&marks->analysis->sources, name->span);
    if (!isalpha((unsigned char)*text) && *text != '_') return;
    Arena *arena = marks->analysis->sources.arena;
    marks->items = arena_grow(arena, marks->items, &marks->cap, marks->count + 1, sizeof *marks->items);
    marks->items[marks->count] = (Mark){name->span, type_of_name(name), modifiers_of_name(name), marks->count};
    marks->count++;
}

/* ---- the answer ---- */

static int by_place(const void *left, const void *right)
{
    const Mark *a = left, *b = right;
    if (a->span.off != b->span.off) return a->span.off < b->span.off ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

typedef struct Delta {
    const char *at; /* where the last token starts */
    size_t lines;
    size_t units; /* since the last line break or the last token */
} Delta;

static void move_to(Delta *delta, const char *to)
{
    const char *line = delta->at;
    delta->lines = 0;
    for (const char *newline; (newline = memchr(line, '\n', (size_t)(to - line))) != NULL; line = newline + 1)
        delta->lines++;
    delta->units = lsp_units(line, (size_t)(to - line));
    delta->at = to;
}

/* Five numbers for each: lines and units since the one before, length, type, modifiers. Where two things are at one
 * place the later one counts, as it does for hover. */
static json_t *encode(const Marks *marks)
{
    json_t *data = json_array();
    const Source *source = marks->analysis->source;
    Delta delta = {.at = source->text};
    uint32_t end = 0;
    for (uint32_t i = 0; i < marks->count; i++) {
        const Mark *mark = &marks->items[i];
        bool again = i + 1 < marks->count && mark[1].span.off == mark->span.off;
        if (again || mark->span.off < end) continue;
        end = mark->span.off + mark->span.len;
        move_to(&delta, source->text + (mark->span.off - source->base));
        size_t five[] = {delta.lines, delta.units, lsp_units(delta.at, mark->span.len), mark->type, mark->modifiers};
        for (int n = 0; n < 5; n++) json_array_append_new(data, json_integer((json_int_t)five[n]));
    }
    return data;
}

json_t *lsp_semantic_tokens(LspServer *server, const json_t *params)
{
    const LspDocument *document = lsp_document_of(server, params);
    if (!document) return NULL;
    Marks marks = {.analysis = lsp_analyse(server, document)};
    if (!marks.analysis) return json_pack("{s:[]}", "data");
    locate_names(marks.analysis->program, marks.analysis->source, note_name, &marks);
    if (marks.count) qsort(marks.items, marks.count, sizeof *marks.items, by_place);
    return json_pack("{s:o}", "data", encode(&marks));
}

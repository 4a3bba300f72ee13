/* format.c: formatting, and the proof that the program stayed the same. */
#include <string.h>

#include "format_internal.h"
#include "grammar.h"

/* One of the two token streams. Newlines where an entry ends anyway and a last comma are passed over. */
typedef struct Reader {
    const SourceSet *sources;
    const TokenTrace *trace;
    uint32_t at; /* index of the next token */
    int before;  /* kind of the token read last */
} Reader;

static bool is_filler(const Reader *reader)
{
    Token token = reader->trace->items[reader->at];
    if (token.kind == TOK_NL)
        return reader->before == TOK_NL || reader->before == TOK_COMMA || reader->before == TOK_LBRACE;
    if (token.kind != TOK_COMMA) return false;
    uint32_t next = reader->at + 1;
    while (next < reader->trace->count && reader->trace->items[next].kind == TOK_NL) next++;
    return next < reader->trace->count && format_is_closer(reader->trace->items[next].kind);
}

static const Token *read_token(Reader *reader)
{
    while (reader->at < reader->trace->count && is_filler(reader)) reader->at++;
    if (reader->at == reader->trace->count) return NULL;
    const Token *token = &reader->trace->items[reader->at++];
    reader->before = token->kind;
    return token;
}

static bool same_text(const SourceSet *left_set, Span left, const SourceSet *right_set, Span right)
{
    return left.len == right.len && memcmp(source_text(left_set, left), source_text(right_set, right), left.len) == 0;
}

static bool same_tokens(Reader a, Reader b)
{
    for (;;) {
        const Token *x = read_token(&a), *y = read_token(&b);
        if (!x || !y) return x == y;
        if (x->kind != y->kind) return false;
        if (x->kind == TOK_NL) continue;
        if (!same_text(a.sources, token_span(*x), b.sources, token_span(*y))) return false;
    }
}

static bool same_comments(const Format *a, const Format *b)
{
    if (a->comment_count != b->comment_count) return false;
    for (uint32_t i = 0; i < a->comment_count; i++) {
        const Comment *x = &a->comments[i], *y = &b->comments[i];
        if (!same_text(a->sources, (Span){x->off, x->len}, b->sources, (Span){y->off, y->len})) return false;
    }
    return true;
}

/* Reads the result again, apart from the compilation's sources. */
static bool is_same_program(const Format *f, const TokenTrace *trace, const char *text, size_t len)
{
    SourceSet sources;
    DiagList diags;
    TokenTrace again = {0};
    source_set_init(&sources, f->arena);
    diag_init(&diags, f->arena, &sources);
    Format after = {.sources = &sources, .arena = f->arena};
    after.source = source_add(&sources, f->source->name, text, len);
    parse_module_traced(&sources, after.source, f->arena, &diags, &again);
    if (diags.errors) return false;
    format_make_pieces(&after, &again);
    Reader before = {f->sources, trace, 0, TOK_NL}, behind = {&sources, &again, 0, TOK_NL};
    return same_tokens(before, behind) && same_comments(f, &after);
}

char *format_source(SourceSet *sources, Source *source, Arena *arena, DiagList *diags, size_t *len)
{
    TokenTrace trace = {0};
    Format f = {.sources = sources, .source = source, .arena = arena};
    uint32_t before = diags->errors;
    const Module *module = parse_module_traced(sources, source, arena, diags, &trace);
    if (diags->errors != before) return NULL;
    format_make_pieces(&f, &trace);
    format_mark_tree(&f, module);
    char *text = format_print(&f, len);
    return is_same_program(&f, &trace, text, *len) ? text : NULL;
}

/* lexer.re: source text to tokens.
 *
 * Three scanners share one cursor: code, the inside of "…" and the inside of """…""". A stack remembers which string
 * each open ${ belongs to, so interpolations nest. The text is checked to be UTF-8 without NUL before any scanner
 * runs; the NUL behind it ends every scan. A string's pieces stay raw here: escapes are only checked, and decoded
 * when the tree is built. */
#include "token.h"

#include <stdlib.h>
#include <string.h>

#include "bug.h"
#include "grammar.h"

enum { NEST_MAX = 64 };

/* An open interpolation. */
typedef struct Nest {
    Span opened;     /* the "${" */
    Span string;     /* the quotes its string started with */
    uint32_t braces; /* '{' open inside it */
    uint32_t tokens; /* how many tokens there were behind its INTERP_BEG */
    bool block;      /* its string is a """ block */
} Nest;

typedef struct Lexer {
    SourceSet *set;
    Source *source;
    DiagList *diags;
    TokenList *out;
    const unsigned char *cursor, *limit;
    Nest nests[NEST_MAX];
    uint32_t nest_count;
    bool fresh;     /* no token yet on this line */
    uint32_t undoc; /* doc lines below this index know their token */
    bool stopped;   /* nothing sensible can follow */
} Lexer;

static uint32_t offset_of(const Lexer *lx, const unsigned char *at)
{
    return lx->source->base + (uint32_t)((const char *)at - lx->source->text);
}

static Span span_between(const Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    return (Span){offset_of(lx, from), (uint32_t)(to - from)};
}

static void push(Lexer *lx, int kind, const unsigned char *from, const unsigned char *to, unsigned flags)
{
    TokenList *out = lx->out;
    out->items = arena_regrow(&out->arena, out->items, &out->cap, out->count + 1, sizeof *out->items);
    uint32_t off = offset_of(lx, from);
    CHECK(!out->count || out->items[out->count - 1].off <= off); /* tokens are in the order of the text */
    if (lx->fresh) flags |= TOKEN_FIRST;
    lx->fresh = false;
    for (; lx->undoc < out->doc_count; lx->undoc++) out->docs[lx->undoc].token_off = off;
    out->items[out->count++] = (Token){off, (uint32_t)(to - from), (uint16_t)kind, (uint16_t)flags};
}

static void push_doc(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    if (!lx->fresh) return;
    from += 3;
    if (from < to && *from == ' ') from++;
    if (to > from && to[-1] == '\r') to--;
    TokenList *out = lx->out;
    out->docs = arena_regrow(&out->arena, out->docs, &out->doc_cap, out->doc_count + 1, sizeof *out->docs);
    out->docs[out->doc_count++] = (DocLine){offset_of(lx, from), (uint32_t)(to - from), 0};
}

/* ---- mistakes ---- */

static void push_bad(Lexer *lx, const unsigned char *at)
{
    push(lx, TOK_BAD, at, at, TOKEN_CUT);
}

static void report_number(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    const unsigned char *unit = from;
    if (to - from >= 2 && from[0] == '0' && from[1] == 'x') unit = to;
    while (unit < to && ((*unit >= '0' && *unit <= '9') || *unit == '_')) unit++;
    int unit_len = (int)(to - unit);
    bool word = unit > from && unit < to && unit[-1] != '_';
    for (const unsigned char *c = unit; c < to; c++) word &= (*c | 0x20) >= 'a' && (*c | 0x20) <= 'z';
    if (word) {
        diag_error(lx->diags, span_between(lx, from, to), "unknown duration unit '%.*s'; units are ms, s, m, h, d",
                   unit_len, (const char *)unit);
        return;
    }
    Diag *diag = diag_error(lx->diags, span_between(lx, from, to), "'%.*s' is not a number",
                            (int)(to - from < 60 ? to - from : 60), (const char *)from);
    diag_hint(lx->diags, diag,
              "numbers are written 42, 1_000, 0xff, 1.5 or 1e9, durations in whole units such as 1500ms");
}

/* “text” and 'text': the mark that closes it is looked for on the same line, so that one mistake gives one error. */
static void lex_wrong_quote(Lexer *lx, const unsigned char *from, const unsigned char *cursor)
{
    int size = (int)(cursor - from);
    diag_error(lx->diags, span_between(lx, from, cursor), "%s%.*s%s is not a string delimiter; use '\"'",
               size == 1 ? "\"" : "'", size, (const char *)from, size == 1 ? "\"" : "'");
    const unsigned char *at = cursor;
    while (at < lx->limit && *at != '\n') {
        bool typographic = at[0] == 0xe2 && at[1] == 0x80 && at[2] >= 0x98 && at[2] <= 0x9f;
        bool guillemet = at[0] == 0xc2 && (at[1] == 0xab || at[1] == 0xbb);
        if (*at == '\'' || *at == '"' || typographic || guillemet) {
            lx->cursor = at + (typographic ? 3 : guillemet ? 2 : 1);
            push(lx, TOK_STR_BEG, from, cursor, 0);
            push(lx, TOK_STR_END, at, lx->cursor, 0);
            return;
        }
        at++;
    }
    lx->cursor = at;
    push_bad(lx, from);
}

/* Leaves the innermost interpolation and all one-line strings around it. */
static void unwind(Lexer *lx)
{
    while (lx->nest_count && !lx->nests[--lx->nest_count].block) {}
}

/* The text after the "${" was read as code and may not be code; its tokens are dropped, so that they give no
 * errors. */
static void report_open_nest(Lexer *lx, const unsigned char *at)
{
    const Nest *nest = &lx->nests[lx->nest_count - 1];
    Diag *diag = diag_error(lx->diags, nest->opened, "unclosed '${' in a string");
    diag_hint(lx->diags, diag,
              nest->block ? "close it with '}' before the string ends" : "close it with '}' on the same line");
    lx->out->count = nest->tokens;
    push_bad(lx, at);
}

/* A quote that is missing inside an interpolation is nearly always a '}' that is missing before the outer quote. */
static void report_open_string(Lexer *lx, Span opened, bool block, const unsigned char *at)
{
    if (lx->nest_count) {
        report_open_nest(lx, at);
        unwind(lx);
        return;
    }
    Diag *diag = diag_error(lx->diags, opened, block ? "unclosed '\"\"\"' block" : "unclosed string");
    diag_hint(lx->diags, diag,
              block ? "close it with '\"\"\"'"
                    : "close it with '\"' on the same line; text of several lines is written in \"\"\" … \"\"\"");
    push_bad(lx, at);
}

static void report_escape(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    diag_error(lx->diags, span_between(lx, from, to),
               "unknown escape '%.*s'; escapes are \\n \\t \\r \\\" \\\\ \\$ \\u{1F600}", (int)(to - from),
               (const char *)from);
}

/* \u{…}: one to six hex digits that name a Unicode scalar value. */
static void check_code_point(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    unsigned long point = strtoul((const char *)from + 3, NULL, 16);
    if (to - from <= 4 + 6 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)) return;
    diag_error(lx->diags, span_between(lx, from, to), "'%.*s' is not a Unicode code point",
               (int)(to - from < 40 ? to - from : 40), (const char *)from);
}

/*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = cursor;
    re2c:define:YYLIMIT = lx->limit;
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    word   = [A-Za-z_][A-Za-z0-9_]*;
    digits = [0-9]+ ("_" [0-9]+)*;
    hex    = "0x" [0-9a-fA-F]+ ("_" [0-9a-fA-F]+)*;
    expo   = [eE] [+-]? digits;
    float  = digits "." digits expo? | digits expo;
    quotes = [\u2018-\u201f\u00ab\u00bb'];
*/

static void enter_nest(Lexer *lx, const unsigned char *from, const unsigned char *to, Span string, bool block)
{
    if (lx->nest_count == NEST_MAX) {
        diag_error(lx->diags, span_between(lx, from, to), "more than %d strings inside one another", NEST_MAX);
        push_bad(lx, from);
        lx->stopped = true;
        return;
    }
    push(lx, TOK_INTERP_BEG, from, to, 0);
    lx->nests[lx->nest_count++] = (Nest){span_between(lx, from, to), string, 0, lx->out->count, block};
}

/* The inside of a string up to its end or its next "${". `opened` are its quotes. */
static void lex_string(Lexer *lx, Span opened, bool block)
{
    const unsigned char *cursor = lx->cursor, *marker, *piece = cursor, *from;
#define END_PIECE()                                                                                                    \
    do {                                                                                                               \
        if (from > piece) push(lx, TOK_STR_PART, piece, from, 0);                                                      \
        lx->cursor = cursor;                                                                                           \
    } while (0)
    for (;;) {
        from = cursor;
        /*!re2c
            "\"\"\"" {
                if (!block) cursor -= 2;
                END_PIECE();
                push(lx, TOK_STR_END, from, cursor, 0);
                return;
            }
            "\"" {
                if (block) continue;
                END_PIECE();
                push(lx, TOK_STR_END, from, cursor, 0);
                return;
            }
            "${" {
                END_PIECE();
                enter_nest(lx, from, cursor, opened, block);
                return;
            }
            "\n" {
                if (block) continue;
                cursor = from;
                END_PIECE();
                report_open_string(lx, opened, false, from);
                return;
            }
            $ {
                END_PIECE();
                report_open_string(lx, opened, block, from);
                return;
            }
            "\\" [ntr"\\$]               { continue; }
            "\\u{" [0-9a-fA-F]+ "}"      { check_code_point(lx, from, cursor); continue; }
            "\\" [^\n\x00]               { report_escape(lx, from, cursor); continue; }
            "\\"                         { continue; }
            "$" | [^"\\$\n\x00]+         { continue; }
            *                            { continue; }
        */
    }
#undef END_PIECE
}

/* A '}' ends an interpolation when no '{' inside it is open; then its string continues. */
static void lex_close_brace(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    Nest *nest = lx->nest_count ? &lx->nests[lx->nest_count - 1] : NULL;
    if (!nest || nest->braces) {
        if (nest) nest->braces--;
        push(lx, TOK_RBRACE, from, to, 0);
        return;
    }
    CHECK(lx->out->count >= nest->tokens);
    Span string = nest->string;
    bool block = nest->block;
    lx->nest_count--;
    push(lx, TOK_INTERP_END, from, to, 0);
    lex_string(lx, string, block);
}

static void lex_open_brace(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    if (lx->nest_count) lx->nests[lx->nest_count - 1].braces++;
    push(lx, TOK_LBRACE, from, to, 0);
}

/* A newline in code. It also ends, by mistake, the interpolations of one-line strings. */
static void lex_newline(Lexer *lx, const unsigned char *from)
{
    if (lx->nest_count && !lx->nests[lx->nest_count - 1].block) {
        report_open_nest(lx, from);
        unwind(lx);
    }
    lx->fresh = true;
}

static void lex_open_string(Lexer *lx, const unsigned char *from, const unsigned char *to, bool block)
{
    if (block && lx->nest_count && lx->nests[lx->nest_count - 1].block) {
        report_open_nest(lx, from);
        unwind(lx);
        return;
    }
    push(lx, TOK_STR_BEG, from, to, block ? TOKEN_BLOCK : 0);
    lex_string(lx, span_between(lx, from, to), block);
}

static void lex_stray(Lexer *lx, const unsigned char *from, const unsigned char *to)
{
    push(lx, TOK_BAD, from, to, 0);
    Diag *diag = diag_error(lx->diags, span_between(lx, from, to), "unexpected character '%.*s'",
                            (int)(to - from < 40 ? to - from : 40), (const char *)from);
    if (*from >= 0x80) diag_hint(lx->diags, diag, "names are made of the letters A to Z, digits and '_'");
    if (*from == '&') diag_hint(lx->diags, diag, "'and' is written '&&'");
    if (*from == '#') diag_hint(lx->diags, diag, "comments start with '//'");
}

static void lex_end(Lexer *lx, const unsigned char *at)
{
    if (lx->nest_count) report_open_nest(lx, at);
    lx->fresh = true;
    push(lx, 0, at, at, 0);
    lx->stopped = true;
}

/* One token of code, or a whole string up to its next "${". */
static void lex_code(Lexer *lx)
{
    const unsigned char *cursor = lx->cursor, *marker, *from = cursor;
#define EMIT(kind)                                                                                                     \
    do {                                                                                                               \
        lx->cursor = cursor;                                                                                           \
        push(lx, kind, from, cursor, 0);                                                                               \
        return;                                                                                                        \
    } while (0)
#define CALL(statement)                                                                                                \
    do {                                                                                                               \
        lx->cursor = cursor;                                                                                           \
        statement;                                                                                                     \
        return;                                                                                                        \
    } while (0)
    /*!re2c
        [ \t\r]+               { CALL((void)0); }
        "\n"                   { CALL(lex_newline(lx, from)); }
        $                      { CALL(lex_end(lx, from)); }
        "///" [^/\n\x00] [^\n\x00]* { CALL(push_doc(lx, from, cursor)); }
        "///"                  { CALL(push_doc(lx, from, cursor)); }
        "//" [^\n\x00]*        { CALL((void)0); }

        word                   { EMIT(token_word_kind((const char *)from, (size_t)(cursor - from))); }
        digits | hex           { EMIT(TOK_INT); }
        float                  { EMIT(TOK_FLOAT); }
        digits ("ms" | [smhd]) { EMIT(TOK_DUR); }
        digits "_"? word       { CALL(report_number(lx, from, cursor); push(lx, TOK_DUR, from, cursor, 0)); }
        digits "." digits word { CALL(report_number(lx, from, cursor); push(lx, TOK_FLOAT, from, cursor, 0)); }

        "\"\"\""               { CALL(lex_open_string(lx, from, cursor, true)); }
        "\""                   { CALL(lex_open_string(lx, from, cursor, false)); }
        quotes                 { CALL(lex_wrong_quote(lx, from, cursor)); }

        "{"                    { CALL(lex_open_brace(lx, from, cursor)); }
        "}"                    { CALL(lex_close_brace(lx, from, cursor)); }
        "("                    { EMIT(TOK_LP); }
        ")"                    { EMIT(TOK_RP); }
        "["                    { EMIT(TOK_LSQ); }
        "]"                    { EMIT(TOK_RSQ); }
        "->"                   { EMIT(TOK_ARROW); }
        "=>"                   { EMIT(TOK_FATARROW); }
        "=="                   { EMIT(TOK_EQ); }
        "!="                   { EMIT(TOK_NE); }
        "<="                   { EMIT(TOK_LE); }
        ">="                   { EMIT(TOK_GE); }
        "<"                    { EMIT(TOK_LT); }
        ">"                    { EMIT(TOK_GT); }
        "&&"                   { EMIT(TOK_AND); }
        "||"                   { EMIT(TOK_OR); }
        "??"                   { EMIT(TOK_COALESCE); }
        "?."                   { EMIT(TOK_QDOT); }
        "?"                    { EMIT(TOK_QUEST); }
        "+="                   { EMIT(TOK_PLUSEQ); }
        "-="                   { EMIT(TOK_MINUSEQ); }
        "*="                   { EMIT(TOK_STAREQ); }
        "/="                   { EMIT(TOK_SLASHEQ); }
        "="                    { EMIT(TOK_ASSIGN); }
        "+"                    { EMIT(TOK_PLUS); }
        "-"                    { EMIT(TOK_MINUS); }
        "*"                    { EMIT(TOK_STAR); }
        "/"                    { EMIT(TOK_SLASH); }
        "%"                    { EMIT(TOK_PERCENT); }
        "!"                    { EMIT(TOK_NOT); }
        "|"                    { EMIT(TOK_BAR); }
        ".."                   { EMIT(TOK_DOTDOT); }
        "."                    { EMIT(TOK_DOT); }
        ","                    { EMIT(TOK_COMMA); }
        ":"                    { EMIT(TOK_COLON); }
        ";"                    { EMIT(TOK_NL); }
        [^\x00-\x7f\u2018-\u201f\u00ab\u00bb]+ { CALL(lex_stray(lx, from, cursor)); }
        *                      { CALL(lex_stray(lx, from, cursor)); }
    */
#undef EMIT
#undef CALL
}

/* Length of the well-formed UTF-8 sequence at `at`, or 0. The byte behind the text is a NUL, so reading on is safe. */
static uint32_t sequence_len(const unsigned char *at)
{
    unsigned char lead = at[0];
    uint32_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0xc2 || lead > 0xf4 || at[1] < low || at[1] > high) return 0;
    for (uint32_t i = 2; i < len; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return len;
}

/* Nothing is read of a file that is not text: whatever followed would be guesswork. */
static bool check_encoding(Lexer *lx)
{
    for (const unsigned char *at = lx->cursor; at < lx->limit;) {
        uint32_t len = *at == 0 ? 0 : *at < 0x80 ? 1 : sequence_len(at);
        if (len) {
            at += len;
            continue;
        }
        if (*at) {
            Diag *diag = diag_error(lx->diags, span_between(lx, at, at + 1), "byte 0x%02x is not valid UTF-8", *at);
            diag_hint(lx->diags, diag, "save the file as UTF-8");
        } else {
            diag_error(lx->diags, span_between(lx, at, at + 1), "a program cannot contain a NUL byte");
        }
        return false;
    }
    return true;
}

/* `#!/usr/bin/env -S tfy run` as the first line makes a program a command: it is a comment. */
static void skip_interpreter(Lexer *lx)
{
    if (lx->limit - lx->cursor < 2 || memcmp(lx->cursor, "#!", 2) != 0) return;
    const unsigned char *end = memchr(lx->cursor, '\n', (size_t)(lx->limit - lx->cursor));
    lx->cursor = end ? end : lx->limit;
}

void lexer_run(SourceSet *set, Source *source, DiagList *diags, TokenList *tokens)
{
    *tokens = (TokenList){0};
    arena_init(&tokens->arena, 0);
    const unsigned char *text = (const unsigned char *)source->text;
    Lexer lx = {.set = set, .source = source, .diags = diags, .out = tokens, .fresh = true};
    lx.cursor = text;
    lx.limit = text + source->len;
    if (source->len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) lx.cursor += 3;
    if (!check_encoding(&lx)) lx.cursor = lx.limit;
    skip_interpreter(&lx);
    while (!lx.stopped && diags->errors <= diags->limit) lex_code(&lx);
    if (!tokens->count || tokens->items[tokens->count - 1].kind != 0) push(&lx, 0, lx.limit, lx.limit, TOKEN_FIRST);
}

void lexer_deinit(TokenList *tokens)
{
    arena_deinit(&tokens->arena);
    *tokens = (TokenList){0};
}

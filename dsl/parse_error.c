/* parse_error.c: the words for syntax errors.
 *
 * A handful of common mistakes are recognised by what is around the token; everything else gets "unexpected X;
 * expected …", the list being exactly what the automaton would take, with sets of tokens named as what they start. */
#include "parse_internal.h"

#include <string.h>

#include "grammar.h"

/* Wherever a name fits, any keyword fits; 'in' starts nothing, so it distinguishes the places. */
static bool statement_may_begin(const Parser *p)
{
    return parse_wants(p, TOK_LET) && !parse_wants(p, TOK_IN);
}

static bool declaration_may_begin(const Parser *p)
{
    return parse_wants(p, TOK_WORKFLOW) && !parse_wants(p, TOK_IN);
}

static const char *text_of(const Parser *p, Token token)
{
    return source_text(p->build.sources, token_span(token));
}

/* ---- brackets ---- */

uint32_t parse_indent_of(const Parser *p, uint32_t index)
{
    const Source *source = p->build.source;
    uint32_t at = parse_token(p, index).off - source->base, start = at;
    while (start > 0 && source->text[start - 1] != '\n') start--;
    uint32_t end = start;
    while (end < at && (source->text[end] == ' ' || source->text[end] == '\t')) end++;
    return end - start;
}

/* The '{' that looks unclosed: a '}' that opens its line closes the nearest '{' of a line indented no deeper; the
 * ones it passes over were forgotten. Otherwise the innermost. */
static uint32_t find_unclosed(const Parser *p, uint32_t innermost)
{
    uint32_t stack[BRACKET_MAX], count = 0, suspect = UINT32_MAX;
    for (uint32_t i = 0; i < p->at && count < BRACKET_MAX; i++) {
        Token token = parse_token(p, i);
        if (token.kind == TOK_LBRACE) stack[count++] = i;
        if (token.kind != TOK_RBRACE || !count) continue;
        uint32_t indent = parse_indent_of(p, i);
        while (token.flags & TOKEN_FIRST && count > 1 && parse_indent_of(p, stack[count - 1]) > indent) {
            count--;
            if (suspect == UINT32_MAX) suspect = stack[count];
        }
        count--;
    }
    return suspect != UINT32_MAX ? suspect : innermost;
}

void parse_report_unclosed(Parser *p, uint32_t innermost)
{
    uint32_t open = find_unclosed(p, innermost);
    Span brace = token_span(parse_token(p, open));
    LineCol where = source_line_col(p->build.sources, brace.off);
    Token found = parse_token(p, p->at);
    Token shown = found.kind == 0 && p->at > 0 ? parse_token(p, p->at - 1) : found;
    Diag *diag = diag_error(p->build.diags, token_span(shown), "missing '}'; the '{' opened at %u:%u looks unclosed",
                            where.line, where.col);
    diag_other(p->build.diags, diag, brace, "opened here");
}

static bool closes_another(int opener, int kind)
{
    if (kind == TOK_RP) return opener != TOK_LP;
    if (kind == TOK_RSQ) return opener != TOK_LSQ;
    if (kind == TOK_RBRACE) return opener != TOK_LBRACE;
    return kind == 0;
}

/* The innermost bracket when it is worth naming: opened on an earlier line, or met by a bracket of another kind. */
static const Open *find_open_bracket(const Parser *p, Token found)
{
    if (!p->open_count) return NULL;
    const Open *open = &p->opens[p->open_count - 1];
    Token bracket = parse_token(p, open->token);
    if (open->list) return NULL;
    uint32_t line = source_line_col(p->build.sources, bracket.off).line;
    return closes_another(bracket.kind, found.kind) || source_line_col(p->build.sources, found.off).line > line ? open
                                                                                                                : NULL;
}

/* ---- the mistakes people make ---- */

bool parse_begins_declaration(const Parser *p, uint32_t index)
{
    int kind = parse_token(p, index).kind, next = parse_token(p, index + 1).kind;
    switch (kind) {
    case TOK_WORKFLOW:
    case TOK_FN: return next != TOK_COLON;
    case TOK_TOOL:
    case TOK_TYPE:
    case TOK_ERROR:
    case TOK_ENUM:
    case TOK_CONST:
    case TOK_PROMPT:
    case TOK_SANDBOX:
        return next == TOK_ID || (token_kind_is_word(next) && next != TOK_AS && next != TOK_ELSE && next != TOK_IN);
    case TOK_TEST:
    case TOK_IMPORT: return next == TOK_STR_BEG;
    default: return false;
    }
}

static bool report_stray_clause(Parser *p, Token found)
{
    const char *wanted = found.kind == TOK_CATCH || found.kind == TOK_FINALLY ? "try"
                         : found.kind == TOK_ELSE                             ? "if"
                                                                              : NULL;
    bool ended = parse_wants(p, TOK_NL) && !parse_wants(p, TOK_COMMA);
    if (!wanted || !(statement_may_begin(p) || ended)) return false;
    diag_error(p->build.diags, token_span(found), "'%s' without '%s'", token_kind_name(found.kind), wanted);
    return true;
}

static bool report_reserved(Parser *p, Token found)
{
    bool name_only =
        parse_takes(p, TOK_ID) && !parse_takes(p, TOK_INT) && !parse_wants(p, TOK_LET) && !parse_wants(p, TOK_FN);
    if (!name_only || !token_kind_is_word(found.kind)) return false;
    diag_error(p->build.diags, token_span(found), "'%s' is a reserved word; try '%s_'", token_kind_name(found.kind),
               token_kind_name(found.kind));
    return true;
}

static bool report_assign(Parser *p, Token found)
{
    if (found.kind != TOK_ASSIGN || !parse_wants(p, TOK_EQ)) return false;
    bool argument = p->open_count && parse_token(p, p->opens[p->open_count - 1].token).kind == TOK_LP &&
                    p->opens[p->open_count - 1].token + 2 == p->at;
    if (p->at >= 2 && parse_token(p, p->at - 2).kind == TOK_COMMA) argument = true;
    Diag *diag = diag_error(p->build.diags, token_span(found), "'=' assigns; use '=='");
    if (argument) diag_hint(p->build.diags, diag, "an argument is named with ':', as in f(name: value)");
    return true;
}

static bool is_root_word(int kind)
{
    return kind == TOK_YIELD || kind == TOK_SPAWN || kind == TOK_PARALLEL || kind == TOK_RACE;
}

/* In arguments and maps the word itself was taken, as a name before a ':'. */
static bool report_inner_yield(Parser *p, Token found)
{
    bool in_value = p->open_count && !p->opens[p->open_count - 1].list;
    bool as_name = in_value && p->at > 0 && is_root_word(parse_token(p, p->at - 1).kind) && parse_wants(p, TOK_COLON);
    if (as_name) found = parse_token(p, p->at - 1);
    if (!as_name && !(is_root_word(found.kind) && parse_takes(p, TOK_INT))) return false;
    const char *word = token_kind_name(found.kind);
    if (p->at > 0 && parse_token(p, p->at - 1).kind == TOK_FATARROW) {
        Diag *diag = diag_error(p->build.diags, token_span(found), "'%s' is not allowed in an inline function", word);
        diag_hint(p->build.diags, diag, "an inline function takes no steps: go through the list with 'for'");
        return true;
    }
    Diag *diag = diag_error(p->build.diags, token_span(found),
                            "'%s' is allowed only at the root of a statement; bind it first", word);
    diag_hint(p->build.diags, diag, "write 'let value = %s …' on a line before, and use 'value' here", word);
    return true;
}

/* A value where a statement should start. */
static bool report_thrown_away(Parser *p, Token found)
{
    if (!statement_may_begin(p) || !parse_begins_expression(found.kind)) return false;
    Diag *diag =
        diag_error(p->build.diags, token_span(found), "this value is not used, because it starts a new statement");
    bool joins = found.kind == TOK_MINUS || found.kind == TOK_LP || found.kind == TOK_LSQ;
    if (joins && found.flags & TOKEN_FIRST)
        diag_hint(p->build.diags, diag, "to continue the line above, end that line with '%s'",
                  token_kind_name(found.kind));
    if (!joins) diag_hint(p->build.diags, diag, "name it with 'let', or remove it");
    return true;
}

static const char *const statement_words[] = {"let",   "var",    "if",       "while", "for", "match", "return",
                                              "fail",  "break",  "continue", "give",  "try", "with",  "spawn",
                                              "yield", "assert", "parallel", "race",  "mock"};
static const char *const declaration_words[] = {"import", "const", "type",     "error", "enum",   "tool",
                                                "prompt", "fn",    "workflow", "test",  "sandbox"};

/* Words of other languages, and ours. */
static const struct {
    const char *theirs, *ours;
} foreign_words[] = {
    {"switch", "match"}, {"throw", "fail"},   {"raise", "fail"},  {"await", "yield"},
    {"def", "fn"},       {"func", "fn"},      {"function", "fn"}, {"struct", "type"},
    {"class", "type"},   {"elif", "else if"}, {"until", "while"}, {"async", "workflow"},
};

static const char *suggest_foreign(const Parser *p, Token token)
{
    const char *text = text_of(p, token);
    for (size_t i = 0; i < sizeof foreign_words / sizeof foreign_words[0]; i++) {
        const char *theirs = foreign_words[i].theirs;
        if (strlen(theirs) == token.len && memcmp(theirs, text, token.len) == 0) return foreign_words[i].ours;
    }
    return NULL;
}

static const char *suggest_word(const Parser *p, Token token, const char *const *words, size_t count)
{
    const char *ours = suggest_foreign(p, token);
    return ours ? ours : diag_nearest(text_of(p, token), token.len, words, count);
}

static void report_unknown(Parser *p, Token word, const char *what, const char *suggestion)
{
    const char *text = text_of(p, word);
    int len = (int)word.len;
    if (suggestion) {
        diag_replace(diag_error(p->build.diags, token_span(word), "unknown %s; did you mean '%s'?", what, suggestion),
                     suggestion);
        return;
    }
    Diag *diag = diag_error(p->build.diags, token_span(word), "unknown %s '%.*s'", what, len, text);
    if (strcmp(what, "statement") == 0)
        diag_hint(p->build.diags, diag, "a call is written '%.*s(…)', an assignment '%.*s = …'", len, text, len, text);
}

/* The index of the token a statement started with, going back from `index` over one line. */
static uint32_t line_start(const Parser *p, uint32_t index)
{
    while (index > 0 && !(parse_token(p, index).flags & TOKEN_FIRST)) {
        int before = parse_token(p, index - 1).kind;
        if (before == TOK_LBRACE || before == TOK_NL || before == TOK_FATARROW || before == TOK_RBRACE) break;
        index--;
    }
    return index;
}

/* `whlie x {`, `brek`, `a.b` alone: what is on the stack is a path, and nothing assigns to it or calls it. */
static bool report_bare_path(Parser *p, Token found)
{
    if (!parse_wants(p, TOK_PLUSEQ) || p->at == 0) return false;
    uint32_t start = line_start(p, p->at - 1);
    Token first = parse_token(p, start);
    bool alone = start + 1 == p->at,
         ended = found.flags & TOKEN_FIRST || found.kind == TOK_RBRACE || found.kind == 0 || found.kind == TOK_NL;
    const char *word =
        alone ? suggest_word(p, first, statement_words, sizeof statement_words / sizeof statement_words[0]) : NULL;
    if (alone && (word || !(ended || parse_is_infix(found.kind)))) {
        report_unknown(p, first, "statement", word);
        return true;
    }
    if (!ended && !parse_is_infix(found.kind)) return false;
    Span span = span_join(token_span(first), token_span(parse_token(p, p->at - 1)));
    Diag *diag =
        diag_error(p->build.diags, span, "this value is not used; only a call or an assignment can be a statement");
    if (found.kind == TOK_EQ) {
        diag_hint(p->build.diags, diag, "'==' compares; use '=' to assign");
        diag_fix(diag, token_span(found), "=");
    }
    if (found.kind == TOK_PLUS && parse_token(p, p->at + 1).kind == TOK_PLUS)
        diag_hint(p->build.diags, diag, "to count up write '+= 1'");
    return true;
}

/* `whlie (x) {` and `f() + 1`: a call that continues as no call does. */
static bool report_odd_call(Parser *p, Token found)
{
    if (!parse_wants(p, TOK_NL) || !parse_wants(p, TOK_DOT) || parse_wants(p, TOK_OR) || p->at == 0) return false;
    uint32_t start = line_start(p, p->at - 1);
    Token first = parse_token(p, start);
    if (found.kind == TOK_LBRACE && first.kind == TOK_ID) {
        const char *word = suggest_word(p, first, statement_words, sizeof statement_words / sizeof statement_words[0]);
        if (word) report_unknown(p, first, "statement", word);
        return word != NULL;
    }
    if (!parse_is_infix(found.kind)) return false;
    diag_error(p->build.diags, token_span(found),
               "this value is not used; only a call or an assignment can be a statement");
    return true;
}

static bool report_outside(Parser *p, Token found)
{
    if (!declaration_may_begin(p)) return false;
    /* Indented lines out here are the rest of a declaration that an earlier mistake seemed to end. */
    if (p->failed_once && parse_indent_of(p, p->at) > 0) return true;
    if (found.kind == TOK_ID) {
        report_unknown(
            p, found, "declaration",
            suggest_word(p, found, declaration_words, sizeof declaration_words / sizeof declaration_words[0]));
        return true;
    }
    if (found.kind == TOK_RBRACE || found.kind == TOK_RP || found.kind == TOK_RSQ) {
        /* Directly behind a mistake it is most likely the end of what was skipped. */
        if (p->failed_once && !p->resumed) return true;
        diag_error(p->build.diags, token_span(found), "unexpected '%s'; no bracket is open here",
                   token_kind_name(found.kind));
        return true;
    }
    Diag *diag = diag_error(p->build.diags, token_span(found), "unexpected '%.*s'; expected a declaration",
                            (int)found.len, text_of(p, found));
    bool value = found.kind == TOK_LET || found.kind == TOK_VAR;
    diag_hint(p->build.diags, diag,
              value ? "outside of workflows and functions only 'const' names a value"
                    : "statements belong in a 'workflow' or a 'fn'");
    return true;
}

static bool report_inner_declaration(Parser *p, Token found)
{
    bool keyword = (found.kind == TOK_WORKFLOW || found.kind == TOK_FN) && statement_may_begin(p);
    bool word = p->at > 0 && parse_wants(p, TOK_PLUSEQ) && parse_begins_declaration(p, p->at - 1);
    if (!keyword && !word) return false;
    Token shown = keyword ? found : parse_token(p, p->at - 1);
    diag_error(p->build.diags, token_span(shown), "'%s' is allowed only at the top of a file, outside all braces",
               token_kind_name(shown.kind));
    return true;
}

static const char *describe(const Parser *p, Token found)
{
    if (found.kind == TOK_STR_BEG) return "string";
    if (found.kind == 0 || found.kind == TOK_STR_END || found.kind == TOK_STR_PART) return token_kind_name(found.kind);
    return arena_printf(p->build.arena, "'%.*s'", found.len > 40 ? 40 : (int)found.len, text_of(p, found));
}

/* What other languages write at this place. */
static void hint_for(Parser *p, Diag *diag, Token found)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {{"and", "&&"}, {"or", "||"}, {"is", "=="}, {"mod", "%"}, {"then", "{"}, {"do", "{"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].theirs) == found.len && memcmp(words[i].theirs, text_of(p, found), found.len) == 0) {
            diag_hint(p->build.diags, diag, "'%s' is written '%s'", words[i].theirs, words[i].ours);
            diag_fix(diag, token_span(found), words[i].ours);
        }
    Token before = p->at > 0 ? parse_token(p, p->at - 1) : found;
    const char *meant = before.kind == TOK_ID ? suggest_foreign(p, before) : NULL;
    if (meant) {
        diag_hint(p->build.diags, diag, "did you mean '%s'?", meant);
        diag_fix(diag, token_span(before), meant);
    }
    if (before.kind == TOK_ID && before.len == 3 && memcmp(text_of(p, before), "not", 3) == 0) {
        diag_hint(p->build.diags, diag, "'not' is written '!'");
        diag_fix(diag, token_span(before), "!");
    }
    if (found.kind == TOK_LSQ && parse_wants(p, TOK_TASK))
        diag_hint(p->build.diags, diag, "the type of a list is written list<int>, that of a map map<string, int>");
    if (found.kind == TOK_QUEST) diag_hint(p->build.diags, diag, "a choice is written 'if c { a } else { b }'");
    bool counts = found.kind == TOK_ASSIGN && parse_wants(p, TOK_IN);
    if (counts) diag_hint(p->build.diags, diag, "counting is written 'for i in 0..10 { … }'");
    const char *near = found.kind == TOK_ID ? parse_nearest_member(p, text_of(p, found), found.len) : NULL;
    if (near) diag_hint(p->build.diags, diag_replace(diag, near), "did you mean '%s'?", near);
    if (before.kind == TOK_JSON && parse_wants(p, TOK_LBRACE))
        diag_hint(p->build.diags, diag,
                  "'json' starts a literal, as in json { \"a\": [1, x] }; no value has this name");
    bool bare_key = (found.kind == TOK_DOT && parse_wants(p, TOK_COLON)) ||
                    (found.kind == TOK_INT && parse_wants(p, TOK_LSQ) && parse_wants(p, TOK_RBRACE));
    if (bare_key)
        diag_hint(p->build.diags, diag, "a key that is not a string is written in brackets, as in { [1]: … }");
    bool unnamed =
        p->open_count && p->opens[p->open_count - 1].list && parse_wants(p, TOK_COLON) && before.kind == TOK_YIELD;
    if (unnamed)
        diag_hint(p->build.diags, diag, "the bodies of 'parallel' and 'race' have names, as in 'a: yield f()'");
}

static bool begins_statement(int kind)
{
    switch (kind) {
    case TOK_LET:
    case TOK_VAR:
    case TOK_RETURN:
    case TOK_FAIL:
    case TOK_FOR:
    case TOK_WHILE:
    case TOK_MATCH:
    case TOK_TRY:
    case TOK_WITH:
    case TOK_GIVE: return true;
    default: return false;
    }
}

/* The '=>' of an inline function is before the token: its brackets are the arguments of a call. */
static bool behind_inline_arrow(const Parser *p, uint32_t at, uint32_t open_count)
{
    if (at == 0 || parse_token(p, at - 1).kind != TOK_FATARROW || !open_count) return false;
    return parse_token(p, p->opens[open_count - 1].token).kind == TOK_LP;
}

/* `x => return x`, and statements in braces: `x => { let y = …`, which so far read as a map. */
static bool report_inline_body(Parser *p, Token found)
{
    bool bare = begins_statement(found.kind) && behind_inline_arrow(p, p->at, p->open_count);
    const Open *open = p->open_count ? &p->opens[p->open_count - 1] : NULL;
    bool braces = open && !open->list && p->at > open->token && p->at - open->token <= 2 &&
                  parse_token(p, open->token).kind == TOK_LBRACE &&
                  behind_inline_arrow(p, open->token, p->open_count - 1);
    Token first = braces ? parse_token(p, open->token + 1) : found;
    if (!bare && (!braces || first.kind == TOK_STR_BEG || first.kind == TOK_LSQ)) return false;
    Diag *diag = diag_error(p->build.diags, token_span(first), "an inline function is one expression");
    if (braces && !begins_statement(first.kind))
        diag_hint(p->build.diags, diag, "leave out the braces, as in x => x + 1");
    else if (first.kind == TOK_RETURN)
        diag_hint(p->build.diags, diag, "leave out %s'return', as in x => x + 1", braces ? "the braces and " : "");
    else
        diag_hint(p->build.diags, diag, "put the statements into a fn and call it: x => f(x); or use 'for'");
    return true;
}

static void report_unexpected(Parser *p, Token found)
{
    const char *expected = parse_list_expected(p);
    const Open *open = find_open_bracket(p, found);
    const char *tail = "";
    Span bracket = {0, 0};
    if (open) {
        bracket = token_span(parse_token(p, open->token));
        LineCol where = source_line_col(p->build.sources, bracket.off);
        tail = arena_printf(p->build.arena, "; the bracket opened at %u:%u is still open", where.line, where.col);
    }
    Diag *diag = diag_error(p->build.diags, token_span(found), "unexpected %s%s%s%s", describe(p, found),
                            expected[0] ? "; expected " : "", expected, tail);
    if (open) diag_other(p->build.diags, diag, bracket, "opened here");
    hint_for(p, diag, found);
}

void parse_report(Parser *p)
{
    Token found = parse_token(p, p->at);
    if (report_inline_body(p, found)) return;
    if (report_stray_clause(p, found) || report_inner_yield(p, found) || report_inner_declaration(p, found)) return;
    if (report_reserved(p, found) || report_assign(p, found) || report_outside(p, found)) return;
    if (report_thrown_away(p, found) || report_bare_path(p, found) || report_odd_call(p, found)) return;
    report_unexpected(p, found);
}

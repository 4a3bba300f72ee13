/* parse_error.c: the words for syntax errors.
 *
 * A handful of common mistakes are recognised by what stands around the token; everything else gets "unexpected X; expected …", the
 * list being exactly what the automaton would take, with sets of tokens named as what they begin. */
#include "parse_internal.h"

#include <string.h>

#include "grammar.h"

static bool takes(const Parser *p, int kind)
{
    return grammar_takes(p->automaton, kind);
}

static bool wants(const Parser *p, int kind)
{
    return grammar_wants(p->automaton, kind);
}

static Token token_at(const Parser *p, uint32_t index)
{
    uint32_t last = p->tokens.count - 1;
    return p->tokens.items[index < last ? index : last];
}

static const char *text_of(const Parser *p, Token token)
{
    return source_text(p->build.sources, token_span(token));
}

/* ---- expected tokens ---- */

enum { TOKEN_KINDS = 128, LIST_MAX = 600 };

typedef struct Expected {
    bool kinds[TOKEN_KINDS];
    char text[LIST_MAX];
    const char *names[TOKEN_KINDS]; /* as they will be printed, class names without quotes */
    bool quoted[TOKEN_KINDS];
    uint32_t count;
} Expected;

static void name_class(Expected *expected, const char *name)
{
    expected->quoted[expected->count] = false;
    expected->names[expected->count++] = name;
}

static void drop_kinds(Expected *expected, const int *kinds)
{
    for (; *kinds; kinds++) expected->kinds[*kinds] = false;
}

static const int expression_starts[] = {TOK_ID,     TOK_INT,   TOK_FLOAT, TOK_DUR, TOK_STR_BEG,
                                        TOK_TRUE,   TOK_FALSE, TOK_NULL,  TOK_LP,  TOK_LSQ,
                                        TOK_LBRACE, TOK_MINUS, TOK_NOT,   TOK_IF,  0};
static const int statement_starts[] = {TOK_ID,       TOK_LET,  TOK_VAR,   TOK_YIELD,  TOK_SPAWN,    TOK_IF,
                                       TOK_WHILE,    TOK_FOR,  TOK_MATCH, TOK_RETURN, TOK_FAIL,     TOK_BREAK,
                                       TOK_CONTINUE, TOK_GIVE, TOK_TRY,   TOK_WITH,   TOK_PARALLEL, TOK_RACE,
                                       TOK_ASSERT,   TOK_MOCK, TOK_NL,    0};
static const int declaration_starts[] = {TOK_IMPORT, TOK_CONST, TOK_TYPE,     TOK_ERROR, TOK_ENUM, TOK_TOOL,
                                         TOK_PROMPT, TOK_FN,    TOK_WORKFLOW, TOK_TEST,  TOK_NL,   0};
static const int infix[] = {TOK_OR,  TOK_AND,      TOK_EQ,   TOK_NE,    TOK_LT,   TOK_LE,    TOK_GT,
                            TOK_GE,  TOK_COALESCE, TOK_PLUS, TOK_MINUS, TOK_STAR, TOK_SLASH, TOK_PERCENT,
                            TOK_DOT, TOK_LSQ,      TOK_LP,   TOK_BAD,   0};
static const int policies[] = {TOK_RETRY, TOK_BACKOFF, TOK_TIMEOUT, TOK_ELSE, TOK_UNDO,
                               TOK_AS,    TOK_KEY,     TOK_APPROVE, 0};
static const int attributes[] = {TOK_PURE, TOK_IDEMPOTENT, TOK_ONCE, TOK_DANGEROUS, TOK_LIMIT, TOK_RATE, 0};
static const int pattern_starts[] = {TOK_ID,    TOK_INT,  TOK_FLOAT, TOK_DUR,  TOK_STR_BEG, TOK_TRUE,
                                     TOK_FALSE, TOK_NULL, TOK_MINUS, TOK_ELSE, TOK_NL,      0};

static void drop_all_words(Expected *expected)
{
    for (int kind = 1; kind < TOKEN_KINDS; kind++)
        if (kind == TOK_ID || (expected->kinds[kind] && token_kind_is_word(kind))) expected->kinds[kind] = false;
}

/* Replaces the sets that begin one thing by its name. The order matters: larger sets hold the smaller ones. */
static void collapse_sets(Expected *expected)
{
    const bool *kinds = expected->kinds;
    if (kinds[TOK_FN] && kinds[TOK_WHILE] && kinds[TOK_IN] && kinds[TOK_CATCH]) {
        bool value = kinds[TOK_INT];
        drop_all_words(expected);
        name_class(expected, value ? "an expression" : "a name");
        if (value) drop_kinds(expected, expression_starts);
        return;
    }
    if (kinds[TOK_FN] && kinds[TOK_WORKFLOW]) {
        name_class(expected, "a declaration");
        drop_kinds(expected, declaration_starts);
    }
    if (kinds[TOK_LET] && kinds[TOK_RETURN]) {
        name_class(expected, "a statement");
        drop_kinds(expected, statement_starts);
    }
    if (kinds[TOK_INT] && kinds[TOK_LP]) {
        name_class(expected, "an expression");
        drop_kinds(expected, expression_starts);
        static const int roots[] = {TOK_YIELD, TOK_SPAWN, TOK_PARALLEL, TOK_RACE, 0};
        drop_kinds(expected, roots);
    } else if (kinds[TOK_ID] && kinds[TOK_STR_BEG] && kinds[TOK_ELSE]) {
        name_class(expected, "a pattern");
        drop_kinds(expected, pattern_starts);
    }
    if (kinds[TOK_TASK]) {
        static const int type_starts[] = {TOK_TASK, TOK_ID, 0};
        name_class(expected, "a type");
        drop_kinds(expected, type_starts);
    }
}

/* What may follow nearly everything is said only when nothing else could. */
static void collapse_followers(Expected *expected)
{
    const bool *kinds = expected->kinds;
    bool operators = kinds[TOK_OR];
    static const int postfix[] = {TOK_DOT, TOK_LSQ, TOK_LP, 0}, argument_marks[] = {TOK_COLON, TOK_FATARROW, 0};
    static const int type_marks[] = {TOK_QUEST, TOK_LT, TOK_DOT, 0};
    if (operators) drop_kinds(expected, infix);
    if (kinds[TOK_NL] || kinds[TOK_GT] || kinds[TOK_FATARROW]) drop_kinds(expected, postfix);
    if (kinds[TOK_DOT] && kinds[TOK_LSQ] && kinds[TOK_LP]) expected->kinds[TOK_DOT] = expected->kinds[TOK_LSQ] = false;
    if (kinds[TOK_QUEST] && (kinds[TOK_ASSIGN] || kinds[TOK_GT] || kinds[TOK_COMMA] || kinds[TOK_NL]))
        drop_kinds(expected, type_marks);
    if (kinds[TOK_COMMA] && kinds[TOK_RP]) drop_kinds(expected, argument_marks);
    if (kinds[TOK_BACKOFF] && kinds[TOK_KEY]) {
        name_class(expected, "a policy");
        drop_kinds(expected, policies);
    }
    if (kinds[TOK_PURE] && kinds[TOK_ONCE]) {
        name_class(expected, "an attribute");
        drop_kinds(expected, attributes);
    }
    bool others = expected->count > 0;
    for (int kind = 1; kind < TOKEN_KINDS; kind++) others |= kinds[kind];
    if (operators && !others) name_class(expected, "an operator");
}

static void append(Expected *expected, const char *text)
{
    size_t used = strlen(expected->text), len = strlen(text);
    if (used + len < LIST_MAX) memcpy(expected->text + used, text, len + 1);
}

/* "a, b or c" of everything the automaton would take next; empty when it would take nothing that can be named. */
static void list_expected(const Parser *p, Expected *expected)
{
    for (int kind = 1; kind <= TOK_INTERP_END && kind < TOKEN_KINDS; kind++)
        expected->kinds[kind] = kind != TOK_BAD && wants(p, kind);
    collapse_sets(expected);
    collapse_followers(expected);
    for (int kind = 1; kind < TOKEN_KINDS; kind++) {
        if (!expected->kinds[kind]) continue;
        expected->quoted[expected->count] = !token_kind_is_class(kind);
        expected->names[expected->count++] = token_kind_name(kind);
    }
    for (uint32_t i = 0; i < expected->count; i++) {
        if (i) append(expected, i + 1 == expected->count ? " or " : ", ");
        if (expected->quoted[i]) append(expected, "'");
        append(expected, expected->names[i]);
        if (expected->quoted[i]) append(expected, "'");
    }
}

/* ---- brackets ---- */

uint32_t parse_indent_of(const Parser *p, uint32_t index)
{
    const Source *source = p->build.source;
    uint32_t at = token_at(p, index).off - source->base, start = at;
    while (start > 0 && source->text[start - 1] != '\n') start--;
    uint32_t end = start;
    while (end < at && (source->text[end] == ' ' || source->text[end] == '\t')) end++;
    return end - start;
}

/* The '{' that looks unclosed: a '}' that opens its line closes the nearest '{' of a line indented no deeper; the ones it passes over
 * were forgotten. Otherwise the innermost. */
static uint32_t find_unclosed(const Parser *p)
{
    uint32_t stack[BRACKET_MAX], count = 0, suspect = UINT32_MAX;
    for (uint32_t i = 0; i < p->at && count < BRACKET_MAX; i++) {
        Token token = token_at(p, i);
        if (token.kind == TOK_LBRACE) stack[count++] = i;
        if (token.kind != TOK_RBRACE || !count) continue;
        uint32_t indent = parse_indent_of(p, i);
        while (token.flags & TOKEN_FIRST && count > 1 && parse_indent_of(p, stack[count - 1]) > indent) {
            count--;
            if (suspect == UINT32_MAX) suspect = stack[count];
        }
        count--;
    }
    if (suspect != UINT32_MAX) return suspect;
    return count ? stack[count - 1] : p->opens[p->open_count - 1].token;
}

void parse_report_unclosed(Parser *p)
{
    uint32_t open = find_unclosed(p);
    Span brace = token_span(token_at(p, open));
    LineCol where = source_line_col(p->build.sources, brace.off);
    Token found = token_at(p, p->at);
    Token shown = found.kind == 0 && p->at > 0 ? token_at(p, p->at - 1) : found;
    Diag *diag = diag_error(p->build.diags, token_span(shown), "missing '}'; the '{' opened at %u:%u looks unclosed",
                            where.line, where.col);
    diag_other(p->build.diags, diag, brace, "opened here");
}

/* The innermost bracket when it is worth naming: opened on an earlier line, or met by a bracket of another kind. */
static const Open *find_open_bracket(const Parser *p, Token found)
{
    if (!p->open_count) return NULL;
    const Open *open = &p->opens[p->open_count - 1];
    Token bracket = token_at(p, open->token);
    if (open->list) return NULL;
    bool closer = found.kind == TOK_RBRACE || found.kind == TOK_RP || found.kind == TOK_RSQ || found.kind == 0;
    uint32_t line = source_line_col(p->build.sources, bracket.off).line;
    return closer || source_line_col(p->build.sources, found.off).line > line ? open : NULL;
}

/* ---- the mistakes people make ---- */

bool parse_begins_declaration(const Parser *p, uint32_t index)
{
    int kind = token_at(p, index).kind, next = token_at(p, index + 1).kind;
    switch (kind) {
    case TOK_WORKFLOW:
    case TOK_FN: return next != TOK_COLON;
    case TOK_TOOL:
    case TOK_TYPE:
    case TOK_ERROR:
    case TOK_ENUM:
    case TOK_CONST:
    case TOK_PROMPT:
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
    if (!wanted || !(wants(p, TOK_LET) || wants(p, TOK_NL))) return false;
    diag_error(p->build.diags, token_span(found), "'%s' without '%s'", token_kind_name(found.kind), wanted);
    return true;
}

static bool report_reserved(Parser *p, Token found)
{
    bool name_only = takes(p, TOK_ID) && !takes(p, TOK_INT) && !wants(p, TOK_LET) && !wants(p, TOK_FN);
    if (!name_only || !token_kind_is_word(found.kind)) return false;
    diag_error(p->build.diags, token_span(found), "'%s' is a reserved word; try '%s_'", token_kind_name(found.kind),
               token_kind_name(found.kind));
    return true;
}

static bool report_assign(Parser *p, Token found)
{
    if (found.kind != TOK_ASSIGN || !wants(p, TOK_EQ)) return false;
    bool argument = p->open_count && token_at(p, p->opens[p->open_count - 1].token).kind == TOK_LP &&
                    p->opens[p->open_count - 1].token + 2 == p->at;
    if (p->at >= 2 && token_at(p, p->at - 2).kind == TOK_COMMA) argument = true;
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
    bool as_name =
        p->at > 0 && is_root_word(token_at(p, p->at - 1).kind) && wants(p, TOK_COLON) && !wants(p, TOK_ASSIGN);
    if (as_name) found = token_at(p, p->at - 1);
    if (!as_name && !(is_root_word(found.kind) && takes(p, TOK_INT))) return false;
    const char *word = token_kind_name(found.kind);
    Diag *diag = diag_error(p->build.diags, token_span(found),
                            "'%s' stands only at the root of a statement; bind it first", word);
    diag_hint(p->build.diags, diag, "write 'let value = %s …' on a line before, and use 'value' here", word);
    return true;
}

static bool begins_expression(int kind)
{
    for (const int *start = expression_starts; *start; start++)
        if (*start == kind) return true;
    return false;
}

static bool is_infix(int kind)
{
    for (const int *operator= infix; *operator; operator++)
        if (*operator== kind && kind != TOK_BAD) return true;
    return kind == TOK_DOTDOT;
}

/* A value where a statement should begin. */
static bool report_thrown_away(Parser *p, Token found)
{
    if (!wants(p, TOK_LET) || !begins_expression(found.kind)) return false;
    Diag *diag = diag_error(p->build.diags, token_span(found), "value thrown away; this begins a new statement");
    bool joins = found.kind == TOK_MINUS || found.kind == TOK_LP || found.kind == TOK_LSQ;
    if (joins && found.flags & TOKEN_FIRST)
        diag_hint(p->build.diags, diag, "to go on with the line above, end that line with '%s'",
                  token_kind_name(found.kind));
    if (!joins) diag_hint(p->build.diags, diag, "name it with 'let', or remove it");
    return true;
}

static const char *const statement_words[] = {"let",   "var",    "if",       "while", "for", "match", "return",
                                              "fail",  "break",  "continue", "give",  "try", "with",  "spawn",
                                              "yield", "assert", "parallel", "race",  "mock"};
static const char *const declaration_words[] = {"import", "const",  "type", "error",    "enum",
                                                "tool",   "prompt", "fn",   "workflow", "test"};

/* Words of other languages, and ours. */
static const struct {
    const char *theirs, *ours;
} foreign_words[] = {
    {"switch", "match"}, {"throw", "fail"},   {"raise", "fail"},  {"await", "yield"},
    {"def", "fn"},       {"func", "fn"},      {"function", "fn"}, {"struct", "type"},
    {"class", "type"},   {"elif", "else if"}, {"until", "while"}, {"async", "workflow"},
};

static const char *suggest_word(const Parser *p, Token token, const char *const *words, size_t count)
{
    const char *text = text_of(p, token);
    for (size_t i = 0; i < sizeof foreign_words / sizeof foreign_words[0]; i++) {
        const char *theirs = foreign_words[i].theirs;
        if (strlen(theirs) == token.len && memcmp(theirs, text, token.len) == 0) return foreign_words[i].ours;
    }
    return diag_nearest(text, token.len, words, count);
}

static void report_unknown(Parser *p, Token word, const char *what, const char *suggestion)
{
    if (suggestion) {
        diag_error(p->build.diags, token_span(word), "unknown %s; did you mean '%s'?", what, suggestion);
    } else {
        diag_error(p->build.diags, token_span(word), "unknown %s '%.*s'", what, (int)word.len, text_of(p, word));
    }
}

/* The index of the token a statement began with, going back from `index` over one line. */
static uint32_t line_start(const Parser *p, uint32_t index)
{
    while (index > 0 && !(token_at(p, index).flags & TOKEN_FIRST)) {
        int before = token_at(p, index - 1).kind;
        if (before == TOK_LBRACE || before == TOK_NL || before == TOK_FATARROW || before == TOK_RBRACE) break;
        index--;
    }
    return index;
}

/* `whlie x {`, `brek`, `a.b` alone: what stands on the stack is a path, and nothing assigns to it or calls it. */
static bool report_bare_path(Parser *p, Token found)
{
    if (!wants(p, TOK_PLUSEQ) || p->at == 0) return false;
    uint32_t start = line_start(p, p->at - 1);
    Token first = token_at(p, start);
    bool alone = start + 1 == p->at,
         ended = found.flags & TOKEN_FIRST || found.kind == TOK_RBRACE || found.kind == 0 || found.kind == TOK_NL;
    const char *word =
        alone ? suggest_word(p, first, statement_words, sizeof statement_words / sizeof statement_words[0]) : NULL;
    if (alone && (word || !(ended || is_infix(found.kind)))) {
        report_unknown(p, first, "statement", word);
        return true;
    }
    if (!ended && !is_infix(found.kind)) return false;
    Span span = span_join(token_span(first), token_span(token_at(p, p->at - 1)));
    Diag *diag = diag_error(p->build.diags, span, "value thrown away; only a call or an assignment stands alone");
    if (found.kind == TOK_EQ) diag_hint(p->build.diags, diag, "'==' compares; use '=' to assign");
    return true;
}

/* `whlie (x) {` and `f() + 1`: a call that goes on as no call does. */
static bool report_odd_call(Parser *p, Token found)
{
    if (!wants(p, TOK_NL) || !wants(p, TOK_DOT) || wants(p, TOK_OR) || p->at == 0) return false;
    uint32_t start = line_start(p, p->at - 1);
    Token first = token_at(p, start);
    if (found.kind == TOK_LBRACE && first.kind == TOK_ID) {
        const char *word = suggest_word(p, first, statement_words, sizeof statement_words / sizeof statement_words[0]);
        if (word) report_unknown(p, first, "statement", word);
        return word != NULL;
    }
    if (!is_infix(found.kind)) return false;
    diag_error(p->build.diags, token_span(found), "value thrown away; only a call or an assignment stands alone");
    return true;
}

static bool report_outside(Parser *p, Token found)
{
    if (!wants(p, TOK_WORKFLOW) || wants(p, TOK_LET)) return false;
    if (found.kind == TOK_ID) {
        report_unknown(
            p, found, "declaration",
            suggest_word(p, found, declaration_words, sizeof declaration_words / sizeof declaration_words[0]));
        return true;
    }
    bool closer = found.kind == TOK_RBRACE || found.kind == TOK_RP || found.kind == TOK_RSQ;
    if (closer)
        diag_error(p->build.diags, token_span(found), "unexpected '%s'; no bracket is open here",
                   token_kind_name(found.kind));
    if (closer) return true;
    Diag *diag = diag_error(p->build.diags, token_span(found), "unexpected '%.*s'; expected a declaration",
                            (int)found.len, text_of(p, found));
    bool value = found.kind == TOK_LET || found.kind == TOK_VAR;
    diag_hint(p->build.diags, diag,
              value ? "outside of workflows and functions only 'const' names a value"
                    : "statements stand in a 'workflow' or a 'fn'");
    return true;
}

static bool report_inner_declaration(Parser *p, Token found)
{
    bool keyword = (found.kind == TOK_WORKFLOW || found.kind == TOK_FN) && wants(p, TOK_LET);
    bool word = p->at > 0 && wants(p, TOK_PLUSEQ) && parse_begins_declaration(p, p->at - 1);
    if (!keyword && !word) return false;
    Token shown = keyword ? found : token_at(p, p->at - 1);
    diag_error(p->build.diags, token_span(shown), "'%s' stands only at the top of a file, outside of all braces",
               token_kind_name(shown.kind));
    return true;
}

static const char *describe(const Parser *p, Token found)
{
    if (found.kind == 0 || found.kind == TOK_STR_BEG || found.kind == TOK_STR_END || found.kind == TOK_STR_PART)
        return token_kind_name(found.kind);
    return arena_printf(p->build.arena, "'%.*s'", found.len > 40 ? 40 : (int)found.len, text_of(p, found));
}

static void report_unexpected(Parser *p, Token found)
{
    Expected *expected = arena_new(p->build.arena, Expected);
    list_expected(p, expected);
    const Open *open = find_open_bracket(p, found);
    const char *tail = "";
    Span bracket = {0, 0};
    if (open) {
        bracket = token_span(token_at(p, open->token));
        LineCol where = source_line_col(p->build.sources, bracket.off);
        tail = arena_printf(p->build.arena, "; the bracket opened at %u:%u is still open", where.line, where.col);
    }
    bool known = expected->text[0];
    Diag *diag = diag_error(p->build.diags, token_span(found), "unexpected %s%s%s%s", describe(p, found),
                            known ? "; expected " : "", expected->text, tail);
    if (open) diag_other(p->build.diags, diag, bracket, "opened here");
    if (found.kind == TOK_QUEST) diag_hint(p->build.diags, diag, "a choice is written 'if c { a } else { b }'");
}

void parse_report(Parser *p)
{
    Token found = token_at(p, p->at);
    if (report_stray_clause(p, found) || report_inner_yield(p, found) || report_inner_declaration(p, found)) return;
    if (report_reserved(p, found) || report_assign(p, found) || report_outside(p, found)) return;
    if (report_thrown_away(p, found) || report_bare_path(p, found) || report_odd_call(p, found)) return;
    report_unexpected(p, found);
}

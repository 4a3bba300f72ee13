/* parse_expect.c: the list of what the automaton would take next.
 *
 * Every kind of token is asked for, so the list is exact. Sets that start one thing are named as that thing; what
 * may follow nearly everything (operators, '.', '(') is left out unless nothing else could come. */
#include "parse_internal.h"

#include <string.h>

#include "grammar.h"

enum { TOKEN_KINDS = 128, LIST_MAX = 600 };

typedef struct Expected {
    bool kinds[TOKEN_KINDS];        /* by kind: taken, and not yet named as part of a set */
    const char *names[TOKEN_KINDS]; /* what will be printed, in order */
    /* by name: a word or mark as it is written, and not a set */
    bool quoted[TOKEN_KINDS];
    uint32_t count;      /* of names */
    char text[LIST_MAX]; /* the sentence; cut at a name when it would be longer */
} Expected;

static void name_class(Expected *expected, const char *name)
{
    CHECK(expected->count < TOKEN_KINDS);
    expected->quoted[expected->count] = false;
    expected->names[expected->count++] = name;
}

static void drop_kinds(Expected *expected, const int *kinds)
{
    for (; *kinds; kinds++) expected->kinds[*kinds] = false;
}

static const int expression_starts[] = {TOK_ID,    TOK_INT,  TOK_FLOAT, TOK_DUR, TOK_STR_BEG, TOK_TRUE,
                                        TOK_FALSE, TOK_NULL, TOK_LP,    TOK_LSQ, TOK_LBRACE,  TOK_MINUS,
                                        TOK_NOT,   TOK_IF,   TOK_JSON,  0};
static const int statement_starts[] = {TOK_ID,       TOK_LET,  TOK_VAR,   TOK_YIELD,  TOK_SPAWN,    TOK_IF,
                                       TOK_WHILE,    TOK_FOR,  TOK_MATCH, TOK_RETURN, TOK_FAIL,     TOK_BREAK,
                                       TOK_CONTINUE, TOK_GIVE, TOK_TRY,   TOK_WITH,   TOK_PARALLEL, TOK_RACE,
                                       TOK_ASSERT,   TOK_MOCK, TOK_NL,    0};
static const int declaration_starts[] = {TOK_IMPORT,  TOK_CONST,  TOK_TYPE, TOK_ERROR,    TOK_ENUM,
                                         TOK_TOOL,    TOK_PROMPT, TOK_FN,   TOK_WORKFLOW, TOK_TEST,
                                         TOK_SANDBOX, TOK_NL,     0};
static const int infix[] = {TOK_OR,  TOK_AND,      TOK_EQ,   TOK_NE,    TOK_LT,   TOK_LE,    TOK_GT,
                            TOK_GE,  TOK_COALESCE, TOK_PLUS, TOK_MINUS, TOK_STAR, TOK_SLASH, TOK_PERCENT,
                            TOK_DOT, TOK_QDOT,     TOK_LSQ,  TOK_LP,    0};
static const int policies[] = {TOK_RETRY, TOK_BACKOFF, TOK_TIMEOUT, TOK_ELSE, TOK_UNDO,
                               TOK_AS,    TOK_KEY,     TOK_APPROVE, 0};
static const int attributes[] = {TOK_PURE,    TOK_IDEMPOTENT, TOK_ONCE, TOK_DANGEROUS, TOK_LOCAL,
                                 TOK_PRIVATE, TOK_LIMIT,      TOK_RATE, TOK_SANDBOX,   0};
static const int pattern_starts[] = {TOK_ID,    TOK_INT,  TOK_FLOAT, TOK_DUR,  TOK_STR_BEG, TOK_TRUE,
                                     TOK_FALSE, TOK_NULL, TOK_MINUS, TOK_ELSE, TOK_NL,      0};

static void drop_all_words(Expected *expected)
{
    for (int kind = 1; kind < TOKEN_KINDS; kind++)
        if (kind == TOK_ID || (expected->kinds[kind] && token_kind_is_word(kind))) expected->kinds[kind] = false;
}

/* Replaces the sets that start one thing by its name. The order matters: larger sets hold the smaller ones. */
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
        /* the plus of ${+…} has a meaning in few strings */
        static const int roots[] = {TOK_YIELD, TOK_SPAWN, TOK_PARALLEL, TOK_RACE, TOK_PLUS, 0};
        drop_kinds(expected, roots);
    } else if (kinds[TOK_ID] && kinds[TOK_STR_BEG] && kinds[TOK_ELSE]) {
        name_class(expected, "a pattern");
        drop_kinds(expected, pattern_starts);
    }
    if (kinds[TOK_TASK]) {
        static const int type_starts[] = {TOK_TASK, TOK_ID, TOK_FN, TOK_TRUSTED, TOK_UNTRUSTED, 0};
        name_class(expected, "a type");
        drop_kinds(expected, type_starts);
    }
}

/* "an attribute (pure, once or rate)": few enough to be listed, and nobody can guess them. */
static const char *name_with_members(Arena *arena, const char *name, const int *kinds)
{
    const char *text = arena_printf(arena, "%s (", name);
    for (const int *kind = kinds; *kind; kind++) {
        const char *mark = kind == kinds ? "" : kind[1] ? ", " : " or ";
        text = arena_printf(arena, "%s%s%s", text, mark, token_kind_name(*kind));
    }
    return arena_printf(arena, "%s)", text);
}

const char *parse_nearest_member(const Parser *p, const char *text, size_t len)
{
    const int *kinds = parse_wants(p, TOK_PURE) && parse_wants(p, TOK_ONCE)     ? attributes
                       : parse_wants(p, TOK_BACKOFF) && parse_wants(p, TOK_KEY) ? policies
                                                                                : NULL;
    const char *names[16];
    size_t count = 0;
    for (; kinds && kinds[count]; count++) names[count] = token_kind_name(kinds[count]);
    return diag_nearest(text, len, names, count);
}

/* What may follow nearly everything is said only when nothing else could. */
static void collapse_followers(Arena *arena, Expected *expected)
{
    const bool *kinds = expected->kinds;
    bool operators = kinds[TOK_OR];
    static const int postfix[] = {TOK_DOT, TOK_QDOT, TOK_LSQ, TOK_LP, 0},
                     argument_marks[] = {TOK_COLON, TOK_FATARROW, 0};
    static const int type_marks[] = {TOK_QUEST, TOK_LT, TOK_DOT, 0};
    if (operators) drop_kinds(expected, infix);
    if (kinds[TOK_NL] || kinds[TOK_GT] || kinds[TOK_FATARROW]) drop_kinds(expected, postfix);
    expected->kinds[TOK_QDOT] &= !kinds[TOK_DOT];
    if (kinds[TOK_DOT] && kinds[TOK_LSQ] && kinds[TOK_LP]) expected->kinds[TOK_DOT] = expected->kinds[TOK_LSQ] = false;
    if (kinds[TOK_QUEST] && (kinds[TOK_ASSIGN] || kinds[TOK_GT] || kinds[TOK_COMMA] || kinds[TOK_NL]))
        drop_kinds(expected, type_marks);
    if (kinds[TOK_COMMA] && kinds[TOK_RP]) drop_kinds(expected, argument_marks);
    if (kinds[TOK_BACKOFF] && kinds[TOK_KEY]) {
        name_class(expected, name_with_members(arena, "a policy", policies));
        drop_kinds(expected, policies);
    }
    if (kinds[TOK_PURE] && kinds[TOK_ONCE]) {
        name_class(expected, name_with_members(arena, "an attribute", attributes));
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

static bool holds(const int *kinds, int kind)
{
    while (*kinds && *kinds != kind) kinds++;
    return *kinds != 0;
}

bool parse_begins_expression(int kind)
{
    return holds(expression_starts, kind);
}

bool parse_is_infix(int kind)
{
    return holds(infix, kind) || kind == TOK_DOTDOT;
}

/* "a, b or c" of everything the automaton would take next; empty when it would take nothing that can be named. */
const char *parse_list_expected(const Parser *p)
{
    Expected *expected = arena_new(p->build.arena, Expected);
    CHECK(grammar_kind_count <= TOKEN_KINDS);
    for (int kind = 1; kind < grammar_kind_count; kind++)
        expected->kinds[kind] = kind != TOK_BAD && grammar_wants(p->automaton, kind);
    collapse_sets(expected);
    collapse_followers(p->build.arena, expected);
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
    return expected->text;
}

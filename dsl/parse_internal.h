/* parse_internal.h: what the parts of the parser share: the driver (parse.c), the words for its errors
 * (parse_error.c) and the checks on the finished tree (syntax.c). */
#ifndef DSL_PARSE_INTERNAL_H
#define DSL_PARSE_INTERNAL_H

#include "ast_build.h"
#include "bug.h"
#include "grammar_probe.h"
#include "parse.h"

enum {
    BRACKET_MAX = 200, /* brackets open at once */
    /* symbols on the automaton's stack: bounds `else if` and `!` chains, which need no brackets */
    STACK_MAX = 3000,
};

/* An open bracket: one of ( [ { ${. */
typedef struct Open {
    uint32_t token; /* its index */
    uint32_t depth; /* how many symbols lay under it on the automaton's stack */
    bool list;      /* a '{' around lines: statements, fields, arms, bodies */
} Open;

typedef struct Parser {
    Build build;
    BugPlace place; /* of the token at hand, for a failed check */
    void *automaton;
    TokenList tokens;
    /* the lexer's errors, until it is known which are in text that was skipped */
    DiagList lexical;
    TokenTrace *trace; /* what the automaton took is noted here, or NULL */
    Diag *heard;       /* the first of them not yet passed */
    uint32_t at;       /* index of the next token */
    Open opens[BRACKET_MAX];
    uint32_t open_count;
    /* index of the token recovery last started at, once failed_once is set: a mistake there is reported */
    uint32_t last_recovery;
    uint32_t mistake_off; /* global offset of the token there */
    bool failed_once;
    /* the automaton has taken a token since the last recovery */
    bool resumed;
    bool stopped; /* a limit was passed; nothing more is read */
} Parser;

/* Whether the automaton would take this kind of token next. `wants` means the word itself, `takes` accepts it as a
 * name too. */
static inline bool parse_takes(const Parser *p, int kind)
{
    return grammar_takes(p->automaton, kind);
}

static inline bool parse_wants(const Parser *p, int kind)
{
    return grammar_wants(p->automaton, kind);
}

/* Beyond the last token, which is the end of the file, it is that again. */
static inline Token parse_token(const Parser *p, uint32_t index)
{
    uint32_t last = p->tokens.count - 1;
    return p->tokens.items[index < last ? index : last];
}

/* parse.c */
void parse_feed_newline(Parser *p);
void parse_report_depth(Parser *p, Token token, const char *what, uint32_t limit);
bool parse_is_opener(int kind);
bool parse_is_closer(int kind);

/* parse_recover.c */

/* The token at p->at is not taken: reports it, unless it belongs to a mistake already reported, and skips to where
 * reading can continue. */
void parse_fail(Parser *p);

/* A declaration at the left edge inside braces, or the end of the file there: a '}' is missing before it. */
bool parse_brace_is_missing(const Parser *p);
void parse_close_missing_braces(Parser *p);

/* A statement at the beginning of a line where arms, fields or bodies are listed, no deeper than their '{': theirs
 * is missing. */
bool parse_list_is_unclosed(const Parser *p);
void parse_close_list(Parser *p);

/* Closes every open brace, as if the missing ones were before p->at. */
void parse_close_braces(Parser *p);

/* Hands on the lexer's errors before `until`, or forgets them when the text there was skipped for another mistake. */
void parse_pass_lexical(Parser *p, uint32_t until, bool keep);

/* parse_error.c */

/* Reports the token at p->at, which the automaton does not take. */
void parse_report(Parser *p);

/* Says that a '{' is never closed, noticed at p->at; `innermost` is the index of the last one open. */
void parse_report_unclosed(Parser *p, uint32_t innermost);

/* "a, b or c": everything the automaton would take next. */
/* The attribute or policy that was perhaps meant, where one may be; else NULL. */
const char *parse_nearest_member(const Parser *p, const char *text, size_t len);
const char *parse_list_expected(const Parser *p);
bool parse_begins_expression(int kind);
bool parse_is_infix(int kind);

/* Does the token at `index` start a declaration, judging by the token behind it? */
bool parse_begins_declaration(const Parser *p, uint32_t index);

/* Where the line of a token starts: bytes before its first character that is not blank. */
uint32_t parse_indent_of(const Parser *p, uint32_t index);

/* Reports what the grammar lets pass and language.md does not. */
void syntax_check(const Build *b, const Module *module);

#endif

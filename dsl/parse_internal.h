/* parse_internal.h: what the parts of the parser share: the driver (parse.c), the words for its errors (parse_error.c) and the checks
 * on the finished tree (syntax.c). */
#ifndef DSL_PARSE_INTERNAL_H
#define DSL_PARSE_INTERNAL_H

#include "ast_build.h"
#include "grammar_probe.h"

enum {
    BRACKET_MAX = 200, /* brackets open at once */
    STACK_MAX = 3000,  /* symbols on the automaton's stack: bounds `else if` and `!` chains, which need no brackets */
};

/* An open bracket: one of ( [ { ${. */
typedef struct Open {
    uint32_t token; /* its index */
    uint32_t depth; /* how many symbols lay under it on the automaton's stack */
    bool list;      /* a '{' around lines: statements, fields, arms, bodies */
} Open;

typedef struct Parser {
    Build build;
    void *automaton;
    TokenList tokens;
    uint32_t at; /* index of the next token */
    Open opens[BRACKET_MAX];
    uint32_t open_count;
    uint32_t
        last_recovery; /* index of the token recovery last began at, once failed_once is set: a mistake there is reported */
    bool failed_once;
    bool resumed; /* the automaton has taken a token since the last recovery */
    bool stopped; /* a limit was passed; nothing more is read */
} Parser;

/* Says what is wrong with the token at p->at, which the automaton does not take. */
void parse_report(Parser *p);

/* Says that a '{' is never closed, noticed at p->at. */
void parse_report_unclosed(Parser *p);

/* "a, b or c": everything the automaton would take next. */
const char *parse_list_expected(const Parser *p);
bool parse_begins_expression(int kind);
bool parse_is_infix(int kind);

/* Does the token at `index` begin a declaration, judging by the token behind it? */
bool parse_begins_declaration(const Parser *p, uint32_t index);

/* Where the line of a token begins: bytes before its first character that is not blank. */
uint32_t parse_indent_of(const Parser *p, uint32_t index);

/* Reports what the grammar lets pass and language.md does not. */
void syntax_check(const Build *b, const Module *module);

#endif

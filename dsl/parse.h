/* parse.h: from text to tree. */
#ifndef DSL_PARSE_H
#define DSL_PARSE_H

#include "ast.h"
#include "diag.h"
#include "token.h"

/* Parses one file. Never NULL: after mistakes, which are in diags, the tree holds what could be understood, with
 * EX_BAD and ST_BAD where something could not. */
Module *parse_module(SourceSet *sources, Source *source, Arena *arena, DiagList *diags);

/* Whether a word can never be a name. ('task' can, where no rule wants the word itself.) */
bool parse_word_is_reserved(const char *text, size_t len);

/* The tokens as the parser took them, in the compilation's arena: TOK_NL only where a statement really ended (of
 * length 0 unless it is a ';'), a '>=' or '??' inside a type in its two halves, and TOKEN_LIST at each '{' around
 * lines. */
typedef struct TokenTrace {
    Token *items;
    uint32_t count, cap;
} TokenTrace;

/* parse_module that also fills a trace; it means something only where diags got no error. */
Module *parse_module_traced(SourceSet *sources, Source *source, Arena *arena, DiagList *diags, TokenTrace *trace);

/* The tree as indented text: what `tfyc --dump ast` prints. */
void ast_dump(const Module *module, FILE *out);

#endif

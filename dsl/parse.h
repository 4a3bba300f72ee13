/* parse.h: from text to tree. */
#ifndef DSL_PARSE_H
#define DSL_PARSE_H

#include "ast.h"
#include "diag.h"

/* Parses one file. Never NULL: after mistakes, which are in diags, the tree holds what could be understood, with EX_BAD and ST_BAD
 * where something could not. */
Module *parse_module(SourceSet *sources, Source *source, Arena *arena, DiagList *diags);

/* Can a word never be a name? ('task' can, where no rule wants the word itself.) */
bool parse_word_is_reserved(const char *text, size_t len);

/* The tree as indented text: what `tfyc --dump ast` prints. */
void ast_dump(const Module *module, FILE *out);

#endif

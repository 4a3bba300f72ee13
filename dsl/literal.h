/* literal.h: what numbers and strings mean. */
#ifndef DSL_LITERAL_H
#define DSL_LITERAL_H

#include "ast_build.h"

/* Values of INT and DUR tokens; 0 after a reported mistake. Durations are milliseconds. */
int64_t literal_int(Build *b, Token token);
int64_t literal_duration(Build *b, Token token);

/* Fills value and text of a literal's node. */
void literal_fill(Build *b, Expr *expr, Token token);

/* 9223372036854775808 has a meaning only behind a minus. */
bool literal_is_least_int(const Expr *expr);
Expr *literal_negate(Build *b, Span minus, Expr *literal);

/* Takes the common indentation out of the raw parts of a """ block, with its first and last line when they are
 * blank. */
void literal_dedent(Build *b, ExprList *parts);

/* Decodes escapes in the raw parts and drops empty ones. Returns the first part. */
Expr *literal_decode(Build *b, ExprList parts);

/* A string that nobody wrote: text is copied; span is where messages about it point. */
Expr *literal_made(Arena *arena, const char *text, Span span);

/* The same string when it holds no interpolation; otherwise reports that `what` cannot hold one, and keeps its text. */
Expr *literal_plain(Build *b, Expr *string, const char *what);

#endif

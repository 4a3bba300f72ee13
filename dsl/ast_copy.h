/* ast_copy.h: copies of a fn as it was written, without what the checker found out about the original.
 *
 * A generic fn is checked and compiled once for each use that gives it other types, so each use has a tree of its
 * own. Only what a fn without mistakes can hold is copied: no steps, no try, no tasks. */
#ifndef DSL_AST_COPY_H
#define DSL_AST_COPY_H

#include "arena.h"
#include "ast.h"

/* Name, result, doc and body; it has no parameters yet. */
Decl *ast_copy_fn(Arena *arena, const Decl *from);
Field *ast_copy_param(Arena *arena, const Field *from);

#endif

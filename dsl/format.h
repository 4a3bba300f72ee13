/* format.h: the one way a program is written.
 *
 * The text is printed anew from the tree and the tokens the parser took: 4 blanks for each level, one statement a
 * line, one blank around operators, at most 100 columns where that is possible. Never changed: comments, the
 * spelling of literals (1_000, 0xff, strings and everything in them). Kept where the author chose it: one blank line
 * between statements; a block, a list or arguments on one line or on several; line breaks before policies, operators
 * and methods. What is too long is broken: policies first, then the outermost brackets that do not fit, then all
 * operators of the loosest kind. Formatting twice gives the same as formatting once. */
#ifndef DSL_FORMAT_H
#define DSL_FORMAT_H

#include "diag.h"

enum { FORMAT_COLUMNS = 100, FORMAT_INDENT = 4 };

/* The canonical text of a source, in the arena and NUL-terminated; *len gets its bytes. A pure function of the text:
 * nothing is read or written elsewhere. NULL with errors in diags when the text cannot be parsed; NULL without
 * errors when the result would not be the same program, which is a mistake of the formatter: the text must be left
 * alone. */
char *format_source(SourceSet *sources, Source *source, Arena *arena, DiagList *diags, size_t *len);

#endif

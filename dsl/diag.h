/* diag.h: what the compiler tells people.
 *
 * Errors are collected, sorted by position, printed with the source line and a caret span, and answered with exit
 * status 65. One mistake gives one error: a pass that meets a node an earlier error already covers stays silent. */
#ifndef DSL_DIAG_H
#define DSL_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "../runtime/base/list.h"
#include "source.h"

typedef enum DiagLevel { DIAG_ERROR, DIAG_WARNING } DiagLevel;

typedef struct DiagPlace {
    Span span;
    const char *message; /* e.g. "declared here" */
    struct DiagPlace *next;
} DiagPlace;

typedef struct Diag {
    DiagLevel level;
    Span span; /* where; the caret line marks it */
    /* one sentence, no trailing full stop: what was found and what was expected */
    const char *message;
    const char *hint; /* what to do, or NULL */
    /* an edit that does exactly what the message or the hint says: `fix` in place of the text there; NULL: none */
    const char *fix;
    Span fix_span;
    LIST(DiagPlace) others; /* further places that explain the first, in the order in which they are told */
    bool unnecessary;       /* a warning: what it points at could be left out */
    struct Diag *next;
} Diag;

typedef struct DiagList {
    Arena *arena;
    const SourceSet *sources;
    Diag *first, *last;
    /* how many errors were reported, the ones above the limit included */
    uint32_t errors;
    uint32_t warnings;
    uint32_t limit; /* how many of each are kept; 50 */
} DiagList;

void diag_init(DiagList *list, Arena *arena, const SourceSet *sources);

/* Reports an error, or a warning, which does not stop the compilation. The result may be decorated with diag_hint
 * and diag_other; it is never NULL. */
Diag *diag_error(DiagList *list, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
Diag *diag_warning(DiagList *list, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_hint(DiagList *list, Diag *diag, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_other(DiagList *list, Diag *diag, Span span, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Says which edit mends it: the text, which the caller keeps, in place of the span (len 0: inserted there). The result
 * is the diag. */
Diag *diag_fix(Diag *diag, Span span, const char *text);
/* The same where the text replaces what the diag points at. */
Diag *diag_replace(Diag *diag, const char *text);

/* Makes errors of all warnings. */
void diag_deny_warnings(DiagList *list);

/* Takes over an error that was reported to another list of the same arena. */
void diag_adopt(DiagList *list, Diag *diag);

/* The one refusal of what a later version brings: "NAME is not supported yet". */
void diag_not_yet(DiagList *list, Span span, const char *what);

/* The candidate nearest to name (edit distance, case-insensitive prefix bonus) or NULL when none is near enough to
 * suggest. */
const char *diag_nearest(const char *name, size_t len, const char *const *candidates, size_t count);

/* Prints all of them in source order: "file:line:col: error: …", the line, carets, hint, second place. Colour only
 * when asked for. */
void diag_print(const DiagList *list, FILE *out, bool colour);

/* The same for programs: one JSON object a line, {file, line, col, end_line, end_col, message, severity, hint,
 * related: [{file, line, col, end_line, end_col, message}]}. Lines and columns count from 1, columns in code points;
 * the end is behind the last character; severity is "error" or "warning"; hint is left out where there is none. */
void diag_print_json(const DiagList *list, FILE *out);

#endif

/* body.h: bodies of requests, read strictly: what two readers could read in two ways is refused with its place. */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include "serve/problem.h"

enum { TFY_BODY_DEPTH = 128 }; /* how deep a body may nest */

/* The JSON object of a body; the caller owns it. NULL: problem says why not. Empty: an empty object. */
json_t *tfy__body_read(const char *text, size_t len, TfyProblem *problem);

/* A member of a known object. */
typedef struct TfyMemberOf {
    const char *name;
    json_type type; /* JSON_NULL: any value */
} TfyMemberOf;

/* Whether the object has no members but these, with these types; members ends with one without a name. Otherwise every
 * mistake is in problem->errors with its path, "$.labels". */
bool tfy__body_fits(const json_t *object, const TfyMemberOf *members, TfyProblem *problem);
/* Notes a mistake: ARGUMENTS, and {"path", "detail"} among its errors. Returns false. */
bool tfy__body_mistake(TfyProblem *problem, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

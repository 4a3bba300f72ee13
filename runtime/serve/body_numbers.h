/* body_numbers.h: numbers of a body that are beyond what its reader takes: integers of more than 64 bits, 1e999, NaN. They are
 * mistakes of the value that has them, and are told as such, with their paths; the rest of the body is not to blame. */
#ifndef SERVE_BODY_NUMBERS_H
#define SERVE_BODY_NUMBERS_H

#include <stddef.h>

#include "serve/problem.h"

/* The body, of at most TFY_BODY_DEPTH levels, with other numbers of the same length in their places. A large integer becomes a
 * float of nearly its value, which every type but float refuses. What no float is either is a mistake in problem->errors. The
 * caller owns it; NULL: memory ran out. */
char *tfy__body_tame(const char *text, size_t len, TfyProblem *problem);

#endif

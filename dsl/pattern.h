/* pattern.h: regular expressions in the source. */
#ifndef DSL_PATTERN_H
#define DSL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* False: error says where the pattern is wrong, and how. */
/* Whether a pattern that is correct matches all of a text. */
bool pattern_matches(const char *text, size_t len, const char *subject, size_t subject_len);

bool pattern_check(const char *text, size_t len, char *error, size_t error_size);

#endif

/* pattern.h: regular expressions in the source. */
#ifndef DSL_PATTERN_H
#define DSL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* False: error says where the pattern is wrong, and how. */
bool pattern_check(const char *text, size_t len, char *error, size_t error_size);

#endif

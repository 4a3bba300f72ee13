/* pattern.c: is a regular expression in the source correct? The runtime compiles it the same way
 * when it is used. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "pattern.h"

bool pattern_check(const char *text, size_t len, char *error, size_t error_size)
{
    int code;
    size_t at, points = 0;
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)text, len, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (compiled) {
        pcre2_code_free(compiled);
        return true;
    }
    for (size_t i = 0; i < at && i < len; i++) points += ((unsigned char)text[i] & 0xC0) != 0x80;
    int used = snprintf(error, error_size, "at character %zu: ", points);
    if (used > 0 && (size_t)used < error_size)
        pcre2_get_error_message(code, (PCRE2_UCHAR *)error + used, error_size - (size_t)used);
    return false;
}

/* pattern.c: is a regular expression in the source correct? The runtime compiles it the same way
 * when it is used. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "pattern.h"

static pcre2_code *compile(const char *text, size_t len, int *code, size_t *at)
{
    return pcre2_compile((PCRE2_SPTR)text, len, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, code, at, NULL);
}

bool pattern_matches(const char *text, size_t len, const char *subject, size_t subject_len)
{
    int code;
    size_t at;
    pcre2_code *compiled = compile(text, len, &code, &at);
    pcre2_match_data *match = compiled ? pcre2_match_data_create_from_pattern(compiled, NULL) : NULL;
    const uint32_t options = PCRE2_ANCHORED | PCRE2_ENDANCHORED;
    const bool matches = match && pcre2_match(compiled, (PCRE2_SPTR)subject, subject_len, 0, options, match, NULL) > 0;
    pcre2_match_data_free(match);
    pcre2_code_free(compiled);
    return matches;
}

bool pattern_check(const char *text, size_t len, char *error, size_t error_size)
{
    int code;
    size_t at, points = 0;
    pcre2_code *compiled = compile(text, len, &code, &at);
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

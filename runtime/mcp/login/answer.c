/* answer.c: see answer.h. */
#include "mcp/login/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"

#define SHOWN_MOST 200 /* bytes of what an issuer says */

/* One byte of a form. Returns how many characters spell it; 0: none do. */
static size_t decode(const char *at, size_t left, char *out)
{
    *out = *at == '+' ? ' ' : *at;
    if (*at != '%') return *at ? 1 : 0;
    const int high = left > 2 ? tfy__hex_digit(at[1]) : -1, low = left > 2 ? tfy__hex_digit(at[2]) : -1;
    if (high < 0 || low < 0) return 0;
    *out = (char)(high << 4 | low);
    return *out ? 3 : 0;
}

static bool decode_value(const char *text, size_t len, char out[TFY_ANSWER_MOST])
{
    size_t used = 0;
    for (size_t at = 0, step; at < len; at += step) {
        if (used + 1 == TFY_ANSWER_MOST) return false;
        step = decode(text + at, len - at, out + used);
        if (!step) return false;
        used++;
    }
    out[used] = '\0';
    return true;
}

/* Where the value of a name belongs; NULL: it does not count. */
static char *place_of(TfyLoginAnswer *answer, const char *name, size_t len)
{
    char *const places[] = {answer->code, answer->state, answer->iss, answer->error, answer->error_description};
    static const char *const names[] = {"code", "state", "iss", "error", "error_description"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) return places[i];
    return NULL;
}

static bool take(TfyLoginAnswer *answer, const char *pair, size_t len)
{
    const char *equals = memchr(pair, '=', len);
    const size_t name_len = equals ? (size_t)(equals - pair) : len;
    char *place = place_of(answer, pair, name_len);
    if (!place) return true;
    const bool twice = *place || (place == answer->iss && answer->has_iss);
    if (place == answer->iss) answer->has_iss = true;
    return !twice && equals && decode_value(equals + 1, len - name_len - 1, place);
}

bool tfy__login_answer_read(const char *query, size_t len, TfyLoginAnswer *answer)
{
    memset(answer, 0, sizeof *answer);
    while (len) {
        const char *end = memchr(query, '&', len);
        const size_t one = end ? (size_t)(end - query) : len, step = end ? one + 1 : one;
        if (!take(answer, query, one)) return false;
        query += step;
        len -= step;
    }
    return true;
}

void tfy__login_answer_wrong(const TfyLoginAnswer *answer, const char *state, const char *issuer, bool says_issuer,
                             char *why)
{
    *why = '\0';
    if (strcmp(answer->state, state) != 0)
        snprintf(why, TFY_ERROR_TEXT, "the browser brought an answer to another login (its state differs)");
    else if (answer->has_iss && strcmp(answer->iss, issuer) != 0)
        snprintf(why, TFY_ERROR_TEXT, "the answer comes from another issuer: %.*s, not %.*s", SHOWN_MOST, answer->iss,
                 SHOWN_MOST, issuer);
    else if (!answer->has_iss && says_issuer)
        snprintf(why, TFY_ERROR_TEXT, "the answer does not say which issuer it comes from, though %.*s promises that",
                 SHOWN_MOST, issuer);
    else if (*answer->error)
        snprintf(why, TFY_ERROR_TEXT, "%.*s refuses the login: %.60s%s%.*s", SHOWN_MOST, issuer, answer->error,
                 *answer->error_description ? ": " : "", SHOWN_MOST, answer->error_description);
    else if (!*answer->code)
        snprintf(why, TFY_ERROR_TEXT, "the answer of %.*s has no code", SHOWN_MOST, issuer);
}

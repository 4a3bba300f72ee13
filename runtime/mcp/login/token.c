/* token.c: see token.h. */
#include "mcp/login/token.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "mcp/login/challenge.h"

#define EXPIRES_MOST (INT64_C(10) * 366 * 86400) /* seconds; longer is not meant */

/* A token goes into a header as it is. */
static bool is_token(const json_t *json)
{
    const char *text = json_string_value(json);
    const size_t len = text ? strlen(text) : 0;
    if (!len || len > TFY_TOKEN_MOST || len != json_string_length(json)) return false;
    for (; *text; text++)
        if (*text <= ' ' || *text > '~') return false;
    return true;
}

static const char *wrong_in(const json_t *answer)
{
    const char *type = json_string_value(json_object_get(answer, "token_type"));
    const json_t *refresh = json_object_get(answer, "refresh_token"), *scope = json_object_get(answer, "scope");
    if (!json_is_object(answer)) return "it is not a JSON object";
    if (!type || strcasecmp(type, "Bearer") != 0) return "its tokens are not of the type Bearer";
    if (!is_token(json_object_get(answer, "access_token"))) return "it has no access token that a header can hold";
    if (refresh && !json_is_null(refresh) && !is_token(refresh)) return "its refresh token is not a text";
    if (scope && !json_is_null(scope) && (!json_is_string(scope) || !tfy__is_scope(json_string_value(scope))))
        return "its scope is not a list of names";
    return NULL;
}

static bool set_scope(json_t *entry, const json_t *said, const char *asked)
{
    const char *scope = json_is_string(said) ? json_string_value(said) : asked;
    return !scope || json_object_set_new(entry, "scope", json_stringn(scope, strnlen(scope, TFY_SCOPE_MOST - 1))) == 0;
}

static bool set_expiry(json_t *entry, const json_t *seconds, int64_t now_s)
{
    const double given = json_number_value(seconds);
    json_object_del(entry, "expires");
    if (!json_is_number(seconds) || !(given >= 0 && given <= (double)EXPIRES_MOST)) return true;
    return json_object_set_new(entry, "expires", json_integer(now_s + (int64_t)given)) == 0;
}

bool tfy__token_take(json_t *entry, const json_t *answer, const char *scope, int64_t now_s, char *why)
{
    const char *wrong = wrong_in(answer);
    json_t *refresh = json_object_get(answer, "refresh_token");
    if (wrong) {
        snprintf(why, TFY_ERROR_TEXT, "its answer cannot be used: %s", wrong);
        return false;
    }
    const bool kept = json_object_set(entry, "access", json_object_get(answer, "access_token")) == 0 &&
                      (!json_is_string(refresh) || json_object_set(entry, "refresh", refresh) == 0) &&
                      set_scope(entry, json_object_get(answer, "scope"), scope) &&
                      set_expiry(entry, json_object_get(answer, "expires_in"), now_s);
    if (!kept) snprintf(why, TFY_ERROR_TEXT, "memory ran out");
    return kept;
}

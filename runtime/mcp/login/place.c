/* place.c: see place.h. */
#include "mcp/login/place.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "effects/http_client.h"

static void lower(char *text)
{
    for (; text && *text; text++) *text = (char)tolower((unsigned char)*text);
}

/* An address in its parts, with its host in small letters; NULL: it is none. */
static CURLU *parts_of(const char *url)
{
    char *host = NULL;
    CURLU *parts = tfy__http_parse_url(url);
    if (parts && curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        lower(host);
        curl_url_set(parts, CURLUPART_HOST, host, 0);
    }
    curl_free(host);
    return parts;
}

/* "": it has none. Freed with curl_free. */
static char *part(CURLU *parts, CURLUPart which)
{
    char *text = NULL;
    const unsigned flags = which == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0;
    return curl_url_get(parts, which, &text, flags) == CURLUE_OK ? text : NULL;
}

char *tfy__place_canonical(const char *url)
{
    char *text = NULL, *copy = NULL;
    CURLU *parts = parts_of(url);
    if (!parts) return NULL;
    curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0);
    curl_url_set(parts, CURLUPART_USER, NULL, 0);
    curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
    if (curl_url_get(parts, CURLUPART_URL, &text, CURLU_NO_DEFAULT_PORT) == CURLUE_OK) copy = tfy__sys_strdup(text);
    curl_free(text);
    curl_url_cleanup(parts);
    return copy;
}

static bool is_local_host(const char *host)
{
    return host && (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
                    (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host)));
}

bool tfy__place_is_local(const char *url)
{
    CURLU *parts = parts_of(url);
    char *host = parts ? part(parts, CURLUPART_HOST) : NULL;
    const bool local = is_local_host(host);
    curl_free(host);
    curl_url_cleanup(parts);
    return local;
}

static const char *wrong_parts(CURLU *parts, bool local)
{
    char *scheme = part(parts, CURLUPART_SCHEME), *host = part(parts, CURLUPART_HOST);
    char *user = part(parts, CURLUPART_USER), *fragment = part(parts, CURLUPART_FRAGMENT);
    const bool here = is_local_host(host);
    const char *why = here && !local                                       ? "is on this machine"
                      : !scheme || (strcmp(scheme, "https") != 0 && !here) ? "is not an https address"
                      : user                                               ? "names a user"
                      : fragment                                           ? "has a fragment"
                                                                           : NULL;
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    curl_free(fragment);
    return why;
}

const char *tfy__place_wrong(const char *url, bool local)
{
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~') return "is not an address";
    const char *scheme_end = strstr(url, ":/"); /* libcurl reads addresses with one slash or three, too */
    CURLU *parts = scheme_end && scheme_end[2] == '/' && scheme_end[3] != '/' ? parts_of(url) : NULL;
    if (!parts) return "is not an http or https address";
    const char *why = wrong_parts(parts, local);
    curl_url_cleanup(parts);
    return why;
}

static bool same(CURLU *a, CURLU *b, CURLUPart which)
{
    char *one = part(a, which), *other = part(b, which);
    const bool equal = one && other && strcmp(one, other) == 0;
    curl_free(one);
    curl_free(other);
    return equal;
}

/* Whether a path is another or above it, by whole names. */
static bool is_above(CURLU *a, CURLU *b)
{
    char *above = part(a, CURLUPART_PATH), *path = part(b, CURLUPART_PATH);
    size_t len = above ? strlen(above) : 0;
    while (len && above[len - 1] == '/') len--;
    const bool is = above && path && strncmp(above, path, len) == 0 && (!path[len] || path[len] == '/');
    curl_free(above);
    curl_free(path);
    return is;
}

bool tfy__place_covers(const char *resource, const char *url)
{
    CURLU *a = parts_of(resource), *b = parts_of(url);
    const bool covers = a && b && same(a, b, CURLUPART_SCHEME) && same(a, b, CURLUPART_HOST) &&
                        same(a, b, CURLUPART_PORT) && is_above(a, b);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return covers;
}

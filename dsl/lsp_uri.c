/* lsp_uri.c: file: URIs and the paths they name. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lsp_internal.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "%41" is A; any other text is itself, and so is %00, which no path has. */
static void decode(char *to, const char *from)
{
    while (*from) {
        int high = *from == '%' ? hex_digit(from[1]) : -1, low = high >= 0 ? hex_digit(from[2]) : -1;
        if (low >= 0 && high + low > 0) {
            *to++ = (char)(high << 4 | low);
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

char *lsp_path_of_uri(const char *uri)
{
    if (strncasecmp(uri, "file://", 7) != 0) return NULL;
    const char *path = strchr(uri + 7, '/'); /* behind a host, which is this one */
    char *decoded = path ? malloc(strlen(path) + 1) : NULL;
    if (decoded) decode(decoded, path);
    return decoded;
}

json_t *lsp_uri_of_path(const char *path)
{
    static const char plain[] = "/-._~";
    char real[PATH_MAX], uri[sizeof "file://" + 3 * PATH_MAX], *to = uri + sprintf(uri, "file://");
    if (!realpath(path, real)) return json_sprintf("file:///%s", "unknown");
    for (const char *at = real; *at; at++) {
        if (isalnum((unsigned char)*at) || strchr(plain, *at))
            *to++ = *at;
        else
            to += sprintf(to, "%%%02X", (unsigned char)*at);
    }
    *to = 0;
    return json_string(uri);
}

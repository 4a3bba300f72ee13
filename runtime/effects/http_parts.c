/* http_parts.c: see http_parts.h. */
#include "effects/http_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "effects/http_client.h"
#include "effects/proxy_rules.h"

/* ---- headers ---- */

static bool is_header_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i]))) return false;
    return len > 0;
}

static bool is_header_value(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f) return false;
    return true;
}

/* The address says who is asked, and is what may be judged: another Host would be answered for another server. */
static bool is_host(const char *name, size_t len)
{
    return len == 4 && strncasecmp(name, "host", len) == 0;
}

static const char *text_of(TfyCall *call, TfySecrets *secrets, const TfyObj *string, size_t *len)
{
    const char *text = tfy__secrets_fill(secrets, call, string, len);
    if (!text) tfy__secrets_fail(call, secrets);
    return text;
}

/* curl reads "Name:" as "send no such header" and "Name;" as an empty one. */
char *tfy__http_header_line(TfyCall *call, TfySecrets *secrets, const TfyObj *name, const TfyObj *value)
{
    size_t name_len, value_len;
    const char *left = text_of(call, secrets, name, &name_len);
    const char *right = left ? text_of(call, secrets, value, &value_len) : NULL;
    if (!right) return NULL;
    if (is_host(left, name_len)) {
        tfy__call_tool_error(call, EINVAL, "the header '%s' is not set: it comes from the address", left);
        return NULL;
    }
    if (!is_header_name(left, name_len) || !is_header_value(right, value_len)) {
        tfy__call_tool_error(call, EINVAL,
                             "the header '%.*s' is not valid: a name is one word, and a value has no line breaks or "
                             "control characters",
                             name_len > 60 ? 60 : (int)name_len, left);
        return NULL;
    }
    char *line = value_len ? tfy__sys_printf("%s: %s", left, right) : tfy__sys_printf("%s;", left);
    if (!line) tfy__call_starved(call);
    return line;
}

/* ---- addresses ---- */

bool tfy__http_is_within(TfyCall *call, const char *url, const char *what, bool *bounded)
{
    const char *ceiling = tfy__ceiling(call->task).network;
    TfyProxyTarget target;
    *bounded = ceiling && strcmp(ceiling, "any") != 0;
    if (!*bounded) return true;
    CURLU *parts = tfy__http_parse_url(url);
    char *host = NULL, *port = NULL, place[TFY_PROXY_TARGET_TEXT] = "";
    if (parts) curl_url_get(parts, CURLUPART_HOST, &host, 0);
    if (parts) curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    if (host && port) snprintf(place, sizeof place, "%s:%s", host, port);
    const bool within = tfy__proxy_target(place, strlen(place), 0, &target) && tfy__proxy_within(ceiling, &target);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    if (!within)
        tfy__call_tool_error(call, EACCES, "%s: '--network %s' does not allow %s", what, ceiling,
                             *place ? place : "this address");
    return within;
}

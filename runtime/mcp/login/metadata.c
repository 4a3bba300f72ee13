/* metadata.c: see metadata.h. */
#include "mcp/login/metadata.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys_memory.h"
#include "mcp/login/place.h"

#define SHOWN_MOST 200 /* bytes of what a document says, in an error */

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TFY_ERROR_TEXT, format, args);
    va_end(args);
    return false;
}

/* A text without a NUL in it; NULL: it is none. */
static const char *text_of(const json_t *json)
{
    const char *text = json_string_value(json);
    return text && strlen(text) == json_string_length(json) && strlen(text) < TFY_ADDRESS_MOST ? text : NULL;
}

bool tfy__list_has(const json_t *list, const char *text)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *one = text_of(item);
        if (one && strcmp(one, text) == 0) return true;
    }
    return false;
}

/* ---- places ---- */

void tfy__places_free(TfyPlaces *places)
{
    for (int i = 0; i < places->count; i++) free(places->url[i]);
    places->count = 0;
}

static void add(TfyPlaces *places, char *url)
{
    if (url) places->url[places->count++] = url;
}

/* The bytes of an address up to its path; what follows is its path, without slashes at its end. */
static int split(const char *url, const char **path, int *path_len)
{
    const char *host = strstr(url, "://"), *slash = host ? strpbrk(host + 3, "/?#") : NULL;
    *path = slash && *slash == '/' ? slash : "";
    *path_len = (int)strcspn(*path, "?#");
    while (*path_len && (*path)[*path_len - 1] == '/') --*path_len;
    return slash ? (int)(slash - url) : (int)strlen(url);
}

void tfy__resource_places(const char *url, const char *named, TfyPlaces *places)
{
    static const char known[] = "/.well-known/oauth-protected-resource";
    const char *path;
    int path_len;
    const int origin = split(url, &path, &path_len);
    *places = (TfyPlaces){.count = 0};
    if (*named) {
        add(places, tfy__sys_strdup(named));
        return;
    }
    if (path_len) add(places, tfy__sys_printf("%.*s%s%.*s", origin, url, known, path_len, path));
    add(places, tfy__sys_printf("%.*s%s", origin, url, known));
}

bool tfy__issuer_places(const char *issuer, bool local, TfyPlaces *places, char *why)
{
    const char *path, *wrong = tfy__place_wrong(issuer, local);
    int len;
    *places = (TfyPlaces){.count = 0};
    if (!wrong && strchr(issuer, '?')) wrong = "has a query";
    if (wrong) return refuse(why, "the issuer %.*s cannot be used: it %s", SHOWN_MOST, issuer, wrong);
    const int origin = split(issuer, &path, &len);
    add(places, tfy__sys_printf("%.*s/.well-known/oauth-authorization-server%.*s", origin, issuer, len, path));
    add(places, tfy__sys_printf("%.*s/.well-known/openid-configuration%.*s", origin, issuer, len, path));
    if (len) add(places, tfy__sys_printf("%.*s%.*s/.well-known/openid-configuration", origin, issuer, len, path));
    return places->count > 0 || refuse(why, "memory ran out");
}

/* ---- a server ---- */

/* All names, as far as they fit. */
static void join_scopes(const json_t *list, char scope[TFY_SCOPE_MOST])
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *name = text_of(item);
        if (name && tfy__is_scope(name)) (void)tfy__scope_add(scope, name);
    }
}

static bool are_texts(const json_t *list)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        if (!text_of(item)) return false;
    }
    return json_array_size(list) > 0;
}

bool tfy__resource_read(const json_t *document, const char *url, TfyResource *resource, char *why)
{
    *resource = (TfyResource){.resource = text_of(json_object_get(document, "resource")),
                              .issuers = json_object_get(document, "authorization_servers")};
    if (!resource->resource) return refuse(why, "it does not say for which server it is");
    if (tfy__place_wrong(resource->resource, tfy__place_is_local(url)) || !tfy__place_covers(resource->resource, url))
        return refuse(why, "it is for another server: %.*s", SHOWN_MOST, resource->resource);
    if (!are_texts(resource->issuers)) return refuse(why, "it does not say who lets people in");
    join_scopes(json_object_get(document, "scopes_supported"), resource->scope);
    return true;
}

/* ---- an issuer ---- */

/* An endpoint that may be used. NULL: there is none; why says what is wrong with it, if it is there. */
static const char *endpoint(const json_t *document, const char *name, bool local, char *why)
{
    const json_t *given = json_object_get(document, name);
    const char *url = text_of(given), *wrong = url ? tfy__place_wrong(url, local) : "is not an address";
    if (given && wrong) refuse(why, "its %s cannot be used: it %s", name, wrong);
    return wrong ? NULL : url;
}

static const json_t *list_in(const json_t *document, const char *name)
{
    const json_t *list = json_object_get(document, name);
    return json_is_array(list) ? list : NULL;
}

bool tfy__issuer_read(const json_t *document, const char *issuer, bool local, TfyIssuer *out, char *why)
{
    const char *named = text_of(json_object_get(document, "issuer"));
    *why = '\0';
    if (!named || strcmp(named, issuer) != 0)
        return refuse(why, "it is for another issuer: %.*s", SHOWN_MOST, named ? named : "it does not say which");
    *out = (TfyIssuer){.authorization = endpoint(document, "authorization_endpoint", local, why),
                       .token = endpoint(document, "token_endpoint", local, why),
                       .registration = endpoint(document, "registration_endpoint", local, why),
                       .methods = list_in(document, "token_endpoint_auth_methods_supported"),
                       .scopes = list_in(document, "scopes_supported"),
                       .documents = json_is_true(json_object_get(document, "client_id_metadata_document_supported")),
                       .says_issuer =
                           json_is_true(json_object_get(document, "authorization_response_iss_parameter_supported"))};
    if (*why) return false;
    if (!out->authorization) return refuse(why, "it has no authorization_endpoint");
    if (!out->token) return refuse(why, "it has no token_endpoint");
    if (!tfy__list_has(list_in(document, "code_challenge_methods_supported"), "S256"))
        return refuse(why, "it does not protect codes by PKCE with S256");
    return true;
}

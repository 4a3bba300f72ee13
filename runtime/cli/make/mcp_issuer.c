/* mcp_issuer.c: see mcp_issuer.h. */
#include "cli/make/mcp_issuer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cli.h"
#include "mcp/login/fetch.h"
#include "mcp/login/place.h"
#include "mcp/login/token.h"

void tfy__entering_free(TfyEntering *entering)
{
    free(entering->url);
    json_decref(entering->server_document);
    json_decref(entering->issuer_document);
}

/* One exchange, waited for. Returns the status; why as in tfy__fetch_ended. */
static long fetch(TfyFetch *what, const char *url, char *why)
{
    CURL *easy = curl_easy_init();
    long status = 0;
    snprintf(why, TFY_ERROR_TEXT, "cannot be asked: memory ran out");
    if (easy && tfy__fetch_set(what, easy, url)) status = tfy__fetch_ended(what, easy, curl_easy_perform(easy), why);
    curl_easy_cleanup(easy);
    return status;
}

/* ---- documents ---- */

/* The first document that there is; *document NULL: there is none. Any other answer than a 4xx is a failure. */
static int find(const TfyPlaces *places, json_t **document, const char **at)
{
    for (int i = 0; i < places->count && !*document; i++) {
        TfyFetch what = {.type = NULL};
        char why[TFY_ERROR_TEXT];
        const long status = fetch(&what, places->url[i], why);
        const bool absent = status >= 400 && status < 500;
        *at = places->url[i];
        if (!*why) *document = tfy__fetch_json(&what);
        if (!*why && !*document) snprintf(why, sizeof why, "answered what is not a JSON object");
        tfy__fetch_free(&what);
        if (*why && !absent) return tfy__fail(EXIT_DATA, "%s %s", places->url[i], why);
    }
    return EXIT_DONE;
}

int tfy__entering_server(TfyEntering *entering, bool *found)
{
    TfyPlaces places;
    const char *at = "", *named = entering->challenge.metadata;
    const char *wrong = *named ? tfy__place_wrong(named, entering->local) : NULL;
    char why[TFY_ERROR_TEXT];
    if (wrong)
        return tfy__fail(EXIT_DATA, "%s says that more about it is at %s, which cannot be used: it %s", entering->name,
                         named, wrong);
    tfy__resource_places(entering->url, named, &places);
    int status = find(&places, &entering->server_document, &at);
    *found = entering->server_document;
    if (status == EXIT_DONE && *found &&
        !tfy__resource_read(entering->server_document, entering->url, &entering->resource, why))
        status = tfy__fail(EXIT_DATA, "%s cannot be used: %s", at, why);
    tfy__places_free(&places);
    return status;
}

int tfy__entering_issuer(TfyEntering *entering, const char *wanted)
{
    TfyPlaces places;
    char why[TFY_ERROR_TEXT];
    const char *at = "";
    entering->issuer = json_string_value(json_array_get(entering->resource.issuers, 0));
    if (wanted && !tfy__list_has(entering->resource.issuers, wanted))
        return tfy__fail(EXIT_DATA, "%s does not let people in by %s, but by %s", entering->name, wanted,
                         entering->issuer);
    if (wanted) entering->issuer = wanted;
    if (!tfy__issuer_places(entering->issuer, entering->local, &places, why)) return tfy__fail(EXIT_DATA, "%s", why);
    int status = find(&places, &entering->issuer_document, &at);
    if (status == EXIT_DONE && !entering->issuer_document)
        status = tfy__fail(EXIT_DATA, "%s does not say how to log in: there is no %s", entering->issuer, at);
    else if (status == EXIT_DONE &&
             !tfy__issuer_read(entering->issuer_document, entering->issuer, entering->local, &entering->at, why))
        status = tfy__fail(EXIT_DATA, "%s cannot be used: %s", at, why);
    tfy__places_free(&places);
    return status;
}

/* ---- the client ---- */

/* How a client may show itself; the last one is for a client without a secret. */
enum { METHODS = 3 };
static const char *const methods[METHODS] = {"client_secret_basic", "client_secret_post", "none"};

const char *tfy__entering_method(const TfyIssuer *at, bool secret)
{
    if (!at->methods) return methods[secret ? 0 : METHODS - 1]; /* RFC 8414, 2 */
    for (int i = secret ? 0 : METHODS - 1; i < METHODS; i++)
        if (tfy__list_has(at->methods, methods[i])) return methods[i];
    return NULL;
}

static bool is_method(const char *method)
{
    for (int i = 0; i < METHODS; i++)
        if (strcmp(method, methods[i]) == 0) return true;
    return false;
}

/* The entry of a client that has registered. NULL: why says what is wrong with the answer. */
static json_t *client_of(const TfyIssuer *at, const json_t *answer, const char *redirect, char *why)
{
    const char *id = json_string_value(json_object_get(answer, "client_id"));
    const char *secret = json_string_value(json_object_get(answer, "client_secret"));
    const char *method = json_string_value(json_object_get(answer, "token_endpoint_auth_method"));
    const json_t *expires = json_object_get(answer, "client_secret_expires_at");
    if (!method) method = tfy__entering_method(at, secret);
    if (!id || !*id)
        snprintf(why, TFY_ERROR_TEXT, "answered without a client_id");
    else if (!method || !is_method(method) || (!secret && strcmp(method, "none") != 0))
        snprintf(why, TFY_ERROR_TEXT, "wants clients to show themselves in a way that is not known here");
    else {
        json_t *client = json_pack("{s:s, s:s, s:s}", "id", id, "method", method, "redirect", redirect);
        if (client && secret) json_object_set_new(client, "secret", json_string(secret));
        if (client && json_integer_value(expires) > 0) json_object_set(client, "expires", (json_t *)(uintptr_t)expires);
        if (!client) snprintf(why, TFY_ERROR_TEXT, "cannot be asked: memory ran out");
        return client;
    }
    return NULL;
}

int tfy__entering_register(const TfyEntering *entering, const char *redirect, json_t **client)
{
    char why[TFY_ERROR_TEXT];
    const TfyIssuer *at = &entering->at;
    const char *method = tfy__entering_method(at, false);
    if (!method) method = tfy__entering_method(at, true);
    TfyFetch what = {.type = TFY_FETCH_JSON};
    json_t *self = json_pack("{s:s, s:[s], s:[s, s], s:[s], s:s, s:s}", "client_name", "tfy", "redirect_uris", redirect,
                             "grant_types", "authorization_code", "refresh_token", "response_types", "code",
                             "token_endpoint_auth_method", method ? method : "none", "application_type", "native");
    char *text = self ? json_dumps(self, JSON_COMPACT) : NULL;
    tfy__buffer_text(&what.body, text ? text : "{}");
    fetch(&what, at->registration, why);
    json_t *answer = *why ? NULL : tfy__fetch_json(&what);
    if (!*why) *client = client_of(at, answer, redirect, why);
    json_decref(answer);
    json_decref(self);
    free(text);
    tfy__fetch_free(&what);
    return *client ? EXIT_DONE : tfy__fail(EXIT_DATA, "%s does not register this client: it %s", entering->issuer, why);
}

/* ---- the code ---- */

int tfy__entering_exchange(const TfyEntering *entering, const json_t *client, const char *code, const char *verifier,
                           const char *redirect, const char *scope, json_t **entry, bool *forget)
{
    char why[TFY_ERROR_TEXT];
    const char *resource = entering->resource.resource;
    TfyFetch what = {.type = NULL};
    tfy__fetch_add(&what, "grant_type", "authorization_code");
    tfy__fetch_add(&what, "code", code);
    tfy__fetch_add(&what, "code_verifier", verifier);
    tfy__fetch_add(&what, "redirect_uri", redirect);
    tfy__fetch_add(&what, "resource", resource);
    snprintf(why, sizeof why, "cannot be asked: memory ran out");
    if (tfy__fetch_show(&what, client)) fetch(&what, entering->at.token, why);
    *forget = *why && tfy__fetch_is_error(&what, "invalid_client");
    json_t *answer = *why ? NULL : tfy__fetch_json(&what);
    json_t *made = json_pack("{s:s, s:s, s:O}", "resource", resource, "endpoint", entering->at.token, "client", client);
    if (!*why && made && tfy__token_take(made, answer, scope, time(NULL), why)) *entry = json_incref(made);
    json_decref(made);
    json_decref(answer);
    tfy__fetch_free(&what);
    return *entry ? EXIT_DONE : tfy__fail(EXIT_DATA, "%s gave no token: %s", entering->issuer, why);
}

/* fuzz_mcp_login.c: what a login reads of strangers: WWW-Authenticate, the documents of a server and of an issuer, answers of a
 * token endpoint, and what the browser brings. The first byte of an input chooses. What is accepted can be used. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "mcp/login/answer.h"
#include "mcp/login/metadata.h"
#include "mcp/login/place.h"
#include "mcp/login/token.h"

#define SERVER "https://hub.example/mcp"
#define ISSUER "https://login.example/tenant"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_visible(const char *text)
{
    for (; *text; text++) CHECK(*text > ' ' && *text <= '~');
}

static void read_challenge(const char *text)
{
    TfyChallenge challenge, again;
    TfyPlaces places;
    char line[3 * TFY_ADDRESS_MOST];
    tfy__challenge_read(text, &challenge);
    check_visible(challenge.metadata);
    check_visible(challenge.error);
    CHECK(tfy__is_scope(challenge.scope));
    CHECK(challenge.bearer || (!*challenge.metadata && !*challenge.scope && !*challenge.error));
    if (strpbrk(challenge.metadata, "\"\\") || strpbrk(challenge.error, "\"\\")) return;
    snprintf(line, sizeof line, "Basic x, Bearer resource_metadata=\"%s\", scope=\"%s\" , error=\"%s\"",
             challenge.metadata, challenge.scope, challenge.error);
    tfy__challenge_read(line, &again);
    CHECK(strcmp(again.metadata, challenge.metadata) == 0 && strcmp(again.scope, challenge.scope) == 0);
    CHECK(strcmp(again.error, challenge.error) == 0);
    tfy__resource_places(SERVER, challenge.metadata, &places);
    CHECK(places.count >= 1 && places.count <= TFY_PLACES_MOST);
    tfy__places_free(&places);
}

static void read_resource(const json_t *document)
{
    TfyResource resource;
    TfyPlaces places;
    char why[TFY_ERROR_TEXT];
    if (!tfy__resource_read(document, SERVER, &resource, why)) return;
    CHECK(tfy__place_covers(resource.resource, SERVER) && json_array_size(resource.issuers));
    CHECK(tfy__is_scope(resource.scope) && strlen(resource.scope) < TFY_SCOPE_MOST);
    if (tfy__issuer_places(json_string_value(json_array_get(resource.issuers, 0)), false, &places, why))
        for (int i = 0; i < places.count; i++) CHECK(strncasecmp(places.url[i], "https://", 8) == 0);
    tfy__places_free(&places);
}

static void read_issuer(const json_t *document)
{
    TfyIssuer issuer;
    char why[TFY_ERROR_TEXT];
    if (!tfy__issuer_read(document, ISSUER, false, &issuer, why)) return;
    CHECK(!tfy__place_wrong(issuer.authorization, false) && !tfy__place_wrong(issuer.token, false));
    CHECK(!issuer.registration || !tfy__place_wrong(issuer.registration, false));
}

static void read_token(const json_t *answer)
{
    char why[TFY_ERROR_TEXT];
    json_t *entry = json_object();
    if (tfy__token_take(entry, answer, "read", 1000, why)) {
        const json_t *expires = json_object_get(entry, "expires");
        check_visible(json_string_value(json_object_get(entry, "access")));
        CHECK(tfy__is_scope(json_string_value(json_object_get(entry, "scope"))));
        CHECK(!expires || json_integer_value(expires) >= 1000);
    } else {
        CHECK(*why && json_object_size(entry) == 0);
    }
    json_decref(entry);
}

static void read_answer(const char *query, size_t len)
{
    TfyLoginAnswer *answer = malloc(sizeof *answer);
    char why[TFY_ERROR_TEXT];
    if (tfy__login_answer_read(query, len, answer)) {
        tfy__login_answer_wrong(answer, "s", ISSUER, true, why);
        CHECK(*why || (*answer->code && strcmp(answer->state, "s") == 0 && strcmp(answer->iss, ISSUER) == 0));
    }
    free(answer);
}

static void read_place(const char *text)
{
    char *canonical = tfy__place_canonical(text), *again = canonical ? tfy__place_canonical(canonical) : NULL;
    CHECK(!canonical || (again && strcmp(canonical, again) == 0));
    CHECK(tfy__place_wrong(text, false) || (canonical && !tfy__place_is_local(text)));
    CHECK(!canonical || tfy__place_covers(canonical, canonical));
    free(canonical);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (!len) return 0;
    char *text =
        strndup((const char *)data + 1, len - 1); /* of its own, so that a sanitizer sees what is read behind it */
    json_t *json = json_loadb((const char *)data + 1, len - 1, 0, NULL);
    switch (*data % 6) {
    case 0: read_challenge(text); break;
    case 1: read_resource(json); break;
    case 2: read_issuer(json); break;
    case 3: read_token(json); break;
    case 4: read_answer(text, strlen(text)); break;
    case 5: read_place(text); break;
    }
    json_decref(json);
    free(text);
    return 0;
}

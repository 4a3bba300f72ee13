/* mcp_login.c: what is read of strangers in a login at an MCP server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/login/answer.h"
#include "mcp/login/metadata.h"
#include "mcp/login/place.h"

static void challenges(void **state)
{
    TfyChallenge challenge;
    tfy__challenge_read(NULL, &challenge);
    assert_false(challenge.bearer);
    tfy__challenge_read("Bearer", &challenge);
    assert_true(challenge.bearer);
    tfy__challenge_read("Basic realm=\"a, Bearer scope=b\", bearer SCOPE = \"x y\" ,error=invalid_token", &challenge);
    assert_string_equal(challenge.scope, "x y");
    assert_string_equal(challenge.error, "invalid_token");
    tfy__challenge_read("Negotiate abc+/==, Bearer resource_metadata=\"https://a.example/\\m\", scope=\"z\"",
                        &challenge);
    assert_string_equal(challenge.metadata, "https://a.example/m");
    assert_string_equal(challenge.scope, "z");
    tfy__challenge_read("DPoP scope=\"a\", Bearer scope=\"b\", DPoP scope=\"c\", Bearer scope=\"d\", error=\"e\"",
                        &challenge);
    assert_string_equal(challenge.scope, "b");
    assert_string_equal(challenge.error, "");
    tfy__challenge_read("Bearer scope=\"a\x01\", error=\"two words\", resource_metadata=\"https://a.example/ b\"",
                        &challenge);
    assert_string_equal(challenge.scope, "");
    assert_string_equal(challenge.error, "");
    assert_string_equal(challenge.metadata, "");
    tfy__challenge_read("Bearer scope=\"never closed", &challenge);
    assert_string_equal(challenge.scope, "never closed");
}

static void long_values(void **state)
{
    TfyChallenge challenge;
    char *text = malloc(20000);
    strcpy(text, "Bearer scope=\"");
    memset(text + 14, 'a', 9000);
    strcpy(text + 9014, "\", error=\"invalid_token\"");
    tfy__challenge_read(text, &challenge);
    assert_string_equal(challenge.scope, "");
    assert_string_equal(challenge.error, "invalid_token");
    free(text);
}

static void scopes(void **state)
{
    char scope[TFY_SCOPE_MOST] = "";
    assert_true(tfy__scope_add(scope, " read  write "));
    assert_true(tfy__scope_add(scope, "write read:all"));
    assert_string_equal(scope, "read write read:all");
    tfy__scope_lacks("read", "read write write", scope);
    assert_string_equal(scope, "write");
    bool fits = true;
    for (int i = 0; fits; i++) {
        char name[32];
        snprintf(name, sizeof name, "name%d", i);
        fits = tfy__scope_add(scope, name);
    }
    assert_true(strlen(scope) < TFY_SCOPE_MOST);
}

static const char *canonical(const char *url)
{
    static char kept[256];
    char *text = tfy__place_canonical(url);
    snprintf(kept, sizeof kept, "%s", text ? text : "none");
    free(text);
    return kept;
}

static void places(void **state)
{
    assert_string_equal(canonical("HTTPS://ann:x@Hub.Example:443/a/../mcp?x=1#y"), "https://hub.example/mcp?x=1");
    assert_string_equal(canonical("http://localhost:8080"), "http://localhost:8080/");
    assert_string_equal(canonical("ftp://a.example"), "none");
    assert_null(tfy__place_wrong("https://a.example/x?y=1", false));
    assert_null(tfy__place_wrong("http://127.0.0.1:1/x", true));
    assert_null(tfy__place_wrong("http://[::1]:1/x", true));
    assert_string_equal(tfy__place_wrong("http://127.0.0.1:1/x", false), "is on this machine");
    assert_string_equal(tfy__place_wrong("https://LOCALHOST/x", false), "is on this machine");
    assert_string_equal(tfy__place_wrong("http://127.0.0.1.evil.example/x", true), "is not an https address");
    assert_string_equal(tfy__place_wrong("http://a.example", true), "is not an https address");
    assert_string_equal(tfy__place_wrong("https://a.example/#x", true), "has a fragment");
    assert_string_equal(tfy__place_wrong("https://a:b@a.example/", true), "names a user");
    assert_non_null(tfy__place_wrong("https://a.example/\n", true));
    assert_non_null(tfy__place_wrong("https:/a.example/", true));
    assert_non_null(tfy__place_wrong("https:///a.example/", true));
    assert_true(tfy__place_covers("https://a.example", "https://a.example/mcp"));
    assert_true(tfy__place_covers("https://a.example/mcp/", "https://A.example:443/mcp"));
    assert_false(tfy__place_covers("https://a.example/mc", "https://a.example/mcp"));
    assert_false(tfy__place_covers("https://a.example/mcp/x", "https://a.example/mcp"));
    assert_false(tfy__place_covers("https://a.example:1/", "https://a.example/mcp"));
    assert_false(tfy__place_covers("http://a.example/", "https://a.example/mcp"));
}

static void well_known(void **state)
{
    TfyPlaces found;
    char why[TFY_ERROR_TEXT];
    tfy__resource_places("https://a.example/mcp/x?y=1", "", &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.url[0], "https://a.example/.well-known/oauth-protected-resource/mcp/x");
    assert_string_equal(found.url[1], "https://a.example/.well-known/oauth-protected-resource");
    tfy__places_free(&found);
    tfy__resource_places("https://a.example/", "", &found);
    assert_int_equal(found.count, 1);
    tfy__places_free(&found);
    assert_true(tfy__issuer_places("https://a.example/t/", false, &found, why));
    assert_int_equal(found.count, 3);
    assert_string_equal(found.url[0], "https://a.example/.well-known/oauth-authorization-server/t");
    assert_string_equal(found.url[1], "https://a.example/.well-known/openid-configuration/t");
    assert_string_equal(found.url[2], "https://a.example/t/.well-known/openid-configuration");
    tfy__places_free(&found);
    assert_true(tfy__issuer_places("https://a.example", false, &found, why));
    assert_int_equal(found.count, 2);
    tfy__places_free(&found);
    assert_false(tfy__issuer_places("https://a.example/?x=1", false, &found, why));
    assert_string_equal(why, "the issuer https://a.example/?x=1 cannot be used: it has a query");
}

static bool reads(const char *query, TfyLoginAnswer *answer)
{
    return tfy__login_answer_read(query, strlen(query), answer);
}

static void answers(void **state)
{
    TfyLoginAnswer answer;
    char why[TFY_ERROR_TEXT];
    assert_true(reads("code=a%2Bb+c&state=s&other=%zz&iss=", &answer));
    assert_string_equal(answer.code, "a+b c");
    assert_true(answer.has_iss);
    tfy__login_answer_wrong(&answer, "s", "https://a.example", false, why);
    assert_non_null(strstr(why, "comes from another issuer"));
    assert_true(reads("&code=a&&state=s&", &answer));
    tfy__login_answer_wrong(&answer, "s", "https://a.example", false, why);
    assert_string_equal(why, "");
    tfy__login_answer_wrong(&answer, "s", "https://a.example", true, why);
    assert_non_null(strstr(why, "does not say which issuer"));
    tfy__login_answer_wrong(&answer, "t", "https://a.example", false, why);
    assert_non_null(strstr(why, "another login"));
    assert_true(reads("state=s", &answer));
    tfy__login_answer_wrong(&answer, "s", "https://a.example", false, why);
    assert_non_null(strstr(why, "has no code"));
    static const char *const bad[] = {"code=%", "code=%4",       "code=%zz",  "code=%00",
                                      "code",   "code=a&code=a", "iss=&iss=", "state=s&state=t"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(reads(bad[i], &answer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(challenges), cmocka_unit_test(long_values),
                                       cmocka_unit_test(scopes),     cmocka_unit_test(places),
                                       cmocka_unit_test(well_known), cmocka_unit_test(answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* serve_hook.c: signed requests of other services: signatures that others have published, times, and what templates take from a
 * request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "serve/hook.h"

static bool is_signed(const TfyHook *hook, const char *headers_text, const char *body, int64_t now_s)
{
    const char *why = NULL;
    json_t *headers = json_loads(headers_text, 0, NULL);
    assert_non_null(headers);
    const bool holds = tfy__hook_signed(hook, headers, body, strlen(body), now_s, &why);
    assert_true(holds || why);
    json_decref(headers);
    return holds;
}

/* The example of GitHub's documentation. */
static void github(void **state)
{
    TfyHook hook = {.scheme = TFY_HOOK_GITHUB};
    const char *right = "{\"x-hub-signature-256\": "
                        "\"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17\"}";
    assert_true(tfy__hook_secret(&hook, "It's a Secret to Everybody\n"));
    assert_true(is_signed(&hook, right, "Hello, World!", 0));
    assert_false(is_signed(&hook, right, "Hello, World?", 0));
    assert_false(is_signed(&hook, "{}", "Hello, World!", 0));
    assert_false(is_signed(&hook, "{\"x-hub-signature-256\": \"sha256=\"}", "Hello, World!", 0));
    assert_true(tfy__hook_secret(&hook, "It's a secret to everybody"));
    assert_false(is_signed(&hook, right, "Hello, World!", 0));
}

/* The example of the Standard Webhooks. */
static void standard(void **state)
{
    TfyHook hook = {.scheme = TFY_HOOK_STANDARD};
    const char *body = "{\"test\": 2432232314}";
    const char *right = "{\"webhook-id\": \"msg_p5jXN8AQM9LWM0D4loKWxJek\", \"webhook-timestamp\": \"1614265330\", "
                        "\"webhook-signature\": \"v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"}";
    const char *other_id = "{\"webhook-id\": \"msg_p5jXN8AQM9LWM0D4loKWxJel\", \"webhook-timestamp\": \"1614265330\", "
                           "\"webhook-signature\": \"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"}";
    const char *other_kind =
        "{\"webhook-id\": \"msg_p5jXN8AQM9LWM0D4loKWxJek\", \"webhook-timestamp\": \"1614265330\", "
        "\"webhook-signature\": \"v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\"}";
    assert_true(tfy__hook_secret(&hook, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    assert_true(is_signed(&hook, right, body, 1614265330));
    assert_true(is_signed(&hook, right, body, 1614265330 + TFY_HOOK_OLD_S));
    assert_false(is_signed(&hook, right, body, 1614265330 + TFY_HOOK_OLD_S + 1));
    assert_false(is_signed(&hook, right, body, 1614265330 - TFY_HOOK_OLD_S - 1));
    assert_false(is_signed(&hook, right, "{\"test\": 2432232315}", 1614265330));
    assert_false(is_signed(&hook, other_id, body, 1614265330));
    assert_false(is_signed(&hook, other_kind, body, 1614265330));
    assert_false(is_signed(&hook, "{\"webhook-timestamp\": \"16142653x0\"}", body, 1614265330));
}

static void secrets(void **state)
{
    TfyHook hook = {.scheme = TFY_HOOK_STANDARD};
    char *much = calloc(1, TFY_HOOK_SECRET + 2);
    memset(much, 'a', TFY_HOOK_SECRET);
    assert_true(tfy__hook_secret(&hook, much));
    assert_int_equal(hook.secret_len, TFY_HOOK_SECRET);
    much[TFY_HOOK_SECRET] = 'a';
    assert_false(tfy__hook_secret(&hook, much));
    assert_false(tfy__hook_secret(&hook, ""));
    assert_false(tfy__hook_secret(&hook, "\nsecond line"));
    assert_false(tfy__hook_secret(&hook, "whsec_*"));
    free(much);
}

/* What the template takes from the request; "": nothing. */
static void fills(const char *template_text, const char *wanted)
{
    json_t *headers = json_loads("{\"x-kind\": \"push\", \"empty\": \"\"}", 0, NULL);
    json_t *body = json_loads("{\"a\": {\"b\": [1, {\"c\": \"x\"}]}, \"n\": null, \"0\": 7}", 0, NULL);
    json_t *template = json_loads(template_text, JSON_DECODE_ANY, NULL);
    const char *bad = NULL;
    assert_true(headers && body && template);
    assert_true(tfy__hook_template_fits(template, &bad));
    json_t *got = tfy__hook_fill(template, headers, body);
    char *text = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : strdup("");
    assert_string_equal(text, wanted);
    free(text);
    json_decref(got);
    json_decref(template);
    json_decref(body);
    json_decref(headers);
}

static void templates(void **state)
{
    const char *bad = NULL;
    fills("\"plain\"", "\"plain\"");
    fills("\"$$body\"", "\"$body\"");
    fills("\"$body.a.b.1.c\"", "\"x\"");
    fills("\"$body.a.b.0\"", "1");
    fills("\"$body.0\"", "7");
    fills("\"$body.n\"", "null");
    fills("\"$body.a.b.2\"", "");
    fills("\"$body.nothing\"", "");
    fills("\"$header.X-Kind\"", "\"push\"");
    fills("\"$header.Empty\"", "");
    fills("{\"k\": \"$header.x-kind\", \"m\": \"$body.nothing\", \"l\": [1, \"$body.a\"]}",
          "{\"k\":\"push\",\"l\":[1,{\"b\":[1,{\"c\":\"x\"}]}]}");
    fills("[\"$body.nothing\"]", "");
    json_t *wrong = json_loads("{\"a\": [\"fine\", \"$bodyx\"]}", 0, NULL);
    assert_false(tfy__hook_template_fits(wrong, &bad));
    assert_string_equal(bad, "$bodyx");
    assert_false(tfy__hook_is_outside(wrong));
    json_decref(wrong);
    json_t *outside = json_loads("{\"a\": [\"fine\", {\"b\": \"$header.x\"}]}", 0, NULL);
    assert_true(tfy__hook_is_outside(outside));
    json_decref(outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(github),
        cmocka_unit_test(standard),
        cmocka_unit_test(secrets),
        cmocka_unit_test(templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

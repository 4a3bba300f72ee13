/* fuzz_hook.c: templates of hooks, filled from requests, and headers that claim to be signatures. Lines: a template, headers, a body.
 * What has nothing from outside stays as it is, and no signature holds whose key nobody has. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "serve/hook.h"

static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (end) *end = '\0';
    *at = end ? end + 1 : line + strlen(line);
    return line;
}

static void check_template(const json_t *template, const json_t *headers, const json_t *body)
{
    const char *bad = NULL;
    if (!tfy__hook_template_fits(template, &bad)) {
        CHECK(bad && *bad == '$');
        return;
    }
    json_t *filled = tfy__hook_fill(template, headers, body);
    CHECK(tfy__hook_is_outside(template) || filled);
    json_decref(filled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *text = strndup((const char *)data, len), *at = text;
    const char *why = NULL;
    if (!text) return 0;
    json_t *template = json_loads(next_line(&at), JSON_DECODE_ANY, NULL);
    json_t *headers = json_loads(next_line(&at), 0, NULL), *body = json_loads(at, JSON_DECODE_ANY, NULL);
    if (template && headers && body) check_template(template, headers, body);
    TfyHook hook = {
        .scheme = (TfyHookScheme)(len % 3), .header = (char *)"x-sig", .secret = {1, 2, 3}, .secret_len = 3};
    CHECK(!tfy__hook_signed(&hook, headers, at, strlen(at), 1614265330, &why) && why);
    json_decref(template);
    json_decref(headers);
    json_decref(body);
    free(text);
    return 0;
}

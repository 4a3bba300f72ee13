/* fuzz_gate.c: what strangers send to a server: the head of a request through the gate and to its route, and a body.
 *
 * The input is lines: a method, a target, headers as NAME:VALUE, an empty line, and the body. */
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/utf8.h"
#include "serve/body.h"
#include "serve/gate.h"
#include "serve/route.h"

enum { HEADERS = 16 };

static const TfyRoute routes[] = {
    {.method = TFY_GET, .pattern = "/v1/runs/{id}"},
    {.method = TFY_POST, .pattern = "/v1/programs/{p}/workflows/{w}/runs"},
    {.method = TFY_GET, .pattern = "/v1/questions/{run}/{task}/{step}"},
    {.method = TFY_DELETE, .pattern = "/v1/programs/{p}/versions/{v}"},
    {.pattern = NULL},
};

static char *next_line(char **at)
{
    char *line = *at, *end = line ? strchr(line, '\n') : NULL;
    if (end) *end = '\0';
    *at = end ? end + 1 : NULL;
    return line ? line : (char *)"";
}

/* Whatever passes has a path that means the same to everybody. */
static void check_route(TfyMethod method, const char *target)
{
    char *path = strdup(target);
    TfyProblem problem = {.kind = TFY_NO_PROBLEM};
    TfyRouteNames names;
    CHECK(path && path[0] == '/');
    path[strcspn(path, "?")] = '\0';
    CHECK(!strstr(path, "//"));
    const TfyRoute *route = tfy__route_find(routes, method, path, &names, &problem);
    CHECK(!route == !!problem.kind);
    for (size_t i = 0; route && i < names.count; i++) {
        const size_t len = strlen(names.text[i]);
        CHECK(!strchr(names.text[i], '/') && !strstr(names.text[i], "..") &&
              tfy__utf8_broken(names.text[i], len) == len);
    }
    tfy__problem_clear(&problem);
    free(path);
}

static void check_body(const char *text)
{
    static const TfyMemberOf members[] = {{"args", JSON_OBJECT}, {"labels", JSON_OBJECT}, {NULL, JSON_NULL}};
    TfyProblem problem = {.kind = TFY_NO_PROBLEM};
    TfyBuffer out = {0};
    json_t *json = tfy__body_read(text, strlen(text), &problem), *told;
    CHECK(!json == !!problem.kind);
    if (json) CHECK(tfy__body_fits(json, members, &problem) == !problem.kind);
    tfy__problem_text(&problem, "r-1", &out);
    told = json_loadb(out.data, out.len, 0, NULL);
    CHECK(told);
    json_decref(told);
    json_decref(json);
    tfy__buffer_free(&out);
    tfy__problem_clear(&problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const hosts[] = {"tfy.example.org", NULL};
    char *text = strndup((const char *)data, len), *at = text;
    TfyHeader headers[HEADERS];
    TfyRequestHead head = {.headers = headers};
    TfyProblem problem = {.kind = TFY_NO_PROBLEM};
    TfyMethod method;
    if (!text) return 0;
    head.method = next_line(&at);
    head.target = next_line(&at);
    for (char *line = next_line(&at); *line; line = next_line(&at)) {
        char *colon = strchr(line, ':');
        if (!colon || head.header_count == HEADERS) continue;
        *colon = '\0';
        headers[head.header_count++] = (TfyHeader){line, colon + 1};
    }
    const TfyGate gate = {.hosts = len % 2 ? hosts : NULL, .tls = len % 3 == 0};
    if (tfy__gate(&gate, &head, &method, &problem)) {
        CHECK(!problem.kind && tfy__header(&head, "host"));
        check_route(method, head.target);
    } else {
        CHECK(problem.kind && problem.detail[0]);
    }
    tfy__problem_clear(&problem);
    if (at) check_body(at);
    free(text);
    return 0;
}

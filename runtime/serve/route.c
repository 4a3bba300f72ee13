/* route.c: see route.h. */
#include "serve/route.h"

#include <stdint.h>

enum { PARTS_MOST = 12 };

/* Ends each part of the path with a NUL and decodes it. Returns their number; SIZE_MAX: too many. */
static size_t split(char *path, const char *parts[PARTS_MOST])
{
    size_t count = 0;
    for (char *start = path + 1, *end; start; start = end ? end + 1 : NULL) {
        if (count == PARTS_MOST) return SIZE_MAX;
        end = strchr(start, '/');
        if (end) *end = '\0';
        tfy__decode_percent(start, strlen(start), false);
        parts[count++] = start;
    }
    return count;
}

/* Whether the parts are those of a pattern; names gets what stands for its braces. */
static bool fits(const char *pattern, const char *const *parts, size_t count, TfyRouteNames *names)
{
    size_t i = 0;
    names->count = 0;
    while (*pattern == '/') {
        const char *start = pattern + 1;
        const size_t len = strcspn(start, "/");
        if (i == count) return false;
        if (*start == '{')
            names->text[names->count++] = parts[i];
        else if (strlen(parts[i]) != len || memcmp(parts[i], start, len) != 0)
            return false;
        pattern = start + len;
        i++;
    }
    return i == count;
}

static const char *what_can_be_done(unsigned methods)
{
    static const char *const texts[1 << TFY_METHOD_COUNT] = {
        [1 << TFY_GET] = "GET, HEAD",
        [1 << TFY_POST] = "POST",
        [1 << TFY_PUT] = "PUT",
        [1 << TFY_DELETE] = "DELETE",
        [1 << TFY_GET | 1 << TFY_POST] = "GET, HEAD, POST",
        [1 << TFY_GET | 1 << TFY_PUT] = "GET, HEAD, PUT",
        [1 << TFY_POST | 1 << TFY_DELETE] = "POST, DELETE",
        [1 << TFY_GET | 1 << TFY_POST | 1 << TFY_DELETE] = "GET, HEAD, POST, DELETE",
    };
    return texts[methods] ? texts[methods] : "GET, HEAD";
}

const TfyRoute *tfy__route_find(const TfyRoute *routes, TfyMethod method, char *path, TfyRouteNames *names,
                                TfyProblem *problem)
{
    const char *parts[PARTS_MOST];
    const size_t count = split(path, parts);
    unsigned others = 0;
    if (method == TFY_HEAD) method = TFY_GET;
    for (const TfyRoute *route = routes; count != SIZE_MAX && route->pattern; route++) {
        if (!fits(route->pattern, parts, count, names)) continue;
        if (route->method == method) return route;
        others |= 1u << route->method;
    }
    if (others) {
        tfy__problem(problem, TFY_PROBLEM_METHOD, "it takes %s", what_can_be_done(others));
        problem->allow = what_can_be_done(others);
    } else {
        tfy__problem(problem, TFY_PROBLEM_NOT_FOUND, "there is no such path; /openapi.json lists all");
    }
    return NULL;
}

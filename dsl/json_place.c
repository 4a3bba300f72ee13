/* json_place.c: see json_place.h. */
#include "json_place.h"

#include <stdbool.h>
#include <string.h>

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind a string that starts here. */
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
    return *at ? at + 1 : at;
}

/* Behind a value that starts here, and the space that follows. */
static const char *skip_value(const char *at)
{
    size_t depth = 0;
    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        if (*at == '}' || *at == ']') depth--;
        if (!depth && *at != '}' && *at != ']') return skip_space(at + strcspn(at, ",]} \t\r\n"));
        at++;
    } while (*at && depth);
    return skip_space(at);
}

const char *json_place_member(const char *object, const char *name, const char **at)
{
    if (!object || *object != '{') return NULL;
    const size_t len = strlen(name);
    const char *member = skip_space(object + 1);
    while (*member == '"') {
        const char *end = skip_string(member), *value = skip_space(end);
        if (*value == ':') value = skip_space(value + 1);
        const bool same = (size_t)(end - member) == len + 2 && memcmp(member + 1, name, len) == 0;
        if (same && at) *at = member;
        if (same) return value;
        member = skip_value(value);
        if (*member == ',') member = skip_space(member + 1);
    }
    return NULL;
}

const char *json_place_first(const char *array)
{
    if (!array || *array != '[') return NULL;
    const char *first = skip_space(array + 1);
    return *first == ']' ? NULL : first;
}

const char *json_place_next(const char *element)
{
    const char *end = skip_value(element);
    return *end == ',' ? skip_space(end + 1) : NULL;
}

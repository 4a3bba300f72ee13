/* body.c: see body.h. */
#include "serve/body.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/body_numbers.h"

/* Containers around the deepest value. It is bounded before the parser is called, which nests as deep as its input. */
static bool is_shallow(const char *text, size_t len)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '{' || c == '[')) {
            if (++depth > TFY_BODY_DEPTH) return false;
        } else if (!quoted && (c == '}' || c == ']')) {
            depth--;
        }
    }
    return true;
}

/* A body that is JSON but for numbers that nobody can hold: its reader refuses those that are in the wrong place, or they are
 * mistakes already. */
static json_t *read_tamed(const char *text, size_t len, json_error_t *where, TfyProblem *problem)
{
    TfyProblem mistakes = {.kind = TFY_NO_PROBLEM};
    char *tame = tfy__body_tame(text, len, &mistakes);
    json_t *json = tame ? json_loadb(tame, len, JSON_REJECT_DUPLICATES, where) : NULL;
    free(tame);
    if (!json || !mistakes.kind) {
        tfy__problem_clear(&mistakes);
        return json;
    }
    json_decref(json);
    *problem = mistakes;
    return NULL;
}

json_t *tfy__body_read(const char *text, size_t len, TfyProblem *problem)
{
    json_error_t where;
    if (!len) return json_object();
    if (!is_shallow(text, len)) {
        tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the body nests deeper than %d", TFY_BODY_DEPTH);
        return NULL;
    }
    json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (!json) json = read_tamed(text, len, &where, problem);
    if (!json && problem->kind) return NULL;
    if (!json) {
        tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the body is not JSON: line %d, column %d: %.200s", where.line,
                     where.column, where.text);
        return NULL;
    }
    if (json_is_object(json)) return json;
    json_decref(json);
    tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the body is not a JSON object");
    return NULL;
}

bool tfy__body_mistake(TfyProblem *problem, const char *path, const char *format, ...)
{
    char detail[512];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    tfy__problem(problem, TFY_PROBLEM_ARGUMENTS, "%s", "");
    if (!problem->errors) problem->errors = json_array();
    json_array_append_new(problem->errors, json_pack("{s:s, s:s}", "path", path, "detail", detail));
    return false;
}

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a text";
    case JSON_INTEGER: return "a whole number";
    case JSON_TRUE: return "true or false";
    default: return "a value";
    }
}

static bool is_type(const json_t *value, json_type type)
{
    return type == JSON_NULL || (type == JSON_TRUE ? json_is_boolean(value) : json_typeof(value) == type);
}

static const TfyMemberOf *member_named(const TfyMemberOf *members, const char *name)
{
    while (members->name && strcmp(members->name, name) != 0) members++;
    return members->name ? members : NULL;
}

static void say_unknown(const TfyMemberOf *members, const char *name, const char *path, TfyProblem *problem)
{
    enum { MOST = 24 };
    const char *names[MOST + 1] = {NULL};
    for (int i = 0; i < MOST && members[i].name; i++) names[i] = members[i].name;
    tfy__body_mistake(problem, path, "it is not known here%s", tfy__meant(name, names).text);
}

bool tfy__body_fits(const json_t *object, const TfyMemberOf *members, TfyProblem *problem)
{
    const char *name;
    json_t *value;
    bool fits = true;
    json_object_foreach((json_t *)object, name, value)
    {
        const TfyMemberOf *member = member_named(members, name);
        char path[128];
        snprintf(path, sizeof path, "$.%.100s", name);
        if (!member)
            say_unknown(members, name, path, problem);
        else if (!is_type(value, member->type))
            tfy__body_mistake(problem, path, "it is not %s", type_name(member->type));
        else
            continue;
        fits = false;
    }
    return fits;
}

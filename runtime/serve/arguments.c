/* arguments.c: see arguments.h. */
#include "serve/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/loop.h"
#include "serve/body.h"
#include "value/json.h"
#include "value/names.h"

enum { PATH_MOST = 200, NAMES_MOST = 64 };

/* ---- members that no type has ---- */

/* Where the walk is. */
typedef struct At {
    const struct At *up; /* NULL: at the arguments */
    const char *name;    /* of a member; NULL: */
    size_t index;        /* … of a list */
} At;

static void write_path(const At *at, TfyBuffer *out)
{
    if (!at) {
        tfy__buffer_text(out, "$.args");
        return;
    }
    write_path(at->up, out);
    if (at->name)
        tfy__buffer_printf(out, ".%.100s", at->name);
    else
        tfy__buffer_printf(out, "[%zu]", at->index);
}

static void tell(TfyProblem *problem, const At *at, const char *what, const char *owner, const TfyField *fields,
                 uint32_t count)
{
    const char *names[NAMES_MOST + 1] = {NULL};
    TfyBuffer path = {0};
    for (uint32_t i = 0; i < count && i < NAMES_MOST; i++) names[i] = fields[i].name;
    write_path(at, &path);
    if (!path.failed)
        tfy__body_mistake(problem, path.data, "%s has no such %s%s", owner, what, tfy__meant(at->name, names).text);
    tfy__buffer_free(&path);
}

static void walk(const TfyType *type, const json_t *json, const At *at, TfyProblem *problem);

/* The fields of a record or of a case, by what JSON calls them. */
static void walk_fields(const TfyType *type, const TfyField *fields, uint32_t count, const json_t *json, const At *at,
                        TfyProblem *problem)
{
    const char *given;
    json_t *value;
    json_object_foreach((json_t *)json, given, value)
    {
        const At below = {at, given, 0};
        uint32_t i = 0;
        if (type->kind == TFY_ENUM && strcmp(given, "case") == 0) continue;
        for (; i < count; i++) {
            const size_t len = strlen(fields[i].name);
            const char *more = tfy__field_name_taken(type->kind, fields[i].name) ? "_" : "";
            if (strncmp(given, fields[i].name, len) == 0 && strcmp(given + len, more) == 0) break;
        }
        if (i < count)
            walk(fields[i].type, value, &below, problem);
        else
            tell(problem, &below, "field", type->name, fields, count);
    }
}

static void walk_case(const TfyType *type, const json_t *json, const At *at, TfyProblem *problem)
{
    const char *name = json_string_value(json_object_get(json, "case"));
    for (uint32_t i = 0; name && i < type->case_count; i++)
        if (strcmp(type->cases[i].name, name) == 0)
            walk_fields(type, type->cases[i].fields, type->cases[i].field_count, json, at, problem);
}

/* Values of another form than their type's are told where they are read. */
static void walk(const TfyType *type, const json_t *json, const At *at, TfyProblem *problem)
{
    const char *name;
    json_t *value;
    size_t i;
    switch (type->kind) {
    case TFY_OPTIONAL: walk(type->elem, json, at, problem); return;
    case TFY_RECORD: walk_fields(type, type->fields, type->field_count, json, at, problem); return;
    case TFY_ENUM: walk_case(type, json, at, problem); return;
    case TFY_LIST: json_array_foreach(json, i, value) walk(type->elem, value, &(At){at, NULL, i}, problem); return;
    case TFY_MAP:
        json_object_foreach((json_t *)json, name, value) walk(type->elem, value, &(At){at, name, 0}, problem);
        return;
    default: return;
    }
}

bool tfy__arguments_known(const TfyWorkflow *workflow, const json_t *args, TfyProblem *problem)
{
    for (uint32_t i = 0; i < workflow->param_count; i++) {
        const TfyField *param = &workflow->params[i];
        const json_t *value = json_object_get(args, param->name);
        if (value) walk(param->type, value, &(At){NULL, param->name, 0}, problem);
    }
    return !problem->kind;
}

/* ---- values that do not fit ---- */

static void tell_unknown(const TfyWorkflow *workflow, const json_t *args, TfyProblem *problem)
{
    const char *given;
    json_t *value;
    json_object_foreach((json_t *)args, given, value)
    {
        bool known = false;
        for (uint32_t i = 0; i < workflow->param_count; i++) known |= strcmp(workflow->params[i].name, given) == 0;
        if (!known)
            tell(problem, &(At){NULL, given, 0}, "parameter", workflow->name, workflow->params, workflow->param_count);
    }
}

/* error: "$.item.n: expected int, …", or a sentence. */
static void tell_one(const TfyField *param, char *error, TfyProblem *problem)
{
    char path[PATH_MOST];
    char *colon = *error == '$' ? strstr(error, ": ") : NULL;
    snprintf(path, sizeof path, "$.args.%.100s", param->name);
    if (colon) *colon = '\0';
    if (colon && error[1]) snprintf(path, sizeof path, "$.args%.180s", error + 1);
    tfy__body_mistake(problem, path, "%s", colon ? colon + 2 : error);
}

void tfy__arguments_mistakes(TfyLoop *loop, const TfyWorkflow *workflow, const json_t *args, TfyProblem *problem)
{
    for (uint32_t i = 0; i < workflow->param_count; i++) { /* each by itself, for the first mistake ends the reading */
        const TfyField *param = &workflow->params[i];
        TfyWorkflow alone = *workflow;
        TfyBuffer out = {0};
        char error[TFY_ERROR_TEXT] = "";
        json_t *one = json_object(), *value = json_object_get(args, param->name);
        if (value) json_object_set(one, param->name, value);
        alone.params = param;
        alone.param_count = 1;
        char *text = json_dumps(one, JSON_COMPACT);
        if (text && tfy__encode_arguments(loop, &alone, text, &out, error) == TFY_E_INVALID)
            tell_one(param, error, problem);
        free(text);
        json_decref(one);
        tfy__buffer_free(&out);
    }
    tell_unknown(workflow, args, problem);
}

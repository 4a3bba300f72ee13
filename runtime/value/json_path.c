/* json_path.c: what a program does with json: finds a part by its path, decodes it, creates it.
 *
 * A path consists of names and positions: user.names[0]. A name ends at a point or a bracket; a name that contains
 * such characters is written in brackets and quotes, headers["content.type"]. A json value is canonical text and is
 * parsed for each query: programs make few of them, and the result is a value of its own. */
#include "value/heap.h"
#include "value/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- paths ---- */

/* One step of a path: the name of a member, or the position of an item. */
typedef struct Step {
    const char *name; /* NULL: it is a position */
    size_t name_len;
    int64_t at;
} Step;

/* Reads [0] or ["name"]; returns the end, or NULL. */
static const char *read_bracket(const char *at, const char *end, Step *step)
{
    const char *start = ++at;
    if (at < end && *at == '"') {
        at++;
        const char *close = memchr(at, '"', (size_t)(end - at));
        if (!close || close + 1 == end || close[1] != ']') return NULL;
        *step = (Step){.name = at, .name_len = (size_t)(close - at)};
        return close + 2;
    }
    *step = (Step){.name = NULL};
    for (; at < end && *at >= '0' && *at <= '9' && at - start < 9; at++) step->at = step->at * 10 + (*at - '0');
    return at > start && at < end && *at == ']' ? at + 1 : NULL;
}

/* Reads the step at `at`; returns the start of the next one, or NULL if there is no valid step. */
static const char *read_step(const char *at, const char *end, bool first, Step *step)
{
    if (*at == '[') return read_bracket(at, end, step);
    if (!first && *at++ != '.') return NULL;
    const char *start = at;
    while (at < end && *at != '.' && *at != '[') at++;
    *step = (Step){.name = start, .name_len = (size_t)(at - start)};
    return at > start ? at : NULL;
}

static const json_t *take_step(const json_t *json, const Step *step)
{
    if (!step->name) return json_array_get(json, (size_t)step->at);
    return json_object_getn(json, step->name, step->name_len);
}

/* Finds the part of json at the path; NULL: no such part. False: the path is malformed, and a panic says so. */
static bool follow(TfyTask *task, uint32_t line, const json_t *json, const TfyString *path, const json_t **out)
{
    const char *at = path->bytes, *end = at + path->byte_len;
    *out = json;
    while (at < end) {
        Step step;
        at = read_step(at, end, at == path->bytes, &step);
        if (!at) {
            return tfy_panic(task, line, "\"%.80s\" is not a path into json; write it like user.names[0]", path->bytes);
        }
        *out = take_step(*out, &step);
    }
    return true;
}

static json_t *tree_of(TfyTask *task, const TfyObj *json)
{
    const TfyString *text = (const TfyString *)json;
    tfy_charge(task, text->byte_len);
    json_t *tree = json_loadb(text->bytes, text->byte_len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!tree) tfy__starved(task); /* canonical text is valid, so only memory can be missing */
    return tree;
}

bool tfy_json_get(TfyTask *task, uint32_t line, TfyObj *json, TfyObj *path, TfyObj **out)
{
    const json_t *part;
    json_t *tree = tree_of(task, json);
    TfyValue value = {.o = NULL};
    char error[TFY_ERROR_TEXT];
    *out = NULL;
    if (tree && follow(task, line, tree, (const TfyString *)path, &part) && part && !json_is_null(part))
        tfy__decode_json(task, &tfy_type_json, part, &value, error);
    *out = value.o;
    json_decref(tree);
    return !task->error;
}

/* Raises "$.steps[2].name: expected string, got 3" as a BadValue of that path. */
static bool raise_bad_value(TfyTask *task, uint32_t line, const char *error)
{
    const char *colon = strstr(error, ": ");
    size_t path_len = colon ? (size_t)(colon - error) : 0;
    TfyObj *message = tfy_string_of(task, error, strlen(error)), *path = tfy_string_of(task, error, path_len);
    if (!message || !path) return false;
    return tfy_fail(task, &tfy_type_bad_value, line, (TfyValue[]){tfy_of_obj(message), tfy_of_obj(path)});
}

bool tfy_json_decode(TfyTask *task, uint32_t line, const TfyType *type, TfyObj *json, TfyObj *path, TfyValue *out)
{
    const json_t *part;
    json_t *tree = tree_of(task, json);
    char error[TFY_ERROR_TEXT] = "";
    TfyBuffer root = {0};
    *out = tfy_of_int(0);
    part = tree;
    tfy__buffer_char(&root, '$');
    if (path && ((TfyString *)path)->bytes[0] != '[') tfy__buffer_char(&root, '.');
    if (path) tfy__buffer_add(&root, ((TfyString *)path)->bytes, ((TfyString *)path)->byte_len);
    if (root.failed) tfy__buffer_refused(task, &root);
    bool ok = tree && !task->error && (!path || follow(task, line, tree, (const TfyString *)path, &part)) &&
              tfy__decode_at(task, type, root.data, part, out, error);
    if (!ok && !task->error) raise_bad_value(task, line, error);
    tfy__buffer_free(&root);
    json_decref(tree);
    return ok;
}

/* ---- creating json, and its kind ---- */

TfyObj *tfy_to_json(TfyTask *task, uint32_t line, const TfyType *type, TfyValue value)
{
    TfyBuffer text = {0};
    TfyValue made = {.o = NULL};
    char error[TFY_ERROR_TEXT] = "memory has run out";
    if (type->kind == TFY_JSON) return tfy_temp(task, tfy_keep(value.o));
    bool ok = tfy__encode(&text, type, value) &&
              tfy__decode_text(task, &tfy_type_json, text.data, text.len, &made, error); /* canonical: keys sorted */
    if (!ok && !task->error) tfy_panic(task, line, "this cannot be json: %s", error);
    tfy_charge(task, text.len);
    tfy__buffer_free(&text);
    return made.o;
}

TfyObj *tfy_json_kind(const TfyObj *json)
{
#define KIND(TEXT)                                                                                                     \
    {                                                                                                                  \
        .head = {.refs = TFY_IMMORTAL, .type = &tfy_type_string}, .byte_len = sizeof TEXT - 1, .len = sizeof TEXT - 1, \
        .cap = sizeof TEXT - 1, .bytes = TEXT                                                                          \
    }
    static const TfyString object = KIND("object"), list = KIND("list"), string = KIND("string"),
                           number = KIND("number"), boolean = KIND("bool"), null = KIND("null");
    switch (((const TfyString *)json)->bytes[0]) {
    case '{': return (TfyObj *)&object;
    case '[': return (TfyObj *)&list;
    case '"': return (TfyObj *)&string;
    case 't':
    case 'f': return (TfyObj *)&boolean;
    case 'n': return (TfyObj *)&null;
    default: return (TfyObj *)&number;
    }
#undef KIND
}

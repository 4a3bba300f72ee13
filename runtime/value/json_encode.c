/* json_encode.c: values to JSON, by descriptor, straight into a buffer. */
#include "value/heap.h"
#include "value/json.h"
#include "value/map.h"
#include "value/names.h"
#include "value/stack.h"

static void write_leaf_string(TfyBuffer *out, void (*write)(TfyBuffer *, int64_t), int64_t value)
{
    tfy__buffer_char(out, '"');
    write(out, value);
    tfy__buffer_char(out, '"');
}

static void write_timed(TfyBuffer *out, const TfyType *type, int64_t ms)
{
    if (out->exact)
        tfy__buffer_int(out, ms);
    else
        write_leaf_string(out, type->kind == TFY_TIME ? tfy__write_time : tfy__write_duration, ms);
}

/* Writes a string with its secrets: the text and their places. */
static void write_secret(TfyBuffer *out, const TfyString *text)
{
    const TfyStretch *stretches = tfy__string_secrets(&text->head);
    tfy__buffer_text(out, "{\"text\":");
    tfy__buffer_json_string(out, text->bytes, text->byte_len);
    tfy__buffer_text(out, ",\"secrets\":[");
    for (uint32_t i = 0; i < text->secrets; i++)
        tfy__buffer_printf(out, "%s[%u,%u]", i ? "," : "", stretches[i].at, stretches[i].len);
    tfy__buffer_text(out, "]}");
}

static void write_scalar(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    switch (type->kind) {
    case TFY_BOOL: tfy__buffer_text(out, value.b ? "true" : "false"); break;
    case TFY_FLOAT: tfy__write_float(out, value.f); break;
    case TFY_DURATION:
    case TFY_TIME: write_timed(out, type, value.i); break;
    case TFY_NOTHING: tfy__buffer_text(out, "null"); break;
    default: tfy__buffer_int(out, value.i); break;
    }
}

static void write_bytes(TfyBuffer *out, const TfyString *bytes)
{
    tfy__buffer_char(out, '"');
    tfy__write_base64(out, bytes->bytes, bytes->byte_len);
    tfy__buffer_char(out, '"');
}

static void write_name(TfyBuffer *out, const char *name)
{
    tfy__buffer_json_string(out, name, strlen(name));
}

/* Opens a container: writes everything before its first child. */
static TfyLevel open_container(TfyBuffer *out, const TfyType *type, const TfyObj *object)
{
    TfyLevel level = {.type = type->kind == TFY_ANY_ERROR ? object->type : type, .a = object};
    if (type->kind == TFY_LIST) {
        level.count = ((const TfyList *)object)->len;
        tfy__buffer_char(out, '[');
        return level;
    }
    tfy__buffer_char(out, '{');
    if (type->kind == TFY_MAP) {
        level.count = ((const TfyMap *)object)->len;
        return level;
    }
    tfy__fields_of(level.type, object, &level.count);
    if (level.type->kind == TFY_ENUM) {
        tfy__buffer_text(out, "\"case\":");
        write_name(out, type->cases[object->aux].name);
    } else if (level.type->kind == TFY_ERROR) {
        tfy__buffer_text(out, "\"error\":");
        write_name(out, level.type->name);
    }
    return level;
}

static void close_container(TfyBuffer *out, const TfyLevel *level)
{
    if (level->type->kind == TFY_ERROR) tfy__buffer_printf(out, ",\"line\":%u", level->a->aux);
    tfy__buffer_char(out, level->type->kind == TFY_LIST ? ']' : '}');
}

/* Writes a value. True: it is a container, which is now open and must be walked. */
static bool begin(TfyBuffer *out, const TfyType *type, TfyValue value, TfyLevel *inside)
{
    if (type->kind == TFY_OPTIONAL && value.o) {
        type = type->elem;
        if (type->scalar) value = tfy_unbox(value.o);
    }
    const TfyString *text = type->scalar ? NULL : (const TfyString *)value.o;
    if (type->scalar) {
        write_scalar(out, type, value);
    } else if (!text) {
        tfy__buffer_text(out, "null");
    } else if (type->kind == TFY_STRING && out->exact && text->secrets) {
        write_secret(out, text);
    } else if (type->kind == TFY_STRING) {
        tfy__buffer_json_string(out, text->bytes, text->byte_len);
    } else if (type->kind == TFY_JSON) {
        tfy__buffer_add(out, text->bytes, text->byte_len);
    } else if (type->kind == TFY_BYTES) {
        write_bytes(out, text);
    } else if (type->kind == TFY_ENUM && type->cases[value.o->aux].bare) {
        write_name(out, type->cases[value.o->aux].name);
    } else {
        *inside = open_container(out, type, value.o);
        return true;
    }
    return false;
}

static void write_key(TfyBuffer *out, const TfyType *type, TfyValue key)
{
    if (type->kind == TFY_STRING) {
        tfy__buffer_json_string(out, ((const TfyString *)key.o)->bytes, ((const TfyString *)key.o)->byte_len);
    } else if (type->kind == TFY_ENUM) {
        write_name(out, type->cases[key.o->aux].name);
    } else {
        write_leaf_string(out, tfy__buffer_int, key.i);
    }
    tfy__buffer_char(out, ':');
}

/* Writes everything before the next child, and starts the child. */
static bool begin_child(TfyBuffer *out, TfyLevel *level, TfyLevel *inside)
{
    uint32_t at = level->next++, count;
    uint8_t kind = level->type->kind;
    if (at || kind == TFY_ENUM || kind == TFY_ERROR) tfy__buffer_char(out, ',');
    if (kind == TFY_LIST) return begin(out, level->type->elem, tfy_list_item(level->a, at), inside);
    if (kind == TFY_MAP) {
        const TfyEntry *entry = &((const TfyMap *)level->a)->entries[at];
        write_key(out, level->type->key, entry->key);
        return begin(out, level->type->elem, entry->value, inside);
    }
    const TfyField *field = &tfy__fields_of(level->type, level->a, &count)[at];
    tfy__write_field_name(out, kind, field->name);
    tfy__buffer_char(out, ':');
    return begin(out, field->type, tfy_field(level->a, at), inside);
}

bool tfy__encode(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    TfyLevel level, inside;
    TfyStack stack;
    if (!begin(out, type, value, &level)) return !out->failed;
    tfy__stack_init(&stack);
    if (out->depth == 0) out->depth = 1;
    while (!out->failed) {
        if (level.next == level.count) {
            close_container(out, &level);
            if (stack.len == 0) break;
            level = stack.levels[--stack.len];
        } else if (begin_child(out, &level, &inside)) {
            if (!tfy__stack_push(&stack, level)) out->failed = true;
            if (stack.len >= out->depth) out->depth = (uint32_t)stack.len + 1;
            level = inside;
        }
    }
    tfy__stack_deinit(&stack);
    return !out->failed;
}

bool tfy__encode_args(TfyBuffer *out, const TfyField *fields, uint32_t count, const TfyValue *values)
{
    tfy__buffer_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        if (i) tfy__buffer_char(out, ',');
        write_name(out, fields[i].name);
        tfy__buffer_char(out, ':');
        tfy__encode(out, fields[i].type, values[i]);
    }
    tfy__buffer_char(out, '}');
    return !out->failed;
}

/* ---- untyped JSON ---- */

/* A member of an object, for sorting by name. */
typedef struct Member {
    const char *name;
    const json_t *value;
} Member;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Member *)a)->name, ((const Member *)b)->name);
}

static void write_json(TfyBuffer *out, const json_t *json);

static void write_object(TfyBuffer *out, const json_t *json)
{
    size_t count = 0;
    Member *members = malloc((json_object_size(json) + 1) * sizeof *members);
    const char *name;
    json_t *value;
    if (!members) {
        out->failed = true;
        return;
    }
    bool sorted = true; /* as what was parsed from canonical JSON is */
    json_object_foreach((json_t *)json, name, value)
    {
        members[count] = (Member){name, value};
        sorted = sorted && (!count || by_name(&members[count - 1], &members[count]) < 0);
        count++;
    }
    if (!sorted) qsort(members, count, sizeof *members, by_name);
    tfy__buffer_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i) tfy__buffer_char(out, ',');
        write_name(out, members[i].name);
        tfy__buffer_char(out, ':');
        write_json(out, members[i].value);
    }
    tfy__buffer_char(out, '}');
    free(members);
}

/* Recursive: the reader that built the tree has bounded its depth. */
static void write_json(TfyBuffer *out, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT: write_object(out, json); break;
    case JSON_ARRAY:
        tfy__buffer_char(out, '[');
        for (size_t i = 0; i < json_array_size(json); i++) {
            if (i) tfy__buffer_char(out, ',');
            write_json(out, json_array_get(json, i));
        }
        tfy__buffer_char(out, ']');
        break;
    case JSON_STRING: tfy__buffer_json_string(out, json_string_value(json), json_string_length(json)); break;
    case JSON_INTEGER: tfy__buffer_int(out, json_integer_value(json)); break;
    case JSON_REAL: tfy__write_float(out, json_real_value(json)); break;
    case JSON_TRUE: tfy__buffer_text(out, "true"); break;
    case JSON_FALSE: tfy__buffer_text(out, "false"); break;
    case JSON_NULL: tfy__buffer_text(out, "null"); break;
    }
}

bool tfy__encode_json(TfyBuffer *out, const json_t *json)
{
    write_json(out, json);
    return !out->failed;
}

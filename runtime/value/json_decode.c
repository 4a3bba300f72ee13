/* json_decode.c: JSON from outside to values, by descriptor. It is strict, because accepted input is trusted from
 * then on. Every refusal names the place and what was expected, because that message lets models and people correct
 * their input.
 *
 * Values are built owned and bottom-up; if a part of a container fails, the half-built container is dropped whole. */
#include "value/heap.h"
#include "value/json.h"
#include "value/map.h"
#include "value/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The reader's position: a chain of steps from the root, on the C stack; TFY_JSON_DEPTH bounds its length. */
typedef struct Path {
    const struct Path *up; /* the container's position; NULL at the root */
    const char *name;      /* the member's name; NULL for a list's item */
    size_t index;          /* the item's index */
    int depth;             /* number of enclosing containers */
} Path;

/* One decoding. */
typedef struct Reader {
    TfyTask *task;         /* the value is made in its heap */
    char *error;           /* TFY_ERROR_TEXT bytes */
    const char *root;      /* name of the root in error texts */
    const TfyExact *exact; /* NULL: the text comes from outside */
} Reader;

static bool read_value(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out);

/* ---- refusing ---- */

static bool plain_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return len && !name[len] && (name[0] < '0' || name[0] > '9');
}

static void write_path(TfyBuffer *out, const char *root, const Path *path)
{
    const Path *steps[TFY_JSON_DEPTH + 2];
    int count = 0;
    for (; path->up; path = path->up) steps[count++] = path;
    tfy__buffer_text(out, root);
    while (count--) {
        const Path *step = steps[count];
        if (!step->name) {
            tfy__buffer_printf(out, "[%zu]", step->index);
        } else if (plain_name(step->name)) {
            tfy__buffer_printf(out, ".%s", step->name);
        } else {
            tfy__buffer_char(out, '[');
            tfy__buffer_json_string(out, step->name, strlen(step->name));
            tfy__buffer_char(out, ']');
        }
    }
}

/* Writes what was found, short enough for a message. A container is named by its kind: its text may be megabytes. */
static void write_found(TfyBuffer *out, const json_t *json)
{
    if (json_is_object(json)) {
        tfy__buffer_text(out, "an object");
    } else if (json_is_array(json)) {
        tfy__buffer_printf(out, "a list of %zu", json_array_size(json));
    } else if (json_is_string(json) && json_string_length(json) > 60) {
        size_t len = 60;
        while ((json_string_value(json)[len] & 0xC0) == 0x80) len--;
        tfy__buffer_json_string(out, json_string_value(json), len);
        tfy__buffer_text(out, "...");
    } else {
        tfy__encode_json(out, json);
    }
}

/* Copies a text to the caller's buffer, cut at the edge of a character if it is too long. */
static bool tell(Reader *reader, TfyBuffer *text)
{
    size_t len = text->len < TFY_ERROR_TEXT ? text->len : TFY_ERROR_TEXT - 1;
    while (len < text->len && (text->data[len] & 0xC0) == 0x80) len--;
    if (text->failed || !text->data) {
        snprintf(reader->error, TFY_ERROR_TEXT, "memory has run out");
    } else {
        memcpy(reader->error, text->data, len);
        reader->error[len] = '\0';
    }
    tfy__buffer_free(text);
    return false;
}

/* Reports "PATH: expected WHAT, got FOUND"; json NULL: the member is missing. Always false. */
static bool refuse(Reader *reader, const Path *path, const json_t *json, const char *expected)
{
    TfyBuffer text = {0};
    write_path(&text, reader->root, path);
    tfy__buffer_printf(&text, ": expected %s, ", expected);
    if (json) {
        tfy__buffer_text(&text, "got ");
        write_found(&text, json);
    } else {
        tfy__buffer_text(&text, "but it is missing");
    }
    return tell(reader, &text);
}

/* Stops because memory ran out or a default panicked: task->error is already set. */
static bool stop(Reader *reader)
{
    TfyBuffer text = {0};
    TfyTask *task = reader->task;
    if (task->error) tfy__write_text(&text, &tfy_type_any_error, tfy_of_obj(task->error));
    return tell(reader, &text);
}

/* ---- leaves ---- */

static bool read_float(Reader *reader, const Path *path, const json_t *json, TfyValue *out)
{
    if (!json_is_number(json)) return refuse(reader, path, json, "float");
    out->f = json_number_value(json);
    return true;
}

static bool read_timed(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    bool duration = type->kind == TFY_DURATION;
    if (reader->exact && json_is_integer(json)) {
        out->i = json_integer_value(json);
        return true;
    }
    const char *text = json_string_value(json);
    size_t len = json_string_length(json);
    if (text && (duration ? tfy__read_duration(text, len, &out->i) : tfy__read_time(text, len, &out->i))) return true;
    return refuse(reader, path, json,
                  duration ? "a duration such as \"90s\"" : "a time such as \"2026-01-31T12:00:00Z\"");
}

/* 1.0 is a whole number to JSON Schema and to the models that answer by one; beyond 2^53 a fraction is lost unseen. */
static bool read_int(Reader *reader, const Path *path, const json_t *json, TfyValue *out)
{
    const double real = json_is_real(json) ? json_real_value(json) : 0.5;
    const bool whole = real >= -9007199254740992.0 && real <= 9007199254740992.0 && real == (double)(int64_t)real;
    out->i = whole ? (int64_t)real : json_integer_value(json);
    return whole || json_is_integer(json) || refuse(reader, path, json, "int");
}

static bool read_scalar(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    switch (type->kind) {
    case TFY_NOTHING: return json_is_null(json) || refuse(reader, path, json, "null");
    case TFY_BOOL: out->b = json_is_true(json); return json_is_boolean(json) || refuse(reader, path, json, "bool");
    case TFY_INT: return read_int(reader, path, json, out);
    case TFY_FLOAT: return read_float(reader, path, json, out);
    case TFY_DURATION:
    case TFY_TIME: return read_timed(reader, path, type, json, out);
    default: out->i = json_integer_value(json); return json_is_integer(json) || refuse(reader, path, json, type->name);
    }
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int64_t tfy__read_base64(char *out, const char *text, size_t len)
{
    size_t padding = 0, written = 0;
    uint32_t bits = 0;
    while (padding < 2 && padding < len && text[len - 1 - padding] == '=') padding++;
    if (len % 4) return -1;
    for (size_t i = 0; i < len - padding; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0) return -1;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4) out[written++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    /* dropped bits must be zero, so that each value has one text */
    if (padding && bits & ((1u << 2 * padding) - 1)) return -1;
    return (int64_t)written;
}

static bool read_bytes(Reader *reader, const Path *path, const json_t *json, TfyValue *out)
{
    if (!json_is_string(json)) return refuse(reader, path, json, "bytes in base64");
    TfyHeap *heap = reader->task->heap;
    size_t len = json_string_length(json), room = len / 4 * 3 + 1;
    char *raw = tfy__alloc(heap, room);
    if (!raw) tfy__out_of_memory(reader->task);
    if (!raw) return stop(reader);
    int64_t count = tfy__read_base64(raw, json_string_value(json), len);
    if (count >= 0) out->o = tfy__string_new(reader->task, &tfy_type_bytes, raw, (size_t)count);
    tfy__free(heap, raw, room);
    if (count < 0) return refuse(reader, path, json, "bytes in base64");
    return out->o || stop(reader);
}

static bool shallow(const json_t *json, int depth)
{
    if (!json_is_object(json) && !json_is_array(json)) return true;
    if (depth >= TFY_JSON_DEPTH) return false;
    const char *name;
    json_t *value;
    size_t index;
    json_object_foreach((json_t *)json, name, value) if (!shallow(value, depth + 1)) return false;
    json_array_foreach(json, index, value) if (!shallow(value, depth + 1)) return false;
    return true;
}

bool tfy__json_is_shallow(const json_t *json, int above)
{
    return shallow(json, above);
}

static bool refuse_depth(Reader *reader, const Path *path)
{
    TfyBuffer text = {0};
    write_path(&text, reader->root, path);
    tfy__buffer_printf(&text, ": nested deeper than %d levels", TFY_JSON_DEPTH);
    return tell(reader, &text);
}

/* Any JSON, stored as its canonical text. */
static bool read_json(Reader *reader, const Path *path, const json_t *json, TfyValue *out)
{
    if (!shallow(json, path->depth)) return refuse_depth(reader, path);
    TfyBuffer text = {0};
    if (tfy__encode_json(&text, json)) {
        out->o = tfy__string_new(reader->task, &tfy_type_json, text.data, text.len);
    } else {
        tfy__buffer_refused(reader->task, &text);
    }
    tfy__buffer_free(&text);
    return out->o || stop(reader);
}

/* Reads a string with its secrets: a text and their places. */
static bool read_secret(Reader *reader, const Path *path, const json_t *json, TfyValue *out)
{
    const json_t *text = json_object_get(json, "text"), *secrets = json_object_get(json, "secrets");
    if (!json_is_string(text) || !json_array_size(secrets)) return refuse(reader, path, json, "string");
    TfyStretch *stretches = calloc(json_array_size(secrets), sizeof *stretches);
    for (size_t i = 0; stretches && i < json_array_size(secrets); i++) {
        const json_t *pair = json_array_get(secrets, i);
        stretches[i].at = (uint32_t)json_integer_value(json_array_get(pair, 0));
        stretches[i].len = (uint32_t)json_integer_value(json_array_get(pair, 1));
    }
    if (stretches)
        out->o = tfy__string_secret(reader->task, json_string_value(text), json_string_length(text),
                                    (uint32_t)json_array_size(secrets), stretches);
    free(stretches);
    return out->o || stop(reader);
}

static bool read_string(Reader *reader, const Path *path, const json_t *json, TfyValue *out)
{
    if (reader->exact && json_is_object(json)) return read_secret(reader, path, json, out);
    if (!json_is_string(json)) return refuse(reader, path, json, "string");
    out->o = tfy__string_new(reader->task, &tfy_type_string, json_string_value(json), json_string_length(json));
    return out->o || stop(reader);
}

/* ---- containers: each builds into *out, which the caller drops on failure ---- */

static bool are_calls(const json_t *calls)
{
    const json_t *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        if (!json_is_string(json_object_get(call, "id")) || !json_is_string(json_object_get(call, "tool")))
            return false;
    }
    return json_is_array(calls);
}

/* In the neutral form (thread.c), which wire forms are made of without a further look. A system text is a program's own,
 * and never a part of a conversation. */
static bool is_message(const json_t *json)
{
    const char *role = json_string_value(json_object_get(json, "role"));
    const json_t *calls = json_object_get(json, "calls"), *id = json_object_get(json, "id");
    if (!role || !json_is_string(json_object_get(json, "content"))) return false;
    if (strcmp(role, "assistant") == 0) return !calls || are_calls(calls);
    return !calls && (strcmp(role, "tool") == 0 ? json_is_string(id) : strcmp(role, "user") == 0);
}

static bool read_list(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    if (!json_is_array(json)) return refuse(reader, path, json, type->name);
    out->o = tfy__list_new(reader->task, type, (uint32_t)json_array_size(json));
    if (!out->o) return stop(reader);
    TfyList *list = (TfyList *)out->o;
    for (; list->len < list->cap; list->len++) {
        const json_t *of = json_array_get(json, list->len);
        Path item = {.up = path, .index = list->len, .depth = path->depth + 1};
        if (type == &tfy_type_thread && !is_message(of))
            return refuse(reader, &item, of, "a message such as {\"content\": \"hello\", \"role\": \"user\"}");
        if (!read_value(reader, &item, type->elem, of, &list->items[list->len])) return false;
    }
    return true;
}

static bool read_int_key(const char *text, int64_t *out)
{
    char again[24], *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    snprintf(again, sizeof again, "%" PRId64, *out);
    return !errno && !*end && strcmp(again, text) == 0; /* "01" would be a second name for 1 */
}

/* Reads a member's name as an owned key. */
static bool read_key(Reader *reader, const Path *path, const TfyType *type, const char *name, TfyValue *out)
{
    if (type->kind == TFY_STRING) {
        out->o = tfy__string_new(reader->task, &tfy_type_string, name, strlen(name));
        return out->o || stop(reader);
    }
    if (type->kind == TFY_INT && read_int_key(name, &out->i)) return true;
    for (uint32_t i = 0; i < type->case_count; i++) {
        out->o = type->cases[i].bare;
        if (out->o && strcmp(type->cases[i].name, name) == 0) return true;
    }
    TfyBuffer text = {0};
    write_path(&text, reader->root, path);
    tfy__buffer_printf(&text, ": expected keys of type %s, got ", type->name);
    tfy__buffer_json_string(&text, name, strlen(name));
    return tell(reader, &text);
}

static bool read_entry(Reader *reader, const Path *path, const char *name, const json_t *json, TfyObj **map)
{
    const TfyType *type = (*map)->type;
    TfyTask *task = reader->task;
    Path entry = {.up = path, .name = name, .depth = path->depth + 1};
    TfyValue key = {0}, value = {0};
    if (!read_key(reader, path, type->key, name, &key)) return false;
    bool ok = read_value(reader, &entry, type->elem, json, &value);
    if (ok && !tfy__map_store(task, 0, map, key, value)) ok = stop(reader);
    tfy__drop_value(task, type->key, key);
    tfy__drop_value(task, type->elem, value);
    return ok;
}

static bool read_map(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    if (!json_is_object(json)) return refuse(reader, path, json, type->name);
    const char *name;
    json_t *value;
    out->o = tfy__map_new(reader->task, type, (uint32_t)json_object_size(json));
    if (!out->o) return stop(reader);
    json_object_foreach((json_t *)json, name, value) if (!read_entry(reader, path, name, value, &out->o)) return false;
    return true;
}

/* Handles a missing member: its default, null, or a refusal. */
static bool read_missing(Reader *reader, const Path *path, const TfyField *field, TfyValue *out)
{
    if (field->make) {
        TfyValue value;
        if (!field->make(reader->task, &value)) return stop(reader);
        *out = tfy__keep_value(field->type, value);
        return true;
    }
    if (field->type->kind == TFY_OPTIONAL) return true;
    return refuse(reader, path, NULL, field->type->name);
}

static bool read_field(Reader *reader, const Path *path, const TfyField *field, const json_t *json, TfyValue *out)
{
    if (json) return read_value(reader, path, field->type, json, out);
    return read_missing(reader, path, field, out);
}

/* Reads the members of an object into the fields of a record, error or enum case; kind decides which names are
 * ours. */
static bool read_fields(Reader *reader, const Path *path, uint8_t kind, const TfyField *fields, uint32_t count,
                        const json_t *json, TfyObj *record)
{
    TfyBuffer longer = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        const char *name = fields[i].name;
        tfy__buffer_reset(&longer);
        if (tfy__field_name_taken(kind, name)) {
            tfy__buffer_printf(&longer, "%s_", name);
            if (longer.failed) break;
            name = longer.data;
        }
        Path member = {.up = path, .name = name, .depth = path->depth + 1};
        ok = read_field(reader, &member, &fields[i], json_object_get(json, name), &((TfyRecord *)record)->fields[i]);
    }
    if (longer.failed) ok = tfy__buffer_refused(reader->task, &longer) || stop(reader);
    tfy__buffer_free(&longer);
    return ok;
}

static bool read_record(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    if (!json_is_object(json)) return refuse(reader, path, json, type->name);
    out->o = tfy__record_new(reader->task, type);
    return out->o ? read_fields(reader, path, type->kind, type->fields, type->field_count, json, out->o) : stop(reader);
}

static bool refuse_case(Reader *reader, const Path *path, const TfyType *type, const json_t *json)
{
    TfyBuffer expected = {0};
    tfy__buffer_printf(&expected, "%s:", type->name);
    for (uint32_t i = 0; i < type->case_count; i++) {
        tfy__buffer_text(&expected, i ? " or " : " ");
        tfy__buffer_printf(&expected, type->cases[i].bare ? "\"%s\"" : "{\"case\": \"%s\", ...}", type->cases[i].name);
    }
    refuse(reader, path, json, expected.failed ? type->name : expected.data);
    tfy__buffer_free(&expected);
    return false;
}

static bool read_enum(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    const json_t *tag = json_is_object(json) ? json_object_get(json, "case") : json;
    const char *name = json_string_value(tag);
    if (name && strlen(name) != json_string_length(tag)) name = NULL; /* a name with a NUL inside is not a case's */
    uint32_t index = 0;
    while (name && index < type->case_count && strcmp(type->cases[index].name, name) != 0) index++;
    if (!name || index == type->case_count) return refuse_case(reader, path, type, tag ? tag : json);
    const TfyCase *of = &type->cases[index];
    if (of->bare) {
        out->o = of->bare;
        return true;
    }
    if (tag == json) return refuse_case(reader, path, type, json); /* a bare name, but the case has fields */
    out->o = tfy__enum_new(reader->task, type, index);
    return out->o ? read_fields(reader, path, TFY_ENUM, of->fields, of->field_count, json, out->o) : stop(reader);
}

static const TfyType *error_type(const Reader *reader, const char *name)
{
    for (uint32_t i = 0; reader->exact && i < reader->exact->error_count; i++)
        if (strcmp(reader->exact->errors[i]->name, name) == 0) return reader->exact->errors[i];
    return tfy__builtin_error(name);
}

static bool read_error(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    const char *name = json_string_value(json_object_get(json, "error"));
    if (type->kind == TFY_ANY_ERROR) type = name ? error_type(reader, name) : NULL;
    if (!type || !name || strcmp(type->name, name) != 0)
        return refuse(reader, path, json, type ? type->name : "a built-in error");
    out->o = tfy__record_new(reader->task, type);
    if (!out->o) return stop(reader);
    json_int_t line = json_integer_value(json_object_get(json, "line"));
    out->o->aux = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    return read_fields(reader, path, TFY_ERROR, type->fields, type->field_count, json, out->o);
}

static bool read_object(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    if ((json_is_object(json) || json_is_array(json)) && path->depth >= TFY_JSON_DEPTH)
        return refuse_depth(reader, path);
    switch (type->kind) {
    case TFY_STRING: return read_string(reader, path, json, out);
    case TFY_BYTES: return read_bytes(reader, path, json, out);
    case TFY_JSON: return read_json(reader, path, json, out);
    case TFY_LIST: return read_list(reader, path, type, json, out);
    case TFY_MAP: return read_map(reader, path, type, json, out);
    case TFY_ENUM: return read_enum(reader, path, type, json, out);
    case TFY_RECORD: return read_record(reader, path, type, json, out);
    default: return read_error(reader, path, type, json, out);
    }
}

/* Reads the scalar of a T? into its box. */
static bool read_boxed(Reader *reader, const Path *path, const TfyType *scalar, const json_t *json, TfyValue *out)
{
    TfyValue value = {0};
    if (!read_scalar(reader, path, scalar, json, &value)) return false;
    out->o = tfy__new_object(reader->task, tfy__box_type(scalar), sizeof(TfyRecord) + sizeof(TfyValue));
    if (!out->o) return stop(reader);
    ((TfyRecord *)out->o)->fields[0] = value;
    return true;
}

/* Reads one value into *out, owned. *out is zero before, and again after a failure. */
static bool read_value(Reader *reader, const Path *path, const TfyType *type, const json_t *json, TfyValue *out)
{
    if (type->scalar) return read_scalar(reader, path, type, json, out);
    if (type->kind == TFY_OPTIONAL) {
        if (json_is_null(json)) return true;
        if (type->elem->scalar) return read_boxed(reader, path, type->elem, json, out);
        type = type->elem;
    }
    if (read_object(reader, path, type, json, out)) return true;
    tfy_clear(reader->task, &out->o);
    return false;
}

/* ---- entry points ---- */

/* Puts an owned value on the release stack. */
static bool lend(Reader *reader, const TfyType *type, TfyValue *value)
{
    if (type->scalar || !value->o || tfy_temp(reader->task, value->o)) return true;
    value->o = NULL;
    return stop(reader);
}

bool tfy__decode_at(TfyTask *task, const TfyType *type, const char *root, const json_t *json, TfyValue *out,
                    char *error)
{
    Reader reader = {.task = task, .error = error, .root = root};
    Path start = {0};
    *out = tfy_of_int(0);
    if (!json) return type->kind == TFY_OPTIONAL || refuse(&reader, &start, NULL, type->name);
    return read_value(&reader, &start, type, json, out) && lend(&reader, type, out);
}

bool tfy__decode_json(TfyTask *task, const TfyType *type, const json_t *json, TfyValue *out, char *error)
{
    return tfy__decode_at(task, type, "$", json, out, error);
}

bool tfy__decode_exact(TfyTask *task, const TfyExact *exact, const TfyType *type, const json_t *json, TfyValue *out,
                       char *error)
{
    Reader reader = {.task = task, .error = error, .root = "$", .exact = exact};
    Path start = {0};
    *out = tfy_of_int(0);
    return read_value(&reader, &start, type, json, out) && lend(&reader, type, out);
}

static json_t *parse(Reader *reader, const char *text, size_t len)
{
    json_error_t problem;
    json_t *json = tfy__json_read(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
    TfyBuffer message = {0};
    if (json) return json;
    if (len == 0) {
        tfy__buffer_text(&message, "not valid JSON: it is empty");
    } else {
        tfy__buffer_printf(&message, "not valid JSON at line %d, column %d: %s", problem.line, problem.column,
                           problem.text);
    }
    tell(reader, &message);
    return NULL;
}

bool tfy__decode_text(TfyTask *task, const TfyType *type, const char *text, size_t len, TfyValue *out, char *error)
{
    Reader reader = {.task = task, .error = error};
    *out = tfy_of_int(0);
    tfy_charge(task, len);
    json_t *json = parse(&reader, text, len);
    bool ok = json && tfy__decode_json(task, type, json, out, error);
    json_decref(json);
    return ok;
}

/* Refuses members that are not parameters. */
static bool known_names(Reader *reader, const TfyField *fields, uint32_t count, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        uint32_t i = 0;
        while (i < count && strcmp(fields[i].name, name) != 0) i++;
        if (i < count) continue;
        TfyBuffer text = {0};
        tfy__buffer_text(&text, "there is no parameter ");
        tfy__buffer_json_string(&text, name, strlen(name));
        return tell(reader, &text);
    }
    return true;
}

static bool read_args(Reader *reader, const TfyField *fields, uint32_t count, const json_t *object, TfyValue *values)
{
    Path root = {0};
    if (!json_is_object(object)) return refuse(reader, &root, object, "an object with a member for each parameter");
    if (!known_names(reader, fields, count, object)) return false;
    for (uint32_t i = 0; i < count; i++) {
        Path member = {.up = &root, .name = fields[i].name, .depth = 1};
        if (!read_field(reader, &member, &fields[i], json_object_get(object, fields[i].name), &values[i])) return false;
        if (!lend(reader, fields[i].type, &values[i])) return false;
    }
    return true;
}

/* json NULL: error is set already. */
static bool decode_args(Reader *reader, const TfyField *fields, uint32_t count, const json_t *object, TfyValue *values)
{
    for (uint32_t i = 0; i < count; i++) values[i] = tfy_of_int(0);
    const bool ok = object && read_args(reader, fields, count, object, values);
    for (uint32_t i = 0; !ok && i < count; i++)
        values[i] = tfy_of_int(0); /* earlier values stay on the release stack */
    return ok;
}

bool tfy__decode_args(TfyTask *task, const TfyField *fields, uint32_t count, const char *text, size_t len,
                      TfyValue *values, char *error)
{
    Reader reader = {.task = task, .error = error, .root = "$"};
    json_t *object = parse(&reader, text, len);
    const bool ok = decode_args(&reader, fields, count, object, values);
    json_decref(object);
    return ok;
}

bool tfy__decode_args_json(TfyTask *task, const TfyField *fields, uint32_t count, const json_t *object,
                           TfyValue *values, char *error)
{
    Reader reader = {.task = task, .error = error, .root = "$"};
    return decode_args(&reader, fields, count, object, values);
}

/* method_json.c: json. A json value is its text, with the names in order and one way to write a number. */
#include "interp.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- its one text ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_json(Buf *out, const json_t *json)
{
    const char **names, *name;
    size_t count = 0;
    json_t *value;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        names = must_alloc((json_object_size(json) + 1) * sizeof *names);
        json_object_foreach((json_t *)json, name, value) names[count++] = name;
        qsort(names, count, sizeof *names, by_name);
        buf_text(out, "{");
        for (size_t i = 0; i < count; i++) {
            buf_text(out, i ? "," : "");
            quote_text(out, names[i], strlen(names[i]));
            buf_text(out, ":");
            write_json(out, json_object_get(json, names[i]));
        }
        buf_text(out, "}");
        break;
    case JSON_ARRAY:
        buf_text(out, "[");
        for (size_t i = 0; i < json_array_size(json); i++) {
            buf_text(out, i ? "," : "");
            write_json(out, json_array_get(json, i));
        }
        buf_text(out, "]");
        break;
    case JSON_STRING: quote_text(out, json_string_value(json), json_string_length(json)); break;
    case JSON_INTEGER: buf_format(out, "%lld", (long long)json_integer_value(json)); break;
    case JSON_REAL: print_float(out, json_real_value(json)); break;
    default: buf_text(out, json_is_null(json) ? "null" : json_is_true(json) ? "true" : "false");
    }
}

static const Value *json_value(const json_t *json)
{
    Buf text = {0};
    write_json(&text, json);
    return value_text(text.data, text.len);
}

static json_t *load(const char *text, size_t len)
{
    return json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

const Value *json_parse(const char *text, size_t len)
{
    json_t *json = load(text, len);
    const Value *value = json ? json_value(json) : NULL;
    json_decref(json);
    return value;
}

/* ---- paths ---- */

/* The part that a path leads to. The paths of these tests are right ones. */
static const json_t *follow(const json_t *json, const char *path)
{
    while (*path) {
        char name[64] = "";
        int used = 0, at = 0;
        if (sscanf(path, "[%d]%n", &at, &used) == 1 && used) {
            json = json_array_get(json, (size_t)at);
        } else {
            if (sscanf(path, "[\"%63[^\"]\"]%n", name, &used) != 1 || !used)
                sscanf(path += *path == '.', "%63[^.[]%n", name, &used);
            json = json_object_get(json, name);
        }
        path += used;
    }
    return json;
}

/* ---- decoding ---- */

static const Value *decode(const Type *type, const json_t *json);

static const Value *decode_fields(ValueKind kind, const TypeField *fields, uint32_t count, const json_t *json)
{
    Value *made = value_items(kind, count);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *member = json_object_get(json, fields[i].name);
        if (!member && fields[i].value) member = json_null(); /* defaults are not looked at here */
        if (!(made->items[i] = decode(fields[i].type, member))) return NULL;
    }
    return made;
}

static const Value *decode_case(const Type *type, const json_t *json)
{
    const char *name = json_string_value(json_is_string(json) ? json : json_object_get(json, "case"));
    for (uint32_t i = 0; name && i < type->case_count; i++) {
        if (strcmp(type->cases[i].name, name) != 0) continue;
        Value *made = (Value *)decode_fields(V_CASE, type->cases[i].fields, type->cases[i].field_count, json);
        if (!made) return NULL;
        made->type = type;
        made->case_index = i;
        return made;
    }
    return NULL;
}

static const Value *decode_map(const Type *type, const json_t *json)
{
    Value *map = value_map(json_object_size(json));
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)json, name, member)
    {
        const Value *value = decode(type->elem, member);
        if (!value) return NULL;
        map_put(map, type->key->kind == TYPE_INT ? value_int(atoll(name)) : value_text(name, strlen(name)), value);
    }
    return map;
}

static const Value *decode(const Type *type, const json_t *json)
{
    if (type->kind == TYPE_OPTIONAL) return !json || json_is_null(json) ? &value_null : decode(type->elem, json);
    if (!json) return NULL;
    switch (type->kind) {
    case TYPE_JSON: return json_value(json);
    case TYPE_BOOL: return json_is_boolean(json) ? value_bool(json_is_true(json)) : NULL;
    case TYPE_INT: return json_is_integer(json) ? value_int(json_integer_value(json)) : NULL;
    case TYPE_FLOAT: return json_is_number(json) ? value_float(json_number_value(json)) : NULL;
    case TYPE_STRING:
        return json_is_string(json) ? value_text(json_string_value(json), json_string_length(json)) : NULL;
    case TYPE_ENUM: return decode_case(type, json);
    case TYPE_MAP: return json_is_object(json) ? decode_map(type, json) : NULL;
    case TYPE_LIST: {
        Value *list = value_items(V_LIST, json_array_size(json));
        for (size_t i = 0; i < list->len; i++)
            if (!(list->items[i] = decode(type->elem, json_array_get(json, i)))) return NULL;
        return json_is_array(json) ? list : NULL;
    }
    case TYPE_RECORD: {
        Value *record =
            json_is_object(json) ? (Value *)decode_fields(V_RECORD, type->fields, type->field_count, json) : NULL;
        if (record) record->type = type;
        return record;
    }
    default: return NULL;
    }
}

static const Value *decode_at(Frame *f, const Type *type, const json_t *part)
{
    const Value *value = decode(type, part);
    if (value) return value;
    const char *what = part ? "does not fit" : "missing";
    raise_error(f, f->task->interp->program->core.bad_value,
                (const Value *[]){value_text(what, strlen(what)), value_text("$", 1)});
    return NULL;
}

const Value *json_method(Frame *f, const Expr *e, const Value **args)
{
    const Value *self = args[0], *answer = NULL;
    Buf text = {0};
    if (e->builtin->id == BI_TO_JSON) {
        value_json(&text, e->argv[0]->to, self);
        return json_parse(text.data, text.len);
    }
    json_t *json = load(self->text, self->len);
    const json_t *part = json && e->argc > 1 && args[1]->kind == V_STRING ? follow(json, args[1]->text) : json;
    switch (e->builtin->id) {
    case BI_JSON_GET: answer = part && !json_is_null(part) ? json_value(part) : &value_null; break;
    case BI_JSON_DECODE: answer = decode_at(f, e->type, part); break;
    case BI_JSON_KIND:
        answer = json_is_object(json)    ? value_text("object", 6)
                 : json_is_array(json)   ? value_text("list", 4)
                 : json_is_string(json)  ? value_text("string", 6)
                 : json_is_number(json)  ? value_text("number", 6)
                 : json_is_boolean(json) ? value_text("bool", 4)
                                         : value_text("null", 4);
        break;
    default: fprintf(stderr, "interp: no method %s\n", e->builtin->name); exit(70);
    }
    json_decref(json);
    return answer;
}

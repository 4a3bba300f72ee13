/* form.c: see form.h. */
#include "value/form.h"

#include <stdio.h>
#include <string.h>

#include "value/heap.h"
#include "value/json.h"

/* ---- writing ---- */

static void write_words(TfyBuffer *out, const TfyType *type)
{
    tfy__buffer_text(out, "\"type\":\"string\",\"enum\":[");
    for (uint32_t i = 0; i < type->case_count; i++)
        tfy__buffer_printf(out, "%s\"%s\"", i ? "," : "", type->cases[i].name);
    tfy__buffer_char(out, ']');
}

static void write_type(TfyBuffer *out, const TfyType *type)
{
    switch (type->kind) {
    case TFY_BOOL: tfy__buffer_text(out, "\"type\":\"boolean\""); return;
    case TFY_INT: tfy__buffer_text(out, "\"type\":\"integer\""); return;
    case TFY_FLOAT: tfy__buffer_text(out, "\"type\":\"number\""); return;
    case TFY_ENUM: write_words(out, type); return;
    default: tfy__buffer_text(out, "\"type\":\"string\""); return;
    }
}

/* A field that may be null is one that may be left out. */
static const TfyType *plain_type(const TfyType *type)
{
    return type->kind == TFY_OPTIONAL ? type->elem : type;
}

static bool write_default(TfyBuffer *out, TfyTask *task, const TfyField *field)
{
    TfyValue value;
    if (!field->make || field->type->kind == TFY_OPTIONAL) return true;
    if (!field->make(task, &value)) return false;
    tfy__buffer_text(out, ",\"default\":");
    return tfy__encode(out, field->type, value);
}

static bool write_field(TfyBuffer *out, TfyTask *task, const TfyField *field)
{
    tfy__buffer_json_string(out, field->name, strlen(field->name));
    tfy__buffer_text(out, ":{");
    write_type(out, plain_type(field->type));
    if (field->doc) tfy__buffer_text(out, ",\"description\":");
    if (field->doc) tfy__buffer_json_string(out, field->doc, strlen(field->doc));
    if (!write_default(out, task, field)) return false;
    tfy__buffer_char(out, '}');
    return true;
}

bool tfy__form_write(TfyBuffer *out, TfyTask *task, const TfyType *record)
{
    const char *before = "";
    tfy__buffer_text(out, "{\"type\":\"object\",\"properties\":{");
    for (uint32_t i = 0; i < record->field_count; i++) {
        if (i) tfy__buffer_char(out, ',');
        if (!write_field(out, task, &record->fields[i])) return false;
    }
    tfy__buffer_text(out, "},\"required\":[");
    for (uint32_t i = 0; i < record->field_count; i++) {
        const TfyField *field = &record->fields[i];
        if (field->make || field->type->kind == TFY_OPTIONAL) continue;
        tfy__buffer_printf(out, "%s\"%s\"", before, field->name);
        before = ",";
    }
    tfy__buffer_text(out, "]}");
    return !out->failed;
}

/* ---- reading ---- */

static bool may_decline(const json_t *schema)
{
    return json_is_true(json_object_get(schema, TFY_FORM_MAY_DECLINE));
}

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* The list of what a property may be, from "enum", or from "const" of the parts of "oneOf" or "anyOf"; owned, empty: it
 * is not a choice. */
static json_t *choices_of(const json_t *property)
{
    static const char *const lists[] = {"oneOf", "anyOf"};
    json_t *named = json_object_get(property, "enum"), *choices, *part;
    size_t i;
    if (json_is_array(named)) return json_incref(named);
    choices = json_array();
    for (size_t at = 0; at < sizeof lists / sizeof *lists; at++)
        json_array_foreach(json_object_get(property, lists[at]), i, part)
            json_array_append(choices, json_object_get(part, "const"));
    return choices;
}

static bool is_among(const json_t *choices, const json_t *value)
{
    size_t i;
    const json_t *one;
    json_array_foreach(choices, i, one) if (json_equal(one, value)) return true;
    return json_array_size(choices) == 0;
}

static bool is_within(const json_t *property, const json_t *value)
{
    const json_t *least = json_object_get(property, "minimum"), *most = json_object_get(property, "maximum");
    const double number = json_number_value(value);
    return (!json_is_number(least) || number >= json_number_value(least)) &&
           (!json_is_number(most) || number <= json_number_value(most));
}

static bool has_length(const json_t *property, size_t len)
{
    const json_t *least = json_object_get(property, "minLength"), *most = json_object_get(property, "maxLength");
    return (!json_is_integer(least) || (json_int_t)len >= json_integer_value(least)) &&
           (!json_is_integer(most) || (json_int_t)len <= json_integer_value(most));
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static bool is_list_of_choices(const json_t *property, const json_t *value)
{
    size_t i;
    const json_t *one;
    json_t *choices = choices_of(json_object_get(property, "items"));
    bool fits = json_is_array(value);
    json_array_foreach(value, i, one) fits = fits && is_among(choices, one);
    json_decref(choices);
    return fits;
}

static bool is_of_type(const json_t *property, const json_t *value)
{
    const char *type = text_at(property, "type");
    if (strcmp(type, "string") == 0)
        return json_is_string(value) && has_length(property, characters(json_string_value(value)));
    if (strcmp(type, "integer") == 0) return json_is_integer(value) && is_within(property, value);
    if (strcmp(type, "number") == 0) return json_is_number(value) && is_within(property, value);
    if (strcmp(type, "boolean") == 0) return json_is_boolean(value);
    if (strcmp(type, "array") == 0) return is_list_of_choices(property, value);
    return true;
}

static bool fits(const json_t *property, const json_t *value)
{
    json_t *choices = choices_of(property);
    const bool fine = is_of_type(property, value) && is_among(choices, value);
    json_decref(choices);
    return fine;
}

/* What a property is, for people: "string", "integer from 1 to 9", "one of red, green". */
static void put_kind(TfyBuffer *out, const json_t *property)
{
    const json_t *least = json_object_get(property, "minimum"), *most = json_object_get(property, "maximum"), *one;
    const bool is_list = strcmp(text_at(property, "type"), "array") == 0;
    json_t *choices = choices_of(is_list ? json_object_get(property, "items") : property);
    size_t i;
    if (is_list) tfy__buffer_text(out, "a list of ");
    if (json_array_size(choices))
        tfy__buffer_text(out, "one of ");
    else
        tfy__buffer_text(out, *text_at(property, "type") ? text_at(property, "type") : "any");
    json_array_foreach(choices, i, one)
    {
        if (i) tfy__buffer_text(out, ", ");
        tfy__encode_json(out, one);
    }
    json_decref(choices);
    if (json_is_number(least)) tfy__buffer_printf(out, " from %g", json_number_value(least));
    if (json_is_number(most)) tfy__buffer_printf(out, " to %g", json_number_value(most));
}

/* False: error says which property is missing or does not fit, or is not asked for. */
static bool check(const json_t *schema, const json_t *content, char *error)
{
    const json_t *properties = json_object_get(schema, "properties"), *value, *name;
    const char *key;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)content, key, value)
    {
        const json_t *property = json_object_get(properties, key);
        TfyBuffer kind = {0};
        if (property && fits(property, value)) continue;
        if (property) put_kind(&kind, property);
        if (property)
            snprintf(error, TFY_ERROR_TEXT, "'%.60s' must be: %.300s", key, kind.failed ? "" : kind.data);
        else
            snprintf(error, TFY_ERROR_TEXT, "'%.60s' is not asked for", key);
        tfy__buffer_free(&kind);
        return false;
    }
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        if (!json_is_string(name) || json_object_get(content, json_string_value(name))) continue;
        snprintf(error, TFY_ERROR_TEXT, "'%.60s' is missing", json_string_value(name));
        return false;
    }
    return true;
}

/* What a person leaves out, and what is null, has its default. */
static void complete(const json_t *schema, json_t *content)
{
    const char *key;
    void *next;
    json_t *property, *value;
    json_object_foreach_safe(content, next, key, value)
        if (json_is_null(value)) json_object_del(content, key);
    json_object_foreach(json_object_get(schema, "properties"), key, property)
    {
        json_t *usual = json_object_get(property, "default");
        if (usual && !json_object_get(content, key)) json_object_set(content, key, usual);
    }
}

json_t *tfy__form_content(const json_t *schema, const char *text, char *error)
{
    json_t *content = strcmp(text, "yes") == 0 ? json_object() : json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(content)) {
        complete(schema, content);
        if (check(schema, content, error)) return content;
    } else {
        snprintf(error, TFY_ERROR_TEXT, "'%.60s' is not an answer to this question; it takes a JSON object%s", text,
                 may_decline(schema) ? ", yes or no" : "");
    }
    json_decref(content);
    return NULL;
}

bool tfy__form_fits(const json_t *schema, const char *text, char *error)
{
    if (may_decline(schema) && strcmp(text, "no") == 0) return true;
    json_t *content = tfy__form_content(schema, text, error);
    json_decref(content);
    return content;
}

bool tfy__form_read(TfyTask *task, const TfyType *record, const char *text, TfyValue *out, char *error)
{
    TfyBuffer form = {0};
    json_t *schema = NULL, *content = NULL;
    if (tfy__form_write(&form, task, record)) schema = json_loadb(form.data, form.len, 0, NULL);
    if (schema) content = tfy__form_content(schema, text, error);
    const bool read = content && tfy__decode_json(task, record, content, out, error);
    json_decref(content);
    json_decref(schema);
    tfy__buffer_free(&form);
    return read;
}

static bool is_required(const json_t *schema, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(schema, "required"), i,
                       one) if (json_is_string(one) && strcmp(json_string_value(one), name) == 0) return true;
    return false;
}

void tfy__form_describe(const json_t *schema, TfyBuffer *out)
{
    const char *name;
    const json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), name, property)
    {
        const char *about =
            *text_at(property, "description") ? text_at(property, "description") : text_at(property, "title");
        const json_t *usual = json_object_get(property, "default");
        tfy__buffer_printf(out, "%s%s: ", out->len ? "\n" : "", name);
        put_kind(out, property);
        if (*about) tfy__buffer_printf(out, ", %s", about);
        if (usual) tfy__buffer_text(out, "; usually ");
        if (usual) tfy__encode_json(out, usual);
        if (!usual && !is_required(schema, name)) tfy__buffer_text(out, "; may be left out");
    }
}

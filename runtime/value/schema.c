/* schema.c: types as JSON Schema, for models that must answer in JSON. Records, enums and errors are defined once
 * under "$defs" and referenced from there: types may be recursive, and inlining would repeat every type that is used
 * twice, and again inside each copy. The requested type is at the root, where providers require an object, and is
 * "#". Doc comments are descriptions: what they say is meant for the reader of a value, and a model is one. */
#include "base/grow.h"
#include "value/json.h"
#include "value/names.h"

#include <stdlib.h>

/* The named types that are reachable from the root, each once, in the order of discovery. */
typedef struct Defs {
    const TfyType **types; /* types[0] is the root if the root is a named type */
    size_t len;            /* number of types */
    size_t cap;            /* room */
    bool failed;           /* out of memory */
    bool root_named;       /* types[0] is written at the root */
} Defs;

static bool named(const TfyType *type)
{
    return type->kind == TFY_RECORD || type->kind == TFY_ENUM || type->kind == TFY_ERROR;
}

static size_t position(const Defs *defs, const TfyType *type)
{
    size_t i = 0;
    while (i < defs->len && defs->types[i] != type) i++;
    return i;
}

/* Notes the named type inside a type; types inside the named one are found later. */
static void find(Defs *defs, const TfyType *type)
{
    while (!named(type) && type->elem) type = type->elem;
    if (!named(type) || defs->failed || position(defs, type) < defs->len) return;
    if (!GROW(defs->types, defs->cap, defs->len + 1, 16)) {
        defs->failed = true;
        return;
    }
    defs->types[defs->len++] = type;
}

static void find_all(Defs *defs, const TfyType *root)
{
    find(defs, root);
    for (size_t at = 0; at < defs->len; at++) {
        const TfyType *type = defs->types[at];
        for (uint32_t i = 0; i < type->field_count; i++) find(defs, type->fields[i].type);
        for (uint32_t i = 0; i < type->case_count; i++)
            for (uint32_t k = 0; k < type->cases[i].field_count; k++) find(defs, type->cases[i].fields[k].type);
    }
}

/* Two modules may each have a type of the same name: the later ones get a number. */
static void write_def_name(TfyBuffer *out, const Defs *defs, size_t at)
{
    size_t same = 1;
    for (size_t i = 0; i < at; i++) same += strcmp(defs->types[i]->name, defs->types[at]->name) == 0;
    for (const char *name = defs->types[at]->name; *name; name++) /* Answer<T>: a reference is an address */
        if (*name != '>') tfy__buffer_char(out, *name == '<' ? '-' : *name);
    if (same > 1) tfy__buffer_printf(out, "_%zu", same);
}

static void write_ref(TfyBuffer *out, const Defs *defs, const TfyType *type)
{
    size_t at = position(defs, type);
    tfy__buffer_text(out, "{\"$ref\":\"#");
    if (at > 0 || !defs->root_named) {
        tfy__buffer_text(out, "/$defs/");
        write_def_name(out, defs, at);
    }
    tfy__buffer_text(out, "\"}");
}

static void write_type(TfyBuffer *out, const Defs *defs, const TfyType *type);

/* Closes the braces of what was just written again, with a description as its last member. */
static void describe(TfyBuffer *out, const char *doc)
{
    if (!doc || out->failed) return;
    out->len--;
    tfy__buffer_text(out, out->data[out->len - 1] == '{' ? "\"description\":" : ",\"description\":");
    tfy__buffer_json_string(out, doc, strlen(doc));
    tfy__buffer_char(out, '}');
}

/* The cases without fields share one schema, so their doc comments share its description: "name: doc", a line each,
 * below that of the type. `enum` with a description is read by more models and endpoints than a `const` per case. */
static void write_case_docs(TfyBuffer *out, const TfyType *type, const char *above)
{
    TfyBuffer text = {0};
    if (above) tfy__buffer_text(&text, above);
    for (uint32_t i = 0; i < type->case_count; i++) {
        const TfyCase *of = &type->cases[i];
        if (of->bare && of->doc) tfy__buffer_printf(&text, "%s%s: %s", text.len ? "\n" : "", of->name, of->doc);
    }
    if (text.len) {
        tfy__buffer_text(out, ",\"description\":");
        tfy__buffer_json_string(out, text.data, text.len);
    }
    if (text.failed) out->failed = true;
    tfy__buffer_free(&text);
}

static void write_case_names(TfyBuffer *out, const TfyType *type, const char *doc)
{
    const char *separator = "";
    tfy__buffer_text(out, "\"enum\":[");
    for (uint32_t i = 0; i < type->case_count; i++) {
        if (!type->cases[i].bare) continue;
        tfy__buffer_printf(out, "%s\"%s\"", separator, type->cases[i].name);
        separator = ",";
    }
    tfy__buffer_char(out, ']');
    write_case_docs(out, type, doc);
}

static void write_map(TfyBuffer *out, const Defs *defs, const TfyType *type)
{
    tfy__buffer_text(out, "{\"type\":\"object\",");
    if (type->key->kind == TFY_INT) tfy__buffer_text(out, "\"propertyNames\":{\"pattern\":\"^-?[0-9]+$\"},");
    if (type->key->kind == TFY_ENUM) {
        tfy__buffer_text(out, "\"propertyNames\":{");
        write_case_names(out, type->key, type->key->doc);
        tfy__buffer_text(out, "},");
    }
    tfy__buffer_text(out, "\"additionalProperties\":");
    write_type(out, defs, type->elem);
    tfy__buffer_char(out, '}');
}

/* Writes a type where it is used. Recurses only through list, map and optional, as deeply as the source nests
 * them. */
static void write_type(TfyBuffer *out, const Defs *defs, const TfyType *type)
{
    switch (type->kind) {
    case TFY_NOTHING: tfy__buffer_text(out, "{\"type\":\"null\"}"); break;
    case TFY_BOOL: tfy__buffer_text(out, "{\"type\":\"boolean\"}"); break;
    case TFY_INT:
    case TFY_TASK:
    case TFY_HANDLE:
    case TFY_CHANNEL: tfy__buffer_text(out, "{\"type\":\"integer\"}"); break;
    case TFY_FLOAT: tfy__buffer_text(out, "{\"type\":\"number\"}"); break;
    case TFY_DURATION: tfy__buffer_text(out, "{\"type\":\"string\",\"pattern\":\"^-?[0-9]+(ms|s|m|h|d)$\"}"); break;
    case TFY_TIME: tfy__buffer_text(out, "{\"type\":\"string\",\"format\":\"date-time\"}"); break;
    case TFY_STRING: tfy__buffer_text(out, "{\"type\":\"string\"}"); break;
    case TFY_BYTES: tfy__buffer_text(out, "{\"type\":\"string\",\"contentEncoding\":\"base64\"}"); break;
    case TFY_LIST:
        tfy__buffer_text(out, "{\"type\":\"array\",\"items\":");
        write_type(out, defs, type->elem);
        tfy__buffer_char(out, '}');
        break;
    case TFY_MAP: write_map(out, defs, type); break;
    case TFY_OPTIONAL:
        tfy__buffer_text(out, "{\"anyOf\":[");
        write_type(out, defs, type->elem);
        tfy__buffer_text(out, ",{\"type\":\"null\"}]}");
        break;
    case TFY_RECORD:
    case TFY_ENUM:
    case TFY_ERROR: write_ref(out, defs, type); break;
    default: tfy__buffer_text(out, "{}"); break; /* json: anything */
    }
}

/* Writes the inside of the braces of an object with fields. If given, word and name are a first member with a fixed
 * value: "case" or "error". */
static void write_object(TfyBuffer *out, const Defs *defs, uint8_t kind, const TfyField *fields, uint32_t count,
                         const char *word, const char *name)
{
    const char *separator = "";
    tfy__buffer_text(out, "\"type\":\"object\",\"properties\":{");
    if (word) tfy__buffer_printf(out, "\"%s\":{\"const\":\"%s\"}", word, name);
    for (uint32_t i = 0; i < count; i++) {
        if (i || word) tfy__buffer_char(out, ',');
        tfy__write_field_name(out, kind, fields[i].name);
        tfy__buffer_char(out, ':');
        write_type(out, defs, fields[i].type);
        describe(out, fields[i].doc);
    }
    tfy__buffer_text(out, "},\"required\":[");
    if (word) tfy__buffer_printf(out, "\"%s\"", word);
    if (word) separator = ",";
    for (uint32_t i = 0; i < count; i++) {
        if (fields[i].make || fields[i].type->kind == TFY_OPTIONAL) continue;
        tfy__buffer_text(out, separator);
        tfy__write_field_name(out, kind, fields[i].name);
        separator = ",";
    }
    tfy__buffer_text(out, "],\"additionalProperties\":false");
}

static void write_doc(TfyBuffer *out, const TfyType *type)
{
    if (!type->doc) return;
    tfy__buffer_text(out, ",\"description\":");
    tfy__buffer_json_string(out, type->doc, strlen(type->doc));
}

/* Writes an enum whose cases have fields: its bare cases as one string type, each other case as an object. */
static void write_enum(TfyBuffer *out, const Defs *defs, const TfyType *type)
{
    bool bare = false, rich = false;
    for (uint32_t i = 0; i < type->case_count; i++) *(type->cases[i].bare ? &bare : &rich) = true;
    if (rich) tfy__buffer_text(out, bare ? "\"anyOf\":[{" : "\"anyOf\":[");
    if (bare) {
        tfy__buffer_text(out, "\"type\":\"string\",");
        write_case_names(out, type, rich ? NULL : type->doc);
    }
    if (!rich) return;
    if (bare) tfy__buffer_char(out, '}');
    for (uint32_t i = 0; i < type->case_count; i++) {
        const TfyCase *of = &type->cases[i];
        if (of->bare) continue;
        tfy__buffer_text(out, bare ? ",{" : "{");
        bare = true;
        write_object(out, defs, TFY_ENUM, of->fields, of->field_count, "case", of->name);
        tfy__buffer_char(out, '}');
        describe(out, of->doc);
    }
    tfy__buffer_char(out, ']');
    write_doc(out, type);
}

/* Writes the inside of the braces of a named type's own schema. */
static void write_def(TfyBuffer *out, const Defs *defs, const TfyType *type)
{
    if (type->kind == TFY_ENUM) {
        write_enum(out, defs, type);
    } else {
        const char *word = type->kind == TFY_ERROR ? "error" : NULL;
        write_object(out, defs, type->kind, type->fields, type->field_count, word, type->name);
        write_doc(out, type);
    }
}

static void write_defs(TfyBuffer *out, const Defs *defs)
{
    size_t first = defs->root_named;
    if (defs->len == first) return;
    tfy__buffer_text(out, ",\"$defs\":{");
    for (size_t i = first; i < defs->len; i++) {
        tfy__buffer_text(out, i > first ? ",\"" : "\"");
        write_def_name(out, defs, i);
        tfy__buffer_text(out, "\":{");
        write_def(out, defs, defs->types[i]);
        tfy__buffer_char(out, '}');
    }
    tfy__buffer_char(out, '}');
}

bool tfy__schema(TfyBuffer *out, const TfyType *type)
{
    Defs defs = {.root_named = named(type)};
    find_all(&defs, type);
    if (defs.failed) {
        out->failed = true;
    } else if (defs.root_named) {
        tfy__buffer_char(out, '{');
        write_def(out, &defs, type);
        write_defs(out, &defs);
        tfy__buffer_char(out, '}');
    } else if (defs.len == 0) {
        write_type(out, &defs, type);
    } else {
        /* the definitions follow as a second member, so the root type goes into "allOf" */
        tfy__buffer_text(out, "{\"allOf\":[");
        write_type(out, &defs, type);
        tfy__buffer_char(out, ']');
        write_defs(out, &defs);
        tfy__buffer_char(out, '}');
    }
    free(defs.types);
    return !out->failed;
}

/* emit_schema.c: what a tool, prompt, workflow, fn or type takes and gives, as JSON Schema.
 *
 * {"name", "kind", "description"?, "parameters": schema of an object, "result": schema}, or {"name", "kind",
 * "description"?, "schema"} of a type. Types are written as the runtime writes them for models
 * (runtime/value/schema.c): named types are once under "$defs", the type asked for at the root; doc comments are
 * descriptions. A test holds the two together. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ctext.h"
#include "machine.h"

/* The named types that are reached from one root, each once, in the order of finding. */
typedef struct Defs {
    Arena *arena;
    const Type **types;
    uint32_t count, cap;
    bool root_named; /* types[0] is written at the root */
} Defs;

static bool is_named(const Type *type)
{
    return type->kind == TYPE_RECORD || type->kind == TYPE_ENUM || type->kind == TYPE_ERROR;
}

static uint32_t find_def(const Defs *defs, const Type *type)
{
    uint32_t i = 0;
    while (i < defs->count && defs->types[i] != type) i++;
    return i;
}

static void note_type(Defs *defs, const Type *type)
{
    while (!is_named(type) && type->elem) type = type->elem;
    if (!is_named(type) || find_def(defs, type) < defs->count) return;
    defs->types = arena_grow(defs->arena, defs->types, &defs->cap, defs->count + 1, sizeof *defs->types);
    defs->types[defs->count++] = type;
}

/* What the types noted so far hold, and so on. */
static void note_insides(Defs *defs)
{
    for (uint32_t at = 0; at < defs->count; at++) {
        const Type *type = defs->types[at];
        for (uint32_t i = 0; i < type->field_count; i++) note_type(defs, type->fields[i].type);
        for (uint32_t i = 0; i < type->case_count; i++)
            for (uint32_t k = 0; k < type->cases[i].field_count; k++) note_type(defs, type->cases[i].fields[k].type);
    }
}

static void describe(json_t *schema, const char *doc)
{
    if (doc) json_object_set_new(schema, "description", json_string(doc));
}

static json_t *typed(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

/* A reference is an address, and has no brackets: Answer-Verdict. */
static const char *def_name(const Defs *defs, const Type *type)
{
    char *name = arena_strndup(defs->arena, type->name, strlen(type->name)), *end = name;
    for (const char *at = type->name; *at; at++)
        if (*at != '>') *end++ = *at == '<' ? '-' : *at;
    *end = '\0';
    return name;
}

/* ---- types where they are used ---- */

static json_t *refer(const Defs *defs, const Type *type)
{
    uint32_t at = find_def(defs, type);
    bool root = at == 0 && defs->root_named;
    return json_pack("{s:o}", "$ref", json_sprintf(root ? "#" : "#/$defs/%s", def_name(defs, defs->types[at])));
}

static json_t *bare_cases(const Type *type)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < type->case_count; i++)
        if (!type->cases[i].field_count) json_array_append_new(names, json_string(type->cases[i].name));
    return names;
}

/* The doc comments of cases without fields share one description, below that of the type. */
static void describe_cases(const Defs *defs, json_t *schema, const Type *type, const char *doc)
{
    Text text = {.arena = defs->arena};
    if (doc) text_put(&text, doc);
    for (uint32_t i = 0; i < type->case_count; i++) {
        const TypeCase *of = &type->cases[i];
        if (!of->field_count && of->doc) text_format(&text, "%s%s: %s", text.len ? "\n" : "", of->name, of->doc);
    }
    if (text.len) describe(schema, text.data);
}

static const char *doc_of(const Type *type)
{
    return type->decl ? type->decl->doc : NULL;
}

static json_t *write_type(const Defs *defs, const Type *type);

static json_t *write_map(const Defs *defs, const Type *type)
{
    json_t *schema = typed("object");
    if (type->key->kind == TYPE_INT)
        json_object_set_new(schema, "propertyNames", json_pack("{s:s}", "pattern", "^-?[0-9]+$"));
    if (type->key->kind == TYPE_ENUM) {
        json_t *names = json_pack("{s:o}", "enum", bare_cases(type->key));
        describe_cases(defs, names, type->key, doc_of(type->key));
        json_object_set_new(schema, "propertyNames", names);
    }
    json_object_set_new(schema, "additionalProperties", write_type(defs, type->elem));
    return schema;
}

/* Recursive only through list, map and optional: that depth is written in the source. */
static json_t *write_type(const Defs *defs, const Type *type)
{
    switch (type->kind) {
    case TYPE_NOTHING: return typed("null");
    case TYPE_BOOL: return typed("boolean");
    case TYPE_INT:
    case TYPE_TASK:
    case TYPE_LISTENER:
    case TYPE_STREAM:
    case TYPE_CHANNEL: return typed("integer");
    case TYPE_FLOAT: return typed("number");
    case TYPE_STRING: return typed("string");
    case TYPE_DURATION: return json_pack("{s:s, s:s}", "type", "string", "pattern", "^-?[0-9]+(ms|s|m|h|d)$");
    case TYPE_TIME: return json_pack("{s:s, s:s}", "type", "string", "format", "date-time");
    case TYPE_BYTES: return json_pack("{s:s, s:s}", "type", "string", "contentEncoding", "base64");
    case TYPE_LIST: return json_pack("{s:s, s:o}", "type", "array", "items", write_type(defs, type->elem));
    case TYPE_THREAD: return json_pack("{s:s, s:{}}", "type", "array", "items");
    case TYPE_MAP: return write_map(defs, type);
    case TYPE_OPTIONAL: return json_pack("{s:[o, {s:s}]}", "anyOf", write_type(defs, type->elem), "type", "null");
    case TYPE_RECORD:
    case TYPE_ENUM:
    case TYPE_ERROR: return refer(defs, type);
    default: return json_object(); /* json: anything */
    }
}

/* ---- objects ---- */

/* As the runtime names fields in JSON: words that cases and errors put among them get one underscore more. */
static const char *json_name(const Defs *defs, TypeKind kind, const char *name)
{
    size_t len = strlen(name);
    while (len && name[len - 1] == '_') len--;
    bool is_case = len == 4 && memcmp(name, "case", 4) == 0, is_line = len == 4 && memcmp(name, "line", 4) == 0;
    bool is_error = len == 5 && memcmp(name, "error", 5) == 0;
    bool taken = kind == TYPE_ENUM ? is_case : kind == TYPE_ERROR && (is_error || is_line);
    return taken ? arena_printf(defs->arena, "%s_", name) : name;
}

/* An object of fields; word and name, when there, are a first member with a fixed value. */
static json_t *write_object(const Defs *defs, TypeKind kind, const TypeField *fields, uint32_t count, const char *word,
                            const char *name)
{
    json_t *schema = typed("object"), *properties = json_object(), *required = json_array();
    if (word) json_object_set_new(properties, word, json_pack("{s:s}", "const", name));
    if (word) json_array_append_new(required, json_string(word));
    for (uint32_t i = 0; i < count; i++) {
        const char *key = json_name(defs, kind, fields[i].name);
        json_t *property = write_type(defs, fields[i].type);
        describe(property, fields[i].doc);
        json_object_set_new(properties, key, property);
        bool optional = fields[i].value || fields[i].type->kind == TYPE_OPTIONAL;
        if (!optional) json_array_append_new(required, json_string(key));
    }
    json_object_set_new(schema, "properties", properties);
    json_object_set_new(schema, "required", required);
    json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

/* An enum whose cases have fields: its bare cases as one string type, each other as an object. */
static json_t *write_enum(const Defs *defs, const Type *type)
{
    json_t *names = bare_cases(type), *choices = json_array();
    bool bare = json_array_size(names) > 0;
    json_t *words = json_pack("{s:s, s:o}", "type", "string", "enum", names);
    for (uint32_t i = 0; i < type->case_count; i++) {
        const TypeCase *of = &type->cases[i];
        if (!of->field_count) continue;
        json_t *choice = write_object(defs, TYPE_ENUM, of->fields, of->field_count, "case", of->name);
        describe(choice, of->doc);
        json_array_append_new(choices, choice);
    }
    bool rich = json_array_size(choices) > 0;
    describe_cases(defs, words, type, rich ? NULL : doc_of(type));
    if (!rich) {
        json_decref(choices);
        return words;
    }
    if (bare) json_array_insert(choices, 0, words);
    json_decref(words);
    return json_pack("{s:o}", "anyOf", choices);
}

static json_t *write_def(const Defs *defs, const Type *type)
{
    bool error = type->kind == TYPE_ERROR;
    json_t *schema = type->kind == TYPE_ENUM ? write_enum(defs, type)
                                             : write_object(defs, type->kind, type->fields, type->field_count,
                                                            error ? "error" : NULL, type->name);
    bool words = type->kind == TYPE_ENUM && !json_object_get(schema, "anyOf");
    if (!words) describe(schema, doc_of(type));
    return schema;
}

static void add_defs(const Defs *defs, json_t *schema)
{
    uint32_t first = defs->root_named;
    if (defs->count == first) return;
    json_t *object = json_object();
    for (uint32_t i = first; i < defs->count; i++)
        json_object_set_new(object, def_name(defs, defs->types[i]), write_def(defs, defs->types[i]));
    json_object_set_new(schema, "$defs", object);
}

/* ---- the parts of a declaration ---- */

/* Beside the definitions, the root must be one of several members. */
static json_t *schema_of_type(const Type *type, Arena *arena)
{
    Defs defs = {.arena = arena, .root_named = is_named(type)};
    note_type(&defs, type);
    note_insides(&defs);
    json_t *schema = defs.root_named ? write_def(&defs, type) : write_type(&defs, type);
    if (!defs.root_named && defs.count) schema = json_pack("{s:[o]}", "allOf", schema);
    add_defs(&defs, schema);
    return schema;
}

static json_t *schema_of_params(const Decl *decl, Arena *arena)
{
    Defs defs = {.arena = arena};
    TypeField *fields = arena_alloc(arena, (decl->param_count + 1) * sizeof *fields);
    uint32_t count = 0;
    for (const Field *field = decl->params; field; field = field->next) {
        note_type(&defs, field->type);
        fields[count++] =
            (TypeField){.name = field->name.text, .type = field->type, .value = field->value, .doc = field->doc};
    }
    note_insides(&defs);
    json_t *schema = write_object(&defs, TYPE_RECORD, fields, count, NULL, NULL);
    add_defs(&defs, schema);
    return schema;
}

/* What a declaration with a schema is called. NULL: it has none, since its types are not known, or since it is a part
 * of an agent that nobody calls. */
static const char *kind_name(const Decl *decl)
{
    if (decl->generic || (decl->made_for && decl->kind == DECL_PROMPT)) return NULL;
    switch (decl->kind) {
    case DECL_TOOL: return "tool";
    case DECL_PROMPT: return "prompt";
    case DECL_WORKFLOW: return "workflow";
    case DECL_FN: return "fn";
    case DECL_TYPE: return "type";
    case DECL_ENUM: return "enum";
    case DECL_ERROR: return "error";
    default: return NULL;
    }
}

static json_t *schema_of_decl(const Decl *decl, Arena *arena)
{
    json_t *object = json_pack("{s:s, s:s}", "name", decl->full_name, "kind", kind_name(decl));
    describe(object, decl->doc);
    if (is_named(decl->type) && decl->type->decl == decl) {
        json_object_set_new(object, "schema", schema_of_type(decl->type, arena));
        return object;
    }
    json_object_set_new(object, "parameters", schema_of_params(decl, arena));
    json_object_set_new(object, "result", schema_of_type(decl->type, arena));
    return object;
}

/* ---- finding the declaration ---- */

static const char *nearest_name(const Program *program, const char *name)
{
    const char **names = arena_alloc(program->arena, (program->decl_count + 1) * sizeof *names);
    size_t count = 0;
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (kind_name(program->decls[i])) names[count++] = program->decls[i]->full_name;
    return diag_nearest(name, strlen(name), names, count);
}

char *emit_schema(const Program *program, const char *name, size_t *len, const char **nearest)
{
    const Decl *decl = NULL;
    for (uint32_t i = 0; i < program->decl_count && !decl; i++)
        if (kind_name(program->decls[i]) && strcmp(program->decls[i]->full_name, name) == 0) decl = program->decls[i];
    if (!decl) {
        *nearest = nearest_name(program, name);
        return NULL;
    }
    json_t *object = schema_of_decl(decl, program->arena);
    char *dumped = json_dumps(object, JSON_INDENT(2));
    CHECK(dumped);
    char *text = arena_printf(program->arena, "%s\n", dumped);
    *len = strlen(text);
    free(dumped);
    json_decref(object);
    return text;
}

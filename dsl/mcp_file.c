/* mcp_file.c: see mcp_file.h. */
#include "mcp_file.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "../runtime/base/list.h"
#include "../runtime/base/tool_digest.h"
#include "ast_build.h"
#include "json_place.h"
#include "literal.h"
#include "name.h"
#include "parse.h"

typedef struct Reader {
    SourceSet *sources;
    Source *source;
    Arena *arena;
    DiagList *diags;
    LIST(Decl) decls;
    Table names; /* of the declarations so far */
    /* of the schema that is being read: */
    const json_t *root;
    const char *root_place;
    const char *tool; /* the start of the names of its types: "Search" */
    Table refs;       /* "#/…" to the TypeExpr of what stands there; NULL: it is being read */
    Span span;        /* of the tool's name, for what has no place of its own */
    bool keyed;       /* of the server */
} Reader;

bool mcp_file_is(const char *path)
{
    static const char end[] = ".mcp.json";
    const size_t len = strlen(path), end_len = sizeof end - 1;
    return len > end_len && strcmp(path + len - end_len, end) == 0;
}

/* ---- places ---- */

static Span span_at(const Reader *r, const char *at)
{
    if (!at) return r->span;
    const uint32_t off = (uint32_t)(at - r->source->text);
    uint32_t len = *at == '"' ? 2 + (uint32_t)strcspn(at + 1, "\"\n") : 1;
    return (Span){r->source->base + off, off + len > r->source->len ? r->source->len - off : len};
}

/* ---- names ---- */

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_') return false;
    while (isalnum((unsigned char)*text) || *text == '_') text++;
    return !*text;
}

/* The text as a name of the language; is_word: it may be a reserved one, as those of parameters may. */
static const char *name_of(Reader *r, const char *text, bool is_word)
{
    char *name = arena_printf(r->arena, "%s%s", isdigit((unsigned char)*text) ? "_" : "", text);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at)) *at = '_';
    const bool taken = !*name || (!is_word && parse_word_is_reserved(name, strlen(name)));
    return taken ? arena_printf(r->arena, "%s_", name) : name;
}

/* "list-all_files" → "ListAllFiles" */
static const char *type_name_of(Reader *r, const char *text)
{
    char *name = arena_printf(r->arena, "%s", text), *to = name;
    bool starts = true;
    for (const char *at = text; *at; at++) {
        if (isalnum((unsigned char)*at)) *to++ = (char)(starts ? toupper((unsigned char)*at) : *at);
        starts = !isalnum((unsigned char)*at);
    }
    *to = 0;
    return name;
}

static Name as_name(Reader *r, const char *text, Span span)
{
    return (Name){name_intern(r->sources, text, strlen(text)), span};
}

/* Text for people, without what a terminal would obey. */
static const char *doc_of(Reader *r, const json_t *of)
{
    const char *text = json_string_value(json_object_get(of, "description"));
    if (!text || !*text) return NULL;
    char *doc = arena_printf(r->arena, "%s", text);
    for (char *at = doc; *at; at++)
        if ((unsigned char)*at < ' ' && *at != '\n') *at = ' ';
    return doc;
}

/* ---- declarations ---- */

static Decl *add_decl(Reader *r, DeclKind kind, const char *name, Span span, const char *doc)
{
    Decl *decl = arena_new(r->arena, Decl);
    *decl = (Decl){.kind = kind, .span = span, .name = as_name(r, name, span), .doc = doc};
    table_add(r->arena, &r->names, decl->name.text, strlen(decl->name.text))->value = decl;
    LIST_APPEND(&r->decls, decl, next);
    return decl;
}

static const char *new_type_name(Reader *r, const char *wanted)
{
    const char *name = isdigit((unsigned char)*wanted) || !*wanted ? arena_printf(r->arena, "T%s", wanted) : wanted;
    const char *first = name;
    for (uint32_t i = 2; table_find(&r->names, name, strlen(name)); i++)
        name = arena_printf(r->arena, "%s%u", first, i);
    return name;
}

/* ---- types ---- */

static TypeExpr *type_of(Reader *r, const json_t *schema, const char *name, const char *place, uint32_t depth);

static TypeExpr *new_type(Reader *r, TypeExprKind kind, const char *name, TypeExpr *args)
{
    TypeExpr *type = arena_new(r->arena, TypeExpr);
    *type = (TypeExpr){.kind = kind, .height = args ? args->height + 1 : 1, .span = r->span, .args = args};
    if (name) type->name = as_name(r, name, r->span);
    return type;
}

static TypeExpr *named(Reader *r, const char *name)
{
    return new_type(r, TYX_NAME, name, NULL);
}

static TypeExpr *optional(Reader *r, TypeExpr *type)
{
    return type->kind == TYX_OPTIONAL ? type : new_type(r, TYX_OPTIONAL, NULL, type);
}

static bool is_required(const json_t *schema, const char *property)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(schema, "required"), i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), property) == 0) return true;
    return false;
}

static Expr *null_of(Reader *r, Span span)
{
    Expr *null = arena_new(r->arena, Expr);
    *null = (Expr){.kind = EX_NULL, .height = 1, .span = span};
    return null;
}

/* A field, or a parameter; place: of the object that holds the properties. */
static Field *field_of(Reader *r, const char *name, const char *property, const json_t *schema, const json_t *of,
                       const char *owner, const char *place, uint32_t depth)
{
    const char *at = NULL, *value = json_place_member(place, property, &at);
    const Span span = span_at(r, at), outer = r->span;
    Field *field = arena_new(r->arena, Field);
    r->span = span;
    TypeExpr *type =
        type_of(r, of, arena_printf(r->arena, "%s%s", owner, type_name_of(r, property)), value, depth + 1);
    const bool required = is_required(schema, property);
    *field = (Field){.name = as_name(r, name, span), .span = span, .doc = doc_of(r, of),
                     .type_expr = required ? type : optional(r, type), .value = required ? NULL : null_of(r, span)};
    r->span = outer;
    return field;
}

static bool has_plain_names(const json_t *properties)
{
    const char *name;
    const json_t *of;
    json_object_foreach((json_t *)properties, name, of)
        if (!is_name(name) || !json_is_object(of)) return false;
    return json_object_size(properties) > 0;
}

/* What the schema of an object with properties is. Other members than those are refused by the server, or of no use. */
static TypeExpr *record_of(Reader *r, const json_t *schema, const char *wanted, const char *place, uint32_t depth)
{
    const json_t *properties = json_object_get(schema, "properties"), *of;
    const char *at = json_place_member(place, "properties", NULL), *property, *name = new_type_name(r, wanted);
    if (!has_plain_names(properties)) return named(r, "json");
    Decl *decl = add_decl(r, DECL_TYPE, name, r->span, doc_of(r, schema));
    FieldList fields = {0};
    json_object_foreach((json_t *)properties, property, of)
        fields = field_push(fields, field_of(r, property, property, schema, of, name, at, depth));
    decl->params = fields.first;
    return named(r, name);
}

static TypeExpr *enum_of(Reader *r, const json_t *schema, const json_t *words, const char *wanted)
{
    bool texts = true, names = true;
    size_t i, j;
    const json_t *word, *other;
    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        texts &= text != NULL;
        names &= text && is_name(text) && !parse_word_is_reserved(text, strlen(text));
        for (j = 0; j < i && (other = json_array_get(words, j)); j++) names &= !json_equal(word, other);
    }
    if (!texts || !json_array_size(words)) return named(r, "json");
    if (!names) return named(r, "string");
    const char *name = new_type_name(r, wanted);
    Decl *decl = add_decl(r, DECL_ENUM, name, r->span, doc_of(r, schema));
    EnumCaseList cases = {0};
    json_array_foreach(words, i, word)
    {
        EnumCase *one = arena_new(r->arena, EnumCase);
        *one = (EnumCase){.name = as_name(r, json_string_value(word), r->span), .span = r->span};
        cases = enum_case_push(cases, one);
    }
    decl->cases = cases.first;
    return named(r, name);
}

/* What "#/a/b" names in the schema that is being read; NULL: nothing. *place: where. */
static const json_t *find_ref(const Reader *r, const char *ref, const char **place, const char **last)
{
    const json_t *at = r->root;
    *place = r->root_place;
    if (ref[0] != '#' || ref[1] != '/') return NULL;
    for (const char *part = ref + 2; at;) {
        const size_t len = strcspn(part, "/");
        char *name = arena_strndup(r->arena, part, len);
        if (strpbrk(name, "~%")) return NULL;
        at = json_object_get(at, name);
        *place = json_place_member(*place, name, NULL);
        *last = name;
        if (!part[len]) break;
        part += len + 1;
    }
    return at;
}

/* A schema that leads back to itself has no type of ours. */
static TypeExpr *ref_of(Reader *r, const char *ref, uint32_t depth)
{
    const size_t len = strlen(ref);
    const char *place, *last = "";
    TableItem *known = table_find(&r->refs, ref, len);
    if (known) return known->value ? named(r, ((TypeExpr *)known->value)->name.text) : named(r, "json");
    const json_t *target = find_ref(r, ref, &place, &last);
    if (!json_is_object(target)) return named(r, "json");
    TableItem *item = table_add(r->arena, &r->refs, arena_strndup(r->arena, ref, len), len);
    const char *wanted = arena_printf(r->arena, "%s%s", r->tool, type_name_of(r, last));
    TypeExpr *type = type_of(r, target, wanted, place, depth + 1);
    if (type->kind == TYX_NAME) item->value = type;
    return type;
}

/* The one of two schemas that is not null's; NULL: they are not a type or null. */
static const json_t *other_than_null(const json_t *choices)
{
    const json_t *a = json_array_get(choices, 0), *b = json_array_get(choices, 1);
    const char *a_type = json_string_value(json_object_get(a, "type"));
    const char *b_type = json_string_value(json_object_get(b, "type"));
    if (json_array_size(choices) != 2) return NULL;
    if (b_type && strcmp(b_type, "null") == 0) return a;
    return a_type && strcmp(a_type, "null") == 0 ? b : NULL;
}

/* The word of "type", and whether null is allowed besides: ["string", "null"]. NULL: there is no one word. */
static const char *type_word(const json_t *schema, bool *null)
{
    const json_t *type = json_object_get(schema, "type"), *one;
    const char *word = json_string_value(type);
    size_t i;
    if (!json_is_array(type)) return word;
    json_array_foreach(type, i, one)
    {
        const char *text = json_string_value(one);
        if (!text) return NULL;
        if (strcmp(text, "null") == 0)
            *null = true;
        else if (word)
            return NULL;
        else
            word = text;
    }
    return word;
}

static TypeExpr *plain_type(Reader *r, const json_t *schema, const char *word, const char *name, const char *place,
                            uint32_t depth)
{
    static const char *const words[][2] = {
        {"string", "string"}, {"integer", "int"}, {"number", "float"}, {"boolean", "bool"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i][0]) == 0) return named(r, words[i][1]);
    const json_t *items = json_object_get(schema, "items");
    if (strcmp(word, "array") == 0)
        return new_type(r, TYX_GENERIC, "list",
                        type_of(r, items, name, json_place_member(place, "items", NULL), depth + 1));
    return strcmp(word, "object") == 0 ? record_of(r, schema, name, place, depth) : named(r, "json");
}

static TypeExpr *type_of(Reader *r, const json_t *schema, const char *name, const char *place, uint32_t depth)
{
    bool null = false;
    if (!json_is_object(schema) || depth > MCP_DEPTH_MAX) return named(r, "json");
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref) return ref_of(r, ref, depth);
    const json_t *choices = json_object_get(schema, "anyOf"), *words = json_object_get(schema, "enum");
    if (!choices) choices = json_object_get(schema, "oneOf");
    const json_t *one = other_than_null(choices);
    if (one) return optional(r, type_of(r, one, name, NULL, depth + 1));
    if (choices || json_object_get(schema, "allOf") || json_object_get(schema, "const")) return named(r, "json");
    if (json_is_array(words)) return enum_of(r, schema, words, name);
    const char *word = type_word(schema, &null);
    TypeExpr *type = word ? plain_type(r, schema, word, name, place, depth) : named(r, "json");
    const bool is_json = type->kind == TYX_NAME && strcmp(type->name.text, "json") == 0; /* null is one of its values */
    return null && !is_json ? optional(r, type) : type;
}

/* ---- tools ---- */

typedef struct Params {
    FieldList list;
    const char **names;
    uint32_t count;
} Params;

static void add_params(Reader *r, Params *params, const json_t *schema, const char *place, bool required)
{
    const json_t *of;
    const char *property;
    const char *at = json_place_member(place, "properties", NULL);
    json_object_foreach(json_object_get(schema, "properties"), property, of)
    {
        if (is_required(schema, property) != required) continue;
        Field *field = field_of(r, name_of(r, property, true), property, schema, of, r->tool, at, 0);
        for (const Field *f = params->list.first; f; f = f->next)
            if (f->name.text == field->name.text)
                diag_error(r->diags, field->span, "two parameters of a tool are called '%s' here", f->name.text);
        params->list = field_push(params->list, field);
        params->names[params->count++] = arena_strndup(r->arena, property, strlen(property));
    }
}

static void enter_schema(Reader *r, const json_t *schema, const char *place)
{
    r->root = schema;
    r->root_place = place;
    r->refs = (Table){0};
}

/* NULL after a message. place: of the tool. */
static Decl *declare_tool(Reader *r, const json_t *tool, const char *place)
{
    const char *wire = json_string_value(json_object_get(tool, "name")), *at = json_place_member(place, "name", NULL);
    r->span = span_at(r, at ? at : place);
    if (!wire || !*wire || !json_is_object(json_object_get(tool, "inputSchema"))) {
        diag_error(r->diags, r->span, "a tool has a name and an inputSchema");
        return NULL;
    }
    const char *name = name_of(r, wire, false);
    const TableItem *before = table_find(&r->names, name, strlen(name));
    if (!before) return add_decl(r, DECL_TOOL, name, r->span, doc_of(r, tool));
    Diag *diag = diag_error(r->diags, r->span, "two tools are called '%s' here", name);
    diag_other(r->diags, diag, ((const Decl *)before->value)->name.span, "the other one");
    return NULL;
}

static void read_tool(Reader *r, Decl *decl, const json_t *tool, const char *place)
{
    const char *wire = json_string_value(json_object_get(tool, "name"));
    const json_t *takes = json_object_get(tool, "inputSchema"), *gives = json_object_get(tool, "outputSchema");
    const size_t most = json_object_size(json_object_get(takes, "properties")) + 1;
    const char *takes_at = json_place_member(place, "inputSchema", NULL);
    Params params = {.names = arena_alloc(r->arena, most * sizeof *params.names)};
    ServerTool *remote = arena_new(r->arena, ServerTool);
    r->span = decl->span;
    r->tool = type_name_of(r, wire);
    enter_schema(r, takes, takes_at);
    add_params(r, &params, takes, takes_at, true);
    add_params(r, &params, takes, takes_at, false);
    const char *gives_at = json_place_member(place, "outputSchema", NULL);
    enter_schema(r, gives, gives_at);
    decl->params = params.list.first;
    decl->result = gives ? type_of(r, gives, arena_printf(r->arena, "%sResult", r->tool), gives_at, 0)
                         : named(r, "string");
    decl->provider = PROV_MCP;
    decl->provider_value = literal_made(r->arena, wire, r->span);
    decl->remote = remote;
    *remote = (ServerTool){.name = arena_strndup(r->arena, wire, strlen(wire)),
                           .names = params.names,
                           .schema = tfy__schema_digest(tool),
                           .doc = tfy__json_digest(json_object_get(tool, "description")),
                           .keyed = r->keyed};
}

/* All tools are declared before a type is: a type that would be called like one gets another name. */
static void read_tools(Reader *r, const json_t *tools)
{
    Decl *decls[MCP_TOOLS_MAX];
    const char *places[MCP_TOOLS_MAX];
    const json_t *tool;
    size_t i;
    const char *text = r->source->text + strspn(r->source->text, " \t\r\n");
    const char *place = json_place_first(json_place_member(text, "tools", NULL));
    json_array_foreach(tools, i, tool)
    {
        decls[i] = declare_tool(r, tool, places[i] = place);
        if (place) place = json_place_next(place);
    }
    json_array_foreach(tools, i, tool)
        if (decls[i]) read_tool(r, decls[i], tool, places[i]);
}

static void read_file(Reader *r, const json_t *file)
{
    const json_t *tools = json_object_get(file, "tools");
    if (!json_is_array(tools)) {
        Diag *diag = diag_error(r->diags, r->span, "%s has no tools", r->source->name);
        diag_hint(r->diags, diag, "tfy mcp pull writes such a file");
    } else if (json_array_size(tools) > MCP_TOOLS_MAX) {
        diag_error(r->diags, r->span, "%s has %zu tools, and %d are the most", r->source->name, json_array_size(tools),
                   MCP_TOOLS_MAX);
    } else {
        r->keyed = json_is_true(json_object_get(file, "keyed"));
        read_tools(r, tools);
    }
}

Module *mcp_file_read(SourceSet *sources, Source *source, Arena *arena, DiagList *diags)
{
    json_error_t error;
    Module *module = arena_new(arena, Module);
    Reader r = {.sources = sources, .source = source, .arena = arena, .diags = diags, .span = {source->base, 0}};
    json_t *file = json_loadb(source->text, source->len, JSON_REJECT_DUPLICATES, &error);
    module->source = source;
    module->of_server = true;
    if (file) {
        read_file(&r, file);
    } else {
        const uint32_t off = error.position > 0 ? (uint32_t)error.position - 1 : 0;
        const Span span = {source->base + (off < source->len ? off : source->len), 0};
        Diag *diag = diag_error(diags, span, "this is not JSON: %s", error.text);
        diag_hint(diags, diag, "tfy mcp pull writes %s anew", source->name);
    }
    json_decref(file);
    module->decls = r.decls.first;
    return module;
}

/* ---- what its declaration says ---- */

static Decl *find_tool(const Module *module, const char *name)
{
    Decl *decl = module->decls;
    while (decl && !(decl->kind == DECL_TOOL && strcmp(decl->name.text, name) == 0)) decl = decl->next;
    return decl;
}

static const char *nearest_tool(const Module *module, const char *name, Arena *arena)
{
    const char **names = NULL;
    uint32_t count = 0, cap = 0;
    for (const Decl *decl = module->decls; decl; decl = decl->next) {
        if (decl->kind != DECL_TOOL) continue;
        names = arena_grow(arena, names, &cap, count + 1, sizeof *names);
        names[count++] = decl->name.text;
    }
    return diag_nearest(name, strlen(name), names, count);
}

static void use_row(Module *module, const ServerRow *row, Arena *arena, DiagList *diags)
{
    Decl *tool = find_tool(module, row->name.text);
    if (!tool) {
        const char *near = nearest_tool(module, row->name.text, arena);
        Diag *diag = near ? diag_error(diags, row->name.span, "no tool '%s' in %s; did you mean '%s'?", row->name.text,
                                       module->file, near)
                          : diag_error(diags, row->name.span, "no tool '%s' in %s", row->name.text, module->file);
        if (near) diag_replace(diag, near);
        return;
    }
    if (tool->attrs) diag_error(diags, row->name.span, "'%s' is given twice", row->name.text);
    tool->attrs = row->attrs;
}

void mcp_file_use(Module *module, Decl *server, Arena *arena, DiagList *diags)
{
    for (Decl *decl = module->decls; decl; decl = decl->next)
        if (decl->kind == DECL_TOOL) decl->server = server;
    for (const ServerRow *row = server->served; row; row = row->next)
        if (row->name.text && !row->value) use_row(module, row, arena, diags);
}

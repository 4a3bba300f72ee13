/* type.c: the types of one program. Composite types are interned through a hash, so equal types are one pointer;
 * declared types are made once per declaration. Ids count up in order of creation, which keeps the generated code
 * the same from run to run. */
#include "check_internal.h"

/* list<list<…>>: nobody writes this, and names of types grow with it */
#define TYPE_DEPTH_MAX 64

typedef struct TypeNode {
    Type type; /* first: a Type pointer is a TypeNode pointer */
    uint32_t depth;
    uint32_t parts[3];    /* composite: what it is looked up by */
    Type *next_anonymous; /* of those that parallel and race made */
} TypeNode;

static uint32_t depth_of(const Type *type)
{
    return type ? ((const TypeNode *)type)->depth : 0;
}

static Type *new_type(Check *c, TypeKind kind, const char *name)
{
    TypeNode *node = arena_new(c->arena, TypeNode);
    Type *type = &node->type;
    type->kind = kind;
    type->name = name;
    type->id = c->program->type_count++;
    CHECK(!c->types.last || c->types.last->id + 1 == type->id); /* dense, in order of creation */
    LIST_APPEND(&c->types, type, next);
    c->program->types = c->types.first;
    return type;
}

Type *type_declare(Check *c, TypeKind kind, const char *name, Decl *decl)
{
    Type *type = new_type(c, kind, name);
    type->decl = decl;
    return type;
}

static bool is_scalar_kind(TypeKind kind)
{
    switch (kind) {
    case TYPE_BOOL:
    case TYPE_INT:
    case TYPE_FLOAT:
    case TYPE_DURATION:
    case TYPE_TIME:
    case TYPE_TASK:
    case TYPE_CHANNEL:
    case TYPE_LISTENER:
    case TYPE_STREAM: return true;
    default: return false;
    }
}

/* ---- interning ---- */

static const char *name_composite(Check *c, TypeKind kind, const Type *key, const Type *elem)
{
    switch (kind) {
    case TYPE_LIST: return arena_printf(c->arena, "list<%s>", elem->name);
    case TYPE_MAP: return arena_printf(c->arena, "map<%s, %s>", key->name, elem->name);
    case TYPE_TASK: return arena_printf(c->arena, "task<%s>", elem->name);
    case TYPE_CHANNEL: return arena_printf(c->arena, "channel<%s>", elem->name);
    case TYPE_RECORD: return arena_printf(c->arena, "Answer<%s>", elem->name);
    default: return arena_printf(c->arena, "%s?", elem->name);
    }
}

const Type *type_open(Check *c, const char *name)
{
    TableItem *item = table_add(c->arena, &c->open_types, name, strlen(name));
    if (!item->value) item->value = new_type(c, TYPE_BAD, name);
    return item->value;
}

static const Type *intern(Check *c, TypeKind kind, const Type *key, const Type *elem)
{
    if (elem == c->core->bad || key == c->core->bad) return c->core->bad;
    if (elem->kind == TYPE_BAD || (key && key->kind == TYPE_BAD))
        return type_open(c, name_composite(c, kind, key, elem));
    uint32_t depth = 1 + (depth_of(elem) > depth_of(key) ? depth_of(elem) : depth_of(key));
    if (depth > TYPE_DEPTH_MAX) {
        diag_error(c->diags, c->at, "this type is nested more than %d levels deep", TYPE_DEPTH_MAX);
        return c->core->bad;
    }
    const uint32_t parts[3] = {kind, key ? key->id + 1 : 0, elem->id};
    const TableItem *known = table_find(&c->composites, parts, sizeof parts);
    if (known) return known->value;
    Type *type = new_type(c, kind, name_composite(c, kind, key, elem));
    type->key = key;
    type->elem = elem;
    type->scalar = is_scalar_kind(kind);
    TypeNode *node = (TypeNode *)type;
    node->depth = depth;
    memcpy(node->parts, parts, sizeof parts);
    table_add(c->arena, &c->composites, node->parts, sizeof node->parts)->value = type;
    return type;
}

const Type *type_list(Check *c, const Type *elem)
{
    return intern(c, TYPE_LIST, NULL, elem);
}

const Type *type_map(Check *c, const Type *key, const Type *elem)
{
    return intern(c, TYPE_MAP, key, elem);
}

const Type *type_optional(Check *c, const Type *elem)
{
    if (elem->kind == TYPE_OPTIONAL || elem->kind == TYPE_NULL) return elem;
    return intern(c, TYPE_OPTIONAL, NULL, elem);
}

const Type *type_task(Check *c, const Type *elem)
{
    c->has_handle_types = true;
    return intern(c, TYPE_TASK, NULL, elem);
}

const Type *type_channel(Check *c, const Type *elem)
{
    c->has_handle_types = true;
    return intern(c, TYPE_CHANNEL, NULL, elem);
}

static bool answers(const Type *elem)
{
    return elem->kind == TYPE_BAD || elem->kind == TYPE_BOOL || elem->kind == TYPE_STRING || elem->kind == TYPE_ENUM;
}

const Type *type_answer(Check *c, const Type *elem)
{
    if (!answers(elem)) {
        Diag *diag = diag_error(c->diags, c->at, "no person answers with %s", elem->name);
        diag_hint(c->diags, diag, "Answer<T> is of bool, string or an enum");
        return c->core->bad;
    }
    const Type *type = intern(c, TYPE_RECORD, NULL, elem);
    if (type->kind == TYPE_BAD || type->fields) return type;
    const TypeField fields[] = {{.name = "value", .type = elem},
                                {.name = "by", .type = type_optional(c, c->core->string)},
                                {.name = "at", .type = c->core->time}};
    Type *made = (Type *)type;
    made->field_count = sizeof fields / sizeof *fields;
    made->fields = arena_alloc(c->arena, sizeof fields);
    memcpy(made->fields, fields, sizeof fields);
    return type;
}

bool type_is_answer(const Type *type)
{
    return type->kind == TYPE_RECORD && type->elem;
}

/* ---- the types of parallel and race: made of names, the same for the same names and types ---- */

static const char *name_of_bodies(Check *c, const char *open, const TypeField *fields, uint32_t count)
{
    const char *name = open;
    for (uint32_t i = 0; i < count; i++) {
        bool bare = fields[i].type->kind == TYPE_NOTHING;
        name = arena_printf(c->arena, "%s%s%s%s%s", name, i ? ", " : "", fields[i].name, bare ? "" : ": ",
                            bare ? "" : fields[i].type->name);
        if (i == 3 && count > 4) return arena_printf(c->arena, "%s, …}", name);
    }
    return arena_printf(c->arena, "%s}", name);
}

static bool same_bodies(const Type *type, const TypeField *fields, uint32_t count)
{
    uint32_t have = type->kind == TYPE_ENUM ? type->case_count : type->field_count;
    for (uint32_t i = 0; i < count && have == count; i++) {
        const TypeCase *k = type->kind == TYPE_ENUM ? &type->cases[i] : NULL;
        const Type *value = !k ? type->fields[i].type : k->has_fields ? k->fields[0].type : NULL;
        const Type *wanted = fields[i].type->kind == TYPE_NOTHING ? NULL : fields[i].type;
        if (value != wanted || !check_same_name(k ? k->name : type->fields[i].name, fields[i].name)) return false;
    }
    return have == count;
}

static TypeCase *cases_of_bodies(Check *c, const TypeField *fields, uint32_t count)
{
    TypeCase *cases = arena_alloc(c->arena, (count + 1) * sizeof *cases);
    for (uint32_t i = 0; i < count; i++) {
        cases[i] = (TypeCase){.name = fields[i].name, .span = fields[i].span};
        if (fields[i].type->kind == TYPE_NOTHING) continue;
        cases[i].fields = arena_new(c->arena, TypeField);
        cases[i].fields[0] = (TypeField){.name = "value", .type = fields[i].type, .span = fields[i].span};
        cases[i].field_count = 1;
        cases[i].has_fields = true;
    }
    return cases;
}

const Type *type_of_bodies(Check *c, TypeKind kind, const TypeField *fields, uint32_t count)
{
    for (Type *type = c->first_anonymous; type; type = ((TypeNode *)type)->next_anonymous) {
        if (type->kind == kind && same_bodies(type, fields, count)) return type;
    }
    Type *type = new_type(c, kind, name_of_bodies(c, kind == TYPE_ENUM ? "race {" : "{", fields, count));
    if (kind == TYPE_ENUM) {
        type->cases = cases_of_bodies(c, fields, count);
        type->case_count = count;
    } else {
        type->fields = arena_alloc(c->arena, (count + 1) * sizeof *fields);
        memcpy(type->fields, fields, count * sizeof *fields);
        type->field_count = count;
    }
    ((TypeNode *)type)->next_anonymous = c->first_anonymous;
    c->first_anonymous = type;
    return type;
}

bool type_has_name(const Type *type)
{
    return !strpbrk(type->name, "{}");
}

/* ---- the types that are always there ---- */

static const Type *new_core(Check *c, TypeKind kind, const char *name, const char *core)
{
    Type *type = new_type(c, kind, name);
    type->core = core;
    type->scalar = is_scalar_kind(kind);
    return type;
}

static Expr *new_default(Check *c, ExprKind kind, const Type *type)
{
    Expr *e = arena_new(c->arena, Expr);
    e->kind = kind;
    e->type = e->to = type;
    return e;
}

Expr *type_null_default(Check *c, const Type *optional)
{
    return new_default(c, EX_NULL, optional);
}

/* A string default that holds `text`; spans are empty because nobody wrote it. */
static Expr *new_text_default(Check *c, const char *text)
{
    Expr *e = new_default(c, EX_STRING, c->core->string);
    if (*text) {
        Expr *part = new_default(c, EX_TEXT, c->core->string);
        part->text = text;
        part->text_len = (uint32_t)strlen(text);
        e->parts = part;
    }
    return e;
}

TypeField type_message_field(Check *c, const char *error_name)
{
    return (TypeField){.name = "message", .type = c->core->string, .value = new_text_default(c, error_name)};
}

static const Expr *core_default(Check *c, const Type *type)
{
    if (type->kind == TYPE_STRING) return new_text_default(c, "");
    if (type->kind == TYPE_MAP) return new_default(c, EX_MAP, type);
    if (type->kind == TYPE_LIST) return new_default(c, EX_LIST, type);
    return new_default(c, type->kind == TYPE_BOOL ? EX_BOOL : EX_INT, type);
}

/* A built-in record or error; `extra` are the fields behind `message`. */
static const Type *new_core_fields(Check *c, TypeKind kind, const char *name, const char *core, const TypeField *extra,
                                   uint32_t count)
{
    bool is_error = kind == TYPE_ERROR;
    Type *type = new_type(c, kind, name);
    type->core = core;
    type->field_count = count + is_error;
    type->fields = arena_alloc(c->arena, (count + 1) * sizeof(TypeField));
    if (is_error) type->fields[0] = type_message_field(c, name);
    for (uint32_t i = 0; i < count; i++) {
        TypeField *field = &type->fields[i + is_error];
        *field = extra[i];
        if (is_error) field->value = core_default(c, field->type);
    }
    return type;
}

static void init_core_records(Check *c, CoreTypes *core)
{
    TypeField exec[] = {{.name = "code", .type = core->integer},
                        {.name = "out", .type = core->string},
                        {.name = "err", .type = core->string},
                        {.name = "truncated", .type = core->boolean},
                        {.name = "lossy", .type = core->boolean}};
    for (size_t i = 0; i < sizeof exec / sizeof *exec; i++) /* tests say only what matters to them */
        exec[i].value = core_default(c, exec[i].type);
    TypeField patch[] = {{.name = "path", .type = core->string}, {.name = "diff", .type = core->string}};
    TypeField response[] = {{.name = "status", .type = core->integer},
                            {.name = "headers", .type = type_map(c, core->string, core->string)},
                            {.name = "body", .type = core->string},
                            {.name = "truncated", .type = core->boolean},
                            {.name = "lossy", .type = core->boolean}};
    for (size_t i = 0; i < sizeof response / sizeof *response; i++)
        response[i].value = core_default(c, response[i].type);
    core->http_response = new_core_fields(c, TYPE_RECORD, "HttpResponse", "http_response", response, 5);
    core->exec_result = new_core_fields(c, TYPE_RECORD, "ExecResult", "exec_result", exec, 5);
    core->patch = new_core_fields(c, TYPE_RECORD, "Patch", "patch", patch, 2);
    TypeField edit[] = {{.name = "find", .type = core->string}, {.name = "replace", .type = core->string}};
    core->edit = new_core_fields(c, TYPE_RECORD, "Edit", "edit", edit, 2);
    TypeField symbol[] = {{.name = "name", .type = core->string},
                          {.name = "kind", .type = core->string},
                          {.name = "path", .type = core->string},
                          {.name = "line", .type = core->integer},
                          {.name = "end", .type = core->integer},
                          {.name = "signature", .type = type_optional(c, core->string)},
                          {.name = "scope", .type = type_optional(c, core->string)}};
    for (size_t i = 5; i < sizeof symbol / sizeof *symbol; i++) symbol[i].value = type_null_default(c, symbol[i].type);
    core->symbol = new_core_fields(c, TYPE_RECORD, "Symbol", "symbol", symbol, 7);
    TypeField place[] = {{.name = "path", .type = core->string},
                         {.name = "line", .type = core->integer},
                         {.name = "text", .type = core->string}};
    core->place = new_core_fields(c, TYPE_RECORD, "Place", "place", place, 3);
    TypeField match[] = {{.name = "text", .type = core->string},
                         {.name = "start", .type = core->integer},
                         {.name = "end", .type = core->integer},
                         {.name = "groups", .type = type_list(c, type_optional(c, core->string))}};
    core->match = new_core_fields(c, TYPE_RECORD, "Match", "match", match, 4);
    TypeField zone[] = {{.name = "name", .type = core->string}, {.name = "rules", .type = core->string}};
    core->time_zone = new_core_fields(c, TYPE_RECORD, "TimeZone", "time_zone", zone, 2);
}

/* Types whose descriptors are in each program that needs them, as those of declared types are. */

static const Type *new_core_enum(Check *c, const char *name, const TypeCase *cases, uint32_t count)
{
    Type *type = new_type(c, TYPE_ENUM, name);
    type->cases = arena_alloc(c->arena, count * sizeof *cases);
    memcpy(type->cases, cases, count * sizeof *cases);
    type->case_count = count;
    return type;
}

static TypeCase new_core_case(Check *c, const char *name, const TypeField *fields, uint32_t count)
{
    TypeField *kept = arena_alloc(c->arena, count * sizeof *fields);
    memcpy(kept, fields, count * sizeof *fields);
    return (TypeCase){.name = name, .fields = kept, .field_count = count, .has_fields = true};
}

static void init_part(Check *c, CoreTypes *core)
{
    const TypeField text = {.name = "text", .type = core->string}, data = {.name = "data", .type = core->bytes},
                    mime = {.name = "mime", .type = core->string}, uri = {.name = "uri", .type = core->string},
                    name = {.name = "name", .type = core->string};
    const TypeCase cases[] = {new_core_case(c, "text", (TypeField[]){text}, 1),
                              new_core_case(c, "image", (TypeField[]){data, mime}, 2),
                              new_core_case(c, "audio", (TypeField[]){data, mime}, 2),
                              new_core_case(c, "link", (TypeField[]){uri, name}, 2),
                              new_core_case(c, "resource", (TypeField[]){uri, mime, text}, 3)};
    core->part = new_core_enum(c, "Part", cases, sizeof cases / sizeof *cases);
}

static void init_core_emitted(Check *c, CoreTypes *core)
{
    static const TypeCase land[] = {{.name = "squash"}, {.name = "merge"}};
    core->land = new_core_enum(c, "Land", land, sizeof land / sizeof *land);
    init_part(c, core);
    TypeField result[] = {{.name = "text", .type = core->string, .value = core_default(c, core->string)},
                          {.name = "structured", .type = type_optional(c, core->json)},
                          {.name = "parts", .type = type_list(c, core->part)}};
    result[1].value = type_null_default(c, result[1].type);
    result[2].value = core_default(c, result[2].type);
    core->mcp_result = new_core_fields(c, TYPE_RECORD, "McpResult", NULL, result, 3);
}

static void init_core_errors(Check *c, CoreTypes *core)
{
    TypeField timeout[] = {{.name = "in_doubt", .type = core->boolean}};
    TypeField tool[] = {{.name = "tool", .type = core->string}, {.name = "code", .type = core->integer}};
    TypeField task[] = {{.name = "task", .type = core->string}, {.name = "kind", .type = core->string}};
    TypeField value[] = {{.name = "path", .type = core->string}};
    core->timeout = new_core_fields(c, TYPE_ERROR, "Timeout", "timeout", timeout, 1);
    core->tool_error = new_core_fields(c, TYPE_ERROR, "ToolError", "tool_error", tool, 2);
    core->task_failed = new_core_fields(c, TYPE_ERROR, "TaskFailed", "task_failed", task, 2);
    core->channel_closed = new_core_fields(c, TYPE_ERROR, "ChannelClosed", "channel_closed", NULL, 0);
    core->bad_value = new_core_fields(c, TYPE_ERROR, "BadValue", "bad_value", value, 1);
    core->lost = new_core_fields(c, TYPE_ERROR, "Lost", "lost", NULL, 0);
    TypeField budget[] = {{.name = "what", .type = core->string},
                          {.name = "limit", .type = core->floating},
                          {.name = "spent", .type = core->floating}};
    core->budget_exceeded = new_core_fields(c, TYPE_ERROR, "BudgetExceeded", "budget_exceeded", budget, 3);
    TypeField conflict[] = {{.name = "paths", .type = type_list(c, core->string)}};
    core->conflict = new_core_fields(c, TYPE_ERROR, "Conflict", "conflict", conflict, 1);
    core->denied = new_core_fields(c, TYPE_ERROR, "Denied", "denied", NULL, 0);
}

void type_init_core(Check *c)
{
    CoreTypes *core = c->core;
    core->bad = new_core(c, TYPE_BAD, "bad", NULL);
    core->nothing = new_core(c, TYPE_NOTHING, "nothing", "nothing");
    core->null = new_core(c, TYPE_NULL, "null", NULL);
    core->boolean = new_core(c, TYPE_BOOL, "bool", "bool");
    core->integer = new_core(c, TYPE_INT, "int", "int");
    core->floating = new_core(c, TYPE_FLOAT, "float", "float");
    core->duration = new_core(c, TYPE_DURATION, "duration", "duration");
    core->time = new_core(c, TYPE_TIME, "time", "time");
    core->string = new_core(c, TYPE_STRING, "string", "string");
    core->bytes = new_core(c, TYPE_BYTES, "bytes", "bytes");
    core->json = new_core(c, TYPE_JSON, "json", "json");
    core->thread = new_core(c, TYPE_THREAD, "thread", "thread");
    core->listener = new_core(c, TYPE_LISTENER, "listener", "listener");
    core->stream = new_core(c, TYPE_STREAM, "stream", "stream");
    core->any_error = new_core(c, TYPE_ANY_ERROR, "error", "any_error");
    init_core_records(c, core);
    init_core_emitted(c, core);
    init_core_errors(c, core);
    CHECK(c->types.last == core->denied); /* where type_next_core ends */
}

static bool has_core_name(const Check *c, const Type *type)
{
    if (type == c->core->land || type == c->core->part || type == c->core->mcp_result) return true;
    return type->core && type->kind != TYPE_NOTHING && type->kind != TYPE_ANY_ERROR;
}

const Type *type_next_core(const Check *c, const Type *last)
{
    if (last == c->core->denied) return NULL;
    const Type *type = last ? last->next : c->program->types;
    while (!has_core_name(c, type)) type = type->next;
    return type;
}

const Type *type_core_named(const Check *c, const char *name)
{
    const Type *type = type_next_core(c, NULL);
    while (type && strcmp(type->name, name) != 0) type = type_next_core(c, type);
    return type;
}

bool type_is_later(const Type *core)
{
    static const char *const names[] = {"BudgetExceeded", "Conflict", "Edit",   "Land",  "McpResult",
                                        "Part",           "Place",    "Symbol", "thread"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(core->name, names[i]) == 0) return true;
    return false;
}

/* ---- questions ---- */

bool type_is_descriptor(TypeKind kind)
{
    return kind == TYPE_LISTENER || kind == TYPE_STREAM;
}

const Type *type_strip(const Type *type)
{
    return type && type->kind == TYPE_OPTIONAL ? type->elem : type;
}

/* Errors and handles are left out on purpose: `${e.message}` says more, and a handle has no text that would survive
 * a resume. */
bool type_is_printable(const Type *type)
{
    switch (type->kind) {
    case TYPE_BAD:
    case TYPE_BOOL:
    case TYPE_INT:
    case TYPE_FLOAT:
    case TYPE_DURATION:
    case TYPE_TIME:
    case TYPE_STRING:
    case TYPE_JSON:
    case TYPE_THREAD:
    case TYPE_RECORD:
    case TYPE_ENUM: return true;
    case TYPE_LIST:
    case TYPE_MAP: return type_is_printable(type_strip(type->elem));
    default: return false;
    }
}

bool type_is_ordered(const Type *type)
{
    switch (type->kind) {
    case TYPE_INT:
    case TYPE_FLOAT:
    case TYPE_STRING:
    case TYPE_TIME:
    case TYPE_DURATION: return true;
    default: return false;
    }
}

/* An enum whose cases carry values has no text that could be a JSON key. */
bool type_is_key(const Type *type)
{
    if (type->kind == TYPE_STRING || type->kind == TYPE_INT || type->kind == TYPE_BAD) return true;
    if (type->kind != TYPE_ENUM) return false;
    for (const EnumCase *k = type->decl ? type->decl->cases : NULL; k; k = k->next) {
        if (k->has_fields) return false;
    }
    return type->decl || type_has_name(type);
}

typedef struct TypeWalk {
    const Type **stack;
    uint32_t count, cap;
    uint32_t number; /* of this walk; a type that it has seen carries it */
} TypeWalk;

static void walk_push(Check *c, TypeWalk *walk, const Type *type)
{
    if (!type || type->walk == walk->number) return;
    ((Type *)type)->walk = walk->number;
    walk->stack = arena_grow(c->arena, walk->stack, &walk->cap, walk->count + 1, sizeof *walk->stack);
    walk->stack[walk->count++] = type;
}

static void walk_push_fields(Check *c, TypeWalk *walk, const TypeField *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) walk_push(c, walk, fields[i].type);
}

static bool is_handle_kind(TypeKind kind)
{
    return kind == TYPE_TASK || kind == TYPE_CHANNEL || type_is_descriptor(kind);
}

static bool find_handle(Check *c, const Type *type)
{
    TypeWalk walk = {.number = ++c->type_walks};
    walk_push(c, &walk, type);
    while (walk.count) {
        const Type *at = walk.stack[--walk.count];
        if (is_handle_kind(at->kind) || at->handle == HANDLE_YES) return true;
        if (at->handle == HANDLE_NO) continue;
        walk_push(c, &walk, at->key);
        walk_push(c, &walk, at->elem);
        walk_push_fields(c, &walk, at->fields, at->field_count);
        for (uint32_t i = 0; i < at->case_count; i++) {
            walk_push_fields(c, &walk, at->cases[i].fields, at->cases[i].field_count);
        }
    }
    return false;
}

/* What a type holds never changes, so it is searched once. */
bool type_has_handle(Check *c, const Type *type)
{
    if (!c->has_handle_types) return false;
    if (type->handle == HANDLE_UNKNOWN) ((Type *)type)->handle = find_handle(c, type) ? HANDLE_YES : HANDLE_NO;
    return type->handle == HANDLE_YES;
}

int type_find_field(const TypeField *fields, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (check_same_name(fields[i].name, name)) return (int)i;
    }
    return -1;
}

/* ---- the notation of the tables in builtin.c ---- */

static const Type *read_notation(Check *c, const char **text, const Type *receiver)
{
    const char *start = *text;
    size_t len = strspn(start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const Type *type;
    *text += len;
    if (len == 1) {
        type = *start == 'K'   ? receiver->key
               : *start == 'E' ? receiver->elem->elem
               : *start == 'U' ? c->inline_type
                               : receiver->elem;
    } else if (strncmp(start, "list<", 5) == 0) {
        ++*text;
        type = type_list(c, read_notation(c, text, receiver));
        ++*text;
    } else if (strncmp(start, "map<", 4) == 0) {
        ++*text;
        const Type *key = read_notation(c, text, receiver);
        ++*text;
        type = type_map(c, key, read_notation(c, text, receiver));
        ++*text;
    } else if (strncmp(start, "nothing", len) == 0) {
        type = c->core->nothing;
    } else {
        char name[32] = {0};
        memcpy(name, start, len < sizeof name ? len : sizeof name - 1);
        type = type_core_named(c, name);
        CHECK(type); /* the tables name types that there are */
        c->has_handle_types |= type_is_descriptor(type->kind);
    }
    if (**text == '?') {
        ++*text;
        type = type_optional(c, type);
    }
    return type;
}

const Type *type_of_notation(Check *c, const char *text, const Type *receiver)
{
    return read_notation(c, &text, receiver);
}

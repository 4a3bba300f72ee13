/* builtin.c: the table of what the language brings, and how it is searched: effects by name, methods by receiver and
 * name. */
#include "check_internal.h"

#define IN(NAME, TYPE)  {NAME, TYPE, false},
#define OPT(NAME, TYPE) {NAME, TYPE, true},
#define NO_PARAMS
/* The {0} behind the parameters is there because C has no empty arrays; it is not counted. */
#define PARAMS(...)                                                                                                    \
    (const BuiltinParam[]){__VA_ARGS__{0}}, sizeof((const BuiltinParam[]){__VA_ARGS__{0}}) / sizeof(BuiltinParam) - 1
#define SUSPENDS true
#define AT_ONCE  false

static const Builtin builtins[BI_COUNT] = {
#define EFFECT(ID, NAME, WHEN, REPEAT, PERFORMER, LABEL, RESULT, LIST)                                                 \
    {BI_##ID, NAME, TYPE_BAD, WHEN, true, REPEAT_##REPEAT, PERFORMER, RULE_##LABEL, PARAMS(LIST), RESULT},
#define METHOD_EFFECT(ID, RECEIVER, NAME, WHEN, REPEAT, PERFORMER, LABEL, RESULT, LIST)                                \
    {BI_##ID, NAME, TYPE_##RECEIVER, WHEN, true, REPEAT_##REPEAT, PERFORMER, RULE_##LABEL, PARAMS(LIST), RESULT},
#define METHOD(ID, RECEIVER, NAME, LABEL, RESULT, LIST)                                                                \
    {BI_##ID, NAME, TYPE_##RECEIVER, false, false, REPEAT_PURE, NULL, RULE_##LABEL, PARAMS(LIST), RESULT},
#include "builtin_table.h"
};

/* The first row that is written behind a receiver; only effects come before it. */
enum { FIRST_METHOD = BI_SEND };

#define COUNT(array) (sizeof(array) / sizeof *(array))

const Builtin *builtin_effect(const char *name)
{
    for (int i = 0; i < FIRST_METHOD; i++)
        if (*builtins[i].name == *name && strcmp(builtins[i].name, name) == 0) return &builtins[i];
    return NULL;
}

static bool can_print_kind(TypeKind kind)
{
    return type_is_printable(&(Type){.kind = kind, .elem = &(Type){.kind = TYPE_INT}});
}

/* Does a receiver of this kind have the method? */
static bool serves(const Builtin *method, TypeKind receiver)
{
    return method->receiver == receiver || (method->receiver == TYPE_BAD && can_print_kind(receiver));
}

const Builtin *builtin_method(TypeKind receiver, const char *name)
{
    for (int i = FIRST_METHOD; i < BI_COUNT; i++)
        if (strcmp(builtins[i].name, name) == 0 && serves(&builtins[i], receiver)) return &builtins[i];
    return NULL;
}

bool builtin_is_dangerous(const Builtin *builtin)
{
    return builtin->id == BI_LAND;
}

bool builtin_is_hidden(const Builtin *builtin)
{
    return strchr(builtin->name, '.');
}

const Builtin *builtin_by_id(BuiltinId id)
{
    CHECK(id < BI_COUNT && builtins[id].id == id);
    return &builtins[id];
}

typedef struct HttpMethod {
    const char *name;
    RepeatClass repeat;
} HttpMethod;

static const HttpMethod http_methods[] = {
    {"GET", REPEAT_PURE},          {"HEAD", REPEAT_PURE}, {"OPTIONS", REPEAT_PURE}, {"PUT", REPEAT_IDEMPOTENT},
    {"DELETE", REPEAT_IDEMPOTENT}, {"POST", REPEAT_ONCE}, {"PATCH", REPEAT_ONCE},
};

static const HttpMethod *find_method(const char *method, size_t len)
{
    for (size_t i = 0; i < COUNT(http_methods); i++)
        if (strlen(http_methods[i].name) == len && memcmp(http_methods[i].name, method, len) == 0)
            return &http_methods[i];
    return NULL;
}

bool builtin_is_http_method(const char *method, size_t len)
{
    return find_method(method, len) != NULL;
}

RepeatClass builtin_http_class(const char *method, size_t len)
{
    const HttpMethod *found = find_method(method, len);
    return found ? found->repeat : REPEAT_ONCE;
}

RepeatClass builtin_repeat(const Expr *call)
{
    const Expr *method = call->builtin->id == BI_HTTP && call->argv ? call->argv[0] : NULL;
    while (method && method->kind == EX_PAREN) method = method->left;
    const Expr *part = method && method->kind == EX_STRING ? method->parts : NULL;
    if (!part || part->next || part->kind != EX_TEXT) return call->builtin->repeat;
    return builtin_http_class(part->text, part->text_len);
}

size_t builtin_effect_names(const char **names)
{
    for (int i = 0; i < FIRST_METHOD; i++) names[i] = builtins[i].name;
    return FIRST_METHOD;
}

static size_t method_names(TypeKind receiver, const char **names)
{
    size_t count = 0;
    for (int i = FIRST_METHOD; i < BI_COUNT; i++)
        if (serves(&builtins[i], receiver) && !builtin_is_hidden(&builtins[i])) names[count++] = builtins[i].name;
    return count;
}

const char *builtin_nearest_method(TypeKind receiver, const char *name)
{
    static const char *const elsewhere[][2] = {
        {"length", "len"},
        {"size", "len"},
        {"match", "find_match"},
        {"find_all", "find_matches"},
        {"replace_all", "replace_matches"},
        {"split_by", "split_matches"},
        {"each", "map"},
        {"collect", "map"},
        {"select", "filter"},
        {"where", "filter"},
        {"some", "any"},
        {"every", "all"},
        {"filter", "filter_keys"},
        {"map", "map_values"},
        {"count", "len"},
        {"append", "push"},
        {"add", "push"},
        {"extend", "concat"},
        {"put", "set"},
        {"delete", "remove"},
        {"pop", "remove"},
        {"strip", "trim"},
        {"lstrip", "trim_start"},
        {"rstrip", "trim_end"},
        {"includes", "contains"},
        {"has", "contains"},
        {"startswith", "starts_with"},
        {"startsWith", "starts_with"},
        {"endswith", "ends_with"},
        {"endsWith", "ends_with"},
        {"find", "index_of"},
        {"indexOf", "index_of"},
        {"upper", "to_upper"},
        {"lower", "to_lower"},
        {"substring", "slice"},
        {"substr", "slice"},
        {"str", "to_string"},
        {"int", "parse_int"},
        {"to_int", "parse_int"},
        {"to_float", "parse_float"},
        {"json", "to_json"},
        {"parse", "decode"},
        {"distinct", "unique"},
        {"dedup", "unique"},
        {"reversed", "reverse"},
        {"sorted", "sort"},
        {"ceiling", "ceil"},
        {"unwrap_or", "or"},
    };
    const char *names[BI_COUNT];
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        if (strcmp(elsewhere[i][0], name) == 0 && builtin_method(receiver, elsewhere[i][1])) return elsewhere[i][1];
    }
    return diag_nearest(name, strlen(name), names, method_names(receiver, names));
}

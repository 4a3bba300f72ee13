/* builtin.c: the tables of what the language brings: effects by name, methods by receiver and name. A row is the
 * whole truth about a built-in for the checker; what it does stands in the runtime. */
#include <assert.h>

#include "check_internal.h"

#define PARAMS(...)                                                                                                    \
    (const BuiltinParam[]){__VA_ARGS__}, sizeof((const BuiltinParam[]){__VA_ARGS__}) / sizeof(BuiltinParam)
#define NO_PARAMS NULL, 0
#define SUSPENDS  true, true  /* suspends, effect */
#define AT_ONCE   false, true /* an effect that gives its answer at once */
#define METHOD(ID, NAME, RECEIVER, RESULT, ...)                                                                        \
    {                                                                                                                  \
        ID, NAME, RECEIVER, false, false, REPEAT_PURE, __VA_ARGS__, RESULT                                             \
    }

static const Builtin effects[] = {
    {BI_SLEEP, "sleep", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"d", "duration", false}), "nothing"},
    {BI_SLEEP_UNTIL, "sleep_until", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"t", "time", false}), "nothing"},
    {BI_JOIN, "join", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"t", "task", false}), "T"},
    {BI_APPROVE, "approve", TYPE_BAD, SUSPENDS, REPEAT_PURE,
     PARAMS({"question", "string", false}, {"details", "string?", true}), "bool"},
    {BI_EXEC, "exec", TYPE_BAD, SUSPENDS, REPEAT_ONCE,
     PARAMS({"argv", "list<string>", false}, {"stdin", "string?", true}, {"cwd", "string?", true},
            {"env", "map<string,string>?", true}),
     "ExecResult"},
    {BI_HTTP, "http", TYPE_BAD, SUSPENDS, REPEAT_ONCE,
     PARAMS({"method", "string", false}, {"url", "string", false}, {"headers", "map<string,string>?", true},
            {"body", "string?", true}),
     "HttpResponse"},
    {BI_SECRET, "secret", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"name", "string", false}), "string"},
    {BI_READ_FILE, "read_file", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"path", "string", false}), "string"},
    {BI_WRITE_FILE, "write_file", TYPE_BAD, SUSPENDS, REPEAT_IDEMPOTENT,
     PARAMS({"path", "string", false}, {"text", "string", false}), "nothing"},
    {BI_PREVIEW, "preview", TYPE_BAD, SUSPENDS, REPEAT_PURE,
     PARAMS({"path", "string", false}, {"new_text", "string", false}), "Patch"},
    {BI_APPLY, "apply", TYPE_BAD, SUSPENDS, REPEAT_IDEMPOTENT, PARAMS({"patch", "Patch", false}), "nothing"},
    {BI_COMMIT, "commit", TYPE_BAD, SUSPENDS, REPEAT_IDEMPOTENT, PARAMS({"message", "string", false}), "string"},
    {BI_LLM, "llm", TYPE_BAD, SUSPENDS, REPEAT_IDEMPOTENT,
     PARAMS({"prompt", "string", false}, {"model", "string?", true}, {"system", "string?", true}), "string"},
    {BI_ASK, "ask", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"question", "string", false}), "string"},
    {BI_SIGNAL, "signal", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"name", "string", false}), "T"},
    {BI_LISTEN, "listen", TYPE_BAD, SUSPENDS, REPEAT_IDEMPOTENT, PARAMS({"address", "string", false}), "listener"},
    {BI_ACCEPT, "accept", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"from", "listener", false}), "stream"},
    {BI_CONNECT, "connect", TYPE_BAD, SUSPENDS, REPEAT_IDEMPOTENT, PARAMS({"address", "string", false}), "stream"},
    {BI_STDIN, "stdin", TYPE_BAD, SUSPENDS, REPEAT_PURE, NO_PARAMS, "stream"},
    {BI_READABLE, "readable", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"of", "descriptor", false}), "nothing"},
    {BI_WRITABLE, "writable", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"of", "stream", false}), "nothing"},
    {BI_READ, "read", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"from", "stream", false}, {"most", "int?", true}),
     "string?"},
    {BI_READ_LINE, "read_line", TYPE_BAD, SUSPENDS, REPEAT_PURE,
     PARAMS({"from", "stream", false}, {"longest", "int?", true}), "string?"},
    {BI_WRITE, "write", TYPE_BAD, SUSPENDS, REPEAT_ONCE, PARAMS({"to", "stream", false}, {"text", "string", false}),
     "int"},
    {BI_CLOSE, "close", TYPE_BAD, AT_ONCE, REPEAT_IDEMPOTENT, PARAMS({"of", "descriptor", false}), "nothing"},
    {BI_LOCK, "lock", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"name", "string", false}), "nothing"},
    {BI_SEMAPHORE, "semaphore", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"name", "string", false}, {"n", "int", false}),
     "nothing"},
    {BI_DEADLINE, "deadline", TYPE_BAD, SUSPENDS, REPEAT_PURE, PARAMS({"d", "duration", false}), "nothing"},
    {BI_CHANNEL, "channel", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"capacity", "int", false}), "nothing"},
    {BI_KILL, "kill", TYPE_BAD, AT_ONCE, REPEAT_IDEMPOTENT, PARAMS({"t", "task", false}), "nothing"},
    {BI_SELF, "self", TYPE_BAD, AT_ONCE, REPEAT_PURE, NO_PARAMS, "string"},
    {BI_NOW, "now", TYPE_BAD, AT_ONCE, REPEAT_PURE, NO_PARAMS, "time"},
    {BI_RANDOM, "random", TYPE_BAD, AT_ONCE, REPEAT_PURE, NO_PARAMS, "float"},
    {BI_RANDOM_INT, "random_int", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"a", "int", false}, {"b", "int", false}),
     "int"},
    {BI_UUID, "uuid", TYPE_BAD, AT_ONCE, REPEAT_PURE, NO_PARAMS, "string"},
    {BI_PRINT, "print", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"text", "string", false}), "nothing"},
    {BI_LOG, "log", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"text", "string", false}, {"level", "string?", true}),
     "nothing"},
    {BI_SAVE, "save", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"table", "string", false}, {"row", "T", false}),
     "nothing"},
    {BI_EMIT, "emit", TYPE_BAD, AT_ONCE, REPEAT_PURE, PARAMS({"stage", "string", false}, {"text", "string", false}),
     "nothing"},
};

static const Builtin methods[] = {
    {BI_SEND, "send", TYPE_CHANNEL, SUSPENDS, REPEAT_PURE, PARAMS({"value", "T", false}), "nothing"},
    {BI_RECV, "recv", TYPE_CHANNEL, SUSPENDS, REPEAT_PURE, NO_PARAMS, "T?"},
    {BI_CHANNEL_CLOSE, "close", TYPE_CHANNEL, AT_ONCE, REPEAT_IDEMPOTENT, NO_PARAMS, "nothing"},
    {BI_LISTENER_ADDRESS, "address", TYPE_LISTENER, SUSPENDS, REPEAT_PURE, NO_PARAMS, "string"},
    {BI_STREAM_ADDRESS, "address", TYPE_STREAM, SUSPENDS, REPEAT_PURE, NO_PARAMS, "string"},
    METHOD(BI_STRING_LEN, "len", TYPE_STRING, "int", NO_PARAMS),
    METHOD(BI_STRING_BYTE_LEN, "byte_len", TYPE_STRING, "int", NO_PARAMS),
    METHOD(BI_STRING_SLICE, "slice", TYPE_STRING, "string", PARAMS({"from", "int", false}, {"to", "int", true})),
    METHOD(BI_STRING_TRIM, "trim", TYPE_STRING, "string", NO_PARAMS),
    METHOD(BI_STRING_TRIM_START, "trim_start", TYPE_STRING, "string", NO_PARAMS),
    METHOD(BI_STRING_TRIM_END, "trim_end", TYPE_STRING, "string", NO_PARAMS),
    METHOD(BI_STRING_LINES, "lines", TYPE_STRING, "list<string>", NO_PARAMS),
    METHOD(BI_STRING_CHARS, "chars", TYPE_STRING, "list<string>", NO_PARAMS),
    METHOD(BI_STRING_SPLIT, "split", TYPE_STRING, "list<string>",
           PARAMS({"separator", "string", false}, {"parts", "int", true})),
    METHOD(BI_STRING_CONTAINS, "contains", TYPE_STRING, "bool", PARAMS({"part", "string", false})),
    METHOD(BI_STRING_STARTS_WITH, "starts_with", TYPE_STRING, "bool", PARAMS({"part", "string", false})),
    METHOD(BI_STRING_ENDS_WITH, "ends_with", TYPE_STRING, "bool", PARAMS({"part", "string", false})),
    METHOD(BI_STRING_INDEX_OF, "index_of", TYPE_STRING, "int?", PARAMS({"part", "string", false})),
    METHOD(BI_STRING_REPLACE, "replace", TYPE_STRING, "string",
           PARAMS({"old", "string", false}, {"new", "string", false})),
    METHOD(BI_STRING_REPEAT, "repeat", TYPE_STRING, "string", PARAMS({"times", "int", false})),
    METHOD(BI_STRING_PAD_START, "pad_start", TYPE_STRING, "string",
           PARAMS({"len", "int", false}, {"with", "string", true})),
    METHOD(BI_STRING_PAD_END, "pad_end", TYPE_STRING, "string",
           PARAMS({"len", "int", false}, {"with", "string", true})),
    METHOD(BI_STRING_TO_UPPER, "to_upper", TYPE_STRING, "string", NO_PARAMS),
    METHOD(BI_STRING_TO_LOWER, "to_lower", TYPE_STRING, "string", NO_PARAMS),
    METHOD(BI_STRING_MATCHES, "matches", TYPE_STRING, "bool", PARAMS({"pattern", "string", false})),
    METHOD(BI_STRING_FIND_MATCH, "find_match", TYPE_STRING, "Match?", PARAMS({"pattern", "string", false})),
    METHOD(BI_STRING_FIND_MATCHES, "find_matches", TYPE_STRING, "list<Match>", PARAMS({"pattern", "string", false})),
    METHOD(BI_STRING_REPLACE_MATCHES, "replace_matches", TYPE_STRING, "string",
           PARAMS({"pattern", "string", false}, {"with", "string", false})),
    METHOD(BI_STRING_SPLIT_MATCHES, "split_matches", TYPE_STRING, "list<string>", PARAMS({"pattern", "string", false})),
    METHOD(BI_PARSE_INT, "parse_int", TYPE_STRING, "int?", NO_PARAMS),
    METHOD(BI_PARSE_FLOAT, "parse_float", TYPE_STRING, "float?", NO_PARAMS),
    METHOD(BI_PARSE_TIME, "parse_time", TYPE_STRING, "time?", NO_PARAMS),
    METHOD(BI_PARSE_DURATION, "parse_duration", TYPE_STRING, "duration?", NO_PARAMS),
    METHOD(BI_PARSE_JSON, "parse_json", TYPE_STRING, "json?", NO_PARAMS),
    METHOD(BI_LIST_LEN, "len", TYPE_LIST, "int", NO_PARAMS),
    METHOD(BI_LIST_PUSH, "push", TYPE_LIST, "list<T>", PARAMS({"item", "T", false})),
    METHOD(BI_LIST_CONCAT, "concat", TYPE_LIST, "list<T>", PARAMS({"other", "list<T>", false})),
    METHOD(BI_LIST_GET, "get", TYPE_LIST, "T?", PARAMS({"at", "int", false})),
    METHOD(BI_LIST_SET, "set", TYPE_LIST, "list<T>", PARAMS({"at", "int", false}, {"item", "T", false})),
    METHOD(BI_LIST_INSERT, "insert", TYPE_LIST, "list<T>", PARAMS({"at", "int", false}, {"item", "T", false})),
    METHOD(BI_LIST_REMOVE, "remove", TYPE_LIST, "list<T>", PARAMS({"at", "int", false})),
    METHOD(BI_LIST_SLICE, "slice", TYPE_LIST, "list<T>", PARAMS({"from", "int", false}, {"to", "int", true})),
    METHOD(BI_LIST_FIRST, "first", TYPE_LIST, "T?", NO_PARAMS),
    METHOD(BI_LIST_LAST, "last", TYPE_LIST, "T?", NO_PARAMS),
    METHOD(BI_LIST_JOIN, "join", TYPE_LIST, "string", PARAMS({"separator", "string", false})),
    METHOD(BI_LIST_CONTAINS, "contains", TYPE_LIST, "bool", PARAMS({"item", "T", false})),
    METHOD(BI_LIST_INDEX_OF, "index_of", TYPE_LIST, "int?", PARAMS({"item", "T", false})),
    METHOD(BI_LIST_REVERSE, "reverse", TYPE_LIST, "list<T>", NO_PARAMS),
    METHOD(BI_LIST_SORT, "sort", TYPE_LIST, "list<T>", NO_PARAMS),
    METHOD(BI_LIST_UNIQUE, "unique", TYPE_LIST, "list<T>", NO_PARAMS),
    METHOD(BI_LIST_FLATTEN, "flatten", TYPE_LIST, "T", NO_PARAMS),
    METHOD(BI_LIST_COMPACT, "compact", TYPE_LIST, "list<E>", NO_PARAMS),
    METHOD(BI_LIST_SUM, "sum", TYPE_LIST, "T", NO_PARAMS),
    METHOD(BI_LIST_MIN, "min", TYPE_LIST, "T?", NO_PARAMS),
    METHOD(BI_LIST_MAX, "max", TYPE_LIST, "T?", NO_PARAMS),
    METHOD(BI_LIST_MAP, "map", TYPE_LIST, "list<U>", PARAMS({"f", "T => U", false})),
    METHOD(BI_LIST_FILTER, "filter", TYPE_LIST, "list<T>", PARAMS({"f", "T => bool", false})),
    METHOD(BI_LIST_FIND, "find", TYPE_LIST, "T?", PARAMS({"f", "T => bool", false})),
    METHOD(BI_LIST_ANY, "any", TYPE_LIST, "bool", PARAMS({"f", "T => bool", false})),
    METHOD(BI_LIST_ALL, "all", TYPE_LIST, "bool", PARAMS({"f", "T => bool", false})),
    METHOD(BI_LIST_COUNT, "count", TYPE_LIST, "int", PARAMS({"f", "T => bool", false})),
    METHOD(BI_LIST_SORT_BY, "sort_by", TYPE_LIST, "list<T>", PARAMS({"f", "T => ordered", false})),
    METHOD(BI_LIST_GROUP_BY, "group_by", TYPE_LIST, "map<U,list<T>>", PARAMS({"f", "T => key", false})),
    METHOD(BI_MAP_LEN, "len", TYPE_MAP, "int", NO_PARAMS),
    METHOD(BI_MAP_GET, "get", TYPE_MAP, "T?", PARAMS({"key", "K", false})),
    METHOD(BI_MAP_SET, "set", TYPE_MAP, "map<K,T>", PARAMS({"key", "K", false}, {"value", "T", false})),
    METHOD(BI_MAP_REMOVE, "remove", TYPE_MAP, "map<K,T>", PARAMS({"key", "K", false})),
    METHOD(BI_MAP_CONTAINS, "contains", TYPE_MAP, "bool", PARAMS({"key", "K", false})),
    METHOD(BI_MAP_KEYS, "keys", TYPE_MAP, "list<K>", NO_PARAMS),
    METHOD(BI_MAP_VALUES, "values", TYPE_MAP, "list<T>", NO_PARAMS),
    METHOD(BI_MAP_MERGE, "merge", TYPE_MAP, "map<K,T>", PARAMS({"other", "map<K,T>", false})),
    METHOD(BI_MAP_MAP_VALUES, "map_values", TYPE_MAP, "map<K,U>", PARAMS({"f", "T => U", false})),
    METHOD(BI_MAP_FILTER_KEYS, "filter_keys", TYPE_MAP, "map<K,T>", PARAMS({"f", "K => bool", false})),
    METHOD(BI_TO_INT, "to_int", TYPE_FLOAT, "int", NO_PARAMS),
    METHOD(BI_FLOAT_FLOOR, "floor", TYPE_FLOAT, "int", NO_PARAMS),
    METHOD(BI_FLOAT_CEIL, "ceil", TYPE_FLOAT, "int", NO_PARAMS),
    METHOD(BI_FLOAT_ROUND, "round", TYPE_FLOAT, "int", NO_PARAMS),
    METHOD(BI_FLOAT_SQRT, "sqrt", TYPE_FLOAT, "float", NO_PARAMS),
    METHOD(BI_FLOAT_FORMAT, "format", TYPE_FLOAT, "string", PARAMS({"decimals", "int", false})),
    METHOD(BI_FLOAT_ABS, "abs", TYPE_FLOAT, "float", NO_PARAMS),
    METHOD(BI_FLOAT_MIN, "min", TYPE_FLOAT, "float", PARAMS({"other", "float", false})),
    METHOD(BI_FLOAT_MAX, "max", TYPE_FLOAT, "float", PARAMS({"other", "float", false})),
    METHOD(BI_TO_FLOAT, "to_float", TYPE_INT, "float", NO_PARAMS),
    METHOD(BI_INT_ABS, "abs", TYPE_INT, "int", NO_PARAMS),
    METHOD(BI_INT_MIN, "min", TYPE_INT, "int", PARAMS({"other", "int", false})),
    METHOD(BI_INT_MAX, "max", TYPE_INT, "int", PARAMS({"other", "int", false})),
    METHOD(BI_TIME_YEAR, "year", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_MONTH, "month", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_DAY, "day", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_HOUR, "hour", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_MINUTE, "minute", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_SECOND, "second", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_WEEKDAY, "weekday", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_TIME_UNIX_MS, "unix_ms", TYPE_TIME, "int", NO_PARAMS),
    METHOD(BI_DURATION_TO_MS, "to_ms", TYPE_DURATION, "int", NO_PARAMS),
    METHOD(BI_DURATION_TO_SECONDS, "to_seconds", TYPE_DURATION, "float", NO_PARAMS),
    METHOD(BI_JSON_GET, "get", TYPE_JSON, "json?", PARAMS({"path", "string", false})),
    METHOD(BI_JSON_DECODE, "decode", TYPE_JSON, "nothing", PARAMS({"path", "string", true})),
    METHOD(BI_JSON_KIND, "kind", TYPE_JSON, "string", NO_PARAMS),
    METHOD(BI_OPTIONAL_OR, "or", TYPE_OPTIONAL, "T", PARAMS({"other", "T", false})),
    METHOD(BI_TO_JSON, "to_json", TYPE_BAD, "json", NO_PARAMS),       /* any printable receiver */
    METHOD(BI_TO_STRING, "to_string", TYPE_BAD, "string", NO_PARAMS), /* any printable receiver */
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const Builtin *builtin_effect(const char *name)
{
    for (size_t i = 0; i < COUNT(effects); i++) {
        if (*effects[i].name == *name && strcmp(effects[i].name, name) == 0) return &effects[i];
    }
    return NULL;
}

static bool can_print_kind(TypeKind kind)
{
    return type_is_printable(&(Type){.kind = kind, .elem = &(Type){.kind = TYPE_INT}});
}

const Builtin *builtin_method(TypeKind receiver, const char *name)
{
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (strcmp(methods[i].name, name) != 0) continue;
        if (methods[i].receiver == receiver) return &methods[i];
        if (methods[i].receiver == TYPE_BAD && can_print_kind(receiver)) return &methods[i];
    }
    return NULL;
}

const Builtin *builtin_by_id(BuiltinId id)
{
    for (size_t i = 0; i < COUNT(effects); i++) {
        if (effects[i].id == id) return &effects[i];
    }
    for (size_t i = 0; i < COUNT(methods); i++) {
        if (methods[i].id == id) return &methods[i];
    }
    assert(!"every BuiltinId has a row");
    return NULL;
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

size_t builtin_effect_names(const char **names, size_t cap)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT(effects) && count < cap; i++) names[count++] = effects[i].name;
    return count;
}

static size_t method_names(TypeKind receiver, const char **names, size_t cap)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT(methods) && count < cap; i++) {
        bool fits = methods[i].receiver == receiver || (methods[i].receiver == TYPE_BAD && can_print_kind(receiver));
        if (fits) names[count++] = methods[i].name;
    }
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
    const char *names[COUNT(methods)];
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        if (strcmp(elsewhere[i][0], name) == 0 && builtin_method(receiver, elsewhere[i][1])) return elsewhere[i][1];
    }
    return diag_nearest(name, strlen(name), names, method_names(receiver, names, COUNT(methods)));
}

/* schema.c: see schema.h. */
#include "mcp/schema.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "value/json.h"

#define HEADERS_MOST  32 /* that one schema asks for */
#define REFS_MOST     TFY_MCP_SCHEMA_DEPTH
#define MARK          "x-mcp-header"
#define EXACT_INTEGER INT64_C(9007199254740991)

enum { WHY = TFY_MCP_WHY };

/* ---- depth ---- */

/* Not deeper than a message may be, whatever the caller. */
static int depth_of(const json_t *json)
{
    int deepest = 0;
    const char *key;
    json_t *part;
    size_t i;
    if (json_is_object(json)) {
        json_object_foreach((json_t *)json, key, part)
        {
            const int depth = depth_of(part);
            if (depth > deepest) deepest = depth;
        }
    } else if (json_is_array(json)) {
        json_array_foreach(json, i, part)
        {
            const int depth = depth_of(part);
            if (depth > deepest) deepest = depth;
        }
    } else {
        return 0;
    }
    return deepest + 1;
}

/* ---- references ---- */

/* One step of a JSON pointer: "a~1b" is the member "a/b". */
static const json_t *step(const json_t *json, const char *part, size_t len)
{
    char name[256];
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < sizeof name; i++) {
        const bool escaped = part[i] == '~' && i + 1 < len && (part[i + 1] == '0' || part[i + 1] == '1');
        name[n++] = !escaped ? part[i] : part[++i] == '0' ? '~' : '/';
    }
    name[n] = '\0';
    if (json_is_array(json)) {
        size_t index = 0;
        for (size_t i = 0; i < n; i++) {
            if (name[i] < '0' || name[i] > '9' || index > 100000) return NULL;
            index = index * 10 + (size_t)(name[i] - '0');
        }
        return n ? json_array_get(json, index) : NULL;
    }
    return json_object_get(json, name);
}

/* "#/$defs/Row" in the schema; NULL: it leads nowhere. */
static const json_t *target_of(const json_t *root, const char *reference)
{
    const json_t *at = root;
    for (const char *part = reference + 1; at && *part; part += 1 + strcspn(part + 1, "/")) {
        if (*part != '/') return NULL;
        at = step(at, part + 1, strcspn(part + 1, "/"));
    }
    return at;
}

/* Follows a reference of a reference, as long as there is one: a circle of these has no meaning. */
static bool is_circle(const json_t *root, const json_t *at)
{
    int steps = 0;
    const char *next;
    while (at && (next = json_string_value(json_object_get(at, "$ref"))) && *next == '#')
        if (++steps > REFS_MOST)
            return true;
        else
            at = target_of(root, next);
    return false;
}

static void check_reference(const json_t *root, const json_t *at, char *why)
{
    const char *reference = json_string_value(json_object_get(at, "$ref"));
    if (!reference) return;
    if (*reference != '#')
        snprintf(why, WHY, "its schema refers to '%.80s', which would have to be fetched", reference);
    else if (!target_of(root, reference))
        snprintf(why, WHY, "its schema refers to '%.80s', which is not in it", reference);
    else if (is_circle(root, at))
        snprintf(why, WHY, "its schema refers to '%.80s' in a circle", reference);
}

static void check_references(const json_t *root, const json_t *at, char *why)
{
    const char *key;
    json_t *part;
    size_t i;
    if (*why) return;
    if (json_is_object(at)) {
        check_reference(root, at, why);
        json_object_foreach((json_t *)at, key, part) check_references(root, part, why);
    } else {
        json_array_foreach(at, i, part) check_references(root, part, why);
    }
}

/* A schema that holds itself: a value of it may nest without end. Walks the tree and what it refers to; `depth` counts
 * both, so a circle passes the limit, and `left` bounds what several references to one part cost. */
static bool is_endless(const json_t *root, const json_t *at, int depth, int *left)
{
    const char *key;
    json_t *part;
    size_t i;
    if (!json_is_object(at) && !json_is_array(at)) return false;
    if (depth > 2 * TFY_MCP_SCHEMA_DEPTH || --*left < 0) return true;
    const char *reference = json_string_value(json_object_get(at, "$ref"));
    if (reference && is_endless(root, target_of(root, reference), depth + 1, left)) return true;
    if (json_is_array(at)) {
        json_array_foreach(at, i, part)
        {
            if (is_endless(root, part, depth + 1, left)) return true;
        }
        return false;
    }
    json_object_foreach((json_t *)at, key, part)
    {
        if (is_endless(root, part, depth + 1, left)) return true;
    }
    return false;
}

void tfy__mcp_schema_wrong(const json_t *schema, char *why)
{
    int left = 100000;
    *why = '\0';
    if (!json_is_object(schema))
        snprintf(why, WHY, "it has no schema");
    else if (depth_of(schema) > TFY_MCP_SCHEMA_DEPTH)
        snprintf(why, WHY, "its schema nests more than %d levels", TFY_MCP_SCHEMA_DEPTH);
    else
        check_references(schema, schema, why);
    if (!*why && is_endless(schema, schema, 0, &left))
        snprintf(why, WHY, "its schema refers to itself in a circle, or to too much");
}

/* ---- headers ---- */

/* The headers of a schema, and what is wrong with them. */
typedef struct Headers {
    const char *names[HEADERS_MOST];
    int count;
    char *why;
} Headers;

static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (const char *c = name; *c; c++) {
        const bool plain = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z');
        if (!plain && !strchr(others, *c)) return false;
    }
    return *name;
}

static void check_header(Headers *headers, const json_t *property, const json_t *mark)
{
    const char *name = json_string_value(mark), *type = json_string_value(json_object_get(property, "type"));
    if (!name || !is_token(name)) {
        snprintf(headers->why, WHY, "its " MARK " is not the name of a header");
        return;
    }
    if (!type || (strcmp(type, "string") != 0 && strcmp(type, "integer") != 0 && strcmp(type, "boolean") != 0)) {
        snprintf(headers->why, WHY, "its " MARK " '%.80s' is not for a string, an integer or a boolean", name);
        return;
    }
    for (int i = 0; i < headers->count; i++)
        if (strcasecmp(headers->names[i], name) == 0)
            snprintf(headers->why, WHY, "its " MARK " '%.80s' is there twice", name);
    if (headers->count == HEADERS_MOST)
        snprintf(headers->why, WHY, "it has more than %d " MARK, HEADERS_MOST);
    else
        headers->names[headers->count++] = name;
}

/* named: the schema of a property, reached through properties alone. inside: it is one part of a schema, and not a map
 * of names to schemas. */
static void check_headers(Headers *headers, const json_t *schema, bool named, bool reachable)
{
    const char *key;
    json_t *part;
    size_t i;
    if (json_is_array(schema)) json_array_foreach(schema, i, part) check_headers(headers, part, false, false);
    if (!json_is_object(schema)) return;
    const json_t *mark = json_object_get(schema, MARK), *properties = json_object_get(schema, "properties");
    if (mark && !(named && reachable))
        snprintf(headers->why, WHY, "its " MARK " is not at a property that a call always has in the same place");
    else if (mark)
        check_header(headers, schema, mark);
    json_object_foreach((json_t *)schema, key, part)
    {
        const bool data = strcmp(key, "default") == 0 || strcmp(key, "const") == 0 || strcmp(key, "enum") == 0 ||
                          strcmp(key, "examples") == 0;
        if (part != properties && !data) check_headers(headers, part, false, false);
    }
    json_object_foreach((json_t *)properties, key, part) check_headers(headers, part, true, reachable);
}

void tfy__mcp_headers_wrong(const json_t *schema, char *why)
{
    Headers headers = {.why = why};
    *why = '\0';
    check_headers(&headers, schema, false, true);
}

void tfy__mcp_header_value(TfyBuffer *out, const char *text, size_t len)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    bool plain = len && text[0] != ' ' && text[0] != '\t' && text[len - 1] != ' ' && text[len - 1] != '\t';
    for (size_t i = 0; i < len; i++) plain &= text[i] == '\t' || (text[i] >= ' ' && text[i] <= '~');
    if (len >= sizeof begin + sizeof end - 2 && memcmp(text, begin, sizeof begin - 1) == 0 &&
        memcmp(text + len - 2, end, 2) == 0)
        plain = false;
    if (plain) {
        tfy__buffer_add(out, text, len);
        return;
    }
    tfy__buffer_text(out, begin);
    tfy__write_base64(out, text, len);
    tfy__buffer_text(out, end);
}

/* A value that has no form in a header is left out. */
static bool put_value(TfyBuffer *line, const json_t *value)
{
    char digits[32];
    if (json_is_boolean(value)) {
        tfy__buffer_text(line, json_is_true(value) ? "true" : "false");
    } else if (json_is_string(value)) {
        tfy__mcp_header_value(line, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value) && json_integer_value(value) <= EXACT_INTEGER &&
               json_integer_value(value) >= -EXACT_INTEGER) {
        snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
        tfy__buffer_text(line, digits);
    } else {
        return false;
    }
    return true;
}

bool tfy__mcp_param_headers(const json_t *schema, const json_t *arguments, bool (*put)(void *arg, const char *line),
                            void *arg)
{
    const char *key;
    json_t *property;
    bool ok = true;
    json_object_foreach(json_object_get(schema, "properties"), key, property)
    {
        const char *name = json_string_value(json_object_get(property, MARK));
        const json_t *value = json_object_get(arguments, key);
        TfyBuffer line = {0};
        if (name) tfy__buffer_printf(&line, "Mcp-Param-%s: ", name);
        if (name && put_value(&line, value)) ok &= !line.failed && put(arg, line.data);
        tfy__buffer_free(&line);
        ok &= tfy__mcp_param_headers(property, value, put, arg);
    }
    return ok;
}

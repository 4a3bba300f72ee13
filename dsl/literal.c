/* literal.c: decoding numbers, durations, escapes and """ blocks. */
#include "literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grammar.h"

/* ---- numbers ---- */

static void report_range(Build *b, Token token, const char *what)
{
    int shown = token.len > 60 ? 60 : (int)token.len;
    diag_error(b->diags, token_span(token), "%.*s does not fit into %s", shown,
               source_text(b->sources, token_span(token)), what);
}

/* Digits with '_' between them, up to the first other character. Saturates one above INT64_MAX. */
static uint64_t read_digits(const char *text, uint32_t len, uint32_t base, uint32_t *used)
{
    const uint64_t too_large = (uint64_t)INT64_MAX + 2;
    uint64_t value = 0;
    uint32_t i = 0;
    for (; i < len; i++) {
        char c = text[i];
        if (c == '_') continue;
        uint32_t digit = c >= '0' && c <= '9'                     ? (uint32_t)(c - '0')
                         : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (uint32_t)((c | 0x20) - 'a') + 10
                                                                  : 99;
        if (digit >= base) break;
        value = value > (too_large - digit) / base ? too_large : value * base + digit;
    }
    *used = i;
    return value;
}

static uint64_t read_int(Build *b, Token token)
{
    const char *text = source_text(b->sources, token_span(token));
    bool hex = token.len > 2 && text[0] == '0' && text[1] == 'x';
    uint32_t skip = hex ? 2 : 0, used;
    uint64_t value = read_digits(text + skip, token.len - skip, hex ? 16 : 10, &used);
    uint64_t largest = (uint64_t)INT64_MAX + !hex;
    if (value <= largest) return value;
    report_range(b, token, "an int of 64 bits");
    return 0;
}

int64_t literal_int(Build *b, Token token)
{
    uint64_t value = read_int(b, token);
    if (value <= INT64_MAX) return (int64_t)value;
    report_range(b, token, "an int of 64 bits");
    return 0;
}

static int64_t unit_ms(const char *unit, uint32_t len)
{
    if (len == 2 && memcmp(unit, "ms", 2) == 0) return 1;
    if (len != 1) return 0;
    switch (*unit) {
    case 's': return 1000;
    case 'm': return 60 * 1000;
    case 'h': return 60 * 60 * 1000;
    case 'd': return 24 * 60 * 60 * 1000;
    default: return 0;
    }
}

/* An unknown unit was reported by the lexer. */
int64_t literal_duration(Build *b, Token token)
{
    const char *text = source_text(b->sources, token_span(token));
    uint32_t used;
    uint64_t count = read_digits(text, token.len, 10, &used);
    int64_t unit = unit_ms(text + used, token.len - used), value;
    if (count <= INT64_MAX && !__builtin_mul_overflow((int64_t)count, unit, &value)) return value;
    report_range(b, token, "a duration");
    return 0;
}

static double read_float(Build *b, Token token)
{
    const char *text = source_text(b->sources, token_span(token));
    char *digits = arena_alloc(b->arena, token.len + 1);
    uint32_t len = 0;
    for (uint32_t i = 0; i < token.len; i++)
        if (text[i] != '_') digits[len++] = text[i];
    double value = strtod(digits, NULL);
    if (isfinite(value)) return value;
    report_range(b, token, "a float");
    return 0;
}

void literal_fill(Build *b, Expr *expr, Token token)
{
    if (expr->kind == EX_INT) expr->int_value = (int64_t)read_int(b, token);
    if (expr->kind == EX_DURATION) expr->int_value = literal_duration(b, token);
    if (expr->kind == EX_FLOAT) expr->float_value = read_float(b, token);
    if (expr->kind != EX_INT && expr->kind != EX_FLOAT) return;
    expr->text = source_text(b->sources, token_span(token));
    expr->text_len = token.len;
}

bool literal_is_least_int(const Expr *expr)
{
    return expr->kind == EX_INT && expr->int_value == INT64_MIN && expr->text[0] != '-';
}

Expr *literal_negate(Build *b, Span minus, Expr *literal)
{
    CHECK(literal->kind == EX_INT || literal->kind == EX_FLOAT || literal->kind == EX_DURATION);
    literal->span = span_join(minus, literal->span);
    literal->int_value = (int64_t)(0 - (uint64_t)literal->int_value);
    literal->float_value = -literal->float_value;
    literal->text = arena_printf(b->arena, "-%.*s", (int)literal->text_len, literal->text);
    literal->text_len++;
    return literal;
}

/* ---- strings ---- */

static uint32_t encode_point(uint32_t point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    uint32_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (uint32_t i = len - 1; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(0xf00u >> len | point);
    return len;
}

/* Decodes the escape whose backslash is before `at`; *out grows. Returns the bytes taken. Wrong ones were
 * reported by the lexer. */
static uint32_t decode_escape(const char *at, uint32_t len, char **out)
{
    static const char plain[] = "n\nt\tr\r\"\"\\\\$$";
    if (len >= 3 && at[0] == 'u' && at[1] == '{') {
        const char *close = memchr(at, '}', len);
        unsigned long point = strtoul(at + 2, NULL, 16);
        if (close && point <= 0x10ffff) *out += encode_point((uint32_t)point, *out);
        if (close) return (uint32_t)(close - at) + 1;
    }
    char value = at[0];
    for (uint32_t i = 0; plain[i]; i += 2)
        if (plain[i] == at[0]) value = plain[i + 1];
    *(*out)++ = value;
    return 1;
}

/* Text without escapes stays where it is in the source. An escape is never longer decoded than written. */
static void decode_part(Build *b, Expr *part)
{
    if (!part->text_len || !memchr(part->text, '\\', part->text_len)) return;
    char *decoded = arena_alloc(b->arena, part->text_len + 1), *out = decoded;
    for (uint32_t i = 0; i < part->text_len;) {
        if (part->text[i] == '\\' && i + 1 < part->text_len) {
            i += 1 + decode_escape(part->text + i + 1, part->text_len - i - 1, &out);
        } else {
            *out++ = part->text[i++];
        }
    }
    CHECK((size_t)(out - decoded) <= part->text_len);
    part->text = decoded;
    part->text_len = (uint32_t)(out - decoded);
}

Expr *literal_decode(Build *b, ExprList parts)
{
    ExprList kept = {0};
    for (Expr *part; (part = LIST_TAKE(&parts, next));) {
        if (part->kind == EX_TEXT) decode_part(b, part);
        if (part->kind != EX_TEXT || part->text_len) kept = expr_push(kept, part);
    }
    return kept.first;
}

Expr *literal_plain(Build *b, Expr *string, const char *what)
{
    if (string->kind != EX_STRING) return string;
    const Expr *code = string->parts;
    while (code && code->kind == EX_TEXT) code = code->next;
    if (!code) return string;
    diag_error(b->diags, code->span, "%s cannot hold '${…}'; write it out", what);
    Expr *text = string->parts;
    while (text && text->kind != EX_TEXT) text = text->next;
    if (text) text->next = NULL;
    string->parts = text;
    return string;
}

Expr *literal_made(Arena *arena, const char *text, Span span)
{
    Expr *string = arena_new(arena, Expr), *part = arena_new(arena, Expr);
    const uint32_t len = (uint32_t)strlen(text);
    *part = (Expr){.kind = EX_TEXT, .height = 1, .span = span, .text_len = len};
    part->text = arena_strndup(arena, text, len);
    *string = (Expr){.kind = EX_STRING, .height = 2, .span = span, .parts = len ? part : NULL};
    return string;
}

/* ---- """ blocks ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void cut_front(Expr *part, uint32_t count)
{
    CHECK(count <= part->text_len);
    part->text += count;
    part->text_len -= count;
}

/* A blank first line, up to its newline, is dropped. Says whether the text now starts at the start of a line. */
static bool drop_first_line(Expr *part)
{
    uint32_t i = 0;
    while (i < part->text_len && is_blank(part->text[i])) i++;
    if (i == part->text_len || part->text[i] != '\n') return false;
    cut_front(part, i + 1);
    return true;
}

/* A blank last line is dropped with the newline before it. */
static void drop_last_line(Expr *part, bool whole_line)
{
    uint32_t i = part->text_len;
    while (i > 0 && is_blank(part->text[i - 1])) i--;
    if (i > 0 && part->text[i - 1] != '\n') return;
    if (i == 0 && !whole_line) return;
    part->text_len = i ? i - 1 : 0;
    if (part->text_len && part->text[part->text_len - 1] == '\r') part->text_len--;
}

static uint32_t indent_len(const Expr *part, uint32_t at)
{
    uint32_t i = at;
    while (i < part->text_len && (part->text[i] == ' ' || part->text[i] == '\t')) i++;
    return i - at;
}

static bool line_is_blank(const Expr *part, uint32_t at)
{
    while (at < part->text_len && is_blank(part->text[at])) at++;
    return at < part->text_len ? part->text[at] == '\n' : !part->next;
}

/* The indentation all lines share that are not blank. */
typedef struct Indent {
    const char *text;
    uint32_t len;
    bool known;
} Indent;

static void narrow_indent(Indent *indent, const Expr *part, uint32_t at)
{
    if (line_is_blank(part, at)) return;
    uint32_t len = indent_len(part, at), same = 0;
    if (!indent->known) {
        *indent = (Indent){part->text + at, len, true};
        return;
    }
    while (same < len && same < indent->len && indent->text[same] == part->text[at + same]) same++;
    indent->len = same;
}

static void measure_indent(Indent *indent, const Expr *part, bool at_line_start)
{
    if (at_line_start) narrow_indent(indent, part, 0);
    for (uint32_t i = 0; i < part->text_len; i++)
        if (part->text[i] == '\n') narrow_indent(indent, part, i + 1);
}

/* Where the kept text of the line at `at` starts: blank lines lose all their blanks. */
static uint32_t skip_indent(const Indent *indent, const Expr *part, uint32_t at)
{
    uint32_t len = indent_len(part, at);
    return at + (line_is_blank(part, at) || len < indent->len ? len : indent->len);
}

static void remove_indent(Build *b, const Indent *indent, Expr *part, bool at_line_start)
{
    char *text = arena_alloc(b->arena, part->text_len + 1);
    uint32_t len = 0, i = at_line_start ? skip_indent(indent, part, 0) : 0;
    while (i < part->text_len) {
        char c = part->text[i++];
        if (c == '\r' && i < part->text_len && part->text[i] == '\n') continue;
        text[len++] = c;
        if (c == '\n') i = skip_indent(indent, part, i);
    }
    part->text = text;
    part->text_len = len;
}

void literal_dedent(Build *b, ExprList *parts)
{
    if (!parts->first) return;
    bool fresh = parts->first->kind == EX_TEXT && drop_first_line(parts->first);
    if (parts->last->kind == EX_TEXT) drop_last_line(parts->last, fresh && parts->first == parts->last);
    Indent indent = {0};
    for (const Expr *part = parts->first; part; part = part->next)
        if (part->kind == EX_TEXT) measure_indent(&indent, part, fresh && part == parts->first);
    for (Expr *part = parts->first; part; part = part->next)
        if (part->kind == EX_TEXT) remove_indent(b, &indent, part, fresh && part == parts->first);
}

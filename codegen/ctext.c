/* ctext.c: see ctext.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../dsl/bug.h"
#include "ctext.h"

/* Most texts are short, but few are as short as the arena's first step. */
enum { FIRST_CAP = 48 };

void text_reserve(Text *text, size_t len)
{
    size_t need = text->len + len + 1;
    if (need <= text->cap) return;
    CHECK(need < UINT32_MAX);
    uint32_t want = need < FIRST_CAP ? FIRST_CAP : (uint32_t)need;
    text->data = arena_regrow(text->arena, text->data, &text->cap, want, 1);
}

void text_add(Text *text, const char *bytes, size_t len)
{
    text_reserve(text, len);
    memcpy(text->data + text->len, bytes, len);
    text->len += (uint32_t)len;
    text->data[text->len] = 0;
}

void text_put(Text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_format(Text *text, const char *format, ...)
{
    char small[256];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(small, sizeof small, format, list);
    va_end(list);
    if ((size_t)len < sizeof small) {
        text_add(text, small, (size_t)len);
        return;
    }
    char *large = arena_alloc(text->arena, (size_t)len + 1);
    va_start(list, format);
    vsnprintf(large, (size_t)len + 1, format, list);
    va_end(list);
    text_add(text, large, (size_t)len);
}

void text_int(Text *text, int64_t value)
{
    if (value == INT64_MIN)
        text_put(text, "INT64_MIN");
    else if (value == INT64_MAX)
        text_put(text, "INT64_MAX");
    else
        text_format(text, "%" PRId64, value);
}

/* Everything but plain ASCII is written in octal, three digits, so that no following digit can join in; a question
 * mark behind another one could start a trigraph. */
void text_quote_c(Text *text, const char *bytes, size_t len)
{
    text_put(text, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            text_put(text, "\\n");
        else if (c == '\t')
            text_put(text, "\\t");
        else if (c == '"' || c == '\\')
            text_format(text, "\\%c", c);
        else if (c == '?' && i && bytes[i - 1] == '?')
            text_put(text, "\\?");
        else if (c < 32 || c > 126)
            text_format(text, "\\%03o", c);
        else
            text_add(text, (const char *)&c, 1);
    }
    text_put(text, "\"");
}

void text_quote_json(Text *text, const char *string)
{
    text_put(text, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\')
            text_format(text, "\\%c", *c);
        else if ((unsigned char)*c < 32)
            text_format(text, "\\u%04x", (unsigned char)*c);
        else
            text_add(text, c, 1);
    }
    text_put(text, "\"");
}

/* ---- lines ---- */

void ctext_init(CText *c, Arena *arena, const LineFile *files)
{
    *c = (CText){.out = {.arena = arena}, .line = {.arena = arena}, .files = files};
}

/* Says where the next line comes from, unless the C compiler counts on to just that; the file only when it changes. */
static void put_place(CText *c)
{
    const LineFile *file = c->files;
    if (!file) return;
    while (file[1].name && file[1].line_base < c->source) file++;
    uint32_t line = c->source > file->line_base ? c->source - file->line_base : 1;
    if (file != c->last_file)
        text_format(&c->out, "#line %u %s\n", line, file->name);
    else if (line != c->next_line)
        text_format(&c->out, "#line %u\n", line);
    c->last_file = file;
    c->next_line = line + 1;
}

void ctext_flush(CText *c)
{
    if (!c->open) return;
    put_place(c);
    text_add(&c->out, c->line.data, c->line.len);
    text_put(&c->out, "\n");
    c->line.len = 0;
    c->open = false;
}

static void begin_line(CText *c, uint32_t source)
{
    ctext_flush(c);
    c->source = source;
    c->open = true;
    for (uint32_t i = 0; i < c->depth; i++) text_put(&c->line, "    ");
}

void ctext_piece(CText *c, uint32_t source, const char *piece)
{
    size_t len = strlen(piece);
    CHECK(!strchr(piece, '\n')); /* or #line would lose count */
    bool fits = c->open && c->source == source && c->line.len + len + 1 <= CTEXT_WIDTH;
    if (!fits)
        begin_line(c, source);
    else if (c->line.data[c->line.len - 1] != ' ')
        text_put(&c->line, " ");
    text_add(&c->line, piece, len);
}

void ctext_label(CText *c, uint32_t source, const char *label)
{
    uint32_t depth = c->depth;
    c->depth = 0;
    begin_line(c, source);
    c->depth = depth;
    text_format(&c->line, "%s:", label);
    while (c->line.len < 4 * depth) text_put(&c->line, " ");
    if (c->line.data[c->line.len - 1] == ':') text_put(&c->line, " ");
}

static char *format_text(Arena *arena, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int len = vsnprintf(NULL, 0, format, list);
    char *text = arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}

void ctext_pieces(CText *c, uint32_t source, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ctext_piece(c, source, format_text(c->out.arena, format, list));
    va_end(list);
}

void ctext_line(CText *c, uint32_t source, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *text = format_text(c->out.arena, format, list);
    va_end(list);
    begin_line(c, source);
    text_put(&c->line, text);
    ctext_flush(c);
}

void ctext_raw(CText *c, const char *text)
{
    ctext_flush(c);
    text_put(&c->out, text);
    c->next_line = 0;
}

/* screen_text.c: text for a terminal: cleaned, cut to a width, and what the terminal can show. */
#include "observe/screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tfy__screen_clean(TfyBuffer *out, const char *text)
{
    for (size_t len; *text; text += len) {
        len = strcspn(text, "\n\t");
        tfy__buffer_shown(out, text, len);
        if (text[len]) tfy__buffer_char(out, ' '), len++;
    }
}

int tfy__screen_width(const char *text)
{
    int columns = 0;
    for (; *text; text++) columns += (*text & 0xc0) != 0x80;
    return columns;
}

/* Appends at most so many code points of a text; returns how many. */
static int add_cut(TfyBuffer *out, const char *text, int width)
{
    TfyBuffer clean = {0};
    int columns = 0;
    tfy__screen_clean(&clean, text);
    for (size_t i = 0; i < clean.len; i++) {
        bool begins = (clean.data[i] & 0xc0) != 0x80;
        if (begins && columns == width) break;
        columns += begins;
        tfy__buffer_char(out, clean.data[i]);
    }
    tfy__buffer_free(&clean);
    return columns;
}

void tfy__screen_cut(TfyBuffer *out, const char *text, int width)
{
    add_cut(out, text, width);
}

void tfy__screen_column(TfyBuffer *out, const char *text, int width)
{
    for (int columns = add_cut(out, text, width); columns < width; columns++) tfy__buffer_char(out, ' ');
}

void tfy__screen_end(TfyBuffer *out, const char *text, int width, bool utf8)
{
    TfyBuffer clean = {0};
    tfy__screen_clean(&clean, text);
    const char *at = clean.data && !clean.failed ? clean.data : "", *dots = utf8 ? "…" : "...";
    int left_out = tfy__screen_width(at) - width;
    if (left_out > 0) {
        tfy__buffer_text(out, dots);
        for (left_out += tfy__screen_width(dots); *at && left_out > 0; left_out--) do
                at++;
            while ((*at & 0xc0) == 0x80);
    }
    tfy__buffer_text(out, at);
    tfy__buffer_free(&clean);
}

void tfy__screen_hear(TfyBuffer *kept, const char *text)
{
    enum { MOST = 2000 };
    tfy__buffer_text(kept, text);
    size_t drop = kept->len > MOST ? kept->len - MOST : 0;
    while (drop && (kept->data[drop] & 0xc0) == 0x80) drop++;
    if (!drop) return;
    kept->len -= drop;
    memmove(kept->data, kept->data + drop, kept->len + 1);
}

void tfy__screen_elapsed(TfyBuffer *out, int64_t ms)
{
    int64_t seconds = ms > 0 ? ms / 1000 : 0;
    if (seconds < 60)
        tfy__buffer_printf(out, "%lld.%lld s", (long long)seconds, (long long)(ms > 0 ? ms / 100 % 10 : 0));
    else if (seconds < 3600)
        tfy__buffer_printf(out, "%lld:%02lld", (long long)seconds / 60, (long long)seconds % 60);
    else
        tfy__buffer_printf(out, "%lld:%02lld:%02lld", (long long)seconds / 3600, (long long)seconds / 60 % 60,
                           (long long)seconds % 60);
}

bool tfy__screen_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool tfy__screen_colour(void)
{
    const char *none = getenv("NO_COLOR");
    return !none || !*none;
}

bool tfy__screen_obeys(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

/* ---- how far something is ---- */

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " ");
}

/* Reads a number without a sign: digits, perhaps with a point. Returns where it ends; NULL: the text is not one. */
static const char *read_number(const char *text, double *number)
{
    const size_t digits = strspn(text, "0123456789");
    double tenth = 0.1;
    *number = 0;
    if (!digits || digits > 15) return NULL;
    for (size_t i = 0; i < digits; i++) *number = *number * 10 + (text[i] - '0');
    text += digits;
    if (text[0] != '.' || !strchr("0123456789", text[1]) || !text[1]) return text;
    for (text++; *text >= '0' && *text <= '9'; text++, tenth /= 10) *number += (*text - '0') * tenth;
    return text;
}

bool tfy__screen_fraction(const char *text, double *fraction, const char **rest)
{
    double done, all;
    const char *at = read_number(skip_blanks(text), &done), *behind = at ? skip_blanks(at) : NULL, *end = NULL;
    if (!at) return false;
    if (*behind == '%') {
        end = behind + 1;
        all = 100;
    } else if (*behind == '/') {
        end = read_number(skip_blanks(behind + 1), &all);
    } else if (strncmp(behind, "of ", 3) == 0) {
        end = read_number(skip_blanks(behind + 3), &all);
    } else if (!*behind && strchr(text, '.')) {
        end = behind;
        all = 1;
    }
    if (!end || all <= 0 || done > all || (*end && !strchr(" :,;.", *end))) return false;
    *fraction = done / all;
    *rest = end + strspn(end, " :,;");
    return true;
}

void tfy__screen_bar(TfyBuffer *out, double fraction, int width, bool utf8)
{
    const int full = (int)(fraction * width + 1e-9);
    tfy__buffer_char(out, '[');
    for (int i = 0; i < width; i++) tfy__buffer_text(out, i < full ? utf8 ? "█" : "#" : utf8 ? "░" : ".");
    tfy__buffer_char(out, ']');
}

/* diag.c: collects and prints the compiler's messages. */
#include "diag.h"
#include "../runtime/base/list.h"
#include "../runtime/base/shown.h"
#include "../runtime/base/terminal.h"
#include "bug.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_LIMIT = 50, TAB_WIDTH = 4, NAME_MAX_LEN = 64 };

void diag_init(DiagList *list, Arena *arena, const SourceSet *sources)
{
    *list = (DiagList){.arena = arena, .sources = sources, .limit = DEFAULT_LIMIT};
}

void diag_adopt(DiagList *list, Diag *diag)
{
    uint32_t *count = diag->level == DIAG_ERROR ? &list->errors : &list->warnings;
    if ((*count)++ < list->limit) LIST_APPEND(list, diag, next);
}

void diag_deny_warnings(DiagList *list)
{
    for (Diag *diag = list->first; diag; diag = diag->next) diag->level = DIAG_ERROR;
    list->errors += list->warnings;
    list->warnings = 0;
}

/* Above the limit the record is made, so callers may decorate it, but not kept. */
static Diag *add(DiagList *list, DiagLevel level, Span span, const char *format, va_list args)
{
    Diag *diag = arena_new(list->arena, Diag);
    diag->message = arena_vprintf(list->arena, format, args);
    diag->level = level;
    diag->span = span;
    diag_adopt(list, diag);
    return diag;
}

Diag *diag_error(DiagList *list, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Diag *diag = add(list, DIAG_ERROR, span, format, args);
    va_end(args);
    return diag;
}

Diag *diag_warning(DiagList *list, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Diag *diag = add(list, DIAG_WARNING, span, format, args);
    va_end(args);
    return diag;
}

void diag_hint(DiagList *list, Diag *diag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag->hint = arena_vprintf(list->arena, format, args);
    va_end(args);
}

void diag_other(DiagList *list, Diag *diag, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    DiagPlace *place = arena_new(list->arena, DiagPlace);
    place->message = arena_vprintf(list->arena, format, args);
    place->span = span;
    va_end(args);
    LIST_APPEND(&diag->others, place, next);
}

Diag *diag_fix(Diag *diag, Span span, const char *text)
{
    diag->fix = text;
    diag->fix_span = span;
    return diag;
}

Diag *diag_replace(Diag *diag, const char *text)
{
    return diag_fix(diag, diag->span, text);
}

void diag_not_yet(DiagList *list, Span span, const char *what)
{
    diag_error(list, span, "%s is not supported yet", what);
}

/* ---- suggestions ---- */

/* Optimal string alignment: a swap of neighbours counts as one mistake, because it is the commonest. */
static uint32_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    CHECK(a_len <= NAME_MAX_LEN && b_len <= NAME_MAX_LEN);
    uint32_t rows[3][NAME_MAX_LEN + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++) above[j] = (uint32_t)j;
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_len; j++) {
            uint32_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
        uint32_t *free_row = before;
        before = above, above = row, row = free_row;
    }
    return above[b_len];
}

/* Twice the distance, one less for a common beginning; UINT32_MAX when too far to suggest. */
static uint32_t score_candidate(const char *name, size_t len, const char *candidate)
{
    size_t other_len = strlen(candidate);
    if (other_len > NAME_MAX_LEN || other_len == 0) return UINT32_MAX;
    size_t shorter = len < other_len ? len : other_len;
    if (len == other_len && strncasecmp(name, candidate, len) == 0) return 0;
    uint32_t distance = edit_distance(name, len, candidate, other_len);
    bool prefix = shorter >= 3 && strncasecmp(name, candidate, shorter) == 0;
    uint32_t allowed = len <= 2 ? 1 : len <= 5 ? 2 : 3;
    if (distance > allowed && !(prefix && distance <= 4)) return UINT32_MAX;
    if (distance >= len) return UINT32_MAX;
    return distance * 2 - prefix;
}

const char *diag_nearest(const char *name, size_t len, const char *const *candidates, size_t count)
{
    if (len == 0 || len > NAME_MAX_LEN) return NULL;
    const char *best = NULL;
    uint32_t best_score = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t score = score_candidate(name, len, candidates[i]);
        if (score >= best_score) continue;
        best = candidates[i];
        best_score = score;
    }
    return best;
}

/* ---- printing ---- */

static int compare_position(const void *left, const void *right)
{
    const Diag *a = *(const Diag *const *)left, *b = *(const Diag *const *)right;
    if (a->span.off != b->span.off) return a->span.off < b->span.off ? -1 : 1;
    return 0;
}

/* The kept ones in source order; *count gets how many. A merge would do, but there are at most `limit`. */
static const Diag **sort_diags(const DiagList *list, size_t *count)
{
    size_t total = 0;
    for (const Diag *diag = list->first; diag; diag = diag->next) total++;
    const Diag **sorted = arena_alloc(list->arena, (total + 1) * sizeof *sorted);
    size_t n = 0;
    for (const Diag *diag = list->first; diag; diag = diag->next) sorted[n++] = diag;
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && compare_position(&sorted[j - 1], &sorted[j]) > 0; j--) {
            const Diag *later = sorted[j - 1];
            sorted[j - 1] = sorted[j];
            sorted[j] = later;
        }
    *count = n;
    return sorted;
}

/* Decodes one code point of text that may be broken; a broken byte counts as one. */
static uint32_t decode_point(const char *text, uint32_t len, uint32_t *size)
{
    unsigned char lead = (unsigned char)text[0];
    uint32_t want = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    *size = 1;
    if (want == 1 || want > len) return lead;
    uint32_t point = lead & (0xffu >> (want + 1));
    for (uint32_t i = 1; i < want; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return lead;
        point = point << 6 | ((unsigned char)text[i] & 0x3fu);
    }
    *size = want;
    return point;
}

/* Columns a terminal gives a code point: none for combining marks, two for East Asian wide text and pictures. */
static uint32_t point_width(uint32_t point)
{
    static const struct {
        uint32_t first, last, width;
    } ranges[] = {
        {0x300, 0x36f, 0},   {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},   {0x1100, 0x115f, 2},   {0x2e80, 0x303e, 2},
        {0x3041, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
        {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return ranges[i].width;
    return 1;
}

/* Prints the next character of a source line as it is shown, tabs spread; adds the columns it takes, and answers its
 * bytes. */
static uint32_t print_point(FILE *out, const char *text, uint32_t left, uint32_t *column)
{
    char shown[TFY_SHOWN_MAX];
    uint32_t size = (uint32_t)tfy__shown_step(text, left, shown), ignored, width;
    if (*text == '\t') {
        width = TAB_WIDTH - *column % TAB_WIDTH;
        fprintf(out, "%*s", (int)width, "");
    } else if (shown[0]) {
        width = (uint32_t)strlen(shown);
        fputs(shown, out);
    } else {
        width = point_width(decode_point(text, left, &ignored));
        fwrite(text, 1, size, out);
    }
    *column += width;
    return size;
}

enum { LINE_SHOWN_MAX = 160 };

/* The part of a long line that is shown: it starts a little before the caret. */
static uint32_t choose_window(const char *line, uint32_t len, uint32_t at)
{
    if (len <= LINE_SHOWN_MAX || at < LINE_SHOWN_MAX / 2) return 0;
    uint32_t start = at - LINE_SHOWN_MAX / 2;
    while (start < len && ((unsigned char)line[start] & 0xc0) == 0x80) start++;
    return start;
}

static void print_excerpt(FILE *out, const LineCol *where, Span span, const char *on, const char *off)
{
    uint32_t len;
    const char *line = source_line(where->source, where->line, &len);
    uint32_t at = span.off - where->source->base - (uint32_t)(line - where->source->text);
    uint32_t end = at + span.len < len ? at + span.len : len;
    uint32_t start = choose_window(line, len, at);
    uint32_t stop = len - start > LINE_SHOWN_MAX ? start + LINE_SHOWN_MAX : len;
    uint32_t column = 0, caret = 0, width = 0, size;
    fprintf(out, "    %s", start ? "..." : "");
    for (uint32_t i = start; i < stop; i += size) {
        const uint32_t before = column;
        size = print_point(out, line + i, len - i, &column);
        if (i < at) caret = column;
        if (i >= at && i < end) width += column - before;
    }
    fprintf(out, "%s\n    %*s", stop < len ? "..." : "", (int)(caret + (start ? 3 : 0)), "");
    tfy__terminal_codes(out, on);
    fputc('^', out);
    for (uint32_t i = 1; i < width; i++) fputc('~', out);
    tfy__terminal_codes(out, off);
    fputc('\n', out);
}

static void print_place(const DiagList *list, FILE *out, Span span, const char *kind, const char *message, bool colour)
{
    LineCol where = source_line_col(list->sources, span.off);
    const char *bold = colour ? "\033[1m" : "", *strong = !colour ? "" : kind[0] == 'e' ? "\033[1;31m" : "\033[1;36m";
    const char *plain = colour ? "\033[0m" : "";
    tfy__terminal_codes(out, bold);
    fprintf(out, "%s:%u:%u:", where.source ? where.source->name : "?", where.line, where.col);
    tfy__terminal_codes(out, plain);
    fputc(' ', out);
    tfy__terminal_codes(out, strong);
    fprintf(out, "%s:", kind);
    tfy__terminal_codes(out, plain);
    fprintf(out, " %s\n", message);
    if (where.source) print_excerpt(out, &where, span, strong, plain);
}

void diag_print(const DiagList *list, FILE *out, bool colour)
{
    size_t count;
    const Diag **sorted = sort_diags(list, &count);
    for (size_t i = 0; i < count; i++) {
        const Diag *diag = sorted[i];
        print_place(list, out, diag->span, diag->level == DIAG_ERROR ? "error" : "warning", diag->message, colour);
        if (diag->hint) fprintf(out, "    hint: %s\n", diag->hint);
        for (const DiagPlace *place = diag->others.first; place; place = place->next)
            print_place(list, out, place->span, "note", place->message, colour);
    }
    if (list->errors > list->limit) fprintf(out, "only the first %u errors are shown\n", list->limit);
    if (list->warnings > list->limit) fprintf(out, "only the first %u warnings are shown\n", list->limit);
}

static json_t *place_to_json(const DiagList *list, Span span, const char *message)
{
    LineCol from = source_line_col(list->sources, span.off), to = source_line_col(list->sources, span.off + span.len);
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s}", "file", from.source ? from.source->name : "?", "line",
                     (int)from.line, "col", (int)from.col, "end_line", (int)to.line, "end_col", (int)to.col, "message",
                     message);
}

void diag_print_json(const DiagList *list, FILE *out)
{
    size_t count;
    const Diag **sorted = sort_diags(list, &count);
    for (size_t i = 0; i < count; i++) {
        const Diag *diag = sorted[i];
        json_t *object = place_to_json(list, diag->span, diag->message), *related = json_array();
        json_object_set_new(object, "severity", json_string(diag->level == DIAG_ERROR ? "error" : "warning"));
        if (diag->hint) json_object_set_new(object, "hint", json_string(diag->hint));
        for (const DiagPlace *place = diag->others.first; place; place = place->next)
            json_array_append_new(related, place_to_json(list, place->span, place->message));
        json_object_set_new(object, "related", related);
        json_dumpf(object, out, JSON_COMPACT);
        fputc('\n', out);
        json_decref(object);
    }
}

/* format_piece.c: tokens to pieces. What is between two pieces is blanks, newlines, ';' and comments; it is read
 * here once more, so the lexer need not keep it for everybody. */
#include <string.h>

#include "format_internal.h"
#include "grammar.h"

bool format_is_opener(int kind)
{
    return kind == TOK_LP || kind == TOK_LSQ || kind == TOK_LBRACE;
}

bool format_is_closer(int kind)
{
    return kind == TOK_RP || kind == TOK_RSQ || kind == TOK_RBRACE;
}

uint32_t format_piece_at(const Format *f, uint32_t off)
{
    uint32_t low = 0, high = f->count;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->pieces[middle].off <= off) {
            low = middle;
        } else {
            high = middle;
        }
    }
    bool before = f->pieces[low].off + f->pieces[low].len <= off && low + 1 < f->count;
    return before ? low + 1 : low;
}

static const char *text_at(const Format *f, uint32_t off)
{
    return f->source->text + (off - f->source->base);
}

static void add_comment(Format *f, uint32_t off, uint32_t len, uint32_t newlines)
{
    const char *text = text_at(f, off);
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r')) len--;
    f->comments = arena_grow(f->arena, f->comments, &f->comment_cap, f->comment_count + 1, sizeof *f->comments);
    f->comments[f->comment_count++] = (Comment){off, len, newlines};
}

/* Takes the comments from `off` to `end`, where the piece starts. */
static void read_gap(Format *f, Piece *piece, uint32_t off)
{
    piece->comment_first = f->comment_count;
    while (off < piece->off) {
        const char *at = text_at(f, off);
        if (at[0] == '\n') piece->newlines++;
        if (at[0] != '/' && at[0] != '#') { /* `#!` in the first line is a comment too */
            off++;
            continue;
        }
        const char *end = memchr(at, '\n', piece->off - off);
        uint32_t len = end ? (uint32_t)(end - at) : piece->off - off;
        add_comment(f, off, len, piece->newlines);
        piece->newlines = 0;
        off += len;
    }
    piece->comment_count = f->comment_count - piece->comment_first;
}

static uint32_t count_points(const char *text, uint32_t len)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < len; i++) points += ((unsigned char)text[i] & 0xc0) != 0x80;
    return points;
}

static void measure_piece(const Format *f, Piece *piece)
{
    const char *text = text_at(f, piece->off);
    const char *first = memchr(text, '\n', piece->len), *last = memrchr(text, '\n', piece->len);
    piece->tall = first != NULL;
    piece->width = count_points(text, first ? (uint32_t)(first - text) : piece->len);
    piece->last_width = last ? count_points(last + 1, (uint32_t)(text + piece->len - last - 1)) : piece->width;
}

/* The index of the STR_END that belongs to the STR_BEG at `at`. */
static uint32_t find_string_end(const TokenTrace *trace, uint32_t at)
{
    uint32_t depth = 0;
    for (; at < trace->count; at++) {
        if (trace->items[at].kind == TOK_STR_BEG) depth++;
        if (trace->items[at].kind == TOK_STR_END && --depth == 0) return at;
    }
    UNREACHED("every string of a program without mistakes has an end");
}

/* An open bracket while brackets are matched. */
typedef struct OpenBracket {
    uint32_t piece; /* its index */
    bool lines;     /* there is a newline in it, at any depth */
} OpenBracket;

static void close_bracket(Format *f, OpenBracket *open, uint32_t depth, uint32_t closer)
{
    Piece *opener = &f->pieces[open[depth].piece];
    CHECK(format_is_opener(opener->kind) && !opener->match);
    opener->match = closer;
    f->pieces[closer].match = open[depth].piece;
    if (opener->list && open[depth].lines) opener->broken = true;
    if (depth) open[depth - 1].lines |= open[depth].lines;
}

/* Sets match, and broken: braces around lines are broken by any newline in them, other brackets by one directly
 * behind the opener or by a comment between their elements. */
static void match_brackets(Format *f)
{
    OpenBracket *open = arena_alloc(f->arena, (f->count + 1) * sizeof *open);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const Piece *piece = &f->pieces[i];
        bool closes = format_is_closer(piece->kind) && depth;
        if (depth) {
            OpenBracket *top = &open[depth - 1];
            bool first = top->piece + 1 == i, newline = piece->newlines && !(first && closes);
            top->lines |= newline || piece->comment_count || f->pieces[i - 1].tall;
            if (piece->comment_count || (newline && first)) f->pieces[top->piece].broken = true;
        }
        if (closes) close_bracket(f, open, --depth, i);
        if (format_is_opener(piece->kind)) open[depth++] = (OpenBracket){i, false};
    }
    CHECK(depth == 0);
}

static void count_lines(Format *f)
{
    for (uint32_t i = 1; i < f->count; i++) {
        Piece *piece = &f->pieces[i];
        bool empty = format_is_closer(piece->kind) && format_is_opener(piece[-1].kind);
        bool begins = (piece->newlines && !empty) || piece->comment_count || piece[-1].tall;
        piece->lines = piece[-1].lines + begins;
    }
}

void format_make_pieces(Format *f, const TokenTrace *trace)
{
    bool item = false, semi = false;
    uint32_t end = f->source->base;
    if (f->source->len >= 3 && memcmp(f->source->text, "\xef\xbb\xbf", 3) == 0) end += 3;
    for (uint32_t i = 0; i < trace->count; i++) {
        Token token = trace->items[i];
        if (token.kind == TOK_NL) {
            item = true;
            semi |= token.len > 0;
            continue;
        }
        Piece piece = {.off = token.off, .len = token.len, .kind = token.kind, .item = item, .semi = semi};
        if (token.kind == TOK_STR_BEG) {
            i = find_string_end(trace, i);
            piece.len = trace->items[i].off + trace->items[i].len - piece.off;
        }
        CHECK(end <= piece.off); /* what is between two pieces is read as comments */
        piece.list = token.flags & TOKEN_LIST;
        read_gap(f, &piece, end);
        measure_piece(f, &piece);
        f->pieces = arena_grow(f->arena, f->pieces, &f->cap, f->count + 1, sizeof *f->pieces);
        f->pieces[f->count++] = piece;
        end = piece.off + piece.len;
        item = semi = false;
    }
    count_lines(f);
    match_brackets(f);
}

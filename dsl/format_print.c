/* format_print.c: pieces to text.
 *
 * One walk over the pieces with a stack of open brackets. Before each piece is nothing, a blank or a new line; a
 * bracket decides when it is printed whether its inside goes on lines of its own. A decision looks only at the text
 * from there to the next place where the line can end anyway, so it is the same when the result is formatted again. */
#include <string.h>

#include "format_internal.h"
#include "grammar.h"

/* An open bracket. */
typedef struct Frame {
    uint32_t opener; /* its piece */
    uint32_t indent; /* of the line it is in, and of its closer's */
    uint32_t base;   /* indent of what starts in it */
    bool broken;     /* its inside is on lines of its own */
    bool single;     /* each element is on a line of its own */
    bool filled;     /* as many elements are on a line as fit */
} Frame;

/* Code with a comment behind it: the blanks between them are put in at the end. */
typedef struct Trailing {
    size_t at;      /* offset of the comment in the output */
    uint32_t line;  /* number of its line */
    uint32_t width; /* columns of the code */
} Trailing;

enum { TRAILING_GAP = 2, TRAILING_MAX = 80 };

typedef struct Printer {
    Format *f;
    char *out; /* in the arena */
    size_t len;
    uint32_t cap;
    uint32_t column, line;
    uint32_t line_indent; /* of the present line */
    Frame *frames;        /* frames[0] is the file */
    uint32_t depth;       /* index of the innermost */
    Trailing *trailing;
    uint32_t trailing_count, trailing_cap;
} Printer;

static void put(Printer *p, const char *text, size_t len)
{
    p->out = arena_grow(p->f->arena, p->out, &p->cap, (uint32_t)(p->len + len + 1), 1);
    memcpy(p->out + p->len, text, len);
    p->len += len;
}

static void put_source(Printer *p, uint32_t off, uint32_t len)
{
    put(p, p->f->source->text + (off - p->f->source->base), len);
}

static void put_mark(Printer *p, const char *text)
{
    put(p, text, strlen(text));
    p->column += (uint32_t)strlen(text);
}

static const Piece *piece_at(const Printer *p, uint32_t i)
{
    return &p->f->pieces[i];
}

/* ---- blanks ---- */

static bool is_prefix(const Piece *piece)
{
    return piece->kind == TOK_NOT || (piece->kind == TOK_MINUS && piece->marks & MARK_UNARY);
}

static bool is_angle(const Piece *piece, int kind)
{
    return piece->kind == kind && piece->marks & MARK_TYPE;
}

/* Is there a blank between two pieces on one line? */
static bool stands_apart(const Piece *left, const Piece *right)
{
    if (left->kind == TOK_LBRACE || right->kind == TOK_RBRACE)
        return left->kind != TOK_LBRACE || right->kind != TOK_RBRACE;
    if (left->kind == TOK_LP || left->kind == TOK_LSQ || left->kind == TOK_DOT || left->kind == TOK_QDOT ||
        left->kind == TOK_DOTDOT)
        return false;
    if (is_prefix(left) || is_angle(left, TOK_LT)) return false;
    if ((left->kind == TOK_SLASH && left->marks & MARK_RATE) || (right->kind == TOK_SLASH && right->marks & MARK_RATE))
        return false;
    switch (right->kind) {
    case TOK_RP:
    case TOK_RSQ:
    case TOK_COMMA:
    case TOK_COLON:
    case TOK_QUEST:
    case TOK_DOT:
    case TOK_QDOT:
    case TOK_DOTDOT:
    case 0: return false;
    case TOK_LP:
    case TOK_LSQ: return !(right->marks & MARK_TIGHT);
    default: return !is_angle(right, TOK_LT) && !is_angle(right, TOK_GT);
    }
}

/* A ';' between two statements on one line takes two characters. */
static uint32_t gap_width(const Printer *p, uint32_t i)
{
    const Piece *left = piece_at(p, i - 1), *right = piece_at(p, i);
    bool between = right->item && left->kind != TOK_LBRACE && right->kind != TOK_RBRACE && left->kind != TOK_COMMA;
    return between ? 2 : stands_apart(left, right);
}

/* ---- where lines end ---- */

static bool is_separator(const Printer *p, const Frame *frame, const Piece *piece)
{
    if (piece->kind != TOK_COMMA || piece->marks & MARK_INLINE || frame == p->frames) return false;
    return !(piece_at(p, frame->opener)->marks & MARK_STMTS);
}

/* A line that ends between pieces i - 1 and i because the author or a chain ends it there, not because of a
 * bracket. */
static bool breaks_inside(const Printer *p, uint32_t i)
{
    const Piece *left = piece_at(p, i - 1), *right = piece_at(p, i);
    if (right->comment_count) return true;
    if (left->chain && left->chain->broken && left->chain->behind) return true;
    if (right->chain && right->chain->broken && !right->chain->behind) return true;
    if (!right->newlines) return false;
    return right->marks & MARK_POLICY || right->kind == TOK_DOT || right->kind == TOK_QDOT || right->kind == TOK_BAR;
}

/* Whether it is known before printing that the inside of an opener is on separate lines. */
static bool is_broken(const Piece *opener)
{
    return opener->broken || (opener->clauses && opener->clauses->broken);
}

static bool must_break(const Printer *p, uint32_t i)
{
    const Piece *left = piece_at(p, i - 1);
    return breaks_inside(p, i) || (format_is_opener(left->kind) && is_broken(left));
}

/* Is piece i behind the bracket a place where the line can end, so that what follows need not fit? */
static bool may_break(const Printer *p, uint32_t i, const Frame *frame)
{
    const Piece *piece = piece_at(p, i);
    if (must_break(p, i) || piece->marks & MARK_POLICY || piece->kind == 0) return true;
    bool own = frame == p->frames || frame->broken;
    return own && (piece->item || (format_is_closer(piece->kind) && frame != p->frames) ||
                   (i && is_separator(p, frame, piece_at(p, i - 1))));
}

/* A comma behind the last element is exactly where the closer has a line of its own. */
static bool wants_last_comma(const Printer *p, const Frame *frame, uint32_t closer)
{
    if (frame == p->frames || !(piece_at(p, frame->opener)->marks & MARK_COMMAS) || !frame->broken) return false;
    return closer > frame->opener + 1 && piece_at(p, closer - 1)->kind != TOK_COMMA;
}

/* What is still put at the end of a line before piece i: a last comma, or a ';' that must stay. */
static uint32_t tail_width(const Printer *p, const Frame *frame, uint32_t i)
{
    const Piece *piece = piece_at(p, i);
    bool closes = frame != p->frames && piece_at(p, frame->opener)->match == i;
    return (closes && wants_last_comma(p, frame, i)) || (piece->semi && token_kind_continues(piece->kind));
}

/* Do the pieces first … last, and what must stay on their line behind them, fit from a column on? */
static bool fits(const Printer *p, uint32_t column, uint32_t first, uint32_t last)
{
    const Frame *frame = &p->frames[p->depth];
    for (uint32_t i = first; i < p->f->count && column <= FORMAT_COLUMNS; i++) {
        const Piece *piece = piece_at(p, i);
        if (i > first && i <= last && must_break(p, i)) return true;
        if (i > last && may_break(p, i, frame)) return column + tail_width(p, frame, i) <= FORMAT_COLUMNS;
        column += (i > first ? gap_width(p, i) : 0) + piece->width;
        if (piece->tall || (i > last && format_is_opener(piece->kind))) break;
        if (i > last && format_is_closer(piece->kind) && frame != p->frames) frame--;
    }
    return column <= FORMAT_COLUMNS;
}

/* ---- brackets ---- */

/* Breaking would gain nothing: one string, or one bracket that can be broken itself. */
static bool is_hugging(const Printer *p, uint32_t opener)
{
    const Piece *piece = piece_at(p, opener), *inner = piece_at(p, opener + 1);
    if (piece->kind == TOK_LBRACE) return false;
    uint32_t last = piece->match - 1;
    if (piece_at(p, last)->kind == TOK_COMMA && last > opener + 1) last--;
    return last == opener + 1 || (format_is_opener(inner->kind) && !inner->list && inner->match == last);
}

static void push_frame(Printer *p, uint32_t opener, bool broken)
{
    Frame frame = {opener, p->line_indent, p->line_indent + FORMAT_INDENT, broken, false, false};
    p->frames[++p->depth] = frame;
}

/* Do the author's lines in a broken bracket fit as they are? A line of one element is as good as it gets. */
static bool lines_fit(const Printer *p, uint32_t opener)
{
    uint32_t close = piece_at(p, opener)->match, from = opener + 1;
    bool several = false;
    for (uint32_t i = opener + 1; i <= close; i++) {
        const Piece *piece = piece_at(p, i);
        bool separator = i > from && is_separator(p, &p->frames[p->depth], piece_at(p, i - 1));
        bool ends = i == close || (separator && (piece->newlines || piece->comment_count));
        if (ends && several && !fits(p, p->line_indent + FORMAT_INDENT, from, i - 1)) return false;
        if (ends) from = i, several = false;
        if (separator && !ends) several = true;
        if (format_is_opener(piece->kind)) i = piece->match;
    }
    return true;
}

/* Is it a list of words and numbers? Those read well side by side. */
static bool is_plain_list(const Printer *p, uint32_t opener)
{
    const Piece *piece = piece_at(p, opener);
    if (piece->kind != TOK_LSQ || !(piece->marks & MARK_COMMAS)) return false;
    for (uint32_t i = opener + 2; i < piece->match; i += 2)
        if (piece_at(p, i)->kind != TOK_COMMA) return false;
    for (uint32_t i = opener + 1; i < piece->match; i++)
        if (piece_at(p, i)->tall || format_is_opener(piece_at(p, i)->kind)) return false;
    return true;
}

/* The opener has just been printed. */
static void open_bracket(Printer *p, uint32_t i)
{
    const Piece *piece = piece_at(p, i);
    bool empty = piece->match == i + 1;
    uint32_t last = piece->clauses ? piece->clauses->last : piece->match;
    bool broken = is_broken(piece) || (!(empty && last == i + 1) && !is_hugging(p, i) &&
                                       !fits(p, p->column + gap_width(p, i + 1), i + 1, last));
    if (broken && piece->clauses) piece->clauses->broken = true;
    if (empty && !piece->broken) broken = false;
    push_frame(p, i, broken);
    if (!broken) return;
    Frame *frame = &p->frames[p->depth];
    bool kept = piece->broken && !piece->list && lines_fit(p, i);
    frame->filled = !kept && is_plain_list(p, i);
    frame->single = !kept && !frame->filled;
}

/* ---- lines ---- */

static void end_line(Printer *p)
{
    put(p, "\n", 1);
    p->line++;
    p->column = 0;
}

static void begin_line(Printer *p, uint32_t indent)
{
    for (uint32_t i = 0; i < indent; i++) put(p, " ", 1);
    p->column = p->line_indent = indent;
}

static void put_trailing(Printer *p, const Comment *comment)
{
    p->trailing = arena_grow(p->f->arena, p->trailing, &p->trailing_cap, p->trailing_count + 1, sizeof *p->trailing);
    p->trailing[p->trailing_count++] = (Trailing){p->len, p->line, p->column};
    put_source(p, comment->off, comment->len);
}

/* One blank line is kept, but none at the beginning or the end of a bracket or of the file. */
static void keep_blank_line(Printer *p, uint32_t newlines, bool at_edge)
{
    if (newlines > 1 && !at_edge && p->len) end_line(p);
}

/* The comments before piece i; the line they end in has ended. `indent` is theirs. */
static void put_comments(Printer *p, uint32_t i, uint32_t indent)
{
    const Piece *piece = piece_at(p, i);
    bool after_opener = i == 0 || format_is_opener(piece_at(p, i - 1)->kind);
    for (uint32_t n = 0; n < piece->comment_count; n++) {
        const Comment *comment = &p->f->comments[piece->comment_first + n];
        if (n == 0 && i > 0 && !comment->newlines) {
            put_trailing(p, comment);
            end_line(p);
            continue;
        }
        if (n == 0 && i > 0) end_line(p);
        keep_blank_line(p, comment->newlines, n == 0 && after_opener);
        begin_line(p, indent);
        put_source(p, comment->off, comment->len);
        end_line(p);
    }
    if (!piece->comment_count && i > 0) end_line(p);
}

static void new_line(Printer *p, uint32_t i, uint32_t indent, uint32_t comment_indent)
{
    const Piece *piece = piece_at(p, i);
    bool edge = format_is_closer(piece->kind) || piece->kind == 0;
    if (!piece->comment_count && (i == 0 || format_is_opener(piece_at(p, i - 1)->kind))) edge = true;
    put_comments(p, i, comment_indent);
    keep_blank_line(p, piece->newlines, edge);
    if (piece->kind != 0) begin_line(p, indent);
}

/* ---- pieces ---- */

static bool is_dropped_comma(const Printer *p, const Frame *frame, uint32_t i)
{
    if (frame == p->frames || frame->broken || !(piece_at(p, frame->opener)->marks & MARK_COMMAS)) return false;
    return piece_at(p, i)->kind == TOK_COMMA && piece_at(p, frame->opener)->match == i + 1;
}

/* Something starts with piece i that is at its bracket's own indent. */
static bool begins_entry(const Printer *p, const Frame *frame, uint32_t i)
{
    const Piece *piece = piece_at(p, i);
    if (i == 0 || piece->item || is_separator(p, frame, piece_at(p, i - 1))) return true;
    if (frame != p->frames && frame->opener + 1 == i) return true;
    return piece->marks & MARK_CLAUSE;
}

/* Whether the bracket around piece i puts a new line before it. */
static bool breaks_at(const Printer *p, const Frame *frame, uint32_t i)
{
    const Piece *piece = piece_at(p, i);
    if (!frame->broken) return false;
    if (piece->item || i == 0 || piece->kind == 0) return true;
    if (frame == p->frames) return false;
    if (frame->opener + 1 == i || piece_at(p, frame->opener)->match == i) return true;
    if (!is_separator(p, frame, piece_at(p, i - 1))) return false;
    return frame->filled ? p->column + 1 + piece->width + 1 > FORMAT_COLUMNS : frame->single || piece->newlines;
}

static bool policy_breaks(const Printer *p, uint32_t i)
{
    const Piece *piece = piece_at(p, i);
    return piece->marks & MARK_POLICY && !fits(p, p->column + 1, i, piece->until);
}

/* What is before piece i: nothing, a blank, "; " or a new line. */
static void separate(Printer *p, uint32_t i)
{
    const Frame *frame = &p->frames[p->depth];
    const Piece *piece = piece_at(p, i);
    bool closes = frame != p->frames && piece_at(p, frame->opener)->match == i;
    if (closes && wants_last_comma(p, frame, i)) put_mark(p, ",");
    if (breaks_at(p, frame, i) || (i && (breaks_inside(p, i) || policy_breaks(p, i)))) {
        if (piece->semi && token_kind_continues(piece->kind)) put_mark(p, ";");
        uint32_t inner = begins_entry(p, frame, i) || closes ? frame->base : frame->base + FORMAT_INDENT;
        new_line(p, i, closes ? frame->indent : inner, inner);
        return;
    }
    if (gap_width(p, i) == 2)
        put_mark(p, "; ");
    else if (stands_apart(piece_at(p, i - 1), piece))
        put_mark(p, " ");
}

static void print_piece(Printer *p, uint32_t i)
{
    const Piece *piece = piece_at(p, i);
    if (is_dropped_comma(p, &p->frames[p->depth], i)) return;
    separate(p, i);
    if (piece->kind == 0) return;
    for (Chain *chain = piece->starts.first; chain; chain = chain->next)
        if (!chain->broken && !fits(p, p->column, i, chain->last)) chain->broken = true;
    put_source(p, piece->off, piece->len);
    p->column = piece->tall ? piece->last_width : p->column + piece->width;
    if (format_is_opener(piece->kind)) open_bracket(p, i);
    if (format_is_closer(piece->kind) && p->depth) p->depth--;
}

/* ---- comments behind code ---- */

/* How many comments from `first` on are in lines one below the other; *width gets the widest code. */
static uint32_t count_run(const Printer *p, uint32_t first, uint32_t *width)
{
    uint32_t n = 1;
    *width = p->trailing[first].width;
    if (*width > TRAILING_MAX) return n;
    for (; first + n < p->trailing_count; n++) {
        const Trailing *next = &p->trailing[first + n];
        if (next->line != next[-1].line + 1 || next->width > TRAILING_MAX) break;
        if (next->width > *width) *width = next->width;
    }
    return n;
}

/* The text with the blanks before its trailing comments: those in lines that follow each other are in one column. */
static char *align_comments(const Printer *p, size_t *len)
{
    size_t room = p->len + 1;
    uint32_t width = 0, in_run = 0;
    for (uint32_t i = 0; i < p->trailing_count; i++) room += FORMAT_COLUMNS + TRAILING_GAP;
    char *text = arena_alloc(p->f->arena, room), *to = text;
    size_t from = 0;
    for (uint32_t i = 0; i < p->trailing_count; i++, in_run--) {
        if (!in_run) in_run = count_run(p, i, &width);
        CHECK(p->trailing[i].at >= from && p->trailing[i].width <= width);
        to = mempcpy(to, p->out + from, p->trailing[i].at - from);
        uint32_t blanks = width - p->trailing[i].width + TRAILING_GAP;
        memset(to, ' ', blanks);
        to += blanks;
        from = p->trailing[i].at;
    }
    if (p->len > from) to = mempcpy(to, p->out + from, p->len - from); /* nothing at all has no text */
    *len = (size_t)(to - text);
    CHECK(*len < room);
    return text;
}

char *format_print(Format *f, size_t *len)
{
    Printer *p = arena_new(f->arena, Printer);
    p->f = f;
    p->frames = arena_alloc(f->arena, (f->count + 1) * sizeof *p->frames);
    p->frames[0] = (Frame){.broken = true, .single = true};
    for (uint32_t i = 0; i < f->count; i++) print_piece(p, i);
    CHECK(p->depth == 0);
    return align_comments(p, len);
}

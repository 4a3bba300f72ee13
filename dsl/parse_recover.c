/* parse_recover.c: continues after a mistake.
 *
 * The automaton is dropped to the nearest list that can hold an error, and the text up to the end of the statement
 * is skipped. Three things keep one mistake one error: what could have ended at the mistake is kept;
 * skipped text reports nothing, not even what the lexer found in it; and indentation tells where a forgotten '}'
 * belongs. */
#include "parse_internal.h"

#include "grammar.h"

/* Words that are only at the beginning of a statement or declaration: recovery trusts them at the beginning of a
 * line. */
static bool begins_statement(const Parser *p, uint32_t index)
{
    if (parse_token(p, index + 1).kind == TOK_COLON) return false;
    switch (parse_token(p, index).kind) {
    case TOK_LET:
    case TOK_VAR:
    case TOK_WHILE:
    case TOK_FOR:
    case TOK_MATCH:
    case TOK_RETURN:
    case TOK_FAIL:
    case TOK_BREAK:
    case TOK_CONTINUE:
    case TOK_GIVE:
    case TOK_TRY:
    case TOK_WORKFLOW:
    case TOK_FN:
    case TOK_ASSERT: return true;
    default: return false;
    }
}

static int closer_of(int opener)
{
    return opener == TOK_LP ? TOK_RP : opener == TOK_LSQ ? TOK_RSQ : opener == TOK_LBRACE ? TOK_RBRACE : TOK_INTERP_END;
}

/* The brackets of the text being skipped: those above `floor` were open when the mistake was met, or were met since. */
typedef struct Skip {
    int closers[BRACKET_MAX];
    uint32_t count;
    /* '{' met while skipping and not yet closed: whatever is in them is skipped */
    uint32_t braces_met;
    uint32_t line_count; /* `count` at the beginning of the present line */
    /* between declarations: indented lines belong to the one with the mistake */
    bool outside;
    bool cut;       /* passed the end of an unreadable line */
    bool loop_head; /* in the head of a `for`, where people of C write ';' */
} Skip;

/* A closing bracket takes the unclosed ones of other kinds above its partner with it. False: it closes something
 * outside. */
static bool skip_closer(Skip *skip, int kind)
{
    uint32_t partner = skip->count;
    while (partner > 0 && skip->closers[partner - 1] != kind) partner--;
    if (!partner) return kind != TOK_RBRACE;
    bool over_brace = false;
    for (uint32_t i = partner; i < skip->count; i++) over_brace |= skip->closers[i] == TOK_RBRACE;
    if (over_brace && kind != TOK_RBRACE) return true;
    skip->count = partner - 1;
    if (kind == TOK_RBRACE && skip->braces_met) skip->braces_met--;
    return true;
}

static void skip_opener(Parser *p, Skip *skip, Token token)
{
    if (skip->count == BRACKET_MAX) {
        parse_report_depth(p, token, "brackets", BRACKET_MAX);
        return;
    }
    skip->closers[skip->count++] = closer_of(token.kind);
    skip->braces_met += token.kind == TOK_LBRACE;
}

/* Whether the line after p->at continues beside the present one, neither deeper nor with a '}'. Then a bracket
 * opened here was closed here. */
static bool next_line_is_beside(const Parser *p)
{
    Token next = parse_token(p, p->at + 1);
    if (next.kind == TOK_RBRACE || next.kind == 0 || !(next.flags & TOKEN_FIRST)) return false;
    return parse_indent_of(p, p->at + 1) <= parse_indent_of(p, p->at);
}

/* The end of an unreadable line: brackets other than braces are taken as closed in it, braces when the next line
 * looks like that. */
static void skip_cut(const Parser *p, Skip *skip)
{
    uint32_t least = next_line_is_beside(p) ? skip->line_count : skip->count;
    while (skip->count && (skip->count > least || skip->closers[skip->count - 1] != TOK_RBRACE)) {
        skip->count--;
        if (skip->closers[skip->count] == TOK_RBRACE && skip->braces_met) skip->braces_met--;
    }
    skip->cut = true;
}

static bool skip_ends_before(const Parser *p, const Skip *skip, uint32_t index)
{
    Token token = parse_token(p, index);
    if (token.kind == 0) return true;
    if (token.kind == TOK_NL) return !skip->count && !skip->loop_head;
    if (!(token.flags & TOKEN_FIRST)) return false;
    if (!skip->count) return !skip->outside || parse_indent_of(p, index) == 0;
    if (parse_indent_of(p, index) == 0 && parse_begins_declaration(p, index)) return true;
    return !skip->braces_met && begins_statement(p, index);
}

static void skip_statement(Parser *p, Skip *skip)
{
    bool again = p->failed_once && p->last_recovery == p->at;
    p->last_recovery = p->at;
    p->mistake_off = parse_token(p, p->at).off;
    p->failed_once = true;
    p->resumed = false;
    for (bool forced = again; !p->stopped; p->at++, forced = false) {
        Token token = parse_token(p, p->at);
        if (!forced && skip_ends_before(p, skip, p->at)) return;
        if (token.kind == 0) return;
        if (token.flags & TOKEN_FIRST) skip->line_count = skip->count;
        if (parse_is_opener(token.kind)) skip_opener(p, skip, token);
        if (parse_is_closer(token.kind) && !skip_closer(skip, token.kind) && !forced) return;
        if (token.kind == TOK_BAD && token.flags & TOKEN_CUT) skip_cut(p, skip);
    }
}

/* Drops the automaton to the nearest list that may hold an error. What could have ended here is kept. */
static void drop_statement(Parser *p)
{
    if (parse_wants(p, TOK_NL)) parse_feed_newline(p);
    grammar_settle(p->automaton);
    grammar_(p->automaton, TOK_BAD, parse_token(p, p->at));
}

void parse_pass_lexical(Parser *p, uint32_t until, bool keep)
{
    while (p->heard && p->heard->span.off < until) {
        Diag *diag = p->heard;
        p->heard = diag->next;
        if (keep) diag_adopt(p->build.diags, diag);
    }
}

static uint32_t line_of(const Parser *p, uint32_t off)
{
    return source_line_col(p->build.sources, off).line;
}

/* The '}' of a block on one line is often part of what an unclosed string swallowed: it was there when the next line
 * continues beside the block and not in it. */
static void close_cut_braces(Parser *p)
{
    Token next = parse_token(p, p->at);
    if (next.kind == TOK_RBRACE || next.kind == 0 || !(next.flags & TOKEN_FIRST)) return;
    while (p->open_count && p->opens[p->open_count - 1].list && parse_takes(p, TOK_RBRACE)) {
        uint32_t open = p->opens[p->open_count - 1].token;
        bool here = line_of(p, parse_token(p, open).off) == line_of(p, p->build.last_end);
        if (!here || parse_indent_of(p, p->at) > parse_indent_of(p, open)) return;
        grammar_(p->automaton, TOK_RBRACE, (Token){.off = p->build.last_end, .kind = TOK_RBRACE});
        p->open_count--;
        if (parse_wants(p, TOK_NL)) parse_feed_newline(p);
    }
}

/* Drops the unfinished statement and skips the text that belonged to it. */
static void recover(Parser *p)
{
    uint32_t before = p->open_count;
    Skip skip = {.loop_head = parse_wants(p, TOK_IN) && parse_takes(p, TOK_COMMA)};
    drop_statement(p);
    uint32_t depth = grammar_depth(p->automaton);
    while (p->open_count && p->opens[p->open_count - 1].depth + 1 >= depth) p->open_count--;
    Token mistake = parse_token(p, p->at);
    CHECK(before <= BRACKET_MAX);
    for (uint32_t i = p->open_count; i < before; i++) {
        Token open = parse_token(p, p->opens[i].token);
        skip.closers[skip.count++] = closer_of(open.kind);
        if (line_of(p, open.off) < line_of(p, mistake.off)) skip.line_count = skip.count;
    }
    skip.outside = !p->open_count;
    parse_pass_lexical(p, mistake.off + (mistake.kind == TOK_BAD), true);
    skip_statement(p, &skip);
    parse_pass_lexical(p, parse_token(p, p->at).off, false);
    if (parse_wants(p, TOK_NL)) parse_feed_newline(p);
    if (skip.cut) close_cut_braces(p);
}

void parse_fail(Parser *p)
{
    bool reported = p->failed_once && p->last_recovery == p->at;
    if (!reported && parse_token(p, p->at).kind != TOK_BAD) parse_report(p);
    recover(p);
}

void parse_close_braces(Parser *p)
{
    drop_statement(p);
    p->open_count = 0;
    for (uint32_t left = BRACKET_MAX; left > 0 && !parse_takes(p, 0); left--) {
        if (parse_wants(p, TOK_NL)) parse_feed_newline(p);
        if (parse_takes(p, TOK_RBRACE))
            grammar_(p->automaton, TOK_RBRACE, (Token){.off = p->build.last_end, .kind = TOK_RBRACE});
    }
    if (!parse_takes(p, 0) && parse_takes(p, TOK_NL)) parse_feed_newline(p);
    if (!parse_takes(p, 0)) p->stopped = true;
}

bool parse_brace_is_missing(const Parser *p)
{
    if (!p->open_count || !p->opens[0].list) return false;
    Token token = parse_token(p, p->at);
    if (token.kind == 0) return p->opens[p->open_count - 1].list && parse_wants(p, TOK_NL);
    return token.flags & TOKEN_FIRST && parse_begins_declaration(p, p->at) &&
           parse_indent_of(p, p->at) <= parse_indent_of(p, p->opens[0].token);
}

bool parse_list_is_unclosed(const Parser *p)
{
    Token token = parse_token(p, p->at);
    if (!(token.flags & TOKEN_FIRST) || !begins_statement(p, p->at)) return false;
    if (!p->open_count || !p->opens[p->open_count - 1].list || parse_takes(p, token.kind)) return false;
    bool ends = parse_takes(p, TOK_RBRACE) || parse_wants(p, TOK_NL);
    return ends && parse_indent_of(p, p->at) <= parse_indent_of(p, p->opens[p->open_count - 1].token);
}

/* A mistake on the line of the '{' has most likely hidden its '}'. */
void parse_close_list(Parser *p)
{
    uint32_t open = p->opens[--p->open_count].token;
    bool hidden = p->failed_once && line_of(p, p->mistake_off) == line_of(p, parse_token(p, open).off);
    if (!hidden) parse_report_unclosed(p, open);
    p->failed_once = true;
    p->last_recovery = p->at;
    if (parse_wants(p, TOK_NL)) parse_feed_newline(p);
    if (parse_takes(p, TOK_RBRACE))
        grammar_(p->automaton, TOK_RBRACE, (Token){.off = p->build.last_end, .kind = TOK_RBRACE});
}

void parse_close_missing_braces(Parser *p)
{
    bool reported = p->failed_once && !p->resumed;
    if (!reported) parse_report_unclosed(p, p->opens[p->open_count - 1].token);
    p->last_recovery = p->at;
    p->failed_once = true;
    parse_close_braces(p);
}

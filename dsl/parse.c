/* parse.c: feeds tokens to the automaton.
 *
 * Nothing is fed that the automaton would not take: it is asked first, so lemon's own error handling is entered only on purpose, by
 * BAD. Around that question stand the newline rule, the splitting of '>=' and '?' '?' inside types, and recovery: report, drop to
 * the nearest list that can hold an error, skip to the end of the statement, go on. */
#include "parse.h"

#include <stdlib.h>

#include "grammar.h"
#include "parse_internal.h"

static bool takes(const Parser *p, int kind)
{
    return grammar_takes(p->automaton, kind);
}

static bool wants(const Parser *p, int kind)
{
    return grammar_wants(p->automaton, kind);
}

static Token *token_at(const Parser *p, uint32_t index)
{
    uint32_t last = p->tokens.count - 1;
    return &p->tokens.items[index < last ? index : last];
}

/* ---- feeding ---- */

static void feed_newline(Parser *p)
{
    Token newline = {.off = p->build.last_end, .kind = TOK_NL};
    grammar_(p->automaton, TOK_NL, newline);
}

static void report_depth(Parser *p, Token token, const char *what, uint32_t limit)
{
    Diag *diag = diag_error(p->build.diags, token_span(token), "%s nested more than %u deep", what, limit);
    diag_hint(p->build.diags, diag, "move the inner parts into functions or workflows of their own");
    p->stopped = true;
}

static bool is_opener(int kind)
{
    return kind == TOK_LP || kind == TOK_LSQ || kind == TOK_LBRACE || kind == TOK_INTERP_BEG;
}

static bool is_closer(int kind)
{
    return kind == TOK_RP || kind == TOK_RSQ || kind == TOK_RBRACE || kind == TOK_INTERP_END;
}

static void feed(Parser *p, Token token)
{
    uint32_t depth = grammar_depth(p->automaton);
    if (depth > STACK_MAX) {
        report_depth(p, token, "code", STACK_MAX);
        return;
    }
    if (is_opener(token.kind) && p->open_count == BRACKET_MAX) {
        report_depth(p, token, "brackets", BRACKET_MAX);
        return;
    }
    grammar_(p->automaton, token.kind, token);
    p->resumed = true;
    if (token.kind != TOK_NL && token.kind != 0) p->build.last_end = token.off + token.len;
    bool list = token.kind == TOK_LBRACE && wants(p, TOK_NL);
    if (is_opener(token.kind)) p->opens[p->open_count++] = (Open){p->at, grammar_depth(p->automaton) - 1, list};
    if (is_closer(token.kind) && p->open_count) p->open_count--;
    /* With its list on the stack, an error directly behind the '{' is caught inside these braces and not outside. */
    if (list) feed_newline(p);
}

/* ---- the newline rule ---- */

static bool is_continuing_word(int kind)
{
    switch (kind) {
    case TOK_ELSE:
    case TOK_CATCH:
    case TOK_FINALLY:
    case TOK_RETRY:
    case TOK_BACKOFF:
    case TOK_TIMEOUT:
    case TOK_UNDO:
    case TOK_KEY:
    case TOK_APPROVE:
    case TOK_AS: return true;
    default: return false;
    }
}

static bool is_continuing_mark(int kind)
{
    switch (kind) {
    case TOK_DOT:
    case TOK_PLUS:
    case TOK_STAR:
    case TOK_SLASH:
    case TOK_PERCENT:
    case TOK_EQ:
    case TOK_NE:
    case TOK_LT:
    case TOK_LE:
    case TOK_GT:
    case TOK_GE:
    case TOK_AND:
    case TOK_OR:
    case TOK_COALESCE:
    case TOK_RP:
    case TOK_RSQ:
    case TOK_COMMA: return true;
    default: return false;
    }
}

/* Behind a listed word these show that it is a name after all, and begins a statement or an arm. */
static bool makes_a_name(int kind)
{
    switch (kind) {
    case TOK_ASSIGN:
    case TOK_PLUSEQ:
    case TOK_MINUSEQ:
    case TOK_STAREQ:
    case TOK_SLASHEQ:
    case TOK_FATARROW:
    case TOK_BAR:
    case TOK_DOT:
    case TOK_COLON: return true;
    default: return false;
    }
}

/* Does the statement before token p->at end there? */
static bool statement_ends(const Parser *p)
{
    Token token = *token_at(p, p->at);
    bool boundary = token.flags & TOKEN_FIRST || token.kind == TOK_RBRACE || token.kind == 0;
    if (!boundary || !wants(p, TOK_NL)) return false;
    if (is_continuing_mark(token.kind)) return !wants(p, token.kind);
    if (is_continuing_word(token.kind)) return makes_a_name(token_at(p, p->at + 1)->kind) || !wants(p, token.kind);
    return true;
}

/* ---- recovery ---- */

/* Words that stand only at the beginning of a statement or declaration: recovery trusts them at the beginning of a line. */
static bool begins_statement(const Parser *p, uint32_t index)
{
    if (token_at(p, index + 1)->kind == TOK_COLON) return false;
    switch (token_at(p, index)->kind) {
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
    uint32_t braces_met; /* '{' met while skipping and not yet closed: whatever is in them is skipped */
    bool loop_head;      /* in the head of a `for`, where people of C write ';' */
} Skip;

/* A closing bracket takes the unclosed ones of other kinds above its partner with it. False: it closes something outside. */
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
        report_depth(p, token, "brackets", BRACKET_MAX);
        return;
    }
    skip->closers[skip->count++] = closer_of(token.kind);
    skip->braces_met += token.kind == TOK_LBRACE;
}

/* The end of an unreadable line: brackets other than braces are taken as closed. */
static void skip_cut(Skip *skip)
{
    while (skip->count && skip->closers[skip->count - 1] != TOK_RBRACE) skip->count--;
}

static bool skip_ends_before(const Parser *p, const Skip *skip, uint32_t index)
{
    Token token = *token_at(p, index);
    if (token.kind == 0) return true;
    if (token.kind == TOK_NL) return !skip->count && !skip->loop_head;
    if (!(token.flags & TOKEN_FIRST)) return false;
    if (!skip->count) return true;
    if (parse_indent_of(p, index) == 0 && parse_begins_declaration(p, index)) return true;
    return !skip->braces_met && begins_statement(p, index);
}

static void skip_statement(Parser *p, Skip *skip)
{
    bool again = p->failed_once && p->last_recovery == p->at;
    p->last_recovery = p->at;
    p->failed_once = true;
    p->resumed = false;
    for (bool forced = again; !p->stopped; p->at++, forced = false) {
        Token token = *token_at(p, p->at);
        if (!forced && skip_ends_before(p, skip, p->at)) return;
        if (token.kind == 0) return;
        if (is_opener(token.kind)) skip_opener(p, skip, token);
        if (is_closer(token.kind) && !skip_closer(skip, token.kind) && !forced) return;
        if (token.kind == TOK_BAD && token.flags & TOKEN_CUT) skip_cut(skip);
    }
}

/* Drops the automaton to the nearest list that may hold an error. What could have ended here is kept. */
static void drop_statement(Parser *p)
{
    if (wants(p, TOK_NL)) feed_newline(p);
    grammar_settle(p->automaton);
    grammar_(p->automaton, TOK_BAD, *token_at(p, p->at));
}

/* Drops the unfinished statement and skips the text that belonged to what was dropped. */
static void recover(Parser *p)
{
    uint32_t before = p->open_count;
    Skip skip = {.loop_head = wants(p, TOK_IN) && takes(p, TOK_COMMA)};
    drop_statement(p);
    uint32_t depth = grammar_depth(p->automaton);
    while (p->open_count && p->opens[p->open_count - 1].depth + 1 >= depth) p->open_count--;
    for (uint32_t i = p->open_count; i < before; i++)
        skip.closers[skip.count++] = closer_of(token_at(p, p->opens[i].token)->kind);
    skip_statement(p, &skip);
    if (wants(p, TOK_NL)) feed_newline(p);
}

static void fail(Parser *p)
{
    bool reported = p->failed_once && p->last_recovery == p->at;
    if (!reported && token_at(p, p->at)->kind != TOK_BAD) parse_report(p);
    recover(p);
}

/* Closes every open brace, as if the missing ones stood before p->at. */
static void close_braces(Parser *p)
{
    drop_statement(p);
    p->open_count = 0;
    for (uint32_t left = BRACKET_MAX; left > 0 && !takes(p, 0); left--) {
        if (wants(p, TOK_NL)) feed_newline(p);
        if (takes(p, TOK_RBRACE))
            grammar_(p->automaton, TOK_RBRACE, (Token){.off = p->build.last_end, .kind = TOK_RBRACE});
    }
    if (!takes(p, 0) && takes(p, TOK_NL)) feed_newline(p);
    if (!takes(p, 0)) p->stopped = true;
}

/* A declaration at the left edge inside braces, or the end of the file there: a '}' is missing before it. */
static bool brace_is_missing(const Parser *p)
{
    if (!p->open_count || !p->opens[0].list) return false;
    Token token = *token_at(p, p->at);
    if (token.kind == 0) return p->opens[p->open_count - 1].list && wants(p, TOK_NL);
    return token.flags & TOKEN_FIRST && parse_begins_declaration(p, p->at) &&
           parse_indent_of(p, p->at) <= parse_indent_of(p, p->opens[0].token);
}

static void close_missing_braces(Parser *p)
{
    bool reported = p->failed_once && p->last_recovery == p->at;
    if (!reported) parse_report_unclosed(p);
    p->last_recovery = p->at;
    p->failed_once = true;
    close_braces(p);
}

/* ---- the driver ---- */

/* Inside types '>=' is '>' '=' and '??' is '?' '?': the token becomes its second half after the first was fed. */
static bool feed_half(Parser *p)
{
    Token *token = token_at(p, p->at);
    bool angle = token->kind == TOK_GE && wants(p, TOK_GT),
         optional = token->kind == TOK_COALESCE && wants(p, TOK_QUEST);
    if (!angle && !optional) return false;
    Token half = {token->off, 1, angle ? TOK_GT : TOK_QUEST, token->flags};
    *token = (Token){token->off + 1, 1, angle ? TOK_ASSIGN : TOK_QUEST, 0};
    feed(p, half);
    return true;
}

/* Further errors would not be shown, and a tree that is too high is not to be built on. */
static bool limit_reached(const Parser *p)
{
    return p->build.too_high || p->build.diags->errors > p->build.diags->limit;
}

/* Handles the token at p->at. False at the end of the file. */
static bool step(Parser *p)
{
    if (brace_is_missing(p)) close_missing_braces(p);
    if (p->stopped || limit_reached(p)) return false;
    if (statement_ends(p)) feed_newline(p);
    Token token = *token_at(p, p->at);
    if (token.kind != TOK_BAD && takes(p, token.kind)) {
        feed(p, token);
        p->at++;
        return token.kind != 0;
    }
    if (feed_half(p)) return true;
    fail(p);
    return true;
}

/* At the end of the file an unfinished statement leaves braces open that have nothing more to say. */
static void run(Parser *p)
{
    feed_newline(p);
    while (!p->stopped && step(p)) {
        bool stuck = token_at(p, p->at)->kind == 0 && p->failed_once && !takes(p, 0);
        if (stuck) close_braces(p);
    }
}

Module *parse_module(SourceSet *sources, Source *source, Arena *arena, DiagList *diags)
{
    Module *module = arena_new(arena, Module);
    module->source = source;
    Parser *p = arena_new(arena, Parser);
    p->build = (Build){.sources = sources,
                       .source = source,
                       .arena = arena,
                       .diags = diags,
                       .module = module,
                       .last_end = source->base};
    p->build.tokens = &p->tokens;
    lexer_run(sources, source, diags, &p->tokens);
    p->automaton = grammar_Alloc(malloc, &p->build);
    if (!p->automaton) abort();
    run(p);
    grammar_Free(p->automaton, free);
    lexer_deinit(&p->tokens);
    syntax_check(&p->build, module);
    return module;
}

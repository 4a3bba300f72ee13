/* parse.c: feeds tokens to the automaton.
 *
 * Nothing is fed that the automaton would not take: it is asked first, so lemon's own error handling is entered only
 * on purpose, by BAD. Around that question are the newline rule, the splitting of '>=' and '??' inside types, and
 * recovery. */
#include "parse.h"

#include <stdlib.h>

#include "grammar.h"
#include "parse_internal.h"

/* ---- feeding ---- */

static void note_token(Parser *p, Token token)
{
    TokenTrace *trace = p->trace;
    if (!trace) return;
    trace->items = arena_grow(p->build.arena, trace->items, &trace->cap, trace->count + 1, sizeof *trace->items);
    trace->items[trace->count++] = token;
}

void parse_feed_newline(Parser *p)
{
    CHECK(parse_takes(p, TOK_NL)); /* the automaton is asked before it is fed */
    Token newline = {.off = p->build.last_end, .kind = TOK_NL};
    note_token(p, newline);
    grammar_(p->automaton, TOK_NL, newline);
}

void parse_report_depth(Parser *p, Token token, const char *what, uint32_t limit)
{
    Diag *diag = diag_error(p->build.diags, token_span(token), "%s nested more than %u deep", what, limit);
    diag_hint(p->build.diags, diag, "move the inner parts into functions or workflows of their own");
    p->stopped = true;
}

bool parse_is_opener(int kind)
{
    return kind == TOK_LP || kind == TOK_LSQ || kind == TOK_LBRACE || kind == TOK_INTERP_BEG;
}

bool parse_is_closer(int kind)
{
    return kind == TOK_RP || kind == TOK_RSQ || kind == TOK_RBRACE || kind == TOK_INTERP_END;
}

static void feed(Parser *p, Token token)
{
    uint32_t depth = grammar_depth(p->automaton);
    if (depth > STACK_MAX) {
        parse_report_depth(p, token, "code", STACK_MAX);
        return;
    }
    if (parse_is_opener(token.kind) && p->open_count == BRACKET_MAX) {
        parse_report_depth(p, token, "brackets", BRACKET_MAX);
        return;
    }
    note_token(p, token);
    grammar_(p->automaton, token.kind, token);
    p->resumed = true;
    if (token.kind != TOK_NL && token.kind != 0) p->build.last_end = token.off + token.len;
    bool list = token.kind == TOK_LBRACE && parse_wants(p, TOK_NL);
    if (list && p->trace) p->trace->items[p->trace->count - 1].flags |= TOKEN_LIST;
    if (parse_is_opener(token.kind)) p->opens[p->open_count++] = (Open){p->at, grammar_depth(p->automaton) - 1, list};
    if (parse_is_closer(token.kind) && p->open_count) p->open_count--;
    /* With its list on the stack, an error directly behind the '{' is caught inside these braces and not outside. */
    if (list) parse_feed_newline(p);
}

/* ---- the newline rule ---- */

static bool is_continuing_mark(int kind)
{
    switch (kind) {
    case TOK_DOT:
    case TOK_QDOT:
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

/* Behind a listed word these show that it is a name after all, and starts a statement or an arm. */
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
    Token token = parse_token(p, p->at);
    bool boundary = token.flags & TOKEN_FIRST || token.kind == TOK_RBRACE || token.kind == 0;
    if (!boundary || !parse_wants(p, TOK_NL)) return false;
    if (is_continuing_mark(token.kind)) return !parse_wants(p, token.kind);
    if (token_kind_continues(token.kind))
        return makes_a_name(parse_token(p, p->at + 1).kind) || !parse_wants(p, token.kind);
    return true;
}

/* ---- the driver ---- */

/* Inside types '>=' is '>' '=' and '??' is '?' '?': the token becomes its second half after the first was fed. */
static bool feed_half(Parser *p)
{
    Token *token = &p->tokens.items[p->at];
    bool angle = token->kind == TOK_GE && parse_wants(p, TOK_GT),
         optional = token->kind == TOK_COALESCE && parse_wants(p, TOK_QUEST);
    if (!angle && !optional) return false;
    Token half = {token->off, 1, angle ? TOK_GT : TOK_QUEST, token->flags};
    *token = (Token){token->off + 1, 1, angle ? TOK_ASSIGN : TOK_QUEST, 0};
    feed(p, half);
    return true;
}

/* Further errors would not be shown, and a tree that is too high is not to be built on. */
static bool limit_reached(const Parser *p)
{
    bool cut_short = p->lexical.errors > p->lexical.limit && parse_token(p, p->at).kind == 0;
    return cut_short || p->build.too_high || p->build.diags->errors > p->build.diags->limit;
}

/* Handles the token at p->at. False at the end of the file. */
static bool step(Parser *p)
{
    if (parse_brace_is_missing(p)) parse_close_missing_braces(p);
    if (p->stopped || limit_reached(p)) return false;
    if (statement_ends(p)) parse_feed_newline(p);
    if (parse_list_is_unclosed(p)) {
        parse_close_list(p);
        return true;
    }
    Token token = parse_token(p, p->at);
    p->place.off = token.off;
    if (token.kind != TOK_BAD && parse_takes(p, token.kind)) {
        feed(p, token);
        p->at++;
        return token.kind != 0;
    }
    if (feed_half(p)) return true;
    parse_fail(p);
    return true;
}

/* At the end of the file an unfinished statement leaves braces open that have nothing more to say. */
static void run(Parser *p)
{
    parse_feed_newline(p);
    while (!p->stopped && step(p)) {
        bool stuck =
            parse_token(p, p->at).kind == 0 && p->failed_once && p->last_recovery == p->at && !parse_takes(p, 0);
        if (stuck) parse_close_braces(p);
    }
}

bool parse_word_is_reserved(const char *text, size_t len)
{
    int kind = token_word_kind(text, len);
    return kind != TOK_ID && grammar_Fallback(kind) != TOK_ID;
}

Module *parse_module(SourceSet *sources, Source *source, Arena *arena, DiagList *diags)
{
    return parse_module_traced(sources, source, arena, diags, NULL);
}

Module *parse_module_traced(SourceSet *sources, Source *source, Arena *arena, DiagList *diags, TokenTrace *trace)
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
    p->trace = trace;
    diag_init(&p->lexical, arena, sources);
    lexer_run(sources, source, &p->lexical, &p->tokens);
    CHECK(p->tokens.items[p->tokens.count - 1].kind == 0); /* the end of the file */
    p->heard = p->lexical.first;
    p->place.sources = sources;
    bug_compiles(&p->place);
    p->automaton = grammar_Alloc(malloc, &p->build);
    if (!p->automaton) abort();
    run(p);
    parse_pass_lexical(p, UINT32_MAX, !p->stopped);
    grammar_Free(p->automaton, free);
    lexer_deinit(&p->tokens);
    syntax_check(&p->build, module);
    bug_compiles(NULL);
    return module;
}

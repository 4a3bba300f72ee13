/* token.h: the pieces a source text is cut into.
 *
 * The whole file is cut before parsing, because the newline rule and error recovery look ahead and back. A token is
 * twelve bytes and holds no text: what it says is read from the source when a node is made of it. The kinds are the
 * grammar's terminals (TOK_…). */
#ifndef DSL_TOKEN_H
#define DSL_TOKEN_H

#include "diag.h"
#include "source.h"

enum {
    TOKEN_FIRST = 1, /* the first token of its line */
    TOKEN_BLOCK = 2, /* STR_BEG: opens a """ block */
    TOKEN_LIST =
        /* LBRACE, in a TokenTrace: around statements, fields, arms or bodies, not a map or an `if` expression */
    8,
    /* BAD: the rest of the line was lost with it, closing brackets included */
    TOKEN_CUT = 4,
};

typedef struct Token {
    uint32_t off; /* global offset */
    uint32_t len; /* bytes */
    uint16_t kind;
    uint16_t flags;
} Token;

/* One line of a doc comment. */
typedef struct DocLine {
    /* global offset of its text, behind the slashes and one blank */
    uint32_t off;
    uint32_t len;       /* bytes, line end excluded */
    uint32_t token_off; /* global offset of the token that follows the comment */
} DocLine;

typedef struct TokenList {
    Arena arena;  /* of its own: what is in it is large and ends with the parse */
    Token *items; /* the last one is the end of the file */
    uint32_t count, cap;
    DocLine *docs; /* in source order */
    uint32_t doc_count, doc_cap;
} TokenList;

static inline Span token_span(Token token)
{
    return (Span){token.off, token.len};
}

/* Cuts a source into tokens. Mistakes are reported and leave a token in their place: a plausible one, or BAD. */
void lexer_run(SourceSet *set, Source *source, DiagList *diags, TokenList *tokens);
void lexer_deinit(TokenList *tokens);

/* A word or a mark as it is written, or what messages call a class of tokens: "while", "(", "a name", "end of file". */
const char *token_kind_name(int kind);
bool token_kind_is_class(int kind);
bool token_kind_is_word(int kind);
/* A word that continues the statement before it, even at the beginning of a line: else, catch, retry … A ';'
 * before it says otherwise. */
bool token_kind_continues(int kind);
/* The reserved words, one by one; NULL behind the last. */
const char *token_word_at(int index);

/* The kind of a word: a keyword's, or TOK_ID. */
int token_word_kind(const char *text, size_t len);

/* One line per token: line:col, kind, text. */
void token_dump(SourceSet *set, Source *source, DiagList *diags, FILE *out);

#endif

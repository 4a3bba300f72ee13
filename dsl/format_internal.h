/* format_internal.h: what the formatter's steps share.
 *
 *   format_piece.c   tokens of the parser        → pieces: what is printed, with the comments and newlines before each
 *   format_mark.c    tree                        → marks on pieces: what a bracket, '-' or '<' means where it is
 *   format_print.c   pieces                      → text
 *   format.c         both texts parsed again     → the same program? */
#ifndef DSL_FORMAT_INTERNAL_H
#define DSL_FORMAT_INTERNAL_H

#include "../runtime/base/list.h"
#include "bug.h"
#include "format.h"
#include "parse.h"

/* What the tree says about a piece. */
enum {
    MARK_TIGHT = 1,  /* '(' or '[' that belongs to the name before it */
    MARK_COMMAS = 2, /* an opener whose elements may end with a comma */
    MARK_UNARY = 4,  /* a '-' that negates */
    MARK_TYPE = 8,   /* '<' or '>' of a generic type */
    /* ',' between the variables of a loop, or inside a type: ends no entry of a list */
    MARK_INLINE = 16,
    MARK_POLICY = 32,  /* the word a policy starts with */
    MARK_STMTS = 64,   /* '{' around statements */
    MARK_RATE = 128,   /* '/' in `rate 10/1m` */
    MARK_CLAUSE = 256, /* else, catch, finally of a statement */
};

/* Things in a row that are broken all or none: operators of one kind, as in a + b + c, or the braces of one if or
 * try with its clauses. */
typedef struct Chain {
    uint32_t last; /* piece it ends with */
    bool broken;   /* a line ends at each operator, or in each brace */
    /* lines end behind the operators: a '-' at the beginning of a line would start a statement */
    bool behind;
    struct Chain *next; /* a tighter one that starts with the same piece */
} Chain;

typedef struct Comment {
    /* from its slashes to its last character that is not a blank */
    uint32_t off, len;
    uint32_t newlines; /* between it and what is before it */
} Comment;

/* A token as it is printed; a string with all its parts is one. */
typedef struct Piece {
    uint32_t off, len;                     /* global offset, bytes */
    uint16_t kind;                         /* TOK_… */
    uint16_t marks;                        /* MARK_… */
    uint32_t match;                        /* openers and closers: the index of the other one */
    uint32_t comment_first, comment_count; /* the comments before it */
    uint32_t newlines;                     /* behind the last comment, or the piece, before it */
    /* how many pieces up to this one have a newline or a comment before them; empty brackets do not count */
    uint32_t lines;
    /* MARK_POLICY: the piece that what should stay on its line ends with */
    uint32_t until;
    uint32_t width; /* code points of its first line */
    /* code points of its last line; equal to width unless it is tall */
    uint32_t last_width;
    bool tall; /* a string of several lines */
    /* a statement, field, arm … starts with it, or it closes their braces */
    bool item;
    bool semi; /* a ';' is before it */
    bool list; /* '{' around lines */
    /* opener: its inside is on lines of its own because the text was written so */
    bool broken;
    LIST(Chain) starts; /* chains that start with it, loosest first */
    Chain *clauses;     /* '{' of an if or try: the braces it goes with */
    Chain *chain;       /* an operator's */
} Piece;

typedef struct Format {
    SourceSet *sources;
    Source *source;
    Arena *arena;
    Piece *pieces; /* the last one is the end of the file */
    uint32_t count, cap;
    Comment *comments;
    uint32_t comment_count, comment_cap;
} Format;

void format_make_pieces(Format *f, const TokenTrace *trace);
void format_mark_tree(Format *f, const Module *module);
char *format_print(Format *f, size_t *len);

/* The piece that holds a global offset, or the first one behind it. */
uint32_t format_piece_at(const Format *f, uint32_t off);
bool format_is_opener(int kind);
bool format_is_closer(int kind);

#endif

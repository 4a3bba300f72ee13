/* ctext.h: writing text that people and compilers read: a growing buffer, C string literals, and C lines that know
 * where they come from.
 *
 * Statements of one source line share a physical line as long as they fit; #line directives
 * let a debugger and a crash report speak of the .tfy file. */
#ifndef CODEGEN_CTEXT_H
#define CODEGEN_CTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../dsl/arena.h"

typedef struct Text {
    Arena *arena;
    char *data; /* NUL-terminated once something was added */
    uint32_t len, cap;
} Text;

void text_reserve(Text *text, size_t len); /* makes room for so many bytes more */
void text_add(Text *text, const char *bytes, size_t len);
void text_put(Text *text, const char *string);
void text_format(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_int(Text *text, int64_t value);

/* A C string literal with its quotes; every byte that C could misread is escaped. */
void text_quote_c(Text *text, const char *bytes, size_t len);

/* A JSON string with its quotes. */
void text_quote_json(Text *text, const char *string);

#define CTEXT_WIDTH 120

/* A file of the program, for #line: its lines are counted on from those of the file before it. */
typedef struct LineFile {
    const char *name;   /* quoted */
    uint32_t line_base; /* lines before it */
} LineFile;

typedef struct CText {
    Text out;
    Text line;                 /* the physical line under construction */
    const LineFile *files;     /* for #line, the last one without a name; NULL: no #line */
    const LineFile *last_file; /* of the physical line written last; NULL: none was */
    /* where the C compiler believes the next one to be; 0: it needs a #line */
    uint32_t next_line;
    uint32_t source; /* source line of the line under construction */
    uint32_t depth;  /* of indentation, in steps of four */
    bool open;       /* something is in line */
} CText;

void ctext_init(CText *c, Arena *arena, const LineFile *files);
void ctext_flush(CText *c);                                     /* ends the physical line */
void ctext_piece(CText *c, uint32_t source, const char *piece); /* a statement; joins the line when it may */
void ctext_pieces(CText *c, uint32_t source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));                      /* formatted */
void ctext_label(CText *c, uint32_t source, const char *label); /* starts a line with "label: " */
void ctext_line(CText *c, uint32_t source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));  /* a line of its own */
void ctext_raw(CText *c, const char *text); /* as it is, without #line: preprocessor lines */

#endif

/* source.h: the text of one compilation and positions in it.
 *
 * Every byte of every source file has one 32-bit global offset, so a Span alone says which file it is in: tree
 * nodes stay small and a diagnostic can point into any module. Lines and columns are computed only when something is
 * printed. */
#ifndef DSL_SOURCE_H
#define DSL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

/* A stretch of source text: global byte offset of its first byte, and its length in bytes. */
typedef struct Span {
    uint32_t off;
    uint32_t len;
} Span;

/* One file. Owned by the SourceSet that loaded it. */
typedef struct Source {
    const char *name; /* as the user named it; what messages print */
    const char *text; /* len bytes, then a NUL that belongs to no token */
    uint32_t len;     /* bytes */
    uint32_t base;    /* global offset of text[0] */
    /* lines of the files before it: the compilation's text is its files one after the other, a newline between them */
    uint32_t line_base;
    /* byte offset of each line's first byte, made on first use; line_count entries */
    uint32_t *line_starts;
    uint32_t line_count;
    struct Source *next;
} Source;

/* Stands in for files: what an editor holds and has not saved yet. Answers 0 with a text of at most SOURCE_MAX bytes
 * that outlives the call, ENOENT where it has nothing to say, or another errno value with which the file is refused. */
typedef int SourceOverlay(void *state, const char *path, const char **text, size_t *len);

/* All files of one compilation. */
typedef struct SourceSet {
    Arena *arena;
    Source *first, *last;
    uint32_t next_base, next_line_base;
    SourceOverlay *overlay; /* asked before a file is read; NULL: nobody is */
    void *overlay_state;
    Table names; /* the interned names of all files (name.h) */
} SourceSet;

/* A position as people write it. Columns count code points, both start at 1. */
typedef struct LineCol {
    const Source *source;
    uint32_t line;
    uint32_t col;
} LineCol;

void source_set_init(SourceSet *set, Arena *arena);

/* Reads a whole file ("-" is standard input). Returns NULL and an errno value in *error when it cannot be read, or
 * EFBIG when it is larger than SOURCE_MAX bytes. */
Source *source_load(SourceSet *set, const char *path, int *error);
#define SOURCE_MAX (16u << 20)

/* Adds text that is already in memory; it is copied. */
Source *source_add(SourceSet *set, const char *name, const char *text, size_t len);

/* The file that holds a global offset; the position one past a file's end belongs to that file. */
Source *source_of(const SourceSet *set, uint32_t off);

LineCol source_line_col(const SourceSet *set, uint32_t off);

/* The line of an offset, and in *start where that line starts in its file, without counting columns. */
uint32_t source_line_of(const SourceSet *set, uint32_t off, uint32_t *start);

/* The line counted over all files: a line number that says which file it is in. For a compilation of one file, its
 * line. */
uint32_t source_global_line(const SourceSet *set, uint32_t off);

/* The text of a line (1-based) without its newline; *len gets its bytes. */
const char *source_line(const Source *source, uint32_t line, uint32_t *len);

/* The bytes of a span; not NUL-terminated. */
const char *source_text(const SourceSet *set, Span span);

static inline Span span_join(Span a, Span b)
{
    uint32_t end = b.off + b.len > a.off + a.len ? b.off + b.len : a.off + a.len;
    uint32_t off = a.off < b.off ? a.off : b.off;
    return (Span){off, end - off};
}

#endif

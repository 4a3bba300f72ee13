/* trace.h: what one program did, as the interpreter and the runner both print it.
 *
 * Output and tool calls are two sequences: output leaves only after a sync, so their common order says nothing. Where tasks run side by
 * side with tools (names that begin with root_c) only the order within each task is promised; lines begin with their task's path and
 * are sorted by it. The workflow's name in "task 1.2 (main.each) failed" is left out: the interpreter does not know what the compiler calls
 * the bodies of a parallel. */
#ifndef DIFF_TRACE_H
#define DIFF_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Signals named "go" with the values 1, 2 … that are sent to each program before it begins. */
#define TRACE_SIGNALS 3

typedef struct Trace {
    const char *name;   /* of the workflow */
    const char *out;    /* lines printed; NULL: none */
    const char *calls;  /* tool calls, a line each; NULL: none */
    const char *state;  /* how the root task ended */
    const char *result; /* JSON or NULL */
    const char *error;  /* the sentence about the failure, or NULL */
} Trace;

typedef struct TraceLine {
    const char *text;
    size_t len, path; /* of the whole line, and of its first word */
    size_t at;        /* keeps lines of one path in their order */
} TraceLine;

/* What one print said stays one line, since lines are sorted by their beginning. */
static inline void trace_one_line(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n') text[i] = '\r';
}

/* Bytes to leave out here: of " (NAME)" between "task PATH" and what became of it; 0: none. */
static inline size_t trace_name(const char *text, const char *at)
{
    const char *path = at;
    while (path > text && strchr("0123456789.", path[-1])) path--;
    if (path == at || path - text < 5 || memcmp(path - 5, "task ", 5) != 0 || strncmp(at, " (", 2) != 0) return 0;
    size_t len = strcspn(at, ")");
    if (!at[len]) return 0;
    const char *after = at + len + 1;
    return !strncmp(after, " was killed", 11) || !strncmp(after, " failed", 7) || !strncmp(after, " panicked", 9)
               ? len + 1
               : 0;
}

static inline void trace_text(FILE *to, const char *text, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        at += text[at] == ' ' ? trace_name(text, text + at) : 0;
        if (at < len) fputc(text[at], to);
    }
}

static inline int trace_order(const void *a, const void *b)
{
    const TraceLine *x = a, *y = b;
    size_t common = x->path < y->path ? x->path : y->path;
    int order = memcmp(x->text, y->text, common);
    if (!order && x->path != y->path) order = x->path < y->path ? -1 : 1;
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static inline void trace_lines(FILE *to, const char *prefix, const char *text, int sorted)
{
    size_t count = 0, cap = 1;
    for (const char *at = text; at && *at; at++) cap += *at == '\n';
    TraceLine *lines = calloc(cap, sizeof *lines);
    if (!lines) abort();
    for (const char *at = text, *end; at && (end = strchr(at, '\n')); at = end + 1, count++) {
        size_t path = strcspn(at, " \n");
        lines[count] = (TraceLine){at, (size_t)(end - at), path, count};
    }
    if (sorted) qsort(lines, count, sizeof *lines, trace_order);
    for (size_t i = 0; i < count; i++) {
        fputs(prefix, to);
        trace_text(to, lines[i].text, lines[i].len);
        fputc('\n', to);
    }
    free(lines);
}

static inline void trace_sentence(FILE *to, const char *prefix, const char *text)
{
    if (!text) return;
    fputs(prefix, to);
    trace_text(to, text, strlen(text));
    fputc('\n', to);
}

static inline void trace_print(FILE *to, const Trace *trace)
{
    int sorted = strncmp(trace->name, "root_c", 6) == 0;
    fprintf(to, "== %s\n", trace->name);
    trace_lines(to, "out ", trace->out, sorted);
    trace_lines(to, "call ", trace->calls, sorted);
    fprintf(to, "state %s\n", trace->state);
    trace_sentence(to, "result ", trace->result);
    trace_sentence(to, "error ", trace->error);
}

#endif

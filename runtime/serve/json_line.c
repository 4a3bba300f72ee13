/* json_line.c: see json_line.h. */
#include "serve/json_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct Scan {
    const char *at, *end;
} Scan;

static void skip_blanks(Scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n,:", *scan->at) && *scan->at) scan->at++;
}

static void skip_text(Scan *scan)
{
    for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++)
        if (*scan->at == '\\' && scan->at + 1 < scan->end) scan->at++;
    if (scan->at < scan->end) scan->at++;
}

/* Containers are skipped by their brackets, so nothing nests here. */
static void skip_value(Scan *scan)
{
    int depth = 0;
    skip_blanks(scan);
    do {
        if (scan->at >= scan->end) return;
        if (*scan->at == '"') {
            skip_text(scan);
        } else if (*scan->at == '{' || *scan->at == '[') {
            depth++;
            scan->at++;
        } else if (*scan->at == '}' || *scan->at == ']') {
            depth--;
            scan->at++;
        } else {
            scan->at += strcspn(scan->at, " \t\r\n,:{}[]\"") ? strcspn(scan->at, " \t\r\n,:{}[]\"") : 1;
        }
        if (depth) skip_blanks(scan);
    } while (depth > 0);
}

/* Goes to the member of that name, in the object that starts here. */
static bool enter_member(Scan *scan, const char *name, size_t len)
{
    skip_blanks(scan);
    if (scan->at >= scan->end || *scan->at != '{') return false;
    for (scan->at++;;) {
        skip_blanks(scan);
        if (scan->at >= scan->end || *scan->at != '"') return false;
        const char *start = scan->at + 1;
        const char *key = scan->at;
        skip_text(scan);
        if ((size_t)(scan->at - start) == len + 1 && memcmp(start, name, len) == 0) {
            scan->at = key;
            return true;
        }
        skip_value(scan);
    }
}

static bool enter_item(Scan *scan, long index)
{
    skip_blanks(scan);
    if (scan->at >= scan->end || *scan->at != '[') return false;
    for (scan->at++; index > 0; index--) skip_value(scan);
    skip_blanks(scan);
    return scan->at < scan->end && *scan->at != ']';
}

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

int tfy__json_line(const char *text, size_t len, const char *path)
{
    Scan scan = {text, text + len};
    const char *found = text;
    path += *path == '$';
    while (*path) {
        const bool item = *path == '[';
        const size_t size = item ? strcspn(path, "]") + 1 : 1 + strcspn(path + 1, ".[");
        if (!(item ? enter_item(&scan, strtol(path + 1, NULL, 10)) : enter_member(&scan, path + 1, size - 1))) break;
        found = scan.at;
        if (!item) skip_text(&scan); /* its name */
        path += size;
    }
    return line_of(text, found);
}

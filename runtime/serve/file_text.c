/* file_text.c: see file_text.h. */
#include "serve/file_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfy.h"

enum { MOST = 1 << 20 };

char *tfy__file_text(const char *path, size_t *len, char *error)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(MOST + 1) : NULL;
    const size_t got = text ? fread(text, 1, MOST, file) : 0;
    const bool whole = text && !ferror(file) && got < MOST;
    if (!whole)
        snprintf(error, TFY_ERROR_TEXT, "%.300s: %s", path,
                 got == MOST ? "it is longer than 1 MiB" : strerror(errno ? errno : EIO));
    if (file) fclose(file);
    if (!whole) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    if (len) *len = got;
    return text;
}

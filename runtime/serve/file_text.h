/* file_text.h: a small file that a person wrote, as a text. */
#ifndef SERVE_FILE_TEXT_H
#define SERVE_FILE_TEXT_H

#include <stddef.h>

/* At most 1 MiB, with a NUL behind it; malloc'ed. *len may be NULL. NULL: error (TFY_ERROR_TEXT bytes) names the file. */
char *tfy__file_text(const char *path, size_t *len, char *error);

#endif

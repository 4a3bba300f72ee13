/* secret.h: values that a program names and never holds.
 *
 * secret("NAME") is a string that reads "secret:NAME" wherever it appears: in records, digests, messages, in the
 * program itself. Which of its bytes represent the value is stored beside the text (value/string.c), so no text
 * from outside can pass for a secret. Only the performers of exec, http and C functions insert values, at the
 * moment the work is done. From then on the values are known, and masked in everything that comes back, before any
 * other code sees it (known.h).
 *
 * A value is looked up in the file of --secrets (NAME=value lines), then in TFY_SECRET_NAME as it was when the
 * process started. It is read anew each time, so that it can be changed while a program runs, and wiped when the
 * call has finished. */
#ifndef EFFECTS_SECRET_H
#define EFFECTS_SECRET_H

#include <errno.h>

#include "core/effect.h"

#define TFY_SECRETS_MAX 16 /* different ones in one call */

typedef struct TfySecret {
    char name[64];
    char *value; /* NUL-terminated */
    size_t len;  /* bytes of value */
} TfySecret;

/* A text with its secrets inserted. */
typedef struct TfySecretText {
    char *bytes; /* owned */
    size_t len;
} TfySecretText;

/* The secrets that one call uses. All zero: none. */
typedef struct TfySecrets {
    TfyLoop *loop;
    TfySecret items[TFY_SECRETS_MAX];
    int count;
    TfySecretText *texts; /* filled texts */
    int text_count, text_cap;
    char error[TFY_ERROR_TEXT]; /* why the last fill failed … */
    int no_room;                /* … and 0, or the error for which its file could not be opened now */
} TfySecrets;

/* The text with its secrets inserted: the string's own bytes if it has none, else owned by the set. *len receives
 * the number of bytes; NUL-terminated. NULL: secrets->error says which secret is missing. */
const char *tfy__secrets_fill(TfySecrets *secrets, TfyLoop *loop, const TfyObj *string, size_t *len);

/* Fails a call after a failed fill; if there was no room for the file, the call waits. */
static inline void tfy__secrets_fail(TfyCall *call, const TfySecrets *secrets)
{
    if (secrets->no_room)
        tfy__call_no_room(call, secrets->no_room);
    else
        tfy__call_tool_error(call, ENOENT, "%s", secrets->error);
}

/* Wipes and frees all. */
void tfy__secrets_free(TfySecrets *secrets);

#endif

/* secret.h: values that a program names and never holds.
 *
 * secret("NAME") is a string that reads "secret:NAME" wherever it appears: in records, digests, messages, in the
 * program itself. Which of its bytes represent the value is stored beside the text (value/string.c), so no text
 * from outside can pass for a secret. Only the performers of exec, http and C functions insert values, at the
 * moment the work is done. From then on the values are known, and masked in everything that comes back, before any
 * other code sees it (known.h).
 *
 * A value is found where secret_source.h says, anew for each call, and wiped when the call has finished. Each use
 * leaves a record with the names of the secret, the tool and the step. */
#ifndef EFFECTS_SECRET_H
#define EFFECTS_SECRET_H

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
    TfySecret items[TFY_SECRETS_MAX];
    int count;
    TfySecretText *texts; /* filled texts */
    int text_count, text_cap;
    char error[TFY_ERROR_TEXT]; /* why the last fill failed … */
    int no_room;                /* … and 0, or the error for which its file could not be opened now */
    bool waits;                 /* … or nothing is wrong: a command has not answered yet */
} TfySecrets;

/* The text with its secrets inserted: the string's own bytes if it has none, else owned by the set. *len receives
 * the number of bytes; NUL-terminated. NULL: secrets->error says which secret is missing. */
const char *tfy__secrets_fill(TfySecrets *secrets, const TfyCall *call, const TfyObj *string, size_t *len);

/* The value of a secret that no text of the program names: the set's own, NUL-terminated. NULL: as above. */
const char *tfy__secrets_named(TfySecrets *secrets, const TfyCall *call, const char *name);

/* Ends a call after a failed fill: it fails; or it waits, if a command was asked or there was no room for a file, and
 * start() is called again. */
void tfy__secrets_fail(TfyCall *call, const TfySecrets *secrets);
/* The work of the call has started: records each secret that it was given. */
void tfy__secrets_used(TfyCall *call, const TfySecrets *secrets);

/* Learns those secrets of the program that can be read now, so that what a resumed run used before is masked from the
 * start. What cannot be read is reported when it is used. 0, or TFY_E_NOMEM. */
int tfy__secrets_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text);

/* Wipes and frees all. */
void tfy__secrets_free(TfySecrets *secrets);

#endif

/* form.h: a form: what a person is to fill in, described by a JSON Schema of an object whose properties are texts, numbers,
 * truth values, choices and lists of choices (the "requestedSchema" of the Model Context Protocol). */
#ifndef TFY_VALUE_FORM_H
#define TFY_VALUE_FORM_H

#include <jansson.h>

#include "base/buffer.h"

/* What a person wrote, as the content of the form: a JSON object, or "yes"; what is left out has its default. Owned.
 * NULL: it is not; error (TFY_ERROR_TEXT bytes) says why. */
json_t *tfy__form_read(const json_t *schema, const char *text, char *error);

/* A line for each property, with newlines between them: its name, its type, what it is for, its default. */
void tfy__form_describe(const json_t *schema, TfyBuffer *out);

#endif

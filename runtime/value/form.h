/* form.h: what a person is to fill in: texts, numbers, truth values, choices and lists of choices. A program asks for a
 * record, an MCP server for its "requestedSchema". The log keeps the form as a JSON Schema, so that who answers needs
 * nothing of the program:
 *
 *   {"type": "object", "properties": {"path": {"type": "string"}, "deep": {"type": "boolean", "default": false}},
 *    "required": ["path"]}
 *
 * An answer is a JSON object with these fields; one that is left out, or null, has its default. "yes" leaves all out. */
#ifndef TFY_VALUE_FORM_H
#define TFY_VALUE_FORM_H

#include <jansson.h>

#include "base/buffer.h"
#include "tfy.h"

#define TFY_FORM_MAY_DECLINE "mayDecline" /* a member of a form: if it is true, "no" is an answer, too */

/* Appends the form of a record, with its defaults, which are literals. False: memory ran out. */
bool tfy__form_write(TfyBuffer *out, TfyTask *task, const TfyType *record);

/* What asks for records needs, behind the tool `ask_form`: other programs do not carry it. */
typedef struct TfyForms {
    bool (*write)(TfyBuffer *out, TfyTask *task, const TfyType *record);
    bool (*read)(TfyTask *task, const TfyType *record, const char *text, TfyValue *out, char *error);
} TfyForms;

/* A line for each field, with newlines between them: its name, its type, what it is for, its default. */
void tfy__form_describe(const json_t *form, TfyBuffer *out);

/* Each of the following sets error (TFY_ERROR_TEXT bytes) if the text is not an answer: "'deep' must be: boolean". */

/* The content that the text gives the form, with the defaults. Owned; NULL: it gives none. */
json_t *tfy__form_content(const json_t *form, const char *text, char *error);
/* Whether a text is an answer. */
bool tfy__form_fits(const json_t *form, const char *text, char *error);
/* The record that the text stands for, borrowed. False: it is none. */
bool tfy__form_read(TfyTask *task, const TfyType *record, const char *text, TfyValue *out, char *error);

#endif

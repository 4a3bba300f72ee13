/* json.h: values to JSON and back, by type descriptor.
 *
 * Writing goes straight into a buffer, with an explicit stack: a value may be nested as deeply as memory allows.
 * Reading accepts at most TFY_JSON_DEPTH levels, because the text comes from outside (models, tools, people).
 *
 * The mapping: records are objects in the order of declaration; a bare enum case is its name, "keep", one with fields
 * is {"case":"redo","reason":...}; null is null; bytes are base64, times RFC 3339 in UTC with milliseconds, durations
 * "90s"; int and enum map keys are written as strings; an error is
 * {"error":"StepFailed","message":...,fields,"line":N}. A declared field whose name would collide with a name of ours
 * (`case` in enums; `error`, `line` in errors) gets an underscore: "line_", and "line__" for a field that is itself
 * called line_. */
#ifndef TFY_VALUE_JSON_H
#define TFY_VALUE_JSON_H

#include "tfy_program.h"
#include "base/buffer.h"

#include <jansson.h>

#define TFY_JSON_DEPTH 128

/* Appends the canonical compact JSON of a value. False: memory ran out, or the text would pass TFY_BUFFER_MAX
 * (out->failed). */
bool tfy__encode(TfyBuffer *out, const TfyType *type, TfyValue value);

/* Appends {"name":value,...}: the arguments of a tool or workflow. */
bool tfy__encode_args(TfyBuffer *out, const TfyField *fields, uint32_t count, const TfyValue *values);

/* Whether it nests no deeper than reading accepts, `above` levels below the top. */
bool tfy__json_is_shallow(const json_t *json, int above);

/* Appends the canonical text of any JSON: compact, keys sorted by bytes, numbers in our notation. */
bool tfy__encode_json(TfyBuffer *out, const json_t *json);

/* What json_loadb reads, and its error, several times as fast. flags: any of JSON_ALLOW_NUL, JSON_DECODE_ANY and
 * JSON_REJECT_DUPLICATES. */
json_t *tfy__json_read(const char *text, size_t len, size_t flags, json_error_t *error);

/* Decodes JSON to a value of the type. The result is borrowed (one reference on the release stack). False: `error`
 * (TFY_ERROR_TEXT bytes) says where and what was expected, such as "$.steps[2].name: expected string, got 3"; and
 * only if a default panicked or memory ran out is task->error set, too. TFY_ANY_ERROR knows only the built-in errors;
 * for others find the descriptor first. */
bool tfy__decode_text(TfyTask *task, const TfyType *type, const char *text, size_t len, TfyValue *out, char *error);
bool tfy__decode_json(TfyTask *task, const TfyType *type, const json_t *json, TfyValue *out, char *error);

/* The same for a part of a text: `root` is the name of its place in error texts, and json NULL means that it is
 * absent. */
bool tfy__decode_at(TfyTask *task, const TfyType *type, const char *root, const json_t *json, TfyValue *out,
                    char *error);

/* Decodes what was encoded into a buffer with `exact` set, for values that must return unchanged (snapshots): times
 * and durations are numbers, because some have no text form; {"text": …, "secrets": [[at, length], …]} is a string
 * with secrets; and any_error also knows the errors of a program. */
typedef struct TfyExact {
    const TfyType *const *errors;
    uint32_t error_count;
} TfyExact;
bool tfy__decode_exact(TfyTask *task, const TfyExact *exact, const TfyType *type, const json_t *json, TfyValue *out,
                       char *error);

/* Decodes a JSON object to arguments, in the order of fields, each borrowed. An absent one takes its default, or null
 * if its type is optional; a name that is not a parameter is refused. Failure is reported as above, and values is all
 * zero. */
bool tfy__decode_args(TfyTask *task, const TfyField *fields, uint32_t count, const char *text, size_t len,
                      TfyValue *values, char *error);

/* The same for a tree, which nests no deeper than a text may. */
bool tfy__decode_args_json(TfyTask *task, const TfyField *fields, uint32_t count, const json_t *object,
                           TfyValue *values, char *error);

/* Appends the JSON Schema of a type, in the form that models receive. */
bool tfy__schema(TfyBuffer *out, const TfyType *type);

/* The descriptor of a built-in error ("ToolError", "Panic", ...), or NULL. */
const TfyType *tfy__builtin_error(const char *name);

/* ---- text forms that JSON and printing share ---- */

void tfy__write_float(TfyBuffer *out, double value);  /* shortest text that reads back unchanged; 1.0 keeps .0 */
void tfy__write_duration(TfyBuffer *out, int64_t ms); /* in the largest unit that divides it: 250ms, 90s, 2h */
void tfy__write_time(TfyBuffer *out, int64_t ms);     /* 2026-11-20T10:00:00.000Z */
void tfy__write_base64(TfyBuffer *out, const void *bytes, size_t len);
/* Decodes into out (3 bytes for 4 characters are enough); the length, or -1 when the text is not base64. */
int64_t tfy__read_base64(char *out, const char *text, size_t len);
/* The text of `${value}` and print: strings are unchanged, times and durations have no quotes, errors are "Kind:
 * message", everything else is JSON. */
bool tfy__write_text(TfyBuffer *out, const TfyType *type, TfyValue value);
bool tfy__read_duration(const char *text, size_t len, int64_t *ms);
/* RFC 3339 with any offset; digits beyond milliseconds are dropped. */
bool tfy__read_time(const char *text, size_t len, int64_t *ms);

#endif

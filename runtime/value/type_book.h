/* type_book.h: the types of a program that is not available, from the layout that the log keeps of it: finds
 * descriptors by the names that people write. With them, a value that a person supplies for a recorded step gets the
 * same check that the program would make. */
#ifndef TFY_VALUE_TYPE_BOOK_H
#define TFY_VALUE_TYPE_BOOK_H

#include <jansson.h>

#include "tfy_program.h"

typedef struct TfyTypeBook TfyTypeBook;

/* layout: written by codegen/emit_layout.c; it must outlive the book. NULL: out of memory. */
TfyTypeBook *tfy__type_book_new(const json_t *layout);
void tfy__type_book_free(TfyTypeBook *book);

/* Finds "int", "list<Report?>", "map<string, Report>". NULL: the program has no such type, or its values cannot be
 * supplied from outside (tasks, channels, handles). */
const TfyType *tfy__type_book_find(TfyTypeBook *book, const char *name);

/* Whether the JSON is a value of that type. False: error_text says where it is not. */
bool tfy__type_book_fits(const TfyType *type, const json_t *json, char *error_text);

/* The message about a supplied result that is not of the step's type; why comes from the decoder. */
void tfy__misfit_text(int64_t step, const char *type, const char *why, char *error_text);
/* The same for a step that returns nothing but was given a value other than null. */
void tfy__misfit_nothing(int64_t step, char *error_text);
/* The same for a signal and the place that would take it. */
void tfy__misfit_signal(const char *file, uint32_t line, const char *type, const char *why, char *error_text);

#endif

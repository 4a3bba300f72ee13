/* type_book.h: the types of a program that is not at hand, from the layout that the log keeps of it: names as people
 * write them, to descriptors. With them a value that somebody gives for a recorded step is checked as the program
 * itself would. */
#ifndef TFY_VALUE_TYPE_BOOK_H
#define TFY_VALUE_TYPE_BOOK_H

#include <jansson.h>

#include "tfy_program.h"

typedef struct TfyTypeBook TfyTypeBook;

/* layout: codegen/emit_layout.c's; it must outlive the book. NULL: no memory. */
TfyTypeBook *tfy__type_book_new(const json_t *layout);
void tfy__type_book_free(TfyTypeBook *book);

/* "int", "list<Report?>", "map<string, Report>". NULL: the program has no such type, or no value of it can be given
 * (tasks, channels, handles). */
const TfyType *tfy__type_book_find(TfyTypeBook *book, const char *name);

/* Is the JSON a value of that type? False: error_text says where it is not. */
bool tfy__type_book_fits(const TfyType *type, const json_t *json, char *error_text);

/* The sentence about a result that somebody gives and that is not of the step's type; why is the decoder's. */
void tfy__misfit_text(int64_t step, const char *type, const char *why, char *error_text);
/* The same of a step that returns nothing and was given something: only null says that. */
void tfy__misfit_nothing(int64_t step, char *error_text);

#endif

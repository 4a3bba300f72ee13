/* json_place.h: where the parts of a JSON text are, for messages. The text is read and well-formed. */
#ifndef DSL_JSON_PLACE_H
#define DSL_JSON_PLACE_H

#include <stddef.h>

/* The value of an object's member; *name (may be NULL) gets the place of its name, at the quotation mark. NULL: it has
 * none of that name, or the name is written with escapes, or there is no object. */
const char *json_place_member(const char *object, const char *name, const char **at);

/* The first element of an array, and the one behind an element; NULL: there is none. */
const char *json_place_first(const char *array);
const char *json_place_next(const char *element);

#endif

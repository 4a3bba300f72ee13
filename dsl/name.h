/* name.h: one copy of every name of a compilation, so that names are compared by pointer. */
#ifndef DSL_NAME_H
#define DSL_NAME_H

#include "source.h"

/* The one NUL-terminated copy of this text in the compilation the set belongs to: equal texts give equal pointers,
 * in all modules. */
const char *name_intern(SourceSet *set, const char *text, size_t len);

#endif

/* name.c: the names of a compilation, one copy of each. */
#include "name.h"

#include <string.h>

#include "bug.h"

const char *name_intern(SourceSet *set, const char *text, size_t len)
{
    TableItem *known = table_find(&set->names, text, len);
    if (known) return known->key;
    CHECK(!memchr(text, 0, len)); /* it ends with a NUL, and with the first one */
    const char *name = arena_strndup(set->arena, text, len);
    table_add(set->arena, &set->names, name, len);
    return name;
}

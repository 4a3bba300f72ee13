/* names.h: field names in JSON. Enum cases and errors put names of ours (`case`; `error`, `line`) among their fields.
 * A declared field of such a name gets one more underscore, and so does one that already ends in underscores, so
 * nothing can collide. */
#ifndef TFY_VALUE_NAMES_H
#define TFY_VALUE_NAMES_H

#include "tfy_program.h"
#include "base/buffer.h"

#include <string.h>

static inline bool tfy__field_name_taken(uint8_t kind, const char *name)
{
    size_t len = strlen(name);
    while (len && name[len - 1] == '_') len--;
    if (kind == TFY_ENUM) return len == 4 && memcmp(name, "case", 4) == 0;
    return kind == TFY_ERROR &&
           ((len == 5 && memcmp(name, "error", 5) == 0) || (len == 4 && memcmp(name, "line", 4) == 0));
}

/* Writes the quoted name; kind is the kind of the type that has the field. */
static inline void tfy__write_field_name(TfyBuffer *out, uint8_t kind, const char *name)
{
    tfy__buffer_char(out, '"');
    tfy__buffer_text(out, name); /* an identifier: nothing to escape */
    if (tfy__field_name_taken(kind, name)) tfy__buffer_char(out, '_');
    tfy__buffer_char(out, '"');
}

#endif

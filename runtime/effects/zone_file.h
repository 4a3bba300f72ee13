/* zone_file.h: the rules of a time zone, as text that value/clock.h reads, from the system's files of them ($TZDIR, else
 * /usr/share/zoneinfo). */
#ifndef EFFECTS_ZONE_FILE_H
#define EFFECTS_ZONE_FILE_H

#include "base/buffer.h"
#include "tfy.h"

/* name: NUL-terminated, and so long. 0, where rules->failed means that memory ran out; or an errno
 * with a sentence (TFY_ERROR_TEXT bytes). */
int tfy__zone_read(const char *name, size_t len, TfyBuffer *rules, char *error);

#endif

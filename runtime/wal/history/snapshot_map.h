/* snapshot_map.h: translates a snapshot into the terms of another program, as that program would have written it.
 *
 * Parts that a snapshot identifies by number (routines, points, slots that share a name, places where messages are
 * sent) get the other program's numbers, by name; values stay the same. Everything must be known to be the same
 * (compat.h defines when). A task, frame, undo or message that is not makes the whole snapshot refused, with a
 * message that names it and the reason. No code runs here: nobody can tell any more what the program did earlier and
 * would do differently now. */
#ifndef WAL_HISTORY_SNAPSHOT_MAP_H
#define WAL_HISTORY_SNAPSHOT_MAP_H

#include "base/seldom.h"
#include "wal/history/compat.h"

struct json_t;

/* The caller owns *mapped. 0, TFY_E_NOMEM, or TFY_E_DIVERGED with a message (TFY_ERROR_TEXT bytes). */
int tfy__snapshot_map(const TfyCompat *compat, const struct json_t *snapshot, struct json_t **mapped, char *error_text)
    TFY_SELDOM;

#endif

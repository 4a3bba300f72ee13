/* snapshot_map.h: a snapshot in the terms of another program, as that one would have written it.
 *
 * What stands in a snapshot by number (routines, points, slots that share a name, places where messages are sent)
 * gets the other program's numbers, by name; values stay what they are. Everything must be known to be the same
 * (compat.h says when); a task, frame, undo or message that is not makes the whole snapshot refused, with a sentence
 * that says which and why. Nothing here runs code: what the program did before, and would do otherwise now, nobody
 * can tell any more. */
#ifndef WAL_HISTORY_SNAPSHOT_MAP_H
#define WAL_HISTORY_SNAPSHOT_MAP_H

#include "wal/history/compat.h"

struct json_t;

/* *mapped is the caller's. 0, TFY_E_NOMEM, or TFY_E_DIVERGED with a sentence (TFY_ERROR_TEXT bytes). */
int tfy__snapshot_map(const TfyCompat *compat, const struct json_t *snapshot, struct json_t **mapped, char *error_text);

#endif

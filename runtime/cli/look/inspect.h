/* inspect.h: what tfy inspect finds out about a run, for the other commands that say it. */
#ifndef CLI_LOOK_INSPECT_H
#define CLI_LOOK_INSPECT_H

#include <jansson.h>
#include <stdbool.h>

#include "wal/history/history.h"

/* The report that `tfy inspect --json` prints; the caller gives it back. held: a process had the database before the
 * history was read. */
json_t *tfy__inspect_report(const TfyHistory *history, const char *db_path, bool held);

/* Prints on a FILE what one of its tasks waits for, or how it failed; nothing when there is nothing to say. stopped:
 * no process runs it. */
void tfy__inspect_waits(void *file, const json_t *task, bool stopped);

#endif

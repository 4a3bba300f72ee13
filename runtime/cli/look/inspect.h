/* inspect.h: the findings of tfy inspect about a run, for the other commands that print them. */
#ifndef CLI_LOOK_INSPECT_H
#define CLI_LOOK_INSPECT_H

#include <jansson.h>
#include <stdbool.h>

#include "wal/history/history.h"

/* Builds the report that `tfy inspect --json` prints; the caller releases it. held: a process had the database open
 * before the history was read. */
json_t *tfy__inspect_report(const TfyHistory *history, const char *db_path, bool held);

/* Prints the report. details: long arguments of a call that is asked about are shown whole. */
void tfy__inspect_print(const json_t *report, bool details);

/* Prints the tasks of the report. Many tasks that did the same, or do, are folded into a line. */
void tfy__inspect_tasks(const json_t *report, bool details);

/* Prints "line 12", or "line 12 of lib.tfy". */
void tfy__inspect_place(const json_t *place);

/* Prints on a FILE what one of the run's tasks waits for, or how it failed; nothing if neither applies. stopped: no
 * process runs it. details: long arguments of a call that is asked about are shown whole. */
void tfy__inspect_waits(void *file, const json_t *task, bool stopped, bool details);

#endif

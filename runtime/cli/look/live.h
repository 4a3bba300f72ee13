/* live.h: what the process of a run does now, which the log does not say: a step that may be repeated has no record
 * before its result. */
#ifndef CLI_LOOK_LIVE_H
#define CLI_LOOK_LIVE_H

#include <jansson.h>

/* Asks the process that owns the database. Returns an object with a line of `watch` for each task of the run that it
 * has in memory, by the task's path; NULL: no process answers, or it does not have the run. The caller releases it. */
json_t *tfy__live_tasks(const char *db_path, const char *run);

#endif

/* wal_lines.h: records as lines of JSON and back, byte for byte.
 *
 * A line has our members and then those of the record's payload, whose text is copied unchanged: the chain is a hash
 * over these bytes, and a number or string that was parsed and written again could differ. A member of the payload
 * that has one of our names, with any number of underscores after it, gets one more underscore. */
#ifndef CLI_KEEP_WAL_LINES_H
#define CLI_KEEP_WAL_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "wal/history/history.h"

/* Appends `,"name":value` for each member of the payload. */
void tfy__line_add_payload(TfyBuffer *line, const char *payload, size_t len);

/* Extracts the payload of a line: its members that are not ours, with their original names. Returns false if the line
 * is not a JSON object. */
bool tfy__line_take_payload(TfyBuffer *payload, const char *line, size_t len);

/* Computes the id by which files name a task: for the root its run's uuid, else a hash of that and the path. */
void tfy__line_task_id(const TfyHistory *history, const TfyLogTask *task, char text[37]);

#endif

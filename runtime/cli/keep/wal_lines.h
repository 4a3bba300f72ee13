/* wal_lines.h: records as lines of JSON and back, byte for byte.
 *
 * A line has members of ours and then those of the record's payload, whose text is taken over as it is: the chain is
 * a hash over these bytes, and a number or string that was read and written anew could come out different. A member
 * of the payload that has a name of ours, with any number of underscores behind it, gets one more. */
#ifndef CLI_KEEP_WAL_LINES_H
#define CLI_KEEP_WAL_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "wal/history/history.h"

/* `,"name":value` for each member of the payload. */
void tfy__line_add_payload(TfyBuffer *line, const char *payload, size_t len);

/* The payload of a line: its members that are not ours, with the names they had. False: the line is no JSON object. */
bool tfy__line_take_payload(TfyBuffer *payload, const char *line, size_t len);

/* The id by which files name a task: its run's uuid for the root; else computed from that and the path. */
void tfy__line_task_id(const TfyHistory *history, const TfyLogTask *task, char text[37]);

#endif

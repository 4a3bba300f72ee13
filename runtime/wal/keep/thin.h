/* thin.h: a part of a compaction, done by the process that writes the database.
 *
 * `tfy gc --compact` beside such a process only reads: it plans what goes (compact.h), and sends that in parts, which
 * the process deletes one by one, each in a transaction of its own, between two turns of its loop:
 *
 *   {"do":"thin","run":UUID,"id":N,"from":L,"base":L,"drop":[[L,L],…],"gaps":[[L,L,N],…],"tasks":[N,…]}
 *
 * id: the run's row. base: the snapshot at which the run starts now; from: where it started when the parts were
 * planned. drop: ranges of records, first and last. gaps: rows of table gap, lsn, below and chain. tasks: tasks of
 * which all records have been dropped, with this part.
 *
 * After each part the database is sound: a part cuts a task's chain where a gap says so, and takes a task with its
 * last record, children before parents. A compaction that ends early leaves records that the next one drops. */
#ifndef WAL_KEEP_THIN_H
#define WAL_KEEP_THIN_H

#include <jansson.h>

#include "wal/log/log.h"

/* Records that a part deletes, at most; the loop waits for each part. */
enum { TFY_THIN_RECORDS = 1000 };

/* Deletes a part, and waits until that is durable. *base: the snapshot at which the run starts now. 0; or a code with
 * a sentence, and nothing was changed: TFY_E_STATE: the run has changed since the part was planned, or the disk is
 * full; TFY_E_INVALID: it is not a part. */
int tfy__thin(TfyLog *log, const json_t *part, int64_t *base, char *error_text);

/* Appends a record to the database's own chain that says what is about to happen to runs. Returns its ticket, or a negative code. */
TfyTicket tfy__thin_announce(TfyLog *log, const char *why, const TfyLogRun *const *runs, uint32_t count);

#endif

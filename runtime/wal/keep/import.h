/* import.h: runs that come from another database, and databases that come from another place.
 *
 * A run keeps its uuid, the paths of its tasks, all times and payloads, and so its chains; records and tasks get new
 * numbers, tasks at the same distance from their run's root, since programs hold them by that. What a copy cannot
 * know is whether the `once` steps that had begun there have happened: they are in doubt until a person says. */
#ifndef WAL_KEEP_IMPORT_H
#define WAL_KEEP_IMPORT_H

#include "wal/history/history.h"

/* Checks that a history is one: each task's records follow from its seed, or from a gap of a run that was compacted,
 * and end at its chain; each task was born, its state is the one its records tell, its moves lead from program to
 * program, and each row that it saved has its record, or lost it where records are missing. A compacted run begins at
 * a snapshot that its tasks fit. TFY_E_DATA with a sentence if not. What tfy__history_read_whole gives is. */
int tfy__import_check(const TfyHistory *history, char *error_text);

/* Queues the run, all its records and the rows it saved; they become durable together, with tfy__log_sync.
 * TFY_E_STATE: the log has this run already; TFY_E_DATA: its rows do not fit the tables that are there; then nothing
 * was queued. *doubts: steps that became InDoubt. Points of the history become numbers of its newest program. */
int tfy__import_run(TfyLog *log, TfyHistory *history, int64_t *doubts, char *error_text);

/* Appends InDoubt to the `once` steps of an unfinished run of this log that have begun and not ended. */
int tfy__import_doubt(TfyLog *log, TfyHistory *history, int64_t *doubts);

/* An opening for writing leaves its trace. how: "adopted", "imports", …; NULL: nothing to say. */
int64_t tfy__import_opened(TfyLog *log, const char *version, const char *how);

/* Streams that a run opened are known by the opening of the database they belong to; ours must not repeat one of
 * theirs. */
void tfy__import_epoch(TfyLog *log, int64_t epoch);

#endif

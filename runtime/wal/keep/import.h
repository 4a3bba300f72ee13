/* import.h: runs that come from another database, and databases that come from another place.
 *
 * A run keeps its uuid, the paths of its tasks, all times and payloads, and so its chains. Records and tasks get new
 * numbers; tasks keep their distance from the root's number, because programs refer to them by that distance. A copy
 * cannot know whether the `once` steps that had started there have happened: they are in doubt until a person
 * decides. */
#ifndef WAL_KEEP_IMPORT_H
#define WAL_KEEP_IMPORT_H

#include "wal/history/history.h"

/* Checks that a history is consistent: each task's records follow from its seed, or from a gap of a compacted run,
 * and end at its chain. Each task was born, its state is the one that its records show, and its moves lead from
 * program to program. Each saved row has its record, or lost it where records are missing. A compacted run starts at
 * a snapshot that its tasks fit. TFY_E_DATA with a message if not. A history from tfy__history_read_whole is
 * consistent. */
int tfy__import_check(const TfyHistory *history, char *error_text);

/* In a shared database, run.id and run.queue of the history are what the run has there (cluster.h: number, queue), its programs
 * are kept, and it leaves its session in the same commit: one that has not ended is ready. run.claims: its owners so far.
 *
 * Queues the run, all its records and its saved rows; they become durable together, with tfy__log_sync. TFY_E_STATE:
 * the log already has this run; TFY_E_DATA: its rows do not fit the existing tables; in both cases nothing is queued.
 * *doubts: steps that became InDoubt. Points of the history become numbers of its newest program. */
int tfy__import_run(TfyLog *log, TfyHistory *history, int64_t *doubts, char *error_text);

/* Appends InDoubt to the `once` steps of an unfinished run of this log that have started and not finished. */
int tfy__import_doubt(TfyLog *log, TfyHistory *history, int64_t *doubts);

/* Streams that a run opened are identified by the epoch of their database; our epochs must not repeat one of
 * theirs. */
void tfy__import_epoch(TfyLog *log, int64_t epoch);

#endif

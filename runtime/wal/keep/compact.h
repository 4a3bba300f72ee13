/* compact.h: a run that stays loses the records before its newest snapshot.
 *
 * Records that a resume, a replay or an answer still needs stay in place, with their chain:
 *   - the first record of the run; and for each kept task the TaskSpawn that created it and its newest record before
 *     the snapshot, which says where a live task was, or how a finished one ended
 *   - for a live task the records of the step under way: the question that a person may answer, the once step that
 *     may be in doubt
 *   - records of moves; the newest commit, patch and plan, which resume and inspect compare and show
 *   - what was sent to models (Texts), if one of these records, or a later one, can name it
 * A task is kept if it was alive at the snapshot or created later, if it has finished but may still be requested, or
 * if it is the parent of a kept task. Requesting a task needs its number, and programs have only the numbers in the
 * snapshot, or in the results of tasks that are in the snapshot; every number there counts as a task's. All other
 * tasks are deleted with their rows.
 *
 * A record that is now behind deleted ones has a row in table gap. The run's row names the snapshot at which it
 * starts. A run is compacted in one transaction, and only after a replay from that snapshot to its end: the deleted
 * records cannot be replaced. */
#ifndef WAL_KEEP_COMPACT_H
#define WAL_KEEP_COMPACT_H

#include "wal/keep/gc_state.h"

/* Compacts every run of the database that has a snapshot of its own, or only reports what would be dropped
 * (dry_run). */
int tfy__compact(Gc *gc, TfyGcProgress *progress, void *state);

#endif

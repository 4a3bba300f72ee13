/* compact.h: a run that is kept loses the records before its newest snapshot.
 *
 * What a resume, a replay or an answer still needs stays where it is, with its chain:
 *   - the first record of the run, and of each task that is kept the TaskSpawn that made it and its newest record
 *     before the snapshot: where a live one stood, how one that has ended came out
 *   - of a live task the records of the step that was under way: the question somebody may answer, the once step that
 *     may be in doubt
 *   - records of moves; the newest commit, patch and plan, which resume and inspect compare and show
 * Kept are the tasks that were alive at the snapshot or made later, those that have ended but that somebody may still
 * ask for, and the parents of all these. Who has no task's number cannot ask for it, and programs have no numbers but
 * those that stand in the snapshot, or in the results of tasks that stand in it; there every number is taken for one.
 * All other tasks go with their rows.
 *
 * A record that now stands behind others that went has a row in table gap. The run's row says at which snapshot it
 * begins. A run is compacted in one transaction, and only after it was replayed from that snapshot to its end:
 * nothing could take its place. */
#ifndef WAL_KEEP_COMPACT_H
#define WAL_KEEP_COMPACT_H

#include "wal/keep/gc_state.h"

/* Every run of the database that has a snapshot of its own, or only says what would be dropped (dry_run). */
int tfy__compact(Gc *gc, TfyGcProgress *progress, void *state);

#endif

/* snapshot.h: a run's whole state as data, so that taking it up again costs what happened since and not what ever
 * happened.
 *
 * A snapshot is one record in the root task's chain. It is written between two slices, when every task of the run
 * stands at a point, and holds all that a replay up to there would have built: each live task with its frames (slots
 * by name), its step, children, undo list, deadlines and permits; and what the run's tasks share: channels, locks,
 * signals, groups. Nobody waits for it, and nothing depends on it: a history replays without its snapshots, and a run
 * that cannot be written so (a value too deep, too much of it) is replayed from an older one.
 *
 *   - The record belongs to nobody's steps: a replay passes over it, and passages are counted as if it were not
 *     there.
 *   - Restored, a run stands where a replay of all records up to the snapshot would stand; the records behind it are
 *     replayed as ever. A step that was under way is one whose outcome nobody knows yet: the tail brings it, or it
 *     goes live again by the rules of its class.
 *   - Tasks that have ended are in it only where the run still needs them at hand: bodies of a group that is not
 *     over, makers of channels, the root, failures that nobody has joined. All others are found in the log when
 *     somebody asks (tfy__task_known), so they need no memory either.
 *   - Written when every `snapshot_every` records have been added and twice as much as the last one held: the cost
 *     per record is bounded, however large the state. */
#ifndef CORE_REPLAY_SNAPSHOT_H
#define CORE_REPLAY_SNAPSHOT_H

#include "core/loop/state.h"

#define SNAPSHOT_EVERY 1024u              /* records, unless the options say otherwise */
#define SNAPSHOT_MAX   ((size_t)64 << 20) /* bytes; a larger state is not written */
#define SNAPSHOT_V     1

/* Flags of a step, as they are stored: never change one. */
enum {
    STEP_COUNTED = 1,
    STEP_STARTED = 2,
    STEP_TIMEOUT_BEGUN = 4,
    STEP_BOUNDED = 8,
    STEP_BACKOFF_ONLY = 16,
    STEP_DOUBT_RECORDED = 32,
    STEP_LINED_UP = 64,
    STEP_UNKNOWN = 128,
};

/* Flags of an undo entry, likewise. */
enum { UNDO_IDLE = 1, UNDO_ONCE = 2, UNDO_STARTED = 4, UNDO_UNKNOWN = 8 };

#endif

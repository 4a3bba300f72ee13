/* snapshot.h: a run's whole state as data, so that resuming it costs only what happened since, not everything that
 * ever happened.
 *
 * A snapshot is one record in the root task's chain. It is written between two slices, when every task of the run
 * is at a point, and holds everything that a replay up to there would have built: each live task with its frames
 * (slots by name), its step, children, undo list, deadlines and permits; and the shared state of the run's tasks:
 * channels, locks, signals, groups. Nothing waits for it, and nothing depends on it: a history replays without its
 * snapshots, and a run whose state cannot be written (a value too deep, too much data) is replayed from an older
 * snapshot.
 *
 *   - The record belongs to no step: a replay passes over it, and passages are counted as if it were absent.
 *   - A restored run is in the state that a replay of all records up to the snapshot would reach; the records
 *     after it are replayed as usual. A step that was under way has no known outcome yet: the tail contains it, or
 *     the step goes live again by the rules of its class.
 *   - Finished tasks are in it only if the run still needs them in memory: bodies of a group that is not over,
 *     makers of channels, the root, failures that no task has joined. All others are found in the log on demand
 *     (tfy__task_known), so they need no memory either.
 *   - It is written when `snapshot_every` records have been added and twice the size of the last one: the cost per
 *     record is bounded, however large the state. */
#ifndef CORE_REPLAY_SNAPSHOT_H
#define CORE_REPLAY_SNAPSHOT_H

#include "core/loop/state.h"

#define SNAPSHOT_EVERY 1024u              /* records, unless the options say otherwise */
#define SNAPSHOT_MAX   ((size_t)64 << 20) /* bytes; a larger state is not written */
#define SNAPSHOT_V     1

/* Flags of a step. They are stored: never change one. */
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

/* Flags of an undo entry. They are stored, too. */
enum { UNDO_IDLE = 1, UNDO_ONCE = 2, UNDO_STARTED = 4, UNDO_UNKNOWN = 8 };

#endif

/* fork.h: a new run that begins with the records of another one.
 *
 * What is copied is a prefix of the other run's records in the order of the log, over all of its tasks: what a crash
 * right there would have left. They get numbers and chains of the new run; their types, steps, points, times and
 * payloads stay, but for
 *   - InstructionStart, whose "run" is the new one, and whose "fork_of" lists where the records come from, oldest
 *     fork first: {"run", "lsn": the last record copied there, "task", "step": as the fork was asked for, "records":
 *     how many of this run's are copies,
 *      "seed": of random numbers drawn behind them, "set": true when a result was put in}
 *   - the keys of steps that follow from the run: the new run's steps have their own
 *   - the one record whose payload the caller replaces;
 *   - of a run that was compacted, the Snapshot it begins at: its tasks' chains and keys are the new run's, and its
 *     "fork_of" tells of seeds as the one above does, but counts only the records behind it.
 * "tid" in a payload stays what it was there. The tasks' numbers keep their distance from the root's, which is what
 * programs know of them.
 *
 * A run that was compacted is copied with what is left of it, and the copy begins at the same snapshot, so that
 * belongs to every such prefix. Where records were missing they are missing in the copy: its gap has the chain that
 * the other run's has, which stands for what nobody can compute.
 *
 * A once step that had begun and has no result in the copy is in doubt from the beginning: the other run may have
 * done it. Everything is handed over at once, so that a crash leaves the whole fork or none. */
#ifndef WAL_HISTORY_FORK_H
#define WAL_HISTORY_FORK_H

#include "wal/history/history.h"

/* What is to be copied. */
typedef struct TfyFork {
    const TfyHistory *from; /* as it is stored: tfy__history_read_stored */
    uint32_t records;       /* the first of from->records; at least 1, and beyond the snapshot of a compacted run */
    uint32_t replaced;      /* which of them has another payload; UINT32_MAX: none */
    const char *payload;
    uint32_t
        resolved; /* the newest record of a step in flight that was done, with this payload of Resolved; UINT32_MAX: none */
    const char *resolution;
    const char *task; /* as the fork was asked for */
    int64_t step;
} TfyFork;

/* Appends the new run. made gets its row. The caller syncs. 0, or TFY_E_… with a sentence; then nothing was appended,
 * or the log has failed. */
int tfy__fork_write(TfyLog *log, const TfyFork *fork, TfyLogRun *made, char *error_text);

#endif

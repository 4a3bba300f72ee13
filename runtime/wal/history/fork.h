/* fork.h: a new run that starts with copies of another run's records.
 *
 * The copy is a prefix of the other run's records in the order of the log, over all of its tasks: the state that a
 * crash at that point would have left. The copies get numbers and chains of the new run; their types, steps, points,
 * times and payloads stay, with these exceptions:
 *   - InstructionStart: its "run" is the new one, and its "fork_of" lists the origins of the records, oldest fork
 *     first: {"run", "lsn": the last record copied there, "task", "step": as requested for the fork, "records": how
 *     many of this run's records are copies, "seed": of random numbers drawn after them, "set": true if a result was
 *     replaced, "by", "via": who asked a server for it, and how}
 *   - The keys of steps that derive from the run: the new run's steps have their own.
 *   - The one record whose payload the caller replaces.
 *   - In a compacted run, the Snapshot at which it starts: its tasks' chains and keys are the new run's, and its
 *     "fork_of" has the seeds as above, but counts only the records behind the snapshot.
 * "tid" in a payload keeps its value. The tasks' numbers keep their distance from the root's number; programs know
 * tasks by that distance.
 *
 * A compacted run is copied with the records that it still has, and the copy starts at the same snapshot, so every
 * such prefix contains the snapshot. Records that were missing are missing in the copy: its gap has the chain of the
 * other run's gap, because nobody can compute that value.
 *
 * A once step that had started and has no result in the copy is in doubt from the start: the other run may have done
 * it. Everything is handed over at once, so a crash leaves the whole fork or nothing. */
#ifndef WAL_HISTORY_FORK_H
#define WAL_HISTORY_FORK_H

#include "base/seldom.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

/* Gives the new run what it has in a shared database, its id and its queue (cluster.h), when its uuid and its program are known.
 * 0, or a code with a message. */
typedef struct TfyForkPlace {
    int (*place)(void *state, TfyLogRun *made, char *error_text);
    void *state;
} TfyForkPlace;

/* What to copy. */
typedef struct TfyFork {
    const TfyHistory *from; /* as stored: tfy__history_read_stored */
    /* The first ones of from->records; at least 1, and beyond the snapshot of a compacted run. */
    uint32_t records;
    uint32_t replaced; /* the one of them that gets another payload; UINT32_MAX: none */
    const char *payload;
    /* The newest record of a step in flight that was done, with this payload of Resolved; UINT32_MAX: none. */
    uint32_t resolved;
    const char *resolution;
    const char *task; /* as requested for the fork */
    int64_t step;
    const char *by;            /* who asked a server for it; NULL: not recorded */
    const struct json_t *via;  /* … and how */
    const TfyForkPlace *place; /* NULL: of a file */
} TfyFork;

/* Who started a run at a server, from the payload of its birth: of a fork, who asked for it, and not the starter of the run
 * that it copies. NULL: nobody is recorded. */
const char *tfy__fork_starter(const TfyPayload *birth);

/* Appends the new run, which leaves its session in the same commit in a shared database. made gets its row. The caller syncs. 0, or TFY_E_… with a message; in that case nothing was
 * appended, or the log has failed. */
int tfy__fork_write(TfyLog *log, const TfyFork *fork, TfyLogRun *made, char *error_text) TFY_SELDOM;

#endif

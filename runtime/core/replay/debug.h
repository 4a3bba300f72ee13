/* debug.h: a replay that stops at records, and the state of the run there.
 *
 * A replay processes the records of a run in their order. It can stop before one: the task that owns it is at the
 * record's point, has requested what the record answers, and has not taken the answer yet. A record may be in the
 * middle of a slice, where generated code is under way, so the stepper is called from there and returns where to
 * stop next. Going back means starting again: a replay does the same every time.
 *
 * The contents of frames are known if a task is at a point that can be resumed. Between two such points only a
 * program compiled for it knows its variables (tfyc --debug); for any other program the top frame is shown without
 * them. */
#ifndef CORE_REPLAY_DEBUG_H
#define CORE_REPLAY_DEBUG_H

#include "core/loop.h"
#include "wal/history/history.h"

/* A stop; valid during the stepper's call. */
typedef struct TfyStop TfyStop;

#define TFY_STEP_AWAY UINT32_MAX /* the replay ends here */

/* Records are numbered from 0; the number after the last one means the end of the log, with every record taken. */
typedef struct TfyStepping {
    uint32_t first; /* where to stop first */
    /* Returns where to stop next: a record after this one, or TFY_STEP_AWAY. */
    uint32_t (*stop)(void *state, const TfyStop *stop);
    void *state;
} TfyStepping;

/* Like tfy__replay. It also stops at the first difference, wherever the stepper wanted to stop. */
int tfy__replay_steps(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                      const TfyStepping *stepping, TfyReplayReport *report);

uint32_t tfy__stop_record(const TfyStop *stop); /* the record's number */
/* the sentence about a difference found here; NULL: none */
const char *tfy__stop_difference(const TfyStop *stop);

/* Appends a JSON object without its braces, so that the caller can add members:
 *   "asked": {"tool", "args", "key", "attempt"}   the request of the task's step, if one is under way
 *   "raising": {"error", "message", …}            the error on its way through the frames, if there is one
 *   "frames": [{"workflow", "file"?, "line", "source", "point"?, "locals": [{"name", "type", "value"}, …]}, …]
 *                                                 innermost first; a frame whose variables are not known has no
 *                                                 "locals"
 *   "tasks": [{"task", "workflow", "state", "file"?, "line"?, "waits"?}, …]
 *                                                 all tasks of the run, in the order of their making
 * frames are those of the task at `path`; NULL: of the record's owner. An unknown path has no frames. tasks:
 * include them; a run can have very many. */
void tfy__stop_json(const TfyStop *stop, const char *path, bool tasks, TfyBuffer *out);

#endif

/* debug.h: a replay that stops at records, and what can be seen of the run there.
 *
 * A replay goes through the records of a run in their order. It can stop when it comes to one: the task that owns it
 * stands at the record's point, has asked for what the record answers, and has not taken the answer yet. A record may
 * lie in the middle of a slice, where generated code is under way, so whoever steps is called from there and says
 * where to stop next. Going back is beginning anew: a replay does the same every time.
 *
 * What the frames hold is known where a task stands at a point that can be resumed. Between two of those only a
 * program that was compiled for it knows its variables (tfyc --debug); of another one the top frame is shown without
 * them. */
#ifndef CORE_REPLAY_DEBUG_H
#define CORE_REPLAY_DEBUG_H

#include "core/loop.h"
#include "wal/history/history.h"

/* A stop; valid while the stepper is called. */
typedef struct TfyStop TfyStop;

#define TFY_STEP_AWAY UINT32_MAX /* the replay ends here */

/* Records are numbered from 0; the number behind the last one stands for the end of the log, with all of it taken. */
typedef struct TfyStepping {
    uint32_t first; /* where to stop first */
    /* Where to stop next: a record behind this one, or TFY_STEP_AWAY. */
    uint32_t (*stop)(void *state, const TfyStop *stop);
    void *state;
} TfyStepping;

/* As tfy__replay. It stops at the first difference too, wherever the stepper wanted to stop. */
int tfy__replay_steps(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                      const TfyStepping *stepping, TfyReplayReport *report);

uint32_t tfy__stop_record(const TfyStop *stop); /* the record's number */
const char *
tfy__stop_difference(const TfyStop *stop); /* the sentence about the difference that was met here; NULL: none */

/* Appends a JSON object without its braces, so that whoever prints it can add members:
 *   "asked": {"tool", "args", "key", "attempt"}                what the task's step asks for, if one is under way
 *   "raising": {"error", "message", …}                         the error on its way through the frames, if there is one
 *   "frames": [{"workflow", "file"?, "line", "source", "point"?, "locals": [{"name", "type", "value"}, …]}, …]   innermost first; a frame whose
 *                                                              variables cannot be known here has no "locals"
 *   "tasks": [{"task", "workflow", "state", "file"?, "line"?, "waits"?}, …]      all tasks of the run, in the order of their making
 * frames are those of the task at `path`; NULL: of the one that owns the record. An unknown path has no frames.
 * tasks: with them; a run can have very many. */
void tfy__stop_json(const TfyStop *stop, const char *path, bool tasks, TfyBuffer *out);

#endif

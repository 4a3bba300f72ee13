/* diverged.h: runs that differ from their log are set aside, and the loop goes on with the others.
 *
 * A difference can be found only while a run replays, that is within tfy__resume. None of its calls is under way then:
 * nothing goes live before the whole history was taken. So the run is ended as at a closing, and leaves memory as one
 * that parks does; only the sentence about the difference is kept. A run that its program cannot even begin with, since
 * it lacks the workflow or cannot read the arguments or the snapshot, is set aside in the same way.
 *
 * Invariants
 *   - Run.difference is set while the difference unwinds: from then on no record is taken, and none is appended, for
 *     any task of the run. (A task that is past its last record may have appended before what it did within its slice, as
 *     in any resume.) The task at fault is halted (T_HALTED), and no other runs, since the replay stops.
 *   - A run is in loop->runs or in loop->diverged, never in both, from one turn to the next.
 *   - The log says nothing of it: there the run is unfinished, as after a kill. Each resume tries it again: at the
 *     next opening, or when it is moved to another program. A run that then continues is set aside no longer.
 *   - What arrives for it is refused, since only its program can tell what fits; and its cleanup cannot run. A kill by
 *     force needs no program, and ends it in the log alone.
 *   - A loop that was not told to set runs aside (served.h) fails instead, and has none. */
#ifndef CORE_REPLAY_DIVERGED_H
#define CORE_REPLAY_DIVERGED_H

#include "core/replay/run.h"

typedef struct Diverged {
    struct Diverged *next;
    char uuid[37];
    char why[]; /* what was recorded, what the program does, and what people can do about it */
} Diverged;

/* The run, whose difference is set, leaves memory. Returns TFY_E_DIVERGED with its sentence, or TFY_E_NOMEM. */
int tfy__diverged_add(Run *run, char *error_text);
/* It continues, or has ended: it is set aside no longer, if it was. */
void tfy__diverged_drop(TfyLoop *loop, const char *uuid);
/* By its uuid or a start of it, which callers have found to be unique; NULL: no such run is set aside. */
const Diverged *tfy__diverged_named(const TfyLoop *loop, const char *name);
/* An arrival is refused: TFY_E_STATE with a sentence. */
int tfy__diverged_refuse(const Diverged *diverged, char *error_text);
/* Ends it without its program, if that is by force. 0 or a code with a sentence. */
int tfy__diverged_kill(TfyLoop *loop, const Diverged *diverged, bool force, const char *by, char *error_text);
void tfy__diverged_free(TfyLoop *loop);

#endif

/* rehearse.h: a run that is observed from outside, for `tfy crashtest`: its calls are written to a file that no
 * crash undoes, and answers can come from the records of an earlier run instead of from the world.
 *
 * Two files in one directory:
 *   calls    JSON lines, appended: {"start": key, "attempt", "once": bool, "tool"} before an attempt starts;
 *            {"done": key, "payload"} or {"failed": key, "payload"} when it has finished, before that is recorded
 *   answers  optional: {"path", "step", "type": of the record, "payload"} of each recorded outcome, ordered by path
 *            and step. An attempt gets the outcome that this attempt of this step had, if it requests the same;
 *            otherwise, since tasks may race, the outcome of the first step that requested the same. An attempt
 *            without such an outcome never gets an answer, and nothing waits for it: everything else continues, and
 *            when nothing else is left the process exits and says so.
 *
 * The clock is answered like a tool, and random numbers are the same in every run. Time jumps to the next deadline
 * whenever nothing else is under way: a sleep of a year takes no time. */
#ifndef CLI_PROGRAM_REHEARSE_H
#define CLI_PROGRAM_REHEARSE_H

#include "tfy_program.h"

/* Makes the loop's runs observed ones; the loop must not have done anything yet. 0, or a code with its sentence. */
int tfy__rehearse_begin(TfyLoop *loop, const char *dir, char *error_text);

#endif

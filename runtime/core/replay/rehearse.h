/* rehearse.h: a run that is watched from outside, for `tfy crashtest`: what is called is written to a file that no
 * crash undoes, and answers can come from the records of an earlier run instead of from the world.
 *
 * Two files in one directory:
 *   calls    a JSON object a line, appended: {"start": key, "attempt", "once": bool, "tool"} before an attempt begins, {"done": key,
 *            "payload"} or {"failed": key, "payload"} when it has ended and before that is recorded
 *   answers  optional: {"path", "step", "type": of the record, "payload"} of each recorded outcome, ordered by path and step. An attempt
 *            gets the outcome that this attempt of this step had, if it asks the same; else, since tasks may race, what the first step
 *            got that asked the same. One that nothing like that answers gets none, and nobody waits for it: whatever else there is goes
 *            on, and when there is nothing the process ends and says so
 *
 * The clock is answered for like a tool, random numbers are the same in every run. Time jumps to the next deadline
 * whenever nothing else is under way: a sleep of a year takes none. */
#ifndef CORE_REPLAY_REHEARSE_H
#define CORE_REPLAY_REHEARSE_H

#include "tfy_program.h"
#include "base/buffer.h"

struct Step;

typedef struct TfyRehearsal TfyRehearsal; /* loop->rehearsal; NULL: nobody watches */

/* Of a loop that has done nothing yet. 0, or a code with its sentence. */
int tfy__rehearse_begin(TfyLoop *loop, const char *dir, char *error_text);
void tfy__rehearse_free(TfyLoop *loop);

bool tfy__rehearse_call(struct Step *step); /* an attempt begins; true: it has been answered, or never will be */
void tfy__rehearse_ended(const struct Step *step, bool ok, const TfyBuffer *payload);
bool tfy__rehearse_now(const TfyTask *task, int64_t *out); /* what the clock said then; false: nobody knows */
bool tfy__rehearse_answers(const TfyLoop *loop);           /* no performer is ever asked */
bool tfy__rehearse_stuck(
    TfyLoop *loop); /* idle: a call without an answer is all that is left; the loop has failed with a sentence */

#endif

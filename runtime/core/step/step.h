/* step.h: what the files of a step share. step.c leads it from stage to stage; each of the others knows one part of
 * the way. */
#ifndef CORE_STEP_STEP_H
#define CORE_STEP_STEP_H

#include "core/loop/state.h"

/* step.c */
bool tfy__step_dequeued(Step *step);   /* a queue lets go of a step; true: it is still wanted */
void tfy__step_stop_call(Step *step);  /* tells the performer, if one has it */
void tfy__step_left_call(Step *step);  /* the performer has it no more */
void tfy__step_unanswered(Step *step); /* nobody ever will answer: the loop does not wait for that */
void tfy__step_digest_text(uint64_t digest, char out[17]);
TfyBuffer *
tfy__step_payload(TfyLoop *loop); /* empty; one for all payloads, since a record is copied when it is appended */

void tfy__step_drop_failure(Step *step); /* it is not in doubt any more */

/* call.c */
void tfy__step_doubt_stays(Step *step);   /* neither its performer nor a probe knows whether it was done */
bool tfy__step_raise_failure(Step *step); /* raises what the attempt in doubt ended with; false: that is not known */
void tfy__step_denied(Step *step); /* … the probe says that it was not done: the attempt has failed with that */
void tfy__step_note_outcome(Step *step,
                            const char *outcome); /* of a failed attempt, as its record has it; may be NULL */

/* room.c */
void tfy__room_tell(const Step *step, int error); /* steps wait for room; said once */
void tfy__room_leave(Step *step);                 /* it waits for room, and shall not any more */
void tfy__room_made(Step *step);                  /* its call has ended: what it held may be what others wait for */

/* begin.c */
bool tfy__step_begin(Step *step); /* STAGE_BEGIN: one fact more; false: waits or halted */
bool tfy__step_is_sleep(const Step *step);

/* recorded.c */
bool tfy__step_take_recorded(Step *step); /* false: the history says nothing (yet), or the task was halted */
void tfy__step_raise_timeout(Step *step); /* leads to STAGE_SETTLE */
void tfy__step_raise_recorded(Step *step, json_t *error);       /* a built-in error, as a record has it */
void tfy__step_diverge(Step *step, const TfyLogRecord *record); /* this is not what the step asks for */
void tfy__step_raise_task_failed(Step *step, const char *path, const char *kind, const char *message);

/* A kind of step whose outcome is made inside the run, by what other tasks do. Each leaves one record of its own
 * type. */
typedef struct WaitKind {
    void (*live)(Step *step);                             /* nothing is recorded: answers it, or enters a queue */
    void (*take)(Step *step, const TfyLogRecord *record); /* the history's cursor stands at its record */
    TfyRecordType record;
    TfyTaskState waiting;
} WaitKind;
const WaitKind *tfy__step_wait_kind(const Step *step); /* NULL: the step is of another kind */

extern const WaitKind tfy__wait_join, tfy__wait_group, tfy__wait_send, tfy__wait_recv, tfy__wait_lock,
    tfy__wait_signal; /* each in its own file */

/* The recorded outcome must be what the step comes to now; payload NULL: it comes to nothing yet. */
bool tfy__step_same_outcome(Step *step, const TfyLogRecord *record, const char *payload);

/* live.c */
bool tfy__step_only_takes(const TfyTool *tool); /* what has come by itself: nobody outside learns anything */
void tfy__step_outcome(Step *step, bool ok, TfyValue value); /* it is in the log: the answer, or task->error */
void tfy__step_start_work(Step *step); /* in_call: its performer begins, perhaps not for the first time */
void tfy__step_go_live(Step *step);    /* STAGE_OUTCOME with nothing recorded */
/* A replay comes to where the step's work began, where it ended, or where it waits for others of its run: tells what
 * was told then. */
void tfy__step_ghost_begins(Step *step);
void tfy__step_ghost_ends(const Step *step, const char *how);
void tfy__step_ghost_waits(Step *step);
void tfy__step_doubt_live(Step *step); /* STAGE_DOUBT with nothing recorded: asks the probe, or a person */

#endif

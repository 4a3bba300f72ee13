/* step.h: what the files of a step share. step.c moves it from stage to stage; each of the others implements one
 * part. */
#ifndef CORE_STEP_STEP_H
#define CORE_STEP_STEP_H

#include <stddef.h>

#include "core/loop/state.h"
#include "wal/rows/payload.h"

/* step.c */
bool tfy__step_dequeued(Step *step);  /* a queue releases a step; true: the step is still needed */
void tfy__step_stop_call(Step *step); /* aborts the performer's work, if a performer has it */
void tfy__step_left_call(Step *step); /* the performer no longer has it */
/* Empty; one buffer serves all payloads, since a record is copied when it is appended. */
TfyBuffer *tfy__step_payload(TfyLoop *loop);

void tfy__step_drop_failure(Step *step); /* it is no longer in doubt */

/* call.c */
void tfy__step_leave_call(Step *step); /* the exchange is over: its performer and its timer leave it */
static inline Step *step_of_call(TfyCall *call)
{
    return (Step *)((char *)call - offsetof(Step, call));
}
void tfy__step_doubt_stays(Step *step); /* neither its performer nor a probe knows whether it was done */
/* raises the error that the attempt in doubt failed with; false: there is none */
bool tfy__step_raise_failure(Step *step);
/* … the probe says that it was not done: the attempt failed with that error */
void tfy__step_denied(Step *step);
/* Of a failed attempt, as its record has it; may be NULL. */
void tfy__step_note_outcome(Step *step, const char *outcome);

/* room.c */
void tfy__room_tell(const Step *step, int error); /* reports once that steps wait for room */
void tfy__room_leave(Step *step);                 /* the step no longer waits for room */
/* its call has finished: others may wait for the room that it used */
void tfy__room_made(Step *step);

/* begin.c */
void tfy__step_start_payload(TfyBuffer *out, const Step *step);
/* Once steps, so that a crash leaves a trace; and steps that wait for somebody outside, so that people can see them. */
bool tfy__step_leaves_start(const Step *step);
bool tfy__step_begin(Step *step); /* STAGE_BEGIN: one more fact; false: waits or halted */
bool tfy__step_is_sleep(const Step *step);

/* recorded.c */
bool tfy__step_same_digest(const Step *step, const TfyPayload *payload); /* the record is of this request */
/* false: the history has no record for it (yet), or the task was halted */
bool tfy__step_take_recorded(Step *step);
void tfy__step_raise_timeout(Step *step);                       /* leads to STAGE_SETTLE */
void tfy__step_raise_recorded(Step *step, json_t *error);       /* a built-in error, as a record has it */
void tfy__step_diverge(Step *step, const TfyLogRecord *record); /* the record is not what the step requests */
void tfy__step_raise_task_failed(Step *step, const char *path, const char *kind, const char *message);

/* A kind of step whose outcome is made inside the run, by other tasks. Each leaves one record of its own type. */
typedef struct WaitKind {
    void (*live)(Step *step);                             /* nothing is recorded: answers it, or enters a queue */
    void (*take)(Step *step, const TfyLogRecord *record); /* the history's cursor is at its record */
    TfyRecordType record;
    TfyTaskState waiting;
} WaitKind;
const WaitKind *tfy__step_wait_kind(const Step *step); /* NULL: the step is of another kind */

extern const WaitKind tfy__wait_join, tfy__wait_group, tfy__wait_send, tfy__wait_recv, tfy__wait_lock,
    tfy__wait_signal; /* each in its own file */

/* The recorded outcome must equal the step's outcome now; payload NULL: it has none yet. */
bool tfy__step_same_outcome(Step *step, const TfyLogRecord *record, const char *payload);

/* step.c */
/* What stands behind the question of an `approve` policy, as JSON (asked.c); NULL: another step, or the question was
 * recorded without it. */
static inline const char *tfy__call_behind(const TfyCall *call)
{
    return call->site->asked && call->args[2].o ? ((const TfyString *)call->args[2].o)->bytes : NULL;
}
bool tfy__step_digest(Step *step); /* computes call.digest; false: no memory, or too long */

/* step.c: lets all queued steps go as far as they can at once, so that an answer finds them waiting. */
void tfy__step_settle(TfyLoop *loop);

/* person.c */
/* The type of what people answer; the step gives it, or an Answer of it: {value, by, at}. No program has a record with such
 * a name. */
static inline const TfyType *answered_type(const TfyType *result)
{
    return result->kind == TFY_RECORD && strncmp(result->name, "Answer<", 7) == 0 ? result->fields[0].type : result;
}
static inline const TfyType *question_type(const TfyCall *call)
{
    return answered_type(call->result);
}
void tfy__person_reason(TaskRest *rest, const char *why); /* of the answer that its step gets now; NULL: none */
/* The step's value for a recorded answer: an Answer, with who and when, if the program asks for one. False: it does not
 * fit, or no memory. */
bool tfy__person_answered(const Step *step, const char *answer, const char *by, int64_t at_ms, TfyValue *out);
/* The open question has this value: it is the step's, or what its call waited for. */
void tfy__person_gave(Step *step, TfyValue value);

/* A question to a person about the call under way (aside.c). A program that never asks one does not carry its code. */
struct Aside {
    /* The answer, which ends the question if it is one: TFY_OK, or a negative code with a sentence. answer NULL: none was
     * given. */
    int (*answer)(Step *step, const char *answer, const char *by, char *error_text);
    void (*end)(Step *step); /* nobody is asked any more */
};

/* person.c */
/* No such run is at hand: TFY_E_ABSENT, or TFY_E_STATE where it is set aside, with a sentence. */
int tfy__arrive_nowhere(const TfyLoop *loop, const char *name, char *error_text);
int tfy__arrived(TfyLoop *loop); /* waits until an arrival is durable, unless its sender does; a code */

/* live.c */
/* it only receives what has already arrived: nothing becomes visible outside */
bool tfy__step_only_takes(const TfyTool *tool);
void tfy__step_outcome(Step *step, bool ok, TfyValue value); /* it is in the log: sets the answer, or task->error */
/* false: the lease (base/lease.h) has run out, and the loop stops */
bool tfy__step_may_work(TfyLoop *loop);
/* in_call: its performer starts, perhaps not for the first time */
void tfy__step_start_work(Step *step);
void tfy__step_go_live(Step *step); /* STAGE_OUTCOME with nothing recorded */
/* A replay reaches the place where the step's work started, where it finished, or where it waits for other tasks
 * of its run: publishes the same events as then. */
void tfy__step_ghost_begins(Step *step);
void tfy__step_ghost_ends(const Step *step, const char *how);
void tfy__step_ghost_waits(Step *step);
/* STAGE_DOUBT with nothing recorded: asks the probe, or a person */
void tfy__step_doubt_live(Step *step);

#endif

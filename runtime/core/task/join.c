/* join.c: waiting for the end of another task. */
#include "core/step/step.h"

#include <string.h>

/* NULL: there is no such task in this run. */
static Cold *join_target(const Pending *pending)
{
    return tfy__task_known(pending->cold->run, pending->call.args[0].i);
}

static void join_live(Pending *pending)
{
    Cold *target = join_target(pending);
    pending->target = target;
    if (!target || target->end_state || target == pending->cold) {
        tfy__step_join_ended(pending);
        if (target && target->end_state) tfy__fold_ended(target);
        return;
    }
    tfy__wait_enter(&target->joiners, pending);
}

/* The joined task has ended, is the joiner itself, or is unknown: record which, and answer. */
void tfy__step_join_ended(Pending *pending)
{
    TfyCall *call = &pending->call;
    Cold *target = pending->target;
    TfyBuffer out = {0};
    bool ok = target && target != pending->cold && target->end_state == TFY_TASK_COMPLETED;
    const char *path = target ? target->log.path : "?";
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_PATH, path);
    if (ok) {
        tfy__put_value(&out, TFY_P_VALUE, call->result, target->value);
    } else {
        if (!target)
            tfy__step_raise_task_failed(pending, path, "unknown", "there is no such task");
        else if (target == pending->cold)
            tfy__step_raise_task_failed(pending, path, "self", "a task cannot join itself");
        else
            tfy__step_raise_task_failed(pending, path, tfy__failure_kind(target),
                                        target->failure_text ? target->failure_text : "it was killed");
        tfy__put_error(&out, call->task->error);
    }
    tfy__put_end(&out);
    if (target) target->joined = true;
    int64_t lsn = tfy__step_append(pending, TFY_R_JOIN_RESULT, &out);
    tfy__buffer_free(&out);
    if (lsn < 0) return;
    tfy__step_outcome(pending, ok, ok ? target->value : tfy_of_int(0));
}

static void take_join(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    json_t *error = tfy__payload_get(&payload, TFY_P_ERROR), *plain = tfy__payload_get(&payload, TFY_P_VALUE);
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    Cold *target = join_target(pending);
    const char *path = tfy__payload_text(&payload, TFY_P_PATH);
    if (!path || strcmp(path, target ? target->log.path : "?") != 0) {
        tfy__history_diverge(pending->cold, record, "it joins task %s", target ? target->log.path : "?");
        tfy__payload_close(&payload);
        return;
    }
    tfy__history_take(pending->cold);
    if (target) target->joined = true;
    bool ok = !error &&
              (call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text));
    if (error)
        tfy__step_raise_recorded(pending, error);
    else if (!ok)
        tfy__history_diverge(pending->cold, record, "the joined result is to be %s: %s", call->result->name, text);
    tfy__payload_close(&payload);
    if (call->task->state & T_HALTED) return;
    if (ok)
        tfy__step_answer(pending, value);
    else
        pending->stage = STAGE_SETTLE;
}

const Inner tfy__inner_join = {
    .live = join_live, .take = take_join, .record = TFY_R_JOIN_RESULT, .waiting = TFY_TASK_JOINING};

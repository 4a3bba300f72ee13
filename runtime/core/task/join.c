/* join.c: waiting for the end of another task. */
#include "core/step/step.h"

#include <string.h>

/* NULL: there is no such task in this run. */
static TaskRest *join_target(const Step *step)
{
    return tfy__task_known(step->rest->run, step->call.args[0].i);
}

static void join_live(Step *step)
{
    TaskRest *target = join_target(step);
    step->target = target;
    if (!target || target->end_state || target == step->rest) {
        tfy__step_join_ended(step);
        if (target && target->end_state) tfy__fold_ended(target);
        return;
    }
    tfy__wait_enter(&target->joiners, step);
}

/* The joined task has finished, is the joiner itself, or is unknown: records which, and answers. */
void tfy__step_join_ended(Step *step)
{
    TfyCall *call = &step->call;
    TaskRest *target = step->target;
    TfyBuffer out = {0};
    bool ok = target && target != step->rest && target->end_state == TFY_TASK_COMPLETED;
    const char *path = target ? target->log.path : "?";
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_PATH, path);
    if (ok) {
        tfy__put_value(&out, TFY_P_VALUE, call->result, target->value);
    } else {
        if (!target)
            tfy__step_raise_task_failed(step, path, "unknown", "there is no such task");
        else if (target == step->rest)
            tfy__step_raise_task_failed(step, path, "self", "a task cannot join itself");
        else
            tfy__step_raise_task_failed(step, path, tfy__failure_kind(target),
                                        target->failure_text ? target->failure_text : "it was killed");
        tfy__put_error(&out, call->task->error);
    }
    tfy__put_end(&out);
    if (target) target->joined = true;
    TfyTicket ticket = tfy__step_append(step, TFY_R_JOIN_RESULT, &out);
    tfy__buffer_free(&out);
    if (ticket < 0) return;
    tfy__step_outcome(step, ok, ok ? target->value : tfy_of_int(0));
}

static void take_join(Step *step, const TfyLogRecord *record)
{
    TfyCall *call = &step->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    json_t *error = tfy__payload_get(&payload, TFY_P_ERROR), *plain = tfy__payload_get(&payload, TFY_P_VALUE);
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    TaskRest *target = join_target(step);
    const char *path = tfy__payload_text(&payload, TFY_P_PATH);
    if (!path || strcmp(path, target ? target->log.path : "?") != 0) {
        tfy__history_diverge(step->rest, record, "it joins task %s", target ? target->log.path : "?");
        tfy__payload_close(&payload);
        return;
    }
    tfy__history_take(step->rest);
    if (target) target->joined = true;
    bool ok = !error &&
              (call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text));
    if (error)
        tfy__step_raise_recorded(step, error);
    else if (!ok)
        tfy__history_diverge(step->rest, record, "the joined task returns %s, which the record does not fit: %s",
                             call->result->name, text);
    tfy__payload_close(&payload);
    if (call->task->state & T_HALTED) return;
    if (ok)
        tfy__step_answer(step, value);
    else
        step->stage = STAGE_SETTLE;
}

const WaitKind tfy__wait_join = {
    .live = join_live, .take = take_join, .record = TFY_R_JOIN_RESULT, .waiting = TFY_TASK_JOINING};

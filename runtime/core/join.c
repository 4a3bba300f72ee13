/* join.c: waiting for the end of another task. */
#include "step.h"

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
    tfy__buffer_printf(&out, "{\"path\":\"%s\",", path);
    if (ok) {
        tfy__buffer_text(&out, "\"value\":");
        if (call->result->kind == TFY_NOTHING)
            tfy__buffer_text(&out, "null");
        else
            tfy__encode(&out, call->result, target->value);
    } else {
        if (!target)
            tfy__step_raise_task_failed(pending, path, "unknown", "there is no such task");
        else if (target == pending->cold)
            tfy__step_raise_task_failed(pending, path, "self", "a task cannot join itself");
        else
            tfy__step_raise_task_failed(pending, path, tfy__failure_kind(target),
                                        target->failure_text ? target->failure_text : "it was killed");
        tfy__buffer_text(&out, "\"error\":");
        tfy__error_json(&out, call->task->error);
    }
    tfy__buffer_char(&out, '}');
    if (target) target->joined = true;
    int64_t lsn = tfy__step_append(pending, TFY_R_JOIN_RESULT, &out);
    tfy__buffer_free(&out);
    if (lsn < 0) return;
    tfy__step_outcome(pending, ok, ok ? target->value : tfy_of_int(0));
}

static void take_join(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    json_t *json = tfy__record_json(record), *error = json_object_get(json, "error"),
           *plain = json_object_get(json, "value");
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    Cold *target = join_target(pending);
    const char *path = json_string_value(json_object_get(json, "path"));
    if (!path || strcmp(path, target ? target->log.path : "?") != 0) {
        tfy__history_diverge(pending->cold, record, "it joins task %s", target ? target->log.path : "?");
        json_decref(json);
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
    json_decref(json);
    if (call->task->state & T_HALTED) return;
    if (ok)
        tfy__step_answer(pending, value);
    else
        pending->stage = STAGE_SETTLE;
}

const Inner tfy__inner_join = {
    .live = join_live, .take = take_join, .record = TFY_R_JOIN_RESULT, .waiting = TFY_TASK_JOINING};

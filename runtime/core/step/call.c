/* call.c: reports of performers: the work of an attempt succeeded or failed. The report is recorded, then the step
 * continues. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/step/step.h"

static void begin_payload(TfyBuffer *out, const Step *step)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_TOOL, step->call.site->tool->name);
    tfy__put_hex(out, TFY_P_DIGEST, step->call.digest);
    if (step->model_call && !tfy__step_leaves_start(step)) tfy__put_string(out, TFY_P_CALL, step->model_call);
}

void tfy__step_leave_call(Step *step)
{
    CHECK(step->in_call != CALL_NO_ROOM);
    tfy__step_left_call(step);
    if (step->waited_room || step->call.loop->room_first) tfy__room_made(step);
    tfy__timers_del(&step->call.loop->timers, step->timer);
    step->timer = 0;
}

static TfyBuffer *result_payload(Step *step, const TfyValue *value)
{
    TfyCall *call = &step->call;
    TfyBuffer *out = tfy__step_payload(call->loop);
    begin_payload(out, step);
    if (call->extra.len) tfy__buffer_add(out, call->extra.data, call->extra.len);
    if (call->extra.failed) out->failed = true;
    if (value && !call->value_in_extra && call->result->kind != TFY_NOTHING)
        tfy__put_value(out, TFY_P_VALUE, call->result, *value);
    else if (!value && !call->value_in_extra)
        tfy__put_error(out, call->task->error);
    tfy__put_end(out);
    return out;
}

static void tell_ended(const TfyCall *call, bool ok, const TfyBuffer *payload)
{
    const TfyRehearsal *rehearsal = call->loop->rehearsal;
    if (rehearsal) rehearsal->call_ended(rehearsal->state, call, ok, payload);
}

void tfy__call_done(TfyCall *call, TfyValue result)
{
    Step *step = step_of_call(call);
    if (step->doubt == DOUBT_PROBED) {
        tfy__step_leave_call(step);
        tfy__probe_done(step, result);
        return;
    }
    const TfyBuffer *payload = result_payload(step, &result);
    if (payload->depth > TFY_JSON_DEPTH) { /* a reader would refuse a record that nests this deep */
        call->outcome = TFY_UNKNOWN;
        tfy__call_bad_value(call, "$", "the result nests deeper than JSON may");
        return;
    }
    tfy__step_leave_call(step);
    call->outcome = TFY_DONE;
    tell_ended(call, true, payload);
    tfy__count_call(step, false, false);
    if (tfy__step_append(step, call->record_type, payload) <= 0) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s", call->tool->name);
    tfy__step_answer(step, result);
}

void tfy__call_wait(TfyCall *call, int64_t wait_ms, uint32_t tries, bool lost)
{
    Step *step = step_of_call(call);
    TfyBuffer out = {0};
    tfy__step_leave_call(step);
    step->again_ms = tfy__due_from_now(call->loop, wait_ms);
    call->tries = tries;
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_DUE, step->again_ms);
    tfy__put_text(&out, TFY_P_WHY, "busy");
    tfy__put_int(&out, TFY_P_TRIES, tries);
    tfy__put_true(&out, TFY_P_LOST, lost);
    tfy__put_end(&out);
    const TfyTicket ticket = tfy__step_append(step, TFY_R_TASK_YIELD, &out);
    tfy__buffer_free(&out);
    if (ticket <= 0) return;
    step->stage = STAGE_OUTCOME;
    tfy__step_queue(step);
}

bool tfy__call_note(TfyCall *call, uint8_t record_type, const TfyBuffer *payload)
{
    return tfy__run_note(step_of_call(call)->rest->run, record_type, payload) > 0;
}

/* ---- failed attempts ---- */

void tfy__step_note_outcome(Step *step, const char *outcome)
{
    if (!outcome) return;
    step->unknown = strcmp(outcome, "unknown") == 0;
    tfy__undo_unknown(step->call.task, step->unknown);
}

/* The attempt has failed with task->error: records that, with what is known about earlier attempts (NULL:
 * nothing), and settles it. */
static void record_failure(Step *step, const char *outcome)
{
    TfyCall *call = &step->call;
    if (outcome) tfy__put_text(&call->extra, TFY_P_OUTCOME, outcome);
    const TfyBuffer *payload = result_payload(step, NULL);
    tell_ended(call, false, payload);
    if (tfy__step_append(step, call->record_type, payload) <= 0) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s failed", call->tool->name);
    tfy__step_note_outcome(step, outcome);
    step->stage = STAGE_SETTLE;
    tfy__step_queue(step);
}

/* ---- attempts that may have been done ---- */

static bool retries(const Step *step)
{
    return step->retry > 0 && tfy__step_retriable(step);
}

/* A once step that must not simply fail: this attempt may have been done, or it is the last one and an earlier one
 * may have been. A write to a stream is an exception: nobody could know more than its error says, and the stream
 * is gone with it. That one fails, and its undo entry stays. */
static bool is_doubtful(const Step *step)
{
    const TfyCall *call = &step->call;
    const TfyTool *tool = call->site->tool;
    if (tool->repeat != TFY_ONCE || tool->family == TFY_F_WRITE || tfy__loop_starved(call->loop)) return false;
    return call->outcome == TFY_UNKNOWN || (step->unknown && !retries(step));
}

/* Keeps the error until it is known whether the step was done. */
static void begin_doubt(Step *step)
{
    TfyTask *task = step->call.task;
    TfyObj *error = tfy_take_error(task);
    TfyBuffer out = {0};
    tfy__error_json(&out, error);
    tfy_drop(task, error);
    cut_temps(task);
    tfy__step_drop_failure(step);
    if (out.failed) {
        tfy__buffer_free(&out);
        tfy__loop_fail(task->loop, TFY_E_NOMEM, "no memory for an error");
        return;
    }
    CHECK(step->started && step->call.site->tool->repeat == TFY_ONCE);
    step->failure = out.data;
    tfy__limit_leave(step);
    tfy__activity(task, "ToolExecutionComplete", "%s failed, and may have been done", step->call.tool->name);
    step->stage = STAGE_DOUBT;
    tfy__step_queue(step);
}

bool tfy__step_raise_failure(Step *step)
{
    json_t *error = step->failure ? json_loads(step->failure, JSON_ALLOW_NUL, NULL) : NULL;
    if (!error) return false;
    tfy__step_raise_recorded(step, error);
    json_decref(error);
    return true;
}

void tfy__step_doubt_stays(Step *step)
{
    TfyTask *task = step->call.task;
    if (step->retry > 0 && tfy__step_raise_failure(step)) {
        /* `retry` and `key` in the source say that a repetition is harmless */
        if (tfy__step_retriable(step)) {
            record_failure(step, "unknown");
            return;
        }
        tfy_drop(task, tfy_take_error(task));
    }
    tfy__person_in_doubt(step);
}

void tfy__step_denied(Step *step)
{
    tfy__step_raise_failure(step);
    record_failure(step, "not done");
}

static void probe_failed(Step *step)
{
    TfyCall *call = &step->call;
    tfy_drop(call->task, tfy_take_error(call->task));
    cut_temps(call->task);
    tfy__step_drop_key(step);
    step->doubt = DOUBT_NONE;
    call->tool = call->site->tool;
    call->result = call->site->result;
    tfy__step_doubt_stays(step);
}

static void call_failed(Step *step)
{
    const TfyCall *call = &step->call;
    tfy__step_leave_call(step);
    if (step->doubt == DOUBT_PROBED) {
        probe_failed(step);
        return;
    }
    tfy__count_call(step, true, false);
    if (is_doubtful(step))
        begin_doubt(step);
    else
        record_failure(step, call->outcome == TFY_UNKNOWN && call->site->tool->repeat != TFY_PURE ? "unknown" : NULL);
}

void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields)
{
    tfy_fail(call->task, error, call->site->point->line, fields);
    call_failed(step_of_call(call));
}

bool tfy__call_waits(const TfyCall *call)
{
    return step_of_call((TfyCall *)call)->fd_wait != NULL;
}

void tfy__call_panicked(TfyCall *call)
{
    call_failed(step_of_call(call));
}

void tfy__call_fail_recorded(TfyCall *call, json_t *error)
{
    tfy__step_raise_recorded(step_of_call(call), error);
    tfy__call_panicked(call);
}

void tfy__call_unanswered(TfyCall *call)
{
    Step *step = step_of_call(call);
    CHECK(step->in_call == CALL_BEGUN);
    CHECK(call->loop->in_flight > 0);
    step->in_call = CALL_UNANSWERED;
    call->loop->in_flight--;
}

bool tfy__call_read(const TfyCall *call, const TfyPayload *payload, TfyValue *out)
{
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    return performer && performer->replay && performer->replay(call->task, call->site, payload, out);
}

int64_t tfy__call_deadline_ns(const TfyCall *call)
{
    const Step *step = step_of_call((TfyCall *)call);
    return step->timer ? tfy__due_ns(call->loop, step->due_ms) : 0;
}

void tfy__call_starved(TfyCall *call)
{
    tfy__starved(call->task);
    call_failed(step_of_call(call));
}

void tfy__call_tool_error(TfyCall *call, int64_t code, const char *format, ...)
{
    TfyTask *task = call->task;
    TfyBuffer out = {0};
    va_list args;
    va_start(args, format);
    tfy__buffer_vprintf(&out, format, args);
    va_end(args);
    TfyObj *text = out.failed ? NULL : tfy_string_of(task, out.data, out.len);
    TfyObj *name = tfy_string_of(task, call->tool->name, strlen(call->tool->name));
    if (out.failed) tfy__buffer_refused(task, &out);
    tfy__buffer_free(&out);
    if (text && name)
        tfy_fail(task, &tfy_type_tool_error, call->site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_obj(name), tfy_of_int(code)});
    else
        tfy__out_of_memory(task);
    call_failed(step_of_call(call));
}

void tfy__call_bad_value(TfyCall *call, const char *path, const char *message)
{
    TfyTask *task = call->task;
    TfyObj *text = tfy_string_of(task, message, strlen(message)), *where = tfy_string_of(task, path, strlen(path));
    if (text && where)
        tfy_fail(task, &tfy_type_bad_value, call->site->point->line, (TfyValue[]){tfy_of_obj(text), tfy_of_obj(where)});
    else
        tfy__out_of_memory(task);
    call_failed(step_of_call(call));
}

static bool tool_fails(TfyTask *task, TfyOutcome outcome, int64_t code, const char *format, va_list args)
{
    Step *step = rest_of(task)->step;
    const char *name = step ? step->call.tool->name : "tool";
    char text[TFY_ERROR_TEXT];
    vsnprintf(text, sizeof text, format, args);
    if (step) step->call.outcome = outcome;
    TfyObj *message = tfy_string_of(task, text, strlen(text)), *tool = tfy_string_of(task, name, strlen(name));
    uint32_t line = step ? step->call.site->point->line : 0;
    if (!message || !tool) return tfy__out_of_memory(task);
    return tfy_fail(task, &tfy_type_tool_error, line,
                    (TfyValue[]){tfy_of_obj(message), tfy_of_obj(tool), tfy_of_int(code)});
}

bool tfy_tool_fail(TfyTask *task, int64_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tool_fails(task, TFY_NOT_DONE, code, format, args);
    va_end(args);
    return false;
}

bool tfy_tool_unknown(TfyTask *task, int64_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tool_fails(task, TFY_UNKNOWN, code, format, args);
    va_end(args);
    return false;
}

/* step_call.c: what performers say: the work of an attempt succeeded or failed. It is recorded, then the step goes
 * on. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/replay/rehearse.h"
#include "core/step/step.h"

static void begin_payload(TfyBuffer *out, const Pending *pending)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_TOOL, pending->call.site->tool->name);
    tfy__put_hex(out, TFY_P_DIGEST, pending->call.digest);
}

static Pending *pending_of(TfyCall *call)
{
    return (Pending *)((char *)call - offsetof(Pending, call));
}

static void leave_call(Pending *pending)
{
    tfy__step_left_call(pending);
    if (pending->waited_room || pending->call.loop->room_first) tfy__room_made(pending);
    tfy__timers_del(&pending->call.loop->timers, pending->timer);
    pending->timer = 0;
}

static TfyBuffer *result_payload(Pending *pending, const TfyValue *value)
{
    TfyCall *call = &pending->call;
    TfyBuffer *out = tfy__step_payload(call->loop);
    begin_payload(out, pending);
    if (call->extra.len) tfy__buffer_add(out, call->extra.data, call->extra.len);
    if (call->extra.failed) out->failed = true;
    if (value && !call->value_in_extra && call->result->kind != TFY_NOTHING)
        tfy__put_value(out, TFY_P_VALUE, call->result, *value);
    else if (!value && !call->value_in_extra)
        tfy__put_error(out, call->task->error);
    tfy__put_end(out);
    return out;
}

void tfy__call_done(TfyCall *call, TfyValue result)
{
    Pending *pending = pending_of(call);
    if (pending->probing) {
        leave_call(pending);
        tfy__probe_done(pending, result);
        return;
    }
    const TfyBuffer *payload = result_payload(pending, &result);
    if (payload->depth > TFY_JSON_DEPTH) { /* recorded like this it could never be read again */
        call->outcome = TFY_UNKNOWN;
        tfy__call_bad_value(call, "$", "the result nests deeper than JSON may");
        return;
    }
    leave_call(pending);
    call->outcome = TFY_DONE;
    if (call->loop->rehearsal) tfy__rehearse_ended(pending, true, payload);
    tfy__count_call(pending, false, false);
    if (tfy__step_append(pending, call->record_type, payload) <= 0) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s", call->tool->name);
    tfy__step_answer(pending, result);
}

/* ---- failed attempts ---- */

void tfy__step_note_outcome(Pending *pending, const char *outcome)
{
    if (!outcome) return;
    pending->unknown = strcmp(outcome, "unknown") == 0;
    tfy__undo_unknown(pending->call.task, pending->unknown);
}

/* The attempt has failed with task->error: that is recorded, with what it says about earlier attempts (NULL:
 * nothing), and settled. */
static void record_failure(Pending *pending, const char *outcome)
{
    TfyCall *call = &pending->call;
    if (outcome) tfy__put_text(&call->extra, TFY_P_OUTCOME, outcome);
    const TfyBuffer *payload = result_payload(pending, NULL);
    if (call->loop->rehearsal) tfy__rehearse_ended(pending, false, payload);
    if (tfy__step_append(pending, call->record_type, payload) <= 0) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s failed", call->tool->name);
    tfy__step_note_outcome(pending, outcome);
    pending->stage = STAGE_SETTLE;
    tfy__step_queue(pending);
}

/* ---- attempts that may have been done ---- */

static bool retries(const Pending *pending)
{
    return pending->retry > 0 && tfy_retriable(pending->call.task);
}

/* A once step that must not simply fail: this attempt may have been done, or none will follow and an earlier one may
 * have been. Nobody could say more of a write to a stream than its error does, and the stream is gone with it: that
 * one fails, and its undo stays. */
static bool is_doubtful(const Pending *pending)
{
    const TfyCall *call = &pending->call;
    const TfyTool *tool = call->site->tool;
    if (tool->repeat != TFY_ONCE || tool->family == TFY_F_WRITE || tfy__loop_starved(call->loop)) return false;
    return call->outcome == TFY_UNKNOWN || (pending->unknown && !retries(pending));
}

/* Keeps the error until it is known whether the step was done. */
static void begin_doubt(Pending *pending)
{
    TfyTask *task = pending->call.task;
    TfyObj *error = tfy_take_error(task);
    TfyBuffer out = {0};
    tfy__error_json(&out, error);
    tfy_drop(task, error);
    cut_temps(task);
    tfy__step_drop_failure(pending);
    if (out.failed) {
        tfy__buffer_free(&out);
        tfy__loop_fail(task->loop, TFY_E_NOMEM, "no memory for an error");
        return;
    }
    pending->failure = out.data;
    tfy__limit_leave(pending);
    tfy__activity(task, "ToolExecutionComplete", "%s failed, and may have been done", pending->call.tool->name);
    pending->stage = STAGE_DOUBT;
    tfy__step_queue(pending);
}

bool tfy__step_raise_failure(Pending *pending)
{
    json_t *error = pending->failure ? json_loads(pending->failure, JSON_ALLOW_NUL, NULL) : NULL;
    if (!error) return false;
    tfy__step_raise_recorded(pending, error);
    json_decref(error);
    return true;
}

void tfy__step_doubt_stays(Pending *pending)
{
    TfyTask *task = pending->call.task;
    if (pending->retry > 0 && tfy__step_raise_failure(pending)) {
        if (tfy_retriable(task)) { /* whoever wrote `retry` and `key` has said that a repetition is harmless */
            record_failure(pending, "unknown");
            return;
        }
        tfy_drop(task, tfy_take_error(task));
    }
    tfy__person_in_doubt(pending);
}

void tfy__step_denied(Pending *pending)
{
    tfy__step_raise_failure(pending);
    record_failure(pending, "not done");
}

static void probe_failed(Pending *pending)
{
    TfyCall *call = &pending->call;
    tfy_drop(call->task, tfy_take_error(call->task));
    cut_temps(call->task);
    tfy__step_drop_key(pending);
    pending->probing = false;
    call->tool = call->site->tool;
    call->result = call->site->result;
    tfy__step_doubt_stays(pending);
}

static void call_failed(Pending *pending)
{
    const TfyCall *call = &pending->call;
    leave_call(pending);
    if (pending->probing) {
        probe_failed(pending);
        return;
    }
    tfy__count_call(pending, true, false);
    if (is_doubtful(pending))
        begin_doubt(pending);
    else
        record_failure(pending,
                       call->outcome == TFY_UNKNOWN && call->site->tool->repeat != TFY_PURE ? "unknown" : NULL);
}

void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields)
{
    tfy_fail(call->task, error, call->site->point->line, fields);
    call_failed(pending_of(call));
}

bool tfy__call_waits(const TfyCall *call)
{
    return pending_of((TfyCall *)call)->fd_wait != NULL;
}

void tfy__call_panicked(TfyCall *call)
{
    call_failed(pending_of(call));
}

void tfy__call_starved(TfyCall *call)
{
    tfy__starved(call->task);
    call_failed(pending_of(call));
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
    call_failed(pending_of(call));
}

void tfy__call_bad_value(TfyCall *call, const char *path, const char *message)
{
    TfyTask *task = call->task;
    TfyObj *text = tfy_string_of(task, message, strlen(message)), *where = tfy_string_of(task, path, strlen(path));
    if (text && where)
        tfy_fail(task, &tfy_type_bad_value, call->site->point->line, (TfyValue[]){tfy_of_obj(text), tfy_of_obj(where)});
    else
        tfy__out_of_memory(task);
    call_failed(pending_of(call));
}

static bool tool_fails(TfyTask *task, TfyOutcome outcome, int64_t code, const char *format, va_list args)
{
    Pending *pending = cold_of(task)->pending;
    const char *name = pending ? pending->call.tool->name : "tool";
    char text[TFY_ERROR_TEXT];
    vsnprintf(text, sizeof text, format, args);
    if (pending) pending->call.outcome = outcome;
    TfyObj *message = tfy_string_of(task, text, strlen(text)), *tool = tfy_string_of(task, name, strlen(name));
    uint32_t line = pending ? pending->call.site->point->line : 0;
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

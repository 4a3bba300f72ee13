/* step_call.c: what performers say: the work of an attempt succeeded or failed. It is recorded, then the step goes on. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rehearse.h"
#include "step.h"

static void begin_payload(TfyBuffer *out, const Pending *pending)
{
    char digest[17];
    tfy__step_digest_text(pending->call.digest, digest);
    tfy__buffer_text(out, "{\"tool\":\"");
    tfy__buffer_text(out, pending->call.site->tool->name);
    tfy__buffer_text(out, "\",\"digest\":\"");
    tfy__buffer_add(out, digest, 16);
    tfy__buffer_char(out, '"');
}

static Pending *pending_of(TfyCall *call)
{
    return (Pending *)((char *)call - offsetof(Pending, call));
}

static void leave_call(Pending *pending)
{
    tfy__step_left_call(pending);
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
    if (value && !call->value_in_extra && call->result->kind != TFY_NOTHING) {
        tfy__buffer_text(out, ",\"value\":");
        tfy__encode(out, call->result, *value);
    } else if (!value && !call->value_in_extra) {
        tfy__buffer_text(out, ",\"error\":");
        tfy__error_json(out, call->task->error);
    }
    tfy__buffer_char(out, '}');
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
        tfy__call_bad_value(call, "$", "the result nests deeper than JSON may");
        return;
    }
    leave_call(pending);
    if (call->loop->rehearsal) tfy__rehearse_ended(pending, true, payload);
    tfy__count_call(pending, false, false);
    if (tfy__step_append(pending, call->record_type, payload) <= 0) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s", call->tool->name);
    tfy__step_answer(pending, result);
}

static void call_failed(Pending *pending)
{
    TfyCall *call = &pending->call;
    leave_call(pending);
    if (pending->probing) {
        tfy_drop(call->task, tfy_take_error(call->task));
        cut_temps(call->task);
        tfy__step_drop_key(pending);
        pending->probing = false;
        call->tool = call->site->tool;
        call->result = call->site->result;
        tfy__person_in_doubt(pending);
        return;
    }
    tfy__count_call(pending, true, false);
    const TfyBuffer *payload = result_payload(pending, NULL);
    if (call->loop->rehearsal) tfy__rehearse_ended(pending, false, payload);
    if (tfy__step_append(pending, call->record_type, payload) <= 0) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s failed", call->tool->name);
    pending->stage = STAGE_SETTLE;
    tfy__step_queue(pending);
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

bool tfy_tool_fail(TfyTask *task, int64_t code, const char *format, ...)
{
    Pending *pending = cold_of(task)->pending;
    const char *name = pending ? pending->call.tool->name : "tool";
    char text[TFY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    TfyObj *message = tfy_string_of(task, text, strlen(text)), *tool = tfy_string_of(task, name, strlen(name));
    uint32_t line = pending ? pending->call.site->point->line : 0;
    if (!message || !tool) return tfy__out_of_memory(task);
    return tfy_fail(task, &tfy_type_tool_error, line,
                    (TfyValue[]){tfy_of_obj(message), tfy_of_obj(tool), tfy_of_int(code)});
}

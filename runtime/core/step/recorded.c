/* step_recorded.c: what a step comes to when the history knows it: answers, failures, deadlines, decisions of people. */
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"

static bool same_digest(const Pending *pending, const TfyPayload *payload)
{
    char digest[17];
    tfy__step_digest_text(pending->call.digest, digest);
    const char *recorded = tfy__payload_text(payload, TFY_P_DIGEST), *tool = tfy__payload_text(payload, TFY_P_TOOL);
    return recorded && tool && strcmp(recorded, digest) == 0 && strcmp(tool, pending->call.site->tool->name) == 0;
}

static void say_request(const Pending *pending, TfyBuffer *out)
{
    const TfyTool *tool = pending->call.site->tool;
    tfy__buffer_printf(out, "%s(", tool->name);
    tfy__encode_args(out, tool->params, tool->param_count, pending->call.args);
    tfy__buffer_char(out, ')');
}

void tfy__step_diverge(Pending *pending, const TfyLogRecord *record)
{
    TfyBuffer out = {0};
    say_request(pending, &out);
    tfy__history_diverge(pending->cold, record, "it asks for %s", out.failed ? "an effect" : out.data);
    tfy__buffer_free(&out);
}

void tfy__step_raise_recorded(Pending *pending, json_t *error)
{
    TfyTask *task = pending->call.task;
    const char *name = tfy__error_kind(error);
    const TfyType *type = name ? tfy__builtin_error(name) : NULL;
    char text[TFY_ERROR_TEXT];
    TfyValue value;
    if (type && tfy__decode_json(task, type, error, &value, text))
        tfy_fail_with(task, value.o);
    else
        tfy_panic(task, pending->call.site->point->line, "a recorded error cannot be read");
    cut_temps(task);
}

/* The result, without a tree of JSON where it is simple. False: it is not, or the value does not fit; a closer look
 * finds out. */
static bool decode_plain(Pending *pending, const TfyLogRecord *record, TfyValue *value)
{
    size_t len;
    char text[TFY_ERROR_TEXT], digest[17];
    const TfyCall *call = &pending->call;
    tfy__step_digest_text(call->digest, digest);
    const char *at = tfy__record_plain_value(record, call->site->tool->name, digest, &len);
    if (!at) return false;
    if (call->result->kind == TFY_INT && len < 19 && strspn(at, "0123456789") == len && len) {
        value->i = strtoll(at, NULL, 10);
        return true;
    }
    return tfy__decode_text(call->task, call->result, at, len, value, text);
}

static bool take_plain_result(Pending *pending, const TfyLogRecord *record)
{
    TfyValue value = {.i = 0};
    if (record->type != TFY_R_TOOL_RESULT || tfy__step_inner(pending) || !decode_plain(pending, record, &value))
        return false;
    tfy__history_take(pending->cold);
    tfy__step_ghost_ends(pending, "");
    tfy__step_answer(pending, value);
    return true;
}

/* What a model said is told with what it cost. */
static void ghost_of_tokens(const Pending *pending, const TfyLogRecord *record, const TfyPayload *payload)
{
    if (record->type != TFY_R_LLM_PLAN || !pending->call.loop->replay_only) return;
    if (!tfy__payload_get(payload, TFY_P_COMPLETION_TOKENS)) return;
    tfy__activity(pending->call.task, "Tokens", "%s: %lld in, %lld out", pending->call.tool->name,
                  (long long)tfy__payload_int(payload, TFY_P_PROMPT_TOKENS),
                  (long long)tfy__payload_int(payload, TFY_P_COMPLETION_TOKENS));
}

/* A result record: the value or the error of the attempt. */
static void take_result(Pending *pending, const TfyLogRecord *record)
{
    if (take_plain_result(pending, record)) return;
    TfyCall *call = &pending->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    if (tfy__step_inner(pending) || !same_digest(pending, &payload)) {
        tfy__step_diverge(pending, record);
        tfy__payload_close(&payload);
        return;
    }
    tfy__history_take(pending->cold);
    json_t *error = tfy__payload_get(&payload, TFY_P_ERROR), *plain = tfy__payload_get(&payload, TFY_P_VALUE);
    ghost_of_tokens(pending, record, &payload);
    tfy__step_ghost_ends(pending, error ? " failed" : "");
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    bool ok = false;
    if (error) {
        tfy__step_raise_recorded(pending, error);
        tfy__step_note_outcome(pending, tfy__payload_text(&payload, TFY_P_OUTCOME));
    } else if (!plain && performer && performer->replay) {
        ok = performer->replay(call->task, call->site, record->payload, record->payload_len, &value);
    } else if (call->result->kind == TFY_NOTHING) {
        ok = true;
    } else if (!(ok = tfy__decode_json(call->task, call->result, plain, &value, text))) {
        tfy__history_diverge(pending->cold, record, "its result is to be %s: %s", call->result->name, text);
    }
    tfy__payload_close(&payload);
    if (call->task->state & T_HALTED) return;
    if (ok) {
        tfy__step_answer(pending, value);
    } else {
        pending->stage = STAGE_SETTLE;
    }
}

void tfy__step_raise_timeout(Pending *pending)
{
    TfyTask *task = pending->call.task;
    const char *name = pending->call.site->tool->name;
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%s had no answer in time", name);
    TfyObj *text = out.failed ? NULL : tfy_string_of(task, out.data, out.len);
    if (out.failed) tfy__buffer_refused(task, &out);
    tfy__buffer_free(&out);
    bool doubt = pending->started && pending->call.site->tool->repeat == TFY_ONCE;
    if (text)
        tfy_fail(task, &tfy_type_timeout, pending->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_bool(doubt)});
    else
        tfy__out_of_memory(task);
    cut_temps(task);
    pending->stage = STAGE_SETTLE;
}

bool tfy__step_same_outcome(Pending *pending, const TfyLogRecord *record, const char *payload)
{
    if (payload && strcmp(record->payload, payload) == 0) return true;
    tfy__history_diverge(pending->cold, record, "%s comes to %s", pending->call.tool->name,
                         payload ? payload : "no end yet");
    return false;
}

static void take_timer(Pending *pending, const TfyLogRecord *record)
{
    if (!pending->bounded && !tfy__step_is_sleep(pending)) {
        tfy__step_diverge(pending, record);
        return;
    }
    tfy__history_take(pending->cold);
    if (pending->bounded) tfy__step_ghost_ends(pending, " ran out of time");
    if (pending->bounded)
        tfy__step_raise_timeout(pending);
    else
        tfy__step_answer(pending, tfy_of_int(0));
}

void tfy__step_raise_task_failed(Pending *pending, const char *path, const char *kind, const char *message)
{
    TfyTask *task = pending->call.task;
    TfyObj *text = tfy_string_of(task, message, strlen(message));
    TfyObj *who = tfy_string_of(task, path, strlen(path)), *what = tfy_string_of(task, kind, strlen(kind));
    if (text && who && what)
        tfy_fail(task, &tfy_type_task_failed, pending->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_obj(who), tfy_of_obj(what)});
    cut_temps(task);
}

static void take_approval(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *answer = json_string_value(tfy__payload_get(&payload, TFY_P_ANSWER));
    TfyValue value;
    bool ok = is_question(call->tool) && answer && tfy__person_answer_value(call->task, call->result, answer, &value);
    if (ok)
        tfy__history_take(pending->cold);
    else
        tfy__step_diverge(pending, record);
    tfy__payload_close(&payload);
    if (ok) tfy__step_answer(pending, value);
}

/* Results are checked before they are recorded, but by the layout in the log, which older compilers did not give
 * types, and older logs have some that nobody checked. One that does not fit decides nothing: the step stays in
 * doubt, and that is reported anew. */
static void refuse_resolution(Pending *pending, const char *why)
{
    TfyCall *call = &pending->call;
    pending->stage = STAGE_DOUBT;
    pending->doubt_recorded = false;
    if (!call->loop->replay_only)
        tfy__report_text(call->loop, "the result given for step %lld (%s) is to be %s: %s\n", (long long)call->step,
                         call->tool->name, call->result->name, why);
}

/* The step may have been done: what its attempt ended with, if it ended, stands in the record. */
static void take_doubt(Pending *pending, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const json_t *error = tfy__payload_get(&payload, TFY_P_ERROR);
    tfy__step_drop_failure(pending);
    if (error) pending->failure = json_dumps(error, JSON_COMPACT);
    if (error && !pending->failure) tfy__loop_fail(pending->call.loop, TFY_E_NOMEM, "no memory for an error");
    tfy__payload_close(&payload);
    tfy__history_take(pending->cold);
    pending->stage = STAGE_DOUBT;
    pending->doubt_recorded = true;
}

static void take_resolved(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *how = tfy__payload_text(&payload, TFY_P_HOW);
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    call->tool = call->site->tool;
    call->result = call->site->result;
    tfy__history_take(pending->cold);
    if (how && strcmp(how, "retry") == 0) {
        tfy__step_begin_again(pending);
    } else if (how && strcmp(how, "done") == 0) {
        json_t *plain = tfy__payload_get(&payload, TFY_P_VALUE);
        bool ok = call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text);
        if (ok)
            tfy__step_answer(pending, value);
        else
            refuse_resolution(pending, text);
    } else {
        tfy__person_raise_failed(pending);
        pending->stage = STAGE_SETTLE;
    }
    tfy__payload_close(&payload);
}

/* Takes the next thing the history says about this step. False: it says nothing (yet), or the task was halted. */
bool tfy__step_take_recorded(Pending *pending)
{
    Cold *cold = pending->cold;
    const TfyLogRecord *record = tfy__history_peek(cold);
    if (!record) return false;
    if (!tfy__history_at_cursor(cold)) return false;
    const Inner *inner = tfy__step_inner(pending);
    if (inner && record->type == inner->record) {
        inner->take(pending, record);
        return cold->pending == pending;
    }
    if (pending->admitted && !pending->started && !pending->noted) tfy__limit_note(pending, record);
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_IO_READY:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT: take_result(pending, record); break;
    case TFY_R_TIMER_FIRED: take_timer(pending, record); break;
    case TFY_R_APPROVAL: take_approval(pending, record); break;
    case TFY_R_RESOLVED: take_resolved(pending, record); break;
    case TFY_R_IN_DOUBT: take_doubt(pending, record); break;
    default: tfy__step_diverge(pending, record); break;
    }
    return cold->pending == pending;
}

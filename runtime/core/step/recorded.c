/* recorded.c: the outcome of a step that the history knows: answers, failures, deadlines, decisions of people. */
#include <stdlib.h>
#include <string.h>

#include "core/step/round.h"

bool tfy__step_same_digest(const Step *step, const TfyPayload *payload)
{
    char digest[17];
    tfy__digest_text(step->call.digest, digest);
    const char *recorded = tfy__payload_text(payload, TFY_P_DIGEST), *tool = tfy__payload_text(payload, TFY_P_TOOL);
    return recorded && tool && strcmp(recorded, digest) == 0 && strcmp(tool, step->call.site->tool->name) == 0;
}

/* The id of the model's call that its result has; NULL: none, or the record of its start has it. */
static const char *call_of_result(const Step *step)
{
    const TfyString *id = tfy__step_leaves_start(step) ? NULL : (const TfyString *)step->model_call;
    return id ? id->bytes : NULL;
}

static bool same_call(const Step *step, const TfyPayload *payload)
{
    const char *recorded = json_string_value(tfy__payload_get(payload, TFY_P_CALL)), *id = call_of_result(step);
    return id ? recorded && strcmp(recorded, id) == 0 : !recorded;
}

static void say_request(const Step *step, TfyBuffer *out)
{
    const TfyTool *tool = step->call.site->tool;
    tfy__buffer_printf(out, "%s(", tool->name);
    tfy__step_encode_args(out, tool, step->call.args);
    tfy__buffer_char(out, ')');
    if (!step->model_call) return;
    const TfyString *id = (const TfyString *)step->model_call;
    tfy__buffer_text(out, " for the model's call ");
    tfy__buffer_json_string(out, id->bytes, id->byte_len);
}

void tfy__step_diverge(Step *step, const TfyLogRecord *record)
{
    TfyBuffer out = {0};
    say_request(step, &out);
    tfy__history_diverge(step->rest, record, "it asks for %s", out.failed ? "an effect" : out.data);
    tfy__buffer_free(&out);
}

void tfy__step_raise_recorded(Step *step, json_t *error)
{
    TfyTask *task = step->call.task;
    const char *name = tfy__error_kind(error);
    const TfyType *type = name ? tfy__builtin_error(name) : NULL;
    char text[TFY_ERROR_TEXT];
    TfyValue value;
    if (type && tfy__decode_json(task, type, error, &value, text))
        tfy_fail_with(task, value.o);
    else
        tfy_panic(task, step->call.site->point->line, "a recorded error cannot be read");
    cut_temps(task);
}

/* Decodes a simple result without building a JSON tree. False: it is not simple, or does not fit; the full decoder
 * decides. */
static bool decode_plain(Step *step, const TfyLogRecord *record, TfyValue *value)
{
    size_t len;
    char text[TFY_ERROR_TEXT], digest[17];
    const TfyCall *call = &step->call;
    tfy__digest_text(call->digest, digest);
    const char *at = tfy__record_plain_value(record, call->site->tool->name, digest, call_of_result(step), &len);
    if (!at) return false;
    if (call->result->kind == TFY_INT && len < 19 && strspn(at, "0123456789") == len && len) {
        value->i = strtoll(at, NULL, 10);
        return true;
    }
    return tfy__decode_text(call->task, call->result, at, len, value, text);
}

/* A performer that hears of recorded results needs the payload. */
static bool take_plain_result(Step *step, const TfyLogRecord *record)
{
    TfyValue value = {.i = 0};
    const TfyPerformer *performer = step->call.loop->performers[step->call.tool->family];
    if (performer && performer->recorded) return false;
    if (record->type != TFY_R_TOOL_RESULT || tfy__step_wait_kind(step) || !decode_plain(step, record, &value))
        return false;
    tfy__history_take(step->rest);
    tfy__step_ghost_ends(step, "");
    tfy__step_answer(step, value);
    return true;
}

/* A model's answer is reported with its cost. */
static void ghost_of_tokens(const Step *step, const TfyLogRecord *record, const TfyPayload *payload)
{
    if (record->type != TFY_R_LLM_PLAN || !step->call.loop->replay_only) return;
    if (!tfy__payload_get(payload, TFY_P_COMPLETION_TOKENS)) return;
    tfy__activity(step->call.task, "Tokens", "%s: %lld in, %lld out", step->call.tool->name,
                  (long long)tfy__payload_int(payload, TFY_P_PROMPT_TOKENS),
                  (long long)tfy__payload_int(payload, TFY_P_COMPLETION_TOKENS));
}

static void tell_performer(Step *step, const TfyPayload *payload)
{
    const TfyPerformer *performer = step->call.loop->performers[step->call.tool->family];
    if (performer && performer->recorded) performer->recorded(&step->call, payload);
}

/* A result record: the value or the error of the attempt. */
static void take_result(Step *step, const TfyLogRecord *record)
{
    if (take_plain_result(step, record)) return;
    TfyCall *call = &step->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    if (tfy__step_wait_kind(step) || !tfy__step_same_digest(step, &payload) || !same_call(step, &payload)) {
        tfy__step_diverge(step, record);
        tfy__payload_close(&payload);
        return;
    }
    tfy__history_take(step->rest);
    json_t *error = tfy__payload_get(&payload, TFY_P_ERROR), *plain = tfy__payload_get(&payload, TFY_P_VALUE);
    ghost_of_tokens(step, record, &payload);
    tfy__step_ghost_ends(step, error ? " failed" : "");
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    bool ok = false, told = true;
    if (error) {
        tfy__step_raise_recorded(step, error);
        tfy__step_note_outcome(step, tfy__payload_text(&payload, TFY_P_OUTCOME));
    } else if (!plain && performer && performer->replay) {
        ok = performer->replay(call->task, call->site, &payload, &value); /* it may raise the failure again */
    } else if (call->result->kind == TFY_NOTHING) {
        ok = true;
    } else if (!(ok = told = tfy__decode_json(call->task, call->result, plain, &value, text))) {
        tfy__history_diverge(step->rest, record, "it returns %s, which the record does not fit: %s", call->result->name,
                             text);
    }
    if (told) tell_performer(step, &payload);
    tfy__payload_close(&payload);
    if (call->task->state & T_HALTED) return;
    if (ok) {
        tfy__step_answer(step, value);
    } else {
        step->stage = STAGE_SETTLE;
    }
}

void tfy__step_raise_timeout(Step *step)
{
    TfyTask *task = step->call.task;
    const char *name = step->call.site->tool->name;
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%s had no answer in time", name);
    TfyObj *text = out.failed ? NULL : tfy_string_of(task, out.data, out.len);
    if (out.failed) tfy__buffer_refused(task, &out);
    tfy__buffer_free(&out);
    bool doubt = step->started && step->call.site->tool->repeat == TFY_ONCE;
    if (text)
        tfy_fail(task, &tfy_type_timeout, step->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_bool(doubt)});
    else
        tfy__out_of_memory(task);
    cut_temps(task);
    step->stage = STAGE_SETTLE;
}

bool tfy__step_same_outcome(Step *step, const TfyLogRecord *record, const char *payload)
{
    if (payload && strcmp(record->payload, payload) == 0) return true;
    tfy__history_diverge(step->rest, record, "%s comes to %s", step->call.tool->name, payload ? payload : "no end yet");
    return false;
}

static void take_timer(Step *step, const TfyLogRecord *record)
{
    if (step->due_kind != DUE_TIMEOUT && !tfy__step_is_sleep(step)) {
        tfy__step_diverge(step, record);
        return;
    }
    tfy__history_take(step->rest);
    const bool out_of_time = step->due_kind == DUE_TIMEOUT;
    if (out_of_time) tfy__step_ghost_ends(step, " ran out of time");
    if (out_of_time) tell_performer(step, &(TfyPayload){0});
    if (out_of_time)
        tfy__step_raise_timeout(step);
    else
        tfy__step_answer(step, tfy_of_int(0));
}

void tfy__step_raise_task_failed(Step *step, const char *path, const char *kind, const char *message)
{
    TfyTask *task = step->call.task;
    TfyObj *text = tfy_string_of(task, message, strlen(message));
    TfyObj *who = tfy_string_of(task, path, strlen(path)), *what = tfy_string_of(task, kind, strlen(kind));
    if (text && who && what)
        tfy_fail(task, &tfy_type_task_failed, step->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_obj(who), tfy_of_obj(what)});
    cut_temps(task);
}

static void take_approval(Step *step, const TfyLogRecord *record)
{
    TfyCall *call = &step->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *answer = json_string_value(tfy__payload_get(&payload, TFY_P_ANSWER));
    TfyValue value;
    const char *by = tfy__payload_text(&payload, TFY_P_BY);
    const bool ok = is_question(call->tool) && answer && tfy__person_answered(step, answer, by, record->ts_ms, &value);
    if (ok)
        tfy__history_take(step->rest);
    else
        tfy__step_diverge(step, record);
    if (ok) tfy__person_reason(step->rest, tfy__payload_text(&payload, TFY_P_WHY));
    tfy__payload_close(&payload);
    if (ok) tfy__person_gave(step, value);
}

/* Results are checked before they are recorded, but by the layout in the log, to which older compilers gave no
 * types, and older logs contain unchecked ones. A result that does not fit decides nothing: the step stays in
 * doubt, and that is reported anew. */
static void refuse_resolution(Step *step, const char *why)
{
    TfyCall *call = &step->call;
    step->stage = STAGE_DOUBT;
    step->doubt = DOUBT_NONE;
    if (!call->loop->replay_only)
        tfy__report_text(call->loop, "the result given for step %lld does not fit: %s returns %s: %s\n",
                         (long long)call->step, call->tool->name, call->result->name, why);
}

/* The step may have been done: the record contains the error that its attempt failed with, if it finished. */
static void take_doubt(Step *step, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const json_t *error = tfy__payload_get(&payload, TFY_P_ERROR);
    tfy__step_drop_failure(step);
    if (error) step->failure = json_dumps(error, JSON_COMPACT);
    if (error && !step->failure) tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for an error");
    tfy__payload_close(&payload);
    tfy__history_take(step->rest);
    step->stage = STAGE_DOUBT;
    step->doubt = DOUBT_RECORDED;
}

static void take_resolved(Step *step, const TfyLogRecord *record)
{
    TfyCall *call = &step->call;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *how = tfy__payload_text(&payload, TFY_P_HOW);
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    call->tool = call->site->tool;
    call->result = call->site->result;
    tfy__history_take(step->rest);
    if (how && strcmp(how, "retry") == 0) {
        tfy__step_begin_again(step);
    } else if (how && strcmp(how, "done") == 0) {
        json_t *plain = tfy__payload_get(&payload, TFY_P_VALUE);
        bool ok = call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text);
        if (ok)
            tfy__step_answer(step, value);
        else
            refuse_resolution(step, text);
    } else {
        tfy__person_raise_failed(step);
        step->stage = STAGE_SETTLE;
    }
    tfy__payload_close(&payload);
}

/* It changes nothing but what is spent: the outcome is still to come. */
static void take_request(Step *step, const TfyLogRecord *record)
{
    const TfyPerformer *performer = step->call.loop->performers[step->call.tool->family];
    if (!performer || !performer->requested) {
        tfy__step_diverge(step, record);
        return;
    }
    performer->requested(step, record);
    tfy__history_take(step->rest);
}

/* The attempt starts again, when its time has come. */
static void take_wait(Step *step, const TfyLogRecord *record)
{
    if (!tfy__record_is_busy(record)) {
        tfy__step_diverge(step, record);
        return;
    }
    step->again_ms = tfy__step_recorded_due(step->call.loop, record);
    step->call.tries = (uint32_t)tfy__record_int(record, TFY_P_TRIES);
    if (step->call.tool->keyed)
        tfy__history_take(step->rest);
    else
        take_request(step, record);
}

static void take_exchange(Step *step, const TfyLogRecord *record)
{
    const TfyPerformer *performer = step->call.loop->performers[step->call.site->tool->family];
    if (performer && performer->rounds)
        performer->rounds->take(step, record);
    else
        tfy__step_diverge(step, record);
}

/* Takes the next record about this step. False: the history has none (yet), or the task was halted. */
bool tfy__step_take_recorded(Step *step)
{
    TaskRest *rest = step->rest;
    const TfyLogRecord *record = tfy__history_peek(rest);
    if (!record) return false;
    if (!tfy__history_at_cursor(rest)) return false;
    const WaitKind *inner = tfy__step_wait_kind(step);
    if (inner && record->type == inner->record) {
        inner->take(step, record);
        return rest->step == step;
    }
    if (step->admission == ADMISSION_GRANTED && !step->started && !step->noted) tfy__limit_note(step, record);
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_IO_READY:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT: take_result(step, record); break;
    case TFY_R_TIMER_FIRED: take_timer(step, record); break;
    case TFY_R_APPROVAL: take_approval(step, record); break;
    case TFY_R_RESOLVED: take_resolved(step, record); break;
    case TFY_R_IN_DOUBT: take_doubt(step, record); break;
    case TFY_R_LLM_REQUEST: take_request(step, record); break;
    case TFY_R_TASK_YIELD: take_wait(step, record); break;
    case TFY_R_MCP_ROUND:
    case TFY_R_MCP_TASK: take_exchange(step, record); break;
    default: tfy__step_diverge(step, record); break;
    }
    return rest->step == step;
}

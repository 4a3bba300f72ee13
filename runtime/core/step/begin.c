/* begin.c: the start of an attempt: its deadline, and the record of its start. */
#include <stdio.h>
#include <string.h>

#include "core/step/round.h"
#include "observe/asked.h"
#include "value/form.h"

/* How people may answer: "bool", "string", or the names of an enum's cases; an answer cannot carry values, unless it is a
 * form. */
static void answer_type(TfyBuffer *out, const TfyCall *call)
{
    const TfyType *type = question_type(call);
    const char *before = "[";
    if (call->tool->forms) {
        (void)call->tool->forms->write(out, call->task, type);
        cut_temps(call->task);
        return;
    }
    if (type->kind != TFY_ENUM) {
        tfy__buffer_text(out, type->kind == TFY_STRING ? "\"string\"" : "\"bool\"");
        return;
    }
    for (uint32_t i = 0; i < type->case_count; i++) {
        if (!type->cases[i].bare) continue;
        tfy__buffer_printf(out, "%s\"%s\"", before, type->cases[i].name);
        before = ",";
    }
    tfy__buffer_char(out, ']');
}

static void put_question(TfyBuffer *out, const Step *step)
{
    const TfyCall *call = &step->call;
    char id[TFY_KEY_SIZE + 520];
    snprintf(id, sizeof id, "%s/%lld", step->rest->log.path, (long long)call->step);
    tfy__put_string(out, TFY_P_QUESTION, call->args[0].o);
    if (call->args[1].o) tfy__put_string(out, TFY_P_DETAILS, call->args[1].o);
    tfy__put_text(out, TFY_P_ID, id);
    tfy__put_hex(out, TFY_P_DIGEST, call->digest);
    tfy__put(out, TFY_P_TYPE);
    if (asks_more(step))
        step->round->ops->put_type(step, out);
    else
        answer_type(out, call);
}

void tfy__step_start_payload(TfyBuffer *out, const Step *step)
{
    const TfyCall *call = &step->call;
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_TOOL, call->tool->name);
    if (is_question(call->tool)) {
        put_question(out, step);
    } else if (call->tool->family == TFY_F_SIGNAL) {
        tfy__put_string(out, TFY_P_NAME, call->args[0].o);
    } else {
        tfy__put(out, TFY_P_ARGS);
        tfy__step_encode_args(out, call->tool, call->args);
        tfy__put_int(out, TFY_P_ATTEMPT, call->attempt);
        tfy__put_text(out, TFY_P_KEY, call->key);
    }
    if (step->model_call) tfy__put_string(out, TFY_P_CALL, step->model_call);
    tfy__put_end(out);
}

bool tfy__step_leaves_start(const Step *step)
{
    const TfyTool *tool = step->call.site->tool;
    return asks_more(step) || is_question(tool) || is_io_wait(tool) || tool->family == TFY_F_SIGNAL ||
           tool->repeat == TFY_ONCE;
}

bool tfy__step_is_sleep(const Step *step)
{
    return step->call.tool->family == TFY_F_SLEEP || step->call.tool->family == TFY_F_SLEEP_UNTIL;
}

void tfy__put_due(TfyBuffer *out, int64_t due_ms, const char *why)
{
    tfy__put_begin(out);
    tfy__put_int(out, TFY_P_DUE, due_ms);
    tfy__put_text(out, TFY_P_WHY, why);
    tfy__put_end(out);
}

int64_t tfy__due_from_now(const TfyLoop *loop, int64_t delay_ms)
{
    if (delay_ms < 0) delay_ms = 0;
    return delay_ms > INT64_MAX - loop->now_ms ? INT64_MAX : loop->now_ms + delay_ms;
}

int64_t tfy__step_recorded_due(const TfyLoop *loop, const TfyLogRecord *record)
{
    const int64_t due_ms = tfy__record_int(record, TFY_P_DUE), back_ms = record->ts_ms - loop->now_ms;
    return back_ms > 0 && !loop->replay_only && due_ms != INT64_MAX ? due_ms - back_ms : due_ms;
}

/* Records the deadline, absolute, so that it survives a restart. False: waits or halted. */
static bool begin_deadline(Step *step, int64_t due_ms, bool bounded)
{
    const TfyLogRecord *record;
    if (!tfy__history_expect(step->rest, TFY_R_TASK_YIELD, step->call.site->point->number, &record)) return false;
    if (record) {
        const bool by_clock = step->call.site->tool->family == TFY_F_SLEEP_UNTIL;
        step->due_ms = by_clock ? tfy__record_int(record, TFY_P_DUE) : tfy__step_recorded_due(step->call.loop, record);
        step->due_kind = tfy__record_is(record, TFY_P_WHY, "sleep") ? DUE_SLEEP : DUE_TIMEOUT;
        tfy__history_take(step->rest);
    } else {
        if (!tfy__history_live(step->rest)) return tfy__history_defer(step), false;
        TfyBuffer out = {0};
        tfy__put_due(&out, due_ms, bounded ? "timeout" : "sleep");
        TfyTicket ticket = tfy__step_append(step, TFY_R_TASK_YIELD, &out);
        tfy__buffer_free(&out);
        if (ticket < 0) return false;
        step->due_ms = due_ms;
        step->due_kind = bounded ? DUE_TIMEOUT : DUE_SLEEP;
    }
    return true;
}

static bool begin_start(Step *step)
{
    const TfyLogRecord *record;
    const TfyAsked *asked = step->call.site->asked;
    TfyRecordType type = is_io_wait(step->call.tool) ? TFY_R_TASK_WAIT_IO : TFY_R_STEP_START;
    if (!tfy__history_expect(step->rest, type, step->call.site->point->number, &record)) return false;
    if (!record && !tfy__history_live(step->rest)) return tfy__history_defer(step), false;
    TfyBuffer out = {0};
    tfy__step_start_payload(&out, step);
    if (asked && asked->by->complete(step, record, &out)) {
        tfy__buffer_free(&out);
        return true;
    }
    bool ok = !out.failed;
    if (record && asks_more(step)) {
        ok = step->round->ops->take_question(step, record);
    } else if (record && ok && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(step->rest, record, "it starts %s", out.data);
        ok = false;
    } else if (record && ok) {
        if (step->admission == ADMISSION_GRANTED) tfy__limit_note(step, record);
        tfy__history_take(step->rest);
    } else {
        ok = tfy__step_append(step, type, &out) > 0;
    }
    tfy__buffer_free(&out);
    step->started = !ok ? START_NONE : record ? START_FOUND : START_MADE;
    if (ok) tfy__undo_started(step->call.task);
    return ok;
}

static int64_t sleep_due(const Step *step)
{
    const TfyCall *call = &step->call;
    if (call->tool->family == TFY_F_SLEEP_UNTIL) return call->args[0].i > 1 ? call->args[0].i : 1; /* 0 means none */
    return tfy__due_from_now(call->loop, call->args[0].i);
}

/* A sleep ends at its own time or, if that comes first, at its timeout. */
static bool begin_timer(Step *step)
{
    bool bounded = step->timeout_ms != TFY_NEVER;
    int64_t due_ms = bounded ? tfy__due_from_now(step->call.loop, step->timeout_ms) : INT64_MAX;
    if (tfy__step_is_sleep(step) && sleep_due(step) <= due_ms) {
        due_ms = sleep_due(step);
        bounded = false;
    }
    return begin_deadline(step, due_ms, bounded);
}

/* One fact after the other, until STAGE_OUTCOME; false: waits or halted. */
bool tfy__step_begin(Step *step)
{
    bool deadline = tfy__step_is_sleep(step) || step->timeout_ms != TFY_NEVER;
    if (deadline && !step->due_kind) return begin_timer(step);
    if (step->admission != ADMISSION_GRANTED && tfy__limit_bounds(step)) return tfy__limit_admit(step);
    if (tfy__step_leaves_start(step) && !step->started) return begin_start(step);
    if (!step->counted) step->call.task->passages++;
    step->counted = true;
    step->stage = STAGE_OUTCOME;
    tfy__step_ghost_begins(step);
    return true;
}

void tfy__step_begin_again(Step *step)
{
    step->stage = STAGE_BEGIN;
    if (step->round) step->round->ops->drop(step);
    tfy__limit_leave(step);
    tfy__undo_again(step->call.task);
    step->started = START_NONE;
    step->due_kind = DUE_NONE;
    step->again_ms = 0;
    step->call.tries = 0;
    step->doubt = DOUBT_NONE;
    step->counted = step->asking = step->noted = step->put_down = false;
    tfy__step_drop_failure(step);
    free(step->hold);
    step->hold = NULL;
    step->call.attempt++;
    step->call.record_type = result_record(step->call.site->tool);
    step->call.value_in_extra = false;
    step->call.tool = step->call.site->tool;
    step->call.result = step->call.site->result;
    tfy__buffer_reset(&step->call.extra);
}

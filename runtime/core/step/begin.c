/* step_begin.c: the beginning of an attempt: its deadline, and the record that says that it starts. */
#include <stdio.h>
#include <string.h>

#include "core/step/step.h"

/* How people may answer: "bool", "string", or the names of an enum's cases; no answer can carry values. */
static void answer_type(TfyBuffer *out, const TfyType *type)
{
    const char *before = "[";
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

static void put_question(TfyBuffer *out, const Pending *pending)
{
    const TfyCall *call = &pending->call;
    char id[TFY_KEY_SIZE + 520];
    snprintf(id, sizeof id, "%s/%lld", pending->cold->log.path, (long long)call->step);
    tfy__put_string(out, TFY_P_QUESTION, call->args[0].o);
    if (call->args[1].o) tfy__put_string(out, TFY_P_DETAILS, call->args[1].o);
    tfy__put_text(out, TFY_P_ID, id);
    tfy__put_hex(out, TFY_P_DIGEST, call->digest);
    tfy__put(out, TFY_P_TYPE);
    answer_type(out, call->result);
}

static void start_payload(TfyBuffer *out, const Pending *pending)
{
    const TfyCall *call = &pending->call;
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_TOOL, call->tool->name);
    if (is_question(call->tool)) {
        put_question(out, pending);
    } else if (call->tool->family == TFY_F_SIGNAL) {
        tfy__put_string(out, TFY_P_NAME, call->args[0].o);
    } else {
        tfy__put(out, TFY_P_ARGS);
        tfy__encode_args(out, call->tool->params, call->tool->param_count, call->args);
        tfy__put_int(out, TFY_P_ATTEMPT, call->attempt);
        tfy__put_text(out, TFY_P_KEY, call->key);
    }
    tfy__put_end(out);
}

/* Once steps, so that a crash leaves a trace; and what waits for somebody outside, so that they can see it. */
static bool leaves_start(const Pending *pending)
{
    const TfyTool *tool = pending->call.tool;
    return is_question(tool) || is_io_wait(tool) || tool->family == TFY_F_SIGNAL || tool->repeat == TFY_ONCE;
}

bool tfy__step_is_sleep(const Pending *pending)
{
    return pending->call.tool->family == TFY_F_SLEEP || pending->call.tool->family == TFY_F_SLEEP_UNTIL;
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

/* The deadline, absolute, so that it survives a restart. False: waits or halted. */
static bool begin_deadline(Pending *pending, int64_t due_ms, bool bounded)
{
    const TfyLogRecord *record;
    if (!tfy__history_expect(pending->cold, TFY_R_TASK_YIELD, pending->call.site->point->number, &record)) return false;
    if (record) {
        const bool by_clock = pending->call.site->tool->family == TFY_F_SLEEP_UNTIL;
        pending->due_ms =
            by_clock ? tfy__record_int(record, TFY_P_DUE) : tfy__step_recorded_due(pending->call.loop, record);
        pending->bounded = !tfy__record_is(record, TFY_P_WHY, "sleep");
        tfy__history_take(pending->cold);
    } else {
        if (!tfy__history_live(pending->cold)) return tfy__history_hold(pending), false;
        TfyBuffer out = {0};
        tfy__put_due(&out, due_ms, bounded ? "timeout" : "sleep");
        int64_t lsn = tfy__step_append(pending, TFY_R_TASK_YIELD, &out);
        tfy__buffer_free(&out);
        if (lsn < 0) return false;
        pending->due_ms = due_ms;
        pending->bounded = bounded;
    }
    pending->timeout_begun = true;
    return true;
}

static bool begin_start(Pending *pending)
{
    const TfyLogRecord *record;
    TfyRecordType type = is_io_wait(pending->call.tool) ? TFY_R_TASK_WAIT_IO : TFY_R_STEP_START;
    if (!tfy__history_expect(pending->cold, type, pending->call.site->point->number, &record)) return false;
    if (!record && !tfy__history_live(pending->cold)) return tfy__history_hold(pending), false;
    TfyBuffer out = {0};
    start_payload(&out, pending);
    bool ok = !out.failed;
    if (record && ok && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(pending->cold, record, "it starts %s", out.data);
        ok = false;
    } else if (record && ok) {
        pending->from_history = true;
        if (pending->admitted) tfy__limit_note(pending, record);
        tfy__history_take(pending->cold);
    } else {
        ok = tfy__step_append(pending, type, &out) > 0;
    }
    tfy__buffer_free(&out);
    pending->started = ok;
    if (ok) tfy__undo_started(pending->call.task);
    return ok;
}

static int64_t sleep_due(const Pending *pending)
{
    const TfyCall *call = &pending->call;
    if (call->tool->family == TFY_F_SLEEP_UNTIL) return call->args[0].i > 1 ? call->args[0].i : 1; /* 0 means none */
    return tfy__due_from_now(call->loop, call->args[0].i);
}

/* A sleep ends at its own time or, when that comes first, at its timeout. */
static bool begin_timer(Pending *pending)
{
    bool bounded = pending->timeout_ms != TFY_NEVER;
    int64_t due_ms = bounded ? tfy__due_from_now(pending->call.loop, pending->timeout_ms) : INT64_MAX;
    if (tfy__step_is_sleep(pending) && sleep_due(pending) <= due_ms) {
        due_ms = sleep_due(pending);
        bounded = false;
    }
    return begin_deadline(pending, due_ms, bounded);
}

/* One fact after the other, until STAGE_OUTCOME; false: waits or halted. */
bool tfy__step_begin(Pending *pending)
{
    bool deadline = tfy__step_is_sleep(pending) || pending->timeout_ms != TFY_NEVER;
    if (deadline && !pending->timeout_begun) return begin_timer(pending);
    if (!pending->admitted && tfy__limit_bounds(pending)) return tfy__limit_admit(pending);
    if (leaves_start(pending) && !pending->started) return begin_start(pending);
    if (!pending->counted) pending->call.task->passages++;
    pending->counted = true;
    pending->stage = STAGE_OUTCOME;
    tfy__step_ghost_begins(pending);
    return true;
}

void tfy__step_begin_again(Pending *pending)
{
    pending->stage = STAGE_BEGIN;
    tfy__limit_leave(pending);
    tfy__undo_again(pending->call.task);
    pending->started = pending->timeout_begun = pending->from_history = pending->doubt_recorded = pending->probing =
        false;
    pending->counted = pending->asking = pending->noted = false;
    tfy__step_drop_failure(pending);
    pending->call.attempt++;
    pending->call.record_type = result_record(pending->call.site->tool);
    pending->call.value_in_extra = false;
    pending->call.tool = pending->call.site->tool;
    pending->call.result = pending->call.site->result;
    tfy__buffer_reset(&pending->call.extra);
}

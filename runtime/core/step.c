/* step.c: one step of a task: an effect from its request to its answer.
 *
 * A step is a small state machine over stages. Each fact about it (its deadline, its start, its outcome, a further attempt) is either taken
 * from the run's history or made now and appended to the log; the code is the same for both, so that resume and replay follow exactly the
 * path that was recorded. Facts that follow from the program alone are looked for with history_expect; outcomes come from outside and are
 * taken in the recorded order of all tasks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core.h"

#define BACKOFF_MAX_MS 60000

/* ---- making and freeing ---- */

Pending *tfy__step_new(TfyTask *task, const TfySite *site)
{
    TfyLoop *loop = task->loop;
    Cold *cold = cold_of(task);
    Pending *pending = loop->free_pending;
    if (pending)
        loop->free_pending = pending->join_next;
    else if (!(pending = malloc(sizeof *pending)))
        return NULL;
    *pending = (Pending){.cold = cold, .timeout_ms = TFY_NEVER};
    pending->call = (TfyCall){.loop = loop,
                              .task = task,
                              .site = site,
                              .tool = site->tool,
                              .result = site->result,
                              .step = ++cold->log.step,
                              .attempt = 1,
                              .record_type = TFY_R_TOOL_RESULT};
    cold->pending = pending;
    return pending;
}

void tfy__step_drop_key(Pending *pending)
{
    TfyCall *call = &pending->call;
    if (!pending->probing || !call->args || call->tool == call->site->tool) return;
    uint32_t at = call->site->tool->param_count;
    tfy_drop(call->task, call->args[at].o);
    call->args[at].o = NULL;
}

static void drop_args(Pending *pending)
{
    tfy__step_drop_key(pending);
    TfyCall *call = &pending->call;
    if (!call->args) return;
    const TfyTool *tool = call->site->tool;
    for (uint32_t i = 0; i < tool->param_count; i++) tfy__drop_value(call->task, tool->params[i].type, call->args[i]);
    free(call->args);
    call->args = NULL;
}

static void recycle(TfyLoop *loop, Pending *pending)
{
    pending->join_next = loop->free_pending;
    loop->free_pending = pending;
}

/* Forgets the step; its memory goes once no queue holds it. */
void tfy__step_free(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    tfy__timers_del(&loop->timers, pending->timer);
    pending->timer = 0;
    drop_args(pending);
    tfy__buffer_free(&pending->call.extra);
    if (pending->cold->pending == pending) pending->cold->pending = NULL;
    pending->dead = true;
    if (!pending->in_sync && !pending->in_work && !pending->held) recycle(loop, pending);
}

/* A queue lets go of a step. True: it is still wanted. */
static bool dequeued(Pending *pending)
{
    if (!pending->dead) return true;
    if (!pending->in_sync && !pending->in_work && !pending->held) recycle(pending->call.loop, pending);
    return false;
}

void tfy__step_queue(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    if (pending->in_work) return;
    pending->in_work = true;
    pending->work_next = NULL;
    if (loop->work_last)
        loop->work_last->work_next = pending;
    else
        loop->work_first = pending;
    loop->work_last = pending;
}

bool tfy__step_work(TfyLoop *loop)
{
    Pending *pending = loop->work_first;
    if (!pending) return false;
    loop->work_first = pending->work_next;
    if (!loop->work_first) loop->work_last = NULL;
    pending->in_work = false;
    if (dequeued(pending)) tfy__step_advance(pending);
    return true;
}

static void leave_joiners(Pending *pending)
{
    Cold *target = pending->target;
    if (!target || target->end_state) return;
    Pending *previous = NULL;
    for (Pending **link = &target->joiners; *link; link = &(*link)->join_next) {
        if (*link == pending) {
            *link = pending->join_next;
            if (target->joiners_last == pending) target->joiners_last = previous;
            return;
        }
        previous = *link;
    }
}

static void stop_call(Pending *pending)
{
    if (!pending->in_call) return;
    TfyCall *call = &pending->call;
    pending->in_call = false;
    call->loop->in_flight--;
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    if (performer && performer->abort) performer->abort(call);
}

void tfy__step_cancel(Cold *cold)
{
    Pending *pending = cold->pending;
    stop_call(pending);
    if (pending->stage == STAGE_RUN) leave_joiners(pending);
    tfy__step_free(pending);
}

/* ---- answers ---- */

static uint8_t wait_state(const Pending *pending)
{
    if (pending->backoff_only) return TFY_TASK_SLEEPING;
    switch (pending->call.tool->family) {
    case TFY_F_SLEEP:
    case TFY_F_SLEEP_UNTIL: return TFY_TASK_SLEEPING;
    case TFY_F_JOIN: return TFY_TASK_JOINING;
    case TFY_F_APPROVE: return TFY_TASK_WAITING_APPROVAL;
    default: return TFY_TASK_WAITING_EFFECT;
    }
}

void tfy__step_answer(Pending *pending, TfyValue value)
{
    TfyTask *task = pending->call.task;
    const TfyType *type = pending->call.result;
    task->result = type->kind == TFY_NOTHING ? tfy_of_int(0) : tfy__keep_value(type, value);
    cold_of(task)->answer_type = type;
    task->state |= T_ANSWERED;
    tfy__step_free(pending);
    tfy_cut(task, 0);
    tfy__sched_wake(task);
}

void tfy__step_raise(Pending *pending)
{
    TfyTask *task = pending->call.task;
    tfy__step_free(pending);
    tfy_cut(task, 0);
    tfy__sched_wake(task);
}

void tfy__error_json(TfyBuffer *out, const TfyObj *error)
{
    tfy__encode(out, &tfy_type_any_error, tfy_of_obj((TfyObj *)error));
}

/* ---- records ---- */

int64_t tfy__record_append(Cold *cold, TfyRecordType type, int64_t step, uint32_t point, const TfyBuffer *payload)
{
    TfyLoop *loop = cold->run->loop;
    if (loop->failure) return loop->failure;
    if (payload->failed) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to write a record");
        return TFY_E_NOMEM;
    }
    int64_t lsn = tfy__log_append(loop->log, &cold->log, type, step, point, payload->data, payload->len);
    if (lsn < 0)
        tfy__loop_fail(loop, (int)lsn, "the log could not be written; the last durable record is %lld",
                       (long long)tfy__log_durable(loop->log));
    if (cold->task) cold->task->passages = 0;
    return lsn;
}

int64_t tfy__step_append(Pending *pending, TfyRecordType type, const TfyBuffer *payload)
{
    int64_t lsn =
        tfy__record_append(pending->cold, type, pending->call.step, pending->call.site->point->number, payload);
    if (lsn < 0) tfy__sched_halt(pending->call.task);
    return lsn;
}

static void digest_text(uint64_t digest, char out[17])
{
    snprintf(out, 17, "%016llx", (unsigned long long)digest);
}

static bool compute_digest(TfyCall *call)
{
    TfyBuffer out = {0};
    tfy__buffer_text(&out, call->tool->name);
    tfy__encode_args(&out, call->tool->params, call->tool->param_count, call->args);
    bool ok = !out.failed;
    if (ok) call->digest = XXH3_64bits(out.data, out.len);
    tfy__buffer_free(&out);
    return ok;
}

static void begin_payload(TfyBuffer *out, const Pending *pending)
{
    char digest[17];
    digest_text(pending->call.digest, digest);
    tfy__buffer_printf(out, "{\"tool\":\"%s\",\"digest\":\"%s\"", pending->call.site->tool->name, digest);
}

static void start_payload(TfyBuffer *out, const Pending *pending)
{
    const TfyCall *call = &pending->call;
    tfy__buffer_printf(out, "{\"tool\":\"%s\",", call->tool->name);
    if (call->tool->family == TFY_F_APPROVE) {
        char digest[17];
        digest_text(call->digest, digest);
        const TfyString *question = (const TfyString *)call->args[0].o, *details = (const TfyString *)call->args[1].o;
        tfy__buffer_text(out, "\"question\":");
        tfy__buffer_json_string(out, question->bytes, question->byte_len);
        if (details) tfy__buffer_text(out, ",\"details\":");
        if (details) tfy__buffer_json_string(out, details->bytes, details->byte_len);
        tfy__buffer_printf(out, ",\"id\":\"%s/%lld\",\"digest\":\"%s\",\"type\":", pending->cold->log.path,
                           (long long)call->step, digest);
        if (call->result->kind == TFY_ENUM) {
            const char *before = "[";
            for (uint32_t i = 0; i < call->result->case_count; i++) {
                if (!call->result->cases[i].bare) continue; /* no answer can carry values */
                tfy__buffer_printf(out, "%s\"%s\"", before, call->result->cases[i].name);
                before = ",";
            }
            tfy__buffer_text(out, "]}");
        } else {
            tfy__buffer_text(out, "\"bool\"}");
        }
        return;
    }
    tfy__buffer_text(out, "\"args\":");
    tfy__encode_args(out, call->tool->params, call->tool->param_count, call->args);
    tfy__buffer_printf(out, ",\"attempt\":%u,\"key\":", call->attempt);
    tfy__buffer_json_string(out, call->key, strlen(call->key));
    tfy__buffer_char(out, '}');
}

/* ---- the beginning of an attempt ---- */

static bool leaves_start(const Pending *pending)
{
    const TfyTool *tool = pending->call.tool;
    return tool->family == TFY_F_APPROVE || (tool->repeat == TFY_ONCE && tool->family != TFY_F_JOIN);
}

static bool is_sleep(const Pending *pending)
{
    return pending->call.tool->family == TFY_F_SLEEP || pending->call.tool->family == TFY_F_SLEEP_UNTIL;
}

static int64_t json_int(const TfyLogRecord *record, const char *name)
{
    json_t *json = tfy__record_json(record);
    int64_t value = json_integer_value(json_object_get(json, name));
    json_decref(json);
    return value;
}

static bool json_is(const TfyLogRecord *record, const char *name, const char *wanted)
{
    json_t *json = tfy__record_json(record);
    const char *text = json_string_value(json_object_get(json, name));
    bool same = text && strcmp(text, wanted) == 0;
    json_decref(json);
    return same;
}

int64_t tfy__due_from_now(const TfyLoop *loop, int64_t delay_ms)
{
    if (delay_ms < 0) delay_ms = 0;
    return delay_ms > INT64_MAX - loop->now_ms ? INT64_MAX : loop->now_ms + delay_ms;
}

/* The deadline, absolute, so that it survives a restart. False: waits or halted. */
static bool begin_deadline(Pending *pending, int64_t due_ms, bool bounded)
{
    const TfyLogRecord *record;
    if (!tfy__history_expect(pending->cold, TFY_R_TASK_YIELD, pending->call.site->point->number, &record)) return false;
    if (record) {
        pending->due_ms = json_int(record, "due");
        pending->bounded = !json_is(record, "why", "sleep");
        tfy__history_take(pending->cold);
    } else {
        if (!tfy__history_live(pending->cold)) return tfy__history_hold(pending), false;
        TfyBuffer out = {0};
        tfy__buffer_printf(&out, "{\"due\":%lld,\"why\":\"%s\"}", (long long)due_ms, bounded ? "timeout" : "sleep");
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
    if (!tfy__history_expect(pending->cold, TFY_R_STEP_START, pending->call.site->point->number, &record)) return false;
    if (!record && !tfy__history_live(pending->cold)) return tfy__history_hold(pending), false;
    TfyBuffer out = {0};
    start_payload(&out, pending);
    bool ok = !out.failed;
    if (record && ok && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(pending->cold, record, "it starts %s", out.data);
        ok = false;
    } else if (record && ok) {
        pending->from_history = true;
        pending->asked_lsn = record->lsn;
        tfy__history_take(pending->cold);
    } else {
        pending->asked_lsn = tfy__step_append(pending, TFY_R_STEP_START, &out);
        ok = pending->asked_lsn > 0;
    }
    tfy__buffer_free(&out);
    pending->started = ok;
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
    if (is_sleep(pending) && sleep_due(pending) <= due_ms) {
        due_ms = sleep_due(pending);
        bounded = false;
    }
    return begin_deadline(pending, due_ms, bounded);
}

/* One fact after the other, until STAGE_OUTCOME; false: waits or halted. */
static bool begin_attempt(Pending *pending)
{
    bool deadline = is_sleep(pending) || pending->timeout_ms != TFY_NEVER;
    if (deadline && !pending->timeout_begun) return begin_timer(pending);
    if (leaves_start(pending) && !pending->started) return begin_start(pending);
    if (!pending->counted) pending->call.task->passages++;
    pending->counted = true;
    pending->stage = STAGE_OUTCOME;
    return true;
}

void tfy__step_begin_again(Pending *pending)
{
    pending->stage = STAGE_BEGIN;
    pending->started = pending->timeout_begun = pending->from_history = pending->doubt_recorded = pending->probing =
        false;
    pending->counted = pending->asking = false;
    pending->call.attempt++;
    pending->call.record_type = TFY_R_TOOL_RESULT;
    pending->call.value_in_extra = false;
    pending->call.tool = pending->call.site->tool;
    pending->call.result = pending->call.site->result;
    tfy__buffer_reset(&pending->call.extra);
}

/* ---- outcomes from the history ---- */

static bool same_digest(const Pending *pending, json_t *json)
{
    char digest[17];
    digest_text(pending->call.digest, digest);
    const char *recorded = json_string_value(json_object_get(json, "digest")),
               *tool = json_string_value(json_object_get(json, "tool"));
    return recorded && tool && strcmp(recorded, digest) == 0 && strcmp(tool, pending->call.site->tool->name) == 0;
}

static void say_request(const Pending *pending, TfyBuffer *out)
{
    const TfyTool *tool = pending->call.site->tool;
    tfy__buffer_printf(out, "%s(", tool->name);
    tfy__encode_args(out, tool->params, tool->param_count, pending->call.args);
    tfy__buffer_char(out, ')');
}

static void diverge_request(Pending *pending, const TfyLogRecord *record)
{
    TfyBuffer out = {0};
    say_request(pending, &out);
    tfy__history_diverge(pending->cold, record, "it asks for %s", out.failed ? "an effect" : out.data);
    tfy__buffer_free(&out);
}

static void raise_recorded(Pending *pending, json_t *error)
{
    TfyTask *task = pending->call.task;
    const char *name = json_string_value(json_object_get(error, "error"));
    const TfyType *type = name ? tfy__builtin_error(name) : NULL;
    char text[TFY_ERROR_TEXT];
    TfyValue value;
    if (type && tfy__decode_json(task, type, error, &value, text))
        tfy_fail_with(task, value.o);
    else
        tfy_panic(task, pending->call.site->point->line, "a recorded error cannot be read");
    tfy_cut(task, 0);
}

/* A result record: the value or the error of the attempt. */
static void take_result(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    json_t *json = tfy__record_json(record);
    if (call->site->tool->family == TFY_F_JOIN || !same_digest(pending, json)) {
        diverge_request(pending, record);
        json_decref(json);
        return;
    }
    tfy__history_take(pending->cold);
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    json_t *error = json_object_get(json, "error"), *plain = json_object_get(json, "value");
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    bool ok = false;
    if (error)
        raise_recorded(pending, error);
    else if (!plain && performer && performer->replay)
        ok = performer->replay(call->task, call->site, record->payload, record->payload_len, &value);
    else if (call->result->kind == TFY_NOTHING)
        ok = true;
    else if (!(ok = tfy__decode_json(call->task, call->result, plain, &value, text)))
        tfy__history_diverge(pending->cold, record, "its result is to be %s: %s", call->result->name, text);
    json_decref(json);
    if (call->task->state & T_HALTED) return;
    if (ok) {
        tfy__step_answer(pending, value);
    } else {
        pending->stage = STAGE_SETTLE;
    }
}

static void raise_timeout(Pending *pending)
{
    TfyTask *task = pending->call.task;
    const char *name = pending->call.site->tool->name;
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%s had no answer in time", name);
    TfyObj *text = out.failed ? NULL : tfy_string_of(task, out.data, out.len);
    tfy__buffer_free(&out);
    bool doubt = pending->started && pending->call.site->tool->family != TFY_F_APPROVE;
    if (text)
        tfy_fail(task, &tfy_type_timeout, pending->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_bool(doubt)});
    else
        tfy__out_of_memory(task);
    tfy_cut(task, 0);
    pending->stage = STAGE_SETTLE;
}

static void take_timer(Pending *pending, const TfyLogRecord *record)
{
    if (!pending->bounded && !is_sleep(pending)) {
        diverge_request(pending, record);
        return;
    }
    tfy__history_take(pending->cold);
    if (pending->bounded)
        raise_timeout(pending);
    else
        tfy__step_answer(pending, tfy_of_int(0));
}

static void raise_task_failed(Pending *pending, const char *path, const char *kind, const char *message)
{
    TfyTask *task = pending->call.task;
    TfyObj *text = tfy_string_of(task, message, strlen(message));
    TfyObj *who = tfy_string_of(task, path, strlen(path)), *what = tfy_string_of(task, kind, strlen(kind));
    if (text && who && what)
        tfy_fail(task, &tfy_type_task_failed, pending->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_obj(who), tfy_of_obj(what)});
    tfy_cut(task, 0);
}

/* NULL: there is no such task in this run. */
static Cold *join_target(const Pending *pending)
{
    Cold *target = tfy__task_by_tid(pending->call.loop, pending->call.args[0].i);
    return target && target->run == pending->cold->run ? target : NULL;
}

static void take_join(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    if (call->tool->family != TFY_F_JOIN) {
        diverge_request(pending, record);
        return;
    }
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
        raise_recorded(pending, error);
    else if (!ok)
        tfy__history_diverge(pending->cold, record, "the joined result is to be %s: %s", call->result->name, text);
    json_decref(json);
    if (call->task->state & T_HALTED) return;
    if (ok)
        tfy__step_answer(pending, value);
    else
        pending->stage = STAGE_SETTLE;
}

static void take_approval(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    json_t *json = tfy__record_json(record);
    const char *answer = json_string_value(json_object_get(json, "answer"));
    TfyValue value;
    bool ok = call->tool->family == TFY_F_APPROVE && answer &&
              tfy__person_answer_value(call->task, call->result, answer, &value);
    if (ok)
        tfy__history_take(pending->cold);
    else
        diverge_request(pending, record);
    json_decref(json);
    if (ok) tfy__step_answer(pending, value);
}

/* Whoever answers a run that nobody executes cannot know the type of the result. One that does not fit decides nothing: the step stays in
 * doubt, and says so anew. */
static void refuse_resolution(Pending *pending, const char *why)
{
    TfyCall *call = &pending->call;
    pending->stage = STAGE_DOUBT;
    pending->doubt_recorded = false;
    if (!call->loop->replay_only)
        tfy__report_text(call->loop, "the result given for step %lld (%s) is to be %s: %s\n", (long long)call->step,
                         call->tool->name, call->result->name, why);
}

static void take_resolved(Pending *pending, const TfyLogRecord *record)
{
    TfyCall *call = &pending->call;
    json_t *json = tfy__record_json(record);
    const char *how = json_string_value(json_object_get(json, "how"));
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    call->tool = call->site->tool;
    call->result = call->site->result;
    tfy__history_take(pending->cold);
    if (how && strcmp(how, "retry") == 0) {
        tfy__step_begin_again(pending);
    } else if (how && strcmp(how, "done") == 0) {
        json_t *plain = json_object_get(json, "value");
        bool ok = call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text);
        if (ok)
            tfy__step_answer(pending, value);
        else
            refuse_resolution(pending, text);
    } else {
        tfy__person_raise_failed(pending);
        pending->stage = STAGE_SETTLE;
    }
    json_decref(json);
}

/* Takes the next thing the history says about this step. False: it says nothing (yet), or the task was halted. */
static bool take_recorded(Pending *pending)
{
    Cold *cold = pending->cold;
    const TfyLogRecord *record = tfy__history_peek(cold);
    if (!record) return false;
    if (!tfy__history_at_cursor(cold)) return false;
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT: take_result(pending, record); break;
    case TFY_R_TIMER_FIRED: take_timer(pending, record); break;
    case TFY_R_JOIN_RESULT: take_join(pending, record); break;
    case TFY_R_APPROVAL: take_approval(pending, record); break;
    case TFY_R_RESOLVED: take_resolved(pending, record); break;
    case TFY_R_IN_DOUBT:
        tfy__history_take(cold);
        pending->stage = STAGE_DOUBT;
        pending->doubt_recorded = true;
        break;
    default: diverge_request(pending, record); break;
    }
    return cold->pending == pending;
}

/* ---- going live ---- */

void tfy__step_wait_sync(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    pending->stage = STAGE_SYNC;
    pending->sync_lsn = tfy__log_last(loop->log);
    pending->sync_next = NULL;
    pending->in_sync = true;
    if (loop->sync_last)
        loop->sync_last->sync_next = pending;
    else
        loop->sync_first = pending;
    loop->sync_last = pending;
}

static void timer_fired(void *arg)
{
    Pending *pending = arg;
    pending->timer = 0;
    if (pending->stage == STAGE_BACKOFF) {
        pending->due_ms = 0; /* the wall clock may say otherwise: in a process, time is monotonic */
        tfy__step_advance(pending);
        return;
    }
    stop_call(pending);
    pending->asking = false;
    if (pending->stage == STAGE_RUN) leave_joiners(pending);
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{}");
    int64_t lsn = tfy__step_append(pending, TFY_R_TIMER_FIRED, &out);
    tfy__buffer_free(&out);
    if (lsn < 0) return;
    if (!pending->bounded) {
        tfy__step_answer(pending, tfy_of_int(0));
        return;
    }
    raise_timeout(pending);
    tfy__step_advance(pending);
}

/* Arms the step's timer for its wall-clock due time. */
void tfy__step_arm(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    if (pending->timer || !pending->due_ms) return;
    int64_t delay_ms = pending->due_ms > loop->now_ms ? pending->due_ms - loop->now_ms : 0;
    int64_t due_ns =
        delay_ms > (INT64_MAX - loop->now_ns) / 1000000 ? INT64_MAX - 1 : loop->now_ns + delay_ms * 1000000;
    pending->timer = tfy__timers_add(&loop->timers, due_ns, timer_fired, pending);
    if (!pending->timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

static void join_live(Pending *pending)
{
    Cold *target = join_target(pending);
    pending->target = target;
    pending->stage = STAGE_RUN;
    tfy__step_arm(pending);
    if (!target || target->end_state || target == pending->cold) {
        tfy__step_join_ended(pending);
        return;
    }
    pending->join_next = NULL;
    if (target->joiners_last)
        target->joiners_last->join_next = pending;
    else
        target->joiners = pending;
    target->joiners_last = pending;
}

static const char *failure_kind(const Cold *target)
{
    if (target->end_state == TFY_TASK_CANCELLED) return "killed";
    return target->failure && target->failure->type == &tfy_type_panic ? "panicked" : "failed";
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
            raise_task_failed(pending, path, "unknown", "there is no such task");
        else if (target == pending->cold)
            raise_task_failed(pending, path, "self", "a task cannot join itself");
        else
            raise_task_failed(pending, path, failure_kind(target),
                              target->failure_text ? target->failure_text : "it was killed");
        tfy__buffer_text(&out, "\"error\":");
        tfy__error_json(&out, call->task->error);
    }
    tfy__buffer_char(&out, '}');
    if (target) target->joined = true;
    int64_t lsn = tfy__step_append(pending, TFY_R_JOIN_RESULT, &out);
    tfy__buffer_free(&out);
    if (lsn < 0) return;
    if (ok) {
        tfy__step_answer(pending, target->value);
    } else {
        tfy__timers_del(&call->loop->timers, pending->timer);
        pending->timer = 0;
        pending->stage = STAGE_SETTLE;
        tfy__step_queue(pending);
    }
}

static const char *activity_stage(const TfyTool *tool)
{
    switch (tool->family) {
    case TFY_F_LLM:
    case TFY_F_PROMPT: return "WaitingForLLM";
    case TFY_F_PREVIEW: return "PreviewingPatch";
    case TFY_F_COMMIT: return "CommittingPatch";
    default: return "ToolExecutionStart";
    }
}

/* A test's answer for this tool, if it has one. */
static bool injected(Pending *pending)
{
    TfyCall *call = &pending->call;
    for (Injection *injection = call->loop->injections; injection; injection = injection->next) {
        if (strcmp(injection->tool, call->tool->name) != 0) continue;
        struct InjectedAnswer *answer = injection->first;
        if (!answer) {
            tfy__call_tool_error(call, -1, "the test has no further answer for %s", call->tool->name);
            return true;
        }
        injection->first = answer->next;
        char text[TFY_ERROR_TEXT];
        TfyValue value = {.i = 0};
        if (answer->error)
            tfy__call_tool_error(call, 1, "%s", answer->error);
        else if (call->result->kind == TFY_NOTHING ||
                 tfy__decode_text(call->task, call->result, answer->json, strlen(answer->json), &value, text))
            tfy__call_done(call, value);
        else
            tfy__call_bad_value(call, "$", text);
        free(answer->json);
        free(answer->error);
        free(answer);
        return true;
    }
    return false;
}

static void start_call(Pending *pending)
{
    TfyCall *call = &pending->call;
    TfyLoop *loop = call->loop;
    pending->stage = STAGE_RUN;
    pending->in_call = true;
    loop->in_flight++;
    if (!pending->probing) tfy__step_arm(pending);
    tfy__activity(call->task, activity_stage(call->tool), "%s", call->tool->name);
    if (injected(pending)) return;
    const TfyPerformer *performer = loop->performers[call->tool->family];
    if (performer)
        performer->start(call);
    else
        tfy__call_tool_error(call, -1, "%s is not available here", call->tool->name);
}

void tfy__step_synced(TfyLoop *loop)
{
    int64_t durable = tfy__log_durable(loop->log);
    while (loop->sync_first && loop->sync_first->sync_lsn <= durable) {
        Pending *pending = loop->sync_first;
        loop->sync_first = pending->sync_next;
        if (!loop->sync_first) loop->sync_last = NULL;
        pending->in_sync = false;
        if (!dequeued(pending)) continue;
        if (pending->call.tool->family == TFY_F_APPROVE)
            tfy__person_ask(pending);
        else
            start_call(pending);
    }
}

/* STAGE_OUTCOME with nothing recorded: the work is ours. */
static void go_live(Pending *pending)
{
    const TfyTool *tool = pending->call.tool;
    if (is_sleep(pending)) {
        pending->stage = STAGE_RUN;
        tfy__step_arm(pending);
    } else if (tool->family == TFY_F_JOIN) {
        join_live(pending);
    } else if (pending->from_history && tool->family != TFY_F_APPROVE) {
        pending->stage = STAGE_DOUBT;
        tfy__step_advance(pending);
    } else {
        tfy__step_wait_sync(pending);
        if (tfy__log_durable(pending->call.loop->log) >= pending->sync_lsn) tfy__step_synced(pending->call.loop);
    }
}

/* A once step began in an earlier process and has no result. Its probe may know; else a person has to say. */
static void doubt_live(Pending *pending)
{
    const TfyTool *probe = pending->call.site->tool->probe;
    if (probe && !pending->doubt_recorded) {
        pending->probing = true;
        if (tfy__probe_start(pending)) start_call(pending);
        return;
    }
    tfy__person_in_doubt(pending);
}

/* ---- settling a failed attempt ---- */

static bool record_retry(Pending *pending)
{
    Cold *cold = pending->cold;
    const TfyLogRecord *record;
    if (!tfy__history_expect(cold, TFY_R_RETRY, pending->call.site->point->number, &record)) return false;
    if (record) {
        pending->due_ms = json_int(record, "due");
        tfy__history_take(cold);
        return true;
    }
    if (!tfy__history_live(cold)) return tfy__history_hold(pending), false;
    int64_t delay_ms = pending->backoff_ms;
    for (uint32_t i = 1; i < pending->call.attempt && delay_ms < BACKOFF_MAX_MS; i++) delay_ms *= 2;
    if (delay_ms > BACKOFF_MAX_MS) delay_ms = BACKOFF_MAX_MS;
    pending->due_ms = tfy__due_from_now(pending->call.loop, delay_ms);
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "{\"attempt\":%u,\"error\":", pending->call.attempt);
    tfy__error_json(&out, pending->call.task->error);
    tfy__buffer_printf(&out, ",\"due\":%lld}", (long long)pending->due_ms);
    int64_t lsn = tfy__step_append(pending, TFY_R_RETRY, &out);
    tfy__buffer_free(&out);
    return lsn > 0;
}

/* A prompt's answer that does not fit its type is asked for again: a step of its own each time. */
static bool ask_again(Pending *pending)
{
    TfyTask *task = pending->call.task;
    if (pending->asks <= 0 || task->error->type != &tfy_type_bad_value) return false;
    pending->asks--;
    tfy_drop(task, tfy_take_error(task));
    pending->call.step = ++pending->cold->log.step;
    tfy__step_begin_again(pending);
    return true;
}

/* False: waits, was answered, or halted. */
static bool settle(Pending *pending)
{
    TfyTask *task = pending->call.task;
    if (!pending->backoff_only && ask_again(pending)) return true;
    if (pending->retry <= 0 || (!pending->backoff_only && !tfy_retriable(task))) {
        tfy__step_raise(pending);
        return false;
    }
    if (!record_retry(pending)) return false;
    pending->retry--;
    tfy_drop(task, tfy_take_error(task));
    pending->stage = STAGE_BACKOFF;
    return true;
}

/* False: waits or was answered. */
static bool backoff(Pending *pending)
{
    Cold *cold = pending->cold;
    const TfyLogRecord *record = tfy__history_peek(cold);
    if (!record && !tfy__history_live(cold)) return tfy__history_hold(pending), false;
    if (!record && pending->due_ms > pending->call.loop->now_ms) {
        tfy__step_arm(pending);
        return false;
    }
    tfy__timers_del(&pending->call.loop->timers, pending->timer);
    pending->timer = 0;
    pending->due_ms = 0;
    if (pending->backoff_only) {
        tfy__step_answer(pending, tfy_of_int(0));
        return false;
    }
    tfy__step_begin_again(pending);
    return true;
}

void tfy__step_advance(Pending *pending)
{
    Cold *cold = pending->cold;
    TfyTask *task = pending->call.task;
    while (cold->pending == pending && !(task->state & T_HALTED)) {
        /* What came from outside came between two of the facts below; it may end the step. A doubt that it did not end is said again, since
         * people answer the newest record of a task. */
        uint32_t next = cold->next_record;
        if (task->state & T_REPLAYING) tfy__history_async(task);
        if (cold->pending != pending) return;
        if (cold->next_record != next) pending->doubt_recorded = false;
        switch (pending->stage) {
        case STAGE_BEGIN:
            if (!begin_attempt(pending)) return;
            break;
        case STAGE_OUTCOME:
        case STAGE_DOUBT:
            if (take_recorded(pending)) break;
            if (cold->pending != pending || task->state & T_HALTED || tfy__history_peek(cold)) return;
            if (!tfy__history_live(cold)) {
                tfy__history_hold(pending);
                return;
            }
            if (pending->stage == STAGE_OUTCOME)
                go_live(pending);
            else
                doubt_live(pending);
            return;
        case STAGE_SETTLE:
            if (!settle(pending)) return;
            break;
        case STAGE_BACKOFF:
            if (!backoff(pending)) return;
            break;
        case STAGE_SYNC:
        case STAGE_RUN: return;
        }
    }
}

/* ---- what performers say ---- */

static Pending *pending_of(TfyCall *call)
{
    return (Pending *)((char *)call - offsetof(Pending, call));
}

static void leave_call(Pending *pending)
{
    pending->in_call = false;
    pending->call.loop->in_flight--;
    tfy__timers_del(&pending->call.loop->timers, pending->timer);
    pending->timer = 0;
}

static bool append_result(Pending *pending, const TfyValue *value)
{
    TfyCall *call = &pending->call;
    TfyBuffer out = {0};
    begin_payload(&out, pending);
    if (call->extra.len) tfy__buffer_add(&out, call->extra.data, call->extra.len);
    if (call->extra.failed) out.failed = true;
    if (value && !call->value_in_extra && call->result->kind != TFY_NOTHING) {
        tfy__buffer_text(&out, ",\"value\":");
        tfy__encode(&out, call->result, *value);
    } else if (!value && !call->value_in_extra) {
        tfy__buffer_text(&out, ",\"error\":");
        tfy__error_json(&out, call->task->error);
    }
    tfy__buffer_char(&out, '}');
    int64_t lsn = tfy__step_append(pending, call->record_type, &out);
    tfy__buffer_free(&out);
    return lsn > 0;
}

void tfy__call_done(TfyCall *call, TfyValue result)
{
    Pending *pending = pending_of(call);
    leave_call(pending);
    if (pending->probing) {
        tfy__probe_done(pending, result);
        return;
    }
    if (!append_result(pending, &result)) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s", call->tool->name);
    tfy__step_answer(pending, result);
}

static void call_failed(Pending *pending)
{
    TfyCall *call = &pending->call;
    leave_call(pending);
    if (pending->probing) {
        tfy_drop(call->task, tfy_take_error(call->task));
        tfy_cut(call->task, 0);
        tfy__step_drop_key(pending);
        pending->probing = false;
        call->tool = call->site->tool;
        call->result = call->site->result;
        tfy__person_in_doubt(pending);
        return;
    }
    if (!append_result(pending, NULL)) return;
    tfy__activity(call->task, "ToolExecutionComplete", "%s failed", call->tool->name);
    pending->stage = STAGE_SETTLE;
    tfy__step_queue(pending);
}

void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields)
{
    tfy_fail(call->task, error, call->site->point->line, fields);
    call_failed(pending_of(call));
}

void tfy__call_panicked(TfyCall *call)
{
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

/* ---- the request ---- */

/* One place more than there are parameters: a probe is given the key there, and performers may always look at the first. */
static bool keep_args(Pending *pending, const TfyValue *args)
{
    const TfyTool *tool = pending->call.tool;
    pending->call.args = calloc(tool->param_count + 1, sizeof *args);
    if (!pending->call.args) return false;
    for (uint32_t i = 0; i < tool->param_count; i++)
        pending->call.args[i] = tfy__keep_value(tool->params[i].type, args[i]);
    return true;
}

static void set_key(Pending *pending, TfyObj *key)
{
    Cold *cold = pending->cold;
    if (key)
        snprintf(pending->key, sizeof pending->key, "%s", ((TfyString *)key)->bytes);
    else
        snprintf(pending->key, sizeof pending->key, "%s/%s/%lld", cold->run->uuid, cold->log.path,
                 (long long)pending->call.step);
    pending->call.key = pending->key;
}

/* Goes as far as it can at once: the frame goes on, or the task waits. */
static TfyStatus run_step(TfyTask *task, Pending *pending)
{
    Cold *cold = cold_of(task);
    uint8_t waiting = wait_state(pending);
    tfy__step_advance(pending);
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (cold->pending != pending) return TFY_AGAIN;
    set_state(task, waiting);
    return TFY_WAIT;
}

TfyStatus tfy_perform(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy)
{
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (tfy__cancel_ready(task)) {
        task->passages++;
        return TFY_AGAIN; /* prepare delivers it before the frame goes on */
    }
    Pending *pending = tfy__step_new(task, site);
    if (!pending || !keep_args(pending, args) || !compute_digest(&pending->call)) {
        if (pending) tfy__step_free(pending);
        tfy__out_of_memory(task);
        return TFY_AGAIN;
    }
    set_key(pending, policy ? policy->key : NULL);
    if (policy) {
        pending->retry = policy->retry;
        pending->backoff_ms = policy->backoff_ms;
        pending->timeout_ms = policy->timeout_ms;
    }
    pending->asks = site->tool->asks;
    tfy_cut(task, 0);
    return run_step(task, pending);
}

TfyStatus tfy_backoff(TfyTask *task, const TfySite *site, int64_t attempt, int64_t backoff_ms)
{
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (tfy__cancel_ready(task)) {
        task->passages++;
        return TFY_AGAIN;
    }
    Pending *pending = tfy__step_new(task, site);
    if (!pending) {
        tfy_drop(task, tfy_take_error(task));
        tfy__out_of_memory(task);
        return TFY_AGAIN;
    }
    pending->backoff_only = true;
    pending->call.result = &tfy_type_nothing;
    pending->call.attempt = (uint32_t)attempt;
    pending->retry = 1;
    pending->backoff_ms = backoff_ms;
    pending->stage = STAGE_SETTLE;
    pending->counted = true;
    task->passages++;
    return run_step(task, pending);
}

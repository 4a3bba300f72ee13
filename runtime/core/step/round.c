/* round.c: see round.h. */
#include "core/step/round.h"

#include <stdlib.h>
#include <string.h>

static const TfyInquiry *inquiry_of(const Step *step)
{
    return step->call.loop->performers[step->call.site->tool->family]->inquiry;
}

static void starve(const Step *step)
{
    tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for a question");
}

/* NULL: no memory, and the loop has failed. */
static Round *round_of(Step *step)
{
    if (step->round) return step->round;
    step->round = tfy__sys_calloc(1, sizeof *step->round);
    if (!step->round) {
        starve(step);
        return NULL;
    }
    step->round->ops = &tfy__rounds;
    step->round->begun = step->started;
    step->call.round = &step->round->shown;
    return step->round;
}

/* ---- the question ---- */

/* The first request in the order of their names that has no answer; NULL: all have one. */
static const json_t *next_request(const Round *round, const char **name)
{
    const char *one;
    const json_t *request, *first = NULL;
    json_object_foreach(json_object_get(round->shown.asked, "requests"), one, request)
    {
        if (json_object_get(round->shown.answers, one) || (first && strcmp(one, *name) > 0)) continue;
        first = request;
        *name = one;
    }
    return first;
}

static TfyObj *text_of(const Step *step, const TfyBuffer *text)
{
    return text->failed ? NULL : tfy_keep(tfy_string_of(step->call.task, text->data ? text->data : "", text->len));
}

/* The next question takes the place of the call. False: there is none. */
static bool open_question(Step *step)
{
    Round *round = step->round;
    TfyCall *call = &step->call;
    TfyBuffer question = {0}, details = {0};
    const char *name;
    const json_t *request = next_request(round, &name);
    if (!request) return false;
    if (!inquiry_of(step)->question(call, name, request, &question, &details)) question.failed = true;
    round->question[0].o = text_of(step, &question);
    round->question[1].o = details.len ? text_of(step, &details) : NULL;
    if (!round->question[0].o || details.failed) starve(step);
    tfy__buffer_free(&question);
    tfy__buffer_free(&details);
    cut_temps(call->task);
    round->args = call->args;
    round->digest = call->digest;
    call->args = round->question;
    call->tool = &tfy_effect_ask;
    call->result = &tfy_type_string;
    if (!tfy__step_digest(step)) starve(step);
    step->started = START_NONE;
    step->stage = STAGE_BEGIN;
    return true;
}

static void close_question(Step *step)
{
    Round *round = step->round;
    TfyCall *call = &step->call;
    if (!round->args) return;
    for (int i = 0; i < 2; i++) {
        tfy_drop(call->task, round->question[i].o);
        round->question[i].o = NULL;
    }
    call->args = round->args;
    call->digest = round->digest;
    call->tool = call->site->tool;
    call->result = call->site->result;
    round->args = NULL;
    step->asking = false;
}

/* Continues with the next question, or behind the last one with the next exchange. */
static void go_on(Step *step)
{
    if (open_question(step)) return;
    step->started = step->round->shown.away ? step->round->begun : START_NONE;
    step->stage = STAGE_BEGIN;
}

static void answered(Step *step, const TfyObj *answer)
{
    char error[TFY_ERROR_TEXT];
    Round *round = step->round;
    const char *name;
    const json_t *request = next_request(round, &name);
    json_t *value = inquiry_of(step)->answer(request, ((const TfyString *)answer)->bytes, error);
    if (!value) value = inquiry_of(step)->answer(request, "no", error); /* a log may hold what was never checked */
    if (!value || json_object_set_new(round->shown.answers, name, value) != 0) starve(step);
    close_question(step);
    go_on(step);
}

static bool fits(const Step *step, const char *answer, char *error)
{
    const char *name;
    json_t *value = inquiry_of(step)->answer(next_request(step->round, &name), answer, error);
    json_decref(value);
    return value;
}

static bool is_form(const Step *step)
{
    const char *name;
    json_t *type = inquiry_of(step)->type(next_request(step->round, &name));
    const bool form = json_is_object(type);
    json_decref(type);
    return form;
}

static void put_type(const Step *step, TfyBuffer *out)
{
    const char *name;
    json_t *type = inquiry_of(step)->type(next_request(step->round, &name));
    if (type)
        tfy__encode_json(out, type);
    else
        out->failed = true;
    json_decref(type);
}

/* ---- asking, and being away ---- */

/* Takes over `asked`. */
static bool take_asked(Step *step, json_t *asked)
{
    Round *round = round_of(step);
    json_t *answers = json_object();
    if (!round || !asked || !answers) {
        json_decref(asked);
        json_decref(answers);
        starve(step);
        return false;
    }
    json_decref(round->shown.asked);
    json_decref(round->shown.answers);
    round->shown.asked = asked;
    round->shown.answers = answers;
    round->shown.count++;
    if (round->shown.count == 1 || !round->shown.away) round->begun = step->started;
    return true;
}

static bool take_away(Step *step, json_t *away)
{
    Round *round = round_of(step);
    if (!round || !away) {
        json_decref(away);
        starve(step);
        return false;
    }
    json_decref(round->shown.away);
    round->shown.away = away;
    round->shown.polls = 0;
    return true;
}

/* Records an exchange: the call, and the members of `said`. False: the log has failed. */
static bool record(Step *step, TfyRecordType type, const json_t *said)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_TOOL, step->call.site->tool->name);
    tfy__put_hex(&out, TFY_P_DIGEST, step->call.digest);
    tfy__put_text(&out, TFY_P_SERVER, json_string_value(json_object_get(said, "server")));
    if (type == TFY_R_MCP_TASK) {
        const json_t *ttl = json_object_get(said, "ttl_ms"), *poll = json_object_get(said, "poll_ms");
        tfy__put_text(&out, TFY_P_TASK, json_string_value(json_object_get(said, "task")));
        if (ttl) tfy__put_int(&out, TFY_P_TTL_MS, json_integer_value(ttl));
        if (poll) tfy__put_int(&out, TFY_P_POLL_MS, json_integer_value(poll));
    } else {
        const char *state = json_string_value(json_object_get(said, "state"));
        tfy__put(&out, TFY_P_REQUESTS);
        tfy__encode_json(&out, json_object_get(said, "requests"));
        if (state) tfy__put_text(&out, TFY_P_REQUEST_STATE, state);
    }
    tfy__put_end(&out);
    const bool recorded = tfy__step_append(step, type, &out) > 0;
    tfy__buffer_free(&out);
    return recorded;
}

/* As the log gives it back, so that a replay asks with the same words. Takes it over; NULL: no memory. */
static json_t *as_recorded(json_t *json)
{
    TfyBuffer text = {0};
    tfy__encode_json(&text, json);
    json_decref(json);
    json = text.failed ? NULL : json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    tfy__buffer_free(&text);
    return json;
}

void tfy__call_ask_more(TfyCall *call, json_t *asked)
{
    Step *step = step_of_call(call);
    tfy__step_leave_call(step);
    asked = as_recorded(asked);
    if (!take_asked(step, asked) || !record(step, TFY_R_MCP_ROUND, asked)) return;
    go_on(step);
    tfy__step_queue(step);
}

static void wait_for(Step *step, int64_t wait_ms)
{
    step->again_ms = tfy__due_from_now(step->call.loop, wait_ms);
    step->stage = STAGE_OUTCOME;
    tfy__step_queue(step);
}

void tfy__call_away(TfyCall *call, json_t *away, int64_t wait_ms)
{
    Step *step = step_of_call(call);
    tfy__step_leave_call(step);
    if (take_away(step, away) && record(step, TFY_R_MCP_TASK, away)) wait_for(step, wait_ms);
}

void tfy__call_poll(TfyCall *call, int64_t wait_ms)
{
    Step *step = step_of_call(call);
    TfyRound *shown = &step->round->shown;
    tfy__step_leave_call(step);
    json_decref(shown->asked);
    json_decref(shown->answers);
    shown->asked = shown->answers = NULL;
    shown->polls++;
    wait_for(step, wait_ms);
}

void tfy__call_back(TfyCall *call)
{
    json_decref(step_of_call(call)->round->shown.away);
    step_of_call(call)->round->shown.away = NULL;
}

/* ---- the history ---- */

static bool copy(json_t *to, const char *name, const json_t *value)
{
    return !value || json_object_set(to, name, (json_t *)(uintptr_t)value) == 0;
}

/* What a record says, as the performer gave it. NULL: no memory. */
static json_t *said_by(const TfyPayload *payload)
{
    json_t *said = json_object();
    if (copy(said, "server", tfy__payload_get(payload, TFY_P_SERVER)) &&
        copy(said, "requests", tfy__payload_get(payload, TFY_P_REQUESTS)) &&
        copy(said, "state", tfy__payload_get(payload, TFY_P_REQUEST_STATE)) &&
        copy(said, "task", tfy__payload_get(payload, TFY_P_TASK)) &&
        copy(said, "ttl_ms", tfy__payload_get(payload, TFY_P_TTL_MS)) &&
        copy(said, "poll_ms", tfy__payload_get(payload, TFY_P_POLL_MS)))
        return said;
    json_decref(said);
    return NULL;
}

static void take(Step *step, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const bool same = !asks_more(step) && tfy__step_same_digest(step, &payload);
    json_t *said = same ? said_by(&payload) : NULL;
    tfy__payload_close(&payload);
    if (!same) {
        tfy__step_diverge(step, record);
        return;
    }
    tfy__history_take(step->rest);
    if (record->type == TFY_R_MCP_TASK)
        take_away(step, said);
    else if (take_asked(step, said))
        go_on(step);
}

static bool take_question(Step *step, const TfyLogRecord *record)
{
    TfyPayload payload;
    const bool asks = tfy__record_has(record, TFY_P_QUESTION);
    if (!asks) {
        tfy__step_diverge(step, record);
        return false;
    }
    tfy__payload_open(&payload, record);
    step->call.digest = tfy__payload_hex(&payload, TFY_P_DIGEST);
    tfy__payload_close(&payload);
    tfy__history_take(step->rest);
    return true;
}

/* ---- snapshots ---- */

static void write_round(const Step *step, TfyBuffer *out)
{
    const Round *round = step->round;
    const TfyRound *shown = &round->shown;
    json_t *json = json_pack("{s:i, s:b}", "count", (int)shown->count, "begun", round->begun != START_NONE);
    if (!json || !copy(json, "asked", shown->asked) || !copy(json, "answers", shown->answers) ||
        !copy(json, "away", shown->away))
        out->failed = true;
    else
        tfy__encode_json(out, json);
    json_decref(json);
}

static bool read_round(Step *step, const json_t *json)
{
    const Stage stage = step->stage;
    const StartState started = step->started;
    json_t *asked = json_object_get(json, "asked"), *answers = json_object_get(json, "answers");
    json_t *away = json_object_get(json, "away");
    Round *round = json_is_object(json) ? round_of(step) : NULL;
    if (!round || !inquiry_of(step)) return false;
    round->shown = (TfyRound){.asked = json_incref(asked),
                              .answers = json_incref(answers),
                              .away = json_incref(away),
                              .count = (uint32_t)json_integer_value(json_object_get(json, "count"))};
    round->begun = json_is_true(json_object_get(json, "begun")) ? START_FOUND : START_NONE;
    if (open_question(step)) {
        step->stage = stage;
        step->started = started;
    }
    return true;
}

/* ---- the end ---- */

static void abandon(Step *step)
{
    const TfyCall *call = &step->call;
    const bool is_live = !call->loop->replay_only && !(call->task->state & T_REPLAYING);
    if (step->round->shown.away && is_live) inquiry_of(step)->abandon(call, step->round->shown.away);
}

static void drop(Step *step)
{
    Round *round = step->round;
    close_question(step);
    json_decref(round->shown.asked);
    json_decref(round->shown.answers);
    json_decref(round->shown.away);
    free(round);
    step->round = NULL;
    step->call.round = NULL;
}

const RoundOps tfy__rounds = {.take = take,
                              .take_question = take_question,
                              .answered = answered,
                              .fits = fits,
                              .is_form = is_form,
                              .put_type = put_type,
                              .write = write_round,
                              .read = read_round,
                              .abandon = abandon,
                              .drop = drop};

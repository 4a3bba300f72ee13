/* call.c: tools/call, and what else is a run: prompts/get, resources/read. A call starts a run, or goes on with one that it is told the state of, and waits for it:
 *
 *   client                     while the run works                  when it asks
 *   with the tasks extension   a task, after `hold`                 a task, at once
 *   with elicitation           it is held                           input_required with the questions and requestState
 *   with neither               input_required with requestState     … people answer
 *   of an older revision       held, 45 s at most; then a text      elicitation on the stream
 *
 * A run that ends in time is the result. Where clients do not approve (TfyMcpSettings), none of them elicits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "mcp/server/content.h"
#include "mcp/server/question.h"
#include "observe/line.h"
#include "serve/mcp/turn.h"
#include "value/json.h"
#include "wal/log/run_id.h"

enum {
    OLDER_MS = 45000, /* most clients give a call up after a minute */
    STATE_MS = 7 * 24 * 60 * 60 * 1000,
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool elicits(const TfyMcpTurn *turn)
{
    return turn->client.elicits && turn->host->settings->clients_approve;
}

static bool is_task(const TfyMcpTurn *turn)
{
    return turn->client.modern && turn->client.tasks && turn->found.offer->as == TFY_MCP_TOOL;
}

static bool is_how(const TfyMcpTurn *turn, unsigned how)
{
    return turn->found.offer && turn->found.offer->how & how;
}

/* What the run asks comes with the call, as for a client that knows no tasks. */
static bool asks_first(const TfyMcpTurn *turn)
{
    return is_how(turn, TFY_MCP_ASKS_FIRST) && elicits(turn);
}

/* ---- requestState ---- */

/* The request that a state is good for, and who has made it. */
static bool digest_request(TfyMcpTurn *turn, const char *tool, const json_t *args)
{
    unsigned char digest[TFY_SHA256_SIZE];
    TfyBuffer text = {0};
    tfy__buffer_add(&text, turn->peer->caller.name, strlen(turn->peer->caller.name) + 1);
    tfy__buffer_add(&text, tool, strlen(tool) + 1);
    tfy__encode_json(&text, args);
    const bool fine = !text.failed;
    if (fine) tfy__sha256(text.data, text.len, digest);
    if (fine) memcpy(turn->digest, digest, sizeof turn->digest);
    tfy__buffer_free(&text);
    return fine;
}

static void add_state(TfyMcpTurn *turn, json_t *result)
{
    TfyMcpState state = {.until_ms = tfy__clock_ms() + STATE_MS};
    char text[TFY_MCP_STATE_TEXT];
    tfy__uuid_read(turn->run, state.run);
    memcpy(state.request, turn->digest, sizeof state.request);
    if (tfy__mcp_state_write(&turn->host->key, &state, text))
        json_object_set_new(result, "requestState", json_string(text));
}

/* The run that the state of a retry names. False: the state is not one of ours for this request. */
static bool take_state(TfyMcpTurn *turn, const json_t *state)
{
    uint8_t run[16];
    const char *text = json_string_value(state);
    if (!text ||
        !tfy__mcp_state_read(&turn->host->key, text, json_string_length(state), turn->digest, tfy__clock_ms(), run))
        return false;
    tfy__uuid_text(run, turn->run);
    return true;
}

/* ---- answers ---- */

static void finish_task(TfyMcpTurn *turn)
{
    json_t *task = tfy__task_of(turn->host, turn->run_json);
    json_object_set_new(task, "resultType", json_string("task"));
    tfy__turn_finish(turn, task);
}

/* requests: taken; NULL: the client is only to come again. */
static void finish_asking(TfyMcpTurn *turn, json_t *requests)
{
    json_t *result = json_pack("{s:s}", "resultType", "input_required");
    if (requests) json_object_set_new(result, "inputRequests", requests);
    add_state(turn, result);
    tfy__turn_finish(turn, result);
}

static void finish_older(TfyMcpTurn *turn)
{
    const bool asks = strcmp(text_of(turn->run_json, "attention"), "question") == 0;
    char said[256];
    if (turn->found.offer && turn->found.offer->as != TFY_MCP_TOOL) {
        TfyMcpRefusal refusal = {.code = 0};
        tfy__refusal_set(&refusal, 200, TFY_MCP_INTERNAL, "run %.36s has not ended", turn->run);
        tfy__turn_refuse(turn, &refusal);
        return;
    }
    snprintf(said, sizeof said, "Run %s is %s. Call run_status with {\"run\": \"%s\"} later, or run_cancel to end it.",
             turn->run, asks ? "waiting for a person (tfy inspect shows what it asks)" : "still working", turn->run);
    tfy__turn_finish(turn, tfy__mcp_said(said, false));
}

void tfy__turn_finish_ended(TfyMcpTurn *turn)
{
    TfyMcpRefusal refusal = {.code = 0};
    json_t *result = tfy__run_result(turn, turn->run_json, &refusal);
    if (refusal.code)
        tfy__turn_refuse(turn, &refusal);
    else
        tfy__turn_finish(turn, result);
}

static void finish_late(TfyMcpTurn *turn)
{
    if (is_task(turn))
        finish_task(turn);
    else if (turn->client.modern)
        finish_asking(turn, NULL);
    else
        finish_older(turn);
}

/* ---- looking at the run ---- */

static void look_again(TfyMcpTurn *turn)
{
    if (turn->waits && turn->again && !turn->looks && !turn->replying) tfy__call_look(turn);
}

static void looked(TfyMcpTurn *turn)
{
    turn->looks = false;
    look_again(turn);
}

static void on_replied(TfyMcpTurn *turn, TfyRequest *request)
{
    turn->replying--;
    turn->again = true;
    look_again(turn);
}

static bool was_put(const TfyMcpTurn *turn, const json_t *question)
{
    for (const TfyMcpPut *put = turn->put.first; put; put = put->next)
        if (put->question && json_equal(put->question, (json_t *)question)) return true;
    return false;
}

void tfy__puts_free(TfyMcpTurn *turn)
{
    for (TfyMcpPut *put; (put = LIST_TAKE(&turn->put, next));) {
        json_decref(put->question);
        free(put->sample);
        free(put);
    }
}

/* On the stream of an older client, each question once. */
static void put_questions(TfyMcpTurn *turn, const json_t *questions)
{
    json_t *question;
    size_t i;
    json_array_foreach((json_t *)questions, i, question)
    {
        if (was_put(turn, question)) continue;
        json_t *params = tfy__mcp_question_params(question, strcmp(turn->client.revision, "2025-06-18") != 0);
        TfyMcpPut *put = tfy__turn_put(turn, "elicitation/create", params);
        if (put) put->question = json_incref(question);
        json_decref(params);
    }
}

/* questions: NULL: none are for the client. */
static void ask_client(TfyMcpTurn *turn, const json_t *questions)
{
    if ((is_task(turn) && !asks_first(turn)) || turn->late) {
        finish_late(turn);
    } else if (turn->client.modern) {
        json_t *requests = tfy__questions_requests(questions);
        tfy__samples_requests(turn, requests);
        finish_asking(turn, requests);
    } else {
        put_questions(turn, questions);
        tfy__samples_put(turn);
    }
}

static void on_gone(TfyMcpTurn *turn, TfyRequest *request)
{
    tfy__turn_drop(turn);
}

/* The run cannot go on, so that which the call has begun ends with it. True: the turn is answered. */
static bool refuse_unable(TfyMcpTurn *turn)
{
    TfyMcpRefusal refusal = {.data = tfy__samples_lack(turn)};
    if (!refusal.data) return false;
    if (turn->since) tfy__run_cancel(turn, on_gone);
    tfy__refusal_set(&refusal, 400, TFY_MCP_NO_CAPABILITY, TFY_MCP_NEEDS_MODEL);
    tfy__turn_refuse(turn, &refusal);
    return true;
}

/* Answers what the client has answered beforehand, and puts the rest to it. questions: NULL: none are for it. */
static void take_open(TfyMcpTurn *turn, const json_t *questions)
{
    const uint32_t replies = turn->waits ? tfy__questions_reply(turn, questions, on_replied) : 0,
                   samples = turn->waits ? tfy__samples_reply(turn) : 0;
    turn->replying += replies;
    if (!turn->waits || replies || samples || refuse_unable(turn)) return;
    if (json_array_size(questions) || tfy__samples_any(turn->host, turn->run))
        ask_client(turn, questions);
    else if (turn->late || (is_how(turn, TFY_MCP_ALWAYS_TASK) && !asks_first(turn)))
        finish_late(turn);
}

static void on_questions(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request);
    take_open(turn, json_object_get(heard, "questions"));
    json_decref(heard);
    looked(turn);
}

static void on_looked(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *run = tfy__turn_heard(request);
    if (!run || !turn->waits) {
        json_decref(run);
        turn->again |= request->problem.kind == TFY_PROBLEM_INDEX_BEHIND;
        if (!run && turn->waits && !turn->again) tfy__turn_refuse_for(turn, &request->problem);
        looked(turn);
        return;
    }
    json_decref(turn->run_json);
    turn->run_json = run;
    if (json_is_string(json_object_get(run, "ended"))) {
        tfy__turn_tell_rest(turn);
        turn->waits = false;
        if (is_how(turn, TFY_MCP_ALWAYS_TASK))
            finish_task(turn);
        else
            tfy__run_whole(turn, tfy__turn_finish_ended);
    } else if (strcmp(text_of(run, "attention"), "question") == 0 && (elicits(turn) || is_task(turn))) {
        tfy__questions_ask(turn, on_questions);
    } else {
        take_open(turn, NULL);
        looked(turn);
    }
}

void tfy__call_look(TfyMcpTurn *turn)
{
    char target[64];
    turn->again = turn->looks || turn->replying;
    if (turn->again) return;
    turn->looks = true;
    snprintf(target, sizeof target, "/v1/runs/%s", turn->run);
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = target, .after = turn->host->cursor}, on_looked);
}

void tfy__call_late(TfyMcpTurn *turn)
{
    turn->late = true;
    tfy__call_look(turn);
}

/* ---- answers of older clients, and the end of a call that they take back ---- */

static bool declines(const json_t *response)
{
    return strcmp(text_of(response, "action"), "accept") != 0;
}

void tfy__call_replied(TfyMcpTurn *turn, TfyMcpPut *put, const TfyMcpMessage *message)
{
    const json_t *response = message->result;
    put->over = true;
    if (put->sample && response)
        tfy__sample_answer(turn->host, turn->run, put->sample, response);
    else if (put->sample)
        tfy__sample_refuse(turn->host, turn->run, put->sample, message->code, message->message);
    else if (tfy__question_answer(turn, put->question, response, on_replied))
        turn->replying++;
    else if (declines(response))
        finish_older(turn); /* the run waits for a person */
}

void tfy__call_cancelled(TfyMcpTurn *turn)
{
    turn->cancelled = true;
    turn->waits = false;
    if (*turn->run) tfy__run_cancel(turn, on_gone);
}

/* ---- starting ---- */

void tfy__call_go_on(TfyMcpTurn *turn)
{
    const int64_t hold_ms = turn->host->settings->hold_ms;
    if (!turn->client.modern)
        tfy__turn_wait(turn, OLDER_MS);
    else
        tfy__turn_wait(turn, is_task(turn) || !elicits(turn) ? hold_ms : 0);
}

/* What a model can mend is a result, which it sees. */
static void tell_mistakes(TfyMcpTurn *turn, const TfyProblem *problem)
{
    TfyBuffer text = {0};
    json_t *one;
    size_t i;
    tfy__buffer_printf(&text, "The arguments do not fit%s%s", *problem->detail ? ": " : ".", problem->detail);
    json_array_foreach(problem->errors, i, one)
    {
        const char *path = text_of(one, "path");
        tfy__buffer_printf(&text, "\n%s: %s", strncmp(path, "$.args", 6) == 0 && path[6] ? path + 7 : path,
                           text_of(one, "detail"));
    }
    TfyMcpRefusal refusal = {.code = 0};
    if (turn->found.offer->as == TFY_MCP_TOOL) {
        tfy__turn_finish(turn, text.failed ? NULL : tfy__mcp_said(text.data, true));
    } else {
        tfy__refusal_set(&refusal, 200, TFY_MCP_INVALID_PARAMS, "%.250s", text.data ? text.data : "");
        tfy__turn_refuse(turn, &refusal);
    }
    tfy__buffer_free(&text);
}

static void on_started(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *run = tfy__turn_heard(request);
    snprintf(turn->run, sizeof turn->run, "%s", text_of(run, "id"));
    turn->since = request->replayed ? 0 : request->lsn;
    json_decref(run);
    if (request->problem.kind == TFY_PROBLEM_ARGUMENTS)
        tell_mistakes(turn, &request->problem);
    else if (!*turn->run)
        tfy__turn_refuse_for(turn, &request->problem);
    else if (turn->cancelled)
        tfy__run_cancel(turn, on_gone);
    else
        tfy__call_go_on(turn);
}

/* The span of the client that the call is part of is a label of the run: people find the run by it, and so does its trace. */
static json_t *body_of(const json_t *args, const json_t *meta)
{
    json_t *body = json_pack("{s:O}", "args", args);
    const char *text = json_string_value(json_object_get(meta, "traceparent"));
    TfyTraceParent parent;
    if (text && tfy__trace_parent(text, &parent))
        json_object_set_new(body, "labels", json_pack("{s:s#}", "traceparent", text, (int)TFY_TRACE_PARENT_LEN));
    return body;
}

/* The key of a step of a client of ours: however often it calls, it is one run. */
static void start(TfyMcpTurn *turn, json_t *args)
{
    char target[256];
    const json_t *meta = json_object_get(turn->message.params, "_meta");
    const char *key = json_string_value(json_object_get(meta, TFY_MCP_CALL_KEY));
    snprintf(target, sizeof target, "/v1/programs/%.80s/workflows/%.100s/runs", turn->found.served->name,
             turn->found.offer->workflow->name);
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_POST, .target = target, .body = body_of(args, meta), .key = key},
                  on_started);
}

/* ---- the request ---- */

static bool take_call(TfyMcpTurn *turn, const char *name, json_t *args, TfyMcpRefusal *refusal)
{
    const json_t *params = turn->message.params, *replies = json_object_get(params, "inputResponses"),
                 *state = json_object_get(params, "requestState");
    if (!json_is_object(args))
        return tfy__refusal_set(refusal, 200, TFY_MCP_INVALID_PARAMS, "the arguments are not an object");
    if (!digest_request(turn, name, args)) return tfy__refusal_set(refusal, 500, TFY_MCP_INTERNAL, "memory ran out");
    if (!turn->client.modern) return true;
    if (json_is_object(replies)) turn->replies = json_copy((json_t *)replies);
    return !state || take_state(turn, state) ||
           tfy__refusal_set(refusal, 200, TFY_MCP_INVALID_PARAMS, "requestState is not one of this request");
}

void tfy__call_begin(TfyMcpTurn *turn, const char *name, json_t *args)
{
    TfyMcpRefusal refusal = {.code = 0};
    if (!take_call(turn, name, args, &refusal))
        tfy__turn_refuse(turn, &refusal);
    else if (*turn->run)
        tfy__call_go_on(turn);
    else
        start(turn, args);
}

void tfy__mcp_call(TfyMcpTurn *turn)
{
    TfyMcpRefusal refusal = {.code = 0};
    const char *name = text_of(turn->message.params, "name");
    json_t *given = json_object_get(turn->message.params, "arguments"),
           *args = given ? json_incref(given) : json_object();
    turn->found = tfy__host_find(turn->host, &turn->peer->caller, TFY_MCP_TOOL, name);
    if (turn->found.served && is_how(turn, TFY_MCP_ALWAYS_TASK) && !tfy__takes_tasks(turn, &refusal)) {
        tfy__turn_refuse(turn, &refusal);
    } else if (turn->found.served) {
        tfy__call_begin(turn, name, args);
    } else if (!tfy__mcp_call_own(turn, name, args)) {
        tfy__refusal_set(&refusal, 200, TFY_MCP_INVALID_PARAMS, "there is no tool '%.80s'", name);
        tfy__turn_refuse(turn, &refusal);
    }
    json_decref(args);
}

/* tasks.c: runs as tasks: tasks/get, tasks/update, tasks/cancel. A task's id is its run's. */
#include <stdio.h>
#include <string.h>

#include "mcp/server/content.h"
#include "serve/mcp/turn.h"

enum {
    TTL_MS = 24 * 60 * 60 * 1000, /* runs are kept a day at least */
    POLL_MS = 1000,
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- a run as a task ---- */

static bool is_panic(const json_t *run)
{
    const char *name = text_of(json_object_get(run, "error"), "error");
    return strcmp(text_of(run, "state"), "failed") == 0 && strcmp(name, "Panic") == 0;
}

static bool asks_person(const json_t *run)
{
    return strcmp(text_of(run, "attention"), "question") == 0;
}

/* An error that a workflow raises is the result of its call; only a panic is a failure of the server's. Nothing is
 * required of a client whose user is not asked. */
static const char *status_of(const TfyMcpHost *host, const json_t *run)
{
    const char *state = text_of(run, "state");
    if (strcmp(state, "cancelled") == 0) return "cancelled";
    if (is_panic(run)) return "failed";
    if (strcmp(state, "completed") == 0 || strcmp(state, "failed") == 0) return "completed";
    const bool asks = asks_person(run) && host->settings->clients_approve;
    return asks || tfy__samples_any(host, text_of(run, "id")) ? "input_required" : "working";
}

json_t *tfy__task_of(const TfyMcpHost *host, const json_t *run)
{
    const json_t *started = json_object_get(run, "started"), *ended = json_object_get(run, "ended");
    json_t *now = json_is_string(ended) ? json_incref((json_t *)ended) : tfy__json_time(tfy__clock_ms());
    json_t *task = json_pack("{s:O, s:s, s:O, s:o, s:i, s:i}", "taskId", json_object_get(run, "id"), "status",
                             status_of(host, run), "createdAt", started, "lastUpdatedAt", now, "ttlMs", TTL_MS,
                             "pollIntervalMs", POLL_MS);
    if (asks_person(run) && !host->settings->clients_approve)
        json_object_set_new(task, "statusMessage", json_string("it waits for a person"));
    return task;
}

static TfyMcpGives gives_of(const TfyMcpTurn *turn)
{
    return turn->found.offer ? turn->found.offer->gives : TFY_MCP_GIVES_ANY;
}

static TfyMcpOffered as_of(const TfyMcpTurn *turn)
{
    return turn->found.offer ? turn->found.offer->as : TFY_MCP_TOOL;
}

static json_t *given(const TfyMcpTurn *turn, const json_t *value)
{
    if (as_of(turn) == TFY_MCP_PROMPT)
        return tfy__mcp_messages(gives_of(turn), value, turn->found.offer->workflow->doc);
    if (as_of(turn) == TFY_MCP_RESOURCE && turn->address) {
        json_t *contents = tfy__mcp_contents(gives_of(turn), value, turn->address);
        return turn->client.modern ? tfy__cacheable(contents) : contents;
    }
    return tfy__mcp_result(gives_of(turn), value);
}

json_t *tfy__run_result(TfyMcpTurn *turn, const json_t *run, TfyMcpRefusal *refusal)
{
    const char *state = text_of(run, "state");
    const json_t *error = json_object_get(run, "error");
    char said[80];
    const bool is_tool = as_of(turn) == TFY_MCP_TOOL, cancelled = strcmp(state, "cancelled") == 0;
    if (strcmp(state, "completed") == 0) return given(turn, json_object_get(run, "result"));
    snprintf(said, sizeof said, "run %.36s was cancelled", turn->run);
    if (cancelled && is_tool) return tfy__mcp_said(said, true);
    if (is_tool && !is_panic(run)) return tfy__mcp_failed(error);
    tfy__refusal_set(refusal, 500, TFY_MCP_INTERNAL, "%.250s", cancelled ? said : text_of(error, "message"));
    return NULL;
}

/* ---- the run that a request names ---- */

bool tfy__takes_tasks(const TfyMcpTurn *turn, TfyMcpRefusal *refusal)
{
    if (turn->client.modern && turn->client.tasks) return true;
    tfy__refusal_set(refusal, 400, TFY_MCP_NO_CAPABILITY, "the client does not declare the extension %s",
                     TFY_MCP_TASKS);
    refusal->data = json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions", TFY_MCP_TASKS);
    return false;
}

/* False: it is refused. */
static bool take_task(TfyMcpTurn *turn)
{
    TfyMcpRefusal refusal = {.code = 0};
    const char *id = text_of(turn->message.params, "taskId");
    const bool is_run = strlen(id) == 36 && strspn(id, "0123456789abcdef-") == 36;
    if (tfy__takes_tasks(turn, &refusal) && !is_run)
        tfy__refusal_set(&refusal, 200, TFY_MCP_INVALID_PARAMS, "there is no task '%.80s'", id);
    if (!refusal.code) {
        snprintf(turn->run, sizeof turn->run, "%s", id);
        return true;
    }
    tfy__turn_refuse(turn, &refusal);
    return false;
}

void tfy__run_get(TfyMcpTurn *turn, TfyMcpThen *then)
{
    char target[64];
    snprintf(target, sizeof target, "/v1/runs/%s", turn->run);
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_GET, .target = target}, then);
}

/* Keeps the run. False: the turn is refused. */
static bool take_run(TfyMcpTurn *turn, const TfyRequest *request)
{
    json_decref(turn->run_json);
    turn->run_json = tfy__turn_heard(request);
    if (turn->run_json) {
        turn->found = tfy__host_find_workflow(turn->host, &turn->peer->caller, text_of(turn->run_json, "program"),
                                              text_of(turn->run_json, "workflow"));
        return true;
    }
    tfy__turn_refuse_for(turn, &request->problem);
    return false;
}

/* ---- tasks/get ---- */

static void finish_get(TfyMcpTurn *turn)
{
    TfyMcpRefusal refusal = {.code = 0};
    json_t *task = tfy__task_of(turn->host, turn->run_json);
    const char *status = text_of(task, "status");
    const bool completed = strcmp(status, "completed") == 0;
    json_t *result =
        completed || strcmp(status, "failed") == 0 ? tfy__run_result(turn, turn->run_json, &refusal) : NULL;
    if (result) json_object_set_new(task, "result", result);
    if (refusal.code)
        json_object_set_new(task, "error", json_pack("{s:i, s:s}", "code", refusal.code, "message", refusal.why));
    tfy__turn_finish(turn, task);
}

/* questions: NULL: none are for the client. */
static void finish_asking(TfyMcpTurn *turn, const json_t *questions)
{
    json_t *task = tfy__task_of(turn->host, turn->run_json), *requests = tfy__questions_requests(questions);
    TfyMcpRefusal refusal = {.data = tfy__samples_lack(turn)};
    if (!refusal.data) {
        tfy__samples_requests(turn, requests);
        json_object_set_new(task, "inputRequests", requests);
        tfy__turn_finish(turn, task);
        return;
    }
    json_decref(task);
    json_decref(requests);
    tfy__refusal_set(&refusal, 400, TFY_MCP_NO_CAPABILITY, TFY_MCP_NEEDS_MODEL);
    tfy__turn_refuse(turn, &refusal);
}

static void on_questions(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request);
    finish_asking(turn, json_object_get(heard, "questions"));
    json_decref(heard);
}

static void on_got(TfyMcpTurn *turn, TfyRequest *request)
{
    if (!take_run(turn, request)) return;
    if (asks_person(turn->run_json) && turn->host->settings->clients_approve)
        tfy__questions_ask(turn, on_questions);
    else if (tfy__samples_any(turn->host, turn->run))
        finish_asking(turn, NULL);
    else
        tfy__run_whole(turn, finish_get);
}

void tfy__mcp_task_get(TfyMcpTurn *turn)
{
    if (take_task(turn)) tfy__run_get(turn, on_got);
}

/* ---- tasks/update ---- */

/* An answer that is not taken, because another one was, changes nothing. */
static void on_updated(TfyMcpTurn *turn, TfyRequest *request)
{
    if (turn->away == 1) tfy__turn_finish(turn, json_object());
}

static void on_open(TfyMcpTurn *turn, TfyRequest *request)
{
    json_t *heard = tfy__turn_heard(request);
    const bool any = turn->host->settings->clients_approve &&
                     tfy__questions_reply(turn, json_object_get(heard, "questions"), on_updated);
    json_decref(heard);
    (void)tfy__samples_reply(turn);
    if (!any) tfy__turn_finish(turn, json_object());
}

static void on_update(TfyMcpTurn *turn, TfyRequest *request)
{
    const json_t *replies = json_object_get(turn->message.params, "inputResponses");
    if (!take_run(turn, request)) return;
    turn->replies = json_is_object(replies) ? json_copy((json_t *)replies) : NULL;
    tfy__questions_ask(turn, on_open);
}

void tfy__mcp_task_update(TfyMcpTurn *turn)
{
    if (take_task(turn)) tfy__run_get(turn, on_update);
}

/* ---- tasks/cancel ---- */

static void on_cancelled(TfyMcpTurn *turn, TfyRequest *request)
{
    if (request->problem.kind && request->problem.kind != TFY_PROBLEM_ENDED)
        tfy__turn_refuse_for(turn, &request->problem);
    else
        tfy__turn_finish(turn, json_object());
}

void tfy__run_cancel(TfyMcpTurn *turn, TfyMcpThen *then)
{
    char target[64];
    snprintf(target, sizeof target, "/v1/runs/%s/cancel", turn->run);
    tfy__turn_ask(turn, &(TfyInside){.method = TFY_POST, .target = target}, then);
}

void tfy__mcp_task_cancel(TfyMcpTurn *turn)
{
    if (take_task(turn)) tfy__run_cancel(turn, on_cancelled);
}

/* perform.c: tools of MCP servers. An attempt is one request tools/call, or several: where the server wants to know more
 * from people, the call is sent again with their answers; where it makes a task of the call, it is asked for its end.
 *
 * Before anything is called a server is asked for its tools: a tool that is gone, or takes or gives something else than
 * when it was pulled, is not called. It is asked again when it says that its tools have changed.
 *
 * A server that answers with isError, or refuses a request, has reported a failure: nothing was done. A call that was
 * sent and not answered is unknown. It is made again if the server knows calls by their keys, until it is answered or
 * has been made REPEATS_MOST times. A task whose end cannot be asked for now is asked later. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/tool_digest.h"
#include "base/utf8.h"
#include "effects/former.h"
#include "effects/http_parts.h"
#include "effects/known.h"
#include "effects/output.h"
#include "effects/sandbox.h"
#include "effects/secret_source.h"
#include "mcp/arguments.h"
#include "mcp/ask.h"
#include "mcp/content.h"
#include "mcp/message.h"
#include "mcp/servers.h"
#include "value/heap.h"
#include "value/json.h"

#define SAID_MOST   ((size_t)4000) /* bytes of what a server says, in an error */
#define ROUNDS_MOST 8              /* in which it may ask people for more */

/* How often a call whose end is not known is made again, after a second, two, four … a minute at most. */
#define REPEATS_MOST    9
#define REPEAT_LEAST_MS INT64_C(1000)

/* How often a task is asked for its end: as the server wishes, not more than once a second; doubling behind the first
 * polls. */
#define POLL_LEAST_MS INT64_C(1000)
#define WAIT_MOST_MS  INT64_C(60000) /* of these and of those, unless the server wishes more */
#define FIRST_POLLS   10

/* A call under way: it waits for the list of tools, or for its answer. */
typedef struct TfyMcpJob {
    TfyCall *call;
    TfyMcpOpen *server;
    TfyMcpCall *asked;      /* NULL: it waits for the list */
    struct TfyMcpJob *next; /* of those that wait */
} Job;

static bool starve(TfyCall *call)
{
    tfy__call_starved(call);
    return false;
}

/* A wait behind so many others. */
static int64_t doubled(int64_t wait, uint32_t times)
{
    for (; times && wait < WAIT_MOST_MS; times--) wait = wait * 2 < WAIT_MOST_MS ? wait * 2 : WAIT_MOST_MS;
    return wait;
}

/* What is known of a call that has not left yet. */
static TfyOutcome unsent(const TfyCall *call)
{
    return call->begun || call->tries ? TFY_UNKNOWN : TFY_NOT_DONE;
}

/* ---- the end of a call ---- */

static TfyCall *leave(Job *job)
{
    TfyCall *call = job->call;
    call->state = NULL;
    free(job);
    return call;
}

static void fail_saying(TfyCall *call, int64_t code, const char *how, const char *text, size_t len)
{
    TfyBuffer said = {0};
    tfy__buffer_add(&said, text, tfy__utf8_fit(text, len, SAID_MOST));
    tfy__known_mask_in(&said, false);
    tfy__call_tool_error(call, code, "'%s' %s%.*s", call->tool->name, how, (int)said.len, said.data ? said.data : "");
    tfy__buffer_free(&said);
}

static void put_whole(TfyBuffer *out, const json_t *result)
{
    json_t *whole = tfy__mcp_whole(result);
    if (whole)
        tfy__encode_json(out, whole);
    else
        out->failed = true;
    json_decref(whole);
}

/* What a tool gives: all of it, its structured content, or its text where that is wanted or there is nothing else. */
static bool give_result(TfyCall *call, const json_t *result)
{
    TfyBuffer text = {0};
    const json_t *structured = json_object_get(result, "structuredContent");
    if (call->tool->mcp->whole)
        put_whole(&text, result);
    else if (call->result->kind != TFY_STRING && structured)
        tfy__encode_json(&text, structured);
    else
        tfy__mcp_text(&text, result);
    tfy__known_mask_in(&text, false);
    bool answered = true;
    if (text.failed)
        tfy__call_starved(call);
    else
        answered = tfy__output_give(call, &text, false, "");
    tfy__buffer_free(&text);
    return answered;
}

static void take_result(TfyCall *call, const json_t *result)
{
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    TfyBuffer text = {0};
    if (json_is_true(json_object_get(result, "isError"))) {
        call->outcome = TFY_NOT_DONE;
        tfy__mcp_text(&text, result);
        fail_saying(call, 0, text.len ? "failed: " : "failed", text.data ? text.data : "", text.len);
    } else if (!give_result(call, result)) {
        tfy__output_panicked(call);
    }
    tfy__buffer_free(&text);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* A request that has no answer, with what the server said last: usually it says why it ends. */
static void fail_unanswered(TfyCall *call, const TfyMcpEnd *end, const char *last)
{
    TfyBuffer text = {0};
    tfy__buffer_text(&text, end->message);
    if (*last) tfy__buffer_printf(&text, "; its last words: %s", last);
    if (text.failed)
        tfy__call_starved(call);
    else
        fail_saying(call, end->status, "has no answer: ", text.data, text.len);
    tfy__buffer_free(&text);
}

static void ask_login(TfyCall *call, const char *say);

static void fail_as(const TfyMcpOpen *server, TfyCall *call, const TfyMcpEnd *end, TfyOutcome outcome)
{
    call->outcome = outcome == TFY_NOT_DONE && end->how == TFY_MCP_FAILED ? unsent(call) : outcome;
    if (end->login && (call->outcome == TFY_NOT_DONE || (call->round && call->round->away)))
        ask_login(call, end->login);
    else if (end->no_room)
        tfy__call_no_room(call, ENOMEM);
    else if (end->how == TFY_MCP_REFUSED)
        fail_saying(call, end->code, "was refused: ", end->message, strlen(end->message));
    else
        fail_unanswered(call, end, server->last);
}

/* ---- the server wants to know more ---- */

static bool holds_secret(const char *text)
{
    TfyBuffer masked = {0};
    const bool holds = text && tfy__known_mask(text, strlen(text), false, &masked);
    tfy__buffer_free(&masked);
    return holds;
}

/* requests: of a result that wants input. People get only what they can answer. */
static void ask_people(TfyCall *call, const json_t *requests, const char *state)
{
    char wrong[TFY_ERROR_TEXT];
    const uint32_t rounds = call->round ? call->round->count : 0;
    tfy__mcp_ask_wrong(requests, wrong);
    call->outcome = TFY_NOT_DONE;
    if (!*wrong && rounds >= ROUNDS_MOST)
        snprintf(wrong, sizeof wrong, "the server asked more than %d times", ROUNDS_MOST);
    if (!*wrong && holds_secret(state))
        snprintf(wrong, sizeof wrong, "the server's state holds the value of a secret, which the log must not");
    if (*wrong) {
        fail_saying(call, 0, "is not done: ", wrong, strlen(wrong));
        return;
    }
    json_t *asked = json_pack("{s:s}", "server", call->tool->mcp->server->name);
    json_t *masked = json_is_object(requests) ? tfy__mcp_masked(requests) : json_object();
    if (asked && json_object_set_new(asked, "requests", masked) == 0 &&
        (!state || json_object_set_new(asked, "state", json_string(state)) == 0)) {
        tfy__call_ask_more(call, asked);
        return;
    }
    json_decref(asked);
    starve(call);
}

/* The server wants a person to log in first. What people answered before, and the server's own state, stay for the time
 * behind that. */
static void ask_login(TfyCall *call, const char *say)
{
    const TfyRound *round = call->round;
    json_t *request = tfy__mcp_ask_login(say, tfy__mcp_answers(round)), *state = NULL;
    json_t *masked = request ? tfy__mcp_masked(request) : NULL;
    if (round) state = json_object_get(round->asked, "state");
    json_decref(request);
    if (round && round->count >= ROUNDS_MOST) {
        json_decref(masked);
        fail_saying(call, 0, "was not called: the server ", say, strlen(say));
        return;
    }
    json_t *asked = json_pack("{s:s, s:o, s:O?}", "server", call->tool->mcp->server->name, "requests",
                              masked ? masked : json_object(), "state", state);
    if (masked && asked) {
        tfy__call_ask_more(call, asked);
        return;
    }
    json_decref(asked);
    starve(call);
}

/* False after the call has failed: a person said that nobody will log in. */
static bool may_log_in(TfyCall *call)
{
    const json_t *login = tfy__mcp_asked_login(call->round);
    const char *said = json_string_value(json_object_get(login, "say")), *say = said ? said : "needs a login";
    if (!tfy__mcp_login_denied(call->round)) return true;
    call->outcome = call->round->away ? TFY_UNKNOWN : unsent(call);
    fail_saying(call, 0, "was not called, and a person declined: the server ", say, strlen(say));
    return false;
}

/* ---- the server has made a task of it ---- */

/* How long to wait before the task is asked for its end, behind so many polls. */
static int64_t poll_wait(const json_t *away, uint32_t polls)
{
    const int64_t wait = json_integer_value(json_object_get(away, "poll_ms"));
    return doubled(wait < POLL_LEAST_MS ? POLL_LEAST_MS : wait, polls > FIRST_POLLS ? polls - FIRST_POLLS : 0);
}

static bool copy_number(json_t *to, const char *name, const json_t *from, const char *of)
{
    const json_t *number = json_object_get(from, of);
    return !json_is_integer(number) || json_object_set(to, name, (json_t *)(uintptr_t)number) == 0;
}

static void go_away(TfyCall *call, const json_t *result)
{
    const char *id = json_string_value(json_object_get(result, "taskId"));
    if (!id || !*id || holds_secret(id)) {
        static const char why[] = "the server made a task of it without a name";
        fail_saying(call, 0, "has no answer: ", why, sizeof why - 1);
        return;
    }
    json_t *away = json_pack("{s:s, s:s}", "server", call->tool->mcp->server->name, "task", id);
    if (!away || !copy_number(away, "ttl_ms", result, "ttlMs") ||
        !copy_number(away, "poll_ms", result, "pollIntervalMs")) {
        json_decref(away);
        starve(call);
        return;
    }
    tfy__call_away(call, away, poll_wait(away, 0));
}

/* The task has ended with an error, or was cancelled. */
static void fail_task(TfyCall *call, const char *status, const json_t *task)
{
    const json_t *error = json_object_get(task, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    if (!message) message = json_string_value(json_object_get(task, "statusMessage"));
    call->outcome = TFY_NOT_DONE;
    fail_saying(call, json_integer_value(json_object_get(error, "code")),
                strcmp(status, "cancelled") == 0 ? "was cancelled by its server"
                : message                        ? "failed: "
                                                 : "failed",
                message && strcmp(status, "cancelled") != 0 ? message : "", message ? strlen(message) : 0);
}

static void take_task(TfyCall *call, const json_t *task)
{
    const char *status = json_string_value(json_object_get(task, "status"));
    if (!status) status = "";
    if (strcmp(status, "completed") == 0) {
        tfy__call_back(call);
        take_result(call, json_object_get(task, "result"));
    } else if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0) {
        tfy__call_back(call);
        fail_task(call, status, task);
    } else if (strcmp(status, "input_required") == 0 && json_object_size(json_object_get(task, "inputRequests"))) {
        ask_people(call, json_object_get(task, "inputRequests"), NULL);
    } else {
        tfy__call_poll(call, poll_wait(call->round->away, call->round->polls));
    }
}

/* ---- answers ---- */

/* outcome: of a request that failed on its way. The call may have been done, and is made again later: its server knows
 * it by its key. False: it is not. */
static bool repeats(TfyCall *call, const TfyMcpEnd *end, TfyOutcome outcome)
{
    if (end->how != TFY_MCP_FAILED || end->no_room || !call->tool->keyed || call->tries >= REPEATS_MOST) return false;
    if (outcome == TFY_NOT_DONE && unsent(call) == TFY_NOT_DONE) return false;
    tfy__call_wait(call, doubled(REPEAT_LEAST_MS, call->tries), call->tries + 1, false);
    return true;
}

/* The server is gone, or cannot be reached: whoever answers next may have other tools. */
static void forget_tools(TfyMcpOpen *server)
{
    json_decref(server->tools);
    server->tools = NULL;
}

/* Whether the end is an answer. False after the call has failed, or waits. */
static bool is_answer(TfyMcpOpen *server, TfyCall *call, const TfyMcpEnd *end)
{
    const bool away = call->round && call->round->away;
    if (end->how != TFY_MCP_FAILED) *server->last = '\0';
    if (end->how == TFY_MCP_ANSWERED) return true;
    if (end->how == TFY_MCP_FAILED && !end->no_room) forget_tools(server);
    if (away && end->how == TFY_MCP_FAILED && !end->no_room && !end->login)
        tfy__call_poll(call, WAIT_MOST_MS); /* it may be back then */
    else if (away || !repeats(call, end, end->outcome))
        fail_as(server, call, end, away ? TFY_UNKNOWN : end->outcome);
    return false;
}

static void on_answer(void *arg, const TfyMcpEnd *end)
{
    TfyMcpOpen *server = ((Job *)arg)->server;
    TfyCall *call = leave(arg);
    if (!is_answer(server, call, end)) return;
    const char *type = json_string_value(json_object_get(end->result, "resultType"));
    if (!type || strcmp(type, "complete") == 0)
        take_result(call, end->result);
    else if (strcmp(type, "input_required") == 0)
        ask_people(call, json_object_get(end->result, "inputRequests"),
                   json_string_value(json_object_get(end->result, "requestState")));
    else if (strcmp(type, "task") == 0)
        go_away(call, end->result);
    else
        fail_saying(call, 0, "has no answer: the server gave a result of a kind that is not known: ", type,
                    strlen(type));
}

static void on_task(void *arg, const TfyMcpEnd *end)
{
    TfyMcpOpen *server = ((Job *)arg)->server;
    TfyCall *call = leave(arg);
    if (is_answer(server, call, end)) take_task(call, end->result);
}

static void on_updated(void *arg, const TfyMcpEnd *end)
{
    TfyMcpOpen *server = ((Job *)arg)->server;
    TfyCall *call = leave(arg);
    if (is_answer(server, call, end)) tfy__call_poll(call, POLL_LEAST_MS);
}

/* ---- the call ---- */

/* Says how a description differs: a model reads the one of the file. */
static void warn_of_text(const TfyMcpOpen *server, const TfyTool *tool, const json_t *live)
{
    if (tfy__json_digest(json_object_get(live, "description")) == tool->mcp->doc) return;
    tfy__report_text(server->loop,
                     "tfy: the description of '%s' has changed since it was pulled; to see it, run: "
                     "tfy mcp pull %s\n",
                     tool->name, server->of->file);
}

/* Is the tool still what the program was compiled with? False after the call has failed. */
static bool is_same(const TfyMcpOpen *server, TfyCall *call)
{
    static const char mark[] = "tfy/same"; /* it was compared */
    const TfyMcpTool *mcp = call->tool->mcp;
    json_t *live = json_object_get(server->tools, mcp->name);
    if (json_object_get(live, mark)) return true;
    if (live && tfy__schema_digest(live) == mcp->schema) {
        json_object_set_new(live, mark, json_true());
        warn_of_text(server, call->tool, live);
        return true;
    }
    tfy__call_tool_error(call, 0, "'%s' %s since it was pulled; run: tfy mcp pull %s", call->tool->name,
                         live ? "has changed" : "is gone", server->of->file);
    return false;
}

/* Sends a request. params and meta are taken over; NULL: no memory. False after the call has failed. */
static bool send_request(Job *job, const char *method, json_t *params, json_t *meta, TfyMcpHandler *ended)
{
    TfyCall *call = job->call;
    const bool is_call = ended == on_answer;
    const json_t *tool = json_object_get(job->server->tools, call->tool->mcp->name);
    const TfyMcpRequest request = {.method = method,
                                   .params = params,
                                   .meta = meta,
                                   .schema = is_call ? json_object_get(tool, "inputSchema") : NULL,
                                   .once = is_call && call->tool->repeat == TFY_ONCE,
                                   .ended = ended,
                                   .arg = job};
    if (params && meta) job->asked = tfy__mcp_request(job->server->client, &request);
    json_decref(params);
    json_decref(meta);
    if (job->asked) call->outcome = TFY_UNKNOWN;
    return job->asked || starve(call);
}

static json_t *meta_of(const TfyCall *call)
{
    char trace[TFY_TRACE_PARENT_LEN + 1];
    tfy__call_trace(call, trace);
    return json_pack("{s:s, s:s}", TFY_MCP_CALL_KEY, call->key, "traceparent", trace);
}

/* Does the server still know calls by their keys, if it did? False after the call has failed. */
static bool knows_keys(const TfyMcpOpen *server, TfyCall *call)
{
    if (!call->tool->keyed || tfy__mcp_is_keyed(server->client)) return true;
    tfy__call_tool_error(call, 0,
                         "'%s' is not called: its server knew calls by their keys (%s) when it was pulled; run: "
                         "tfy mcp pull %s",
                         call->tool->name, TFY_MCP_CALL_KEY, server->of->file);
    return false;
}

/* The call, with what people answered and the server's own state. */
static json_t *call_params(const TfyCall *call)
{
    const TfyRound *round = call->round;
    json_t *arguments = tfy__mcp_arguments(call->tool, call->args), *answers = tfy__mcp_answers(round);
    json_t *state = round ? json_object_get(round->asked, "state") : NULL;
    json_t *params = arguments ? json_pack("{s:s, s:o}", "name", call->tool->mcp->name, "arguments", arguments) : NULL;
    if (params && (!answers || json_object_set(params, "inputResponses", answers) == 0) &&
        (!state || json_object_set(params, "requestState", state) == 0))
        return params;
    json_decref(params);
    return NULL;
}

/* The task is given the answers of people, or asked for its end. */
static bool send_of_task(Job *job)
{
    const TfyRound *round = job->call->round;
    const char *id = json_string_value(json_object_get(round->away, "task"));
    json_t *answers = tfy__mcp_answers(round);
    if (!answers) return send_request(job, "tasks/get", json_pack("{s:s}", "taskId", id), json_object(), on_task);
    return send_request(job, "tasks/update", json_pack("{s:s, s:O}", "taskId", id, "inputResponses", answers),
                        json_object(), on_updated);
}

static void go_on(Job *job)
{
    TfyCall *call = job->call;
    const bool away = call->round && call->round->away;
    const bool sent = away ? send_of_task(job)
                           : is_same(job->server, call) && knows_keys(job->server, call) &&
                                 send_request(job, "tools/call", call_params(call), meta_of(call), on_answer);
    if (!sent) (void)leave(job);
}

/* ---- its tools ---- */

static json_t *by_name(const json_t *tools)
{
    size_t i;
    json_t *tool, *all = json_object();
    json_array_foreach(
        tools, i, tool) if (all && json_object_set(all, json_string_value(json_object_get(tool, "name")), tool) != 0)
    {
        json_decref(all);
        all = NULL;
    }
    return all;
}

static void on_tools(void *arg, json_t *tools, const char *why, const TfyMcpEnd *failed)
{
    TfyMcpOpen *server = arg;
    LIST(Job) waiting = {server->waiting.first, server->waiting.last};
    server->waiting.first = server->waiting.last = NULL;
    server->listing = NULL;
    if (tools) server->tools = by_name(tools);
    for (Job *job; (job = LIST_TAKE(&waiting, next));) {
        if (server->tools) {
            go_on(job);
            continue;
        }
        TfyCall *call = leave(job);
        if (tools)
            tfy__call_starved(call);
        else if (failed && !repeats(call, failed, TFY_NOT_DONE))
            fail_as(server, call, failed, TFY_NOT_DONE);
        else if (!failed)
            fail_saying(call, 0, "was not called: ", why, strlen(why));
    }
}

/* The job waits until the tools are known. False after its call has failed. */
static bool await_tools(Job *job)
{
    TfyMcpOpen *server = job->server;
    if (!server->listing) server->listing = tfy__mcp_list(server->client, on_tools, server);
    if (!server->listing) return starve(job->call);
    LIST_APPEND(&server->waiting, job, next);
    return true;
}

/* ---- the performer ---- */

/* May the call leave now? False after it has failed, or waits for the list of tools. */
static bool may_go(Job *job)
{
    bool bounded;
    TfyCall *call = job->call;
    const TfyMcpOpen *server = job->server;
    if (server->url && !tfy__http_is_within(call, server->url, server->of->name, &bounded)) {
        (void)leave(job);
        return false;
    }
    if (server->tools || (call->round && call->round->away)) return true;
    if (!await_tools(job)) (void)leave(job);
    return false;
}

static void start(TfyCall *call)
{
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    call->outcome = unsent(call);
    TfyMcpOpen *server = may_log_in(call) ? tfy__mcp_server_of(call) : NULL;
    Job *job = server ? tfy__sys_calloc(1, sizeof *job) : NULL;
    if (server && !job) tfy__call_starved(call);
    if (job) {
        *job = (Job){.call = call, .server = server};
        call->state = job;
        if (may_go(job)) go_on(job);
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void abort_call(TfyCall *call)
{
    Job *job = call->state;
    call->state = NULL;
    if (!job) return;
    if (job->asked)
        tfy__mcp_cancel(job->asked, "the step was cancelled");
    else
        LIST_REMOVE(&job->server->waiting, job, next);
    free(job);
}

static void on_cancelled(void *arg, const TfyMcpEnd *end)
{
    (void)arg, (void)end; /* nobody waits for it */
}

/* Of a server that this process has talked to: another one would be started only to be told. */
void tfy__mcp_abandon(const TfyCall *call, const json_t *away)
{
    TfyMcpOpen *server = tfy__mcp_server_known(call);
    json_t *params = json_pack("{s:O}", "taskId", json_object_get(away, "task"));
    const TfyMcpRequest request = {.method = "tasks/cancel", .params = params, .ended = on_cancelled};
    if (server && params) tfy__mcp_request(server->client, &request);
    json_decref(params);
}

static bool tell(TfyCall *call, const json_t *messages, TfyBuffer *out)
{
    const TfyMcpTool *mcp = call->tool->mcp;
    json_t *arguments = tfy__mcp_arguments(call->tool, call->args);
    (void)messages;
    if (!arguments) return false;
    tfy__buffer_text(out, "\"server\":");
    tfy__buffer_json_string(out, mcp->server->name, strlen(mcp->server->name));
    tfy__buffer_text(out, ",\"tool\":");
    tfy__buffer_json_string(out, mcp->name, strlen(mcp->name));
    tfy__buffer_text(out, ",\"arguments\":");
    tfy__encode_json(out, arguments);
    json_decref(arguments);
    return !out->failed;
}

static int prepare(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const int code = tfy__secrets_prepare(loop, program, error_text);
    return code == TFY_OK ? tfy__sandbox_prepare(loop, program, error_text) : code;
}

const TfyPerformer tfy__perform_mcp = {.name = "mcp",
                                       .start = start,
                                       .abort = abort_call,
                                       .close = tfy__mcp_servers_close,
                                       .tell = tell,
                                       .prepare = prepare,
                                       .end_former = tfy__former_end,
                                       .inquiry = &tfy__mcp_inquiry,
                                       .rounds = &tfy__rounds};

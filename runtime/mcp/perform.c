/* perform.c: tools of MCP servers: one request tools/call per attempt, its result turned into a value.
 *
 * A server is opened with the first call of one of its tools, and shared by all runs of the loop. Before anything is
 * called it is asked for its tools: a tool that is gone, or takes or gives something else than when it was pulled, is not
 * called. It is asked again when it says that its tools have changed.
 *
 * A server that answers with isError, or refuses a request, has reported a failure: nothing was done. A call that was
 * sent and not answered is unknown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/tool_digest.h"
#include "effects/former.h"
#include "effects/http_client.h"
#include "effects/http_parts.h"
#include "effects/invocation.h"
#include "effects/known.h"
#include "effects/output.h"
#include "effects/process.h"
#include "effects/secret_source.h"
#include "mcp/arguments.h"
#include "mcp/client.h"
#include "mcp/content.h"
#include "mcp/tools.h"
#include "value/heap.h"
#include "value/json.h"

#define SAID_MOST ((size_t)4000) /* bytes of what a server says, in an error */
#define LAST_MOST ((size_t)300)  /* bytes of its last words there */

typedef struct Server Server;

/* A call under way: it waits for the list of tools, or for its answer. */
typedef struct Job {
    TfyCall *call;
    Server *server;
    TfyMcpCall *asked; /* NULL: it waits for the list */
    struct Job *next;  /* of those that wait */
} Job;

struct Server {
    Server *next;
    TfyLoop *loop;
    const TfyMcpServer *of;
    TfyMcpSpec spec;
    TfyMcp *client;
    /* What the spec points to; owned, with copies of the words: the values that they come from do not stay. */
    TfyInvocation invocation;
    char **argv, **env, **headers, *url;
    json_t *tools;          /* by name, each as tools/list has it; NULL: they are not known */
    TfyMcpListing *listing; /* NULL: nobody asks for them */
    LIST(Job) waiting;      /* for them */
    char last[LAST_MOST];   /* what it wrote on stderr last, since it has answered; NUL-terminated */
};

/* ---- servers ---- */

static void free_words(char **words)
{
    for (char **word = words; word && *word; word++) {
        explicit_bzero(*word, strlen(*word));
        free(*word);
    }
    free(words);
}

static void free_server(Server *server)
{
    if (server->listing) tfy__mcp_list_stop(server->listing);
    tfy__mcp_close(server->client);
    tfy__invocation_free(&server->invocation);
    free_words(server->argv);
    free_words(server->env);
    free_words(server->headers);
    if (server->url) explicit_bzero(server->url, strlen(server->url));
    free(server->url);
    json_decref(server->tools);
    free(server);
}

/* NULL: no memory. */
static char **copy_words(const char *const *words)
{
    size_t count = 0;
    while (words[count]) count++;
    char **copy = tfy__sys_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = tfy__sys_printf("%s", words[i]);
        if (copy[i]) continue;
        free_words(copy);
        return NULL;
    }
    return copy;
}

/* How many of the bytes are whole characters, `most` at most. */
static size_t whole_characters(const char *text, size_t len, size_t most)
{
    if (len <= most) return len;
    for (len = most; len && ((unsigned char)text[len] & 0xC0) == 0x80;) len--;
    return len;
}

/* A line of the server's stderr, or of the client about it. */
static void on_log(void *arg, bool own, const char *text, size_t len)
{
    Server *server = arg;
    if (own)
        tfy__report_text(server->loop, "tfy: %s: %.*s\n", server->of->name, (int)len, text);
    else
        snprintf(server->last, sizeof server->last, "%.*s", (int)whole_characters(text, len, LAST_MOST - 1), text);
}

static void on_notified(void *arg, const char *method, const json_t *params)
{
    Server *server = arg;
    (void)params;
    if (strcmp(method, "notifications/tools/list_changed") != 0) return;
    json_decref(server->tools);
    server->tools = NULL;
}

/* ---- opening one; the helpers return false after the call has failed ---- */

static bool starve(TfyCall *call)
{
    tfy__call_starved(call);
    return false;
}

/* Its process, as the program declares it. */
static bool take_words(Server *server, TfyCall *call)
{
    const TfyMcpServer *of = server->of;
    TfyValue argv = {.o = NULL}, env = {.o = NULL}, cwd = {.o = NULL};
    if (!of->argv(call->task, NULL, &argv) || (of->env && !of->env(call->task, NULL, &env)) ||
        (of->cwd && !of->cwd(call->task, NULL, &cwd))) {
        tfy__output_panicked(call);
        return false;
    }
    if (!tfy__invocation_build(&server->invocation, call, argv.o, env.o, cwd.o, NULL)) return false;
    server->argv = copy_words(server->invocation.argv);
    server->env = copy_words((const char *const *)server->invocation.env);
    return (server->argv && server->env) || starve(call);
}

static bool take_headers(Server *server, TfyCall *call, const TfyObj *map)
{
    const int64_t count = map ? tfy_map_len(map) : 0;
    server->headers = tfy__sys_calloc((size_t)count + 1, sizeof *server->headers);
    for (int64_t i = 0; server->headers && i < count; i++) {
        server->headers[i] = tfy__http_header_line(call, &server->invocation.secrets, tfy_map_key_at(map, i).o,
                                                   tfy_map_value_at(map, i).o);
        if (!server->headers[i]) return false;
    }
    return server->headers || starve(call);
}

/* Its address, and what is sent with each request. */
static bool take_address(Server *server, TfyCall *call)
{
    const TfyMcpServer *of = server->of;
    TfyValue url = {.o = NULL}, headers = {.o = NULL};
    size_t len;
    if (!of->url(call->task, NULL, &url) || (of->env && !of->env(call->task, NULL, &headers))) {
        tfy__output_panicked(call);
        return false;
    }
    const char *text = tfy__secrets_fill(&server->invocation.secrets, call, url.o, &len);
    if (!text) {
        tfy__secrets_fail(call, &server->invocation.secrets);
        return false;
    }
    char *shown = memchr(text, 0, len) ? NULL : tfy__http_public_url(text);
    free(shown);
    if (!shown) {
        tfy__call_tool_error(call, EINVAL, "the server '%s' needs an address that starts with http:// or https://",
                             of->name);
        return false;
    }
    server->url = tfy__sys_printf("%s", text);
    return server->url ? take_headers(server, call, headers.o) : starve(call);
}

static bool open_client(Server *server, TfyCall *call)
{
    server->spec = (TfyMcpSpec){.name = server->of->name,
                                .argv = (const char *const *)server->argv,
                                .env = (const char *const *)server->env,
                                .cwd_fd = server->invocation.cwd_fd,
                                .confined = server->argv ? &server->invocation.confined : NULL,
                                .url = server->url,
                                .headers = (const char *const *)server->headers,
                                .events = {.log = on_log, .notified = on_notified},
                                .arg = server};
    server->client = tfy__mcp_open(server->loop, &server->spec);
    return server->client || starve(call);
}

static Server *new_server(TfyCall *call)
{
    Server *server = tfy__sys_calloc(1, sizeof *server);
    if (!server) {
        tfy__call_starved(call);
        return NULL;
    }
    server->loop = call->loop;
    server->of = call->tool->mcp->server;
    server->invocation.cwd_fd = -1;
    if ((server->of->argv ? take_words(server, call) : take_address(server, call)) && open_client(server, call)) {
        tfy__secrets_used(call, &server->invocation.secrets);
        return server;
    }
    free_server(server);
    return NULL;
}

/* NULL after the call has failed. */
static Server *server_of(TfyCall *call)
{
    Server **place = (Server **)tfy__effect_slot(call->loop, TFY_M_MCP), *server = *place;
    while (server && server->of != call->tool->mcp->server) server = server->next;
    if (server) return server;
    server = new_server(call);
    if (!server) return NULL;
    server->next = *place;
    return *place = server;
}

/* ---- the end of a call ---- */

static TfyCall *leave(Job *job)
{
    TfyCall *call = job->call;
    call->state = NULL;
    free(job);
    return call;
}

/* Masks the values of secrets in what came from outside. */
static void mask(TfyBuffer *text)
{
    TfyBuffer masked = {0};
    if (!tfy__known_mask(text->data, text->len, false, &masked)) return;
    tfy__buffer_free(text);
    *text = masked;
}

static void fail_saying(TfyCall *call, int64_t code, const char *how, const char *text, size_t len)
{
    TfyBuffer said = {0};
    tfy__buffer_add(&said, text, whole_characters(text, len, SAID_MOST));
    mask(&said);
    tfy__call_tool_error(call, code, "'%s' %s%.*s", call->tool->name, how, (int)said.len, said.data ? said.data : "");
    tfy__buffer_free(&said);
}

/* What a tool gives: its structured content, or its text where that is wanted or there is nothing else. */
static bool give_result(TfyCall *call, const json_t *result)
{
    TfyBuffer text = {0};
    const json_t *structured = json_object_get(result, "structuredContent");
    if (call->result->kind != TFY_STRING && structured)
        tfy__encode_json(&text, structured);
    else
        tfy__mcp_text(&text, result);
    mask(&text);
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
    const char *type = json_string_value(json_object_get(result, "resultType"));
    TfyBuffer text = {0};
    if (type && strcmp(type, "complete") != 0) {
        fail_saying(call, 0, "is not done: the server wants more from its client: ", type, strlen(type));
    } else if (json_is_true(json_object_get(result, "isError"))) {
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

static void fail_as(const Server *server, TfyCall *call, const TfyMcpEnd *end, TfyOutcome outcome)
{
    call->outcome = outcome;
    if (end->no_room)
        tfy__call_no_room(call, ENOMEM);
    else if (end->how == TFY_MCP_REFUSED)
        fail_saying(call, end->code, "was refused: ", end->message, strlen(end->message));
    else
        fail_unanswered(call, end, server->last);
}

static void on_answer(void *arg, const TfyMcpEnd *end)
{
    Server *server = ((Job *)arg)->server;
    TfyCall *call = leave(arg);
    if (end->how != TFY_MCP_FAILED) *server->last = '\0';
    if (end->how == TFY_MCP_ANSWERED)
        take_result(call, end->result);
    else
        fail_as(server, call, end, end->outcome);
}

/* ---- the call ---- */

/* Says how a description differs: a model reads the one of the file. */
static void warn_of_text(const Server *server, const TfyTool *tool, const json_t *live)
{
    if (tfy__json_digest(json_object_get(live, "description")) == tool->mcp->doc) return;
    tfy__report_text(server->loop,
                     "tfy: the description of '%s' has changed since it was pulled; to see it, run: "
                     "tfy mcp pull %s\n",
                     tool->name, server->of->file);
}

/* Is the tool still what the program was compiled with? False after the call has failed. */
static bool is_same(const Server *server, TfyCall *call)
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

/* False after the call has failed. */
static bool send_call(Job *job)
{
    TfyCall *call = job->call;
    const TfyMcpTool *mcp = call->tool->mcp;
    json_t *arguments = tfy__mcp_arguments(call->tool, call->args);
    json_t *meta = json_pack("{s:s}", "tfy/key", call->key);
    json_t *params = arguments ? json_pack("{s:s, s:O}", "name", mcp->name, "arguments", arguments) : NULL;
    const TfyMcpRequest request = {.method = "tools/call",
                                   .params = params,
                                   .meta = meta,
                                   .schema =
                                       json_object_get(json_object_get(job->server->tools, mcp->name), "inputSchema"),
                                   .once = call->tool->repeat == TFY_ONCE,
                                   .ended = on_answer,
                                   .arg = job};
    if (params && meta) job->asked = tfy__mcp_request(job->server->client, &request);
    json_decref(arguments);
    json_decref(params);
    json_decref(meta);
    if (job->asked) call->outcome = TFY_UNKNOWN;
    return job->asked || starve(call);
}

static void go_on(Job *job)
{
    if (!is_same(job->server, job->call) || !send_call(job)) (void)leave(job);
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
    Server *server = arg;
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
        else if (failed)
            fail_as(server, call, failed, TFY_NOT_DONE);
        else
            fail_saying(call, 0, "was not called: ", why, strlen(why));
    }
}

/* The job waits until the tools are known. False after its call has failed. */
static bool await_tools(Job *job)
{
    Server *server = job->server;
    if (!server->listing) server->listing = tfy__mcp_list(server->client, on_tools, server);
    if (!server->listing) return starve(job->call);
    LIST_APPEND(&server->waiting, job, next);
    return true;
}

/* ---- the performer ---- */

static void start(TfyCall *call)
{
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    bool bounded;
    call->outcome = TFY_NOT_DONE;
    Server *server = server_of(call);
    Job *job = server ? tfy__sys_calloc(1, sizeof *job) : NULL;
    if (server && !job) tfy__call_starved(call);
    if (job) {
        *job = (Job){.call = call, .server = server};
        call->state = job;
        if (server->url && !tfy__http_is_within(call, server->url, server->of->name, &bounded))
            (void)leave(job);
        else if (server->tools)
            go_on(job);
        else if (!await_tools(job))
            (void)leave(job);
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

static void close_servers(TfyLoop *loop)
{
    Server **place = (Server **)tfy__effect_slot(loop, TFY_M_MCP);
    for (Server *server; (server = *place);) {
        *place = server->next;
        free_server(server);
    }
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    tfy__secret_close(loop);
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
                                       .close = close_servers,
                                       .tell = tell,
                                       .prepare = prepare,
                                       .end_former = tfy__former_end};

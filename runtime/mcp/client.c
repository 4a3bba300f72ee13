/* client.c: see client.h.
 *
 *   CLOSED ──request──▶ STARTING ──▶ PROBING ──result──────────────▶ OPEN
 *      ▲                   │ it is known   └─else─▶ GREETING ──result──▲
 *      │                   └─ to be older ─────────────▲
 *      └── the server dies, or cannot be greeted; a session is lost (then it is greeted again)
 *
 * A call is QUEUED until the client is open, then SENT. Calls that fail together do so oldest first; those that a
 * handler adds meanwhile are not among them, since their numbers are higher. */
#include "mcp/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "mcp/http.h"
#include "mcp/message.h"
#include "mcp/stdio.h"
#include "value/json.h"

#define NS_PER_MS     INT64_C(1000000)
#define PROBE_MS      5000 /* a process that says nothing to server/discover is an older one */
#define PROBE_HTTP_MS 60000
#define GREET_MS      60000 /* a server may install itself before it answers */
#define PAUSE_MS      1000  /* before a server that has died is started again */
#define PAUSE_MOST_MS 60000
#define ASKED_MOST    64 /* questions of a server that wait at once */
#define QUOTED        80 /* bytes of what a server wrote, for the log */

static const char *const older_revisions[] = {"2025-11-25", "2025-06-18"};

typedef enum State { CLOSED, STARTING, PROBING, GREETING, OPEN } State;

struct TfyMcpCall {
    TfyMcpCall *prev, *next; /* in order of their ids */
    TfyMcp *client;
    int64_t id;
    char *method;
    json_t *params, *meta, *schema; /* owned; or NULL */
    bool own;                       /* of the client itself, to open the server */
    bool once;
    TfyMcpHandler *ended;
    void (*progress)(void *arg, const json_t *params);
    void *arg;
    enum { QUEUED, SENT, UNSENT } stage; /* UNSENT: it could not be sent, and fails in a moment */
    bool again;                          /* it is sent a second time, in a new session */
    uint64_t upto;                       /* over stdio: bytes that have left when all of it has */
    TfyMcpPost *post;                    /* over HTTP, while it is under way */
};

struct TfyMcpAsked {
    TfyMcpAsked *prev, *next;
    TfyMcp *client;
    json_t *id; /* owned */
};

struct TfyMcp {
    TfyLoop *loop;
    TfyMcpSpec spec;
    State state;
    bool older;           /* the server is of the older kind, or is taken for it */
    bool greeted;         /* … that is certain */
    bool corrected;       /* it was probed twice, since it named our revision */
    const char *revision; /* NULL: not known yet */
    json_t *server, *capabilities;
    TfyBuffer self;   /* what it says of itself to a server of 2026-07-28: an object; empty: it has said nothing */
    TfyMcpPipe *pipe; /* NULL: none */
    TfyMcpHttp *http; /* NULL: none yet */
    LIST(TfyMcpCall) calls;
    LIST(TfyMcpAsked) asked;
    uint32_t asked_count;
    int64_t last_id;
    TfyMcpCall *probe, *greeting; /* under way; NULL: they are not */
    uint64_t timer;               /* of the state; 0: none */
    uint64_t soon;                /* timer: calls that could not be sent fail; 0: none */
    int64_t pause_ms;             /* after the newest death; 0: it has not died since it answered */
    int64_t not_before_ns;        /* when the process may start again */
};

/* ---- small parts ---- */

static bool is_modern(const TfyMcp *client)
{
    return client->revision && strcmp(client->revision, TFY_MCP_MODERN) == 0;
}

__attribute__((format(printf, 2, 3))) static void tell(TfyMcp *client, const char *format, ...)
{
    char text[TFY_ERROR_TEXT];
    va_list args;
    if (!client->spec.events.log) return;
    const int used = snprintf(text, sizeof text, "the MCP server '%.64s' ", client->spec.name);
    va_start(args, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    client->spec.events.log(client->spec.arg, true, text, strlen(text));
}

static void set_timer(TfyMcp *client, int64_t wait_ms, TfyTimerHandler handler)
{
    if (client->timer) tfy__timer_del(client->loop, client->timer);
    client->timer =
        handler ? tfy__timer_add(client->loop, tfy__now_ns(client->loop) + wait_ms * NS_PER_MS, handler, client) : 0;
}

static TfyMcpCall *call_of(const TfyMcp *client, const json_t *id)
{
    TfyMcpCall *call = client->calls.first;
    while (call && !tfy__mcp_is_id(id, call->id)) call = call->next;
    return call;
}

/* ---- the end of calls ---- */

static void free_call(TfyMcpCall *call)
{
    TfyMcp *client = call->client;
    if (client->probe == call) client->probe = NULL;
    if (client->greeting == call) client->greeting = NULL;
    LIST2_REMOVE(&client->calls, call, prev, next);
    if (call->post) tfy__mcp_post_stop(call->post);
    json_decref(call->params);
    json_decref(call->meta);
    json_decref(call->schema);
    free(call->method);
    free(call);
}

static void finish(TfyMcpCall *call, const TfyMcpEnd *end)
{
    TfyMcpHandler *ended = call->ended;
    void *arg = call->arg;
    if (call->post && end->how != TFY_MCP_FAILED) {
        tfy__mcp_post_leave(call->post);
        call->post = NULL;
    }
    if (end->how != TFY_MCP_FAILED && !call->own) call->client->pause_ms = 0;
    free_call(call);
    if (ended) ended(arg, end);
}

/* What went wrong with all calls that fail with it. */
typedef struct Failure {
    char text[TFY_ERROR_TEXT]; /* a sentence */
    long status;
    const char *login, *challenge; /* as in TfyMcpEnd */
    bool no_room;
    uint64_t written; /* over stdio: bytes that had left */
} Failure;

__attribute__((format(printf, 3, 4))) static void say(const TfyMcp *client, Failure *failure, const char *format, ...)
{
    va_list args;
    const int used = snprintf(failure->text, sizeof failure->text, "the MCP server '%.64s' ", client->spec.name);
    va_start(args, format);
    vsnprintf(failure->text + used, sizeof failure->text - (size_t)used, format, args);
    va_end(args);
}

static void fail(TfyMcpCall *call, const Failure *failure, TfyOutcome outcome)
{
    finish(call, &(TfyMcpEnd){.how = TFY_MCP_FAILED,
                              .message = failure->text,
                              .status = failure->status,
                              .login = failure->login,
                              .challenge = failure->challenge,
                              .outcome = outcome,
                              .no_room = failure->no_room});
}

/* A line that has not left whole cannot have been read as a message. */
static TfyOutcome outcome_of(const TfyMcpCall *call, const Failure *failure)
{
    return call->stage == SENT && (call->post || call->upto <= failure->written) ? TFY_UNKNOWN : TFY_NOT_DONE;
}

static void fail_all(TfyMcp *client, const Failure *failure)
{
    const int64_t newest = client->last_id;
    for (TfyMcpCall *call; (call = client->calls.first) && call->id <= newest;)
        fail(call, failure, outcome_of(call, failure));
}

/* ---- sending ---- */

static void set_new(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

/* What each request of 2026-07-28 says about its client. It stays the same, and is written once. */
static const TfyBuffer *self_of(TfyMcp *client)
{
    if (client->self.len && !client->self.failed) return &client->self;
    json_t *self = json_object();
    set_new(self, "io.modelcontextprotocol/protocolVersion", json_string(TFY_MCP_MODERN));
    set_new(self, "io.modelcontextprotocol/clientInfo", json_pack("{s:s, s:s}", "name", "tfy", "version", TFY_VERSION));
    set_new(self, "io.modelcontextprotocol/clientCapabilities",
            client->spec.capabilities ? json_incref((json_t *)client->spec.capabilities) : json_object());
    if (client->spec.log_level) set_new(self, "io.modelcontextprotocol/logLevel", json_string(client->spec.log_level));
    tfy__buffer_free(&client->self);
    tfy__encode_json(&client->self, self);
    json_decref(self);
    return &client->self;
}

/* The "_meta" of a request. */
static void put_meta(TfyBuffer *out, const TfyMcpCall *call, bool modern)
{
    if (call->meta)
        tfy__encode_json(out, call->meta);
    else
        tfy__buffer_text(out, "{}");
    if (call->progress) {
        tfy__mcp_reopen(out);
        tfy__buffer_text(out, "\"progressToken\":");
        tfy__buffer_int(out, call->id);
        tfy__buffer_char(out, '}');
    }
    if (!modern) return;
    const TfyBuffer *self = self_of(call->client);
    tfy__mcp_reopen(out);
    if (self->failed)
        out->failed = true;
    else
        tfy__buffer_add(out, self->data + 1, self->len - 1);
}

/* Appends a request as it is sent. */
static void put_request(TfyBuffer *out, const TfyMcpCall *call, bool modern)
{
    TfyBuffer meta = {0};
    put_meta(&meta, call, modern);
    const bool some = meta.len > strlen("{}");
    tfy__mcp_write_request(out, call->id, call->method, json_object_size(call->params) ? call->params : NULL,
                           some ? &meta : NULL);
    out->failed |= meta.failed;
    tfy__buffer_free(&meta);
}

static void fail_unsent(void *arg)
{
    TfyMcp *client = arg;
    Failure failure = {.status = 0};
    client->soon = 0;
    say(client, &failure, "cannot be asked: it does not read, or memory ran out");
    for (TfyMcpCall *call = client->calls.first; call;) {
        const bool unsent = call->stage == UNSENT;
        if (unsent) fail(call, &failure, TFY_NOT_DONE);
        call = unsent ? client->calls.first : call->next;
    }
}

static void send_call(TfyMcpCall *call)
{
    TfyMcp *client = call->client;
    TfyBuffer text = {0};
    const bool modern = call == client->probe || (call != client->greeting && is_modern(client));
    bool ok = true;
    put_request(&text, call, modern);
    if (!text.failed && client->http) {
        call->post = tfy__mcp_post(client->http, &(TfyMcpPosted){.text = text.data,
                                                                 .len = text.len,
                                                                 .modern = modern,
                                                                 .method = call->method,
                                                                 .params = call->params,
                                                                 .schema = call->schema,
                                                                 .once = call->once,
                                                                 .call = call});
        ok = call->post;
    } else {
        ok = !text.failed && client->pipe && tfy__mcp_pipe_send(client->pipe, text.data, text.len);
        if (ok) call->upto = tfy__mcp_pipe_given(client->pipe);
    }
    tfy__buffer_free(&text);
    call->stage = ok ? SENT : UNSENT;
    if (!ok && !client->soon)
        client->soon = tfy__timer_add(client->loop, tfy__now_ns(client->loop), fail_unsent, client);
}

/* A notification, or an answer to a question: nobody waits for what becomes of it. method NULL: an answer. */
static void send_text(TfyMcp *client, const TfyBuffer *text, const char *method)
{
    if (text->failed) return;
    if (client->http)
        tfy__mcp_post(
            client->http,
            &(TfyMcpPosted){.text = text->data, .len = text->len, .modern = is_modern(client), .method = method});
    else if (client->pipe)
        tfy__mcp_pipe_send(client->pipe, text->data, text->len);
}

static void notify(TfyMcp *client, const char *method, const json_t *params)
{
    TfyBuffer text = {0};
    tfy__mcp_write_notification(&text, method, params);
    send_text(client, &text, method);
    tfy__buffer_free(&text);
}

/* ---- questions of older servers ---- */

static void free_asked(TfyMcpAsked *asked)
{
    LIST2_REMOVE(&asked->client->asked, asked, prev, next);
    asked->client->asked_count--;
    json_decref(asked->id);
    free(asked);
}

static void void_asked(TfyMcpAsked *asked)
{
    const TfyMcpSpec *spec = &asked->client->spec;
    if (spec->events.asked_no_more) spec->events.asked_no_more(spec->arg, asked);
    free_asked(asked);
}

static void send_refusal(TfyMcp *client, const json_t *id, int64_t code, const char *message)
{
    TfyBuffer text = {0};
    tfy__mcp_write_error(&text, id, code, message);
    send_text(client, &text, NULL);
    tfy__buffer_free(&text);
}

static void send_result(TfyMcp *client, const json_t *id, const json_t *result)
{
    TfyBuffer text = {0};
    tfy__mcp_write_result(&text, id, result);
    send_text(client, &text, NULL);
    tfy__buffer_free(&text);
}

void tfy__mcp_answer(TfyMcpAsked *asked, const json_t *result)
{
    send_result(asked->client, asked->id, result);
    free_asked(asked);
}

void tfy__mcp_refuse(TfyMcpAsked *asked, int64_t code, const char *message)
{
    send_refusal(asked->client, asked->id, code, message);
    free_asked(asked);
}

/* The capability that a question needs; NULL: there is no such question. */
static const char *capability_of(const char *method)
{
    static const char *const questions[][2] = {
        {"elicitation/create", "elicitation"}, {"sampling/createMessage", "sampling"}, {"roots/list", "roots"}};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(method, questions[i][0]) == 0) return questions[i][1];
    return NULL;
}

static void decline(TfyMcp *client, const json_t *id)
{
    json_t *declined = json_pack("{s:s}", "action", "decline");
    send_result(client, id, declined);
    json_decref(declined);
}

/* What the question belongs to: the only call under way, if nothing else is known. */
static const TfyMcpCall *asking(const TfyMcp *client, const TfyMcpCall *call)
{
    if (call || !client->calls.first || client->calls.first->next) return call;
    return client->calls.first;
}

static void hand_out(TfyMcp *client, const TfyMcpCall *call, const TfyMcpMessage *message)
{
    const TfyMcpSpec *spec = &client->spec;
    TfyMcpAsked *asked = client->asked_count < ASKED_MOST ? tfy__sys_calloc(1, sizeof *asked) : NULL;
    if (!asked) {
        send_refusal(client, message->id, TFY_MCP_INTERNAL, "too many questions wait");
        return;
    }
    asked->client = client;
    asked->id = json_incref((json_t *)message->id);
    LIST2_APPEND(&client->asked, asked, prev, next);
    client->asked_count++;
    spec->events.asked(spec->arg, asked, asking(client, call), message->method, message->params);
}

static void on_question(TfyMcp *client, const TfyMcpCall *call, const TfyMcpMessage *message)
{
    const char *capability = capability_of(message->method);
    const bool offered = capability && json_object_get(client->spec.capabilities, capability);
    const bool elicits = capability && strcmp(capability, "elicitation") == 0;
    json_t *nothing = json_object();
    if (is_modern(client))
        tell(client, "asked '%.*s', which its revision does not allow", QUOTED, message->method);
    else if (strcmp(message->method, "ping") == 0)
        send_result(client, message->id, nothing);
    else if (client->spec.events.asked && (offered || elicits))
        hand_out(client, call, message);
    else if (elicits)
        decline(client, message->id);
    else
        send_refusal(client, message->id, TFY_MCP_NO_METHOD, "this client does not offer that");
    json_decref(nothing);
}

/* ---- the end of a connection ---- */

/* Forgets everything that belongs to the connection but the calls of others. */
static void drop(TfyMcp *client)
{
    client->state = CLOSED;
    set_timer(client, 0, NULL);
    if (client->probe) free_call(client->probe);
    if (client->greeting) free_call(client->greeting);
    while (client->asked.first) void_asked(client->asked.first);
    if (client->http) tfy__mcp_http_forget_session(client->http);
}

/* The server is gone, or is of no use; the calls fail. */
static void lose(TfyMcp *client, Failure *failure)
{
    client->pause_ms = !client->pause_ms                      ? PAUSE_MS
                       : client->pause_ms < PAUSE_MOST_MS / 2 ? client->pause_ms * 2
                                                              : PAUSE_MOST_MS;
    client->not_before_ns = client->spec.argv ? tfy__now_ns(client->loop) + client->pause_ms * NS_PER_MS : 0;
    if (client->pipe) {
        failure->written = tfy__mcp_pipe_written(client->pipe);
        tfy__mcp_pipe_stop(client->pipe);
        client->pipe = NULL;
    }
    client->older = client->greeted;
    drop(client);
    fail_all(client, failure);
}

static void open_soon(TfyMcp *client, int64_t wait_ms);

static void on_pipe_end(void *arg, const TfyMcpPipeEnd *end)
{
    TfyMcp *client = arg;
    Failure failure = {.no_room = end->no_room, .written = end->started ? tfy__mcp_pipe_written(client->pipe) : 0};
    const bool probed = client->state == PROBING && end->started && !client->older;
    client->pipe = NULL;
    if (probed) { /* it does not bear a question before it is greeted */
        client->older = true;
        drop(client);
        open_soon(client, 0);
        return;
    }
    if (end->started)
        say(client, &failure, "%s", end->why);
    else
        say(client, &failure, "cannot be started: %s", end->why);
    lose(client, &failure);
}

/* ---- what the server says ---- */

static void on_answer(TfyMcp *client, TfyMcpCall *call, const TfyMcpMessage *message)
{
    /* a refusal for such a reason comes before anything is done */
    const bool undone = (message->code <= TFY_MCP_INVALID_REQUEST && message->code >= TFY_MCP_INVALID_PARAMS) ||
                        message->code == TFY_MCP_PARSE_ERROR || message->code == TFY_MCP_HEADER_MISMATCH ||
                        message->code == TFY_MCP_NO_CAPABILITY || message->code == TFY_MCP_NO_VERSION;
    if (!call) {
        tell(client, "answered a request that nobody waits for");
    } else if (message->kind == TFY_MCP_RESULT) {
        finish(call,
               &(TfyMcpEnd){.how = TFY_MCP_ANSWERED, .result = message->result, .message = "", .outcome = TFY_DONE});
    } else {
        finish(call, &(TfyMcpEnd){.how = TFY_MCP_REFUSED,
                                  .code = message->code,
                                  .data = message->data,
                                  .message = message->message,
                                  .outcome = undone ? TFY_NOT_DONE : TFY_UNKNOWN});
    }
}

static void take_back(TfyMcp *client, const json_t *id)
{
    TfyMcpAsked *asked = client->asked.first;
    while (asked && !json_equal(asked->id, id)) asked = asked->next;
    if (asked) void_asked(asked);
}

static void on_notification(TfyMcp *client, const TfyMcpMessage *message)
{
    const TfyMcpSpec *spec = &client->spec;
    if (strcmp(message->method, "notifications/progress") == 0) {
        TfyMcpCall *call = call_of(client, json_object_get(message->params, "progressToken"));
        if (call && call->progress) call->progress(call->arg, message->params);
    } else if (strcmp(message->method, "notifications/cancelled") == 0) {
        take_back(client, json_object_get(message->params, "requestId"));
    } else if (spec->events.notified) {
        spec->events.notified(spec->arg, message->method, message->params);
    }
}

static void on_too_deep(TfyMcp *client, TfyMcpCall *call, const char *why)
{
    Failure failure = {.status = 0};
    say(client, &failure, "sent a message that is refused: %s", why);
    if (client->spec.argv)
        lose(client, &failure);
    else if (call)
        fail(call, &failure, TFY_UNKNOWN);
    else
        tell(client, "sent a message that is refused: %s", why);
}

/* call: whose exchange it came by; NULL: that is not known. */
static void take_message(TfyMcp *client, TfyMcpCall *call, const char *text, size_t len)
{
    TfyMcpMessage message;
    tfy__mcp_read(text, len, &message);
    switch (message.kind) {
    case TFY_MCP_NONE:
        tell(client, "wrote what is not a message: %s: %.*s", message.why, len < QUOTED ? (int)len : QUOTED, text);
        break;
    case TFY_MCP_TOO_DEEP: on_too_deep(client, call, message.why); break;
    case TFY_MCP_RESULT: on_answer(client, call_of(client, message.id), &message); break;
    case TFY_MCP_ERROR:
        if (!message.id && !call) call = client->probe;
        on_answer(client, message.id ? call_of(client, message.id) : call, &message);
        break;
    case TFY_MCP_NOTIFICATION: on_notification(client, &message); break;
    case TFY_MCP_REQUEST: on_question(client, call, &message); break;
    }
    tfy__mcp_message_free(&message);
}

static void on_line(void *arg, const char *text, size_t len)
{
    take_message(arg, NULL, text, len);
}

static void on_said(void *arg, const char *text, size_t len)
{
    const TfyMcp *client = arg;
    if (client->spec.events.log) client->spec.events.log(client->spec.arg, false, text, len);
}

static void on_message(void *arg, void *call, const char *text, size_t len)
{
    take_message(arg, call, text, len);
}

/* An exchange over HTTP has ended without the answer of its call. */
static void on_post_end(void *arg, void *of, const TfyMcpPostEnd *end)
{
    TfyMcp *client = arg;
    TfyMcpCall *call = of;
    Failure failure = {.status = end->status,
                       .login = end->login ? end->why : NULL,
                       .challenge = end->challenge,
                       .no_room = end->no_room};
    const bool refused = end->status == 401 || end->status == 403 || end->status == 404 || end->status == 405 ||
                         end->status == 429 || (end->status >= 300 && end->status < 400);
    call->post = NULL;
    if (end->no_session && !call->own && !call->again) {
        call->again = true;
        call->stage = QUEUED;
        if (client->state != OPEN) return;
        drop(client);
        open_soon(client, 0);
        return;
    }
    say(client, &failure, "%s", end->why);
    fail(call, &failure, end->sent && !refused ? TFY_UNKNOWN : TFY_NOT_DONE);
}

/* ---- opening ---- */

static TfyMcpCall *new_call(TfyMcp *client, const TfyMcpRequest *request)
{
    TfyMcpCall *call = tfy__sys_calloc(1, sizeof *call);
    char *method = tfy__sys_strdup(request->method);
    if (!call || !method) {
        free(call);
        free(method);
        return NULL;
    }
    *call = (TfyMcpCall){.client = client,
                         .id = ++client->last_id,
                         .method = method,
                         .params = json_incref(request->params),
                         .meta = json_incref(request->meta),
                         .schema = json_incref((json_t *)request->schema),
                         .once = request->once,
                         .ended = request->ended,
                         .progress = request->progress,
                         .arg = request->arg};
    LIST2_APPEND(&client->calls, call, prev, next);
    return call;
}

/* A call of the client itself. NULL: no memory. */
static TfyMcpCall *ask_own(TfyMcp *client, TfyMcpCall **place, const char *method, json_t *params, TfyMcpHandler *ended)
{
    TfyMcpCall *call =
        new_call(client, &(TfyMcpRequest){.method = method, .params = params, .ended = ended, .arg = client});
    json_decref(params);
    if (!call) return NULL;
    call->own = true;
    if (place) *place = call;
    send_call(call);
    return call;
}

/* The server cannot be opened, and nothing was sent of the calls that wait for it. */
__attribute__((format(printf, 3, 4))) static void give_up(TfyMcp *client, const TfyMcpEnd *end, const char *format, ...)
{
    Failure failure = {.status = end ? end->status : 0,
                       .login = end ? end->login : NULL,
                       .challenge = end ? end->challenge : NULL,
                       .no_room = end && end->no_room};
    char text[TFY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (end && end->how == TFY_MCP_FAILED)
        snprintf(failure.text, sizeof failure.text, "%s", end->message);
    else
        say(client, &failure, "%s", text);
    lose(client, &failure);
}

static void keep_json(json_t **place, const json_t *json)
{
    json_decref(*place);
    *place = json_is_object(json) ? json_incref((json_t *)json) : json_object();
}

static void open_now(TfyMcp *client, const char *revision, const json_t *server, const json_t *capabilities)
{
    client->revision = revision;
    client->older = client->greeted = !is_modern(client);
    client->state = OPEN;
    set_timer(client, 0, NULL);
    keep_json(&client->server, server);
    keep_json(&client->capabilities, capabilities);
    if (client->http) tfy__mcp_http_revision(client->http, revision);
    if (client->older) notify(client, "notifications/initialized", NULL);
    if (client->older && client->http) tfy__mcp_http_listen(client->http);
    if (client->older && client->spec.log_level && json_object_get(capabilities, "logging"))
        ask_own(client, NULL, "logging/setLevel", json_pack("{s:s}", "level", client->spec.log_level), NULL);
    for (TfyMcpCall *call = client->calls.first; call; call = call->next)
        if (call->stage == QUEUED) send_call(call);
}

static void on_greeted(void *arg, const TfyMcpEnd *end)
{
    TfyMcp *client = arg;
    const char *version = json_string_value(json_object_get(end->result, "protocolVersion"));
    if (client->probe) free_call(client->probe);
    for (size_t i = 0; version && i < sizeof older_revisions / sizeof *older_revisions; i++) {
        if (strcmp(version, older_revisions[i]) != 0) continue;
        open_now(client, older_revisions[i], json_object_get(end->result, "serverInfo"),
                 json_object_get(end->result, "capabilities"));
        return;
    }
    if (version)
        give_up(client, NULL, "speaks revision %.40s of the protocol, which is not known here", version);
    else
        give_up(client, end, "refuses to begin: %.200s", end->message);
}

static void on_no_greeting(void *arg)
{
    TfyMcp *client = arg;
    client->timer = 0;
    give_up(client, NULL, "did not answer within %d s", GREET_MS / 1000);
}

/* The probe may still be under way: a server that starts slowly answers it, and then before the greeting. */
static void greet(TfyMcp *client)
{
    const json_t *able = client->spec.capabilities;
    client->state = GREETING;
    client->revision = NULL;
    if (client->http) tfy__mcp_http_revision(client->http, NULL);
    set_timer(client, GREET_MS, on_no_greeting);
    json_t *params = json_pack("{s:s, s:o, s:{s:s, s:s}}", "protocolVersion", older_revisions[0], "capabilities",
                               able ? json_copy((json_t *)able) : json_object(), "clientInfo", "name", "tfy", "version",
                               TFY_VERSION);
    if (!ask_own(client, &client->greeting, "initialize", params, on_greeted)) give_up(client, NULL, "cannot be asked");
}

static void on_probed(void *arg, const TfyMcpEnd *end);

static void on_no_probe(void *arg)
{
    TfyMcp *client = arg;
    client->timer = 0;
    if (client->spec.argv)
        greet(client);
    else
        give_up(client, NULL, "did not answer within %d s", PROBE_HTTP_MS / 1000);
}

static void probe(TfyMcp *client)
{
    client->state = PROBING;
    if (client->http) tfy__mcp_http_revision(client->http, TFY_MCP_MODERN);
    set_timer(client, client->spec.argv ? PROBE_MS : PROBE_HTTP_MS, on_no_probe);
    if (!ask_own(client, &client->probe, "server/discover", NULL, on_probed)) give_up(client, NULL, "cannot be asked");
}

/* A list of revisions has ours; or, if newer, one that is newer than ours. */
static bool lists(const json_t *revisions, bool newer)
{
    size_t i;
    const json_t *item;
    json_array_foreach(revisions, i, item)
    {
        const int order = json_is_string(item) ? strcmp(json_string_value(item), TFY_MCP_MODERN) : -1;
        if (newer ? order > 0 : order == 0) return true;
    }
    return false;
}

static bool open_modern(TfyMcp *client, const json_t *result)
{
    const json_t *meta = json_object_get(result, "_meta");
    const json_t *server = json_object_get(meta, "io.modelcontextprotocol/serverInfo");
    if (!lists(json_object_get(result, "supportedVersions"), false)) return false;
    if (client->greeting) free_call(client->greeting);
    open_now(client, TFY_MCP_MODERN, server ? server : json_object_get(result, "serverInfo"),
             json_object_get(result, "capabilities"));
    return true;
}

/* Over HTTP a refusal of the address is not one of the question. */
static bool is_dead_end(const TfyMcpEnd *end)
{
    return end->how == TFY_MCP_FAILED && (end->status < 200 || end->status == 401 || end->status == 403 ||
                                          end->status >= 500 || (end->status >= 300 && end->status < 400));
}

static void on_probed(void *arg, const TfyMcpEnd *end)
{
    TfyMcp *client = arg;
    const json_t *supported = json_object_get(end->data, "supported");
    const bool versions = end->how == TFY_MCP_REFUSED && end->code == TFY_MCP_NO_VERSION;
    if (end->how == TFY_MCP_ANSWERED && open_modern(client, end->result)) return;
    if (client->state == GREETING) return; /* it came late */
    if (versions && lists(supported, false) && !client->corrected) {
        client->corrected = true;
        probe(client);
    } else if (versions && (lists(supported, false) || lists(supported, true))) {
        give_up(client, NULL, "speaks only newer revisions of the protocol than %s", TFY_MCP_MODERN);
    } else if (is_dead_end(end)) {
        give_up(client, end, "cannot be asked");
    } else {
        greet(client);
    }
}

static void on_start(void *arg)
{
    TfyMcp *client = arg;
    client->timer = 0;
    if (client->spec.argv) {
        const TfyMcpPipeTakes takes = {.line = on_line, .said = on_said, .ended = on_pipe_end, .arg = client};
        client->pipe = tfy__mcp_pipe_start(client->loop, &client->spec, &takes);
        if (!client->pipe) {
            Failure failure = {.no_room = tfy__is_no_room(errno)};
            say(client, &failure, "cannot be started: %s", strerror(errno));
            lose(client, &failure);
            return;
        }
    } else if (!client->http) {
        const TfyMcpHttpTakes takes = {.message = on_message, .ended = on_post_end, .arg = client};
        client->http = tfy__mcp_http_new(client->loop, &client->spec, &takes);
        if (!client->http) {
            give_up(client, NULL, "cannot be asked: memory ran out");
            return;
        }
    }
    if (client->older)
        greet(client);
    else
        probe(client);
}

static void open_soon(TfyMcp *client, int64_t wait_ms)
{
    client->state = STARTING;
    client->corrected = false;
    set_timer(client, wait_ms, on_start);
}

/* ---- public functions ---- */

TfyMcp *tfy__mcp_open(TfyLoop *loop, const TfyMcpSpec *spec)
{
    TfyMcp *client = tfy__sys_calloc(1, sizeof *client);
    if (client) *client = (TfyMcp){.loop = loop, .spec = *spec};
    return client;
}

void tfy__mcp_close(TfyMcp *client)
{
    if (!client) return;
    if (client->pipe && client->calls.first) tfy__mcp_pipe_finish(client->pipe);
    while (client->calls.first) free_call(client->calls.first);
    while (client->asked.first) free_asked(client->asked.first);
    set_timer(client, 0, NULL);
    if (client->soon) tfy__timer_del(client->loop, client->soon);
    if (client->pipe) tfy__mcp_pipe_stop(client->pipe);
    tfy__mcp_http_free(client->http);
    json_decref(client->server);
    json_decref(client->capabilities);
    tfy__buffer_free(&client->self);
    free(client);
}

TfyMcpCall *tfy__mcp_request(TfyMcp *client, const TfyMcpRequest *request)
{
    TfyMcpCall *call = new_call(client, request);
    if (!call) return NULL;
    const int64_t wait_ns = client->not_before_ns - tfy__now_ns(client->loop);
    if (client->state == OPEN)
        send_call(call);
    else if (client->state == CLOSED)
        open_soon(client, wait_ns > 0 ? wait_ns / NS_PER_MS + 1 : 0);
    return call;
}

void tfy__mcp_cancel(TfyMcpCall *call, const char *reason)
{
    TfyMcp *client = call->client;
    const bool tell_it = call->stage == SENT && client->state == OPEN && (client->pipe || client->older);
    json_t *params = tell_it ? json_pack("{s:I}", "requestId", (json_int_t)call->id) : NULL;
    if (params && reason) set_new(params, "reason", json_string(reason));
    free_call(call);
    if (params) notify(client, "notifications/cancelled", params);
    json_decref(params);
}

const TfyMcpSpec *tfy__mcp_spec(const TfyMcp *client)
{
    return &client->spec;
}

const char *tfy__mcp_revision(const TfyMcp *client)
{
    return client->revision;
}

const json_t *tfy__mcp_server(const TfyMcp *client)
{
    return client->server;
}

const json_t *tfy__mcp_capabilities(const TfyMcp *client)
{
    return client->capabilities;
}

bool tfy__mcp_is_keyed(const TfyMcp *client)
{
    return json_is_object(json_object_get(json_object_get(client->capabilities, "extensions"), TFY_MCP_CALL_KEY));
}

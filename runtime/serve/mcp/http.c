/* http.c: see http.h.
 *
 *   POST ── serve ──letter──▶ take ──▶ turn ──end──▶ JSON
 *                                       │ say
 *                                       └──▶ a stream: HTTP's thread takes what the host's has written, until the end
 *
 * A request is the host's until it is answered, or a stream begins; then it is HTTP's, and may end at any time. */
#include "serve/mcp/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/mcp/sessions.h"
#include "value/json.h"

/* An answer. It is freed when neither the turn nor the request has it. */
typedef struct TfyMcpStream {
    TfyMcpAnswer answer;
    TfyMcpHost *host;
    TfyRequest *request;   /* of HTTP once it streams; `gone` then says whether it is there */
    bool streams;          /* the host's own */
    pthread_mutex_t mutex; /* held for: */
    int users;
    TfyBuffer out; /* of which `sent` bytes were taken */
    size_t sent;
    bool waits, ended, gone;
} Stream;

static Stream *of(TfyMcpAnswer *answer)
{
    return (Stream *)((char *)answer - offsetof(Stream, answer));
}

static void drop(Stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    const int users = --stream->users;
    pthread_mutex_unlock(&stream->mutex);
    if (users) return;
    pthread_mutex_destroy(&stream->mutex);
    tfy__buffer_free(&stream->out);
    free(stream);
}

/* ---- to the client, on the host's thread ---- */

static void add_event(TfyBuffer *out, const char *text, size_t len)
{
    tfy__buffer_text(out, text ? "event: message\ndata: " : ":");
    tfy__buffer_add(out, text, len);
    tfy__buffer_text(out, "\n\n");
}

/* text NULL: nothing is said, and the connection is seen to be alive. */
static void write_event(Stream *stream, const char *text, size_t len, bool last)
{
    pthread_mutex_lock(&stream->mutex);
    if (text || !last) add_event(&stream->out, text, len);
    stream->ended |= last || stream->out.failed;
    const bool wakes = stream->waits && !stream->gone;
    stream->waits = false;
    if (wakes) tfy__http_go_on(stream->request);
    pthread_mutex_unlock(&stream->mutex);
}

static void say(TfyMcpAnswer *answer, const char *text, size_t len)
{
    Stream *stream = of(answer);
    write_event(stream, text, len, false);
    if (stream->streams) return;
    stream->streams = true;
    stream->users = 2;
    stream->request->mcp = stream;
    tfy__request_done(stream->request);
}

static void end(TfyMcpAnswer *answer, int status, const char *text, size_t len)
{
    Stream *stream = of(answer);
    if (stream->streams) {
        write_event(stream, text, len, true);
    } else {
        stream->request->status = status;
        if (text) tfy__buffer_add(&stream->request->answer, text, len);
        tfy__request_done(stream->request);
    }
    drop(stream);
}

/* ---- the stream, on HTTP's thread ---- */

ssize_t tfy__mcp_stream_take(TfyRequest *request, char *bytes, size_t most)
{
    Stream *stream = request->mcp;
    pthread_mutex_lock(&stream->mutex);
    const size_t left = stream->out.len - stream->sent, len = left < most ? left : most;
    ssize_t taken = (ssize_t)len;
    if (len) memcpy(bytes, stream->out.data + stream->sent, len);
    stream->sent += len;
    if (len == left) {
        tfy__buffer_reset(&stream->out);
        stream->sent = 0;
    }
    if (!len && stream->ended) taken = -1;
    if (!len && !stream->ended) {
        stream->waits = true;
        tfy__http_pause(request);
    }
    pthread_mutex_unlock(&stream->mutex);
    return taken;
}

/* The client has hung up: nobody waits for its call any more; the run goes on. */
static void on_gone(TfyMcpHost *host, void *arg)
{
    Stream *stream = arg;
    for (TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->answer == &stream->answer) tfy__turn_drop(turn);
    tfy__mcp_unstand(host, NULL, &stream->answer, true);
    drop(stream);
}

void tfy__mcp_stream_free(Stream *stream)
{
    if (!stream) return;
    pthread_mutex_lock(&stream->mutex);
    stream->gone = true;
    pthread_mutex_unlock(&stream->mutex);
    if (!tfy__mcp_host_post(stream->host, on_gone, stream)) drop(stream);
}

/* ---- what its headers say ---- */

static const char *header(const TfyRequest *request, const char *name)
{
    return json_string_value(json_object_get(request->headers, name));
}

/* Whether the value of a header is this text, or stands for it: "=?base64?…?=". Blanks around it are no part of it. */
static bool says(const char *value, const char *text)
{
    static const char head[] = "=?base64?", tail[] = "?=";
    value += strspn(value, " \t");
    size_t len = strlen(value);
    while (len && strchr(" \t", value[len - 1])) len--;
    const size_t around = sizeof head + sizeof tail - 2, text_len = strlen(text);
    if (len < around || strncmp(value, head, sizeof head - 1) != 0 || strncmp(value + len - 2, tail, 2) != 0)
        return len == text_len && memcmp(value, text, len) == 0;
    TfyBuffer wanted = {0};
    tfy__write_base64(&wanted, text, text_len);
    const bool same = wanted.len == len - around && memcmp(wanted.data, value + sizeof head - 1, wanted.len) == 0;
    tfy__buffer_free(&wanted);
    return same || (!text_len && len == around);
}

/* What stands between client and server may go by the headers, so they say what the message does. */
static bool header_fits(const TfyRequest *request, const char *name, const char *text, TfyMcpRefusal *refusal)
{
    char small[32];
    size_t len = 0;
    for (; name[len] && len < sizeof small - 1; len++) small[len] = (char)(name[len] | 0x20);
    small[len] = '\0';
    const char *value = header(request, small);
    if (value && says(value, text)) return true;
    return tfy__refusal_set(refusal, 400, TFY_MCP_HEADER_MISMATCH,
                            value ? "the header %s does not say what the message does" : "the header %s is missing",
                            name);
}

/* The text of a message that Mcp-Name repeats. NULL: its method has none. */
static const char *name_in(const TfyMcpMessage *message)
{
    static const char *const members[][2] = {{"tools/call", "name"},     {"prompts/get", "name"},
                                             {"resources/read", "uri"},  {"tasks/get", "taskId"},
                                             {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i][0], message->method) == 0)
            return json_string_value(json_object_get(message->params, members[i][1]));
    return NULL;
}

static bool headers_fit(const TfyRequest *request, const TfyMcpMessage *message, TfyMcpRefusal *refusal)
{
    static const char version[] = "MCP-Protocol-Version";
    const json_t *meta = json_object_get(message->params, "_meta");
    const char *revision = json_string_value(json_object_get(meta, "io.modelcontextprotocol/protocolVersion")),
               *name = name_in(message);
    if (!header(request, "mcp-protocol-version"))
        return tfy__refusal_set(refusal, 400, TFY_MCP_HEADER_MISMATCH, "the header %s is missing", version);
    return (!revision || header_fits(request, version, revision, refusal)) &&
           header_fits(request, "Mcp-Method", message->method, refusal) &&
           (!name || header_fits(request, "Mcp-Name", name, refusal));
}

/* ---- from the client, on the host's thread ---- */

static void refuse(TfyMcpAnswer *answer, const json_t *id, TfyMcpRefusal *refusal)
{
    TfyBuffer text = {0};
    tfy__refusal_write(&text, id, refusal);
    answer->end(answer, refusal->status, text.failed ? NULL : text.data, text.len);
    tfy__buffer_free(&text);
}

/* Whose message it is: that of a session, or of one that greets; else of a peer that is there for it alone. */
static TfyMcpPeer *peer_of(Stream *stream, const TfyMcpMessage *message, TfyMcpRefusal *refusal)
{
    TfyRequest *request = stream->request;
    const char *id = header(request, "mcp-session-id");
    const bool asks = message->kind == TFY_MCP_REQUEST, modern = asks && tfy__mcp_is_modern(message->params);
    TfyMcpPeer *peer = NULL;
    if (id && !modern) {
        peer = tfy__session_peer(stream->host, &request->caller, id);
        if (!peer) tfy__refusal_set(refusal, 404, TFY_MCP_INVALID_REQUEST, "there is no such session: greet anew");
        if (peer) tfy__peer_keep(peer);
        return peer;
    }
    if (asks && !modern && strcmp(message->method, "initialize") == 0) {
        peer = tfy__session_new(stream->host, &request->caller, request->mcp_session);
        if (peer) tfy__peer_keep(peer);
    } else if (!asks || headers_fit(request, message, refusal)) {
        peer = tfy__mcp_peer_new(&request->caller);
    }
    if (!peer) tfy__refusal_set(refusal, 500, TFY_MCP_INTERNAL, "memory ran out");
    return peer;
}

static void on_post(TfyMcpHost *host, void *arg)
{
    Stream *stream = arg;
    TfyBuffer *body = &stream->request->body;
    TfyMcpMessage message;
    TfyMcpRefusal refusal = {.code = 0};
    tfy__mcp_read(body->data ? body->data : "", body->len, &message);
    const bool is_none = message.kind == TFY_MCP_NONE || message.kind == TFY_MCP_TOO_DEEP;
    TfyMcpPeer *peer = is_none ? tfy__mcp_peer_new(&stream->request->caller) : peer_of(stream, &message, &refusal);
    if (peer) {
        tfy__mcp_spoken(host, peer, &message, &stream->answer);
        tfy__mcp_peer_free(peer);
    } else {
        tfy__refusal_set(&refusal, 500, TFY_MCP_INTERNAL, "memory ran out");
        refuse(&stream->answer, message.id, &refusal);
        tfy__mcp_message_free(&message);
    }
}

/* The standing stream of a session. Requests of the newest revision have none. */
static void on_get(TfyMcpHost *host, void *arg)
{
    Stream *stream = arg;
    TfyMcpAnswer *answer = &stream->answer;
    const char *id = header(stream->request, "mcp-session-id");
    TfyMcpPeer *peer = id ? tfy__session_peer(host, &stream->request->caller, id) : NULL;
    if (peer && tfy__mcp_stand(host, peer, answer))
        answer->say(answer, NULL, 0);
    else
        answer->end(answer, !id ? 405 : peer ? 500 : 404, NULL, 0);
}

static void on_delete(TfyMcpHost *host, void *arg)
{
    Stream *stream = arg;
    const char *id = header(stream->request, "mcp-session-id");
    const bool ended = id && tfy__session_end(host, &stream->request->caller, id);
    stream->answer.end(&stream->answer, ended ? 200 : 404, NULL, 0);
}

/* ---- the routes, on HTTP's thread ---- */

static void hand_over(TfyRequest *request, void (*take)(TfyMcpHost *host, void *arg))
{
    TfyMcpHost *host = request->server->mcp;
    Stream *stream = host ? calloc(1, sizeof *stream) : NULL;
    if (stream) {
        *stream = (Stream){.answer = {say, end}, .host = host, .request = request, .users = 1};
        pthread_mutex_init(&stream->mutex, NULL);
        if (tfy__mcp_host_post(host, take, stream)) return;
        drop(stream);
        tfy__problem(&request->problem, TFY_PROBLEM_DRAINING, "ask again once it runs again");
    } else if (host) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND,
                     "nothing is offered here: tfy serve FILE.tfy --mcp, or \"mcp\": true of a program, does it");
    }
    tfy__request_done(request);
}

void tfy__serve_mcp(TfyRequest *request)
{
    hand_over(request, on_post);
}

void tfy__serve_mcp_standing(TfyRequest *request)
{
    hand_over(request, on_get);
}

void tfy__serve_mcp_end(TfyRequest *request)
{
    hand_over(request, on_delete);
}

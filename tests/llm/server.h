/* server.h: an OpenAI-compatible server on loopback that says what a script tells it to, for tests and for recording sessions.
 *
 * A script is a file of JSON lines. The first line not used up whose "match" and "told" occur in the request answers:
 *
 *   {"match": "substring of a user text",   absent: any request
 *    "told": "substring of a tool's text",  absent: whether tools said anything or not
 *    "answer": "text",                      or any other JSON value: then its text is the answer
 *    "finish_reason": "length",             "stop" when absent
 *    "usage": {...},                        10 and some tokens when absent
 *    "message": {"refusal": "no"},          instead of the message with the answer
 *    "times": 2,                            how often it may be used; 1 when absent
 *    "fault": "NAME",                       instead of a good answer, one of the faults below
 *    "words": "too long",                   of a status, in the place of "scripted refusal"
 *    "retry_after": 1,                      seconds, a header of the fault 429 and of statuses
 *    "headers": "a: b\r\nc: d",            more headers of them
 *    "stream": 4,                           to a request for a stream: a stream of events with so many letters each
 *    "delay": 20}                           before each of these events, in ms
 *
 * Faults: "429", "500", "503" and "302" (statuses), "hang" (no answer until the client goes), "truncate" (half a body), "invalid" (a body
 * that is no JSON), "empty" (JSON without choices), "drip" (the good answer one byte at a time), "large" (a body without end),
 * "echo" (401 that quotes the Authorization header), "silent" (closes without a byte), "linger" (the good answer in
 * one piece, then neither a byte nor a close), "no stream" (400 to a request for a stream, the good answer to others). In the middle of
 * a stream: "cut" (closes), "stop" (ends as if all were said), "mute" (nothing until the client goes), "garbage" (an event that is no
 * JSON), "flood" (an event of 9 MiB), "error" (the endpoint gives up); and "linger" after it.
 *
 * All functions are static: each program that needs a server includes this file once. A thread per connection; no keep-alive. */
#ifndef TESTS_LLM_SERVER_H
#define TESTS_LLM_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)16 << 20)

typedef struct Server {
    int fd;        /* listens */
    int port;      /* on 127.0.0.1 */
    json_t *lines; /* array of the script's lines; "times" counts down */
    FILE *log;     /* every request's head and body, or NULL */
    pthread_mutex_t lock;
} Server;

/* One connection and what was read from it. */
typedef struct Client {
    Server *server;
    int fd;
    char *request;   /* head and body, NUL-terminated */
    size_t len, cap; /* bytes */
    size_t body;     /* where the body begins */
} Client;

/* ---- the script ---- */

static bool server_add(Server *server, const char *line, size_t len)
{
    json_t *entry = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(entry)) {
        json_decref(entry);
        return false;
    }
    if (!json_object_get(entry, "times")) json_object_set_new(entry, "times", json_integer(1));
    return json_array_append_new(server->lines, entry) == 0;
}

static bool server_read(Server *server, const char *script)
{
    for (size_t number = 1; *script; number++) {
        size_t len = strcspn(script, "\n");
        if (len > 0 && !server_add(server, script, len)) {
            fprintf(stderr, "script line %zu is no JSON object\n", number);
            return false;
        }
        script += len + (script[len] == '\n');
    }
    return true;
}

/* A message of the role has the part in its text. NULL: there is nothing to have. */
static bool says(const json_t *request, const char *whose, const char *part)
{
    const json_t *message;
    size_t i;
    if (!part) return true;
    json_array_foreach(json_object_get(request, "messages"), i, message)
    {
        const char *role = json_string_value(json_object_get(message, "role"));
        const char *content = json_string_value(json_object_get(message, "content"));
        if (role && content && strcmp(role, whose) == 0 && strstr(content, part)) return true;
    }
    return false;
}

static bool matches(const json_t *line, const json_t *request)
{
    return says(request, "user", json_string_value(json_object_get(line, "match"))) &&
           says(request, "tool", json_string_value(json_object_get(line, "told")));
}

/* Takes one use of the line that answers; NULL: none does. The caller owns a reference. */
static json_t *choose(Server *server, const json_t *request)
{
    json_t *line, *chosen = NULL;
    size_t i;
    pthread_mutex_lock(&server->lock);
    json_array_foreach(server->lines, i, line)
    {
        json_int_t times = json_integer_value(json_object_get(line, "times"));
        if (times <= 0 || !matches(line, request)) continue;
        json_object_set_new(line, "times", json_integer(times - 1));
        chosen = json_incref(line);
        break;
    }
    pthread_mutex_unlock(&server->lock);
    return chosen;
}

/* ---- sending ---- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static bool send_head(const Client *client, int status, size_t len, const char *more)
{
    char head[1024];
    int n = snprintf(
        head, sizeof head,
        "HTTP/1.1 %d Scripted\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
        status, len, more);
    return send_all(client->fd, head, (size_t)n);
}

static void send_status(const Client *client, int status, const json_t *line, const char *words)
{
    char more[512] = "";
    const json_t *after = json_object_get(line, "retry_after"), *headers = json_object_get(line, "headers");
    if (status == 302) snprintf(more, sizeof more, "Location: http://127.0.0.1:%d/elsewhere\r\n", client->server->port);
    if (after) snprintf(more, sizeof more, "Retry-After: %d\r\n", (int)json_integer_value(after));
    if (headers) snprintf(more, sizeof more, "%s\r\n", json_string_value(headers));
    json_t *body = json_pack("{s:{s:s}}", "error", "message", words);
    char *text = json_dumps(body, JSON_COMPACT);
    if (send_head(client, status, strlen(text), more)) send_all(client->fd, text, strlen(text));
    free(text);
    json_decref(body);
}

static char *response_of(const json_t *line)
{
    const json_t *answer = json_object_get(line, "answer");
    char *text = answer && !json_is_string(answer) ? json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    const char *bytes = text ? text : json_string_value(answer);
    size_t len = text ? strlen(text) : json_string_length(answer);
    json_t *response = json_pack("{s:s, s:s, s:[{s:i, s:s, s:{s:s, s:s%}}], s:{s:i, s:i}}", "object", "chat.completion",
                                 "model", "scripted", "choices", "index", 0, "finish_reason", "stop", "message", "role",
                                 "assistant", "content", bytes ? bytes : "", bytes ? len : (size_t)0, "usage",
                                 "prompt_tokens", 10, "completion_tokens", (int)(len / 4 + 1));
    json_t *choice = json_array_get(json_object_get(response, "choices"), 0);
    if (json_object_get(line, "finish_reason"))
        json_object_set(choice, "finish_reason", json_object_get(line, "finish_reason"));
    if (json_object_get(line, "message")) json_object_set(choice, "message", json_object_get(line, "message"));
    if (json_object_get(line, "usage")) json_object_set(response, "usage", json_object_get(line, "usage"));
    char *dump = json_dumps(response, JSON_COMPACT);
    json_decref(response);
    free(text);
    return dump;
}

static void drip(const Client *client, const char *text, size_t len)
{
    int on = 1;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < len && send_all(client->fd, text + i, 1); i++) {}
}

static void wait_for_close(const Client *client)
{
    struct pollfd fd = {.fd = client->fd, .events = POLLRDHUP};
    poll(&fd, 1, 60000);
}

static void send_large(const Client *client)
{
    char spaces[8192];
    memset(spaces, ' ', sizeof spaces);
    if (!send_head(client, 200, (size_t)1 << 30, "")) return;
    while (send_all(client->fd, spaces, sizeof spaces)) {}
}

static void send_echo(const Client *client)
{
    const char *header = strcasestr(client->request, "authorization: ");
    char words[512];
    snprintf(words, sizeof words, "I do not know %.*s", header ? (int)strcspn(header, "\r\n") : 0,
             header ? header : "");
    send_status(client, 401, NULL, words);
}

/* ---- streams ---- */

static bool send_chunk(const Client *client, const char *bytes, size_t len)
{
    char head[32];
    const int n = snprintf(head, sizeof head, "%zx\r\n", len);
    return send_all(client->fd, head, (size_t)n) && send_all(client->fd, bytes, len) && send_all(client->fd, "\r\n", 2);
}

/* An event with this choice and usage, after the line's delay. */
static bool send_event(const Client *client, const json_t *line, const char *data)
{
    char *event;
    poll(NULL, 0, (int)json_integer_value(json_object_get(line, "delay")));
    const int len = asprintf(&event, "data: %s\n\n", data);
    const bool sent = len > 0 && send_chunk(client, event, (size_t)len);
    free(event);
    return sent;
}

static bool send_delta(const Client *client, const json_t *line, json_t *delta, const json_t *reason)
{
    json_t *event = json_pack("{s:s, s:s, s:[{s:i, s:o, s:O?}]}", "object", "chat.completion.chunk", "model",
                              "scripted", "choices", "index", 0, "delta", delta, "finish_reason", reason);
    char *text = json_dumps(event, JSON_COMPACT);
    const bool sent = send_event(client, line, text);
    free(text);
    json_decref(event);
    return sent;
}

/* What happens in the middle of a stream; false: it is over. */
static bool send_fault(const Client *client, const json_t *line, const char *fault)
{
    enum { FLOOD = 9 << 20 };
    if (strcmp(fault, "cut") == 0) return false;
    if (strcmp(fault, "stop") == 0) return send_all(client->fd, "0\r\n\r\n", 5) && false;
    if (strcmp(fault, "garbage") == 0) return send_event(client, line, "{\"choices\": [");
    if (strcmp(fault, "error") == 0)
        return send_event(client, line, "{\"error\": {\"message\": \"scripted end\", \"code\": 503}}");
    if (strcmp(fault, "mute") == 0) {
        struct pollfd fd = {.fd = client->fd, .events = POLLRDHUP};
        return poll(&fd, 1, 60000) && false;
    }
    if (strcmp(fault, "flood") == 0) {
        char *flood = malloc(FLOOD);
        memset(flood, ' ', FLOOD);
        const bool sent = send_chunk(client, "data: ", 6) && send_chunk(client, flood, FLOOD);
        free(flood);
        return sent && false;
    }
    return true;
}

/* Up to so many letters of a text, not in the middle of one. */
static size_t piece_of(const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    while (text[len] && ((unsigned char)text[len] & 0xc0) == 0x80) len++;
    return len;
}

static bool send_text(const Client *client, const json_t *line, const char *text, const char *fault)
{
    const size_t all = strlen(text), most = (size_t)json_integer_value(json_object_get(line, "stream"));
    bool more = send_delta(client, line, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
    for (size_t at = 0, len; more && at < all; at += len) {
        len = piece_of(text + at, most);
        if (at < all / 2 + 1 && at + len >= all / 2 + 1) more = send_fault(client, line, fault);
        more = more && send_delta(client, line, json_pack("{s:s%}", "content", text + at, len), NULL);
    }
    return more;
}

static bool send_calls(const Client *client, const json_t *line, const json_t *calls)
{
    const json_t *call;
    size_t i;
    json_array_foreach(calls, i, call)
    {
        json_t *part = json_deep_copy(call);
        json_object_set_new(part, "index", json_integer((json_int_t)i));
        if (!send_delta(client, line, json_pack("{s:[o]}", "tool_calls", part), NULL)) return false;
    }
    return true;
}

static void send_stream(const Client *client, const json_t *line, const json_t *response, const char *fault)
{
    static const char HEAD[] = "HTTP/1.1 200 Scripted\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                               "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n: scripted\r\n";
    const size_t comment = 12; /* bytes of the comment at its end, which is a chunk */
    const json_t *choice = json_array_get(json_object_get(response, "choices"), 0),
                 *message = json_object_get(choice, "message");
    const char *text = json_string_value(json_object_get(message, "content"));
    json_t *last = json_pack("{s:[], s:O}", "choices", "usage", json_object_get(response, "usage"));
    char *usage = json_dumps(last, JSON_COMPACT);
    (void)(send_all(client->fd, HEAD, sizeof HEAD - 1 - comment) &&
           send_chunk(client, HEAD + sizeof HEAD - 1 - comment, comment) &&
           send_text(client, line, text ? text : "", fault) &&
           send_calls(client, line, json_object_get(message, "tool_calls")) &&
           send_delta(client, line, json_object(), json_object_get(choice, "finish_reason")) &&
           send_event(client, line, usage) && send_event(client, line, "[DONE]") &&
           (strcmp(fault, "linger") == 0 ? (wait_for_close(client), false) : send_all(client->fd, "0\r\n\r\n", 5)));
    free(usage);
    json_decref(last);
}

static bool asks_stream(const json_t *request)
{
    return json_is_true(json_object_get(request, "stream"));
}

static void answer(const Client *client, const json_t *line, const json_t *request)
{
    const char *fault = json_string_value(json_object_get(line, "fault")),
               *words = json_string_value(json_object_get(line, "words"));
    char *text = response_of(line);
    size_t len = strlen(text);
    if (asks_stream(request) && json_object_get(line, "stream")) {
        json_t *response = json_loads(text, JSON_ALLOW_NUL, NULL);
        send_stream(client, line, response, fault ? fault : "");
        json_decref(response);
    } else if (fault && strcmp(fault, "no stream") == 0 && asks_stream(request))
        send_status(client, 400, line, "Unsupported value: 'stream' does not support true with this model.");
    else if (!fault || strcmp(fault, "no stream") == 0)
        (void)(send_head(client, 200, len, "") && send_all(client->fd, text, len));
    else if (strspn(fault, "0123456789") == 3)
        send_status(client, atoi(fault), line, words ? words : "scripted refusal");
    else if (strcmp(fault, "hang") == 0)
        wait_for_close(client);
    else if (strcmp(fault, "truncate") == 0)
        (void)(send_head(client, 200, len, "") && send_all(client->fd, text, len / 2));
    else if (strcmp(fault, "invalid") == 0)
        (void)(send_head(client, 200, 8, "") && send_all(client->fd, "{\"choic\xff", 8));
    else if (strcmp(fault, "empty") == 0)
        (void)(send_head(client, 200, 2, "") && send_all(client->fd, "{}", 2));
    else if (strcmp(fault, "drip") == 0 && send_head(client, 200, len, ""))
        drip(client, text, len);
    else if (strcmp(fault, "linger") == 0 && send_head(client, 200, len, "") && send_all(client->fd, text, len))
        wait_for_close(client);
    else if (strcmp(fault, "large") == 0)
        send_large(client);
    else if (strcmp(fault, "echo") == 0)
        send_echo(client);
    free(text);
}

/* ---- receiving ---- */

static bool read_more(Client *client)
{
    if (client->cap - client->len < 2) {
        size_t cap = client->cap ? 2 * client->cap : 8192;
        char *bigger = cap > REQUEST_MAX ? NULL : realloc(client->request, cap);
        if (!bigger) return false;
        client->request = bigger;
        client->cap = cap;
    }
    ssize_t n = recv(client->fd, client->request + client->len, client->cap - client->len - 1, 0);
    if (n <= 0) return false;
    client->len += (size_t)n;
    client->request[client->len] = '\0';
    return true;
}

static bool read_request(Client *client)
{
    const char *end, *length;
    do {
        if (!read_more(client)) return false;
    } while (!(end = strstr(client->request, "\r\n\r\n")));
    client->body = (size_t)(end - client->request) + 4;
    length = strcasestr(client->request, "content-length:");
    size_t want = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
    while (client->len < client->body + want)
        if (!read_more(client)) return false;
    return true;
}

static void write_log(const Client *client)
{
    FILE *log = client->server->log;
    if (!log) return;
    pthread_mutex_lock(&client->server->lock);
    fwrite(client->request, 1, client->len, log);
    fputc('\n', log);
    fflush(log);
    pthread_mutex_unlock(&client->server->lock);
}

static void serve(Client *client)
{
    if (!read_request(client)) return;
    write_log(client);
    json_t *request = json_loadb(client->request + client->body, client->len - client->body, JSON_ALLOW_NUL, NULL);
    json_t *line = choose(client->server, request);
    if (strncmp(client->request, "POST ", 5) != 0 || !strstr(client->request, "/chat/completions "))
        send_status(client, 404, NULL, "only POST /chat/completions is here");
    else if (line)
        answer(client, line, request);
    else
        send_status(client, 404, NULL, "the script has no answer left for this request");
    json_decref(line);
    json_decref(request);
}

static void *serve_thread(void *arg)
{
    Client *client = arg;
    serve(client);
    shutdown(client->fd, SHUT_WR);
    close(client->fd);
    free(client->request);
    free(client);
    return NULL;
}

/* ---- the server ---- */

/* port 0: any. False: errno tells. */
static bool server_open(Server *server, int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int on = 1;
    *server = (Server){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .lines = json_array()};
    pthread_mutex_init(&server->lock, NULL);
    setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server->fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(server->fd, 64) != 0) return false;
    getsockname(server->fd, (struct sockaddr *)&address, &len);
    server->port = ntohs(address.sin_port);
    return true;
}

/* Serves for ever. */
static void server_run(Server *server)
{
    for (;;) {
        pthread_t thread;
        Client *client = calloc(1, sizeof *client);
        if (!client) return;
        *client = (Client){.server = server, .fd = accept(server->fd, NULL, NULL)};
        if (client->fd < 0 || pthread_create(&thread, NULL, serve_thread, client) != 0) {
            free(client);
            return;
        }
        pthread_detach(thread);
    }
}

#endif

/* http.c: the thread of HTTP, by libmicrohttpd in its poll mode (its epoll mode loses wake-ups of suspended connections).
 *
 * One request after the other on a connection, in these steps:
 *
 *   on_target    the first line came: the request is made, with the target as it was sent
 *   examine      all headers came: gate, caller, route, role. A refusal is answered at once, and ends the connection
 *                together with whatever it was going to send
 *   take_body    pieces of the body, up to a bound
 *   hand_over    all is there: the connection is suspended, and a reader or the loop has the request
 *   answer       tfy__request_done has resumed the connection */
#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "serve/body.h"
#include "serve/bounds.h"
#include "serve/caller.h"
#include "serve/hooks.h"
#include "serve/http_figures.h"
#include "serve/listen.h"
#include "serve/mcp/http.h"
#include "serve/shared/events.h"
#include "serve/of_run.h"
#include "serve/tls.h"
#include "serve/serve.h"
#include "serve/stream.h"

enum {
    SILENCE_S = 30,       /* a connection may be silent for so long */
    SLOW_S = 60,          /* a client of a stream may take nothing for so long */
    BLOCK = 1024,         /* of a stream for a client of HTTP 1.0 */
    MEMORY = 24 << 10,    /* of a connection, for its head … */
    HEAD_MOST = 16 << 10, /* … which may have so many bytes */
    WAIT_MOST_S = 60,
    LINES_MOST = 20,      /* about refusals, a second */
    LAST_MS = 5000,       /* the end waits so long for clients that do not read their answers */
    ARRIVING_US = 200000, /* … and, where others go on listening, for requests of those who were let in last */
};

/* One socket, with a thread of the library's. */
typedef struct Listener {
    struct TfyHttp *http;
    struct MHD_Daemon *daemon;
    int number; /* in the configuration; -1: the server's own Unix socket */
} Listener;

struct TfyHttp {
    TfyServer *server;
    Listener listeners[TFY_LISTEN_MOST + 1];
    int listener_count;
    _Atomic uint64_t count; /* of requests */
    pthread_mutex_t mutex;  /* held for: */
    pthread_cond_t idle;
    uint32_t away;   /* requests that others have */
    uint32_t active; /* requests whose first line came, and whose answer has not left */
};

/* ---- the start of a request ---- */

static void *on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct TfyHttp *http = ((Listener *)arg)->http;
    TfyRequest *request = calloc(1, sizeof *request);
    if (!request) return NULL;
    pthread_mutex_lock(&http->mutex);
    http->active++;
    pthread_mutex_unlock(&http->mutex);
    request->server = http->server;
    request->connection = connection;
    request->begun_us = tfy__monotonic_us();
    request->target = strdup(target);
    snprintf(request->number, sizeof request->number, "r-%llx", (unsigned long long)++http->count & 0xffffffff);
    return request;
}

/* The gate wants texts as they were sent. */
static size_t leave_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
    return strlen(text);
}

static TfyLine *line_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_end(void *arg, struct MHD_Connection *connection, void **place, enum MHD_RequestTerminationCode code)
{
    struct TfyHttp *http = ((Listener *)arg)->http;
    tfy__line_busy(line_of(connection), false);
    if (!*place) return;
    tfy__request_free(*place);
    *place = NULL;
    pthread_mutex_lock(&http->mutex);
    http->active--;
    pthread_cond_signal(&http->idle);
    pthread_mutex_unlock(&http->mutex);
}

/* ---- the answer ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && *value) MHD_add_response_header(response, name, value);
}

/* What a browser may do with an answer: nothing, unless the page that it got from here asks. */
static const char *const guards[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src "
     "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
     "trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static void add_headers(struct MHD_Response *response, const TfyRequest *request, bool last)
{
    char number[64] = "";
    const bool refused = request->problem.kind;
    add_header(response, "Content-Type",
               refused         ? "application/problem+json"
               : request->type ? request->type
                               : "application/json");
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) add_header(response, guards[i][0], guards[i][1]);
    if (request->status == 401 || request->problem.kind == TFY_PROBLEM_UNAUTHENTICATED)
        add_header(response, "WWW-Authenticate", "Bearer realm=\"tfy\"");
    add_header(response, "Set-Cookie", request->cookie);
    add_header(response, "Cache-Control", request->packed && !refused ? "no-cache" : "no-store");
    if (request->packed && !refused) add_header(response, "Content-Encoding", "gzip");
    add_header(response, "ETag", request->etag);
    add_header(response, "Location", request->location);
    add_header(response, "Mcp-Session-Id", request->mcp_session);
    if (request->replayed) add_header(response, "Idempotency-Replayed", "true");
    add_header(response, "Allow", request->problem.allow);
    if (request->retry_after_s) snprintf(number, sizeof number, "%d", request->retry_after_s);
    add_header(response, "Retry-After", number);
    *number = '\0';
    if (request->lsn)
        snprintf(number, sizeof number, "%s%s%lld", request->lsn_of, *request->lsn_of ? ":" : "",
                 (long long)request->lsn);
    add_header(response, "Tfy-Lsn", number);
    if (last) add_header(response, "Connection", "close");
}

static enum MHD_Result queue(TfyRequest *request, int status, struct MHD_Response *response, bool last)
{
    if (!response) return MHD_NO;
    tfy__http_answered(request->server->figures, request->route, status, tfy__monotonic_us() - request->begun_us);
    add_headers(response, request, last);
    const enum MHD_Result result = MHD_queue_response(request->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static ssize_t give(void *arg, uint64_t position, char *bytes, size_t most)
{
    TfyRequest *request = arg;
    const ssize_t given = request->mcp      ? tfy__mcp_stream_take(request, bytes, most)
                          : request->follow ? tfy__follow_take(request, bytes, most)
                                            : tfy__stream_take(request, bytes, most);
    return given < 0 ? MHD_CONTENT_READER_END_OF_STREAM : given;
}

/* It goes on until the client leaves, or the server ends. Proxies that hold an answer back until it is whole are told not
 * to. */
static enum MHD_Result answer_stream(TfyRequest *request)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, give, request, NULL);
    request->type = "text/event-stream";
    if (response) add_header(response, "X-Accel-Buffering", "no");
    MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              (unsigned)tfy__bound("TFY_TEST_SLOW_S", SLOW_S));
    return queue(request, MHD_HTTP_OK, response, false);
}

/* So many lines a second say enough, and a flood of requests is not one of lines. */
static bool may_tell(void)
{
    static _Atomic int64_t second;
    static _Atomic int told;
    const int64_t now = tfy__monotonic_ms() / 1000;
    if (now != second) told = 0;
    second = now;
    return told++ < LINES_MOST;
}

/* Who was not believed, or may not do it; the path is that of the table, so nothing of a caller's is in the line. */
static void tell_refusal(const TfyRequest *request)
{
    const int status = tfy__problem_status(request->problem.kind);
    if ((status != 401 && status != 403) || !may_tell()) return;
    tfy__say("%d for %s%s%s at %s: %s (%s)", status, *request->caller.name ? request->caller.name : "nobody",
             *request->caller.from ? " from " : "", request->caller.from,
             request->route ? request->route->pattern : "the door", request->problem.detail, request->number);
}

/* last: the connection ends with it. */
static enum MHD_Result answer(TfyRequest *request, bool last)
{
    int status = request->status ? request->status : MHD_HTTP_OK;
    if (request->answer.failed) tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    if (request->problem.kind) {
        status = tfy__problem_status(request->problem.kind);
        tell_refusal(request);
        tfy__buffer_reset(&request->answer);
        tfy__problem_text(&request->problem, request->number, &request->answer);
    }
    if ((request->stream || request->follow || request->mcp) && !request->problem.kind) return answer_stream(request);
    return queue(request, status,
                 MHD_create_response_from_buffer(request->answer.len,
                                                 request->answer.len ? request->answer.data : (char *)"",
                                                 MHD_RESPMEM_MUST_COPY),
                 last);
}

/* A body grows beyond its bound while it comes: the library takes no answer in the middle of one, so it is written here. */
static enum MHD_Result cut_off(const TfyRequest *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    TfyBuffer text = {0}, out = {0};
    tfy__problem_text(&request->problem, request->number, &text);
    tfy__buffer_printf(&out,
                       "HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json\r\n"
                       "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                       text.len, text.data ? text.data : "");
    if (info && !out.failed) (void)!send(info->connect_fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    tfy__buffer_free(&text);
    tfy__buffer_free(&out);
    return MHD_NO;
}

/* ---- what the headers say ---- */

typedef struct Headers {
    TfyHeader items[TFY_HEADERS_MAX];
    size_t count;
    bool too_many;
} Headers;

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    Headers *headers = arg;
    headers->too_many |= headers->count == TFY_HEADERS_MAX;
    if (!headers->too_many) headers->items[headers->count++] = (TfyHeader){name, value ? value : ""};
    return MHD_YES;
}

/* The gate of a listener, and where a request came from. Both are those of the newest configuration. */
static void take_listener(const Listener *listener, TfyRequest *request, TfyGate *gate, TfyCame *came)
{
    const TfyConfig *config = request->server->config;
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *came = (TfyCame){.fd = fd ? fd->connect_fd : -1};
    *gate = (TfyGate){.hosts = NULL};
    if (listener->number < 0) return;
    const TfyListen *listen = came->listen = &config->listen[listener->number];
    const union MHD_ConnectionInfo *address =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (listen->address && address) came->from = address->client_addr;
    came->tls = listen->address ? config->tls : NULL;
    request->tls = came->tls || listen->proxy;
    *gate = (TfyGate){.hosts = listen->hosts, .tls = came->tls, .proxy = listen->proxy};
}

static size_t body_most(const TfyRequest *request)
{
    return request->route->body ? request->route->body : TFY_BODY_MAX;
}

static bool refuse_body(TfyRequest *request)
{
    return tfy__problem(&request->problem, TFY_PROBLEM_TOO_LARGE, "a body has %zu bytes at most", body_most(request));
}

static bool fits_body(TfyRequest *request, const TfyRequestHead *asked)
{
    const char *length = tfy__header(asked, "Content-Length");
    const size_t digits = length ? strlen(length) : 0;
    return !length || (digits < 10 && strtoull(length, NULL, 10) <= body_most(request)) || refuse_body(request);
}

static bool keep(char **place, const char *value)
{
    return !value || (*place = strdup(value));
}

/* A header that comes several times is the first of them. */
static void keep_all(TfyRequest *request, const TfyRequestHead *asked)
{
    request->headers = json_object();
    for (size_t i = 0; i < asked->header_count; i++) {
        char name[128];
        size_t len = 0;
        for (const char *at = asked->headers[i].name; *at && len < sizeof name - 1; at++)
            name[len++] = (char)tolower((unsigned char)*at);
        name[len] = '\0';
        if (!json_object_get(request->headers, name))
            json_object_set_new(request->headers, name, json_string(asked->headers[i].value));
    }
}

/* What the routes want of the headers. */
static bool keep_headers(TfyRequest *request, const TfyRequestHead *asked)
{
    if (request->route->serve == tfy__serve_hook || request->route->where == TFY_BY_MCP) keep_all(request, asked);
    const char *after = tfy__header(asked, "Tfy-After"), *prefer = tfy__header(asked, "Prefer"),
               *wait = prefer ? strstr(prefer, "wait=") : NULL;
    request->wait_s = wait ? strtoll(wait + 5, NULL, 10) : 0;
    if (request->wait_s < 0 || request->wait_s > WAIT_MOST_S) request->wait_s = request->wait_s < 0 ? 0 : WAIT_MOST_S;
    if (after && request->server->shared) after = NULL; /* "RUN:LSN": what is committed is in the lists */
    if (after && (!*after || strlen(after) > 18 || after[strspn(after, "0123456789")]))
        return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "Tfy-After is what Tfy-Lsn said");
    request->after = after ? strtoll(after, NULL, 10) : 0;
    return (keep(&request->key, tfy__header(asked, "Idempotency-Key")) &&
            keep(&request->match, tfy__header(asked, "If-None-Match")) &&
            keep(&request->last_event, tfy__header(asked, "Last-Event-ID")) &&
            keep(&request->as_seen, tfy__header(asked, "If-Match"))) ||
           tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
}

static bool is_short(TfyRequest *request, const TfyRequestHead *asked)
{
    size_t len = strlen(asked->target);
    for (size_t i = 0; i < asked->header_count; i++)
        len += strlen(asked->headers[i].name) + strlen(asked->headers[i].value) + 4;
    return len <= HEAD_MOST ||
           tfy__problem(&request->problem, TFY_PROBLEM_HEADERS, "a head has at most %d bytes", HEAD_MOST);
}

static bool passes(const Listener *listener, TfyRequest *request, const TfyRequestHead *asked)
{
    TfyGate gate;
    TfyCame came;
    take_listener(listener, request, &gate, &came);
    return is_short(request, asked) && tfy__gate(&gate, asked, &request->method, &request->problem) &&
           tfy__caller_find(request, asked, &came) && tfy__request_route(request) &&
           tfy__may(request->server, &request->caller, request->route->role, NULL, &request->problem) &&
           fits_body(request, asked) && keep_headers(request, asked);
}

static enum MHD_Result examine(const Listener *listener, TfyRequest *request, const char *method)
{
    Headers headers = {.count = 0};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, note_header, &headers);
    request->checked = true;
    if (headers.too_many) {
        tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "there are more than %d headers", TFY_HEADERS_MAX);
        return answer(request, true);
    }
    const TfyRequestHead asked = {method, request->target, headers.items, headers.count};
    return passes(listener, request, &asked) ? MHD_YES : answer(request, true);
}

/* ---- the rest ---- */

static enum MHD_Result take_body(TfyRequest *request, const char *bytes, size_t *len)
{
    if (request->body.len + *len > body_most(request)) {
        refuse_body(request);
        return cut_off(request);
    }
    tfy__buffer_add(&request->body, bytes, *len);
    *len = 0;
    return request->body.failed ? MHD_NO : MHD_YES;
}

static bool parse_body(TfyRequest *request)
{
    if (!tfy__method_changes(request->method) || request->route->where == TFY_BY_MCP) return true;
    request->json = tfy__body_read(request->body.data, request->body.len, &request->problem);
    return request->json;
}

/* Others have the request from here on. */
static void leave(struct TfyHttp *http, TfyRequest *request)
{
    pthread_mutex_lock(&http->mutex);
    http->away++;
    pthread_mutex_unlock(&http->mutex);
    MHD_suspend_connection(request->connection);
}

static enum MHD_Result hand_over(struct TfyHttp *http, TfyRequest *request)
{
    tfy__line_busy(line_of(request->connection), true);
    if (!parse_body(request)) return answer(request, false);
    if (request->route->where == TFY_AT_ONCE) {
        tfy__request_serve(request)(request);
        return answer(request, false);
    }
    leave(http, request);
    tfy__request_hand_over(request);
    return MHD_YES;
}

void tfy__request_done(TfyRequest *request)
{
    struct TfyHttp *http = request->server->http;
    request->done = true;
    if (request->inside) {
        request->inside(request->inside_arg, request);
        return;
    }
    MHD_resume_connection(request->connection);
    pthread_mutex_lock(&http->mutex);
    http->away--;
    pthread_cond_signal(&http->idle);
    pthread_mutex_unlock(&http->mutex);
}

void tfy__http_pause(TfyRequest *request)
{
    MHD_suspend_connection(request->connection);
}

void tfy__http_go_on(TfyRequest *request)
{
    MHD_resume_connection(request->connection);
}

void tfy__http_lend(TfyRequest *request, void (*what)(TfyRequest *request))
{
    request->then = what;
    leave(request->server->http, request);
    tfy__readers_ask(request->server->readers, request);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *len, void **place)
{
    const Listener *listener = arg;
    TfyRequest *request = *place;
    if (!request || !request->target) return MHD_NO;
    if (!request->checked) return examine(listener, request, method);
    if (*len) return take_body(request, bytes, len);
    return request->done ? answer(request, false) : hand_over(listener->http, request);
}

/* ---- connections ---- */

static enum MHD_Result let_in(void *arg, const struct sockaddr *from, socklen_t len)
{
    const Listener *listener = arg;
    return tfy__bounds_let_in(listener->http->server->bounds, from) ? MHD_YES : MHD_NO;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code)
{
    const Listener *listener = arg;
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD),
                                   *from = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        tfy__line_close(*place);
        *place = NULL;
    } else if (fd) {
        *place = tfy__line_open(listener->http->server->bounds, fd->connect_fd,
                                from && listener->number >= 0 ? from->client_addr : NULL);
    }
}

/* The library would report each connection that a client closes early. The gate is stricter than the library, and says
 * why. */
static struct MHD_Daemon *start(Listener *listener, int socket, const TfyTls *tls)
{
    const unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (tls ? (unsigned)MHD_USE_TLS : 0u);
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)tfy__tls_callback},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {tls && tfy__tls_ca(tls) ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
         tls ? (void *)(uintptr_t)tfy__tls_ca(tls) : NULL},
        {MHD_OPTION_END, 0, NULL}};
    if (!tls) secure[0].option = MHD_OPTION_END;
    return MHD_start_daemon(flags, 0, let_in, listener, on_request, listener, MHD_OPTION_LISTEN_SOCKET, socket,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)TFY_CONNECTIONS_MOST + 64,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)MEMORY, MHD_OPTION_URI_LOG_CALLBACK, on_target, listener,
                            MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_end,
                            listener, MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener,
                            MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_ARRAY, secure, MHD_OPTION_END);
}

/* ---- opening and closing ---- */

struct TfyHttp *tfy__http_open(TfyServer *server, char *error)
{
    struct TfyHttp *http = calloc(1, sizeof *http);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!http) return NULL;
    http->server = server;
    tfy__user_name(geteuid(), server->user, sizeof server->user);
    tfy__user_name(0, server->root, sizeof server->root);
    pthread_mutex_init(&http->mutex, NULL);
    tfy__cond_init(&http->idle);
    return http;
}

bool tfy__http_listen(struct TfyHttp *http, int socket, int number, char *error)
{
    Listener *listener = &http->listeners[http->listener_count];
    const TfyConfig *config = http->server->config;
    *listener = (Listener){.http = http, .number = number};
    listener->daemon = start(listener, socket, number >= 0 && config->listen[number].address ? config->tls : NULL);
    if (listener->daemon) {
        http->listener_count++;
        return true;
    }
    snprintf(error, TFY_ERROR_TEXT, "HTTP cannot be served: %s", strerror(errno));
    close(socket);
    return false;
}

void tfy__http_quit(struct TfyHttp *http)
{
    int waited = 0;
    for (int i = 0; i < http->listener_count; i++) {
        const MHD_socket listener = MHD_quiesce_daemon(http->listeners[i].daemon);
        if (listener != MHD_INVALID_SOCKET) close(listener);
    }
    if (tfy__listen_handed()) usleep(ARRIVING_US);
    const struct timespec until = tfy__deadline(LAST_MS);
    pthread_mutex_lock(&http->mutex);
    while (http->away) pthread_cond_wait(&http->idle, &http->mutex);
    while (http->active && !waited) waited = pthread_cond_timedwait(&http->idle, &http->mutex, &until);
    pthread_mutex_unlock(&http->mutex);
}

void tfy__http_close(struct TfyHttp *http)
{
    if (!http) return;
    for (int i = 0; i < http->listener_count; i++) MHD_stop_daemon(http->listeners[i].daemon);
    pthread_mutex_destroy(&http->mutex);
    pthread_cond_destroy(&http->idle);
    free(http);
}

/* http_client.c: libcurl's multi interface on the loop. Two things need care:
 *
 * - The poller is edge-triggered, and curl expects levels: it reads one buffer per call and relies on being called
 *   again. So after each call for a socket that curl still waits for, `serve` asks poll(2), without waiting, whether it
 *   is still ready, and calls again until it is not. Data that arrives after that makes a new edge. A bounded number of
 *   rounds per turn keeps a fast sender from starving other tasks. Most answers come in one piece, after which curl
 *   waits for nothing more: they cost one call and no poll.
 * - Ends are reported outside curl's callbacks only, because the receiver may start or stop a transfer at once.
 *
 * Easy handles are used again: making one costs more than a small request. */
#include "effects/http_client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/grow.h"
#include "core/world.h"

#define ROUNDS_PER_TURN  64
#define SPARE_MOST       128 /* easy handles that are kept, of 6 KB each */
#define CONNECTIONS_MOST 128 /* open ones that no transfer uses */

/* A socket of curl's. One of a connection is watched from its first use until it is closed, also while curl waits for
 * nothing at it: kept connections are used again and again. Others, such as those of curl's resolver, which it closes
 * without a word, are watched while curl waits. */
typedef struct Socket {
    TfyHttp *http;
    int fd;
    bool is_connection;
    uint32_t events; /* TFY_FD_… that curl waits for now */
    int64_t handle;  /* of the watch; below 0: none */
    bool more;       /* it may be ready for what curl waits for, and is served in a later turn */
    bool quiet;      /* nothing that curl may wait for next has come */
} Socket;

struct TfyHttp {
    TfyLoop *loop;
    CURLM *multi;
    Socket **sockets; /* by their descriptors; NULL: there is none */
    uint32_t socket_cap;
    uint64_t timer;      /* curl's own timeout; 0: none */
    uint64_t more_timer; /* of sockets with more; 0: none */
    Socket *served;      /* serve is at it; NULL: at none, or curl has given it up meanwhile */
    CURL *spare[SPARE_MOST];
    uint32_t spare_count;
};

/* ---- addresses ---- */

CURLU *tfy__http_parse_url(const char *url)
{
    CURLU *parts = curl_url();
    char *scheme = NULL;
    bool ok = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    if (ok) return parts;
    curl_url_cleanup(parts);
    return NULL;
}

char *tfy__http_take_url(CURLU *parts)
{
    char *text = NULL, *copy = NULL;
    if (curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK) copy = tfy__sys_strdup(text);
    curl_free(text);
    return copy;
}

char *tfy__http_public_url(const char *url)
{
    CURLU *parts = tfy__http_parse_url(url);
    if (!parts) return NULL;
    curl_url_set(parts, CURLUPART_USER, NULL, 0);
    curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
    curl_url_set(parts, CURLUPART_QUERY, NULL, 0);
    char *text = tfy__http_take_url(parts);
    curl_url_cleanup(parts);
    return text;
}

/* ---- curl and the poller ---- */

static void drain(TfyHttp *http)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(http->multi, &left));) {
        TfyTransfer *transfer;
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        tfy__http_stop(http, transfer);
        transfer->ended(transfer->arg, result);
    }
}

static void on_more(void *arg);

/* What a socket is ready for now, of what curl waits for: CURL_CSELECT_… */
static int ready(const Socket *socket)
{
    struct pollfd fd = {
        .fd = socket->fd,
        .events = (short)((socket->events & TFY_FD_READ ? POLLIN : 0) | (socket->events & TFY_FD_WRITE ? POLLOUT : 0))};
    if (!socket->events || poll(&fd, 1, 0) <= 0) return 0;
    return (fd.revents & POLLIN ? CURL_CSELECT_IN : 0) | (fd.revents & POLLOUT ? CURL_CSELECT_OUT : 0) |
           (fd.revents & (POLLERR | POLLHUP) ? CURL_CSELECT_IN | CURL_CSELECT_ERR : 0);
}

static void serve_later(Socket *socket)
{
    TfyHttp *http = socket->http;
    socket->more = true;
    if (!http->more_timer) http->more_timer = tfy__timer_add(http->loop, tfy__now_ns(http->loop), on_more, http);
}

/* Calls curl for a socket that is ready for `mask`, as long as it is ready for anything. */
static void serve(Socket *socket, int mask)
{
    TfyHttp *http = socket->http;
    http->served = socket;
    for (int rounds = 0; mask && rounds < ROUNDS_PER_TURN; rounds++) {
        int running;
        curl_multi_socket_action(http->multi, socket->fd, mask, &running);
        mask = http->served ? ready(socket) : 0; /* without it the socket is gone */
    }
    if (mask) serve_later(socket);
    http->served = NULL;
    drain(http);
}

/* One in a turn: the others may go with it. */
static void on_more(void *arg)
{
    TfyHttp *http = arg;
    Socket *socket = NULL;
    http->more_timer = 0;
    for (uint32_t fd = 0; fd < http->socket_cap && !socket; fd++)
        if (http->sockets[fd] && http->sockets[fd]->more) socket = http->sockets[fd];
    if (!socket) return;
    socket->more = false;
    http->more_timer = tfy__timer_add(http->loop, tfy__now_ns(http->loop), on_more, http);
    serve(socket, ready(socket));
}

/* What curl does not wait for is looked at when it does. */
static void on_socket(void *arg, uint32_t events)
{
    Socket *socket = arg;
    const uint32_t wanted = events & (socket->events | TFY_FD_HANGUP);
    socket->quiet = false;
    if (socket->events && wanted)
        serve(socket, (wanted & TFY_FD_WRITE ? CURL_CSELECT_OUT : 0) |
                          (wanted & (TFY_FD_READ | TFY_FD_HANGUP) ? CURL_CSELECT_IN : 0));
}

static void on_timeout(void *arg)
{
    TfyHttp *http = arg;
    int running;
    http->timer = 0;
    curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    drain(http);
}

/* NULL: curl has not named it yet, or no longer. */
static Socket *socket_at(const TfyHttp *http, int fd)
{
    return (uint32_t)fd < http->socket_cap ? http->sockets[fd] : NULL;
}

static void forget_socket(Socket *socket)
{
    TfyHttp *http = socket->http;
    CHECK(socket_at(http, socket->fd) == socket);
    http->sockets[socket->fd] = NULL;
    if (socket->handle >= 0) tfy__watch_del(http->loop, socket->handle);
    if (http->served == socket) http->served = NULL;
    free(socket);
}

/* NULL: no memory. */
static Socket *remember_socket(TfyHttp *http, int fd, bool is_connection)
{
    const uint32_t had = http->socket_cap;
    if (!GROW(http->sockets, http->socket_cap, (uint32_t)fd + 1, 64)) return NULL;
    memset(http->sockets + had, 0, (http->socket_cap - had) * sizeof *http->sockets);
    Socket *socket = tfy__sys_calloc(1, sizeof *socket);
    if (!socket) return NULL;
    *socket = (Socket){.http = http, .fd = fd, .is_connection = is_connection, .handle = -1};
    return http->sockets[fd] = socket;
}

/* A new registration reports what is ready already. */
static bool watch_anew(Socket *socket, uint32_t events)
{
    TfyLoop *loop = socket->http->loop;
    if (socket->handle >= 0) tfy__watch_del(loop, socket->handle);
    socket->handle = tfy__watch_add(loop, socket->fd, events, on_socket, socket);
    return socket->handle >= 0;
}

/* curl waits for nothing there. An answer of HTTP/1 that comes later makes an edge, whatever is left unread before it; a
 * frame of HTTP/2 may be there already. */
static void let_go(Socket *socket, CURL *easy)
{
    long version = 0;
    if (!socket->is_connection) {
        forget_socket(socket);
        return;
    }
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    socket->quiet = version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1;
    socket->events = 0;
}

/* curl reports what it waits for at a socket. What a watched one became ready for before that makes no new edge. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    TfyHttp *http = arg;
    Socket *socket = socket_at(http, fd);
    const uint32_t events = (what & CURL_POLL_IN ? TFY_FD_READ : 0) | (what & CURL_POLL_OUT ? TFY_FD_WRITE : 0);
    (void)known;
    if (what == CURL_POLL_REMOVE) {
        if (socket) let_go(socket, easy);
        return 0;
    }
    if (!socket && !(socket = remember_socket(http, fd, false))) return -1;
    const bool more = events & ~socket->events, others = events != socket->events;
    socket->events = events;
    if (!socket->is_connection) return (!others && socket->handle >= 0) || watch_anew(socket, events) ? 0 : -1;
    if (socket->handle < 0) return watch_anew(socket, TFY_FD_READ | TFY_FD_WRITE) ? 0 : -1;
    if (more && !(socket->quiet && events == TFY_FD_READ) && ready(socket)) serve_later(socket);
    socket->quiet = false;
    return 0;
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    TfyHttp *http = arg;
    if (http->timer) tfy__timer_del(http->loop, http->timer);
    http->timer = timeout_ms < 0
                      ? 0
                      : tfy__timer_add(http->loop, tfy__now_ns(http->loop) + timeout_ms * 1000000, on_timeout, http);
    return 0;
}

/* ---- public functions ---- */

/* A socket for curl, which would not report why there is none. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    TfyTransfer *transfer = arg;
    TfyHttp *http = transfer->http;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0 && tfy__is_no_room(errno)) transfer->no_room = errno;
    if (fd < 0) return CURL_SOCKET_BAD;
    CHECK(!socket_at(http, fd));
    if (remember_socket(http, fd, true)) return fd;
    close(fd);
    transfer->no_room = ENOMEM;
    return CURL_SOCKET_BAD;
}

static int close_socket(void *arg, curl_socket_t fd)
{
    Socket *socket = socket_at(arg, fd);
    if (socket) forget_socket(socket);
    return close(fd);
}

int tfy__http_no_room(const TfyTransfer *transfer)
{
    curl_off_t ready_us = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    return ready_us > 0 ? 0 : transfer->no_room ? transfer->no_room : tfy__room_for_descriptor();
}

CURL *tfy__http_easy(TfyHttp *http)
{
    return http->spare_count ? http->spare[--http->spare_count] : curl_easy_init();
}

void tfy__http_easy_free(TfyHttp *http, CURL *easy)
{
    if (!easy) return;
    if (http->spare_count == SPARE_MOST) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    http->spare[http->spare_count++] = easy;
}

bool tfy__http_start(TfyHttp *http, TfyTransfer *transfer)
{
    transfer->no_room = 0;
    transfer->http = http;
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(transfer->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(transfer->easy, CURLOPT_OPENSOCKETDATA, transfer);
    curl_easy_setopt(transfer->easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(transfer->easy, CURLOPT_CLOSESOCKETDATA, http);
    transfer->active = curl_multi_add_handle(http->multi, transfer->easy) == CURLM_OK;
    return transfer->active;
}

void tfy__http_stop(TfyHttp *http, TfyTransfer *transfer)
{
    if (transfer->active) curl_multi_remove_handle(http->multi, transfer->easy);
    transfer->active = false;
}

/* curl keeps four for each transfer under way unless it is told otherwise, so agents whose questions go out now and then
 * would connect anew for most of them. Most descriptors stay free for all else. */
static long kept_connections(void)
{
    struct rlimit files;
    const rlim_t share = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur / 8 : 0;
    return share < 1 ? 1 : share > CONNECTIONS_MOST ? CONNECTIONS_MOST : (long)share;
}

/* curl counts how often it was begun, and not every build of it does so for several threads. */
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;

static bool begin_curl(void)
{
    pthread_mutex_lock(&beginning);
    const CURLcode code = curl_global_init_mem(CURL_GLOBAL_DEFAULT, tfy__sys_malloc, free, tfy__sys_realloc,
                                               tfy__sys_strdup, tfy__sys_calloc);
    pthread_mutex_unlock(&beginning);
    return code == CURLE_OK;
}

static void end_curl(void)
{
    pthread_mutex_lock(&beginning);
    curl_global_cleanup();
    pthread_mutex_unlock(&beginning);
}

TfyHttp *tfy__http_new(TfyLoop *loop)
{
    TfyHttp *http = tfy__sys_calloc(1, sizeof *http);
    if (!http) return NULL;
    if (!begin_curl()) {
        free(http);
        return NULL;
    }
    *http = (TfyHttp){.loop = loop, .multi = curl_multi_init()};
    if (!http->multi) {
        tfy__http_free(http);
        return NULL;
    }
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, kept_connections());
    return http;
}

void tfy__http_free(TfyHttp *http)
{
    if (!http) return;
    while (http->spare_count) curl_easy_cleanup(http->spare[--http->spare_count]);
    if (http->multi) curl_multi_cleanup(http->multi);
    for (uint32_t fd = 0; fd < http->socket_cap; fd++)
        if (http->sockets[fd]) forget_socket(http->sockets[fd]);
    free(http->sockets);
    if (http->timer) tfy__timer_del(http->loop, http->timer);
    if (http->more_timer) tfy__timer_del(http->loop, http->more_timer);
    end_curl();
    free(http);
}

void tfy__http_headers_free(struct curl_slist *headers)
{
    for (struct curl_slist *header = headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(headers);
}

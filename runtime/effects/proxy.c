/* proxy.c: see proxy.h.
 *
 *   HEAD ── LOOKUP ── CONNECTING ── OPEN ── ENDING      a request that is refused goes to ENDING at once
 *
 * ENDING: what is left for the tool is sent, then the end; then the tool's bytes are thrown away until its own end,
 * because a socket that is closed with unread bytes takes back what the tool has not read yet. */
#include "effects/proxy.h"
#include "base/list.h"
#include "effects/pool.h"
#include "effects/proxy_request.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/world.h"

enum {
    RELAYS_MOST = 64,
    REFUSED_MOST = 8,
    FLOW_BYTES = 64 << 10,
    AT_ONCE = 16,          /* times that a relay is served before others are */
    THROWN_MOST = 4 << 20, /* bytes thrown away while a relay ends */
};
#define SECONDS       INT64_C(1000000000)
#define HEAD_NS       (10 * SECONDS)  /* for a whole head */
#define LOOKUP_NS     (30 * SECONDS)  /* for a lookup, and for the last of several addresses */
#define NEXT_AFTER_NS (3 * SECONDS)   /* for each other address */
#define IDLE_NS       (300 * SECONDS) /* without a byte either way */
#define ENDING_NS     (2 * SECONDS)
#define FULL_NS       (SECONDS / 10) /* after a connection for which there was no room */

typedef struct Relay Relay;

/* A lookup may outlive the relay and the loop. */
typedef struct Lookup {
    TfyJob job;   /* first */
    Relay *relay; /* not for the pool's thread */
    int (*look_up)(const char *name, const char *port, struct addrinfo **list);
    char host[256], port[8];
    int code;
    struct addrinfo *list;
} Lookup;

typedef struct End {
    int fd; /* -1: none */
    int64_t watch;
} End;

/* Bytes on their way, from one end to the other. */
typedef struct Flow {
    size_t at, len; /* of bytes: sent, received */
    bool ended;     /* the source sends no more */
    bool told;      /* and the other end knows */
    char bytes[FLOW_BYTES];
} Flow;

struct Relay {
    TfyProxy *proxy;
    Relay *prev, *next;
    enum { HEAD, LOOKUP, CONNECTING, OPEN, ENDING } state;
    End client, server;
    TfyProxyRequest request; /* from LOOKUP on; its pointers are valid until the head was rewritten */
    uint64_t body_left;      /* bytes of the request's body that were not received */
    uint64_t thrown;         /* bytes thrown away while ENDING */
    Lookup *lookup;          /* while the pool has it */
    struct addrinfo *list, *at;
    uint64_t timer;    /* the state's limit */
    uint64_t again;    /* another turn; 0: none */
    int64_t active_ns; /* the last byte */
    Flow up, down;     /* tool to server; server to tool */
};

struct TfyProxy {
    TfyLoop *loop;
    TfyProxyRules rules;
    int listener;
    int64_t watch;
    uint64_t timer; /* until the listener is tried again; 0: none */
    bool waiting;   /* it may have connections for which there is no relay */
    LIST(Relay) relays;
    uint32_t relay_count;
    uint32_t refused_count;
    char refused[REFUSED_MOST][TFY_PROXY_TARGET_TEXT];
};

static void serve(Relay *relay);
static void accept_all(TfyProxy *proxy);

/* ---- ends ---- */

static void on_event(void *arg, uint32_t events)
{
    (void)events;
    serve(arg);
}

static bool end_open(Relay *relay, End *end, int fd)
{
    const int64_t watch =
        tfy__watch_add(relay->proxy->loop, fd, TFY_FD_ONCE | TFY_FD_READ | TFY_FD_WRITE, on_event, relay);
    if (watch < 0) return false;
    *end = (End){fd, watch};
    return true;
}

static void end_close(const Relay *relay, End *end)
{
    if (end->fd < 0) return;
    tfy__watch_del(relay->proxy->loop, end->watch);
    close(end->fd);
    end->fd = -1;
}

static void want(const Relay *relay, const End *end, uint32_t events)
{
    tfy__watch_arm(relay->proxy->loop, end->watch, events);
}

static void on_limit(void *arg);

static void limit(Relay *relay, int64_t time_ns)
{
    TfyLoop *loop = relay->proxy->loop;
    tfy__timer_del(loop, relay->timer);
    relay->timer = tfy__timer_add(loop, tfy__now_ns(loop) + time_ns, on_limit, relay);
}

static void try_listener(void *arg)
{
    TfyProxy *proxy = arg;
    proxy->timer = 0;
    accept_all(proxy);
}

static void try_listener_in(TfyProxy *proxy, int64_t time_ns)
{
    if (!proxy->timer)
        proxy->timer = tfy__timer_add(proxy->loop, tfy__now_ns(proxy->loop) + time_ns, try_listener, proxy);
}

/* Nothing may touch the relay afterwards. */
static void relay_close(Relay *relay)
{
    TfyProxy *proxy = relay->proxy;
    tfy__timer_del(proxy->loop, relay->timer);
    tfy__timer_del(proxy->loop, relay->again);
    if (relay->lookup) tfy__pool_let_go(proxy->loop, &relay->lookup->job);
    end_close(relay, &relay->client);
    end_close(relay, &relay->server);
    if (relay->list) freeaddrinfo(relay->list);
    LIST2_REMOVE(&proxy->relays, relay, prev, next);
    CHECK(proxy->relay_count > 0);
    proxy->relay_count--;
    free(relay);
    if (proxy->waiting) try_listener_in(proxy, 0);
}

/* ---- flows ---- */

/* 1: bytes have moved; 0: nothing can move now; -1: the connection is broken. */
static int receive(Relay *relay, Flow *flow, const End *from, size_t most)
{
    if (flow->at == flow->len) flow->at = flow->len = 0;
    if (flow->ended || flow->len >= most) return 0;
    ssize_t len;
    do {
        len = recv(from->fd, flow->bytes + flow->len, most - flow->len, MSG_DONTWAIT);
    } while (len < 0 && errno == EINTR);
    if (len < 0 && errno != EAGAIN) return -1;
    if (len < 0) {
        want(relay, from, TFY_FD_READ);
        return 0;
    }
    if (len == 0) flow->ended = true;
    flow->len += (size_t)len;
    CHECK(flow->len <= most && most <= FLOW_BYTES);
    return 1;
}

static int deliver(Relay *relay, Flow *flow, const End *to)
{
    if (flow->at == flow->len) return 0;
    ssize_t len;
    do {
        len = send(to->fd, flow->bytes + flow->at, flow->len - flow->at, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (len < 0 && errno == EINTR);
    if (len < 0 && errno != EAGAIN) return -1;
    if (len < 0) {
        want(relay, to, TFY_FD_WRITE);
        return 0;
    }
    flow->at += (size_t)len;
    CHECK(flow->at <= flow->len);
    return 1;
}

/* Tells the other end of the end, once all bytes before it were sent. */
static void tell_end(Flow *flow, const End *to)
{
    if (!flow->ended || flow->told || flow->at < flow->len) return;
    flow->told = true;
    shutdown(to->fd, SHUT_WR);
}

/* The request's bytes, up to the end of its body. */
static int receive_up(Relay *relay)
{
    Flow *up = &relay->up;
    if (relay->request.tunnel) return receive(relay, up, &relay->client, FLOW_BYTES);
    if (up->at == up->len) up->at = up->len = 0;
    const size_t room = FLOW_BYTES - up->len;
    const size_t most = up->len + (relay->body_left < room ? (size_t)relay->body_left : room), before = up->len;
    const int moved = relay->body_left ? receive(relay, up, &relay->client, most) : 0;
    relay->body_left -= up->len - before;
    return up->ended ? -1 : moved; /* a body that is cut off is not a request */
}

static void again_now(void *arg)
{
    Relay *relay = arg;
    relay->again = 0;
    serve(relay);
}

/* A peer that is always ready must not keep the other tasks from running. */
static void serve_in_next_turn(Relay *relay)
{
    TfyLoop *loop = relay->proxy->loop;
    if (!relay->again) relay->again = tfy__timer_add(loop, tfy__now_ns(loop), again_now, relay);
}

/* ---- the end ---- */

static void enter_ending(Relay *relay)
{
    if (relay->lookup) tfy__pool_let_go(relay->proxy->loop, &relay->lookup->job);
    relay->lookup = NULL;
    end_close(relay, &relay->server);
    relay->state = ENDING;
    relay->down.ended = true;
    limit(relay, ENDING_NS);
    serve(relay);
}

static bool throw_away(Relay *relay)
{
    relay->up.at = relay->up.len = 0;
    const int moved = receive(relay, &relay->up, &relay->client, FLOW_BYTES);
    relay->thrown += relay->up.len;
    return moved > 0 && !relay->up.ended && relay->thrown < THROWN_MOST;
}

static void serve_ending(Relay *relay)
{
    int moved;
    while ((moved = deliver(relay, &relay->down, &relay->client)) > 0) continue;
    tell_end(&relay->down, &relay->client);
    for (int round = 0; moved == 0 && round < AT_ONCE; round++)
        if (!throw_away(relay)) break;
    if (moved < 0 || (relay->up.ended && relay->down.told) || relay->thrown >= THROWN_MOST)
        relay_close(relay);
    else if (relay->up.len)
        serve_in_next_turn(relay);
}

static const char *reason_of(int status)
{
    switch (status) {
    case 403: return "Forbidden";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 431: return "Request Header Fields Too Large";
    case 502: return "Bad Gateway";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Bad Request";
    }
}

/* Answers with a status and a sentence instead of a server's answer. */
static void answer(Relay *relay, int status, const char *sentence)
{
    Flow *down = &relay->down;
    CHECK(!down->len && !down->ended);
    down->len = (size_t)snprintf(down->bytes, sizeof down->bytes,
                                 "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                                 "Connection: close\r\n\r\n%s\n",
                                 status, reason_of(status), strlen(sentence) + 1, sentence);
    enter_ending(relay);
}

static void remember(TfyProxy *proxy, const char *target)
{
    for (uint32_t i = 0; i < proxy->refused_count; i++)
        if (strcmp(proxy->refused[i], target) == 0) return;
    if (proxy->refused_count < REFUSED_MOST) strcpy(proxy->refused[proxy->refused_count++], target);
}

/* address: what the name leads to; NULL: the rules do not allow it. */
static void refuse(Relay *relay, const struct addrinfo *address)
{
    char target[TFY_PROXY_TARGET_TEXT], sentence[sizeof target + NI_MAXHOST + 64], numeric[NI_MAXHOST] = "";
    tfy__proxy_target_text(&relay->request.target, target);
    remember(relay->proxy, target);
    if (address) getnameinfo(address->ai_addr, address->ai_addrlen, numeric, sizeof numeric, NULL, 0, NI_NUMERICHOST);
    snprintf(sentence, sizeof sentence, "the sandbox refused %s%s%s", target, address ? ": its address is " : "",
             numeric);
    answer(relay, 403, sentence);
}

/* ---- connecting ---- */

static void try_address(Relay *relay);

static void fail(Relay *relay, int status, const char *why)
{
    char target[TFY_PROXY_TARGET_TEXT], sentence[sizeof target + 128];
    tfy__proxy_target_text(&relay->request.target, target);
    snprintf(sentence, sizeof sentence, "cannot connect to %s: %.100s", target, why);
    answer(relay, status, sentence);
}

static void next_address(Relay *relay, int error)
{
    end_close(relay, &relay->server);
    relay->at = relay->at->ai_next;
    if (relay->at)
        try_address(relay);
    else
        fail(relay, error == ETIMEDOUT ? 504 : 502, strerror(error));
}

/* The bytes behind the head that were received with it: no more than the body has. */
static bool rewrite_head(Relay *relay)
{
    Flow *up = &relay->up;
    TfyBuffer head = {0};
    tfy__proxy_forward(&relay->request, &head);
    const size_t behind = up->len - up->at;
    const size_t kept = behind < relay->request.body ? behind : (size_t)relay->request.body;
    const bool fits = !head.failed && head.len + kept <= FLOW_BYTES;
    if (fits) {
        memmove(up->bytes + head.len, up->bytes + up->at, kept);
        memcpy(up->bytes, head.data, head.len);
        up->at = 0;
        up->len = head.len + kept;
        relay->body_left = relay->request.body - kept;
    }
    tfy__buffer_free(&head);
    return fits;
}

static void enter_open(Relay *relay)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    relay->state = OPEN;
    relay->active_ns = tfy__now_ns(relay->proxy->loop);
    limit(relay, IDLE_NS);
    if (relay->request.tunnel) {
        memcpy(relay->down.bytes, established, sizeof established - 1);
        relay->down.len = sizeof established - 1;
    } else if (!rewrite_head(relay)) {
        relay_close(relay);
        return;
    }
    serve(relay);
}

static void serve_connecting(Relay *relay)
{
    struct sockaddr_storage peer;
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(relay->server.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0) error = errno;
    len = sizeof peer;
    if (error)
        next_address(relay, error);
    else if (getpeername(relay->server.fd, (struct sockaddr *)&peer, &len) < 0)
        want(relay, &relay->server, TFY_FD_WRITE); /* not yet: the event was the tool's */
    else
        enter_open(relay);
}

static void connect_to(Relay *relay, int fd)
{
    const struct addrinfo *to = relay->at;
    int on = 1, error = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS && errno != EINTR) error = errno;
    if (!error && !end_open(relay, &relay->server, fd)) error = ENOMEM;
    if (error) {
        close(fd);
        next_address(relay, error);
        return;
    }
    limit(relay, to->ai_next ? NEXT_AFTER_NS : LOOKUP_NS);
}

static void try_address(Relay *relay)
{
    const int fd = socket(relay->at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    relay->state = CONNECTING;
    if (fd < 0)
        next_address(relay, errno);
    else
        connect_to(relay, fd);
}

/* Only addresses that a name may lead to stay in the list. Returns one that may not; NULL: there is none. */
static struct addrinfo *take_closed(struct addrinfo **list)
{
    struct addrinfo *closed = NULL, **place = list;
    while (*place) {
        struct addrinfo *at = *place;
        if (tfy__proxy_is_public(at->ai_addr)) {
            place = &at->ai_next;
        } else {
            *place = at->ai_next;
            at->ai_next = closed;
            closed = at;
        }
    }
    return closed;
}

/* ---- names ---- */

static int system_look_up(const char *name, const char *port, struct addrinfo **list)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    return getaddrinfo(name, port, &hints, list);
}

static void lookup_work(TfyJob *job)
{
    Lookup *lookup = (Lookup *)job;
    lookup->code = lookup->look_up(lookup->host, lookup->port, &lookup->list);
    if (lookup->code == EAI_MEMORY) tfy__sys_refused();
}

static void lookup_drop(TfyJob *job)
{
    Lookup *lookup = (Lookup *)job;
    if (lookup->list) freeaddrinfo(lookup->list);
    free(lookup);
}

static void connect_to_name(Relay *relay, struct addrinfo *list)
{
    struct addrinfo *closed = take_closed(&list);
    relay->list = relay->at = list;
    if (list)
        try_address(relay);
    else
        refuse(relay, closed);
    if (closed) freeaddrinfo(closed);
}

static void lookup_done(TfyJob *job)
{
    Lookup *lookup = (Lookup *)job;
    Relay *relay = lookup->relay;
    struct addrinfo *list = lookup->list;
    const int code = lookup->code;
    free(lookup);
    relay->lookup = NULL;
    if (code || !list)
        fail(relay, 502, code == EAI_NONAME || !code ? "there is no host with that name" : gai_strerror(code));
    else
        connect_to_name(relay, list);
}

static void look_up(Relay *relay)
{
    TfyProxy *proxy = relay->proxy;
    Lookup *lookup = tfy__sys_calloc(1, sizeof *lookup);
    relay->state = LOOKUP;
    if (lookup) {
        lookup->job = (TfyJob){.work = lookup_work, .done = lookup_done, .drop = lookup_drop, .may_outlive = true};
        lookup->relay = relay;
        lookup->look_up = proxy->rules.look_up ? proxy->rules.look_up : system_look_up;
        memcpy(lookup->host, relay->request.target.host, sizeof lookup->host);
        snprintf(lookup->port, sizeof lookup->port, "%u", relay->request.target.port);
    }
    if (lookup && tfy__pool_add(proxy->loop, &lookup->job) == 0) {
        relay->lookup = lookup;
        limit(relay, LOOKUP_NS);
        return;
    }
    free(lookup);
    fail(relay, 502, "there is no room to look up the name");
}

/* ---- requests ---- */

static bool is_allowed(const TfyProxy *proxy, const TfyProxyTarget *target)
{
    return tfy__proxy_allows(proxy->rules.hosts, target) &&
           (!proxy->rules.ceiling || tfy__proxy_allows(proxy->rules.ceiling, target));
}

/* An address is a rule, so it was meant, wherever it leads. */
static void connect_to_literal(Relay *relay)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
    char port[8];
    snprintf(port, sizeof port, "%u", relay->request.target.port);
    if (getaddrinfo(relay->request.target.host, port, &hints, &relay->list) != 0) {
        relay->list = NULL;
        tfy__sys_refused();
        relay_close(relay);
        return;
    }
    relay->at = relay->list;
    try_address(relay);
}

static const char *sentence_of(int status)
{
    switch (status) {
    case 403: return "the sandbox refused an address that is not a host and a port";
    case 405: return "the sandbox passes on GET, HEAD, POST and CONNECT";
    case 411: return "a body needs Content-Length here";
    case 505: return "only HTTP/1.1 and HTTP/1.0 are passed on";
    default: return "this is not a request to a proxy";
    }
}

static void start_request(Relay *relay, size_t head)
{
    const int status = tfy__proxy_request(relay->up.bytes, head, &relay->request);
    relay->up.at = head;
    if (status)
        answer(relay, status, sentence_of(status));
    else if (!is_allowed(relay->proxy, &relay->request.target))
        refuse(relay, NULL);
    else if (relay->request.target.kind == TFY_PROXY_NAME)
        look_up(relay);
    else
        connect_to_literal(relay);
}

static void serve_head(Relay *relay)
{
    Flow *up = &relay->up;
    int moved;
    do {
        const size_t seen = up->len;
        moved = receive(relay, up, &relay->client, TFY_PROXY_HEAD_MOST);
        const size_t head = tfy__proxy_head(up->bytes, up->len, seen);
        if (head) {
            start_request(relay, head);
            return;
        }
    } while (moved > 0 && !up->ended);
    if (moved < 0 || up->ended)
        relay_close(relay);
    else if (up->len >= TFY_PROXY_HEAD_MOST)
        answer(relay, 431, "the head of a request has 16 KiB at most");
}

/* ---- both ways ---- */

/* A server may answer before it has read the whole body, and read no more: its answer counts. */
static int deliver_up(Relay *relay)
{
    const int moved = deliver(relay, &relay->up, &relay->server);
    if (moved >= 0 || relay->request.tunnel) return moved;
    relay->up.at = relay->up.len;
    relay->body_left = 0;
    return 0;
}

/* 1, 0 or -1 as receive, for all four. */
static int move_once(Relay *relay)
{
    const int from_tool = receive_up(relay), to_server = deliver_up(relay);
    const int from_server = receive(relay, &relay->down, &relay->server, FLOW_BYTES);
    const int to_tool = deliver(relay, &relay->down, &relay->client);
    const int moved = from_tool | to_server | from_server | to_tool;
    if (moved < 0) return -1;
    if (moved) relay->active_ns = tfy__now_ns(relay->proxy->loop);
    return moved;
}

static void serve_open(Relay *relay)
{
    const bool tunnel = relay->request.tunnel;
    int moved = 1;
    for (int round = 0; round < AT_ONCE && moved > 0; round++) {
        moved = move_once(relay);
        if (moved < 0) break;
        if (tunnel) tell_end(&relay->up, &relay->server);
        if (tunnel) tell_end(&relay->down, &relay->client);
    }
    const bool answered = relay->down.ended && relay->down.at == relay->down.len;
    if (moved < 0 || (tunnel && relay->up.told && relay->down.told))
        relay_close(relay);
    else if (!tunnel && answered)
        enter_ending(relay);
    else if (moved > 0)
        serve_in_next_turn(relay);
}

static void serve(Relay *relay)
{
    switch (relay->state) {
    case HEAD: serve_head(relay); break;
    case LOOKUP: break; /* what came meanwhile is read once the relay is open */
    case CONNECTING: serve_connecting(relay); break;
    case OPEN: serve_open(relay); break;
    case ENDING: serve_ending(relay); break;
    }
}

static void on_limit(void *arg)
{
    Relay *relay = arg;
    const int64_t idle_ns = tfy__now_ns(relay->proxy->loop) - relay->active_ns;
    relay->timer = 0;
    if (relay->state == HEAD)
        answer(relay, 408, "the head of the request came too slowly");
    else if (relay->state == LOOKUP)
        fail(relay, 504, "the name cannot be looked up now");
    else if (relay->state == CONNECTING)
        next_address(relay, ETIMEDOUT);
    else if (relay->state == OPEN && idle_ns < IDLE_NS)
        limit(relay, IDLE_NS - idle_ns);
    else
        relay_close(relay);
}

/* ---- the listener ---- */

static void relay_open(TfyProxy *proxy, int fd)
{
    int on = 1;
    Relay *relay = tfy__sys_malloc(sizeof *relay);
    if (!relay) {
        close(fd);
        return;
    }
    memset(relay, 0, offsetof(Relay, up)); /* of the flows only what stands before their bytes is read */
    relay->up.at = relay->up.len = relay->down.at = relay->down.len = 0;
    relay->up.ended = relay->up.told = relay->down.ended = relay->down.told = false;
    relay->proxy = proxy;
    relay->client.fd = relay->server.fd = -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!end_open(relay, &relay->client, fd)) {
        close(fd);
        free(relay);
        return;
    }
    LIST2_APPEND(&proxy->relays, relay, prev, next);
    proxy->relay_count++;
    limit(relay, HEAD_NS);
    serve(relay);
}

/* Until there are no more, or no room for more. */
static void accept_all(TfyProxy *proxy)
{
    proxy->waiting = true;
    while (proxy->relay_count < RELAYS_MOST) {
        const int fd = accept4(proxy->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        const int error = fd < 0 ? errno : 0;
        if (fd >= 0) {
            relay_open(proxy, fd);
        } else if (error == EAGAIN) {
            proxy->waiting = false;
            tfy__watch_arm(proxy->loop, proxy->watch, TFY_FD_READ);
            return;
        } else if (error != EINTR && error != ECONNABORTED && error != EPROTO) {
            try_listener_in(proxy, FULL_NS);
            return;
        }
    }
}

static void on_connection(void *arg, uint32_t events)
{
    (void)events;
    accept_all(arg);
}

TfyProxy *tfy__proxy_start(TfyLoop *loop, int listener, const TfyProxyRules *rules)
{
    TfyProxy *proxy = tfy__sys_calloc(1, sizeof *proxy);
    if (!proxy) return NULL;
    const int flags = fcntl(listener, F_GETFL);
    if (flags >= 0 && fcntl(listener, F_SETFL, flags | O_NONBLOCK) == 0) {
        *proxy = (TfyProxy){.loop = loop, .rules = *rules, .listener = listener};
        proxy->watch = tfy__watch_add(loop, listener, TFY_FD_ONCE | TFY_FD_READ, on_connection, proxy);
        if (proxy->watch >= 0) return proxy;
        errno = ENOMEM;
    }
    free(proxy);
    return NULL;
}

const char *tfy__proxy_refused(const TfyProxy *proxy, uint32_t i)
{
    return i < proxy->refused_count ? proxy->refused[i] : NULL;
}

void tfy__proxy_close(TfyProxy *proxy)
{
    if (!proxy) return;
    proxy->waiting = false;
    for (Relay *relay; (relay = proxy->relays.first);) relay_close(relay);
    CHECK(!proxy->relay_count);
    tfy__timer_del(proxy->loop, proxy->timer);
    tfy__watch_del(proxy->loop, proxy->watch);
    close(proxy->listener);
    free(proxy);
}

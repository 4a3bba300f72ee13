/* net_dial.c: listen and connect. A host name is resolved by a thread of the pool; then the addresses are tried in
 * order until one works. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/world.h"
#include "effects/net.h"
#include "effects/proxy_rules.h"
#include "effects/protect.h"
#include "effects/pool.h"

#define BACKLOG       4096
#define NEXT_AFTER_NS INT64_C(3000000000) /* how long one of several addresses is tried */

typedef struct Dial Dial;

/* A lookup of a name's addresses. It may outlive the step and the loop. */
typedef struct Lookup {
    TfyJob job; /* first */
    Dial *dial; /* not for the pool's thread */
    char host[256], port[8];
    int code, error; /* of getaddrinfo; and errno */
    struct addrinfo *list;
} Lookup;

struct Dial {
    TfyNet *net;
    TfyCall *call;
    bool listens;
    TfyNetAddress address;
    Lookup *lookup; /* while the pool has it */
    struct addrinfo *list, *at;
    int fd;        /* the descriptor being connected; -1: none */
    int64_t watch; /* of fd */
    uint64_t timer;
};

/* ---- the end ---- */

static void dial_free(Dial *dial)
{
    tfy__timer_del(dial->net->loop, dial->timer);
    if (dial->lookup) tfy__pool_let_go(dial->net->loop, &dial->lookup->job);
    if (dial->fd >= 0) {
        tfy__watch_del(dial->net->loop, dial->watch);
        close(dial->fd);
    }
    if (dial->list) freeaddrinfo(dial->list);
    free(dial);
}

static void dial_fail(Dial *dial, int64_t code, const char *why)
{
    TfyCall *call = dial->call;
    dial_free(dial);
    if (tfy__is_no_room((int)code)) {
        tfy__call_no_room(call, (int)code);
        return;
    }
    tfy__call_tool_error(call, code, "cannot %s %s: %s",
                         call->tool->family == TFY_F_LISTEN ? "listen at" : "connect to",
                         ((const TfyString *)call->args[0].o)->bytes, why);
}

/* A descriptor is ready: the step's answer. */
static void dial_done(Dial *dial, int fd)
{
    TfyCall *call = dial->call;
    char *path = dial->listens && dial->address.local ? tfy__sys_strdup(dial->address.path) : NULL;
    TfyDescriptor *d = tfy__net_add(dial->net, call->task, fd, dial->listens ? TFY_NET_LISTENER : TFY_NET_SOCKET);
    if (!d) {
        int error = errno;
        free(path);
        dial_fail(dial, error, tfy__net_explain(error));
        return;
    }
    d->path = path;
    dial_free(dial);
    tfy__call_done(call, tfy_of_int(d->handle));
}

/* ---- connecting ---- */

static void try_address(Dial *dial);

static void next_address(Dial *dial, int error)
{
    dial->at = dial->at->ai_next;
    if (dial->at)
        try_address(dial);
    else
        dial_fail(dial, error, tfy__net_explain(error));
}

static int take_fd(Dial *dial)
{
    int fd = dial->fd;
    tfy__watch_del(dial->net->loop, dial->watch);
    tfy__timer_del(dial->net->loop, dial->timer);
    dial->timer = 0;
    dial->fd = -1;
    return fd;
}

static void on_connected(void *arg, uint32_t events)
{
    Dial *dial = arg;
    int error = 0;
    socklen_t len = sizeof error;
    (void)events;
    if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0) error = errno;
    struct sockaddr_storage peer;
    len = sizeof peer;
    if (!error && getpeername(dial->fd, (struct sockaddr *)&peer, &len) < 0) { /* not yet */
        tfy__watch_arm(dial->net->loop, dial->watch, TFY_FD_WRITE);
        return;
    }
    int fd = take_fd(dial);
    if (error) {
        close(fd);
        next_address(dial, error);
    } else {
        dial_done(dial, fd);
    }
}

static void on_slow(void *arg)
{
    Dial *dial = arg;
    dial->timer = 0;
    close(take_fd(dial));
    next_address(dial, ETIMEDOUT);
}

static void wait_connected(Dial *dial, int fd, bool more)
{
    TfyLoop *loop = dial->net->loop;
    dial->watch = tfy__watch_add(loop, fd, TFY_FD_ONCE | TFY_FD_WRITE, on_connected, dial);
    if (dial->watch < 0) {
        close(fd);
        dial_fail(dial, ENOMEM, tfy__net_explain(ENOMEM));
        return;
    }
    dial->fd = fd;
    if (more) dial->timer = tfy__timer_add(loop, tfy__now_ns(loop) + NEXT_AFTER_NS, on_slow, dial);
}

static void connect_address(Dial *dial, int fd, const struct addrinfo *to)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) {
        dial_done(dial, fd);
    } else if (errno == EINPROGRESS || errno == EINTR) {
        wait_connected(dial, fd, to->ai_next != NULL);
    } else {
        int error = errno;
        close(fd);
        next_address(dial, error);
    }
}

/* ---- listening ---- */

static void listen_address(Dial *dial, int fd, const struct addrinfo *at)
{
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, *dial->address.host ? &on : &off, sizeof on);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
        dial_done(dial, fd);
        return;
    }
    int error = errno;
    close(fd);
    next_address(dial, error);
}

static void try_address(Dial *dial)
{
    const struct addrinfo *at = dial->at;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        next_address(dial, errno);
    else if (dial->listens)
        listen_address(dial, fd, at);
    else
        connect_address(dial, fd, at);
}

/* ---- Unix sockets ---- */

/* A listener that was killed leaves its socket behind; a socket that no process serves may be replaced. */
static bool is_left_over(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return dead;
}

static int listen_local(int fd, const struct sockaddr_un *address)
{
    const struct sockaddr *at = (const struct sockaddr *)address;
    int failed = bind(fd, at, sizeof *address);
    if (failed && errno == EADDRINUSE) {
        const int no_room = tfy__room_for_descriptor(); /* is_left_over needs one */
        if (!no_room && is_left_over(address) && unlink(address->sun_path) == 0)
            failed = bind(fd, at, sizeof *address);
        else
            errno = no_room ? no_room : EADDRINUSE;
    }
    return failed || listen(fd, BACKLOG) < 0 ? -errno : 0;
}

/* A process that may write to the socket of the log's owner can answer for people. Returns whether the dial has
 * failed. */
static bool is_forbidden(Dial *dial)
{
    TfyProtect *protect = tfy__protect_new(dial->net->loop, tfy__root_fd(dial->call->task));
    int code = protect ? -tfy__protect_path(protect, dial->address.path, dial->listens) : ENOMEM;
    const char *reason = code == ENOMEM ? tfy__net_explain(code) : tfy__protect_reason(code);
    tfy__protect_free(protect);
    if (reason) dial_fail(dial, code == ENOMEM ? code : EPERM, reason);
    return reason;
}

static void dial_local(Dial *dial)
{
    struct sockaddr_un address;
    if (is_forbidden(dial)) return;
    int dir, error = -tfy__net_local_address(dial->address.path, &address, &dir);
    int fd = error ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (!error && fd < 0) error = errno;
    if (!error && dial->listens) error = -listen_local(fd, &address);
    if (!error && !dial->listens && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) error = errno;
    if (dir >= 0) close(dir);
    if (!error) {
        dial_done(dial, fd);
        return;
    }
    if (fd >= 0) close(fd);
    dial_fail(dial, error, tfy__net_explain(error));
}

/* ---- names ---- */

static int look_up(const char *host, const char *port, int flags, struct addrinfo **list)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    return getaddrinfo(*host ? host : NULL, port, &hints, list);
}

static void lookup_work(TfyJob *job)
{
    Lookup *lookup = (Lookup *)job;
    lookup->code = look_up(lookup->host, lookup->port, 0, &lookup->list);
    lookup->error = errno;
    /* This name means this machine (RFC 6761), even if the system is not set up so: without a host, the loopback
     * addresses are returned. */
    if (lookup->code && strcasecmp(lookup->host, "localhost") == 0)
        lookup->code = look_up("", lookup->port, 0, &lookup->list);
    if (lookup->code == EAI_MEMORY) tfy__sys_refused();
}

static void lookup_drop(TfyJob *job)
{
    Lookup *lookup = (Lookup *)job;
    if (lookup->list) freeaddrinfo(lookup->list);
    free(lookup);
}

static const char *explain_lookup(int code, int error)
{
    switch (code) {
    case EAI_NONAME: return "there is no host with that name";
    case EAI_AGAIN: return "the name cannot be looked up now";
    case EAI_SYSTEM: return strerror(error);
    default: return gai_strerror(code);
    }
}

/* Called with the addresses, or with the failure to find any. */
static void looked_up(Dial *dial, int code, int error, struct addrinfo *list)
{
    /* a lookup that finds none may report an unknown name instead */
    const int no_room = code ? tfy__room_for_descriptor() : 0;
    if (no_room) {
        dial_fail(dial, no_room, strerror(no_room));
        return;
    }
    if (code) {
        dial_fail(dial, code == EAI_SYSTEM ? error : ENOENT, explain_lookup(code, error));
        return;
    }
    dial->list = dial->at = list;
    try_address(dial);
}

static void lookup_done(TfyJob *job)
{
    Lookup *lookup = (Lookup *)job;
    Dial *dial = lookup->dial;
    struct addrinfo *list = lookup->list;
    int code = lookup->code, error = lookup->error;
    free(lookup);
    dial->lookup = NULL;
    looked_up(dial, code, error, list);
}

static void look_up_elsewhere(Dial *dial)
{
    Lookup *lookup = tfy__sys_calloc(1, sizeof *lookup);
    if (lookup) {
        lookup->job = (TfyJob){.work = lookup_work, .done = lookup_done, .drop = lookup_drop, .may_outlive = true};
        lookup->dial = dial;
        memcpy(lookup->host, dial->address.host, sizeof lookup->host);
        memcpy(lookup->port, dial->address.port, sizeof lookup->port);
    }
    const int code = lookup ? tfy__pool_add(dial->net->loop, &lookup->job) : TFY_E_NOMEM;
    const int error = code == TFY_E_STATE ? errno : ENOMEM;
    if (code == 0) {
        dial->lookup = lookup;
        return;
    }
    TfyCall *call = dial->call;
    free(lookup);
    dial_free(dial);
    tfy__call_no_room(call, error);
}

/* IPv6 first if all addresses are meant: such a socket serves both. */
static struct addrinfo *both_first(struct addrinfo *list)
{
    struct addrinfo **at = &list;
    while (*at && (*at)->ai_family != AF_INET6) at = &(*at)->ai_next;
    struct addrinfo *found = *at;
    if (!found) return list;
    *at = found->ai_next;
    found->ai_next = list;
    return found;
}

/* May the run connect to this address? A socket of this machine only if there is no ceiling. */
static bool is_within(const Dial *dial)
{
    const char *ceiling = tfy__ceiling(dial->call->task).network;
    const TfyNetAddress *address = &dial->address;
    const bool brackets = strchr(address->host, ':');
    char place[sizeof address->host + sizeof address->port + 4];
    TfyProxyTarget target;
    if (!ceiling || strcmp(ceiling, "any") == 0) return true;
    const int len = snprintf(place, sizeof place, "%s%s%s:%s", brackets ? "[" : "", address->host, brackets ? "]" : "",
                             address->port);
    return !address->local && tfy__proxy_target(place, (size_t)len, 0, &target) && tfy__proxy_within(ceiling, &target);
}

void tfy__net_dial(TfyNet *net, TfyCall *call)
{
    Dial *dial = tfy__sys_calloc(1, sizeof *dial);
    if (!dial) {
        tfy__call_starved(call);
        return;
    }
    *dial = (Dial){.net = net, .call = call, .listens = call->tool->family == TFY_F_LISTEN, .fd = -1};
    call->state = dial;
    const char *wrong = tfy__net_address(call->task, call->args[0].o, &dial->address);
    if (!wrong && !dial->listens && !dial->address.local && !*dial->address.host) wrong = "the host is missing";
    if (wrong) {
        dial_fail(dial, EINVAL, wrong);
        return;
    }
    if (!dial->listens && !is_within(dial)) {
        dial_fail(dial, EACCES, "'--network' does not allow it");
        return;
    }
    if (dial->address.local) {
        dial_local(dial);
        return;
    }
    struct addrinfo *list = NULL;
    bool all = !*dial->address.host;
    int code = look_up(dial->address.host, dial->address.port, AI_NUMERICHOST | (all ? AI_PASSIVE : 0), &list);
    if (code == EAI_NONAME && !all)
        look_up_elsewhere(dial);
    else
        looked_up(dial, code, errno, all && !code ? both_first(list) : list);
}

void tfy__net_dial_abort(TfyCall *call)
{
    dial_free(call->state);
}

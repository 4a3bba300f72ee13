/* sockets.c: see net.h: links, descriptors, the system's calls and the poller. The program is linked with --wrap for each of the calls. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net.h"

typedef enum SocketState {
    SOCKET_NEW,
    SOCKET_LISTENS,
    SOCKET_CONNECTS,
    SOCKET_CONNECTED,
    SOCKET_FAILED, /* to connect; error says why */
} SocketState;

struct SimSocket {
    uint64_t serial; /* 0: the place is free */
    SocketState state;
    int family;
    char name[64]; /* it is bound to: a port in digits, or a path; "": none */
    SimLink *link;
    int side;
    int error;                   /* of the connecting, until somebody has asked */
    bool told_reset;             /* the program has heard of it */
    SimLink *queue[SIM_BACKLOG]; /* of a listener: who asks */
    uint32_t queued;
    bool watched;
    uint64_t tag;
    uint32_t wanted; /* levels: what was not told since it was asked for */
    uint64_t woken;  /* edges: when something happened, in the order of all such; 0: it was told */
};

enum { NAMES = 8, FIRST_PORT = 40000 };

static struct {
    SimSocket sockets[SIM_SOCKETS];
    SimLink **links;
    uint32_t link_count, link_cap;
    uint64_t serials, wakes;
    uint64_t late; /* the tag that was taken out last; 0: none */
    uint32_t ports;
    char names[NAMES][64]; /* of Unix sockets, on the disk; "": free */
} net;

int64_t sim_net_delay(uint32_t us)
{
    return (int64_t)sim_below(&sim.chance, us) * 1000;
}

/* ---- what is ready ---- */

static bool can_read(const SimSocket *s)
{
    if (s->state == SOCKET_LISTENS) return s->queued;
    if (s->state == SOCKET_FAILED) return true;
    if (s->state != SOCKET_CONNECTED) return false;
    const SimStream *in = &s->link->streams[1 - s->side];
    return in->arrived > in->taken || in->end_arrived || s->link->reset;
}

static size_t room_of(const SimStream *out)
{
    size_t waiting = out->bytes.len - out->taken;
    return waiting < out->room ? out->room - waiting : 0;
}

static bool can_write(const SimSocket *s)
{
    if (s->state == SOCKET_FAILED) return true;
    return s->state == SOCKET_CONNECTED && (s->link->reset || room_of(&s->link->streams[s->side]));
}

/* Nothing comes or goes any more. */
static bool is_broken(const SimSocket *s)
{
    return s->state == SOCKET_FAILED || (s->state == SOCKET_CONNECTED && s->link->reset);
}

/* Nothing comes any more. */
static bool hangs_up(const SimSocket *s)
{
    return is_broken(s) || (s->state == SOCKET_CONNECTED && s->link->streams[1 - s->side].end_arrived);
}

static uint32_t level(const SimSocket *s)
{
    uint32_t events = 0;
    if (can_read(s)) events |= TFY_FD_READ;
    if (can_write(s)) events |= TFY_FD_WRITE;
    if (hangs_up(s)) events |= TFY_FD_HANGUP | TFY_FD_READ;
    return events;
}

static SimSocket *socket_of(int fd);

bool sim_socket_ready(int fd, bool to_write)
{
    const SimSocket *s = socket_of(fd);
    return s && (to_write ? can_write(s) : can_read(s));
}

static void wake(SimSocket *s)
{
    if (s && s->watched && !s->woken) s->woken = ++net.wakes;
}

/* ---- links ---- */

SimLink *sim_link(uint32_t number)
{
    return number && number <= net.link_count ? net.links[number - 1] : NULL;
}

static SimLink *link_new(void)
{
    static const size_t rooms[] = {1, 16, 200, 5000, 65536, 65536};
    SimLink *link = calloc(1, sizeof *link);
    if (!link) abort();
    if (net.link_count == net.link_cap) {
        net.link_cap = net.link_cap ? net.link_cap * 2 : 64;
        net.links = realloc(net.links, net.link_cap * sizeof(SimLink *));
        if (!net.links) abort();
    }
    net.links[net.link_count++] = link;
    link->number = net.link_count;
    for (int side = 0; side < 2; side++)
        link->streams[side].room = sim.expecting ? 65536 : rooms[sim_below(&sim.chance, sizeof rooms / sizeof *rooms)];
    if (!sim.expecting && sim_percent(&sim.chance, 40)) link->piece = 1 + sim_below(&sim.chance, 12);
    return link;
}

static void notice(SimLink *link, int side)
{
    if (link->sockets[side])
        wake(link->sockets[side]);
    else if (link->peer && side == link->peer_side)
        sim_peer_notices(link);
}

static void move(SimLink *link, int side);

/* Some of what a side has sent is there. */
static void arrive(SimEvent *event)
{
    SimLink *link = event->arg;
    int side = (int)event->number;
    SimStream *out = &link->streams[side];
    out->moving = false;
    if (link->reset) return;
    size_t len = out->bytes.len - out->arrived;
    if (link->piece && len > link->piece) len = link->piece;
    if (len && link->left[1 - side]) { /* nobody is there who could take it */
        sim_link_reset(link);
        return;
    }
    out->arrived += len;
    if (out->ended && out->arrived == out->bytes.len) out->end_arrived = true;
    notice(link, 1 - side);
    move(link, side);
}

static void move(SimLink *link, int side)
{
    SimStream *out = &link->streams[side];
    if (out->moving || (out->arrived == out->bytes.len && (!out->ended || out->end_arrived))) return;
    out->moving = true;
    int64_t delay_ns = sim_percent(&sim.chance, 50) ? 0 : sim_net_delay(sim_percent(&sim.chance, 5) ? 30000 : 800);
    sim_plan_event(delay_ns, sim_below(&sim.chance, 4), arrive, link, side);
}

size_t sim_link_send(SimLink *link, int side, const char *bytes, size_t len)
{
    SimStream *out = &link->streams[side];
    size_t room = room_of(out);
    if (len > room) len = room;
    if (!len) return 0;
    tfy__buffer_add(&out->bytes, bytes, len);
    if (out->bytes.failed) abort();
    move(link, side);
    return len;
}

void sim_link_take(SimLink *link, int side, size_t len)
{
    SimStream *in = &link->streams[1 - side];
    in->taken += len;
    notice(link, 1 - side);
}

void sim_link_end(SimLink *link, int side)
{
    link->streams[side].ended = true;
    move(link, side);
}

void sim_link_close(SimLink *link, int side)
{
    link->left[side] = true;
    sim_link_end(link, side);
}

void sim_link_reset(SimLink *link)
{
    if (link->reset) return;
    sim_trace("link %u is reset", link->number);
    link->reset = true;
    for (int side = 0; side < 2; side++) notice(link, side);
}

/* ---- descriptors ---- */

static SimSocket *socket_of(int fd)
{
    if (fd < SIM_FD_FIRST || fd >= SIM_FD_FIRST + SIM_SOCKETS) return NULL;
    SimSocket *s = &net.sockets[fd - SIM_FD_FIRST];
    return s->serial ? s : NULL;
}

static int fd_of(const SimSocket *s)
{
    return SIM_FD_FIRST + (int)(s - net.sockets);
}

uint64_t sim_socket_serial(int fd, uint32_t *link, int *side)
{
    const SimSocket *s = socket_of(fd);
    *link = s && s->link ? s->link->number : 0;
    *side = s ? s->side : 0;
    return s ? s->serial : 0;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

/* The lowest number that is free, as the system does. */
static SimSocket *socket_new(int family)
{
    for (int i = 0; i < SIM_SOCKETS; i++) {
        SimSocket *s = &net.sockets[i];
        if (s->serial) continue;
        *s = (SimSocket){.serial = ++net.serials, .family = family};
        return s;
    }
    return NULL;
}

static void attach(SimSocket *s, SimLink *link, int side)
{
    s->state = SOCKET_CONNECTED;
    s->link = link;
    s->side = side;
    link->sockets[side] = s;
}

static SimSocket *listener_at(const char *name)
{
    for (int i = 0; i < SIM_SOCKETS; i++) {
        SimSocket *s = &net.sockets[i];
        if (s->serial && s->name[0] && strcmp(s->name, name) == 0) return s;
    }
    return NULL;
}

static void queue_link(SimSocket *listener, SimLink *link)
{
    listener->queue[listener->queued++] = link;
    wake(listener);
}

bool sim_socket_listens(const SimSocket *listener, uint64_t serial)
{
    return listener->serial == serial;
}

SimLink *sim_listener_link(SimSocket *listener)
{
    if (listener->queued == SIM_BACKLOG) return NULL;
    SimLink *link = link_new();
    queue_link(listener, link);
    return link;
}

static void close_link(SimSocket *s)
{
    SimLink *link = s->link;
    const SimStream *in = &link->streams[1 - s->side];
    link->sockets[s->side] = NULL;
    if (s->state != SOCKET_CONNECTED || in->arrived > in->taken)
        sim_link_reset(link);
    else
        sim_link_close(link, s->side);
}

static void socket_close(SimSocket *s)
{
    if (s->link && s->state != SOCKET_FAILED) close_link(s);
    for (uint32_t i = 0; i < s->queued; i++) sim_link_reset(s->queue[i]);
    s->serial = 0;
}

void sim_net_die(SimDeath death)
{
    net.late = 0;
    for (uint32_t i = 0; i < net.link_count; i++) {
        net.links[i]->sockets[0] = net.links[i]->sockets[1] = NULL;
        net.links[i]->peer = NULL;
    }
    for (int i = 0; i < SIM_SOCKETS; i++) net.sockets[i].serial = 0;
    for (int i = 0; i < NAMES; i++)
        if (death != SIM_DIES_PROCESS && sim_percent(&sim.disk_chance, 50)) net.names[i][0] = '\0';
}

void sim_net_forget(void)
{
    for (uint32_t i = 0; i < net.link_count; i++) {
        for (int side = 0; side < 2; side++) tfy__buffer_free(&net.links[i]->streams[side].bytes);
        free(net.links[i]);
    }
    free(net.links);
    memset(&net, 0, sizeof net);
}

/* ---- the system's calls ---- */

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_socket(int family, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_listen(int fd, int backlog);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t __wrap_recv(int fd, void *to, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *from, size_t len, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_getsockopt(int fd, int at, int name, void *value, socklen_t *len);
int __wrap_setsockopt(int fd, int at, int name, const void *value, socklen_t len);
int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *len);

/* One call in so many finds that a signal came, or that there is less than there is. */
static bool now_and_then(uint32_t percent)
{
    return !sim.expecting && sim_percent(&sim.chance, percent);
}

int __wrap_socket(int family, int type, int protocol)
{
    const SimSocket *s = socket_new(family);
    return s ? fd_of(s) : refuse(EMFILE);
}

static int port_in(const struct sockaddr *address)
{
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

static void name_in(const struct sockaddr *address, char name[64])
{
    if (address->sa_family == AF_UNIX)
        snprintf(name, 64, "%.63s", ((const struct sockaddr_un *)address)->sun_path);
    else
        snprintf(name, 64, "%d", port_in(address));
}

static char *file_of(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(net.names[i], name) == 0) return net.names[i];
    return NULL;
}

bool sim_net_unlink(const char *name)
{
    char *file = *name ? file_of(name) : NULL;
    if (!file) return false;
    *file = '\0';
    return true;
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len)
{
    SimSocket *s = socket_of(fd);
    char name[64];
    if (!s) return refuse(EBADF);
    name_in(address, name);
    if (strcmp(name, "0") == 0) snprintf(name, sizeof name, "%u", FIRST_PORT + net.ports++);
    if (s->family == AF_UNIX) {
        char *file = file_of(name) ? NULL : file_of("");
        if (!file) return refuse(EADDRINUSE);
        snprintf(file, sizeof *net.names, "%s", name);
    } else if (listener_at(name)) {
        return refuse(EADDRINUSE);
    }
    snprintf(s->name, sizeof s->name, "%s", name);
    return 0;
}

int __wrap_listen(int fd, int backlog)
{
    SimSocket *s = socket_of(fd);
    if (!s) return refuse(EBADF);
    s->state = SOCKET_LISTENS;
    sim_trace("listens at %s", s->name);
    if (s->family != AF_UNIX) sim_peers_visit(s, s->serial);
    sim_left();
    return 0;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    SimSocket *listener = socket_of(fd);
    if (!listener || listener->state != SOCKET_LISTENS) return refuse(EBADF);
    if (now_and_then(3)) return refuse(EINTR);
    if (!listener->queued) return refuse(EAGAIN);
    if (now_and_then(2)) {
        sim_trace("has no descriptor for link %u", listener->queue[0]->number);
        return refuse(EMFILE);
    }
    SimLink *link = listener->queue[0];
    memmove(listener->queue, listener->queue + 1, --listener->queued * sizeof *listener->queue);
    if (link->reset && now_and_then(50)) return refuse(ECONNABORTED);
    SimSocket *s = socket_new(listener->family);
    if (!s) return refuse(EMFILE);
    attach(s, link, 1);
    sim_trace("accepts link %u", link->number);
    return fd_of(s);
}

/* ---- connecting ---- */

typedef enum Fate { FATE_FINE, FATE_REFUSED, FATE_NEVER } Fate;

static void connected(SimEvent *event)
{
    SimLink *link = event->arg;
    SimSocket *s = link->sockets[0];
    if (!s) return;
    sim_trace("link %u is %s", link->number, event->number == FATE_FINE ? "there" : "refused");
    if (event->number == FATE_FINE) {
        s->state = SOCKET_CONNECTED;
    } else {
        s->state = SOCKET_FAILED;
        s->error = event->number == FATE_REFUSED ? ECONNREFUSED : ETIMEDOUT;
        link->sockets[0] = NULL;
    }
    wake(s);
}

static int begin_connecting(SimSocket *s, SimLink *link, Fate fate)
{
    attach(s, link, 0);
    s->state = SOCKET_CONNECTS;
    int64_t delay_ns = fate == FATE_NEVER ? INT64_C(100000000) : sim_net_delay(2000);
    sim_plan_event(delay_ns, sim_below(&sim.chance, 3), connected, link, fate);
    return refuse(now_and_then(5) ? EINTR : EINPROGRESS);
}

static int connect_to_peer(SimSocket *s)
{
    uint32_t chance = sim.expecting ? 9 : sim_below(&sim.chance, 10);
    if (chance == 0) return refuse(ECONNREFUSED);
    SimLink *link = link_new();
    Fate fate = chance == 1 ? FATE_REFUSED : chance == 2 ? FATE_NEVER : FATE_FINE;
    if (fate == FATE_FINE) sim_peer_serves(link);
    return begin_connecting(s, link, fate);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    SimSocket *s = socket_of(fd);
    char name[64];
    if (!s) return refuse(EBADF);
    name_in(address, name);
    sim_trace("connects to %s", name);
    sim_left();
    if (s->family == AF_UNIX && !file_of(name)) return refuse(ENOENT);
    if (s->family != AF_UNIX && port_in(address) < SIM_PORT_OF_PEERS) return connect_to_peer(s);
    SimSocket *listener = listener_at(name);
    if (!listener || listener->state != SOCKET_LISTENS) return refuse(ECONNREFUSED);
    if (listener->queued == SIM_BACKLOG) return refuse(s->family == AF_UNIX ? EAGAIN : ECONNREFUSED);
    SimLink *link = link_new();
    queue_link(listener, link);
    if (s->family != AF_UNIX) return begin_connecting(s, link, FATE_FINE);
    attach(s, link, 0);
    return 0;
}

/* ---- bytes ---- */

/* A reset is told once; then the connection is as good as ended. */
static int tell_reset(SimSocket *s, int later)
{
    bool told = s->told_reset;
    s->told_reset = true;
    if (told && !later) return 0;
    return refuse(told ? later : ECONNRESET);
}

ssize_t __wrap_recv(int fd, void *to, size_t len, int flags)
{
    SimSocket *s = socket_of(fd);
    if (!s || s->state != SOCKET_CONNECTED) return refuse(s ? ENOTCONN : EBADF);
    if (now_and_then(3)) return refuse(EINTR);
    SimLink *link = s->link;
    const SimStream *in = &link->streams[1 - s->side];
    size_t there = in->arrived - in->taken;
    if (!there && link->reset) return tell_reset(s, 0);
    if (!there) return in->end_arrived ? 0 : refuse(EAGAIN);
    if (len > there) len = there;
    if (now_and_then(30)) len = 1 + sim_below(&sim.chance, (uint32_t)len);
    memcpy(to, in->bytes.data + in->taken, len);
    sim_trace("receives %zu bytes of link %u", len, link->number);
    sim_link_take(link, s->side, len);
    return (ssize_t)len;
}

ssize_t __wrap_send(int fd, const void *from, size_t len, int flags)
{
    SimSocket *s = socket_of(fd);
    if (!s || s->state != SOCKET_CONNECTED) return refuse(s ? ENOTCONN : EBADF);
    if (now_and_then(3)) return refuse(EINTR);
    SimLink *link = s->link;
    if (link->reset) return tell_reset(s, EPIPE);
    size_t room = room_of(&link->streams[s->side]);
    if (!room) return refuse(EAGAIN);
    if (len > room) len = room;
    if (now_and_then(30)) len = 1 + sim_below(&sim.chance, (uint32_t)len);
    sim_trace("sends %zu bytes on link %u", len, link->number);
    sim_traffic_sent(link, s->side, from, len);
    sim_link_send(link, s->side, from, len);
    sim_left();
    return (ssize_t)len;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    const SimSocket *s = count == 1 ? socket_of(fds->fd) : NULL;
    if (!s) return __real_poll(fds, count, timeout_ms);
    uint32_t events = level(s);
    fds->revents = 0;
    if (events & TFY_FD_READ) fds->revents |= POLLIN & fds->events;
    if (events & TFY_FD_WRITE) fds->revents |= POLLOUT & fds->events;
    if (is_broken(s)) fds->revents |= POLLHUP;
    return fds->revents != 0;
}

/* ---- what sockets say of themselves ---- */

int __wrap_getsockopt(int fd, int at, int name, void *value, socklen_t *len)
{
    SimSocket *s = socket_of(fd);
    if (!s || at != SOL_SOCKET || name != SO_ERROR) return refuse(ENOPROTOOPT);
    *(int *)value = s->error;
    s->error = 0;
    return 0;
}

int __wrap_setsockopt(int fd, int at, int name, const void *value, socklen_t len)
{
    return socket_of(fd) ? 0 : refuse(EBADF);
}

static int give_name(const SimSocket *s, const char *name, struct sockaddr *address, socklen_t *len)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    at.sin_port = htons((uint16_t)atoi(name));
    snprintf(local.sun_path, sizeof local.sun_path, "%s", name);
    bool unix_name = s->family == AF_UNIX;
    *len = unix_name ? sizeof local : sizeof at;
    memcpy(address, unix_name ? (void *)&local : (void *)&at, *len);
    return 0;
}

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *len)
{
    const SimSocket *s = socket_of(fd);
    return s ? give_name(s, s->name, address, len) : refuse(EBADF);
}

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *len)
{
    const SimSocket *s = socket_of(fd);
    if (!s || s->state != SOCKET_CONNECTED) return refuse(s ? ENOTCONN : EBADF);
    return give_name(s, s->family == AF_UNIX ? "" : "7", address, len);
}

/* close, which system.c has for all descriptors. */
bool sim_socket_close(int fd)
{
    SimSocket *s = socket_of(fd);
    if (!s) return false;
    if (s->watched) sim_broken("w7", "descriptor %d is closed while it is watched", fd);
    sim_trace("closes socket %llu", (unsigned long long)s->serial);
    socket_close(s);
    sim_left();
    return true;
}

/* ---- the poller ---- */

static int poller_open(void **poller)
{
    *poller = &net;
    return 0;
}

static void poller_close(void *poller)
{
}

static int poller_add(void *poller, int fd, uint32_t events, uint64_t tag)
{
    SimSocket *s = socket_of(fd);
    if (!s || s->watched) return TFY_E_INVALID;
    s->watched = true;
    s->tag = tag;
    s->wanted = events & (TFY_FD_READ | TFY_FD_WRITE);
    s->woken = 0;
    if (level(s)) wake(s);
    return 0;
}

static void poller_arm(void *poller, int fd, uint32_t events)
{
    SimSocket *s = socket_of(fd);
    if (s && s->watched) s->wanted |= events;
}

static void poller_del(void *poller, int fd)
{
    SimSocket *s = socket_of(fd);
    if (!s || !s->watched) return;
    s->watched = false;
    net.late = s->tag;
}

/* What would be told of it now. */
static uint32_t telling(const SimSocket *s)
{
    if (!s->serial || !s->watched) return 0;
    if (!sim.plan.levels) return s->woken ? level(s) : 0;
    bool listens =
        s->wanted & TFY_FD_READ || (s->wanted && is_broken(s)); /* who only writes need not know of half an end */
    return level(s) & (s->wanted | (listens ? TFY_FD_HANGUP : 0));
}

bool sim_net_awake(void)
{
    for (int i = 0; i < SIM_SOCKETS; i++)
        if (telling(&net.sockets[i])) return true;
    return false;
}

static SimSocket *first_to_tell(void)
{
    SimSocket *first = NULL;
    for (int i = 0; i < SIM_SOCKETS; i++) {
        SimSocket *s = &net.sockets[i];
        if (telling(s) && (!first || (!sim.plan.levels && s->woken < first->woken))) first = s;
    }
    return first;
}

static void was_told(SimSocket *s, uint32_t events)
{
    s->woken = 0;
    s->wanted &= events & TFY_FD_HANGUP ? 0 : ~events;
}

/* Something that is not so, of anybody. */
static SimSocket *mistaken(void)
{
    SimSocket *s = &net.sockets[sim_below(&sim.chance, SIM_SOCKETS)];
    return s->serial && s->watched && s->state != SOCKET_NEW && now_and_then(50) ? s : NULL;
}

static int poller_wait(void *poller, TfyFdEvent *events, int cap, int64_t timeout_ns)
{
    int count = 0;
    for (SimSocket *s; count < cap - 1 && (s = first_to_tell());) {
        events[count++] = (TfyFdEvent){.tag = s->tag, .events = telling(s)};
        was_told(s, telling(s));
    }
    if (!count) return 0;
    SimSocket *other = mistaken();
    uint64_t tag = other ? other->tag : now_and_then(20) ? net.late : 0; /* or an event that comes too late */
    if (tag) events[count++] = (TfyFdEvent){.tag = tag, .events = TFY_FD_READ | TFY_FD_WRITE};
    if (other && sim.plan.levels) was_told(other, TFY_FD_READ | TFY_FD_WRITE);
    return count;
}

const TfyPoller sim_poller = {.name = "sim",
                              .open = poller_open,
                              .close = poller_close,
                              .add = poller_add,
                              .arm = poller_arm,
                              .del = poller_del,
                              .wait = poller_wait};

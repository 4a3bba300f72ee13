/* poll_poll.c: the same as poll_epoll.c with poll(2), for systems and tests without epoll. It reports levels, not
 * edges: a watcher that reads until EAGAIN works with both. A descriptor that is added with TFY_FD_ONCE still gets
 * edges: a reported event is omitted until it is armed again. Adding, arming and removing cost the same for any
 * number of descriptors; waiting does not. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/grow.h"
#include "core/world.h"

typedef struct PollSet {
    /* fd -1 - n: nothing is reported for descriptor n now, not even its end */
    struct pollfd *fds;
    uint64_t *tags; /* parallel to fds */
    bool *once;     /* parallel to fds */
    int count, cap;
    int *places; /* by descriptor: its place in fds, or -1 */
    int place_cap;
    /* where the next report starts, so that no descriptor starves another */
    int next;
} PollSet;

static int open_poll(void **poller)
{
    *poller = calloc(1, sizeof(PollSet));
    return *poller ? 0 : TFY_E_NOMEM;
}

static void close_poll(void *poller)
{
    PollSet *set = poller;
    free(set->fds);
    free(set->tags);
    free(set->once);
    free(set->places);
    free(set);
}

static int grow(PollSet *set)
{
    const size_t cap = tfy__grow_cap((size_t)set->cap, (size_t)set->cap + 1, 16, sizeof *set->fds);
    if (!cap || !RESIZE(set->fds, cap) || !RESIZE(set->tags, cap) || !RESIZE(set->once, cap)) return -ENOMEM;
    set->cap = (int)cap;
    return 0;
}

static int grow_places(PollSet *set, int fd)
{
    const int old = set->place_cap;
    if (!GROW(set->places, set->place_cap, (size_t)fd + 1, 64)) return -ENOMEM;
    for (int i = old; i < set->place_cap; i++) set->places[i] = -1;
    return 0;
}

static short wanted_of(uint32_t events)
{
    return (short)((events & TFY_FD_READ ? POLLIN | POLLRDHUP : 0) | (events & TFY_FD_WRITE ? POLLOUT : 0));
}

/* -1: it is absent. */
static int place_of(const PollSet *set, int fd)
{
    return fd >= 0 && fd < set->place_cap ? set->places[fd] : -1;
}

static void arm(void *poller, int fd, uint32_t events)
{
    PollSet *set = poller;
    int at = place_of(set, fd);
    if (at < 0) return;
    set->fds[at].fd = fd;
    set->fds[at].events |= wanted_of(events);
}

static int add(void *poller, int fd, uint32_t events, uint64_t tag)
{
    PollSet *set = poller;
    if (set->count == set->cap && grow(set) < 0) return -ENOMEM;
    if (fd >= set->place_cap && grow_places(set, fd) < 0) return -ENOMEM;
    if (set->places[fd] >= 0) return -EEXIST;
    short wanted = wanted_of(events);
    set->once[set->count] = events & TFY_FD_ONCE;
    set->places[fd] = set->count;
    set->fds[set->count] = (struct pollfd){.fd = fd, .events = wanted};
    set->tags[set->count++] = tag;
    return 0;
}

static void del(void *poller, int fd)
{
    PollSet *set = poller;
    int at = place_of(set, fd), last = set->count - 1;
    if (at < 0) return;
    int moved = set->fds[last].fd;
    set->fds[at] = set->fds[last];
    set->tags[at] = set->tags[last];
    set->once[at] = set->once[last];
    set->places[moved < 0 ? -1 - moved : moved] = at;
    set->places[fd] = -1;
    set->count = last;
}

static uint32_t translate(short events)
{
    uint32_t result = 0;
    if (events & POLLIN) result |= TFY_FD_READ;
    if (events & POLLOUT) result |= TFY_FD_WRITE;
    if (events & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) result |= TFY_FD_HANGUP | TFY_FD_READ;
    return result;
}

/* A reported event is not waited for any more; the end of a connection disarms all. */
static void disarm(struct pollfd *at)
{
    bool ended = at->revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL);
    at->events &= ended ? 0 : (short)~at->revents;
    if (!(at->events & (POLLIN | POLLOUT))) at->fd = -1 - at->fd;
}

static int wait_poll(void *poller, TfyFdEvent *events, int cap, int64_t timeout_ns)
{
    PollSet *set = poller;
    int64_t ms = timeout_ns < 0 ? -1 : timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    int ready = poll(set->fds, (nfds_t)set->count, ms > INT32_MAX ? INT32_MAX : (int)ms);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    int found = 0;
    for (int i = 0; i < set->count && found < cap && found < ready; i++) {
        int at = (set->next + i) % set->count;
        if (!set->fds[at].revents) continue;
        events[found++] = (TfyFdEvent){.tag = set->tags[at], .events = translate(set->fds[at].revents)};
        if (set->once[at]) disarm(&set->fds[at]);
    }
    if (set->count) set->next = (set->next + 1) % set->count;
    return found;
}

const TfyPoller tfy__poller_poll = {
    .name = "poll", .open = open_poll, .close = close_poll, .add = add, .arm = arm, .del = del, .wait = wait_poll};

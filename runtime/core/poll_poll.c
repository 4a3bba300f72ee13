/* poll_poll.c: the same as poll_epoll.c with poll(2), for systems and tests without epoll. It reports levels, not edges: a watcher that
 * reads until EAGAIN works with both. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "world.h"

typedef struct PollSet {
    struct pollfd *fds;
    uint64_t *tags; /* beside fds */
    int count, cap;
    int next; /* where the next report begins, so that no descriptor starves another */
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
    free(set);
}

static int grow(PollSet *set)
{
    int cap = set->cap ? set->cap * 2 : 16;
    struct pollfd *fds = realloc(set->fds, (size_t)cap * sizeof *fds);
    if (fds) set->fds = fds;
    uint64_t *tags = realloc(set->tags, (size_t)cap * sizeof *tags);
    if (tags) set->tags = tags;
    if (!fds || !tags) return -ENOMEM;
    set->cap = cap;
    return 0;
}

static int add(void *poller, int fd, uint32_t events, uint64_t tag)
{
    PollSet *set = poller;
    if (set->count == set->cap && grow(set) < 0) return -ENOMEM;
    short wanted = (short)((events & TFY_FD_READ ? POLLIN : 0) | (events & TFY_FD_WRITE ? POLLOUT : 0));
    set->fds[set->count] = (struct pollfd){.fd = fd, .events = wanted};
    set->tags[set->count++] = tag;
    return 0;
}

static void del(void *poller, int fd)
{
    PollSet *set = poller;
    for (int i = 0; i < set->count; i++) {
        if (set->fds[i].fd != fd) continue;
        set->fds[i] = set->fds[--set->count];
        set->tags[i] = set->tags[set->count];
        return;
    }
}

static uint32_t translate(short events)
{
    uint32_t result = 0;
    if (events & POLLIN) result |= TFY_FD_READ;
    if (events & POLLOUT) result |= TFY_FD_WRITE;
    if (events & (POLLHUP | POLLERR | POLLNVAL)) result |= TFY_FD_HANGUP | TFY_FD_READ;
    return result;
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
    }
    if (set->count) set->next = (set->next + 1) % set->count;
    return found;
}

const TfyPoller tfy__poller_poll = {
    .name = "poll", .open = open_poll, .close = close_poll, .add = add, .del = del, .wait = wait_poll};

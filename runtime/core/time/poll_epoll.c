/* poll_epoll.c: waiting for descriptors with epoll, edge-triggered, registered once. */
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "core/world.h"

static int open_epoll(void **poller)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    *poller = fd < 0 ? NULL : (void *)(intptr_t)(fd + 1); /* descriptor 0 must not look like NULL */
    return fd < 0 ? TFY_E_IO : 0;
}

static int fd_of(void *poller)
{
    return (int)(intptr_t)poller - 1;
}

static void close_epoll(void *poller)
{
    close(fd_of(poller));
}

static int add(void *poller, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLET | EPOLLRDHUP, .data.u64 = tag};
    if (events & TFY_FD_READ) event.events |= EPOLLIN;
    if (events & TFY_FD_WRITE) event.events |= EPOLLOUT;
    return epoll_ctl(fd_of(poller), EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void del(void *poller, int fd)
{
    epoll_ctl(fd_of(poller), EPOLL_CTL_DEL, fd, NULL);
}

static uint32_t translate(uint32_t events)
{
    uint32_t result = 0;
    if (events & EPOLLIN) result |= TFY_FD_READ;
    if (events & EPOLLOUT) result |= TFY_FD_WRITE;
    if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) result |= TFY_FD_HANGUP | TFY_FD_READ;
    return result;
}

/* epoll_wait counts milliseconds: rounding up avoids a spin before the deadline. */
static int timeout_of(int64_t timeout_ns)
{
    if (timeout_ns < 0) return -1;
    int64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static int wait_epoll(void *poller, TfyFdEvent *events, int cap, int64_t timeout_ns)
{
    struct epoll_event raw[64];
    if (cap > 64) cap = 64;
    int count = epoll_wait(fd_of(poller), raw, cap, timeout_of(timeout_ns));
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++)
        events[i] = (TfyFdEvent){.tag = raw[i].data.u64, .events = translate(raw[i].events)};
    return count;
}

const TfyPoller tfy__poller_epoll = {
    .name = "epoll", .open = open_epoll, .close = close_epoll, .add = add, .del = del, .wait = wait_epoll, .fd = fd_of};

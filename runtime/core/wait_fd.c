/* wait_fd.c: tools in C that wait for a descriptor of their own: the step stays under way, the loop watches, and the tool is called again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

/* The watched descriptor is a copy: several steps may wait for the same one, and whoever closes it early harms nobody. */
struct FdWait {
    Pending *pending;
    int fd;
    int64_t watch;
    TfyReady ready;
    void (*stop)(void *state);
    void *state; /* the tool's */
};

static void release(FdWait *wait)
{
    tfy__watch_del(wait->pending->call.loop, wait->watch);
    close(wait->fd);
    wait->pending->fd_wait = NULL;
    free(wait);
}

static void on_ready(void *arg, uint32_t events)
{
    FdWait *wait = arg;
    TfyReady ready = wait->ready;
    void *state = wait->state;
    Pending *pending = wait->pending;
    TfyTask *task = pending->call.task; /* the step may be gone when it is answered */
    uint32_t mark = tfy_mark(task);
    TfyValue value = {.i = 0};
    (void)events;
    release(wait);
    if (!ready(state, task, &value))
        tfy__call_panicked(&pending->call);
    else if (!pending->fd_wait)
        tfy__call_done(&pending->call, value);
    tfy_cut(task, mark);
}

bool tfy_wait_fd(TfyTask *task, int fd, unsigned events, TfyReady ready, void (*stop)(void *state), void *state)
{
    Pending *pending = cold_of(task)->pending;
    FdWait *wait = pending && pending->in_call && !pending->fd_wait ? calloc(1, sizeof *wait) : NULL;
    if (!wait)
        return tfy_tool_unknown(task, ENOMEM, "a step waits for one descriptor at a time, and while it is under way");
    *wait =
        (FdWait){.pending = pending, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .ready = ready, .stop = stop, .state = state};
    uint32_t wanted = (events & TFY_WAIT_READ ? TFY_FD_READ : 0) | (events & TFY_WAIT_WRITE ? TFY_FD_WRITE : 0);
    wait->watch = wait->fd < 0 ? -1 : tfy__watch_add(task->loop, wait->fd, wanted | TFY_FD_ONCE, on_ready, wait);
    if (wait->watch < 0) {
        int error = errno;
        if (wait->fd >= 0) close(wait->fd);
        free(wait);
        return tfy_tool_unknown(task, error, "descriptor %d cannot be waited for: %s", fd, strerror(error));
    }
    pending->fd_wait = wait;
    return true;
}

void tfy__wait_fd_stop(Pending *pending)
{
    void (*stop)(void *state) = pending->fd_wait->stop;
    void *state = pending->fd_wait->state;
    release(pending->fd_wait);
    if (stop) stop(state);
}

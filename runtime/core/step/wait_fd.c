/* wait_fd.c: tools in C that wait for a descriptor of their own: the step stays under way, the loop watches, and
 * the tool is called again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/step/step.h"

#define ROOM_PAUSE_NS INT64_C(100000000) /* between two tries while there is no descriptor for the copy */

/* The watched descriptor is a copy: several steps may wait for the same one, and closing it early does no harm.
 * Without room for a copy, the step waits for that first: the tool has started, and cannot start again. */
struct FdWait {
    Step *step;
    int own, fd; /* the tool's, and the copy; -1: there was no room for it yet */
    int64_t watch;
    uint32_t events;
    uint64_t timer; /* the next try to make a copy; 0: it exists */
    TfyReady ready;
    void (*stop)(void *state);
    void *state; /* the tool's */
};

static void release(FdWait *wait)
{
    CHECK(wait->step->fd_wait == wait || !wait->step->fd_wait);
    CHECK(wait->step->in_call == CALL_BEGUN || !wait->step->in_call);
    TfyLoop *loop = wait->step->call.loop;
    tfy__timer_del(loop, wait->timer);
    if (wait->fd >= 0) tfy__watch_del(loop, wait->watch);
    if (wait->fd >= 0) close(wait->fd);
    wait->step->fd_wait = NULL;
    free(wait);
}

static void on_ready(void *arg, uint32_t events)
{
    FdWait *wait = arg;
    TfyReady ready = wait->ready;
    void *state = wait->state;
    Step *step = wait->step;
    TfyTask *task = step->call.task; /* answering the step may free it */
    uint32_t mark = tfy_mark(task);
    TfyValue value = {.i = 0};
    (void)events;
    release(wait);
    if (!ready(state, task, &value))
        tfy__call_panicked(&step->call);
    else if (!step->fd_wait)
        tfy__call_done(&step->call, value);
    tfy_cut(task, mark);
}

static void try_again(void *arg);

/* 0: the descriptor is watched, or will be when there is room; else why it cannot be. */
static int watch(FdWait *wait)
{
    TfyLoop *loop = wait->step->call.loop;
    wait->fd = fcntl(wait->own, F_DUPFD_CLOEXEC, 0);
    wait->watch = wait->fd < 0 ? -1 : tfy__watch_add(loop, wait->fd, wait->events, on_ready, wait);
    if (wait->watch >= 0) return 0;
    const int error = errno;
    if (wait->fd >= 0) close(wait->fd);
    wait->fd = -1;
    if (!tfy__is_no_room(error) && error != ENOSPC) return error;
    tfy__room_tell(wait->step, error);
    wait->timer = tfy__timer_add(loop, tfy__now_ns(loop) + ROOM_PAUSE_NS, try_again, wait);
    return wait->timer ? 0 : ENOMEM;
}

static void try_again(void *arg)
{
    FdWait *wait = arg;
    Step *step = wait->step;
    void (*stop)(void *state) = wait->stop;
    void *state = wait->state;
    wait->timer = 0;
    const int error = watch(wait);
    if (!error) return;
    release(wait);
    if (stop) stop(state);
    tfy__call_tool_error(&step->call, error, "a descriptor cannot be waited for: %s", strerror(error));
}

bool tfy_wait_fd(TfyTask *task, int fd, unsigned events, TfyReady ready, void (*stop)(void *state), void *state)
{
    Step *step = rest_of(task)->step;
    FdWait *wait = step && step->in_call && !step->fd_wait ? calloc(1, sizeof *wait) : NULL;
    if (!wait)
        return tfy_tool_unknown(task, ENOMEM, "a step waits for one descriptor at a time, and while it is under way");
    uint32_t wanted = (events & TFY_WAIT_READ ? TFY_FD_READ : 0) | (events & TFY_WAIT_WRITE ? TFY_FD_WRITE : 0);
    *wait =
        (FdWait){.step = step, .own = fd, .events = wanted | TFY_FD_ONCE, .ready = ready, .stop = stop, .state = state};
    const int error = watch(wait);
    if (error) {
        free(wait);
        return tfy_tool_unknown(task, error, "descriptor %d cannot be waited for: %s", fd, strerror(error));
    }
    step->fd_wait = wait;
    return true;
}

void tfy__wait_fd_stop(Step *step)
{
    void (*stop)(void *state) = step->fd_wait->stop;
    void *state = step->fd_wait->state;
    release(step->fd_wait);
    if (stop) stop(state);
}

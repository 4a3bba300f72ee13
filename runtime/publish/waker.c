/* waker.c: see waker.h. */
#include "publish/waker.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/program/owner.h"
#include "publish/target.h"

enum { LOOK_MS = 200, WOKEN_MS = 1000 }; /* how long to wait without an owner, and with one that says nothing */

int64_t tfy__publish_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void tfy__publish_pause(int64_t ms)
{
    for (; ms > 0 && !tfy__publish_ends(); ms -= LOOK_MS) poll(NULL, 0, ms < LOOK_MS ? (int)ms : LOOK_MS);
}

static int ask_owner(const char *db)
{
    json_t *request = json_pack("{s:s}", "do", "follow");
    const int fd = request ? tfy__owner_connect(db, request) : -1;
    json_decref(request);
    return fd;
}

void tfy__waker_close(TfyWaker *waker)
{
    if (waker->fd >= 0) close(waker->fd);
    waker->fd = -1;
}

/* Takes all words that are there. False: the owner has left, or does not know what following is. */
static bool drain(const TfyWaker *waker)
{
    static const char refused[] = "{\"code\":-";
    char bytes[4096];
    ssize_t got;
    while ((got = recv(waker->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        if ((size_t)got >= sizeof refused - 1 && memcmp(bytes, refused, sizeof refused - 1) == 0) return false;
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Something may have become durable before the owner heard of this follower: it looks again at once. */
bool tfy__waker_wait(TfyWaker *waker, int idle_fd)
{
    if (waker->fd < 0 && (waker->fd = ask_owner(waker->db)) >= 0) return false;
    struct pollfd fds[2] = {{.fd = waker->fd, .events = POLLIN}, {.fd = idle_fd, .events = POLLIN}};
    if (poll(fds, 2, waker->fd < 0 ? LOOK_MS : WOKEN_MS) <= 0) return false;
    if (fds[1].revents) return true;
    if (drain(waker)) return false;
    tfy__waker_close(waker);
    tfy__publish_pause(LOOK_MS);
    return false;
}

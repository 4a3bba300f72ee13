#include "core/outlet.h"
#include "base/list.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS 64 /* texts in one write */

typedef struct Text {
    struct Text *next;
    int fd;           /* 1 or 2 */
    size_t len, done; /* done: bytes that were written */
    char bytes[];
} Text;

struct TfyOutlet {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t more; /* there is something to write */
    Text *first, *last;  /* the loop appends, the thread removes */
    atomic_size_t held;
    int64_t wanted; /* wake the loop when at most so many bytes are left; -1: it does not wait */
    int wake_fd;
    atomic_int error[3]; /* by descriptor */
};

/* ---- the thread ---- */

/* The texts of one write: for one descriptor, and together at most PIPE_BUF, unless the first alone is longer. */
static int gather(const TfyOutlet *outlet, struct iovec parts[PARTS])
{
    size_t sum = 0;
    int count = 0;
    for (Text *text = outlet->first; text && count < PARTS && text->fd == outlet->first->fd; text = text->next) {
        const size_t left = text->len - text->done;
        if (count && sum + left > PIPE_BUF) break;
        parts[count++] = (struct iovec){text->bytes + text->done, left};
        sum += left;
    }
    return count;
}

/* Blocks for as long as nobody reads; here the thread can be cancelled. Bytes, or a negative errno. */
static ssize_t write_some(int fd, const struct iovec *parts, int count)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    ssize_t n = writev(fd, parts, count);
    if (n < 0) n = -errno;
    if (n == -EAGAIN) { /* somebody else made the open file nonblocking */
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        poll(&ready, 1, -1);
    }
    pthread_setcancelstate(old, NULL);
    return n == -EAGAIN || n == -EINTR ? 0 : n;
}

static void take(TfyOutlet *outlet, size_t count)
{
    while (count) {
        Text *text = outlet->first;
        const size_t left = text->len - text->done, n = left < count ? left : count;
        text->done += n;
        CHECK(outlet->held >= n);
        outlet->held -= n;
        count -= n;
        if (text->done < text->len) return;
        free(LIST_TAKE(outlet, next));
    }
}

/* A descriptor that failed once gets nothing more. True: the loop has to hear of it. */
static bool settle(TfyOutlet *outlet, ssize_t n)
{
    const Text *text = outlet->first;
    const bool first_error = n < 0 && !outlet->error[text->fd];
    if (n < 0) outlet->error[text->fd] = (int)-n;
    take(outlet, n < 0 ? text->len - text->done : (size_t)n);
    const bool is_wanted = outlet->wanted >= 0 && outlet->held <= (size_t)outlet->wanted;
    if (is_wanted) outlet->wanted = -1;
    return first_error || is_wanted;
}

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void await_more(TfyOutlet *outlet)
{
    int old;
    pthread_cleanup_push(unlock, &outlet->mutex);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    while (!outlet->first) pthread_cond_wait(&outlet->more, &outlet->mutex);
    pthread_setcancelstate(old, NULL);
    pthread_cleanup_pop(0);
}

static void *run(void *arg)
{
    TfyOutlet *outlet = arg;
    struct iovec parts[PARTS];
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_mutex_lock(&outlet->mutex);
    for (;;) {
        await_more(outlet);
        const int fd = outlet->first->fd, count = gather(outlet, parts), failed = outlet->error[fd];
        pthread_mutex_unlock(&outlet->mutex);
        const ssize_t n = failed ? -failed : write_some(fd, parts, count);
        pthread_mutex_lock(&outlet->mutex);
        if (settle(outlet, n)) (void)!write(outlet->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    }
    return NULL;
}

/* ---- the loop's side ---- */

TfyOutlet *tfy__outlet_open(int wake_fd)
{
    TfyOutlet *outlet = calloc(1, sizeof *outlet);
    sigset_t all, before;
    if (!outlet) return NULL;
    outlet->wake_fd = wake_fd;
    outlet->wanted = -1;
    pthread_mutex_init(&outlet->mutex, NULL);
    pthread_cond_init(&outlet->more, NULL);
    sigfillset(&all); /* signals are the loop's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&outlet->thread, NULL, run, outlet);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!code) return outlet;
    free(outlet);
    return NULL;
}

bool tfy__outlet_put(TfyOutlet *outlet, int fd, const char *bytes, size_t len)
{
    Text *text = len ? malloc(sizeof *text + len) : NULL;
    if (!text) return !len;
    *text = (Text){.fd = fd, .len = len};
    memcpy(text->bytes, bytes, len);
    pthread_mutex_lock(&outlet->mutex);
    LIST_APPEND(outlet, text, next);
    outlet->held += len;
    pthread_cond_signal(&outlet->more);
    pthread_mutex_unlock(&outlet->mutex);
    return true;
}

size_t tfy__outlet_held(const TfyOutlet *outlet)
{
    return outlet->held;
}

bool tfy__outlet_want(TfyOutlet *outlet, size_t most)
{
    pthread_mutex_lock(&outlet->mutex);
    const bool is_there = outlet->held <= most;
    outlet->wanted = is_there ? -1 : (int64_t)most;
    pthread_mutex_unlock(&outlet->mutex);
    return is_there;
}

int tfy__outlet_error(const TfyOutlet *outlet, int fd)
{
    return outlet->error[fd];
}

void tfy__outlet_close(TfyOutlet *outlet)
{
    if (!outlet) return;
    pthread_cancel(outlet->thread);
    pthread_join(outlet->thread, NULL);
    while (outlet->first) {
        Text *text = outlet->first;
        outlet->first = text->next;
        free(text);
    }
    pthread_cond_destroy(&outlet->more);
    pthread_mutex_destroy(&outlet->mutex);
    free(outlet);
}

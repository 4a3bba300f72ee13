#include "core/loop/outlet.h"
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
#include <time.h>
#include <unistd.h>

#define PARTS    64         /* texts in one write */
#define NUDGE_NS (10000000) /* between two signals that interrupt a write */

typedef struct Text {
    struct Text *next;
    int fd;           /* 1 or 2 */
    size_t len, done; /* done: bytes that were written */
    char bytes[];
} Text;

struct TfyOutlet {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t more; /* there is something to write, or the thread must stop */
    pthread_cond_t over; /* the thread has exited */
    bool stopping, ended;
    Text *first, *last; /* the loop appends, the thread removes */
    Text *reserve;      /* of TFY_OUTLET_RESERVE bytes, for when there is no memory */
    bool reserve_used;
    atomic_size_t held;
    /* wake the loop when at most so many bytes are left; -1: it does not wait */
    int64_t wanted;
    int wake_fd;
    atomic_int error[3]; /* by descriptor */
};

/* ---- ending a write that is stuck ---- */

static int nudge; /* a signal that only interrupts a system call; 0: none is free */

static void do_nothing(int number)
{
    (void)number;
}

/* The embedding program may use real-time signals itself: takes the highest unused one. */
static void choose_nudge(void)
{
    const struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART: it must interrupt a write */
    struct sigaction old;
    for (int number = SIGRTMAX; number >= SIGRTMIN && !nudge; number--) {
        const bool is_free = sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL;
        if (is_free && sigaction(number, &action, NULL) == 0) nudge = number;
    }
}

static bool have_nudge(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_nudge);
    return nudge != 0;
}

/* A signal that comes just before the write would have no effect on it, so more are sent until the thread has
 * exited. */
static void stop(TfyOutlet *outlet)
{
    pthread_mutex_lock(&outlet->mutex);
    outlet->stopping = true;
    pthread_cond_signal(&outlet->more);
    while (!outlet->ended) {
        struct timespec until;
        pthread_kill(outlet->thread, nudge);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += NUDGE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&outlet->over, &outlet->mutex, &until);
    }
    pthread_mutex_unlock(&outlet->mutex);
    pthread_join(outlet->thread, NULL);
}

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

/* Blocks for as long as nobody reads, or until a signal interrupts it. Returns bytes, or a negative errno. */
static ssize_t write_some(int fd, const struct iovec *parts, int count)
{
    const ssize_t n = writev(fd, parts, count);
    if (n >= 0) return n;
    const int reason = errno;
    if (reason == EAGAIN) { /* another process made the open file nonblocking */
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        poll(&ready, 1, -1);
    }
    return reason == EAGAIN || reason == EINTR ? 0 : -reason;
}

static void let_text_go(TfyOutlet *outlet, Text *text)
{
    if (text == outlet->reserve)
        outlet->reserve_used = false;
    else
        free(text);
}

static void take(TfyOutlet *outlet, size_t count)
{
    while (count) {
        Text *text = outlet->first;
        CHECK(text && text->done <= text->len);
        const size_t left = text->len - text->done, n = left < count ? left : count;
        text->done += n;
        CHECK(outlet->held >= n);
        outlet->held -= n;
        count -= n;
        if (text->done < text->len) return;
        let_text_go(outlet, LIST_TAKE(outlet, next));
    }
}

/* A descriptor that failed once gets nothing more. True: the loop must be told. */
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

static void write_first(TfyOutlet *outlet)
{
    struct iovec parts[PARTS];
    const int fd = outlet->first->fd, count = gather(outlet, parts), failed = outlet->error[fd];
    pthread_mutex_unlock(&outlet->mutex);
    const ssize_t n = failed ? -failed : write_some(fd, parts, count);
    pthread_mutex_lock(&outlet->mutex);
    if (settle(outlet, n)) (void)!write(outlet->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void *run(void *arg)
{
    TfyOutlet *outlet = arg;
    pthread_setname_np(pthread_self(), "tfy outlet");
    pthread_mutex_lock(&outlet->mutex);
    while (!outlet->stopping) {
        if (outlet->first)
            write_first(outlet);
        else
            pthread_cond_wait(&outlet->more, &outlet->mutex);
    }
    outlet->ended = true;
    pthread_cond_signal(&outlet->over);
    pthread_mutex_unlock(&outlet->mutex);
    return NULL;
}

/* ---- the loop's side ---- */

static void make_locks(TfyOutlet *outlet)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&outlet->mutex, NULL);
    pthread_cond_init(&outlet->more, &monotonic);
    pthread_cond_init(&outlet->over, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void release(TfyOutlet *outlet)
{
    pthread_cond_destroy(&outlet->over);
    pthread_cond_destroy(&outlet->more);
    pthread_mutex_destroy(&outlet->mutex);
    free(outlet->reserve);
    free(outlet);
}

/* The loop handles all signals except the one that interrupts a write. */
static bool start_thread(TfyOutlet *outlet)
{
    sigset_t others, before;
    sigfillset(&others);
    sigdelset(&others, nudge);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const int code = pthread_create(&outlet->thread, NULL, run, outlet);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

TfyOutlet *tfy__outlet_open(int wake_fd)
{
    TfyOutlet *outlet = have_nudge() ? calloc(1, sizeof *outlet) : NULL;
    if (!outlet) return NULL;
    outlet->wake_fd = wake_fd;
    outlet->wanted = -1;
    make_locks(outlet);
    outlet->reserve = malloc(sizeof *outlet->reserve + TFY_OUTLET_RESERVE);
    if (outlet->reserve && start_thread(outlet)) return outlet;
    release(outlet);
    return NULL;
}

/* The mutex must be held. */
static Text *take_reserve(TfyOutlet *outlet, size_t len)
{
    if (outlet->reserve_used || len > TFY_OUTLET_RESERVE) return NULL;
    outlet->reserve_used = true;
    return outlet->reserve;
}

bool tfy__outlet_put(TfyOutlet *outlet, int fd, const char *bytes, size_t len)
{
    if (!len) return true;
    Text *text = malloc(sizeof *text + len);
    pthread_mutex_lock(&outlet->mutex);
    if (!text) text = take_reserve(outlet, len);
    if (text) {
        *text = (Text){.fd = fd, .len = len};
        memcpy(text->bytes, bytes, len);
        LIST_APPEND(outlet, text, next);
        outlet->held += len;
        pthread_cond_signal(&outlet->more);
    }
    pthread_mutex_unlock(&outlet->mutex);
    return text != NULL;
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
    stop(outlet);
    while (outlet->first) let_text_go(outlet, LIST_TAKE(outlet, next));
    release(outlet);
}

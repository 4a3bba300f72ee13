/* The threads for what blocks: order, bounds, letting go, closing; and both pollers beneath them. Made to be run with -Db_sanitize=thread,
 * too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "core/world.h"
#include "effects/pool.h"

/* ---- a loop that is nothing but a poller ---- */

struct TfyLoop {
    const TfyPoller *poller;
    void *set;
    TfyFdHandler handler;
    void *arg;
    int fd;
    void *modules[TFY_M_COUNT];
};

int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg)
{
    assert_null(loop->handler);
    loop->handler = handler;
    loop->arg = arg;
    loop->fd = fd;
    assert_int_equal(loop->poller->add(loop->set, fd, events, 7), 0);
    return 7;
}

void tfy__watch_del(TfyLoop *loop, int64_t handle)
{
    assert_int_equal(handle, 7);
    loop->poller->del(loop->set, loop->fd);
    loop->handler = NULL;
}

void **tfy__effect_slot(TfyLoop *loop, int module)
{
    return &loop->modules[module];
}

static TfyLoop loop_open(const TfyPoller *poller)
{
    TfyLoop loop = {.poller = poller};
    assert_int_equal(poller->open(&loop.set), 0);
    return loop;
}

static void loop_close(TfyLoop *loop)
{
    tfy__pool_close(loop);
    loop->poller->close(loop->set);
}

static void turn(TfyLoop *loop)
{
    TfyFdEvent event;
    if (loop->poller->wait(loop->set, &event, 1, INT64_C(50000000)) == 1) loop->handler(loop->arg, event.events);
}

/* ---- jobs ---- */

enum { JOBS = 40 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool is_open;
static int running, most_running, worked; /* behind the gate's mutex */
static int done_count;                    /* the loop's thread only */
static int dropped;                       /* behind the gate's mutex */

typedef struct Sum {
    TfyJob job; /* first */
    int64_t in, out;
} Sum;

static void open_gate(bool open)
{
    pthread_mutex_lock(&gate);
    is_open = open;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&gate);
}

static int read_count(const int *count)
{
    pthread_mutex_lock(&gate);
    int value = *count;
    pthread_mutex_unlock(&gate);
    return value;
}

static void work(TfyJob *job)
{
    Sum *sum = (Sum *)job;
    pthread_mutex_lock(&gate);
    if (++running > most_running) most_running = running;
    while (!is_open) pthread_cond_wait(&opened, &gate);
    running--;
    worked++;
    pthread_mutex_unlock(&gate);
    sum->out = sum->in * sum->in;
}

static void done(TfyJob *job)
{
    const Sum *sum = (const Sum *)job;
    assert_int_equal(sum->out, sum->in * sum->in);
    done_count++;
    free(job);
}

static void drop(TfyJob *job)
{
    pthread_mutex_lock(&gate);
    dropped++;
    pthread_mutex_unlock(&gate);
    free(job);
}

static TfyJob *add_as(TfyLoop *loop, int64_t in, bool may_outlive, bool alone)
{
    Sum *sum = calloc(1, sizeof *sum);
    assert_non_null(sum);
    *sum =
        (Sum){.job = {.work = work, .done = done, .drop = drop, .may_outlive = may_outlive, .alone = alone}, .in = in};
    assert_int_equal(tfy__pool_add(loop, &sum->job), 0);
    return &sum->job;
}

static TfyJob *add(TfyLoop *loop, int64_t in, bool may_outlive)
{
    return add_as(loop, in, may_outlive, false);
}

static int reset(void **state)
{
    is_open = false;
    running = most_running = worked = done_count = dropped = 0;
    return 0;
}

static void wait_for(const int *count, int wanted)
{
    for (int i = 0; i < 5000 && read_count(count) < wanted; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(read_count(count), wanted);
}

static void test_all_done(void **state)
{
    const TfyPoller *const pollers[] = {&tfy__poller_epoll, &tfy__poller_poll};
    for (int i = 0; i < 2; i++) {
        reset(NULL);
        TfyLoop loop = loop_open(pollers[i]);
        for (int k = 0; k < JOBS; k++) add(&loop, k, false);
        wait_for(&running, TFY_POOL_THREADS);
        assert_int_equal(done_count, 0);
        open_gate(true);
        for (int k = 0; k < 1000 && done_count < JOBS; k++) turn(&loop);
        assert_int_equal(done_count, JOBS);
        assert_int_equal(read_count(&most_running), TFY_POOL_THREADS);
        loop_close(&loop);
    }
}

/* What is let go of is dropped once, whether it waits, runs or has ended; nobody hears of it. */
static void test_let_go(void **state)
{
    TfyLoop loop = loop_open(&tfy__poller_epoll);
    TfyJob *jobs[TFY_POOL_THREADS + 2];
    for (int i = 0; i < TFY_POOL_THREADS + 2; i++) jobs[i] = add(&loop, i, false);
    wait_for(&running, TFY_POOL_THREADS);
    tfy__pool_let_go(&loop, jobs[TFY_POOL_THREADS]); /* waits */
    assert_int_equal(read_count(&dropped), 1);
    tfy__pool_let_go(&loop, jobs[0]); /* runs */
    assert_int_equal(read_count(&dropped), 1);
    open_gate(true);
    wait_for(&worked, TFY_POOL_THREADS + 1);
    tfy__pool_settle(&loop, jobs[1]);
    tfy__pool_let_go(&loop, jobs[1]); /* has ended, and is not told of */
    for (int i = 0; i < 200 && done_count < TFY_POOL_THREADS - 1; i++) turn(&loop);
    assert_int_equal(done_count, TFY_POOL_THREADS - 1);
    loop_close(&loop);
    assert_int_equal(read_count(&dropped), 3);
}

/* Jobs that are to be alone run one at a time, in order, and keep nobody else from running. */
static void test_alone(void **state)
{
    TfyLoop loop = loop_open(&tfy__poller_epoll);
    for (int i = 0; i < 6; i++) add_as(&loop, i, false, true);
    for (int i = 0; i < 2; i++) add(&loop, i, false);
    wait_for(&running, 3);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(read_count(&running), 3);
    open_gate(true);
    for (int i = 0; i < 500 && done_count < 8; i++) turn(&loop);
    assert_int_equal(done_count, 8);
    loop_close(&loop);
}

/* Whoever settles a job sees all that it did; one that waits is not begun any more. */
static void test_settle(void **state)
{
    TfyLoop loop = loop_open(&tfy__poller_epoll);
    open_gate(true);
    for (int i = 0; i < 50; i++) {
        TfyJob *job = add(&loop, i, false);
        int before = read_count(&worked);
        tfy__pool_settle(&loop, job);
        const Sum *sum = (const Sum *)job;
        assert_true(sum->out == sum->in * sum->in || read_count(&worked) == before);
        tfy__pool_let_go(&loop, job);
    }
    assert_int_equal(read_count(&dropped), 50);
    loop_close(&loop);
    assert_int_equal(done_count, 0);
}

static void *open_late(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    open_gate(true);
    return arg;
}

/* Closing waits for work that may not outlive the loop, and only for that. */
static void test_close(void **state)
{
    TfyLoop loop = loop_open(&tfy__poller_epoll);
    pthread_t thread;
    add(&loop, 3, false);
    wait_for(&running, 1);
    assert_int_equal(pthread_create(&thread, NULL, open_late, NULL), 0);
    loop_close(&loop);
    assert_int_equal(read_count(&worked), 1);
    assert_int_equal(read_count(&dropped), 1);
    pthread_join(thread, NULL);

    reset(NULL);
    loop = loop_open(&tfy__poller_epoll);
    TfyJob *job = add(&loop, 4, true);
    wait_for(&running, 1);
    tfy__pool_let_go(&loop, job);
    loop_close(&loop); /* would never end */
    assert_int_equal(read_count(&worked), 0);
    open_gate(true);
    wait_for(&dropped, 1);
}

/* ---- pollers ---- */

static int wait_now(const TfyPoller *poller, void *set, TfyFdEvent *event)
{
    return poller->wait(set, event, 1, 0);
}

static void drain(int fd)
{
    char bytes[64];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}

/* What was reported is not reported again before EAGAIN was met and the watcher armed; then it is. */
static void test_once(void **state)
{
    const TfyPoller *const pollers[] = {&tfy__poller_epoll, &tfy__poller_poll};
    for (int i = 0; i < 2; i++) {
        const TfyPoller *poller = pollers[i];
        TfyFdEvent event;
        void *set;
        int pair[2], other[2];
        assert_int_equal(poller->open(&set), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(pipe(other), 0);
        assert_int_equal(poller->add(set, other[0], TFY_FD_READ, 1), 0);
        assert_int_equal(poller->add(set, pair[0], TFY_FD_ONCE | TFY_FD_READ, 2), 0);
        assert_int_equal(wait_now(poller, set, &event), 0);
        for (int round = 0; round < 3; round++) {
            assert_int_equal(write(pair[1], "a", 1), 1);
            assert_int_equal(wait_now(poller, set, &event), 1);
            assert_int_equal(event.tag, 2);
            assert_true(event.events & TFY_FD_READ);
            assert_int_equal(wait_now(poller, set, &event), 0);
            drain(pair[0]);
            if (poller->arm) poller->arm(set, pair[0], TFY_FD_READ);
            assert_int_equal(wait_now(poller, set, &event), 0);
        }
        /* An end is told once, too, even if nobody cares; and others are still told. */
        close(pair[1]);
        assert_int_equal(wait_now(poller, set, &event), 1);
        assert_true(event.events & TFY_FD_HANGUP);
        assert_int_equal(wait_now(poller, set, &event), 0);
        assert_int_equal(write(other[1], "b", 1), 1);
        assert_int_equal(wait_now(poller, set, &event), 1);
        assert_int_equal(event.tag, 1);
        poller->del(set, pair[0]);
        poller->del(set, pair[0]); /* twice is fine */
        poller->del(set, other[0]);
        assert_int_equal(wait_now(poller, set, &event), 0);
        poller->close(set);
        close(pair[0]);
        close(other[0]);
        close(other[1]);
    }
}

/* Taking one out moves another into its place: each is still told of with its own tag. */
static void test_places(void **state)
{
    enum { PAIRS = 70 };
    const TfyPoller *const pollers[] = {&tfy__poller_epoll, &tfy__poller_poll};
    for (int i = 0; i < 2; i++) {
        const TfyPoller *poller = pollers[i];
        TfyFdEvent event;
        void *set;
        int pairs[PAIRS][2];
        assert_int_equal(poller->open(&set), 0);
        for (int k = 0; k < PAIRS; k++) {
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[k]), 0);
            assert_int_equal(poller->add(set, pairs[k][0], TFY_FD_ONCE | TFY_FD_READ, (uint64_t)k), 0);
        }
        /* Some stand there with nothing to wait for when the others are moved. */
        for (int k = 60; k < PAIRS; k++) assert_int_equal(write(pairs[k][1], "x", 1), 1);
        while (wait_now(poller, set, &event) == 1) assert_true(event.tag >= 60);
        for (int k = 0; k < PAIRS; k += 3) poller->del(set, pairs[k][0]);
        for (int k = 0; k < 60; k++) {
            assert_int_equal(write(pairs[k][1], "y", 1), 1);
            assert_int_equal(wait_now(poller, set, &event), k % 3 != 0);
            if (k % 3 != 0) assert_int_equal(event.tag, k);
        }
        for (int k = 60; k < PAIRS; k++) {
            drain(pairs[k][0]);
            if (poller->arm) poller->arm(set, pairs[k][0], TFY_FD_READ);
            assert_int_equal(write(pairs[k][1], "z", 1), 1);
            assert_int_equal(wait_now(poller, set, &event), k % 3 != 0);
        }
        poller->close(set);
        for (int k = 0; k < PAIRS; k++) {
            close(pairs[k][0]);
            close(pairs[k][1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_done, reset),
        cmocka_unit_test_setup(test_let_go, reset),
        cmocka_unit_test_setup(test_settle, reset),
        cmocka_unit_test_setup(test_close, reset),
        cmocka_unit_test_setup(test_alone, reset),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests_name("effects_pool", tests, NULL, NULL);
}

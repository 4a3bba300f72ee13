/* bench_sockets.c: bytes that go around 1,000 socket pairs, 100 of them under way at once: who gets one hands it to the next pair. Ours through
 * the loop's watched descriptors, against a loop of nothing but epoll_wait, read and write. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "bench.h"

#include "core/loop/state.h"

enum { PAIRS = 1000, ACTIVE = 100, HOPS = 200000, EVENTS = 64 };

typedef struct Pair {
    int from, to; /* read here; written there */
} Pair;

static Pair pairs[PAIRS];
static int64_t hops;
static bool ending; /* bytes that come now are not handed on */

static void open_pairs(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2 * PAIRS + 64) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (int i = 0; i < PAIRS; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
            bench_die("%d socket pairs cannot be opened: %s", PAIRS, strerror(errno));
        pairs[i] = (Pair){.from = ends[0], .to = ends[1]};
    }
}

static void put(const Pair *pair, const char *bytes, size_t len)
{
    if (write(pair->to, bytes, len) != (ssize_t)len) bench_die("a byte cannot be written");
}

/* A pair can be read. A read that leaves room has taken everything. */
static void pass_on(Pair *pair)
{
    char bytes[64];
    const ssize_t len = read(pair->from, bytes, sizeof bytes);
    if (len <= 0) return;
    hops += len;
    if (!ending) put(pair == &pairs[PAIRS - 1] ? pairs : pair + 1, bytes, (size_t)len);
}

static void start(void)
{
    hops = 0;
    ending = false;
    for (int i = 0; i < ACTIVE; i++) put(&pairs[i * (PAIRS / ACTIVE)], "x", 1);
}

/* The seconds of HOPS hops; once() handles what is there. The bytes that are under way then are taken out. */
static double go_around(void (*once)(void *state), void *state)
{
    start();
    double begin = bench_cpu_seconds();
    while (hops < HOPS) once(state);
    double took = bench_cpu_seconds() - begin;
    double per_hop = took / (double)hops;
    ending = true;
    for (hops = 0; hops < ACTIVE;) once(state);
    return per_hop;
}

/* ---- ours ---- */

static void on_readable(void *arg, uint32_t events)
{
    if (events & TFY_FD_READ) pass_on(arg);
}

static void once_ours(void *state)
{
    if (tfy_step(state) < 0) bench_die("the loop failed");
}

static double our_round(void)
{
    int64_t watches[PAIRS];
    TfyLoop *loop = bench_open(NULL);
    for (int i = 0; i < PAIRS; i++)
        if ((watches[i] = tfy__watch_add(loop, pairs[i].from, TFY_FD_READ, on_readable, &pairs[i])) < 0)
            bench_die("a descriptor cannot be watched");
    double per_hop = go_around(once_ours, loop);
    for (int i = 0; i < PAIRS; i++) tfy__watch_del(loop, watches[i]);
    bench_close(loop);
    return per_hop;
}

/* ---- bare ---- */

static void once_bare(void *state)
{
    struct epoll_event events[EVENTS];
    const int count = epoll_wait(*(int *)state, events, EVENTS, 0);
    for (int i = 0; i < count; i++) pass_on(events[i].data.ptr);
}

static double bare_round(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < PAIRS; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = &pairs[i]};
        if (epoll_ctl(fd, EPOLL_CTL_ADD, pairs[i].from, &event) < 0) bench_die("a descriptor cannot be watched");
    }
    double per_hop = go_around(once_bare, &fd);
    close(fd);
    return per_hop;
}

int main(void)
{
    double ours[BENCH_ROUNDS], bare[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
    open_pairs();
    our_round(); /* once for nothing */
    bare_round();
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        bare[i] = bare_round() * 1e9;
        ours[i] = our_round() * 1e9;
        ratios[i] = ours[i] / bare[i];
    }
    fprintf(stderr, "bench: a byte to the next of 1,000 socket pairs: ours %.0f ns, bare %.0f ns\n", bench_median(ours),
            bench_median(bare));
    bench_report("messages around 1,000 socket pairs, 100 active, against bare epoll_wait and read (times its time)",
                 bench_median(ratios), "<=", 1.3);
    return 0;
}

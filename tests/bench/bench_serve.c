/* bench_serve.c: a server on its Unix socket: durable starts a second, how long the slowest of them take, what an ended run costs in
 * memory, streams of events, and what they cost those who work. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "serving.h"

enum { PACED = 1 << 14, HUNDRED_THOUSAND = 100000 };

static Serving serving = {.db = "bench-serve.db",
                          .program =
                              "workflow nothing(_word: string) {}\n"
                              "workflow counting(n: int) { var i = 0; while i < n { yield sleep(0ms); i += 1 } }\n"};
static char start_request[512];

/* ---- streams ---- */

static const char stream_request[] = "GET /v1/events?type=TaskComplete HTTP/1.1\r\nHost: x\r\n\r\n";

typedef struct Listening {
    int poller, count, greeted;
    size_t heard[SERVING_CONNECTIONS];    /* events that each of them has got … */
    uint8_t matched[SERVING_CONNECTIONS]; /* … and bytes of the next one's name */
    double last[PACED];                   /* by event: when the last one got it */
} Listening;

static Listening listening;

static void hear_events(int connection, double now)
{
    static const char record[] = "event: record";
    static char bytes[SERVING_ANSWER];
    const ssize_t got = recv(serving_connections[connection].fd, bytes, SERVING_ANSWER, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) bench_die("the server ended a stream");
    if (got > 0 && !serving_connections[connection].len) listening.greeted++;
    serving_connections[connection].len += got > 0 ? (size_t)got : 0;
    for (ssize_t i = 0; i < got; i++) {
        uint8_t *matched = &listening.matched[connection];
        *matched = bytes[i] == record[*matched] ? *matched + 1 : bytes[i] == record[0];
        if (record[*matched]) continue;
        listening.last[listening.heard[connection]++ % (PACED)] = now;
        *matched = 0;
    }
}

static void hear_all(int wait_ms)
{
    struct epoll_event events[256];
    int ready = epoll_wait(listening.poller, events, 256, wait_ms);
    while (ready > 0) {
        for (int i = 0; i < ready; i++) hear_events((int)events[i].data.u32, bench_seconds());
        ready = epoll_wait(listening.poller, events, 256, 0);
    }
}

static bool all_heard(size_t count)
{
    for (int i = 0; i < listening.count; i++)
        if (listening.heard[i] < count) return false;
    return true;
}

static void open_streams(int count)
{
    listening = (Listening){.poller = epoll_create1(0), .count = count};
    for (int i = 0; i < count; i++) {
        serving_connections[i].fd = serving_reach(&serving);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        epoll_ctl(listening.poller, EPOLL_CTL_ADD, serving_connections[i].fd, &event);
        serving_ask(&serving_connections[i], stream_request);
    }
    while (listening.greeted < count) hear_all(100);
}

static void close_streams(void)
{
    for (int i = 0; i < listening.count; i++) close(serving_connections[i].fd);
    close(listening.poller);
}

/* The time from the answer to a start, when it is durable, until the last stream has the run's end: 99 of 100 take no longer,
 * in milliseconds. */
static double spread(int rate, double seconds)
{
    static Connection starter;
    const double begun = bench_seconds();
    const size_t first = listening.heard[0], most = (size_t)(rate * seconds);
    double sent[PACED];
    starter.fd = serving_reach(&serving);
    for (size_t i = 0; i < most; i++) {
        while (bench_seconds() < begun + (double)i / rate) hear_all(1);
        serving_answer(&starter, start_request, 201);
        sent[i] = bench_seconds();
    }
    const double patience = bench_seconds() + 2;
    while (!all_heard(first + most) && bench_seconds() < patience) hear_all(50);
    for (int i = 0; i < listening.count; i++)
        if (listening.heard[i] != first + most)
            bench_die("a stream has %zu of %zu events", listening.heard[i] - first, most);
    for (size_t i = 0; i < most; i++) serving_times[i] = listening.last[first + i] - sent[i];
    close(starter.fd);
    qsort(serving_times, most, sizeof *serving_times, bench_by_size);
    return serving_times[most * 99 / 100] * 1e3;
}

/* ---- a stream that goes on at an earlier place ---- */

/* Starts a run, and returns the number of its record. */
static long start_one(void)
{
    static Connection starter;
    starter.fd = serving_reach(&serving);
    serving_answer(&starter, start_request, 201);
    const char *lsn = strstr(starter.answer, "Tfy-Lsn: ");
    close(starter.fd);
    if (!lsn) bench_die("a start without its record");
    return strtol(lsn + 9, NULL, 10);
}

/* Counts the records in a piece of a stream. What stands between its chunks, CR LF SIZE CR LF, may be in the middle of a word. */
typedef struct Counting {
    size_t matched, heard;
    int lines; /* ends of lines that are not the stream's and are still to come */
} Counting;

static void count_records(Counting *counting, const char *bytes, size_t len)
{
    static const char record[] = "event: record";
    for (size_t i = 0; i < len; i++) {
        if (counting->lines) {
            counting->lines -= bytes[i] == '\n';
        } else if (bytes[i] == '\r') {
            counting->lines = 2;
        } else {
            counting->matched = bytes[i] == record[counting->matched] ? counting->matched + 1 : bytes[i] == record[0];
            counting->heard += !record[counting->matched];
            if (!record[counting->matched]) counting->matched = 0;
        }
    }
}

/* Seconds until a client that comes back has the 100,000 records that it lacks. */
static double seconds_back(void)
{
    static char bytes[1 << 20];
    char request[128];
    Counting counting = {.heard = 0};
    double p99;
    while (start_one() <= HUNDRED_THOUSAND) serving_load(&serving, start_request, 64, 1, 0, &p99);
    const long head = start_one();
    snprintf(request, sizeof request, "GET /v1/events?after=%ld HTTP/1.1\r\nHost: x\r\n\r\n", head - HUNDRED_THOUSAND);
    serving_connections[0].fd = serving_reach(&serving);
    serving_ask(&serving_connections[0], request);
    while (counting.heard < HUNDRED_THOUSAND) {
        const ssize_t got = recv(serving_connections[0].fd, bytes, sizeof bytes, 0);
        if (got <= 0) bench_die("the server ended a stream");
        count_records(&counting, bytes, (size_t)got);
    }
    close(serving_connections[0].fd);
    return bench_seconds() - serving_connections[0].sent;
}

/* ---- the loop beside streams ---- */

/* What runs that only take steps record in a second, while a run is started ten times a second for those who listen, if any do. */
static double steps_a_second(double seconds)
{
    const double begun = bench_seconds();
    const long first = start_one();
    long last = first;
    for (int i = 1; bench_seconds() < begun + seconds; i++) {
        while (bench_seconds() < begun + i / 10.0) hear_all(1);
        last = start_one();
    }
    return (double)(last - first) / (bench_seconds() - begun);
}

static double share_beside_streams(void)
{
    enum { STEPPING = 64, ROUNDS = 4 * BENCH_ROUNDS }; /* each of them varies by a fifth */
    char request[512];
    double p99, ratios[ROUNDS];
    serving_start_request(request, sizeof request, "counting", "{\"n\":1000000000}");
    serving_load(&serving, request, 1, 60, STEPPING, &p99);
    for (int round = 0; round < ROUNDS; round++) {
        double without = 0, with = 0;
        for (int turn = 0; turn < 3; turn++) { /* without, with, without: what changes with time is in both */
            open_streams(turn == 1 ? SERVING_CONNECTIONS : 0);
            if (turn == 1)
                with = steps_a_second(1);
            else
                without += steps_a_second(0.5) / 2;
            close_streams();
        }
        fprintf(stderr, "records/s: %.0f, %.0f beside 1,000 streams\n", without, with);
        ratios[round] = with / without;
    }
    return bench_median_of(ratios, ROUNDS);
}

/* ---- all of it ---- */

/* Of the rounds, each with its own connections, the median: starts a second, and how long 99 of 100 take at most, in ms. */
static double starts_a_second(int connections, double seconds, double *p99)
{
    double rates[BENCH_ROUNDS], slow[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        rates[round] = serving_load(&serving, start_request, connections, seconds, 0, &slow[round]);
        fprintf(stderr, "%d connections: %.0f starts/s, 99 of 100 within %.1f ms\n", connections, rates[round],
                slow[round]);
    }
    *p99 = bench_median(slow);
    return bench_median(rates);
}

static void measure_starts(void)
{
    double p99, some_p99, many_p99;
    const double one = starts_a_second(1, 1, &p99);
    serving_load(&serving, start_request, 64, 2, 0, &p99); /* what 64 connections take once */
    sleep(1);
    const long before = serving_anonymous_kib(&serving);
    const double begun = bench_seconds(), some = starts_a_second(64, 2, &some_p99), took = bench_seconds() - begun;
    sleep(2); /* the index has it all */
    const long after = serving_anonymous_kib(&serving);
    const double many = starts_a_second(SERVING_CONNECTIONS, 2, &many_p99);
    sleep(2);
    bench_report("durable starts a second over HTTP, one connection", one, ">=", 1500);
    bench_report("durable starts a second over HTTP, 64 connections", some, ">=", 10000);
    bench_report("... 99 of 100 within, in ms", some_p99, "<=", 100);
    bench_report("durable starts a second over HTTP, 1,000 connections", many, ">=", 10000);
    bench_report("... 99 of 100 within, in ms", many_p99, "<=", 100);
    bench_report("bytes that an ended run leaves in the memory of a server",
                 (double)(after - before) * 1024 / (some * took), "<=", 64);
}

static void measure_streams(void)
{
    const long without = serving_anonymous_kib(&serving);
    open_streams(SERVING_CONNECTIONS);
    const double each = (double)(serving_anonymous_kib(&serving) - without) / SERVING_CONNECTIONS, slow = spread(10, 5),
                 fast = spread(100, 5);
    close_streams();
    bench_report("1,000 streams, 10 events a second: 99 of 100 are with the last within, in ms", slow, "<=", 50);
    bench_report("... 100 events a second", fast, "<=", 50);
    bench_report("memory of a stream, in KiB", each, "<=", 24);
    bench_report("a stream is taken up 100,000 records back, in seconds", seconds_back(), "<=", 1);
    bench_report("steps of the loop beside 1,000 streams, as a share of those without", share_beside_streams(),
                 ">=", 0.9);
}

int main(void)
{
    serving_start_request(start_request, sizeof start_request, "nothing", "{\"_word\":\"tea\"}");
    serving_build(&serving);
    serving_start(&serving);
    close(serving_reach(&serving));
    bench_report("memory of an idle server, in MiB", (double)serving_anonymous_kib(&serving) / 1024, "<=", 16);
    measure_starts();
    measure_streams();
    serving_end(&serving);
    serving_remove(&serving);
    return 0;
}

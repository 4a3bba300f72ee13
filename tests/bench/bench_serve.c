/* bench_serve.c: a server on its Unix socket: durable starts a second, how long the slowest of them take, what an ended run costs in
 * memory, pages of the list of runs, and streams of events. The server is a process of its own, and clients are connections of one thread. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "bench.h"

enum { CONNECTIONS_MOST = 1000, TIMES_MOST = 1 << 20, ANSWER_MOST = 64 << 10 };

#define DB "bench-serve.db"

static const char program[] = "workflow nothing(_word: string) {}\n";
static const char start_request[] =
    "POST /v1/programs/bench/workflows/nothing/runs HTTP/1.1\r\nHost: x\r\n"
    "Content-Type: application/json\r\nContent-Length: 24\r\n\r\n{\"args\":{\"_word\":\"tea\"}}";

typedef struct Connection {
    int fd;
    double sent;
    size_t len;
    char answer[ANSWER_MOST];
} Connection;

static Connection connections[CONNECTIONS_MOST];
static double times[TIMES_MOST];
static size_t time_count;

/* ---- one connection ---- */

static int reach(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = DB "-live/http"};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int tries = 0; connect(fd, (struct sockaddr *)&address, sizeof address) < 0; tries++) {
        if (tries == 500) bench_die("the server is not there: %s", strerror(errno));
        usleep(20000);
    }
    return fd;
}

static void ask(Connection *connection, const char *request)
{
    const size_t len = strlen(request);
    connection->len = 0;
    connection->sent = bench_seconds();
    if (send(connection->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len) bench_die("the server takes no request");
}

/* Whether the answer is whole. */
static bool hear(Connection *connection)
{
    const ssize_t got =
        recv(connection->fd, connection->answer + connection->len, sizeof connection->answer - 1 - connection->len, 0);
    if (got <= 0) bench_die("the server ended a connection");
    connection->len += (size_t)got;
    connection->answer[connection->len] = '\0';
    const char *end = strstr(connection->answer, "\r\n\r\n"), *length = strstr(connection->answer, "Content-Length: ");
    return end && length && length < end &&
           connection->len >= (size_t)(end + 4 - connection->answer) + strtoul(length + 16, NULL, 10);
}

/* ---- loads ---- */

/* Starts a second over so many connections; *p99: of the time until an answer, in milliseconds. */
static double load(int count, double seconds, double *p99)
{
    const int poller = epoll_create1(0);
    const double until = bench_seconds() + seconds;
    size_t done = 0;
    time_count = 0;
    for (int i = 0; i < count; i++) {
        connections[i].fd = reach();
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].fd, &event);
        ask(&connections[i], start_request);
    }
    const double begun = bench_seconds();
    while (bench_seconds() < until) {
        struct epoll_event events[64];
        const int ready = epoll_wait(poller, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            Connection *connection = events[i].data.ptr;
            if (!hear(connection)) continue;
            if (strncmp(connection->answer, "HTTP/1.1 201", 12) != 0) bench_die("no start: %.300s", connection->answer);
            if (time_count < TIMES_MOST) times[time_count++] = bench_seconds() - connection->sent;
            done++;
            ask(connection, start_request);
        }
    }
    const double took = bench_seconds() - begun;
    for (int i = 0; i < count; i++) close(connections[i].fd);
    close(poller);
    qsort(times, time_count, sizeof *times, bench_by_size);
    *p99 = time_count ? times[time_count * 99 / 100] * 1e3 : 1e9;
    return (double)done / took;
}

/* The median of the time for a page, in milliseconds. */
static double page(const char *path)
{
    char request[512];
    Connection *connection = &connections[0];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    connection->fd = reach();
    for (time_count = 0; time_count < 201; time_count++) {
        ask(connection, request);
        while (!hear(connection)) {}
        if (strncmp(connection->answer, "HTTP/1.1 200", 12) != 0) bench_die("no page: %.300s", connection->answer);
        times[time_count] = bench_seconds() - connection->sent;
    }
    close(connection->fd);
    qsort(times, time_count, sizeof *times, bench_by_size);
    return times[time_count / 2] * 1e3;
}

/* ---- streams ---- */

static const char stream_request[] = "GET /v1/events?type=TaskComplete HTTP/1.1\r\nHost: x\r\n\r\n";

typedef struct Listening {
    int poller, count, greeted;
    size_t heard[CONNECTIONS_MOST];    /* events that each of them has got … */
    uint8_t matched[CONNECTIONS_MOST]; /* … and bytes of the next one's name */
    double last[TIMES_MOST / 64];      /* by event: when the last one got it */
} Listening;

static Listening listening;

static void hear_events(int connection, double now)
{
    static const char record[] = "event: record";
    static char bytes[ANSWER_MOST];
    const ssize_t got = recv(connections[connection].fd, bytes, ANSWER_MOST, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) bench_die("the server ended a stream");
    if (got > 0 && !connections[connection].len) listening.greeted++;
    connections[connection].len += got > 0 ? (size_t)got : 0;
    for (ssize_t i = 0; i < got; i++) {
        uint8_t *matched = &listening.matched[connection];
        *matched = bytes[i] == record[*matched] ? *matched + 1 : bytes[i] == record[0];
        if (record[*matched]) continue;
        listening.last[listening.heard[connection]++ % (TIMES_MOST / 64)] = now;
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
        connections[i].fd = reach();
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        epoll_ctl(listening.poller, EPOLL_CTL_ADD, connections[i].fd, &event);
        ask(&connections[i], stream_request);
    }
    while (listening.greeted < count) hear_all(100);
}

static void close_streams(void)
{
    for (int i = 0; i < listening.count; i++) close(connections[i].fd);
    close(listening.poller);
}

/* The time from the answer to a start, when it is durable, until the last stream has the run's end: 99 of 100 take no longer,
 * in milliseconds. */
static double spread(int rate, double seconds)
{
    static Connection starter;
    const double begun = bench_seconds();
    const size_t first = listening.heard[0], most = (size_t)(rate * seconds);
    double sent[TIMES_MOST / 64];
    starter.fd = reach();
    for (size_t i = 0; i < most; i++) {
        while (bench_seconds() < begun + (double)i / rate) hear_all(1);
        ask(&starter, start_request);
        while (!hear(&starter)) {}
        sent[i] = bench_seconds();
    }
    const double patience = bench_seconds() + 2;
    while (!all_heard(first + most) && bench_seconds() < patience) hear_all(50);
    for (int i = 0; i < listening.count; i++)
        if (listening.heard[i] != first + most)
            bench_die("a stream has %zu of %zu events", listening.heard[i] - first, most);
    for (size_t i = 0; i < most; i++) times[i] = listening.last[first + i] - sent[i];
    close(starter.fd);
    qsort(times, most, sizeof *times, bench_by_size);
    return times[most * 99 / 100] * 1e3;
}

/* ---- the server ---- */

static long anonymous_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &kib);
    if (file) fclose(file);
    return kib;
}

static pid_t serve(void)
{
    FILE *file = fopen("bench.tfy", "w");
    if (!file || fputs(program, file) < 0 || fclose(file) != 0) bench_die("bench.tfy cannot be written");
    if (system("rm -rf " DB "* && ./tfy build --shared bench.tfy -o bench.so") != 0)
        bench_die("the program cannot be built");
    const pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("./tfy-serve", "tfy-serve", "--db", DB, "--no-tcp", "bench.so", (char *)NULL);
    _exit(127);
}

int main(void)
{
    double p99, many_p99, one_p99;
    const pid_t pid = serve();
    close(reach());
    const long idle = anonymous_kib(pid);
    const double one = load(1, 2, &one_p99);
    load(64, 2, &p99); /* what 64 connections take once */
    sleep(1);
    const long before = anonymous_kib(pid);
    const double some = load(64, 3, &p99);
    sleep(2); /* the index has it all */
    const long after = anonymous_kib(pid);
    const double many = load(1000, 3, &many_p99);
    sleep(2);
    const double newest = page("/v1/runs?limit=50"), found = page("/v1/runs?q=tea&limit=50"),
                 filtered = page("/v1/runs?workflow=nothing&state=completed&limit=50");
    fprintf(
        stderr,
        "starts/s: %.0f over one connection, %.0f over 64 (p99 %.1f ms), %.0f over 1,000 (p99 %.1f ms); idle %ld KiB; "
        "pages %.2f, %.2f, %.2f ms\n",
        one, some, p99, many, many_p99, idle, newest, found, filtered);
    bench_report("durable starts a second over HTTP, one connection", one, ">=", 1500);
    bench_report("durable starts a second over HTTP, 64 connections", some, ">=", 10000);
    bench_report("... 99 of 100 within, in ms", p99, "<=", 100);
    bench_report("durable starts a second over HTTP, 1,000 connections", many, ">=", 10000);
    bench_report("bytes that an ended run leaves in the memory of a server",
                 (double)(after - before) * 1024 / (some * 3), "<=", 64);
    bench_report("a page of the newest runs, in ms", newest, "<=", 5);
    bench_report("... of those that a word finds", found, "<=", 5);
    bench_report("... of those of a workflow and a state", filtered, "<=", 5);
    const long without = anonymous_kib(pid);
    open_streams(CONNECTIONS_MOST);
    const double each = (double)(anonymous_kib(pid) - without) / CONNECTIONS_MOST, slow = spread(10, 5),
                 fast = spread(100, 5);
    close_streams();
    bench_report("1,000 streams, 10 events a second: 99 of 100 are with the last within, in ms", slow, "<=", 50);
    bench_report("... 100 events a second", fast, "<=", 50);
    bench_report("memory of a stream, in KiB", each, "<=", 24);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    return system("rm -rf " DB "* bench.tfy bench.so") != 0;
}

/* serving.c: see serving.h. */
#include "serving.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { PAGES = 201 };

Connection serving_connections[SERVING_CONNECTIONS];
double serving_times[SERVING_TIMES];
size_t serving_time_count;

/* ---- the server ---- */

void serving_remove(const Serving *serving)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s* bench.tfy bench.so", serving->db);
    if (system(command) != 0) bench_die("%s cannot be removed", serving->db);
}

void serving_build(const Serving *serving)
{
    serving_remove(serving);
    FILE *file = fopen("bench.tfy", "w");
    if (!file || fputs(serving->program, file) < 0 || fclose(file) != 0) bench_die("bench.tfy cannot be written");
    if (system("./tfy build --shared bench.tfy -o bench.so") != 0) bench_die("the program cannot be built");
}

void serving_start(Serving *serving)
{
    serving->pid = fork();
    if (serving->pid) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("./tfy-serve", "tfy-serve", "--db", serving->db, "--no-tcp", "bench.so", (char *)NULL);
    _exit(127);
}

void serving_end(Serving *serving)
{
    kill(serving->pid, SIGTERM);
    waitpid(serving->pid, NULL, 0);
}

long serving_anonymous_kib(const Serving *serving)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)serving->pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &kib);
    if (file) fclose(file);
    return kib;
}

/* ---- one connection ---- */

int serving_reach(const Serving *serving)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s-live/http", serving->db);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int tries = 0; connect(fd, (struct sockaddr *)&address, sizeof address) < 0; tries++) {
        if (tries == 20000) bench_die("the server is not there: %s", strerror(errno));
        usleep(500);
    }
    return fd;
}

void serving_ask(Connection *connection, const char *request)
{
    const size_t len = strlen(request);
    connection->len = 0;
    connection->sent = bench_seconds();
    if (send(connection->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len) bench_die("the server takes no request");
}

bool serving_hear(Connection *connection)
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

static void check_status(const Connection *connection, int status)
{
    if (atoi(connection->answer + 9) != status) bench_die("not %d: %.300s", status, connection->answer);
}

const char *serving_answer(Connection *connection, const char *request, int status)
{
    serving_ask(connection, request);
    while (!serving_hear(connection)) {}
    check_status(connection, status);
    return strstr(connection->answer, "\r\n\r\n") + 4;
}

static void get_request(char *request, size_t size, const char *path)
{
    snprintf(request, size, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
}

const char *serving_get(const Serving *serving, const char *path)
{
    static Connection connection;
    char request[512];
    get_request(request, sizeof request, path);
    connection.fd = serving_reach(serving);
    const char *body = serving_answer(&connection, request, 200);
    close(connection.fd);
    return body;
}

/* ---- loads ---- */

void serving_start_request(char *request, size_t size, const char *workflow, const char *args)
{
    snprintf(request, size,
             "POST /v1/programs/bench/workflows/%s/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n{\"args\":%s}",
             workflow, strlen(args) + 9, args);
}

static double sorted_p99(void)
{
    qsort(serving_times, serving_time_count, sizeof *serving_times, bench_by_size);
    return serving_time_count ? serving_times[serving_time_count * 99 / 100] * 1e3 : 1e9;
}

double serving_load(const Serving *serving, const char *request, int connections, double seconds, size_t most,
                    double *p99)
{
    const int poller = epoll_create1(0);
    size_t done = 0;
    serving_time_count = 0;
    for (int i = 0; i < connections; i++) {
        serving_connections[i].fd = serving_reach(serving);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &serving_connections[i]};
        epoll_ctl(poller, EPOLL_CTL_ADD, serving_connections[i].fd, &event);
        serving_ask(&serving_connections[i], request);
    }
    const double begun = bench_seconds(), until = begun + seconds;
    while (bench_seconds() < until && (!most || done < most)) {
        struct epoll_event events[64];
        const int ready = epoll_wait(poller, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            Connection *connection = events[i].data.ptr;
            if (!serving_hear(connection)) continue;
            check_status(connection, 201);
            if (serving_time_count < SERVING_TIMES)
                serving_times[serving_time_count++] = bench_seconds() - connection->sent;
            done++;
            serving_ask(connection, request);
        }
    }
    const double took = bench_seconds() - begun;
    for (int i = 0; i < connections; i++) close(serving_connections[i].fd);
    close(poller);
    *p99 = sorted_p99();
    return (double)done / took;
}

double serving_page(const Serving *serving, const char *path, double *p99)
{
    char request[512];
    Connection *connection = &serving_connections[0];
    get_request(request, sizeof request, path);
    connection->fd = serving_reach(serving);
    for (serving_time_count = 0; serving_time_count < PAGES; serving_time_count++) {
        serving_answer(connection, request, 200);
        serving_times[serving_time_count] = bench_seconds() - connection->sent;
    }
    close(connection->fd);
    const double slow = sorted_p99();
    if (p99) *p99 = slow;
    return serving_times[PAGES / 2] * 1e3;
}

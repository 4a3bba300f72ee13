/* bench_proxy.c: what the way through the proxy costs: bytes through a tunnel, and connections that are made and closed, each against the same
 * without the proxy. Client and server are one process, the proxy in its loop another. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench.h"
#include "effects/proxy.h"

enum { BYTES = 256 << 20, PIECE = 64 << 10, CONNECTIONS = 500 };

static int listen_local(uint16_t *port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof name;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, 128) < 0)
        bench_die("no listener: %s", strerror(errno));
    getsockname(fd, (struct sockaddr *)&name, &len);
    *port = ntohs(name.sin_port);
    return fd;
}

/* ---- the proxy's process ---- */

_Noreturn static void serve_proxy(int listener, uint16_t server_port)
{
    char rule[32];
    const char *const hosts[] = {rule, NULL};
    TfyLoop *loop = bench_open(NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(rule, sizeof rule, "127.0.0.1:%u", server_port);
    if (!tfy__proxy_start(loop, listener, &(TfyProxyRules){.hosts = hosts})) bench_die("no proxy");
    for (struct pollfd at = {.fd = tfy_fd(loop), .events = POLLIN};;) {
        const int turn = tfy_step(loop);
        if (turn < 0) bench_die("the loop failed");
        if (turn == 0) poll(&at, 1, tfy_timeout_ms(loop));
    }
}

/* ---- client and server ---- */

static char piece[PIECE];

/* The server: reads each connection to its end. */
static void *serve(void *arg)
{
    static char bytes[PIECE];
    for (int fd; (fd = accept(*(int *)arg, NULL, NULL)) >= 0; close(fd))
        while (read(fd, bytes, sizeof bytes) > 0) continue;
    return NULL;
}

static int connect_to(uint16_t port)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&name, sizeof name) < 0) bench_die("no connection: %s", strerror(errno));
    return fd;
}

/* proxy: 0: none */
static int open_way(uint16_t proxy, uint16_t server)
{
    char text[200];
    if (!proxy) return connect_to(server);
    const int fd = connect_to(proxy);
    const int len = snprintf(text, sizeof text, "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", server);
    if (write(fd, text, (size_t)len) != len || read(fd, text, sizeof text) < 12 || memcmp(text + 9, "200", 3) != 0)
        bench_die("no tunnel");
    return fd;
}

/* Until the server has read all, and has closed. */
static void end_way(int fd)
{
    char byte;
    shutdown(fd, SHUT_WR);
    if (read(fd, &byte, 1) != 0) bench_die("the server said something");
    close(fd);
}

static double mib_per_second(uint16_t proxy, uint16_t server)
{
    const int fd = open_way(proxy, server);
    const double begin = bench_seconds();
    for (size_t sent = 0; sent < BYTES;) {
        const ssize_t len = write(fd, piece, PIECE);
        if (len <= 0) bench_die("the connection broke");
        sent += (size_t)len;
    }
    end_way(fd);
    return BYTES / (double)(1 << 20) / (bench_seconds() - begin);
}

static double ms_per_connection(uint16_t proxy, uint16_t server)
{
    const double begin = bench_seconds();
    for (int i = 0; i < CONNECTIONS; i++) end_way(open_way(proxy, server));
    return (bench_seconds() - begin) / CONNECTIONS * 1e3;
}

int main(void)
{
    double bytes[BENCH_ROUNDS], direct_bytes[BENCH_ROUNDS], connections[BENCH_ROUNDS], direct_connections[BENCH_ROUNDS];
    uint16_t server_port, proxy_port;
    pthread_t server_thread;
    int server = listen_local(&server_port);
    const int listener = listen_local(&proxy_port);
    const pid_t proxy = fork();
    if (proxy == 0) serve_proxy(listener, server_port);
    close(listener);
    pthread_create(&server_thread, NULL, serve, &server);
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        bytes[round] = mib_per_second(proxy_port, server_port);
        direct_bytes[round] = mib_per_second(0, server_port);
        connections[round] = ms_per_connection(proxy_port, server_port);
        direct_connections[round] = ms_per_connection(0, server_port);
    }
    kill(proxy, SIGKILL);
    waitpid(proxy, NULL, 0);
    fprintf(stderr, "bench: proxy: %.0f MiB/s, without it %.0f; %.3f ms for each connection, without it %.3f\n",
            bench_median(bytes), bench_median(direct_bytes), bench_median(connections),
            bench_median(direct_connections));
    bench_report("MiB/s through the proxy", bench_median(bytes), ">=", 100);
    bench_report("a connection through the proxy takes longer by (ms)",
                 bench_median(connections) - bench_median(direct_connections), "<=", 1.0);
    return 0;
}

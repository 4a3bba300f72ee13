/* net_client.c: clients as servers meet them, for end-to-end tests. ADDRESS is IPV4:PORT, [IPV6]:PORT or unix:PATH.
 *
 *   net_client ADDRESS talk [GAP_MS]     sends its standard input (a byte at a time with GAP_MS between), then prints what comes until the end
 *   net_client ADDRESS many N LINE WANT  N connections at once; when all stand, each sends LINE, then from each as much as WANT is read and
 *                                        compared (\n in both means a newline); only then they are closed
 *   net_client ADDRESS stall TEXT MS     sends TEXT and nothing more, and stays so long
 *   net_client ADDRESS reset LINE        sends LINE, takes one byte of the answer and resets the connection
 *   net_client ADDRESS flood             sends a line that never ends, until the server has enough; prints how many KiB went out
 *
 * Exit status 0, or 1 with a sentence. No call waits longer than 30 seconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    fprintf(stderr, "net_client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static socklen_t parse(const char *text, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (strncmp(text, "unix:", 5) == 0) {
        struct sockaddr_un *local = (struct sockaddr_un *)out;
        local->sun_family = AF_UNIX;
        snprintf(local->sun_path, sizeof local->sun_path, "%s", text + 5);
        return sizeof *local;
    }
    char host[64];
    const char *colon = strrchr(text, ':');
    bool six = *text == '[';
    if (!colon) exit(64);
    snprintf(host, sizeof host, "%.*s", (int)(colon - text) - 2 * six, text + six);
    if (six) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)atoi(colon + 1));
        inet_pton(AF_INET6, host, &in6->sin6_addr);
        return sizeof *in6;
    }
    struct sockaddr_in *in4 = (struct sockaddr_in *)out;
    in4->sin_family = AF_INET;
    in4->sin_port = htons((uint16_t)atoi(colon + 1));
    inet_pton(AF_INET, host, &in4->sin_addr);
    return sizeof *in4;
}

static int dial(const char *address)
{
    struct sockaddr_storage to;
    struct timeval patience = {.tv_sec = 30};
    socklen_t len = parse(address, &to);
    int fd = socket(to.ss_family, SOCK_STREAM, 0);
    if (fd < 0) die("socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&to, len) < 0) die("connect");
    return fd;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void send_all(int fd, const char *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, bytes + done, len - done, MSG_NOSIGNAL);
        if (n < 0) die("send");
        done += (size_t)n;
    }
}

static void talk(int fd, long gap_ms)
{
    char bytes[4096];
    size_t most = gap_ms ? 1 : sizeof bytes;
    for (ssize_t n; (n = read(STDIN_FILENO, bytes, most)) > 0;) {
        send_all(fd, bytes, (size_t)n);
        if (gap_ms) pause_ms(gap_ms);
    }
    shutdown(fd, SHUT_WR);
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) fwrite(bytes, 1, (size_t)n, stdout);
    if (n < 0) die("recv");
}

/* \n becomes a newline; the caller frees it. */
static char *unescape(const char *text)
{
    char *out = strdup(text), *to = out;
    for (const char *at = text; *at; at++) {
        bool newline = at[0] == '\\' && at[1] == 'n';
        *to++ = newline ? '\n' : *at;
        at += newline;
    }
    *to = '\0';
    return out;
}

static void many(const char *address, int count, char *line, char *wanted)
{
    int *fds = calloc((size_t)count, sizeof *fds);
    char got[4096];
    size_t len = strlen(wanted);
    for (int i = 0; i < count; i++) fds[i] = dial(address);
    for (int i = 0; i < count; i++) send_all(fds[i], line, strlen(line));
    for (int i = 0; i < count; i++) {
        ssize_t n = len < sizeof got ? recv(fds[i], got, len, MSG_WAITALL) : -1;
        if (n == (ssize_t)len && memcmp(got, wanted, len) == 0) continue;
        fprintf(stderr, "net_client: connection %d got '%.*s' (%s)\n", i, n > 0 ? (int)n : 0, got, strerror(errno));
        exit(1);
    }
    for (int i = 0; i < count; i++) close(fds[i]);
    free(fds);
    free(line);
    free(wanted);
}

static void reset(int fd, char *line)
{
    char byte;
    struct linger now = {.l_onoff = 1};
    send_all(fd, line, strlen(line));
    free(line);
    if (recv(fd, &byte, 1, 0) != 1) die("recv");
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static void flood(int fd)
{
    char bytes[1024];
    long kib = 0;
    memset(bytes, 'x', sizeof bytes);
    while (kib < 65536 && send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) kib++;
    printf("%ld\n", kib);
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    signal(SIGPIPE, SIG_IGN);
    const char *address = argc > 2 ? argv[1] : "", *mode = argc > 2 ? argv[2] : "";
    if (strcmp(mode, "talk") == 0) {
        talk(dial(address), argc > 3 ? atol(argv[3]) : 0);
    } else if (strcmp(mode, "many") == 0 && argc == 6) {
        many(address, atoi(argv[3]), unescape(argv[4]), unescape(argv[5]));
    } else if (strcmp(mode, "stall") == 0 && argc == 5) {
        int fd = dial(address);
        send_all(fd, argv[3], strlen(argv[3]));
        pause_ms(atol(argv[4]));
    } else if (strcmp(mode, "reset") == 0 && argc == 4) {
        reset(dial(address), unescape(argv[3]));
    } else if (strcmp(mode, "flood") == 0) {
        flood(dial(address));
    } else {
        fprintf(stderr, "usage: net_client ADDRESS talk|many|stall|reset|flood …\n");
        return 64;
    }
    return 0;
}

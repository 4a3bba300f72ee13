/* stdio.c: the MCP server over standard input and output: a message is a line. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "mcp/message.h"
#include "serve/drain.h"
#include "serve/listen.h"
#include "serve/mcp/mcp.h"

enum { CHUNK = 64 << 10, LAST_MS = 2000, SLOW_MS = 30000 };

struct TfyMcpStdio {
    TfyServer *server;
    TfyMcpHost *host;
    TfyMcpPeer *peer;
    TfyMcpAnswer answer; /* all requests have the same: the one client */
    int in, out, wake[2];
    bool broken; /* the client reads no more; the host's thread alone asks */
    bool runs;
    pthread_t thread;
};

static int taken_in = -1, taken_out = -1;

bool tfy__mcp_stdio_take(void)
{
    const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    taken_in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    taken_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const bool fine = none >= 0 && taken_in >= 0 && taken_out >= 0 && dup2(none, STDIN_FILENO) >= 0 &&
                      dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    if (none >= 0) close(none);
    return fine;
}

void tfy__mcp_stdio_taken(int *in, int *out)
{
    *in = taken_in;
    *out = taken_out;
}

/* ---- to the client, on the host's thread ---- */

/* A client that reads nothing for so long has given up. A pipe that can be written takes PIPE_BUF bytes at once. */
static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        struct pollfd one = {.fd = fd, .events = POLLOUT};
        const int ready = poll(&one, 1, SLOW_MS);
        const ssize_t written = ready > 0 ? write(fd, bytes, len < PIPE_BUF ? len : PIPE_BUF) : ready;
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        len -= (size_t)written;
    }
    return true;
}

static struct TfyMcpStdio *of(TfyMcpAnswer *answer)
{
    return (struct TfyMcpStdio *)((char *)answer - offsetof(struct TfyMcpStdio, answer));
}

/* JSON has no line feed in it, so a line is a message. */
static void say(TfyMcpAnswer *answer, const char *text, size_t len)
{
    struct TfyMcpStdio *stdio = of(answer);
    if (text && !stdio->broken) stdio->broken = !write_all(stdio->out, text, len) || !write_all(stdio->out, "\n", 1);
}

static void end(TfyMcpAnswer *answer, int status, const char *text, size_t len)
{
    if (text) say(answer, text, len);
}

/* ---- from the client ---- */

static void drain(TfyLoop *loop, void *arg)
{
    if (loop) tfy__drain_server(arg);
}

/* The loop asks itself, since it may not run yet. */
static void leave(void *arg)
{
    TfyServer *server = ((struct TfyMcpStdio *)arg)->server;
    if (tfy__command_post(server, drain, server) == TFY_E_NOMEM) tfy__drain_server(server);
}

/* The client has closed its end. Calls that it waits for may end; then the server does, and leaves the rest to its next
 * start. */
static void on_end(TfyMcpHost *host, void *arg)
{
    tfy__mcp_host_when_idle(host, LAST_MS, leave, arg);
}

static void on_long(TfyMcpHost *host, void *arg)
{
    tfy__say("a line of the MCP client has more than 8 MiB; it is hung up on");
    on_end(host, arg);
}

static bool hear(struct TfyMcpStdio *stdio, const char *line, size_t len)
{
    TfyBuffer text = {0};
    if (len && line[len - 1] == '\r') len--;
    if (!len) return true;
    tfy__buffer_add(&text, line, len);
    const bool heard = !text.failed && tfy__mcp_hear(stdio->host, stdio->peer, &text, &stdio->answer);
    tfy__buffer_free(&text);
    return heard;
}

/* Gives the whole lines to the host, and keeps the rest. False: nothing more is to be read. */
static bool take_lines(struct TfyMcpStdio *stdio, TfyBuffer *text)
{
    size_t start = 0;
    for (const char *feed; (feed = memchr(text->data + start, '\n', text->len - start));) {
        if (!hear(stdio, text->data + start, (size_t)(feed - text->data) - start)) return false;
        start = (size_t)(feed - text->data) + 1;
    }
    memmove(text->data, text->data + start, text->len - start);
    text->len -= start;
    return text->len <= TFY_MCP_MESSAGE_MOST;
}

static bool can_read(const struct TfyMcpStdio *stdio)
{
    struct pollfd both[] = {{.fd = stdio->in, .events = POLLIN}, {.fd = stdio->wake[0], .events = POLLIN}};
    while (poll(both, 2, -1) < 0)
        if (errno != EINTR) return false;
    return !both[1].revents;
}

static void on_start(TfyMcpHost *host, void *arg)
{
    struct TfyMcpStdio *stdio = arg;
    (void)tfy__mcp_stand(host, stdio->peer, &stdio->answer);
}

static void *work(void *arg)
{
    struct TfyMcpStdio *stdio = arg;
    pthread_setname_np(pthread_self(), "tfy mcp stdio");
    (void)tfy__mcp_host_post(stdio->host, on_start, stdio);
    TfyBuffer text = {0};
    bool goes_on = true;
    while (goes_on && can_read(stdio)) {
        if (!tfy__buffer_reserve(&text, CHUNK)) break;
        const ssize_t len = read(stdio->in, text.data + text.len, CHUNK);
        if (len < 0 && errno == EINTR) continue;
        if (len <= 0) break;
        text.len += (size_t)len;
        goes_on = take_lines(stdio, &text);
    }
    const bool is_long = text.len > TFY_MCP_MESSAGE_MOST;
    tfy__buffer_free(&text);
    (void)tfy__mcp_host_post(stdio->host, is_long ? on_long : on_end, stdio);
    return NULL;
}

/* ---- opening and closing ---- */

struct TfyMcpStdio *tfy__mcp_stdio_open(TfyServer *server, TfyMcpHost *host, char *error)
{
    struct TfyMcpStdio *stdio = calloc(1, sizeof *stdio);
    TfyCaller caller = {.how = "mcp", .roles = TFY_ROLE_ALL};
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!stdio) return NULL;
    snprintf(caller.name, sizeof caller.name, "%s", server->user);
    *stdio = (struct TfyMcpStdio){
        .server = server, .host = host, .answer = {say, end}, .in = taken_in, .out = taken_out, .wake = {-1, -1}};
    stdio->peer = tfy__mcp_peer_new(&caller);
    stdio->runs =
        stdio->peer && pipe2(stdio->wake, O_CLOEXEC) == 0 && pthread_create(&stdio->thread, NULL, work, stdio) == 0;
    if (stdio->runs) return stdio;
    tfy__mcp_stdio_close(stdio);
    return NULL;
}

void tfy__mcp_stdio_quit(struct TfyMcpStdio *stdio)
{
    if (!stdio || !stdio->runs) return;
    (void)!write(stdio->wake[1], "", 1);
    pthread_join(stdio->thread, NULL);
    stdio->runs = false;
}

void tfy__mcp_stdio_close(struct TfyMcpStdio *stdio)
{
    if (!stdio) return;
    tfy__mcp_stdio_quit(stdio);
    for (int i = 0; i < 2; i++)
        if (stdio->wake[i] >= 0) close(stdio->wake[i]);
    tfy__mcp_peer_free(stdio->peer);
    free(stdio);
}

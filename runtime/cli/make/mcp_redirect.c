/* mcp_redirect.c: see mcp_redirect.h. */
#include "cli/make/mcp_redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/steady.h"

#define GUESTS_MOST 8     /* connections at once; a further one waits */
#define HEAD_MOST   32768 /* bytes of a request */
#define PATIENCE_MS 5000  /* for one request */
#define PREFIX      "http://127.0.0.1:"

/* A connection whose request is read. */
typedef struct Guest {
    int fd; /* -1: free */
    int64_t until_ms;
    size_t len;
    char head[HEAD_MOST];
} Guest;

/* ---- the port ---- */

static bool bind_port(int fd, unsigned port)
{
    const int on = 1;
    const struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(fd, (const struct sockaddr *)&here, sizeof here) == 0 && listen(fd, GUESTS_MOST) == 0;
}

/* The port of an address that this made; 0: it made none. */
static unsigned port_of(const char *address)
{
    if (!address || strncmp(address, PREFIX, sizeof PREFIX - 1) != 0) return 0;
    const unsigned long port = strtoul(address + sizeof PREFIX - 1, NULL, 10);
    return port > 0 && port <= UINT16_MAX ? (unsigned)port : 0;
}

bool tfy__redirect_open(TfyRedirect *redirect, const char *address)
{
    struct sockaddr_in here;
    socklen_t size = sizeof here;
    const unsigned wanted = port_of(address);
    const int fd = redirect->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    if (((wanted && bind_port(fd, wanted)) || bind_port(fd, 0)) &&
        getsockname(fd, (struct sockaddr *)&here, &size) == 0) {
        snprintf(redirect->address, sizeof redirect->address, PREFIX "%u" TFY_REDIRECT_PATH,
                 (unsigned)ntohs(here.sin_port));
        return true;
    }
    const int reason = errno;
    tfy__redirect_close(redirect);
    errno = reason;
    return false;
}

void tfy__redirect_close(TfyRedirect *redirect)
{
    if (redirect->listener >= 0) close(redirect->listener);
    redirect->listener = -1;
}

/* ---- requests ---- */

static void dismiss(Guest *guest, const char *status, const char *text)
{
    char page[1024];
    const int len = snprintf(page, sizeof page,
                             "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
                             "Referrer-Policy: no-referrer\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                             status, strlen(text), text);
    (void)!send(guest->fd, page, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(guest->fd, SHUT_WR);
    close(guest->fd);
    guest->fd = -1;
}

/* The query of the request for the redirect address; NULL: it asks for something else. */
static const char *query_of(const char *head, size_t *len)
{
    static const char wanted[] = "GET " TFY_REDIRECT_PATH "?";
    if (strncmp(head, wanted, sizeof wanted - 1) != 0) return NULL;
    const char *query = head + sizeof wanted - 1;
    *len = strcspn(query, " \r\n");
    return query;
}

/* Reads what a guest says. 1 or -1: it brought the answer; 0: it did not, or not yet. */
static int hear(Guest *guest, TfyLoginAnswer *answer)
{
    size_t len;
    const ssize_t count = recv(guest->fd, guest->head + guest->len, HEAD_MOST - 1 - guest->len, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count > 0) guest->len += (size_t)count;
    guest->head[guest->len] = '\0';
    const bool whole = strstr(guest->head, "\r\n\r\n");
    if (count <= 0 || (!whole && guest->len == HEAD_MOST - 1)) {
        close(guest->fd);
        guest->fd = -1;
        return 0;
    }
    if (!whole) return 0;
    const char *query = query_of(guest->head, &len);
    if (!query) {
        dismiss(guest, "404 Not Found", "<!doctype html><title>tfy</title><p>There is nothing here.\n");
        return 0;
    }
    const bool fine = tfy__login_answer_read(query, len, answer);
    dismiss(
        guest, "200 OK",
        "<!doctype html><title>tfy</title><p>tfy has the answer, and says in its terminal what became of it. You can "
        "close this page.\n");
    return fine ? 1 : -1;
}

static void let_in(int listener, Guest *guests)
{
    for (int i = 0; i < GUESTS_MOST; i++) {
        if (guests[i].fd >= 0) continue;
        guests[i].fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        guests[i].until_ms = tfy__steady_ms() + PATIENCE_MS;
        guests[i].len = 0;
        if (guests[i].fd < 0) return;
    }
}

/* One turn: waits for something to happen, and sees to it. */
static int turn(const TfyRedirect *redirect, Guest *guests, int64_t until_ms, TfyLoginAnswer *answer)
{
    struct pollfd ready[GUESTS_MOST + 1];
    bool full = true;
    for (int i = 0; i < GUESTS_MOST; i++) {
        ready[i] = (struct pollfd){.fd = guests[i].fd, .events = POLLIN};
        full &= guests[i].fd >= 0;
        if (guests[i].fd >= 0 && guests[i].until_ms < until_ms) until_ms = guests[i].until_ms;
    }
    ready[GUESTS_MOST] = (struct pollfd){.fd = full ? -1 : redirect->listener, .events = POLLIN};
    const int64_t left = until_ms - tfy__steady_ms();
    if (poll(ready, GUESTS_MOST + 1, left > 0 ? (int)left : 0) < 0) return 0;
    for (int i = 0; i < GUESTS_MOST; i++) {
        const int heard = ready[i].revents ? hear(&guests[i], answer) : 0;
        if (heard) return heard;
        if (guests[i].fd >= 0 && guests[i].until_ms <= tfy__steady_ms()) dismiss(&guests[i], "408 Request Timeout", "");
    }
    if (ready[GUESTS_MOST].revents) let_in(redirect->listener, guests);
    return 0;
}

int tfy__redirect_wait(TfyRedirect *redirect, int64_t most_ms, TfyLoginAnswer *answer)
{
    const int64_t until_ms = tfy__steady_ms() + most_ms;
    Guest *guests = calloc(GUESTS_MOST, sizeof *guests);
    int heard = 0;
    for (int i = 0; guests && i < GUESTS_MOST; i++) guests[i].fd = -1;
    while (guests && !heard && tfy__steady_ms() < until_ms) heard = turn(redirect, guests, until_ms, answer);
    for (int i = 0; guests && i < GUESTS_MOST; i++)
        if (guests[i].fd >= 0) close(guests[i].fd);
    free(guests);
    return heard;
}

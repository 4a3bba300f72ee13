/* listen.c: see listen.h. */
#include "serve/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tfy.h"

enum { BACKLOG = 1024, HANDED_FIRST = 3, HANDED_MOST = TFY_LISTEN_MOST };

/* By those who started the process; -1: it was asked for. */
static int handed[HANDED_MOST], handed_count;

static int fail(int fd, char *error, const char *where, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "cannot listen at %.300s: %s", where, why);
    if (fd >= 0) close(fd);
    return -1;
}

/* ---- handed over ---- */

void tfy__listen_take(void)
{
    const char *count = getenv("LISTEN_FDS"), *pid = getenv("LISTEN_PID");
    if (count && pid && strtoll(pid, NULL, 10) == getpid()) {
        for (int fd = HANDED_FIRST; fd < HANDED_FIRST + atoi(count) && handed_count < HANDED_MOST; fd++) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
            fcntl(fd, F_SETFL, O_NONBLOCK);
            handed[handed_count++] = fd;
        }
    }
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDNAMES");
}

bool tfy__listen_handed(void)
{
    return handed_count;
}

static bool is_at(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    socklen_t own_len = sizeof own;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&own, &own_len) != 0 || own.ss_family != address->sa_family)
        return false;
    if (own.ss_family != AF_UNIX) return own_len == len && memcmp(&own, address, len) == 0;
    return strcmp(((struct sockaddr_un *)&own)->sun_path, ((const struct sockaddr_un *)address)->sun_path) == 0;
}

/* -1: none was handed over for that address. */
static int take_handed(const struct sockaddr *address, socklen_t len)
{
    for (int i = 0; i < handed_count; i++) {
        const int fd = handed[i];
        if (!is_at(fd, address, len)) continue;
        handed[i] = -1;
        return fd;
    }
    return -1;
}

/* ---- Unix ---- */

int tfy__listen_unix(const char *path, int mode, char *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= (int)sizeof address.sun_path)
        return fail(-1, error, path, "the path is too long");
    const int given = take_handed((struct sockaddr *)&address, sizeof address);
    if (given >= 0) return given;
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) unlink(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && chmod(path, (mode_t)mode) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    return fail(fd, error, path, strerror(errno));
}

int tfy__listen_live(const char *db, char *error)
{
    char dir[4096], path[64];
    snprintf(dir, sizeof dir, "%s-live", db);
    const int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir_fd < 0) return fail(-1, error, dir, strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d/http", dir_fd);
    const int fd = tfy__listen_unix(path, 0600, error);
    close(dir_fd);
    return fd;
}

void tfy__listen_live_end(const char *db)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s-live/http", db) < (int)sizeof path) unlink(path);
}

/* ---- TCP ---- */

/* "[::1]:8433" as "::1" and "8433". */
static bool split(const char *text, char host[TFY_ADDRESS_SIZE], const char **port)
{
    const char *colon = strrchr(text, ':');
    const bool bracketed = *text == '[' && colon > text && colon[-1] == ']';
    const size_t len = (size_t)(colon - text) - (bracketed ? 2 : 0);
    if (len >= TFY_ADDRESS_SIZE) return false;
    snprintf(host, TFY_ADDRESS_SIZE, "%.*s", (int)len, text + bracketed);
    *port = colon + 1;
    return true;
}

static void tell(int fd, char actual[TFY_ADDRESS_SIZE])
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    char host[46] = "", port[8] = "";
    if (getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        (void)getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(actual, TFY_ADDRESS_SIZE, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static int open_tcp(const struct addrinfo *info)
{
    const int given = take_handed(info->ai_addr, info->ai_addrlen);
    if (given >= 0) return given;
    const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (info->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    const int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

int tfy__listen_tcp(const char *address, char actual[TFY_ADDRESS_SIZE], char *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *info = NULL;
    char host[TFY_ADDRESS_SIZE];
    const char *port;
    if (!split(address, host, &port) || getaddrinfo(host, port, &hints, &info) != 0)
        return fail(-1, error, address, "it is not an address and a port, such as 127.0.0.1:8433");
    const int fd = open_tcp(info);
    const int reason = errno;
    freeaddrinfo(info);
    if (fd < 0) return fail(-1, error, address, strerror(reason));
    tell(fd, actual);
    return fd;
}

bool tfy__listen_all_asked(char *error)
{
    char actual[TFY_ADDRESS_SIZE];
    struct sockaddr_un path;
    for (int i = 0; i < handed_count; i++) {
        socklen_t len = sizeof path;
        if (handed[i] < 0) continue;
        tell(handed[i], actual);
        memset(&path, 0, sizeof path);
        (void)getsockname(handed[i], (struct sockaddr *)&path, &len);
        snprintf(error, TFY_ERROR_TEXT, "the socket %.200s was handed over, and \"listen\" does not have it",
                 path.sun_family == AF_UNIX ? path.sun_path : actual);
        return false;
    }
    return true;
}

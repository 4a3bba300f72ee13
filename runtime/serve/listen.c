/* listen.c: see listen.h. */
#include "serve/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tfy.h"

enum { BACKLOG = 1024 };

static int fail(int fd, char *error, const char *where, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "cannot listen at %.300s: %s", where, why);
    if (fd >= 0) close(fd);
    return -1;
}

int tfy__listen_unix(const char *path, int mode, char *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= (int)sizeof address.sun_path)
        return fail(-1, error, path, "the path is too long");
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

/* net_address.c: addresses as people write them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "effects/net.h"

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits && digits < 6 && !text[digits] && atoi(text) <= 65535;
}

static const char *local_address(TfyTask *task, const char *path, TfyNetAddress *out)
{
    if (!*path) return "the path of the Unix socket is missing";
    int len = *path == '/' ? snprintf(out->path, sizeof out->path, "%s", path)
                           : snprintf(out->path, sizeof out->path, "%s/%s", tfy__root(task), path);
    out->local = true;
    return len < (int)sizeof out->path ? NULL : "the path of the Unix socket is too long";
}

const char *tfy__net_address(TfyTask *task, const TfyObj *text, TfyNetAddress *out)
{
    const char *address = ((const TfyString *)text)->bytes;
    *out = (TfyNetAddress){.local = false};
    if (strlen(address) != ((const TfyString *)text)->byte_len) return "there is a NUL in it";
    if (strncmp(address, "unix:", 5) == 0) return local_address(task, address + 5, out);
    const char *colon = strrchr(address, ':'), *host = address;
    size_t len = colon ? (size_t)(colon - address) : 0;
    if (!colon) return "write host:port, [ipv6]:port, :port or unix:path";
    if (!is_port(colon + 1)) return "the port after the last ':' must be a number up to 65535";
    if (len && *host == '[') {
        if (host[len - 1] != ']' || len < 3) return "an IPv6 address needs brackets: [::1]:4200";
        host++;
        len -= 2;
    } else if (memchr(host, ':', len)) {
        return "an IPv6 address needs brackets: [::1]:4200";
    }
    if (len >= sizeof out->host) return "the name of the host is too long";
    memcpy(out->host, host, len);
    strcpy(out->port, colon + 1);
    return NULL;
}

int tfy__net_local_address(const char *path, struct sockaddr_un *out, int *dir)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    *dir = -1;
    if (strlen(path) < sizeof out->sun_path) {
        strcpy(out->sun_path, path);
        return 0;
    }
    const char *name = strrchr(path, '/') + 1;
    char above[4096];
    snprintf(above, sizeof above, "%.*s", (int)(name - path), path);
    *dir = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0) return -errno;
    int len = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", *dir, name);
    if (len < (int)sizeof out->sun_path) return 0;
    close(*dir);
    *dir = -1;
    return -ENAMETOOLONG;
}

void tfy__net_address_text(const struct sockaddr_storage *address, socklen_t len, char *out, size_t size)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (address->ss_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)address;
        bool named = len > offsetof(struct sockaddr_un, sun_path) && *local->sun_path;
        snprintf(out, size, "unix:%.*s", named ? (int)(len - offsetof(struct sockaddr_un, sun_path)) : 0,
                 local->sun_path);
        return;
    }
    if (getnameinfo((const struct sockaddr *)address, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        snprintf(out, size, "unknown");
        return;
    }
    /* An IPv4 client at a socket that serves both. */
    const char *shown = strncmp(host, "::ffff:", 7) == 0 && strchr(host, '.') ? host + 7 : host;
    snprintf(out, size, strchr(shown, ':') ? "[%s]:%s" : "%s:%s", shown, port);
}

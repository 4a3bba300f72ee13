/* notify.c: see notify.h. The protocol is one datagram for each change (sd_notify(3)). */
#include "serve/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address;
static socklen_t address_len;
static int notify_fd = -1;
static int64_t every_ms;

/* A name that starts with "@" is one of the abstract sockets. */
static void take_address(const char *name)
{
    const size_t len = strlen(name);
    if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof address.sun_path) return;
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, name, len);
    if (*name == '@') address.sun_path[0] = '\0';
    address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* Twice within the time after which the process counts as dead. */
static void take_watchdog(const char *usec, const char *pid)
{
    const int64_t time_us = usec ? strtoll(usec, NULL, 10) : 0;
    if (time_us > 0 && (!pid || strtoll(pid, NULL, 10) == getpid())) every_ms = time_us / 2000 > 0 ? time_us / 2000 : 1;
}

void tfy__notify_open(void)
{
    const char *name = getenv("NOTIFY_SOCKET");
    if (name) take_address(name);
    if (notify_fd >= 0) take_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void tfy__notify(const char *state)
{
    if (notify_fd < 0) return;
    (void)!sendto(notify_fd, state, strlen(state), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
                  address_len);
}

int64_t tfy__notify_every_ms(void)
{
    return every_ms;
}

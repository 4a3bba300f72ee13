/* proc.c: see proc.h. No function here allocates memory, and none uses stdio: /proc is read with getdents64 and read. */
#include "effects/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_BYTES 48 /* "/proc/", a number, '/', a short name */
#define DIR_BYTES  8192
#define STAT_BYTES 512

/* "/proc/PID/NAME"; pid 0: "/proc". */
static const char *path_of(char *path, pid_t pid, const char *name)
{
    char digits[16];
    size_t at = sizeof digits;
    digits[--at] = 0;
    for (unsigned rest = (unsigned)pid; rest; rest /= 10) digits[--at] = (char)('0' + rest % 10);
    strcpy(path, "/proc");
    if (pid) strcat(strcat(strcat(strcat(path, "/"), digits + at), "/"), name);
    return path;
}

size_t tfy__proc_read(pid_t pid, const char *name, char *room, size_t cap)
{
    char path[PATH_BYTES];
    size_t len = 0;
    const int fd = open(path_of(path, pid, name), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    for (ssize_t n; len < cap && (n = read(fd, room + len, cap - len)) > 0;) len += (size_t)n;
    close(fd);
    return len;
}

int tfy__proc_open_dir(pid_t pid, const char *name)
{
    char path[PATH_BYTES];
    return open(path_of(path, pid, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool tfy__proc_each(int dir, bool (*visit)(int dir, const char *name, void *arg), void *arg)
{
    _Alignas(struct dirent64) char room[DIR_BYTES];
    for (ssize_t len; (len = getdents64(dir, room, sizeof room)) > 0;) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const struct dirent64 *)(room + at);
            at += entry->d_reclen;
            if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
            if (!visit(dir, entry->d_name, arg)) return false;
        }
    }
    return true;
}

static pid_t parent_of(pid_t pid)
{
    char stat[STAT_BYTES];
    const size_t len = tfy__proc_read(pid, "stat", stat, sizeof stat - 1);
    stat[len] = 0;
    const char *end = strrchr(stat, ')'); /* the name before it may contain anything */
    return end && end[1] && end[2] && end[3] ? atoi(end + 4) : 0;
}

bool tfy__proc_descends(pid_t pid, void *arg)
{
    const pid_t ancestor = *(const pid_t *)arg;
    while (pid > 1 && (pid = parent_of(pid)) != ancestor) continue;
    return pid == ancestor;
}

bool tfy__proc_is_child(pid_t pid, void *arg)
{
    return parent_of(pid) == *(const pid_t *)arg;
}

/* ---- signals ---- */

typedef struct Hunt {
    const int *signals; /* up to a 0 */
    TfyProcTest *test;
    void *arg;
    uint32_t found;
} Hunt;

static bool hunt_one(int dir, const char *name, void *arg)
{
    Hunt *hunt = arg;
    const pid_t pid = atoi(name);
    (void)dir;
    if (!hunt->test(pid, hunt->arg)) return true;
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        /* no descriptor is left: the process exists, and gets its signal the next time */
        hunt->found += errno != ESRCH;
        return true;
    }
    if (hunt->test(pid, hunt->arg)) {
        hunt->found++;
        for (const int *number = hunt->signals; *number; number++) syscall(SYS_pidfd_send_signal, fd, *number, NULL, 0);
    }
    close(fd);
    return true;
}

uint32_t tfy__proc_signal(const int *signals, TfyProcTest *test, void *arg)
{
    Hunt hunt = {.signals = signals, .test = test, .arg = arg};
    const int dir = tfy__proc_open_dir(0, "");
    if (dir < 0) return 0;
    tfy__proc_each(dir, hunt_one, &hunt);
    close(dir);
    return hunt.found;
}

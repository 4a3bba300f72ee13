/* system.c: what the runtime asks of the operating system, answered by the simulation. The program is linked with --wrap for each of these, so
 * that calls of libtfy.a come here; names below /sim/ are the simulated disk's, everything else goes on to the real system. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models.h"
#include "net.h"

enum { FDS = 64 };
static struct {
    int fd;
    bool directory;
    char name[64]; /* of a file of the simulated disk; "": none */
} fds[FDS];
static int fd_count;

int __real_open64(const char *name, int flags, ...);
int __real_stat64(const char *name, struct stat *status);
int __real_fstatat64(int directory, const char *name, struct stat *status, int flags);
int __real_access(const char *name, int mode);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *name);
int __real_mkdir(const char *name, mode_t mode);
int __real_fsync(int fd);
int __real_close(int fd);
ssize_t __real_pread64(int fd, void *to, size_t len, off_t at);
ssize_t __real_pwrite64(int fd, const void *from, size_t len, off_t at);

int __wrap_open64(const char *name, int flags, ...);
int __wrap_stat64(const char *name, struct stat *status);
int __wrap_fstatat64(int directory, const char *name, struct stat *status, int flags);
int __wrap_access(const char *name, int mode);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *name);
int __wrap_mkdir(const char *name, mode_t mode);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
ssize_t __wrap_pread64(int fd, void *to, size_t len, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t len, off_t at);
int __wrap_getpid(void);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags);

static bool is_ours(const char *name)
{
    return strncmp(name, "/sim", 4) == 0 && (!name[4] || name[4] == '/');
}

static int remember(int fd, bool directory, const char *name)
{
    if (fd >= 0 && fd_count < FDS) {
        fds[fd_count].fd = fd;
        fds[fd_count].directory = directory;
        snprintf(fds[fd_count++].name, sizeof fds->name, "%s", name);
    }
    return fd;
}

/* The simulated file that a descriptor stands for, or NULL. */
static const char *name_of(int fd)
{
    for (int i = 0; i < fd_count; i++)
        if (fds[i].fd == fd && fds[i].name[0]) return fds[i].name;
    return NULL;
}

void sim_system_die(void)
{
    while (fd_count > 0) __real_close(fds[--fd_count].fd);
}

/* A descriptor stands for the lock file with the witness, the new database before SQLite opens it, or the directory. Locks are the descriptor's
 * own, and only one process is alive at a time. */
static int open_ours(const char *name, int flags)
{
    bool directory = strcmp(name, "/sim") == 0;
    if (!directory && !sim_disk_exists(name)) {
        if (!(flags & O_CREAT)) {
            errno = ENOENT;
            return -1;
        }
        sim_disk_create(name);
    } else if ((flags & O_CREAT) && (flags & O_EXCL)) {
        errno = EEXIST;
        return -1;
    }
    return remember(memfd_create("sim", MFD_CLOEXEC), directory, directory ? "" : name);
}

int __wrap_open64(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (strcmp(name, SIM_MODELS) == 0) return remember(sim_models_file(), false, "");
    if (is_ours(name)) return open_ours(name, flags);
    if (strcmp(name, "/proc/self/comm") == 0) { /* differs from build to build */
        errno = ENOENT;
        return -1;
    }
    return remember(__real_open64(name, flags, mode), false, "");
}

int __wrap_stat64(const char *name, struct stat *status)
{
    if (!is_ours(name)) return __real_stat64(name, status);
    if (!sim_disk_exists(name)) {
        errno = ENOENT;
        return -1;
    }
    *status = (struct stat){.st_mode = S_IFREG | 0600, .st_dev = 1, .st_ino = 1, .st_size = sim_disk_size(name)};
    return 0;
}

int __wrap_fstatat64(int directory, const char *name, struct stat *status, int flags)
{
    char path[72];
    for (int i = 0; i < fd_count; i++)
        if (fds[i].fd == directory && fds[i].directory) {
            snprintf(path, sizeof path, "/sim/%s", name);
            return __wrap_stat64(path, status);
        }
    return __real_fstatat64(directory, name, status, flags);
}

int __wrap_access(const char *name, int mode)
{
    if (!is_ours(name)) return __real_access(name, mode);
    if (sim_disk_exists(name)) return 0;
    errno = ENOENT;
    return -1;
}

int __wrap_rename(const char *from, const char *to)
{
    if (!is_ours(from)) return __real_rename(from, to);
    if (sim_disk_rename(from, to)) return 0;
    errno = ENOENT;
    return -1;
}

int __wrap_unlink(const char *name)
{
    if (!is_ours(name)) return __real_unlink(name);
    if (sim_net_unlink(name) || sim_disk_unlink(name)) return 0;
    errno = ENOENT;
    return -1;
}

int __wrap_mkdir(const char *name, mode_t mode)
{
    return is_ours(name) ? 0 : __real_mkdir(name, mode);
}

int __wrap_fsync(int fd)
{
    for (int i = 0; i < fd_count; i++)
        if (fds[i].fd == fd && fds[i].directory) {
            sim_disk_sync_names();
            return 0;
        }
    const char *name = name_of(fd);
    if (!name) return __real_fsync(fd);
    if (sim_disk_sync(name)) return 0;
    errno = EIO;
    return -1;
}

ssize_t __wrap_pread64(int fd, void *to, size_t len, off_t at)
{
    const char *name = name_of(fd);
    return name ? sim_disk_read(name, to, (int)len, at) : __real_pread64(fd, to, len, at);
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t len, off_t at)
{
    const char *name = name_of(fd);
    if (!name) return __real_pwrite64(fd, from, len, at);
    if (sim_disk_write(name, from, (int)len, at)) return (ssize_t)len;
    errno = ENOSPC;
    return -1;
}

int __wrap_close(int fd)
{
    if (sim_socket_close(fd)) return 0;
    for (int i = 0; i < fd_count; i++)
        if (fds[i].fd == fd) {
            fds[i] = fds[--fd_count];
            break;
        }
    return __real_close(fd);
}

int __wrap_getpid(void)
{
    return 7;
}

ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags)
{
    for (size_t i = 0; i < len; i++) ((unsigned char *)bytes)[i] = (unsigned char)sim_next(&sim.disk_chance);
    return (ssize_t)len;
}

/* lock.c: the writer lock, as an open file description lock of fcntl. */
#include "wal/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "wal/store/store.h"

enum { LEFT_BEHIND_MS = 5000, LEFT_BEHIND_LOOKS = 200 };

void tfy__lock_owner(char *text, size_t size)
{
    char name[32] = "tfy";
    const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t got = read(fd, name, sizeof name - 1);
        if (got > 0) name[got] = '\0';
        name[strcspn(name, "\n")] = '\0';
        close(fd);
    }
    snprintf(text, size, "pid %ld (%s)", (long)getpid(), name);
}

/* Only the owner can use the directory: the log holds what models and tools said. */
static void make_directory(const char *path)
{
    char *directory = strdup(path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (slash && slash != directory) {
        *slash = '\0';
        mkdir(directory, 0700);
    }
    free(directory);
}

static void read_owner(int fd, char *owner, size_t size)
{
    const ssize_t got = pread(fd, owner, size - 1, 0);
    owner[got > 0 ? got : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
    if (!owner[0]) snprintf(owner, size, "another process");
}

/* A child that was just forked shares its parent's descriptors, and so the lock, until it closes them or calls exec,
 * even if the parent dies. */
static bool left_behind(const char *owner)
{
    long pid = 0;
    return sscanf(owner, "pid %ld", &pid) == 1 && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static int refuse_held(const char *db_path, const char *owner, char *error_text)
{
    return tfy__log_refuse(error_text, TFY_E_HELD, "%s is held by %s%s; wait until it exits, or stop it", db_path,
                           left_behind(owner) ? "a process left behind by " : "", owner);
}

/* False, with errno: another process keeps the lock. A process that outlives its parent by a moment is waited for. */
static bool take(int fd, char *owner, size_t size)
{
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    const struct timespec pause = {.tv_nsec = LEFT_BEHIND_MS * 1000000L / LEFT_BEHIND_LOOKS};
    for (int looks = 0; fcntl(fd, F_OFD_SETLK, &lock) != 0; looks++) {
        if (errno != EAGAIN && errno != EACCES) return false;
        read_owner(fd, owner, size);
        if (looks == LEFT_BEHIND_LOOKS || !left_behind(owner)) {
            errno = EAGAIN;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Writes a line, and zeros over the rest of a longer one; the next bytes of the file belong to the witness. */
static void write_owner(int fd)
{
    char owner[TFY_LOCK_OWNER_BYTES] = "";
    tfy__lock_owner(owner, sizeof owner - 1);
    strcat(owner, "\n");
    /* Only the message to a second writer depends on this text, so a failure here is no reason to stop. */
    if (pwrite(fd, owner, sizeof owner, 0) < 0) return;
}

bool tfy__lock_on_network(const char *db_path)
{
    static const uint32_t kinds[] = {0x6969 /* NFS */,
                                     0x517b /* SMB */,
                                     0xff534d42 /* CIFS */,
                                     0xfe534d42 /* SMB2 */,
                                     0x01021997 /* 9P */,
                                     0x65735546 /* FUSE */,
                                     0x5346414f /* AFS */,
                                     0x73757245 /* Coda */,
                                     0x00c36400 /* Ceph */,
                                     0x0bd00bd0 /* Lustre */,
                                     0x47504653 /* GPFS */};
    struct statfs system;
    char *directory = strdup(db_path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (slash) slash[slash == directory] = '\0';
    const bool known = statfs(db_path, &system) == 0 || (directory && statfs(slash ? directory : ".", &system) == 0);
    free(directory);
    for (size_t i = 0; known && i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)system.f_type == kinds[i]) return true;
    return false;
}

int tfy__lock_take(const char *db_path, char *error_text)
{
    char name[4096], owner[TFY_LOCK_OWNER_BYTES];
    if (snprintf(name, sizeof name, "%s-tfy", db_path) >= (int)sizeof name) {
        return tfy__log_refuse(error_text, TFY_E_INVALID, "the name of the database is too long");
    }
    make_directory(db_path);
    if (tfy__lock_on_network(db_path)) {
        return tfy__log_refuse(error_text, TFY_E_IO,
                               "%s is on a network file system (or FUSE), whose locks and syncs cannot be relied "
                               "on; name a file on a local disk with --db",
                               db_path);
    }
    const int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be opened (%s); check the directory", name,
                               strerror(errno));
    }
    if (take(fd, owner, sizeof owner)) {
        write_owner(fd);
        return fd;
    }
    int code;
    if (errno == EAGAIN) {
        code = refuse_held(db_path, owner, error_text);
    } else {
        code = tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be locked (%s); put the database on a local disk", name,
                               strerror(errno));
    }
    close(fd);
    return code;
}

bool tfy__lock_held(const char *db_path, char *owner, size_t size)
{
    char name[4096];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    if (snprintf(name, sizeof name, "%s-tfy", db_path) >= (int)sizeof name) return false;
    const int fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    const bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (held) read_owner(fd, owner, size);
    close(fd);
    return held;
}

void tfy__lock_drop(int fd)
{
    if (fd >= 0) close(fd);
}

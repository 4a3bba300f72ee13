/* health.c: see health.h.
 *
 * The layout of the -shm file is SQLite's (walformat.html, "The WAL-Index File Format"): at byte 16 the number of
 * valid frames of the -wal file, at 100 five read marks, each the number of frames that its readers see, at 123 to
 * 127 the locks that those readers share. */
#include "wal/keep/health.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "wal/store/lock.h"
#include "wal/store/store.h"

enum { SHM_FRAMES_AT = 16, SHM_MARKS_AT = 100, SHM_LOCKS_AT = 123, SHM_MARKS = 5 };

static int64_t size_beside(const char *path, const char *ending)
{
    char name[4096];
    struct stat status;
    if (snprintf(name, sizeof name, "%s%s", path, ending) >= (int)sizeof name || stat(name, &status) != 0) return 0;
    return status.st_size;
}

static void name_process(int64_t pid, char *name, size_t size)
{
    char file[64];
    snprintf(file, sizeof file, "/proc/%lld/comm", (long long)pid);
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, name, size - 1) : 0;
    name[got > 0 ? got : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (fd >= 0) close(fd);
}

/* The process that holds a lock on this byte; 0: none. */
static int64_t locked_by(int fd, int64_t at)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

static void find_reader(const char *path, TfyHealth *health)
{
    char name[4096];
    uint32_t frames = 0, marks[SHM_MARKS], oldest = UINT32_MAX;
    if (snprintf(name, sizeof name, "%s-shm", path) >= (int)sizeof name) return;
    const int fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    if (pread(fd, &frames, sizeof frames, SHM_FRAMES_AT) == sizeof frames &&
        pread(fd, marks, sizeof marks, SHM_MARKS_AT) == sizeof marks) {
        health->wal_frames = frames;
        for (int i = 0; i < SHM_MARKS; i++) {
            const int64_t pid = locked_by(fd, SHM_LOCKS_AT + i);
            if (!pid || marks[i] >= oldest) continue;
            oldest = marks[i];
            health->reader_pid = pid;
            health->reader_frames = frames > oldest ? frames - oldest : 0;
        }
    }
    close(fd);
    if (health->reader_pid) name_process(health->reader_pid, health->reader_name, sizeof health->reader_name);
}

int tfy__health(const char *path, TfyHealth *health)
{
    struct stat status;
    struct statvfs room;
    *health = (TfyHealth){0};
    if (stat(path, &status) != 0) return errno == ENOENT || errno == ENOTDIR ? TFY_E_ABSENT : TFY_E_IO;
    health->db_bytes = status.st_size;
    health->wal_bytes = size_beside(path, "-wal");
    health->open_to_others = (status.st_mode & 077) != 0;
    health->network = tfy__lock_on_network(path);
    if (statvfs(path, &room) == 0) {
        health->disk_free = (int64_t)room.f_bavail * (int64_t)room.f_frsize;
        health->disk_bytes = (int64_t)room.f_blocks * (int64_t)room.f_frsize;
    }
    health->held = tfy__lock_held(path, health->owner, sizeof health->owner);
    find_reader(path, health);
    return 0;
}

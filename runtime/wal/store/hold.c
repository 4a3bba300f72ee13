/* hold.c: see hold.h. */
#include "wal/store/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wal/store/lock.h"
#include "wal/store/store.h"

enum { LEFT_BEHIND_MS = 500, LEFT_BEHIND_LOOKS = 50 };
static const int64_t hold_byte = (int64_t)1 << 62; /* SQLite's locks are at 2^30 */

struct TfyHold {
    dev_t dev;
    ino_t ino;
    int fd;
    int users;
    bool written; /* one of them writes, so the lock is taken */
    TfyHold *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static TfyHold *holds;

static TfyHold *find(const struct stat *status)
{
    TfyHold *hold = holds;
    while (hold && (hold->dev != status->st_dev || hold->ino != status->st_ino)) hold = hold->next;
    return hold;
}

static int refuse_open(const char *path, char *error_text)
{
    return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be opened (%s); check its permissions", path,
                           strerror(errno));
}

/* Readers also open it for writing if they may, so that a writer of the same process can lock it. */
static int open_file(const char *path, bool writes)
{
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 || writes ? fd : open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* This process's hold on the file, or a new one. Opens nothing if there is one. */
static int share(const char *path, bool writes, TfyHold **result, char *error_text)
{
    struct stat status;
    *result = NULL;
    if (stat(path, &status) != 0) return refuse_open(path, error_text);
    TfyHold *hold = find(&status);
    if (!hold) {
        if (!(hold = calloc(1, sizeof *hold))) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for a lock");
        hold->fd = open_file(path, writes);
        if (hold->fd < 0 || fstat(hold->fd, &status) != 0) {
            const int code = refuse_open(path, error_text);
            if (hold->fd >= 0) close(hold->fd);
            free(hold);
            return code;
        }
        hold->dev = status.st_dev;
        hold->ino = status.st_ino;
        hold->next = holds;
        holds = hold;
    }
    hold->users++;
    *result = hold;
    return 0;
}

static void leave(TfyHold *hold)
{
    if (--hold->users) return;
    TfyHold **at = &holds;
    while (*at != hold) at = &(*at)->next;
    *at = hold->next;
    close(hold->fd);
    free(hold);
}

static int refuse_held(const char *path, const char *owner, char *error_text)
{
    return tfy__log_refuse(error_text, TFY_E_HELD,
                           "%s is held by %s, which has it under another name, or its file %s-tfy was removed; wait "
                           "until it exits, or stop it",
                           path, owner, path);
}

/* False, with errno: another process has the lock. The child of a process that has just died closes the lock file a
 * moment before this one. */
static bool lock_alone(int fd)
{
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = hold_byte, .l_len = 1};
    const struct timespec pause = {.tv_nsec = LEFT_BEHIND_MS * 1000000L / LEFT_BEHIND_LOOKS};
    for (int looks = 0; fcntl(fd, F_OFD_SETLK, &lock) != 0; looks++) {
        if ((errno != EAGAIN && errno != EACCES) || looks == LEFT_BEHIND_LOOKS) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static int lock_to_write(TfyHold *hold, const char *path, char *error_text)
{
    if (hold->written) return refuse_held(path, "this process", error_text);
    hold->written = lock_alone(hold->fd);
    if (hold->written) return 0;
    if (errno == EAGAIN || errno == EACCES) return refuse_held(path, "another process", error_text);
    return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be locked (%s); put the database on a local disk", path,
                           strerror(errno));
}

/* A writer whose lock file is not the one beside this name has another -wal file, too. It takes that lock first and
 * drops it last. */
static int check_name(const TfyHold *hold, const char *path, char *error_text)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = hold_byte, .l_len = 1};
    char owner[TFY_LOCK_OWNER_BYTES];
    if (hold->written || fcntl(hold->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
    return tfy__lock_held(path, owner, sizeof owner) ? 0 : refuse_held(path, "another process", error_text);
}

int tfy__hold_take(const char *path, bool writes, TfyHold **result, char *error_text)
{
    TfyHold *hold;
    pthread_mutex_lock(&mutex);
    int code = share(path, writes, &hold, error_text);
    if (!code) {
        code = writes ? lock_to_write(hold, path, error_text) : check_name(hold, path, error_text);
        if (code) leave(hold);
    }
    pthread_mutex_unlock(&mutex);
    *result = code ? NULL : hold;
    return code;
}

bool tfy__hold_is_deleted(const TfyHold *hold)
{
    struct stat status;
    return fstat(hold->fd, &status) == 0 && status.st_nlink == 0;
}

void tfy__hold_drop(TfyHold *hold, bool writes)
{
    const struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = hold_byte, .l_len = 1};
    if (!hold) return;
    pthread_mutex_lock(&mutex);
    if (writes) {
        hold->written = false;
        if (hold->users > 1) fcntl(hold->fd, F_OFD_SETLK, &none);
    }
    leave(hold);
    pthread_mutex_unlock(&mutex);
}

/* whole_file.c: see whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PENDING = 8, TRIES = 1000, ENDING_BYTES = 16 };
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { SIGNALS = sizeof signals / sizeof *signals };
/* -new: a database that is being created. */
static const char *const endings[] = {"",     "-wal",     "-shm",     "-journal",    "-tfy",
                                      "-new", "-new-wal", "-new-shm", "-new-journal"};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* ---- removal when the process ends ---- */

/* Files that are under way, for the signal handler. A file that does not fit here is removed all the same, but not on
 * a signal. */
static TfyWhole *_Atomic pending[PENDING];
static _Atomic pid_t owner; /* a forked child has the files too, but does not own them */

/* Uses only functions that a signal handler may call. */
static void remove_aside(const TfyWhole *file)
{
    char name[PATH_MAX + ENDING_BYTES];
    const size_t len = strlen(file->aside);
    memcpy(name, file->aside, len);
    for (int i = 0; i < (file->database ? ENDINGS : 1); i++) {
        strcpy(name + len, endings[i]);
        unlink(name);
    }
}

static void remove_all(void)
{
    if (getpid() != owner) return;
    for (int i = 0; i < PENDING; i++) {
        const TfyWhole *file = atomic_load(&pending[i]);
        if (file) remove_aside(file);
    }
}

static void on_signal(int number)
{
    remove_all();
    signal(number, SIG_DFL);
    raise(number); /* delivered when the handler returns */
}

/* A signal that is ignored or handled by the process stays as it is. */
static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;
    if (!owner) atexit(remove_all);
    owner = getpid();
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
}

/* No signal may arrive between the creation of a file and its entry among the pending ones. */
static void hold_signals(sigset_t *old)
{
    sigset_t held;
    sigemptyset(&held);
    for (int i = 0; i < SIGNALS; i++) sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, old);
}

static void remember(TfyWhole *file)
{
    for (int i = 0; i < PENDING; i++) {
        TfyWhole *none = NULL;
        if (atomic_compare_exchange_strong(&pending[i], &none, file)) return;
    }
}

static void forget(TfyWhole *file)
{
    for (int i = 0; i < PENDING; i++) {
        TfyWhole *known = file;
        if (atomic_compare_exchange_strong(&pending[i], &known, NULL)) break;
    }
    file->aside[0] = '\0';
}

/* ---- opening ---- */

/* Builds the next temporary name; -1: it is too long. */
static int name_aside(TfyWhole *file, const char *name)
{
    static _Atomic unsigned count;
    const int len = snprintf(file->aside, sizeof file->aside, "%s.%ld-%u.part", name, (long)getpid(), count++);
    if (len < (int)sizeof file->aside && snprintf(file->name, sizeof file->name, "%s", name) < (int)sizeof file->name)
        return 0;
    file->aside[0] = '\0';
    errno = ENAMETOOLONG;
    return -1;
}

/* Whether no file of that name exists: a killed process with the same number may have left one. False, with errno. */
static bool is_unused(const TfyWhole *file)
{
    char name[PATH_MAX + ENDING_BYTES];
    struct stat status;
    for (int i = 0; i < ENDINGS; i++) {
        snprintf(name, sizeof name, "%s%s", file->aside, endings[i]);
        if (lstat(name, &status) == 0) errno = EEXIST;
        if (errno != ENOENT) return false;
    }
    return true;
}

static int make(TfyWhole *file, const char *name, mode_t mode)
{
    int fd = -1;
    for (int tries = 0; fd < 0 && tries < TRIES; tries++) {
        if (name_aside(file, name) != 0) return -1;
        if (file->database)
            fd = is_unused(file) ? 0 : -1;
        else
            fd = open(file->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST) break;
    }
    return fd;
}

static int begin(TfyWhole *file, const char *name, mode_t mode)
{
    sigset_t old;
    hold_signals(&old);
    const int fd = make(file, name, mode);
    if (fd >= 0) {
        watch_signals();
        remember(file);
    } else {
        file->aside[0] = '\0';
    }
    const int reason = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    errno = reason;
    return fd;
}

int tfy__whole_open(TfyWhole *file, const char *name, mode_t mode)
{
    file->database = false;
    return begin(file, name, mode);
}

bool tfy__whole_open_database(TfyWhole *file, const char *name)
{
    file->database = true;
    return begin(file, name, 0) >= 0;
}

/* ---- finishing ---- */

static bool sync_path(const char *path, int flags)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    const int reason = errno;
    if (fd >= 0) close(fd);
    errno = reason;
    return synced;
}

static bool sync_directory_of(const char *name)
{
    char directory[PATH_MAX] = ".";
    const char *slash = strrchr(name, '/');
    if (slash) snprintf(directory, sizeof directory, "%.*s", slash == name ? 1 : (int)(slash - name), name);
    return sync_path(directory, O_DIRECTORY);
}

bool tfy__whole_commit(TfyWhole *file, TfyWholeEnd end)
{
    const unsigned how = end & TFY_WHOLE_OVER ? 0 : RENAME_NOREPLACE;
    if (!sync_path(file->aside, 0) || renameat2(AT_FDCWD, file->aside, AT_FDCWD, file->name, how) != 0) {
        tfy__whole_abandon(file);
        return false;
    }
    tfy__whole_abandon(file); /* removes the companions */
    return end & TFY_WHOLE_MORE || sync_directory_of(file->name);
}

void tfy__whole_abandon(TfyWhole *file)
{
    const int reason = errno;
    if (file->aside[0]) {
        remove_aside(file);
        forget(file);
    }
    errno = reason;
}

bool tfy__write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len) {
        const ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) at += n, len -= (size_t)n;
    }
    return true;
}

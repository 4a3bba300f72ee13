/* inject.c: a library to be loaded before all others (LD_PRELOAD). It makes the N-th call of one kind fail, or that and all after it.
 * With -DSANITIZED it is an object to be linked into a program that has clang's sanitizers, itself compiled without: their functions for memory
 * stand behind its own, so that what is lost on the way out of a fault is found.
 *
 *   FAULT=KIND:N[:ever]   KIND: malloc (calloc and realloc too), write, pwrite, sync (fsync and fdatasync), open; N counts from 1
 *   CLOCK=SECONDS[:MS]    the wall clock is so far ahead (or behind), from MS milliseconds after the start on
 *   FAULT=count:FILE      none; at its end the process writes how many calls of each kind it made, "KIND N" a line
 *
 * Only this process is meant: what it starts does not see the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 6 };
static const char *const names[KINDS] = {"malloc", "write", "pwrite", "sync", "open", "files"};
enum { MALLOC, WRITE, PWRITE, SYNC, OPEN, FILES }; /* FILES: there is no descriptor for what is opened or made */

static atomic_long calls[KINDS];
static int wanted = -1; /* a kind; -1: none */
static long at;
static bool ever, armed;
static char count_file[512];

#ifdef SANITIZED
#define REAL(name_) __interceptor_##name_
#else
#define REAL(name_) __libc_##name_
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *old, size_t size);

static long ahead_s, ahead_from_ms;

static long now_ms(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    const int code = (int)syscall(SYS_clock_gettime, id, now);
    if ((id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && ahead_s && now_ms() >= ahead_from_ms)
        now->tv_sec += ahead_s;
    return code;
}

/* True: this call has to fail. */
static bool fails(int kind, int reason)
{
    if (!armed) return false;
    const long call = atomic_fetch_add(&calls[kind], 1) + 1;
    if (kind != wanted || (ever ? call < at : call != at)) return false;
    errno = reason;
    return true;
}

static void write_counts(void)
{
    armed = false;
    FILE *file = fopen(count_file, "w");
    for (int i = 0; file && i < KINDS; i++) fprintf(file, "%s %ld\n", names[i], atomic_load(&calls[i]));
    if (file) fclose(file);
}

static void disarm(void)
{
    armed = false;
}

__attribute__((constructor)) static void arm(void)
{
    const char *text = getenv("FAULT"), *clock = getenv("CLOCK"), *colon = clock ? strchr(clock, ':') : NULL;
    if (clock) ahead_s = atol(clock);
    if (ahead_s) ahead_from_ms = now_ms() + (colon ? atol(colon + 1) : 0);
    unsetenv("CLOCK");
    unsetenv("LD_PRELOAD");
    if (!text) return;
    for (int i = 0; i < KINDS; i++) {
        const size_t len = strlen(names[i]);
        if (strncmp(text, names[i], len) != 0 || text[len] != ':') continue;
        wanted = i;
        at = atol(text + len + 1);
        ever = strstr(text, ":ever") != NULL;
    }
    if (strncmp(text, "count:", 6) == 0) {
        snprintf(count_file, sizeof count_file, "%s", text + 6);
        atexit(write_counts);
    }
    pthread_atfork(NULL, NULL, disarm);
    unsetenv("FAULT");
    armed = true;
}

/* ---- memory ---- */

void *malloc(size_t size)
{
    return fails(MALLOC, ENOMEM) ? NULL : REAL(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(MALLOC, ENOMEM) ? NULL : REAL(calloc)(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(MALLOC, ENOMEM) ? NULL : REAL(realloc)(old, size);
}

#ifdef SANITIZED
/* The sanitizer wants to know of each new thread where its stack is, and ends the process when glibc has no memory to tell it. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    int (*real)(pthread_t, pthread_attr_t *) =
        (int (*)(pthread_t, pthread_attr_t *))dlsym(RTLD_NEXT, "pthread_getattr_np");
    const bool was = armed;
    armed = false;
    const int code = real(thread, attr);
    armed = was;
    return code;
}
#endif

/* glibc's name service ends the process by an assertion or a signal when it finds no memory (nss_database.c, 2.36), and that is not ours to mend:
 * while it looks a user up nothing fails. */
struct passwd *getpwuid(uid_t uid)
{
    struct passwd *(*real)(uid_t) = (struct passwd * (*)(uid_t)) dlsym(RTLD_NEXT, "getpwuid");
    const bool was = armed;
    armed = false;
    struct passwd *user = real ? real(uid) : NULL;
    armed = was;
    return user;
}

/* ---- files ---- */

/* Whether a write there can fail at all: what is no file, pipe, socket or device is a counter that wakes somebody (eventfd). */
static bool leads_outside(int fd)
{
    struct stat status;
    return syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 && (status.st_mode & S_IFMT) != 0;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    return leads_outside(fd) && fails(WRITE, EIO) ? -1 : syscall(SYS_write, fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    return fails(PWRITE, EIO) ? -1 : syscall(SYS_pwrite64, fd, bytes, len, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t offset)
{
    return fails(PWRITE, EIO) ? -1 : syscall(SYS_pwrite64, fd, bytes, len, offset);
}

int fsync(int fd)
{
    return fails(SYNC, EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(SYNC, EIO) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

static int open_with(int dir, const char *path, int flags, va_list args)
{
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    return fails(OPEN, EIO) || fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define OPENS(dir_)                                                                                                    \
    va_list args;                                                                                                      \
    va_start(args, flags);                                                                                             \
    const int fd = open_with(dir_, path, flags, args);                                                                 \
    va_end(args);                                                                                                      \
    return fd

int open(const char *path, int flags, ...)
{
    OPENS(AT_FDCWD);
}

int open64(const char *path, int flags, ...)
{
    OPENS(AT_FDCWD);
}

int openat(int dir, const char *path, int flags, ...)
{
    OPENS(dir);
}

int openat64(int dir, const char *path, int flags, ...)
{
    OPENS(dir);
}

int pipe2(int ends[2], int flags)
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int eventfd(unsigned count, int flags)
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, ends);
}

int socket(int domain, int type, int protocol)
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_accept4, fd, address, len, flags);
}

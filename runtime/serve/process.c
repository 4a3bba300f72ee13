/* process.c: see process.h. */
#include "serve/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own_path.h"
#include "serve/clock.h"

enum {
    MEMORY_MOST = 1 << 30,
    OUTPUT_MOST = 16 << 20,
    ERROR_MOST = 64 << 10,
};

/* The address sanitizer maps more than a limit of any kind leaves: with it none is set. */
#if defined(__SANITIZE_ADDRESS__)
static const rlim_t memory_most = RLIM_INFINITY;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static const rlim_t memory_most = RLIM_INFINITY;
#else
static const rlim_t memory_most = MEMORY_MOST;
#endif
#else
static const rlim_t memory_most = MEMORY_MOST;
#endif

/* ---- starting ---- */

static void limit(int resource, rlim_t most)
{
    const struct rlimit limit = {most, most};
    setrlimit(resource, &limit);
}

/* After fork, with the memory of a process of many threads: system calls alone. */
static void become(const TfyProcess *process, const char *path, const int out[2], const int err[2])
{
    const int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nothing, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    limit(RLIMIT_AS, memory_most);
    limit(RLIMIT_CORE, 0);
    execv(path, (char *const *)process->words);
    _exit(127);
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Returns the process, or -1. */
static pid_t start(const TfyProcess *process, int *out_fd, int *err_fd)
{
    char path[PATH_MAX];
    int out[2], err[2];
    if (!tfy__path_beside("tfy", path) || pipe2(out, O_CLOEXEC) < 0) return -1;
    if (pipe2(err, O_CLOEXEC) < 0) {
        close_both(out);
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) become(process, path, out, err);
    if (pid < 0) {
        close_both(out);
        close_both(err);
        return -1;
    }
    setpgid(pid, pid);
    close(out[1]);
    close(err[1]);
    *out_fd = out[0];
    *err_fd = err[0];
    return pid;
}

/* ---- reading ---- */

/* Takes what is there. False: the other end is closed. What is beyond `most` is read and forgotten. */
static bool drain(int fd, TfyBuffer *out, size_t most)
{
    char bytes[16384];
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    const size_t room = most > out->len ? most - out->len : 0;
    tfy__buffer_add(out, bytes, (size_t)got < room ? (size_t)got : room);
    return got > 0;
}

/* Reads until both ends are closed. False: it took too long. */
static bool read_all(TfyProcess *process, int out_fd, int err_fd)
{
    struct pollfd fds[2] = {{out_fd, POLLIN, 0}, {err_fd, POLLIN, 0}};
    const int64_t until = tfy__monotonic_ms() + process->deadline_ms;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        const int64_t left = until - tfy__monotonic_ms();
        if (left <= 0) return false;
        if (poll(fds, 2, (int)left) < 0 && errno != EINTR) return false;
        if (fds[0].revents && !drain(out_fd, &process->out, OUTPUT_MOST)) fds[0].fd = -1;
        if (fds[1].revents && !drain(err_fd, &process->err, ERROR_MOST)) fds[1].fd = -1;
        fds[0].revents = fds[1].revents = 0;
    }
    return true;
}

static bool tell(const TfyProcess *process, pid_t pid)
{
    return !process->born || process->born(process->arg, pid);
}

TfyProcessEnd tfy__process_run(TfyProcess *process, int *status)
{
    int out_fd, err_fd, how = 0;
    const pid_t pid = start(process, &out_fd, &err_fd);
    *status = -1;
    if (pid < 0) return TFY_PROCESS_NONE;
    const bool in_time = tell(process, pid) && read_all(process, out_fd, err_fd);
    (void)tell(process, -1);
    kill(-pid, SIGKILL); /* it has ended, but for what it left behind; or it is late */
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;
    close(out_fd);
    close(err_fd);
    if (WIFEXITED(how)) *status = WEXITSTATUS(how);
    return in_time ? TFY_PROCESS_ENDED : TFY_PROCESS_LATE;
}

bool tfy__process_is_cut(const TfyProcess *process)
{
    return process->out.len >= OUTPUT_MOST;
}

void tfy__process_free(TfyProcess *process)
{
    tfy__buffer_free(&process->out);
    tfy__buffer_free(&process->err);
}

/* namespaces.c: stage 1, the process outside, and the first process inside. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/cell.h"

static void write_file(const Cell *cell, const char *path, const char *text)
{
    const int file = (int)cell_must(cell, open(path, O_WRONLY | O_CLOEXEC));
    cell_must(cell, write(file, text, strlen(text)));
    cell_must(cell, close(file));
}

/* The own user and group, each as itself: files keep their owners, and no other user exists inside. */
static void map_user(const Cell *cell)
{
    char text[64];
    write_file(cell, "/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1", cell->uid, cell->uid);
    write_file(cell, "/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1", cell->gid, cell->gid);
    write_file(cell, "/proc/self/gid_map", text);
}

static void raise_loopback(const Cell *cell)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    const int link = (int)cell_must(cell, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    cell_must(cell, ioctl(link, SIOCSIFFLAGS, &request));
    cell_must(cell, close(link));
}

/* Ends this process as the tool ended: by the same exit status or the same signal, without a core of its own. */
__attribute__((noreturn)) static void exit_as(int status)
{
    const struct rlimit none = {0, 0};
    sigset_t all;
    if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
    sigfillset(&all);
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(WTERMSIG(status));
    _exit(128 + WTERMSIG(status));
}

/* What waits for the end of a tool's outputs must not wait for us. */
static void leave_streams(void)
{
    for (int stream = 0; stream < 3; stream++) close(stream);
}

/* The process outside. Its signals stay blocked: whoever ends the tool signals the tool too. If this process is
 * killed, the first process inside is killed with it, and so is everything in there. */
__attribute__((noreturn)) static void wait_outside(const Cell *cell, pid_t first, int status_pipe)
{
    int status;
    ssize_t len;
    cell_must(cell, close(cell->socket));
    leave_streams();
    while ((len = read(status_pipe, &status, sizeof status)) < 0 && errno == EINTR) continue;
    if (len == sizeof status) exit_as(status); /* what the tool left may live on behind us */
    while (waitpid(first, &status, 0) < 0 && errno == EINTR) continue;
    exit_as(status);
}

void cell_enter_namespaces(Cell *cell)
{
    const bool host_network = cell->policy.head.flags & TFY_CELL_HOST_NETWORK;
    const int own = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    int pipe_ends[2];
    sigset_t all;
    cell->stage = TFY_CELL_NAMESPACES;
    cell_must(cell, unshare(own | (host_network ? 0 : CLONE_NEWNET) | (cell->uid ? CLONE_NEWUSER : 0)));
    if (cell->uid) map_user(cell);
    cell_must(cell, pipe2(pipe_ends, O_CLOEXEC));
    sigfillset(&all);
    cell_must(cell, sigprocmask(SIG_BLOCK, &all, NULL));
    const pid_t first = (pid_t)cell_must(cell, fork());
    if (first) {
        if (close(pipe_ends[1]) < 0) _exit(TFY_CELL_FAILED);
        wait_outside(cell, first, pipe_ends[0]);
    }
    cell->status = pipe_ends[1];
    cell_must(cell, prctl(PR_SET_PDEATHSIG, SIGKILL));
    cell_must(cell, close(pipe_ends[0]));
    /* Was it killed before that? Then nobody reads the pipe. */
    struct pollfd outside = {.fd = cell->status, .events = 0};
    if (cell_must(cell, poll(&outside, 1, 0))) cell_stop(cell, ESRCH);
    if (!host_network) raise_loopback(cell);
}

/* ---- starting ---- */

__attribute__((noreturn)) static void become_tool(Cell *cell)
{
    int error = ENOENT;
    for (char **path = cell->candidates; path < cell->argv; path++) {
        char *const candidate = *path;
        execve(candidate, cell->argv, environ);
        if (errno == ENOENT || errno == ENOTDIR) continue; /* not here: the next directory of the PATH */
        if (errno != EACCES) cell_stop(cell, errno);
        error = EACCES; /* more specific than "not found", unless a later directory has one that runs */
    }
    cell_stop(cell, error);
}

/* The first process inside: reports the tool's status, and stays while something that the tool left still runs. */
__attribute__((noreturn)) static void wait_inside(const Cell *cell, pid_t tool)
{
    const bool keep = cell->policy.head.flags & TFY_CELL_KEEP_RUNNING;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
        if (pid != tool) continue;
        if (keep) prctl(PR_SET_PDEATHSIG, 0); /* the process outside exits now, and this one may live on */
        if (write(cell->status, &status, sizeof status) != sizeof status || !keep) _exit(0);
        close(cell->status);
    }
    _exit(0);
}

void cell_start(Cell *cell)
{
    const bool full = cell->policy.head.level == TFY_CELL_FULL;
    sigset_t none;
    cell->stage = TFY_CELL_START;
    cell->path = 0;
    if (!*cell->argv) _exit(0); /* a probe */
    if (!full) become_tool(cell);
    cell_must(cell, prctl(PR_SET_DUMPABLE, 0)); /* until the tool's execve: no tool looks into its first process */
    const pid_t tool = (pid_t)cell_must(cell, fork());
    if (!tool) {
        sigemptyset(&none);
        cell_must(cell, sigprocmask(SIG_SETMASK, &none, NULL));
        become_tool(cell);
    }
    close(cell->socket);
    leave_streams();
    wait_inside(cell, tool);
}

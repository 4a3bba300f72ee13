/* namespaces.c: stage 1, the process outside, and the first process inside. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cell/cell.h"
#include "cell/system.h"

/* Bytes of a set of signals, as the kernel has it. */
enum { SIGNALS = sizeof(uint64_t) };

static const uint64_t all_signals = ~UINT64_C(0);

/* ---- the user ---- */

static void write_file(const Cell *cell, const char *path, const char *text, size_t len)
{
    const int file = (int)cell_must(cell, CALL3(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC));
    cell_must(cell, CALL3(write, file, text, len));
    cell_must(cell, CALL1(close, file));
}

static void map_itself(const Cell *cell, const char *path, uint64_t id)
{
    CellText text;
    cell_text_init(&text);
    cell_text_number(&text, id);
    cell_text_add(&text, " ", 1);
    cell_text_number(&text, id);
    cell_text_add(&text, " 1", 2);
    write_file(cell, path, text.at, text.len);
}

/* The own user and group, each as itself: files keep their owners, and no other user exists inside. */
static void map_user(const Cell *cell)
{
    write_file(cell, "/proc/self/setgroups", "deny", 4);
    map_itself(cell, "/proc/self/uid_map", cell->uid);
    map_itself(cell, "/proc/self/gid_map", cell->gid);
}

/* ---- the process outside ---- */

static void raise_loopback(const Cell *cell)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    const int link = (int)cell_must(cell, CALL3(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    cell_must(cell, CALL3(ioctl, link, SIOCSIFFLAGS, &request));
    cell_must(cell, CALL1(close, link));
}

/* Says to the first process that one more thing is done. If nobody is there to hear it, it answered already. */
static void say_done(const Cell *cell, int first)
{
    const long error = CALL6(sendto, first, "", 1, MSG_NOSIGNAL, NULL, 0);
    if (error != -EPIPE) cell_must(cell, error);
}

/* First the namespace, in which the tool may be built, then what is in it, without which it must not start. */
static void make_network(const Cell *cell, int first)
{
    cell_must(cell, CALL1(unshare, CLONE_NEWNET));
    say_done(cell, first);
    raise_loopback(cell);
    if (cell->policy.head.flags & TFY_CELL_LISTENER) cell_hand_out_listener(cell);
    say_done(cell, first);
}

/* Ends this process as the tool ended: by the same exit status or the same signal, without a core of its own. */
__attribute__((noreturn)) static void exit_as(int status)
{
    static const uint64_t standard_action[4]; /* flags, restorer and mask: none */
    const struct rlimit none = {0, 0};
    if (!WIFSIGNALED(status)) cell_exit(WEXITSTATUS(status));
    CALL2(prctl, PR_SET_DUMPABLE, 0);
    CALL4(prlimit64, 0, RLIMIT_CORE, &none, NULL);
    CALL4(rt_sigaction, WTERMSIG(status), standard_action, NULL, SIGNALS);
    CALL4(rt_sigprocmask, SIG_UNBLOCK, &all_signals, NULL, SIGNALS);
    CALL2(kill, CALL1(getpid, 0), WTERMSIG(status));
    cell_exit(128 + WTERMSIG(status));
}

/* What waits for the end of a tool's outputs must not wait for us. */
static void leave_streams(void)
{
    for (int stream = 0; stream < 3; stream++) CALL1(close, stream);
}

/* The process outside. Its signals stay blocked: whoever ends the tool signals the tool too. If this process is
 * killed, the first process inside is killed with it, and so is everything in there. */
__attribute__((noreturn)) static void wait_outside(const Cell *cell, long first, int inside)
{
    int status;
    long len;
    if (!(cell->policy.head.flags & TFY_CELL_HOST_NETWORK)) make_network(cell, inside);
    cell_must(cell, CALL1(close, cell->socket));
    leave_streams();
    while ((len = CALL3(read, inside, &status, sizeof status)) == -EINTR) continue;
    if (len == sizeof status) exit_as(status); /* what the tool left may live on behind us */
    while (CALL4(wait4, first, &status, 0, NULL) == -EINTR) continue;
    exit_as(status);
}

/* ---- the first process inside ---- */

static long start_first(const Cell *cell)
{
    return cell_must(cell, CALL5(clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL));
}

void cell_enter_namespaces(Cell *cell)
{
    int ends[2];
    cell->stage = TFY_CELL_NAMESPACES;
    if (cell->uid) {
        cell_must(cell, CALL1(unshare, CLONE_NEWUSER));
        map_user(cell);
    }
    cell->outside_pid = (int)cell_must(cell, CALL2(pidfd_open, CALL1(getpid, 0), 0));
    cell_must(cell, CALL4(socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    cell_must(cell, CALL4(rt_sigprocmask, SIG_BLOCK, &all_signals, NULL, SIGNALS));
    const long first = start_first(cell);
    if (first) {
        cell_must(cell, CALL1(close, ends[1]));
        wait_outside(cell, first, ends[0]);
    }
    cell_must(cell, CALL2(prctl, PR_SET_PDEATHSIG, SIGKILL));
    cell_must(cell, CALL1(close, ends[0]));
    /* Was it killed before that? Then nobody has the other end. */
    struct pollfd other = {.fd = ends[1], .events = 0};
    const struct timespec at_once = {0};
    if (cell_must(cell, CALL5(ppoll, &other, 1, &at_once, NULL, SIGNALS))) cell_stop(cell, ESRCH);
    cell_must(cell, CALL1(unshare, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS));
    cell->outside = ends[1];
}

/* Waits until the process outside has done one more thing; if it could not, it said so to the runtime and ends us. */
static void await(const Cell *cell)
{
    char byte;
    if (cell_must(cell, CALL3(read, cell->outside, &byte, 1)) != 1) cell_stop(cell, ESRCH);
}

void cell_join_network(Cell *cell)
{
    cell->stage = TFY_CELL_NAMESPACES;
    if (!(cell->policy.head.flags & TFY_CELL_HOST_NETWORK)) {
        await(cell);
        cell_must(cell, CALL2(setns, cell->outside_pid, CLONE_NEWNET));
    }
    cell_must(cell, CALL1(close, cell->outside_pid));
}

/* ---- starting ---- */

__attribute__((noreturn)) static void become_tool(const Cell *cell)
{
    long error = -ENOENT;
    for (char **path = cell->candidates; path < cell->argv; path++) {
        const long said = CALL3(execve, *path, cell->argv, cell_environment);
        if (said == -ENOENT || said == -ENOTDIR) continue; /* not here: the next directory of the PATH */
        if (said != -EACCES) cell_stop(cell, -said);
        error = said; /* more specific than "not found", unless a later directory has one that runs */
    }
    cell_stop(cell, -error);
}

/* Borrows the memory of the first process until it executes the tool. */
static long start_tool(const Cell *cell)
{
    static const uint64_t none;
    const long tool = cell_vfork();
    if (tool) return cell_must(cell, tool);
    cell_must(cell, CALL4(rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGNALS));
    become_tool(cell);
}

/* The first process inside: reports the tool's status, and stays while something that the tool left still runs. */
__attribute__((noreturn)) static void wait_inside(const Cell *cell, long tool)
{
    const bool keep = cell->policy.head.flags & TFY_CELL_KEEP_RUNNING;
    int status;
    long pid;
    while ((pid = CALL4(wait4, -1, &status, 0, NULL)) > 0 || pid == -EINTR) {
        if (pid != tool) continue;
        if (keep) CALL2(prctl, PR_SET_PDEATHSIG, 0); /* the process outside exits now, and this one may live on */
        if (CALL3(write, cell->outside, &status, sizeof status) != sizeof status || !keep) cell_exit(0);
        CALL1(close, cell->outside);
    }
    cell_exit(0);
}

void cell_start(Cell *cell)
{
    const bool full = cell->policy.head.level == TFY_CELL_FULL;
    if (full && !(cell->policy.head.flags & TFY_CELL_HOST_NETWORK)) await(cell);
    cell->stage = TFY_CELL_START;
    if (!*cell->argv) cell_exit(0); /* a probe */
    if (!full) become_tool(cell);
    cell_must(cell,
              CALL2(prctl, PR_SET_DUMPABLE, 0)); /* until the tool's execve: no tool looks into its first process */
    const long tool = start_tool(cell);
    CALL1(close, cell->socket);
    leave_streams();
    wait_inside(cell, tool);
}

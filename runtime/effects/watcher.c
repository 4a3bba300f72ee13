/* watcher.c: the process that starts stubs, tells them when to end, and leaves nothing of them behind.
 *
 * Everything below `watch` runs in the forked helper: system calls and memory of its own only. It cannot report to
 * people; errors go back as errno values in reports. Blocking on the socket is allowed here: the runtime always
 * drains it. */
#include "effects/watcher.h"
#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/lease.h"
#include "effects/former.h"
#include "effects/proc.h"
#include "effects/stub.h"

#define CHILDREN_MAX 4096
#define LOCK_WAIT_MS 1000 /* how long the watcher of an earlier owner may take to exit */
/* stubs that are kept for the next tool when theirs has gone, since a fork costs as much as a small tool */
#define KEPT_MAX 16
/* how often the orphans of a killed stub are killed: a dying process may have had children */
#define ORPHANS_MS 5

/* Where the watcher has what it keeps of the runtime's descriptors; 0 to 2 are /dev/null. With a lease there are also a
 * pidfd of the runtime, and where the release is told, if that is wanted. */
enum { WATCHER_FD = 3, MARK_FD, RUNTIME_FD, TELL_FD, BEHIND_FD };

/* Descriptors in their order above; -1: there is none. */
enum { KEPT_FDS = BEHIND_FD - WATCHER_FD };

/* A stub that has not exited. */
typedef struct Child {
    pid_t pid;   /* 0: a free place */
    uint32_t id; /* the runtime's number of its tool; 0: it waits for one */
    /* where a kept stub reports that its tool has gone, and receives the next one; -1: it exits with its tool */
    int socket;
} Child;

typedef struct Watcher {
    int socket;  /* to the runtime */
    int signals; /* signalfd for SIGCHLD */
    int lock_fd; /* the lock file; -1: there is none */
    int error;   /* why nothing can be started (no lock, no timer), or 0 */
    bool bereft; /* a stub was killed: the outcome of its tool is unknown */
    int runtime; /* a pidfd; -1: there is no lease */
    int tell;    /* where the release is told; -1: nowhere */
    pid_t self;
    Child *children;         /* CHILDREN_MAX places … */
    _Atomic uint8_t *orders; /* … and the byte of each that its stub reads, in memory that both see */
    uint32_t used;           /* places ever used; all above are free */
    uint32_t kept;           /* places with a socket */
    TfyLeaseTimer timer;     /* its own end */
} Watcher;

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* ---- the table and the reports ---- */

/* The stub of a tool; id 0: a stub that waits for a tool. */
static Child *find_child(Watcher *watcher, uint32_t id)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        if (watcher->children[i].pid && watcher->children[i].id == id) return &watcher->children[i];
    }
    return NULL;
}

static Child *free_place(Watcher *watcher)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        if (!watcher->children[i].pid) return &watcher->children[i];
    }
    return watcher->used < CHILDREN_MAX ? &watcher->children[watcher->used++] : NULL;
}

static void report(Watcher *watcher, uint32_t kind, uint32_t id, int value)
{
    TfyWatcherReport message = {.kind = kind, .id = id, .value = value};
    send(watcher->socket, &message, sizeof message, MSG_NOSIGNAL); /* the poll notices a dead runtime */
}

/* Nothing is left of a stub's tool. */
static void note_gone(Watcher *watcher, Child *child)
{
    if (child->id) report(watcher, TFY_W_GONE, child->id, 0);
    child->id = 0;
}

/* A normal exit of a stub also reports that nothing of its tool is left. */
static void note_end(Watcher *watcher, pid_t pid, int status)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        Child *child = &watcher->children[i];
        if (child->pid != pid) continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            note_gone(watcher, child);
        else
            watcher->bereft = true;
        if (child->socket >= 0) close(child->socket);
        watcher->kept -= child->socket >= 0;
        *child = (Child){.pid = 0};
        return;
    }
}

/* Reaps all that exited, including orphans of a killed stub. False: there is no child at all. */
static bool reap(Watcher *watcher)
{
    struct signalfd_siginfo info;
    while (read(watcher->signals, &info, sizeof info) > 0) {}
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) note_end(watcher, pid, status);
    return pid == 0;
}

/* ---- requests ---- */

static bool runtime_lives(Watcher *watcher)
{
    struct pollfd socket = {.fd = watcher->socket, .events = 0};
    return poll(&socket, 1, 0) >= 0 && !(socket.revents & (POLLHUP | POLLERR));
}

/* In a new stub: closes the sockets of the others, so that they see the watcher's death. */
static void close_sockets(const Watcher *watcher)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        if (watcher->children[i].pid && watcher->children[i].socket >= 0) close(watcher->children[i].socket);
    }
}

static _Atomic uint8_t *order_of(Watcher *watcher, const Child *child)
{
    return &watcher->orders[child - watcher->children];
}

/* Returns 0 or an errno value. */
static int fork_stub(Watcher *watcher, const TfyWatcherRequest *request, const int *fds, Child *child)
{
    int pair[2] = {-1, -1};
    if (watcher->kept < KEPT_MAX && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return errno;
    const TfyStub stub = {.socket = watcher->socket,
                          .work = pair[1],
                          .mark_file = MARK_FD,
                          .watcher = watcher->self,
                          .order = order_of(watcher, child)};
    atomic_store(order_of(watcher, child), TFY_STUB_GO_ON);
    const pid_t pid = _Fork();
    if (pid == 0) {
        close_sockets(watcher);
        if (pair[0] >= 0) close(pair[0]);
        tfy__stub_run(&stub, request, fds);
    }
    const int error = pid < 0 ? errno : 0;
    if (pair[1] >= 0) close(pair[1]);
    if (error && pair[0] >= 0) close(pair[0]);
    if (error) return error;
    watcher->kept += pair[0] >= 0;
    *child = (Child){.pid = pid, .id = request->id, .socket = pair[0]};
    return 0;
}

/* Returns 0 or an errno value. */
static int start_stub(Watcher *watcher, const TfyWatcherRequest *request, const int *fds)
{
    Child *idle = find_child(watcher, 0), *child;
    if (idle) {
        atomic_store(order_of(watcher, idle), TFY_STUB_GO_ON);
        idle->id = request->id;
        if (tfy__watcher_send(idle->socket, request, fds) == 0) return 0;
        idle->id = 0;
    }
    child = free_place(watcher);
    return child ? fork_stub(watcher, request, fds, child) : EAGAIN;
}

static void serve_spawn(Watcher *watcher, const TfyWatcherRequest *request, const int *fds, uint32_t fd_count)
{
    int error = watcher->error;
    /* if the kernel dropped some, our table of descriptors is full */
    if (!error && fd_count != request->fds) error = EMFILE;
    /* Our lock is held, so a new owner waits for us; the tools of a runtime that has died since its request are
     * not started. */
    if (!error && !runtime_lives(watcher)) return;
    /* A tool that would be killed at once is not started (base/lease.h). */
    if (!error && tfy__lease_phase() > TFY_LEASE_HELD) error = TFY_W_LATE;
    if (!error) error = start_stub(watcher, request, fds);
    if (error) report(watcher, TFY_W_STARTED, request->id, error);
}

/* A stub that a tool has stopped is continued. */
static void give_order(Watcher *watcher, const Child *child, uint8_t order)
{
    atomic_store(order_of(watcher, child), order);
    kill(child->pid, TFY_STUB_NUDGE);
    kill(child->pid, SIGCONT);
}

static void serve_kill(Watcher *watcher, uint32_t id)
{
    const Child *child = find_child(watcher, id);
    if (child)
        give_order(watcher, child, TFY_STUB_END);
    else
        report(watcher, TFY_W_GONE, id, 0);
}

static bool serve(Watcher *watcher)
{
    TfyWatcherRequest request;
    int fds[TFY_W_FD_COUNT];
    uint32_t fd_count;
    if (!tfy__watcher_receive(watcher->socket, &request, fds, &fd_count)) return false;
    if (request.kind == TFY_W_SPAWN) serve_spawn(watcher, &request, fds, fd_count);
    if (request.kind == TFY_W_KILL) serve_kill(watcher, request.id);
    for (uint32_t i = 0; i < fd_count; i++) close(fds[i]);
    return true;
}

/* A test for tfy__proc_signal: what a killed stub left below us, without what the other stubs still supervise. */
static bool is_orphan(pid_t pid, void *arg)
{
    Watcher *watcher = arg;
    for (uint32_t i = 0; i < watcher->used; i++) {
        Child *child = &watcher->children[i];
        if (child->pid && (child->pid == pid || tfy__proc_descends(pid, &child->pid))) return false;
    }
    return tfy__proc_descends(pid, &watcher->self);
}

/* The owner is gone, or its reports would be unreliable. The stubs end their tools; a stub that has exited leaves
 * nothing. */
static void end_everybody(Watcher *watcher)
{
    static const int last[] = {SIGKILL, 0};
    for (uint32_t i = 0; i < watcher->used; i++) {
        Child *child = &watcher->children[i];
        if (!child->pid) continue;
        give_order(watcher, child, TFY_STUB_FAREWELL);
        if (child->socket >= 0) shutdown(child->socket, SHUT_RDWR); /* no further tool will come for it */
    }
    while (reap(watcher)) {
        struct pollfd ended = {.fd = watcher->signals, .events = POLLIN};
        if (watcher->bereft) tfy__proc_signal(last, is_orphan, watcher);
        poll(&ended, 1, watcher->bereft ? ORPHANS_MS : -1);
    }
    if (watcher->lock_fd >= 0 && !watcher->error) tfy__former_note(watcher->lock_fd, 0);
}

/* ---- the lease ---- */

static bool has_tool(const Watcher *watcher)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        if (watcher->children[i].pid && watcher->children[i].id) return true;
    }
    return false;
}

/* Follows the deadline. True: the end has begun. A watcher without tools lets its runtime try longer to renew. */
static bool lease_ends(Watcher *watcher)
{
    const int error = tfy__lease_timer_set(&watcher->timer);
    if (error) watcher->error = error;
    if (tfy__lease_ended()) return true;
    const TfyLeasePhase phase = tfy__lease_phase();
    return (phase == TFY_LEASE_LAST || (phase == TFY_LEASE_ENDING && has_tool(watcher))) && tfy__lease_end();
}

/* Its tools have ended; now it, also if it is stopped. Returns when it is dead. */
static void end_runtime(const Watcher *watcher)
{
    struct pollfd gone = {.fd = watcher->runtime, .events = POLLIN};
    syscall(SYS_pidfd_send_signal, watcher->runtime, SIGKILL, NULL, 0);
    while (poll(&gone, 1, -1) < 0 && errno == EINTR) {}
}

static void tell_release(int fd)
{
    const char word = TFY_LEASE_RELEASED;
    while (fd >= 0 && write(fd, &word, 1) < 0 && errno == EINTR) {}
}

/* ---- the loop ---- */

/* Collects what to poll: the signals, the runtime, and the kept stubs that have a tool. whose: the child of each
 * place. Returns how many. */
static nfds_t gather(Watcher *watcher, struct pollfd *fds, uint32_t *whose)
{
    nfds_t count = 0;
    fds[count++] = (struct pollfd){.fd = watcher->signals, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = watcher->socket, .events = POLLIN};
    for (uint32_t i = 0; i < watcher->used; i++) {
        const Child *child = &watcher->children[i];
        if (!child->pid || !child->id || child->socket < 0) continue;
        whose[count] = i;
        fds[count++] = (struct pollfd){.fd = child->socket, .events = POLLIN};
    }
    return count;
}

static void watch(Watcher *watcher)
{
    char word;
    struct pollfd fds[2 + KEPT_MAX];
    uint32_t whose[2 + KEPT_MAX];
    bool late = false;
    while (!watcher->bereft && !(late = lease_ends(watcher))) {
        const nfds_t count = gather(watcher, fds, whose);
        poll(fds, count, (int)tfy__lease_sleep_ms(&watcher->timer));
        for (nfds_t i = 2; i < count; i++) {
            if (fds[i].revents && recv(fds[i].fd, &word, 1, MSG_DONTWAIT) == 1)
                note_gone(watcher, &watcher->children[whose[i]]);
        }
        if (fds[0].revents) reap(watcher);
        if (fds[1].revents && !serve(watcher)) break;
    }
    end_everybody(watcher);
    if (late) end_runtime(watcher);
    tell_release(watcher->tell);
}

/* Takes byte 1 of the lock file, which this process and its stubs hold until they exit, and notes the mark of the
 * tools. */
static int take_lock(Watcher *watcher, const char *lock_path, uint64_t mark)
{
    int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), error = 0;
    if (fd < 0) return errno;
    watcher->lock_fd = fd;
    for (int waited_ms = 0; waited_ms < LOCK_WAIT_MS && runtime_lives(watcher); waited_ms += 10) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = TFY_LOCK_WATCHER_BYTE, .l_len = 1};
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return tfy__former_note(fd, mark);
        error = errno;
        pause_ms(10);
    }
    return error ? error : EAGAIN;
}

static void close_others(const int *fds)
{
    for (unsigned from = 0;;) {
        int next = -1; /* the lowest that is kept, from here on */
        for (int i = 0; i < KEPT_FDS; i++) {
            if (fds[i] >= (int)from && (next < 0 || fds[i] < next)) next = fds[i];
        }
        if (next < 0) {
            close_range(from, ~0U, 0);
            return;
        }
        if (next > (int)from) close_range(from, (unsigned)next - 1, 0);
        from = (unsigned)next + 1;
    }
}

/* Makes the forked copy of the runtime a process of its own: own session, no descriptors but those, in their places.
 * They are moved out of each other's way first, when there is room. */
static void detach(const int *fds)
{
    int away[KEPT_FDS];
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* of what a killed stub leaves */
    prctl(PR_SET_NAME, "tfy-watcher");
    close_others(fds);
    for (int i = 0; i < KEPT_FDS; i++) away[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD, BEHIND_FD);
    close_range(0, BEHIND_FD - 1, 0);
    for (int i = 0; i < KEPT_FDS; i++) {
        if (away[i] >= 0) dup3(away[i], WATCHER_FD + i, O_CLOEXEC);
    }
    close_range(BEHIND_FD, ~0U, 0);
    for (int fd = 0; fd < WATCHER_FD; fd++) open("/dev/null", O_RDWR);
}

static void *own_memory(size_t size, int shared)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, shared | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(1);
    return memory;
}

__attribute__((noreturn)) static void be_watcher(const int *fds, const char *lock_path, uint64_t mark)
{
    sigset_t child;
    detach(fds);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* if ignored, it would reap without reporting */
    Watcher watcher = {.socket = WATCHER_FD,
                       .lock_fd = -1,
                       .runtime = fds[RUNTIME_FD - WATCHER_FD] < 0 ? -1 : RUNTIME_FD,
                       .tell = fds[TELL_FD - WATCHER_FD] < 0 ? -1 : TELL_FD,
                       .self = getpid()};
    watcher.signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    watcher.children = own_memory(CHILDREN_MAX * sizeof(Child), MAP_PRIVATE);
    watcher.orders = own_memory(CHILDREN_MAX, MAP_SHARED);
    if (lock_path) watcher.error = take_lock(&watcher, lock_path, mark);
    if (chdir("/") < 0) _exit(1); /* no directory is kept busy */
    watch(&watcher);
    _exit(0);
}

/* ---- messages ---- */

typedef union Control {
    struct cmsghdr align;
    char room[CMSG_SPACE(TFY_W_FD_COUNT * sizeof(int))];
} Control;

int tfy__watcher_send(int socket, const TfyWatcherRequest *request, const int *fds)
{
    Control control = {.room = {0}};
    struct iovec part = {.iov_base = (void *)request, .iov_len = sizeof *request};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fds) {
        const size_t len = request->fds * sizeof(int);
        CHECK(request->fds <= TFY_W_FD_COUNT);
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(len);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(len);
        memcpy(CMSG_DATA(head), fds, len);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

bool tfy__watcher_receive(int socket, TfyWatcherRequest *request, int *fds, uint32_t *fd_count)
{
    Control control;
    struct iovec part = {.iov_base = request, .iov_len = sizeof *request};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    memset(request, 0, sizeof *request);
    *fd_count = 0;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return false;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) {
        *fd_count = (uint32_t)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(head), *fd_count * sizeof(int));
    }
    return true;
}

/* ---- the start ---- */

static int fork_watcher(const int *fds, const char *lock_path, uint64_t mark, pid_t *pid)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the runtime ever runs in the watcher */
    *pid = fork();
    if (*pid == 0) be_watcher(fds, lock_path, mark);
    const int error = *pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* The same with what a watcher needs for a lease: a descriptor of this process, taken here, as a watcher that looked
 * for its parent could find another one; and the word that it was started, before it could have ended. */
static int fork_leased(int *fds, const char *lock_path, uint64_t mark, pid_t *pid)
{
    const char word = TFY_LEASE_WATCHED;
    int *runtime = &fds[RUNTIME_FD - WATCHER_FD], *tell = &fds[TELL_FD - WATCHER_FD];
    if (tfy__lease_phase() == TFY_LEASE_NONE) {
        tfy__lease_watched();
        return fork_watcher(fds, lock_path, mark, pid);
    }
    *runtime = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (*runtime < 0) return errno;
    *tell = tfy__lease_told();
    int error = *tell >= 0 && write(*tell, &word, 1) != 1 ? errno : 0;
    if (!error) {
        error = fork_watcher(fds, lock_path, mark, pid);
        if (error) tell_release(*tell);
    }
    close(*runtime);
    return error;
}

int tfy__watcher_start(const char *lock_path, uint64_t mark, pid_t *pid)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    const int mark_file = tfy__former_mark_file(mark);
    int error = mark_file < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
    int fds[KEPT_FDS] = {pair[1], mark_file, -1, -1};
    if (!error) error = fork_leased(fds, lock_path, mark, pid);
    close(pair[1]);
    if (mark_file >= 0) close(mark_file);
    if (error) close(pair[0]);
    return error ? -error : pair[0];
}

/* watcher.c: the process that starts tools, reports their ends, and leaves nothing of them behind.
 *
 * Everything below `watch` runs in the forked helper: system calls and memory of its own only. It has no way to tell people anything;
 * what goes wrong goes back as an errno value in a report. Blocking on the socket is fine here: the runtime always drains it. */
#include "effects/watcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tfy.h"

#define CHILDREN_MAX 4096
#define ENVIRON_MAX  ((size_t)1 << 20) /* how much of a process's environment is searched for a mark */
#define TICK_MS      50                /* how often dying groups are looked at */
#define FAREWELL_MS  500  /* SIGTERM to SIGKILL when the runtime died: time for git and its like to remove lock files */
#define LOCK_WAIT_MS 1000 /* how long the watcher of an earlier owner may take to leave */
#define SIGNAL_LAST  64
#define WATCHER_FD   3 /* where the socket lies in the watcher; 0 to 2 are /dev/null */

typedef struct Child {
    uint32_t id;      /* the runtime's number; 0: a free place */
    pid_t pid;        /* of the tool, and of its group */
    bool exited;      /* the tool was reaped; its group may live on */
    bool killing;     /* the runtime asked for its end */
    int64_t kill_ms;  /* when SIGTERM becomes SIGKILL */
    char *blob;       /* the mapped strings of its request */
    size_t blob_len;  /* bytes */
    const char *mark; /* "TFY_PROCESS=…" in blob: what its descendants have in their environment */
} Child;

typedef struct Watcher {
    int socket;  /* to the runtime */
    int signals; /* signalfd for SIGCHLD */
    int error;   /* why nothing can be started (no lock), or 0 */
    pid_t self;
    Child *children; /* CHILDREN_MAX places */
    uint32_t used;   /* places ever used; all above are free */
    char *environ;   /* ENVIRON_MAX bytes of scratch */
} Watcher;

/* What a tool needs between vfork and exec; lives in the watcher's frame. */
typedef struct Launch {
    char **candidates, **argv, **env; /* NULL-terminated */
    const int *fds;                   /* TFY_W_FD_COUNT */
    pid_t watcher;
    volatile int error; /* set by the child when it could not become the tool */
} Launch;

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct flock watcher_byte(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = TFY_LOCK_WATCHER_BYTE, .l_len = 1};
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* ---- looking at processes ---- */

typedef void Visit(Watcher *watcher, pid_t pid, void *arg);

static void each_process(Watcher *watcher, Visit *visit, void *arg)
{
    _Alignas(struct dirent64) char room[8192];
    int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return;
    for (ssize_t len; (len = getdents64(dir, room, sizeof room)) > 0;) {
        for (ssize_t at = 0; at < len;) {
            struct dirent64 *entry = (struct dirent64 *)(room + at);
            at += entry->d_reclen;
            if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') visit(watcher, atoi(entry->d_name), arg);
        }
    }
    close(dir);
}

/* Reads /proc/PID/NAME; answers the bytes read, 0 when there is nothing to be had. */
static size_t read_proc(pid_t pid, const char *name, char *room, size_t cap)
{
    char path[48] = "/proc/", digits[16];
    size_t at = sizeof digits, len = 0;
    digits[--at] = 0;
    for (unsigned rest = (unsigned)pid; rest; rest /= 10) digits[--at] = (char)('0' + rest % 10);
    strcat(strcat(strcat(path, digits + at), "/"), name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    for (ssize_t n; len < cap && (n = read(fd, room + len, cap - len)) > 0;) len += (size_t)n;
    close(fd);
    return len;
}

static pid_t parent_of(pid_t pid)
{
    char stat[512];
    size_t len = read_proc(pid, "stat", stat, sizeof stat - 1);
    stat[len] = 0;
    char *end = strrchr(stat, ')'); /* the name before it may hold anything */
    return end && end[1] && end[2] && end[3] ? atoi(end + 4) : 0;
}

static bool has_mark(Watcher *watcher, pid_t pid, const char *mark)
{
    size_t len = read_proc(pid, "environ", watcher->environ, ENVIRON_MAX), want = strlen(mark) + 1;
    for (const char *at = watcher->environ, *end = at + len; at < end;) {
        size_t left = (size_t)(end - at);
        if (left >= want && memcmp(at, mark, want) == 0) return true;
        const char *nul = memchr(at, 0, left);
        if (!nul) return false;
        at = nul + 1;
    }
    return false;
}

typedef struct Hunt {
    const char *mark; /* whose environment has it */
    int signal;       /* is sent this; 0: only counted */
    uint32_t found;
} Hunt;

static void hunt_marked(Watcher *watcher, pid_t pid, void *arg)
{
    Hunt *hunt = arg;
    if (pid == watcher->self || !has_mark(watcher, pid, hunt->mark)) return;
    if (kill(pid, hunt->signal) == 0) hunt->found++;
}

/* Sends a signal (0: none) to the tool, its group, and whoever left the group but carries the mark. Is anybody left? */
static bool signal_family(Watcher *watcher, const Child *child, int number)
{
    bool left = kill(-child->pid, number) == 0;
    if (!child->exited && kill(child->pid, number) == 0) left = true;
    Hunt hunt = {.mark = child->mark, .signal = number};
    each_process(watcher, hunt_marked, &hunt);
    return left || hunt.found;
}

/* ---- the table and the reports ---- */

static Child *find_child(Watcher *watcher, uint32_t id)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        if (watcher->children[i].id == id) return &watcher->children[i];
    }
    return NULL;
}

static Child *free_place(Watcher *watcher)
{
    Child *place = find_child(watcher, 0);
    if (!place && watcher->used < CHILDREN_MAX) place = &watcher->children[watcher->used++];
    return place;
}

static void drop_child(Child *child)
{
    munmap(child->blob, child->blob_len);
    memset(child, 0, sizeof *child);
}

static void report(Watcher *watcher, uint32_t kind, uint32_t id, int value, pid_t pid)
{
    TfyWatcherReport message = {.kind = kind, .id = id, .value = value, .pid = pid};
    send(watcher->socket, &message, sizeof message, MSG_NOSIGNAL); /* a dead runtime is noticed by the poll */
}

static void note_exit(Watcher *watcher, pid_t pid, int status)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        Child *child = &watcher->children[i];
        if (!child->id || child->pid != pid || child->exited) continue;
        child->exited = true;
        report(watcher, TFY_W_EXITED, child->id, status, pid);
        return;
    }
}

/* Reaps whoever ended, orphans included. False: there is no child at all. */
static bool reap(Watcher *watcher)
{
    struct signalfd_siginfo info;
    while (read(watcher->signals, &info, sizeof info) > 0) {}
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) note_exit(watcher, pid, status);
    return pid == 0;
}

/* ---- starting a tool ---- */

static bool runtime_lives(Watcher *watcher)
{
    struct pollfd socket = {.fd = watcher->socket, .events = 0};
    return poll(&socket, 1, 0) >= 0 && !(socket.revents & (POLLHUP | POLLERR));
}

static void reset_signals(void)
{
    struct sigaction fresh = {.sa_handler = SIG_DFL};
    for (int number = 1; number <= SIGNAL_LAST; number++) sigaction(number, &fresh, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the vforked child, on the watcher's memory: touches nothing but launch->error. */
__attribute__((noreturn)) static void become_tool(Launch *launch)
{
    int error = ENOENT;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->watcher) _exit(127);
    if (fchdir(launch->fds[TFY_W_FD_CWD]) < 0) goto failed;
    if (dup2(launch->fds[TFY_W_FD_STDIN], 0) < 0 || dup2(launch->fds[TFY_W_FD_STDOUT], 1) < 0) goto failed;
    if (dup2(launch->fds[TFY_W_FD_STDERR], 2) < 0 || close_range(3, ~0U, 0) < 0) goto failed;
    reset_signals();
    for (char **path = launch->candidates; *path; path++) {
        execve(*path, launch->argv, launch->env);
        if (errno == ENOENT || errno == ENOTDIR) continue; /* not here: the next directory of the PATH */
        if (errno != EACCES) goto failed;
        error =
            EACCES; /* found but forbidden: tells more than "not found", unless a later directory has one that runs */
    }
    errno = error;
failed:
    launch->error = errno;
    _exit(127);
}

/* The next count strings of the blob as a NULL-terminated array; answers where the array ends. */
static char **take_strings(char **array, uint32_t count, char **at)
{
    for (uint32_t i = 0; i < count; i++) {
        *array++ = *at;
        *at += strlen(*at) + 1;
    }
    *array++ = NULL;
    return array;
}

static pid_t launch_tool(Launch *launch)
{
    pid_t pid = vfork();
    if (pid == 0) become_tool(launch);
    if (pid < 0) {
        launch->error = errno;
    } else if (launch->error) {
        waitpid(pid, NULL, 0);
    }
    return pid;
}

/* Answers 0 or an errno value. The child keeps the mapped blob. */
static int start_tool(Watcher *watcher, const TfyWatcherRequest *request, const int *fds, Child *child)
{
    size_t pointers = ((size_t)request->candidates + request->argc + request->envc + 3) * sizeof(char *);
    char *blob = mmap(NULL, request->blob_len, PROT_READ, MAP_PRIVATE, fds[TFY_W_FD_BLOB], 0);
    if (blob == MAP_FAILED) return errno;
    char **arrays = mmap(NULL, pointers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = blob;
    if (arrays == MAP_FAILED) {
        munmap(blob, request->blob_len);
        return ENOMEM;
    }
    Launch launch = {.fds = fds, .watcher = watcher->self, .candidates = arrays};
    launch.argv = take_strings(launch.candidates, request->candidates, &at);
    launch.env = take_strings(launch.argv, request->argc, &at);
    take_strings(launch.env, request->envc, &at);
    pid_t pid = launch_tool(&launch);
    *child = (Child){.id = request->id, .pid = pid, .blob = blob, .blob_len = request->blob_len, .mark = launch.env[0]};
    munmap(arrays, pointers);
    if (launch.error) drop_child(child);
    return launch.error;
}

static void serve_spawn(Watcher *watcher, const TfyWatcherRequest *request, const int *fds, uint32_t fd_count)
{
    int error = watcher->error;
    Child *child = free_place(watcher);
    if (!error && fd_count != TFY_W_FD_COUNT)
        error = EMFILE; /* the kernel dropped some: our table of descriptors is full */
    if (!error && !child) error = EAGAIN;
    /* Our lock is held, so a new owner waits for us; a runtime that died since it asked has none of its tools started. */
    if (!error && !runtime_lives(watcher)) return;
    if (!error) error = start_tool(watcher, request, fds, child);
    report(watcher, TFY_W_STARTED, request->id, error, error ? 0 : child->pid);
}

static void serve_kill(Watcher *watcher, uint32_t id)
{
    Child *child = find_child(watcher, id);
    if (!child) {
        report(watcher, TFY_W_GONE, id, 0, 0);
        return;
    }
    if (child->killing) return;
    child->killing = true;
    child->kill_ms = clock_ms() + TFY_WATCHER_TERM_MS;
    signal_family(watcher, child, SIGTERM);
    signal_family(watcher, child, SIGCONT); /* a stopped tool hears SIGTERM only when it goes on */
}

/* ---- the loop ---- */

/* Receives one request with its descriptors. False: the runtime is gone. */
static bool receive(Watcher *watcher, TfyWatcherRequest *request, int *fds, uint32_t *fd_count)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(TFY_W_FD_COUNT * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = request, .iov_len = sizeof *request};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    memset(request, 0, sizeof *request);
    *fd_count = 0;
    if (recvmsg(watcher->socket, &message, MSG_CMSG_CLOEXEC) <= 0) return false;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) {
        *fd_count = (uint32_t)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(head), *fd_count * sizeof(int));
    }
    return true;
}

static bool serve(Watcher *watcher)
{
    TfyWatcherRequest request;
    int fds[TFY_W_FD_COUNT];
    uint32_t fd_count;
    if (!receive(watcher, &request, fds, &fd_count)) return false;
    Child *child = request.kind == TFY_W_FORGET ? find_child(watcher, request.id) : NULL;
    if (request.kind == TFY_W_SPAWN) serve_spawn(watcher, &request, fds, fd_count);
    if (request.kind == TFY_W_KILL) serve_kill(watcher, request.id);
    if (child) drop_child(child);
    for (uint32_t i = 0; i < fd_count; i++) close(fds[i]);
    return true;
}

/* Looks after the families that were told to end. Answers whether some have not. */
static bool tend_dying(Watcher *watcher)
{
    bool dying = false;
    for (uint32_t i = 0; i < watcher->used; i++) {
        Child *child = &watcher->children[i];
        if (!child->id || !child->killing) continue;
        if (signal_family(watcher, child, clock_ms() >= child->kill_ms ? SIGKILL : 0)) {
            dying = true;
            continue;
        }
        report(watcher, TFY_W_GONE, child->id, 0, 0);
        drop_child(child);
    }
    return dying;
}

static void kill_own_child(Watcher *watcher, pid_t pid, void *arg)
{
    if (parent_of(pid) == watcher->self) kill(pid, *(int *)arg);
}

static void signal_everybody(Watcher *watcher, int number)
{
    for (uint32_t i = 0; i < watcher->used; i++) {
        if (watcher->children[i].id) kill(-watcher->children[i].pid, number);
    }
    each_process(watcher, kill_own_child, &number);
}

/* The runtime is gone. Whoever dies hands his children to us, so killing our children until there are none reaches every descendant. */
static void end_everybody(Watcher *watcher)
{
    int64_t grace_ms = clock_ms() + FAREWELL_MS;
    signal_everybody(watcher, SIGTERM);
    while (reap(watcher)) {
        struct pollfd ended = {.fd = watcher->signals, .events = POLLIN};
        bool patient = clock_ms() < grace_ms;
        if (!patient) signal_everybody(watcher, SIGKILL);
        poll(&ended, 1, patient ? 10 : 5);
    }
}

static void watch(Watcher *watcher)
{
    bool dying = false;
    for (;;) {
        struct pollfd fds[2] = {{.fd = watcher->signals, .events = POLLIN}, {.fd = watcher->socket, .events = POLLIN}};
        poll(fds, 2, dying ? TICK_MS : -1);
        if (fds[0].revents) reap(watcher);
        if (fds[1].revents && !serve(watcher)) break;
        dying = tend_dying(watcher);
    }
    end_everybody(watcher);
}

/* Takes byte 1 of the lock file and keeps it until this process ends. */
static int take_lock(Watcher *watcher, const char *lock_path)
{
    int fd = open(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), error = 0;
    if (fd < 0) return errno;
    for (int waited_ms = 0; waited_ms < LOCK_WAIT_MS && runtime_lives(watcher); waited_ms += 10) {
        struct flock lock = watcher_byte();
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return 0;
        error = errno;
        pause_ms(10);
    }
    return error ? error : EAGAIN;
}

/* Makes the forked copy of the runtime its own process: own session, no descriptors but the socket. */
static void detach(int socket)
{
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "tfy-watcher");
    dup2(socket, WATCHER_FD);
    close_range(WATCHER_FD + 1, ~0U, 0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < WATCHER_FD; fd++) dup2(null, fd);
    if (null > WATCHER_FD) close(null);
}

static void *own_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) _exit(1);
    return memory;
}

__attribute__((noreturn)) static void be_watcher(int socket, const char *lock_path)
{
    sigset_t child;
    detach(socket);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* ignored, it would reap without telling */
    Watcher watcher = {.socket = WATCHER_FD, .self = getpid()};
    watcher.signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    watcher.children = own_memory(CHILDREN_MAX * sizeof(Child));
    watcher.environ = own_memory(ENVIRON_MAX);
    if (lock_path) watcher.error = take_lock(&watcher, lock_path);
    if (chdir("/") < 0) _exit(1); /* nobody's directory is kept busy */
    watch(&watcher);
    _exit(0);
}

int tfy__watcher_start(const char *lock_path, pid_t *pid)
{
    int pair[2], error = 0;
    sigset_t all, before;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the runtime ever runs in the watcher */
    *pid = fork();
    if (*pid == 0) be_watcher(pair[1], lock_path);
    if (*pid < 0) error = -errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pair[1]);
    if (!error && fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) error = -errno;
    if (!error) return pair[0];
    close(pair[0]);
    return error;
}

int tfy__watcher_wait_old(const char *lock_path, int timeout_ms)
{
    int fd = open(lock_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC), answer = TFY_E_HELD;
    if (fd < 0) return errno == ENOENT ? TFY_OK : TFY_E_IO;
    for (int64_t end_ms = clock_ms() + timeout_ms;;) {
        struct flock lock = watcher_byte();
        if (fcntl(fd, F_OFD_GETLK, &lock) < 0) answer = TFY_E_IO;
        if (lock.l_type == F_UNLCK) answer = TFY_OK;
        if (answer != TFY_E_HELD || clock_ms() >= end_ms) break;
        pause_ms(10);
    }
    close(fd);
    return answer;
}

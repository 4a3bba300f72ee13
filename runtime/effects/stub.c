/* stub.c: see stub.h. */
#include "effects/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/lease.h"
#include "effects/former.h"
#include "effects/proc.h"

_Static_assert(TFY_MARK_FD == 59, "the number of the cell's socket is written in set_descriptors");

#define SIGNAL_LAST 64
/* how often SIGKILL is repeated: a dying process may have had children */
#define KILL_MS 5

/* What a tool needs between vfork and exec; in the stub's stack frame. */
typedef struct Launch {
    char **candidates, **argv, **env; /* NULL-terminated */
    const int *fds;                   /* as in a SPAWN */
    bool cell;                        /* it is tfy-cell that is started, with the tool in its argv */
    int mark_file;
    pid_t stub;
    volatile int error; /* set by the child if it could not become the tool */
} Launch;

/* The tool from its start to the end of its last descendant. */
typedef struct Work {
    const TfyStub *stub;
    uint32_t id; /* the runtime's number */
    pid_t self, tool;
    uint8_t order;   /* the newest order that was followed */
    int64_t kill_ms; /* when SIGTERM becomes SIGKILL; valid once there was an order */
    TfyLimits limits;
    int64_t look_ms; /* when the family is looked at again; 0: it has no limits */
} Work;

static TfyLeaseTimer timer; /* of this process, while it has a tool */

static void report(const Work *work, uint32_t kind, int value)
{
    TfyWatcherReport message = {.kind = kind, .id = work->id, .value = value};
    send(work->stub->socket, &message, sizeof message, MSG_NOSIGNAL); /* the watcher notices a dead runtime */
}

/* ---- starting ---- */

static void reset_signals(void)
{
    struct sigaction fresh = {.sa_handler = SIG_DFL};
    for (int number = 1; number <= SIGNAL_LAST; number++) sigaction(number, &fresh, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Behind the mark is the cell's socket, in the number that its argv has; whatever else is open ends with the exec. */
static bool set_behind_mark(const Launch *launch, int mark, const char *number)
{
    const int cell = mark + 1;
    if (!launch->cell) return close_range((unsigned)cell, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
    launch->argv[1] = (char *)(uintptr_t)number;
    return dup2(launch->fds[TFY_W_FD_CELL], cell) == cell &&
           close_range((unsigned)cell + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

/* The tool's table of descriptors. The mark's place may be above the limit of this process; then the first free
 * ones are used. */
static bool set_descriptors(const Launch *launch)
{
    if (dup2(launch->fds[TFY_W_FD_STDIN], 0) < 0 || dup2(launch->fds[TFY_W_FD_STDOUT], 1) < 0) return false;
    if (dup2(launch->fds[TFY_W_FD_STDERR], 2) < 0) return false;
    if (launch->mark_file != TFY_MARK_FD && dup2(launch->mark_file, TFY_MARK_FD) >= 0 &&
        set_behind_mark(launch, TFY_MARK_FD, "60"))
        return close_range(3, TFY_MARK_FD - 1, CLOSE_RANGE_CLOEXEC) == 0;
    return dup2(launch->mark_file, 3) == 3 && set_behind_mark(launch, 3, "4");
}

/* Runs in the vforked child, in the stub's memory: changes nothing but launch->error. */
__attribute__((noreturn)) static void become_tool(Launch *launch)
{
    int error = ENOENT;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->stub) _exit(127);
    if (fchdir(launch->fds[TFY_W_FD_CWD]) < 0 || !set_descriptors(launch)) goto failed;
    reset_signals();
    if (launch->cell) {
        execveat(launch->fds[TFY_W_FD_PROGRAM], "", launch->argv, launch->env, AT_EMPTY_PATH);
        goto failed;
    }
    for (char **path = launch->candidates; *path; path++) {
        execve(*path, launch->argv, launch->env);
        if (errno == ENOENT || errno == ENOTDIR) continue; /* not here: the next directory of the PATH */
        if (errno != EACCES) goto failed;
        /* more specific than "not found", unless a later directory has one that runs */
        error = EACCES;
    }
    errno = error;
failed:
    launch->error = errno;
    _exit(127);
}

/* The next count strings of the blob as a NULL-terminated array; returns where the array ends. */
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
    const pid_t pid = vfork();
    if (pid == 0) become_tool(launch);
    if (pid < 0) {
        launch->error = errno;
    } else if (launch->error) {
        waitpid(pid, NULL, 0);
    }
    return pid;
}

/* 0 or an errno value. */
static int start_tool(Work *work, const TfyWatcherRequest *request, const int *fds)
{
    const size_t pointers = ((size_t)request->candidates + request->argc + request->envc + 3) * sizeof(char *);
    char *blob = mmap(NULL, request->blob_len, PROT_READ, MAP_PRIVATE, fds[TFY_W_FD_BLOB], 0), *at = blob;
    if (blob == MAP_FAILED) return errno;
    char **arrays = mmap(NULL, pointers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arrays == MAP_FAILED) return errno;
    Launch launch = {.fds = fds,
                     .cell = request->fds == TFY_W_FD_COUNT,
                     .mark_file = work->stub->mark_file,
                     .stub = work->self,
                     .candidates = arrays};
    launch.argv = take_strings(launch.candidates, request->candidates, &at);
    launch.env = take_strings(launch.argv, request->argc, &at);
    take_strings(launch.env, request->envc, &at);
    work->tool = launch_tool(&launch);
    munmap(arrays, pointers);
    munmap(blob, request->blob_len);
    return launch.error;
}

/* ---- ending ---- */

static void signal_descendants(Work *work, const int *signals)
{
    tfy__proc_signal(signals, tfy__proc_descends, &work->self);
}

/* Has a new order arrived? A stub whose watcher has died exits by itself, and one whose lease ends needs no order. */
static bool take_order(Work *work)
{
    uint8_t order = getppid() == work->stub->watcher ? atomic_load(work->stub->order) : TFY_STUB_FAREWELL;
    if (tfy__lease_end()) order = TFY_STUB_FAREWELL;
    if (order <= work->order) return false;
    work->order = order;
    return true;
}

/* How long after SIGTERM. */
static int64_t patience_ms(const Work *work)
{
    const int64_t ms = work->order == TFY_STUB_END ? TFY_WATCHER_TERM_MS : TFY_FAREWELL_MS;
    const int64_t kill_ms = tfy__lease_kill_ms();
    if (work->order == TFY_STUB_FAREWELL && tfy__lease_ended()) return kill_ms;
    return kill_ms >= 0 && kill_ms < ms ? kill_ms : ms;
}

static void obey(Work *work)
{
    static const int term[] = {SIGTERM, SIGCONT, 0}, last[] = {SIGKILL, 0}; /* a stopped tool must receive SIGTERM */
    if (take_order(work)) {
        work->kill_ms = tfy__family_clock_ms() + patience_ms(work);
        signal_descendants(work, term);
    } else if (work->order && tfy__family_clock_ms() >= work->kill_ms) {
        signal_descendants(work, last);
    }
}

/* A family that has passed a limit is ended at once: it would not be ended by asking. */
static void look(Work *work)
{
    static const int last[] = {SIGKILL, 0};
    const int64_t begun_ms = tfy__family_clock_ms();
    if (!work->look_ms || work->order || begun_ms < work->look_ms) return;
    const TfyLimit passed = tfy__family_passed(work->self, &work->limits);
    const int64_t now_ms = tfy__family_clock_ms();
    work->look_ms = now_ms + tfy__family_rest_ms(now_ms - begun_ms);
    if (passed == TFY_LIMIT_NONE) return;
    report(work, TFY_W_PASSED, (int)passed);
    work->order = TFY_STUB_END;
    work->kill_ms = now_ms;
    /* A full cell ends as a whole with what is a child of ours, however many processes it has become. */
    tfy__proc_signal(last, tfy__proc_is_child, &work->self);
    signal_descendants(work, last);
}

/* Reaps every child that has exited. False: there is none left, and so nothing at all of the tool. */
static bool reap(Work *work)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == work->tool && work->order != TFY_STUB_FAREWELL) report(work, TFY_W_EXITED, status);
    }
    return pid == 0;
}

/* Waits until a child exits, the watcher nudges, or it is time for SIGKILL, another look, or the lease's next phase. */
static void await_news(const Work *work)
{
    sigset_t news;
    sigemptyset(&news);
    sigaddset(&news, SIGCHLD);
    sigaddset(&news, TFY_STUB_NUDGE);
    const int64_t now_ms = tfy__family_clock_ms(), lease_ms = tfy__lease_sleep_ms(&timer);
    int64_t until_ms = work->order ? work->kill_ms : work->look_ms;
    if (lease_ms >= 0 && (!until_ms || now_ms + lease_ms < until_ms)) until_ms = now_ms + lease_ms;
    const int64_t left_ms = until_ms - now_ms, ms = left_ms > KILL_MS ? left_ms : KILL_MS;
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    sigtimedwait(&news, NULL, until_ms ? &limit : NULL);
}

/* One tool, from its start until nothing of it is left. */
static void serve_tool(const TfyStub *stub, const TfyWatcherRequest *request, const int *fds, uint32_t fd_count)
{
    Work work = {.stub = stub, .id = request->id, .self = getpid(), .limits = request->limits};
    /* if the kernel dropped some, our table of descriptors is full */
    int error = fd_count == request->fds ? 0 : EMFILE;
    if (!error) error = tfy__lease_timer_set(&timer);
    const bool wanted = !take_order(&work);
    if (wanted && !error) error = start_tool(&work, request, fds);
    for (uint32_t i = 0; i < fd_count; i++) close(fds[i]); /* the runtime waits for the end of the outputs */
    if (!wanted) return;                                   /* an order to end it, or the watcher's death, came first */
    report(&work, TFY_W_STARTED, error);
    if (work.limits.memory || work.limits.processes) work.look_ms = tfy__family_clock_ms() + TFY_FAMILY_LOOK_MS;
    while (!error && reap(&work)) {
        tfy__lease_timer_set(&timer);
        obey(&work);
        look(&work);
        await_news(&work);
    }
}

/* Reports that nothing is left, and waits for another tool. False: there is none. */
static bool next_tool(const TfyStub *stub, TfyWatcherRequest *request, int *fds, uint32_t *fd_count)
{
    tfy__lease_timer_stop(&timer);
    if (stub->work < 0 || send(stub->work, "", 1, MSG_NOSIGNAL) != 1) return false;
    return tfy__watcher_receive(stub->work, request, fds, fd_count);
}

void tfy__stub_run(const TfyStub *stub, const TfyWatcherRequest *first, const int *first_fds)
{
    TfyWatcherRequest request = *first;
    int fds[TFY_W_FD_COUNT];
    uint32_t fd_count = request.fds;
    memcpy(fds, first_fds, fd_count * sizeof *fds);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, TFY_STUB_NUDGE);
    prctl(PR_SET_NAME, "tfy-stub");
    tfy__family_go_first();
    do serve_tool(stub, &request, fds, fd_count);
    while (next_tool(stub, &request, fds, &fd_count));
    _exit(0);
}

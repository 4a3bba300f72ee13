/* process.c: the runtime's side of the watcher: which processes wait, run and die, and what they printed.
 *
 * Life of a process:
 *
 *   waiting ──SPAWN──▶ asked ──STARTED──▶ running ──▶ handler ──failed──▶ left ──GONE──▶ freed
 *      ▲                 └──────abort──────┴──▶ dying ──GONE──▶ freed        │
 *      │                                          ▲──────────────────────────┘ the next process of the same key starts
 *      └ too many at once, the socket is full, or a process of the same key is still dying
 *
 * running ends with EXITED, once the outputs are at their end or LINGER is over.
 *
 * A watcher that dies takes the process with it: the outcome of the tools under way is unknown, so nothing is
 * reported about them. */
#include "effects/process.h"
#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/world.h"
#include "effects/former.h"
#include "effects/process_words.h"
#include "effects/proxy.h"
#include "effects/sandbox.h"
#include "effects/watcher.h"
#include "base/utf8.h"

#define READ_CHUNK     ((size_t)1 << 16)
#define READS_PER_TURN 32 /* chunks of one output read in a row before the loop serves others */
#define NS_PER_MS      INT64_C(1000000)
#define SOCKET_NS      (2 * NS_PER_MS) /* pause while the socket to the watcher is full */
#define LEAVE_MS       10000           /* how long to wait for the tools of a dead watcher */

typedef enum State {
    WAITING,
    ASKED,
    RUNNING,
    /* it has failed, its handler was called, and something that it started may still live */
    LEFT,
    DYING,
} State;

typedef struct Pool Pool;

/* One of a process's two outputs. */
typedef struct Stream {
    TfyProcess *process;
    int fd;          /* read end; -1: closed */
    int64_t watch;   /* handle of the loop's watch; valid while fd is open */
    uint64_t again;  /* timer that continues a long read in the next turn; 0: none */
    TfyBuffer *kept; /* the first bytes */
    bool *cut;       /* set when there were more */
} Stream;

struct TfyProcess {
    Pool *pool;
    TfyProcess *prev, *next;   /* in the pool's list, oldest first */
    TfyProcessHandler handler; /* NULL once aborted */
    void *arg;
    State state;
    uint32_t id; /* the watcher's name for it */
    bool exited;
    bool gone;       /* and everything it started has exited */
    uint64_t linger; /* timer: end of the wait for outputs that stay open; 0: none */
    size_t output_cap;
    char *name; /* argv[0], for messages */
    char *key;
    TfyWatcherRequest request;
    TfyBuffer blob; /* what the watcher receives; until it is sent */
    char *input;    /* stdin, until it is sent; NULL: none */
    size_t input_len;
    int cwd_fd;       /* until it is sent; then -1 */
    int standard[3];  /* given by the caller, until they are sent; then -1 */
    TfyBuffer policy; /* for its cell; empty: it has none */
    /* to its cell, which answers there if the tool could not be started; -1: it has none */
    int cell;
    /* with a list of hosts: until the cell has handed its listener out; -1: it has, or there is no list */
    int64_t cell_watch;
    TfyProxyRules rules; /* hosts NULL: there is no list */
    TfyProxy *proxy;     /* NULL: none */
    char *found;         /* in a cell: the file that would run outside; owned; NULL: none */
    Stream streams[2];   /* stdout, stderr */
    TfyProcessEnd end;   /* what the handler will receive */
};

struct Pool {
    TfyLoop *loop;
    int socket;    /* to the watcher and its stubs; -1: none */
    int64_t watch; /* of the socket */
    pid_t watcher;
    int end; /* a descriptor of the watcher's process: readable when it has died */
    int64_t end_watch;
    bool lost; /* the watcher has died, and the loop stops */
    /* the mark of its tools: no others on this machine have it (former.h) */
    uint64_t mark;
    uint32_t last_id;
    uint32_t at_once; /* processes asked or running */
    uint32_t waiting; /* processes not requested yet */
    TfyProcess *first, *last;
    uint64_t begin;     /* timer: serve waiting requests and processes; 0: none */
    TfyBuffer requests; /* KILL messages that did not fit in the socket yet */
};

/* ---- the pool ---- */

static bool draw_mark(uint64_t *mark)
{
    if (getrandom(mark, sizeof *mark, 0) != sizeof *mark) return false;
    *mark |= 1; /* 0 is not a mark */
    return true;
}

static Pool *pool_of(TfyLoop *loop)
{
    Pool **place = (Pool **)tfy__effect_slot(loop, TFY_M_PROCESS);
    if (*place) return *place;
    *place = tfy__sys_calloc(1, sizeof **place);
    if (!*place) return NULL;
    **place = (Pool){.loop = loop, .socket = -1};
    if (draw_mark(&(*place)->mark)) return *place;
    free(*place);
    return *place = NULL;
}

static void link_process(Pool *pool, TfyProcess *process)
{
    process->pool = pool;
    LIST2_APPEND(pool, process, prev, next);
}

static void unlink_process(TfyProcess *process)
{
    LIST2_REMOVE(process->pool, process, prev, next);
}

static TfyProcess *find_process(Pool *pool, uint32_t id)
{
    TfyProcess *process = pool->first;
    while (process && (process->state == WAITING || process->id != id)) process = process->next;
    return process;
}

static void close_stream(Stream *stream)
{
    TfyLoop *loop = stream->process->pool->loop;
    if (stream->fd < 0) return;
    if (stream->again) tfy__timer_del(loop, stream->again);
    stream->again = 0;
    tfy__watch_del(loop, stream->watch);
    close(stream->fd);
    stream->fd = -1;
}

static void close_standard(TfyProcess *process)
{
    for (int i = 0; i < 3; i++) {
        if (process->standard[i] >= 0) close(process->standard[i]);
        process->standard[i] = -1;
    }
}

/* Frees what only the start needs: the texts for the watcher, the directory, and standard files of the caller's. */
static void drop_start(TfyProcess *process)
{
    close_standard(process);
    tfy__buffer_free(&process->blob);
    free(process->input);
    process->input = NULL;
    if (process->cwd_fd >= 0) close(process->cwd_fd);
    process->cwd_fd = -1;
}

static void stop_listening(TfyProcess *process)
{
    if (process->cell_watch >= 0) tfy__watch_del(process->pool->loop, process->cell_watch);
    process->cell_watch = -1;
}

static void close_cell(TfyProcess *process)
{
    stop_listening(process);
    if (process->cell >= 0) close(process->cell);
    process->cell = -1;
}

static void note_refused(TfyProcess *process)
{
    const char *first = tfy__proxy_refused(process->proxy, 0);
    snprintf(process->end.refused, sizeof process->end.refused, "%s", first ? first : "");
}

/* Releases everything but the struct itself and what the handler receives. */
static void quiet_process(TfyProcess *process)
{
    CHECK(process->state != ASKED || process->pool->at_once > 0);
    if (process->state == ASKED || process->state == RUNNING) process->pool->at_once--;
    CHECK(process->state != WAITING || process->pool->waiting > 0);
    if (process->state == WAITING) process->pool->waiting--;
    close_stream(&process->streams[0]);
    close_stream(&process->streams[1]);
    if (process->linger) tfy__timer_del(process->pool->loop, process->linger);
    process->linger = 0;
    if (process->proxy) note_refused(process);
    tfy__proxy_close(process->proxy);
    process->proxy = NULL;
    close_cell(process);
    drop_start(process);
}

static void free_outputs(TfyProcess *process)
{
    tfy__buffer_free(&process->end.out);
    tfy__buffer_free(&process->end.err);
}

static void free_process(TfyProcess *process)
{
    free_outputs(process);
    tfy__buffer_free(&process->policy);
    free(process->found);
    free(process->name);
    free(process->key);
    free(process);
}

/* Removes it from the list and frees it. */
static void remove_process(TfyProcess *process)
{
    quiet_process(process);
    unlink_process(process);
    CHECK(process->streams[0].fd < 0 && process->streams[1].fd < 0);
    free_process(process);
}

static void on_begin(void *arg);

/* Serves what waits, from the loop: never inside a handler or a caller's start, and never one call inside another. */
static void tend_in(Pool *pool, int64_t delay_ns)
{
    if (!pool->begin && (pool->waiting || pool->requests.len))
        pool->begin = tfy__timer_add(pool->loop, tfy__now_ns(pool->loop) + delay_ns, on_begin, pool);
}

static void begin_soon(Pool *pool)
{
    tend_in(pool, 0);
}

/* The only end of a process that was not aborted. What a tool leaves running lives on, but not beside another
 * attempt of a step that failed: so it is remembered. */
static void finish(TfyProcess *process)
{
    Pool *pool = process->pool;
    const bool left = process->exited && process->end.code && !process->gone;
    CHECK(process->state != LEFT && process->handler);
    quiet_process(process);
    process->state = LEFT; /* the handler may start the next process of this key */
    if (!left) unlink_process(process);
    process->handler(process->arg, &process->end);
    if (left)
        free_outputs(process);
    else
        free_process(process);
    begin_soon(pool);
}

static void fail(TfyProcess *process, int error)
{
    TfyProcessEnd *end = &process->end;
    const char *name = process->name;
    bool is_path = strchr(name, '/');
    end->error = error;
    end->no_room = tfy__is_no_room(error) || error == EAGAIN;
    if ((error == ENOENT || error == EACCES) && process->found) {
        snprintf(end->message, sizeof end->message,
                 "cannot run '%.60s': its sandbox cannot read '%.100s', or what that needs to run", name,
                 process->found);
    } else if (error == ENOENT && !is_path) {
        snprintf(end->message, sizeof end->message, "cannot run '%.100s': not found in PATH", name);
    } else if (error == ENOENT) {
        snprintf(end->message, sizeof end->message, "cannot run '%.100s': no such file (or the interpreter it names)",
                 name);
    } else if (error == EACCES) {
        snprintf(end->message, sizeof end->message, "cannot run '%.100s': it is not executable", name);
    } else if (error == ENOEXEC) {
        snprintf(end->message, sizeof end->message,
                 "cannot run '%.100s': not a program; a script needs a first line '#!…'", name);
    } else if (error == E2BIG) {
        snprintf(end->message, sizeof end->message, "cannot run '%.100s': arguments and environment are too long",
                 name);
    } else {
        snprintf(end->message, sizeof end->message, "cannot run '%.100s': %s", name, strerror(error));
    }
    finish(process);
}

/* The cell could not be built, so the tool never ran. */
static void fail_cell(TfyProcess *process, const TfyCellAnswer *answer)
{
    TfyProcessEnd *end = &process->end;
    TfyCellPlan plan = {.paths = process->policy};
    const char *path;
    if (answer->stage == TFY_CELL_START) {
        fail(process, answer->error);
        return;
    }
    plan.paths.data += sizeof(TfyCellHead);
    plan.paths.len -= sizeof(TfyCellHead);
    path = tfy__cell_path_of(&plan, answer->path);
    end->error = answer->error;
    /* the kernel's limit of namespaces is one of those that pass */
    end->no_room = tfy__is_no_room(answer->error) || answer->error == EAGAIN ||
                   (answer->stage == TFY_CELL_NAMESPACES && answer->error == ENOSPC);
    snprintf(end->message, sizeof end->message, "cannot run '%.60s': its sandbox cannot be built: %s%s%.100s: %s",
             process->name, tfy__cell_stage_name(answer->stage), path ? ": " : "", path ? path : "",
             strerror(answer->error));
    finish(process);
}

/* Takes the listener that the cell hands out, and serves it. Without a proxy the tool reaches nothing, and says so
 * itself. False: the cell could not be built, and the process is gone. */
static bool take_listener(TfyProcess *process)
{
    TfyCellAnswer answer;
    int listener = -1;
    const int code = tfy__cell_listener(process->cell, &listener, &answer);
    if (code == -EAGAIN) return true;
    stop_listening(process);
    if (code == 1) {
        fail_cell(process, &answer);
        return false;
    }
    if (code == 0) process->proxy = tfy__proxy_start(process->pool->loop, listener, &process->rules);
    if (code == 0 && !process->proxy) close(listener);
    return true;
}

static void on_cell(void *arg, uint32_t events)
{
    (void)events;
    take_listener(arg);
}

/* ---- requests without descriptors ---- */

static void flush_requests(Pool *pool)
{
    size_t sent = 0, size = sizeof(TfyWatcherRequest);
    CHECK(pool->requests.len % size == 0);
    while (pool->socket >= 0 && sent < pool->requests.len) {
        /* full, or dead and soon reported */
        if (send(pool->socket, pool->requests.data + sent, size, MSG_NOSIGNAL) < 0) break;
        sent += size;
    }
    if (sent < pool->requests.len) tend_in(pool, SOCKET_NS);
    if (!sent) return;
    memmove(pool->requests.data, pool->requests.data + sent, pool->requests.len - sent);
    CHECK(sent <= pool->requests.len);
    pool->requests.len -= sent;
}

static void request(TfyProcess *process, uint32_t kind)
{
    TfyWatcherRequest message = {.kind = kind, .id = process->id};
    CHECK(process->id && process->state != WAITING);
    tfy__buffer_add(&process->pool->requests, &message, sizeof message);
    flush_requests(process->pool);
}

/* ---- outputs ---- */

static bool outputs_ended(const TfyProcess *process)
{
    return process->streams[0].fd < 0 && process->streams[1].fd < 0;
}

static void keep_output(Stream *stream, const char *bytes, size_t len)
{
    CHECK(stream->kept->len <= stream->process->output_cap);
    size_t room = stream->process->output_cap - stream->kept->len;
    if (len > room) {
        *stream->cut = true;
        len = room;
    }
    if (len) tfy__buffer_add(stream->kept, bytes, len);
    if (stream->kept->failed) *stream->cut = true;
}

static void read_again(void *arg);

/* Reads what is there, but only a limited amount in a row: endless output must not stop the loop. Closes the
 * stream at its end. */
static void read_stream(Stream *stream)
{
    char chunk[READ_CHUNK];
    for (int i = 0; i < READS_PER_TURN; i++) {
        ssize_t len = read(stream->fd, chunk, sizeof chunk);
        if (len < 0 && errno == EINTR) continue;
        if (len < 0 && errno == EAGAIN) return;
        if (len <= 0) {
            close_stream(stream);
            return;
        }
        keep_output(stream, chunk, (size_t)len);
    }
    TfyLoop *loop = stream->process->pool->loop;
    /* one that is due now would fire in this turn */
    if (!stream->again) stream->again = tfy__timer_add(loop, tfy__now_ns(loop) + 1, read_again, stream);
}

static void read_some(Stream *stream)
{
    TfyProcess *process = stream->process;
    if (stream->fd >= 0) read_stream(stream);
    if (process->exited && outputs_ended(process)) finish(process);
}

static void read_again(void *arg)
{
    Stream *stream = arg;
    stream->again = 0;
    read_some(stream);
}

static void on_output(void *arg, uint32_t events)
{
    read_some(arg);
}

/* The tool has exited, and a process that it left behind still holds its outputs: what was printed until now is
 * the whole output. */
static void on_linger(void *arg)
{
    TfyProcess *process = arg;
    process->linger = 0;
    for (int i = 0; i < 2; i++) {
        if (process->streams[i].fd >= 0) read_stream(&process->streams[i]);
        close_stream(&process->streams[i]);
    }
    finish(process);
}

/* ---- reports of the watcher ---- */

static void note_passed(TfyProcess *process, TfyLimit limit)
{
    TfyProcessEnd *end = &process->end;
    if (limit != TFY_LIMIT_NONE && !*end->passed)
        tfy__family_say(limit, &process->request.limits, end->passed, sizeof end->passed);
}

static void note_end(TfyProcess *process, int status)
{
    TfyLoop *loop = process->pool->loop;
    TfyCellAnswer answer;
    process->exited = true;
    /* Whatever it answers was sent before it exited. */
    if (process->cell_watch >= 0 && !take_listener(process)) return;
    if (process->cell >= 0 && tfy__cell_answer(process->cell, &answer) == 1) {
        fail_cell(process, &answer);
        return;
    }
    process->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    note_passed(process, tfy__family_signal(process->end.signal, &process->request.limits));
    process->end.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    for (int i = 0; i < 2; i++) {
        if (process->streams[i].fd >= 0) read_stream(&process->streams[i]);
    }
    if (outputs_ended(process)) {
        finish(process);
        return;
    }
    process->linger = tfy__timer_add(loop, tfy__now_ns(loop) + TFY_PROCESS_LINGER_MS * NS_PER_MS, on_linger, process);
}

static void on_report(Pool *pool, const TfyWatcherReport *report)
{
    TfyProcess *process = find_process(pool, report->id);
    if (!process) return;
    if (report->kind == TFY_W_GONE && process->state != RUNNING) {
        remove_process(process);
        begin_soon(pool);
    } else if (report->kind == TFY_W_GONE) {
        process->gone = true;
    } else if (process->state == DYING) {
        return;
    } else if (report->kind == TFY_W_STARTED && report->value == TFY_W_LATE) {
        tfy__loop_fail(pool->loop, TFY_E_LOST, "the database has not renewed the lease of this process in time");
    } else if (report->kind == TFY_W_STARTED && report->value) {
        fail(process, report->value);
    } else if (report->kind == TFY_W_STARTED) {
        process->state = RUNNING;
    } else if (report->kind == TFY_W_PASSED) {
        note_passed(process, (TfyLimit)report->value);
    } else if (report->kind == TFY_W_EXITED) {
        note_end(process, report->value);
    }
}

/* ---- the watcher ---- */

static void stop_watching(Pool *pool)
{
    if (pool->lost) return;
    tfy__watch_del(pool->loop, pool->watch);
    tfy__watch_del(pool->loop, pool->end_watch);
}

/* The stubs see it too, and end their tools; their further reports are ignored. */
static void on_watcher_death(Pool *pool)
{
    stop_watching(pool);
    pool->lost = true;
    tfy__loop_fail(pool->loop, TFY_E_LOST, "the process that supervises the tools (pid %ld) was killed",
                   (long)pool->watcher);
}

static void on_end(void *arg, uint32_t events)
{
    (void)events;
    on_watcher_death(arg);
}

static void on_socket(void *arg, uint32_t events)
{
    Pool *pool = arg;
    TfyWatcherReport report;
    ssize_t len;
    (void)events;
    while ((len = recv(pool->socket, &report, sizeof report, 0)) > 0) on_report(pool, &report);
    if (len == 0 || (errno != EAGAIN && errno != EINTR))
        on_watcher_death(pool);
    else
        begin_soon(pool);
}

/* Returns 0 or an errno value. */
static int watch_watcher(Pool *pool)
{
    pool->end = (int)syscall(SYS_pidfd_open, pool->watcher, 0);
    if (pool->end < 0) return errno;
    pool->watch = tfy__watch_add(pool->loop, pool->socket, TFY_FD_READ, on_socket, pool);
    if (pool->watch < 0) return ENOMEM;
    pool->end_watch = tfy__watch_add(pool->loop, pool->end, TFY_FD_READ, on_end, pool);
    if (pool->end_watch >= 0) return 0;
    tfy__watch_del(pool->loop, pool->watch);
    return ENOMEM;
}

/* A living watcher ends everything, then itself, when the socket closes. A watcher that a tool has stopped must be
 * continued first. */
static void await_watcher(Pool *pool)
{
    kill(pool->watcher, SIGCONT);
    while (waitpid(pool->watcher, NULL, 0) < 0 && errno == EINTR) {}
}

/* 0 or an errno value. */
static int open_watcher(Pool *pool)
{
    if (pool->socket >= 0) return 0;
    const int socket = tfy__watcher_start(tfy__lock_path(pool->loop), pool->mark, &pool->watcher);
    if (socket < 0) return -socket;
    pool->socket = socket;
    const int error = watch_watcher(pool);
    if (!error) return 0;
    if (pool->end >= 0) close(pool->end);
    close(socket);
    pool->socket = -1;
    await_watcher(pool);
    return error;
}

/* When the last end of the socket is closed, nothing is left except what a stub started that was killed, too. */
static void await_lost_tools(Pool *pool)
{
    TfyWatcherReport report;
    struct pollfd end = {.fd = pool->socket, .events = POLLIN};
    const char *lock_path = tfy__lock_path(pool->loop);
    while (poll(&end, 1, LEAVE_MS) > 0 && recv(pool->socket, &report, sizeof report, 0) > 0) continue;
    if (lock_path) tfy__former_end(lock_path, LEAVE_MS);
}

static void close_watcher(Pool *pool)
{
    stop_watching(pool);
    if (pool->lost) await_lost_tools(pool);
    close(pool->end);
    close(pool->socket);
    await_watcher(pool);
}

/* ---- starting ---- */

/* An unnamed file with these bytes that cannot be changed any more; -1 with errno. */
static int sealed_file(const char *name, const char *bytes, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t done = 0;
    while (fd >= 0 && done < len) {
        ssize_t n = write(fd, bytes + done, len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        done += (size_t)n;
    }
    if (fd >= 0) fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

static int open_stream(Stream *stream, int *child_end)
{
    int pair[2];
    TfyLoop *loop = stream->process->pool->loop;
    if (pipe2(pair, O_CLOEXEC) < 0) return errno;
    *child_end = pair[1];
    fcntl(pair[0], F_SETFL, O_NONBLOCK); /* of our end only: the tool's must block */
    stream->watch = tfy__watch_add(loop, pair[0], TFY_FD_READ, on_output, stream);
    if (stream->watch < 0) {
        close(pair[0]);
        return ENOMEM;
    }
    stream->fd = pair[0];
    return 0;
}

/* The cell's end of a socket in which its policy waits, and tfy-cell. */
static int open_cell(TfyProcess *process, int *fds)
{
    int ends[2];
    const int program = tfy__sandbox_program(process->pool->loop);
    if (program < 0) return -program;
    fds[TFY_W_FD_PROGRAM] = fcntl(program, F_DUPFD_CLOEXEC, 0);
    if (fds[TFY_W_FD_PROGRAM] < 0) return errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return errno;
    fds[TFY_W_FD_CELL] = ends[1];
    process->cell = ends[0];
    fcntl(process->cell, F_SETFL, O_NONBLOCK);
    if (process->rules.hosts) {
        process->cell_watch = tfy__watch_add(process->pool->loop, process->cell, TFY_FD_READ, on_cell, process);
        if (process->cell_watch < 0) return ENOMEM;
    }
    return tfy__cell_send_datagram(process->cell, &process->policy, tfy__sandbox_layer(process->pool->loop));
}

/* Its standard files: those of the caller, or a file and two pipes. 0 or an errno value. */
static int open_standard(TfyProcess *process, int *fds)
{
    const bool given = process->standard[0] >= 0;
    for (int i = 0; i < 3 && given; i++) {
        fds[TFY_W_FD_STDIN + i] = fcntl(process->standard[i], F_DUPFD_CLOEXEC, 0);
        if (fds[TFY_W_FD_STDIN + i] < 0) return errno;
    }
    if (given) return 0;
    fds[TFY_W_FD_STDIN] = process->input ? sealed_file("tfy-stdin", process->input, process->input_len)
                                         : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[TFY_W_FD_STDIN] < 0) return errno;
    const int error = open_stream(&process->streams[0], &fds[TFY_W_FD_STDOUT]);
    return error ? error : open_stream(&process->streams[1], &fds[TFY_W_FD_STDERR]);
}

/* Opens all descriptors of a SPAWN. 0 or an errno value; fds holds those that were opened either way. */
static int open_fds(TfyProcess *process, int *fds)
{
    fds[TFY_W_FD_CWD] = fcntl(process->cwd_fd, F_DUPFD_CLOEXEC, 0);
    if (fds[TFY_W_FD_CWD] < 0) return errno;
    fds[TFY_W_FD_BLOB] = sealed_file("tfy-spawn", process->blob.data, process->blob.len);
    if (fds[TFY_W_FD_BLOB] < 0) return errno;
    const int error = open_standard(process, fds);
    return error || !process->policy.len ? error : open_cell(process, fds);
}

/* Requests the start from the watcher. 0, EAGAIN if the socket is full (nothing has changed), or an errno value. */
static int launch(TfyProcess *process)
{
    int fds[TFY_W_FD_COUNT] = {-1, -1, -1, -1, -1, -1, -1}, error = open_watcher(process->pool);
    if (!error) error = open_fds(process, fds);
    if (!error) error = tfy__watcher_send(process->pool->socket, &process->request, fds);
    if (error == EPIPE || error == ECONNRESET) error = EAGAIN; /* the watcher is dead, which will be reported soon */
    if (error) {
        close_stream(&process->streams[0]);
        close_stream(&process->streams[1]);
        close_cell(process);
    }
    for (int i = 0; i < TFY_W_FD_COUNT; i++) {
        if (fds[i] >= 0) close(fds[i]);
    }
    return error;
}

static bool is_blocked(const TfyProcess *process)
{
    for (const TfyProcess *other = process->pool->first; other; other = other->next) {
        if (other->state == DYING && strcmp(other->key, process->key) == 0) return true;
    }
    return false;
}

static TfyProcess *next_waiting(Pool *pool)
{
    if (pool->lost || pool->at_once >= TFY_PROCESS_AT_ONCE) return NULL;
    TfyProcess *process = pool->first;
    while (process && (process->state != WAITING || is_blocked(process))) process = process->next;
    return process;
}

static void start_waiting(Pool *pool)
{
    for (TfyProcess *process; (process = next_waiting(pool));) {
        int error = launch(process);
        if (error == EAGAIN && pool->socket >= 0) {
            tend_in(pool, SOCKET_NS);
            return;
        }
        process->state = ASKED;
        pool->at_once++;
        CHECK(pool->waiting > 0);
        CHECK(pool->at_once <= TFY_PROCESS_AT_ONCE);
        pool->waiting--;
        drop_start(process);
        if (error) fail(process, error);
    }
}

/* ---- a new process ---- */

/* 0 or an errno value. */
static int fill_words(TfyProcess *process, const TfyProcessSpec *spec)
{
    TfyProcessWords words = {0};
    const int error = tfy__process_words(spec, process->pool->mark, process->id, &words);
    process->request = words.request;
    if (spec->confined && !spec->confined->open) process->request.limits = spec->confined->limits;
    process->blob = words.blob;
    process->found = words.found;
    return error;
}

static int fill_policy(TfyProcess *process, const TfyConfined *confined)
{
    TfyCellPlan plan = confined->plan;
    plan.head.descriptors = TFY_MARK_FD + 1;
    if (plan.head.flags & TFY_CELL_LISTENER)
        process->rules = (TfyProxyRules){.hosts = (const char *const *)confined->hosts,
                                         .ceiling = (const char *const *)confined->most_hosts};
    return tfy__cell_datagram(&plan, &process->policy);
}

static bool copy_input(TfyProcess *process, const TfyProcessSpec *spec)
{
    if (!spec->input) return true;
    process->input = tfy__sys_malloc(spec->input_len + 1);
    process->input_len = spec->input_len;
    if (process->input) memcpy(process->input, spec->input, spec->input_len);
    return process->input;
}

/* Duplicates the standard files of the caller, if there are any. False: errno says why. */
static bool copy_standard(TfyProcess *process, const int *standard)
{
    for (int i = 0; i < 3; i++) process->standard[i] = -1;
    for (int i = 0; i < 3 && standard; i++) {
        process->standard[i] = fcntl(standard[i], F_DUPFD_CLOEXEC, 0);
        if (process->standard[i] < 0) return false;
    }
    return true;
}

static TfyProcess *new_process(Pool *pool, const TfyProcessSpec *spec)
{
    TfyProcess *process = tfy__sys_calloc(1, sizeof *process);
    if (!process) return NULL;
    if (++pool->last_id == 0) pool->last_id = 1;
    process->id = pool->last_id;
    process->cell = -1;
    process->cell_watch = -1;
    process->name = tfy__sys_strdup(spec->argv[0]);
    process->key = tfy__sys_strdup(spec->key);
    process->cwd_fd = fcntl(spec->cwd_fd, F_DUPFD_CLOEXEC, 0);
    int error = process->cwd_fd < 0 ? errno : 0;
    if (!copy_standard(process, spec->standard)) error = errno;
    process->output_cap = spec->output_cap ? spec->output_cap : tfy__output_most(pool->loop);
    process->streams[0] =
        (Stream){.process = process, .fd = -1, .kept = &process->end.out, .cut = &process->end.out_cut};
    process->streams[1] =
        (Stream){.process = process, .fd = -1, .kept = &process->end.err, .cut = &process->end.err_cut};
    link_process(pool, process);
    pool->waiting++;
    if (!error && !(process->name && process->key && copy_input(process, spec))) error = ENOMEM;
    if (!error) error = fill_words(process, spec);
    if (!error && spec->confined && !spec->confined->open) error = fill_policy(process, spec->confined);
    if (!error) return process;
    remove_process(process);
    errno = error;
    return NULL;
}

static void on_begin(void *arg)
{
    Pool *pool = arg;
    pool->begin = 0;
    flush_requests(pool);
    start_waiting(pool);
}

/* What a failed attempt left running must not work beside the next one. */
static void end_left(Pool *pool, const char *key)
{
    for (TfyProcess *process = pool->first; process; process = process->next) {
        if (process->state != LEFT || strcmp(process->key, key) != 0) continue;
        process->state = DYING;
        request(process, TFY_W_KILL);
    }
}

TfyProcess *tfy__process_start(TfyLoop *loop, const TfyProcessSpec *spec, TfyProcessHandler handler, void *arg)
{
    Pool *pool = pool_of(loop);
    TfyProcess *process = pool ? new_process(pool, spec) : NULL;
    if (!process) return NULL;
    process->handler = handler;
    process->arg = arg;
    end_left(pool, spec->key);
    begin_soon(pool);
    return process;
}

void tfy__process_abort(TfyProcess *process)
{
    Pool *pool = process->pool;
    if (process->state == WAITING || process->gone) {
        remove_process(process);
        begin_soon(pool);
        return;
    }
    quiet_process(process);
    process->state = DYING;
    process->handler = NULL;
    request(process, TFY_W_KILL);
}

void tfy__process_close(TfyLoop *loop)
{
    Pool **place = (Pool **)tfy__effect_slot(loop, TFY_M_PROCESS), *pool = *place;
    if (!pool) return;
    if (pool->begin) tfy__timer_del(loop, pool->begin);
    if (pool->socket >= 0) close_watcher(pool);
    while (pool->first) remove_process(pool->first);
    tfy__buffer_free(&pool->requests);
    free(pool);
    *place = NULL;
}

/* ---- text ---- */

TfyObj *tfy__process_text(TfyTask *task, const TfyBuffer *output, bool cut, bool *lossy)
{
    const char *bytes = output->data ? output->data : "";
    size_t len = output->len;
    if (cut) len -= tfy__utf8_torn_tail(bytes, len);
    if (tfy__utf8_broken(bytes, len) < len) *lossy = true;
    return tfy_string_of(task, bytes, len);
}

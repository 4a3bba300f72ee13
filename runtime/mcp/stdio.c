/* stdio.c: see stdio.h. */
#include "mcp/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/world.h"
#include "effects/process.h"
#include "mcp/message.h"

#define READ_CHUNK     ((size_t)1 << 16)
#define READS_PER_TURN 16                 /* chunks of one output read in a row before the loop serves others */
#define READS_AT_END   1024               /* the same of what a process that has exited left */
#define FINISH_MS      300                /* for a server to do what it was told last … */
#define FINISH_READS   16                 /* … though it says so much more */
#define EXIT_NS        INT64_C(200000000) /* from a closed file to the exit that explains it */

/* What comes out of the process, cut into lines. */
typedef struct Lines {
    TfyMcpPipe *pipe;
    int fd;         /* -1: closed */
    int64_t watch;  /* valid while fd is open */
    uint64_t again; /* timer that goes on with a long read in the next turn; 0: none */
    TfyBuffer part; /* of a line whose end has not come */
    size_t most;    /* bytes of a line */
} Lines;

struct TfyMcpPipe {
    TfyLoop *loop;
    TfyMcpPipeTakes takes;
    TfyProcess *process; /* NULL: it has exited */
    int in;              /* to its stdin; -1: closed */
    int64_t in_watch;    /* while something is unsent; -1: none */
    TfyBuffer unsent;
    size_t sent; /* bytes of it that have left */
    uint64_t given, written;
    Lines out, err;
    uint64_t exit; /* timer: it has closed a file, and its exit may explain that; 0: none */
    const char *closed;
    bool reading; /* a line is being taken */
    bool stopped; /* … and it has stopped the pipe, which is freed behind it */
};

static void write_some(TfyMcpPipe *pipe);

/* ---- the end ---- */

static void close_lines(Lines *lines)
{
    TfyLoop *loop = lines->pipe->loop;
    if (lines->again) tfy__timer_del(loop, lines->again);
    lines->again = 0;
    tfy__buffer_free(&lines->part);
    if (lines->fd < 0) return;
    tfy__watch_del(loop, lines->watch);
    close(lines->fd);
    lines->fd = -1;
}

static void watch_in_no_more(TfyMcpPipe *pipe)
{
    if (pipe->in_watch >= 0) tfy__watch_del(pipe->loop, pipe->in_watch);
    pipe->in_watch = -1;
}

static void close_in(TfyMcpPipe *pipe)
{
    if (pipe->in < 0) return;
    watch_in_no_more(pipe);
    close(pipe->in);
    pipe->in = -1;
}

static void free_pipe(TfyMcpPipe *pipe)
{
    close_in(pipe);
    close_lines(&pipe->out);
    close_lines(&pipe->err);
    if (pipe->exit) tfy__timer_del(pipe->loop, pipe->exit);
    if (pipe->process) tfy__process_abort(pipe->process);
    tfy__buffer_free(&pipe->unsent);
    free(pipe);
}

void tfy__mcp_pipe_stop(TfyMcpPipe *pipe)
{
    if (pipe->reading)
        pipe->stopped = true;
    else
        free_pipe(pipe);
}

void tfy__mcp_pipe_finish(TfyMcpPipe *pipe)
{
    char chunk[READ_CHUNK];
    struct pollfd out = {.fd = pipe->out.fd, .events = POLLIN};
    write_some(pipe);
    close_in(pipe);
    for (int i = 0; out.fd >= 0 && i < FINISH_READS; i++)
        if (poll(&out, 1, FINISH_MS) != 1 || read(out.fd, chunk, sizeof chunk) <= 0) break;
}

static void end(TfyMcpPipe *pipe, const TfyMcpPipeEnd *how)
{
    const TfyMcpPipeTakes takes = pipe->takes;
    takes.ended(takes.arg, how);
    free_pipe(pipe);
}

static void on_no_exit(void *arg)
{
    TfyMcpPipe *pipe = arg;
    pipe->exit = 0;
    end(pipe, &(TfyMcpPipeEnd){.why = pipe->closed, .started = true});
}

/* It cannot be talked to any more. Usually it has died, which is told in a moment. */
static void await_exit(TfyMcpPipe *pipe, const char *closed)
{
    if (pipe->exit || !pipe->process) return;
    pipe->closed = closed;
    pipe->exit = tfy__timer_add(pipe->loop, tfy__now_ns(pipe->loop) + EXIT_NS, on_no_exit, pipe);
}

/* ---- reading ---- */

/* Hands a line out. False: the pipe is gone. */
static bool take(Lines *lines, const char *text, size_t len)
{
    TfyMcpPipe *pipe = lines->pipe;
    if (len && text[len - 1] == '\r') len--;
    if (!len) return true;
    pipe->reading = true;
    (lines == &pipe->out ? pipe->takes.line : pipe->takes.said)(pipe->takes.arg, text, len);
    pipe->reading = false;
    const bool stopped = pipe->stopped;
    if (stopped) free_pipe(pipe);
    return !stopped;
}

/* Hands out what is kept of a line. False: the pipe is gone. */
static bool take_part(Lines *lines)
{
    TfyBuffer part = lines->part;
    lines->part = (TfyBuffer){.data = NULL};
    const bool there = take(lines, part.data, part.len);
    tfy__buffer_free(&part);
    return there;
}

/* Keeps bytes of a line that has not ended. One that is too long ends the pipe, unless it is of stderr: that comes in
 * parts. False: the pipe is gone. */
static bool keep(Lines *lines, const char *bytes, size_t len)
{
    TfyMcpPipe *pipe = lines->pipe;
    for (size_t room; len > (room = lines->most - lines->part.len); bytes += room, len -= room) {
        if (lines == &pipe->out) {
            end(pipe, &(TfyMcpPipeEnd){.why = "wrote a line above 8 MiB", .started = true});
            return false;
        }
        tfy__buffer_add(&lines->part, bytes, room);
        if (!take_part(lines)) return false;
    }
    tfy__buffer_add(&lines->part, bytes, len);
    return true;
}

/* Takes the line that the kept bytes and these make. */
static bool take_whole(Lines *lines, const char *bytes, size_t len)
{
    if (!lines->part.len && len <= lines->most) return take(lines, bytes, len);
    return keep(lines, bytes, len) && take_part(lines);
}

/* False: the pipe is gone. */
static bool cut(Lines *lines, const char *bytes, size_t len)
{
    while (len) {
        const char *lf = memchr(bytes, '\n', len);
        if (!lf) return keep(lines, bytes, len);
        if (!take_whole(lines, bytes, (size_t)(lf - bytes))) return false;
        len -= (size_t)(lf - bytes) + 1;
        bytes = lf + 1;
    }
    return true;
}

static void read_again(void *arg);

/* Reads what is there, up to so many chunks. Less than a chunk was all that there was: whatever comes behind it is an
 * event of its own, but for an end that was reported already. False: the pipe is gone. */
static bool read_lines(Lines *lines, int chunks, bool to_end)
{
    char chunk[READ_CHUNK];
    TfyLoop *loop = lines->pipe->loop;
    for (int i = 0; i < chunks && lines->fd >= 0; i++) {
        const ssize_t len = read(lines->fd, chunk, sizeof chunk);
        if (len < 0 && errno == EINTR) continue;
        if (len < 0 && errno == EAGAIN) return true;
        if (len > 0 && !cut(lines, chunk, (size_t)len)) return false;
        if (len > 0 && (size_t)len < sizeof chunk && !to_end) return true;
        if (len > 0) continue;
        close_lines(lines);
        if (lines == &lines->pipe->out) await_exit(lines->pipe, "closed its standard output");
        return true;
    }
    /* one that is due now would fire in this turn */
    if (lines->fd >= 0 && !lines->again) lines->again = tfy__timer_add(loop, tfy__now_ns(loop) + 1, read_again, lines);
    return true;
}

static void read_again(void *arg)
{
    Lines *lines = arg;
    lines->again = 0;
    read_lines(lines, READS_PER_TURN, true);
}

static void on_output(void *arg, uint32_t events)
{
    read_lines(arg, READS_PER_TURN, events & TFY_FD_HANGUP);
}

/* ---- writing ---- */

static void on_writable(void *arg, uint32_t events)
{
    (void)events;
    write_some(arg);
}

/* Only while it takes no more: a server that reads would wake the loop with each line otherwise. */
static void watch_in(TfyMcpPipe *pipe)
{
    const bool waits = pipe->in >= 0 && pipe->sent < pipe->unsent.len && !pipe->exit;
    if (!waits) watch_in_no_more(pipe);
    if (!waits || pipe->in_watch >= 0) return;
    pipe->in_watch = tfy__watch_add(pipe->loop, pipe->in, TFY_FD_WRITE, on_writable, pipe);
    if (pipe->in_watch < 0) await_exit(pipe, "does not read, and cannot be waited for");
}

static void write_some(TfyMcpPipe *pipe)
{
    TfyBuffer *unsent = &pipe->unsent;
    while (pipe->in >= 0 && pipe->sent < unsent->len) {
        const ssize_t n =
            send(pipe->in, unsent->data + pipe->sent, unsent->len - pipe->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) await_exit(pipe, "closed its standard input");
        if (n < 0) break;
        pipe->sent += (size_t)n;
        pipe->written += (size_t)n;
    }
    watch_in(pipe);
    if (pipe->sent < unsent->len / 2) return;
    unsent->len -= pipe->sent;
    memmove(unsent->data, unsent->data + pipe->sent, unsent->len);
    pipe->sent = 0;
}

bool tfy__mcp_pipe_send(TfyMcpPipe *pipe, const char *text, size_t len)
{
    TfyBuffer *unsent = &pipe->unsent;
    if (unsent->len - pipe->sent + len >= TFY_MCP_UNREAD_MOST || !tfy__buffer_reserve(unsent, len + 1)) return false;
    tfy__buffer_add(unsent, text, len);
    tfy__buffer_char(unsent, '\n');
    pipe->given += len + 1;
    write_some(pipe);
    return true;
}

uint64_t tfy__mcp_pipe_given(const TfyMcpPipe *pipe)
{
    return pipe->given;
}

uint64_t tfy__mcp_pipe_written(const TfyMcpPipe *pipe)
{
    return pipe->written;
}

/* ---- the process ---- */

static void on_process_end(void *arg, const TfyProcessEnd *ended)
{
    TfyMcpPipe *pipe = arg;
    char why[TFY_ERROR_TEXT];
    pipe->process = NULL;
    if (ended->error) {
        end(pipe, &(TfyMcpPipeEnd){.why = ended->message, .no_room = ended->no_room});
        return;
    }
    if (!read_lines(&pipe->err, READS_AT_END, true) || !read_lines(&pipe->out, READS_AT_END, true)) return;
    const char *refused = *ended->refused ? "; its sandbox refused " : "";
    if (*ended->passed)
        snprintf(why, sizeof why, "was ended: it %s", ended->passed);
    else if (ended->signal)
        snprintf(why, sizeof why, "was ended by signal %d%s%s", ended->signal, refused, ended->refused);
    else
        snprintf(why, sizeof why, "exited with status %d%s%s", ended->code, refused, ended->refused);
    end(pipe, &(TfyMcpPipeEnd){.why = why, .started = true});
}

/* Our end of an output, and the server's. 0 or an errno value. */
static int open_lines(Lines *lines, int *theirs)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return errno;
    *theirs = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* of our end only: the server's must block */
    lines->watch = tfy__watch_add(lines->pipe->loop, ends[0], TFY_FD_READ, on_output, lines);
    if (lines->watch < 0) {
        close(ends[0]);
        return ENOMEM;
    }
    lines->fd = ends[0];
    return 0;
}

static int open_in(TfyMcpPipe *pipe, int *theirs)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return errno;
    *theirs = ends[1];
    pipe->in = ends[0];
    return 0;
}

/* 0 or an errno value. */
static int start(TfyMcpPipe *pipe, const TfyMcpSpec *spec)
{
    int theirs[3] = {-1, -1, -1};
    char key[64];
    int error = open_in(pipe, &theirs[0]);
    if (!error) error = open_lines(&pipe->out, &theirs[1]);
    if (!error) error = open_lines(&pipe->err, &theirs[2]);
    snprintf(key, sizeof key, "mcp/%s", spec->name);
    const TfyProcessSpec process = {.argv = spec->argv,
                                    .env = spec->env,
                                    .key = key,
                                    .cwd_fd = spec->cwd_fd,
                                    .standard = theirs,
                                    .confined = spec->confined};
    if (!error) {
        pipe->process = tfy__process_start(pipe->loop, &process, on_process_end, pipe);
        if (!pipe->process) error = errno ? errno : ENOMEM;
    }
    for (int i = 0; i < 3; i++)
        if (theirs[i] >= 0) close(theirs[i]);
    return error;
}

TfyMcpPipe *tfy__mcp_pipe_start(TfyLoop *loop, const TfyMcpSpec *spec, const TfyMcpPipeTakes *takes)
{
    TfyMcpPipe *pipe = tfy__sys_calloc(1, sizeof *pipe);
    if (!pipe) return NULL;
    *pipe = (TfyMcpPipe){.loop = loop, .takes = *takes, .in = -1, .in_watch = -1};
    pipe->out = (Lines){.pipe = pipe, .fd = -1, .most = TFY_MCP_MESSAGE_MOST};
    pipe->err = (Lines){.pipe = pipe, .fd = -1, .most = TFY_MCP_STDERR_MOST};
    const int error = start(pipe, spec);
    if (!error) return pipe;
    free_pipe(pipe);
    errno = error;
    return NULL;
}

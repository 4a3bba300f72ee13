/* net.c: descriptors: their table, and the steps that use one: accept, read, read_line, write, readable, writable,
 * address. */
#include "effects/net.h"
#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/world.h"
#include "effects/pool.h"
#include "base/utf8.h"

#define CHUNK_SIZE   65536 /* bytes received at once */
#define LINE_LONGEST 65536 /* bytes of a line, unless the program sets another limit */
#define READ_MOST    65536 /* bytes of a read, likewise */
#define SIZE_MAX_ASK (16 << 20)
/* steps that one descriptor answers at once in a turn; then others run first */
#define AT_ONCE_MAX 64

/* ---- words ---- */

const char *tfy__net_explain(int error)
{
    switch (error) {
    case ECONNREFUSED: return "connection refused: nothing listens there";
    case ECONNRESET: return "the connection was reset by the other side";
    case EPIPE: return "the other side has closed the connection";
    case ETIMEDOUT: return "the other side does not answer";
    case ENETUNREACH:
    case EHOSTUNREACH: return "there is no route to that host";
    case EADDRINUSE: return "the address is already in use";
    case EADDRNOTAVAIL: return "this machine has no such address";
    case EMFILE:
    case ENFILE: return "too many files are open";
    case ENOENT: return "there is no such socket";
    case EAGAIN: return "too many connections already wait there";
    default: return strerror(error);
    }
}

static const char *kind_word(const TfyDescriptor *d)
{
    return d->kind == TFY_NET_LISTENER ? "listener" : "stream";
}

static void fail(TfyCall *call, int error)
{
    if (tfy__is_no_room(error) && call->outcome == TFY_NOT_DONE) { /* nothing was sent or received yet */
        tfy__call_no_room(call, error);
        return;
    }
    tfy__call_tool_error(call, error, "cannot %s: %s", call->tool->name, tfy__net_explain(error));
}

/* ---- the table ---- */

static TfyNet *net_of(TfyLoop *loop)
{
    TfyNet **place = (TfyNet **)tfy__effect_slot(loop, TFY_M_NET);
    if (*place) return *place;
    TfyNet *net = tfy__sys_calloc(1, sizeof *net);
    if (!net || !(net->chunk = tfy__sys_malloc(CHUNK_SIZE))) {
        free(net);
        return NULL;
    }
    net->loop = loop;
    return *place = net;
}

/* Serial numbers fill the buckets evenly: a handle is its own hash. */
static TfyDescriptor *by_handle(const TfyNet *net, int64_t handle)
{
    return TABLE_ITEM(tfy__table_find(&net->table, (uint64_t)handle), TfyDescriptor, link);
}

static void on_event(void *arg, uint32_t events);

/* A regular file cannot be waited for, and never has to be. */
static bool watch(TfyDescriptor *d)
{
    struct stat info;
    d->watch = -1;
    if (d->kind == TFY_NET_STDIN && fstat(d->fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
        return true;
    uint32_t events = TFY_FD_ONCE | TFY_FD_READ | (d->kind == TFY_NET_SOCKET ? TFY_FD_WRITE : 0);
    d->watch = tfy__watch_add(d->net->loop, d->fd, events, on_event, d);
    /* /dev/null and similar devices refuse to be watched, too. */
    return d->watch >= 0 || (d->kind == TFY_NET_STDIN && S_ISCHR(info.st_mode));
}

TfyDescriptor *tfy__net_add(TfyNet *net, TfyTask *task, int fd, int kind)
{
    TfyDescriptor *d = tfy__sys_calloc(1, sizeof *d);
    if (!d || !tfy__table_reserve(&net->table)) {
        free(d);
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    d->net = net;
    d->fd = fd;
    d->kind = kind;
    if (!watch(d)) {
        close(fd);
        free(d);
        errno = ENOMEM;
        return NULL;
    }
    d->handle = tfy__handles(net->loop) + ++net->serial;
    memcpy(d->run, tfy__run_uuid(task), 36);
    tfy__table_add(&net->table, &d->link, (uint64_t)d->handle);
    return d;
}

/* ---- queues ---- */

static bool gives(const TfyCall *call)
{
    return call->tool->family == TFY_F_WRITE || call->tool->family == TFY_F_WRITABLE;
}

static TfyNetQueue *queue_of(TfyDescriptor *d, const TfyCall *call)
{
    return gives(call) ? &d->gives : &d->takes;
}

/* ---- receiving ---- */

static void want(TfyDescriptor *d, uint32_t events)
{
    tfy__watch_arm(d->net->loop, d->watch, events);
}

static bool is_ready(const TfyDescriptor *d, short events)
{
    struct pollfd at = {.fd = d->fd, .events = events};
    return poll(&at, 1, 0) != 0;
}

static size_t left_over(const TfyDescriptor *d)
{
    CHECK(d->at <= d->in.len);
    return d->in.len - d->at;
}

/* Receives more bytes after those that are left over: 1; 0: there are no more; or -errno, including -EAGAIN (then
 * an event will come). */
static int receive(TfyDescriptor *d)
{
    ssize_t len;
    if (d->ended) return 0;
    do {
        if (d->blocking && d->watch >= 0 && !is_ready(d, POLLIN)) {
            len = -1;
            errno = EAGAIN;
        } else if (d->kind == TFY_NET_SOCKET) {
            len = recv(d->fd, d->net->chunk, CHUNK_SIZE, MSG_DONTWAIT);
        } else {
            len = read(d->fd, d->net->chunk, CHUNK_SIZE);
        }
    } while (len < 0 && errno == EINTR);
    if (len < 0 && errno == EAGAIN) want(d, TFY_FD_READ);
    if (len < 0 && errno == EIO && d->kind == TFY_NET_STDIN) len = 0; /* the terminal is gone */
    if (len < 0) return -errno;
    if (len == 0) d->ended = true;
    if (len > 0) tfy__buffer_add(&d->in, d->net->chunk, (size_t)len);
    return d->in.failed ? -ENOMEM : len > 0;
}

/* Gives the program the next len bytes and drops the `skipped` bytes after them. Finishes the step. */
static void hand_out(TfyDescriptor *d, TfyCall *call, size_t len, size_t skipped)
{
    TfyTask *task = call->task;
    size_t at = d->at;
    CHECK(len + skipped <= left_over(d));
    d->at += len + skipped;
    d->scanned = 0;
    TfyObj *text = tfy_string_of(task, d->in.data + at, len);
    if (text)
        tfy__call_done(call, tfy_of_obj(text));
    else
        tfy__call_panicked(call);
    if (d->at == d->in.len) {
        tfy__buffer_free(&d->in);
        d->at = 0;
    } else if (d->at > d->in.len / 2) {
        memmove(d->in.data, d->in.data + d->at, left_over(d));
        CHECK(d->at <= d->in.len);
        d->in.len -= d->at;
        d->at = 0;
    }
}

/* An optional size; false: the call has failed. */
static bool size_asked(TfyCall *call, size_t otherwise, size_t *out)
{
    const TfyObj *asked = call->args[1].o;
    int64_t size = asked ? tfy_unbox(asked).i : (int64_t)otherwise;
    *out = (size_t)size;
    if (size >= 1 && size <= SIZE_MAX_ASK) return true;
    tfy__call_tool_error(call, EINVAL, "cannot %s %lld bytes: a size must be from 1 to %d", call->tool->name,
                         (long long)size, SIZE_MAX_ASK);
    return false;
}

/* Answers "no more" as null. A failure if the result is not that. */
static void end_or_fail(TfyCall *call, int result)
{
    if (result == 0)
        tfy__call_done(call, tfy_of_obj(NULL));
    else
        fail(call, -result);
}

static bool try_read_line(TfyDescriptor *d, TfyCall *call)
{
    size_t longest;
    if (!size_asked(call, LINE_LONGEST, &longest)) return true;
    for (;;) {
        const char *from = d->in.data ? d->in.data + d->at : "";
        const char *end = memchr(from + d->scanned, '\n', left_over(d) - d->scanned);
        size_t len = end ? (size_t)(end - from) : left_over(d);
        CHECK(d->scanned <= len);
        d->scanned = len;
        if (len > longest) {
            tfy__call_tool_error(call, EMSGSIZE, "cannot read_line: the line is longer than %zu bytes", longest);
            return true;
        }
        if (end) {
            bool cr = len && from[len - 1] == '\r';
            hand_out(d, call, len - cr, 1 + (size_t)cr);
            return true;
        }
        int result = receive(d);
        if (result == 1) continue;
        if (result == -EAGAIN) return false;
        if (result == 0 && left_over(d))
            hand_out(d, call, left_over(d), 0);
        else
            end_or_fail(call, result);
        return true;
    }
}

/* How many received bytes can be handed out: whole characters, of `most` bytes together, and at least one. 0: more
 * must arrive. */
static size_t whole_characters(const TfyDescriptor *d, size_t most)
{
    const size_t there = left_over(d), len = there < most ? there : most;
    if (!there) return 0;
    const char *text = d->in.data + d->at;
    const size_t whole = len - tfy__utf8_torn_tail(text, len);
    if (whole) return whole;
    const int first = tfy__utf8_step((const unsigned char *)text, there);
    if (first > 0) return (size_t)first;
    /* a partial character that the next bytes do not continue */
    return (size_t)-first < there || d->ended ? (size_t)-first : 0;
}

static bool try_read(TfyDescriptor *d, TfyCall *call)
{
    size_t most;
    if (!size_asked(call, READ_MOST, &most)) return true;
    for (;;) {
        const size_t whole = whole_characters(d, most);
        if (whole) {
            hand_out(d, call, whole, 0);
            return true;
        }
        int result = receive(d);
        if (result == -EAGAIN) return false;
        if (result == 1 || (result == 0 && left_over(d))) continue;
        end_or_fail(call, result);
        return true;
    }
}

/* ---- sending ---- */

static bool try_write(TfyDescriptor *d, TfyNetWait *wait)
{
    TfyCall *call = wait->call;
    const TfyString *text = (const TfyString *)call->args[1].o;
    if (d->kind != TFY_NET_SOCKET || d->cut_off) {
        tfy__call_tool_error(call, EBADF,
                             d->cut_off ? "cannot write: an earlier write was stopped in the middle"
                                        : "cannot write: this is the standard input");
        return true;
    }
    while (wait->done < text->byte_len) {
        ssize_t len = send(d->fd, text->bytes + wait->done, text->byte_len - wait->done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (len < 0 && errno == EINTR) continue;
        if (len < 0 && errno == EAGAIN) {
            want(d, TFY_FD_WRITE);
            return false;
        }
        if (len < 0) {
            d->cut_off = wait->done > 0;
            fail(call, errno);
            return true;
        }
        wait->done += (size_t)len;
        CHECK(wait->done <= text->byte_len);
        call->outcome = TFY_UNKNOWN;
    }
    tfy__call_done(call, tfy_of_int((int64_t)wait->done));
    return true;
}

/* ---- waiting only ---- */

static bool try_ready(TfyDescriptor *d, TfyCall *call)
{
    bool out = call->tool->family == TFY_F_WRITABLE;
    if (out && d->kind != TFY_NET_SOCKET) {
        fail(call, EBADF);
        return true;
    }
    if (!(out || d->watch < 0 || left_over(d) || d->ended) || out) {
        if (!is_ready(d, out ? POLLOUT : POLLIN)) {
            want(d, out ? TFY_FD_WRITE : TFY_FD_READ);
            return false;
        }
    }
    tfy__call_done(call, tfy_of_int(0));
    return true;
}

/* ---- accepting ---- */

static void prepare_socket(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* Unix sockets refuse it, and do not need it */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static bool try_accept(TfyDescriptor *d, TfyCall *call)
{
    int fd;
    do {
        fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO));
    if (fd < 0 && errno == EAGAIN) {
        want(d, TFY_FD_READ);
        return false;
    }
    if (fd >= 0) prepare_socket(fd);
    TfyDescriptor *made = fd < 0 ? NULL : tfy__net_add(d->net, call->task, fd, TFY_NET_SOCKET);
    if (made)
        tfy__call_done(call, tfy_of_int(made->handle));
    else
        fail(call, errno);
    return true;
}

/* ---- address ---- */

static void give_address(TfyDescriptor *d, TfyCall *call)
{
    char text[NI_MAXHOST + 16] = "stdin";
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    int failed = 0;
    if (d->kind != TFY_NET_STDIN) {
        failed = d->kind == TFY_NET_LISTENER ? getsockname(d->fd, (struct sockaddr *)&address, &len)
                                             : getpeername(d->fd, (struct sockaddr *)&address, &len);
        if (!failed) tfy__net_address_text(&address, len, text, sizeof text);
    }
    TfyObj *shown = failed ? NULL : tfy_string_of(call->task, text, strlen(text));
    if (shown)
        tfy__call_done(call, tfy_of_obj(shown));
    else if (failed)
        fail(call, errno);
    else
        tfy__call_panicked(call);
}

/* ---- one step ---- */

/* False: it must wait. True: it is answered, and the call is freed. */
static bool attempt(TfyDescriptor *d, TfyNetWait *wait)
{
    TfyCall *call = wait->call;
    TfyHeap *heap = call->task->heap;
    uint32_t mark = tfy_mark(call->task);
    bool answered = true;
    switch (call->tool->family) {
    case TFY_F_ACCEPT: answered = try_accept(d, call); break;
    case TFY_F_READ: answered = try_read(d, call); break;
    case TFY_F_READ_LINE: answered = try_read_line(d, call); break;
    case TFY_F_WRITE: answered = try_write(d, wait); break;
    case TFY_F_READABLE:
    case TFY_F_WRITABLE: answered = try_ready(d, call); break;
    default: give_address(d, call); break;
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
    return answered;
}

static void serve(TfyDescriptor *d, TfyNetQueue *queue)
{
    for (TfyNetWait *wait; (wait = queue->first) && attempt(d, wait);) {
        LIST2_REMOVE(queue, wait, prev, next);
        free(wait);
    }
}

static void on_event(void *arg, uint32_t events)
{
    TfyDescriptor *d = arg;
    if (events & (TFY_FD_READ | TFY_FD_HANGUP)) serve(d, &d->takes);
    if (events & (TFY_FD_WRITE | TFY_FD_HANGUP)) serve(d, &d->gives);
}

static void next_turn(void *arg)
{
    TfyDescriptor *d = arg;
    d->again = 0;
    serve(d, &d->takes);
    serve(d, &d->gives);
}

static bool look_in_next_turn(TfyDescriptor *d)
{
    if (!d->again) d->again = tfy__timer_add(d->net->loop, tfy__now_ns(d->net->loop), next_turn, d);
    return d->again != 0;
}

/* A peer that sends faster than the program reads must not keep the other tasks from running. */
static bool may_answer_at_once(TfyDescriptor *d)
{
    int64_t now_ns = tfy__now_ns(d->net->loop);
    if (d->turn_ns != now_ns) d->at_once = 0;
    d->turn_ns = now_ns;
    return d->at_once++ < AT_ONCE_MAX || !look_in_next_turn(d);
}

static void begin(TfyDescriptor *d, TfyCall *call)
{
    TfyNetQueue *queue = queue_of(d, call);
    TfyNetWait wait = {.call = call, .on = d};
    if (!queue->first && may_answer_at_once(d) && attempt(d, &wait)) return;
    TfyNetWait *kept = tfy__sys_malloc(sizeof *kept);
    if (!kept) {
        d->cut_off |= wait.done > 0;
        fail(call, ENOMEM);
        return;
    }
    *kept = wait;
    call->state = kept;
    LIST2_APPEND(queue, kept, prev, next);
}

/* ---- the standard input ---- */

/* An open file description of our own can be made nonblocking without an effect on other processes; if there
 * cannot be one, each read polls first. */
static int open_input(bool *blocking)
{
    struct stat info;
    *blocking = true;
    bool shared = fstat(STDIN_FILENO, &info) < 0 || S_ISREG(info.st_mode) || S_ISSOCK(info.st_mode);
    int fd = shared ? -1 : open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) *blocking = false;
    return fd >= 0 ? fd : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

static void begin_stdin(TfyNet *net, TfyCall *call)
{
    if (tfy__is_served(net->loop)) {
        tfy__call_tool_error(call, ENOTTY, "cannot stdin: this process serves many runs, and none of them reads it");
        return;
    }
    TfyDescriptor *d = net->standard_in ? by_handle(net, net->standard_in) : NULL;
    if (d && !d->closing && memcmp(d->run, tfy__run_uuid(call->task), 36) == 0) {
        tfy__call_done(call, tfy_of_int(d->handle));
        return;
    }
    if (d && !d->closing) {
        tfy__call_tool_error(call, EBUSY, "cannot stdin: another run of this process reads it");
        return;
    }
    bool blocking;
    int fd = open_input(&blocking);
    d = fd < 0 ? NULL : tfy__net_add(net, call->task, fd, TFY_NET_STDIN);
    if (!d) {
        fail(call, errno);
        return;
    }
    d->blocking = blocking;
    net->standard_in = d->handle;
    tfy__call_done(call, tfy_of_int(d->handle));
}

/* ---- the performer ---- */

static void raise_lost(TfyCall *call)
{
    static const char said[] = "it was opened by an earlier process and is gone; open it again";
    TfyObj *text = tfy_string_of(call->task, said, sizeof said - 1);
    if (text)
        tfy__call_fail(call, &tfy_type_lost, (TfyValue[]){tfy_of_obj(text)});
    else
        tfy__call_panicked(call);
}

/* Whether this loop has given out the number. In a shared database it need not have, even if it looks like its own: there a number
 * has the session in it, and an imported run has numbers of a file's openings. */
static bool is_ours(const TfyNet *net, int64_t handle)
{
    const int64_t before = tfy__handles(net->loop);
    return handle > before && handle <= before + net->serial;
}

static void start(TfyCall *call)
{
    TfyHeap *heap = call->task->heap;
    uint32_t mark = tfy_mark(call->task);
    TfyNet *net = net_of(call->loop);
    uint8_t family = call->tool->family;
    call->outcome = TFY_NOT_DONE; /* true for all of them but a write that has started */
    if (!net) {
        fail(call, ENOMEM);
    } else if (family == TFY_F_LISTEN || family == TFY_F_CONNECT) {
        tfy__net_dial(net, call);
    } else if (family == TFY_F_STDIN) {
        begin_stdin(net, call);
    } else {
        int64_t handle = call->args[0].i;
        TfyDescriptor *d = by_handle(net, handle);
        const bool own = d && memcmp(d->run, tfy__run_uuid(call->task), 36) == 0;
        if (own && !d->closing)
            begin(d, call);
        else if ((d && !own) || !is_ours(net, handle))
            raise_lost(call);
        else
            tfy__call_tool_error(call, EBADF, "cannot %s: the descriptor is closed", call->tool->name);
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void abort_call(TfyCall *call)
{
    if (call->tool->family == TFY_F_LISTEN || call->tool->family == TFY_F_CONNECT) {
        tfy__net_dial_abort(call);
        return;
    }
    TfyNetWait *wait = call->state;
    TfyDescriptor *d = wait->on;
    d->cut_off |= wait->done > 0;
    LIST2_REMOVE(queue_of(d, call), wait, prev, next);
    free(wait);
    if (d->gives.first && d->cut_off) look_in_next_turn(d); /* they wait for something that will not come */
}

/* ---- closing ---- */

static void end_queue(TfyDescriptor *d, TfyNetQueue *queue)
{
    for (TfyNetWait *wait; (wait = queue->first);) {
        TfyCall *call = wait->call;
        LIST2_REMOVE(queue, wait, prev, next);
        free(wait);
        tfy__call_tool_error(call, ECANCELED, "cannot %s: the %s was closed meanwhile", call->tool->name, kind_word(d));
    }
}

static void destroy(TfyDescriptor *d)
{
    TfyNet *net = d->net;
    end_queue(d, &d->takes);
    end_queue(d, &d->gives);
    tfy__table_remove(&net->table, &d->link);
    if (net->standard_in == d->handle) net->standard_in = 0;
    tfy__timer_del(net->loop, d->again);
    if (d->watch >= 0) tfy__watch_del(net->loop, d->watch);
    close(d->fd);
    if (d->path) unlink(d->path);
    free(d->path);
    tfy__buffer_free(&d->in);
    free(d);
}

static void let_go_one(TfyDescriptor *d, bool durable)
{
    d->closing = true;
    if (durable) destroy(d);
}

static void let_go(TfyLoop *loop, const char *run_uuid, int64_t handle, bool durable)
{
    TfyNet *net = *tfy__effect_slot(loop, TFY_M_NET);
    if (!net) return;
    if (handle) {
        TfyDescriptor *d = by_handle(net, handle);
        if (d && strcmp(d->run, run_uuid) == 0) let_go_one(d, durable);
        return;
    }
    for (TfyLink *link = tfy__table_walk(&net->table, NULL), *next; link; link = next) {
        TfyDescriptor *d = TABLE_ITEM(link, TfyDescriptor, link);
        next = tfy__table_walk(&net->table, link);
        if (strcmp(d->run, run_uuid) == 0) let_go_one(d, durable);
    }
}

static void close_net(TfyLoop *loop)
{
    TfyNet **place = (TfyNet **)tfy__effect_slot(loop, TFY_M_NET), *net = *place;
    tfy__pool_close(loop);
    if (!net) return;
    for (TfyLink *link = tfy__table_walk(&net->table, NULL), *next; link; link = next) {
        next = tfy__table_walk(&net->table, link);
        destroy(TABLE_ITEM(link, TfyDescriptor, link));
    }
    tfy__table_free(&net->table);
    free(net->chunk);
    free(net);
    *place = NULL;
}

const TfyPerformer tfy__perform_net = {
    .name = "net", .start = start, .abort = abort_call, .close = close_net, .let_go = let_go};

/* output.c: effects that do not suspend, and everything that leaves the process.
 *
 * Output commit: text, events and reports are in one queue, each with the ticket that must be durable before it
 * leaves. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/loop/state.h"
#include "core/loop/outlet.h"

#define LAST_READ_MS 1000 /* how long a reader may pause after a signal has come */

/* ---- the queue ---- */

void tfy__out_push(TfyLoop *loop, int to, TfyTicket ticket, const char *text, size_t len)
{
    Outgoing *out = malloc(sizeof *out);
    char *copy = malloc(len + 1);
    if (!out || !copy) {
        free(out);
        free(copy);
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for output");
        return;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    *out = (Outgoing){.ticket = ticket, .text = copy, .len = len};
    out->to = to;
    CHECK(!loop->out.last || loop->out.last->ticket <= ticket);
    if (to == OUT_STDOUT || to == OUT_STDERR) loop->out_bytes += len;
    LIST_APPEND(&loop->out, out, next);
}

void tfy__out_push_event(TfyLoop *loop, const char *text, uint64_t seq, const TfyPalEvent *event)
{
    Outgoing *before = loop->out.last;
    tfy__out_push(loop, OUT_EVENT, tfy__out_ticket(loop), text, event->len);
    if (loop->out.last == before) return;
    loop->out.last->seq = seq;
    loop->out.last->event = *event;
}

/* Another process may have made our output nonblocking; a line that does not fit now is not lost. */
static bool is_passing(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (errno == EAGAIN) poll(&ready, 1, -1);
    return errno == EAGAIN || errno == EINTR;
}

/* A closed reader ends the output, not the run: everything is in the log. A full disk is reported. */
static void output_ends(TfyLoop *loop)
{
    const char *reason = strerror(errno);
    loop->stdout_error = errno;
    if (errno != EPIPE)
        tfy__report_text(loop, "cannot write to standard output (%s); 'tfy output' shows what the run prints\n",
                         reason);
    loop->stdout_closed = true;
}

static void write_all(TfyLoop *loop, int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && is_passing(fd)) continue;
        if (n < 0) {
            if (fd == STDOUT_FILENO) output_ends(loop);
            return;
        }
        text += n;
        len -= (size_t)n;
    }
}

/* ---- outlets ---- */

static bool same_file(int a, int b)
{
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Regular files never block; worlds of tests have no threads. */
static bool never_blocks(const TfyLoop *loop, int fd)
{
    struct stat st;
    return loop->options.world || fstat(fd, &st) < 0 || S_ISREG(st.st_mode);
}

static TfyOutlet *outlet_of(TfyLoop *loop, int fd)
{
    const int other = fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO;
    if (loop->outlets[fd] || loop->direct[fd]) return loop->outlets[fd];
    loop->direct[fd] = never_blocks(loop, fd);
    if (loop->direct[fd] || !tfy__wake_open(loop)) return NULL;
    loop->outlets[fd] =
        loop->outlets[other] && same_file(fd, other) ? loop->outlets[other] : tfy__outlet_open(loop->wake_fd);
    return loop->outlets[fd];
}

/* Waits until the outlet is empty. patient: without end; otherwise only while it is being read. */
static bool await_empty(TfyLoop *loop, TfyOutlet *outlet, bool patient)
{
    size_t before = SIZE_MAX;
    while (!tfy__outlet_want(outlet, 0)) {
        const size_t held = tfy__outlet_held(outlet);
        struct pollfd woken = {.fd = loop->wake_fd, .events = POLLIN};
        uint64_t count;
        const bool patience = patient && !loop->interrupted;
        if (!patience && (held == before || loop->interrupted > 1)) return false;
        before = patience ? SIZE_MAX : held;
        if (poll(&woken, 1, patience ? -1 : LAST_READ_MS) > 0) (void)!read(loop->wake_fd, &count, sizeof count);
    }
    return true;
}

/* There is no memory to queue the text. It can be written at once after the text that is queued, if that is being
 * read; otherwise the process must end, since it can neither wait nor lose the text. */
static void write_unqueued(TfyLoop *loop, TfyOutlet *outlet, int fd, const char *text, size_t len)
{
    const bool is_empty = await_empty(loop, outlet, false);
    /* the loop handles the events that the wait has consumed */
    (void)!write(loop->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    if (is_empty)
        write_all(loop, fd, text, len);
    else
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for output that nobody reads");
}

static void let_bytes_out(TfyLoop *loop, int fd, const char *text, size_t len)
{
    TfyOutlet *outlet = outlet_of(loop, fd);
    if (!outlet)
        write_all(loop, fd, text, len);
    else if (!tfy__outlet_put(outlet, fd, text, len))
        write_unqueued(loop, outlet, fd, text, len);
}

static bool is_terminal(TfyLoop *loop, int fd)
{
    if (!loop->terminal[fd]) loop->terminal[fd] = !loop->options.world && isatty(fd) ? 1 : -1;
    return loop->terminal[fd] > 0;
}

/* ---- the status line ---- */

#define ERASED "\r\033[K"

static void erase_status(TfyLoop *loop)
{
    if (!loop->status_shown) return;
    loop->status_shown = false;
    let_bytes_out(loop, STDERR_FILENO, ERASED, strlen(ERASED));
}

/* Nothing is drawn behind a text that has not ended its line, such as a question, and nothing for a terminal that was
 * stopped (Ctrl-S). */
void tfy__out_status(TfyLoop *loop, const char *text)
{
    TfyBuffer shown = {0};
    const TfyOutlet *outlet = outlet_of(loop, STDERR_FILENO);
    if (!*text) erase_status(loop);
    if (!*text || loop->mid_line || !is_terminal(loop, STDERR_FILENO)) return;
    if (outlet && tfy__outlet_held(outlet)) return;
    tfy__buffer_text(&shown, "\r");
    tfy__buffer_shown(&shown, text, strlen(text));
    tfy__buffer_text(&shown, "\033[K");
    if (!shown.failed) let_bytes_out(loop, STDERR_FILENO, shown.data, shown.len);
    loop->status_shown |= !shown.failed;
    tfy__buffer_free(&shown);
}

void tfy__out_line_ended(TfyLoop *loop)
{
    loop->mid_line = false;
}

/* For a terminal, control sequences are made visible; everything else receives the bytes. */
static void let_out(TfyLoop *loop, int fd, const char *text, size_t len)
{
    TfyBuffer shown = {0};
    if (!is_terminal(loop, fd)) {
        let_bytes_out(loop, fd, text, len);
        return;
    }
    erase_status(loop);
    if (len) loop->mid_line = text[len - 1] != '\n';
    tfy__buffer_shown(&shown, text, len);
    if (shown.failed)
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for output");
    else
        let_bytes_out(loop, fd, shown.data ? shown.data : "", shown.len);
    tfy__buffer_free(&shown);
}

void tfy__out_text(TfyLoop *loop, int fd, const char *text, size_t len)
{
    TfyOutlet *outlet = outlet_of(loop, fd);
    if (fd != STDERR_FILENO || !outlet || tfy__outlet_held(outlet) < TFY_OUTLET_SPARE)
        let_out(loop, fd, text, len);
    else if (!loop->left_out++)
        tfy__outlet_want(outlet, TFY_OUTLET_FULL / 2);
}

/* Text waits twice: in the loop's queue until its record is durable, then in the outlet until it is read. */
static size_t waiting_text(const TfyLoop *loop, int fd)
{
    return loop->out_bytes + (loop->outlets[fd] ? tfy__outlet_held(loop->outlets[fd]) : 0);
}

/* The outlet is opened here, too: a task that prints a lot is held back before its first line is durable. */
static bool is_full(TfyLoop *loop, int fd)
{
    if (waiting_text(loop, fd) <= TFY_OUTLET_FULL || loop->options.quiet) return false;
    if (fd == STDOUT_FILENO && (loop->options.on_output || loop->stdout_closed)) return false;
    TfyOutlet *const outlet = outlet_of(loop, fd);
    return outlet && !tfy__outlet_error(outlet, fd);
}

void tfy__out_charge(TfyTask *task, int fd)
{
    if (is_full(task->loop, fd)) task->state |= T_MUFFLED;
}

static bool set_aside(TfyLoop *loop, TfyTask *task)
{
    if (!GROW(loop->muffled, loop->muffled_cap, loop->muffled_count + 1, 64)) return false;
    loop->muffled[loop->muffled_count++] = slot_of(loop, task);
    return true;
}

/* Has the text shrunk to a half? If not, a later flush or the outlets tell when to ask again. */
static bool has_room(TfyLoop *loop)
{
    bool is_there = loop->out_bytes <= TFY_OUTLET_FULL / 2;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (loop->outlets[fd] && !tfy__outlet_want(loop->outlets[fd], TFY_OUTLET_FULL / 2)) is_there = false;
    return is_there;
}

/* A kill lets it run: it must clean up, and that does not depend on a reader. */
bool tfy__out_holds(TfyTask *task)
{
    TfyLoop *loop = task->loop;
    const int fd = is_full(loop, STDOUT_FILENO) ? STDOUT_FILENO : STDERR_FILENO;
    const bool waits = !(task->state & (T_CANCEL | T_REPLAYING)) && is_full(loop, fd);
    task->state &= ~(uint32_t)T_MUFFLED;
    if (!waits || has_room(loop) || !set_aside(loop, task)) return false;
    task->state |= T_QUEUED | T_MUFFLED;
    set_state(task, TFY_TASK_READY);
    return true;
}

void tfy__out_release(TfyLoop *loop)
{
    const uint32_t count = loop->muffled_count;
    loop->muffled_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        TfyTask *task = task_at(loop, loop->muffled[i]);
        CHECK(task->state & T_QUEUED || task->state & T_FREE);
        task->state &= ~(uint32_t)T_QUEUED;
        tfy__ready_push(loop, task);
    }
}

static void tell_left_out(TfyLoop *loop)
{
    if (!loop->left_out || tfy__outlet_held(loop->outlets[STDERR_FILENO]) > TFY_OUTLET_FULL) return;
    tfy__report_text(loop, "%llu messages were dropped here, since nobody read them\n",
                     (unsigned long long)loop->left_out);
    loop->left_out = 0;
}

void tfy__out_look(TfyLoop *loop)
{
    const int reason =
        loop->outlets[STDOUT_FILENO] ? tfy__outlet_error(loop->outlets[STDOUT_FILENO], STDOUT_FILENO) : 0;
    errno = reason;
    if (reason && !loop->stdout_closed) output_ends(loop);
    tell_left_out(loop);
    tfy__out_release(loop);
}

int tfy__out_await(TfyLoop *loop)
{
    TfyOutlet *const out = loop->outlets[STDOUT_FILENO], *const err = loop->outlets[STDERR_FILENO];
    if (out) await_empty(loop, out, true);
    if (out) tfy__out_look(loop);
    if (err) await_empty(loop, err, true);
    if (out && !loop->stdout_error && tfy__outlet_held(out)) return EINTR;
    return loop->stdout_error;
}

int tfy__out_finish(TfyLoop *loop)
{
    if (loop->log && !loop->failure && tfy__log_sync(loop->log) >= 0) tfy__out_flush(loop);
    return tfy__out_await(loop);
}

/* A listener in the process receives the event first; then it is kept for subscribers. */
static void publish(TfyLoop *loop, Outgoing *out)
{
    if (loop->options.on_event) loop->options.on_event(loop->options.state, out->text, out->len);
    if (!loop->pal) return;
    out->event.text = out->text;
    tfy__pal_push(loop->pal, out->seq, &out->event);
    out->text = NULL;
}

/* Tells the performers that a descriptor is not needed any more. */
static void let_go(TfyLoop *loop, const char *run_uuid, int64_t handle, bool durable)
{
    for (int family = 0; family < TFY_F_COUNT; family++) {
        const TfyPerformer *performer = performer_once(loop, family);
        if (performer && performer->let_go) performer->let_go(loop, run_uuid, handle, durable);
    }
}

static void out_one(TfyLoop *loop, Outgoing *out)
{
    const TfyOptions *options = &loop->options;
    switch (out->to) {
    case OUT_STDOUT:
        if (options->on_output)
            options->on_output(options->state, out->text, out->len);
        else if (!options->quiet && !loop->stdout_closed)
            let_out(loop, STDOUT_FILENO, out->text, out->len);
        break;
    case OUT_STDERR:
        if (!options->quiet) let_out(loop, STDERR_FILENO, out->text, out->len);
        break;
    case OUT_EVENT: publish(loop, out); break;
    case OUT_LET_GO: let_go(loop, out->text, out->arg, true); break;
    case OUT_DOUBT: tfy__person_tell_doubt(loop, out->arg); break;
    case OUT_NUDGE: break;
    }
}

void tfy__out_flush(TfyLoop *loop)
{
    TfyTicket durable = loop->log ? tfy__log_durable(loop->log) : INT64_MAX;
    bool published = false;
    while (loop->out.first && loop->out.first->ticket <= durable) {
        Outgoing *out = LIST_TAKE(&loop->out, next);
        published |= out->to == OUT_EVENT || out->to == OUT_NUDGE;
        if (out->to == OUT_STDOUT || out->to == OUT_STDERR) {
            CHECK(loop->out_bytes >= out->len);
            loop->out_bytes -= out->len;
        }
        out_one(loop, out);
        free(out->text);
        free(out);
    }
    if (published && loop->published) loop->published(loop->published_state);
    if (loop->muffled_count && has_room(loop)) tfy__out_release(loop);
}

void tfy__out_free(TfyLoop *loop)
{
    for (Outgoing *out; (out = LIST_TAKE(&loop->out, next));) {
        free(out->text);
        free(out);
    }
    for (int fd = STDERR_FILENO; fd >= STDOUT_FILENO; fd--) {
        if (loop->outlets[fd] != loop->outlets[fd - 1]) tfy__outlet_close(loop->outlets[fd]);
        loop->outlets[fd] = NULL;
    }
    free(loop->muffled);
}

TfyTicket tfy__out_ticket(const TfyLoop *loop)
{
    return loop->log ? tfy__log_last(loop->log) : 0;
}

/* ---- descriptors ---- */

void tfy__out_let_go(TfyLoop *loop, const char *run_uuid, int64_t handle)
{
    if (loop->replay_only || !loop->effect_slots[TFY_M_NET]) return;
    let_go(loop, run_uuid, handle, false);
    tfy__out_push(loop, OUT_LET_GO, tfy__out_ticket(loop), run_uuid, strlen(run_uuid));
    if (loop->out.last) loop->out.last->arg = handle;
}

bool tfy_close_descriptor(TfyTask *task, int64_t handle)
{
    if (task->state & T_HALTED) return false;
    tfy__out_let_go(task->loop, rest_of(task)->run->uuid, handle);
    return true;
}

void tfy__report_text(TfyLoop *loop, const char *format, ...)
{
    if (loop->replay_only) return;
    TfyBuffer out = {0};
    va_list args;
    va_start(args, format);
    tfy__buffer_vprintf(&out, format, args);
    va_end(args);
    if (!out.failed) {
        if (loop->options.log_json)
            tfy__line_report(loop, out.data, out.len);
        else
            tfy__out_push(loop, OUT_STDERR, tfy__out_ticket(loop), out.data, out.len);
    }
    tfy__buffer_free(&out);
}

/* ---- print, log, emit ---- */

void tfy__print_to_stderr(TfyLoop *loop)
{
    loop->prints_to_stderr = true;
}

/* The content of an Output record, and where its text goes. */
typedef struct Saying {
    const char *to;
    const TfyString *text, *level, *stage;
    const int64_t *progress; /* NULL: it tells none; else how much is done, and of how much */
} Saying;

static void saying_payload(TfyBuffer *out, const Saying *saying)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_TO, saying->to);
    tfy__put_string(out, TFY_P_TEXT, &saying->text->head);
    if (saying->level) tfy__put_string(out, TFY_P_LEVEL, &saying->level->head);
    if (saying->stage) tfy__put_string(out, TFY_P_STAGE, &saying->stage->head);
    if (saying->progress) tfy__put_int(out, TFY_P_DONE, saying->progress[0]);
    if (saying->progress) tfy__put_int(out, TFY_P_TOTAL, saying->progress[1]);
    tfy__put_end(out);
}

static void saying_out(TfyTask *task, const TfyPoint *point, const Saying *saying)
{
    TfyLoop *loop = task->loop;
    const TfyString *text = saying->text;
    if (strcmp(saying->to, "pal") == 0) {
        tfy__activity_say(task, point, saying->stage->bytes, NULL, text->bytes, text->byte_len);
    } else if (strcmp(saying->to, "log") == 0) {
        const char *level = saying->level ? saying->level->bytes : "info";
        tfy__line_say(task, point, level, text->bytes, text->byte_len);
        tfy__out_charge(task, STDERR_FILENO);
        tfy__activity_say(task, point, "Log", level, text->bytes, text->byte_len);
    } else {
        const bool aside = loop->prints_to_stderr;
        const bool heard = !loop->options.quiet && !loop->stdout_closed;
        if (!aside && !heard && !loop->options.on_output) return; /* there is no listener */
        TfyBuffer line = {0};
        tfy__buffer_add(&line, text->bytes, text->byte_len);
        tfy__buffer_char(&line, '\n');
        if (!line.failed)
            tfy__out_push(loop, aside ? OUT_STDERR : OUT_STDOUT, tfy__out_ticket(loop), line.data, line.len);
        tfy__out_charge(task, aside ? STDERR_FILENO : STDOUT_FILENO);
        tfy__buffer_free(&line);
    }
}

static bool say(TfyTask *task, const TfyPoint *point, const Saying *saying)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    rest->log.step++;
    const TfyLogRecord *record;
    if (!tfy__history_expect(rest, TFY_R_OUTPUT, point->number, &record)) return false;
    TfyBuffer out = {0};
    saying_payload(&out, saying);
    bool ok = !out.failed;
    if (!ok) {
        tfy__buffer_refused(task, &out);
    } else if (record && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(rest, record, "it says %s", out.data);
        ok = false;
    } else if (record) {
        tfy__history_take(rest);
        /* shown again; a resumed run has printed it already */
        if (task->loop->replay_only) saying_out(task, point, saying);
    } else {
        ok = tfy__record_append(rest, TFY_R_OUTPUT, rest->log.step, point->number, &out) > 0;
        if (ok && task->loop->test)
            tfy__test_said(task->loop->test, strcmp(saying->to, "stdout") == 0, saying->text->bytes,
                           saying->text->byte_len);
        if (ok)
            saying_out(task, point, saying);
        else
            tfy__sched_halt(task);
    }
    tfy__buffer_free(&out);
    return ok;
}

bool tfy_print(TfyTask *task, const TfyPoint *point, TfyObj *text)
{
    return say(task, point, &(Saying){.to = "stdout", .text = (TfyString *)text});
}

bool tfy_log(TfyTask *task, const TfyPoint *point, TfyObj *text, TfyObj *level)
{
    return say(task, point, &(Saying){.to = "log", .text = (TfyString *)text, .level = (TfyString *)level});
}

bool tfy_emit(TfyTask *task, const TfyPoint *point, TfyObj *stage, TfyObj *text)
{
    return say(task, point, &(Saying){.to = "pal", .text = (TfyString *)text, .stage = (TfyString *)stage});
}

/* An event of the stage Progress. Its text begins with the numbers, for people and for readers that know nothing else. */
bool tfy_progress(TfyTask *task, const TfyPoint *point, int64_t done, int64_t total, TfyObj *text)
{
    static const char stage[] = "Progress";
    const TfyString *words = (TfyString *)text;
    TfyBuffer said = {0};
    tfy__buffer_printf(&said, "%lld", (long long)done);
    if (total > 0) tfy__buffer_printf(&said, "/%lld", (long long)total);
    if (words && words->byte_len) tfy__buffer_char(&said, ' ');
    if (words) tfy__buffer_add(&said, words->bytes, words->byte_len);
    TfyObj *line = said.failed ? NULL : tfy_string_of(task, said.data, said.len),
           *name = line ? tfy_string_of(task, stage, sizeof stage - 1) : NULL;
    if (said.failed) tfy__buffer_refused(task, &said);
    tfy__buffer_free(&said);
    return name && say(task, point,
                       &(Saying){.to = "pal",
                                 .text = (TfyString *)line,
                                 .stage = (TfyString *)name,
                                 .progress = (int64_t[]){done, total}});
}

/* ---- values from outside ---- */

static int64_t read_clock(TfyTask *task, int64_t step)
{
    const TfyLoop *loop = task->loop;
    const TfyRehearsal *rehearsal = loop->rehearsal;
    int64_t now_ms;
    if (rehearsal && rehearsal->now(rehearsal->state, task, step, &now_ms)) return now_ms;
    return loop->world.wall_ms(loop->world.state);
}

bool tfy_now(TfyTask *task, const TfyPoint *point, int64_t *out)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    rest->log.step++;
    const TfyLogRecord *record;
    if (!tfy__history_expect(rest, TFY_R_VALUE, point->number, &record)) return false;
    if (record) {
        *out = tfy__record_int(record, TFY_P_NOW);
        tfy__history_take(rest);
        return true;
    }
    *out = read_clock(task, rest->log.step);
    TfyBuffer payload = {0};
    tfy__put_begin(&payload);
    tfy__put_int(&payload, TFY_P_NOW, *out);
    tfy__put_end(&payload);
    bool ok = tfy__record_append(rest, TFY_R_VALUE, rest->log.step, point->number, &payload) > 0;
    tfy__buffer_free(&payload);
    if (!ok) tfy__sched_halt(task);
    return ok;
}

bool tfy_self(TfyTask *task, TfyObj **out)
{
    const char *path = rest_of(task)->log.path;
    return (*out = tfy_string_of(task, path, strlen(path))) != NULL;
}

/* The n-th number of a task follows from its run's seed, its path and n: nothing is recorded, and every replay
 * draws the same. */
static uint64_t draw(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    XXH64_hash_t seed = XXH3_64bits_withSeed(rest->log.path, strlen(rest->log.path), tfy__fork_seed(rest));
    uint64_t count = ++rest->randoms;
    return XXH3_64bits_withSeed(&count, sizeof count, seed);
}

bool tfy_random(TfyTask *task, double *out)
{
    *out = (double)(draw(task) >> 11) * 0x1p-53;
    return true;
}

bool tfy_random_int(TfyTask *task, uint32_t line, int64_t from, int64_t to, int64_t *out)
{
    if (from > to) return tfy_panic(task, line, "random_int: %lld is above %lld", (long long)from, (long long)to);
    uint64_t span = (uint64_t)to - (uint64_t)from + 1, number = draw(task);
    if (span) { /* numbers at or above the largest multiple of span would favour the low ones */
        uint64_t bound = UINT64_MAX - UINT64_MAX % span;
        while (number >= bound) number = draw(task);
        number %= span;
    }
    *out = (int64_t)((uint64_t)from + number);
    return true;
}

bool tfy_uuid(TfyTask *task, TfyObj **out)
{
    uint64_t a = draw(task), b = draw(task);
    char text[37];
    snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16) & 0xffff,
             (unsigned)a & 0xfff, ((unsigned)(b >> 48) & 0x3fff) | 0x8000, (unsigned long long)(b & 0xffffffffffffu));
    return (*out = tfy_string_of(task, text, 36)) != NULL;
}

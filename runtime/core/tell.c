/* tell.c: effects that do not suspend, and everything that leaves the process.
 *
 * Output commit: text, events and reports stand in one queue, each with the lsn that must be durable before it goes out. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core.h"
#include "rehearse.h"

/* ---- the queue ---- */

void tfy__out_push(TfyLoop *loop, int to, int64_t lsn, const char *text, size_t len)
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
    *out = (Outgoing){.lsn = lsn, .text = copy, .len = len};
    out->to = to;
    if (loop->out_last)
        loop->out_last->next = out;
    else
        loop->out_first = out;
    loop->out_last = out;
}

void tfy__out_push_event(TfyLoop *loop, const char *text, uint64_t seq, const TfyPalEvent *event)
{
    Outgoing *before = loop->out_last;
    tfy__out_push(loop, OUT_EVENT, tfy__out_lsn(loop), text, event->len);
    if (loop->out_last == before) return;
    loop->out_last->seq = seq;
    loop->out_last->event = *event;
}

/* Somebody else may have made our output non-blocking; a line that does not fit now is no line that is lost. */
static bool is_passing(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (errno == EAGAIN) poll(&ready, 1, -1);
    return errno == EAGAIN || errno == EINTR;
}

/* A reader that went away ends the output, not the run: it is all in the log. A disk that is full is worth a word. */
static void output_ends(TfyLoop *loop)
{
    const char *reason = strerror(errno);
    if (errno != EPIPE)
        tfy__report_text(loop, "standard output cannot be written (%s); 'tfy output' shows what the run prints\n",
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

/* Whoever listens in the process hears it first; then it is kept for subscribers. */
static void publish(TfyLoop *loop, Outgoing *out)
{
    if (loop->options.on_event) loop->options.on_event(loop->options.state, out->text, out->len);
    if (!loop->pal) return;
    out->event.text = out->text;
    tfy__pal_push(loop->pal, out->seq, &out->event);
    out->text = NULL;
}

/* Tells whoever gives out descriptors that one is not needed any more. */
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
            write_all(loop, STDOUT_FILENO, out->text, out->len);
        break;
    case OUT_STDERR:
        if (!options->quiet) write_all(loop, STDERR_FILENO, out->text, out->len);
        break;
    case OUT_EVENT: publish(loop, out); break;
    case OUT_LET_GO: let_go(loop, out->text, out->arg, true); break;
    case OUT_DOUBT: tfy__person_tell_doubt(loop, out->arg); break;
    case OUT_NUDGE: break;
    }
}

void tfy__out_flush(TfyLoop *loop)
{
    int64_t durable = loop->log ? tfy__log_durable(loop->log) : INT64_MAX;
    bool published = false;
    while (loop->out_first && loop->out_first->lsn <= durable) {
        Outgoing *out = loop->out_first;
        loop->out_first = out->next;
        if (!loop->out_first) loop->out_last = NULL;
        published |= out->to == OUT_EVENT || out->to == OUT_NUDGE;
        out_one(loop, out);
        free(out->text);
        free(out);
    }
    if (published && loop->published) loop->published(loop->published_state);
}

void tfy__out_free(TfyLoop *loop)
{
    while (loop->out_first) {
        Outgoing *out = loop->out_first;
        loop->out_first = out->next;
        free(out->text);
        free(out);
    }
    loop->out_last = NULL;
}

int64_t tfy__out_lsn(const TfyLoop *loop)
{
    return loop->log ? tfy__log_last(loop->log) : 0;
}

/* ---- descriptors ---- */

void tfy__out_let_go(TfyLoop *loop, const char *run_uuid, int64_t handle)
{
    if (loop->replay_only || !loop->modules[TFY_M_NET]) return;
    let_go(loop, run_uuid, handle, false);
    tfy__out_push(loop, OUT_LET_GO, tfy__out_lsn(loop), run_uuid, strlen(run_uuid));
    if (loop->out_last) loop->out_last->arg = handle;
}

bool tfy_close_descriptor(TfyTask *task, int64_t handle)
{
    if (task->state & T_HALTED) return false;
    tfy__out_let_go(task->loop, cold_of(task)->run->uuid, handle);
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
            tfy__out_push(loop, OUT_STDERR, tfy__out_lsn(loop), out.data, out.len);
    }
    tfy__buffer_free(&out);
}

/* ---- print, log, emit ---- */

/* What an Output record says, and where its text goes. */
typedef struct Saying {
    const char *to;
    const TfyString *text, *level, *stage;
} Saying;

static void saying_payload(TfyBuffer *out, const Saying *saying)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_TO, saying->to);
    tfy__put_string(out, TFY_P_TEXT, &saying->text->head);
    if (saying->level) tfy__put_string(out, TFY_P_LEVEL, &saying->level->head);
    if (saying->stage) tfy__put_string(out, TFY_P_STAGE, &saying->stage->head);
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
        tfy__activity_say(task, point, "Log", level, text->bytes, text->byte_len);
    } else {
        if (loop->options.quiet && !loop->options.on_output) return; /* nobody hears it */
        TfyBuffer line = {0};
        tfy__buffer_add(&line, text->bytes, text->byte_len);
        tfy__buffer_char(&line, '\n');
        if (!line.failed) tfy__out_push(loop, OUT_STDOUT, tfy__out_lsn(loop), line.data, line.len);
        tfy__buffer_free(&line);
    }
}

static bool say(TfyTask *task, const TfyPoint *point, const Saying *saying)
{
    if (task->state & T_HALTED) return false;
    Cold *cold = cold_of(task);
    cold->log.step++;
    const TfyLogRecord *record;
    if (!tfy__history_expect(cold, TFY_R_OUTPUT, point->number, &record)) return false;
    TfyBuffer out = {0};
    saying_payload(&out, saying);
    bool ok = !out.failed;
    if (!ok) {
        tfy__buffer_refused(task, &out);
    } else if (record && strcmp(record->payload, out.data) != 0) {
        tfy__history_diverge(cold, record, "it says %s", out.data);
        ok = false;
    } else if (record) {
        tfy__history_take(cold);
        if (task->loop->replay_only)
            saying_out(task, point, saying); /* shown again; a resumed run has said it already */
    } else {
        ok = tfy__record_append(cold, TFY_R_OUTPUT, cold->log.step, point->number, &out) > 0;
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

/* ---- values from outside ---- */

bool tfy_now(TfyTask *task, const TfyPoint *point, int64_t *out)
{
    if (task->state & T_HALTED) return false;
    Cold *cold = cold_of(task);
    cold->log.step++;
    const TfyLogRecord *record;
    if (!tfy__history_expect(cold, TFY_R_VALUE, point->number, &record)) return false;
    if (record) {
        *out = tfy__record_int(record, TFY_P_NOW);
        tfy__history_take(cold);
        return true;
    }
    if (!tfy__rehearse_now(task, out)) *out = task->loop->world.wall_ms(task->loop->world.state);
    TfyBuffer payload = {0};
    tfy__put_begin(&payload);
    tfy__put_int(&payload, TFY_P_NOW, *out);
    tfy__put_end(&payload);
    bool ok = tfy__record_append(cold, TFY_R_VALUE, cold->log.step, point->number, &payload) > 0;
    tfy__buffer_free(&payload);
    if (!ok) tfy__sched_halt(task);
    return ok;
}

bool tfy_self(TfyTask *task, TfyObj **out)
{
    const char *path = cold_of(task)->log.path;
    return (*out = tfy_string_of(task, path, strlen(path))) != NULL;
}

/* The n-th number of a task follows from its run's seed, its path and n: nothing is recorded, and every replay draws the same. */
static uint64_t draw(TfyTask *task)
{
    Cold *cold = cold_of(task);
    XXH64_hash_t seed = XXH3_64bits_withSeed(cold->log.path, strlen(cold->log.path), tfy__fork_seed(cold));
    uint64_t count = ++cold->randoms;
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

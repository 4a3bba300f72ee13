/* signal.c: signals: named values that are sent to a run from outside.
 *
 * A signal is recorded in the root's chain when it arrives (Signal), and is durable before the sender receives an
 * answer. The run keeps it until a task takes it: Woke in that task's chain consumes it. If that task is cancelled
 * before it continues, the signal is available again. A task takes the oldest signal that fits its type; others are
 * kept aside, for a wait that they fit. */
#include "core/step/step.h"
#include "value/type_book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a run knows ---- */

/* NULL: no memory. */
SignalName *tfy__signal_name_of(Run *run, const char *text, size_t len)
{
    for (SignalName *name = run->signals; name; name = name->next) {
        const TfyString *known = (const TfyString *)name->text;
        if (known->byte_len == len && memcmp(known->bytes, text, len) == 0) return name;
    }
    TfyTask scratch = {.heap = &run->loop->heap, .loop = run->loop};
    uint32_t mark = tfy_mark(&scratch);
    SignalName *name = calloc(1, sizeof *name);
    TfyObj *kept = name ? tfy_string_of(&scratch, text, len) : NULL;
    if (kept) {
        name->text = tfy_keep(kept);
        name->next = run->signals;
        run->signals = name;
    } else {
        free(name);
        name = NULL;
    }
    tfy_cut(&scratch, mark);
    tfy_drop(&scratch, tfy_take_error(&scratch));
    return name;
}

static void free_signal(Signal *signal)
{
    free(signal->value);
    free(signal);
}

void tfy__signals_free(TfyLoop *loop, Run *run)
{
    TfyTask scratch = {.heap = &loop->heap, .loop = loop};
    while (run->signals) {
        SignalName *name = run->signals;
        run->signals = name->next;
        for (Signal *signal; (signal = LIST_TAKE(&name->kept, next));) free_signal(signal);
        tfy_drop(&scratch, name->text);
        free(name);
    }
    while (run->signal_ids) {
        SignalId *id = run->signal_ids;
        run->signal_ids = id->next;
        free(id);
    }
}

static bool seen(const Run *run, const char *id)
{
    const SignalId *known = run->signal_ids;
    while (known && strcmp(known->text, id) != 0) known = known->next;
    return known != NULL;
}

bool tfy__signal_remember(Run *run, const char *id)
{
    SignalId *known = malloc(sizeof *known + strlen(id) + 1);
    if (!known) return false;
    strcpy(known->text, id);
    known->next = run->signal_ids;
    run->signal_ids = known;
    return true;
}

/* ---- taking a signal ---- */

static void write_woke(TfyBuffer *out, const Signal *signal)
{
    tfy__put_begin(out);
    tfy__put_string(out, TFY_P_NAME, signal->name->text);
    tfy__put_int(out, TFY_P_SEQ, (int64_t)signal->seq);
    tfy__put_end(out);
}

/* The value as the type that the step waits for (borrowed). False: `why` says where it does not fit; no error is left
 * behind, because the signal stays where it is. */
static bool read_value(Step *step, const Signal *signal, TfyValue *out, char *why)
{
    const TfyCall *call = &step->call;
    TfyTask *task = call->task;
    const uint32_t mark = tfy_mark(task);
    *out = tfy_of_int(0);
    if (call->result->kind == TFY_NOTHING) return true;
    if (tfy__decode_text(task, call->result, signal->value, strlen(signal->value), out, why)) return true;
    tfy_drop(task, tfy_take_error(task)); /* of a default that panicked */
    tfy_cut(task, mark);
    return false;
}

/* The oldest kept signal that fits; NULL: none does, and `why` says it of the oldest. */
static Signal *first_fitting(Step *step, SignalName *name, TfyValue *value, char *why)
{
    char later[TFY_ERROR_TEXT];
    Signal *signal = name->kept.first;
    while (signal && !read_value(step, signal, value, signal == name->kept.first ? why : later)) signal = signal->next;
    return signal;
}

/* Hands a kept signal to a step that waits for it. */
static void wake(Step *step, Signal *signal, TfyValue value)
{
    TfyBuffer out = {0};
    TaskRest *rest = step->rest;
    if (tfy__loop_starved(step->call.loop)) return;
    write_woke(&out, signal);
    TfyTicket ticket = tfy__step_append(step, TFY_R_WOKE, &out);
    tfy__buffer_free(&out);
    tfy__wait_leave(step);
    if (ticket < 0) return;
    const bool kept = LIST_REMOVE(&signal->name->kept, signal, next);
    CHECK(kept);
    tfy__step_outcome(step, true, value);
    CHECK(!rest->granted_from && !rest->granted_lock && !rest->granted_signal);
    rest->granted_signal = signal;
}

/* Offers a kept signal to the steps that wait for its name: the first one that it fits gets it. */
static void offer(Signal *signal)
{
    char why[TFY_ERROR_TEXT];
    TfyValue value;
    Step *step = signal->name->waiters.first;
    while (step && !read_value(step, signal, &value, why)) step = step->queue_next;
    if (step) wake(step, signal, value);
}

static SignalName *asked(const Step *step)
{
    const TfyString *text = (const TfyString *)step->call.args[0].o;
    SignalName *name = tfy__signal_name_of(step->rest->run, text->bytes, text->byte_len);
    if (!name) tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for a signal");
    return name;
}

static void misfit_text(const TfyProgram *program, const TfySite *site, const char *why, char *text)
{
    uint32_t line = site->point->line;
    const char *file = tfy__line_file(program, &line);
    tfy__misfit_signal(file ? file : program->name, line, site->result->name, why, text);
}

static void report_aside(const Step *step, const SignalName *name, const char *why)
{
    TfyLoop *loop = step->call.loop;
    char misfit[TFY_ERROR_TEXT];
    misfit_text(program_of(step->rest->run), step->call.site, why, misfit);
    tfy__report_text(loop, "tfy: run %s keeps a signal %s aside, which does not fit: %s\n", step->rest->run->uuid,
                     ((const TfyString *)name->text)->bytes, misfit);
}

static void signal_live(Step *step)
{
    TfyValue value;
    char why[TFY_ERROR_TEXT];
    SignalName *name = asked(step);
    if (!name) return;
    tfy__wait_enter(&name->waiters, step);
    Signal *signal = first_fitting(step, name, &value, why);
    if (signal)
        wake(step, signal, value);
    else if (name->kept.first && !tfy__loop_starved(step->call.loop))
        report_aside(step, name, why);
}

static void raise_misfit(Step *step, const char *why)
{
    TfyTask *task = step->call.task;
    TfyObj *text = tfy_string_of(task, why, strlen(why)), *path = tfy_string_of(task, "$", 1);
    if (text && path)
        tfy_fail(task, &tfy_type_bad_value, step->call.site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_obj(path)});
    cut_temps(task);
}

/* The record decides between the oldest signal that fits and the oldest of all: version 0.1 once took that one, fit or
 * not, and raised BadValue when it did not. */
static void signal_take(Step *step, const TfyLogRecord *record)
{
    SignalName *name = asked(step);
    if (!name) return;
    TfyBuffer out = {0};
    TfyValue value;
    char why[TFY_ERROR_TEXT];
    TaskRest *rest = step->rest;
    Signal *signal = first_fitting(step, name, &value, why), *oldest = name->kept.first;
    const bool misfit = oldest && oldest != signal && (int64_t)oldest->seq == tfy__record_int(record, TFY_P_SEQ);
    if (misfit) signal = oldest;
    if (signal) write_woke(&out, signal);
    bool same = tfy__step_same_outcome(step, record, out.data);
    tfy__buffer_free(&out);
    if (!same) return;
    tfy__history_take(rest);
    const bool kept = LIST_REMOVE(&name->kept, signal, next);
    CHECK(kept);
    if (misfit) {
        free_signal(signal);
        raise_misfit(step, why);
        step->stage = STAGE_SETTLE;
    } else {
        tfy__step_answer(step, value);
        rest->granted_signal = signal;
    }
}

void tfy__signal_taken(TaskRest *rest)
{
    free_signal(rest->granted_signal);
    rest->granted_signal = NULL;
}

void tfy__signal_return(TaskRest *rest)
{
    Signal *signal = rest->granted_signal;
    CHECK(signal && signal->seq <= rest->run->signal_count);
    rest->granted_signal = NULL;
    LIST_PREPEND(&signal->name->kept, signal, next);
    offer(signal);
}

/* ---- arrival ---- */

/* It is in the log. value: JSON; the run takes ownership; NULL: no memory for it. */
static void arrived(Run *run, const char *text, size_t len, char *value, const char *id)
{
    SignalName *name = tfy__signal_name_of(run, text, len);
    Signal *signal = malloc(sizeof *signal);
    if (!name || !signal || !value || (id && !tfy__signal_remember(run, id))) {
        free(signal);
        free(value);
        tfy__loop_fail(run->loop, TFY_E_NOMEM, "no memory for a signal");
        return;
    }
    *signal = (Signal){.value = value, .seq = ++run->signal_count, .name = name};
    CHECK(!name->kept.last || name->kept.last->seq < signal->seq);
    LIST_APPEND(&name->kept, signal, next);
    offer(signal);
}

void tfy__signal_recorded(Run *run, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const json_t *name = tfy__payload_get(&payload, TFY_P_NAME);
    char *value = json_dumps(tfy__payload_get(&payload, TFY_P_VALUE), JSON_COMPACT | JSON_ENCODE_ANY);
    arrived(run, name ? json_string_value(name) : "", json_string_length(name), value,
            tfy__payload_text(&payload, TFY_P_ID));
    tfy__payload_close(&payload);
}

/* Appends the value's canonical text. False: it is not JSON, or cannot be recorded. */
static bool write_value(TfyBuffer *out, const char *value_json)
{
    json_t *value = json_loads(value_json ? value_json : "null", JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    bool ok = value && tfy__encode_json(out, value) && out->depth <= TFY_JSON_DEPTH;
    json_decref(value);
    return ok;
}

static TfyTicket record_signal(Run *run, const char *name, const char *value, const char *id, const char *by)
{
    TaskRest *root = run->root;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_NAME, name);
    tfy__put_json(&out, TFY_P_VALUE, value, strlen(value));
    if (id) tfy__put_text(&out, TFY_P_ID, id);
    tfy__put_text(&out, TFY_P_BY, by);
    tfy__put_via(&out, run->loop);
    if (root->task) tfy__put_int(&out, TFY_P_PASSAGES, root->task->passages);
    tfy__put_end(&out);
    TfyTicket ticket = tfy__record_append(root, TFY_R_SIGNAL, root->log.step, 0, &out);
    tfy__buffer_free(&out);
    return ticket;
}

/* ---- does it fit? ---- */

static bool is_misfit(Run *run, const TfySite *site, const char *value, char *error_text)
{
    TfyTask scratch = {.heap = &run->loop->heap, .loop = run->loop};
    const uint32_t mark = tfy_mark(&scratch);
    char why[TFY_ERROR_TEXT];
    TfyValue read;
    const bool fits =
        site->result->kind == TFY_NOTHING || tfy__decode_text(&scratch, site->result, value, strlen(value), &read, why);
    if (!fits) misfit_text(program_of(run), site, why, error_text);
    tfy_cut(&scratch, mark);
    tfy_drop(&scratch, tfy_take_error(&scratch));
    return !fits;
}

/* What no wait can take is refused before it is in the log: otherwise one slip of a sender would stay with a run that
 * waited for months. While tasks wait for the name, their types decide; else those of every signal() of the program,
 * since the name of a wait to come is not known. why (TFY_ERROR_TEXT bytes): where it does not fit the first of them. */
static bool fits_a_wait(Run *run, const char *text, const char *value, char *why)
{
    char other[TFY_ERROR_TEXT];
    const SignalName *name = run->signals;
    while (name && strcmp(((const TfyString *)name->text)->bytes, text) != 0) name = name->next;
    const Step *step = name ? name->waiters.first : NULL;
    const TfyProgram *program = program_of(run);
    bool misfit = false;
    for (; step; step = step->queue_next) {
        if (!is_misfit(run, step->call.site, value, misfit ? other : why)) return true;
        misfit = true;
    }
    for (uint32_t n = 1; !(name && name->waiters.first) && n <= program->point_count; n++) {
        const TfySite *site = tfy__site_of(program, n);
        if (!site || !site->tool || site->tool->family != TFY_F_SIGNAL) continue;
        if (!is_misfit(run, site, value, misfit ? other : why)) return true;
        misfit = true;
    }
    return !misfit;
}

static uint32_t kept_signals(const Run *run)
{
    uint32_t count = 0;
    for (const SignalName *name = run->signals; name; name = name->next)
        for (const Signal *signal = name->kept.first; signal; signal = signal->next) count++;
    return count;
}

int tfy__arrive_signal(TfyLoop *loop, const char *run_name, const char *name, const char *value_json, const char *id,
                       const char *by, char *error_text)
{
    Run *run = tfy__run_named(loop, run_name);
    if (!run) return tfy__arrive_nowhere(loop, run_name, error_text);
    if (run->ended) {
        snprintf(error_text, TFY_ERROR_TEXT, "run %s has already ended", run->uuid);
        return TFY_E_STATE;
    }
    /* It has arrived before, perhaps while the disk was full, or at a process that was killed: its record need not
     * be durable yet. */
    if (id && seen(run, id)) return loop->failure ? tfy__arrive_refused(loop, error_text) : tfy__arrived(loop);
    if (loop->options.max_queue && kept_signals(run) >= loop->options.max_queue) {
        snprintf(error_text, TFY_ERROR_TEXT,
                 "run %s keeps %u signals that no task has taken yet: the limit of its process", run->uuid,
                 loop->options.max_queue);
        return TFY_E_FULL;
    }
    TfyBuffer value = {0};
    if (!write_value(&value, value_json)) {
        tfy__buffer_free(&value);
        snprintf(error_text, TFY_ERROR_TEXT, "a signal's value must be JSON, nested at most %d levels deep",
                 TFY_JSON_DEPTH);
        return TFY_E_INVALID;
    }
    char why[TFY_ERROR_TEXT];
    if (!fits_a_wait(run, name, value.data, why)) {
        tfy__buffer_free(&value);
        snprintf(error_text, TFY_ERROR_TEXT, "%s", why);
        return tfy__loop_starved(loop) ? tfy__arrive_refused(loop, error_text) : TFY_E_DATA;
    }
    if (record_signal(run, name, value.data, id, by ? by : "") > 0)
        arrived(run, name, strlen(name), value.data, id);
    else
        tfy__buffer_free(&value);
    return loop->failure ? tfy__arrive_refused(loop, error_text) : tfy__arrived(loop);
}

int tfy_signal(TfyLoop *loop, int64_t tid, const char *name, const char *value_json)
{
    char text[TFY_ERROR_TEXT];
    TaskRest *rest = tfy__task_by_tid(loop, tid);
    if (!rest && loop->parked && tfy__park_reach_tid(loop, tid)) rest = tfy__task_by_tid(loop, tid);
    if (!rest) return TFY_E_ABSENT;
    return tfy__arrive_signal(loop, rest->run->uuid, name, value_json, NULL, "embedding", text);
}

const WaitKind tfy__wait_signal = {
    .live = signal_live, .take = signal_take, .record = TFY_R_WOKE, .waiting = TFY_TASK_WAITING_SIGNAL};

/* signal.c: signals: named values that are sent to a run from outside.
 *
 * A signal is recorded in the root's chain when it arrives (Signal), and is durable before the sender receives an
 * answer. The run keeps it until a task takes it: Woke in that task's chain consumes it. If that task is cancelled
 * before it continues, the signal is available again. */
#include "core/step/step.h"

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

static void write_woke(TfyBuffer *out, const SignalName *name)
{
    CHECK(name->kept.first);
    tfy__put_begin(out);
    tfy__put_string(out, TFY_P_NAME, name->text);
    tfy__put_int(out, TFY_P_SEQ, (int64_t)name->kept.first->seq);
    tfy__put_end(out);
}

/* The value as the site's type, or BadValue. */
static bool read_value(Step *step, const Signal *signal, TfyValue *out)
{
    const TfyCall *call = &step->call;
    TfyTask *task = call->task;
    char why[TFY_ERROR_TEXT];
    *out = tfy_of_int(0);
    if (call->result->kind == TFY_NOTHING) return true;
    if (tfy__decode_text(task, call->result, signal->value, strlen(signal->value), out, why)) return true;
    TfyObj *text = tfy_string_of(task, why, strlen(why)), *path = tfy_string_of(task, "$", 1);
    if (text && path)
        tfy_fail(task, &tfy_type_bad_value, call->site->point->line, (TfyValue[]){tfy_of_obj(text), tfy_of_obj(path)});
    cut_temps(task);
    return false;
}

/* Woke is in the log: the first signal of the name belongs to the step. True: *value is the answer (borrowed);
 * else task->error is set. */
static bool take_first(Step *step, SignalName *name, Signal **taken, TfyValue *value)
{
    *taken = LIST_TAKE(&name->kept, next);
    CHECK(*taken && (*taken)->name == name);
    bool ok = read_value(step, *taken, value);
    if (ok) return true;
    free_signal(*taken);
    return false;
}

static void wake(Step *step, SignalName *name)
{
    TfyBuffer out = {0};
    Signal *taken;
    TfyValue value;
    TaskRest *rest = step->rest;
    write_woke(&out, name);
    int64_t lsn = tfy__step_append(step, TFY_R_WOKE, &out);
    tfy__buffer_free(&out);
    tfy__wait_leave(step);
    if (lsn < 0) return;
    bool ok = take_first(step, name, &taken, &value);
    tfy__step_outcome(step, ok, value);
    CHECK(!rest->granted_from && !rest->granted_lock && !rest->granted_signal);
    if (ok) rest->granted_signal = taken;
}

static void serve(TfyLoop *loop, SignalName *name)
{
    while (!loop->failure && name->kept.first && name->waiters.first) wake(name->waiters.first, name);
    CHECK(loop->failure || !name->kept.first || !name->waiters.first);
}

static SignalName *asked(const Step *step)
{
    const TfyString *text = (const TfyString *)step->call.args[0].o;
    SignalName *name = tfy__signal_name_of(step->rest->run, text->bytes, text->byte_len);
    if (!name) tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for a signal");
    return name;
}

static void signal_live(Step *step)
{
    SignalName *name = asked(step);
    if (!name) return;
    tfy__wait_enter(&name->waiters, step);
    serve(step->call.loop, name);
}

static void signal_take(Step *step, const TfyLogRecord *record)
{
    SignalName *name = asked(step);
    if (!name) return;
    TfyBuffer out = {0};
    Signal *taken;
    TfyValue value;
    TaskRest *rest = step->rest;
    if (name->kept.first) write_woke(&out, name);
    bool same = tfy__step_same_outcome(step, record, out.data);
    tfy__buffer_free(&out);
    if (!same) return;
    tfy__history_take(rest);
    if (take_first(step, name, &taken, &value)) {
        tfy__step_answer(step, value);
        rest->granted_signal = taken;
    } else {
        step->stage = STAGE_SETTLE;
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
    serve(rest->run->loop, signal->name);
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
    serve(run->loop, name);
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

static int64_t record_signal(Run *run, const char *name, const char *value, const char *id, const char *by)
{
    TaskRest *root = run->root;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_NAME, name);
    tfy__put_json(&out, TFY_P_VALUE, value, strlen(value));
    if (id) tfy__put_text(&out, TFY_P_ID, id);
    tfy__put_text(&out, TFY_P_BY, by);
    if (root->task) tfy__put_int(&out, TFY_P_PASSAGES, root->task->passages);
    tfy__put_end(&out);
    int64_t lsn = tfy__record_append(root, TFY_R_SIGNAL, root->log.step, 0, &out);
    tfy__buffer_free(&out);
    return lsn;
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
    if (!run) {
        snprintf(error_text, TFY_ERROR_TEXT, "no run '%s' is live here", run_name);
        return TFY_E_ABSENT;
    }
    if (run->ended) {
        snprintf(error_text, TFY_ERROR_TEXT, "run %s has already ended", run->uuid);
        return TFY_E_STATE;
    }
    /* It has arrived before, perhaps while the disk was full, or at a process that was killed: its record need not
     * be durable yet. */
    if (id && seen(run, id)) return loop->failure ? tfy__arrive_refused(loop, error_text) : tfy__log_sync(loop->log);
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
    if (record_signal(run, name, value.data, id, by ? by : "") > 0)
        arrived(run, name, strlen(name), value.data, id);
    else
        tfy__buffer_free(&value);
    return loop->failure ? tfy__arrive_refused(loop, error_text) : tfy__log_sync(loop->log);
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

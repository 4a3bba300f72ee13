/* step.c: one step of a task: an effect from its request to its answer.
 *
 * A step is a small state machine over stages. Each fact about it (its deadline, its start, its outcome, a further
 * attempt) is either taken from the run's history or made now and appended to the log; the code is the same for both,
 * so that resume and replay follow exactly the path that was recorded. Facts that follow from the program alone are
 * looked for with history_expect; outcomes come from outside and are taken in the recorded order of all tasks.
 *
 * Here: the life of a step and its way through the stages. step_begin.c begins an attempt, step_recorded.c takes what
 * the history knows, step_live.c has the work done, step_call.c hears what performers say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/replay/rehearse.h"
#include "core/step/step.h"

#define PAYLOAD_KEPT 65536 /* bytes */

#define BACKOFF_MAX_MS 60000

/* ---- making and freeing ---- */

Pending *tfy__step_new(TfyTask *task, const TfySite *site)
{
    TfyLoop *loop = task->loop;
    Cold *cold = cold_of(task);
    Pending *pending = loop->free_pending;
    CHECK(!cold->pending);
    CHECK(!pending || pending->dead);
    if (pending)
        loop->free_pending = pending->queue_next;
    else if (!(pending = malloc(sizeof *pending)))
        return NULL;
    *pending = (Pending){.cold = cold, .timeout_ms = TFY_NEVER};
    pending->call = (TfyCall){.loop = loop,
                              .task = task,
                              .site = site,
                              .tool = site->tool,
                              .result = site->result,
                              .step = ++cold->log.step,
                              .attempt = 1,
                              .record_type = TFY_R_TOOL_RESULT};
    cold->pending = pending;
    return pending;
}

void tfy__step_drop_key(Pending *pending)
{
    TfyCall *call = &pending->call;
    if (!pending->probing || !call->args || call->tool == call->site->tool) return;
    uint32_t at = call->site->tool->param_count;
    tfy_drop(call->task, call->args[at].o);
    call->args[at].o = NULL;
}

static void drop_args(Pending *pending)
{
    tfy__step_drop_key(pending);
    TfyCall *call = &pending->call;
    if (!call->args) return;
    const TfyTool *tool = call->site->tool;
    for (uint32_t i = 0; i < tool->param_count; i++) tfy__drop_value(call->task, tool->params[i].type, call->args[i]);
    if (call->args != pending->few_args) free(call->args);
    call->args = NULL;
}

static void recycle(TfyLoop *loop, Pending *pending)
{
    CHECK(pending->dead);
    CHECK(!pending->in_sync && !pending->in_work && !pending->held);
    CHECK(!pending->timer && !pending->queue && !pending->limiter);
    CHECK(!pending->fd_wait);
    pending->queue_next = loop->free_pending;
    loop->free_pending = pending;
}

void tfy__step_drop_failure(Pending *pending)
{
    free(pending->failure);
    pending->failure = NULL;
}

/* Forgets the step; its memory goes once no queue holds it. */
void tfy__step_free(Pending *pending)
{
    CHECK(!pending->dead);
    TfyLoop *loop = pending->call.loop;
    tfy__timers_del(&loop->timers, pending->timer);
    pending->timer = 0;
    tfy__wait_leave(pending);
    tfy__limit_leave(pending);
    drop_args(pending);
    tfy__buffer_free(&pending->call.extra);
    tfy__step_drop_failure(pending);
    if (pending->cold->pending == pending) pending->cold->pending = NULL;
    pending->dead = true;
    if (!pending->in_sync && !pending->in_work && !pending->held) recycle(loop, pending);
}

/* A queue lets go of a step. True: it is still wanted. */
bool tfy__step_dequeued(Pending *pending)
{
    if (!pending->dead) return true;
    if (!pending->in_sync && !pending->in_work && !pending->held) recycle(pending->call.loop, pending);
    return false;
}

void tfy__step_queue(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    if (pending->in_work) return;
    pending->in_work = true;
    LIST_APPEND(&loop->work, pending, work_next);
}

bool tfy__step_work(TfyLoop *loop)
{
    Pending *pending = LIST_TAKE(&loop->work, work_next);
    if (!pending) return false;
    CHECK(pending->in_work);
    pending->in_work = false;
    if (!tfy__step_dequeued(pending)) return true;
    const Cold *cold = pending->cold;
    tfy__step_advance(pending);
    if (cold->pending == pending && state_of(cold->task) == TFY_TASK_SLEEPING) /* its run has just gone live */
        tfy__fold_asleep(cold->task);
    return true;
}

void tfy__wait_enter(WaitQueue *queue, Pending *pending)
{
    CHECK(!pending->queue);
    pending->queue = queue;
    LIST2_APPEND(queue, pending, queue_prev, queue_next);
}

void tfy__wait_leave(Pending *pending)
{
    WaitQueue *queue = pending->queue;
    if (!queue) return;
    LIST2_REMOVE(queue, pending, queue_prev, queue_next);
    pending->queue = NULL;
}

void tfy__step_unanswered(Pending *pending)
{
    pending->unanswered = true;
    pending->call.loop->in_flight--;
}

void tfy__step_left_call(Pending *pending)
{
    CHECK(pending->in_call);
    CHECK(pending->unanswered || pending->call.loop->in_flight > 0);
    pending->in_call = false;
    if (!pending->unanswered) pending->call.loop->in_flight--;
    pending->unanswered = false;
}

void tfy__step_stop_call(Pending *pending)
{
    if (!pending->in_call) return;
    TfyCall *call = &pending->call;
    tfy__step_left_call(pending);
    if (pending->waits_room) {
        tfy__room_leave(pending);
        if (!call->loop->room_first) call->loop->room_told = false;
        return;
    }
    if (pending->fd_wait) {
        tfy__wait_fd_stop(pending);
        return;
    }
    if (tfy__rehearse_answers(call->loop)) return;
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    if (performer && performer->abort) performer->abort(call);
}

void tfy__step_cancel(Cold *cold)
{
    Pending *pending = cold->pending;
    tfy__step_stop_call(pending);
    tfy__step_free(pending);
}

const Inner *tfy__step_inner(const Pending *pending)
{
    static const Inner *const inner[TFY_F_COUNT] = {
        [TFY_F_JOIN] = &tfy__inner_join,  [TFY_F_SEND] = &tfy__inner_send,     [TFY_F_RECV] = &tfy__inner_recv,
        [TFY_F_LOCK] = &tfy__inner_lock,  [TFY_F_SIGNAL] = &tfy__inner_signal, [TFY_F_PARALLEL] = &tfy__inner_group,
        [TFY_F_RACE] = &tfy__inner_group, [TFY_F_ROOM] = &tfy__inner_group,    [TFY_F_ABANDON] = &tfy__inner_group,
    };
    return inner[pending->call.site->tool->family];
}

/* ---- answers ---- */

TfyTaskState tfy__step_wait_state(const Pending *pending)
{
    if (pending->backoff_only) return TFY_TASK_SLEEPING;
    const Inner *inner = tfy__step_inner(pending);
    if (inner) return inner->waiting;
    switch (pending->call.tool->family) {
    case TFY_F_SLEEP:
    case TFY_F_SLEEP_UNTIL: return TFY_TASK_SLEEPING;
    case TFY_F_APPROVE:
    case TFY_F_ASK: return TFY_TASK_WAITING_APPROVAL;
    case TFY_F_ACCEPT:
    case TFY_F_CONNECT:
    case TFY_F_READABLE:
    case TFY_F_WRITABLE:
    case TFY_F_READ:
    case TFY_F_READ_LINE:
    case TFY_F_WRITE: return TFY_TASK_WAITING_IO;
    default: return TFY_TASK_WAITING_EFFECT;
    }
}

void tfy__step_answer(Pending *pending, TfyValue value)
{
    TfyTask *task = pending->call.task;
    const TfyType *type = pending->call.result;
    if (pending->told_idle) tfy__activity(task, "TaskStep", "%s", pending->call.tool->name);
    task->result = type->kind == TFY_NOTHING ? tfy_of_int(0) : tfy__keep_value(type, value);
    cold_of(task)->answer_type = type;
    task->state |= T_ANSWERED;
    tfy__step_free(pending);
    cut_temps(task);
    tfy__sched_wake(task);
}

void tfy__step_raise(Pending *pending)
{
    TfyTask *task = pending->call.task;
    if (pending->told_idle) tfy__activity(task, "TaskStep", "%s failed", pending->call.tool->name);
    tfy__step_free(pending);
    cut_temps(task);
    tfy__sched_wake(task);
}

void tfy__error_json(TfyBuffer *out, const TfyObj *error)
{
    size_t begin = out->len;
    uint32_t depth = out->depth;
    tfy__encode(out, &tfy_type_any_error, tfy_of_obj((TfyObj *)error));
    if (out->failed || out->depth <= TFY_JSON_DEPTH) return;
    /* Readers of the log would not get through: people see the message, and nobody takes the fields from here. */
    out->depth = depth;
    out->len = begin;
    tfy__put_begin(out);
    tfy__put(out, TFY_P_ERROR);
    tfy__buffer_json_string(out, error->type->name, strlen(error->type->name));
    tfy__put_string(out, TFY_P_MESSAGE, tfy_field(error, 0).o);
    tfy__put_int(out, TFY_P_LINE, error->aux);
    tfy__put_end(out);
}

void tfy__put_error(TfyBuffer *out, const TfyObj *error)
{
    tfy__put(out, TFY_P_ERROR);
    tfy__error_json(out, error);
}

/* ---- records ---- */

int64_t tfy__record_append(Cold *cold, TfyRecordType type, int64_t step, uint32_t point, const TfyBuffer *payload)
{
    TfyLoop *loop = cold->run->loop;
    if (tfy__loop_starved(loop)) return loop->failure; /* what happened since is not what would have */
    if (payload->failed) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to write a record");
        return TFY_E_NOMEM;
    }
    int64_t lsn = tfy__log_append(loop->log, &cold->log, type, step, point, payload->data, payload->len);
    if (lsn < 0) tfy__loop_fail_log(loop, (int)lsn);
    loop->metrics.records[type]++;
    if (cold->task) cold->task->passages = 0;
    tfy__snapshot_count(cold->run, payload->len);
    return lsn;
}

int64_t tfy__step_append(Pending *pending, TfyRecordType type, const TfyBuffer *payload)
{
    int64_t lsn =
        tfy__record_append(pending->cold, type, pending->call.step, pending->call.site->point->number, payload);
    if (lsn < 0) tfy__sched_halt(pending->call.task);
    return lsn;
}

void tfy__step_digest_text(uint64_t digest, char out[17])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) out[i] = digits[digest >> (60 - 4 * i) & 15];
    out[16] = '\0';
}

TfyBuffer *tfy__step_payload(TfyLoop *loop)
{
    if (loop->payload.cap > PAYLOAD_KEPT) tfy__buffer_free(&loop->payload); /* a large one is not kept for ever */
    tfy__buffer_reset(&loop->payload);
    return &loop->payload;
}

/* Of what is asked for: results of tools and answers of people are compared with it. */
static bool compute_digest(Pending *pending)
{
    TfyCall *call = &pending->call;
    if (tfy__step_inner(pending)) return true;
    TfyBuffer *out = tfy__step_payload(call->loop);
    tfy__buffer_text(out, call->tool->name);
    tfy__encode_args(out, call->tool->params, call->tool->param_count, call->args);
    if (!out->failed) call->digest = XXH3_64bits(out->data, out->len);
    return !out->failed;
}

/* ---- settling a failed attempt ---- */

static void tell_pause(const Pending *pending)
{
    tfy__activity(pending->call.task, "Idle", "%s pauses before another attempt",
                  pending->backoff_only ? "a call" : pending->call.tool->name);
}

static bool record_retry(Pending *pending)
{
    Cold *cold = pending->cold;
    const TfyLogRecord *record;
    if (!tfy__history_expect(cold, TFY_R_RETRY, pending->call.site->point->number, &record)) return false;
    if (record) {
        pending->due_ms = tfy__step_recorded_due(pending->call.loop, record);
        tfy__history_take(cold);
        tell_pause(pending); /* in a replay; else nobody is told yet */
        return true;
    }
    if (!tfy__history_live(cold)) return tfy__history_hold(pending), false;
    int64_t delay_ms = pending->backoff_ms;
    for (uint32_t i = 1; i < pending->call.attempt && delay_ms < BACKOFF_MAX_MS; i++) delay_ms *= 2;
    if (delay_ms > BACKOFF_MAX_MS) delay_ms = BACKOFF_MAX_MS;
    pending->due_ms = tfy__due_from_now(pending->call.loop, delay_ms);
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_ATTEMPT, pending->call.attempt);
    tfy__put_error(&out, pending->call.task->error);
    tfy__put_int(&out, TFY_P_DUE, pending->due_ms);
    tfy__put_end(&out);
    int64_t lsn = tfy__step_append(pending, TFY_R_RETRY, &out);
    tfy__buffer_free(&out);
    if (!pending->backoff_only) tfy__metrics_retry(&pending->call.loop->metrics, pending->call.tool->name);
    return lsn > 0;
}

/* A prompt's answer that does not fit its type is asked for again: a step of its own each time. */
static bool ask_again(Pending *pending)
{
    TfyTask *task = pending->call.task;
    if (pending->asks <= 0 || task->error->type != &tfy_type_bad_value) return false;
    pending->asks--;
    tfy_drop(task, tfy_take_error(task));
    pending->call.step = ++pending->cold->log.step;
    tfy__step_begin_again(pending);
    return true;
}

/* False: waits, was answered, or halted. */
static bool settle(Pending *pending)
{
    TfyTask *task = pending->call.task;
    CHECK(pending->stage == STAGE_SETTLE);
    CHECK(task->error);
    tfy__limit_leave(pending);
    if (!pending->backoff_only && ask_again(pending)) return true;
    if (pending->retry <= 0 || (!pending->backoff_only && !tfy_retriable(task))) {
        tfy__step_raise(pending);
        return false;
    }
    if (!record_retry(pending)) return false;
    pending->retry--;
    if (!pending->backoff_only) tfy__undo_retried(task);
    tfy_drop(task, tfy_take_error(task));
    pending->stage = STAGE_BACKOFF;
    return true;
}

/* False: waits or was answered. */
static bool backoff(Pending *pending)
{
    Cold *cold = pending->cold;
    const TfyLogRecord *record = tfy__history_peek(cold);
    if (!record && !tfy__history_live(cold)) return tfy__history_hold(pending), false;
    if (!record && pending->due_ms > pending->call.loop->now_ms) {
        tfy__step_arm(pending);
        tell_pause(pending);
        return false;
    }
    tfy__timers_del(&pending->call.loop->timers, pending->timer);
    pending->timer = 0;
    pending->due_ms = 0;
    if (pending->backoff_only) {
        tfy__step_answer(pending, tfy_of_int(0));
        return false;
    }
    tfy__step_begin_again(pending);
    return true;
}

/* The table above struct Pending. */
static void check_step(const Pending *pending)
{
    const Stage stage = pending->stage;
    const bool doubt = stage == STAGE_DOUBT;
    CHECK(!pending->dead);
    CHECK(pending->cold->pending == pending);
    CHECK(pending->cold->task == pending->call.task);
    CHECK(!pending->in_call || stage == STAGE_RUN || doubt);
    CHECK(!pending->in_sync || stage == STAGE_SYNC || doubt);
    CHECK(stage != STAGE_SYNC || pending->in_sync);
    CHECK(!pending->probing || doubt);
    CHECK(!pending->queue || stage == STAGE_RUN || stage == STAGE_BEGIN);
    CHECK(!pending->queue || !pending->in_call);
    CHECK(!pending->unanswered || pending->in_call);
    CHECK(!pending->fd_wait || pending->in_call);
    CHECK(!pending->limiter || pending->admitted);
    CHECK(!pending->held || pending->cold->run->history);
    CHECK(!pending->backoff_only || (!pending->in_call && !pending->started && !pending->limiter));
}

void tfy__step_advance(Pending *pending)
{
    check_step(pending);
    Cold *cold = pending->cold;
    TfyTask *task = pending->call.task;
    while (cold->pending == pending && !(task->state & T_HALTED)) {
        /* What came from outside came between two of the facts below; it may end the step. A doubt that it did not
         * end is said again, since people answer the newest record of a task. */
        uint32_t next = cold->next_record;
        if (task->state & T_REPLAYING) tfy__history_async(task);
        if (cold->pending != pending || (task->state & T_REPLAYING && tfy__history_arrives_later(task))) return;
        if (cold->next_record != next) pending->doubt_recorded = false;
        switch (pending->stage) {
        case STAGE_BEGIN:
            if (!tfy__step_begin(pending)) return;
            break;
        case STAGE_OUTCOME:
        case STAGE_DOUBT:
            if (tfy__step_take_recorded(pending)) break;
            if (cold->pending != pending || task->state & T_HALTED) return;
            if (pending->stage == STAGE_OUTCOME) tfy__step_ghost_waits(pending);
            if (tfy__history_peek(cold)) return;
            if (!tfy__history_live(cold)) {
                tfy__history_hold(pending);
                return;
            }
            if (pending->stage == STAGE_OUTCOME)
                tfy__step_go_live(pending);
            else
                tfy__step_doubt_live(pending);
            return;
        case STAGE_SETTLE:
            if (!settle(pending)) return;
            break;
        case STAGE_BACKOFF:
            if (!backoff(pending)) return;
            break;
        case STAGE_SYNC:
        case STAGE_RUN: return;
        }
    }
}

/* ---- the request ---- */

/* One place more than there are parameters: a probe is given the key there, and performers may always look at the
 * first. */
static bool keep_args(Pending *pending, const TfyValue *args)
{
    const TfyTool *tool = pending->call.tool;
    bool few = tool->param_count < FEW_ARGS; /* few_args is all zero */
    pending->call.args = few ? pending->few_args : calloc(tool->param_count + 1, sizeof *args);
    if (!pending->call.args) return false;
    for (uint32_t i = 0; i < tool->param_count; i++)
        pending->call.args[i] = tfy__keep_value(tool->params[i].type, args[i]);
    return true;
}

Pending *tfy__step_restore(TfyTask *task, const TfySite *site, const TfyValue *args, const char *key)
{
    Pending *pending = tfy__step_new(task, site);
    if (!pending) return NULL;
    if (!args) {
        pending->backoff_only = true;
        pending->call.result = &tfy_type_nothing;
        return pending;
    }
    if (!keep_args(pending, args) || !compute_digest(pending)) {
        tfy__step_free(pending);
        return NULL;
    }
    snprintf(pending->key, sizeof pending->key, "%s", key);
    pending->call.key = pending->key;
    pending->call.record_type = result_record(site->tool);
    return pending;
}

/* The key from the source, or tfy__record_key's, written into a buffer that is there. */
static bool set_key(Pending *pending, TfyObj *key)
{
    const Cold *cold = pending->cold;
    TfyBuffer *out = tfy__step_payload(pending->call.loop);
    if (key) {
        tfy__buffer_add(out, ((TfyString *)key)->bytes, ((TfyString *)key)->byte_len);
    } else {
        tfy__buffer_add(out, cold->run->uuid, 36);
        tfy__buffer_char(out, '/');
        tfy__buffer_text(out, cold->log.path);
        tfy__buffer_char(out, '/');
        tfy__buffer_int(out, pending->call.step);
    }
    if (out->failed) return false;
    tfy__record_key_fit(out->data, out->len, pending->key);
    pending->call.key = pending->key;
    return true;
}

/* Goes as far as it can at once: the frame goes on, or the task waits. */
static TfyStatus run_step(TfyTask *task, Pending *pending)
{
    Cold *cold = cold_of(task);
    TfyTaskState waiting = tfy__step_wait_state(pending);
    mark_running(task);
    tfy__step_advance(pending);
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (cold->pending != pending) return TFY_AGAIN;
    set_state(task, waiting);
    return TFY_WAIT;
}

TfyStatus tfy_perform(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy)
{
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (tfy__cancel_ready(task)) {
        task->passages++;
        return TFY_AGAIN; /* prepare delivers it before the frame goes on */
    }
    if (cold_of(task)->undo_count) tfy__undo_attempt(task, site->tool->repeat == TFY_ONCE);
    Pending *pending = tfy__step_new(task, site);
    const bool made = pending && keep_args(pending, args), encoded = made && compute_digest(pending);
    if (!encoded || !set_key(pending, policy ? policy->key : NULL)) {
        if (pending) tfy__step_free(pending);
        if (made && !encoded)
            tfy__buffer_refused(task, &task->loop->payload);
        else
            tfy__starved(task);
        return TFY_AGAIN;
    }
    if (policy) {
        pending->retry = policy->retry;
        pending->backoff_ms = policy->backoff_ms;
        pending->timeout_ms = policy->timeout_ms;
    }
    pending->asks = site->tool->asks;
    pending->call.record_type = result_record(site->tool);
    tfy_cut(task, 0);
    return run_step(task, pending);
}

Pending *tfy__step_asleep(TfyTask *task, const TfySite *site, int64_t step, int64_t due_ms)
{
    Pending *pending = tfy__step_new(task, site);
    if (!pending) return NULL;
    pending->cold->log.step = pending->call.step = step;
    pending->call.args = pending->few_args;
    if (site->tool->family == TFY_F_SLEEP_UNTIL) pending->few_args[0].i = due_ms;
    if (!set_key(pending, NULL)) {
        tfy__step_free(pending);
        return NULL;
    }
    pending->stage = STAGE_RUN;
    pending->due_ms = due_ms;
    pending->counted = pending->timeout_begun = pending->told_idle = true;
    return pending;
}

TfyStatus tfy_backoff(TfyTask *task, const TfySite *site, int64_t attempt, int64_t backoff_ms)
{
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    tfy__undo_retried(task);
    if (tfy__cancel_ready(task)) {
        task->passages++;
        return TFY_AGAIN;
    }
    Pending *pending = tfy__step_new(task, site);
    if (!pending) {
        tfy_drop(task, tfy_take_error(task));
        tfy__starved(task);
        return TFY_AGAIN;
    }
    pending->backoff_only = true;
    pending->call.result = &tfy_type_nothing;
    pending->call.attempt = (uint32_t)attempt;
    pending->retry = 1;
    pending->backoff_ms = backoff_ms;
    pending->stage = STAGE_SETTLE;
    pending->counted = true;
    task->passages++;
    return run_step(task, pending);
}

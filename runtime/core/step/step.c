/* step.c: one step of a task: an effect from its request to its answer.
 *
 * A step is a small state machine over stages. Each fact about it (its deadline, its start, its outcome, a further
 * attempt) is either taken from the run's history or made now and appended to the log. The code is the same for
 * both, so that resume and replay follow exactly the path that was recorded. Facts that follow from the program
 * alone are compared with history_expect; outcomes come from outside and are taken in the recorded order of all
 * tasks.
 *
 * This file: the life of a step and its way through the stages. begin.c starts an attempt, recorded.c takes what
 * the history knows, live.c has the work done, call.c receives the reports of performers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/step/round.h"
#include "observe/asked.h"

#define PAYLOAD_KEPT 65536 /* bytes */

#define BACKOFF_MAX_MS 60000

/* Messages of a conversation that a digest covers: an answer with 64 calls, and what is told of each. */
#define MESSAGES_MOST 192

/* ---- making and freeing ---- */

Step *tfy__step_new(TfyTask *task, const TfySite *site)
{
    TfyLoop *loop = task->loop;
    TaskRest *rest = rest_of(task);
    Step *step = loop->free_steps;
    CHECK(!rest->step);
    CHECK(!step || step->stage == STAGE_DEAD);
    if (step)
        loop->free_steps = step->queue_next;
    else if (!(step = malloc(sizeof *step)))
        return NULL;
    *step = (Step){.rest = rest, .timeout_ms = TFY_NEVER};
    step->call = (TfyCall){.loop = loop,
                           .task = task,
                           .site = site,
                           .tool = site->tool,
                           .result = site->result,
                           .step = ++rest->log.step,
                           .attempt = 1,
                           .record_type = TFY_R_TOOL_RESULT};
    rest->step = step;
    return step;
}

void tfy__step_drop_key(Step *step)
{
    TfyCall *call = &step->call;
    if (step->doubt != DOUBT_PROBED || !call->args || call->tool == call->site->tool) return;
    uint32_t at = call->site->tool->param_count;
    tfy_drop(call->task, call->args[at].o);
    call->args[at].o = NULL;
}

static void drop_args(Step *step)
{
    tfy__step_drop_key(step);
    TfyCall *call = &step->call;
    if (!call->args) return;
    const TfyTool *tool = call->site->tool;
    for (uint32_t i = 0; i < tool->param_count; i++) tfy__drop_value(call->task, tool->params[i].type, call->args[i]);
    if (call->args != step->few_args) free(call->args);
    call->args = NULL;
}

static void recycle(TfyLoop *loop, Step *step)
{
    CHECK(step->stage == STAGE_DEAD);
    CHECK(!step->queued);
    CHECK(!step->timer && !step->queue && !step->limiter);
    CHECK(!step->fd_wait);
    step->queue_next = loop->free_steps;
    loop->free_steps = step;
}

void tfy__step_drop_failure(Step *step)
{
    free(step->failure);
    step->failure = NULL;
}

/* Detaches the step; its memory is released once no queue holds it. */
void tfy__step_free(Step *step)
{
    CHECK(step->stage != STAGE_DEAD);
    CHECK(!step->in_call);
    TfyLoop *loop = step->call.loop;
    tfy__timers_del(&loop->timers, step->timer);
    step->timer = 0;
    tfy__wait_leave(step);
    tfy__limit_leave(step);
    if (step->round) step->round->ops->drop(step);
    drop_args(step);
    tfy_drop(step->call.task, step->model_call);
    tfy__buffer_free(&step->call.extra);
    tfy__step_drop_failure(step);
    free(step->hold);
    step->hold = NULL;
    if (loop->test) tfy__test_forget(loop->test, step);
    if (step->rest->step == step) step->rest->step = NULL;
    step->stage = STAGE_DEAD;
    if (!step->queued) recycle(loop, step);
}

/* A queue releases a step. True: the step is still needed. */
bool tfy__step_dequeued(Step *step)
{
    if (step->stage != STAGE_DEAD) return true;
    if (!step->queued) recycle(step->call.loop, step);
    return false;
}

void tfy__step_queue(Step *step)
{
    TfyLoop *loop = step->call.loop;
    if (step->queued & IN_WORK) return;
    step->queued |= IN_WORK;
    LIST_APPEND(&loop->work, step, work_next);
}

bool tfy__step_work(TfyLoop *loop)
{
    Step *step = LIST_TAKE(&loop->work, work_next);
    if (!step) return false;
    CHECK(step->queued & IN_WORK);
    step->queued &= (uint8_t)~IN_WORK;
    if (!tfy__step_dequeued(step)) return true;
    const TaskRest *rest = step->rest;
    tfy__step_advance(step);
    if (rest->step == step && step->round) set_state(rest->task, tfy__step_wait_state(step));
    if (rest->step == step && state_of(rest->task) == TFY_TASK_SLEEPING) /* its run has just gone live */
        tfy__fold_asleep(rest->task);
    return true;
}

void tfy__step_settle(TfyLoop *loop)
{
    while (!loop->failure && tfy__step_work(loop)) continue;
}

void tfy__wait_enter(WaitQueue *queue, Step *step)
{
    CHECK(!step->queue);
    step->queue = queue;
    LIST2_APPEND(queue, step, queue_prev, queue_next);
}

void tfy__wait_leave(Step *step)
{
    WaitQueue *queue = step->queue;
    if (!queue) return;
    LIST2_REMOVE(queue, step, queue_prev, queue_next);
    step->queue = NULL;
}

void tfy__step_left_call(Step *step)
{
    CHECK(step->in_call);
    const bool in_flight = step->in_call != CALL_UNANSWERED;
    CHECK(!in_flight || step->call.loop->in_flight > 0);
    step->in_call = CALL_NONE;
    if (step->aside) step->aside->end(step);
    if (in_flight) step->call.loop->in_flight--;
}

void tfy__step_stop_call(Step *step)
{
    if (!step->in_call) return;
    TfyCall *call = &step->call;
    const bool waits_room = step->in_call == CALL_NO_ROOM;
    tfy__step_left_call(step);
    if (waits_room) {
        tfy__room_leave(step);
        if (!call->loop->room_first) call->loop->room_told = false;
        return;
    }
    if (step->fd_wait) {
        tfy__wait_fd_stop(step);
        return;
    }
    if (call->loop->rehearsal && call->loop->rehearsal->answers) return;
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    if (performer && performer->abort) performer->abort(call);
}

void tfy__step_cancel(TaskRest *rest)
{
    Step *step = rest->step;
    tfy__step_stop_call(step);
    tfy__step_free(step);
}

void tfy__step_give_up(TaskRest *rest)
{
    if (rest->step->round) rest->step->round->ops->abandon(rest->step);
    tfy__step_cancel(rest);
}

const WaitKind *tfy__step_wait_kind(const Step *step)
{
    static const WaitKind *const inner[TFY_F_COUNT] = {
        [TFY_F_JOIN] = &tfy__wait_join,  [TFY_F_SEND] = &tfy__wait_send,     [TFY_F_RECV] = &tfy__wait_recv,
        [TFY_F_LOCK] = &tfy__wait_lock,  [TFY_F_SIGNAL] = &tfy__wait_signal, [TFY_F_PARALLEL] = &tfy__wait_group,
        [TFY_F_RACE] = &tfy__wait_group, [TFY_F_ROOM] = &tfy__wait_group,    [TFY_F_ABANDON] = &tfy__wait_group,
    };
    return inner[step->call.site->tool->family];
}

/* ---- answers ---- */

TfyTaskState tfy__step_wait_state(const Step *step)
{
    if (step->backoff_only) return TFY_TASK_SLEEPING;
    const WaitKind *inner = tfy__step_wait_kind(step);
    if (inner) return inner->waiting;
    switch (step->call.tool->family) {
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

void tfy__step_answer(Step *step, TfyValue value)
{
    TfyTask *task = step->call.task;
    const TfyType *type = step->call.result;
    if (step->told_idle) tfy__activity(task, "TaskStep", "%s", step->call.tool->name);
    task->result = type->kind == TFY_NOTHING ? tfy_of_int(0) : tfy__keep_value(type, value);
    rest_of(task)->answer_type = type;
    task->state |= T_ANSWERED;
    tfy__step_free(step);
    cut_temps(task);
    tfy__sched_wake(task);
}

void tfy__step_raise(Step *step)
{
    TfyTask *task = step->call.task;
    if (step->told_idle) tfy__activity(task, "TaskStep", "%s failed", step->call.tool->name);
    tfy__step_free(step);
    cut_temps(task);
    tfy__sched_wake(task);
}

void tfy__error_json(TfyBuffer *out, const TfyObj *error)
{
    size_t begin = out->len;
    uint32_t depth = out->depth;
    tfy__encode(out, &tfy_type_any_error, tfy_of_obj((TfyObj *)error));
    if (out->failed || out->depth <= TFY_JSON_DEPTH) return;
    /* Readers of the log would fail on it: people see the message, and no code reads the fields from here. */
    out->depth = depth;
    out->len = begin;
    const TfyString *message = (const TfyString *)tfy_field(error, 0).o;
    tfy__error_write(out, error->type->name, message->bytes, message->byte_len, error->aux);
}

void tfy__put_error(TfyBuffer *out, const TfyObj *error)
{
    tfy__put(out, TFY_P_ERROR);
    tfy__error_json(out, error);
}

/* ---- records ---- */

TfyTicket tfy__record_append(TaskRest *rest, TfyRecordType type, int64_t step, uint32_t point, const TfyBuffer *payload)
{
    TfyLoop *loop = rest->run->loop;
    if (rest->run->difference) return TFY_E_DIVERGED;
    if (tfy__loop_starved(loop)) return loop->failure; /* its result may differ from what it would have been */
    if (payload->failed) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to write a record");
        return TFY_E_NOMEM;
    }
    TfyTicket ticket = tfy__log_append(loop->log, &rest->log, type, step, point, payload->data, payload->len);
    if (ticket < 0) tfy__loop_fail_log(loop, (int)ticket);
    loop->metrics.records[type]++;
    if (rest->task) rest->task->passages = 0;
    tfy__snapshot_count(rest->run, payload->len);
    return ticket;
}

TfyTicket tfy__run_note(Run *run, TfyRecordType type, const TfyBuffer *payload)
{
    TfyTask *task = run->root->task;
    const uint32_t passages = task ? task->passages : 0;
    const TfyTicket ticket = tfy__record_append(run->root, type, run->root->log.step, 0, payload);
    if (task) task->passages = passages;
    return ticket;
}

TfyTicket tfy__step_append(Step *step, TfyRecordType type, const TfyBuffer *payload)
{
    TfyTicket ticket = tfy__record_append(step->rest, type, step->call.step, step->call.site->point->number, payload);
    if (ticket < 0) tfy__sched_halt(step->call.task);
    return ticket;
}

void tfy__digest_text(uint64_t digest, char out[17])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) out[i] = digits[digest >> (60 - 4 * i) & 15];
    out[16] = '\0';
}

void tfy__step_encode_args(TfyBuffer *out, const TfyTool *tool, const TfyValue *args)
{
    uint32_t count = tool->param_count;
    const uint32_t always = count - tool->added;
    while (count > always && !args[count - 1].o) count--;
    tfy__encode_args(out, tool->params, count, args);
}

TfyBuffer *tfy__step_payload(TfyLoop *loop)
{
    if (loop->payload.cap > PAYLOAD_KEPT) tfy__buffer_free(&loop->payload); /* a large buffer is not kept */
    tfy__buffer_reset(&loop->payload);
    return &loop->payload;
}

/* A question of an agent has its whole conversation. Messages that earlier questions had were compared with them: the
 * digest covers their number, and more of the newest than a round can add. */
static void encode_question(TfyBuffer *out, const TfyTool *tool, const TfyValue *args)
{
    const TfyList *chat = (const TfyList *)args[0].o;
    CHECK(chat->head.type->elem->kind == TFY_JSON);
    tfy__buffer_int(out, chat->len);
    for (uint32_t i = chat->len - MESSAGES_MOST; i < chat->len; i++) {
        const TfyString *message = (const TfyString *)chat->items[i].o;
        tfy__buffer_add(out, message->bytes, message->byte_len);
    }
    tfy__encode_args(out, tool->params + 1, tool->param_count - 1, args + 1);
}

/* The digest of the request: results of tools and answers of people are compared with it. */
bool tfy__step_digest(Step *step)
{
    TfyCall *call = &step->call;
    if (tfy__step_wait_kind(step)) return true;
    TfyBuffer *out = tfy__step_payload(call->loop);
    tfy__buffer_text(out, call->tool->name);
    if (call->tool->agent && ((const TfyList *)call->args[0].o)->len > MESSAGES_MOST)
        encode_question(out, call->tool, call->args);
    else
        tfy__step_encode_args(out, call->tool, call->args);
    if (!out->failed) call->digest = XXH3_64bits(out->data, out->len);
    return !out->failed;
}

/* ---- settling a failed attempt ---- */

static void tell_pause(const Step *step)
{
    tfy__activity(step->call.task, "Idle", "%s pauses before another attempt",
                  step->backoff_only ? "a call" : step->call.tool->name);
}

static bool record_retry(Step *step)
{
    TaskRest *rest = step->rest;
    const TfyLogRecord *record;
    if (!tfy__history_expect(rest, TFY_R_RETRY, step->call.site->point->number, &record)) return false;
    if (record) {
        step->due_ms = tfy__step_recorded_due(step->call.loop, record);
        tfy__history_take(rest);
        tell_pause(step); /* in a replay; otherwise it was not announced yet */
        return true;
    }
    if (!tfy__history_live(rest)) return tfy__history_defer(step), false;
    int64_t delay_ms = step->backoff_ms;
    for (uint32_t i = 1; i < step->call.attempt && delay_ms < BACKOFF_MAX_MS; i++) delay_ms *= 2;
    if (delay_ms > BACKOFF_MAX_MS) delay_ms = BACKOFF_MAX_MS;
    step->due_ms = tfy__due_from_now(step->call.loop, delay_ms);
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_ATTEMPT, step->call.attempt);
    tfy__put_error(&out, step->call.task->error);
    tfy__put_int(&out, TFY_P_DUE, step->due_ms);
    tfy__put_end(&out);
    TfyTicket ticket = tfy__step_append(step, TFY_R_RETRY, &out);
    tfy__buffer_free(&out);
    if (!step->backoff_only) tfy__metrics_retry(&step->call.loop->metrics, step->call.tool->name);
    return ticket > 0;
}

/* A prompt's answer that does not fit its type is requested again: a step of its own each time. */
static bool ask_again(Step *step)
{
    TfyTask *task = step->call.task;
    if (step->asks <= 0 || task->error->type != &tfy_type_bad_value) return false;
    step->asks--;
    tfy_drop(task, tfy_take_error(task));
    step->call.step = ++step->rest->log.step;
    tfy__step_begin_again(step);
    return true;
}

bool tfy__step_retriable(const Step *step)
{
    const TfyTask *task = step->call.task;
    const TfyType *const *on = step->call.site->retry_on;
    if (!tfy_retriable(task)) return false;
    while (on && *on && *on != task->error->type) on++;
    return !on || *on;
}

/* False: waits, was answered, or halted. */
static bool settle(Step *step)
{
    TfyTask *task = step->call.task;
    CHECK(step->stage == STAGE_SETTLE);
    CHECK(task->error);
    tfy__limit_leave(step);
    if (!step->backoff_only && ask_again(step)) return true;
    if (step->retry <= 0 || (!step->backoff_only && !tfy__step_retriable(step))) {
        tfy__step_raise(step);
        return false;
    }
    if (!record_retry(step)) return false;
    step->retry--;
    if (!step->backoff_only) tfy__undo_retried(task);
    tfy_drop(task, tfy_take_error(task));
    step->stage = STAGE_BACKOFF;
    return true;
}

/* False: waits or was answered. */
static bool backoff(Step *step)
{
    TaskRest *rest = step->rest;
    const TfyLogRecord *record = tfy__history_peek(rest);
    if (!record && !tfy__history_live(rest)) return tfy__history_defer(step), false;
    if (!record && step->due_ms > step->call.loop->now_ms) {
        tfy__step_arm(step);
        tell_pause(step);
        return false;
    }
    tfy__timers_del(&step->call.loop->timers, step->timer);
    step->timer = 0;
    step->due_ms = 0;
    if (step->backoff_only) {
        tfy__step_answer(step, tfy_of_int(0));
        return false;
    }
    tfy__step_begin_again(step);
    return true;
}

/* Checks the table above struct Step. */
static void check_step(const Step *step)
{
    const Stage stage = step->stage;
    CHECK(stage != STAGE_DEAD);
    CHECK(step->rest->step == step);
    CHECK(step->rest->task == step->call.task);
    CHECK(!step->in_call || stage == STAGE_RUN);
    CHECK((stage == STAGE_SYNC) == !!(step->queued & IN_SYNC));
    CHECK(step->doubt != DOUBT_PROBED || (stage == STAGE_RUN && step->in_call));
    CHECK(step->doubt != DOUBT_RECORDED || stage >= STAGE_SETTLE);
    CHECK(!step->queue || stage == STAGE_RUN || stage == STAGE_BEGIN);
    CHECK(!step->queue || !step->in_call);
    CHECK(!step->fd_wait || step->in_call);
    CHECK(!step->limiter || step->admission == ADMISSION_GRANTED);
    CHECK(!(step->queued & IN_DEFERRED) || step->rest->run->history);
    CHECK(!step->asking || stage == STAGE_RUN || stage >= STAGE_SETTLE);
    CHECK(!step->aside || step->in_call);
    CHECK(step->counted || stage == STAGE_BEGIN || stage >= STAGE_SETTLE);
    CHECK(!step->in_call || step->begun_ns <= step->call.loop->now_ns);
    CHECK(!step->backoff_only || (!step->in_call && !step->started && !step->limiter));
}

void tfy__step_advance(Step *step)
{
    check_step(step);
    TaskRest *rest = step->rest;
    TfyTask *task = step->call.task;
    while (rest->step == step && !(task->state & T_HALTED)) {
        /* Input from outside arrived between two of the facts below; it may end the step. A doubt that it did not
         * end is recorded again, since people answer the newest record of a task. */
        uint32_t next = rest->next_record;
        if (task->state & T_REPLAYING) tfy__history_async(task);
        if (rest->step != step || (task->state & T_REPLAYING && tfy__history_arrives_later(task))) return;
        if (rest->next_record != next) step->doubt = DOUBT_NONE;
        switch (step->stage) {
        case STAGE_BEGIN:
            if (!tfy__step_begin(step)) return;
            break;
        case STAGE_OUTCOME:
        case STAGE_DOUBT:
            if (tfy__step_take_recorded(step)) break;
            if (rest->step != step || task->state & T_HALTED) return;
            if (step->stage == STAGE_OUTCOME) tfy__step_ghost_waits(step);
            if (tfy__history_peek(rest)) return;
            if (!tfy__history_live(rest)) {
                tfy__history_defer(step);
                return;
            }
            if (step->stage == STAGE_OUTCOME)
                tfy__step_go_live(step);
            else
                tfy__step_doubt_live(step);
            return;
        case STAGE_SETTLE:
            if (!settle(step)) return;
            break;
        case STAGE_BACKOFF:
            if (!backoff(step)) return;
            break;
        case STAGE_SYNC:
        case STAGE_RUN:
        case STAGE_DEAD: return;
        }
    }
}

/* ---- the request ---- */

/* One place more than there are parameters: a probe receives the key there, and performers may always read the
 * first. */
static bool keep_args(Step *step, const TfyValue *args)
{
    const TfyTool *tool = step->call.tool;
    bool few = tool->param_count < FEW_ARGS; /* few_args is all zero */
    step->call.args = few ? step->few_args : calloc(tool->param_count + 1, sizeof *args);
    if (!step->call.args) return false;
    for (uint32_t i = 0; i < tool->param_count; i++)
        step->call.args[i] = tfy__keep_value(tool->params[i].type, args[i]);
    return true;
}

Step *tfy__step_restore(TfyTask *task, const TfySite *site, const TfyValue *args, const char *key)
{
    Step *step = tfy__step_new(task, site);
    if (!step) return NULL;
    if (!args) {
        step->backoff_only = true;
        step->call.result = &tfy_type_nothing;
        return step;
    }
    if (!keep_args(step, args) || !tfy__step_digest(step)) {
        tfy__step_free(step);
        return NULL;
    }
    snprintf(step->key, sizeof step->key, "%s", key);
    step->call.key = step->key;
    step->call.record_type = result_record(site->tool);
    return step;
}

/* The key from the source, or tfy__record_key's, written into an existing buffer. */
static bool set_key(Step *step, TfyObj *key)
{
    const TaskRest *rest = step->rest;
    TfyBuffer *out = tfy__step_payload(step->call.loop);
    if (key) {
        tfy__buffer_add(out, ((TfyString *)key)->bytes, ((TfyString *)key)->byte_len);
    } else {
        tfy__buffer_add(out, rest->run->uuid, 36);
        tfy__buffer_char(out, '/');
        tfy__buffer_text(out, rest->log.path);
        tfy__buffer_char(out, '/');
        tfy__buffer_int(out, step->call.step);
    }
    if (out->failed) return false;
    tfy__record_key_fit(out->data, out->len, step->key);
    step->call.key = step->key;
    return true;
}

/* Continues as far as possible at once: the frame continues, or the task waits. */
static TfyStatus run_step(TfyTask *task, Step *step)
{
    TaskRest *rest = rest_of(task);
    TfyTaskState waiting = tfy__step_wait_state(step);
    mark_running(task);
    tfy__step_advance(step);
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (rest->step != step) return TFY_AGAIN;
    set_state(task, step->round ? tfy__step_wait_state(step) : waiting);
    return TFY_WAIT;
}

TfyStatus tfy_perform(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy)
{
    return tfy_perform_call(task, site, args, policy, NULL);
}

TfyStatus tfy_perform_call(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy,
                           TfyObj *id)
{
    TfyValue asked[3];
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    if (tfy__cancel_ready(task)) {
        task->passages++;
        return TFY_AGAIN; /* prepare delivers it before the frame continues */
    }
    if (site->asked) {
        if (!site->asked->by->take(task, site, args, asked)) return TFY_AGAIN;
        args = asked;
    }
    if (rest_of(task)->undo_count) tfy__undo_attempt(task, site->tool->repeat == TFY_ONCE);
    Step *step = tfy__step_new(task, site);
    const bool made = step && keep_args(step, args), encoded = made && tfy__step_digest(step);
    if (!encoded || !set_key(step, policy ? policy->key : NULL)) {
        if (step) tfy__step_free(step);
        if (made && !encoded)
            tfy__buffer_refused(task, &task->loop->payload);
        else
            tfy__starved(task);
        return TFY_AGAIN;
    }
    if (policy) {
        step->retry = policy->retry;
        step->backoff_ms = policy->backoff_ms;
        step->timeout_ms = policy->timeout_ms;
    }
    step->asks = site->tool->asks;
    step->model_call = tfy_keep(id);
    step->call.record_type = result_record(site->tool);
    tfy_cut(task, 0);
    return run_step(task, step);
}

Step *tfy__step_asleep(TfyTask *task, const TfySite *site, int64_t number, int64_t due_ms)
{
    Step *step = tfy__step_new(task, site);
    if (!step) return NULL;
    step->rest->log.step = step->call.step = number;
    step->call.args = step->few_args;
    if (site->tool->family == TFY_F_SLEEP_UNTIL) step->few_args[0].i = due_ms;
    if (!set_key(step, NULL)) {
        tfy__step_free(step);
        return NULL;
    }
    step->stage = STAGE_RUN;
    step->due_ms = due_ms;
    step->due_kind = DUE_SLEEP;
    step->counted = step->told_idle = true;
    return step;
}

TfyStatus tfy_backoff(TfyTask *task, const TfySite *site, int64_t attempt, int64_t backoff_ms)
{
    if (task->state & T_HALTED) return TFY_WAIT; /* for ever */
    tfy__undo_retried(task);
    if (tfy__cancel_ready(task)) {
        task->passages++;
        return TFY_AGAIN;
    }
    Step *step = tfy__step_new(task, site);
    if (!step) {
        tfy_drop(task, tfy_take_error(task));
        tfy__starved(task);
        return TFY_AGAIN;
    }
    step->backoff_only = true;
    step->call.result = &tfy_type_nothing;
    step->call.attempt = (uint32_t)attempt;
    step->retry = 1;
    step->backoff_ms = backoff_ms;
    step->stage = STAGE_SETTLE;
    step->counted = true;
    task->passages++;
    return run_step(task, step);
}

/* channel.c: messages between the tasks of a run.
 *
 * A message is accepted when there is room (ChannelSend in the sender's chain), and waiting receivers get messages
 * in their order (ChannelRecv in the receiver's). Each record is appended before its effect can be seen by another
 * task, so a crash always leaves a state that the channel was in: messages sent and not received are in the queue
 * again. A cancellation loses nothing either: a message whose receiver never used it returns to the head. */
#include "core/step/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a channel's number: its maker's handle, then its ordinal among the maker's channels */
#define MAKER_SHIFT 20

/* ---- channels ---- */

static Channel *channel_of(const Run *run, int64_t number)
{
    TaskRest *maker = tfy__task_of_handle(run, number >> MAKER_SHIFT);
    uint32_t index = (uint32_t)(number & ((1 << MAKER_SHIFT) - 1));
    return maker && index && index <= maker->channel_count ? maker->channels[index - 1] : NULL;
}

static bool reserve_place(TaskRest *maker)
{
    return GROW(maker->channels, maker->channel_cap, maker->channel_count + 1, 4);
}

Channel *tfy__channel_add(TaskRest *maker)
{
    Channel *channel = calloc(1, sizeof *channel);
    TfyBuffer name = {0};
    tfy__buffer_printf(&name, "%s/%u", maker->log.path, maker->channel_count + 1);
    if (!channel || name.failed || !reserve_place(maker)) {
        free(channel);
        tfy__buffer_free(&name);
        return NULL;
    }
    channel->name = name.data;
    return maker->channels[maker->channel_count++] = channel;
}

bool tfy_channel(TfyTask *task, uint32_t line, int64_t capacity, int64_t *out)
{
    if (task->state & T_HALTED) return false;
    TaskRest *maker = rest_of(task);
    if (capacity < 1)
        return tfy_panic(task, line, "a channel has room for at least one message, not %lld", (long long)capacity);
    if (maker->run->max_queue && capacity > maker->run->max_queue)
        return tfy_panic(task, line, "a channel of this process has room for at most %lld messages, not %lld",
                         (long long)maker->run->max_queue, (long long)capacity);
    if (maker->channel_count == (1 << MAKER_SHIFT) - 1)
        return tfy_panic(task, line, "a task makes at most %d channels", (1 << MAKER_SHIFT) - 1);
    Channel *channel = tfy__channel_add(maker);
    if (!channel) return tfy__starved(task);
    channel->capacity = capacity;
    *out = tfy__task_handle(maker) << MAKER_SHIFT | maker->channel_count;
    return true;
}

void tfy__channels_free(TaskRest *maker)
{
    TfyTask scratch = {.heap = &maker->run->loop->heap, .loop = maker->run->loop};
    for (uint32_t i = 0; i < maker->channel_count; i++) {
        Channel *channel = maker->channels[i];
        for (uint32_t at = 0; at < channel->count; at++)
            tfy__drop_value(&scratch, channel->elem, channel->ring[(channel->head + at) & (channel->cap - 1)].value);
        free(channel->ring);
        free(channel->name);
        free(channel);
    }
    free(maker->channels);
}

/* ---- the queue of messages ---- */

static bool reserve_message(TfyLoop *loop, Channel *channel)
{
    if (channel->count < channel->cap) return true;
    const uint32_t cap = (uint32_t)tfy__grow_cap(channel->cap, (size_t)channel->cap + 1, 4, sizeof *channel->ring);
    Message *ring = cap ? malloc(cap * sizeof *ring) : NULL;
    if (!ring) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a message");
        return false;
    }
    for (uint32_t i = 0; i < channel->count; i++) ring[i] = channel->ring[(channel->head + i) & (channel->cap - 1)];
    free(channel->ring);
    CHECK((cap & (cap - 1)) == 0 && cap > channel->count);
    channel->ring = ring;
    channel->cap = cap;
    channel->head = 0;
    return true;
}

static void put_last(Channel *channel, Message message)
{
    CHECK(channel->count < channel->cap);
    channel->ring[(channel->head + channel->count++) & (channel->cap - 1)] = message;
}

bool tfy__channel_put(TfyLoop *loop, Channel *channel, Message message)
{
    if (!reserve_message(loop, channel)) return false;
    put_last(channel, message);
    return true;
}

static void put_first(Channel *channel, Message message)
{
    CHECK(channel->count < channel->cap);
    channel->head = (channel->head - 1) & (channel->cap - 1);
    channel->ring[channel->head] = message;
    channel->count++;
}

static Message take_first(Channel *channel)
{
    CHECK(channel->count > 0 && channel->head < channel->cap);
    Message message = channel->ring[channel->head];
    channel->head = (channel->head + 1) & (channel->cap - 1);
    channel->count--;
    return message;
}

/* ---- the outcome of a step ---- */

static Channel *asked(const Step *step)
{
    return channel_of(step->rest->run, step->call.args[0].i);
}

static void write_error(TfyBuffer *out, const Channel *channel, const TfyObj *error)
{
    tfy__buffer_reset(out);
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_OBJ, channel->name);
    tfy__put_error(out, error);
    tfy__put_end(out);
}

static void raise_closed(Step *step)
{
    TfyTask *task = step->call.task;
    TfyObj *text = tfy_string_of(task, "the channel is closed", 21);
    if (text) tfy_fail(task, &tfy_type_channel_closed, step->call.site->point->line, (TfyValue[]){tfy_of_obj(text)});
    cut_temps(task);
}

static bool has_room(const Channel *channel)
{
    return channel->count < channel->capacity;
}

/* The payload of a send's record. False: task->error is raised instead, and recorded. */
static bool write_send(TfyBuffer *out, Step *step, const Channel *channel)
{
    const TfyCall *call = &step->call;
    if (channel->closed) {
        raise_closed(step);
    } else {
        tfy__put_begin(out);
        tfy__put_text(out, TFY_P_OBJ, channel->name);
        tfy__put_int(out, TFY_P_SEQ, (int64_t)channel->sent + 1);
        tfy__put_value(out, TFY_P_VALUE, call->tool->params[1].type, call->args[1]);
        tfy__put_end(out);
        if (out->depth <= TFY_JSON_DEPTH) return true;
        tfy_panic(call->task, call->site->point->line,
                  "the message nests deeper than %d levels, so it cannot be recorded", TFY_JSON_DEPTH);
        cut_temps(call->task);
    }
    write_error(out, channel, call->task->error);
    return false;
}

static void accept(Step *step, Channel *channel)
{
    CHECK(!channel->closed);
    CHECK(channel->count <= channel->sent);
    channel->elem = step->call.tool->params[1].type;
    TfyValue value = tfy__keep_value(channel->elem, step->call.args[1]);
    put_last(channel, (Message){.seq = ++channel->sent, .value = value});
}

/* The payload of a receive's record. */
static void write_recv(TfyBuffer *out, const Channel *channel)
{
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_OBJ, channel->name);
    if (channel->count)
        tfy__put_int(out, TFY_P_SEQ, (int64_t)channel->ring[channel->head].seq);
    else
        tfy__put_flag(out, TFY_P_CLOSED, true);
    tfy__put_end(out);
}

/* The answer: the message as T?, or null. False: no memory for the box around it. */
static bool make_answer(const Step *step, const Channel *channel, TfyValue *out)
{
    out->o = NULL;
    if (!channel->count) return true;
    TfyValue value = channel->ring[channel->head].value;
    *out = channel->elem->scalar ? tfy_of_obj(tfy_box(step->call.task, step->call.result, value)) : value;
    return out->o != NULL;
}

static void answer_recv(Step *step, Channel *channel, TfyValue answer)
{
    TaskRest *rest = step->rest;
    const TfyType *elem = channel->elem;
    TfyTask *task = step->call.task;
    Message message = {0};
    bool got = channel->count > 0;
    if (got) message = take_first(channel);
    tfy__step_answer(step, answer);
    if (!got) return;
    CHECK(message.seq && message.seq <= channel->sent);
    CHECK(!rest->granted_from && !rest->granted_lock && !rest->granted_signal);
    tfy__drop_value(task, elem, message.value); /* the answer holds it now */
    rest->granted_from = channel;
    rest->granted_seq = message.seq;
}

/* ---- live ---- */

static void send_now(Step *step, Channel *channel)
{
    TfyBuffer out = {0};
    bool ok = write_send(&out, step, channel);
    TfyTicket ticket =
        reserve_message(step->call.loop, channel) ? tfy__step_append(step, TFY_R_CHANNEL_SEND, &out) : TFY_E_NOMEM;
    tfy__buffer_free(&out);
    tfy__wait_leave(step);
    if (ticket < 0) return;
    if (ok) accept(step, channel);
    tfy__step_outcome(step, ok, tfy_of_int(0));
}

static void recv_now(Step *step, Channel *channel)
{
    TfyBuffer out = {0};
    TfyValue answer;
    bool ok = make_answer(step, channel, &answer);
    if (ok)
        write_recv(&out, channel);
    else
        write_error(&out, channel, step->call.task->error);
    TfyTicket ticket = tfy__step_append(step, TFY_R_CHANNEL_RECV, &out);
    tfy__buffer_free(&out);
    tfy__wait_leave(step);
    if (ticket < 0) return;
    if (ok)
        answer_recv(step, channel, answer);
    else
        tfy__step_outcome(step, false, answer);
}

/* Serves waiting steps that can proceed, in their order. */
static void serve(TfyLoop *loop, Channel *channel)
{
    while (!loop->failure) {
        Step *receiver = channel->receivers.first, *sender = channel->senders.first;
        if (receiver && (channel->count || channel->closed))
            recv_now(receiver, channel);
        else if (sender && (has_room(channel) || channel->closed))
            send_now(sender, channel);
        else
            return;
    }
}

static void send_live(Step *step)
{
    Channel *channel = asked(step);
    tfy__wait_enter(&channel->senders, step);
    serve(step->call.loop, channel);
}

static void recv_live(Step *step)
{
    Channel *channel = asked(step);
    tfy__wait_enter(&channel->receivers, step);
    serve(step->call.loop, channel);
}

void tfy__channel_return(TaskRest *rest)
{
    Channel *channel = rest->granted_from;
    TfyLoop *loop = rest->run->loop;
    TfyObj *answer = rest->task->result.o;
    CHECK(rest->answer_type && channel->elem);
    CHECK(channel->count < channel->sent);
    rest->granted_from = NULL;
    if (!reserve_message(loop, channel)) return;
    TfyValue value = channel->elem->scalar ? tfy_unbox(answer) : tfy_of_obj(answer);
    put_first(channel, (Message){.seq = rest->granted_seq, .value = tfy__keep_value(channel->elem, value)});
    serve(loop, channel);
}

bool tfy_channel_close(TfyTask *task, const TfyPoint *point, int64_t number)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    Channel *channel = channel_of(rest_of(task)->run, number);
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_OBJ, channel->name);
    tfy__put_end(&out);
    rest->log.step++;
    bool ok = tfy__record_fact(rest, TFY_R_CHANNEL_CLOSE, point->number, &out);
    tfy__buffer_free(&out);
    if (!ok) return false;
    channel->closed = true;
    task->loop->temp_floor = tfy_mark(task);
    serve(task->loop, channel);
    task->loop->temp_floor = 0;
    return true;
}

/* ---- recorded ---- */

static void take_error(Step *step, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    tfy__history_take(step->rest);
    tfy__step_raise_recorded(step, tfy__payload_get(&payload, TFY_P_ERROR));
    step->stage = STAGE_SETTLE;
    tfy__payload_close(&payload);
}

static void send_take(Step *step, const TfyLogRecord *record)
{
    Channel *channel = asked(step);
    if (tfy__record_failed(record)) {
        take_error(step, record);
        return;
    }
    TfyBuffer out = {0};
    bool possible = !channel->closed && has_room(channel) && reserve_message(step->call.loop, channel);
    if (possible) write_send(&out, step, channel);
    bool same = tfy__step_same_outcome(step, record, out.data);
    tfy__buffer_free(&out);
    if (!same) return;
    tfy__history_take(step->rest);
    accept(step, channel);
    tfy__step_answer(step, tfy_of_int(0));
}

static void recv_take(Step *step, const TfyLogRecord *record)
{
    Channel *channel = asked(step);
    if (tfy__record_failed(record)) {
        take_error(step, record);
        return;
    }
    TfyBuffer out = {0};
    TfyValue answer;
    if (channel->count || channel->closed) write_recv(&out, channel);
    bool same = tfy__step_same_outcome(step, record, out.data);
    tfy__buffer_free(&out);
    if (!same) return;
    if (!make_answer(step, channel, &answer)) {
        tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for a message");
        return;
    }
    tfy__history_take(step->rest);
    answer_recv(step, channel, answer);
}

const WaitKind tfy__wait_send = {
    .live = send_live, .take = send_take, .record = TFY_R_CHANNEL_SEND, .waiting = TFY_TASK_WAITING_CHANNEL};
const WaitKind tfy__wait_recv = {
    .live = recv_live, .take = recv_take, .record = TFY_R_CHANNEL_RECV, .waiting = TFY_TASK_WAITING_CHANNEL};

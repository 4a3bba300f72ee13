/* snapshot.c: writes a run's state into one record. docs/log-format.md has the format, restore.c reads it.
 *
 * Every value is written as [value], as [value,1] if others refer to it too, or as the number of such a value,
 * counted from 0 in the order of the text: a value that several places share is written once, and shared again
 * when it is restored. */
#include "core/step/round.h"
#include "core/replay/snapshot.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

typedef struct Writer {
    TfyBuffer out;
    TfyLoop *loop;
    Run *run;
    TfyNumbers objects, groups;
    TfyNumbers ended; /* finished tasks that are written */
    uint32_t *frames; /* of the task being written: offsets, the outermost first */
    size_t frame_cap;
    uint32_t frame_count;
} Writer;

/* The thing's number, from 0; a new one if it has none yet. */
static uint32_t number_of(Writer *w, TfyNumbers *numbers, const void *thing, bool *is_new)
{
    const uint32_t number = tfy__number_of(numbers, thing, is_new);
    if (!number) w->out.failed = true;
    return number ? number - 1 : 0;
}

/* False: no memory, and the snapshot is not written. */
#define RESERVE(w, list, cap, count) (GROW(list, cap, (count) + 1, 16) || !((w)->out.failed = true))

static void need_ended(Writer *w, const TaskRest *rest)
{
    bool is_new;
    if (rest && rest->end_state) number_of(w, &w->ended, rest, &is_new);
}

/* ---- values ---- */

/* A list of tasks: the parent takes the values of a group's bodies, and those of other tasks by joining. */
static void need_bodies(Writer *w, const TfyObj *handles)
{
    for (int64_t i = 0; i < tfy_list_len(handles); i++) {
        int64_t tid = w->run->log.root + tfy_list_item(handles, i).i;
        const TaskRest *rest =
            tfy__folded_by_tid(w->loop, tid) ? NULL : tfy__task_by_tid(w->loop, tid); /* bodies are not folded */
        if (rest && rest->run == w->run && rest->group) need_ended(w, rest);
    }
}

static void write_value(Writer *w, const TfyType *type, TfyValue value)
{
    const TfyObj *object = type->scalar ? NULL : value.o;
    bool shared = object && object->refs > 1 && object->refs != TFY_IMMORTAL, is_new = true;
    if (object && type->kind == TFY_LIST && type->elem->kind == TFY_TASK) need_bodies(w, object);
    uint32_t number = shared ? number_of(w, &w->objects, object, &is_new) : 0;
    if (!is_new) {
        tfy__buffer_int(&w->out, number);
        return;
    }
    tfy__buffer_char(&w->out, '[');
    tfy__encode(&w->out, type, value);
    tfy__buffer_text(&w->out, shared ? ",1]" : "]");
}

static void write_values(Writer *w, const TfyField *fields, uint32_t count, const TfyValue *values)
{
    tfy__buffer_char(&w->out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) tfy__buffer_char(&w->out, ',');
        write_value(w, fields[i].type, values[i]);
    }
    tfy__buffer_char(&w->out, ']');
}

static void write_error(Writer *w, const TfyObj *error)
{
    write_value(w, &tfy_type_any_error, tfy_of_obj((TfyObj *)error));
}

static void write_number(Writer *w, TfyMember member, int64_t number)
{
    if (number) tfy__put_int(&w->out, member, number);
}

static void write_text(Writer *w, const char *text)
{
    tfy__buffer_json_string(&w->out, text, strlen(text));
}

static void open_list(Writer *w, TfyMember member)
{
    tfy__put(&w->out, member);
    tfy__buffer_char(&w->out, '[');
}

/* An object in a list. */
static void open_item(Writer *w, bool first)
{
    if (!first) tfy__buffer_char(&w->out, ',');
    tfy__put_begin(&w->out);
}

/* ---- frames ---- */

/* By the wall clock, which a later process also has. */
static void write_due(Writer *w, uint64_t timer)
{
    const TfyLoop *loop = w->loop;
    if (!tfy__timers_has(&loop->timers, timer)) return;
    int64_t due_ns = tfy__timers_due(&loop->timers, timer);
    write_number(w, TFY_S_DUE, loop->now_ms + (due_ns - loop->now_ns) / 1000000);
}

/* A variable in an inner scope may have the same name. */
static bool is_only(const TfyPoint *point, uint32_t at)
{
    for (uint32_t i = 0; i < point->live_count; i++)
        if (i != at && point->live[i].name && strcmp(point->live[i].name, point->live[at].name) == 0) return false;
    return true;
}

static void write_slot_name(Writer *w, const TfyPoint *point, uint32_t at)
{
    const TfyLive *live = &point->live[at];
    if (at) tfy__buffer_char(&w->out, ',');
    if (live->name && is_only(point, at))
        tfy__buffer_printf(&w->out, "\"%s\":", live->name);
    else
        tfy__buffer_printf(&w->out, "\"%s#%u\":", live->name ? live->name : "", live->slot);
}

/* The parameters of a frame that has not started, else the live slots at its point. */
static void write_slots(Writer *w, const TfyFrame *frame)
{
    const TfyValue *slots = (const TfyValue *)(frame + 1);
    if (!frame->pc) {
        tfy__put(&w->out, TFY_S_PARAMS);
        write_values(w, frame->workflow->params, frame->workflow->param_count, slots);
        return;
    }
    const TfyPoint *point = frame->workflow->resume[frame->pc - 1];
    if (!point->live_count) return;
    tfy__put(&w->out, TFY_S_SLOTS);
    tfy__put_begin(&w->out);
    for (uint32_t i = 0; i < point->live_count; i++) {
        write_slot_name(w, point, i);
        write_value(w, point->live[i].type, slots[point->live[i].slot]);
    }
    tfy__buffer_char(&w->out, '}');
}

static void write_children(Writer *w, const TfyFrame *frame)
{
    if (!frame->children) return;
    const char *comma = "";
    open_list(w, TFY_S_CHILDREN);
    for (uint32_t at = frame->children; at; at = tfy__siblings(w->loop, at)->next) {
        tfy__buffer_text(&w->out, comma);
        tfy__buffer_int(&w->out, tfy__task_handle(rest_of(task_at(w->loop, at - 1)))); /* none is folded now */
        comma = ",";
    }
    tfy__buffer_char(&w->out, ']');
}

static void write_frame(Writer *w, const TfyTask *task, uint32_t at)
{
    const TfyFrame *frame = frame_at(task, at);
    bool returned = frame->flags & FRAME_UNDOING || (at == task->top && task->state & T_RETURNING);
    tfy__put_begin(&w->out);
    tfy__put_int(&w->out, TFY_S_ROUTINE, frame->workflow->number);
    tfy__put_int(&w->out, TFY_S_POINT, frame->pc ? frame->workflow->resume[frame->pc - 1]->number : 0);
    tfy__put_int(&w->out, TFY_S_SCOPE, frame->scope);
    write_number(w, TFY_S_MASK, frame->mask);
    write_number(w, TFY_S_FLAGS, frame->flags);
    write_due(w, frame->timer);
    write_children(w, frame);
    if (!returned) write_slots(w, frame);
    tfy__buffer_char(&w->out, '}');
}

/* The offsets of a task's frames, the outermost first. */
static bool list_frames(Writer *w, const TfyTask *task)
{
    w->frame_count = 0;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        if (!RESERVE(w, w->frames, w->frame_cap, w->frame_count)) return false;
        w->frames[w->frame_count++] = at;
    }
    for (uint32_t i = 0; i < w->frame_count / 2; i++) {
        uint32_t at = w->frames[i];
        w->frames[i] = w->frames[w->frame_count - 1 - i];
        w->frames[w->frame_count - 1 - i] = at;
    }
    return true;
}

/* The index of a frame, from the outermost. */
static uint32_t frame_index(const Writer *w, uint32_t at)
{
    uint32_t low = 0, high = w->frame_count;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (w->frames[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void write_frames(Writer *w, const TfyTask *task)
{
    if (!list_frames(w, task)) return;
    open_list(w, TFY_S_FRAMES);
    for (uint32_t i = 0; i < w->frame_count && !w->out.failed; i++) {
        if (i) tfy__buffer_char(&w->out, ',');
        write_frame(w, task, w->frames[i]);
    }
    tfy__buffer_char(&w->out, ']');
}

/* ---- state attached to frames ---- */

static void write_deadlines(Writer *w, const TaskRest *rest)
{
    if (!rest->deadline_count) return;
    open_list(w, TFY_S_DEADLINES);
    for (uint32_t i = 0; i < rest->deadline_count; i++) {
        const Deadline *deadline = &rest->deadlines[i];
        open_item(w, !i);
        tfy__put_int(&w->out, TFY_S_FRAME, frame_index(w, deadline->frame));
        tfy__put_int(&w->out, TFY_S_SCOPE, deadline->scope);
        write_number(w, TFY_S_MASK, deadline->mask);
        write_number(w, TFY_S_FLAGS, deadline->flags);
        write_due(w, deadline->timer);
        tfy__buffer_char(&w->out, '}');
    }
    tfy__buffer_char(&w->out, ']');
}

static void write_undos(Writer *w, const TaskRest *rest)
{
    if (!rest->undo_count) return;
    open_list(w, TFY_S_UNDOS);
    for (uint32_t i = 0; i < rest->undo_count; i++) {
        const Undo *undo = &rest->undos[i];
        unsigned flags = (undo->idle ? UNDO_IDLE : 0) | (undo->once ? UNDO_ONCE : 0) |
                         (undo->started ? UNDO_STARTED : 0) | (undo->unknown ? UNDO_UNKNOWN : 0);
        open_item(w, !i);
        tfy__put_int(&w->out, TFY_S_FRAME, frame_index(w, undo->frame));
        tfy__put_int(&w->out, TFY_S_HEIGHT, undo->height);
        tfy__put_int(&w->out, TFY_S_ROUTINE, undo->block->number);
        tfy__put_int(&w->out, TFY_S_POINT, undo->point->number);
        write_number(w, TFY_S_FLAGS, flags);
        tfy__put(&w->out, TFY_S_ARGS);
        write_values(w, undo->block->params, undo->block->param_count, undo->args);
        tfy__buffer_char(&w->out, '}');
    }
    tfy__buffer_char(&w->out, ']');
}

/* Innermost first. */
static void write_unwinding(Writer *w, const TaskRest *rest)
{
    if (!rest->unwinding) return;
    open_list(w, TFY_S_UNWINDING);
    for (const Unwinding *at = rest->unwinding; at; at = at->below) {
        open_item(w, at == rest->unwinding);
        tfy__put_int(&w->out, TFY_S_POINT, at->point ? at->point->number : 0);
        tfy__put(&w->out, TFY_S_ERROR);
        write_error(w, at->error);
        tfy__buffer_char(&w->out, '}');
    }
    tfy__buffer_char(&w->out, ']');
}

/* ---- the step ---- */

/* As the tail of the log would find it: a step under way has no known outcome yet. */
static const char *stage_name(const Step *step)
{
    switch (step->stage) {
    case STAGE_BEGIN: return "begin";
    case STAGE_SETTLE: return "settle";
    case STAGE_BACKOFF: return "backoff";
    case STAGE_DOUBT: return "doubt";
    default: return step->doubt ? "doubt" : "outcome";
    }
}

static unsigned step_flags(const Step *step)
{
    return (step->counted ? STEP_COUNTED : 0) | (step->started ? STEP_STARTED : 0) |
           (step->due_kind ? STEP_TIMEOUT_BEGUN : 0) | (step->due_kind == DUE_TIMEOUT ? STEP_BOUNDED : 0) |
           (step->backoff_only ? STEP_BACKOFF_ONLY : 0) | (step->doubt == DOUBT_RECORDED ? STEP_DOUBT_RECORDED : 0) |
           (step->admission ? STEP_LINED_UP : 0) | (step->unknown ? STEP_UNKNOWN : 0);
}

static void write_step(Writer *w, const Step *step)
{
    const TfyCall *call = &step->call;
    const TfyTool *tool = call->site->tool;
    tfy__put(&w->out, TFY_S_PENDING);
    tfy__put_begin(&w->out);
    tfy__put_int(&w->out, TFY_S_STEP, call->step);
    tfy__put_text(&w->out, TFY_S_STAGE, stage_name(step));
    tfy__put_int(&w->out, TFY_S_ATTEMPT, call->attempt);
    tfy__put_int(&w->out, TFY_S_FLAGS, step_flags(step));
    write_number(w, TFY_S_RETRY, step->retry);
    write_number(w, TFY_S_BACKOFF, step->backoff_ms);
    if (step->timeout_ms != TFY_NEVER) write_number(w, TFY_S_TIMEOUT, step->timeout_ms);
    write_number(w, TFY_S_ASKS, step->asks);
    write_number(w, TFY_S_DUE, tfy__step_due(step));
    write_number(w, TFY_S_AGAIN, tfy__step_again(step));
    write_number(w, TFY_S_TRIES, call->tries);
    if (step->failure) tfy__put_json(&w->out, TFY_S_FAILURE, step->failure, strlen(step->failure));
    if (step->model_call) tfy__put_string(&w->out, TFY_S_CALL, step->model_call);
    if (step->round) {
        tfy__put(&w->out, TFY_S_ROUND);
        step->round->ops->write(step, &w->out);
    }
    if (tool) {
        tfy__put_text(&w->out, TFY_S_TOOL, tool->name);
        tfy__put_text(&w->out, TFY_S_KEY, step->key);
        tfy__put(&w->out, TFY_S_ARGS);
        write_values(w, tool->params, tool->param_count, call_args(step));
    }
    tfy__buffer_char(&w->out, '}');
}

/* ---- what a task holds ---- */

static void write_string(Writer *w, const TfyObj *string)
{
    const TfyString *text = (const TfyString *)string;
    tfy__buffer_json_string(&w->out, text->bytes, text->byte_len);
}

static void write_signal(Writer *w, const Signal *signal)
{
    tfy__put_begin(&w->out);
    tfy__put_int(&w->out, TFY_S_SEQ, (int64_t)signal->seq);
    tfy__put_json(&w->out, TFY_S_VALUE, signal->value, strlen(signal->value));
    tfy__put_end(&w->out);
}

static void write_granted(Writer *w, const TaskRest *rest)
{
    if (rest->granted_from) {
        tfy__put_text(&w->out, TFY_S_GRANTED_FROM, rest->granted_from->name);
        write_number(w, TFY_S_GRANTED_SEQ, (int64_t)rest->granted_seq);
    }
    if (rest->granted_lock) tfy__put_string(&w->out, TFY_S_GRANTED_LOCK, rest->granted_lock->name);
    if (rest->why) tfy__put_text(&w->out, TFY_S_WHY, rest->why);
    if (rest->granted_signal) {
        tfy__put_string(&w->out, TFY_S_GRANTED_NAME, rest->granted_signal->name->text);
        tfy__put(&w->out, TFY_S_GRANTED_SIGNAL);
        write_signal(w, rest->granted_signal);
    }
}

/* Newest first. */
static void write_holds(Writer *w, const TaskRest *rest)
{
    if (!rest->holds) return;
    open_list(w, TFY_S_HOLDS);
    for (const Hold *hold = rest->holds; hold; hold = hold->next) {
        if (hold != rest->holds) tfy__buffer_char(&w->out, ',');
        write_string(w, hold->lock->name);
    }
    tfy__buffer_char(&w->out, ']');
}

/* The type of a channel's messages, identified by a place that sends them: types have no other unique name. */
static uint32_t sender_of(const TfyProgram *program, const TfyType *elem)
{
    for (uint32_t i = 0; i < program->point_count; i++) {
        const TfySite *site = program->sites[i];
        if (site && site->tool && site->tool->family == TFY_F_SEND && site->tool->params[1].type == elem) return i + 1;
    }
    return 0;
}

static void write_channel(Writer *w, const Channel *channel)
{
    tfy__put_begin(&w->out);
    tfy__put_int(&w->out, TFY_S_CAPACITY, channel->capacity);
    write_number(w, TFY_S_SENT, (int64_t)channel->sent);
    tfy__put_true(&w->out, TFY_S_CLOSED, channel->closed);
    if (channel->count) write_number(w, TFY_S_SENDER, sender_of(program_of(w->run), channel->elem));
    if (channel->count) open_list(w, TFY_S_MESSAGES);
    for (uint32_t i = 0; i < channel->count; i++) {
        const Message *message = &channel->ring[(channel->head + i) & (channel->cap - 1)];
        open_item(w, !i);
        tfy__put_int(&w->out, TFY_S_SEQ, (int64_t)message->seq);
        tfy__put(&w->out, TFY_S_VALUE);
        write_value(w, channel->elem, message->value);
        tfy__buffer_char(&w->out, '}');
    }
    tfy__buffer_text(&w->out, channel->count ? "]}" : "}");
}

static void write_channels(Writer *w, const TaskRest *maker)
{
    if (!maker->channel_count) return;
    open_list(w, TFY_S_CHANNELS);
    for (uint32_t i = 0; i < maker->channel_count; i++) {
        if (i) tfy__buffer_char(&w->out, ',');
        write_channel(w, maker->channels[i]);
    }
    tfy__buffer_char(&w->out, ']');
}

/* ---- tasks ---- */

/* The tasks that start after this one: it has their list, while they only count the live tasks they wait for. */
static void write_followers(Writer *w, const TaskRest *awaited)
{
    if (!awaited->followers) return;
    open_list(w, TFY_S_FOLLOWERS);
    for (const Follower *follower = awaited->followers; follower; follower = follower->next) {
        if (follower != awaited->followers) tfy__buffer_char(&w->out, ',');
        tfy__buffer_int(&w->out, tfy__task_handle(follower->child));
    }
    tfy__buffer_char(&w->out, ']');
}

static void write_group(Writer *w, const TaskRest *body)
{
    bool is_new;
    if (body->group) write_number(w, TFY_S_GROUP, number_of(w, &w->groups, body->group, &is_new) + 1);
}

static void write_identity(Writer *w, const TaskRest *rest)
{
    tfy__put_begin(&w->out);
    tfy__put_int(&w->out, TFY_S_TASK, tfy__task_handle(rest));
    tfy__put_text(&w->out, TFY_S_PATH, rest->log.path);
    tfy__put_int(&w->out, TFY_S_ROUTINE, rest->workflow->number);
    tfy__put_hex(&w->out, TFY_S_CHAIN, rest->log.chain);
    write_group(w, rest);
    tfy__put_true(&w->out, TFY_S_JOINED, rest->joined);
}

static void write_counters(Writer *w, const TaskRest *rest)
{
    write_number(w, TFY_S_STEP, rest->log.step);
    write_number(w, TFY_S_PASSAGES, rest->task->passages);
    write_number(w, TFY_S_SCOPES, rest->task->scopes);
    write_number(w, TFY_S_SPAWNED, rest->spawned);
    write_number(w, TFY_S_RANDOMS, (int64_t)rest->randoms);
    write_number(w, TFY_S_PRIORITY, rest->priority);
    write_number(w, TFY_S_AFTER, rest->after_left);
}

static void write_cancellation(Writer *w, const TaskRest *rest)
{
    tfy__put_true(&w->out, TFY_S_CANCEL, rest->task->state & T_CANCEL);
    tfy__put_true(&w->out, TFY_S_CANCELLED, rest->cancelled);
    if (!rest->kill) return;
    tfy__put_text(&w->out, TFY_S_KILL, rest->kill_why);
    tfy__put_true(&w->out, TFY_S_FORCE, rest->kill_force);
}

static void write_state(Writer *w, const TaskRest *rest)
{
    const TfyTask *task = rest->task;
    tfy__put_true(&w->out, TFY_S_READY, task->state & T_QUEUED);
    tfy__put_true(&w->out, TFY_S_RETURNING, task->state & T_RETURNING);
    tfy__put_true(&w->out, TFY_S_ANSWERED, task->state & T_ANSWERED);
    if (rest->answer_type) {
        tfy__put(&w->out, TFY_S_ANSWER);
        write_value(w, rest->answer_type, task->result);
    }
    if (!task->error) return;
    tfy__put(&w->out, TFY_S_ERROR);
    write_error(w, task->error);
}

static void write_live(Writer *w, const TaskRest *rest)
{
    write_identity(w, rest);
    write_counters(w, rest);
    write_cancellation(w, rest);
    write_frames(w, rest->task);
    write_deadlines(w, rest);
    write_undos(w, rest);
    write_unwinding(w, rest);
    write_state(w, rest);
    if (rest->step) write_step(w, rest->step);
    write_holds(w, rest);
    write_granted(w, rest);
    write_channels(w, rest);
    write_followers(w, rest);
    tfy__buffer_char(&w->out, '}');
}

static void write_ended(Writer *w, const TaskRest *rest)
{
    write_identity(w, rest);
    write_number(w, TFY_S_STATE, rest->end_state);
    if (rest->end_state == TFY_TASK_COMPLETED) {
        tfy__put(&w->out, TFY_S_VALUE);
        write_value(w, rest->workflow->result, rest->value);
    } else if (rest->failure) {
        tfy__put(&w->out, TFY_S_FAILURE);
        write_error(w, rest->failure);
    }
    if (rest->failure_text) tfy__put_text(&w->out, TFY_S_TEXT, rest->failure_text);
    write_channels(w, rest);
    tfy__buffer_char(&w->out, '}');
}

/* ---- shared state ---- */

static void write_locks(Writer *w)
{
    bool first = true;
    if (!w->run->locks) return;
    open_list(w, TFY_S_LOCKS);
    for (uint32_t i = 0; i < LOCK_BUCKETS; i++) {
        for (const Lock *lock = w->run->locks[i]; lock; lock = lock->next) {
            open_item(w, first);
            tfy__put_string(&w->out, TFY_S_NAME, lock->name);
            write_number(w, TFY_S_PERMITS, lock->permits);
            tfy__put_end(&w->out);
            first = false;
        }
    }
    tfy__buffer_char(&w->out, ']');
}

static void write_signals(Writer *w)
{
    bool first = true;
    const Run *run = w->run;
    write_number(w, TFY_S_SIGNAL_COUNT, (int64_t)run->signal_count);
    if (run->signals) open_list(w, TFY_S_SIGNALS);
    for (const SignalName *name = run->signals; name; name = name->next) {
        if (!name->kept.first) continue;
        open_item(w, first);
        tfy__put_string(&w->out, TFY_S_NAME, name->text);
        open_list(w, TFY_S_KEPT);
        for (const Signal *signal = name->kept.first; signal; signal = signal->next) {
            if (signal != name->kept.first) tfy__buffer_char(&w->out, ',');
            write_signal(w, signal);
        }
        tfy__buffer_text(&w->out, "]}");
        first = false;
    }
    if (run->signals) tfy__buffer_char(&w->out, ']');
    if (!run->signal_ids) return;
    open_list(w, TFY_S_SIGNAL_IDS);
    for (const SignalId *id = run->signal_ids; id; id = id->next) {
        if (id != run->signal_ids) tfy__buffer_char(&w->out, ',');
        write_text(w, id->text);
    }
    tfy__buffer_char(&w->out, ']');
}

static void write_groups(Writer *w)
{
    if (!w->groups.index.count) return;
    open_list(w, TFY_S_GROUPS);
    for (size_t i = 0; i < w->groups.index.count; i++) {
        const Group *group = w->groups.things[i];
        open_item(w, !i);
        tfy__put_int(&w->out, TFY_S_ALIVE, group->alive);
        write_number(w, TFY_S_ENDED, group->first_ended ? tfy__task_handle(group->first_ended) : 0);
        write_number(w, TFY_S_FAILED, group->first_failed ? tfy__task_handle(group->first_failed) : 0);
        tfy__buffer_char(&w->out, '}');
    }
    tfy__buffer_char(&w->out, ']');
}

/* The order in which steps enter their queues again: those that wait in a queue keep their places. */
static void write_order(Writer *w)
{
    const char *comma = "";
    const TaskRest *oldest = w->run->tasks;
    while (oldest && oldest->next_in_run) oldest = oldest->next_in_run;
    open_list(w, TFY_S_ORDER);
    for (const TaskRest *rest = oldest; rest; rest = rest->prev_in_run) {
        const Step *step = rest->step;
        if (!step || (step->queue && step->queue_prev)) continue;
        for (; step; step = step->queue ? step->queue_next : NULL) {
            tfy__buffer_text(&w->out, comma);
            tfy__buffer_int(&w->out, tfy__task_handle(step->rest));
            comma = ",";
        }
    }
    tfy__buffer_char(&w->out, ']');
}

/* What performers keep for a run, such as the counts of the models' answers. */
static void write_performers(Writer *w)
{
    for (int i = 0; i < TFY_F_COUNT; i++) {
        const TfyPerformer *performer = performer_once(w->loop, i);
        if (!performer || !performer->save) continue;
        tfy__buffer_printf(&w->out, ",\"%s\":", performer->name);
        performer->save(w->loop, w->run->uuid, &w->out);
    }
}

/* ---- the whole ---- */

/* Oldest first: they are restored in that order. */
static bool write_tasks(Writer *w)
{
    size_t count = 0, cap = 0;
    const TaskRest **live = NULL;
    const Run *run = w->run;
    for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
        bool lost = rest->end_state == TFY_TASK_FAILED && !rest->joined;
        if (rest->end_state && (rest == run->root || lost || rest->channel_count)) need_ended(w, rest);
        if (rest->end_state || !RESERVE(w, live, cap, count)) continue;
        live[count++] = rest;
    }
    open_list(w, TFY_S_TASKS);
    while (count && !w->out.failed) {
        write_live(w, live[--count]);
        if (count) tfy__buffer_char(&w->out, ',');
    }
    free(live);
    tfy__buffer_char(&w->out, ']');
    open_list(w, TFY_S_ENDED);
    for (size_t i = 0; i < w->ended.index.count && !w->out.failed; i++) {
        if (i) tfy__buffer_char(&w->out, ',');
        write_ended(w, w->ended.things[i]);
    }
    tfy__buffer_char(&w->out, ']');
    return !w->out.failed;
}

/* False: there is no memory for it, or it is too large or too deep to be read again. */
static bool write_run(Writer *w)
{
    const Run *run = w->run;
    tfy__put_begin(&w->out);
    tfy__put_int(&w->out, TFY_S_V, SNAPSHOT_V);
    tfy__put_hex(&w->out, TFY_S_SEED, tfy__fork_seed(run->root));
    /* at the front: a reader that needs only this need not read all of it */
    if (run->rooted) {
        tfy__put(&w->out, TFY_S_ROOT);
        tfy__root_write(&w->out, &run->loaded->root->at);
    }
    write_number(w, TFY_S_MAX_MEMORY, run->max_memory);
    write_number(w, TFY_S_MAX_QUEUE, run->max_queue);
    if (run->digests_only) tfy__put_text(&w->out, TFY_S_PROMPTS, DIGESTS_ONLY);
    tfy__ceiling_write(run, &w->out, TFY_S_CEILING);
    tfy__put_true(&w->out, TFY_S_YOLO, run->yolo);
    if (!write_tasks(w)) return false;
    write_groups(w);
    write_locks(w);
    write_signals(w);
    write_order(w);
    tfy__limit_write(run, &w->out);
    write_performers(w);
    tfy__buffer_char(&w->out, '}');
    return !w->out.failed && w->out.depth <= TFY_JSON_DEPTH;
}

static void writer_free(Writer *w)
{
    tfy__buffer_free(&w->out);
    tfy__numbers_free(&w->objects);
    tfy__numbers_free(&w->groups);
    tfy__numbers_free(&w->ended);
    free(w->frames);
}

/* ---- when ---- */

/* False: not now, and perhaps never. *folded: some of its tasks are folded. */
static bool can_have(const Run *run, bool *folded)
{
    uint32_t at_hand = 0;
    if (run->ended || run->history || !run->live || run->loop->failure) return false;
    for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
        at_hand += rest->task != NULL;
        if (rest->task && rest->task->state & T_HALTED) return false;
    }
    *folded = at_hand < run->live;
    return true;
}

int tfy__snapshot_write(Run *run)
{
    TfyLoop *loop = run->loop;
    Writer w = {.out = {.exact = true, .max = SNAPSHOT_MAX}, .loop = loop, .run = run};
    TfyTicket ticket = TFY_E_STATE;
    bool folded = false;
    run->since_records = 0;
    run->since_bytes = 0;
    if (can_have(run, &folded) && (!folded || tfy__unfold_run(run, UINT32_MAX)) && write_run(&w)) {
        ticket =
            tfy__log_append(loop->log, &run->root->log, TFY_R_SNAPSHOT, run->root->log.step, 0, w.out.data, w.out.len);
        if (ticket < 0) tfy__loop_fail_log(loop, (int)ticket);
        loop->metrics.records[TFY_R_SNAPSHOT]++;
    }
    if (folded) tfy__fold_run(run);
    /* also of one that failed: it is tried again when it is worthwhile */
    run->snapshot_bytes = w.out.len;
    writer_free(&w);
    return ticket < 0 ? (int)ticket : 0;
}

int tfy__snapshot_init(TfyLoop *loop, char *error_text)
{
    int64_t every = loop->options.snapshot_every ? loop->options.snapshot_every : SNAPSHOT_EVERY;
    const int given = tfy__env_number("TFY_SNAPSHOT_EVERY", UINT32_MAX, &every, error_text);
    if (given < 0) return given;
    loop->snapshot_exactly = given > 0;
    loop->snapshot_every = (uint32_t)every;
    if (loop->options.forget) loop->snapshot_every = 0;
    return 0;
}

void tfy__snapshot_count(Run *run, size_t bytes)
{
    TfyLoop *loop = run->loop;
    run->since_records++;
    run->since_bytes += bytes;
    if (!loop->snapshot_every || !run->loaded->snapshots || run->since_records < loop->snapshot_every ||
        run->snapshot_due)
        return;
    if (!loop->snapshot_exactly && run->since_bytes < 2 * run->snapshot_bytes) return;
    run->snapshot_due = true;
    run->due_next = loop->snapshots_due;
    loop->snapshots_due = run;
}

void tfy__snapshots_write(TfyLoop *loop)
{
    while (loop->snapshots_due) {
        Run *run = loop->snapshots_due;
        loop->snapshots_due = run->due_next;
        run->snapshot_due = false;
        if (!loop->test) tfy__snapshot_write(run);
    }
}

/* wait.c: channels, locks, signals, and the ends of groups.
 *
 * What a waiting task is given is its own only when it runs again: a cancellation that comes before gives it back (give_back), a message and
 * a signal to the head of their queue, a lock to the next in line. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

/* ---- what answers at once ---- */

static bool answer_now(Task *task, const Value *value)
{
    task->answer = value;
    task_count_answer(task);
    return !task->raised.kind;
}

/* ---- channels ---- */

int64_t channel_make(Interp *in, int64_t capacity)
{
    Channel *channel = must_alloc(sizeof *channel);
    channel->capacity = capacity;
    if (in->channel_count == sizeof in->channels / sizeof *in->channels) {
        fprintf(stderr, "interp: too many channels\n");
        exit(70);
    }
    in->channels[in->channel_count] = channel;
    return in->channel_count++;
}

static void queue_insert(Channel *channel, size_t at, const Value *value)
{
    const Value **longer = must_alloc((channel->len + 1) * sizeof *longer);
    for (size_t i = 0; i < channel->len; i++) longer[i + (i >= at)] = channel->queue[i];
    longer[at] = value;
    channel->queue = longer;
    channel->len++;
}

static bool hand_to_receiver(Channel *channel, const Value *value)
{
    Task *receiver = take_waiter(&channel->receivers);
    if (!receiver) return false;
    receiver->answer = value;
    receiver->received = channel;
    make_ready(receiver);
    return true;
}

static void accept_message(Channel *channel, const Value *value)
{
    if (!hand_to_receiver(channel, value)) queue_insert(channel, channel->len, value);
}

static void raise_closed(Task *task)
{
    raise_in(task, task->interp->program->core.channel_closed, "the channel is closed", NULL, NULL);
    queue_work(task);
}

bool task_send(Task *task, int64_t number, const Value *value, int64_t timeout_due_ms)
{
    Channel *channel = task->interp->channels[number];
    if (channel->closed) {
        task->waiting = true;
        raise_closed(task);
        return finish_wait(task);
    }
    if ((int64_t)channel->len < channel->capacity) {
        accept_message(channel, value);
        return answer_now(task, &value_null);
    }
    task->sends = value;
    task->answer = &value_null;
    wait_in(task, &channel->senders, "send", timeout_due_ms);
    return finish_wait(task);
}

/* There is room for one message again. */
static void admit_sender(Channel *channel)
{
    if ((int64_t)channel->len >= channel->capacity) return;
    Task *sender = take_waiter(&channel->senders);
    if (!sender) return;
    accept_message(channel, sender->sends);
    make_ready(sender);
}

bool task_recv(Task *task, int64_t number, int64_t timeout_due_ms)
{
    Channel *channel = task->interp->channels[number];
    if (channel->len) {
        const Value *value = channel->queue[0];
        channel->queue++;
        channel->len--;
        admit_sender(channel);
        if (answer_now(task, value)) return true;
        if (!hand_to_receiver(channel, value)) queue_insert(channel, 0, value);
        return false;
    }
    if (channel->closed) return answer_now(task, &value_null);
    wait_in(task, &channel->receivers, "recv", timeout_due_ms);
    return finish_wait(task);
}

void channel_close(Interp *in, int64_t number)
{
    Channel *channel = in->channels[number];
    channel->closed = true;
    for (Task *task; (task = take_waiter(&channel->receivers));) {
        task->answer = &value_null;
        make_ready(task);
    }
    for (Task *task; (task = take_waiter(&channel->senders));) raise_closed(task);
}

/* ---- locks ---- */

static Lock *find_lock(Interp *in, const Value *name, int64_t permits)
{
    Lock **link = &in->locks;
    while (*link && !value_equal((*link)->name, name)) link = &(*link)->next;
    if (*link) return *link;
    Lock *lock = *link = must_alloc(sizeof *lock);
    lock->name = name;
    lock->permits = permits;
    return lock;
}

static bool holds(const Task *task, const Lock *lock)
{
    for (uint32_t i = 0; i < lock->held; i++)
        if (lock->holders[i] == task) return true;
    return false;
}

Lock *task_lock(Task *task, const Value *name, int64_t permits, int64_t timeout_due_ms)
{
    if (task_deliver(task)) return NULL;
    Lock *lock = find_lock(task->interp, name, permits);
    if (lock->permits != permits) {
        panic(task->top, "semaphore \"%s\" has %lld permits, not %lld", name->text, (long long)lock->permits,
              (long long)permits);
        return NULL;
    }
    if (holds(task, lock)) {
        panic(task->top, "lock \"%s\" is already held by this task", name->text);
        return NULL;
    }
    if (lock->held < lock->permits) {
        lock->holders[lock->held++] = task;
        if (answer_now(task, &value_null)) return lock;
        lock_release(task, lock);
        return NULL;
    }
    wait_in(task, &lock->waiters, "lock", timeout_due_ms);
    return finish_wait(task) ? lock : NULL;
}

void lock_release(Task *task, Lock *lock)
{
    uint32_t at = 0;
    while (lock->holders[at] != task) at++;
    lock->held--;
    for (; at < lock->held; at++) lock->holders[at] = lock->holders[at + 1];
    Task *next = take_waiter(&lock->waiters);
    if (!next) return;
    lock->holders[lock->held++] = next;
    next->granted = lock;
    make_ready(next);
}

/* ---- signals and people ---- */

static Signal *take_signal(Interp *in, const char *name)
{
    Signal **link = &in->signals;
    while (*link && strcmp((*link)->name, name) != 0) link = &(*link)->next;
    Signal *signal = *link;
    if (signal) *link = signal->next;
    return signal;
}

bool task_signal(Task *task, const Value *name, int64_t timeout_due_ms)
{
    Signal *signal = take_signal(task->interp, name->text);
    if (!signal) {
        /* All signals are sent before the program begins, so this one never comes. */
        wait_in(task, &task->interp->signal_waiters, "signal", timeout_due_ms);
        return finish_wait(task);
    }
    if (answer_now(task, signal->value)) return true;
    task->signalled = signal;
    give_back(task);
    return false;
}

void signal_send(Interp *in, const char *name, const Value *value)
{
    Signal **link = &in->signals, *signal = must_alloc(sizeof *signal);
    *signal = (Signal){.name = name, .value = value};
    while (*link) link = &(*link)->next;
    *link = signal;
}

/* Nobody answers in these tests. */
bool task_ask(Task *task, int64_t timeout_due_ms)
{
    wait_in(task, &task->interp->signal_waiters, "ask", timeout_due_ms);
    return finish_wait(task);
}

/* ---- what was not used ---- */

void give_back(Task *task)
{
    Interp *in = task->interp;
    if (task->granted) lock_release(task, task->granted);
    if (task->received && !hand_to_receiver(task->received, task->answer))
        queue_insert(task->received, 0, task->answer);
    if (task->signalled) {
        task->signalled->next = in->signals;
        in->signals = task->signalled;
    }
    task->granted = NULL;
    task->received = NULL;
    task->signalled = NULL;
}

/* ---- groups ---- */

static bool group_done(const Group *group)
{
    switch (group->waits) {
    case GROUP_ALL: return group->failed || !group->alive;
    case GROUP_FIRST: return group->first;
    case GROUP_ROOM: return group->failed || group->alive < group->limit;
    case GROUP_GONE: return !group->alive;
    default: return false;
    }
}

static bool group_fails(const Group *group)
{
    return group->waits == GROUP_ALL ? group->failed != NULL
                                     : group->waits == GROUP_FIRST && group->first->end != END_COMPLETED;
}

/* When nothing that the other bodies do can matter any more, they do nothing more but clean up. */
static void group_decided(Group *group)
{
    for (uint32_t i = 0; i < group->count && (group->failed || group->waits == GROUP_FIRST); i++)
        if (!group->bodies[i]->end) task_kill(group->bodies[i]);
    group->waits = GROUP_NO_WAIT;
}

/* A value wakes at once, a failure is an ended effect of the next turn. */
static void group_wake(Group *group)
{
    if (group_fails(group))
        queue_work(group->parent);
    else
        make_ready(group->parent);
    group->parent->waits_group = NULL;
    group_decided(group);
}

bool group_wait(Task *task, Group *group, GroupWait waits)
{
    if (task_deliver(task)) return false;
    group->waits = waits;
    if (group_done(group) && !group_fails(group)) {
        group_decided(group);
        return answer_now(task, &value_null);
    }
    task->waiting = true;
    task->waits_group = group;
    if (group_done(group)) group_wake(group);
    return finish_wait(task);
}

void group_tell(Task *body)
{
    Group *group = body->group;
    group->alive--;
    if (!group->first) group->first = body;
    if (!group->failed && body->end != END_COMPLETED) group->failed = body;
    if (group_done(group)) group_wake(group);
}

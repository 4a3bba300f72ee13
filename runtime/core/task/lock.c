/* lock.c: locks and semaphores of a run: first come first served, not re-entrant.
 *
 * A grant is recorded in the chain of the task that receives it, a release in the chain of the holder. A holder
 * keeps its permits through a crash and a resume. A task that ends, however it ends, releases what it holds. */
#include "core/step/step.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- the table ---- */

static Lock **bucket_of(Run *run, const TfyObj *name)
{
    const TfyString *text = (const TfyString *)name;
    return &run->locks[XXH3_64bits(text->bytes, text->byte_len) % LOCK_BUCKETS];
}

/* The first use fixes the number of permits. NULL: no memory. */
Lock *tfy__lock_of(Run *run, TfyObj *name, int64_t permits)
{
    if (!run->locks && !(run->locks = calloc(LOCK_BUCKETS, sizeof(Lock *)))) return NULL;
    Lock **bucket = bucket_of(run, name);
    for (Lock *lock = *bucket; lock; lock = lock->next)
        if (tfy_equal(&tfy_type_string, tfy_of_obj(lock->name), tfy_of_obj(name))) return lock;
    Lock *lock = malloc(sizeof *lock);
    if (!lock) return NULL;
    *lock = (Lock){.name = tfy_keep(name), .permits = permits, .free = permits, .next = *bucket};
    return *bucket = lock;
}

void tfy__locks_free(TfyLoop *loop, Run *run)
{
    TfyTask scratch = {.heap = &loop->heap, .loop = loop};
    for (uint32_t i = 0; run->locks && i < LOCK_BUCKETS; i++) {
        for (Lock *lock = run->locks[i], *next; lock; lock = next) {
            next = lock->next;
            tfy_drop(&scratch, lock->name);
            free(lock);
        }
    }
    free(run->locks);
}

static Hold **hold_of(TaskRest *rest, const Lock *lock)
{
    Hold **link = &rest->holds;
    while (*link && (*link)->lock != lock) link = &(*link)->next;
    return link;
}

/* ---- requesting ---- */

/* A request that can never be granted panics. False: it did. */
static bool may_have(Step *step, const Lock *lock)
{
    const TfyCall *call = &step->call;
    const char *name = ((const TfyString *)call->args[0].o)->bytes;
    uint32_t line = call->site->point->line;
    long long permits = (long long)call->args[1].i;
    if (!lock)
        tfy_panic(call->task, line, "semaphore '%.60s' has at least one permit, not %lld", name, permits);
    else if (permits != lock->permits)
        tfy_panic(call->task, line, "semaphore '%.60s' has %lld permits, not %lld", name, (long long)lock->permits,
                  permits);
    else if (*hold_of(step->rest, lock))
        tfy_panic(call->task, line, "lock '%.60s' is already held by this task", name);
    cut_temps(call->task);
    return !call->task->error;
}

static void write_grant(TfyBuffer *out, const Step *step)
{
    const TfyCall *call = &step->call;
    tfy__put_begin(out);
    tfy__put_string(out, TFY_P_NAME, call->args[0].o);
    tfy__put_int(out, TFY_P_PERMITS, call->args[1].i);
    if (call->task->error) tfy__put_error(out, call->task->error);
    tfy__put_end(out);
}

/* The grant is in the log: the task holds the permit. */
static void grant(Step *step, Lock *lock)
{
    TaskRest *rest = step->rest;
    Hold *hold = malloc(sizeof *hold);
    if (!hold) {
        tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for a lock");
        return;
    }
    CHECK(!*hold_of(rest, lock));
    *hold = (Hold){.lock = lock, .next = rest->holds};
    rest->holds = hold;
    CHECK(lock->free > 0 && lock->free <= lock->permits);
    lock->free--;
    tfy__step_answer(step, tfy_of_int(0));
    CHECK(!rest->granted_from && !rest->granted_lock && !rest->granted_signal);
    rest->granted_lock = lock;
}

static bool record_grant(Step *step)
{
    TfyBuffer out = {0};
    write_grant(&out, step);
    TfyTicket ticket = tfy__step_append(step, TFY_R_LOCK_GRANTED, &out);
    tfy__buffer_free(&out);
    tfy__wait_leave(step);
    return ticket > 0;
}

static void serve(TfyLoop *loop, Lock *lock)
{
    while (!loop->failure && lock->free > 0 && lock->waiters.first) {
        Step *step = lock->waiters.first;
        if (record_grant(step)) grant(step, lock);
    }
}

/* False: no memory. *lock NULL: there cannot be such a lock. */
static bool find_asked(const Step *step, Lock **lock)
{
    const TfyCall *call = &step->call;
    *lock = NULL;
    if (call->args[1].i < 1) return true;
    *lock = tfy__lock_of(step->rest->run, call->args[0].o, call->args[1].i);
    if (!*lock) tfy__loop_fail(call->loop, TFY_E_NOMEM, "no memory for a lock");
    return *lock != NULL;
}

static void lock_live(Step *step)
{
    Lock *lock;
    if (!find_asked(step, &lock)) return;
    if (may_have(step, lock)) {
        tfy__wait_enter(&lock->waiters, step);
        serve(step->call.loop, lock);
    } else if (record_grant(step)) {
        tfy__step_outcome(step, false, tfy_of_int(0));
    }
}

static void lock_take(Step *step, const TfyLogRecord *record)
{
    Lock *lock;
    if (!find_asked(step, &lock)) return;
    bool ok = may_have(step, lock);
    TfyBuffer out = {0};
    if (!ok || lock->free > 0) write_grant(&out, step);
    bool same = tfy__step_same_outcome(step, record, out.data);
    tfy__buffer_free(&out);
    if (!same) return;
    tfy__history_take(step->rest);
    if (ok)
        grant(step, lock);
    else
        step->stage = STAGE_SETTLE;
}

/* ---- releasing ---- */

/* Recorded first: another task may receive the permit at once. */
static bool release(TaskRest *rest, Hold **link, uint32_t point)
{
    Hold *hold = *link;
    Lock *lock = hold->lock;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_string(&out, TFY_P_NAME, lock->name);
    tfy__put_end(&out);
    bool ok = tfy__record_fact(rest, TFY_R_LOCK_RELEASED, point, &out);
    tfy__buffer_free(&out);
    if (!ok) return false;
    CHECK(lock->free >= 0 && lock->free < lock->permits);
    *link = hold->next;
    free(hold);
    lock->free++;
    serve(rest->run->loop, lock);
    return true;
}

bool tfy_unlock(TfyTask *task, const TfyPoint *point, TfyObj *name)
{
    if (task->state & T_HALTED) return false;
    TaskRest *rest = rest_of(task);
    for (Hold **link = &rest->holds; *link; link = &(*link)->next) {
        if (!tfy_equal(&tfy_type_string, tfy_of_obj((*link)->lock->name), tfy_of_obj(name))) continue;
        rest->log.step++;
        task->loop->temp_floor = tfy_mark(task);
        bool ok = release(rest, link, point->number);
        task->loop->temp_floor = 0;
        return ok;
    }
    return tfy_panic(task, point->line, "lock '%.60s' is not held by this task", ((TfyString *)name)->bytes);
}

bool tfy__locks_release(TaskRest *rest)
{
    while (rest->holds)
        if (!release(rest, &rest->holds, 0)) return false;
    return true;
}

void tfy__lock_return(TaskRest *rest)
{
    CHECK(rest->granted_lock);
    Hold **link = hold_of(rest, rest->granted_lock);
    rest->granted_lock = NULL;
    if (*link) release(rest, link, 0);
}

const WaitKind tfy__wait_lock = {
    .live = lock_live, .take = lock_take, .record = TFY_R_LOCK_GRANTED, .waiting = TFY_TASK_WAITING_LOCK};

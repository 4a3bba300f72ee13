/* writer.c: commits what the loop hands over: the whole queue in one transaction, again and again.
 *
 * Normally it runs in a thread of its own, so that the disk's time overlaps the loop's work. If only the records of a
 * single task wait, nothing would overlap: then the loop commits inline and saves two thread switches.
 *
 * Ordering: batches are committed in the order in which they were queued, and `durable` moves only after the commit
 * that covers it has returned, so everything up to it is on the disk. A failure is final, because after a failed sync
 * nobody knows what the disk holds. A full disk is different: the transaction did not happen, its batches return to
 * the head of the queue, and the writer retries after a pause.
 *
 * In a shared database a commit has a number, and is there once however often it is sent (TfyStoreHold). One that may have
 * happened is kept apart from the queue until the database has said so. A database that cannot be reached is like a full
 * disk; a session that was ended is a final failure. */
#include "base/check.h"
#include "base/grow.h"
#include "base/lease.h"
#include "base/sys_memory.h"
#include "wal/log/log_state.h"
#include "base/kill_point.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { INLINE_RECORDS = 8, FULL_PAUSE_MS = 100, EMPTY_BATCHES = 8 };
static const size_t queue_limit = (size_t)64 << 20; /* beyond it the loop waits for the disk */

static int64_t now_ms(const TfyWriter *w)
{
    struct timespec now;
    if (w->first->by_hand_ms) return w->first->by_hand_ms(w->first->clock_state);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What leases count by. */
static int64_t boot_ns(const TfyWriter *w)
{
    return w->first->by_hand_ms ? w->first->by_hand_ms(w->first->clock_state) * 1000000 : tfy__lease_now_ns();
}

static void notify(const TfyLog *log)
{
    const uint64_t one = 1;
    /* The counter can be full only if nobody reads it; then it is readable all the same. */
    if (log->event_fd >= 0 && write(log->event_fd, &one, sizeof one) < 0) return;
}

/* The caller holds mutex. */
static void notify_all(const TfyWriter *w)
{
    for (const TfyLog *log = w->logs.first; log; log = log->next) notify(log);
}

static void fail(TfyWriter *w, int code, const char *why)
{
    CHECK(code < 0);
    if (atomic_load(&w->error)) return;
    snprintf(w->error_text, sizeof w->error_text, "%s", why);
    w->files_lost = code == TFY_STORE_LOST;
    const bool others = code == TFY_E_HELD || code == TFY_STORE_FENCED;
    atomic_store(&w->error, code == TFY_E_NOMEM ? code : others ? TFY_E_HELD : TFY_E_IO);
}

void tfy__writer_fail(TfyLog *log, int code, const char *why)
{
    fail(log->writer, code, why);
}

static void give_notice(TfyWriter *w, const char *text)
{
    snprintf(w->notice_text, sizeof w->notice_text, "%s", text);
    atomic_store(&w->notice, true);
}

/* ---- committing ---- */

static int64_t last_record(const TfyBatch *first)
{
    int64_t last = 0;
    for (const TfyBatch *batch = first; batch; batch = batch->next) last = batch->last ? batch->last : last;
    return last;
}

/* hold: NULL in a file. */
static int send_batches(TfyWriter *w, const TfyBatch *first, const TfyStoreHold *hold)
{
    TfyStore *store = w->first->store;
    int code = TFY_STORE(store, TFY_CALL_BEGIN, begin, hold);
    if (!code) {
        for (const TfyBatch *batch = first; !code && batch; batch = batch->next) code = tfy__batch_put(batch, store);
        if (!code) tfy__kill_point(TFY_KILL_BEFORE);
        if (!code) code = TFY_STORE(store, TFY_CALL_COMMIT, commit);
        if (!code) tfy__kill_point(TFY_KILL_AFTER);
        if (code) store->ops->rollback(store);
    }
    return code;
}

/* Each one is told to the log that was to let it go; one that was closed meanwhile needs to know nothing. */
static bool note_stayed(TfyWriter *w, const TfyStoreLeaving *stayed)
{
    TfyLog *log = w->logs.first;
    while (log && log->place != stayed->place) log = log->next;
    if (!log) return true;
    if (!GROW(log->stayed, log->stayed_room, log->stayed_count + 1, 16)) return false;
    log->stayed[log->stayed_count++] = *stayed;
    return true;
}

static int note_all_stayed(TfyWriter *w)
{
    const TfyStore *store = w->first->store;
    bool room = true;
    if (!store->stayed_count) return 0;
    pthread_mutex_lock(&w->mutex);
    for (uint32_t i = 0; room && i < store->stayed_count; i++) room = note_stayed(w, &store->stayed[i]);
    pthread_mutex_unlock(&w->mutex);
    return room ? 0 : TFY_E_NOMEM;
}

/* `again`: it was sent before, and nobody knows whether it happened. If the database does not know it, it is sent again, and
 * the first sending may arrive before: then one of the two is refused. */
static int commit_held(TfyWriter *w, const TfyBatch *first, bool again)
{
    const TfyStoreHold hold = {.session = w->first->session, .commit = w->commits + 1};
    bool happened = false;
    int code = again ? TFY_STORE(w->first->store, TFY_CALL_SETTLE, settle, &hold, &happened) : 0;
    if (code || happened) return code;
    code = send_batches(w, first, &hold);
    if (code != TFY_STORE_FENCED || !again) return code;
    code = TFY_STORE(w->first->store, TFY_CALL_SETTLE, settle, &hold, &happened);
    return code || happened ? code : TFY_STORE_UNKNOWN;
}

static int commit_shared(TfyWriter *w, const TfyBatch *first, bool again)
{
    int code = commit_held(w, first, again);
    if (!code) {
        w->commits++;
        code = note_all_stayed(w);
    }
    return code;
}

static int commit_batches(TfyWriter *w, const TfyBatch *first, bool again)
{
    pthread_mutex_lock(&w->first->store_mutex);
    int code = w->first->shared ? commit_shared(w, first, again) : send_batches(w, first, NULL);
    if (!code) code = tfy__guard_look(w->first);
    if (!code) code = tfy__guard_synced(w->first, last_record(first));
    if (!code) code = tfy__store_ask(w->first->store, TFY_CALL_COMMITTED);
    pthread_mutex_unlock(&w->first->store_mutex);
    return code;
}

static bool work_left(const TfyWriter *w)
{
    return w->unsure.first || w->queue.first;
}

static TfyBatches take_queue(TfyWriter *w)
{
    CHECK(!w->writing);
    CHECK(w->queue.first);
    const TfyBatches taken = w->queue;
    w->queue = (TfyBatches){0};
    CHECK(!taken.last->next);
    CHECK(w->queued_bytes > 0);
    w->queued_bytes = 0;
    return taken;
}

static void put_back(TfyWriter *w, TfyBatches *batches)
{
    for (const TfyBatch *batch = batches->first; batch; batch = batch->next) w->queued_bytes += batch->len;
    CHECK(!w->queue.first || w->queue.first->log != batches->first->log ||
          last_record(batches->first) < last_record(w->queue.first) || !last_record(w->queue.first));
    LIST_PREPEND_ALL(&w->queue, batches, next);
}

static void recycle(TfyWriter *w, TfyBatch *first)
{
    int kept = 0;
    for (TfyBatch *empty = w->empty; empty; empty = empty->next) kept++;
    while (first) {
        TfyBatch *batch = first;
        first = batch->next;
        if (kept++ < EMPTY_BATCHES) {
            tfy__batch_clear(batch);
            batch->next = w->empty;
            w->empty = batch;
        } else {
            tfy__batch_free(batch);
        }
    }
}

static void tell_paused(TfyWriter *w, int code)
{
    const TfyStore *store = w->first->store;
    char text[sizeof w->notice_text];
    if (code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN) {
        const int64_t left_ms = w->first->lease_ms - w->first->lease_ms / 10 - (boot_ns(w) - w->renewed_ns) / 1000000;
        const long long left_s = left_ms > 0 ? left_ms / 1000 : 0;
        if (w->hangs)
            snprintf(text, sizeof text,
                     "one of the loops of this process hangs: runs pause until it makes turns again; in %lld s this "
                     "process ends",
                     left_s);
        else
            snprintf(text, sizeof text,
                     "the database does not answer (%.150s): runs pause, and continue when it does; in %lld s this "
                     "process ends",
                     store->error[0] ? store->error : "the connection was lost", left_s);
        return give_notice(w, text);
    }
    if (code == TFY_STORE_HELD) return give_notice(w, store->error);
    give_notice(w, store->limited ? "the log may not grow (RLIMIT_FSIZE): runs pause; raise the limit of this process "
                                    "with prlimit --fsize"
                                  : "the disk is full: runs pause, and continue when there is room");
}

/* Whether the same batches may be committed later. */
static bool may_again(int code)
{
    return code == TFY_STORE_FULL || code == TFY_STORE_HELD || code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN;
}

/* What a log has appended is committed in its order. */
static void note_durable(const TfyBatches *batches)
{
    for (const TfyBatch *batch = batches->first; batch; batch = batch->next) {
        TfyLog *log = batch->log;
        if (!log) continue;
        CHECK(!batch->last || batch->last - tfy__log_durable_lsn(log) == batch->records); /* dense */
        if (batch->last) atomic_store(&log->durable, batch->last);
        CHECK(log->queued > 0);
        log->queued--;
        log->moved = true;
    }
}

static void notify_moved(const TfyWriter *w)
{
    for (TfyLog *log = w->logs.first; log; log = log->next) {
        if (log->moved) notify(log);
        log->moved = false;
    }
}

/* Handles the result of a commit of these batches. The caller holds mutex. A loop that has committed records itself sees
 * that `durable` has moved; of everything else it is told. */
static void settle(TfyWriter *w, TfyBatches *batches, int code, bool by_thread, bool again)
{
    const bool was_paused = atomic_load(&w->full);
    const bool told = by_thread || code || was_paused || !last_record(batches->first);
    if (may_again(code)) {
        if (again || code == TFY_STORE_UNKNOWN)
            w->unsure = *batches;
        else
            put_back(w, batches);
        w->full_ms = now_ms(w);
        if (!was_paused) tell_paused(w, code);
        atomic_store(&w->full, true);
    } else if (code) {
        fail(w, code, w->first->store->error[0] ? w->first->store->error : "the write failed");
        tfy__guard_failed(w->first);
        recycle(w, batches->first);
    } else {
        note_durable(batches);
        atomic_store(&w->full, false);
        if (was_paused) give_notice(w, "the log can be written again: runs continue");
        recycle(w, batches->first);
    }
    if (code || was_paused)
        notify_all(w);
    else if (told)
        notify_moved(w);
    pthread_cond_broadcast(&w->rest);
}

/* Moves committed pages to the main file. A failure here is a failed sync like any other. The caller does not hold
 * mutex; `writing` is set. */
static void checkpoint(TfyWriter *w)
{
    tfy__kill_point(TFY_KILL_CHECKPOINT);
    pthread_mutex_lock(&w->first->store_mutex);
    const int code = TFY_STORE(w->first->store, TFY_CALL_CHECKPOINT, checkpoint);
    char notice[sizeof w->first->store->notice];
    memcpy(notice, w->first->store->notice, sizeof notice);
    w->first->store->notice[0] = '\0';
    pthread_mutex_unlock(&w->first->store_mutex);
    const bool fine = !code || code == TFY_STORE_FULL;
    if (fine && !notice[0]) return;
    pthread_mutex_lock(&w->mutex);
    if (fine) {
        give_notice(w, notice);
        notify_all(w);
        pthread_mutex_unlock(&w->mutex);
        return;
    }
    fail(w, code, w->first->store->error[0] ? w->first->store->error : "the checkpoint failed");
    tfy__guard_failed(w->first);
    notify_all(w);
    pthread_mutex_unlock(&w->mutex);
}

/* The second look without a commit since the first: whoever waits now may wait for days. The caller holds
 * store_mutex. */
static void give_back(TfyLog *log)
{
    const int64_t durable = tfy__log_durable_lsn(log);
    if (durable != log->looked_lsn)
        log->gave_back = false;
    else if (!log->gave_back) {
        log->store->ops->shrink(log->store);
        tfy__sys_trim();
        log->gave_back = true;
    }
    log->looked_lsn = durable;
}

void tfy__writer_look(TfyLog *log)
{
    TfyWriter *w = log->writer;
    char why[sizeof log->store->error];
    /* The current user of the store checks after its commit; a slow disk must not block this call. */
    if (atomic_load(&w->error) || pthread_mutex_trylock(&log->store_mutex) != 0) return;
    const int code = tfy__guard_look(log);
    if (!code) give_back(log);
    memcpy(why, log->store->error, sizeof why);
    pthread_mutex_unlock(&log->store_mutex);
    if (!code) return;
    pthread_mutex_lock(&w->mutex);
    fail(w, code, why);
    tfy__guard_failed(log);
    pthread_cond_broadcast(&w->wake);
    pthread_cond_broadcast(&w->rest);
    pthread_mutex_unlock(&w->mutex);
}

static bool may_send(const TfyWriter *w)
{
    return !w->first->may_send || w->first->may_send(w->first->renewed_state);
}

/* Commits the queue. The caller holds mutex, which is released while the disk works. `by_thread`: makes a due
 * checkpoint at once; the loop leaves it to the thread, because its own records are already safe. */
static void drain(TfyWriter *w, bool by_thread)
{
    CHECK(!atomic_load(&w->error));
    const bool again = w->unsure.first != NULL;
    TfyBatches batches = again ? w->unsure : take_queue(w);
    w->unsure = (TfyBatches){0};
    w->writing = true;
    w->hangs = !again && !may_send(w);
    if (w->first->shared && !again && !w->hangs) w->sent_ns = boot_ns(w);
    pthread_mutex_unlock(&w->mutex);
    const int code = w->hangs ? TFY_STORE_AWAY : commit_batches(w, batches.first, again);
    const bool due = !code && w->first->store->ops->checkpoint_due(w->first->store);
    if (w->first->renewed && !code) w->first->renewed(w->first->renewed_state, w->sent_ns);
    pthread_mutex_lock(&w->mutex);
    if (w->first->shared && !code) w->renewed_ns = w->sent_ns;
    settle(w, &batches, code, by_thread, again);
    if (due && by_thread) {
        pthread_mutex_unlock(&w->mutex);
        checkpoint(w);
        pthread_mutex_lock(&w->mutex);
    }
    CHECK(w->writing);
    w->checkpoint_wanted = due && !by_thread;
    w->writing = false;
    pthread_cond_broadcast(&w->rest);
}

/* ---- the thread ---- */

static void pause_for_room(TfyWriter *w)
{
    const int64_t until_ms = w->full_ms + FULL_PAUSE_MS;
    const struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    while (!w->stopping && now_ms(w) < until_ms) {
        if (pthread_cond_timedwait(&w->wake, &w->mutex, &until) == ETIMEDOUT) break;
    }
}

/* Makes the checkpoint that the loop left to the thread. The caller holds mutex. */
static void catch_up_checkpoint(TfyWriter *w)
{
    CHECK(!w->writing);
    w->checkpoint_wanted = false;
    w->writing = true;
    pthread_mutex_unlock(&w->mutex);
    checkpoint(w);
    pthread_mutex_lock(&w->mutex);
    w->writing = false;
    pthread_cond_broadcast(&w->rest);
}

static void *write_queued(void *state)
{
    TfyWriter *w = state;
    pthread_setname_np(pthread_self(), "tfy log");
    pthread_mutex_lock(&w->mutex);
    while (!atomic_load(&w->error)) {
        if (atomic_load(&w->full)) pause_for_room(w);
        if (w->writing) {
            pthread_cond_wait(&w->rest, &w->mutex);
        } else if (work_left(w)) {
            drain(w, true);
            if (w->stopping && atomic_load(&w->full)) break;
        } else if (w->checkpoint_wanted) {
            catch_up_checkpoint(w);
        } else if (w->stopping) {
            break;
        } else {
            pthread_cond_wait(&w->wake, &w->mutex);
        }
    }
    pthread_cond_broadcast(&w->rest);
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* Signals belong to the loop: a handler uses data that this thread must not touch. */
static bool start_thread(TfyWriter *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&w->thread, NULL, write_queued, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* The thread is created at its first use: short commands never have one. Without it the loop commits inline. */
static bool ensure_thread(TfyWriter *w)
{
    if (w->thread_started || (w->first->by_hand_ms && !w->stopping)) return true;
    if (w->first->inline_only || w->stopping) return false;
    w->thread_started = start_thread(w);
    w->first->inline_only = !w->thread_started;
    return w->thread_started;
}

bool tfy__writer_round(TfyLog *log)
{
    TfyWriter *w = log->writer;
    pthread_mutex_lock(&w->mutex);
    const bool paused = atomic_load(&w->full) && now_ms(w) < w->full_ms + FULL_PAUSE_MS;
    const bool queued = work_left(w) && !paused && !atomic_load(&w->error), left = !queued && w->checkpoint_wanted;
    if (queued) drain(w, true);
    if (left) catch_up_checkpoint(w);
    pthread_mutex_unlock(&w->mutex);
    return queued || left;
}

/* ---- the loop's side ---- */

/* A loop that hangs is told of before the lease has to be renewed. */
bool tfy__writer_silent(TfyLog *log)
{
    TfyWriter *w = log->writer;
    pthread_mutex_lock(&w->mutex);
    const bool due = boot_ns(w) - w->sent_ns >= log->lease_ms * 1000000 / 3 || !may_send(w);
    const bool silent = due && !w->writing && !work_left(w);
    pthread_mutex_unlock(&w->mutex);
    return silent;
}

TfyBatch *tfy__writer_batch(TfyLog *log)
{
    TfyWriter *w = log->writer;
    TfyBatch *batch = w->empty;
    if (!batch) return tfy__batch_new();
    CHECK(!batch->len && !batch->records);
    w->empty = batch->next;
    batch->next = NULL;
    return batch;
}

static bool inline_is_better(const TfyWriter *w, const TfyBatch *batch)
{
    if (w->first->inline_only || w->first->shared) return w->first->inline_only;
    return !w->writing && !w->queue.first && batch->one_task && batch->records <= INLINE_RECORDS && !batch->has_mark;
}

/* Moves the filling batch to the queue and replaces it by an empty one. */
static int enqueue(TfyLog *log)
{
    TfyWriter *w = log->writer;
    if (log->filling->len == 0) return 0;
    TfyBatch *next = tfy__writer_batch(log);
    if (!next) return TFY_E_NOMEM;
    w->queued_bytes += log->filling->len;
    CHECK(log->filling != next && !next->len);
    CHECK(!log->filling->next);
    CHECK(!log->filling->records || log->filling->last == log->last);
    log->filling->log = log;
    log->queued++;
    LIST_APPEND(&w->queue, log->filling, next);
    log->filling = next;
    return 0;
}

static void commit_inline(TfyWriter *w)
{
    while (w->writing) pthread_cond_wait(&w->rest, &w->mutex); /* another loop's commit, which may have ours, too */
    if (!work_left(w) || atomic_load(&w->error)) return;
    if (atomic_load(&w->full) && now_ms(w) < w->full_ms + FULL_PAUSE_MS) return;
    drain(w, w->first->inline_only);
    if (atomic_load(&w->full) || w->checkpoint_wanted) {
        if (ensure_thread(w)) pthread_cond_signal(&w->wake);
    }
}

void tfy__writer_hand_over(TfyLog *log)
{
    TfyWriter *w = log->writer;
    pthread_mutex_lock(&w->mutex);
    const bool inline_now = inline_is_better(w, log->filling);
    if (enqueue(log) != 0) {
        fail(w, TFY_E_NOMEM, "memory ran out");
        notify_all(w);
    } else if (work_left(w) && !atomic_load(&w->error)) {
        if (inline_now || !ensure_thread(w)) {
            commit_inline(w);
        } else {
            pthread_cond_signal(&w->wake);
        }
    }
    while (w->queued_bytes > queue_limit && w->thread_started && !atomic_load(&w->full) && !atomic_load(&w->error)) {
        pthread_cond_wait(&w->rest, &w->mutex);
    }
    pthread_mutex_unlock(&w->mutex);
}

/* Whether something is queued or under way, of this log or, if it has the writer for itself, of the writer. */
static bool is_busy(const TfyLog *log)
{
    const TfyWriter *w = log->writer;
    return w->logs.first == w->logs.last ? work_left(w) || w->writing : log->queued > 0;
}

int tfy__writer_wait(TfyLog *log)
{
    TfyWriter *w = log->writer;
    pthread_mutex_lock(&w->mutex);
    while (is_busy(log) && !atomic_load(&w->error) && !atomic_load(&w->full)) {
        if (w->first->by_hand_ms)
            drain(w, true);
        else
            pthread_cond_wait(&w->rest, &w->mutex);
    }
    int code = atomic_load(&w->error);
    if (!code && is_busy(log)) code = TFY_E_STATE;
    pthread_mutex_unlock(&w->mutex);
    return code;
}

/* Like commit_batches. What the work has read stays open otherwise, and nothing is moved to the main file. */
static int commit_alone(TfyWriter *w, int (*work)(void *state, TfyStore *store), void *state)
{
    TfyStore *store = w->first->store;
    pthread_mutex_lock(&w->first->store_mutex);
    int code = TFY_STORE(store, TFY_CALL_BEGIN, begin, NULL);
    if (!code) {
        code = work(state, store);
        if (!code) tfy__kill_point(TFY_KILL_BEFORE);
        if (!code) code = TFY_STORE(store, TFY_CALL_COMMIT, commit);
        if (!code) tfy__kill_point(TFY_KILL_AFTER);
        if (code) store->ops->rollback(store);
        store->ops->look_away(store);
    }
    if (!code) code = tfy__guard_look(w->first);
    if (!code) code = tfy__guard_synced(w->first, 0);
    pthread_mutex_unlock(&w->first->store_mutex);
    return code;
}

int tfy__writer_alone(TfyLog *log, int (*work)(void *state, TfyStore *store), void *state)
{
    TfyWriter *w = log->writer;
    CHECK(!log->shared && w->first == log);
    int code = tfy__writer_wait(log);
    if (code) return code;
    pthread_mutex_lock(&w->mutex);
    while (w->writing) pthread_cond_wait(&w->rest, &w->mutex); /* a checkpoint */
    CHECK(!w->queue.first);
    w->writing = true;
    pthread_mutex_unlock(&w->mutex);
    code = commit_alone(w, work, state);
    const bool due = !code && log->store->ops->checkpoint_due(log->store);
    if (due && log->inline_only) checkpoint(w);
    pthread_mutex_lock(&w->mutex);
    if (code == TFY_E_IO || code == TFY_STORE_LOST) {
        fail(w, code, log->store->error[0] ? log->store->error : "the write failed");
        tfy__guard_failed(log);
        notify(log);
    }
    w->writing = false;
    w->checkpoint_wanted |= due && !log->inline_only;
    if (w->checkpoint_wanted && ensure_thread(w)) pthread_cond_signal(&w->wake);
    pthread_cond_broadcast(&w->rest);
    pthread_mutex_unlock(&w->mutex);
    return code;
}

/* The loop of this log ends before the others'. What it has handed over is committed, or as lost as the rest will be. */
static void leave(TfyLog *log)
{
    TfyWriter *w = log->writer;
    (void)tfy__writer_wait(log);
    pthread_mutex_lock(&w->mutex);
    while (w->writing) pthread_cond_wait(&w->rest, &w->mutex); /* the batches of a commit are nobody's to change */
    for (TfyBatch *batch = w->queue.first; batch; batch = batch->next)
        if (batch->log == log) batch->log = NULL;
    for (TfyBatch *batch = w->unsure.first; batch; batch = batch->next)
        if (batch->log == log) batch->log = NULL;
    CHECK(LIST_REMOVE(&w->logs, log, next));
    pthread_mutex_unlock(&w->mutex);
}

void tfy__writer_stop(TfyLog *log)
{
    TfyWriter *w = log->writer;
    if (w->first != log) {
        leave(log);
        return;
    }
    CHECK(w->logs.first == log && w->logs.last == log);
    pthread_mutex_lock(&w->mutex);
    w->stopping = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    if (w->thread_started) pthread_join(w->thread, NULL);
    w->thread_started = false;
    log->inline_only = true;
    /* From here on there is only one thread; batches that wait for room get a last chance. */
    pthread_mutex_lock(&w->mutex);
    while (work_left(w) && !atomic_load(&w->error)) {
        drain(w, true);
        if (atomic_load(&w->full)) break;
    }
    pthread_mutex_unlock(&w->mutex);
}

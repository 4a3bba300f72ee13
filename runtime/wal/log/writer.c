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

static int64_t now_ms(const TfyLog *log)
{
    struct timespec now;
    if (log->by_hand_ms) return log->by_hand_ms(log->clock_state);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What leases count by. */
static int64_t boot_ns(const TfyLog *log)
{
    return log->by_hand_ms ? log->by_hand_ms(log->clock_state) * 1000000 : tfy__lease_now_ns();
}

static void notify(TfyLog *log)
{
    const uint64_t one = 1;
    /* The counter can be full only if nobody reads it; then it is readable all the same. */
    if (log->event_fd >= 0 && write(log->event_fd, &one, sizeof one) < 0) return;
}

void tfy__writer_fail(TfyLog *log, int code, const char *why)
{
    CHECK(code < 0);
    if (atomic_load(&log->error)) return;
    snprintf(log->error_text, sizeof log->error_text, "%s", why);
    log->files_lost = code == TFY_STORE_LOST;
    const bool others = code == TFY_E_HELD || code == TFY_STORE_FENCED;
    atomic_store(&log->error, code == TFY_E_NOMEM ? code : others ? TFY_E_HELD : TFY_E_IO);
}

static void give_notice(TfyLog *log, const char *text)
{
    snprintf(log->notice_text, sizeof log->notice_text, "%s", text);
    atomic_store(&log->notice, true);
}

/* ---- committing ---- */

static int64_t last_record(const TfyBatch *first)
{
    int64_t last = 0;
    for (const TfyBatch *batch = first; batch; batch = batch->next) last = batch->last ? batch->last : last;
    return last;
}

static int64_t record_count(const TfyBatch *first)
{
    int64_t count = 0;
    for (const TfyBatch *batch = first; batch; batch = batch->next) count += batch->records;
    return count;
}

/* hold: NULL in a file. */
static int send_batches(TfyLog *log, const TfyBatch *first, const TfyStoreHold *hold)
{
    TfyStore *store = log->store;
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

static int note_stayed(TfyLog *log)
{
    const TfyStore *store = log->store;
    if (!store->stayed_count) return 0;
    pthread_mutex_lock(&log->mutex);
    const bool room = GROW(log->stayed, log->stayed_room, log->stayed_count + store->stayed_count, 16);
    if (room) memcpy(log->stayed + log->stayed_count, store->stayed, store->stayed_count * sizeof *log->stayed);
    if (room) log->stayed_count += store->stayed_count;
    pthread_mutex_unlock(&log->mutex);
    return room ? 0 : TFY_E_NOMEM;
}

/* `again`: it was sent before, and nobody knows whether it happened. If the database does not know it, it is sent again, and
 * the first sending may arrive before: then one of the two is refused. */
static int commit_held(TfyLog *log, const TfyBatch *first, bool again)
{
    const TfyStoreHold hold = {.session = log->session, .commit = log->commits + 1};
    bool happened = false;
    int code = again ? TFY_STORE(log->store, TFY_CALL_SETTLE, settle, &hold, &happened) : 0;
    if (code || happened) return code;
    code = send_batches(log, first, &hold);
    if (code != TFY_STORE_FENCED || !again) return code;
    code = TFY_STORE(log->store, TFY_CALL_SETTLE, settle, &hold, &happened);
    return code || happened ? code : TFY_STORE_UNKNOWN;
}

static int commit_shared(TfyLog *log, const TfyBatch *first, bool again)
{
    int code = commit_held(log, first, again);
    if (!code) {
        log->commits++;
        code = note_stayed(log);
    }
    return code;
}

static int commit_batches(TfyLog *log, const TfyBatch *first, bool again)
{
    pthread_mutex_lock(&log->store_mutex);
    int code = log->shared ? commit_shared(log, first, again) : send_batches(log, first, NULL);
    if (!code) code = tfy__guard_look(log);
    if (!code) code = tfy__guard_synced(log, last_record(first));
    if (!code) code = tfy__store_ask(log->store, TFY_CALL_COMMITTED);
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

static bool work_left(const TfyLog *log)
{
    return log->unsure.first || log->queue.first;
}

static TfyBatches take_queue(TfyLog *log)
{
    CHECK(!log->writing);
    CHECK(log->queue.first);
    const TfyBatches taken = log->queue;
    log->queue = (TfyBatches){0};
    CHECK(!taken.last->next);
    CHECK(log->queued_bytes > 0);
    log->queued_bytes = 0;
    return taken;
}

static void put_back(TfyLog *log, TfyBatches *batches)
{
    for (const TfyBatch *batch = batches->first; batch; batch = batch->next) log->queued_bytes += batch->len;
    CHECK(!log->queue.first || last_record(batches->first) < last_record(log->queue.first) ||
          !last_record(log->queue.first));
    LIST_PREPEND_ALL(&log->queue, batches, next);
}

static void recycle(TfyLog *log, TfyBatch *first)
{
    int kept = 0;
    for (TfyBatch *empty = log->empty; empty; empty = empty->next) kept++;
    while (first) {
        TfyBatch *batch = first;
        first = batch->next;
        if (kept++ < EMPTY_BATCHES) {
            tfy__batch_clear(batch);
            batch->next = log->empty;
            log->empty = batch;
        } else {
            tfy__batch_free(batch);
        }
    }
}

static void tell_paused(TfyLog *log, int code)
{
    const TfyStore *store = log->store;
    char text[sizeof log->notice_text];
    if (code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN) {
        const int64_t left_ms = log->lease_ms - log->lease_ms / 10 - (boot_ns(log) - log->renewed_ns) / 1000000;
        snprintf(text, sizeof text,
                 "the database does not answer (%.150s): runs pause, and continue when it does; in %lld s this process "
                 "ends",
                 store->error[0] ? store->error : "the connection was lost",
                 (long long)(left_ms > 0 ? left_ms / 1000 : 0));
        return give_notice(log, text);
    }
    if (code == TFY_STORE_HELD) return give_notice(log, store->error);
    give_notice(log, store->limited
                         ? "the log may not grow (RLIMIT_FSIZE): runs pause; raise the limit of this process "
                           "with prlimit --fsize"
                         : "the disk is full: runs pause, and continue when there is room");
}

/* Whether the same batches may be committed later. */
static bool may_again(int code)
{
    return code == TFY_STORE_FULL || code == TFY_STORE_HELD || code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN;
}

/* Handles the result of a commit of these batches. The caller holds mutex. A loop that has committed records itself sees
 * that `durable` has moved; of everything else it is told. */
static void settle(TfyLog *log, TfyBatches *batches, int code, bool by_thread, bool again)
{
    const bool was_paused = atomic_load(&log->full);
    const bool told = by_thread || code || was_paused || !last_record(batches->first);
    if (may_again(code)) {
        if (again || code == TFY_STORE_UNKNOWN)
            log->unsure = *batches;
        else
            put_back(log, batches);
        log->full_ms = now_ms(log);
        if (!was_paused) tell_paused(log, code);
        atomic_store(&log->full, true);
    } else if (code) {
        tfy__writer_fail(log, code, log->store->error[0] ? log->store->error : "the write failed");
        tfy__guard_failed(log);
        recycle(log, batches->first);
    } else {
        const int64_t last = last_record(batches->first);
        CHECK(!last || last > tfy__log_durable_lsn(log));
        CHECK(!last || last - tfy__log_durable_lsn(log) == record_count(batches->first)); /* dense */
        if (last) atomic_store(&log->durable, last);
        atomic_store(&log->full, false);
        if (was_paused) give_notice(log, "the log can be written again: runs continue");
        recycle(log, batches->first);
    }
    if (told) notify(log);
    pthread_cond_broadcast(&log->rest);
}

/* Moves committed pages to the main file. A failure here is a failed sync like any other. The caller does not hold
 * mutex; `writing` is set. */
static void checkpoint(TfyLog *log)
{
    tfy__kill_point(TFY_KILL_CHECKPOINT);
    pthread_mutex_lock(&log->store_mutex);
    const int code = TFY_STORE(log->store, TFY_CALL_CHECKPOINT, checkpoint);
    char notice[sizeof log->store->notice];
    memcpy(notice, log->store->notice, sizeof notice);
    log->store->notice[0] = '\0';
    pthread_mutex_unlock(&log->store_mutex);
    const bool fine = !code || code == TFY_STORE_FULL;
    if (fine && !notice[0]) return;
    pthread_mutex_lock(&log->mutex);
    if (fine) {
        give_notice(log, notice);
        notify(log);
        pthread_mutex_unlock(&log->mutex);
        return;
    }
    tfy__writer_fail(log, code, log->store->error[0] ? log->store->error : "the checkpoint failed");
    tfy__guard_failed(log);
    notify(log);
    pthread_mutex_unlock(&log->mutex);
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
    char why[sizeof log->store->error];
    /* The current user of the store checks after its commit; a slow disk must not block this call. */
    if (atomic_load(&log->error) || pthread_mutex_trylock(&log->store_mutex) != 0) return;
    const int code = tfy__guard_look(log);
    if (!code) give_back(log);
    memcpy(why, log->store->error, sizeof why);
    pthread_mutex_unlock(&log->store_mutex);
    if (!code) return;
    pthread_mutex_lock(&log->mutex);
    tfy__writer_fail(log, code, why);
    tfy__guard_failed(log);
    pthread_cond_broadcast(&log->wake);
    pthread_cond_broadcast(&log->rest);
    pthread_mutex_unlock(&log->mutex);
}

/* Commits the queue. The caller holds mutex, which is released while the disk works. `by_thread`: makes a due
 * checkpoint at once; the loop leaves it to the thread, because its own records are already safe. */
static void drain(TfyLog *log, bool by_thread)
{
    CHECK(!atomic_load(&log->error));
    const bool again = log->unsure.first != NULL;
    TfyBatches batches = again ? log->unsure : take_queue(log);
    log->unsure = (TfyBatches){0};
    log->writing = true;
    if (log->shared && !again) log->sent_ns = boot_ns(log);
    pthread_mutex_unlock(&log->mutex);
    const int code = commit_batches(log, batches.first, again);
    const bool due = !code && log->store->ops->checkpoint_due(log->store);
    if (log->renewed && !code) log->renewed(log->renewed_state, log->sent_ns);
    pthread_mutex_lock(&log->mutex);
    if (log->shared && !code) log->renewed_ns = log->sent_ns;
    settle(log, &batches, code, by_thread, again);
    if (due && by_thread) {
        pthread_mutex_unlock(&log->mutex);
        checkpoint(log);
        pthread_mutex_lock(&log->mutex);
    }
    CHECK(log->writing);
    log->checkpoint_wanted = due && !by_thread;
    log->writing = false;
    pthread_cond_broadcast(&log->rest);
}

/* ---- the thread ---- */

static void pause_for_room(TfyLog *log)
{
    const int64_t until_ms = log->full_ms + FULL_PAUSE_MS;
    const struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    while (!log->stopping && now_ms(log) < until_ms) {
        if (pthread_cond_timedwait(&log->wake, &log->mutex, &until) == ETIMEDOUT) break;
    }
}

/* Makes the checkpoint that the loop left to the thread. The caller holds mutex. */
static void catch_up_checkpoint(TfyLog *log)
{
    CHECK(!log->writing);
    log->checkpoint_wanted = false;
    log->writing = true;
    pthread_mutex_unlock(&log->mutex);
    checkpoint(log);
    pthread_mutex_lock(&log->mutex);
    log->writing = false;
    pthread_cond_broadcast(&log->rest);
}

static void *write_queued(void *state)
{
    TfyLog *log = state;
    pthread_setname_np(pthread_self(), "tfy log");
    pthread_mutex_lock(&log->mutex);
    while (!atomic_load(&log->error)) {
        if (atomic_load(&log->full)) pause_for_room(log);
        if (log->writing) {
            pthread_cond_wait(&log->rest, &log->mutex);
        } else if (work_left(log)) {
            drain(log, true);
            if (log->stopping && atomic_load(&log->full)) break;
        } else if (log->checkpoint_wanted) {
            catch_up_checkpoint(log);
        } else if (log->stopping) {
            break;
        } else {
            pthread_cond_wait(&log->wake, &log->mutex);
        }
    }
    pthread_cond_broadcast(&log->rest);
    pthread_mutex_unlock(&log->mutex);
    return NULL;
}

/* Signals belong to the loop: a handler uses data that this thread must not touch. */
static bool start_thread(TfyLog *log)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&log->thread, NULL, write_queued, log) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* The thread is created at its first use: short commands never have one. Without it the loop commits inline. */
static bool ensure_thread(TfyLog *log)
{
    if (log->thread_started || (log->by_hand_ms && !log->stopping)) return true;
    if (log->inline_only || log->stopping) return false;
    log->thread_started = start_thread(log);
    log->inline_only = !log->thread_started;
    return log->thread_started;
}

bool tfy__writer_round(TfyLog *log)
{
    pthread_mutex_lock(&log->mutex);
    const bool paused = atomic_load(&log->full) && now_ms(log) < log->full_ms + FULL_PAUSE_MS;
    const bool queued = work_left(log) && !paused && !atomic_load(&log->error),
               left = !queued && log->checkpoint_wanted;
    if (queued) drain(log, true);
    if (left) catch_up_checkpoint(log);
    pthread_mutex_unlock(&log->mutex);
    return queued || left;
}

/* ---- the loop's side ---- */

bool tfy__writer_silent(TfyLog *log)
{
    pthread_mutex_lock(&log->mutex);
    const bool silent = !log->writing && !work_left(log) && boot_ns(log) - log->sent_ns >= log->lease_ms * 1000000 / 3;
    pthread_mutex_unlock(&log->mutex);
    return silent;
}

TfyBatch *tfy__writer_batch(TfyLog *log)
{
    TfyBatch *batch = log->empty;
    if (!batch) return tfy__batch_new();
    CHECK(!batch->len && !batch->records);
    log->empty = batch->next;
    batch->next = NULL;
    return batch;
}

static bool inline_is_better(const TfyLog *log, const TfyBatch *batch)
{
    if (log->inline_only || log->shared) return log->inline_only;
    return !log->writing && !log->queue.first && batch->one_task && batch->records <= INLINE_RECORDS &&
           !batch->has_mark;
}

/* Moves the filling batch to the queue and replaces it by an empty one. */
static int enqueue(TfyLog *log)
{
    if (log->filling->len == 0) return 0;
    TfyBatch *next = tfy__writer_batch(log);
    if (!next) return TFY_E_NOMEM;
    log->queued_bytes += log->filling->len;
    CHECK(log->filling != next && !next->len);
    CHECK(!log->filling->next);
    CHECK(!log->filling->records || log->filling->last == log->last);
    LIST_APPEND(&log->queue, log->filling, next);
    log->filling = next;
    return 0;
}

static void commit_inline(TfyLog *log)
{
    if (atomic_load(&log->full) && now_ms(log) < log->full_ms + FULL_PAUSE_MS) return;
    drain(log, log->inline_only);
    if (atomic_load(&log->full) || log->checkpoint_wanted) {
        if (ensure_thread(log)) pthread_cond_signal(&log->wake);
    }
}

void tfy__writer_hand_over(TfyLog *log)
{
    pthread_mutex_lock(&log->mutex);
    const bool inline_now = inline_is_better(log, log->filling);
    if (enqueue(log) != 0) {
        tfy__writer_fail(log, TFY_E_NOMEM, "memory ran out");
        notify(log);
    } else if (work_left(log) && !atomic_load(&log->error)) {
        if (inline_now || !ensure_thread(log)) {
            commit_inline(log);
        } else {
            pthread_cond_signal(&log->wake);
        }
    }
    while (log->queued_bytes > queue_limit && log->thread_started && !atomic_load(&log->full) &&
           !atomic_load(&log->error)) {
        pthread_cond_wait(&log->rest, &log->mutex);
    }
    pthread_mutex_unlock(&log->mutex);
}

int tfy__writer_wait(TfyLog *log)
{
    pthread_mutex_lock(&log->mutex);
    while ((work_left(log) || log->writing) && !atomic_load(&log->error) && !atomic_load(&log->full)) {
        if (log->by_hand_ms)
            drain(log, true);
        else
            pthread_cond_wait(&log->rest, &log->mutex);
    }
    int code = atomic_load(&log->error);
    if (!code && work_left(log)) code = TFY_E_STATE;
    pthread_mutex_unlock(&log->mutex);
    return code;
}

/* Like commit_batches. What the work has read stays open otherwise, and nothing is moved to the main file. */
static int commit_alone(TfyLog *log, int (*work)(void *state, TfyStore *store), void *state)
{
    TfyStore *store = log->store;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(store, TFY_CALL_BEGIN, begin, NULL);
    if (!code) {
        code = work(state, store);
        if (!code) tfy__kill_point(TFY_KILL_BEFORE);
        if (!code) code = TFY_STORE(store, TFY_CALL_COMMIT, commit);
        if (!code) tfy__kill_point(TFY_KILL_AFTER);
        if (code) store->ops->rollback(store);
        store->ops->look_away(store);
    }
    if (!code) code = tfy__guard_look(log);
    if (!code) code = tfy__guard_synced(log, 0);
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

int tfy__writer_alone(TfyLog *log, int (*work)(void *state, TfyStore *store), void *state)
{
    CHECK(!log->shared);
    int code = tfy__writer_wait(log);
    if (code) return code;
    pthread_mutex_lock(&log->mutex);
    while (log->writing) pthread_cond_wait(&log->rest, &log->mutex); /* a checkpoint */
    CHECK(!log->queue.first);
    log->writing = true;
    pthread_mutex_unlock(&log->mutex);
    code = commit_alone(log, work, state);
    const bool due = !code && log->store->ops->checkpoint_due(log->store);
    if (due && log->inline_only) checkpoint(log);
    pthread_mutex_lock(&log->mutex);
    if (code == TFY_E_IO || code == TFY_STORE_LOST) {
        tfy__writer_fail(log, code, log->store->error[0] ? log->store->error : "the write failed");
        tfy__guard_failed(log);
        notify(log);
    }
    log->writing = false;
    log->checkpoint_wanted |= due && !log->inline_only;
    if (log->checkpoint_wanted && ensure_thread(log)) pthread_cond_signal(&log->wake);
    pthread_cond_broadcast(&log->rest);
    pthread_mutex_unlock(&log->mutex);
    return code;
}

void tfy__writer_stop(TfyLog *log)
{
    pthread_mutex_lock(&log->mutex);
    log->stopping = true;
    pthread_cond_broadcast(&log->wake);
    pthread_mutex_unlock(&log->mutex);
    if (log->thread_started) pthread_join(log->thread, NULL);
    log->thread_started = false;
    log->inline_only = true;
    /* From here on there is only one thread; batches that wait for room get a last chance. */
    pthread_mutex_lock(&log->mutex);
    while (work_left(log) && !atomic_load(&log->error)) {
        drain(log, true);
        if (atomic_load(&log->full)) break;
    }
    pthread_mutex_unlock(&log->mutex);
}

/* tail.c: the thread that follows the log and keeps the index. It wakes when the loop says that more is durable, and looks
 * once a second besides, so that it depends on nobody.
 *
 * A transaction of the index has a price, however few records are in it. While records come one after the other, those
 * that come within GATHER_MS are followed together. A request that waits for the index ends that pause, one that waits for
 * the end of a run shortens it, and a record that comes after it is followed at once. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/sys_memory.h"
#include "serve/index.h"
#include "serve/index_row.h"
#include "serve/serve.h"
#include "serve/start.h"

enum { LOOK_MS = 1000, FAULT_MS = 200, AWAIT_MS = 5000, GATHER_MS = 25, GATHER_HELD_MS = 5, RESTED = 2 };

/* What is in no record: a run that was queued has begun, or a run is set aside, or is no longer. */
typedef struct Noted {
    struct Noted *next;
    int64_t lsn; /* a record that the index must have before: of its InstructionStart, or a later one */
    bool begun;
    char *why; /* it is set aside; owned; NULL: it is not */
    char run[37];
} Noted;

struct TfyTail {
    TfyServer *server;
    TfyIndexer *indexer;
    int64_t await_ms; /* a request waits for the index so long */
    pthread_t thread;
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;   /* something may be new */
    pthread_cond_t moved;  /* the cursor did */
    bool woken, ends;
    bool gathers;     /* the thread pauses, whatever is new */
    uint32_t awaited; /* so many wait for the cursor */
    bool ended;       /* the thread has; only who closes it asks */
    int still;        /* the thread's own: looks in a row at nothing, RESTED at most */
    int64_t cursor;
    LIST(TfyRequest) held;
    LIST(Noted) noted;
};

/* With the mutex held: there is something to do. */
static void wake(struct TfyTail *tail)
{
    tail->woken = true;
    if (!tail->gathers) pthread_cond_signal(&tail->more);
}

static void free_noted(Noted *noted)
{
    free(noted->why);
    free(noted);
}

static void note(struct TfyTail *tail, Noted *noted, const char *run)
{
    snprintf(noted->run, sizeof noted->run, "%s", run);
    pthread_mutex_lock(&tail->mutex);
    LIST_APPEND(&tail->noted, noted, next);
    wake(tail);
    pthread_mutex_unlock(&tail->mutex);
}

void tfy__tail_begun(struct TfyTail *tail, const char *run, int64_t lsn)
{
    Noted *noted = calloc(1, sizeof *noted);
    if (!noted) return; /* lists show it as queued until it ends */
    noted->lsn = lsn;
    noted->begun = true;
    note(tail, noted, run);
}

void tfy__tail_diverged(struct TfyTail *tail, const char *run, const char *why)
{
    Noted *noted = calloc(1, sizeof *noted);
    if (noted && why && !(noted->why = strdup(why))) {
        free(noted);
        noted = NULL;
    }
    if (!noted) return; /* lists do not show it */
    noted->lsn = tfy__log_durable_lsn(tfy__loop_log(tail->server->loop));
    note(tail, noted, run);
}

static bool keep_noted(TfyIndexer *indexer, const Noted *noted)
{
    if (noted->lsn > tfy__indexer_cursor(indexer)) return false;
    return noted->begun ? tfy__indexer_begins(indexer, noted->run)
                        : tfy__indexer_diverged(indexer, noted->run, noted->why);
}

/* Keeps those whose records the index has. They come in no order, but few of them come before the index has them. */
static void keep_all_noted(struct TfyTail *tail)
{
    LIST(Noted) left = {NULL, NULL};
    pthread_mutex_lock(&tail->mutex);
    Noted *noted = tail->noted.first;
    tail->noted.first = tail->noted.last = NULL;
    pthread_mutex_unlock(&tail->mutex);
    for (Noted *next; noted; noted = next) {
        next = noted->next;
        if (keep_noted(tail->indexer, noted))
            free_noted(noted);
        else
            LIST_APPEND(&left, noted, next);
    }
    pthread_mutex_lock(&tail->mutex);
    while ((noted = LIST_TAKE(&tail->noted, next))) LIST_APPEND(&left, noted, next); /* they came meanwhile: newer */
    tail->noted.first = left.first;
    tail->noted.last = left.last;
    pthread_mutex_unlock(&tail->mutex);
}

/* At the second look in a row at nothing: what follows may come in days. */
static void rest(struct TfyTail *tail, int64_t before)
{
    if (tfy__indexer_cursor(tail->indexer) != before)
        tail->still = 0;
    else if (tail->still < RESTED && ++tail->still == RESTED) {
        tfy__indexer_rest(tail->indexer);
        tfy__sys_trim();
    }
}

/* Follows what is there; what comes meanwhile wakes it again. False: it failed, and is tried again after a pause. */
static bool follow(struct TfyTail *tail)
{
    int count;
    do {
        count = tfy__indexer_follow(tail->indexer);
        keep_all_noted(tail);
        pthread_mutex_lock(&tail->mutex);
        tail->cursor = tfy__indexer_cursor(tail->indexer);
        pthread_cond_broadcast(&tail->moved);
        pthread_mutex_unlock(&tail->mutex);
    } while (count == TFY_FRESH_MOST && !tail->ends);
    return count >= 0;
}

int64_t tfy__tail_cursor(struct TfyTail *tail)
{
    pthread_mutex_lock(&tail->mutex);
    const int64_t cursor = tail->cursor;
    pthread_mutex_unlock(&tail->mutex);
    return cursor;
}

int64_t tfy__tail_behind(struct TfyTail *tail)
{
    const int64_t behind = tfy__log_durable_lsn(tfy__loop_log(tail->server->loop)) - tfy__tail_cursor(tail);
    return behind > 0 ? behind : 0;
}

/* ---- requests that wait for the end of a run ---- */

void tfy__tail_hold(struct TfyTail *tail, TfyRequest *request)
{
    request->until_ms = tfy__monotonic_ms() + request->wait_s * 1000;
    request->wait_s = 0;
    request->then = tfy__serve_waited;
    pthread_mutex_lock(&tail->mutex);
    LIST_APPEND(&tail->held, request, next);
    wake(tail);
    pthread_mutex_unlock(&tail->mutex);
}

static bool is_over(struct TfyTail *tail, const TfyRequest *request)
{
    return tail->ends || tfy__monotonic_ms() >= request->until_ms ||
           tfy__indexer_has_ended(tail->indexer, request->starting->run);
}

/* In the tail's thread: hands over those whose wait is over, and keeps the others. */
static void release(struct TfyTail *tail)
{
    pthread_mutex_lock(&tail->mutex);
    TfyRequest *request = tail->held.first;
    tail->held.first = tail->held.last = NULL;
    pthread_mutex_unlock(&tail->mutex);
    for (TfyRequest *next; request; request = next) {
        next = request->next;
        if (is_over(tail, request)) {
            tfy__readers_ask(tail->server->readers, request);
            continue;
        }
        pthread_mutex_lock(&tail->mutex);
        LIST_APPEND(&tail->held, request, next);
        pthread_mutex_unlock(&tail->mutex);
    }
}

/* With the mutex held. */
static void gather(struct TfyTail *tail)
{
    const struct timespec until = tfy__deadline(tail->held.first ? GATHER_HELD_MS : GATHER_MS);
    tail->gathers = true;
    while (!tail->awaited && !tail->ends && pthread_cond_timedwait(&tail->more, &tail->mutex, &until) != ETIMEDOUT) {}
    tail->gathers = false;
}

static void *work(void *arg)
{
    struct TfyTail *tail = arg;
    pthread_setname_np(pthread_self(), "tfy index");
    pthread_mutex_lock(&tail->mutex);
    while (!tail->ends) {
        tail->woken = false;
        pthread_mutex_unlock(&tail->mutex);
        const int64_t before = tfy__indexer_cursor(tail->indexer);
        const struct timespec until = tfy__deadline(follow(tail) ? LOOK_MS : FAULT_MS);
        release(tail);
        rest(tail, before);
        pthread_mutex_lock(&tail->mutex);
        if (tfy__indexer_cursor(tail->indexer) != before) gather(tail);
        while (!tail->woken && !tail->ends && pthread_cond_timedwait(&tail->more, &tail->mutex, &until) != ETIMEDOUT) {}
    }
    pthread_mutex_unlock(&tail->mutex);
    release(tail);
    return NULL;
}

void tfy__tail_wake(struct TfyTail *tail)
{
    pthread_mutex_lock(&tail->mutex);
    wake(tail);
    pthread_mutex_unlock(&tail->mutex);
}

bool tfy__tail_await(struct TfyTail *tail, int64_t lsn)
{
    const struct timespec until = tfy__deadline(tail->await_ms);
    pthread_mutex_lock(&tail->mutex);
    tail->awaited++;
    if (tail->cursor < lsn) pthread_cond_signal(&tail->more);
    while (tail->cursor < lsn && !tail->ends &&
           pthread_cond_timedwait(&tail->moved, &tail->mutex, &until) != ETIMEDOUT) {}
    tail->awaited--;
    const bool there = tail->cursor >= lsn;
    pthread_mutex_unlock(&tail->mutex);
    return there;
}

struct TfyTail *tfy__tail_open(TfyServer *server, char *error)
{
    struct TfyTail *tail = calloc(1, sizeof *tail);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!tail) return NULL;
    tail->server = server;
    tail->await_ms = tfy__bound("TFY_TEST_AWAIT_MS", AWAIT_MS);
    server->searches = !server->config->no_search; /* a new configuration takes a new start for it */
    tail->indexer = tfy__indexer_open(server->db, server->searches, error);
    pthread_mutex_init(&tail->mutex, NULL);
    tfy__cond_init(&tail->more);
    tfy__cond_init(&tail->moved);
    if (tail->indexer && pthread_create(&tail->thread, NULL, work, tail) == 0) return tail;
    tfy__indexer_close(tail->indexer);
    free(tail);
    return NULL;
}

void tfy__tail_quit(struct TfyTail *tail)
{
    if (!tail || tail->ended) return;
    pthread_mutex_lock(&tail->mutex);
    tail->ends = true;
    pthread_cond_broadcast(&tail->more);
    pthread_cond_broadcast(&tail->moved);
    pthread_mutex_unlock(&tail->mutex);
    pthread_join(tail->thread, NULL);
    tail->ended = true;
}

void tfy__tail_close(struct TfyTail *tail)
{
    if (!tail) return;
    tfy__tail_quit(tail);
    for (Noted *noted; (noted = LIST_TAKE(&tail->noted, next));) free_noted(noted);
    tfy__indexer_close(tail->indexer);
    pthread_mutex_destroy(&tail->mutex);
    pthread_cond_destroy(&tail->more);
    pthread_cond_destroy(&tail->moved);
    free(tail);
}

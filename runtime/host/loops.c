/* loops.c: see loops.h. */
#include "host/loops.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "core/loop.h"
#include "hub/hub_cluster.h"
#include "wal/store/store.h"

typedef struct Thread {
    TfyLoops *all;
    uint32_t place;
    TfyHub *hub;
    TfyLoop *loop;
    pthread_t thread;
    bool opened; /* or it has failed to; with the mutex */
    int code;    /* with the mutex, until the thread has ended */
    char error[TFY_ERROR_TEXT];
} Thread;

typedef enum Phase { OPENING, RUNNING, CLOSING } Phase;

struct TfyLoops {
    TfyLoopsOpen is;
    Thread threads[TFY_LOOPS_MOST];
    _Atomic(TfyLoop *) drained[TFY_LOOPS_MOST]; /* those that a drain finds */
    uint32_t begun;                             /* threads to be joined, and the first */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* With the mutex. */
    Phase phase;
    uint32_t running;
};

void tfy__loops_drain(TfyLoops *loops, int64_t grace_ms)
{
    for (uint32_t i = 0; i < loops->is.count; i++) {
        TfyLoop *loop = loops->drained[i];
        if (loop) tfy_drain(loop, grace_ms);
    }
}

/* ---- a loop ---- */

static int open_loop(Thread *self)
{
    const TfyLoopsOpen *is = &self->all->is;
    TfyOptions options = is->options;
    options.hub = self->hub;
    if (is->begins) is->begins(is->state, self->place, self->hub);
    self->code = tfy_open(&self->loop, is->program, &options, self->error);
    if (self->code) return self->code;
    if (is->opened) is->opened(is->state, self->loop);
    tfy__drain_by(self->loop, &self->all->drained[self->place]);
    return 0;
}

/* Until the others have ended, too, it is neither closed nor makes turns. */
static void run_loop(Thread *self)
{
    TfyLoops *all = self->all;
    const int code = tfy_run(self->loop);
    atomic_store(&self->hub->awake_ns, 0);
    if (all->is.ended) all->is.ended(all->is.state, self->place, self->loop, code);
    if (code != TFY_E_STATE) tfy__loops_drain(all, 0);
    pthread_mutex_lock(&all->mutex);
    self->code = code;
    all->running--;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
}

static void close_loop(Thread *self)
{
    const TfyLoopsOpen *is = &self->all->is;
    if (self->loop) (void)tfy_close(self->loop);
    if (is->closed) is->closed(is->state, self->place);
}

/* ---- the threads ---- */

static Phase await_phase(TfyLoops *all, Phase past)
{
    pthread_mutex_lock(&all->mutex);
    while (all->phase == past) pthread_cond_wait(&all->changed, &all->mutex);
    const Phase phase = all->phase;
    pthread_mutex_unlock(&all->mutex);
    return phase;
}

static void set_phase(TfyLoops *all, Phase phase)
{
    pthread_mutex_lock(&all->mutex);
    all->phase = phase;
    if (phase == RUNNING) all->running = all->is.count;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
}

static void *live(void *arg)
{
    Thread *self = arg;
    TfyLoops *all = self->all;
    char name[16];
    snprintf(name, sizeof name, "tfy loop %u", self->place + 1);
    pthread_setname_np(pthread_self(), name);
    open_loop(self);
    pthread_mutex_lock(&all->mutex);
    self->opened = true;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
    if (await_phase(all, OPENING) == RUNNING) {
        run_loop(self);
        await_phase(all, RUNNING);
    }
    close_loop(self);
    return NULL;
}

/* Signals that are sent to the process arrive in the first thread; those that a thread causes itself cannot be blocked. */
static int start_thread(Thread *self)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&self->thread, NULL, live, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) return 0;
    snprintf(self->error, sizeof self->error, "no thread for a loop: %s", strerror(error));
    return self->code = TFY_E_NOMEM;
}

static void await_opened(TfyLoops *all)
{
    pthread_mutex_lock(&all->mutex);
    for (uint32_t i = 1; i < all->begun; i++)
        while (!all->threads[i].opened) pthread_cond_wait(&all->changed, &all->mutex);
    pthread_mutex_unlock(&all->mutex);
}

/* The code of the first loop that has one that matters. */
static const Thread *first_failed(const TfyLoops *all)
{
    for (uint32_t i = 0; i < all->is.count; i++)
        if (all->threads[i].code && all->threads[i].code != TFY_E_STATE) return &all->threads[i];
    return &all->threads[0];
}

static int open_all(TfyLoops *all)
{
    all->begun = 1;
    if (open_loop(&all->threads[0])) return all->threads[0].code;
    for (; all->begun < all->is.count; all->begun++) {
        Thread *thread = &all->threads[all->begun];
        thread->hub->with = tfy__loop_log(all->threads[0].loop);
        if (start_thread(thread)) break;
    }
    await_opened(all);
    return first_failed(all)->code;
}

int tfy__loops_open(TfyLoops **loops, const TfyLoopsOpen *open, char *error_text)
{
    TfyLoops *all = calloc(1, sizeof *all);
    *loops = NULL;
    if (!all) return tfy__log_refuse(error_text, TFY_E_NOMEM, "memory ran out");
    CHECK(open->count >= 1 && open->count <= TFY_LOOPS_MOST);
    all->is = *open;
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, NULL);
    for (uint32_t i = 0; i < open->count; i++)
        all->threads[i] = (Thread){.all = all, .place = i, .hub = tfy__hub_cluster_loop(open->hub, i)};
    const int code = open_all(all);
    if (code) snprintf(error_text, TFY_ERROR_TEXT, "%s", first_failed(all)->error);
    if (code)
        tfy__loops_close(all);
    else
        *loops = all;
    return code;
}

int tfy__loops_run(TfyLoops *loops)
{
    set_phase(loops, RUNNING);
    run_loop(&loops->threads[0]);
    pthread_mutex_lock(&loops->mutex);
    while (loops->running) pthread_cond_wait(&loops->changed, &loops->mutex);
    const int code = first_failed(loops)->code;
    pthread_mutex_unlock(&loops->mutex);
    return code;
}

void tfy__loops_close(TfyLoops *loops)
{
    if (!loops) return;
    set_phase(loops, CLOSING);
    for (uint32_t i = 1; i < loops->begun; i++) pthread_join(loops->threads[i].thread, NULL);
    close_loop(&loops->threads[0]);
    pthread_cond_destroy(&loops->changed);
    pthread_mutex_destroy(&loops->mutex);
    free(loops);
}

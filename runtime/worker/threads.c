/* threads.c: see threads.h. */
#include "worker/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/frame/cli.h"
#include "core/loop.h"
#include "hub/hub_cluster.h"
#include "wal/store/store.h"

enum { STACK_BYTES = 65536 /* of a handler, when a thread's own is used up */ };

struct Loops;

typedef struct Thread {
    struct Loops *all;
    uint32_t place;
    TfyHub *hub;
    TfyLoop *loop;
    pthread_t thread;
    void *stack; /* owned */
    bool opened; /* or it has failed to; with the mutex */
    int code;
    char error[TFY_ERROR_TEXT];
} Thread;

typedef struct Loops {
    const TfyChildLoops *is;
    Thread threads[TFY_LOOPS_MOST];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum { OPENING, RUNNING, FAILED } phase; /* with the mutex */
} Loops;

/* Handlers have no arguments of their own. */
static _Atomic(TfyLoop *) running[TFY_LOOPS_MOST];
static int64_t signalled_drain_ms;
static TfyChildPage *page;
static _Thread_local uint32_t own_place; /* of the loop of this thread, from 1; 0: it has none */

void tfy__child_loops_drain(int64_t grace_ms)
{
    for (uint32_t i = 0; i < TFY_LOOPS_MOST; i++) {
        TfyLoop *loop = running[i];
        if (loop) tfy_drain(loop, grace_ms);
    }
}

static void on_signal(int number)
{
    const int reason = errno;
    (void)number;
    tfy__child_loops_drain(signalled_drain_ms);
    errno = reason;
}

/* A terminal sends its signals to all processes, and the worker tells its children what they are to do. Other threads have all
 * signals blocked. */
static void catch_signals(int64_t drain_ms)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t set;
    signalled_drain_ms = drain_ms;
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- which loop it was ---- */

static void note_death(void)
{
    if (page && own_place) page->died = (int32_t)own_place;
}

/* The default action is back in force, and ends the process. */
static void on_fatal(int number)
{
    note_death();
    raise(number);
}

/* Several loops execute a run each, and one of them is to blame if the process dies. What handles such signals already, stays. */
static void watch_deaths(TfyChildPage *child_page)
{
    const struct sigaction action = {.sa_handler = on_fatal, .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
    struct sigaction old;
    page = child_page;
    for (const int *number = (const int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, 0}; *number;
         number++)
        if (sigaction(*number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(*number, &action, NULL);
    atexit(note_death); /* a C function that exits */
}

static void give_stack(Thread *self)
{
    if (self->all->is->count == 1 || !(self->stack = malloc(STACK_BYTES))) return;
    sigaltstack(&(stack_t){.ss_sp = self->stack, .ss_size = STACK_BYTES}, NULL);
}

static void take_stack(Thread *self)
{
    if (self->stack) sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(self->stack);
}

/* ---- a loop ---- */

static int open_loop(Thread *self)
{
    const TfyChildLoops *is = self->all->is;
    TfyOptions options = is->options;
    options.hub = self->hub;
    give_stack(self);
    own_place = self->place + 1;
    if (is->page) self->hub->executes = &is->page->executes[self->place];
    self->code = tfy_open(&self->loop, is->program, &options, self->error);
    if (self->code) return self->code;
    is->opened(self->loop);
    tfy__drain_by(self->loop, &running[self->place]);
    return 0;
}

static void close_loop(Thread *self)
{
    if (self->loop) (void)tfy_close(self->loop);
    take_stack(self);
    own_place = 0;
}

/* Nothing of it is executed any more, unless memory ran out, of which its run may be the cause. */
static void run_loop(Thread *self)
{
    TfyChildPage *child_page = self->all->is->page;
    self->code = tfy_run(self->loop);
    const bool drained = self->code == TFY_E_STATE || self->code == 0;
    if (self->code == TFY_E_NOMEM && child_page && !child_page->died) child_page->died = (int32_t)self->place + 1;
    if (self->code != TFY_E_NOMEM && child_page) child_page->executes[self->place] = 0;
    if (!drained) {
        tfy__worker_say("%s", tfy__failure(self->loop));
        tfy__child_loops_drain(0);
        return;
    }
    char *calls = tfy__under_way(self->loop);
    if (calls) tfy__worker_say("%s did not finish in time and is ended", calls);
    free(calls);
}

/* ---- the threads ---- */

static void tell_opened(Thread *self)
{
    Loops *all = self->all;
    pthread_mutex_lock(&all->mutex);
    self->opened = true;
    pthread_cond_broadcast(&all->changed);
    while (all->phase == OPENING) pthread_cond_wait(&all->changed, &all->mutex);
    const bool runs = all->phase == RUNNING;
    pthread_mutex_unlock(&all->mutex);
    if (runs) run_loop(self);
}

static void *live(void *arg)
{
    Thread *self = arg;
    char name[16];
    snprintf(name, sizeof name, "tfy loop %u", self->place + 1);
    pthread_setname_np(pthread_self(), name);
    open_loop(self);
    tell_opened(self);
    close_loop(self);
    return NULL;
}

static int start_thread(Thread *self)
{
    sigset_t all, before;
    sigfillset(&all);
    for (const int *number = (const int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, 0}; *number;
         number++)
        sigdelset(&all, *number);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&self->thread, NULL, live, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) return 0;
    snprintf(self->error, sizeof self->error, "no thread for a loop: %s", strerror(error));
    self->opened = true;
    return self->code = TFY_E_NOMEM;
}

static void await_opened(Loops *all, uint32_t count)
{
    pthread_mutex_lock(&all->mutex);
    for (uint32_t i = 1; i < count; i++)
        while (!all->threads[i].opened) pthread_cond_wait(&all->changed, &all->mutex);
    pthread_mutex_unlock(&all->mutex);
}

static void set_phase(Loops *all, int code)
{
    pthread_mutex_lock(&all->mutex);
    all->phase = code ? FAILED : RUNNING;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
}

/* The code of the first loop that has one that matters. */
static const Thread *first_failed(const Loops *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (all->threads[i].code && all->threads[i].code != TFY_E_STATE) return &all->threads[i];
    return &all->threads[0];
}

/* Opens the loops; returns how many threads have to be joined, with the first, which is this one. */
static uint32_t open_all(Loops *all)
{
    const TfyChildLoops *is = all->is;
    uint32_t begun = 1;
    for (uint32_t i = 0; i < is->count; i++)
        all->threads[i] =
            (Thread){.all = all, .place = i, .hub = is->count > 1 ? tfy__hub_cluster_loop(is->hub, i) : is->hub};
    if (open_loop(&all->threads[0])) return begun;
    for (; begun < is->count; begun++) {
        all->threads[begun].hub->with = tfy__loop_log(all->threads[0].loop);
        if (start_thread(&all->threads[begun])) break;
    }
    await_opened(all, begun);
    return begun;
}

int tfy__child_loops_run(const TfyChildLoops *loops, void (*ready)(void *state), void *state, char *error_text)
{
    Loops *all = calloc(1, sizeof *all);
    if (!all) return tfy__log_refuse(error_text, TFY_E_NOMEM, "memory ran out");
    CHECK(loops->count >= 1 && loops->count <= TFY_LOOPS_MOST);
    all->is = loops;
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, NULL);
    if (loops->count > 1 && loops->page) watch_deaths(loops->page);
    const uint32_t begun = open_all(all);
    int code = first_failed(all, loops->count)->code;
    if (code)
        snprintf(error_text, TFY_ERROR_TEXT, "%s", first_failed(all, loops->count)->error);
    else {
        catch_signals(loops->drain_ms);
        ready(state);
    }
    set_phase(all, code);
    if (!code) run_loop(&all->threads[0]);
    for (uint32_t i = 1; i < begun; i++) pthread_join(all->threads[i].thread, NULL);
    if (!code) code = first_failed(all, loops->count)->code;
    close_loop(&all->threads[0]);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->mutex);
    free(all);
    return code;
}

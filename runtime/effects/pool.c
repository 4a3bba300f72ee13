/* pool.c: threads for work that blocks. One mutex guards all data; an eventfd reports finished jobs to the loop. */
#include "effects/pool.h"
#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/world.h"

/* It lives until the loop and the last thread have left it. */
typedef struct Pool {
    pthread_mutex_t mutex;
    pthread_cond_t wake;           /* a job was queued, or the pool closes */
    pthread_cond_t rest;           /* a job's work has finished, or a thread has exited */
    LIST(TfyJob) queued, finished; /* in order */
    int threads;                   /* running threads */
    /* threads that wait for a job, or were woken for one and have not started it */
    int idle;
    int backlog;     /* jobs in queued */
    bool alone_runs; /* a job with `alone` runs */
    int outliving;   /* threads whose work may outlive the loop */
    bool closing;
    bool left; /* the loop is gone: the last thread frees the pool */
    int event_fd;
    int64_t watch;
} Pool;

static void unqueue(Pool *pool, TfyJob *job)
{
    LIST_REMOVE(&pool->queued, job, next);
    CHECK(pool->backlog > 0);
    pool->backlog--;
}

static void pool_free(Pool *pool)
{
    CHECK(!pool->threads && !pool->finished.first);
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->rest);
    if (pool->event_fd >= 0) close(pool->event_fd);
    free(pool);
}

/* ---- the threads' side ---- */

static TfyJob *next_job(const Pool *pool)
{
    TfyJob *job = pool->queued.first;
    while (job && job->alone && pool->alone_runs) job = job->next;
    return job;
}

/* The mutex is held before and after. */
static void run_job(Pool *pool, TfyJob *job)
{
    bool outlives = job->may_outlive;
    CHECK(job->state == TFY_JOB_QUEUED);
    CHECK(!job->alone || !pool->alone_runs);
    job->state = TFY_JOB_RUNNING;
    CHECK(!job->dropped && pool->threads > 0);
    pool->outliving += outlives;
    pool->alone_runs |= job->alone;
    pthread_mutex_unlock(&pool->mutex);
    job->work(job);
    job->starved = tfy__sys_starved();
    pthread_mutex_lock(&pool->mutex);
    CHECK(job->state == TFY_JOB_RUNNING);
    CHECK(pool->outliving >= outlives);
    pool->outliving -= outlives;
    if (job->alone) pool->alone_runs = false; /* this thread runs the next one */
    job->state = TFY_JOB_DONE;
    if (job->dropped) {
        job->drop(job);
    } else {
        LIST_APPEND(&pool->finished, job, next);
        eventfd_write(pool->event_fd, 1);
    }
    pthread_cond_broadcast(&pool->rest);
}

static void *serve(void *arg)
{
    Pool *pool = arg;
    pthread_setname_np(pthread_self(), "tfy pool");
    pthread_mutex_lock(&pool->mutex);
    while (!pool->closing) {
        TfyJob *job = next_job(pool);
        if (job) {
            unqueue(pool, job);
            run_job(pool, job);
            continue;
        }
        pool->idle++;
        pthread_cond_wait(&pool->wake, &pool->mutex);
        CHECK(pool->idle > 0);
        pool->idle--;
    }
    CHECK(pool->threads > 0 && pool->idle < pool->threads);
    bool last = --pool->threads == 0 && pool->left;
    pthread_cond_broadcast(&pool->rest);
    pthread_mutex_unlock(&pool->mutex);
    if (last) pool_free(pool);
    return NULL;
}

/* Only the loop's thread handles signals. */
static int start_thread(Pool *pool)
{
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attr, serve, pool);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool->threads += error == 0;
    return error;
}

/* ---- the loop's side ---- */

static void on_finished(void *arg, uint32_t events)
{
    Pool *pool = arg;
    eventfd_t count;
    (void)events;
    eventfd_read(pool->event_fd, &count);
    pthread_mutex_lock(&pool->mutex);
    for (TfyJob *job; (job = LIST_TAKE(&pool->finished, next));) {
        pthread_mutex_unlock(&pool->mutex);
        CHECK(job->state == TFY_JOB_DONE && !job->dropped);
        if (job->starved) tfy__sys_refused();
        job->done(job);
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static Pool *pool_of(TfyLoop *loop)
{
    Pool **place = (Pool **)tfy__effect_slot(loop, TFY_M_POOL);
    if (*place) return *place;
    Pool *pool = tfy__sys_calloc(1, sizeof *pool);
    errno = 0; /* the loop learns of missing memory in another way */
    if (!pool) return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->rest, NULL);
    pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->watch = pool->event_fd < 0 ? -1 : tfy__watch_add(loop, pool->event_fd, TFY_FD_READ, on_finished, pool);
    if (pool->watch >= 0) return *place = pool;
    const int error = pool->event_fd < 0 ? errno : ENOMEM;
    pool_free(pool);
    errno = error;
    return NULL;
}

int tfy__pool_add(TfyLoop *loop, TfyJob *job)
{
    Pool *pool = pool_of(loop);
    if (!pool) return errno ? TFY_E_STATE : TFY_E_NOMEM;
    int code = 0, error = 0;
    pthread_mutex_lock(&pool->mutex);
    if (pool->backlog >= pool->idle && pool->threads < TFY_POOL_THREADS) error = start_thread(pool);
    if (error && !pool->threads) code = TFY_E_STATE;
    if (!code) {
        job->state = TFY_JOB_QUEUED;
        job->dropped = false;
        LIST_APPEND(&pool->queued, job, next);
        pool->backlog++;
        pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->mutex);
    errno = error;
    return code;
}

void tfy__pool_let_go(TfyLoop *loop, TfyJob *job)
{
    Pool *pool = *tfy__effect_slot(loop, TFY_M_POOL);
    CHECK(pool);
    pthread_mutex_lock(&pool->mutex);
    CHECK(!job->dropped);
    if (job->state == TFY_JOB_QUEUED) unqueue(pool, job);
    if (job->state == TFY_JOB_DONE) LIST_REMOVE(&pool->finished, job, next);
    job->dropped = true;
    if (job->state != TFY_JOB_RUNNING) job->drop(job);
    pthread_mutex_unlock(&pool->mutex);
}

void tfy__pool_settle(TfyLoop *loop, TfyJob *job)
{
    Pool *pool = *tfy__effect_slot(loop, TFY_M_POOL);
    pthread_mutex_lock(&pool->mutex);
    if (job->state == TFY_JOB_QUEUED) {
        unqueue(pool, job);
        job->state = TFY_JOB_DONE;
    }
    while (job->state == TFY_JOB_RUNNING) pthread_cond_wait(&pool->rest, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void tfy__pool_close(TfyLoop *loop)
{
    Pool **place = (Pool **)tfy__effect_slot(loop, TFY_M_POOL), *pool = *place;
    if (!pool) return;
    *place = NULL;
    tfy__watch_del(loop, pool->watch);
    pthread_mutex_lock(&pool->mutex);
    pool->closing = true;
    for (TfyJob *job; (job = LIST_TAKE(&pool->queued, next));) job->drop(job);
    pthread_cond_broadcast(&pool->wake);
    CHECK(!pool->queued.first);
    while (pool->threads > pool->outliving) pthread_cond_wait(&pool->rest, &pool->mutex);
    for (TfyJob *job; (job = LIST_TAKE(&pool->finished, next));) job->drop(job);
    pool->left = true;
    bool last = pool->threads == 0;
    pthread_mutex_unlock(&pool->mutex);
    if (last) pool_free(pool);
}

/* pool.h: a few threads for calls that block and have no other form: host names, files.
 *
 * A job is lent to the pool. Its work() runs on some thread and uses nothing but the job; then done() runs on the
 * loop's thread, in the turn's phase for descriptors. At most TFY_POOL_THREADS run at once, the others wait in
 * order; a thread is made when it is first needed.
 *
 * A caller that no longer needs the answer releases the job: then done() is never called, and drop() frees the
 * job, on any thread, once work() has finished. Work that changes the world must not continue unnoticed beside a
 * later attempt: its caller waits for it before the release (tfy__pool_settle). Closing waits for all work, except
 * for jobs that may outlive the loop (a name that no server resolves). */
#ifndef TFY_EFFECTS_POOL_H
#define TFY_EFFECTS_POOL_H

#include "core/effect.h"

enum { TFY_POOL_THREADS = 4 };

typedef struct TfyJob TfyJob;
struct TfyJob {
    void (*work)(TfyJob *job); /* on a thread of the pool */
    void (*done)(TfyJob *job); /* on the loop's thread; frees it */
    void (*drop)(TfyJob *job); /* called instead of done */
    bool alone;                /* no two such jobs run at once; they keep their order */
    bool may_outlive;          /* drop may come after the loop was closed */
    /* private to the pool */
    enum { TFY_JOB_QUEUED, TFY_JOB_RUNNING, TFY_JOB_DONE } state;
    bool dropped;
    bool starved; /* work() was refused memory (base/sys_memory.h) */
    TfyJob *next;
};

/* 0, or a negative code; the caller then still owns the job: TFY_E_NOMEM, or TFY_E_STATE: there is no room for a
 * thread, errno says why. */
int tfy__pool_add(TfyLoop *loop, TfyJob *job);
void tfy__pool_let_go(TfyLoop *loop, TfyJob *job); /* releases the job; its done() must not have been called */
/* Returns once its work has finished, or can no longer start; the job must still be released. */
void tfy__pool_settle(TfyLoop *loop, TfyJob *job);
void tfy__pool_close(TfyLoop *loop); /* closing twice is allowed */

#endif

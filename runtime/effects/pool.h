/* pool.h: a few threads for calls that block and cannot be asked not to: the names of hosts, files.
 *
 * A job is lent to the pool. Its work() runs on some thread and touches nothing but the job; then done() runs on the
 * loop's thread, in the turn's part for descriptors. At most TFY_POOL_THREADS run at once, the others wait in order;
 * a thread is made when it is first needed.
 *
 * Whoever does not want the answer any more lets go of the job: then done() is never called, and drop() gives its
 * memory back, on any thread, when work() is over. Work that changes the world must not go on behind the back of a
 * later attempt: whoever lets go of that waits for it (tfy__pool_settle). Closing waits for all work, but for jobs
 * that may outlive the loop (a name that nobody answers). */
#ifndef TFY_EFFECTS_POOL_H
#define TFY_EFFECTS_POOL_H

#include "core/effect.h"

enum { TFY_POOL_THREADS = 4 };

typedef struct TfyJob TfyJob;
struct TfyJob {
    void (*work)(TfyJob *job); /* on a thread of the pool */
    void (*done)(TfyJob *job); /* on the loop's thread; frees it */
    void (*drop)(TfyJob *job); /* instead of done */
    bool alone;                /* no two such jobs run at once; they keep their order */
    bool may_outlive;          /* drop may come after the loop was closed */
    /* the pool's */
    enum { TFY_JOB_QUEUED, TFY_JOB_RUNNING, TFY_JOB_DONE } state;
    bool dropped;
    bool starved; /* work() was refused memory (base/sys_memory.h) */
    TfyJob *next;
};

/* 0, or a negative code, and then the job is still the caller's: TFY_E_NOMEM, or TFY_E_STATE: there is no room for a
 * thread, errno says why. */
int tfy__pool_add(TfyLoop *loop, TfyJob *job);
void tfy__pool_let_go(TfyLoop *loop, TfyJob *job); /* its done() has not been called */
void tfy__pool_settle(
    TfyLoop *loop, TfyJob *job); /* its work is over, or will never begin, when this returns; still to be let go of */
void tfy__pool_close(TfyLoop *loop); /* closing twice is fine */

#endif

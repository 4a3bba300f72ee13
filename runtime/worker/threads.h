/* threads.h: the loops of a child, one in each thread: see worker.h.
 *
 * The first loop is in the thread of the process, where signals arrive. It is opened first and closed last, since its log writes
 * for all. If one loop ends, all do: a session is lost as a whole.
 *
 * Invariants
 *   - A loop is opened, run and closed by one thread.
 *   - The page names the loop by which the process dies, if that is known, before the process is gone. */
#ifndef WORKER_THREADS_H
#define WORKER_THREADS_H

#include "hub/hub.h"
#include "tfy.h"
#include "worker/worker.h"

typedef struct TfyChildLoops {
    const TfyProgram *program;
    TfyOptions options; /* of each, but for the hub */
    TfyHub *hub;        /* of the first loop */
    TfyChildPage *page;
    uint32_t count;
    int64_t drain_ms;
    /* A loop is open: what the process wants to hear from it. In its thread. */
    void (*opened)(TfyLoop *loop);
} TfyChildLoops;

/* Opens the loops, calls `ready`, and runs them until they end. 0, TFY_E_STATE, or the code of the first that failed, which has
 * said why by tfy__worker_say or, before `ready`, in error_text (TFY_ERROR_TEXT bytes). */
int tfy__child_loops_run(const TfyChildLoops *loops, void (*ready)(void *state), void *state, char *error_text);
/* Ends them as if by a signal; from any thread while they run. */
void tfy__child_loops_drain(int64_t grace_ms);

#endif

/* loops.h: the loops of a session in a shared database, one in each thread.
 *
 * The first loop is in the caller's thread. It is opened first and closed last, since its log writes for all. If one loop ends for
 * another reason than a drain, all do: a session is lost as a whole.
 *
 * Invariants
 *   - A loop is opened, run and closed by one thread. That of the first one opens, runs and closes all.
 *   - No loop is closed before all have ended, so a drain always finds the others. */
#ifndef HOST_LOOPS_H
#define HOST_LOOPS_H

#include "hub/hub.h"
#include "tfy.h"

typedef struct TfyLoops TfyLoops;

typedef struct TfyLoopsOpen {
    const TfyProgram *program;
    TfyOptions options; /* of each loop, but for the hub */
    TfyHub *hub;        /* of the first one; there are hubs for all (tfy__hub_cluster_loop) */
    uint32_t count;     /* 1 to TFY_LOOPS_MOST */
    /* All in the loop's thread, all may be NULL. */
    void (*begins)(void *state, uint32_t place, TfyHub *hub); /* before it is opened */
    void (*opened)(void *state, TfyLoop *loop);
    void (*ended)(void *state, uint32_t place, TfyLoop *loop, int code); /* tfy_run has returned */
    void (*closed)(void *state, uint32_t place);
    void *state;
} TfyLoopsOpen;

/* 0, or a negative code with a message (TFY_ERROR_TEXT bytes). */
int tfy__loops_open(TfyLoops **loops, const TfyLoopsOpen *open, char *error_text);
/* Runs all until they end. TFY_E_STATE after a drain; otherwise the code of the first that failed. At most once. */
int tfy__loops_run(TfyLoops *loops);
/* tfy_drain of all; from any thread or a signal handler, until tfy__loops_close is called. */
void tfy__loops_drain(TfyLoops *loops, int64_t grace_ms);
/* After tfy__loops_run, or instead. NULL is ignored. */
void tfy__loops_close(TfyLoops *loops);

#endif

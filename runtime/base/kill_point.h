/* kill_point.h: places where SIGKILL can end the process, as a crash would. `tfy crashtest` and the project's own
 * crash trials use them.
 *
 * A signal from another process arrives at an arbitrary moment. This one arrives exactly before or after the n-th
 * commit, or at the n-th stop of a task, so every such place can be tried in turn. The places are in every build: one
 * that is not requested costs a test of a flag.
 *
 *   TFY_TEST_KILL=before:N      before the N-th COMMIT: its transaction is lost
 *   TFY_TEST_KILL=after:N       after it: it is on the disk, and nobody has been notified
 *   TFY_TEST_KILL=checkpoint:N  before the N-th checkpoint
 *   TFY_TEST_KILL=point:N       when a task has stopped for the N-th time
 *   TFY_TEST_KILL=count:FILE    nowhere; at exit the process writes how often it reached each place, one line per
 *                               place: "before N" and so on
 *   TFY_TEST_KILL=stop-PLACE:N  SIGSTOP instead, so that a tester can kill the process with or without its helpers
 *   TFY_TEST_INLINE=1           no writer thread: a tracer that follows one thread also sees the commits */
#ifndef BASE_KILL_POINT_H
#define BASE_KILL_POINT_H

#include <stdbool.h>

typedef enum TfyKillPlace {
    TFY_KILL_BEFORE,
    TFY_KILL_AFTER,
    TFY_KILL_CHECKPOINT,
    TFY_KILL_POINT,
    TFY_KILL_PLACES
} TfyKillPlace;

extern const char *const tfy__kill_names[TFY_KILL_PLACES];
/* A kill or count was requested. Set once, before there is a second thread. */
extern bool tfy__kill_armed;

/* Reads the request when a log is opened for writing, and removes it from the environment: it does not apply to tools
 * that are tfy programs themselves. */
void tfy__kill_arm(void);
void tfy__kill_reached(TfyKillPlace place);
bool tfy__kill_inline(void);

static inline void tfy__kill_point(TfyKillPlace place)
{
    if (__builtin_expect(tfy__kill_armed, 0)) tfy__kill_reached(place);
}

#endif

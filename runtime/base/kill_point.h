/* kill_point.h: places where the process can be ended by SIGKILL, as a crash would end it. `tfy crashtest` and the
 * project's own crash trials use them.
 *
 * Why inside and not from outside: a signal from another process falls somewhere, this one falls exactly before or
 * after the n-th commit, or at the n-th stop of a task, so that every such place can be tried in turn. They are in
 * every build: a place that nobody asked for costs one look at a flag.
 *
 *   TFY_TEST_KILL=before:N      before the N-th COMMIT: its transaction is lost
 *   TFY_TEST_KILL=after:N       after it: it is on the disk, and nobody has been told
 *   TFY_TEST_KILL=checkpoint:N  before the N-th checkpoint
 *   TFY_TEST_KILL=point:N       when a task has stopped for the N-th time
 *   TFY_TEST_KILL=count:FILE    nowhere; at its end the process writes how often it came to each: "before N" and so on, a line each
 *   TFY_TEST_KILL=stop-PLACE:N  SIGSTOP instead, so that somebody outside can kill its helpers together with it, or without it
 *   TFY_TEST_INLINE=1           no writer thread: a tracer that follows one thread then sees the commits too */
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
extern bool tfy__kill_armed; /* somebody asked for one; set once, before there is a second thread */

/* Looks what is asked for, when a log is opened for writing, and takes it out of the environment: tools that are tfy
 * programs themselves are not meant. */
void tfy__kill_arm(void);
void tfy__kill_reached(TfyKillPlace place);
bool tfy__kill_inline(void);

static inline void tfy__kill_point(TfyKillPlace place)
{
    if (__builtin_expect(tfy__kill_armed, 0)) tfy__kill_reached(place);
}

#endif

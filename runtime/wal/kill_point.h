/* kill_point.h: places where a test build can be ended by SIGKILL, as a crash would end it.
 *
 * Why compiled in and not done from outside: a signal from another process falls somewhere, this one falls exactly before or after the n-th
 * commit, or at the n-th stop of a task, so that every such place can be tried in turn. Without -Dkill_points=true nothing of it exists.
 *
 *   TFY_TEST_KILL=before:N      before the N-th COMMIT: its transaction is lost
 *   TFY_TEST_KILL=after:N       after it: it is on the disk, and nobody has been told
 *   TFY_TEST_KILL=checkpoint:N  before the N-th checkpoint
 *   TFY_TEST_KILL=point:N       when a task has stopped for the N-th time
 *   TFY_TEST_INLINE=1           no writer thread: a tracer that follows one thread then sees the commits too */
#ifndef WAL_KILL_POINT_H
#define WAL_KILL_POINT_H

#include <stdbool.h>

#ifdef TFY_KILL_POINTS
void tfy__kill_point(const char *kind);
bool tfy__kill_inline(void);
#else
static inline void tfy__kill_point(const char *kind)
{
    (void)kind;
}
static inline bool tfy__kill_inline(void)
{
    return false;
}
#endif

#endif

/* clock.h: the two clocks of the server, and waiting by the one that nobody sets. */
#ifndef SERVE_CLOCK_H
#define SERVE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

int64_t tfy__clock_ms(void); /* since 1970 */
int64_t tfy__monotonic_ms(void);
int64_t tfy__monotonic_us(void);
/* For tfy__deadline: the condition waits by the monotonic clock. */
void tfy__cond_init(pthread_cond_t *condition);
/* So many milliseconds from now, for pthread_cond_timedwait. */
struct timespec tfy__deadline(int64_t ms);
/* A bound of the server's, which a test lowers by an environment variable. */
int64_t tfy__bound(const char *variable, int64_t usual);

#endif

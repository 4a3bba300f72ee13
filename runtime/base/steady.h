/* steady.h: a clock that nobody sets, for waits outside a loop. */
#ifndef BASE_STEADY_H
#define BASE_STEADY_H

#include <stdint.h>
#include <time.h>

static inline int64_t tfy__steady_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

#endif

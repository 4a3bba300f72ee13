/* clock.c: see clock.h. */
#include "serve/clock.h"

#include "core/world.h"

static int64_t read_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t tfy__clock_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

int64_t tfy__monotonic_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t tfy__monotonic_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

void tfy__cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec tfy__deadline(int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

int64_t tfy__bound(const char *variable, int64_t usual)
{
    int64_t bound = usual;
    char error[TFY_ERROR_TEXT];
    (void)tfy__env_number(variable, usual, &bound, error);
    return bound;
}

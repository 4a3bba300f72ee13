/* times.c: see times.h. */
#include "serve/times.h"

/* Upper bounds, in microseconds; the last class is unbounded. */
static const int64_t bounds_us[TFY_TIMES_BOUNDS] = {500,     1000,     2500,     5000,      10000,
                                                    25000,   50000,    100000,   250000,    1000000,
                                                    2500000, 10000000, 60000000, 600000000, 3600000000};

void tfy__times_add(TfyTimes *times, int64_t took_us)
{
    int bound = 0;
    while (bound < TFY_TIMES_BOUNDS && took_us > bounds_us[bound]) bound++;
    times->within[bound]++;
    if (took_us > 0) times->took_us += (uint64_t)took_us;
}

void tfy__times_text(const TfyTimes *times, const char *name, const char *help, TfyBuffer *out)
{
    uint64_t count = 0;
    tfy__buffer_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (int i = 0; i < TFY_TIMES_BOUNDS; i++) {
        count += times->within[i];
        tfy__buffer_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, (double)bounds_us[i] / 1e6,
                           (unsigned long long)count);
    }
    count += times->within[TFY_TIMES_BOUNDS];
    tfy__buffer_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", name,
                       (unsigned long long)count, name, (double)times->took_us / 1e6, name, (unsigned long long)count);
}

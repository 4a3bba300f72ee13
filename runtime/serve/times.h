/* times.h: how long something took, each time, as a histogram for Prometheus. One thread adds or several do, and anybody
 * reads. */
#ifndef SERVE_TIMES_H
#define SERVE_TIMES_H

#include <stdint.h>

#include "base/buffer.h"

enum { TFY_TIMES_BOUNDS = 15 };

/* All zero: nothing was added. */
typedef struct TfyTimes {
    _Atomic uint64_t within[TFY_TIMES_BOUNDS + 1]; /* not cumulative */
    _Atomic uint64_t took_us;
} TfyTimes;

void tfy__times_add(TfyTimes *times, int64_t took_us); /* below 0: as 0 */
/* Appends it in Prometheus' text format. */
void tfy__times_text(const TfyTimes *times, const char *name, const char *help, TfyBuffer *out);

#endif

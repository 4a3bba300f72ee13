/* rate.h: "10/s": how many things may happen within a second, a minute (m), an hour (h) or a day (d). */
#ifndef SERVE_RATE_H
#define SERVE_RATE_H

#include <stdbool.h>
#include <stdint.h>

enum { TFY_RATE_MOST = 100000 };

/* False: it is none. */
bool tfy__rate_read(const char *text, int64_t *rate, int64_t *rate_ms);

#endif

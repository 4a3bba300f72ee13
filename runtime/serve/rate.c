/* rate.c: see rate.h. */
#include "serve/rate.h"

#include <stdlib.h>
#include <string.h>

bool tfy__rate_read(const char *text, int64_t *rate, int64_t *rate_ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    const size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 6 || text[digits] != '/') return false;
    *rate = strtoll(text, NULL, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + digits + 1, units[i].name) == 0) {
            *rate_ms = units[i].ms;
            return *rate >= 1 && *rate <= TFY_RATE_MOST;
        }
    return false;
}

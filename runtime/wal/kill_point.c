/* kill_point.c: part of the runtime only with -Dkill_points=true. */
#include "kill_point.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Counts the calls of the kind that was asked for, on whatever thread they come, and ends the process at the chosen one. */
void tfy__kill_point(const char *kind)
{
    static atomic_long passed;
    const char *wanted = getenv("TFY_TEST_KILL");
    const size_t len = strlen(kind);
    if (!wanted || strncmp(wanted, kind, len) != 0 || wanted[len] != ':') return;
    if (atomic_fetch_add(&passed, 1) + 1 == atol(wanted + len + 1)) raise(SIGKILL);
}

bool tfy__kill_inline(void)
{
    return getenv("TFY_TEST_INLINE") != NULL;
}

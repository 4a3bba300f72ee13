/* kill_point.c: counts arrivals at the places of kill_point.h, and kills the process at the requested one. */
#include "kill_point.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tfy__kill_names[TFY_KILL_PLACES] = {"before", "after", "checkpoint", "point"};
bool tfy__kill_armed;

static atomic_long passed[TFY_KILL_PLACES];
static int wanted = -1; /* a TfyKillPlace, whose … */
static long wanted_count;
static int wanted_signal = SIGKILL;
static char *count_file; /* … or where the counts go */

static void write_counts(void)
{
    FILE *file = fopen(count_file, "we");
    for (int i = 0; file && i < TFY_KILL_PLACES; i++)
        fprintf(file, "%s %ld\n", tfy__kill_names[i], atomic_load(&passed[i]));
    if (file) fclose(file);
    free(count_file);
}

void tfy__kill_arm(void)
{
    const char *text = getenv("TFY_TEST_KILL"), *colon = text ? strchr(text, ':') : NULL;
    if (!colon || tfy__kill_armed) return;
    if (strncmp(text, "stop-", 5) == 0) {
        wanted_signal = SIGSTOP;
        text += 5;
    }
    const size_t len = (size_t)(colon - text);
    for (int i = 0; i < TFY_KILL_PLACES; i++) {
        if (strlen(tfy__kill_names[i]) == len && memcmp(text, tfy__kill_names[i], len) == 0) wanted = i;
    }
    wanted_count = atol(colon + 1);
    if (wanted < 0 && len == 5 && memcmp(text, "count", len) == 0) count_file = strdup(colon + 1);
    if (count_file) atexit(write_counts);
    tfy__kill_armed = wanted >= 0 || count_file;
    unsetenv("TFY_TEST_KILL");
}

void tfy__kill_reached(TfyKillPlace place)
{
    if (atomic_fetch_add(&passed[place], 1) + 1 == wanted_count && (int)place == wanted) raise(wanted_signal);
}

bool tfy__kill_inline(void)
{
    return getenv("TFY_TEST_INLINE") != NULL;
}

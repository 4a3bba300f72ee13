/* observe.c: see observe.h. */
#include "hub/observe.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/check.h"
#include "tfy.h"

enum { PAUSE_MS = 1000, PAUSE_PER_LOWER_MS = 250, PAUSE_MOST_MS = 30000 };

void tfy__observer_free(TfyObserver *observer)
{
    free(observer->seen);
    *observer = (TfyObserver){.session = observer->session};
}

/* Since when a session has had this beat, as far as is known. */
static int64_t silent_since(const TfyObserver *observer, uint32_t *at, const TfyLiving *beat, int64_t now_ms)
{
    while (*at < observer->count && observer->seen[*at].beat.session < beat->session) (*at)++;
    if (*at == observer->count) return now_ms;
    const TfySeenBeat *seen = &observer->seen[*at];
    return seen->beat.session == beat->session && seen->beat.beat == beat->beat ? seen->since_ms : now_ms;
}

static bool is_late(const TfyObserver *observer, const TfySeenBeat *seen, int64_t now_ms)
{
    const int64_t most_ms = seen->beat.lease_ms + seen->beat.lease_ms / 10;
    return seen->beat.session != observer->session && now_ms - seen->since_ms >= most_ms;
}

int tfy__observer_see(TfyObserver *observer, const TfyLiving *beats, uint32_t count, int64_t now_ms, TfyLiving *late,
                      uint32_t room)
{
    TfySeenBeat *seen = malloc((count + (size_t)1) * sizeof *seen);
    uint32_t at = 0, named = 0;
    if (!seen) return TFY_E_NOMEM;
    observer->lower = 0;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(i == 0 || beats[i - 1].session < beats[i].session);
        seen[i] = (TfySeenBeat){.beat = beats[i], .since_ms = silent_since(observer, &at, &beats[i], now_ms)};
        if (beats[i].session < observer->session) observer->lower++;
        if (named < room && is_late(observer, &seen[i], now_ms)) late[named++] = beats[i];
    }
    free(observer->seen);
    observer->seen = seen;
    observer->count = count;
    return (int)named;
}

int64_t tfy__observer_pause_ms(const TfyObserver *observer)
{
    const int64_t pause_ms = PAUSE_MS + (int64_t)observer->lower * PAUSE_PER_LOWER_MS;
    return pause_ms < PAUSE_MOST_MS ? pause_ms : PAUSE_MOST_MS;
}

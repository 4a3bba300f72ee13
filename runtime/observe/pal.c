#include "observe/pal.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 64u

bool tfy__pal_init(TfyPal *pal, uint32_t events, size_t bytes)
{
    CHECK(events > 0 && events <= 1u << 31);
    uint32_t most = 1;
    while (most < events) most *= 2;
    const uint32_t places = most < FIRST_PLACES ? most : FIRST_PLACES;
    *pal = (TfyPal){.mask = places - 1, .places_max = most, .first = 1, .next = 1, .max = bytes};
    pal->ring = calloc(places, sizeof *pal->ring);
    return pal->ring != NULL;
}

static void drop_oldest(TfyPal *pal)
{
    CHECK(pal->first < pal->next);
    TfyPalEvent *oldest = &pal->ring[pal->first++ & pal->mask];
    CHECK(oldest->text);
    CHECK(pal->bytes >= oldest->len);
    pal->bytes -= oldest->len;
    free(oldest->text);
    oldest->text = NULL;
}

static void drop_all(TfyPal *pal)
{
    while (pal->first != pal->next) drop_oldest(pal);
    CHECK(pal->bytes == 0);
}

void tfy__pal_deinit(TfyPal *pal)
{
    drop_all(pal);
    free(pal->ring);
    pal->ring = NULL;
}

/* Without memory the ring stays as it is, and the oldest event goes earlier. */
static void grow(TfyPal *pal)
{
    const uint32_t mask = pal->mask * 2 + 1;
    CHECK((mask & (mask + 1)) == 0 && mask < pal->places_max);
    TfyPalEvent *ring = calloc((size_t)mask + 1, sizeof *ring);
    if (!ring) return;
    for (uint64_t i = pal->first; i < pal->next; i++) ring[i & mask] = pal->ring[i & pal->mask];
    free(pal->ring);
    pal->ring = ring;
    pal->mask = mask;
}

void tfy__pal_push(TfyPal *pal, uint64_t seq, const TfyPalEvent *event)
{
    CHECK(seq >= pal->next);
    CHECK(event->text);
    CHECK(event->task_at + event->task_len <= event->len);
    if (seq > pal->next) { /* no gaps */
        drop_all(pal);
        pal->first = pal->next = seq;
    }
    if (pal->next - pal->first > pal->mask && pal->mask < pal->places_max - 1) grow(pal);
    while (pal->first != pal->next && (pal->next - pal->first > pal->mask || pal->bytes + event->len > pal->max))
        drop_oldest(pal);
    CHECK(pal->next - pal->first <= pal->mask);
    pal->ring[pal->next++ & pal->mask] = *event;
    pal->bytes += event->len;
}

bool tfy__pal_matches(const char *filter, const char *task, size_t task_len)
{
    size_t len = strlen(filter);
    if (len > task_len || memcmp(filter, task, len) != 0) return false;
    return !len || len == task_len || task[len] == '/' || task[len] == '.';
}

TfyPalFound tfy__pal_read(TfyPal *pal, TfyPalCursor *cursor, const TfyPalEvent **event, uint64_t *from)
{
    CHECK(pal->first <= pal->next);
    if (cursor->next < pal->first) {
        *from = cursor->next;
        pal->lost += pal->first - cursor->next;
        cursor->next = pal->first;
        return TFY_PAL_GAP;
    }
    while (cursor->next < pal->next) {
        *event = &pal->ring[cursor->next++ & pal->mask];
        CHECK((*event)->text);
        if (tfy__pal_matches(cursor->filter, (*event)->text + (*event)->task_at, (*event)->task_len))
            return TFY_PAL_EVENT;
    }
    return TFY_PAL_NONE;
}

/* heads.c: see heads.h. */
#include "wal/log/heads.h"
#include "base/check.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key_of(const void *items, uint32_t number)
{
    return tfy__mix((uint64_t)((const TfyHead *)items)[number - 1].tid);
}

TfyHead *tfy__heads_find(const TfyHeads *heads, int64_t tid)
{
    const uint32_t number = tfy__index_find(&heads->by_tid, tfy__mix((uint64_t)tid), key_of, heads->items);
    return number ? &heads->items[number - 1] : NULL;
}

TfyHead *tfy__heads_add(TfyHeads *heads, int64_t tid)
{
    if (tid < 0 || !GROW(heads->items, heads->room, heads->count + 1, 64) ||
        !tfy__index_reserve(&heads->by_tid, key_of, heads->items))
        return NULL;
    TfyHead *head = &heads->items[heads->count++];
    CHECK(!tfy__heads_find(heads, tid));
    CHECK(heads->count <= heads->room);
    *head = (TfyHead){.tid = tid};
    tfy__index_add(&heads->by_tid, heads->count, key_of, heads->items);
    return head;
}

void tfy__heads_clear(TfyHeads *heads)
{
    free(heads->items);
    tfy__index_free(&heads->by_tid);
    memset(heads, 0, sizeof *heads);
}

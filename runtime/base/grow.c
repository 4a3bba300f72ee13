/* grow.c: see grow.h. */
#include "grow.h"
#include "check.h"
#include "sys_memory.h"

#include <stdint.h>

/* What an `int` can count, so that callers may keep capacity and count in any wider type. */
#define ITEMS_MAX ((size_t)INT32_MAX)
#define BYTES_MAX ((size_t)PTRDIFF_MAX)

size_t tfy__grow_cap(size_t cap, size_t need, size_t first, size_t item_size)
{
    CHECK(first > 0);
    const size_t max = item_size == 1                      ? BYTES_MAX
                       : BYTES_MAX / item_size < ITEMS_MAX ? BYTES_MAX / item_size
                                                           : ITEMS_MAX;
    if (need > max) {
        tfy__sys_refused();
        return 0;
    }
    if (!cap) cap = first;
    while (cap < need) cap = cap <= max / 2 ? cap * 2 : max;
    return cap;
}

void *tfy__grow_to(void *items, size_t cap, size_t item_size)
{
    CHECK(cap > 0);
    return tfy__sys_realloc(items, cap * item_size);
}

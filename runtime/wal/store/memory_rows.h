/* memory_rows.h: rows of one kind in memory, of which the last ones may belong to a transaction that can still fail. */
#ifndef WAL_STORE_MEMORY_ROWS_H
#define WAL_STORE_MEMORY_ROWS_H

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct TfyMemoryRows {
    void *items; /* an array of the row's type */
    size_t item_size;
    size_t count;  /* committed */
    size_t filled; /* committed ones and those of this transaction */
    size_t room;
} TfyMemoryRows;

static inline void *tfy__rows_at(const TfyMemoryRows *rows, size_t index)
{
    return (char *)rows->items + index * rows->item_size;
}

/* Room for one more row at the end; NULL: out of memory. */
static inline void *tfy__rows_add(TfyMemoryRows *rows)
{
    if (rows->filled == rows->room) {
        const size_t room = tfy__grow_cap(rows->room, rows->room + 1, 4, rows->item_size);
        void *items = room ? tfy__grow_to(rows->items, room, rows->item_size) : NULL;
        if (!items) return NULL;
        rows->items = items;
        rows->room = room;
    }
    return tfy__rows_at(rows, rows->filled++);
}

/* A copy with a NUL behind it; NULL: out of memory. */
static inline char *tfy__rows_copy(const char *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy) return NULL;
    if (len) memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

#endif

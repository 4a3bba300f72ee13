/* grow.h: growing arrays: a pointer, the number of items that fit, and a count of items that the caller keeps.
 *
 * The capacity doubles, so n items cost n copies; no product overflows. The memory comes from the system
 * (sys_memory.h), so a refusal is noted for the thread, too. */
#ifndef TFY_BASE_GROW_H
#define TFY_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* The new capacity of an array of `cap` items when `need` must fit: cap, or `first` if cap is 0, doubled as often as
 * necessary. 0: so many items are not possible. */
size_t tfy__grow_cap(size_t cap, size_t need, size_t first, size_t item_size);

/* Moves an array to memory for `cap` items. NULL: out of memory, and the old array is unchanged. */
void *tfy__grow_to(void *items, size_t cap, size_t item_size);

/* Gives `items`, a pointer variable, room for `cap` items. False: out of memory, and it is unchanged. */
#define RESIZE(items, cap)                                                                                             \
    ({                                                                                                                 \
        void *grow_moved = tfy__grow_to((items), (cap), sizeof *(items));                                              \
        if (grow_moved) (items) = grow_moved;                                                                          \
        grow_moved != NULL;                                                                                            \
    })

/* Makes room for `need` items in `items`, whose capacity is the integer variable `cap`. False: out of memory, and
 * both are unchanged. */
#define GROW(items, cap, need, first)                                                                                  \
    ((size_t)(need) <= (size_t)(cap) || ({                                                                             \
         const size_t grow_cap = tfy__grow_cap((size_t)(cap), (need), (first), sizeof *(items));                       \
         const bool grown = grow_cap && RESIZE(items, grow_cap);                                                       \
         if (grown) (cap) = (__typeof__(cap))grow_cap;                                                                 \
         grown;                                                                                                        \
     }))

#endif

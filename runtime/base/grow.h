/* grow.h: arrays that grow: a pointer, how many items it has room for, and a count of them that is the caller's.
 *
 * The room doubles, so that n items cost n copies; no product overflows. The memory is the system's (sys_memory.h),
 * so a refusal is noted for the thread, too. */
#ifndef TFY_BASE_GROW_H
#define TFY_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* The room that an array of `cap` items gets when `need` have to fit: cap, or `first` where that is 0, doubled as
 * often as it takes. 0: that many items cannot be. */
size_t tfy__grow_cap(size_t cap, size_t need, size_t first, size_t item_size);

/* Moves an array to one with room for `cap` items. NULL: no memory, and the old one is as it was. */
void *tfy__grow_to(void *items, size_t cap, size_t item_size);

/* Makes `items`, a pointer variable, an array with room for `cap` items. False: no memory, and it is as it was. */
#define RESIZE(items, cap)                                                                                             \
    ({                                                                                                                 \
        void *grow_moved = tfy__grow_to((items), (cap), sizeof *(items));                                              \
        if (grow_moved) (items) = grow_moved;                                                                          \
        grow_moved != NULL;                                                                                            \
    })

/* Makes room for `need` items in `items`, whose room is the integer variable `cap`. False: no memory, and both are as
 * they were. */
#define GROW(items, cap, need, first)                                                                                  \
    ((size_t)(need) <= (size_t)(cap) || ({                                                                             \
         const size_t grow_cap = tfy__grow_cap((size_t)(cap), (need), (first), sizeof *(items));                       \
         const bool grown = grow_cap && RESIZE(items, grow_cap);                                                       \
         if (grown) (cap) = (__typeof__(cap))grow_cap;                                                                 \
         grown;                                                                                                        \
     }))

#endif

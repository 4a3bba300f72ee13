/* lower_bound.h: binary search in arrays whose items are in the order of one of their members. */
#ifndef TFY_BASE_LOWER_BOUND_H
#define TFY_BASE_LOWER_BOUND_H

#include <stddef.h>

/* The index of the first item whose member is not below the key; `count`: there is none. */
#define LOWER_BOUND(items, count, member, key)                                                                         \
    ({                                                                                                                 \
        size_t bound_low = 0, bound_high = (count);                                                                    \
        while (bound_low < bound_high) {                                                                               \
            const size_t bound_middle = bound_low + (bound_high - bound_low) / 2;                                      \
            if ((items)[bound_middle].member < (key))                                                                  \
                bound_low = bound_middle + 1;                                                                          \
            else                                                                                                       \
                bound_high = bound_middle;                                                                             \
        }                                                                                                              \
        bound_low;                                                                                                     \
    })

#endif

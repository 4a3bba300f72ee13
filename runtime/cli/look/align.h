/* align.h: two sequences side by side, as few elements left over as possible.
 *
 * Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), behind the common beginning and before the common
 * end. Sequences that differ in more than ALIGN_MOST elements are no longer looked through for what they share:
 * everything between beginning and end is left over then. */
#ifndef CLI_LOOK_ALIGN_H
#define CLI_LOOK_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

#define ALIGN_MOST 1000 /* elements that are in one of the two only */
#define ALIGN_NONE UINT32_MAX

/* Elements are the same when their keys are equal. pair[i] becomes the place in b of a's i-th element, ascending, or
 * ALIGN_NONE. False: no memory. */
bool tfy__align(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint32_t *pair);

#endif

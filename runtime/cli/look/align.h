/* align.h: aligns two sequences and leaves as few elements unpaired as possible.
 *
 * Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), applied between the common prefix and the common
 * suffix. The search stops at ALIGN_MOST differing elements; everything between prefix and suffix is then
 * unpaired. */
#ifndef CLI_LOOK_ALIGN_H
#define CLI_LOOK_ALIGN_H

#include <stdbool.h>
#include <stdint.h>

#define ALIGN_MOST 1000 /* elements that only one of the two has */
#define ALIGN_NONE UINT32_MAX

/* Elements are the same when their keys are equal. pair[i] becomes the index in b of a's i-th element, ascending, or
 * ALIGN_NONE. Returns false when memory runs out. */
bool tfy__align(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint32_t *pair);

#endif

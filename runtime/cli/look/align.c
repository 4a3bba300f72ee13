#include "cli/look/align.h"

#include <stdlib.h>
#include <string.h>

/* The middle of two sequences: the part without their common prefix and suffix. */
typedef struct Middle {
    const uint64_t *a, *b;
    int64_t a_count, b_count;
    /* furthest[d]: for each diagonal k of -d … d, at k + d, the furthest index into a reached with d elements
     * unpaired. */
    int64_t **furthest;
} Middle;

/* Follows the elements that both share from a place on a diagonal. */
static int64_t slide(const Middle *m, int64_t x, int64_t diagonal)
{
    while (x < m->a_count && x - diagonal < m->b_count && m->a[x] == m->b[x - diagonal]) x++;
    return x;
}

/* Which step reaches further: one more of b (down, from the diagonal above), or one more of a? */
static bool comes_down(const int64_t *before, int64_t d, int64_t k)
{
    return k == -d || (k != d && before[k - 1 + d - 1] < before[k + 1 + d - 1]);
}

static int64_t reach(const Middle *m, int64_t d, int64_t k)
{
    if (d == 0) return slide(m, 0, 0);
    const int64_t *before = m->furthest[d - 1];
    return slide(m, comes_down(before, d, k) ? before[k + 1 + d - 1] : before[k - 1 + d - 1] + 1, k);
}

/* Returns the least d that reaches both ends; ALIGN_MOST + 1: none up to that; -1: out of memory. */
static int64_t search(Middle *m)
{
    for (int64_t d = 0; d <= ALIGN_MOST; d++) {
        int64_t *furthest = malloc((size_t)(2 * d + 1) * sizeof *furthest);
        if (!furthest) return -1;
        m->furthest[d] = furthest;
        for (int64_t k = -d; k <= d; k += 2) {
            furthest[k + d] = reach(m, d, k);
            if (k == m->a_count - m->b_count && furthest[k + d] >= m->a_count) return d;
            if (k + 1 <= d) furthest[k + 1 + d] = 0; /* no path of d elements ends there */
        }
    }
    return ALIGN_MOST + 1;
}

/* Walks back along the path that was found; the elements it slid over become pairs. */
static void walk_back(const Middle *m, int64_t d, uint32_t from, uint32_t *pair)
{
    int64_t k = m->a_count - m->b_count, x = m->a_count;
    for (; d >= 0; d--) {
        int64_t begin = 0, next = 0;
        if (d > 0) {
            const int64_t *before = m->furthest[d - 1];
            const bool down = comes_down(before, d, k);
            next = down ? k + 1 : k - 1;
            begin = down ? before[next + d - 1] : before[next + d - 1] + 1;
        }
        for (; x > begin; x--) pair[x - 1] = (uint32_t)(x - 1 - k) + from;
        if (d > 0) x = m->furthest[d - 1][next + d - 1];
        k = next;
    }
}

bool tfy__align(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint32_t *pair)
{
    uint32_t head = 0, tail = 0;
    while (head < a_count && head < b_count && a[head] == b[head]) head++;
    while (tail < a_count - head && tail < b_count - head && a[a_count - 1 - tail] == b[b_count - 1 - tail]) tail++;
    for (uint32_t i = 0; i < a_count; i++)
        pair[i] = i < head ? i : i >= a_count - tail ? b_count - (a_count - i) : ALIGN_NONE;
    if (head + tail == a_count || head + tail == b_count) return true;
    Middle m = {.a = a + head, .b = b + head, .a_count = a_count - head - tail, .b_count = b_count - head - tail};
    m.furthest = calloc(ALIGN_MOST + 1, sizeof *m.furthest);
    const int64_t found = m.furthest ? search(&m) : -1;
    if (found >= 0 && found <= ALIGN_MOST) walk_back(&m, found, head, pair + head);
    for (int64_t d = 0; m.furthest && d <= ALIGN_MOST; d++) free(m.furthest[d]);
    free(m.furthest);
    return found >= 0;
}

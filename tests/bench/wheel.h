/* wheel.h: the neighbour of timers: a bare hierarchical timing wheel of the same layout as ours (six levels of 256 slots with a bitmap each,
 * ticks of a millisecond, lists of 32-bit numbers, a pool of nodes of 32 bytes). Whoever cancels must know that the timer is still set, and
 * those of one tick fire in any order. */
#ifndef WHEEL_H
#define WHEEL_H

#include <stdint.h>

enum { WHEEL_ROWS = 6, WHEEL_ROW = 256 };

typedef struct WheelNode {
    uint64_t due; /* tick */
    void (*fire)(void *arg);
    void *arg;
    uint32_t next, prev; /* node numbers; 0: none */
} WheelNode;

typedef struct Wheel {
    WheelNode *nodes; /* 0 is not used */
    uint32_t *spare;  /* numbers of those that are free */
    uint32_t spare_count;
    uint64_t now; /* tick */
    uint64_t full[WHEEL_ROWS][WHEEL_ROW / 64];
    uint32_t first[WHEEL_ROWS][WHEEL_ROW];
} Wheel;

void wheel_init(Wheel *wheel, uint32_t most); /* timers at once */
void wheel_deinit(Wheel *wheel);
uint32_t wheel_set(Wheel *wheel, uint64_t due, void (*fire)(void *arg), void *arg); /* due is ahead */
void wheel_cancel(Wheel *wheel, uint32_t node);
void wheel_expire(Wheel *wheel, uint64_t now); /* calls fire of all that are due */

#endif

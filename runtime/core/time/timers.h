/* timers.h: everything that waits for a time: a wheel of timers. */
#ifndef CORE_TIME_TIMERS_H
#define CORE_TIME_TIMERS_H

#include <stdbool.h>
#include <stdint.h>
#include "core/effect.h"

/* A hierarchical wheel: six levels of 256 slots with a bitmap each. A slot of level k holds the timers of 256^k ticks
 * (a tick: a millisecond), oldest first; a timer lies on the level of the highest digit in which its tick differs
 * from the wheel's, so all of a lower level come before all of a higher one. The wheel turns only as far as it has
 * to: when a slot's time has come, its timers are spread over the levels below.
 *   - Every timer that is set stands in one list, of a slot or `due`, or in the heap `late`.
 *   - Timers of the wheel's own tick and earlier are not in slots: those that came up with it are in `due`, by
 *     (due_ns, creation); those that were set since are in `late`, which is a heap, as nothing is known about their
 *     order.
 *   - The wheel moves on when both are empty. So timers with the same deadline fire in the order of their creation. */
enum {
    WHEEL_LEVELS = 6, /* 2^48 ticks: more than an int64_t of nanoseconds has */
    WHEEL_BITS = 8,
    WHEEL_SLOTS = 1 << WHEEL_BITS,
    TIMER_HANDLERS = 64, /* different ones */
};

typedef struct Timer {
    int64_t due_ns;
    void *arg;
    uint32_t next, prev; /* neighbours in its list; late: 0, and its place in the heap */
    uint32_t generation; /* how often this node was used, from 1: the handle's upper half */
    uint16_t place;      /* level * WHEEL_SLOTS + slot, or TIMER_… */
    uint8_t handler;     /* index into handlers */
} Timer;

enum { TIMER_DUE = WHEEL_LEVELS * WHEEL_SLOTS, TIMER_LATE, TIMER_FREE };

typedef struct TimerList {
    uint32_t first, last; /* nodes; 0: none */
} TimerList;

typedef struct LateTimer {
    int64_t due_ns;
    uint64_t seq; /* in order of creation */
    uint32_t node;
} LateTimer;

/* A node that is free again, and its next generation: a timer is set without reading the node. */
typedef struct SpareTimer {
    uint32_t node, generation;
} SpareTimer;

typedef struct Timers {
    Timer *nodes;       /* by number; 0 is none */
    uint32_t cap, used; /* nodes there is room for; that were ever used, with node 0 */
    SpareTimer *spare;  /* nodes that are free again; room for cap */
    uint32_t spare_count;
    uint32_t count; /* timers that are set */
    uint64_t tick;  /* where the wheel stands */
    uint64_t full[WHEEL_LEVELS][WHEEL_SLOTS / 64];
    TimerList slots[WHEEL_LEVELS * WHEEL_SLOTS];
    TimerList due;
    LateTimer *late; /* 4-ary heap by (due_ns, seq) */
    uint32_t late_count, late_cap;
    uint64_t late_seq;
    int64_t next_ns; /* what tfy__timers_next said; valid if next_known */
    bool next_known;
    uint8_t handler_count;
    TfyTimerHandler handlers[TIMER_HANDLERS];
} Timers;

void tfy__timers_deinit(Timers *timers);
uint64_t tfy__timers_add(Timers *timers, int64_t due_ns, TfyTimerHandler fire, void *arg); /* 0: no memory */
void tfy__timers_del(Timers *timers, uint64_t handle);
bool tfy__timers_has(const Timers *timers, uint64_t handle);
/* What a timer does when it fires; when that is stays. node: the handle's lower half; answers the handle, 0:
 * there are too many handlers. */
uint64_t tfy__timers_redirect(Timers *timers, uint32_t node, TfyTimerHandler fire, void *arg);
int64_t tfy__timers_due(const Timers *timers, uint64_t handle); /* of one that is set */
/* No timer is due earlier; INT64_MAX: there is none. Exact but for a slot of many timers: then it can be the slot's
 * begin, and who waits until then, fires what is due and asks again gets a better answer. */
int64_t tfy__timers_next(Timers *timers);
bool tfy__timers_fire_one(Timers *timers, int64_t now_ns); /* the earliest, if it is due */

#endif

/* timers.h: everything that waits for a time: a wheel of timers. */
#ifndef CORE_TIME_TIMERS_H
#define CORE_TIME_TIMERS_H

#include <stdbool.h>
#include <stdint.h>
#include "core/effect.h"

/* A hierarchical wheel: six levels of 256 slots with a bitmap each. A slot of level k holds the timers of 256^k
 * ticks (a tick: a millisecond), oldest first. A timer is on the level of the highest digit in which its tick
 * differs from the wheel's, so all timers of a lower level come before all of a higher one. The wheel turns only
 * as far as it must: when a slot's time has come, its timers are distributed over the levels below.
 *   - Every timer that is set is in one list, of a slot or `due`, or in the heap `late`.
 *   - Timers of the wheel's own tick and earlier are not in slots: those that the wheel has reached are in `due`,
 *     by (due_ns, creation); those that were set since are in `late`, which is a heap, as their order is not
 *     known.
 *   - The wheel moves on when both are empty. So timers with the same deadline fire in the order of their
 *     creation. */
enum {
    WHEEL_LEVELS = 6, /* 2^48 ticks: more than an int64_t of nanoseconds has */
    WHEEL_BITS = 8,
    WHEEL_SLOTS = 1 << WHEEL_BITS,
    TIMER_HANDLERS = 64, /* at most so many different ones */
};

typedef struct Timer {
    int64_t due_ns;
    void *arg;
    uint32_t next, prev; /* neighbours in its list; late: 0, and its place in the heap */
    uint32_t generation; /* how often this node has been used, from 1: the handle's upper half */
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

/* A free node and its next generation: setting a timer need not read the node. */
typedef struct SpareTimer {
    uint32_t node, generation;
} SpareTimer;

typedef struct Timers {
    Timer *nodes;       /* by number; 0 is none */
    uint32_t cap, used; /* nodes allocated; nodes ever used, including node 0 */
    SpareTimer *spare;  /* free nodes; has room for cap */
    uint32_t spare_count;
    uint32_t count; /* timers that are set */
    uint64_t tick;  /* the wheel's position */
    uint64_t full[WHEEL_LEVELS][WHEEL_SLOTS / 64];
    TimerList slots[WHEEL_LEVELS * WHEEL_SLOTS];
    TimerList due;
    LateTimer *late; /* 4-ary heap by (due_ns, seq) */
    uint32_t late_count, late_cap;
    uint64_t late_seq;
    int64_t next_ns; /* the result of tfy__timers_next; valid if next_known */
    bool next_known;
    uint8_t handler_count;
    TfyTimerHandler handlers[TIMER_HANDLERS];
} Timers;

void tfy__timers_deinit(Timers *timers);
uint64_t tfy__timers_add(Timers *timers, int64_t due_ns, TfyTimerHandler fire, void *arg); /* 0: no memory */
void tfy__timers_del(Timers *timers, uint64_t handle);
bool tfy__timers_has(const Timers *timers, uint64_t handle);
/* Changes what a timer does when it fires, but not when. node: the handle's lower half. Returns the handle; 0:
 * there are too many handlers. */
uint64_t tfy__timers_redirect(Timers *timers, uint32_t node, TfyTimerHandler fire, void *arg);
int64_t tfy__timers_due(const Timers *timers, uint64_t handle); /* the timer must be set */
/* A lower bound on the earliest deadline; INT64_MAX: there is none. Exact, except for a slot of many timers: then
 * it can be the slot's start. A caller that waits until then, fires what is due and calls again gets a better
 * bound. */
int64_t tfy__timers_next(Timers *timers);
bool tfy__timers_fire_one(Timers *timers, int64_t now_ns); /* fires the earliest timer, if it is due */

#endif

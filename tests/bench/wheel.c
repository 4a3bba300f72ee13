#include "wheel.h"

#include "bench.h"

void wheel_init(Wheel *wheel, uint32_t most)
{
    *wheel = (Wheel){.nodes = calloc((size_t)most + 1, sizeof *wheel->nodes),
                     .spare = calloc(most, sizeof *wheel->spare),
                     .spare_count = most};
    if (!wheel->nodes || !wheel->spare) bench_die("no memory");
    for (uint32_t i = 0; i < most; i++) wheel->spare[i] = most - i;
}

void wheel_deinit(Wheel *wheel)
{
    free(wheel->nodes);
    free(wheel->spare);
}

static uint32_t row_of(const Wheel *wheel, uint64_t due)
{
    return (63u - (uint32_t)__builtin_clzll(due ^ wheel->now)) / 8;
}

static void put(Wheel *wheel, uint32_t node)
{
    WheelNode *self = &wheel->nodes[node];
    const uint32_t row = row_of(wheel, self->due), slot = (uint32_t)(self->due >> row * 8) % WHEEL_ROW;
    uint32_t *first = &wheel->first[row][slot];
    self->next = *first;
    self->prev = 0;
    if (*first) wheel->nodes[*first].prev = node;
    *first = node;
    wheel->full[row][slot / 64] |= (uint64_t)1 << slot % 64;
}

uint32_t wheel_set(Wheel *wheel, uint64_t due, void (*fire)(void *arg), void *arg)
{
    if (!wheel->spare_count) bench_die("too many timers");
    const uint32_t node = wheel->spare[--wheel->spare_count];
    wheel->nodes[node] = (WheelNode){.due = due, .fire = fire, .arg = arg};
    put(wheel, node);
    return node;
}

void wheel_cancel(Wheel *wheel, uint32_t node)
{
    WheelNode *self = &wheel->nodes[node];
    wheel->spare[wheel->spare_count++] = node;
    if (self->next) wheel->nodes[self->next].prev = self->prev;
    if (self->prev) {
        wheel->nodes[self->prev].next = self->next;
        return;
    }
    const uint32_t row = row_of(wheel, self->due), slot = (uint32_t)(self->due >> row * 8) % WHEEL_ROW;
    wheel->first[row][slot] = self->next;
    if (!self->next) wheel->full[row][slot / 64] &= ~((uint64_t)1 << slot % 64);
}

/* The begin of the earliest slot that is not empty; UINT64_MAX: there is none. */
static uint64_t earliest(const Wheel *wheel, uint32_t *row, uint32_t *slot)
{
    for (*row = 0; *row < WHEEL_ROWS; ++*row) {
        for (uint32_t i = 0; i < WHEEL_ROW / 64; i++) {
            if (!wheel->full[*row][i]) continue;
            *slot = i * 64 + (uint32_t)__builtin_ctzll(wheel->full[*row][i]);
            return (wheel->now >> *row * 8 >> 8 << 8 | *slot) << *row * 8;
        }
    }
    return UINT64_MAX;
}

void wheel_expire(Wheel *wheel, uint64_t now)
{
    uint32_t row, slot = 0;
    for (uint64_t tick; (tick = earliest(wheel, &row, &slot)) <= now;) {
        uint32_t node = wheel->first[row][slot], next;
        wheel->first[row][slot] = 0;
        wheel->full[row][slot / 64] &= ~((uint64_t)1 << slot % 64);
        wheel->now = tick;
        for (; node; node = next) {
            WheelNode *self = &wheel->nodes[node];
            next = self->next;
            if (next) __builtin_prefetch(&wheel->nodes[next]);
            if (self->due == tick) {
                wheel->spare[wheel->spare_count++] = node;
                self->fire(self->arg);
            } else {
                put(wheel, node);
            }
        }
    }
}

/* timer.c: deadlines in a hierarchical wheel (timers.h describes it), with handles for cancelling a timer. Setting
 * and cancelling take constant time; a timer moves at most once per level before it fires.
 *
 * After Varghese and Lauck's hierarchical timing wheels; the lazy turning, by the highest digit that differs, is
 * that of a radix heap. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/loop/state.h"

#define TICK_NS    1000000
#define HUGE_PAGE  ((size_t)2 << 20)
#define LOOK_AT    16u /* timers of a slot that a search for the earliest inspects */
#define FIRST_ROOM 64u

static uint64_t tick_of(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns / TICK_NS : 0;
}

static Timer *node_at(const Timers *timers, uint32_t node)
{
    return &timers->nodes[node];
}

/* ---- nodes and lists ---- */

/* Like realloc for the used part. Large blocks are aligned to huge pages and request them: timers are visited in
 * any order, and with small pages every visit would first miss in the processor's TLB. */
static void *enlarge(void *old, size_t used, size_t size)
{
    if (size < HUGE_PAGE) return tfy__sys_realloc(old, size);
    void *large = aligned_alloc(HUGE_PAGE, size);
    if (!large) {
        tfy__sys_refused();
        return NULL;
    }
    madvise(large, size, MADV_HUGEPAGE);
    if (used) memcpy(large, old, used);
    free(old);
    return large;
}

static bool grow(Timers *timers)
{
    const size_t old = timers->cap, cap = tfy__grow_cap(old, old + 1, FIRST_ROOM, sizeof(Timer));
    Timer *nodes = cap ? enlarge(timers->nodes, old * sizeof *nodes, cap * sizeof *nodes) : NULL;
    if (!nodes) return false;
    timers->nodes = nodes;
    SpareTimer *spare = enlarge(timers->spare, timers->spare_count * sizeof *spare, cap * sizeof *spare);
    if (!spare) return false;
    timers->spare = spare;
    timers->cap = (uint32_t)cap;
    if (!timers->used) nodes[timers->used++] = (Timer){.place = TIMER_FREE};
    return true;
}

/* Node 0: no memory. */
static SpareTimer take_node(Timers *timers)
{
    if (timers->spare_count) return timers->spare[--timers->spare_count];
    if (timers->used == timers->cap && !grow(timers)) return (SpareTimer){0, 0};
    return (SpareTimer){timers->used++, 1};
}

static void give_node(Timers *timers, uint32_t node)
{
    Timer *timer = node_at(timers, node);
    CHECK(timers->count > 0);
    CHECK(timers->spare_count < timers->used);
    CHECK(timer->place != TIMER_FREE);
    timer->place = TIMER_FREE;
    timers->spare[timers->spare_count++] = (SpareTimer){node, timer->generation + 1};
    timers->count--;
}

static void append(Timers *timers, TimerList *list, uint32_t node)
{
    Timer *timer = node_at(timers, node);
    timer->next = 0;
    timer->prev = list->last;
    if (list->last)
        node_at(timers, list->last)->next = node;
    else
        list->first = node;
    list->last = node;
}

static void unlink_node(Timers *timers, TimerList *list, const Timer *timer)
{
    CHECK(timer->next || node_at(timers, list->last) == timer);
    CHECK(timer->prev || node_at(timers, list->first) == timer);
    if (timer->next)
        node_at(timers, timer->next)->prev = timer->prev;
    else
        list->last = timer->prev;
    if (timer->prev)
        node_at(timers, timer->prev)->next = timer->next;
    else
        list->first = timer->next;
}

/* ---- the wheel ---- */

static uint64_t *bitmap_word(Timers *timers, uint32_t place)
{
    return &timers->full[place / WHEEL_SLOTS][place % WHEEL_SLOTS / 64];
}

/* The place of a timer whose tick has not come yet. */
static inline uint32_t place_of(const Timers *timers, uint64_t tick)
{
    CHECK(tick > timers->tick);
    const uint32_t level = (63u - (uint32_t)__builtin_clzll(tick ^ timers->tick)) / WHEEL_BITS;
    return level * WHEEL_SLOTS + (uint32_t)(tick >> level * WHEEL_BITS) % WHEEL_SLOTS;
}

/* Makes a node the last of its slot; returns the one before it. */
static inline uint32_t put_last(Timers *timers, uint32_t place, uint32_t node)
{
    TimerList *slot = &timers->slots[place];
    const uint32_t prev = slot->last;
    slot->last = node;
    if (prev) {
        node_at(timers, prev)->next = node;
    } else {
        slot->first = node;
        *bitmap_word(timers, place) |= (uint64_t)1 << place % 64;
    }
    return prev;
}

static void take_from_wheel(Timers *timers, const Timer *timer)
{
    TimerList *slot = &timers->slots[timer->place];
    CHECK(*bitmap_word(timers, timer->place) >> timer->place % 64 & 1);
    unlink_node(timers, slot, timer);
    if (!slot->first) *bitmap_word(timers, timer->place) &= ~((uint64_t)1 << timer->place % 64);
}

/* The place of the earliest slot that is not empty; TIMER_DUE: all are empty. */
static uint32_t first_slot(const Timers *timers)
{
    for (uint32_t level = 0; level < WHEEL_LEVELS; level++)
        for (uint32_t i = 0; i < WHEEL_SLOTS / 64; i++)
            if (timers->full[level][i])
                return level * WHEEL_SLOTS + i * 64 + (uint32_t)__builtin_ctzll(timers->full[level][i]);
    return TIMER_DUE;
}

/* The first tick of a slot: the wheel's digits above its level, its own, zeros. */
static uint64_t slot_tick(const Timers *timers, uint32_t place)
{
    const uint32_t shift = place / WHEEL_SLOTS * WHEEL_BITS;
    const uint64_t above = timers->tick >> shift >> WHEEL_BITS;
    return (above << WHEEL_BITS | place % WHEEL_SLOTS) << shift;
}

/* Merges two ordered lists, linked by next; of equal timers, those of the first list come first. */
static uint32_t merge(Timers *timers, uint32_t a, uint32_t b)
{
    uint32_t first = 0, *link = &first;
    while (a && b) {
        uint32_t *from = node_at(timers, b)->due_ns < node_at(timers, a)->due_ns ? &b : &a;
        *link = *from;
        link = &node_at(timers, *from)->next;
        *from = *link;
    }
    *link = a ? a : b;
    return first;
}

/* Merge sort without memory: run i has 2^i timers, older than those of the runs below it. */
static void sort_due(Timers *timers)
{
    uint32_t runs[32] = {0}, rest = timers->due.first, sorted = 0, last = 0;
    while (rest) {
        uint32_t run = rest, i = 0;
        rest = node_at(timers, run)->next;
        node_at(timers, run)->next = 0;
        for (; runs[i]; i++) {
            run = merge(timers, runs[i], run);
            runs[i] = 0;
        }
        runs[i] = run;
    }
    for (int i = 0; i < 32; i++)
        if (runs[i]) sorted = merge(timers, runs[i], sorted);
    for (uint32_t node = sorted; node; node = node_at(timers, node)->next) {
        node_at(timers, node)->prev = last;
        last = node;
    }
    timers->due = (TimerList){sorted, last};
}

/* Turns the wheel to the start of its earliest slot: timers of exactly that tick become due, the others move to
 * lower levels. */
static void turn_to(Timers *timers, uint32_t place)
{
    uint32_t node = timers->slots[place].first, next;
    int64_t last_ns = INT64_MIN;
    bool in_order = true;
    CHECK(node && !timers->due.first && !timers->late_count);
    CHECK(slot_tick(timers, place) > timers->tick);
    timers->tick = slot_tick(timers, place);
    timers->slots[place] = (TimerList){0, 0};
    *bitmap_word(timers, place) &= ~((uint64_t)1 << place % 64);
    for (; node; node = next) {
        Timer *timer = node_at(timers, node);
        uint64_t tick = tick_of(timer->due_ns);
        next = timer->next;
        if (next) __builtin_prefetch(node_at(timers, next));
        if (tick != timers->tick) {
            const uint32_t lower = place_of(timers, tick);
            timer->next = 0;
            timer->prev = put_last(timers, lower, node);
            timer->place = (uint16_t)lower;
            continue;
        }
        append(timers, &timers->due, node);
        timer->place = TIMER_DUE;
        in_order = in_order && timer->due_ns >= last_ns;
        last_ns = timer->due_ns;
    }
    if (!in_order) sort_due(timers);
}

/* ---- timers set for a tick that has come ---- */

static bool before(const LateTimer *a, const LateTimer *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->seq < b->seq);
}

static void place_late(Timers *timers, uint32_t at, LateTimer late)
{
    timers->late[at] = late;
    node_at(timers, late.node)->prev = at;
}

static void sift_up(Timers *timers, uint32_t at, LateTimer late)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / 4;
        if (!before(&late, &timers->late[parent])) break;
        place_late(timers, at, timers->late[parent]);
        at = parent;
    }
    place_late(timers, at, late);
}

static void sift_down(Timers *timers, uint32_t at, LateTimer late)
{
    for (;;) {
        uint32_t first = at * 4 + 1, least = 0;
        for (uint32_t child = first; child < first + 4 && child < timers->late_count; child++)
            if (!least || before(&timers->late[child], &timers->late[least])) least = child;
        if (!least || !before(&timers->late[least], &late)) break;
        place_late(timers, at, timers->late[least]);
        at = least;
    }
    place_late(timers, at, late);
}

static bool put_late(Timers *timers, uint32_t node)
{
    if (!GROW(timers->late, timers->late_cap, timers->late_count + 1, FIRST_ROOM)) return false;
    LateTimer late = {.due_ns = node_at(timers, node)->due_ns, .seq = timers->late_seq++, .node = node};
    CHECK(timers->late_count < timers->count);
    node_at(timers, node)->place = TIMER_LATE;
    sift_up(timers, timers->late_count++, late);
    return true;
}

static void take_late(Timers *timers, uint32_t at)
{
    CHECK(at < timers->late_count);
    CHECK(node_at(timers, timers->late[at].node)->prev == at);
    LateTimer last = timers->late[--timers->late_count];
    if (at == timers->late_count) return;
    if (at > 0 && before(&last, &timers->late[(at - 1) / 4]))
        sift_up(timers, at, last);
    else
        sift_down(timers, at, last);
}

/* ---- setting and cancelling ---- */

/* A loop has only a few handlers: a node stores the number of its handler. TIMER_HANDLERS: there are too many. */
static uint8_t handler_number(Timers *timers, TfyTimerHandler fire)
{
    uint8_t i = 0;
    while (i < timers->handler_count && timers->handlers[i] != fire) i++;
    if (i == timers->handler_count && i < TIMER_HANDLERS) timers->handlers[timers->handler_count++] = fire;
    return i;
}

uint64_t tfy__timers_add(Timers *timers, int64_t due_ns, TfyTimerHandler fire, void *arg)
{
    const uint8_t handler = handler_number(timers, fire);
    const SpareTimer taken = handler < TIMER_HANDLERS ? take_node(timers) : (SpareTimer){0, 0};
    if (!taken.node) return 0;
    const uint64_t tick = tick_of(due_ns);
    Timer timer = {.due_ns = due_ns, .arg = arg, .generation = taken.generation, .handler = handler};
    timers->count++;
    if (tick > timers->tick) {
        const uint32_t place = place_of(timers, tick);
        timer.place = (uint16_t)place;
        timer.prev = put_last(timers, place, taken.node);
        *node_at(timers, taken.node) = timer;
    } else {
        *node_at(timers, taken.node) = timer;
        if (!put_late(timers, taken.node)) {
            give_node(timers, taken.node);
            return 0;
        }
    }
    if (due_ns < timers->next_ns) timers->next_ns = due_ns;
    return (uint64_t)taken.generation << 32 | taken.node;
}

static Timer *of_handle(const Timers *timers, uint64_t handle)
{
    const uint32_t node = (uint32_t)handle;
    if (!node || node >= timers->used) return NULL;
    Timer *timer = node_at(timers, node);
    return timer->generation == handle >> 32 && timer->place != TIMER_FREE ? timer : NULL;
}

static void take_from_end(Timers *timers, Timer *timer)
{
    if (timer->place < TIMER_DUE)
        take_from_wheel(timers, timer);
    else if (timer->place == TIMER_DUE)
        unlink_node(timers, &timers->due, timer);
    else
        take_late(timers, timer->prev);
}

static inline void take_out(Timers *timers, Timer *timer)
{
    /* the common case, in the middle of a list: only the neighbours are touched */
    if (timer->next && timer->prev) {
        node_at(timers, timer->next)->prev = timer->prev;
        node_at(timers, timer->prev)->next = timer->next;
    } else {
        take_from_end(timers, timer);
    }
    if (timer->due_ns <= timers->next_ns) timers->next_known = false;
    give_node(timers, (uint32_t)(timer - timers->nodes));
}

void tfy__timers_del(Timers *timers, uint64_t handle)
{
    Timer *timer = of_handle(timers, handle);
    if (timer) take_out(timers, timer);
}

bool tfy__timers_has(const Timers *timers, uint64_t handle)
{
    return of_handle(timers, handle) != NULL;
}

int64_t tfy__timers_due(const Timers *timers, uint64_t handle)
{
    const Timer *timer = of_handle(timers, handle);
    CHECK(timer);
    return timer->due_ns;
}

uint64_t tfy__timers_redirect(Timers *timers, uint32_t node, TfyTimerHandler fire, void *arg)
{
    Timer *timer = node_at(timers, node);
    const uint8_t handler = handler_number(timers, fire);
    CHECK(node < timers->used && timer->place != TIMER_FREE);
    if (handler == TIMER_HANDLERS) return 0;
    timer->handler = handler;
    timer->arg = arg;
    return (uint64_t)timer->generation << 32 | node;
}

/* ---- firing ---- */

/* The earliest timer whose tick has come; of equal ones, a timer that the wheel has reached is older. */
static Timer *earliest_come(const Timers *timers)
{
    Timer *due = timers->due.first ? node_at(timers, timers->due.first) : NULL;
    if (!timers->late_count || (due && due->due_ns <= timers->late[0].due_ns)) return due;
    return node_at(timers, timers->late[0].node);
}

/* The earliest timer of a slot, or the slot's start if it has many. */
static int64_t slot_next(const Timers *timers, uint32_t place)
{
    int64_t least_ns = INT64_MAX;
    uint32_t node = timers->slots[place].first;
    for (uint32_t i = 0; node && i < LOOK_AT; i++, node = node_at(timers, node)->next)
        if (node_at(timers, node)->due_ns < least_ns) least_ns = node_at(timers, node)->due_ns;
    return node ? (int64_t)slot_tick(timers, place) * TICK_NS : least_ns;
}

static int64_t find_next(const Timers *timers)
{
    const Timer *come = earliest_come(timers);
    if (come) return come->due_ns;
    const uint32_t place = timers->count ? first_slot(timers) : TIMER_DUE;
    return place == TIMER_DUE ? INT64_MAX : slot_next(timers, place);
}

int64_t tfy__timers_next(Timers *timers)
{
    if (!timers->next_known) timers->next_ns = find_next(timers);
    timers->next_known = true;
    return timers->next_ns;
}

bool tfy__timers_fire_one(Timers *timers, int64_t now_ns)
{
    if (timers->next_known && timers->next_ns > now_ns) return false;
    Timer *timer;
    while (!(timer = earliest_come(timers))) {
        const uint32_t place = timers->count ? first_slot(timers) : TIMER_DUE;
        if (place == TIMER_DUE || slot_tick(timers, place) > tick_of(now_ns)) break;
        turn_to(timers, place);
    }
    timers->next_known = false;
    if (!timer || timer->due_ns > now_ns) {
        tfy__timers_next(timers); /* until then, one comparison answers this */
        return false;
    }
    CHECK(timer->handler < timers->handler_count);
    CHECK(tick_of(timer->due_ns) <= timers->tick);
    TfyTimerHandler fire = timers->handlers[timer->handler];
    void *arg = timer->arg;
    take_out(timers, timer);
    fire(arg);
    return true;
}

void tfy__timers_deinit(Timers *timers)
{
    free(timers->nodes);
    free(timers->spare);
    free(timers->late);
    *timers = (Timers){0};
}

/* timer.c: deadlines in a 4-ary heap, with handles so that a timer can be taken back. Ties fire in order of creation. */
#include <stdlib.h>

#include "core.h"

static bool before(const Timer *a, const Timer *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->seq < b->seq);
}

static void place(Timers *timers, uint32_t at, Timer *timer)
{
    timers->heap[at] = timer;
    timer->at = at;
}

static void sift_up(Timers *timers, uint32_t at, Timer *timer)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / 4;
        if (!before(timer, timers->heap[parent])) break;
        place(timers, at, timers->heap[parent]);
        at = parent;
    }
    place(timers, at, timer);
}

static void sift_down(Timers *timers, uint32_t at, Timer *timer)
{
    for (;;) {
        uint32_t first = at * 4 + 1, least = 0;
        for (uint32_t child = first; child < first + 4 && child < timers->count; child++)
            if (!least || before(timers->heap[child], timers->heap[least])) least = child;
        if (!least || !before(timers->heap[least], timer)) break;
        place(timers, at, timers->heap[least]);
        at = least;
    }
    place(timers, at, timer);
}

static bool grow_heap(Timers *timers)
{
    uint32_t cap = timers->cap ? timers->cap * 2 : 64;
    Timer **heap = realloc(timers->heap, cap * sizeof *heap);
    if (!heap) return false;
    timers->heap = heap;
    timers->cap = cap;
    return true;
}

/* The handle table has at least as many buckets as the heap has places. */
static bool grow_table(Timers *timers)
{
    uint32_t cap = timers->table_cap ? timers->table_cap * 2 : 64;
    Timer **table = calloc(cap, sizeof *table);
    if (!table) return false;
    for (uint32_t i = 0; i < timers->count; i++) {
        Timer *timer = timers->heap[i];
        Timer **bucket = &table[timer->seq & (cap - 1)];
        timer->next = *bucket;
        *bucket = timer;
    }
    free(timers->table);
    timers->table = table;
    timers->table_cap = cap;
    return true;
}

uint64_t tfy__timers_add(Timers *timers, int64_t due_ns, TfyTimerHandler fire, void *arg)
{
    if (timers->count == timers->cap && !grow_heap(timers)) return 0;
    if (timers->count >= timers->table_cap && !grow_table(timers)) return 0;
    Timer *timer = timers->free;
    if (timer)
        timers->free = timer->next;
    else if (!(timer = malloc(sizeof *timer)))
        return 0;
    *timer = (Timer){.due_ns = due_ns, .seq = ++timers->last_seq, .fire = fire, .arg = arg};
    Timer **bucket = &timers->table[timer->seq & (timers->table_cap - 1)];
    timer->next = *bucket;
    *bucket = timer;
    sift_up(timers, timers->count++, timer);
    return timer->seq;
}

static Timer *unlink_handle(Timers *timers, uint64_t handle)
{
    if (!timers->table_cap) return NULL;
    for (Timer **link = &timers->table[handle & (timers->table_cap - 1)]; *link; link = &(*link)->next) {
        Timer *timer = *link;
        if (timer->seq != handle) continue;
        *link = timer->next;
        return timer;
    }
    return NULL;
}

static void remove_at(Timers *timers, Timer *timer)
{
    uint32_t at = timer->at;
    Timer *last = timers->heap[--timers->count];
    if (last != timer) {
        if (at > 0 && before(last, timers->heap[(at - 1) / 4]))
            sift_up(timers, at, last);
        else
            sift_down(timers, at, last);
    }
    timer->next = timers->free;
    timers->free = timer;
}

void tfy__timers_del(Timers *timers, uint64_t handle)
{
    if (!handle) return;
    Timer *timer = unlink_handle(timers, handle);
    if (timer) remove_at(timers, timer);
}

bool tfy__timers_has(const Timers *timers, uint64_t handle)
{
    if (!handle || !timers->table_cap) return false;
    for (Timer *timer = timers->table[handle & (timers->table_cap - 1)]; timer; timer = timer->next)
        if (timer->seq == handle) return true;
    return false;
}

int64_t tfy__timers_next(const Timers *timers)
{
    return timers->count ? timers->heap[0]->due_ns : INT64_MAX;
}

bool tfy__timers_fire_one(Timers *timers, int64_t now_ns)
{
    if (!timers->count || timers->heap[0]->due_ns > now_ns) return false;
    Timer *timer = timers->heap[0];
    TfyTimerHandler fire = timer->fire;
    void *arg = timer->arg;
    unlink_handle(timers, timer->seq);
    remove_at(timers, timer);
    fire(arg);
    return true;
}

void tfy__timers_deinit(Timers *timers)
{
    for (uint32_t i = 0; i < timers->count; i++) free(timers->heap[i]);
    while (timers->free) {
        Timer *timer = timers->free;
        timers->free = timer->next;
        free(timer);
    }
    free(timers->heap);
    free(timers->table);
    *timers = (Timers){0};
}

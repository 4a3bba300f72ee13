#include "protothread.h"

#include "bench.h"

typedef struct Thread {
    bool (*run)(struct Thread *thread); /* true: it wants to go on */
    uint32_t place;
    int64_t i, count;
} __attribute__((aligned(64))) Thread;

typedef struct Queue {
    uint32_t *ring, mask, head, tail;
} Queue;

__attribute__((aligned(64))) static bool spin(Thread *thread)
{
    switch (thread->place) {
    case 0:
        for (thread->i = 0; thread->i < thread->count; thread->i++) {
            thread->place = 1;
            return true;
        case 1:;
        }
    }
    return false;
}

static void push(Queue *queue, uint32_t slot)
{
    queue->ring[queue->tail++ & queue->mask] = slot;
}

static void run_all(Thread *threads, Queue *queue)
{
    while (queue->head != queue->tail) {
        uint32_t slot = queue->ring[queue->head++ & queue->mask];
        if (threads[slot].run(&threads[slot])) push(queue, slot);
    }
}

__attribute__((aligned(64))) double protothread_run(uint32_t tasks, int64_t yields)
{
    Queue queue = {.mask = 1};
    while (queue.mask < tasks) queue.mask = queue.mask * 2 + 1;
    queue.ring = malloc(((size_t)queue.mask + 1) * sizeof *queue.ring);
    Thread *threads = aligned_alloc(64, tasks * sizeof *threads);
    if (!queue.ring || !threads) bench_die("no memory");
    for (uint32_t slot = 0; slot < tasks; slot++) {
        threads[slot] = (Thread){.run = spin, .count = yields};
        push(&queue, slot);
    }
    double begin = bench_cpu_seconds();
    run_all(threads, &queue);
    double took = bench_cpu_seconds() - begin;
    free(threads);
    free(queue.ring);
    return took;
}

#include "by_hand.h"

#include "bench.h"

/* ---- calls ---- */

typedef struct Stack Stack;

typedef struct Frame {
    int64_t (*run)(Stack *stack, struct Frame *frame);
    struct Frame *caller;
    int64_t slots[2];
} Frame;

struct Stack {
    char *top;
    Frame *running;
};

static Frame *enter(Stack *stack, int64_t (*run)(Stack *stack, Frame *frame))
{
    Frame *frame = (Frame *)stack->top;
    *frame = (Frame){.run = run, .caller = stack->running};
    stack->top += sizeof *frame;
    stack->running = frame;
    return frame;
}

static void leave(Stack *stack, Frame *frame)
{
    stack->running = frame->caller;
    stack->top = (char *)frame;
}

static int64_t leaf(Stack *stack, Frame *frame)
{
    (void)stack;
    return frame->slots[0];
}

static int64_t nest(Stack *stack, Frame *frame)
{
    int64_t (*volatile callee)(Stack *, Frame *) = leaf;
    int64_t sum = 0;
    for (int64_t i = 0; i < frame->slots[0]; i++) {
        Frame *inner = enter(stack, callee);
        inner->slots[0] = i;
        sum += inner->run(stack, inner);
        leave(stack, inner);
    }
    return sum;
}

double by_hand_calls(int64_t count)
{
    Frame room[4];
    Stack stack = {.top = (char *)room};
    Frame *frame = enter(&stack, nest);
    frame->slots[0] = count;
    double begin = bench_cpu_seconds();
    volatile int64_t sum = frame->run(&stack, frame);
    double took = bench_cpu_seconds() - begin;
    (void)sum;
    return took;
}

/* ---- tasks ---- */

double by_hand_tasks(int64_t count, size_t size, int at_once)
{
    enum { QUEUE = 16384 };
    static void *queue[QUEUE];
    uint32_t head = 0, tail = 0;
    double begin = bench_cpu_seconds();
    for (int64_t made = 0; made < count;) {
        for (int slice = at_once; slice && made < count; slice--, made++) {
            int64_t *task = malloc(size);
            if (!task) bench_die("no memory");
            *task = made;
            queue[tail++ % QUEUE] = task;
        }
        while (head != tail) free(queue[head++ % QUEUE]);
    }
    return bench_cpu_seconds() - begin;
}

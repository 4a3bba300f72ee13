/* bench_scale.c: a plain yield when a million tasks take turns, against the same when a thousand do: what the cache costs. In order: the
 * tasks come up as they lie in memory. Shuffled: in an order that the processor cannot guess. */
#include "bench.h"

#include "core/loop/state.h"

enum { FEW = 1000, MANY = 1000000, LAPS = 4 };

static uint32_t ready_count(const TfyLoop *loop)
{
    return loop->ring_tail - loop->ring_head;
}

/* Turns until every task has yielded so many times; answers the CPU seconds per yield. */
static double laps(TfyLoop *loop, uint32_t tasks, int count)
{
    const uint64_t turns = (uint64_t)tasks * (uint64_t)count / SCHED_TASKS;
    double begin = bench_cpu_seconds();
    for (uint64_t i = 0; i < turns; i++)
        if (tfy_step(loop) < 0) bench_die("the run failed");
    return (bench_cpu_seconds() - begin) / (double)(turns * SCHED_TASKS);
}

/* A loop with so many tasks that do nothing but yield, all of them under way. */
static TfyLoop *spinning(const char *workflow, uint32_t tasks)
{
    char args[96];
    TfyLoop *loop = bench_open(NULL);
    snprintf(args, sizeof args, "{\"tasks\":%u,\"count\":1000000000}", tasks);
    bench_submit(loop, workflow, args, 1);
    while (ready_count(loop) < tasks)
        if (tfy_step(loop) < 0) bench_die("the run failed");
    laps(loop, tasks, 2); /* he who makes them stood there too, while the last one was missing */
    return loop;
}

static void compare(const char *workflow, const char *name, double limit)
{
    double ratios[BENCH_ROUNDS], few_ns[BENCH_ROUNDS], many_ns[BENCH_ROUNDS];
    TfyLoop *few = spinning("turns", FEW), *many = spinning(workflow, MANY);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        few_ns[i] = laps(few, FEW, MANY / FEW * LAPS) * 1e9;
        many_ns[i] = laps(many, MANY, LAPS) * 1e9;
        ratios[i] = many_ns[i] / few_ns[i];
    }
    fprintf(stderr, "bench: %s: %.1f ns a yield, of 1,000 tasks %.1f ns\n", workflow, bench_median(many_ns),
            bench_median(few_ns));
    bench_report(name, bench_median(ratios), "<=", limit);
    bench_close(few);
    bench_close(many);
}

int main(void)
{
    compare("turns", "plain yield, 1,000,000 tasks in order, against 1,000 (times its time)", 2);
    compare("shuffled", "plain yield, 1,000,000 tasks shuffled, against 1,000 (times its time)", 6);
    return 0;
}

/* bench_call.c: a nested call that never waits, against an indirect C call whose frame lies on a stack of the same kind; and a task that is
 * spawned and ends at once, against malloc, a queue and free. Composing its two records is part of our time; the log only numbers them, and
 * what it takes to seal and keep them is told beside it. */
#include "bench.h"

#include <malloc.h>

#include "by_hand.h"
#include "core/loop/state.h"

typedef struct Figures {
    double ours[BENCH_ROUNDS], theirs[BENCH_ROUNDS], ratios[BENCH_ROUNDS]; /* seconds */
} Figures;

static void tell(const Figures *figures, const char *what, const char *name, int64_t count, double limit)
{
    fprintf(stderr, "bench: %s: ours %.1f ns, by hand %.1f ns\n", what,
            bench_median(figures->ours) * 1e9 / (double)count, bench_median(figures->theirs) * 1e9 / (double)count);
    bench_report(name, bench_median(figures->ratios), "<=", limit);
}

static double our_run(const char *workflow, int64_t count)
{
    char args[64];
    snprintf(args, sizeof args, "{\"count\":%lld}", (long long)count);
    return bench_cpu_of_runs(workflow, args, 1);
}

/* The same with a log in memory that seals and keeps what it is given. */
static double our_kept_run(const char *workflow, int64_t count)
{
    char args[64], error[TFY_ERROR_TEXT] = "";
    TfyLoop *loop;
    if (tfy_open(&loop, &tfyg_program, &(TfyOptions){.quiet = true, .snapshot_every = UINT32_MAX}, error) < 0)
        bench_die("%s", error);
    snprintf(args, sizeof args, "{\"count\":%lld}", (long long)count);
    bench_submit(loop, workflow, args, 1);
    double begin = bench_cpu_seconds();
    if (tfy_run(loop) < 0) bench_die("the run failed");
    double took = bench_cpu_seconds() - begin;
    bench_close(loop);
    return took;
}

static void calls(void)
{
    const int64_t count = 5000000;
    Figures figures;
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        figures.theirs[i] = by_hand_calls(count);
        figures.ours[i] = our_run("nest", count);
        figures.ratios[i] = figures.ours[i] / figures.theirs[i];
    }
    tell(&figures, "nested call",
         "nested call and return without a wait, against an indirect C call on a stack of its own (times its time)",
         count, 3);
}

static void spawns(void)
{
    const int64_t count = 500000;
    Figures figures;
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        figures.theirs[i] =
            by_hand_tasks(count, sizeof(TaskCell) + sizeof(TaskRest), TFY_FUEL_SLICE / (SPAWN_FUEL + 1));
        figures.ours[i] = our_run("brood", count);
        figures.ratios[i] = figures.ours[i] / figures.theirs[i];
    }
    tell(&figures, "spawn and end",
         "spawn and end of an empty task, against malloc, a queue's push and pop, free (times its time)", count, 4);
    fprintf(stderr, "bench: spawn and end, both records sealed and kept in memory: %.1f ns\n",
            our_kept_run("brood", count) * 1e9 / (double)count);
}

int main(void)
{
    /* What is freed stays with malloc, theirs and ours: a page that goes back and forth costs more than all the rest. */
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    mallopt(M_MMAP_THRESHOLD, INT32_MAX);
    calls();
    spawns();
    return 0;
}

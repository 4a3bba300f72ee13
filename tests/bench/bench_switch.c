/* bench_switch.c: plain yield and resume of a compiled workflow against a hand-written protothread. The log is in memory: yields leave no
 * record, so what is measured is the scheduler. */
#include "bench.h"
#include "protothread.h"

static double our_run(uint32_t tasks, int64_t yields)
{
    char args[64];
    snprintf(args, sizeof args, "{\"count\":%lld}", (long long)yields);
    return bench_cpu_of_runs("spin", args, (int)tasks);
}

int main(void)
{
    const uint32_t tasks = 1000;
    const int64_t yields = 20000;
    const int slices = 4; /* of a round, ours and theirs in turn: what disturbs the machine disturbs both */
    double ours[BENCH_ROUNDS], theirs[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        ours[i] = theirs[i] = 0;
        for (int slice = 0; slice < slices; slice++) {
            theirs[i] += protothread_run(tasks, yields);
            ours[i] += our_run(tasks, yields);
        }
        ratios[i] = ours[i] / theirs[i];
    }
    double ns = 1e9 / ((double)tasks * (double)yields * slices);
    fprintf(stderr, "bench: plain yield: ours %.1f ns, a protothread %.1f ns\n", bench_median(ours) * ns,
            bench_median(theirs) * ns);
    bench_report("plain yield, 1,000 tasks, against a hand-written protothread (times its time)", bench_median(ratios),
                 "<=", 1.5);
    return 0;
}

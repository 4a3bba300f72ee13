/* bench_memory.c: resident bytes of a task that sleeps, its frame holding one number: what a million of them add to the process. Everything
 * counts: the task, its frame, the step it waits in, its timer, the tables; but for the log, which keeps nothing here. */
#include "bench.h"

int main(void)
{
    const int tasks = 1000000;
    char args[64];
    snprintf(args, sizeof args, "{\"count\":%d}", tasks);
    TfyLoop *loop = bench_open(NULL);
    bench_submit(loop, "crowd", "{\"count\":1}", 1);
    while (tfy_step(loop) > 0) continue;
    const size_t before = bench_resident_bytes();
    bench_submit(loop, "crowd", args, 1);
    while (tfy_step(loop) > 0) continue;
    bench_report("resident bytes of a task asleep, 1,000,000 tasks", (double)(bench_resident_bytes() - before) / tasks,
                 "<=", 128);
    bench_close(loop);
    return 0;
}

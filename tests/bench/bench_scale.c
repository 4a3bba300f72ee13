/* bench_scale.c: what many tasks cost: the memory of one that sleeps, and a plain yield when a million take turns. Nothing is held to a
 * limit here; the figures are told on stderr. */
#include "bench.h"
#include "protothread.h"

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!file || fscanf(file, "%*s %ld", &pages) != 1) bench_die("/proc/self/statm cannot be read");
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* With a database, since the log in memory would be counted too. */
static void sleepers(int count)
{
    BenchPlace place;
    char args[64];
    bench_place(&place);
    snprintf(args, sizeof args, "{\"count\":%d}", count);
    TfyLoop *loop = bench_open(place.path);
    size_t before = resident_bytes();
    bench_submit(loop, "crowd", args, 1);
    while (tfy_step(loop) > 0) continue;
    double bytes = (double)(resident_bytes() - before) / count;
    fprintf(stderr, "bench: %d sleeping tasks: %.0f bytes each\n", count, bytes);
    bench_close(loop);
    bench_clear(&place);
}

/* The whole run: spawning, yielding and ending. */
static double turns(uint32_t tasks, int64_t yields)
{
    char args[96];
    snprintf(args, sizeof args, "{\"tasks\":%u,\"count\":%lld}", tasks, (long long)yields);
    return bench_cpu_of_runs("turns", args, 1);
}

int main(void)
{
    const uint32_t tasks = 1000000;
    const int64_t yields = 40;
    sleepers(100000);
    double ours = turns(tasks, yields) - turns(tasks, 0), theirs = protothread_run(tasks, yields);
    double ns = 1e9 / ((double)tasks * (double)yields);
    fprintf(stderr, "bench: plain yield of 1,000,000 tasks: ours %.1f ns, a protothread %.1f ns (%.1f times)\n",
            ours * ns, theirs * ns, ours / theirs);
    return 0;
}

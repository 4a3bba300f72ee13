/* bench_others.c: a plain yield of a thousand tasks against what people use elsewhere: C++20 coroutines, Python's generators, asyncio. Each is a
 * program of its own that prints the seconds it took; run.sh names the directory of the compiled ones and that of the scripts. */
#include "bench.h"

enum { TASKS = 1000 };

typedef struct Other {
    const char *command; /* a format: the directory, tasks, yields */
    const char *directory;
    int64_t yields; /* of a task: it should take a while, not for ever */
} Other;

/* Seconds per yield. */
static double other_run(const Other *other)
{
    char command[1024];
    double took = 0;
    snprintf(command, sizeof command, other->command, other->directory, TASKS, (long long)other->yields);
    FILE *out = popen(command, "r");
    if (!out || fscanf(out, "%lf", &took) != 1) bench_die("'%s' does not answer with a number", command);
    if (pclose(out) != 0) bench_die("'%s' failed", command);
    return took / (double)TASKS / (double)other->yields;
}

static double our_run(void)
{
    const int64_t yields = 20000;
    char args[64];
    snprintf(args, sizeof args, "{\"count\":%lld}", (long long)yields);
    return bench_cpu_of_runs("spin", args, TASKS) / (double)TASKS / (double)yields;
}

/* What is told but not held to a limit: the least that C++ can do, with a queue made for nothing else. */
static void tell(const Other *other, const char *name)
{
    double theirs[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) theirs[i] = other_run(other);
    fprintf(stderr, "bench: %s: %.1f ns\n", name, bench_median(theirs) * 1e9);
}

/* rate: how many times faster we are; else our time as a multiple of theirs. */
static void compare(const Other *other, const char *name, bool rate, double limit)
{
    double ours[BENCH_ROUNDS], theirs[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        theirs[i] = other_run(other);
        ours[i] = our_run();
        ratios[i] = rate ? theirs[i] / ours[i] : ours[i] / theirs[i];
    }
    fprintf(stderr, "bench: %s: ours %.1f ns, theirs %.1f ns\n", name, bench_median(ours) * 1e9,
            bench_median(theirs) * 1e9);
    bench_report(name, bench_median(ratios), rate ? ">=" : "<=", limit);
}

int main(int argc, char **argv)
{
    if (argc != 3) bench_die("usage: bench_others DIRECTORY-OF-PROGRAMS DIRECTORY-OF-SCRIPTS");
    compare(&(Other){"'%s/coroutine' %d %lld", argv[1], 20000},
            "plain yield, 1,000 tasks, against C++20 coroutines (times their time)", false, 1.0);
    tell(&(Other){"'%s/coroutine' %d %lld ring", argv[1], 20000}, "C++20 coroutines with a bare ring for a queue");
    compare(&(Other){"python3 '%s/generators.py' %d %lld", argv[2], 2000},
            "plain yield, 1,000 tasks, against Python's generators (times faster)", true, 30);
    compare(&(Other){"python3 '%s/asyncio_tasks.py' %d %lld", argv[2], 200},
            "plain yield, 1,000 tasks, against asyncio (times faster)", true, 400);
    return 0;
}

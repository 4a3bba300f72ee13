/* bench_long.c: what a long life costs: a step after a hundred thousand others, taking a run up again after a million, the bytes a step leaves on
 * disk, and a database of a million runs that sleep. */
#include <malloc.h>
#include <sys/stat.h>

#include "bench.h"

#ifndef PARKED
#define PARKED 1000000
#endif
#define BATCH        20000
#define SHALLOW      10
#define DEEP         100000
#define WINDOW       10000 /* steps that are timed: a few milliseconds, so that many rounds are needed */
#define DEPTH_ROUNDS 40

extern int64_t bench_seen(void); /* calls of look_at and put so far */

static TfyLoop *open_with(const char *path, uint32_t snapshot_every, int64_t park_after_ms)
{
    TfyLoop *loop;
    char error[TFY_ERROR_TEXT] = "";
    TfyOptions options = {
        .db_path = path, .quiet = true, .snapshot_every = snapshot_every, .park_after_ms = park_after_ms};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) bench_die("%s", error);
    return loop;
}

/* CPU of the whole process, its writer included, until so many calls have been made. */
static double until(TfyLoop *loop, int64_t calls)
{
    double begin = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    while (bench_seen() < calls)
        if (tfy_step(loop) < 0) bench_die("the run failed");
    return bench_clock(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

/* With a log in memory, so that nobody waits for a disk; snapshots are written into it as into a file. Memory of one round is used again by the
 * next, or it would be chance in which window the system has to give pages. */
static void measure_depth(void)
{
    double at_first = 0, later = 0;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    for (int i = -1; i < DEPTH_ROUNDS; i++) { /* the first round warms up */
        TfyLoop *loop = open_with(NULL, 0, 0);
        bench_submit(loop, "crew_waits", "{\"tasks\":10,\"count\":12000}", 1);
        int64_t zero = bench_seen();
        until(loop, zero + SHALLOW);
        double shallow = until(loop, zero + SHALLOW + WINDOW);
        until(loop, zero + DEEP);
        double deep = until(loop, zero + DEEP + WINDOW);
        if (i >= 0) {
            at_first += shallow;
            later += deep;
        }
        bench_close(loop);
    }
    fprintf(stderr, "bench: %.2f us of CPU for a step at the beginning, %.2f deep\n",
            at_first * 1e6 / DEPTH_ROUNDS / WINDOW, later * 1e6 / DEPTH_ROUNDS / WINDOW);
    bench_report("a step after 100,000 others, against one after 10 (times its CPU time)", later / at_first, "<=", 1.1);
}

/* Milliseconds from opening the database to a run that waits where it waited. */
static double resume(const char *path, uint32_t snapshot_every)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    double begin = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    TfyLoop *loop = open_with(path, snapshot_every, 0);
    if (tfy_resume(loop, "last", &tid, error) < 0) bench_die("%s", error);
    double took = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - begin;
    bench_close(loop);
    return took * 1000;
}

static void measure_resume(const char *args, int64_t steps, uint32_t snapshot_every, const char *name, double limit)
{
    BenchPlace place;
    double took[BENCH_ROUNDS];
    bench_place(&place);
    TfyLoop *loop = open_with(place.path, snapshot_every, 0);
    bench_submit(loop, "crew_waits", args, 1);
    int64_t zero = bench_seen();
    until(loop, zero + steps);
    while (tfy_step(loop) > 0) continue; /* until it waits for its signal */
    bench_close(loop);
    for (int i = 0; i < BENCH_ROUNDS; i++) took[i] = resume(place.path, snapshot_every);
    bench_report(name, bench_median(took), "<=", limit);
    bench_clear(&place);
}

static double bytes_of(const char *path, const char *suffix)
{
    char file[160];
    struct stat status;
    snprintf(file, sizeof file, "%s%s", path, suffix);
    return stat(file, &status) == 0 ? (double)status.st_size : 0;
}

/* A result of a step is some 40 bytes: {"tool":"look_at","digest":"…","value":N}. */
static void measure_bytes(void)
{
    BenchPlace place;
    const int tasks = 500, steps = 400;
    char args[64];
    bench_place(&place);
    snprintf(args, sizeof args, "{\"tasks\":%d,\"count\":%d}", tasks, steps);
    TfyLoop *loop = open_with(place.path, 0, 0);
    bench_submit(loop, "crew", args, 1);
    if (tfy_run(loop) < 0) bench_die("the run failed");
    double bytes = bytes_of(place.path, "") + bytes_of(place.path, "-wal");
    bench_close(loop);
    bench_report("bytes of database and -wal file for a pure step", bytes / tasks / steps, "<=", 250);
    bench_clear(&place);
}

static void settle(TfyLoop *loop)
{
    for (int quiet = 0; quiet < 3; quiet++) {
        int happened;
        while ((happened = tfy_step(loop)) > 0) quiet = 0;
        if (happened < 0) bench_die("the runs failed");
        usleep(5000);
    }
}

static void measure_parked(void)
{
    BenchPlace place;
    double took[BENCH_ROUNDS];
    bench_place(&place);
    TfyLoop *loop = open_with(place.path, 0, 1);
    double begin = bench_seconds();
    for (int i = 0; i < PARKED; i += BATCH) {
        bench_submit(loop, "rest", "{\"number\":7}", BATCH);
        settle(loop);
    }
    fprintf(stderr, "bench: %d runs parked in %.0f s, %zu MB resident\n", PARKED, bench_seconds() - begin,
            bench_resident_bytes() >> 20);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        bench_submit(loop, "doze", "{\"wait\":\"200ms\"}", 1);
        settle(loop);
        bench_close(loop);
        usleep(300000);
        int64_t zero = bench_seen();
        begin = bench_seconds();
        loop = open_with(place.path, 0, 1);
        char error[TFY_ERROR_TEXT] = "";
        if (tfy_resume_all(loop, error) < 0) bench_die("%s", error);
        until(loop, zero + 1);
        took[i] = (bench_seconds() - begin) * 1000;
    }
    bench_close(loop);
    bench_report("opening a database with 1,000,000 parked tasks and running the one that is due (ms)",
                 bench_median(took), "<=", 100);
    bench_clear(&place);
}

int main(void)
{
    measure_resume("{\"tasks\":100,\"count\":10000}", 1000000, 0,
                   "taking a run up after 1,000,000 steps, from its snapshot (ms of CPU)", 10);
    measure_resume("{\"tasks\":10,\"count\":1000}", 10000, UINT32_MAX,
                   "taking a run up after 10,000 steps, without a snapshot (ms of CPU)", 50);
    measure_bytes();
    measure_parked();
    measure_depth(); /* last: what it tells malloc holds for good */
    return 0;
}

/* bench.h: what the measurements share.
 *
 * The machine is shared and noisy, so a figure is never a time but a ratio: ours against a baseline that runs in the same process, rounds of
 * both in turn, the median of the rounds' ratios. Every program prints one line per figure: name, measured, limit, ok or short, separated by
 * tabs; what it means in seconds or bytes goes to stderr. */
#ifndef BENCH_H
#define BENCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tfy.h"

#define BENCH_ROUNDS 5

/* The workflows that are measured: bench.tfy, compiled. */
extern const TfyProgram tfyg_program;

static inline double bench_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double bench_seconds(void)
{
    return bench_clock(CLOCK_MONOTONIC);
}

/* Of this thread: for what never waits. */
static inline double bench_cpu_seconds(void)
{
    return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

__attribute__((format(printf, 1, 2))) _Noreturn static inline void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static inline int bench_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static inline double bench_median_of(double *times, size_t count)
{
    qsort(times, count, sizeof *times, bench_by_size);
    return times[count / 2];
}

static inline double bench_median(const double rounds[BENCH_ROUNDS])
{
    double sorted[BENCH_ROUNDS];
    memcpy(sorted, rounds, sizeof sorted);
    return bench_median_of(sorted, BENCH_ROUNDS);
}

/* relation: "<=" or ">=". */
static inline void bench_report(const char *name, double measured, const char *relation, double limit)
{
    bool ok = relation[0] == '<' ? measured <= limit : measured >= limit;
    printf("%s\t%.2f\t%s %.2f\t%s\n", name, measured, relation, limit, ok ? "ok" : "short");
    fflush(stdout);
}

static inline size_t bench_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!file || fscanf(file, "%*s %ld", &pages) != 1) bench_die("/proc/self/statm cannot be read");
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A scratch directory beside the build, not under /tmp, which may be memory: a sync must reach a disk. */
typedef struct BenchPlace {
    char directory[64];
    char path[96]; /* of the database in it */
} BenchPlace;

static inline void bench_place(BenchPlace *place)
{
    strcpy(place->directory, "./bench-XXXXXX");
    if (!mkdtemp(place->directory)) bench_die("no directory can be made here");
    snprintf(place->path, sizeof place->path, "%s/runs.db", place->directory);
}

static inline void bench_clear(const BenchPlace *place)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", place->directory);
    if (system(command) != 0) bench_die("%s cannot be removed", place->directory);
}

/* A loop on the real world; path NULL: a log in memory that keeps nothing. */
static inline TfyLoop *bench_open(const char *path)
{
    TfyLoop *loop;
    char error[TFY_ERROR_TEXT] = "";
    TfyOptions options = {.db_path = path, .forget = true, .quiet = true};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) bench_die("%s", error);
    return loop;
}

static inline void bench_submit(TfyLoop *loop, const char *workflow, const char *args, int count)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    for (int i = 0; i < count; i++)
        if (tfy_submit(loop, workflow, args, &tid, error) < 0) bench_die("%s", error);
}

static inline void bench_close(TfyLoop *loop)
{
    if (tfy_close(loop) < 0) bench_die("the log cannot be closed");
}

/* CPU seconds of so many runs of a workflow with a log in memory, from the first turn to the last run's end. */
static inline double bench_cpu_of_runs(const char *workflow, const char *args, int count)
{
    TfyLoop *loop = bench_open(NULL);
    bench_submit(loop, workflow, args, count);
    double begin = bench_cpu_seconds();
    if (tfy_run(loop) < 0) bench_die("the run failed");
    double took = bench_cpu_seconds() - begin;
    bench_close(loop);
    return took;
}

#endif

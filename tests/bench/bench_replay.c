/* bench_replay.c: replay of a recorded run, opening its database and reading its rows included, in steps per second of CPU: a replay waits for nobody. */
#include "bench.h"

#include "core/loop.h"
#include "wal/history/history.h"

#define TASKS 200
#define STEPS 500 /* of each */

static void record(const char *path)
{
    char args[64];
    snprintf(args, sizeof args, "{\"tasks\":%d,\"count\":%d}", TASKS, STEPS);
    TfyLoop *loop = bench_open(path);
    bench_submit(loop, "crew", args, 1);
    if (tfy_run(loop) < 0) bench_die("the run failed");
    bench_close(loop);
}

/* Seconds to read the run, and to replay it. */
static double replay(const char *path, double *reading)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log = NULL;
    TfyHistory *history = NULL;
    TfyReplayReport report = {0};
    const TfyLogOptions options = {.path = path, .read_only = true, .existing = true};
    const TfyOptions quiet = {.quiet = true};
    double begin = bench_cpu_seconds();
    if (tfy__log_open(&log, &options, error) < 0 || tfy__history_read(log, "last", &history, error) < 0)
        bench_die("%s", error);
    *reading = bench_cpu_seconds() - begin;
    if (tfy__replay(&tfyg_program, history, &quiet, &report) < 0 || !report.finished) bench_die("%s", report.text);
    double took = bench_cpu_seconds() - begin;
    tfy__history_free(history);
    tfy__log_close(log, false);
    return took;
}

int main(void)
{
    BenchPlace place;
    double rates[BENCH_ROUNDS], reading = 0;
    const double steps = (double)TASKS * STEPS;
    bench_place(&place);
    record(place.path);
    for (int i = 0; i < BENCH_ROUNDS; i++) rates[i] = steps / replay(place.path, &reading);
    fprintf(stderr, "bench: replay: %.0f steps/s, %.0f %% of it reading rows\n", bench_median(rates),
            100 * reading * rates[BENCH_ROUNDS - 1] / steps);
    bench_report("replay of a recorded run, rows read included (steps per second)", bench_median(rates), ">=", 300000);
    bench_clear(&place);
    return 0;
}

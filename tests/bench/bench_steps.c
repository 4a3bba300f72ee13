/* bench_steps.c: durable steps of compiled workflows (an extern tool that does nothing) against a bare SQLite loop that inserts the very
 * rows they left, in as many commits. Both with synchronous=FULL on the same disk. */
#include "bare.h"
#include "bench.h"

typedef struct Load {
    const char *workflow;
    int tasks, steps; /* steps of each task */
} Load;

typedef struct Round {
    double ours, bare; /* seconds */
    int64_t rows, commits;
} Round;

static Round run_round(const Load *load)
{
    Round round;
    BenchPlace place;
    char args[64], bare_path[128];
    bench_place(&place);
    snprintf(args, sizeof args, "{\"count\":%d}", load->steps);
    snprintf(bare_path, sizeof bare_path, "%s/bare.db", place.directory);
    TfyLoop *loop = bench_open(place.path);
    bench_submit(loop, load->workflow, args, load->tasks);
    int64_t before = bare_commits();
    double begin = bench_seconds();
    if (tfy_run(loop) < 0) bench_die("the run failed");
    round.ours = bench_seconds() - begin;
    round.commits = bare_commits() - before;
    bench_close(loop);
    BareRows *rows = bare_read(place.path);
    round.rows = bare_row_count(rows);
    round.bare = bare_insert(rows, bare_path, round.commits);
    bare_free(rows);
    bench_clear(&place);
    return round;
}

static void measure(const Load *load, const char *name, double limit)
{
    double ratios[BENCH_ROUNDS], ours[BENCH_ROUNDS], bare[BENCH_ROUNDS];
    Round round = {0};
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        round = run_round(load);
        ratios[i] = round.bare / round.ours;
        ours[i] = round.ours;
        bare[i] = round.bare;
    }
    double steps = (double)load->tasks * load->steps;
    fprintf(stderr, "bench: %s: %.0f steps/s (bare rows at %.0f steps/s), %.1f rows per commit\n", load->workflow,
            steps / bench_median(ours), steps / bench_median(bare), (double)round.rows / (double)round.commits);
    bench_report(name, bench_median(ratios), ">=", limit);
}

int main(void)
{
    bare_count_commits();
    measure(&(Load){"look", 10000, 10},
            "pure steps of 10,000 workflows, against the same rows by a bare SQLite loop (share of its rate)", 0.6);
    measure(&(Load){"keep", 1, 1000},
            "once steps of one workflow, against the same commits by a bare SQLite loop (share of its rate)", 0.8);
    return 0;
}

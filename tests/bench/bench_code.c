/* bench_code.c: the map of a project of 80,000 lines of C: read for the first time, against ctags alone over the same files, and when nothing
 * has changed since. Rounds of both in turn. */
#include <limits.h>
#include <sys/stat.h>

#include "bench.h"

enum { FILES = 400, FUNCTIONS = 25, LINES = 200 };

static void run(const char *format, const char *directory)
{
    char command[2 * PATH_MAX];
    snprintf(command, sizeof command, format, directory);
    if (system(command) != 0) bench_die("failed: %s", command);
}

/* Each file has functions of 8 lines that call those of other files. */
static void write_file(const char *directory, int number)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/part_%d.c", directory, number);
    FILE *file = fopen(path, "we");
    if (!file) bench_die("%s cannot be written", path);
    for (int i = 0; i < FUNCTIONS; i++)
        fprintf(
            file,
            "/* What part %d does in its step %d. */\nint part_%d_step_%d(int count)\n{\n    int sum_of_%d = count;\n"
            "    sum_of_%d += part_%d_step_%d(count - 1);\n    return sum_of_%d;\n}\n\n",
            number, i, number, i, i, i, (number * 7 + i) % FILES, i / 2, i);
    fclose(file);
}

static void make_project(const char *directory)
{
    for (int i = 0; i < FILES; i++) write_file(directory, i);
    run("cd '%s' && git init -q . && printf 'runs.db*\\n.tfy/\\n' >.gitignore && git add .", directory);
    sleep(2); /* younger files would be read twice */
}

static double seconds_of_ctags(const char *directory)
{
    const double begin = bench_seconds();
    run("cd '%s' && git ls-files | ctags --options=NONE --quiet --output-format=json --fields=+neS -L - -f - "
        ">/dev/null 2>&1",
        directory);
    return bench_seconds() - begin;
}

static double seconds_of_run(TfyLoop *loop)
{
    bench_submit(loop, "code", "{}", 1);
    const double begin = bench_seconds();
    if (tfy_run(loop) < 0) bench_die("the run failed");
    return bench_seconds() - begin;
}

/* The first map, and the next one of the same process. */
static void measure(const BenchPlace *place, double *first, double *next)
{
    TfyLoop *loop;
    char error[TFY_ERROR_TEXT] = "";
    const TfyOptions options = {.db_path = place->path, .root = place->directory, .forget = true, .quiet = true};
    run("rm -f '%s/.tfy/code-map'", place->directory);
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) bench_die("%s", error);
    *first = seconds_of_run(loop);
    *next = seconds_of_run(loop);
    bench_close(loop);
}

int main(void)
{
    BenchPlace place;
    double ratios[BENCH_ROUNDS], warm[BENCH_ROUNDS], cold[BENCH_ROUNDS];
    if (system("command -v ctags >/dev/null 2>&1") != 0) bench_die("there is no ctags here");
    bench_place(&place);
    make_project(place.directory);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        const double alone = seconds_of_ctags(place.directory);
        measure(&place, &cold[i], &warm[i]);
        ratios[i] = cold[i] / alone;
        warm[i] *= 1000;
    }
    fprintf(stderr, "bench: code: %.0f ms for the first map of %d lines\n", 1000 * bench_median(cold), FILES * LINES);
    bench_report("the first code map of 80,000 lines (of ctags alone)", bench_median(ratios), "<=", 5);
    bench_report("a code map when nothing has changed (milliseconds)", bench_median(warm), "<=", 100);
    bench_clear(&place);
    return 0;
}

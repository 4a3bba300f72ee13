/* bench_serve_large.c: a server of a million runs: pages of their list, alone and under load; its index, followed and made anew; how soon it is
 * ready again with 10,000 runs that wait; and travel into the middle of a long run. The runs are made first, which takes a minute or two. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "serving.h"

enum { RUNS = 1000000, PARKED = 10000, STEPS = 37500, PATIENCE_S = 600 };

static Serving serving = {.db = "bench-large.db",
                          .program =
                              "workflow nothing(_word: string) {}\n"
                              "workflow waits() { yield sleep(240h) }\n"
                              "workflow counting(n: int) { var i = 0; while i < n { yield sleep(0ms); i += 1 } }\n"};

/* ---- figures of the server ---- */

/* The number behind a text of an answer. */
static double number_behind(const char *body, const char *text)
{
    const char *at = strstr(body, text);
    if (!at) bench_die("there is no %s in %.300s", text, body);
    return strtod(at + strlen(text), NULL);
}

static double lag(void)
{
    return number_behind(serving_get(&serving, "/metrics"), "\ntfy_index_lag_records ");
}

static void await_index(void)
{
    const double until = bench_seconds() + PATIENCE_S;
    while (lag() > 0 && bench_seconds() < until) usleep(20000);
}

static double seconds_until_ready(void)
{
    static Connection connection;
    const double begun = bench_seconds();
    serving_start(&serving);
    connection.fd = serving_reach(&serving);
    serving_answer(&connection, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    close(connection.fd);
    return bench_seconds() - begun;
}

/* Runs leave memory as soon as they wait, until none is in it. */
static void park_all(void)
{
    const double until = bench_seconds() + PATIENCE_S;
    setenv("TFY_PARK_AFTER", "1", 1);
    serving_start(&serving);
    while (number_behind(serving_get(&serving, "/metrics"), "\ntfy_runs_live ") > 0 && bench_seconds() < until)
        usleep(20000);
    serving_end(&serving);
    unsetenv("TFY_PARK_AFTER");
}

/* The median of three; the server ends in between. */
static double median_until_ready(void)
{
    double rounds[3];
    for (int i = 0; i < 3; i++) {
        rounds[i] = seconds_until_ready();
        serving_end(&serving);
    }
    qsort(rounds, 3, sizeof *rounds, bench_by_size);
    return rounds[1];
}

static void measure_ready(void)
{
    bench_report("ready again with 1,000,000 runs and 10,000 that wait in memory, in seconds", median_until_ready(),
                 "<=", 0.5);
    park_all();
    bench_report("ready again with 1,000,000 runs and 10,000 that are parked, in seconds", median_until_ready(),
                 "<=", 0.5);
}

/* ---- what there is to look at ---- */

static void make(const char *workflow, const char *args, int connections, size_t count)
{
    char request[512];
    double p99;
    serving_start_request(request, sizeof request, workflow, args);
    const double rate = serving_load(&serving, request, connections, PATIENCE_S, count, &p99);
    fprintf(stderr, "made %zu of %s, %.0f a second\n", count, workflow, rate);
}

/* One of a hundred has another word than the rest. */
static void make_runs(void)
{
    enum { ROUNDS = 10, OTHERS = RUNS / 100 / ROUNDS };
    for (int i = 0; i < ROUNDS; i++) {
        make("nothing", "{\"_word\":\"tea\"}", SERVING_CONNECTIONS, RUNS / ROUNDS - OTHERS);
        make("nothing", "{\"_word\":\"cup\"}", SERVING_CONNECTIONS, OTHERS);
    }
}

/* ---- lists ---- */

static const char *const paths[] = {"/v1/runs?limit=50", "/v1/runs?workflow=nothing&state=completed&limit=50",
                                    "/v1/runs?q=cup&limit=50", "/v1/runs?q=tea&limit=50",
                                    "/v1/runs?sort=-took&limit=50"};
static const char *const names[] = {"a page of the newest of 1,000,000 runs", "... of those of a workflow and a state",
                                    "... of those of a word that one of a hundred has",
                                    "... of those of a word that all but one of a hundred have",
                                    "... of those that took longest"};
enum { LISTS = 5 };

static void measure_pages(void)
{
    char name[96];
    for (int i = 0; i < LISTS; i++) {
        snprintf(name, sizeof name, "%s, in ms", names[i]);
        bench_report(name, serving_page(&serving, paths[i], NULL), "<=", 5);
    }
}

/* Another process starts runs over 64 connections meanwhile. */
static void measure_pages_under_load(void)
{
    char name[96];
    const pid_t loading = fork();
    if (!loading) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make("nothing", "{\"_word\":\"tea\"}", 64, 0);
        _exit(0);
    }
    sleep(1);
    for (int i = 0; i < LISTS; i++) {
        double p99;
        serving_page(&serving, paths[i], &p99);
        snprintf(name, sizeof name, "%s under load: 99 of 100, in ms", names[i]);
        bench_report(name, p99, "<=", 50);
    }
    kill(loading, SIGKILL);
    waitpid(loading, NULL, 0);
    await_index();
}

static void measure_rebuild(void)
{
    if (system("rm -f bench-large.db-index*") != 0) bench_die("the index cannot be removed");
    const double begun = bench_seconds();
    serving_start(&serving);
    close(serving_reach(&serving));
    const double records = lag();
    await_index();
    const double took = bench_seconds() - begun;
    bench_report("records a second that the index follows", records / took, ">=", 50000);
    bench_report("an index of 1,000,000 runs is made anew, in seconds", took, "<=", 60);
}

/* ---- a long run ---- */

/* A travel that takes too long is refused after ten seconds. */
static double seconds_of(const char *path)
{
    static Connection connection;
    char request[256];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    connection.fd = serving_reach(&serving);
    serving_ask(&connection, request);
    while (!serving_hear(&connection)) {}
    const double took = bench_seconds() - connection.sent;
    close(connection.fd);
    if (took < 10 && atoi(connection.answer + 9) != 200) bench_die("no travel: %.300s", connection.answer);
    return took;
}

/* The median of three; one before them compiles the program. */
static double seconds_of_travel(const char *run, long records)
{
    char path[160];
    double rounds[3];
    snprintf(path, sizeof path, "/v1/runs/%.36s/at/record-%ld", run, records / 2);
    seconds_of(path);
    for (int i = 0; i < 3; i++) rounds[i] = seconds_of(path);
    qsort(rounds, 3, sizeof *rounds, bench_by_size);
    return rounds[1];
}

static void measure_travel(void)
{
    char run[37] = "", args[32], path[64];
    snprintf(args, sizeof args, "{\"n\":%d}", STEPS);
    make("counting", args, 1, 1);
    await_index();
    const char *id = strstr(serving_get(&serving, "/v1/runs?workflow=counting&limit=1"), "\"id\":\"");
    if (!id) bench_die("the long run is not there");
    snprintf(run, sizeof run, "%.36s", id + 6);
    snprintf(path, sizeof path, "/v1/runs/%s", run);
    const double until = bench_seconds() + PATIENCE_S;
    while (!strstr(serving_get(&serving, path), "\"completed\"") && bench_seconds() < until) usleep(50000);
    const long records = (long)number_behind(serving_get(&serving, path), "\"records\":");
    fprintf(stderr, "a run of %ld records\n", records);
    bench_report("travel into the middle of 75,000 records, in seconds", seconds_of_travel(run, records), "<=", 1);
}

int main(void)
{
    serving_build(&serving);
    serving_start(&serving);
    make_runs();
    await_index();
    measure_pages();
    measure_pages_under_load();
    measure_travel();
    make("waits", "{}", 64, PARKED);
    await_index();
    serving_end(&serving);
    measure_ready();
    measure_rebuild();
    serving_end(&serving);
    serving_remove(&serving);
    return 0;
}

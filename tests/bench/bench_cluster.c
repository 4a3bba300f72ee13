/* bench_cluster.c: a process that executes runs of a database of PostgreSQL, against a bare client of the same server: single commits
 * one after the other, and rows by thousands; how fast runs change hands; and what a second loop adds. The server waits for its disk, as usual. */
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

#include "bench.h"

#define fail_msg(...) bench_die(__VA_ARGS__)
#include "../cluster/postgres.h"

#include "host/loops.h"
#include "hub/hub_cluster.h"
#include "wal/store/pg_cluster.h"

enum {
    STEPS = 4000,
    RUNS = 10000,
    CLAIMS = 50000,
    AT_A_TIME = 256,
    BY = 1000,
    MAILS = 200,
    SPINS = 30000000,
    LEASE_MS = 30000
};

static Postgres postgres;
static TfyCluster *sender;
static int64_t program, queue;

static TfyCluster *reach(void)
{
    TfyCluster *cluster;
    char error[TFY_ERROR_TEXT] = "";
    if (tfy__pg_cluster_open(&cluster, &(TfyPgOpen){.address = postgres.address}, error) < 0) bench_die("%s", error);
    return cluster;
}

/* A database with tables and the program. */
static void begin(void)
{
    TfyStoreProgram row = {.tfyc = tfyg_program.tfyc, .source = tfyg_program.source, .layout = tfyg_program.layout};
    memcpy(row.hash, tfyg_program.hash, sizeof row.hash);
    if (!postgres_fresh(&postgres, &(TfyPgMake){.lease_ms = LEASE_MS})) bench_die("no database");
    sender = reach();
    program = sender->ops->keep_program(sender, &row);
    queue = sender->ops->queue(sender, "default", program);
    if (program <= 0 || queue <= 0) bench_die("%s", sender->error);
}

static void end(void)
{
    sender->ops->close(sender);
}

static int64_t submit(const char *workflow, int steps)
{
    static uint32_t number;
    char birth[300], uuid[37];
    number++;
    TfyLogRun row = {.root = 1, .program = program, .started_ms = 1700000000000};
    memcpy(row.uuid + 12, &number, sizeof number);
    tfy__uuid_text(row.uuid, uuid);
    snprintf(birth, sizeof birth,
             "{\"run\":\"%s\",\"tid\":1,\"path\":\"1\",\"workflow\":\"%s\",\"args\":{\"count\":%d},\"seed\":\"%016x\","
             "\"fuel\":%d}",
             uuid, workflow, steps, number, (int)TFY_FUEL_SLICE);
    if (sender->ops->submit(sender, queue, &row, birth) <= 0) bench_die("%s", sender->error);
    return row.id;
}

/* ---- ours ---- */

static int join(void *state, int64_t session, int64_t lease_ms, TfyStore **store, char *error_text)
{
    (void)state;
    const TfyPgOpen open = {.address = postgres.address, .session = session, .lease_ms = lease_ms};
    return tfy__pg_open(store, &open, error_text);
}

static void *drain_at_end(void *loops)
{
    /* Not a walk over all runs, which would cost the server a millisecond. */
    while (postgres_number(&postgres,
                           "select (exists(select 1 from tfy.run where owner is not null) or exists(select 1 from"
                           " tfy.run where owner is null and state < 12 and due = 0 and held is null))::int"))
        usleep(10000);
    tfy__loops_drain(loops, 0);
    return NULL;
}

/* Executes all runs of the database in so many loops; seconds. */
static double execute(uint32_t count)
{
    TfyHub *hub;
    TfyLoops *loops;
    pthread_t waiting;
    char error[TFY_ERROR_TEXT] = "";
    const TfyHubOpen open = {.cluster = reach(), .join = join, .session = {.worker = "bench"}, .loops = count};
    const double begun = bench_seconds();
    if (tfy__hub_cluster_open(&hub, &open, error) < 0) bench_die("%s", error);
    const TfyLoopsOpen ours = {
        .program = &tfyg_program, .options = {.quiet = true, .stay = true}, .hub = hub, .count = count};
    if (tfy__loops_open(&loops, &ours, error) < 0) bench_die("%s", error);
    if (pthread_create(&waiting, NULL, drain_at_end, loops) != 0) bench_die("no thread");
    if (tfy__loops_run(loops) != TFY_E_STATE) bench_die("the run failed");
    const double took = bench_seconds() - begun;
    pthread_join(waiting, NULL);
    tfy__loops_close(loops);
    tfy__hub_cluster_close(hub, true);
    return took;
}

/* ---- a bare client ---- */

static const char bare_payload[] = "{\"tool\":\"look_at\",\"digest\":\"8d71d295eacf0329\",\"value\":7}";

static void ask_bare(TfyPgAsk *ask)
{
    TfyPgResult *result;
    if (tfy__pg_one(&postgres.link, ask, &result) != 0) bench_die("%s", postgres.link.error);
    postgres.link.api->clear(result);
}

static void make_bare(void)
{
    postgres_do(&postgres, "drop table if exists bare");
    postgres_do(&postgres,
                "create table bare(run int8, ts int8, chain int8, step int8, lsn int8, prev int8, task int4, "
                "point int4, type int2, v int2, payload text, primary key(run, lsn))");
}

/* Commits a second, of one row each. */
static double bare_commits(int count)
{
    make_bare();
    const double begun = bench_seconds();
    for (int i = 0; i < count; i++) {
        TfyPgAsk ask;
        tfy__pg_ask_text(&ask, "INSERT INTO bare VALUES (1, 1, 1, 1, $1, 1, 1, 1, 1, 1, $2)", "insert");
        tfy__pg_ask_word(&ask, i);
        tfy__pg_ask_bytes(&ask, bare_payload, sizeof bare_payload - 1, TFY_PG_TEXT);
        ask_bare(&ask);
    }
    return count / (bench_seconds() - begun);
}

/* Rows a second, by a thousand in each commit. */
static double bare_rows(int count)
{
    TfyPgColumn lsn = {0}, payload = {0};
    make_bare();
    const double begun = bench_seconds();
    for (int i = 0; i < count; i += BY) {
        TfyPgAsk ask;
        tfy__pg_column_start(&lsn, TFY_PG_I8);
        tfy__pg_column_start(&payload, TFY_PG_TEXT);
        for (int k = 0; k < BY; k++) {
            tfy__pg_column_word(&lsn, TFY_PG_I8, i + k);
            tfy__pg_column_bytes(&payload, bare_payload, sizeof bare_payload - 1);
        }
        tfy__pg_ask_text(
            &ask,
            "INSERT INTO bare SELECT n / 14, 1, 1, 1, n, 1, 1, 1, 1, 1, t FROM unnest($1::int8[], $2::text[]) u(n, t)",
            "insert");
        if (!tfy__pg_ask_column(&ask, &lsn) || !tfy__pg_ask_column(&ask, &payload)) bench_die("no memory");
        ask_bare(&ask);
    }
    const double took = bench_seconds() - begun;
    tfy__pg_column_free(&lsn);
    tfy__pg_column_free(&payload);
    return count / took;
}

/* Records a second that a session appends to a run of its own, by so many in each commit. */
static double append(int by, int commits)
{
    static TfyLogRecord rows[BY];
    const TfyLogRecord *puts[BY];
    char error[TFY_ERROR_TEXT];
    int64_t lease_ms;
    TfyStore *store;
    TfyClaimed claimed;
    submit("look", 1);
    const int64_t session = sender->ops->open_session(sender, &(TfyNewSession){.worker = "bench"}, &lease_ms);
    if (sender->ops->claim(sender, session, queue, false, &claimed, 1) != 1) bench_die("%s", sender->error);
    if (join(NULL, session, lease_ms, &store, error) < 0) bench_die("%s", error);
    const double begun = bench_seconds();
    for (int i = 0, code = 0; i < commits; i++) {
        for (int k = 0; k < by; k++) {
            rows[k] = (TfyLogRecord){.run = claimed.run,
                                     .lsn = 2 + i * by + k,
                                     .tid = 1,
                                     .v = 1,
                                     .type = TFY_R_STEP_START,
                                     .step = 1,
                                     .payload = bare_payload,
                                     .payload_len = sizeof bare_payload - 1};
            puts[k] = &rows[k];
        }
        code = store->ops->begin(store, &(TfyStoreHold){session, i + 1});
        if (!code) code = store->ops->put_records(store, puts, (uint32_t)by);
        if (!code) code = store->ops->commit(store);
        if (code) bench_die("%s", store->error);
    }
    const double took = bench_seconds() - begun;
    store->ops->close(store, true);
    return by * commits / took;
}

/* ---- the figures ---- */

static void measure_append(void)
{
    double alone[BENCH_ROUNDS], many[BENCH_ROUNDS];
    begin();
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        const double commits = bare_commits(STEPS), ours = append(1, STEPS);
        const double rows = bare_rows(10 * RUNS), our_rows = append(BY, 10 * RUNS / BY);
        fprintf(stderr, "appended one by one: %.0f/s, bare: %.0f/s; by thousands: %.0f/s, bare: %.0f/s\n", ours,
                commits, our_rows, rows);
        alone[round] = ours / commits;
        many[round] = our_rows / rows;
    }
    end();
    bench_report("records appended one by one under a lease, against bare single commits (share of their rate)",
                 bench_median(alone), ">=", 0.8);
    bench_report("records appended by thousands under a lease, against bare rows by thousands (share of their rate)",
                 bench_median(many), ">=", 0.5);
}

static void measure_sequence(void)
{
    double ratios[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        begin();
        submit("keep", STEPS);
        const double bare = bare_commits(STEPS), ours = STEPS / execute(1);
        fprintf(stderr, "once steps of one run: %.0f/s, bare commits: %.0f/s\n", ours, bare);
        ratios[round] = ours / bare;
        end();
    }
    bench_report("once steps of one run in PostgreSQL, against bare single commits (share of their rate)",
                 bench_median(ratios), ">=", 0.8);
}

static void measure_crowd(void)
{
    double ratios[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        begin();
        for (int i = 0; i < RUNS; i++) submit("look", 10);
        const double bare = bare_rows(10 * RUNS), ours = 10 * RUNS / execute(1);
        fprintf(stderr, "steps of 10,000 runs: %.0f/s, bare rows by thousands: %.0f/s\n", ours, bare);
        ratios[round] = ours / bare;
        end();
    }
    bench_report("pure steps of 10,000 runs in PostgreSQL, against bare rows by thousands (share of their rate)",
                 bench_median(ratios), ">=", 0.35);
}

/* ---- several loops ---- */

static volatile int64_t spun[2]; /* so that it is done */

static void *spin(void *at)
{
    int64_t x = 0;
    for (int64_t i = 0; i < SPINS; i++) x = (x * 31 + i) % 65537;
    *(volatile int64_t *)at = x;
    return NULL;
}

/* How much more two threads do than one, on this machine as busy as it is. */
static double bare_gain(void)
{
    pthread_t other;
    double begun = bench_seconds();
    spin((void *)&spun[0]);
    const double alone = bench_seconds() - begun;
    begun = bench_seconds();
    if (pthread_create(&other, NULL, spin, (void *)&spun[1]) != 0) bench_die("no thread");
    spin((void *)&spun[0]);
    pthread_join(other, NULL);
    return 2 * alone / (bench_seconds() - begun);
}

static double cpu_seconds(void)
{
    return bench_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* Steps a second by so many loops; *cpu: microseconds of this process, without the server, for each step. */
static double steps_by(uint32_t loops, const char *workflow, int runs, int steps, double *cpu)
{
    begin();
    for (int i = 0; i < runs; i++) submit(workflow, steps);
    const double used = cpu_seconds(), took = execute(loops);
    *cpu = (cpu_seconds() - used) / runs / steps * 1e6;
    end();
    return runs * steps / took;
}

typedef struct Gain {
    double rate; /* of two loops against one, as a share of what two bare threads gain */
    double cpu;  /* what a step costs the process, by two loops against one */
} Gain;

static Gain gain(const char *workflow, int runs, int steps)
{
    double rates[BENCH_ROUNDS], costs[BENCH_ROUNDS];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        double cpu, cpus;
        const double bare = bare_gain(), one = steps_by(1, workflow, runs, steps, &cpu),
                     two = steps_by(2, workflow, runs, steps, &cpus);
        fprintf(stderr,
                "%s: one loop: %.0f steps/s (%.1f us of its processor each), two: %.0f/s (%.1f us), two bare threads "
                "gain %.2f\n",
                workflow, one, cpu, two, cpus, bare);
        rates[round] = two / one / bare;
        costs[round] = cpus / cpu;
    }
    return (Gain){bench_median(rates), bench_median(costs)};
}

/* Plain steps are as fast as the server commits, whoever makes them, so only what they cost is compared. */
static void measure_threads(void)
{
    const Gain reckon = gain("reckon", 80, 200), look = gain("look", RUNS / 10, 10);
    bench_report("steps that compute by two loops, against one (share of what a second bare thread adds)", reckon.rate,
                 ">=", 0.9);
    bench_report("processor time of a plain step by two loops, against one", look.cpu, "<=", 1.3);
}

/* ---- mail ---- */

/* A loop in a thread of its own, until it is drained. */
static void *run_loop(void *loop)
{
    if (tfy_run(loop) != TFY_E_STATE) bench_die("the run failed");
    return NULL;
}

static int see_verdict(void *given, const TfyMail *mail)
{
    *(bool *)given = mail->verdict;
    return 0;
}

/* Milliseconds from when something is sent to a run until its owner's verdict is in the database. */
static double mail_ms(int64_t run)
{
    bool given = false;
    int64_t owner;
    const TfyMail mail = {.run = run, .body = "{\"do\":\"signal\",\"name\":\"none\"}", .sender = "bench"};
    const double begun = bench_seconds();
    const int64_t n = sender->ops->mail(sender, &mail, &owner);
    if (n <= 0) bench_die("%s", sender->error);
    sender->ops->notify(sender, run);
    while (!given) sender->ops->see_mail(sender, run, n - 1, false, see_verdict, &given);
    return (bench_seconds() - begun) * 1e3;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void measure_mail(void)
{
    static double took[MAILS];
    TfyHub *hub;
    TfyLoop *loop;
    pthread_t thread;
    char error[TFY_ERROR_TEXT] = "";
    begin();
    const int64_t run = submit("stay", 1000000);
    const TfyHubOpen open = {.cluster = reach(), .join = join, .session = {.worker = "bench"}};
    if (tfy__hub_cluster_open(&hub, &open, error) < 0) bench_die("%s", error);
    if (tfy_open(&loop, &tfyg_program, &(TfyOptions){.hub = hub, .quiet = true, .stay = true}, error) < 0)
        bench_die("%s", error);
    if (pthread_create(&thread, NULL, run_loop, loop) != 0) bench_die("no thread");
    while (!postgres_number(&postgres, "select count(*) from tfy.run where owner is not null")) usleep(10000);
    for (int i = 0; i < MAILS; i++) {
        took[i] = mail_ms(run);
        usleep((useconds_t)(i * 7919 % 50000)); /* at any time between two looks */
    }
    tfy_drain(loop, 0);
    pthread_join(thread, NULL);
    tfy_close(loop);
    tfy__hub_cluster_close(hub, true);
    end();
    qsort(took, MAILS, sizeof *took, by_size);
    bench_report("milliseconds from sending to a run to its owner's verdict (half of them)", took[MAILS / 2], "<=", 20);
    bench_report("milliseconds from sending to a run to its owner's verdict (99 of 100)", took[MAILS * 99 / 100],
                 "<=", 1200);
}

static void measure_claims(void)
{
    TfyClaimed claimed[AT_A_TIME];
    int64_t lease_ms;
    int count = 0;
    begin();
    postgres_do(&postgres,
                "insert into tfy.run(uuid, program, queue, rank, state, root, started, sum) "
                "select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, %lld, %lld, n, 1, 1, 1, 0 "
                "from generate_series(1, %d) n",
                (long long)program, (long long)queue, CLAIMS);
    const int64_t session = sender->ops->open_session(sender, &(TfyNewSession){.worker = "bench"}, &lease_ms);
    const double begun = bench_seconds();
    for (int got = 1; got > 0; count += got) {
        got = sender->ops->claim(sender, session, queue, false, claimed, AT_A_TIME);
        if (got < 0) bench_die("%s", sender->error);
    }
    bench_report("runs a second that one worker claims, 256 at a time", count / (bench_seconds() - begun), ">=", 20000);
    end();
}

/* bench_cluster [NAME…]: only these. */
int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(void);
    } figures[] = {{"append", measure_append}, {"sequence", measure_sequence}, {"crowd", measure_crowd},
                   {"claims", measure_claims}, {"mail", measure_mail},         {"threads", measure_threads}};
    postgres.syncs = true;
    if (!postgres_make(&postgres)) {
        fprintf(stderr, "bench: PostgreSQL is not installed; its figures are left out\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bool wanted = argc == 1;
        for (int j = 1; j < argc; j++) wanted |= strcmp(argv[j], figures[i].name) == 0;
        if (wanted) figures[i].measure();
    }
    postgres_remove(&postgres);
    return 0;
}

/* hub_cluster.c: processes that work on one database of PostgreSQL: a hub with its thread and a loop in each. They are killed and
 * stopped in the middle, and what was submitted and sent to runs is done once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "postgres.h"

#include "base/kill_point.h"
#include "core/loop/state.h"
#include "hub/ending.h"
#include "host/loops.h"
#include "hub/hub_cluster.h"
#include "wal/history/history.h"
#include "wal/store/pg_cluster.h"

extern const TfyProgram tfyg_program;

enum { LEASE_MS = 10000, SHORT_LEASE_MS = 3000, WORKERS = 3, THREADS = 2, LEDGER_MOST = 4096, PATIENCE_MS = 120000 };

/* What the tools of all processes have done: one line each, and whose. */
typedef struct Ledger {
    _Atomic int count;
    struct {
        pid_t worker;
        char key[TFY_KEY_SIZE];
    } lines[LEDGER_MOST];
} Ledger;

static Ledger *ledger; /* shared with the children */
static Postgres postgres, standby;
static char address[300]; /* of the workers: all hosts of the database */

/* ---- a worker ---- */

/* The performer below stands for it. */
bool job(TfyTask *task, int64_t n, int64_t *out);
bool job(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task, (void)n, (void)out;
    abort();
}

static void start_job(TfyCall *call)
{
    const int at = ledger->count++;
    if (at < LEDGER_MOST) {
        ledger->lines[at].worker = getpid();
        snprintf(ledger->lines[at].key, TFY_KEY_SIZE, "%s", call->key);
    }
    tfy__call_done(call, call->args[0]);
}

static void abort_job(TfyCall *call)
{
    (void)call;
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

static int join(void *state, int64_t session, int64_t lease_ms, TfyStore **store, char *error_text)
{
    (void)state;
    const TfyPgOpen open = {.address = address, .session = session, .lease_ms = lease_ms};
    return tfy__pg_open(store, &open, error_text);
}

static TfyHub *open_hub(const char *name, uint32_t loops)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHub *hub;
    TfyHubOpen open = {.join = join, .session = {.worker = name}, .leased = true, .loops = loops};
    if (tfy__pg_cluster_open(&open.cluster, &(TfyPgOpen){.address = address}, error) < 0 ||
        tfy__hub_cluster_open(&hub, &open, error) < 0) {
        fprintf(stderr, "worker: %s\n", error);
        _exit(70);
    }
    return hub;
}

static TfyLoop *drained;

static void on_term(int signal)
{
    (void)signal;
    tfy_drain(drained, 0);
}

/* Until SIGTERM. */
_Noreturn static void work(int number)
{
    char name[20], error[TFY_ERROR_TEXT] = "";
    TfyLoop *loop;
    snprintf(name, sizeof name, "w%d", number);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    TfyHub *hub = open_hub(name, 1);
    const TfyOptions options = {.quiet = true, .stay = true, .park_after_ms = 50, .hub = hub};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) {
        fprintf(stderr, "%s: %s\n", name, error);
        _exit(71);
    }
    loop->performers[TFY_F_EXTERN] = &jobs;
    drained = loop;
    signal(SIGTERM, on_term);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    const int code = tfy_run(loop);
    if (code < 0 && code != TFY_E_STATE) fprintf(stderr, "%s: %s\n", name, tfy__failure(loop));
    tfy_close(loop);
    tfy__hub_cluster_close(hub, true);
    _exit(code == TFY_E_STATE ? 0 : 75);
}

static void give_tools(void *state, TfyLoop *loop)
{
    (void)state;
    loop->performers[TFY_F_EXTERN] = &jobs;
}

static _Atomic(TfyLoops *) drained_loops;

static void on_term_of_loops(int signal)
{
    (void)signal;
    tfy__loops_drain(drained_loops, 0);
}

static void await_term(void)
{
    sigset_t term;
    signal(SIGTERM, on_term_of_loops);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
}

/* The same in two threads; kill: TFY_TEST_KILL, or NULL. */
_Noreturn static void work_in_threads(int number, const char *kill)
{
    char name[20], error[TFY_ERROR_TEXT] = "";
    TfyLoops *loops;
    snprintf(name, sizeof name, "w%d", number);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (kill) setenv("TFY_TEST_KILL", kill, 1);
    tfy__kill_arm();
    const TfyLoopsOpen open = {.program = &tfyg_program,
                               .options = {.quiet = true, .stay = true, .park_after_ms = 50},
                               .hub = open_hub(name, THREADS),
                               .count = THREADS,
                               .opened = give_tools};
    if (tfy__loops_open(&loops, &open, error) < 0) {
        fprintf(stderr, "%s: %s\n", name, error);
        _exit(71);
    }
    drained_loops = loops;
    await_term();
    const int code = tfy__loops_run(loops);
    signal(SIGTERM, SIG_IGN);
    tfy__loops_close(loops);
    tfy__hub_cluster_close(open.hub, true);
    exit(code == TFY_E_STATE ? 0 : 75); /* the thread sanitizer reports here */
}

static pid_t begin_threads(int number, const char *kill)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    const pid_t pid = fork();
    if (pid == 0) work_in_threads(number, kill);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    assert_true(pid > 0);
    return pid;
}

/* SIGTERM waits until it is handled. */
static pid_t begin_worker(int number)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    const pid_t pid = fork();
    if (pid == 0) work(number);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    assert_true(pid > 0);
    return pid;
}

static int end_worker(pid_t pid, int with)
{
    int status;
    kill(pid, with);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- a sender ---- */

static TfyCluster *sender;
static int64_t queue;

static void deploy(int64_t lease)
{
    char error[TFY_ERROR_TEXT];
    int64_t lease_ms;
    TfyStoreProgram program = {.tfyc = tfyg_program.tfyc, .source = tfyg_program.source, .layout = tfyg_program.layout};
    memcpy(program.hash, tfyg_program.hash, sizeof program.hash);
    if (tfy__pg_cluster_open(&sender, &(TfyPgOpen){.address = postgres.address}, error) < 0) fail_msg("%s", error);
    const int64_t session = sender->ops->open_session(sender, &(TfyNewSession){.worker = "sender"}, &lease_ms);
    assert_true(session > 0);
    assert_int_equal(lease_ms, lease);
    assert_int_equal(
        sender->ops->end_session(sender, &(TfySessionEnd){.session = session, .why = "it is done", .in_order = true}),
        1);
    assert_int_equal(sender->ops->keep_program(sender, &program), 1);
    queue = sender->ops->queue(sender, "default", 1);
    assert_true(queue > 0);
}

static int64_t submit(const char *workflow, const char *args)
{
    static uint16_t number;
    char birth[300], uuid[37];
    number++;
    TfyLogRun row = {.uuid = {1, 2, 3, 4, [14] = (uint8_t)(number >> 8), [15] = (uint8_t)number},
                     .root = 1,
                     .program = 1,
                     .started_ms = 1700000000000};
    tfy__uuid_text(row.uuid, uuid);
    snprintf(birth, sizeof birth,
             "{\"run\":\"%s\",\"tid\":1,\"path\":\"1\",\"workflow\":\"%s\",\"args\":%s,\"seed\":\"%016x\",\"fuel\":%d}",
             uuid, workflow, args, number, (int)TFY_FUEL_SLICE);
    const int64_t id = sender->ops->submit(sender, queue, &row, birth);
    if (id <= 0) fail_msg("%s", sender->error);
    return id;
}

static int64_t post(int64_t run, const char *id, const char *body)
{
    int64_t owner;
    const int64_t n =
        sender->ops->mail(sender, &(TfyMail){.run = run, .body = body, .id = id, .sender = "bea"}, &owner);
    if (n < 0) fail_msg("%s", sender->error);
    return n;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Waits until the statement, which counts something, says at least so much. */
static void await_count(const char *select, int64_t wanted)
{
    const int64_t until_ms = now_ms() + PATIENCE_MS;
    int64_t count = 0;
    while ((count = postgres_number(&postgres, "%s", select)) < wanted && now_ms() < until_ms) poll(NULL, 0, 50);
    if (count < wanted) fail_msg("%s: %d, not %d", select, (int)count, (int)wanted);
}

static void await_ends(int64_t count)
{
    await_count("SELECT count(*) FROM tfy.run WHERE state >= 12", count);
}

static const char *verdict(int64_t run, int64_t n)
{
    static char said[600];
    postgres_do(&postgres, "SELECT 1");
    if (!postgres_try(&postgres, said, sizeof said,
                      "SELECT coalesce(verdict, '-') FROM tfy.inbox WHERE run=%d AND n=%d", (int)run, (int)n))
        fail_msg("%s", postgres.link.error);
    return said;
}

static void await_verdict(int64_t run, int64_t n, const char *wanted)
{
    const int64_t until_ms = now_ms() + PATIENCE_MS;
    while (strcmp(verdict(run, n), "-") == 0 && now_ms() < until_ms) poll(NULL, 0, 20);
    assert_string_equal(verdict(run, n), wanted);
}

/* ---- what the log says ---- */

/* Each run is one chain, begins with its owner's claim, has ended well, and no step's result is there twice. */
static void check_histories(int64_t runs, const char *value)
{
    TfyLog *log;
    char error[TFY_ERROR_TEXT] = "", which[24];
    TfyStore *store;
    if (tfy__pg_open(&store, &(TfyPgOpen){.address = postgres.address}, error) < 0) fail_msg("%s", error);
    const TfyLogOptions options = {.store = store, .read_only = true};
    if (tfy__log_open(&log, &options, error) < 0) fail_msg("%s", error);
    for (int64_t id = 1; id <= runs; id++) {
        TfyHistory *history;
        int64_t claims = 0;
        snprintf(which, sizeof which, "%d", (int)id);
        if (tfy__history_read(log, which, &history, error) < 0) fail_msg("run %s: %s", which, error);
        assert_int_equal(history->run.state, TFY_TASK_COMPLETED);
        for (uint32_t i = 0; i < history->record_count; i++) {
            const TfyLogRecord *record = &history->records[i];
            assert_int_equal(record->lsn, i + 1);
            if (record->type == TFY_R_CLAIMED) {
                assert_true(tfy__record_int(record, TFY_P_CLAIMS) > claims);
                claims = tfy__record_int(record, TFY_P_CLAIMS);
            }
            for (uint32_t j = 0; record->type == TFY_R_TOOL_RESULT && j < i; j++)
                assert_false(history->records[j].type == TFY_R_TOOL_RESULT && history->records[j].step == record->step);
        }
        assert_int_equal(history->records[1].type, TFY_R_CLAIMED);
        if (value) assert_non_null(strstr(history->records[history->record_count - 1].payload, value));
        tfy__history_free(history);
    }
    tfy__log_close(log, false);
}

/* A `once` step began once, whatever happened to its worker; or a person said what became of it. */
static void check_ledger(void)
{
    for (int i = 0; i < ledger->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(ledger->lines[i].key, ledger->lines[j].key) == 0)
                fail_msg("step %s began in %d and in %d", ledger->lines[i].key, ledger->lines[j].worker,
                         ledger->lines[i].worker);
}

/* Resolves what kills left in doubt: the tool is known to have done it. */
static void resolve_doubts(int64_t runs)
{
    const int64_t until_ms = now_ms() + PATIENCE_MS;
    while (postgres_number(&postgres, "SELECT count(*) FROM tfy.run WHERE state >= 12") < runs && now_ms() < until_ms) {
        for (int64_t run = 1; run <= runs; run++) {
            char body[200], said[40];
            if (!postgres_try(
                    &postgres, said, sizeof said,
                    "SELECT r.step::text FROM tfy.record r JOIN tfy.run u ON u.id = r.run WHERE r.run = %d AND"
                    " r.type = %d AND u.state < 12 AND NOT EXISTS (SELECT 1 FROM tfy.record o WHERE"
                    " o.run = r.run AND o.step = r.step AND o.type = %d)",
                    (int)run, TFY_R_IN_DOUBT, TFY_R_RESOLVED))
                fail_msg("%s", postgres.link.error);
            if (!*said) continue;
            char id[60];
            snprintf(id, sizeof id, "resolve-%s", said);
            snprintf(body, sizeof body, "{\"do\":\"resolve\",\"how\":\"done\",\"value\":0,\"step\":%s}", said);
            post(run, id, body);
        }
        poll(NULL, 0, 100);
    }
}

/* ---- the tests ---- */

static int set_up_for(int64_t lease)
{
    if (!postgres.directory[0]) return 0;
    assert_true(postgres_fresh(&postgres, &(TfyPgMake){.lease_ms = lease}));
    snprintf(address, sizeof address, "%s", postgres.address);
    memset(ledger, 0, sizeof *ledger);
    deploy(lease);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_for(LEASE_MS);
}

static int set_up_short(void **state)
{
    (void)state;
    return set_up_for(SHORT_LEASE_MS);
}

static int tear_down(void **state)
{
    (void)state;
    if (postgres.directory[0]) sender->ops->close(sender);
    return 0;
}

static void test_three_workers_share_the_runs(void **state)
{
    enum { RUNS = 60 };
    pid_t workers[WORKERS];
    (void)state;
    if (!postgres.directory[0]) skip();
    for (int i = 0; i < RUNS; i++) submit("works", "{\"rounds\":3}");
    for (int i = 0; i < WORKERS; i++) workers[i] = begin_worker(i);
    await_ends(RUNS);
    for (int i = 0; i < WORKERS; i++) assert_int_equal(end_worker(workers[i], SIGTERM), 0);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.session WHERE state = 0"), 0);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.run WHERE owner IS NOT NULL"), 0);
    assert_int_equal(ledger->count, RUNS * 3);
    check_ledger();
    check_histories(RUNS, "\"value\":3");
}

static void test_mail_finds_its_run(void **state)
{
    (void)state;
    if (!postgres.directory[0]) skip();
    const int64_t run = submit("counts", "{\"most\":5}"), asks = submit("asks", "{}");
    const pid_t one = begin_worker(1), other = begin_worker(2);
    for (int i = 1; i <= 5; i++) {
        char body[100], id[16];
        snprintf(body, sizeof body, "{\"do\":\"signal\",\"name\":\"tick\",\"value\":%d}", i);
        snprintf(id, sizeof id, "s%d", i);
        assert_int_equal(post(run, id, body), i);
        assert_int_equal(post(run, id, body), i);
        if (i == 3) await_verdict(run, 3, "taken");
        if (i == 3) poll(NULL, 0, 300); /* by now it has left */
    }
    const int64_t until_ms = now_ms() + PATIENCE_MS;
    while (!postgres_number(&postgres, "SELECT count(*) FROM tfy.record WHERE run = %d AND type = %d", (int)asks,
                            TFY_R_STEP_START) &&
           now_ms() < until_ms)
        poll(NULL, 0, 20);
    assert_int_equal(post(asks, NULL, "{\"do\":\"approve\",\"answer\":\"left\"}"), 1);
    await_ends(2);
    for (int i = 1; i <= 5; i++) assert_string_equal(verdict(run, i), "taken");
    assert_string_equal(verdict(asks, 1), "taken");
    assert_int_equal(end_worker(one, SIGTERM), 0);
    assert_int_equal(end_worker(other, SIGTERM), 0);
    check_histories(1, "\"value\":12345");
}

/* Workers are killed, or stopped for longer than their lease, again and again. */
static void test_killed_and_stopped_workers(void **state)
{
    enum { RUNS = 40, ROUNDS = 4 };
    pid_t workers[WORKERS];
    (void)state;
    if (!postgres.directory[0]) skip();
    for (int i = 0; i < RUNS; i++) submit("works", "{\"rounds\":60}");
    for (int i = 0; i < WORKERS; i++) workers[i] = begin_worker(i);
    for (int round = 0; round < ROUNDS; round++) {
        const int victim = round % WORKERS;
        poll(NULL, 0, 700);
        if (round % 2) {
            kill(workers[victim], SIGSTOP); /* its timer kills it at the deadline */
            int status;
            assert_int_equal(waitpid(workers[victim], &status, 0), workers[victim]);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        } else {
            assert_int_equal(end_worker(workers[victim], SIGKILL), 128 + SIGKILL);
        }
        workers[victim] = begin_worker(WORKERS + round);
    }
    resolve_doubts(RUNS);
    await_ends(RUNS);
    await_count("SELECT count(*) FROM tfy.session WHERE why LIKE 'it committed nothing%'", ROUNDS);
    for (int i = 0; i < WORKERS; i++) { /* a machine that stalls loses a short lease */
        const int status = end_worker(workers[i], SIGTERM);
        assert_true(status == 0 || status == 128 + SIGKILL);
    }
    assert_true(postgres_number(&postgres,
                                "SELECT count(*) FROM tfy.session WHERE why LIKE 'it committed nothing%%'") >= ROUNDS);
    check_ledger();
    check_histories(RUNS, NULL);
}

/* ---- several loops ---- */

/* Two processes of two loops share the runs, which get mail meanwhile. */
static void test_threads_share_the_runs(void **state)
{
    enum { RUNS = 60, HEARING = 10 };
    (void)state;
    if (!postgres.directory[0]) skip();
    for (int i = 0; i < RUNS; i++) submit("works", "{\"rounds\":3}");
    for (int i = 0; i < HEARING; i++) submit("counts", "{\"most\":3}");
    const pid_t one = begin_threads(1, NULL), other = begin_threads(2, NULL);
    for (int i = 0; i < 3 * HEARING; i++) {
        char body[100];
        snprintf(body, sizeof body, "{\"do\":\"signal\",\"name\":\"tick\",\"value\":%d}", i / HEARING + 1);
        assert_int_equal(post(RUNS + 1 + i % HEARING, NULL, body), i / HEARING + 1);
    }
    await_ends(RUNS + HEARING);
    assert_int_equal(end_worker(one, SIGTERM), 0);
    assert_int_equal(end_worker(other, SIGTERM), 0);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.session WHERE state = 0"), 0);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.run WHERE owner IS NOT NULL"), 0);
    assert_int_equal(ledger->count, RUNS * 3);
    check_ledger();
    check_histories(RUNS, "\"value\":3");
    assert_int_equal(
        postgres_number(&postgres, "SELECT count(DISTINCT run) FROM tfy.record WHERE payload LIKE '%%\"value\":123%%'"),
        HEARING);
}

/* The process is killed before and behind each of its first commits, and the next one does what is left. */
static void test_threads_are_killed_at_commits(void **state)
{
    enum { RUNS = 4, COMMITS = 5 };
    int64_t runs = 0;
    (void)state;
    if (!postgres.directory[0]) skip();
    for (int i = 0; i < 2 * COMMITS; i++) {
        char place[20];
        int status;
        snprintf(place, sizeof place, "%s:%d", i % 2 ? "after" : "before", i / 2 + 1);
        for (int j = 0; j < RUNS; j++) submit("works", "{\"rounds\":4}");
        runs += RUNS;
        const pid_t killed = begin_threads(2 * i, place);
        assert_int_equal(waitpid(killed, &status, 0), killed);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        const int64_t session = postgres_number(&postgres, "SELECT max(id) FROM tfy.session");
        const TfySessionEnd end = {.session = session, .why = "its process was killed"};
        assert_int_equal(tfy__end_finished(sender, &end), 1); /* as its worker does */
        const pid_t next = begin_threads(2 * i + 1, NULL);
        resolve_doubts(runs);
        await_ends(runs);
        assert_int_equal(end_worker(next, SIGTERM), 0);
    }
    check_ledger();
    check_histories(runs, NULL);
}

/* ---- standbys ---- */

/* A setting of the server, at once. */
static void set_up_server(const char *setting)
{
    postgres_do(&postgres, "ALTER SYSTEM SET %s", setting);
    postgres_do(&postgres, "SELECT pg_reload_conf()");
}

static int try_hub(char *error)
{
    TfyHub *hub = NULL;
    TfyHubOpen open = {.join = join, .session = {.worker = "w"}};
    if (tfy__pg_cluster_open(&open.cluster, &(TfyPgOpen){.address = address}, error) < 0) fail_msg("%s", error);
    const int code = tfy__hub_cluster_open(&hub, &open, error);
    tfy__hub_cluster_close(hub, true);
    return code;
}

static void follow(void)
{
    assert_true(postgres_follow(&standby, &postgres));
    await_count("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", 1);
}

/* Nobody works on a database that would forget what it has acknowledged, unless it was made so. */
static void test_an_asynchronous_standby(void **state)
{
    char error[TFY_ERROR_TEXT] = "";
    (void)state;
    if (!postgres.directory[0]) skip();
    follow();
    assert_int_equal(try_hub(error), TFY_E_IO);
    assert_non_null(strstr(error, "synchronous_standby_names"));
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.session WHERE worker = 'w'"), 0);
    postgres_do(&postgres, "UPDATE tfy.meta SET lossy = true");
    assert_int_equal(try_hub(error), 0);
    postgres_do(&postgres, "UPDATE tfy.meta SET lossy = false");
    set_up_server("synchronous_standby_names = '*'");
    poll(NULL, 0, 200);
    assert_int_equal(try_hub(error), 0);
    set_up_server("synchronous_standby_names = ''");
    postgres_remove(&standby);
}

/* The primary crashes in the middle, and its synchronous standby takes over: the sessions go on there, and nothing is lost. */
static void test_a_standby_takes_over(void **state)
{
    enum { RUNS = 20 };
    pid_t workers[WORKERS];
    char name[40];
    (void)state;
    if (!postgres.directory[0]) skip();
    follow();
    set_up_server("synchronous_standby_names = '*'");
    sscanf(postgres.address, "postgresql:///%39[^?]", name);
    snprintf(address, sizeof address, "postgresql:///%s?host=%s,%s&user=tfy", name, postgres.directory,
             standby.directory);
    for (int i = 0; i < RUNS; i++) submit("works", "{\"rounds\":60}");
    for (int i = 0; i < WORKERS; i++) workers[i] = begin_worker(i);
    await_count("SELECT count(*) FROM tfy.record", RUNS * 40);
    const int64_t sessions = postgres_number(&postgres, "SELECT count(*) FROM tfy.session WHERE state = 0");
    const int64_t records = postgres_number(&postgres, "SELECT count(*) FROM tfy.record");
    postgres_stop(&postgres, SIGQUIT);
    sender->ops->close(sender);
    assert_true(postgres_promote(&standby));
    assert_true(postgres_link(&standby, name));
    tfy__pg_link_free(&postgres.link);
    tfy__pg_address_free(&postgres.parsed);
    Postgres dead = postgres;
    dead.link = (TfyPgLink){0};
    dead.parsed = (TfyPgAddress){0};
    postgres = standby;
    postgres.link.address = &postgres.parsed;
    char error[TFY_ERROR_TEXT];
    if (tfy__pg_cluster_open(&sender, &(TfyPgOpen){.address = postgres.address}, error) < 0) fail_msg("%s", error);
    set_up_server("synchronous_standby_names = ''");
    assert_true(postgres_number(&postgres, "SELECT count(*) FROM tfy.record") >= records);
    await_ends(RUNS);
    assert_int_equal(postgres_number(&postgres, "SELECT count(*) FROM tfy.session WHERE state = 0"), sessions);
    for (int i = 0; i < WORKERS; i++) assert_int_equal(end_worker(workers[i], SIGTERM), 0);
    assert_int_equal(ledger->count, RUNS * 60); /* no step was in doubt */
    check_ledger();
    check_histories(RUNS, NULL);
    standby = dead;
    postgres_remove(&standby);
}

static int begin(void **state)
{
    (void)state;
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ledger == MAP_FAILED) return -1;
    postgres_make(&postgres);
    return 0;
}

static int end(void **state)
{
    (void)state;
    postgres_remove(&standby);
    postgres_remove(&postgres);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_standby_takes_over),
        TEST(test_an_asynchronous_standby),
        TEST(test_three_workers_share_the_runs),
        TEST(test_mail_finds_its_run),
        TEST(test_threads_share_the_runs),
        TEST(test_threads_are_killed_at_commits),
        cmocka_unit_test_setup_teardown(test_killed_and_stopped_workers, set_up_short, tear_down),
    };
    return cmocka_run_group_tests_name("hub_cluster", tests, begin, end);
}

/* core_claim.c: loops of several sessions at one database in memory: runs are claimed, left and taken up elsewhere, also when
 * a session ends in the middle, its commits get lost, or something arrives while a run leaves. Time is virtual. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/loop/state.h"
#include "hub/hub_memory.h"
#include "wal/history/history.h"
#include "wal/log/log_state.h"

extern const TfyProgram tfyg_program;

#define HOUR  INT64_C(3600000)
#define BEGIN INT64_C(1700000000000)

enum { WORKERS = 3, RUNS = 8, LEASE_MS = 3000, PARK_MS = 50 };

static int jobs_done;

bool job(TfyTask *task, int64_t n, int64_t *out);
bool job(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task;
    jobs_done++;
    *out = n;
    return true;
}

/* Performers do these instead. */
bool post(TfyTask *task, int64_t n, TfyString **out);
bool post(TfyTask *task, int64_t n, TfyString **out)
{
    (void)task, (void)n;
    *out = NULL;
    return true;
}

bool posted(TfyTask *task, int64_t n, const TfyString *key, TfyString **out);
bool posted(TfyTask *task, int64_t n, const TfyString *key, TfyString **out)
{
    (void)key;
    return post(task, n, out);
}

/* Of `post`, whose first call never ends, and its probe, which says that it was not done. */
static int posts_begun, claims_when_asked;
static int claims_in_log(void);

static bool start_post(TfyCall *call)
{
    const bool probes = strcmp(call->tool->name, "posted") == 0;
    if (!probes && strcmp(call->tool->name, "post") != 0) return false;
    if (probes) claims_when_asked = claims_in_log();
    if (probes || posts_begun++) tfy__call_done(call, tfy_of_obj(probes ? NULL : tfy_string_of(call->task, "done", 4)));
    return true;
}

static void start_job(TfyCall *call)
{
    if (start_post(call)) return;
    jobs_done++;
    tfy__call_done(call, call->args[0]);
}

static void abort_job(TfyCall *call)
{
    (void)call;
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

/* ---- the database and those who work with it ---- */

typedef struct Worker {
    TfyWorld *world;
    TfyHubMemory hub;
    TfyLoop *loop; /* NULL: it is dead */
} Worker;

typedef struct Cluster {
    TfyShared *shared;
    Worker workers[WORKERS];
    int64_t now_ms; /* since the beginning, of all clocks */
    bool lossy;     /* requests and answers get lost */
    uint64_t seed;
} Cluster;

static uint32_t draw(Cluster *cluster, uint32_t below)
{
    cluster->seed = cluster->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(cluster->seed >> 33) % below;
}

static int64_t database_ms(void *state)
{
    return BEGIN + ((Cluster *)state)->now_ms;
}

static TfySharedFate tell_fate(void *state, const TfyStoreHold *hold)
{
    Cluster *cluster = state;
    (void)hold;
    const uint32_t drawn = cluster->lossy ? draw(cluster, 16) : TFY_FATE_ARRIVES;
    return drawn <= TFY_FATE_ANSWER_IS_LOST ? (TfySharedFate)drawn : TFY_FATE_ARRIVES;
}

/* What a deployment does. */
static void store_program(Cluster *cluster)
{
    TfyStore *store;
    TfyStoreProgram program = {
        .id = 1, .tfyc = tfyg_program.tfyc, .source = tfyg_program.source, .layout = tfyg_program.layout};
    const TfyStoreHold hold = {.session = tfy__shared_open_session(cluster->shared, LEASE_MS), .commit = 1};
    memcpy(program.hash, tfyg_program.hash, sizeof program.hash);
    assert_int_equal(tfy__shared_join(cluster->shared, &store), 0);
    assert_int_equal(store->ops->begin(store, &hold), 0);
    assert_int_equal(store->ops->put_program(store, &program), 0);
    assert_int_equal(store->ops->commit(store), 0);
    store->ops->close(store, true);
    assert_true(tfy__shared_end_session(cluster->shared, hold.session, 1));
}

static void open_worker(Cluster *cluster, Worker *worker)
{
    char error[TFY_ERROR_TEXT] = "";
    const bool lossy = cluster->lossy;
    cluster->lossy = false;
    worker->world = tfy__world_virtual(BEGIN, 7);
    assert_non_null(worker->world);
    worker->world->performers[TFY_F_EXTERN] = &jobs;
    worker->world->writer_by_hand = true;
    worker->world->jump(worker->world->state, cluster->now_ms * 1000000);
    assert_int_equal(tfy__hub_memory_open(&worker->hub, cluster->shared, LEASE_MS, database_ms, cluster), 0);
    const TfyOptions options = {
        .world = worker->world, .quiet = true, .stay = true, .park_after_ms = PARK_MS, .hub = &worker->hub.hub};
    if (tfy_open(&worker->loop, &tfyg_program, &options, error) < 0) fail_msg("%s", error);
    cluster->lossy = lossy;
}

static void close_worker(Worker *worker)
{
    if (!worker->loop) return;
    tfy_close(worker->loop);
    tfy_world_free(worker->world);
    worker->loop = NULL;
}

/* snapshot_every: records from a snapshot to the next. */
static Cluster *open_with(uint64_t seed, const char *snapshot_every)
{
    setenv("TFY_SNAPSHOT_EVERY", snapshot_every, 1); /* exactly, whatever it costs */
    static Cluster cluster;
    cluster = (Cluster){.shared = tfy__shared_new(), .seed = seed};
    cluster.shared->fate = tell_fate;
    cluster.shared->fate_state = &cluster;
    jobs_done = 0;
    store_program(&cluster);
    for (int i = 0; i < WORKERS; i++) open_worker(&cluster, &cluster.workers[i]);
    return &cluster;
}

static int open_cluster(void **state)
{
    *state = open_with(1, "1000");
    return 0;
}

static int close_cluster(void **state)
{
    Cluster *cluster = *state;
    cluster->lossy = false;
    for (int i = 0; i < WORKERS; i++) close_worker(&cluster->workers[i]);
    tfy__shared_free(cluster->shared);
    return 0;
}

static int64_t submit(Cluster *cluster, const char *workflow, const char *args)
{
    static uint8_t number;
    char birth[300], uuid[37];
    TfyLogRun row = {.uuid = {1, 2, 3, 4, [15] = ++number}, .root = 1, .program = 1};
    row.started_ms = database_ms(cluster);
    tfy__uuid_text(row.uuid, uuid);
    snprintf(birth, sizeof birth,
             "{\"run\":\"%s\",\"tid\":1,\"path\":\"1\",\"workflow\":\"%s\",\"args\":%s,\"seed\":\"%016x\",\"fuel\":%d}",
             uuid, workflow, args, number, (int)TFY_FUEL_SLICE);
    const int64_t id = tfy__shared_submit(cluster->shared, &row, birth);
    assert_true(id > 0);
    return id;
}

/* Its number, or a negative code. */
static int64_t send(Cluster *cluster, int64_t run, const char *id, const char *body)
{
    return tfy__shared_send(cluster->shared, &(TfyMail){.run = run, .body = body, .id = id, .sender = "bea"});
}

static const char *verdict(const Cluster *cluster, int64_t run, int64_t n)
{
    const TfyMemoryRows *mails = &tfy__shared_run(cluster->shared, run)->mails;
    assert_in_range(n, 1, mails->count);
    return ((TfyMail *)tfy__rows_at(mails, (size_t)n - 1))->verdict;
}

static int turn(Worker *worker)
{
    const int happened = tfy_step(worker->loop);
    if (happened >= 0) tfy__log_write(tfy__loop_log(worker->loop));
    return happened;
}

/* Turns of one worker, while the clocks go on a little. */
static void work(Cluster *cluster, Worker *worker, int turns)
{
    for (int i = 0; i < turns; i++) {
        const int happened = turn(worker);
        if (happened < 0) fail_msg("%s", tfy__failure(worker->loop));
        cluster->now_ms += 5;
        for (int j = 0; j < WORKERS; j++)
            if (cluster->workers[j].loop)
                cluster->workers[j].world->jump(cluster->workers[j].world->state, cluster->now_ms * 1000000);
    }
}

static const TfySharedRun *row_of(const Cluster *cluster, int64_t id)
{
    return tfy__shared_run(cluster->shared, id);
}

/* Ends a session that does nothing any more, as others do when it has been silent for too long. */
static void end_session(Cluster *cluster, const Worker *worker)
{
    const TfySharedSession *session = tfy__shared_session(cluster->shared, worker->hub.hub.session);
    assert_true(tfy__shared_end_session(cluster->shared, session->id, session->beat));
    tfy__shared_free_runs(cluster->shared, session->id, 1000);
}

/* A run's history as it is in the database: all chains fit, its end has this value, and its steps are there once. */
static void check_history(Cluster *cluster, int64_t id, const char *value)
{
    char which[24], error[TFY_ERROR_TEXT] = "";
    TfyHistory *history;
    snprintf(which, sizeof which, "%lld", (long long)id);
    Worker *worker = cluster->workers;
    while (!worker->loop) worker++;
    if (tfy__history_read(tfy__loop_log(worker->loop), which, &history, error) < 0)
        fail_msg("run %s: %s", which, error);
    assert_int_equal(history->run.state, TFY_TASK_COMPLETED);
    int ends = 0;
    int64_t claims = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        assert_int_equal(record->lsn, i + 1);
        if (record->type == TFY_R_CLAIMED) {
            assert_true(tfy__record_int(record, TFY_P_CLAIMS) > claims);
            claims = tfy__record_int(record, TFY_P_CLAIMS);
        }
        if (record->type == TFY_R_TASK_COMPLETE) ends += strstr(record->payload, value) != NULL;
        for (uint32_t j = 0; record->type == TFY_R_TOOL_RESULT && j < i; j++)
            assert_false(history->records[j].type == TFY_R_TOOL_RESULT && history->records[j].step == record->step &&
                         history->record_tasks[j] == history->record_tasks[i]);
    }
    assert_int_equal(ends, 1);
    assert_int_equal(claims, row_of(cluster, id)->claims);
    assert_int_equal(history->records[1].type, TFY_R_CLAIMED);
    tfy__history_free(history);
}

/* ---- the tests ---- */

static void test_a_run_goes_from_one_to_the_other(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "works", "{\"rounds\":3}");
    for (int i = 0; i < WORKERS; i++) {
        Worker *worker = &cluster->workers[i];
        work(cluster, worker, 100);
        assert_int_equal(jobs_done, i + 1);
        assert_int_equal(row_of(cluster, id)->owner, 0);
        assert_int_equal(row_of(cluster, id)->claims, i + 1);
        assert_true(row_of(cluster, id)->due_ms > database_ms(cluster));
        assert_null(worker->loop->runs.first);
        work(cluster, worker, 20); /* it is not due, so nobody takes it */
        assert_int_equal(row_of(cluster, id)->claims, i + 1);
        cluster->now_ms += HOUR;
    }
    work(cluster, &cluster->workers[0], 100);
    assert_int_equal(row_of(cluster, id)->row.state, TFY_TASK_COMPLETED);
    assert_int_equal(row_of(cluster, id)->owner, 0);
    assert_int_equal(jobs_done, 3);
    check_history(cluster, id, "\"value\":3");
}

static void test_children_go_with_their_run(void **state)
{
    Cluster *cluster = *state;
    const int64_t first = submit(cluster, "works", "{\"rounds\":1}"), id = submit(cluster, "spreads", "{}");
    work(cluster, &cluster->workers[0], 40);
    const int before = jobs_done;
    assert_in_range(before, 2, 30);
    end_session(cluster, &cluster->workers[0]); /* in the middle of both children */
    work(cluster, &cluster->workers[1], 300);
    assert_in_range(jobs_done, 31, 31 + 2);
    cluster->now_ms += 3 * HOUR;
    work(cluster, &cluster->workers[2], 100);
    check_history(cluster, id, "\"value\":30");
    check_history(cluster, first, "\"value\":0");
}

static const TfySharedRun *posting;

/* How many owners of it the database's records name. */
static int claims_in_log(void)
{
    int count = 0;
    for (size_t i = 0; i < posting->records.count; i++)
        count += ((TfyLogRecord *)tfy__rows_at(&posting->records, i))->type == TFY_R_CLAIMED;
    return count;
}

/* It is an effect like others: none starts before the log says who its owner is. */
static void test_a_probe_waits_for_the_log(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "posts", "{}");
    posting = row_of(cluster, id);
    posts_begun = claims_when_asked = 0;
    work(cluster, &cluster->workers[0], 20);
    assert_int_equal(posts_begun, 1);
    assert_int_equal(claims_in_log(), 1);
    end_session(cluster, &cluster->workers[0]);
    work(cluster, &cluster->workers[1], 100);
    assert_int_equal(claims_when_asked, 2);
    assert_int_equal(posts_begun, 2);
    check_history(cluster, id, "\"value\":\"done\"");
}

/* The number of the first record of that type; 0: there is none. */
static int64_t find_record(const Cluster *cluster, int64_t id, TfyRecordType type)
{
    const TfyMemoryRows *records = &row_of(cluster, id)->records;
    for (size_t i = 0; i < records->count; i++)
        if (((TfyLogRecord *)tfy__rows_at(records, i))->type == type) return (int64_t)i + 1;
    return 0;
}

/* A body ends, and then the session, before the first snapshot. The new owner writes that, and what the body has recorded is
 * still found. */
static void test_what_ended_before_stays(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "pairs", "{}");
    setenv("TFY_SNAPSHOT_EVERY", "8", 1);
    close_worker(&cluster->workers[1]);
    open_worker(cluster, &cluster->workers[1]);
    while (!find_record(cluster, id, TFY_R_TASK_EXIT)) work(cluster, &cluster->workers[0], 1);
    const int64_t exit = find_record(cluster, id, TFY_R_TASK_EXIT);
    assert_int_equal(row_of(cluster, id)->row.snap, 0);
    end_session(cluster, &cluster->workers[0]);
    work(cluster, &cluster->workers[1], 200);
    assert_true(row_of(cluster, id)->row.snap > exit);
    cluster->now_ms += HOUR;
    work(cluster, &cluster->workers[1], 100);
    check_history(cluster, id, "\"value\":11");
}

/* A session ends in the middle of its runs; another one goes on with them, and the old one can do nothing more. */
static void test_a_session_ends(void **state)
{
    Cluster *cluster = *state;
    Worker *old = &cluster->workers[0];
    const int64_t id = submit(cluster, "works", "{\"rounds\":2}");
    work(cluster, old, 4);
    assert_int_equal(row_of(cluster, id)->owner, old->hub.hub.session);
    assert_non_null(old->loop->runs.first);
    end_session(cluster, old);
    work(cluster, &cluster->workers[1], 100);
    assert_int_equal(row_of(cluster, id)->claims, 2);
    int code = 0;
    for (int i = 0; i < 1000 && code >= 0; i++) {
        cluster->now_ms += LEASE_MS / 10;
        old->world->jump(old->world->state, cluster->now_ms * 1000000);
        code = turn(old);
    }
    assert_int_equal(code, TFY_E_HELD);
    assert_non_null(strstr(tfy__failure(old->loop), "has ended"));
    cluster->now_ms += HOUR;
    work(cluster, &cluster->workers[1], 100);
    cluster->now_ms += HOUR;
    work(cluster, &cluster->workers[2], 100);
    check_history(cluster, id, "\"value\":1");
}

/* Something arrives while a run leaves: it stays, and goes on from the snapshot that it wrote for leaving. */
static void test_something_arrives_meanwhile(void **state)
{
    Cluster *cluster = *state;
    Worker *worker = &cluster->workers[0];
    const int64_t id = submit(cluster, "works", "{\"rounds\":1}");
    int turns = 0;
    for (; turns < 1000 && !row_of(cluster, id)->row.snap; turns++) {
        assert_true(tfy_step(worker->loop) >= 0);
        /* Between the decision to leave and its commit. */
        if (jobs_done && !worker->loop->runs.first && !row_of(cluster, id)->mails.count)
            assert_int_equal(send(cluster, id, NULL, "{\"do\":\"signal\",\"name\":\"tick\",\"value\":1}"), 1);
        tfy__log_write(tfy__loop_log(worker->loop));
        cluster->now_ms += 5;
        worker->world->jump(worker->world->state, cluster->now_ms * 1000000);
    }
    assert_true(turns < 1000);
    assert_int_equal(row_of(cluster, id)->mails.count, 1);
    assert_int_equal(row_of(cluster, id)->owner, worker->hub.hub.session);
    assert_null(verdict(cluster, id, 1));
    work(cluster, worker, 2);
    assert_non_null(worker->loop->runs.first);
    assert_int_equal(row_of(cluster, id)->claims, 1);
    work(cluster, worker, 100); /* now that it knows, it leaves */
    assert_string_equal(verdict(cluster, id, 1), "taken");
    assert_int_equal(row_of(cluster, id)->owner, 0);
    cluster->now_ms += HOUR;
    work(cluster, &cluster->workers[1], 100);
    check_history(cluster, id, "\"value\":0");
}

/* A run waits for signals, which is nobody's while it does. */
static void test_signals_wake_a_run(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "counts", "{\"most\":5}");
    char body[100], name[16];
    for (int i = 1; i <= 5; i++) {
        Worker *worker = &cluster->workers[i % WORKERS];
        work(cluster, worker, 100);
        assert_int_equal(row_of(cluster, id)->owner, 0);
        assert_true(row_of(cluster, id)->due_ms == INT64_MAX);
        snprintf(body, sizeof body, "{\"do\":\"signal\",\"name\":\"tick\",\"value\":%d}", i);
        snprintf(name, sizeof name, "s%d", i);
        for (int j = 0; j < 2; j++) assert_int_equal(send(cluster, id, name, body), i);
        work(cluster, &cluster->workers[(i + 1) % WORKERS], 100);
        assert_string_equal(verdict(cluster, id, i), "taken");
        assert_int_equal(send(cluster, id, name, body), i);
    }
    check_history(cluster, id, "\"value\":12345");
    assert_int_equal(send(cluster, id, NULL, body), TFY_E_STATE);
    assert_int_equal(send(cluster, 99, NULL, body), TFY_E_ABSENT);
}

/* A run that was woken, or that goes on elsewhere, leaves again when it has nothing to do. */
static void test_a_run_leaves_again(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "counts", "{\"most\":1}"), pair = submit(cluster, "spreads", "{}");
    work(cluster, &cluster->workers[0], 300);
    assert_int_equal(jobs_done, 30);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(row_of(cluster, id)->owner, 0);
        assert_int_equal(row_of(cluster, pair)->owner, 0);
        assert_int_equal(send(cluster, id, NULL, "{\"do\":\"dance\"}"), i);
        assert_int_equal(send(cluster, pair, NULL, "{\"do\":\"dance\"}"), i);
        work(cluster, &cluster->workers[i % WORKERS], 100);
        assert_non_null(verdict(cluster, id, i));
    }
}

/* The last task that was busy ends; the others wait for hours, and no wait begins any more. */
static void test_a_run_leaves_behind_its_last_step(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "spreads", "{}");
    while (!find_record(cluster, id, TFY_R_TASK_EXIT)) work(cluster, &cluster->workers[0], 1);
    end_session(cluster, &cluster->workers[0]);
    work(cluster, &cluster->workers[1], 300);
    assert_in_range(jobs_done, 30, 31);
    assert_int_equal(row_of(cluster, id)->owner, 0);
}

/* ---- reading ---- */

typedef struct Fault {
    int left;  /* calls until it fails */
    bool once; /* … only that one; otherwise all behind it */
} Fault;

static int fail_reading(void *state, int call)
{
    Fault *fault = state;
    const bool fails = call == TFY_CALL_READ && (fault->once ? --fault->left == 0 : --fault->left <= 0);
    return fails ? TFY_STORE_AWAY : 0;
}

/* The code of reading a run while calls fail. */
static int read_failing(TfyLog *log, int64_t run, Fault fault)
{
    char which[24], error[TFY_ERROR_TEXT] = "";
    TfyHistory *history;
    log->store->fault = fail_reading;
    log->store->fault_state = &fault;
    snprintf(which, sizeof which, "%lld", (long long)run);
    const int code = tfy__history_read_tail(log, which, &history, error);
    if (code && (code != TFY_STORE_AWAY || strstr(error, "damaged"))) fail_msg("%d: %s", code, error);
    if (!code) tfy__history_free(history);
    log->store->fault = NULL;
    return code;
}

/* A call that fails is not damage, wherever a reader is; and if the next one does not fail, the reader begins again. */
static void test_a_failed_reading_is_no_damage(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "spreads", "{}");
    work(cluster, &cluster->workers[0], 300);
    assert_int_equal(row_of(cluster, id)->owner, 0);
    TfyLog *log = tfy__loop_log(cluster->workers[1].loop);
    int call = 1;
    for (; read_failing(log, id, (Fault){.left = call}); call++)
        assert_int_equal(read_failing(log, id, (Fault){.left = call, .once = true}), 0);
    assert_in_range(call, 8, 100);
}

/* ---- mail ---- */

static void test_what_does_not_fit_is_refused(void **state)
{
    static const struct {
        const char *body, *verdict;
    } cases[] = {
        {"", "not understood"},
        {"[1]", "not understood"},
        {"{\"do\":\"dance\"}", "not understood"},
        {"{\"do\":\"signal\"}", "not understood"},
        {"{\"do\":\"signal\",\"name\":\"tick\",\"value\":\"a word\"}", "int"},
        {"{\"do\":\"approve\"}", "no open question"},
        {"{\"do\":\"resolve\",\"how\":\"done\"}", "is in doubt"},
        {"{\"do\":\"kill\",\"task\":\"1.7\"}", "no such task"},
        {"{\"do\":\"signal\",\"name\":\"tick\",\"value\":7}", "taken"},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "counts", "{\"most\":1}");
    work(cluster, &cluster->workers[0], 2);
    assert_int_equal(row_of(cluster, id)->owner, cluster->workers[0].hub.hub.session);
    for (int i = 0; i < CASES; i++) assert_int_equal(send(cluster, id, NULL, cases[i].body), i + 1);
    work(cluster, &cluster->workers[0], 20);
    for (int i = 0; i < CASES; i++)
        if (!strstr(verdict(cluster, id, i + 1), cases[i].verdict))
            fail_msg("%s: %s", cases[i].body, verdict(cluster, id, i + 1));
    check_history(cluster, id, "\"value\":7");
}

/* The answer comes while nobody owns the run. The run's end is the verdict on whatever it has not seen. */
static void test_an_answer_and_a_kill(void **state)
{
    Cluster *cluster = *state;
    const int64_t id = submit(cluster, "asks", "{}"), other = submit(cluster, "counts", "{\"most\":9}");
    work(cluster, &cluster->workers[0], 100);
    assert_int_equal(row_of(cluster, id)->owner, 0);
    assert_int_equal(send(cluster, id, NULL, "{\"do\":\"approve\",\"answer\":\"left\"}"), 1);
    assert_int_equal(send(cluster, other, NULL, "{\"do\":\"kill\"}"), 1);
    work(cluster, &cluster->workers[1], 1);
    assert_int_equal(send(cluster, id, NULL, "{\"do\":\"approve\",\"answer\":\"right\"}"), 2);
    work(cluster, &cluster->workers[1], 100);
    assert_string_equal(verdict(cluster, id, 1), "taken");
    assert_string_not_equal(verdict(cluster, id, 2), "taken");
    check_history(cluster, id, "\"value\":\"left\"");
    assert_string_equal(verdict(cluster, other, 1), "taken");
    assert_true(row_of(cluster, other)->row.state > TFY_TASK_COMPLETED);
    assert_int_equal(row_of(cluster, other)->owner, 0);
}

/* An idle loop renews its lease. */
static void test_an_idle_loop_renews(void **state)
{
    Cluster *cluster = *state;
    Worker *worker = &cluster->workers[0];
    work(cluster, worker, 10 * LEASE_MS / 5);
    const int64_t beat = tfy__shared_session(cluster->shared, worker->hub.hub.session)->beat;
    assert_in_range(beat, 20, 32);
    const int64_t silent_ms = cluster->now_ms - worker->hub.sent_ns / 1000000;
    assert_in_range(silent_ms, 0, LEASE_MS / 2);
}

/* ---- anything may happen ---- */

static void send_tick(Cluster *cluster, int64_t id, int number)
{
    char body[100], name[16];
    snprintf(body, sizeof body, "{\"do\":\"signal\",\"name\":\"tick\",\"value\":%d}", number);
    snprintf(name, sizeof name, "s%d", number);
    assert_int_equal(send(cluster, id, name, body), number);
}

/* Nobody waits for ever for what becomes of what he sent. */
static void check_verdicts(const Cluster *cluster, int64_t id)
{
    const TfySharedRun *run = row_of(cluster, id);
    for (size_t n = 1; n <= run->mails.count; n++) assert_non_null(verdict(cluster, id, (int64_t)n));
}

static void run_anything(uint64_t seed)
{
    const char every[] = {(char)('2' + seed % 7), '\0'};
    Cluster *cluster = open_with(seed, every);
    void *state = cluster;
    int64_t ids[RUNS];
    cluster->lossy = true;
    for (int i = 0; i < RUNS; i++)
        ids[i] = i == 0  ? submit(cluster, "counts", "{\"most\":8}")
                 : i % 2 ? submit(cluster, "works", "{\"rounds\":3}")
                         : submit(cluster, "spreads", "{}");
    int sent = 0;
    for (int round = 0; round < 400; round++) {
        Worker *worker = &cluster->workers[draw(cluster, WORKERS)];
        if (draw(cluster, 20) == 0) {
            end_session(cluster, worker); /* as if killed: what it still has to say is refused */
            close_worker(worker);
            open_worker(cluster, worker);
        }
        work(cluster, worker, (int)draw(cluster, 30));
        if (draw(cluster, 3) == 0) tfy__shared_late_arrives(cluster->shared);
        if (draw(cluster, 10) == 0) cluster->now_ms += (int64_t)draw(cluster, (uint32_t)HOUR);
        if (draw(cluster, 30) == 0) send(cluster, ids[1 + draw(cluster, RUNS - 1)], NULL, "{\"do\":\"approve\"}");
        if (draw(cluster, 20) == 0 && sent < 8) send_tick(cluster, ids[0], ++sent);
        if (draw(cluster, 40) == 0 && sent)
            send_tick(cluster, ids[0], 1 + (int)draw(cluster, (uint32_t)sent)); /* again */
    }
    while (sent < 8) send_tick(cluster, ids[0], ++sent);
    cluster->lossy = false;
    while (tfy__shared_late_arrives(cluster->shared)) continue;
    for (int i = 0; i < 12; i++) {
        cluster->now_ms += HOUR;
        for (int j = 0; j < WORKERS; j++) work(cluster, &cluster->workers[j], 100);
    }
    for (int i = 0; i < RUNS; i++) {
        check_history(cluster, ids[i], i == 0 ? "\"value\":12345678" : i % 2 ? "\"value\":3" : "\"value\":30");
        check_verdicts(cluster, ids[i]);
    }
    close_cluster(&state);
}

static void test_anything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) run_anything(seed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_cluster, close_cluster)
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_goes_from_one_to_the_other),
        TEST(test_children_go_with_their_run),
        TEST(test_what_ended_before_stays),
        TEST(test_a_session_ends),
        TEST(test_a_probe_waits_for_the_log),
        TEST(test_something_arrives_meanwhile),
        TEST(test_signals_wake_a_run),
        TEST(test_a_run_leaves_again),
        TEST(test_a_run_leaves_behind_its_last_step),
        TEST(test_a_failed_reading_is_no_damage),
        TEST(test_what_does_not_fit_is_refused),
        TEST(test_an_answer_and_a_kill),
        TEST(test_an_idle_loop_renews),
        cmocka_unit_test(test_anything),
    };
    return cmocka_run_group_tests_name("core_claim", tests, NULL, NULL);
}

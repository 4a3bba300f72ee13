/* wal_postgres_faults.c: the store in PostgreSQL when things break: each call of libpq, connections before, in and after a commit,
 * the server, its disk, locks that others hold, a standby that does not answer. What was acknowledged is there, nothing is there
 * twice, and the code says whether it may be tried again. */
#include "wal_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>

#include "postgres.h"
#include "wal/history/history.h"
#include "wal/store/pg_cluster.h"

static Postgres server;

typedef struct World {
    TfyCluster *cluster;
    TfyStore *store;
    TfyStoreHold hold; /* of the last commit */
    int64_t run, length, queue;
} World;

static int start_server(void **state)
{
    (void)state;
    return postgres_make(&server) || !postgres_find(&server) ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    postgres_remove(&server);
    return 0;
}

static void open_store(World *world, int64_t lease_ms)
{
    char error[TFY_ERROR_TEXT];
    const TfyPgOpen open = {.address = server.address, .session = world->hold.session, .lease_ms = lease_ms};
    if (tfy__pg_open(&world->store, &open, error)) fail_msg("%s", error);
}

/* The program of the run, by a session of its own. */
static void deploy(void)
{
    TfyCluster *cluster;
    TfyStore *store;
    char error[TFY_ERROR_TEXT];
    TfyPgOpen open = {.address = server.address};
    const TfyStoreProgram program = {.id = 1, .hash = "0123456789abcde", .tfyc = "1", .source = "s", .layout = "{}"};
    if (tfy__pg_cluster_open(&cluster, &open, error)) fail_msg("%s", error);
    open.session = cluster->ops->open_session(cluster, &(TfyNewSession){.lease_ms = 3000}, &(int64_t){0});
    if (tfy__pg_open(&store, &open, error)) fail_msg("%s", error);
    assert_int_equal(store->ops->begin(store, &(TfyStoreHold){open.session, 1}), 0);
    assert_int_equal(store->ops->put_program(store, &program), 0);
    assert_int_equal(store->ops->commit(store), 0);
    store->ops->close(store, true);
    cluster->ops->close(cluster);
}

/* A session that owns a run with its birth. */
static int make_world(void **state)
{
    static World world;
    char error[TFY_ERROR_TEXT];
    TfyClaimed claimed;
    TfyLogRun row = {.uuid = "a run of a test", .root = 1, .program = 1};
    *state = NULL;
    if (!server.directory[0]) return 0;
    world = (World){.length = 1};
    assert_true(postgres_fresh(&server, &(TfyPgMake){.lease_ms = 3000}));
    if (tfy__pg_cluster_open(&world.cluster, &(TfyPgOpen){.address = server.address}, error)) fail_msg("%s", error);
    world.hold.session =
        world.cluster->ops->open_session(world.cluster, &(TfyNewSession){.lease_ms = 3000}, &(int64_t){0});
    open_store(&world, 60000);
    world.queue = world.cluster->ops->queue(world.cluster, "default", 1);
    world.run = world.cluster->ops->submit(
        world.cluster, world.queue, &row,
        "{\"run\":\"61207275-6e20-6f66-2061-207465737400\",\"tid\":1,\"path\":\"1\",\"workflow\":\"main\"}");
    assert_int_equal(world.cluster->ops->claim(world.cluster, world.hold.session, world.queue, false, &claimed, 1), 1);
    *state = &world;
    return 0;
}

static int remove_world(void **state)
{
    World *world = *state;
    if (!world) return 0;
    if (world->store) world->store->ops->close(world->store, true);
    world->cluster->ops->close(world->cluster);
    return 0;
}

static void begin(World *world)
{
    const TfyStoreHold hold = {world->hold.session, world->hold.commit + 1};
    assert_int_equal(world->store->ops->begin(world->store, &hold), 0);
}

static void put(World *world, int64_t lsn)
{
    const TfyLogRecord record = {.run = world->run,
                                 .tid = 1,
                                 .lsn = lsn,
                                 .prev = lsn - 1,
                                 .v = TFY_RECORD_V,
                                 .type = TFY_R_VALUE,
                                 .payload = "{}",
                                 .payload_len = 2},
                       *const list = &record;
    assert_int_equal(world->store->ops->put_records(world->store, &list, 1), 0);
}

/* One more record; the commit's code. */
static int commit_one(World *world)
{
    begin(world);
    put(world, world->length + 1);
    const int code = world->store->ops->commit(world->store);
    if (code) world->store->ops->rollback(world->store);
    if (!code) world->hold.commit++;
    if (!code) world->length++;
    return code;
}

static const char *failed; /* the call of libpq that was made to fail; NULL: none was */

static bool may_again(int code)
{
    return code == TFY_STORE_AWAY || code == TFY_STORE_UNKNOWN || code == TFY_STORE_FULL;
}

/* As the log does: a commit of unknown outcome is settled, then sent again under its number unless it happened. unknown: one was
 * sent already. */
static void commit_after(World *world, bool unknown)
{
    bool happened = false;
    for (int waited_ms = 0; waited_ms < 120000; waited_ms += 5) { /* a server that crashed takes its time */
        const TfyStoreHold hold = {world->hold.session, world->hold.commit + 1};
        int code = unknown ? world->store->ops->settle(world->store, &hold, &happened) : 0;
        if (happened) {
            world->hold.commit++;
            world->length++;
            return;
        }
        if (!code) code = commit_one(world);
        if (!code) return;
        if (code == TFY_STORE_UNKNOWN) unknown = true;
        if (code == TFY_STORE_FENCED && unknown) code = TFY_STORE_UNKNOWN; /* the first sending came before */
        if (!may_again(code)) fail_msg("%d: %s (%s)", code, world->store->error, failed ? failed : "");
        poll(NULL, 0, 5);
    }
    fail_msg("no commit in two minutes: %s", world->store->error);
}

static void commit_until_it_is(World *world)
{
    commit_after(world, false);
}

static int64_t stored(const World *world)
{
    return postgres_number(&server, "SELECT count(*) FROM tfy.record WHERE run = %d", (int)world->run);
}

static int64_t beat(const World *world)
{
    return postgres_number(&server, "SELECT beat FROM tfy.session WHERE id = %d", (int)world->hold.session);
}

static void check_all_is_there(const World *world)
{
    assert_int_equal(stored(world), world->length);
    assert_int_equal(beat(world), world->hold.commit);
    assert_int_equal(postgres_number(&server, "SELECT max(lsn) FROM tfy.record WHERE run = %d", (int)world->run),
                     world->length);
}

#define CUT                                                                                                            \
    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name LIKE 'tfy/%%' AND "    \
    "datname = current_database()"

/* ---- each call of libpq ---- */

static TfyPgApi failing;      /* libpq, of which one call fails */
static const TfyPgApi *real;  /* libpq */
static int calls, failing_at; /* the one that fails; 0: none */

static bool fails_now(const char *name)
{
    if (++calls != failing_at) return false;
    failed = name;
    return true;
}

/* Only those that can fail, and that say so. */
#define FAILING(X)                                                                                                     \
    X(connectdbParams)                                                                                                 \
    X(status)                                                                                                          \
    X(socket)                                                                                                          \
    X(serverVersion)                                                                                                   \
    X(parameterStatus)                                                                                                 \
    X(transactionStatus)                                                                                               \
    X(setnonblocking)                                                                                                  \
    X(enterPipelineMode)                                                                                               \
    X(exitPipelineMode)                                                                                                \
    X(pipelineSync)                                                                                                    \
    X(sendPrepare)                                                                                                     \
    X(sendQueryPrepared)                                                                                               \
    X(sendQueryParams)                                                                                                 \
    X(flush)                                                                                                           \
    X(consumeInput)                                                                                                    \
    X(getResult)                                                                                                       \
    X(resultStatus)                                                                                                    \
    X(cmdStatus)                                                                                                       \
    X(conninfoParse)

#define WRAPPER(result_, name_, parameters_, arguments_, failed_)                                                      \
    static result_ wrap_##name_ parameters_ __attribute__((unused));                                                   \
    static result_ wrap_##name_ parameters_                                                                            \
    {                                                                                                                  \
        if (fails_now(#name_)) return failed_;                                                                         \
        return real->name_ arguments_;                                                                                 \
    }
TFY_PG_API(WRAPPER)

static void arm(int at)
{
    calls = 0;
    failing_at = at;
    failed = NULL;
}

static void make_failing(void)
{
    char error[TFY_ERROR_TEXT];
    if (tfy__pg_api(&real, error)) fail_msg("%s", error);
    failing = *real;
#define WRAP(name_) failing.name_ = wrap_##name_;
    FAILING(WRAP)
}

/* Opens, commits and reads, whatever fails once. */
static void live_through(World *world, const char *settings)
{
    char error[TFY_ERROR_TEXT], address[300];
    snprintf(address, sizeof address, "%s%s", server.address, settings);
    const TfyPgOpen open = {.address = address, .session = world->hold.session, .lease_ms = 6000, .api = &failing};
    int code = tfy__pg_open(&world->store, &open, error);
    if (code) {
        assert_true(failed && error[0]);
        if (tfy__pg_open(&world->store, &open, error)) fail_msg("after %s: %s", failed, error);
    }
    commit_until_it_is(world);
    TfyLogRecord record;
    for (int i = 0;; i++) {
        code = world->store->ops->look(world->store);
        if (!code) code = world->store->ops->get_record(world->store, world->run, world->length, &record);
        if (!code) assert_string_equal(record.payload, "{}");
        world->store->ops->look_away(world->store);
        if (!code) break;
        if (code != TFY_STORE_AWAY || i > 100) fail_msg("read after %s: %d %s", failed, code, world->store->error);
        poll(NULL, 0, 10);
    }
    commit_until_it_is(world);
    world->store->ops->close(world->store, true);
    world->store = NULL;
}

/* Every fifth one, or as PQ_EVERY says. */
static void test_each_call_fails(void **state)
{
    World *world = *state;
    const char *said = getenv("PQ_EVERY");
    const int every = said ? atoi(said) : 5;
    make_failing();
    world->store->ops->close(world->store, true);
    static const char *const settings[] = {"", "&tfy_prepare=0"};
    for (int i = 0; i < 2; i++) {
        int at = 1 + i;
        do {
            arm(at);
            live_through(world, settings[i]);
            at += every;
        } while (failed);
        assert_true(at > 150);
    }
    check_all_is_there(world);
}

/* ---- connections and servers ---- */

static void test_cut_between_commits(void **state)
{
    World *world = *state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(commit_one(world), 0);
        postgres_do(&server, CUT);
        assert_int_equal(commit_one(world), 0); /* the server has said so, and it connects again */
    }
    check_all_is_there(world);
}

static void test_restarts(void **state)
{
    World *world = *state;
    for (int i = 0; i < 3; i++) {
        commit_until_it_is(world);
        postgres_stop(&server, i == 1 ? SIGINT : SIGQUIT);
        int code = 0; /* the process behind the connection may live a little longer */
        for (int j = 0; !code && j < 1000; j++) code = commit_one(world);
        if (code != TFY_STORE_UNKNOWN) {
            assert_int_equal(code, TFY_STORE_AWAY);
            assert_non_null(strstr(world->store->error, server.directory));
        }
        assert_true(postgres_start(&server));
        commit_after(world, code == TFY_STORE_UNKNOWN);
    }
    check_all_is_there(world);
}

static void *look(void *state)
{
    World *world = state;
    const int code = world->store->ops->look(world->store);
    if (!code) world->store->ops->look_away(world->store);
    return (void *)(intptr_t)code;
}

/* A session that reads while its server restarts is answered, and does not end for that. */
static void test_a_view_waits_for_the_server(void **state)
{
    World *world = *state;
    pthread_t thread;
    void *code = NULL;
    postgres_stop(&server, SIGQUIT);
    assert_int_equal(pthread_create(&thread, NULL, look, world), 0);
    poll(NULL, 0, 300);
    assert_true(postgres_start(&server));
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_int_equal((intptr_t)code, 0);
}

static atomic_bool killing;

static void *kill_all_the_time(void *state)
{
    char address[300], error[TFY_ERROR_TEXT];
    Postgres *killer = state;
    snprintf(address, sizeof address, "%s", server.address);
    killer->link = (TfyPgLink){.address = &killer->parsed, .patience_ms = 5000, .bare = true};
    if (tfy__pg_api(&killer->link.api, error)) return NULL;
    if (tfy__pg_address_read(&killer->parsed, killer->link.api, address, "killer", error)) return NULL;
    for (unsigned i = 1; atomic_load(&killing); i++) {
        poll(NULL, 0, (int)(i * 7 % 23));
        postgres_try(
            killer, NULL, 0,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'tfy/%%' "
            "AND datname = current_database()");
    }
    tfy__pg_link_free(&killer->link);
    tfy__pg_address_free(&killer->parsed);
    return NULL;
}

static void test_cut_at_any_moment(void **state)
{
    static Postgres killer;
    World *world = *state;
    pthread_t thread;
    atomic_store(&killing, true);
    assert_int_equal(pthread_create(&thread, NULL, kill_all_the_time, &killer), 0);
    for (int i = 0; i < 200; i++) commit_until_it_is(world);
    atomic_store(&killing, false);
    pthread_join(thread, NULL);
    assert_int_equal(world->length, 201);
    check_all_is_there(world);
}

/* ---- the log over it ---- */

static int64_t clock_ms(void *state)
{
    (void)state;
    return 1700000000000;
}

static void wait_for(TfyLog *log, const TfyTicket ticket)
{
    char error[TFY_ERROR_TEXT];
    for (int i = 0; i < 6000 && tfy__log_durable(log) < ticket; i++) {
        tfy__log_error_text(log, error);
        if (tfy__log_error(log)) fail_msg("%s", error);
        poll(NULL, 0, 10);
    }
    assert_true(tfy__log_durable(log) >= ticket);
}

static TfyHistory *read_run(TfyLog *log, const World *world)
{
    char name[24], error[TFY_ERROR_TEXT] = "";
    TfyHistory *history = NULL;
    snprintf(name, sizeof name, "%lld", (long long)world->run);
    int code = TFY_E_IO;
    for (int i = 0; code && i < 200; i++, poll(NULL, 0, 20)) code = tfy__history_read(log, name, &history, error);
    if (code) fail_msg("%s", error);
    return history;
}

/* The log's own thread commits, while connections are cut and the server crashes. */
static void test_a_log_lives_on(void **state)
{
    static Postgres killer;
    World *world = *state;
    pthread_t thread;
    char error[TFY_ERROR_TEXT];
    TfyLog *log;
    TfyLogOptions options = {
        .store = world->store, .session = world->hold.session, .lease_ms = 60000, .wall_ms = clock_ms};
    world->store = NULL; /* it is the log's */
    deploy();
    if (tfy__log_open(&log, &options, error)) fail_msg("%s", error);
    TfyHistory *history = read_run(log, world);
    TfyLogRun run = history->run;
    TfyLogTask root = *tfy__history_task(history, run.root);
    root.run = &run;
    root.path = (char *)"1";
    tfy__history_free(history);
    const TfyTicket none = tfy__log_last(log);
    atomic_store(&killing, true);
    assert_int_equal(pthread_create(&thread, NULL, kill_all_the_time, &killer), 0);
    for (int i = 0; i < 600; i++) {
        assert_true(tfy__log_append(log, &root, TFY_R_VALUE, root.step + 1, 1, "{\"now\":1}", 9) > 0);
        tfy__log_flush(log);
        if (i % 20 == 0) wait_for(log, none + i / 2);
        if (i % 250 == 200) {
            postgres_stop(&server, SIGQUIT);
            assert_true(postgres_start(&server));
        }
    }
    wait_for(log, tfy__log_last(log));
    atomic_store(&killing, false);
    pthread_join(thread, NULL);
    assert_int_equal(stored(world), 601);
    history = read_run(log, world); /* checks the chains */
    assert_int_equal(history->record_count, 601);
    tfy__history_free(history);
    assert_int_equal(tfy__log_close(log, true), 0);
}

/* ---- what the server refuses ---- */

static const char refusing[] = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                               " IF (SELECT code FROM refusal) <> '' THEN UPDATE counted SET n = n;"
                               " RAISE EXCEPTION 'refused' USING ERRCODE = (SELECT code FROM refusal); END IF;"
                               " RETURN NEW; END $$";

static void test_codes(void **state)
{
    static const struct {
        const char *code;
        int means;
        const char *said;
    } rows[] = {
        {"53100", TFY_STORE_FULL, "append records"},
        {"53200", TFY_STORE_FULL, "53200"},
        {"40001", TFY_STORE_AWAY, "40001"},
        {"40P01", TFY_STORE_AWAY, "40P01"},
        {"55P03", TFY_STORE_AWAY, "55P03"},
        {"57014", TFY_STORE_AWAY, "57014"},
        {"25006", TFY_STORE_AWAY, "25006"},
        {"42501", TFY_E_DATA, "may not append records; 'GRANT tfy_worker TO \"tfy\"'"},
        {"42P01", TFY_E_STATE, "42P01"},
        {"23505", TFY_E_DATA, "23505"},
        {"XX001", TFY_E_DATA, "XX001"},
        {"58030", TFY_E_IO, "58030"},
        {"P0001", TFY_E_IO, "P0001"},
        {"22012", TFY_E_DATA, "not as this session has left them"},
        {"57P01", TFY_STORE_UNKNOWN, "57P01"},
        {"08006", TFY_STORE_UNKNOWN, "08006"},
    };
    World *world = *state;
    postgres_do(&server, "CREATE TABLE refusal AS SELECT '' AS code");
    postgres_do(&server, "CREATE TABLE counted AS SELECT 0 AS n");
    postgres_do(&server, "%s", refusing);
    postgres_do(&server, "CREATE TRIGGER refuses BEFORE INSERT ON tfy.record FOR EACH ROW EXECUTE FUNCTION refuse()");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        postgres_do(&server, "UPDATE refusal SET code = '%s'", rows[i].code);
        const int code = commit_one(world);
        if (code != rows[i].means || !strstr(world->store->error, rows[i].said))
            fail_msg("%s: %d %s", rows[i].code, code, world->store->error);
        postgres_do(&server, "UPDATE refusal SET code = ''");
        commit_until_it_is(world); /* nothing of it has happened, and the same number is free */
    }
    check_all_is_there(world);
}

/* Nobody waits for a lock longer than 5 s, and the same goes on afterwards. */
static void test_locked_rows(void **state)
{
    World *world = *state;
    Postgres *other = &server;
    const TfyStoreLeaving leaving = {.run = world->run, .mail = -1, .due_ms = 0};
    postgres_do(other, "BEGIN");
    postgres_do(other, "SELECT 1 FROM tfy.run WHERE id = %d FOR UPDATE", (int)world->run);
    const time_t since = time(NULL);
    begin(world);
    assert_int_equal(world->store->ops->put_leaving(world->store, &leaving, 1), 0);
    assert_int_equal(world->store->ops->commit(world->store), TFY_STORE_AWAY);
    assert_in_range(time(NULL) - since, 4, 8);
    assert_non_null(strstr(world->store->error, "lock runs"));
    postgres_do(other, "COMMIT");
    assert_int_equal(world->store->ops->commit(world->store), 0);
    world->hold.commit++;
    assert_int_equal(postgres_number(&server, "SELECT count(*) FROM tfy.run WHERE owner IS NULL"), 1);
    assert_int_equal(beat(world), world->hold.commit);
}

/* ---- a standby that does not answer ---- */

static void *cancel_waiting(void *state)
{
    Postgres *other = state;
    for (int i = 0; i < 100; i++, poll(NULL, 0, 20))
        postgres_try(other, NULL, 0,
                     "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "
                     "application_name LIKE 'tfy/%%'");
    return NULL;
}

static void set_standby(const char *names)
{
    postgres_do(&server, "ALTER SYSTEM SET synchronous_standby_names = '%s'", names);
    postgres_do(&server, "SELECT pg_reload_conf()");
    for (int i = 0; i < 200; i++) {
        char said[40];
        if (postgres_try(&server, said, sizeof said, "SELECT current_setting('synchronous_standby_names')") &&
            strcmp(said, names) == 0)
            break;
        poll(NULL, 0, 20);
    }
    poll(NULL, 0, 200);
}

/* A commit that the primary alone has is no success; it counts when a later one is acknowledged. */
static void test_a_commit_that_only_the_primary_has(void **state)
{
    static Postgres other;
    World *world = *state;
    pthread_t thread;
    bool happened = true;
    char error[TFY_ERROR_TEXT];
    const TfyStoreHold hold = {world->hold.session, 1};
    world->store->ops->close(world->store, true);
    open_store(world, 6000);
    other = (Postgres){.link = {.address = &other.parsed, .patience_ms = 5000, .bare = true}};
    assert_int_equal(tfy__pg_api(&other.link.api, error), 0);
    assert_int_equal(tfy__pg_address_read(&other.parsed, other.link.api, server.address, "other", error), 0);
    set_standby("nobody");
    assert_int_equal(pthread_create(&thread, NULL, cancel_waiting, &other), 0);
    assert_int_equal(commit_one(world), TFY_STORE_UNKNOWN);
    assert_non_null(strstr(world->store->error, "synchronous replication"));
    pthread_join(thread, NULL);
    assert_int_equal(beat(world), 1); /* the primary has it */
    assert_int_equal(world->store->ops->settle(world->store, &hold, &happened), TFY_STORE_UNKNOWN);
    assert_false(happened);
    set_standby("");
    for (int i = 0; !happened && i < 100; i++, poll(NULL, 0, 20)) {
        const int code = world->store->ops->settle(world->store, &hold, &happened);
        if (code && !may_again(code)) fail_msg("%d: %s", code, world->store->error);
    }
    assert_true(happened);
    world->hold.commit++;
    world->length++;
    tfy__pg_link_free(&other.link);
    tfy__pg_address_free(&other.parsed);
    commit_until_it_is(world);
    check_all_is_there(world);
}

/* What a standby has that takes over without the last two commits. */
static void lose_two(World *world)
{
    for (int i = 0; i < 3; i++) commit_until_it_is(world);
    postgres_do(&server, "UPDATE tfy.session SET beat = %d", (int)world->hold.commit - 2);
    postgres_do(&server, "DELETE FROM tfy.record WHERE run = %d AND lsn > %d", (int)world->run, (int)world->length - 2);
}

static bool is_held_lost(const World *world)
{
    return postgres_number(&server, "SELECT count(*) FROM tfy.run WHERE id = %d AND held = 'lost'", (int)world->run) ==
           1;
}

static void check_said(const World *world, const char *what)
{
    if (!strstr(world->store->error, what))
        fail_msg("no '%s' in: %s (%s)", what, world->store->error, failed ? failed : "");
}

/* The fence refuses the commit, and the session finds out why. */
static void test_lost_commits(void **state)
{
    World *world = *state;
    lose_two(world);
    assert_int_equal(commit_one(world), TFY_E_DATA);
    check_said(world,
               "has lost acknowledged commits: session 1 has had 1 by the database, and 3 were acknowledged. 1 of");
    assert_true(is_held_lost(world));
    /* A person lets it go on. */
    int64_t owner = 0;
    assert_int_equal(world->cluster->ops->release(world->cluster, world->run, &owner), 1);
    assert_false(is_held_lost(world));
}

/* The answer to a commit got lost together with those before. */
static void test_lost_commits_are_found_by_settling(void **state)
{
    World *world = *state;
    bool happened;
    lose_two(world);
    const TfyStoreHold hold = {world->hold.session, world->hold.commit + 1};
    assert_int_equal(world->store->ops->settle(world->store, &hold, &happened), TFY_E_DATA);
    assert_false(happened);
    check_said(world, "has lost acknowledged commits");
    assert_true(is_held_lost(world));
}

/* Neither the session nor the claim of its run is there any more, and somebody else has the run. */
static void test_a_lost_session(void **state)
{
    World *world = *state;
    TfyLogRun row = {.uuid = "another run", .root = 1, .program = 1};
    lose_two(world);
    postgres_do(&server, "INSERT INTO tfy.session(id, lease_ms) VALUES (77, 3000)");
    postgres_do(&server, "UPDATE tfy.run SET owner = 77");
    postgres_do(&server, "DELETE FROM tfy.session WHERE id = %d", (int)world->hold.session);
    const int64_t other = world->cluster->ops->submit(world->cluster, world->queue, &row, NULL);
    assert_int_equal(commit_one(world), TFY_E_DATA);
    check_said(world, "has had 0 by the database");
    assert_true(is_held_lost(world));
    assert_int_equal(
        postgres_number(&server, "SELECT count(*) FROM tfy.run WHERE id = %d AND held IS NULL", (int)other), 1);
    /* A run that is not there either is counted. */
    postgres_do(&server, "DELETE FROM tfy.run WHERE id = %d", (int)world->run);
    assert_int_equal(commit_one(world), TFY_E_DATA);
    check_said(world, "0 of its runs are held");
    check_said(world, "; 1 more are not there");
}

/* A session that was ended, and has lost nothing, holds nothing. */
static void test_an_ended_session_has_lost_nothing(void **state)
{
    World *world = *state;
    for (int i = 0; i < 3; i++) commit_until_it_is(world);
    postgres_do(&server, "UPDATE tfy.session SET state = 9");
    assert_int_equal(commit_one(world), TFY_STORE_FENCED);
    assert_false(is_held_lost(world));
}

/* Whatever fails meanwhile: the session does not end as if others could continue its runs, until they are held. */
static void test_a_loss_while_calls_fail(void **state)
{
    World *world = *state;
    const TfyPgOpen open = {
        .address = server.address, .session = world->hold.session, .lease_ms = 6000, .api = &failing};
    make_failing();
    world->store->ops->close(world->store, true);
    int at = 1, found = 0;
    do {
        char error[TFY_ERROR_TEXT];
        bool happened, unknown = false;
        arm(0);
        if (tfy__pg_open(&world->store, &open, error)) fail_msg("%s", error);
        lose_two(world);
        arm(at++);
        int code = TFY_STORE_AWAY;
        for (int i = 0; may_again(code) && i < 1000; i++) {
            const TfyStoreHold hold = {world->hold.session, world->hold.commit + 1};
            code = unknown ? world->store->ops->settle(world->store, &hold, &happened) : commit_one(world);
            unknown |= code == TFY_STORE_UNKNOWN;
            if (may_again(code)) poll(NULL, 0, 2);
        }
        if (code != TFY_E_DATA) fail_msg("%d: %s (%s)", code, world->store->error, failed ? failed : "");
        check_said(world, "has lost acknowledged commits");
        assert_true(is_held_lost(world));
        found += failed != NULL;
        /* As it was. */
        world->store->ops->close(world->store, true);
        world->store = NULL;
        world->hold.commit -= 2;
        world->length -= 2;
        postgres_do(&server, "UPDATE tfy.run SET held = NULL");
    } while (failed);
    assert_true(found > 20);
}

/* ---- a disk without room ---- */

static void test_full_disk(void **state)
{
    World *world = *state;
    char place[80], command[240];
    snprintf(place, sizeof place, "%s/small", server.directory);
    assert_int_equal(mkdir(place, 0700), 0);
    if (mount("tfy", place, "tmpfs", 0, "size=2m") != 0) skip(); /* only root may */
    snprintf(command, sizeof command, "chown %u:%u %s && chmod 700 %s", server.user, server.group, place, place);
    assert_int_equal(system(command), 0);
    postgres_do(&server, "CREATE TABLESPACE small LOCATION '%s'", place);
    postgres_do(&server, "ALTER TABLE tfy.record_0 SET TABLESPACE small");
    int code = 0;
    for (int i = 0; i < 10000 && !code; i++) {
        begin(world);
        for (int j = 1; j <= 1000; j++) put(world, world->length + j);
        code = world->store->ops->commit(world->store);
        if (code) break;
        world->hold.commit++;
        world->length += 1000;
    }
    if (code != TFY_STORE_FULL) fail_msg("%d: %s", code, world->store->error);
    check_all_is_there(world);
    /* There is room again: the same transaction happens. */
    postgres_do(&server, "ALTER TABLE tfy.record_0 SET TABLESPACE pg_default");
    assert_int_equal(world->store->ops->commit(world->store), 0);
    world->hold.commit++;
    world->length += 1000;
    check_all_is_there(world);
    postgres_do(&server, "CHECKPOINT");
    postgres_do(&server, "DROP TABLESPACE small");
    assert_int_equal(umount2(place, MNT_DETACH), 0);
}

#define IN_WORLD(X)                                                                                                    \
    X(test_each_call_fails)                                                                                            \
    X(test_cut_between_commits)                                                                                        \
    X(test_restarts)                                                                                                   \
    X(test_a_view_waits_for_the_server)                                                                                \
    X(test_cut_at_any_moment)                                                                                          \
    X(test_a_log_lives_on)                                                                                             \
    X(test_codes)                                                                                                      \
    X(test_locked_rows)                                                                                                \
    X(test_a_commit_that_only_the_primary_has)                                                                         \
    X(test_lost_commits)                                                                                               \
    X(test_lost_commits_are_found_by_settling)                                                                         \
    X(test_a_lost_session)                                                                                             \
    X(test_an_ended_session_has_lost_nothing)                                                                          \
    X(test_a_loss_while_calls_fail)                                                                                    \
    X(test_full_disk)

#define IN_POSTGRES(test_)                                                                                             \
    static void postgres_##test_(void **state)                                                                         \
    {                                                                                                                  \
        if (!*state) skip();                                                                                           \
        test_(state);                                                                                                  \
    }
IN_WORLD(IN_POSTGRES)

int main(void)
{
#define TEST(test_) cmocka_unit_test_setup_teardown(postgres_##test_, make_world, remove_world),
    const struct CMUnitTest tests[] = {IN_WORLD(TEST)};
    return cmocka_run_group_tests_name("wal_postgres_faults", tests, start_server, stop_server);
}

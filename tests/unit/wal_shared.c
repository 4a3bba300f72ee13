/* wal_shared.c: databases that several sessions write, in memory and in PostgreSQL: who may write, what happens once, and what is
 * refused. */
#include "wal_fixture.h"

#include "postgres.h"
#include "proxy.h"
#include "wal/store/shared.h"

enum { WORKERS = 2 };

typedef struct World {
    TfyShared *shared; /* NULL: it is in PostgreSQL */
    Postgres *server;
    Proxy proxy; /* before the server */
    TfyStore *stores[WORKERS];
    TfyStoreHold holds[WORKERS]; /* of the next commit */
    int64_t run;
    TfySharedFate fate; /* of the next requests */
} World;

static Postgres postgres; /* one for all tests */

static TfySharedFate tell_fate(void *state, const TfyStoreHold *hold)
{
    const World *world = state;
    assert_true(hold->session > 0);
    return world->fate;
}

/* ---- the database, past its stores ---- */

static void set_fate(World *world, TfySharedFate fate)
{
    static const ProxyFate fates[] = {[TFY_FATE_ARRIVES] = PROXY_ARRIVES,
                                      [TFY_FATE_AWAY] = PROXY_AWAY,
                                      [TFY_FATE_LOST] = PROXY_LOST,
                                      [TFY_FATE_LATE] = PROXY_LATE,
                                      [TFY_FATE_ANSWER_IS_LOST] = PROXY_ANSWER_IS_LOST};
    world->fate = fate;
    if (!world->shared) proxy_fate(&world->proxy, fates[fate]);
}

static bool late_arrives(World *world)
{
    return world->shared ? tfy__shared_late_arrives(world->shared) : proxy_deliver(&world->proxy);
}

/* Gives the run to a session, whoever has it. */
static void claim(World *world, int worker)
{
    const int64_t session = world->holds[worker].session;
    if (!world->shared) {
        postgres_do(world->server, "UPDATE tfy.run SET owner = %d, claims = claims + 1 WHERE id = %d", (int)session,
                    (int)world->run);
        return;
    }
    TfySharedRun *run = tfy__shared_run(world->shared, world->run);
    run->owner = session;
    run->claims++;
}

static void end_session(World *world, int worker)
{
    const int64_t session = world->holds[worker].session;
    if (world->shared)
        tfy__shared_session(world->shared, session)->state = TFY_SESSION_ENDED;
    else
        postgres_do(world->server, "UPDATE tfy.session SET state = 9 WHERE id = %d", (int)session);
}

static int64_t beat(World *world, int worker)
{
    const int64_t session = world->holds[worker].session;
    return world->shared ? tfy__shared_session(world->shared, session)->beat
                         : postgres_number(world->server, "SELECT beat FROM tfy.session WHERE id = %d", (int)session);
}

/* So many arrivals. */
static void set_mail(World *world, int64_t count)
{
    for (int64_t n = 1; world->shared && n <= count; n++)
        assert_int_equal(tfy__shared_send(world->shared, &(TfyMail){.run = world->run, .body = "{}", .sender = "bea"}),
                         n);
    if (!world->shared)
        postgres_do(world->server, "UPDATE tfy.run SET mail = %d WHERE id = %d", (int)count, (int)world->run);
}

static int64_t owner(World *world)
{
    return world->shared ? tfy__shared_run(world->shared, world->run)->owner
                         : postgres_number(world->server, "SELECT coalesce(owner, 0) FROM tfy.run WHERE id = %d",
                                           (int)world->run);
}

static int64_t claims(World *world)
{
    return world->shared ? tfy__shared_run(world->shared, world->run)->claims
                         : postgres_number(world->server, "SELECT claims FROM tfy.run WHERE id = %d", (int)world->run);
}

static int64_t due_ms(World *world)
{
    return world->shared ? tfy__shared_run(world->shared, world->run)->due_ms
                         : postgres_number(world->server, "SELECT due FROM tfy.run WHERE id = %d", (int)world->run);
}

static int64_t length(World *world)
{
    return world->shared
               ? (int64_t)tfy__shared_run(world->shared, world->run)->records.count
               : postgres_number(world->server, "SELECT count(*) FROM tfy.record WHERE run = %d", (int)world->run);
}

/* ---- two workers and a run ---- */

static int make_world(void **state)
{
    static World world;
    world = (World){.shared = tfy__shared_new()};
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(tfy__shared_join(world.shared, &world.stores[i]), 0);
        world.holds[i] = (TfyStoreHold){.session = tfy__shared_open_session(world.shared, 3000), .commit = 1};
    }
    world.shared->fate = tell_fate;
    world.shared->fate_state = &world;
    TfyLogRun row = {.uuid = "a run", .root = 1, .program = 1};
    world.run = tfy__shared_submit(world.shared, &row, NULL);
    claim(&world, 0);
    *state = &world;
    return 0;
}

/* *state NULL: there is no server. */
static int make_world_in_postgres(void **state)
{
    static World world;
    char error[TFY_ERROR_TEXT], address[300];
    world = (World){.server = &postgres, .run = 1};
    *state = NULL;
    if (!postgres.directory[0]) return 0;
    assert_true(postgres_fresh(&postgres, &(TfyPgMake){.lease_ms = 3000}));
    assert_true(proxy_start(&world.proxy, postgres.directory));
    char *name = strstr(postgres.address, "///") + 3;
    snprintf(address, sizeof address, "postgresql:///%.*s?host=%s&user=tfy", (int)strcspn(name, "?"), name,
             world.proxy.directory);
    postgres_do(&postgres, "INSERT INTO tfy.run(uuid, program, root, state, started, sum)"
                           " VALUES (gen_random_uuid(), 1, 1, 0, 0, 0)");
    for (int i = 0; i < WORKERS; i++) {
        postgres_do(&postgres, "INSERT INTO tfy.session(lease_ms) VALUES (3000)");
        world.holds[i] = (TfyStoreHold){.session = i + 1, .commit = 1};
        const TfyPgOpen open = {.address = address, .session = i + 1, .lease_ms = 30000};
        if (tfy__pg_open(&world.stores[i], &open, error)) fail_msg("%s", error);
    }
    claim(&world, 0);
    *state = &world;
    return 0;
}

static int remove_world(void **state)
{
    World *world = *state;
    if (!world) return 0;
    for (int i = 0; i < WORKERS; i++) world->stores[i]->ops->close(world->stores[i], false);
    if (world->shared)
        tfy__shared_free(world->shared);
    else
        proxy_stop(&world->proxy);
    return 0;
}

static int put(World *world, int worker, int64_t lsn, const char *payload)
{
    const TfyLogRecord record = {.run = world->run,
                                 .tid = 1,
                                 .lsn = lsn,
                                 .prev = lsn - 1,
                                 .v = TFY_RECORD_V,
                                 .type = TFY_R_VALUE,
                                 .payload = payload,
                                 .payload_len = (uint32_t)strlen(payload)},
                       *const list = &record;
    return world->stores[worker]->ops->put_records(world->stores[worker], &list, 1);
}

/* A transaction with one record; lsn 0: with none. */
static int commit_one(World *world, int worker, int64_t lsn)
{
    TfyStore *store = world->stores[worker];
    assert_int_equal(store->ops->begin(store, &world->holds[worker]), 0);
    if (lsn) assert_int_equal(put(world, worker, lsn, "{}"), 0);
    const int code = store->ops->commit(store);
    if (code) store->ops->rollback(store);
    if (!code) world->holds[worker].commit++;
    return code;
}

static void test_an_ended_session_writes_nothing(void **state)
{
    World *world = *state;
    assert_int_equal(commit_one(world, 0, 1), 0);
    end_session(world, 0);
    assert_int_equal(commit_one(world, 0, 2), TFY_STORE_FENCED);
    bool happened = true;
    assert_int_equal(world->stores[0]->ops->settle(world->stores[0], &world->holds[0], &happened), TFY_STORE_FENCED);
    assert_false(happened);
    assert_int_equal(length(world), 1);
}

static void test_a_commit_has_its_number(void **state)
{
    World *world = *state;
    assert_int_equal(commit_one(world, 0, 1), 0);
    world->holds[0].commit--; /* again */
    assert_int_equal(commit_one(world, 0, 2), TFY_STORE_FENCED);
    world->holds[0].commit += 2; /* one left out: to PostgreSQL, one that was acknowledged and is gone */
    const int code = commit_one(world, 0, 2);
    assert_true(code == TFY_STORE_FENCED || code == TFY_E_DATA);
    assert_int_equal(length(world), 1);
}

static void test_only_the_owner_writes(void **state)
{
    World *world = *state;
    assert_int_equal(commit_one(world, 1, 1), TFY_E_DATA);
    assert_int_equal(length(world), 0);
    claim(world, 1);
    assert_int_equal(commit_one(world, 1, 1), 0);
    assert_int_equal(commit_one(world, 0, 2), TFY_E_DATA);
    assert_int_equal(length(world), 1);
}

static void test_records_are_dense(void **state)
{
    World *world = *state;
    assert_int_equal(commit_one(world, 0, 2), TFY_E_DATA);
    assert_int_equal(commit_one(world, 0, 1), 0);
    assert_int_equal(commit_one(world, 0, 1), TFY_E_DATA);
    assert_int_equal(commit_one(world, 0, 3), TFY_E_DATA);
    assert_int_equal(length(world), 1);
}

/* Nothing of a transaction happens if one of its rows is refused: neither records nor tasks, runs, programs and gaps before it. */
static void test_all_or_nothing(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    const TfyStoreTask task = {.tid = 1, .run = world->run, .path = "1", .born = 1};
    const TfyLogRun begun = {.id = world->run + 1, .uuid = "another", .root = 1, .program = 1};
    const TfyStoreProgram program = {.id = 1, .hash = "p", .tfyc = "1", .source = "s", .layout = "{}"};
    assert_int_equal(store->ops->begin(store, &world->holds[0]), 0);
    assert_int_equal(put(world, 0, 1, "{\"a\":1}"), 0);
    assert_int_equal(store->ops->put_task(store, &task, true), 0);
    assert_int_equal(store->ops->put_run(store, &begun, TFY_RUN_BEGINS), 0);
    assert_int_equal(store->ops->put_program(store, &program), 0);
    assert_int_equal(store->ops->put_gap(store, &(TfyStoreGap){.run = world->run, .lsn = 1}), 0);
    assert_int_equal(put(world, 0, 3, "{}"), 0); /* a hole */
    assert_int_equal(store->ops->commit(store), TFY_E_DATA);
    TfyStoreTask found;
    TfyLogRun run;
    TfyStoreProgram known;
    TfyStoreGap gap;
    assert_int_equal(length(world), 0);
    assert_int_equal(store->ops->get_task(store, world->run, 1, &found), TFY_E_ABSENT);
    assert_int_equal(store->ops->get_run(store, begun.id, &run), TFY_E_ABSENT);
    assert_int_equal(store->ops->get_program(store, 1, NULL, &known), TFY_E_ABSENT);
    assert_int_equal(store->ops->get_gap(store, world->run, 1, &gap), TFY_E_ABSENT);
    assert_int_equal(commit_one(world, 0, 1), 0); /* the number was not used up */
}

static void test_unknown_is_settled(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    const struct {
        TfySharedFate fate;
        bool happens;
    } rows[] = {{TFY_FATE_LOST, false}, {TFY_FATE_ANSWER_IS_LOST, true}};
    for (size_t i = 0; i < 2; i++) {
        bool happened = !rows[i].happens;
        set_fate(world, rows[i].fate);
        assert_int_equal(commit_one(world, 0, length(world) + 1), TFY_STORE_UNKNOWN);
        assert_int_equal(store->ops->settle(store, &world->holds[0], &happened), 0);
        assert_int_equal(happened, rows[i].happens);
        world->holds[0].commit += happened;
        set_fate(world, TFY_FATE_ARRIVES);
        assert_int_equal(commit_one(world, 0, length(world) + 1), 0);
    }
    assert_int_equal(length(world), 3);
}

static void test_away_may_be_tried_again(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    set_fate(world, TFY_FATE_AWAY);
    assert_int_equal(store->ops->begin(store, &world->holds[0]), 0);
    assert_int_equal(put(world, 0, 1, "{}"), 0);
    assert_int_equal(store->ops->commit(store), TFY_STORE_AWAY);
    set_fate(world, TFY_FATE_ARRIVES);
    int code = TFY_STORE_AWAY; /* it connects again after a pause */
    for (int i = 0; code == TFY_STORE_AWAY && i < 100; i++) {
        code = store->ops->commit(store);
        if (code == TFY_STORE_AWAY) poll(NULL, 0, 20);
    }
    assert_int_equal(code, 0);
    assert_int_equal(length(world), 1);
}

/* A request under way, and its repetition under the same number: one of the two happens, in either order. */
static void test_late_and_repeated_is_once(void **state)
{
    World *world = *state;
    for (int late_first = 0; late_first < 2; late_first++) {
        bool happened;
        const int64_t lsn = length(world) + 1;
        set_fate(world, TFY_FATE_LATE);
        assert_int_equal(commit_one(world, 0, lsn), TFY_STORE_UNKNOWN);
        assert_int_equal(world->stores[0]->ops->settle(world->stores[0], &world->holds[0], &happened), 0);
        assert_false(happened);
        if (late_first) assert_true(late_arrives(world));
        set_fate(world, TFY_FATE_ARRIVES);
        assert_int_equal(commit_one(world, 0, lsn), late_first ? TFY_STORE_FENCED : 0);
        if (!late_first) assert_true(late_arrives(world));
        assert_false(late_arrives(world));
        assert_int_equal(length(world), lsn);
        world->holds[0].commit = beat(world, 0) + 1;
    }
}

/* Each session has its own connection. The database forgets what is under way when it restarts. */
static void test_late_ones_of_a_session(void **state)
{
    World *world = *state;
    world->fate = TFY_FATE_LATE;
    for (int worker = 0; worker < WORKERS; worker++) assert_int_equal(commit_one(world, worker, 0), TFY_STORE_UNKNOWN);
    const int64_t second = world->holds[1].session;
    assert_true(tfy__shared_late_of(world->shared, second));
    assert_false(tfy__shared_late_of(world->shared, second));
    assert_int_equal(tfy__shared_session(world->shared, second)->beat, 1);
    tfy__shared_late_lost(world->shared);
    assert_false(tfy__shared_late_arrives(world->shared));
    assert_int_equal(tfy__shared_session(world->shared, world->holds[0].session)->beat, 0);
}

/* A sender that has heard nothing submits again. */
static void test_submitted_twice_is_one_run(void **state)
{
    World *world = *state;
    TfyLogRun row = {.uuid = "another run", .root = 1, .program = 1}, again = row;
    const int64_t id = tfy__shared_submit(world->shared, &row, "{}");
    assert_int_equal(id, world->run + 1);
    assert_int_equal(tfy__shared_submit(world->shared, &again, "{}"), id);
    assert_int_equal(again.id, id);
    assert_int_equal(world->shared->runs.count, 2);
    assert_int_equal(tfy__shared_run(world->shared, id)->records.count, 1);
}

/* What a stopped worker sent arrives behind the end of its session. */
static void test_late_after_the_end_is_nothing(void **state)
{
    World *world = *state;
    set_fate(world, TFY_FATE_LATE);
    assert_int_equal(commit_one(world, 0, 1), TFY_STORE_UNKNOWN);
    end_session(world, 0);
    claim(world, 1);
    assert_true(late_arrives(world));
    assert_int_equal(length(world), 0);
    set_fate(world, TFY_FATE_ARRIVES);
    assert_int_equal(commit_one(world, 1, 1), 0);
}

static int leave(World *world, int64_t mail, int64_t due_ms)
{
    TfyStore *store = world->stores[0];
    const TfyStoreLeaving leaving = {.run = world->run, .mail = mail, .due_ms = due_ms};
    assert_int_equal(store->ops->begin(store, &world->holds[0]), 0);
    assert_int_equal(store->ops->put_leaving(store, &leaving, 1), 0);
    const int code = store->ops->commit(store);
    if (!code) world->holds[0].commit++;
    return code;
}

static void test_a_run_leaves_unless_something_came(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    set_mail(world, 3);
    assert_int_equal(leave(world, 2, INT64_MAX), 0);
    assert_int_equal(store->stayed_count, 1);
    assert_int_equal(store->stayed[0].run, world->run);
    assert_int_equal(owner(world), world->holds[0].session);
    assert_int_equal(leave(world, 3, INT64_MAX), 0);
    assert_int_equal(store->stayed_count, 0);
    assert_int_equal(owner(world), 0);
    assert_true(due_ms(world) == INT64_MAX);
    claim(world, 0);
    assert_int_equal(leave(world, -1, 0), 0); /* released */
    assert_int_equal(store->stayed_count, 0);
    assert_int_equal(due_ms(world), 0);
    assert_int_equal(commit_one(world, 0, 1), TFY_E_DATA); /* it is not its any more */
}

/* Whether a run left is known also when the answer was lost. */
static void test_what_stayed_is_settled(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    bool happened = false;
    set_mail(world, 1);
    set_fate(world, TFY_FATE_ANSWER_IS_LOST);
    assert_int_equal(leave(world, 0, INT64_MAX), TFY_STORE_UNKNOWN);
    assert_int_equal(store->ops->settle(store, &world->holds[0], &happened), 0);
    assert_true(happened);
    assert_int_equal(store->stayed_count, 1);
    assert_int_equal(store->stayed[0].run, world->run);
}

/* The answer got lost, and meanwhile the run has left and was claimed again: it has not stayed. */
static void test_what_left_and_came_back(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    bool happened = false;
    const TfyStoreLeaving leaving = {.run = world->run, .claims = claims(world)};
    set_fate(world, TFY_FATE_ANSWER_IS_LOST);
    assert_int_equal(store->ops->begin(store, &world->holds[0]), 0);
    assert_int_equal(store->ops->put_leaving(store, &leaving, 1), 0);
    assert_int_equal(store->ops->commit(store), TFY_STORE_UNKNOWN);
    set_fate(world, TFY_FATE_ARRIVES);
    claim(world, 0);
    assert_int_equal(store->ops->settle(store, &world->holds[0], &happened), 0);
    assert_true(happened);
    assert_int_equal(store->stayed_count, 0);
}

#define EACH_TEST(X)                                                                                                   \
    X(test_an_ended_session_writes_nothing)                                                                            \
    X(test_a_commit_has_its_number)                                                                                    \
    X(test_only_the_owner_writes)                                                                                      \
    X(test_records_are_dense)                                                                                          \
    X(test_all_or_nothing)                                                                                             \
    X(test_unknown_is_settled)                                                                                         \
    X(test_away_may_be_tried_again)                                                                                    \
    X(test_late_and_repeated_is_once)                                                                                  \
    X(test_late_after_the_end_is_nothing)                                                                              \
    X(test_a_run_leaves_unless_something_came)                                                                         \
    X(test_what_stayed_is_settled)                                                                                     \
    X(test_what_left_and_came_back)

#define IN_POSTGRES(test_)                                                                                             \
    static void postgres_##test_(void **state)                                                                         \
    {                                                                                                                  \
        if (!*state) skip();                                                                                           \
        test_(state);                                                                                                  \
    }
EACH_TEST(IN_POSTGRES)

static int start_postgres(void **state)
{
    (void)state;
    return postgres_make(&postgres) || !postgres_find(&postgres) ? 0 : -1;
}

static int stop_postgres(void **state)
{
    (void)state;
    postgres_remove(&postgres);
    return 0;
}

int main(void)
{
#define TEST(test_)       cmocka_unit_test_setup_teardown(test_, make_world, remove_world),
#define TEST_IN_PG(test_) cmocka_unit_test_setup_teardown(postgres_##test_, make_world_in_postgres, remove_world),
    const struct CMUnitTest tests[] = {EACH_TEST(TEST) TEST(test_late_ones_of_a_session)
                                           TEST(test_submitted_twice_is_one_run) EACH_TEST(TEST_IN_PG)};
    return cmocka_run_group_tests_name("wal_shared", tests, start_postgres, stop_postgres);
}

/* wal_shared.c: the database in memory that several sessions write: who may write, what happens once, and what is refused. */
#include "wal_fixture.h"

#include "wal/store/shared.h"

enum { WORKERS = 2 };

typedef struct World {
    TfyShared *shared;
    TfyStore *stores[WORKERS];
    TfyStoreHold holds[WORKERS]; /* of the next commit */
    int64_t run;
    TfySharedFate fate; /* of the next requests */
} World;

static TfySharedFate tell_fate(void *state, const TfyStoreHold *hold)
{
    const World *world = state;
    assert_true(hold->session > 0);
    return world->fate;
}

static void claim(World *world, int worker)
{
    TfySharedRun *run = tfy__shared_run(world->shared, world->run);
    run->owner = world->holds[worker].session;
    run->claims++;
}

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

static int remove_world(void **state)
{
    World *world = *state;
    for (int i = 0; i < WORKERS; i++) world->stores[i]->ops->close(world->stores[i], false);
    tfy__shared_free(world->shared);
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

static int64_t length(const World *world)
{
    return (int64_t)tfy__shared_run(world->shared, world->run)->records.count;
}

static void test_an_ended_session_writes_nothing(void **state)
{
    World *world = *state;
    assert_int_equal(commit_one(world, 0, 1), 0);
    tfy__shared_session(world->shared, world->holds[0].session)->state = TFY_SESSION_ENDED;
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
    world->holds[0].commit += 2; /* one left out */
    assert_int_equal(commit_one(world, 0, 2), TFY_STORE_FENCED);
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
        world->fate = rows[i].fate;
        assert_int_equal(commit_one(world, 0, length(world) + 1), TFY_STORE_UNKNOWN);
        assert_int_equal(store->ops->settle(store, &world->holds[0], &happened), 0);
        assert_int_equal(happened, rows[i].happens);
        world->holds[0].commit += happened;
        world->fate = TFY_FATE_ARRIVES;
        assert_int_equal(commit_one(world, 0, length(world) + 1), 0);
    }
    assert_int_equal(length(world), 3);
}

static void test_away_may_be_tried_again(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    world->fate = TFY_FATE_AWAY;
    assert_int_equal(store->ops->begin(store, &world->holds[0]), 0);
    assert_int_equal(put(world, 0, 1, "{}"), 0);
    assert_int_equal(store->ops->commit(store), TFY_STORE_AWAY);
    world->fate = TFY_FATE_ARRIVES;
    assert_int_equal(store->ops->commit(store), 0);
    assert_int_equal(length(world), 1);
}

/* A request under way, and its repetition under the same number: one of the two happens, in either order. */
static void test_late_and_repeated_is_once(void **state)
{
    World *world = *state;
    for (int late_first = 0; late_first < 2; late_first++) {
        bool happened;
        const int64_t lsn = length(world) + 1;
        world->fate = TFY_FATE_LATE;
        assert_int_equal(commit_one(world, 0, lsn), TFY_STORE_UNKNOWN);
        assert_int_equal(world->stores[0]->ops->settle(world->stores[0], &world->holds[0], &happened), 0);
        assert_false(happened);
        if (late_first) assert_true(tfy__shared_late_arrives(world->shared));
        world->fate = TFY_FATE_ARRIVES;
        assert_int_equal(commit_one(world, 0, lsn), late_first ? TFY_STORE_FENCED : 0);
        if (!late_first) assert_true(tfy__shared_late_arrives(world->shared));
        assert_false(tfy__shared_late_arrives(world->shared));
        assert_int_equal(length(world), lsn);
        world->holds[0].commit = tfy__shared_session(world->shared, world->holds[0].session)->beat + 1;
    }
}

/* What a stopped worker sent arrives behind the end of its session. */
static void test_late_after_the_end_is_nothing(void **state)
{
    World *world = *state;
    world->fate = TFY_FATE_LATE;
    assert_int_equal(commit_one(world, 0, 1), TFY_STORE_UNKNOWN);
    tfy__shared_session(world->shared, world->holds[0].session)->state = TFY_SESSION_ENDED;
    claim(world, 1);
    assert_true(tfy__shared_late_arrives(world->shared));
    assert_int_equal(length(world), 0);
    world->fate = TFY_FATE_ARRIVES;
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
    TfySharedRun *run = tfy__shared_run(world->shared, world->run);
    for (int64_t n = 1; n <= 3; n++)
        assert_int_equal(tfy__shared_send(world->shared, world->run, &(TfyStoreMail){.body = "{}", .sender = "bea"}),
                         n);
    assert_int_equal(leave(world, 2, INT64_MAX), 0);
    assert_int_equal(store->stayed_count, 1);
    assert_int_equal(store->stayed[0], world->run);
    assert_int_equal(run->owner, world->holds[0].session);
    assert_int_equal(leave(world, 3, INT64_MAX), 0);
    assert_int_equal(store->stayed_count, 0);
    assert_int_equal(run->owner, 0);
    assert_true(run->due_ms == INT64_MAX);
    claim(world, 0);
    assert_int_equal(leave(world, -1, 0), 0); /* released */
    assert_int_equal(store->stayed_count, 0);
    assert_int_equal(run->due_ms, 0);
    assert_int_equal(commit_one(world, 0, 1), TFY_E_DATA); /* it is not its any more */
}

/* Whether a run left is known also when the answer was lost. */
static void test_what_stayed_is_settled(void **state)
{
    World *world = *state;
    TfyStore *store = world->stores[0];
    bool happened = false;
    assert_int_equal(tfy__shared_send(world->shared, world->run, &(TfyStoreMail){.body = "{}", .sender = "bea"}), 1);
    world->fate = TFY_FATE_ANSWER_IS_LOST;
    assert_int_equal(leave(world, 0, INT64_MAX), TFY_STORE_UNKNOWN);
    assert_int_equal(store->ops->settle(store, &world->holds[0], &happened), 0);
    assert_true(happened);
    assert_int_equal(store->stayed_count, 1);
    assert_int_equal(store->stayed[0], world->run);
}

#define SHARED_TEST(test) cmocka_unit_test_setup_teardown(test, make_world, remove_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARED_TEST(test_an_ended_session_writes_nothing),
        SHARED_TEST(test_a_commit_has_its_number),
        SHARED_TEST(test_only_the_owner_writes),
        SHARED_TEST(test_records_are_dense),
        SHARED_TEST(test_all_or_nothing),
        SHARED_TEST(test_unknown_is_settled),
        SHARED_TEST(test_away_may_be_tried_again),
        SHARED_TEST(test_late_and_repeated_is_once),
        SHARED_TEST(test_late_after_the_end_is_nothing),
        SHARED_TEST(test_a_run_leaves_unless_something_came),
        SHARED_TEST(test_what_stayed_is_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

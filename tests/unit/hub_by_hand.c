/* hub_by_hand.c: the hub of a shared database without its thread, over a database in memory whose answers get lost, that is away
 * for a while, or that refuses: what is handed to the loop, and what becomes of silent sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hub/hub_cluster.h"
#include "wal/store/shared.h"

enum { HUBS = 2, LEASE_MS = 3000, PROGRAM = 1 };

typedef struct World {
    TfyShared *shared;
    TfyHub *hubs[HUBS];
    TfyCluster *inner[HUBS]; /* what the hubs' handles stand before */
    TfyCluster handles[HUBS];
    int64_t now_ms;
    int claim_fate, away; /* codes: 0: it is well; the claim happens nevertheless */
    int asked;            /* calls while it was away */
    int reading_ms;       /* how long a request for the sessions that live is on its way */
    int told;             /* that runs wait for a process of their own; or that such a process has none */
    uint8_t number;
} World;

static World world;

/* ---- a handle in front of the database's ---- */

static TfyCluster *inner_of(const TfyCluster *cluster)
{
    return world.inner[cluster - world.handles];
}

static int away(TfyCluster *cluster)
{
    world.asked++;
    snprintf(cluster->error, sizeof cluster->error, "column \"beat\" does not exist");
    return world.away;
}

static int64_t open_session(TfyCluster *cluster, const TfyNewSession *session, int64_t *lease_ms)
{
    TfyCluster *inner = inner_of(cluster);
    return inner->ops->open_session(inner, session, lease_ms);
}

static int check_standbys(TfyCluster *cluster)
{
    return world.away ? away(cluster) : 0;
}

static int see_living(TfyCluster *cluster, TfySeeLiving *see, void *state)
{
    TfyCluster *inner = inner_of(cluster);
    world.now_ms += world.reading_ms;
    return world.away ? away(cluster) : inner->ops->see_living(inner, see, state);
}

static int end_session(TfyCluster *cluster, const TfySessionEnd *end)
{
    TfyCluster *inner = inner_of(cluster);
    return inner->ops->end_session(inner, end);
}

static int free_runs(TfyCluster *cluster, int64_t session, uint32_t most)
{
    TfyCluster *inner = inner_of(cluster);
    return world.away ? away(cluster) : inner->ops->free_runs(inner, session, most);
}

static int64_t queue(TfyCluster *cluster, const char *pool, int64_t program)
{
    TfyCluster *inner = inner_of(cluster);
    return inner->ops->queue(inner, pool, program);
}

static int claim(TfyCluster *cluster, int64_t session, int64_t queue_id, bool solo, TfyClaimed *claimed, uint32_t room)
{
    TfyCluster *inner = inner_of(cluster);
    if (world.away) return away(cluster);
    const int count = inner->ops->claim(inner, session, queue_id, solo, claimed, room);
    return world.claim_fate ? world.claim_fate : count;
}

static int solo_waits(TfyCluster *cluster, int64_t queue_id)
{
    TfyCluster *inner = inner_of(cluster);
    return world.away ? away(cluster) : inner->ops->solo_waits(inner, queue_id);
}

static int see_owned(TfyCluster *cluster, int64_t session, int64_t after, TfyClaimed *owned, uint32_t room)
{
    TfyCluster *inner = inner_of(cluster);
    return inner->ops->see_owned(inner, session, after, owned, room);
}

static int wake_due(TfyCluster *cluster, uint32_t most)
{
    TfyCluster *inner = inner_of(cluster);
    return world.away ? away(cluster) : inner->ops->wake_due(inner, most);
}

static int see_mail(TfyCluster *cluster, int64_t run, int64_t after, bool open, TfySeeMail *see, void *state)
{
    TfyCluster *inner = inner_of(cluster);
    return inner->ops->see_mail(inner, run, after, open, see, state);
}

static int see_inbox(TfyCluster *cluster, int64_t session, TfySeeMail *see, void *state)
{
    TfyCluster *inner = inner_of(cluster);
    return world.away ? away(cluster) : inner->ops->see_inbox(inner, session, see, state);
}

static void close_handle(TfyCluster *cluster)
{
    TfyCluster *inner = inner_of(cluster);
    inner->ops->close(inner);
}

static const TfyClusterOps ops = {.open_session = open_session,
                                  .check_standbys = check_standbys,
                                  .see_living = see_living,
                                  .end_session = end_session,
                                  .free_runs = free_runs,
                                  .queue = queue,
                                  .claim = claim,
                                  .solo_waits = solo_waits,
                                  .see_owned = see_owned,
                                  .wake_due = wake_due,
                                  .see_mail = see_mail,
                                  .see_inbox = see_inbox,
                                  .close = close_handle};

/* ---- the world ---- */

static int64_t clock_ms(void *state)
{
    (void)state;
    return world.now_ms;
}

static int join(void *state, int64_t session, int64_t lease_ms, TfyStore **store, char *error_text)
{
    (void)state, (void)session, (void)lease_ms, (void)error_text;
    return tfy__shared_join(world.shared, store);
}

static void count_call(void *state)
{
    (void)state;
    world.told++;
}

static void open_hub_of(int at, bool solo, uint32_t loops)
{
    char error[TFY_ERROR_TEXT] = "";
    assert_int_equal(tfy__shared_cluster(&world.inner[at], world.shared, clock_ms, NULL), 0);
    world.handles[at] = (TfyCluster){.ops = &ops};
    const TfyHubOpen open = {.cluster = &world.handles[at],
                             .join = join,
                             .session = {.lease_ms = LEASE_MS},
                             .by_hand_ms = clock_ms,
                             .solo = solo,
                             .loops = loops,
                             .solo_waits = count_call,
                             .solo_idle = solo ? count_call : NULL};
    if (tfy__hub_cluster_open(&world.hubs[at], &open, error) < 0) fail_msg("%s", error);
    assert_int_equal(world.hubs[at]->lease_ms, LEASE_MS);
}

static void open_hub_as(int at, bool solo)
{
    open_hub_of(at, solo, 0);
}

static void open_hub(int at)
{
    open_hub_as(at, false);
}

static int make_world(void **state)
{
    (void)state;
    world = (World){.shared = tfy__shared_new(), .now_ms = 1000000};
    for (int i = 0; i < HUBS; i++) open_hub(i);
    return 0;
}

static int remove_world(void **state)
{
    (void)state;
    for (int i = 0; i < HUBS; i++) tfy__hub_cluster_close(world.hubs[i], true);
    tfy__shared_free(world.shared);
    return 0;
}

static int64_t submit(void)
{
    TfyLogRun row = {.uuid = {7, [15] = ++world.number}, .root = 1, .program = PROGRAM};
    return tfy__shared_submit(world.shared, &row, "{}");
}

static int64_t post(int64_t run, const char *body)
{
    return tfy__shared_send(world.shared, &(TfyMail){.run = run, .body = body, .sender = "bea"});
}

/* A commit of the hub's session, as its log makes. */
static void beat(int at)
{
    tfy__shared_session(world.shared, world.hubs[at]->session)->beat++;
}

/* The hub's work for so long; sessions of `live` first hubs commit meanwhile. */
static void work(int at, int ms, int live)
{
    for (const int64_t until_ms = world.now_ms + ms; world.now_ms < until_ms; world.now_ms += 50) {
        for (int i = 0; i < live; i++)
            if (world.now_ms % 500 == 0) beat(i);
        if (world.hubs[at]) tfy__hub_cluster_work(world.hubs[at]);
    }
}

static int take_claims(int at, TfyClaim *claims, int room)
{
    TfyHub *hub = world.hubs[at];
    int count = 0;
    while (count < room && hub->ops->claimed(hub, &claims[count])) count++;
    return count;
}

/* ---- the tests ---- */

static void test_claims_are_handed_over_once(void **state)
{
    TfyClaim claims[8];
    TfyHub *hub = world.hubs[0];
    (void)state;
    int64_t ids[5];
    for (int i = 0; i < 5; i++) ids[i] = submit();
    hub->ops->want(hub, PROGRAM, 3, 0);
    work(0, 2500, 2);
    assert_int_equal(take_claims(0, claims, 8), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claims[i].run, ids[i]);
        assert_int_equal(claims[i].claims, 1);
    }
    work(0, 2500, 2);
    assert_int_equal(take_claims(0, claims, 8), 0); /* it had room for no more */
    hub->ops->want(hub, PROGRAM, 8, 0);
    work(0, 100, 2); /* at once */
    assert_int_equal(take_claims(0, claims, 8), 2);
    work(0, 5000, 2);
    assert_int_equal(take_claims(0, claims, 8), 0);
}

static void test_a_claim_whose_answer_got_lost(void **state)
{
    TfyClaim claims[8];
    TfyHub *hub = world.hubs[0];
    (void)state;
    const int64_t first = submit();
    hub->ops->want(hub, PROGRAM, 8, 0);
    work(0, 1500, 2);
    assert_int_equal(take_claims(0, claims, 8), 1);
    assert_int_equal(claims[0].run, first);
    const int64_t second = submit(), third = submit();
    assert_int_equal(post(third, "{}"), 1);
    world.claim_fate = TFY_STORE_UNKNOWN;
    work(0, 1500, 2);
    assert_int_equal(tfy__shared_run(world.shared, second)->owner, hub->session);
    assert_int_equal(take_claims(0, claims, 8), 2); /* found among its runs */
    assert_int_equal(claims[0].run, second);
    assert_int_equal(claims[1].run, third);
    assert_int_equal(claims[1].seen, 0);
    world.claim_fate = 0;
    work(0, 5000, 2);
    assert_int_equal(take_claims(0, claims, 8), 0);
}

/* The request was given up, and its answer was not waited for any more when the session's runs were read. */
static void test_a_claim_that_arrives_late(void **state)
{
    TfyClaim claims[8];
    TfyHub *hub = world.hubs[0];
    (void)state;
    const int64_t run = submit();
    work(0, 2000, 2);
    assert_true(tfy__shared_claim(world.shared, hub->session, run, world.now_ms));
    work(0, 35000, 2);
    assert_int_equal(take_claims(0, claims, 8), 1);
    assert_int_equal(claims[0].run, run);
    work(0, 70000, 2);
    assert_int_equal(take_claims(0, claims, 8), 0);
}

static void test_a_database_that_is_away(void **state)
{
    char text[TFY_ERROR_TEXT] = "";
    TfyClaim claims[8];
    TfyHub *hub = world.hubs[0];
    (void)state;
    submit();
    hub->ops->want(hub, PROGRAM, 8, 0);
    world.away = TFY_STORE_AWAY;
    work(0, 20000, 2);
    assert_in_range(world.asked, 8, 20); /* less and less often, up to every two seconds */
    assert_int_equal(hub->ops->failed(hub, text), 0);
    assert_int_equal(take_claims(0, claims, 8), 0);
    world.away = 0;
    work(0, 2500, 2);
    assert_int_equal(take_claims(0, claims, 8), 1);
    world.away = TFY_E_DATA; /* a wrong set-up, which time does not heal */
    work(0, 1500, 2);
    assert_int_equal(hub->ops->failed(hub, text), TFY_E_DATA);
    assert_non_null(strstr(text, "does not exist"));
    world.away = 0;
}

static void test_silent_sessions(void **state)
{
    TfyClaim claims[8];
    TfyHub *old = world.hubs[0], *hub = world.hubs[1];
    (void)state;
    const int64_t run = submit(), orphan = submit();
    old->ops->want(old, PROGRAM, 8, 0);
    work(0, 1500, 2);
    assert_int_equal(take_claims(0, claims, 8), 2);
    hub->ops->want(hub, PROGRAM, 8, 0);
    work(1, 2 * LEASE_MS, 2); /* both commit */
    assert_int_equal(tfy__shared_run(world.shared, run)->owner, old->session);
    /* Somebody has ended it and freed one of its runs, and then died. */
    for (int64_t until_ms = world.now_ms + 2 * LEASE_MS + 1000; world.now_ms < until_ms; world.now_ms += 50) {
        if (world.now_ms % 500 == 0) beat(1);
        tfy__hub_cluster_work(hub);
    }
    assert_int_equal(tfy__shared_session(world.shared, old->session)->state, TFY_SESSION_ENDED);
    assert_int_equal(take_claims(1, claims, 8), 2);
    assert_int_equal(claims[0].claims, 2);
    assert_int_equal(tfy__shared_run(world.shared, orphan)->owner, hub->session);
    /* A session that somebody ended without freeing its runs. */
    const int64_t dead = tfy__shared_open_session(world.shared, LEASE_MS), left = submit();
    assert_true(tfy__shared_claim(world.shared, dead, left, world.now_ms));
    assert_true(tfy__shared_end_session(world.shared, dead, 0));
    for (int64_t until_ms = world.now_ms + 40000; world.now_ms < until_ms; world.now_ms += 50) {
        if (world.now_ms % 500 == 0) beat(1);
        tfy__hub_cluster_work(hub);
    }
    assert_int_equal(take_claims(1, claims, 8), 1);
    assert_int_equal(claims[0].run, left);
}

/* A request that was long on its way shows what is young: silence counts from its answer. */
static void test_a_reading_that_takes_long(void **state)
{
    TfyHub *hub = world.hubs[1];
    const int64_t other = world.hubs[0]->session;
    (void)state;
    world.reading_ms = 2000;
    tfy__hub_cluster_work(hub); /* the other one has committed a moment before the answer */
    world.reading_ms = 0;
    const int64_t answered_ms = world.now_ms;
    while (tfy__shared_session(world.shared, other)->state == TFY_SESSION_LIVES) {
        world.now_ms += 50;
        if (world.now_ms % 500 == 0) beat(1);
        tfy__hub_cluster_work(hub);
    }
    assert_in_range(world.now_ms - answered_ms, LEASE_MS + LEASE_MS / 10, 2 * LEASE_MS);
}

static void test_mail_in_its_order(void **state)
{
    TfyClaim claims[8];
    TfyHub *hub = world.hubs[0];
    TfyMail mail;
    (void)state;
    const int64_t run = submit();
    assert_int_equal(post(run, "first"), 1);
    assert_int_equal(post(run, "second"), 2);
    hub->ops->want(hub, PROGRAM, 8, 0);
    work(0, 1500, 2);
    assert_int_equal(take_claims(0, claims, 8), 1);
    assert_int_equal(claims[0].seen, 0);
    assert_true(hub->ops->mail(hub, run, 0, &mail));
    assert_string_equal(mail.body, "first");
    assert_true(hub->ops->mail(hub, run, 1, &mail));
    assert_string_equal(mail.body, "second");
    assert_string_equal(mail.sender, "bea");
    assert_false(hub->ops->mail(hub, run, 2, &mail));
    work(0, 1500, 2); /* they have no verdict yet, and are read again */
    for (int64_t named; (named = hub->ops->news(hub));) assert_int_equal(named, run);
    assert_false(hub->ops->mail(hub, run, 2, &mail));
    assert_int_equal(post(run, "third"), 3);
    work(0, 1500, 2);
    assert_int_equal(hub->ops->news(hub), run);
    assert_int_equal(hub->ops->news(hub), 0); /* once a round */
    assert_int_equal(hub->ops->news(hub), run);
    assert_true(hub->ops->mail(hub, run, 2, &mail));
    assert_string_equal(mail.body, "third");
    assert_false(hub->ops->mail(hub, run, 3, &mail));
    /* What has got its verdict otherwise is not kept. */
    assert_int_equal(post(run, "fourth"), 4);
    work(0, 1500, 2);
    assert_int_equal(hub->ops->news(hub), run);
    assert_int_equal(hub->ops->news(hub), 0);
    tfy__shared_run(world.shared, run)->owner = world.hubs[1]->session;
    work(0, 1500, 2);
    assert_int_equal(hub->ops->news(hub), 0);
}

static void test_runs_that_need_a_process_of_their_own(void **state)
{
    TfyClaim claims[8];
    TfyHub *hub = world.hubs[0];
    (void)state;
    int64_t alone[2];
    for (int i = 0; i < 2; i++) {
        alone[i] = submit();
        tfy__shared_run(world.shared, alone[i])->solo = true;
    }
    const int64_t other = submit();
    hub->ops->want(hub, PROGRAM, 8, 0);
    work(0, 8000, 2);
    assert_int_equal(take_claims(0, claims, 8), 1);
    assert_int_equal(claims[0].run, other);
    assert_in_range(world.told, 1, 2); /* it was said, and is said again */
    tfy__hub_cluster_close(world.hubs[1], true);
    open_hub_as(1, true);
    world.told = 0;
    TfyHub *solo = world.hubs[1];
    assert_int_equal(solo->most, 1);
    for (int i = 0; i < 2; i++) { /* as its loop, which has one at a time */
        solo->ops->want(solo, PROGRAM, 1, 0);
        work(1, 5000, 2);
        assert_int_equal(take_claims(1, claims, 8), 1);
        assert_int_equal(claims[0].run, alone[i]);
        solo->ops->want(solo, PROGRAM, 0, 0);
        work(1, 15000, 2);
    }
    assert_int_equal(world.told, 0); /* it had no room */
    solo->ops->want(solo, PROGRAM, 1, 0);
    work(1, 15000, 2);
    assert_int_equal(world.told, 1);
    assert_int_equal(take_claims(1, claims, 8), 0);
    work(0, 6000, 2);
    assert_int_equal(world.told, 1); /* none waits */
}

/* ---- several loops of a session ---- */

static int take_of(TfyHub *hub, TfyClaim *claims, int room)
{
    int count = 0;
    while (count < room && hub->ops->claimed(hub, &claims[count])) count++;
    return count;
}

static void open_two(TfyHub *loops[2])
{
    tfy__hub_cluster_close(world.hubs[0], true);
    open_hub_of(0, false, 2);
    for (uint32_t i = 0; i < 2; i++) loops[i] = tfy__hub_cluster_loop(world.hubs[0], i);
    assert_ptr_equal(loops[0], world.hubs[0]);
    assert_int_equal(loops[0]->session, loops[1]->session);
    assert_int_equal(loops[0]->most + loops[1]->most, TFY_RUNS_MOST);
    assert_int_equal(loops[1]->place, 1);
}

/* New runs go to the loop with the fewest tasks that has room, and what is sent to them goes with them. */
static void test_runs_are_shared_by_loops(void **state)
{
    TfyClaim claims[16];
    TfyHub *loops[2];
    TfyMail mail;
    int64_t ids[12];
    (void)state;
    open_two(loops);
    for (int i = 0; i < 12; i++) ids[i] = submit();
    assert_int_equal(post(ids[11], "early"), 1);
    loops[0]->ops->want(loops[0], PROGRAM, 8, 5);
    loops[1]->ops->want(loops[1], PROGRAM, 7, 1);
    work(0, 100, 1);
    assert_int_equal(take_of(loops[0], claims, 16), 5); /* it had four tasks more, and the other one has no more room */
    for (int i = 0; i < 5; i++) assert_true(claims[i].run >= ids[4]);
    assert_int_equal(take_of(loops[1], claims, 16), 7);
    for (int i = 0; i < 4; i++) assert_int_equal(claims[i].run, ids[i]);
    const int64_t run = claims[0].run;
    assert_int_equal(post(run, "late"), 1);
    work(0, 2500, 1);
    assert_int_equal(loops[0]->ops->news(loops[0]), ids[11]);
    assert_int_equal(loops[0]->ops->news(loops[0]), 0);
    assert_int_equal(loops[1]->ops->news(loops[1]), run);
    assert_false(loops[0]->ops->mail(loops[0], run, 0, &mail));
    assert_true(loops[1]->ops->mail(loops[1], run, 0, &mail));
    assert_string_equal(mail.body, "late");
    assert_true(loops[0]->ops->mail(loops[0], ids[11], 0, &mail));
    assert_string_equal(mail.body, "early");
    assert_false(loops[1]->ops->mail(loops[1], ids[11], 0, &mail));
    /* A run that is claimed again may go to another loop, and its mail with it. */
    tfy__shared_run(world.shared, run)->owner = 0;
    loops[0]->ops->want(loops[0], PROGRAM, 1, 1);
    loops[1]->ops->want(loops[1], PROGRAM, 0, 0);
    work(0, 2500, 1);
    assert_int_equal(take_of(loops[0], claims, 16), 1);
    assert_int_equal(claims[0].run, run);
    assert_int_equal(claims[0].claims, 2);
    assert_true(loops[0]->ops->mail(loops[0], run, 0, &mail));
    assert_int_equal(post(run, "later"), 2);
    work(0, 2500, 1);
    assert_true(loops[0]->ops->mail(loops[0], run, 1, &mail));
    assert_string_equal(mail.body, "later");
    for (int i = 0; i < 4; i++) assert_int_equal(loops[1]->ops->news(loops[1]), 0);
}

/* A commit may be sent while each loop makes turns, or sleeps. */
static void test_a_loop_that_hangs(void **state)
{
    TfyHub *loops[2];
    (void)state;
    open_two(loops);
    assert_true(loops[0]->ops->may_send(loops[0]));
    loops[0]->awake_ns = loops[1]->awake_ns = world.now_ms * 1000000;
    world.now_ms += LEASE_MS / 3 - 1;
    assert_true(loops[0]->ops->may_send(loops[0]));
    world.now_ms += 1;
    loops[0]->awake_ns = world.now_ms * 1000000;
    assert_false(loops[0]->ops->may_send(loops[0]));
    loops[1]->awake_ns = 0; /* it sleeps */
    assert_true(loops[0]->ops->may_send(loops[0]));
    world.now_ms += LEASE_MS;
    assert_false(loops[0]->ops->may_send(loops[0]));
    loops[0]->ops->wake_by(loops[0], NULL, NULL); /* it has ended */
    assert_true(loops[0]->ops->may_send(loops[0]));
    /* A single one that hangs sends nothing itself. */
    world.hubs[1]->awake_ns = 1;
    assert_true(world.hubs[1]->ops->may_send(world.hubs[1]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, remove_world)
    const struct CMUnitTest tests[] = {
        TEST(test_claims_are_handed_over_once),
        TEST(test_a_claim_whose_answer_got_lost),
        TEST(test_a_claim_that_arrives_late),
        TEST(test_a_database_that_is_away),
        TEST(test_silent_sessions),
        TEST(test_a_reading_that_takes_long),
        TEST(test_mail_in_its_order),
        TEST(test_runs_that_need_a_process_of_their_own),
        TEST(test_runs_are_shared_by_loops),
        TEST(test_a_loop_that_hangs),
    };
    return cmocka_run_group_tests_name("hub_by_hand", tests, NULL, NULL);
}

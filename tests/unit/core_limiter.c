/* Tools with `limit` and `rate`: steps that wait for admission, stopped at every turn, taken up again and replayed; runs take turns; a
 * restart does not open a window anew. */
#include "core_script.h"

SCRIPT(user, DO(NARROW, .n = 20), SAY("one"), DO(NARROW, .n = 20), SAY("two"));
SCRIPT(users, SPAWN(user), SPAWN(user), DO(NARROW, .n = 5), SAY("mine"));
SCRIPT(payer, DO(DEAR, .n = 20), SAY("paid"));
SCRIPT(hasty, DO(DEAR, .n = 20, .timeout_ms = 30), SAY("paid"), DO(CATCH, 0), SAY("gave up"));
SCRIPT(payers, SPAWN(payer), SPAWN(hasty), SPAWN(hasty), DO(SLEEP, .n = 1));
SCRIPT(failing, DO(DEAR, .n = -10, .retry = 1, .backoff_ms = 5), DO(CATCH, 0), SAY("failed"));
SCRIPT(undone, DO(DEAR, .n = 5, .text = "undo"), DO(NARROW, .n = 5, .text = "undo"), DO(FAIL, 0));
SCRIPT(failures, SPAWN(failing), SPAWN(hasty), SPAWN(undone), DO(SLEEP, .n = 1));
SCRIPT(three, DO(NARROW, .n = 5), DO(NARROW, .n = 5), DO(NARROW, .n = 5), SAY("three"), DO(SLEEP, .n = 50),
       DO(NARROW, .n = 5), SAY("four"));
SCRIPT(each, DO(DEAR, .n = 10), SAY("a"));
SCRIPT(greedy, SPAWN(each), SPAWN(each), SPAWN(each), SPAWN(each), SPAWN(each), DO(YIELD, 0));
SCRIPT(modest, DO(SLEEP, .n = 2), DO(DEAR, .n = 10), SAY("b"));

PROGRAM(&user.workflow, &users.workflow, &payer.workflow, &hasty.workflow, &payers.workflow, &failing.workflow,
        &failures.workflow, &undone.workflow, &three.workflow, &each.workflow, &greedy.workflow, &modest.workflow);

AT_EVERY_TURN(users)
AT_EVERY_TURN(failures)

static void test_meanings(void **state)
{
    (void)state;
    char said[400];
    int64_t end_ms = said_when_killed("users", -1, -1, said); /* three in the first 100 ms, two in the next */
    assert_string_equal(said, "mine\none\none\ntwo\ntwo\n");
    assert_in_range(end_ms, 120, 200);
    said_when_killed("payers", -1, -1, said); /* 20 ms each: the third waits 40 and has 30 */
    assert_string_equal(said, "paid\ngave up\ngave up\n");
    said_when_killed("failures", -1, -1, said);
    assert_string_equal(said, "gave up\nundo of fine\nfailed\nundo of fine\n");
}

/* A run with one step does not wait for all of a run with five. */
static void test_runs_take_turns(void **state)
{
    (void)state;
    Bench bench = {0};
    char said[400] = "";
    open_collecting(&bench, said);
    start(&bench, "greedy");
    start(&bench, "modest");
    while (bench.loop->runs_live) one_turn(bench.loop);
    assert_string_equal(said, "a\na\nb\na\na\na\n");
    close_bench(&bench);
}

/* Three steps within 100 ms, then the process ends; some time later a new one takes the run up. Answers how long that one took. */
static int64_t three_with_a_restart_at(int64_t wall_ms)
{
    char db[64], error[TFY_ERROR_TEXT] = "";
    temp_db(db);
    Bench bench = {0};
    open_bench(&bench, db, 1700000000000);
    start(&bench, "three");
    while (bench.world->wall_ms(bench.world->state) < 1700000000020) one_turn(bench.loop);
    assert_int_equal(tfy_close(bench.loop), 0);
    tfy__world_free(bench.world);
    open_bench(&bench, db, wall_ms);
    assert_int_equal(tfy__resume(bench.loop, "last", error), 0);
    while (bench.loop->runs_live) one_turn(bench.loop);
    int64_t took = bench.world->wall_ms(bench.world->state) - wall_ms;
    close_bench(&bench);
    check_replay(db, "three");
    remove_db(db);
    return took;
}

/* The fourth step has to wait for the window. The sleep ends at 65 or so, the window lets the next in at 105 or later. */
static void test_a_restart_opens_no_window(void **state)
{
    (void)state;
    assert_in_range(three_with_a_restart_at(1700000000060), 40, 70);
    assert_in_range(three_with_a_restart_at(1700000001060), 0, 10);
}

/* ---- the wall clock is set while a process runs ---- */

static int64_t leap_ms;
static int64_t (*steady_wall_ms)(void *state);

static int64_t leaping_wall_ms(void *state)
{
    return steady_wall_ms(state) + leap_ms;
}

/* How long the run with four steps takes when the clock leaps after the third, in milliseconds that nobody set. */
static int64_t three_with_a_leap_of(int64_t by_ms)
{
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    steady_wall_ms = bench.loop->world.wall_ms;
    bench.loop->world.wall_ms = leaping_wall_ms;
    leap_ms = 0;
    const int64_t from_ns = bench.world->mono_ns(bench.world->state);
    start(&bench, "three");
    while (bench.loop->runs_live) {
        one_turn(bench.loop);
        if (bench.world->mono_ns(bench.world->state) - from_ns >= 20000000) leap_ms = by_ms;
    }
    const int64_t took_ms = (bench.world->mono_ns(bench.world->state) - from_ns) / 1000000;
    close_bench(&bench);
    return took_ms;
}

static void test_a_set_clock_moves_no_window(void **state)
{
    static const int64_t year_ms = INT64_C(31536000000);
    (void)state;
    assert_in_range(three_with_a_leap_of(0), 100, 120);
    assert_in_range(three_with_a_leap_of(year_ms), 100, 120);
    assert_in_range(three_with_a_leap_of(-year_ms), 100, 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meanings),
        cmocka_unit_test(test_runs_take_turns),
        cmocka_unit_test(test_a_restart_opens_no_window),
        cmocka_unit_test(test_a_set_clock_moves_no_window),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Parallel, race and detached tasks: stopped by kills, failures and the end of the process at every turn, taken up again and replayed. */
#include "core_script.h"

SCRIPT(quick, DO(WORK, .n = 10), SAY("quick"));
SCRIPT(steady, DO(WORK, .n = 30), SAY("steady"), DO(YIELD, 0), DO(WORK, .n = 0), DO(YIELD, 0));
SCRIPT(idler, DO(YIELD, 0), DO(YIELD, 0));
SCRIPT(tidy, DO(SLEEP, .n = 500), SAY("slept"), DO(FINALLY, 0), SAY("tidied"), DO(SLEEP, .n = 100), DO(DONE, 0));
SCRIPT(failer, DO(YIELD, 0), DO(WORK, .n = -20));
SCRIPT(dies_last, DO(SLEEP, .n = 40), DO(FAIL, 0));

SCRIPT(all, BODY(quick), BODY(steady), BODY(idler), DO(ALL, 0), SAY("all"), DO(WORK, .n = 5));
SCRIPT(none, DO(ALL, 0), SAY("none"));
SCRIPT(one_fails, BODY(quick), BODY(tidy), BODY(failer), BODY(dies_last), DO(ALL, 0), SAY("never"), DO(CATCH, 0),
       SAY("one failed"), DO(WORK, .n = 5));
SCRIPT(first, BODY(tidy), BODY(quick), BODY(steady), DO(RACE, 0), SAY("won"), DO(WORK, .n = 5));
SCRIPT(at_once, BODY(idler), BODY(idler), BODY(quick), DO(RACE, 0), SAY("won"));
SCRIPT(loses, BODY(failer), BODY(tidy), DO(RACE, 0), SAY("never"), DO(CATCH, 0), SAY("lost"));
SCRIPT(few, BODY(steady), DO(ROOM, .n = 2), BODY(quick), DO(ROOM, .n = 2), BODY(idler), DO(ROOM, .n = 2), BODY(steady),
       DO(ALL, 0), SAY("few"));
SCRIPT(few_fail, BODY(steady), DO(ROOM, .n = 2), BODY(failer), DO(ROOM, .n = 2), BODY(tidy), DO(ROOM, .n = 2),
       BODY(steady), DO(ALL, 0), SAY("never"), DO(FINALLY, 0), SAY("cleaned"), DO(WORK, .n = 10), DO(DONE, 0));
/* Groups in bodies of groups, in a call that runs out of time. */
SCRIPT(inner, BODY(tidy), BODY(first), DO(ALL, 0));
SCRIPT(nested, BODY(inner), BODY(steady), BODY(one_fails), DO(ALL, 0), SAY("nested"));
SCRIPT(timed, CALL(nested, .timeout_ms = 60), DO(CATCH, 0), SAY("late"), CALL(all));
SCRIPT(in_cleanup, DO(SLEEP, .n = 200), DO(FINALLY, 0), BODY(quick), BODY(failer), DO(ALL, 0), DO(DONE, 0));
SCRIPT(leaver, DETACH(steady), DETACH(failer), DETACH(tidy), DO(WORK, .n = 5), SAY("left"));
SCRIPT(left_failing, DETACH(tidy), DO(FAIL, 0));
SCRIPT(outsider, SPAWN(all), BODY(first), BODY(leaver), DO(ALL, 0), DO(JOIN, 0));

PROGRAM(&quick.workflow, &steady.workflow, &idler.workflow, &tidy.workflow, &failer.workflow, &dies_last.workflow,
        &all.workflow, &none.workflow, &one_fails.workflow, &first.workflow, &at_once.workflow, &loses.workflow,
        &few.workflow, &few_fail.workflow, &inner.workflow, &nested.workflow, &timed.workflow, &in_cleanup.workflow,
        &leaver.workflow, &left_failing.workflow, &outsider.workflow);

AT_EVERY_TURN(all)
AT_EVERY_TURN(none)
AT_EVERY_TURN(one_fails)
AT_EVERY_TURN(first)
AT_EVERY_TURN(at_once)
AT_EVERY_TURN(loses)
AT_EVERY_TURN(few)
AT_EVERY_TURN(few_fail)
AT_EVERY_TURN(timed)
AT_EVERY_TURN(in_cleanup)
AT_EVERY_TURN(leaver)
AT_EVERY_TURN(left_failing)
AT_EVERY_TURN(outsider)

static void test_meanings(void **state)
{
    char said[400];
    (void)state;
    said_when_killed("all", -1, -1, said);
    assert_string_equal(said, "quick\nsteady\nall\n");
    /* the others are stopped, and their cleanup is waited for */
    assert_in_range(said_when_killed("one_fails", -1, -1, said), 125, 135);
    assert_string_equal(said, "quick\ntidied\none failed\n");
    assert_in_range(said_when_killed("first", -1, -1, said), 115, 125);
    assert_string_equal(said, "quick\nbthe end\ntidied\nwon\n");
    said_when_killed("loses", -1, -1, said);
    assert_string_equal(said, "tidied\nlost\n");
    said_when_killed("few_fail", -1, -1, said);
    assert_string_equal(said, "cleaned\n");
    /* a killed group: cleanup of the bodies comes first */
    assert_in_range(said_when_killed("all", 5, -1, said), 5, 7);
    assert_in_range(said_when_killed("first", 5, -1, said), 105, 110);
    assert_string_equal(said, "tidied\n");
    assert_in_range(said_when_killed("first", 5, 20, said), 20, 25);
    assert_string_equal(said, "tidied\n");
    /* nobody waits for detached tasks, and nobody stops them */
    assert_in_range(said_when_killed("left_failing", -1, -1, said), 600, 610);
    assert_string_equal(said, "slept\ntidied\n");
}

static void test_memory(void **state)
{
    static const char *const names[] = {"all", "one_fails", "first", "few_fail", "leaver"};
    (void)state;
    run_all_out_of_memory(names, sizeof names / sizeof *names);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),        cmocka_unit_test(test_none),     cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_first),      cmocka_unit_test(test_at_once),  cmocka_unit_test(test_loses),
        cmocka_unit_test(test_few),        cmocka_unit_test(test_few_fail), cmocka_unit_test(test_timed),
        cmocka_unit_test(test_in_cleanup), cmocka_unit_test(test_leaver),   cmocka_unit_test(test_left_failing),
        cmocka_unit_test(test_outsider),   cmocka_unit_test(test_meanings), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("core_group", tests, NULL, NULL);
}

/* Undo and deadlines of blocks: stopped by kills, failures and the end of the process at every turn, taken up again and replayed. */
#include "core_script.h"

SCRIPT(steps, DO(WORK, .n = 10, .text = "one"), DO(WORK, .n = 10, .text = "two"), DO(ONCE, .n = 10, .text = "three"),
       DO(WORK, .n = -10, .text = "never"), SAY("never"));
SCRIPT(kept, DO(WORK, .n = 10, .text = "kept"), DO(WORK, .n = 5));
SCRIPT(drops, CALL(kept), DO(WORK, .n = 10, .text = "mine"), DO(FAIL, 0), DO(CATCH, 0), SAY("caught"),
       DO(WORK, .n = 5));
SCRIPT(vague, DO(WORK, .n = 50, .timeout_ms = 20, .text = "vague"), SAY("never"));
SCRIPT(retried, DO(WORK, .n = 50, .retry = 2, .backoff_ms = 10, .timeout_ms = 20, .text = "retried"), SAY("never"));
SCRIPT(surely, DO(WORK, .n = -10, .retry = 1, .backoff_ms = 10, .text = "surely not"), SAY("never"));
SCRIPT(lost, DO(WORK, .n = 10, .text = "first"), DO(WORK, .n = 10, .text = "!fails"), DO(WORK, .n = 10, .text = "last"),
       DO(FAIL, 0), DO(FINALLY, 0), SAY("finally"), DO(WORK, .n = 10), DO(DONE, 0));
SCRIPT(called, CALL(vague, .retry = 1, .backoff_ms = 5, .text = "the call"), DO(CATCH, 0), SAY("failed"));
SCRIPT(body, DO(WORK, .n = 20, .text = "body"), DO(WORK, .n = 5, .text = "body again"));
SCRIPT(quick, DO(WORK, .n = 10, .text = "quick"));
SCRIPT(handed, BODY(body), BODY(quick), DO(ALL, 0), DO(WORK, .n = 10, .text = "own"), DO(FAIL, 0), DO(CATCH, 0),
       SAY("handed over"));
SCRIPT(failer, DO(WORK, .n = -22));
SCRIPT(half, BODY(body), BODY(quick), BODY(failer), DO(ALL, 0), SAY("never"));

SCRIPT(nap, DO(SLEEP, .n = 500), DO(FINALLY, 0), SAY("nap over"), DO(SLEEP, .n = 100), DO(DONE, 0));
SCRIPT(within, DO(WITHIN, .n = 50), CALL(nap), DO(LEAVE, 0), SAY("never"), DO(CATCH, 0), SAY("late"), DO(WORK, .n = 5));
SCRIPT(in_time, DO(WITHIN, .n = 50), DO(WORK, .n = 20), DO(LEAVE, 0), DO(SLEEP, .n = 100), SAY("in time"));
SCRIPT(held, DO(WITHIN, .n = 50), DO(WORK, .n = -5), DO(FINALLY, 0), DO(SLEEP, .n = 100), SAY("held"), DO(DONE, 0),
       DO(LEAVE, 0), DO(CATCH, 0), SAY("no timeout"));
SCRIPT(held_late, DO(WITHIN, .n = 50), DO(WORK, .n = 5), DO(FINALLY, 0), DO(SLEEP, .n = 100), SAY("held"), DO(DONE, 0),
       DO(SLEEP, .n = 5), SAY("never"), DO(LEAVE, 0), DO(CATCH, 0), SAY("late"));
SCRIPT(in_cleanup, DO(SLEEP, .n = 300), DO(FINALLY, 0), DO(WITHIN, .n = 50), CALL(nap), DO(LEAVE, 0), SAY("never"),
       DO(DONE, 0));
SCRIPT(in_scope, DO(WITHIN, .n = 40), CALL(within), DO(LEAVE, 0), SAY("never"), DO(CATCH, 0), SAY("outer late"));
SCRIPT(in_call, CALL(within, .timeout_ms = 30, .retry = 1, .backoff_ms = 5), DO(CATCH, 0), SAY("call late"));
SCRIPT(group_in_scope, DO(WITHIN, .n = 40), BODY(nap), BODY(body), DO(ALL, 0), DO(LEAVE, 0), DO(CATCH, 0),
       SAY("group late"));
SCRIPT(mixed, BODY(in_scope), BODY(handed), BODY(called), DO(ALL, 0));

PROGRAM(&steps.workflow, &kept.workflow, &drops.workflow, &vague.workflow, &retried.workflow, &surely.workflow,
        &lost.workflow, &called.workflow, &body.workflow, &quick.workflow, &handed.workflow, &failer.workflow,
        &half.workflow, &nap.workflow, &within.workflow, &in_time.workflow, &held.workflow, &held_late.workflow,
        &in_cleanup.workflow, &in_scope.workflow, &in_call.workflow, &group_in_scope.workflow, &mixed.workflow);

AT_EVERY_TURN(steps)
AT_EVERY_TURN(drops)
AT_EVERY_TURN(retried)
AT_EVERY_TURN(lost)
AT_EVERY_TURN(called)
AT_EVERY_TURN(handed)
AT_EVERY_TURN(half)
AT_EVERY_TURN(within)
AT_EVERY_TURN(in_time)
AT_EVERY_TURN(held)
AT_EVERY_TURN(held_late)
AT_EVERY_TURN(in_cleanup)
AT_EVERY_TURN(in_scope)
AT_EVERY_TURN(in_call)
AT_EVERY_TURN(group_in_scope)
AT_EVERY_TURN(mixed)

static void says(const char *workflow, int kill_ms, int force_ms, const char *wanted)
{
    char said[400];
    said_when_killed(workflow, kill_ms, force_ms, said);
    assert_string_equal(said, wanted);
}

static void test_undo(void **state)
{
    (void)state;
    says("steps", -1, -1, "three of fine\ntwo of fine\none of fine\n");
    says("drops", -1, -1, "mine of fine\ncaught\n");
    says("vague", -1, -1, "vague of ?\n");
    says("retried", -1, -1, "retried of ?\n");
    says("surely", -1, -1, "");
    says("lost", -1, -1, "last of fine\n!fails of fine\nfirst of fine\nfinally\n");
    says("called", -1, -1, "vague of ?\nvague of ?\nthe call of ?\nfailed\n");
    /* in the order in which the bodies ended */
    says("handed", -1, -1, "own of fine\nbody again of fine\nbody of fine\nquick of fine\nhanded over\n");
    /* the body that was stopped undoes its own, then the parent undoes those of the body that had ended */
    says("half", -1, -1, "body again of ?\nbody of fine\nquick of fine\n");
    /* killed in the middle of the second step, and while undoing */
    says("steps", 15, -1, "two of ?\none of fine\n");
    says("steps", 55, -1, "three of fine\ntwo of fine\none of fine\n");
    says("steps", 45, 52, "three of fine\ntwo of fine\n");
}

static void test_deadlines(void **state)
{
    (void)state;
    says("within", -1, -1, "nap over\nlate\n");
    says("in_time", -1, -1, "in time\n");
    says("held", -1, -1, "held\nno timeout\n");
    says("held_late", -1, -1, "held\nlate\n");
    says("in_cleanup", 10, -1, "nap over\n");
    says("in_scope", -1, -1, "nap over\nouter late\n");
    says("in_call", -1, -1, "nap over\nnap over\ncall late\n");
    says("group_in_scope", -1, -1, "nap over\nbody again of fine\nbody of fine\ngroup late\n");
    says("within", 10, -1, "nap over\n");
    says("within", 60, -1, "nap over\nlate\n");
}

static void test_memory(void **state)
{
    static const char *const names[] = {"steps", "lost", "handed", "called", "in_scope"};
    (void)state;
    run_all_out_of_memory(names, sizeof names / sizeof *names);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undo),     cmocka_unit_test(test_deadlines), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_drops),     cmocka_unit_test(test_retried),
        cmocka_unit_test(test_lost),     cmocka_unit_test(test_called),    cmocka_unit_test(test_handed),
        cmocka_unit_test(test_half),     cmocka_unit_test(test_within),    cmocka_unit_test(test_in_time),
        cmocka_unit_test(test_held),     cmocka_unit_test(test_held_late), cmocka_unit_test(test_in_cleanup),
        cmocka_unit_test(test_in_scope), cmocka_unit_test(test_in_call),   cmocka_unit_test(test_group_in_scope),
        cmocka_unit_test(test_mixed),
    };
    return cmocka_run_group_tests_name("core_undo", tests, NULL, NULL);
}

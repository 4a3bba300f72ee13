/* Cancellation against everything: small programs are stopped by a kill, a deadline or the end of the process at every turn, taken up again,
 * and replayed. Whatever happened, the log must tell the same story again: 0 divergences, nothing leaked, nothing hanging.
 *
 * The workflows are scripts: one function in the shape that tfyc emits runs any of them. */
#include "core_script.h"

SCRIPT(napper, DO(SLEEP, .n = 500), SAY("slept"), DO(FINALLY, 0), SAY("nap over"), DO(SLEEP, .n = 100), DO(DONE, 0));
SCRIPT(worker, DO(WORK, .n = 30), SAY("worked"), DO(YIELD, 0), DO(YIELD, 0), DO(WORK, .n = 0), SAY("done"));
SCRIPT(failer, DO(YIELD, 0), DO(WORK, .n = -20, .retry = 2, .backoff_ms = 50, .timeout_ms = 1000));
SCRIPT(spinner, DO(WORK, .n = 5), DO(SPIN, .n = 9950), DO(WORK, .n = 40), DO(SPIN, .n = 30000), DO(WORK, .n = 40));
SCRIPT(idler, DO(YIELD, 0), DO(YIELD, 0), DO(YIELD, 0));

/* A parent whose child outlives it, in a call, with yields before the end. */
SCRIPT(family, SPAWN(idler), DO(WORK, .n = 3), SPAWN(worker), DO(YIELD, 0), SPAWN(napper), DO(YIELD, 0));
SCRIPT(mother, CALL(family), DO(SPIN, .n = 9990), DO(WORK, .n = 10), SAY("mother ends"));
/* Fails while its children run; theirs have cleanup to do. */
SCRIPT(deserter, SPAWN(napper), SPAWN(worker), DO(YIELD, 0), DO(WORK, .n = 40), DO(FAIL, 0), DO(FINALLY, 0),
       SAY("deserted"), DO(WORK, .n = 20), DO(DONE, 0));
/* A call out of time, tried again, in a call out of time, with cleanup at both levels. */
SCRIPT(inner, SPAWN(napper), DO(SLEEP, .n = 200), DO(FINALLY, 0), SAY("inner"), DO(WORK, .n = 80), DO(DONE, 0));
SCRIPT(middle, CALL(inner, .timeout_ms = 90, .retry = 2, .backoff_ms = 60), DO(CATCH, 0), SAY("inner was late"),
       DO(SLEEP, .n = 50), DO(FINALLY, 0), DO(WORK, .n = 10), SAY("middle"), DO(DONE, 0));
SCRIPT(outer, CALL(middle, .timeout_ms = 150), DO(CATCH, 0), SAY("middle was late"), DO(WORK, .n = 10));
SCRIPT(slowly, CALL(middle, .timeout_ms = 900), DO(CATCH, 0), SAY("still late"), DO(NOW, 0));
/* Joins with timeouts of tasks that end, fail, are killed. */
SCRIPT(joiner, SPAWN(failer), DO(JOIN, .timeout_ms = 60), DO(CATCH, 0), SAY("no answer yet"), DO(JOIN, 0), DO(CATCH, 0),
       SPAWN(napper), DO(JOIN, .timeout_ms = 500), DO(CATCH, 0), DO(KILL, 0), DO(JOIN, 0), DO(CATCH, 0), SAY("joined"));
/* Kills: one that has not begun, one that has ended, one twice. */
SCRIPT(killer, SPAWN(worker), DO(KILL, 0), SPAWN(napper), DO(SLEEP, .n = 20), DO(KILL, 0), DO(KILL, 0), DO(JOIN, 0),
       DO(CATCH, 0), DO(KILL, 0), SAY("killed"), SPAWN(idler), DO(SLEEP, .n = 9), DO(KILL, 0));
SCRIPT(retrier, DO(WORK, .n = -10, .retry = 3, .backoff_ms = 40, .timeout_ms = 25), DO(CATCH, 0),
       DO(WORK, .n = 60, .retry = 1, .backoff_ms = 10, .timeout_ms = 25), DO(CATCH, 0), SAY("tried"), DO(FINALLY, 0),
       DO(WORK, .n = -10, .retry = 1, .backoff_ms = 40), DO(DONE, 0));
SCRIPT(asker, DO(ASK, .timeout_ms = 70, .retry = 2, .backoff_ms = 30), DO(CATCH, 0), SAY("nobody there"));
SCRIPT(burner, DO(ONCE, .n = 10), SAY("burnt"), DO(ONCE, .n = 0), DO(NOW, 0), DO(ONCE, .n = 0));
SCRIPT(suicide, DO(WORK, .n = 2), DO(YIELD, 0), DO(KILL, .n = 1), SAY("last words"), DO(WORK, .n = 5), SAY("never"));
/* Cleanup that gives itself a deadline. */
SCRIPT(briefly, CALL(napper, .timeout_ms = 50), DO(CATCH, 0), SAY("gave up"));
SCRIPT(cleaner, DO(SLEEP, .n = 5000), DO(FINALLY, 0), CALL(briefly), SAY("cleaned"), DO(DONE, 0));
SCRIPT(everything, SPAWN(outer), SPAWN(joiner), SPAWN(killer), SPAWN(spinner), SPAWN(mother), SPAWN(deserter),
       SPAWN(retrier), SPAWN(slowly), DO(SLEEP, .n = 30));

PROGRAM(&napper.workflow, &worker.workflow, &failer.workflow, &spinner.workflow, &idler.workflow, &family.workflow,
        &mother.workflow, &deserter.workflow, &inner.workflow, &middle.workflow, &outer.workflow, &slowly.workflow,
        &joiner.workflow, &killer.workflow, &retrier.workflow, &asker.workflow, &burner.workflow, &suicide.workflow,
        &briefly.workflow, &cleaner.workflow, &everything.workflow);

AT_EVERY_TURN(spinner)
AT_EVERY_TURN(mother)
AT_EVERY_TURN(deserter)
AT_EVERY_TURN(outer)
AT_EVERY_TURN(slowly)
AT_EVERY_TURN(joiner)
AT_EVERY_TURN(killer)
AT_EVERY_TURN(retrier)
AT_EVERY_TURN(asker)
AT_EVERY_TURN(burner)
AT_EVERY_TURN(suicide)
AT_EVERY_TURN(cleaner)

/* Many tasks at once: too many turns to try each. */
static void test_everything(void **state)
{
    (void)state;
    int turns = turns_of("everything");
    for (int turn = 1; turn < turns; turn += 7) {
        survive(&(Trouble){.workflow = "everything", .kill_turn = turn});
        survive(&(Trouble){.workflow = "everything", .crash_turn = turn});
        survive(&(Trouble){.workflow = "everything", .kill_turn = turn, .path = "1.2", .crash_turn = turn + 3});
    }
}

static void test_meanings(void **state)
{
    char said[400];
    (void)state;
    /* the deadline of a call in cleanup counts although the task is being killed */
    assert_in_range(said_when_killed("cleaner", 10, -1, said), 150, 170);
    assert_string_equal(said, "nap over\ngave up\ncleaned\n");
    /* --force ends what a kill has begun */
    assert_in_range(said_when_killed("cleaner", 10, 40, said), 40, 45);
    assert_string_equal(said, "");
    /* of two calls that are out of time while a finally holds both, the outer one is not forgotten */
    said_when_killed("outer", -1, -1, said);
    assert_non_null(strstr(said, "middle was late\n"));
    /* a task killed before it began does nothing at all */
    assert_in_range(said_when_killed("worker", 0, -1, said), 0, 1);
    assert_string_equal(said, "");
}

/* Closing with steps in every stage: nothing is lost, nothing is freed twice, performers are told. */
static void test_close(void **state)
{
    (void)state;
    int turns = turns_of("everything");
    for (int turn = 1; turn < turns; turn += 3) {
        Bench bench = {0};
        open_bench(&bench, NULL, 1700000000000);
        start(&bench, "everything");
        run_turns(&bench, &(Trouble){.workflow = "everything", .crash_turn = turn});
        assert_int_equal(tfy_close(bench.loop), 0);
        tfy_world_free(bench.world);
    }
}

static void test_memory(void **state)
{
    static const char *const names[] = {"outer", "joiner", "killer", "retrier", "deserter", "mother", "asker"};
    (void)state;
    run_all_out_of_memory(names, sizeof names / sizeof *names);
}

/* ---- the embedding API with what it does not expect ---- */

static void test_misuse(void **state)
{
    (void)state;
    Bench bench = {0};
    char error[TFY_ERROR_TEXT] = "";
    open_bench(&bench, NULL, 1700000000000);
    int64_t tid = 7;
    assert_int_equal(tfy_submit(bench.loop, "nobody", "{}", &tid, error), TFY_E_ABSENT);
    assert_int_equal(tid, 0);
    assert_int_equal(tfy_submit(bench.loop, "asker", "[1]", &tid, NULL), TFY_E_INVALID);
    assert_int_equal(tfy_submit(bench.loop, "asker", NULL, NULL, NULL), 0);
    assert_int_equal(tfy_inject(bench.loop, NULL, "1", NULL), TFY_E_INVALID);
    assert_int_equal(tfy_inject(bench.loop, "no such tool", NULL, NULL), 0);
    assert_int_equal(tfy_approve(bench.loop, 99, "yes"), TFY_E_ABSENT);
    assert_int_equal(tfy_kill(bench.loop, 99, false), TFY_E_ABSENT);
    assert_int_equal(tfy_task_state(bench.loop, 99), TFY_TASK_UNKNOWN);
    int64_t root = bench.loop->runs.first->root->log.tid;
    assert_int_equal(tfy_approve(bench.loop, root, "yes"), TFY_E_STATE); /* it has not asked yet */
    while (tfy_task_state(bench.loop, root) != TFY_TASK_WAITING_APPROVAL || !bench.loop->runs.first->root->step->asking)
        tfy_step(bench.loop);
    assert_int_equal(tfy_resume(bench.loop, "last", &tid, error), TFY_E_STATE);
    assert_int_equal(tfy__arrive_resolve(bench.loop, "last", NULL, 0, "done", "true", "x", error), TFY_E_STATE);
    assert_int_equal(tfy_approve(bench.loop, root, "no"), 0);
    assert_int_equal(tfy_approve(bench.loop, root, "no"), TFY_E_STATE);
    run_to_the_end(&bench);
    assert_int_equal(tfy_kill(bench.loop, root, true), TFY_E_STATE);
    tfy__loop_fail(bench.loop, TFY_E_IO, "the disk went away");
    assert_int_equal(tfy_step(bench.loop), TFY_E_IO);
    assert_int_equal(tfy_run(bench.loop), TFY_E_IO);
    assert_int_equal(tfy_submit(bench.loop, "asker", "{}", &tid, error), TFY_E_IO);
    assert_string_equal(error, "the disk went away");
    assert_int_equal(tfy_close(bench.loop), TFY_E_IO);
    tfy_world_free(bench.world);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spinner),  cmocka_unit_test(test_mother),     cmocka_unit_test(test_deserter),
        cmocka_unit_test(test_outer),    cmocka_unit_test(test_slowly),     cmocka_unit_test(test_joiner),
        cmocka_unit_test(test_killer),   cmocka_unit_test(test_retrier),    cmocka_unit_test(test_asker),
        cmocka_unit_test(test_burner),   cmocka_unit_test(test_suicide),    cmocka_unit_test(test_cleaner),
        cmocka_unit_test(test_meanings), cmocka_unit_test(test_everything), cmocka_unit_test(test_close),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_misuse),
    };
    return cmocka_run_group_tests_name("core_cancel", tests, NULL, NULL);
}

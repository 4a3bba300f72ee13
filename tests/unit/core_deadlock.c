/* Deadlocks: what is one and what is not, what the report says, and that a resumed run says the same. */
#include <time.h>

#include "core_script.h"

SCRIPT(taker, DO(LOCK, .text = "left"), DO(SLEEP, .n = 10), DO(LOCK, .text = "right"), DO(UNLOCK, 0), DO(UNLOCK, 0));
SCRIPT(giver, DO(LOCK, .text = "right"), DO(SLEEP, .n = 10), DO(LOCK, .text = "left"), DO(UNLOCK, 0), DO(UNLOCK, 0));
SCRIPT(embrace, SPAWN(taker), SPAWN(giver), DO(JOIN, 0));
SCRIPT(hearer, DO(RECV, 0));
SCRIPT(silence, DO(CHANNEL, .n = 1), BODY(hearer), BODY(hearer), DO(ALL, 0));
SCRIPT(speaker, DO(CHANNEL, .n = 1), DO(SEND, .n = 1), DO(SEND, .n = 2));
SCRIPT(patient, DO(CHANNEL, .n = 1), DO(RECV, .timeout_ms = 1000), DO(CATCH, 0), SAY("gave up"));
SCRIPT(bounded, DO(CHANNEL, .n = 1), DO(WITHIN, .n = 1000), DO(RECV, 0), DO(LEAVE, 0), DO(CATCH, 0), SAY("late"));
SCRIPT(nested, DO(CHANNEL, .n = 1), CALL(hearer, .timeout_ms = 1000), DO(CATCH, 0), SAY("late"));
SCRIPT(person, SPAWN(hearer), DO(TEXT, 0));
SCRIPT(mixed, DO(CHANNEL, .n = 1), CALL(person));
SCRIPT(listener, DO(CHANNEL, .n = 1), SPAWN(hearer), DO(SIGNAL, .text = "go"));
SCRIPT(owner, DO(LOCK, .text = "left"), DO(SLEEP, .n = 10), DO(UNLOCK, 0));
SCRIPT(fine, SPAWN(owner), SPAWN(owner), DO(JOIN, 0));
SCRIPT(crowd, DO(CHANNEL, .n = 1), DO(SPAWN, .script = &hearer, .n = 20000), DO(YIELD, 0));

PROGRAM(&taker.workflow, &giver.workflow, &embrace.workflow, &hearer.workflow, &silence.workflow, &speaker.workflow,
        &patient.workflow, &bounded.workflow, &nested.workflow, &person.workflow, &mixed.workflow, &listener.workflow,
        &owner.workflow, &fine.workflow, &crowd.workflow);

/* Like close_bench, with tasks that have not ended. */
static void shut(Bench *bench)
{
    assert_int_equal(tfy_close(bench->loop), 0);
    tfy__world_free(bench->world);
}

/* Runs a workflow; what tfy_run answers. */
static int ends_with(Bench *bench, const char *workflow)
{
    open_bench(bench, NULL, 1700000000000);
    start(bench, workflow);
    return tfy_run(bench->loop);
}

static void deadlocks(const char *workflow, const char *wanted)
{
    Bench bench = {0};
    assert_int_equal(ends_with(&bench, workflow), TFY_E_DEADLOCK);
    const char *text = tfy_deadlock(bench.loop);
    assert_non_null(text);
    if (strncmp(text, "run ", 4) != 0 || !strstr(text, wanted)) fail_msg("%s says:\n%s", workflow, text);
    char *first = strdup(text);
    assert_string_equal(tfy_deadlock(bench.loop), first); /* asked again */
    free(first);
    shut(&bench);
}

static void test_says_who_waits(void **state)
{
    (void)state;
    deadlocks("embrace", ": 3 tasks, and nothing can wake them any more\n"
                         "  task 1 (embrace, script.tfy:10) waits for the end of task 1.2\n"
                         "  task 1.1 (taker, script.tfy:20) waits for lock \"right\", held by task 1.2\n"
                         "  task 1.2 (giver, script.tfy:20) waits for lock \"left\", held by task 1.1\n"
                         "  in a cycle: 1.2 -> 1.1 -> 1.2\n");
    deadlocks("silence", "  task 1 (silence, script.tfy:15) waits for its bodies 1.1, 1.2\n"
                         "  task 1.1 (hearer, script.tfy:19) waits to receive from channel 1/1, which is empty and to "
                         "which nobody sends\n");
    deadlocks("speaker", ": 1 task, and nothing can wake it any more\n"
                         "  task 1 (speaker, script.tfy:19) waits to send to channel 1/1, which is full (1) and from "
                         "which nobody receives\n");
}

static void no_deadlock(const char *workflow, uint32_t left)
{
    Bench bench = {0};
    assert_int_equal(ends_with(&bench, workflow), 0);
    assert_int_equal(bench.loop->runs_live, left);
    assert_null(tfy_deadlock(bench.loop));
    shut(&bench);
}

static void test_is_none(void **state)
{
    (void)state;
    no_deadlock("fine", 0);
    no_deadlock("patient", 0);
    no_deadlock("bounded", 0);
    no_deadlock("nested", 0);
    no_deadlock("mixed", 1);
    no_deadlock("listener", 1);
}

/* A run that can go on beside one that cannot: the process waits, and says of the one what it is. */
static void test_two_runs(void **state)
{
    (void)state;
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    start(&bench, "embrace");
    start(&bench, "listener");
    assert_int_equal(tfy_run(bench.loop), 0);
    const char *text = tfy_deadlock(bench.loop);
    assert_non_null(strstr(text, "(embrace"));
    assert_null(strstr(text, "(listener"));
    shut(&bench);
}

static void test_after_a_resume(void **state)
{
    (void)state;
    char db[64], error[TFY_ERROR_TEXT] = "", first[2000];
    temp_db(db);
    Bench bench = {0};
    open_bench(&bench, db, 1700000000000);
    start(&bench, "embrace");
    assert_int_equal(tfy_run(bench.loop), TFY_E_DEADLOCK);
    snprintf(first, sizeof first, "%s", tfy_deadlock(bench.loop));
    shut(&bench);
    open_bench(&bench, db, 1700000100000);
    assert_int_equal(tfy__resume(bench.loop, "last", error), 0);
    assert_int_equal(tfy_run(bench.loop), TFY_E_DEADLOCK);
    assert_string_equal(tfy_deadlock(bench.loop), first);
    int64_t root = bench.loop->runs.first->root->log.tid;
    assert_int_equal(tfy_kill(bench.loop, root, false), 0);
    assert_int_equal(tfy_run(bench.loop), 0);
    assert_int_equal(bench.loop->runs_live, 0);
    close_bench(&bench);
    check_replay(db, "embrace");
    remove_db(db);
}

static void test_a_crowd_is_quick(void **state)
{
    (void)state;
    Bench bench = {0};
    assert_int_equal(ends_with(&bench, "crowd"), TFY_E_DEADLOCK);
    clock_t begun = clock();
    const char *text = tfy_deadlock(bench.loop);
    assert_true(clock() - begun < CLOCKS_PER_SEC);
    assert_non_null(strstr(text, "and waits for its children 1.20000, 1.19999,"));
    assert_non_null(strstr(text, " and 19992 more\n"));
    assert_non_null(strstr(text, "  and 19981 more\n"));
    shut(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_says_who_waits), cmocka_unit_test(test_is_none),          cmocka_unit_test(test_two_runs),
        cmocka_unit_test(test_after_a_resume), cmocka_unit_test(test_a_crowd_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

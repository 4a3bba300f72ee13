/* Signals and questions that any text answers: they come at every turn, around kills and the end of the process. */
#include "core_script.h"
#include "wal/log/log_state.h"

SCRIPT(waits, DO(SIGNAL, .text = "go", .timeout_ms = 100), DO(WORK, .n = 5), DO(CATCH, 0), SAY("waited"),
       DO(SLEEP, .n = 5));
SCRIPT(twice, DO(YIELD, 0), DO(SIGNAL, .text = "go", .timeout_ms = 40, .retry = 1, .backoff_ms = 5), SAY("first"),
       DO(CATCH, 0), DO(SIGNAL, .text = "stop", .timeout_ms = 20), SAY("never"), DO(CATCH, 0), SAY("no stop"));
SCRIPT(several, SPAWN(waits), SPAWN(waits), DO(YIELD, 0), DO(WORK, .n = 20), DO(YIELD, 0),
       CALL(waits, .timeout_ms = 50));
SCRIPT(idler, DO(YIELD, 0), DO(YIELD, 0), DO(YIELD, 0), DO(YIELD, 0));
SCRIPT(racers, BODY(waits), BODY(idler), DO(RACE, 0), SAY("raced"), DO(SIGNAL, .text = "go", .timeout_ms = 20),
       DO(CATCH, 0));
SCRIPT(outlives, DETACH(waits), DO(WORK, .n = 5));
SCRIPT(asker, DO(TEXT, 0), SAY("asked"), DO(TEXT, .timeout_ms = 20), SAY("never"), DO(CATCH, 0), SAY("nobody"));
SCRIPT(now, DO(SIGNAL, .text = "go"), DO(SIGNAL, .text = "go"), SAY("never"), DO(CATCH, 0), SAY("bad"));

PROGRAM(&waits.workflow, &twice.workflow, &several.workflow, &idler.workflow, &racers.workflow, &outlives.workflow,
        &asker.workflow, &now.workflow);

static void signalled_at_every_turn(const char *workflow)
{
    int turns = turns_of(workflow);
    for (int turn = 1; turn < turns; turn += TURN_STRIDE) {
        survive(&(Trouble){.workflow = workflow, .signal_turn = turn});
        survive(&(Trouble){.workflow = workflow, .signal_turn = turn, .kill_turn = turn});
        for (int later = 1; later < 7; later++) {
            survive(&(Trouble){.workflow = workflow, .signal_turn = turn, .crash_turn = turn + later});
            survive(&(Trouble){.workflow = workflow, .signal_turn = turn, .kill_turn = turn + later, .path = "1.1"});
        }
        survive(&(Trouble){
            .workflow = workflow, .signal_turn = turn, .kill_turn = turn, .path = "1.1", .crash_turn = turn + 2});
        survive(&(Trouble){
            .workflow = workflow, .signal_turn = turn, .force_turn = turn + 1, .path = "1.1", .crash_turn = turn + 3});
    }
}

static void test_every_turn(void **state)
{
    static const char *const names[] = {"waits", "twice", "several", "racers", "outlives"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) signalled_at_every_turn(names[i]);
}

AT_EVERY_TURN(several)
AT_EVERY_TURN(outlives)

static void settle(Bench *bench)
{
    for (int i = 0; i < 8; i++) {
        assert_int_equal(tfy_step(bench->loop) < 0, 0);
        assert_int_equal(tfy__log_sync(bench->loop->log), 0);
    }
}

static void open_listening(Bench *bench, char said[400])
{
    char error[TFY_ERROR_TEXT] = "";
    said[0] = '\0';
    bench->world = tfy_world_virtual(0, 42);
    TfyOptions options = {.world = bench->world, .on_output = collect, .state = said, .approve_all = true};
    if (tfy_open(&bench->loop, &program, &options, error) < 0) fail_msg("%s", error);
}

static void test_values(void **state)
{
    (void)state;
    Bench bench = {0};
    char said[400], error[TFY_ERROR_TEXT];
    open_listening(&bench, said);
    start(&bench, "now");
    settle(&bench);
    int64_t root = bench.loop->runs.first->root->log.tid;
    assert_int_equal(tfy_task_state(bench.loop, root), TFY_TASK_WAITING_SIGNAL);
    char *text;
    assert_int_equal(tfy__waiting_for_people(bench.loop, NULL, &text), 1);
    assert_non_null(strstr(text, "task 1 waits for signal go\n  tfy signal "));
    free(text);
    assert_int_equal(tfy_signal(bench.loop, root, "other", NULL), 0);
    assert_int_equal(tfy_signal(bench.loop, root, "go", "[1"), TFY_E_INVALID);
    assert_int_equal(tfy_signal(bench.loop, root + 9, "go", "1"), TFY_E_ABSENT);
    assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"one\"", "id 1", NULL, error), 0);
    assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"again\"", "id 1", NULL, error), 0);
    settle(&bench);
    assert_string_equal(said, "one\n");
    assert_int_equal(tfy_signal(bench.loop, root, "go", "17"), TFY_E_DATA); /* not a string: not recorded */
    settle(&bench);
    assert_string_equal(said, "one\n");
    assert_int_equal(tfy_signal(bench.loop, root, "go", "\"two\""), 0);
    settle(&bench);
    assert_string_equal(said, "one\ntwo\nnever\nbad\n");
    assert_int_equal(tfy_signal(bench.loop, root, "go", "1"), TFY_E_STATE);
    close_bench(&bench);
}

static void test_texts(void **state)
{
    (void)state;
    Bench bench = {0};
    char said[400];
    open_listening(&bench, said);
    start(&bench, "asker");
    settle(&bench);
    int64_t root = bench.loop->runs.first->root->log.tid;
    assert_int_equal(tfy_task_state(bench.loop, root), TFY_TASK_WAITING_APPROVAL);
    assert_int_equal(tfy_approve(bench.loop, root, NULL), TFY_E_INVALID);
    assert_int_equal(tfy_approve(bench.loop, root, "ann \xc3\xa9"), 0);
    run_to_the_end(&bench);
    settle(&bench);
    assert_string_equal(said, "ann \xc3\xa9\nasked\nnobody\n");
    close_bench(&bench);
}

static int no_room(void *state, int call)
{
    const bool *full = state;
    return *full && call == TFY_CALL_COMMIT ? TFY_STORE_FULL : 0;
}

/* "now" waits for its first signal, and the disk is full while *full says so. */
static void open_on_full_disk(Bench *bench, char said[400], bool *full)
{
    char error[TFY_ERROR_TEXT] = "";
    *bench = (Bench){.world = tfy_world_virtual(0, 42)};
    bench->world->writer_by_hand = true;
    const TfyOptions options = {.world = bench->world, .on_output = collect, .state = said};
    if (tfy_open(&bench->loop, &program, &options, error) < 0) fail_msg("%s", error);
    start(bench, "now");
    settle(bench);
    bench->loop->log->store->fault = no_room;
    bench->loop->log->store->fault_state = full;
    *full = true;
}

/* A signal that is sent again is acknowledged when its record is durable, not when it is known. */
static void test_again_while_full(void **state)
{
    (void)state;
    Bench bench;
    char error[TFY_ERROR_TEXT] = "", said[400] = "";
    bool full = false;
    open_on_full_disk(&bench, said, &full);
    TfyLog *log = bench.loop->log;
    for (int i = 0; i < 2; i++)
        assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"one\"", "id 1", NULL, error), TFY_E_STATE);
    assert_true(tfy__log_durable_lsn(log) < tfy__log_last_lsn(log));
    full = false;
    bench.world->jump(bench.world->state, 200000000); /* the writer's pause is over */
    assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"one\"", "id 1", NULL, error), 0);
    assert_int_equal(tfy__log_durable_lsn(log), tfy__log_last_lsn(log));
    settle(&bench);
    assert_string_equal(said, "one\n");
    assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"two\"", "id 2", NULL, error), 0);
    settle(&bench);
    close_bench(&bench);
}

/* Who looks for parked runs that are due has what is queued committed first. Without room it looks again when there is some. */
static void test_wake_while_full(void **state)
{
    (void)state;
    Bench bench;
    char error[TFY_ERROR_TEXT] = "", said[400] = "";
    bool full = false;
    open_on_full_disk(&bench, said, &full);
    assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"one\"", "id 1", NULL, error), TFY_E_STATE);
    assert_int_equal(tfy__park_wake(bench.loop), 0);
    assert_int_equal(bench.loop->failure, 0);
    assert_true(bench.loop->wake_due);
    full = false;
    bench.world->jump(bench.world->state, 200000000); /* the writer's pause is over */
    settle(&bench);
    assert_false(bench.loop->wake_due);
    assert_int_equal(tfy__arrive_signal(bench.loop, "last", "go", "\"two\"", "id 2", NULL, error), 0);
    settle(&bench);
    close_bench(&bench);
}

static void test_memory(void **state)
{
    (void)state;
    run_out_of_memory("several", false);
    run_out_of_memory("twice", true);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),           cmocka_unit_test(test_texts),           cmocka_unit_test(test_memory),
        cmocka_unit_test(test_again_while_full), cmocka_unit_test(test_wake_while_full), cmocka_unit_test(test_several),
        cmocka_unit_test(test_outlives),         cmocka_unit_test(test_every_turn),
    };
    return cmocka_run_group_tests_name("core_signal", tests, NULL, NULL);
}

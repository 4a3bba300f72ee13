/* The calls on a task in each of its states: what tfy_task_state says, what a kill does, and what whoever joins it hears. */
#include "core_script.h"

SCRIPT(never, SAY("never"));
SCRIPT(sleeps, DO(SLEEP, .n = 500), SAY("never"));
SCRIPT(works, DO(WORK, .n = 500), SAY("never"));
SCRIPT(asks, DO(TEXT, 0), SAY("never"));
SCRIPT(listens, DO(SIGNAL, .text = "go"), SAY("never"));
SCRIPT(receives, DO(RECV, 0), SAY("never"));
SCRIPT(holds, DO(LOCK, .text = "l"), DO(SLEEP, .n = 400), DO(UNLOCK, 0));
SCRIPT(locks, SPAWN(holds), DO(SLEEP, .n = 1), DO(LOCK, .text = "l"), SAY("never"), DO(UNLOCK, 0));
SCRIPT(joins, SPAWN(sleeps), DO(JOIN, 0), SAY("never"));
SCRIPT(parent, SPAWN(sleeps));
SCRIPT(bodies, BODY(sleeps), BODY(works), DO(ALL, 0), SAY("never"));
SCRIPT(created, SPAWN(sleeps), DO(AFTER, .script = &never), DO(JOIN, 0), SAY("never"));
SCRIPT(done, SAY("done"));
SCRIPT(fails, DO(FAIL, 0));

#define WATCH(Name)                                                                                                    \
    SCRIPT(of_##Name, SPAWN(Name), DO(SLEEP, .n = 100), DO(JOIN, 0), SAY("joined"), DO(CATCH, 0), SAY("heard"))
WATCH(sleeps);
WATCH(works);
WATCH(asks);
WATCH(listens);
WATCH(locks);
WATCH(joins);
WATCH(parent);
WATCH(bodies);
WATCH(created);
WATCH(done);
WATCH(fails);
SCRIPT(left, SAY("l1"), DO(YIELD, 0), SAY("l2"), DO(YIELD, 0), SAY("l3"), DO(SLEEP, .n = 20), SAY("l4"),
       DO(WORK, .n = 20), SAY("l5"));
SCRIPT(right, SAY("r1"), DO(YIELD, 0), SAY("r2"), DO(YIELD, 0), SAY("r3"), DO(SLEEP, .n = 20), SAY("r4"),
       DO(WORK, .n = 20), SAY("r5"));
SCRIPT(two, SPAWN(left), SPAWN(right), DO(JOIN, 0), SAY("both"));
SCRIPT(of_receives, DO(CHANNEL, .n = 1), SPAWN(receives), DO(SLEEP, .n = 100), DO(JOIN, 0), DO(CATCH, 0), SAY("heard"));

PROGRAM(&never.workflow, &sleeps.workflow, &works.workflow, &asks.workflow, &listens.workflow, &receives.workflow,
        &holds.workflow, &locks.workflow, &joins.workflow, &parent.workflow, &bodies.workflow, &created.workflow,
        &done.workflow, &fails.workflow, &of_sleeps.workflow, &of_works.workflow, &of_asks.workflow,
        &of_listens.workflow, &of_locks.workflow, &of_joins.workflow, &of_parent.workflow, &of_bodies.workflow,
        &of_created.workflow, &of_done.workflow, &of_fails.workflow, &of_receives.workflow, &left.workflow,
        &right.workflow, &two.workflow);

typedef struct Row {
    const char *workflow; /* whose task 1.1 it is about */
    const char *path;
    TfyTaskState state; /* 50 ms on */
    int kill;           /* what tfy_kill answers */
    TfyTaskState after; /* in the end */
    const char *said;
} Row;

static const Row rows[] = {
    {"of_sleeps", "1.1", TFY_TASK_SLEEPING, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_works", "1.1", TFY_TASK_WAITING_EFFECT, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_asks", "1.1", TFY_TASK_WAITING_APPROVAL, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_listens", "1.1", TFY_TASK_WAITING_SIGNAL, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_receives", "1.1", TFY_TASK_WAITING_CHANNEL, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_locks", "1.1", TFY_TASK_WAITING_LOCK, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_joins", "1.1", TFY_TASK_JOINING, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_parent", "1.1", TFY_TASK_JOINING, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_bodies", "1.1", TFY_TASK_JOINING, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_created", "1.1.2", TFY_TASK_CREATED, 0, TFY_TASK_CANCELLED, "heard\n"},
    {"of_done", "1.1", TFY_TASK_COMPLETED, TFY_E_STATE, TFY_TASK_COMPLETED, "done\njoined\nheard\n"},
    {"of_fails", "1.1", TFY_TASK_FAILED, TFY_E_STATE, TFY_TASK_FAILED, "heard\n"},
};

static int64_t tid_of(const Bench *bench, const char *path)
{
    for (int64_t tid = bench->loop->runs.first->root->log.tid; tid < tfy__log_coming_tid(bench->loop->log, NULL); tid++) {
        const TaskRest *rest = tfy__task_by_tid(bench->loop, tid);
        if (rest && strcmp(rest->log.path, path) == 0) return tid;
    }
    fail_msg("there is no task %s", path);
    return 0;
}

static void check_row(const Row *row)
{
    Bench bench = {0};
    char said[400] = "";
    open_collecting(&bench, said);
    start(&bench, row->workflow);
    for (int ms = 0; ms < 50; ms++) {
        bench.world->jump(bench.world->state, (int64_t)ms * 1000000);
        for (int turn = 0; turn < 5; turn++) {
            assert_true(tfy_step(bench.loop) >= 0);
            assert_int_equal(tfy__log_sync(bench.loop->log), 0);
        }
    }
    int64_t tid = tid_of(&bench, row->path);
    if (tfy_task_state(bench.loop, tid) != row->state)
        fail_msg("%s: state %d", row->workflow, (int)tfy_task_state(bench.loop, tid));
    assert_int_equal(tfy_kill(bench.loop, tid, false), row->kill);
    int twice = tfy_kill(bench.loop, tid, false); /* a second one changes nothing */
    assert_true(twice == 0 || twice == TFY_E_STATE);
    for (int turn = 0; turn < 2000 && bench.loop->runs_live; turn++) one_turn(bench.loop);
    one_turn(bench.loop);
    if (tfy_task_state(bench.loop, tid) != row->after || strcmp(said, row->said) != 0)
        fail_msg("%s ends in %d, says:\n%s", row->workflow, (int)tfy_task_state(bench.loop, tid), said);
    assert_int_equal(tfy_kill(bench.loop, tid, false), TFY_E_STATE);
    close_bench(&bench);
}

static void test_every_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

/* What is ready already is not made ready once more: it takes no second turn, and no other place among those that wait for theirs. */
static void test_woken_again(void **state)
{
    Bench bench = {0};
    char said[400] = "";
    (void)state;
    open_collecting(&bench, said);
    start(&bench, "two");
    bool more = true;
    for (int turn = 0; turn < 200 && more; turn++) {
        uint32_t ready = bench.loop->ring_tail - bench.loop->ring_head;
        for (TaskRest *rest = bench.loop->runs.first->tasks; rest; rest = rest->next_in_run) {
            if (!rest->task || state_of(rest->task) != TFY_TASK_READY) continue;
            tfy__sched_wake(rest->task);
            tfy__sched_wake(rest->task);
        }
        assert_int_equal(bench.loop->ring_tail - bench.loop->ring_head, ready);
        more = one_turn(bench.loop);
    }
    assert_false(more);
    assert_string_equal(said, "l1\nr1\nl2\nr2\nl3\nr3\nl4\nr4\nl5\nr5\nboth\n");
    close_bench(&bench);
}

static void test_unknown(void **state)
{
    (void)state;
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    assert_int_equal(tfy_task_state(bench.loop, 77), TFY_TASK_UNKNOWN);
    assert_int_equal(tfy_kill(bench.loop, 77, false), TFY_E_ABSENT);
    assert_int_equal(tfy_kill(bench.loop, 77, true), TFY_E_ABSENT);
    assert_int_equal(tfy_approve(bench.loop, 77, "yes"), TFY_E_ABSENT);
    assert_int_equal(tfy_signal(bench.loop, 77, "go", NULL), TFY_E_ABSENT);
    assert_null(tfy_task_result(bench.loop, 77));
    assert_null(tfy_task_error(bench.loop, 77));
    assert_null(tfy_run_id(bench.loop, 77));
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_state), cmocka_unit_test(test_woken_again),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

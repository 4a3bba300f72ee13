/* Who runs next: tasks that begin after others, stopped at every turn; priorities and aging; a policy of one's own; and histories that are
 * the same under every policy. */
#include "core_script.h"

SCRIPT(one, DO(YIELD, 0), SAY("one"), DO(YIELD, 0));
SCRIPT(two, SAY("two"), DO(WORK, .n = 5));
SCRIPT(bad, DO(YIELD, 0), DO(FAIL, 0));
SCRIPT(graph, SPAWN(one), DO(AFTER, .script = &two), DO(AFTER, .script = &bad), DO(AFTER, .script = &two, .n = 3),
       DO(YIELD, 0), DO(JOIN, 0), SAY("end"));
SCRIPT(killed, SPAWN(one), DO(AFTER, .script = &two), DO(KILL, 0), DO(AFTER, .script = &one), DO(JOIN, 0), SAY("end"));
SCRIPT(a, SAY("a1"), DO(YIELD, 0), SAY("a2"));
SCRIPT(b, SAY("b1"), DO(YIELD, 0), SAY("b2"));
SCRIPT(plain, DO(AFTER, .script = &a), DO(YIELD, 0));
SCRIPT(urgent, DO(AFTER, .script = &b, .n = 9), DO(YIELD, 0));
SCRIPT(levels, SPAWN(plain), SPAWN(urgent));
SCRIPT(hog, DO(SPIN, .n = 4000000));
SCRIPT(meek, SAY("meek"));
SCRIPT(starving, DO(AFTER, .script = &hog, .n = 1), SPAWN(meek));
SCRIPT(first, SAY("first"));
SCRIPT(second, SAY("second"));
SCRIPT(third, SAY("third"));
SCRIPT(three, SPAWN(first), SPAWN(second), SPAWN(third));
SCRIPT(waiter, DO(YIELD, 0), SAY("waiter"));
SCRIPT(needed, SAY("needed"));
SCRIPT(most_needed, SPAWN(meek), SPAWN(needed), DO(AFTER, .script = &waiter));
SCRIPT(beyond, DO(AFTER, .script = &a, .n = 1001), SAY("never"));

PROGRAM(&one.workflow, &two.workflow, &bad.workflow, &graph.workflow, &killed.workflow, &a.workflow, &b.workflow,
        &plain.workflow, &urgent.workflow, &levels.workflow, &hog.workflow, &meek.workflow, &starving.workflow,
        &first.workflow, &second.workflow, &third.workflow, &three.workflow, &waiter.workflow, &needed.workflow,
        &most_needed.workflow, &beyond.workflow);

AT_EVERY_TURN(graph)
AT_EVERY_TURN(killed)

/* Runs a workflow under a policy: what it says. own: a policy of the program. */
static void said_under(const char *policy, const TfyScheduling *own, const char *workflow, const char *wanted)
{
    Bench bench = {0};
    char said[400] = "", error[TFY_ERROR_TEXT] = "", db[64];
    temp_db(db);
    bench.world = tfy_world_virtual(0, 42);
    bench.world->performers[TFY_F_EXTERN] = &jobs;
    TfyOptions options = {.world = bench.world, .on_output = collect, .state = said, .policy = policy, .db_path = db};
    if (tfy_open(&bench.loop, &program, &options, error) < 0) fail_msg("%s", error);
    if (own) assert_int_equal(tfy_register_policy(bench.loop, own), 0);
    start(&bench, workflow);
    for (int turn = 0; turn < 5000 && bench.loop->runs_live; turn++) one_turn(bench.loop);
    one_turn(bench.loop);
    close_bench(&bench);
    if (strcmp(said, wanted) != 0) fail_msg("%s, %s says:\n%s", policy ? policy : "fifo", workflow, said);
    check_replay(db, workflow);
    remove_db(db);
}

static void test_after(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "fifo", "priority", "deps"};
    for (int i = 0; i < 4; i++) said_under(names[i], NULL, "graph", "one\ntwo\ntwo\nend\n");
}

static void test_priority(void **state)
{
    (void)state;
    said_under("fifo", NULL, "levels", "a1\nb1\na2\nb2\n");
    said_under("priority", NULL, "levels", "b1\nb2\na1\na2\n");
    said_under("fifo", NULL, "most_needed", "meek\nneeded\nwaiter\n");
    said_under("deps", NULL, "most_needed", "needed\nmeek\nwaiter\n");
    said_under("priority", NULL, "beyond", "");
}

/* One that is always ready and goes first is overtaken in the end. */
static void test_nobody_starves(void **state)
{
    (void)state;
    Bench bench = {0};
    char said[400] = "", error[TFY_ERROR_TEXT] = "";
    bench.world = tfy_world_virtual(0, 42);
    TfyOptions options = {.world = bench.world, .on_output = collect, .state = said, .policy = "priority"};
    assert_int_equal(tfy_open(&bench.loop, &program, &options, error), 0);
    start(&bench, "starving");
    while (!strstr(said, "meek") && bench.loop->runs_live) one_turn(bench.loop);
    assert_string_equal(said, "meek\n");
    assert_int_equal(bench.loop->runs_live, 1); /* the hog is not done */
    while (bench.loop->runs_live) one_turn(bench.loop);
    close_bench(&bench);
}

/* The last that became ready runs first. */
typedef struct Stack {
    uint32_t slots[64], count;
} Stack;

static void *stack_open(void)
{
    return calloc(1, sizeof(Stack));
}
static bool stack_push(void *queue, const TfyReadyTask *ready)
{
    Stack *stack = queue;
    if (stack->count == 64) return false;
    stack->slots[stack->count++] = ready->slot;
    return true;
}
static uint32_t stack_pop(void *queue)
{
    Stack *stack = queue;
    return stack->slots[--stack->count];
}
static const TfyScheduling newest_first = {"newest first", stack_open, stack_push, stack_pop, free};

static void test_own_policy(void **state)
{
    (void)state;
    said_under(NULL, NULL, "three", "first\nsecond\nthird\n");
    said_under(NULL, &newest_first, "three", "third\nsecond\nfirst\n");
    said_under("priority", &newest_first, "three", "third\nsecond\nfirst\n");
}

static void test_unknown(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT] = "";
    TfyLoop *loop;
    assert_int_equal(tfy_open(&loop, &program, &(TfyOptions){.policy = "lifo"}, error), TFY_E_INVALID);
    assert_string_equal(error, "'lifo' is not a policy; use fifo, priority or deps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after),      cmocka_unit_test(test_priority), cmocka_unit_test(test_nobody_starves),
        cmocka_unit_test(test_own_policy), cmocka_unit_test(test_unknown),  cmocka_unit_test(test_graph),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

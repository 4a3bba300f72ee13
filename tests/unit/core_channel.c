/* Channels, locks and semaphores: stopped by kills, failures and the end of the process at every turn, taken up again and replayed. */
#include "core_script.h"

/* With a limit, so that nobody waits for ever for one who was killed. */
#define SEND(N) DO(SEND, .n = N, .timeout_ms = 300)
#define RECV    DO(RECV, .timeout_ms = 300)
SCRIPT(sender, SEND(1), SEND(2), SEND(3), SEND(4), SEND(5), DO(CLOSE, 0), DO(CLOSE, 0));
SCRIPT(receiver, RECV, RECV, DO(WORK, .n = 5), RECV, RECV, RECV, RECV);
SCRIPT(tube, DO(CHANNEL, .n = 2), SPAWN(receiver), SPAWN(sender), DO(YIELD, 0));
SCRIPT(greedy, RECV, RECV, RECV, RECV, RECV, RECV);
SCRIPT(shared, DO(CHANNEL, .n = 1), SPAWN(greedy), SPAWN(greedy), SPAWN(sender), DO(YIELD, 0));
SCRIPT(words, DO(CHANNEL, .n = 4), DO(SEND, .text = "a"), DO(SEND, .text = "b"), DO(RECV, .text = ""),
       DO(CLOSE, .text = ""), DO(RECV, .text = ""), DO(RECV, .text = ""), DO(SEND, .text = "c"), SAY("never"),
       DO(CATCH, 0), SAY("refused"));
SCRIPT(late, DO(RECV, .timeout_ms = 30), SAY("never"), DO(CATCH, 0), SAY("nothing came"), DO(SEND, .n = 1),
       DO(SEND, .n = 2, .timeout_ms = 30), SAY("never"), DO(CATCH, 0), SAY("no room"), DO(RECV, 0));
SCRIPT(lonely, DO(CHANNEL, .n = 1), CALL(late));
SCRIPT(blocked, DO(SEND, .n = 7), DO(SEND, .n = 8), DO(CATCH, 0), SAY("closed on me"));
SCRIPT(closer, DO(CHANNEL, .n = 1), SPAWN(blocked), SPAWN(blocked), DO(SLEEP, .n = 20), DO(CLOSE, 0), DO(RECV, 0),
       DO(RECV, 0));
SCRIPT(one, RECV, DO(YIELD, 0), DO(WORK, .n = 1));
SCRIPT(idler, DO(YIELD, 0), DO(YIELD, 0), DO(YIELD, 0), DO(YIELD, 0));
/* Receivers of which one wins: what the other was handed and did not take is handed on. */
SCRIPT(racers, BODY(one), BODY(one), BODY(idler), DO(RACE, 0), DO(WORK, .n = 5));
SCRIPT(racing, DO(CHANNEL, .n = 3), SPAWN(racers), DO(SLEEP, .n = 5), DO(SEND, .n = 1), DO(SEND, .n = 2),
       DO(SEND, .n = 3), DO(SLEEP, .n = 20), DO(RECV, .timeout_ms = 10), DO(CATCH, 0), DO(RECV, .timeout_ms = 10),
       DO(CATCH, 0));

SCRIPT(user, DO(LOCK, .text = "repo"), SAY("in"), DO(WORK, .n = 20), DO(UNLOCK, 0), SAY("out"),
       DO(LOCK, .text = "repo"), SAY("in"), DO(YIELD, 0), DO(UNLOCK, 0), SAY("out"));
SCRIPT(users, SPAWN(user), SPAWN(user), SPAWN(user), DO(SLEEP, .n = 1));
SCRIPT(few, DO(LOCK, .text = "few", .n = 2), SAY("in"), DO(SLEEP, .n = 10), DO(UNLOCK, 0), SAY("out"));
SCRIPT(many, SPAWN(few), SPAWN(few), SPAWN(few), SPAWN(few), DO(SLEEP, .n = 1));
SCRIPT(impatient, DO(LOCK, .text = "repo", .timeout_ms = 5), SAY("never"), DO(UNLOCK, 0), DO(CATCH, 0), SAY("gave up"));
SCRIPT(careless, DO(LOCK, .text = "repo"), DO(SLEEP, .n = 10), DO(FAIL, 0), DO(UNLOCK, 0));
SCRIPT(waiting, SPAWN(careless), DO(YIELD, 0), CALL(impatient), DO(LOCK, .text = "repo"), SAY("mine"), DO(UNLOCK, 0));
SCRIPT(again, DO(LOCK, .text = "repo"), DO(LOCK, .text = "repo"), SAY("never"), DO(UNLOCK, 0));
SCRIPT(other_n, DO(LOCK, .text = "few", .n = 3), SAY("never"), DO(UNLOCK, 0));
SCRIPT(none, DO(LOCK, .text = "few", .n = -1), SAY("never"), DO(UNLOCK, 0));
SCRIPT(mistakes, SPAWN(few), DO(SLEEP, .n = 1), SPAWN(other_n), SPAWN(none), SPAWN(again), DO(SLEEP, .n = 1));
SCRIPT(everything, DO(CHANNEL, .n = 1), SPAWN(sender), SPAWN(greedy), SPAWN(receiver), SPAWN(users), SPAWN(waiting),
       BODY(one), BODY(many), DO(ALL, 0));

PROGRAM(&sender.workflow, &receiver.workflow, &tube.workflow, &greedy.workflow, &shared.workflow, &words.workflow,
        &late.workflow, &lonely.workflow, &blocked.workflow, &closer.workflow, &one.workflow, &idler.workflow,
        &racers.workflow, &racing.workflow, &user.workflow, &users.workflow, &few.workflow, &many.workflow,
        &impatient.workflow, &careless.workflow, &waiting.workflow, &again.workflow, &other_n.workflow, &none.workflow,
        &mistakes.workflow, &everything.workflow);

AT_EVERY_TURN(tube)
AT_EVERY_TURN(shared)
AT_EVERY_TURN(words)
AT_EVERY_TURN(lonely)
AT_EVERY_TURN(closer)
AT_EVERY_TURN(racing)
AT_EVERY_TURN(users)
AT_EVERY_TURN(many)
AT_EVERY_TURN(waiting)
AT_EVERY_TURN(mistakes)
AT_EVERY_TURN(everything)

static void says(const char *workflow, const char *wanted)
{
    char said[400];
    said_when_killed(workflow, -1, -1, said);
    assert_string_equal(said, wanted);
}

static void test_meanings(void **state)
{
    (void)state;
    says("tube", "got 1\ngot 2\ngot 3\ngot 4\ngot 5\nclosed\n");
    says("words", "got a\ngot b\nclosed\nrefused\n");
    says("lonely", "nothing came\nno room\ngot 1\n");
    says("closer", "got 7\nclosed\nclosed on me\nclosed on me\n");
    says("many", "in\nin\nout\nout\nin\nin\nout\nout\n");
    says("waiting", "gave up\nmine\n");
}

/* One of two receivers is killed at any turn: each message is received once, by whomever. */
static void test_nothing_lost(void **state)
{
    (void)state;
    int turns = turns_of("shared");
    for (int turn = 1; turn < turns; turn += TURN_STRIDE) {
        char said[400] = "", error[TFY_ERROR_TEXT];
        Bench bench = {.world = tfy_world_virtual(0, 42)};
        bench.world->performers[TFY_F_EXTERN] = &jobs;
        TfyOptions options = {.world = bench.world, .on_output = collect, .state = said};
        assert_int_equal(tfy_open(&bench.loop, &program, &options, error), 0);
        start(&bench, "shared");
        run_turns(&bench, &(Trouble){.workflow = "shared", .kill_turn = turn, .path = "1.1"});
        assert_int_equal(tfy_step(bench.loop) < 0, 0);
        for (char what[] = "got 1\n"; what[4] <= '5'; what[4]++) {
            const char *first = strstr(said, what);
            if (!first || strstr(first + 1, what)) fail_msg("killed at turn %d, it said %s", turn, said);
        }
        close_bench(&bench);
    }
}

/* Whoever ends gives back what it holds, however it ends. */
static void test_released(void **state)
{
    (void)state;
    int turns = turns_of("users");
    for (int turn = 1; turn < turns; turn += TURN_STRIDE) {
        for (int force = 0; force < 2; force++) {
            Bench bench = {0};
            open_bench(&bench, NULL, 1700000000000);
            start(&bench, "users");
            run_turns(&bench, &(Trouble){.workflow = "users",
                                         .kill_turn = force ? 0 : turn,
                                         .force_turn = force ? turn : 0,
                                         .path = "1.2"});
            assert_int_equal(bench.loop->runs_live, 0);
            close_bench(&bench);
        }
    }
}

static void test_memory(void **state)
{
    static const char *const names[] = {"tube", "words", "users", "mistakes"};
    (void)state;
    run_all_out_of_memory(names, sizeof names / sizeof *names);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meanings), cmocka_unit_test(test_nothing_lost), cmocka_unit_test(test_released),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_tube),         cmocka_unit_test(test_shared),
        cmocka_unit_test(test_words),    cmocka_unit_test(test_lonely),       cmocka_unit_test(test_closer),
        cmocka_unit_test(test_racing),   cmocka_unit_test(test_users),        cmocka_unit_test(test_many),
        cmocka_unit_test(test_waiting),  cmocka_unit_test(test_mistakes),     cmocka_unit_test(test_everything),
    };
    return cmocka_run_group_tests_name("core_channel", tests, NULL, NULL);
}

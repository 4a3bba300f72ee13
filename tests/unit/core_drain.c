/* core_drain.c: a loop that is asked to stop: what is under way may finish and is recorded, nothing else starts; the next opening goes on as after a
 * kill. The world is virtual, but for the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"

extern const TfyProgram tfyg_program;

#define HOUR  (INT64_C(3600) * 1000)
#define BEGIN INT64_C(1700000000000)

/* ---- the tools: `slow` takes a minute, `quick` no time ---- */

bool slow(TfyTask *task, int64_t n, int64_t *out);
bool slow(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task;
    *out = n;
    return true;
}

bool quick(TfyTask *task, int64_t n, int64_t *out);
bool quick(TfyTask *task, int64_t n, int64_t *out)
{
    return slow(task, n, out);
}

static int started, finished, aborted;
static uint64_t timer;

static void finish_job(void *arg)
{
    TfyCall *call = arg;
    finished++;
    tfy__call_done(call, call->args[0]);
}

static void start_job(TfyCall *call)
{
    const int64_t takes_ns = strcmp(call->tool->name, "slow") == 0 ? INT64_C(60) * 1000000000 : 0;
    started++;
    timer = tfy__timer_add(call->loop, tfy__now_ns(call->loop) + takes_ns, finish_job, call);
}

static void abort_job(TfyCall *call)
{
    aborted++;
    tfy__timer_del(call->loop, timer);
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

/* ---- a life of the process ---- */

typedef struct Life {
    TfyWorld *world;
    TfyLoop *loop;
    int64_t root;
} Life;

static char directory[64], db[96];

static Life open_life(void)
{
    char error[TFY_ERROR_TEXT] = "";
    Life life = {.world = tfy__world_virtual(BEGIN, 7)};
    assert_non_null(life.world);
    life.world->performers[TFY_F_EXTERN] = &jobs;
    const TfyOptions options = {.world = life.world, .quiet = true, .db_path = db};
    if (tfy_open(&life.loop, &tfyg_program, &options, error) < 0) fail_msg("%s", error);
    started = finished = aborted = 0;
    return life;
}

static void close_life(Life *life)
{
    assert_int_equal(tfy_close(life->loop), 0);
    tfy__world_free(life->world);
}

/* A life in which the workflow has been submitted and has come to its first step. */
static Life begin(const char *workflow)
{
    char error[TFY_ERROR_TEXT] = "";
    Life life = open_life();
    if (tfy_submit(life.loop, workflow, "{}", &life.root, error) < 0) fail_msg("%s", error);
    for (int turns = 0; turns < 1000; turns++) {
        assert_true(tfy_step(life.loop) >= 0);
        if (started || tfy_task_state(life.loop, life.root) == TFY_TASK_SLEEPING) return life;
        usleep(100); /* the writer is a thread of its own */
    }
    fail_msg("the run comes to no step");
    return life;
}

/* The life behind it, to its end or until nothing moves. */
static TfyTaskState resume(void)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t root = 0;
    Life life = open_life();
    if (tfy_resume(life.loop, "last", &root, error) < 0) fail_msg("%s", error);
    assert_int_equal(tfy_run(life.loop), 0);
    const TfyTaskState state = tfy_task_state(life.loop, root);
    close_life(&life);
    return state;
}

/* ---- the tests ---- */

static void test_a_tool_under_way_finishes(void **state)
{
    (void)state;
    Life life = begin("works");
    tfy_drain(life.loop, HOUR);
    assert_int_equal(tfy_run(life.loop), TFY_E_STATE);
    assert_int_equal(started, 1); /* quick would come next */
    assert_int_equal(finished, 1);
    assert_int_equal(aborted, 0);
    close_life(&life);
    assert_int_equal(resume(), TFY_TASK_COMPLETED);
    assert_int_equal(started, 1); /* slow's result was recorded: only quick is left */
}

static void test_no_time_is_given(void **state)
{
    (void)state;
    Life life = begin("works");
    tfy_drain(life.loop, 0);
    assert_int_equal(tfy_run(life.loop), TFY_E_STATE);
    assert_int_equal(finished, 0);
    close_life(&life);
    assert_int_equal(aborted, 1);
    assert_int_not_equal(resume(), TFY_TASK_COMPLETED); /* a once step that was cut off: in doubt */
    assert_int_equal(started, 0);
}

static void test_time_runs_out(void **state)
{
    (void)state;
    Life life = begin("works");
    tfy_drain(life.loop, 1000);
    assert_int_equal(tfy_run(life.loop), TFY_E_STATE);
    assert_int_equal(finished, 0);
    close_life(&life);
    assert_int_equal(aborted, 1);
}

static void test_asked_twice_it_stops_at_once(void **state)
{
    (void)state;
    Life life = begin("works");
    tfy_drain(life.loop, HOUR);
    assert_int_equal(tfy_step(life.loop), 1); /* it waits for slow */
    tfy_drain(life.loop, HOUR);
    assert_int_equal(tfy_run(life.loop), TFY_E_STATE);
    assert_int_equal(finished, 0);
    close_life(&life);
}

static void test_a_sleep_is_not_waited_for(void **state)
{
    (void)state;
    Life life = begin("naps");
    tfy_drain(life.loop, 2 * HOUR);
    assert_int_equal(tfy_run(life.loop), TFY_E_STATE);
    assert_int_equal(started, 0);
    assert_true(life.world->mono_ns(life.world->state) < HOUR * 1000000);
    close_life(&life);
    assert_int_equal(resume(), TFY_TASK_COMPLETED);
    assert_int_equal(started, 1);
}

/* ---- a database for each ---- */

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/tfy-drain-XXXXXX");
    if (!mkdtemp(directory)) return -1;
    snprintf(db, sizeof db, "%s/runs.db", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "-wal", "-shm", "-tfy"};
    char name[128];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", db, endings[i]);
        unlink(name);
    }
    return rmdir(directory);
}

#define DRAIN_TEST(Test) cmocka_unit_test_setup_teardown(Test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DRAIN_TEST(test_a_tool_under_way_finishes),
        DRAIN_TEST(test_no_time_is_given),
        DRAIN_TEST(test_time_runs_out),
        DRAIN_TEST(test_asked_twice_it_stops_at_once),
        DRAIN_TEST(test_a_sleep_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

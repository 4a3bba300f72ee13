/* core_diverged.c: a run that differs from its log is set aside: the loop and its other runs go on, nothing is recorded for it,
 * what arrives for it is refused, a kill by force ends it, and with the right program it goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"
#include "wal/history/history.h"

extern const TfyProgram tfyg_program;

#define BEGIN     INT64_C(1700000000000)
#define FLOWS     8
#define TOLD_MOST 8

bool paint(TfyTask *task, TfyObj *colour, TfyObj **out);
bool paint(TfyTask *task, TfyObj *colour, TfyObj **out)
{
    const TfyString *text = (const TfyString *)colour;
    *out = tfy_string_of(task, text->bytes, text->byte_len);
    return *out != NULL;
}

static TfyWorld *world;
static TfyLoop *loop;
static char directory[64], db[96];

/* ---- a program whose code is another one ---- */

static TfyProgram other;
static TfyWorkflow replaced;
static const TfyWorkflow *flows[FLOWS];

static const TfyWorkflow *flow(const char *name)
{
    return tfy__workflow_by_name(&tfyg_program, name);
}

/* Of the same source, but a workflow has the code of another one. */
static const TfyProgram *with_code(const char *name, const char *of)
{
    other = tfyg_program;
    assert_true(other.workflow_count <= FLOWS);
    replaced = *flow(of);
    replaced.name = flow(name)->name;
    for (uint32_t i = 0; i < other.workflow_count; i++)
        flows[i] = other.workflows[i] == flow(name) ? &replaced : other.workflows[i];
    other.workflows = flows;
    return &other;
}

/* ---- loops ---- */

typedef struct Told {
    char run[37];
    bool aside;
} Told;

static Told told[TOLD_MOST];
static int told_count;

static void note_told(void *state, const char *run, const char *why)
{
    (void)state;
    assert_true(told_count < TOLD_MOST);
    snprintf(told[told_count].run, sizeof told[0].run, "%s", run);
    told[told_count++].aside = why;
    if (why) assert_non_null(strstr(why, "--force' ends it"));
}

static void open_loop(const TfyProgram *program, bool sets_aside)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyOptions options = {
        .world = world, .quiet = true, .db_path = db, .stay = true, .served = true, .park_after_ms = -1};
    if (tfy_open(&loop, program, &options, error) < 0) fail_msg("%s", error);
    if (sets_aside) tfy__set_aside(loop, note_told, NULL);
    told_count = 0;
}

static void begin(const char *workflow, char run[37])
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    if (tfy_submit(loop, workflow, NULL, &tid, error) < 0) fail_msg("%s", error);
    snprintf(run, 37, "%s", tfy_run_id(loop, tid));
}

/* Until nothing happens and all is durable, without the clock. */
static void settle(void)
{
    const TfyLog *log = tfy__loop_log(loop);
    for (int quiet = 0, turns = 0; quiet < 20 && turns < 100000; turns++) {
        const int happened = tfy_step(loop);
        assert_true(happened >= 0);
        quiet = happened || tfy__log_durable(log) < tfy__log_last(log) ? 0 : quiet + 1;
        if (!happened) usleep(50); /* the writer is a thread of its own */
    }
}

static void jump_an_hour(void)
{
    world->jump(world->state, tfy__now_ns(loop) + INT64_C(3600000000000));
    settle();
}

/* The run as the log has it. */
static TfyTaskState logged(const char *run, uint32_t *records)
{
    TfyHistory *history;
    char error[TFY_ERROR_TEXT] = "";
    assert_int_equal(tfy__log_sync(tfy__loop_log(loop)), 0);
    if (tfy__history_read(tfy__loop_log(loop), run, &history, error) < 0) fail_msg("%s", error);
    const TfyTaskState state = (TfyTaskState)history->run.state;
    *records = history->record_count;
    tfy__history_free(history);
    return state;
}

static void signal_to(const char *run, const char *name)
{
    char error[TFY_ERROR_TEXT] = "";
    if (tfy__arrive_signal(loop, run, name, "\"on\"", NULL, "test", error) < 0) fail_msg("%s", error);
    settle();
}

static char run_red[37], run_asleep[37];
static uint32_t records_red;

/* Two runs, one of which will differ; in a process that then ends. */
static void begin_both(void)
{
    open_loop(&tfyg_program, true);
    begin("red", run_red);
    begin("asleep", run_asleep);
    settle();
    (void)logged(run_red, &records_red);
    assert_int_equal(told_count, 0);
    assert_int_equal(tfy_close(loop), 0);
}

/* ---- tests ---- */

static void check_aside(void)
{
    uint32_t records;
    assert_int_equal(told_count, 1);
    assert_string_equal(told[0].run, run_red);
    assert_true(told[0].aside);
    assert_non_null(strstr(tfy__diverged_why(loop, run_red), "differs from its log. recorded: record "));
    assert_null(tfy__diverged_why(loop, run_asleep));
    assert_int_equal(loop->runs_live, 1);
    assert_string_equal(loop->runs.first->uuid, run_asleep);
    assert_int_equal(logged(run_red, &records), TFY_TASK_READY);
    assert_int_equal(records, records_red);
}

/* However it differs: by another argument, by what it says, by its end, by what it waits for. */
static void test_the_others_go_on(void **state)
{
    static const char *const codes[] = {"blue", "loud", "short", "asleep", "awake"};
    char error[TFY_ERROR_TEXT];
    uint32_t records;
    (void)state;
    begin_both();
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        open_loop(with_code("red", codes[i]), true);
        assert_int_equal(tfy__resume_all(loop, error), 0);
        settle();
        check_aside();
        assert_int_equal(tfy_close(loop), 0);
    }
    open_loop(with_code("red", "blue"), true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    jump_an_hour();
    assert_int_equal(logged(run_asleep, &records), TFY_TASK_COMPLETED);
    begin("short", run_asleep);
    settle();
    assert_int_equal(logged(run_asleep, &records), TFY_TASK_COMPLETED);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_the_right_program_continues_it(void **state)
{
    char error[TFY_ERROR_TEXT];
    uint32_t records;
    (void)state;
    begin_both();
    open_loop(with_code("red", "blue"), true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    assert_int_equal(tfy_close(loop), 0);
    open_loop(&tfyg_program, true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    assert_int_equal(told_count, 0);
    assert_int_equal(loop->runs_live, 2);
    signal_to(run_red, "go");
    signal_to(run_red, "more");
    assert_int_equal(logged(run_red, &records), TFY_TASK_COMPLETED);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_a_program_that_lacks_it(void **state)
{
    char error[TFY_ERROR_TEXT];
    uint32_t records;
    (void)state;
    begin_both();
    (void)with_code("red", "red");
    replaced.name = "green";
    open_loop(&other, true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    assert_non_null(strstr(tfy__diverged_why(loop, run_red), "the program has no workflow 'red'"));
    assert_int_equal(loop->runs_live, 1);
    assert_int_equal(tfy__arrive_kill(loop, run_red, NULL, true, "test", error), 0);
    assert_int_equal(logged(run_red, &records), TFY_TASK_CANCELLED);
    assert_int_equal(tfy_close(loop), 0);
}

/* In the same process, where its code is changed back. */
static void test_it_is_tried_again(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    begin_both();
    open_loop(with_code("red", "blue"), true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    assert_int_equal(tfy__resume(loop, run_red, error), TFY_E_DIVERGED);
    assert_non_null(strstr(error, "differs from its log"));
    assert_int_equal(told_count, 2);
    assert_non_null(tfy__diverged_why(loop, run_red));
    replaced = *flow("red");
    assert_int_equal(tfy__resume(loop, run_red, error), 0);
    assert_int_equal(told_count, 3);
    assert_false(told[2].aside);
    assert_null(tfy__diverged_why(loop, run_red));
    assert_int_equal(loop->runs_live, 2);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_what_arrives_is_refused(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    begin_both();
    open_loop(with_code("red", "blue"), true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    assert_int_equal(tfy__arrive_signal(loop, run_red, "go", "\"on\"", NULL, "test", error), TFY_E_STATE);
    assert_non_null(strstr(error, "is set aside"));
    assert_int_equal(tfy__arrive_approval(loop, run_red, NULL, 0, "yes", "test", NULL, error), TFY_E_STATE);
    assert_int_equal(tfy__arrive_resolve(loop, run_red, NULL, 0, "retry", NULL, "test", error), TFY_E_STATE);
    assert_int_equal(tfy__arrive_kill(loop, run_red, NULL, false, "test", error), TFY_E_STATE);
    assert_non_null(strstr(error, "its cleanup cannot run"));
    assert_int_equal(tfy__arrive_kill(loop, run_red, "1.1", true, "test", error), TFY_E_STATE);
    settle();
    check_aside();
    assert_int_equal(tfy__arrive_signal(loop, "0000", "go", NULL, NULL, "test", error), TFY_E_ABSENT);
    assert_int_equal(tfy_close(loop), 0);
}

static void check_replay(const char *run)
{
    TfyHistory *history;
    TfyReplayReport report;
    char error[TFY_ERROR_TEXT] = "";
    if (tfy__history_read(tfy__loop_log(loop), run, &history, error) < 0) fail_msg("%s", error);
    history->log = tfy__loop_log(loop);
    const int code = tfy__replay(&tfyg_program, history, &(TfyOptions){.quiet = true}, &report);
    if (code < 0 || report.divergences) fail_msg("%s", report.text);
    assert_true(report.finished);
    tfy__history_free(history);
}

static char ended[37];

static void note_ended(void *state, const char *run)
{
    (void)state;
    snprintf(ended, sizeof ended, "%s", run);
}

static void test_a_kill_by_force_ends_it(void **state)
{
    char error[TFY_ERROR_TEXT] = "";
    uint32_t records;
    (void)state;
    begin_both();
    open_loop(with_code("red", "blue"), true);
    tfy__on_runs(loop, &(TfyRunsSeen){.ended = note_ended});
    assert_int_equal(tfy__resume_all(loop, error), 0);
    if (tfy__arrive_kill(loop, run_red, NULL, true, "test", error) < 0) fail_msg("%s", error);
    assert_string_equal(ended, run_red);
    assert_null(tfy__diverged_why(loop, run_red));
    assert_int_equal(logged(run_red, &records), TFY_TASK_CANCELLED);
    assert_int_equal(records, records_red + 7); /* Signal, TaskCancel and TaskAbort of both tasks, TaskComplete */
    check_replay(run_red);
    settle();
    assert_int_equal(loop->runs_live, 1);
    assert_int_equal(tfy__arrive_kill(loop, run_red, NULL, true, "test", error), TFY_E_ABSENT);
    assert_int_equal(tfy_close(loop), 0);
    open_loop(&tfyg_program, true);
    assert_int_equal(tfy__resume_all(loop, error), 0);
    assert_int_equal(loop->runs_live, 1);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_a_loop_of_one_run_fails(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    begin_both();
    open_loop(with_code("red", "blue"), false);
    assert_int_equal(tfy__resume_all(loop, error), TFY_E_DIVERGED);
    assert_non_null(strstr(error, "differs from its log. recorded: record "));
    assert_int_equal(tfy_run(loop), TFY_E_DIVERGED);
    assert_int_equal(tfy_close(loop), TFY_E_DIVERGED);
}

/* ---- a world and a database for each ---- */

static int begin_test(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/tfy-diverged-XXXXXX");
    if (!mkdtemp(directory)) return -1;
    snprintf(db, sizeof db, "%s/runs.db", directory);
    world = tfy__world_virtual(BEGIN, 7);
    return world ? 0 : -1;
}

static int end_test(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "-wal", "-shm", "-tfy"};
    char name[128];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", db, endings[i]);
        unlink(name);
    }
    tfy__world_free(world);
    return rmdir(directory);
}

#define DIVERGED_TEST(test) cmocka_unit_test_setup_teardown(test, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIVERGED_TEST(test_the_others_go_on),        DIVERGED_TEST(test_the_right_program_continues_it),
        DIVERGED_TEST(test_a_program_that_lacks_it), DIVERGED_TEST(test_it_is_tried_again),
        DIVERGED_TEST(test_what_arrives_is_refused), DIVERGED_TEST(test_a_kill_by_force_ends_it),
        DIVERGED_TEST(test_a_loop_of_one_run_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

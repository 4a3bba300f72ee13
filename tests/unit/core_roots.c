/* core_roots.c: two programs of one loop, each with a working root of its own: files, tools, commits, parked runs. */
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

static TfyProgram second;
static TfyLoop *loop;
static char directory[64], one[80], two[80], db[80];

static void shell(const char *format, ...)
{
    char command[600];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (system(command) != 0) fail_msg("%s", command);
}

/* root: of the second program. */
static void open_loop(const char *root)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyOptions options = {.db_path = db, .root = one, .stay = true, .park_after_ms = 50};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) fail_msg("%s", error);
    if (tfy_load(loop, &second, &(TfyLoadOptions){.root = root}, error) < 0) fail_msg("%s", error);
}

static void start(const TfyProgram *program, const char *workflow, const char *text)
{
    char error[TFY_ERROR_TEXT] = "", args[64];
    snprintf(args, sizeof args, "{\"text\":\"%s\"}", text);
    if (tfy_submit_to(loop, program, workflow, args, NULL, error) < 0) fail_msg("%s", error);
}

/* Until so many runs have ended, or nothing more happens within a second; at most half a minute. */
static void run_until(uint64_t ended)
{
    for (int quiet = 0, steps = 0; quiet < 1000 && steps < 30000 && loop->metrics.runs_ended[0] < ended; steps++) {
        const int happened = tfy_step(loop);
        if (happened < 0) fail_msg("%s", tfy__failure(loop));
        quiet = happened || loop->in_flight ? 0 : quiet + 1;
        usleep(1000);
    }
}

static void assert_file(const char *root, const char *name, const char *expected)
{
    char path[160], text[64] = "";
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "r");
    if (!expected) {
        assert_null(file);
        return;
    }
    if (!file) fail_msg("%s is not there", path);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, expected);
}

/* The newest run's result, as the log has it. */
static void assert_result(const char *name, const char *expected)
{
    TfyHistory *history;
    char error[TFY_ERROR_TEXT];
    if (tfy__history_read(tfy__loop_log(loop), name, &history, error) < 0) fail_msg("%s", error);
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_TASK_EXIT && !strstr(history->records[i].payload, expected))
            fail_msg("%s has no %s", history->records[i].payload, expected);
    assert_int_equal(history->run.state, TFY_TASK_COMPLETED);
    tfy__history_free(history);
}

static void test_each_in_its_own_root(void **state)
{
    char expected[160];
    (void)state;
    open_loop(two);
    for (int i = 0; i < 2; i++) {
        start(&tfyg_program, "main", "first");
        start(&second, "main", "second");
        run_until(2 * (uint64_t)i + 2);
    }
    assert_int_equal(loop->metrics.runs_ended[0], 4);
    assert_file(one, "note.txt", "first");
    assert_file(two, "note.txt", "second");
    snprintf(expected, sizeof expected, "\"value\":\"%s second\"", two);
    assert_result("last", expected);
    shell("cd %s && test $(git rev-list --all --count) -ge 2 && git log --all -p | grep -q '^+first'", one);
    shell("cd %s && ! git log --all -p | grep -q '^+first'", two);
    assert_int_equal(tfy_close(loop), 0);
}

/* Both leave memory and come back where they work. */
static void test_parked_runs_of_both_roots(void **state)
{
    (void)state;
    open_loop(two);
    start(&tfyg_program, "naps", "first");
    start(&second, "naps", "second");
    for (int i = 0; i < 1000 && loop->parked < 2; i++) {
        assert_true(tfy_step(loop) >= 0);
        usleep(1000);
    }
    assert_int_equal(loop->parked, 2);
    run_until(2);
    assert_file(one, "late.txt", "first");
    assert_file(two, "late.txt", "second");
    assert_int_equal(tfy_close(loop), 0);
}

static void begin_nap(void)
{
    open_loop(two);
    start(&second, "naps", "second");
    assert_true(tfy_step(loop) >= 0);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_a_program_that_came_elsewhere(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    begin_nap();
    open_loop(one);
    assert_int_equal(tfy_resume(loop, "last", NULL, error), TFY_E_STATE);
    assert_non_null(strstr(error, one));
    assert_non_null(strstr(error, two));
    assert_int_equal(tfy_resume_all(loop, error), 0);
    assert_int_equal(tfy__left_elsewhere(loop), 1);
    assert_int_equal(loop->runs_live, 0);
    assert_int_equal(tfy_close(loop), 0);
    open_loop(two);
    assert_int_equal(tfy_resume_all(loop, error), 0);
    assert_int_equal(loop->runs_live, 1);
    run_until(1);
    assert_file(one, "late.txt", NULL);
    assert_file(two, "late.txt", "second");
    assert_int_equal(tfy_close(loop), 0);
}

/* A program whose root is refused is not there afterwards, and harms nobody. */
static void test_roots_that_are_refused(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    open_loop(two);
    TfyProgram third = second;
    third.source = "// a third version\n";
    assert_int_equal(tfy_load(loop, &third, &(TfyLoadOptions){.root = "/"}, error), TFY_E_INVALID);
    assert_non_null(strstr(error, "the working root is '/'"));
    assert_int_equal(tfy_submit_to(loop, &third, "naps", "{\"text\":\"\"}", NULL, error), TFY_E_ABSENT);
    assert_int_equal(tfy_load(loop, &third, &(TfyLoadOptions){.root = "/nowhere"}, error), TFY_E_ABSENT);
    assert_int_equal(tfy_load(loop, &third, NULL, error), 0); /* where the first one works */
    assert_string_equal(tfy__program_root(loop, &third), one);
    assert_int_equal(tfy_load(loop, &second, NULL, error), 0); /* it is loaded already */
    assert_int_equal(tfy_load(loop, &second, &(TfyLoadOptions){.root = two}, error), 0);
    assert_int_equal(tfy_load(loop, &second, &(TfyLoadOptions){.root = one}, error), TFY_E_STATE);
    assert_non_null(strstr(error, two));
    assert_ptr_equal(loop->roots.first->next->next, loop->roots.last); /* each once, and the one that was refused */
    assert_int_equal(tfy_close(loop), 0);
}

static int begin_test(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/tfy-roots-XXXXXX");
    if (!mkdtemp(directory)) return -1;
    snprintf(one, sizeof one, "%s/one", directory);
    snprintf(two, sizeof two, "%s/two", directory);
    snprintf(db, sizeof db, "%s/runs.db", directory);
    shell("for d in %s %s; do git init -q $d; done", one, two);
    second = tfyg_program;
    second.source = "// another version\n";
    second.hash[0]++;
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    shell("rm -rf %s", directory);
    return 0;
}

#define ROOT_TEST(test) cmocka_unit_test_setup_teardown(test, begin_test, end_test)

int main(void)
{
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1); /* nobody's own settings */
    const struct CMUnitTest tests[] = {
        ROOT_TEST(test_each_in_its_own_root),
        ROOT_TEST(test_parked_runs_of_both_roots),
        ROOT_TEST(test_a_program_that_came_elsewhere),
        ROOT_TEST(test_roots_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core_forget.c: runs that have left a loop leave nothing behind in it, whatever its performers kept for them; and a run that
 * was away for a while goes on as if it had stayed. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"
#include "effects/wrote.h"

extern const TfyProgram tfyg_program;

enum { WARM = 1000, RUNS = 10000 };

static char directory[64], db[96], llm[128];
static TfyLoop *loop;
static int started;

static void write_session(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/session", directory);
    snprintf(llm, sizeof llm, "cassette:%s", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 1; i <= 2; i++)
        fprintf(file,
                "{\"request\":{\"messages\":[{\"content\":\"Say a word.\",\"role\":\"user\"}],\"model\":\"default\"},"
                "\"occurrence\":%d,\"answer\":\"word%d\"}\n",
                i, i);
    fclose(file);
}

/* keeps: in a file; else the log keeps nothing, not even blocks and a cache that grow up to their limits. */
static void open_loop(bool keeps, int64_t park_after_ms)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyOptions options = {.quiet = true,
                                .db_path = keeps ? db : NULL,
                                .forget = !keeps,
                                .root = directory,
                                .llm = llm,
                                .record_prompts = "full",
                                .budget = "calls=5",
                                .stay = true,
                                .park_after_ms = park_after_ms};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) fail_msg("%s", error);
}

static void start_run(const char *workflow)
{
    char args[32], error[TFY_ERROR_TEXT] = "";
    snprintf(args, sizeof args, "{\"n\":%d}", started++);
    if (tfy_submit(loop, workflow, args, NULL, error) < 0) fail_msg("%s", error);
}

/* Turns until so many runs have ended, with so many at a time. */
static void run_to(const char *workflow, int count, uint32_t at_once)
{
    while (started < count || loop->runs_live || loop->parked) {
        while (started < count && loop->runs_live < at_once) start_run(workflow);
        const int happened = tfy_step(loop);
        if (happened < 0) fail_msg("%s", tfy__failure(loop));
        if (tfy_timeout_ms(loop) != 0) usleep(200);
    }
}

static void test_ten_thousand_runs_leave_nothing(void **state)
{
    (void)state;
    open_loop(false, 0);
    run_to("main", WARM, 100);
    const size_t before = mallinfo2().uordblks; /* 0 with a sanitizer's allocator, which finds leaks itself */
    run_to("main", WARM + RUNS, 100);
    const size_t after = mallinfo2().uordblks;
    assert_int_equal(loop->metrics.runs_ended[0], WARM + RUNS);
    if (after > before + RUNS * 16) fail_msg("%zu bytes became %zu", before, after);
    assert_null(loop->effect_slots[TFY_M_WROTE]);
    assert_null(loop->runs.first);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_runs_that_were_away_go_on(void **state)
{
    (void)state;
    open_loop(true, 1);
    run_to("naps", 20, 20);
    assert_int_equal(loop->metrics.runs_ended[0], 20); /* the second answer is that of the second asking */
    assert_null(loop->effect_slots[TFY_M_WROTE]);
    assert_int_equal(tfy_close(loop), 0);
}

/* In memory, where there is such a place: the disk's own time proves nothing here. */
static int begin_test(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "%s/tfy-forget-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(directory)) return -1;
    snprintf(db, sizeof db, "%s.db", directory);
    started = 0;
    write_session();
    return 0;
}

static int end_test(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s' '%s' '%s'-*", directory, db, db);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ten_thousand_runs_leave_nothing, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_runs_that_were_away_go_on, begin_test, end_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core_served.c: a loop that is served leaves the terminal alone: no output, no input, no answer that an option gives. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"
#include "value/json.h"

extern const TfyProgram tfyg_program;

static TfyLoop *loop;

/* Turns until the task waits for a person or has ended, with stdout in a file; how much came there. */
static long printed_by(int64_t tid, TfyTaskState state)
{
    FILE *file = tmpfile();
    fflush(stdout);
    const int own = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    for (int i = 0; i < 5000 && tfy_task_state(loop, tid) != state; i++) {
        if (tfy_step(loop) < 0) break;
        usleep(500);
    }
    while (loop->out.first && tfy_step(loop) >= 0) usleep(500);
    dup2(own, STDOUT_FILENO);
    close(own);
    fseek(file, 0, SEEK_END);
    const long len = ftell(file);
    fclose(file);
    assert_int_equal(tfy_task_state(loop, tid), state);
    return len;
}

static int64_t begin(bool served)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid = 0;
    const TfyOptions options = {.served = served};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) fail_msg("%s", error);
    if (tfy_submit(loop, "main", NULL, &tid, error) < 0) fail_msg("%s", error);
    return tid;
}

static void test_the_log_alone_has_what_is_printed(void **state)
{
    TfyHistory *history;
    char error[TFY_ERROR_TEXT];
    bool found = false;
    (void)state;
    const int64_t tid = begin(true);
    assert_int_equal(printed_by(tid, TFY_TASK_WAITING_APPROVAL), 0);
    assert_int_equal(tfy__history_read(tfy__loop_log(loop), "last", &history, error), 0);
    for (uint32_t i = 0; i < history->record_count; i++)
        found |= history->records[i].type == TFY_R_OUTPUT && strstr(history->records[i].payload, "for the log alone");
    assert_true(found);
    tfy__history_free(history);
    assert_int_equal(tfy_close(loop), 0);
    assert_int_equal(printed_by(begin(false), TFY_TASK_WAITING_APPROVAL), 18);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_nobody_reads_stdin(void **state)
{
    (void)state;
    const int64_t tid = begin(true);
    printed_by(tid, TFY_TASK_WAITING_APPROVAL);
    assert_int_equal(tfy_approve(loop, tid, "yes"), 0);
    assert_int_equal(printed_by(tid, TFY_TASK_COMPLETED), 0);
    assert_string_equal(tfy_task_result(loop, tid),
                        "\"cannot stdin: this process serves many runs, and none of them reads it; true\"");
    assert_int_equal(tfy_close(loop), 0);
}

static void test_no_option_answers(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    assert_int_equal(tfy_open(&loop, &tfyg_program, &(TfyOptions){.served = true, .approve_all = true}, error),
                     TFY_E_INVALID);
    assert_int_equal(tfy_open(&loop, &tfyg_program, &(TfyOptions){.served = true, .approve_trusted = true}, error),
                     TFY_E_INVALID);
    assert_non_null(strstr(error, "no one who says yes to everything"));
}

/* As if the turn had been held up for so long before the record was made. */
static int64_t late_by_a_while(void *state)
{
    return tfy__world_real.wall_ms(state) + 5000;
}

static void test_an_answer_has_the_time_of_its_record(void **state)
{
    TfyWorld world = tfy__world_real;
    TfyHistory *history;
    char error[TFY_ERROR_TEXT];
    int64_t tid, at_ms, recorded_ms = 0;
    (void)state;
    world.wall_late_ms = late_by_a_while;
    if (tfy_open(&loop, &tfyg_program, &(TfyOptions){.served = true, .world = &world}, error) < 0)
        fail_msg("%s", error);
    if (tfy_submit(loop, "answered", NULL, &tid, error) < 0) fail_msg("%s", error);
    printed_by(tid, TFY_TASK_WAITING_APPROVAL);
    assert_int_equal(tfy_approve(loop, tid, "yes"), 0);
    printed_by(tid, TFY_TASK_COMPLETED);
    const char *result = tfy_task_result(loop, tid); /* in quotation marks */
    assert_true(tfy__read_time(result + 1, strlen(result) - 2, &at_ms));
    assert_int_equal(tfy__history_read(tfy__loop_log(loop), "last", &history, error), 0);
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_APPROVAL) recorded_ms = history->records[i].ts_ms;
    tfy__history_free(history);
    assert_int_equal(at_ms, recorded_ms);
    assert_int_equal(tfy_close(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_has_the_time_of_its_record),
        cmocka_unit_test(test_the_log_alone_has_what_is_printed),
        cmocka_unit_test(test_nobody_reads_stdin),
        cmocka_unit_test(test_no_option_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* wal_salvage.c: a run whose records follow from one another and are none all the same does not keep the others from coming out. */
#include "wal_fixture.h"
#include "wal/keep/salvage.h"
#include "wal/keep/verify.h"

static void end_run(TfyLog *log, Work *work)
{
    static const char done[] = "{\"ok\":true}";
    assert_true(tfy__log_append(log, &work->root, TFY_R_TASK_EXIT, 9, 0, "{\"value\":1}", 11) > 0);
    assert_true(tfy__log_append(log, &work->root, TFY_R_TASK_COMPLETE, 9, 0, done, sizeof done - 1) > 0);
    work->root.state = work->run.state = TFY_TASK_COMPLETED;
    tfy__log_forget_task(log, &work->root);
    assert_int_equal(tfy__log_end_run(log, &work->run), 0);
}

static void test_odd_one(void **state)
{
    Place *place = *state;
    TfyLog *log;
    TfySalvaged salvaged;
    char to[160];
    snprintf(to, sizeof to, "%s.out", place->db);
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    for (int i = 0; i < 3; i++) {
        Work work;
        begin_work(log, &work);
        append_some(log, &work, 3);
        if (i == 1) assert_true(tfy__log_append(log, &work.root, TFY_R_MOVED, 3, 0, "{\"from\":\"?\"}", 12) > 0);
        end_run(log, &work);
    }
    assert_int_equal(tfy__log_close(log, true), 0);
    assert_int_equal(tfy__salvage(place->db, to, "test", &salvaged, place->error), 0);
    assert_int_equal(salvaged.count, 3);
    assert_null(salvaged.runs[0].refused);
    assert_non_null(salvaged.runs[1].refused);
    assert_non_null(strstr(salvaged.runs[1].refused, "its move in record"));
    assert_null(salvaged.runs[2].refused);
    tfy__salvaged_free(&salvaged);

    TfyLogRun *runs;
    char **names;
    uint32_t count;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = to, .read_only = true}, place->error), 0);
    assert_int_equal(tfy__log_runs(log, &runs, &names, &count), 0);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) free(names[i]);
    free(names);
    free(runs);
    tfy__log_close(log, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_odd_one, make_place, remove_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

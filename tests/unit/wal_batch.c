/* wal_batch.c: what a batch hands to its store: of each task and run the last row only, as what it has to be put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wal/batch.h"

enum { MANY = 5000 };

/* What was put. */
static struct {
    int runs, tasks;
    TfyLogRun run;
    TfyRunPut how;
    TfyStoreTask task;
    char path[32];
    bool birth;
} put;

static int put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut how)
{
    put.runs++;
    put.run = *run;
    put.how = how;
    return 0;
}

static int put_task(TfyStore *store, const TfyStoreTask *task, bool birth)
{
    put.tasks++;
    put.task = *task;
    put.birth = birth;
    strcpy(put.path, task->path);
    return 0;
}

static int put_record(TfyStore *store, const TfyLogRecord *record)
{
    return 0;
}

static void hand_over(TfyBatch *batch)
{
    static const TfyStoreOps ops = {.put_run = put_run, .put_task = put_task, .put_record = put_record};
    TfyStore store = {.ops = &ops};
    memset(&put, 0, sizeof put);
    assert_int_equal(tfy__batch_put(batch, &store), 0);
}

static void test_runs(void **state)
{
    TfyBatch *batch = tfy__batch_new();
    TfyLogRun run = {.id = 7, .state = TFY_TASK_READY, .started_ms = 5};
    tfy__batch_add_run(batch, &run, TFY_RUN_BEGINS);
    run.parked_ms = 9;
    tfy__batch_add_run(batch, &run, TFY_RUN_CHANGES);
    run.parked_ms = 0;
    run.state = TFY_TASK_COMPLETED;
    tfy__batch_add_run(batch, &run, TFY_RUN_ENDS);
    hand_over(batch);
    assert_int_equal(put.runs, 1);
    assert_int_equal(put.how, TFY_RUN_BEGINS);
    assert_int_equal(put.run.state, TFY_TASK_COMPLETED);
    assert_int_equal(put.run.parked_ms, 0);

    tfy__batch_clear(batch); /* in the next one it has no row yet */
    tfy__batch_add_run(batch, &run, TFY_RUN_ENDS);
    hand_over(batch);
    assert_int_equal(put.runs, 1);
    assert_int_equal(put.how, TFY_RUN_ENDS);

    run.moved_lsn = 3; /* more than its end has changed, before that or behind it */
    tfy__batch_add_run(batch, &run, TFY_RUN_CHANGES);
    hand_over(batch);
    assert_int_equal(put.runs, 1);
    assert_int_equal(put.how, TFY_RUN_CHANGES);
    tfy__batch_add_run(batch, &run, TFY_RUN_ENDS);
    hand_over(batch);
    assert_int_equal(put.how, TFY_RUN_CHANGES);
    assert_int_equal(put.run.moved_lsn, 3);
    tfy__batch_free(batch);
}

/* Where a task's chain begins is known at its birth only. */
static void test_tasks(void **state)
{
    TfyBatch *batch = tfy__batch_new();
    TfyStoreTask task = {.tid = 7, .run = 7, .path = "1.2", .born = 4, .base = 4, .base_chain = 99, .head = 4};
    TfyLogRun run = {.id = 7}; /* is somebody else */
    tfy__batch_add_run(batch, &run, TFY_RUN_BEGINS);
    tfy__batch_add_task(batch, &task, true);
    task.base = 0;
    task.base_chain = 0;
    task.head = 6;
    tfy__batch_add_task(batch, &task, false);
    hand_over(batch);
    assert_int_equal(put.tasks, 1);
    assert_int_equal(put.runs, 1);
    assert_true(put.birth);
    assert_string_equal(put.path, "1.2");
    assert_int_equal(put.task.head, 6);
    assert_int_equal(put.task.base, 4);
    assert_int_equal(put.task.base_chain, 99);

    tfy__batch_clear(batch);
    tfy__batch_add_task(batch, &task, false);
    task.head = 8;
    tfy__batch_add_task(batch, &task, false);
    hand_over(batch);
    assert_int_equal(put.tasks, 1);
    assert_false(put.birth);
    assert_int_equal(put.task.head, 8);
    tfy__batch_free(batch);
}

static void test_many(void **state)
{
    TfyBatch *batch = tfy__batch_new();
    for (int round = 0; round < 3; round++) {
        for (int64_t id = 1; id <= MANY; id++) {
            const TfyStoreTask task = {.tid = id, .path = "1", .head = round};
            const TfyLogRun run = {.id = id, .ended_ms = round};
            assert_int_equal(tfy__batch_add_task(batch, &task, round == 0), 0);
            assert_int_equal(tfy__batch_add_run(batch, &run, round ? TFY_RUN_ENDS : TFY_RUN_BEGINS), 0);
        }
    }
    hand_over(batch);
    assert_int_equal(put.tasks, MANY);
    assert_int_equal(put.runs, MANY);
    assert_int_equal(put.task.head, 2);
    assert_int_equal(put.run.ended_ms, 2);
    tfy__batch_free(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

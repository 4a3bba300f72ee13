/* wal_batch.c: what a batch hands to its store: every row in the order it was added, as what it has to be put, also once the block has moved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "wal/log/batch.h"

enum { TASKS = 5000 };

/* What was put: a letter for each row, and what is wrong with them. */
static char order[8 * TASKS];
static int wrong;

static void note(char letter)
{
    const size_t at = strlen(order);
    order[at] = letter;
    order[at + 1] = 0;
}

static int put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut how)
{
    static const char letters[] = {[TFY_RUN_BEGINS] = 'B', [TFY_RUN_CHANGES] = 'C', [TFY_RUN_ENDS] = 'E'};
    note(letters[how]);
    wrong += run->id != 7;
    return 0;
}

static int put_task(TfyStore *store, const TfyStoreTask *task, bool birth)
{
    char path[32];
    snprintf(path, sizeof path, "1.%d", (int)task->tid);
    note(birth ? 'b' : 't');
    wrong += strcmp(task->path, path) != 0;
    return 0;
}

static void put_record(const TfyLogRecord *record)
{
    char payload[32];
    const int len = snprintf(payload, sizeof payload, "[%d]", (int)record->lsn);
    note('r');
    wrong += record->payload_len != (uint64_t)len || memcmp(record->payload, payload, (size_t)len) != 0;
}

static int put_records(TfyStore *store, const TfyLogRecord *const *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) put_record(records[i]);
    note('m');
    return 0;
}

static void hand_over(TfyBatch *batch)
{
    static const TfyStoreOps ops = {.put_run = put_run, .put_task = put_task, .put_records = put_records};
    TfyStore store = {.ops = &ops};
    order[0] = 0;
    wrong = 0;
    assert_int_equal(tfy__batch_put(batch, &store), 0);
    assert_int_equal(wrong, 0);
}

static void test_runs(void **state)
{
    TfyBatch *batch = tfy__batch_new();
    const TfyLogRun run = {.id = 7};
    assert_int_equal(tfy__batch_add_run(batch, &run, TFY_RUN_BEGINS), 0);
    assert_int_equal(tfy__batch_add_run(batch, &run, TFY_RUN_CHANGES), 0);
    assert_int_equal(tfy__batch_add_run(batch, &run, TFY_RUN_ENDS), 0);
    hand_over(batch);
    assert_string_equal(order, "BCE");
    tfy__batch_clear(batch);
    hand_over(batch);
    assert_string_equal(order, "");
    tfy__batch_free(batch);
}

/* What was added points to bytes that are gone when the batch is put. */
static void test_growing(void **state)
{
    TfyBatch *batch = tfy__batch_new();
    char text[32];
    for (int i = 1; i <= TASKS; i++) {
        const TfyStoreTask task = {.tid = i, .path = text};
        snprintf(text, sizeof text, "1.%d", i);
        assert_int_equal(tfy__batch_add_task(batch, &task, i % 2), 0);
        const int len = snprintf(text, sizeof text, "[%d]", i);
        const TfyLogRecord record = {.lsn = i, .tid = i, .payload = text, .payload_len = (uint32_t)len};
        assert_int_equal(tfy__batch_add_record(batch, &record, record.lsn), 0);
    }
    memset(text, 'x', sizeof text);
    hand_over(batch);
    assert_int_equal(strlen(order), 3 * TASKS);
    for (int i = 1; i <= TASKS; i++) assert_memory_equal(order + 3 * (i - 1), i % 2 ? "brm" : "trm", 3);
    assert_int_equal(batch->records, TASKS);
    assert_int_equal(batch->last, TASKS);
    assert_false(batch->one_task);
    tfy__batch_free(batch);
}

/* Records in a row are put together, and none behind a row that was added after it. */
static void test_many(void **state)
{
    TfyBatch *batch = tfy__batch_new();
    const TfyLogRun run = {.id = 7};
    const int counts[] = {35, 16, 1};
    char text[32], expected[128] = "";
    int64_t lsn = 0;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < counts[i]; k++) {
            const int len = snprintf(text, sizeof text, "[%d]", (int)++lsn);
            const TfyLogRecord record = {.lsn = lsn, .tid = 7, .payload = text, .payload_len = (uint32_t)len};
            assert_int_equal(tfy__batch_add_record(batch, &record, record.lsn), 0);
            strcat(expected, "r");
        }
        if (i < 2) assert_int_equal(tfy__batch_add_run(batch, &run, TFY_RUN_CHANGES), 0);
        strcat(expected, i < 2 ? "mC" : "m");
    }
    hand_over(batch);
    assert_string_equal(order, expected);
    tfy__batch_free(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* wal_log.c: the log over both stores: what is appended is there after a reopening, in order, with chains; marks,
 * locks, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "tfy.h"
#include "wal/history/history.h"
#include "wal/store/store.h"

typedef struct Place {
    char directory[64]; /* a fresh one */
    char db[96];        /* a database in it */
    char error[TFY_ERROR_TEXT];
} Place;

static int64_t clock_ms(void *state)
{
    return 1767225600000;
}

static int make_place(void **state)
{
    Place *place = calloc(1, sizeof *place);
    strcpy(place->directory, "/tmp/tfy-wal-XXXXXX");
    if (!mkdtemp(place->directory)) return -1;
    snprintf(place->db, sizeof place->db, "%s/.tfy/runs.db", place->directory);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    Place *place = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place->directory);
    const int code = system(command);
    free(place);
    return code;
}

/* A root task and its run in a log. */
typedef struct Work {
    TfyLogRun run;
    TfyLogTask root, child;
} Work;

static void begin_work(TfyLog *log, Work *work, uint8_t number)
{
    static const uint8_t hash[16] = {1, 2, 3};
    *work = (Work){.run = {.program = tfy__log_program(log, hash, "0.1.0", "workflow main() { }", "{}")}};
    assert_true(work->run.program > 0);
    memset(work->run.uuid, number, 16);
    work->root = (TfyLogTask){.tid = tfy__log_next_tid(log, NULL), .run = &work->run, .path = "1"};
    work->run.root = work->root.tid;
    assert_int_equal(tfy__log_begin_run(log, &work->run), 0);
    work->root.born = tfy__log_last_lsn(log) + 1;
    tfy__log_add_task(log, &work->root);
    const char *start = "{\"workflow\":\"main\"}";
    assert_true(tfy__log_append(log, &work->root, TFY_R_INSTRUCTION_START, 0, 0, start, strlen(start)) > 0);
}

static void begin_child(TfyLog *log, Work *work)
{
    const char *spawn = "{\"workflow\":\"other\"}";
    work->child = (TfyLogTask){.tid = tfy__log_next_tid(log, NULL), .run = &work->run, .path = "1.1"};
    assert_true(tfy__log_append(log, &work->root, TFY_R_TASK_SPAWN, 1, 0, spawn, strlen(spawn)) > 0);
    work->child.born = work->root.head;
    tfy__log_add_task(log, &work->child);
}

static void append_values(TfyLog *log, TfyLogTask *task, int count)
{
    for (int i = 0; i < count; i++) {
        char payload[64];
        snprintf(payload, sizeof payload, "{\"now\":%d}", i);
        assert_true(tfy__log_append(log, task, TFY_R_VALUE, task->step + 1, 1, payload, strlen(payload)) > 0);
    }
}

static TfyLog *open_log(Place *place, const char *path, TfyLogOptions options)
{
    TfyLog *log = NULL;
    options.path = path;
    options.wall_ms = clock_ms;
    const int code = tfy__log_open(&log, &options, place->error);
    if (code) fail_msg("open: %s", place->error);
    return log;
}

/* The same work on either store. */
static void work_through(Place *place, const char *path)
{
    TfyLog *log = open_log(place, path, (TfyLogOptions){.mark_every = 100});
    Work work;
    begin_work(log, &work, 7);
    begin_child(log, &work);
    for (int i = 0; i < 50; i++) {
        append_values(log, &work.root, 3);
        append_values(log, &work.child, 10);
        tfy__log_flush(log);
    }
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__log_last_lsn(log), 2 + 50 * 13);
    assert_int_equal(tfy__log_durable_lsn(log), tfy__log_last_lsn(log));
    tfy__log_forget_task(log, &work.child);
    tfy__log_forget_task(log, &work.root);
    assert_int_equal(tfy__log_close(log, true), 0);
}

static void test_memory(void **state)
{
    work_through(*state, NULL);
}

/* A log that keeps nothing takes everything all the same. */
static void test_forgetting(void **state)
{
    Place *place = *state;
    TfyLog *log = open_log(place, NULL, (TfyLogOptions){.forgets = true, .mark_every = 10});
    Work work;
    TfyHistory *history;
    TfyLogRun *runs;
    char **names;
    uint32_t count = 1;
    begin_work(log, &work, 7);
    begin_child(log, &work);
    append_values(log, &work.child, 30);
    assert_int_equal(tfy__log_end_run(log, &work.run), 0);
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__log_durable_lsn(log), 32);
    assert_int_equal(tfy__log_runs(log, &runs, &names, &count), 0);
    assert_int_equal(count, 0);
    free(runs);
    free(names);
    assert_true(tfy__history_read(log, "last", &history, place->error) < 0);
    tfy__log_forget_task(log, &work.child);
    tfy__log_forget_task(log, &work.root);
    assert_int_equal(tfy__log_close(log, true), 0);
}

static void test_reopen(void **state)
{
    Place *place = *state;
    work_through(place, place->db);
    TfyLog *log = open_log(place, place->db, (TfyLogOptions){.existing = true});
    assert_int_equal(tfy__log_last_lsn(log), 652);
    assert_int_equal(tfy__log_durable_lsn(log), 652);
    assert_int_equal(tfy__log_epoch(log), 2);
    Work work;
    begin_work(log, &work, 8);
    assert_int_equal(work.run.id, 2);
    assert_int_equal(work.run.program, 1);
    assert_int_equal(work.root.tid, 3);
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__log_close(log, false), 0);
    struct stat status;
    assert_int_equal(stat(place->db, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void check_history(TfyLog *log, const char *run, uint32_t records)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHistory *history = NULL;
    const int code = tfy__history_read(log, run, &history, error);
    if (code) fail_msg("history: %s", error);
    assert_int_equal(history->record_count, records);
    assert_int_equal(history->task_count, 2);
    assert_string_equal(history->workflow, "main");
    assert_string_equal(history->task_workflows[1], "other");
    assert_string_equal(history->program_source, "workflow main() { }");
    assert_string_equal(history->tasks[1].path, "1.1");
    for (uint32_t i = 1; i < history->record_count; i++) {
        assert_true(history->records[i].lsn > history->records[i - 1].lsn);
        assert_int_equal(history->tasks[history->record_tasks[i]].tid, history->records[i].tid);
    }
    tfy__history_free(history);
}

/* Read back while it is being written, with marks in between, from the writer and from a reader beside it. */
static void read_while_writing(Place *place, const char *path)
{
    TfyLog *log = open_log(place, path, (TfyLogOptions){.mark_every = 40});
    TfyLog *reader = NULL;
    Work work;
    begin_work(log, &work, 7);
    begin_child(log, &work);
    for (uint32_t i = 1; i <= 30; i++) {
        append_values(log, &work.root, 2);
        append_values(log, &work.child, 5);
        assert_int_equal(tfy__log_sync(log), 0);
        if (path && !reader) reader = open_log(place, path, (TfyLogOptions){.read_only = true});
        check_history(log, "last", 2 + 7 * i);
        if (reader) check_history(reader, "07070707", 2 + 7 * i);
    }
    int64_t *ids;
    uint32_t count;
    assert_int_equal(tfy__log_unfinished(log, &ids, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], 1);
    free(ids);
    work.run.state = TFY_TASK_COMPLETED;
    assert_int_equal(tfy__log_end_run(log, &work.run), 0);
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__log_unfinished(log, &ids, &count), 0);
    assert_int_equal(count, 0);
    free(ids);
    tfy__log_close(log, true);
    if (reader) check_history(reader, "1", 2 + 7 * 30);
    tfy__log_close(reader, false);
}

static void test_history_memory(void **state)
{
    read_while_writing(*state, NULL);
}

static void test_history_file(void **state)
{
    Place *place = *state;
    read_while_writing(place, place->db);
    TfyLog *log = open_log(place, place->db, (TfyLogOptions){.read_only = true});
    check_history(log, "1", 2 + 7 * 30);
    TfyHistory *history;
    assert_int_equal(tfy__history_read(log, "nosuch", &history, place->error), TFY_E_ABSENT);
    assert_null(history);
    tfy__log_close(log, false);
}

/* Several runs read at once are what each is alone; one with many records ends what is read at once. */
static void test_several(void **state)
{
    enum { RUNS = 3 };
    static const int counts[RUNS] = {9, TFY_RECORDS_AT_ONCE, 2};
    Place *place = *state;
    TfyLog *log = open_log(place, place->db, (TfyLogOptions){.mark_every = 1000});
    Work works[RUNS];
    TfyHistory *histories[RUNS];
    int64_t ids[RUNS + 1] = {0}, *programs;
    uint32_t count;
    for (int i = 0; i < RUNS; i++) {
        begin_work(log, &works[i], (uint8_t)(i + 1));
        append_values(log, &works[i].root, counts[i]);
        ids[i] = works[i].run.id;
    }
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__log_live_programs(log, &programs, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(programs[0], works[0].run.program);
    free(programs);
    assert_int_equal(tfy__history_read_tails(log, ids, RUNS, histories, place->error), 2);
    assert_int_equal(tfy__history_read_tails(log, ids + 2, 1, histories + 2, place->error), 1);
    for (int i = 0; i < RUNS; i++) {
        assert_memory_equal(histories[i]->run.uuid, works[i].run.uuid, 16);
        assert_int_equal(histories[i]->record_count, 1 + counts[i]);
        assert_int_equal(histories[i]->tasks[0].tid, works[i].root.tid);
        assert_int_equal(histories[i]->tasks[0].chain, works[i].root.chain);
        assert_string_equal(histories[i]->program_source, "workflow main() { }");
        tfy__history_free(histories[i]);
    }
    ids[1] = 99; /* no run has this number */
    assert_int_equal(tfy__history_read_tails(log, ids, RUNS, histories, place->error), TFY_E_ABSENT);
    assert_non_null(strstr(place->error, "a row is missing"));
    tfy__log_close(log, true);
}

/* Copies the database as a crash would leave it: the files as they are, nothing closed. */
static void copy_files(const Place *place, const char *to)
{
    char command[600];
    snprintf(command, sizeof command, "cp %s %s && cp %s-wal %s-wal", place->db, to, place->db, to);
    assert_int_equal(system(command), 0);
}

/* What was synced before a crash is there after it, and is a prefix; forgotten tasks with rows newer than the mark
 * do not confuse it. */
static void test_prefix(void **state)
{
    Place *place = *state;
    char copy[128];
    snprintf(copy, sizeof copy, "%s/copy.db", place->directory);
    TfyLog *log = open_log(place, place->db, (TfyLogOptions){.mark_every = 30});
    Work work;
    begin_work(log, &work, 7);
    begin_child(log, &work);
    for (uint32_t i = 1; i <= 20; i++) {
        append_values(log, &work.root, 2);
        append_values(log, &work.child, 5);
        if (i % 3 == 0) tfy__log_forget_task(log, &work.child);
        assert_int_equal(tfy__log_sync(log), 0);
        const int64_t durable = tfy__log_durable_lsn(log);
        append_values(log, &work.root, 1);
        copy_files(place, copy);
        TfyLog *after = open_log(place, copy, (TfyLogOptions){.existing = true, .adopt = true});
        assert_int_equal(tfy__log_last_lsn(after), durable);
        check_history(after, "last", (uint32_t)durable);
        tfy__log_close(after, false);
    }
    tfy__log_close(log, false);
}

/* A task that had come to rest before a crash is not touched by the next opening; its records must stay in sight of the next mark. */
static void test_heads_survive_a_crash(void **state)
{
    Place *place = *state;
    TfyLog *log = open_log(place, place->db, (TfyLogOptions){0});
    Work work;
    begin_work(log, &work, 9);
    begin_child(log, &work);
    append_values(log, &work.child, 5);
    assert_int_equal(tfy__log_sync(log), 0);
    tfy__log_close(log, false);
    TfyHistory *history = NULL;
    log = open_log(place, place->db, (TfyLogOptions){0});
    assert_int_equal(tfy__history_read(log, "last", &history, place->error), 0);
    append_values(log, &history->tasks[0], 3);
    assert_int_equal(tfy__log_sync(log), 0);
    tfy__log_forget_task(log, &history->tasks[0]);
    assert_int_equal(tfy__log_close(log, true), 0);
    tfy__history_free(history);
    log = open_log(place, place->db, (TfyLogOptions){.read_only = true});
    assert_int_equal(tfy__history_read(log, "last", &history, place->error), 0);
    assert_int_equal(history->record_count, 2 + 5 + 3);
    tfy__history_free(history);
    tfy__log_close(log, false);
}

/* Nor may the database's own records go out of sight when somebody only opens and closes it after a crash, as adopting one's own file does. */
static void test_own_head_survives_a_crash(void **state)
{
    Place *place = *state;
    TfyLog *log = open_log(place, place->db, (TfyLogOptions){0});
    assert_true(tfy__log_append(log, tfy__log_self(log), TFY_R_OPENED, 0, 0, "{}", 2) > 0);
    assert_int_equal(tfy__log_sync(log), 0);
    tfy__log_close(log, false);
    log = open_log(place, place->db, (TfyLogOptions){0});
    const int64_t head = tfy__log_self(log)->head;
    assert_true(head > 0);
    assert_int_equal(tfy__log_close(log, true), 0);
    log = open_log(place, place->db, (TfyLogOptions){0});
    assert_int_equal(tfy__log_self(log)->head, head);
    assert_int_equal(tfy__log_close(log, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_forgetting, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_reopen, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_history_memory, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_history_file, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_several, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_prefix, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_heads_survive_a_crash, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_own_head_survives_a_crash, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

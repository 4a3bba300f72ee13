/* wal_reader.c: others at the same files: a reader that does not end keeps the -wal file from being emptied, and a second writer that got in. */
#include <signal.h>
#include <sys/wait.h>

#include "wal_fixture.h"

enum { LIMIT = 240, PAGE = 8192 };

static void fail_if(int code, sqlite3 *db)
{
    if (code == SQLITE_OK) return;
    fprintf(stderr, "the reader: %s\n", sqlite3_errmsg(db));
    _exit(1);
}

/* A process that has begun to read and never ends. */
static pid_t start_reader(const char *path)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *db;
        fail_if(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), NULL);
        fail_if(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM wal", NULL, NULL, NULL), db);
        if (write(ready[1], "r", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static int64_t wal_pages(const Place *place)
{
    char name[160];
    struct stat status;
    snprintf(name, sizeof name, "%s-wal", place->db);
    return stat(name, &status) == 0 ? status.st_size / PAGE : 0;
}

static void read_for_long(Place *place, bool no_thread)
{
    char command[160], reader[40], text[TFY_ERROR_TEXT] = "", payload[4000];
    TfyLog *log;
    Work work;
    snprintf(command, sizeof command, "rm -f %s*", place->db);
    assert_int_equal(system(command), 0);
    const TfyLogOptions options = {.path = place->db, .no_thread = no_thread, .wal_pages = LIMIT};
    assert_int_equal(tfy__log_open(&log, &options, place->error), 0);
    begin_work(log, &work);
    assert_int_equal(tfy__log_sync(log), 0);
    memset(payload, 'x', sizeof payload);
    const pid_t pid = start_reader(place->db);
    snprintf(reader, sizeof reader, "pid %ld (", (long)pid);
    bool warned = false, paused = false;
    for (int i = 0; i < 600 && !tfy__log_full(log); i++) {
        assert_true(tfy__log_append(log, &work.root, TFY_R_VALUE, i, 1, payload, sizeof payload) > 0);
        const int code = tfy__log_sync(log);
        if (code) assert_int_equal(code, TFY_E_STATE);
        if (!tfy__log_notice(log, text)) continue;
        if (!strstr(text, reader)) fail_msg("'%s' does not name %s)", text, reader);
        warned |= strstr(text, "stop it, or") != NULL;
        paused |= strstr(text, "runs pause until") != NULL;
    }
    assert_true(warned || !no_thread); /* a thread that is late may look only when the bound is reached */
    assert_true(tfy__log_full(log));
    paused |= tfy__log_notice(log, text) && strstr(text, "runs pause until");
    assert_true(paused);
    assert_true(wal_pages(place) < LIMIT + 20);
    const int64_t durable = tfy__log_durable_lsn(log);
    for (int i = 0; i < 5; i++) { /* what arrives meanwhile is kept */
        assert_true(tfy__log_append(log, &work.root, TFY_R_VALUE, i, 1, payload, sizeof payload) > 0);
        tfy__log_flush(log);
        usleep(30000);
    }
    assert_int_equal(tfy__log_durable_lsn(log), durable);
    assert_true(wal_pages(place) < LIMIT + 20);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 200 && tfy__log_full(log); i++) {
        tfy__log_flush(log);
        usleep(20000);
    }
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__log_durable_lsn(log), tfy__log_last_lsn(log));
    assert_true(tfy__log_notice(log, text));
    assert_non_null(strstr(text, "runs continue"));
    assert_int_equal(tfy__log_close(log, true), 0);
}

static void test_long_reader(void **state)
{
    read_for_long(*state, false);
    read_for_long(*state, true);
}

/* One who takes neither lock, as an older tfy takes but one: the row of meta says that the database is its own now. */
static void take_epoch(TfyStore *store)
{
    TfyStoreMeta meta;
    assert_int_equal(TFY_STORE(store, TFY_CALL_BEGIN, begin, NULL), 0);
    assert_int_equal(TFY_STORE(store, TFY_CALL_READ, get_meta, &meta), 0);
    meta.epoch++;
    assert_int_equal(TFY_STORE(store, TFY_CALL_PUT, put_meta, &meta), 0);
    assert_int_equal(TFY_STORE(store, TFY_CALL_COMMIT, commit), 0);
}

/* A second writer that the locks did not keep out: the newer one goes on; the other hears of it at its next commit, writes nothing more, and neither
 * file nor witness is spoiled. */
static void test_lost_epoch(void **state)
{
    Place *place = *state;
    TfyLog *older;
    TfyStore *newer;
    Work work;
    assert_int_equal(tfy__log_open(&older, &(TfyLogOptions){.path = place->db}, place->error), 0);
    begin_work(older, &work);
    append_some(older, &work, 5);
    assert_int_equal(tfy__log_sync(older), 0);
    const int64_t last = tfy__log_last_lsn(older);
    assert_int_equal(tfy__store_open_sqlite(&newer, place->db, TFY_STORE_WRITE, place->error), 0);
    take_epoch(newer);
    append_some(older, &work, 5);
    assert_int_equal(tfy__log_sync(older), TFY_E_HELD);
    tfy__log_error_text(older, place->error);
    assert_non_null(strstr(place->error, "writes it, too"));
    take_epoch(newer);
    assert_int_equal(tfy__log_close(older, true), TFY_E_HELD);
    newer->ops->close(newer, false);
    assert_int_equal(tfy__log_open(&older, &(TfyLogOptions){.path = place->db}, place->error), 0);
    assert_int_equal(tfy__log_last_lsn(older), last);
    tfy__log_close(older, false);
}

/* The same when the older one writes before the newer one has: then the newer one is too late. */
static void test_older_goes_on(void **state)
{
    Place *place = *state;
    TfyLog *older;
    TfyStore *newer;
    TfyStoreMeta meta;
    Work work;
    assert_int_equal(tfy__log_open(&older, &(TfyLogOptions){.path = place->db}, place->error), 0);
    begin_work(older, &work);
    assert_int_equal(tfy__log_sync(older), 0);
    assert_int_equal(tfy__store_open_sqlite(&newer, place->db, TFY_STORE_WRITE, place->error), 0);
    assert_int_equal(TFY_STORE(newer, TFY_CALL_READ, get_meta, &meta), 0);
    append_some(older, &work, 5);
    assert_int_equal(tfy__log_sync(older), 0);
    assert_int_equal(TFY_STORE(newer, TFY_CALL_BEGIN, begin, NULL), TFY_E_HELD);
    assert_non_null(strstr(newer->error, "writes it, too"));
    newer->ops->close(newer, false);
    assert_int_equal(tfy__log_close(older, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_long_reader, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_lost_epoch, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_older_goes_on, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

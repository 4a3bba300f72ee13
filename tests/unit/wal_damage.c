/* wal_damage.c: what is not right is refused with one sentence, never changed, and never crashes: files that are
 * not ours, held, cut off, altered; disks that fail or are full. */
#include "wal_fixture.h"
#include "wal/history/history.h"

static int try_open(Place *place, const char *db, bool read_only)
{
    TfyLog *log = NULL;
    memset(place->error, 0, sizeof place->error);
    const int code =
        tfy__log_open(&log, &(TfyLogOptions){.path = db, .read_only = read_only, .existing = true}, place->error);
    if (!code)
        tfy__log_close(log, false);
    else
        assert_null(log);
    if (code) assert_true(place->error[0]);
    return code;
}

static int count_files(const Place *place)
{
    char command[128];
    int count = -1;
    snprintf(command, sizeof command, "ls %s | wc -l", place->directory);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

/* Refused for reading and writing, and unchanged. */
static void check_refused(Place *place, int code, const char *says)
{
    size_t before_len, after_len;
    char *before = read_file(place->db, &before_len);
    for (int read_only = 0; read_only < 2; read_only++) {
        if (try_open(place, place->db, read_only) != code)
            fail_msg("'%s' should be refused for '%s'", place->error, says);
        if (!strstr(place->error, says)) fail_msg("'%s' does not say '%s'", place->error, says);
    }
    char *after = read_file(place->db, &after_len);
    assert_int_equal(before_len, after_len);
    assert_memory_equal(before, after, before_len);
    free(before);
    free(after);
}

/* What is not ours does not even get a file beside it. */
static void check_foreign(Place *place, const char *says)
{
    const int files = count_files(place);
    check_refused(place, TFY_E_DATA, says);
    assert_int_equal(count_files(place), files);
}

static void test_not_ours(void **state)
{
    Place *place = *state;
    assert_int_equal(try_open(place, place->db, false), TFY_E_ABSENT);
    assert_int_equal(count_files(place), 0);
    write_file(place->db, "", 0);
    check_foreign(place, "is empty");
    write_file(place->db, "SQLite format 3", 16);
    check_foreign(place, "too short");
    char text[4096];
    memset(text, 'x', sizeof text);
    write_file(place->db, text, sizeof text);
    check_foreign(place, "not a tfy database");
    unlink(place->db);
    run_sql(place->db, "CREATE TABLE t(a)");
    check_foreign(place, "not a tfy database");
    unlink(place->db);
    run_sql(place->db, "PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
    check_foreign(place, "not a tfy database");
    assert_int_equal(try_open(place, place->directory, false), TFY_E_DATA);
    assert_non_null(strstr(place->error, "directory"));
}

static void test_newer(void **state)
{
    Place *place = *state;
    make_database(place->db, 10, 0, true);
    run_sql(place->db, "PRAGMA user_version=7");
    check_foreign(place, "format 7");
}

static void test_foreign_schema(void **state)
{
    Place *place = *state;
    make_database(place->db, 10, 0, true);
    run_sql(place->db, "CREATE TRIGGER evil AFTER INSERT ON wal BEGIN DELETE FROM run; END");
    check_refused(place, TFY_E_DATA, "tables");
}

static void test_wal_without_database(void **state)
{
    Place *place = *state;
    make_database(place->db, 10, 0, false);
    unlink(place->db);
    TfyLog *log;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), TFY_E_DATA);
    assert_non_null(strstr(place->error, "-wal"));
}

static void test_held(void **state)
{
    Place *place = *state;
    TfyLog *log, *second;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    assert_int_equal(tfy__log_open(&second, &(TfyLogOptions){.path = place->db}, place->error), TFY_E_HELD);
    char who[32];
    snprintf(who, sizeof who, "held by pid %d", (int)getpid());
    assert_non_null(strstr(place->error, who));
    assert_int_equal(try_open(place, place->db, true), 0);
    assert_int_equal(tfy__log_close(log, true), 0);
    assert_int_equal(try_open(place, place->db, false), 0);
}

/* The log refuses changes; one made behind its back is named. */
static void test_altered(void **state)
{
    static const struct {
        const char *sql;
        const char *says;
    } cases[] = {
        {"UPDATE wal SET payload='{\"now\":2}' WHERE lsn=14", "record 14"},
        {"UPDATE wal SET ts=ts+1 WHERE lsn=15", "record 15"},
        {"UPDATE wal SET type=26 WHERE lsn=16", "record 16"},
        {"UPDATE wal SET prev=11 WHERE lsn=17", "record 17"},
        {"DELETE FROM wal WHERE lsn=13", "record 13"},
        {"DELETE FROM wal WHERE lsn<=11", "newest mark"},
        {"UPDATE mark SET rows=rows+1 WHERE lsn=(SELECT max(lsn) FROM mark)", "mark"},
        {"DELETE FROM mark WHERE lsn=(SELECT max(lsn) FROM mark)", "mark"},
        {"UPDATE task SET chain=chain+1 WHERE tid=1", "task 1"},
        {"DELETE FROM task WHERE tid=1", "task"},
        {"UPDATE meta SET next_tid=1", "meta"},
    };
    Place *place = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400], command[200];
        snprintf(command, sizeof command, "rm -f %s*", place->db);
        assert_int_equal(system(command), 0);
        make_database(place->db, 18, 10, false);
        snprintf(text, sizeof text, "DROP TRIGGER wal_never_updates; DROP TRIGGER wal_never_deletes; %s;",
                 cases[i].sql);
        run_sql(place->db, text);
        run_sql(
            place->db,
            "CREATE TRIGGER wal_never_updates BEFORE UPDATE ON wal BEGIN SELECT RAISE(ABORT,'records of "
            "the log are never changed'); END;"
            "CREATE TRIGGER wal_never_deletes BEFORE DELETE ON wal WHEN (SELECT gc FROM meta) IS NOT 1 BEGIN SELECT "
            "RAISE(ABORT,'records of the log are never deleted'); END");
        check_refused(place, TFY_E_DATA, cases[i].says);
    }
}

static void test_triggers(void **state)
{
    Place *place = *state;
    make_database(place->db, 10, 0, true);
    sqlite3 *connection;
    assert_int_equal(sqlite3_open(place->db, &connection), SQLITE_OK);
    assert_int_equal(sqlite3_exec(connection, "UPDATE wal SET ts=0", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    assert_int_equal(sqlite3_exec(connection, "DELETE FROM wal", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    sqlite3_close(connection);
}

/* What a damaged copy answers: refused, or exactly the records that were written. */
static void read_damaged(Place *place, const char *db, const TfyHistory *whole)
{
    TfyLog *log;
    TfyHistory *history;
    if (tfy__log_open(&log, &(TfyLogOptions){.path = db, .read_only = true}, place->error) != 0) return;
    if (tfy__history_read(log, "1", &history, place->error) == 0) {
        assert_true(history->record_count <= whole->record_count);
        for (uint32_t i = 0; i < history->record_count; i++) {
            assert_int_equal(history->records[i].chain, whole->records[i].chain);
            assert_string_equal(history->records[i].payload, whole->records[i].payload);
        }
        tfy__history_free(history);
    }
    tfy__log_close(log, false);
}

static TfyHistory *read_whole(Place *place)
{
    TfyLog *log;
    TfyHistory *history;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .read_only = true}, place->error), 0);
    if (tfy__history_read(log, "1", &history, place->error) != 0) fail_msg("%s", place->error);
    tfy__log_close(log, false);
    return history;
}

static void remove_copy(const char *copy)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-tfy"};
    char name[160];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", copy, endings[i]);
        unlink(name);
    }
}

static void test_truncated(void **state)
{
    Place *place = *state;
    char copy[128];
    size_t len;
    snprintf(copy, sizeof copy, "%s/copy.db", place->directory);
    make_database(place->db, 300, 100, true);
    TfyHistory *whole = read_whole(place);
    char *bytes = read_file(place->db, &len);
    for (size_t cut = 0; cut < len; cut += cut < 200 ? 7 : 1511) {
        remove_copy(copy);
        write_file(copy, bytes, cut);
        assert_int_not_equal(try_open(place, copy, false), 0);
        read_damaged(place, copy, whole);
    }
    free(bytes);
    tfy__history_free(whole);
}

static void test_flipped(void **state)
{
    Place *place = *state;
    char copy[128];
    size_t len;
    snprintf(copy, sizeof copy, "%s/copy.db", place->directory);
    make_database(place->db, 100, 30, true);
    TfyHistory *whole = read_whole(place);
    char *bytes = read_file(place->db, &len);
    for (size_t at = 0; at < len; at += at < 100 ? 1 : 97) {
        remove_copy(copy);
        bytes[at] ^= (char)(1 << (at % 8));
        write_file(copy, bytes, len);
        bytes[at] ^= (char)(1 << (at % 8));
        read_damaged(place, copy, whole);
    }
    free(bytes);
    tfy__history_free(whole);
}

/* ---- disks ---- */

typedef struct Fault {
    int call;  /* which TfyStoreCall fails */
    int after; /* how many of them still work */
    int times; /* how many then fail; then all is well again */
    int code;
} Fault;

static int fail_call(void *state, int call)
{
    Fault *fault = state;
    if (call != fault->call || fault->after-- > 0 || fault->times-- <= 0) return 0;
    return fault->code;
}

/* After the first failed call nothing moves any more, and what is on the disk is a prefix that holds all that was
 * called durable. */
static void fail_once(Place *place, int call, int after, bool no_thread)
{
    char command[128];
    snprintf(command, sizeof command, "rm -f %s*", place->db);
    assert_int_equal(system(command), 0);
    Fault fault = {.call = call, .after = after, .times = 1, .code = TFY_E_IO};
    TfyLogOptions options = {
        .path = place->db, .no_thread = no_thread, .mark_every = 50, .fault = fail_call, .fault_state = &fault};
    TfyLog *log;
    Work work;
    assert_int_equal(tfy__log_open(&log, &options, place->error), 0);
    begin_work(log, &work);
    int code = 0;
    for (int i = 0; !code && i < 100; i++) {
        code = append_some(log, &work, 20);
        if (!code) code = tfy__log_sync(log);
    }
    assert_int_equal(code, TFY_E_IO);
    assert_int_equal(tfy__log_error(log), TFY_E_IO);
    const int64_t durable = tfy__log_durable_lsn(log);
    assert_int_equal(append_some(log, &work, 1), TFY_E_IO);
    assert_int_equal(tfy__log_sync(log), TFY_E_IO);
    tfy__log_flush(log);
    assert_int_equal(tfy__log_durable_lsn(log), durable);
    tfy__log_error_text(log, place->error);
    assert_non_null(strstr(place->error, "could not be written"));
    assert_int_equal(tfy__log_close(log, true), TFY_E_IO);
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    assert_true(tfy__log_last_lsn(log) >= durable);
    tfy__log_close(log, false);
}

static void test_failures(void **state)
{
    for (int call = TFY_CALL_BEGIN; call <= TFY_CALL_COMMITTED; call++) {
        for (int after = 0; after < 80; after += 1 + after / 3) {
            if (call != TFY_CALL_PUT && after > 8) continue;
            fail_once(*state, call, after, true);
            fail_once(*state, call, after, false);
        }
    }
}

/* Enough for the -wal file to be moved into the main file, in a thread and inline; a failure of that is final too. */
static void test_checkpoint(void **state)
{
    enum { LARGE = 500000 };
    Place *place = *state;
    char *payload = malloc(LARGE);
    memset(payload, 'x', LARGE);
    for (int round = 0; round < 4; round++) {
        char command[128];
        snprintf(command, sizeof command, "rm -f %s*", place->db);
        assert_int_equal(system(command), 0);
        Fault fault = {.call = TFY_CALL_CHECKPOINT, .times = round / 2, .code = TFY_E_IO};
        TfyLogOptions options = {.path = place->db, .no_thread = round & 1, .fault = fail_call, .fault_state = &fault};
        TfyLog *log;
        Work work;
        assert_int_equal(tfy__log_open(&log, &options, place->error), 0);
        begin_work(log, &work);
        int code = 0;
        for (int i = 0; !code && i < 80; i++) {
            for (int j = 0; j < 2; j++) tfy__log_append(log, &work.root, TFY_R_VALUE, 2 * i + j, 1, payload, LARGE);
            code = tfy__log_sync(log);
        }
        const int closed = tfy__log_close(log, true);
        assert_int_equal(code ? code : closed, round < 2 ? 0 : TFY_E_IO);
        TfyHistory *whole = read_whole(place);
        assert_true(whole->record_count == 161 || round > 1);
        tfy__history_free(whole);
    }
    free(payload);
}

static void test_failing_open(void **state)
{
    Place *place = *state;
    make_database(place->db, 40, 30, false);
    int failed = 0;
    for (int after = 0; after < 40; after++) {
        Fault fault = {.call = TFY_CALL_READ, .after = after, .times = 1, .code = TFY_E_IO};
        TfyLog *log;
        const TfyLogOptions options = {.path = place->db, .read_only = true, .fault = fail_call, .fault_state = &fault};
        const int code = tfy__log_open(&log, &options, place->error);
        if (code) {
            assert_int_equal(code, TFY_E_IO);
            failed++;
            continue;
        }
        TfyHistory *history;
        if (tfy__history_read(log, "last", &history, place->error) == 0)
            tfy__history_free(history);
        else
            failed++;
        tfy__log_close(log, false);
    }
    assert_true(failed > 10);
}

static void fill_disk(Place *place, const char *path, bool no_thread)
{
    Fault fault = {.call = TFY_CALL_COMMIT, .after = 3, .times = 4, .code = TFY_STORE_FULL};
    TfyLogOptions options = {.path = path, .no_thread = no_thread, .fault = fail_call, .fault_state = &fault};
    TfyLog *log;
    Work work;
    bool full = false;
    assert_int_equal(tfy__log_open(&log, &options, place->error), 0);
    begin_work(log, &work);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(append_some(log, &work, 20), 0);
        tfy__log_flush(log);
        full |= tfy__log_full(log);
        usleep(5000);
    }
    assert_true(full);
    assert_int_equal(tfy__log_sync(log), 0);
    assert_false(tfy__log_full(log));
    assert_int_equal(tfy__log_durable_lsn(log), 1 + 200 * 20);
    TfyHistory *history;
    assert_int_equal(tfy__history_read(log, "last", &history, place->error), 0);
    assert_int_equal(history->record_count, 1 + 200 * 20);
    tfy__history_free(history);
    assert_int_equal(tfy__log_close(log, true), 0);
}

static void test_full(void **state)
{
    Place *place = *state;
    fill_disk(place, NULL, false);
    fill_disk(place, place->db, false);
    char other[128];
    snprintf(other, sizeof other, "%s/other.db", place->directory);
    fill_disk(place, other, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_not_ours, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_newer, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_foreign_schema, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_wal_without_database, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_held, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_altered, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_triggers, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_truncated, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_flipped, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_failures, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_checkpoint, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_failing_open, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_full, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

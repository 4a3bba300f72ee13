/* wal_witness.c: what stands beside the database: how far the log went, which file it is, whether a sync failed. A log whose end is missing, a
 * copy, and rot in either file are refused with the frame or page; what only looks odd is taken. */
#include "wal_fixture.h"
#include "wal/store/page_vfs.h"
#include "wal/store/wal_file.h"
#include "wal/log/witness.h"
#include "wal/history/history.h"

static void name_of(const Place *place, const char *ending, char name[160])
{
    snprintf(name, 160, "%s%s", place->db, ending);
}

static void flip(const Place *place, const char *ending, off_t at)
{
    char name[160];
    uint8_t byte;
    name_of(place, ending, name);
    const int fd = open(name, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void drop(const Place *place, const char *ending)
{
    char name[160];
    name_of(place, ending, name);
    unlink(name);
}

static void shell(const Place *place, const char *format)
{
    char command[400];
    const char *d = place->db;
    snprintf(command, sizeof command, format, d, d, d, d, d, d, d, d);
    assert_int_equal(system(command), 0);
}

/* 0 and the number of records, or the refusal's code. */
static int open_as(Place *place, const char *db, TfyLogOptions options, int64_t *last)
{
    TfyLog *log = NULL;
    TfyHistory *history;
    options.path = db;
    options.existing = true;
    memset(place->error, 0, sizeof place->error);
    int code = tfy__log_open(&log, &options, place->error);
    if (code) {
        assert_null(log);
        assert_true(place->error[0]);
        return code;
    }
    *last = tfy__log_last_lsn(log);
    if ((code = tfy__history_read(log, "last", &history, place->error)) == 0) tfy__history_free(history);
    tfy__log_close(log, false);
    return code;
}

static void takes(Place *place, int64_t records)
{
    int64_t last = 0;
    for (int read_only = 1; read_only >= 0; read_only--) {
        if (open_as(place, place->db, (TfyLogOptions){.read_only = read_only}, &last) != 0)
            fail_msg("refused: %s", place->error);
        assert_int_equal(last, records);
    }
}

static void refuses(Place *place, bool reader_too, const char *says)
{
    int64_t last = 0;
    for (int read_only = 0; read_only <= 1; read_only++) {
        const int code = open_as(place, place->db, (TfyLogOptions){.read_only = read_only}, &last);
        if (read_only && !reader_too) {
            if (code) fail_msg("a reader is refused: %s", place->error);
            continue;
        }
        assert_int_equal(code, TFY_E_DATA);
        if (!strstr(place->error, says)) fail_msg("'%s' does not say '%s'", place->error, says);
    }
}

static int64_t frames_of(const Place *place)
{
    TfyWitness witness;
    assert_int_equal(tfy__witness_read_of(place->db, &witness), 0);
    return witness.place.frame;
}

static void test_follows(void **state)
{
    Place *place = *state;
    TfyLog *log;
    Work work;
    TfyWitness witness;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    begin_work(log, &work);
    for (int i = 0; i < 50; i++) {
        int64_t frame;
        append_some(log, &work, 1 + i % 20);
        assert_int_equal(tfy__log_sync(log), 0);
        assert_int_equal(tfy__witness_read_of(place->db, &witness), 0);
        assert_int_equal(witness.lsn, tfy__log_durable_lsn(log));
        assert_int_equal(witness.epoch, 1);
        assert_false(witness.failed);
        assert_int_equal(tfy__wal_walk(place->db, &witness.place, &frame), TFY_WAL_HOLDS);
    }
    assert_memory_equal(witness.db, tfy__log_uuid(log), 16);
    assert_int_equal(tfy__log_close(log, true), 0);
    takes(place, witness.lsn);
}

/* Any frame of the -wal file changed, and any cut: SQLite would end the log there without a word. */
static void test_broken_wal(void **state)
{
    Place *place = *state;
    make_database(place->db, 60, 0, false);
    const int64_t frames = frames_of(place);
    assert_true(frames > 10);
    for (int64_t frame = 1; frame <= frames; frame++) {
        char says[64];
        const off_t at = WAL_HEADER_BYTES + (frame - 1) * WAL_FRAME_BYTES + (frame * 977) % WAL_FRAME_BYTES;
        snprintf(says, sizeof says, "its frame %lld is not what was written", (long long)frame);
        flip(place, "-wal", at);
        refuses(place, true, says);
        flip(place, "-wal", at);
    }
    flip(place, "-wal", 17);
    refuses(place, true, "the header of its -wal file is damaged");
    flip(place, "-wal", 17);
    takes(place, 60);
    char name[160];
    name_of(place, "-wal", name);
    assert_int_equal(truncate(name, WAL_HEADER_BYTES + (frames - 1) * WAL_FRAME_BYTES), 0);
    refuses(place, true, "is not what was written");
    assert_int_equal(truncate(name, 0), 0);
    refuses(place, true, "ends at record 0, but 60 were written");
    drop(place, "-wal");
    refuses(place, true, "ends at record 0, but 60 were written");
}

/* A plain program that looks at the file moves the -wal file's pages when it closes, and removes it. Nothing is lost by that; the pages that it
 * moved have no sums until they are written again. */
static void test_moved_by_another(void **state)
{
    Place *place = *state;
    sqlite3 *plain;
    make_database(place->db, 60, 20, false);
    assert_int_equal(sqlite3_open(place->db, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_exec(plain, "SELECT count(*) FROM wal; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL),
                     0);
    sqlite3_close(plain);
    char name[160];
    name_of(place, "-wal", name);
    assert_int_not_equal(access(name, F_OK), 0);
    takes(place, 60);
    drop(place, "-shm");
    takes(place, 60);
}

static int see_row(void *answer, int columns, char **values, char **names)
{
    snprintf(answer, 80, "%s", values[0] ? values[0] : "");
    return 0;
}

static void test_plain_reader(void **state)
{
    Place *place = *state;
    sqlite3 *plain;
    char answer[80] = "";
    make_database(place->db, 300, 50, true);
    assert_int_equal(sqlite3_open(place->db, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_exec(plain, "PRAGMA integrity_check", see_row, answer, NULL), 0);
    assert_string_equal(answer, "ok");
    assert_int_equal(sqlite3_exec(plain, "SELECT count(*) FROM history", see_row, answer, NULL), 0);
    assert_string_equal(answer, "300");
    sqlite3_close(plain);
    takes(place, 300);
}

static void test_copies(void **state)
{
    Place *place = *state;
    int64_t last;
    make_database(place->db, 40, 0, false);
    shell(place, "mkdir %s.d && cp %s %s-wal %s-tfy %s.d");
    strcat(place->directory, "/runs.db.d"); /* the original stays: its inode could be given again */
    snprintf(place->db, sizeof place->db, "%s/runs.db", place->directory);
    refuses(place, false, "is a copy");
    assert_int_equal(open_as(place, place->db, (TfyLogOptions){.adopt = true}, &last), 0);
    assert_int_equal(last, 40);
    takes(place, 40);
    *strrchr(place->directory, '/') = '\0';
}

/* The main file alone, moved elsewhere by itself: its inode says nothing, and what is missing is known to nobody. */
static void test_without_witness(void **state)
{
    Place *place = *state;
    int64_t last;
    make_database(place->db, 40, 0, false);
    drop(place, "-tfy");
    refuses(place, false, "-tfy, which says how far the log goes, is missing");
    assert_int_equal(open_as(place, place->db, (TfyLogOptions){.adopt = true}, &last), 0);
    takes(place, 40);
    drop(place, "");
    drop(place, "-wal");
    drop(place, "-shm");
    make_database(place->db, 20, 0, true); /* a new database beside the old one's witness */
    takes(place, 20);
}

static void test_closed_without_witness(void **state)
{
    Place *place = *state;
    make_database(place->db, 40, 0, true);
    drop(place, "-tfy");
    takes(place, 40);
    char name[160];
    name_of(place, "-tfy", name);
    assert_int_equal(access(name, F_OK), 0);
}

static void test_older_file(void **state)
{
    Place *place = *state;
    int64_t last;
    make_database(place->db, 30, 0, true);
    shell(place, "cp %s %s.old");
    TfyLog *log;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    tfy__log_append(log, tfy__log_self(log), TFY_R_OPENED, 0, 0, "{}", 2);
    assert_int_equal(tfy__log_close(log, true), 0);
    shell(place, "cat %s.old >%s && rm %s-wal");
    refuses(place, true, "ends at record 30, but 31 were written");
    assert_int_equal(open_as(place, place->db, (TfyLogOptions){.adopt = true}, &last), 0);
    takes(place, 30);
}

/* A write of a slot that was torn leaves the one before it. It may have been to say that a sync had failed. */
static void test_torn_slot(void **state)
{
    Place *place = *state;
    TfyWitness before, after;
    make_database(place->db, 40, 0, false);
    assert_int_equal(tfy__witness_read_of(place->db, &before), 0);
    flip(place, "-tfy", 512 + before.sequence % 2 * 512 + 40);
    assert_int_equal(tfy__witness_read_of(place->db, &after), 0);
    assert_int_equal(after.sequence, before.sequence - 1);
    assert_true(after.lsn < before.lsn);
    assert_false(before.failed);
    assert_true(after.failed);
    takes(place, 40);
    for (int i = 0; i < 2; i++) flip(place, "-tfy", 512 + i * 512 + 40 + i);
    assert_int_equal(tfy__witness_read_of(place->db, &after), TFY_E_ABSENT);
    refuses(place, false, "is missing");
}

/* How many slots an opening and its close write, when no record comes between. */
static int64_t slots_of_opening(Place *place)
{
    TfyWitness before, after;
    int64_t last;
    assert_int_equal(tfy__witness_read_of(place->db, &before), 0);
    assert_int_equal(open_as(place, place->db, (TfyLogOptions){0}, &last), 0);
    assert_int_equal(tfy__witness_read_of(place->db, &after), 0);
    return after.sequence - before.sequence;
}

/* An opening that died between writing the first slots and its first commit may have died before their sync, too: the next one writes and
 * syncs them again. Others do not. */
static void test_begun_twice(void **state)
{
    Place *place = *state;
    TfyWitness witness;
    make_database(place->db, 40, 0, false);
    assert_int_equal(slots_of_opening(place), 1);
    assert_int_equal(tfy__witness_read_of(place->db, &witness), 0);
    witness.epoch++;
    char name[160];
    name_of(place, "-tfy", name);
    const int fd = open(name, O_RDWR);
    assert_int_equal(tfy__witness_write(fd, &witness), 0);
    close(fd);
    assert_int_equal(slots_of_opening(place), 3);
    takes(place, 40);
}

static int fail_commit(void *state, int call)
{
    int *left = state;
    return call == TFY_CALL_COMMIT && --*left == 0 ? TFY_E_IO : 0;
}

static void test_failed_sync(void **state)
{
    Place *place = *state;
    TfyLog *log;
    Work work;
    TfyWitness witness;
    int left = 3;
    const TfyLogOptions options = {.path = place->db, .no_thread = true, .fault = fail_commit, .fault_state = &left};
    assert_int_equal(tfy__log_open(&log, &options, place->error), 0);
    begin_work(log, &work);
    assert_int_equal(tfy__log_sync(log), 0);
    append_some(log, &work, 10);
    assert_int_equal(tfy__log_sync(log), 0);
    append_some(log, &work, 10);
    assert_int_equal(tfy__log_sync(log), TFY_E_IO);
    assert_int_equal(tfy__log_close(log, true), TFY_E_IO);
    assert_int_equal(tfy__witness_read_of(place->db, &witness), 0);
    assert_true(witness.failed);
    assert_int_equal(witness.lsn, 11);
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    tfy__log_append(log, tfy__log_self(log), TFY_R_OPENED, 0, 0, "{}", 2);
    assert_int_equal(tfy__log_sync(log), 0);
    assert_int_equal(tfy__witness_read_of(place->db, &witness), 0);
    assert_false(witness.failed);
    tfy__log_close(log, false);
}

/* Pages of the main file: a change is found when one is read, by whoever reads it, and named. */
static void check_sums(Place *place)
{
    size_t len;
    free(read_file(place->db, &len));
    int named = 0;
    for (off_t page = 0; page < (off_t)len / SCHEMA_PAGE_BYTES; page++) {
        const off_t at = page * SCHEMA_PAGE_BYTES + 200 + page * 389 % 7980;
        char says[64];
        int64_t last = 0;
        snprintf(says, sizeof says, "page %lld was changed since it was written", (long long)page + 1);
        flip(place, "", at);
        if (open_as(place, place->db, (TfyLogOptions){.read_only = true}, &last) != 0) {
            if (!strstr(place->error, says)) fail_msg("'%s' does not say '%s'", place->error, says);
            named++;
        }
        flip(place, "", at);
    }
    assert_true(named > 5);
}

static void test_page_sums(void **state)
{
    Place *place = *state;
    make_database(place->db, 900, 100, true);
    check_sums(place);
    takes(place, 900);
}

/* What sqlite3 itself has written has no sums that fit. A copy of its making is read as it is, and gets its sums when
 * it is adopted; what was written in place has none. */
static void test_foreign_pages(void **state)
{
    Place *place = *state;
    int64_t last = 0;
    char copy[sizeof place->db];
    sqlite3 *plain, *to;
    snprintf(copy, sizeof copy, "%s/copy.db", place->directory);
    make_database(place->db, 900, 100, true);
    assert_int_equal(sqlite3_open(place->db, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_open(copy, &to), SQLITE_OK);
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", plain, "main");
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    sqlite3_backup_finish(backup);
    sqlite3_close(to);
    assert_int_equal(open_as(place, copy, (TfyLogOptions){.read_only = true}, &last), 0);
    assert_int_equal(open_as(place, copy, (TfyLogOptions){0}, &last), TFY_E_DATA);
    assert_non_null(strstr(place->error, "is a copy"));
    assert_int_equal(open_as(place, copy, (TfyLogOptions){.adopt = true}, &last), 0);
    assert_int_equal(open_as(place, copy, (TfyLogOptions){0}, &last), 0);
    assert_int_equal(sqlite3_exec(plain, "VACUUM", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(plain);
    takes(place, 900);
    strcpy(place->db, copy);
    check_sums(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_follows, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_broken_wal, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_moved_by_another, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_plain_reader, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_copies, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_without_witness, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_closed_without_witness, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_older_file, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_torn_slot, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_begun_twice, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_failed_sync, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_page_sums, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_foreign_pages, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* wal_names.c: names of a database: links that are followed, names that are refused, companions that are not what they should be, and a file that is
 * found by what it is where its name says nothing. */
#include <errno.h>
#include <limits.h>
#include <sys/wait.h>

#include "wal/store/hold.h"
#include "wal/store/lock.h"
#include "wal/store/place.h"
#include "wal_fixture.h"

static char *in(const Place *place, const char *name)
{
    static char names[4][160];
    static int turn;
    char *to = names[turn++ % 4];
    snprintf(to, sizeof names[0], "%s/%s", place->directory, name);
    return to;
}

static void link_to(const Place *place, const char *target, const char *name)
{
    assert_int_equal(symlink(target, in(place, name)), 0);
}

static void resolves(Place *place, const char *name, const char *to)
{
    char path[TFY_PLACE_BYTES];
    assert_int_equal(tfy__place_resolve(in(place, name), path, place->error), 0);
    assert_string_equal(path, in(place, to));
}

static void resolves_not(Place *place, const char *name, const char *why)
{
    char path[TFY_PLACE_BYTES];
    assert_int_equal(tfy__place_resolve(name, path, place->error), TFY_E_INVALID);
    assert_non_null(strstr(place->error, why));
}

static void test_resolve(void **state)
{
    Place *place = *state;
    char absolute[PATH_MAX], around[TFY_PLACE_BYTES], path[TFY_PLACE_BYTES];
    assert_int_equal(mkdir(in(place, "d"), 0700), 0);
    assert_int_equal(mkdir(in(place, "e"), 0700), 0);
    write_file(in(place, "d/real.db"), "x", 1);
    snprintf(absolute, sizeof absolute, "%s/d/real.db", place->directory);
    link_to(place, "d/real.db", "one.db");
    link_to(place, absolute, "two.db");
    link_to(place, "one.db", "three.db");
    link_to(place, "../d/new.db", "e/dangling.db");
    link_to(place, "circle.b", "circle.a");
    link_to(place, "circle.a", "circle.b");
    resolves(place, "d/real.db", "d/real.db");
    resolves(place, "not there.db", "not there.db");
    resolves(place, "one.db", "d/real.db");
    resolves(place, "two.db", "d/real.db");
    resolves(place, "three.db", "d/real.db");
    resolves(place, "e/dangling.db", "e/../d/new.db");
    resolves_not(place, in(place, "circle.a"), "leads back to itself");
    resolves_not(place, "", "empty name");
    resolves_not(place, ":memory:", "':memory:' is not the name of a file");
    memset(around, 'x', sizeof around);
    around[sizeof around - 1] = '\0';
    assert_int_equal(tfy__place_resolve(around, path, place->error), 0);
    assert_string_equal(path, around);
    char longer[TFY_PLACE_BYTES + 1];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    resolves_not(place, longer, "too long");
}

/* An opening, to write and to read, is refused for what the file beside the database is, and all is as it was. */
static void refused(Place *place, const char *why)
{
    TfyLog *log;
    for (int read_only = 0; read_only < 2; read_only++) {
        const TfyLogOptions options = {.path = place->db, .read_only = read_only, .existing = read_only};
        assert_int_equal(tfy__log_open(&log, &options, place->error), TFY_E_DATA);
        if (!strstr(place->error, why)) fail_msg("'%s' does not say '%s'", place->error, why);
    }
}

static void test_companions(void **state)
{
    static const char *const endings[] = {"-tfy", "-wal", "-shm", "-journal"};
    static const char precious[] = "something that is needed";
    Place *place = *state;
    char name[160];
    size_t len;
    make_database(place->db, 5, 0, true);
    write_file(in(place, "other"), precious, sizeof precious);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", place->db, endings[i]);
        rename(name, in(place, "kept"));
        assert_int_equal(symlink("other", name), 0);
        refused(place, "is a symbolic link");
        unlink(name);
        assert_int_equal(link(in(place, "other"), name), 0);
        refused(place, "has a second name (a hard link)");
        unlink(name);
        assert_int_equal(mkfifo(name, 0600), 0);
        refused(place, "is not a regular file");
        unlink(name);
        rename(in(place, "kept"), name);
    }
    char *bytes = read_file(in(place, "other"), &len);
    assert_int_equal(len, sizeof precious);
    assert_memory_equal(bytes, precious, len);
    free(bytes);
    assert_int_equal(link(place->db, in(place, "second.db")), 0);
    refused(place, "has 2 names (hard links)");
    unlink(in(place, "second.db"));
    TfyLog *log;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    assert_int_equal(tfy__log_close(log, true), 0);
}

/* What a process of its own hears that opens the database: 0, or the code and the sentence. */
static int opens_elsewhere(Place *place, const char *path, bool read_only)
{
    int ends[2], status;
    char said[sizeof place->error] = "";
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char word[16], *arguments[] = {"wal_names", "open", (char *)path, read_only ? "read" : "write", word, NULL};
        snprintf(word, sizeof word, "%d", ends[1]);
        execv("/proc/self/exe", arguments);
        _exit(99);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(ends[0], said + len, sizeof said - 1 - len)) > 0;) len += (size_t)got;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    memcpy(place->error, said, sizeof said);
    return -WEXITSTATUS(status);
}

/* Run as `wal_names open PATH read|write FD`. */
static int open_and_tell(char **words)
{
    TfyLog *log;
    char error[TFY_ERROR_TEXT] = "";
    const TfyLogOptions options = {.path = words[2], .existing = true, .read_only = strcmp(words[3], "read") == 0};
    const int code = tfy__log_open(&log, &options, error), fd = atoi(words[4]);
    if (!code) tfy__log_close(log, false);
    if (write(fd, error, strlen(error)) < 0) return 98;
    return -code;
}

/* Whether another process finds the byte of the main file locked by which SQLite says that a connection is open. */
static bool sqlite_locks(const char *path)
{
    const pid_t pid = fork();
    int status;
    if (pid == 0) {
        struct flock shared = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000000 + 2, .l_len = 510};
        const int fd = open(path, O_RDONLY);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &shared) == 0 && shared.l_type != F_UNLCK);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

/* Through a link it is the same database: the same lock, the same witness. */
static void test_one_lock(void **state)
{
    Place *place = *state;
    TfyLog *log, *second;
    Work work;
    link_to(place, "runs.db", "link.db");
    const char *other = in(place, "link.db");
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = other}, place->error), 0);
    begin_work(log, &work);
    assert_int_equal(tfy__log_sync(log), 0);
    assert_string_equal(tfy__log_path(log), place->db);
    assert_int_equal(access(place->db, F_OK), 0);
    assert_int_equal(access(in(place, "link.db-tfy"), F_OK), -1);
    assert_int_equal(opens_elsewhere(place, place->db, false), TFY_E_HELD);
    assert_int_equal(opens_elsewhere(place, other, false), TFY_E_HELD);
    assert_int_equal(tfy__log_open(&second, &(TfyLogOptions){.path = place->db}, place->error), TFY_E_HELD);
    assert_int_equal(opens_elsewhere(place, other, true), 0);
    assert_int_equal(tfy__log_close(log, true), 0);
    assert_int_equal(opens_elsewhere(place, other, false), 0);
}

/* Where the lock's file says nothing, the file itself does; and whoever is refused takes none of SQLite's locks with it. */
static void test_found_by_inode(void **state)
{
    Place *place = *state;
    TfyLog *log, *second;
    Work work;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
    begin_work(log, &work);
    assert_int_equal(tfy__log_sync(log), 0);
    unlink(in(place, "runs.db-tfy"));
    assert_int_equal(opens_elsewhere(place, place->db, false), TFY_E_HELD);
    assert_non_null(strstr(place->error, "is held by another process, which has it under another name, or its file"));
    assert_int_equal(opens_elsewhere(place, place->db, true), TFY_E_HELD);
    assert_true(sqlite_locks(place->db));
    assert_int_equal(tfy__log_open(&second, &(TfyLogOptions){.path = place->db}, place->error), TFY_E_HELD);
    assert_non_null(strstr(place->error, "is held by this process"));
    assert_int_equal(tfy__log_open(&second, &(TfyLogOptions){.path = place->db, .read_only = true}, place->error), 0);
    tfy__log_close(second, false);
    assert_true(sqlite_locks(place->db));
    assert_int_equal(append_some(log, &work, 3), 0);
    assert_int_equal(tfy__log_close(log, true), 0);
    assert_int_equal(opens_elsewhere(place, place->db, false), 0);
}

/* A reader of this process may outlast a writer, and the writer's lock ends with the writer. */
static void test_reader_outlasts(void **state)
{
    Place *place = *state;
    TfyLog *reader, *writer;
    make_database(place->db, 5, 0, true);
    assert_int_equal(tfy__log_open(&reader, &(TfyLogOptions){.path = place->db, .read_only = true}, place->error), 0);
    assert_int_equal(tfy__log_open(&writer, &(TfyLogOptions){.path = place->db}, place->error), 0);
    assert_int_equal(opens_elsewhere(place, place->db, false), TFY_E_HELD);
    assert_int_equal(tfy__log_close(writer, true), 0);
    assert_true(sqlite_locks(place->db));
    assert_int_equal(opens_elsewhere(place, place->db, false), 0);
    tfy__log_close(reader, false);
    assert_false(sqlite_locks(place->db));
}

/* After a sync nobody hears of records whose file has lost its name meanwhile; they are told where it is. */
static void test_lost_name(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    Place *place = *state;
    char name[160];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        TfyLog *log;
        Work work;
        snprintf(name, sizeof name, "%s%s", place->db, endings[i]);
        assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .no_thread = true}, place->error), 0);
        begin_work(log, &work);
        append_some(log, &work, 5);
        assert_int_equal(tfy__log_sync(log), 0);
        const int64_t durable = tfy__log_durable_lsn(log);
        assert_int_equal(rename(name, in(place, "away")), 0);
        append_some(log, &work, 5);
        assert_int_equal(tfy__log_sync(log), TFY_E_IO);
        assert_int_equal(tfy__log_durable_lsn(log), durable);
        tfy__log_error_text(log, place->error);
        assert_non_null(strstr(place->error, *endings[i] ? "was removed" : "was moved away"));
        tfy__log_close(log, true);
        assert_int_equal(*endings[i] ? unlink(in(place, "away")) : rename(in(place, "away"), name), 0);
        assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db}, place->error), 0);
        assert_true(tfy__log_last_lsn(log) >= durable);
        tfy__log_close(log, true);
    }
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "open") == 0) return open_and_tell(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_resolve, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_companions, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_one_lock, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_found_by_inode, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_reader_outlasts, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_lost_name, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

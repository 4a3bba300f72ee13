/* core_root.c: a loop takes up the runs of its working root, and others only where it was asked to move them; what makes a directory the same. */
#include "core_script.h"

#include "wal/log/root.h"

SCRIPT(sleeper, SAY("one"), DO(SLEEP, .n = 50), SAY("two"));
PROGRAM(&sleeper.workflow);

static TfyRoot shown; /* what the world shows instead of a part of the truth; 0: nothing */

static bool look(int fd, TfyRoot *root)
{
    if (!tfy__root_look(fd, root)) return false;
    if (shown.dev) root->dev = shown.dev;
    if (shown.ino) root->ino = shown.ino;
    if (shown.born_ns) root->born_ns = shown.born_ns;
    return true;
}

/* A process in a directory. */
static Bench begin(const char *db, const char *root, bool moves)
{
    char error[TFY_ERROR_TEXT] = "";
    Bench bench = {.world = tfy__world_virtual(1700000000000, 42)};
    bench.world->look_root = look;
    TfyOptions options = {.world = bench.world, .quiet = true, .db_path = db, .root = root, .move_root = moves};
    if (tfy_open(&bench.loop, &program, &options, error) < 0) fail_msg("%s", error);
    return bench;
}

/* As after a kill: the run is in the log, unfinished. */
static void end(Bench *bench)
{
    assert_int_equal(tfy_close(bench->loop), 0);
    tfy__world_free(bench->world);
}

typedef struct Site {
    char db[64], one[32], two[32];
} Site;

static Site begin_run(void)
{
    Site site = {.one = "/tmp/tfy-root-XXXXXX", .two = "/tmp/tfy-root-XXXXXX"};
    temp_db(site.db);
    assert_non_null(mkdtemp(site.one));
    assert_non_null(mkdtemp(site.two));
    Bench bench = begin(site.db, site.one, false);
    start(&bench, "sleeper");
    assert_true(one_turn(bench.loop));
    end(&bench);
    return site;
}

static void depart(const Site *site)
{
    shown = (TfyRoot){0};
    check_replay(site->db, "sleeper");
    remove_db(site->db);
    rmdir(site->one);
    rmdir(site->two);
}

static void finish(Bench *bench)
{
    while (bench->loop->runs_live) one_turn(bench->loop);
    end(bench);
}

static void test_by_name(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    const Site site = begin_run();
    Bench bench = begin(site.db, site.two, false);
    assert_int_equal(tfy_resume(bench.loop, "last", &tid, error), TFY_E_STATE);
    assert_non_null(strstr(error, site.one));
    assert_non_null(strstr(error, site.two));
    assert_int_equal(bench.loop->runs_live, 0);
    end(&bench);
    bench = begin(site.db, site.two, true);
    assert_int_equal(tfy_resume(bench.loop, "last", &tid, error), 0);
    end(&bench);
    bench = begin(site.db, site.one, false); /* the move holds */
    assert_int_equal(tfy_resume(bench.loop, "last", &tid, error), TFY_E_STATE);
    end(&bench);
    bench = begin(site.db, site.two, false);
    assert_int_equal(tfy_resume(bench.loop, "last", &tid, error), 0);
    finish(&bench);
    depart(&site);
}

static void test_all(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT] = "";
    const Site site = begin_run();
    Bench bench = begin(site.db, site.two, true); /* nobody named the run */
    assert_int_equal(tfy_resume_all(bench.loop, error), 0);
    assert_int_equal(bench.loop->runs_live, 0);
    assert_int_equal(tfy__left_elsewhere(bench.loop), 1);
    end(&bench);
    bench = begin(site.db, site.one, false);
    assert_int_equal(tfy_resume_all(bench.loop, error), 0);
    assert_int_equal(bench.loop->runs_live, 1);
    finish(&bench);
    depart(&site);
}

/* The device's number may be another one when the machine starts again; inode and time of birth are not. */
static void test_same_path(void **state)
{
    (void)state;
    static const TfyRoot others[] = {{.ino = 12345}, {.born_ns = 1600000000000000000}};
    char error[TFY_ERROR_TEXT] = "";
    shown.born_ns = 1500000000000000000;
    const Site site = begin_run();
    for (int i = 0; i < 2; i++) {
        shown = (TfyRoot){.born_ns = 1500000000000000000};
        if (others[i].ino) shown.ino = others[i].ino;
        if (others[i].born_ns) shown.born_ns = others[i].born_ns;
        Bench bench = begin(site.db, site.one, false);
        assert_int_equal(tfy_resume(bench.loop, "last", NULL, error), TFY_E_STATE);
        assert_non_null(strstr(error, "another directory"));
        end(&bench);
    }
    shown = (TfyRoot){.dev = 77, .born_ns = 1500000000000000000};
    Bench bench = begin(site.db, site.one, false);
    assert_int_equal(tfy_resume(bench.loop, "last", NULL, error), 0);
    finish(&bench);
    depart(&site);
}

static void check_round_trip(const char *path)
{
    TfyRoot root = {.path = (char *)path, .dev = 3, .ino = INT64_MAX, .born_ns = 4}, read;
    TfyBuffer out = {0};
    tfy__root_write(&out, &root);
    json_t *json = json_loadb(out.data, out.len, 0, NULL);
    assert_int_equal(tfy__root_of_json(json, &read), 0);
    assert_string_equal(read.path, path);
    assert_true(read.dev == 3 && read.ino == INT64_MAX && read.born_ns == 4);
    json_decref(json);
    tfy__buffer_free(&out);
    tfy__root_free(&read);
}

static void test_paths(void **state)
{
    (void)state;
    check_round_trip("/a b/\"c\"\\");
    check_round_trip("/\xff\xfe/\xc3\xa4");
    check_round_trip("/\n");
    TfyRoot none;
    assert_int_equal(tfy__root_of_json(NULL, &none), 0);
    assert_null(none.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_same_path),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

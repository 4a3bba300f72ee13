/* core_programs.c: a loop with several programs, and one that stays: other threads ask it, its ended runs leave memory, and a
 * deadlock ends nothing. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"

extern const TfyProgram tfyg_program;

#define BEGIN INT64_C(1700000000000)

static int working, most;
static uint64_t timer[8];

bool work(TfyTask *task, int64_t n, int64_t *out);
bool work(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task;
    *out = n;
    return true;
}

static void finish_job(void *arg)
{
    TfyCall *call = arg;
    working--;
    tfy__call_done(call, call->args[0]);
}

static void start_job(TfyCall *call)
{
    if (++working > most) most = working;
    timer[call->args[0].i] =
        tfy__timer_add(call->loop, tfy__now_ns(call->loop) + INT64_C(1000000000), finish_job, call);
}

static void abort_job(TfyCall *call)
{
    working--;
    tfy__timer_del(call->loop, timer[call->args[0].i]);
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

static TfyProgram second, stranger;
static TfyWorld *world;
static TfyLoop *loop;
static char directory[64], db[96];

static void open_loop(const TfyProgram *program, bool stay)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyOptions options = {.world = world, .quiet = true, .db_path = db, .stay = stay, .park_after_ms = 1000};
    if (tfy_open(&loop, program, &options, error) < 0) fail_msg("%s", error);
    working = most = 0;
}

static void open_both(void)
{
    open_loop(&tfyg_program, false);
    assert_int_equal(tfy_load(loop, &second, NULL, NULL), 0);
}

static int64_t start(const TfyProgram *program, const char *workflow, int n)
{
    char error[TFY_ERROR_TEXT] = "", args[32];
    int64_t root;
    snprintf(args, sizeof args, "{\"n\":%d}", n);
    if (tfy_submit_to(loop, program, workflow, args, &root, error) < 0) fail_msg("%s", error);
    return root;
}

/* To the end of all runs that can end; the clock jumps when only time is waited for. */
static void run_all(void)
{
    for (int turns = 0, quiet = 0; loop->runs_live && quiet < 200 && turns < 100000; turns++) {
        const int happened = tfy_step(loop);
        const int64_t next_ns = tfy__timers_next(&loop->timers);
        assert_true(happened >= 0);
        quiet = happened ? 0 : quiet + 1;
        if ((working || !happened) && next_ns != INT64_MAX) world->jump(world->state, next_ns);
        if (!happened) usleep(50); /* the writer is a thread of its own */
    }
}

/* ---- several programs ---- */

static void test_runs_belong_to_their_programs(void **state)
{
    (void)state;
    open_both();
    const int64_t one = start(&tfyg_program, "doubles", 1), two = start(&second, "doubles", 2);
    run_all();
    assert_string_equal(tfy_task_result(loop, one), "2");
    assert_string_equal(tfy_task_result(loop, two), "4");
    TfyHistory *history;
    char error[TFY_ERROR_TEXT];
    assert_int_equal(tfy__history_read(tfy__loop_log(loop), tfy_run_id(loop, two), &history, error), 0);
    assert_string_equal(history->program_source, second.source);
    tfy__history_free(history);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_versions_share_a_limit(void **state)
{
    (void)state;
    open_both();
    for (int i = 0; i < 6; i++) start(i % 2 ? &second : &tfyg_program, "doubles", i);
    run_all();
    assert_int_equal(most, 1);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_parked_runs_of_both_wake(void **state)
{
    (void)state;
    open_both();
    start(&tfyg_program, "naps", 1);
    start(&second, "naps", 2);
    tfy_drain(loop, 0);
    assert_int_equal(tfy_run(loop), TFY_E_STATE);
    assert_int_equal(tfy_close(loop), 0);
    open_both();
    assert_int_equal(tfy_resume_all(loop, NULL), 0);
    assert_int_equal(loop->runs_live, 2);
    run_all();
    assert_int_equal(loop->runs_live, 0);
    assert_int_equal(loop->metrics.runs_ended[TFY_TASK_COMPLETED - TFY_TASK_COMPLETED], 2);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_a_run_of_a_program_that_is_not_loaded_is_left(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    open_both();
    start(&second, "naps", 2);
    tfy_drain(loop, 0);
    assert_int_equal(tfy_run(loop), TFY_E_STATE);
    assert_int_equal(tfy_close(loop), 0);
    open_loop(&tfyg_program, false);
    assert_int_equal(tfy_resume(loop, "last", NULL, error), TFY_E_STATE);
    assert_non_null(strstr(error, "another version of the program"));
    assert_int_equal(tfy_load(loop, &second, NULL, NULL), 0);
    assert_int_equal(tfy_resume(loop, "last", NULL, error), 0);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_what_cannot_be_loaded(void **state)
{
    char error[TFY_ERROR_TEXT];
    TfyProgram copy = tfyg_program;
    (void)state;
    open_loop(&tfyg_program, false);
    assert_int_equal(tfy_load(loop, &stranger, NULL, error), TFY_E_INVALID);
    assert_non_null(strstr(error, "compile it again"));
    assert_int_equal(tfy_load(loop, &copy, NULL, error), TFY_E_STATE);
    assert_int_equal(tfy_load(loop, &tfyg_program, NULL, error), 0); /* it is loaded already */
    assert_int_equal(tfy_submit_to(loop, &second, "naps", "{\"n\":1}", NULL, error), TFY_E_ABSENT);
    assert_non_null(strstr(error, "not loaded"));
    assert_int_equal(tfy_close(loop), 0);
}

/* ---- a loop that stays ---- */

enum { THREADS = 4, POSTS = 300 };

typedef struct Poster {
    pthread_t thread;
    int number, next; /* next: the post that must be called next, since a thread's posts keep their order */
    bool fine;
} Poster;

typedef struct Asked {
    Poster *by;
    int number;
} Asked;

static int called, released;

static void on_post(TfyLoop *at, void *arg)
{
    Asked *asked = arg;
    if (at) {
        char args[32];
        asked->by->fine &= asked->number == asked->by->next++;
        snprintf(args, sizeof args, "{\"n\":%d}", asked->by->number);
        if (tfy_submit(at, "naps", args, NULL, NULL) < 0) asked->by->fine = false;
        if (++called == THREADS * POSTS) tfy_drain(at, 0);
    } else {
        released++;
    }
    free(asked);
}

static void *post_all(void *arg)
{
    Poster *poster = arg;
    for (int i = 0; i < POSTS; i++) {
        Asked *asked = malloc(sizeof *asked);
        *asked = (Asked){poster, i};
        if (tfy__post(loop, on_post, asked) < 0) poster->fine = false;
        if (i % 64 == 0) usleep(200);
    }
    return NULL;
}

static void test_other_threads_ask(void **state)
{
    Poster posters[THREADS];
    const TfyOptions options = {.quiet = true, .stay = true};
    (void)state;
    assert_int_equal(tfy_open(&loop, &tfyg_program, &options, NULL), 0);
    called = 0;
    for (int i = 0; i < THREADS; i++) {
        posters[i] = (Poster){.number = i, .fine = true};
        pthread_create(&posters[i].thread, NULL, post_all, &posters[i]);
    }
    assert_int_equal(tfy_run(loop), TFY_E_STATE); /* it stays until it is drained */
    for (int i = 0; i < THREADS; i++) {
        pthread_join(posters[i].thread, NULL);
        assert_true(posters[i].fine);
    }
    assert_int_equal(loop->runs_live, THREADS * POSTS);
    Asked *late = malloc(sizeof *late);
    *late = (Asked){&posters[0], 0};
    released = 0;
    assert_int_equal(tfy__post(loop, on_post, late), 0);
    assert_int_equal(tfy_close(loop), 0);
    assert_int_equal(released, 1);
}

static void test_ended_runs_leave_memory(void **state)
{
    (void)state;
    open_loop(&tfyg_program, true);
    const int64_t root = start(&tfyg_program, "doubles", 3);
    char run[40];
    snprintf(run, sizeof run, "%s", tfy_run_id(loop, root));
    run_all();
    assert_null(loop->runs.first);
    assert_null(tfy_task_result(loop, root));
    TfyHistory *history;
    char error[TFY_ERROR_TEXT];
    assert_int_equal(tfy__history_read(tfy__loop_log(loop), run, &history, error), 0);
    assert_int_equal(history->run.state, TFY_TASK_COMPLETED);
    tfy__history_free(history);
    assert_int_equal(tfy_close(loop), 0);
}

static void test_a_deadlock_ends_nothing(void **state)
{
    char error[TFY_ERROR_TEXT];
    (void)state;
    open_loop(&tfyg_program, true);
    assert_int_equal(tfy_submit(loop, "waits_for_itself", "{}", NULL, error), 0);
    start(&tfyg_program, "naps", 1);
    run_all();
    assert_non_null(loop->runs.first); /* the one that is stuck; the other has ended */
    assert_int_equal(loop->runs_live, 1);
    assert_true(loop->runs.first->stuck_told);
    TfyHistory *history;
    assert_int_equal(tfy__history_read(tfy__loop_log(loop), loop->runs.first->uuid, &history, error), 0);
    assert_int_equal(history->records[history->record_count - 1].type, TFY_R_SHUTDOWN_MARKER);
    tfy__history_free(history);
    assert_int_equal(tfy_close(loop), 0);
}

/* ---- a world and a database for each ---- */

static int begin_test(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/tfy-programs-XXXXXX");
    if (!mkdtemp(directory)) return -1;
    snprintf(db, sizeof db, "%s/runs.db", directory);
    world = tfy__world_virtual(BEGIN, 7);
    if (!world) return -1;
    world->performers[TFY_F_EXTERN] = &jobs;
    second = stranger = tfyg_program;
    second.source = "// another version\n";
    second.hash[0]++;
    stranger.source = "// of another tfyc\n";
    stranger.tfyc = "0.0.1";
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "-wal", "-shm", "-tfy"};
    char name[128];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", db, endings[i]);
        unlink(name);
    }
    tfy__world_free(world);
    return rmdir(directory);
}

#define PROGRAM_TEST(test) cmocka_unit_test_setup_teardown(test, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(test_runs_belong_to_their_programs),
        PROGRAM_TEST(test_versions_share_a_limit),
        PROGRAM_TEST(test_parked_runs_of_both_wake),
        PROGRAM_TEST(test_a_run_of_a_program_that_is_not_loaded_is_left),
        PROGRAM_TEST(test_what_cannot_be_loaded),
        PROGRAM_TEST(test_other_threads_ask),
        PROGRAM_TEST(test_ended_runs_leave_memory),
        PROGRAM_TEST(test_a_deadlock_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

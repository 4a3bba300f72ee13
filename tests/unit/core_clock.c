/* core_clock.c: clocks that are set while a run waits, is parked, or lies in a snapshot; what counts in a limiter's window across all of that. The
 * world is virtual, but for the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"

extern const TfyProgram tfyg_program;

#define MINUTE (INT64_C(60) * 1000)
#define HOUR   (60 * MINUTE)
#define YEAR   (365 * 24 * HOUR)
#define BEGIN  INT64_C(1700000000000)

/* ---- the tools: each call takes an hour of `single`, and no time of `narrow` ---- */

bool narrow(TfyTask *task, int64_t n, int64_t *out);
bool narrow(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task;
    *out = n;
    return true;
}

bool single(TfyTask *task, int64_t n, int64_t *out);
bool single(TfyTask *task, int64_t n, int64_t *out)
{
    return narrow(task, n, out);
}

static int in_use, most_in_use, calls;

typedef struct Job {
    uint64_t timer;
    bool counts;
} Job;

static void finish_job(void *arg)
{
    TfyCall *call = arg;
    Job *job = call->state;
    in_use -= job->counts;
    free(job);
    call->state = NULL;
    tfy__call_done(call, call->args[0]);
}

static void start_job(TfyCall *call)
{
    Job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->counts = strcmp(call->tool->name, "single") == 0;
    call->state = job;
    calls++;
    in_use += job->counts;
    if (in_use > most_in_use) most_in_use = in_use;
    job->timer =
        tfy__timer_add(call->loop, tfy__now_ns(call->loop) + (job->counts ? HOUR : 0) * 1000000, finish_job, call);
}

static void abort_job(TfyCall *call)
{
    Job *job = call->state;
    in_use -= job->counts;
    tfy__timer_del(call->loop, job->timer);
    free(job);
    call->state = NULL;
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

/* ---- a life of the process ---- */

typedef struct Life {
    TfyWorld *world;
    TfyLoop *loop;
} Life;

static char directory[64], db[96];
static int64_t leap_ms; /* by which the wall clock was set while a process ran */
static int64_t (*wall_unset)(void *state);

static int64_t wall_as_set(void *state)
{
    return wall_unset(state) + leap_ms;
}

static Life begin(int64_t wall_ms)
{
    char error[TFY_ERROR_TEXT] = "";
    Life life = {.world = tfy__world_virtual(wall_ms, 7)};
    assert_non_null(life.world);
    leap_ms = 0;
    wall_unset = life.world->wall_ms;
    life.world->wall_ms = wall_as_set;
    life.world->performers[TFY_F_EXTERN] = &jobs;
    TfyOptions options = {.world = life.world, .quiet = true, .db_path = db};
    if (tfy_open(&life.loop, &tfyg_program, &options, error) < 0) fail_msg("%s", error);
    return life;
}

static void end(Life *life)
{
    assert_int_equal(tfy_close(life->loop), 0);
    tfy__world_free(life->world);
}

static Life begin_with(const char *workflow)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    Life life = begin(BEGIN);
    if (tfy_submit(life.loop, workflow, "{}", &tid, error) < 0) fail_msg("%s", error);
    return life;
}

static Life take_up(int64_t wall_ms)
{
    char error[TFY_ERROR_TEXT] = "";
    Life life = begin(wall_ms);
    if (tfy_resume_all(life.loop, error) < 0) fail_msg("%s", error);
    return life;
}

static int64_t passed_ms(const Life *life)
{
    return life->world->mono_ns(life->world->state) / 1000000;
}

/* Until so much time of this life has passed, or nothing waits for time. */
static void go_on(Life *life, int64_t until_ms)
{
    TfyLoop *loop = life->loop;
    for (;;) {
        if (tfy_step(loop) < 0) fail_msg("%s", tfy__failure(loop));
        assert_int_equal(tfy__log_sync(loop->log), 0);
        if (loop->ring_head != loop->ring_tail || loop->work.first || loop->sync.first || loop->wake_due) continue;
        int64_t next_ns = tfy__timers_next(&loop->timers);
        if (loop->park_list.first && loop->park_list.first->park_look_ns < next_ns)
            next_ns = loop->park_list.first->park_look_ns;
        if (next_ns > until_ms * 1000000) next_ns = until_ms * 1000000;
        if (passed_ms(life) >= until_ms) return;
        loop->world.jump(loop->world.state, next_ns);
    }
}

/* How many runs have ended, by the log. */
static int ended(const Life *life)
{
    TfyLogRun *runs;
    char **names;
    uint32_t count, done = 0;
    assert_int_equal(tfy__log_runs(life->loop->log, &runs, &names, &count), 0);
    for (uint32_t i = 0; i < count; i++) {
        done += runs[i].state == TFY_TASK_COMPLETED;
        free(names[i]);
    }
    free(runs);
    free(names);
    return (int)done;
}

/* The time of this life at which all has ended, to a minute; -1: never within a day. */
static int64_t minutes_until_end(Life *life, int runs)
{
    for (int64_t minutes = passed_ms(life) / MINUTE; minutes < 24 * 60; minutes++) {
        go_on(life, minutes * MINUTE);
        if (ended(life) == runs) return minutes;
    }
    return -1;
}

static int make_place(void **state)
{
    (void)state;
    strcpy(directory, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tfy-clock-XXXXXX" : "/tmp/tfy-clock-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(db, sizeof db, "%s/db", directory);
    setenv("TFY_SNAPSHOT_EVERY", "1", 1);
    setenv("TFY_PARK_AFTER", "1000", 1);
    in_use = most_in_use = calls = 0;
    return 0;
}

static int remove_place(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void never_park(void)
{
    setenv("TFY_PARK_AFTER", "99999999999", 1);
}

/* ---- the windows of limiters ---- */

/* Three steps have begun when the process ends, and stand in a snapshot only. The fourth has to wait for the rest of the ten minutes. */
static void test_a_snapshot_keeps_the_window(void **state)
{
    (void)state;
    never_park();
    Life life = begin_with("rated");
    go_on(&life, MINUTE);
    assert_int_equal(calls, 3);
    end(&life);
    life = take_up(BEGIN + 2 * MINUTE);
    assert_int_equal(minutes_until_end(&life, 1), 8);
    end(&life);
}

/* A clock that was set back begins the window anew, and no more than that. */
static void test_a_window_after_a_year_back(void **state)
{
    (void)state;
    never_park();
    Life life = begin_with("rated");
    go_on(&life, MINUTE);
    end(&life);
    life = take_up(BEGIN - YEAR);
    assert_in_range(minutes_until_end(&life, 1), 9, 10);
    end(&life);
}

/* A run whose steps still count stays in memory: another one of the process that comes next knows of them. */
static void test_parked_runs_keep_the_window(void **state)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    (void)state;
    Life life = begin_with("rests");
    go_on(&life, 5 * MINUTE);
    assert_int_equal(life.loop->parked, 0);
    end(&life);
    life = take_up(BEGIN + 5 * MINUTE);
    if (tfy_submit(life.loop, "rated", "{}", &tid, error) < 0) fail_msg("%s", error);
    go_on(&life, 4 * MINUTE);
    assert_int_equal(calls, 3);
    go_on(&life, 7 * MINUTE);
    assert_int_equal(calls, 6);
    go_on(&life, 20 * MINUTE);
    assert_int_equal(life.loop->parked, 1);
    assert_int_equal(minutes_until_end(&life, 2), 115);
    end(&life);
}

/* What ran when the snapshot was written runs again, and again one at a time. */
static void test_a_snapshot_keeps_the_limit(void **state)
{
    (void)state;
    never_park();
    Life life = begin_with("two");
    go_on(&life, MINUTE);
    assert_int_equal(in_use, 1);
    assert_int_equal(tfy__snapshot_write(life.loop->runs.first), 0);
    end(&life);
    life = take_up(BEGIN + MINUTE);
    assert_in_range(minutes_until_end(&life, 1), 120, 122);
    assert_int_equal(most_in_use, 1);
    end(&life);
}

/* ---- a year, back and forth ---- */

static const char *const sleepers[] = {"naps", "waits", "hurries"};

/* Each waits for an hour, the process ends after ten minutes, and the next one begins by a clock that shows something else. */
static void expect_after(int64_t wall_ms, int64_t least, int64_t most)
{
    for (size_t i = 0; i < sizeof sleepers / sizeof *sleepers; i++) {
        Life life = begin_with(sleepers[i]);
        go_on(&life, 10 * MINUTE);
        end(&life);
        life = take_up(wall_ms);
        int64_t took = minutes_until_end(&life, 1);
        if (took < least || took > most)
            fail_msg("%s took %lld minutes, not %lld to %lld", sleepers[i], (long long)took, (long long)least,
                     (long long)most);
        end(&life);
        remove_place(NULL);
        assert_int_equal(mkdir(directory, 0700), 0);
    }
}

static void test_a_year_at_a_restart(void **state)
{
    (void)state;
    for (int parked = 0; parked < 2; parked++) {
        setenv("TFY_PARK_AFTER", parked ? "1000" : "99999999999", 1);
        expect_after(BEGIN + 20 * MINUTE, 39, 41);
        expect_after(BEGIN - YEAR, 50, 60); /* anew, from what the clock showed last */
        expect_after(BEGIN + YEAR, 0, 1);   /* as if nobody had run it for a year */
    }
}

/* Back, a kill, and forth again: what was due in an hour is due in an hour. */
static void test_back_and_forth(void **state)
{
    (void)state;
    for (int parked = 0; parked < 2; parked++) {
        setenv("TFY_PARK_AFTER", parked ? "1000" : "99999999999", 1);
        Life life = begin_with("naps");
        go_on(&life, 10 * MINUTE);
        end(&life);
        life = take_up(BEGIN - YEAR);
        go_on(&life, 5 * MINUTE);
        assert_int_equal(ended(&life), 0);
        end(&life);
        life = take_up(BEGIN + 20 * MINUTE);
        assert_in_range(minutes_until_end(&life, 1), parked ? 39 : 0, 41);
        end(&life);
        remove_place(NULL);
        assert_int_equal(mkdir(directory, 0700), 0);
    }
}

/* In a running process, and then a restart. */
static void test_a_year_in_a_process(void **state)
{
    (void)state;
    for (int parked = 0; parked < 2; parked++) {
        setenv("TFY_PARK_AFTER", parked ? "1000" : "99999999999", 1);
        Life life = begin_with("naps");
        go_on(&life, 10 * MINUTE);
        leap_ms = -YEAR;
        int64_t took = minutes_until_end(&life, 1);
        if (took < 59 || took > (parked ? 120 : 61)) fail_msg("%d: it took %lld minutes", parked, (long long)took);
        end(&life);
        remove_place(NULL);
        assert_int_equal(mkdir(directory, 0700), 0);
    }
}

/* The clock is set back, then a snapshot is written, then the process ends: the deadline in it is one of the new clock. */
static void test_a_snapshot_behind_a_leap(void **state)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    (void)state;
    never_park();
    Life life = begin_with("waits");
    go_on(&life, 10 * MINUTE);
    leap_ms = -YEAR;
    go_on(&life, 11 * MINUTE);
    if (tfy_submit(life.loop, "naps", "{}", &tid, error) < 0) fail_msg("%s", error);
    go_on(&life, 20 * MINUTE);
    assert_int_equal(tfy__snapshot_write(life.loop->runs.first), 0);
    end(&life);
    life = take_up(BEGIN - YEAR + 20 * MINUTE);
    assert_in_range(minutes_until_end(&life, 2), 50, 52); /* the nap, begun eleven minutes later */
    end(&life);
}

#define CLOCK_TEST(Name) cmocka_unit_test_setup_teardown(Name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK_TEST(test_a_snapshot_keeps_the_window), CLOCK_TEST(test_a_window_after_a_year_back),
        CLOCK_TEST(test_parked_runs_keep_the_window), CLOCK_TEST(test_a_snapshot_keeps_the_limit),
        CLOCK_TEST(test_a_year_at_a_restart),         CLOCK_TEST(test_back_and_forth),
        CLOCK_TEST(test_a_year_in_a_process),         CLOCK_TEST(test_a_snapshot_behind_a_leap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The scheduler with workflows written by hand in the shape that tfyc emits: order, sleep, join, kill, retry, timeouts, approval, resume, replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop.h"
#include "core/world.h"
#include "tfy_program.h"
#include "value/heap.h"
#include "value/json.h"
#include "wal/history/history.h"

/* ---- a program ---- */

static const TfyPoint point_print = {.id = "person/print", .number = 1, .line = 3, .kind = TFY_POINT_MARK};
static const TfyLive person_live[] = {
    {0, &tfy_type_string, "name"}, {1, &tfy_type_int, "count"}, {2, &tfy_type_int, "i"}};
static const TfyPoint point_yield = {
    .id = "person/yield", .number = 2, .line = 4, .kind = TFY_POINT_YIELD, .live = person_live, .live_count = 3};

typedef struct PersonFrame {
    TfyFrame head;
    TfyObj *name;
    int64_t count, i;
} PersonFrame;

static TfyStatus person_run(TfyTask *t, void *frame)
{
    PersonFrame *F = frame;
    switch (F->head.pc) {
    case 1: goto p1;
    }
    for (F->i = 0; F->i < F->count; F->i++) {
        TfyObj *parts[2] = {F->name, tfy_string_of(t, " running", 8)}, *text;
        if (!(text = tfy_concat(t, 3, 2, parts))) goto fail;
        if (!tfy_print(t, &point_print, text)) goto fail;
        tfy_cut(t, 0);
        F->head.pc = 1;
        return TFY_YIELD;
    p1:
        if (t->error) goto fail;
    }
fail:
    tfy_clear(t, &F->name);
    tfy_cut(t, 0);
    return TFY_RETURN;
}

static const TfyField person_params[] = {{"name", &tfy_type_string, NULL, NULL}, {"count", &tfy_type_int, NULL, NULL}};
static const TfyPoint *const person_resume[] = {&point_yield};
static const TfyWorkflow person = {
    "person", person_run, sizeof(PersonFrame), person_params, 2, &tfy_type_nothing, person_resume, 1, 1, NULL, 0,
    0,        false};

static const TfyPoint point_spawn = {.id = "people/spawn", .number = 3, .line = 9, .kind = TFY_POINT_MARK};

static TfyStatus people_run(TfyTask *t, void *frame)
{
    static const char *const names[] = {"John", "Michael", "Terry"};
    (void)frame;
    for (int i = 0; i < 3; i++) {
        int64_t handle;
        TfyValue args[2] = {{.o = tfy_string_of(t, names[i], strlen(names[i]))}, {.i = i + 2}};
        if (!tfy_spawn(t, &point_spawn, &person, args, &handle)) break;
    }
    tfy_cut(t, 0);
    return TFY_RETURN;
}
static const TfyWorkflow people = {
    "people", people_run, sizeof(TfyFrame), NULL, 0, &tfy_type_nothing, NULL, 0, 8, NULL, 0, 0, false};

/* ask(n): calls tool `dig` with a policy; answers its int. */
static const TfyField dig_params[] = {{"depth", &tfy_type_int, NULL, NULL}};
static const TfyTool dig = {.name = "dig",
                            .family = TFY_F_EXTERN,
                            .repeat = TFY_PURE,
                            .params = dig_params,
                            .param_count = 1,
                            .result = &tfy_type_int};
static const TfyPoint point_dig = {.id = "ask/dig", .number = 4, .line = 20, .kind = TFY_POINT_EFFECT};
static const TfySite site_dig = {&point_dig, &dig, &tfy_type_int, NULL, NULL};

static TfyStatus ask_run(TfyTask *t, void *frame)
{
    TfyFrame *head = frame;
    TfyValue args[1] = {{.i = 7}};
    TfyPolicy policy = {.retry = 2, .backoff_ms = 1000, .timeout_ms = 30000};
    switch (head->pc) {
    case 1: return TFY_RETURN; /* result or error stands */
    }
    head->pc = 1;
    return tfy_perform(t, &site_dig, args, &policy);
}
static const TfyPoint *const ask_resume[] = {&point_dig};
static const TfyWorkflow ask = {"ask", ask_run, sizeof(TfyFrame), NULL, 0, &tfy_type_int, ask_resume, 1, 19, NULL, 0,
                                0,     false};

/* nap(): sleeps an hour, then prints. */
static const TfyPoint point_nap = {.id = "nap/sleep", .number = 5, .line = 30, .kind = TFY_POINT_EFFECT};
static const TfySite site_nap = {&point_nap, &tfy_effect_sleep, &tfy_type_nothing, NULL, NULL};
static const TfyPoint point_woke = {.id = "nap/print", .number = 6, .line = 31, .kind = TFY_POINT_MARK};

static TfyStatus nap_run(TfyTask *t, void *frame)
{
    TfyFrame *head = frame;
    if (head->pc == 0) {
        head->pc = 1;
        return tfy_perform(t, &site_nap, (TfyValue[]){{.i = 3600000}}, NULL);
    }
    if (!t->error) tfy_print(t, &point_woke, tfy_string_of(t, "awake", 5));
    tfy_cut(t, 0);
    return TFY_RETURN;
}
static const TfyPoint *const nap_resume[] = {&point_nap};
static const TfyWorkflow nap = {
    "nap", nap_run, sizeof(TfyFrame), NULL, 0, &tfy_type_nothing, nap_resume, 1, 29, NULL, 0, 0, false};

/* boss(): spawns ask, joins it, answers its value. */
static const TfyPoint point_hire = {.id = "boss/spawn", .number = 7, .line = 40, .kind = TFY_POINT_MARK};
static const TfyPoint point_join = {.id = "boss/join", .number = 8, .line = 41, .kind = TFY_POINT_EFFECT};
static const TfySite site_join = {&point_join, &tfy_effect_join, &tfy_type_int, NULL, NULL};

static TfyStatus boss_run(TfyTask *t, void *frame)
{
    TfyFrame *head = frame;
    if (head->pc == 1) return TFY_RETURN;
    TfyValue handle;
    if (!tfy_spawn(t, &point_hire, &ask, NULL, &handle.i)) return TFY_RETURN;
    head->pc = 1;
    return tfy_perform(t, &site_join, &handle, NULL);
}
static const TfyPoint *const boss_resume[] = {&point_join};
static const TfyWorkflow boss = {
    "boss", boss_run, sizeof(TfyFrame), NULL, 0, &tfy_type_int, boss_resume, 1, 39, NULL, 0, 0, false};

/* gate(): asks a person. */
static const TfyPoint point_gate = {.id = "gate/approve", .number = 9, .line = 50, .kind = TFY_POINT_EFFECT};
static const TfySite site_gate = {&point_gate, &tfy_effect_approve, &tfy_type_bool, NULL, NULL};

static TfyStatus gate_run(TfyTask *t, void *frame)
{
    TfyFrame *head = frame;
    if (head->pc == 1) return TFY_RETURN;
    head->pc = 1;
    return tfy_perform(t, &site_gate, (TfyValue[]){{.o = tfy_string_of(t, "open?", 5)}, {.o = NULL}}, NULL);
}
static const TfyPoint *const gate_resume[] = {&point_gate};
static const TfyWorkflow gate = {
    "gate", gate_run, sizeof(TfyFrame), NULL, 0, &tfy_type_bool, gate_resume, 1, 49, NULL, 0, 0, false};

/* patient(): a nested ask-like call bounded by 5 s: nap in a call with a timeout. */
static const TfyPoint point_call = {.id = "patient/nap", .number = 10, .line = 60, .kind = TFY_POINT_CALL};

static TfyStatus patient_run(TfyTask *t, void *frame)
{
    TfyFrame *head = frame;
    if (head->pc == 1) return TFY_RETURN;
    head->pc = 1;
    return tfy_push(t, &nap, &point_call, 5000) ? TFY_CALL : TFY_RETURN;
}
static const TfyPoint *const patient_resume[] = {&point_call};
static const TfyWorkflow patient = {
    "patient", patient_run, sizeof(TfyFrame), NULL, 0, &tfy_type_nothing, patient_resume, 1, 59, NULL, 0, 0, false};

static const TfyWorkflow *const workflows[] = {&person, &people, &ask, &nap, &boss, &gate, &patient};
static const TfyPoint *const points[] = {&point_print, &point_yield, &point_spawn, &point_dig,  &point_nap,
                                         &point_woke,  &point_hire,  &point_join,  &point_gate, &point_call};
static const TfyProgram program = {.name = "core_sched.tfy",
                                   .source = "",
                                   .layout = "{}",
                                   .hash = {1, 2},
                                   .tfyc = "hand",
                                   .workflows = workflows,
                                   .workflow_count = 7,
                                   .points = points,
                                   .point_count = 10,
                                   .main = 1};

/* ---- the bench ---- */

typedef struct Bench {
    TfyWorld *world;
    TfyLoop *loop;
    char out[4096];
    char db[64];
} Bench;

static void collect(void *state, const char *text, size_t len)
{
    Bench *bench = state;
    size_t at = strlen(bench->out);
    assert_true(at + len < sizeof bench->out);
    memcpy(bench->out + at, text, len);
    bench->out[at + len] = '\0';
}

static void open_bench(Bench *bench, const char *db)
{
    char error[TFY_ERROR_TEXT] = "";
    bench->world = tfy__world_virtual(1700000000000, 42);
    TfyOptions options = {.world = bench->world, .on_output = collect, .state = bench, .db_path = db};
    int code = tfy_open(&bench->loop, &program, &options, error);
    if (code < 0) fail_msg("%s", error);
}

static int64_t start(Bench *bench, const char *workflow)
{
    int64_t tid = 0;
    char error[TFY_ERROR_TEXT] = "";
    if (tfy_submit(bench->loop, workflow, "{}", &tid, error) < 0) fail_msg("%s", error);
    return tid;
}

static void close_bench(Bench *bench)
{
    assert_int_equal(tfy_close(bench->loop), 0);
    tfy__world_free(bench->world);
}

static const char *const nine_lines =
    "John running\nMichael running\nTerry running\nJohn running\nMichael running\nTerry running\n"
    "Michael running\nTerry running\nTerry running\n";

static void round_robin(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    int64_t tid = start(&bench, "people");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_int_equal(tfy_task_state(bench.loop, tid), TFY_TASK_COMPLETED);
    assert_string_equal(bench.out, nine_lines);
    close_bench(&bench);
}

static void sleeping_takes_no_time(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    int64_t tid = start(&bench, "nap");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_int_equal(tfy_task_state(bench.loop, tid), TFY_TASK_COMPLETED);
    assert_string_equal(bench.out, "awake\n");
    assert_true(bench.world->wall_ms(bench.world->state) >= 1700003600000);
    close_bench(&bench);
}

static void retries_then_answers(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    tfy_inject(bench.loop, "dig", NULL, "rock");
    tfy_inject(bench.loop, "dig", NULL, "rock");
    tfy_inject(bench.loop, "dig", "12", NULL);
    int64_t tid = start(&bench, "boss");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_string_equal(tfy_task_result(bench.loop, tid), "12");
    assert_int_equal(bench.world->wall_ms(bench.world->state), 1700000003000); /* backoffs of 1 s and 2 s */
    close_bench(&bench);
}

static bool own_dig(void *state, TfyTask *task, const TfyValue *args, TfyValue *out)
{
    int *calls = state;
    if (++*calls == 1) return tfy_tool_fail(task, 3, "too hard at depth %lld", (long long)args[0].i);
    out->i = args[0].i * 6;
    return true;
}

static void the_embedding_program_performs(void **state)
{
    Bench bench = {0};
    int calls = 0;
    (void)state;
    open_bench(&bench, NULL);
    assert_int_equal(tfy_register_effect(bench.loop, "dig", own_dig, &calls), 0);
    int64_t tid = start(&bench, "boss");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_string_equal(tfy_task_result(bench.loop, tid), "42");
    assert_int_equal(calls, 2); /* the first failed and was retried */
    close_bench(&bench);
}

static void failure_reaches_the_joiner(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    for (int i = 0; i < 3; i++) tfy_inject(bench.loop, "dig", NULL, "rock");
    int64_t tid = start(&bench, "boss");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_int_equal(tfy_task_state(bench.loop, tid), TFY_TASK_FAILED);
    assert_non_null(strstr(tfy_task_error(bench.loop, tid), "TaskFailed"));
    assert_non_null(strstr(tfy_task_error(bench.loop, tid), "rock"));
    close_bench(&bench);
}

static void killed_while_asleep(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    int64_t tid = start(&bench, "nap");
    while (tfy_task_state(bench.loop, tid) != TFY_TASK_SLEEPING) tfy_step(bench.loop);
    assert_int_equal(tfy_kill(bench.loop, tid, false), 0);
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_int_equal(tfy_task_state(bench.loop, tid), TFY_TASK_CANCELLED);
    assert_string_equal(bench.out, "");
    close_bench(&bench);
}

static void a_person_answers(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    int64_t tid = start(&bench, "gate");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_int_equal(tfy_task_state(bench.loop, tid), TFY_TASK_WAITING_APPROVAL);
    assert_int_equal(tfy_approve(bench.loop, tid, "perhaps"), TFY_E_INVALID);
    assert_int_equal(tfy_approve(bench.loop, tid, "yes"), 0);
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_string_equal(tfy_task_result(bench.loop, tid), "true");
    assert_int_equal(tfy_approve(bench.loop, tid, "yes"), TFY_E_STATE);
    close_bench(&bench);
}

static void a_call_runs_out_of_time(void **state)
{
    Bench bench = {0};
    (void)state;
    open_bench(&bench, NULL);
    int64_t tid = start(&bench, "patient");
    assert_int_equal(tfy_step_until_idle(bench.loop), 0);
    assert_int_equal(tfy_task_state(bench.loop, tid), TFY_TASK_FAILED);
    assert_non_null(strstr(tfy_task_error(bench.loop, tid), "Timeout"));
    close_bench(&bench);
}

/* ---- resume and replay ---- */

static void temp_db(char path[64])
{
    strcpy(path, "/tmp/tfy-core-XXXXXX");
    assert_non_null(mkdtemp(path));
    strcat(path, "/runs.db");
}

static void remove_db(const char *path)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%.*s'", (int)(strlen(path) - 8), path);
    assert_int_equal(system(command), 0);
}

static void check_replay(const char *db, bool finished)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log;
    TfyHistory *history = NULL;
    TfyLogOptions options = {.path = db, .read_only = true};
    if (tfy__log_open(&log, &options, error) < 0 || tfy__history_read(log, "last", &history, error) < 0)
        fail_msg("%s", error);
    TfyReplayReport report;
    TfyOptions quiet = {.quiet = true};
    int code = tfy__replay(&program, history, &quiet, &report);
    if (code < 0) fail_msg("%s", report.text);
    assert_int_equal(report.divergences, 0);
    assert_int_equal(report.finished, finished);
    tfy__history_free(history);
    tfy__log_close(log, false);
}

/* Leaves the database as a killed process would: after `turns` turns, nothing is closed in an orderly way. */
static void crash_after(const char *db, const char *workflow, int turns)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Bench bench = {0};
        open_bench(&bench, db);
        if (strcmp(workflow, "boss") == 0) tfy_inject(bench.loop, "dig", NULL, "rock");
        if (strcmp(workflow, "boss") == 0) tfy_inject(bench.loop, "dig", "12", NULL);
        start(&bench, workflow);
        for (int i = 0; i < turns; i++) tfy_step(bench.loop);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void resume_matches(const char *workflow, const char *output, const char *result)
{
    for (int turns = 1; turns < 14; turns++) {
        Bench bench = {0};
        char error[TFY_ERROR_TEXT] = "";
        temp_db(bench.db);
        crash_after(bench.db, workflow, turns);
        open_bench(&bench, bench.db);
        int code = tfy__resume(bench.loop, "last", error);
        if (code == TFY_E_STATE || code == TFY_E_ABSENT) { /* it had ended, or had not become durable */
            close_bench(&bench);
            remove_db(bench.db);
            continue;
        }
        if (code < 0) fail_msg("after %d turns: %s", turns, error);
        tfy_inject(bench.loop, "dig", "12", NULL);
        tfy_inject(bench.loop, "dig", "12", NULL);
        assert_int_equal(tfy_step_until_idle(bench.loop), 0);
        assert_true(strlen(bench.out) <= strlen(output));
        assert_string_equal(bench.out,
                            output + strlen(output) - strlen(bench.out)); /* what was said is not said again */
        if (result) assert_non_null(strstr(result, "12"));
        close_bench(&bench);
        check_replay(bench.db, true);
        remove_db(bench.db);
    }
}

static void resume_after_any_turn(void **state)
{
    (void)state;
    resume_matches("people", nine_lines, NULL);
    resume_matches("nap", "awake\n", NULL);
    resume_matches("boss", "", "12");
    resume_matches("patient", "", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin),
        cmocka_unit_test(sleeping_takes_no_time),
        cmocka_unit_test(retries_then_answers),
        cmocka_unit_test(failure_reaches_the_joiner),
        cmocka_unit_test(the_embedding_program_performs),
        cmocka_unit_test(killed_while_asleep),
        cmocka_unit_test(a_person_answers),
        cmocka_unit_test(a_call_runs_out_of_time),
        cmocka_unit_test(resume_after_any_turn),
    };
    return cmocka_run_group_tests_name("core_sched", tests, NULL, NULL);
}

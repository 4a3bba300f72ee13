/* cli_database.c: the commands that only read a database, on one whose every byte is known: a run of two tasks
 * with a plan, a patch, a commit, an approval that waits and a step in doubt. The commands are part of `tfy`, not
 * of the library, so they are included here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "unit/cli_commands.h"
#include "cli/look/ceiling_text.c"
#include "cli/look/db.c"
#include "cli/look/source_map.c"
#include "cli/look/inspect.c"
#include "cli/look/inspect_command.c"
#include "cli/look/inspect_print.c"
#include "cli/look/inspect_tasks.c"
#include "cli/look/live.c"
#include "cli/look/output.c"
#include "cli/look/ps.c"
#include "cli/look/signal_type.c"
#include "cli/keep/export.c"
#include "cli/keep/wal_lines.c"
#include "cli/keep/saved_lines.c"

/* Nothing here asks a server. */
int tfy__ask_server(const TfyArgs *args, const char *verb)
{
    (void)args;
    fail_msg("%s asks a server", verb);
    return EXIT_BUG;
}

static const char source[] = "workflow main(goal: string) {\n"
                             "    let plan: Plan = yield make_plan(goal)\n"
                             "    let patch = yield preview(\"a.c\", plan.text)\n"
                             "    let ok = yield approve(\"keep it?\")\n"
                             "}\n"
                             "workflow side() {\n"
                             "    yield send_mail(\"x\")\n"
                             "}\n";
static const char layout[] = "{\"points\":[{\"n\":1,\"id\":\"main/make_plan\",\"line\":2,\"workflow\":\"main\"},"
                             "{\"n\":2,\"id\":\"main/preview\",\"line\":3,\"workflow\":\"main\"},"
                             "{\"n\":3,\"id\":\"main/approve\",\"line\":4,\"workflow\":\"main\"},"
                             "{\"n\":4,\"id\":\"side/send_mail\",\"line\":7,\"workflow\":\"side\"}]}";

static char directory[64] = "/tmp/tfy-cli-XXXXXX";

static int64_t clock_ms(void *state)
{
    int64_t *now = state;
    return *now += 1000;
}

static void append(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point, const char *payload)
{
    assert_true(tfy__log_append(log, task, type, step, point, payload, strlen(payload)) > 0);
}

static void write_run(TfyLog *log)
{
    TfyLogRun run = {
        .uuid = {0x01, 0x9a, 0xa0, 0x11, 0x22, 0x33, 0x74, 0x55, 0x86, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd},
        .program = tfy__log_program(log, (const uint8_t[16]){1}, "0.1.0", source, layout),
        .started_ms = 1767225600000};
    TfyLogTask root = {.tid = tfy__log_next_tid(log, NULL), .run = &run, .path = "1"}, side = {.run = &run, .path = "1.1"};
    run.root = root.tid;
    tfy__log_begin_run(log, &run);
    tfy__log_add_task(log, &root);
    append(log, &root, TFY_R_INSTRUCTION_START, 0, 0,
           "{\"path\":\"1\",\"workflow\":\"main\",\"args\":{\"goal\":\"better\"}}");
    append(log, &root, TFY_R_LLM_PLAN, 1, 1,
           "{\"tool\":\"make_plan\",\"model\":\"m\",\"answer\":\"{\\\"text\\\":\\\"int a;\\\"}\"}");
    append(log, &root, TFY_R_TASK_SPAWN, 2, 1, "{\"tid\":2,\"path\":\"1.1\",\"workflow\":\"side\",\"args\":{}}");
    side.tid = tfy__log_next_tid(log, NULL);
    side.born = tfy__log_last_lsn(log);
    tfy__log_add_task(log, &side);
    append(log, &side, TFY_R_STEP_START, 1, 4,
           "{\"tool\":\"send_mail\",\"args\":{\"to\":\"x\"},\"attempt\":1,\"key\":\"r/1.1/1\"}");
    append(log, &root, TFY_R_COMMIT, 3, 2, "{\"tool\":\"commit\",\"value\":\"abc123\",\"message\":\"first\"}");
    append(log, &root, TFY_R_PATCH_PREVIEW, 4, 2,
           "{\"tool\":\"preview\",\"value\":{\"path\":\"a.c\",\"diff\":\"-int b;\\n+int a;\\n\"}}");
    append(log, &root, TFY_R_OUTPUT, 5, 2, "{\"to\":\"stdout\",\"text\":\"hello \\u00fc\"}");
    append(log, &root, TFY_R_OUTPUT, 6, 2, "{\"to\":\"log\",\"level\":\"warn\",\"text\":\"careful\"}");
    append(log, &root, TFY_R_STEP_START, 7, 3,
           "{\"tool\":\"approve\",\"question\":\"keep it?\",\"id\":\"1/7\",\"type\":\"bool\",\"digest\":\"00\"}");
    append(log, &side, TFY_R_IN_DOUBT, 1, 4,
           "{\"tool\":\"send_mail\",\"key\":\"r/1.1/1\",\"why\":\"the process ended\"}");
    tfy__log_forget_task(log, &root);
    tfy__log_forget_task(log, &side);
    assert_int_equal(tfy__log_sync(log), 0);
}

static int make_database(void **state)
{
    char error[TFY_ERROR_TEXT];
    int64_t now = 1767225600123;
    TfyLog *log;
    if (!mkdtemp(directory) || chdir(directory) != 0) return -1;
    if (tfy__log_open(&log, &(TfyLogOptions){.path = ".tfy/runs.db", .wall_ms = clock_ms, .clock_state = &now},
                      error) != 0)
        return -1;
    write_run(log);
    return tfy__log_close(log, true);
}

static int remove_database(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return chdir("/") != 0 || system(command) != 0;
}

static char *read_file(const char *name)
{
    static char text[20000];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* What a command prints on stdout; it must end with `status`. */
static char *run_command(int (*run)(const TfyArgs *args), int status, int argc, char **argv)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("out", "w", stdout) || !freopen("err", "w", stderr)) _exit(99);
        unsetenv("TFY_DB");
        TfyCommand command = *command_named(argv[0]);
        command.run = run;
        const int ended = tfy__command_run(&command, argc, argv);
        fflush(NULL);
        _exit(ended);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) != status) fail_msg("ended with %d: %s", WEXITSTATUS(ended), read_file("err"));
    return read_file("out");
}
#define RUN(command, status, ...)                                                                                      \
    run_command(command, status, (int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), (char *[]){__VA_ARGS__, NULL})

#define CHILD "5a7d62c9-16f4-87f9-ab48-1bc28bf05eff"

static void test_export(void **state)
{
    assert_string_equal(RUN(tfy__cmd_wal_export, 0, "wal export", "last", "-o", "lines"),
                        "lines/019aa011-2233-7455-8677-8899aabbccdd.wal\n"
                        "lines/" CHILD ".wal\n"
                        "lines/019aa011-2233-7455-8677-8899aabbccdd.run\n");
    assert_string_equal(read_file("lines/" CHILD ".wal"),
                        "{\"v\":1,\"ts\":\"2026-01-01T00:00:04.123Z\",\"type\":\"StepStart\",\"task_id\":\"" CHILD "\","
                        "\"lsn\":4,\"step\":1,\"point\":4,\"tool\":\"send_mail\",\"args\":{\"to\":\"x\"},\"attempt\":1,"
                        "\"key\":\"r/1.1/1\"}\n"
                        "{\"v\":1,\"ts\":\"2026-01-01T00:00:10.123Z\",\"type\":\"InDoubt\",\"task_id\":\"" CHILD "\","
                        "\"lsn\":10,\"step\":1,\"point\":4,\"tool\":\"send_mail\",\"key\":\"r/1.1/1\","
                        "\"why\":\"the process ended\"}\n");
}

static void test_inspect(void **state)
{
    assert_string_equal(RUN(tfy__cmd_inspect, 0, "inspect", "last"),
                        "run        019aa011-2233-7455-8677-8899aabbccdd\n"
                        "workflow   main\n"
                        "arguments  {\"goal\":\"better\"}\n"
                        "state      stopped, 10 records, 1 step in doubt\n"
                        "started    2026-01-01T00:00:00.000Z\n"
                        "plan       {\n"
                        "             \"text\": \"int a;\"\n"
                        "           }\n"
                        "confirmed  task 1, step 4: preview (line 3)\n"
                        "commit     abc123 first\n"
                        "patch      a.c\n"
                        "           -int b;\n"
                        "           +int a;\n"
                        "tasks\n"
                        "  1 main: unfinished, step 7\n"
                        "    line 4: let ok = yield approve(\"keep it?\")\n"
                        "    waits for an answer: keep it?\n"
                        "  1.1 side: unfinished, step 1\n"
                        "    line 7: yield send_mail(\"x\")\n"
                        "    in doubt: send_mail may or may not have happened (key r/1.1/1)\n"
                        "next\n"
                        "  tfy approve 019aa011-2233-7455-8677-8899aabbccdd --task 1 --yes\n"
                        "  tfy deny 019aa011-2233-7455-8677-8899aabbccdd --task 1\n"
                        "  tfy resolve 019aa011-2233-7455-8677-8899aabbccdd 1 --task 1.1 --done JSON\n"
                        "  tfy resolve 019aa011-2233-7455-8677-8899aabbccdd 1 --task 1.1 --retry\n"
                        "  tfy resolve 019aa011-2233-7455-8677-8899aabbccdd 1 --task 1.1 --fail\n"
                        "  tfy resume 019aa011-2233-7455-8677-8899aabbccdd\n");
    json_t *report = json_loads(RUN(tfy__cmd_inspect, 0, "inspect", "019aa011", "--json"), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(report, "tasks")), 2);
    assert_string_equal(json_string_value(json_object_get(json_object_get(report, "commit"), "sha")), "abc123");
    json_decref(report);
    RUN(tfy__cmd_inspect, EXIT_MISSING, "inspect", "nosuch");
}

static void test_output(void **state)
{
    assert_string_equal(RUN(tfy__cmd_output, 0, "output", "last"), "hello ü\n");
    assert_string_equal(read_file("err"), "warn: careful\n");
    assert_string_equal(RUN(tfy__cmd_output, 0, "output", "1", "--json"),
                        "{\"ts\":\"2026-01-01T00:00:07.123Z\",\"task\":\"1\",\"to\":\"stdout\",\"text\":\"hello ü\"}\n"
                        "{\"ts\":\"2026-01-01T00:00:08.123Z\",\"task\":\"1\",\"to\":\"log\",\"level\":\"warn\","
                        "\"text\":\"careful\"}\n");
    assert_string_equal(RUN(tfy__cmd_inspect, 0, "inspect", "--output"), "hello ü\n");
}

static void test_ps(void **state)
{
    assert_string_equal(
        RUN(tfy__cmd_ps, 0, "ps", "--json"),
        "[\n  {\"id\":1,\"run\":\"019aa011-2233-7455-8677-8899aabbccdd\",\"workflow\":\"main\",\"state\":\"doubt\","
        "\"started\":\"2026-01-01T00:00:00.000Z\","
        "\"program\":\"010000000000\",\"args\":{\"goal\":\"better\"}}\n]\n");
    assert_non_null(strstr(RUN(tfy__cmd_ps, 0, "ps"), "019aa011-2233-7455-8677-8899aabbccdd  doubt"));
    RUN(tfy__cmd_ps, EXIT_MISSING, "ps", "--db", "nosuch.db");
}

/* Columns of one row, separated by |. */
static int join_columns(void *state, int count, char **values, char **columns)
{
    char *text = state;
    for (int i = 0; i < count; i++) sprintf(text + strlen(text), "%s%s", i ? "|" : "", values[i] ? values[i] : "");
    strcat(text, "\n");
    return 0;
}

static void test_history_view(void **state)
{
    char rows[4000] = "";
    sqlite3 *db;
    assert_int_equal(sqlite3_open(".tfy/runs.db", &db), SQLITE_OK);
    const char *text = "SELECT lsn,time,substr(run,1,8),task,workflow,step,line,type,what,detail FROM history WHERE "
                       "lsn IN (1,2,4,6,9)";
    assert_int_equal(sqlite3_exec(db, text, join_columns, rows, NULL), SQLITE_OK);
    assert_string_equal(rows,
                        "1|2026-01-01T00:00:01.123Z|019aa011|1|main|||InstructionStart|main|{\"goal\":\"better\"}\n"
                        "2|2026-01-01T00:00:02.123Z|019aa011|1|main|1|2|LLMPlan|make_plan|{\"text\":\"int a;\"}\n"
                        "4|2026-01-01T00:00:04.123Z|019aa011|1.1|side|1|7|StepStart|send_mail|{\"to\":\"x\"}\n"
                        "6|2026-01-01T00:00:06.123Z|019aa011|1|main|4|3|PatchPreview|preview|-int b; +int a; \n"
                        "9|2026-01-01T00:00:09.123Z|019aa011|1|main|7|4|StepStart|approve|keep it?\n");
    sqlite3_close(db);
}

/* The view spells the types out; it must say what the rest of the program says. */
static void test_type_names(void **state)
{
    sqlite3 *db;
    char sql[8000] = "", name[64];
    assert_int_equal(sqlite3_open(".tfy/runs.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT sql FROM sqlite_schema WHERE name='history'", join_columns, sql, NULL),
                     SQLITE_OK);
    for (int type = 1; type < TFY_R_COUNT; type++) {
        if (!tfy__record_type_known(type)) continue;
        snprintf(name, sizeof name, "WHEN %d THEN '%s'", type, tfy__record_type_name(type));
        if (!strstr(sql, name)) fail_msg("the view lacks %s", name);
        assert_int_equal(tfy__record_type_of(tfy__record_type_name(type)), type);
    }
    assert_string_equal(tfy__record_type_name(TFY_R_COUNT), "?");
    assert_int_equal(tfy__record_type_of("?"), 0);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export), cmocka_unit_test(test_inspect),      cmocka_unit_test(test_output),
        cmocka_unit_test(test_ps),     cmocka_unit_test(test_history_view), cmocka_unit_test(test_type_names),
    };
    return cmocka_run_group_tests(tests, make_database, remove_database);
}

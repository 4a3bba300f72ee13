/* llm_cassette.c: recorded sessions: what is found, counted, refused, and how a replayed run goes on in the middle of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/llm.h"
#include "wal/rows/payload.h"

#include "../llm/fake_loop.h"
#include "../llm/server.h"
#include "../llm/sites.h"

#include <sys/stat.h>
#include <sys/wait.h>

/* Lines as people write them: no digest. */
#define HELLO                                                                                                          \
    "{\"request\": {\"model\": \"default\", \"messages\": [{\"role\": \"user\", \"content\": \"hello\"}]}, "           \
    "\"answer\": \"first\"}\n"
#define HELLO_AGAIN                                                                                                    \
    "{\"request\": {\"messages\": [{\"content\": \"hello\", \"role\": \"user\"}], \"model\": \"default\"}, "           \
    "\"occurrence\": 2, \"answer\": \"second\"}\n"

static char path[] = "/tmp/tfy_cassette_XXXXXX";
static char option[64];

static int make_file(void **state)
{
    strcpy(path, "/tmp/tfy_cassette_XXXXXX");
    close(mkstemp(path));
    snprintf(option, sizeof option, "cassette:%s", path);
    unsetenv("TFY_LLM_URL");
    return 0;
}

static int remove_file(void **state)
{
    unlink(path);
    return 0;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static char *read_file(void)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;
    if (getdelim(&text, &cap, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

static void ask(FakeCall *fake, TfyLoop *loop, const TfySite *site, const char *text)
{
    fake_init(fake, loop, site, (const char *const[]){text, NULL});
    tfy__perform_llm.start(&fake->call);
    fake_wait(loop, fake, 5000);
    assert_int_equal(fake->ended, 1);
    assert_null(fake->call.state);
}

static void expect_answer(TfyLoop *loop, const char *text, const char *value)
{
    FakeCall fake;
    ask(&fake, loop, &site_llm, text);
    if (!fake.ok) fail_msg("%s", fake.message);
    assert_string_equal(fake.value, value);
    assert_int_equal(fake_free(&fake), 0);
}

static void expect_words(TfyLoop *loop, const char *text, const char *words)
{
    FakeCall fake;
    ask(&fake, loop, &site_llm, text);
    assert_ptr_equal(fake.error, &tfy_type_tool_error);
    if (!strstr(fake.message, words)) fail_msg("'%s' has no '%s'", fake.message, words);
    assert_int_equal(fake_free(&fake), 0);
}

/* ---- playing ---- */

static void occurrences_are_counted_per_run(void **state)
{
    TfyLoop loop;
    write_file(HELLO "\n" HELLO_AGAIN);
    fake_open(&loop, option);
    expect_answer(&loop, "hello", "\"first\"");
    expect_answer(&loop, "hello", "\"second\"");
    expect_words(&loop, "hello", "occurrence 3");
    expect_words(&loop, "hello", "occurrence 3"); /* a miss uses nothing up */
    loop.uuid[35] = '2';
    expect_answer(&loop, "hello", "\"first\"");
    fake_close(&loop);
}

static void a_miss_says_what_to_do(void **state)
{
    TfyLoop loop;
    write_file(HELLO);
    fake_open(&loop, option);
    expect_words(&loop, "another\nquestion", "begins \"another question\"");
    expect_words(&loop, "another", "--llm record:/tmp/tfy_cassette_");
    expect_words(&loop, "another", "digest ");
    fake_close(&loop);
}

static void a_later_line_replaces(void **state)
{
    TfyLoop loop;
    write_file(HELLO "{\"request\": {\"model\": \"default\", \"messages\": [{\"role\": \"user\", \"content\": "
                     "\"hello\"}]}, \"answer\": \"better\"}");
    fake_open(&loop, option);
    expect_answer(&loop, "hello", "\"better\"");
    fake_close(&loop);
}

static void many_lines_are_found(void **state)
{
    char error[TFY_ERROR_TEXT], line[200];
    TfyCassette *cassette = tfy__cassette_new();
    for (int i = 1; i <= 1000; i++) {
        snprintf(line, sizeof line, "{\"request\": {}, \"occurrence\": %d, \"answer\": \"%d\"}", i, i);
        assert_true(tfy__cassette_read(cassette, line, strlen(line), "x", error));
    }
    json_t *request = json_object();
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(atoi(tfy__cassette_find(cassette, tfy__llm_digest(request), i)->answer), i);
    assert_null(tfy__cassette_find(cassette, tfy__llm_digest(request), 1001));
    json_decref(request);
    tfy__cassette_free(cassette);
}

/* ---- refusing ---- */

static void expect_refusal(const char *text, int line, const char *words)
{
    TfyLoop loop;
    char error[TFY_ERROR_TEXT], place[64];
    write_file(text);
    fake_open(&loop, option);
    assert_int_equal(tfy__llm_prepare(&loop, error), TFY_E_DATA);
    snprintf(place, sizeof place, "%s:%d: ", path, line);
    assert_memory_equal(error, place, strlen(place));
    if (!strstr(error, words)) fail_msg("'%s' has no '%s'", error, words);
    expect_words(&loop, "hello", words); /* nobody looked: the first call says it */
    fake_close(&loop);
}

static void malformed_lines(void **state)
{
    expect_refusal(HELLO "{\"request\"", 2, "not a line of a recorded session");
    expect_refusal("[]", 1, "expected a JSON object");
    expect_refusal("{\"answer\": \"a\"}", 1, "'request'");
    expect_refusal("\n\n{\"request\": {}}", 3, "'answer'");
    expect_refusal("{\"request\": {}, \"answer\": 3}", 1, "'answer'");
    expect_refusal("{\"request\": {}, \"answer\": \"a\", \"answer\": \"b\"}", 1, "duplicate");
    expect_refusal("{\"request\": {}, \"answer\": \"a\", \"occurrence\": 0}", 1, "'occurrence'");
    expect_refusal("{\"request\": {}, \"answer\": \"a\", \"digest\": \"xyz\"}", 1, "16 hexadecimal digits");
    expect_refusal("{\"request\": {}, \"answer\": \"a\", \"digest\": \"0123456789abcdef\"}", 1, "does not match");
    expect_refusal("{\"request\": {}, \"answer\": \"a\", \"model\": 1}", 1, "'model'");
    expect_refusal("{\"request\": {}, \"answer\": \"a\", \"prompt_tokens\": \"1\"}", 1, "token counts");
}

static void what_cannot_be_opened(void **state)
{
    TfyLoop loop;
    char error[TFY_ERROR_TEXT];
    static const struct {
        const char *option;
        int code;
    } cases[] = {{"cassette:/nonexistent/file", TFY_E_ABSENT},
                 {"cassette:/tmp", TFY_E_DATA},
                 {"cassette:/dev/zero", TFY_E_DATA},
                 {"tape:x", TFY_E_INVALID}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_open(&loop, cases[i].option);
        assert_int_equal(tfy__llm_prepare(&loop, error), cases[i].code);
        assert_true(strlen(error) > 10);
        fake_close(&loop);
    }
}

/* ---- recording ---- */

static pid_t start_server(const char *script)
{
    Server server;
    char url[64];
    assert_true(server_open(&server, 0));
    pid_t pid = fork();
    if (pid == 0) {
        if (server_read(&server, script)) server_run(&server);
        _exit(1);
    }
    close(server.fd);
    json_decref(server.lines);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", server.port);
    setenv("TFY_LLM_URL", url, 1);
    setenv("TFY_LLM_MODEL", "some-model", 1);
    setenv("no_proxy", "*", 1);
    return pid;
}

static void stop_server(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unsetenv("TFY_LLM_URL");
    unsetenv("TFY_LLM_MODEL");
}

static void what_was_recorded_plays(void **state)
{
    TfyLoop loop;
    char record[64];
    pid_t server = start_server(
        "{\"answer\": \"one \\u0000 \\u20ac\"}\n{\"fault\": \"500\", \"times\": 3}\n{\"answer\": \"two\"}");
    snprintf(record, sizeof record, "record:%s", path);
    fake_open(&loop, record);
    tfy__llm_limits(&loop)->wait_ms = 1;
    expect_answer(&loop, "hello", "\"one \\u0000 \xe2\x82\xac\"");
    expect_words(&loop, "hello", "HTTP 500"); /* a failure is no answer: nothing is recorded, nothing counted */
    expect_answer(&loop, "hello", "\"two\"");
    fake_close(&loop);
    stop_server(server);

    char *text = read_file();
    assert_non_null(strstr(text, "\"occurrence\":2,"));
    assert_non_null(strstr(text, "\"model\":\"default\""));
    assert_null(strstr(text, "some-model"));
    free(text);
    fake_open(&loop, option);
    expect_answer(&loop, "hello", "\"one \\u0000 \xe2\x82\xac\"");
    expect_answer(&loop, "hello", "\"two\"");
    fake_close(&loop);
}

static void a_torn_line_is_cut_off_when_recording(void **state)
{
    TfyLoop loop;
    char record[64], error[TFY_ERROR_TEXT];
    snprintf(record, sizeof record, "record:%s", path);
    write_file(HELLO "{\"request\": {\"mod");
    fake_open(&loop, record);
    assert_int_equal(tfy__llm_prepare(&loop, error), TFY_OK);
    fake_close(&loop);
    char *text = read_file();
    assert_string_equal(text, HELLO);
    free(text);
    write_file("int main(void)\n{\n"); /* somebody's file, not a session: untouched */
    fake_open(&loop, record);
    assert_int_equal(tfy__llm_prepare(&loop, error), TFY_E_DATA);
    fake_close(&loop);
    text = read_file();
    assert_string_equal(text, "int main(void)\n{\n");
    free(text);
}

static void a_missing_last_newline_is_added(void **state)
{
    TfyLoop loop;
    char record[64], error[TFY_ERROR_TEXT];
    snprintf(record, sizeof record, "record:%s", path);
    write_file("{\"request\": {}, \"answer\": \"a\"}");
    fake_open(&loop, record);
    assert_int_equal(tfy__llm_prepare(&loop, error), TFY_OK);
    fake_close(&loop);
    char *text = read_file();
    assert_string_equal(text, "{\"request\": {}, \"answer\": \"a\"}\n");
    free(text);
}

/* ---- replay ---- */

/* The payload of an LLMPlan as the log keeps it. */
static char *payload_of(const FakeCall *fake)
{
    char *payload = NULL;
    assert_true(asprintf(&payload, "{\"tool\":\"x\",\"digest\":\"0\"%s}", fake->call.extra.data) > 0);
    return payload;
}

static bool replay(FakeCall *fake, const TfySite *site, const char *payload, TfyValue *value)
{
    TfyPayload opened;
    tfy__payload_open(&opened, &(TfyLogRecord){.payload = payload, .payload_len = (uint32_t)strlen(payload)});
    const bool ok = tfy__perform_llm.replay(&fake->task, site, &opened, value);
    tfy__payload_close(&opened);
    return ok;
}

static void a_resumed_run_goes_on_in_the_middle(void **state)
{
    TfyLoop loop;
    FakeCall fake;
    TfyValue value;
    write_file(HELLO HELLO_AGAIN);
    fake_open(&loop, option);
    ask(&fake, &loop, &site_llm, "hello");
    char *payload = payload_of(&fake);
    assert_int_equal(fake_free(&fake), 0);
    fake_close(&loop);

    fake_open(&loop, option);
    fake_init(&fake, &loop, &site_llm, (const char *const[]){"hello", NULL});
    assert_true(replay(&fake, &site_llm, payload, &value));
    assert_string_equal(bytes_of(value), "first");
    assert_int_equal(fake_free(&fake), 0);
    expect_answer(&loop, "hello", "\"second\"");
    fake_close(&loop);
    free(payload);
}

/* A misfit is replayed as the error it was, and the asking after it is the one that was recorded: same request, same digest. */
static void a_misfit_replays(void **state)
{
    TfyLoop loop;
    FakeCall fake;
    TfyValue value;
    char record[64];
    pid_t server = start_server("{\"answer\": {\"title\": 3, \"steps\": []}}\n{\"match\": \"does not fit\", "
                                "\"answer\": {\"title\": \"t\", \"steps\": []}}");
    snprintf(record, sizeof record, "record:%s", path);
    fake_open(&loop, record);
    ask(&fake, &loop, &site_plan, "goal");
    char *payload = payload_of(&fake), *message = strdup(fake.message);
    fake_again(&fake);
    tfy__perform_llm.start(&fake.call);
    fake_wait(&loop, &fake, 5000);
    assert_true(fake.ok);
    assert_int_equal(fake_free(&fake), 0);
    fake_close(&loop);
    stop_server(server);

    fake_open(&loop, option);
    fake_init(&fake, &loop, &site_plan, (const char *const[]){"goal", NULL});
    assert_false(replay(&fake, &site_plan, payload, &value));
    assert_ptr_equal(fake.task.error->type, &tfy_type_bad_value);
    assert_string_equal(bytes_of(tfy_field(fake.task.error, 0)), message);
    assert_string_equal(bytes_of(tfy_field(fake.task.error, 1)), "$.title");
    tfy_clear(&fake.task, &fake.task.error);
    fake_again(&fake);
    tfy__perform_llm.start(&fake.call);
    assert_true(fake.ok);
    assert_string_equal(fake.value, "{\"title\":\"t\",\"steps\":[]}");
    assert_int_equal(fake_free(&fake), 0);
    fake_close(&loop);
    free(payload);
    free(message);
}

int main(void)
{
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)
    const struct CMUnitTest tests[] = {
        WITH_FILE(occurrences_are_counted_per_run),
        WITH_FILE(a_miss_says_what_to_do),
        WITH_FILE(a_later_line_replaces),
        cmocka_unit_test(many_lines_are_found),
        WITH_FILE(malformed_lines),
        WITH_FILE(what_cannot_be_opened),
        WITH_FILE(what_was_recorded_plays),
        WITH_FILE(a_torn_line_is_cut_off_when_recording),
        WITH_FILE(a_missing_last_newline_is_added),
        WITH_FILE(a_resumed_run_goes_on_in_the_middle),
        WITH_FILE(a_misfit_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

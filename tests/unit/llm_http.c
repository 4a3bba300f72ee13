/* llm_http.c: models over HTTP, against a loopback server that misbehaves in every way we know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/llm.h"
#include "wal/rows/record.h"

#include "../llm/fake_loop.h"
#include "../llm/server.h"
#include "../llm/sites.h"

#include <sys/stat.h>
#include <sys/wait.h>

static const char KEY[] = "sk-secret-0123456789";

/* A server process with a script, and a loop that asks it. */
typedef struct World {
    TfyLoop loop;
    pid_t server;
    char log_path[64]; /* every request the server has read */
    FakeCall fake;
} World;

static void world_open(World *world, const char *script)
{
    Server server;
    char url[64];
    strcpy(world->log_path, "/tmp/tfy_llm_XXXXXX");
    close(mkstemp(world->log_path));
    assert_true(server_open(&server, 0));
    world->server = fork();
    assert_true(world->server >= 0);
    if (world->server == 0) {
        server.log = fopen(world->log_path, "a");
        if (server_read(&server, script)) server_run(&server);
        _exit(1);
    }
    close(server.fd);
    json_decref(server.lines);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    setenv("TFY_LLM_URL", url, 1);
    setenv("TFY_LLM_KEY", KEY, 1);
    setenv("TFY_LLM_MODEL", "local-model", 1);
    setenv("no_proxy", "*", 1);
    fake_open(&world->loop, NULL);
    tfy__llm_limits(&world->loop)->wait_ms = 10;
}

static void world_close(World *world)
{
    fake_close(&world->loop);
    kill(world->server, SIGKILL);
    waitpid(world->server, NULL, 0);
    unlink(world->log_path);
    unsetenv("TFY_LLM_KEY_FILE");
}

static char *requests(const World *world)
{
    FILE *file = fopen(world->log_path, "r");
    char *text = NULL;
    size_t cap = 0;
    if (getdelim(&text, &cap, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

/* The key may stand in nothing that is recorded or shown. */
static void assert_no_key(const FakeCall *fake)
{
    assert_null(strstr(fake->message, KEY));
    if (fake->call.extra.data) assert_null(strstr(fake->call.extra.data, KEY));
    if (fake->value) assert_null(strstr(fake->value, KEY));
}

static void wait_end(World *world, int64_t ms)
{
    fake_wait(&world->loop, &world->fake, ms);
    assert_int_equal(world->fake.ended, 1);
    assert_null(world->fake.call.state);
    assert_no_key(&world->fake);
}

static void ask(World *world, const TfySite *site, const char *text)
{
    fake_init(&world->fake, &world->loop, site, (const char *const[]){text, NULL});
    tfy__perform_llm.start(&world->fake.call);
    wait_end(world, 20000);
    assert_int_equal(world->fake.call.record_type, TFY_R_LLM_PLAN);
}

static void done(World *world)
{
    assert_int_equal(fake_free(&world->fake), 0);
}

static void expect_failure(const char *script, int64_t code, const char *words)
{
    World world;
    world_open(&world, script);
    ask(&world, &site_llm, "hello");
    assert_false(world.fake.ok);
    assert_ptr_equal(world.fake.error, &tfy_type_tool_error);
    assert_int_equal(world.fake.code, code);
    if (!strstr(world.fake.message, words)) fail_msg("'%s' has no '%s'", world.fake.message, words);
    done(&world);
    world_close(&world);
}

/* ---- good answers ---- */

static void a_plain_question(void **state)
{
    World world;
    world_open(&world, "{\"match\": \"hello\", \"answer\": \"good day\"}");
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, "\"good day\"");
    assert_true(world.fake.call.value_in_extra);
    assert_non_null(strstr(
        world.fake.call.extra.data,
        ",\"model\":\"scripted\",\"prompt_tokens\":10,\"completion_tokens\":3,\"finish_reason\":\"stop\",\"ms\":"));
    assert_non_null(strstr(world.fake.call.extra.data, ",\"occurrence\":1,\"answer\":\"good day\""));
    assert_int_equal(world.loop.activities, 1);
    char *sent = requests(&world);
    assert_non_null(strstr(sent, "POST /v1/chat/completions HTTP/1.1"));
    assert_non_null(strstr(sent, "Authorization: Bearer sk-secret-0123456789\r\n"));
    assert_non_null(strstr(sent, "\"model\":\"local-model\""));
    assert_null(strstr(sent, "response_format"));
    free(sent);
    done(&world);
    world_close(&world);
}

static void a_typed_prompt_sends_its_schema(void **state)
{
    World world;
    world_open(&world, "{\"answer\": \"```json\\n{\\\"title\\\": \\\"t\\\", \\\"steps\\\": [\\\"a\\\"]}\\n```\"}");
    ask(&world, &site_plan, "build it");
    assert_string_equal(world.fake.value, "{\"title\":\"t\",\"steps\":[\"a\"]}");
    char *sent = requests(&world);
    assert_non_null(strstr(sent, "\"response_format\""));
    assert_non_null(strstr(sent, "\"name\":\"plan\""));
    assert_non_null(strstr(sent, "You plan.\\n\\nAnswer with one JSON value"));
    free(sent);
    done(&world);
    world_close(&world);
}

static void a_misfit_is_told_to_the_model(void **state)
{
    World world;
    world_open(&world, "{\"answer\": {\"title\": 3, \"steps\": []}}\n{\"match\": \"That answer does not fit\", "
                       "\"answer\": {\"title\": \"t\", \"steps\": []}}\n"
                       "{\"answer\": {\"title\": \"fresh\", \"steps\": []}}");
    ask(&world, &site_plan, "build it");
    assert_ptr_equal(world.fake.error, &tfy_type_bad_value);
    assert_string_equal(world.fake.at, "$.title");
    assert_non_null(strstr(world.fake.call.extra.data, "\"answer\":\"{\\\"title\\\":3"));
    fake_again(&world.fake);
    tfy__perform_llm.start(&world.fake.call);
    wait_end(&world, 5000);
    assert_true(world.fake.ok);
    char *sent = requests(&world);
    assert_non_null(strstr(sent, "{\"content\":\"{\\\"title\\\":3,\\\"steps\\\":[]}\",\"role\":\"assistant\"}"));
    free(sent);
    fake_again(&world.fake); /* after a success nothing is remembered */
    tfy__perform_llm.start(&world.fake.call);
    wait_end(&world, 5000);
    assert_string_equal(world.fake.value, "{\"title\":\"fresh\",\"steps\":[]}");
    done(&world);
    world_close(&world);
}

/* An answer of a mebibyte, sent in the way the fault names. */
static void send_megabyte(const char *fault)
{
    size_t len = 1 << 20;
    char *script = malloc(len + 64);
    World world;
    size_t head = (size_t)sprintf(script, "{\"fault\": \"%s\", \"answer\": \"", fault);
    memset(script + head, 'x', len);
    strcpy(script + head + len, "\"}");
    world_open(&world, script);
    ask(&world, &site_llm, "hello");
    if (!world.fake.ok) fail_msg("%s", world.fake.message);
    assert_int_equal(strlen(world.fake.value), len + 2);
    free(script);
    done(&world);
    world_close(&world);
}

static void a_megabyte_in_single_bytes(void **state)
{
    send_megabyte("drip");
}

/* All of it is there at once and nothing comes after it: whoever stops reading before the end gets no further edge. */
static void a_megabyte_in_one_piece(void **state)
{
    send_megabyte("linger");
}

static void many_at_once(void **state)
{
    World world;
    static FakeCall fakes[40];
    world_open(&world, "{\"answer\": \"yes\", \"times\": 40}");
    for (int i = 0; i < 40; i++) {
        fake_init(&fakes[i], &world.loop, &site_llm, (const char *const[]){"hello", NULL});
        tfy__perform_llm.start(&fakes[i].call);
    }
    for (int i = 0; i < 40; i++) {
        fake_wait(&world.loop, &fakes[i], 10000);
        assert_int_equal(fakes[i].ended, 1);
        assert_true(fakes[i].ok);
    }
    for (int i = 0; i < 40; i++) assert_int_equal(fake_free(&fakes[i]), 0);
    world_close(&world);
}

/* ---- faults ---- */

static void retry_after_is_honoured(void **state)
{
    World world;
    int64_t from = mono_ns();
    world_open(&world, "{\"fault\": \"429\", \"retry_after\": 1}\n{\"fault\": \"503\"}\n{\"answer\": \"at last\"}");
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, "\"at last\"");
    assert_true(mono_ns() - from >= INT64_C(1000000000));
    done(&world);
    world_close(&world);
}

/* Headers of a 429, and how long the next request then waits, in ms. */
static void every_form_of_a_wait(void **state)
{
    char past[64], soon[64], date[40];
    const time_t then = time(NULL) + 3;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&then));
    snprintf(soon, sizeof soon, "Retry-After: %s", date);
    strcpy(past, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT");
    const struct {
        const char *headers;
        int64_t least, most;
    } cases[] = {{soon, 1000, 4500}, /* first: it is a time of day */
                 {"retry-after-ms: 700", 700, 1900},
                 {"retry-after-ms: 700\\r\\nRetry-After: 50", 700, 1900},
                 {"retry-after-ms: x\\r\\nRetry-After: 1", 1000, 2200},
                 {"Retry-After: 0", 0, 500},
                 {past, 0, 500},
                 {"Retry-After: soon", 0, 500},
                 {"Retry-After: -7", 0, 500},
                 {"Retry-After: 99999999999999999999", 0, 500},
                 {"retry-after-ms: nan", 0, 500},
                 {"retry-after-ms: 0x10", 0, 500}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World world;
        char script[256];
        snprintf(script, sizeof script, "{\"fault\": \"429\", \"headers\": \"%s\"}\n{\"answer\": \"at last\"}",
                 cases[i].headers);
        world_open(&world, script);
        const int64_t from = mono_ns();
        ask(&world, &site_llm, "hello");
        const int64_t took = (mono_ns() - from) / 1000000;
        assert_string_equal(world.fake.value, "\"at last\"");
        if (took < cases[i].least || took > cases[i].most)
            fail_msg("'%s' waited %lld ms", cases[i].headers, (long long)took);
        done(&world);
        world_close(&world);
    }
}

/* Statuses that say nothing against the request, and one that does. */
static void busy_endpoints_are_tried_again(void **state)
{
    static const char *const busy[] = {"408", "429", "500", "502", "503", "529"};
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        World world;
        char script[160];
        snprintf(script, sizeof script,
                 "{\"fault\": \"%s\", \"headers\": \"Retry-After: 0\", \"times\": 2}\n{\"answer\": \"at last\"}",
                 busy[i]);
        world_open(&world, script);
        ask(&world, &site_llm, "hello");
        assert_string_equal(world.fake.value, "\"at last\"");
        assert_non_null(strstr(world.fake.call.extra.data, "\"tries\":3"));
        done(&world);
        world_close(&world);
    }
    expect_failure("{\"fault\": \"409\"}\n{\"answer\": \"too late\"}", 409, "answered HTTP 409: scripted refusal");
}

/* Nobody else can be asked, so the step waits, and is started again; as often as if the waits were short. */
static void a_long_wait_is_the_steps(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"429\", \"retry_after\": 86400, \"times\": 9}");
    tfy__llm_limits(&world.loop)->wait_max_ms = 20;
    fake_init(&world.fake, &world.loop, &site_llm, (const char *const[]){"hello", NULL});
    for (uint32_t tries = 1; tries < 3; tries++) {
        char sent[60];
        snprintf(sent, sizeof sent, "HTTP 429, asked again in 86400.0 s (%u of 3 requests sent)", tries);
        world.fake.waits_ms = 0;
        tfy__perform_llm.start(&world.fake.call);
        fake_wait(&world.loop, &world.fake, 500);
        assert_int_equal(world.fake.ended, 0);
        assert_int_equal(world.fake.waits_ms, 86400000);
        assert_int_equal(world.fake.call.tries, tries);
        assert_null(world.fake.call.state);
        assert_non_null(strstr(world.loop.activity, sent));
    }
    tfy__perform_llm.start(&world.fake.call);
    fake_wait(&world.loop, &world.fake, 500);
    assert_int_equal(world.fake.code, 429);
    assert_non_null(strstr(world.fake.message, "answered HTTP 429 repeatedly: scripted refusal"));
    done(&world);
    world_close(&world);
}

static void broken_connections_are_tried_again(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"silent\"}\n{\"fault\": \"truncate\", \"answer\": \"0123456789\"}\n"
                       "{\"answer\": \"at last\"}");
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, "\"at last\"");
    assert_non_null(strstr(world.fake.call.extra.data, "\"tries\":3"));
    assert_non_null(strstr(world.loop.activity, "no connection, asked again in"));
    done(&world);
    world_close(&world);
}

static void refusals(void **state)
{
    expect_failure("{\"fault\": \"500\", \"times\": 9}", 500, "HTTP 500 repeatedly: scripted refusal");
    expect_failure("{\"fault\": \"302\"}", 302, "redirect");
    expect_failure("{\"match\": \"nothing like it\"}", 404, "no answer left");
}

static void broken_answers(void **state)
{
    expect_failure("{\"fault\": \"truncate\", \"answer\": \"0123456789\", \"times\": 3}", ECONNRESET,
                   "in the middle of its answer");
    expect_failure("{\"fault\": \"silent\", \"times\": 3}", ECONNRESET, "closed the connection");
    expect_failure("{\"fault\": \"invalid\"}", EBADMSG, "not JSON");
    expect_failure("{\"fault\": \"empty\"}", EBADMSG, "choices[0].message.content");
    expect_failure("{\"fault\": \"large\"}", EFBIG, "longer than 8388608 bytes");
}

/* Each end that is not an answer is an error of its own, and says what to do. */
static void answers_that_are_none(void **state)
{
    expect_failure("{\"answer\": \"once upon a\", \"finish_reason\": \"length\"}", EMSGSIZE,
                   "cut off after 3 tokens (finish_reason length); ask for a shorter one");
    expect_failure("{\"message\": {\"content\": null}, \"finish_reason\": \"length\"}", EMSGSIZE, "cut off");
    expect_failure("{\"answer\": \"no\", \"finish_reason\": \"content_filter\"}", EACCES,
                   "a content filter of the endpoint stopped");
    expect_failure("{\"message\": {\"content\": null, \"refusal\": \"I will not\"}}", EPERM,
                   "the model refused: I will not; ask in another way");
    expect_failure("{\"message\": {\"content\": [{\"type\": \"refusal\", \"refusal\": \"Never\"}]}}", EPERM,
                   "the model refused: Never");
    expect_failure("{\"message\": {\"content\": null, \"tool_calls\": []}}", EBADMSG,
                   "returned no text (finish_reason stop)");
}

/* The record of such an end keeps what the model said, and its count. */
static void a_cut_answer_is_recorded(void **state)
{
    World world;
    world_open(&world, "{\"answer\": \"once upon a\", \"finish_reason\": \"length\"}\n{\"answer\": \"now\"}");
    ask(&world, &site_llm, "hello");
    assert_false(world.fake.call.value_in_extra);
    assert_non_null(strstr(world.fake.call.extra.data, "\"occurrence\":1,\"answer\":\"once upon a\""));
    done(&world);
    ask(&world, &site_llm, "hello");
    assert_non_null(strstr(world.fake.call.extra.data, "\"occurrence\":2"));
    done(&world);
    world_close(&world);
}

static void expect_answer(const char *script, const char *value)
{
    World world;
    world_open(&world, script);
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, value);
    done(&world);
    world_close(&world);
}

static void other_forms_of_answers(void **state)
{
    expect_answer(
        "{\"message\": {\"content\": [{\"type\": \"text\", \"text\": \"good \"}, {\"type\": \"text\", \"text\": "
        "\"day\"}]}}",
        "\"good day\"");
    expect_answer("{\"answer\": \"\\n<think>they say hello,\\nso</think>\\n\\ngood day\"}", "\"good day\"");
    expect_answer("{\"answer\": \"<think>never ends\"}", "\"<think>never ends\"");
    expect_answer("{\"answer\": \"no <think>x</think>\"}", "\"no <think>x</think>\"");
}

static void repeats_are_recorded(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"429\"}\n{\"fault\": \"503\"}\n{\"answer\": \"at last\"}\n{\"fault\": \"500\", "
                       "\"times\": 3}");
    ask(&world, &site_llm, "hello");
    assert_non_null(strstr(world.fake.call.extra.data, "\"tries\":3"));
    assert_int_equal(world.loop.activities, 3); /* two repeats and the tokens */
    done(&world);
    ask(&world, &site_llm, "hello");
    assert_int_equal(world.fake.code, 500);
    assert_non_null(strstr(world.fake.call.extra.data, "\"tries\":3"));
    done(&world);
    world_close(&world);
}

static void a_hang_times_out(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"hang\"}\n{\"answer\": \"next\"}");
    tfy__llm_limits(&world.loop)->total_ms = 200;
    ask(&world, &site_llm, "hello");
    assert_int_equal(world.fake.code, ETIMEDOUT);
    done(&world);
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, "\"next\"");
    done(&world);
    world_close(&world);
}

static void an_abort_in_flight_ends_silently(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"hang\"}\n{\"fault\": \"429\", \"retry_after\": 20}");
    for (int round = 0; round < 2; round++) { /* first while the server is silent, then between two tries */
        fake_init(&world.fake, &world.loop, &site_llm, (const char *const[]){"hello", NULL});
        tfy__perform_llm.start(&world.fake.call);
        fake_wait(&world.loop, &world.fake, 300);
        assert_int_equal(world.fake.ended, 0);
        tfy__perform_llm.abort(&world.fake.call);
        fake_wait(&world.loop, &world.fake, 50);
        assert_int_equal(world.fake.ended, 0);
        assert_null(world.fake.call.state);
        done(&world);
    }
    world_close(&world);
}

static void nobody_listens(void **state)
{
    World world;
    world_open(&world, "{}");
    setenv("TFY_LLM_URL", "http://127.0.0.1:1/v1", 1);
    ask(&world, &site_llm, "hello");
    assert_int_equal(world.fake.code, ECONNREFUSED);
    assert_non_null(strstr(world.fake.message, "http://127.0.0.1:1/v1/chat/completions"));
    done(&world);
    world_close(&world);
}

/* ---- streams ---- */

/* What people saw begins and ends so. */
static void assert_said(const World *world, const char *begin, const char *end)
{
    const char *said = world->loop.said.data ? world->loop.said.data : "";
    const size_t len = strlen(said), tail = strlen(end);
    if (strncmp(said, begin, strlen(begin)) != 0 || len < tail || strcmp(said + len - tail, end) != 0)
        fail_msg("'%s' is not '%s…%s'", said, begin, end);
}

static void expect_stream(const char *script, const char *begin, const char *end, const char *value)
{
    World world;
    world_open(&world, script);
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.ok ? world.fake.value : world.fake.message, value);
    assert_said(&world, begin, end);
    done(&world);
    world_close(&world);
}

/* The same answer in pieces and in one piece leaves the same record. */
static void a_stream_is_recorded_as_an_answer(void **state)
{
    World world;
    char *extra[2];
    world_open(&world, "{\"answer\": \"good d\u00e4y\"}\n{\"answer\": \"good d\u00e4y\", \"stream\": 3}");
    for (int i = 0; i < 2; i++) {
        ask(&world, &site_llm, "hello");
        assert_string_equal(world.fake.value, "\"good d\u00e4y\"");
        char *ms = strstr(world.fake.call.extra.data, "\"ms\":"), *digest = strstr(ms, ",\"attempt\"");
        assert_int_equal(asprintf(&extra[i], "%.*s%s", (int)(ms - world.fake.call.extra.data),
                                  world.fake.call.extra.data, digest) > 0,
                         true);
        char *occurrence = strstr(extra[i], "\"occurrence\":");
        occurrence[strlen("\"occurrence\":")] = '-';
        done(&world);
    }
    assert_string_equal(extra[0], extra[1]);
    assert_non_null(strstr(extra[1], "\"prompt_tokens\":10,\"completion_tokens\":3,\"finish_reason\":\"stop\""));
    char *sent = requests(&world);
    assert_non_null(strstr(sent, "\"stream\":true,\"stream_options\":{\"include_usage\":true}"));
    free(sent);
    free(extra[0]);
    free(extra[1]);
    world_close(&world);
}

/* The first piece is seen at once, and what follows in one until 0.1 s have passed. */
static void people_see_it_come(void **state)
{
    expect_stream("{\"answer\": \"uvwxyqUVW\", \"stream\": 3}", "uvw|", "UVW.", "\"uvwxyqUVW\"");
    expect_stream("{\"answer\": \"uvwxyqUVW\", \"stream\": 3, \"delay\": 300}", "uvw|xyq|", "UVW|", "\"uvwxyqUVW\"");
    expect_stream("{\"answer\": \"\", \"stream\": 3}", "", "", "\"\"");
}

static void a_secret_in_pieces_is_masked(void **state)
{
    for (int len = 1; len < 20; len++) {
        World world;
        char script[160];
        snprintf(script, sizeof script, "{\"answer\": \"your key is %s, is it? sk\", \"stream\": %d, \"delay\": %d}",
                 KEY, len, len == 7 ? 110 : 0);
        world_open(&world, script);
        ask(&world, &site_llm, "hello");
        char *out = world.loop.said.data, *to = out; /* without the marks between pieces */
        for (const char *from = out; *from; from++)
            if (*from != '|' && *from != '.') *to++ = *from;
        *to = '\0';
        assert_string_equal(out, "your key is [key], is it? sk");
        assert_string_equal(world.fake.value, "\"your key is [key], is it? sk\"");
        done(&world);
        world_close(&world);
    }
}

static void a_lost_stream_is_void_and_asked_for_again(void **state)
{
    static const char *const faults[] = {"cut", "stop", "garbage", "flood", "error"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "{\"answer\": \"0123456789\", \"stream\": 2, \"fault\": \"%s\"}\n{\"answer\": \"at last\", "
                 "\"stream\": 99}",
                 faults[i]);
        expect_stream(script, "01|", "!at last|", "\"at last\"");
    }
}

static void streams_that_are_lost_for_good(void **state)
{
    const char *always = ", \"answer\": \"0123456789\", \"stream\": 2, \"times\": 3}";
    const struct {
        const char *fault;
        int64_t code;
        const char *words;
    } cases[] = {{"cut", ECONNRESET, "in the middle of its answer"},
                 {"stop", ECONNRESET, "broke: it ended before the answer did"},
                 {"garbage", ECONNRESET, "broke: an event is not a JSON object"},
                 {"flood", ECONNRESET, "broke: an event is too long"},
                 {"error", 503, "gave up in the middle of its answer: scripted end"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[256];
        snprintf(script, sizeof script, "{\"fault\": \"%s\"%s", cases[i].fault, always);
        expect_failure(script, cases[i].code, cases[i].words);
    }
}

static void a_stream_may_take_long_but_not_be_silent(void **state)
{
    World world;
    world_open(&world, "{\"answer\": \"0123456789\", \"stream\": 1, \"delay\": 60}\n"
                       "{\"answer\": \"0123456789\", \"stream\": 1, \"fault\": \"mute\"}");
    tfy__llm_limits(&world.loop)->total_ms = 400;
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, "\"0123456789\"");
    done(&world);
    tfy__buffer_reset(&world.loop.said);
    const int64_t from = mono_ns();
    ask(&world, &site_llm, "hello");
    assert_int_equal(world.fake.code, ETIMEDOUT);
    assert_in_range((mono_ns() - from) / 1000000, 390, 3000);
    assert_int_equal(world.loop.said.data[world.loop.said.len - 1], '!');
    done(&world);
    world_close(&world);
}

/* A connection that stays open behind a complete answer keeps nobody. */
static void nobody_waits_behind_the_end(void **state)
{
    const int64_t from = mono_ns();
    expect_stream("{\"answer\": \"good day\", \"stream\": 99, \"fault\": \"linger\"}", "good day|", "", "\"good day\"");
    assert_in_range((mono_ns() - from) / 1000000, 0, 3000);
}

static void who_gives_no_streams_is_asked_without(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"no stream\", \"times\": 9, \"answer\": \"in one piece\"}");
    for (int i = 0; i < 2; i++) {
        ask(&world, &site_llm, "hello");
        assert_string_equal(world.fake.value, "\"in one piece\"");
        assert_null(strstr(world.fake.call.extra.data, "\"tries\""));
        done(&world);
    }
    char *sent = requests(&world);
    int asked = 0, streams = 0;
    for (const char *at = sent; (at = strstr(at, "POST ")); at++) asked++;
    for (const char *at = sent; (at = strstr(at, "\"stream\":true")); at++) streams++;
    assert_int_equal(asked, 3);
    assert_int_equal(streams, 1);
    free(sent);
    world_close(&world);
}

static void an_abort_in_a_stream_is_told(void **state)
{
    World world;
    world_open(&world, "{\"answer\": \"0123456789\", \"stream\": 2, \"fault\": \"mute\"}");
    fake_init(&world.fake, &world.loop, &site_llm, (const char *const[]){"hello", NULL});
    tfy__perform_llm.start(&world.fake.call);
    fake_wait(&world.loop, &world.fake, 500);
    assert_int_equal(world.fake.ended, 0);
    tfy__perform_llm.abort(&world.fake.call);
    assert_said(&world, "01|", "!");
    done(&world);
    world_close(&world);
}

/* ---- settings ---- */

static void the_key_never_leaks(void **state)
{
    World world;
    world_open(&world, "{\"fault\": \"echo\"}\n{\"answer\": \"your key is sk-secret-0123456789, is it not?\"}");
    ask(&world, &site_llm, "hello");
    assert_int_equal(world.fake.code, 401);
    assert_non_null(strstr(world.fake.message, "Bearer [key]"));
    done(&world);
    ask(&world, &site_llm, "hello");
    assert_string_equal(world.fake.value, "\"your key is [key], is it not?\"");
    done(&world);
    world_close(&world);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void the_key_file_is_read_at_use(void **state)
{
    World world;
    char path[] = "/tmp/tfy_key_XXXXXX";
    close(mkstemp(path));
    world_open(&world, "{\"answer\": \"a\", \"times\": 2}");
    setenv("TFY_LLM_KEY_FILE", path, 1);
    write_text(path, "first-key-of-all\n");
    ask(&world, &site_llm, "hello");
    done(&world);
    write_text(path, "second-key-of-all\n");
    ask(&world, &site_llm, "hello");
    done(&world);
    char *sent = requests(&world);
    assert_non_null(strstr(sent, "Bearer first-key-of-all\r\n"));
    assert_non_null(strstr(sent, "Bearer second-key-of-all\r\n"));
    free(sent);
    write_text(path, "no\r\nInjected: header\n");
    ask(&world, &site_llm, "hello");
    assert_int_equal(world.fake.code, EINVAL);
    assert_null(strstr(world.fake.message, "Injected"));
    done(&world);
    unlink(path);
    ask(&world, &site_llm, "hello");
    assert_non_null(strstr(world.fake.message, path));
    done(&world);
    world_close(&world);
}

static void no_endpoint(void **state)
{
    World world;
    world_open(&world, "{}");
    unsetenv("TFY_LLM_URL");
    ask(&world, &site_llm, "hello");
    assert_non_null(strstr(world.fake.message, "TFY_LLM_URL"));
    done(&world);
    setenv("TFY_LLM_URL", "ftp://example.invalid", 1);
    ask(&world, &site_llm, "hello");
    assert_non_null(strstr(world.fake.message, "not an http or https address"));
    done(&world);
    world_close(&world);
}

static void addresses(void **state)
{
    static const char *const cases[][2] = {
        {"http://h:8", "http://h:8/v1/chat/completions"},
        {"http://h:8/", "http://h:8/v1/chat/completions"},
        {"https://h/v1", "https://h/v1/chat/completions"},
        {"https://h/v1/", "https://h/v1/chat/completions"},
        {"https://h/v1/chat/completions", "https://h/v1/chat/completions"},
        {"https://h/x/openai?api=2", "https://h/x/openai/chat/completions?api=2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *endpoint = tfy__llm_endpoint(&tfy__llm_chat, cases[i][0]);
        assert_string_equal(endpoint, cases[i][1]);
        free(endpoint);
    }
    assert_null(tfy__llm_endpoint(&tfy__llm_chat, "file:///etc/passwd"));
    assert_null(tfy__llm_endpoint(&tfy__llm_chat, "no address"));
}

static void a_panic_in_a_text_fails_the_call(void **state)
{
    World world;
    world_open(&world, "{}");
    ask(&world, &site_broken, "hello");
    assert_ptr_equal(world.fake.error, &tfy_type_panic);
    assert_string_equal(world.fake.message, "index 3 is outside");
    done(&world);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_question),
        cmocka_unit_test(a_typed_prompt_sends_its_schema),
        cmocka_unit_test(a_misfit_is_told_to_the_model),
        cmocka_unit_test(a_megabyte_in_single_bytes),
        cmocka_unit_test(a_megabyte_in_one_piece),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(retry_after_is_honoured),
        cmocka_unit_test(busy_endpoints_are_tried_again),
        cmocka_unit_test(every_form_of_a_wait),
        cmocka_unit_test(a_long_wait_is_the_steps),
        cmocka_unit_test(broken_connections_are_tried_again),
        cmocka_unit_test(refusals),
        cmocka_unit_test(broken_answers),
        cmocka_unit_test(answers_that_are_none),
        cmocka_unit_test(a_cut_answer_is_recorded),
        cmocka_unit_test(other_forms_of_answers),
        cmocka_unit_test(repeats_are_recorded),
        cmocka_unit_test(a_hang_times_out),
        cmocka_unit_test(an_abort_in_flight_ends_silently),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(a_stream_is_recorded_as_an_answer),
        cmocka_unit_test(people_see_it_come),
        cmocka_unit_test(a_secret_in_pieces_is_masked),
        cmocka_unit_test(a_lost_stream_is_void_and_asked_for_again),
        cmocka_unit_test(streams_that_are_lost_for_good),
        cmocka_unit_test(a_stream_may_take_long_but_not_be_silent),
        cmocka_unit_test(nobody_waits_behind_the_end),
        cmocka_unit_test(who_gives_no_streams_is_asked_without),
        cmocka_unit_test(an_abort_in_a_stream_is_told),
        cmocka_unit_test(the_key_never_leaks),
        cmocka_unit_test(the_key_file_is_read_at_use),
        cmocka_unit_test(no_endpoint),
        cmocka_unit_test(addresses),
        cmocka_unit_test(a_panic_in_a_text_fails_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

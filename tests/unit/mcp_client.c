/* mcp_client.c: a client of MCP servers on a loop: many requests at once, answers in any order, cancelling, outcomes,
 * servers that die and are started again. The server is this program: its second argument says how it behaves. */
#include "effects_fixture.h"

#include "effects/code_cell.h"
#include "effects/process.h"
#include "effects/sandbox.h"
#include "mcp/client.h"
#include "mcp/schema.h"

static char self[PATH_MAX];

/* ---- the server ---- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

static void answer(json_int_t id, const char *text)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"text\":\"%s\"}}", (long long)id, text);
}

static void serve_discover(const char *mode, json_int_t id)
{
    if (strcmp(mode, "older") == 0)
        say("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32601,\"message\":\"no\"}}", (long long)id);
    else
        say("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}}",
            (long long)id);
}

/* hold: answered by "release", newest first. die: at once. slow: never. note: tells what was cancelled. */
static void serve_call(const char *method, json_int_t id, const json_t *params)
{
    static json_int_t held[1000], count;
    if (strcmp(method, "hold") == 0) {
        held[count++] = id;
    } else if (strcmp(method, "release") == 0) {
        while (count) answer(held[--count], "held");
        answer(id, "released");
    } else if (strcmp(method, "die") == 0) {
        _exit(5);
    } else if (strcmp(method, "echo") == 0) {
        answer(id, json_string_value(json_object_get(params, "text")));
    } else if (strcmp(method, "pid") == 0) {
        say("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"pid\":%d}}", (long long)id, getpid());
    } else if (strcmp(method, "sees") == 0) {
        answer(id, access(json_string_value(json_object_get(params, "text")), F_OK) == 0 ? "yes" : "no");
    } else if (strcmp(method, "steps") == 0) {
        for (int i = 0; i < 3; i++)
            say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%lld,"
                "\"progress\":%d}}",
                (long long)json_integer_value(json_object_get(json_object_get(params, "_meta"), "progressToken")), i);
        answer(id, "through");
    } else if (strcmp(method, "ask") == 0) {
        say("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\"}}");
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}");
        answer(id, "asked");
    }
}

static int serve(const char *mode)
{
    char *line = NULL;
    size_t size = 0;
    fprintf(stderr, "ready\n");
    if (strcmp(mode, "wordy") == 0) fprintf(stderr, "%020000d\n", 7);
    while (getline(&line, &size, stdin) > 0) {
        json_t *message = json_loads(line, 0, NULL);
        const char *method = json_string_value(json_object_get(message, "method"));
        const json_t *params = json_object_get(message, "params");
        const json_int_t id = json_integer_value(json_object_get(message, "id"));
        if (strcmp(mode, "deaf") == 0) pause();
        if (!method) continue;
        if (strcmp(method, "server/discover") == 0)
            serve_discover(mode, id);
        else if (strcmp(method, "initialize") == 0)
            say("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}",
                (long long)id);
        else if (strcmp(method, "notifications/cancelled") == 0)
            say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/heard\",\"params\":%s}", json_dumps(params, 0));
        else
            serve_call(method, id, params);
        json_decref(message);
    }
    return 0;
}

/* ---- the client ---- */

enum { MANY = 200 };

/* A request and what became of it. */
typedef struct Wanted {
    TfyMcpCall *call;
    int ended;
    TfyMcpEnd end; /* without what it points to */
    char text[200];
    int progress;
    int order; /* its ordinal among all that ended */
} Wanted;

typedef struct Client {
    TfyLoop *loop;
    TfyMcp *mcp;
    TfyMcpSpec spec;
    const char *argv[4];
    int ended;
    size_t heard; /* bytes of stderr */
    char notified[200], log[1000];
    int voided;
} Client;

static Client client;

static void on_log(void *arg, bool own, const char *text, size_t len)
{
    const size_t used = strlen(client.log);
    if (!own) client.heard += len;
    snprintf(client.log + used, sizeof client.log - used, "%s%.*s\n", own ? "! " : "", (int)len, text);
}

static void on_notified(void *arg, const char *method, const json_t *params)
{
    char *text = json_dumps(params, JSON_SORT_KEYS | JSON_COMPACT);
    snprintf(client.notified, sizeof client.notified, "%s %s", method, text);
    free(text);
}

static void on_asked(void *arg, TfyMcpAsked *asked, const TfyMcpCall *call, const char *method, const json_t *params)
{
    assert_string_equal(method, "elicitation/create");
    assert_non_null(call); /* it is the only one */
}

static void on_void(void *arg, TfyMcpAsked *asked)
{
    client.voided++;
}

static void on_end(void *arg, const TfyMcpEnd *end)
{
    Wanted *wanted = arg;
    const char *text = json_string_value(json_object_get(end->result, "text"));
    const json_t *pid = json_object_get(end->result, "pid");
    wanted->ended++;
    wanted->end = *end;
    wanted->order = client.ended++;
    snprintf(wanted->text, sizeof wanted->text, "%s", text ? text : end->message);
    if (pid) snprintf(wanted->text, sizeof wanted->text, "%lld", (long long)json_integer_value(pid));
}

static void on_progress(void *arg, const json_t *params)
{
    ((Wanted *)arg)->progress++;
}

static void open_client(const char *mode)
{
    memset(&client, 0, sizeof client);
    client.loop = loop_open();
    client.argv[0] = self;
    client.argv[1] = "--serve";
    client.argv[2] = mode;
    client.spec = (TfyMcpSpec){.name = "fake", .argv = client.argv, .cwd_fd = client.loop->root_fd};
    client.spec.events =
        (TfyMcpEvents){.log = on_log, .notified = on_notified, .asked = on_asked, .asked_no_more = on_void};
    client.mcp = tfy__mcp_open(client.loop, &client.spec);
    assert_non_null(client.mcp);
}

static void close_client(void)
{
    tfy__mcp_close(client.mcp);
    tfy__process_close(client.loop);
    tfy__sandbox_close(client.loop);
    loop_close(client.loop);
}

static void ask_with(Wanted *wanted, const char *method, const char *text, bool progress)
{
    json_t *params = text ? json_pack("{s:s}", "text", text) : NULL;
    memset(wanted, 0, sizeof *wanted);
    const TfyMcpRequest request = {
        .method = method, .params = params, .ended = on_end, .progress = progress ? on_progress : NULL, .arg = wanted};
    wanted->call = tfy__mcp_request(client.mcp, &request);
    json_decref(params);
    assert_non_null(wanted->call);
    assert_int_equal(wanted->ended, 0); /* never inside the request */
}

static void ask(Wanted *wanted, const char *method, const char *text)
{
    ask_with(wanted, method, text, false);
}

static void await_end(const Wanted *wanted)
{
    for (int64_t end_ns = clock_ns() + 20 * INT64_C(1000000000); !wanted->ended && clock_ns() < end_ns;)
        turn(client.loop);
    assert_int_equal(wanted->ended, 1);
}

/* ---- tests ---- */

static void both_kinds_answer(void **state)
{
    static const char *const modes[][2] = {{"modern", "2026-07-28"}, {"older", "2025-11-25"}};
    for (int i = 0; i < 2; i++) {
        Wanted wanted;
        open_client(modes[i][0]);
        assert_null(tfy__mcp_revision(client.mcp));
        ask(&wanted, "echo", "hello");
        await_end(&wanted);
        assert_int_equal(wanted.end.how, TFY_MCP_ANSWERED);
        assert_string_equal(wanted.text, "hello");
        assert_string_equal(tfy__mcp_revision(client.mcp), modes[i][1]);
        assert_true(json_is_object(tfy__mcp_server(client.mcp)));
        assert_true(json_is_object(tfy__mcp_capabilities(client.mcp)));
        assert_string_equal(client.log, "ready\n");
        close_client();
    }
}

static void many_at_once_in_any_order(void **state)
{
    static Wanted wanted[MANY];
    Wanted last;
    open_client("modern");
    for (int i = 0; i < MANY; i++) ask(&wanted[i], "hold", NULL);
    ask(&last, "release", NULL);
    await_end(&last);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(wanted[i].ended, 1);
        assert_string_equal(wanted[i].text, "held");
        assert_int_equal(wanted[i].order, MANY - 1 - i);
    }
    close_client();
}

static void progress_is_told(void **state)
{
    Wanted wanted;
    open_client("modern");
    ask_with(&wanted, "steps", NULL, true);
    await_end(&wanted);
    assert_int_equal(wanted.progress, 3);
    close_client();
}

static void a_call_is_cancelled(void **state)
{
    Wanted held, after, early;
    open_client("modern");
    ask(&early, "hold", NULL); /* before anything was sent */
    tfy__mcp_cancel(early.call, NULL);
    ask(&held, "hold", NULL);
    ask(&after, "echo", "x");
    await_end(&after);
    tfy__mcp_cancel(held.call, "no more");
    ask(&after, "release", NULL);
    await_end(&after);
    assert_int_equal(held.ended, 0);
    assert_int_equal(early.ended, 0);
    assert_non_null(strstr(client.notified, "notifications/heard {\"reason\":\"no more\",\"requestId\":"));
    assert_non_null(strstr(client.log, "! the MCP server 'fake' answered a request that nobody waits for"));
    close_client();
}

static void a_question_is_taken_back(void **state)
{
    Wanted wanted;
    open_client("older");
    ask(&wanted, "ask", NULL);
    await_end(&wanted);
    assert_int_equal(client.voided, 1);
    close_client();
}

static void a_server_that_dies_is_started_again(void **state)
{
    Wanted before, dies, beside, after;
    open_client("modern");
    ask(&before, "pid", NULL);
    await_end(&before);
    ask(&beside, "hold", NULL);
    ask(&dies, "die", NULL);
    await_end(&dies);
    assert_int_equal(beside.ended, 1);
    assert_int_equal(dies.end.how, TFY_MCP_FAILED);
    assert_int_equal(dies.end.outcome, TFY_UNKNOWN);
    assert_int_equal(beside.end.outcome, TFY_UNKNOWN);
    assert_string_equal(dies.text, "the MCP server 'fake' exited with status 5");
    const int64_t died_ns = clock_ns();
    ask(&after, "pid", NULL);
    await_end(&after);
    assert_true(clock_ns() - died_ns >= 950 * INT64_C(1000000));
    assert_string_not_equal(before.text, after.text);
    close_client();
}

static void it_waits_longer_each_time(void **state)
{
    Wanted dies;
    int64_t from_ns;
    open_client("modern");
    for (int i = 0; i < 3; i++) {
        from_ns = clock_ns();
        ask(&dies, "die", NULL);
        await_end(&dies);
    }
    assert_true(clock_ns() - from_ns >= 1950 * INT64_C(1000000));
    ask(&dies, "hold", NULL); /* waits for its start while the client is closed */
    run_for(client.loop, 50);
    assert_int_equal(dies.ended, 0);
    close_client();
}

static void what_was_not_read_was_not_done(void **state)
{
    enum { BIG = 4 << 20 };
    Wanted first, big, more;
    char *text = malloc(BIG + 1);
    memset(text, 'x', BIG);
    text[BIG] = '\0';
    open_client("modern");
    ask(&first, "pid", NULL);
    await_end(&first);
    assert_int_equal(kill(atoi(first.text), SIGSTOP), 0);
    ask(&big, "hold", text);
    ask(&more, "hold", "y");
    run_for(client.loop, 50);
    assert_int_equal(kill(atoi(first.text), SIGKILL), 0);
    await_end(&more);
    assert_int_equal(big.end.outcome, TFY_NOT_DONE);
    assert_int_equal(more.end.outcome, TFY_NOT_DONE);
    free(text);
    close_client();
}

static void what_waits_is_sent_later(void **state)
{
    enum { BIG = 4 << 20 };
    Wanted first, big, more;
    char *text = malloc(BIG + 1);
    memset(text, 'x', BIG);
    text[BIG] = '\0';
    open_client("modern");
    ask(&first, "pid", NULL);
    await_end(&first);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kill(atoi(first.text), SIGSTOP), 0);
        ask(&big, "hold", text);
        ask(&more, "release", NULL);
        run_for(client.loop, 20);
        assert_int_equal(big.ended + more.ended, 0);
        assert_int_equal(kill(atoi(first.text), SIGCONT), 0);
        await_end(&more);
        assert_int_equal(big.end.how, TFY_MCP_ANSWERED);
        assert_string_equal(more.text, "released");
    }
    free(text);
    close_client();
}

static void too_much_is_refused(void **state)
{
    enum { BIG = 20 << 20 };
    Wanted first, big, more;
    char *text = malloc(BIG + 1);
    memset(text, 'x', BIG);
    text[BIG] = '\0';
    open_client("modern");
    ask(&first, "pid", NULL);
    await_end(&first);
    kill(atoi(first.text), SIGSTOP);
    ask(&big, "hold", text);
    ask(&more, "hold", text);
    await_end(&more);
    assert_int_equal(more.end.outcome, TFY_NOT_DONE);
    assert_non_null(strstr(more.text, "cannot be asked"));
    assert_int_equal(big.ended, 0);
    kill(atoi(first.text), SIGKILL);
    free(text);
    close_client();
}

static void a_server_that_is_not_there(void **state)
{
    Wanted wanted;
    open_client("modern");
    client.argv[0] = "/nonexistent/server";
    ask(&wanted, "echo", "x");
    await_end(&wanted);
    assert_int_equal(wanted.end.how, TFY_MCP_FAILED);
    assert_int_equal(wanted.end.outcome, TFY_NOT_DONE);
    assert_non_null(strstr(wanted.text, "cannot be started: cannot run '/nonexistent/server'"));
    close_client();
}

static void closed_while_it_works(void **state)
{
    Wanted wanted;
    open_client("deaf");
    ask(&wanted, "echo", "x");
    run_for(client.loop, 100);
    close_client();
    assert_int_equal(wanted.ended, 0);
}

/* No byte of a long line on stderr is lost. */
static void a_long_line_comes_in_parts(void **state)
{
    Wanted wanted;
    open_client("wordy");
    ask(&wanted, "echo", "x");
    await_end(&wanted);
    assert_int_equal(client.heard, strlen("ready") + 20000);
    close_client();
}

/* In a cell that reads the system and the test program, it is talked to as outside. */
static void a_server_in_a_cell(void **state)
{
    Wanted here, there;
    TfyConfined confined = {.name = "test"};
    char home[PATH_MAX];
    snprintf(home, sizeof home, "%.*s", (int)(strrchr(self, '/') - self), self);
    open_client("modern");
    ask(&here, "sees", client.loop->root);
    await_end(&here);
    assert_string_equal(here.text, "yes");
    close_client();
    open_client("modern");
    assert_int_equal(tfy__code_cell_tags(TFY_CELL_FULL, &confined), 0);
    tfy__cell_add(&confined.plan, TFY_CELL_READS, home);
    client.spec.confined = &confined;
    tfy__mcp_close(client.mcp);
    client.mcp = tfy__mcp_open(client.loop, &client.spec);
    ask(&there, "sees", client.loop->root);
    await_end(&there);
    const bool built = !strstr(there.text, "its sandbox cannot be built");
    if (built) assert_string_equal(there.text, "no");
    close_client();
    tfy__confined_free(&confined);
    if (!built) skip();
}

/* ---- headers of schemas ---- */

static bool add_line(void *arg, const char *line)
{
    tfy__buffer_text(arg, line);
    tfy__buffer_char(arg, '\n');
    return true;
}

static void headers_of_schemas(void **state)
{
    json_t *schema =
        json_loads("{\"properties\": {\"a\": {\"type\": \"string\", \"x-mcp-header\": \"A\"}, \"b\": {\"type\": "
                   "\"object\", \"properties\": {\"c\": {\"type\": \"integer\", \"x-mcp-header\": \"C\"}}}, "
                   "\"d\": {\"type\": \"boolean\", \"x-mcp-header\": \"D\"}}}",
                   0, NULL);
    json_t *arguments = json_loads("{\"a\": \"one\\ntwo\", \"b\": {\"c\": -7}, \"d\": null}", 0, NULL);
    TfyBuffer lines = {0};
    char why[TFY_MCP_WHY];
    tfy__mcp_headers_wrong(schema, why);
    assert_string_equal(why, "");
    assert_true(tfy__mcp_param_headers(schema, arguments, add_line, &lines));
    assert_string_equal(lines.data, "Mcp-Param-A: =?base64?b25lCnR3bw==?=\nMcp-Param-C: -7\n");
    tfy__buffer_free(&lines);
    json_decref(schema);
    json_decref(arguments);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--serve") == 0) return serve(argv[2]);
    if (!realpath("/proc/self/exe", self)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_answer),          cmocka_unit_test(many_at_once_in_any_order),
        cmocka_unit_test(progress_is_told),           cmocka_unit_test(a_call_is_cancelled),
        cmocka_unit_test(a_question_is_taken_back),   cmocka_unit_test(a_server_that_dies_is_started_again),
        cmocka_unit_test(it_waits_longer_each_time),  cmocka_unit_test(what_was_not_read_was_not_done),
        cmocka_unit_test(what_waits_is_sent_later),   cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(a_server_that_is_not_there), cmocka_unit_test(closed_while_it_works),
        cmocka_unit_test(a_long_line_comes_in_parts), cmocka_unit_test(a_server_in_a_cell),
        cmocka_unit_test(headers_of_schemas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

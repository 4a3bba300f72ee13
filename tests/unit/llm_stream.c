/* llm_stream.c: an answer in pieces is the answer in one piece, in each wire form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/llm_form.h"

#include <stdlib.h>
#include <string.h>

/* Feeds lines of JSON, each an event; the caller frees the stream. Answers the text that people saw. */
static char *feed(TfyLlmStream *stream, const char *api, const char *lines)
{
    *stream = (TfyLlmStream){.form = tfy__llm_form_named(api), .most = 1 << 20};
    while (*lines) {
        const size_t len = strcspn(lines, "\n");
        assert_true(tfy__llm_stream_take(stream, lines, len));
        lines += len + (lines[len] == '\n');
    }
    assert_false(stream->failed);
    return strdup(stream->said.data ? stream->said.data : "");
}

static TfyLlmParts read_parts(const TfyLlmForm *form, json_t *response)
{
    TfyLlmParts parts = {.finish_reason = ""};
    assert_non_null(response);
    assert_true(form->read(response, &parts));
    return parts;
}

static void assert_same(const json_t *a, const json_t *b)
{
    char *left = a ? json_dumps(a, JSON_ENCODE_ANY) : strdup("none"),
         *right = b ? json_dumps(b, JSON_ENCODE_ANY) : strdup("none");
    assert_string_equal(left, right);
    free(left);
    free(right);
}

static void check(const char *api, const char *lines, const char *whole, const char *said)
{
    TfyLlmStream stream;
    char *seen = feed(&stream, api, lines);
    json_t *given = tfy__llm_stream_response(&stream), *wanted = json_loads(whole, 0, NULL);
    TfyLlmParts a = read_parts(stream.form, given), b = read_parts(stream.form, wanted);
    assert_string_equal(seen, said);
    assert_true(stream.complete);
    assert_null(stream.error);
    assert_same(a.text, b.text);
    assert_same(a.calls, b.calls);
    assert_same(a.opaque, b.opaque);
    assert_same(a.refusal, b.refusal);
    assert_same(a.model, b.model);
    assert_string_equal(a.finish_reason, b.finish_reason);
    assert_int_equal(a.prompt_tokens, b.prompt_tokens);
    assert_int_equal(a.completion_tokens, b.completion_tokens);
    assert_int_equal(a.cached_tokens, b.cached_tokens);
    json_decref(a.text);
    json_decref(a.calls);
    json_decref(a.opaque);
    json_decref(b.text);
    json_decref(b.calls);
    json_decref(b.opaque);
    json_decref(given);
    json_decref(wanted);
    free(seen);
    tfy__llm_stream_free(&stream);
}

/* ---- chat completions ---- */

#define CHUNK(delta)                                                                                                   \
    "{\"model\": \"m\", \"choices\": [{\"index\": 0, \"delta\": " delta ", \"finish_reason\": null}]}\n"
#define LAST(reason)                                                                                                   \
    "{\"model\": \"m\", \"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"" reason "\"}]}\n"
#define USAGE                                                                                                          \
    "{\"choices\": [], \"usage\": {\"prompt_tokens\": 9, \"completion_tokens\": 4, \"prompt_tokens_details\": "        \
    "{\"cached_tokens\": 2}}}\n"
#define CHAT(message, reason)                                                                                          \
    "{\"model\": \"m\", \"choices\": [{\"message\": " message ", \"finish_reason\": \"" reason                         \
    "\"}], \"usage\": {\"prompt_tokens\": 9, \"completion_tokens\": 4, \"prompt_tokens_details\": {\"cached_tokens\":" \
    " 2}}}"

static void chat_texts(void **state)
{
    check("chat",
          CHUNK("{\"role\": \"assistant\", \"content\": \"\"}") CHUNK("{\"content\": \"good \"}")
              CHUNK("{\"content\": \"d\xc3\xa4y\"}") LAST("stop") USAGE "[DONE]\n",
          CHAT("{\"content\": \"good d\xc3\xa4y\"}", "stop"), "good d\xc3\xa4y");
    check("chat", CHUNK("{\"content\": \"\"}") LAST("stop") USAGE, CHAT("{\"content\": \"\"}", "stop"), "");
    check("chat", CHUNK("{\"role\": \"assistant\"}") LAST("stop") USAGE, CHAT("{\"content\": null}", "stop"), "");
    check("chat", CHUNK("{\"content\": \"once\"}") LAST("length") USAGE, CHAT("{\"content\": \"once\"}", "length"),
          "once");
    check("chat", CHUNK("{\"reasoning_content\": \"hm\"}") CHUNK("{\"content\": \"a\"}") LAST("stop") USAGE,
          CHAT("{\"content\": \"a\"}", "stop"), "a");
    check("chat",
          CHUNK("{\"content\": [{\"type\": \"text\", \"text\": \"a\"}]}")
              CHUNK("{\"content\": [{\"type\": \"text\", \"text\": \"b\"}]}") LAST("stop") USAGE,
          CHAT("{\"content\": \"ab\"}", "stop"), "ab");
}

static void chat_refusals(void **state)
{
    check("chat",
          CHUNK("{\"content\": \"\", \"refusal\": null}") CHUNK("{\"refusal\": \"I will \"}")
              CHUNK("{\"refusal\": \"not\"}") LAST("stop") USAGE,
          CHAT("{\"content\": null, \"refusal\": \"I will not\"}", "stop"), "I will not");
}

#define CALL(index, id, name, args)                                                                                    \
    CHUNK("{\"tool_calls\": [{\"index\": " index ", \"id\": \"" id "\", \"type\": \"function\", \"function\": "        \
          "{\"name\": \"" name "\", \"arguments\": \"" args "\"}}]}")
#define ARGS(index, args)                                                                                              \
    CHUNK("{\"tool_calls\": [{\"index\": " index ", \"function\": {\"arguments\": \"" args "\"}}]}")
#define TWO_CALLS                                                                                                      \
    CHAT("{\"content\": null, \"tool_calls\": [{\"id\": \"a\", \"function\": {\"name\": \"f\", \"arguments\": "        \
         "\"{\\\"n\\\": 1}\"}}, {\"id\": \"b\", \"function\": {\"name\": \"g\", \"arguments\": \"{}\"}}]}",            \
         "tool_calls")

static void chat_calls(void **state)
{
    check("chat",
          CHUNK("{\"content\": \"\"}") CALL("0", "a", "f", "") ARGS("0", "{\\\"n\\\"") ARGS("0", ": 1}")
              CALL("1", "b", "g", "{}") LAST("tool_calls") USAGE,
          TWO_CALLS, "");
    /* mixed; all with the index 0; without an index; arguments as an object; the name in each part */
    check("chat",
          CALL("0", "a", "f", "") CALL("1", "b", "g", "") ARGS("0", "{\\\"n\\\": 1}") ARGS("1", "{}") LAST("tool_calls")
              USAGE,
          TWO_CALLS, "");
    check("chat", CALL("0", "a", "f", "{\\\"n\\\": 1}") CALL("0", "b", "g", "{}") LAST("tool_calls") USAGE, TWO_CALLS,
          "");
    check("chat",
          CHUNK("{\"tool_calls\": [{\"id\": \"a\", \"function\": {\"name\": \"f\", \"arguments\": {\"n\": 1}}}, "
                "{\"id\": \"b\", \"function\": {\"name\": \"g\"}}]}") LAST("tool_calls") USAGE,
          TWO_CALLS, "");
    check("chat",
          CALL("0", "a", "f", "{\\\"n\\\"") CALL("0", "a", "f", ": 1}") CALL("1", "b", "g", "{}") LAST("tool_calls")
              USAGE,
          TWO_CALLS, "");
    check("chat", CHUNK("{\"content\": \"I try.\"}") CALL("0", "a", "f", "{\\\"n") LAST("length") USAGE,
          CHAT("{\"content\": \"I try.\", \"tool_calls\": [{\"id\": \"a\", \"function\": {\"name\": \"f\", "
               "\"arguments\": \"{\\\"n\"}}]}",
               "length"),
          "I try.");
}

/* ---- messages ---- */

#define START                                                                                                          \
    "{\"type\": \"message_start\", \"message\": {\"model\": \"m\", \"content\": [], \"stop_reason\": null, "           \
    "\"usage\": {\"input_tokens\": 3, \"cache_read_input_tokens\": 5, \"output_tokens\": 1}}}\n"
#define BLOCK(index, block) "{\"type\": \"content_block_start\", \"index\": " index ", \"content_block\": " block "}\n"
#define DELTA(index, delta) "{\"type\": \"content_block_delta\", \"index\": " index ", \"delta\": " delta "}\n"
#define STOP(reason)                                                                                                   \
    "{\"type\": \"content_block_stop\", \"index\": 0}\n{\"type\": \"ping\"}\n{\"type\": \"message_delta\", "           \
    "\"delta\": {\"stop_reason\": \"" reason                                                                           \
    "\", \"stop_sequence\": null}, \"usage\": {\"output_tokens\": 15}}\n{\"type\": \"message_stop\"}\n"
#define MESSAGE(content, reason)                                                                                       \
    "{\"model\": \"m\", \"content\": " content ", \"stop_reason\": \"" reason                                          \
    "\", \"usage\": {\"input_tokens\": 3, \"cache_read_input_tokens\": 5, \"output_tokens\": 15}}"

static void messages(void **state)
{
    check("messages",
          START BLOCK("0", "{\"type\": \"text\", \"text\": \"\"}")
              DELTA("0", "{\"type\": \"text_delta\", \"text\": \"good \"}")
                  DELTA("0", "{\"type\": \"text_delta\", \"text\": \"day\"}") STOP("end_turn"),
          MESSAGE("[{\"type\": \"text\", \"text\": \"good day\"}]", "end_turn"), "good day");
    check("messages", START STOP("refusal"), MESSAGE("[]", "refusal"), "");
    check("messages", START BLOCK("0", "{\"type\": \"text\", \"text\": \"a\"}") STOP("max_tokens"),
          MESSAGE("[{\"type\": \"text\", \"text\": \"a\"}]", "max_tokens"), "a");
}

static void messages_with_calls_and_thoughts(void **state)
{
    check("messages",
          START BLOCK("0", "{\"type\": \"thinking\", \"thinking\": \"\", \"signature\": \"\"}")
              DELTA("0", "{\"type\": \"thinking_delta\", \"thinking\": \"hm\"}")
                  DELTA("0", "{\"type\": \"signature_delta\", \"signature\": \"c2ln\"}")
                      BLOCK("1", "{\"type\": \"text\", \"text\": \"\"}")
                          DELTA("1", "{\"type\": \"text_delta\", \"text\": \"I try.\"}")
                              BLOCK("2", "{\"type\": \"tool_use\", \"id\": \"a\", \"name\": \"f\", \"input\": {}}")
                                  DELTA("2", "{\"type\": \"input_json_delta\", \"partial_json\": \"\"}")
                                      DELTA("2", "{\"type\": \"input_json_delta\", \"partial_json\": \"{\\\"n\\\"\"}")
                                          DELTA("2", "{\"type\": \"input_json_delta\", \"partial_json\": \":1}\"}")
                                              BLOCK("3", "{\"type\": \"tool_use\", \"id\": \"b\", \"name\": \"g\", "
                                                         "\"input\": {}}") STOP("tool_use"),
          MESSAGE("[{\"type\": \"thinking\", \"thinking\": \"hm\", \"signature\": \"c2ln\"}, {\"type\": \"text\", "
                  "\"text\": \"I try.\"}, {\"type\": \"tool_use\", \"id\": \"a\", \"name\": \"f\", \"input\": {\"n\": "
                  "1}}, {\"type\": \"tool_use\", \"id\": \"b\", \"name\": \"g\", \"input\": {}}]",
                  "tool_use"),
          "I try.");
}

/* ---- responses ---- */

#define RESPONSE(status, output)                                                                                       \
    "{\"model\": \"m\", \"status\": \"" status "\", \"output\": " output                                               \
    ", \"usage\": {\"input_tokens\": 9, \"output_tokens\": 4}, \"error\": null}"
#define SAID   "[{\"type\": \"message\", \"content\": [{\"type\": \"output_text\", \"text\": \"good day\"}]}]"
#define CALLED "[{\"type\": \"function_call\", \"call_id\": \"a\", \"name\": \"f\", \"arguments\": \"{\\\"n\\\":1}\"}]"

static void responses(void **state)
{
    check("responses",
          "{\"type\": \"response.created\", \"response\": {\"status\": \"in_progress\", \"output\": []}}\n"
          "{\"type\": \"response.output_text.delta\", \"delta\": \"good \"}\n"
          "{\"type\": \"response.output_text.delta\", \"delta\": \"day\"}\n"
          "{\"type\": \"response.completed\", \"response\": " RESPONSE("completed", SAID) "}\n",
          RESPONSE("completed", SAID), "good day");
    check("responses",
          "{\"type\": \"response.function_call_arguments.delta\", \"delta\": \"{\"}\n"
          "{\"type\": \"response.output_item.done\", \"output_index\": 0, \"item\": {\"type\": \"function_call\", "
          "\"call_id\": \"a\", \"name\": \"f\", \"arguments\": \"{\\\"n\\\":1}\"}}\n"
          "{\"type\": \"response.completed\", \"response\": " RESPONSE("completed", "[]") "}\n",
          RESPONSE("completed", CALLED), ""); /* the last event leaves out what was sent */
    check("responses", "{\"type\": \"response.incomplete\", \"response\": " RESPONSE("incomplete", SAID) "}\n",
          RESPONSE("incomplete", SAID), "");
}

/* ---- what is no answer ---- */

static void expect_error(const char *api, const char *lines, int status, const char *words)
{
    TfyLlmStream stream;
    free(feed(&stream, api, lines));
    assert_non_null(stream.error);
    assert_string_equal(json_string_value(json_object_get(stream.error, "message")), words);
    assert_int_equal(tfy__llm_error_status(stream.error), status);
    tfy__llm_stream_free(&stream);
}

static void errors(void **state)
{
    expect_error("chat", "{\"error\": {\"message\": \"full\", \"code\": 503}}\n", 503, "full");
    expect_error("chat", "{\"error\": {\"message\": \"no\", \"type\": \"invalid_request_error\", \"code\": null}}\n",
                 400, "no");
    expect_error("messages",
                 START "{\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"later\"}}\n",
                 529, "later");
    expect_error("messages", "{\"type\": \"error\", \"error\": {\"type\": \"api_error\", \"message\": \"oh\"}}\n", 500,
                 "oh");
    expect_error("responses", "{\"type\": \"error\", \"code\": \"rate_limit_exceeded\", \"message\": \"slow\"}\n", 429,
                 "slow");
    expect_error("responses",
                 "{\"type\": \"response.failed\", \"response\": {\"status\": \"failed\", \"error\": {\"code\": "
                 "\"server_error\", \"message\": \"broke\"}}}\n",
                 500, "broke");
}

static void streams_that_are_none(void **state)
{
    static const char *const bad[] = {"{\"a\": ", "[]", "1", "DONE", "[DONE] ", "{\"a\": \"\xff\"}"};
    static const char *const apis[] = {"chat", "messages", "responses"};
    for (size_t k = 0; k < sizeof apis / sizeof *apis; k++) {
        TfyLlmStream stream = {.form = tfy__llm_form_named(apis[k]), .most = 100};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            assert_false(tfy__llm_stream_take(&stream, bad[i], strlen(bad[i])));
        assert_true(tfy__llm_stream_take(&stream, "", 0));
        assert_true(tfy__llm_stream_take(&stream, "{\"type\": \"of tomorrow\"}", 23));
        assert_false(stream.complete);
        tfy__llm_stream_free(&stream);
    }
}

static void long_answers_are_refused(void **state)
{
    TfyLlmStream stream = {.form = &tfy__llm_chat, .most = 10000};
    static const char text[] = CHUNK("{\"content\": \"0123456789012345678901234567890123456789\"}");
    int events = 0;
    for (; !stream.too_long && events < 1000; events++)
        assert_true(tfy__llm_stream_take(&stream, text, sizeof text - 2));
    assert_in_range(events, 100, 250);
    tfy__llm_stream_free(&stream);
    for (events = 0; !stream.too_long && events < 1000; events++) { /* calls without content */
        char call[200];
        const int len =
            snprintf(call, sizeof call, "{\"choices\": [{\"delta\": {\"tool_calls\": [{\"index\": %d}]}}]}", events);
        assert_true(tfy__llm_stream_take(&stream, call, (size_t)len));
    }
    assert_in_range(events, 2, 4);
    tfy__llm_stream_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_texts),
        cmocka_unit_test(chat_refusals),
        cmocka_unit_test(chat_calls),
        cmocka_unit_test(messages),
        cmocka_unit_test(messages_with_calls_and_thoughts),
        cmocka_unit_test(responses),
        cmocka_unit_test(errors),
        cmocka_unit_test(streams_that_are_none),
        cmocka_unit_test(long_answers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* mcp_message.c: what a line of an MCP server is, whatever it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "mcp/message.h"

static TfyMcpMessage message;

static TfyMcpKind read_text(const char *text)
{
    tfy__mcp_message_free(&message);
    tfy__mcp_read(text, strlen(text), &message);
    return message.kind;
}

static int done(void **state)
{
    tfy__mcp_message_free(&message);
    return 0;
}

static void the_four_kinds(void **state)
{
    assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}"), TFY_MCP_REQUEST);
    assert_string_equal(message.method, "ping");
    assert_null(message.params);
    assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":1}}"), TFY_MCP_NOTIFICATION);
    assert_non_null(message.params);
    assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"), TFY_MCP_RESULT);
    assert_true(tfy__mcp_is_id(message.id, 7));
    assert_false(tfy__mcp_is_id(message.id, 8));
    assert_int_equal(
        read_text("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":[1]}}"),
        TFY_MCP_ERROR);
    assert_null(message.id);
    assert_int_equal(message.code, TFY_MCP_NO_VERSION);
    assert_string_equal(message.message, "no");
    assert_non_null(message.data);
}

static void what_is_none(void **state)
{
    static const char *const texts[][2] = {
        {"", "not JSON"},
        {"starting up…", "not JSON"},
        {"{\"jsonrpc\":\"2.0\"", "not JSON"},
        {"[]", "not an object"},
        {"{\"id\":1,\"result\":{}}", "JSON-RPC 2.0"},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}", "JSON-RPC 2.0"},
        {"{\"jsonrpc\":\"2.0\",\"id\":[],\"result\":{}}", "its id"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", "neither a method"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}", "its result"},
        {"{\"jsonrpc\":\"2.0\",\"result\":{}}", "for no request"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", "both"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", "its error"},
        {"{\"jsonrpc\":\"2.0\",\"method\":1}", "its method"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"a\\u0000b\"}", "its method"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[1]}", "its params"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_text(texts[i][0]), TFY_MCP_NONE);
        if (!strstr(message.why, texts[i][1])) fail_msg("%s: %s", texts[i][0], message.why);
    }
}

static void nested(TfyBuffer *out, size_t levels)
{
    tfy__buffer_text(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"}\\\"[\",\"b\":");
    for (size_t i = 2; i < levels; i++) tfy__buffer_char(out, '[');
    for (size_t i = 2; i < levels; i++) tfy__buffer_char(out, ']');
    tfy__buffer_text(out, "}}");
}

static void how_deep(void **state)
{
    TfyBuffer text = {0};
    nested(&text, TFY_MCP_DEPTH);
    assert_int_equal(read_text(text.data), TFY_MCP_RESULT);
    tfy__buffer_reset(&text);
    nested(&text, TFY_MCP_DEPTH + 1);
    assert_int_equal(read_text(text.data), TFY_MCP_TOO_DEEP);
    tfy__buffer_reset(&text);
    nested(&text, 1000000);
    assert_int_equal(read_text(text.data), TFY_MCP_TOO_DEEP);
    tfy__buffer_free(&text);
}

static void a_number_that_is_too_big(void **state)
{
    assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"n\":123456789012345678901}}"),
                     TFY_MCP_RESULT);
    assert_true(tfy__mcp_is_id(message.id, 3));
    assert_true(json_is_real(json_object_get(message.result, "n")));
}

static void what_is_written(void **state)
{
    TfyBuffer out = {0}, meta = {0};
    json_t *params = json_pack("{s:s}", "b", "x\ny"), *id = json_string("q");
    tfy__mcp_write_request(&out, 5, "tools/call", params, NULL);
    assert_string_equal(out.data,
                        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"b\":\"x\\ny\"}}");
    tfy__buffer_reset(&out);
    tfy__buffer_text(&meta, "{}");
    tfy__mcp_reopen(&meta);
    tfy__buffer_text(&meta, "\"k\":1}");
    tfy__mcp_write_request(&out, -6, "tools/list", NULL, &meta);
    assert_string_equal(out.data,
                        "{\"jsonrpc\":\"2.0\",\"id\":-6,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"k\":1}}}");
    tfy__buffer_reset(&out);
    tfy__mcp_reopen(&meta);
    tfy__buffer_text(&meta, "\"l\":2}");
    tfy__mcp_write_request(&out, 7, "a", params, &meta);
    assert_string_equal(out.data,
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":{\"b\":\"x\\ny\",\"_meta\":"
                        "{\"k\":1,\"l\":2}}}");
    tfy__buffer_free(&meta);
    tfy__buffer_reset(&out);
    tfy__mcp_write_notification(&out, "notifications/initialized", NULL);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    tfy__buffer_reset(&out);
    tfy__mcp_write_result(&out, id, params);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"b\":\"x\\ny\"}}");
    tfy__buffer_reset(&out);
    tfy__mcp_write_error(&out, id, TFY_MCP_NO_METHOD, "no \"x\"");
    assert_string_equal(out.data,
                        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32601,\"message\":\"no \\\"x\\\"\"}}");
    tfy__buffer_free(&out);
    json_decref(params);
    json_decref(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_four_kinds, done),
        cmocka_unit_test_teardown(what_is_none, done),
        cmocka_unit_test_teardown(how_deep, done),
        cmocka_unit_test_teardown(a_number_that_is_too_big, done),
        cmocka_unit_test(what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

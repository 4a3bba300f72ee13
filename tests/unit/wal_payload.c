/* Payloads: what is asked of their text and of their tree says the same, whatever stands in them; writers write the letters of the log's format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tfy.h"
#include "wal/rows/payload.h"

static TfyLogRecord record_of(TfyRecordType type, const char *payload)
{
    return (TfyLogRecord){.type = (uint8_t)type, .payload = payload, .payload_len = (uint32_t)strlen(payload)};
}

static void test_one_question(void **state)
{
    (void)state;
    const TfyLogRecord record =
        record_of(TFY_R_STEP_START, "{\"tool\":\"a\\\"b\",\"args\":{\"attempt\":9,\"key\":\"no\",\"force\":true},"
                                    "\"attempt\":-3,\"key\":\"run/1/2\"}");
    assert_int_equal(tfy__record_int(&record, TFY_P_ATTEMPT), -3);
    assert_true(tfy__record_is(&record, TFY_P_KEY, "run/1/2"));
    assert_false(tfy__record_is(&record, TFY_P_KEY, "run/1/"));
    assert_true(tfy__record_is(&record, TFY_P_TOOL, "a\"b"));
    assert_false(tfy__record_flag(&record, TFY_P_FORCE)); /* it stands in the arguments */
    assert_false(tfy__record_has(&record, TFY_P_FORCE));
    assert_true(tfy__record_starts_once(&record));
    char *tool = tfy__record_text(&record, TFY_P_TOOL);
    assert_string_equal(tool, "a\"b");
    free(tool);
    assert_null(tfy__record_text(&record, TFY_P_ATTEMPT)); /* a number */
}

static void test_texts_that_look_like_members(void **state)
{
    (void)state;
    const TfyLogRecord said =
        record_of(TFY_R_RESOLVED, "{\"how\":\"done\",\"value\":\"\\\"how\\\":\\\"retry\\\"\",\"by\":\"x\"}");
    assert_true(tfy__record_is(&said, TFY_P_HOW, "done"));
    const TfyLogRecord deep =
        record_of(TFY_R_TASK_ABORT, "{\"error\":{\"error\":\"E\",\"cancelled\":true},\"line\":4}");
    assert_int_equal(tfy__record_end(&deep), TFY_TASK_FAILED);
    const TfyLogRecord killed = record_of(TFY_R_TASK_ABORT, "{ \"cancelled\" : true }");
    assert_int_equal(tfy__record_end(&killed), TFY_TASK_CANCELLED);
    const TfyLogRecord moved = record_of(TFY_R_TASK_COMPLETE, "{\"value\":{\"ok\":false},\"ok\":true}");
    assert_int_equal(tfy__record_end(&moved), TFY_TASK_COMPLETED);
    const TfyLogRecord kill =
        record_of(TFY_R_SIGNAL, "{\"name\":\"kill\",\"force\":false,\"why\":\"value\",\"by\":\"u\"}");
    assert_true(tfy__record_is_kill(&kill));
    assert_false(tfy__record_is_run_signal(&kill));
}

static void test_whatever_stands_there(void **state)
{
    (void)state;
    static const char *const broken[] = {"",
                                         "{",
                                         "{\"",
                                         "{\"tool",
                                         "{\"tool\"",
                                         "{\"tool\":",
                                         "[1,2]",
                                         "{\"tool\":[",
                                         "{\"tool\":]",
                                         "{\"a\":\"\\",
                                         "{\"a\"\"tool\"",
                                         "null",
                                         "{,,,\"tool\"",
                                         "{\"tool\":\"x"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const TfyLogRecord record = record_of(TFY_R_TOOL_RESULT, broken[i]);
        TfyPayload payload;
        char text[128];
        assert_false(tfy__record_has(&record, TFY_P_TOOL));
        assert_false(tfy__payload_open(&payload, &record) && tfy__payload_text(&payload, TFY_P_TOOL));
        assert_null(tfy__payload_get(&payload, TFY_P_VALUE));
        tfy__payload_close(&payload);
        assert_non_null(tfy__payload_fault(&record, text, sizeof text));
    }
}

static void test_kinds(void **state)
{
    (void)state;
    const TfyLogRecord record =
        record_of(TFY_R_INSTRUCTION_START, "{\"run\":7,\"tid\":\"x\",\"args\":[],\"seed\":\"00ff\",\"path\":\"1\"}");
    TfyPayload payload;
    assert_true(tfy__payload_open(&payload, &record));
    assert_null(tfy__payload_text(&payload, TFY_P_RUN));
    assert_int_equal(tfy__payload_int(&payload, TFY_P_TID), 0);
    assert_null(tfy__payload_get(&payload, TFY_P_ARGS));
    assert_int_equal(tfy__payload_hex(&payload, TFY_P_SEED), 0xff);
    assert_string_equal(tfy__payload_text(&payload, TFY_P_PATH), "1");
    tfy__payload_close(&payload);
}

static void test_plain_value(void **state)
{
    (void)state;
    static const char digest[] = "0123456789abcdef";
    size_t len;
    const TfyLogRecord plain =
        record_of(TFY_R_TOOL_RESULT, "{\"tool\":\"t\",\"digest\":\"0123456789abcdef\",\"value\":[1,\"}\"]}");
    const char *value = tfy__record_plain_value(&plain, "t", digest, NULL, &len);
    assert_int_equal(len, 7);
    assert_memory_equal(value, "[1,\"}\"]", 7);
    assert_null(tfy__record_plain_value(&plain, "tt", digest, NULL, &len));
    assert_null(tfy__record_plain_value(&plain, "t", "0123456789abcdee", NULL, &len));
    assert_null(tfy__record_plain_value(&plain, "t", digest, "c", &len));
    for (uint32_t cut = 0; cut < plain.payload_len; cut++) {
        TfyLogRecord part = plain;
        part.payload_len = cut;
        char *own = malloc(cut + 1); /* nothing behind the end is looked at */
        memcpy(own, plain.payload, cut);
        part.payload = own;
        tfy__record_plain_value(&part, "t", digest, NULL, &len);
        free(own);
    }
}

static void test_plain_value_of_call(void **state)
{
    (void)state;
    static const char digest[] = "0123456789abcdef";
    size_t len;
    const TfyLogRecord
        plain = record_of(TFY_R_TOOL_RESULT,
                          "{\"tool\":\"t\",\"digest\":\"0123456789abcdef\",\"call\":\"c\",\"value\":12}"),
        escaped = record_of(TFY_R_TOOL_RESULT,
                            "{\"tool\":\"t\",\"digest\":\"0123456789abcdef\",\"call\":\"\\n\",\"value\":12}");
    const char *value = tfy__record_plain_value(&plain, "t", digest, "c", &len);
    assert_int_equal(len, 2);
    assert_memory_equal(value, "12", 2);
    assert_null(tfy__record_plain_value(&plain, "t", digest, "cc", &len));
    assert_null(tfy__record_plain_value(&plain, "t", digest, "", &len));
    assert_null(tfy__record_plain_value(&plain, "t", digest, NULL, &len));
    assert_null(tfy__record_plain_value(&escaped, "t", digest, "\\n", &len));
    assert_null(tfy__record_plain_value(&escaped, "t", digest, "\n", &len));
}

static void test_writing(void **state)
{
    (void)state;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_TOOL, "a\nb");
    tfy__put_hex(&out, TFY_P_DIGEST, 0x12ab);
    tfy__put_int(&out, TFY_P_ATTEMPT, -7);
    tfy__put_flag(&out, TFY_P_OK, false);
    tfy__put_true(&out, TFY_P_FORCE, false);
    tfy__put_json(&out, TFY_P_VALUE, "[1]", 3);
    tfy__put_end(&out);
    assert_string_equal(
        out.data, "{\"tool\":\"a\\nb\",\"digest\":\"00000000000012ab\",\"attempt\":-7,\"ok\":false,\"value\":[1]}");
    tfy__buffer_reset(&out);
    tfy__put_int(&out, TFY_P_MS, 3); /* a part that goes behind another one */
    assert_string_equal(out.data, ",\"ms\":3");
    tfy__buffer_free(&out);
}

static void test_rules(void **state)
{
    (void)state;
    char text[128];
    TfyLogRecord record = record_of(TFY_R_TASK_YIELD, "{\"due\":5,\"why\":\"sleep\"}");
    assert_null(tfy__payload_fault(&record, text, sizeof text));
    record = record_of(TFY_R_TASK_YIELD, "{\"why\":\"sleep\"}");
    assert_string_equal(tfy__payload_fault(&record, text, sizeof text), "its member 'due' is missing");
    record = record_of(TFY_R_TASK_YIELD, "{\"due\":\"5\",\"why\":\"sleep\"}");
    assert_string_equal(tfy__payload_fault(&record, text, sizeof text), "its member 'due' is of another kind");
    record = record_of(TFY_R_TASK_YIELD, "{\"due\":5,\"ok\":true}");
    assert_string_equal(tfy__payload_fault(&record, text, sizeof text), "it has a member 'ok'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_question),
                                       cmocka_unit_test(test_texts_that_look_like_members),
                                       cmocka_unit_test(test_whatever_stands_there),
                                       cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_plain_value),
                                       cmocka_unit_test(test_plain_value_of_call),
                                       cmocka_unit_test(test_writing),
                                       cmocka_unit_test(test_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

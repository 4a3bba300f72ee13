/* Log lines: which are wanted, what they look like, and the spans they stand in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "observe/line.h"
#include "tfy.h"

#define RUN "01a1f8a7-ac2c-7eb4-8c52-60fd20dc0de4"

static void levels_are_chosen_for_all_and_for_some(void **state)
{
    (void)state;
    char error[TFY_ERROR_TEXT] = "";
    TfyLineFilter filter = {{0}};
    assert_true(tfy__line_filter(&filter, "effect=debug,warn", error));
    assert_true(tfy__line_wanted(&filter, TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT));
    assert_false(tfy__line_wanted(&filter, TFY_LEVEL_TRACE, TFY_TARGET_EFFECT));
    assert_true(tfy__line_wanted(&filter, TFY_LEVEL_WARN, TFY_TARGET_PROGRAM));
    assert_false(tfy__line_wanted(&filter, TFY_LEVEL_INFO, TFY_TARGET_PROGRAM));
    assert_true(tfy__line_filter(&filter, "OFF", error));
    assert_false(tfy__line_wanted(&filter, TFY_LEVEL_ERROR, TFY_TARGET_RUN));
    assert_true(tfy__line_filter(&filter, "", error));
    assert_false(tfy__line_filter(&filter, "warm", error));
    assert_string_equal(error, "'warm' is not a level; use off, error, warn, info, debug or trace");
    assert_false(tfy__line_filter(&filter, "tool=info", error));
    assert_string_equal(error, "'tool' is not a log target; use program, run, task, step or effect");
    assert_false(tfy__line_filter(&filter, "task=", error));
}

/* The ids are a promise: whoever follows a trace over a crash finds the same after it. */
static void spans_nest_and_stay_the_same(void **state)
{
    (void)state;
    char trace[33];
    tfy__trace_id(RUN, trace);
    assert_string_equal(trace, "01a1f8a7ac2c7eb48c5260fd20dc0de4");
    uint64_t run = tfy__span_id(RUN, NULL, 0, 0), task = tfy__span_id(RUN, "1", 0, 0),
             child = tfy__span_id(RUN, "1.12", 0, 0), step = tfy__span_id(RUN, "1.12", 3, 0),
             effect = tfy__span_id(RUN, "1.12", 3, 2);
    assert_int_equal(tfy__span_parent(RUN, "1.12", 3, 2), step);
    assert_int_equal(tfy__span_parent(RUN, "1.12", 3, 0), child);
    assert_int_equal(tfy__span_parent(RUN, "1.12", 0, 0), task);
    assert_int_equal(tfy__span_parent(RUN, "1", 0, 0), run);
    assert_int_equal(tfy__span_parent(RUN, NULL, 0, 0), 0);
    uint64_t all[] = {run, task, child, step, effect};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++) assert_int_not_equal(all[i], all[k]);
    char text[128];
    snprintf(text, sizeof text, "%016llx %016llx", (unsigned long long)run, (unsigned long long)effect);
    assert_string_equal(text, "5b434c5baf53aa2a 1e5dcbbf3b9f8ee0");
}

static json_t *written(const TfyLine *line)
{
    TfyBuffer out = {0};
    tfy__line_json(&out, line);
    assert_int_equal(out.data[out.len - 1], '\n');
    json_t *json = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    tfy__buffer_free(&out);
    return json;
}

static const char *text_of(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static void a_caller_is_a_span_or_ignored(void **state)
{
    (void)state;
    const char *const callers[] = {
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
        "fe-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
    };
    const char *const malformed[] = {
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-011",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319-bb7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    };
    TfyTraceParent parent;
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        parent = (TfyTraceParent){.span = 0};
        assert_true(tfy__trace_parent(callers[i], &parent));
        assert_string_equal(parent.trace, "0af7651916cd43dd8448eb211c80319c");
        assert_true(parent.span == 0xb7ad6b7169203331);
    }
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_false(tfy__trace_parent(malformed[i], &parent));
}

static void a_line_as_json(void **state)
{
    (void)state;
    const char message[] = "a \"remark\"\n";
    TfyLine line = {.ts_ms = 1763805600123,
                    .level = TFY_LEVEL_WARN,
                    .target = TFY_TARGET_PROGRAM,
                    .message = message,
                    .message_len = sizeof message - 1,
                    .run = RUN,
                    .task = "1.2",
                    .workflow = "main",
                    .line = 12,
                    .step = 3};
    json_t *json = written(&line);
    char span[17];
    snprintf(span, sizeof span, "%016llx", (unsigned long long)tfy__span_id(RUN, "1.2", 3, 0));
    assert_string_equal(text_of(json, "ts"), "2025-11-22T10:00:00.123Z");
    assert_string_equal(text_of(json, "level"), "WARN");
    assert_string_equal(text_of(json, "target"), "program");
    assert_string_equal(text_of(json, "message"), message);
    assert_string_equal(text_of(json, "span_id"), span);
    assert_int_equal(strlen(text_of(json, "trace_id")), 32);
    const json_t *fields = json_object_get(json, "fields");
    assert_string_equal(text_of(fields, "task"), "1.2");
    assert_int_equal(json_integer_value(json_object_get(fields, "line")), 12);
    assert_null(json_object_get(fields, "attempt"));
    json_decref(json);
    /* About the process: nothing to nest in. */
    json = written(&(TfyLine){.level = TFY_LEVEL_ERROR, .target = TFY_TARGET_RUN, .message = "", .message_len = 0});
    assert_null(json_object_get(json, "trace_id"));
    json_decref(json);
}

static void a_line_as_text(void **state)
{
    (void)state;
    TfyBuffer out = {0};
    TfyLine line = {.level = TFY_LEVEL_INFO,
                    .level_name = "audit",
                    .target = TFY_TARGET_PROGRAM,
                    .message = "x",
                    .message_len = 1,
                    .run = RUN,
                    .task = "1"};
    tfy__line_text(&out, &line);
    assert_string_equal(out.data, "audit: x\n");
    tfy__buffer_reset(&out);
    line = (TfyLine){.level = TFY_LEVEL_DEBUG,
                     .target = TFY_TARGET_EFFECT,
                     .message = "git",
                     .message_len = 3,
                     .run = RUN,
                     .task = "1.2",
                     .workflow = "main",
                     .file = "lib.tfy",
                     .line = 4};
    tfy__line_text(&out, &line);
    assert_string_equal(out.data, "debug: git (task 1.2, main, lib.tfy line 4)\n");
    tfy__buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_chosen_for_all_and_for_some),
        cmocka_unit_test(spans_nest_and_stay_the_same),
        cmocka_unit_test(a_caller_is_a_span_or_ignored),
        cmocka_unit_test(a_line_as_json),
        cmocka_unit_test(a_line_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

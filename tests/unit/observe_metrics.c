/* The figures: rows of tools, buckets, and the text that Prometheus reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "observe/metrics.h"

static void has(const TfyBuffer *text, const char *wanted)
{
    if (!strstr(text->data, wanted)) fail_msg("there is no '%s' in\n%s", wanted, text->data);
}

static void calls_fall_into_buckets(void **state)
{
    (void)state;
    TfyMetrics metrics = {0};
    TfyBuffer out = {0};
    tfy__metrics_call(&metrics, "git", 0.001, false, false); /* a bound belongs to its bucket */
    tfy__metrics_call(&metrics, "git", 0.0011, true, false);
    tfy__metrics_call(&metrics, "git", 400, true, true);
    tfy__metrics_call(&metrics, "git", -5, false, false);
    tfy__metrics_retry(&metrics, "git");
    tfy__metrics_print(&metrics, &out);
    has(&out, "# TYPE tfy_tool_duration_seconds histogram\n");
    has(&out, "tfy_tool_duration_seconds_bucket{tool=\"git\",le=\"0.001\"} 2\n");
    has(&out, "tfy_tool_duration_seconds_bucket{tool=\"git\",le=\"0.005\"} 3\n");
    has(&out, "tfy_tool_duration_seconds_bucket{tool=\"git\",le=\"300.0\"} 3\n");
    has(&out, "tfy_tool_duration_seconds_bucket{tool=\"git\",le=\"+Inf\"} 4\n");
    has(&out, "tfy_tool_duration_seconds_sum{tool=\"git\"} 400.002100\n");
    has(&out, "tfy_tool_duration_seconds_count{tool=\"git\"} 4\n");
    has(&out, "tfy_tool_calls_total{tool=\"git\"} 4\n");
    has(&out, "tfy_tool_failures_total{tool=\"git\"} 2\n");
    has(&out, "tfy_tool_timeouts_total{tool=\"git\"} 1\n");
    has(&out, "tfy_tool_retries_total{tool=\"git\"} 1\n");
    tfy__buffer_free(&out);
    tfy__metrics_free(&metrics);
}

static void names_cannot_break_the_text(void **state)
{
    (void)state;
    TfyMetrics metrics = {0};
    TfyBuffer out = {0};
    tfy__metrics_call(&metrics, "a\"b\\c\nd", 1, false, false);
    tfy__metrics_print(&metrics, &out);
    has(&out, "tfy_tool_calls_total{tool=\"a\\\"b\\\\c\\nd\"} 1\n");
    tfy__buffer_free(&out);
    tfy__metrics_free(&metrics);
}

/* Whatever names a program makes up, the table has an end. */
static void too_many_tools_share_a_row(void **state)
{
    (void)state;
    TfyMetrics metrics = {0};
    uint64_t calls = 0;
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "tool%d", i);
        tfy__metrics_call(&metrics, name, 0, false, false);
    }
    assert_int_equal(metrics.tool_count, TFY_TOOL_ROWS);
    assert_string_equal(metrics.tools[TFY_TOOL_ROWS - 1].name, "other");
    for (uint32_t i = 0; i < metrics.tool_count; i++) calls += metrics.tools[i].calls;
    assert_int_equal(calls, 1000);
    assert_ptr_equal(tfy__metrics_tool(&metrics, "tool7"), &metrics.tools[7]);
    tfy__metrics_free(&metrics);
}

static void gauges_only_of_what_lives(void **state)
{
    (void)state;
    TfyMetrics metrics = {.runs_started = 3, .tasks_live = 7};
    TfyBuffer out = {0};
    tfy__metrics_print(&metrics, &out);
    has(&out, "tfy_runs_started_total 3\n");
    assert_null(strstr(out.data, "tfy_tasks_live"));
    assert_null(strstr(out.data, "tfy_live_events"));
    tfy__buffer_reset(&out);
    metrics.live = true;
    tfy__metrics_print(&metrics, &out);
    has(&out, "# TYPE tfy_tasks_live gauge\ntfy_tasks_live 7\n");
    tfy__buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_fall_into_buckets),
        cmocka_unit_test(names_cannot_break_the_text),
        cmocka_unit_test(too_many_tools_share_a_row),
        cmocka_unit_test(gauges_only_of_what_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

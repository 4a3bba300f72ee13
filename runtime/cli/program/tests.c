#include "cli/program/tests.h"
#include "core/loop.h"
#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

static void add_text(TfyBuffer *out, const char *name, const char *text)
{
    if (!text) return;
    tfy__buffer_printf(out, ",\"%s\":", name);
    tfy__buffer_json_string(out, text, strlen(text));
}

static bool write_line(TfyBuffer *out)
{
    tfy__buffer_text(out, "}\n");
    bool ok = !out->failed && fwrite(out->data, 1, out->len, stdout) == out->len && fflush(stdout) == 0;
    tfy__buffer_free(out);
    return ok;
}

static bool say_begin(const TfyWorkflow *test)
{
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{\"begin\":");
    tfy__buffer_json_string(&out, test->name, strlen(test->name));
    tfy__buffer_printf(&out, ",\"line\":%u", test->line);
    return write_line(&out);
}

static bool say_end(const TfyWorkflow *test, const TfyTestReport *report)
{
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{\"end\":");
    tfy__buffer_json_string(&out, test->name, strlen(test->name));
    tfy__buffer_printf(&out, ",\"ok\":%s", report->ok ? "true" : "false");
    add_text(&out, "message", report->message);
    if (!report->ok) tfy__buffer_printf(&out, ",\"line\":%u", report->line);
    add_text(&out, "in", report->file);
    add_text(&out, "missing", report->missing);
    add_text(&out, "left", report->left);
    add_text(&out, "right", report->right);
    tfy__buffer_printf(&out, ",\"trail\":%s,\"output\":%s", report->trail.data, report->output.data);
    return write_line(&out);
}

static int run_tests(const TfyProgram *program, const TfyArgs *args)
{
    const char *filter = args->option[OPT_FILTER];
    for (uint32_t i = 0; i < program->test_count; i++) {
        const TfyWorkflow *test = program->tests[i];
        TfyTestReport report;
        if (filter && !strstr(test->name, filter)) continue;
        if (!say_begin(test)) return tfy__flush_stdout(EXIT_LOG);
        int code = tfy__test_run(program, test, &report);
        bool said = code == TFY_OK && say_end(test, &report);
        tfy__test_report_free(&report);
        if (code != TFY_OK) return tfy__fail(tfy__exit_status(code), "the test \"%s\" cannot be run", test->name);
        if (!said) return tfy__flush_stdout(EXIT_LOG);
    }
    return EXIT_DONE;
}

const TfyTester tfy__tester = {run_tests};

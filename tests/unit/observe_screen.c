/* What tfy watch draws: rows of live tasks, notes above them, and nothing that a program could steer a terminal with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/screen.h"

#define NOW 1763805660000 /* 2025-11-22T10:01:00Z */

static void take(TfyScreen *screen, const char *text)
{
    json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    tfy__screen_take(screen, line);
    json_decref(line);
}

static void event(TfyScreen *screen, const char *task, const char *stage, const char *message)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"seq\":1,\"ts\":\"2025-11-22T10:00:30.000Z\",\"task_id\":\"r/%s\",\"stage\":\"%s\",\"message\":\"%s\","
             "\"workflow\":\"work\",\"line\":7,\"step\":3}",
             task, stage, message);
    take(screen, text);
}

/* What is drawn, without the sequences that clear and move. */
static char *drawn(TfyScreen *screen, int columns, int rows)
{
    TfyBuffer out = {0};
    TfyScreenLook look = {.columns = columns, .rows = rows};
    tfy__screen_draw(screen, &look, NOW, false, &out);
    assert_false(out.failed);
    size_t len = 0;
    for (size_t i = 0; i < out.len; i++) {
        if (out.data[i] == '\033') {
            while (!((out.data[i] >= 'A' && out.data[i] <= 'Z') || out.data[i] == 'm')) i++;
        } else if (out.data[i] != '\r') {
            out.data[len++] = out.data[i];
        }
    }
    out.data[len] = '\0';
    return out.data;
}

static void has(const char *text, const char *wanted, bool there)
{
    if ((strstr(text, wanted) != NULL) != there) fail_msg("'%s' is %s\n%s", wanted, there ? "not in" : "in", text);
}

static void a_line_for_each_live_task(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(true);
    event(screen, "1", "ReceivedInstruction", "work");
    event(screen, "1.10", "TaskStep", "work begins");
    event(screen, "1.2", "ToolExecutionStart", "git");
    char *text = drawn(screen, 100, 24);
    has(text, "3 live, 0 ended, 0 failed, 3 events  30.0 s", true);
    has(text, "1.2   runs git (line 7)  in work", true);
    has(text, "step 3  30.0 s\n", true);
    assert_true(strstr(text, "1.2 ") < strstr(text, "1.10 ")); /* by number */
    free(text);
    event(screen, "1.2", "TaskFailure", "Panic: x");
    event(screen, "1.2", "Completed", "failed");
    text = drawn(screen, 100, 24);
    has(text, "2 live, 1 ended, 1 failed", true);
    has(text, "TaskFailure: Panic: x (line 7)\n", true); /* above, once */
    has(text, "git", false);
    free(text);
    text = drawn(screen, 100, 24);
    has(text, "Panic", false);
    free(text);
    tfy__screen_free(screen);
}

static void lines_fit_and_say_nothing_to_the_terminal(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(true);
    event(screen, "1", "Mine", "\\u001b[2J\\u009b31m\\u0007 a very long message that goes on and on and on and on");
    char *text = drawn(screen, 60, 24);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 60);
        if (!line[strcspn(line, "\n")]) break;
    }
    for (const char *at = text; *at; at++) assert_true(*at == '\n' || (unsigned char)*at >= ' ');
    free(text);
    /* No room at all is no reason to write anywhere. */
    free(drawn(screen, 1, 1));
    free(drawn(screen, 5, 0));
    tfy__screen_free(screen);
}

/* Those that work come before those that only wait. */
static void more_tasks_than_lines(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(true);
    for (int i = 1; i <= 5000; i++) {
        char path[16];
        snprintf(path, sizeof path, "1.%d", i);
        event(screen, path, i == 4321 ? "WaitingForLLM" : "Idle", "sleep");
    }
    char *text = drawn(screen, 80, 13);
    has(text, "1.4321", true);
    has(text, "and 4990 more", true);
    free(text);
    for (int i = 5000; i >= 2; i--) {
        char path[16];
        snprintf(path, sizeof path, "1.%d", i);
        event(screen, path, "Completed", "done");
    }
    text = drawn(screen, 80, 13);
    has(text, "1 live, 4999 ended", true);
    has(text, "more", false);
    free(text);
    tfy__screen_free(screen);
}

/* After a gap nobody knows who is still there: the stream is begun anew. */
static void a_gap_forgets(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(false);
    event(screen, "1.1", "Idle", "sleep");
    take(screen, "{\"gap\":true,\"from\":5,\"to\":9}");
    tfy__screen_forget(screen);
    take(screen,
         "{\"live\":true,\"ts\":\"2025-11-22T10:00:30.000Z\",\"task_id\":\"r/1\",\"state\":\"waiting(join)\","
         "\"message\":\"join\",\"workflow\":\"main\",\"line\":2,\"step\":1,\"started\":\"2025-11-22T09:00:00.000Z\"}");
    char *text = drawn(screen, 100, 24);
    has(text, "events 5 to 9 are missing\n", true);
    has(text, "1 live, 0 ended, 0 failed, 1 events  1:01:00", true);
    has(text, "1     waits: join (line 2)  in main", true);
    has(text, "r/1.1", false);
    free(text);
    tfy__screen_free(screen);
}

/* What emit says stays while the task does something else, and a fraction draws a bar. */
static void what_a_program_says(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(true);
    event(screen, "1", "ToolExecutionStart", "git");
    event(screen, "1", "Files", "3/10 done");
    char *text = drawn(screen, 100, 24);
    has(text, "1     runs git (line 7)  [###.......] Files: 3/10 done  in work", true);
    free(text);
    event(screen, "1", "Files", "all done");
    text = drawn(screen, 100, 24);
    has(text, "runs git (line 7)  Files: all done", true);
    free(text);
    tfy__screen_free(screen);
}

/* What a model says is shown by its end, until the task does something else or the answer is lost. */
static void what_a_model_says(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(true);
    event(screen, "1", "Files", "3/10 done");
    event(screen, "1", "WaitingForLLM", "ask");
    event(screen, "1", "Says", "I think");
    event(screen, "1", "Says", " so\\u001b[2J");
    char *text = drawn(screen, 100, 24);
    has(text, "1     asks the model: ask (line 7)  says: I think so\\u{1b}[2J  in work", true);
    free(text);
    for (int i = 0; i < 500; i++) event(screen, "1", "Says", "0123456789");
    text = drawn(screen, 200, 24);
    has(text, "(line 7)  says: ...567890123456789012345678901234567890123456789  in work", true);
    free(text);
    take(screen,
         "{\"seq\":1,\"ts\":\"2025-11-22T10:00:30.000Z\",\"task_id\":\"r/1\",\"stage\":\"Says\",\"message\":\"\","
         "\"void\":true,\"workflow\":\"work\",\"line\":7,\"step\":3}");
    text = drawn(screen, 100, 24);
    has(text, "asks the model: ask (line 7)  [###.......] Files: 3/10 done  in work", true);
    free(text);
    event(screen, "1", "Says", "again");
    event(screen, "1", "Tokens", "ask: 3 in, 4 out");
    text = drawn(screen, 100, 24);
    has(text, "again", false);
    free(text);
    event(screen, "2", "Says", "the first that is known of it");
    text = drawn(screen, 100, 24);
    has(text, "2     runs", true);
    has(text, "says: the first that is known of it", true);
    free(text);
    tfy__screen_free(screen);
}

/* Of a run only as much is shown as tells runs apart. */
static void ids_leave_room(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(false);
    take(screen,
         "{\"seq\":1,\"ts\":\"2025-11-22T10:00:30.000Z\",\"task_id\":\"01a2089b-4981-732a-9e89-e0dd73bf809a/1.2\","
         "\"stage\":\"Idle\",\"message\":\"sleep\",\"workflow\":\"work\",\"line\":7,\"step\":3}");
    char *text = drawn(screen, 80, 24);
    has(text, ". 1.2   waits: sleep (line 7)  in work", true);
    free(text);
    event(screen, "1", "Idle", "sleep");
    text = drawn(screen, 80, 24);
    has(text, "01a2089b-4981/1.2  waits: sleep (line 7)  in work", true);
    has(text, "r/1                waits: sleep (line 7)  in work", true);
    free(text);
    tfy__screen_free(screen);
}

static void keys_choose_a_task(void **state)
{
    (void)state;
    TfyScreen *screen = tfy__screen_new(true);
    tfy__screen_key(screen, TFY_KEY_DOWN); /* there is none to choose */
    tfy__screen_key(screen, TFY_KEY_OPEN);
    for (int i = 1; i <= 100; i++) {
        char path[16];
        snprintf(path, sizeof path, "1.%d", i);
        event(screen, path, "Idle", "sleep");
    }
    char *text = drawn(screen, 80, 12);
    has(text, "> ", false);
    free(text);
    tfy__screen_key(screen, TFY_KEY_DOWN);
    for (int i = 1; i < 50; i++) tfy__screen_key(screen, TFY_KEY_DOWN);
    tfy__screen_key(screen, TFY_KEY_UP);
    text = drawn(screen, 80, 12);
    has(text, "> 1.49 ", true);
    has(text, "of 100\n", true);
    free(text);
    tfy__screen_key(screen, TFY_KEY_OPEN);
    text = drawn(screen, 80, 24);
    has(text, "    task    r/1.49\n", true);
    has(text, "    step    3, for 30.0 s\n", true);
    free(text);
    event(screen, "1.49", "Completed", "done"); /* the next one is chosen */
    text = drawn(screen, 80, 24);
    has(text, "> 1.50 ", true);
    has(text, "    task    r/1.50\n", true);
    free(text);
    tfy__screen_key(screen, TFY_KEY_CLOSE);
    tfy__screen_key(screen, TFY_KEY_CLOSE);
    text = drawn(screen, 80, 12);
    has(text, "> ", false);
    free(text);
    for (int i = 1; i <= 100; i++) {
        char path[16];
        snprintf(path, sizeof path, "1.%d", i);
        event(screen, path, "Completed", "done");
    }
    tfy__screen_key(screen, TFY_KEY_UP);
    free(drawn(screen, 80, 12));
    tfy__screen_free(screen);
}

static void fractions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double fraction; /* below 0: it is not one */
        const char *rest;
    } rows[] = {{"42 %", 0.42, ""},
                {"3/10", 0.3, ""},
                {"3 of 10 files", 0.3, "files"},
                {"0.25", 0.25, ""},
                {" 7%: half", 0.07, "half"},
                {"10/10", 1, ""},
                {"11/10", -1, NULL},
                {"3", -1, NULL},
                {"3 files", -1, NULL},
                {"1.5", -1, NULL},
                {"3/0", -1, NULL},
                {"-1 %", -1, NULL},
                {"2026/11/23", -1, NULL},
                {"3/10th", -1, NULL},
                {"", -1, NULL},
                {"half of it", -1, NULL},
                {"3 of", -1, NULL},
                {"9999999999999999 %", -1, NULL},
                {"99.5% of all", 0.995, "of all"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double fraction = -1;
        const char *rest = NULL;
        const bool found = tfy__screen_fraction(rows[i].text, &fraction, &rest);
        if (found != (rows[i].fraction >= 0)) fail_msg("'%s'", rows[i].text);
        if (!found) continue;
        assert_true(fraction > rows[i].fraction - 1e-9 && fraction < rows[i].fraction + 1e-9);
        assert_string_equal(rest, rows[i].rest);
    }
}

static void bars_fill(void **state)
{
    (void)state;
    TfyBuffer out = {0};
    tfy__screen_bar(&out, 0.3, 10, false);
    tfy__screen_bar(&out, 1, 3, true);
    tfy__screen_bar(&out, 0, 2, true);
    assert_string_equal(out.data, "[###.......][███][░░]");
    tfy__buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_program_says),
        cmocka_unit_test(what_a_model_says),
        cmocka_unit_test(ids_leave_room),
        cmocka_unit_test(keys_choose_a_task),
        cmocka_unit_test(fractions_are_read),
        cmocka_unit_test(bars_fill),
        cmocka_unit_test(a_line_for_each_live_task),
        cmocka_unit_test(lines_fit_and_say_nothing_to_the_terminal),
        cmocka_unit_test(more_tasks_than_lines),
        cmocka_unit_test(a_gap_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

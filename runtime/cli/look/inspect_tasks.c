/* inspect_tasks.c: the tasks of a run as text. A run can have very many: tasks of one workflow that are in the same
 * state, at the same line, and wait for the same kind of thing are a group, and of a large group little is shown. */
#include "cli/frame/report.h"
#include "cli/look/inspect.h"
#include "cli/program/ask.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "observe/asked.h"
#include "observe/screen.h"

#define GROUP_WHOLE 10 /* tasks of a group that are all shown */
#define GROUP_FIRST 3  /* tasks that are shown of a larger group, unless they have completed */

void tfy__inspect_place(const json_t *place)
{
    printf("line %lld", tfy__json_number(place, "line"));
    if (json_object_get(place, "file")) printf(" of %s", tfy__json_text(place, "file"));
}

/* Prints what the process does for a task whose records do not say it. */
static void print_doing(FILE *file, const json_t *task)
{
    const json_t *doing = json_object_get(task, "doing");
    const char *state = tfy__json_text(doing, "state"), *tool = tfy__json_text(doing, "tool");
    const bool works =
        strcmp(state, "waiting(effect)") == 0 && strcmp(tfy__json_text(task, "waits_for"), "endpoint") != 0;
    TfyBuffer took = {0};
    if (!doing || (json_object_get(task, "waits_for") && !works)) return;
    tfy__screen_elapsed(&took, tfy__json_number(doing, "ms"));
    if (works)
        fprintf(file, "    runs %s", *tool ? tool : "a tool");
    else if (strcmp(state, "waiting(join)") == 0)
        fprintf(file, "    waits for other tasks");
    else
        fprintf(file, "    is %s", state);
    if (json_object_get(doing, "line")) fprintf(file, " at line %lld", tfy__json_number(doing, "line"));
    if (json_object_get(doing, "file")) fprintf(file, " of %s", tfy__json_text(doing, "file"));
    fprintf(file, ", for %s\n", took.data && !took.failed ? took.data : "?");
    tfy__buffer_free(&took);
}

static void print_question(FILE *file, const json_t *task, bool details)
{
    TfyBuffer lines = {0};
    tfy__buffer_text(&lines, "    waits for an answer: ");
    tfy__ask_text(&lines, tfy__json_text(task, "question"), details);
    tfy__buffer_char(&lines, '\n');
    tfy__asked_lines(&lines, "      ", json_object_get(task, "call"), json_object_get(task, "origins"), details);
    if (lines.data && !lines.failed) fputs(lines.data, file);
    tfy__buffer_free(&lines);
}

void tfy__inspect_waits(void *to, const json_t *task, bool stopped, bool details)
{
    FILE *file = to;
    const char *waits = tfy__json_text(task, "waits_for");
    if (strcmp(waits, "approval") == 0)
        print_question(file, task, details);
    else if (strcmp(waits, "signal") == 0)
        fprintf(file, "    waits for signal %s%s\n", tfy__json_text(task, "signal"),
                json_object_get(task, "has_come") ? ", which has come" : "");
    else if (strcmp(waits, "resolve") == 0)
        fprintf(file, "    in doubt: %s may or may not have happened (key %s)\n", tfy__json_text(task, "tool"),
                tfy__json_text(task, "key"));
    else if (strcmp(waits, "result") == 0)
        fprintf(file,
                stopped ? "    had started %s; resuming finds out what became of it\n"
                        : "    waits for the result of %s\n",
                tfy__json_text(task, "tool"));
    else if (strcmp(waits, "time") == 0)
        fprintf(file, "    waits until %s\n", tfy__json_text(task, "due"));
    else if (strcmp(waits, "endpoint") == 0)
        fprintf(file, "    waits until %s, as the model's endpoint asks\n", tfy__json_text(task, "due"));
    else if (strcmp(waits, "backoff") == 0)
        fprintf(file, "    tries again at %s\n", tfy__json_text(task, "due"));
    if (json_object_get(task, "asked_by"))
        fprintf(file, "    called by the model's answer at %s\n", tfy__json_text(task, "asked_by"));
    if (json_object_get(task, "error"))
        fprintf(file, "    %s: %s\n", tfy__json_text(json_object_get(task, "error"), "error"),
                tfy__json_text(json_object_get(task, "error"), "message"));
    if (json_object_get(task, "kept_aside"))
        fprintf(file, "    keeps one aside: %s\n", tfy__json_text(task, "kept_aside"));
    print_doing(file, task);
}

static bool has_completed(const json_t *task)
{
    return strcmp(tfy__json_text(task, "state"), "completed") == 0;
}

/* Writes what makes a group. A task that has ended is not at a line any more. */
static void put_group(TfyBuffer *out, const json_t *task)
{
    tfy__buffer_printf(out, "%s/%s/%s/%s", tfy__json_text(task, "workflow"), tfy__json_text(task, "state"),
                       tfy__json_text(task, "waits_for"), tfy__json_text(json_object_get(task, "doing"), "state"));
    if (!has_completed(task))
        tfy__buffer_printf(out, "/%s/%lld", tfy__json_text(task, "file"), tfy__json_number(task, "line"));
}

/* Counts a task in its group; returns how many the group has now. */
static json_int_t count(json_t *groups, const json_t *task)
{
    TfyBuffer key = {0};
    put_group(&key, task);
    const char *name = key.failed ? "" : key.data;
    const json_int_t number = json_integer_value(json_object_get(groups, name)) + 1;
    json_object_set_new(groups, name, json_integer(number));
    tfy__buffer_free(&key);
    return number;
}

static json_int_t size_of_group(const json_t *groups, const json_t *task)
{
    TfyBuffer key = {0};
    put_group(&key, task);
    const json_int_t size = json_integer_value(json_object_get(groups, key.failed ? "" : key.data));
    tfy__buffer_free(&key);
    return size;
}

static void print_task(const json_t *task, bool stopped, bool details)
{
    printf("  %s %s: %s", tfy__json_text(task, "task"), tfy__json_text(task, "workflow"),
           tfy__json_text(task, "state"));
    if (json_object_get(task, "step")) printf(", step %lld", tfy__json_number(task, "step"));
    putchar('\n');
    if (tfy__json_number(task, "line")) {
        printf("    ");
        tfy__inspect_place(task);
        printf(": %s\n", tfy__json_text(task, "source"));
    }
    tfy__inspect_waits(stdout, task, stopped, details);
}

/* Prints a line for the tasks of a group that are not shown. */
static void print_folded(const json_t *task, json_int_t shown, json_int_t size)
{
    if (!shown) {
        printf("  %lld tasks %s: completed\n", (long long)size, tfy__json_text(task, "workflow"));
        return;
    }
    printf("  … and %lld more tasks %s: %s", (long long)(size - shown), tfy__json_text(task, "workflow"),
           tfy__json_text(task, "state"));
    if (tfy__json_number(task, "line")) {
        printf(", at ");
        tfy__inspect_place(task);
    }
    putchar('\n');
}

/* The first task is the run's own, and in no group. */
void tfy__inspect_tasks(const json_t *report, bool details)
{
    const json_t *task, *tasks = json_object_get(report, "tasks");
    const bool stopped = strcmp(tfy__json_text(report, "state"), "stopped") == 0;
    json_t *sizes = json_object(), *seen = json_object();
    size_t i;
    printf("tasks\n");
    json_array_foreach(tasks, i, task) if (i) count(sizes, task);
    json_array_foreach(tasks, i, task)
    {
        const json_int_t size = i ? size_of_group(sizes, task) : 1, number = i ? count(seen, task) : 1,
                         most = size <= GROUP_WHOLE   ? size
                                : has_completed(task) ? 0
                                                      : GROUP_FIRST;
        if (number <= most) print_task(task, stopped, details);
        if (size > most && number == (most ? most : 1)) print_folded(task, most, size);
    }
    json_decref(sizes);
    json_decref(seen);
}

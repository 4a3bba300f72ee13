/* test.c: tfy test: compiles programs with their tests, runs each in a process of its own, and reports the results:
 * as text for people, as TAP, or as JSON lines. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/compile.h"
#include "cli/make/sources.h"
#include "base/buffer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum Style { STYLE_PEOPLE, STYLE_TAP, STYLE_JSON } Style;

/* The state of one invocation: its options, and the counts so far. */
typedef struct Tester {
    const TfyArgs *args;
    Style style;
    int tests, failed;
    int status; /* the worst status other than a failed test */
    /* the current file: */
    const char *file;
    char *running; /* the test that has started and not finished; NULL: none */
} Tester;

static void note_status(Tester *t, int status)
{
    if (status > t->status) t->status = status;
}

/* ---- source lines ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;
    if (!file) return NULL;
    if (getdelim(&text, &cap, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* Returns line n of the file, without its newline; len 0: there is none. */
static const char *line_at(const char *text, long long n, size_t *len)
{
    *len = 0;
    for (; text && n > 1; n--) {
        const char *end = strchr(text, '\n');
        text = end ? end + 1 : NULL;
    }
    if (text && n == 1) *len = strcspn(text, "\n");
    return text;
}

/* Finds the words of the message in the line; else the line without its indentation. */
static void find_place(const char *line, size_t len, const char *message, size_t *from, size_t *to)
{
    static const char assertion[] = "assertion failed: ";
    *from = strspn(line, " \t");
    *to = len;
    if (strncmp(message, assertion, sizeof assertion - 1) != 0) return;
    const char *text = message + sizeof assertion - 1;
    size_t text_len = strcspn(text, "\n");
    for (size_t at = *from; text_len && at + text_len <= len; at++) {
        if (memcmp(line + at, text, text_len) != 0) continue;
        *from = at;
        *to = at + text_len;
        return;
    }
}

static void print_line(const char *line, size_t len, const char *message, const char *indent)
{
    size_t from, to;
    find_place(line, len, message, &from, &to);
    printf("%s    %.*s\n%s    ", indent, (int)len, line, indent);
    for (size_t i = 0; i < to; i++) {
        if (((unsigned char)line[i] & 0xc0) == 0x80) continue; /* a mark per character, not per byte */
        putchar(i > from ? '~' : i == from ? '^' : line[i] == '\t' ? '\t' : ' ');
    }
    putchar('\n');
}

static void print_source(const char *file, long long number, const char *message, const char *indent)
{
    size_t len;
    char *source = read_text(file);
    const char *line = line_at(source, number, &len);
    if (len) print_line(line, len, message, indent);
    free(source);
}

/* ---- people ---- */

static void print_list(const json_t *list, const char *title)
{
    size_t i;
    const json_t *item;
    if (!json_array_size(list)) return;
    printf("      %s:\n", title);
    json_array_foreach((json_t *)list, i, item) printf("        %s\n", json_string_value(item));
}

static void print_details(const json_t *end)
{
    print_list(json_object_get(end, "trail"), "answered");
    print_list(json_object_get(end, "output"), "printed");
}

static void print_failure(const Tester *t, const json_t *end)
{
    long long line = json_integer_value(json_object_get(end, "line"));
    const char *message = tfy__json_text(end, "message"),
               *file = *tfy__json_text(end, "in") ? tfy__json_text(end, "in") : t->file;
    int first = (int)strcspn(message, "\n"); /* an assert may span many lines */
    printf("    %s:", file);
    if (line) printf("%lld:", line);
    printf(" %.*s%s\n", first, message, message[first] ? " …" : "");
    print_source(file, line, message, "    ");
    if (json_object_get(end, "missing")) printf("      write: %s\n", tfy__json_text(end, "missing"));
    if (json_object_get(end, "left"))
        printf("      left:  %s\n      right: %s\n", tfy__json_text(end, "left"), tfy__json_text(end, "right"));
    print_details(end);
}

static void print_people(const Tester *t, const json_t *end, bool ok)
{
    printf("  %s  %s\n", ok ? "ok    " : "FAILED", tfy__json_text(end, "end"));
    if (!ok)
        print_failure(t, end);
    else if (t->args->option[OPT_VERBOSE])
        print_details(end);
}

/* ---- TAP ---- */

/* # and \ have a meaning in a description. */
static void print_tap_name(const char *text)
{
    for (; *text; text++) {
        if (*text == '#' || *text == '\\') putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
}

static void print_yaml(const char *name, const json_t *value)
{
    char *text = value ? tfy__json_print(value, 0) : NULL; /* JSON is YAML */
    if (text) printf("  %s: %s\n", name, text);
    free(text);
}

static void print_tap(const Tester *t, const json_t *end, bool ok)
{
    static const char *const MEMBERS[] = {"message", "in", "line", "missing", "left", "right", "trail", "output"};
    printf("%s %d - ", ok ? "ok" : "not ok", t->tests);
    print_tap_name(t->file);
    printf(": ");
    print_tap_name(tfy__json_text(end, "end"));
    putchar('\n');
    if (ok) return;
    printf("  ---\n");
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
        print_yaml(MEMBERS[i], json_object_get(end, MEMBERS[i]));
    printf("  ...\n");
}

/* ---- JSON ---- */

static void print_json(const Tester *t, const json_t *end)
{
    json_t *line = json_pack("{s:s,s:O}", "file", t->file, "test", json_object_get(end, "end"));
    json_object_update_missing(line, (json_t *)end);
    json_object_del(line, "end");
    tfy__report_line(line);
}

/* ---- one file ---- */

static void tell(Tester *t, const json_t *end)
{
    bool ok = json_is_true(json_object_get(end, "ok"));
    t->tests++;
    t->failed += !ok;
    switch (t->style) {
    case STYLE_PEOPLE: print_people(t, end, ok); break;
    case STYLE_TAP: print_tap(t, end, ok); break;
    case STYLE_JSON: print_json(t, end); break;
    }
    fflush(stdout);
}

/* Reads a line of the program: a test starts, or has finished. */
static void take_line(Tester *t, const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    const char *begins = json_string_value(json_object_get(json, "begin"));
    free(t->running);
    t->running = begins ? strdup(begins) : NULL;
    if (json_object_get(json, "end")) tell(t, json);
    json_decref(json);
}

/* Reports that the process ended in the middle of a test. */
static void tell_crash(Tester *t, int wait_status)
{
    TfyBuffer why = {0};
    if (WIFSIGNALED(wait_status))
        tfy__buffer_printf(&why, "the process was ended by signal %d (%s)", WTERMSIG(wait_status),
                           strsignal(WTERMSIG(wait_status)));
    else
        tfy__buffer_printf(&why, "the process ended with status %d", WEXITSTATUS(wait_status));
    json_t *end = json_pack("{s:s,s:b,s:s}", "end", t->running, "ok", 0, "message", why.failed ? "" : why.data);
    if (end) tell(t, end);
    json_decref(end);
    tfy__buffer_free(&why);
    free(t->running);
    t->running = NULL;
    note_status(t, EXIT_BUG);
}

static pid_t start_program(const Tester *t, const char *program, int *from)
{
    const char *filter = t->args->option[OPT_FILTER];
    const char *words[] = {"tfy", "test", filter ? "--filter" : NULL, filter, NULL};
    int ends[2];
    if (pipe(ends) < 0) return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(program, (char *const *)(uintptr_t)words); /* execv does not modify its words */
        _exit(127);
    }
    close(ends[1]);
    *from = ends[0];
    if (child < 0) close(ends[0]);
    return child;
}

static void run_program(Tester *t, const char *program)
{
    int from = -1, wait_status = 0;
    pid_t child = start_program(t, program, &from);
    FILE *lines = child > 0 ? fdopen(from, "r") : NULL;
    char *line = NULL;
    size_t cap = 0;
    if (!lines) {
        note_status(t, tfy__fail(EXIT_BUG, "cannot run the tests of %s: %s", t->file, strerror(errno)));
        return;
    }
    while (getline(&line, &cap, lines) > 0) take_line(t, line);
    free(line);
    fclose(lines);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) continue;
    if (t->running)
        tell_crash(t, wait_status);
    else if (wait_status)
        note_status(t, WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EXIT_BUG);
}

static void test_file(Tester *t, const char *file)
{
    TfyCompile what = {.name = file,
                       .path = file,
                       .dirs = t->args->dirs,
                       .dir_count = t->args->dir_count,
                       .tests = true,
                       .deny_warnings = t->args->option[OPT_DENY_WARNINGS]};
    char *program = NULL;
    t->file = file;
    int status = tfy__compile(&what, &program), before = t->tests;
    if (status != EXIT_DONE) {
        note_status(t, status);
        return;
    }
    if (t->style == STYLE_PEOPLE) printf("%s\n", file);
    run_program(t, program);
    if (t->style == STYLE_PEOPLE && t->tests == before)
        printf("  no tests%s\n", t->args->option[OPT_FILTER] ? " with this text in their names" : "");
    free(program);
}

/* ---- all files ---- */

/* Does a line of the file open a test? Files without one that are found in a directory are passed over. */
static bool has_tests(const char *path)
{
    char *text = read_text(path);
    bool found = false;
    for (const char *line = text; line && !found; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line + strspn(line, " \t");
        if (strncmp(at, "test", 4) == 0) found = at[4 + strspn(at + 4, " \t")] == '"';
    }
    free(text);
    return found;
}

static int finish(Tester *t)
{
    const char *filter = t->args->option[OPT_FILTER];
    int passed = t->tests - t->failed;
    if (t->style == STYLE_TAP) printf("1..%d\n", t->tests);
    if (t->style == STYLE_JSON) printf("{\"tests\":%d,\"passed\":%d,\"failed\":%d}\n", t->tests, passed, t->failed);
    if (t->style == STYLE_PEOPLE)
        printf("%d test%s: %d passed, %d failed\n", t->tests, t->tests == 1 ? "" : "s", passed, t->failed);
    if (!t->tests && !t->status)
        note_status(t, filter ? tfy__fail(EXIT_DATA, "no test has '%s' in its name", filter)
                              : tfy__fail(EXIT_DATA, "there are no tests; write test \"…\" { … } in a program"));
    return tfy__flush_stdout(t->status ? t->status : t->failed ? EXIT_RUN_FAILED : EXIT_DONE);
}

int tfy__cmd_test(const TfyArgs *args)
{
    Tester t = {.args = args};
    t.style = args->option[OPT_JSON] ? STYLE_JSON : args->option[OPT_TAP] ? STYLE_TAP : STYLE_PEOPLE;
    TfySources sources;
    int status = tfy__sources_find(args, &sources);
    if (status == EXIT_DONE) {
        if (t.style == STYLE_TAP) printf("TAP version 14\n");
        for (int i = 0; i < sources.count; i++)
            if (!sources.items[i].found || has_tests(sources.items[i].path)) test_file(&t, sources.items[i].path);
        status = finish(&t);
    }
    tfy__sources_free(&sources);
    return status;
}

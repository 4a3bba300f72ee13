/* inspect_print.c: a report of tfy inspect as text for people, whoever made it: this command, or a server elsewhere. */
#include "cli/frame/report.h"
#include "cli/look/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/look/ceiling_text.h"
#include "observe/screen.h"
#include "value/json.h"

#define ASKED_MOST 160  /* characters of what a model was asked */
#define VALUE_MOST 1000 /* characters of arguments and result in the text for people */
#define NEXT_MOST  20   /* commands to type in it */

static void print_json(const json_t *value)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value)) : tfy__json_print(value, 2);
    size_t len = text ? strlen(text) : 0;
    while (len && text[len - 1] == '\n') len--;
    /* Continuation lines are indented to the column of the first. */
    for (size_t i = 0; i < len; i++) {
        putchar(text[i]);
        if (text[i] == '\n') fputs("           ", stdout);
    }
    putchar('\n');
    free(text);
}

/* Prints a value as records have it, on one line. A long one is cut. */
static void print_value(const char *label, const json_t *value)
{
    if (!value || json_is_null(value) || (json_is_object(value) && !json_object_size(value))) return;
    TfyBuffer shown = {0};
    char *text = tfy__json_print(value, 0);
    if (text) tfy__screen_cut(&shown, text, VALUE_MOST);
    if (!shown.failed && shown.data)
        printf("%-9s  %s%s\n", label, shown.data, tfy__screen_width(text) > VALUE_MOST ? " … (--json shows all)" : "");
    tfy__buffer_free(&shown);
    free(text);
}

/* Prints the newest message, on one line. A long one is cut. */
static void print_asked(const json_t *asked)
{
    const json_t *messages = json_object_get(asked, "messages"),
                 *last = json_array_get(messages, json_array_size(messages) - 1);
    TfyBuffer shown = {0};
    if (!last) return;
    const char *text = tfy__json_text(last, "text");
    tfy__screen_clean(&shown, tfy__json_text(asked, "prompt"));
    tfy__buffer_text(&shown, ", ");
    tfy__screen_clean(&shown, tfy__json_text(last, "role"));
    tfy__buffer_text(&shown, ": ");
    tfy__screen_cut(&shown, text, ASKED_MOST);
    if (!shown.failed)
        printf("asked      %s%s\n", shown.data, tfy__screen_width(text) > ASKED_MOST ? " … (--json shows all)" : "");
    tfy__buffer_free(&shown);
}

/* How far the run's tools may go: the level of their sandbox, and the options with which it was started. */
static void print_ceiling(const json_t *ceiling)
{
    TfyBuffer options = {0};
    if (!ceiling) return;
    const char *level = json_string_value(json_object_get(ceiling, "level"));
    tfy__ceiling_text(&options, ceiling);
    printf("sandbox    %s%s\n", level ? level : "none", options.data && !options.failed ? options.data : "");
    tfy__buffer_free(&options);
    const char *budget = json_string_value(json_object_get(ceiling, "budget"));
    if (budget) printf("budget     %s\n", budget);
}

static void print_grants(const json_t *grants)
{
    size_t i;
    const json_t *grant;
    json_array_foreach(grants, i, grant) printf("granted    %s (%s, by %s)\n", tfy__json_text(grant, "grant"),
                                                tfy__json_text(grant, "answer"), tfy__json_text(grant, "by"));
}

static void print_held(const char *held, bool owned)
{
    static const char *const causes[][2] = {
        {"person", "somebody wants it so"},
        {"poison", "processes have died while they executed it, or ended again and again before anything was recorded"},
        {"damaged", "its program cannot continue with its records; 'tfy replay' shows the place"},
        {"lost", "the database has lost records of it that it had acknowledged"}};
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(causes[i][0], held) == 0)
            printf("held       %s%s: %s\n", held, owned ? ", as soon as its session leaves it" : "", causes[i][1]);
}

static void print_head(const json_t *report)
{
    const json_t *part;
    printf("run        %s\nworkflow   %s\n", tfy__json_text(report, "run"), tfy__json_text(report, "workflow"));
    print_value("arguments", json_object_get(report, "args"));
    if (json_object_get(report, "yolo")) printf("yolo       every approval is answered with yes\n");
    const long long doubts = tfy__json_number(report, "in_doubt");
    printf("state      %s, %lld records", tfy__json_text(report, "state"), tfy__json_number(report, "records"));
    if (json_object_get(report, "session")) printf(", in session %lld", tfy__json_number(report, "session"));
    if (doubts) printf(", %lld step%s in doubt", doubts, doubts == 1 ? "" : "s");
    putchar('\n');
    if (json_object_get(report, "held")) print_held(tfy__json_text(report, "held"), json_object_get(report, "session"));
    printf("started    %s\n", tfy__json_text(report, "started"));
    if (json_object_get(report, "origin"))
        printf("fork of    %s, at record %lld\n", tfy__json_text(report, "origin"),
               tfy__json_number(report, "origin_lsn"));
    if (json_object_get(report, "moved"))
        printf("program    %.12s, since record %lld\n", tfy__json_text(report, "program"),
               tfy__json_number(report, "moved"));
    if (json_object_get(report, "base"))
        printf("compacted  up to the snapshot, which is record %lld\n", tfy__json_number(report, "base"));
    if (json_object_get(report, "ended")) printf("ended      %s\n", tfy__json_text(report, "ended"));
    print_ceiling(json_object_get(report, "ceiling"));
    print_grants(json_object_get(report, "granted"));
    print_value("result", json_object_get(report, "result"));
    if (json_object_get(report, "deadlock"))
        printf("deadlock   nothing could move it any more:\n%s", tfy__json_text(report, "deadlock"));
    if ((part = json_object_get(report, "asked"))) print_asked(part);
    if ((part = json_object_get(report, "plan"))) {
        const json_t *answer = json_object_get(part, "answer"), *calls = json_object_get(part, "calls");
        printf("plan       ");
        print_json(calls && !*tfy__json_text(part, "answer") ? calls : answer);
    }
    if ((part = json_object_get(report, "confirmed"))) {
        const char *what = *tfy__json_text(part, "tool") ? tfy__json_text(part, "tool") : tfy__json_text(part, "type");
        printf("confirmed  task %s, step %lld: %s", tfy__json_text(part, "task"), tfy__json_number(part, "step"), what);
        if (tfy__json_number(part, "line")) {
            printf(" (");
            tfy__inspect_place(part);
            putchar(')');
        }
        putchar('\n');
    }
    if ((part = json_object_get(report, "commit")))
        printf("commit     %s %s\n", tfy__json_text(part, "sha"), tfy__json_text(part, "message"));
    if ((part = json_object_get(report, "patch"))) {
        printf("patch      %s\n           ", tfy__json_text(part, "path"));
        print_json(json_object_get(part, "diff"));
    }
}

void tfy__inspect_print(const json_t *report, bool details)
{
    const json_t *item, *next = json_object_get(report, "next");
    size_t i;
    print_head(report);
    tfy__inspect_tasks(report, details);
    if (json_array_size(next)) printf("next\n");
    json_array_foreach(next, i, item)
    {
        if (i == NEXT_MOST) break;
        printf("  %s\n", json_string_value(item));
    }
    if (json_array_size(next) > NEXT_MOST)
        printf("  … and %zu more (--json shows all)\n", json_array_size(next) - NEXT_MOST);
}

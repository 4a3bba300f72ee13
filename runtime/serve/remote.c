/* remote.c: see remote.h.
 *
 * ps --server URL [--state STATE] [--workflow NAME] [--limit N] [--json]
 * inspect --server URL [--json] [--details] [RUN]
 * request --server URL JSON DONE      what a person asks of a run (cli/answer/request.h), and what is said when it is taken */
#include "serve/remote.h"

#include <curl/curl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/terminal.h"
#include "cli/frame/cli.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "cli/look/inspect.h"
#include "observe/screen.h"
#include "serve/client.h"
#include "value/json.h"

enum { PAGE = 200, COLUMNS_USUAL = 200 };

typedef struct Words {
    TfyClient client;
    const char *state, *workflow;
    int64_t limit; /* below 0: all */
    bool json, details;
    char **operands;
    int count;
} Words;

/* ---- asking ---- */

static void add_escaped(TfyBuffer *out, const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    if (escaped)
        tfy__buffer_text(out, escaped);
    else
        out->failed = true;
    curl_free(escaped);
}

/* Asks, and takes over the answer. NULL: *status says why, after a message. */
static json_t *ask(const Words *words, const char *method, const TfyBuffer *path, const json_t *body, int *status)
{
    if (path->failed) {
        *status = tfy__fail(EXIT_BUG, "memory ran out");
        return NULL;
    }
    TfyReply reply = tfy__client_ask(&words->client, method, path->data, body);
    *status = tfy__client_judge(&words->client, &reply);
    json_t *json = *status == EXIT_DONE ? json_incref(reply.json) : NULL;
    tfy__client_free(&reply);
    if (*status == EXIT_DONE && !json) *status = tfy__fail(EXIT_LOG, "the server answered what no server of tfy does");
    return json;
}

static json_t *get(const Words *words, TfyBuffer *path, int *status)
{
    json_t *json = ask(words, "GET", path, NULL, status);
    tfy__buffer_free(path);
    return json;
}

/* ---- ps ---- */

/* What a list is asked for; false after a message. */
static bool add_state(const Words *words, TfyBuffer *path)
{
    const char *state = words->state;
    if (!state || strcmp(state, "unfinished") == 0) return true;
    if (strcmp(state, "stopped") == 0) {
        tfy__say("runs of a server are never stopped: it continues them");
        return false;
    }
    const bool doubt = strcmp(state, "doubt") == 0;
    tfy__buffer_text(path, doubt ? "&attention=in_doubt" : "&state=");
    if (!doubt) add_escaped(path, state);
    return true;
}

static bool is_wanted(const Words *words, const json_t *run)
{
    return !words->state || strcmp(words->state, "unfinished") != 0 || json_is_null(json_object_get(run, "ended"));
}

/* 0: it is none. */
static int64_t time_of(const json_t *run, const char *name)
{
    const char *text = tfy__json_text(run, name);
    int64_t ms;
    return tfy__read_time(text, strlen(text), &ms) ? ms : 0;
}

static void add_labels(TfyBuffer *out, const json_t *labels)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)labels, name, value)
        tfy__buffer_printf(out, " %s=%s", name, json_string_value(value) ? json_string_value(value) : "");
}

static void print_row(const json_t *run, int columns)
{
    TfyBuffer line = {0}, what = {0}, clean = {0};
    char started[32];
    const int64_t from = time_of(run, "started");
    const char *attention = tfy__json_text(run, "attention");
    tfy__db_time(from, started);
    const char *state = strcmp(attention, "in_doubt") == 0   ? "doubt"
                        : strcmp(attention, "diverged") == 0 ? attention
                                                             : tfy__json_text(run, "state");
    tfy__buffer_printf(&line, "%-36s  %-9s  %-19s", tfy__json_text(run, "id"), state, started);
    tfy__db_add_took(&line, from, time_of(run, "ended"));
    tfy__buffer_text(&line, "  ");
    tfy__buffer_printf(&what, "%s.%s", tfy__json_text(run, "program"), tfy__json_text(run, "workflow"));
    if (strcmp(attention, "question") == 0) tfy__buffer_text(&what, " asks");
    add_labels(&what, json_object_get(run, "labels"));
    if (!what.failed) tfy__screen_clean(&clean, what.data);
    if (!clean.failed && clean.data) tfy__screen_cut(&line, clean.data, columns - (int)line.len - 1);
    if (!line.failed) puts(line.data);
    tfy__buffer_free(&line);
    tfy__buffer_free(&what);
    tfy__buffer_free(&clean);
}

static void print_object(const json_t *run, int64_t shown)
{
    char *text = json_dumps(run, JSON_COMPACT);
    printf("%s\n  %s", shown ? "," : "", text ? text : "null");
    free(text);
}

/* One page; *cursor, owned, moves on. */
static int print_page(const Words *words, char **cursor, int64_t *shown, int columns)
{
    TfyBuffer path = {0};
    const json_t *run;
    size_t i;
    int status = EXIT_USAGE;
    tfy__buffer_printf(&path, "/v1/runs?limit=%d", PAGE);
    bool made = add_state(words, &path);
    if (words->workflow) {
        tfy__buffer_text(&path, "&workflow=");
        add_escaped(&path, words->workflow);
    }
    if (*cursor) tfy__buffer_printf(&path, "&cursor=%s", *cursor);
    json_t *page = made ? get(words, &path, &status) : NULL;
    tfy__buffer_free(&path);
    json_array_foreach(json_object_get(page, "runs"), i, run)
    {
        if (!is_wanted(words, run) || *shown == words->limit) continue;
        if (words->json)
            print_object(run, *shown);
        else if (*shown == 0)
            printf("%-36s  %-9s  %-19s  %9s  %s\n", "RUN", "STATE", "STARTED", "TOOK", "PROGRAM, WORKFLOW, LABELS");
        if (!words->json) print_row(run, columns);
        ++*shown;
    }
    free(*cursor);
    const char *next = json_string_value(json_object_get(page, "next"));
    *cursor = next && *shown != words->limit ? strdup(next) : NULL;
    json_decref(page);
    return status;
}

static int list(Words *words)
{
    const int columns = tfy__terminal_columns(STDOUT_FILENO);
    char *cursor = NULL;
    int64_t shown = 0;
    int status;
    if (words->json) printf("[");
    do status = print_page(words, &cursor, &shown, columns ? columns : COLUMNS_USUAL);
    while (status == EXIT_DONE && cursor);
    free(cursor);
    if (words->json) printf("%s]\n", shown ? "\n" : "");
    if (status == EXIT_DONE && !words->json && !shown) tfy__say("the server has no such runs");
    return tfy__flush_stdout(status);
}

/* ---- which run ---- */

/* Adds "/v1/runs/RUN" and what follows; "last" is the newest. False: *status says why, after a message. */
static bool add_run(const Words *words, TfyBuffer *path, const char *run, const char *rest, int *status)
{
    json_t *page = NULL;
    *status = EXIT_DONE;
    if (strcmp(run, "last") == 0) {
        TfyBuffer newest = {0};
        tfy__buffer_text(&newest, "/v1/runs?limit=1");
        page = get(words, &newest, status);
        run = tfy__json_text(json_array_get(json_object_get(page, "runs"), 0), "id");
        if (*status == EXIT_DONE && !*run) *status = tfy__fail(EXIT_MISSING, "the server has no runs yet");
    }
    tfy__buffer_text(path, "/v1/runs/");
    add_escaped(path, run);
    tfy__buffer_text(path, rest);
    json_decref(page);
    return *status == EXIT_DONE;
}

/* The report of tfy inspect; NULL: *status says why. */
static json_t *report_of(const Words *words, const char *run, int *status)
{
    TfyBuffer path = {0};
    json_t *report = add_run(words, &path, run, "/tasks", status) ? get(words, &path, status) : NULL;
    tfy__buffer_free(&path);
    return report;
}

/* ---- inspect ---- */

static int inspect(Words *words)
{
    int status;
    json_t *report = report_of(words, words->count ? words->operands[0] : "last", &status);
    if (report && words->json)
        tfy__report_print(json_incref(report), 2);
    else if (report)
        tfy__inspect_print(report, words->details);
    json_decref(report);
    return tfy__flush_stdout(status);
}

/* ---- requests ---- */

/* The only task of the run that waits for that; its step goes to *step. "" after a message: there is none, or several. */
static const char *only_task(const json_t *report, const char *waits, const char *task, int64_t *step)
{
    const json_t *one;
    const char *found = "";
    size_t i;
    int count = 0;
    json_array_foreach(json_object_get(report, "tasks"), i, one)
    {
        if (strcmp(tfy__json_text(one, "waits_for"), waits) != 0 ||
            (task && strcmp(tfy__json_text(one, "task"), task) != 0))
            continue;
        if (*step && *step != tfy__json_number(one, "step")) continue;
        found = tfy__json_text(one, "task");
        if (!count++) *step = tfy__json_number(one, "step");
    }
    if (count == 1) return found;
    if (count)
        tfy__say("%d tasks of run %s wait for that; name one with --task", count, tfy__json_text(report, "run"));
    else
        tfy__say("run %s waits for no such thing%s%s", tfy__json_text(report, "run"), task ? " in task " : "",
                 task ? task : "");
    return "";
}

/* Copies members that are there. */
static json_t *part(const json_t *request, const char *const *names)
{
    json_t *body = json_object();
    for (; *names; names++)
        if (json_object_get(request, *names)) json_object_set(body, *names, json_object_get(request, *names));
    return body;
}

/* The path of a change to a step of a task: the one that the request means. */
static bool add_step(const Words *words, TfyBuffer *path, const json_t *request, bool question, int *status)
{
    const char *task = json_string_value(json_object_get(request, "task"));
    int64_t step = json_integer_value(json_object_get(request, "step"));
    json_t *report = report_of(words, tfy__json_text(request, "run"), status);
    if (!report) return false;
    const char *of = only_task(report, question ? "approval" : "resolve", task, &step);
    if (!*of) *status = EXIT_USAGE;
    if (question)
        tfy__buffer_printf(path, "/v1/questions/%s/%s/%lld/answer", tfy__json_text(report, "run"), of, (long long)step);
    else
        tfy__buffer_printf(path, "/v1/runs/%s/steps/%s/%lld/resolve", tfy__json_text(report, "run"), of,
                           (long long)step);
    json_decref(report);
    return *status == EXIT_DONE;
}

/* Where the request goes, and what it sends there; NULL: *status says why not. */
static json_t *route_of(const Words *words, const json_t *request, TfyBuffer *path, int *status)
{
    const char *what = tfy__json_text(request, "do"), *run = tfy__json_text(request, "run");
    if (strcmp(what, "signal") == 0)
        return add_run(words, path, run, "/signals", status)
                   ? part(request, (const char *const[]){"name", "value", "id", NULL})
                   : NULL;
    if (strcmp(what, "kill") == 0)
        return add_run(words, path, run, "/cancel", status)
                   ? part(request, (const char *const[]){"task", "force", NULL})
                   : NULL;
    if (strcmp(what, "resolve") == 0)
        return add_step(words, path, request, false, status)
                   ? part(request, (const char *const[]){"how", "value", NULL})
                   : NULL;
    if (!add_step(words, path, request, true, status)) return NULL;
    json_t *body = part(request, (const char *const[]){"answer", "why", NULL});
    if (!json_object_get(body, "answer")) json_object_set_new(body, "answer", json_true());
    return body;
}

static int request(Words *words)
{
    TfyBuffer path = {0};
    int status = EXIT_USAGE;
    json_t *request = words->count == 2 ? json_loads(words->operands[0], 0, NULL) : NULL;
    json_t *body = request ? route_of(words, request, &path, &status) : NULL;
    if (body) json_decref(ask(words, "POST", &path, body, &status));
    if (body && status == EXIT_DONE) tfy__say("%s", words->operands[1]);
    tfy__buffer_free(&path);
    json_decref(body);
    json_decref(request);
    return status;
}

/* ---- the commands ---- */

static const struct {
    const char *name;
    int (*run)(Words *words);
} commands[] = {{"ps", list}, {"inspect", inspect}, {"request", request}};

enum { COMMANDS = sizeof commands / sizeof *commands };

static bool take_option(Words *words, int option)
{
    switch (option) {
    case 'd': words->client.db = optarg; return true;
    case 's': words->client.url = optarg; return true;
    case 't': words->state = optarg; return true;
    case 'w': words->workflow = optarg; return true;
    case 'l': words->limit = strtoll(optarg, NULL, 10); return true;
    case 'j': words->json = true; return true;
    case 'f': words->details = true; return true;
    default: return false;
    }
}

bool tfy__is_remote_command(const char *word)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, word) == 0) return true;
    return false;
}

int tfy__remote_command(int argc, char **argv)
{
    static const struct option options[] = {
        {"db", required_argument, NULL, 'd'},    {"server", required_argument, NULL, 's'},
        {"state", required_argument, NULL, 't'}, {"workflow", required_argument, NULL, 'w'},
        {"limit", required_argument, NULL, 'l'}, {"json", no_argument, NULL, 'j'},
        {"details", no_argument, NULL, 'f'},     {NULL, 0, NULL, 0}};
    Words words = {.limit = -1};
    tfy__set_program_name("tfy");
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (!take_option(&words, option)) return EXIT_USAGE;
    words.operands = argv + optind;
    words.count = argc - optind;
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, argv[0]) == 0) return commands[i].run(&words);
    return EXIT_USAGE;
}

/* debugger.c: the commands of tfy replay --step, and moves.
 *
 * The replay calls this file at each stop, possibly from the middle of generated code, and gets the number of the
 * next stop. A move backward ends that replay and starts another one. So the debugger reads commands within the call,
 * and a move is only a number. */
#include "cli/debugger/debugger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/loop.h"
#include "value/json.h"
#include "wal/history/asked.h"
#include "wal/history/history.h"

typedef struct Debugger {
    const TfyProgram *program;
    const TfyHistory *history;
    TfyPlaces places;
    char run[37];
    bool json, locals_only;
    bool interactive;       /* reads commands; otherwise it prints each stop and continues */
    bool every;             /* … prints every record */
    TfyDebugScreen *screen; /* NULL: plain lines */
    char *followed;         /* places.task, owned */
    const json_t *stop;     /* the current position; during a stop only */
    const TfyStop *live;    /* the same stop in the replay's form */
    uint32_t here;          /* its record number */
    uint32_t want;          /* the record number of the next stop */
    bool moves;             /* a command has set `want` */
    bool done;              /* the user wants to quit */
    bool differs;           /* the replay found a difference */
    int status;             /* the exit status after a refused command */
    char *line;             /* of the input */
    size_t line_cap;
} Debugger;

/* ---- a stop as JSON ---- */

static void add_string(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_printf(out, "\"%s\":", name);
    tfy__buffer_json_string(out, text, strlen(text));
    tfy__buffer_char(out, ',');
}

static void add_record(const Debugger *d, TfyBuffer *out)
{
    const TfyHistory *history = d->history;
    const TfyLogRecord *record = &history->records[d->here];
    const uint32_t task = history->record_tasks[d->here];
    tfy__buffer_printf(out, "\"lsn\":%lld,\"time\":\"", (long long)record->lsn);
    tfy__write_time(out, record->ts_ms);
    tfy__buffer_text(out, "\",");
    add_string(out, "task", history->tasks[task].path);
    add_string(out, "workflow", history->task_workflows[task]);
    tfy__buffer_printf(out, "\"step\":%lld,\"type\":\"%s\",\"payload\":%s,", (long long)record->step,
                       tfy__record_type_name(record->type), record->payload);
}

/* What a model was sent, at the record of its answer. */
static void add_messages(const json_t *messages, bool whole, TfyBuffer *out)
{
    if (!messages) return;
    tfy__buffer_printf(out, "\"whole\":%s,\"messages\":", whole ? "true" : "false");
    if (!tfy__encode_json(out, messages)) out->failed = true;
    tfy__buffer_char(out, ',');
}

/* The same for the request, if the log has all of it; NULL: it has not, or no memory. */
static json_t *sent_messages(const json_t *messages, bool whole)
{
    json_t *sent = messages && whole ? json_array() : NULL;
    const json_t *message;
    bool fine = sent;
    size_t i;
    json_array_foreach(messages, i, message)
    {
        json_t *text = json_object_get(message, "text");
        fine = fine && text &&
               json_array_append_new(
                   sent, json_pack("{sO sO}", "role", json_object_get(message, "role"), "content", text)) == 0;
    }
    if (fine) return sent;
    json_decref(sent);
    return NULL;
}

/* path: the task whose frames are shown; NULL: the task that owns the record. */
static void describe(const Debugger *d, const TfyStop *stop, const char *path, bool tasks, TfyBuffer *out)
{
    const char *difference = tfy__stop_difference(stop);
    const bool recorded = !difference && d->here < d->history->record_count;
    bool whole = false;
    json_t *messages = recorded ? tfy__asked_messages(d->history, d->here, &whole) : NULL;
    json_t *sent = path ? NULL : sent_messages(messages, whole);
    tfy__buffer_printf(out, "{\"run\":\"%s\",\"record\":%u,\"of\":%u,", d->run, d->here + 1, d->history->record_count);
    if (difference)
        add_string(out, "difference", difference);
    else if (recorded)
        add_record(d, out);
    add_messages(messages, whole, out);
    tfy__stop_json(stop, path, tasks, sent, out);
    tfy__buffer_char(out, '}');
    json_decref(messages);
    json_decref(sent);
}

static json_t *parse(const TfyBuffer *text)
{
    return text->failed ? NULL : json_loadb(text->data, text->len, JSON_ALLOW_NUL, NULL);
}

/* ---- printing ---- */

static void print(TfyBuffer *out)
{
    if (out->data && !out->failed) fwrite(out->data, 1, out->len, stdout);
    tfy__buffer_free(out);
}

static void print_stop(const Debugger *d, const TfyBuffer *text)
{
    TfyBuffer out = {0};
    if (d->json) {
        fwrite(text->data, 1, text->len, stdout);
        putchar('\n');
        return;
    }
    if (d->locals_only) {
        if (d->every) tfy__view_head(d->stop, &out);
        tfy__view_frames(d->stop, &out);
    } else {
        tfy__view_stop(d->stop, &out);
    }
    print(&out);
}

/* Shows a message to the user: on the screen's last line, or on stderr. */
__attribute__((format(printf, 3, 4))) static void complain(Debugger *d, int status, const char *format, ...)
{
    char text[TFY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (d->screen) {
        snprintf(d->screen->message, sizeof d->screen->message, "%.250s", text);
    } else {
        fflush(stdout);
        d->status = tfy__fail(status, "%s", text);
    }
}

/* ---- commands ---- */

typedef struct Command {
    const char *name;    /* the first letter alone is enough */
    const char *operand; /* NULL: none */
    const char *meaning;
    void (*run)(Debugger *d, const char *operand);
} Command;

static void go(Debugger *d, uint32_t index)
{
    if (d->differs && index >= d->here) {
        complain(d, EXIT_DATA, "the program does not reach the records after this one");
        return;
    }
    d->want = index;
    d->moves = true;
}

static void go_to_place(Debugger *d, const char *place, bool back)
{
    char error[TFY_ERROR_TEXT];
    const int64_t index = tfy__place_find(&d->places, place, d->here, back, error);
    if (index >= 0)
        go(d, (uint32_t)index);
    else
        complain(d, (int)-index, "%s", error);
}

static void command_next(Debugger *d, const char *operand)
{
    if (*operand)
        go_to_place(d, operand, false);
    else if (d->here >= d->history->record_count)
        complain(d, EXIT_MISSING, "this is the end of the log");
    else
        go(d, tfy__place_next(&d->places, d->here));
}

static void command_back(Debugger *d, const char *operand)
{
    if (*operand)
        go_to_place(d, operand, true);
    else if (tfy__place_back(&d->places, d->here) == d->here)
        complain(d, EXIT_MISSING,
                 d->places.task ? "there is no earlier record of task %s" : "this is the first record%s",
                 d->places.task ? d->places.task : "");
    else
        go(d, tfy__place_back(&d->places, d->here));
}

static void command_goto(Debugger *d, const char *operand)
{
    if (*operand)
        go_to_place(d, operand, false);
    else
        complain(d, EXIT_USAGE, "goto needs a place, such as 12, 1.2/7, line:40, failure or end");
}

static void command_failure(Debugger *d, const char *operand)
{
    (void)operand;
    go_to_place(d, "failure", false);
}

static void command_task(Debugger *d, const char *operand)
{
    const TfyHistory *history = d->history;
    bool known = !*operand;
    for (uint32_t i = 0; i < history->task_count; i++) known |= strcmp(history->tasks[i].path, operand) == 0;
    if (!known) {
        complain(d, EXIT_MISSING, "the run has no task '%s'", operand);
        return;
    }
    free(d->followed);
    d->followed = *operand ? strdup(operand) : NULL;
    d->places.task = d->followed;
    if (d->screen && d->followed)
        snprintf(d->screen->message, sizeof d->screen->message, "following task %.60s", d->followed);
    else if (d->screen)
        snprintf(d->screen->message, sizeof d->screen->message, "following all tasks");
}

static void command_locals(Debugger *d, const char *operand)
{
    TfyBuffer out = {0};
    if (!*operand)
        tfy__view_frames(d->stop, &out);
    else if (!tfy__view_local(d->stop, operand, &out))
        complain(d, EXIT_MISSING, "there is no variable '%s' here", operand);
    print(&out);
}

/* Shows all tasks, or the frames of one. */
static void command_where(Debugger *d, const char *operand)
{
    TfyBuffer out = {0}, text = {0};
    describe(d, d->live, *operand ? operand : NULL, !*operand, &text);
    json_t *view = parse(&text);
    if (!*operand)
        tfy__view_tasks(view, &out);
    else if (json_array_size(json_object_get(view, "frames")))
        tfy__view_frames(view, &out);
    else
        complain(d, EXIT_MISSING, "no task '%s' is alive here", operand);
    json_decref(view);
    tfy__buffer_free(&text);
    print(&out);
}

static void command_messages(Debugger *d, const char *operand)
{
    TfyBuffer out = {0};
    (void)operand;
    if (!json_object_get(d->stop, "messages"))
        complain(d, EXIT_MISSING, "nothing is kept here that was sent to a model");
    tfy__view_messages(d->stop, 0, &out);
    print(&out);
}

static void command_source(Debugger *d, const char *operand)
{
    TfyBuffer out = {0};
    (void)operand;
    tfy__view_source(d->stop, d->program, 11, &out);
    print(&out);
}

static void command_print(Debugger *d, const char *operand)
{
    TfyBuffer text = {0};
    (void)operand;
    describe(d, d->live, NULL, true, &text);
    tfy__buffer_char(&text, '\n');
    print(&text);
}

static void command_quit(Debugger *d, const char *operand)
{
    (void)operand;
    d->done = d->moves = true;
}

static void command_help(Debugger *d, const char *operand);

static const Command COMMANDS[] = {
    {"next", "[PLACE]", "go to the next record, or to the next one at a place", command_next},
    {"back", "[PLACE]", "go to the record before, or to the nearest earlier one at a place", command_back},
    {"goto", "PLACE", "go to 12 (a record), lsn:57, 1.2/7 (task 1.2, step 7), line:40, FILE:40, a point, start, end",
     command_goto},
    {"failure", NULL, "go to the next failure", command_failure},
    {"task", "[PATH]", "stop only at records of this task; without PATH, at all", command_task},
    {"locals", "[NAME]", "show the frames with their variables; one variable in full", command_locals},
    {"where", "[PATH]", "show all tasks, or the frames of one", command_where},
    {"messages", NULL, "show what the model was sent, in full", command_messages},
    {"source", NULL, "show the lines around this one", command_source},
    {"print", NULL, "print this stop as one line of JSON", command_print},
    {"help", NULL, "print this", command_help},
    {"quit", NULL, "leave", command_quit},
};
#define COMMAND_COUNT ((int)(sizeof COMMANDS / sizeof *COMMANDS))

static void command_help(Debugger *d, const char *operand)
{
    (void)d;
    (void)operand;
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("%-8s %-8s %s\n", COMMANDS[i].name, COMMANDS[i].operand ? COMMANDS[i].operand : "", COMMANDS[i].meaning);
    printf("The first letter is enough. An empty line means next.\n");
}

static const char *command_candidate(const void *state, int index)
{
    (void)state;
    return index < COMMAND_COUNT ? COMMANDS[index].name : NULL;
}

/* Messages repeat words of the input; a terminal must not obey their control characters. */
static void make_harmless(char *line)
{
    for (unsigned char *at = (unsigned char *)line; *at; at++) {
        const bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (c1 || *at < ' ' || *at == 0x7f) *at = ' ';
        if (c1) at[1] = ' ';
    }
}

/* Splits a line into a command and its operand. */
static void obey(Debugger *d, char *line)
{
    make_harmless(line);
    char *begin = line + strspn(line, " \t"), *end = begin + strcspn(begin, " \t\r\n");
    char *operand = end + strspn(end, " \t\r\n");
    *end = '\0';
    operand[strcspn(operand, "\r\n")] = '\0';
    const char *word = *begin ? begin : "next";
    for (size_t len = strlen(operand); len && strchr(" \t", operand[len - 1]); len--) operand[len - 1] = '\0';
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, COMMANDS[i].name) != 0 && (word[1] || *word != *COMMANDS[i].name)) continue;
        if (*operand && !COMMANDS[i].operand)
            complain(d, EXIT_USAGE, "%s takes no argument", COMMANDS[i].name);
        else
            COMMANDS[i].run(d, operand);
        return;
    }
    const char *meant = tfy__nearest(word, command_candidate, NULL);
    complain(d, EXIT_USAGE, "there is no command '%.60s'%s%s%s", word, meant ? "; did you mean '" : "; help lists them",
             meant ? meant : "", meant ? "'?" : "");
}

/* Reads commands until one moves. */
static void take_commands(Debugger *d)
{
    while (!d->moves) {
        fflush(stdout);
        if (d->screen) {
            const char *line = tfy__debug_screen_command(d->screen, d->stop);
            char copy[256];
            snprintf(copy, sizeof copy, "%s", line ? line : "quit");
            obey(d, copy);
        } else if (getline(&d->line, &d->line_cap, stdin) < 0) {
            command_quit(d, "");
        } else {
            obey(d, d->line);
        }
    }
}

/* ---- stepping ---- */

static uint32_t on_stop(void *state, const TfyStop *stop)
{
    Debugger *d = state;
    TfyBuffer text = {0};
    d->live = stop;
    d->here = tfy__stop_record(stop);
    d->differs = tfy__stop_difference(stop) != NULL;
    const bool at_end = d->here >= d->history->record_count;
    describe(d, stop, NULL, d->screen || at_end || (d->json && !d->every), &text);
    json_t *view = parse(&text);
    d->stop = view;
    d->moves = false;
    if (!view) {
        complain(d, EXIT_BUG, "this stop cannot be shown: memory ran out, or a value nests too deep");
        d->done = true;
    } else {
        if (!d->screen) print_stop(d, &text);
        if (d->interactive)
            take_commands(d);
        else if (d->every && d->here < d->history->record_count && !tfy__stop_difference(stop))
            go(d, d->here + 1);
        else
            d->done = true;
    }
    tfy__buffer_free(&text);
    json_decref(view);
    d->stop = NULL;
    d->live = NULL;
    return d->done || d->want <= d->here ? TFY_STEP_AWAY : d->want;
}

/* Runs one replay after the other, each from the start to the wanted record. */
static int step(Debugger *d)
{
    while (!d->done) {
        const TfyStepping stepping = {.first = d->want, .stop = on_stop, .state = d};
        const TfyOptions options = {.quiet = true};
        TfyReplayReport report = {0};
        d->here = UINT32_MAX;
        const int code = tfy__replay_steps(d->program, d->history, &options, &stepping, &report);
        if (d->here == UINT32_MAX) /* the replay made no stop */
            return tfy__fail(code ? tfy__exit_status(code) : EXIT_BUG, "run %s cannot be replayed: %s", d->run,
                             *report.text ? report.text : "it does not reach this record");
    }
    return d->differs ? EXIT_DATA : d->status;
}

static int begin(Debugger *d, const TfyArgs *args)
{
    const char *until = args->option[OPT_UNTIL];
    char error[TFY_ERROR_TEXT];
    const int64_t index = tfy__place_find(&d->places, until ? until : "start", UINT32_MAX, false, error);
    if (index < 0) return tfy__fail((int)-index, "%s", error);
    d->want = (uint32_t)index;
    return EXIT_DONE;
}

static int debug_command(const TfyProgram *program, const TfyHistory *history, const TfyArgs *args)
{
    TfyDebugScreen screen;
    Debugger d = {.program = program,
                  .history = history,
                  .places = {.program = program, .history = history},
                  .json = args->option[OPT_JSON],
                  .locals_only = args->option[OPT_PRINT_LOCALS],
                  .interactive = args->option[OPT_STEPPING],
                  .every = !args->option[OPT_UNTIL] && !args->option[OPT_STEPPING]};
    tfy__uuid_text(history->run.uuid, d.run);
    int status = begin(&d, args);
    if (status != EXIT_DONE) return status;
    const char *term = getenv("TERM");
    if (d.interactive && !d.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
        strcmp(term, "dumb") != 0) {
        d.screen = &screen;
        tfy__debug_screen_open(&screen, program);
    }
    status = step(&d);
    if (d.screen) tfy__debug_screen_close(&screen);
    free(d.followed);
    free(d.line);
    return tfy__flush_stdout(status);
}

const TfyDebugger tfy__debugger = {debug_command};

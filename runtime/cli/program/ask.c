#include "cli/program/ask.h"
#include "base/list.h"
#include "cli/frame/cli.h"
#include "core/effect.h"
#include "core/world.h"
#include "observe/asked.h"
#include "base/buffer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a question, and of its details, that are shown at most, and of the two ends of a longer one. */
enum { QUESTION_MOST = 65536, QUESTION_HEAD = 49152, QUESTION_TAIL = 8192 };

/* A question that has no answer from the terminal yet. */
typedef struct Question {
    char run[37];
    char *task, *text, *answers; /* owned */
    int64_t step;
    bool free_text; /* any text is a valid answer */
    struct Question *next;
} Question;

struct TfyAsker {
    TfyLoop *loop;
    bool terminal;
    bool details;           /* long arguments are shown whole */
    char *command;          /* owned */
    int64_t watch;          /* of standard input; -1: not watched */
    uint32_t told;          /* number of questions whose command was printed */
    Question *first, *last; /* first is the one on the screen */
    char line[512];         /* the input typed so far */
    size_t line_len;
};

static void free_question(Question *question)
{
    free(question->task);
    free(question->text);
    free(question->answers);
    free(question);
}

static void show(const TfyAsker *asker)
{
    if (asker->first) tfy__say_text("%s\n(%s) > ", asker->first->text, asker->first->answers);
}

static void next_question(TfyAsker *asker)
{
    free_question(LIST_TAKE(asker, next));
    show(asker);
}

/* Expands "y" and "n" where yes and no are answers. */
static const char *in_full(const Question *question, const char *typed)
{
    if (strstr(question->answers, "yes")) {
        if (strcmp(typed, "y") == 0 || strcmp(typed, "Y") == 0) return "yes";
        if (strcmp(typed, "n") == 0 || strcmp(typed, "N") == 0) return "no";
    }
    return typed;
}

static void take_line(TfyAsker *asker)
{
    char error[TFY_ERROR_TEXT], by[64];
    Question *question = asker->first;
    char *typed = asker->line;
    asker->line[asker->line_len] = '\0';
    asker->line_len = 0;
    tfy__out_line_ended(asker->loop);
    while (*typed == ' ' || *typed == '\t') typed++;
    for (size_t len = strlen(typed); len > 0 && strchr(" \t\r", typed[len - 1]); len--) typed[len - 1] = '\0';
    if (!question) return;
    if (!*typed) {
        show(asker);
        return;
    }
    tfy__user_name(geteuid(), by, sizeof by);
    int code = tfy__arrive_approval(asker->loop, question->run, question->task, question->step,
                                    in_full(question, typed), by, NULL, error);
    if (code == TFY_E_INVALID) {
        tfy__say_text("%s\n(%s) > ", error, question->answers);
        return;
    }
    if (code != TFY_OK) tfy__say("%s", error); /* another answer came first, or the task has ended */
    next_question(asker);
}

static void typed_bytes(TfyAsker *asker, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n') {
            take_line(asker);
        } else if (asker->line_len + 1 < sizeof asker->line) {
            asker->line[asker->line_len++] = bytes[i];
        }
    }
}

static void stop_reading(TfyAsker *asker)
{
    if (asker->watch >= 0) tfy__watch_del(asker->loop, asker->watch);
    asker->watch = -1;
}

/* The descriptor may be shared with other processes, so it stays blocking: poll reports whether a read would wait. */
static void on_input(void *arg, uint32_t events)
{
    TfyAsker *asker = arg;
    (void)events;
    for (;;) {
        char bytes[256];
        struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&ready, 1, 0) <= 0) return;
        ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got <= 0) {
            stop_reading(asker);
            if (asker->first)
                tfy__say_text("\nanswer with: %s approve %s %s\n", asker->command, asker->first->run,
                              asker->first->free_text ? "TEXT" : "--yes or --no");
            return;
        }
        typed_bytes(asker, bytes, (size_t)got);
    }
}

static bool is_inside(const char *at)
{
    return ((unsigned char)*at & 0xc0) == 0x80; /* of a character */
}

void tfy__ask_text(TfyBuffer *out, const char *text, bool details)
{
    const size_t len = strlen(text);
    if (details || len <= QUESTION_MOST) {
        tfy__buffer_add(out, text, len);
        return;
    }
    const char *head_end = text + QUESTION_HEAD, *tail = text + len - QUESTION_TAIL;
    while (head_end > text && is_inside(head_end)) head_end--;
    while (is_inside(tail)) tail++;
    tfy__buffer_add(out, text, (size_t)(head_end - text));
    tfy__buffer_printf(out, "…(%zu bytes, --details shows all)…", len);
    tfy__buffer_text(out, tail);
}

/* NULL: no memory. */
static char *text_of(const TfyAsker *asker, const TfyQuestion *asked)
{
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "%s, line %u%s%s asks: ", asked->workflow, asked->line, asked->file ? " of " : "",
                       asked->file ? asked->file : "");
    tfy__ask_text(&text, asked->question, asker->details);
    if (asked->details && *asked->details) tfy__buffer_char(&text, '\n');
    if (asked->details) tfy__ask_text(&text, asked->details, asker->details);
    if (text.failed) {
        tfy__buffer_free(&text);
        return NULL;
    }
    return asked->call ? asked->asked->by->tell(text.data, asked, asker->details) : text.data;
}

static void enqueue(TfyAsker *asker, const TfyQuestion *asked)
{
    Question *question = calloc(1, sizeof *question);
    if (!question) return;
    snprintf(question->run, sizeof question->run, "%s", asked->run);
    question->task = strdup(asked->task);
    question->text = text_of(asker, asked);
    question->answers = strdup(asked->answers);
    question->step = asked->step;
    question->free_text = asked->free_text;
    if (!question->task || !question->text || !question->answers) {
        free_question(question);
        return;
    }
    LIST_APPEND(asker, question, next);
    if (asker->first == question) show(asker);
}

/* Without a terminal the message names the command at once: other tasks may keep the process busy for a long time. */
static void print_question(const TfyAsker *asker, const TfyQuestion *asked)
{
    char *text = text_of(asker, asked);
    bool plain = strcmp(asked->answers, "yes, no") == 0;
    const char *command = NULL;
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "  %s approve %s --task %s --step %lld %s%s%s", asker->command, asked->run, asked->task,
                       (long long)asked->step,
                       asked->free_text ? "TEXT"
                       : plain          ? "--yes|--no"
                                        : "--answer CASE (",
                       plain || asked->free_text ? "" : asked->answers, plain || asked->free_text ? "" : ")");
    command = out.failed ? "" : out.data;
    if (tfy__says_json())
        tfy__say("%s; answer with:%s", text ? text : asked->question, command + 1);
    else
        tfy__say_text("%s\n%s\n", text ? text : asked->question, command);
    tfy__buffer_free(&out);
    free(text);
}

/* Printed on a terminal too: a person must find out elsewhere what the step did, so the process does not hold a
 * prompt open for it. */
static void print_doubt(const TfyAsker *asker, const TfyQuestion *asked)
{
    const bool root = strcmp(asked->task, "1") == 0;
    TfyBuffer text = {0}, command = {0};
    tfy__buffer_printf(&text, "%s, line %u%s%s: step %lld (%s) may have happened %s; say which", asked->workflow,
                       asked->line, asked->file ? " of " : "", asked->file ? asked->file : "", (long long)asked->step,
                       asked->question, asked->details);
    tfy__buffer_printf(&command, "  %s resolve %s %lld%s%s %s", asker->command, asked->run, (long long)asked->step,
                       root ? "" : " --task ", root ? "" : asked->task, asked->answers);
    if (!text.failed && !command.failed && tfy__says_json())
        tfy__say("%s:%s", text.data, command.data + 1);
    else if (!text.failed && !command.failed)
        tfy__say_text("%s%s:\n%s\n", tfy__ask_open(asker) ? "\n" : "", text.data, command.data);
    tfy__buffer_free(&text);
    tfy__buffer_free(&command);
}

static void on_question(void *state, const TfyQuestion *asked)
{
    TfyAsker *asker = state;
    if (asked->doubt) {
        print_doubt(asker, asked);
        asker->told++;
        if (tfy__ask_open(asker)) show(asker);
    } else if (asker->terminal && asker->watch >= 0) {
        enqueue(asker, asked);
    } else {
        print_question(asker, asked);
        asker->told++;
    }
}

TfyAsker *tfy__ask_start(TfyLoop *loop, bool terminal, bool details, const char *command)
{
    TfyAsker *asker = calloc(1, sizeof *asker);
    if (!asker) return NULL;
    asker->loop = loop;
    asker->terminal = terminal;
    asker->details = details;
    asker->command = strdup(command);
    asker->watch = -1;
    if (!asker->command) {
        free(asker);
        return NULL;
    }
    if (terminal) asker->watch = tfy__watch_add(loop, STDIN_FILENO, TFY_FD_READ, on_input, asker);
    tfy__on_question(loop, on_question, asker);
    return asker;
}

uint32_t tfy__ask_told(const TfyAsker *asker)
{
    return asker ? asker->told : 0;
}

bool tfy__ask_open(const TfyAsker *asker)
{
    return asker && asker->first && asker->watch >= 0;
}

void tfy__ask_stop(TfyAsker *asker)
{
    if (!asker) return;
    tfy__on_question(asker->loop, NULL, NULL);
    stop_reading(asker);
    for (Question *question; (question = LIST_TAKE(asker, next));) free_question(question);
    free(asker->command);
    free(asker);
}

#include "cli/program/live.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/frame/cli.h"
#include "core/effect.h"
#include "core/world.h"
#include "observe/screen.h"

enum { FIRST_MS = 300, TICK_MS = 200, SLOW_TICK_MS = 1000, SLOW_AFTER_MS = 60000, HINT_MS = 3000 };
enum { WIDE = 100, BAR = 10, SAID_LEAST = 6 }; /* columns */

struct TfyLiveLine {
    TfyLoop *loop;
    char *command; /* owned */
    int timer;     /* a descriptor: a timer of the loop would keep a run alive that waits for nothing */
    int64_t watch;
    bool utf8;
    int tick_ms;
    uint64_t frame;      /* turns the spinner */
    TfyPalCursor cursor; /* in the events of the process: what the program says of itself */
    char *said;          /* the newest of that, owned; NULL: nothing */
    char said_by[160];   /* the task that said it, which forgets it when it ends */
    TfyBuffer says;      /* what a model says to a task … */
    char says_to[160];   /* … until this task does something else */
    char what[160];      /* what the run did at the last look … */
    int64_t since_ns;    /* … and since when */
};

/* Whether an event is the program's own, by emit. */
static bool is_own(const char *stage)
{
    static const char *const others[] = {"ReceivedInstruction",
                                         "WaitingForLLM",
                                         "ToolExecutionStart",
                                         "SecretUsed",
                                         "TaskStep",
                                         "AwaitingUserApproval",
                                         "PreviewingPatch",
                                         "CommittingPatch",
                                         "Idle",
                                         "ToolExecutionComplete",
                                         "Completed",
                                         "TaskFailure",
                                         "Tokens",
                                         "Says",
                                         "Log"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(stage, others[i], strlen(others[i])) == 0 && stage[strlen(others[i])] == '"') return false;
    return true;
}

/* Keeps what a model says to one task, until that does something else; of several that hear one, the first. */
static void take_says(TfyLiveLine *live, const TfyPalEvent *event, const char *stage_at, const char *by)
{
    static const char SAYS[] = "Says\"";
    const bool says = strncmp(stage_at, SAYS, strlen(SAYS)) == 0, same = strcmp(by, live->says_to) == 0;
    if (!says && same) tfy__buffer_free(&live->says);
    if (!says || (live->says.len && !same)) return;
    json_t *json = json_loadb(event->text, event->len, 0, NULL);
    const char *text = json_string_value(json_object_get(json, "message"));
    if (json_object_get(json, "void"))
        tfy__buffer_free(&live->says);
    else if (text)
        tfy__screen_hear(&live->says, text);
    strcpy(live->says_to, by);
    json_decref(json);
}

/* Keeps "STAGE: TEXT" of an event, until its task ends. */
static void take_event(TfyLiveLine *live, const TfyPalEvent *event)
{
    static const char MEMBER[] = "\"stage\":\"", COMPLETED[] = "Completed\"";
    const char *at = memmem(event->text, event->len, MEMBER, strlen(MEMBER)),
               *stage_at = at ? at + strlen(MEMBER) : NULL;
    char by[sizeof live->said_by];
    if (!at) return;
    snprintf(by, sizeof by, "%.*s", (int)event->task_len, event->text + event->task_at);
    if (live->said && strncmp(stage_at, COMPLETED, strlen(COMPLETED)) == 0 && strcmp(by, live->said_by) == 0) {
        free(live->said);
        live->said = NULL;
    }
    take_says(live, event, stage_at, by);
    if (!is_own(stage_at)) return;
    json_t *json = json_loadb(event->text, event->len, 0, NULL);
    const char *stage = json_string_value(json_object_get(json, "stage")),
               *text = json_string_value(json_object_get(json, "message"));
    char *said = NULL;
    if (stage && text && asprintf(&said, "%s: %s", stage, text) >= 0) {
        free(live->said);
        live->said = said;
        memcpy(live->said_by, by, sizeof by);
    }
    json_decref(json);
}

static void take_events(TfyLiveLine *live)
{
    TfyPal *pal = tfy__pal(live->loop);
    const TfyPalEvent *event;
    uint64_t from;
    TfyPalFound found;
    while (pal && (found = tfy__pal_read(pal, &live->cursor, &event, &from)) != TFY_PAL_NONE)
        if (found == TFY_PAL_EVENT) take_event(live, event);
}

/* Names a place as messages do: "line 6", "lib.tfy line 6". */
static void add_place(TfyBuffer *out, const TfyDoing *doing)
{
    if (doing->line)
        tfy__buffer_printf(out, " (%s%sline %u)", doing->file ? doing->file : "", doing->file ? " " : "", doing->line);
}

static void add_doing(TfyBuffer *out, const TfyDoing *doing)
{
    switch (doing->state) {
    case TFY_TASK_WAITING_EFFECT:
        tfy__buffer_printf(out, "%s %s", doing->since_ns ? "runs" : "waits for its turn at", doing->tool);
        break;
    case TFY_TASK_SLEEPING: tfy__buffer_text(out, "sleeps"); break;
    case TFY_TASK_WAITING_APPROVAL: tfy__buffer_text(out, "waits for an answer"); break;
    case TFY_TASK_WAITING_SIGNAL: tfy__buffer_text(out, "waits for a signal"); break;
    case TFY_TASK_WAITING_CHANNEL: tfy__buffer_text(out, "waits for a channel"); break;
    case TFY_TASK_WAITING_LOCK: tfy__buffer_text(out, "waits for a lock"); break;
    case TFY_TASK_WAITING_IO: tfy__buffer_text(out, "waits for input"); break;
    default: tfy__buffer_text(out, "runs"); break;
    }
    add_place(out, doing);
    if (doing->tasks > 1)
        tfy__buffer_printf(out, " + %u%s task%s", doing->tasks - 1, doing->tasks == TFY_DOING_MOST ? " or more" : "",
                           doing->tasks == 2 ? "" : "s");
}

/* Notices when the run does something else. A call knows itself when it started. */
static void take_doing(TfyLiveLine *live, const TfyDoing *doing)
{
    char what[sizeof live->what];
    snprintf(what, sizeof what, "%d %.100s %.32s/%lld", (int)doing->state, doing->tool, doing->path,
             (long long)doing->step);
    if (strcmp(what, live->what) != 0) live->since_ns = tfy__now_ns(live->loop);
    memcpy(live->what, what, sizeof what);
    if (doing->since_ns) live->since_ns = doing->since_ns;
}

static void add_head(TfyBuffer *out, const TfyLiveLine *live, const char *said, int columns)
{
    static const char *const turns[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    double fraction;
    const char *rest;
    if (live->utf8)
        tfy__buffer_text(out, turns[live->frame % 10]);
    else
        tfy__buffer_char(out, "|/-\\"[live->frame % 4]);
    tfy__buffer_char(out, ' ');
    if (!tfy__screen_fraction(said, &fraction, &rest)) return;
    tfy__screen_bar(out, fraction, columns < WIDE ? BAR : 2 * BAR, live->utf8);
    tfy__buffer_printf(out, " %d %%  ", (int)(100 * fraction));
}

/* What the program says itself, or the end of what a model says. */
static void add_said(TfyBuffer *out, const TfyLiveLine *live, int room)
{
    if (room < SAID_LEAST || !(live->says.len || live->said)) return;
    tfy__buffer_text(out, "  ");
    if (live->says.len)
        tfy__screen_end(out, live->says.data, room, live->utf8);
    else
        tfy__screen_cut(out, live->said, room);
}

/* "⠙ [█████░░░░░] 50 %  runs pay (line 6), 3.2 s  Files: 3 of 6  tfy watch shows more": what is said gets the room that
 * is left. */
static void write_line(const TfyLiveLine *live, const TfyDoing *doing, int columns, TfyBuffer *out)
{
    const int64_t ms = (tfy__now_ns(live->loop) - live->since_ns) / 1000000;
    const char *said = live->said ? strstr(live->said, ": ") : NULL;
    TfyBuffer head = {0}, hint = {0};
    add_head(&head, live, said ? said + 2 : "", columns);
    add_doing(&head, doing);
    tfy__buffer_text(&head, ", ");
    tfy__screen_elapsed(&head, ms);
    if (ms >= HINT_MS) tfy__buffer_printf(&hint, "  %s watch shows more", live->command);
    if (!head.failed && !hint.failed) {
        const int used = tfy__screen_width(head.data), hint_width = (int)hint.len,
                  room = columns - 1 - used - hint_width - 2;
        tfy__screen_cut(out, head.data, columns - 1);
        add_said(out, live, room);
        if (hint_width && used + hint_width < columns) tfy__buffer_text(out, hint.data);
    }
    tfy__buffer_free(&head);
    tfy__buffer_free(&hint);
}

static void set_timer(const TfyLiveLine *live, int first_ms, int tick_ms)
{
    const struct itimerspec times = {.it_value = {.tv_nsec = first_ms % 1000 * 1000000L, .tv_sec = first_ms / 1000},
                                     .it_interval = {.tv_nsec = tick_ms % 1000 * 1000000L, .tv_sec = tick_ms / 1000}};
    timerfd_settime(live->timer, 0, &times, NULL);
}

/* A run that has waited long is looked at less often. */
static void slow_down(TfyLiveLine *live)
{
    const bool slow = tfy__now_ns(live->loop) - live->since_ns > SLOW_AFTER_MS * INT64_C(1000000);
    const int tick_ms = slow ? SLOW_TICK_MS : TICK_MS;
    if (tick_ms != live->tick_ms) set_timer(live, tick_ms, tick_ms);
    live->tick_ms = tick_ms;
}

static void on_tick(void *arg, uint32_t events)
{
    TfyLiveLine *live = arg;
    TfyBuffer out = {0};
    TfyDoing doing;
    uint64_t count;
    const int columns = tfy__terminal_columns(STDERR_FILENO);
    (void)events;
    if (read(live->timer, &count, sizeof count) < 0) return;
    take_events(live);
    if (!columns || !tfy__doing(live->loop, &doing)) {
        tfy__out_status(live->loop, "");
        return;
    }
    take_doing(live, &doing);
    write_line(live, &doing, columns, &out);
    if (out.data && !out.failed) tfy__out_status(live->loop, out.data);
    tfy__buffer_free(&out);
    live->frame++;
    slow_down(live);
}

TfyLiveLine *tfy__live_start(TfyLoop *loop, const char *command)
{
    if (!tfy__screen_obeys(STDERR_FILENO) || tfy__says_json()) return NULL;
    TfyLiveLine *live = calloc(1, sizeof *live);
    if (!live) return NULL;
    *live = (TfyLiveLine){.loop = loop,
                          .command = strdup(command),
                          .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                          .watch = -1,
                          .utf8 = tfy__screen_utf8(),
                          .tick_ms = TICK_MS,
                          .cursor = {.next = 1, .filter = ""}};
    if (live->command && live->timer >= 0) live->watch = tfy__watch_add(loop, live->timer, TFY_FD_READ, on_tick, live);
    if (live->watch >= 0) {
        set_timer(live, FIRST_MS, TICK_MS);
        return live;
    }
    tfy__live_stop(live);
    return NULL;
}

void tfy__live_stop(TfyLiveLine *live)
{
    if (!live) return;
    if (live->watch >= 0) tfy__watch_del(live->loop, live->watch);
    if (live->timer >= 0) close(live->timer);
    tfy__out_status(live->loop, "");
    free(live->command);
    free(live->said);
    tfy__buffer_free(&live->says);
    free(live);
}

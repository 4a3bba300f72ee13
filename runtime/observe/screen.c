#include "observe/screen.h"
#include "base/table.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "value/json.h"

#define LINE_MAX_COLUMNS 500
/* Lines that wait to be drawn above the rows; further ones are only counted. */
#define NOTES_MAX 1000

typedef enum Mood { MOOD_RUNS, MOOD_WORKS, MOOD_WAITS, MOOD_ASKS, MOOD_FAILED } Mood;

/* A live task, as of its newest event. */
typedef struct Row {
    char *id;                                /* "run/path", owned */
    char *workflow, *stage, *message, *file; /* owned; file NULL: the main one */
    char *said;                              /* by emit, owned; NULL: nothing */
    TfyBuffer says;                          /* the newest by the model that it waits for */
    int64_t line, step;
    int64_t since_ms; /* start of the current stage */
    Mood mood;
    size_t at;    /* its index in the screen's list */
    TfyLink link; /* by id */
} Row;

struct TfyScreen {
    Row **rows;
    size_t count, cap;
    bool one_run; /* only one run is watched */
    bool several; /* the tasks are of several runs: ids are shown with the start of their run's id */
    TfyTable by_id;
    uint64_t ended, failed; /* tasks */
    uint64_t events;
    int64_t started_ms; /* of the oldest run seen; 0: unknown */
    TfyBuffer notes;    /* lines to put above the rows with the next drawing */
    int note_count;
    int drawn;      /* lines on the terminal that the next drawing overwrites */
    uint64_t frame; /* number of drawings; turns the spinner */
    bool stale;     /* rows are not sorted yet */
    char *chosen;   /* id of the task that a person chose, owned; NULL: none */
    size_t choice;  /* its index when it was last seen */
    bool open;      /* all about its step is shown */
};

TfyScreen *tfy__screen_new(bool one_run)
{
    TfyScreen *screen = calloc(1, sizeof *screen);
    if (screen) screen->one_run = one_run;
    return screen;
}

static void free_row(Row *row)
{
    free(row->id);
    free(row->workflow);
    free(row->stage);
    free(row->message);
    free(row->file);
    free(row->said);
    tfy__buffer_free(&row->says);
    free(row);
}

void tfy__screen_forget(TfyScreen *screen)
{
    while (screen->count) free_row(screen->rows[--screen->count]);
    tfy__table_free(&screen->by_id);
}

void tfy__screen_free(TfyScreen *screen)
{
    if (!screen) return;
    tfy__screen_forget(screen);
    free(screen->rows);
    free(screen->chosen);
    tfy__buffer_free(&screen->notes);
    free(screen);
}

/* ---- text ---- */

static const char *text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text ? text : "";
}

static const char *path_of(const char *id)
{
    const char *slash = strchr(id, '/');
    return slash ? slash + 1 : id;
}

static void add_place(TfyBuffer *out, const char *file, int64_t line)
{
    if (!line) return;
    tfy__buffer_text(out, " (");
    if (file && *file) tfy__screen_clean(out, file);
    tfy__buffer_printf(out, "%sline %lld)", file && *file ? " " : "", (long long)line);
}

void tfy__screen_plain(const json_t *line, bool one_run, TfyBuffer *out)
{
    const char *id = text_of(line, "task_id");
    if (json_object_get(line, "gap")) {
        tfy__buffer_printf(out, "events %lld to %lld are missing\n",
                           (long long)json_integer_value(json_object_get(line, "from")),
                           (long long)json_integer_value(json_object_get(line, "to")));
    }
    if (!json_object_get(line, "seq")) return;
    tfy__screen_clean(out, text_of(line, "ts"));
    tfy__buffer_char(out, ' ');
    tfy__screen_clean(out, one_run ? path_of(id) : id);
    tfy__buffer_char(out, ' ');
    tfy__screen_clean(out, text_of(line, "workflow"));
    tfy__buffer_char(out, ' ');
    tfy__screen_clean(out, text_of(line, "stage"));
    tfy__buffer_text(out, ": ");
    if (json_object_get(line, "level")) tfy__buffer_printf(out, "%s: ", text_of(line, "level"));
    tfy__screen_clean(out, text_of(line, "message"));
    add_place(out, text_of(line, "file"), json_integer_value(json_object_get(line, "line")));
    tfy__buffer_char(out, '\n');
}

/* ---- taking events ---- */

/* The task's row; NULL: none. */
static Row *find(const TfyScreen *screen, const char *id)
{
    const TfyLink *link = tfy__table_find(&screen->by_id, XXH3_64bits(id, strlen(id)));
    while (link && strcmp(TABLE_ITEM(link, const Row, link)->id, id) != 0) link = tfy__table_next(link);
    return TABLE_ITEM(link, Row, link);
}

static Row *add(TfyScreen *screen, const char *id)
{
    if (!GROW(screen->rows, screen->cap, screen->count + 1, 64) || !tfy__table_reserve(&screen->by_id)) return NULL;
    Row *row = calloc(1, sizeof *row);
    if (!row || !(row->id = strdup(id))) {
        free(row);
        return NULL;
    }
    row->at = screen->count;
    screen->rows[screen->count++] = row;
    tfy__table_add(&screen->by_id, &row->link, XXH3_64bits(id, strlen(id)));
    screen->stale = true;
    return row;
}

static void remove_row(TfyScreen *screen, const char *id)
{
    Row *row = find(screen, id);
    screen->ended++;
    if (!row) return;
    tfy__table_remove(&screen->by_id, &row->link);
    screen->rows[row->at] = screen->rows[--screen->count];
    screen->rows[row->at]->at = row->at;
    screen->stale = true;
    free_row(row);
}

static void set_text(char **place, const char *text)
{
    char *copy = strdup(text);
    if (!copy) return;
    free(*place);
    *place = copy;
}

static Mood mood_of(const char *stage)
{
    static const struct {
        const char *stage;
        Mood mood;
    } table[] = {{"Idle", MOOD_WAITS},
                 {"AwaitingUserApproval", MOOD_ASKS},
                 {"ToolExecutionStart", MOOD_WORKS},
                 {"SecretUsed", MOOD_WORKS},
                 {"WaitingForLLM", MOOD_WORKS},
                 {"Tokens", MOOD_WORKS},
                 {"PreviewingPatch", MOOD_WORKS},
                 {"CommittingPatch", MOOD_WORKS},
                 {"TaskFailure", MOOD_FAILED},
                 {"waiting(approval)", MOOD_ASKS},
                 {"waiting(effect)", MOOD_WORKS}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(stage, table[i].stage) == 0) return table[i].mood;
    return strncmp(stage, "waiting", 7) == 0 ? MOOD_WAITS : MOOD_RUNS;
}

/* How each stage of the runtime reads; the others are the program's own, by emit. */
static const struct {
    const char *stage, *verb;
} VERBS[] = {{"ReceivedInstruction", "starts"},
             {"TaskStep", "continues:"},
             {"Idle", "waits:"},
             {"ToolExecutionStart", "runs"},
             {"ToolExecutionComplete", "ran"},
             {"SecretUsed", "uses the secret"},
             {"WaitingForLLM", "asks the model:"},
             {"PreviewingPatch", "previews"},
             {"CommittingPatch", "commits"},
             {"Tokens", "counted"},
             {"AwaitingUserApproval", "asks:"},
             {"TaskFailure", "failed:"},
             {"Completed", "completed:"},
             {"Log", "logs:"},
             {"waiting(effect)", "runs"},
             {"waiting(approval)", "asks:"},
             {"ready", "is ready"},
             {"running", "runs"},
             {"created", "starts"}};

static const char *verb_of(const char *stage)
{
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++)
        if (strcmp(stage, VERBS[i].stage) == 0) return VERBS[i].verb;
    return strncmp(stage, "waiting", 7) == 0 ? "waits:" : NULL;
}

/* Remarks, failures, gaps and results stay on the screen. */
static bool is_note(const json_t *line, const char *stage)
{
    return json_object_get(line, "gap") || json_object_get(line, "run") || strcmp(stage, "Log") == 0 ||
           strcmp(stage, "TaskFailure") == 0;
}

static void take_started(TfyScreen *screen, const char *text)
{
    int64_t ms;
    if (!*text || !tfy__read_time(text, strlen(text), &ms)) return;
    if (!screen->started_ms || ms < screen->started_ms) screen->started_ms = ms;
}

/* What a model says lasts until the task does something else, or the answer is lost. False: the line is another event. */
static bool hear(Row *row, const json_t *line, const char *stage)
{
    const bool says = strcmp(stage, "Says") == 0;
    if (!says || json_object_get(line, "void"))
        tfy__buffer_free(&row->says);
    else
        tfy__screen_hear(&row->says, text_of(line, "message"));
    return says;
}

static void update(TfyScreen *screen, const json_t *line, const char *id, const char *stage)
{
    Row *row = find(screen, id);
    if (!row) row = add(screen, id);
    const char *time = text_of(line, "ts"), *message = text_of(line, "message");
    if (!row) return;
    if (hear(row, line, stage)) {
        if (row->stage) return;
        stage = "running";
        message = "";
    } else if (!verb_of(stage)) {
        char *said = NULL;
        if (asprintf(&said, "%s: %s", stage, message) >= 0) {
            free(row->said);
            row->said = said;
        }
        if (row->stage) return; /* it does what it did before */
        stage = "running";
    }
    if (!row->stage || strcmp(row->stage, stage) != 0) tfy__read_time(time, strlen(time), &row->since_ms);
    set_text(&row->stage, stage);
    set_text(&row->message, message);
    set_text(&row->workflow, text_of(line, "workflow"));
    set_text(&row->file, text_of(line, "file"));
    if (json_object_get(line, "line")) row->line = json_integer_value(json_object_get(line, "line"));
    row->step = json_integer_value(json_object_get(line, "step"));
    row->mood = mood_of(stage);
}

void tfy__screen_take(TfyScreen *screen, const json_t *line)
{
    const char *id = text_of(line, "task_id");
    bool live = json_is_true(json_object_get(line, "live"));
    const char *stage = text_of(line, live ? "state" : "stage");
    if (is_note(line, stage)) {
        if (screen->note_count++ < NOTES_MAX) tfy__screen_plain(line, screen->one_run, &screen->notes);
    }
    if (live) take_started(screen, text_of(line, "started"));
    if (!live && !json_object_get(line, "seq")) return;
    screen->events += !live;
    if (strcmp(stage, "ReceivedInstruction") == 0) take_started(screen, text_of(line, "ts"));
    if (strcmp(stage, "TaskFailure") == 0) screen->failed++;
    if (json_object_get(line, "run")) return;
    if (strcmp(stage, "Completed") == 0)
        remove_row(screen, id);
    else if (strcmp(stage, "Log") != 0)
        update(screen, line, id, stage);
}

/* ---- drawing ---- */

static int compare_ids(const void *a, const void *b)
{
    return strverscmp((*(Row *const *)a)->id, (*(Row *const *)b)->id);
}

static void sort_rows(TfyScreen *screen)
{
    if (screen->stale) qsort(screen->rows, screen->count, sizeof(Row *), compare_ids);
    for (size_t i = 0; screen->stale && i < screen->count; i++) screen->rows[i]->at = i;
    screen->stale = false;
}

static void colour(TfyBuffer *out, const TfyScreenLook *look, Mood mood)
{
    static const char *const codes[] = {
        [MOOD_RUNS] = "32", [MOOD_WORKS] = "36", [MOOD_WAITS] = "2", [MOOD_ASKS] = "1;33", [MOOD_FAILED] = "31"};
    if (look->colour) tfy__buffer_printf(out, "\033[%sm", codes[mood]);
}

static void no_colour(TfyBuffer *out, const TfyScreenLook *look)
{
    if (look->colour) tfy__buffer_text(out, "\033[0m");
}

static const char *spinner(const TfyScreen *screen, const TfyScreenLook *look, Mood mood)
{
    static const char *const utf8[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    static const char *const ascii[] = {"|", "/", "-", "\\"};
    if (mood == MOOD_ASKS) return "?";
    if (mood == MOOD_FAILED) return "!";
    if (mood == MOOD_WAITS) return look->utf8 ? "·" : ".";
    return look->utf8 ? utf8[screen->frame % 10] : ascii[screen->frame % 4];
}

static void end_line(TfyScreen *screen, TfyBuffer *out)
{
    tfy__buffer_text(out, "\033[K\n");
    screen->drawn++;
}

static int width_of(const TfyScreenLook *look)
{
    if (look->columns <= 0) return 80;
    return look->columns < LINE_MAX_COLUMNS ? look->columns : LINE_MAX_COLUMNS;
}

#define RUN_SHOWN 13 /* characters of a run's id: its time in milliseconds */

/* Writes the id of a task as it is shown: its path, and the start of its run's id where there are several. */
static void add_id(const TfyScreen *screen, const Row *row, TfyBuffer *out)
{
    const char *path = path_of(row->id);
    const size_t run = path > row->id ? (size_t)(path - row->id) - 1 : 0;
    if (screen->several && run) tfy__buffer_printf(out, "%.*s/", (int)(run < RUN_SHOWN ? run : RUN_SHOWN), row->id);
    tfy__buffer_text(out, path);
}

/* "runs run_tests (line 12)" */
static void add_what(const Row *row, TfyBuffer *out)
{
    const char *stage = row->stage ? row->stage : "", *verb = verb_of(stage);
    tfy__buffer_text(out, verb ? verb : stage);
    if (row->message && *row->message) tfy__buffer_char(out, ' ');
    if (row->message) tfy__screen_clean(out, row->message);
    add_place(out, row->file, row->line);
}

static void add_said(const TfyScreenLook *look, const Row *row, TfyBuffer *out)
{
    enum { SAYS = 48 }; /* columns */
    const char *text = row->said ? strstr(row->said, ": ") : NULL, *rest;
    double fraction;
    if (row->says.len) {
        tfy__buffer_text(out, "  says: ");
        tfy__screen_end(out, row->says.data, SAYS, look->utf8);
        return;
    }
    if (!text) return;
    tfy__buffer_text(out, "  ");
    if (tfy__screen_fraction(text + 2, &fraction, &rest)) {
        tfy__screen_bar(out, fraction, 10, look->utf8);
        tfy__buffer_char(out, ' ');
    }
    tfy__screen_clean(out, row->said);
}

/* Returns whether the tasks are of several runs. */
static bool are_several(const TfyScreen *screen)
{
    for (size_t i = 1; !screen->one_run && i < screen->count; i++) {
        const char *first = screen->rows[0]->id, *other = screen->rows[i]->id;
        const size_t len = strcspn(first, "/");
        if (strncmp(first, other, len + 1) != 0) return true;
    }
    return false;
}

static bool is_chosen(const TfyScreen *screen, const Row *row)
{
    return screen->chosen && strcmp(screen->chosen, row->id) == 0;
}

enum { LABEL = 12, DETAIL_LINES = 3 };

/* Draws a label and a text of several lines, at most DETAIL_LINES. */
static void draw_detail(TfyScreen *screen, const TfyScreenLook *look, const char *label, const char *text,
                        TfyBuffer *out)
{
    TfyBuffer clean = {0};
    const int room = width_of(look) - 1 - LABEL;
    tfy__screen_clean(&clean, text);
    const char *at = clean.data && !clean.failed ? clean.data : "";
    for (int i = 0; room > 0 && i < DETAIL_LINES && (*at || !i); i++) {
        int columns = 0;
        const char *end = at;
        while (*end && (columns < room || (*end & 0xc0) == 0x80)) columns += (*end++ & 0xc0) != 0x80;
        while (columns == room && (*end & 0xc0) == 0x80) end++;
        tfy__buffer_printf(out, "    %-*s%.*s", LABEL - 4, i ? "" : label, (int)(end - at), at);
        end_line(screen, out);
        at = end;
    }
    tfy__buffer_free(&clean);
}

static void draw_step(TfyScreen *screen, const TfyScreenLook *look, const Row *row, int64_t now_ms, TfyBuffer *out)
{
    TfyBuffer text = {0};
    draw_detail(screen, look, "task", row->id, out);
    draw_detail(screen, look, "in", row->workflow ? row->workflow : "", out);
    add_what(row, &text);
    if (!text.failed) draw_detail(screen, look, "does", text.data, out);
    tfy__buffer_reset(&text);
    tfy__buffer_printf(&text, "%lld, for ", (long long)row->step);
    tfy__screen_elapsed(&text, now_ms - row->since_ms);
    if (!text.failed) draw_detail(screen, look, "step", text.data, out);
    if (row->said) draw_detail(screen, look, "says", row->said, out);
    tfy__buffer_reset(&text);
    if (row->says.len) tfy__screen_end(&text, row->says.data, DETAIL_LINES * (width_of(look) - 1 - LABEL), look->utf8);
    if (text.len && !text.failed) draw_detail(screen, look, "model", text.data, out);
    tfy__buffer_free(&text);
}

/* Draws "⠙ 1.2   runs run_tests (line 12)  Files: 3/10  in worker   step 3  1.5 s" within the available columns: the
 * workflow is cut first. */
static void draw_row(TfyScreen *screen, const TfyScreenLook *look, const Row *row, int64_t now_ms, int id_width,
                     TfyBuffer *out)
{
    TfyBuffer what = {0}, right = {0};
    int width = width_of(look) - 1;
    TfyBuffer id = {0};
    add_id(screen, row, &id);
    colour(out, look, row->mood);
    tfy__buffer_printf(out, "%s ", is_chosen(screen, row) ? ">" : spinner(screen, look, row->mood));
    no_colour(out, look);
    tfy__screen_column(out, id.data && !id.failed ? id.data : "", id_width);
    tfy__buffer_free(&id);
    add_what(row, &what);
    add_said(look, row, &what);
    tfy__buffer_text(&what, "  in ");
    tfy__screen_clean(&what, row->workflow ? row->workflow : "?");
    tfy__buffer_printf(&right, "step %lld  ", (long long)row->step);
    tfy__screen_elapsed(&right, now_ms - row->since_ms);
    int room = width - 2 - id_width - 2 - (int)right.len - 2;
    tfy__buffer_text(out, "  ");
    tfy__screen_column(out, what.data ? what.data : "", room > 0 ? room : 0);
    tfy__buffer_text(out, "  ");
    tfy__buffer_add(out, right.data, room > 0 ? right.len : 0);
    end_line(screen, out);
    tfy__buffer_free(&what);
    tfy__buffer_free(&right);
}

static void draw_bar(const TfyScreen *screen, const TfyScreenLook *look, TfyBuffer *out)
{
    uint64_t all = screen->ended + screen->count;
    tfy__buffer_text(out, "  ");
    tfy__screen_bar(out, all ? (double)screen->ended / (double)all : 0, 20, look->utf8);
}

static void draw_head(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, TfyBuffer *out)
{
    TfyBuffer head = {0};
    tfy__buffer_printf(&head, "%zu live, %llu ended, %llu failed, %llu events  ", screen->count,
                       (unsigned long long)screen->ended, (unsigned long long)screen->failed,
                       (unsigned long long)screen->events);
    if (screen->started_ms) tfy__screen_elapsed(&head, now_ms - screen->started_ms);
    int room = width_of(look) - 1;
    bool bar = screen->ended + screen->count > 1 && room >= (int)head.len + 24;
    tfy__buffer_add(out, head.data, head.len < (size_t)room ? head.len : (size_t)room);
    if (bar) draw_bar(screen, look, out);
    end_line(screen, out);
    tfy__buffer_free(&head);
}

static void draw_notes(TfyScreen *screen, TfyBuffer *out)
{
    for (const char *at = screen->notes.data; at && *at;) {
        size_t len = strcspn(at, "\n");
        tfy__buffer_add(out, at, len);
        tfy__buffer_text(out, "\033[K\n");
        at += len + (at[len] == '\n');
    }
    if (screen->note_count > NOTES_MAX)
        tfy__buffer_printf(out, "… and %d more\033[K\n", screen->note_count - NOTES_MAX);
    tfy__buffer_reset(&screen->notes);
    screen->note_count = 0;
}

static int id_width(const TfyScreen *screen)
{
    int widest = 4;
    for (size_t i = 0; i < screen->count; i++) {
        TfyBuffer id = {0};
        add_id(screen, screen->rows[i], &id);
        if ((int)id.len > widest) widest = (int)id.len;
        tfy__buffer_free(&id);
    }
    return widest < 48 ? widest : 48;
}

/* The index of the chosen task. When it has ended, the next one is chosen. */
static size_t find_choice(TfyScreen *screen)
{
    const Row *row = screen->chosen ? find(screen, screen->chosen) : NULL;
    if (row) screen->choice = row->at;
    if (screen->count && screen->choice >= screen->count) screen->choice = screen->count - 1;
    if (screen->chosen && !row && screen->count) set_text(&screen->chosen, screen->rows[screen->choice]->id);
    return screen->choice;
}

void tfy__screen_key(TfyScreen *screen, TfyScreenKey key)
{
    sort_rows(screen);
    if (key == TFY_KEY_CLOSE && !screen->open) {
        free(screen->chosen);
        screen->chosen = NULL;
    }
    if (key == TFY_KEY_CLOSE || !screen->count) {
        screen->open = false;
        return;
    }
    const bool first = !screen->chosen;
    size_t at = first ? 0 : find_choice(screen);
    if (key == TFY_KEY_UP && at > 0) at--;
    if (key == TFY_KEY_DOWN && !first && at + 1 < screen->count) at++;
    if (key == TFY_KEY_OPEN) screen->open = !screen->open;
    screen->choice = at;
    set_text(&screen->chosen, screen->rows[at]->id);
}

/* Draws the rows around the chosen one, in their order. */
static void draw_around(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, size_t room, TfyBuffer *out)
{
    const size_t choice = find_choice(screen);
    const int width = id_width(screen), before = screen->drawn;
    TfyBuffer step = {0};
    if (screen->open && choice < screen->count) draw_step(screen, look, screen->rows[choice], now_ms, &step);
    const size_t taken = (size_t)(screen->drawn - before);
    room = room > taken ? room - taken : 1;
    size_t from = choice > room / 2 ? choice - room / 2 : 0;
    if (from + room > screen->count) from = screen->count > room ? screen->count - room : 0;
    for (size_t i = from; i < screen->count && i < from + room; i++) {
        draw_row(screen, look, screen->rows[i], now_ms, width, out);
        if (i == choice) tfy__buffer_add(out, step.data, step.len);
    }
    tfy__buffer_free(&step);
    if (screen->count <= room) return;
    tfy__buffer_printf(out, "  %zu to %zu of %zu", from + 1, from + room, screen->count);
    end_line(screen, out);
}

static void draw_keys(TfyScreen *screen, const TfyScreenLook *look, TfyBuffer *out)
{
    TfyBuffer keys = {0};
    if (!look->keys) return;
    tfy__buffer_text(&keys, screen->chosen ? "  q leaves, arrows choose a task, Enter shows its step, Esc goes back"
                                           : "  q leaves, arrows choose a task");
    colour(out, look, MOOD_WAITS);
    if (!keys.failed) tfy__screen_cut(out, keys.data, width_of(look) - 1);
    no_colour(out, look);
    end_line(screen, out);
    tfy__buffer_free(&keys);
}

/* Draws as many rows as fit; tasks that wait only for time are omitted first. */
static void draw_rows(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, TfyBuffer *out)
{
    size_t room = look->rows > 4 ? (size_t)look->rows - 3 : 20, shown = 0, busy = 0;
    if (look->keys && room > 1) room--;
    if (screen->chosen) {
        draw_around(screen, look, now_ms, room, out);
        return;
    }
    int width = id_width(screen);
    for (size_t i = 0; i < screen->count; i++) busy += screen->rows[i]->mood != MOOD_WAITS;
    size_t idle_room = busy < room ? room - busy : 0;
    for (size_t i = 0; i < screen->count && shown < room; i++) {
        const Row *row = screen->rows[i];
        if (row->mood == MOOD_WAITS && !idle_room) continue;
        if (row->mood == MOOD_WAITS) idle_room--;
        draw_row(screen, look, row, now_ms, width, out);
        shown++;
    }
    if (shown == screen->count) return;
    tfy__buffer_printf(out, "  and %zu more", screen->count - shown);
    end_line(screen, out);
}

void tfy__screen_draw(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, bool last, TfyBuffer *out)
{
    if (screen->drawn) tfy__buffer_printf(out, "\033[%dA", screen->drawn);
    tfy__buffer_char(out, '\r');
    screen->drawn = 0;
    draw_notes(screen, out);
    sort_rows(screen);
    screen->several = are_several(screen);
    draw_head(screen, look, now_ms, out);
    draw_rows(screen, look, now_ms, out);
    if (!last) draw_keys(screen, look, out);
    tfy__buffer_text(out, "\033[J");
    screen->frame++;
    if (last) screen->drawn = 0;
}

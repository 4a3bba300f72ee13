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
    int64_t line, step;
    int64_t since_ms; /* start of the current stage */
    Mood mood;
    size_t at;    /* its index in the screen's list */
    TfyLink link; /* by id */
} Row;

struct TfyScreen {
    Row **rows;
    size_t count, cap;
    bool one_run; /* ids are shown without their run */
    TfyTable by_id;
    uint64_t ended, failed; /* tasks */
    uint64_t events;
    int64_t started_ms; /* of the oldest run seen; 0: unknown */
    TfyBuffer notes;    /* lines to put above the rows with the next drawing */
    int note_count;
    int drawn;      /* lines on the terminal that the next drawing overwrites */
    uint64_t frame; /* number of drawings; turns the spinner */
    bool stale;     /* rows are not sorted yet */
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

static void update(TfyScreen *screen, const json_t *line, const char *id, const char *stage)
{
    Row *row = find(screen, id);
    if (!row) row = add(screen, id);
    const char *time = text_of(line, "ts");
    if (!row) return;
    if (!row->stage || strcmp(row->stage, stage) != 0) tfy__read_time(time, strlen(time), &row->since_ms);
    set_text(&row->stage, stage);
    set_text(&row->message, text_of(line, "message"));
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

/* Draws "⠙ 1.2   worker   ToolExecutionStart  run_tests (line 12)   step 3  1.5 s" within the available columns. */
static void draw_row(TfyScreen *screen, const TfyScreenLook *look, const Row *row, int64_t now_ms, int id_width,
                     TfyBuffer *out)
{
    TfyBuffer what = {0}, right = {0};
    int width = width_of(look) - 1;
    const char *id = screen->one_run ? path_of(row->id) : row->id;
    colour(out, look, row->mood);
    tfy__buffer_printf(out, "%s ", spinner(screen, look, row->mood));
    no_colour(out, look);
    tfy__screen_column(out, id, id_width);
    tfy__screen_clean(&what, row->workflow ? row->workflow : "");
    tfy__buffer_printf(&what, "  %s", row->stage ? row->stage : "");
    if (row->message && *row->message) tfy__buffer_text(&what, "  ");
    if (row->message) tfy__screen_clean(&what, row->message);
    add_place(&what, row->file, row->line);
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
        int len = (int)strlen(screen->one_run ? path_of(screen->rows[i]->id) : screen->rows[i]->id);
        if (len > widest) widest = len;
    }
    return widest < 48 ? widest : 48;
}

/* Draws as many rows as fit; tasks that wait only for time are omitted first. */
static void draw_rows(TfyScreen *screen, const TfyScreenLook *look, int64_t now_ms, TfyBuffer *out)
{
    size_t room = look->rows > 4 ? (size_t)look->rows - 3 : 20, shown = 0, busy = 0;
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
    draw_head(screen, look, now_ms, out);
    draw_rows(screen, look, now_ms, out);
    tfy__buffer_text(out, "\033[J");
    screen->frame++;
    if (last) screen->drawn = 0;
}

/* history.c: tfy history: the records of a run, a line for each: which step, what kind, what happened.
 *
 * A line is for people. On a terminal it fits the width: the time is short, a line of its own says the day, and the
 * text of the record is cut. Elsewhere times are whole. With --json each line is an object with the whole payload. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "cli/look/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/look/ceiling_text.h"
#include "base/buffer.h"
#include "base/terminal.h"
#include "observe/screen.h"
#include "value/json.h"
#include "wal/rows/payload.h"
#include "wal/history/asked.h"
#include "wal/history/history.h"

#define TYPE_WIDTH 16  /* "InstructionStart" */
#define TEXT_ROOM  200 /* columns of a record's text, where no terminal sets a limit */
#define LINE_FROM  100 /* columns of a terminal that has room for source lines */

/* Which records are shown, and how. */
typedef struct Choice {
    const TfyArgs *args;
    const TfyHistory *history;
    TfySourceMap map;
    uint64_t types; /* bits by TfyRecordType */
    int64_t step_from, step_to;
    uint64_t from, limit; /* the first record, counted from 1; how many at most */
    int columns;          /* of the terminal; 0: it is not one */
    int number_width, step_width, place_width;
    char day[11]; /* on a terminal: the day of the line before */
} Choice;

/* ---- which records ---- */

/* Reads "ToolResult,Retry". */
static int read_types(Choice *choice, const char *list)
{
    char error[TFY_ERROR_TEXT];
    choice->types = UINT64_MAX;
    return !list || tfy__event_types(list, &choice->types, error) ? EXIT_DONE : tfy__fail(EXIT_USAGE, "%s", error);
}

static bool read_step(const char **text, int64_t *step)
{
    char *end;
    if (**text < '0' || **text > '9') return false;
    *step = strtoll(*text, &end, 10);
    *text = end;
    return true;
}

/* Reads "7", "3..7" or "3..". */
static int read_steps(Choice *choice, const char *text)
{
    const char *at = text;
    choice->step_to = INT64_MAX;
    if (!text) return EXIT_DONE;
    bool good = read_step(&at, &choice->step_from);
    if (good && !*at) {
        choice->step_to = choice->step_from;
    } else if (good && strncmp(at, "..", 2) == 0) {
        at += 2;
        good = !*at || (read_step(&at, &choice->step_to) && !*at);
    } else {
        good = false;
    }
    return good ? EXIT_DONE
                : tfy__fail(EXIT_USAGE, "--steps takes a step or a range, such as 7, 3..7 or 3.., not '%s'", text);
}

static const TfyLogTask *task_of(const Choice *choice, uint32_t i)
{
    return &choice->history->tasks[choice->history->record_tasks[i]];
}

static bool fits(const Choice *choice, uint32_t i)
{
    const TfyLogRecord *record = &choice->history->records[i];
    const char *path = choice->args->option[OPT_TASK];
    return (record->type < TFY_R_COUNT ? choice->types >> record->type & 1 : !choice->args->option[OPT_TYPE]) &&
           record->step >= choice->step_from && record->step <= choice->step_to &&
           (!path || strcmp(path, task_of(choice, i)->path) == 0);
}

static int check_task(const Choice *choice)
{
    const char *path = choice->args->option[OPT_TASK];
    for (uint32_t i = 0; path && i < choice->history->task_count; i++)
        if (strcmp(choice->history->tasks[i].path, path) == 0) return EXIT_DONE;
    return path ? tfy__fail(EXIT_MISSING, "the run has no task %s", path) : EXIT_DONE;
}

/* ---- the text of a record ---- */

static void add_text(TfyBuffer *out, const char *before, const char *text)
{
    if (!text) return;
    tfy__buffer_text(out, before);
    tfy__screen_clean(out, text);
}

/* Adds a value as it was recorded. */
static void add_recorded(TfyBuffer *out, const char *before, const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    char *text = raw ? strndup(raw, len) : NULL;
    add_text(out, before, text);
    free(text);
}

/* shout(text: "hello", times: 3) */
static void add_request(TfyBuffer *out, const char *name, const json_t *args)
{
    const char *label, *comma = "";
    json_t *value;
    add_text(out, "", name ? name : "?");
    tfy__buffer_char(out, '(');
    json_object_foreach((json_t *)(uintptr_t)args, label, value)
    {
        TfyBuffer text = {0};
        tfy__encode_json(&text, value);
        add_text(out, comma, label);
        add_text(out, ": ", text.data);
        comma = ", ";
        tfy__buffer_free(&text);
    }
    tfy__buffer_char(out, ')');
}

/* What a model said, and the calls that it made. */
static void add_answer(TfyBuffer *out, const TfyPayload *payload, const TfyLogRecord *record)
{
    const json_t *calls = tfy__payload_get(payload, TFY_P_CALLS), *call;
    const bool says = json_string_length(tfy__payload_get(payload, TFY_P_ANSWER));
    size_t i;
    if (says || !json_array_size(calls)) add_recorded(out, " -> ", record, TFY_P_ANSWER);
    json_array_foreach(calls, i, call)
    {
        tfy__buffer_text(out, i || says ? ", " : " -> ");
        add_request(out, json_string_value(json_object_get(call, "tool")), json_object_get(call, "args"));
    }
}

static void add_error(TfyBuffer *out, const json_t *error)
{
    if (!error) return;
    add_text(out, ": ", tfy__error_kind(error));
    add_text(out, ": ", tfy__error_message(error));
}

static void add_due(TfyBuffer *out, const TfyPayload *payload)
{
    char time[32];
    tfy__db_time(tfy__payload_int(payload, TFY_P_DUE), time);
    add_text(out, " until ", time);
}

static void add_tokens(TfyBuffer *out, const TfyPayload *payload)
{
    add_text(out, " by ", tfy__payload_text(payload, TFY_P_MODEL));
    if (tfy__payload_get(payload, TFY_P_PROMPT_TOKENS))
        tfy__buffer_printf(out, ", %lld + %lld tokens", (long long)tfy__payload_int(payload, TFY_P_PROMPT_TOKENS),
                           (long long)tfy__payload_int(payload, TFY_P_COMPLETION_TOKENS));
    if (tfy__payload_int(payload, TFY_P_TRIES) > 1)
        tfy__buffer_printf(out, ", %lld requests", (long long)tfy__payload_int(payload, TFY_P_TRIES));
    if (tfy__payload_get(payload, TFY_P_MS))
        tfy__buffer_printf(out, ", %.1f s", (double)tfy__payload_int(payload, TFY_P_MS) / 1000);
    if (tfy__payload_get(payload, TFY_P_KEPT))
        tfy__buffer_printf(out, ", a summary beside %lld messages", (long long)tfy__payload_int(payload, TFY_P_KEPT));
    add_text(out, ", too long: ", tfy__payload_text(payload, TFY_P_TOO_LONG));
}

/* Adds the first of these members that the record has. */
static void add_name(TfyBuffer *out, const TfyPayload *payload)
{
    static const TfyMember names[] = {TFY_P_TOOL, TFY_P_WHY,   TFY_P_HOW,  TFY_P_NAME, TFY_P_WORKFLOW,
                                      TFY_P_PATH, TFY_P_GROUP, TFY_P_SAVE, TFY_P_OBJ};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = tfy__payload_text(payload, names[i]);
        if (text) {
            add_text(out, "", text);
            return;
        }
    }
}

/* Writes " for 1/3": the answer of a model that held the call which the step carries out. */
static void add_asker(TfyBuffer *out, const TfyHistory *history, uint32_t i)
{
    const uint32_t by = tfy__asked_by(history, i);
    if (by == UINT32_MAX) return;
    add_text(out, " for ", history->tasks[history->record_tasks[by]].path);
    tfy__buffer_printf(out, "/%lld", (long long)history->records[by].step);
}

/* Writes what no type has a form of its own for: a name, then the value or text that was recorded, then an error. */
static void add_other(TfyBuffer *out, const TfyPayload *payload, const TfyHistory *history, uint32_t index)
{
    const TfyLogRecord *record = &history->records[index];
    static const TfyMember values[] = {TFY_P_ANSWER, TFY_P_VALUE, TFY_P_ROW, TFY_P_NOW};
    add_name(out, payload);
    add_asker(out, history, index);
    add_text(out, ": ", tfy__payload_text(payload, TFY_P_TEXT));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        add_recorded(out, out->len ? " -> " : "", record, values[i]);
    add_text(out, " by ", tfy__payload_text(payload, TFY_P_BY));
    add_error(out, tfy__payload_get(payload, TFY_P_ERROR));
}

static void add_output(TfyBuffer *out, const TfyPayload *payload)
{
    const char *to = tfy__payload_text(payload, TFY_P_TO), *level = tfy__payload_text(payload, TFY_P_LEVEL),
               *stage = tfy__payload_text(payload, TFY_P_STAGE);
    const bool log = to && strcmp(to, "log") == 0;
    add_text(out, "", stage ? stage : log ? (level ? level : "info") : to);
    add_text(out, ": ", tfy__payload_text(payload, TFY_P_TEXT));
}

static void add_options(TfyBuffer *out, const TfyPayload *payload)
{
    tfy__buffer_text(out, "with");
    tfy__ceiling_text(out, tfy__payload_get(payload, TFY_P_CEILING));
    if (tfy__payload_flag(payload, TFY_P_YOLO)) tfy__buffer_text(out, " --yolo");
}

static void add_content(TfyBuffer *out, const TfyHistory *history, uint32_t index)
{
    const TfyLogRecord *record = &history->records[index];
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const json_t *args = tfy__payload_get(&payload, TFY_P_ARGS);
    switch (record->type) {
    case TFY_R_INSTRUCTION_START: add_request(out, tfy__payload_text(&payload, TFY_P_WORKFLOW), args); break;
    case TFY_R_TASK_SPAWN:
        add_text(out, "", tfy__payload_text(&payload, TFY_P_PATH));
        tfy__buffer_char(out, ' ');
        add_request(out, tfy__payload_text(&payload, TFY_P_WORKFLOW), args);
        break;
    case TFY_R_STEP_START:
        if (args)
            add_request(out, tfy__payload_text(&payload, TFY_P_TOOL), args);
        else
            add_name(out, &payload);
        add_text(out, args ? "" : " ", tfy__payload_text(&payload, TFY_P_NAME));
        add_asker(out, history, index);
        add_text(out, ": ", tfy__payload_text(&payload, TFY_P_QUESTION));
        if (tfy__payload_int(&payload, TFY_P_ATTEMPT) > 1)
            tfy__buffer_printf(out, ", attempt %lld", (long long)tfy__payload_int(&payload, TFY_P_ATTEMPT));
        break;
    case TFY_R_LLM_PLAN:
        add_name(out, &payload);
        add_tokens(out, &payload);
        add_answer(out, &payload, record);
        add_error(out, tfy__payload_get(&payload, TFY_P_ERROR));
        break;
    case TFY_R_LLM_REQUEST:
        add_name(out, &payload);
        tfy__buffer_printf(
            out, ", %lld tokens at most",
            (long long)json_integer_value(json_object_get(tfy__payload_get(&payload, TFY_P_RESERVE), "tokens")));
        break;
    case TFY_R_COMMIT:
        add_text(out, "", tfy__payload_text(&payload, TFY_P_VALUE));
        add_text(out, " ", tfy__payload_text(&payload, TFY_P_MESSAGE));
        add_error(out, tfy__payload_get(&payload, TFY_P_ERROR));
        break;
    case TFY_R_TASK_YIELD:
        add_name(out, &payload);
        add_due(out, &payload);
        break;
    case TFY_R_RETRY:
        tfy__buffer_printf(out, "attempt %lld failed", (long long)tfy__payload_int(&payload, TFY_P_ATTEMPT));
        add_error(out, tfy__payload_get(&payload, TFY_P_ERROR));
        break;
    case TFY_R_OUTPUT: add_output(out, &payload); break;
    case TFY_R_TEXT:
        add_text(out, tfy__payload_get(&payload, TFY_P_OF) ? "… " : "", tfy__payload_text(&payload, TFY_P_TEXT));
        break;
    case TFY_R_SECRET:
        add_text(out, "", tfy__payload_text(&payload, TFY_P_NAME));
        add_text(out, " by ", tfy__payload_text(&payload, TFY_P_TOOL));
        add_text(out, ", step ", tfy__payload_text(&payload, TFY_P_TASK));
        tfy__buffer_printf(out, "/%lld", (long long)tfy__payload_int(&payload, TFY_P_STEP));
        break;
    case TFY_R_CLAIMED:
        tfy__buffer_printf(out, "by session %lld", (long long)tfy__payload_int(&payload, TFY_P_SESSION));
        add_text(out, " on ", tfy__payload_text(&payload, TFY_P_WORKER));
        break;
    case TFY_R_MOVED:
        if (tfy__record_is_options(record)) add_options(out, &payload);
        break;
    case TFY_R_SNAPSHOT: tfy__buffer_printf(out, "%u bytes", (unsigned)record->payload_len); break;
    default: add_other(out, &payload, history, index);
    }
    tfy__payload_close(&payload);
}

/* ---- a line ---- */

/* Writes "1.2/7": the task and its step, as --until of tfy replay takes them. */
static void add_step(TfyBuffer *out, const Choice *choice, uint32_t i)
{
    const TfyLogRecord *record = &choice->history->records[i];
    tfy__buffer_text(out, task_of(choice, i)->path);
    if (record->step) tfy__buffer_printf(out, "/%lld", (long long)record->step);
}

/* Writes "12" of the main file, "lib.tfy:12" of another. */
static void add_place(TfyBuffer *out, const Choice *choice, uint32_t i)
{
    const char *file;
    const int64_t line = tfy__source_line(&choice->map, choice->history->records[i].point, &file);
    if (!line) return;
    if (file) tfy__screen_clean(out, file);
    tfy__buffer_printf(out, "%s%lld", file ? ":" : "", (long long)line);
}

static bool shows_place(const Choice *choice)
{
    return !choice->columns || choice->columns >= LINE_FROM;
}

/* "2026-11-20 10:15:20.123"; on a terminal "10:15:20", behind a line for each new day. */
static void add_time(TfyBuffer *out, Choice *choice, int64_t ms)
{
    char time[32];
    tfy__db_time(ms, time);
    const bool whole = strlen(time) == 19;
    if (!choice->columns || !whole) {
        tfy__buffer_printf(out, "%s.%03d", time, (int)(ms % 1000));
        return;
    }
    if (strncmp(choice->day, time, 10) != 0) printf("%.10s\n", time);
    snprintf(choice->day, sizeof choice->day, "%.10s", time);
    tfy__buffer_text(out, time + 11);
}

static void add_column(TfyBuffer *out, const TfyBuffer *text, int width)
{
    tfy__buffer_text(out, "  ");
    tfy__screen_column(out, text->data ? text->data : "", width);
}

static void put_record(Choice *choice, uint32_t i)
{
    const TfyLogRecord *record = &choice->history->records[i];
    TfyBuffer out = {0}, step = {0}, place = {0}, content = {0};
    tfy__buffer_printf(&out, "%*u  ", choice->number_width, i + 1);
    add_time(&out, choice, record->ts_ms);
    add_step(&step, choice, i);
    add_column(&out, &step, choice->step_width);
    add_place(&place, choice, i);
    if (shows_place(choice)) add_column(&out, &place, choice->place_width);
    tfy__buffer_printf(&out, "  %-*s", TYPE_WIDTH, tfy__record_type_name(record->type));
    add_content(&content, choice->history, i);
    const int used = out.failed ? 0 : tfy__screen_width(out.data);
    const int room = choice->columns ? choice->columns - 1 - used - 2 : TEXT_ROOM;
    if (content.data && !content.failed && room > 1) {
        const bool cut = tfy__screen_width(content.data) > room;
        tfy__buffer_text(&out, "  ");
        tfy__screen_cut(&out, content.data, cut ? room - 1 : room);
        if (cut) tfy__buffer_text(&out, "…");
    }
    while (out.len && out.data[out.len - 1] == ' ') out.len--;
    if (!out.failed) printf("%.*s\n", (int)out.len, out.data);
    tfy__buffer_free(&out);
    tfy__buffer_free(&step);
    tfy__buffer_free(&place);
    tfy__buffer_free(&content);
}

static void put_titles(const Choice *choice)
{
    printf("%*s  %-*s  %-*s", choice->number_width, "N", choice->columns ? 8 : 23, "TIME", choice->step_width, "STEP");
    if (shows_place(choice)) printf("  %-*s", choice->place_width, "LINE");
    printf("  %-*s  WHAT\n", TYPE_WIDTH, "TYPE");
}

static void put_object(Choice *choice, uint32_t i)
{
    const TfyHistory *history = choice->history;
    const TfyLogRecord *record = &history->records[i];
    const char *file, *workflow = history->task_workflows[history->record_tasks[i]];
    const int64_t line = tfy__source_line(&choice->map, record->point, &file);
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "{\"record\":%u,\"lsn\":%lld,\"time\":\"", i + 1, (long long)record->lsn);
    tfy__write_time(&out, record->ts_ms);
    tfy__buffer_printf(&out, "\",\"task\":\"%s\"", task_of(choice, i)->path);
    if (workflow) {
        tfy__buffer_text(&out, ",\"workflow\":");
        tfy__buffer_json_string(&out, workflow, strlen(workflow));
    }
    tfy__buffer_printf(&out, ",\"step\":%lld", (long long)record->step);
    if (line && file) {
        tfy__buffer_text(&out, ",\"file\":");
        tfy__buffer_json_string(&out, file, strlen(file));
    }
    if (line) tfy__buffer_printf(&out, ",\"line\":%lld", (long long)line);
    tfy__buffer_printf(&out, ",\"type\":\"%s\",\"payload\":", tfy__record_type_name(record->type));
    tfy__buffer_add(&out, record->payload, record->payload_len);
    tfy__buffer_text(&out, "}\n");
    if (!out.failed) fwrite(out.data, 1, out.len, stdout);
    tfy__buffer_free(&out);
}

/* ---- the command ---- */

/* Sets the widths of the columns to those of the widest texts in them. */
static void measure(Choice *choice)
{
    const TfyHistory *history = choice->history;
    choice->number_width = snprintf(NULL, 0, "%u", history->record_count);
    choice->step_width = choice->place_width = 4;
    for (uint32_t i = 0; i < history->record_count; i++) {
        TfyBuffer step = {0}, place = {0};
        if (fits(choice, i)) add_step(&step, choice, i);
        if (fits(choice, i) && shows_place(choice)) add_place(&place, choice, i);
        if ((int)step.len > choice->step_width) choice->step_width = (int)step.len;
        const int width = place.data ? tfy__screen_width(place.data) : 0;
        if (width > choice->place_width) choice->place_width = width;
        tfy__buffer_free(&step);
        tfy__buffer_free(&place);
    }
    if (choice->step_width > 20) choice->step_width = 20;
    if (choice->place_width > 20) choice->place_width = 20;
}

static void put_records(Choice *choice)
{
    const TfyHistory *history = choice->history;
    const bool json = choice->args->option[OPT_JSON];
    uint64_t shown = 0;
    uint32_t i = choice->from - 1 < history->record_count ? (uint32_t)(choice->from - 1) : history->record_count;
    char run[37];
    for (; i < history->record_count && !ferror(stdout); i++) {
        if (!fits(choice, i)) continue;
        if (shown == choice->limit) break;
        if (!json && !shown) put_titles(choice);
        (json ? put_object : put_record)(choice, i);
        shown++;
    }
    tfy__uuid_text(history->run.uuid, run);
    if (!shown)
        tfy__say("none of the %u records of run %s fits", history->record_count, run);
    else if (i < history->record_count && !json)
        tfy__say("there are more; see: %s history %s --from %u", tfy__tfy_command(tfy__db_path(choice->args)), run,
                 i + 1);
}

static int show(const TfyArgs *args, const TfyHistory *history, bool held)
{
    Choice choice = {.args = args,
                     .history = history,
                     .from = 1,
                     .limit = UINT64_MAX,
                     .columns = tfy__terminal_columns(STDOUT_FILENO)};
    (void)held;
    int status = read_types(&choice, args->option[OPT_TYPE]);
    if (status == EXIT_DONE) status = read_steps(&choice, args->option[OPT_STEPS]);
    if (status == EXIT_DONE) status = tfy__db_number(args, OPT_FROM, &choice.from);
    if (status == EXIT_DONE) status = tfy__db_number(args, OPT_LIMIT, &choice.limit);
    if (status == EXIT_DONE) status = check_task(&choice);
    if (status != EXIT_DONE) return status;
    tfy__db_say_base(history);
    tfy__source_map(&choice.map, history);
    measure(&choice);
    put_records(&choice);
    tfy__source_map_free(&choice.map);
    return EXIT_DONE;
}

int tfy__cmd_history(const TfyArgs *args)
{
    return tfy__db_with_history(args, show);
}

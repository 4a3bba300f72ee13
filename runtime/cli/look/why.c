/* why.c: tfy why: which answer of a model chose a step, what else that answer held, and what the model was asked.
 *
 * A step of an agent carries the id of the model's call that it performs. The steps of a workflow that is offered are
 * the workflow's own, and have none: the answer is then the newest of the task that called that workflow. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "observe/screen.h"
#include "value/json.h"
#include "wal/history/asked.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

#define NONE UINT32_MAX

/* The step that is explained. */
typedef struct Why {
    const TfyHistory *history;
    TfySourceMap map;
    char path[64]; /* of its task */
    int64_t step;
    uint32_t record; /* of its records, the one that names the model's call, else the first that names a tool */
    uint32_t answer; /* the LLMPlan that chose it; NONE: the program did */
} Why;

/* ---- finding ---- */

/* Reads "7", of the main task or of that of --task, and "1.2/7". */
static int read_place(const TfyArgs *args, Why *why)
{
    const char *text = args->words[1], *slash = strrchr(text, '/'), *task = args->option[OPT_TASK];
    const char *number = slash ? slash + 1 : text;
    char *end;
    if (!task) task = "1";
    const int len = slash ? (int)(slash - text) : (int)strlen(task);
    why->step = strtoll(number, &end, 10);
    if (end == number || *end || why->step < 1 || len >= (int)sizeof why->path)
        return tfy__fail(EXIT_USAGE, "'%s' is not a step, such as 7, or 1.2/7 of the task 1.2", text);
    snprintf(why->path, sizeof why->path, "%.*s", len, slash ? text : task);
    return EXIT_DONE;
}

static bool is_of_step(const Why *why, uint32_t i)
{
    const TfyLogTask *task = &why->history->tasks[why->history->record_tasks[i]];
    return why->history->records[i].step == why->step && strcmp(task->path, why->path) == 0;
}

/* The workflow or prompt whose text a record's point is in, as models know it: "edit" of "edit/tool/apply/1". */
static void routine_of(const Why *why, uint32_t i, char name[64])
{
    const char *point = tfy__source_point(&why->map, why->history->records[i].point);
    snprintf(name, 64, "%.*s", point ? (int)strcspn(point, "/") : 0, point ? point : "");
    for (char *dot = name; (dot = strchr(dot, '.'));) *dot = '_';
}

/* Whether the answer has a call of the tool. */
static bool calls_tool(const TfyLogRecord *plan, const char *tool)
{
    TfyPayload payload;
    const json_t *call;
    size_t i;
    bool found = false;
    tfy__payload_open(&payload, plan);
    json_array_foreach(tfy__payload_get(&payload, TFY_P_CALLS), i, call) found =
        found || strcmp(tfy__json_text(call, "tool"), tool) == 0;
    tfy__payload_close(&payload);
    return found;
}

/* The newest answer of the task before the step's record, if it called the workflow that the step is in. */
static uint32_t answer_to_workflow(const Why *why)
{
    char routine[64];
    routine_of(why, why->record, routine);
    for (uint32_t i = why->record; *routine && i-- > 0;) {
        const TfyLogRecord *before = &why->history->records[i];
        if (before->type != TFY_R_LLM_PLAN || !tfy__record_has(before, TFY_P_CALLS)) continue;
        if (why->history->record_tasks[i] != why->history->record_tasks[why->record]) continue;
        return calls_tool(before, routine) ? i : NONE;
    }
    return NONE;
}

/* False: there is no such step. */
static bool find(Why *why)
{
    why->record = why->answer = NONE;
    bool named = false;
    for (uint32_t i = 0; i < why->history->record_count && why->answer == NONE; i++) {
        const TfyLogRecord *record = &why->history->records[i];
        const bool names = tfy__record_has(record, TFY_P_TOOL);
        if (!is_of_step(why, i) || record->type == TFY_R_TEXT) continue;
        why->answer = tfy__asked_by(why->history, i);
        if (why->record == NONE || why->answer != NONE || (names && !named)) why->record = i;
        named = named || names;
    }
    if (why->record == NONE) return false;
    if (why->answer == NONE) why->answer = answer_to_workflow(why);
    return true;
}

/* ---- what there is to say ---- */

/* {"task", "step", "tool"?, "file"?, "line"?} of a record. */
static json_t *place_of(const Why *why, uint32_t i)
{
    const TfyLogRecord *record = &why->history->records[i];
    const char *file;
    const int64_t line = tfy__source_line(&why->map, record->point, &file);
    char callee[64];
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *tool = tfy__payload_text(&payload, TFY_P_TOOL);
    tfy__source_callee(&why->map, record->point, callee);
    json_t *place = json_pack("{s:s, s:I, s:s*, s:s*}", "task", why->history->tasks[why->history->record_tasks[i]].path,
                              "step", (json_int_t)record->step, "tool",
                              tool      ? tool
                              : *callee ? callee
                                        : NULL,
                              "file", file);
    if (line) json_object_set_new(place, "line", json_integer(line));
    tfy__payload_close(&payload);
    return place;
}

/* The calls of the answer that the step may belong to: the one with its id, else all of its tool or workflow. */
static json_t *calls_of(const Why *why, const json_t *calls)
{
    json_t *with_id = json_array(), *of_tool = json_array(), *call;
    TfyPayload payload;
    char routine[64];
    size_t i;
    tfy__payload_open(&payload, &why->history->records[why->record]);
    const json_t *id = tfy__payload_get(&payload, TFY_P_CALL);
    const char *tool = json_is_string(id) ? tfy__payload_text(&payload, TFY_P_TOOL) : routine;
    routine_of(why, why->record, routine);
    json_array_foreach(calls, i, call)
    {
        if (json_is_string(id) && json_equal(id, json_object_get(call, "id"))) json_array_append(with_id, call);
        if (tool && strcmp(tfy__json_text(call, "tool"), tool) == 0) json_array_append(of_tool, call);
    }
    tfy__payload_close(&payload);
    const bool exact = json_array_size(with_id) == 1;
    json_decref(exact ? of_tool : with_id);
    return exact ? with_id : of_tool;
}

/* The system text and the newest question: what a conversation holds besides is in tfy replay --step. */
static json_t *instruction_of(const Why *why)
{
    bool whole;
    json_t *messages = tfy__asked_messages(why->history, why->answer, &whole), *kept = json_array(), *message,
           *asked = NULL;
    size_t i;
    json_array_foreach(messages, i, message)
    {
        const char *role = tfy__json_text(message, "role");
        if (strcmp(role, "system") == 0) json_array_append(kept, message);
        if (strcmp(role, "user") == 0) asked = message;
    }
    if (asked) json_array_append(kept, asked);
    json_array_foreach(kept, i, message) json_object_del(message, "digest");
    json_decref(messages);
    return kept;
}

static json_t *report_of(const Why *why)
{
    char run[37];
    tfy__uuid_text(why->history->run.uuid, run);
    json_t *report = json_pack("{s:s, s:o}", "run", run, "step", place_of(why, why->record));
    if (why->answer == NONE) return report;
    json_t *answer = place_of(why, why->answer);
    TfyPayload payload;
    tfy__payload_open(&payload, &why->history->records[why->answer]);
    json_object_set_new(report, "calls", calls_of(why, tfy__payload_get(&payload, TFY_P_CALLS)));
    json_object_set(answer, "model", tfy__payload_get(&payload, TFY_P_MODEL));
    json_object_set(answer, "entry", tfy__payload_get(&payload, TFY_P_ENTRY));
    json_object_set(answer, "text", tfy__payload_get(&payload, TFY_P_ANSWER));
    tfy__payload_close(&payload);
    json_object_set_new(report, "answer", answer);
    json_object_set_new(report, "instruction", instruction_of(why));
    return report;
}

/* ---- for people ---- */

static void put(const char *title, const TfyBuffer *text)
{
    if (!text->failed) printf("%-11s  %.*s\n", title, (int)text->len, text->data ? text->data : "");
}

/* "1/7 run_tests, line 12". */
static void add_place(TfyBuffer *out, const json_t *place)
{
    const char *tool = tfy__json_text(place, "tool"), *file = tfy__json_text(place, "file");
    const long long line = tfy__json_number(place, "line");
    tfy__buffer_printf(out, "%s/%lld", tfy__json_text(place, "task"), tfy__json_number(place, "step"));
    if (*tool) tfy__buffer_printf(out, " %s", tool);
    if (line) tfy__buffer_printf(out, ", line %lld", line);
    if (line && *file) tfy__buffer_printf(out, " of %s", file);
}

static void put_call(const json_t *call)
{
    const char *name, *comma = "";
    json_t *value;
    TfyBuffer out = {0};
    tfy__screen_clean(&out, tfy__json_text(call, "tool"));
    tfy__buffer_char(&out, '(');
    json_object_foreach(json_object_get(call, "args"), name, value)
    {
        TfyBuffer text = {0};
        tfy__encode_json(&text, value);
        tfy__buffer_text(&out, comma);
        tfy__screen_clean(&out, name);
        tfy__buffer_text(&out, ": ");
        tfy__screen_clean(&out, text.data ? text.data : "");
        tfy__buffer_free(&text);
        comma = ", ";
    }
    tfy__buffer_char(&out, ')');
    put("call", &out);
    tfy__buffer_free(&out);
}

/* A text of several lines goes on below its first one. */
static void add_lines(TfyBuffer *out, const char *text)
{
    while (*text) {
        const size_t len = strcspn(text, "\n");
        char *line = strndup(text, len);
        if (line) tfy__screen_clean(out, line);
        free(line);
        text += len + (text[len] == '\n');
        if (*text) tfy__buffer_printf(out, "\n%-11s    ", "");
    }
}

static void put_message(const json_t *message)
{
    const char *text = json_string_value(json_object_get(message, "text"));
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%s: ", tfy__json_text(message, "role"));
    add_lines(&out, text ? text : "(the log does not have it)");
    put("instruction", &out);
    tfy__buffer_free(&out);
}

static void put_answer(const json_t *answer)
{
    const char *text = tfy__json_text(answer, "text");
    TfyBuffer out = {0};
    add_place(&out, answer);
    tfy__buffer_text(&out, " by ");
    tfy__screen_clean(&out, tfy__json_text(answer, "model"));
    if (*text) tfy__buffer_text(&out, ": ");
    add_lines(&out, text);
    put("answer", &out);
    tfy__buffer_free(&out);
}

static void put_report(const json_t *report)
{
    const json_t *answer = json_object_get(report, "answer"), *item;
    TfyBuffer out = {0};
    size_t i;
    add_place(&out, json_object_get(report, "step"));
    put("step", &out);
    tfy__buffer_free(&out);
    if (!answer) printf("%-11s  by the program; no model chose it\n", "requested");
    json_array_foreach(json_object_get(report, "calls"), i, item) put_call(item);
    if (answer) put_answer(answer);
    json_array_foreach(json_object_get(report, "instruction"), i, item) put_message(item);
    if (answer && !json_array_size(json_object_get(report, "instruction")))
        printf("%-11s  (the log does not have it)\n", "instruction");
}

/* ---- the command ---- */

static int show(const TfyArgs *args, const TfyHistory *history, bool held)
{
    Why why = {.history = history};
    const int status = read_place(args, &why);
    if (status != EXIT_DONE) return status;
    tfy__db_say_base(history);
    tfy__source_map(&why.map, history);
    const bool found = find(&why);
    json_t *report = found ? report_of(&why) : NULL;
    if (report && args->option[OPT_JSON]) {
        tfy__report_print(report, 2);
    } else if (report) {
        put_report(report);
        json_decref(report);
    }
    tfy__source_map_free(&why.map);
    return found ? EXIT_DONE
                 : tfy__fail(EXIT_MISSING, "task %s of the run has no step %lld", why.path, (long long)why.step);
}

int tfy__cmd_why(const TfyArgs *args)
{
    return tfy__db_with_history(args, show);
}

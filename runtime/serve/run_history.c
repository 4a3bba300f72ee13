/* run_history.c: see run_history.h. */
#include "serve/run_history.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/look/inspect.h"
#include "cli/look/timeline.h"
#include "serve/of_run.h"
#include "serve/reader.h"
#include "serve/record_json.h"
#include "serve/runs.h"
#include "value/json.h"
#include "wal/rows/payload.h"

enum { LIMIT_USUAL = 200, LIMIT_MOST = 2000 };

/* The history of the run of the path. NULL: the problem says why not. */
static TfyHistory *read_run(TfyRequest *request)
{
    TfyHistory *history = NULL;
    char error[TFY_ERROR_TEXT] = "";
    if (!tfy__index_awaited(request) || !tfy__run_find(request, request->names.text[0])) return NULL;
    const int code = tfy__history_read(request->reader->log, request->run->id, &history, error);
    if (code == TFY_OK) return history;
    tfy__problem(&request->problem, code == TFY_E_ABSENT ? TFY_PROBLEM_NOT_FOUND : TFY_PROBLEM_INTERNAL, "%s", error);
    return NULL;
}

/* ---- records ---- */

const char *const tfy__records_parameters[] = {"after", "task", "step", "type", "limit", NULL};
const char *const tfy__output_parameters[] = {"after", "task", "limit", NULL};

typedef struct Choice {
    int64_t after, limit;
    int64_t step;     /* only of this one; 0: all */
    const char *task; /* NULL: all */
    bool types[TFY_R_COUNT];
} Choice;

/* "ToolResult,Retry". */
static bool read_types(TfyRequest *request, const char *list, Choice *choice)
{
    if (!list) memset(choice->types, true, sizeof choice->types);
    while (list && *list) {
        char name[32];
        const size_t len = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)(len < 31 ? len : 31), list);
        const int type = tfy__record_type_of(name);
        if (!type)
            return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "'%s' is not a type of records", name);
        choice->types[type] = true;
        list += len + (list[len] == ',');
    }
    return true;
}

static bool read_choice(TfyRequest *request, Choice *choice)
{
    *choice = (Choice){.task = tfy__request_parameter(request, "task")};
    return tfy__request_number(request, "after", 0, 0, INT64_MAX / 2, &choice->after) &&
           tfy__request_number(request, "step", 0, 0, INT64_MAX / 2, &choice->step) &&
           tfy__request_number(request, "limit", LIMIT_USUAL, 1, LIMIT_MOST, &choice->limit) &&
           read_types(request, tfy__request_parameter(request, "type"), choice);
}

static bool is_chosen(const Choice *choice, const TfyHistory *history, uint32_t i)
{
    const TfyLogRecord *record = &history->records[i];
    return record->lsn > choice->after && record->type < TFY_R_COUNT && choice->types[record->type] &&
           (!choice->step || record->step == choice->step) &&
           (!choice->task || strcmp(history->tasks[history->record_tasks[i]].path, choice->task) == 0);
}

/* Shows the chosen records, a page of them, and behind them where the next one starts. */
static void show_page(TfyRequest *request, const TfyHistory *history, const Choice *choice,
                      void (*show)(TfyRequest *request, const TfyHistory *history, uint32_t i, void *arg), void *arg)
{
    int64_t count = 0, last = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        if (!is_chosen(choice, history, i)) continue;
        if (count++ == choice->limit) {
            tfy__buffer_printf(&request->answer, "],\"next\":\"%lld\"}", (long long)last);
            return;
        }
        if (count > 1) tfy__buffer_char(&request->answer, ',');
        show(request, history, i, arg);
        last = history->records[i].lsn;
    }
    tfy__buffer_text(&request->answer, "],\"next\":null}");
}

static void show_record(TfyRequest *request, const TfyHistory *history, uint32_t i, void *arg)
{
    const uint32_t task = history->record_tasks[i];
    const TfyRecordOf of = {.run = request->run->id,
                            .task = history->tasks[task].path,
                            .program = request->run->program,
                            .workflow = history->task_workflows[task],
                            .map = arg};
    tfy__record_json(&history->records[i], &of, false, &request->answer);
}

void tfy__serve_records(TfyRequest *request)
{
    Choice choice;
    TfySourceMap map;
    if (!tfy__request_known(request, tfy__records_parameters) || !read_choice(request, &choice)) return;
    TfyHistory *history = read_run(request);
    if (!history) return;
    tfy__source_map(&map, history);
    tfy__buffer_text(&request->answer, "{\"records\":[");
    show_page(request, history, &choice, show_record, &map);
    tfy__source_map_free(&map);
    tfy__history_free(history);
}

/* ---- what it printed ---- */

static void add_text(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    if (text)
        tfy__buffer_json_string(out, text, strlen(text));
    else
        tfy__buffer_text(out, "null");
}

static void show_output(TfyRequest *request, const TfyHistory *history, uint32_t i, void *arg)
{
    const TfyLogRecord *record = &history->records[i];
    TfyBuffer *out = &request->answer;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    tfy__buffer_printf(out, "{\"lsn\":%lld,\"ts\":\"", (long long)record->lsn);
    tfy__write_time(out, record->ts_ms);
    tfy__buffer_char(out, '"');
    add_text(out, "task", history->tasks[history->record_tasks[i]].path);
    add_text(out, "to", tfy__payload_text(&payload, TFY_P_TO));
    add_text(out, "level", tfy__payload_text(&payload, TFY_P_LEVEL));
    add_text(out, "stage", tfy__payload_text(&payload, TFY_P_STAGE));
    add_text(out, "text", tfy__payload_text(&payload, TFY_P_TEXT));
    tfy__buffer_char(out, '}');
    tfy__payload_close(&payload);
}

void tfy__serve_output(TfyRequest *request)
{
    Choice choice;
    if (!tfy__request_known(request, tfy__output_parameters) || !read_choice(request, &choice)) return;
    TfyHistory *history = read_run(request);
    if (!history) return;
    memset(choice.types, false, sizeof choice.types);
    choice.types[TFY_R_OUTPUT] = true;
    tfy__buffer_text(&request->answer, "{\"output\":[");
    show_page(request, history, &choice, show_output, NULL);
    tfy__history_free(history);
}

/* ---- what each task did when ---- */

/* A column of numbers: one of each span. */
static void add_column(TfyBuffer *out, const char *name, const TfyTimeline *timeline,
                       int64_t (*number)(const TfyTimeline *timeline, const TfySpan *span))
{
    tfy__buffer_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < timeline->count; i++)
        tfy__buffer_printf(out, "%s%lld", i ? "," : "", (long long)number(timeline, &timeline->spans[i]));
    tfy__buffer_char(out, ']');
}

static int64_t task_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->task;
}

static int64_t kind_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->kind;
}

static int64_t from_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->from_ms - timeline->begin_ms;
}

static int64_t took_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->to_ms - span->from_ms;
}

static int64_t step_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->step;
}

static int64_t failed_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->failed;
}

static void add_head(TfyBuffer *out, const TfyTimeline *timeline)
{
    const TfyHistory *history = timeline->history;
    tfy__buffer_text(out, "{\"started\":\"");
    tfy__write_time(out, timeline->begin_ms);
    tfy__buffer_printf(out, "\",\"ms\":%lld,\"kinds\":[", (long long)(timeline->end_ms - timeline->begin_ms));
    for (int i = 0; i < TFY_SPAN_KINDS; i++) tfy__buffer_printf(out, "%s\"%s\"", i ? "," : "", tfy__span_kinds[i]);
    tfy__buffer_text(out, "],\"tasks\":[");
    for (uint32_t i = 0; i < history->task_count; i++) {
        tfy__buffer_printf(out, "%s{\"task\":\"%s\"", i ? "," : "", history->tasks[i].path);
        add_text(out, "workflow", history->task_workflows[i]);
        tfy__buffer_char(out, '}');
    }
    tfy__buffer_text(out, "],\"spans\":{\"what\":[");
}

static void write_timeline(TfyBuffer *out, const TfyTimeline *timeline)
{
    add_head(out, timeline);
    for (size_t i = 0; i < timeline->count; i++) {
        const char *label = timeline->spans[i].label;
        if (i) tfy__buffer_char(out, ',');
        tfy__buffer_json_string(out, label, strlen(label));
    }
    tfy__buffer_char(out, ']');
    add_column(out, "task", timeline, task_of);
    add_column(out, "kind", timeline, kind_of);
    add_column(out, "from", timeline, from_of);
    add_column(out, "took", timeline, took_of);
    add_column(out, "step", timeline, step_of);
    add_column(out, "failed", timeline, failed_of);
    tfy__buffer_text(out, "}}");
}

void tfy__serve_timeline(TfyRequest *request)
{
    TfyTimeline timeline = {.count = 0};
    TfyHistory *history = tfy__request_known(request, (const char *const[]){NULL}) ? read_run(request) : NULL;
    if (!history) return;
    tfy__timeline_read(&timeline, history);
    write_timeline(&request->answer, &timeline);
    tfy__timeline_free(&timeline);
    tfy__history_free(history);
}

/* ---- where its tasks are ---- */

void tfy__serve_tasks(TfyRequest *request)
{
    TfyHistory *history = tfy__request_known(request, (const char *const[]){NULL}) ? read_run(request) : NULL;
    if (!history) return;
    json_t *report = tfy__inspect_report(history, request->server->db, true);
    json_object_del(report, "next"); /* commands to type */
    tfy__request_json(request, 200, report);
    tfy__history_free(history);
}

/* ---- one record ---- */

typedef struct One {
    TfyRequest *request;
    int64_t lsn;
    bool found;
} One;

/* The record names its task by a number; the run, whose the task is, decides who may see it. */
static void show_one(TfyRequest *request, const TfyLogRecord *record)
{
    TfyReader *reader = request->reader;
    TfyLogRun row;
    char *path = NULL;
    char uuid[37];
    if (!record->tid) {
        if (tfy__may(request->server, &request->caller, TFY_ROLE_ADMIN, NULL, &request->problem))
            tfy__record_json(record, &(TfyRecordOf){.run = NULL}, true, &request->answer);
        return;
    }
    if (tfy__log_run_of(reader->names, record->tid, &row) != TFY_OK) return;
    tfy__uuid_text(row.uuid, uuid);
    if (!tfy__run_find(request, uuid)) return;
    (void)tfy__log_task_path(reader->names, record->tid, &path);
    const TfyRecordOf of = {
        .run = uuid, .task = path, .program = request->run->program, .workflow = request->run->workflow};
    tfy__record_json(record, &of, true, &request->answer);
    free(path);
}

static int see_one(void *arg, const TfyLogRecord *record)
{
    One *one = arg;
    one->found = record->lsn == one->lsn;
    if (one->found) show_one(one->request, record);
    return 1;
}

void tfy__serve_record(TfyRequest *request)
{
    const char *text = request->names.text[0];
    const size_t len = strlen(text);
    One one = {.request = request};
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !tfy__index_awaited(request)) return;
    if (len > 0 && len < 18 && len == strspn(text, "0123456789")) one.lsn = strtoll(text, NULL, 10);
    if (one.lsn) (void)tfy__log_see(request->reader->log, one.lsn, see_one, &one);
    if (one.found && (request->answer.len || request->problem.kind)) return;
    const bool gone = one.lsn && one.lsn <= tfy__log_durable(request->reader->log);
    tfy__problem(&request->problem, gone ? TFY_PROBLEM_COMPACTED : TFY_PROBLEM_NOT_FOUND,
                 gone ? "record %.20s was removed by gc or compacted" : "there is no record %.20s", text);
}

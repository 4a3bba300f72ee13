/* run_history.c: see run_history.h. */
#include "serve/run_history.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/look/event.h"
#include "cli/look/inspect.h"
#include "cli/look/timeline.h"
#include "serve/of_run.h"
#include "serve/reader.h"
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
    if (code == TFY_E_ABSENT) tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "%s", error);
    tfy__lists_failed(request, code, error);
    return NULL;
}

/* ---- records ---- */

const char *const tfy__records_parameters[] = {"after", "task", "step", "type", "limit", NULL};
const char *const tfy__output_parameters[] = {"after", "task", "limit", NULL};

typedef struct Choice {
    int64_t after, limit;
    int64_t step;     /* only of this one; 0: all */
    const char *task; /* NULL: all */
    uint64_t types;   /* bits by TfyRecordType; 0: all */
} Choice;

static bool read_choice(TfyRequest *request, Choice *choice)
{
    const char *types = tfy__request_parameter(request, "type");
    char error[TFY_ERROR_TEXT];
    *choice = (Choice){.task = tfy__request_parameter(request, "task")};
    if (types && !tfy__event_types(types, &choice->types, error))
        return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "%s", error);
    return tfy__request_number(request, "after", 0, 0, INT64_MAX / 2, &choice->after) &&
           tfy__request_number(request, "step", 0, 0, INT64_MAX / 2, &choice->step) &&
           tfy__request_number(request, "limit", LIMIT_USUAL, 1, LIMIT_MOST, &choice->limit);
}

static bool is_chosen(const Choice *choice, const TfyHistory *history, uint32_t i)
{
    const TfyLogRecord *record = &history->records[i];
    return record->lsn > choice->after && (!choice->types || choice->types >> record->type & 1) &&
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
    const TfyEvent event = {
        .record = &history->records[i], .run = arg, .task = history->tasks[history->record_tasks[i]].path};
    tfy__event_text(&event, &request->answer);
}

void tfy__serve_records(TfyRequest *request)
{
    Choice choice;
    if (!tfy__request_known(request, tfy__records_parameters) || !read_choice(request, &choice)) return;
    TfyHistory *history = read_run(request);
    TfyEvents *events = history ? tfy__reader_events(request) : NULL;
    if (events) {
        tfy__buffer_text(&request->answer, "{\"records\":[");
        show_page(request, history, &choice, show_record, tfy__events_run(events, request->run->id));
    }
    tfy__history_free(history);
}

/* ---- what it printed ---- */

static void show_progress(TfyBuffer *out, const TfyPayload *payload)
{
    if (!tfy__payload_get(payload, TFY_P_DONE)) return;
    tfy__buffer_printf(out, ",\"done\":%lld,\"total\":%lld", (long long)tfy__payload_int(payload, TFY_P_DONE),
                       (long long)tfy__payload_int(payload, TFY_P_TOTAL));
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
    tfy__answer_text(out, "task", history->tasks[history->record_tasks[i]].path);
    tfy__answer_text(out, "to", tfy__payload_text(&payload, TFY_P_TO));
    tfy__answer_text(out, "level", tfy__payload_text(&payload, TFY_P_LEVEL));
    tfy__answer_text(out, "stage", tfy__payload_text(&payload, TFY_P_STAGE));
    tfy__answer_text(out, "text", tfy__payload_text(&payload, TFY_P_TEXT));
    show_progress(out, &payload);
    tfy__buffer_char(out, '}');
    tfy__payload_close(&payload);
}

void tfy__serve_output(TfyRequest *request)
{
    Choice choice;
    if (!tfy__request_known(request, tfy__output_parameters) || !read_choice(request, &choice)) return;
    TfyHistory *history = read_run(request);
    if (!history) return;
    choice.types = UINT64_C(1) << TFY_R_OUTPUT;
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

static int64_t point_of(const TfyTimeline *timeline, const TfySpan *span)
{
    return span->point;
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
        tfy__answer_text(out, "workflow", history->task_workflows[i]);
        tfy__buffer_char(out, '}');
    }
    tfy__buffer_text(out, "],\"spans\":{\"what\":[");
}

static void write_timeline(TfyBuffer *out, const TfyTimeline *timeline)
{
    const char *id;
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
    add_column(out, "point", timeline, point_of);
    add_column(out, "failed", timeline, failed_of);
    tfy__buffer_text(out, "},\"points\":[null");
    for (uint32_t point = 1; (id = tfy__source_point(&timeline->map, point)); point++) {
        tfy__buffer_char(out, ',');
        tfy__buffer_json_string(out, id, strlen(id));
    }
    tfy__buffer_text(out, "]}");
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

/* ---- its program ---- */

static json_t *files_of(const TfySourceMap *map)
{
    char *bundle = tfy__source_bundle(map);
    json_t *all = bundle ? json_loads(bundle, 0, NULL) : NULL, *file, *files = json_array();
    size_t i;
    free(bundle);
    json_array_foreach(json_object_get(all, "modules"), i, file) json_array_append_new(
        files, json_pack("{s:O, s:O}", "file", json_object_get(file, "file"), "text", json_object_get(file, "text")));
    if (!all) json_array_append_new(files, json_pack("{s:s, s:s}", "file", tfy__source_file(map), "text", map->source));
    json_decref(all);
    return files;
}

void tfy__serve_source(TfyRequest *request)
{
    TfySourceMap map = {.layout = NULL};
    TfyHistory *history = tfy__request_known(request, (const char *const[]){NULL}) ? read_run(request) : NULL;
    if (!history) return;
    tfy__source_map(&map, history);
    tfy__request_json(request, 200, json_pack("{s:s, s:o}", "run", request->run->id, "files", files_of(&map)));
    tfy__source_map_free(&map);
    tfy__history_free(history);
}

/* ---- one record ---- */

typedef struct One {
    TfyRequest *request;
    int64_t lsn;
    bool found;
} One;

/* Its run decides who may see it; a record of the database itself is for admins. */
static int see_one(void *arg, const TfyEvent *event)
{
    One *one = arg;
    TfyRequest *request = one->request;
    if (event->record->lsn != one->lsn || (event->record->tid && !event->run)) return 1;
    const TfyAbout about = {event->run ? event->run->program : "", event->run ? event->run->workflow : "", NULL};
    one->found = tfy__may(request->server, &request->caller, event->run ? TFY_ROLE_VIEWER : TFY_ROLE_ADMIN,
                          event->run ? &about : NULL, &request->problem);
    if (one->found) tfy__event_whole(event, &request->answer);
    return 1;
}

/* 0: it is not the number of a record. */
static int64_t lsn_of(const char *text)
{
    const size_t len = strlen(text);
    return len > 0 && len < 18 && len == strspn(text, "0123456789") ? strtoll(text, NULL, 10) : 0;
}

static int see_of_run(void *arg, const TfyEvent *event)
{
    const One *one = arg;
    const bool mine = event->run && strcmp(event->run->uuid, one->request->run->id) == 0;
    return mine ? see_one(arg, event) : 1;
}

void tfy__serve_run_record(TfyRequest *request)
{
    One one = {.request = request, .lsn = lsn_of(request->names.text[1])};
    int code = TFY_OK;
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !tfy__index_awaited(request) ||
        !tfy__run_find(request, request->names.text[0]) || !tfy__reader_events(request))
        return;
    if (one.lsn) code = request->reader->lists->record(request->reader, request->run->id, one.lsn, see_of_run, &one);
    if (code < 0 && code != TFY_E_ABSENT) tfy__lists_failed(request, code, "the record cannot be read");
    if (one.found || request->problem.kind) return;
    tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "run %s has no record %.20s", request->run->id,
                 request->names.text[1]);
}

void tfy__serve_record(TfyRequest *request)
{
    const char *text = request->names.text[0];
    One one = {.request = request, .lsn = lsn_of(text)};
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !tfy__index_awaited(request)) return;
    TfyEvents *events = one.lsn ? tfy__reader_events(request) : NULL;
    if (events) (void)tfy__events_see(events, one.lsn, see_one, &one);
    if (one.found || request->problem.kind) return;
    const bool gone = one.lsn && one.lsn <= tfy__log_durable_lsn(request->reader->log);
    tfy__problem(&request->problem, gone ? TFY_PROBLEM_COMPACTED : TFY_PROBLEM_NOT_FOUND,
                 gone ? "record %.20s was removed by gc or compacted" : "there is no record %.20s", text);
}

/* spans.c: see timeline.h. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/look/timeline.h"
#include "wal/rows/payload.h"

const char *const tfy__span_kinds[TFY_SPAN_KINDS] = {"run", "tool", "sleep", "wait", "person", "model"};

/* The state of reading one task. */
typedef struct TfyReading {
    int64_t since_ms; /* start of the next span; 0: the task has no record yet */
    bool timeout;     /* a timeout runs, not a sleep */
} TfyReading;

int64_t tfy__record_pause_ms(const TfyLogRecord *record)
{
    const bool pauses = record->type == TFY_R_RETRY || tfy__record_is_busy(record);
    return pauses ? tfy__record_int(record, TFY_P_DUE) : 0;
}

bool tfy__record_bounds(const TfyLogRecord *record, bool before)
{
    const bool waits = record->type == TFY_R_TASK_YIELD && !tfy__record_is_busy(record);
    return waits ? tfy__record_is(record, TFY_P_WHY, "timeout") : before;
}

static void add(TfyTimeline *timeline, const TfySpan *span)
{
    if (!GROW(timeline->spans, timeline->cap, timeline->count + 1, 256)) return;
    timeline->spans[timeline->count++] = *span;
}

static const char *text_of(const TfyPayload *payload, TfyMember member)
{
    const char *text = tfy__payload_text(payload, member);
    return text ? text : "";
}

static void set_label(TfySpan *span, const char *verb, const char *what)
{
    snprintf(span->label, sizeof span->label, "%s%s%s", verb, *verb && *what ? " " : "", what);
}

static void label_by_point(const TfyTimeline *timeline, TfySpan *span, uint32_t point, const char *verb)
{
    char callee[64];
    tfy__source_callee(&timeline->map, point, callee);
    set_label(span, callee, verb);
}

/* Names the activity before a record. */
static void classify(const TfyTimeline *timeline, const TfyLogRecord *record, const TfyPayload *payload,
                     const TfyReading *reading, TfySpan *span)
{
    const json_t *ms = tfy__payload_get(payload, TFY_P_MS);
    span->failed = tfy__payload_get(payload, TFY_P_ERROR) != NULL;
    span->point = record->point;
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT:
        span->kind = record->type == TFY_R_LLM_PLAN ? TFY_SPAN_THINKS : TFY_SPAN_WORKS;
        set_label(span, text_of(payload, TFY_P_TOOL), "");
        if (ms && span->to_ms - json_integer_value(ms) > span->from_ms)
            span->from_ms = span->to_ms - json_integer_value(ms);
        break;
    case TFY_R_TIMER_FIRED:
        span->kind = reading->timeout ? TFY_SPAN_WORKS : TFY_SPAN_SLEEPS;
        span->failed = reading->timeout;
        label_by_point(timeline, span, record->point, reading->timeout ? "timeout" : "");
        break;
    case TFY_R_JOIN_RESULT:
        span->kind = TFY_SPAN_WAITS;
        set_label(span, *text_of(payload, TFY_P_GROUP) ? text_of(payload, TFY_P_GROUP) : "join",
                  text_of(payload, TFY_P_PATH));
        break;
    case TFY_R_CHANNEL_SEND:
    case TFY_R_CHANNEL_RECV:
        span->kind = TFY_SPAN_WAITS;
        set_label(span, record->type == TFY_R_CHANNEL_SEND ? "send" : "recv", text_of(payload, TFY_P_OBJ));
        break;
    case TFY_R_LOCK_GRANTED:
    case TFY_R_WOKE:
        span->kind = TFY_SPAN_WAITS;
        set_label(span, record->type == TFY_R_WOKE ? "signal" : "lock", text_of(payload, TFY_P_NAME));
        break;
    case TFY_R_APPROVAL:
    case TFY_R_RESOLVED:
        span->kind = TFY_SPAN_ASKS;
        label_by_point(timeline, span, record->point, "");
        break;
    case TFY_R_TASK_CANCEL:
        span->kind = TFY_SPAN_WAITS;
        span->failed = true;
        set_label(span, "cancelled", "");
        break;
    case TFY_R_TASK_ABORT: span->failed = true; /* fallthrough */
    default: span->kind = TFY_SPAN_RUNS; set_label(span, "run", "");
    }
}

static void add_backoff(TfyTimeline *timeline, uint32_t task, const TfyLogRecord *record, int64_t due_ms)
{
    TfySpan span = {
        .task = task, .kind = TFY_SPAN_SLEEPS, .from_ms = timeline->end_ms, .to_ms = due_ms, .step = record->step};
    set_label(&span, record->type == TFY_R_RETRY ? "backoff" : "busy", "");
    if (due_ms > timeline->end_ms) add(timeline, &span);
}

static void begin_child(TfyTimeline *timeline, const TfyLogRecord *record)
{
    const uint32_t child = tfy__db_task_born(timeline->history, record->lsn);
    if (child != UINT32_MAX) timeline->readings[child].since_ms = timeline->end_ms;
}

/* What the tasks of a compacted run did before its snapshot is not known any more. */
static void begin_all(TfyTimeline *timeline)
{
    for (uint32_t i = 0; i < timeline->history->task_count; i++)
        if (timeline->readings[i].since_ms) timeline->readings[i].since_ms = timeline->end_ms;
}

/* Arrivals are in a task's chain but say nothing about the task. */
static bool is_arrival(const TfyLogRecord *record)
{
    return record->type == TFY_R_SIGNAL || record->type == TFY_R_MOVED;
}

/* Where the clock was set back, the time stops until the clock reaches it again: records are in the order in which
 * things happened. */
static void read_record(TfyTimeline *timeline, uint32_t task, const TfyLogRecord *record)
{
    TfyReading *reading = &timeline->readings[task];
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    if (record->ts_ms > timeline->end_ms) timeline->end_ms = record->ts_ms;
    const int64_t now_ms = timeline->end_ms;
    TfySpan span = {.task = task, .from_ms = reading->since_ms, .to_ms = now_ms, .step = record->step};
    if (record->type == TFY_R_TASK_SPAWN) begin_child(timeline, record);
    if (!is_arrival(record)) {
        if (reading->since_ms) classify(timeline, record, &payload, reading, &span);
        /* A span without duration gets a bar only if it is something other than running. */
        bool shown = span.to_ms > span.from_ms || span.kind != TFY_SPAN_RUNS || span.failed;
        if (reading->since_ms && shown && record->type != TFY_R_TASK_COMPLETE) add(timeline, &span);
        reading->since_ms = now_ms;
    }
    const int64_t due_ms = tfy__record_pause_ms(record);
    if (due_ms) add_backoff(timeline, task, record, due_ms);
    if (due_ms > reading->since_ms) reading->since_ms = due_ms;
    if (tfy__db_is_base(timeline->history, record)) begin_all(timeline);
    reading->timeout = tfy__record_bounds(record, reading->timeout);
    tfy__payload_close(&payload);
}

static int by_task(const void *a, const void *b)
{
    const TfySpan *left = a, *right = b;
    if (left->task != right->task) return left->task < right->task ? -1 : 1;
    return left->from_ms < right->from_ms ? -1 : left->from_ms > right->from_ms;
}

void tfy__timeline_read(TfyTimeline *timeline, const TfyHistory *history)
{
    timeline->history = history;
    timeline->begin_ms = history->record_count ? history->records[0].ts_ms : history->run.started_ms;
    timeline->end_ms = timeline->begin_ms;
    timeline->readings = calloc(history->task_count + 1, sizeof *timeline->readings);
    tfy__source_map(&timeline->map, history);
    for (uint32_t i = 0; timeline->readings && i < history->record_count; i++)
        read_record(timeline, history->record_tasks[i], &history->records[i]);
    if (timeline->count) qsort(timeline->spans, timeline->count, sizeof *timeline->spans, by_task);
}

void tfy__timeline_free(TfyTimeline *timeline)
{
    tfy__source_map_free(&timeline->map);
    free(timeline->readings);
    free(timeline->spans);
}

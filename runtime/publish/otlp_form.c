/* otlp_form.c: see otlp_form.h. OTLP/JSON has 64-bit numbers as texts, and ids in hexadecimal digits. */
#include "publish/otlp_form.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/line.h"
#include "publish/otlp_names.h"

enum { INTERNAL = 1, CLIENT = 3, ERROR = 2, DELTA = 1 }; /* of OTLP's enums */
enum { SEVERITY_DEBUG = 5, SEVERITY_INFO = 9, SEVERITY_WARN = 13, SEVERITY_ERROR = 17 };

/* An event, with what the feed adds to it. All is borrowed. */
typedef struct Said {
    const TfyMessage *message;
    const json_t *event, *payload;
    const char *run, *task, *workflow;
    int64_t ts_ms, since_ms, step;
    uint32_t attempt;  /* of the step: the first one has the span of the step, and the others are below it */
    TfyTraceParent in; /* the trace of the run, and the span that called for it; 0: nobody's did */
} Said;

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

/* ---- attributes ---- */

static void add_value(json_t *attributes, const char *name, const char *kind, json_t *value)
{
    json_array_append_new(attributes, json_pack("{s:s,s:{s:o}}", "key", name, "value", kind, value));
}

static void add_text(json_t *attributes, const char *name, const char *text)
{
    if (*text) add_value(attributes, name, "stringValue", json_string(text));
}

static json_t *number_text(int64_t number)
{
    return json_sprintf("%" PRId64, number);
}

static json_t *nanoseconds(int64_t ms)
{
    return json_sprintf("%" PRId64 "000000", ms);
}

static void add_number(json_t *attributes, const char *name, const json_t *number)
{
    if (json_is_integer(number)) add_value(attributes, name, "intValue", number_text(json_integer_value(number)));
}

/* Any JSON as a text. */
static void add_json(json_t *attributes, const char *name, const json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (text) add_text(attributes, name, text);
    free(text);
}

static void add_place(json_t *attributes, const Said *said)
{
    add_text(attributes, "tfy.run", said->run);
    add_text(attributes, "tfy.task", said->task);
    if (said->step) add_number(attributes, "tfy.step", json_object_get(said->event, "step"));
    add_text(attributes, "tfy.point", text_of(said->event, "point"));
    add_text(attributes, "tfy.version", text_of(said->event, "version"));
}

static const char *provider_of(const char *model)
{
#define ROW(start, name)                                                                                               \
    if (strncmp(model, start, sizeof start - 1) == 0) return name;
    OTLP_PROVIDERS(ROW)
#undef ROW
    return "";
}

static void add_model(json_t *attributes, const json_t *payload)
{
    const char *model = text_of(payload, "model");
    add_text(attributes, OTLP_OPERATION, OTLP_CHAT);
    add_text(attributes, OTLP_PROVIDER, provider_of(model));
    add_text(attributes, OTLP_MODEL, model);
}

/* ---- spans ---- */

static const char *error_type(const json_t *payload)
{
    return text_of(json_object_get(payload, "error"), "error");
}

/* Adds a span that the record ends. Takes the attributes. */
static void add_span(TfyOtlp *otlp, const Said *said, const char *task, const char *name, int kind, json_t *attributes)
{
    char id[17], parent[17] = "";
    const int64_t step = task ? said->step : 0, from = said->since_ms ? said->since_ms : said->ts_ms;
    const uint32_t attempt = step && said->attempt > 1 ? said->attempt : 0;
    const uint64_t above = task ? tfy__span_parent(said->run, task, step, attempt) : said->in.span;
    const char *error = error_type(said->payload);
    snprintf(id, sizeof id, "%016" PRIx64, tfy__span_id(said->run, task, step, attempt));
    if (above) snprintf(parent, sizeof parent, "%016" PRIx64, above);
    add_place(attributes, said);
    add_text(attributes, OTLP_ERROR_TYPE, error);
    json_t *span =
        json_pack("{s:s,s:s,s:s,s:s,s:i,s:o,s:o,s:o}", "traceId", said->in.trace, "spanId", id, "parentSpanId", parent,
                  "name", name, "kind", kind, "startTimeUnixNano", nanoseconds(from < said->ts_ms ? from : said->ts_ms),
                  "endTimeUnixNano", nanoseconds(said->ts_ms), "attributes", attributes);
    if (*error) {
        const char *why = otlp->content ? text_of(json_object_get(said->payload, "error"), "message") : "";
        json_object_set_new(span, "status", json_pack("{s:i,s:s}", "code", ERROR, "message", why));
    }
    json_array_append_new(otlp->spans, span);
}

static void add_run(TfyOtlp *otlp, const Said *said)
{
    char name[256];
    json_t *attributes = json_array();
    snprintf(name, sizeof name, OTLP_INVOKE_WORKFLOW " %.200s", said->workflow);
    add_text(attributes, OTLP_OPERATION, OTLP_INVOKE_WORKFLOW);
    add_text(attributes, OTLP_WORKFLOW, said->workflow);
    add_text(attributes, "tfy.program", text_of(said->event, "program"));
    add_span(otlp, said, NULL, name, INTERNAL, attributes);
}

static void add_task(TfyOtlp *otlp, Said *said)
{
    said->step = 0;
    add_span(otlp, said, said->task, "tfy.task", INTERNAL, json_array());
}

static void add_tool(TfyOtlp *otlp, const Said *said)
{
    char name[256];
    json_t *attributes = json_array();
    snprintf(name, sizeof name, OTLP_EXECUTE_TOOL " %.200s", text_of(said->payload, "tool"));
    add_text(attributes, OTLP_OPERATION, OTLP_EXECUTE_TOOL);
    add_text(attributes, OTLP_TOOL, text_of(said->payload, "tool"));
    add_text(attributes, OTLP_TOOL_CALL, text_of(said->event, "key"));
    if (otlp->content) add_json(attributes, OTLP_TOOL_RESULT, json_object_get(said->payload, "value"));
    add_span(otlp, said, said->task, name, INTERNAL, attributes);
}

static void add_answer(json_t *attributes, const json_t *payload)
{
    json_t *messages = json_pack("[{s:s,s:[{s:s,s:s}],s:s}]", "role", "assistant", "parts", "type", "text", "content",
                                 text_of(payload, "answer"), "finish_reason", text_of(payload, "finish_reason"));
    add_json(attributes, OTLP_OUTPUT_MESSAGES, messages);
    json_decref(messages);
}

static void add_chat(TfyOtlp *otlp, const Said *said)
{
    char name[256];
    const json_t *payload = said->payload;
    json_t *attributes = json_array();
    snprintf(name, sizeof name, OTLP_CHAT " %.200s", text_of(payload, "model"));
    add_model(attributes, payload);
    add_number(attributes, OTLP_INPUT_TOKENS, json_object_get(payload, "prompt_tokens"));
    add_number(attributes, OTLP_OUTPUT_TOKENS, json_object_get(payload, "completion_tokens"));
    add_number(attributes, OTLP_CACHED_TOKENS, json_object_get(payload, "cached_tokens"));
    if (*text_of(payload, "finish_reason"))
        add_value(attributes, OTLP_FINISH_REASONS, "arrayValue",
                  json_pack("{s:[{s:s}]}", "values", "stringValue", text_of(payload, "finish_reason")));
    if (otlp->content && *text_of(payload, "answer")) add_answer(attributes, payload);
    add_span(otlp, said, said->task, name, CLIENT, attributes);
}

/* ---- points of metrics ---- */

/* The borders that the conventions recommend. */
static const double second_borders[] = {0.01, 0.02, 0.04, 0.08,  0.16,  0.32,  0.64,
                                        1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
                    token_borders[] = {1,     4,     16,     64,      256,     1024,     4096,
                                       16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};
enum { BORDERS = sizeof second_borders / sizeof *second_borders };
_Static_assert(sizeof token_borders == sizeof second_borders, "both have as many borders");

/* A histogram of one value. Takes the attributes. */
static void add_value_point(json_t *points, const Said *said, double value, const double borders[BORDERS],
                            json_t *attributes)
{
    json_t *counts = json_array(), *bounds = json_array();
    int at = 0;
    while (at < BORDERS && value > borders[at]) at++;
    for (int i = 0; i <= BORDERS; i++) json_array_append_new(counts, json_string(i == at ? "1" : "0"));
    for (int i = 0; i < BORDERS; i++) json_array_append_new(bounds, json_real(borders[i]));
    json_array_append_new(
        points, json_pack("{s:o,s:o,s:s,s:f,s:o,s:o,s:o}", "startTimeUnixNano",
                          nanoseconds(said->since_ms && said->since_ms < said->ts_ms ? said->since_ms : said->ts_ms),
                          "timeUnixNano", nanoseconds(said->ts_ms), "count", "1", "sum", value, "bucketCounts", counts,
                          "explicitBounds", bounds, "attributes", attributes));
}

static void add_tokens(TfyOtlp *otlp, const Said *said, const char *member, const char *type)
{
    const json_t *count = json_object_get(said->payload, member);
    if (!json_is_integer(count)) return;
    json_t *attributes = json_array();
    add_model(attributes, said->payload);
    add_text(attributes, OTLP_TOKEN_TYPE, type);
    add_value_point(otlp->tokens, said, (double)json_integer_value(count), token_borders, attributes);
}

static void add_points(TfyOtlp *otlp, const Said *said)
{
    json_t *attributes = json_array();
    add_model(attributes, said->payload);
    add_text(attributes, OTLP_ERROR_TYPE, error_type(said->payload));
    add_value_point(otlp->durations, said, (double)(said->ts_ms - said->since_ms) / 1000, second_borders, attributes);
    add_tokens(otlp, said, "prompt_tokens", "input");
    add_tokens(otlp, said, "completion_tokens", "output");
}

/* ---- log records ---- */

static int severity_of(const Said *said)
{
    const char *level = text_of(said->payload, "level");
    if (strcmp(level, "debug") == 0) return SEVERITY_DEBUG;
    if (strcmp(level, "error") == 0) return SEVERITY_ERROR;
    const int type = said->message->type;
    return strcmp(level, "warn") == 0 || !type || type == TFY_R_RETRY || type == TFY_R_IN_DOUBT ? SEVERITY_WARN
                                                                                                : SEVERITY_INFO;
}

static const char *severity_name(int severity)
{
    return severity == SEVERITY_DEBUG  ? "DEBUG"
           : severity == SEVERITY_INFO ? "INFO"
           : severity == SEVERITY_WARN ? "WARN"
                                       : "ERROR";
}

static void add_log(TfyOtlp *otlp, const Said *said)
{
    char name[64];
    json_t *attributes = json_array();
    const int severity = severity_of(said);
    snprintf(name, sizeof name, "tfy.record.%s", tfy__record_type_name(said->message->type));
    if (!said->message->type) snprintf(name, sizeof name, "tfy.gap");
    add_place(attributes, said);
    add_text(attributes, OTLP_ERROR_TYPE, error_type(said->payload));
    json_t *log =
        json_pack("{s:o,s:i,s:s,s:s,s:o}", "timeUnixNano", nanoseconds(said->ts_ms), "severityNumber", severity,
                  "severityText", severity_name(severity), "eventName", name, "attributes", attributes);
    if (*said->run) {
        char id[17];
        snprintf(id, sizeof id, "%016" PRIx64, tfy__span_id(said->run, said->task, 0, 0));
        json_object_set_new(log, "traceId", json_string(said->in.trace));
        json_object_set_new(log, "spanId", json_string(id));
    }
    char *body = otlp->content || !said->message->type
                     ? json_dumps(said->message->type ? said->payload : said->event, JSON_COMPACT)
                     : NULL;
    json_object_set_new(log, "body", json_pack("{s:s}", "stringValue", body ? body : name));
    free(body);
    json_array_append_new(otlp->logs, log);
}

/* ---- a message ---- */

/* What a step did that is neither a model's nor a tool's; NULL: nothing that takes time. */
static const char *what_of(const Said *said)
{
    if (!said->step) return NULL;
    switch (said->message->type) {
    case TFY_R_PATCH_PREVIEW: return "tfy.preview";
    case TFY_R_COMMIT: return "tfy.commit";
    case TFY_R_TIMER_FIRED: return "tfy.sleep";
    case TFY_R_JOIN_RESULT: return "tfy.join";
    case TFY_R_CHANNEL_SEND: return "tfy.send";
    case TFY_R_CHANNEL_RECV: return "tfy.receive";
    case TFY_R_LOCK_GRANTED: return "tfy.lock";
    case TFY_R_WOKE: return "tfy.signal";
    case TFY_R_APPROVAL: return "tfy.approval";
    default: return NULL;
    }
}

/* How long a model took, the record itself says. */
static void add_plan(TfyOtlp *otlp, Said *said)
{
    const json_t *ms = json_object_get(said->payload, "ms");
    if (json_is_integer(ms) && json_integer_value(ms) >= 0) said->since_ms = said->ts_ms - json_integer_value(ms);
    const json_t *attempt = json_object_get(said->payload, "attempt");
    if (json_is_integer(attempt)) said->attempt = (uint32_t)json_integer_value(attempt);
    add_chat(otlp, said);
    add_points(otlp, said);
}

static void add_one(TfyOtlp *otlp, Said *said)
{
    const char *what = what_of(said);
    switch (said->message->type) {
    case TFY_R_TASK_COMPLETE: add_run(otlp, said); break;
    case TFY_R_TASK_EXIT:
    case TFY_R_TASK_ABORT: add_task(otlp, said); break;
    case TFY_R_LLM_PLAN: add_plan(otlp, said); break;
    case TFY_R_TOOL_RESULT: add_tool(otlp, said); break;
    case TFY_R_TEXT:
    case TFY_R_SNAPSHOT:
        if (otlp->content) add_log(otlp, said);
        break;
    default:
        if (what)
            add_span(otlp, said, said->task, what, INTERNAL, json_array());
        else
            add_log(otlp, said);
    }
}

/* A run is part of its caller's trace if its label says so, which is in its first record; else it is a trace of its own. */
static void find_trace(Said *said)
{
    const TfyEventRun *run = said->message->run;
    const char *caller = run ? json_string_value(json_object_get(run->labels, "traceparent")) : NULL;
    if (caller && tfy__trace_parent(caller, &said->in)) return;
    said->in.span = 0;
    tfy__trace_id(said->run, said->in.trace);
}

void tfy__otlp_add(TfyOtlp *otlp, const TfyMessage *message, const char *text)
{
    json_t *event = json_loadb(text, message->len, JSON_ALLOW_NUL, NULL);
    Said said = {.message = message,
                 .event = event,
                 .payload = json_object_get(event, "payload"),
                 .run = text_of(event, "run"),
                 .task = text_of(event, "task"),
                 .workflow = text_of(event, "workflow"),
                 .ts_ms = message->ts_ms,
                 .since_ms = json_integer_value(json_object_get(event, "since_ms")),
                 .step = json_integer_value(json_object_get(event, "step")),
                 .attempt = (uint32_t)json_integer_value(json_object_get(event, "attempt"))};
    if (!said.since_ms) said.since_ms = said.ts_ms;
    find_trace(&said);
    if (event) add_one(otlp, &said);
    json_decref(event);
}

/* ---- documents ---- */

bool tfy__otlp_open(TfyOtlp *otlp, bool content)
{
    *otlp = (TfyOtlp){content, json_array(), json_array(), json_array(), json_array()};
    return otlp->spans && otlp->durations && otlp->tokens && otlp->logs;
}

void tfy__otlp_close(TfyOtlp *otlp)
{
    json_decref(otlp->spans);
    json_decref(otlp->durations);
    json_decref(otlp->tokens);
    json_decref(otlp->logs);
}

/* {"resourceSpans":[{"resource":…,"scopeSpans":[{"scope":…,"spans":[…]}]}]}. Takes the items. */
static char *document(const char *resources, const char *scopes, const char *name, json_t *items, const char *db,
                      bool *failed)
{
    json_t *attributes = json_array();
    add_text(attributes, OTLP_SERVICE_NAME, "tfy");
    add_text(attributes, OTLP_SERVICE_VERSION, TFY_VERSION);
    add_text(attributes, OTLP_SERVICE_INSTANCE, db);
    json_t *whole = json_pack("{s:[{s:{s:o},s:s,s:[{s:{s:s,s:s},s:s,s:o}]}]}", resources, "resource", "attributes",
                              attributes, "schemaUrl", OTLP_SCHEMA, scopes, "scope", "name", "tfy", "version",
                              TFY_VERSION, "schemaUrl", OTLP_SCHEMA, name, items);
    char *text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    *failed |= !text;
    return text;
}

char *tfy__otlp_traces(const TfyOtlp *otlp, const char *db, bool *failed)
{
    if (!json_array_size(otlp->spans)) return NULL;
    return document("resourceSpans", "scopeSpans", "spans", json_incref(otlp->spans), db, failed);
}

char *tfy__otlp_logs(const TfyOtlp *otlp, const char *db, bool *failed)
{
    if (!json_array_size(otlp->logs)) return NULL;
    return document("resourceLogs", "scopeLogs", "logRecords", json_incref(otlp->logs), db, failed);
}

static json_t *metric(const char *name, const char *unit, json_t *points)
{
    return json_pack("{s:s,s:s,s:{s:i,s:O}}", "name", name, "unit", unit, "histogram", "aggregationTemporality", DELTA,
                     "dataPoints", points);
}

char *tfy__otlp_metrics(const TfyOtlp *otlp, const char *db, bool *failed)
{
    if (!json_array_size(otlp->durations)) return NULL;
    json_t *metrics = json_array();
    json_array_append_new(metrics, metric(OTLP_OPERATION_DURATION, "s", otlp->durations));
    if (json_array_size(otlp->tokens))
        json_array_append_new(metrics, metric(OTLP_TOKEN_USAGE, "{token}", otlp->tokens));
    return document("resourceMetrics", "scopeMetrics", "metrics", metrics, db, failed);
}

#include "observe/metrics.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

typedef enum Kind { COUNTER, GAUGE, HISTOGRAM } Kind;

/* What distinguishes the values of a metric. */
typedef enum Label { NO_LABEL, BY_END, BY_TYPE, BY_DIRECTION, BY_TOOL, BY_MODEL } Label;

typedef struct Figure {
    const char *name;
    Kind kind;
    Label label;
    size_t at; /* offset in TfyMetrics; BY_TOOL: in TfyToolRow; BY_MODEL: in TfyModelRow */
    const char *help;
    bool is_double;
} Figure;

#define OF(member)       offsetof(TfyMetrics, member)
#define OF_TOOL(member)  offsetof(TfyToolRow, member)
#define OF_MODEL(member) offsetof(TfyModelRow, member)

static const Figure FIGURES[] = {
    {"tfy_runs_started_total", COUNTER, NO_LABEL, OF(runs_started), "Runs that were submitted.", false},
    {"tfy_runs_ended_total", COUNTER, BY_END, OF(runs_ended), "Runs that finished, by outcome.", false},
    {"tfy_tasks_started_total", COUNTER, NO_LABEL, OF(tasks_started), "Tasks that started, including root tasks.",
     false},
    {"tfy_tasks_ended_total", COUNTER, BY_END, OF(tasks_ended), "Tasks that finished, by outcome.", false},
    {"tfy_records_total", COUNTER, BY_TYPE, OF(records), "Records in the log, by type.", false},
    {"tfy_model_tokens_total", COUNTER, BY_DIRECTION, OF(tokens), "Tokens reported by models.", false},
    {"tfy_model_repeats_total", COUNTER, NO_LABEL, OF(model_repeats),
     "Requests sent again because a model's endpoint answered 429 or 5xx.", false},
    {"tfy_llm_tokens_total", COUNTER, BY_MODEL, OF_MODEL(tokens), "Tokens by model.", false},
    {"tfy_llm_cost_total", COUNTER, BY_MODEL, OF_MODEL(cost), "What models cost, as far as their prices are known.",
     true},
    {"tfy_questions_total", COUNTER, NO_LABEL, OF(questions), "Questions to people.", false},
    {"tfy_tool_calls_total", COUNTER, BY_TOOL, OF_TOOL(calls), "Attempts of tools that finished.", false},
    {"tfy_tool_failures_total", COUNTER, BY_TOOL, OF_TOOL(failures), "Attempts of tools that failed.", false},
    {"tfy_tool_timeouts_total", COUNTER, BY_TOOL, OF_TOOL(timeouts), "Attempts of tools that timed out.", false},
    {"tfy_tool_retries_total", COUNTER, BY_TOOL, OF_TOOL(retries), "Repeated attempts of tools.", false},
    {"tfy_tool_duration_seconds", HISTOGRAM, BY_TOOL, OF_TOOL(seconds), "How long attempts of tools took.", true},
    {"tfy_live_events_total", COUNTER, NO_LABEL, OF(events), "Live events of this process.", false},
    {"tfy_live_events_missed_total", COUNTER, NO_LABEL, OF(events_missed), "Live events that subscribers missed.",
     false},
    {"tfy_process_start_time_seconds", GAUGE, NO_LABEL, OF(start_time), "When this process opened the database.", true},
    {"tfy_runs_live", GAUGE, NO_LABEL, OF(runs_live), "Runs that have not finished.", false},
    {"tfy_tasks_live", GAUGE, NO_LABEL, OF(tasks_live), "Tasks that have not finished.", false},
    {"tfy_tasks_ready", GAUGE, NO_LABEL, OF(tasks_ready), "Tasks that could run.", false},
    {"tfy_timers", GAUGE, NO_LABEL, OF(timers), "Timers that are set.", false},
    {"tfy_calls_in_flight", GAUGE, NO_LABEL, OF(calls_in_flight), "Attempts of tools under way.", false},
    {"tfy_heap_bytes", GAUGE, NO_LABEL, OF(heap_bytes), "Bytes in values of programs.", false},
    {"tfy_records_unsynced", GAUGE, NO_LABEL, OF(unsynced), "Records that are not on the disk yet.", false},
    {"tfy_live_subscribers", GAUGE, NO_LABEL, OF(subscribers), "Subscribers to live events.", false},
};

/* Upper bounds of the buckets, in seconds, and their printed form. */
static const struct {
    double bound;
    const char *text;
} BOUNDS[TFY_BUCKETS] = {{0.001, "0.001"}, {0.005, "0.005"}, {0.01, "0.01"}, {0.05, "0.05"}, {0.1, "0.1"},
                         {0.25, "0.25"},   {0.5, "0.5"},     {1, "1.0"},     {2.5, "2.5"},   {5, "5.0"},
                         {10, "10.0"},     {30, "30.0"},     {60, "60.0"},   {300, "300.0"}};

/* ---- counting ---- */

void tfy__metrics_free(TfyMetrics *metrics)
{
    for (uint32_t i = 0; i < metrics->tool_count; i++) free(metrics->tools[i].name);
    free(metrics->tools);
    for (uint32_t i = 0; i < metrics->model_count; i++) free(metrics->models[i].name);
    free(metrics->models);
    metrics->models = NULL;
    metrics->model_count = 0;
    metrics->tools = NULL;
    metrics->tool_count = 0;
}

TfyToolRow *tfy__metrics_tool(TfyMetrics *metrics, const char *name)
{
    for (int again = 0; again < 2; again++, name = "other") {
        for (uint32_t i = 0; i < metrics->tool_count; i++)
            if (strcmp(metrics->tools[i].name, name) == 0) return &metrics->tools[i];
        if (metrics->tool_count < TFY_TOOL_ROWS - 1 || again) break;
    }
    if (!metrics->tools && !(metrics->tools = calloc(TFY_TOOL_ROWS, sizeof *metrics->tools))) return NULL;
    TfyToolRow *row = &metrics->tools[metrics->tool_count];
    if (!(row->name = strdup(name))) return NULL;
    metrics->tool_count++;
    return row;
}

static TfyModelRow *model_row(TfyMetrics *metrics, const char *name)
{
    for (int again = 0; again < 2; again++, name = "other") {
        for (uint32_t i = 0; i < metrics->model_count; i++)
            if (strcmp(metrics->models[i].name, name) == 0) return &metrics->models[i];
        if (metrics->model_count < TFY_MODEL_ROWS - 1 || again) break;
    }
    if (!metrics->models && !(metrics->models = calloc(TFY_MODEL_ROWS, sizeof *metrics->models))) return NULL;
    TfyModelRow *row = &metrics->models[metrics->model_count];
    if (!(row->name = strdup(name))) return NULL;
    metrics->model_count++;
    return row;
}

void tfy__metrics_answer(TfyMetrics *metrics, const char *model, const int64_t tokens[3], int64_t cost)
{
    TfyModelRow *row = model_row(metrics, model);
    for (int i = 0; row && i < 3; i++)
        if (tokens[i] > 0) row->tokens[i] += (uint64_t)tokens[i];
    if (row && cost > 0) row->cost += (double)cost / 1e6;
    if (tokens[0] > 0) metrics->tokens[0] += (uint64_t)tokens[0];
    if (tokens[2] > 0) metrics->tokens[1] += (uint64_t)tokens[2];
}

void tfy__metrics_call(TfyMetrics *metrics, const char *name, double seconds, bool failed, bool timeout)
{
    TfyToolRow *row = tfy__metrics_tool(metrics, name);
    int bucket = 0;
    if (!row) return;
    if (seconds < 0) seconds = 0; /* wall clocks can go back */
    while (bucket < TFY_BUCKETS && seconds > BOUNDS[bucket].bound) bucket++;
    row->seconds.buckets[bucket]++;
    row->seconds.sum += seconds;
    if (seconds > row->max) row->max = seconds;
    row->calls++;
    row->failures += failed;
    row->timeouts += timeout;
}

void tfy__metrics_retry(TfyMetrics *metrics, const char *name)
{
    TfyToolRow *row = tfy__metrics_tool(metrics, name);
    if (row) row->retries++;
}

double tfy__metrics_mean(const TfyToolRow *row)
{
    return row->calls ? row->seconds.sum / (double)row->calls : 0;
}

/* ---- printing ---- */

/* Writes a label's value: only backslash, quote and newline are escaped. */
static void add_label_value(TfyBuffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"') tfy__buffer_char(out, '\\');
        if (*text == '\n')
            tfy__buffer_text(out, "\\n");
        else
            tfy__buffer_char(out, *text);
    }
}

static void add_value(TfyBuffer *out, const Figure *figure, const void *place, const char *label, const char *value)
{
    tfy__buffer_text(out, figure->name);
    if (label) {
        tfy__buffer_printf(out, "{%s=\"", label);
        add_label_value(out, value);
        tfy__buffer_text(out, "\"}");
    }
    if (figure->is_double)
        tfy__buffer_printf(out, " %.3f\n", *(const double *)place);
    else
        tfy__buffer_printf(out, " %llu\n", (unsigned long long)*(const uint64_t *)place);
}

static void add_bucket(TfyBuffer *out, const Figure *figure, const char *tool, const char *bound, uint64_t count)
{
    tfy__buffer_printf(out, "%s_bucket{tool=\"", figure->name);
    add_label_value(out, tool);
    tfy__buffer_printf(out, "\",le=\"%s\"} %llu\n", bound, (unsigned long long)count);
}

static void add_histogram(TfyBuffer *out, const Figure *figure, const TfyHistogram *histogram, const char *tool)
{
    uint64_t count = 0;
    for (int i = 0; i < TFY_BUCKETS; i++) add_bucket(out, figure, tool, BOUNDS[i].text, count += histogram->buckets[i]);
    add_bucket(out, figure, tool, "+Inf", count += histogram->buckets[TFY_BUCKETS]);
    tfy__buffer_printf(out, "%s_sum{tool=\"", figure->name);
    add_label_value(out, tool);
    tfy__buffer_printf(out, "\"} %.6f\n%s_count{tool=\"", histogram->sum, figure->name);
    add_label_value(out, tool);
    tfy__buffer_printf(out, "\"} %llu\n", (unsigned long long)count);
}

static void add_tools(TfyBuffer *out, const Figure *figure, const TfyMetrics *metrics)
{
    for (uint32_t i = 0; i < metrics->tool_count; i++) {
        const TfyToolRow *row = &metrics->tools[i];
        const void *place = (const char *)row + figure->at;
        if (figure->kind == HISTOGRAM)
            add_histogram(out, figure, place, row->name);
        else
            add_value(out, figure, place, "tool", row->name);
    }
}

static void add_models(TfyBuffer *out, const Figure *figure, const TfyMetrics *metrics)
{
    static const char *const kinds[] = {"prompt", "cached", "completion"};
    for (uint32_t i = 0; i < metrics->model_count; i++) {
        const TfyModelRow *row = &metrics->models[i];
        for (int kind = 0; kind < (figure->is_double ? 1 : 3); kind++) {
            tfy__buffer_printf(out, "%s{model=\"", figure->name);
            add_label_value(out, row->name);
            if (figure->is_double)
                tfy__buffer_printf(out, "\"} %.6f\n", row->cost);
            else
                tfy__buffer_printf(out, "\",kind=\"%s\"} %llu\n", kinds[kind], (unsigned long long)row->tokens[kind]);
        }
    }
}

static void add_figure(TfyBuffer *out, const Figure *figure, const TfyMetrics *metrics)
{
    static const char *const ends[] = {"completed", "failed", "cancelled"}, *const directions[] = {"prompt",
                                                                                                   "completion"};
    const uint64_t *place = (const void *)((const char *)metrics + figure->at);
    switch (figure->label) {
    case NO_LABEL: add_value(out, figure, place, NULL, NULL); break;
    case BY_END:
        for (int i = 0; i < TFY_ENDED_COUNT; i++) add_value(out, figure, &place[i], "state", ends[i]);
        break;
    case BY_DIRECTION:
        for (int i = 0; i < 2; i++) add_value(out, figure, &place[i], "direction", directions[i]);
        break;
    case BY_TYPE:
        for (int i = 1; i < TFY_R_COUNT; i++)
            if (place[i]) add_value(out, figure, &place[i], "type", tfy__record_type_name(i));
        break;
    case BY_TOOL: add_tools(out, figure, metrics); break;
    case BY_MODEL: add_models(out, figure, metrics); break;
    }
}

void tfy__metrics_print(const TfyMetrics *metrics, TfyBuffer *out)
{
    static const char *const kinds[] = {[COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        const Figure *figure = &FIGURES[i];
        bool of_process = figure->kind == GAUGE || strstr(figure->name, "_live_events");
        if (of_process && !metrics->live) continue;
        tfy__buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", figure->name, figure->help, figure->name,
                           kinds[figure->kind]);
        add_figure(out, figure, metrics);
    }
}

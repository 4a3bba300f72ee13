/* stats.c: tfy stats: the figures of a run, of all runs of a database, or of the process that runs them now.
 *
 * A live process reports its own counters on request; every other figure comes from the log. There, an attempt of a
 * tool lasts from the previous record in its task (its StepStart, if it has one; after a Retry, the time when it was
 * due; for the first record of a task, the one that spawned it) to its result. */
#include "cli/cluster/cluster.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "cli/look/timeline.h"
#include "cli/program/owner.h"
#include "observe/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#define ANSWER_MAX ((size_t)8 << 20)

/* ---- from the log ---- */

static double seconds_of(const TfyLogRecord *record, const TfyPayload *payload, int64_t since_ms)
{
    const json_t *ms = tfy__payload_get(payload, TFY_P_MS); /* models report their own time */
    if (ms) return (double)json_integer_value(ms) / 1000;
    /* A clock that was set back meanwhile does not make a time negative. */
    return since_ms && record->ts_ms > since_ms ? (double)(record->ts_ms - since_ms) / 1000 : 0;
}

static int how_ended(const TfyPayload *payload)
{
    if (tfy__payload_get(payload, TFY_P_CANCELLED)) return TFY_ENDED_CANCELLED;
    return tfy__payload_get(payload, TFY_P_ERROR) ? TFY_ENDED_FAILED : TFY_ENDED_COMPLETED;
}

/* A member that is missing counts as 0. */
static void count_answer(TfyMetrics *metrics, const TfyPayload *payload)
{
    const char *entry = tfy__payload_text(payload, TFY_P_ENTRY), *model = tfy__payload_text(payload, TFY_P_MODEL);
    const int64_t tokens[] = {tfy__payload_int(payload, TFY_P_PROMPT_TOKENS),
                              tfy__payload_int(payload, TFY_P_CACHED_TOKENS),
                              tfy__payload_int(payload, TFY_P_COMPLETION_TOKENS)};
    if (entry || model)
        tfy__metrics_answer(metrics, entry ? entry : model, tokens, tfy__payload_int(payload, TFY_P_COST));
}

static void count_result(TfyMetrics *metrics, const TfyLogRecord *record, const TfyPayload *payload, int64_t since_ms)
{
    const char *tool = tfy__payload_text(payload, TFY_P_TOOL);
    if (tool)
        tfy__metrics_call(metrics, tool, seconds_of(record, payload, since_ms), tfy__payload_get(payload, TFY_P_ERROR),
                          false);
    if (tfy__payload_int(payload, TFY_P_TRIES) > 1)
        metrics->model_repeats += (uint64_t)tfy__payload_int(payload, TFY_P_TRIES) - 1;
    if (record->type == TFY_R_LLM_PLAN) count_answer(metrics, payload);
}

/* Returns the time from which the next record of the task is measured. */
static int64_t begins_next(const TfyLogRecord *record)
{
    const int64_t due_ms = tfy__record_pause_ms(record);
    return due_ms > record->ts_ms ? due_ms : record->ts_ms;
}

static void count_record(TfyMetrics *metrics, const TfySourceMap *map, const TfyLogRecord *record, int64_t *since_ms,
                         bool *bounded)
{
    char tool[64];
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    tfy__source_callee(map, record->point, tool);
    metrics->records[record->type < TFY_R_COUNT ? record->type : 0]++;
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT: count_result(metrics, record, &payload, *since_ms); break;
    case TFY_R_TIMER_FIRED:
        if (*bounded && *tool && !tfy__payload_get(&payload, TFY_P_SCOPE))
            tfy__metrics_call(metrics, tool, seconds_of(record, &payload, *since_ms), true, true);
        break;
    case TFY_R_RETRY:
        if (*tool) tfy__metrics_retry(metrics, tool);
        break;
    case TFY_R_STEP_START: metrics->questions += tfy__payload_get(&payload, TFY_P_QUESTION) != NULL; break;
    case TFY_R_INSTRUCTION_START: metrics->runs_started++; break;
    case TFY_R_TASK_EXIT:
    case TFY_R_TASK_ABORT: metrics->tasks_ended[how_ended(&payload)]++; break;
    case TFY_R_TASK_COMPLETE: metrics->runs_ended[how_ended(&payload)]++; break;
    default: break;
    }
    *bounded = tfy__record_bounds(record, *bounded);
    *since_ms = begins_next(record);
    tfy__payload_close(&payload);
}

/* A child starts with its parent's record. What the tasks of a compacted run did before its snapshot is not known. */
static void begin_tasks(const TfyHistory *history, const TfyLogRecord *record, int64_t *since)
{
    const bool base = tfy__db_is_base(history, record);
    const uint32_t child = record->type == TFY_R_TASK_SPAWN ? tfy__db_task_born(history, record->lsn) : UINT32_MAX;
    if (child != UINT32_MAX) since[child] = record->ts_ms;
    for (uint32_t i = 0; base && i < history->task_count; i++) since[i] = record->ts_ms;
}

static bool count_history(TfyMetrics *metrics, const TfyHistory *history)
{
    TfySourceMap map;
    int64_t *since = calloc(history->task_count + 1, sizeof *since);
    bool *bounded = calloc(history->task_count + 1, sizeof *bounded);
    bool fine = since && bounded;
    tfy__source_map(&map, history);
    for (uint32_t i = 0; fine && i < history->record_count; i++) {
        uint32_t task = history->record_tasks[i];
        count_record(metrics, &map, &history->records[i], &since[task], &bounded[task]);
        begin_tasks(history, &history->records[i], since);
    }
    metrics->tasks_started += history->task_count;
    tfy__source_map_free(&map);
    free(since);
    free(bounded);
    return fine;
}

static int count_run(void *metrics, const TfyHistory *history)
{
    if (!count_history(metrics, history)) return tfy__fail(EXIT_BUG, "memory ran out");
    tfy__db_say_base(history);
    return EXIT_DONE;
}

/* ---- from the process ---- */

/* Returns its answer, a whole line; NULL: no process is there, or it does not answer. */
static json_t *ask_owner(const char *db_path)
{
    TfyBuffer in = {0};
    json_t *request = json_pack("{s:s}", "do", "metrics"), *reply = NULL;
    int fd = tfy__owner_connect(db_path, request);
    json_decref(request);
    if (fd < 0) return NULL;
    char bytes[65536];
    ssize_t got;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 30}, sizeof(struct timeval));
    while (in.len < ANSWER_MAX && (got = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        tfy__buffer_add(&in, bytes, (size_t)got);
        if (memchr(bytes, '\n', (size_t)got)) break;
    }
    close(fd);
    if (in.data && !in.failed) reply = json_loadb(in.data, in.len, JSON_DISABLE_EOF_CHECK, NULL);
    tfy__buffer_free(&in);
    return reply;
}

static bool has_ended(const TfyArgs *args)
{
    TfyHistory *history = NULL;
    if (!args->word_count || tfy__db_history(args, &history) != EXIT_DONE) return args->word_count > 0;
    bool ended = history->run.state >= TFY_TASK_COMPLETED;
    tfy__history_free(history);
    return ended;
}

/* Returns true if it printed the figures. */
static bool print_live(const TfyArgs *args)
{
    if (tfy__db_is_shared(args) || has_ended(args)) return false;
    json_t *reply = ask_owner(tfy__db_path(args));
    const char *text = json_string_value(json_object_get(reply, "text"));
    if (text) fputs(text, stdout);
    json_decref(reply);
    return text != NULL;
}

/* ---- printing ---- */

static int by_time(const void *a, const void *b)
{
    const TfyToolRow *left = a, *right = b;
    double difference = right->seconds.sum - left->seconds.sum;
    return difference > 0 ? 1 : difference < 0 ? -1 : strcmp(left->name, right->name);
}

/* Classifies a tool by its share of the total time. */
static const char *warmth(const TfyMetrics *metrics, const TfyToolRow *row)
{
    double hottest = metrics->tools[0].seconds.sum;
    return row->seconds.sum >= 0.5 * hottest ? "hot" : row->seconds.sum >= 0.1 * hottest ? "warm" : "cold";
}

/* To six digits: what was measured has no more. */
static double tidy(double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", seconds);
    return strtod(text, NULL);
}

static json_t *tools_json(const TfyMetrics *metrics)
{
    json_t *tools = json_array();
    for (uint32_t i = 0; i < metrics->tool_count; i++) {
        const TfyToolRow *row = &metrics->tools[i];
        json_array_append_new(tools, json_pack("{s:s,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "tool", row->name, "calls",
                                               (json_int_t)row->calls, "failures", (json_int_t)row->failures,
                                               "timeouts", (json_int_t)row->timeouts, "retries",
                                               (json_int_t)row->retries, "seconds", tidy(row->seconds.sum), "mean",
                                               tidy(tfy__metrics_mean(row)), "max", tidy(row->max)));
    }
    return tools;
}

static void print_json(const TfyMetrics *metrics)
{
    json_t *report = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "runs", (json_int_t)metrics->runs_started, "runs_failed",
        (json_int_t)metrics->runs_ended[TFY_ENDED_FAILED], "tasks", (json_int_t)metrics->tasks_started,
        "tasks_completed", (json_int_t)metrics->tasks_ended[TFY_ENDED_COMPLETED], "tasks_failed",
        (json_int_t)metrics->tasks_ended[TFY_ENDED_FAILED], "tasks_cancelled",
        (json_int_t)metrics->tasks_ended[TFY_ENDED_CANCELLED], "questions", (json_int_t)metrics->questions,
        "prompt_tokens", (json_int_t)metrics->tokens[0], "completion_tokens", (json_int_t)metrics->tokens[1],
        "model_repeats", (json_int_t)metrics->model_repeats, "tools", tools_json(metrics));
    tfy__report_print(report, 2);
}

static void print_tools(const TfyMetrics *metrics)
{
    int widest = 4;
    for (uint32_t i = 0; i < metrics->tool_count; i++)
        if ((int)strlen(metrics->tools[i].name) > widest) widest = (int)strlen(metrics->tools[i].name);
    printf("%-*s  %7s  %7s  %7s  %9s  %9s  %9s\n", widest, "TOOL", "CALLS", "FAILED", "RETRIES", "TIME", "MEAN", "MAX");
    for (uint32_t i = 0; i < metrics->tool_count; i++) {
        const TfyToolRow *row = &metrics->tools[i];
        printf("%-*s  %7llu  %7llu  %7llu  %7.2f s  %7.3f s  %7.3f s\n", widest, row->name,
               (unsigned long long)row->calls, (unsigned long long)row->failures, (unsigned long long)row->retries,
               row->seconds.sum, tfy__metrics_mean(row), row->max);
    }
}

/* Prints the tools as a graph, coloured by the time they took. */
static void print_mermaid(const TfyMetrics *metrics)
{
    printf("graph LR\n");
    for (uint32_t i = 0; i < metrics->tool_count; i++) {
        const TfyToolRow *row = &metrics->tools[i];
        printf("  t%u[\"%s<br/>%llu calls, %llu failed, %.2f s\"]:::%s\n", i, row->name, (unsigned long long)row->calls,
               (unsigned long long)row->failures, row->seconds.sum, warmth(metrics, row));
    }
    printf("  classDef hot fill:#f88,stroke:#800\n  classDef warm fill:#fb6,stroke:#a60\n"
           "  classDef cold fill:#ccf,stroke:#44f\n");
}

static void print_summary(const TfyMetrics *metrics)
{
    printf("runs       %llu, %llu failed, %llu cancelled\n", (unsigned long long)metrics->runs_started,
           (unsigned long long)metrics->runs_ended[TFY_ENDED_FAILED],
           (unsigned long long)metrics->runs_ended[TFY_ENDED_CANCELLED]);
    printf("tasks      %llu, %llu failed, %llu cancelled\n", (unsigned long long)metrics->tasks_started,
           (unsigned long long)metrics->tasks_ended[TFY_ENDED_FAILED],
           (unsigned long long)metrics->tasks_ended[TFY_ENDED_CANCELLED]);
    printf("questions  %llu\ntokens     %llu in, %llu out\n", (unsigned long long)metrics->questions,
           (unsigned long long)metrics->tokens[0], (unsigned long long)metrics->tokens[1]);
    if (metrics->model_repeats)
        printf("repeats    %llu requests to models were sent again\n", (unsigned long long)metrics->model_repeats);
    if (metrics->tool_count) print_tools(metrics);
}

static int print(const TfyArgs *args, TfyMetrics *metrics)
{
    const char *format = args->option[OPT_FORMAT];
    TfyBuffer out = {0};
    if (metrics->tool_count) qsort(metrics->tools, metrics->tool_count, sizeof *metrics->tools, by_time);
    if (args->option[OPT_PROMETHEUS]) {
        tfy__metrics_print(metrics, &out);
        if (!out.failed && out.data) fputs(out.data, stdout);
    } else if (format) {
        print_mermaid(metrics);
    } else if (args->option[OPT_JSON]) {
        print_json(metrics);
    } else if (args->option[OPT_TOOLS]) {
        print_tools(metrics);
    } else {
        print_summary(metrics);
    }
    tfy__buffer_free(&out);
    return EXIT_DONE;
}

static int stats(const TfyArgs *args)
{
    const char *format = args->option[OPT_FORMAT];
    TfyMetrics metrics = {0};
    if (format && strcmp(format, "mermaid") != 0)
        return tfy__fail(EXIT_USAGE, "figures are drawn with --format mermaid, not '%s'", format);
    if (args->option[OPT_PROMETHEUS] && print_live(args)) return EXIT_DONE;
    int status = tfy__db_runs(args, count_run, &metrics);
    if (status == EXIT_DONE) status = print(args, &metrics);
    tfy__metrics_free(&metrics);
    return status;
}

int tfy__cmd_stats(const TfyArgs *args)
{
    return tfy__flush_stdout(stats(args));
}

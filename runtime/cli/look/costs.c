/* costs.c: tfy costs: what was asked of models, in tokens and money, by run, workflow, prompt, model or day.
 *
 * Everything comes from the log: an LLMPlan has the endpoint's count, and its cost if the model has a price. What a crash
 * lost under a budget is known, too: an LLMRequest that no counted LLMPlan of its step answers. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/grow.h"
#include "base/shown.h"
#include "value/json.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

typedef enum By { BY_RUN, BY_WORKFLOW, BY_PROMPT, BY_MODEL, BY_DAY } By;

/* A line of the table. */
typedef struct Sum {
    char *name;
    int64_t calls;
    int64_t in, cached, out;              /* tokens */
    int64_t cost;                         /* millionths */
    int64_t unpriced;                     /* calls whose cost nobody knows */
    int64_t lost, lost_tokens, lost_cost; /* requests without a count, and what was put down for them */
} Sum;

typedef struct Costs {
    By by;
    int64_t since_ms;
    Sum *sums;
    uint32_t count, cap;
    bool starved;
} Costs;

/* ---- adding up ---- */

static Sum *sum_named(Costs *costs, const char *name)
{
    for (uint32_t i = 0; i < costs->count; i++)
        if (strcmp(costs->sums[i].name, name) == 0) return &costs->sums[i];
    char *own = GROW(costs->sums, costs->cap, costs->count + 1, 16) ? strdup(name) : NULL;
    if (!own) {
        costs->starved = true;
        return NULL;
    }
    costs->sums[costs->count] = (Sum){.name = own};
    return &costs->sums[costs->count++];
}

static Sum *sum_of(Costs *costs, const TfyHistory *history, const TfyLogRecord *record, const TfyPayload *payload)
{
    char text[64] = "?";
    const char *name = NULL;
    const time_t when = (time_t)(record->ts_ms / 1000);
    struct tm day;
    switch (costs->by) {
    case BY_RUN: tfy__uuid_text(history->run.uuid, text); break;
    case BY_WORKFLOW: name = history->workflow; break;
    case BY_PROMPT: name = tfy__payload_text(payload, TFY_P_TOOL); break;
    case BY_MODEL:
        name = tfy__payload_text(payload, TFY_P_ENTRY);
        if (!name) name = tfy__payload_text(payload, TFY_P_MODEL);
        break;
    case BY_DAY:
        if (gmtime_r(&when, &day)) strftime(text, sizeof text, "%Y-%m-%d", &day);
        break;
    }
    return sum_named(costs, name ? name : text);
}

static int64_t count_in(const TfyPayload *payload, TfyMember member)
{
    const int64_t count = tfy__payload_int(payload, member);
    return count > 0 ? count : 0;
}

static void add_answer(Sum *sum, const TfyPayload *payload)
{
    sum->calls++;
    sum->in += count_in(payload, TFY_P_PROMPT_TOKENS);
    sum->cached += count_in(payload, TFY_P_CACHED_TOKENS);
    sum->out += count_in(payload, TFY_P_COMPLETION_TOKENS);
    sum->cost += count_in(payload, TFY_P_COST);
    sum->unpriced += !tfy__payload_get(payload, TFY_P_COST);
}

/* A request is lost unless the next record of its step has a count. */
static bool is_lost(const TfyHistory *history, uint32_t index)
{
    const TfyLogRecord *request = &history->records[index];
    for (uint32_t i = index + 1; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (history->record_tasks[i] != history->record_tasks[index] || record->step != request->step) continue;
        if (record->type == TFY_R_LLM_REQUEST) return true;
        if (record->type == TFY_R_LLM_PLAN) return !tfy__record_has(record, TFY_P_COMPLETION_TOKENS);
    }
    return true;
}

static void add_lost(Sum *sum, const TfyPayload *payload)
{
    const json_t *reserve = tfy__payload_get(payload, TFY_P_RESERVE);
    sum->lost++;
    sum->lost_tokens += json_integer_value(json_object_get(reserve, "tokens"));
    sum->lost_cost += json_integer_value(json_object_get(reserve, "cost"));
}

static int add_run(void *state, const TfyHistory *history)
{
    Costs *costs = state;
    for (uint32_t i = 0; i < history->record_count && !costs->starved; i++) {
        const TfyLogRecord *record = &history->records[i];
        const bool answer = record->type == TFY_R_LLM_PLAN;
        if (record->ts_ms < costs->since_ms || (!answer && record->type != TFY_R_LLM_REQUEST)) continue;
        if (!answer && !is_lost(history, i)) continue;
        TfyPayload payload;
        tfy__payload_open(&payload, record);
        Sum *sum = sum_of(costs, history, record, &payload);
        if (sum && answer) add_answer(sum, &payload);
        if (sum && !answer) add_lost(sum, &payload);
        tfy__payload_close(&payload);
    }
    tfy__db_say_base(history);
    return costs->starved ? tfy__fail(EXIT_BUG, "memory ran out") : EXIT_DONE;
}

/* ---- printing ---- */

static int by_size(const void *left, const void *right)
{
    const Sum *a = left, *b = right;
    const int64_t tokens = b->in + b->out - a->in - a->out;
    if (a->cost != b->cost) return a->cost < b->cost ? 1 : -1;
    return tokens > 0 ? 1 : tokens < 0 ? -1 : strcmp(a->name, b->name);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const Sum *)left)->name, ((const Sum *)right)->name);
}

static Sum total_of(const Costs *costs)
{
    Sum total = {.name = "total"};
    for (uint32_t i = 0; i < costs->count; i++) {
        const Sum *sum = &costs->sums[i];
        total.calls += sum->calls;
        total.in += sum->in;
        total.cached += sum->cached;
        total.out += sum->out;
        total.cost += sum->cost;
        total.unpriced += sum->unpriced;
        total.lost += sum->lost;
        total.lost_tokens += sum->lost_tokens;
        total.lost_cost += sum->lost_cost;
    }
    return total;
}

/* "1,234,567" */
static const char *grouped(int64_t number, char text[32])
{
    char digits[24];
    const int len = snprintf(digits, sizeof digits, "%lld", (long long)number);
    int at = 0;
    for (int i = 0; i < len; i++) {
        text[at++] = digits[i];
        if ((len - i) % 3 == 1 && i + 1 < len) text[at++] = ',';
    }
    text[at] = '\0';
    return text;
}

/* Without a price for any of the calls: a dash; for some: a sum with a plus. */
static const char *money(const Sum *sum, char text[40])
{
    const bool none = sum->unpriced == sum->calls;
    if (none)
        strcpy(text, "-");
    else
        snprintf(text, 40, "%lld.%04lld%s", (long long)(sum->cost / 1000000), (long long)(sum->cost % 1000000 / 100),
                 sum->unpriced ? "+" : "");
    return text;
}

static void print_line(const Sum *sum, int widest)
{
    char calls[32], in[32], cached[32], out[32], cost[40];
    printf("%-*s  %7s  %11s  %11s  %11s  %10s\n", widest, sum->name, grouped(sum->calls, calls), grouped(sum->in, in),
           grouped(sum->cached, cached), grouped(sum->out, out), money(sum, cost));
}

static void print_table(const Costs *costs)
{
    static const char *const heads[] = {"RUN", "WORKFLOW", "PROMPT", "MODEL", "DAY"};
    const Sum total = total_of(costs);
    char tokens[32], calls[32];
    int widest = 8;
    for (uint32_t i = 0; i < costs->count; i++)
        if ((int)strlen(costs->sums[i].name) > widest) widest = (int)strlen(costs->sums[i].name);
    printf("%-*s  %7s  %11s  %11s  %11s  %10s\n", widest, heads[costs->by], "CALLS", "TOKENS IN", "CACHED", "OUT",
           "COST");
    for (uint32_t i = 0; i < costs->count; i++) print_line(&costs->sums[i], widest);
    if (costs->count > 1) print_line(&total, widest);
    if (total.unpriced)
        printf("%s call%s no price\n", grouped(total.unpriced, calls), total.unpriced == 1 ? " has" : "s have");
    if (total.lost)
        printf("%s request%s got no count; %s tokens stay charged to their budgets\n", grouped(total.lost, calls),
               total.lost == 1 ? "" : "s", grouped(total.lost_tokens, tokens));
}

static json_t *sum_json(const Costs *costs, const Sum *sum)
{
    static const char *const names[] = {"run", "workflow", "prompt", "model", "day"};
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:f}", names[costs->by], sum->name, "calls",
                     (json_int_t)sum->calls, "prompt_tokens", (json_int_t)sum->in, "cached_tokens",
                     (json_int_t)sum->cached, "completion_tokens", (json_int_t)sum->out, "cost",
                     (double)sum->cost / 1e6, "unpriced_calls", (json_int_t)sum->unpriced, "lost_requests",
                     (json_int_t)sum->lost, "lost_tokens", (json_int_t)sum->lost_tokens, "lost_cost",
                     (double)sum->lost_cost / 1e6);
}

static void print_json(const Costs *costs)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < costs->count; i++) json_array_append_new(list, sum_json(costs, &costs->sums[i]));
    tfy__report_print(list, 2);
}

/* ---- the command ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int costs_of(const TfyArgs *args, Costs *costs)
{
    const char *since = args->option[OPT_COST_SINCE];
    const int by = tfy__args_choice(args, OPT_COST_BY, args->word_count ? BY_PROMPT : BY_MODEL);
    int64_t age_ms = 0;
    if (by < 0) return EXIT_USAGE;
    if (since && (!tfy__read_duration(since, strlen(since), &age_ms) || age_ms < 0))
        return tfy__fail(EXIT_USAGE, "--since takes a time such as 7d or 12h, not '%s'", since);
    costs->by = (By)by;
    costs->since_ms = since ? now_ms() - age_ms : 0;
    const int status = tfy__db_runs(args, add_run, costs);
    if (status != EXIT_DONE) return status;
    if (costs->count) qsort(costs->sums, costs->count, sizeof *costs->sums, costs->by == BY_DAY ? by_name : by_size);
    if (args->option[OPT_JSON])
        print_json(costs);
    else if (costs->count)
        print_table(costs);
    else
        tfy__say("no model was asked%s", since ? " in this time" : "");
    return EXIT_DONE;
}

int tfy__cmd_costs(const TfyArgs *args)
{
    Costs costs = {.count = 0};
    const int status = costs_of(args, &costs);
    for (uint32_t i = 0; i < costs.count; i++) free(costs.sums[i].name);
    free(costs.sums);
    return tfy__flush_stdout(status);
}

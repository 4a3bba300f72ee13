/* day.c: what a database may ask of models in a day (UTC), whichever of its runs does.
 *
 * The sum so far is in an LLMRequest of the database's own chain, which is appended with each request and each count, in
 * the same commit. So the process that has the database finds it in one step, whatever else is in the log, and a request
 * that a crash lost stays charged. A replay reads none of it: whether a request was refused is in the run's records. */
#include "core/step/budget.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/step/step.h"

enum { DAY_MS = 86400000 };

typedef struct Day {
    int64_t number;  /* since 1970 */
    TfyAmount spent; /* with what requests under way have put down */
} Day;

/* "2026-11-25" */
static void name_day(int64_t number, char name[16])
{
    const time_t when = (time_t)(number * (DAY_MS / 1000));
    struct tm day;
    if (!gmtime_r(&when, &day) || !strftime(name, 16, "%Y-%m-%d", &day)) strcpy(name, "?");
}

static bool read_spent(const TfyLogRecord *record, const char *name, TfyAmount *spent)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *day = tfy__payload_text(&payload, TFY_P_DAY);
    const json_t *parts = tfy__payload_get(&payload, TFY_P_SPENT);
    const bool same = day && strcmp(day, name) == 0;
    if (same)
        *spent = (TfyAmount){.tokens = json_integer_value(json_object_get(parts, "tokens")),
                             .cost = json_integer_value(json_object_get(parts, "cost")),
                             .calls = json_integer_value(json_object_get(parts, "calls"))};
    tfy__payload_close(&payload);
    return same;
}

typedef struct Search {
    char name[16];
    int64_t since_ms;
    TfyAmount spent;
} Search;

/* A clock that was set back over midnight leaves records of two days behind each other. */
static bool is_sum(void *state, const TfyLogRecord *record)
{
    Search *search = state;
    if (record->ts_ms < search->since_ms) return true;
    return record->type == TFY_R_LLM_REQUEST && read_spent(record, search->name, &search->spent);
}

/* Today, with its sum; NULL: the loop has failed. */
static Day *today(TfyLoop *loop)
{
    const int64_t number = loop->now_ms / DAY_MS;
    void **slot = tfy__effect_slot(loop, TFY_M_DAY);
    Day *day = *slot;
    if (day && day->number == number) return day;
    Search search = {.since_ms = number * DAY_MS};
    name_day(number, search.name);
    if (!day) day = *slot = tfy__sys_calloc(1, sizeof *day);
    int code = day ? tfy__log_sync(loop->log) : TFY_E_NOMEM;
    if (code >= 0) code = tfy__log_see_own(loop->log, is_sum, &search);
    if (code < 0) {
        tfy__loop_fail(loop, code, "what the day has come to cannot be read");
        return NULL;
    }
    *day = (Day){.number = number, .spent = search.spent};
    return day;
}

static void put_parts(TfyBuffer *out, const TfyAmount *spent)
{
    tfy__put(out, TFY_P_SPENT);
    tfy__buffer_printf(out, "{\"tokens\":%lld,\"cost\":%lld,\"calls\":%lld}", (long long)spent->tokens,
                       (long long)spent->cost, (long long)spent->calls);
}

static bool record_sum(TfyLoop *loop, const Day *day, const char *tool)
{
    char name[16];
    TfyBuffer out = {0};
    name_day(day->number, name);
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_TOOL, tool);
    tfy__put_text(&out, TFY_P_DAY, name);
    put_parts(&out, &day->spent);
    tfy__put_end(&out);
    const TfyTicket ticket =
        tfy__log_append_payload(loop->log, tfy__log_self(loop->log), TFY_R_LLM_REQUEST, 0, 0, &out);
    if (ticket < 0) tfy__loop_fail_log(loop, (int)ticket);
    return ticket > 0;
}

bool tfy__day_has_room(TfyLoop *loop, const TfyAmount *limit, BudgetHold *hold)
{
    const Day *day = today(loop);
    hold->of_day = day && !tfy__budget_fits(limit, &day->spent, hold);
    return day && !hold->of_day;
}

bool tfy__day_put_down(Step *step)
{
    Day *day = today(step->call.loop);
    if (!day) return false;
    step->hold->day = day->number;
    tfy__budget_add(&day->spent, &step->hold->amount);
    return record_sum(step->call.loop, day, step->call.tool->name);
}

void tfy__day_change(TfyCall *call, int64_t number, const TfyAmount *change)
{
    Day *day = *tfy__effect_slot(call->loop, TFY_M_DAY);
    if (!number || !day || day->number != number) return;
    tfy__budget_add(&day->spent, change);
    record_sum(call->loop, day, call->tool->name);
}

void tfy__budget_close(TfyLoop *loop)
{
    void **slot = tfy__effect_slot(loop, TFY_M_DAY);
    free(*slot);
    *slot = NULL;
}

/* budget.c: see budget.h. */
#include "core/step/budget.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "core/step/step.h"

enum { MILLION = 1000000 };
static const double COST_MOST = 1e12; /* so that a sum of such costs is no overflow */

static const char PRICE[] = "price"; /* why a request is refused whose price nobody knows */
static const TfyAmount unbounded = {TFY_UNBOUNDED, TFY_UNBOUNDED, TFY_UNBOUNDED};

/* ---- blocks ---- */

static int64_t millionths(double cost)
{
    const double amount = ceil(cost * MILLION - 1e-6);
    return amount < 1 ? 1 : (int64_t)amount;
}

static bool read_limits(TfyTask *task, uint32_t line, int64_t given, const TfyAmount *limit, double cost)
{
    if (given & TFY_BUDGET_TOKENS && limit->tokens <= 0)
        return tfy_panic(task, line, "a budget of %lld tokens: it must be above 0", (long long)limit->tokens);
    if (given & TFY_BUDGET_CALLS && limit->calls <= 0)
        return tfy_panic(task, line, "a budget of %lld calls: it must be above 0", (long long)limit->calls);
    if (given & TFY_BUDGET_COST && !(cost > 0 && cost <= COST_MOST))
        return tfy_panic(task, line, "a budget with a cost of %g: it must be above 0, and at most %g", cost, COST_MOST);
    return true;
}

bool tfy_budget_begin(TfyTask *task, uint32_t line, int64_t given, int64_t tokens, double cost, int64_t calls)
{
    TaskRest *rest = rest_of(task);
    const TfyAmount limit = {.tokens = tokens, .calls = calls};
    if (!read_limits(task, line, given, &limit, cost)) return false;
    Budget *budget = tfy__sys_malloc(sizeof *budget);
    if (!budget) return tfy__starved(task);
    *budget = (Budget){.around = rest->budget, .users = 1, .limit = unbounded};
    if (given & TFY_BUDGET_TOKENS) budget->limit.tokens = tokens;
    if (given & TFY_BUDGET_CALLS) budget->limit.calls = calls;
    if (given & TFY_BUDGET_COST) budget->limit.cost = millionths(cost);
    rest->budget = budget; /* its use of the one around passes to the new one */
    return true;
}

void tfy_budget_end(TfyTask *task)
{
    TaskRest *rest = rest_of(task);
    Budget *budget = rest->budget;
    CHECK(budget);
    rest->budget = tfy__budget_share(budget->around);
    tfy__budget_leave(&budget);
}

/* ---- the command line ---- */

static bool fail_text(char *error, const char *text, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "--budget %.60s: %s; it reads like cost=5,tokens=1M,calls=50", text, why);
    return false;
}

/* A number above 0, in units: "1M" is a million. */
static bool read_number(const char *text, size_t len, double *out)
{
    char number[40];
    char *end;
    if (!len || len >= sizeof number || text[0] < '0' || text[0] > '9') return false;
    memcpy(number, text, len);
    number[len] = '\0';
    *out = strtod(number, &end);
    if (*end == 'k' || *end == 'K') *out *= 1000, end++;
    if (*end == 'M') *out *= MILLION, end++;
    return !*end && isfinite(*out) && *out > 0 && *out <= COST_MOST;
}

bool tfy__budget_read(const char *text, TfyAmount *limit, char *error)
{
    *limit = unbounded;
    for (const char *at = text;; at++) {
        const size_t len = strcspn(at, ","), name = strcspn(at, "=,");
        double number;
        if (at[name] != '=' || !read_number(at + name + 1, len - name - 1, &number))
            return fail_text(error, text, "a part is a name, = and a number above 0");
        const bool is_cost = name == 4 && memcmp(at, "cost", 4) == 0;
        int64_t *part = is_cost                                     ? &limit->cost
                        : name == 6 && memcmp(at, "tokens", 6) == 0 ? &limit->tokens
                        : name == 5 && memcmp(at, "calls", 5) == 0  ? &limit->calls
                                                                    : NULL;
        if (!part) return fail_text(error, text, "its parts are cost, tokens and calls");
        if (*part != TFY_UNBOUNDED) return fail_text(error, text, "a part is given twice");
        *part = is_cost ? millionths(number) : (int64_t)number;
        if (*part < 1) return fail_text(error, text, "a part must be above 0");
        at += len;
        if (!*at) return true;
    }
}

/* What the command line gave the run; NULL: nothing, or no memory. */
static Budget *budget_of_run(TfyTask *task)
{
    Run *run = rest_of(task)->run;
    const char *text = tfy__ceiling(task).budget;
    char error[TFY_ERROR_TEXT];
    TfyAmount limit;
    if (run->budget || !text || !tfy__budget_read(text, &limit, error)) return run->budget;
    if ((run->budget = tfy__sys_malloc(sizeof *run->budget))) *run->budget = (Budget){.users = 1, .limit = limit};
    return run->budget;
}

/* ---- counting ---- */

/* All that bound a task, from the innermost to the run's own. */
#define FOR_BUDGETS(budget, task)                                                                                      \
    for (Budget *own = budget_of_run(task), *budget = rest_of(task)->budget ? rest_of(task)->budget : own; budget;     \
         budget = budget->around  ? budget->around                                                                     \
                  : budget == own ? NULL                                                                               \
                                  : own)

static void charge(TfyTask *task, const TfyAmount *amount)
{
    FOR_BUDGETS(budget, task) tfy__budget_add(&budget->spent, amount);
}

static bool is_over(BudgetHold *hold, const char *what, int64_t limit, int64_t spent, int64_t more, double unit)
{
    if (limit == TFY_UNBOUNDED || more <= limit - spent) return false;
    hold->what = what;
    hold->limit = (double)limit / unit;
    hold->spent = (double)spent / unit;
    hold->more = (double)more / unit;
    return true;
}

bool tfy__budget_fits(const TfyAmount *limit, const TfyAmount *spent, BudgetHold *hold)
{
    const TfyAmount *most = &hold->amount;
    return !is_over(hold, "tokens", limit->tokens, spent->tokens, most->tokens, 1) &&
           !is_over(hold, "cost", limit->cost, spent->cost, most->cost, MILLION) &&
           !is_over(hold, "calls", limit->calls, spent->calls, most->calls, 1);
}

/* Notes the innermost budget that has no room. */
static bool has_room(TfyTask *task, BudgetHold *hold)
{
    FOR_BUDGETS(budget, task) if (!tfy__budget_fits(&budget->limit, &budget->spent, hold)) return false;
    return true;
}

static bool bounds_cost(TfyTask *task, const TfyAmount *day)
{
    if (day && day->cost != TFY_UNBOUNDED) return true;
    FOR_BUDGETS(budget, task) if (budget->limit.cost != TFY_UNBOUNDED) return true;
    return false;
}

/* ---- a step ---- */

static BudgetHold *hold_of(Step *step)
{
    if (!step->hold) step->hold = tfy__sys_calloc(1, sizeof *step->hold);
    if (step->hold)
        *step->hold = (BudgetHold){.what = NULL};
    else
        tfy__loop_fail(step->call.loop, TFY_E_NOMEM, "no memory for a budget");
    return step->hold;
}

static bool record_hold(Step *step, const BudgetHold *hold, const TfyBuffer *members)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_TOOL, step->call.tool->name);
    if (members->len) tfy__buffer_add(&out, members->data, members->len);
    tfy__put(&out, TFY_P_RESERVE);
    tfy__buffer_printf(&out, "{\"tokens\":%lld,\"cost\":%lld}", (long long)hold->amount.tokens,
                       (long long)hold->amount.cost);
    tfy__put_end(&out);
    const bool ok = tfy__step_append(step, TFY_R_LLM_REQUEST, &out) > 0;
    tfy__buffer_free(&out);
    return ok;
}

bool tfy__budget_request(Step *step)
{
    TfyTask *task = step->call.task;
    TfyLoop *loop = step->call.loop;
    const TfyPerformer *performer = loop->performers[step->call.tool->family];
    const TfyAmount *day = performer->day ? performer->day(loop) : NULL;
    if (!day && !rest_of(task)->budget && !budget_of_run(task)) return true;
    BudgetHold *hold = hold_of(step);
    TfyBuffer members = {0};
    if (!hold || !performer->reserve(&step->call, &hold->amount, &members)) return false;
    bool ok = true;
    if (hold->amount.cost < 0 && bounds_cost(task, day)) {
        hold->what = PRICE;
    } else if (has_room(task, hold) && (!day || tfy__day_has_room(loop, day, hold))) {
        if (hold->amount.cost < 0) hold->amount.cost = 0;
        ok = record_hold(step, hold, &members) && (!day || tfy__day_put_down(step));
        charge(task, &hold->amount);
    }
    ok = ok && !loop->failure;
    tfy__buffer_free(&members);
    return ok;
}

void tfy__budget_requested(Step *step, const TfyLogRecord *record)
{
    TfyPayload payload;
    if (record->type == TFY_R_TASK_YIELD) {
        tfy__budget_leave_off(&step->call, tfy__record_has(record, TFY_P_LOST));
        return;
    }
    BudgetHold *hold = hold_of(step);
    if (!hold) return;
    tfy__payload_open(&payload, record);
    const json_t *reserve = tfy__payload_get(&payload, TFY_P_RESERVE);
    hold->amount = (TfyAmount){.tokens = json_integer_value(json_object_get(reserve, "tokens")),
                               .cost = json_integer_value(json_object_get(reserve, "cost")),
                               .calls = 1};
    charge(step->call.task, &hold->amount);
    tfy__payload_close(&payload);
}

bool tfy__budget_refuses(TfyCall *call)
{
    const BudgetHold *hold = ((Step *)call)->hold;
    if (!hold || !hold->what) return false;
    call->outcome = TFY_NOT_DONE;
    if (hold->what == PRICE) {
        tfy__call_tool_error(
            call, EINVAL,
            "a budget bounds what %s costs, and its model, or one that may answer in its place, has no "
            "price; give it one in the file of models",
            call->tool->name);
        return true;
    }
    TfyBuffer text = {0};
    char part[32];
    snprintf(part, sizeof part, "%s%s", hold->what, hold->of_day ? " of the day" : "");
    const char *unit = hold->more == 1 && strcmp(hold->what, "calls") == 0 ? "call" : hold->what;
    tfy__buffer_printf(&text, "%s may come to %.12g %s, and %.12g of %.12g are spent%s", call->tool->name, hold->more,
                       unit, hold->spent, hold->limit,
                       hold->of_day ? "; the limit is that of the day, in the file of models" : "");
    TfyObj *message = text.failed ? NULL : tfy_string_of(call->task, text.data, text.len);
    TfyObj *what = message ? tfy_string_of(call->task, part, strlen(part)) : NULL;
    const TfyValue fields[] = {{.o = message}, {.o = what}, {.f = hold->limit}, {.f = hold->spent}};
    if (what)
        tfy__call_fail(call, &tfy_type_budget_exceeded, fields);
    else
        tfy__call_starved(call);
    tfy__buffer_free(&text);
    return true;
}

bool tfy__budget_holds(const TfyCall *call)
{
    return ((const Step *)call)->hold;
}

void tfy__budget_settle(TfyCall *call, int64_t tokens, int64_t cost)
{
    const BudgetHold *hold = ((Step *)call)->hold;
    if (!hold || hold->what) return;
    const TfyAmount change = {.tokens = tokens < 0 ? 0 : tokens - hold->amount.tokens,
                              .cost = cost < 0 ? 0 : cost - hold->amount.cost};
    charge(call->task, &change);
    tfy__day_change(call, hold->day, &change);
}

void tfy__budget_leave_off(TfyCall *call, bool lost)
{
    Step *step = (Step *)call;
    const BudgetHold *hold = step->hold;
    if (!hold) return;
    const TfyAmount change = {-hold->amount.tokens, -hold->amount.cost, -hold->amount.calls};
    if (!hold->what && !lost) charge(call->task, &change);
    if (!lost) tfy__day_change(call, hold->day, &change);
    free(step->hold);
    step->hold = NULL;
}

/* ---- snapshots ---- */

static void put_amount(TfyBuffer *out, const TfyAmount *amount)
{
    const int64_t parts[] = {amount->tokens, amount->cost, amount->calls};
    for (int i = 0; i < 3; i++) {
        tfy__buffer_char(out, i ? ',' : '[');
        if (parts[i] == TFY_UNBOUNDED)
            tfy__buffer_text(out, "null");
        else
            tfy__buffer_printf(out, "%lld", (long long)parts[i]);
    }
    tfy__buffer_char(out, ']');
}

static TfyAmount amount_in(const json_t *json)
{
    int64_t parts[3];
    for (size_t i = 0; i < 3; i++) {
        const json_t *part = json_array_get(json, i);
        parts[i] = json_is_integer(part) ? json_integer_value(part) : TFY_UNBOUNDED;
    }
    return (TfyAmount){parts[0], parts[1], parts[2]};
}

static Run *run_of(TfyLoop *loop, const char *uuid)
{
    Run *run = loop->runs.first;
    while (run && strcmp(run->uuid, uuid) != 0) run = run->next;
    return run;
}

/* The budgets that are being written. */
typedef struct Saving {
    TfyBuffer *out;
    uint32_t count; /* written so far */
    Budget **inner; /* those of one task that are not written yet, innermost first; owned */
    uint32_t cap;
} Saving;

/* Each budget once, those around it before it: [around, limit, spent], numbered from 1. */
static void save_budgets(Saving *saving, Budget *budget)
{
    uint32_t depth = 0;
    for (; budget && !budget->number; budget = budget->around) {
        if (!GROW(saving->inner, saving->cap, depth + 1, 8)) {
            saving->out->failed = true;
            return;
        }
        saving->inner[depth++] = budget;
    }
    while (depth-- > 0) {
        Budget *one = saving->inner[depth];
        tfy__buffer_printf(saving->out, "%s[%u,", saving->count ? "," : "", one->around ? one->around->number : 0);
        one->number = ++saving->count;
        put_amount(saving->out, &one->limit);
        tfy__buffer_char(saving->out, ',');
        put_amount(saving->out, &one->spent);
        tfy__buffer_char(saving->out, ']');
    }
}

static void save_task(TfyBuffer *out, const TaskRest *rest, const char **comma)
{
    const BudgetHold *hold = rest->step ? rest->step->hold : NULL;
    if (!rest->budget && !hold) return;
    tfy__buffer_printf(out, "%s[\"%s\",%u", *comma, rest->log.path, rest->budget ? rest->budget->number : 0);
    if (hold && !hold->what) {
        tfy__buffer_char(out, ',');
        put_amount(out, &hold->amount);
    }
    tfy__buffer_char(out, ']');
    *comma = ",";
}

void tfy__budget_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out)
{
    Run *run = run_of(loop, run_uuid);
    Saving saving = {.out = out};
    const char *comma = "";
    bool any = run && run->budget;
    for (TaskRest *rest = run ? run->tasks : NULL; rest && !any; rest = rest->next_in_run)
        any = rest->budget || (rest->step && rest->step->hold);
    if (!any) return;
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        for (Budget *budget = rest->budget; budget; budget = budget->around) budget->number = 0;
    tfy__put(out, TFY_S_BUDGETS);
    tfy__buffer_char(out, '[');
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) save_budgets(&saving, rest->budget);
    tfy__buffer_char(out, ']');
    free(saving.inner);
    tfy__put(out, TFY_S_BOUND);
    tfy__buffer_char(out, '[');
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) save_task(out, rest, &comma);
    tfy__buffer_char(out, ']');
    if (!run->budget) return;
    tfy__put(out, TFY_S_SPENT);
    put_amount(out, &run->budget->spent);
}

static void restore_task(Run *run, const json_t *json, Budget **budgets, size_t count)
{
    const char *path = json_string_value(json_array_get(json, 0));
    TaskRest *rest = path ? tfy__task_by_path(run, path) : NULL;
    const size_t number = (size_t)json_integer_value(json_array_get(json, 1));
    const json_t *amount = json_array_get(json, 2);
    if (!rest) return;
    if (number && number <= count) rest->budget = tfy__budget_share(budgets[number - 1]);
    BudgetHold *hold = amount && rest->step ? hold_of(rest->step) : NULL;
    if (hold) hold->amount = amount_in(amount);
}

/* A budget without a user is one that the snapshot does not need. */
static void drop_unused(Budget **budgets, size_t count)
{
    for (size_t i = count; i-- > 0;) tfy__budget_leave(&budgets[i]);
    free(budgets);
}

void tfy__budget_restore(TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    Run *run = run_of(loop, run_uuid);
    const json_t *list = tfy__member_get(json, TFY_S_BUDGETS), *bound = tfy__member_get(json, TFY_S_BOUND),
                 *spent = tfy__member_get(json, TFY_S_SPENT);
    const size_t count = json_array_size(list);
    if (!run || (!count && !json_array_size(bound) && !spent)) return;
    Budget **budgets = tfy__sys_calloc(count + 1, sizeof *budgets);
    size_t made = 0;
    for (; budgets && made < count; made++) {
        const json_t *one = json_array_get(list, made);
        const size_t around = (size_t)json_integer_value(json_array_get(one, 0));
        if (!(budgets[made] = tfy__sys_malloc(sizeof **budgets))) break;
        *budgets[made] = (Budget){.around = around && around <= made ? tfy__budget_share(budgets[around - 1]) : NULL,
                                  .users = 1,
                                  .limit = amount_in(json_array_get(one, 1)),
                                  .spent = amount_in(json_array_get(one, 2))};
    }
    if (!budgets || made < count) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for the budgets of a run");
    } else {
        for (size_t i = 0; i < json_array_size(bound); i++) restore_task(run, json_array_get(bound, i), budgets, count);
        TfyTask *first = run->root ? run->root->task : NULL;
        Budget *own = spent && first ? budget_of_run(first) : NULL;
        if (own) own->spent = amount_in(spent);
    }
    if (budgets) drop_unused(budgets, made);
}

#include "cli/program/fork.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program/step_type.h"
#include "tfy.h"
#include "wal/history/fork.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

/* A fork while it is prepared. */
typedef struct Plan {
    const TfyHistory *history;
    TfyFork fork;
    uint32_t task;       /* index of the task that was named */
    uint32_t step_first; /* index of the step's first record … */
    uint32_t step_last;  /* … and its last */
    uint32_t outcome;    /* index of the record with the step's result; UINT32_MAX: none */
    uint32_t base;       /* index of the snapshot that starts a compacted run; UINT32_MAX: the run is whole */
    const json_t *value; /* the new result; NULL: the old one */
    char *payload;       /* the new result's record; owned */
    char run[37];        /* the run that is forked */
    char *error_text;
} Plan;

static int refuse(const Plan *plan, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(const Plan *plan, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(plan->error_text, TFY_ERROR_TEXT, format, args);
    va_end(args);
    return code;
}

/* ---- where the fork leaves the run ---- */

static bool is_outcome(const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT:
    case TFY_R_APPROVAL:
    case TFY_R_WOKE: return true;
    case TFY_R_RESOLVED: return !tfy__record_is(record, TFY_P_HOW, "retry"); /* its attempt has no result yet */
    default: return false;
    }
}

static uint32_t find_base(const TfyHistory *history)
{
    for (uint32_t i = 0; history->run.base_lsn && i < history->record_count; i++)
        if (history->records[i].lsn == history->run.base_lsn) return i;
    return UINT32_MAX;
}

static int find_task(Plan *plan, const char *path)
{
    const TfyHistory *history = plan->history;
    for (uint32_t i = 0; i < history->task_count; i++) {
        if (strcmp(history->tasks[i].path, path) != 0) continue;
        plan->task = i;
        plan->fork.task = history->tasks[i].path;
        return 0;
    }
    return refuse(plan, TFY_E_ABSENT, "run %s has no task %.60s; 'tfy tasks' lists its tasks", plan->run, path);
}

/* Step 0 is the start of the task. */
static int find_step(Plan *plan)
{
    const TfyHistory *history = plan->history;
    const int64_t step = plan->fork.step, born = history->tasks[plan->task].born;
    int64_t newest = 0;
    plan->step_first = plan->step_last = plan->outcome = UINT32_MAX;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (!step && record->lsn == born) plan->step_first = plan->step_last = i;
        if (history->record_tasks[i] != plan->task || !tfy__record_is_of_step(record)) continue;
        if (record->step > newest) newest = record->step;
        if (!step || record->step != step) continue;
        if (plan->step_first == UINT32_MAX) plan->step_first = i;
        plan->step_last = i;
        if (is_outcome(record)) plan->outcome = i;
    }
    if (plan->step_last != UINT32_MAX) return 0;
    if (!newest)
        return refuse(plan, TFY_E_ABSENT, "task %s of run %s has recorded no step yet", plan->fork.task, plan->run);
    return refuse(plan, TFY_E_ABSENT, "task %s of run %s has no record of step %lld; its newest is step %lld",
                  plan->fork.task, plan->run, (long long)step, (long long)newest);
}

/* A fork of a compacted run copies at least its snapshot. So each task can be left only at the step that the snapshot
 * shows, or later. */
static int check_reach(Plan *plan)
{
    const TfyHistory *history = plan->history;
    int64_t stood = 0;
    if (plan->base == UINT32_MAX) return 0;
    for (uint32_t i = 0; i < plan->base; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (history->record_tasks[i] == plan->task && tfy__record_is_of_step(record) && record->step > stood)
            stood = record->step;
    }
    if (plan->fork.step >= stood) return 0;
    return refuse(
        plan, TFY_E_STATE,
        "run %s was compacted, and what task %s had done before step %lld cannot be taken apart any more; it can be "
        "forked from that step on",
        plan->run, plan->fork.task, (long long)stood);
}

/* ---- another result ---- */

static int check_value(const Plan *plan, uint32_t record)
{
    return tfy__step_type_check(plan->history, record, plan->value, plan->error_text);
}

/* A person's answer is kept as text. */
static json_t *answer_of(const json_t *value)
{
    if (json_is_boolean(value)) return json_string(json_is_true(value) ? "yes" : "no");
    return json_is_string(value) ? json_copy((json_t *)value) : json_string("?");
}

/* Returns the text, malloc'ed; NULL: no memory. */
static char *text_in(TfyBuffer *out)
{
    if (!out->failed) return out->data;
    tfy__buffer_free(out);
    return NULL;
}

/* Copies the members of the old record that do not depend on the result. */
static void keep(TfyBuffer *out, const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    if (raw) tfy__put_json(out, member, raw, len);
}

/* Returns the outcome's record with the new result. Members that describe the old result are left out. */
static char *changed_outcome(const Plan *plan, const TfyLogRecord *record)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    if (record->type == TFY_R_APPROVAL) {
        json_t *answer = answer_of(plan->value);
        keep(&out, record, TFY_P_ID);
        keep(&out, record, TFY_P_DIGEST);
        tfy__put_tree(&out, TFY_P_ANSWER, answer);
        json_decref(answer);
    } else if (record->type == TFY_R_RESOLVED) {
        tfy__put_text(&out, TFY_P_HOW, "done");
        tfy__put_tree(&out, TFY_P_VALUE, plan->value);
    } else {
        keep(&out, record, TFY_P_TOOL);
        keep(&out, record, TFY_P_DIGEST);
        keep(&out, record, TFY_P_CALL);
        keep(&out, record, TFY_P_AFTER);
        keep(&out, record, TFY_P_TEXTS);
        tfy__put_tree(&out, TFY_P_VALUE, plan->value);
        if (record->type == TFY_R_LLM_PLAN) tfy__put_tree(&out, TFY_P_ANSWER, plan->value);
    }
    tfy__put_text(&out, TFY_P_BY, "fork");
    tfy__put_end(&out);
    return text_in(&out);
}

static int refuse_settled(const Plan *plan)
{
    return refuse(plan, TFY_E_STATE,
                  "the result of step %lld is part of the snapshot that run %s starts at since it was compacted, and "
                  "cannot be another",
                  (long long)plan->fork.step, plan->run);
}

/* The value of a signal is in the root's chain, at the place where it arrived. The snapshot of a compacted run has the
 * number of signals before it. */
static int change_signal(Plan *plan, const TfyLogRecord *woke)
{
    const TfyHistory *history = plan->history;
    const int64_t seq = tfy__record_int(woke, TFY_P_SEQ);
    json_int_t count = tfy__member_int(history->snapshot, TFY_S_SIGNAL_COUNT);
    if (seq <= count) return refuse_settled(plan);
    for (uint32_t i = plan->base == UINT32_MAX ? 0 : plan->base; i < plan->fork.records; i++) {
        const TfyLogRecord *signal = &history->records[i];
        if (!tfy__record_is_run_signal(signal) || ++count != seq) continue;
        size_t len;
        char *value = json_dumps(plan->value, JSON_COMPACT | JSON_ENCODE_ANY);
        plan->payload = value ? tfy__record_with(signal, TFY_P_VALUE, value, &len) : NULL;
        plan->fork.replaced = i;
        free(value);
        return plan->payload ? 0 : TFY_E_NOMEM;
    }
    return refuse(plan, TFY_E_DATA, "run %s has no record of the signal that step %lld took", plan->run,
                  (long long)plan->fork.step);
}

/* Resolves a step in flight as done, as a person would. */
static int resolve_in_flight(Plan *plan)
{
    const TfyLogRecord *last = &plan->history->records[plan->step_last];
    const bool once = tfy__record_starts_once(last) || last->type == TFY_R_IN_DOUBT;
    if (!once)
        return refuse(plan, TFY_E_STATE,
                      "step %lld of task %s has no result of a tool, a model or a person that could be set",
                      (long long)plan->fork.step, plan->fork.task);
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_HOW, "done");
    tfy__put_tree(&out, TFY_P_VALUE, plan->value);
    tfy__put_text(&out, TFY_P_BY, "fork");
    tfy__put_end(&out);
    plan->payload = text_in(&out);
    plan->fork.resolved = plan->step_last;
    plan->fork.resolution = plan->payload;
    return plan->payload ? 0 : TFY_E_NOMEM;
}

static int set_value(Plan *plan)
{
    if (!plan->fork.step)
        return refuse(plan, TFY_E_INVALID, "step 0 is the beginning of task %s and has no result", plan->fork.task);
    if (plan->outcome == UINT32_MAX) {
        int code = resolve_in_flight(plan);
        return code ? code : check_value(plan, plan->step_first);
    }
    if (plan->base != UINT32_MAX && plan->outcome < plan->base) return refuse_settled(plan);
    const TfyLogRecord *record = &plan->history->records[plan->outcome];
    int code = check_value(plan, plan->outcome);
    plan->fork.records = plan->outcome + 1;
    if (code || record->type == TFY_R_WOKE) return code ? code : change_signal(plan, record);
    plan->payload = changed_outcome(plan, record);
    plan->fork.replaced = plan->outcome;
    return plan->payload ? 0 : TFY_E_NOMEM;
}

/* ---- the request ---- */

static int make_plan(Plan *plan, const json_t *request)
{
    const char *path = json_string_value(json_object_get(request, "task"));
    const json_t *step = json_object_get(request, "step");
    plan->fork.step = json_integer_value(step);
    plan->fork.by = json_string_value(json_object_get(request, "by"));
    plan->fork.via = json_object_get(request, "via");
    if (!json_is_integer(step) || plan->fork.step < 0) return refuse(plan, TFY_E_INVALID, "a step is a number from 0");
    int code = find_task(plan, path ? path : "1");
    if (!code) code = check_reach(plan);
    if (!code) code = find_step(plan);
    if (code) return code;
    const bool early = plan->base != UINT32_MAX && plan->step_last < plan->base;
    plan->fork.records = (early ? plan->base : plan->step_last) + 1;
    return plan->value ? set_value(plan) : 0;
}

int tfy__fork_request(TfyLog *log, const TfyHistory *history, const json_t *request, const TfyForkPlace *place,
                      char run[37], char *error_text)
{
    Plan plan = {.history = history,
                 .fork = {.from = history, .replaced = UINT32_MAX, .resolved = UINT32_MAX, .place = place},
                 .value = json_object_get(request, "value"),
                 .error_text = error_text};
    TfyLogRun made;
    tfy__uuid_text(history->run.uuid, plan.run);
    plan.base = find_base(history);
    snprintf(error_text, TFY_ERROR_TEXT, "memory ran out");
    int code = make_plan(&plan, request);
    if (!code && plan.fork.replaced != UINT32_MAX) plan.fork.payload = plan.payload;
    if (!code) code = tfy__fork_write(log, &plan.fork, &made, error_text);
    if (!code) {
        snprintf(error_text, TFY_ERROR_TEXT, "the log could not be written");
        code = tfy__log_sync(log);
        tfy__uuid_text(made.uuid, run);
    }
    free(plan.payload);
    return code;
}

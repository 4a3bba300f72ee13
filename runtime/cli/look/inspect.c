/* inspect.c: tfy inspect: the state of a run, computed from its records alone; it runs no code of the program.
 *
 * The report is JSON (the output of --json), which inspect_print.c prints as text for people: the arguments, the result, the plan,
 * the last confirmed step, the last commit, a patch that waits; every task with its place in the source and what it waits for;
 * and the commands to type next. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/look/inspect.h"
#include "cli/look/live.h"
#include "cli/look/signal_type.h"
#include "cli/program/result.h"
#include "base/buffer.h"
#include "value/json.h"
#include "value/form.h"
#include "wal/rows/payload.h"
#include "wal/history/asked.h"
#include "wal/history/history.h"

/* The state while a report is being built. */
typedef struct Inspection {
    const TfyHistory *history;
    TfySourceMap map;
    char run[37]; /* the run's uuid */
    bool held;    /* a process has the database open for writing, or workers see to it that the run continues */
    int64_t now_ms;
    json_t *live;        /* what the process that writes the file does now (live.h); NULL: unknown */
    const char *command; /* "tfy", with --db if needed */
    json_t *report;      /* gains one member after the other */
    json_t *next;        /* commands to type; owned by the report */
    uint32_t asking;     /* number of tasks that wait for a person */
    uint32_t doubts;     /* … because a step of theirs is in doubt */
} Inspection;

/* The position of a task: the records that opened what it waits for and that nothing has closed. */
typedef struct Standing {
    const TfyLogRecord *last;   /* its newest record; NULL: it has not started */
    const TfyLogRecord *placed; /* its newest record with a point */
    const TfyLogRecord *open;   /* a StepStart without a result */
    const TfyLogRecord *doubt;  /* an InDoubt without a resolution */
    const TfyLogRecord *due;    /* a TaskYield or Retry with a future deadline */
    const TfyLogRecord *end;    /* TaskExit or TaskAbort */
    bool cancelling;
} Standing;

/* Returns a member of a payload as text: a string unchanged, anything else as JSON. The caller frees it; NULL: the
 * member is absent. */
static char *member_text(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    char *text = tfy__record_text(record, member);
    const char *raw = text ? NULL : tfy__record_raw(record, member, &len);
    return raw ? strndup(raw, len) : text;
}

static void stand(Standing *standing, const TfyLogRecord *record)
{
    if (tfy__record_is_nobodys(record)) return;
    standing->last = record;
    if (record->point) standing->placed = record;
    switch (record->type) {
    case TFY_R_STEP_START: standing->open = record; break;
    case TFY_R_TASK_YIELD:
        if (!tfy__record_is(record, TFY_P_WHY, "deadline"))
            standing->due = record; /* a block that has started waits for nothing */
        break;
    case TFY_R_IN_DOUBT: standing->doubt = record; break;
    case TFY_R_SIGNAL:
        standing->cancelling |= !tfy__record_has(record, TFY_P_VALUE);
        break; /* without a task it concerns the run */
    case TFY_R_TASK_CANCEL: standing->cancelling = true; break;
    case TFY_R_TASK_EXIT:
    case TFY_R_TASK_ABORT: standing->end = record; break;
    case TFY_R_TASK_COMPLETE: break;
    case TFY_R_RETRY:
        standing->open = standing->doubt = NULL;
        standing->due = record;
        break;
    default: standing->open = standing->doubt = standing->due = NULL;
    }
}

static void set_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, text ? json_string(text) : json_null());
}

static void set_member(json_t *object, const char *name, const TfyLogRecord *record, TfyMember member)
{
    char *text = member_text(record, member);
    set_text(object, name, text);
    free(text);
}

static void set_place(Inspection *inspection, json_t *object, const TfyLogRecord *record)
{
    const char *file;
    const int64_t line = tfy__source_line(&inspection->map, record->point, &file);
    size_t len;
    const char *text = tfy__source_text(&inspection->map, record->point, &len);
    json_object_set_new(object, "step", json_integer(record->step));
    if (!line) return;
    set_text(object, "point", tfy__source_point(&inspection->map, record->point));
    if (file) set_text(object, "file", file);
    json_object_set_new(object, "line", json_integer(line));
    json_object_set_new(object, "source", json_stringn(text, len));
}

static void set_time(json_t *object, const char *name, int64_t ms)
{
    TfyBuffer text = {0};
    tfy__write_time(&text, ms);
    if (!text.failed) set_text(object, name, text.data);
    tfy__buffer_free(&text);
}

/* ---- the run as a whole ---- */

static const TfyLogRecord *newest(const TfyHistory *history, bool (*fits)(const TfyLogRecord *record))
{
    for (uint32_t i = history->record_count; i > 0; i--) {
        if (fits(&history->records[i - 1])) return &history->records[i - 1];
    }
    return NULL;
}

/* A model's structured answer is a plan; plain text, such as a file's new contents, is not. */
static bool is_plan(const TfyLogRecord *record)
{
    if (record->type != TFY_R_LLM_PLAN) return false;
    char *answer = member_text(record, TFY_P_ANSWER);
    json_t *structure = answer ? json_loads(answer, 0, NULL) : NULL;
    const bool fits = json_is_object(structure) || json_is_array(structure);
    json_decref(structure);
    free(answer);
    return fits;
}

static bool is_answer(const TfyLogRecord *record)
{
    return record->type == TFY_R_LLM_PLAN && !tfy__record_has(record, TFY_P_ERROR);
}

static bool is_confirmed(const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_TOOL_RESULT:
    case TFY_R_LLM_PLAN:
    case TFY_R_PATCH_PREVIEW:
    case TFY_R_COMMIT: return !tfy__record_has(record, TFY_P_ERROR);
    case TFY_R_APPROVAL:
    case TFY_R_RESOLVED: return true;
    default: return false;
    }
}

static bool is_commit(const TfyLogRecord *record)
{
    return record->type == TFY_R_COMMIT && !tfy__record_has(record, TFY_P_ERROR);
}

/* The newest record is a preview or an apply: a patch waits while it is a preview. */
static bool is_patch(const TfyLogRecord *record)
{
    if (record->type == TFY_R_PATCH_PREVIEW) return !tfy__record_has(record, TFY_P_ERROR);
    if (record->type != TFY_R_TOOL_RESULT) return false;
    char *tool = member_text(record, TFY_P_TOOL);
    const bool fits = tool && strcmp(tool, "apply") == 0 && !tfy__record_has(record, TFY_P_ERROR);
    free(tool);
    return fits;
}

static const char *path_of(const TfyHistory *history, const TfyLogRecord *record)
{
    return history->tasks[history->record_tasks[record - history->records]].path;
}

/* Returns the record that started the run; NULL: it is missing. */
static const TfyLogRecord *birth_of(const TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_INSTRUCTION_START) return &history->records[i];
    return NULL;
}

/* Copies a member of a record into the report, under another name. */
static void report_member(const Inspection *inspection, const TfyLogRecord *record, TfyMember member, const char *name)
{
    TfyPayload payload;
    if (!record) return;
    tfy__payload_open(&payload, record);
    json_t *value = tfy__payload_get(&payload, member);
    if (value) json_object_set(inspection->report, name, value);
    tfy__payload_close(&payload);
}

/* What people let single tools have while the run was under way. */
static void report_grants(const Inspection *inspection)
{
    const TfyHistory *history = inspection->history;
    json_t *grants = NULL;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (!tfy__record_is_grant(record)) continue;
        if (!grants) json_object_set_new(inspection->report, "granted", grants = json_array());
        json_t *grant = json_object();
        set_member(grant, "grant", record, TFY_P_GRANT);
        set_member(grant, "answer", record, TFY_P_ANSWER);
        set_member(grant, "by", record, TFY_P_BY);
        json_array_append_new(grants, grant);
    }
}

static void report_plan(Inspection *inspection)
{
    const TfyLogRecord *plan = newest(inspection->history, is_plan);
    if (!plan) plan = newest(inspection->history, is_answer);
    if (!plan) return;
    json_t *object = json_object();
    char *answer = member_text(plan, TFY_P_ANSWER);
    TfyPayload payload;
    json_t *structure = answer ? json_loads(answer, 0, NULL) : NULL;
    set_member(object, "prompt", plan, TFY_P_TOOL);
    json_object_set_new(object, "step", json_integer(plan->step));
    json_object_set_new(object, "answer", structure ? structure : json_string(answer ? answer : ""));
    tfy__payload_open(&payload, plan);
    json_t *calls = tfy__payload_get(&payload, TFY_P_CALLS);
    if (calls) json_object_set(object, "calls", calls);
    tfy__payload_close(&payload);
    json_object_set_new(inspection->report, "plan", object);
    free(answer);
}

static bool is_asking(const TfyLogRecord *record)
{
    return record->type == TFY_R_LLM_PLAN && tfy__record_has(record, TFY_P_TEXTS);
}

/* What a model was sent last. */
static void report_asked(Inspection *inspection)
{
    const TfyHistory *history = inspection->history;
    const TfyLogRecord *plan = newest(history, is_asking);
    bool whole;
    json_t *messages = plan ? tfy__asked_messages(history, (uint32_t)(plan - history->records), &whole) : NULL;
    if (!messages) return;
    json_t *object = json_object();
    set_text(object, "task", path_of(history, plan));
    json_object_set_new(object, "step", json_integer(plan->step));
    set_member(object, "prompt", plan, TFY_P_TOOL);
    json_object_set_new(object, "whole", json_boolean(whole));
    json_object_set_new(object, "messages", messages);
    json_object_set_new(inspection->report, "asked", object);
}

static void report_confirmed(Inspection *inspection)
{
    const TfyLogRecord *step = newest(inspection->history, is_confirmed);
    if (!step) return;
    json_t *object = json_object();
    set_text(object, "task", path_of(inspection->history, step));
    set_place(inspection, object, step);
    set_text(object, "type", tfy__record_type_name(step->type));
    if (tfy__record_has(step, TFY_P_TOOL)) set_member(object, "tool", step, TFY_P_TOOL);
    json_object_set_new(inspection->report, "confirmed", object);
}

static void report_canvas(Inspection *inspection)
{
    const TfyLogRecord *commit = newest(inspection->history, is_commit), *patch = newest(inspection->history, is_patch);
    if (commit) {
        json_t *object = json_object();
        set_member(object, "sha", commit, TFY_P_VALUE);
        set_member(object, "message", commit, TFY_P_MESSAGE);
        json_object_set_new(inspection->report, "commit", object);
    }
    if (patch && patch->type == TFY_R_PATCH_PREVIEW) {
        TfyPayload payload;
        tfy__payload_open(&payload, patch);
        json_object_set(inspection->report, "patch", tfy__payload_get(&payload, TFY_P_VALUE));
        tfy__payload_close(&payload);
    }
}

/* ---- tasks ---- */

static void add_next(Inspection *inspection, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_next(Inspection *inspection, const char *format, ...)
{
    TfyBuffer text = {0};
    va_list arguments;
    tfy__buffer_printf(&text, "%s ", inspection->command);
    va_start(arguments, format);
    tfy__buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (!text.failed) json_array_append_new(inspection->next, json_string(text.data));
    tfy__buffer_free(&text);
}

/* Returns " --task 1.2" when several tasks of the run ask questions. */
static const char *task_option(const Inspection *inspection, const TfyLogTask *task, char text[64])
{
    text[0] = '\0';
    if (inspection->asking > 1) snprintf(text, 64, " --task %.40s", task->path);
    return text;
}

static void set_rows(json_t *object, const char *name, const json_t *rows)
{
    if (json_is_array(rows)) json_object_set_new(object, name, json_deep_copy(rows));
}

static void report_question(Inspection *inspection, const TfyLogTask *task, const Standing *standing, json_t *object)
{
    char option[64];
    TfyPayload payload;
    tfy__payload_open(&payload, standing->open);
    const json_t *type = tfy__payload_get(&payload, TFY_P_TYPE);
    set_text(object, "waits_for", "approval");
    set_member(object, "question", standing->open, TFY_P_QUESTION);
    if (tfy__record_has(standing->open, TFY_P_DETAILS)) set_member(object, "details", standing->open, TFY_P_DETAILS);
    set_rows(object, "call", tfy__payload_get(&payload, TFY_P_CALL));
    set_rows(object, "origins", tfy__payload_get(&payload, TFY_P_ORIGINS));
    task_option(inspection, task, option);
    if (json_is_object(type)) {
        json_object_set_new(object, "form", json_deep_copy(type));
        add_next(inspection, "approve %s JSON%s", inspection->run, option);
        if (json_is_true(json_object_get(type, TFY_FORM_MAY_DECLINE)))
            add_next(inspection, "deny %s%s", inspection->run, option);
    } else if (tfy__record_is(standing->open, TFY_P_TYPE, "string")) {
        add_next(inspection, "approve %s TEXT%s", inspection->run, option);
    } else if (json_is_array(type)) {
        const json_t *answer;
        size_t i;
        json_object_set_new(object, "answers", json_deep_copy(type));
        json_array_foreach(type, i, answer)
        {
            add_next(inspection, "approve %s%s --answer %s", inspection->run, option,
                     json_string_value(answer) ? json_string_value(answer) : "");
        }
    } else {
        add_next(inspection, "approve %s%s --yes", inspection->run, option);
        add_next(inspection, "deny %s%s", inspection->run, option);
    }
    tfy__payload_close(&payload);
}

/* Which answer of a model held the call that the step carries out: "1/3". */
static void report_asker(const Inspection *inspection, const TfyLogRecord *start, json_t *object)
{
    const TfyHistory *history = inspection->history;
    const uint32_t by = start ? tfy__asked_by(history, (uint32_t)(start - history->records)) : UINT32_MAX;
    if (by == UINT32_MAX) return;
    const TfyLogRecord *plan = &history->records[by];
    json_object_set_new(object, "asked_by", json_sprintf("%s/%lld", path_of(history, plan), (long long)plan->step));
}

static void report_doubt(Inspection *inspection, const TfyLogTask *task, const Standing *standing, json_t *object)
{
    char option[64];
    const long long step = (long long)standing->doubt->step;
    task_option(inspection, task, option);
    set_text(object, "waits_for", "resolve");
    set_member(object, "tool", standing->doubt, TFY_P_TOOL);
    set_member(object, "key", standing->doubt, TFY_P_KEY);
    add_next(inspection, "resolve %s %lld%s --done JSON", inspection->run, step, option);
    add_next(inspection, "resolve %s %lld%s --retry", inspection->run, step, option);
    add_next(inspection, "resolve %s %lld%s --fail", inspection->run, step, option);
}

static void report_due(const Standing *standing, json_t *object)
{
    TfyPayload payload;
    tfy__payload_open(&payload, standing->due);
    const bool busy = tfy__record_is_busy(standing->due);
    set_text(object, "waits_for", busy ? "endpoint" : standing->due->type == TFY_R_RETRY ? "backoff" : "time");
    set_time(object, "due", tfy__payload_int(&payload, TFY_P_DUE));
    tfy__payload_close(&payload);
}

/* What one wait can take of the signals that have arrived. */
typedef struct Arrived {
    const Inspection *inspection;
    const TfyLogRecord *wait;
    bool *taken; /* by number; NULL: no memory for it */
    json_int_t count;
    bool fits;
    char *misfit; /* TFY_ERROR_TEXT bytes: why one that is kept aside does not fit */
} Arrived;

static json_int_t count_signals(const TfyHistory *history)
{
    json_int_t count = tfy__member_int(history->snapshot, TFY_S_SIGNAL_COUNT);
    for (uint32_t i = 0; i < history->record_count; i++)
        count += history->records[i].lsn > history->snapshot_lsn && tfy__record_is_run_signal(&history->records[i]);
    return count;
}

static void mark_taken(Arrived *arrived)
{
    const TfyHistory *history = arrived->inspection->history;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->lsn <= history->snapshot_lsn || record->type != TFY_R_WOKE) continue;
        const json_int_t number = tfy__record_int(record, TFY_P_SEQ);
        if (number > 0 && number <= arrived->count) arrived->taken[number] = true;
    }
}

static void look_at_signal(Arrived *arrived, json_int_t number, const json_t *value)
{
    if (!arrived->taken || number <= 0 || number > arrived->count || arrived->taken[number]) return;
    if (!tfy__signal_misfit(&arrived->inspection->map, arrived->wait->point, value, arrived->misfit))
        arrived->fits = true;
}

static void look_at_signals(Arrived *arrived, const char *name)
{
    const TfyHistory *history = arrived->inspection->history;
    const json_t *one, *kept;
    json_int_t number = tfy__member_int(history->snapshot, TFY_S_SIGNAL_COUNT);
    size_t i, n;
    json_array_foreach(tfy__member_get(history->snapshot, TFY_S_SIGNALS), i, one)
    {
        const char *known = tfy__member_text(one, TFY_S_NAME);
        if (!known || strcmp(known, name) != 0) continue;
        json_array_foreach(tfy__member_get(one, TFY_S_KEPT), n, kept)
            look_at_signal(arrived, tfy__member_int(kept, TFY_S_SEQ), tfy__member_get(kept, TFY_S_VALUE));
    }
    for (uint32_t r = 0; r < history->record_count; r++) {
        const TfyLogRecord *record = &history->records[r];
        if (record->lsn <= history->snapshot_lsn || !tfy__record_is_run_signal(record)) continue;
        number++;
        if (!tfy__record_is(record, TFY_P_NAME, name)) continue;
        TfyPayload payload;
        tfy__payload_open(&payload, record);
        look_at_signal(arrived, number, tfy__payload_get(&payload, TFY_P_VALUE));
        tfy__payload_close(&payload);
    }
}

/* Whether the wait can take a signal that has arrived. */
static bool has_come(const Inspection *inspection, const TfyLogRecord *wait, const char *name, char *misfit)
{
    Arrived arrived = {
        .inspection = inspection, .wait = wait, .count = count_signals(inspection->history), .misfit = misfit};
    if (arrived.count) arrived.taken = calloc((size_t)arrived.count + 1, sizeof *arrived.taken);
    if (arrived.taken) mark_taken(&arrived);
    look_at_signals(&arrived, name);
    free(arrived.taken);
    return arrived.fits;
}

static void report_signal(Inspection *inspection, const Standing *standing, json_t *object)
{
    char *name = member_text(standing->open, TFY_P_NAME), misfit[TFY_ERROR_TEXT] = "";
    set_text(object, "waits_for", "signal");
    set_text(object, "signal", name);
    if (name && has_come(inspection, standing->open, name, misfit))
        json_object_set_new(object, "has_come", json_true());
    else
        add_next(inspection, "signal %s %s [JSON]", inspection->run, name ? name : "");
    if (*misfit) set_text(object, "kept_aside", misfit);
    free(name);
}

static bool asks(const Standing *standing)
{
    return !standing->end && (standing->doubt || (standing->open && tfy__record_has(standing->open, TFY_P_QUESTION)));
}

static void report_end(const Standing *standing, json_t *object)
{
    TfyPayload payload;
    tfy__payload_open(&payload, standing->end);
    const json_t *error = tfy__payload_get(&payload, TFY_P_ERROR);
    if (error) json_object_set(object, "error", (json_t *)error);
    tfy__payload_close(&payload);
}

static const char *state_of(const Standing *standing)
{
    if (!standing->end) return standing->cancelling ? "ending" : "unfinished";
    if (standing->end->type == TFY_R_TASK_EXIT) return "completed";
    return tfy__record_has(standing->end, TFY_P_CANCELLED) ? "cancelled" : "failed";
}

/* Adds what the process does for the task. It has done so since the task's newest record. */
static void report_live(const Inspection *inspection, const TfyLogTask *task, const Standing *standing, json_t *object)
{
    const json_t *line = json_object_get(inspection->live, task->path);
    if (!line) return;
    json_t *doing = json_object();
    set_text(doing, "state", tfy__json_text(line, "state"));
    if (*tfy__json_text(line, "message")) set_text(doing, "tool", tfy__json_text(line, "message"));
    if (json_object_get(line, "file")) set_text(doing, "file", tfy__json_text(line, "file"));
    if (json_object_get(line, "line")) json_object_set(doing, "line", json_object_get(line, "line"));
    if (standing->last) set_time(doing, "since", standing->last->ts_ms);
    if (standing->last) json_object_set_new(doing, "ms", json_integer(inspection->now_ms - standing->last->ts_ms));
    json_object_set_new(object, "doing", doing);
}

static json_t *report_task(Inspection *inspection, uint32_t index, const Standing *standing)
{
    const TfyLogTask *task = &inspection->history->tasks[index];
    json_t *object = json_object();
    set_text(object, "task", task->path);
    set_text(object, "workflow", inspection->history->task_workflows[index]);
    set_text(object, "state", state_of(standing));
    if (standing->placed) set_place(inspection, object, standing->placed);
    if (standing->end) {
        report_end(standing, object);
    } else if (standing->doubt) {
        report_doubt(inspection, task, standing, object);
    } else if (asks(standing)) {
        report_question(inspection, task, standing, object);
    } else if (standing->open && tfy__record_is(standing->open, TFY_P_TOOL, "signal")) {
        report_signal(inspection, standing, object);
    } else if (standing->open) {
        set_text(object, "waits_for", "result");
        set_member(object, "tool", standing->open, TFY_P_TOOL);
    }
    if (!standing->end) report_asker(inspection, standing->open, object);
    if (!standing->end && standing->due && !json_object_get(object, "waits_for")) report_due(standing, object);
    if (!standing->end) report_live(inspection, task, standing, object);
    return object;
}

static void report_tasks(Inspection *inspection)
{
    const TfyHistory *history = inspection->history;
    Standing *standings = calloc(history->task_count, sizeof *standings);
    json_t *tasks = json_array();
    for (uint32_t i = 0; standings && i < history->record_count; i++)
        stand(&standings[history->record_tasks[i]], &history->records[i]);
    for (uint32_t i = 0; standings && i < history->task_count; i++) {
        inspection->asking += asks(&standings[i]);
        inspection->doubts += asks(&standings[i]) && standings[i].doubt;
    }
    for (uint32_t i = 0; standings && i < history->task_count; i++)
        json_array_append_new(tasks, report_task(inspection, i, &standings[i]));
    json_object_set_new(inspection->report, "tasks", tasks);
    free(standings);
}

/* Reports which program the run has, and where it comes from. */
static void report_source(const Inspection *inspection, json_t *report)
{
    const TfyHistory *history = inspection->history;
    const TfyLogRun *run = &history->run;
    char hash[33], origin[37];
    for (int i = 0; i < 16; i++) sprintf(hash + 2 * i, "%02x", history->program_hash[i]);
    set_text(report, "program", hash);
    if (run->moved_lsn) json_object_set_new(report, "moved", json_integer(run->moved_lsn));
    if (run->base_lsn) json_object_set_new(report, "base", json_integer(run->base_lsn));
    if (!run->origin_lsn) return;
    tfy__uuid_text(run->origin, origin);
    set_text(report, "origin", origin);
    json_object_set_new(report, "origin_lsn", json_integer(run->origin_lsn));
}

/* The run's newest record says that no task could continue: reports which task waited for which. */
static void report_deadlock(Inspection *inspection)
{
    const TfyHistory *history = inspection->history;
    const TfyLogRecord *last = history->record_count ? &history->records[history->record_count - 1] : NULL;
    if (!last || last->type != TFY_R_SHUTDOWN_MARKER || inspection->held) return;
    char *graph = tfy__record_text(last, TFY_P_GRAPH);
    set_text(inspection->report, "deadlock", graph);
    free(graph);
    add_next(inspection, "kill %s --task PATH", inspection->run);
}

/* The record with all that bounds the run: of the newest resume that was given something, or else its birth. */
static const TfyLogRecord *bounds_of(const TfyHistory *history)
{
    const TfyLogRecord *options = newest(history, tfy__record_is_options);
    return options ? options : birth_of(history);
}

static void make_report(Inspection *inspection)
{
    const TfyHistory *history = inspection->history;
    const bool unfinished = history->run.state < TFY_TASK_COMPLETED;
    json_t *report = inspection->report = json_object();
    inspection->next = json_array();
    tfy__uuid_text(history->run.uuid, inspection->run);
    set_text(report, "run", inspection->run);
    set_text(report, "workflow", history->workflow);
    report_member(inspection, birth_of(history), TFY_P_ARGS, "args");
    set_text(report, "state", tfy__db_run_state(&history->run, inspection->held));
    set_time(report, "started", history->run.started_ms);
    report_member(inspection, bounds_of(history), TFY_P_YOLO, "yolo");
    report_source(inspection, report);
    if (!unfinished) set_time(report, "ended", history->run.ended_ms);
    if (unfinished && tfy__db_held_why(&history->run)) set_text(report, "held", tfy__db_held_why(&history->run));
    if (unfinished && history->run.owner) json_object_set_new(report, "session", json_integer(history->run.owner));
    report_member(inspection, tfy__result_record(history), TFY_P_VALUE, "result");
    report_member(inspection, bounds_of(history), TFY_P_CEILING, "ceiling");
    report_grants(inspection);
    report_member(inspection, tfy__result_record(history), TFY_P_ERROR, "error");
    json_object_set_new(report, "records", json_integer(history->record_count));
    report_asked(inspection);
    report_plan(inspection);
    report_confirmed(inspection);
    report_canvas(inspection);
    report_tasks(inspection);
    if (unfinished) report_deadlock(inspection);
    if (unfinished && history->run.held) add_next(inspection, "release %s", inspection->run);
    if (unfinished && !inspection->held) add_next(inspection, "resume %s", inspection->run);
    if (inspection->doubts) json_object_set_new(report, "in_doubt", json_integer(inspection->doubts));
    json_object_set_new(report, "next", inspection->next);
}

json_t *tfy__inspect_report(const TfyHistory *history, const char *db_path, bool held)
{
    const bool shared = history->run.turn != TFY_RUN_IN_FILE;
    Inspection inspection = {
        .history = history, .held = shared || held || tfy__db_held(db_path), .command = tfy__tfy_command(db_path)};
    struct timespec now;
    char run[37];
    clock_gettime(CLOCK_REALTIME, &now);
    inspection.now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    tfy__uuid_text(history->run.uuid, run);
    if (inspection.held && !shared && history->run.state < TFY_TASK_COMPLETED)
        inspection.live = tfy__live_tasks(db_path, run);
    tfy__source_map(&inspection.map, history);
    make_report(&inspection);
    json_decref(inspection.live);
    tfy__source_map_free(&inspection.map);
    return inspection.report;
}

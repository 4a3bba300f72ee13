/* check.c: what must hold (sim.h): of the log after a death and at the end, against what the world outside remembers. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "net.h"
#include "wal/history/history.h"

enum { LATE_MS = 4 };

/* w1 */
void sim_check_behind(const TaskRest *rest, const char *what)
{
    TfyLog *log = rest->run->loop->log;
    if (sim.expecting || !log) return;
    sim.checks++;
    if (tfy__log_error(log)) sim_broken("w1", "%s leaves after the log failed", what);
    if (rest->log.head > tfy__log_durable_lsn(log))
        sim_broken("w1", "%s leaves task %s before record %lld is durable (%lld is)", what, rest->log.path,
                   (long long)rest->log.head, (long long)tfy__log_durable_lsn(log));
}

/* ---- looking into a history ---- */

static const char *path_of(const TfyHistory *history, uint32_t record)
{
    return history->tasks[history->record_tasks[record]].path;
}

static const char *text_in(json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

/* How many records of a type a step has; step 0: any step. */
static uint32_t count(const TfyHistory *history, int type, const char *path, int64_t step)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type == type && (!step || record->step == step) &&
            (!path || strcmp(path_of(history, i), path) == 0))
            found++;
    }
    return found;
}

bool sim_history(TfyLog *log, const char *uuid, TfyHistory **history, char *error)
{
    int code = tfy__history_read(log, uuid, history, error);
    if (code == TFY_E_ABSENT) return false;
    if (code < 0) sim_broken("d1", "run %s cannot be read: %s", uuid, error);
    return true;
}

/* ---- d2: lines ---- */

typedef struct Told {
    int64_t lsn;
    char *text; /* with its newline, owned */
    uint32_t task;
} Told;

typedef struct TellAll {
    Told *lines;
    uint32_t count, cap;
} TellAll;

json_t *sim_record_json(const TfyLogRecord *record)
{
    TfyPayload payload;
    if (!tfy__payload_open(&payload, record))
        sim_broken("d8", "record %lld has no payload: %s", (long long)record->lsn, record->payload);
    return payload.json;
}

static void tell(TellAll *all, const TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != TFY_R_OUTPUT) continue;
        json_t *json = sim_record_json(record);
        if (strcmp(text_in(json, "to"), "stdout") == 0) {
            if (all->count == all->cap) {
                all->cap = all->cap ? all->cap * 2 : 64;
                all->lines = realloc(all->lines, all->cap * sizeof *all->lines);
                if (!all->lines) abort();
            }
            Told *line = &all->lines[all->count++];
            line->lsn = record->lsn;
            line->task = history->record_tasks[i];
            if (asprintf(&line->text, "%s\n", text_in(json, "text")) < 0) abort();
        }
        json_decref(json);
    }
}

static void told_free(TellAll *all)
{
    for (uint32_t i = 0; i < all->count; i++) free(all->lines[i].text);
    free(all->lines);
}

static int by_lsn(const void *a, const void *b)
{
    const Told *x = a, *y = b;
    return (x->lsn > y->lsn) - (x->lsn < y->lsn);
}

static void check_lines(TellAll *all)
{
    uint32_t at = 0;
    if (all->count) qsort(all->lines, all->count, sizeof *all->lines, by_lsn);
    for (uint32_t i = 0; i < sim.line_count; i++, at++) {
        while (at < all->count && strcmp(all->lines[at].text, sim.lines[i].text) != 0) at++;
        if (at < all->count) continue;
        sim_broken("d2", "line %u that was shown is not in the log, or not there in this order: %s", i + 1,
                   sim.lines[i].text);
    }
    if (!sim.deaths_done && sim.line_count != all->count && !sim.loop)
        sim_broken("d2", "%u lines were shown of the %u in the log, although nothing died", sim.line_count, all->count);
}

/* ---- d4: replay ---- */

typedef struct Shown {
    char *text;
    size_t len;
} Shown;

static void show(void *state, const char *text, size_t len)
{
    Shown *shown = state;
    shown->text = realloc(shown->text, shown->len + len + 1);
    if (!shown->text) abort();
    memcpy(shown->text + shown->len, text, len);
    shown->text[shown->len += len] = '\0';
}

static void check_replay(const TfyHistory *history, bool over)
{
    Shown shown = {0};
    TfyOptions options = {.on_output = show, .state = &shown, .quiet = true};
    TfyReplayReport report = {0};
    bool alive = sim.alive;
    sim.alive = false;
    int code = tfy__replay(&sim_program, history, &options, &report);
    sim.alive = alive;
    if (code < 0 || report.divergences) sim_broken("d4", "the replay of %s says %s", history->workflow, report.text);
    if (over && !report.finished) sim_broken("d4", "the replay of %s does not end: %s", history->workflow, report.text);
    TellAll all = {0};
    size_t at = 0;
    tell(&all, history);
    for (uint32_t i = 0; i < all.count; i++) {
        size_t len = strlen(all.lines[i].text);
        if (shown.len - at < len || memcmp(shown.text + at, all.lines[i].text, len) != 0)
            sim_broken("d4", "the replay of %s does not show line %u: %s", history->workflow, i + 1, all.lines[i].text);
        at += len;
    }
    if (at != shown.len) sim_broken("d4", "the replay of %s shows more: %s", history->workflow, shown.text + at);
    told_free(&all);
    free(shown.text);
}

/* ---- d2, d3: what was acknowledged, what began ---- */

static bool has_ack(const TfyHistory *history, const SimAck *ack)
{
    if (ack->kind == ACK_APPROVAL) return count(history, TFY_R_APPROVAL, ack->path, ack->step) > 0;
    if (ack->kind == ACK_RESOLVE) return count(history, TFY_R_RESOLVED, ack->path, ack->step) > 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        if (history->records[i].type != TFY_R_SIGNAL) continue;
        json_t *json = sim_record_json(&history->records[i]);
        bool found = ack->kind == ACK_KILL
                         ? strcmp(text_in(json, "name"), "kill") == 0 && strcmp(path_of(history, i), ack->path) == 0
                         : strcmp(text_in(json, "id"), ack->text) == 0;
        json_decref(json);
        if (found) return true;
    }
    return false;
}

static void check_acks(const TfyHistory *history, uint32_t run)
{
    static const char *const what[] = {"signal", "answer", "kill", "resolution"};
    for (uint32_t i = 0; i < sim.ack_count; i++) {
        const SimAck *ack = &sim.acks[i];
        if (ack->run == run && !has_ack(history, ack))
            sim_broken("d2", "%s %s for task %s, step %lld was acknowledged and is lost", what[ack->kind], ack->text,
                       ack->path, (long long)ack->step);
    }
}

static void check_begun(const TfyHistory *history, const char *uuid)
{
    for (uint32_t i = 0; i < sim.entry_count; i++) {
        const SimEntry *entry = &sim.entries[i];
        if (!entry->once || strcmp(entry->run, uuid) != 0) continue;
        uint32_t started = count(history, TFY_R_STEP_START, entry->path, entry->step);
        if (!started || (!entry->own_key && entry->begun > started))
            sim_broken("d3", "%s began %u times under key %s, and the log has %u StepStarts of it", entry->tool,
                       entry->begun, entry->key, started);
    }
}

/* d7: what follows the newest StepStart of such a step is a doubt, what a probe or a person said of it, or a failure that says that it may have been
 * done. */
static void check_vague(const TfyHistory *history, const char *uuid)
{
    for (uint32_t i = 0; i < sim.entry_count; i++) {
        const SimEntry *entry = &sim.entries[i];
        if (!entry->vague || strcmp(entry->run, uuid) != 0) continue;
        const TfyLogRecord *after = NULL;
        for (uint32_t n = 0; n < history->record_count; n++) {
            const TfyLogRecord *record = &history->records[n];
            if (record->step != entry->step || strcmp(path_of(history, n), entry->path) != 0) continue;
            if (record->type == TFY_R_STEP_START) after = NULL;
            if (record->type == TFY_R_TOOL_RESULT && !after) after = record;
        }
        json_t *json = after ? sim_record_json(after) : NULL;
        const char *outcome = text_in(json, "outcome");
        bool allowed = strcmp(outcome, "not done") == 0 || (entry->own_key && strcmp(outcome, "unknown") == 0);
        if (json && json_object_get(json, "error") && !allowed)
            sim_broken("d7", "%s ended without saying whether it was done, and the log says that %s failed",
                       entry->tool, entry->key);
        json_decref(json);
    }
}

/* A run that has ended: the same as when it was seen to. */
static void check_over(const SimRun *run, const TfyHistory *history)
{
    if (history->run.state != run->state)
        sim_broken("d2", "%s was seen to end with state %d, and the log says %d", run->workflow, run->state,
                   history->run.state);
    const TfyLogRecord *end = NULL;
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_TASK_COMPLETE) end = &history->records[i];
    if (!end) sim_broken("d2", "%s was seen to end and has no TaskComplete", run->workflow);
    json_t *json = sim_record_json(end), *value = json_object_get(json, "value");
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_t *seen = run->result ? json_loads(run->result, JSON_DECODE_ANY, NULL) : NULL;
    if (run->result && value && !json_equal(value, seen))
        sim_broken("d2", "%s was seen to give %s, and the log says %s", run->workflow, run->result, text);
    json_decref(seen);
    json_decref(json);
    free(text);
}

/* d8 */
static void check_payloads(const TfyHistory *history)
{
    char text[160];
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const char *fault = tfy__payload_fault(record, text, sizeof text);
        if (fault)
            sim_broken("d8", "%s %lld: %s: %s", tfy__record_type_name(record->type), (long long)record->lsn, fault,
                       record->payload);
    }
}

void sim_check_history(const TfyHistory *history, const char *uuid)
{
    check_payloads(history);
    check_begun(history, uuid);
    check_vague(history, uuid);
    check_replay(history, history->run.state >= TFY_TASK_COMPLETED);
}

static void check_run(SimRun *run, uint32_t index, const TfyHistory *history)
{
    check_acks(history, index);
    sim_check_history(history, run->uuid);
    sim_check_traffic(history, run->uuid);
    sim_check_models(history, run->uuid);
    if (run->over) check_over(run, history);
}

void sim_check_recovered(TfyLog *log)
{
    TellAll all = {0};
    char error[TFY_ERROR_TEXT] = "";
    sim.checks++;
    for (uint32_t i = 0; i < sim.run_count; i++) {
        SimRun *run = &sim.runs[i];
        TfyHistory *history = NULL;
        if (!run->uuid[0]) continue;
        if (!sim_history(log, run->uuid, &history, error)) {
            if (run->acked) sim_broken("d2", "%s was acknowledged and is lost: %s", run->workflow, error);
            for (uint32_t e = 0; e < sim.entry_count; e++)
                if (strcmp(sim.entries[e].run, run->uuid) == 0)
                    sim_broken("d3", "%s of %s began, and the log knows nothing of the run", sim.entries[e].tool,
                               run->workflow);
            sim_check_no_traffic(run->uuid, run->workflow);
            run->uuid[0] = '\0';
            continue;
        }
        run->found = history->run.state;
        check_run(run, i, history);
        tell(&all, history);
        tfy__history_free(history);
    }
    check_lines(&all);
    told_free(&all);
}

/* ---- e1, e2 ---- */

static const TfyHistory *sorting;

static int by_path(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return strcmp(sorting->tasks[*x].path, sorting->tasks[*y].path);
}

/* What a run has told and come to: by task, since the order between tasks is not promised. */
char *sim_told(const TfyHistory *history, int state)
{
    TellAll all = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    if (!to) abort();
    tell(&all, history);
    uint32_t *order = calloc(history->task_count + 1, sizeof *order);
    if (!order) abort();
    for (uint32_t task = 0; task < history->task_count; task++) order[task] = task;
    sorting = history;
    qsort(order, history->task_count, sizeof *order, by_path);
    for (uint32_t task = 0; task < history->task_count; task++)
        for (uint32_t i = 0; i < all.count; i++)
            if (all.lines[i].task == order[task])
                fprintf(to, "%s: %s", history->tasks[order[task]].path, all.lines[i].text);
    free(order);
    fprintf(to, "state %d\n", state);
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_TASK_COMPLETE) fprintf(to, "%s\n", history->records[i].payload);
    fclose(to);
    told_free(&all);
    return text;
}

static void check_ended(const char *workflow, const TfyHistory *history)
{
    if (count(history, TFY_R_TASK_COMPLETE, NULL, 0) != 1)
        sim_broken("e1", "%s has %u TaskComplete", workflow, count(history, TFY_R_TASK_COMPLETE, NULL, 0));
    for (uint32_t i = 0; i < history->task_count; i++) {
        const char *path = history->tasks[i].path;
        uint32_t ends = count(history, TFY_R_TASK_EXIT, path, 0) + count(history, TFY_R_TASK_ABORT, path, 0);
        if (ends != 1) sim_broken("e1", "task %s of %s has ended %u times", path, workflow, ends);
    }
}

static void check_once_each(const char *workflow, const TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type == TFY_R_APPROVAL && count(history, TFY_R_APPROVAL, path_of(history, i), record->step) != 1)
            sim_broken("e1", "step %lld of %s was answered twice", (long long)record->step, workflow);
        if (record->type != TFY_R_SIGNAL) continue;
        json_t *json = sim_record_json(record);
        for (uint32_t other = 0; other < i && text_in(json, "id")[0]; other++) {
            if (history->records[other].type != TFY_R_SIGNAL) continue;
            json_t *earlier = sim_record_json(&history->records[other]);
            if (strcmp(text_in(json, "id"), text_in(earlier, "id")) == 0)
                sim_broken("e1", "signal %s is twice in the log", text_in(json, "id"));
            json_decref(earlier);
        }
        json_decref(json);
    }
}

void sim_check_ends(const char *workflow, const TfyHistory *history)
{
    check_ended(workflow, history);
    check_once_each(workflow, history);
}

/* When the life began in which something was recorded, wall clock. */
static int64_t boot_before(int64_t ts_ms)
{
    int64_t boot_ms = 0;
    for (uint32_t i = 0; i < sim.life && i < SIM_LIVES; i++)
        if (sim.boots_ms[i] <= ts_ms) boot_ms = sim.boots_ms[i];
    return boot_ms;
}

static void check_timer(const char *workflow, const TfyHistory *history, uint32_t fired, const SimLate *allowed)
{
    const TfyLogRecord *end = &history->records[fired], *begin = NULL;
    for (uint32_t i = 0; i < fired; i++)
        if (history->records[i].type == TFY_R_TASK_YIELD && history->record_tasks[i] == history->record_tasks[fired] &&
            history->records[i].step == end->step)
            begin = &history->records[i];
    if (!begin) sim_broken("e6", "step %lld of %s ran out of no time", (long long)end->step, workflow);
    json_t *json = sim_record_json(begin);
    int64_t due_ms = json_integer_value(json_object_get(json, "due")), boot_ms = boot_before(end->ts_ms);
    json_decref(json);
    int64_t late_ms = end->ts_ms - (due_ms > boot_ms ? due_ms : boot_ms);
    if (end->ts_ms < due_ms - allowed->early_ms || late_ms > allowed->late_ms)
        sim_broken("e6", "step %lld of task %s of %s was due at %lld and ended at %lld", (long long)end->step,
                   path_of(history, fired), workflow, (long long)due_ms, (long long)end->ts_ms);
}

/* e6 */
void sim_check_timers(const char *workflow, const TfyHistory *history, const SimLate *allowed)
{
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_TIMER_FIRED && strcmp(history->records[i].payload, "{}") == 0)
            check_timer(workflow, history, i, allowed);
}

void sim_check_end(TfyLog *log)
{
    char error[TFY_ERROR_TEXT] = "";
    for (uint32_t i = 0; i < sim.run_count; i++) {
        SimRun *run = &sim.runs[i];
        TfyHistory *history = NULL;
        if (!run->over) continue;
        if (!sim_history(log, run->uuid, &history, error)) sim_broken("e1", "%s is lost", run->workflow);
        sim_check_ends(run->workflow, history);
        if (!sim.plan.full_ms) sim_check_timers(run->workflow, history, &(SimLate){.late_ms = LATE_MS});
        char *told = sim_told(history, run->state);
        if (run->expect && strcmp(run->expect, told) != 0)
            sim_broken("e2", "%s came to something else: undisturbed\n%sdisturbed\n%s", run->workflow, run->expect,
                       told);
        free(told);
        tfy__history_free(history);
    }
}

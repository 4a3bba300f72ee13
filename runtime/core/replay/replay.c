/* replay.c: a recorded run as the source of answers, for resume and for replay.
 *
 * Each task of the run owns the records in its chain, and takes them one after the other. The cursor is the lowest
 * record that is not taken, and only the task that owns it runs: what tasks do to each other happens in the
 * recorded order, whatever the scheduler's order was then. Other tasks that are ready wait in the run's queue of
 * turns. When the cursor has passed the last record, these go to the ready ring in their order, and the steps that
 * were deferred because they had nothing recorded go live. That moment is between two slices of tasks, never
 * inside one: no code still holds a record or a step that it frees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"
#include "wal/history/compat.h"
#include "wal/history/move.h"
#include "wal/history/snapshot_map.h"
#include "wal/history/history.h"

enum { READ_AT_ONCE = 64 }; /* runs, when all are resumed */

const TfyLogRecord *tfy__history_peek(const TaskRest *rest)
{
    if (rest->next_record == NO_INDEX) return NULL;
    return &rest->run->history->records[rest->next_record];
}

bool tfy__history_live(const TaskRest *rest)
{
    return rest->next_record == NO_INDEX && !rest->run->history;
}

bool tfy__history_at_cursor(const TaskRest *rest)
{
    return rest->next_record == rest->run->cursor;
}

/* ---- tasks that are ready while their run replays ---- */

void tfy__history_await_turn(TaskRest *rest)
{
    Run *run = rest->run;
    CHECK(run->history);
    CHECK(rest->task && rest->task->state & T_FOLLOWING);
    CHECK(!rest->turn_prev && run->turns.first != rest);
    LIST2_APPEND(&run->turns, rest, turn_prev, turn_next);
}

/* From now on the ring decides which task runs. */
static void release_parked(Run *run)
{
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (rest->task) rest->task->state &= ~(uint32_t)T_FOLLOWING;
    while (run->turns.first) {
        TaskRest *rest = run->turns.first;
        CHECK(rest->task && rest->task->state & T_QUEUED);
        LIST2_REMOVE(&run->turns, rest, turn_prev, turn_next);
        rest->task->state &= ~(uint32_t)T_QUEUED;
        tfy__ready_push(run->loop, rest->task);
    }
}

static void release_held(Run *run)
{
    for (Step *step; (step = LIST_TAKE(&run->deferred, deferred_next));) {
        step->queued &= (uint8_t)~IN_DEFERRED;
        tfy__step_queue(step); /* also recycles the dead ones */
    }
}

void tfy__history_forget_deferred(Run *run)
{
    for (Step *step; (step = LIST_TAKE(&run->deferred, deferred_next));) {
        step->queued &= (uint8_t)~IN_DEFERRED;
        tfy__step_dequeued(step);
    }
}

/* Every record has been taken: the run goes live. */
static void history_finished(Run *run)
{
    CHECK(run->history && run->cursor == run->history->record_count);
    tfy__history_drop(run->loop, run);
    release_parked(run);
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (rest->cancel_again && rest->task)
            tfy__cancel_request(rest, rest->cancel_again, NULL, rest->cancel_again_force);
    release_held(run);
    if (run->loop->park_after_ms >= 0) tfy__park_consider(run); /* its tasks started to wait in another process */
}

void tfy__history_take(TaskRest *rest)
{
    Run *run = rest->run;
    uint32_t index = rest->next_record;
    if (run->loop->stepping) tfy__debug_stop(rest, index);
    CHECK(index < run->history->record_count);
    CHECK(index >= run->cursor);
    CHECK(!run->taken[index]);
    CHECK(run->next_of_task[index] > index);
    run->taken[index] = true;
    rest->next_record = run->next_of_task[index];
    if (rest->task) {
        rest->task->passages = 0;
        if (rest->next_record == NO_INDEX) rest->task->state &= ~(uint32_t)T_REPLAYING;
    }
    if (run->loop->report) run->loop->report->steps++;
    /* events reported now carry the recorded time */
    if (run->loop->replay_only) run->loop->now_ms = run->history->records[index].ts_ms;
    while (run->cursor < run->history->record_count && run->taken[run->cursor]) run->cursor++;
    CHECK(run->cursor <= run->history->record_count);
    CHECK(rest->next_record == NO_INDEX || run->cursor <= rest->next_record);
}

void tfy__history_defer(Step *step)
{
    Run *run = step->rest->run;
    if (step->queued & IN_DEFERRED) return;
    CHECK(run->history);
    CHECK(step->stage != STAGE_DEAD);
    step->queued |= IN_DEFERRED;
    LIST_APPEND(&run->deferred, step, deferred_next);
}

static int64_t number_of(const TfyLogTask *task)
{
    return task->tid;
}

static int64_t birth_of(const TfyLogTask *task)
{
    return task->born;
}

/* Tasks of a history ascend in their numbers and in those of the records that made them. */
static uint32_t find_task(const TfyHistory *history, int64_t (*key_of)(const TfyLogTask *), int64_t key)
{
    uint32_t low = 0, high = history->task_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (key_of(&history->tasks[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < history->task_count && key_of(&history->tasks[low]) == key ? low : NO_INDEX;
}

/* The payload has the number that the task was born with; an import may have given it another. */
int64_t tfy__history_born(const Run *run, int64_t lsn)
{
    uint32_t at = find_task(run->history, birth_of, lsn);
    return at == NO_INDEX ? TFY_E_DATA : run->history->tasks[at].tid;
}

bool tfy__history_attach(TaskRest *rest)
{
    Run *run = rest->run;
    if (!run->history) return false;
    uint32_t at = find_task(run->history, number_of, rest->log.tid);
    if (at == NO_INDEX) return false;
    const TfyLogTask *known = &run->history->tasks[at];
    rest->log.head = known->head;
    rest->log.chain = known->chain;
    rest->log.born = known->born;
    CHECK(rest->next_record == NO_INDEX);
    rest->next_record = run->first_of_task[at];
    if (rest->next_record != NO_INDEX && rest->task) rest->task->state |= T_REPLAYING;
    return true;
}

/* ---- differences ---- */

static void say_recorded(const TaskRest *rest, const TfyLogRecord *record, char *text, size_t cap)
{
    if (!record) {
        snprintf(text, cap, "nothing more");
        return;
    }
    const char *id = "";
    const TfyPoint *point = tfy__point_of(program_of(rest->run), record->point);
    if (point) id = point->id;
    int shown = record->payload_len > 160 ? 160 : (int)record->payload_len;
    snprintf(text, cap, "record %lld, %s at step %lld%s%s: %.*s%s", (long long)record->lsn,
             tfy__record_type_name(record->type), (long long)record->step, *id ? ", " : "", id, shown, record->payload,
             shown < (int)record->payload_len ? "…" : "");
}

void tfy__history_diverge(TaskRest *rest, const TfyLogRecord *record, const char *now_format, ...)
{
    TfyLoop *loop = rest->run->loop;
    char recorded[512], now[512];
    va_list args;
    if (rest->task) tfy__sched_halt(rest->task);
    if (tfy__loop_starved(loop)) return; /* a task that lacks memory for a value takes another path */
    if (rest->run->difference) return;
    va_start(args, now_format);
    vsnprintf(now, sizeof now, now_format, args);
    va_end(args);
    say_recorded(rest, record, recorded, sizeof recorded);
    const TfyProgram *program = program_of(rest->run);
    uint32_t line = rest->step ? rest->step->call.site->point->line
                    : record   ? tfy__point_line(program, record->point)
                               : 0;
    char where[128] = "";
    const char *file = tfy__line_file(program, &line);
    if (line) snprintf(where, sizeof where, file ? " (line %u of %.80s)" : " (line %u)", line, file);
    if (loop->report) loop->report->divergences++;
    char text[sizeof recorded + sizeof now + sizeof where + 256];
    snprintf(text, sizeof text, "task %s of %s differs from its log. recorded: %s. now%s: %s", rest->log.path,
             rest->run->uuid, recorded, where, now);
    if (!loop->on_diverged)
        tfy__loop_fail(loop, TFY_E_DIVERGED, "%s", text);
    else if (!(rest->run->difference = strdup(text)))
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to set a run aside");
}

/* ---- input from outside ---- */

const char *tfy__kill_reason(const char *why)
{
    static const char *const reasons[] = {
        "killed",   "its parent failed", "its parent was cancelled", "its parent was killed", "its group has ended",
        OVER_MEMORY};
    for (size_t i = 0; why && i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(why, reasons[i]) == 0) return reasons[i];
    return "killed";
}

/* Input from outside for a task: a kill, the end of the time of one of its scopes, or, in the root's chain, a
 * signal for the run. */
typedef struct Arrival {
    bool signal;
    uint32_t target; /* a scope, or NO_INDEX: the whole task */
    bool force;
    const char *why; /* static */
} Arrival;

/* Is the record an arrival that was recorded at the task's present place? in_slice: it runs, between two of its
 * points; only its own action can have been recorded there. A kill that arrived while no process ran the task
 * counts no passages: it belongs right after the record before it. */
static bool is_arrival(const TfyTask *task, const TfyLogRecord *record, bool in_slice, Arrival *arrival)
{
    if (!record || (record->type != TFY_R_SIGNAL && record->type != TFY_R_TIMER_FIRED)) return false;
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const json_t *scope = tfy__payload_get(&payload, TFY_P_SCOPE),
                 *passages = tfy__payload_get(&payload, TFY_P_PASSAGES);
    bool here = !passages || ((uint32_t)json_integer_value(passages) == task->passages &&
                              tfy__payload_flag(&payload, TFY_P_IN_SLICE) == in_slice);
    bool ours = record->type == TFY_R_SIGNAL || scope;
    *arrival = (Arrival){.signal = tfy__payload_get(&payload, TFY_P_VALUE) != NULL,
                         .target = scope ? (uint32_t)json_integer_value(scope) : NO_INDEX,
                         .force = tfy__payload_flag(&payload, TFY_P_FORCE),
                         .why = scope ? "timeout" : tfy__kill_reason(tfy__payload_text(&payload, TFY_P_WHY))};
    tfy__payload_close(&payload);
    return ours && here;
}

/* Between its points a task cannot wait for the cursor; everywhere else it takes input at the recorded moment. */
static void take_arrivals(TfyTask *task, bool in_slice)
{
    TaskRest *rest = rest_of(task);
    Arrival arrival;
    while ((in_slice || tfy__history_at_cursor(rest)) &&
           is_arrival(task, tfy__history_peek(rest), in_slice, &arrival)) {
        const TfyLogRecord *record = tfy__history_peek(rest);
        tfy__history_take(rest);
        if (arrival.signal)
            tfy__signal_recorded(rest->run, record);
        else
            tfy__cancel_apply(rest, arrival.target, arrival.force, arrival.why);
    }
}

void tfy__history_async(TfyTask *task)
{
    take_arrivals(task, false);
}

bool tfy__history_arrives_later(const TfyTask *task)
{
    Arrival arrival;
    return is_arrival(task, tfy__history_peek(rest_of(task)), false, &arrival);
}

bool tfy__history_expect(TaskRest *rest, TfyRecordType type, uint32_t point, const TfyLogRecord **record)
{
    *record = NULL;
    if (tfy__history_live(rest)) return true;
    if (rest->run->difference) return false;
    /* a task that killed itself, or a kill after a crash in mid-slice */
    if (rest->task) take_arrivals(rest->task, true);
    const TfyLogRecord *next = tfy__history_peek(rest);
    if (!next) {
        if (!rest->run->loop->replay_only || !rest->run->history) return true;
        if (rest->run->history->run.state >= TFY_TASK_COMPLETED)
            tfy__history_diverge(rest, NULL, "it continues with %s", tfy__record_type_name(type));
        /* an unfinished run is replayed as far as its log reaches */
        else if (rest->task)
            tfy__sched_halt(rest->task);
        return false;
    }
    if (next->type == type && (!point || next->point == point)) {
        *record = next;
        return true;
    }
    const TfyPoint *here = tfy__point_of(program_of(rest->run), point);
    tfy__history_diverge(rest, next, "it comes to %s%s%s", tfy__record_type_name(type), here ? " at " : "",
                         here ? here->id : "");
    return false;
}

bool tfy__record_fact(TaskRest *rest, TfyRecordType type, uint32_t point, const TfyBuffer *payload)
{
    const TfyLogRecord *record;
    bool ok = tfy__history_expect(rest, type, point, &record);
    if (ok && payload->failed) {
        tfy__loop_fail(rest->run->loop, TFY_E_NOMEM, "no memory to write a record");
        ok = false;
    } else if (ok && record && strcmp(record->payload, payload->data) != 0) {
        tfy__history_diverge(rest, record, "it comes to %s %s", tfy__record_type_name(type), payload->data);
        ok = false;
    } else if (ok && record) {
        tfy__history_take(rest);
    } else if (ok) {
        ok = tfy__record_append(rest, type, rest->log.step, point, payload) > 0;
    }
    if (!ok && rest->task) tfy__sched_halt(rest->task);
    return ok;
}

/* ---- resuming a run ---- */

void tfy__history_drop(TfyLoop *loop, Run *run)
{
    (void)loop;
    if (run->owns_history) tfy__history_free(run->history);
    run->history = NULL;
    free(run->taken);
    free(run->next_of_task);
    free(run->first_of_task);
    run->taken = NULL;
    run->next_of_task = run->first_of_task = NULL;
}

/* Belongs to no step of the task in whose chain it is. A compacted run's records from before its snapshot are
 * contained in the snapshot. */
static bool is_passed_over(const TfyHistory *history, const TfyLogRecord *record)
{
    return tfy__record_is_nobodys(record) || (history->snapshot && record->lsn <= history->snapshot_lsn);
}

static bool index_history(Run *run, TfyHistory *history)
{
    uint32_t count = history->record_count;
    run->taken = calloc(count + 1, sizeof *run->taken);
    run->next_of_task = malloc((count + 1) * sizeof *run->next_of_task);
    uint32_t *last = malloc((history->task_count + 1) * sizeof *last);
    run->first_of_task = last; /* walking backwards, the last one seen is the first */
    bool ok = run->taken && run->next_of_task && last;
    for (uint32_t i = 0; ok && i < history->task_count; i++) {
        CHECK(!i || history->tasks[i - 1].tid < history->tasks[i].tid);
        last[i] = NO_INDEX;
    }
    for (uint32_t i = count; ok && i-- > 0;) {
        uint32_t task = history->record_tasks[i];
        CHECK(task < history->task_count);
        CHECK(!i || history->records[i - 1].lsn < history->records[i].lsn);
        run->next_of_task[i] = NO_INDEX;
        run->taken[i] = is_passed_over(history, &history->records[i]);
        if (run->taken[i]) continue;
        run->next_of_task[i] = last[task];
        last[task] = i;
    }
    while (ok && run->cursor < count && run->taken[run->cursor]) run->cursor++;
    return ok;
}

/* The first record of a run: its workflow and arguments. */
static int begin_from_history(TfyLoop *loop, Run *run, TfyHistory *history, char *error_text)
{
    const TfyLogRecord *first = history->record_count ? &history->records[0] : NULL;
    if (!first || first->type != TFY_R_INSTRUCTION_START) {
        snprintf(error_text, TFY_ERROR_TEXT, "run %s has no InstructionStart record, so it cannot be resumed",
                 run->uuid);
        return TFY_E_DATA;
    }
    TfyPayload begin;
    tfy__payload_open(&begin, first);
    const char *name = tfy__payload_text(&begin, TFY_P_WORKFLOW);
    const TfyWorkflow *workflow = name ? tfy__workflow_by_name(program_of(run), name) : NULL;
    run->seed = tfy__payload_hex(&begin, TFY_P_SEED);
    run->max_memory = tfy__payload_int(&begin, TFY_P_MAX_MEMORY);
    run->max_queue = tfy__payload_int(&begin, TFY_P_MAX_QUEUE);
    run->digests_only = tfy__is_digests_only(tfy__payload_text(&begin, TFY_P_PROMPTS));
    run->yolo = tfy__payload_flag(&begin, TFY_P_YOLO);
    int code = tfy__trace_note(run, first) && tfy__ceiling_read(run, tfy__payload_get(&begin, TFY_P_CEILING))
                   ? TFY_OK
                   : TFY_E_NOMEM;
    if (code != TFY_OK) {
        /* nothing of it is begun */
    } else if (!workflow) {
        snprintf(error_text, TFY_ERROR_TEXT, "the program has no workflow '%s', which run %s was started with",
                 name ? name : "?", run->uuid);
        code = loop->replay_only ? TFY_E_DIVERGED : TFY_E_ABSENT;
    } else {
        TfyTask scratch = {.heap = &loop->heap, .loop = loop};
        TfyValue *values = calloc(workflow->param_count + 1, sizeof *values);
        char *args = json_dumps(tfy__payload_get(&begin, TFY_P_ARGS), JSON_COMPACT | JSON_ENCODE_ANY);
        char text[TFY_ERROR_TEXT];
        if (!values || !args)
            code = TFY_E_NOMEM;
        else if (!tfy__decode_args(&scratch, workflow->params, workflow->param_count, args, strlen(args), values,
                                   text)) {
            snprintf(error_text, TFY_ERROR_TEXT, "the recorded arguments do not fit workflow '%s': %.300s",
                     workflow->name, text);
            code = loop->replay_only ? TFY_E_DIVERGED : TFY_E_DATA;
        } else {
            TaskRest *root = tfy__run_begin_root(loop, run, workflow, values, history->run.root);
            if (root) tfy__history_attach(root);
            if (root && tfy__fork_begin(run, tfy__payload_get(&begin, TFY_P_FORK_OF), root->log.born))
                tfy__history_take(root);
            else
                code = TFY_E_NOMEM;
            if (code == 0 && loop->replay_only) tfy__activity(root->task, "ReceivedInstruction", "%s", workflow->name);
        }
        tfy__cut(&loop->heap, 0);
        free(values);
        free(args);
    }
    tfy__payload_close(&begin);
    return code;
}

/* Converts the numbers of points to those of the program that runs now, whichever compiler made it. */
static int adapt_points(const TfyProgram *program, TfyHistory *history)
{
    const char *layout = program->layout;
    const int code = layout && history->program_layout ? tfy__history_adapt(history, layout) : 0;
    return code == TFY_E_DATA ? 0 : code; /* without a layout there are no ids to convert by */
}

/* A snapshot has the numbers of the program that wrote it: for another program it is mapped by name. */
static int adapt_snapshot(const Run *run, TfyHistory *history, char *error_text)
{
    const char *layout = program_of(run)->layout;
    char why[TFY_ERROR_TEXT] = "the layouts of the two programs cannot be read";
    TfyCompat *compat;
    json_t *mapped = NULL;
    if (!history->snapshot || !layout || !history->snapshot_layout || strcmp(layout, history->snapshot_layout) == 0)
        return 0;
    int code = tfy__compat_new(history->snapshot_layout, layout, &compat);
    if (!code) {
        code = tfy__snapshot_map(compat, history->snapshot, &mapped, why);
        tfy__compat_free(compat);
    }
    if (!code) code = tfy__history_take_snapshot(history, mapped, layout);
    if (!code || code == TFY_E_NOMEM) return code;
    snprintf(error_text, TFY_ERROR_TEXT, "another program wrote the snapshot that the run starts at, and %.400s", why);
    return run->loop->replay_only ? TFY_E_DIVERGED : TFY_E_DATA;
}

/* What people granted to tools while the run was under way, and what its resumes were given, behind its snapshot, which
 * contains what was before. */
static int take_grants(Run *run, const TfyHistory *history)
{
    const int64_t from = history->snapshot ? history->snapshot_lsn : 0;
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].lsn > from && !tfy__ceiling_pass(run, &history->records[i])) return TFY_E_NOMEM;
    return 0;
}

static int attach_run(TfyLoop *loop, Loaded *loaded, TfyHistory *history, bool own, Run **out, char *error_text)
{
    Run *run = tfy__run_new(loop, loaded, &history->run);
    if (!run) return TFY_E_NOMEM;
    *out = run;
    run->history = history;
    run->owns_history = own;
    run->rooted = history->root.path && loop->root_known;
    int code = adapt_snapshot(run, history, error_text);
    if (!code) code = adapt_points(loaded->program, history);
    if (!code) code = index_history(run, history) ? 0 : TFY_E_NOMEM;
    if (!code)
        code = history->snapshot ? tfy__snapshot_restore(loop, run, history, error_text)
                                 : begin_from_history(loop, run, history, error_text);
    if (!code) code = take_grants(run, history);
    if (!code) code = tfy__ceiling_check(run, error_text);
    if (code < 0) { /* nothing waits for it */
        run->ended = true;
        loop->runs_live--;
    }
    return code;
}

/* A signal for a run whose root has finished: other tasks may wait for it. */
static bool take_late_signal(TaskRest *root)
{
    const TfyLogRecord *record = tfy__history_peek(root);
    if (!tfy__record_is_run_signal(record)) return false;
    tfy__history_take(root);
    tfy__signal_recorded(root->run, record);
    return true;
}

/* Lets the owner of the cursor's record continue: with its step, with its next slice, or with input from outside
 * while it waits for its children. False: it does not reach that record. */
static bool advance_owner(Run *run)
{
    const TfyHistory *history = run->history;
    uint32_t before = run->cursor;
    TaskRest *owner = tfy__task_by_tid(run->loop, history->tasks[history->record_tasks[before]].tid);
    if (!owner || owner->next_record != before) return false;
    if (!owner->task) return take_late_signal(owner);
    TfyTask *task = owner->task;
    if (task->state & T_QUEUED) {
        LIST2_REMOVE(&run->turns, owner, turn_prev, turn_next);
        tfy__sched_run_task(run->loop, task);
        return true;
    }
    Step *step = owner->step;
    if (step)
        tfy__step_advance(step);
    else
        tfy__history_async(task);
    return run->cursor != before || owner->step != step;
}

/* Replays the whole history, without the outside world. False: a task does not reach its next record. */
static bool replay_turns(TfyLoop *loop, Run *run)
{
    const size_t block_limit = loop->heap.block_limit;
    bool ok = true;
    loop->heap.block_limit = (size_t)run->max_memory; /* a block that was refused then is refused now */
    while (ok && run->cursor < run->history->record_count && !tfy__loop_starved(loop) && !loop->stepped_away) {
        ok = advance_owner(run) && !run->difference;
        if (loop->out.first) tfy__out_flush(loop); /* a replay's ghosts */
    }
    loop->heap.block_limit = block_limit;
    if (!ok) return false;
    if (!tfy__loop_starved(loop) && !loop->replay_only) history_finished(run);
    return true;
}

static void say_stuck(Run *run)
{
    const TfyLogRecord *record = &run->history->records[run->cursor];
    const TfyLogTask *owner = &run->history->tasks[run->history->record_tasks[run->cursor]];
    TaskRest *rest = tfy__task_by_tid(run->loop, owner->tid);
    if (rest)
        tfy__history_diverge(rest, record,
                             rest->end_state ? "the task has ended"
                             : rest->step    ? "it waits for something else"
                                             : "it does not reach it");
    else
        tfy__history_diverge(run->root, record, "there is no task %s", owner->path);
}

/* A run that is resumed twice would repeat its effects. */
static bool lives_here(const TfyLoop *loop, const TfyHistory *history)
{
    return tfy__run_by_uuid(loop, history->run.uuid);
}

/* Why a history cannot be resumed here: a sentence and a code. 0: it can. */
static int refuse_history(const TfyLoop *loop, const TfyHistory *history, char *error_text)
{
    char uuid[37];
    tfy__uuid_text(history->run.uuid, uuid);
    if (lives_here(loop, history)) {
        snprintf(error_text, TFY_ERROR_TEXT, "run %s is already running in this process", uuid);
        return TFY_E_STATE;
    }
    if (history->run.state >= TFY_TASK_COMPLETED) {
        snprintf(error_text, TFY_ERROR_TEXT,
                 "run %s has ended: there is nothing to resume; 'tfy replay' shows it again", uuid);
        return TFY_E_STATE;
    }
    if (tfy__loaded_of(loop, history)) return 0;
    snprintf(error_text, TFY_ERROR_TEXT,
             "run %s was started with another version of the program; 'tfy resume %s' continues it with its own code",
             uuid, uuid);
    return TFY_E_STATE;
}

static int resume_history(TfyLoop *loop, TfyHistory *history, char *error_text);

/* The program cannot even begin with it, for the reason in error_text. Returns the code of that, or TFY_E_DIVERGED where such
 * a run is set aside; then it has left memory. */
static int refuse_run(Run *run, int code, char *error_text)
{
    TfyLoop *loop = run->loop;
    if (!loop->on_diverged || (code != TFY_E_DATA && code != TFY_E_ABSENT)) return code;
    tfy__park_resumed(run); /* else it would be due again at once */
    run->difference = strdup(error_text);
    if (run->difference) return tfy__diverged_add(run, error_text);
    tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to set a run aside");
    return TFY_E_NOMEM;
}

/* Its snapshot could not be restored. Nothing is lost by that, since all records before it are there; unless the
 * run was compacted, which happens only after its own program was seen to restore the snapshot. */
static int resume_from_start(TfyLoop *loop, Run *run, char *error_text)
{
    TfyHistory *history;
    char which[24], why[TFY_ERROR_TEXT];
    if (run->log.base_lsn) {
        snprintf(why, sizeof why, "%s", error_text);
        snprintf(
            error_text, TFY_ERROR_TEXT,
            "%.300s, and the records before it were dropped: continue with the program that wrote it, 'tfy resume %s'",
            why, run->uuid);
        const int code = refuse_run(run, TFY_E_DATA, error_text);
        if (code == TFY_E_DATA) tfy__run_discard(loop, run);
        return code;
    }
    snprintf(which, sizeof which, "%lld", (long long)run->log.id);
    tfy__run_discard(loop, run);
    int code = tfy__history_read(loop->log, which, &history, error_text);
    return code < 0 ? code : resume_history(loop, history, error_text);
}

/* Takes ownership of the history in every case. */
static int resume_history(TfyLoop *loop, TfyHistory *history, char *error_text)
{
    Run *run = NULL;
    tfy__loop_clock(loop);
    bool whole = !history->snapshot;
    int code = attach_run(loop, tfy__loaded_of(loop, history), history, true, &run, error_text);
    if (code < 0 && !run) tfy__history_free(history);
    if (code == TFY_E_DATA && !whole) return resume_from_start(loop, run, error_text);
    if (code < 0) return run ? refuse_run(run, code, error_text) : code;
    tfy__park_resumed(run);
    if (loop->claim && !loop->options.hub->claims->note(run)) return loop->failure;
    if (!replay_turns(loop, run) && !tfy__loop_starved(loop)) say_stuck(run);
    if (!loop->failure && run->difference) return tfy__diverged_add(run, error_text);
    tfy__diverged_drop(loop, run->uuid);
    if (!loop->failure && !run->ended) code = tfy__ceiling_resume(run);
    if (code < 0) return code;
    if (tfy__loop_starved(loop)) snprintf(error_text, TFY_ERROR_TEXT, "%.500s", loop->failure_text);
    return loop->failure;
}

int tfy__resume(TfyLoop *loop, const char *which, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    if (!error_text) error_text = scratch;
    *error_text = '\0';
    TfyHistory *history;
    int code = tfy__history_read_tail(loop->log, which, &history, error_text);
    if (code < 0) return tfy__explained(code, error_text);
    code = refuse_history(loop, history, error_text);
    if (code == 0) code = tfy__root_take(tfy__loaded_of(loop, history), history, error_text);
    if (code != 0) tfy__history_free(history);
    /* including the move */
    if (code > 0)
        code = tfy__history_read_tail(loop->log, which, &history, error_text);
    else if (code < 0)
        return tfy__explained(code, error_text);
    if (code == 0) code = resume_history(loop, history, error_text);
    return tfy__explained(code, error_text);
}

/* Leaves runs of other programs to those, and runs that work elsewhere to processes there. */
static int resume_ours(TfyLoop *loop, TfyHistory *history, char *error_text)
{
    const Loaded *loaded = tfy__loaded_of(loop, history);
    const bool ours = loaded && !lives_here(loop, history);
    if (ours && tfy__root_serves(loaded, &history->root)) {
        const int code = resume_history(loop, history, error_text);
        return code == TFY_E_DIVERGED && loop->on_diverged ? 0 : code;
    }
    loop->left_elsewhere += ours;
    tfy__history_free(history);
    return 0;
}

/* Resumes the first of so many runs. Returns the number of those, or a negative code. */
static int resume_some(TfyLoop *loop, const int64_t *ids, uint32_t count, char *error_text)
{
    TfyHistory *histories[READ_AT_ONCE];
    const int done =
        tfy__history_read_tails(loop->log, ids, count < READ_AT_ONCE ? count : READ_AT_ONCE, histories, error_text);
    int code = 0;
    for (int i = 0; i < done; i++) {
        if (code < 0)
            tfy__history_free(histories[i]);
        else
            code = resume_ours(loop, histories[i], error_text);
    }
    return code < 0 ? code : done;
}

int tfy__resume_all(TfyLoop *loop, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    int64_t *ids;
    uint32_t count, done = 0;
    if (!error_text) error_text = scratch;
    *error_text = '\0';
    int code = tfy__log_unfinished(loop->log, &ids, &count);
    while (code >= 0 && done < count) {
        code = resume_some(loop, ids + done, count - done, error_text);
        done += code > 0 ? (uint32_t)code : 0;
    }
    if (code >= 0 || count) free(ids);
    return tfy__explained(code < 0 ? code : tfy__park_open(loop), error_text);
}

int tfy_resume(TfyLoop *loop, const char *run, int64_t *tid, char *error_text)
{
    if (tid) *tid = 0;
    int code = tfy__resume(loop, run, error_text);
    if (code >= 0 && tid && loop->runs.last && loop->runs.last->root) *tid = loop->runs.last->root->log.tid;
    return code;
}

int tfy_resume_all(TfyLoop *loop, char *error_text)
{
    return tfy__resume_all(loop, error_text);
}

/* ---- replay ---- */

static void report_end(TfyLoop *loop, Run *run, TfyReplayReport *report)
{
    if (loop->failure == TFY_E_DIVERGED) {
        snprintf(report->text, sizeof report->text, "%s", loop->failure_text);
        report->divergences = 1;
    } else {
        report->finished = run->ended;
        snprintf(report->text, sizeof report->text, "%lld records compared, 0 divergences, 0 effects performed%s",
                 (long long)report->steps, run->ended ? "" : "; the run has not ended");
    }
}

static int replay(const TfyProgram *program, TfyHistory *history, const TfyOptions *options,
                  const TfyStepping *stepping, TfyRunCheck *check, void *state, TfyReplayReport *report)
{
    *report = (TfyReplayReport){0};
    TfyLoop *loop = NULL;
    char error_text[TFY_ERROR_TEXT] = "";
    int code = tfy__loop_open_replay(&loop, program, options, error_text);
    if (code < 0) return code;
    loop->report = report;
    if (stepping) tfy__debug_begin(loop, stepping);
    Run *run = NULL;
    code = attach_run(loop, loop->programs.first, history, false, &run, error_text);
    if (code >= 0 && !replay_turns(loop, run) && !loop->failure) say_stuck(run);
    if (code == TFY_E_DIVERGED && !loop->failure) tfy__loop_fail(loop, TFY_E_DIVERGED, "%s", error_text);
    if (run) report_end(loop, run, report);
    if (code < 0 && !loop->failure) snprintf(report->text, sizeof report->text, "%s", error_text);
    if (run) tfy__debug_end(run);
    if (loop->failure) code = loop->failure;
    if (code >= 0 && check) code = check(run, state);
    if (run) run->history = NULL; /* the caller owns it */
    tfy_close(loop);
    return code;
}

int tfy__replay_steps(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                      const TfyStepping *stepping, TfyReplayReport *report)
{
    return replay(program, (TfyHistory *)history, options, stepping, NULL, NULL, report);
}

int tfy__replay_checked(const TfyProgram *program, TfyHistory *history, const TfyOptions *options, TfyRunCheck *check,
                        void *state, TfyReplayReport *report)
{
    return replay(program, history, options, NULL, check, state, report);
}

int tfy__replay(const TfyProgram *program, const TfyHistory *history, const TfyOptions *options,
                TfyReplayReport *report)
{
    return tfy__replay_steps(program, history, options, NULL, report);
}

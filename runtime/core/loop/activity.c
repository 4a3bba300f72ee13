/* activity.c: live events and log lines: what the loop reports about runs, tasks, steps and effects while they
 * happen.
 *
 * Both leave through the queue of output.c, once everything appended so far is synced. While a run replays its
 * history before it goes live, nothing is reported: it was reported when it happened. A replay that performs
 * nothing reports it again, if there is a listener, and marks each event as a ghost, with the time of its own
 * record, or of the one before. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"

#define PAL_EVENTS   4096u
#define PAL_BYTES    ((size_t)4 << 20)
#define SNAPSHOT_MAX 1000 /* the most live tasks whose state a new subscriber receives */

/* in log lines; its live event is a second Completed of the root task */
#define RUN_ENDS "RunCompleted"

/* ---- what is reported, and at which level ---- */

typedef struct Loudness {
    const char *stage;
    TfyLevel level;
    TfyTarget target;
} Loudness;

static Loudness loudness_of(const TaskRest *rest, const char *stage)
{
    static const Loudness table[] = {
        {"ReceivedInstruction", TFY_LEVEL_INFO, TFY_TARGET_RUN},
        {RUN_ENDS, TFY_LEVEL_INFO, TFY_TARGET_RUN},
        {"Completed", TFY_LEVEL_DEBUG, TFY_TARGET_TASK},
        {"TaskStep", TFY_LEVEL_TRACE, TFY_TARGET_STEP},
        {"Idle", TFY_LEVEL_TRACE, TFY_TARGET_STEP},
        {"AwaitingUserApproval", TFY_LEVEL_INFO, TFY_TARGET_STEP},
        {"ToolExecutionStart", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
        {"ToolExecutionComplete", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
        {"SecretUsed", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
        {"WaitingForLLM", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
        {"PreviewingPatch", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
        {"CommittingPatch", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
        {"Tokens", TFY_LEVEL_DEBUG, TFY_TARGET_EFFECT},
    };
    bool root = rest == rest->run->root;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(stage, table[i].stage) == 0) return table[i];
    if (strcmp(stage, "TaskFailure") == 0)
        return root ? (Loudness){stage, TFY_LEVEL_ERROR, TFY_TARGET_RUN}
                    : (Loudness){stage, TFY_LEVEL_WARN, TFY_TARGET_TASK};
    return (Loudness){stage, TFY_LEVEL_DEBUG, TFY_TARGET_STEP}; /* the program's own stages */
}

int tfy__activity_init(TfyLoop *loop, char *error_text)
{
    const TfyOptions *options = &loop->options;
    bool all = options->log_json || options->log_level;
    memset(loop->lines.level, all ? TFY_LEVEL_INFO : TFY_LEVEL_OFF, sizeof loop->lines.level);
    loop->lines.level[TFY_TARGET_PROGRAM] = TFY_LEVEL_INFO;
    if (options->log_level && !tfy__line_filter(&loop->lines, options->log_level, error_text)) return TFY_E_INVALID;
    for (int i = TFY_TARGET_PROGRAM + 1; i < TFY_TARGET_COUNT; i++) loop->tells |= loop->lines.level[i] > 0;
    loop->tells |= options->on_event != NULL;
    return 0;
}

/* ---- log lines ---- */

static void push_line(TfyLoop *loop, const TfyLine *line)
{
    TfyBuffer out = {0};
    if (loop->options.log_json)
        tfy__line_json(&out, line);
    else
        tfy__line_text(&out, line);
    if (!out.failed) tfy__out_push(loop, OUT_STDERR, tfy__out_ticket(loop), out.data, out.len);
    tfy__buffer_free(&out);
}

/* The place of a task: the workflow on top, and the line of a point. */
static void set_place(TfyLine *line, const TaskRest *rest, const TfyPoint *point)
{
    const TfyTask *task = rest->task; /* NULL: it has finished */
    line->run = rest->run->uuid;
    line->task = rest->log.path;
    bool ended = !task || task->top == TFY_NO_FRAME;
    line->workflow = (ended ? rest->workflow : frame_at(task, task->top)->workflow)->name;
    line->line = point ? point->line : 0;
    line->file = point ? tfy__line_file(program_of(rest->run), &line->line) : NULL;
}

void tfy__line_say(TfyTask *task, const TfyPoint *point, const char *level_name, const char *text, size_t len)
{
    TfyLoop *loop = task->loop;
    TfyLevel level = tfy__line_level(level_name, strlen(level_name));
    if (level == TFY_LEVEL_COUNT || level == TFY_LEVEL_OFF) level = TFY_LEVEL_INFO; /* a name of the program's own */
    if (!tfy__line_wanted(&loop->lines, level, TFY_TARGET_PROGRAM)) return;
    TfyLine line = {.ts_ms = loop->now_ms,
                    .level = level,
                    .level_name = level_name,
                    .target = TFY_TARGET_PROGRAM,
                    .message = text,
                    .message_len = len,
                    .step = rest_of(task)->log.step};
    set_place(&line, rest_of(task), point);
    push_line(loop, &line);
}

void tfy__line_report(TfyLoop *loop, const char *text, size_t len)
{
    TfyLine line = {.ts_ms = loop->now_ms, .level = TFY_LEVEL_WARN, .target = TFY_TARGET_RUN, .message = text};
    line.message_len = len && text[len - 1] == '\n' ? len - 1 : len;
    push_line(loop, &line);
}

/* The line that accompanies an event. */
static void tell_line(const TaskRest *rest, const TfyPoint *point, const char *stage, const TfyBuffer *message)
{
    TfyLoop *loop = rest->run->loop;
    Loudness loud = loudness_of(rest, stage);
    if (!tfy__line_wanted(&loop->lines, loud.level, loud.target)) return;
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "%s: %s", stage, message->data ? message->data : "");
    TfyLine line = {.ts_ms = loop->now_ms, .level = loud.level, .target = loud.target, .stage = stage};
    line.message = text.data ? text.data : "";
    line.message_len = text.len;
    set_place(&line, rest, point);
    if (loud.target == TFY_TARGET_RUN) line.task = NULL;
    if (loud.target >= TFY_TARGET_STEP) line.step = rest->step ? rest->step->call.step : rest->log.step;
    if (loud.target == TFY_TARGET_EFFECT) line.attempt = rest->step ? rest->step->call.attempt : 1;
    push_line(loop, &line);
    tfy__buffer_free(&text);
}

/* ---- live events ---- */

/* Steps are told one by one, so what is told is put together without formats. */
static void add_name(TfyBuffer *out, const char *name)
{
    tfy__buffer_text(out, ",\"");
    tfy__buffer_text(out, name);
    tfy__buffer_text(out, "\":");
}

static void add_int(TfyBuffer *out, const char *name, int64_t value)
{
    add_name(out, name);
    tfy__buffer_int(out, value);
}

static void add_string(TfyBuffer *out, const char *name, const char *text)
{
    add_name(out, name);
    tfy__buffer_json_string(out, text, strlen(text));
}

static void add_place(TfyBuffer *out, const TaskRest *rest, const TfyPoint *point)
{
    TfyLine place = {0};
    set_place(&place, rest, point);
    add_string(out, "workflow", place.workflow);
    if (place.file) add_string(out, "file", place.file);
    if (place.line) add_int(out, "line", place.line);
    add_int(out, "step", rest->log.step);
}

/* more: name and text of a further member, without a text `true`; NULL: none. */
static void tell_event(const TaskRest *rest, const TfyPoint *point, const char *stage, const TfyBuffer *message,
                       const char *more, const char *text)
{
    TfyLoop *loop = rest->run->loop;
    TfyBuffer out = {0};
    TfyPalEvent event = {0};
    uint64_t seq = ++loop->events;
    tfy__buffer_text(&out, "{\"seq\":");
    tfy__buffer_int(&out, (int64_t)seq);
    tfy__buffer_text(&out, ",\"ts\":\"");
    tfy__write_time(&out, loop->now_ms);
    tfy__buffer_text(&out, "\",\"task_id\":\"");
    event.task_at = (uint32_t)out.len;
    tfy__buffer_text(&out, rest->run->uuid);
    tfy__buffer_char(&out, '/');
    tfy__buffer_text(&out, rest->log.path);
    event.task_len = (uint32_t)out.len - event.task_at;
    tfy__buffer_text(&out, "\",\"stage\":");
    tfy__buffer_json_string(&out, stage, strlen(stage));
    tfy__buffer_text(&out, ",\"message\":");
    tfy__buffer_json_string(&out, message->data ? message->data : "", message->len);
    add_place(&out, rest, point);
    if (text) add_string(&out, more, text);
    if (more && !text) add_name(&out, more);
    if (more && !text) tfy__buffer_text(&out, "true");
    if (loop->replay_only) tfy__buffer_text(&out, ",\"ghost\":true");
    tfy__buffer_char(&out, '}');
    event.len = (uint32_t)out.len;
    if (!out.failed) tfy__out_push_event(loop, out.data, seq, &event);
    tfy__buffer_free(&out);
}

static bool nobody_listens(const Run *run)
{
    const TfyLoop *loop = run->loop;
    return !loop->tells || (run->history && !loop->replay_only);
}

static void tell(const TaskRest *rest, const TfyPoint *point, const char *stage, const TfyBuffer *message)
{
    const TfyLoop *loop = rest->run->loop;
    if (loop->options.on_event || loop->pal) tell_event(rest, point, stage, message, NULL, NULL);
    tell_line(rest, point, stage, message);
    if (rest->task) tfy__out_charge(rest->task, 2);
}

void tfy__activity_say(TfyTask *task, const TfyPoint *point, const char *stage, const char *level, const char *text,
                       size_t len)
{
    const TfyLoop *loop = task->loop;
    const TaskRest *rest = rest_of(task);
    if (nobody_listens(rest->run)) return;
    TfyBuffer message = {0};
    tfy__buffer_add(&message, text, len);
    if (!level)
        tell(rest, point, stage, &message);
    else if (loop->options.on_event || loop->pal) /* its line was written before */
        tell_event(rest, point, stage, &message, "level", level);
    tfy__buffer_free(&message);
}

void tfy__activity(TfyTask *task, const char *stage, const char *format, ...)
{
    const TaskRest *rest = rest_of(task);
    if (nobody_listens(rest->run)) return;
    TfyBuffer message = {0};
    va_list args;
    va_start(args, format);
    tfy__buffer_vprintf(&message, format, args);
    va_end(args);
    tell(rest, rest->step ? rest->step->call.site->point : NULL, stage, &message);
    tfy__buffer_free(&message);
}

/* Pieces are told ten times a second. The ends of answers may come ten times in a row. */
static bool may_say(TaskRest *rest, TfySays kind)
{
    enum { EACH_MS = 100, AHEAD_MS = 1000 - EACH_MS };
    const uint32_t now_ms = (uint32_t)(tfy__now_ns(rest->run->loop) / 1000000);
    const int32_t ahead = (int32_t)(rest->says_ms - now_ms), most = kind == TFY_SAYS_LAST ? AHEAD_MS : 0;
    if (ahead > most && ahead <= AHEAD_MS + EACH_MS) return false;
    rest->says_ms = (ahead > 0 && ahead <= most ? rest->says_ms : now_ms) + EACH_MS;
    return true;
}

bool tfy__activity_says(TfyTask *task, TfySays kind, const char *text, size_t len)
{
    const TfyLoop *loop = task->loop;
    TaskRest *rest = rest_of(task);
    const bool is_void = kind == TFY_SAYS_VOID;
    if (nobody_listens(rest->run) || !(loop->options.on_event || loop->pal)) return true;
    if (!is_void && !may_say(rest, kind)) return false;
    TfyBuffer message = {0};
    tfy__buffer_add(&message, text, len);
    tell_event(rest, rest->step ? rest->step->call.site->point : NULL, "Says", &message, is_void ? "void" : NULL, NULL);
    tfy__buffer_free(&message);
    return true;
}

void tfy__activity_run_ended(const Run *run)
{
    const TfyLoop *loop = run->loop;
    const char *how = run->log.state == TFY_TASK_COMPLETED   ? "completed"
                      : run->log.state == TFY_TASK_CANCELLED ? "cancelled"
                                                             : "failed";
    if (nobody_listens(run)) return;
    TfyBuffer message = {0};
    tfy__buffer_printf(&message, "run %s", how);
    if (loop->options.on_event || loop->pal) tell_event(run->root, NULL, "Completed", &message, "run", how);
    tell_line(run->root, NULL, RUN_ENDS, &message);
    tfy__buffer_free(&message);
}

/* ---- subscribers ---- */

int tfy__pal_open(TfyLoop *loop, void (*published)(void *state), void *state)
{
    loop->pal = calloc(1, sizeof *loop->pal);
    if (!loop->pal || !tfy__pal_init(loop->pal, PAL_EVENTS, PAL_BYTES)) {
        free(loop->pal);
        loop->pal = NULL;
        return TFY_E_NOMEM;
    }
    loop->pal->first = loop->pal->next = loop->events + 1;
    loop->published = published;
    loop->published_state = state;
    loop->tells = true;
    return 0;
}

void tfy__pal_close(TfyLoop *loop)
{
    if (loop->pal) tfy__pal_deinit(loop->pal);
    free(loop->pal);
    loop->pal = NULL;
    loop->published = NULL;
}

TfyPal *tfy__pal(TfyLoop *loop)
{
    return loop->pal;
}

const char *tfy__state_name(TfyTaskState state)
{
    static const char *const names[] = {
        [TFY_TASK_CREATED] = "created",
        [TFY_TASK_READY] = "ready",
        [TFY_TASK_RUNNING] = "running",
        [TFY_TASK_SLEEPING] = "waiting(sleep)",
        [TFY_TASK_WAITING_IO] = "waiting(io)",
        [TFY_TASK_JOINING] = "waiting(join)",
        [TFY_TASK_WAITING_EFFECT] = "waiting(effect)",
        [TFY_TASK_WAITING_APPROVAL] = "waiting(approval)",
        [TFY_TASK_WAITING_SIGNAL] = "waiting(signal)",
        [TFY_TASK_WAITING_CHANNEL] = "waiting(channel)",
        [TFY_TASK_WAITING_LOCK] = "waiting(lock)",
        [TFY_TASK_COMPLETED] = "completed",
        [TFY_TASK_FAILED] = "failed",
        [TFY_TASK_CANCELLED] = "cancelled",
    };
    return state < sizeof names / sizeof *names && names[state] ? names[state] : "?";
}

static void snapshot_task(TfyLoop *loop, const TaskRest *rest, TfyBuffer *out)
{
    const Step *step = rest->step;
    tfy__buffer_printf(out, "{\"live\":true,\"ts\":\"");
    tfy__write_time(out, loop->now_ms);
    tfy__buffer_printf(out, "\",\"task_id\":\"%s/%s\",\"state\":\"%s\",\"message\":", rest->run->uuid, rest->log.path,
                       tfy__state_name(state_of(rest->task)));
    const char *tool = step && !step->backoff_only ? step->call.tool->name : "";
    tfy__buffer_json_string(out, tool, strlen(tool));
    add_place(out, rest, step ? step->call.site->point : NULL);
    tfy__buffer_text(out, ",\"started\":\"");
    tfy__write_time(out, rest->run->log.started_ms);
    tfy__buffer_text(out, "\"}\n");
}

/* Unfolds as many tasks as are shown, and no more however often a subscriber comes. False: the loop has failed. */
static bool unfold_enough(Run *run)
{
    uint32_t at_hand = 0;
    for (const TaskRest *rest = run->tasks; rest && at_hand < SNAPSHOT_MAX; rest = rest->next_in_run)
        at_hand += rest->task != NULL;
    return tfy__unfold_run(run, SNAPSHOT_MAX - at_hand);
}

int tfy__pal_subscribe(TfyLoop *loop, const char *run_name, const char *task, char filter[TFY_PAL_FILTER],
                       TfyBuffer *snapshot, TfyTicket *ticket, char *error_text)
{
    Run *run = run_name ? tfy__run_named(loop, run_name) : NULL;
    filter[0] = '\0';
    if (run_name && !run) {
        snprintf(error_text, TFY_ERROR_TEXT, "no run '%s' is live here", run_name);
        return TFY_E_ABSENT;
    }
    if (run) snprintf(filter, TFY_PAL_FILTER, "%s%s%s", run->uuid, task ? "/" : "", task ? task : "");
    int told = 0;
    for (Run *each = loop->runs.first; each; each = each->next) {
        if (each->ended || (run && each != run)) continue;
        if (task) tfy__task_by_path(each, task); /* unfolds it: only a few tasks are requested */
        if (!unfold_enough(each)) return TFY_E_NOMEM;
        for (const TaskRest *rest = each->tasks; rest && told < SNAPSHOT_MAX; rest = rest->next_in_run) {
            char id[TFY_PAL_FILTER];
            int len = snprintf(id, sizeof id, "%s/%s", each->uuid, rest->log.path);
            if (!rest->task || rest->end_state || !tfy__pal_matches(filter, id, (size_t)len)) continue;
            snapshot_task(loop, rest, snapshot);
            told++;
        }
    }
    *ticket = tfy__out_ticket(loop);
    tfy__out_push(loop, OUT_NUDGE, *ticket, "", 0);
    return snapshot->failed ? TFY_E_NOMEM : 0;
}

/* How much a state says to a person who waits. */
static int telling(const Step *step, TfyTaskState state)
{
    if (state == TFY_TASK_WAITING_EFFECT) return step && step->in_call ? 6 : 2;
    return state == TFY_TASK_WAITING_APPROVAL  ? 5
           : state == TFY_TASK_WAITING_SIGNAL  ? 4
           : state == TFY_TASK_SLEEPING        ? 3
           : state == TFY_TASK_WAITING_CHANNEL ? 2
           : state == TFY_TASK_WAITING_LOCK    ? 2
           : state == TFY_TASK_WAITING_IO      ? 2
           : state == TFY_TASK_JOINING         ? 0
                                               : 1;
}

static void describe(const TaskRest *rest, TfyDoing *doing)
{
    const Step *step = rest->step;
    TfyLine place = {0};
    set_place(&place, rest, step ? step->call.site->point : NULL);
    doing->state = state_of(rest->task);
    doing->tool = step && !step->backoff_only ? step->call.tool->name : "";
    doing->path = rest->log.path;
    doing->step = rest->log.step;
    doing->file = place.file;
    doing->line = place.line;
    doing->since_ns = step && step->in_call ? step->begun_ns : 0;
}

bool tfy__doing(TfyLoop *loop, TfyDoing *doing)
{
    int most = -1;
    *doing = (TfyDoing){.tool = "", .path = ""};
    for (const Run *run = loop->runs.first; run; run = run->next) {
        if (run->ended) continue;
        for (const TaskRest *rest = run->tasks; rest && doing->tasks < TFY_DOING_MOST; rest = rest->next_in_run) {
            if (!rest->task || rest->end_state) continue;
            doing->tasks++;
            const int tells = telling(rest->step, state_of(rest->task));
            if (tells < most) continue;
            most = tells; /* of equals the oldest, which comes last */
            describe(rest, doing);
        }
    }
    return most >= 0;
}

/* ---- metrics ---- */

void tfy__count_call(const Step *step, bool failed, bool timeout)
{
    TfyLoop *loop = step->call.loop;
    double seconds = (double)(loop->now_ns - step->begun_ns) / 1e9;
    tfy__metrics_call(&loop->metrics, step->call.tool->name, seconds, failed, timeout);
}

void tfy__count_end(uint64_t counts[TFY_ENDED_COUNT], TfyTaskState state)
{
    counts[state == TFY_TASK_COMPLETED   ? TFY_ENDED_COMPLETED
           : state == TFY_TASK_CANCELLED ? TFY_ENDED_CANCELLED
                                         : TFY_ENDED_FAILED]++;
}

void tfy__count_repeat(TfyLoop *loop)
{
    loop->metrics.model_repeats++;
}

void tfy__count_answer(TfyLoop *loop, const char *model, const int64_t tokens[3], int64_t cost)
{
    tfy__metrics_answer(&loop->metrics, model, tokens, cost);
}

static void read_gauges(const TfyLoop *loop, TfyMetrics *metrics)
{
    metrics->live = true;
    metrics->runs_live = loop->runs_live;
    for (const Run *run = loop->runs.first; run; run = run->next) metrics->tasks_live += run->ended ? 0 : run->live;
    metrics->tasks_ready = loop->ring_tail - loop->ring_head + loop->policy_count;
    metrics->timers = loop->timers.count;
    metrics->calls_in_flight = loop->in_flight;
    metrics->heap_bytes = loop->heap.in_use;
    metrics->start_time = (double)loop->opened_ms / 1000;
    metrics->events = loop->events;
    if (loop->log) metrics->unsynced = (uint64_t)(tfy__log_last(loop->log) - tfy__log_durable(loop->log));
    if (!loop->pal) return;
    metrics->events_missed = loop->pal->lost;
    metrics->subscribers = loop->pal->subscribers;
}

void tfy__metrics_text(TfyLoop *loop, TfyBuffer *out, TfyTicket *ticket)
{
    TfyMetrics now = loop->metrics; /* the loop keeps the rows of tools */
    now.runs_started = now.records[TFY_R_INSTRUCTION_START];
    now.tasks_started = now.runs_started + now.records[TFY_R_TASK_SPAWN];
    read_gauges(loop, &now);
    tfy__metrics_print(&now, out);
    *ticket = tfy__out_ticket(loop);
    tfy__out_push(loop, OUT_NUDGE, *ticket, "", 0);
}

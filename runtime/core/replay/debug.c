/* debug.c: stops at records, and describes the run there. */
#include <stdlib.h>

#include "core/loop/state.h"

struct TfyStop {
    Run *run;
    TaskRest *rest;             /* the record's owner; at the end and at a difference the root */
    const TfyLogRecord *record; /* NULL: the end, or a difference */
    uint32_t index;
    const char *difference;
};

uint32_t tfy__stop_record(const TfyStop *stop)
{
    return stop->index;
}

const char *tfy__stop_difference(const TfyStop *stop)
{
    return stop->difference;
}

/* ---- stopping ---- */

/* Records that were taken already (a task may be ahead of the others) are not stopped at any more. */
static void set_next(Run *run, uint32_t wanted)
{
    TfyLoop *loop = run->loop;
    loop->stepped_away = wanted == TFY_STEP_AWAY;
    while (!loop->stepped_away && wanted < run->history->record_count && run->taken[wanted]) wanted++;
    loop->stop_at = wanted;
}

void tfy__debug_begin(TfyLoop *loop, const TfyStepping *stepping)
{
    loop->stepping = stepping;
    loop->stop_at = stepping->first;
}

void tfy__debug_stop(TaskRest *rest, uint32_t index)
{
    const TfyLoop *loop = rest->run->loop;
    if (index != loop->stop_at || loop->stepped_away) return;
    const TfyStop stop = {
        .run = rest->run, .rest = rest, .record = &rest->run->history->records[index], .index = index};
    const uint32_t next = loop->stepping->stop(loop->stepping->state, &stop);
    set_next(rest->run, next > index ? next : index + 1);
}

void tfy__debug_end(Run *run)
{
    const TfyLoop *loop = run->loop;
    if (!loop->stepping || loop->stepped_away || !run->root) return;
    const bool differs = loop->failure != 0;
    if (!differs && loop->stop_at < run->history->record_count) return;
    const TfyStop stop = {.run = run,
                          .rest = run->root,
                          .index = differs ? run->cursor : run->history->record_count,
                          .difference = differs ? loop->failure_text : NULL};
    loop->stepping->stop(loop->stepping->state, &stop);
}

/* ---- the place of a task ---- */

/* The point that a frame is at. `top` is what is known of the innermost frame of a running task: its code is under
 * way. */
static const TfyPoint *point_of_frame(const TfyFrame *frame)
{
    return frame->pc ? frame->workflow->resume[frame->pc - 1] : NULL;
}

/* How much is known of a task's innermost frame. */
typedef enum Standing {
    STANDS, /* at the point of its pc, or before its first statement */
    /* its code runs and is at a mark, whose variables the program may know */
    AT_MARK,
    RUNS,     /* its code runs */
    RETURNED, /* it has finished and waits for its children */
    ENTERED,  /* it is being called: its parameters are not set yet */
} Standing;

static Standing standing_of(const TfyStop *stop, const TaskRest *rest)
{
    const TfyTask *task = rest->task;
    const TfyFrame *top = frame_at(task, task->top);
    if (task->state & T_RETURNING || top->flags & FRAME_UNDOING) return RETURNED;
    if (state_of(task) != TFY_TASK_RUNNING || rest->step) return STANDS;
    if (rest != stop->rest || !stop->record) return RUNS; /* halted on its way */
    const TfyPoint *point = tfy__point_of(program_of(rest->run), stop->record->point);
    if (point && point->kind == TFY_POINT_MARK) return AT_MARK;
    if (point && point->kind == TFY_POINT_CALL && !top->pc) return ENTERED;
    if (stop->record->type == TFY_R_TASK_CANCEL || (point && point == point_of_frame(top))) return STANDS;
    return RUNS;
}

/* ---- frames ---- */

/* A slot that no object has reached yet, or that its object has left, is empty. */
static bool is_there(const TfyType *type, TfyValue value)
{
    return type->scalar || value.o || type->kind == TFY_OPTIONAL || type->kind == TFY_NOTHING;
}

/* Readers of JSON would fail on a value that nests too deep. */
static void add_encoded(TfyBuffer *out, TfyBuffer *text)
{
    if (text->failed || text->depth > TFY_JSON_DEPTH)
        tfy__buffer_text(out, "\"(too large to be shown)\"");
    else
        tfy__buffer_add(out, text->data, text->len);
    tfy__buffer_free(text);
}

static void add_value(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    TfyBuffer text = {0};
    tfy__encode(&text, type, value);
    add_encoded(out, &text);
}

static void add_local(TfyBuffer *out, const char **comma, const char *name, const TfyType *type, TfyValue value)
{
    if (!name || !is_there(type, value)) return;
    tfy__buffer_printf(out, "%s{\"name\":", *comma);
    tfy__buffer_json_string(out, name, strlen(name));
    tfy__buffer_text(out, ",\"type\":");
    tfy__buffer_json_string(out, type->name, strlen(type->name));
    tfy__buffer_text(out, ",\"value\":");
    add_value(out, type, value);
    tfy__buffer_char(out, '}');
    *comma = ",";
}

/* point NULL: the frame has not started, and holds its parameters. */
static void add_locals(TfyBuffer *out, const TfyFrame *frame, const TfyPoint *point)
{
    const TfyValue *slots = (const TfyValue *)(frame + 1);
    const TfyWorkflow *workflow = frame->workflow;
    const char *comma = "";
    tfy__buffer_text(out, ",\"locals\":[");
    for (uint32_t i = 0; !point && i < workflow->param_count; i++)
        add_local(out, &comma, workflow->params[i].name, workflow->params[i].type, slots[i]);
    for (uint32_t i = 0; point && i < point->live_count; i++)
        add_local(out, &comma, point->live[i].name, point->live[i].type, slots[point->live[i].slot]);
    tfy__buffer_char(out, ']');
}

static void add_string(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    tfy__buffer_json_string(out, text, strlen(text));
}

/* Lines are counted over all files, and the source is stored in that order. */
static void add_source(TfyBuffer *out, const char *at, uint32_t line)
{
    while (at && --line) {
        at = strchr(at, '\n');
        if (at) at++;
    }
    if (!at) return;
    at += strspn(at, " \t");
    tfy__buffer_text(out, ",\"source\":");
    tfy__buffer_json_string(out, at, strcspn(at, "\n"));
}

static void add_line(TfyBuffer *out, const TfyProgram *program, uint32_t line)
{
    const char *file = tfy__line_file(program, &line);
    if (file) add_string(out, "file", file);
    tfy__buffer_printf(out, ",\"line\":%u", line);
}

static void add_frame(TfyBuffer *out, const TfyProgram *program, const TfyFrame *frame, const TfyPoint *point,
                      bool known)
{
    tfy__buffer_text(out, "{\"workflow\":");
    tfy__buffer_json_string(out, frame->workflow->name, strlen(frame->workflow->name));
    add_line(out, program, point ? point->line : frame->workflow->line);
    add_source(out, program->source, point ? point->line : frame->workflow->line);
    if (point) add_string(out, "point", point->id);
    if (known) add_locals(out, frame, point);
    tfy__buffer_char(out, '}');
}

static void add_frames(TfyBuffer *out, const TfyStop *stop, const TaskRest *rest)
{
    const TfyProgram *program = program_of(stop->run);
    const TfyTask *task = rest ? rest->task : NULL; /* NULL: it has finished */
    uint32_t at = task ? task->top : TFY_NO_FRAME;
    const char *comma = "";
    const Standing standing = at == TFY_NO_FRAME ? STANDS : standing_of(stop, rest);
    tfy__buffer_text(out, "\"frames\":[");
    if (standing == ENTERED) at = frame_at(task, at)->prev;
    for (bool top = standing != ENTERED; at != TFY_NO_FRAME; at = frame_at(task, at)->prev, top = false) {
        const TfyFrame *frame = frame_at(task, at);
        const bool mark = top && standing == AT_MARK;
        const TfyPoint *point = mark ? tfy__point_of(program, stop->record->point) : point_of_frame(frame);
        const bool gone = frame->flags & FRAME_UNDOING; /* an undo block of a frame that has returned */
        const bool known = !gone && (!top || standing == STANDS || (mark && program->debug));
        tfy__buffer_text(out, comma);
        add_frame(out, program, frame, point, known);
        comma = ",";
    }
    tfy__buffer_char(out, ']');
}

/* ---- the step and the tasks ---- */

/* The program computes what is sent, and the replay goes on after it: the task stays as it is. */
static bool tell_request(const Step *step, const json_t *messages, TfyBuffer *out)
{
    TfyCall call = step->call;
    TfyTask *task = call.task;
    TfyHeap *heap = task->heap;
    const TfyPerformer *performer = call.loop->performers[call.site->tool->family];
    TfyObj *error = task->error;
    const int32_t fuel = task->fuel;
    const int64_t fn_fuel = heap->fn_fuel;
    const uint32_t mark = tfy_mark(task), depth = heap->fn_depth;
    const bool spent = heap->fn_spent;
    if (!performer || !performer->tell) return false;
    call.tool = call.site->tool;
    task->error = NULL;
    const bool told = performer->tell(&call, messages, out);
    tfy_cut(task, mark);
    if (task->error) tfy_drop(task, tfy_take_error(task));
    task->error = error;
    task->fuel = fuel;
    heap->fn_fuel = fn_fuel;
    heap->fn_depth = depth;
    heap->fn_spent = spent;
    return told && !out->failed;
}

static void add_request(TfyBuffer *out, const Step *step, const json_t *messages)
{
    TfyBuffer request = {0};
    if (tell_request(step, messages, &request)) {
        tfy__buffer_text(out, ",\"request\":{");
        tfy__buffer_add(out, request.data, request.len);
        tfy__buffer_char(out, '}');
    }
    tfy__buffer_free(&request);
}

static void add_asked(TfyBuffer *out, const TaskRest *rest, const json_t *messages)
{
    const Step *step = rest->step;
    if (!step || step->backoff_only) return;
    const TfyTool *tool = step->call.site->tool;
    tfy__buffer_text(out, "\"asked\":{\"tool\":");
    tfy__buffer_json_string(out, tool->name, strlen(tool->name));
    tfy__buffer_text(out, ",\"args\":");
    TfyBuffer args = {0};
    tfy__step_encode_args(&args, tool, step->call.args);
    add_encoded(out, &args);
    tfy__buffer_text(out, ",\"key\":");
    tfy__buffer_json_string(out, step->key, strlen(step->key));
    tfy__buffer_printf(out, ",\"attempt\":%u", step->call.attempt);
    add_request(out, step, messages);
    tfy__buffer_text(out, "},");
}

static void add_task(TfyBuffer *out, const TfyStop *stop, const TaskRest *rest)
{
    const TfyProgram *program = program_of(stop->run);
    const TfyTask *task = rest->task;
    const bool ended = !task || rest->end_state || task->top == TFY_NO_FRAME;
    const TfyFrame *top = ended ? NULL : frame_at(task, task->top);
    tfy__buffer_text(out, "{\"task\":");
    tfy__buffer_json_string(out, rest->log.path, strlen(rest->log.path));
    add_string(out, "workflow", (top ? top->workflow : rest->workflow)->name);
    add_string(out, "state", tfy__state_name(rest->end_state ? rest->end_state : task ? state_of(task) : 0));
    const TfyPoint *point = top && standing_of(stop, rest) == AT_MARK ? tfy__point_of(program, stop->record->point)
                            : top                                     ? point_of_frame(top)
                                                                      : NULL;
    if (top) add_line(out, program, point ? point->line : top->workflow->line);
    if (rest->step && !rest->step->backoff_only) add_string(out, "waits", rest->step->call.site->tool->name);
    tfy__buffer_char(out, '}');
}

/* A run lists its tasks newest first. */
static void add_tasks(TfyBuffer *out, const TfyStop *stop)
{
    const Run *run = stop->run;
    uint32_t count = 0, at = 0;
    for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) count++;
    const TaskRest **tasks = malloc((count + 1) * sizeof *tasks);
    for (const TaskRest *rest = run->tasks; tasks && rest; rest = rest->next_in_run) tasks[at++] = rest;
    tfy__buffer_text(out, ",\"tasks\":[");
    while (at > 0) {
        add_task(out, stop, tasks[--at]);
        if (at) tfy__buffer_char(out, ',');
    }
    tfy__buffer_char(out, ']');
    free(tasks);
}

static const TaskRest *task_at_path(const Run *run, const char *path)
{
    const TaskRest *rest = run->tasks;
    while (rest && strcmp(rest->log.path, path) != 0) rest = rest->next_in_run;
    return rest;
}

void tfy__stop_json(const TfyStop *stop, const char *path, bool tasks, const json_t *messages, TfyBuffer *out)
{
    const TaskRest *rest = path ? task_at_path(stop->run, path) : stop->rest;
    if (rest) add_asked(out, rest, messages);
    if (rest && rest->task && rest->task->error) {
        tfy__buffer_text(out, "\"raising\":");
        tfy__error_json(out, rest->task->error);
        tfy__buffer_char(out, ',');
    }
    add_frames(out, stop, rest);
    if (tasks) add_tasks(out, stop);
}

/* restore.c: rebuilds a run from its snapshot: the tasks, their frames and steps, and their shared state, as a
 * replay would have left them.
 *
 * Values are read in the order in which they were written, since that order numbers the shared ones. Tasks come
 * first, so that references to them can be resolved; then the links between them. A snapshot with an impossible
 * statement (a routine, point or task that does not exist) is refused as a whole: the caller replays the run from
 * its start instead. */
#include "core/replay/snapshot.h"
#include "core/step/round.h"
#include "wal/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    TfyLoop *loop;
    Run *run;
    TfyTask scratch; /* its heap holds the values */
    TfyExact exact;
    TfyObj **objects; /* those that are referred to by number, kept */
    size_t object_count, object_cap;
    Group **groups;
    size_t group_count;
    /* how far the wall clock was set back since: deadlines move back by as much */
    int64_t back_ms;
    int code; /* why it failed, if not TFY_E_DATA */
    char *error_text;
} Reader;

static bool refuse(Reader *r, const char *what)
{
    if (!r->error_text[0]) snprintf(r->error_text, TFY_ERROR_TEXT, "the snapshot of run %s has %s", r->run->uuid, what);
    return false;
}

static bool no_memory(Reader *r)
{
    return refuse(r, "no memory for its values");
}

/* A time by the wall clock; 0: none. */
static int64_t time_in(const Reader *r, const json_t *json, TfyMember member)
{
    const int64_t due_ms = tfy__member_int(json, member);
    return due_ms > r->back_ms && due_ms < INT64_MAX ? due_ms - r->back_ms : due_ms;
}

static int64_t due_in(const Reader *r, const json_t *json)
{
    return time_in(r, json, TFY_S_DUE);
}

/* ---- values ---- */

static bool remember(Reader *r, TfyObj *object)
{
    if (!GROW(r->objects, r->object_cap, r->object_count + 1, 64)) return no_memory(r);
    r->objects[r->object_count++] = tfy_keep(object);
    return true;
}

/* The value, kept. */
static bool read_value(Reader *r, const TfyType *type, const json_t *json, TfyValue *out)
{
    char text[TFY_ERROR_TEXT];
    *out = tfy_of_int(0);
    if (json_is_integer(json) && !type->scalar) {
        size_t number = (size_t)json_integer_value(json);
        if (number >= r->object_count) return refuse(r, "a reference to a value that it does not contain");
        out->o = tfy_keep(r->objects[number]);
        return true;
    }
    if (!json_array_size(json)) return refuse(r, "no value where there must be one");
    bool ok = tfy__decode_exact(&r->scratch, &r->exact, type, json_array_get(json, 0), out, text);
    if (!ok) {
        tfy_drop(&r->scratch, tfy_take_error(&r->scratch));
        return refuse(r, "a value that cannot be read");
    }
    tfy__keep_value(type, *out);
    tfy_cut(&r->scratch, 0);
    return json_array_size(json) < 2 || type->scalar || remember(r, out->o);
}

static bool read_values(Reader *r, const TfyField *fields, uint32_t count, const json_t *json, TfyValue *out)
{
    if (json_array_size(json) != count) return refuse(r, "a different number of arguments");
    for (uint32_t i = 0; i < count; i++)
        if (!read_value(r, fields[i].type, json_array_get(json, i), &out[i])) return false;
    return true;
}

static bool read_error(Reader *r, const json_t *json, TfyObj **out)
{
    TfyValue value;
    bool ok = read_value(r, &tfy_type_any_error, json, &value);
    *out = value.o;
    return ok;
}

/* A name as a string object, borrowed. */
static TfyObj *read_name(Reader *r, const json_t *json)
{
    TfyObj *name =
        json_is_string(json) ? tfy_string_of(&r->scratch, json_string_value(json), json_string_length(json)) : NULL;
    if (!name) refuse(r, "no name where there must be one");
    return name;
}

/* ---- what the program knows ---- */

static const TfyWorkflow *routine_in(Reader *r, const json_t *json)
{
    const TfyProgram *program = program_of(r->run);
    const json_t *number = tfy__member_get(json, TFY_S_ROUTINE);
    const int64_t at = json_integer_value(number);
    if (number && at >= 0 && at < program->routine_count) return program->routines[at];
    refuse(r, "a workflow that is missing in the program");
    return NULL;
}

static const TfyPoint *point_in(Reader *r, const json_t *json)
{
    const TfyPoint *point = tfy__point_of(program_of(r->run), (uint32_t)tfy__member_int(json, TFY_S_POINT));
    if (!point) refuse(r, "a point that is missing in the program");
    return point;
}

static TaskRest *task_in(Reader *r, const json_t *handle)
{
    TaskRest *rest = json_is_integer(handle) ? tfy__task_of_handle(r->run, json_integer_value(handle)) : NULL;
    if (rest) return rest;
    refuse(r, "a reference to a task that it does not contain");
    return NULL;
}

/* ---- frames ---- */

static const json_t *slot_in(const json_t *slots, const TfyLive *live)
{
    char name[300];
    const json_t *plain = live->name ? json_object_get(slots, live->name) : NULL;
    if (plain) return plain;
    snprintf(name, sizeof name, "%.280s#%u", live->name ? live->name : "", live->slot);
    return json_object_get(slots, name);
}

/* What a finally block continues with afterwards is a value, an error, or nothing: the unused slots are empty. */
static bool is_empty(const TfyType *type, const json_t *json)
{
    return !type->scalar && type->kind != TFY_JSON && json_is_null(json_array_get(json, 0));
}

/* Slots are filled one by one, so those of a frame that fails are empty or whole: the frame is released like any
 * other. */
static bool read_slots(Reader *r, TfyTask *task, const json_t *json)
{
    TfyFrame *frame = frame_at(task, task->top);
    TfyValue *slots = (TfyValue *)(frame + 1);
    const TfyWorkflow *workflow = frame->workflow;
    if (!frame->pc)
        return read_values(r, workflow->params, workflow->param_count, tfy__member_get(json, TFY_S_PARAMS), slots);
    const TfyPoint *point = workflow->resume[frame->pc - 1];
    const json_t *values = tfy__member_get(json, TFY_S_SLOTS);
    for (uint32_t i = 0; i < point->live_count; i++) {
        const TfyLive *live = &point->live[i];
        const json_t *value = slot_in(values, live);
        if (!is_empty(live->type, value) && !read_value(r, live->type, value, &slots[live->slot])) return false;
    }
    return true;
}

static bool find_pc(Reader *r, TfyFrame *frame, const json_t *json)
{
    const TfyWorkflow *workflow = frame->workflow;
    uint32_t number = (uint32_t)tfy__member_int(json, TFY_S_POINT), pc = 0;
    if (!number) return true;
    while (pc < workflow->resume_count && workflow->resume[pc]->number != number) pc++;
    if (pc == workflow->resume_count) return refuse(r, "a point that is missing in its workflow");
    frame->pc = pc + 1;
    return true;
}

/* Frames that have returned are empty. */
static bool read_frame(Reader *r, TaskRest *rest, const json_t *json, bool returned)
{
    TfyTask *task = rest->task;
    const TfyWorkflow *workflow = routine_in(r, json);
    if (!workflow) return false;
    if (!tfy__task_push(task, workflow)) return no_memory(r);
    TfyFrame *frame = frame_at(task, task->top);
    frame->scope = (uint32_t)tfy__member_int(json, TFY_S_SCOPE);
    frame->mask = (uint16_t)tfy__member_int(json, TFY_S_MASK);
    frame->flags = (uint16_t)tfy__member_int(json, TFY_S_FLAGS);
    if (!find_pc(r, frame, json)) return false;
    int64_t due_ms = due_in(r, json);
    if (due_ms && !(frame->timer = tfy__scope_arm(rest, due_ms))) return no_memory(r);
    return returned || frame->flags & FRAME_UNDOING || read_slots(r, task, json);
}

static bool read_frames(Reader *r, TaskRest *rest, const json_t *json)
{
    const json_t *frames = tfy__member_get(json, TFY_S_FRAMES);
    size_t count = json_array_size(frames);
    bool returning = tfy__member_flag(json, TFY_S_RETURNING);
    if (!count) return refuse(r, "a task without a frame");
    for (size_t i = 0; i < count; i++)
        if (!read_frame(r, rest, json_array_get(frames, i), returning && i + 1 == count)) return false;
    return true;
}

/* The offset of a frame by its index from the outermost. */
static uint32_t frame_offset(const TaskRest *rest, uint32_t index)
{
    const TfyTask *task = rest->task;
    uint32_t at = task->top;
    for (uint32_t i = depth_of(task); i > index + 1 && at != TFY_NO_FRAME; i--) at = frame_at(task, at)->prev;
    return at;
}

/* ---- state attached to frames ---- */

static bool read_deadlines(Reader *r, TaskRest *rest, const json_t *list)
{
    size_t count = json_array_size(list);
    if (!count) return true;
    if (!(rest->deadlines = calloc(count, sizeof *rest->deadlines))) return no_memory(r);
    rest->deadline_cap = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(list, i);
        Deadline *deadline = &rest->deadlines[rest->deadline_count++];
        *deadline = (Deadline){.frame = frame_offset(rest, (uint32_t)tfy__member_int(json, TFY_S_FRAME)),
                               .scope = (uint32_t)tfy__member_int(json, TFY_S_SCOPE),
                               .mask = (uint16_t)tfy__member_int(json, TFY_S_MASK),
                               .flags = (uint16_t)tfy__member_int(json, TFY_S_FLAGS)};
        int64_t due_ms = due_in(r, json);
        if (due_ms && !(deadline->timer = tfy__scope_arm(rest, due_ms))) return no_memory(r);
    }
    return true;
}

static bool read_undo(Reader *r, TaskRest *rest, const json_t *json)
{
    unsigned flags = (unsigned)tfy__member_int(json, TFY_S_FLAGS);
    Undo undo = {.frame = frame_offset(rest, (uint32_t)tfy__member_int(json, TFY_S_FRAME)),
                 .height = (uint32_t)tfy__member_int(json, TFY_S_HEIGHT),
                 .block = routine_in(r, json),
                 .point = point_in(r, json),
                 .idle = flags & UNDO_IDLE,
                 .once = flags & UNDO_ONCE,
                 .started = flags & UNDO_STARTED,
                 .unknown = flags & UNDO_UNKNOWN};
    if (!undo.block || !undo.point) return false;
    if (!(undo.args = calloc(undo.block->param_count + 1, sizeof *undo.args))) return no_memory(r);
    rest->undos[rest->undo_count++] = undo;
    return read_values(r, undo.block->params, undo.block->param_count, tfy__member_get(json, TFY_S_ARGS), undo.args);
}

static bool read_undos(Reader *r, TaskRest *rest, const json_t *list)
{
    size_t count = json_array_size(list);
    if (!count) return true;
    if (!(rest->undos = calloc(count, sizeof *rest->undos))) return no_memory(r);
    rest->undo_cap = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (!read_undo(r, rest, json_array_get(list, i))) return false;
    return true;
}

static bool read_unwinding(Reader *r, TaskRest *rest, const json_t *list)
{
    Unwinding **link = &rest->unwinding;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        Unwinding *unwinding = calloc(1, sizeof *unwinding);
        if (!unwinding) return no_memory(r);
        *link = unwinding;
        link = &unwinding->below;
        if (tfy__member_int(json, TFY_S_POINT) && !(unwinding->point = point_in(r, json))) return false;
        if (!read_error(r, tfy__member_get(json, TFY_S_ERROR), &unwinding->error)) return false;
    }
    return true;
}

/* ---- the answer and the step ---- */

/* What the top frame waits for; NULL: it is not at such a point. */
static const TfySite *site_of(const TfyTask *task)
{
    const TfyFrame *frame = frame_at(task, task->top);
    return frame->pc ? program_of(rest_of(task)->run)->sites[frame->workflow->resume[frame->pc - 1]->number - 1] : NULL;
}

static bool read_answer(Reader *r, TaskRest *rest, const json_t *json)
{
    TfyTask *task = rest->task;
    const json_t *answer = tfy__member_get(json, TFY_S_ANSWER), *error = tfy__member_get(json, TFY_S_ERROR);
    if (tfy__member_flag(json, TFY_S_RETURNING)) task->state |= T_RETURNING;
    if (tfy__member_flag(json, TFY_S_ANSWERED)) task->state |= T_ANSWERED;
    if (!answer) return !error || read_error(r, error, &task->error);
    const TfySite *site = site_of(task);
    const TfyType *type = task->state & T_RETURNING ? frame_at(task, task->top)->workflow->result
                          : !site                   ? NULL
                          : site->tool              ? site->result
                                                    : &tfy_type_nothing;
    if (!type) return refuse(r, "an answer without a request");
    if (!read_value(r, type, answer, &task->result)) return false;
    rest->answer_type = type;
    return !error || read_error(r, error, &task->error);
}

static bool read_stage(Step *step, const char *name)
{
    static const struct {
        const char *name;
        Stage stage;
    } stages[] = {{"begin", STAGE_BEGIN},
                  {"outcome", STAGE_OUTCOME},
                  {"settle", STAGE_SETTLE},
                  {"backoff", STAGE_BACKOFF},
                  {"doubt", STAGE_DOUBT}};
    for (size_t i = 0; name && i < sizeof stages / sizeof *stages; i++) {
        if (strcmp(stages[i].name, name) != 0) continue;
        step->stage = stages[i].stage;
        return true;
    }
    return false;
}

static void read_step_numbers(const Reader *r, Step *step, const json_t *json)
{
    const json_t *timeout = tfy__member_get(json, TFY_S_TIMEOUT);
    unsigned flags = (unsigned)tfy__member_int(json, TFY_S_FLAGS);
    step->call.step = tfy__member_int(json, TFY_S_STEP);
    step->call.attempt = (uint32_t)tfy__member_int(json, TFY_S_ATTEMPT);
    step->retry = tfy__member_int(json, TFY_S_RETRY);
    step->backoff_ms = tfy__member_int(json, TFY_S_BACKOFF);
    step->timeout_ms = timeout ? json_integer_value(timeout) : TFY_NEVER;
    step->asks = tfy__member_int(json, TFY_S_ASKS);
    const bool by_clock = step->call.tool && step->call.tool->family == TFY_F_SLEEP_UNTIL;
    step->due_ms = by_clock ? tfy__member_int(json, TFY_S_DUE) : due_in(r, json);
    step->again_ms = time_in(r, json, TFY_S_AGAIN);
    step->call.tries = (uint32_t)tfy__member_int(json, TFY_S_TRIES);
    step->counted = flags & STEP_COUNTED;
    step->started = flags & STEP_STARTED && !step->backoff_only ? START_FOUND : START_NONE;
    step->due_kind = !(flags & STEP_TIMEOUT_BEGUN) ? DUE_NONE : flags & STEP_BOUNDED ? DUE_TIMEOUT : DUE_SLEEP;
    step->doubt = flags & STEP_DOUBT_RECORDED ? DOUBT_RECORDED : DOUBT_NONE;
    step->admission = flags & STEP_LINED_UP ? ADMISSION_ASKED : ADMISSION_NONE;
    step->unknown = flags & STEP_UNKNOWN;
}

static bool read_round(Reader *r, Step *step, const json_t *json)
{
    const TfyPerformer *performer = json ? r->loop->performers[step->call.site->tool->family] : NULL;
    if (!json) return true;
    if (!performer || !performer->rounds) return refuse(r, "an exchange with nobody");
    return performer->rounds->read(step, json) || refuse(r, "an exchange that cannot be read");
}

/* If its arguments were read only in part, that part is released. */
static bool read_step(Reader *r, TaskRest *rest, const json_t *json)
{
    TfyTask *task = rest->task;
    const TfySite *site = site_of(task);
    const char *key = tfy__member_text(json, TFY_S_KEY);
    int64_t steps = rest->log.step;
    if (!json) return true;
    if (!site || !site->tool != !!((unsigned)tfy__member_int(json, TFY_S_FLAGS) & STEP_BACKOFF_ONLY))
        return refuse(r, "a step at a point that requests nothing");
    TfyValue few[FEW_ARGS] = {{0}}, *args = few;
    uint32_t count = site->tool ? site->tool->param_count : 0;
    if (count > FEW_ARGS && !(args = calloc(count, sizeof *args))) return no_memory(r);
    const json_t *given = tfy__member_get(json, TFY_S_ARGS);
    const uint32_t written = (uint32_t)json_array_size(given);
    const bool is_older = written < count && written + site->tool->added >= count; /* without parameters added since */
    bool ok = !site->tool || read_values(r, site->tool->params, is_older ? written : count, given, args);
    Step *step = ok ? tfy__step_restore(task, site, site->tool ? args : NULL, key ? key : "") : NULL;
    for (uint32_t i = 0; i < count; i++) tfy__drop_value(task, site->tool->params[i].type, args[i]);
    if (args != few) free(args);
    if (!ok) return false;
    if (!step) return no_memory(r);
    rest->log.step = steps;
    read_step_numbers(r, step, json);
    const char *call = tfy__member_text(json, TFY_S_CALL);
    if (call && !(step->model_call = tfy_keep(tfy_string_of(task, call, strlen(call))))) return no_memory(r);
    const json_t *failure = tfy__member_get(json, TFY_S_FAILURE);
    if (failure && !(step->failure = json_dumps(failure, JSON_COMPACT))) return no_memory(r);
    if (!read_stage(step, tfy__member_text(json, TFY_S_STAGE))) return refuse(r, "a step at an unknown stage");
    if (!read_round(r, step, tfy__member_get(json, TFY_S_ROUND))) return false;
    if (step->stage < STAGE_SETTLE) step->doubt = DOUBT_NONE; /* as struct Step requires, whatever the log contains */
    if (step->stage == STAGE_OUTCOME) step->counted = true;
    if (step->stage == STAGE_OUTCOME && !step->started && tfy__limit_bounds(step)) {
        step->stage = STAGE_BEGIN; /* started again, it must be admitted again */
        step->noted = true;
    }
    set_state(task, step->stage == STAGE_DOUBT ? TFY_TASK_WAITING_APPROVAL : tfy__step_wait_state(step));
    return true;
}

/* ---- tasks ---- */

static bool read_path(Reader *r, const json_t *json, const char **path, const TfyWorkflow **workflow)
{
    *path = tfy__member_text(json, TFY_S_PATH);
    *workflow = routine_in(r, json);
    return (*path && *workflow) || refuse(r, "a task without a path");
}

/* The head of its chain: later records belong to the tail. */
static bool read_head(Reader *r, TaskRest *rest, const json_t *json)
{
    uint64_t group = (uint64_t)tfy__member_int(json, TFY_S_GROUP);
    rest->log.chain = tfy__member_hex(json, TFY_S_CHAIN);
    rest->joined = tfy__member_flag(json, TFY_S_JOINED);
    if (group > r->group_count) return refuse(r, "a reference to a group that it does not contain");
    if (group) rest->group = r->groups[group - 1];
    return true;
}

static void read_counters(TaskRest *rest, const json_t *json)
{
    rest->log.step = tfy__member_int(json, TFY_S_STEP);
    rest->task->passages = (uint32_t)tfy__member_int(json, TFY_S_PASSAGES);
    rest->task->scopes = (uint32_t)tfy__member_int(json, TFY_S_SCOPES);
    rest->spawned = (uint32_t)tfy__member_int(json, TFY_S_SPAWNED);
    rest->randoms = (uint64_t)tfy__member_int(json, TFY_S_RANDOMS);
    rest->priority = (int32_t)tfy__member_int(json, TFY_S_PRIORITY);
    rest->after_left = (uint32_t)tfy__member_int(json, TFY_S_AFTER);
}

static void read_cancellation(TaskRest *rest, const json_t *json)
{
    const char *why = tfy__member_text(json, TFY_S_KILL);
    if (tfy__member_flag(json, TFY_S_CANCEL)) rest->task->state |= T_CANCEL;
    rest->cancelled = tfy__member_flag(json, TFY_S_CANCELLED);
    rest->kill = why != NULL;
    rest->kill_force = tfy__member_flag(json, TFY_S_FORCE);
    rest->kill_why = why ? tfy__kill_reason(why) : NULL;
}

static bool read_channel(Reader *r, TaskRest *maker, const json_t *json)
{
    Channel *channel = tfy__channel_add(maker);
    if (!channel) return no_memory(r);
    channel->capacity = tfy__member_int(json, TFY_S_CAPACITY);
    channel->sent = (uint64_t)tfy__member_int(json, TFY_S_SENT);
    channel->closed = tfy__member_flag(json, TFY_S_CLOSED);
    const json_t *messages = tfy__member_get(json, TFY_S_MESSAGES);
    if (!json_array_size(messages)) return true;
    int64_t sender = tfy__member_int(json, TFY_S_SENDER);
    const TfyProgram *program = program_of(r->run);
    const TfySite *site = sender > 0 && sender <= program->point_count ? program->sites[sender - 1] : NULL;
    if (!site || !site->tool || site->tool->family != TFY_F_SEND) return refuse(r, "messages of an unknown type");
    channel->elem = site->tool->params[1].type;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *one = json_array_get(messages, i);
        Message message = {.seq = (uint64_t)tfy__member_int(one, TFY_S_SEQ)};
        if (!read_value(r, channel->elem, tfy__member_get(one, TFY_S_VALUE), &message.value)) return false;
        if (tfy__channel_put(r->loop, channel, message)) continue;
        tfy__drop_value(&r->scratch, channel->elem, message.value);
        return no_memory(r);
    }
    return true;
}

static bool read_channels(Reader *r, TaskRest *maker, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!read_channel(r, maker, json_array_get(list, i))) return false;
    return true;
}

static bool read_live(Reader *r, const json_t *json)
{
    const char *path;
    const TfyWorkflow *workflow;
    if (!read_path(r, json, &path, &workflow)) return false;
    TaskRest *rest =
        tfy__task_new(r->loop, r->run, workflow, r->run->log.root + tfy__member_int(json, TFY_S_TASK), path);
    if (!rest) return no_memory(r);
    if (strcmp(path, "1") == 0) r->run->root = rest;
    if (!read_head(r, rest, json) || !read_frames(r, rest, json)) return false;
    read_counters(rest, json);
    read_cancellation(rest, json);
    take_care(rest->task); /* deadlines and undo entries are restored after the frames */
    return read_deadlines(r, rest, tfy__member_get(json, TFY_S_DEADLINES)) &&
           read_undos(r, rest, tfy__member_get(json, TFY_S_UNDOS)) &&
           read_unwinding(r, rest, tfy__member_get(json, TFY_S_UNWINDING)) && read_answer(r, rest, json) &&
           read_step(r, rest, tfy__member_get(json, TFY_S_PENDING)) &&
           read_channels(r, rest, tfy__member_get(json, TFY_S_CHANNELS));
}

static bool read_ended(Reader *r, const json_t *json)
{
    const char *path, *text = tfy__member_text(json, TFY_S_TEXT);
    const TfyWorkflow *workflow;
    if (!read_path(r, json, &path, &workflow)) return false;
    TaskRest *rest =
        tfy__task_new_ended(r->loop, r->run, workflow, r->run->log.root + tfy__member_int(json, TFY_S_TASK), path);
    if (!rest) return no_memory(r);
    rest->end_state = (TfyTaskState)tfy__member_int(json, TFY_S_STATE);
    if (strcmp(path, "1") == 0) r->run->root = rest;
    if (!read_head(r, rest, json)) return false;
    const json_t *value = tfy__member_get(json, TFY_S_VALUE), *failure = tfy__member_get(json, TFY_S_FAILURE);
    if (text && !(rest->failure_text = strdup(text))) return no_memory(r);
    if (value && !read_value(r, workflow->result, value, &rest->value)) return false;
    if (failure && !read_error(r, failure, &rest->failure)) return false;
    return read_channels(r, rest, tfy__member_get(json, TFY_S_CHANNELS));
}

/* ---- links between tasks ---- */

/* The lists were written from their heads: linked from the end, they get the same order. */
static bool link_children(Reader *r, TaskRest *parent, const json_t *json)
{
    TfyLoop *loop = r->loop;
    const json_t *frames = tfy__member_get(json, TFY_S_FRAMES);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *children = tfy__member_get(json_array_get(frames, i), TFY_S_CHILDREN);
        uint32_t at = frame_offset(parent, (uint32_t)i);
        for (size_t n = json_array_size(children); n-- > 0;) {
            TaskRest *child = task_in(r, json_array_get(children, n));
            if (!child || !child->task || child->parent) return refuse(r, "a child that is not alive");
            TfyFrame *frame = frame_at(parent->task, at);
            const uint32_t self = slot_of(loop, child->task) + 1;
            child->parent = parent;
            child->parent_frame = at;
            child->siblings.next = frame->children;
            if (frame->children) tfy__siblings(loop, frame->children)->prev = self;
            frame->children = self;
        }
    }
    return true;
}

static bool link_followers(Reader *r, TaskRest *awaited, const json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        TaskRest *child = task_in(r, json_array_get(list, i));
        Follower *follower = child ? malloc(sizeof *follower) : NULL;
        if (!follower) return no_memory(r);
        *follower = (Follower){.child = child, .next = awaited->followers};
        awaited->followers = follower;
    }
    return true;
}

static Lock *lock_named(Reader *r, const json_t *json)
{
    TfyObj *name = read_name(r, json);
    Lock *lock = name ? tfy__lock_of(r->run, name, 0) : NULL;
    tfy_cut(&r->scratch, 0);
    if (lock && lock->permits > 0) return lock;
    refuse(r, "a reference to a lock that it does not contain");
    return NULL;
}

static bool link_holds(Reader *r, TaskRest *rest, const json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        Lock *lock = lock_named(r, json_array_get(list, i));
        Hold *hold = lock ? malloc(sizeof *hold) : NULL;
        if (!hold) return no_memory(r);
        *hold = (Hold){.lock = lock, .next = rest->holds};
        rest->holds = hold;
        lock->free--;
    }
    return true;
}

static Channel *channel_named(const Run *run, const char *name)
{
    for (const TaskRest *maker = run->tasks; maker; maker = maker->next_in_run)
        for (uint32_t i = 0; i < maker->channel_count; i++)
            if (strcmp(maker->channels[i]->name, name) == 0) return maker->channels[i];
    return NULL;
}

/* NULL: no memory. */
static Signal *read_signal(Reader *r, const json_t *json, SignalName *name)
{
    char *value = json_dumps(tfy__member_get(json, TFY_S_VALUE), JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    Signal *signal = value && name ? malloc(sizeof *signal) : NULL;
    if (!signal) {
        free(value);
        no_memory(r);
        return NULL;
    }
    *signal = (Signal){.value = value, .seq = (uint64_t)tfy__member_int(json, TFY_S_SEQ), .name = name};
    return signal;
}

static SignalName *signal_name(Reader *r, const json_t *name)
{
    return tfy__signal_name_of(r->run, json_string_value(name) ? json_string_value(name) : "",
                               json_string_length(name));
}

static bool link_granted(Reader *r, TaskRest *rest, const json_t *json)
{
    const char *channel = tfy__member_text(json, TFY_S_GRANTED_FROM);
    const json_t *lock = tfy__member_get(json, TFY_S_GRANTED_LOCK),
                 *signal = tfy__member_get(json, TFY_S_GRANTED_SIGNAL);
    if (channel && !(rest->granted_from = channel_named(r->run, channel)))
        return refuse(r, "a reference to a channel that it does not contain");
    rest->granted_seq = (uint64_t)tfy__member_int(json, TFY_S_GRANTED_SEQ);
    if (rest->granted_from) { /* a channel's type is known from its messages, and this was one */
        if (!rest->granted_from->elem) rest->granted_from->elem = site_of(rest->task)->result->elem;
    }
    if (lock && !(rest->granted_lock = lock_named(r, lock))) return false;
    tfy__person_reason(rest, tfy__member_text(json, TFY_S_WHY));
    if (signal)
        rest->granted_signal = read_signal(r, signal, signal_name(r, tfy__member_get(json, TFY_S_GRANTED_NAME)));
    return !signal || rest->granted_signal;
}

static bool link_task(Reader *r, const json_t *json)
{
    TaskRest *rest = task_in(r, tfy__member_get(json, TFY_S_TASK));
    if (!rest || !link_children(r, rest, json) || !link_followers(r, rest, tfy__member_get(json, TFY_S_FOLLOWERS)) ||
        !link_holds(r, rest, tfy__member_get(json, TFY_S_HOLDS)) || !link_granted(r, rest, json))
        return false;
    TfyTask *task = rest->task;
    if (tfy__member_flag(json, TFY_S_READY))
        tfy__ready_push(r->loop, task);
    else if (!rest->step && task->state & T_RETURNING)
        set_state(task, TFY_TASK_JOINING);
    return true;
}

/* ---- shared state ---- */

static bool make_groups(Reader *r, const json_t *list)
{
    size_t count = json_array_size(list);
    if (!(r->groups = calloc(count + 1, sizeof *r->groups))) return no_memory(r);
    for (size_t i = 0; i < count; i++) {
        if (!(r->groups[i] = tfy__group_new(r->run))) return no_memory(r);
        r->groups[i]->alive = (uint32_t)tfy__member_int(json_array_get(list, i), TFY_S_ALIVE);
        r->group_count++;
    }
    return true;
}

static bool link_groups(Reader *r, const json_t *list)
{
    for (size_t i = 0; i < r->group_count; i++) {
        const json_t *json = json_array_get(list, i), *ended = tfy__member_get(json, TFY_S_ENDED),
                     *failed = tfy__member_get(json, TFY_S_FAILED);
        if (ended && !(r->groups[i]->first_ended = task_in(r, ended))) return false;
        if (failed && !(r->groups[i]->first_failed = task_in(r, failed))) return false;
    }
    return true;
}

static bool make_locks(Reader *r, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        TfyObj *name = read_name(r, tfy__member_get(json, TFY_S_NAME));
        if (!name) return false;
        Lock *lock = tfy__lock_of(r->run, name, tfy__member_int(json, TFY_S_PERMITS));
        tfy_cut(&r->scratch, 0);
        if (!lock) return no_memory(r);
    }
    return true;
}

static bool make_signals(Reader *r, const json_t *json)
{
    const json_t *names = tfy__member_get(json, TFY_S_SIGNALS), *ids = tfy__member_get(json, TFY_S_SIGNAL_IDS);
    r->run->signal_count = (uint64_t)tfy__member_int(json, TFY_S_SIGNAL_COUNT);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *one = json_array_get(names, i), *kept = tfy__member_get(one, TFY_S_KEPT);
        SignalName *name = signal_name(r, tfy__member_get(one, TFY_S_NAME));
        if (!name) return no_memory(r);
        for (size_t n = 0; n < json_array_size(kept); n++) {
            Signal *signal = read_signal(r, json_array_get(kept, n), name);
            if (!signal) return false;
            LIST_APPEND(&name->kept, signal, next);
        }
    }
    for (size_t i = json_array_size(ids); i-- > 0;) {
        const char *id = json_string_value(json_array_get(ids, i));
        if (!id || !tfy__signal_remember(r->run, id)) return no_memory(r);
    }
    return true;
}

static void restore_performers(Reader *r, const json_t *json)
{
    for (int i = 0; i < TFY_F_COUNT; i++) {
        const TfyPerformer *performer = performer_once(r->loop, i);
        if (!performer || !performer->restore) continue;
        performer->restore(r->loop, r->run->uuid, json_object_get(json, performer->name));
    }
}

/* ---- the whole ---- */

/* The records of a task after the snapshot. Steps that none of these finishes go live at the end of the tail, in
 * the order of their queues. */
static bool attach(Reader *r, const json_t *json)
{
    const json_t *order = tfy__member_get(json, TFY_S_ORDER);
    for (TaskRest *rest = r->run->tasks; rest; rest = rest->next_in_run) tfy__history_attach(rest);
    for (size_t i = 0; i < json_array_size(order); i++) {
        TaskRest *rest = task_in(r, json_array_get(order, i));
        if (!rest || !rest->step) return refuse(r, "a reference to a step that it does not contain");
        tfy__history_defer(rest->step);
    }
    return true;
}

static bool read_all(Reader *r, const json_t *json, bool (*read)(Reader *r, const json_t *json), TfyMember member)
{
    const json_t *list = tfy__member_get(json, member);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!read(r, json_array_get(list, i))) return false;
    return true;
}

static bool read_run(Reader *r, const json_t *json)
{
    Run *run = r->run;
    const char *seed = tfy__member_text(json, TFY_S_SEED);
    if (tfy__member_int(json, TFY_S_V) != SNAPSHOT_V || !seed)
        return refuse(r, "a version of the format that this program cannot read");
    run->seed = strtoull(seed, NULL, 16);
    run->max_memory = tfy__member_int(json, TFY_S_MAX_MEMORY);
    run->max_queue = tfy__member_int(json, TFY_S_MAX_QUEUE);
    run->digests_only = tfy__is_digests_only(tfy__member_text(json, TFY_S_PROMPTS));
    run->in_log = true;
    run->yolo = tfy__member_flag(json, TFY_S_YOLO);
    if (!tfy__ceiling_read(run, tfy__member_get(json, TFY_S_CEILING))) return no_memory(r);
    if (!make_groups(r, tfy__member_get(json, TFY_S_GROUPS)) || !make_locks(r, tfy__member_get(json, TFY_S_LOCKS)))
        return false;
    if (!make_signals(r, json)) return false;
    if (!read_all(r, json, read_live, TFY_S_TASKS) || !read_all(r, json, read_ended, TFY_S_ENDED)) return false;
    if (!run->root) return refuse(r, "no first task");
    if (!link_groups(r, tfy__member_get(json, TFY_S_GROUPS)) || !read_all(r, json, link_task, TFY_S_TASKS))
        return false;
    restore_performers(r, json);
    if (!tfy__limit_read(run, tfy__member_get(json, TFY_S_STARTS), r->back_ms) ||
        !tfy__fork_begin(run, tfy__member_get(json, TFY_S_FORK_OF), run->history->snapshot_lsn + 1))
        return no_memory(r);
    return attach(r, json);
}

int tfy__snapshot_restore(TfyLoop *loop, Run *run, const TfyHistory *history, char *error_text)
{
    const TfyProgram *program = program_of(run);
    error_text[0] = '\0';
    /* If the clock was set back meanwhile, pauses start anew: now, or when that was detected (parked.c). */
    const int64_t taken_ms = history->snapshot_ms, again_ms = run->log.parked_at_ms;
    const int64_t since_ms = again_ms && again_ms + TFY_AHEAD_MS <= taken_ms ? again_ms : loop->now_ms;
    Reader r = {.loop = loop,
                .run = run,
                .scratch = {.heap = &loop->heap, .loop = loop},
                .exact = {program->errors, program->error_count},
                .back_ms = taken_ms > loop->now_ms ? taken_ms - since_ms : 0,
                .error_text = error_text};
    bool ok = run->loaded->snapshots;
    ok = ok ? read_run(&r, history->snapshot) : refuse(&r, "no program that can restore it");
    for (size_t i = 0; i < r.object_count; i++) tfy_drop(&r.scratch, r.objects[i]);
    free(r.objects);
    free(r.groups);
    run->snapshot_bytes = history->snapshot_bytes;
    return ok ? 0 : r.code ? r.code : TFY_E_DATA;
}

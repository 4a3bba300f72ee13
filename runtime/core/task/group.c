/* group.c: parallel and race: tasks that are bodies of one statement, and the steps of their parent that wait for
 * them.
 *
 * A group knows how many of its bodies are alive, which finished first and which failed first, in the order of the
 * log. So the end of a body costs the same for any number of bodies, and a replay, which ends them in the recorded
 * order, decides the same. The values of the bodies are in their own TaskExit records; the step's JoinResult says
 * only what was decided. */
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"

#define ABANDONED "its group has ended"

/* ---- making bodies ---- */

static TaskRest *body_at(TfyTask *task, const TfyObj *handles, uint32_t index)
{
    TaskRest *body = tfy__task_of_handle(rest_of(task)->run, tfy_list_item(handles, index).i);
    CHECK(body);
    return body;
}

static uint32_t body_count(const TfyObj *handles)
{
    return handles ? ((const TfyList *)handles)->len : 0;
}

static Group *group_of(TfyTask *task, const TfyObj *handles)
{
    return body_count(handles) ? body_at(task, handles, 0)->group : NULL;
}

Group *tfy__group_new(Run *run)
{
    Group *group = calloc(1, sizeof *group);
    if (!group) return NULL;
    group->next = run->groups;
    run->groups = group;
    return group;
}

void tfy__groups_free(Run *run)
{
    while (run->groups) {
        Group *group = run->groups;
        run->groups = group->next;
        free(group);
    }
}

/* Everything that can fail comes before the body is made: a task that the log knows cannot be undone. */
bool tfy_branch(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                TfyObj **handles)
{
    if (task->state & T_HALTED) return false;
    uint32_t mark = tfy_mark(task); /* entries below may be the arguments */
    if (!*handles) {
        TfyObj *list = tfy_list_of(task, &tfy_type_handles, 0, NULL);
        if (!list) return false;
        *handles = tfy_keep(list);
        tfy_cut(task, mark);
    }
    Group *group = group_of(task, *handles);
    if (!group && !(group = tfy__group_new(rest_of(task)->run))) return tfy__starved(task);
    if (!tfy_list_push(task, point->line, handles, tfy_of_int(0))) return false;
    TfyValue *place = &((TfyList *)*handles)->items[body_count(*handles) - 1];
    TaskRest *body = tfy__task_spawn(task, point, workflow, args, BOND_BODY);
    if (!body) {
        ((TfyList *)*handles)->len--;
        return false;
    }
    place->i = tfy__task_handle(body);
    body->group = group;
    body->joined = true; /* the group handles its failure */
    group->alive++;
    return true;
}

/* ---- the outcome of a step ---- */

/* What is known about a step's bodies: whether it is enough to answer the step. */
typedef struct Verdict {
    bool known;
    /* the body whose failure is raised, or which won; NULL: none in particular */
    const TaskRest *body;
    bool failed; /* the answer is the body's failure */
    bool room;   /* room: the answer */
} Verdict;

static Verdict judge(const Step *step)
{
    const TfyCall *call = &step->call;
    const Group *group = group_of(call->task, call->args[0].o), nobody = {0};
    if (!group) group = &nobody;
    const TaskRest *first = group->first_ended;
    switch (call->tool->family) {
    case TFY_F_PARALLEL:
        return (Verdict){.known = group->first_failed || !group->alive,
                         .body = group->first_failed,
                         .failed = group->first_failed != NULL};
    case TFY_F_RACE:
        return (Verdict){
            .known = first != NULL, .body = first, .failed = first && first->end_state != TFY_TASK_COMPLETED};
    case TFY_F_ROOM: {
        bool free = group->alive < call->args[1].i;
        return (Verdict){.known = group->first_failed || free, .room = !group->first_failed};
    }
    default: return (Verdict){.known = !group->alive};
    }
}

static uint32_t index_of(const TfyCall *call, const TaskRest *body)
{
    const TfyObj *handles = call->args[0].o;
    uint32_t index = 0;
    while (tfy_list_item(handles, index).i != tfy__task_handle(body)) {
        index++;
        CHECK(index < body_count(handles));
    }
    return index;
}

static void write_verdict(TfyBuffer *out, const Step *step, const Verdict *verdict)
{
    const TfyCall *call = &step->call;
    tfy__put_begin(out);
    tfy__put_text(out, TFY_P_GROUP, call->tool->name);
    if (verdict->body) tfy__put_text(out, TFY_P_PATH, verdict->body->log.path);
    if (call->tool->family == TFY_F_RACE) tfy__put_int(out, TFY_P_INDEX, index_of(call, verdict->body));
    if (call->tool->family == TFY_F_ROOM) tfy__put_flag(out, TFY_P_VALUE, verdict->room);
    if (verdict->failed) tfy__put_error(out, verdict->body->failure);
    tfy__put_end(out);
}

/* The values of all bodies that have one, in the order of the handles, as a list or record. */
static bool collect(TfyCall *call, TfyValue *out)
{
    const TfyType *type = call->result;
    const TfyObj *handles = call->args[0].o;
    uint32_t count = body_count(handles), with = 0;
    TfyValue *values = malloc((count + 1) * sizeof *values);
    for (uint32_t i = 0; values && i < count; i++) {
        const TaskRest *body = body_at(call->task, handles, i);
        if (body->workflow->result->kind != TFY_NOTHING) values[with++] = body->value;
    }
    if (!values)
        tfy__starved(call->task);
    else
        out->o = type->kind == TFY_LIST ? tfy_list_of(call->task, type, with, values)
                                        : tfy_record_of(call->task, type, values);
    free(values);
    return values && out->o;
}

static bool winner(TfyCall *call, const TaskRest *body, TfyValue *out)
{
    CHECK(index_of(call, body) < call->result->case_count);
    const TfyCase *chosen = &call->result->cases[index_of(call, body)];
    out->o = chosen->bare
                 ? chosen->bare
                 : tfy_enum_of(call->task, call->result, (uint32_t)(chosen - call->result->cases), &body->value);
    return out->o != NULL;
}

/* A body's failure is raised as it is. A body that was cancelled has no error of its own. */
static void raise_failure(Step *step, const TaskRest *body)
{
    TfyTask *task = step->call.task;
    if (body->end_state == TFY_TASK_CANCELLED)
        tfy__step_raise_task_failed(step, body->log.path, tfy__failure_kind(body), "it was killed");
    else
        tfy_fail_with(task, body->failure);
}

/* The step's value (borrowed), or task->error. */
static bool make_answer(Step *step, const Verdict *verdict, TfyValue *out)
{
    TfyCall *call = &step->call;
    *out = tfy_of_bool(verdict->room);
    if (verdict->failed) {
        raise_failure(step, verdict->body);
        return false;
    }
    if (call->result->kind == TFY_NOTHING || call->tool->family == TFY_F_ROOM) return true;
    return call->tool->family == TFY_F_RACE ? winner(call, verdict->body, out) : collect(call, out);
}

/* ---- live ---- */

static void abandon(TfyTask *task, const TfyObj *handles)
{
    for (uint32_t i = 0; i < body_count(handles); i++)
        tfy__cancel_request(body_at(task, handles, i), ABANDONED, NULL, false);
}

/* The other bodies can no longer matter. They are cancelled before they do anything else, so that what one of them
 * was handed in the same turn is returned; the parent, which abandons them when it continues, would be too late
 * for that. */
static bool decides(const Step *step, const Verdict *verdict)
{
    uint8_t family = step->call.tool->family;
    return verdict->failed || family == TFY_F_RACE || (family == TFY_F_ROOM && !verdict->room);
}

static void settle(Step *step, const Verdict *verdict)
{
    TfyTask *task = step->call.task;
    TfyObj *handles = decides(step, verdict) ? tfy_keep(step->call.args[0].o) : NULL;
    TfyValue value;
    bool ok = make_answer(step, verdict, &value);
    TfyBuffer out = {0};
    if (ok || verdict->failed) {
        write_verdict(&out, step, verdict);
    } else { /* no memory for the value: the log must record that */
        tfy__put_begin(&out);
        tfy__put_text(&out, TFY_P_GROUP, step->call.tool->name);
        tfy__put_error(&out, step->call.task->error);
        tfy__put_end(&out);
    }
    TfyTicket ticket = tfy__step_append(step, TFY_R_JOIN_RESULT, &out);
    tfy__buffer_free(&out);
    if (ticket > 0) tfy__step_outcome(step, ok, value);
    if (ticket > 0) abandon(task, handles);
    tfy_drop(task, handles);
}

/* Only the parent waits, one step at a time. */
static void wait_for(Group *group, Step *step)
{
    CHECK(group->alive > 0 && !group->waiter.first);
    tfy__wait_enter(&group->waiter, step);
}

static void group_live(Step *step)
{
    TfyCall *call = &step->call;
    step->stage = STAGE_RUN;
    if (call->tool->family == TFY_F_ABANDON) abandon(call->task, call->args[0].o);
    Verdict verdict = judge(step);
    if (verdict.known)
        settle(step, &verdict);
    else
        wait_for(group_of(call->task, call->args[0].o), step);
}

void tfy__group_body_ended(TaskRest *body)
{
    Group *group = body->group;
    CHECK(body->end_state);
    CHECK(group->alive > 0);
    CHECK(!group->first_failed || group->first_ended);
    group->alive--;
    if (!group->first_ended) group->first_ended = body;
    if (!group->first_failed && body->end_state != TFY_TASK_COMPLETED) group->first_failed = body;
    Step *waiter = group->waiter.first;
    if (!waiter) return;
    Verdict verdict = judge(waiter);
    if (!verdict.known) return;
    tfy__wait_leave(waiter);
    settle(waiter, &verdict);
}

/* ---- recorded ---- */

static void group_take(Step *step, const TfyLogRecord *record)
{
    Verdict verdict = judge(step);
    TfyBuffer out = {0};
    TfyValue value;
    TfyPayload payload = {0};
    if (tfy__record_failed(record)) tfy__payload_open(&payload, record);
    json_t *error = tfy__payload_get(&payload, TFY_P_ERROR);
    bool no_memory = error && !tfy__payload_get(&payload, TFY_P_PATH), ok = false;
    if (verdict.known) write_verdict(&out, step, &verdict);
    if (no_memory || tfy__step_same_outcome(step, record, out.data)) {
        tfy__history_take(step->rest);
        if (no_memory)
            tfy__step_raise_recorded(step, error);
        else
            ok = make_answer(step, &verdict, &value);
        if (ok)
            tfy__step_answer(step, value);
        else
            step->stage = STAGE_SETTLE;
    }
    tfy__buffer_free(&out);
    tfy__payload_close(&payload);
}

const WaitKind tfy__wait_group = {
    .live = group_live, .take = group_take, .record = TFY_R_JOIN_RESULT, .waiting = TFY_TASK_JOINING};

/* conc.c: parallel, race and undo.
 *
 * A body of parallel or race is a task whose frame begins as a copy of the variables around it; so does that of an undo, which runs in the
 * task of its step. */
#include "interp.h"

#include <stdlib.h>

/* ---- undo ---- */

Undo *undo_push(Frame *f, const Policy *policy)
{
    Undo *undo = must_alloc(sizeof *undo);
    *undo = (Undo){.policy = policy, .vars = vars_copy(f), .below = f->undo};
    f->undo = undo;
    f->undo_count++;
    return undo;
}

void undo_drop(Frame *f, const Undo *undo)
{
    for (Undo **link = &f->undo; *link; link = &(*link)->below) {
        if (*link != undo) continue;
        *link = undo->below;
        f->undo_count--;
        return;
    }
}

/* What is being raised waits, and cancellation is held. What fails in an undo changes nothing. */
void undo_run(Frame *f, uint32_t height)
{
    Task *task = f->task;
    Raised pending = task->raised;
    f->mask++;
    while (f->undo_count > height) {
        Undo *undo = f->undo;
        const Value *nothing;
        f->undo = undo->below;
        f->undo_count--;
        const Variable *answer = undo->policy->closure->answer;
        if (answer) undo->vars[answer->id] = undo->answer ? undo->answer : &value_null;
        task->raised = (Raised){0};
        activate(task, f, (Code){.decl = f->decl, .block = undo->policy->block}, undo->vars, -1, &nothing, NULL);
    }
    f->mask--;
    task->raised = pending;
}

void undo_hand_on(Frame *to, Undo *undo)
{
    if (!undo) return;
    undo_hand_on(to, undo->below);
    undo->below = to->undo;
    to->undo = undo;
    to->undo_count++;
}

/* ---- bodies ---- */

static void group_open(Frame *f, Group *group, uint32_t most)
{
    *group = (Group){.parent = f->task, .bodies = must_alloc(most * sizeof *group->bodies)};
}

static void group_add(Frame *f, Group *group, Code code, const Value **vars)
{
    Task *body = task_start(f->task->interp, f->task, code, vars, false);
    body->group = group;
    group->bodies[group->count++] = body;
    group->alive++;
}

/* Cancels those that still run, and waits for their cleanup, before what is pending goes on. */
static void group_abandon(Frame *f, Group *group)
{
    Task *task = f->task;
    Raised pending = task->raised;
    task->raised = (Raised){0};
    f->mask++;
    for (uint32_t i = 0; i < group->count; i++)
        if (!group->bodies[i]->end) task_kill(group->bodies[i]);
    group_wait(task, group, GROUP_GONE);
    f->mask--;
    task->raised = pending;
}

static void raise_failure(Task *task, const Task *body)
{
    if (body->raised.kind == RAISED_CANCEL)
        raise_task_failed(task, body);
    else
        task->raised = body->raised;
}

/* Waits for all. False: something is being raised, and all have ended. */
static bool group_all(Frame *f, Group *group, bool ok)
{
    ok = ok && group_wait(f->task, group, GROUP_ALL);
    if (ok && !group->failed) return true;
    if (ok) raise_failure(f->task, group->failed);
    group_abandon(f, group);
    return false;
}

static void start_bodies(Frame *f, Group *group, const Expr *e)
{
    uint32_t count = 0;
    for (const ParallelBody *body = e->bodies; body; body = body->next) count++;
    group_open(f, group, count);
    for (const ParallelBody *body = e->bodies; body; body = body->next)
        group_add(f, group, (Code){.decl = f->decl, .block = body->block, .yield = body->yield}, vars_copy(f));
}

/* ---- the expressions ---- */

const Value *eval_parallel(Frame *f, const Expr *e)
{
    Group *group = must_alloc(sizeof *group);
    start_bodies(f, group, e);
    if (!group_all(f, group, true)) return NULL;
    if (e->type->kind == TYPE_NOTHING) return &value_null;
    Value *record = value_items(V_RECORD, e->type->field_count);
    uint32_t at = 0, number = 0;
    for (const ParallelBody *body = e->bodies; body; body = body->next, number++)
        if (body->closure->result->kind != TYPE_NOTHING) record->items[at++] = group->bodies[number]->value;
    record->type = e->type;
    return record;
}

const Value *eval_race(Frame *f, const Expr *e)
{
    Group *group = must_alloc(sizeof *group);
    start_bodies(f, group, e);
    bool ok = group_wait(f->task, group, GROUP_FIRST);
    if (ok && group->first->end != END_COMPLETED) {
        raise_failure(f->task, group->first);
        ok = false;
    }
    group_abandon(f, group);
    if (!ok) return NULL;
    uint32_t winner = 0;
    while (group->bodies[winner] != group->first) winner++;
    Value *made = value_items(V_CASE, e->type->cases[winner].has_fields ? 1 : 0);
    if (made->len) made->items[0] = group->first->value;
    made->type = e->type;
    made->case_index = winner;
    return made;
}

static const Value **iteration_vars(const Frame *f, const Expr *e, const Value *over, int64_t at)
{
    const Value **vars = vars_copy(f), *number = value_int(at);
    const Variable *first = e->closure->first, *second = e->closure->second;
    bool map = over->kind == V_MAP;
    if (first) vars[first->id] = e->range_end ? number : map ? over->keys[at] : second ? number : over->items[at];
    if (second) vars[second->id] = over->items[at];
    return vars;
}

const Value *eval_parallel_for(Frame *f, const Expr *e)
{
    Group *group = must_alloc(sizeof *group);
    const Value *over = eval(f, e->range), *last = over && e->range_end ? eval(f, e->range_end) : over;
    const Value *limit = last && e->limit ? eval(f, e->limit) : last;
    if (!limit) return NULL;
    int64_t at = e->range_end ? over->i : 0, end = e->range_end ? last->i : (int64_t)over->len;
    group_open(f, group, end > at ? (uint32_t)(end - at) : 0);
    group->limit = e->limit ? limit->i : 0;
    bool ok = true;
    for (; ok && at < end && !group->failed; at++) {
        if (e->limit && (!(ok = group_wait(f->task, group, GROUP_ROOM)) || group->failed)) break;
        group_add(f, group, (Code){.decl = f->decl, .block = e->block}, iteration_vars(f, e, over, at));
    }
    if (!group_all(f, group, ok)) return NULL;
    if (e->type->kind == TYPE_NOTHING) return &value_null;
    Value *list = value_items(V_LIST, group->count);
    for (uint32_t i = 0; i < group->count; i++) list->items[i] = group->bodies[i]->value;
    return list;
}

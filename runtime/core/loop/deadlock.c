/* deadlock.c: detects that no task can ever run again, and shows the graph of which task waits for which.
 *
 * A task is stuck if only another task of its run could wake it: it waits for an end, a message, a lock or its
 * children, and no deadline bounds that, neither its step's nor that of a call or block around it. A run is stuck
 * if all its live tasks are; since tasks of different runs share nothing, only input from outside could help it
 * then. A task that is not known to be stuck counts as able to continue, so a wait for people, for signals or for
 * any new kind of event is never called a deadlock. Nothing here costs anything before the loop is idle. */
#include <stdlib.h>
#include <string.h>

#include "base/seldom.h"
#include "core/step/step.h"

#define TASKS_SHOWN 20u /* of a run */
#define PATHS_SHOWN 8u  /* of the tasks that one task waits for */

/* ---- stuck or not ---- */

static bool time_bounds(const TaskRest *rest)
{
    const TfyTask *task = rest->task;
    for (uint32_t i = 0; i < rest->deadline_count; i++)
        if (rest->deadlines[i].timer) return true;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev)
        if (frame_at(task, at)->timer) return true;
    return false;
}

static bool step_stuck(const Step *step)
{
    if (step->stage != STAGE_RUN || !step->queue || step->timer || step->queued) return false;
    const WaitKind *inner = tfy__step_wait_kind(step);
    return inner && inner != &tfy__wait_signal;
}

static bool task_stuck(const TaskRest *rest)
{
    const TfyTask *task = rest->task;
    if (task->state & (T_QUEUED | T_HALTED)) return false;
    bool waits = rest->step ? step_stuck(rest->step) : rest->after_left || (task->state & T_RETURNING);
    return waits && !time_bounds(rest);
}

static bool run_stuck(const Run *run)
{
    uint32_t at = 0;
    if (tfy__folded_next(run->loop, run, &at)) return false; /* a folded task sleeps */
    for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        if (!rest->end_state && !task_stuck(rest)) return false;
    return !run->ended;
}

bool tfy__deadlocked(const TfyLoop *loop)
{
    for (const Run *run = loop->runs.first; run; run = run->next)
        if (!run->ended && !run_stuck(run)) return false;
    return loop->runs_live > 0;
}

static const Step *first_unanswered(const TfyLoop *loop)
{
    for (const Run *run = loop->runs.first; run; run = run->next)
        for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
            if (!rest->end_state && rest->step && rest->step->in_call == CALL_UNANSWERED) return rest->step;
    return NULL;
}

bool tfy__unanswered_tell(TfyLoop *loop)
{
    const Step *step = loop->rehearsal ? first_unanswered(loop) : NULL;
    if (step) loop->rehearsal->stuck(loop->rehearsal->state, &step->call);
    return step != NULL;
}

/* ---- the graph ---- */

typedef struct Holder {
    const Lock *lock;
    const TaskRest *rest;
} Holder;

/* A run's live tasks and which of them holds what. */
typedef struct Graph {
    const TaskRest **tasks; /* by number */
    uint32_t count;
    Holder *holders; /* by lock, then by task */
    uint32_t holder_count;
} Graph;

static int by_tid(const void *a, const void *b)
{
    const TaskRest *left = *(const TaskRest *const *)a, *right = *(const TaskRest *const *)b;
    return (left->log.tid > right->log.tid) - (left->log.tid < right->log.tid);
}

static int by_lock(const void *a, const void *b)
{
    const Holder *left = a, *right = b;
    if (left->lock != right->lock) return (uintptr_t)left->lock < (uintptr_t)right->lock ? -1 : 1;
    return by_tid(&left->rest, &right->rest);
}

static bool graph_init(Graph *graph, const Run *run)
{
    uint32_t holds = 0;
    *graph = (Graph){0};
    for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
        for (const Hold *hold = rest->holds; hold; hold = hold->next) holds++;
    graph->tasks = malloc((run->live + 1) * sizeof *graph->tasks);
    graph->holders = malloc((holds + 1) * sizeof *graph->holders);
    if (!graph->tasks || !graph->holders) return false;
    for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
        if (rest->end_state) continue;
        graph->tasks[graph->count++] = rest;
        for (const Hold *hold = rest->holds; hold; hold = hold->next)
            graph->holders[graph->holder_count++] = (Holder){hold->lock, rest};
    }
    qsort(graph->tasks, graph->count, sizeof *graph->tasks, by_tid);
    qsort(graph->holders, graph->holder_count, sizeof *graph->holders, by_lock);
    return true;
}

static void graph_deinit(Graph *graph)
{
    free(graph->tasks);
    free(graph->holders);
}

static uint32_t graph_find(const Graph *graph, const TaskRest *rest)
{
    const TaskRest **found = bsearch(&rest, graph->tasks, graph->count, sizeof *graph->tasks, by_tid);
    return found ? (uint32_t)(found - graph->tasks) : NO_INDEX;
}

/* The tasks that one task waits for; count also counts those that are not kept. */
typedef struct Awaited {
    const TaskRest *tasks[PATHS_SHOWN];
    uint32_t count;
} Awaited;

static void await(Awaited *awaited, const TaskRest *rest)
{
    if (!rest || rest->end_state) return;
    if (awaited->count < PATHS_SHOWN) awaited->tasks[awaited->count] = rest;
    awaited->count++;
}

static void await_children(Awaited *awaited, const TaskRest *rest)
{
    TfyLoop *loop = rest->task->loop;
    /* a sleeping task is not in a deadlock */
    for (uint32_t child = frame_at(rest->task, rest->task->top)->children; child;
         child = tfy__siblings(loop, child)->next)
        if (!(child & FOLDED_REF)) await(awaited, rest_of(task_at(loop, child - 1)));
}

static void await_bodies(Awaited *awaited, const Step *step)
{
    const TfyObj *handles = step->call.args[0].o;
    for (uint32_t i = 0; handles && i < ((const TfyList *)handles)->len; i++)
        await(awaited, tfy__task_of_handle(step->rest->run, tfy_list_item(handles, i).i));
}

/* A step's queue is a member of the lock it waits for. */
static const Lock *awaited_lock(const Step *step)
{
    return (const Lock *)((const char *)step->queue - offsetof(Lock, waiters));
}

static void await_holders(Awaited *awaited, const Graph *graph, const Lock *lock)
{
    uint32_t low = 0, high = graph->holder_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if ((uintptr_t)graph->holders[middle].lock < (uintptr_t)lock)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < graph->holder_count && graph->holders[low].lock == lock; low++)
        await(awaited, graph->holders[low].rest);
}

/* The tasks that it starts after. */
static void await_former(Awaited *awaited, const Graph *graph, const TaskRest *rest)
{
    for (uint32_t i = 0; i < graph->count; i++)
        for (const Follower *follower = graph->tasks[i]->followers; follower; follower = follower->next)
            if (follower->child == rest) await(awaited, graph->tasks[i]);
}

/* Empty for a task that waits for a message: any task could send or receive one. */
static Awaited awaited_by(const Graph *graph, const TaskRest *rest)
{
    Awaited awaited = {0};
    const Step *step = rest->step;
    if (!step) {
        if (rest->after_left)
            await_former(&awaited, graph, rest);
        else
            await_children(&awaited, rest);
        return awaited;
    }
    switch (step->call.tool->family) {
    case TFY_F_JOIN: await(&awaited, step->target); break;
    case TFY_F_LOCK: await_holders(&awaited, graph, awaited_lock(step)); break;
    case TFY_F_SEND:
    case TFY_F_RECV: break;
    default: await_bodies(&awaited, step); break;
    }
    return awaited;
}

/* ---- a cycle in the graph ---- */

enum { UNSEEN, ON_THE_WAY, SEEN };

/* Walks from one task to those that it waits for. True: the walk met itself; way[from .. length) is the cycle. */
static bool walk(const Graph *graph, uint32_t start, uint8_t *colour, uint32_t *way, uint8_t *tried, uint32_t *from,
                 uint32_t *length)
{
    *length = 0;
    way[(*length)++] = start;
    colour[start] = ON_THE_WAY;
    while (*length) {
        uint32_t at = way[*length - 1];
        Awaited awaited = awaited_by(graph, graph->tasks[at]);
        uint32_t kept = awaited.count < PATHS_SHOWN ? awaited.count : PATHS_SHOWN;
        if (tried[at] == kept) {
            colour[at] = SEEN;
            (*length)--;
            continue;
        }
        uint32_t next = graph_find(graph, awaited.tasks[tried[at]++]);
        if (next == NO_INDEX || colour[next] == SEEN) continue;
        if (colour[next] == ON_THE_WAY) {
            for (*from = 0; way[*from] != next;) (*from)++;
            return true;
        }
        colour[next] = ON_THE_WAY;
        way[(*length)++] = next;
    }
    return false;
}

static void say_circle(TfyBuffer *out, const Graph *graph)
{
    uint8_t *colour = calloc(graph->count + 1, 1), *tried = calloc(graph->count + 1, 1);
    uint32_t *way = malloc((graph->count + 1) * sizeof *way), from = 0, length = 0;
    bool found = false;
    for (uint32_t i = 0; colour && tried && way && i < graph->count && !found; i++)
        found = colour[i] == UNSEEN && walk(graph, i, colour, way, tried, &from, &length);
    if (found) {
        tfy__buffer_text(out, "  in a cycle: ");
        for (uint32_t i = from; i < length && i < from + TASKS_SHOWN; i++)
            tfy__buffer_printf(out, "%s -> ", graph->tasks[way[i]]->log.path);
        bool whole = length - from <= TASKS_SHOWN;
        tfy__buffer_printf(out, "%s%s\n", whole ? "" : "... -> ", graph->tasks[way[from]]->log.path);
    }
    free(colour);
    free(tried);
    free(way);
}

/* ---- in words ---- */

static void say_paths(TfyBuffer *out, const Awaited *awaited, const char *one, const char *several)
{
    tfy__buffer_printf(out, "%s ", awaited->count == 1 ? one : several);
    for (uint32_t i = 0; i < awaited->count && i < PATHS_SHOWN; i++)
        tfy__buffer_printf(out, "%s%s", i ? ", " : "", awaited->tasks[i]->log.path);
    if (awaited->count > PATHS_SHOWN) tfy__buffer_printf(out, " and %u more", awaited->count - PATHS_SHOWN);
}

static void say_lock(TfyBuffer *out, const Lock *lock, const Awaited *holders)
{
    const TfyString *name = (const TfyString *)lock->name;
    tfy__buffer_printf(out, "waits for %s ", lock->permits == 1 ? "lock" : "semaphore");
    tfy__buffer_json_string(out, name->bytes, name->byte_len);
    if (holders->count) say_paths(out, holders, ", held by task", ", held by tasks");
}

static void say_channel(TfyBuffer *out, const Step *step)
{
    bool sends = step->call.tool->family == TFY_F_SEND;
    size_t member = sends ? offsetof(Channel, senders) : offsetof(Channel, receivers);
    const Channel *channel = (const Channel *)((const char *)step->queue - member);
    if (sends)
        tfy__buffer_printf(out, "waits to send to channel %s, which is full (%lld) and from which nobody receives",
                           channel->name, (long long)channel->capacity);
    else
        tfy__buffer_printf(out, "waits to receive from channel %s, which is empty and to which nobody sends",
                           channel->name);
}

static void say_wait(TfyBuffer *out, const Graph *graph, const TaskRest *rest)
{
    const Step *step = rest->step;
    Awaited awaited = awaited_by(graph, rest);
    if (!step && rest->after_left) {
        say_paths(out, &awaited, "starts after task", "starts after tasks");
        return;
    }
    if (!step) {
        say_paths(out, &awaited, "has finished and waits for its child", "has finished and waits for its children");
        return;
    }
    switch (step->call.tool->family) {
    case TFY_F_JOIN: say_paths(out, &awaited, "waits for the end of task", "waits for the end of task"); break;
    case TFY_F_LOCK: say_lock(out, awaited_lock(step), &awaited); break;
    case TFY_F_SEND:
    case TFY_F_RECV: say_channel(out, step); break;
    default: say_paths(out, &awaited, "waits for its body", "waits for its bodies"); break;
    }
}

static void say_task(TfyBuffer *out, const Graph *graph, const TaskRest *rest)
{
    const TfyWorkflow *running = frame_at(rest->task, rest->task->top)->workflow;
    const TfyProgram *program = program_of(rest->run);
    uint32_t line = rest->step ? rest->step->call.site->point->line : running->line;
    const char *file = tfy__line_file(program, &line);
    tfy__buffer_printf(out, "  task %s (%s%s%s, %s:%u) ", rest->log.path, rest->workflow->name,
                       running == rest->workflow ? "" : ", in ", running == rest->workflow ? "" : running->name,
                       file ? file : program->name, line);
    say_wait(out, graph, rest);
    tfy__buffer_char(out, '\n');
}

TFY_SELDOM static void say_run(TfyBuffer *out, const Run *run, bool with_name)
{
    Graph graph;
    if (graph_init(&graph, run)) {
        if (with_name)
            tfy__buffer_printf(out, "run %s: %u task%s, and nothing can wake %s any more\n", run->uuid, graph.count,
                               graph.count == 1 ? "" : "s", graph.count == 1 ? "it" : "them");
        for (uint32_t i = 0; i < graph.count && i < TASKS_SHOWN; i++) say_task(out, &graph, graph.tasks[i]);
        if (graph.count > TASKS_SHOWN) tfy__buffer_printf(out, "  and %u more\n", graph.count - TASKS_SHOWN);
        say_circle(out, &graph);
    }
    graph_deinit(&graph);
}

const char *tfy_deadlock(TfyLoop *loop)
{
    free(loop->deadlock_text);
    loop->deadlock_text = NULL;
    TfyBuffer out = {0};
    for (const Run *run = loop->runs.first; run && loop->log; run = run->next)
        if (run_stuck(run)) say_run(&out, run, true);
    if (out.failed) tfy__buffer_free(&out);
    loop->deadlock_text = out.data;
    return out.data;
}

/* ---- recording it ---- */

/* The record is in the root's chain and belongs to no step. */
static int record_run(TfyLoop *loop, Run *run)
{
    TfyBuffer graph = {0}, out = {0};
    say_run(&graph, run, false);
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_WHY, "deadlock");
    tfy__put_bytes(&out, TFY_P_GRAPH, graph.data ? graph.data : "", graph.len);
    tfy__put_end(&out);
    TfyTicket ticket = graph.failed || out.failed ? TFY_E_NOMEM
                                                  : tfy__log_append(loop->log, &run->root->log, TFY_R_SHUTDOWN_MARKER,
                                                                    run->root->log.step, 0, out.data, out.len);
    tfy__buffer_free(&graph);
    tfy__buffer_free(&out);
    return ticket < 0 ? (int)ticket : 0;
}

int tfy__deadlock_record(TfyLoop *loop)
{
    int code = 0;
    for (Run *run = loop->runs.first; run && !code; run = run->next)
        if (run_stuck(run)) code = record_run(loop, run);
    return code ? code : tfy__log_sync(loop->log);
}

bool tfy__deadlock_tell(Run *run)
{
    if (!run_stuck(run)) return false;
    if (!run->stuck_told) {
        TfyBuffer out = {0};
        say_run(&out, run, true);
        if (out.data && !out.failed) tfy__report_text(run->loop, "%s", out.data);
        tfy__buffer_free(&out);
        if (run->loop->options.stay && record_run(run->loop, run) < 0) tfy__loop_fail_log(run->loop, TFY_E_IO);
    }
    return run->stuck_told = true;
}

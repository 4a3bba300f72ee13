/* lives.c: tools that work outside, each in the life of a session (cluster.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

enum { LATE_PART = 20 }; /* of a lease: how much later than the deadline the kernel ends a watcher and its tools */

static Machine *machine_of_loop(const TfyLoop *loop)
{
    for (uint32_t i = 0; i < cluster.machine_count; i++)
        if (cluster.machines[i].loop == loop) return &cluster.machines[i];
    abort();
}

static Life *life_of_call(const TfyCall *call)
{
    for (Life *life = cluster.lives; life; life = life->next)
        if (life->call == call) return life;
    return NULL;
}

bool lives_work(int64_t session)
{
    for (const Life *life = cluster.lives; life; life = life->next)
        if (life->works && life->session == session) return true;
    return false;
}

/* ---- the end of a life ---- */

static void check_newest(const Life *life)
{
    const ClusterRun *run = &cluster.runs[life->run];
    if (life->fence < run->newest)
        sim_broken("I2", "%s works for owner %lld of the run, and owner %lld has begun a tool", life->key,
                   (long long)life->fence, (long long)run->newest);
}

static void dies(SimEvent *event)
{
    Life *life = event->arg;
    if (!life->works) return;
    SimEntry *entry = sim_entry_of_key(life->key);
    check_newest(life);
    if (!entry->happened) entry->happened = sim_percent(&sim.chance, 50);
    life->works = false;
    sim_trace("%s is ended", life->key);
}

static bool belongs(const Life *life, const Machine *machine)
{
    return life->machine == machine && life->process == machine->process;
}

void lives_end_at(Machine *machine, int64_t least_ns, int64_t most_ns)
{
    for (Life *life = cluster.lives; life; life = life->next) {
        if (!belongs(life, machine) || !life->works) continue;
        const int64_t range_ns = most_ns > least_ns ? most_ns - least_ns : 0;
        sim_plan_event(least_ns + cluster_soon((uint32_t)(range_ns / 1000)), 0, dies, life, 0);
    }
}

void lives_lose_runtime(Machine *machine, bool watched)
{
    const int64_t deadline_ns = machine_when(machine, machine->deadline_ns) - sim.now_ns;
    const int64_t last_ns =
        machine_when(machine, machine->deadline_ns + cluster.lease_ms * CLUSTER_MS / LATE_PART) - sim.now_ns;
    const int64_t thaw_ns = machine->frozen_ns - sim.now_ns, soon_ns = cluster_soon(800000);
    for (Life *life = cluster.lives; life; life = life->next)
        if (belongs(life, machine)) life->call = NULL;
    if (!watched)
        lives_end_at(machine, 0, CLUSTER_MS); /* PDEATHSIG */
    else if (!machine_watcher_stopped(machine))
        lives_end_at(machine, 0, soon_ns < deadline_ns ? soon_ns : deadline_ns);
    else if (thaw_ns < last_ns)
        lives_end_at(machine, thaw_ns, thaw_ns + CLUSTER_MS);
    else
        lives_end_at(machine, last_ns, last_ns);
}

/* ---- work and its answer ---- */

static int64_t takes(void)
{
    const uint32_t lease_us = (uint32_t)cluster.lease_ms * 1000;
    if (cluster_chance(cluster.long_tools)) return cluster_soon(2 * lease_us);
    return cluster_soon(sim_percent(&sim.chance, 20) ? 3000000 : 30000);
}

/* The answer waits for a process that is stopped, or busy. */
static void answers(SimEvent *event)
{
    Life *life = event->arg;
    Machine *machine = life->machine;
    if (!life->call) return; /* nobody hears it */
    const int64_t wait_ns = machine_wait_ns(machine);
    if (wait_ns) {
        sim_plan_event(wait_ns, 0, answers, life, event->number);
        return;
    }
    TfyCall *call = life->call;
    life->call = NULL;
    sim_trace("answer %s", call->key);
    if (event->number) {
        call->outcome = TFY_UNKNOWN;
        tfy__call_tool_error(call, 137, "it was ended by a signal");
    } else {
        tfy__perform_extern.start(call);
    }
    machine_wake(machine);
}

/* A tool that ends without saying what became of it. A probe that finds nothing would fail the step. */
static bool breaks_off(const Life *life)
{
    const TfyTool *tool = life->call ? life->call->site->tool : NULL;
    return tool && life->once && !tool->probe && cluster_chance(5);
}

static void happens(SimEvent *event)
{
    Life *life = event->arg;
    if (!life->works) return;
    SimEntry *entry = sim_entry_of_key(life->key);
    const bool vague = breaks_off(life);
    check_newest(life);
    entry->vague = vague;
    entry->happened = !vague || sim_percent(&sim.chance, 50);
    life->works = false;
    sim_trace("%s %s", life->key, vague ? "breaks off" : "happens");
    if (life->call) sim_plan_event(cluster_soon(2000), 0, answers, life, vague);
}

/* ---- the beginning ---- */

static bool has_start(const TfySharedRun *row, const TfyLog *log, const TfyCall *call)
{
    const int64_t tid = tfy__log_stored_tid(log, rest_of(call->task)->log.tid);
    for (size_t i = row->records.count; i > 0; i--) {
        const TfyLogRecord *record = tfy__rows_at(&row->records, i - 1);
        if (record->tid == tid && record->step == call->step && record->type == TFY_R_STEP_START) return true;
    }
    return false;
}

/* I5 */
static void check_durable(const Machine *machine, const ClusterRun *run, const TfyCall *call)
{
    const TaskRest *rest = rest_of(call->task);
    const TfyLog *log = tfy__loop_log(call->loop);
    const TfySharedRun *row = tfy__shared_run(cluster.shared, run->id);
    const TfySharedSession *session = tfy__shared_session(cluster.shared, machine->session);
    if (!machine->deadline_ns) sim_broken("I5", "%s begins, and its session has no lease yet", call->key);
    if (session->state != TFY_SESSION_LIVES || row->owner != session->id)
        sim_broken("I5", "%s begins in session %lld, which has ended or does not own the run", call->key,
                   (long long)session->id);
    if (rest->step->sync_ticket > tfy__log_durable(log) ||
        (call->tool->repeat == TFY_ONCE && !has_start(row, log, call)))
        sim_broken("I5", "%s begins before its record is durable", call->key);
}

/* I2, and one at a time of each key */
static void check_alone(const Life *begun)
{
    for (const Life *life = cluster.lives; life; life = life->next) {
        if (!life->works || life->run != begun->run) continue;
        if (life->fence < begun->fence)
            sim_broken("I2", "%s begins for owner %lld, while %s works for owner %lld", begun->key,
                       (long long)begun->fence, life->key, (long long)life->fence);
        if (strcmp(life->key, begun->key) == 0) sim_broken("I2", "%s begins while it works", life->key);
    }
    check_newest(begun);
}

/* L1. The tools of all machines are those of one program. */
static void check_limit(const Life *begun)
{
    uint32_t count = 1;
    for (const Life *life = cluster.lives; life; life = life->next) count += life->works && life->tool == begun->tool;
    if (begun->tool->limit && count > begun->tool->limit)
        sim_broken("L1", "%s begins, and %u of %s work", begun->key, count, begun->tool->name);
}

/* L2 */
static void check_rate(const TfyTool *tool)
{
    enum { KEPT = sizeof cluster.paced->at_ns / sizeof *cluster.paced->at_ns };
    Paced *paced = cluster.paced;
    if (!tool->rate) return;
    while (paced->tool && paced->tool != tool) paced++;
    if (paced == cluster.paced + sizeof cluster.paced / sizeof *cluster.paced || tool->rate > KEPT) abort();
    paced->tool = tool;
    const int64_t first_ns = paced->at_ns[(paced->count + KEPT - tool->rate) % KEPT];
    if (paced->count >= tool->rate && sim.now_ns - first_ns < tool->rate_ms * CLUSTER_MS)
        sim_broken("L2", "%s begins for the %uth time in %lld us", tool->name, tool->rate + 1,
                   (long long)(sim.now_ns - first_ns) / 1000);
    paced->at_ns[paced->count++ % KEPT] = sim.now_ns;
}

/* I3, and w3 of sim.h */
static void enter(const TfyCall *call)
{
    SimEntry *entry = sim_entry_of_key(call->key);
    if (!entry) entry = sim_entry_new(call);
    if (!entry->own_key && entry->digest != call->digest)
        sim_broken("w3", "%s begins again with other arguments under key %s", call->tool->name, call->key);
    entry->begun++;
    if (entry->once && !entry->own_key && entry->begun > entry->allowed)
        sim_broken("I3", "once tool %s began %u times under key %s", call->tool->name, entry->begun, call->key);
    entry->happened = entry->vague = false;
    cluster.outside = true;
    sim_foresee((TfyCall *)call, entry);
    cluster.outside = false;
}

static Life *life_new(Machine *machine, TfyCall *call)
{
    ClusterRun *run = cluster_run_of(tfy__run_uuid(call->task));
    Life *life = calloc(1, sizeof *life);
    if (!life) abort();
    *life = (Life){.run = (uint32_t)(run - cluster.runs),
                   .machine = machine,
                   .process = machine->process,
                   .session = machine->session,
                   .tool = call->site->tool,
                   .once = call->site->tool->repeat == TFY_ONCE,
                   .call = call};
    life->fence = cluster_fence(run, life->session);
    snprintf(life->key, sizeof life->key, "%s", call->key);
    return life;
}

/* The watcher starts nothing that it would have to end at once. */
static bool is_too_late(const Machine *machine)
{
    return machine->ending || machine_clock(machine) >= machine->deadline_ns - machine_margin_ns();
}

static void start(TfyCall *call)
{
    Machine *machine = machine_of_loop(call->loop);
    Life *life = life_new(machine, call);
    if (call->tool != call->site->tool) { /* a probe asks the ledger */
        sim_plan_event(cluster_soon(2000), 0, answers, life, 0);
    } else {
        ClusterRun *run = &cluster.runs[life->run];
        check_durable(machine, run, call);
        if (is_too_late(machine)) {
            tfy__loop_fail(call->loop, TFY_E_LOST, "the lease ends");
            free(life);
            return;
        }
        check_alone(life);
        check_limit(life);
        check_rate(life->tool);
        enter(call);
        life->works = true;
        if (life->fence > run->newest) run->newest = life->fence;
        sim_trace("begin %s for owner %lld", call->key, (long long)life->fence);
        sim_plan_event(takes(), 0, happens, life, 0);
    }
    life->next = cluster.lives;
    cluster.lives = life;
}

/* Stopped in the middle: it has happened, or it has not. */
static void stop(TfyCall *call)
{
    Life *life = life_of_call(call);
    if (!life) return;
    life->call = NULL;
    if (life->works) dies(&(SimEvent){.arg = life});
}

const TfyPerformer cluster_tools = {.name = "cluster", .start = start, .abort = stop};

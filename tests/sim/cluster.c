/* cluster.c: one seed of several workers (cluster.h): its plan, its faults, and how time passes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

enum { EVENTS_MAX = 3000000, END_S = 1000, LONGEST_S = 300, RUNS_MIN = 3 };

Cluster cluster;
uint32_t sim_workers;

bool cluster_faulty(void)
{
    return !cluster.calm && sim.now_ns < cluster.quiet_ns;
}

bool cluster_chance(uint32_t percent)
{
    return cluster_faulty() && sim_percent(&sim.chance, percent);
}

int64_t cluster_soon(uint32_t us)
{
    return (int64_t)sim_below(&sim.chance, us) * 1000;
}

/* ---- time ---- */

/* The next event happens, and what it did is looked at. */
static void one_event(void)
{
    const int64_t at_ns = sim_next_event_ns();
    if (at_ns > sim.now_ns) sim.now_ns = at_ns;
    if (++sim.turn > EVENTS_MAX) sim_broken("e1", "it goes on for ever");
    sim_event_due();
    cluster_look();
}

void cluster_pass(Machine *machine, int64_t ns)
{
    int64_t until_ns = sim.now_ns + ns;
    machine->waiting++;
    for (;;) {
        machine->busy_ns = until_ns;
        while (sim_next_event_ns() <= until_ns) one_event();
        if (sim.now_ns < until_ns) sim.now_ns = until_ns;
        if (!machine->up || machine->frozen_ns <= sim.now_ns) break;
        until_ns = machine->frozen_ns;
    }
    machine->waiting--;
}

typedef struct Planned {
    void (*happen)(SimEvent *);
    Machine *machine;
} Planned;

/* While its loop is on the stack, or it is stopped, its events wait. */
static void happen_to_process(SimEvent *event)
{
    Planned *planned = event->arg;
    Machine *machine = planned->machine;
    if (!machine->up || machine->process != (uint32_t)event->number) {
        free(planned);
        return;
    }
    const int64_t wait_ns = machine_wait_ns(machine);
    if (wait_ns) {
        sim_plan_event(wait_ns, 0, happen_to_process, planned, event->number);
        return;
    }
    SimEvent own = {.arg = machine, .number = event->number};
    planned->happen(&own);
    free(planned);
}

void cluster_plan(Machine *machine, int64_t delay_ns, void (*happen)(SimEvent *))
{
    Planned *planned = malloc(sizeof *planned);
    if (!planned) abort();
    *planned = (Planned){happen, machine};
    sim_plan_event(delay_ns, 0, happen_to_process, planned, machine->process);
}

/* ---- faults ---- */

/* Often short, and often longer than a lease. */
int64_t cluster_fault_ns(void)
{
    const uint32_t lease_us = (uint32_t)cluster.lease_ms * 1000;
    return sim_percent(&sim.chance, 50) ? cluster_soon(lease_us / 2)
                                        : lease_us * INT64_C(1000) + cluster_soon(lease_us);
}

static void database_fails(void)
{
    const bool restarts = sim_percent(&sim.chance, 50);
    cluster.away_ns = sim.now_ns + (restarts ? cluster_soon(2000000) : cluster_fault_ns());
    if (restarts) tfy__shared_late_lost(cluster.shared);
    sim_trace("the database %s until %lld", restarts ? "restarts" : "is away", (long long)cluster.away_ns);
}

static void fault(SimEvent *event)
{
    Machine *machine = &cluster.machines[sim_below(&sim.chance, cluster.machine_count)];
    (void)event;
    if (cluster.style == STYLE_CLOCKS && sim_percent(&sim.chance, 60)) {
        machine_freeze(&cluster.machines[0]);
        return;
    }
    switch (sim_below(&sim.chance, 9)) {
    case 0:
    case 1:
    case 2: machine_kill(machine, "is killed", sim_percent(&sim.chance, 70)); break;
    case 3:
    case 4: machine_freeze(machine); break;
    case 5:
    case 6: machine_cut(machine, cluster_fault_ns()); break;
    case 7: machine_close(machine); break;
    default: database_fails(); break;
    }
}

/* ---- the plan ---- */

static int64_t choose_rate(void)
{
    static const int64_t extremes[] = {952500, 1000000, 1050000};
    return sim_percent(&sim.chance, 60) ? extremes[sim_below(&sim.chance, 3)]
                                        : 952500 + (int64_t)sim_below(&sim.chance, 97500);
}

static void choose_machine(Machine *machine, uint32_t number, bool rates)
{
    *machine = (Machine){.number = number, .base_ns = 1000000000 + cluster_soon(1000000000), .rate = 1000000};
    if (rates) machine->rate = choose_rate();
    if (sim_percent(&sim.chance, 40)) machine->wall_ms = (int64_t)sim_below(&sim.chance, 3000) - 1500;
}

static void plan_faults(void)
{
    uint32_t count = cluster.calm ? 0 : 1 + sim_below(&sim.chance, 14);
    const uint32_t quiet_us = (uint32_t)(cluster.quiet_ns / 1000);
    while (count--) sim_plan_event(cluster_soon(quiet_us), 0, fault, NULL, 0);
}

static void choose_style(void)
{
    static const int64_t leases_ms[] = {3000, 3000, 10000, 30000};
    static const uint32_t faults[] = {0, 3, 10, 25};
    const uint32_t drawn = sim_below(&sim.chance, 4);
    cluster.style = drawn == 0 ? STYLE_CLOCKS : drawn == 1 ? STYLE_SILENCE : STYLE_MIXED;
    cluster.lease_ms = cluster.style == STYLE_CLOCKS ? 30000 : leases_ms[sim_below(&sim.chance, 4)];
    cluster.faults = cluster.style == STYLE_CLOCKS    ? 1
                     : cluster.style == STYLE_SILENCE ? 25
                                                      : faults[sim_below(&sim.chance, 4)];
    cluster.long_tools = cluster.style != STYLE_MIXED ? 60 : sim_percent(&sim.chance, 40) ? 20 : 0;
}

static void make_plan(void)
{
    choose_style();
    cluster.calm = sim_percent(&sim.chance, 8);
    cluster.real = sim_percent(&sim.chance, 60);
    cluster.scarce = sim_percent(&sim.chance, 10);
    cluster.quiet_ns = (15000 + 4 * cluster.lease_ms) * CLUSTER_MS;
    cluster.snapshot_every = sim_percent(&sim.chance, 70) ? 1 + sim_below(&sim.chance, 40) : 0;
    cluster.park_after_ms = sim_percent(&sim.chance, 70) ? 1 + sim_below(&sim.chance, 500) : 2000;
    cluster.machine_count = sim_workers;
    const bool rates = cluster.style == STYLE_CLOCKS || sim_percent(&sim.chance, 60);
    for (uint32_t i = 0; i < sim_workers; i++) choose_machine(&cluster.machines[i], i + 1, rates);
    if (cluster.style == STYLE_CLOCKS) cluster.machines[0].rate = 952500;
    if (cluster.style == STYLE_CLOCKS) cluster.machines[1].rate = 1050000;
}

typedef struct Names {
    const char *items[4096];
    uint32_t count;
} Names;

static bool is_written(const char *name)
{
    return strncmp(name, "root_p", 6) == 0 || strncmp(name, "root_w", 6) == 0;
}

/* Those of tools with limits. */
static bool is_limited(const char *name)
{
    return strncmp(name, "root_p1", 7) == 0 && name[7];
}

/* Generated ones that end by themselves. They may come to something else when their time changes. */
static bool is_made(const char *name)
{
    return strncmp(name, "root_c", 6) == 0 || strncmp(name, "root_s", 6) == 0;
}

static void collect(Names *names, bool (*wanted)(const char *))
{
    for (uint32_t i = 0; i < sim_program.workflow_count && names->count < sizeof names->items / sizeof *names->items;
         i++)
        if (wanted(sim_program.workflows[i]->name)) names->items[names->count++] = sim_program.workflows[i]->name;
}

static void choose_runs(void)
{
    static Names written, made;
    const bool limited = sim_percent(&sim.chance, 25);
    collect(&written, limited ? is_limited : is_written);
    collect(&made, is_made);
    if (!written.count) sim_broken("d1", "the program has no workflow root_p…");
    const uint32_t wanted = RUNS_MIN + sim_below(&sim.chance, CLUSTER_RUNS - RUNS_MIN + 1);
    for (uint32_t tries = 0; cluster.run_count < wanted && tries < 40; tries++) {
        const bool own = limited || !made.count || sim_percent(&sim.chance, 70);
        const Names *from = own ? &written : &made;
        SimRun run = {.workflow = from->items[sim_below(&sim.chance, from->count)]};
        if (!sim_expect(&run) || run.takes_ns > LONGEST_S * INT64_C(1000000000)) continue;
        cluster.runs[cluster.run_count++] = (ClusterRun){.workflow = run.workflow, .expect = own ? run.expect : NULL};
    }
}

/* What a deployment does. */
static void store_program(void)
{
    TfyStore *store;
    TfyStoreProgram program = {
        .id = 1, .tfyc = sim_program.tfyc, .source = sim_program.source, .layout = sim_program.layout};
    const TfyStoreHold hold = {.session = tfy__shared_open_session(cluster.shared, cluster.lease_ms), .commit = 1};
    memcpy(program.hash, sim_program.hash, sizeof program.hash);
    if (tfy__shared_join(cluster.shared, &store) < 0) abort();
    store->ops->begin(store, &hold);
    store->ops->put_program(store, &program);
    if (store->ops->commit(store) != 0) sim_broken("d1", "the program cannot be deployed");
    store->ops->close(store, true);
    tfy__shared_end_session(cluster.shared, hold.session, 1);
}

/* ---- a seed ---- */

static bool all_ended(void)
{
    for (uint32_t i = 0; i < cluster.run_count; i++) {
        const ClusterRun *run = &cluster.runs[i];
        if (!run->id || tfy__shared_run(cluster.shared, run->id)->row.state < TFY_TASK_COMPLETED) return false;
    }
    return people_done();
}

static void check_stuck(void)
{
    for (uint32_t i = 0; i < cluster.run_count; i++) {
        const ClusterRun *run = &cluster.runs[i];
        const TfySharedRun *row = run->id ? tfy__shared_run(cluster.shared, run->id) : NULL;
        if (row && row->row.state >= TFY_TASK_COMPLETED) continue;
        sim_broken("e1", "%s waits for ever: owner %lld, due %lld, %zu records, %zu mails", run->workflow,
                   row ? (long long)row->owner : -1, row ? (long long)row->due_ms : -1, row ? row->records.count : 0,
                   row ? row->mails.count : 0);
    }
    sim_broken("e1", "what was sent is never acknowledged");
}

static void begin(uint64_t seed, bool verbose)
{
    sim = (Sim){.chance = {seed * 3 + 1}, .disk_chance = {seed * 7 + 5}, .verbose = verbose};
    sim_program = tfyg_program;
    sim_program.source = "// the simulation's programs\n";
    sim_program.layout = "{}";
    sim.plan.seed = seed;
    make_plan();
    choose_runs();
    sim.now_ns = 0;
    sim.turn = 0;
    sim.trace = seed;
    cluster.shared = tfy__shared_new();
    if (!cluster.shared) abort();
    store_program();
    cluster.shared->fate = machine_fate;
    sim_trace("lease %lld ms, %u faults in a hundred, until %lld", (long long)cluster.lease_ms, cluster.faults,
              (long long)cluster.quiet_ns);
}

void sim_run_cluster(uint64_t seed, bool verbose)
{
    begin(seed, verbose);
    for (uint32_t i = 0; i < cluster.machine_count; i++)
        sim_plan_event(cluster_soon(1000000), 0, machine_start, &cluster.machines[i], 0);
    people_begin();
    plan_faults();
    while (!all_ended()) {
        if (sim.now_ns > cluster.quiet_ns + END_S * INT64_C(1000000000)) check_stuck();
        one_event();
    }
    sim_trace("the end");
    cluster_check_end();
}

/* machine.c: the processes of workers (cluster.h): their clocks, their turns, what becomes of their commits, their leases, their deaths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "base/lease.h"
#include "wal/log/log_state.h"

enum {
    IDLE_MS = 1000,
    CALM_LEASES = 6 /* from the last fault until its last consequence */
};

static Machine *current; /* whose code runs */

/* ---- clocks ---- */

int64_t machine_clock(const Machine *machine)
{
    return machine->base_ns + sim.now_ns / 1000 * machine->rate / 1000;
}

int64_t machine_when(const Machine *machine, int64_t clock_ns)
{
    return ((clock_ns - machine->base_ns) * 1000 / machine->rate + 2) * 1000;
}

/* How long until its clock shows that. */
static int64_t until(const Machine *machine, int64_t clock_ns)
{
    const int64_t at_ns = machine_when(machine, clock_ns);
    return at_ns > sim.now_ns ? at_ns - sim.now_ns : 0;
}

static int64_t world_mono(void *state)
{
    return machine_clock(state);
}

static int64_t world_wall(void *state)
{
    return SIM_WALL_MS + ((Machine *)state)->wall_ms + sim.now_ns / CLUSTER_MS;
}

static int64_t database_ms(void *state)
{
    (void)state;
    return SIM_WALL_MS + sim.now_ns / CLUSTER_MS;
}

static void world_random(void *state, void *bytes, size_t len)
{
    (void)state;
    for (size_t i = 0; i < len; i++) ((uint8_t *)bytes)[i] = (uint8_t)sim_next(&sim.chance);
}

/* When code of it that waits may have returned. */
static int64_t until_free(const Machine *machine)
{
    return machine->busy_ns > sim.now_ns ? machine->busy_ns - sim.now_ns : CLUSTER_MS;
}

int64_t machine_wait_ns(const Machine *machine)
{
    if (machine->frozen_ns > sim.now_ns) return machine->frozen_ns - sim.now_ns;
    return machine->inside ? until_free(machine) : 0;
}

bool machine_watcher_stopped(const Machine *machine)
{
    return machine->watcher_frozen && machine->frozen_ns > sim.now_ns;
}

static bool memory_fails(uint32_t seldom)
{
    return cluster.scarce && !cluster.outside && cluster_faulty() && sim_below(&sim.chance, seldom) == 0;
}

static void *world_alloc(void *state, void *old, size_t old_size, size_t new_size)
{
    (void)old_size;
    if (!new_size) {
        free(old);
        return NULL;
    }
    if (memory_fails(3000)) {
        sim_trace("worker %u has no memory", ((Machine *)state)->number);
        return NULL;
    }
    return realloc(old, new_size);
}

/* ---- the link to the database ---- */

bool machine_cut_off(const Machine *machine)
{
    return machine->cut_ns > sim.now_ns || cluster.away_ns > sim.now_ns;
}

Machine *machine_of_session(int64_t session)
{
    for (uint32_t i = 0; i < cluster.machine_count; i++)
        if (cluster.machines[i].process && cluster.machines[i].session == session) return &cluster.machines[i];
    return NULL;
}

/* A request that its sender no longer knows of. */
static void arrives_late(SimEvent *event)
{
    if (tfy__shared_late_of(cluster.shared, event->number))
        sim_trace("a late request of session %lld arrives", (long long)event->number);
}

static TfySharedFate is_late(const TfyStoreHold *hold)
{
    const uint32_t most_us = (uint32_t)(cluster.lease_ms * 1000) * (sim_percent(&sim.chance, 20) ? 2 : 1);
    sim_plan_event(cluster_soon(sim_percent(&sim.chance, 50) ? 300000 : most_us), 0, arrives_late, NULL, hold->session);
    return TFY_FATE_LATE;
}

void machine_cut(Machine *machine, int64_t ns)
{
    if (sim.now_ns + ns > machine->cut_ns) machine->cut_ns = sim.now_ns + ns;
    sim_trace("worker %u is cut off until %lld", machine->number, (long long)machine->cut_ns);
}

/* A connection often breaks because the machine is cut off. */
static void break_link(Machine *machine)
{
    const uint32_t chance = cluster.style == STYLE_SILENCE ? 70 : 30;
    if (cluster_chance(chance)) machine_cut(machine, cluster_soon((uint32_t)cluster.lease_ms * 1500));
}

static TfySharedFate fate_of(Machine *machine, const TfyStoreHold *hold)
{
    if (!machine->up) return sim_percent(&sim.chance, 50) ? is_late(hold) : TFY_FATE_LOST; /* it died meanwhile */
    if (machine_cut_off(machine)) return sim_percent(&sim.chance, 50) ? TFY_FATE_AWAY : TFY_FATE_LOST;
    if (!cluster_chance(cluster.faults)) return TFY_FATE_ARRIVES;
    switch (sim_below(&sim.chance, cluster.style == STYLE_SILENCE ? 10 : 5)) {
    case 0: return TFY_FATE_AWAY;
    case 1: break_link(machine); return TFY_FATE_LOST;
    case 2: break_link(machine); return is_late(hold);
    case 3: return is_late(hold);
    default: break_link(machine); return TFY_FATE_ANSWER_IS_LOST;
    }
}

/* On its way there or back. */
int64_t machine_travels_ns(void)
{
    return cluster_chance(3) ? cluster_soon((uint32_t)cluster.lease_ms * 700) : cluster_soon(4000);
}

/* Requests and answers also meet processes that are killed or stopped just then. */
static void may_die(Machine *machine)
{
    if (cluster_chance(1)) machine_kill(machine, "is killed in its commit", sim_percent(&sim.chance, 70));
    if (cluster_chance(1)) machine_freeze(machine);
}

/* This answer is the last one for some time. */
static void hears_no_more(Machine *machine)
{
    if (sim_percent(&sim.chance, 30))
        machine_freeze(machine);
    else
        machine_cut(machine, cluster_fault_ns());
}

/* The loop goes on while its writer waits, and may read. */
static void wait_in_commit(Machine *machine)
{
    TfyLog *log = tfy__loop_log(machine->loop);
    const bool alone = machine->committing && !machine->inside;
    if (alone) pthread_mutex_unlock(&log->store_mutex);
    cluster_pass(machine, machine_travels_ns());
    if (alone) pthread_mutex_lock(&log->store_mutex);
}

TfySharedFate machine_fate(void *state, const TfyStoreHold *hold)
{
    static const char *const names[] = {"arrives", "cannot be sent", "gets lost", "is late", "loses its answer"};
    Machine *machine = machine_of_session(hold->session);
    (void)state;
    if (!machine) sim_broken("I6", "session %lld, which is nobody's any more, commits", (long long)hold->session);
    cluster_look();
    may_die(machine);
    wait_in_commit(machine);
    const TfySharedFate fate = fate_of(machine, hold);
    sim_trace("worker %u: commit %lld of session %lld %s", machine->number, (long long)hold->commit,
              (long long)hold->session, names[fate]);
    return fate;
}

/* Between a commit and its answer, and before a question about one. */
static int on_store_call(void *state, int call)
{
    Machine *machine = state;
    if (memory_fails(500)) {
        sim_trace("worker %u has no memory for call %d of the store", machine->number, call);
        return TFY_E_NOMEM;
    }
    if (call == TFY_CALL_COMMIT) return cluster_chance(cluster.faults ? 1 : 0) ? TFY_STORE_FULL : 0;
    if (call != TFY_CALL_COMMITTED && call != TFY_CALL_SETTLE) return 0;
    cluster_look();
    may_die(machine);
    wait_in_commit(machine);
    if (!machine->up) return TFY_STORE_UNKNOWN;
    if (call == TFY_CALL_SETTLE && (machine_cut_off(machine) || cluster_chance(cluster.faults))) return TFY_STORE_AWAY;
    const uint32_t silence = cluster.style == STYLE_SILENCE ? 40 : 10;
    if (cluster_chance(call == TFY_CALL_SETTLE ? silence : 1)) hears_no_more(machine);
    return 0;
}

/* ---- the hub ---- */

static Machine *of_hub(TfyHub *hub)
{
    for (uint32_t i = 0; i < cluster.machine_count; i++)
        if (cluster.machines[i].hub == hub) return &cluster.machines[i];
    abort();
}

/* It asks for few at a time, so that runs are spread. */
static bool claimed(TfyHub *hub, TfyClaim *claim)
{
    Machine *machine = of_hub(hub);
    const bool asks = cluster.real || (!machine_cut_off(machine) && sim_percent(&sim.chance, 40));
    if (!asks || !machine->inner->claimed(hub, claim)) return false;
    sim_trace("worker %u: session %lld has claimed run %lld (%lld)", machine->number, (long long)hub->session,
              (long long)claim->run, (long long)claim->claims);
    cluster_look();
    return true;
}

/* Mail is polled, and notices get lost. */
static int64_t news(TfyHub *hub)
{
    Machine *machine = of_hub(hub);
    const bool asks = cluster.real || (!machine_cut_off(machine) && sim_percent(&sim.chance, 60));
    return asks ? machine->inner->news(hub) : 0;
}

static void wake(void *arg)
{
    machine_wake(arg);
}

static void wake_by(TfyHub *hub, void (*wakes)(void *arg), void *arg)
{
    Machine *machine = of_hub(hub);
    (void)arg;
    machine->inner->wake_by(hub, wakes ? wake : NULL, machine);
}

static void renewed(TfyHub *hub, int64_t sent_ns)
{
    Machine *machine = of_hub(hub);
    machine->inner->renewed(hub, sent_ns);
    const int64_t deadline_ns = tfy__lease_deadline_ns(sent_ns, hub->lease_ms);
    if (!machine->ending && deadline_ns > machine->deadline_ns) machine->deadline_ns = deadline_ns;
}

/* ---- the lease ---- */

int64_t machine_margin_ns(void)
{
    const int64_t tenth_ns = cluster.lease_ms * CLUSTER_MS / 10;
    return tenth_ns < 2000 * CLUSTER_MS ? tenth_ns : 2000 * CLUSTER_MS;
}

bool __wrap_tfy__lease_ahead(void);
bool __wrap_tfy__lease_ahead(void)
{
    return !current || !current->deadline_ns || machine_clock(current) < current->deadline_ns;
}

static void lease_watch(SimEvent *event);

static void plan_lease(Machine *machine, int64_t clock_ns, void (*happen)(SimEvent *))
{
    sim_plan_event(until(machine, clock_ns), 0, happen, machine, machine->process);
}

/* What the kernel does, whether the process runs or is stopped. */
static void deadline_comes(SimEvent *event)
{
    Machine *machine = event->arg;
    if (!machine->up || machine->process != (uint32_t)event->number) return;
    if (!machine->ending && machine_clock(machine) < machine->deadline_ns) {
        plan_lease(machine, machine->deadline_ns - machine_margin_ns(), lease_watch);
        return;
    }
    machine_kill(machine, "comes to its deadline", true);
}

/* What the watcher does in the margin before the deadline. */
static void lease_watch(SimEvent *event)
{
    Machine *machine = event->arg;
    if (!machine->up || machine->process != (uint32_t)event->number) return;
    const int64_t margin_ns = machine_margin_ns(), clock_ns = machine_clock(machine);
    const bool held = !machine->deadline_ns || clock_ns < machine->deadline_ns - margin_ns;
    if (held) {
        const int64_t next_ns = machine->deadline_ns ? machine->deadline_ns - margin_ns : clock_ns + margin_ns;
        plan_lease(machine, next_ns, lease_watch);
        return;
    }
    if (!machine_watcher_stopped(machine) && lives_work(machine->session)) {
        machine->ending = true;
        sim_trace("worker %u: its tools are asked to end", machine->number);
        lives_end_at(machine, 0, until(machine, machine->deadline_ns - margin_ns / 2));
    }
    const int64_t early_ns = machine->ending ? cluster_soon((uint32_t)(margin_ns / 2000)) : 0;
    plan_lease(machine, machine->deadline_ns - early_ns, deadline_comes);
}

/* ---- turns ---- */

static void write_log(SimEvent *event);
static void turn(SimEvent *event);

static void plan_turn(Machine *machine, int64_t delay_ns)
{
    if (!machine->up || sim.now_ns + delay_ns >= machine->turn_ns) return;
    machine->turn_ns = sim.now_ns + delay_ns;
    cluster_plan(machine, delay_ns, turn);
}

void machine_wake(Machine *machine)
{
    plan_turn(machine, cluster_soon(300));
}

static void plan_writer(Machine *machine)
{
    const TfyLog *log = tfy__loop_log(machine->loop);
    if (machine->writer_planned || tfy__log_error(log) || !(log->writer->queue.first || log->writer->unsure.first))
        return;
    machine->writer_planned = true;
    const int64_t delay_ns = cluster_soon(cluster_chance(5) ? 200000 : 1500);
    cluster_plan(machine, delay_ns + (tfy__log_full(log) ? 50 * CLUSTER_MS : 0), write_log);
}

/* A process that has lost its lease, or was ended by others, exits. */
static void exits(Machine *machine, int code)
{
    const TfySharedSession *session = tfy__shared_session(cluster.shared, machine->session);
    if (code != TFY_E_HELD && code != TFY_E_LOST && !(code == TFY_E_NOMEM && cluster.scarce))
        sim_broken("I1", "worker %u fails with %d: %s", machine->number, code, tfy__failure(machine->loop));
    if (code == TFY_E_HELD && session->state == TFY_SESSION_LIVES)
        sim_broken("I4", "worker %u believes that its session has ended: %s", machine->number,
                   tfy__failure(machine->loop));
    machine_kill(machine, tfy__failure(machine->loop), true);
}

static void one_turn(Machine *machine)
{
    Machine *const before = current;
    if (!machine->up) return;
    machine->turn_ns = INT64_MAX;
    current = machine;
    machine->inside++;
    const int code = tfy_step(machine->loop);
    const int64_t wait_ms = code < 0 || !machine->up ? 0 : tfy_timeout_ms(machine->loop);
    machine->inside--;
    current = before;
    if (!machine->up) return;
    if (code < 0) {
        exits(machine, code);
        return;
    }
    plan_writer(machine);
    const bool idle = wait_ms < 0 || wait_ms > IDLE_MS;
    plan_turn(machine, wait_ms == 0 ? cluster_soon(500) : idle ? cluster_soon(IDLE_MS * 1000) : wait_ms * CLUSTER_MS);
}

static void turn(SimEvent *event)
{
    Machine *machine = event->arg;
    if (sim.now_ns >= machine->turn_ns) one_turn(machine); /* else that was planned anew */
}

/* A run of which a task was killed may be in a deadlock. Telling that waits for the writer, which here is the same thread. */
static bool any_killed(void)
{
    for (uint32_t i = 0; i < cluster.run_count; i++)
        if (cluster.runs[i].killed) return true;
    return false;
}

static void write_log(SimEvent *event)
{
    Machine *machine = event->arg, *const before = current;
    const bool apart = any_killed();
    if (machine->committing) { /* one at a time */
        cluster_plan(machine, until_free(machine), write_log);
        return;
    }
    machine->writer_planned = false;
    machine->committing = true;
    current = machine;
    machine->inside += apart;
    tfy__log_write(tfy__loop_log(machine->loop));
    machine->inside -= apart;
    current = before;
    machine->committing = false;
    if (!machine->up) return;
    plan_writer(machine);
    machine_wake(machine);
}

/* ---- birth and death ---- */

static void on_output(void *state, const char *text, size_t len)
{
    Machine *machine = state;
    sim_show(text, len);
    sim_trace("worker %u shows %.*s", machine->number, (int)len, text);
}

static int poller_open(void **poller)
{
    *poller = NULL;
    return 0;
}

static void poller_close(void *poller)
{
    (void)poller;
}

/* Nothing of these programs waits for a descriptor. */
static int poller_add(void *poller, int fd, uint32_t events, uint64_t tag)
{
    return 0;
}

static void poller_del(void *poller, int fd)
{
    (void)poller;
}

static int poller_wait(void *poller, TfyFdEvent *events, int cap, int64_t timeout_ns)
{
    return 0;
}

static const TfyPoller no_poller = {.name = "none",
                                    .open = poller_open,
                                    .close = poller_close,
                                    .add = poller_add,
                                    .del = poller_del,
                                    .wait = poller_wait};

static void open_hub(Machine *machine)
{
    const int code =
        cluster.real ? 0 : tfy__hub_memory_open(&machine->memory, cluster.shared, cluster.lease_ms, database_ms, NULL);
    if (code < 0) abort();
    machine->hub = &machine->memory.hub;
    if (cluster.real) link_open(machine, database_ms);
    machine->session = machine->hub->session;
    machine->inner = machine->hub->ops;
    machine->ops = *machine->inner;
    machine->ops.claimed = claimed;
    machine->ops.news = news;
    machine->ops.renewed = renewed;
    machine->ops.wake_by = wake_by;
    machine->hub->ops = &machine->ops;
    machine->hub->worker = sim_percent(&sim.chance, 50) ? "sim" : NULL;
}

/* False: memory ran out. */
static bool open_loop(Machine *machine)
{
    char error[TFY_ERROR_TEXT] = "";
    machine->world = (TfyWorld){.state = machine,
                                .mono_ns = world_mono,
                                .wall_ms = world_wall,
                                .random = world_random,
                                .alloc = world_alloc,
                                .poller = &no_poller,
                                .writer_by_hand = true,
                                .folds = true};
    machine->world.performers[TFY_F_EXTERN] = &cluster_tools;
    const TfyOptions options = {.world = &machine->world,
                                .on_output = on_output,
                                .state = machine,
                                .quiet = true,
                                .stay = true,
                                .snapshot_every = cluster.snapshot_every,
                                .park_after_ms = cluster.park_after_ms,
                                .hub = machine->hub};
    const int code = tfy_open(&machine->loop, &sim_program, &options, error);
    if (code == TFY_E_NOMEM && cluster.scarce) return false;
    if (code < 0) sim_broken("d1", "a loop does not open: %s", error);
    TfyLog *log = tfy__loop_log(machine->loop);
    log->store->fault = on_store_call;
    log->store->fault_state = machine;
    return true;
}

void machine_start(SimEvent *event)
{
    Machine *machine = event->arg;
    const bool returns = machine->inside || machine->committing || machine->waiting; /* from its former process */
    if (returns || machine_cut_off(machine)) {
        sim_plan_event(returns ? until_free(machine) : cluster_soon(100000), 0, machine_start, machine, 0);
        return;
    }
    machine->process++;
    machine->up = true;
    machine->ending = machine->writer_planned = machine->watcher_frozen = false;
    machine->deadline_ns = machine->frozen_ns = 0;
    machine->turn_ns = INT64_MAX;
    open_hub(machine);
    sim_trace("worker %u begins session %lld", machine->number, (long long)machine->session);
    Machine *const before = current;
    current = machine;
    const bool opened = open_loop(machine);
    current = before;
    if (!opened) {
        machine_kill(machine, "does not open", true);
        return;
    }
    plan_turn(machine, 0);
    plan_lease(machine, machine_clock(machine), lease_watch);
    if (cluster.real)
        link_work(machine);
    else
        observer_begin(machine);
    if (cluster_chance(5)) hears_no_more(machine); /* before its first commit: it has no lease yet */
}

void machine_close(Machine *machine)
{
    Machine *const before = current;
    if (!machine->up || machine->committing || machine->waiting || machine_wait_ns(machine)) return;
    sim_trace("worker %u closes", machine->number);
    current = machine;
    machine->inside++;
    tfy_close(machine->loop);
    machine->inside--;
    current = before;
    machine->loop = NULL;
    machine_kill(machine, "has closed", true);
}

void machine_freeze(Machine *machine)
{
    const int64_t until_ns = sim.now_ns + cluster_fault_ns();
    if (!machine->up) return;
    if (until_ns > machine->frozen_ns) machine->frozen_ns = until_ns;
    machine->watcher_frozen = sim_percent(&sim.chance, cluster.style == STYLE_CLOCKS ? 90 : 50);
    sim_trace("worker %u is stopped until %lld%s", machine->number, (long long)machine->frozen_ns,
              machine->watcher_frozen ? ", with its watcher" : "");
}

void machine_kill(Machine *machine, const char *why, bool watched)
{
    if (!machine->up) return;
    if (cluster.calm || sim.now_ns > cluster.quiet_ns + CALM_LEASES * cluster.lease_ms * CLUSTER_MS)
        sim_broken("e7", "worker %u %s, and nothing fails", machine->number, why);
    sim_trace("worker %u, session %lld: %s%s", machine->number, (long long)machine->session, why,
              watched ? "" : ", and its watcher");
    machine->up = false;
    lives_lose_runtime(machine, watched);
    if (watched && !machine_watcher_stopped(machine)) observer_release(machine, machine->process, machine->session);
    const bool long_gone = cluster_chance(25);
    sim_plan_event(cluster_soon(long_gone ? (uint32_t)cluster.lease_ms * 2000 : 1500000), 0, machine_start, machine, 0);
}

/* ends.c: how sessions end (cluster.h): by observers that have seen no commit for too long, or by their own machine when nothing of them is left. */
#include <stdlib.h>

#include "cluster.h"

enum { BEATS_MAX = 256, FREES_MAX = 3 };

/* ---- freeing runs ---- */

/* A few at a time; whoever finds that there are more goes on. */
static void frees(SimEvent *event)
{
    const uint32_t most = 1 + sim_below(&sim.chance, FREES_MAX);
    const uint32_t count = tfy__shared_free_runs(cluster.shared, event->number, most);
    if (count) sim_trace("%u runs of session %lld are free", count, (long long)event->number);
}

static void plan_frees(int64_t session)
{
    sim_plan_event(cluster_soon(cluster_chance(20) ? 2000000 : 20000), 0, frees, NULL, session);
}

static bool owns_runs(int64_t session)
{
    for (size_t i = 0; i < cluster.shared->runs.count; i++)
        if (((TfySharedRun *)tfy__rows_at(&cluster.shared->runs, i))->owner == session) return true;
    return false;
}

/* ---- ending ---- */

/* A request to end a session, as it arrives. */
static void ends(SimEvent *event)
{
    TfyLiving *late = event->arg;
    const bool ended = tfy__shared_end_session(cluster.shared, late->session, late->beat);
    sim_trace("session %lld %s with beat %lld", (long long)late->session, ended ? "is ended" : "is not ended",
              (long long)late->beat);
    if (ended && lives_work(late->session))
        sim_broken("I2", "session %lld is ended while a tool of it works", (long long)late->session);
    plan_frees(late->session);
    free(late);
}

static void plan_end(const TfyLiving *late)
{
    TfyLiving *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = *late;
    sim_plan_event(cluster_soon(cluster_chance(20) ? 4000000 : 20000), 0, ends, copy, 0);
}

typedef struct Release {
    Machine *machine;
    uint32_t process;
} Release;

static void releases(SimEvent *event)
{
    const Release *release = event->arg;
    const TfySharedSession *session = tfy__shared_session(cluster.shared, event->number);
    if (lives_work(event->number) || machine_cut_off(release->machine)) {
        sim_plan_event(10 * CLUSTER_MS, 0, releases, event->arg, event->number);
        return;
    }
    if (tfy__shared_end_session(cluster.shared, session->id, session->beat))
        sim_trace("worker %u ends its session %lld", release->machine->number, (long long)session->id);
    plan_frees(event->number);
    free(event->arg);
}

void observer_release(Machine *machine, uint32_t process, int64_t session)
{
    Release *release = malloc(sizeof *release);
    if (!release) abort();
    *release = (Release){machine, process};
    sim_plan_event(cluster_soon(20000), 0, releases, release, session);
}

/* ---- observing ---- */

static uint32_t read_beats(TfyLiving *beats)
{
    uint32_t count = 0;
    for (size_t i = 0; i < cluster.shared->sessions.filled; i++) {
        const TfySharedSession *session = tfy__rows_at(&cluster.shared->sessions, i);
        if (session->state != TFY_SESSION_LIVES) {
            if (owns_runs(session->id)) plan_frees(session->id);
            continue;
        }
        if (count == BEATS_MAX) sim_broken("e1", "more than %d sessions live", BEATS_MAX);
        beats[count++] = (TfyLiving){session->id, session->beat, session->lease_ms};
    }
    return count;
}

static void observe(SimEvent *event);

static void plan_observation(Machine *machine)
{
    const int64_t pause_ns = tfy__observer_pause_ms(&machine->observer) * CLUSTER_MS;
    cluster_plan(machine, pause_ns * 1000000 / machine->rate + cluster_soon(50000), observe);
}

/* The answer takes its time, in which the process may be stopped. */
static void observe(SimEvent *event)
{
    Machine *machine = event->arg;
    TfyLiving beats[BEATS_MAX], late[BEATS_MAX];
    if (!machine_cut_off(machine)) {
        const uint32_t count = read_beats(beats);
        cluster_pass(machine, cluster_soon(cluster_chance(5) ? 3000000 : 5000));
        if (!machine->up) return;
        const int named =
            tfy__observer_see(&machine->observer, beats, count, machine_clock(machine) / CLUSTER_MS, late, BEATS_MAX);
        if (named < 0) abort();
        for (int i = 0; i < named; i++) plan_end(&late[i]);
    }
    plan_observation(machine);
}

void observer_begin(Machine *machine)
{
    machine->observer = (TfyObserver){.session = machine->session};
    cluster_plan(machine, cluster_soon(1000000), observe);
}

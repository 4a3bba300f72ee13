/* link.c: what stands between a process and the database besides its log (cluster.h): the hub of hub/hub_cluster.h, whose thread is an event
 * here, with a handle whose requests take their time, get lost, come late, or leave their answer behind. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"
#include "hub/hub_cluster.h"

enum { KICK_MS = 300 };

static Machine *machine_of(TfyCluster *link)
{
    return (Machine *)((char *)link - offsetof(Machine, link));
}

static void travel(Machine *machine)
{
    cluster_look();
    cluster_pass(machine, machine_travels_ns());
}

/* Before a request arrives; 0: it does. */
static int leave(Machine *machine)
{
    travel(machine);
    if (!machine->up || machine_cut_off(machine))
        return sim_percent(&sim.chance, 50) ? TFY_STORE_AWAY : TFY_STORE_UNKNOWN;
    if (!cluster_chance(cluster.faults / 2)) return 0;
    return sim_percent(&sim.chance, 50) ? TFY_STORE_AWAY : TFY_STORE_UNKNOWN;
}

/* The answer, or that it got lost. */
static int64_t come_back(Machine *machine, int64_t result)
{
    travel(machine);
    return !machine->up || cluster_chance(cluster.faults / 2) ? TFY_STORE_UNKNOWN : result;
}

static int64_t open_session(TfyCluster *link, const TfyNewSession *session, int64_t *lease_ms)
{
    TfyCluster *database = machine_of(link)->database;
    return database->ops->open_session(database, session, lease_ms);
}

/* As the opening of a session, which it comes before. */
static int check_standbys(TfyCluster *link)
{
    TfyCluster *database = machine_of(link)->database;
    return database->ops->check_standbys(database);
}

static int see_living(TfyCluster *link, TfySeeLiving *see, void *state)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->see_living(machine->database, see, state));
}

/* A request to end a session that its sender has given up. */
typedef struct LateEnd {
    TfyCluster *database;
    int64_t session, beat;
} LateEnd;

static void check_ended(int64_t session, bool ended)
{
    if (ended) sim_trace("session %lld is ended", (long long)session);
    if (ended && lives_work(session))
        sim_broken("I2", "session %lld is ended while a tool of it works", (long long)session);
}

static void ends_late(SimEvent *event)
{
    LateEnd *late = event->arg;
    check_ended(late->session, late->database->ops->end_session(
                                   late->database,
                                   &(TfySessionEnd){.session = late->session, .beat = late->beat, .why = "late"}) == 1);
    free(late);
}

static void plan_late_end(Machine *machine, int64_t session, int64_t beat)
{
    LateEnd *late = malloc(sizeof *late);
    if (!late) abort();
    *late = (LateEnd){machine->database, session, beat};
    sim_plan_event(cluster_soon(4000000), 0, ends_late, late, 0);
}

static int end_session(TfyCluster *link, const TfySessionEnd *end)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code == TFY_STORE_UNKNOWN && sim_percent(&sim.chance, 50)) plan_late_end(machine, end->session, end->beat);
    if (code) return code;
    const int ended = machine->database->ops->end_session(machine->database, end);
    check_ended(end->session, ended == 1);
    return (int)come_back(machine, ended);
}

static int free_runs(TfyCluster *link, int64_t session, uint32_t most)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->free_runs(machine->database, session, most));
}

static int64_t queue(TfyCluster *link, const char *pool, int64_t program)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return come_back(machine, machine->database->ops->queue(machine->database, pool, program));
}

static void claims_late(SimEvent *event)
{
    Machine *machine = event->arg;
    TfyClaimed claimed[2];
    if (machine->session != event->number) return;
    if (machine->database->ops->claim(machine->database, event->number, 1, false, claimed, 2) > 0)
        sim_trace("a late claim of session %lld arrives", (long long)event->number);
}

/* It asks for few at a time, so that runs are spread. No process dies of a run here, and the one of a machine also takes those
 * that nothing was recorded of so often that they need one of their own. */
static int claim(TfyCluster *link, int64_t session, int64_t queue_id, bool solo, TfyClaimed *claimed, uint32_t room)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code == TFY_STORE_UNKNOWN && sim_percent(&sim.chance, 50))
        sim_plan_event(cluster_soon(4000000), 0, claims_late, machine, session);
    if (code) return code;
    const uint32_t few = 1 + sim_below(&sim.chance, 3);
    int count =
        machine->database->ops->claim(machine->database, session, queue_id, solo, claimed, room < few ? room : few);
    if (!count) count = machine->database->ops->claim(machine->database, session, queue_id, true, claimed, 1);
    if (count > 0) sim_trace("worker %u: session %lld claims %d runs", machine->number, (long long)session, count);
    return (int)come_back(machine, count);
}

static int see_owned(TfyCluster *link, int64_t session, int64_t after, TfyClaimed *owned, uint32_t room)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->see_owned(machine->database, session, after, owned, room));
}

static int wake_due(TfyCluster *link, uint32_t most)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->wake_due(machine->database, most));
}

static int see_mail(TfyCluster *link, int64_t run, int64_t after, bool open, TfySeeMail *see, void *state)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->see_mail(machine->database, run, after, open, see, state));
}

static int see_inbox(TfyCluster *link, int64_t session, TfySeeMail *see, void *state)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->see_inbox(machine->database, session, see, state));
}

static int see_permits(TfyCluster *link, const char *name, TfyPermitNow *now, TfySeePermit *see, void *state)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->see_permits(machine->database, name, now, see, state));
}

/* A request to write permits that its sender has given up. */
typedef struct LatePut {
    TfyCluster *database;
    char name[80];
    TfyPermitPut put;
} LatePut;

static void puts_late(SimEvent *event)
{
    LatePut *late = event->arg;
    late->put.name = late->name;
    if (late->database->ops->put_permit(late->database, &late->put) == 1)
        sim_trace("late permits of session %lld are written", (long long)late->put.row.session);
    free(late);
}

static void plan_late_put(Machine *machine, const TfyPermitPut *put)
{
    LatePut *late = malloc(sizeof *late);
    if (!late) abort();
    *late = (LatePut){.database = machine->database, .put = *put};
    snprintf(late->name, sizeof late->name, "%s", put->name);
    sim_plan_event(cluster_soon(4000000), 0, puts_late, late, 0);
}

static int put_permit(TfyCluster *link, const TfyPermitPut *put)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code == TFY_STORE_UNKNOWN && sim_percent(&sim.chance, 50)) plan_late_put(machine, put);
    if (code) return code;
    const int written = machine->database->ops->put_permit(machine->database, put);
    if (written == 1)
        sim_trace("session %lld has %lld of %s, wants %lld, uses %lld", (long long)put->row.session,
                  (long long)put->row.lent, put->name, (long long)put->row.wants, (long long)put->uses);
    return (int)come_back(machine, written);
}

static int forget_permits(TfyCluster *link)
{
    Machine *machine = machine_of(link);
    const int code = leave(machine);
    if (code) return code;
    return (int)come_back(machine, machine->database->ops->forget_permits(machine->database));
}

static void close_link(TfyCluster *link)
{
    (void)link; /* a late request may still use the handle behind it */
}

static const TfyClusterOps ops = {
    .open_session = open_session,
    .check_standbys = check_standbys,
    .see_living = see_living,
    .end_session = end_session,
    .free_runs = free_runs,
    .queue = queue,
    .claim = claim,
    .see_owned = see_owned,
    .wake_due = wake_due,
    .see_mail = see_mail,
    .see_inbox = see_inbox,
    .see_permits = see_permits,
    .put_permit = put_permit,
    .forget_permits = forget_permits,
    .close = close_link,
};

/* ---- the hub and its thread ---- */

static int64_t hub_ms(void *state)
{
    return machine_clock(state) / CLUSTER_MS;
}

static int join(void *state, int64_t session, int64_t lease_ms, TfyStore **store, char *error_text)
{
    (void)state, (void)session, (void)lease_ms, (void)error_text;
    return tfy__shared_join(cluster.shared, store);
}

static void works(SimEvent *event)
{
    Machine *machine = event->arg;
    const int64_t next_ms = tfy__hub_cluster_work(machine->hub);
    if (!machine->up) return;
    int64_t wait_ms = next_ms - hub_ms(machine);
    if (wait_ms > KICK_MS) wait_ms = KICK_MS; /* nothing wakes it when the loop has room */
    cluster_plan(machine, wait_ms > 0 ? wait_ms * CLUSTER_MS : 0, works);
}

void link_open(Machine *machine, int64_t (*now_ms)(void *state))
{
    char error[TFY_ERROR_TEXT] = "";
    machine->link = (TfyCluster){.ops = &ops};
    if (tfy__shared_cluster(&machine->database, cluster.shared, now_ms, NULL) < 0) abort();
    const TfyHubOpen open = {.cluster = &machine->link,
                             .join = join,
                             .state = machine,
                             .session = {.worker = "sim", .lease_ms = cluster.lease_ms},
                             .by_hand_ms = hub_ms};
    if (tfy__hub_cluster_open(&machine->hub, &open, error) < 0) sim_broken("d1", "a session does not open: %s", error);
}

void link_work(Machine *machine)
{
    cluster_plan(machine, cluster_soon(20000), works);
}

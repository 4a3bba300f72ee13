/* cluster_memory.c: the calls of cluster.h for a database in memory. A queue is a program: there are no pools. */
#include "base/check.h"
#include "wal/rows/record.h"
#include "wal/store/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct MemoryCluster {
    TfyCluster base; /* must be first */
    TfyShared *shared;
    int64_t (*now_ms)(void *state);
    void *clock_state;
} MemoryCluster;

static MemoryCluster *inside(TfyCluster *cluster)
{
    return (MemoryCluster *)cluster;
}

static int64_t open_session(TfyCluster *cluster, const TfyNewSession *session, int64_t *lease_ms)
{
    *lease_ms = session->lease_ms;
    return tfy__shared_open_session(inside(cluster)->shared, session->lease_ms);
}

static int check_standbys(TfyCluster *cluster)
{
    (void)cluster;
    return 0;
}

static int see_living(TfyCluster *cluster, TfySeeLiving *see, void *state)
{
    const TfyShared *shared = inside(cluster)->shared;
    int code = 0;
    for (size_t i = 0; !code && i < shared->sessions.filled; i++) {
        const TfySharedSession *session = tfy__rows_at(&shared->sessions, i);
        const TfyLiving living = {.session = session->id, .beat = session->beat, .lease_ms = session->lease_ms};
        if (session->state == TFY_SESSION_LIVES) code = see(state, &living);
    }
    return code;
}

static void tell(const TfyCluster *cluster, const TfySharedRun *run)
{
    TfyBlame blame = {.run = run->row.id, .crashes = run->crashes, .vain = run->vain, .held = run->held};
    memcpy(blame.uuid, run->row.uuid, sizeof blame.uuid);
    if (cluster->blame) cluster->blame(cluster->blame_state, &blame);
}

static void accuse(const TfyCluster *cluster, TfySharedRun *run)
{
    run->owner = run->due_ms = 0;
    run->solo = ++run->crashes >= TFY_SOLO_CRASHES;
    if (run->crashes >= TFY_HELD_CRASHES) run->held = TFY_HELD_POISON;
    tell(cluster, run);
}

static void hold_lost(TfyCluster *cluster, int64_t session)
{
    const TfyShared *shared = inside(cluster)->shared;
    for (size_t i = 0; i < shared->runs.count; i++) {
        TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        if (run->owner != session || run->row.state >= TFY_TASK_COMPLETED || run->held) continue;
        run->held = TFY_HELD_LOST;
        cluster->lost++;
    }
}

static int end_session(TfyCluster *cluster, const TfySessionEnd *end)
{
    TfyShared *shared = inside(cluster)->shared;
    if (!tfy__shared_end_session(shared, end->session, end->beat)) return 0;
    if (end->in_order) tfy__shared_session(shared, end->session)->state = TFY_SESSION_DONE;
    if (end->acknowledged > end->beat) return hold_lost(cluster, end->session), 1;
    TfySharedRun *run = tfy__shared_run(shared, end->blamed);
    if (run && run->owner == end->session) accuse(cluster, run);
    return 1;
}

/* Of a run whose owner has ended. True: it is held for it. */
static bool count_vain(const TfyShared *shared, TfySharedRun *run)
{
    const int64_t newest = (int64_t)run->records.count;
    const TfyLogRecord *record = newest ? tfy__rows_at(&run->records, (size_t)newest - 1) : NULL;
    const bool in_order = tfy__shared_session(shared, run->owner)->state == TFY_SESSION_DONE;
    const bool vain = newest - (record && record->type == TFY_R_CLAIMED) <= run->freed;
    if (!in_order) run->vain = vain ? run->vain + 1 : 0;
    run->freed = newest;
    run->solo = run->crashes >= TFY_SOLO_CRASHES || run->vain >= TFY_SOLO_VAIN;
    if (run->vain < TFY_HELD_VAIN || run->held) return false;
    run->held = TFY_HELD_POISON;
    return true;
}

static int free_runs(TfyCluster *cluster, int64_t session, uint32_t most)
{
    TfyShared *shared = inside(cluster)->shared;
    uint32_t count = 0;
    for (size_t i = 0; count < most && i < shared->runs.count; i++) {
        TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        const TfySharedSession *owner = tfy__shared_session(shared, run->owner);
        if (!owner || owner->state == TFY_SESSION_LIVES || (session && owner->id != session)) continue;
        const bool held = count_vain(shared, run);
        run->owner = run->due_ms = 0;
        if (held) tell(cluster, run);
        count++;
    }
    return (int)count;
}

static int64_t keep_program(TfyCluster *cluster, const TfyStoreProgram *program)
{
    return tfy__shared_keep_program(inside(cluster)->shared, program);
}

static int deploy(TfyCluster *cluster, const char *name, int64_t program)
{
    return tfy__shared_deploy(inside(cluster)->shared, name, program);
}

static int deployed(TfyCluster *cluster, const char *name, TfySeeProgram *see, void *state)
{
    const TfyShared *shared = inside(cluster)->shared;
    const TfySharedDeployment *deployment = tfy__shared_deployment(shared, name);
    return deployment ? see(state, tfy__rows_at(&shared->programs, (size_t)deployment->program - 1)) : TFY_E_ABSENT;
}

static int64_t queue(TfyCluster *cluster, const char *pool, int64_t program)
{
    (void)cluster;
    (void)pool;
    return program;
}

static int64_t submit(TfyCluster *cluster, int64_t queue_id, TfyLogRun *row, const char *birth)
{
    TfyShared *shared = inside(cluster)->shared;
    CHECK(queue_id == row->program);
    return tfy__shared_submit(shared, row, birth);
}

static int64_t number(TfyCluster *cluster, const uint8_t uuid[16])
{
    const int64_t id = tfy__shared_number(inside(cluster)->shared, uuid);
    if (id < 0) snprintf(cluster->error, sizeof cluster->error, "the database has this run already");
    return id;
}

static TfyClaimed claimed_of(const TfySharedRun *run)
{
    return (TfyClaimed){.run = run->row.id, .claims = run->claims, .mail = (int64_t)run->mails.count};
}

static bool lives(const TfyShared *shared, int64_t id)
{
    const TfySharedSession *session = tfy__shared_session(shared, id);
    return session && session->state == TFY_SESSION_LIVES;
}

static int claim(TfyCluster *cluster, int64_t session, int64_t queue_id, bool solo, TfyClaimed *claimed, uint32_t room)
{
    TfyShared *shared = inside(cluster)->shared;
    uint32_t count = 0;
    if (!lives(shared, session)) return TFY_STORE_FENCED;
    for (size_t i = 0; count < room && i < shared->runs.count; i++) {
        const TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        if (run->row.program != queue_id || run->due_ms || run->solo != solo) continue;
        if (tfy__shared_claim(shared, session, run->row.id, 0)) claimed[count++] = claimed_of(run);
    }
    return (int)count;
}

static bool may_be_claimed(const TfySharedRun *run)
{
    return !run->owner && !run->held && !run->due_ms && run->row.state < TFY_TASK_COMPLETED;
}

static int solo_waits(TfyCluster *cluster, int64_t queue_id)
{
    const TfyMemoryRows *runs = &inside(cluster)->shared->runs;
    for (size_t i = 0; i < runs->count; i++) {
        const TfySharedRun *run = tfy__rows_at(runs, i);
        if (run->row.program == queue_id && run->solo && may_be_claimed(run)) return 1;
    }
    return 0;
}

static int see_owned(TfyCluster *cluster, int64_t session, int64_t after, TfyClaimed *owned, uint32_t room)
{
    const TfyShared *shared = inside(cluster)->shared;
    uint32_t count = 0;
    for (size_t i = after < 0 ? 0 : (size_t)after; count < room && i < shared->runs.count; i++) {
        const TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        if (run->owner == session) owned[count++] = claimed_of(run);
    }
    return (int)count;
}

/* What hold and release say of a run before they change it; 1: they may. */
static int may_change(const TfySharedRun *run, int64_t *owner)
{
    *owner = run ? run->owner : 0;
    return !run ? TFY_E_ABSENT : run->row.state >= TFY_TASK_COMPLETED ? TFY_E_STATE : 1;
}

static int hold(TfyCluster *cluster, int64_t id, int64_t *owner)
{
    TfySharedRun *run = tfy__shared_run(inside(cluster)->shared, id);
    const int code = may_change(run, owner);
    if (code < 0 || run->held) return code < 0 ? code : 0;
    run->held = TFY_HELD_PERSON;
    return 1;
}

static int release(TfyCluster *cluster, int64_t id, int64_t *owner)
{
    TfySharedRun *run = tfy__shared_run(inside(cluster)->shared, id);
    const int code = may_change(run, owner);
    if (code < 0 || (!run->held && !run->solo)) return code < 0 ? code : 0;
    run->held = TFY_HELD_NOT;
    run->solo = false;
    run->crashes = run->vain = 0;
    run->freed = (int64_t)run->records.count;
    if (!run->owner) run->due_ms = 0;
    return 1;
}

static int wake_due(TfyCluster *cluster, uint32_t most)
{
    MemoryCluster *self = inside(cluster);
    const int64_t now_ms = self->now_ms(self->clock_state);
    uint32_t count = 0;
    for (size_t i = 0; count < most && i < self->shared->runs.count; i++) {
        TfySharedRun *run = tfy__rows_at(&self->shared->runs, i);
        if (run->owner || run->held || !run->due_ms || run->due_ms > now_ms || run->row.state >= TFY_TASK_COMPLETED)
            continue;
        run->due_ms = 0;
        count++;
    }
    return (int)count;
}

static int64_t put_mail(TfyCluster *cluster, const TfyMail *mail, int64_t *owner)
{
    TfyShared *shared = inside(cluster)->shared;
    const int64_t n = tfy__shared_send(shared, mail);
    *owner = n > 0 ? tfy__shared_run(shared, mail->run)->owner : 0;
    return n;
}

static int see_mail(TfyCluster *cluster, int64_t id, int64_t after, bool open, TfySeeMail *see, void *state)
{
    const TfySharedRun *run = tfy__shared_run(inside(cluster)->shared, id);
    int code = 0;
    for (size_t i = after < 0 ? 0 : (size_t)after; !code && run && i < run->mails.count; i++) {
        const TfyMail *mail = tfy__rows_at(&run->mails, i);
        if (!open || !mail->verdict) code = see(state, mail);
    }
    return code;
}

/* All that is open for its runs: here it does no harm to name what was sent before it owned them. */
static int see_inbox(TfyCluster *cluster, int64_t session, TfySeeMail *see, void *state)
{
    const TfyMemoryRows *runs = &inside(cluster)->shared->runs;
    int code = 0;
    for (size_t i = 0; !code && i < runs->count; i++) {
        const TfySharedRun *run = tfy__rows_at(runs, i);
        if (run->owner == session) code = see_mail(cluster, run->row.id, 0, true, see, state);
    }
    return code;
}

static void close_cluster(TfyCluster *cluster)
{
    free(cluster);
}

static const TfyClusterOps ops = {
    .open_session = open_session,
    .check_standbys = check_standbys,
    .see_living = see_living,
    .end_session = end_session,
    .free_runs = free_runs,
    .keep_program = keep_program,
    .deploy = deploy,
    .deployed = deployed,
    .queue = queue,
    .submit = submit,
    .number = number,
    .claim = claim,
    .solo_waits = solo_waits,
    .see_owned = see_owned,
    .hold = hold,
    .release = release,
    .wake_due = wake_due,
    .mail = put_mail,
    .see_mail = see_mail,
    .see_inbox = see_inbox,
    .close = close_cluster,
};

int tfy__shared_cluster(TfyCluster **cluster, TfyShared *shared, int64_t (*now_ms)(void *state), void *clock_state)
{
    MemoryCluster *self = calloc(1, sizeof *self);
    *cluster = self ? &self->base : NULL;
    if (!self) return TFY_E_NOMEM;
    *self = (MemoryCluster){.base.ops = &ops, .shared = shared, .now_ms = now_ms, .clock_state = clock_state};
    return 0;
}

/* hub_memory.c: see hub_memory.h. What is asked for is done at once. */
#include "hub/hub_memory.h"

static TfyHubMemory *inside(TfyHub *hub)
{
    return (TfyHubMemory *)hub;
}

static int join(TfyHub *hub, TfyStore **store, char *error_text)
{
    const int code = tfy__shared_join(inside(hub)->shared, store);
    return code ? tfy__log_refuse(error_text, code, "no memory for the database") : 0;
}

static void renewed(TfyHub *hub, int64_t sent_ns)
{
    inside(hub)->sent_ns = sent_ns;
}

static bool may_send(TfyHub *hub)
{
    (void)hub;
    return true;
}

static void want(TfyHub *hub, int64_t program, uint32_t room, uint32_t tasks)
{
    (void)tasks;
    inside(hub)->program = program;
    inside(hub)->room = room;
}

/* Up to which number the run's mail has its verdict. */
static int64_t seen(const TfySharedRun *run)
{
    int64_t count = (int64_t)run->mails.count;
    while (count && !((TfyMail *)tfy__rows_at(&run->mails, (size_t)count - 1))->verdict) count--;
    return count;
}

/* The oldest one that is ready. */
static bool claimed(TfyHub *hub, TfyClaim *claim)
{
    TfyHubMemory *self = inside(hub);
    const TfyMemoryRows *runs = &self->shared->runs;
    for (size_t i = 0; self->room && i < runs->count; i++) {
        const TfySharedRun *run = tfy__rows_at(runs, i);
        if (run->row.program != self->program) continue;
        if (!tfy__shared_claim(self->shared, hub->session, run->row.id, self->now_ms(self->clock_state))) continue;
        self->room--;
        *claim = (TfyClaim){.run = run->row.id, .claims = run->claims, .seen = seen(run)};
        return true;
    }
    return false;
}

/* Each run is named once in a round over all of them. */
static int64_t news(TfyHub *hub)
{
    TfyHubMemory *self = inside(hub);
    const TfyMemoryRows *runs = &self->shared->runs;
    while (self->asked < runs->count) {
        const TfySharedRun *run = tfy__rows_at(runs, self->asked++);
        if (run->owner == hub->session && seen(run) < (int64_t)run->mails.count) return run->row.id;
    }
    self->asked = 0;
    return 0;
}

static bool mail(TfyHub *hub, int64_t id, int64_t after, TfyMail *mail)
{
    const TfySharedRun *run = tfy__shared_run(inside(hub)->shared, id);
    if (!run || (size_t)after >= run->mails.count) return false;
    *mail = *(TfyMail *)tfy__rows_at(&run->mails, (size_t)after);
    return true;
}

static void wake_by(TfyHub *hub, void (*wake)(void *arg), void *arg)
{
    (void)hub, (void)wake, (void)arg; /* its loops are turned, and do not sleep */
}

static int failed(TfyHub *hub, char *error_text)
{
    (void)hub, (void)error_text;
    return 0;
}

static const TfyHubOps ops = {.join = join,
                              .renewed = renewed,
                              .may_send = may_send,
                              .want = want,
                              .claimed = claimed,
                              .news = news,
                              .mail = mail,
                              .wake_by = wake_by,
                              .failed = failed};

int tfy__hub_memory_open(TfyHubMemory *hub, TfyShared *shared, int64_t lease_ms, int64_t (*now_ms)(void *state),
                         void *clock_state)
{
    *hub = (TfyHubMemory){.hub = {.ops = &ops, .claims = &tfy__claims, .lease_ms = lease_ms},
                          .shared = shared,
                          .now_ms = now_ms,
                          .clock_state = clock_state};
    hub->hub.session = tfy__shared_open_session(shared, lease_ms);
    return hub->hub.session < 0 ? (int)hub->hub.session : 0;
}

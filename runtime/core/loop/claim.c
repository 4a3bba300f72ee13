/* claim.c: runs of a shared database: they are claimed, worked on and left, and the lease is renewed.
 *
 *   - A claimed run is taken up as a resume does, from its newest snapshot.
 *   - A run that would leave memory leaves the session in the same commit, and any session goes on with it when it is due
 *     or something has arrived for it. If something has arrived that this loop does not know of, it stays, and is taken up
 *     again from the snapshot that was written for leaving.
 *   - The lease is renewed in turns of the loop: one that hangs loses it. */
#include "core/loop/state.h"

#include <stdio.h>

enum { CLAIMS_PER_TURN = 64, RUNS_MOST = 1000, BEATS_PER_LEASE = 3 };

static void renew(void *state, int64_t sent_ns)
{
    TfyHub *hub = state;
    hub->ops->renewed(hub, sent_ns);
}

int tfy__claims_join(const TfyLoop *loop, TfyLogOptions *options, char *error_text)
{
    TfyHub *hub = loop->options.hub;
    options->session = hub->session;
    options->lease_ms = hub->lease_ms;
    options->renewed = renew;
    options->renewed_state = hub;
    return hub->ops->join(hub, &options->store, error_text);
}

static void beat(void *arg)
{
    TfyLoop *loop = arg;
    loop->beat_timer = 0;
    tfy__log_beat(loop->log);
    tfy__claims_beat(loop);
}

void tfy__claims_beat(TfyLoop *loop)
{
    const int64_t every_ns = loop->options.hub->lease_ms * 1000000 / BEATS_PER_LEASE;
    loop->beat_timer = tfy__timers_add(&loop->timers, loop->now_ns + every_ns, beat, loop);
    if (!loop->beat_timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

static bool take_up(TfyLoop *loop, int64_t id)
{
    char which[24], text[TFY_ERROR_TEXT];
    snprintf(which, sizeof which, "%lld", (long long)id);
    const int code = tfy__resume(loop, which, text);
    if (code < 0 && !loop->failure)
        tfy__loop_fail(loop, code, "a run of the database cannot be resumed: %.400s", text);
    return code >= 0;
}

uint32_t tfy__claims_take(TfyLoop *loop)
{
    TfyHub *hub = loop->options.hub;
    int64_t ids[CLAIMS_PER_TURN];
    uint32_t taken = tfy__log_stayed(loop->log, ids, CLAIMS_PER_TURN);
    for (uint32_t i = 0; i < taken; i++)
        if (!take_up(loop, ids[i])) return taken;
    const uint32_t room = loop->runs_live < RUNS_MOST ? RUNS_MOST - (uint32_t)loop->runs_live : 0;
    const int64_t program = tfy__loaded_row(loop, loop->programs.first);
    if (program < 0) return taken; /* nobody has deployed it, so it has no runs */
    hub->ops->want(hub, program, room < CLAIMS_PER_TURN ? room : CLAIMS_PER_TURN);
    for (int64_t id; !loop->failure && (id = hub->ops->claimed(hub)); taken++) take_up(loop, id);
    return taken;
}

bool tfy__claim_leave(Run *run, int64_t due_ms)
{
    TfyHub *hub = run->loop->options.hub;
    const int64_t mail = run->ended ? -1 : hub->ops->mail(hub, run->log.id);
    return tfy__log_leave(run->loop->log, &run->log, mail, due_ms) >= 0;
}

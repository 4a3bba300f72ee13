/* claim.c: runs of a shared database: they are claimed, worked on and left, what is sent to them is taken, and the lease is
 * renewed.
 *
 *   - A claimed run is taken up as a resume does, from its newest snapshot. Claimed is the first record of its owner.
 *   - A run that would leave memory leaves the session in the same commit, and any session goes on with it when it is due
 *     or something has arrived for it. If something has arrived that this loop does not know of, it stays, and is taken up
 *     again from the snapshot that was written for leaving.
 *   - Mail is taken in its order; what it has led to is in one commit with its verdict. So it is taken once, whoever
 *     owns the run meanwhile.
 *   - The lease is renewed in turns of the loop: one that hangs loses it. */
#include "core/step/step.h"
#include "core/loop/claim.h"
#include "wal/history/shared.h"
#include "wal/store/cluster.h"
#include "wal/store/store.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

enum { CLAIMS_PER_TURN = 256, NEWS_PER_TURN = 64, BEATS_PER_LEASE = 3, LOOK_MS = 1000 };

/* ---- the lease ---- */

static void renew(void *state, int64_t sent_ns)
{
    TfyHub *hub = state;
    hub->ops->renewed(hub, sent_ns);
}

static bool may_send(void *state)
{
    TfyHub *hub = state;
    return hub->ops->may_send(hub);
}

static void wake(void *arg)
{
    const TfyLoop *loop = arg;
    if (loop->wake_fd >= 0) (void)!write(loop->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

static int join(TfyLoop *loop, TfyLogOptions *options, char *error_text)
{
    TfyHub *hub = loop->options.hub;
    if (!loop->options.world && !tfy__wake_open(loop)) return TFY_E_NOMEM;
    hub->ops->wake_by(hub, wake, loop);
    options->session = hub->session;
    options->lease_ms = hub->lease_ms;
    options->with = hub->with;
    options->renewed = renew;
    options->may_send = may_send;
    options->renewed_state = hub;
    return hub->ops->join(hub, &options->store, error_text);
}

static void arm_beat(TfyLoop *loop);

static void beat(void *arg)
{
    TfyLoop *loop = arg;
    loop->beat_timer = 0;
    tfy__log_beat(loop->log);
    arm_beat(loop);
}

static void arm_beat(TfyLoop *loop)
{
    const int64_t every_ns = loop->options.hub->lease_ms * 1000000 / BEATS_PER_LEASE;
    loop->beat_timer = tfy__timers_add(&loop->timers, loop->now_ns + every_ns, beat, loop);
    if (!loop->beat_timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

static void end(TfyLoop *loop)
{
    loop->options.hub->ops->wake_by(loop->options.hub, NULL, NULL);
}

/* ---- what is executed ---- */

static int64_t execute(TfyLoop *loop, int64_t run)
{
    const TfyHub *hub = loop->options.hub;
    if (!hub->executes) return 0;
    const int64_t before = *hub->executes;
    *hub->executes = run;
    return before;
}

/* The one that fails the loop stays the one that is executed. */
static void executed(TfyLoop *loop)
{
    if (!tfy__loop_starved(loop)) execute(loop, 0);
}

static uint32_t run_ready(TfyLoop *loop, uint32_t count)
{
    uint32_t ran = 0;
    for (; ran < count && !tfy__loop_starved(loop); ran++) {
        const TfyTask *task = task_at(loop, loop->ring[loop->ring_head & loop->ring_mask]);
        execute(loop, rest_of(task)->run->log.id);
        tfy__sched_run_ready(loop, 1);
    }
    executed(loop);
    return ran;
}

/* ---- mail ---- */

/* 0: a sender's request was taken; any other code: text (TFY_ERROR_TEXT bytes) says why not. */
static int obey(Run *run, const TfyMail *mail, char *text)
{
    TfyLoop *loop = run->loop;
    json_t *request = json_loads(mail->body, JSON_REJECT_DUPLICATES, NULL);
    if (mail->id && request) json_object_set_new(request, "id", json_string(mail->id));
    const json_t *how = json_object_get(request, "via");
    char *via = how ? json_dumps(how, JSON_COMPACT) : NULL;
    const TfySender sender = {
        .via = via, .digest = json_string_value(json_object_get(request, "digest")), .unsynced = true};
    tfy__arrive_from(loop, &sender);
    const int code = tfy__arrive_request(loop, run->uuid, request, mail->sender, text);
    tfy__arrive_from(loop, NULL);
    free(via);
    json_decref(request);
    return code;
}

/* A step asks when its record is durable. Others may read that record, and answer, before this loop has heard of it. */
static bool may_ask_soon(const Run *run)
{
    const TaskRest *rest = run->tasks;
    while (rest && !(rest->step && rest->step->stage == STAGE_SYNC)) rest = rest->next_in_run;
    return rest;
}

/* Takes what was sent to the run and has no verdict; how much. What cannot be taken yet is left to a later turn. */
static uint32_t take_mail(Run *run)
{
    uint32_t taken = 0;
    TfyLoop *loop = run->loop;
    TfyHub *hub = loop->options.hub;
    TfyMail mail;
    tfy__step_settle(loop);
    while (!loop->failure && !run->ended && hub->ops->mail(hub, run->log.id, run->mail, &mail)) {
        char text[TFY_ERROR_TEXT] = "";
        CHECK(mail.n > run->mail);
        const int code = obey(run, &mail, text);
        if (loop->failure) break; /* nothing of it will be committed */
        if (code == TFY_E_STATE && may_ask_soon(run)) break;
        run->mail = mail.n;
        tfy__log_verdict(loop->log, &(TfyStoreVerdict){run->log.id, mail.n, code ? text : TFY_VERDICT_TAKEN, code});
        taken++;
    }
    return taken;
}

/* How much it took. What waits for a commit is no reason to turn again at once. */
static uint32_t take_news(TfyLoop *loop)
{
    TfyHub *hub = loop->options.hub;
    uint32_t taken = 0;
    int64_t id;
    for (int i = 0; i < NEWS_PER_TURN && !loop->failure && (id = hub->ops->news(hub)); i++) {
        Run *run = tfy__run_by_id(loop, id);
        if (run) taken += take_mail(run); /* else it is leaving, and will not be let go */
    }
    return taken;
}

/* ---- claims ---- */

/* Its records, or its program, do not let it be resumed: the others go on, and it is held until people have looked. */
static bool set_aside(TfyLoop *loop, const TfyClaim *is, int code, const char *why)
{
    const bool may = loop->on_diverged && (code == TFY_E_DIVERGED || code == TFY_E_DATA);
    if (!may || tfy__loop_starved(loop) || tfy__log_set_aside(loop->log, is->run, is->claims) < 0) return false;
    if (code == TFY_E_DATA) loop->on_diverged(loop->diverged_state, "", why);
    /* It may come back, as other runs do. */
    if (code == TFY_E_DIVERGED) tfy__diverged_drop(loop, loop->diverged.last->uuid);
    executed(loop);
    return true;
}

/* Whether another owner has ended it: then this session has ended, and hears of it with its next commit. */
static bool has_ended(TfyLoop *loop, const char *which)
{
    TfyLogRun run;
    char text[TFY_ERROR_TEXT];
    const bool ended = tfy__history_find(loop->log, which, &run, text) == 0 && run.state >= TFY_TASK_COMPLETED;
    if (ended) executed(loop);
    return ended;
}

/* is: which run, and what its owner knows of it. claim: NULL: the run has stayed, and this session has had it before. */
static bool take_up(TfyLoop *loop, const TfyClaim *is, const TfyClaim *claim)
{
    const int64_t id = is->run;
    char which[24], text[TFY_ERROR_TEXT];
    snprintf(which, sizeof which, "%lld", (long long)id);
    loop->claim = claim;
    execute(loop, id);
    tfy__log_ahead(loop->log, is->ahead);
    const int code = tfy__resume(loop, which, text);
    tfy__log_ahead(loop->log, NULL);
    loop->claim = NULL;
    if (code == TFY_E_STATE && has_ended(loop, which)) return true;
    if (code < 0 && set_aside(loop, is, code, text)) return true;
    if (code < 0 && !loop->failure) tfy__loop_fail(loop, code, "a run of the database cannot be resumed: %.400s", text);
    if (code < 0) return false;
    Run *run = tfy__run_by_id(loop, id);
    if (!run) executed(loop);
    if (!run) return true; /* its end was in its records */
    run->log.owned.claims = is->claims;
    run->mail = is->seen;
    take_mail(run);
    executed(loop);
    return true;
}

static bool note(Run *run)
{
    const TfyLoop *loop = run->loop;
    if (!loop->claim) return true;
    if (tfy__shared_carry(loop->log, run->history) < 0) return false;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_SESSION, loop->options.hub->session);
    if (loop->options.hub->worker) tfy__put_text(&out, TFY_P_WORKER, loop->options.hub->worker);
    tfy__put_int(&out, TFY_P_CLAIMS, loop->claim->claims);
    tfy__put_end(&out);
    const TfyTicket ticket = tfy__run_note(run, TFY_R_CLAIMED, &out);
    tfy__buffer_free(&out);
    return ticket > 0;
}

/* The row of its program; 0: nobody has deployed it yet, so it has no runs. The database is asked once a second, for which the
 * loop wakes. */
static int64_t program_row(TfyLoop *loop)
{
    if (loop->now_ns < loop->deployed_look_ns && loop->deployed_look_ns != INT64_MAX) return 0;
    const int64_t row = tfy__loaded_row(loop, loop->programs.first);
    loop->deployed_look_ns = row < 0 ? loop->now_ns + LOOK_MS * INT64_C(1000000) : INT64_MAX;
    return row < 0 ? 0 : row;
}

static uint32_t take(TfyLoop *loop)
{
    TfyHub *hub = loop->options.hub;
    TfyStoreLeaving stayed[CLAIMS_PER_TURN];
    TfyClaim claim;
    char text[TFY_ERROR_TEXT];
    const int failed = hub->ops->failed(hub, text);
    if (failed) {
        tfy__loop_fail(loop, failed, "%.500s", text);
        return 0;
    }
    uint32_t taken = tfy__log_stayed(loop->log, stayed, CLAIMS_PER_TURN);
    for (uint32_t i = 0; i < taken; i++)
        if (!take_up(loop, &(TfyClaim){stayed[i].run, stayed[i].claims, stayed[i].mail, NULL}, NULL)) return taken;
    taken += take_news(loop);
    const uint32_t most = hub->most ? hub->most : TFY_RUNS_MOST;
    const uint32_t room = loop->runs_live < most ? most - loop->runs_live : 0;
    const int64_t program = program_row(loop);
    if (!program) return taken;
    hub->ops->want(hub, program, room < CLAIMS_PER_TURN ? room : CLAIMS_PER_TURN, loop->task_count - loop->free_count);
    tfy__limits_serve(loop);
    for (; !loop->failure && hub->ops->claimed(hub, &claim); taken++) take_up(loop, &claim, &claim);
    return taken;
}

static bool leave(Run *run, int64_t due_ms)
{
    return tfy__log_leave(run->loop->log, &run->log, run->ended ? -1 : run->mail, due_ms) >= 0;
}

const TfyClaimOps tfy__claims = {.join = join,
                                 .end = end,
                                 .beat = arm_beat,
                                 .run = run_ready,
                                 .execute = execute,
                                 .note = note,
                                 .take = take,
                                 .leave = leave};

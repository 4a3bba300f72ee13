/* live.c: a step whose outcome is not known yet: waiting for the sync, starting the work, timers, the end of
 * another task. */
#include <stdlib.h>
#include <string.h>

#include "base/lease.h"
#include "core/step/round.h"

enum {
    SLACK_MS = 1000, /* the wall clock and the monotonic one are not read at the same moment */
    SYNCED_STEPS = 256,
};

void tfy__step_wait_sync(Step *step)
{
    TfyLoop *loop = step->call.loop;
    step->stage = STAGE_SYNC;
    step->sync_ticket = tfy__log_last(loop->log);
    CHECK(!(step->queued & IN_SYNC));
    CHECK(step->sync_ticket >= tfy__log_durable(loop->log));
    CHECK(!loop->sync.last || loop->sync.last->sync_ticket <= step->sync_ticket);
    step->queued |= IN_SYNC;
    LIST_APPEND(&loop->sync, step, sync_next);
}

/* Its performer starts again before the time of the attempt ends. */
static bool waits_again(const Step *step)
{
    return step->again_ms && (!step->due_ms || step->again_ms < step->due_ms);
}

void tfy__step_timer_fired(void *arg)
{
    Step *step = arg;
    step->timer = 0;
    if (step->call.loop->draining && !step->in_call) return;
    if (step->stage == STAGE_BACKOFF) {
        step->due_ms = 0; /* the wall clock may differ: within a process, time is monotonic */
        tfy__step_advance(step);
        return;
    }
    if (waits_again(step)) {
        step->again_ms = 0;
        step->stage = STAGE_OUTCOME;
        tfy__step_advance(step);
        return;
    }
    bool worked = step->in_call;
    tfy__step_stop_call(step);
    if (step->round) step->round->ops->abandon(step);
    if (step->call.loop->test) tfy__test_forget(step->call.loop->test, step);
    step->asking = false;
    tfy__wait_leave(step);
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{}");
    TfyTicket ticket = tfy__step_append(step, TFY_R_TIMER_FIRED, &out);
    tfy__buffer_free(&out);
    if (ticket < 0) return;
    if (worked) tfy__count_call(step, true, true);
    if (worked) tfy__activity(step->call.task, "ToolExecutionComplete", "%s ran out of time", step->call.tool->name);
    if (step->due_kind != DUE_TIMEOUT) {
        tfy__step_answer(step, tfy_of_int(0));
        return;
    }
    tfy__step_raise_timeout(step);
    if (step->call.loop->draining)
        tfy__step_queue(step);
    else
        tfy__step_advance(step);
}

/* Arms the step's timer for its wall-clock due time. */
/* Deadlines that passed while no process ran keep their order: the longest overdue comes first. */
int64_t tfy__due_ns(const TfyLoop *loop, int64_t due_ms)
{
    int64_t delay_ms = due_ms > 0 ? due_ms - loop->now_ms : -loop->now_ms;
    if (delay_ms > (INT64_MAX - loop->now_ns) / 1000000) return INT64_MAX - 1;
    return loop->now_ns + delay_ms * 1000000;
}

/* What its timer is for. */
static int64_t first_due(const Step *step)
{
    return waits_again(step) ? step->again_ms : step->due_ms;
}

/* How far the wall clock was set since its timer was. */
static int64_t clock_set_ms(const Step *step)
{
    const TfyLoop *loop = step->call.loop;
    const TfyTool *tool = step->backoff_only ? NULL : step->call.site->tool;
    if (!tfy__timers_has(&loop->timers, step->timer) || (tool && tool->family == TFY_F_SLEEP_UNTIL)) return 0;
    const int64_t left_ns = tfy__timers_due(&loop->timers, step->timer) - loop->now_ns,
                  due_ms = loop->now_ms + (left_ns + 999999) / 1000000, off_ms = due_ms - first_due(step);
    return off_ms > -SLACK_MS && off_ms < SLACK_MS ? 0 : off_ms;
}

int64_t tfy__step_due(const Step *step)
{
    return step->due_ms ? step->due_ms + clock_set_ms(step) : 0;
}

int64_t tfy__step_again(const Step *step)
{
    return step->again_ms ? step->again_ms + clock_set_ms(step) : 0;
}

void tfy__step_arm(Step *step)
{
    TfyLoop *loop = step->call.loop;
    if (step->timer || !first_due(step)) return;
    step->timer = tfy__timers_add(&loop->timers, tfy__due_ns(loop, first_due(step)), tfy__step_timer_fired, step);
    if (!step->timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

void tfy__step_outcome(Step *step, bool ok, TfyValue value)
{
    if (ok) {
        tfy__step_answer(step, value);
        return;
    }
    tfy__timers_del(&step->call.loop->timers, step->timer);
    step->timer = 0;
    tfy__wait_leave(step);
    step->stage = STAGE_SETTLE;
    tfy__step_queue(step);
}

static const char *activity_stage(const TfyTool *tool)
{
    switch (tool->family) {
    case TFY_F_LLM:
    case TFY_F_PROMPT: return "WaitingForLLM";
    case TFY_F_PREVIEW:
    case TFY_F_PREVIEW_EDIT:
    case TFY_F_PREVIEW_DIFF: return "PreviewingPatch";
    case TFY_F_COMMIT:
    case TFY_F_LAND: return "CommittingPatch";
    default: return "ToolExecutionStart";
    }
}

/* A test's answer for this tool, if it has one. */
static bool injected(Step *step)
{
    TfyCall *call = &step->call;
    for (Injection *injection = call->loop->injections; injection; injection = injection->next) {
        if (strcmp(injection->tool, call->tool->name) != 0) continue;
        InjectedAnswer *answer = LIST_TAKE(&injection->answers, next);
        /* a result that does not fit belongs to work that was done */
        if (!answer || answer->error) call->outcome = TFY_NOT_DONE;
        if (!answer) {
            tfy__call_tool_error(call, -1, "the test has no further answer for %s", call->tool->name);
            return true;
        }
        char text[TFY_ERROR_TEXT];
        TfyValue value = {.i = 0};
        if (answer->error)
            tfy__call_tool_error(call, 1, "%s", answer->error);
        else if (call->result->kind == TFY_NOTHING ||
                 tfy__decode_text(call->task, call->result, answer->json, strlen(answer->json), &value, text))
            tfy__call_done(call, value);
        else
            tfy__call_bad_value(call, "$", text);
        free(answer->json);
        free(answer->error);
        free(answer);
        return true;
    }
    return false;
}

/* The embedding program's own implementation, if it has one. */
static bool registered(Step *step)
{
    TfyCall *call = &step->call;
    for (Registration *own = call->loop->registrations; own; own = own->next) {
        if (!own->call || strcmp(own->tool, call->tool->name) != 0) continue;
        TfyValue value = {.i = 0};
        if (!own->call(own->state, call->task, call->args, &value))
            tfy__call_panicked(call);
        else if (!step->fd_wait)
            tfy__call_done(call, value);
        return true;
    }
    return false;
}

bool tfy__step_may_work(TfyLoop *loop)
{
    if (tfy__lease_ahead()) return true;
    tfy__loop_fail(loop, TFY_E_LOST, "the database has not renewed the lease of this process in time");
    return false;
}

void tfy__step_start_work(Step *step)
{
    TfyCall *call = &step->call;
    TfyLoop *loop = call->loop;
    const TfyPerformer *performer = loop->performers[call->tool->family];
    tfy__buffer_reset(&call->extra);
    call->outcome = TFY_UNKNOWN;
    call->state = NULL;
    if (injected(step) || registered(step)) return;
    if (performer) {
        call->fence = step->rest->run->log.owned.claims;
        const TfyHub *hub = loop->options.hub;
        const int64_t before = hub ? hub->claims->execute(loop, step->rest->run->log.id) : 0;
        performer->start(call);
        if (hub) (void)hub->claims->execute(loop, before);
        return;
    }
    call->outcome = TFY_NOT_DONE;
    tfy__call_tool_error(call, -1, "%s is not available here", call->tool->name);
}

static void start_call(Step *step)
{
    TfyCall *call = &step->call;
    TfyLoop *loop = call->loop;
    step->stage = STAGE_RUN;
    CHECK(!step->in_call);
    CHECK(step->rest->step == step);
    step->in_call = CALL_BEGUN;
    loop->in_flight++;
    step->begun_ns = loop->now_ns;
    if (step->doubt != DOUBT_PROBED) tfy__step_arm(step);
    tfy__activity(call->task, activity_stage(call->tool), "%s", call->tool->name);
    const TfyRehearsal *rehearsal = loop->rehearsal;
    if (rehearsal && !call->round && rehearsal->call_starts(rehearsal->state, call)) return;
    tfy__step_start_work(step);
}

static void start_probe(Step *step)
{
    step->doubt = DOUBT_NONE;
    if (!tfy__probe_start(step)) return;
    step->doubt = DOUBT_PROBED;
    start_call(step);
}

bool tfy__step_is_synced(const TfyLoop *loop)
{
    return loop->sync.first && loop->sync.first->sync_ticket <= tfy__log_durable(loop->log);
}

/* Steps that one commit releases are started over several turns, so that the writer has the records of the first
 * ones while the loop handles the others. */
void tfy__step_synced(TfyLoop *loop)
{
    for (int n = 0; n < SYNCED_STEPS && tfy__step_is_synced(loop); n++) {
        if (!tfy__step_may_work(loop)) return;
        Step *step = LIST_TAKE(&loop->sync, sync_next);
        CHECK(step->queued & IN_SYNC);
        step->queued &= (uint8_t)~IN_SYNC;
        if (!tfy__step_dequeued(step)) continue;
        if (loop->draining && !tfy__drain_lets_start(step)) continue;
        if (is_question(step->call.tool))
            tfy__person_ask(step);
        else if (step->doubt == DOUBT_PROBES)
            start_probe(step);
        else
            start_call(step);
    }
}

/* So it need not wait for the disk, and a process need not stop for it. */
bool tfy__step_only_takes(const TfyTool *tool)
{
    switch (tool->family) {
    case TFY_F_ACCEPT:
    case TFY_F_STDIN:
    case TFY_F_READABLE:
    case TFY_F_WRITABLE:
    case TFY_F_READ:
    case TFY_F_READ_LINE:
    case TFY_F_ADDRESS: return true;
    default: return false;
    }
}

/* It waits for time, or for another task of its run. Subscribers are also told when it continues. */
static void tell_idle(Step *step)
{
    step->told_idle = true;
    tfy__activity(step->call.task, "Idle", "%s", step->call.tool->name);
}

/* ---- ghosts ---- */

static bool has_ghosts(const Step *step)
{
    const TfyLoop *loop = step->call.loop;
    return loop->replay_only && loop->tells;
}

/* A performer does its work. */
static bool is_performed(const Step *step)
{
    return !tfy__step_wait_kind(step) && !tfy__step_is_sleep(step) && !is_question(step->call.tool);
}

void tfy__step_ghost_begins(Step *step)
{
    const TfyCall *call = &step->call;
    if (!has_ghosts(step)) return;
    if (tfy__step_is_sleep(step))
        tell_idle(step);
    else if (is_question(call->tool))
        tfy__activity(call->task, "AwaitingUserApproval", "%s", ((const TfyString *)call->args[0].o)->bytes);
    else if (is_performed(step))
        tfy__activity(call->task, activity_stage(call->tool), "%s", call->tool->name);
}

void tfy__step_ghost_ends(const Step *step, const char *how)
{
    if (has_ghosts(step) && is_performed(step))
        tfy__activity(step->call.task, "ToolExecutionComplete", "%s%s", step->call.tool->name, how);
}

void tfy__step_ghost_waits(Step *step)
{
    if (has_ghosts(step) && tfy__step_wait_kind(step) && !step->told_idle) tell_idle(step);
}

/* What the work may cost is recorded before it starts. False: the log has failed. */
static bool puts_down(Step *step)
{
    const TfyPerformer *performer = step->call.loop->performers[step->call.tool->family];
    return !performer || !performer->request || performer->request(step);
}

static void work_when_synced(Step *step)
{
    tfy__step_wait_sync(step);
    if (tfy__log_durable(step->call.loop->log) >= step->sync_ticket) tfy__step_synced(step->call.loop);
}

/* STAGE_OUTCOME with nothing recorded: this process does the work. */
void tfy__step_go_live(Step *step)
{
    const TfyTool *tool = step->call.tool;
    const TaskRest *rest = step->rest;
    if (tfy__test_answers(step)) return;
    if (step->again_ms <= step->call.loop->now_ms) step->again_ms = 0;
    if (tfy__step_is_sleep(step) || step->again_ms) {
        step->stage = STAGE_RUN;
        tfy__step_arm(step);
        tell_idle(step);
    } else if (tfy__step_wait_kind(step)) {
        step->stage = STAGE_RUN;
        tfy__step_arm(step);
        tfy__step_wait_kind(step)->live(step);
        if (rest->step == step) tell_idle(step);
    } else if (tfy__step_only_takes(tool)) {
        start_call(step);
    } else if (step->started == START_FOUND && !is_question(tool) && !is_away(step) && !tool->keyed) {
        step->stage = STAGE_DOUBT;
        tfy__step_advance(step);
    } else if (puts_down(step)) {
        step->call.begun = step->started == START_FOUND;
        work_when_synced(step);
    }
}

/* A once step was started, in an earlier process or in this one, and it is unknown whether it was done. Its probe
 * may know, and starts as other work does; else a person must decide. */
void tfy__step_doubt_live(Step *step)
{
    CHECK(step->doubt != DOUBT_PROBED && step->doubt != DOUBT_PROBES);
    if (step->doubt == DOUBT_RECORDED) {
        tfy__person_in_doubt(step);
    } else if (step->call.site->tool->probe) {
        step->doubt = DOUBT_PROBES;
        work_when_synced(step);
    } else {
        tfy__step_doubt_stays(step);
    }
}

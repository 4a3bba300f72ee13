/* step_live.c: a step whose outcome nobody knows yet: waiting for the sync, starting the work, timers, the end of
 * another task. */
#include <stdlib.h>
#include <string.h>

#include "core/replay/rehearse.h"
#include "core/step/step.h"

enum {
    SLACK_MS = 1000, /* the wall clock and the monotonic one are not read at the same moment */
    SYNCED_STEPS = 256,
};

void tfy__step_wait_sync(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    pending->stage = STAGE_SYNC;
    pending->sync_lsn = tfy__log_last(loop->log);
    CHECK(!pending->in_sync);
    CHECK(pending->sync_lsn >= tfy__log_durable(loop->log));
    CHECK(!loop->sync.last || loop->sync.last->sync_lsn <= pending->sync_lsn);
    pending->in_sync = true;
    LIST_APPEND(&loop->sync, pending, sync_next);
}

void tfy__step_timer_fired(void *arg)
{
    Pending *pending = arg;
    pending->timer = 0;
    if (pending->call.loop->draining && !pending->in_call) return;
    if (pending->stage == STAGE_BACKOFF) {
        pending->due_ms = 0; /* the wall clock may say otherwise: in a process, time is monotonic */
        tfy__step_advance(pending);
        return;
    }
    bool worked = pending->in_call;
    tfy__step_stop_call(pending);
    pending->asking = false;
    tfy__wait_leave(pending);
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{}");
    int64_t lsn = tfy__step_append(pending, TFY_R_TIMER_FIRED, &out);
    tfy__buffer_free(&out);
    if (lsn < 0) return;
    if (worked) tfy__count_call(pending, true, true);
    if (worked)
        tfy__activity(pending->call.task, "ToolExecutionComplete", "%s ran out of time", pending->call.tool->name);
    if (!pending->bounded) {
        tfy__step_answer(pending, tfy_of_int(0));
        return;
    }
    tfy__step_raise_timeout(pending);
    if (pending->call.loop->draining)
        tfy__step_queue(pending);
    else
        tfy__step_advance(pending);
}

/* Arms the step's timer for its wall-clock due time. */
/* What was due while nobody ran keeps its place in time: the longest overdue comes first. */
int64_t tfy__due_ns(const TfyLoop *loop, int64_t due_ms)
{
    int64_t delay_ms = due_ms > 0 ? due_ms - loop->now_ms : -loop->now_ms;
    if (delay_ms > (INT64_MAX - loop->now_ns) / 1000000) return INT64_MAX - 1;
    return loop->now_ns + delay_ms * 1000000;
}

int64_t tfy__step_due(const Pending *pending)
{
    const TfyLoop *loop = pending->call.loop;
    const TfyTool *tool = pending->backoff_only ? NULL : pending->call.site->tool;
    if (!tfy__timers_has(&loop->timers, pending->timer) || (tool && tool->family == TFY_F_SLEEP_UNTIL))
        return pending->due_ms;
    const int64_t left_ns = tfy__timers_due(&loop->timers, pending->timer) - loop->now_ns,
                  due_ms = loop->now_ms + (left_ns + 999999) / 1000000, off_ms = due_ms - pending->due_ms;
    return off_ms > -SLACK_MS && off_ms < SLACK_MS ? pending->due_ms : due_ms;
}

void tfy__step_arm(Pending *pending)
{
    TfyLoop *loop = pending->call.loop;
    if (pending->timer || !pending->due_ms) return;
    pending->timer = tfy__timers_add(&loop->timers, tfy__due_ns(loop, pending->due_ms), tfy__step_timer_fired, pending);
    if (!pending->timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

void tfy__step_outcome(Pending *pending, bool ok, TfyValue value)
{
    if (ok) {
        tfy__step_answer(pending, value);
        return;
    }
    tfy__timers_del(&pending->call.loop->timers, pending->timer);
    pending->timer = 0;
    tfy__wait_leave(pending);
    pending->stage = STAGE_SETTLE;
    tfy__step_queue(pending);
}

static const char *activity_stage(const TfyTool *tool)
{
    switch (tool->family) {
    case TFY_F_LLM:
    case TFY_F_PROMPT: return "WaitingForLLM";
    case TFY_F_PREVIEW: return "PreviewingPatch";
    case TFY_F_COMMIT: return "CommittingPatch";
    default: return "ToolExecutionStart";
    }
}

/* A test's answer for this tool, if it has one. */
static bool injected(Pending *pending)
{
    TfyCall *call = &pending->call;
    for (Injection *injection = call->loop->injections; injection; injection = injection->next) {
        if (strcmp(injection->tool, call->tool->name) != 0) continue;
        InjectedAnswer *answer = LIST_TAKE(&injection->answers, next);
        if (!answer || answer->error)
            call->outcome = TFY_NOT_DONE; /* a result that does not fit is one of what was done */
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

/* The embedding program's own way of doing it, if it has one. */
static bool registered(Pending *pending)
{
    TfyCall *call = &pending->call;
    for (Registration *own = call->loop->registrations; own; own = own->next) {
        if (!own->call || strcmp(own->tool, call->tool->name) != 0) continue;
        TfyValue value = {.i = 0};
        if (!own->call(own->state, call->task, call->args, &value))
            tfy__call_panicked(call);
        else if (!pending->fd_wait)
            tfy__call_done(call, value);
        return true;
    }
    return false;
}

void tfy__step_start_work(Pending *pending)
{
    TfyCall *call = &pending->call;
    TfyLoop *loop = call->loop;
    const TfyPerformer *performer = loop->performers[call->tool->family];
    tfy__buffer_reset(&call->extra);
    call->outcome = TFY_UNKNOWN;
    call->state = NULL;
    if (injected(pending) || registered(pending)) return;
    if (performer) {
        performer->start(call);
        return;
    }
    call->outcome = TFY_NOT_DONE;
    tfy__call_tool_error(call, -1, "%s is not available here", call->tool->name);
}

static void start_call(Pending *pending)
{
    TfyCall *call = &pending->call;
    TfyLoop *loop = call->loop;
    pending->stage = STAGE_RUN;
    CHECK(!pending->in_call);
    CHECK(!pending->dead && pending->cold->pending == pending);
    pending->in_call = true;
    loop->in_flight++;
    pending->begun_ns = loop->now_ns;
    if (!pending->probing) tfy__step_arm(pending);
    tfy__activity(call->task, activity_stage(call->tool), "%s", call->tool->name);
    if (loop->rehearsal && tfy__rehearse_call(pending)) return;
    tfy__step_start_work(pending);
}

bool tfy__step_is_synced(const TfyLoop *loop)
{
    return loop->sync.first && loop->sync.first->sync_lsn <= tfy__log_durable(loop->log);
}

/* What a commit let go on is done in several turns, so that the writer has the records of the first ones while the
 * loop is at the others. */
void tfy__step_synced(TfyLoop *loop)
{
    for (int n = 0; n < SYNCED_STEPS && tfy__step_is_synced(loop); n++) {
        Pending *pending = LIST_TAKE(&loop->sync, sync_next);
        CHECK(pending->in_sync);
        pending->in_sync = false;
        if (!tfy__step_dequeued(pending)) continue;
        if (loop->draining && !tfy__drain_lets_start(pending)) continue;
        if (is_question(pending->call.tool))
            tfy__person_ask(pending);
        else
            start_call(pending);
    }
}

/* So it need not wait for the disk, nor a process that stops for it. */
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

/* It waits for time, or for somebody inside its run. Who listens is told when it goes on, too. */
static void tell_idle(Pending *pending)
{
    pending->told_idle = true;
    tfy__activity(pending->call.task, "Idle", "%s", pending->call.tool->name);
}

/* ---- ghosts ---- */

static bool has_ghosts(const Pending *pending)
{
    const TfyLoop *loop = pending->call.loop;
    return loop->replay_only && loop->tells;
}

/* Its work is done by a performer. */
static bool is_performed(const Pending *pending)
{
    return !tfy__step_inner(pending) && !tfy__step_is_sleep(pending) && !is_question(pending->call.tool);
}

void tfy__step_ghost_begins(Pending *pending)
{
    const TfyCall *call = &pending->call;
    if (!has_ghosts(pending)) return;
    if (tfy__step_is_sleep(pending))
        tell_idle(pending);
    else if (is_question(call->tool))
        tfy__activity(call->task, "AwaitingUserApproval", "%s", ((const TfyString *)call->args[0].o)->bytes);
    else if (is_performed(pending))
        tfy__activity(call->task, activity_stage(call->tool), "%s", call->tool->name);
}

void tfy__step_ghost_ends(const Pending *pending, const char *how)
{
    if (has_ghosts(pending) && is_performed(pending))
        tfy__activity(pending->call.task, "ToolExecutionComplete", "%s%s", pending->call.tool->name, how);
}

void tfy__step_ghost_waits(Pending *pending)
{
    if (has_ghosts(pending) && tfy__step_inner(pending) && !pending->told_idle) tell_idle(pending);
}

/* STAGE_OUTCOME with nothing recorded: the work is ours. */
void tfy__step_go_live(Pending *pending)
{
    const TfyTool *tool = pending->call.tool;
    const Cold *cold = pending->cold;
    if (tfy__test_answers(pending)) return;
    if (tfy__step_is_sleep(pending)) {
        pending->stage = STAGE_RUN;
        tfy__step_arm(pending);
        tell_idle(pending);
    } else if (tfy__step_inner(pending)) {
        pending->stage = STAGE_RUN;
        tfy__step_arm(pending);
        tfy__step_inner(pending)->live(pending);
        if (cold->pending == pending) tell_idle(pending);
    } else if (tfy__step_only_takes(tool)) {
        start_call(pending);
    } else if (pending->from_history && !is_question(tool)) {
        pending->stage = STAGE_DOUBT;
        tfy__step_advance(pending);
    } else {
        tfy__step_wait_sync(pending);
        if (tfy__log_durable(pending->call.loop->log) >= pending->sync_lsn) tfy__step_synced(pending->call.loop);
    }
}

/* A once step began, in an earlier process or in this one, and nobody knows whether it was done. Its probe may; else
 * a person has to say. */
void tfy__step_doubt_live(Pending *pending)
{
    const TfyTool *probe = pending->call.site->tool->probe;
    if (pending->doubt_recorded) {
        tfy__person_in_doubt(pending);
    } else if (probe) {
        pending->probing = true;
        if (tfy__probe_start(pending)) start_call(pending);
    } else {
        tfy__step_doubt_stays(pending);
    }
}

/* park.c: runs that wait for long leave memory. Only a snapshot and a row with the time to wake it are left of
 * such a run, written in one commit; the timer, a signal, an answer or a kill brings it back, as a resume would.
 * Opening a database with a million parked runs reads none of them.
 *
 *   - A run is checked some time after one of its tasks started to wait or ended. It is parked if all of them wait, for a
 *     time that is far enough away, for people, for signals or for each other, and no work of it is under way
 *     outside.
 *   - A process that stops between the commit and the waking loses nothing: the row stays, and the next opening
 *     finds it due.
 *   - Runs of programs that open descriptors stay: a descriptor does not survive leaving memory. So do, for a
 *     while, runs whose steps count in the window of a rate: a process that opens the database then would not know
 *     of them.
 *   - A run in a deadlock stays too, and people are told: nothing would wake it. A loop that stays records it, since
 *     it does not end for that.
 *   - A bounded number of due runs come back per turn.
 *   - A run that a server has queued has not begun, and is parked without a snapshot: it comes back by tfy__resume, or
 *     to be killed. What else arrives for it is refused.
 *   - They wait by the wall clock. A clock that was set back makes them wait anew, for their whole time; a clock
 *     that was set forward ends their wait, as if the process had been away for that long. */
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"
#include "wal/history/history.h"

#define PARK_AFTER_MS  60000
#define LOOK_AGAIN_MS  1000
#define WAKES_PER_TURN 256u
#define AGAIN_AT_ONCE  4096

/* 139 years: in nanoseconds, and added to any time, it still fits. */
static const int64_t after_max_ms = (int64_t)1 << 42;

/* ---- may it leave? ---- */

/* When the run must be back for this step; 0: it cannot leave now. */
static int64_t step_due(const Step *step)
{
    const bool outside = step->in_call || step->queued;
    if (outside) return 0;
    if (step->asking && step->call.loop->on_question) return 0; /* this process has shown the question */
    if (step->stage == STAGE_BACKOFF) return tfy__step_due(step);
    if (step->stage == STAGE_DOUBT) return step->asking ? INT64_MAX : 0;
    const int64_t due_ms = step->due_ms ? tfy__step_due(step) : INT64_MAX, again_ms = tfy__step_again(step);
    const bool waits = tfy__step_is_sleep(step) || step->asking || again_ms || tfy__step_wait_kind(step);
    if (step->stage != STAGE_RUN || !waits) return 0;
    return again_ms && again_ms < due_ms ? again_ms : due_ms;
}

static int64_t earlier(int64_t due_ms, const TfyLoop *loop, uint64_t timer)
{
    if (!tfy__timers_has(&loop->timers, timer)) return due_ms;
    int64_t timer_ms = loop->now_ms + (tfy__timers_due(&loop->timers, timer) - loop->now_ns) / 1000000;
    return timer_ms < due_ms ? timer_ms : due_ms;
}

/* The same for a task. */
static int64_t task_due(const TaskRest *rest)
{
    const TfyTask *task = rest->task;
    const TfyLoop *loop = task->loop;
    int64_t due_ms = INT64_MAX;
    if (task->state & (T_QUEUED | T_HALTED | T_CANCEL)) return 0;
    if (rest->step)
        due_ms = rest->step->backoff_only || rest->step->call.tool ? step_due(rest->step) : 0;
    else if (!(task->state & T_RETURNING) && !rest->after_left)
        return 0;
    for (uint32_t at = task->top; at != TFY_NO_FRAME && due_ms; at = frame_at(task, at)->prev)
        due_ms = earlier(due_ms, loop, frame_at(task, at)->timer);
    for (uint32_t i = 0; i < rest->deadline_count && due_ms; i++)
        due_ms = earlier(due_ms, loop, rest->deadlines[i].timer);
    return due_ms;
}

/* When the run must be back; 0: it cannot leave now, because something of it is under way. */
static int64_t leave_due(Run *run)
{
    const TfyLoop *loop = run->loop;
    int64_t due_ms = INT64_MAX;
    if (run->ended || run->history || loop->failure || !tfy__unfold_run(run, UINT32_MAX)) return 0;
    for (const TaskRest *rest = run->tasks; rest && due_ms; rest = rest->next_in_run) {
        int64_t own_ms = rest->task ? task_due(rest) : INT64_MAX;
        if (own_ms < due_ms) due_ms = own_ms;
    }
    return due_ms;
}

/* The same, where it is worth it. */
static int64_t run_due(Run *run)
{
    const int64_t due_ms = leave_due(run);
    return due_ms > run->loop->now_ms + run->loop->park_after_ms ? due_ms : 0;
}

/* ---- leaving ---- */

static void drop_from_due_list(TfyLoop *loop, const Run *run)
{
    for (Run **link = &loop->snapshots_due; *link; link = &(*link)->due_next) {
        if (*link != run) continue;
        *link = run->due_next;
        return;
    }
}

/* This process brings it back. */
static bool keep_parked(Run *run, int64_t due_ms)
{
    TfyLoop *loop = run->loop;
    run->log.parked_ms = due_ms;
    run->log.parked_at_ms = due_ms == INT64_MAX ? 0 : loop->now_ms;
    if (tfy__log_change_run(loop->log, &run->log) < 0) return false;
    loop->parked++;
    if (due_ms < loop->park_next_ms) loop->park_next_ms = due_ms;
    tfy__park_arm(loop);
    return true;
}

/* False: it could not be written, and the loop fails. */
static bool park(Run *run, int64_t due_ms)
{
    TfyLoop *loop = run->loop;
    if (tfy__snapshot_write(run) < 0) return false;
    drop_from_due_list(loop, run);
    CHECK(!run->ended && run->live > 0);
    const bool left = loop->options.hub ? loop->options.hub->claims->leave(run, due_ms) : keep_parked(run, due_ms);
    if (left) tfy__run_discard(loop, run);
    return left;
}

bool tfy__park_now(Run *run)
{
    const bool may = run->loaded->parks && !tfy__limit_holds(run);
    const int64_t due_ms = may ? leave_due(run) : 0;
    if (due_ms) return park(run, due_ms);
    if (may) tfy__fold_run(run); /* its tasks were unfolded for the check */
    return false;
}

/* A run that is to be checked late delays the runs after it in the list, which does no harm. */
static void look_later(Run *run, int64_t least_ms)
{
    TfyLoop *loop = run->loop;
    const int64_t after_ms = loop->park_after_ms > least_ms ? loop->park_after_ms : least_ms;
    CHECK(!run->park_listed);
    run->park_listed = true;
    run->park_look_ns = loop->now_ns + after_ms * 1000000;
    CHECK(!run->history);
    CHECK(!loop->park_list.last || loop->park_list.last != run);
    LIST_APPEND(&loop->park_list, run, park_next);
}

void tfy__park_look(TfyLoop *loop)
{
    while (loop->park_list.first && loop->park_list.first->park_look_ns <= loop->now_ns) {
        Run *run = LIST_TAKE(&loop->park_list, park_next);
        CHECK(run->park_listed);
        run->park_listed = false;
        int64_t due_ms = run_due(run);
        const bool counts = due_ms && tfy__limit_holds(run), stuck = due_ms && tfy__deadlock_tell(run);
        if (due_ms && run->loaded->parks && !counts && !stuck) {
            (void)park(run, due_ms);
            continue;
        }
        if (counts) look_later(run, LOOK_AGAIN_MS);
        tfy__fold_run(run); /* its tasks were unfolded for the check */
    }
}

void tfy__park_consider(Run *run)
{
    if (!run->park_listed && !run->history && (run->loaded->parks || run->loop->options.stay)) look_later(run, 0);
}

void tfy__park_unlist(Run *run)
{
    TfyLoop *loop = run->loop;
    drop_from_due_list(loop, run);
    if (!run->park_listed) return;
    LIST_REMOVE(&loop->park_list, run, park_next);
    run->park_listed = false;
}

/* ---- coming back ---- */

static void wake_time(void *arg)
{
    TfyLoop *loop = arg;
    loop->wake_timer = 0;
    loop->wake_due = true;
}

void tfy__park_arm(TfyLoop *loop)
{
    tfy__timers_del(&loop->timers, loop->wake_timer);
    loop->wake_timer = 0;
    if (loop->park_next_ms >= TFY_QUEUED_MS) return;
    loop->wake_timer = tfy__timers_add(&loop->timers, tfy__due_ns(loop, loop->park_next_ms), wake_time, loop);
    if (!loop->wake_timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

/* Its row says again that it is in memory; the update is part of its next commit. */
static bool bring_back(TfyLoop *loop, const TfyLogRun *parked)
{
    char which[24], text[TFY_ERROR_TEXT];
    snprintf(which, sizeof which, "%lld", (long long)parked->id);
    int code = tfy__resume(loop, which, text);
    if (code == TFY_E_DIVERGED && !loop->failure) return false; /* it is set aside */
    if (code < 0) {
        tfy__loop_fail(loop, code, "a parked run cannot be resumed: %.400s", text);
        return false;
    }
    return true;
}

void tfy__park_resumed(Run *run)
{
    TfyLoop *loop = run->loop;
    if (!run->log.parked_ms) return;
    const bool begins = run->log.parked_ms == TFY_QUEUED_MS;
    run->log.parked_ms = run->log.parked_at_ms = 0;
    if (loop->parked) loop->parked--;
    tfy__log_change_run(loop->log, &run->log);
    if (begins && loop->runs_seen.begun) loop->runs_seen.begun(loop->runs_seen.state, run->uuid);
}

/* A reader does not see what is queued, so it is committed first: runs that came back a moment ago must not come
 * again. The clock may also have been set back. */
static int catch_up(TfyLoop *loop, int64_t program)
{
    int code = tfy__log_sync(loop->log), again;
    do {
        again = code < 0 ? code : tfy__log_parked_again(loop->log, program, loop->now_ms, AGAIN_AT_ONCE);
        if (again > 0) code = tfy__log_sync(loop->log);
    } while (again == AGAIN_AT_ONCE);
    return again < 0 ? again : code;
}

/* The runs that are due, of all programs together at most `room`; *next_ms: when the first of the others is. */
static int find_due(TfyLoop *loop, int64_t now_ms, TfyLogRun *due, uint32_t room, uint32_t *count, int64_t *next_ms)
{
    int code = 0;
    *count = 0;
    *next_ms = INT64_MAX;
    for (Loaded *loaded = loop->programs.first; loaded && code >= 0; loaded = loaded->next) {
        const int64_t row = tfy__loaded_row(loop, loaded);
        uint32_t more = 0;
        int64_t own_ms = INT64_MAX;
        code = row < 0 ? (int)row : catch_up(loop, row);
        if (code >= 0)
            code = tfy__log_parked_due(loop->log, row, &(TfyDueAt){now_ms, tfy__root_elsewhere, loaded}, due + *count,
                                       room - *count, &more, &own_ms);
        *count += more;
        if (own_ms < *next_ms) *next_ms = own_ms;
    }
    return code;
}

uint32_t tfy__park_wake(TfyLoop *loop)
{
    TfyLogRun due[WAKES_PER_TURN];
    uint32_t count = 0;
    loop->wake_due = false;
    const int code = find_due(loop, loop->now_ms, due, WAKES_PER_TURN, &count, &loop->park_next_ms);
    if (code == TFY_E_STATE && !tfy__log_error(loop->log)) { /* the disk is full: tries again when there is room */
        loop->wake_due = true;
        return 0;
    }
    /* Nothing would try again. A failure of the log reaches the loop by itself. */
    if (code < 0 && !tfy__log_error(loop->log)) tfy__loop_fail(loop, code, "the parked runs cannot be read");
    if (code < 0) return 0;
    for (uint32_t i = 0; i < count && !loop->failure; i++) bring_back(loop, &due[i]);
    if (!loop->failure) tfy__park_arm(loop);
    return count;
}

bool tfy__park_reach(TfyLoop *loop, const char *name, bool queued)
{
    TfyHistory *history;
    char text[TFY_ERROR_TEXT];
    /* In a shared database a parked run is nobody's: what arrives for it wakes it there. */
    if (!loop->log || loop->options.hub || loop->draining || tfy__log_sync(loop->log) < 0) return false;
    if (tfy__history_read_tail(loop->log, name, &history, text) < 0) return false;
    const TfyLogRun run = history->run;
    const Loaded *loaded = tfy__loaded_of(loop, history);
    const bool ours = run.parked_ms && (queued || run.parked_ms != TFY_QUEUED_MS) && loaded &&
                      tfy__root_serves(loaded, &history->root);
    tfy__history_free(history);
    if (!ours || !bring_back(loop, &run)) return false;
    tfy__step_settle(loop);
    return !loop->failure;
}

bool tfy__park_reach_tid(TfyLoop *loop, int64_t tid)
{
    TfyLogRun run;
    char name[24];
    if (!loop->log || loop->options.hub || loop->draining || tfy__log_sync(loop->log) < 0) return false;
    if (tfy__log_run_of(loop->log, tid, &run) < 0 || !run.parked_ms) return false;
    snprintf(name, sizeof name, "%lld", (long long)run.id);
    return tfy__park_reach(loop, name, false);
}

/* ---- opening ---- */

int tfy__park_init(TfyLoop *loop, char *error_text)
{
    const int64_t wanted_ms = loop->options.park_after_ms;
    loop->park_next_ms = INT64_MAX;
    loop->park_after_ms = wanted_ms > after_max_ms ? after_max_ms : wanted_ms ? wanted_ms : PARK_AFTER_MS;
    const int code = tfy__env_number("TFY_PARK_AFTER", after_max_ms, &loop->park_after_ms, error_text);
    if (code < 0) return code;
    if (!loop->snapshot_every || !(loop->options.db_path || loop->options.hub)) loop->park_after_ms = -1;
    return 0;
}

int tfy__see_unfinished(TfyLoop *loop, void (*see)(void *state, const TfyLogRun *run, const TfyLogRecord *birth),
                        void *state)
{
    int code = tfy__log_sync(loop->log);
    for (Loaded *loaded = loop->programs.first; loaded && code >= 0; loaded = loaded->next) {
        const int64_t row = tfy__loaded_row(loop, loaded);
        code = row < 0 ? (int)row : tfy__log_see_unfinished(loop->log, row, see, state);
    }
    return code;
}

bool tfy__any_parked(const TfyLoop *loop)
{
    return loop->parked > 0;
}

/* Learns when the first parked run of the program is due. */
static int open_program(TfyLoop *loop, Loaded *loaded)
{
    TfyLogRun first = {.parked_ms = INT64_MAX};
    const int64_t row = tfy__loaded_row(loop, loaded);
    int64_t next_ms;
    uint32_t found = 0;
    int code = row < 0 ? (int)row : catch_up(loop, row);
    if (code >= 0)
        code = tfy__log_parked_due(loop->log, row, &(TfyDueAt){INT64_MAX, tfy__root_elsewhere, loaded}, &first, 1,
                                   &found, &next_ms);
    loop->parked += found; /* or more */
    if (first.parked_ms < loop->park_next_ms) loop->park_next_ms = first.parked_ms;
    return code;
}

int tfy__park_open(TfyLoop *loop)
{
    int code = 0;
    loop->parked = 0;
    loop->park_next_ms = INT64_MAX;
    for (Loaded *loaded = loop->programs.first; loaded && code >= 0; loaded = loaded->next)
        code = open_program(loop, loaded);
    if (code >= 0) tfy__park_arm(loop);
    return code;
}

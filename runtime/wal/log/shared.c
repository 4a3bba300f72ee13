/* shared.c: what the log does in a shared database alone: runs that leave their session, and renewals of the lease. */
#include "base/check.h"
#include "wal/log/log_state.h"

#include <string.h>

static int leave(TfyLog *log, TfyLogRun *run, int64_t mail, int64_t due_ms)
{
    CHECK(log->shared && run->owned.slot);
    int code = tfy__log_error(log);
    if (code) return code;
    const TfyStoreLeaving leaving = {
        .run = run->id, .claims = run->owned.claims, .mail = mail, .due_ms = due_ms, .place = log->place};
    code = tfy__mark_run(log, run);
    if (!code) code = tfy__batch_add_leaving(log->filling, &leaving);
    if (code) tfy__log_give_up(log, "memory ran out");
    return code;
}

int tfy__log_leave(TfyLog *log, TfyLogRun *run, int64_t mail, int64_t due_ms)
{
    CHECK(run->snap == run->lsn || run->state >= TFY_TASK_COMPLETED);
    return leave(log, run, mail, due_ms);
}

int tfy__log_set_aside(TfyLog *log, int64_t run, int64_t claims)
{
    CHECK(log->shared);
    int code = tfy__log_error(log);
    if (code) return code;
    code = tfy__batch_add_leaving(
        log->filling,
        &(TfyStoreLeaving){.run = run, .claims = claims, .mail = -1, .damaged = true, .place = log->place});
    if (code) tfy__log_give_up(log, "memory ran out");
    return code;
}

int tfy__log_hand_on(TfyLog *log, TfyLogRun *run)
{
    return leave(log, run, -1, run->state >= TFY_TASK_COMPLETED ? INT64_MAX : 0);
}

int tfy__log_hand_back(TfyLog *log, TfyLogRun *run, int64_t mail, int64_t due_ms)
{
    return leave(log, run, mail, due_ms);
}

int tfy__log_verdict(TfyLog *log, const TfyStoreVerdict *verdict)
{
    CHECK(log->shared);
    int code = tfy__log_error(log);
    if (code) return code;
    code = tfy__batch_add_verdict(log->filling, verdict);
    if (code) tfy__log_give_up(log, "memory ran out");
    return code;
}

uint32_t tfy__log_stayed(TfyLog *log, TfyStoreLeaving *stayed, uint32_t room)
{
    pthread_mutex_lock(&log->writer->mutex);
    const uint32_t count = log->stayed_count < room ? log->stayed_count : room;
    log->stayed_count -= count;
    if (count) {
        memcpy(stayed, log->stayed, count * sizeof *stayed);
        memmove(log->stayed, log->stayed + count, log->stayed_count * sizeof *stayed);
    }
    pthread_mutex_unlock(&log->writer->mutex);
    return count;
}

void tfy__log_ahead(TfyLog *log, const TfyAhead *ahead)
{
    if (!log->store->ops->use_ahead) return;
    pthread_mutex_lock(&log->store_mutex);
    log->store->ops->use_ahead(log->store, ahead);
    pthread_mutex_unlock(&log->store_mutex);
}

void tfy__log_beat(TfyLog *log)
{
    CHECK(log->shared);
    if (tfy__log_error(log) || !tfy__writer_silent(log)) return;
    if (!log->filling->len && tfy__batch_add_hold(log->filling) != 0) return; /* the next beat may have the memory */
    tfy__writer_hand_over(log);
}

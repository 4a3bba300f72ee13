/* close.c: how a loop ends: what is under way is ended and written, then everything is released. */
#include <stdlib.h>
#include <unistd.h>

#include "core/loop/state.h"

static void stop_steps(TfyLoop *loop)
{
    for (Run *run = loop->runs.first; run; run = run->next)
        for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
            if (rest->step) tfy__step_cancel(rest);
    while (tfy__step_work(loop)) continue;
}

static void close_modules(TfyLoop *loop)
{
    for (int i = 0; i < TFY_F_COUNT; i++) {
        const TfyPerformer *performer = performer_once(loop, i);
        if (performer && performer->close) performer->close(loop);
    }
}

static void free_steps(TfyLoop *loop)
{
    for (Step *step; (step = LIST_TAKE(&loop->sync, sync_next));) {
        step->queued &= (uint8_t)~IN_SYNC;
        if (!step->queued) free(step);
    }
    while (loop->free_steps) {
        Step *step = loop->free_steps;
        loop->free_steps = step->queue_next;
        free(step);
    }
}

static void free_runs(TfyLoop *loop)
{
    for (Run *run; (run = LIST_TAKE(&loop->runs, next));) {
        for (Step *step; (step = LIST_TAKE(&run->deferred, deferred_next));) {
            step->queued &= (uint8_t)~IN_DEFERRED;
            if (!step->queued) free(step);
        }
        tfy__run_release(loop, run);
        free(run);
    }
    tfy__table_free(&loop->by_uuid);
    tfy__table_free(&loop->by_id);
}

int tfy__finish(TfyLoop *loop)
{
    if (loop->finished) return loop->failure;
    loop->finished = true;
    tfy__check_place(NULL, NULL);
    tfy__posts_end(loop);
    stop_steps(loop);
    if (loop->poller) close_modules(loop);
    if (loop->log && !loop->failure) loop->failure = tfy__log_sync(loop->log);
    if (!loop->failure) tfy__out_flush(loop);
    tfy__out_await(loop);
    return loop->failure;
}

int tfy_close(TfyLoop *loop)
{
    if (!loop) return 0;
    int code = tfy__finish(loop);
    if (loop->options.hub) loop->options.hub->claims->end(loop);
    tfy__posts_close(loop);
    if (loop->drained_by) *loop->drained_by = NULL;
    tfy__out_free(loop);
    tfy__pal_close(loop);
    tfy__metrics_free(&loop->metrics);
    tfy__folded_free(loop);
    free_runs(loop);
    tfy__diverged_free(loop);
    free_steps(loop);
    tfy__answers_free(loop);
    tfy__limits_free(loop);
    tfy__test_free(loop);
    tfy__programs_free(loop);
    if (loop->log) {
        int closed = tfy__log_close(loop->log, code >= 0);
        if (code >= 0) code = closed;
    }
    if (loop->rehearsal) loop->rehearsal->free(loop->rehearsal->state); /* the log has used its clock */
    tfy__policy_close(loop);
    tfy__timers_deinit(&loop->timers);
    if (loop->poller) loop->world.poller->close(loop->poller);
    if (loop->wake_fd >= 0) close(loop->wake_fd);
    free(loop->watches);
    if (loop->heap.temps || loop->cells) tfy__heap_deinit(&loop->heap);
    tfy__tasks_deinit(loop);
    tfy__roots_close(loop);
    free(loop->lock_path);
    free(loop->deadlock_text);
    tfy__buffer_free(&loop->payload);
    tfy__buffer_free(&loop->family_payload);
    free(loop);
    return code;
}

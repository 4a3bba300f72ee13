/* diverged.c: see diverged.h. */
#include "core/replay/diverged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"
#include "wal/history/history.h"

/* ---- setting aside ---- */

void tfy__set_aside(TfyLoop *loop, TfyDivergedTold told, void *state)
{
    loop->on_diverged = told;
    loop->diverged_state = state;
}

static Diverged *of_uuid(const TfyLoop *loop, const char *uuid)
{
    Diverged *diverged = loop->diverged.first;
    while (diverged && strcmp(diverged->uuid, uuid) != 0) diverged = diverged->next;
    return diverged;
}

/* True: it was set aside. */
static bool forget(TfyLoop *loop, const char *uuid)
{
    Diverged *diverged = of_uuid(loop, uuid);
    const bool found = diverged;
    if (found) LIST_REMOVE(&loop->diverged, diverged, next);
    free(diverged);
    return found;
}

void tfy__diverged_drop(TfyLoop *loop, const char *uuid)
{
    if (forget(loop, uuid)) loop->on_diverged(loop->diverged_state, uuid, NULL);
}

int tfy__diverged_add(Run *run, char *error_text)
{
    TfyLoop *loop = run->loop;
    static const char advice[] = "; start it with the program that it began with, or move it to one that fits; "
                                 "'tfy replay %s' shows the place, and 'tfy kill %s --force' ends it";
    const size_t size = strlen(run->difference) + sizeof advice + 2 * sizeof run->uuid;
    Diverged *diverged = malloc(sizeof *diverged + size);
    CHECK(run->history); /* nothing of it went live */
    if (!diverged) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to set a run aside");
        snprintf(error_text, TFY_ERROR_TEXT, "%.500s", loop->failure_text);
        return TFY_E_NOMEM;
    }
    memcpy(diverged->uuid, run->uuid, sizeof diverged->uuid);
    const int len = snprintf(diverged->why, size, "%s", run->difference);
    snprintf(diverged->why + len, size - (size_t)len, advice, run->uuid, run->uuid);
    snprintf(error_text, TFY_ERROR_TEXT, "%.500s", run->difference);
    tfy__cut(&loop->heap, loop->temp_floor);             /* what the statement at fault has made */
    (void)LIST_REMOVE(&loop->runs_over, run, over_next); /* where it ends sooner than its log */
    tfy__run_discard(loop, run);
    (void)forget(loop, diverged->uuid); /* it was tried again */
    LIST_APPEND(&loop->diverged, diverged, next);
    loop->on_diverged(loop->diverged_state, diverged->uuid, diverged->why);
    return TFY_E_DIVERGED;
}

void tfy__diverged_free(TfyLoop *loop)
{
    for (Diverged *diverged; (diverged = LIST_TAKE(&loop->diverged, next));) free(diverged);
}

/* ---- asking for them ---- */

const Diverged *tfy__diverged_named(const TfyLoop *loop, const char *name)
{
    const size_t len = strlen(name);
    const Diverged *diverged = len < 4 ? NULL : loop->diverged.first;
    while (diverged && strncmp(diverged->uuid, name, len) != 0) diverged = diverged->next;
    return diverged;
}

const char *tfy__diverged_why(const TfyLoop *loop, const char *run)
{
    const Diverged *diverged = of_uuid(loop, run);
    return diverged ? diverged->why : NULL;
}

void tfy__see_diverged(const TfyLoop *loop, TfyDivergedTold see, void *state)
{
    for (const Diverged *diverged = loop->diverged.first; diverged; diverged = diverged->next)
        see(state, diverged->uuid, diverged->why);
}

int tfy__diverged_refuse(const Diverged *diverged, char *error_text)
{
    snprintf(
        error_text, TFY_ERROR_TEXT,
        "run %s differs from its log and is set aside: nothing reaches it before it runs with a program that fits; "
        "'tfy replay %s' shows the place",
        diverged->uuid, diverged->uuid);
    return TFY_E_STATE;
}

/* ---- an end without the program ---- */

/* A run that is ended in the log alone. */
typedef struct Ending {
    TfyLoop *loop;
    TfyHistory *history;
    const char *by;
    int code; /* of the first record that could not be appended; 0: none */
} Ending;

static void append(Ending *ending, TfyLogTask *task, TfyRecordType type, TfyBuffer *payload)
{
    tfy__put_end(payload);
    const TfyTicket ticket = tfy__log_append_payload(ending->loop->log, task, type, task->step, 0, payload);
    if (ticket < 0 && !ending->code) ending->code = (int)ticket;
    if (ticket > 0) ending->loop->metrics.records[type]++;
}

static const char *why_of(bool root)
{
    return root ? "killed" : "its parent was killed";
}

/* As a kill that arrived while no process ran the task: it comes right after the record before it. */
static void append_kill(Ending *ending, TfyLogTask *task, bool root)
{
    TfyBuffer out = {0};
    tfy__put_kill(&out, ending->loop, why_of(root), root ? ending->by : NULL, true);
    append(ending, task, TFY_R_SIGNAL, &out);
}

static void append_end(Ending *ending, TfyLogTask *task, bool root)
{
    TfyBuffer cancel = {0}, end = {0};
    tfy__put_cancel(&cancel, 0, why_of(root), true);
    append(ending, task, TFY_R_TASK_CANCEL, &cancel);
    tfy__put_begin(&end);
    tfy__put_true(&end, TFY_P_CANCELLED, true);
    append(ending, task, TFY_R_TASK_ABORT, &end);
    task->state = TFY_TASK_CANCELLED;
    tfy__count_end(ending->loop->metrics.tasks_ended, TFY_TASK_CANCELLED);
}

static void append_complete(Ending *ending, TfyLogTask *root)
{
    TfyLogRun *run = &ending->history->run;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_flag(&out, TFY_P_OK, false);
    tfy__put_true(&out, TFY_P_CANCELLED, true);
    append(ending, root, TFY_R_TASK_COMPLETE, &out);
    run->state = TFY_TASK_CANCELLED;
    run->ended_ms = ending->loop->now_ms;
    if (!ending->code) ending->code = tfy__log_end_run(ending->loop->log, run);
    tfy__count_end(ending->loop->metrics.runs_ended, TFY_TASK_CANCELLED);
}

/* The row of a task may be older than its last record. */
static void see_ended(TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const int end = tfy__record_end(&history->records[i]);
        if (end && history->records[i].type != TFY_R_TASK_COMPLETE)
            history->tasks[history->record_tasks[i]].state = end;
    }
}

/* The root first, then each other task that is alive, as they would end one another. */
static void end_tasks(Ending *ending)
{
    TfyHistory *history = ending->history;
    TfyLogTask *root = NULL;
    see_ended(history);
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < history->task_count; i++) {
            TfyLogTask *task = &history->tasks[i];
            const bool is_root = task->tid == history->run.root;
            if (is_root) root = task;
            if (is_root != (turn == 0) || task->state >= TFY_TASK_COMPLETED) continue;
            append_kill(ending, task, is_root);
            append_end(ending, task, is_root);
        }
    }
    if (root) append_complete(ending, root);
    for (uint32_t i = 0; i < history->task_count; i++) tfy__log_forget_task(ending->loop->log, &history->tasks[i]);
}

int tfy__diverged_kill(TfyLoop *loop, const Diverged *diverged, bool force, const char *by, char *error_text)
{
    Ending ending = {.loop = loop, .by = by ? by : ""};
    char uuid[37];
    memcpy(uuid, diverged->uuid, sizeof uuid);
    if (!force) {
        snprintf(error_text, TFY_ERROR_TEXT,
                 "run %s differs from its log, so its cleanup cannot run; a kill by force ends it without", uuid);
        return TFY_E_STATE;
    }
    ending.code = tfy__log_sync(loop->log);
    if (!ending.code) ending.code = tfy__history_read_stored(loop->log, uuid, &ending.history, error_text);
    if (ending.code) return ending.code;
    end_tasks(&ending);
    tfy__history_free(ending.history);
    if (ending.code) {
        tfy__loop_fail_log(loop, ending.code);
        return tfy__arrive_refused(loop, error_text);
    }
    tfy__diverged_drop(loop, uuid);
    if (loop->runs_seen.ended) loop->runs_seen.ended(loop->runs_seen.state, uuid);
    return tfy__arrived(loop);
}

/* move.c: moves a run to another program.
 *
 * tfy__move_check gives the verdict, for `resume --with` and `compat` alike. First the layouts must allow the move
 * (wal/history/move.h). Then the history is replayed under the new program, in a separate loop that writes nothing:
 * every recorded step must be requested again, at the point of the same id, with the same arguments. Then every
 * frame of every live task must be at a point that compat allows to move. Only then the move is recorded, and the
 * run is resumed like any other.
 *
 * A run that was compacted starts at its snapshot: the snapshot is mapped to the new program, and the records
 * after it are replayed. Earlier records cannot be replayed, so for those the layouts alone decide. */
#include "wal/history/move.h"

#include <stdio.h>
#include <string.h>

#include "core/loop/state.h"
#include "wal/history/compat.h"
#include "wal/history/history.h"

typedef struct Check {
    const TfyCompat *compat;
    char *error_text;
} Check;

/* The old program's counterpart of a point of the new one; NULL: none. */
static const TfyCompatPoint *old_point(const TfyCompat *compat, uint32_t new_number)
{
    for (uint32_t i = 0; i < compat->count; i++)
        if (compat->points[i].new_number == new_number) return &compat->points[i];
    return NULL;
}

static int refuse_stand(const Check *check, const TaskRest *rest, const TfyPoint *point, const char *why)
{
    snprintf(check->error_text, TFY_ERROR_TEXT,
             "task %s is at %.100s (line %u of the new program), where it cannot continue: %.250s", rest->log.path,
             point->id, point->line, why);
    return TFY_E_DIVERGED;
}

static int check_frames(const Check *check, const TaskRest *rest)
{
    const TfyTask *task = rest->task;
    for (uint32_t at = task->top; at != TFY_NO_FRAME; at = frame_at(task, at)->prev) {
        const TfyFrame *frame = frame_at(task, at);
        if (!frame->pc) continue; /* it has its arguments, and nothing else */
        const TfyPoint *point = frame->workflow->resume[frame->pc - 1];
        const TfyCompatPoint *old = old_point(check->compat, point->number);
        if (!old) return refuse_stand(check, rest, point, "the old program has no such point");
        if (old->verdict == TFY_REFUSED) return refuse_stand(check, rest, point, old->reason);
    }
    return 0;
}

static int check_stands(Run *run, void *state)
{
    int code = 0;
    for (const TaskRest *rest = run->tasks; rest && !code; rest = rest->next_in_run)
        if (rest->task && !rest->end_state) code = check_frames(state, rest);
    return code;
}

int tfy__move_check(const TfyProgram *program, TfyHistory *history, char *error_text)
{
    TfyCompat *compat;
    const TfyOptions quiet = {.quiet = true};
    TfyReplayReport report;
    if (strcmp(history->program_source, program->source) == 0) return 0;
    int code = tfy__move_fits(history, program->layout, error_text);
    if (!code) code = tfy__compat_new(history->program_layout, program->layout, &compat);
    if (code) return code;
    Check check = {.compat = compat, .error_text = error_text};
    *error_text = '\0';
    code = tfy__replay_checked(program, history, &quiet, check_stands, &check, &report);
    if (code && !*error_text) snprintf(error_text, TFY_ERROR_TEXT, "%.500s", report.text);
    tfy__compat_free(compat);
    return code;
}

/* *queued: it has not begun; NULL: nobody wants to know. */
static int move_run(TfyLoop *loop, const Loaded *to, const char *which, bool *queued, char *error_text)
{
    TfyHistory *history;
    const TfyProgram *program = to->program;
    const TfyMoveTarget target = {(const uint8_t *)program->hash, program->tfyc, program->source, program->layout};
    int code = tfy__history_read(loop->log, which, &history, error_text);
    if (code) return code;
    history->log = loop->log;
    if (queued) *queued = history->run.parked_ms == TFY_QUEUED_MS;
    const bool same = strcmp(history->program_source, program->source) == 0;
    code = tfy__root_check(to, history, error_text);
    if (!code && !same && history->run.state < TFY_TASK_COMPLETED) {
        code = tfy__move_check(program, history, error_text);
        if (!code && (code = tfy__move_write(loop->log, history, &target)))
            snprintf(error_text, TFY_ERROR_TEXT, "the log could not be written");
    }
    tfy__history_free(history);
    return code;
}

int tfy__resume_with(TfyLoop *loop, const char *run, char *error_text)
{
    const int code = move_run(loop, loop->programs.first, run, NULL, error_text);
    return code ? code : tfy__resume(loop, run, error_text);
}

static Run *in_memory(const TfyLoop *loop, const char *uuid)
{
    Run *run = loop->runs.first;
    while (run && strcmp(run->uuid, uuid) != 0) run = run->next;
    return run;
}

/* Out of memory and back again, so that what moves is what the log has. A run that was refused continues as it was. */
int tfy__move_to(TfyLoop *loop, const char *run, const TfyProgram *program, char *error_text)
{
    const Loaded *to = tfy__loaded_as(loop, program);
    Run *live = in_memory(loop, run);
    char again[TFY_ERROR_TEXT];
    bool queued = true;
    CHECK(to);
    if (live && !tfy__park_now(live)) {
        snprintf(error_text, TFY_ERROR_TEXT, "something of it is under way: it can be moved while it waits");
        return TFY_E_STATE;
    }
    snprintf(error_text, TFY_ERROR_TEXT, "the log could not be written");
    int code = tfy__log_sync(loop->log);
    if (!code) code = move_run(loop, to, run, &queued, error_text);
    const int back = queued ? TFY_OK : tfy__resume(loop, run, code ? again : error_text);
    return code ? code : back;
}

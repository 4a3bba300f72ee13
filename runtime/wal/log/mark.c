/* mark.c: marks. Every so many records, and at a clean close, the rows of all tasks that changed since the last mark
 * are written, together with a row of table mark that seals the records between. Opening then needs only the newest
 * mark and the records behind it, however long the log is; and heads of tasks cost nothing per commit.
 *
 * If many tasks are active, a mark writes many rows: then it waits until it seals 32 times as many records (with
 * marks at their usual distance), but not forever, because opening reads all of them.
 *
 * A mark is queued at the end of what the loop hands over, so its task rows show the tasks as of its lsn. */
#include "base/check.h"
#include "wal/log/log_state.h"

enum { ROWS = 512 /* a mark writes per mark_every records, at most */, LONGEST = 8 /* times mark_every */ };

void tfy__mark_touch(TfyLog *log, TfyLogTask *task)
{
    if (task->dirty) return;
    TfyLogTask **first = log->shared ? &task->run->owned.dirty : &log->dirty;
    task->dirty = true;
    CHECK(!task->next_dirty && !task->dirty_link);
    CHECK(log->shared || !log->dirty == !log->dirty_count);
    CHECK(!*first || (*first)->dirty_link == first);
    task->next_dirty = *first;
    task->dirty_link = first;
    if (*first) (*first)->dirty_link = &task->next_dirty;
    *first = task;
    log->dirty_count++;
}

void tfy__mark_untouch(TfyLog *log, TfyLogTask *task)
{
    if (!task->dirty) return;
    CHECK(log->dirty_count > 0);
    CHECK(*task->dirty_link == task);
    log->dirty_count--;
    *task->dirty_link = task->next_dirty;
    if (task->next_dirty) task->next_dirty->dirty_link = task->dirty_link;
    task->next_dirty = NULL;
    task->dirty_link = NULL;
    task->dirty = false;
}

void tfy__mark_count(TfyLog *log, const TfyLogRecord *record)
{
    log->segment_rows++;
    log->segment_sum += tfy__store_segment_part(record);
}

void tfy__mark_task_row(const TfyLog *log, const TfyLogTask *task, TfyStoreTask *row)
{
    *row = (TfyStoreTask){.tid = tfy__log_stored_tid(log, task->tid),
                          .run = task->run ? task->run->id : 0,
                          .path = task->path,
                          .program = task->run ? task->run->program : 0,
                          .born = task->born,
                          .head = task->head,
                          .chain = task->chain,
                          .step = task->step,
                          .state = task->state,
                          .wait = task->wait};
}

bool tfy__mark_due(const TfyLog *log)
{
    if (log->shared || log->segment_rows < log->mark_every) return false;
    return log->segment_rows * ROWS >= log->dirty_count * (int64_t)log->mark_every ||
           log->segment_rows >= (int64_t)LONGEST * log->mark_every;
}

static int add_dirty_rows(TfyLog *log, TfyLogTask **dirty)
{
    while (*dirty) {
        TfyStoreTask row;
        tfy__mark_task_row(log, *dirty, &row);
        const int code = tfy__batch_add_task(log->filling, &row, false);
        if (code) return code;
        tfy__mark_untouch(log, *dirty);
    }
    return 0;
}

int tfy__mark_run_row(TfyLog *log, const TfyLogRun *run, TfyRunPut put)
{
    TfyLogRun row = *run;
    row.root = tfy__log_stored_tid(log, run->root);
    row.owned = (TfyLogOwned){0};
    return tfy__batch_add_run(log->filling, &row, put);
}

int tfy__mark_run(TfyLog *log, TfyLogRun *run)
{
    CHECK(log->shared);
    const int code = add_dirty_rows(log, &run->owned.dirty);
    return code ? code : tfy__mark_run_row(log, run, TFY_RUN_CHANGES);
}

int tfy__mark_add(TfyLog *log, bool clean)
{
    int code = add_dirty_rows(log, &log->dirty);
    /* Nothing was appended since the last mark: its seal still holds. */
    if (!code && log->last > log->mark_lsn) {
        CHECK(log->forgets || log->segment_rows == log->last - log->mark_lsn);
        TfyStoreMark mark = {
            .lsn = log->last, .epoch = log->meta.epoch, .rows = log->segment_rows, .sum = log->segment_sum};
        CHECK(!log->dirty);
        CHECK(log->forgets || mark.rows > 0);
        mark.chain = tfy__store_mark_chain(log->mark_chain, &mark);
        code = tfy__batch_add_mark(log->filling, &mark);
        if (code) return code;
        log->mark_lsn = mark.lsn;
        log->mark_chain = mark.chain;
        log->segment_rows = 0;
        log->segment_sum = 0;
    }
    if (code) return code;
    CHECK(log->mark_lsn == log->last && !log->segment_rows);
    log->meta.clean = clean;
    log->meta.next_lsn = log->last + 1;
    log->meta.next_tid = log->next_tid;
    log->meta.mark = log->mark_lsn;
    return tfy__batch_add_meta(log->filling, &log->meta);
}

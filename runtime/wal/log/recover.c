/* recover.c: reads the newest mark and the records behind it, and checks each against its task's chain.
 *
 * The tail is dense: its records have the numbers mark + 1, mark + 2, … without a gap. A record must name its task's
 * previous record and carry the hash that follows from it. Task rows may be newer than the mark (a task that was
 * forgotten between two marks writes its last row early), so a row's head counts only if the tail's first record of
 * that task continues it; otherwise the record that this one names is looked up. */
#include "base/check.h"
#include "wal/log/log_state.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

typedef struct Tail {
    TfyLog *log;
    char *error_text;
} Tail;

static int refuse_record(Tail *tail, int64_t lsn, const char *what)
{
    return tfy__log_refuse(tail->error_text, TFY_E_DATA, "%s is damaged: record %" PRId64 " %s; restore it from a copy",
                           tail->log->path ? tail->log->path : "the log", lsn, what);
}

/* Translates a failed store call for code that opens or reads. */
static int refuse_store(TfyLog *log, int code, const char *missing, char *error_text)
{
    const char *path = log->path ? log->path : "the log";
    if (code == TFY_E_ABSENT) {
        return tfy__log_refuse(error_text, TFY_E_DATA, "%s is damaged: %s is missing; restore it from a copy", path,
                               missing);
    }
    const char *why = log->store->error[0] ? log->store->error : "the read failed";
    if (code == TFY_E_DATA)
        return tfy__log_refuse(error_text, code, "%s is damaged (%s); restore it from a copy", path, why);
    return tfy__log_refuse(error_text, code, "%s cannot be read (%s); check the disk", path, why);
}

/* The chain value that the task's first record in the tail continues. */
static int chain_before(Tail *tail, const TfyLogRecord *record, uint64_t *chain)
{
    TfyStore *store = tail->log->store;
    TfyStoreTask task;
    int code = TFY_STORE(store, TFY_CALL_READ, get_task, 0, record->tid, &task);
    if (code == TFY_E_ABSENT) return refuse_record(tail, record->lsn, "belongs to a task that is not in the file");
    if (code) return refuse_store(tail->log, code, "", tail->error_text);
    if (record->prev == task.base || record->prev == task.head) {
        *chain = record->prev == task.base ? task.base_chain : task.chain;
        return 0;
    }
    TfyLogRecord before;
    code = record->prev < record->lsn ? TFY_STORE(store, TFY_CALL_READ, get_record, 0, record->prev, &before)
                                      : TFY_E_ABSENT;
    if (code == TFY_E_ABSENT || (!code && before.tid != record->tid)) {
        return refuse_record(tail, record->lsn, "does not follow a record of its task");
    }
    *chain = before.chain;
    return code ? refuse_store(tail->log, code, "", tail->error_text) : 0;
}

/* A record that does not follow its task's newest one may be behind a gap, if its run arrived without some of its
 * records. */
static int check_gap(Tail *tail, const TfyLogRecord *record)
{
    TfyStoreGap gap;
    const int code = TFY_STORE(tail->log->store, TFY_CALL_READ, get_gap, 0, record->lsn, &gap);
    if (code && code != TFY_E_ABSENT) return refuse_store(tail->log, code, "", tail->error_text);
    return !code && gap.below == record->prev && tfy__chain_next(gap.chain, record) == record->chain
               ? 0
               : refuse_record(tail, record->lsn, "was changed since it was written");
}

static int take_record(void *state, const TfyLogRecord *record)
{
    Tail *tail = state;
    TfyHeads *heads = &tail->log->heads;
    if (record->lsn != heads->upto + 1) return refuse_record(tail, heads->upto + 1, "is missing");
    if (record->tid < 0 || record->type == 0 || record->v != TFY_RECORD_V)
        return refuse_record(tail, record->lsn, "is not readable");
    TfyHead *head = tfy__heads_find(heads, record->tid);
    uint64_t chain = head ? head->chain : 0;
    if (head && head->lsn != record->prev)
        return refuse_record(tail, record->lsn, "does not follow its task's newest record");
    if (!head) {
        const int code = chain_before(tail, record, &chain);
        if (code) return code;
        head = tfy__heads_add(heads, record->tid);
        if (!head) return tfy__log_refuse(tail->error_text, TFY_E_NOMEM, "no memory to read the log");
    }
    const int code = tfy__chain_next(chain, record) == record->chain ? 0 : check_gap(tail, record);
    if (code) return code;
    CHECK(head->lsn < record->lsn && heads->mark < record->lsn);
    head->lsn = record->lsn;
    head->chain = record->chain;
    if (record->step > head->step) head->step = record->step;
    heads->upto = record->lsn;
    heads->rows++;
    CHECK(heads->rows == heads->upto - heads->mark);
    CHECK(heads->count <= heads->rows);
    heads->sum += tfy__store_segment_part(record);
    return 0;
}

/* The newest mark must follow the one before it, and meta must know it. */
static int check_mark(TfyLog *log, const TfyStoreMark *mark, char *error_text)
{
    TfyStore *store = log->store;
    const char *path = log->path ? log->path : "the log";
    uint64_t chain = log->meta.base_chain;
    TfyStoreMark before;
    int code = TFY_STORE(store, TFY_CALL_READ, get_mark, mark->lsn, &before);
    if (!code) chain = before.chain;
    if (code && code != TFY_E_ABSENT) return refuse_store(log, code, "", error_text);
    if (tfy__store_mark_chain(chain, mark) != mark->chain || log->meta.mark != mark->lsn) {
        return tfy__log_refuse(error_text, TFY_E_DATA,
                               "%s is damaged: the mark at record %" PRId64 " was changed; restore it from a copy",
                               path, mark->lsn);
    }
    TfyLogRecord last;
    code = mark->lsn ? TFY_STORE(store, TFY_CALL_READ, get_record, 0, mark->lsn, &last) : 0;
    return code ? refuse_store(log, code, "the record of the newest mark", error_text) : 0;
}

int tfy__recover_tail(TfyLog *log, char *error_text)
{
    TfyStore *store = log->store;
    TfyHeads *heads = &log->heads;
    TfyStoreMeta meta;
    TfyStoreMark mark;
    int code = TFY_STORE(store, TFY_CALL_READ, get_meta, &meta);
    if (code) return refuse_store(log, code, "the row of meta", error_text);
    code = TFY_STORE(store, TFY_CALL_READ, get_mark, INT64_MAX, &mark);
    if (code) return refuse_store(log, code, "the newest mark", error_text);
    if (heads->upto == 0 || heads->mark != mark.lsn || heads->mark_chain != mark.chain) {
        log->meta.mark = meta.mark;
        log->meta.base_chain = meta.base_chain;
        if ((code = check_mark(log, &mark, error_text))) return code;
        tfy__heads_clear(heads);
        *heads = (TfyHeads){.mark = mark.lsn, .mark_chain = mark.chain, .upto = mark.lsn};
    }
    char damage[TFY_ERROR_TEXT] = "";
    Tail tail = {.log = log, .error_text = damage};
    code = TFY_STORE(store, TFY_CALL_READ, see_records, 0, heads->upto + 1, take_record, &tail);
    if (code && damage[0]) return tfy__log_refuse(error_text, code, "%s", damage);
    return code ? refuse_store(log, code, "a record", error_text) : 0;
}

static int read_self(TfyLog *log, char *error_text)
{
    TfyStoreTask row;
    const int code = TFY_STORE(log->store, TFY_CALL_READ, get_task, 0, 0, &row);
    if (code) return refuse_store(log, code, "the row of task 0", error_text);
    log->self = (TfyLogTask){.path = "", .head = row.head, .chain = row.chain};
    const TfyHead *head = tfy__heads_find(&log->heads, 0);
    if (head) {
        log->self.head = head->lsn;
        log->self.chain = head->chain;
    }
    return 0;
}

static int read_whole(TfyLog *log, char *error_text)
{
    int code = TFY_STORE(log->store, TFY_CALL_READ, get_meta, &log->meta);
    if (code) return refuse_store(log, code, "the row of meta", error_text);
    if ((code = tfy__recover_tail(log, error_text))) return code;
    if (log->meta.clean && log->heads.rows) {
        Tail tail = {.log = log, .error_text = error_text};
        return refuse_record(&tail, log->heads.mark + 1, "was added after the log had been closed");
    }
    int64_t run, program, tid;
    code = TFY_STORE(log->store, TFY_CALL_READ, last_ids, &run, &program, &tid);
    if (code) return refuse_store(log, code, "a table", error_text);
    log->next_run = run + 1;
    log->next_program = program + 1;
    log->next_tid = tid + 1 > log->meta.next_tid ? tid + 1 : log->meta.next_tid;
    return read_self(log, error_text);
}

int tfy__recover(TfyLog *log, char *error_text)
{
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (code) return refuse_store(log, code, "", error_text);
    code = read_whole(log, error_text);
    log->store->ops->look_away(log->store);
    if (code) return code;
    log->last = log->heads.upto;
    atomic_store(&log->durable, log->last);
    log->mark_lsn = log->heads.mark;
    log->mark_chain = log->heads.mark_chain;
    log->segment_rows = log->heads.rows;
    log->segment_sum = log->heads.sum;
    return 0;
}

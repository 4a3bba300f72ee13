/* verify.c: one pass over the marks, one over all records in the order of the log, one over the rows of the other
 * tables; in one transaction, so that a live writer cannot change anything in between.
 *
 * Going forward, each record must continue its task's newest record so far: a record that was changed, lost in the
 * middle or inserted does not. That the newest records of a task are present follows from the marks, which count and
 * add up their segments, and after the newest mark from the numbers, which are dense. */
#include "wal/keep/verify.h"
#include "base/grow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wal/log/heads.h"
#include "wal/store/store_sqlite.h"

enum { PROGRESS_EVERY = 1 << 16 };

typedef struct Verifying {
    TfyStore *store;
    const char *path;
    TfyVerified *found;
    TfyVerifyProgress *progress;
    void *progress_state;
    char *error_text;
    bool told; /* error_text already says what is wrong */
    TfyStoreMeta meta;
    TfyStoreMark *marks;
    size_t mark_count, mark_room;
    size_t segment;       /* the mark of the current segment; mark_count: the tail */
    int64_t segment_rows; /* records of it so far */
    uint64_t segment_sum;
    TfyHeads heads; /* every task with a record so far */
    int64_t gaps;   /* rows of gap before a record */
    int64_t births; /* records that started a task */
    int64_t born;   /* tasks whose first record exists */
} Verifying;

/* ---- reporting faults ---- */

/* Describes the run and task of a record or task row, as far as they are readable. */
static void name_owner(Verifying *verifying, int64_t tid, char text[160])
{
    TfyStoreTask task;
    TfyLogRun run;
    text[0] = '\0';
    if (tid <= 0 || TFY_STORE(verifying->store, TFY_CALL_READ, get_task, 0, tid, &task) != 0) return;
    char path[64];
    snprintf(path, sizeof path, "%s", task.path);
    if (TFY_STORE(verifying->store, TFY_CALL_READ, get_run, task.run, &run) != 0) return;
    tfy__uuid_text(run.uuid, verifying->found->bad_run);
    snprintf(text, 160, " (run %s, task %s)", verifying->found->bad_run, path);
}

static int refuse(Verifying *verifying, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(Verifying *verifying, int code, const char *format, ...)
{
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    verifying->told = true;
    if (code != TFY_E_DATA) return tfy__log_refuse(verifying->error_text, code, "%s %s", verifying->path, what);
    return tfy__log_refuse(verifying->error_text, code, "%s is damaged: %s", verifying->path, what);
}

static int refuse_record(Verifying *verifying, int64_t lsn, int64_t tid, const char *how)
{
    char owner[160];
    name_owner(verifying, tid, owner);
    verifying->found->bad_record = lsn;
    verifying->found->bad_task = tid;
    return refuse(verifying, TFY_E_DATA, "record %" PRId64 "%s %s", lsn, owner, how);
}

static int refuse_task(Verifying *verifying, int64_t tid, const char *how)
{
    char owner[160];
    name_owner(verifying, tid, owner);
    verifying->found->bad_task = tid;
    return refuse(verifying, TFY_E_DATA, "task %" PRId64 "%s %s", tid, owner, how);
}

/* Reports a failed store call, unless a visitor has already reported a fault. */
static int refuse_store(Verifying *verifying, int code, const char *missing)
{
    if (verifying->told) return code;
    if (code == TFY_E_NOMEM) return refuse(verifying, code, "cannot be checked: no memory");
    if (code == TFY_E_ABSENT) return refuse(verifying, TFY_E_DATA, "%s is missing", missing);
    const char *why = verifying->store->error[0] ? verifying->store->error : "the read failed";
    if (code == TFY_E_DATA) return refuse(verifying, code, "%s", why);
    return refuse(verifying, code, "cannot be read (%s); check the disk", why);
}

static void tell_progress(const Verifying *verifying, const char *what, int64_t done, int64_t of)
{
    if (verifying->progress) verifying->progress(verifying->progress_state, what, done, of);
}

/* ---- pages ---- */

/* The first line of SQLite's result; it is "ok", or describes the fault. */
static int check_pages(Verifying *verifying)
{
    sqlite3 *db = ((SqliteStore *)verifying->store)->db;
    sqlite3_stmt *row = NULL;
    char said[300] = "the pages cannot be read";
    tell_progress(verifying, "pages", 0, 0);
    int code = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &row, NULL);
    if (!code && sqlite3_step(row) == SQLITE_ROW)
        snprintf(said, sizeof said, "%s", (const char *)sqlite3_column_text(row, 0));
    else
        snprintf(said, sizeof said, "%s", sqlite3_errmsg(db));
    sqlite3_finalize(row);
    const int64_t page = tfy__page_vfs_damaged(db);
    if (page) return refuse(verifying, TFY_E_DATA, "page %" PRId64 " was changed since it was written", page);
    /* It may quote the contents of a damaged page. */
    for (char *at = said; *at; at++)
        if (*at < ' ' || *at > '~') *at = *at == '\n' ? ' ' : '?';
    if (strcmp(said, "ok") != 0) return refuse(verifying, TFY_E_DATA, "%s", said);
    if (sqlite3_prepare_v2(db, "PRAGMA page_count", -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        verifying->found->pages = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return 0;
}

/* ---- marks ---- */

static int take_mark(void *state, const TfyStoreMark *mark)
{
    Verifying *verifying = state;
    const TfyStoreMark *before = verifying->mark_count ? &verifying->marks[verifying->mark_count - 1] : NULL;
    const int64_t lsn = before ? before->lsn : verifying->meta.base;
    const uint64_t chain = before ? before->chain : verifying->meta.base_chain;
    if (tfy__store_mark_chain(chain, mark) != mark->chain || mark->lsn - lsn != mark->rows || mark->gone_rows < 0 ||
        mark->gone_rows > mark->rows || mark->epoch > verifying->meta.epoch)
        return refuse(verifying, TFY_E_DATA, "the mark at record %" PRId64 " was changed since it was written",
                      mark->lsn);
    if (!GROW(verifying->marks, verifying->mark_room, verifying->mark_count + 1, 256)) return TFY_E_NOMEM;
    verifying->marks[verifying->mark_count++] = *mark;
    verifying->found->gone += mark->gone_rows;
    return 0;
}

static int check_marks(Verifying *verifying)
{
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_meta, &verifying->meta);
    if (code) return refuse_store(verifying, code, "the row of meta");
    code = TFY_STORE(verifying->store, TFY_CALL_READ, see_marks, take_mark, verifying);
    if (code) return refuse_store(verifying, code, "a mark");
    if (!verifying->mark_count || verifying->marks[verifying->mark_count - 1].lsn != verifying->meta.mark)
        return refuse(verifying, TFY_E_DATA, "the newest mark is missing");
    verifying->found->marks = (int64_t)verifying->mark_count;
    verifying->found->base = verifying->found->last = verifying->meta.base;
    return 0;
}

/* ---- records ---- */

/* The finished segment must match its mark's seal, less what the mark says was deleted. */
static int close_segment(Verifying *verifying)
{
    const TfyStoreMark *mark = &verifying->marks[verifying->segment];
    const int64_t first = mark->lsn - mark->rows + 1, missing = mark->rows - mark->gone_rows - verifying->segment_rows;
    if (missing)
        return refuse(verifying, TFY_E_DATA, "of the records %" PRId64 " to %" PRId64 ", %" PRId64 " %s", first,
                      mark->lsn, missing < 0 ? -missing : missing, missing < 0 ? "are too many" : "are missing");
    if (verifying->segment_sum != mark->sum - mark->gone_sum)
        return refuse(verifying, TFY_E_DATA,
                      "the records %" PRId64 " to %" PRId64 " are not the ones that the mark "
                      "at record %" PRId64 " sealed",
                      first, mark->lsn, mark->lsn);
    verifying->segment++;
    verifying->segment_rows = 0;
    verifying->segment_sum = 0;
    return 0;
}

static bool in_tail(const Verifying *verifying)
{
    return verifying->segment == verifying->mark_count;
}

/* Numbers are dense except where records were deleted. */
static int check_number(Verifying *verifying, const TfyLogRecord *record)
{
    while (!in_tail(verifying) && record->lsn > verifying->marks[verifying->segment].lsn) {
        const TfyStoreMark *mark = &verifying->marks[verifying->segment];
        if (!mark->gone_rows && verifying->found->last < mark->lsn)
            return refuse_record(verifying, verifying->found->last + 1, -1, "is missing");
        const int code = close_segment(verifying);
        if (code) return code;
        verifying->found->last = mark->lsn;
    }
    const bool dense = in_tail(verifying) || !verifying->marks[verifying->segment].gone_rows;
    if (dense && record->lsn != verifying->found->last + 1)
        return refuse_record(verifying, verifying->found->last + 1, -1, "is missing");
    return record->lsn > verifying->meta.base ? 0 : refuse_record(verifying, record->lsn, -1, "is not of this log");
}

/* Notes where a task's chain starts. */
static int begin_task(Verifying *verifying, const TfyLogRecord *record, TfyHead **head)
{
    static const uint8_t nobody[16];
    TfyStoreTask task;
    TfyLogRun run = {0};
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_task, 0, record->tid, &task);
    if (code == TFY_E_ABSENT)
        return refuse_record(verifying, record->lsn, record->tid, "belongs to a task that is not in the file");
    if (!code && task.run) code = TFY_STORE(verifying->store, TFY_CALL_READ, get_run, task.run, &run);
    if (code) return refuse_store(verifying, code, "the run of a task");
    const bool whole = task.base == (strchr(task.path, '.') ? task.born : 0);
    if (whole && task.base_chain != tfy__chain_seed(task.run ? run.uuid : nobody, task.path))
        return refuse_task(verifying, record->tid, "was changed since it was written");
    *head = tfy__heads_add(&verifying->heads, record->tid);
    if (!*head) return TFY_E_NOMEM;
    (*head)->lsn = task.base;
    (*head)->chain = task.base_chain;
    return 0;
}

static bool is_birth(const TfyLogRecord *record)
{
    return record->type == TFY_R_INSTRUCTION_START || tfy__record_spawns(record);
}

/* Whether the record continues its task's newest one so far. It may also be behind a gap that retention left, which
 * knows the chain before it: so a changed gap is as visible as a changed record. */
static int check_link(Verifying *verifying, const TfyLogRecord *record, const TfyHead *head)
{
    const bool follows = record->prev == head->lsn;
    TfyStoreGap gap;
    if (follows && tfy__chain_next(head->chain, record) == record->chain) return 0;
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_gap, 0, record->lsn, &gap);
    if (code && code != TFY_E_ABSENT) return refuse_store(verifying, code, "");
    if (code || gap.below != head->lsn)
        return refuse_record(verifying, record->lsn, record->tid,
                             follows ? "was changed since it was written" : "does not follow its task's record before");
    verifying->gaps++;
    return tfy__chain_next(gap.chain, record) == record->chain
               ? 0
               : refuse_record(verifying, record->lsn, record->tid, "was changed since it was written");
}

static int take_record(void *state, const TfyLogRecord *record)
{
    Verifying *verifying = state;
    int code = check_number(verifying, record);
    if (code) return code;
    TfyHead *head = tfy__heads_find(&verifying->heads, record->tid);
    if (!head && (code = begin_task(verifying, record, &head))) return code;
    if (record->v != TFY_RECORD_V || !tfy__record_type_known(record->type))
        return refuse_record(verifying, record->lsn, record->tid, "was changed since it was written");
    if ((code = check_link(verifying, record, head))) return code;
    head->lsn = verifying->found->last = record->lsn;
    head->chain = record->chain;
    verifying->births += is_birth(record);
    verifying->segment_rows++;
    verifying->segment_sum += tfy__store_segment_part(record);
    if (++verifying->found->records % PROGRESS_EVERY == 0)
        tell_progress(verifying, "records", record->lsn, verifying->meta.next_lsn - 1);
    return 0;
}

static int check_records(Verifying *verifying)
{
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, see_records, 0, 0, take_record, verifying);
    if (code) return refuse_store(verifying, code, "a record");
    while (!code && !in_tail(verifying)) code = close_segment(verifying);
    if (verifying->found->last < verifying->meta.mark) verifying->found->last = verifying->meta.mark;
    return code;
}

/* ---- the other tables ---- */

/* The row says where the head of its task was when it was written. */
static int check_head(Verifying *verifying, const TfyStoreTask *task)
{
    const TfyHead *newest = tfy__heads_find(&verifying->heads, task->tid);
    const int64_t newest_lsn = newest ? newest->lsn : task->base;
    uint64_t chain = newest ? newest->chain : task->base_chain;
    if (task->head > newest_lsn) return refuse_record(verifying, task->head, task->tid, "is missing");
    if (task->head == task->base) {
        chain = task->base_chain;
    } else if (task->head != newest_lsn) {
        TfyLogRecord record;
        const int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_record, task->run, task->head, &record);
        if (code && code != TFY_E_ABSENT) return refuse_store(verifying, code, "");
        if (code || record.tid != task->tid)
            return refuse_task(verifying, task->tid, "names a newest record that is not its own");
        chain = record.chain;
    }
    return task->chain == chain ? 0 : refuse_task(verifying, task->tid, "does not match its newest record");
}

static int take_task(void *state, const TfyStoreTask *task)
{
    Verifying *verifying = state;
    const TfyStoreTask row = *task;
    TfyLogRecord birth;
    int code = check_head(verifying, &row);
    if (code) return code;
    verifying->found->tasks++;
    if (!row.run) return 0;
    code = TFY_STORE(verifying->store, TFY_CALL_READ, get_record, row.run, row.born, &birth);
    /* Retention deleted it: every other loss has been noticed. */
    if (code == TFY_E_ABSENT) return 0;
    if (code) return refuse_store(verifying, code, "");
    if (!is_birth(&birth)) return refuse_task(verifying, row.tid, "has no beginning");
    verifying->born++;
    return 0;
}

/* A compacted run starts at a snapshot, and is lost without it. */
static int check_base(Verifying *verifying, const TfyLogRun *run)
{
    TfyLogRecord record;
    const int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_record, run->id, run->base_lsn, &record);
    if (code && code != TFY_E_ABSENT) return refuse_store(verifying, code, "");
    if (!code && record.tid == run->root && record.type == TFY_R_SNAPSHOT) return 0;
    return refuse_record(verifying, run->base_lsn, run->root, "is not the snapshot at which its run starts");
}

/* ps reads this record alone to say how far the run's tools may go. */
static int check_options(Verifying *verifying, const TfyLogRun *run)
{
    TfyLogRecord record;
    const int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_record, run->id, run->options_lsn, &record);
    if (code && code != TFY_E_ABSENT) return refuse_store(verifying, code, "");
    if (!code && record.tid == run->root && tfy__record_is_options(&record)) return 0;
    return refuse_record(verifying, run->options_lsn, run->root, "does not say what a resume of its run was given");
}

static int take_run(void *state, const TfyLogRun *run)
{
    Verifying *verifying = state;
    TfyStoreTask root;
    TfyStoreProgram program;
    char text[37];
    tfy__uuid_text(run->uuid, text);
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_task, run->id, run->root, &root);
    if (code == TFY_E_ABSENT || (!code && root.run != run->id))
        return refuse(verifying, TFY_E_DATA, "run %s lacks its first task", text);
    if (!code) code = TFY_STORE(verifying->store, TFY_CALL_READ, get_program, run->program, NULL, &program);
    if (code == TFY_E_ABSENT) return refuse(verifying, TFY_E_DATA, "the program of run %s is missing", text);
    if (code) return refuse_store(verifying, code, "");
    if (run->base_lsn && (code = check_base(verifying, run))) return code;
    if (run->options_lsn && (code = check_options(verifying, run))) return code;
    code = TFY_STORE(verifying->store, TFY_CALL_READ, see_tasks, run->id, take_task, verifying);
    if (code) return refuse_store(verifying, code, "a task");
    verifying->found->runs++;
    return 0;
}

/* Counts rows that the visitors above cannot see: tables, and rows that belong to nothing. */
static int64_t count_of(Verifying *verifying, const char *text)
{
    sqlite3_stmt *row = NULL;
    int64_t count = -1;
    if (sqlite3_prepare_v2(((SqliteStore *)verifying->store)->db, text, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        count = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return count;
}

static int check_programs(Verifying *verifying)
{
    int64_t run, last, tid;
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, last_ids, &run, &last, &tid);
    for (int64_t id = 1; !code && id <= last; id++) {
        TfyStoreProgram program;
        code = TFY_STORE(verifying->store, TFY_CALL_READ, get_program, id, NULL, &program);
        verifying->found->programs += !code;
        /* Retention deleted it; if a run needs it, that is noticed elsewhere. */
        if (code == TFY_E_ABSENT) code = 0;
    }
    return code ? refuse_store(verifying, code, "a program") : 0;
}

static int check_rows(Verifying *verifying)
{
    TfyStoreTask self;
    tell_progress(verifying, "tasks", 0, 0);
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, get_task, 0, 0, &self);
    if (code) return refuse_store(verifying, code, "the row of task 0");
    code = take_task(verifying, &self);
    if (!code) code = TFY_STORE(verifying->store, TFY_CALL_READ, see_runs, false, take_run, verifying);
    if (code) return refuse_store(verifying, code, "a run");
    if ((code = check_programs(verifying))) return code;
    const int64_t rows = count_of(verifying, "SELECT count(*) FROM task");
    if (rows != verifying->found->tasks)
        return refuse(verifying, TFY_E_DATA, "%" PRId64 " tasks belong to no run", rows - verifying->found->tasks);
    const int64_t gaps = count_of(verifying, "SELECT count(*) FROM gap");
    if (gaps != verifying->gaps)
        return refuse(verifying, TFY_E_DATA, "%" PRId64 " gaps of the log have no record after them",
                      gaps - verifying->gaps);
    if (verifying->births != verifying->born)
        return refuse(verifying, TFY_E_DATA, "%" PRId64 " tasks were born and %" PRId64 " of them are there",
                      verifying->births, verifying->born);
    verifying->found->tasks--; /* task 0 is the database itself */
    return 0;
}

/* ---- the whole check ---- */

static int check_all(Verifying *verifying)
{
    int code = TFY_STORE(verifying->store, TFY_CALL_READ, look);
    if (code) return refuse_store(verifying, code, "");
    /* Its read starts the view that all others share. */
    code = check_marks(verifying);
    if (!code) code = check_pages(verifying);
    if (!code) code = check_records(verifying);
    if (!code) code = check_rows(verifying);
    verifying->store->ops->look_away(verifying->store);
    return code;
}

int tfy__verify(const char *path, TfyVerifyProgress *progress, void *state, TfyVerified *verified, char *error_text)
{
    Verifying verifying = {
        .path = path, .found = verified, .progress = progress, .progress_state = state, .error_text = error_text};
    *verified = (TfyVerified){.bad_task = -1};
    int code = tfy__store_open_sqlite(&verifying.store, path, TFY_STORE_READ, error_text);
    if (code) return code;
    code = check_all(&verifying);
    if (!code && verifying.meta.clean && verified->last > verifying.meta.mark)
        code = refuse_record(&verifying, verifying.meta.mark + 1, -1, "was added after the log had been closed");
    verifying.store->ops->close(verifying.store, false);
    tfy__heads_clear(&verifying.heads);
    free(verifying.marks);
    return code;
}

/* gc.c: selects the runs, and deletes them.
 *
 * The log is opened for writing, so no other process writes. A mark seals its present contents; everything deleted is
 * then below that mark, and the dense tail that recovery reads stays dense. Runs are deleted in transactions of some
 * thousand records: a crash leaves some of them deleted and the rest complete, and the next gc continues. */
#include "wal/keep/gc.h"
#include "base/grow.h"
#include "base/lower_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wal/keep/compact.h"
#include "wal/keep/import.h"
#include "wal/keep/thin.h"
#include "base/kill_point.h"
#include "wal/store/store_sqlite.h"
#include "base/buffer.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

enum { BATCH_RECORDS = 5000, BATCH_RUNS = 200 };

static int refuse(Gc *gc, int code)
{
    if (gc->error_text[0]) return code;
    const char *why = gc->store && gc->store->error[0] ? gc->store->error : "a row is missing";
    if (code == TFY_E_NOMEM) return tfy__log_refuse(gc->error_text, code, "no memory");
    if (code == TFY_E_DATA || code == TFY_E_ABSENT)
        return tfy__log_refuse(gc->error_text, TFY_E_DATA,
                               "%s is damaged (%s); nothing more was deleted; check it with 'tfy verify'", gc->path,
                               why);
    return tfy__log_refuse(gc->error_text, TFY_E_IO,
                           "%s cannot be changed (%s); the remaining runs are unchanged; check the disk", gc->path,
                           why);
}

sqlite3 *tfy__gc_database(const Gc *gc)
{
    return ((SqliteStore *)gc->store)->db;
}

int tfy__gc_execute(Gc *gc, const char *text)
{
    if (sqlite3_exec(tfy__gc_database(gc), text, NULL, NULL, NULL) == SQLITE_OK) return 0;
    snprintf(gc->store->error, sizeof gc->store->error, "%s", sqlite3_errmsg(tfy__gc_database(gc)));
    return TFY_E_IO;
}

static int64_t number(Gc *gc, const char *text)
{
    sqlite3_stmt *row = NULL;
    int64_t value = 0;
    if (sqlite3_prepare_v2(tfy__gc_database(gc), text, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return value;
}

static int64_t used_bytes(Gc *gc)
{
    return (number(gc, "PRAGMA page_count") - number(gc, "PRAGMA freelist_count")) * number(gc, "PRAGMA page_size");
}

/* ---- selection ---- */

static int take_run(void *state, const TfyLogRun *run)
{
    Gc *gc = state;
    TfyGcResult *result = gc->result;
    if (run->state < TFY_TASK_COMPLETED) return 0;
    if (!GROW(result->runs, gc->run_room, result->count + 1, 16)) return TFY_E_NOMEM;
    result->runs[result->count++] = (TfyGcRun){.run = *run};
    return 0;
}

static int by_end(const void *left, const void *right)
{
    const TfyLogRun *a = &((const TfyGcRun *)left)->run, *b = &((const TfyGcRun *)right)->run;
    if (a->ended_ms != b->ended_ms) return (a->ended_ms > b->ended_ms) - (a->ended_ms < b->ended_ms);
    return (a->id > b->id) - (a->id < b->id);
}

static int take_tid(void *state, const TfyStoreTask *task)
{
    Gc *gc = state;
    if (!GROW(gc->tids, gc->tid_room, gc->tid_count + 1, 64)) return TFY_E_NOMEM;
    gc->tids[gc->tid_count++] = task->tid;
    return 0;
}

static int list_tids(Gc *gc, int64_t run)
{
    gc->tid_count = 0;
    return TFY_STORE(gc->store, TFY_CALL_READ, see_tasks, run, take_tid, gc);
}

/* Finds the gap before a record; only compacted runs have gaps. */
static int find_gap(Gc *gc, const TfyLogRun *run, int64_t lsn, TfyStoreGap *gap, bool *found)
{
    const int code = lsn > run->base_lsn ? TFY_E_ABSENT : TFY_STORE(gc->store, TFY_CALL_READ, get_gap, run->id, lsn, gap);
    *found = !code;
    return code == TFY_E_ABSENT ? 0 : code;
}

int tfy__gc_walk(Gc *gc, const TfyLogRun *run, int64_t tid, TfyGcSee *see, void *state)
{
    TfyStoreTask task;
    int code = TFY_STORE(gc->store, TFY_CALL_READ, get_task, run->id, tid, &task);
    if (code) return code;
    const TfyHead *head = tfy__heads_find(&gc->log->heads, tid);
    int64_t lsn = head && head->lsn > task.head ? head->lsn : task.head;
    while (!code && lsn != task.base) {
        TfyLogRecord record;
        TfyStoreGap gap;
        bool behind = false;
        code = TFY_STORE(gc->store, TFY_CALL_READ, get_record, run->id, lsn, &record);
        if (!code) code = find_gap(gc, run, lsn, &gap, &behind);
        const int64_t below = behind ? gap.below : record.prev;
        if (!code && (record.tid != tid || below >= lsn)) code = TFY_E_DATA;
        if (code) break;
        lsn = below;
        code = see(state, &record, behind ? &gap : NULL);
    }
    return code;
}

/* ---- sizes ---- */

/* The size of an integer in a row: the type alone encodes zero and one. */
static int64_t int_bytes(int64_t value)
{
    static const int64_t limits[] = {INT8_MAX, INT16_MAX, (1 << 23) - 1, INT32_MAX, (INT64_C(1) << 47) - 1};
    static const int64_t bytes[] = {1, 2, 3, 4, 6, 8};
    const int64_t size = value < 0 ? ~value : value;
    int i = 0;
    if (value == 0 || value == 1) return 0;
    while (i < 5 && size > limits[i]) i++;
    return bytes[i];
}

static int64_t varint_bytes(int64_t value)
{
    int64_t bytes = 1;
    while (value >>= 7) bytes++;
    return bytes;
}

/* The size of a cell of the table: its length, its number, the types of ten columns, their contents (a text's type
 * encodes its length); and its position in its page. */
int64_t tfy__gc_record_bytes(const TfyLogRecord *record)
{
    const int64_t text = record->payload_len, types = 1 + 9 + varint_bytes(13 + 2 * text);
    const int64_t row = types + text + int_bytes(record->tid) + int_bytes(record->prev) + int_bytes(record->v) +
                        int_bytes(record->ts_ms) + int_bytes(record->type) + int_bytes(record->step) +
                        int_bytes(record->point) + int_bytes((int64_t)record->chain);
    return varint_bytes(row) + varint_bytes(record->lsn) + row + 2;
}

static int measure_record(void *state, const TfyLogRecord *record, const TfyStoreGap *gap)
{
    (void)gap;
    TfyGcRun *run = state;
    run->records++;
    run->bytes += tfy__gc_record_bytes(record);
    return 0;
}

static int measure_run(Gc *gc, TfyGcRun *run)
{
    /* Approximate sizes of their rows and of the index entries for them. */
    enum { RUN_BYTES = 80, TASK_BYTES = 60 };
    int code = list_tids(gc, run->run.id);
    run->bytes = RUN_BYTES + (int64_t)gc->tid_count * TASK_BYTES;
    for (size_t i = 0; !code && i < gc->tid_count; i++)
        code = tfy__gc_walk(gc, &run->run, gc->tids[i], measure_record, run);
    return code;
}

/* The id of a run that was started with a key, or a name, is made of it: as long as the run is there, the same start
 * finds it. Clients may repeat a start for a day. */
static bool key_holds(const TfyLogRun *run, int64_t now_ms)
{
    enum { NAMED = 8, DAY_MS = 24 * 3600 * 1000 };
    return run->uuid[6] >> 4 == NAMED && now_ms - run->started_ms < DAY_MS;
}

/* Sorts by the time of the end, oldest first, and moves the runs to drop to the start of the list. */
static int choose(Gc *gc)
{
    const TfyGcOptions *options = gc->options;
    TfyGcResult *result = gc->result;
    int code = TFY_STORE(gc->store, TFY_CALL_READ, see_runs, false, take_run, gc);
    if (code) return code;
    if (result->count) qsort(result->runs, result->count, sizeof *result->runs, by_end);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    int64_t excess = options->max_bytes < 0 ? 0 : result->bytes_before - options->max_bytes;
    uint32_t going = 0;
    for (uint32_t i = 0; i < result->count; i++) {
        TfyGcRun *run = &result->runs[i];
        const bool old = options->older_than_ms >= 0 && now_ms - run->run.ended_ms > options->older_than_ms;
        const bool many = options->keep >= 0 && (int64_t)(result->count - i) > options->keep;
        if (!old && !many && excess <= 0) break;
        if (key_holds(&run->run, now_ms)) {
            result->kept_count++;
            continue;
        }
        if ((code = measure_run(gc, run))) return code;
        excess -= run->bytes;
        result->records += run->records;
        result->runs[going++] = *run;
    }
    result->count = going;
    return 0;
}

/* ---- marks ---- */

static int take_mark(void *state, const TfyStoreMark *mark)
{
    Gc *gc = state;
    if (!GROW(gc->marks, gc->mark_room, gc->mark_count + 1, 256)) return TFY_E_NOMEM;
    gc->marks[gc->mark_count++] = *mark;
    return 0;
}

static int load_marks(Gc *gc)
{
    gc->mark_count = 0;
    return TFY_STORE(gc->store, TFY_CALL_READ, see_marks, take_mark, gc);
}

/* The mark that sealed a record; NULL: none. */
static TfyStoreMark *mark_of(Gc *gc, int64_t lsn)
{
    const size_t index = LOWER_BOUND(gc->marks, gc->mark_count, lsn, lsn);
    return index < gc->mark_count ? &gc->marks[index] : NULL;
}

int tfy__gc_delete_record(Gc *gc, const TfyLogRecord *record)
{
    TfyStoreMark *mark = mark_of(gc, record->lsn);
    /* The mark with which gc started seals everything that can be deleted. */
    if (!mark) return TFY_E_DATA;
    mark->gone_rows++;
    mark->gone_sum += tfy__store_segment_part(record);
    sqlite3_bind_int64(gc->delete_record, 1, record->lsn);
    const int code = sqlite3_step(gc->delete_record);
    sqlite3_reset(gc->delete_record);
    if (code == SQLITE_DONE) return 0;
    snprintf(gc->store->error, sizeof gc->store->error, "%s", sqlite3_errmsg(tfy__gc_database(gc)));
    return TFY_E_IO;
}

/* The sums wrap around; SQLite's own addition would not. */
static int write_marks(Gc *gc)
{
    sqlite3_stmt *update;
    if (!gc->before) return 0;
    if (sqlite3_prepare_v2(tfy__gc_database(gc), "UPDATE mark SET gone_rows=?, gone_sum=? WHERE lsn=?", -1, &update,
                           NULL) != SQLITE_OK)
        return TFY_E_IO;
    int code = 0;
    for (size_t i = 0; !code && i < gc->mark_count; i++) {
        const TfyStoreMark *mark = &gc->marks[i];
        if (mark->gone_rows == gc->before[i].gone_rows) continue;
        sqlite3_bind_int64(update, 1, mark->gone_rows);
        sqlite3_bind_int64(update, 2, (int64_t)mark->gone_sum);
        sqlite3_bind_int64(update, 3, mark->lsn);
        code = sqlite3_step(update) == SQLITE_DONE ? 0 : TFY_E_IO;
        sqlite3_reset(update);
    }
    sqlite3_finalize(update);
    return code;
}

/* ---- deletion ---- */

static int delete_rows(Gc *gc, int64_t run)
{
    static const char *const texts[] = {"DELETE FROM inbox WHERE tid IN (SELECT tid FROM task WHERE run=%" PRId64 ")",
                                        "DELETE FROM task WHERE run=%" PRId64, "DELETE FROM obj WHERE run=%" PRId64,
                                        "DELETE FROM run WHERE id=%" PRId64};
    char text[128];
    int code = 0;
    for (size_t i = 0; !code && i < sizeof texts / sizeof *texts; i++) {
        snprintf(text, sizeof text, texts[i], run);
        code = tfy__gc_execute(gc, text);
    }
    return code;
}

static int delete_each(void *state, const TfyLogRecord *record, const TfyStoreGap *gap)
{
    (void)gap;
    return tfy__gc_delete_record(state, record);
}

static int delete_run(Gc *gc, const TfyGcRun *run)
{
    int code = list_tids(gc, run->run.id);
    for (size_t i = 0; !code && i < gc->tid_count; i++)
        code = tfy__gc_walk(gc, &run->run, gc->tids[i], delete_each, gc);
    return code ? code : delete_rows(gc, run->run.id);
}

int tfy__gc_begin(Gc *gc)
{
    free(gc->before);
    gc->before = malloc((gc->mark_count + 1) * sizeof *gc->before);
    if (!gc->before) return TFY_E_NOMEM;
    memcpy(gc->before, gc->marks, gc->mark_count * sizeof *gc->before);
    const int code = TFY_STORE(gc->store, TFY_CALL_BEGIN, begin, NULL);
    return code ? code : tfy__gc_execute(gc, "UPDATE meta SET gc=1");
}

int tfy__gc_commit(Gc *gc, int code)
{
    if (!code) code = write_marks(gc);
    if (!code) code = tfy__gc_execute(gc, "DELETE FROM gap WHERE NOT EXISTS (SELECT 1 FROM wal WHERE wal.lsn=gap.lsn)");
    if (!code) code = tfy__gc_execute(gc, "UPDATE meta SET gc=0");
    if (!code) tfy__kill_point(TFY_KILL_BEFORE);
    if (!code) code = TFY_STORE(gc->store, TFY_CALL_COMMIT, commit);
    if (!code) tfy__kill_point(TFY_KILL_AFTER);
    if (code) gc->store->ops->rollback(gc->store);
    if (!code && gc->store->ops->checkpoint_due(gc->store))
        code = TFY_STORE(gc->store, TFY_CALL_CHECKPOINT, checkpoint);
    return code;
}

/* Lets a person who looks for a run later find out when it was deleted. */
int tfy__gc_announce(Gc *gc, const char *why, const TfyLogRun *const *runs, uint32_t count)
{
    const int64_t lsn = tfy__thin_announce(gc->log, why, runs, count);
    return lsn < 0 ? (int)lsn : tfy__log_sync(gc->log);
}

/* Drops at most BATCH_RUNS. */
static int drop_runs(Gc *gc, const TfyGcRun *runs, uint32_t count)
{
    const TfyLogRun *names[BATCH_RUNS];
    for (uint32_t i = 0; i < count; i++) names[i] = &runs[i].run;
    int code = tfy__gc_announce(gc, gc->archive ? "archived" : "dropped", names, count);
    if (code) return code;
    code = tfy__gc_begin(gc);
    for (uint32_t i = 0; !code && i < count; i++) code = delete_run(gc, &runs[i]);
    return tfy__gc_commit(gc, code);
}

/* The archive must have the run, complete and synced, before it is deleted here. */
static int archive_run(Gc *gc, const TfyGcRun *run)
{
    char id[24], why[TFY_ERROR_TEXT] = "";
    TfyHistory *history;
    int64_t doubts = 0;
    snprintf(id, sizeof id, "%" PRId64, run->run.id);
    int code = tfy__history_read_whole(gc->log, id, &history, gc->error_text);
    if (code) return code;
    code = tfy__import_run(gc->archive, history, &doubts, why);
    if (!code) code = tfy__log_sync(gc->archive);
    tfy__history_free(history);
    if (code == TFY_E_STATE) return 0; /* it was archived before a crash */
    return code ? tfy__log_refuse(gc->error_text, code, "%s", why[0] ? why : "the archive could not be written") : 0;
}

static int drop_all(Gc *gc, TfyGcProgress *progress, void *state)
{
    TfyGcResult *result = gc->result;
    int code = 0;
    for (uint32_t done = 0; !code && done < result->count;) {
        uint32_t count = 0;
        for (int64_t records = 0;
             !code && done + count < result->count && count < BATCH_RUNS && records < BATCH_RECORDS;) {
            if (gc->archive) code = archive_run(gc, &result->runs[done + count]);
            records += result->runs[done + count++].records;
        }
        if (!code) code = drop_runs(gc, &result->runs[done], count);
        done += count;
        if (progress) progress(state, "runs deleted", done, result->count);
    }
    return code;
}

/* ---- the start of the log ---- */

/* Deletes the database's own records up to the mark; its task row says from where its chain continues. */
static int drop_own_records(Gc *gc, int64_t upto)
{
    sqlite3_stmt *rows, *update;
    TfyStoreTask self;
    int code = TFY_STORE(gc->store, TFY_CALL_READ, get_task, 0, 0, &self);
    if (code) return code;
    int64_t base = self.base;
    uint64_t base_chain = self.base_chain;
    if (sqlite3_prepare_v2(tfy__gc_database(gc), "SELECT lsn,chain FROM wal WHERE lsn<=? ORDER BY lsn DESC LIMIT 1", -1,
                           &rows, NULL) != SQLITE_OK)
        return TFY_E_IO;
    sqlite3_bind_int64(rows, 1, upto);
    if (sqlite3_step(rows) == SQLITE_ROW) {
        base = sqlite3_column_int64(rows, 0);
        base_chain = (uint64_t)sqlite3_column_int64(rows, 1);
    }
    sqlite3_finalize(rows);
    char text[160];
    snprintf(text, sizeof text, "DELETE FROM wal WHERE lsn<=%" PRId64 "; DELETE FROM mark WHERE lsn<=%" PRId64, upto,
             upto);
    if ((code = tfy__gc_execute(gc, text))) return code;
    if (sqlite3_prepare_v2(tfy__gc_database(gc), "UPDATE task SET base=?, base_chain=? WHERE tid=0", -1, &update,
                           NULL) != SQLITE_OK)
        return TFY_E_IO;
    sqlite3_bind_int64(update, 1, base);
    sqlite3_bind_int64(update, 2, (int64_t)base_chain);
    code = sqlite3_step(update) == SQLITE_DONE ? 0 : TFY_E_IO;
    sqlite3_finalize(update);
    return code;
}

/* Marks before the first record of any run seal nothing any more; the newest one always stays, and so does what the day
 * has come to (core/step/day.c). */
static int drop_beginning(Gc *gc)
{
    const int64_t first =
        number(gc, "SELECT min(coalesce((SELECT lsn FROM wal WHERE tid<>0 ORDER BY lsn LIMIT 1), 9223372036854775807),"
                   " coalesce((SELECT max(lsn) FROM wal WHERE tid=0 AND type=36 AND ts>unixepoch()*1000-86400000),"
                   " 9223372036854775807))");
    size_t last = 0;
    while (last + 1 < gc->mark_count && gc->marks[last].lsn < first) last++;
    if (last == 0) return 0; /* marks[last] is the first one that stays */
    const TfyStoreMark *gone = &gc->marks[last - 1];
    int code = tfy__gc_begin(gc);
    if (!code) code = drop_own_records(gc, gone->lsn);
    TfyStoreMeta meta = gc->log->meta;
    meta.base = gone->lsn;
    meta.base_chain = gone->chain;
    if (!code) code = TFY_STORE(gc->store, TFY_CALL_PUT, put_meta, &meta);
    code = tfy__gc_commit(gc, code);
    if (!code) gc->log->meta = meta;
    return code;
}

/* A run needs its program, and its earlier ones: its records have their point numbers. */
static int drop_programs(Gc *gc)
{
    int code = TFY_STORE(gc->store, TFY_CALL_BEGIN, begin, NULL);
    if (!code)
        code = tfy__gc_execute(gc, "DELETE FROM program WHERE id NOT IN (SELECT program FROM run) AND (NOT EXISTS"
                                   " (SELECT 1 FROM run WHERE moved>0) OR lower(hex(hash)) NOT IN"
                                   " (SELECT payload->>'$.from' FROM wal WHERE type=35))");
    if (!code) gc->result->programs = sqlite3_changes(tfy__gc_database(gc));
    return code ? code : tfy__gc_commit(gc, 0);
}

/* ---- the whole gc ---- */

static int seal(Gc *gc)
{
    const TfyTicket ticket = tfy__log_opened(gc->log, gc->options->version, "gc");
    int code = ticket < 0 ? (int)ticket : tfy__mark_add(gc->log, false);
    return code ? code : tfy__log_sync(gc->log);
}

/* Later writes reuse free pages; only if there are many of them does the file shrink. */
static int shrink(Gc *gc)
{
    const int64_t pages = number(gc, "PRAGMA page_count"), unused = number(gc, "PRAGMA freelist_count");
    return unused * 4 > pages ? tfy__gc_execute(gc, "VACUUM") : 0;
}

static int collect(Gc *gc, TfyGcProgress *progress, void *state)
{
    int code = seal(gc);
    if (!code) code = load_marks(gc);
    gc->result->bytes_before = used_bytes(gc);
    if (!code) code = choose(gc);
    if (!code && sqlite3_prepare_v2(tfy__gc_database(gc), "DELETE FROM wal WHERE lsn=?", -1, &gc->delete_record,
                                    NULL) != SQLITE_OK)
        code = TFY_E_IO;
    if (!code) code = drop_all(gc, progress, state);
    if (!code && gc->options->compact) code = tfy__compact(gc, progress, state);
    if (!code) code = drop_beginning(gc);
    if (!code) code = drop_programs(gc);
    sqlite3_finalize(gc->delete_record);
    gc->delete_record = NULL;
    gc->result->bytes_after = used_bytes(gc);
    /* Rebuilding the file requires that nothing is open on it. */
    gc->store->ops->look_away(gc->store);
    return code ? code : shrink(gc);
}

static int look_only(Gc *gc, TfyGcProgress *progress, void *state)
{
    int code = TFY_STORE(gc->store, TFY_CALL_READ, look);
    if (code) return code;
    gc->result->bytes_before = gc->result->bytes_after = used_bytes(gc);
    code = choose(gc);
    gc->store->ops->look_away(gc->store);
    if (!code && gc->options->compact) code = tfy__compact(gc, progress, state);
    TfyGcResult *result = gc->result;
    for (uint32_t i = 0; i < result->count; i++) result->bytes_after -= result->runs[i].bytes;
    for (uint32_t i = 0; i < result->compacted_count; i++) result->bytes_after -= result->compacted[i].bytes;
    return code;
}

/* Beside the process that has the database. */
static int compact_only(Gc *gc, TfyGcProgress *progress, void *state)
{
    const char *most = getenv("TFY_TEST_GC_PART");
    gc->part_records = most && atoi(most) > 0 ? atoi(most) : TFY_THIN_RECORDS;
    gc->result->bytes_before = used_bytes(gc);
    const int code = tfy__compact(gc, progress, state);
    gc->result->bytes_after = used_bytes(gc);
    return code;
}

static int open_logs(Gc *gc)
{
    const TfyGcOptions *options = gc->options;
    TfyLogOptions log = {
        .path = gc->path, .existing = true, .no_thread = true, .read_only = options->dry_run || options->send};
    int code = tfy__log_open(&gc->log, &log, gc->error_text);
    if (code) return code;
    gc->store = gc->log->store;
    if (!options->archive || options->dry_run) return 0;
    code = tfy__log_open(&gc->archive, &(TfyLogOptions){.path = options->archive, .no_thread = true}, gc->error_text);
    if (code) return code;
    if (tfy__log_opened(gc->archive, options->version, "archives") < 0) return TFY_E_IO;
    tfy__import_epoch(gc->archive, tfy__log_epoch(gc->log));
    return 0;
}

int tfy__gc(const char *path, const TfyGcOptions *options, TfyGcProgress *progress, void *state, TfyGcResult *result,
            char *error_text)
{
    Gc gc = {.path = path, .options = options, .result = result, .error_text = error_text};
    *result = (TfyGcResult){0};
    error_text[0] = '\0';
    int code = open_logs(&gc);
    if (!code)
        code = options->dry_run ? look_only(&gc, progress, state)
               : options->send  ? compact_only(&gc, progress, state)
                                : collect(&gc, progress, state);
    if (code) refuse(&gc, code);
    const int archived = tfy__log_close_saying(gc.archive, true, error_text),
              closed = tfy__log_close_saying(gc.log, !code, error_text);
    if (!code) code = archived ? archived : closed;
    free(gc.marks);
    free(gc.before);
    free(gc.tids);
    if (code) tfy__gc_free(result);
    return code;
}

void tfy__gc_free(TfyGcResult *result)
{
    free(result->runs);
    free(result->compacted);
    result->runs = NULL;
    result->compacted = NULL;
    result->count = result->compacted_count = 0;
}

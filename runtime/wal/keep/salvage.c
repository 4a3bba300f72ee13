/* salvage.c: reads rows around damaged pages, then rebuilds runs from the rows.
 *
 * The database is opened with the system's VFS: a page whose sum is wrong may hold valid rows, and each record is
 * checked by itself. SQLite ends a scan at the first invalid page; behind it, rows are looked up by number, one by
 * one, until one is readable again. */
#include "wal/keep/salvage.h"
#include "base/grow.h"
#include "base/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sqlite3.h>

#include "wal/keep/import_compacted.h"
#include "wal/log/log_state.h"
#include "wal/history/move.h"
#include "wal/rows/payload.h"
#include "wal/store/place.h"
#include "wal/history/history.h"

enum { PROBES_MAX = 1 << 20 };

#define RECORDS "SELECT lsn,tid,prev,v,ts,type,step,point,payload,chain FROM wal WHERE "

typedef struct Task {
    int64_t tid, born, head; /* head: 0 or born before its first record */
    uint64_t chain;
    uint32_t run;
    char *path;
    bool begun; /* its number is known from a record */
} Task;

typedef struct Found {
    TfyLogRun run;
    /* Records from this one on are dropped; INT64_MAX: all are kept. */
    int64_t cut;
    int64_t program; /* its row id; 0: unknown */
    /* The record that moved it to that program, according to its row; 0: none. */
    int64_t moved;
    /* Of the program with which its kept records end, if a move names it (hashed); this takes precedence. */
    uint8_t hash[16];
    bool ended, hashed;
} Found;

/* A row of table gap, and whether the record behind it proved it. */
typedef struct Gap {
    TfyStoreGap row;
    bool proved;
} Gap;

typedef struct Salvage {
    sqlite3 *from;
    TfySalvaged *result;
    TfyLogRecord *records; /* all readable ones, in order; payloads owned */
    uint32_t *owners;      /* per record: its task, or NOBODY */
    size_t count, room, owner_room;
    Task *tasks;
    size_t task_count, task_room;
    TfyHeads by_tid, by_spawn; /* maps numbers to tasks */
    Found *runs;
    size_t run_count, run_room;
    Gap *gaps; /* lsn ascending */
    size_t gap_count, gap_room;
} Salvage;

#define NOBODY UINT32_MAX

/* ---- rows ---- */

static bool keep_row(Salvage *salvage, sqlite3_stmt *row)
{
    if (!GROW(salvage->records, salvage->room, salvage->count + 1, 64) ||
        !GROW(salvage->owners, salvage->owner_room, salvage->count + 1, 64))
        return false;
    const void *payload = sqlite3_column_text(row, 8);
    const int len = sqlite3_column_bytes(row, 8);
    char *copy = malloc((size_t)len + 1);
    if (!copy) return false;
    if (len) memcpy(copy, payload, (size_t)len);
    copy[len] = '\0';
    salvage->owners[salvage->count] = NOBODY;
    salvage->records[salvage->count++] = (TfyLogRecord){.lsn = sqlite3_column_int64(row, 0),
                                                        .tid = sqlite3_column_int64(row, 1),
                                                        .prev = sqlite3_column_int64(row, 2),
                                                        .v = (uint8_t)sqlite3_column_int(row, 3),
                                                        .ts_ms = sqlite3_column_int64(row, 4),
                                                        .type = (uint8_t)sqlite3_column_int(row, 5),
                                                        .step = sqlite3_column_int64(row, 6),
                                                        .point = (uint32_t)sqlite3_column_int64(row, 7),
                                                        .payload_len = (uint32_t)len,
                                                        .payload = copy,
                                                        .chain = (uint64_t)sqlite3_column_int64(row, 9)};
    return true;
}

/* A row may be on a page that was overwritten with another's; numbers must ascend. */
static bool ascends(const Salvage *salvage, int64_t lsn)
{
    return lsn > (salvage->count ? salvage->records[salvage->count - 1].lsn : 0);
}

/* Reads rows from `from` on, until the end (SQLITE_DONE) or an unreadable one. */
static int scan(Salvage *salvage, sqlite3_stmt *rows, int64_t from)
{
    int code;
    sqlite3_bind_int64(rows, 1, from);
    while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
        if (!ascends(salvage, sqlite3_column_int64(rows, 0))) {
            code = SQLITE_CORRUPT;
            break;
        }
        if (!keep_row(salvage, rows)) {
            code = SQLITE_NOMEM;
            break;
        }
    }
    sqlite3_reset(rows);
    return code;
}

/* The next number with a row behind an unreadable place; 0: none was found. */
static int64_t probe(Salvage *salvage, sqlite3_stmt *one, int64_t lsn)
{
    for (int tries = 0; tries < PROBES_MAX; tries++, lsn++) {
        sqlite3_bind_int64(one, 1, lsn);
        const bool there = sqlite3_step(one) == SQLITE_ROW && sqlite3_column_int64(one, 0) == lsn;
        sqlite3_reset(one);
        if (there) return lsn;
    }
    return 0;
}

static int read_rows(Salvage *salvage)
{
    sqlite3_stmt *rows = NULL, *one = NULL;
    int64_t next = 0;
    int code = sqlite3_prepare_v2(salvage->from, RECORDS "lsn>=? ORDER BY lsn", -1, &rows, NULL);
    if (!code) code = sqlite3_prepare_v2(salvage->from, RECORDS "lsn=?", -1, &one, NULL);
    if (!code) {
        do {
            code = scan(salvage, rows, next);
            if (code == SQLITE_DONE || code == SQLITE_NOMEM) break;
            next = salvage->count ? salvage->records[salvage->count - 1].lsn + 1 : 1;
            next = probe(salvage, one, next);
            /* Read one row at a time if a scan does not get beyond the previous row. */
            if (next && scan(salvage, one, next) == SQLITE_NOMEM) code = SQLITE_NOMEM;
        } while (next++ && code != SQLITE_NOMEM);
    } else {
        code = SQLITE_CORRUPT;
    }
    sqlite3_finalize(rows);
    sqlite3_finalize(one);
    if (code == SQLITE_NOMEM) return TFY_E_NOMEM;
    if (code && !salvage->count) return TFY_E_DATA;
    salvage->result->records = (int64_t)salvage->count;
    if (salvage->count)
        salvage->result->unreadable = salvage->records[salvage->count - 1].lsn - (int64_t)salvage->count;
    return 0;
}

/* Reads as many as possible: each must be proved. */
static int read_gaps(Salvage *salvage)
{
    sqlite3_stmt *row = NULL;
    int64_t before = 0;
    int code = sqlite3_prepare_v2(salvage->from, "SELECT lsn,below,chain FROM gap ORDER BY lsn", -1, &row, NULL);
    while (!code && sqlite3_step(row) == SQLITE_ROW) {
        const TfyStoreGap gap = {0, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                 (uint64_t)sqlite3_column_int64(row, 2)};
        if (gap.lsn <= before) break;
        before = gap.lsn;
        if (!GROW(salvage->gaps, salvage->gap_room, salvage->gap_count + 1, 64))
            code = TFY_E_NOMEM;
        else
            salvage->gaps[salvage->gap_count++] = (Gap){.row = gap};
    }
    sqlite3_finalize(row);
    return code == TFY_E_NOMEM ? code : 0;
}

static int by_lsn(const void *key, const void *gap)
{
    const int64_t a = *(const int64_t *)key, b = ((const Gap *)gap)->row.lsn;
    return (a > b) - (a < b);
}

static Gap *find_gap(const Salvage *salvage, int64_t lsn)
{
    if (!salvage->gap_count) return NULL;
    return bsearch(&lsn, salvage->gaps, salvage->gap_count, sizeof *salvage->gaps, by_lsn);
}

/* The gap before the record, if its chain continues from there. */
static Gap *gap_before(const Salvage *salvage, const TfyLogRecord *record)
{
    Gap *gap = find_gap(salvage, record->lsn);
    return gap && tfy__chain_next(gap->row.chain, record) == record->chain ? gap : NULL;
}

/* ---- rebuilding runs ---- */

static uint32_t new_task(Salvage *salvage, uint32_t run, const char *path, int64_t tid, int64_t born)
{
    if (!GROW(salvage->tasks, salvage->task_room, salvage->task_count + 1, 64)) return NOBODY;
    const bool root = !strchr(path, '.');
    Task *task = &salvage->tasks[salvage->task_count];
    *task = (Task){.tid = tid, .born = born, .head = root ? 0 : born, .run = run, .path = strdup(path), .begun = root};
    task->chain = tfy__chain_seed(salvage->runs[run].run.uuid, path);
    return task->path ? (uint32_t)salvage->task_count++ : NOBODY;
}

/* Starts a run, if the record can be what it says. */
static uint32_t begin_run(Salvage *salvage, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    Found found = {.cut = INT64_MAX, .run = {.root = record->tid, .started_ms = record->ts_ms}};
    uint32_t task = NOBODY;
    const char *path = tfy__payload_text(&payload, TFY_P_PATH);
    const bool fine = tfy__uuid_read(tfy__payload_text(&payload, TFY_P_RUN), found.run.uuid) && path &&
                      !strchr(path, '.') && record->prev == 0 &&
                      tfy__chain_next(tfy__chain_seed(found.run.uuid, path), record) == record->chain;
    if (fine && GROW(salvage->runs, salvage->run_room, salvage->run_count + 1, 64)) {
        salvage->runs[salvage->run_count++] = found;
        task = new_task(salvage, (uint32_t)salvage->run_count - 1, path, record->tid, record->lsn);
    }
    tfy__payload_close(&payload);
    return task;
}

/* Whether this is the first record of a child: it names the spawn, and fits the seed of the child's path. */
static bool is_first(const Task *task, const TfyLogRecord *record)
{
    return !task->begun && task->born == record->prev && tfy__chain_next(task->chain, record) == record->chain;
}

/* Adds to an index of tasks: by number, or by the spawn that created them. */
static bool remember(TfyHeads *index, int64_t number, uint32_t task)
{
    TfyHead *place = tfy__heads_find(index, number);
    if (!place) place = tfy__heads_add(index, number);
    if (place) place->lsn = task;
    return place != NULL;
}

static uint32_t recall(const TfyHeads *index, int64_t number)
{
    const TfyHead *place = tfy__heads_find(index, number);
    return place ? (uint32_t)place->lsn : NOBODY;
}

static uint32_t find_task(Salvage *salvage, const TfyLogRecord *record)
{
    uint32_t task = recall(&salvage->by_tid, record->tid);
    if (task != NOBODY) return task;
    const Gap *gap = gap_before(salvage, record);
    task = recall(&salvage->by_spawn, gap ? gap->row.below : record->prev);
    if (task != NOBODY && (gap ? !salvage->tasks[task].begun : is_first(&salvage->tasks[task], record))) {
        salvage->tasks[task].begun = true;
        salvage->tasks[task].tid = record->tid;
    } else {
        task = record->type == TFY_R_INSTRUCTION_START ? begin_run(salvage, record) : NOBODY;
    }
    return task != NOBODY && remember(&salvage->by_tid, record->tid, task) ? task : NOBODY;
}

static bool spawn_task(Salvage *salvage, const TfyLogRecord *record, uint32_t run)
{
    char *path = tfy__record_text(record, TFY_P_PATH);
    /* A spawn without a path was refused. */
    const uint32_t task = path ? new_task(salvage, run, path, -1, record->lsn) : NOBODY;
    const bool fine = !path || (task != NOBODY && remember(&salvage->by_spawn, record->lsn, task));
    free(path);
    return fine;
}

/* Whether the record follows the task's newest one, or a gap that starts there. */
static bool follows(Salvage *salvage, const Task *task, const TfyLogRecord *record)
{
    if (record->prev == task->head && tfy__chain_next(task->chain, record) == record->chain) return true;
    Gap *gap = gap_before(salvage, record);
    if (!gap || gap->row.below != task->head) return false;
    return gap->proved = true;
}

/* Where a task's own records break, the run is cut: at a changed record; or, if some are lost, after the last one
 * before them. */
static int place_record(Salvage *salvage, size_t index)
{
    const TfyLogRecord *record = &salvage->records[index];
    const uint32_t owner = find_task(salvage, record);
    if (owner == NOBODY) {
        /* Records of the database itself are not copied. */
        salvage->result->orphans += record->tid != 0;
        return 0;
    }
    Task *task = &salvage->tasks[owner];
    Found *found = &salvage->runs[task->run];
    salvage->owners[index] = owner;
    if (record->lsn >= found->cut) return 0;
    if (!follows(salvage, task, record)) {
        const int64_t cut = record->prev == task->head ? record->lsn : task->head + 1;
        if (cut < found->cut) found->cut = cut;
        return 0;
    }
    task->head = record->lsn;
    task->chain = record->chain;
    if (record->type == TFY_R_TASK_COMPLETE) {
        found->ended = true;
        found->run.ended_ms = record->ts_ms;
        found->run.state = tfy__record_end(record);
    }
    return record->type != TFY_R_TASK_SPAWN || spawn_task(salvage, record, task->run) ? 0 : TFY_E_NOMEM;
}

/* Reads from the run's row, if possible, its program, and whether it had finished. */
static void ask_row(Salvage *salvage, Found *found)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(salvage->from, "SELECT program,state,ended,moved FROM run NOT INDEXED WHERE uuid=?", -1,
                           &row, NULL) == SQLITE_OK) {
        sqlite3_bind_blob(row, 1, found->run.uuid, 16, SQLITE_STATIC);
        if (sqlite3_step(row) == SQLITE_ROW) {
            const int state = sqlite3_column_int(row, 1);
            found->program = sqlite3_column_int64(row, 0);
            found->moved = sqlite3_column_int64(row, 3);
            if (found->ended && state > TFY_TASK_COMPLETED && state <= TFY_TASK_CANCELLED) found->run.state = state;
            if (!found->ended && state >= TFY_TASK_COMPLETED && found->cut == INT64_MAX)
                found->cut = salvage->records[salvage->count - 1].lsn + 1; /* its end is lost */
        }
    }
    sqlite3_finalize(row);
}

/* Task rows name newest records; if one of those was not found, the task has lost its end. */
static void ask_tasks(Salvage *salvage)
{
    sqlite3_stmt *row = NULL;
    const int code =
        sqlite3_prepare_v2(salvage->from, "SELECT tid,born,head FROM task NOT INDEXED ORDER BY tid", -1, &row, NULL);
    while (!code && sqlite3_step(row) == SQLITE_ROW) {
        uint32_t at = recall(&salvage->by_tid, sqlite3_column_int64(row, 0));
        if (at == NOBODY) at = recall(&salvage->by_spawn, sqlite3_column_int64(row, 1));
        if (at == NOBODY) continue;
        Task *task = &salvage->tasks[at];
        Found *found = &salvage->runs[task->run];
        if (!task->begun) task->tid = sqlite3_column_int64(row, 0);
        if (sqlite3_column_int64(row, 2) > task->head && task->head + 1 < found->cut) found->cut = task->head + 1;
    }
    sqlite3_finalize(row);
}

/* ---- writing the new log ---- */

static bool copy_program(TfyHistory *history, const char *tfyc, const char *source, const char *layout)
{
    history->program_tfyc = strdup(tfyc);
    history->program_source = strdup(source);
    history->program_layout = strdup(layout);
    return history->program_tfyc && history->program_source && history->program_layout;
}

/* Finds the row of a program whose sum is right, by its number or, unless that is NULL, by its hash. Its texts belong
 * to the statement, which the caller finalizes. */
static bool find_program(Salvage *salvage, int64_t id, const uint8_t *hash, sqlite3_stmt **row,
                         TfyStoreProgram *program)
{
    static const char sql[] = "SELECT id,hash,tfyc,source,layout,sum FROM program NOT INDEXED"
                              " WHERE CASE WHEN ?2 IS NULL THEN id=?1 ELSE hash=?2 END";
    if (sqlite3_prepare_v2(salvage->from, sql, -1, row, NULL) != SQLITE_OK) return false;
    sqlite3_bind_int64(*row, 1, id);
    if (hash) sqlite3_bind_blob(*row, 2, hash, 16, SQLITE_STATIC);
    if (sqlite3_step(*row) != SQLITE_ROW || sqlite3_column_bytes(*row, 1) != 16) return false;
    *program = (TfyStoreProgram){.id = sqlite3_column_int64(*row, 0),
                                 .tfyc = (const char *)sqlite3_column_text(*row, 2),
                                 .source = (const char *)sqlite3_column_text(*row, 3),
                                 .layout = (const char *)sqlite3_column_text(*row, 4)};
    memcpy(program->hash, sqlite3_column_blob(*row, 1), 16);
    return program->tfyc && program->source && program->layout &&
           (uint64_t)sqlite3_column_int64(*row, 5) == tfy__store_sum_program(program);
}

static bool has_program(Salvage *salvage, const uint8_t hash[16])
{
    sqlite3_stmt *row = NULL;
    TfyStoreProgram program;
    const bool has = find_program(salvage, 0, hash, &row, &program);
    sqlite3_finalize(row);
    return has;
}

/* Point numbers belong to the run's program at that time. So the run ends before a move whose programs are not both
 * present, and the rest has the program to which its last move led. */
static void ask_moves(Salvage *salvage, uint32_t run)
{
    Found *found = &salvage->runs[run];
    for (size_t i = 0; i < salvage->count; i++) {
        const TfyLogRecord *record = &salvage->records[i];
        uint8_t from[16], to[16];
        if (!tfy__record_is_move(record) || salvage->owners[i] == NOBODY) continue;
        if (salvage->tasks[salvage->owners[i]].run != run || !tfy__move_hashes(record, from, to)) continue;
        if (record->lsn < found->cut && !(has_program(salvage, from) && has_program(salvage, to)))
            found->cut = record->lsn;
        found->hashed = true;
        memcpy(found->hash, record->lsn < found->cut ? to : from, sizeof found->hash);
        if (record->lsn >= found->cut) return;
    }
    if (!found->hashed && found->moved >= found->cut) found->program = 0;
}

/* Takes the run's own program if the row's sum is right; else a substitute. */
static bool take_program(Salvage *salvage, const Found *found, TfyHistory *history, bool *missing)
{
    sqlite3_stmt *row = NULL;
    TfyStoreProgram program;
    bool fine;
    *missing = !find_program(salvage, found->program, found->hashed ? found->hash : NULL, &row, &program);
    if (*missing) {
        memset(history->program_hash, 0, 16);
        fine = copy_program(history, "", "", "{}");
    } else {
        memcpy(history->program_hash, program.hash, 16);
        fine = copy_program(history, program.tfyc, program.source, program.layout);
    }
    sqlite3_finalize(row);
    return fine;
}

/* Takes the run's earlier programs. */
static int take_moves(Salvage *salvage, TfyHistory *history, char *error_text)
{
    int code = 0;
    for (uint32_t i = 0; !code && i < history->record_count; i++) {
        uint8_t from[16], to[16];
        sqlite3_stmt *row = NULL;
        TfyStoreProgram program;
        if (!tfy__record_is_move(&history->records[i])) continue;
        if (!tfy__move_hashes(&history->records[i], from, to) || !find_program(salvage, 0, from, &row, &program))
            code = tfy__log_refuse(error_text, TFY_E_DATA, "its move in record %lld names no earlier program",
                                   (long long)history->records[i].lsn);
        else
            code = tfy__history_add_move(history, i, &program);
        sqlite3_finalize(row);
    }
    return code;
}

/* Builds a history from the kept records of a run. Payloads still belong to the salvage. */
static bool fill_history(Salvage *salvage, uint32_t run, TfyHistory *history, TfySalvagedRun *report)
{
    const Found *found = &salvage->runs[run];
    uint32_t *places = malloc((salvage->task_count + 1) * sizeof *places);
    history->run = found->run;
    history->tasks = calloc(salvage->task_count + 1, sizeof *history->tasks);
    history->records = malloc((salvage->count + 1) * sizeof *history->records);
    history->record_tasks = malloc((salvage->count + 1) * sizeof *history->record_tasks);
    history->gaps = malloc((salvage->gap_count + 1) * sizeof *history->gaps);
    const bool fine = places && history->tasks && history->records && history->record_tasks && history->gaps;
    report->lost = 0;
    for (size_t i = 0; fine && i < salvage->task_count; i++) {
        const Task *task = &salvage->tasks[i];
        places[i] = NOBODY;
        if (task->run != run || task->born >= found->cut) continue;
        places[i] = history->task_count;
        /* Nobody can have seen the number of a task without a record: any ascending number is fine. */
        const int64_t above = history->task_count ? history->tasks[history->task_count - 1].tid + 1 : task->tid;
        history->tasks[history->task_count++] = (TfyLogTask){.tid = task->tid > above ? task->tid : above,
                                                             .path = task->path,
                                                             .born = task->born,
                                                             .chain = tfy__chain_seed(found->run.uuid, task->path)};
    }
    for (size_t i = 0; fine && i < salvage->count; i++) {
        const uint32_t owner = salvage->owners[i];
        if (owner == NOBODY || salvage->tasks[owner].run != run) continue;
        if (salvage->records[i].lsn >= found->cut) {
            report->lost++;
            continue;
        }
        TfyLogTask *task = &history->tasks[places[owner]];
        const Gap *gap = find_gap(salvage, salvage->records[i].lsn);
        if (gap && gap->proved) history->gaps[history->gap_count++] = gap->row;
        history->record_tasks[history->record_count] = places[owner];
        history->records[history->record_count++] = salvage->records[i];
        task->chain = salvage->records[i].chain;
        task->state = salvage->records[i].type == TFY_R_TASK_EXIT    ? TFY_TASK_COMPLETED
                      : salvage->records[i].type == TFY_R_TASK_ABORT ? TFY_TASK_FAILED
                                                                     : task->state;
    }
    free(places);
    report->kept = history->record_count;
    return fine;
}

static void empty_history(TfyHistory *history)
{
    tfy__history_forget_moves(history);
    free(history->tasks);
    free(history->records);
    free(history->record_tasks);
    free(history->gaps);
    free(history->program_tfyc);
    free(history->program_source);
    free(history->program_layout);
    *history = (TfyHistory){0};
}

/* Finds the first snapshot behind all gaps that fits the records. False: the run cannot start at one. */
static bool find_base(TfyHistory *history)
{
    char why[TFY_ERROR_TEXT];
    const int64_t last = history->gap_count ? history->gaps[history->gap_count - 1].lsn : 0;
    for (uint32_t i = 0; last && i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->lsn < last || record->type != TFY_R_SNAPSHOT || history->record_tasks[i] != 0) continue;
        history->run.base_lsn = record->lsn;
        if (tfy__import_check_base(history, why) == 0) return true;
    }
    history->run.base_lsn = 0;
    return !last;
}

/* Collects all kept records of the run; if they do not suffice to start at a snapshot, those before the first gap. */
static bool gather(Salvage *salvage, uint32_t run, TfyHistory *history, TfySalvagedRun *report)
{
    ask_moves(salvage, run);
    if (!fill_history(salvage, run, history, report)) return false;
    if (find_base(history)) return true;
    salvage->runs[run].cut = history->gaps[0].lsn;
    empty_history(history);
    ask_moves(salvage, run);
    return fill_history(salvage, run, history, report);
}

static bool write_end(TfyBuffer *out, bool abort)
{
    static const char message[] = "records after this one were lost";
    tfy__put_begin(out);
    if (!abort) tfy__put_flag(out, TFY_P_OK, false);
    tfy__put(out, TFY_P_ERROR);
    tfy__error_write(out, "Salvaged", message, sizeof message - 1, -1);
    if (abort) tfy__put_int(out, TFY_P_LINE, 0);
    tfy__put_end(out);
    return !out->failed;
}

/* Two additional records end a run that lost something. Its chain continues in them, so they cannot pass for its
 * own. */
static bool end_history(TfyHistory *history, TfyLogRecord ends[2], TfyBuffer texts[2])
{
    if (!history->record_count || !write_end(&texts[0], true) || !write_end(&texts[1], false)) return false;
    const TfyLogRecord *last = &history->records[history->record_count - 1];
    TfyLogTask *root = &history->tasks[0];
    history->run.state = TFY_TASK_FAILED;
    history->run.ended_ms = last->ts_ms;
    for (int i = 0; i < 2; i++) {
        ends[i] = (TfyLogRecord){.lsn = last->lsn + 1 + i,
                                 .ts_ms = last->ts_ms,
                                 .v = TFY_RECORD_V,
                                 .type = i ? TFY_R_TASK_COMPLETE : TFY_R_TASK_ABORT,
                                 .payload = texts[i].data,
                                 .payload_len = (uint32_t)texts[i].len};
        ends[i].chain = root->chain = tfy__chain_next(root->chain, &ends[i]);
    }
    if (!RESIZE(history->records, history->record_count + 2) ||
        !RESIZE(history->record_tasks, history->record_count + 2))
        return false;
    for (int i = 0; i < 2; i++) {
        history->record_tasks[history->record_count] = 0;
        history->records[history->record_count++] = ends[i];
    }
    return true;
}

static int write_run(Salvage *salvage, TfyLog *log, uint32_t run, char *error_text)
{
    TfySalvagedRun *report = &salvage->result->runs[run];
    Found *found = &salvage->runs[run];
    TfyHistory history = {0};
    TfyLogRecord ends[2];
    TfyBuffer texts[2] = {{0}, {0}};
    tfy__uuid_text(found->run.uuid, report->uuid);
    bool fine = gather(salvage, run, &history, report);
    report->cut = found->cut != INT64_MAX;
    if (!found->ended || report->cut) history.run.state = TFY_TASK_READY;
    fine = fine && take_program(salvage, found, &history, &report->no_program);
    int code = fine ? take_moves(salvage, &history, error_text) : TFY_E_NOMEM;
    if (!code && report->cut && !end_history(&history, ends, texts)) code = TFY_E_NOMEM;
    if (!code) code = tfy__import_check(&history, error_text);
    if (!code) code = tfy__import_run(log, &history, &salvage->result->doubts, error_text);
    if (!code) code = tfy__log_sync(log);
    empty_history(&history);
    for (int i = 0; i < 2; i++) tfy__buffer_free(&texts[i]);
    return code;
}

/* Its records follow one another but do not form a valid run: nothing of it was written. */
static int leave_out(TfySalvagedRun *run, char *error_text)
{
    run->refused = strdup(error_text);
    *error_text = '\0';
    return run->refused ? 0 : TFY_E_NOMEM;
}

void tfy__salvaged_free(TfySalvaged *salvaged)
{
    for (uint32_t i = 0; i < salvaged->count; i++) free(salvaged->runs[i].refused);
    free(salvaged->runs);
    *salvaged = (TfySalvaged){0};
}

static int write_log(Salvage *salvage, const char *to, const char *version, char *error_text)
{
    TfyLog *log;
    salvage->result->runs = calloc(salvage->run_count + 1, sizeof *salvage->result->runs);
    if (!salvage->result->runs) return TFY_E_NOMEM;
    int code = tfy__log_open(&log, &(TfyLogOptions){.path = to, .no_thread = true}, error_text);
    if (code) return code;
    if (tfy__log_opened(log, version, "salvaged") < 0) code = TFY_E_IO;
    for (uint32_t i = 0; !code && i < salvage->run_count; i++) {
        code = write_run(salvage, log, i, error_text);
        if (code == TFY_E_DATA || code == TFY_E_STATE) code = leave_out(&salvage->result->runs[i], error_text);
        salvage->result->count += !code;
    }
    const int closed = tfy__log_close_saying(log, !code, error_text);
    return code ? code : closed;
}

/* Writes the runs one after the other, each in a transaction: a part of a run would look as sound as all of it. */
static int write_runs(Salvage *salvage, const char *to, const char *version, char *error_text)
{
    TfyWhole whole;
    if (!tfy__whole_open_database(&whole, to))
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be created (%s); check the directory", to,
                               strerror(errno));
    int code = write_log(salvage, whole.aside, version, error_text);
    if (!code && !tfy__whole_commit(&whole, TFY_WHOLE_NEW))
        code = tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be completed (%s)", to, strerror(errno));
    tfy__whole_abandon(&whole);
    return code;
}

static void free_salvage(Salvage *salvage)
{
    for (size_t i = 0; i < salvage->count; i++) free((char *)salvage->records[i].payload);
    for (size_t i = 0; i < salvage->task_count; i++) free(salvage->tasks[i].path);
    free(salvage->records);
    free(salvage->owners);
    free(salvage->tasks);
    free(salvage->runs);
    free(salvage->gaps);
    tfy__heads_clear(&salvage->by_tid);
    tfy__heads_clear(&salvage->by_spawn);
    sqlite3_close(salvage->from);
}

int tfy__salvage(const char *from, const char *to, const char *version, TfySalvaged *salvaged, char *error_text)
{
    Salvage salvage = {.result = salvaged};
    char path[TFY_PLACE_BYTES], target[TFY_PLACE_BYTES];
    *salvaged = (TfySalvaged){0};
    error_text[0] = '\0';
    int code = tfy__place_resolve(from, path, error_text);
    if (!code) code = tfy__place_check(path, error_text);
    if (!code) code = tfy__place_resolve(to, target, error_text);
    if (code) return code;
    if (access(path, R_OK) != 0) return tfy__log_refuse(error_text, TFY_E_ABSENT, "%s cannot be read", from);
    if ((code = tfy__place_is_free(target, error_text))) return code;
    code = sqlite3_open_v2(path, &salvage.from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ? TFY_E_IO : 0;
    if (!code) code = read_rows(&salvage);
    if (code == TFY_E_DATA)
        tfy__log_refuse(error_text, code, "nothing of %s can be read (%s); restore it from a copy", from,
                        sqlite3_errmsg(salvage.from));
    if (!code) code = read_gaps(&salvage);
    for (size_t i = 0; !code && i < salvage.count; i++) code = place_record(&salvage, i);
    if (!code) ask_tasks(&salvage);
    for (size_t i = 0; !code && i < salvage.run_count; i++) ask_row(&salvage, &salvage.runs[i]);
    if (!code) code = write_runs(&salvage, target, version, error_text);
    if (code && !error_text[0])
        tfy__log_refuse(error_text, code, code == TFY_E_NOMEM ? "no memory to read %s" : "%s could not be written", to);
    free_salvage(&salvage);
    return code;
}

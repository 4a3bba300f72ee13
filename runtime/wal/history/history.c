/* history.c: reads back a run, whole or from its newest snapshot on.
 *
 * A run's tasks are found by their rows, and each task's records by walking `prev` from its head (the row's, or the
 * tail's if that is newer) down to the start of its chain. Then the chain is computed forward again: every returned
 * record has been checked. A history shows only what is durable. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/grow.h"
#include "base/lower_bound.h"
#include "base/seldom.h"
#include "wal/log/log_state.h"
#include "wal/history/move.h"
#include "wal/history/shared.h"
#include "wal/log/root.h"
#include "wal/log/saved.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

typedef struct Found {
    TfyLogRecord record; /* payload owned */
    uint32_t task;       /* index into tasks */
    TfyStoreGap gap;     /* the gap before it; lsn 0: none */
} Found;

/* The end of the walk over a task's records, and the chain there. */
typedef struct Base {
    int64_t lsn;
    uint64_t chain;
} Base;

/* The state of one reading; of several runs, one after the other. */
typedef struct Reading {
    TfyLog *log;
    const char *name; /* of the run, as given */
    TfyHistory *history;
    uint32_t task_room;
    Base *bases; /* per task */
    uint32_t base_room;
    Found *found; /* records in the order of their discovery */
    size_t found_count, found_room;
    int64_t first_root;    /* the root's number when it was born */
    int64_t shift;         /* the shift found for the last task whose records had another origin */
    TfyHeads shared_heads; /* of the run's tasks, in a shared database */
    const TfyHeads *heads; /* those, or the log's */
    bool tail;             /* from the newest snapshot on, if there is one */
    bool whole;            /* with the rows that it saved */
    char *root_text;       /* the root that a record named last, as it is in there, owned; NULL: none did … */
    TfyRoot root;          /* … and what it says */
    char *error_text;
} Reading;

static const char *name_of(const TfyLog *log)
{
    return log->path ? log->path : log->shared ? "the database" : "the log";
}

TFY_SELDOM static int refuse(Reading *reading, int code, const char *what, int64_t id, const char *how)
{
    return tfy__log_refuse(reading->error_text, code, "%s is damaged: %s %" PRId64 " %s; restore it from a copy",
                           name_of(reading->log), what, id, how);
}

static int no_memory(Reading *reading)
{
    return tfy__log_refuse(reading->error_text, TFY_E_NOMEM, "no memory to read the run");
}

TFY_SELDOM static int refuse_store(Reading *reading, int code)
{
    TfyLog *log = reading->log;
    return tfy__log_refuse(reading->error_text, code, "%s cannot be read (%s)", name_of(log),
                           code == TFY_E_ABSENT ? "a row is missing" : log->store->error);
}

/* ---- finding a run ---- */

typedef struct Search {
    const char *text; /* as given */
    size_t len;
    TfyLogRun run; /* the one that matches */
    int matches;
} Search;

static int match_run(void *state, const TfyLogRun *run)
{
    Search *search = state;
    char text[37];
    tfy__uuid_text(run->uuid, text);
    if (strncasecmp(text, search->text, search->len) != 0) return 0;
    search->run = *run;
    search->matches++;
    return 0;
}

/* A number is a row id. Ids will start with 0 for thousands of years, so the two cannot be confused. */
static int64_t row_id(TfyLog *log, const char *text)
{
    int64_t run = 0, program, tid;
    if (strcmp(text, "last") == 0) {
        if (TFY_STORE(log->store, TFY_CALL_READ, last_ids, &run, &program, &tid) != 0) return 0;
        return run;
    }
    for (const char *at = text; *at; at++) {
        if (!isdigit((unsigned char)*at) || at - text > 15) return 0;
    }
    return text[0] == '0' ? 0 : strtoll(text, NULL, 10);
}

static int find_run(Reading *reading)
{
    TfyLog *log = reading->log;
    const char *text = reading->name;
    const char *path = name_of(log);
    const int64_t id = row_id(log, text);
    int code = id > 0 ? TFY_STORE(log->store, TFY_CALL_READ, get_run, id, &reading->history->run) : TFY_E_ABSENT;
    if (!code) return 0;
    if (code != TFY_E_ABSENT) return refuse_store(reading, code);
    if (strcmp(text, "last") == 0)
        return tfy__log_refuse(reading->error_text, TFY_E_ABSENT, "%s has no runs yet", path);
    Search search = {.text = text, .len = strlen(text)};
    uint8_t uuid[16];
    if (tfy__uuid_read(text, uuid)) { /* a whole one is found by its index, the start of one by all runs */
        code = TFY_STORE(log->store, TFY_CALL_READ, find_run, uuid, &search.run);
        search.matches = code == 0;
    } else if (search.len >= 4)
        code = TFY_STORE(log->store, TFY_CALL_READ, see_runs, false, match_run, &search);
    if (code && code != TFY_E_ABSENT) return refuse_store(reading, code);
    if (search.matches == 1) {
        reading->history->run = search.run;
        return 0;
    }
    if (search.matches > 1) {
        return tfy__log_refuse(reading->error_text, TFY_E_INVALID, "%d runs of %s start with '%s'; give more of it",
                               search.matches, path, text);
    }
    return tfy__log_refuse(reading->error_text, TFY_E_ABSENT, "%s has no run '%.60s'; 'tfy ps' lists its runs", path,
                           text);
}

/* ---- tasks ---- */

static int take_task(void *state, const TfyStoreTask *row)
{
    Reading *reading = state;
    TfyHistory *history = reading->history;
    if (!GROW(history->tasks, reading->task_room, history->task_count + 1, 16) ||
        !GROW(reading->bases, reading->base_room, history->task_count + 1, 16))
        return no_memory(reading);
    const bool whole = row->base == (strchr(row->path, '.') ? row->born : 0);
    if (whole && tfy__chain_seed(history->run.uuid, row->path) != row->base_chain)
        return refuse(reading, TFY_E_DATA, "task", row->tid, "was changed");
    char *path = strdup(row->path);
    if (!path) return no_memory(reading);
    const uint32_t index = history->task_count++;
    reading->bases[index] = (Base){row->base, row->base_chain};
    history->tasks[index] = (TfyLogTask){.tid = row->tid,
                                         .run = &history->run,
                                         .path = path,
                                         .born = row->born,
                                         .head = row->head,
                                         .chain = row->chain,
                                         .step = row->step,
                                         .state = (int)row->state,
                                         .wait = (int)row->wait};
    const TfyHead *head = tfy__heads_find(reading->heads, row->tid);
    if (head && head->lsn > row->head) {
        history->tasks[index].head = head->lsn;
        history->tasks[index].chain = head->chain;
        if (head->step > row->step) history->tasks[index].step = head->step;
    }
    return 0;
}

/* In a file the log knows the heads of all tasks; in a shared database they follow from the run's own records. */
static int find_heads(Reading *reading)
{
    TfyHeads *heads = &reading->shared_heads;
    if (!reading->log->shared) return 0;
    reading->heads = heads;
    const int code = tfy__shared_heads(reading->log, &reading->history->run, heads);
    if (code == TFY_E_NOMEM) return no_memory(reading);
    if (code == TFY_E_DATA) return refuse(reading, TFY_E_DATA, "record", heads->upto + 1, "is missing");
    return code ? refuse_store(reading, code) : 0;
}

/* ---- records ---- */

static int keep_record(Reading *reading, uint32_t task, const TfyLogRecord *record)
{
    if (!GROW(reading->found, reading->found_room, reading->found_count + 1, 256)) return no_memory(reading);
    char *payload = malloc((size_t)record->payload_len + 1);
    if (!payload) return no_memory(reading);
    memcpy(payload, record->payload, record->payload_len);
    payload[record->payload_len] = '\0';
    Found *place = &reading->found[reading->found_count++];
    *place = (Found){.record = *record, .task = task};
    place->record.payload = payload;
    return 0;
}

/* Finds the record with this lsn, which must be the task's and below `above`. Its payload belongs to the store. */
static int get_own(Reading *reading, const TfyLogTask *task, int64_t lsn, int64_t above, TfyLogRecord *record)
{
    TfyStore *store = reading->log->store;
    int code = lsn < above && lsn > 0
                   ? TFY_STORE(store, TFY_CALL_READ, get_record, reading->history->run.id, lsn, record)
                   : TFY_E_ABSENT;
    if (code == TFY_E_ABSENT) return refuse(reading, TFY_E_DATA, "record", lsn, "is missing");
    if (code) return refuse_store(reading, code);
    if (record->tid != task->tid) return refuse(reading, TFY_E_DATA, "record", lsn, "is not of its task");
    return 0;
}

static int check_chain(Reading *reading, uint32_t index, size_t first, size_t end);

/* Finds the next record below the last kept one. In a compacted run it may be beyond a gap. */
static int step_down(Reading *reading, const TfyLogRecord *record, int64_t *lsn)
{
    Found *found = &reading->found[reading->found_count - 1];
    TfyStoreGap gap;
    *lsn = record->prev;
    if (record->lsn > reading->history->run.base_lsn) return 0;
    const int code =
        TFY_STORE(reading->log->store, TFY_CALL_READ, get_gap, reading->history->run.id, record->lsn, &gap);
    if (code) return code == TFY_E_ABSENT ? 0 : refuse_store(reading, code);
    *lsn = gap.below;
    found->gap = gap;
    return 0;
}

/* Walks down from the head; each step must lead to a smaller lsn of the same task, so damage cannot make it
 * endless. */
static int walk_task(Reading *reading, uint32_t index)
{
    const TfyLogTask *task = &reading->history->tasks[index];
    const size_t first = reading->found_count;
    for (int64_t lsn = task->head, above = INT64_MAX; lsn != reading->bases[index].lsn;) {
        TfyLogRecord record;
        int code = get_own(reading, task, lsn, above, &record);
        if (!code) code = keep_record(reading, index, &record);
        above = lsn;
        if (!code) code = step_down(reading, &record, &lsn);
        if (code) return code;
    }
    return check_chain(reading, index, first, reading->found_count);
}

/* A task's records, those found from `first` to `end`, newest first, must follow from its base and end at its head. */
static int check_chain(Reading *reading, uint32_t index, size_t first, size_t end)
{
    const TfyLogTask *task = &reading->history->tasks[index];
    uint64_t chain = reading->bases[index].chain;
    for (size_t i = end; i > first; i--) {
        const Found *found = &reading->found[i - 1];
        const TfyLogRecord *record = &found->record;
        chain = tfy__chain_next(found->gap.lsn ? found->gap.chain : chain, record);
        if (chain != record->chain)
            return refuse(reading, TFY_E_DATA, "record", record->lsn, "was changed since it was written");
    }
    return chain == task->chain ? 0 : refuse(reading, TFY_E_DATA, "task", task->tid, "does not fit its newest record");
}

static int by_lsn(const void *left, const void *right)
{
    const int64_t a = ((const Found *)left)->record.lsn, b = ((const Found *)right)->record.lsn;
    return (a > b) - (a < b);
}

static int take_gaps(Reading *reading)
{
    TfyHistory *history = reading->history;
    uint32_t count = 0;
    for (size_t i = 0; i < reading->found_count; i++) count += reading->found[i].gap.lsn != 0;
    if (!count) return 0;
    history->gaps = malloc(count * sizeof *history->gaps);
    if (!history->gaps) return no_memory(reading);
    for (size_t i = 0; i < reading->found_count; i++)
        if (reading->found[i].gap.lsn) history->gaps[history->gap_count++] = reading->found[i].gap;
    return 0;
}

static int order_records(Reading *reading)
{
    TfyHistory *history = reading->history;
    const size_t count = reading->found_count;
    if (count) qsort(reading->found, count, sizeof *reading->found, by_lsn);
    history->records = malloc((count + 1) * sizeof *history->records);
    history->record_tasks = malloc((count + 1) * sizeof *history->record_tasks);
    if (!history->records || !history->record_tasks || take_gaps(reading) != 0) return no_memory(reading);
    for (size_t i = 0; i < count; i++) {
        history->records[i] = reading->found[i].record;
        history->record_tasks[i] = reading->found[i].task;
    }
    history->record_count = (uint32_t)count;
    reading->found_count = 0; /* the history owns the payloads now */
    return 0;
}

/* ---- states of tasks, from their records ---- */

static const TfyLogRecord *record_at(const TfyHistory *history, int64_t lsn, uint32_t *index)
{
    *index = (uint32_t)LOWER_BOUND(history->records, history->record_count, lsn, lsn);
    const bool found = *index < history->record_count && history->records[*index].lsn == lsn;
    return found ? &history->records[*index] : NULL;
}

/* Every task was born by a record of this history, and every such record has its task: none was lost or added. */
static int name_tasks(Reading *reading)
{
    TfyHistory *history = reading->history;
    uint32_t births = 0, place;
    for (uint32_t i = 0; i < history->record_count; i++) births += tfy__record_spawns(&history->records[i]);
    history->task_workflows = calloc(history->task_count, sizeof *history->task_workflows);
    if (!history->task_workflows) return no_memory(reading);
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        const TfyLogRecord *birth = record_at(history, task->born, &place);
        const int type = task->tid == history->run.root ? TFY_R_INSTRUCTION_START : TFY_R_TASK_SPAWN;
        if (!birth || birth->type != type) return refuse(reading, TFY_E_DATA, "task", task->tid, "has no beginning");
        history->task_workflows[i] = tfy__record_workflow(birth);
        if (!history->task_workflows[i]) return no_memory(reading);
        if (task->tid == history->run.root) history->workflow = history->task_workflows[i];
    }
    if (history->workflow && births + 1 == history->task_count) return 0;
    return refuse(reading, TFY_E_DATA, "run", history->run.id, "lacks a task");
}

/* A task row is as old as the last mark; the records are newer. */
static void refresh_states(TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        TfyLogTask *task = &history->tasks[history->record_tasks[i]];
        const int end = tfy__record_end(record);
        if (end) task->state = record->type == TFY_R_TASK_COMPLETE ? history->run.state : end;
    }
}

/* ---- from a snapshot ---- */

static int load_snapshot(Reading *reading, const TfyLogRecord *record)
{
    TfyHistory *history = reading->history;
    TfyPayload payload;
    if (!tfy__payload_open(&payload, record))
        return refuse(reading, TFY_E_DATA, "record", record->lsn, "cannot be read");
    history->snapshot = payload.json;
    history->snapshot_bytes = record->payload_len;
    history->snapshot_lsn = record->lsn;
    history->snapshot_ms = record->ts_ms;
    return 0;
}

/* Moves are known: the first one after the snapshot led away from the program that wrote it. */
static int note_layout(Reading *reading)
{
    TfyHistory *history = reading->history;
    uint32_t behind = 0, next = 0;
    while (behind < history->record_count && history->records[behind].lsn < history->snapshot_lsn) behind++;
    while (next < history->move_count && history->moves[next].index < behind) next++;
    const char *layout = next < history->move_count ? history->moves[next].layout : history->program_layout;
    history->snapshot_layout = strdup(layout);
    return history->snapshot_layout ? 0 : no_memory(reading);
}

/* Loads the snapshot at which a compacted run starts, for a history that was read whole. */
static int load_base(Reading *reading)
{
    const TfyHistory *history = reading->history;
    uint32_t index;
    const TfyLogRecord *record = record_at(history, history->run.base_lsn, &index);
    if (!record || record->type != TFY_R_SNAPSHOT ||
        history->tasks[history->record_tasks[index]].tid != history->run.root)
        return refuse(reading, TFY_E_DATA, "record", history->run.base_lsn,
                      "is not the snapshot at which its run starts");
    const int code = load_snapshot(reading, record);
    return code ? code : note_layout(reading);
}

/* The chain value that the snapshot continues. The snapshot at which a compacted run starts may be behind a gap. */
static int chain_before(Reading *reading, const TfyLogRecord *snapshot, uint64_t *chain)
{
    TfyLogRecord before;
    TfyStoreGap gap = {.chain = reading->bases[0].chain};
    int code =
        snapshot->lsn == reading->history->run.base_lsn
            ? TFY_STORE(reading->log->store, TFY_CALL_READ, get_gap, reading->history->run.id, snapshot->lsn, &gap)
            : TFY_E_ABSENT;
    *chain = gap.chain;
    if (code != TFY_E_ABSENT) return code ? refuse_store(reading, code) : 0;
    if (snapshot->prev == reading->bases[0].lsn) return 0;
    code = get_own(reading, &reading->history->tasks[0], snapshot->prev, snapshot->lsn, &before);
    if (!code) *chain = before.chain;
    return code;
}

/* The newest kept record is the snapshot: it becomes the base of the root's walk. Its own link in the chain proves
 * that it is as written. */
static int take_snapshot(Reading *reading)
{
    const TfyLogRecord *snapshot = &reading->found[reading->found_count - 1].record;
    uint64_t chain;
    int code = chain_before(reading, snapshot, &chain);
    if (!code && tfy__chain_next(chain, snapshot) != snapshot->chain)
        code = refuse(reading, TFY_E_DATA, "record", snapshot->lsn, "was changed since it was written");
    if (!code) code = load_snapshot(reading, snapshot);
    if (code) return code;
    reading->bases[0] = (Base){snapshot->lsn, snapshot->chain};
    free((char *)snapshot->payload);
    reading->found_count--;
    return 0;
}

/* Reads the root and its records after the newest snapshot, which is in its chain. TFY_E_ABSENT: the run has no such
 * root, and nothing was read; or no snapshot, and all of the root's records were read. */
static int read_root_tail(Reading *reading)
{
    TfyHistory *history = reading->history;
    TfyStoreTask row;
    int code = TFY_STORE(reading->log->store, TFY_CALL_READ, get_task, history->run.id, history->run.root, &row);
    if (!code && row.run != history->run.id) code = TFY_E_ABSENT;
    if (!code) code = take_task(reading, &row);
    for (int64_t lsn = code ? 0 : history->tasks[0].head, above = INT64_MAX; !code && lsn != reading->bases[0].lsn;) {
        TfyLogRecord record;
        if ((code = get_own(reading, &history->tasks[0], lsn, above, &record))) return code;
        if ((code = keep_record(reading, 0, &record))) return code;
        /* An imported one has the numbers of another database. One from before a move is not the state that the new
         * program would have reached; but the one at which the run starts is used all the same, as the move was
         * allowed. */
        const bool own = record.lsn > history->run.imported && record.lsn > history->run.moved_lsn;
        if (record.type == TFY_R_SNAPSHOT && (own || record.lsn == history->run.base_lsn)) {
            code = take_snapshot(reading);
            return code ? code : check_chain(reading, 0, 0, reading->found_count);
        }
        above = lsn;
        lsn = record.prev;
    }
    return code ? code : TFY_E_ABSENT;
}

/* Walks down to the record at which the task's chain had a certain value: numbers change when a run moves to another
 * database, chains do not. */
static int walk_to_chain(Reading *reading, uint32_t index, uint64_t chain)
{
    const TfyLogTask *task = &reading->history->tasks[index];
    const size_t first = reading->found_count;
    int64_t lsn = task->head;
    for (int64_t above = INT64_MAX; lsn != reading->bases[index].lsn;) {
        TfyLogRecord record;
        int code = get_own(reading, task, lsn, above, &record);
        if (code) return code;
        if (record.chain == chain) break;
        if ((code = keep_record(reading, index, &record))) return code;
        above = lsn;
        lsn = record.prev;
    }
    if (lsn == reading->bases[index].lsn && reading->bases[index].chain != chain)
        return refuse(reading, TFY_E_DATA, "task", task->tid, "does not fit its snapshot");
    reading->bases[index] = (Base){lsn, chain};
    return check_chain(reading, index, first, reading->found_count);
}

/* Reads a task that the snapshot lists: its chain continues from where it was then. */
static int read_task_tail(Reading *reading, const json_t *known)
{
    TfyHistory *history = reading->history;
    const int64_t tid = history->run.root + tfy__member_int(known, TFY_S_TASK);
    const char *chain = tfy__member_text(known, TFY_S_CHAIN);
    TfyStoreTask row;
    if (tid == history->run.root) return 0;
    int code = TFY_STORE(reading->log->store, TFY_CALL_READ, get_task, history->run.id, tid, &row);
    if (code && code != TFY_E_ABSENT) return refuse_store(reading, code);
    if (code || row.run != history->run.id || !chain) return refuse(reading, TFY_E_DATA, "task", tid, "is missing");
    if ((code = take_task(reading, &row))) return code;
    return walk_to_chain(reading, history->task_count - 1, strtoull(chain, NULL, 16));
}

typedef struct Birth {
    /* 0: no task */
    int64_t lsn, tid;
} Birth;

static int match_birth(void *state, const TfyStoreTask *row)
{
    Birth *birth = state;
    if (row->born == birth->lsn) birth->tid = row->tid;
    return 0;
}

/* Finds the task that a record started. A copied record (of a fork, of an import) has the number that its task had
 * elsewhere, in a run whose root had another number, too; later records have the task's own number. The row shows
 * which of the two it is. Records that were copied more than once have several origins, each with its own distance
 * between the numbers: it is looked up once for all consecutive ones. */
static int get_born(Reading *reading, const TfyLogRecord *record, TfyStoreTask *row)
{
    TfyStore *store = reading->log->store;
    const TfyLogRun *run = &reading->history->run;
    const int64_t recorded = tfy__record_int(record, TFY_P_TID),
                  numbers[] = {recorded, run->root + recorded - reading->first_root, recorded + reading->shift};
    for (int i = 0; i < 3; i++) {
        const int code = TFY_STORE(store, TFY_CALL_READ, get_task, run->id, numbers[i], row);
        if (!code && row->run == run->id && row->born == record->lsn) return 0;
        if (code && code != TFY_E_ABSENT) return refuse_store(reading, code);
    }
    Birth birth = {.lsn = record->lsn};
    int code = TFY_STORE(store, TFY_CALL_READ, see_tasks, run->id, match_birth, &birth);
    if (!code && !birth.tid) return refuse(reading, TFY_E_DATA, "task", recorded, "is missing");
    reading->shift = birth.tid - recorded;
    if (!code) code = TFY_STORE(store, TFY_CALL_READ, get_task, run->id, birth.tid, row);
    return code ? refuse_store(reading, code) : 0;
}

/* Reads tasks that were created since. Their records are found after those of their parents, so this list grows
 * during the loop. */
static int read_births(Reading *reading)
{
    for (size_t i = 0; i < reading->found_count; i++) {
        TfyStoreTask row;
        if (!tfy__record_spawns(&reading->found[i].record)) continue;
        int code = get_born(reading, &reading->found[i].record, &row);
        if (!code) code = take_task(reading, &row);
        if (!code) code = walk_task(reading, reading->history->task_count - 1);
        if (code) return code;
    }
    return 0;
}

static int by_tid(const void *left, const void *right, void *tasks)
{
    const int64_t a = ((const TfyLogTask *)tasks)[*(const uint32_t *)left].tid,
                  b = ((const TfyLogTask *)tasks)[*(const uint32_t *)right].tid;
    return (a > b) - (a < b);
}

/* Sorts tasks by their number, by which users of the history look them up. */
static int order_tasks(Reading *reading)
{
    TfyHistory *history = reading->history;
    const uint32_t count = history->task_count;
    uint32_t *order = malloc((count + 1) * sizeof *order), *place = malloc((count + 1) * sizeof *place);
    TfyLogTask *tasks = malloc((count + 1) * sizeof *tasks);
    const bool ok = order && place && tasks;
    for (uint32_t i = 0; ok && i < count; i++) order[i] = i;
    if (ok) qsort_r(order, count, sizeof *order, by_tid, history->tasks);
    for (uint32_t i = 0; ok && i < count; i++) {
        tasks[i] = history->tasks[order[i]];
        place[order[i]] = i;
    }
    for (size_t i = 0; ok && i < reading->found_count; i++) reading->found[i].task = place[reading->found[i].task];
    if (ok) memcpy(history->tasks, tasks, count * sizeof *tasks);
    free(order);
    free(place);
    free(tasks);
    return ok ? 0 : no_memory(reading);
}

/* Runs that are read one after the other work in one root as a rule, which is read once. */
static int root_of(Reading *reading, const TfyLogRecord *record, TfyRoot *root)
{
    size_t len = 0;
    const char *raw = tfy__record_raw(record, TFY_P_ROOT, &len);
    *root = (TfyRoot){0};
    if (!raw) return 0;
    if (!reading->root_text || strlen(reading->root_text) != len || memcmp(reading->root_text, raw, len) != 0) {
        tfy__root_free(&reading->root);
        free(reading->root_text);
        reading->root_text = NULL;
        const int code = tfy__root_of_record(record, &reading->root);
        if (code) return code;
        if (!(reading->root_text = strndup(raw, len))) return TFY_E_NOMEM;
    }
    *root = reading->root;
    if (root->path && !(root->path = strdup(root->path))) return TFY_E_NOMEM;
    return 0;
}

/* The root's first record: its workflow names the run, and births are counted from the number that the root had
 * then. */
static int read_root_birth(Reading *reading)
{
    TfyHistory *history = reading->history;
    TfyLogRecord birth;
    const int code =
        TFY_STORE(reading->log->store, TFY_CALL_READ, get_record, history->run.id, history->tasks[0].born, &birth);
    if (code && code != TFY_E_ABSENT) return refuse_store(reading, code);
    if (code || birth.type != TFY_R_INSTRUCTION_START)
        return refuse(reading, TFY_E_DATA, "task", history->run.root, "has no beginning");
    reading->first_root = tfy__record_int(&birth, TFY_P_TID);
    history->workflow = tfy__record_workflow(&birth);
    if (!history->workflow || root_of(reading, &birth, &history->root) == TFY_E_NOMEM) return no_memory(reading);
    return 0;
}

/* Finds where the run works: the newest record of the root's chain that names a root decides. For a tail, the first
 * record has already been read. */
static int note_root(Reading *reading)
{
    TfyHistory *history = reading->history;
    TfyRoot newest = {0};
    int code = 0;
    for (uint32_t i = history->record_count; !code && !newest.path && i > 0; i--) {
        const TfyLogRecord *record = &history->records[i - 1];
        const bool tells =
            record->type == TFY_R_MOVED || record->type == TFY_R_SNAPSHOT || record->type == TFY_R_INSTRUCTION_START;
        if (tells) code = root_of(reading, record, &newest);
    }
    if (!code && !newest.path) code = tfy__root_of_json(tfy__member_get(history->snapshot, TFY_S_ROOT), &newest);
    if (newest.path) {
        tfy__root_free(&history->root);
        history->root = newest;
    }
    return code == TFY_E_NOMEM ? no_memory(reading) : 0;
}

/* Reads the run's earlier programs. */
static int take_moves(Reading *reading)
{
    TfyHistory *history = reading->history;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        TfyStoreProgram program;
        uint8_t from[16], to[16];
        if (!tfy__record_is_move(record)) continue;
        int code = tfy__move_hashes(record, from, to)
                       ? TFY_STORE(reading->log->store, TFY_CALL_READ, get_program, 0, from, &program)
                       : TFY_E_ABSENT;
        if (code == TFY_E_ABSENT)
            return refuse(reading, TFY_E_DATA, "record", record->lsn, "names a program that is missing");
        if (code) return refuse_store(reading, code);
        if (tfy__history_add_move(history, i, &program) != 0) return no_memory(reading);
    }
    return 0;
}

/* TFY_E_ABSENT: the run has no snapshot, and at most the root's records were read. */
static int read_tail(Reading *reading)
{
    TfyHistory *history = reading->history;
    int code = read_root_tail(reading);
    if (code == TFY_E_ABSENT) {
        while (history->task_count) free(history->tasks[--history->task_count].path);
        return code;
    }
    if (!code) code = read_root_birth(reading);
    const json_t *tasks = tfy__member_get(history->snapshot, TFY_S_TASKS);
    for (size_t i = 0; !code && i < json_array_size(tasks); i++)
        code = read_task_tail(reading, json_array_get(tasks, i));
    if (!code) code = read_births(reading);
    if (!code) code = order_tasks(reading);
    if (!code) code = order_records(reading);
    if (!code) refresh_states(history);
    if (!code && history->run.moved_lsn > history->snapshot_lsn) code = take_moves(reading);
    if (!code) code = note_root(reading);
    return code ? code : note_layout(reading);
}

/* Reads the records of all tasks, which the store walks through fastest from the newest task on. The root's may have
 * been read in search of a snapshot. */
static int walk_tasks(Reading *reading)
{
    const TfyHistory *history = reading->history;
    const size_t roots = reading->found_count;
    int code = 0;
    for (uint32_t i = history->task_count; !code && i-- > 0;) {
        const bool was_read = roots && history->tasks[i].tid == history->run.root;
        for (size_t at = 0; was_read && at < roots; at++) reading->found[at].task = i;
        code = was_read ? check_chain(reading, i, 0, roots) : walk_task(reading, i);
    }
    return code;
}

static int take_program(Reading *reading)
{
    TfyHistory *history = reading->history;
    TfyStoreProgram program;
    const int code = TFY_STORE(reading->log->store, TFY_CALL_READ, get_program, history->run.program, NULL, &program);
    if (code) return refuse_store(reading, code);
    memcpy(history->program_hash, program.hash, 16);
    history->program_source = strdup(program.source);
    history->program_layout = strdup(program.layout);
    history->program_tfyc = strdup(program.tfyc);
    return history->program_source && history->program_layout && history->program_tfyc ? 0 : no_memory(reading);
}

static int take_saved(Reading *reading)
{
    char uuid[37];
    tfy__uuid_text(reading->history->run.uuid, uuid);
    const int code = tfy__saved_take(reading->log->store, uuid, &reading->history->saved);
    return code ? refuse_store(reading, code) : 0;
}

static int read_rows(Reading *reading)
{
    TfyHistory *history = reading->history;
    int code = take_program(reading);
    if (!code) code = find_heads(reading);
    if (code) return code;
    if (reading->tail && (code = read_tail(reading)) != TFY_E_ABSENT) return code;
    code = TFY_STORE(reading->log->store, TFY_CALL_READ, see_tasks, history->run.id, take_task, reading);
    if (code) return reading->error_text && reading->error_text[0] ? code : refuse_store(reading, code);
    code = walk_tasks(reading);
    if (!code) code = order_records(reading);
    if (!code) code = name_tasks(reading);
    if (!code) refresh_states(history);
    if (!code && history->run.moved_lsn) code = take_moves(reading);
    if (!code && history->run.base_lsn) code = load_base(reading);
    if (!code) code = note_root(reading);
    if (!code && reading->whole) code = take_saved(reading);
    return code;
}

/* Reads the run whose row is known. */
static int read_found(Reading *reading)
{
    const int code = read_rows(reading);
    /* Whoever only reads sees the numbers that records have. */
    if (!code && reading->log->shared && reading->log->session) tfy__shared_give_slot(reading->log, reading->history);
    return code;
}

/* In a shared database there is no tail of all runs to read. */
static int read_upto_now(Reading *reading)
{
    return reading->log->shared ? 0 : tfy__recover_tail(reading->log, reading->error_text);
}

static int read_run(Reading *reading)
{
    int code = read_upto_now(reading);
    if (!code) code = find_run(reading);
    return code ? code : read_found(reading);
}

static void free_reading(Reading *reading)
{
    for (size_t i = 0; i < reading->found_count; i++) free((char *)reading->found[i].record.payload);
    free(reading->found);
    free(reading->bases);
    tfy__heads_clear(&reading->shared_heads);
    free(reading->root_text);
    tfy__root_free(&reading->root);
}

enum { VIEWS_MOST = 3 }; /* that break before a run counts as unreadable */

/* The part of a run to read. */
typedef enum Extent { EXTENT_TAIL, EXTENT_RECORDS, EXTENT_WHOLE } Extent;

/* Reads about the run while nobody commits. */
static int in_one_view(Reading *reading, int (*read)(Reading *reading))
{
    TfyLog *log = reading->log;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (code) refuse_store(reading, code);
    if (!code) {
        code = read(reading);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    return code;
}

static int read_history(TfyLog *log, const char *run, Extent extent, TfyHistory **result, char *error_text)
{
    char text[TFY_ERROR_TEXT] = "";
    Reading reading = {.log = log,
                       .name = run,
                       .history = calloc(1, sizeof(TfyHistory)),
                       .heads = &log->heads,
                       .tail = extent == EXTENT_TAIL,
                       .whole = extent == EXTENT_WHOLE,
                       .error_text = text};
    *result = NULL;
    if (!reading.history) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to read the run");
    const int code = in_one_view(&reading, read_run);
    free_reading(&reading);
    if (code) {
        tfy__history_free(reading.history);
        return tfy__log_refuse(error_text, code, "%s", text);
    }
    *result = reading.history;
    return 0;
}

static int adapt(TfyHistory *history, char *error_text)
{
    const int code = history->move_count ? tfy__history_adapt(history, history->program_layout) : 0;
    if (!code) return 0;
    return tfy__log_refuse(error_text, code,
                           code == TFY_E_NOMEM ? "no memory to read the run" : "a program of the run is damaged");
}

static int read_adapted(TfyLog *log, const char *run, Extent extent, TfyHistory **result, char *error_text)
{
    int views = log->session ? VIEWS_MOST : 1, code;
    /* A view of a shared database breaks with its connection. */
    do code = read_history(log, run, extent, result, error_text);
    while (code == TFY_STORE_AWAY && --views);
    if (!code) code = adapt(*result, error_text);
    if (!code) return 0;
    tfy__history_free(*result);
    *result = NULL;
    return code;
}

int tfy__history_find(TfyLog *log, const char *run, TfyLogRun *found, char *error_text)
{
    char text[TFY_ERROR_TEXT] = "";
    TfyHistory history = {0};
    Reading reading = {.log = log, .name = run, .history = &history, .error_text = text};
    const int code = in_one_view(&reading, find_run);
    *found = history.run;
    return code ? tfy__log_refuse(error_text, code, "%s", text) : 0;
}

int tfy__history_read(TfyLog *log, const char *run, TfyHistory **result, char *error_text)
{
    return read_adapted(log, run, EXTENT_RECORDS, result, error_text);
}

int tfy__history_read_stored(TfyLog *log, const char *run, TfyHistory **result, char *error_text)
{
    return read_history(log, run, EXTENT_RECORDS, result, error_text);
}

int tfy__history_read_whole(TfyLog *log, const char *run, TfyHistory **result, char *error_text)
{
    return read_history(log, run, EXTENT_WHOLE, result, error_text);
}

int tfy__history_read_tail(TfyLog *log, const char *run, TfyHistory **result, char *error_text)
{
    return read_adapted(log, run, EXTENT_TAIL, result, error_text);
}

/* ---- many runs ---- */

typedef struct Several {
    Reading reading;
    const int64_t *ids;
    TfyHistory **histories;
    uint32_t count, done; /* with the one that is being read */
} Several;

static int read_next(Several *several)
{
    Reading *reading = &several->reading;
    TfyHistory *history = calloc(1, sizeof *history);
    if (!history) return no_memory(reading);
    several->histories[several->done] = reading->history = history;
    reading->task_room = 0;
    reading->first_root = reading->shift = 0;
    const int64_t id = several->ids[several->done++];
    const int code = TFY_STORE(reading->log->store, TFY_CALL_READ, get_run, id, &history->run);
    return code ? refuse_store(reading, code) : read_found(reading);
}

static int read_several(Reading *reading)
{
    Several *several = (Several *)reading; /* which is its first member */
    uint32_t records = 0;
    int code = read_upto_now(reading);
    while (!code && several->done < several->count && records < TFY_RECORDS_AT_ONCE) {
        code = read_next(several);
        records += reading->history ? reading->history->record_count : 0;
    }
    return code;
}

int tfy__history_read_tails(TfyLog *log, const int64_t *ids, uint32_t count, TfyHistory **histories, char *error_text)
{
    char text[TFY_ERROR_TEXT] = "";
    Several several = {.reading = {.log = log, .heads = &log->heads, .tail = true, .error_text = text},
                       .ids = ids,
                       .histories = histories,
                       .count = count};
    int code = in_one_view(&several.reading, read_several);
    free_reading(&several.reading);
    if (code) (void)tfy__log_refuse(error_text, code, "%s", text);
    for (uint32_t i = 0; i < several.done && !code; i++) code = adapt(histories[i], error_text);
    if (!code) return (int)several.done;
    while (several.done) tfy__history_free(histories[--several.done]);
    return code;
}

/* store_memory.c: the log's rows in plain memory, with the guarantees of the SQLite store except durability. For
 * tests, simulation and scheduler benches; nothing survives the process.
 *
 * A put copies its row at once. Commit moves a few counters, and rollback drops the rows above them. Rows that
 * replace an older one wait in `changes` until the commit, as copies of their own. */
#include "wal/store/memory_rows.h"
#include "wal/store/store.h"

#include <stdlib.h>
#include <string.h>

typedef struct TaskRow {
    TfyStoreTask row; /* path points at text */
    char *text;       /* owned */
} TaskRow;

typedef struct Change {
    size_t index;      /* of the replaced row */
    bool is_task;      /* otherwise a run */
    TfyStoreTask task; /* path is unused: a task keeps its path */
    TfyLogRun run;
} Change;

typedef struct MemoryStore {
    TfyStore base;          /* must be first */
    TfyMemoryRows records;  /* TfyLogRecord, payload owned; index is lsn - 1 */
    TfyMemoryRows tasks;    /* TaskRow, tid ascending */
    TfyMemoryRows runs;     /* TfyLogRun; index is id - 1 */
    TfyMemoryRows programs; /* TfyStoreProgram, strings owned; index is id - 1 */
    /* TfyStoreGap, lsn ascending: nothing deletes records from memory, but runs arrive with gaps. */
    TfyMemoryRows gaps;
    TfyMemoryRows marks;   /* TfyStoreMark, lsn ascending */
    TfyMemoryRows changes; /* Change, of this transaction */
    TfyStoreMeta meta, next_meta;
    bool meta_changed;
} MemoryStore;

static MemoryStore *inside(TfyStore *store)
{
    return (MemoryStore *)store;
}

/* ---- writing ---- */

static int begin(TfyStore *store, const TfyStoreHold *hold)
{
    return 0;
}

static int put_record(TfyStore *store, const TfyLogRecord *record)
{
    MemoryStore *self = inside(store);
    if (record->lsn != (int64_t)self->records.filled + 1) return TFY_E_DATA;
    char *payload = tfy__rows_copy(record->payload, record->payload_len);
    TfyLogRecord *place = payload ? tfy__rows_add(&self->records) : NULL;
    if (!place) {
        free(payload);
        return TFY_E_NOMEM;
    }
    *place = *record;
    place->payload = payload;
    return 0;
}

static int put_records(TfyStore *store, const TfyLogRecord *const *records, uint32_t count)
{
    int code = 0;
    for (uint32_t i = 0; !code && i < count; i++) code = put_record(store, records[i]);
    return code;
}

static int put_change(MemoryStore *self, const Change *change)
{
    Change *place = tfy__rows_add(&self->changes);
    if (!place) return TFY_E_NOMEM;
    *place = *change;
    return 0;
}

/* Index of a task's row among all filled ones; the count if there is none. */
static size_t find_task(const MemoryStore *self, int64_t tid)
{
    size_t low = 0, high = self->tasks.filled;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (((TaskRow *)tfy__rows_at(&self->tasks, middle))->row.tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->tasks.filled && ((TaskRow *)tfy__rows_at(&self->tasks, low))->row.tid == tid
               ? low
               : self->tasks.filled;
}

static int put_task(TfyStore *store, const TfyStoreTask *task, bool birth)
{
    MemoryStore *self = inside(store);
    if (!birth) {
        const size_t index = find_task(self, task->tid);
        if (index == self->tasks.filled) return TFY_E_DATA;
        return put_change(self, &(Change){.index = index, .is_task = true, .task = *task});
    }
    char *text = tfy__rows_copy(task->path, strlen(task->path));
    TaskRow *place = text ? tfy__rows_add(&self->tasks) : NULL;
    if (!place) {
        free(text);
        return TFY_E_NOMEM;
    }
    *place = (TaskRow){.row = *task, .text = text};
    place->row.path = text;
    return 0;
}

static int put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut put)
{
    MemoryStore *self = inside(store);
    if (put != TFY_RUN_BEGINS) return put_change(self, &(Change){.index = (size_t)run->id - 1, .run = *run});
    TfyLogRun *place = tfy__rows_add(&self->runs);
    if (!place) return TFY_E_NOMEM;
    *place = *run;
    return 0;
}

static void free_program(TfyStoreProgram *program)
{
    free((char *)program->tfyc);
    free((char *)program->source);
    free((char *)program->layout);
}

/* Saved tables in memory cannot be read, so their rows are not kept; the log knows their shape. */
static int put_table(TfyStore *store, const char *sql)
{
    return 0;
}

static int put_saved_row(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count)
{
    return 0;
}

static int see_columns(TfyStore *store, const char *table, TfyStoreSeeColumn *see, void *state)
{
    return TFY_E_ABSENT;
}

static int see_tables(TfyStore *store, TfyStoreSeeTable *see, void *state)
{
    return 0;
}

static int see_saved(TfyStore *store, const char *table, const char *run_uuid, TfyStoreSeeSaved *see, void *state)
{
    return 0;
}

static int put_program(TfyStore *store, const TfyStoreProgram *program)
{
    TfyStoreProgram copy = *program;
    copy.tfyc = tfy__rows_copy(program->tfyc, strlen(program->tfyc));
    copy.source = tfy__rows_copy(program->source, strlen(program->source));
    copy.layout = tfy__rows_copy(program->layout, strlen(program->layout));
    TfyStoreProgram *place = copy.tfyc && copy.source && copy.layout ? tfy__rows_add(&inside(store)->programs) : NULL;
    if (!place) {
        free_program(&copy);
        return TFY_E_NOMEM;
    }
    *place = copy;
    return 0;
}

static int put_gap(TfyStore *store, const TfyStoreGap *gap)
{
    TfyStoreGap *place = tfy__rows_add(&inside(store)->gaps);
    if (!place) return TFY_E_NOMEM;
    *place = *gap;
    return 0;
}

static int put_mark(TfyStore *store, const TfyStoreMark *mark)
{
    TfyStoreMark *place = tfy__rows_add(&inside(store)->marks);
    if (!place) return TFY_E_NOMEM;
    *place = *mark;
    return 0;
}

static int put_meta(TfyStore *store, const TfyStoreMeta *meta)
{
    inside(store)->next_meta = *meta;
    inside(store)->meta_changed = true;
    return 0;
}

static void apply(MemoryStore *self, const Change *change)
{
    if (change->is_task) {
        TaskRow *row = tfy__rows_at(&self->tasks, change->index);
        const TfyStoreTask born = row->row;
        row->row = change->task;
        row->row.path = row->text;
        row->row.base = born.base;
        row->row.base_chain = born.base_chain;
    } else {
        *(TfyLogRun *)tfy__rows_at(&self->runs, change->index) = change->run;
    }
}

static int commit(TfyStore *store)
{
    MemoryStore *self = inside(store);
    TfyMemoryRows *all[] = {&self->records, &self->tasks, &self->runs, &self->programs, &self->gaps, &self->marks};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) all[i]->count = all[i]->filled;
    for (size_t i = 0; i < self->changes.filled; i++) apply(self, tfy__rows_at(&self->changes, i));
    self->changes.filled = 0;
    if (self->meta_changed) self->meta = self->next_meta;
    self->meta_changed = false;
    return 0;
}

static void rollback(TfyStore *store)
{
    MemoryStore *self = inside(store);
    while (self->records.filled > self->records.count)
        free((char *)((TfyLogRecord *)tfy__rows_at(&self->records, --self->records.filled))->payload);
    while (self->tasks.filled > self->tasks.count)
        free(((TaskRow *)tfy__rows_at(&self->tasks, --self->tasks.filled))->text);
    while (self->programs.filled > self->programs.count)
        free_program(tfy__rows_at(&self->programs, --self->programs.filled));
    self->runs.filled = self->runs.count;
    self->gaps.filled = self->gaps.count;
    self->marks.filled = self->marks.count;
    self->changes.filled = 0;
    self->meta_changed = false;
}

static void place(TfyStore *store, TfyWalPlace *place)
{
    *place = (TfyWalPlace){0};
}

static int renew(TfyStore *store, bool all)
{
    return 0;
}

static bool checkpoint_due(TfyStore *store)
{
    return false;
}

static int checkpoint(TfyStore *store)
{
    return 0;
}

static bool move_all(TfyStore *store)
{
    return true;
}

/* ---- reading ---- */

static int look(TfyStore *store)
{
    return 0;
}

static void look_away(TfyStore *store)
{
}

static int get_meta(TfyStore *store, TfyStoreMeta *meta)
{
    *meta = inside(store)->meta;
    return 0;
}

static int get_mark(TfyStore *store, int64_t below, TfyStoreMark *mark)
{
    const TfyMemoryRows *marks = &inside(store)->marks;
    for (size_t i = marks->count; i > 0; i--) {
        *mark = *(TfyStoreMark *)tfy__rows_at(marks, i - 1);
        if (mark->lsn < below) return 0;
    }
    return TFY_E_ABSENT;
}

static int get_record(TfyStore *store, int64_t run, int64_t lsn, TfyLogRecord *record)
{
    const TfyMemoryRows *records = &inside(store)->records;
    if (lsn < 1 || (size_t)lsn > records->count) return TFY_E_ABSENT;
    *record = *(TfyLogRecord *)tfy__rows_at(records, (size_t)lsn - 1);
    return 0;
}

static int get_task(TfyStore *store, int64_t run, int64_t tid, TfyStoreTask *task)
{
    const size_t index = find_task(inside(store), tid);
    if (index >= inside(store)->tasks.count) return TFY_E_ABSENT;
    *task = ((TaskRow *)tfy__rows_at(&inside(store)->tasks, index))->row;
    return 0;
}

static int get_run(TfyStore *store, int64_t id, TfyLogRun *run)
{
    const TfyMemoryRows *runs = &inside(store)->runs;
    if (id < 1 || (size_t)id > runs->count) return TFY_E_ABSENT;
    *run = *(TfyLogRun *)tfy__rows_at(runs, (size_t)id - 1);
    return 0;
}

static int get_gap(TfyStore *store, int64_t run, int64_t lsn, TfyStoreGap *gap)
{
    const TfyMemoryRows *gaps = &inside(store)->gaps;
    for (size_t i = 0; i < gaps->count; i++) {
        *gap = *(TfyStoreGap *)tfy__rows_at(gaps, i);
        if (gap->lsn == lsn) return 0;
    }
    return TFY_E_ABSENT;
}

static int find_run(TfyStore *store, const uint8_t uuid[16], TfyLogRun *run)
{
    const TfyMemoryRows *runs = &inside(store)->runs;
    for (size_t i = 0; i < runs->count; i++) {
        *run = *(TfyLogRun *)tfy__rows_at(runs, i);
        if (memcmp(run->uuid, uuid, 16) == 0) return 0;
    }
    return TFY_E_ABSENT;
}

static int get_program(TfyStore *store, int64_t id, const uint8_t hash[16], TfyStoreProgram *program)
{
    const TfyMemoryRows *programs = &inside(store)->programs;
    for (size_t i = 0; i < programs->count; i++) {
        *program = *(TfyStoreProgram *)tfy__rows_at(programs, i);
        if (hash ? memcmp(program->hash, hash, 16) == 0 : program->id == id) return 0;
    }
    return TFY_E_ABSENT;
}

static int see_records(TfyStore *store, int64_t run, int64_t from, TfyStoreSeeRecord *see, void *state)
{
    const TfyMemoryRows *records = &inside(store)->records;
    int code = 0;
    for (size_t i = from < 1 ? 0 : (size_t)from - 1; !code && i < records->count; i++)
        code = see(state, tfy__rows_at(records, i));
    return code;
}

static int see_tasks(TfyStore *store, int64_t run, TfyStoreSeeTask *see, void *state)
{
    const TfyMemoryRows *tasks = &inside(store)->tasks;
    int code = 0;
    for (size_t i = 0; !code && i < tasks->count; i++) {
        const TaskRow *task = tfy__rows_at(tasks, i);
        if (task->row.run == run) code = see(state, &task->row);
    }
    return code;
}

static int see_runs(TfyStore *store, bool unfinished, TfyStoreSeeRun *see, void *state)
{
    const TfyMemoryRows *runs = &inside(store)->runs;
    int code = 0;
    for (size_t i = 0; !code && i < runs->count; i++) {
        const TfyLogRun *run = tfy__rows_at(runs, i);
        if (!unfinished || (run->state < TFY_TASK_COMPLETED && !run->parked_ms)) code = see(state, run);
    }
    return code;
}

/* Visits the runs of a program whose time is above `after`, up to `upto`, by time and then by id. */
static int see_by_time(TfyStore *store, int64_t program, int64_t (*time_of)(const TfyLogRun *run), int64_t after,
                       int64_t upto, TfyStoreSeeRun *see, void *state)
{
    const TfyMemoryRows *runs = &inside(store)->runs;
    int code = 0;
    /* A few at a time: the earliest of those that are later than the last one. */
    while (!code) {
        int64_t next = INT64_MAX;
        bool found = false;
        for (size_t i = 0; i < runs->count; i++) {
            const TfyLogRun *run = tfy__rows_at(runs, i);
            const int64_t time = time_of(run);
            if (run->program != program || time <= after || time > upto) continue;
            if (time <= next) next = time;
            found = true;
        }
        if (!found) break;
        after = next;
        for (size_t i = 0; !code && i < runs->count; i++) {
            const TfyLogRun *run = tfy__rows_at(runs, i);
            if (run->program == program && time_of(run) == next) code = see(state, run);
        }
    }
    return code;
}

static int64_t parked_ms(const TfyLogRun *run)
{
    return run->parked_ms;
}

static int64_t parked_at_ms(const TfyLogRun *run)
{
    return run->parked_at_ms;
}

static int see_parked(TfyStore *store, int64_t program, int64_t upto_ms, TfyStoreSeeRun *see, void *state)
{
    return see_by_time(store, program, parked_ms, 0, upto_ms, see, state);
}

static int see_ahead(TfyStore *store, int64_t program, int64_t after_ms, TfyStoreSeeRun *see, void *state)
{
    return see_by_time(store, program, parked_at_ms, after_ms, INT64_MAX, see, state);
}

static int see_marks(TfyStore *store, TfyStoreSeeMark *see, void *state)
{
    const TfyMemoryRows *marks = &inside(store)->marks;
    int code = 0;
    for (size_t i = 0; !code && i < marks->count; i++) code = see(state, tfy__rows_at(marks, i));
    return code;
}

static int last_ids(TfyStore *store, int64_t *run, int64_t *program, int64_t *tid)
{
    const MemoryStore *self = inside(store);
    *run = (int64_t)self->runs.count;
    *program = (int64_t)self->programs.count;
    *tid = self->tasks.count ? ((TaskRow *)tfy__rows_at(&self->tasks, self->tasks.count - 1))->row.tid : 0;
    return 0;
}

static void shrink(TfyStore *store)
{
    (void)store; /* its rows are all it has */
}

static void close_store(TfyStore *store, bool clean)
{
    MemoryStore *self = inside(store);
    self->records.count = self->tasks.count = self->programs.count = 0;
    rollback(store); /* frees the rows above the counts, which are all rows */
    TfyMemoryRows *all[] = {&self->records, &self->tasks, &self->runs,   &self->programs,
                            &self->gaps,    &self->marks, &self->changes};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]->items);
    free(self);
}

static const TfyStoreOps memory_ops = {
    .begin = begin,
    .put_records = put_records,
    .put_task = put_task,
    .put_run = put_run,
    .put_program = put_program,
    .put_gap = put_gap,
    .put_mark = put_mark,
    .put_meta = put_meta,
    .put_table = put_table,
    .put_row = put_saved_row,
    .commit = commit,
    .rollback = rollback,
    .place = place,
    .renew = renew,
    .checkpoint_due = checkpoint_due,
    .checkpoint = checkpoint,
    .move_all = move_all,
    .shrink = shrink,
    .look = look,
    .look_away = look_away,
    .get_meta = get_meta,
    .get_mark = get_mark,
    .get_record = get_record,
    .get_task = get_task,
    .get_run = get_run,
    .get_gap = get_gap,
    .find_run = find_run,
    .get_program = get_program,
    .see_records = see_records,
    .see_tasks = see_tasks,
    .see_runs = see_runs,
    .see_parked = see_parked,
    .see_ahead = see_ahead,
    .see_marks = see_marks,
    .see_columns = see_columns,
    .see_tables = see_tables,
    .see_saved = see_saved,
    .last_ids = last_ids,
    .close = close_store,
};

int tfy__store_open_memory(TfyStore **result)
{
    *result = NULL;
    MemoryStore *store = calloc(1, sizeof *store);
    if (!store) return TFY_E_NOMEM;
    store->base.ops = &memory_ops;
    store->records.item_size = sizeof(TfyLogRecord);
    store->tasks.item_size = sizeof(TaskRow);
    store->runs.item_size = sizeof(TfyLogRun);
    store->programs.item_size = sizeof(TfyStoreProgram);
    store->gaps.item_size = sizeof(TfyStoreGap);
    store->marks.item_size = sizeof(TfyStoreMark);
    store->changes.item_size = sizeof(Change);
    int code = tfy__store_found(&store->base);
    if (!code) code = commit(&store->base);
    if (code) {
        close_store(&store->base, false);
        return code;
    }
    *result = &store->base;
    return 0;
}

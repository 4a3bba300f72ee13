/* store_shared.c: see shared.h.
 *
 * A transaction arrives in two passes: the first one appends its rows behind the committed ones and checks whatever it
 * depends on; the second one, which cannot fail, makes them count and applies what replaces older rows. */
#include "base/check.h"
#include "wal/store/birth.h"
#include "wal/store/shared.h"

#include <stdio.h>

/* ---- what a transaction puts ---- */

typedef enum PutKind { PUT_RECORD, PUT_TASK, PUT_RUN, PUT_PROGRAM, PUT_GAP, PUT_LEAVING, PUT_VERDICT } PutKind;

typedef struct Put {
    PutKind kind;
    bool birth;    /* of a task */
    TfyRunPut how; /* of a run */
    union {
        TfyLogRecord record; /* payload owned */
        TfyStoreTask task;   /* path owned */
        TfyLogRun run;
        TfyStoreProgram program; /* strings owned */
        TfyStoreGap gap;
        TfyStoreLeaving leaving;
        TfyStoreVerdict verdict; /* text owned */
    };
} Put;

struct TfySharedRequest {
    TfyStoreHold hold;
    TfyMemoryRows puts; /* Put */
    TfySharedRequest *next;
};

typedef struct SharedStore {
    TfyStore base; /* must be first */
    TfyShared *shared;
    TfySharedRequest *request; /* of the transaction; NULL: none is open */
    TfyMemoryRows leaving;     /* TfyStoreLeaving of the last commit */
    TfyMemoryRows stayed;      /* … and those that stayed */
} SharedStore;

static SharedStore *inside(TfyStore *store)
{
    return (SharedStore *)store;
}

static void free_program(const TfyStoreProgram *program)
{
    free((char *)program->tfyc);
    free((char *)program->source);
    free((char *)program->layout);
}

static bool copy_program(TfyStoreProgram *copy, const TfyStoreProgram *program)
{
    *copy = *program;
    copy->tfyc = strdup(program->tfyc);
    copy->source = strdup(program->source);
    copy->layout = strdup(program->layout);
    return copy->tfyc && copy->source && copy->layout;
}

static void free_put(const Put *put)
{
    if (put->kind == PUT_RECORD) free((char *)put->record.payload);
    if (put->kind == PUT_TASK) free((char *)put->task.path);
    if (put->kind == PUT_PROGRAM) free_program(&put->program);
    if (put->kind == PUT_VERDICT) free((char *)put->verdict.text);
}

static void free_request(TfySharedRequest *request)
{
    if (!request) return;
    for (size_t i = 0; i < request->puts.filled; i++) free_put(tfy__rows_at(&request->puts, i));
    free(request->puts.items);
    free(request);
}

static int add_put(TfyStore *store, const Put *put)
{
    CHECK(inside(store)->request);
    Put *place = tfy__rows_add(&inside(store)->request->puts);
    if (!place) {
        free_put(put);
        return TFY_E_NOMEM;
    }
    *place = *put;
    return 0;
}

static int begin(TfyStore *store, const TfyStoreHold *hold)
{
    SharedStore *self = inside(store);
    CHECK(hold && hold->session > 0 && hold->commit > 0);
    CHECK(!self->request);
    if (!(self->request = calloc(1, sizeof *self->request))) return TFY_E_NOMEM;
    self->request->hold = *hold;
    self->request->puts.item_size = sizeof(Put);
    self->leaving.filled = self->stayed.filled = 0;
    store->stayed_count = 0;
    return 0;
}

static int put_records(TfyStore *store, const TfyLogRecord *const *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        Put put = {.kind = PUT_RECORD, .record = *records[i]};
        put.record.payload = tfy__rows_copy(records[i]->payload, records[i]->payload_len);
        const int code = put.record.payload ? add_put(store, &put) : TFY_E_NOMEM;
        if (code) return code;
    }
    return 0;
}

static int put_task(TfyStore *store, const TfyStoreTask *task, bool birth)
{
    Put put = {.kind = PUT_TASK, .birth = birth, .task = *task};
    put.task.path = birth ? strdup(task->path) : NULL;
    return birth && !put.task.path ? TFY_E_NOMEM : add_put(store, &put);
}

static int put_run(TfyStore *store, const TfyLogRun *run, TfyRunPut how)
{
    return add_put(store, &(Put){.kind = PUT_RUN, .how = how, .run = *run});
}

static int put_program(TfyStore *store, const TfyStoreProgram *program)
{
    Put put = {.kind = PUT_PROGRAM};
    if (copy_program(&put.program, program)) return add_put(store, &put);
    free_put(&put);
    return TFY_E_NOMEM;
}

static int put_gap(TfyStore *store, const TfyStoreGap *gap)
{
    return add_put(store, &(Put){.kind = PUT_GAP, .gap = *gap});
}

/* Saved tables in memory cannot be read, so their rows are not kept. */
static int put_table(TfyStore *store, const char *sql)
{
    return 0;
}

static int put_saved_row(TfyStore *store, const char *sql, const TfyCell *cells, uint32_t count)
{
    return 0;
}

static int put_leaving(TfyStore *store, const TfyStoreLeaving *leaving, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        TfyStoreLeaving *place = tfy__rows_add(&inside(store)->leaving);
        const int code = place ? add_put(store, &(Put){.kind = PUT_LEAVING, .leaving = leaving[i]}) : TFY_E_NOMEM;
        if (code) return code;
        *place = leaving[i];
    }
    return 0;
}

static int put_verdict(TfyStore *store, const TfyStoreVerdict *verdict)
{
    Put put = {.kind = PUT_VERDICT, .verdict = *verdict};
    put.verdict.text = strdup(verdict->text);
    return put.verdict.text ? add_put(store, &put) : TFY_E_NOMEM;
}

/* ---- arriving ---- */

static void rows_of(TfySharedRun *run, TfyMemoryRows *rows[3])
{
    rows[0] = &run->records;
    rows[1] = &run->tasks;
    rows[2] = &run->gaps;
}

static TfyStoreTask *find_task(const TfySharedRun *run, int64_t tid)
{
    for (size_t i = run->tasks.filled; i > 0; i--) {
        TfyStoreTask *task = tfy__rows_at(&run->tasks, i - 1);
        if (task->tid == tid) return task;
    }
    return NULL;
}

/* The run that a row belongs to, if the session owns it. */
static TfySharedRun *owned(TfyShared *shared, const TfyStoreHold *hold, int64_t id)
{
    TfySharedRun *run = tfy__shared_run(shared, id);
    if (!run || run->owner != hold->session) return NULL;
    run->touched = true;
    return run;
}

static int take_record(TfyShared *shared, const TfyStoreHold *hold, TfyLogRecord *record)
{
    TfySharedRun *run = owned(shared, hold, record->run);
    if (!run || record->lsn != (int64_t)run->records.filled + 1) return TFY_E_DATA;
    TfyLogRecord *place = tfy__rows_add(&run->records);
    if (!place) return TFY_E_NOMEM;
    *place = *record;
    record->payload = NULL;
    return 0;
}

static int take_task(TfyShared *shared, const TfyStoreHold *hold, TfyStoreTask *task, bool birth)
{
    TfySharedRun *run = owned(shared, hold, task->run);
    if (!run || birth == (find_task(run, task->tid) != NULL)) return TFY_E_DATA;
    if (!birth) return 0;
    TfyStoreTask *place = tfy__rows_add(&run->tasks);
    if (!place) return TFY_E_NOMEM;
    *place = *task;
    task->path = NULL;
    return 0;
}

static TfySharedRun *add_run(TfyShared *shared, const TfyLogRun *row)
{
    TfySharedRun *run = tfy__rows_add(&shared->runs);
    if (!run) return NULL;
    *run = (TfySharedRun){.row = *row};
    run->row.id = (int64_t)shared->runs.filled;
    run->records.item_size = sizeof(TfyLogRecord);
    run->tasks.item_size = sizeof(TfyStoreTask);
    run->gaps.item_size = sizeof(TfyStoreGap);
    run->mails.item_size = sizeof(TfyMail);
    return run;
}

/* A run that begins was submitted before, or is its owner's from the start. */
static int take_run(TfyShared *shared, const TfyStoreHold *hold, const TfyLogRun *row, TfyRunPut how)
{
    if (how != TFY_RUN_BEGINS || tfy__shared_run(shared, row->id)) return owned(shared, hold, row->id) ? 0 : TFY_E_DATA;
    TfySharedRun *run = add_run(shared, row);
    if (!run) return TFY_E_NOMEM;
    run->owner = hold->session;
    run->claims = row->claims + 1;
    run->touched = true;
    return run->row.id == row->id ? 0 : TFY_E_DATA;
}

/* Its row id; 0: it is new. */
static int64_t known_program(const TfyShared *shared, const uint8_t hash[16])
{
    for (size_t i = 0; i < shared->programs.filled; i++) {
        const TfyStoreProgram *known = tfy__rows_at(&shared->programs, i);
        if (memcmp(known->hash, hash, sizeof known->hash) == 0) return known->id;
    }
    return 0;
}

static int take_program(TfyShared *shared, TfyStoreProgram *program)
{
    if (known_program(shared, program->hash)) return 0;
    TfyStoreProgram *place = tfy__rows_add(&shared->programs);
    if (!place) return TFY_E_NOMEM;
    *place = *program;
    program->tfyc = program->source = program->layout = NULL;
    return place->id == (int64_t)shared->programs.filled ? 0 : TFY_E_DATA;
}

static int take_gap(TfyShared *shared, const TfyStoreHold *hold, const TfyStoreGap *gap)
{
    TfySharedRun *run = owned(shared, hold, gap->run);
    TfyStoreGap *place = run ? tfy__rows_add(&run->gaps) : NULL;
    if (!place) return run ? TFY_E_NOMEM : TFY_E_DATA;
    *place = *gap;
    return 0;
}

/* Mail that has no verdict yet; NULL: there is none of that number, or it has one. */
static TfyMail *open_mail(const TfySharedRun *run, int64_t n)
{
    TfyMail *mail = n > 0 && (size_t)n <= run->mails.count ? tfy__rows_at(&run->mails, (size_t)n - 1) : NULL;
    return mail && !mail->verdict ? mail : NULL;
}

static int take_verdict(TfyShared *shared, const TfyStoreHold *hold, const TfyStoreVerdict *verdict)
{
    const TfySharedRun *run = owned(shared, hold, verdict->run);
    return run && open_mail(run, verdict->n) ? 0 : TFY_E_DATA;
}

/* The first pass. Rows that the database takes over are no longer the request's. */
static int take_put(TfyShared *shared, const TfyStoreHold *hold, Put *put)
{
    switch (put->kind) {
    case PUT_RECORD: return take_record(shared, hold, &put->record);
    case PUT_TASK: return take_task(shared, hold, &put->task, put->birth);
    case PUT_RUN: return take_run(shared, hold, &put->run, put->how);
    case PUT_PROGRAM: return take_program(shared, &put->program);
    case PUT_GAP: return take_gap(shared, hold, &put->gap);
    case PUT_VERDICT: return take_verdict(shared, hold, &put->verdict);
    case PUT_LEAVING: return owned(shared, hold, put->leaving.run) ? 0 : TFY_E_DATA;
    }
    return TFY_E_DATA;
}

static void leave(TfyShared *shared, const TfyStoreLeaving *leaving)
{
    TfySharedRun *run = tfy__shared_run(shared, leaving->run);
    if (leaving->mail >= 0 && leaving->mail != (int64_t)run->mails.count) return;
    run->owner = 0;
    run->due_ms = leaving->due_ms;
    run->solo = run->crashes > 0;
    run->vain = 0;
    if (leaving->damaged && !run->held) run->held = TFY_HELD_DAMAGED;
}

static const char ended_verdict[] = TFY_VERDICT_ENDED;

static void change_run(TfySharedRun *run, const TfyLogRun *row)
{
    run->row = *row;
    for (int64_t n = (int64_t)run->mails.count; row->state >= TFY_TASK_COMPLETED && n > 0; n--) {
        TfyMail *mail = open_mail(run, n);
        if (!mail) continue;
        mail->verdict = ended_verdict;
        mail->code = TFY_E_STATE;
    }
}

/* The second pass. */
static void apply_put(TfyShared *shared, Put *put)
{
    if (put->kind == PUT_VERDICT) {
        TfyMail *mail = open_mail(tfy__shared_run(shared, put->verdict.run), put->verdict.n);
        mail->verdict = put->verdict.text;
        mail->code = put->verdict.code;
        put->verdict.text = NULL;
    }
    if (put->kind == PUT_TASK && !put->birth) {
        TfyStoreTask *task = find_task(tfy__shared_run(shared, put->task.run), put->task.tid);
        const TfyStoreTask born = *task;
        *task = put->task;
        task->path = born.path;
        task->base = born.base;
        task->base_chain = born.base_chain;
    }
    if (put->kind == PUT_RUN) change_run(tfy__shared_run(shared, put->run.id), &put->run);
    if (put->kind == PUT_LEAVING) leave(shared, &put->leaving);
}

static void free_row(const TfySharedRun *run, const TfyMemoryRows *rows, size_t index)
{
    if (rows == &run->records) free((char *)((TfyLogRecord *)tfy__rows_at(rows, index))->payload);
    if (rows == &run->tasks) free((char *)((TfyStoreTask *)tfy__rows_at(rows, index))->path);
}

static void free_rows(TfySharedRun *run)
{
    TfyMemoryRows *all[3];
    rows_of(run, all);
    for (size_t i = 0; i < 3; i++)
        while (all[i]->filled > all[i]->count) free_row(run, all[i], --all[i]->filled);
}

/* Makes the rows of the first pass count, or drops them. */
static void settle_rows(TfyShared *shared, bool count)
{
    if (count) shared->runs.count = shared->runs.filled;
    for (size_t i = 0; i < shared->runs.filled; i++) {
        TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        TfyMemoryRows *all[3];
        if (!run->touched) continue;
        run->touched = false;
        rows_of(run, all);
        for (size_t j = 0; count && j < 3; j++) all[j]->count = all[j]->filled;
        if (!count) free_rows(run);
    }
    if (count) shared->programs.count = shared->programs.filled;
    while (shared->programs.filled > shared->programs.count)
        free_program(tfy__rows_at(&shared->programs, --shared->programs.filled));
    while (shared->runs.filled > shared->runs.count) {
        TfySharedRun *run = tfy__rows_at(&shared->runs, --shared->runs.filled);
        TfyMemoryRows *all[3];
        rows_of(run, all);
        for (size_t j = 0; j < 3; j++) free(all[j]->items);
    }
}

static int arrive(TfyShared *shared, TfySharedRequest *request)
{
    TfySharedSession *session = tfy__shared_session(shared, request->hold.session);
    if (!session || session->state != TFY_SESSION_LIVES || session->beat != request->hold.commit - 1)
        return TFY_STORE_FENCED;
    int code = 0;
    for (size_t i = 0; !code && i < request->puts.filled; i++)
        code = take_put(shared, &request->hold, tfy__rows_at(&request->puts, i));
    settle_rows(shared, !code);
    if (code) return code;
    for (size_t i = 0; i < request->puts.filled; i++) apply_put(shared, tfy__rows_at(&request->puts, i));
    session->beat++;
    return 0;
}

static bool late_arrives(TfyShared *shared, TfySharedRequest *request)
{
    if (!request) return false;
    LIST_REMOVE(&shared->late, request, next);
    arrive(shared, request);
    free_request(request);
    return true;
}

bool tfy__shared_late_arrives(TfyShared *shared)
{
    return late_arrives(shared, shared->late.first);
}

bool tfy__shared_late_of(TfyShared *shared, int64_t session)
{
    TfySharedRequest *request = shared->late.first;
    while (request && request->hold.session != session) request = request->next;
    return late_arrives(shared, request);
}

void tfy__shared_late_lost(TfyShared *shared)
{
    while (shared->late.first) free_request(LIST_TAKE(&shared->late, next));
}

/* ---- the sender's side ---- */

/* A run of the commit that its session still owns has stayed. The answer may have got lost, and it was claimed again since. */
static int note_stayed(SharedStore *self, int64_t session)
{
    for (size_t i = 0; i < self->leaving.filled; i++) {
        const TfyStoreLeaving *leaving = tfy__rows_at(&self->leaving, i);
        const TfySharedRun *run = tfy__shared_run(self->shared, leaving->run);
        if (run->owner != session || (leaving->claims && run->claims != leaving->claims)) continue;
        TfyStoreLeaving *place = tfy__rows_add(&self->stayed);
        if (!place) return TFY_E_NOMEM;
        *place = *leaving;
    }
    self->base.stayed = self->stayed.items;
    self->base.stayed_count = (uint32_t)self->stayed.filled;
    return 0;
}

static int fenced(TfyStore *store, const TfyStoreHold *hold)
{
    snprintf(store->error, sizeof store->error, "session %lld has ended, and others continue its runs",
             (long long)hold->session);
    return TFY_STORE_FENCED;
}

static int commit(TfyStore *store)
{
    SharedStore *self = inside(store);
    TfyShared *shared = self->shared;
    CHECK(self->request);
    const TfyStoreHold hold = self->request->hold;
    const TfySharedFate fate = shared->fate ? shared->fate(shared->fate_state, &hold) : TFY_FATE_ARRIVES;
    if (fate == TFY_FATE_AWAY) return TFY_STORE_AWAY;
    TfySharedRequest *request = self->request;
    self->request = NULL;
    if (fate == TFY_FATE_LATE) {
        LIST_APPEND(&shared->late, request, next);
        return TFY_STORE_UNKNOWN;
    }
    int code = fate == TFY_FATE_LOST ? TFY_STORE_UNKNOWN : arrive(shared, request);
    free_request(request);
    if (fate == TFY_FATE_ANSWER_IS_LOST) return TFY_STORE_UNKNOWN;
    if (!code) code = note_stayed(self, hold.session);
    return code == TFY_STORE_FENCED ? fenced(store, &hold) : code;
}

static int settle(TfyStore *store, const TfyStoreHold *hold, bool *happened)
{
    SharedStore *self = inside(store);
    const TfySharedSession *session = tfy__shared_session(self->shared, hold->session);
    *happened = false;
    if (!session || session->state != TFY_SESSION_LIVES) return fenced(store, hold);
    CHECK(session->beat == hold->commit || session->beat == hold->commit - 1);
    *happened = session->beat == hold->commit;
    return *happened ? note_stayed(self, hold->session) : 0;
}

static void rollback(TfyStore *store)
{
    free_request(inside(store)->request);
    inside(store)->request = NULL;
}

static bool checkpoint_due(TfyStore *store)
{
    return false;
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
    *meta = (TfyStoreMeta){.epoch = 1};
    memcpy(meta->db, inside(store)->shared->db, sizeof meta->db);
    return 0;
}

static int get_record(TfyStore *store, int64_t id, int64_t lsn, TfyLogRecord *record)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    if (!run || lsn < 1 || (size_t)lsn > run->records.count) return TFY_E_ABSENT;
    *record = *(TfyLogRecord *)tfy__rows_at(&run->records, (size_t)lsn - 1);
    return 0;
}

static int get_task(TfyStore *store, int64_t id, int64_t tid, TfyStoreTask *task)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    const TfyStoreTask *found = run ? find_task(run, tid) : NULL;
    if (found) *task = *found;
    return found ? 0 : TFY_E_ABSENT;
}

/* Its row as readers see it. */
static TfyLogRun row_of(const TfySharedRun *run)
{
    TfyLogRun row = run->row;
    row.owner = run->owner;
    row.held = (uint8_t)run->held;
    row.turn = tfy__run_turn(run->owner, run->due_ms, run->held);
    return row;
}

static int get_run(TfyStore *store, int64_t id, TfyLogRun *row)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    if (run) *row = row_of(run);
    return run ? 0 : TFY_E_ABSENT;
}

static int get_gap(TfyStore *store, int64_t id, int64_t lsn, TfyStoreGap *gap)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    for (size_t i = 0; run && i < run->gaps.count; i++) {
        *gap = *(TfyStoreGap *)tfy__rows_at(&run->gaps, i);
        if (gap->lsn == lsn) return 0;
    }
    return TFY_E_ABSENT;
}

static const TfySharedRun *run_of_uuid(const TfyShared *shared, const uint8_t uuid[16])
{
    for (size_t i = 0; i < shared->runs.count; i++) {
        const TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        if (memcmp(run->row.uuid, uuid, 16) == 0) return run;
    }
    return NULL;
}

static int find_run(TfyStore *store, const uint8_t uuid[16], TfyLogRun *row)
{
    const TfySharedRun *run = run_of_uuid(inside(store)->shared, uuid);
    if (run) *row = row_of(run);
    return run ? 0 : TFY_E_ABSENT;
}

static int get_program(TfyStore *store, int64_t id, const uint8_t hash[16], TfyStoreProgram *program)
{
    const TfyMemoryRows *programs = &inside(store)->shared->programs;
    for (size_t i = 0; i < programs->count; i++) {
        *program = *(TfyStoreProgram *)tfy__rows_at(programs, i);
        if (hash ? memcmp(program->hash, hash, 16) == 0 : program->id == id) return 0;
    }
    return TFY_E_ABSENT;
}

static int see_records(TfyStore *store, int64_t id, int64_t from, TfyStoreSeeRecord *see, void *state)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    int code = 0;
    for (size_t i = from < 1 ? 0 : (size_t)from - 1; !code && run && i < run->records.count; i++)
        code = see(state, tfy__rows_at(&run->records, i));
    return code;
}

static int see_tasks(TfyStore *store, int64_t id, TfyStoreSeeTask *see, void *state)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    int code = 0;
    for (size_t i = 0; !code && run && i < run->tasks.count; i++) code = see(state, tfy__rows_at(&run->tasks, i));
    return code;
}

static int see_runs(TfyStore *store, bool unfinished, TfyStoreSeeRun *see, void *state)
{
    const TfyMemoryRows *runs = &inside(store)->shared->runs;
    int code = 0;
    for (size_t i = 0; !code && i < runs->count; i++) {
        const TfyLogRun row = row_of(tfy__rows_at(runs, i));
        if (!unfinished || (row.state < TFY_TASK_COMPLETED && !row.parked_ms)) code = see(state, &row);
    }
    return code;
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

static void shrink(TfyStore *store)
{
    (void)store; /* its rows are all it has */
}

static int last_ids(TfyStore *store, int64_t *run, int64_t *program, int64_t *tid)
{
    *run = (int64_t)inside(store)->shared->runs.count;
    *program = (int64_t)inside(store)->shared->programs.count;
    *tid = 0; /* each run has its own */
    return 0;
}

static int last_task(TfyStore *store, int64_t id, int64_t *tid)
{
    const TfySharedRun *run = tfy__shared_run(inside(store)->shared, id);
    *tid = 0;
    for (size_t i = 0; run && i < run->tasks.count; i++) {
        const TfyStoreTask *task = tfy__rows_at(&run->tasks, i);
        if (task->tid > *tid) *tid = task->tid;
    }
    return run ? 0 : TFY_E_ABSENT;
}

static void close_store(TfyStore *store, bool clean)
{
    SharedStore *self = inside(store);
    rollback(store);
    free(self->leaving.items);
    free(self->stayed.items);
    free(self);
}

static const TfyStoreOps shared_ops = {
    .begin = begin,
    .put_records = put_records,
    .put_task = put_task,
    .put_run = put_run,
    .put_program = put_program,
    .put_gap = put_gap,
    .put_table = put_table,
    .put_row = put_saved_row,
    .put_leaving = put_leaving,
    .put_verdict = put_verdict,
    .commit = commit,
    .settle = settle,
    .rollback = rollback,
    .checkpoint_due = checkpoint_due,
    .look = look,
    .look_away = look_away,
    .get_meta = get_meta,
    .get_record = get_record,
    .get_task = get_task,
    .get_run = get_run,
    .get_gap = get_gap,
    .find_run = find_run,
    .get_program = get_program,
    .see_records = see_records,
    .see_tasks = see_tasks,
    .see_runs = see_runs,
    .see_columns = see_columns,
    .see_tables = see_tables,
    .see_saved = see_saved,
    .shrink = shrink,
    .last_ids = last_ids,
    .last_task = last_task,
    .close = close_store,
};

int tfy__shared_join(TfyShared *shared, TfyStore **result)
{
    SharedStore *store = calloc(1, sizeof *store);
    *result = store ? &store->base : NULL;
    if (!store) return TFY_E_NOMEM;
    store->base.ops = &shared_ops;
    store->shared = shared;
    store->leaving.item_size = store->stayed.item_size = sizeof(TfyStoreLeaving);
    return 0;
}

/* ---- the database ---- */

static void free_mail(const TfyMail *mail)
{
    free((char *)mail->body);
    free((char *)mail->id);
    free((char *)mail->sender);
    if (mail->verdict != ended_verdict) free((char *)mail->verdict);
}

TfyShared *tfy__shared_new(void)
{
    TfyShared *shared = calloc(1, sizeof *shared);
    if (!shared) return NULL;
    shared->sessions.item_size = sizeof(TfySharedSession);
    shared->runs.item_size = sizeof(TfySharedRun);
    shared->programs.item_size = sizeof(TfyStoreProgram);
    shared->deployments.item_size = sizeof(TfySharedDeployment);
    shared->limiters.item_size = sizeof(TfySharedLimiter);
    memset(shared->db, 'm', sizeof shared->db);
    return shared;
}

void tfy__shared_free(TfyShared *shared)
{
    if (!shared) return;
    tfy__shared_late_lost(shared);
    for (size_t i = 0; i < shared->runs.filled; i++) {
        TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        run->records.count = run->tasks.count = run->gaps.count = 0;
        for (size_t j = 0; j < run->mails.filled; j++) free_mail(tfy__rows_at(&run->mails, j));
        free(run->mails.items);
        run->touched = true;
    }
    shared->runs.count = shared->programs.count = 0;
    settle_rows(shared, false);
    for (size_t i = 0; i < shared->deployments.filled; i++)
        free(((TfySharedDeployment *)tfy__rows_at(&shared->deployments, i))->name);
    free(shared->deployments.items);
    tfy__shared_free_permits(shared);
    free(shared->sessions.items);
    free(shared->runs.items);
    free(shared->programs.items);
    free(shared);
}

int64_t tfy__shared_open_session(TfyShared *shared, int64_t lease_ms)
{
    TfySharedSession *session = tfy__rows_add(&shared->sessions);
    if (!session) return TFY_E_NOMEM;
    *session = (TfySharedSession){.id = (int64_t)shared->sessions.filled, .lease_ms = lease_ms};
    return session->id;
}

TfySharedSession *tfy__shared_session(const TfyShared *shared, int64_t id)
{
    return id > 0 && (size_t)id <= shared->sessions.filled ? tfy__rows_at(&shared->sessions, (size_t)id - 1) : NULL;
}

bool tfy__shared_end_session(TfyShared *shared, int64_t id, int64_t beat)
{
    TfySharedSession *session = tfy__shared_session(shared, id);
    if (!session || session->state != TFY_SESSION_LIVES || session->beat != beat) return false;
    session->state = TFY_SESSION_ENDED;
    return true;
}

uint32_t tfy__shared_free_runs(TfyShared *shared, int64_t id, uint32_t most)
{
    uint32_t count = 0;
    for (size_t i = 0; count < most && i < shared->runs.count; i++) {
        TfySharedRun *run = tfy__rows_at(&shared->runs, i);
        const TfySharedSession *owner = tfy__shared_session(shared, run->owner);
        if (!owner || owner->state == TFY_SESSION_LIVES || (id && owner->id != id)) continue;
        run->owner = run->due_ms = 0;
        count++;
    }
    return count;
}

/* The row of its root and its first record. */
static int bear_root(TfySharedRun *run, const char *birth)
{
    TfyLogRecord *record = tfy__rows_add(&run->records);
    TfyStoreTask *root = tfy__rows_add(&run->tasks);
    if (!record || !root) return TFY_E_NOMEM;
    tfy__store_birth(&run->row, birth, record, root);
    root->path = strdup(root->path);
    record->payload = strdup(birth);
    if (!root->path || !record->payload) return TFY_E_NOMEM;
    run->row.lsn = 1;
    return 0;
}

int64_t tfy__shared_keep_program(TfyShared *shared, const TfyStoreProgram *program)
{
    TfyStoreProgram copy;
    int64_t id = known_program(shared, program->hash);
    if (id) return id;
    id = copy_program(&copy, program) ? copy.id = (int64_t)shared->programs.filled + 1 : TFY_E_NOMEM;
    const int code = id < 0 ? (int)id : take_program(shared, &copy);
    if (code) free_program(&copy);
    shared->programs.count = shared->programs.filled;
    return code ? code : id;
}

TfySharedDeployment *tfy__shared_deployment(const TfyShared *shared, const char *name)
{
    for (size_t i = 0; i < shared->deployments.filled; i++) {
        TfySharedDeployment *deployment = tfy__rows_at(&shared->deployments, i);
        if (strcmp(deployment->name, name) == 0) return deployment;
    }
    return NULL;
}

int tfy__shared_deploy(TfyShared *shared, const char *name, int64_t program)
{
    TfySharedDeployment *deployment = tfy__shared_deployment(shared, name);
    if (deployment && deployment->program == program) return 0;
    if (!deployment) {
        char *own = strdup(name);
        if (!own || !(deployment = tfy__rows_add(&shared->deployments))) return free(own), TFY_E_NOMEM;
        deployment->name = own;
    }
    deployment->program = program;
    return 1;
}

int64_t tfy__shared_submit(TfyShared *shared, TfyLogRun *row, const char *birth)
{
    CHECK(shared->runs.count == shared->runs.filled);
    const TfySharedRun *known = run_of_uuid(shared, row->uuid);
    if (known) return row->id = known->row.id;
    TfySharedRun *run = add_run(shared, row);
    if (!run) return TFY_E_NOMEM;
    run->touched = true;
    const int code = birth ? bear_root(run, birth) : 0;
    *row = run->row;
    settle_rows(shared, !code);
    return code ? code : row->id;
}

int64_t tfy__shared_number(TfyShared *shared, const uint8_t uuid[16])
{
    return run_of_uuid(shared, uuid) ? TFY_E_STATE : (int64_t)shared->runs.filled + 1;
}

bool tfy__shared_claim(TfyShared *shared, int64_t session, int64_t id, int64_t now_ms)
{
    const TfySharedSession *owner = tfy__shared_session(shared, session);
    TfySharedRun *run = tfy__shared_run(shared, id);
    if (!run || !owner || owner->state != TFY_SESSION_LIVES) return false;
    if (run->owner || run->held || run->row.state >= TFY_TASK_COMPLETED || run->due_ms > now_ms) return false;
    run->owner = session;
    run->due_ms = 0;
    run->claims++;
    return true;
}

static const TfyMail *mail_of_id(const TfySharedRun *run, const char *id)
{
    for (size_t i = 0; id && i < run->mails.count; i++) {
        const TfyMail *mail = tfy__rows_at(&run->mails, i);
        if (mail->id && strcmp(mail->id, id) == 0) return mail;
    }
    return NULL;
}

int64_t tfy__shared_send(TfyShared *shared, const TfyMail *mail)
{
    TfySharedRun *run = tfy__shared_run(shared, mail->run);
    if (!run) return TFY_E_ABSENT;
    const TfyMail *before = mail_of_id(run, mail->id);
    if (before) return before->n;
    if (run->row.state >= TFY_TASK_COMPLETED) return TFY_E_STATE;
    TfyMail copy = {.run = mail->run, .n = (int64_t)run->mails.count + 1};
    copy.body = strdup(mail->body);
    copy.sender = strdup(mail->sender);
    if (mail->id) copy.id = strdup(mail->id);
    TfyMail *place = copy.body && copy.sender && !copy.id == !mail->id ? tfy__rows_add(&run->mails) : NULL;
    if (!place) {
        free_mail(&copy);
        return TFY_E_NOMEM;
    }
    *place = copy;
    run->mails.count = run->mails.filled;
    if (!run->owner) run->due_ms = 0;
    return copy.n;
}

TfySharedRun *tfy__shared_run(const TfyShared *shared, int64_t id)
{
    return id > 0 && (size_t)id <= shared->runs.filled ? tfy__rows_at(&shared->runs, (size_t)id - 1) : NULL;
}

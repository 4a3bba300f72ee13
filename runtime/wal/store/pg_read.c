/* pg_read.c: look-ups and walks in a database of PostgreSQL.
 *
 * Between look and look_away all of them are in one read-only snapshot, which begins with the first that needs the database. If
 * the connection is lost there, the snapshot is, and the rest of the reads fail; the next look connects again. A walk fetches rows by hundreds, so that a visitor may look up
 * other rows, and so that a long history is not in memory as a whole. */
#include "base/check.h"
#include "base/steady.h"
#include "wal/store/pg_ahead.h"
#include "wal/store/store_pg.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { AGAIN_MS = 50 };

#define PROGRAM_COLUMNS "id, hash, tfyc, source, layout, sum"

const TfyPgStatement tfy__pg_reads[R_COUNT] = {
    [R_GET_RECORD] = {.text = "SELECT " TFY_PG_RECORD_COLUMNS " FROM tfy.record WHERE run = $1 AND lsn = $2",
                      .what = "read a record"},
    [R_GET_TASK] = {.text = "SELECT " TFY_PG_TASK_COLUMNS " FROM tfy.task WHERE run = $1 AND task = $2::int8",
                    .what = "read a task"},
    [R_GET_RUN] = {.text = "SELECT " TFY_PG_RUN_COLUMNS " FROM tfy.run WHERE id = $1", .what = "read a run"},
    [R_FIND_RUN] = {.text = "SELECT " TFY_PG_RUN_COLUMNS " FROM tfy.run WHERE uuid = $1", .what = "find a run"},
    [R_GET_GAP] = {.text = "SELECT below, chain FROM tfy.gap WHERE run = $1 AND lsn = $2", .what = "read a gap"},
    [R_GET_PROGRAM] = {.text = "SELECT " PROGRAM_COLUMNS " FROM tfy.program WHERE id = $1::int8",
                       .what = "read a program"},
    [R_FIND_PROGRAM] = {.text = "SELECT " PROGRAM_COLUMNS " FROM tfy.program WHERE hash = $1",
                        .what = "find a program"},
    [R_PIECES] = {.text = "SELECT bytes FROM tfy.piece WHERE run = $1 AND lsn = $2 ORDER BY n",
                  .what = "read pieces of a record"},
    [R_SEE_RECORDS] = {.text = "SELECT " TFY_PG_RECORD_COLUMNS
                               " FROM tfy.record WHERE run = $1 AND lsn >= $2 ORDER BY lsn LIMIT 512",
                       .what = "read records"},
    [R_SEE_TASKS] = {.text = "SELECT " TFY_PG_TASK_COLUMNS
                             " FROM tfy.task WHERE run = $1 AND task >= $2::int8 ORDER BY task LIMIT 512",
                     .what = "read tasks"},
    [R_SEE_RUNS] = {.text = "SELECT " TFY_PG_RUN_COLUMNS " FROM tfy.run WHERE id >= $1 ORDER BY id LIMIT 512",
                    .what = "read runs"},
    [R_SEE_UNFINISHED] = {.text =
                              "SELECT " TFY_PG_RUN_COLUMNS " FROM tfy.run WHERE id >= $1 AND state < 12 AND parked = 0"
                              " ORDER BY id LIMIT 512",
                          .what = "read unfinished runs"},
    [R_LAST_IDS] = {.text = "SELECT (SELECT max(id) FROM tfy.run), (SELECT max(id) FROM tfy.program)",
                    .what = "read the last numbers"},
    [R_LAST_TASK] = {.text = "SELECT (SELECT max(task) FROM tfy.task WHERE run = r.id) FROM tfy.run r WHERE id = $1",
                     .what = "read the last task"},
};

/* ---- the view ---- */

/* A read that was sent and not answered has changed nothing. */
static int as_read(PgStore *self, int code)
{
    if (code == TFY_STORE_UNKNOWN || code == TFY_PG_AGAIN) code = TFY_STORE_AWAY;
    return tfy__pg_told(self, &self->reading, code);
}

static void forget(PgStore *self)
{
    for (int i = 0; i < R_COUNT; i++) {
        if (self->kept[i]) self->reading.api->clear(self->kept[i]);
        self->kept[i] = NULL;
    }
    tfy__buffer_free(&self->payload);
}

int tfy__pg_look(TfyStore *store)
{
    PgStore *self = tfy__pg_inside(store);
    CHECK(self->view == NO_VIEW);
    self->view = VIEW_ASKED;
    return 0;
}

/* If that fails, the view is gone with its connection. What a call before has said stays said. */
void tfy__pg_look_away(TfyStore *store)
{
    PgStore *self = tfy__pg_inside(store);
    TfyPgLink *link = &self->reading;
    forget(self);
    self->view = NO_VIEW;
    if (!tfy__pg_in_transaction(link)) return;
    int code = tfy__pg_queue_text(link, "COMMIT", "end a view");
    if (!code) code = tfy__pg_sync(link, NULL, NULL);
    if (code) tfy__pg_link_drop(link);
}

typedef struct First {
    int number;
    TfyPgResult **result;
} First;

static int keep_first(void *state, int number, TfyPgResult *result, bool *kept)
{
    const First *first = state;
    if (number != first->number) return 0;
    *first->result = result;
    return *kept = true, 0;
}

/* The first read of a view, in the same round trip as its beginning. */
static int read_first(PgStore *self, const TfyPgAsk *ask, TfyPgResult **result)
{
    TfyPgLink *link = &self->reading;
    First first = {.result = result};
    int code = tfy__pg_link_open(link);
    if (!code) code = tfy__pg_queue_begin(link, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    first.number = link->queued;
    if (!code) code = tfy__pg_queue(link, ask);
    if (!code) code = tfy__pg_sync(link, keep_first, &first);
    tfy__pg_unqueue(link);
    if (code && *result) link->api->clear(*result);
    if (code) *result = NULL;
    return as_read(self, code);
}

/* A server that restarts is back soon, and a session cannot do without what it reads: it asks again, for as long as it would wait
 * for an answer. */
static int begin_view(PgStore *self, const TfyPgAsk *ask, TfyPgResult **result)
{
    const int64_t until_ms = tfy__steady_ms() + (self->session ? self->reading.patience_ms : 0);
    int code;
    while ((code = read_first(self, ask, result)) == TFY_STORE_AWAY && tfy__steady_ms() < until_ms)
        poll(NULL, 0, AGAIN_MS);
    self->view = VIEW_BEGUN;
    return code;
}

int tfy__pg_read(PgStore *self, const TfyPgAsk *ask, TfyPgResult **result)
{
    TfyPgLink *link = &self->reading;
    *result = NULL;
    if (self->view == VIEW_ASKED) return begin_view(self, ask, result);
    if (self->view == VIEW_BEGUN && !tfy__pg_in_transaction(link)) return tfy__pg_told(self, link, TFY_STORE_AWAY);
    int code = self->view ? 0 : tfy__pg_link_open(link);
    if (!code) code = tfy__pg_one(link, ask, result);
    return as_read(self, code);
}

void tfy__pg_use_ahead(TfyStore *store, const TfyAhead *ahead)
{
    tfy__pg_inside(store)->ahead = ahead;
}

/* ---- rows ---- */

static int damaged(PgStore *self, const char *what, int64_t run, int64_t id)
{
    snprintf(self->base.error, sizeof self->base.error, "%s %lld of run %lld was changed since it was written", what,
             (long long)id, (long long)run);
    return TFY_E_DATA;
}

/* The values of one row. */
typedef struct Row {
    const TfyPgApi *api;
    const TfyPgResult *result;
    int row;
} Row;

static int64_t word_at(const Row *row, int column)
{
    return tfy__pg_word(row->api, row->result, row->row, column);
}

static const char *text_at(const Row *row, int column)
{
    return row->api->getvalue(row->result, row->row, column);
}

/* Puts the pieces of a payload together; payload: NUL-terminated afterwards. */
static int join(PgStore *self, TfyLogRecord *record, TfyBuffer *payload)
{
    TfyPgAsk ask;
    TfyPgResult *result;
    const TfyPgApi *api = self->reading.api;
    unsigned pieces = 0, bytes = 0;
    unsigned long long hash = 0;
    const int told =
        sscanf(record->payload, "{\"pieces\":%u,\"bytes\":%u,\"hash\":\"%16llx\"}", &pieces, &bytes, &hash);
    tfy__pg_ask(&self->reading, &ask, R_PIECES);
    tfy__pg_ask_word(&ask, record->run);
    tfy__pg_ask_word(&ask, record->lsn);
    const int code = tfy__pg_read(self, &ask, &result);
    if (code) return code;
    tfy__buffer_reset(payload);
    tfy__buffer_reserve(payload, bytes <= TFY_PG_PAYLOAD_MOST ? bytes : 0);
    for (int i = 0; i < api->ntuples(result); i++)
        tfy__buffer_add(payload, api->getvalue(result, i, 0), (size_t)api->getlength(result, i, 0));
    const bool whole = told == 3 && (unsigned)api->ntuples(result) == pieces && payload->len == bytes;
    api->clear(result);
    if (payload->failed) return TFY_E_NOMEM;
    if (!whole || XXH3_64bits(payload->data, payload->len) != hash)
        return damaged(self, "record", record->run, record->lsn);
    record->payload = payload->data;
    record->payload_len = bytes;
    return 0;
}

/* payload: where one in pieces is put together. */
static int read_record(PgStore *self, const Row *row, TfyLogRecord *record, TfyBuffer *payload)
{
    const int64_t v = word_at(row, 4), type = word_at(row, 6);
    *record = (TfyLogRecord){.run = word_at(row, 0),
                             .lsn = word_at(row, 1),
                             .tid = word_at(row, 2),
                             .prev = word_at(row, 3),
                             .v = (uint8_t)(v < 0 ? -v : v),
                             .ts_ms = word_at(row, 5),
                             .type = (uint8_t)type,
                             .step = word_at(row, 7),
                             .point = (uint32_t)(int32_t)word_at(row, 8),
                             .payload = text_at(row, 9),
                             .payload_len = (uint32_t)row->api->getlength(row->result, row->row, 9),
                             .chain = (uint64_t)word_at(row, 10)};
    if ((v < 0 ? -v : v) != record->v || type != record->type) return damaged(self, "record", record->run, record->lsn);
    return v < 0 ? join(self, record, payload) : 0;
}

static int read_task(PgStore *self, const Row *row, TfyStoreTask *task)
{
    *task = (TfyStoreTask){.run = word_at(row, 0),
                           .tid = word_at(row, 1),
                           .path = text_at(row, 2),
                           .program = word_at(row, 3),
                           .born = word_at(row, 4),
                           .base = word_at(row, 5),
                           .base_chain = (uint64_t)word_at(row, 6),
                           .head = word_at(row, 7),
                           .chain = (uint64_t)word_at(row, 8),
                           .step = word_at(row, 9),
                           .state = word_at(row, 10),
                           .wait = word_at(row, 11)};
    return (uint64_t)word_at(row, 12) == tfy__store_sum_task(task) ? 0 : damaged(self, "task", task->run, task->tid);
}

static int read_run(PgStore *self, const Row *row, TfyLogRun *run)
{
    *run = (TfyLogRun){.id = word_at(row, 0),
                       .program = word_at(row, 2),
                       .root = word_at(row, 3),
                       .state = (int)word_at(row, 4),
                       .started_ms = word_at(row, 5),
                       .ended_ms = word_at(row, 6),
                       .imported = word_at(row, 7),
                       .parked_ms = word_at(row, 10),
                       .moved_lsn = word_at(row, 11),
                       .base_lsn = word_at(row, 12),
                       .parked_at_ms = word_at(row, 13),
                       .options_lsn = word_at(row, 14),
                       .lsn = word_at(row, 15),
                       .snap = word_at(row, 16),
                       .owner = word_at(row, 17),
                       .held = (uint8_t)word_at(row, 19)};
    run->turn = tfy__run_turn(run->owner, word_at(row, 18), run->held);
    const int origin = row->api->getlength(row->result, row->row, 9);
    if (tfy__pg_id(row->api, row->result, row->row, 1, run->uuid) &&
        tfy__store_origin_read(run, origin ? text_at(row, 9) : NULL, origin) &&
        (uint64_t)word_at(row, 8) == tfy__store_sum_run(run))
        return 0;
    snprintf(self->base.error, sizeof self->base.error, "run %lld was changed since it was written",
             (long long)run->id);
    return TFY_E_DATA;
}

static int read_program(PgStore *self, const Row *row, TfyStoreProgram *program)
{
    *program = (TfyStoreProgram){
        .id = word_at(row, 0), .tfyc = text_at(row, 2), .source = text_at(row, 3), .layout = text_at(row, 4)};
    if (tfy__pg_id(row->api, row->result, row->row, 1, program->hash) &&
        (uint64_t)word_at(row, 5) == tfy__store_sum_program(program))
        return 0;
    snprintf(self->base.error, sizeof self->base.error, "program %lld was changed since it was written",
             (long long)program->id);
    return TFY_E_DATA;
}

/* ---- look-ups ---- */

/* The one row of a look-up, which is kept until the next one of this kind. */
static int look_up(PgStore *self, PgRead which, const TfyPgAsk *ask, Row *row)
{
    const TfyPgApi *api = self->reading.api;
    if (self->kept[which]) api->clear(self->kept[which]);
    self->kept[which] = NULL;
    const int code = tfy__pg_read(self, ask, &self->kept[which]);
    *row = (Row){.api = api, .result = self->kept[which]};
    return code ? code : api->ntuples(row->result) ? 0 : TFY_E_ABSENT;
}

static int look_up_words(PgStore *self, PgRead which, const int64_t *words, int count, Row *row)
{
    TfyPgAsk ask;
    tfy__pg_ask(&self->reading, &ask, which);
    for (int i = 0; i < count; i++) tfy__pg_ask_word(&ask, words[i]);
    return look_up(self, which, &ask, row);
}
#define LOOK_UP(self_, which_, row_, ...)                                                                              \
    look_up_words(self_, which_, (const int64_t[]){__VA_ARGS__},                                                       \
                  (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), row_)

static bool was_ahead(const TfyPgFound *found, Row *row)
{
    *row = (Row){.api = found->api, .result = found->rows, .row = found->first};
    return found->rows;
}

/* What a file has more of, a shared database has none. */
int tfy__pg_get_meta(TfyStore *store, TfyStoreMeta *meta)
{
    PgStore *self = tfy__pg_inside(store);
    *meta = (TfyStoreMeta){.epoch = 1};
    memcpy(meta->db, self->reading.db, sizeof meta->db);
    return 0;
}

int tfy__pg_get_record(TfyStore *store, int64_t run, int64_t lsn, TfyLogRecord *record)
{
    PgStore *self = tfy__pg_inside(store);
    Row row;
    const TfyPgFound found = tfy__pg_ahead_record(self->ahead, run, lsn);
    const int code = was_ahead(&found, &row) ? 0 : LOOK_UP(self, R_GET_RECORD, &row, run, lsn);
    return code ? code : read_record(self, &row, record, &self->payload);
}

int tfy__pg_get_task(TfyStore *store, int64_t run, int64_t tid, TfyStoreTask *task)
{
    PgStore *self = tfy__pg_inside(store);
    Row row;
    const TfyPgFound found = tfy__pg_ahead_task(self->ahead, run, tid);
    const int code = was_ahead(&found, &row) ? 0 : LOOK_UP(self, R_GET_TASK, &row, run, tid);
    return code ? code : read_task(self, &row, task);
}

int tfy__pg_get_run(TfyStore *store, int64_t id, TfyLogRun *run)
{
    PgStore *self = tfy__pg_inside(store);
    Row row;
    const TfyPgFound found = tfy__pg_ahead_run(self->ahead, id);
    const int code = was_ahead(&found, &row) ? 0 : LOOK_UP(self, R_GET_RUN, &row, id);
    return code ? code : read_run(self, &row, run);
}

int tfy__pg_get_gap(TfyStore *store, int64_t run, int64_t lsn, TfyStoreGap *gap)
{
    Row row;
    const int code = LOOK_UP(tfy__pg_inside(store), R_GET_GAP, &row, run, lsn);
    if (code) return code;
    *gap = (TfyStoreGap){.run = run, .lsn = lsn, .below = word_at(&row, 0), .chain = (uint64_t)word_at(&row, 1)};
    return 0;
}

int tfy__pg_find_run(TfyStore *store, const uint8_t uuid[16], TfyLogRun *run)
{
    PgStore *self = tfy__pg_inside(store);
    TfyPgAsk ask;
    Row row;
    tfy__pg_ask(&self->reading, &ask, R_FIND_RUN);
    tfy__pg_ask_bytes(&ask, uuid, 16, TFY_PG_UUID);
    const int code = look_up(self, R_FIND_RUN, &ask, &row);
    return code ? code : read_run(self, &row, run);
}

/* The same one is asked for again and again; a program that is kept does not change. */
static int get_program(PgStore *self, int64_t id, TfyStoreProgram *program)
{
    Row row;
    if (!self->program_rows || self->program.id != id) {
        int code = LOOK_UP(self, R_GET_PROGRAM, &row, id);
        if (!code) code = read_program(self, &row, program);
        if (code) return code;
        if (self->program_rows) self->reading.api->clear(self->program_rows);
        self->program = *program;
        self->program_rows = self->kept[R_GET_PROGRAM];
        self->kept[R_GET_PROGRAM] = NULL;
    }
    return *program = self->program, 0;
}

int tfy__pg_get_program(TfyStore *store, int64_t id, const uint8_t hash[16], TfyStoreProgram *program)
{
    PgStore *self = tfy__pg_inside(store);
    TfyPgAsk ask;
    Row row;
    if (!hash) return get_program(self, id, program);
    tfy__pg_ask(&self->reading, &ask, R_FIND_PROGRAM);
    tfy__pg_ask_bytes(&ask, hash, 16, TFY_PG_BYTES);
    const int code = look_up(self, R_FIND_PROGRAM, &ask, &row);
    return code ? code : read_program(self, &row, program);
}

int tfy__pg_last_ids(TfyStore *store, int64_t *run, int64_t *program, int64_t *tid)
{
    Row row;
    TfyPgAsk ask;
    PgStore *self = tfy__pg_inside(store);
    tfy__pg_ask(&self->reading, &ask, R_LAST_IDS);
    const int code = look_up(self, R_LAST_IDS, &ask, &row);
    if (code) return code;
    *run = word_at(&row, 0);
    *program = word_at(&row, 1);
    *tid = 0; /* each run has its own */
    return 0;
}

int tfy__pg_last_task(TfyStore *store, int64_t run, int64_t *tid)
{
    Row row;
    PgStore *self = tfy__pg_inside(store);
    const TfyPgFound found = tfy__pg_ahead_tasks(self->ahead, run, 0);
    if (found.count && found.whole)
        return *tid = tfy__pg_word(found.api, found.rows, found.first + found.count - 1, 1), 0;
    const int code = LOOK_UP(self, R_LAST_TASK, &row, run);
    *tid = code ? 0 : word_at(&row, 0);
    return code;
}

/* ---- walks ---- */

/* Shows a row; *next: from where the walk goes on behind it. */
typedef int ShowRow(PgStore *self, const Row *row, const void *see, void *state, int64_t *next);

typedef struct Walk {
    PgRead which;
    int64_t run;  /* 0: of all */
    int64_t from; /* a number above 0 */
    ShowRow *show;
    const void *see;
    void *state;
} Walk;

static int fetch(PgStore *self, const Walk *walk, TfyPgResult **result)
{
    TfyPgAsk ask;
    tfy__pg_ask(&self->reading, &ask, walk->which);
    if (walk->run) tfy__pg_ask_word(&ask, walk->run);
    tfy__pg_ask_word(&ask, walk->from);
    return tfy__pg_read(self, &ask, result);
}

static int show_rows(PgStore *self, Walk *walk, const TfyPgFound *rows)
{
    int code = 0;
    for (int i = 0; !code && i < rows->count; i++) {
        const Row row = {.api = rows->api, .result = rows->rows, .row = rows->first + i};
        code = walk->show(self, &row, walk->see, walk->state, &walk->from);
    }
    return code;
}

/* ahead: those that were read ahead; NULL: none. */
static int go(PgStore *self, Walk *walk, const TfyPgFound *ahead)
{
    const TfyPgApi *api = self->reading.api;
    int code = ahead ? show_rows(self, walk, ahead) : 0;
    bool whole = ahead && ahead->whole;
    while (!code && !whole) {
        TfyPgResult *result;
        if ((code = fetch(self, walk, &result)) != 0) return code;
        const TfyPgFound rows = {.api = api, .rows = result, .count = api->ntuples(result)};
        code = show_rows(self, walk, &rows);
        api->clear(result);
        whole = rows.count < TFY_PG_WALK_ROWS;
    }
    return code;
}

static int show_record(PgStore *self, const Row *row, const void *see, void *state, int64_t *next)
{
    TfyLogRecord record;
    TfyBuffer payload = {0};
    int code = read_record(self, row, &record, &payload);
    *next = record.lsn + 1;
    if (!code) code = (*(TfyStoreSeeRecord *const *)see)(state, &record);
    tfy__buffer_free(&payload);
    return code;
}

static int show_task(PgStore *self, const Row *row, const void *see, void *state, int64_t *next)
{
    TfyStoreTask task;
    const int code = read_task(self, row, &task);
    *next = task.tid + 1;
    return code ? code : (*(TfyStoreSeeTask *const *)see)(state, &task);
}

static int show_run(PgStore *self, const Row *row, const void *see, void *state, int64_t *next)
{
    TfyLogRun run;
    const int code = read_run(self, row, &run);
    *next = run.id + 1;
    return code ? code : (*(TfyStoreSeeRun *const *)see)(state, &run);
}

int tfy__pg_see_records(TfyStore *store, int64_t run, int64_t from, TfyStoreSeeRecord *see, void *state)
{
    Walk walk = {.which = R_SEE_RECORDS, .run = run, .from = from, .show = show_record, .see = &see, .state = state};
    const TfyPgFound ahead = tfy__pg_ahead_records(tfy__pg_inside(store)->ahead, run, from);
    return run ? go(tfy__pg_inside(store), &walk, &ahead) : 0;
}

int tfy__pg_see_tasks(TfyStore *store, int64_t run, TfyStoreSeeTask *see, void *state)
{
    Walk walk = {.which = R_SEE_TASKS, .run = run, .show = show_task, .see = &see, .state = state};
    const TfyPgFound ahead = tfy__pg_ahead_tasks(tfy__pg_inside(store)->ahead, run, 0);
    return run ? go(tfy__pg_inside(store), &walk, &ahead) : 0;
}

int tfy__pg_see_runs(TfyStore *store, bool unfinished, TfyStoreSeeRun *see, void *state)
{
    Walk walk = {.which = unfinished ? R_SEE_UNFINISHED : R_SEE_RUNS, .show = show_run, .see = &see, .state = state};
    return go(tfy__pg_inside(store), &walk, NULL);
}

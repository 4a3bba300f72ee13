/* pg_commit.c: commits to a database of PostgreSQL: the statements of a transaction, and what became of it. */
#include "base/check.h"
#include "base/grow.h"
#include "wal/store/store_pg.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHUNK_ROWS = 8192, CHUNK_BYTES = 8 << 20 /* of one statement */, TRIES = 3 };

/* The statements find as many rows as they have to, or divide by zero. */
#define ALL_OF(rows_, list_) "SELECT 1/(count(*) = cardinality(" list_ "))::int4 FROM " rows_

const TfyPgStatement tfy__pg_writes[W_COUNT] = {
    [W_FENCE] = {"WITH u AS (UPDATE tfy.session SET beat = $2::int8 WHERE id = $1 AND state = 0 AND beat = $2::int8 - "
                 "1 RETURNING 1)"
                 " SELECT 1/count(*) FROM u",
                 "renew a session"},
    [W_PROGRAMS] = {"INSERT INTO tfy.program(id, hash, tfyc, source, layout, sum) SELECT * FROM"
                    " unnest($1::int4[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::int8[])"
                    " ON CONFLICT (hash) DO NOTHING",
                    "write programs"},
    [W_BEGUN] =
        {"WITH u AS (INSERT INTO tfy.run AS r(id, uuid, program, root, state, started, ended, imported, sum, origin,"
         " parked, moved, base, parked_at, options, lsn, snap, owner, claims)"
         " SELECT w.*, $1::int8, 1 FROM unnest($2::int8[], $3::uuid[], $4::int4[], $5::int4[], $6::int2[],"
         " $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::bytea[], $12::int8[], $13::int8[],"
         " $14::int8[], $15::int8[], $16::int8[], $17::int8[], $18::int8[]) AS w"
         " ON CONFLICT (id) DO UPDATE SET (uuid, program, root, state, started, ended, imported, sum, origin,"
         " parked, moved, base, parked_at, options, lsn, snap) = (EXCLUDED.uuid, EXCLUDED.program,"
         " EXCLUDED.root, EXCLUDED.state, EXCLUDED.started, EXCLUDED.ended, EXCLUDED.imported, EXCLUDED.sum,"
         " EXCLUDED.origin, EXCLUDED.parked, EXCLUDED.moved, EXCLUDED.base, EXCLUDED.parked_at,"
         " EXCLUDED.options, EXCLUDED.lsn, EXCLUDED.snap) WHERE r.owner = EXCLUDED.owner RETURNING 1) " ALL_OF(
             "u", "$2::int8[]"),
         "begin runs"},
    [W_CHANGED] = {ALL_OF("(SELECT 1 FROM tfy.run WHERE id = ANY($2::int8[]) AND owner = $1 ORDER BY id FOR UPDATE)"
                          " AS mine",
                          "$2::int8[]"),
                   "lock runs"},
    [W_APPENDED] = {ALL_OF("unnest($2::int8[], $3::int8[]) AS w(id, below) JOIN tfy.run r ON r.id = w.id AND"
                           " r.owner = $1 WHERE w.below = 0 OR EXISTS (SELECT 1 FROM tfy.record p"
                           " WHERE p.run = w.id AND p.lsn = w.below)",
                           "$2::int8[]"),
                    "continue runs"},
    [W_RECORDS] =
        {"INSERT INTO tfy.record(run, ts, chain, step, lsn, prev, task, point, type, v, payload) SELECT * FROM"
         " unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int4[],"
         " $8::int4[], $9::int2[], $10::int2[], $11::text[])",
         "append records"},
    [W_PIECES] = {"INSERT INTO tfy.piece(run, lsn, n, bytes) SELECT * FROM"
                  " unnest($1::int8[], $2::int8[], $3::int4[], $4::bytea[])",
                  "append pieces of a record"},
    [W_BIRTHS] =
        {"INSERT INTO tfy.task(run, task, path, program, born, base, base_chain, head, chain, step, state, wait,"
         " sum) SELECT * FROM unnest($1::int8[], $2::int4[], $3::text[], $4::int4[], $5::int8[], $6::int8[],"
         " $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int2[], $12::int2[], $13::int8[])",
         "add tasks"},
    [W_TASKS] = {"WITH u AS (UPDATE tfy.task t SET (program, head, chain, step, state, wait, sum) ="
                 " (w.program, w.head, w.chain, w.step, w.state, w.wait, w.sum) FROM unnest($1::int8[], $2::int4[],"
                 " $3::int4[], $4::int8[], $5::int8[], $6::int8[], $7::int2[], $8::int2[], $9::int8[])"
                 " AS w(run, task, program, head, chain, step, state, wait, sum)"
                 " WHERE t.run = w.run AND t.task = w.task RETURNING 1) " ALL_OF("u", "$1::int8[]"),
                 "change tasks"},
    [W_GAPS] = {"INSERT INTO tfy.gap(run, lsn, below, chain) SELECT * FROM"
                " unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) ON CONFLICT (run, lsn)"
                " DO UPDATE SET (below, chain) = (EXCLUDED.below, EXCLUDED.chain)",
                "write gaps"},
    [W_RUNS] =
        {"UPDATE tfy.run r SET (program, state, ended, imported, sum, parked, moved, base, parked_at, options, lsn,"
         " snap) = (w.program, w.state, w.ended, w.imported, w.sum, w.parked, w.moved, w.base, w.parked_at,"
         " w.options, w.lsn, w.snap) FROM unnest($1::int8[], $2::int4[], $3::int2[], $4::int8[], $5::int8[],"
         " $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::int8[])"
         " AS w(id, program, state, ended, imported, sum, parked, moved, base, parked_at, options, lsn, snap)"
         " WHERE r.id = w.id",
         "change runs"},
    [W_VERDICTS] = {"WITH u AS (UPDATE tfy.inbox i SET verdict = w.text FROM unnest($2::int8[], $3::int8[], $4::text[])"
                    " AS w(run, n, text) WHERE i.run = w.run AND i.n = w.n AND i.verdict IS NULL AND EXISTS"
                    " (SELECT 1 FROM tfy.run r WHERE r.id = w.run AND r.owner = $1) RETURNING 1) " ALL_OF("u", "$2::int8[]"),
                    "give verdicts"},
    [W_LEAVING] = {"UPDATE tfy.run r SET owner = NULL, due = w.due FROM unnest($2::int8[], $3::int8[], $4::int8[])"
                   " AS w(id, mail, due) WHERE r.id = w.id AND r.owner = $1 AND (w.mail < 0 OR r.mail = w.mail)"
                   " RETURNING r.id",
                   "let runs go"},
    [W_ENDED] = {"UPDATE tfy.inbox SET verdict = '" TFY_VERDICT_ENDED "' WHERE run = ANY($1::int8[]) AND verdict IS NULL",
                 "end mail"},
    [W_SESSION] = {"SELECT state, beat FROM tfy.session WHERE id = $1", "read a session"},
    [W_CONFIRM] = {"UPDATE tfy.session SET beat = beat WHERE id = $1 AND state = 0 AND beat = $2 RETURNING 1",
                   "confirm a commit"},
    [W_OWNED] = {"SELECT id FROM tfy.run WHERE id = ANY($2::int8[]) AND owner = $1 ORDER BY id",
                 "read which runs stayed"},
};

/* ---- rows of a statement ---- */

static void start(PgPack *pack, const uint32_t *types, int width)
{
    CHECK(width <= PG_COLUMNS);
    pack->types = types;
    pack->width = width;
    pack->at = 0;
    pack->rows = 0;
    pack->bytes = 0;
    for (int i = 0; i < width; i++) tfy__pg_column_start(&pack->columns[i], types[i]);
}
#define START(pack_, types_) start(pack_, types_, (int)(sizeof(types_) / sizeof *(types_)))

static int next_column(PgPack *pack)
{
    const int at = pack->at++;
    CHECK(at < pack->width);
    if (pack->at == pack->width) pack->at = 0, pack->rows++;
    return at;
}

static void add_words(PgPack *pack, const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int at = next_column(pack);
        tfy__pg_column_word(&pack->columns[at], pack->types[at], words[i]);
    }
}
#define WORDS(pack_, ...)                                                                                              \
    add_words(pack_, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void add_bytes(PgPack *pack, const void *bytes, size_t len)
{
    tfy__pg_column_bytes(&pack->columns[next_column(pack)], bytes, len);
    pack->bytes += len;
}

static void add_text(PgPack *pack, const char *text)
{
    add_bytes(pack, text, strlen(text));
}

/* Queues the statement with the packed rows, if there are any; session: 0: it is no parameter. */
static int queue_pack(PgStore *self, PgWrite statement, int64_t session)
{
    TfyPgAsk ask;
    PgPack *pack = &self->pack;
    CHECK(!pack->at);
    if (!pack->rows) return 0;
    tfy__pg_ask(&self->writing, &ask, statement);
    if (session) tfy__pg_ask_word(&ask, session);
    for (int i = 0; i < pack->width; i++)
        if (!tfy__pg_ask_column(&ask, &pack->columns[i])) return TFY_E_NOMEM;
    return tfy__pg_queue(&self->writing, &ask);
}

/* ---- order ---- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

#define BY(Type, name_, first_, second_, third_)                                                                         \
    static int name_(const void *a, const void *b)                                                                       \
    {                                                                                                                    \
        const Type *one = a, *other = b;                                                                                 \
        return compare(one->first_, other->first_) ?: compare(one->second_, other->second_)                            \
                                                          ?: compare(one->third_, other->third_); \
    }
BY(PgRecord, by_lsn, row.run, row.lsn, payload_at)
BY(PgTask, by_tid, row.run, row.tid, order)
BY(PgRun, by_id, row.id, order, order)
BY(PgGap, by_gap, row.run, row.lsn, order)
BY(PgLeaving, by_leaving, row.run, order, order)

#define SORT(list_, by_)                                                                                               \
    do {                                                                                                               \
        if ((list_).count > 1) qsort((list_).items, (list_).count, sizeof *(list_).items, by_);                        \
    } while (0)

static void sort_all(PgRequest *request)
{
    SORT(request->records, by_lsn);
    SORT(request->births, by_tid);
    SORT(request->tasks, by_tid);
    SORT(request->begun, by_id);
    SORT(request->runs, by_id);
    SORT(request->gaps, by_gap);
    SORT(request->leaving, by_leaving);
}

/* Whether the row behind replaces this one. */
#define REPLACED(list_, i_, first_, second_)                                                                           \
    ((i_) + 1 < (list_).count && (list_).items[i_].first_ == (list_).items[(i_) + 1].first_ &&                         \
     (list_).items[i_].second_ == (list_).items[(i_) + 1].second_)

/* ---- the statements of a transaction ---- */

static int queue_fence(PgStore *self)
{
    TfyPgAsk ask;
    tfy__pg_ask(&self->writing, &ask, W_FENCE);
    tfy__pg_ask_word(&ask, self->request.hold.session);
    tfy__pg_ask_word(&ask, self->request.hold.commit);
    return tfy__pg_queue(&self->writing, &ask);
}

static int queue_programs(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I4, TFY_PG_BYTES, TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->programs.count; i++) {
        const PgProgram *program = &request->programs.items[i];
        TfyStoreProgram row = program->row;
        row.tfyc = request->texts.data + program->tfyc_at;
        row.source = request->texts.data + program->source_at;
        row.layout = request->texts.data + program->layout_at;
        WORDS(&self->pack, row.id);
        add_bytes(&self->pack, row.hash, sizeof row.hash);
        add_text(&self->pack, row.tfyc);
        add_text(&self->pack, row.source);
        add_text(&self->pack, row.layout);
        WORDS(&self->pack, (int64_t)tfy__store_sum_program(&row));
    }
    return queue_pack(self, W_PROGRAMS, 0);
}

static int queue_begun(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_UUID, TFY_PG_I4, TFY_PG_I4,    TFY_PG_I2, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8,   TFY_PG_I8, TFY_PG_BYTES, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8,   TFY_PG_I8, TFY_PG_I8,    TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->begun.count; i++) {
        const TfyLogRun *run = &request->begun.items[i].row;
        uint8_t origin[TFY_ORIGIN_SIZE];
        tfy__store_origin_blob(run, origin);
        WORDS(&self->pack, run->id);
        add_bytes(&self->pack, run->uuid, sizeof run->uuid);
        WORDS(&self->pack, run->program, run->root, run->state, run->started_ms, run->ended_ms, run->imported,
              (int64_t)tfy__store_sum_run(run));
        add_bytes(&self->pack, run->origin_lsn ? origin : NULL, run->origin_lsn ? sizeof origin : 0);
        WORDS(&self->pack, run->parked_ms, run->moved_lsn, run->base_lsn, run->parked_at_ms, run->options_lsn, run->lsn,
              run->snap);
    }
    return queue_pack(self, W_BEGUN, request->hold.session);
}

/* The runs of which rows change, or that leave, are locked first: in the order of their ids. */
static int queue_changed(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8};
    const PgRequest *request = &self->request;
    uint32_t i = 0, j = 0;
    START(&self->pack, types);
    while (i < request->runs.count || j < request->leaving.count) {
        const int64_t run = i < request->runs.count ? request->runs.items[i].row.id : INT64_MAX;
        const int64_t leaving = j < request->leaving.count ? request->leaving.items[j].row.run : INT64_MAX;
        const int64_t id = run < leaving ? run : leaving;
        while (i < request->runs.count && request->runs.items[i].row.id == id) i++;
        while (j < request->leaving.count && request->leaving.items[j].row.run == id) j++;
        WORDS(&self->pack, id);
    }
    return queue_pack(self, W_CHANGED, request->hold.session);
}

/* Each run once that gets rows, and the record that has to be there for them; 0: none. Holes within the transaction are found
 * here, TFY_E_DATA. */
static int queue_appended(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8};
    const PgRequest *request = &self->request;
    uint32_t r = 0, b = 0, t = 0, g = 0;
    START(&self->pack, types);
    for (;;) {
        int64_t id = INT64_MAX;
        if (r < request->records.count) id = request->records.items[r].row.run;
        if (b < request->births.count && request->births.items[b].row.run < id) id = request->births.items[b].row.run;
        if (t < request->tasks.count && request->tasks.items[t].row.run < id) id = request->tasks.items[t].row.run;
        if (g < request->gaps.count && request->gaps.items[g].row.run < id) id = request->gaps.items[g].row.run;
        if (id == INT64_MAX) break;
        int64_t below = 0, lsn = 0;
        for (; r < request->records.count && request->records.items[r].row.run == id; r++) {
            const int64_t next = request->records.items[r].row.lsn;
            if (!lsn)
                below = next - 1;
            else if (next != lsn + 1)
                return snprintf(self->base.error, sizeof self->base.error, "records of run %lld are not dense",
                                (long long)id),
                       TFY_E_DATA;
            lsn = next;
        }
        while (b < request->births.count && request->births.items[b].row.run == id) b++;
        while (t < request->tasks.count && request->tasks.items[t].row.run == id) t++;
        while (g < request->gaps.count && request->gaps.items[g].row.run == id) g++;
        WORDS(&self->pack, id, below);
    }
    return queue_pack(self, W_APPENDED, request->hold.session);
}

static bool in_pieces(const PgRecord *record)
{
    return record->row.payload_len > TFY_PG_PIECE;
}

static void add_record(PgPack *pack, const TfyLogRecord *row, const char *payload, uint32_t len, int v)
{
    WORDS(pack, row->run, row->ts_ms, (int64_t)row->chain, row->step, row->lsn, row->prev, row->tid,
          (int32_t)row->point, row->type, v);
    add_bytes(pack, payload, len);
}

/* A record in pieces has a description of them as its payload; its version says so. */
static void add_described(PgPack *pack, const TfyLogRecord *row, const char *payload)
{
    char text[100];
    const uint32_t pieces = (row->payload_len + TFY_PG_PIECE - 1) / TFY_PG_PIECE;
    const int len = snprintf(text, sizeof text, "{\"pieces\":%u,\"bytes\":%u,\"hash\":\"%016llx\"}", pieces,
                             row->payload_len, (unsigned long long)XXH3_64bits(payload, row->payload_len));
    add_record(pack, row, text, (uint32_t)len, -(int)row->v);
}

static int queue_records(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,  TFY_PG_I8,
                                     TFY_PG_I4, TFY_PG_I4, TFY_PG_I2, TFY_PG_I2, TFY_PG_TEXT};
    const PgRequest *request = &self->request;
    int code = 0;
    START(&self->pack, types);
    for (uint32_t i = 0; !code && i < request->records.count; i++) {
        const PgRecord *record = &request->records.items[i];
        const char *payload = request->texts.data + record->payload_at;
        if (in_pieces(record))
            add_described(&self->pack, &record->row, payload);
        else
            add_record(&self->pack, &record->row, payload, record->row.payload_len, record->row.v);
        if (self->pack.rows < CHUNK_ROWS && self->pack.bytes < CHUNK_BYTES) continue;
        code = queue_pack(self, W_RECORDS, 0);
        START(&self->pack, types);
    }
    return code ? code : queue_pack(self, W_RECORDS, 0);
}

static int queue_pieces(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_I4, TFY_PG_BYTES};
    const PgRequest *request = &self->request;
    int code = 0;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->records.count; i++) {
        const PgRecord *record = &request->records.items[i];
        const char *payload = request->texts.data + record->payload_at;
        const size_t len = record->row.payload_len;
        for (size_t at = 0, n = 1; !code && in_pieces(record) && at < len; at += TFY_PG_PIECE, n++) {
            WORDS(&self->pack, record->row.run, record->row.lsn, (int64_t)n);
            add_bytes(&self->pack, payload + at, len - at < TFY_PG_PIECE ? len - at : TFY_PG_PIECE);
            if (self->pack.bytes < CHUNK_BYTES) continue;
            code = queue_pack(self, W_PIECES, 0);
            START(&self->pack, types);
        }
    }
    return code ? code : queue_pack(self, W_PIECES, 0);
}

static int queue_births(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4, TFY_PG_TEXT, TFY_PG_I4, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,   TFY_PG_I2, TFY_PG_I2, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->births.count; i++) {
        TfyStoreTask row = request->births.items[i].row;
        row.path = request->texts.data + request->births.items[i].path_at;
        WORDS(&self->pack, row.run, row.tid);
        add_text(&self->pack, row.path);
        WORDS(&self->pack, row.program, row.born, row.base, (int64_t)row.base_chain, row.head, (int64_t)row.chain,
              row.step, row.state, row.wait, (int64_t)tfy__store_sum_task(&row));
    }
    return queue_pack(self, W_BIRTHS, 0);
}

static int queue_tasks(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4, TFY_PG_I4, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I2, TFY_PG_I2, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->tasks.count; i++) {
        if (REPLACED(request->tasks, i, row.run, row.tid)) continue;
        TfyStoreTask row = request->tasks.items[i].row;
        row.path = request->texts.data + request->tasks.items[i].path_at;
        WORDS(&self->pack, row.run, row.tid, row.program, row.head, (int64_t)row.chain, row.step, row.state, row.wait,
              (int64_t)tfy__store_sum_task(&row));
    }
    return queue_pack(self, W_TASKS, 0);
}

static int queue_gaps(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->gaps.count; i++) {
        const TfyStoreGap *row = &request->gaps.items[i].row;
        if (REPLACED(request->gaps, i, row.run, row.lsn)) continue;
        WORDS(&self->pack, row->run, row->lsn, row->below, (int64_t)row->chain);
    }
    return queue_pack(self, W_GAPS, 0);
}

static int queue_runs(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4, TFY_PG_I2, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->runs.count; i++) {
        const TfyLogRun *run = &request->runs.items[i].row;
        if (REPLACED(request->runs, i, row.id, row.id)) continue;
        WORDS(&self->pack, run->id, run->program, run->state, run->ended_ms, run->imported,
              (int64_t)tfy__store_sum_run(run), run->parked_ms, run->moved_lsn, run->base_lsn, run->parked_at_ms,
              run->options_lsn, run->lsn, run->snap);
    }
    return queue_pack(self, W_RUNS, 0);
}

static void ask_cell(TfyPgAsk *ask, const TfyCell *cell, const char *texts)
{
    switch (cell->kind) {
    case TFY_CELL_INT: tfy__pg_ask_word(ask, cell->i); break;
    case TFY_CELL_FLOAT: tfy__pg_ask_float(ask, cell->f); break;
    case TFY_CELL_TEXT: tfy__pg_ask_bytes(ask, texts + cell->i, cell->len, TFY_PG_TEXT); break;
    case TFY_CELL_BLOB: tfy__pg_ask_bytes(ask, texts + cell->i, cell->len, TFY_PG_BYTES); break;
    default: tfy__pg_ask_bytes(ask, NULL, 0, 0); break;
    }
}

/* In their order: a table is made, then filled. */
static int queue_saved(PgStore *self)
{
    const PgRequest *request = &self->request;
    int code = 0;
    for (uint32_t i = 0; !code && i < request->saved.count; i++) {
        const PgSaved *saved = &request->saved.items[i];
        TfyPgAsk ask;
        tfy__pg_ask_text(&ask, request->texts.data + saved->sql_at, "save into a table");
        for (uint32_t j = 0; j < saved->cells; j++)
            ask_cell(&ask, &request->cells.items[saved->cells_at + j], request->texts.data);
        code = tfy__pg_queue(&self->writing, &ask);
    }
    return code;
}

static int queue_verdicts(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_TEXT};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->verdicts.count; i++) {
        const PgVerdict *verdict = &request->verdicts.items[i];
        WORDS(&self->pack, verdict->row.run, verdict->row.n);
        add_text(&self->pack, request->texts.data + verdict->text_at);
    }
    return queue_pack(self, W_VERDICTS, request->hold.session);
}

/* What nobody will read any more. */
static int queue_ended(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->runs.count; i++)
        if (request->runs.items[i].row.state >= TFY_TASK_COMPLETED) WORDS(&self->pack, request->runs.items[i].row.id);
    return queue_pack(self, W_ENDED, 0);
}

static int queue_leaving(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    if (!GROW(self->leaving, self->leaving_room, request->leaving.count, 16)) return TFY_E_NOMEM;
    self->leaving_count = 0;
    for (uint32_t i = 0; i < request->leaving.count; i++) {
        const TfyStoreLeaving *row = &request->leaving.items[i].row;
        if (REPLACED(request->leaving, i, row.run, row.run)) continue;
        WORDS(&self->pack, row->run, row->mail, row->due_ms);
        self->leaving[self->leaving_count++] = row->run;
    }
    return queue_pack(self, W_LEAVING, request->hold.session);
}

/* ---- the commit ---- */

/* The answers that matter. */
typedef struct Answers {
    PgStore *self;
    int leaving, commit; /* numbers of these statements; -1: it is not among them */
    bool committed;
} Answers;

/* Those that left are named in any order; the others stayed. */
static int note_stayed(PgStore *self, const TfyPgResult *result, bool named_stayed)
{
    const TfyPgApi *api = self->writing.api;
    const int count = api->ntuples(result);
    self->base.stayed_count = 0;
    if (!GROW(self->stayed, self->stayed_room, self->leaving_count, 16)) return TFY_E_NOMEM;
    for (uint32_t i = 0; i < self->leaving_count; i++) {
        bool named = false;
        for (int j = 0; !named && j < count; j++) named = tfy__pg_word(api, result, j, 0) == self->leaving[i];
        if (named == named_stayed) self->stayed[self->base.stayed_count++] = self->leaving[i];
    }
    self->base.stayed = self->stayed;
    return 0;
}

static int see_answer(void *state, int number, TfyPgResult *result, bool *is_kept)
{
    Answers *answers = state;
    (void)is_kept;
    if (number == answers->commit)
        answers->committed = strcmp(answers->self->writing.api->cmdStatus(result), "COMMIT") == 0;
    return number == answers->leaving ? note_stayed(answers->self, result, false) : 0;
}

static int queue_all(PgStore *self, Answers *answers)
{
    static int (*const parts[])(PgStore *) = {queue_fence,    queue_programs, queue_begun,  queue_changed,
                                              queue_appended, queue_records,  queue_pieces, queue_births,
                                              queue_tasks,    queue_gaps,     queue_runs,   queue_verdicts,
                                              queue_ended,    queue_saved};
    int code = tfy__pg_queue_begin(&self->writing, "BEGIN");
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++) code = parts[i](self);
    if (!code && self->request.leaving.count) answers->leaving = self->writing.queued;
    if (!code) code = queue_leaving(self);
    answers->commit = self->writing.queued;
    return code ? code : tfy__pg_queue_commit(&self->writing);
}

static int fenced(PgStore *self, const TfyStoreHold *hold)
{
    snprintf(self->base.error, sizeof self->base.error, "session %lld has ended, and others continue its runs",
             (long long)hold->session);
    return TFY_STORE_FENCED;
}

int tfy__pg_told(PgStore *self, const TfyPgLink *link, int code)
{
    if (code) snprintf(self->base.error, sizeof self->base.error, "%s", link->error);
    return code;
}

/* The fence is behind BEGIN, and behind the settings if a transaction has them. */
static bool is_fenced(const PgStore *self)
{
    return self->writing.failed_at == (self->address.unprepared ? 2 : 1) && strcmp(self->writing.state, "22012") == 0;
}

static int not_as_expected(PgStore *self)
{
    snprintf(self->base.error, sizeof self->base.error,
             "the database does not %s for session %lld: rows are not as this session has left them",
             self->writing.whats[self->writing.failed_at], (long long)self->request.hold.session);
    return TFY_E_DATA;
}

/* Sends the transaction once. */
static int send(PgStore *self)
{
    TfyPgLink *link = &self->writing;
    Answers answers = {.self = self, .leaving = -1, .commit = -1};
    int code = tfy__pg_link_open(link);
    if (code) return tfy__pg_told(self, link, code);
    self->base.error[0] = '\0';
    code = queue_all(self, &answers);
    if (code) {
        tfy__pg_unqueue(link);
        return self->base.error[0] ? code : tfy__pg_told(self, link, code);
    }
    code = tfy__pg_sync(link, see_answer, &answers);
    if (code == TFY_E_DATA && is_fenced(self)) return fenced(self, &self->request.hold);
    if (code == TFY_E_DATA && strcmp(link->state, "22012") == 0) return not_as_expected(self);
    if (code) return tfy__pg_told(self, link, code);
    if (link->warned) return tfy__pg_told(self, link, TFY_STORE_UNKNOWN);
    return answers.committed ? 0 : tfy__pg_told(self, link, TFY_STORE_UNKNOWN);
}

/* Whether the same may succeed at once. Who has waited for a lock in vain goes on only if a lost connection of its own had it. */
static bool is_clear(PgStore *self)
{
    if (strcmp(self->writing.state, "55P03") != 0) return true;
    return self->writing.lost_pid && tfy__pg_end_lost(&self->writing) == 0;
}

int tfy__pg_commit(TfyStore *store)
{
    PgStore *self = tfy__pg_inside(store);
    CHECK(self->request.open);
    sort_all(&self->request);
    int code = send(self);
    for (int i = 1; code == TFY_PG_AGAIN && i < TRIES && is_clear(self); i++) code = send(self);
    if (code == TFY_PG_AGAIN) code = TFY_STORE_AWAY;
    if (code != TFY_STORE_AWAY && code != TFY_STORE_FULL) tfy__pg_rollback(store);
    return code;
}

/* ---- after a lost answer ---- */

/* 0, and what the session's row says. */
static int read_session(PgStore *self, const TfyStoreHold *hold, int64_t *beat)
{
    TfyPgAsk ask;
    TfyPgResult *result;
    const TfyPgApi *api = self->writing.api;
    tfy__pg_ask(&self->writing, &ask, W_SESSION);
    tfy__pg_ask_word(&ask, hold->session);
    const int code = tfy__pg_one(&self->writing, &ask, &result);
    if (code) return code;
    const bool lives = api->ntuples(result) == 1 && tfy__pg_word(api, result, 0, 0) == 0;
    *beat = lives ? tfy__pg_word(api, result, 0, 1) : 0;
    api->clear(result);
    return lives ? 0 : fenced(self, hold);
}

typedef struct Confirmed {
    const TfyPgApi *api;
    int number; /* of the statement */
    bool found, committed;
} Confirmed;

static int see_confirmed(void *state, int number, TfyPgResult *result, bool *is_kept)
{
    Confirmed *confirmed = state;
    (void)is_kept;
    if (number == confirmed->number) confirmed->found = confirmed->api->ntuples(result) == 1;
    if (number == confirmed->number + 1)
        confirmed->committed = strcmp(confirmed->api->cmdStatus(result), "COMMIT") == 0;
    return 0;
}

/* A commit of its own that changes nothing: when it is acknowledged, what it stands on is as durable. */
static int confirm(PgStore *self, const TfyStoreHold *hold)
{
    TfyPgAsk ask;
    TfyPgLink *link = &self->writing;
    Confirmed confirmed = {.api = link->api};
    int code = tfy__pg_queue_begin(link, "BEGIN");
    confirmed.number = link->queued;
    tfy__pg_ask(link, &ask, W_CONFIRM);
    tfy__pg_ask_word(&ask, hold->session);
    tfy__pg_ask_word(&ask, hold->commit);
    if (!code) code = tfy__pg_queue(link, &ask);
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, see_confirmed, &confirmed);
    tfy__pg_unqueue(link);
    if (code) return code;
    return link->warned || !confirmed.found || !confirmed.committed ? TFY_STORE_UNKNOWN : 0;
}

static int read_stayed(PgStore *self, const TfyStoreHold *hold)
{
    static const uint32_t types[] = {TFY_PG_I8};
    TfyPgAsk ask;
    TfyPgResult *result;
    if (!self->leaving_count) return 0;
    START(&self->pack, types);
    add_words(&self->pack, self->leaving, self->leaving_count);
    tfy__pg_ask(&self->writing, &ask, W_OWNED);
    tfy__pg_ask_word(&ask, hold->session);
    if (!tfy__pg_ask_column(&ask, &self->pack.columns[0])) return TFY_E_NOMEM;
    int code = tfy__pg_one(&self->writing, &ask, &result);
    if (code) return code;
    code = note_stayed(self, result, true);
    self->writing.api->clear(result);
    return code;
}

static int lost_commits(PgStore *self, const TfyStoreHold *hold, int64_t beat)
{
    snprintf(self->base.error, sizeof self->base.error,
             "the database has lost acknowledged commits: session %lld has had %lld by the database, and %lld were "
             "acknowledged",
             (long long)hold->session, (long long)beat, (long long)hold->commit - 1);
    return TFY_E_DATA;
}

static int find_out(PgStore *self, const TfyStoreHold *hold, bool *happened)
{
    int64_t beat;
    int code = tfy__pg_link_open(&self->writing);
    if (!code) code = read_session(self, hold, &beat);
    if (code) return code;
    if (beat < hold->commit - 1 || beat > hold->commit) return lost_commits(self, hold, beat);
    if (beat < hold->commit) return 0;
    code = confirm(self, hold);
    if (!code) code = read_stayed(self, hold);
    *happened = !code;
    return code;
}

int tfy__pg_settle(TfyStore *store, const TfyStoreHold *hold, bool *happened)
{
    PgStore *self = tfy__pg_inside(store);
    *happened = false;
    self->base.error[0] = '\0';
    int code = find_out(self, hold, happened);
    if (code == TFY_PG_AGAIN) {
        is_clear(self);
        code = TFY_STORE_AWAY;
    }
    return self->base.error[0] ? code : tfy__pg_told(self, &self->writing, code);
}

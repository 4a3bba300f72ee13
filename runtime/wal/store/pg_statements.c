/* pg_statements.c: the statements of a transaction: rows that were put, by arrays of columns, in the order that the rules of pg.h
 * need. */
#include "base/check.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "wal/rows/payload.h"
#include "wal/store/pg_listed.h"
#include "wal/store/store_pg.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHUNK_ROWS = 8192, CHUNK_BYTES = 8 << 20 /* of one statement */ };

/* The statements find as many rows as they have to, or divide by zero. */
#define ALL_OF(rows_, list_) "SELECT 1/(count(*) = cardinality(" list_ "))::int4 FROM " rows_

/* Whether a run leaves: in any case, if its owner has seen all that was sent to it, or not at all. */
#define LEAVES "(w.mail = -1 OR w.mail = r.mail)"
enum { STAYS = -2 };

const TfyPgStatement tfy__pg_writes[W_COUNT] = {
    [W_FENCE] = {.text = "WITH u AS (UPDATE tfy.session SET beat = $2::int8,"
                         " at = (extract(epoch FROM clock_timestamp()) * 1000)::int8"
                         " WHERE id = $1 AND state = 0 AND beat = $2::int8 - 1 RETURNING 1)"
                         " SELECT 1/count(*) FROM u",
                 .what = "renew a session"},
    [W_PROGRAMS] = {.text = "INSERT INTO tfy.program(id, hash, tfyc, source, layout, sum) SELECT * FROM"
                            " unnest($1::int4[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::int8[])"
                            " ON CONFLICT (hash) DO NOTHING",
                    .what = "write programs"},
    [W_BEGUN] =
        {.text =
             "WITH u AS (INSERT INTO tfy.run AS r(id, uuid, program, root, state, started, ended, imported, sum, "
             "origin,"
             " parked, moved, base, parked_at, options, lsn, snap, claims, queue, rank, owner)"
             " SELECT w.*, id << 16, $1::int8 FROM unnest($2::int8[], $3::uuid[], $4::int4[], $5::int4[], $6::int2[],"
             " $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::bytea[], $12::int8[], $13::int8[],"
             " $14::int8[], $15::int8[], $16::int8[], $17::int8[], $18::int8[], $19::int4[], $20::int4[]) AS w(id)"
             " ON CONFLICT (id) DO UPDATE SET (uuid, program, root, state, started, ended, imported, sum, origin,"
             " parked, moved, base, parked_at, options, lsn, snap) = (EXCLUDED.uuid, EXCLUDED.program,"
             " EXCLUDED.root, EXCLUDED.state, EXCLUDED.started, EXCLUDED.ended, EXCLUDED.imported, EXCLUDED.sum,"
             " EXCLUDED.origin, EXCLUDED.parked, EXCLUDED.moved, EXCLUDED.base, EXCLUDED.parked_at,"
             " EXCLUDED.options, EXCLUDED.lsn, EXCLUDED.snap) WHERE r.owner = EXCLUDED.owner RETURNING 1) " ALL_OF(
                 "u", "$2::int8[]"),
         .what = "begin runs"},
    /* Not by the index of owners, which finds more than these. */
    [W_CHANGED] = {.text = ALL_OF(
                       "(SELECT 1 FROM tfy.run WHERE id = ANY($2::int8[]) AND coalesce(owner, 0) = $1 ORDER BY id"
                       " FOR UPDATE) AS mine",
                       "$2::int8[]"),
                   .what = "lock runs"},
    [W_APPENDED] = {.text = ALL_OF("unnest($2::int8[], $3::int8[]) AS w(id, below) WHERE"
                                   " (SELECT r.owner = $1 FROM tfy.run r WHERE r.id = w.id) AND (w.below = 0 OR"
                                   " (SELECT true FROM tfy.record p WHERE p.run = w.id AND p.lsn = w.below))",
                                   "$2::int8[]"),
                    .what = "continue runs"},
    [W_RECORDS] =
        {.text = "INSERT INTO tfy.record(run, ts, chain, step, lsn, prev, task, point, type, v, payload) SELECT * FROM"
                 " unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int4[],"
                 " $8::int4[], $9::int2[], $10::int2[], $11::text[])",
         .what = "append records"},
    [W_PIECES] = {.text = "INSERT INTO tfy.piece(run, lsn, n, bytes) SELECT * FROM"
                          " unnest($1::int8[], $2::int8[], $3::int4[], $4::bytea[])",
                  .what = "append pieces of a record"},
    [W_LISTED] = {.text =
                      "UPDATE tfy.run r SET (program_name, workflow, by, labels, error, tokens_in, tokens_out, cost) ="
                      " (coalesce(w.program_name, r.program_name), coalesce(w.workflow, r.workflow),"
                      " coalesce(w.by, r.by), coalesce(w.labels::jsonb, r.labels), coalesce(w.error, r.error),"
                      " r.tokens_in + w.tokens_in, r.tokens_out + w.tokens_out,"
                      " CASE WHEN w.cost < 0 THEN r.cost ELSE greatest(r.cost, 0) + w.cost END)"
                      " FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],"
                      " $7::int8[], $8::int8[], $9::int8[]) AS w(id, program_name, workflow, by, labels, error,"
                      " tokens_in, tokens_out, cost) WHERE r.id = w.id",
                  .what = "describe runs",
                  .planned_anew = true},
    [W_ASKED] = {.text = "INSERT INTO tfy.question(run, task, step, lsn, asked, text, type) SELECT * FROM"
                         " unnest($1::int8[], $2::int4[], $3::int8[], $4::int8[], $5::int8[], $6::text[], $7::text[])"
                         " ON CONFLICT (run, task, step) DO UPDATE SET (lsn, asked, text, type) ="
                         " (EXCLUDED.lsn, EXCLUDED.asked, EXCLUDED.text, EXCLUDED.type)",
                 .what = "ask questions"},
    [W_ANSWERED] = {.text = "DELETE FROM tfy.question q USING unnest($1::int8[], $2::int4[], $3::int8[])"
                            " AS w(run, task, lsn) WHERE q.run = w.run AND q.task = w.task AND q.lsn < w.lsn",
                    .what = "end questions",
                    .planned_anew = true},
    [W_UNASKED] = {.text = "DELETE FROM tfy.question WHERE run = ANY($1::int8[])", .what = "end questions of a run"},
    [W_BIRTHS] =
        {.text =
             "INSERT INTO tfy.task(run, task, path, program, born, base, base_chain, head, chain, step, state, wait,"
             " sum) SELECT * FROM unnest($1::int8[], $2::int4[], $3::text[], $4::int4[], $5::int8[], $6::int8[],"
             " $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int2[], $12::int2[], $13::int8[])",
         .what = "add tasks"},
    [W_TASKS] = {.text =
                     "WITH u AS (UPDATE tfy.task t SET (program, head, chain, step, state, wait, sum) ="
                     " (w.program, w.head, w.chain, w.step, w.state, w.wait, w.sum) FROM unnest($1::int8[], $2::int4[],"
                     " $3::int4[], $4::int8[], $5::int8[], $6::int8[], $7::int2[], $8::int2[], $9::int8[])"
                     " AS w(run, task, program, head, chain, step, state, wait, sum)"
                     " WHERE t.run = w.run AND t.task = w.task RETURNING 1) " ALL_OF("u", "$1::int8[]"),
                 .what = "change tasks",
                 .planned_anew = true},
    [W_GAPS] = {.text = "INSERT INTO tfy.gap(run, lsn, below, chain) SELECT * FROM"
                        " unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) ON CONFLICT (run, lsn)"
                        " DO UPDATE SET (below, chain) = (EXCLUDED.below, EXCLUDED.chain)",
                .what = "write gaps"},
    [W_RUNS] =
        {.text =
             "UPDATE tfy.run r SET (program, queue, state, ended, imported, sum, parked, moved, base, parked_at, "
             "options,"
             " lsn, snap, owner, due, vain, solo, held) = (w.program, CASE WHEN r.program = w.program THEN r.queue ELSE"
             " (SELECT n.id FROM tfy.queue q JOIN tfy.queue n ON (n.pool, n.needs) = (q.pool, q.needs) WHERE"
             " q.id = r.queue AND n.program = w.program) END, w.state, w.ended, w.imported, w.sum, w.parked, "
             "w.moved, w.base,"
             " w.parked_at, w.options, w.lsn, w.snap, CASE WHEN " LEAVES " THEN NULL ELSE r.owner END,"
             " CASE WHEN " LEAVES " THEN w.due ELSE r.due END, CASE WHEN " LEAVES " THEN 0 ELSE r.vain END,"
             " CASE WHEN " LEAVES " THEN r.crashes > 0 ELSE r.solo END, CASE WHEN " LEAVES " AND w.damaged > 0"
             " THEN coalesce(r.held, 'damaged') ELSE r.held END) FROM unnest($1::int8[], $2::int4[], $3::int2[],"
             " $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[],"
             " $12::int8[], $13::int8[], $14::int8[], $15::int8[], $16::int8[])"
             " AS w(id, program, state, ended, imported, sum, parked, moved, base, parked_at, options, lsn, snap,"
             " mail, due, damaged) WHERE r.id = w.id RETURNING r.id, r.owner IS NULL",
         .what = "change runs",
         .planned_anew = true},
    [W_VERDICTS] = {.text = "WITH u AS (UPDATE tfy.inbox i SET verdict = w.text, code = w.code FROM"
                            " unnest($2::int8[], $3::int8[], $4::text[], $5::int4[]) AS w(run, n, text, code) WHERE "
                            "i.run = w.run AND i.n = w.n AND i.verdict IS NULL"
                            " AND (SELECT r.owner = $1 FROM tfy.run r WHERE r.id = w.run) RETURNING 1) " ALL_OF(
                                "u", "$2::int8[]"),
                    .what = "give verdicts"},
    [W_ENDED] = {.text = "UPDATE tfy.inbox SET verdict = '" TFY_VERDICT_ENDED
                         "', code = ($2::int4[])[1] WHERE run = ANY($1::int8[])"
                         " AND verdict IS NULL",
                 .what = "end mail"},
    /* Two that end at once: the count is that of the row as the first one left it. */
    [W_AFTER] = {.text = "WITH d AS (DELETE FROM tfy.dep WHERE after = ANY($1::int8[]) RETURNING run),"
                         " n AS (SELECT run, count(*)::int4 AS ended FROM d GROUP BY run)"
                         " UPDATE tfy.run r SET waits = r.waits - n.ended,"
                         " due = CASE WHEN r.waits <= n.ended AND r.owner IS NULL THEN 0 ELSE r.due END"
                         " FROM n WHERE r.id = n.run",
                 .what = "let runs begin that waited",
                 .planned_anew = true},
    [W_LEAVING] = {.text = "UPDATE tfy.run r SET owner = NULL, due = w.due, vain = 0, solo = r.crashes > 0,"
                           " held = CASE WHEN w.damaged > 0 THEN coalesce(r.held, 'damaged') ELSE r.held END"
                           " FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[])"
                           " AS w(id, mail, due, damaged) WHERE r.id = w.id AND " LEAVES " RETURNING r.id, true",
                   .what = "let runs go",
                   .planned_anew = true},
    [W_SESSION] = {.text = "SELECT state, beat FROM tfy.session WHERE id = $1", .what = "read a session"},
    [W_CONFIRM] = {.text = "UPDATE tfy.session SET beat = beat WHERE id = $1 AND state = 0 AND beat = $2 RETURNING 1",
                   .what = "confirm a commit"},
    /* A run that the session has claimed again since has left. */
    [W_OWNED] = {.text =
                     "SELECT w.id FROM unnest($2::int8[], $3::int8[]) AS w(id, claims) WHERE (SELECT r.owner = $1 AND"
                     " (w.claims = 0 OR r.claims = w.claims) FROM tfy.run r WHERE r.id = w.id) ORDER BY w.id",
                 .what = "read which runs stayed"},
    /* The session's runs, and those of which it knows newer records, whoever owns them. */
    [W_LOST] = {.text =
                    "WITH w AS (SELECT * FROM unnest($3::int8[], $4::int8[]) AS w(id, lsn)),"
                    " l AS (SELECT id FROM tfy.run WHERE id = ANY(ARRAY(SELECT id FROM tfy.run WHERE owner = $1 UNION"
                    " SELECT w.id FROM w WHERE coalesce((SELECT p.lsn FROM tfy.record p WHERE p.run = w.id ORDER BY"
                    " p.lsn DESC LIMIT 1), 0) < w.lsn)) AND state < 12 AND NOT EXISTS (SELECT 1 FROM tfy.session"
                    " WHERE id = $1 AND beat >= $2) ORDER BY id FOR UPDATE),"
                    " u AS (UPDATE tfy.run SET held = coalesce(held, 'lost') WHERE id = ANY(ARRAY(SELECT id FROM l))"
                    " RETURNING 1) SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM w WHERE NOT EXISTS"
                    " (SELECT 1 FROM tfy.run r WHERE r.id = w.id))",
                .what = "hold the runs of which records were lost"},
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

void tfy__pg_sort_rows(PgRequest *request)
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
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_UUID, TFY_PG_I4,    TFY_PG_I4, TFY_PG_I2, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8,   TFY_PG_BYTES, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8,   TFY_PG_I8,    TFY_PG_I4, TFY_PG_I4};
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
              run->snap, run->claims + 1, run->queue);
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

/* Each run once that gets rows, unless it is known, and the record that has to be there for them; 0: none. Holes within the
 * transaction are found here, TFY_E_DATA. */
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
        const int64_t tail = tfy__pg_tail(self, id);
        if (!tail || (lsn && below != tail)) WORDS(&self->pack, id, below);
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

/* ---- for lists ---- */

/* The record with its payload, which is in one piece here. */
static TfyLogRecord whole_record(const PgRequest *request, const PgRecord *record)
{
    TfyLogRecord row = record->row;
    row.payload = request->texts.data + record->payload_at;
    return row;
}

static void add_maybe(PgPack *pack, const char *text)
{
    add_bytes(pack, text, text ? strlen(text) : 0);
}

/* Each run once, whatever of its records say something. */
static int queue_listed(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8,   TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_TEXT,
                                     TFY_PG_TEXT, TFY_PG_I8,   TFY_PG_I8,   TFY_PG_I8};
    const PgRequest *request = &self->request;
    TfyPgListed listed;
    START(&self->pack, types);
    tfy__pg_listed_start(&listed);
    for (uint32_t i = 0; i < request->records.count; i++) {
        const int64_t run = request->records.items[i].row.run;
        const TfyLogRecord record = whole_record(request, &request->records.items[i]);
        tfy__pg_listed_add(&listed, &record);
        if (i + 1 < request->records.count && request->records.items[i + 1].row.run == run) continue;
        if (listed.any) {
            WORDS(&self->pack, run);
            add_maybe(&self->pack, listed.program_name);
            add_maybe(&self->pack, listed.workflow);
            add_maybe(&self->pack, listed.by);
            add_maybe(&self->pack, listed.labels);
            add_maybe(&self->pack, listed.error);
            WORDS(&self->pack, listed.tokens_in, listed.tokens_out, listed.cost);
        }
        tfy__pg_listed_free(&listed);
    }
    return queue_pack(self, W_LISTED, 0);
}

/* Whether the step asks anew in the same transaction. */
static bool asks_again(const PgRequest *request, uint32_t i)
{
    const TfyLogRecord *first = &request->records.items[i].row;
    for (uint32_t j = i + 1; j < request->records.count && request->records.items[j].row.run == first->run; j++) {
        const TfyLogRecord record = whole_record(request, &request->records.items[j]);
        if (record.tid == first->tid && record.step == first->step && tfy__pg_asks(&record)) return true;
    }
    return false;
}

static int queue_asked(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_TEXT, TFY_PG_TEXT};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->records.count; i++) {
        const TfyLogRecord record = whole_record(request, &request->records.items[i]);
        if (!tfy__pg_asks(&record) || asks_again(request, i)) continue;
        size_t len = 0;
        const char *type = tfy__record_raw(&record, TFY_P_TYPE, &len);
        char *text = tfy__record_text(&record, TFY_P_QUESTION);
        const bool fits = text && tfy__utf8_broken(text, strlen(text)) == strlen(text);
        WORDS(&self->pack, record.run, record.tid, record.step, record.lsn, record.ts_ms);
        add_maybe(&self->pack, fits ? text : NULL);
        add_bytes(&self->pack, type, len);
        free(text);
    }
    return queue_pack(self, W_ASKED, 0);
}

static int queue_answered(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4, TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->records.count; i++) {
        const TfyLogRecord record = whole_record(request, &request->records.items[i]);
        if (tfy__pg_answers(&record)) WORDS(&self->pack, record.run, record.tid, record.lsn);
    }
    return queue_pack(self, W_ANSWERED, 0);
}

/* What is left over when a run ends without an answer. */
static int queue_unasked(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->runs.count; i++)
        if (request->runs.items[i].row.state >= TFY_TASK_COMPLETED) WORDS(&self->pack, request->runs.items[i].row.id);
    return queue_pack(self, W_UNASKED, 0);
}

/* ---- rows of tasks and runs ---- */

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
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4, TFY_PG_I2, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8,
                                     TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8};
    const PgRequest *request = &self->request;
    uint32_t j = 0;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->runs.count; i++) {
        const TfyLogRun *run = &request->runs.items[i].row;
        if (REPLACED(request->runs, i, row.id, row.id)) continue;
        WORDS(&self->pack, run->id, run->program, run->state, run->ended_ms, run->imported,
              (int64_t)tfy__store_sum_run(run), run->parked_ms, run->moved_lsn, run->base_lsn, run->parked_at_ms,
              run->options_lsn, run->lsn, run->snap);
        while (j < self->leaving.count && self->leaving.items[j].row.run < run->id) j++;
        const bool leaves = j < self->leaving.count && self->leaving.items[j].row.run == run->id;
        PgLeft *left = leaves ? &self->leaving.items[j] : NULL;
        if (left) left->written = true;
        WORDS(&self->pack, left ? left->row.mail : STAYS, left ? left->row.due_ms : 0, left && left->row.damaged);
    }
    if (self->pack.rows) self->leaving_at[0] = self->writing.queued;
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
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_TEXT, TFY_PG_I4};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->verdicts.count; i++) {
        const PgVerdict *verdict = &request->verdicts.items[i];
        WORDS(&self->pack, verdict->row.run, verdict->row.n);
        add_text(&self->pack, request->texts.data + verdict->text_at);
        WORDS(&self->pack, verdict->row.code);
    }
    return queue_pack(self, W_VERDICTS, request->hold.session);
}

/* The verdict on what nobody will read any more. */
static int queue_ended(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I4};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->runs.count; i++)
        if (request->runs.items[i].row.state >= TFY_TASK_COMPLETED)
            WORDS(&self->pack, request->runs.items[i].row.id, TFY_E_STATE);
    return queue_pack(self, W_ENDED, 0);
}

/* Runs that were started to begin when these have ended. */
static int queue_after(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8};
    const PgRequest *request = &self->request;
    START(&self->pack, types);
    for (uint32_t i = 0; i < request->runs.count; i++)
        if (request->runs.items[i].row.state >= TFY_TASK_COMPLETED) WORDS(&self->pack, request->runs.items[i].row.id);
    return queue_pack(self, W_AFTER, 0);
}

static int gather_leaving(PgStore *self)
{
    const PgRequest *request = &self->request;
    self->leaving.count = 0;
    self->leaving_at[0] = self->leaving_at[1] = -1;
    if (!GROW(self->leaving.items, self->leaving.room, request->leaving.count, 16)) return TFY_E_NOMEM;
    for (uint32_t i = 0; i < request->leaving.count; i++)
        if (!REPLACED(request->leaving, i, row.run, row.run))
            self->leaving.items[self->leaving.count++] = (PgLeft){.row = request->leaving.items[i].row};
    return 0;
}

/* Those of which the row does not change otherwise. */
static int queue_leaving(PgStore *self)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8, TFY_PG_I8, TFY_PG_I8};
    START(&self->pack, types);
    for (uint32_t i = 0; i < self->leaving.count; i++) {
        const PgLeft *left = &self->leaving.items[i];
        if (!left->written) WORDS(&self->pack, left->row.run, left->row.mail, left->row.due_ms, left->row.damaged);
    }
    if (self->pack.rows) self->leaving_at[1] = self->writing.queued;
    return queue_pack(self, W_LEAVING, 0);
}

int tfy__pg_queue_rows(PgStore *self)
{
    /* What the owner alone may do comes before runs lose him. */
    static int (*const parts[])(PgStore *) = {
        gather_leaving, queue_fence,  queue_programs, queue_begun,    queue_changed, queue_appended, queue_records,
        queue_pieces,   queue_listed, queue_asked,    queue_answered, queue_unasked, queue_births,   queue_tasks,
        queue_gaps,     queue_saved,  queue_verdicts, queue_ended,    queue_after,   queue_runs,     queue_leaving};
    int code = 0;
    for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++) code = parts[i](self);
    return code;
}

int tfy__pg_ask_owned(PgStore *self, TfyPgAsk *ask, int64_t session)
{
    static const uint32_t types[] = {TFY_PG_I8, TFY_PG_I8};
    START(&self->pack, types);
    for (uint32_t i = 0; i < self->leaving.count; i++)
        WORDS(&self->pack, self->leaving.items[i].row.run, self->leaving.items[i].row.claims);
    tfy__pg_ask(&self->writing, ask, W_OWNED);
    tfy__pg_ask_word(ask, session);
    for (int i = 0; i < self->pack.width; i++)
        if (!tfy__pg_ask_column(ask, &self->pack.columns[i])) return TFY_E_NOMEM;
    return 0;
}

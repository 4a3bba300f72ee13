/* pg_submit.c: see pg_submit.h. */
#include "wal/store/pg_submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "wal/store/birth.h"
#include "wal/store/pg_link.h"
#include "wal/store/pg_listed.h"
#include "wal/store/pg_schema.h"
#include "wal/store/store.h"

enum { PATIENCE_MS = 30000, ARRAYS = 12, LISTED = 8 /* the first array of what lists show */ };

static const char ids_text[] =
    "SELECT nextval(pg_get_serial_sequence('tfy.run', 'id')) FROM generate_series(1, $1::int8)";

/* Locks the tenant. Divides by zero if it would have too many ready runs, and takes its name for a number if there is none. Runs that
 * are known count already. */
static const char tenant_text[] =
    "WITH t AS (SELECT id, max_ready FROM tfy.tenant WHERE name = $1::text FOR UPDATE)"
    " SELECT 1/CASE WHEN EXISTS (SELECT 1 FROM t) THEN (SELECT (t.max_ready IS NULL OR (SELECT count(*) FROM (SELECT 1"
    " FROM tfy.run WHERE tenant = t.id AND owner IS NULL AND state < 12 AND due = 0 LIMIT t.max_ready + 1) AS r) +"
    " (SELECT count(*) FROM unnest($2::uuid[]) AS u WHERE NOT EXISTS (SELECT 1 FROM tfy.run k WHERE k.uuid = u))"
    " <= t.max_ready)::int4 FROM t) ELSE ('no tenant ' || (SELECT count(*) FROM t))::int4 END";

/* A run of a tenant goes behind the tenant's last one, as many ranks as its weight says, and not before the first run that waits to
 * begin: so a tenant that had nothing to do for long has no advantage, and one with many runs delays no other's first. Without runs that
 * wait, the ranks are those of runs without a tenant. */
#define WAITS_TO_BEGIN "owner IS NULL AND state < 12 AND due = 0 AND held IS NULL AND NOT solo AND claims = 0"
#define STEP           "(65536 / coalesce(t.weight, 1))"

/* One statement, so that a run is there with all that it has. A run that it comes after is locked: that one either has ended, or ends
 * behind this, and then its end finds the row of `dep`. */
static const char submit_text[] =
    "WITH w AS (SELECT * FROM unnest($1::int8[], $2::uuid[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], "
    "$7::int8[],"
    " $8::text[], $17::text[], $18::text[], $19::text[], $20::text[]) AS w(id, uuid, started, sum, base_chain, chain,"
    " task_sum, payload, program_name, workflow, by, labels)),"
    " a AS (SELECT id FROM tfy.run WHERE id = ANY($16::int8[]) AND state < 12 ORDER BY id FOR SHARE),"
    " c AS (SELECT count(*)::int4 AS waits FROM a),"
    " v AS (SELECT t.id, " STEP " AS step, greatest(coalesce(t.vt, 0), coalesce((SELECT rank FROM tfy.run WHERE queue ="
    " $10::int8 AND " WAITS_TO_BEGIN " ORDER BY rank LIMIT 1), (SELECT min(id) << 16 FROM w))) AS vt FROM tfy.tenant t"
    " WHERE t.name = $21::text),"
    " n AS (INSERT INTO tfy.run(id, uuid, program, queue, tenant, root, state, started, sum, lsn, rank, waits, due,"
    " program_name, workflow, by, labels)"
    " SELECT w.id, w.uuid, $9::int8, $10::int8, v.id, $11::int8, $12::int8, w.started, w.sum, 1, coalesce(v.vt + "
    "v.step *"
    " row_number() OVER (ORDER BY w.id), w.id << 16) - (64 << 16) * $13::int8, c.waits,"
    " CASE WHEN c.waits > 0 THEN 9223372036854775807 ELSE 0 END, w.program_name, w.workflow, w.by, w.labels::jsonb"
    " FROM w CROSS JOIN c LEFT JOIN v ON true ORDER BY w.id"
    " ON CONFLICT (uuid) DO NOTHING RETURNING id),"
    " x AS (UPDATE tfy.tenant SET vt = v.vt + v.step * (SELECT count(*) FROM n) FROM v WHERE tenant.id = v.id AND"
    " EXISTS (SELECT 1 FROM n)),"
    " d AS (INSERT INTO tfy.dep(run, after) SELECT n.id, a.id FROM n, a),"
    " r AS (INSERT INTO tfy.record(run, ts, chain, step, lsn, prev, task, point, type, v, payload) SELECT w.id, "
    "w.started,"
    " w.chain, 0, 1, 0, $11::int8, 0, $14::int8, $15::int8, w.payload FROM w JOIN n USING (id)),"
    " t AS (INSERT INTO tfy.task(run, task, path, program, born, base, base_chain, head, chain, step, state, wait, sum)"
    " SELECT w.id, $11::int8, '1', $9::int8, 1, 0, w.base_chain, 1, w.chain, 0, 0, 0, w.task_sum FROM w JOIN n USING "
    "(id))"
    " SELECT id FROM n ORDER BY id";

struct TfyPgSubmitter {
    TfyPgAddress address;
    TfyPgLink link;
    TfyPgColumn columns[ARRAYS], after;
};

static const uint32_t types[ARRAYS] = {TFY_PG_I8, TFY_PG_UUID, TFY_PG_I8,   TFY_PG_I8,   TFY_PG_I8,   TFY_PG_I8,
                                       TFY_PG_I8, TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_TEXT, TFY_PG_TEXT};

/* ---- what is sent ---- */

static void add_words(TfyPgSubmitter *self, int first, const int64_t *words, int count)
{
    for (int i = 0; i < count; i++) tfy__pg_column_word(&self->columns[first + i], TFY_PG_I8, words[i]);
}

static void add_listed(TfyPgSubmitter *self, const char *birth)
{
    TfyPgListed listed;
    const TfyLogRecord record = tfy__record_of_payload(birth);
    tfy__pg_listed_start(&listed);
    tfy__pg_listed_birth(&listed, &record);
    const char *const texts[] = {listed.program_name, listed.workflow, listed.by, listed.labels};
    for (int i = 0; i < ARRAYS - LISTED; i++)
        tfy__pg_column_bytes(&self->columns[LISTED + i], texts[i], texts[i] ? strlen(texts[i]) : 0);
    tfy__pg_listed_free(&listed);
}

static void add_run(TfyPgSubmitter *self, const TfyPgSubmit *run)
{
    TfyLogRecord record;
    TfyStoreTask root;
    tfy__store_birth(&run->row, run->birth, &record, &root);
    /* The statement says the rest. */
    CHECK(root.born == 1 && !root.base && root.head == 1 && !root.step && !root.state && !root.wait);
    CHECK(strcmp(root.path, "1") == 0 && record.ts_ms == run->row.started_ms && !run->row.origin_lsn);
    add_words(self, 0, (const int64_t[]){run->row.id}, 1);
    tfy__pg_column_bytes(&self->columns[1], run->row.uuid, sizeof run->row.uuid);
    const int64_t words[] = {run->row.started_ms, (int64_t)tfy__store_sum_run(&run->row), (int64_t)root.base_chain,
                             (int64_t)root.chain, (int64_t)tfy__store_sum_task(&root)};
    add_words(self, 2, words, 5);
    tfy__pg_column_bytes(&self->columns[7], run->birth, record.payload_len);
    add_listed(self, run->birth);
}

static int ask_for(TfyPgSubmitter *self, TfyPgAsk *ask, const TfyPgBegin *begin, const TfyPgSubmit *runs,
                   uint32_t count)
{
    const TfyLogRun *first = &runs->row;
    for (int i = 0; i < ARRAYS; i++) tfy__pg_column_start(&self->columns[i], types[i]);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(runs[i].row.program == first->program && runs[i].row.root == first->root &&
              runs[i].row.state == first->state);
        add_run(self, &runs[i]);
    }
    tfy__pg_ask_text(ask, submit_text, "submit runs");
    for (int i = 0; i < LISTED; i++)
        if (!tfy__pg_ask_column(ask, &self->columns[i])) return TFY_E_NOMEM;
    const int64_t words[] = {first->program,          begin->queue, first->root, first->state, begin->priority,
                             TFY_R_INSTRUCTION_START, TFY_RECORD_V};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) tfy__pg_ask_word(ask, words[i]);
    tfy__pg_column_start(&self->after, TFY_PG_I8);
    for (uint32_t i = 0; i < begin->after_count; i++) tfy__pg_column_word(&self->after, TFY_PG_I8, begin->after[i]);
    bool fine = tfy__pg_ask_column(ask, &self->after);
    for (int i = LISTED; fine && i < ARRAYS; i++) fine = tfy__pg_ask_column(ask, &self->columns[i]);
    tfy__pg_ask_bytes(ask, begin->tenant, begin->tenant ? strlen(begin->tenant) : 0, TFY_PG_TEXT);
    return fine ? 0 : TFY_E_NOMEM;
}

/* After ask_for, whose column of uuids it shares. */
static int ask_tenant(TfyPgSubmitter *self, TfyPgAsk *ask, const TfyPgBegin *begin)
{
    tfy__pg_ask_text(ask, tenant_text, "find a tenant");
    tfy__pg_ask_bytes(ask, begin->tenant, strlen(begin->tenant), TFY_PG_TEXT);
    return tfy__pg_ask_column(ask, &self->columns[1]) ? 0 : TFY_E_NOMEM;
}

/* ---- the transaction ---- */

static int number(TfyPgSubmitter *self, TfyPgSubmit *runs, uint32_t count)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    tfy__pg_ask_text(&ask, ids_text, "number runs");
    tfy__pg_ask_word(&ask, count);
    const int code = tfy__pg_one(&self->link, &ask, &result);
    for (uint32_t i = 0; !code && i < count; i++) {
        runs[i].row.id = tfy__pg_word(self->link.api, result, (int)i, 0);
        runs[i].row.lsn = 1;
    }
    if (result) self->link.api->clear(result);
    return code == TFY_STORE_UNKNOWN ? TFY_STORE_AWAY : code;
}

typedef struct Put {
    const TfyPgApi *api;
    TfyPgSubmit *runs;
    uint32_t count;
    int submits, commits; /* numbers of statements */
    bool committed;
} Put;

/* Those that are not among the new ones are known. */
static int see(void *state, int at, TfyPgResult *result, bool *kept)
{
    Put *put = state;
    (void)kept;
    if (at == put->commits) put->committed = strcmp(put->api->cmdStatus(result), "COMMIT") == 0;
    if (at != put->submits) return 0;
    const int rows = put->api->ntuples(result);
    for (uint32_t i = 0, row = 0; i < put->count; i++) {
        put->runs[i].known = (int)row >= rows || tfy__pg_word(put->api, result, (int)row, 0) != put->runs[i].row.id;
        row += !put->runs[i].known;
    }
    return 0;
}

static int refused(TfyPgSubmitter *self, const TfyPgBegin *begin, int code)
{
    char *error = self->link.error;
    if (code == TFY_E_ABSENT)
        snprintf(error, sizeof self->link.error, "there is no tenant '%.80s'; 'tfy db tenant %.80s' makes one",
                 begin->tenant, begin->tenant);
    else
        snprintf(error, sizeof self->link.error, "tenant '%.80s' has as many ready runs as it may; start it later",
                 begin->tenant);
    return code;
}

/* tenant: NULL: the runs have none. */
static int send(TfyPgSubmitter *self, const TfyPgAsk *tenant, const TfyPgAsk *ask, TfyPgSubmit *runs, uint32_t count)
{
    TfyPgLink *link = &self->link;
    Put put = {.api = link->api, .runs = runs, .count = count};
    int code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
    const int tenants = link->queued;
    if (!code && tenant) code = tfy__pg_queue(link, tenant);
    if (!code) code = tfy__pg_queue(link, ask);
    put.submits = link->queued - 1;
    put.commits = link->queued;
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, see, &put);
    tfy__pg_unqueue(link);
    if (!code && (link->warned || !put.committed)) code = TFY_STORE_UNKNOWN;
    if (code == TFY_E_DATA && tenant && link->failed_at == tenants)
        return strcmp(link->state, "22012") == 0 ? TFY_E_FULL : TFY_E_ABSENT;
    return code == TFY_PG_AGAIN ? TFY_STORE_AWAY : code;
}

int tfy__pg_submit(TfyPgSubmitter *self, const TfyPgBegin *begin, TfyPgSubmit *runs, uint32_t count)
{
    TfyPgAsk ask, tenant;
    if (!count) return 0;
    int code = tfy__pg_link_open(&self->link);
    if (!code) code = number(self, runs, count);
    if (!code) code = ask_for(self, &ask, begin, runs, count);
    if (!code && begin->tenant) code = ask_tenant(self, &tenant, begin);
    if (!code) code = send(self, begin->tenant ? &tenant : NULL, &ask, runs, count);
    return code == TFY_E_ABSENT || code == TFY_E_FULL ? refused(self, begin, code) : code;
}

/* ---- opening ---- */

const char *tfy__pg_submitter_error(const TfyPgSubmitter *self)
{
    return self->link.error;
}

void tfy__pg_submitter_close(TfyPgSubmitter *self)
{
    if (!self) return;
    tfy__pg_leave(&self->link, &self->address);
    for (int i = 0; i < ARRAYS; i++) tfy__pg_column_free(&self->columns[i]);
    tfy__pg_column_free(&self->after);
    free(self);
}

int tfy__pg_submitter_open(TfyPgSubmitter **submitter, const char *address, char *error_text)
{
    TfyPgSubmitter *self = *submitter = calloc(1, sizeof *self);
    if (!self) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for a database");
    int code = tfy__pg_reach(&self->link, &self->address, address, PATIENCE_MS, error_text);
    self->link.needs = TFY_PG_SENDER;
    if (!code) code = tfy__pg_link_first(&self->link, error_text);
    if (!code) return 0;
    tfy__pg_submitter_close(self);
    *submitter = NULL;
    return code;
}

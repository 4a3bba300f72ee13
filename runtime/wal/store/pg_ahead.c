/* pg_ahead.c: see pg_ahead.h. */
#include "wal/store/pg_ahead.h"
#include "wal/store/store_pg.h"

#include <stdlib.h>

/* As many rows of a run as a walk fetches at once, and about as many bytes. */
enum { ROWS_MOST = TFY_PG_WALK_ROWS, BYTES_MOST = 64 << 10 };

#define ANY INT64_MIN

typedef enum Part { RUNS, BIRTHS, RECORDS, TASKS, PARTS } Part;

typedef struct PgAhead {
    TfyAhead base; /* must be first */
    const TfyPgApi *api;
    TfyPgResult *rows[PARTS]; /* by the run's id, then by lsn or task */
} PgAhead;

static const TfyPgStatement statements[PARTS] = {
    [RUNS] = {.text = "SELECT " TFY_PG_RUN_COLUMNS " FROM tfy.run WHERE id = ANY($1::int8[]) ORDER BY id",
              .what = "read runs"},
    /* Of a run without a snapshot it is among the records. */
    [BIRTHS] = {.text = "SELECT w.* FROM unnest($1::int8[]) AS a(id) JOIN tfy.run r ON r.id = a.id AND r.snap > 0"
                        " CROSS JOIN LATERAL (SELECT born FROM tfy.task WHERE run = r.id AND task = r.root) AS t"
                        " CROSS JOIN LATERAL (SELECT " TFY_PG_RECORD_COLUMNS
                        " FROM tfy.record WHERE run = r.id AND lsn = t.born) AS w WHERE w.lsn < r.snap ORDER BY w.run",
                .what = "read births of runs"},
    [RECORDS] = {.text = "SELECT w.* FROM unnest($1::int8[]) AS a(id) JOIN tfy.run r ON r.id = a.id CROSS JOIN LATERAL"
                         " (SELECT " TFY_PG_RECORD_COLUMNS ", sum(octet_length(payload)) OVER (ORDER BY lsn"
                         " ROWS UNBOUNDED PRECEDING) - octet_length(payload) AS before FROM tfy.record"
                         " WHERE run = r.id AND lsn >= r.snap ORDER BY lsn LIMIT 512) AS w"
                         " WHERE w.before < 65536 ORDER BY w.run, w.lsn",
                 .what = "read records of runs"},
    [TASKS] = {.text = "SELECT t.* FROM unnest($1::int8[]) AS a(id) CROSS JOIN LATERAL (SELECT " TFY_PG_TASK_COLUMNS
                       " FROM tfy.task WHERE run = a.id ORDER BY task LIMIT 512) AS t ORDER BY t.run, t.task",
               .what = "read tasks of runs"},
};
_Static_assert(ROWS_MOST == 512 && BYTES_MOST == 65536, "the statements say so");

static void free_ahead(TfyAhead *base)
{
    PgAhead *ahead = (PgAhead *)base;
    for (int i = 0; i < PARTS; i++)
        if (ahead->rows[i]) ahead->api->clear(ahead->rows[i]);
    free(ahead);
}

/* ---- reading ---- */

static int keep(void *state, int number, TfyPgResult *result, bool *kept)
{
    PgAhead *ahead = state;
    ahead->rows[number] = result;
    return *kept = true, 0;
}

static int queue_all(TfyPgLink *link, TfyPgColumn *ids)
{
    int code = 0;
    for (int i = 0; !code && i < PARTS; i++) {
        TfyPgAsk ask;
        tfy__pg_ask_text(&ask, statements[i].text, statements[i].what);
        code = tfy__pg_ask_column(&ask, ids) ? tfy__pg_queue(link, &ask) : TFY_E_NOMEM;
    }
    return code;
}

static int read_all(TfyPgLink *link, TfyPgColumn *ids, PgAhead *ahead)
{
    int code = tfy__pg_link_open(link);
    if (!code) code = queue_all(link, ids);
    if (!code) code = tfy__pg_sync(link, keep, ahead);
    tfy__pg_unqueue(link);
    return code;
}

int tfy__pg_read_ahead(TfyPgLink *link, const int64_t *runs, uint32_t count, TfyAhead **ahead)
{
    TfyPgColumn ids = {0};
    PgAhead *made = calloc(1, sizeof *made);
    *ahead = NULL;
    if (!made) return TFY_E_NOMEM;
    *made = (PgAhead){.base.free = free_ahead, .api = link->api};
    tfy__pg_column_start(&ids, TFY_PG_I8);
    for (uint32_t i = 0; i < count; i++) tfy__pg_column_word(&ids, TFY_PG_I8, runs[i]);
    const int code = read_all(link, &ids, made);
    tfy__pg_column_free(&ids);
    if (code)
        free_ahead(&made->base);
    else
        *ahead = &made->base;
    return code;
}

/* ---- looking ---- */

/* The first row that is not before (run, number); ANY: the first row of the run. */
static int search(const PgAhead *ahead, Part part, int64_t run, int64_t number)
{
    const TfyPgResult *rows = ahead->rows[part];
    int low = 0, high = ahead->api->ntuples(rows);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int64_t at = tfy__pg_word(ahead->api, rows, middle, 0);
        const bool before =
            at < run || (at == run && number > ANY && tfy__pg_word(ahead->api, rows, middle, 1) < number);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_row(const PgAhead *ahead, Part part, int row, int64_t run)
{
    return row < ahead->api->ntuples(ahead->rows[part]) && tfy__pg_word(ahead->api, ahead->rows[part], row, 0) == run;
}

static TfyPgFound one(const PgAhead *ahead, Part part, int row)
{
    return (TfyPgFound){.api = ahead->api, .rows = ahead->rows[part], .first = row, .count = 1};
}

/* The row (run, number). */
static TfyPgFound find(const PgAhead *ahead, Part part, int64_t run, int64_t number)
{
    const int row = search(ahead, part, run, number);
    if (!is_row(ahead, part, row, run) || tfy__pg_word(ahead->api, ahead->rows[part], row, 1) != number)
        return (TfyPgFound){0};
    return one(ahead, part, row);
}

static const PgAhead *inside(const TfyAhead *ahead)
{
    return (const PgAhead *)ahead;
}

TfyPgFound tfy__pg_ahead_run(const TfyAhead *ahead, int64_t run)
{
    if (!ahead) return (TfyPgFound){0};
    const int row = search(inside(ahead), RUNS, run, ANY);
    return is_row(inside(ahead), RUNS, row, run) ? one(inside(ahead), RUNS, row) : (TfyPgFound){0};
}

TfyPgFound tfy__pg_ahead_record(const TfyAhead *ahead, int64_t run, int64_t lsn)
{
    if (!ahead) return (TfyPgFound){0};
    const TfyPgFound found = find(inside(ahead), RECORDS, run, lsn);
    return found.rows ? found : find(inside(ahead), BIRTHS, run, lsn);
}

TfyPgFound tfy__pg_ahead_task(const TfyAhead *ahead, int64_t run, int64_t task)
{
    return ahead ? find(inside(ahead), TASKS, run, task) : (TfyPgFound){0};
}

/* All rows of the run from a number on; *before: how many rows of it there are below that number. */
static TfyPgFound find_all(const PgAhead *ahead, Part part, int64_t run, int64_t from, int *before)
{
    TfyPgFound found = one(ahead, part, search(ahead, part, run, from));
    for (found.count = 0; is_row(ahead, part, found.first + found.count, run);) found.count++;
    *before = found.first - search(ahead, part, run, ANY);
    found.whole = *before + found.count < ROWS_MOST;
    return found;
}

/* How many bytes of payload a run's records have, up to this one. */
static int64_t bytes_upto(const TfyPgFound *found, int row)
{
    return tfy__pg_word(found->api, found->rows, row, TFY_PG_RECORD_BEFORE) +
           found->api->getlength(found->rows, row, TFY_PG_RECORD_PAYLOAD);
}

TfyPgFound tfy__pg_ahead_records(const TfyAhead *ahead, int64_t run, int64_t from)
{
    int before;
    const TfyPgFound row = tfy__pg_ahead_run(ahead, run);
    if (!row.rows || from < tfy__pg_word(row.api, row.rows, row.first, TFY_PG_RUN_SNAP)) return (TfyPgFound){0};
    TfyPgFound found = find_all(inside(ahead), RECORDS, run, from, &before);
    if (before + found.count) found.whole &= bytes_upto(&found, found.first + found.count - 1) < BYTES_MOST;
    return found;
}

TfyPgFound tfy__pg_ahead_tasks(const TfyAhead *ahead, int64_t run, int64_t from)
{
    int before;
    return tfy__pg_ahead_run(ahead, run).rows ? find_all(inside(ahead), TASKS, run, from, &before) : (TfyPgFound){0};
}

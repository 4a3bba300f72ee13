/* pg_overview.c: see pg_overview.h. */
#include "wal/store/pg_overview.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys_memory.h"
#include "wal/store/pg_link.h"

enum { PATIENCE_MS = 60000 };

#define NOW_MS "(extract(epoch FROM clock_timestamp()) * 1000)::int8"
#define LIST(columns_, order_, from_)                                                                                  \
    "SELECT coalesce(json_agg(x ORDER BY " order_ "), '[]'::json)::text FROM (SELECT " columns_ " FROM " from_ ") AS " \
    "x"
#define NOBODY_S "owner IS NULL AND state < 12 AND held IS NULL"

static const char workers_text[] = LIST(
    "s.worker, s.id AS session, s.name AS program, encode(s.program, 'hex') AS version, s.pool, s.version AS tiffany,"
    " (SELECT count(*) FROM tfy.run r WHERE r.owner = s.id) AS runs, s.capacity,"
    " greatest(0, " NOW_MS " - s.opened) AS age_ms, greatest(0, " NOW_MS " - coalesce(s.at, s.opened)) AS silent_ms",
    "x.worker, x.session", "tfy.session s WHERE s.state = 0");

/* Each part is counted in an index of its own (pg_schema.c). The oldest run is the first in the order of claims that nobody has had:
 * of one that was claimed before, nothing says since when it is ready again. In doubt is a task whose newest record of the two types
 * is InDoubt (30) and not Resolved (31). */
static const char queues_text[] =
    "WITH n AS (SELECT queue, count(*) AS ready, 0 AS owned, 0 AS waiting, 0 AS held, 0 AS doubt FROM tfy.run"
    " WHERE " NOBODY_S " AND due = 0 AND NOT solo GROUP BY queue"
    " UNION ALL SELECT queue, count(*), 0, 0, 0, 0 FROM tfy.run WHERE " NOBODY_S " AND due = 0 AND solo GROUP BY queue"
    " UNION ALL SELECT queue, 0, count(*), 0, 0, 0 FROM tfy.run WHERE owner IS NOT NULL AND state < 12 GROUP BY queue"
    " UNION ALL SELECT queue, 0, 0, count(*), 0, 0 FROM tfy.run WHERE " NOBODY_S " AND due > 0 GROUP BY queue"
    " UNION ALL SELECT queue, 0, 0, 0, count(*), 0 FROM tfy.run WHERE owner IS NULL AND state < 12 AND held IS NOT NULL"
    " GROUP BY queue"
    " UNION ALL SELECT r.queue, 0, 0, 0, 0, count(DISTINCT r.id) FROM (SELECT DISTINCT ON (run, task) run, type FROM"
    " tfy.record WHERE type IN (30, 31) ORDER BY run, task, lsn DESC) AS d JOIN tfy.run r ON r.id = d.run"
    " WHERE d.type = 30 AND r.state < 12 GROUP BY r.queue),"
    " t AS (SELECT queue, sum(ready)::int8 AS ready, sum(owned)::int8 AS owned, sum(waiting)::int8 AS waiting,"
    " sum(held)::int8 AS held, sum(doubt)::int8 AS doubt FROM n GROUP BY queue) " LIST(
        "q.pool, " TFY_PG_NAME_OF_P " AS program, encode(p.hash, 'hex') AS version,"
        " EXISTS (SELECT 1 FROM tfy.deployment d WHERE d.program = p.id) AS deployed, q.paused,"
        " coalesce(t.ready, 0) AS ready, (SELECT greatest(0, " NOW_MS
        " - o.started) FROM tfy.run o WHERE o.queue = q.id"
        " AND o.owner IS NULL AND o.state < 12 AND o.held IS NULL AND o.due = 0 AND NOT o.solo AND o.claims = 0"
        " ORDER BY o.rank LIMIT 1) AS oldest_ms, coalesce(t.owned, 0) AS owned, coalesce(t.waiting, 0) AS waiting,"
        " coalesce(t.held, 0) AS held, coalesce(t.doubt, 0) AS in_doubt,"
        " (SELECT count(*) FROM tfy.session s WHERE s.state = 0 AND s.pool = q.pool AND s.program = p.hash) AS workers,"
        " (SELECT count(*) FROM tfy.session s WHERE s.state = 0 AND s.pool = q.pool) AS pool_workers",
        "x.pool, x.program, x.version",
        "tfy.queue q JOIN tfy.program p ON p.id = q.program LEFT JOIN t ON t.queue = q.id");

static const char programs_text[] = LIST(
    "d.name AS program, encode(p.hash, 'hex') AS version, p.tfyc AS tiffany,"
    " round(d.share * 100.0 / (SELECT sum(o.share) FROM tfy.deployment o WHERE o.name = d.name), 1)::float8 AS percent,"
    " (SELECT count(*) FROM tfy.session s WHERE s.state = 0 AND s.program = p.hash) AS workers",
    "x.program, x.percent DESC", "tfy.deployment d JOIN tfy.program p ON p.id = d.program");

static const char permits_text[] =
    LIST("l.name, coalesce(p.lent, 0) AS lent, coalesce(p.wants, 0) AS wants, coalesce(p.asks, 0) AS asks,"
         " coalesce(u.uses, 0) AS uses",
         "x.name",
         "tfy.limiter l LEFT JOIN (SELECT q.name, sum(q.lent)::int8 AS lent,"
         " sum(greatest(q.wants - q.lent, 0))::int8 AS wants, sum(q.asks)::int8 AS asks FROM tfy.permit q"
         " JOIN tfy.session s ON s.id = q.session AND s.state = 0 GROUP BY q.name) AS p ON p.name = l.name"
         " LEFT JOIN (SELECT name, sum(uses)::int8 AS uses FROM tfy.permit_use WHERE until > " NOW_MS
         " GROUP BY name) AS u ON u.name = l.name WHERE p.lent > 0 OR p.wants > 0 OR p.asks > 0 OR u.uses > 0");

/* The newest sessions that did not end in order. */
static const char takeovers_text[] =
    LIST("s.worker, s.id AS session, s.name AS program, encode(s.program, 'hex') AS version, s.why,"
         " (SELECT b.worker FROM tfy.session b WHERE b.id = s.ended_by) AS ended_by,"
         " greatest(0, " NOW_MS " - s.ended) AS ago_ms",
         "x.session DESC", "tfy.session s WHERE s.state = 9 ORDER BY s.id DESC LIMIT 20");

static const char pause_text[] =
    "WITH u AS (UPDATE tfy.queue q SET paused = $3::int8 <> 0 FROM tfy.program p WHERE p.id = q.program"
    " AND ($1::text IS NULL OR q.pool = $1) AND ($2::text IS NULL OR " TFY_PG_NAME_OF_P " = $2)"
    " RETURNING q.pool, " TFY_PG_NAME_OF_P
    " AS program, encode(p.hash, 'hex') AS version) " LIST("*", "x.pool, x.program, x.version", "u");

static int take_text(TfyPgLink *link, const TfyPgAsk *ask, char **part)
{
    TfyPgResult *result = NULL;
    const int code = tfy__pg_one(link, ask, &result);
    if (!code && link->api->ntuples(result) == 1) *part = tfy__sys_strdup(link->api->getvalue(result, 0, 0));
    if (result) link->api->clear(result);
    return code ? code : *part ? 0 : TFY_E_NOMEM;
}

static int read_part(TfyPgLink *link, const char *text, char **part)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, text, "read workers and queues");
    return take_text(link, &ask, part);
}

int tfy__pg_overview_read(TfyPgLink *link, TfyPgOverview *overview)
{
    int code = tfy__pg_link_open(link);
    if (!code) code = read_part(link, workers_text, &overview->workers);
    if (!code) code = read_part(link, queues_text, &overview->queues);
    if (!code) code = read_part(link, programs_text, &overview->programs);
    if (!code) code = read_part(link, permits_text, &overview->permits);
    if (!code) code = read_part(link, takeovers_text, &overview->takeovers);
    return code;
}

static int read_parts(TfyPgLink *link, TfyPgOverview *overview, char *error_text)
{
    int code = tfy__pg_link_first(link, error_text);
    if (code) return code;
    code = tfy__pg_overview_read(link, overview);
    if (!code) return 0;
    tfy__log_refuse(error_text, code, "%.200s: %.290s", link->address->text, link->error);
    return code <= TFY_STORE_FULL ? TFY_E_IO : code;
}

int tfy__pg_overview(const char *text, TfyPgOverview *overview, char *error_text)
{
    TfyPgAddress address;
    TfyPgLink link;
    *overview = (TfyPgOverview){0};
    int code = tfy__pg_reach(&link, &address, text, PATIENCE_MS, error_text);
    if (!code) code = read_parts(&link, overview, error_text);
    tfy__pg_leave(&link, &address);
    return code;
}

static void ask_name(TfyPgAsk *ask, const char *name)
{
    tfy__pg_ask_bytes(ask, name, name ? strlen(name) : 0, TFY_PG_TEXT);
}

int tfy__pg_pause(const char *text, const char *pool, const char *program, bool paused, char **queues, char *error_text)
{
    TfyPgAddress address;
    TfyPgLink link;
    TfyPgAsk ask;
    *queues = NULL;
    int code = tfy__pg_reach(&link, &address, text, PATIENCE_MS, error_text);
    link.needs = TFY_PG_WORKER;
    if (!code) code = tfy__pg_link_first(&link, error_text);
    if (!code) {
        tfy__pg_ask_text(&ask, pause_text, "pause queues");
        ask_name(&ask, pool);
        ask_name(&ask, program);
        tfy__pg_ask_word(&ask, paused);
        code = take_text(&link, &ask, queues);
        if (code) tfy__log_refuse(error_text, code, "%.200s: %.290s", address.text, link.error);
        if (code <= TFY_STORE_FULL) code = TFY_E_IO;
    }
    tfy__pg_leave(&link, &address);
    return code;
}

void tfy__pg_overview_free(TfyPgOverview *overview)
{
    free(overview->workers);
    free(overview->queues);
    free(overview->programs);
    free(overview->permits);
    free(overview->takeovers);
    *overview = (TfyPgOverview){0};
}

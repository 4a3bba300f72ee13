/* pg_about.c: see pg_about.h. */
#include "wal/store/pg_about.h"

#include <stdio.h>

#include "wal/store/pg_link.h"
#include "wal/store/pg_partition.h"

enum { PATIENCE_MS = 10000 };

#define TFY_PG_OLDEST                                                                                                  \
    "SELECT (extract(epoch FROM now() - since) * 1000)::int8 AS ms, who FROM (SELECT xact_start AS since,"             \
    " format('pid %s (%s, %s)', pid, coalesce(nullif(application_name, ''), 'unnamed'), usename) AS who"               \
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type ="         \
    " 'client backend' AND xact_start IS NOT NULL UNION ALL SELECT prepared, format('prepared transaction %L (%s)',"   \
    " gid, owner) FROM pg_prepared_xacts WHERE database = current_database()) AS t ORDER BY since LIMIT 1"

/* Statistics are what autovacuum goes by, so without them it does nothing either. */
static const char about_text[] =
    "SELECT current_setting('server_version'), m.db, m.format, m.lease_ms, m.lossy,"
    " (SELECT count(*) FROM tfy.run WHERE state < 12),"
    " (SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, 'streaming') IN ('streaming', 'catchup')),"
    " current_setting('synchronous_standby_names') <> '',"
    " current_setting('autovacuum')::bool AND current_setting('track_counts')::bool AND NOT EXISTS"
    " (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, unnest(c.reloptions) AS o"
    " WHERE n.nspname = 'tfy' AND o ILIKE 'autovacuum_enabled=%' AND NOT split_part(o, '=', 2)::bool),"
    " current_setting('fsync')::bool, (SELECT (max(n) + 1) * $1 FROM " TFY_PG_PARTITIONS ")"
    " - " TFY_PG_NEWEST_RUN ", o.ms, o.who FROM tfy.meta m LEFT JOIN LATERAL (" TFY_PG_OLDEST ") AS o ON true"
    " WHERE m.id = 1";

static int take(const TfyPgApi *api, const TfyPgResult *result, TfyPgAbout *about)
{
    if (api->ntuples(result) != 1 || !tfy__pg_id(api, result, 0, 1, about->db)) return TFY_E_DATA;
    snprintf(about->server, sizeof about->server, "%s", api->getvalue(result, 0, 0));
    about->format = tfy__pg_word(api, result, 0, 2);
    about->lease_ms = tfy__pg_word(api, result, 0, 3);
    about->lossy = tfy__pg_word(api, result, 0, 4) != 0;
    about->runs = tfy__pg_word(api, result, 0, 5);
    about->standbys = tfy__pg_word(api, result, 0, 6);
    about->waits = tfy__pg_word(api, result, 0, 7) != 0;
    about->cleaned = tfy__pg_word(api, result, 0, 8) != 0;
    about->synced = tfy__pg_word(api, result, 0, 9) != 0;
    about->room = tfy__pg_word(api, result, 0, 10);
    if (api->getisnull(result, 0, 12)) return 0;
    about->oldest_ms = tfy__pg_word(api, result, 0, 11);
    snprintf(about->oldest, sizeof about->oldest, "%s", api->getvalue(result, 0, 12));
    return 0;
}

static int read_about(TfyPgLink *link, TfyPgAbout *about, char *error_text)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    int code = tfy__pg_link_first(link, error_text);
    if (code) return code;
    tfy__pg_ask_text(&ask, about_text, "read how it is set up");
    tfy__pg_ask_word(&ask, TFY_PG_RUNS_EACH);
    code = tfy__pg_one(link, &ask, &result);
    if (!code) code = take(link->api, result, about);
    if (result) link->api->clear(result);
    if (!code) return 0;
    tfy__log_refuse(error_text, code, "%.200s: %.290s", link->address->text, link->error);
    return code <= TFY_STORE_FULL ? TFY_E_IO : code;
}

int tfy__pg_about(const char *text, TfyPgAbout *about, char *error_text)
{
    TfyPgAddress address;
    TfyPgLink link;
    *about = (TfyPgAbout){0};
    int code = tfy__pg_reach(&link, &address, text, PATIENCE_MS, error_text);
    if (!code) code = read_about(&link, about, error_text);
    tfy__pg_leave(&link, &address);
    return code;
}

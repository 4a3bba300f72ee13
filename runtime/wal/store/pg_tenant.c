/* pg_tenant.c: see pg_tenant.h. */
#include "wal/store/pg_tenant.h"

#include <string.h>

#include "base/sys_memory.h"
#include "wal/store/pg_link.h"

enum { PATIENCE_MS = 60000 };

static const char put_text[] =
    "INSERT INTO tfy.tenant AS t (name, weight, max_ready) VALUES ($1, greatest($2::int8, 1), CASE WHEN $3::int8 > 0 "
    "THEN $3::int8 END)"
    " ON CONFLICT (name) DO UPDATE SET weight = CASE WHEN $2::int8 > 0 THEN $2::int8 ELSE t.weight END,"
    " max_ready = CASE WHEN $3::int8 = 0 THEN t.max_ready ELSE EXCLUDED.max_ready END";

static const char see_text[] =
    "SELECT coalesce(json_agg(x ORDER BY x.name), '[]'::json)::text FROM (SELECT t.name, t.weight, t.max_ready,"
    " (SELECT count(*) FROM tfy.run r WHERE r.tenant = t.id AND r.owner IS NULL AND r.state < 12 AND r.due = 0) AS "
    "ready,"
    " (SELECT count(*) FROM tfy.run r WHERE r.owner IS NOT NULL AND r.tenant = t.id) AS owned FROM tfy.tenant t) AS x";

/* One statement, by a connection of its own. */
static int ask_alone(const char *text, TfyPgRole needs, TfyPgAsk *ask, char **answer, char *error_text)
{
    TfyPgAddress address;
    TfyPgLink link;
    TfyPgResult *result = NULL;
    int code = tfy__pg_reach(&link, &address, text, PATIENCE_MS, error_text);
    link.needs = needs;
    if (!code) code = tfy__pg_link_first(&link, error_text);
    if (!code) {
        code = tfy__pg_one(&link, ask, &result);
        if (code) tfy__log_refuse(error_text, code, "%.200s: %.290s", address.text, link.error);
        if (!code && answer && !(*answer = tfy__sys_strdup(link.api->getvalue(result, 0, 0)))) code = TFY_E_NOMEM;
        if (result) link.api->clear(result);
        if (code == TFY_PG_AGAIN || code <= TFY_STORE_FULL) code = TFY_E_IO;
    }
    tfy__pg_leave(&link, &address);
    return code;
}

int tfy__pg_put_tenant(const char *address, const TfyPgTenant *tenant, char *error_text)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, put_text, "make a tenant");
    tfy__pg_ask_bytes(&ask, tenant->name, strlen(tenant->name), TFY_PG_TEXT);
    tfy__pg_ask_word(&ask, tenant->weight);
    tfy__pg_ask_word(&ask, tenant->max_ready);
    return ask_alone(address, TFY_PG_OWNER, &ask, NULL, error_text);
}

int tfy__pg_see_tenants(const char *address, char **tenants, char *error_text)
{
    TfyPgAsk ask;
    *tenants = NULL;
    tfy__pg_ask_text(&ask, see_text, "read tenants");
    return ask_alone(address, TFY_PG_READER, &ask, tenants, error_text);
}

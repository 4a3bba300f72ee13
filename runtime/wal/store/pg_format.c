/* pg_format.c: see pg_format.h. */
#include "wal/store/pg_format.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "wal/rows/row.h"
#include "wal/store/pg_partition.h"

enum {
    PATIENCE_MS = 600000,
    STEP_STATEMENTS = 16,
    TRIES = 3,
    FENCES = 10000 /* so many owners a run may have had since the backup was made */
};

typedef struct Step {
    int format;     /* what it makes of the one before */
    int reads_from; /* the oldest programs that may use it */
    const char *statements[STEP_STATEMENTS];
} Step;

static const Step steps[] = {
    /* Older programs would claim runs under numbers that were given before. */
    {2,
     2,
     {"ALTER TABLE tfy.meta ADD COLUMN least_claims int4 NOT NULL DEFAULT 0",
      "ALTER TABLE tfy.meta ADD COLUMN roles text", "ALTER VIEW tfy.history SET (security_invoker = true)"}},
};

static int queue_step(TfyPgLink *link, const Step *step)
{
    TfyPgAsk ask;
    int code = 0;
    for (int i = 0; !code && i < STEP_STATEMENTS && step->statements[i]; i++)
        code = tfy__pg_queue_text(link, step->statements[i], "change the tables");
    tfy__pg_ask_text(&ask, "UPDATE tfy.meta SET format = $1, reads_from = $2", "write table tfy.meta");
    tfy__pg_ask_half(&ask, step->format);
    tfy__pg_ask_half(&ask, step->reads_from);
    return code ? code : tfy__pg_queue(link, &ask);
}

int tfy__pg_queue_steps(TfyPgLink *link, int64_t from, int64_t to)
{
    int code = 0;
    for (size_t i = 0; !code && i < sizeof steps / sizeof *steps; i++)
        if (steps[i].format > from && steps[i].format <= to) code = queue_step(link, &steps[i]);
    return code;
}

/* ---- the owner's commands ---- */

typedef struct Owner {
    TfyPgAddress address;
    TfyPgLink link;
    char *error_text;
    int64_t format;
} Owner;

static int failed(const Owner *owner, int code)
{
    tfy__log_refuse(owner->error_text, code, "%.200s: %.290s", owner->address.text, owner->link.error);
    return code == TFY_PG_AGAIN || code <= TFY_STORE_FULL ? TFY_E_IO : code;
}

static int absent(const Owner *owner)
{
    return tfy__log_refuse(owner->error_text, TFY_E_ABSENT,
                           "the database has no tables of Tiffany; run `tfy db create` with its address");
}

/* The first row of a statement without parameters; the caller's to clear. */
static int read_row(Owner *owner, const char *text, TfyPgResult **result)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, text, "read table tfy.meta");
    const int code = tfy__pg_one(&owner->link, &ask, result);
    if (code) return failed(owner, code);
    if (owner->link.api->ntuples(*result)) return 0;
    owner->link.api->clear(*result);
    return absent(owner);
}

/* By what everybody may read. */
static int check_owner(Owner *owner)
{
    const TfyPgApi *api = owner->link.api;
    TfyPgResult *result;
    int code = read_row(owner,
                        "SELECT pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner) FROM pg_class c JOIN"
                        " pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'tfy' AND c.relname = 'meta'",
                        &result);
    if (code) return code;
    if (!tfy__pg_word(api, result, 0, 0))
        code = tfy__log_refuse(owner->error_text, TFY_E_STATE,
                               "only the owner of the tables may do this: role %.80s, or a member of it",
                               api->getvalue(result, 0, 1));
    api->clear(result);
    return code;
}

static int read_format(Owner *owner)
{
    TfyPgResult *result;
    const int code = read_row(owner, "SELECT format FROM tfy.meta WHERE id = 1", &result);
    if (code) return code;
    owner->format = tfy__pg_word(owner->link.api, result, 0, 0);
    owner->link.api->clear(result);
    if (owner->format <= TFY_PG_FORMAT) return 0;
    return tfy__log_refuse(owner->error_text, TFY_E_DATA,
                           "the database's tables have format %lld, and this program knows those up to %d: use a newer "
                           "Tiffany",
                           (long long)owner->format, TFY_PG_FORMAT);
}

static int reach(Owner *owner, const char *address, char *error_text)
{
    *owner = (Owner){.error_text = error_text};
    int code = tfy__pg_reach(&owner->link, &owner->address, address, PATIENCE_MS, error_text);
    owner->link.bare = true; /* its tables may be older */
    owner->link.needs = TFY_PG_OWNER;
    if (!code) code = tfy__pg_link_first(&owner->link, error_text);
    if (!code) code = check_owner(owner);
    return code ? code : read_format(owner);
}

/* ---- upgrade ---- */

/* Another one that does the same waits here, and finds another format. */
static int queue_lock(TfyPgLink *link, int64_t format)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, "SELECT 1/count(*) FROM (SELECT 1 FROM tfy.meta WHERE format = $1 FOR UPDATE) AS m",
                     "lock table tfy.meta");
    tfy__pg_ask_word(&ask, format);
    return tfy__pg_queue(link, &ask);
}

static int migrate(Owner *owner)
{
    TfyPgLink *link = &owner->link;
    int code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
    if (!code) code = tfy__pg_queue_as_owner(link);
    if (!code) code = queue_lock(link, owner->format);
    if (!code) code = tfy__pg_queue_steps(link, owner->format, TFY_PG_FORMAT);
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, NULL, NULL);
    tfy__pg_unqueue(link);
    if (code == TFY_E_DATA && strcmp(link->state, "22012") == 0)
        return tfy__log_refuse(owner->error_text, TFY_E_STATE, "somebody else upgrades the database; try again");
    return code ? failed(owner, code) : 0;
}

/* The roles that the database has, or is to have: `prefix`, NULL: as it has; and their rights, which a new version may change. */
static int give_roles(Owner *owner, const char *prefix, TfyPgRoles *roles)
{
    TfyPgLink *link = &owner->link;
    TfyPgResult *result;
    char has[TFY_PG_PREFIX_MOST + 1];
    int code = read_row(owner, "SELECT roles FROM tfy.meta WHERE id = 1", &result);
    if (code) return code;
    const bool none = link->api->getisnull(result, 0, 0);
    snprintf(has, sizeof has, "%s", none ? "tfy" : link->api->getvalue(result, 0, 0));
    link->api->clear(result);
    code = tfy__pg_make_roles(link, prefix ? prefix : has, roles);
    if (!code && !roles->missing) {
        code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
        if (!code) code = tfy__pg_queue_as_owner(link);
        if (!code) code = tfy__pg_queue_grants(link, roles);
        if (!code) code = tfy__pg_queue_commit(link);
        if (!code) code = tfy__pg_sync(link, NULL, NULL);
        tfy__pg_unqueue(link);
    }
    return code ? failed(owner, code) : 0;
}

static int make_room(Owner *owner)
{
    const int made = tfy__pg_make_partition(&owner->link);
    return made < 0 ? failed(owner, made) : 0;
}

int tfy__pg_upgrade(const char *address, const char *prefix, int64_t *from, TfyPgRoles *roles, char *error_text)
{
    Owner owner;
    int code = reach(&owner, address, error_text);
    *from = owner.format;
    if (!code && owner.format < TFY_PG_FORMAT) code = migrate(&owner);
    if (!code) code = give_roles(&owner, prefix, roles);
    if (!code) code = make_room(&owner);
    tfy__pg_leave(&owner.link, &owner.address);
    return code;
}

/* ---- adopt ---- */

/* A session that ended in order is not counted against its runs. */
static const char adopt_text[] = "WITH m AS (UPDATE tfy.meta SET db = $1, least_claims = greatest(least_claims, "
                                 "(SELECT max(claims) FROM tfy.run)) + $2"
                                 " RETURNING 1), s AS (UPDATE tfy.session SET state = 8, ended = (extract(epoch FROM "
                                 "clock_timestamp()) * 1000)::int8,"
                                 " why = 'the database was adopted' WHERE state = 0 RETURNING 1),"
                                 " r AS (UPDATE tfy.run SET owner = NULL, due = 0 WHERE id = ANY(ARRAY(SELECT id FROM "
                                 "tfy.run WHERE owner IS NOT NULL"
                                 " ORDER BY id FOR UPDATE)) RETURNING 1)"
                                 " SELECT (SELECT count(*) FROM s), (SELECT count(*) FROM r), (SELECT count(*) FROM m)";

static int adopt(Owner *owner, TfyPgAdopted *adopted)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    const TfyPgApi *api = owner->link.api;
    if (owner->format < TFY_PG_FORMAT)
        return tfy__log_refuse(owner->error_text, TFY_E_DATA,
                               "the database's tables have format %lld; run `tfy db upgrade` first",
                               (long long)owner->format);
    if (getrandom(adopted->db, sizeof adopted->db, 0) != (ssize_t)sizeof adopted->db)
        return tfy__log_refuse(owner->error_text, TFY_E_IO, "there are no random bytes for an id");
    tfy__pg_ask_text(&ask, adopt_text, "adopt the database");
    tfy__pg_ask_bytes(&ask, adopted->db, sizeof adopted->db, TFY_PG_UUID);
    tfy__pg_ask_half(&ask, FENCES);
    int code = TFY_PG_AGAIN;
    for (int i = 0; code == TFY_PG_AGAIN && i < TRIES; i++) code = tfy__pg_one(&owner->link, &ask, &result);
    if (code) return failed(owner, code);
    adopted->sessions = tfy__pg_word(api, result, 0, 0);
    adopted->runs = tfy__pg_word(api, result, 0, 1);
    api->clear(result);
    return 0;
}

int tfy__pg_adopt(const char *address, TfyPgAdopted *adopted, char *error_text)
{
    Owner owner;
    *adopted = (TfyPgAdopted){0};
    int code = reach(&owner, address, error_text);
    if (!code) code = adopt(&owner, adopted);
    tfy__pg_leave(&owner.link, &owner.address);
    return code;
}

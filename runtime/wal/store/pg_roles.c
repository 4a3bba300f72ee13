/* pg_roles.c: see pg_roles.h. */
#include "wal/store/pg_roles.h"

#include <stdio.h>
#include <string.h>

enum { TRIES = 3, ROLES = 5, TEXT_BYTES = 1000 };

static const char *const names[] = {
    [TFY_PG_READER] = "reader", [TFY_PG_SENDER] = "sender", [TFY_PG_WORKER] = "worker",
    [TFY_PG_GC] = "gc",         [TFY_PG_OWNER] = "owner",
};

const char *tfy__pg_role_name(TfyPgRole role)
{
    return names[role];
}

/* %1$s: the prefix. Partitions of table record are reached by it alone, so that nobody passes by its rules. */
#define ALL_TABLES                                                                                                     \
    "tfy.meta, tfy.session, tfy.program, tfy.deployment, tfy.queue, tfy.tenant, tfy.run, tfy.record, tfy.task, "       \
    "tfy.gap, tfy.piece, tfy.inbox, tfy.question, tfy.dep, tfy.permit, tfy.duty, tfy.history"
#define TO(roles_) " TO " roles_
#define READER     "\"%1$s_reader\""
#define SENDER     "\"%1$s_sender\""
#define WORKER     "\"%1$s_worker\""
#define GC         "\"%1$s_gc\""
static const char *const grants[] = {
    "GRANT USAGE ON SCHEMA tfy" TO(READER ", " SENDER ", " WORKER ", " GC),
    "GRANT SELECT ON " ALL_TABLES TO(READER ", " SENDER ", " WORKER ", " GC),
    "GRANT SELECT ON SEQUENCE tfy.run_id_seq" TO(READER ", " SENDER ", " WORKER ", " GC),
    "GRANT USAGE ON SEQUENCE tfy.run_id_seq" TO(SENDER ", " WORKER),
    "GRANT INSERT ON tfy.queue, tfy.run, tfy.record, tfy.task, tfy.dep, tfy.inbox" TO(SENDER ", " WORKER),
    /* Mail wakes a run, and what begins after another run locks it. */
    "GRANT UPDATE (mail, due) ON tfy.run" TO(SENDER),
    "GRANT USAGE ON SEQUENCE tfy.session_id_seq, tfy.program_id_seq" TO(WORKER),
    "GRANT INSERT ON tfy.session, tfy.program, tfy.gap, tfy.piece, tfy.question, tfy.permit, tfy.duty" TO(WORKER),
    "GRANT UPDATE ON tfy.session, tfy.queue, tfy.run, tfy.task, tfy.gap, tfy.inbox, tfy.question, tfy.permit, "
    "tfy.duty" TO(WORKER),
    "GRANT DELETE ON tfy.question, tfy.dep, tfy.permit, tfy.duty" TO(WORKER),
    /* A saved table belongs to the worker that made it. */
    "GRANT USAGE, CREATE ON SCHEMA saved" TO(WORKER),
    /* What is removed is locked first. */
    "GRANT UPDATE (mail) ON tfy.run" TO(GC),
    "GRANT DELETE ON tfy.session, tfy.run, tfy.record, tfy.task, tfy.gap, tfy.piece, tfy.inbox, tfy.question, "
    "tfy.dep" TO(GC),
};

bool tfy__pg_prefix_fits(const char *prefix)
{
    const size_t len = strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return len && len <= TFY_PG_PREFIX_MOST && !prefix[len] && *prefix >= 'a' && *prefix <= 'z';
}

/* ---- making them ---- */

static int queue_text(TfyPgLink *link, const char *format, const char *prefix, const char *what)
{
    char text[TEXT_BYTES];
    const int len = snprintf(text, sizeof text, format, prefix);
    return len < TEXT_BYTES ? tfy__pg_queue_text(link, text, what) : TFY_E_INVALID;
}

/* What there is; bit 1 << role of *there for each role. */
static int look(TfyPgLink *link, TfyPgRoles *roles, unsigned *there, bool *may_make)
{
    static const char text[] =
        "SELECT (SELECT coalesce(sum(1 << k::int4), 0) FROM unnest($2::text[]) WITH ORDINALITY AS n(name, k) JOIN pg_roles r"
        " ON r.rolname = $1 || '_' || n.name), (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname ="
        " current_user), has_database_privilege(current_database(), 'CREATE WITH GRANT OPTION') AND coalesce((SELECT"
        " pg_has_role(oid, 'USAGE') FROM pg_roles WHERE rolname = $1 || '_owner'), false), "
        "quote_ident(current_database())";
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    TfyPgColumn list = {0};
    tfy__pg_column_start(&list, TFY_PG_TEXT);
    for (int role = 1; role <= ROLES; role++) tfy__pg_column_bytes(&list, names[role], strlen(names[role]));
    tfy__pg_ask_text(&ask, text, "look for roles");
    tfy__pg_ask_bytes(&ask, roles->prefix, strlen(roles->prefix), TFY_PG_TEXT);
    int code = tfy__pg_ask_column(&ask, &list) ? tfy__pg_one(link, &ask, &result) : TFY_E_NOMEM;
    tfy__pg_column_free(&list);
    if (code) return code;
    *there = (unsigned)tfy__pg_word(link->api, result, 0, 0);
    *may_make = tfy__pg_word(link->api, result, 0, 1) != 0;
    roles->owns = tfy__pg_word(link->api, result, 0, 2) != 0;
    snprintf(roles->database, sizeof roles->database, "%s", link->api->getvalue(result, 0, 3));
    link->api->clear(result);
    return 0;
}

/* Whoever makes the owner's role becomes a member of it; a superuser need not. */
static int make(TfyPgLink *link, const char *prefix, unsigned there)
{
    int code = tfy__pg_queue_begin(link, TFY_PG_BEGIN);
    for (int role = 1; !code && role <= ROLES; role++) {
        char text[TEXT_BYTES];
        if (there & 1u << role) continue;
        snprintf(text, sizeof text, "CREATE ROLE \"%s_%s\" NOLOGIN", prefix, names[role]);
        code = tfy__pg_queue_text(link, text, "make roles");
        if (!code && role == TFY_PG_OWNER)
            code = queue_text(link, "GRANT \"%s_owner\" TO CURRENT_USER", prefix, "make roles");
    }
    if (!code) code = tfy__pg_queue_commit(link);
    if (!code) code = tfy__pg_sync(link, NULL, NULL);
    tfy__pg_unqueue(link);
    return code;
}

int tfy__pg_make_roles(TfyPgLink *link, const char *prefix, TfyPgRoles *roles)
{
    const unsigned all = ((1u << ROLES) - 1) << 1;
    unsigned there = 0;
    bool may_make = false;
    *roles = (TfyPgRoles){0};
    snprintf(roles->prefix, sizeof roles->prefix, "%s", prefix);
    int code = look(link, roles, &there, &may_make);
    roles->before = __builtin_popcount(there);
    /* Another database of the server may get the same ones at the same time. */
    for (int i = 0; !code && there != all && may_make && i < TRIES; i++) {
        code = make(link, prefix, there);
        const bool raced = code && (strcmp(link->state, "42710") == 0 || strcmp(link->state, "23505") == 0);
        if (!code || raced) code = look(link, roles, &there, &may_make);
    }
    roles->missing = there != all;
    return code;
}

int tfy__pg_queue_owner(TfyPgLink *link, const TfyPgRoles *roles)
{
    char text[TEXT_BYTES];
    if (roles->missing || !roles->owns) return 0;
    snprintf(text, sizeof text, "GRANT CREATE ON DATABASE %s TO \"%s_owner\"", roles->database, roles->prefix);
    const int code = tfy__pg_queue_text(link, text, "give roles their rights");
    return code ? code
                : queue_text(link, "SET LOCAL ROLE \"%s_owner\"", roles->prefix, "become the owner of the tables");
}

int tfy__pg_queue_as_owner(TfyPgLink *link)
{
    return tfy__pg_queue_text(link,
                              "SELECT set_config('role', pg_get_userbyid(relowner), true) FROM pg_class"
                              " WHERE oid = 'tfy.meta'::regclass",
                              "become the owner of the tables");
}

int tfy__pg_queue_grants(TfyPgLink *link, const TfyPgRoles *roles)
{
    TfyPgAsk ask;
    int code = 0;
    if (roles->missing) return 0;
    for (size_t i = 0; !code && i < sizeof grants / sizeof *grants; i++)
        code = queue_text(link, grants[i], roles->prefix, "give roles their rights");
    tfy__pg_ask_text(&ask, "UPDATE tfy.meta SET roles = $1", "write table tfy.meta");
    tfy__pg_ask_bytes(&ask, roles->prefix, strlen(roles->prefix), TFY_PG_TEXT);
    return code ? code : tfy__pg_queue(link, &ask);
}

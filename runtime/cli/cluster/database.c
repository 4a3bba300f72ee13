/* database.c: tfy db create, check, upgrade and adopt: the tables in a database of PostgreSQL, and whether it can be used. */
#include "cli/cluster/cluster.h"
#include "cli/cluster/doctor.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/store/pg_address.h"
#include "wal/store/pg_cluster.h"
#include "wal/store/pg_about.h"
#include "wal/store/pg_format.h"
#include "wal/store/pg_schema.h"

/* ---- create ---- */

/* EXIT_DONE, or the exit status after a message. */
static int read_address(const char *address)
{
    if (tfy__pg_is_address(address)) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE,
                     "'%s' is not the address of a database of PostgreSQL, which begins with postgresql://; "
                     "a database file is made by the first run",
                     address);
}

static int read_lease(const TfyArgs *args, int64_t *lease_ms)
{
    const char *text = args->option[OPT_LEASE];
    if (!text || (tfy__read_duration(text, strlen(text), lease_ms) && *lease_ms > 0)) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "--lease takes a time from 3s to 5m, not '%s'", text);
}

static int read_prefix(const TfyArgs *args)
{
    const char *prefix = args->option[OPT_ROLE_PREFIX];
    if (!prefix || tfy__pg_prefix_fits(prefix)) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "--roles takes 1 to %d of a-z, 0-9 and '_' behind a letter, not '%s'",
                     TFY_PG_PREFIX_MOST - 1, prefix);
}

static void say_roles(const TfyPgRoles *roles)
{
    if (roles->missing)
        tfy__say(
            "there are no roles %s_worker and so on, and this role may not make them: only the owner of the tables can "
            "use the database. Somebody with CREATEROLE makes them: tfy db upgrade",
            roles->prefix);
    else if (roles->before)
        tfy__say(
            "roles %s_worker and so on were there, and their members can use this database, too; --roles NAME makes "
            "others",
            roles->prefix);
}

int tfy__cmd_db_create(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyPgRoles roles = {0};
    TfyPgMake make = {
        .lossy = args->option[OPT_ALLOW_LOSSY] != NULL, .roles = args->option[OPT_ROLE_PREFIX], .made = &roles};
    int status = read_address(args->words[0]);
    if (status == EXIT_DONE) status = read_prefix(args);
    if (status == EXIT_DONE) status = read_lease(args, &make.lease_ms);
    if (status != EXIT_DONE) return status;
    const int code = tfy__pg_create(args->words[0], &make, error);
    /* Also a database that is not as it has to be for the tables. */
    if (code) return tfy__fail(code == TFY_E_STATE ? EXIT_DATA : tfy__exit_status(code), "%s", error);
    TfyBuffer word = {0};
    tfy__buffer_shell_word(&word, args->words[0]);
    say_roles(&roles);
    printf("the tables are made; see: tfy db check %s\n", word.failed ? "ADDRESS" : word.data);
    tfy__buffer_free(&word);
    return tfy__flush_stdout(EXIT_DONE);
}

/* ---- check ---- */

/* What was found. */
typedef struct Check {
    TfyPgAbout about;
    int64_t sessions; /* that live */
    json_t *living;   /* each of them */
    int code;         /* whether acknowledged steps stay; TFY_E_IO: they may not */
    char error[TFY_ERROR_TEXT];
} Check;

static int add_living(void *state, const TfyLiving *living)
{
    Check *check = state;
    json_t *one =
        json_pack("{s:I,s:I,s:I}", "session", living->session, "commits", living->beat, "lease_ms", living->lease_ms);
    check->sessions++;
    return json_array_append_new(check->living, one) == 0 ? 0 : TFY_E_NOMEM;
}

static void ask_cluster(Check *check, const char *address)
{
    TfyCluster *cluster;
    check->code = tfy__pg_cluster_open(&cluster, &(TfyPgOpen){.address = address}, check->error);
    if (check->code) return;
    check->code = cluster->ops->see_living(cluster, add_living, check);
    if (!check->code) check->code = cluster->ops->check_standbys(cluster);
    if (check->code) snprintf(check->error, sizeof check->error, "%s", cluster->error);
    check->code = tfy__cluster_code(check->code);
    cluster->ops->close(cluster);
}

static const char *standbys_text(const TfyPgAbout *about)
{
    if (about->waits) return ", and commits wait for them";
    return about->standbys ? ", and commits do not wait for them" : "";
}

static void print_text(const Check *check)
{
    const TfyPgAbout *about = &check->about;
    TfyBuffer lease = {0};
    tfy__write_duration(&lease, about->lease_ms);
    printf("server     PostgreSQL %s\n", about->server);
    printf("format     %" PRId64 "\n", about->format);
    printf("lease      %s\n", lease.failed ? "?" : lease.data);
    printf("losses     %s\n", about->lossy ? "allowed when a standby takes over" : "not allowed");
    printf("standbys   %" PRId64 "%s\n", about->standbys, standbys_text(about));
    printf("sessions   %" PRId64 " alive\n", check->sessions);
    printf("runs       %" PRId64 " unfinished\n", about->runs);
    tfy__buffer_free(&lease);
}

static void print_json(Check *check)
{
    const TfyPgAbout *about = &check->about;
    char db[37];
    tfy__uuid_text(about->db, db);
    json_t *report =
        json_pack("{s:s,s:b,s:s,s:I,s:I,s:b,s:I,s:b,s:I,s:b,s:b,s:O}", "db", db, "usable", !check->code, "server",
                  about->server, "format", about->format, "lease_ms", about->lease_ms, "lossy", about->lossy,
                  "standbys", about->standbys, "synchronous", about->waits, "unfinished", about->runs, "autovacuum",
                  about->cleaned, "fsync", about->synced, "sessions", check->living);
    if (check->code) json_object_set_new(report, "error", json_string(check->error));
    tfy__report_print(report, 2);
}

static int say_check(const TfyArgs *args, Check *check)
{
    if (args->option[OPT_JSON])
        print_json(check);
    else
        print_text(check);
    tfy__cluster_advise(&check->about, tfy__advise_aloud, NULL);
    return check->code ? tfy__fail(tfy__exit_status(check->code), "%s", check->error) : EXIT_DONE;
}

int tfy__cmd_db_check(const TfyArgs *args)
{
    const char *address = args->word_count ? args->words[0] : getenv("TFY_DB");
    Check check = {.living = NULL};
    if (!address || !*address) return tfy__fail(EXIT_USAGE, "db check needs postgresql://... or $TFY_DB");
    const int status = read_address(address);
    if (status != EXIT_DONE) return status;
    check.code = tfy__pg_about(address, &check.about, check.error);
    if (check.code)
        return tfy__fail(check.code == TFY_E_STATE ? EXIT_DATA : tfy__exit_status(check.code), "%s", check.error);
    if (!(check.living = json_array())) return tfy__fail(EXIT_BUG, "memory ran out");
    ask_cluster(&check, address);
    const int said = say_check(args, &check);
    json_decref(check.living);
    return tfy__flush_stdout(said);
}

/* ---- upgrade and adopt ---- */

/* Also a database that is not as it has to be. */
static int refused(int code, const char *error)
{
    return tfy__fail(code == TFY_E_STATE ? EXIT_DATA : tfy__exit_status(code), "%s", error);
}

int tfy__cmd_db_upgrade(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t from = 0;
    TfyPgRoles roles = {0};
    int status = read_address(args->words[0]);
    if (status == EXIT_DONE) status = read_prefix(args);
    if (status != EXIT_DONE) return status;
    const int code = tfy__pg_upgrade(args->words[0], args->option[OPT_ROLE_PREFIX], &from, &roles, error);
    if (code) return refused(code, error);
    if (roles.missing) say_roles(&roles);
    if (from == TFY_PG_FORMAT)
        printf("the tables have format %d already\n", TFY_PG_FORMAT);
    else
        printf("the tables had format %" PRId64 ", and have format %d now\n", from, TFY_PG_FORMAT);
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cmd_db_adopt(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "", db[37];
    TfyPgAdopted adopted;
    const int status = read_address(args->words[0]);
    if (status != EXIT_DONE) return status;
    const int code = tfy__pg_adopt(args->words[0], &adopted, error);
    if (code) return refused(code, error);
    tfy__uuid_text(adopted.db, db);
    if (args->option[OPT_JSON])
        tfy__report_print(json_pack("{s:s,s:I,s:I}", "db", db, "sessions", adopted.sessions, "runs", adopted.runs), 2);
    else
        printf(
            "the database is %s now; %" PRId64 " session%s ended, and %" PRId64 " run%s that they had can be claimed\n",
            db, adopted.sessions, adopted.sessions == 1 ? " is" : "s are", adopted.runs, adopted.runs == 1 ? "" : "s");
    return tfy__flush_stdout(EXIT_DONE);
}

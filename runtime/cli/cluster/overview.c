/* overview.c: tfy cluster: the workers of a database of PostgreSQL, its queues, and its programs; tfy pause and tfy unpause: queues
 * of which nobody claims runs. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster/cluster.h"
#include "cli/cluster/doctor.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/store/pg_overview.h"

enum { HASH_SHOWN = 12 };

/* ---- text ---- */

/* "1m30s", in whole seconds above ten; "-": it is not known. */
static const char *span_text(const json_t *object, const char *name, char text[24])
{
    const json_t *member = json_object_get(object, name);
    int64_t ms = json_integer_value(member);
    TfyBuffer out = {0};
    if (ms >= 10000) ms -= ms % 1000;
    if (ms >= 3600000) ms -= ms % 60000;
    tfy__write_duration(&out, ms);
    snprintf(text, 24, "%s", json_is_integer(member) && !out.failed ? out.data : "-");
    tfy__buffer_free(&out);
    return text;
}

static const char *text_or(const json_t *object, const char *name)
{
    const char *text = tfy__json_text(object, name);
    return *text ? text : "-";
}

static int version_width(const json_t *object)
{
    return *tfy__json_text(object, "version") ? HASH_SHOWN : 1;
}

static void print_workers(const json_t *workers)
{
    size_t i;
    const json_t *one;
    char age[24], silent[24], room[24];
    if (!json_array_size(workers)) {
        printf("no worker is there; see: tfy worker --help\n");
        return;
    }
    printf("%-20s  %-16s  %-12s  %-12s  %8s  %5s  %5s  %9s  %9s\n", "WORKER", "PROGRAM", "VERSION", "POOL", "SESSION",
           "RUNS", "ROOM", "AGE", "SILENT");
    json_array_foreach(workers, i, one)
    {
        const json_t *capacity = json_object_get(one, "capacity");
        snprintf(room, sizeof room, json_is_integer(capacity) ? "%lld" : "-", (long long)json_integer_value(capacity));
        printf("%-20.20s  %-16.16s  %-12.*s  %-12.12s  %8lld  %5lld  %5s  %9s  %9s\n", text_or(one, "worker"),
               text_or(one, "program"), version_width(one), text_or(one, "version"), text_or(one, "pool"),
               tfy__json_number(one, "session"), tfy__json_number(one, "runs"), room, span_text(one, "age_ms", age),
               span_text(one, "silent_ms", silent));
    }
}

static void print_queues(const json_t *queues)
{
    size_t i;
    const json_t *one;
    char oldest[24];
    if (!json_array_size(queues)) return;
    printf("\n%-12s  %-16s  %-12s  %8s  %9s  %8s  %8s  %6s  %6s  %7s\n", "POOL", "PROGRAM", "VERSION", "READY",
           "OLDEST", "OWNED", "WAITING", "HELD", "DOUBT", "WORKERS");
    json_array_foreach(queues, i, one)
        printf("%-12.12s  %-16.16s  %-12.*s  %8lld  %9s  %8lld  %8lld  %6lld  %6lld  %7lld%s\n", text_or(one, "pool"),
               text_or(one, "program"), version_width(one), text_or(one, "version"), tfy__json_number(one, "ready"),
               span_text(one, "oldest_ms", oldest), tfy__json_number(one, "owned"), tfy__json_number(one, "waiting"),
               tfy__json_number(one, "held"), tfy__json_number(one, "in_doubt"), tfy__json_number(one, "workers"),
               json_is_true(json_object_get(one, "paused")) ? "  paused" : "");
}

static void print_programs(const json_t *programs)
{
    size_t i;
    const json_t *one;
    if (!json_array_size(programs)) return;
    printf("\n%-16s  %-12s  %7s  %7s\n", "DEPLOYED", "VERSION", "SHARE", "WORKERS");
    json_array_foreach(programs, i, one)
        printf("%-16s  %-12.*s  %6.4g%%  %7lld\n", text_or(one, "program"), version_width(one), text_or(one, "version"),
               json_number_value(json_object_get(one, "percent")), tfy__json_number(one, "workers"));
}

static void print_permits(const json_t *permits)
{
    size_t i;
    const json_t *one;
    if (!json_array_size(permits)) return;
    printf("\n%-32s  %8s  %8s  %8s\n", "LIMITED", "AT WORK", "COUNTED", "WANTED");
    json_array_foreach(permits, i, one)
        printf("%-32s  %8lld  %8lld  %8lld\n", text_or(one, "name"), tfy__json_number(one, "lent"),
               tfy__json_number(one, "uses"), tfy__json_number(one, "wants") + tfy__json_number(one, "asks"));
}

/* ---- what nobody does ---- */

static long long unfinished(const json_t *queue)
{
    return tfy__json_number(queue, "ready") + tfy__json_number(queue, "owned") + tfy__json_number(queue, "waiting") +
           tfy__json_number(queue, "held");
}

void tfy__cluster_uncovered(const json_t *queues, TfyAdvise *advise, void *state)
{
    char text[TFY_ERROR_TEXT];
    size_t i;
    const json_t *one;
    json_array_foreach(queues, i, one)
    {
        const long long runs = unfinished(one);
        const char *pool = tfy__json_text(one, "pool"), *program = text_or(one, "program");
        if (!runs || tfy__json_number(one, "workers")) continue;
        if (!tfy__json_number(one, "pool_workers"))
            snprintf(text, sizeof text, "no worker serves pool '%s', which has %lld run%s of %s", pool, runs,
                     runs == 1 ? "" : "s", program);
        else
            snprintf(text, sizeof text, "no worker of pool '%s' has version %.*s of %s, which has %lld run%s", pool,
                     HASH_SHOWN, tfy__json_text(one, "version"), program, runs, runs == 1 ? "" : "s");
        advise(state, text);
    }
}

/* ---- the command ---- */

static int print(const TfyArgs *args, const TfyPgOverview *overview)
{
    json_t *workers = json_loads(overview->workers, 0, NULL), *queues = json_loads(overview->queues, 0, NULL),
           *programs = json_loads(overview->programs, 0, NULL), *permits = json_loads(overview->permits, 0, NULL),
           *takeovers = json_loads(overview->takeovers, 0, NULL);
    int status = EXIT_DONE;
    if (!workers || !queues || !programs || !permits || !takeovers) {
        status = tfy__fail(EXIT_BUG, "memory ran out");
    } else if (args->option[OPT_JSON]) {
        tfy__report_print(json_pack("{s:O,s:O,s:O,s:O,s:O}", "workers", workers, "queues", queues, "programs", programs,
                                    "permits", permits, "takeovers", takeovers),
                          2);
    } else {
        print_workers(workers);
        print_queues(queues);
        print_programs(programs);
        print_permits(permits);
        status = tfy__flush_stdout(status);
        tfy__cluster_uncovered(queues, tfy__advise_aloud, NULL);
    }
    json_decref(workers);
    json_decref(queues);
    json_decref(programs);
    json_decref(permits);
    json_decref(takeovers);
    return tfy__flush_stdout(status);
}

int tfy__cmd_cluster(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyPgOverview overview;
    const char *db = tfy__db_path(args);
    if (!tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE, "cluster shows a database of PostgreSQL: --db postgresql://USER@HOST/NAME");
    const int code = tfy__pg_overview(db, &overview, error);
    const int status = code ? tfy__fail(tfy__exit_status(code), "%s", error) : print(args, &overview);
    tfy__pg_overview_free(&overview);
    return status;
}

/* ---- pausing ---- */

static int say_paused(const char *text, const TfyArgs *args, bool paused)
{
    size_t i;
    const json_t *one;
    json_t *queues = json_loads(text, 0, NULL);
    const char *program = args->word_count ? args->words[0] : NULL, *pool = args->option[OPT_PAUSE_POOL];
    int status = EXIT_DONE;
    json_array_foreach(queues, i, one)
        printf("%s %s %.*s: %s\n", tfy__json_text(one, "pool"), text_or(one, "program"), HASH_SHOWN,
               tfy__json_text(one, "version"), paused ? "paused" : "not paused");
    if (!json_array_size(queues))
        status =
            tfy__fail(EXIT_MISSING, "the database has no queue%s%s%s%s; 'tfy cluster' shows what it has",
                      program ? " of program " : "", program ? program : "", pool ? " in pool " : "", pool ? pool : "");
    json_decref(queues);
    return tfy__flush_stdout(status);
}

static int pause_queues(const TfyArgs *args, bool paused)
{
    char error[TFY_ERROR_TEXT] = "", *queues;
    const char *db = tfy__db_path(args), *program = args->word_count ? args->words[0] : NULL;
    if (!tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE, "queues are of a database of PostgreSQL: --db postgresql://USER@HOST/NAME");
    const int code = tfy__pg_pause(db, args->option[OPT_PAUSE_POOL], program, paused, &queues, error);
    const int status = code ? tfy__fail(tfy__exit_status(code), "%s", error) : say_paused(queues, args, paused);
    free(queues);
    return status;
}

int tfy__cmd_pause(const TfyArgs *args)
{
    return pause_queues(args, true);
}

int tfy__cmd_unpause(const TfyArgs *args)
{
    return pause_queues(args, false);
}

/* doctor.c: see doctor.h. */
#include "cli/cluster/doctor.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "cli/frame/cli.h"
#include "cli/frame/report.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/store/pg_overview.h"

enum {
    ROOM_LEAST = 1000000, /* of runs that still fit, before a warning */
    OPEN_MOST_MS = 300000 /* of a transaction */
};

void tfy__advise_aloud(void *state, const char *text)
{
    (void)state;
    tfy__say("%s", text);
}

void tfy__cluster_advise(const TfyPgAbout *about, TfyAdvise *advise, void *state)
{
    char text[TFY_ERROR_TEXT];
    if (!about->cleaned)
        advise(state, "autovacuum is turned off, in the server or for a table of schema tfy: tables grow, and claims "
                      "become slow; turn autovacuum and track_counts on");
    if (about->room < ROOM_LEAST) {
        snprintf(text, sizeof text,
                 "only %" PRId64 " more runs fit into the partitions of table tfy.record: a worker that owns the "
                 "tables makes the next one",
                 about->room);
        advise(state, text);
    }
    if (!about->synced)
        advise(state, "fsync is turned off: acknowledged steps are lost if the server's machine stops; turn it on");
    if (about->oldest_ms > OPEN_MOST_MS) {
        snprintf(text, sizeof text,
                 "%s has a transaction open for %" PRId64 " minutes: rows that changed since cannot be cleaned, and "
                 "claims become slow; end it",
                 about->oldest, about->oldest_ms / 60000);
        advise(state, text);
    }
}

static void report_about(const TfyPgAbout *about, json_t *report)
{
    json_object_set_new(report, "server", json_string(about->server));
    json_object_set_new(report, "lease_ms", json_integer(about->lease_ms));
    json_object_set_new(report, "standbys", json_integer(about->standbys));
    json_object_set_new(report, "unfinished_runs", json_integer(about->runs));
}

int tfy__cluster_examine(const char *address, json_t *report, TfyAdvise *advise, void *state)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyPgAbout about;
    TfyPgOverview overview = {0};
    int code = tfy__pg_about(address, &about, error);
    if (!code) code = tfy__pg_overview(address, &overview, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    json_t *workers = json_loads(overview.workers, 0, NULL), *queues = json_loads(overview.queues, 0, NULL);
    tfy__pg_overview_free(&overview);
    report_about(&about, report);
    tfy__cluster_advise(&about, advise, state);
    tfy__cluster_uncovered(queues, advise, state);
    const bool whole =
        json_object_set_new(report, "workers", workers) == 0 && json_object_set_new(report, "queues", queues) == 0;
    return whole ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

static long long sum_of(const json_t *items, const char *name)
{
    long long sum = 0;
    const json_t *one;
    size_t i;
    json_array_foreach(items, i, one) sum += tfy__json_number(one, name);
    return sum;
}

void tfy__cluster_print(const json_t *report)
{
    const json_t *queues = json_object_get(report, "queues"), *workers = json_object_get(report, "workers");
    TfyBuffer lease = {0};
    tfy__write_duration(&lease, tfy__json_number(report, "lease_ms"));
    printf("database   %s, PostgreSQL %s, a lease of %s\n", tfy__json_text(report, "db"),
           tfy__json_text(report, "server"), lease.failed ? "?" : lease.data);
    printf("workers    %zu; 'tfy cluster' shows them\n", json_array_size(workers));
    printf("runs       %lld unfinished: %lld owned, %lld ready, %lld waiting, %lld held\n",
           tfy__json_number(report, "unfinished_runs"), sum_of(queues, "owned"), sum_of(queues, "ready"),
           sum_of(queues, "waiting"), sum_of(queues, "held"));
    tfy__buffer_free(&lease);
}

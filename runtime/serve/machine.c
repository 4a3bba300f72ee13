/* machine.c: see machine.h. A child draws the graph from the program that the log stores; the index has the counts. */
#include "serve/machine.h"
#include "serve/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/look/source_map.h"
#include "serve/child.h"
#include "serve/index.h"
#include "serve/reader.h"
#include "serve/runs.h"
#include "serve/tally.h"

enum { DAYS_USUAL = 30, GROUPS_USUAL = 1000, GROUPS_MOST = 10000 };

/* ---- counts as JSON ---- */

static json_t *quantile(const TfyCounts *counts, double share)
{
    const int64_t ms = tfy__tally_quantile(counts, share);
    return ms < 0 ? json_null() : json_integer(ms);
}

static void add_counts(json_t *to, const TfyCounts *counts)
{
    json_object_set_new(to, "count", json_integer(counts->ended));
    json_object_set_new(to, "failed", json_integer(counts->failed));
    json_object_set_new(to, "ms", json_integer(counts->ms));
    json_object_set_new(to, "p50", quantile(counts, 0.5));
    json_object_set_new(to, "p95", quantile(counts, 0.95));
}

/* ---- the graph ---- */

const char *const tfy__graph_parameters[] = {"version", NULL};

/* What is gathered for a graph: {"program", "version", "points": {ID: counts}, "ways": {"ID\nID": number}}. */
typedef struct Gathering {
    json_t *facts;
    TfySourceMap map;
} Gathering;

static void way_name(char name[512], const char *from, const char *to)
{
    snprintf(name, 512, "%s\n%s", from ? from : "", to);
}

/* Whether two points are in one workflow. The first point of one that is called is entered from without. */
static bool are_together(const char *first, const char *second)
{
    const size_t len = strcspn(second, "/");
    return first && strncmp(first, second, len) == 0 && first[len] == second[len];
}

static void gather(void *arg, uint32_t from, uint32_t to, const TfyCounts *counts)
{
    const Gathering *gathering = arg;
    const char *first = tfy__source_point(&gathering->map, from), *second = tfy__source_point(&gathering->map, to);
    char name[512];
    if (to && second) {
        json_t *ways = json_object_get(gathering->facts, "ways");
        way_name(name, are_together(first, second) ? first : NULL, second);
        const json_int_t before = json_integer_value(json_object_get(ways, name));
        json_object_set_new(ways, name, json_integer(before + counts->begun));
    } else if (!to && first) {
        json_t *point = json_object();
        add_counts(point, counts);
        json_object_set_new(json_object_get(gathering->facts, "points"), first, point);
    }
}

/* Adds what was counted to the nodes and edges of a workflow. */
static void add_facts(json_t *workflow, const json_t *facts)
{
    const json_t *points = json_object_get(facts, "points"), *ways = json_object_get(facts, "ways");
    json_t *node, *edge;
    char name[512];
    size_t i;
    json_array_foreach(json_object_get(workflow, "nodes"), i, node)
    {
        json_t *counts = json_object_get(points, json_string_value(json_object_get(node, "point")));
        if (counts) json_object_update(node, counts);
    }
    json_array_foreach(json_object_get(workflow, "edges"), i, edge)
    {
        const char *to = json_string_value(json_object_get(edge, "to"));
        if (!to) continue;
        way_name(name, json_string_value(json_object_get(edge, "from")), to);
        json_t *count = json_object_get(ways, name);
        if (count) json_object_set(edge, "count", count);
    }
}

/* On the child's thread: adds the facts, and takes away what the caller may not see. */
static void finish_graph(TfyRequest *request, json_t *answer, json_t *facts)
{
    const char *program = request->names.text[0];
    json_t *workflows = json_object_get(answer, "workflows"), *workflow;
    for (size_t i = json_array_size(workflows); i-- > 0;) {
        workflow = json_array_get(workflows, i);
        const char *name = json_string_value(json_object_get(workflow, "name"));
        char first[128];
        snprintf(first, sizeof first, "%.*s", name ? (int)strcspn(name, ".") : 0,
                 name ? name : ""); /* blocks are its parts */
        if (tfy__may_see(&request->caller, program, first))
            add_facts(workflow, facts);
        else
            json_array_remove(workflows, i);
    }
    json_object_set(answer, "program", json_object_get(facts, "program"));
    json_object_set(answer, "version", json_object_get(facts, "version"));
}

static void note_version(void *arg, const TfyRunShown *run)
{
    snprintf(arg, 13, "%s", run->version);
}

/* The version that is asked for: the one that is served, or one that runs of this program have. */
static bool find_version(TfyRequest *request, char version[13])
{
    const char *program = request->names.text[0], *given = tfy__request_parameter(request, "version");
    const TfyServed *served = tfy__served_named(request->server, program);
    TfyPlace next;
    *version = '\0';
    if (served && !tfy__served_seen(served, &request->caller)) served = NULL;
    if (served && (!given || strcmp(given, served->version) == 0)) {
        snprintf(version, 13, "%s", served->version);
    } else if (given) {
        const TfyRunsWanted wanted = {.program = program, .version = given, .only = request->caller.only, .limit = 1};
        (void)request->reader->lists->runs(request->reader, &wanted, note_version, version, &next);
    }
    return *version ||
           tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND,
                        given ? "no run of %.60s has version '%.40s'" : "there is no program %.60s", program, given);
}

void tfy__serve_graph(TfyRequest *request)
{
    char version[13], *source = NULL, *layout = NULL;
    Gathering gathering = {.facts = NULL};
    if (!tfy__request_known(request, tfy__graph_parameters) || !tfy__index_awaited(request) ||
        !find_version(request, version))
        return;
    if (tfy__log_find_program(request->reader->log, version, &source, &layout) != TFY_OK) {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "the log does not have version %s yet", version);
        return;
    }
    gathering.map.layout = json_loads(layout, 0, NULL);
    gathering.facts =
        json_pack("{s:s, s:s, s:{}, s:{}}", "program", request->names.text[0], "version", version, "points", "ways");
    if (gathering.facts && request->reader->lists->points(request->reader, request->names.text[0], version, gather,
                                                          &gathering) == TFY_OK) {
        tfy__child_ask(request, (const char *const[]){"graph", version, NULL});
        tfy__child_then(request, finish_graph, gathering.facts);
    } else {
        json_decref(gathering.facts);
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the index cannot be read");
    }
    tfy__source_map_free(&gathering.map);
    free(source);
    free(layout);
}

/* ---- statistics ---- */

const char *const tfy__stats_parameters[] = {"by", "program", "workflow", "after", "before", "limit", NULL};

static bool read_by(TfyRequest *request, unsigned *by)
{
    static const struct {
        const char *name;
        unsigned bit;
    } names[] = {{"hour", TFY_BY_HOUR},
                 {"day", TFY_BY_DAY},
                 {"workflow", TFY_BY_WORKFLOW},
                 {"model", TFY_BY_MODEL},
                 {"point", TFY_BY_POINT}};
    enum { NAMES = sizeof names / sizeof *names };
    const char *given = tfy__request_parameter(request, "by");
    size_t len;
    *by = 0;
    for (const char *at = given; at && *at; at += len + (at[len] == ',')) {
        size_t i = 0;
        len = strcspn(at, ",");
        while (i < NAMES && (strlen(names[i].name) != len || strncmp(names[i].name, at, len) != 0)) i++;
        if (i == NAMES)
            return tfy__problem(
                &request->problem, TFY_PROBLEM_BAD_REQUEST,
                "'%.*s' is none of hour, day, workflow, model, point, or several with commas between them",
                (int)(len < 60 ? len : 60), at);
        *by |= names[i].bit;
    }
    return !(*by & TFY_BY_POINT) || !(*by & (TFY_BY_WORKFLOW | TFY_BY_MODEL)) ||
           tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST,
                        "a point is one of a workflow; it goes with hour or day alone");
}

typedef struct Stats {
    TfyRequest *request;
    const char *workflow; /* whose points are wanted; NULL: all */
    json_t *list;
    char version[13]; /* whose points the map has */
    TfySourceMap map;
} Stats;

static void forget_version(Stats *stats)
{
    tfy__source_map_free(&stats->map);
    stats->map = (TfySourceMap){0};
}

/* Groups come in the order of their versions. NULL: its program is not in the log, as after a repair. */
static const char *point_of(Stats *stats, const TfyStat *stat)
{
    char *source = NULL, *layout = NULL;
    if (strcmp(stats->version, stat->version) != 0) {
        forget_version(stats);
        snprintf(stats->version, sizeof stats->version, "%s", stat->version);
        if (tfy__log_find_program(stats->request->reader->log, stat->version, &source, &layout) == TFY_OK)
            stats->map.layout = json_loads(layout, 0, NULL);
        free(source);
        free(layout);
    }
    return stats->map.layout ? tfy__source_point(&stats->map, stat->point) : NULL;
}

/* False: it is not of a workflow that is wanted, or that the caller sees. */
static bool add_point(Stats *stats, const TfyStat *stat, json_t *one)
{
    char workflow[128];
    const char *point = point_of(stats, stat);
    if (!point) return false;
    snprintf(workflow, sizeof workflow, "%.*s", (int)strcspn(point, "./"), point); /* blocks are its parts */
    if ((stats->workflow && strcmp(stats->workflow, workflow) != 0) ||
        !tfy__may_see(&stats->request->caller, stat->program, workflow))
        return false;
    json_object_set_new(one, "workflow", json_string(workflow));
    json_object_set_new(one, "version", json_string(stat->version));
    json_object_set_new(one, "point", json_string(point));
    return true;
}

static bool show_stat(void *arg, const TfyStat *stat)
{
    Stats *stats = arg;
    const TfyCounts *counts = stat->counts;
    json_t *one = json_object();
    if (stat->version && !add_point(stats, stat, one)) {
        json_decref(one);
        return false;
    }
    if (stat->begins_ms) json_object_set_new(one, "begins", tfy__json_time(stat->begins_ms));
    if (stat->program) json_object_set_new(one, "program", json_string(stat->program));
    if (stat->workflow) json_object_set_new(one, "workflow", json_string(stat->workflow));
    if (stat->model) json_object_set_new(one, "model", json_string(stat->model));
    json_object_set_new(one, "started", json_integer(counts->begun));
    add_counts(one, counts);
    json_object_set_new(one, "cancelled", json_integer(counts->cancelled));
    json_object_set_new(
        one, "tokens",
        json_pack("{s:I, s:I}", "in", (json_int_t)counts->tokens_in, "out", (json_int_t)counts->tokens_out));
    json_object_set_new(one, "cost", json_real((double)counts->cost / 1e6));
    json_array_append_new(stats->list, one);
    return true;
}

void tfy__serve_stats(TfyRequest *request)
{
    TfyStatsWanted wanted = {.program = tfy__request_parameter(request, "program"),
                             .workflow = tfy__request_parameter(request, "workflow"),
                             .only = request->caller.only};
    int64_t limit;
    bool more;
    if (!tfy__request_known(request, tfy__stats_parameters) || !tfy__index_awaited(request) ||
        !read_by(request, &wanted.by) || !tfy__request_number(request, "limit", GROUPS_USUAL, 1, GROUPS_MOST, &limit) ||
        !tfy__request_time(request, "after", &wanted.after_ms) ||
        !tfy__request_time(request, "before", &wanted.before_ms))
        return;
    if (!wanted.after_ms) wanted.after_ms = tfy__clock_ms() - (int64_t)DAYS_USUAL * 24 * TFY_HOUR_MS;
    wanted.limit = (uint32_t)limit;
    Stats stats = {.request = request, .workflow = wanted.workflow, .list = json_array()};
    if (request->reader->lists->stats(request->reader, &wanted, show_stat, &stats, &more) == TFY_OK) {
        tfy__request_json(
            request, 200,
            json_pack("{s:O, s:o, s:b}", "stats", stats.list, "after", tfy__json_time(wanted.after_ms), "more", more));
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the index cannot be read");
    }
    json_decref(stats.list);
    forget_version(&stats);
}

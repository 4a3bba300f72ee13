/* index_stats.c: see index.h: what was counted. Rows come in the order of their groups, so a group is added up while they pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/index_query.h"
#include "serve/tally.h"
#include "tfy.h"

enum { AT_TIME, AT_PROGRAM, AT_WORKFLOW, AT_NAME, AT_COUNTS };

typedef struct Group {
    bool any;
    int64_t time;
    char program[TFY_TALLY_NAME], workflow[TFY_TALLY_NAME], name[TFY_TALLY_NAME];
    TfyCounts counts;
} Group;

static void read_key(sqlite3_stmt *row, Group *group)
{
    char *const texts[] = {group->program, group->workflow, group->name};
    group->time = sqlite3_column_int64(row, AT_TIME);
    for (int i = 0; i < 3; i++) {
        const char *text = (const char *)sqlite3_column_text(row, AT_PROGRAM + i);
        snprintf(texts[i], TFY_TALLY_NAME, "%s", text ? text : "");
    }
}

static bool is_same(const Group *a, const Group *b)
{
    return a->time == b->time && strcmp(a->program, b->program) == 0 && strcmp(a->workflow, b->workflow) == 0 &&
           strcmp(a->name, b->name) == 0;
}

/* "VERSION/FROM" or "VERSION/FROM/TO". */
static bool read_points(const char *name, uint32_t *from, uint32_t *to)
{
    const char *first = name ? strchr(name, '/') : NULL, *second = first ? strchr(first + 1, '/') : NULL;
    *from = first ? (uint32_t)strtoul(first + 1, NULL, 10) : 0;
    *to = second ? (uint32_t)strtoul(second + 1, NULL, 10) : 0;
    return first;
}

static bool show_group(const Group *group, unsigned by, bool (*show)(void *arg, const TfyStat *stat), void *arg)
{
    const unsigned named = by & (TFY_BY_WORKFLOW | TFY_BY_POINT);
    char version[TFY_TALLY_NAME];
    uint32_t to;
    TfyStat stat = {.begins_ms = by & (TFY_BY_HOUR | TFY_BY_DAY) ? group->time * TFY_HOUR_MS : 0,
                    .program = named ? group->program : NULL,
                    .workflow = by & TFY_BY_WORKFLOW ? group->workflow : NULL,
                    .model = by & TFY_BY_MODEL ? group->name : NULL,
                    .counts = &group->counts};
    if (by & TFY_BY_POINT) {
        snprintf(version, sizeof version, "%.*s", (int)strcspn(group->name, "/"), group->name);
        stat.version = version;
        (void)read_points(group->name, &stat.point, &to);
    }
    return show(arg, &stat);
}

static int show_groups(sqlite3_stmt *row, const TfyStatsWanted *wanted, bool (*show)(void *arg, const TfyStat *stat),
                       void *arg, bool *more)
{
    Group group = {.any = false}, next = {.any = true};
    uint32_t count = 0;
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        read_key(row, &next);
        if (group.any && !is_same(&group, &next)) {
            count += show_group(&group, wanted->by, show, arg);
            if (count == wanted->limit) {
                *more = true;
                return TFY_OK;
            }
            group.any = false;
        }
        if (!group.any) group = next;
        tfy__tally_read(row, AT_COUNTS, &group.counts);
    }
    if (group.any) (void)show_group(&group, wanted->by, show, arg);
    return code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
}

int tfy__index_stats(TfyIndexReader *reader, const TfyStatsWanted *wanted, bool (*show)(void *arg, const TfyStat *stat),
                     void *arg, bool *more)
{
    TfyQuery query = {.count = 0};
    const unsigned by = wanted->by;
    int code;
    *more = false;
    const bool models = by & TFY_BY_MODEL, points = by & TFY_BY_POINT;
    tfy__buffer_printf(&query.sql, "SELECT %s AS time,%s,%s,%s," TFY_TALLY_COLUMNS " FROM tally WHERE 1",
                       by & TFY_BY_HOUR  ? "hour"
                       : by & TFY_BY_DAY ? "hour/24*24"
                                         : "0",
                       by & TFY_BY_WORKFLOW || points ? "program" : "''", by & TFY_BY_WORKFLOW ? "workflow" : "''",
                       models || points ? "name" : "''");
    tfy__query_number(&query, "what=?", models ? TFY_TALLY_MODELS : points ? TFY_TALLY_POINTS : TFY_TALLY_RUNS);
    tfy__query_text(&query, "program=?", wanted->program);
    if (!points) tfy__query_text(&query, "workflow=?", wanted->workflow);
    if (!points) tfy__query_only(&query, "program||'.'||workflow", wanted->only);
    tfy__query_number(&query, "hour>=?", wanted->after_ms / TFY_HOUR_MS);
    if (wanted->before_ms) tfy__query_number(&query, "hour<?", wanted->before_ms / TFY_HOUR_MS);
    tfy__buffer_text(&query.sql, " ORDER BY 1 DESC,2,3,4");
    sqlite3_stmt *row = tfy__query_open(reader, &query, &code);
    if (row) code = show_groups(row, wanted, show, arg, more);
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

/* ---- points ---- */

static int show_points(sqlite3_stmt *row, void (*show)(void *arg, uint32_t from, uint32_t to, const TfyCounts *counts),
                       void *arg)
{
    char name[TFY_TALLY_NAME] = "";
    TfyCounts counts = {0};
    uint32_t from, to;
    int code;
    do {
        code = sqlite3_step(row);
        const char *next = code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : "";
        if (*name && strcmp(name, next) != 0) {
            if (read_points(name, &from, &to)) show(arg, from, to, &counts);
            counts = (TfyCounts){0};
        }
        snprintf(name, sizeof name, "%s", next);
        if (code == SQLITE_ROW) tfy__tally_read(row, 1, &counts);
    } while (code == SQLITE_ROW);
    return code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
}

int tfy__index_points(TfyIndexReader *reader, const char *program, const char *version,
                      void (*show)(void *arg, uint32_t from, uint32_t to, const TfyCounts *counts), void *arg)
{
    TfyQuery query = {.count = 0};
    char prefix[TFY_TALLY_NAME];
    int code;
    snprintf(prefix, sizeof prefix, "%s/*", version);
    tfy__buffer_text(&query.sql, "SELECT name," TFY_TALLY_COLUMNS " FROM tally WHERE workflow=''");
    tfy__buffer_printf(&query.sql, " AND what IN(%d,%d)", TFY_TALLY_POINTS, TFY_TALLY_WAYS);
    tfy__query_text(&query, "program=?", program);
    tfy__query_text(&query, "name GLOB ?", prefix);
    tfy__buffer_text(&query.sql, " ORDER BY name");
    sqlite3_stmt *row = tfy__query_open(reader, &query, &code);
    if (row) code = show_points(row, show, arg);
    sqlite3_finalize(row);
    tfy__buffer_free(&query.sql);
    return code;
}

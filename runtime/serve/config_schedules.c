/* config_schedules.c: see config_schedules.h. */
#include "serve/config_schedules.h"

#include <stdio.h>
#include <stdlib.h>

#include "effects/zone_file.h"
#include "serve/clock.h"
#include "tfy.h"

static const int64_t catch_up_most_ms = INT64_C(366) * 86400000, jitter_most_ms = INT64_C(86400000),
                     catch_up_usual_ms = 60000;

static bool take_cron(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfySchedule *schedule = arg;
    char why[TFY_CRON_WHY];
    if (!tfy__cron_read(json_string_value(value), &schedule->cron, why))
        return tfy__config_refuse(reading, path, "%s", why);
    return tfy__config_text(reading, &schedule->times, value);
}

static bool take_zone(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfySchedule *schedule = arg;
    char why[TFY_ERROR_TEXT];
    tfy__buffer_reset(&schedule->rules);
    if (tfy__zone_read(json_string_value(value), json_string_length(value), &schedule->rules, why) != 0)
        return tfy__config_refuse(reading, path, "%.150s", why);
    return tfy__config_text(reading, &schedule->zone, value);
}

static bool take_start(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfySchedule *schedule = arg;
    return tfy__config_workflow(reading, value, path, &schedule->start, &schedule->program, &schedule->workflow);
}

static bool take_args(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfySchedule *schedule = arg;
    free(schedule->args);
    return (schedule->args = json_dumps(value, JSON_COMPACT));
}

static bool take_overlap(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfySchedule *schedule = arg;
    const char *name;
    for (schedule->overlap = 0; (name = tfy__overlap_name(schedule->overlap)); schedule->overlap++)
        if (strcmp(name, json_string_value(value)) == 0) return true;
    return tfy__config_refuse(reading, path, "it is not skip, queue, cancel_old or allow");
}

static bool take_catch_up(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_duration(reading, value, path, catch_up_most_ms, &((TfySchedule *)arg)->catch_up_ms);
}

static bool take_jitter(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_duration(reading, value, path, jitter_most_ms, &((TfySchedule *)arg)->jitter_ms);
}

static bool complete(TfyReading *reading, TfySchedule *schedule, const char *path)
{
    if (!schedule->times || !schedule->start)
        return tfy__config_refuse(reading, path, "a schedule has \"cron\" and \"start\"");
    if (!schedule->zone) tfy__buffer_text(&schedule->rules, "UTC0");
    if (!schedule->args) schedule->args = strdup("{}");
    if (schedule->rules.failed || !schedule->args) return false;
    return tfy__cron_next(&schedule->cron, schedule->rules.data, tfy__clock_ms() / 1000) ||
           tfy__config_refuse(reading, path, "there is no such time within nine years");
}

static bool read_schedule(TfyReading *reading, const char *name, json_t *value, const char *path)
{
    static const TfyConfigRow rows[] = {
        {"cron", JSON_STRING, take_cron},       {"zone", JSON_STRING, take_zone},
        {"start", JSON_STRING, take_start},     {"args", JSON_OBJECT, take_args},
        {"overlap", JSON_STRING, take_overlap}, {"catch_up", JSON_STRING, take_catch_up},
        {"jitter", JSON_STRING, take_jitter},   {.name = NULL}};
    TfySchedule *schedule = calloc(1, sizeof *schedule);
    if (!schedule) return false;
    LIST_APPEND(&reading->config->schedules, schedule, next);
    schedule->catch_up_ms = catch_up_usual_ms;
    if (!(schedule->name = strdup(name))) return false;
    if (!tfy__config_name_fits(reading, name, path)) return false;
    if (!json_is_object(value)) return tfy__config_refuse(reading, path, "it is not an object");
    return tfy__config_object(reading, value, rows, path, schedule) && complete(reading, schedule, path);
}

bool tfy__config_schedules(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    const char *name;
    json_t *one;
    json_object_foreach(value, name, one)
    {
        char below[TFY_CONFIG_PATH];
        snprintf(below, sizeof below, "%.400s.%.80s", path, name);
        if (!read_schedule(reading, name, one, below)) return false;
    }
    return true;
}

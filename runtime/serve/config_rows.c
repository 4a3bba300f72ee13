/* config_rows.c: see config_rows.h. */
#include "serve/config_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/json_line.h"
#include "tfy.h"
#include "value/json.h"

bool tfy__config_refuse(const TfyReading *reading, const char *path, const char *format, ...)
{
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(reading->error, TFY_ERROR_TEXT, "%.120s:%d: %.160s: %s", reading->name,
             tfy__json_line(reading->text, reading->len, path), path, why);
    return false;
}

static bool refuse_unknown(const TfyReading *reading, const TfyConfigRow *rows, const char *name, const char *path)
{
    enum { MOST = 16 };
    const char *names[MOST + 1] = {NULL};
    for (int i = 0; i < MOST && rows[i].name; i++) names[i] = rows[i].name;
    return tfy__config_refuse(reading, path, "it is not known here%s", tfy__meant(name, names).text);
}

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_TRUE: return "true or false";
    case JSON_INTEGER: return "a whole number";
    default: return "a text";
    }
}

bool tfy__config_object(TfyReading *reading, json_t *object, const TfyConfigRow *rows, const char *path, void *arg)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        char below[TFY_CONFIG_PATH];
        const TfyConfigRow *row = rows;
        snprintf(below, sizeof below, "%.400s.%.80s", path, name);
        while (row->name && strcmp(row->name, name) != 0) row++;
        if (!row->name) return refuse_unknown(reading, rows, name, below);
        const bool fits = row->type == JSON_NULL   ? true
                          : row->type == JSON_TRUE ? json_is_boolean(value)
                                                   : json_typeof(value) == row->type;
        if (!fits) return tfy__config_refuse(reading, below, "it is not %s", type_name(row->type));
        if (!row->take(reading, value, below, arg)) return false;
    }
    return true;
}

bool tfy__config_named(TfyReading *reading, json_t *objects, const TfyConfigRow *rows, const char *path)
{
    const char *name;
    json_t *object;
    json_object_foreach(objects, name, object)
    {
        char below[TFY_CONFIG_PATH];
        snprintf(below, sizeof below, "%.400s.%.80s", path, name);
        if (!json_is_object(object)) return tfy__config_refuse(reading, below, "it is not an object");
        if (!tfy__config_object(reading, object, rows, below, NULL)) return false;
    }
    return true;
}

bool tfy__config_text(TfyReading *reading, char **place, const json_t *value)
{
    free(*place);
    *place = strdup(json_string_value(value));
    if (!*place) snprintf(reading->error, TFY_ERROR_TEXT, "memory ran out");
    return *place;
}

bool tfy__config_name_fits(const TfyReading *reading, const char *name, const char *path)
{
    enum { MOST = 64 };
    return (*name && strlen(name) <= MOST && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")]) ||
           tfy__config_refuse(reading, path, "a name has 1 to %d of a-z, 0-9, '_' and '-'", MOST);
}

bool tfy__config_workflow(TfyReading *reading, const json_t *value, const char *path, char **text, char **program,
                          const char **workflow)
{
    const char *given = json_string_value(value), *dot = strchr(given, '.');
    if (!dot || dot == given || !dot[1] || strchr(dot + 1, '.'))
        return tfy__config_refuse(reading, path, "it is not PROGRAM.WORKFLOW");
    free(*program);
    *program = strndup(given, (size_t)(dot - given));
    if (!*program || !tfy__config_text(reading, text, value)) return false;
    *workflow = *text + (dot - given) + 1;
    return true;
}

bool tfy__config_duration(TfyReading *reading, const json_t *value, const char *path, int64_t most_ms, int64_t *ms)
{
    if (tfy__read_duration(json_string_value(value), json_string_length(value), ms) && *ms >= 0 && *ms <= most_ms)
        return true;
    return tfy__config_refuse(reading, path, "it is not a time such as 30s, 5m or 1h, up to %lld d",
                              (long long)(most_ms / 86400000));
}

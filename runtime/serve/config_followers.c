/* config_followers.c: see config_followers.h. */
#include "serve/config_followers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/look/event.h"
#include "publish/address.h"
#include "publish/cursor.h"

static bool take_to(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyAddress address;
    char why[TFY_ERROR_TEXT];
    if (!tfy__address_read(&address, json_string_value(value), why))
        return tfy__config_refuse(reading, path, "%.150s", why);
    const bool known = tfy__address_target(&address, why);
    tfy__address_free(&address);
    if (!known) return tfy__config_refuse(reading, path, "%.150s", why);
    return tfy__config_text(reading, &((TfyFollowerRow *)arg)->to, value);
}

/* A list of names, as `--type` has them. */
static bool take_types(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyFollowerRow *row = arg;
    TfyBuffer list = {0};
    char why[TFY_ERROR_TEXT];
    uint64_t types;
    json_t *item;
    size_t i;
    json_array_foreach(value, i, item)
    {
        if (i) tfy__buffer_char(&list, ',');
        tfy__buffer_text(&list, json_is_string(item) ? json_string_value(item) : "?");
    }
    free(row->types);
    row->types = list.failed ? NULL : list.data;
    if (list.failed) return false;
    return !row->types || tfy__event_types(row->types, &types, why) || tfy__config_refuse(reading, path, "%.150s", why);
}

static bool take_secret_file(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &((TfyFollowerRow *)arg)->secret_file, value);
}

static bool take_content(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    ((TfyFollowerRow *)arg)->content = json_is_true(value);
    return true;
}

static bool read_follower(TfyReading *reading, const char *name, json_t *value, const char *path)
{
    static const TfyConfigRow rows[] = {{"to", JSON_STRING, take_to},
                                        {"type", JSON_ARRAY, take_types},
                                        {"secret_file", JSON_STRING, take_secret_file},
                                        {"content", JSON_TRUE, take_content},
                                        {.name = NULL}};
    TfyFollowerRow *row = calloc(1, sizeof *row);
    if (!row) return false;
    LIST_APPEND(&reading->config->followers, row, next);
    if (!(row->name = strdup(name))) return false;
    if (!tfy__follower_name_fits(name))
        return tfy__config_refuse(reading, path,
                                  "a name starts with a small letter, and has only a-z, 0-9, '_' and '-', %d at most",
                                  TFY_FOLLOWER_NAME_MOST);
    if (!json_is_object(value)) return tfy__config_refuse(reading, path, "it is not an object");
    if (!tfy__config_object(reading, value, rows, path, row)) return false;
    return row->to || tfy__config_refuse(reading, path, "a follower has \"to\", such as redis://127.0.0.1:6379");
}

bool tfy__config_followers(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    const char *name;
    json_t *one;
    json_object_foreach(value, name, one)
    {
        char below[TFY_CONFIG_PATH];
        snprintf(below, sizeof below, "%.400s.%.80s", path, name);
        if (!read_follower(reading, name, one, below)) return false;
    }
    return true;
}

void tfy__follower_row_free(TfyFollowerRow *row)
{
    free(row->name);
    free(row->to);
    free(row->types);
    free(row->secret_file);
    free(row);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool tfy__follower_rows_alike(const TfyFollowerRow *a, const TfyFollowerRow *b)
{
    return same(a->name, b->name) && same(a->to, b->to) && same(a->types, b->types) &&
           same(a->secret_file, b->secret_file) && a->content == b->content;
}

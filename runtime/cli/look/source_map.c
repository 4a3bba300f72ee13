/* source_map.c: see source_map.h. */
#include "cli/look/source_map.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void tfy__source_map(TfySourceMap *map, const TfyHistory *history)
{
    map->layout = json_loads(history->program_layout, 0, NULL);
    map->source = history->program_source;
}

void tfy__source_map_free(TfySourceMap *map)
{
    json_decref(map->layout);
    map->layout = NULL;
}

/* Points are numbered from 1 in the order of the list. */
static const json_t *find_point(const TfySourceMap *map, uint32_t point)
{
    const json_t *found = point ? json_array_get(json_object_get(map->layout, "points"), point - 1) : NULL;
    return json_integer_value(json_object_get(found, "n")) == (json_int_t)point ? found : NULL;
}

/* The name comes from the database and becomes a path, so names that lead elsewhere are rejected. */
const char *tfy__source_file(const TfySourceMap *map)
{
    const char *file = json_string_value(json_object_get(map->layout, "file"));
    bool plain = file && *file && *file != '.' && !strchr(file, '/') && strlen(file) < NAME_MAX;
    return plain ? file : "program.tfy";
}

void tfy__source_program(const TfySourceMap *map, char *name, size_t size)
{
    const char *file = json_string_value(json_object_get(map->layout, "file"));
    const size_t len = file ? strlen(file) : 0;
    const bool stem = len > 4 && strcmp(file + len - 4, ".tfy") == 0;
    snprintf(name, size, "%.*s", (int)(stem ? len - 4 : len), file ? file : "");
}

char *tfy__source_bundle(const TfySourceMap *map)
{
    const json_t *modules = json_object_get(map->layout, "modules"), *module;
    const size_t len = strlen(map->source);
    size_t i, from = 0;
    if (!json_array_size(modules)) return NULL;
    json_t *files = json_array();
    json_array_foreach(modules, i, module)
    {
        const json_int_t bytes = json_integer_value(json_object_get(module, "bytes"));
        if (bytes < 0 || from > len || (size_t)bytes > len - from) break;
        json_array_append_new(files, json_pack("{s:O, s:o, s:O}", "file", json_object_get(module, "file"), "text",
                                               json_stringn(map->source + from, (size_t)bytes), "imports",
                                               json_object_get(module, "imports")));
        from += (size_t)bytes + 1; /* a newline separates two files */
    }
    json_t *bundle = json_pack("{s:o}", "modules", files);
    char *text = json_dumps(bundle, JSON_INDENT(1));
    json_decref(bundle);
    return text;
}

/* Returns the line in the stored source, which concatenates the files of a program. */
static int64_t stored_line(const json_t *point)
{
    const json_t *at = json_object_get(point, "at");
    return json_integer_value(at ? at : json_object_get(point, "line"));
}

int64_t tfy__source_line(const TfySourceMap *map, uint32_t point, const char **file)
{
    const int64_t line = stored_line(find_point(map, point));
    int64_t first = 1;
    const json_t *module;
    size_t i;
    *file = NULL;
    json_array_foreach(json_object_get(map->layout, "modules"), i, module)
    {
        const int64_t begins = json_integer_value(json_object_get(module, "line"));
        if (i == 0 || begins > line) continue;
        *file = json_string_value(json_object_get(module, "file"));
        first = begins;
    }
    return line ? line - first + 1 : 0;
}

const char *tfy__source_point(const TfySourceMap *map, uint32_t point)
{
    return json_string_value(json_object_get(find_point(map, point), "id"));
}

/* Ids without a label are "WORKFLOW/KIND/CALLEE/N". */
void tfy__source_callee(const TfySourceMap *map, uint32_t point, char name[64])
{
    static const char *const kinds[] = {"/tool/", "/effect/", "/prompt/"};
    const char *id = tfy__source_point(map, point);
    name[0] = '\0';
    for (size_t i = 0; id && i < sizeof kinds / sizeof *kinds; i++) {
        const char *kind = strstr(id, kinds[i]);
        if (!kind) continue;
        const char *callee = kind + strlen(kinds[i]);
        snprintf(name, 64, "%.*s", (int)strcspn(callee, "/"), callee);
        return;
    }
}

const char *tfy__source_text(const TfySourceMap *map, uint32_t point, size_t *len)
{
    const int64_t line = stored_line(find_point(map, point));
    const char *at = map->source;
    *len = 0;
    if (line < 1) return "";
    for (int64_t i = 1; i < line; i++) {
        at = strchr(at, '\n');
        if (!at) return "";
        at++;
    }
    at += strspn(at, " \t");
    *len = strcspn(at, "\r\n");
    while (*len && strchr(" \t", at[*len - 1])) --*len;
    return at;
}

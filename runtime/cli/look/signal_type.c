#include "cli/look/signal_type.h"

#include <string.h>

#include "tfy.h"
#include "value/type_book.h"
#include "wal/rows/payload.h"

static const json_t *point_at(const TfySourceMap *map, uint32_t point)
{
    return point ? json_array_get(json_object_get(map->layout, "points"), point - 1) : NULL;
}

bool tfy__signal_misfit(const TfySourceMap *map, uint32_t point, const json_t *value, char *error_text)
{
    const char *name = json_string_value(json_object_get(point_at(map, point), "result")), *file;
    if (!name || strcmp(name, "nothing") == 0) return false;
    TfyTypeBook *book = tfy__type_book_new(map->layout);
    const TfyType *type = book ? tfy__type_book_find(book, name) : NULL;
    char why[TFY_ERROR_TEXT];
    const bool misfit = type && !tfy__type_book_fits(type, value, why);
    const int64_t line = tfy__source_line(map, point, &file);
    if (misfit) tfy__misfit_signal(file ? file : tfy__source_file(map), (uint32_t)line, name, why, error_text);
    tfy__type_book_free(book);
    return misfit;
}

/* Returns the record with which the task started to wait for that signal; NULL: it waits for none, or for another. */
static const TfyLogRecord *waits_since(const TfyHistory *history, uint32_t task, const char *name)
{
    const TfyLogRecord *since = NULL;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (history->record_tasks[i] != task || tfy__record_is_apart(record)) continue;
        if (record->type == TFY_R_TASK_YIELD) continue; /* the time limit of the same wait */
        since = record->type == TFY_R_STEP_START && tfy__record_is(record, TFY_P_TOOL, "signal") &&
                        tfy__record_is(record, TFY_P_NAME, name)
                    ? record
                    : NULL;
    }
    return since;
}

int tfy__signal_check(const TfyHistory *history, const char *name, const json_t *value, char *error_text)
{
    TfySourceMap map;
    uint32_t refused = 0;
    bool fits = false;
    char later[TFY_ERROR_TEXT];
    tfy__source_map(&map, history);
    const json_t *points = json_object_get(map.layout, "points"), *point;
    size_t n;
    for (uint32_t i = 0; i < history->task_count && !fits; i++) {
        const TfyLogRecord *since = waits_since(history, i, name);
        if (since) fits = !tfy__signal_misfit(&map, since->point, value, refused++ ? later : error_text);
    }
    const bool awaited = fits || refused;
    json_array_foreach(points, n, point)
    {
        const char *callee = json_string_value(json_object_get(point, "callee"));
        if (awaited || fits || !callee || strcmp(callee, "signal") != 0) continue;
        fits = !tfy__signal_misfit(&map, (uint32_t)n + 1, value, refused++ ? later : error_text);
    }
    tfy__source_map_free(&map);
    if (fits) *error_text = '\0';
    return fits || !refused ? TFY_OK : TFY_E_DATA;
}

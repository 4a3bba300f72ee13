/* db.c: reads runs, and finds places in the source of their programs. */
#include "cli/look/db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/lower_bound.h"
#include "tfy.h"
#include "wal/store/lock.h"
#include "wal/history/history.h"

int tfy__db_history(const TfyArgs *args, TfyHistory **history)
{
    TfyLog *log;
    *history = NULL;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_read(log, tfy__history_read, args->word_count ? args->words[0] : "last", history);
    tfy__log_close(log, false);
    return status;
}

int tfy__db_with_history(const TfyArgs *args, TfyHistoryShow *show)
{
    TfyHistory *history;
    const bool held = tfy__db_held(tfy__db_path(args));
    int status = tfy__db_history(args, &history);
    if (status != EXIT_DONE) return status;
    status = tfy__flush_stdout(show(args, history, held));
    tfy__history_free(history);
    return status;
}

static int look_at(TfyLog *log, const char *run, int (*look)(void *state, const TfyHistory *history), void *state)
{
    TfyHistory *history = NULL;
    int status = tfy__db_read(log, tfy__history_read, run, &history);
    if (status == EXIT_DONE) status = look(state, history);
    tfy__history_free(history);
    return status;
}

int tfy__db_runs(const TfyArgs *args, int (*look)(void *state, const TfyHistory *history), void *state)
{
    TfyLog *log;
    TfyLogRun *runs = NULL;
    char **names = NULL, id[37];
    uint32_t count = 0;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    if (args->word_count) {
        status = look_at(log, args->words[0], look, state);
    } else if (tfy__log_runs(log, &runs, &names, &count) != TFY_OK) {
        status = tfy__fail(EXIT_LOG, "the runs cannot be read");
    }
    for (uint32_t i = 0; i < count; i++) {
        tfy__uuid_text(runs[i].uuid, id);
        if (status == EXIT_DONE) status = look_at(log, id, look, state);
        free(names[i]);
    }
    free(names);
    free(runs);
    tfy__log_close(log, false);
    return status;
}

void tfy__db_say_base(const TfyHistory *history)
{
    if (history->run.base_lsn)
        tfy__say("the run was compacted: little is left of what came before record %lld",
                 (long long)history->run.base_lsn);
}

bool tfy__db_is_base(const TfyHistory *history, const TfyLogRecord *record)
{
    return history->run.base_lsn && record->lsn == history->run.base_lsn;
}

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

bool tfy__db_held(const char *db_path)
{
    char owner[TFY_LOCK_OWNER_BYTES];
    return tfy__lock_held(db_path, owner, sizeof owner);
}

const char *tfy__db_run_state(const TfyLogRun *run, bool held)
{
    switch (run->state) {
    case TFY_TASK_COMPLETED: return "completed";
    case TFY_TASK_FAILED: return "failed";
    case TFY_TASK_CANCELLED: return "cancelled";
    default: return held ? "running" : "stopped";
    }
}

int tfy__db_number(const TfyArgs *args, TfyOption option, uint64_t *out)
{
    const char *text = args->option[option];
    char *end = NULL;
    if (!text) return EXIT_DONE;
    errno = 0;
    const unsigned long long number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!number || errno || *end)
        return tfy__fail(EXIT_USAGE, "--%s takes a number from 1 on, not '%s'", tfy__option_at(option)->name, text);
    *out = number;
    return EXIT_DONE;
}

/* Tasks are in the order of their creation. */
uint32_t tfy__db_task_born(const TfyHistory *history, int64_t lsn)
{
    const uint32_t index = (uint32_t)LOWER_BOUND(history->tasks, history->task_count, born, lsn);
    return index < history->task_count && history->tasks[index].born == lsn ? index : UINT32_MAX;
}

void tfy__db_time(int64_t ms, char text[32])
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || strftime(text, 32, "%Y-%m-%d %H:%M:%S", &parts) == 0) strcpy(text, "?");
}

/* calls.c: reads and writes the files of cli/program/rehearse.c from outside: the answers of a recorded run, and the
 * calls of a trial. */
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/crash/crash.h"
#include "wal/rows/payload.h"

/* ---- answers ---- */

/* The results of steps: LLMPlan, ToolResult, PatchPreview, Commit, IOReady, and a TimerFired of the step's own; and
 * Value: the clock. */
static const char answers_sql[] =
    "SELECT json_object('path',t.path,'step',w.step,'type',w.type,'payload',json(w.payload)) FROM wal w JOIN task t ON "
    "t.tid=w.tid "
    "WHERE t.run=(SELECT max(id) FROM run) AND w.step>0 AND w.type IN (2,4,5,6,15,17,27) AND "
    "w.payload->>? IS NULL "
    "ORDER BY t.path, w.step, w.lsn";

void crash_answers_write(const char *db, const char *file)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *rows = NULL;
    FILE *out = fopen(file, "we");
    int code = sqlite3_open_v2(db, &handle, SQLITE_OPEN_READONLY, NULL);
    if (!code) code = sqlite3_prepare_v2(handle, answers_sql, -1, &rows, NULL);
    if (!code) code = sqlite3_bind_text(rows, 1, tfy__member_name(TFY_P_SCOPE), -1, SQLITE_STATIC);
    while (out && !code && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        fprintf(out, "%s\n", (const char *)sqlite3_column_text(rows, 0));
        code = SQLITE_OK;
    }
    if (!out || ferror(out) || fclose(out) != 0 || code != SQLITE_DONE)
        crash_die("the answers of %s cannot be written to %s", db, file);
    sqlite3_finalize(rows);
    sqlite3_close(handle);
}

/* ---- calls ---- */

typedef bool SeeCall(void *state, const json_t *line); /* false: stop */

static void see_calls(const char *dir, SeeCall *see, void *state)
{
    char *text = crash_file_text(dir, "calls"), *rest = text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        json_t *json = *line ? json_loads(line, JSON_ALLOW_NUL, NULL) : NULL;
        const bool more = !json || see(state, json);
        json_decref(json);
        if (!more) break;
    }
    free(text);
}

static const char *key_of(const json_t *line, const char *what)
{
    return json_string_value(json_object_get(line, what));
}

typedef struct Wanted {
    const char *key;
    CallState state;
    char *result;
} Wanted;

static bool is_key(const json_t *line, const char *what, const char *key)
{
    const char *its = key_of(line, what);
    return its && strcmp(its, key) == 0;
}

static bool see_state(void *state, const json_t *line)
{
    Wanted *wanted = state;
    if (is_key(line, "start", wanted->key)) wanted->state = CALL_BEGUN;
    if (is_key(line, "failed", wanted->key)) wanted->state = CALL_FAILED;
    if (is_key(line, "done", wanted->key)) {
        const json_t *value = tfy__member_get(json_object_get(line, "payload"), TFY_P_VALUE);
        free(wanted->result);
        wanted->result = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : crash_text("null");
        wanted->state = CALL_DONE;
    }
    return true;
}

CallState crash_call_state(const char *dir, const char *key, char **result)
{
    Wanted wanted = {.key = key};
    see_calls(dir, see_state, &wanted);
    *result = wanted.state == CALL_DONE ? wanted.result : NULL;
    if (wanted.state != CALL_DONE) free(wanted.result);
    return wanted.state;
}

static bool is_once(const json_t *line)
{
    return key_of(line, "start") && json_is_true(json_object_get(line, "once"));
}

static bool see_once(void *state, const json_t *line)
{
    if (is_once(line)) fprintf(state, "%s %s\n", key_of(line, "tool"), key_of(line, "start"));
    return true;
}

char *crash_calls_text(const char *dir, const char *run_uuid)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) crash_die("memory ran out");
    see_calls(dir, see_once, out);
    fclose(out);
    return crash_in_order(crash_normal_text(text, run_uuid));
}

/* The newest state of each key: "start", "done" or "failed". */
typedef struct Seen {
    json_t *newest;
    char *twice;
} Seen;

static bool see_again(void *state, const json_t *line)
{
    static const char *const ends[] = {"done", "failed"};
    Seen *seen = state;
    if (is_once(line)) {
        const char *key = key_of(line, "start"), *before = json_string_value(json_object_get(seen->newest, key));
        if (before && strcmp(before, "failed") != 0) {
            seen->twice =
                crash_text("%s %s, though it %s", key_of(line, "tool"), key,
                           strcmp(before, "done") == 0 ? "had been done" : "had started and nobody knew how it ended");
            return false;
        }
        json_object_set_new(seen->newest, key, json_string("start"));
    }
    for (size_t i = 0; i < 2; i++) {
        const char *key = key_of(line, ends[i]);
        if (key && json_object_get(seen->newest, key)) json_object_set_new(seen->newest, key, json_string(ends[i]));
    }
    return true;
}

char *crash_calls_twice(const char *dir)
{
    Seen seen = {.newest = json_object()};
    see_calls(dir, see_again, &seen);
    json_decref(seen.newest);
    return seen.twice;
}

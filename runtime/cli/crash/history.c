/* history.c: reads a database's newest run with plain SQL, without this project's own reader.
 *
 * Two runs of one program differ in what they get from the world: times, uuids, process numbers. A killed run also
 * has the records of its resumes: openings, doubts and their resolutions. This file leaves all of them out; the rest
 * must be equal. Signals come first, in their order: where the run stands when one arrives is up to its sender. */
#include <ctype.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/crash/crash.h"
#include "wal/rows/payload.h"

static const char newest_run[] = "(SELECT max(id) FROM run)";

static sqlite3 *open_db(const char *db)
{
    sqlite3 *handle = NULL;
    if (sqlite3_open_v2(db, &handle, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(handle, 5000);
        return handle;
    }
    sqlite3_close(handle);
    return NULL;
}

/* Prepares one statement, with the newest run in place of %s. NULL: the file does not have such tables yet. */
static sqlite3_stmt *prepare(sqlite3 *handle, const char *format)
{
    sqlite3_stmt *statement = NULL;
    char *sql = crash_text(format, newest_run);
    if (!handle || sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK) statement = NULL;
    free(sql);
    return statement;
}

static const char *text_at(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

/* Returns a payload, owned by the caller; NULL if the column does not hold one. */
static json_t *payload_at(sqlite3_stmt *statement, int column)
{
    const TfyLogRecord record = tfy__record_of_payload(text_at(statement, column));
    TfyPayload payload;
    tfy__payload_open(&payload, &record);
    return payload.json;
}

/* Returns the first column of the first row, or NULL. */
static char *one_text(const char *db, const char *format)
{
    sqlite3 *handle = open_db(db);
    sqlite3_stmt *statement = prepare(handle, format);
    char *text = NULL;
    if (statement && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        text = crash_text("%s", text_at(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return text;
}

bool crash_history_has_run(const char *db)
{
    char *id = one_text(db, "SELECT id FROM run WHERE id=%s");
    free(id);
    return id;
}

char *crash_history_uuid(const char *db)
{
    char *hex = one_text(db, "SELECT lower(hex(uuid)) FROM run WHERE id=%s"), *uuid = NULL;
    if (hex && strlen(hex) == 32)
        uuid = crash_text("%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
    free(hex);
    return uuid;
}

char *crash_history_damage(const char *db)
{
    char *check = one_text(db, "SELECT * FROM pragma_integrity_check WHERE '%s'<>''");
    if (!check || strcmp(check, "ok") != 0) return check ? check : crash_text("it cannot be read");
    free(check);
    char *holes = one_text(db, "SELECT count(*)||' records up to number '||max(lsn) FROM wal WHERE '%s'<>'' "
                               "HAVING count(*)<>max(lsn)");
    if (holes) return holes;
    return one_text(db, "SELECT 'record '||w.lsn||' names a text that is not there, or is there twice' FROM wal w, "
                        "json_each(w.payload,'$.texts') n WHERE '%s'<>'' AND w.type=2 AND (SELECT count(*) FROM wal t "
                        "WHERE t.type=41 AND t.lsn<w.lsn AND t.payload->>'$.digest'=n.value->>1)<>1 LIMIT 1");
}

bool crash_history_doubt(const char *db, Doubt *doubt)
{
    sqlite3 *handle = open_db(db);
    sqlite3_stmt *statement = prepare(handle, "SELECT t.path, w.step, w.payload FROM wal w JOIN task t ON t.tid=w.tid "
                                              "WHERE t.run=%s AND w.type=30 AND w.lsn=(SELECT max(lsn) FROM wal v "
                                              "WHERE v.tid=w.tid AND v.type NOT IN (33,41)) LIMIT 1");
    bool found = statement && sqlite3_step(statement) == SQLITE_ROW;
    if (found) {
        snprintf(doubt->path, sizeof doubt->path, "%s", text_at(statement, 0));
        doubt->step = sqlite3_column_int64(statement, 1);
        json_t *payload = payload_at(statement, 2);
        const char *key = tfy__member_text(payload, TFY_P_KEY);
        snprintf(doubt->key, sizeof doubt->key, "%s", key ? key : "");
        json_decref(payload);
    }
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return found;
}

/* ---- normalising ---- */

/* Returns the length of the hexadecimal digits at text if they are a whole word. */
static size_t hash_len(const char *begin, const char *text)
{
    size_t len = 0;
    if (text > begin && isalnum((unsigned char)text[-1])) return 0;
    while (isxdigit((unsigned char)text[len]) && !isupper((unsigned char)text[len])) len++;
    return (len == 40 || len == 12) && !isalnum((unsigned char)text[len]) ? len : 0;
}

size_t crash_uuid_len(const char *text, const char *end, const char *run_uuid)
{
    size_t len = 0;
    while (run_uuid && run_uuid[len] && text + len < end && text[len] == run_uuid[len]) len++;
    return len >= CRASH_SHORT_UUID ? len : 0;
}

char *crash_normal_text(char *text, const char *run_uuid)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    if (!out) crash_die("memory ran out");
    const char *const end = text + strlen(text);
    for (const char *at = text; at < end;) {
        const size_t hash = hash_len(text, at), uuid = crash_uuid_len(at, end, run_uuid);
        if (uuid || hash)
            to = stpcpy(to, uuid ? "RUN" : "SHA");
        else
            *to++ = *at;
        at += uuid ? uuid : hash ? hash : 1;
    }
    *to = '\0';
    free(text);
    return out;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *crash_in_order(char *text)
{
    size_t count = 0, room = 1;
    for (const char *at = text; *at; at++) room += *at == '\n';
    char **lines = calloc(room, sizeof *lines), *out = calloc(strlen(text) + 2, 1), *to = out;
    if (!lines || !out) crash_die("memory ran out");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        to = stpcpy(to, lines[i]);
        *to++ = '\n';
    }
    free(lines);
    free(text);
    return out;
}

/* The state of reading one task's records. */
typedef struct Walk {
    char path[256];
    /* the step that a resolution restarts: its start and deadline are recorded a second time */
    long long again;
    bool start, deadline; /* … and which of the two has not come yet */
} Walk;

static bool said_before(Walk *walk, int type, long long step)
{
    bool *expected = type == TFY_R_STEP_START ? &walk->start : type == TFY_R_TASK_YIELD ? &walk->deadline : NULL;
    if (!expected || step != walk->again || !*expected) return false;
    *expected = false;
    return true;
}

static void strip(int type, json_t *payload)
{
    static const TfyMember differing[] = {TFY_P_RUN, TFY_P_SEED,     TFY_P_TID,  TFY_P_DUE,     TFY_P_MS,
                                          TFY_P_BY,  TFY_P_PASSAGES, TFY_P_FUEL, TFY_P_ATTEMPT, TFY_P_ROOT};
    for (size_t i = 0; i < sizeof differing / sizeof *differing; i++)
        json_object_del(payload, tfy__member_name(differing[i]));
    if (type == TFY_R_VALUE) json_object_del(payload, tfy__member_name(TFY_P_NOW));
    if (type == TFY_R_LLM_PLAN) json_object_del(payload, tfy__member_name(TFY_P_AFTER));
    if (type == TFY_R_LLM_PLAN) json_object_del(payload, tfy__member_name(TFY_P_TEXTS));
    /* A question is compared by its text. One that names a commit has another digest in each run. */
    const bool asks = type == TFY_R_APPROVAL || tfy__member_text(payload, TFY_P_QUESTION);
    if (asks) json_object_del(payload, tfy__member_name(TFY_P_DIGEST));
}

/* A result is compared by its value or error. The digest of the request follows a '#'; a person's answer does not
 * have it. */
static char *result_words(json_t *payload)
{
    json_t *shown = json_object();
    static const TfyMember parts[] = {TFY_P_VALUE, TFY_P_ERROR};
    for (size_t i = 0; i < 2; i++) {
        json_t *part = tfy__member_get(payload, parts[i]);
        if (part && !json_is_null(part)) tfy__member_set(shown, parts[i], json_incref(part));
    }
    char *value = json_dumps(shown, JSON_COMPACT | JSON_SORT_KEYS);
    const char *tool = tfy__member_text(payload, TFY_P_TOOL), *digest = tfy__member_text(payload, TFY_P_DIGEST);
    char *words = digest ? crash_text("%s #%s %s", value, tool, digest) : crash_text("%s", value);
    free(value);
    json_decref(shown);
    return words;
}

static bool is_busy(int type, const json_t *payload)
{
    const char *why = tfy__member_text(payload, TFY_P_WHY);
    return type == TFY_R_TASK_YIELD && why && strcmp(why, "busy") == 0;
}

/* Returns one record as a line, or NULL if it says nothing about the run itself. */
static char *record_line(Walk *walk, sqlite3_stmt *row)
{
    const char *path = text_at(row, 0);
    int type = sqlite3_column_int(row, 1);
    const long long step = sqlite3_column_int64(row, 2);
    if (strcmp(walk->path, path) != 0) {
        *walk = (Walk){.again = -1};
        snprintf(walk->path, sizeof walk->path, "%s", path);
    }
    if (type == TFY_R_OPENED || type == TFY_R_SHUTDOWN_MARKER || type == TFY_R_IN_DOUBT || type == TFY_R_SNAPSHOT ||
        type == TFY_R_MOVED || type == TFY_R_CLAIMED || type == TFY_R_TEXT || type == TFY_R_SECRET ||
        type == TFY_R_LLM_REQUEST || type == TFY_R_MCP_ROUND || type == TFY_R_MCP_TASK || said_before(walk, type, step))
        return NULL;
    json_t *payload = payload_at(row, 4);
    if (!payload) return crash_text("%s a payload that is not JSON: %s\n", path, text_at(row, 4));
    const char *how = tfy__member_text(payload, TFY_P_HOW);
    const bool repeats = type == TFY_R_RESOLVED && how && strcmp(how, "retry") == 0;
    if (repeats) {
        walk->again = step;
        walk->start = walk->deadline = true;
    }
    if (repeats || is_busy(type, payload)) {
        json_decref(payload);
        return NULL;
    }
    if (type == TFY_R_RESOLVED && how && strcmp(how, "done") == 0) type = TFY_R_TOOL_RESULT;
    strip(type, payload);
    char *words =
        type == TFY_R_TOOL_RESULT ? result_words(payload) : json_dumps(payload, JSON_COMPACT | JSON_SORT_KEYS);
    char *line = type == TFY_R_SIGNAL ? crash_text("task %s: %s %s\n", path, tfy__record_type_name(type), words)
                                      : crash_text("task %s, step %lld at point %s: %s %s\n", path, step,
                                                   text_at(row, 3), tfy__record_type_name(type), words);
    free(words);
    json_decref(payload);
    return line;
}

/* Returns the result of a run that succeeded; null is one, and NULL that of a workflow that returns nothing. */
static char *result_value(sqlite3_stmt *row)
{
    json_t *payload = payload_at(row, 4);
    json_t *value = tfy__member_get(payload, TFY_P_VALUE);
    char *line = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref(payload);
    return line;
}

char *crash_history_text(const char *db, char **value)
{
    sqlite3 *handle = open_db(db);
    sqlite3_stmt *rows =
        prepare(handle, "SELECT t.path, w.type, w.step, w.point, w.payload FROM wal w JOIN task t ON t.tid=w.tid "
                        "WHERE t.run=%s ORDER BY t.path, w.type<>24, w.lsn");
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    Walk walk = {.again = -1};
    *value = NULL;
    if (!rows || !out) crash_die("the history in %s cannot be read", db);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        if (sqlite3_column_int(rows, 1) == TFY_R_TASK_COMPLETE) *value = result_value(rows);
        char *line = record_line(&walk, rows);
        if (line) fputs(line, out);
        free(line);
    }
    fclose(out);
    sqlite3_finalize(rows);
    sqlite3_close(handle);
    char *uuid = crash_history_uuid(db);
    text = crash_normal_text(text, uuid);
    if (*value) *value = crash_normal_text(*value, uuid);
    free(uuid);
    return text;
}

static bool same_line(const char *a, size_t a_len, const char *b, size_t b_len)
{
    const char *a_mark = memmem(a, a_len, " #", 2), *b_mark = memmem(b, b_len, " #", 2);
    if (!a_mark != !b_mark) {
        if (a_mark) a_len = (size_t)(a_mark - a);
        if (b_mark) b_len = (size_t)(b_mark - b);
    }
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

bool crash_history_same(const char *a, const char *b)
{
    while (*a && *b) {
        const size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");
        if (!same_line(a, a_len, b, b_len)) return false;
        a += a_len + (a[a_len] == '\n');
        b += b_len + (b[b_len] == '\n');
    }
    return !*a && !*b;
}

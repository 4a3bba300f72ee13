/* wal_import.c: tfy wal import: runs that tfy wal export wrote, into a database. Everything is read and checked before anything is
 * written, and a run goes in as one commit: it is there whole, or not at all. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/cli.h"
#include "cli/wal_lines.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/import.h"
#include "wal/store.h"

enum { NAME_BYTES = 4096, LINE_MAX_BYTES = 1 << 30 };

/* A run as its files tell it. */
typedef struct Exported {
    const char *name; /* of the .run file */
    json_t *head;
    TfyHistory *history;
    size_t room; /* of its records */
    int64_t epoch;
    char error[TFY_ERROR_TEXT];
} Exported;

static int refuse(Exported *exported, const char *file, const char *what)
{
    return tfy__log_refuse(exported->error, TFY_E_DATA, "%s: %s", file, what);
}

/* ---- the .run file ---- */

static const char *text_in(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static int64_t number_in(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* 16 bytes in hexadecimal, with or without the dashes of a UUID; nothing else. */
static bool read_hex(const char *text, uint8_t bytes[16])
{
    int digits = 0;
    for (; text && *text && digits < 32; text++) {
        const int digit = hex_digit(*text);
        if (*text == '-' && digits) continue;
        if (digit < 0) return false;
        bytes[digits / 2] = (uint8_t)(digits % 2 ? bytes[digits / 2] | digit : digit << 4);
        digits++;
    }
    return text && !*text && digits == 32;
}

static bool read_program(const json_t *program, TfyHistory *history)
{
    const char *tfyc = text_in(program, "tfyc"), *source = text_in(program, "source"),
               *layout = text_in(program, "layout"), *sum = text_in(program, "sum");
    TfyStoreProgram row = {.tfyc = tfyc, .source = source, .layout = layout};
    if (!tfyc || !source || !layout || !sum || !read_hex(text_in(program, "hash"), row.hash)) return false;
    if (tfy__store_sum_program(&row) != strtoull(sum, NULL, 16)) return false;
    memcpy(history->program_hash, row.hash, 16);
    history->program_tfyc = strdup(tfyc);
    history->program_source = strdup(source);
    history->program_layout = strdup(layout);
    return history->program_tfyc && history->program_source && history->program_layout;
}

static bool read_task(const json_t *entry, TfyHistory *history, TfyLogTask *task)
{
    const char *path = text_in(entry, "path"), *chain = text_in(entry, "chain");
    if (!path || !chain || !json_is_integer(json_object_get(entry, "tid"))) return false;
    *task = (TfyLogTask){.tid = number_in(entry, "tid"),
                         .run = &history->run,
                         .path = strdup(path),
                         .born = number_in(entry, "born"),
                         .chain = strtoull(chain, NULL, 16),
                         .step = number_in(entry, "step"),
                         .state = (int)number_in(entry, "state"),
                         .wait = (int)number_in(entry, "wait")};
    return task->path != NULL && task->tid > 0;
}

static int read_head(Exported *exported)
{
    json_error_t error;
    TfyHistory *history = exported->history;
    exported->head = json_load_file(exported->name, 0, &error);
    if (!exported->head)
        return tfy__log_refuse(exported->error, error.line < 0 ? TFY_E_ABSENT : TFY_E_DATA, "%s: %s", exported->name,
                               error.text);
    const char *format = text_in(exported->head, "format");
    if (!format || strcmp(format, "tfy run") != 0)
        return refuse(exported, exported->name,
                      "this is no run that 'tfy wal export' wrote; give the file that ends in .run");
    if (number_in(exported->head, "v") != TFY_RECORD_V)
        return refuse(exported, exported->name, "this tfy does not know its version; use the tfy that wrote it");
    const json_t *tasks = json_object_get(exported->head, "tasks"), *entry;
    size_t i;
    exported->epoch = number_in(exported->head, "epoch");
    history->run.state = (int)number_in(exported->head, "state");
    history->run.started_ms = number_in(exported->head, "started");
    history->run.ended_ms = number_in(exported->head, "ended");
    const json_t *origin = json_object_get(exported->head, "origin");
    history->run.origin_lsn = number_in(origin, "lsn");
    if (origin && (!read_hex(text_in(origin, "run"), history->run.origin) || history->run.origin_lsn < 1))
        return refuse(exported, exported->name, "it was changed since it was written");
    if (!read_hex(text_in(exported->head, "run"), history->run.uuid) || exported->epoch < 0 ||
        exported->epoch > INT64_C(1) << 40 || !read_program(json_object_get(exported->head, "program"), history))
        return refuse(exported, exported->name, "it was changed since it was written");
    history->tasks = calloc(json_array_size(tasks) + 1, sizeof *history->tasks);
    json_array_foreach(tasks, i, entry)
    {
        if (!history->tasks || !read_task(entry, history, &history->tasks[history->task_count]))
            return refuse(exported, exported->name, "it was changed since it was written");
        history->task_count++;
    }
    history->run.root = history->task_count ? history->tasks[0].tid : 0;
    return 0;
}

/* ---- the .wal files ---- */

static TfyLogRecord *new_record(Exported *exported, uint32_t task)
{
    TfyHistory *history = exported->history;
    if (history->record_count == exported->room) {
        const size_t room = exported->room ? 2 * exported->room : 1024;
        TfyLogRecord *records = realloc(history->records, room * sizeof *records);
        if (records) history->records = records;
        uint32_t *tasks = realloc(history->record_tasks, room * sizeof *tasks);
        if (tasks) history->record_tasks = tasks;
        if (!records || !tasks) return NULL;
        exported->room = room;
    }
    history->record_tasks[history->record_count] = task;
    TfyLogRecord *record = &history->records[history->record_count];
    *record = (TfyLogRecord){0};
    return record;
}

/* Chains are not in the lines: the last one of each task is in the .run file, and they are computed up to that. */
static bool read_line(Exported *exported, uint32_t task, const char *line, size_t len, const char *task_id,
                      uint64_t *chain)
{
    TfyBuffer payload = {0};
    json_t *json = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
    const char *time = text_in(json, "ts"), *type = text_in(json, "type"), *id = text_in(json, "task_id");
    TfyLogRecord *record = new_record(exported, task);
    bool fine = record && time && type && id && strcmp(id, task_id) == 0 &&
                tfy__read_time(time, strlen(time), &record->ts_ms) && tfy__line_take_payload(&payload, line, len);
    if (fine) {
        record->lsn = number_in(json, "lsn");
        record->tid = exported->history->tasks[task].tid;
        record->step = number_in(json, "step");
        record->point = (uint32_t)number_in(json, "point");
        record->v = (uint8_t)number_in(json, "v");
        record->type = (uint8_t)tfy__record_type_of(type);
        record->payload = payload.data;
        record->payload_len = (uint32_t)payload.len;
        record->chain = *chain = tfy__chain_next(*chain, record);
        exported->history->record_count++;
    } else {
        tfy__buffer_free(&payload);
    }
    json_decref(json);
    return fine;
}

static int read_lines(Exported *exported, uint32_t task, FILE *file, const char *name, const char *id)
{
    TfyHistory *history = exported->history;
    uint64_t chain = tfy__chain_seed(history->run.uuid, history->tasks[task].path);
    char *line = NULL, what[80];
    size_t room = 0;
    int code = 0;
    int64_t number = 0;
    for (ssize_t len; !code && (len = getline(&line, &room, file)) > 0;) {
        number++;
        if (len > LINE_MAX_BYTES || line[len - 1] != '\n' ||
            !read_line(exported, task, line, (size_t)len - 1, id, &chain)) {
            snprintf(what, sizeof what, "line %" PRId64 " is not as it was written", number);
            code = refuse(exported, name, what);
        }
    }
    free(line);
    if (!code && (ferror(file) ||
                  number != number_in(json_array_get(json_object_get(exported->head, "tasks"), task), "records")))
        code = refuse(exported, name, "it does not have all records of its task");
    if (!code && chain != history->tasks[task].chain)
        code = refuse(exported, name, "it was changed since it was written");
    return code;
}

/* It stands beside the .run file, under the name that follows from the run and the task's path. */
static int read_records(Exported *exported, uint32_t task)
{
    char id[37], name[NAME_BYTES];
    const char *slash = strrchr(exported->name, '/');
    const int directory = slash ? (int)(slash - exported->name) + 1 : 0;
    tfy__line_task_id(exported->history, &exported->history->tasks[task], id);
    if (snprintf(name, sizeof name, "%.*s%s.wal", directory, exported->name, id) >= (int)sizeof name)
        return refuse(exported, exported->name, "its name is too long");
    FILE *file = fopen(name, "re");
    if (!file)
        return tfy__log_refuse(exported->error, errno == ENOENT ? TFY_E_ABSENT : TFY_E_IO, "%s cannot be read: %s",
                               name, strerror(errno));
    const int code = read_lines(exported, task, file, name, id);
    fclose(file);
    return code;
}

typedef struct Placed {
    TfyLogRecord record;
    uint32_t task;
} Placed;

static int by_lsn(const void *left, const void *right)
{
    const int64_t a = ((const Placed *)left)->record.lsn, b = ((const Placed *)right)->record.lsn;
    return (a > b) - (a < b);
}

static int order_records(Exported *exported)
{
    TfyHistory *history = exported->history;
    Placed *placed = malloc((history->record_count + 1) * sizeof *placed);
    if (!placed) return tfy__log_refuse(exported->error, TFY_E_NOMEM, "no memory to read %s", exported->name);
    for (uint32_t i = 0; i < history->record_count; i++)
        placed[i] = (Placed){.record = history->records[i], .task = history->record_tasks[i]};
    qsort(placed, history->record_count, sizeof *placed, by_lsn);
    for (uint32_t i = 0; i < history->record_count; i++) {
        history->records[i] = placed[i].record;
        history->record_tasks[i] = placed[i].task;
    }
    free(placed);
    return 0;
}

static int read_exported(Exported *exported)
{
    exported->history = calloc(1, sizeof *exported->history);
    if (!exported->history)
        return tfy__log_refuse(exported->error, TFY_E_NOMEM, "no memory to read %s", exported->name);
    int code = read_head(exported);
    for (uint32_t i = 0; !code && i < exported->history->task_count; i++) code = read_records(exported, i);
    if (!code) code = order_records(exported);
    if (code) return code;
    char why[TFY_ERROR_TEXT] = "";
    code = tfy__import_check(exported->history, why);
    return code ? tfy__log_refuse(exported->error, code, "%s: %.400s", exported->name, why) : 0;
}

/* ---- into the database ---- */

static int write_run(TfyLog *log, Exported *exported, bool json)
{
    int64_t doubts = 0;
    char uuid[37];
    tfy__uuid_text(exported->history->run.uuid, uuid);
    int code = tfy__import_run(log, exported->history, &doubts, exported->error);
    if (!code && (code = tfy__log_sync(log))) tfy__log_error_text(log, exported->error);
    if (code) return code;
    tfy__import_epoch(log, exported->epoch);
    if (json)
        printf("{\"run\":\"%s\",\"records\":%u,\"in_doubt\":%" PRId64 "}\n", uuid, exported->history->record_count,
               doubts);
    else
        tfy__say("run %s: %u records of %u tasks%s", uuid, exported->history->record_count,
                 exported->history->task_count,
                 doubts ? "; steps under way are in doubt now, 'tfy inspect' shows them" : "");
    return 0;
}

static int import_all(const TfyArgs *args, Exported *exported, int count)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log;
    const TfyLogOptions options = {.path = tfy__db_path(args), .no_thread = true};
    int code = tfy__log_open(&log, &options, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    const int64_t lsn = tfy__import_opened(log, tfy_version(), "imports");
    if (lsn < 0) code = (int)lsn;
    int status = tfy__exit_status(code);
    for (int i = 0; i < count && !code; i++) {
        code = write_run(log, &exported[i], args->option[OPT_JSON]);
        if (code) status = tfy__fail(tfy__exit_status(code), "%s", exported[i].error);
        if (code == TFY_E_STATE) code = 0; /* it is there; the others may not be */
    }
    const int closed = tfy__log_close_saying(log, true, error);
    if (closed && status == EXIT_DONE) status = tfy__fail(tfy__exit_status(closed), "%s", error);
    return tfy__flush_stdout(status);
}

static int import(const TfyArgs *args)
{
    Exported *exported = calloc((size_t)args->word_count + 1, sizeof *exported);
    int status = exported ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out"), count = 0;
    while (status == EXIT_DONE && count < args->word_count) {
        exported[count].name = args->words[count];
        const int code = read_exported(&exported[count]);
        if (code) status = tfy__fail(tfy__exit_status(code), "%s; nothing was imported", exported[count].error);
        count++;
    }
    if (status == EXIT_DONE) status = import_all(args, exported, count);
    for (int i = 0; i < count; i++) {
        tfy__history_free(exported[i].history);
        json_decref(exported[i].head);
    }
    free(exported);
    return status;
}

int tfy__cmd_wal_import(int argc, char **argv)
{
    TfyArgs args;
    int status = tfy__args_parse(argc, argv, &args);
    if (status < 0) status = import(&args);
    tfy__args_free(&args);
    return status;
}

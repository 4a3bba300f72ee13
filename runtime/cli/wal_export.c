/* wal_export.c: tfy wal export: a run's records as the JSON lines of ADR-0006, one file per task, named by the
 * task's UUID:
 *
 *   {"v":1,"ts":"2026-11-20T10:15:20.123Z","type":"ToolResult","task_id":"…","lsn":7,"step":2,"point":1,…the
 *   payload's members}
 *
 * The root task's id is its run's UUID. A child's is computed from that and the child's path, so it is the same
 * wherever the run is exported. A member of the payload that has a name of ours gets an underscore behind it. */
#include "cli/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "value/buffer.h"
#include "value/json.h"

enum { NAME_BYTES = 4096 };

/* UUID version 8 (made by a rule of our own): XXH3-128 of the path, seeded by the run's UUID. */
static void task_uuid(const TfyHistory *history, const TfyLogTask *task, char text[37])
{
    uint8_t uuid[16];
    if (task->tid == history->run.root) {
        tfy__uuid_text(history->run.uuid, text);
        return;
    }
    const XXH128_hash_t hash =
        XXH3_128bits_withSeed(task->path, strlen(task->path), XXH3_64bits(history->run.uuid, 16));
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    memcpy(uuid, bytes.digest, 16);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x80);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
    tfy__uuid_text(uuid, text);
}

static void add_payload(TfyBuffer *line, json_t *payload)
{
    static const char *const ours[] = {"v", "ts", "type", "task_id", "lsn", "step", "point"};
    const char *name;
    json_t *value;
    json_object_foreach(payload, name, value)
    {
        bool taken = false;
        for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) taken |= strcmp(name, ours[i]) == 0;
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        tfy__buffer_char(line, ',');
        tfy__buffer_json_string(line, name, strlen(name));
        if (taken) line->data[line->len - 1] = '_';
        if (taken) tfy__buffer_char(line, '"');
        tfy__buffer_printf(line, ":%s", text ? text : "null");
        free(text);
    }
}

static bool write_record(FILE *file, const TfyLogRecord *record, const char *uuid)
{
    TfyBuffer line = {0};
    json_t *payload = tfy__db_payload(record);
    tfy__buffer_printf(&line, "{\"v\":%d,\"ts\":\"", record->v);
    tfy__write_time(&line, record->ts_ms);
    tfy__buffer_printf(&line, "\",\"type\":\"%s\",\"task_id\":\"%s\",\"lsn\":%lld,\"step\":%lld,\"point\":%u",
                       tfy__record_type_name(record->type), uuid, (long long)record->lsn, (long long)record->step,
                       record->point);
    if (json_is_object(payload)) add_payload(&line, payload);
    tfy__buffer_text(&line, "}\n");
    const bool fine = !line.failed && fwrite(line.data, 1, line.len, file) == line.len;
    json_decref(payload);
    tfy__buffer_free(&line);
    return fine;
}

/* The records of one task, by their places in the history. */
static int export_task(const TfyHistory *history, const TfyLogTask *task, const uint32_t *places, uint32_t count,
                       const char *directory)
{
    char uuid[37], name[NAME_BYTES];
    task_uuid(history, task, uuid);
    if (snprintf(name, sizeof name, "%s/%s.wal", directory, uuid) >= (int)sizeof name) {
        return tfy__fail(EXIT_USAGE, "the name of the directory is too long");
    }
    FILE *file = fopen(name, "we");
    bool fine = file != NULL;
    for (uint32_t i = 0; fine && i < count; i++) fine = write_record(file, &history->records[places[i]], uuid);
    if (file) fine &= fclose(file) == 0;
    if (!fine) return tfy__fail(EXIT_LOG, "%s cannot be written: %s", name, strerror(errno));
    printf("%s\n", name);
    return EXIT_DONE;
}

/* Places of records sorted by task, in the order of the log within each; ends[t] is where task t's end. */
static uint32_t *sort_by_task(const TfyHistory *history, uint32_t *ends)
{
    uint32_t *places = malloc((history->record_count + 1) * sizeof *places), sum = 0;
    if (!places) return NULL;
    for (uint32_t i = 0; i < history->record_count; i++) ends[history->record_tasks[i]]++;
    for (uint32_t task = 0; task < history->task_count; task++) {
        const uint32_t begin = sum;
        sum += ends[task];
        ends[task] = begin;
    }
    for (uint32_t i = 0; i < history->record_count; i++) places[ends[history->record_tasks[i]]++] = i;
    return places;
}

static int export_run(const TfyHistory *history, const char *directory)
{
    int status = EXIT_DONE;
    uint32_t *ends = calloc(history->task_count, sizeof *ends), *places = ends ? sort_by_task(history, ends) : NULL,
             begin = 0;
    if (!places) status = tfy__fail(EXIT_BUG, "memory ran out");
    for (uint32_t task = 0; status == EXIT_DONE && task < history->task_count; task++) {
        status = export_task(history, &history->tasks[task], places + begin, ends[task] - begin, directory);
        begin = ends[task];
    }
    free(ends);
    free(places);
    return status;
}

static int export(const TfyArgs *args)
{
    TfyHistory *history;
    const char *directory = args->option[OPT_OUT] ? args->option[OPT_OUT] : ".";
    int status = tfy__db_history(args, &history);
    if (status != EXIT_DONE) return status;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        status = tfy__fail(EXIT_LOG, "%s cannot be created: %s", directory, strerror(errno));
    }
    if (status == EXIT_DONE) status = export_run(history, directory);
    tfy__history_free(history);
    return tfy__flush_stdout(status);
}

int tfy__cmd_wal_export(int argc, char **argv)
{
    TfyArgs args;
    int status = tfy__args_parse(argc, argv, &args);
    if (status < 0) status = export(&args);
    tfy__args_free(&args);
    return status;
}

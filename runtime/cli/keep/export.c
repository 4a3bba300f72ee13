/* export.c: tfy wal export: a run's records as the JSON lines of ADR-0006, one file per task, named by the task's
 * UUID:
 *
 *   {"v":1,"ts":"2026-11-20T10:15:20.123Z","type":"ToolResult","task_id":"…","lsn":7,"step":2,"point":1,…the
 *   payload's members}
 *
 * UUID.saved has the rows that the run keeps in saved tables (saved_lines.h), if there are any. UUID.run is one JSON
 * object with everything that the other files lack: the run's program and its earlier programs, its state, its tasks
 * and the last chain of each, and for a compacted run its first record and the places where records are missing. With
 * these files `tfy wal import` can make the same run elsewhere.
 *
 * The root task's id is its run's UUID. A child's id is computed from that and the child's path, so it is the same
 * wherever the run is exported. A member of the payload that has one of our names gets an underscore after it. */
#include "cli/cluster/cluster.h"
#include "cli/frame/commands.h"
#include "cli/look/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "cli/keep/saved_lines.h"
#include "cli/keep/wal_lines.h"
#include "base/buffer.h"
#include "base/whole_file.h"
#include "value/json.h"
#include "wal/history/move.h"
#include "wal/store/store.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

enum { NAME_BYTES = 4096 };

static bool write_record(FILE *file, const TfyLogRecord *record, const char *uuid)
{
    TfyBuffer line = {0};
    tfy__buffer_printf(&line, "{\"v\":%d,\"ts\":\"", record->v);
    tfy__write_time(&line, record->ts_ms);
    tfy__buffer_printf(&line, "\",\"type\":\"%s\",\"task_id\":\"%s\",\"lsn\":%lld,\"step\":%lld,\"point\":%u",
                       tfy__record_type_name(record->type), uuid, (long long)record->lsn, (long long)record->step,
                       record->point);
    tfy__line_add_payload(&line, record->payload, record->payload_len);
    tfy__buffer_text(&line, "}\n");
    const bool fine = !line.failed && fwrite(line.data, 1, line.len, file) == line.len;
    tfy__buffer_free(&line);
    return fine;
}

/* ---- files ---- */

/* Opens one of the run's files: DIRECTORY/UUID.ENDING; finish_file() must finish it. */
static int begin_file(TfyWhole *whole, const char *directory, const char *uuid, const char *ending, FILE **file)
{
    char name[NAME_BYTES];
    if (snprintf(name, sizeof name, "%s/%s.%s", directory, uuid, ending) >= (int)sizeof name)
        return tfy__fail(EXIT_USAGE, "the name of the directory is too long");
    const int fd = tfy__whole_open(whole, name, 0666);
    *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (*file) return EXIT_DONE;
    const int status = tfy__fail(EXIT_LOG, "%s cannot be written: %s", name, strerror(errno));
    if (fd >= 0) {
        close(fd);
        tfy__whole_abandon(whole);
    }
    return status;
}

/* `fine`: no write has failed so far. */
static int finish_file(TfyWhole *whole, FILE *file, bool fine, TfyWholeEnd end)
{
    int reason = errno;
    if (fclose(file) != 0) {
        if (fine) reason = errno;
        fine = false;
    }
    if (fine && tfy__whole_commit(whole, TFY_WHOLE_OVER | end)) {
        printf("%s\n", whole->name);
        return EXIT_DONE;
    }
    if (fine) reason = errno;
    tfy__whole_abandon(whole);
    return tfy__fail(EXIT_LOG, "%s cannot be written: %s", whole->name, strerror(reason));
}

/* Writes the records of one task, by their places in the history. */
static int export_task(const TfyHistory *history, const TfyLogTask *task, const uint32_t *places, uint32_t count,
                       const char *directory)
{
    char uuid[37];
    TfyWhole whole;
    tfy__line_task_id(history, task, uuid);
    FILE *file = NULL;
    const int status = begin_file(&whole, directory, uuid, "wal", &file);
    if (status != EXIT_DONE) return status;
    bool fine = true;
    for (uint32_t i = 0; fine && i < count; i++) fine = write_record(file, &history->records[places[i]], uuid);
    return finish_file(&whole, file, fine, TFY_WHOLE_MORE);
}

/* ---- the .run file ---- */

static json_t *json_of_chain(uint64_t chain)
{
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)chain);
    return json_string(text);
}

static json_t *task_entry(const TfyHistory *history, const TfyLogTask *task, uint32_t records)
{
    char uuid[37];
    tfy__line_task_id(history, task, uuid);
    return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "path", task->path, "task_id", uuid, "tid",
                     (json_int_t)task->tid, "born", (json_int_t)task->born, "records", (json_int_t)records, "step",
                     (json_int_t)task->step, "state", (json_int_t)task->state, "wait", (json_int_t)task->wait, "chain",
                     json_of_chain(task->chain));
}

/* The checksum covers the row as it would be in a database of its own. */
static json_t *program_entry(const uint8_t id[16], const char *tfyc, const char *source, const char *layout)
{
    char hash[33], sum[17];
    TfyStoreProgram row = {.tfyc = tfyc, .source = source, .layout = layout};
    memcpy(row.hash, id, sizeof row.hash);
    for (int i = 0; i < 16; i++) snprintf(hash + 2 * i, 3, "%02x", row.hash[i]);
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)tfy__store_sum_program(&row));
    return json_pack("{s:s,s:s,s:s,s:s,s:s}", "hash", hash, "tfyc", tfyc, "source", source, "layout", layout, "sum",
                     sum);
}

/* Lines have no chains, so a gap records both ends of the missing part: the chain of the lines before it, and the
 * chain from which the lines after it continue. NULL: out of memory. */
static json_t *gap_entries(const TfyHistory *history)
{
    json_t *gaps = json_array();
    uint64_t *chains = malloc((history->task_count + 1) * sizeof *chains);
    for (uint32_t i = 0; chains && i < history->task_count; i++)
        chains[i] = tfy__chain_seed(history->run.uuid, history->tasks[i].path);
    for (uint32_t i = 0, next = 0; chains && next < history->gap_count && i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const TfyStoreGap *gap = &history->gaps[next];
        uint64_t *chain = &chains[history->record_tasks[i]];
        if (record->lsn == gap->lsn) {
            json_array_append_new(gaps, json_pack("{s:I,s:I,s:o,s:o}", "lsn", (json_int_t)gap->lsn, "below",
                                                  (json_int_t)gap->below, "from", json_of_chain(*chain), "chain",
                                                  json_of_chain(gap->chain)));
            next++;
        }
        *chain = record->chain;
    }
    const bool fine = chains && json_array_size(gaps) == history->gap_count;
    free(chains);
    if (fine) return gaps;
    json_decref(gaps);
    return NULL;
}

static json_t *own_program(const TfyHistory *history)
{
    return program_entry(history->program_hash, history->program_tfyc, history->program_source,
                         history->program_layout);
}

/* Returns whether the file already has this program: a run may return to an earlier one. */
static bool is_told(const TfyHistory *history, uint32_t index)
{
    const uint8_t *hash = history->moves[index].hash;
    bool told = memcmp(hash, history->program_hash, 16) == 0;
    for (uint32_t i = 0; i < index && !told; i++) told = memcmp(hash, history->moves[i].hash, 16) == 0;
    return told;
}

static json_t *programs_before(const TfyHistory *history)
{
    json_t *programs = json_array();
    for (uint32_t i = 0; i < history->move_count; i++) {
        const TfyHistoryMove *move = &history->moves[i];
        if (!is_told(history, i))
            json_array_append_new(programs, program_entry(move->hash, move->tfyc, move->source, move->layout));
    }
    return programs;
}

/* Writes the last file of a run, with which the others can be imported; syncs the directory after it. Takes ownership
 * of the head. */
static int write_head(const TfyHistory *history, json_t *head, const char *uuid, const char *directory)
{
    TfyWhole whole;
    const bool all = head && (!history->run.base_lsn || json_object_get(head, "gaps"));
    FILE *file = NULL;
    int status = all ? begin_file(&whole, directory, uuid, "run", &file) : tfy__fail(EXIT_BUG, "memory ran out");
    if (status == EXIT_DONE) status = finish_file(&whole, file, json_dumpf(head, file, JSON_INDENT(1)) == 0, 0);
    json_decref(head);
    return status;
}

/* counts: records per task; saved: the checksum of the file with its rows, or empty. */
static int export_head(const TfyHistory *history, int64_t epoch, const uint32_t *counts, const char *saved,
                       const char *directory)
{
    char uuid[37];
    tfy__uuid_text(history->run.uuid, uuid);
    json_t *tasks = json_array();
    for (uint32_t i = 0; i < history->task_count; i++)
        json_array_append_new(tasks, task_entry(history, &history->tasks[i], counts[i]));
    json_t *head = json_pack("{s:s,s:i,s:s,s:s,s:I,s:I,s:I,s:I,s:o,s:o}", "format", "tfy run", "v", TFY_RECORD_V, "run",
                             uuid, "workflow", history->workflow, "state", (json_int_t)history->run.state, "started",
                             (json_int_t)history->run.started_ms, "ended", (json_int_t)history->run.ended_ms, "epoch",
                             (json_int_t)epoch, "program", own_program(history), "tasks", tasks);
    if (history->move_count) json_object_set_new(head, "before", programs_before(history));
    if (history->run.base_lsn) {
        json_object_set_new(head, "base", json_integer(history->run.base_lsn));
        json_object_set_new(head, "gaps", gap_entries(history));
    }
    if (*saved) json_object_set_new(head, "saved", json_string(saved));
    if (history->run.origin_lsn) {
        char origin[37];
        tfy__uuid_text(history->run.origin, origin);
        json_object_set_new(head, "origin",
                            json_pack("{s:s,s:I}", "run", origin, "lsn", (json_int_t)history->run.origin_lsn));
    }
    return write_head(history, head, uuid, directory);
}

/* ---- saved rows ---- */

static int export_saved(const TfyHistory *history, const char *directory, char sum[17])
{
    char uuid[37];
    TfyBuffer text = {0};
    TfyWhole whole;
    sum[0] = '\0';
    if (!history->saved) return EXIT_DONE;
    tfy__uuid_text(history->run.uuid, uuid);
    tfy__saved_lines_write(&text, history->saved);
    if (text.failed) {
        tfy__buffer_free(&text);
        return tfy__fail(EXIT_BUG, "memory ran out");
    }
    snprintf(sum, 17, "%016llx", (unsigned long long)XXH3_64bits(text.data, text.len));
    FILE *file = NULL;
    int status = begin_file(&whole, directory, uuid, "saved", &file);
    if (status == EXIT_DONE)
        status = finish_file(&whole, file, fwrite(text.data, 1, text.len, file) == text.len, TFY_WHOLE_MORE);
    tfy__buffer_free(&text);
    return status;
}

/* ---- the whole run ---- */

/* Returns the places of records sorted by task, in the order of the log within each; task t's end at ends[t]. */
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

static int export_run(const TfyHistory *history, int64_t epoch, const char *directory)
{
    int status = EXIT_DONE;
    char saved[17];
    uint32_t *ends = calloc(history->task_count, sizeof *ends), *places = ends ? sort_by_task(history, ends) : NULL,
             begin = 0;
    if (!places) status = tfy__fail(EXIT_BUG, "memory ran out");
    for (uint32_t task = 0; status == EXIT_DONE && task < history->task_count; task++) {
        const uint32_t end = ends[task];
        status = export_task(history, &history->tasks[task], places + begin, end - begin, directory);
        ends[task] = end - begin;
        begin = end;
    }
    if (status == EXIT_DONE) status = export_saved(history, directory, saved);
    if (status == EXIT_DONE) status = export_head(history, epoch, ends, saved, directory);
    free(ends);
    free(places);
    return status;
}

/* Reads the run, and the number that identifies streams: how often its database was opened, or in a shared one the newest session
 * that had the run. */
static int read_run(const TfyArgs *args, TfyHistory **history, int64_t *epoch)
{
    TfyLog *log;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_read(log, tfy__history_read_whole, args->words[0], history);
    *epoch = tfy__log_epoch(log);
    tfy__log_close(log, false);
    if (status == EXIT_DONE && tfy__db_is_shared(args))
        *epoch = tfy__history_greatest(*history, TFY_R_CLAIMED, TFY_P_SESSION);
    return status;
}

static int export(const TfyArgs *args)
{
    TfyHistory *history;
    const char *directory = args->option[OPT_OUT] ? args->option[OPT_OUT] : ".";
    int64_t epoch = 0;
    int status = read_run(args, &history, &epoch);
    if (status != EXIT_DONE) return status;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        status = tfy__fail(EXIT_LOG, "%s cannot be created: %s", directory, strerror(errno));
    }
    if (status == EXIT_DONE) status = export_run(history, epoch, directory);
    tfy__history_free(history);
    return tfy__flush_stdout(status);
}

int tfy__cmd_wal_export(const TfyArgs *args)
{
    return export(args);
}

/* exported.c: reads the files that tfy wal export wrote. */
#include "cli/keep/exported.h"
#include "base/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "cli/keep/saved_lines.h"
#include "cli/keep/wal_lines.h"
#include "value/json.h"
#include "wal/keep/import.h"
#include "wal/history/move.h"
#include "wal/log/saved.h"
#include "wal/store/store.h"
#include "wal/history/history.h"

enum { NAME_BYTES = 4096, LINE_MAX_BYTES = 1 << 30 };

/* Compares the checksum in the file with the computed one. Everybody can compute it by hand, so fuzzing replaces it
 * by the right one. */
static bool is_sum(uint64_t *told, uint64_t computed)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    *told = computed;
#endif
    return *told == computed;
}

static int refuse(TfyExported *exported, const char *file, const char *what)
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

/* Its texts belong to the JSON. */
static bool read_program(const json_t *json, TfyStoreProgram *program)
{
    const char *sum = text_in(json, "sum");
    uint64_t told = sum ? strtoull(sum, NULL, 16) : 0;
    *program = (TfyStoreProgram){
        .tfyc = text_in(json, "tfyc"), .source = text_in(json, "source"), .layout = text_in(json, "layout")};
    return program->tfyc && program->source && program->layout && sum &&
           tfy__uuid_read(text_in(json, "hash"), program->hash) && is_sum(&told, tfy__store_sum_program(program));
}

static bool take_program(TfyHistory *history, const TfyStoreProgram *program)
{
    memcpy(history->program_hash, program->hash, 16);
    history->program_tfyc = strdup(program->tfyc);
    history->program_source = strdup(program->source);
    history->program_layout = strdup(program->layout);
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

/* A chain is 16 digits. */
static bool read_chain(const json_t *object, const char *name, uint64_t *chain)
{
    const char *text = text_in(object, name);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *chain = strtoull(text, NULL, 16);
    return true;
}

/* Reads the places where records are missing, in the order of the log: no record has two gaps. They are
 * checked together with the records. */
static bool read_gaps(TfyExported *exported, const json_t *gaps)
{
    TfyHistory *history = exported->history;
    const json_t *entry;
    size_t i;
    history->gaps = calloc(json_array_size(gaps) + 1, sizeof *history->gaps);
    exported->gap_from = calloc(json_array_size(gaps) + 1, sizeof *exported->gap_from);
    if (!history->gaps || !exported->gap_from) return false;
    json_array_foreach(gaps, i, entry)
    {
        TfyStoreGap *gap = &history->gaps[i];
        *gap = (TfyStoreGap){.lsn = number_in(entry, "lsn"), .below = number_in(entry, "below")};
        if (gap->lsn <= (i ? gap[-1].lsn : 0) || gap->below < 0 || gap->below >= gap->lsn ||
            !read_chain(entry, "chain", &gap->chain) || !read_chain(entry, "from", &exported->gap_from[i]))
            return false;
        history->gap_count++;
    }
    return true;
}

/* Reads the snapshot at which a compacted run starts. */
static bool read_base(TfyExported *exported)
{
    const json_t *base = json_object_get(exported->head, "base"), *gaps = json_object_get(exported->head, "gaps");
    if (!base && !gaps) return true;
    exported->history->run.base_lsn = json_integer_value(base);
    return exported->history->run.base_lsn > 0 && json_is_array(gaps) && read_gaps(exported, gaps);
}

static int read_head(TfyExported *exported)
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
                      "this is not a run that 'tfy wal export' wrote; give the file that ends in .run");
    if (number_in(exported->head, "v") != TFY_RECORD_V)
        return refuse(exported, exported->name, "this tfy does not know its version; use the tfy that wrote it");
    const json_t *tasks = json_object_get(exported->head, "tasks"), *entry;
    size_t i;
    exported->epoch = number_in(exported->head, "epoch");
    history->run.state = (int)number_in(exported->head, "state");
    history->run.started_ms = number_in(exported->head, "started");
    history->run.ended_ms = number_in(exported->head, "ended");
    const json_t *origin = json_object_get(exported->head, "origin");
    TfyStoreProgram program;
    history->run.origin_lsn = number_in(origin, "lsn");
    if (origin && (!tfy__uuid_read(text_in(origin, "run"), history->run.origin) || history->run.origin_lsn < 1))
        return refuse(exported, exported->name, "it was changed since it was written");
    if (!tfy__uuid_read(text_in(exported->head, "run"), history->run.uuid) || exported->epoch < 0 ||
        exported->epoch > INT64_C(1) << 40 || !read_program(json_object_get(exported->head, "program"), &program) ||
        !take_program(history, &program) || !read_base(exported))
        return refuse(exported, exported->name, "it was changed since it was written");
    history->tasks = calloc(json_array_size(tasks) + 1, sizeof *history->tasks);
    json_array_foreach(tasks, i, entry)
    {
        if (!history->tasks || !read_task(entry, history, &history->tasks[history->task_count++]))
            return refuse(exported, exported->name, "it was changed since it was written");
    }
    history->run.root = history->task_count ? history->tasks[0].tid : 0;
    return 0;
}

/* ---- the .wal files ---- */

static TfyLogRecord *new_record(TfyExported *exported, uint32_t task)
{
    TfyHistory *history = exported->history;
    if (!GROW(history->records, exported->room, history->record_count + 1, 1024) ||
        !GROW(history->record_tasks, exported->task_room, history->record_count + 1, 1024))
        return NULL;
    history->record_tasks[history->record_count] = task;
    TfyLogRecord *record = &history->records[history->record_count];
    *record = (TfyLogRecord){0};
    return record;
}

/* Where records are missing, continues with the chain from the .run file. Returns false if the chain before the gap
 * does not match. */
static bool pass_gap(const TfyExported *exported, int64_t lsn, uint64_t *chain)
{
    const TfyHistory *history = exported->history;
    const TfyStoreGap *gap = tfy__history_gap(history, lsn);
    if (!gap) return true;
    const bool leads = is_sum(&exported->gap_from[gap - history->gaps], *chain);
    *chain = gap->chain;
    return leads;
}

/* The lines have no chains: the .run file has the last one of each task, and this computes the chain up to it. */
static bool read_line(TfyExported *exported, uint32_t task, const char *line, size_t len, const char *task_id,
                      uint64_t *chain)
{
    TfyBuffer payload = {0};
    json_t *json = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
    const char *time = text_in(json, "ts"), *type = text_in(json, "type"), *id = text_in(json, "task_id");
    TfyLogRecord *record = new_record(exported, task);
    bool fine = record && time && type && id && strcmp(id, task_id) == 0 &&
                tfy__read_time(time, strlen(time), &record->ts_ms) && tfy__line_take_payload(&payload, line, len) &&
                pass_gap(exported, record->lsn = number_in(json, "lsn"), chain);
    if (fine) {
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

static int read_lines(TfyExported *exported, uint32_t task, FILE *file, const char *name, const char *id)
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
    if (!code && !is_sum(&history->tasks[task].chain, chain))
        code = refuse(exported, name, "it was changed since it was written");
    return code;
}

/* Builds the name of a file beside the .run file. Returns false if it is too long. */
static bool name_beside(const TfyExported *exported, const char *id, const char *kind, char name[NAME_BYTES])
{
    const char *slash = strrchr(exported->name, '/');
    const int directory = slash ? (int)(slash - exported->name) + 1 : 0;
    return snprintf(name, NAME_BYTES, "%.*s%s.%s", directory, exported->name, id, kind) < NAME_BYTES;
}

/* The file's name follows from the run and the task's path. */
static int read_records(TfyExported *exported, uint32_t task)
{
    char id[37], name[NAME_BYTES];
    tfy__line_task_id(exported->history, &exported->history->tasks[task], id);
    if (!name_beside(exported, id, "wal", name)) return refuse(exported, exported->name, "its name is too long");
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

static int order_records(TfyExported *exported)
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

/* ---- programs and saved rows ---- */

/* Finds the program with this hash: the run's own, or an earlier one. */
static bool find_program(const TfyExported *exported, const uint8_t hash[16], TfyStoreProgram *program)
{
    const json_t *before = json_object_get(exported->head, "before"), *one;
    size_t i;
    if (read_program(json_object_get(exported->head, "program"), program) && memcmp(program->hash, hash, 16) == 0)
        return true;
    json_array_foreach(before, i,
                       one) if (read_program(one, program) && memcmp(program->hash, hash, 16) == 0) return true;
    return false;
}

static int take_moves(TfyExported *exported)
{
    TfyHistory *history = exported->history;
    int code = 0;
    for (uint32_t i = 0; !code && i < history->record_count; i++) {
        TfyStoreProgram program;
        uint8_t from[16], to[16];
        if (!tfy__record_is_move(&history->records[i])) continue;
        if (!tfy__move_hashes(&history->records[i], from, to) || !find_program(exported, from, &program))
            return refuse(exported, exported->name, "a program that the run had before is missing, or was changed");
        code = tfy__history_add_move(history, i, &program);
    }
    return code ? tfy__log_refuse(exported->error, code, "no memory to read %s", exported->name) : 0;
}

/* Reads the whole file, unless it is larger than any file that an export writes. */
static int read_file(TfyExported *exported, const char *name, TfyBuffer *text)
{
    FILE *file = fopen(name, "re");
    if (!file)
        return tfy__log_refuse(exported->error, errno == ENOENT ? TFY_E_ABSENT : TFY_E_IO, "%s cannot be read: %s",
                               name, strerror(errno));
    char part[1 << 16];
    for (size_t len; (len = fread(part, 1, sizeof part, file)) > 0 && !text->failed;) tfy__buffer_add(text, part, len);
    const bool fine = !ferror(file);
    fclose(file);
    if (!fine) return tfy__log_refuse(exported->error, TFY_E_IO, "%s cannot be read: %s", name, strerror(errno));
    return text->failed ? tfy__log_refuse(exported->error, TFY_E_NOMEM, "no memory to read %s", name) : 0;
}

static int parse_saved(TfyExported *exported, const char *name, const TfyBuffer *text, const char *sum)
{
    char what[80];
    int64_t line;
    uint64_t told = strtoull(sum, NULL, 16);
    if (!is_sum(&told, XXH3_64bits(text->data, text->len)))
        return refuse(exported, name, "it was changed since it was written");
    const int code = tfy__saved_lines_read(text->data, text->len, &exported->history->saved, &line);
    if (code == TFY_E_NOMEM) return tfy__log_refuse(exported->error, code, "no memory to read %s", name);
    snprintf(what, sizeof what, "line %" PRId64 " is not as it was written", line);
    return code ? refuse(exported, name, what) : 0;
}

/* The .run file has the checksum of the file with the rows. */
static int read_saved(TfyExported *exported)
{
    char name[NAME_BYTES], uuid[37];
    TfyBuffer text = {0};
    const char *sum = text_in(exported->head, "saved");
    if (!sum) return 0;
    tfy__uuid_text(exported->history->run.uuid, uuid);
    if (!name_beside(exported, uuid, "saved", name)) return refuse(exported, exported->name, "its name is too long");
    int code = read_file(exported, name, &text);
    if (!code) code = parse_saved(exported, name, &text, sum);
    tfy__buffer_free(&text);
    return code;
}

int tfy__exported_read(TfyExported *exported)
{
    exported->history = calloc(1, sizeof *exported->history);
    if (!exported->history)
        return tfy__log_refuse(exported->error, TFY_E_NOMEM, "no memory to read %s", exported->name);
    int code = read_head(exported);
    for (uint32_t i = 0; !code && i < exported->history->task_count; i++) code = read_records(exported, i);
    if (!code) code = order_records(exported);
    if (!code) code = take_moves(exported);
    if (!code) code = read_saved(exported);
    if (code) return code;
    char why[TFY_ERROR_TEXT] = "";
    code = tfy__import_check(exported->history, why);
    return code ? tfy__log_refuse(exported->error, code, "%s: %.400s", exported->name, why) : 0;
}

void tfy__exported_free(TfyExported *exported)
{
    tfy__history_free(exported->history);
    json_decref(exported->head);
    free(exported->gap_from);
}

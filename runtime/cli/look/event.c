/* event.c: see event.h. */
#include "cli/look/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "cli/frame/cli.h"
#include "cli/look/source_map.h"
#include "value/json.h"
#include "wal/log/log.h"
#include "wal/rows/payload.h"
#include "wal/store/pg_address.h"

enum {
    TASKS = 4096, /* that are remembered, a power of two */
    RUNS = 1024,
    PAYLOAD_MOST = 16 << 10,
    LOOK_BACK = 16 /* records of a step before another one of it */
};

typedef struct TfyEventProgram {
    struct TfyEventProgram *next;
    int64_t row; /* row id; 0: it was found by its hash, and is of no other run */
    char name[128];
    char version[13];
    TfySourceMap map;
} Program;

typedef struct Task {
    int64_t of, tid; /* of: the run, in a shared database, where each has numbers of its own; 0: in a file */
    char *path;
    int64_t born; /* lsn of its first record */
    TfyEventRun *run;
} Task;

struct TfyEvents {
    TfyLog *log;   /* whose records are read … */
    TfyLog *names; /* … and where what they name is looked up meanwhile */
    LIST(Program) programs;
    TfyEventRun *runs[RUNS]; /* by row id */
    Task tasks[TASKS];       /* by number */
};

/* ---- programs ---- */

/* Takes the layout. NULL: out of memory. */
static const Program *add_program(TfyEvents *events, int64_t row, const char *hash, char *layout)
{
    Program *program = calloc(1, sizeof *program);
    if (program) {
        program->row = row;
        snprintf(program->version, sizeof program->version, "%.12s", hash);
        program->map.layout = json_loads(layout, 0, NULL);
        tfy__source_program(&program->map, program->name, sizeof program->name);
        LIST_APPEND(&events->programs, program, next);
    }
    free(layout);
    return program;
}

static const Program *program_of(TfyEvents *events, int64_t row)
{
    char hash[33], *layout = NULL;
    for (const Program *program = events->programs.first; program; program = program->next)
        if (program->row == row) return program;
    if (tfy__log_program_hash(events->names, row, hash, &layout) != TFY_OK) return NULL;
    return add_program(events, row, hash, layout);
}

static int take_hash(void *arg, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *from = record->type == TFY_R_MOVED ? tfy__payload_text(&payload, TFY_P_FROM) : NULL;
    snprintf(arg, 33, "%s", from ? from : "");
    tfy__payload_close(&payload);
    return 1;
}

/* The program that a run left with that record. */
static const Program *program_before(TfyEvents *events, int64_t run, int64_t moved_lsn)
{
    char hash[33] = "", *source = NULL, *layout = NULL;
    tfy__log_see_of(events->names, run, moved_lsn, take_hash, hash);
    if (!*hash || tfy__log_find_program(events->names, hash, &source, &layout) != TFY_OK) return NULL;
    free(source);
    return add_program(events, 0, hash, layout);
}

static void free_program(Program *program)
{
    tfy__source_map_free(&program->map);
    free(program);
}

/* ---- runs ---- */

TfyEventRun *tfy__event_run_keep(TfyEventRun *run)
{
    if (run) run->users++;
    return run;
}

void tfy__event_run_drop(TfyEventRun *run)
{
    if (!run || --run->users) return;
    json_decref(run->labels);
    free(run->program);
    free(run->workflow);
    free(run);
}

/* birth: the first record of the run. */
static void read_birth(const TfyLogRecord *birth, TfyEventRun *run)
{
    size_t len = 0;
    const char *labels = tfy__record_raw(birth, TFY_P_LABELS, &len);
    run->program = tfy__record_text(birth, TFY_P_PROGRAM_NAME);
    run->workflow = tfy__record_text(birth, TFY_P_WORKFLOW);
    run->labels = labels ? json_loadb(labels, len, 0, NULL) : NULL;
    if (!run->program) run->program = strdup(run->now ? run->now->name : "");
    if (!run->workflow) run->workflow = strdup("");
}

static void find_birth(TfyEvents *events, const TfyLogRun *row, TfyEventRun *run)
{
    TfyLogOutline outline = {0};
    (void)tfy__log_outline(events->names, row, &outline);
    const TfyLogRecord birth = tfy__record_of_payload(outline.birth);
    read_birth(&birth, run);
    tfy__log_outline_free(&outline);
}

/* birth: the first record of the run; NULL: it is looked up. */
static TfyEventRun *run_of(TfyEvents *events, const TfyLogRun *row, const TfyLogRecord *birth)
{
    TfyEventRun **place = &events->runs[row->id & (RUNS - 1)], *run = *place;
    if (run && run->id == row->id && !run->left && run->moved_lsn == row->moved_lsn) return run;
    run = calloc(1, sizeof *run);
    if (!run) return NULL;
    run->id = row->id;
    run->users = 1;
    run->moved_lsn = row->moved_lsn;
    run->started_ms = row->started_ms;
    tfy__uuid_text(row->uuid, run->uuid);
    run->now = program_of(events, row->program);
    run->before = row->moved_lsn ? program_before(events, row->id, row->moved_lsn) : NULL;
    if (birth)
        read_birth(birth, run);
    else
        find_birth(events, row, run);
    tfy__event_run_drop(*place);
    return *place = run;
}

static void forget_task(Task *task)
{
    free(task->path);
    tfy__event_run_drop(task->run);
    *task = (Task){0};
}

/* The task of a record. */
static const Task *task_of(TfyEvents *events, const TfyLogRecord *record)
{
    const int64_t of = record->run, tid = record->tid;
    Task *task = &events->tasks[(tid + 61 * of) & (TASKS - 1)];
    TfyLogRun row;
    char *path;
    int64_t born;
    if (task->tid == tid && task->of == of && !task->run->left) return task;
    forget_task(task);
    if (tfy__log_seen_task(events->log, record, &row, &path, &born) != TFY_OK) return NULL;
    TfyEventRun *run = run_of(events, &row, record->type == TFY_R_INSTRUCTION_START ? record : NULL);
    if (!run) {
        free(path);
        return NULL;
    }
    *task = (Task){of, tid, path, born, tfy__event_run_keep(run)};
    return task;
}

TfyEventRun *tfy__events_run(TfyEvents *events, const char *uuid)
{
    uint8_t bytes[16];
    TfyLogRun row;
    if (!tfy__uuid_read(uuid, bytes) || tfy__log_find_run(events->names, bytes, &row) != TFY_OK) return NULL;
    return run_of(events, &row, NULL);
}

/* ---- events ---- */

typedef struct Visit {
    TfyEvents *events;
    int (*see)(void *arg, const TfyEvent *event);
    void *arg;
} Visit;

static int visit(void *arg, const TfyLogRecord *record)
{
    Visit *visit = arg;
    const Task *task = record->tid ? task_of(visit->events, record) : NULL;
    if (task && record->type == TFY_R_MOVED && task->run->moved_lsn < record->lsn) {
        task->run->left = true;
        task = task_of(visit->events, record);
    }
    const TfyEvent event = {record, task ? task->run : NULL, task ? task->path : "", task ? task->born : 0};
    return visit->see(visit->arg, &event);
}

int tfy__events_see(TfyEvents *events, int64_t from, int (*see)(void *arg, const TfyEvent *event), void *arg)
{
    return tfy__events_see_of(events, 0, from, see, arg);
}

int tfy__events_see_of(TfyEvents *events, int64_t run, int64_t from, int (*see)(void *arg, const TfyEvent *event),
                       void *arg)
{
    Visit state = {events, see, arg};
    return tfy__log_see_of(events->log, run, from, visit, &state);
}

static const Program *program_at(const TfyEvent *event)
{
    const TfyEventRun *run = event->run;
    return !run ? NULL : event->record->lsn > run->moved_lsn ? run->now : run->before;
}

const char *tfy__event_version(const TfyEvent *event)
{
    const Program *program = program_at(event);
    return program ? program->version : "";
}

/* A record that is looked at again. */
typedef struct Looking {
    int64_t lsn;  /* which one; 0: none any more */
    int64_t step; /* of the record after it */
    TfyEventBefore *before;
} Looking;

/* An attempt has the number of the StepStart before it, or follows a Retry. */
static void take_attempt(Looking *looking, const TfyLogRecord *record)
{
    TfyPayload payload;
    const bool starts = record->type == TFY_R_STEP_START, again = record->type == TFY_R_RETRY;
    looking->lsn = starts || again ? 0 : record->prev;
    if (!starts && !again) return;
    tfy__payload_open(&payload, record);
    const char *key = starts ? tfy__payload_text(&payload, TFY_P_KEY) : NULL;
    looking->before->attempt = (uint32_t)tfy__payload_int(&payload, TFY_P_ATTEMPT) + again;
    snprintf(looking->before->key, sizeof looking->before->key, "%s", key ? key : "");
    tfy__payload_close(&payload);
}

static int take_before(void *arg, const TfyLogRecord *record)
{
    Looking *looking = arg;
    if (record->lsn == looking->lsn && !looking->before->ts_ms) looking->before->ts_ms = record->ts_ms;
    if (record->lsn == looking->lsn && record->step == looking->step && looking->step)
        take_attempt(looking, record);
    else
        looking->lsn = 0;
    return 1;
}

void tfy__event_before(TfyEvents *events, const TfyEvent *event, TfyEventBefore *before)
{
    const TfyLogRecord *record = event->record;
    const bool ends = record->type == TFY_R_TASK_EXIT || record->type == TFY_R_TASK_ABORT,
               all = record->type == TFY_R_TASK_COMPLETE;
    Looking looking = {all ? 0 : ends ? event->born : record->prev, ends ? 0 : record->step, before};
    *before = (TfyEventBefore){.ts_ms = all && event->run ? event->run->started_ms : 0};
    for (int most = LOOK_BACK; looking.lsn && most; most--)
        if (tfy__log_see_of(events->names, record->run, looking.lsn, take_before, &looking) != 1) break;
    if (!before->attempt) before->attempt = 1;
    if (!*before->key && event->run) tfy__record_key(event->run->uuid, event->task, record->step, before->key);
}

const char *tfy__event_point(const TfyEvent *event)
{
    const Program *program = event->run ? program_at(event) : NULL;
    return program ? tfy__source_point(&program->map, event->record->point) : NULL;
}

static void add_point(const TfyEvent *event, TfyBuffer *out)
{
    const TfyLogRecord *record = event->record;
    const Program *program = program_at(event);
    const char *file, *point = tfy__event_point(event);
    if (!point) return;
    const int64_t line = tfy__source_line(&program->map, record->point, &file);
    tfy__buffer_text(out, ",\"point\":");
    tfy__buffer_json_string(out, point, strlen(point));
    if (file) tfy__buffer_text(out, ",\"file\":");
    if (file) tfy__buffer_json_string(out, file, strlen(file));
    if (line) tfy__buffer_printf(out, ",\"line\":%lld", (long long)line);
}

static void add_payload(const TfyEvent *event, bool whole, TfyBuffer *out)
{
    const TfyLogRecord *record = event->record;
    if (!whole && record->payload_len > PAYLOAD_MOST) {
        tfy__buffer_text(out, ",\"cut\":true,\"href\":\"/v1/");
        if (record->run && event->run) tfy__buffer_printf(out, "runs/%s/", event->run->uuid);
        tfy__buffer_printf(out, "records/%lld\"", (long long)record->lsn);
        return;
    }
    tfy__buffer_text(out, ",\"payload\":");
    tfy__buffer_add(out, record->payload, record->payload_len);
}

static void add_plain(TfyBuffer *out, const char *name, const char *text)
{
    tfy__buffer_text(out, name);
    tfy__buffer_text(out, text);
}

static void add_event(const TfyEvent *event, bool whole, TfyBuffer *out)
{
    const TfyLogRecord *record = event->record;
    tfy__buffer_text(out, "{\"lsn\":");
    tfy__buffer_int(out, record->lsn);
    tfy__buffer_text(out, ",\"ts\":\"");
    tfy__write_time(out, record->ts_ms);
    tfy__buffer_char(out, '"');
    if (event->run) {
        add_plain(out, ",\"run\":\"", event->run->uuid);
        add_plain(out, "\",\"task\":\"", event->task);
        tfy__buffer_text(out, "\",\"program\":");
        tfy__buffer_json_string(out, event->run->program, strlen(event->run->program));
        tfy__buffer_text(out, ",\"workflow\":");
        tfy__buffer_json_string(out, event->run->workflow, strlen(event->run->workflow));
    }
    add_plain(out, ",\"type\":\"", tfy__record_type_name(record->type));
    tfy__buffer_char(out, '"');
    if (record->step) tfy__buffer_text(out, ",\"step\":");
    if (record->step) tfy__buffer_int(out, record->step);
    if (event->run) add_point(event, out);
    add_payload(event, whole, out);
    tfy__buffer_char(out, '}');
}

void tfy__event_text(const TfyEvent *event, TfyBuffer *out)
{
    add_event(event, false, out);
}

void tfy__event_whole(const TfyEvent *event, TfyBuffer *out)
{
    add_event(event, true, out);
}

/* ---- what is wanted ---- */

static const char *type_candidate(const void *state, int index)
{
    for (int type = 1; type < TFY_R_COUNT; type++)
        if (tfy__record_type_known(type) && index-- == 0) return tfy__record_type_name(type);
    return NULL;
}

bool tfy__event_types(const char *list, uint64_t *types, char *error)
{
    for (*types = 0; list;) {
        char name[32];
        const size_t len = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, list);
        const int type = tfy__record_type_of(name);
        const char *meant = type ? NULL : tfy__nearest(name, type_candidate, NULL);
        *types |= UINT64_C(1) << type;
        list = list[len] ? list + len + 1 : NULL;
        if (type) continue;
        snprintf(error, TFY_ERROR_TEXT, "'%s' is not a type of records%s%s%s", name, meant ? "; did you mean '" : "",
                 meant ? meant : "", meant ? "'?" : "; docs/log-format.md lists them");
        return false;
    }
    return true;
}

static bool is_below(const char *path, const char *above)
{
    const size_t len = strlen(above);
    return strncmp(path, above, len) == 0 && (!path[len] || path[len] == '.');
}

static bool has_label(const TfyEventRun *run, const char *name, const char *value)
{
    const char *has = json_string_value(json_object_get(run->labels, name));
    return has && strcmp(has, value) == 0;
}

bool tfy__event_wanted(const TfyEventFilter *filter, const TfyEventRun *run, const char *task, int type)
{
    if (type && filter->types && !(filter->types >> type & 1)) return false;
    if (!run) return !*filter->run && !filter->task && !filter->program && !filter->workflow && !filter->label;
    return (!*filter->run || strcmp(filter->run, run->uuid) == 0) && (!filter->task || is_below(task, filter->task)) &&
           (!filter->program || strcmp(filter->program, run->program) == 0) &&
           (!filter->workflow || strcmp(filter->workflow, run->workflow) == 0) &&
           (!filter->label || has_label(run, filter->label, filter->label_value));
}

/* ---- opening ---- */

int tfy__events_log(const char *db, TfyLog **log, char *error)
{
    const TfyLogOptions options = {.path = db, .read_only = true, .existing = true};
    const bool shared = tfy__db_open_shared && tfy__pg_is_address(db);
    return shared ? tfy__db_open_shared(db, log, error) : tfy__log_open(log, &options, error);
}

TfyEvents *tfy__events_open(const char *db, char *error)
{
    TfyEvents *events = calloc(1, sizeof *events);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (events && tfy__events_log(db, &events->log, error) == TFY_OK &&
        tfy__events_log(db, &events->names, error) == TFY_OK)
        return events;
    tfy__events_close(events);
    return NULL;
}

void tfy__events_close(TfyEvents *events)
{
    if (!events) return;
    for (int i = 0; i < TASKS; i++) forget_task(&events->tasks[i]);
    for (int i = 0; i < RUNS; i++) tfy__event_run_drop(events->runs[i]);
    for (Program *program; (program = LIST_TAKE(&events->programs, next));) free_program(program);
    if (events->names) tfy__log_close(events->names, false);
    if (events->log) tfy__log_close(events->log, false);
    free(events);
}

void tfy__events_rest(TfyEvents *events)
{
    tfy__log_rest(events->log);
    tfy__log_rest(events->names);
}

const uint8_t *tfy__events_uuid(const TfyEvents *events)
{
    return tfy__log_uuid(events->log);
}

/* import.c: putting runs of other databases into this one. */
#include "import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "log_state.h"

/* ---- whether it is a history ---- */

static bool is_root(const TfyHistory *history, const TfyLogTask *task)
{
    return task->tid == history->run.root;
}

/* A spawn that was refused makes no task. */
static bool is_birth(const TfyLogRecord *record)
{
    return record->type == TFY_R_INSTRUCTION_START ||
           (record->type == TFY_R_TASK_SPAWN && strncmp(record->payload, "{\"full\":", 8) != 0);
}

static int refuse(char *error_text, const TfyLogTask *task, int64_t lsn, const char *why)
{
    return tfy__log_refuse(error_text, TFY_E_DATA, "task %s of the run, record %" PRId64 ": %s", task->path, lsn, why);
}

/* Tasks ascend in the numbers they have and in those of the records that made them; the root is the first. */
static int check_tasks(const TfyHistory *history, char *error_text)
{
    static const int64_t numbers_max = INT64_C(1) << 40;
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i], *before = i ? task - 1 : NULL;
        if (!before ? !is_root(history, task) || strchr(task->path, '.')
                    : task->tid <= before->tid || task->born <= before->born || !strchr(task->path, '.') ||
                          task->tid - history->run.root > numbers_max)
            return refuse(error_text, task, task->born, "it is not where the task can have been born");
    }
    return history->task_count ? 0 : tfy__log_refuse(error_text, TFY_E_DATA, "the run has no tasks");
}

/* In the order of the log: a task is born, then its records follow one from the other. */
static int check_records(const TfyHistory *history, uint64_t *chains, char *error_text)
{
    uint32_t born = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const uint32_t at = history->record_tasks[i];
        const TfyLogTask *task = &history->tasks[at];
        const bool first = is_birth(record) && record->type == TFY_R_INSTRUCTION_START;
        if (i && record->lsn <= record[-1].lsn) return refuse(error_text, task, record->lsn, "it is out of order");
        if (is_birth(record)) {
            if (born == history->task_count || history->tasks[born].born != record->lsn || first != (born == 0))
                return refuse(error_text, task, record->lsn, "the task that it made is missing");
            born++;
        }
        if (at >= born) return refuse(error_text, task, record->lsn, "its task is not born yet");
        if (record->v != TFY_RECORD_V || !record->type || record->type >= TFY_R_COUNT)
            return refuse(error_text, task, record->lsn, "this tfy does not know its kind");
        chains[at] = tfy__chain_next(chains[at], record);
        if (chains[at] != record->chain)
            return refuse(error_text, task, record->lsn, "it was changed since it was written");
    }
    return born == history->task_count ? 0
                                       : tfy__log_refuse(error_text, TFY_E_DATA, "a task of the run was never born");
}

int tfy__import_check(const TfyHistory *history, char *error_text)
{
    uint64_t *chains = malloc((history->task_count + 1) * sizeof *chains);
    if (!chains) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to check the run");
    int code = check_tasks(history, error_text);
    for (uint32_t i = 0; i < history->task_count; i++)
        chains[i] = tfy__chain_seed(history->run.uuid, history->tasks[i].path);
    if (!code) code = check_records(history, chains, error_text);
    for (uint32_t i = 0; !code && i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        if (chains[i] != task->chain) code = refuse(error_text, task, task->head, "it is not the newest of its task");
    }
    free(chains);
    return code;
}

/* ---- in doubt ---- */

/* The record that began a `once` step which nothing has ended yet: of tools of once, StepStart has the arguments. */
static const TfyLogRecord *open_step(const TfyHistory *history, uint32_t task)
{
    const TfyLogRecord *open = NULL;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (history->record_tasks[i] != task) continue;
        switch (record->type) {
        case TFY_R_STEP_START: open = record; break;
        case TFY_R_TASK_YIELD: /* its time limit */
        case TFY_R_SIGNAL: break;
        default: open = NULL; /* its result; InDoubt already; or a cancellation, and resuming finds out */
        }
    }
    return open;
}

static int doubt_step(TfyLog *log, TfyLogTask *task, const TfyLogRecord *step, int64_t *doubts)
{
    json_t *begun = json_loadb(step->payload, step->payload_len, JSON_ALLOW_NUL, NULL);
    const char *tool = json_string_value(json_object_get(begun, "tool")),
               *key = json_string_value(json_object_get(begun, "key"));
    int64_t lsn = 0;
    if (tool && key && json_object_get(begun, "args")) {
        json_t *doubt = json_pack("{s:s,s:s,s:s}", "tool", tool, "key", key, "why",
                                  "this is a copy: only the original knows whether it happened");
        char *text = json_dumps(doubt, JSON_COMPACT);
        lsn = text ? tfy__log_append(log, task, TFY_R_IN_DOUBT, step->step, step->point, text, strlen(text))
                   : TFY_E_NOMEM;
        *doubts += lsn > 0;
        free(text);
        json_decref(doubt);
    }
    json_decref(begun);
    return lsn < 0 ? (int)lsn : 0;
}

/* tasks[i] is the history's task i as the log is to continue it. */
static int doubt_steps(TfyLog *log, const TfyHistory *history, TfyLogTask *tasks, int64_t *doubts)
{
    int code = 0;
    for (uint32_t i = 0; !code && history->run.state < TFY_TASK_COMPLETED && i < history->task_count; i++) {
        const TfyLogRecord *step = open_step(history, i);
        if (step) code = doubt_step(log, &tasks[i], step, doubts);
    }
    return code;
}

int tfy__import_doubt(TfyLog *log, TfyHistory *history, int64_t *doubts)
{
    const int code = doubt_steps(log, history, history->tasks, doubts);
    for (uint32_t i = 0; i < history->task_count; i++) tfy__log_forget_task(log, &history->tasks[i]);
    return code;
}

/* ---- the run ---- */

typedef struct Importing {
    TfyLog *log;
    const TfyHistory *history;
    TfyLogRun run;
    TfyLogTask *tasks; /* as the history's, with their numbers here */
    uint32_t born;     /* tasks that have their row */
} Importing;

static bool is_there(TfyLog *log, const uint8_t uuid[16], TfyLogRun *run, int *code)
{
    pthread_mutex_lock(&log->store_mutex);
    *code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!*code) {
        *code = TFY_STORE(log->store, TFY_CALL_READ, find_run, uuid, run);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    const bool there = !*code;
    if (*code == TFY_E_ABSENT) *code = 0;
    return there;
}

/* The next task has its row right before the root's first record, or behind the spawn that made it. */
static void bear_task(Importing *importing, int64_t lsn)
{
    TfyLogTask *task = &importing->tasks[importing->born++];
    task->born = lsn;
    task->head = 0;
    task->chain = 0;
    tfy__log_add_task(importing->log, task);
}

static int append_records(Importing *importing)
{
    const TfyHistory *history = importing->history;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        TfyLogTask *task = &importing->tasks[history->record_tasks[i]];
        if (record->type == TFY_R_INSTRUCTION_START) bear_task(importing, importing->log->last + 1);
        const int64_t lsn = tfy__log_copy(importing->log, task, record);
        if (lsn < 0) return (int)lsn;
        if (record->type != TFY_R_INSTRUCTION_START && is_birth(record)) bear_task(importing, lsn);
    }
    return 0;
}

static int queue_run(Importing *importing, int64_t *doubts)
{
    TfyLog *log = importing->log;
    const TfyHistory *history = importing->history;
    const int64_t first_tid = log->next_tid;
    importing->run = history->run;
    importing->run.program = tfy__log_program(log, history->program_hash, history->program_tfyc,
                                              history->program_source, history->program_layout);
    if (importing->run.program < 0) return (int)importing->run.program;
    importing->run.root = first_tid;
    importing->run.parked_ms = 0; /* its snapshot has another database's numbers: it is taken up from its records */
    importing->run.imported = log->last + history->record_count;
    int code = tfy__log_begin_run(log, &importing->run);
    for (uint32_t i = 0; i < history->task_count; i++) {
        TfyLogTask *task = &importing->tasks[i];
        *task = history->tasks[i];
        task->tid = first_tid + (task->tid - history->run.root);
        task->run = &importing->run;
        task->dirty = false;
        task->next_dirty = NULL;
        task->dirty_link = NULL;
        log->next_tid = task->tid + 1;
    }
    if (!code) code = append_records(importing);
    if (!code) code = doubt_steps(log, history, importing->tasks, doubts);
    importing->run.state = history->run.state;
    if (!code && history->run.state >= TFY_TASK_COMPLETED) code = tfy__log_end_run(log, &importing->run);
    for (uint32_t i = 0; i < history->task_count; i++) tfy__log_forget_task(log, &importing->tasks[i]);
    return code;
}

int tfy__import_run(TfyLog *log, const TfyHistory *history, int64_t *doubts, char *error_text)
{
    char uuid[37];
    Importing importing = {.log = log, .history = history};
    int code;
    tfy__uuid_text(history->run.uuid, uuid);
    if (is_there(log, history->run.uuid, &importing.run, &code))
        return tfy__log_refuse(error_text, TFY_E_STATE, "%s has run %s already; nothing was imported", log->path, uuid);
    if (code) return tfy__log_refuse(error_text, code, "the runs of %s cannot be read", log->path);
    importing.tasks = malloc(history->task_count * sizeof *importing.tasks);
    code = importing.tasks ? queue_run(&importing, doubts) : TFY_E_NOMEM;
    free(importing.tasks);
    return code ? tfy__log_refuse(error_text, code, "run %s could not be written to %s", uuid, log->path) : 0;
}

/* ---- openings ---- */

int64_t tfy__import_opened(TfyLog *log, const char *version, const char *how)
{
    char text[200];
    const int len = snprintf(text, sizeof text, "{\"epoch\":%lld,\"pid\":%ld,\"version\":\"%s\"%s%s%s}",
                             (long long)tfy__log_epoch(log), (long)getpid(), version, how ? ",\"why\":\"" : "",
                             how ? how : "", how ? "\"" : "");
    return tfy__log_append(log, tfy__log_self(log), TFY_R_OPENED, 0, 0, text, (size_t)len);
}

void tfy__import_epoch(TfyLog *log, int64_t epoch)
{
    if (epoch > log->meta.epoch) log->meta.epoch = epoch; /* written with the mark of the close */
}

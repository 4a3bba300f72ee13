#include "wal/history/fork.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <jansson.h>

#include "wal/history/in_flight.h"
#include "wal/history/shared.h"
#include "wal/log/log_state.h"
#include "wal/history/move.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

typedef struct Copying {
    TfyLog *log;
    const TfyFork *fork;
    TfyLogRun *run;
    char from_uuid[37], uuid[37];
    /* Of the new run, by the index of their originals; path NULL: not born yet. */
    TfyLogTask *tasks;
    /* Per task: the gap since its newest copied record; NULL: none. */
    const TfyStoreGap **gaps;
    uint64_t seed;
} Copying;

/* A copied record's complete payload, ready to be appended. */
typedef struct Payload {
    const char *text;
    size_t len;
    char *owned; /* NULL: text is borrowed */
} Payload;

/* ---- identity of the new run ---- */

static bool draw_identity(Copying *copying)
{
    uint8_t *uuid = copying->run->uuid;
    if (getrandom(uuid, 16, 0) != 16) return false;
    if (getrandom(&copying->seed, sizeof copying->seed, 0) != sizeof copying->seed) return false;
    for (int i = 0; i < 6; i++) uuid[i] = (uint8_t)(copying->run->started_ms >> (40 - 8 * i));
    uuid[6] = (uint8_t)(0x70 | (uuid[6] & 0x0f));
    uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
    tfy__uuid_text(uuid, copying->uuid);
    return true;
}

static bool is_base(const TfyFork *fork, const TfyLogRecord *record)
{
    return record->lsn == fork->from->run.base_lsn;
}

/* A record of where the other run was says nothing about this one, unless this one starts there. What was sent to
 * models, which secrets were used and what people granted to tools belongs to the records that are copied. */
static bool is_copied(const TfyFork *fork, const TfyLogRecord *record)
{
    return !tfy__record_is_nobodys(record) || record->type == TFY_R_MOVED || record->type == TFY_R_TEXT ||
           record->type == TFY_R_SECRET || tfy__record_is_grant(record) || is_base(fork, record);
}

/* Counts the copied records behind that one. */
static uint32_t copied_count(const TfyFork *fork, int64_t lsn)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fork->records; i++)
        count += fork->from->records[i].lsn > lsn && is_copied(fork, &fork->from->records[i]);
    return count;
}

/* ---- payloads ---- */

/* Earlier forks count as far as their copies extend into this one. */
static json_t *fork_list(const json_t *before, json_int_t records, json_t *fork)
{
    json_t *list = json_array(), *one;
    size_t i;
    json_array_foreach(before, i, one)
    {
        if (tfy__member_int(one, TFY_P_RECORDS) < records) json_array_append(list, one);
    }
    json_array_append_new(list, fork);
    return list;
}

static void set_counts(const Copying *copying, json_t *fork, json_int_t records)
{
    char seed[17];
    snprintf(seed, sizeof seed, "%016llx", (unsigned long long)copying->seed);
    tfy__member_set(fork, TFY_P_RECORDS, json_integer(records));
    tfy__member_set(fork, TFY_P_SEED, json_string(seed));
}

static json_t *told_fork(const Copying *copying, const json_t *before)
{
    const TfyFork *fork = copying->fork;
    const json_int_t records = copied_count(fork, 0);
    json_t *one = json_object();
    tfy__member_set(one, TFY_P_RUN, json_string(copying->from_uuid));
    tfy__member_set(one, TFY_P_LSN, json_integer(fork->from->records[fork->records - 1].lsn));
    tfy__member_set(one, TFY_P_TASK, json_string(fork->task));
    tfy__member_set(one, TFY_P_STEP, json_integer(fork->step));
    set_counts(copying, one, records);
    if (fork->by) tfy__member_set(one, TFY_P_BY, json_string(fork->by));
    if (fork->via) tfy__member_set(one, TFY_P_VIA, json_deep_copy(fork->via));
    if (fork->replaced < fork->records || fork->resolved != UINT32_MAX) tfy__member_set(one, TFY_P_SET, json_true());
    return fork_list(before, records, one);
}

/* Builds the payload with another value for a member. */
static bool rewrite(const TfyLogRecord *record, TfyMember member, json_t *value, Payload *payload)
{
    char *json = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    payload->text = payload->owned = json ? tfy__record_with(record, member, json, &payload->len) : NULL;
    free(json);
    json_decref(value);
    return payload->owned != NULL;
}

static bool rewrite_instruction(const Copying *copying, const TfyLogRecord *record, Payload *payload)
{
    TfyPayload own;
    Payload named;
    TfyLogRecord other = *record;
    if (!rewrite(record, TFY_P_RUN, json_string(copying->uuid), &named)) return false;
    other.payload = named.text;
    other.payload_len = (uint32_t)named.len;
    tfy__payload_open(&own, record);
    const bool ok = rewrite(&other, TFY_P_FORK_OF, told_fork(copying, tfy__payload_get(&own, TFY_P_FORK_OF)), payload);
    tfy__payload_close(&own);
    free(named.owned);
    return ok;
}

/* A task of the snapshot is where its copy is, and the key of its step is the copy's own, unless the program chose
 * the key. */
static bool rewrite_task(const Copying *copying, json_t *json)
{
    const TfyHistory *from = copying->fork->from;
    const TfyLogTask *original = tfy__history_task(from, from->run.root + tfy__member_int(json, TFY_S_TASK));
    const TfyLogTask *task = original ? &copying->tasks[original - from->tasks] : NULL;
    json_t *pending = tfy__member_get(json, TFY_S_PENDING);
    const char *used = tfy__member_text(pending, TFY_S_KEY);
    const int64_t step = tfy__member_int(pending, TFY_S_STEP);
    char key[TFY_KEY_SIZE], text[17];
    if (!task || !task->path) return false;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)task->chain);
    tfy__record_key(copying->from_uuid, task->path, step, key);
    const bool own = used && strcmp(used, key) == 0;
    tfy__record_key(copying->uuid, task->path, step, key);
    if (own && !tfy__member_set(pending, TFY_S_KEY, json_string(key))) return false;
    return tfy__member_set(json, TFY_S_CHAIN, json_string(text));
}

static bool rewrite_tasks(const Copying *copying, json_t *tasks)
{
    json_t *task;
    size_t i;
    json_array_foreach(tasks, i, task)
    {
        if (!rewrite_task(copying, task)) return false;
    }
    return true;
}

static bool rewrite_base(const Copying *copying, const TfyLogRecord *record, Payload *payload)
{
    const json_int_t records = copied_count(copying->fork, record->lsn);
    TfyPayload base;
    tfy__payload_open(&base, record);
    json_t *json = base.json;
    if (json && rewrite_tasks(copying, tfy__member_get(json, TFY_S_TASKS)) &&
        rewrite_tasks(copying, tfy__member_get(json, TFY_S_ENDED))) {
        json_t *one = json_object();
        set_counts(copying, one, records);
        tfy__member_set(json, TFY_S_FORK_OF, fork_list(tfy__member_get(json, TFY_S_FORK_OF), records, one));
        payload->text = payload->owned = json_dumps(json, JSON_COMPACT);
    }
    payload->len = payload->owned ? strlen(payload->owned) : 0;
    tfy__payload_close(&base);
    return payload->owned != NULL;
}

/* A key that the program chose stays: it identifies the step, whichever run takes it. */
static bool rewrite_key(const Copying *copying, const TfyLogTask *task, const TfyLogRecord *record, Payload *payload)
{
    char old[TFY_KEY_SIZE], new[TFY_KEY_SIZE];
    tfy__record_key(copying->from_uuid, task->path, record->step, old);
    tfy__record_key(copying->uuid, task->path, record->step, new);
    if (!tfy__record_is(record, TFY_P_KEY, old)) return true;
    return rewrite(record, TFY_P_KEY, json_string(new), payload);
}

static bool make_payload(const Copying *copying, uint32_t index, Payload *payload)
{
    const TfyHistory *from = copying->fork->from;
    const TfyLogRecord *record = &from->records[index];
    *payload = (Payload){record->payload, record->payload_len, NULL};
    if (index == copying->fork->replaced) {
        *payload = (Payload){copying->fork->payload, strlen(copying->fork->payload), NULL};
        return true;
    }
    if (is_base(copying->fork, record)) return rewrite_base(copying, record, payload);
    switch (record->type) {
    case TFY_R_INSTRUCTION_START: return rewrite_instruction(copying, record, payload);
    case TFY_R_STEP_START:
    case TFY_R_TASK_WAIT_IO:
    case TFY_R_IN_DOUBT: return rewrite_key(copying, &from->tasks[from->record_tasks[index]], record, payload);
    default: return true;
    }
}

/* ---- tasks ---- */

/* Programs refer to a task by the distance of its number from the root's, and recorded values contain it, so it
 * stays. */
static int64_t take_tid(const Copying *copying, int64_t distance)
{
    TfyLog *log = copying->log;
    if (log->shared) return tfy__log_owned_tid(copying->run, distance + 1);
    const int64_t tid = copying->run->root + distance;
    if (log->next_tid <= tid) log->next_tid = tid + 1;
    return tid;
}

static bool bear(Copying *copying, uint32_t index, int64_t born)
{
    const TfyHistory *from = copying->fork->from;
    const TfyLogTask *original = &from->tasks[index];
    TfyLogTask *task = &copying->tasks[index];
    *task = (TfyLogTask){.tid = take_tid(copying, original->tid - from->run.root),
                         .run = copying->run,
                         .path = strdup(original->path),
                         .born = born,
                         .state = TFY_TASK_READY};
    if (!task->path) return false;
    tfy__log_add_task(copying->log, task);
    return true;
}

/* Queues the tasks that the record started, in the order of their births. */
static bool bear_born(Copying *copying, const TfyLogRecord *record, int64_t lsn, uint32_t *next)
{
    const TfyHistory *from = copying->fork->from;
    while (*next < from->task_count && from->tasks[*next].born == record->lsn) {
        if (!bear(copying, (*next)++, lsn)) return false;
    }
    return true;
}

/* ---- copying ---- */

/* Also appends the gap if the record just behind it was not copied. */
static TfyTicket append_copy(Copying *copying, uint32_t task, const TfyLogRecord *record)
{
    const TfyStoreGap *gap = copying->gaps[task];
    copying->gaps[task] = NULL;
    return gap ? tfy__log_copy_behind_gap(copying->log, &copying->tasks[task], record, gap->chain)
               : tfy__log_copy(copying->log, &copying->tasks[task], record);
}

static int copy_records(Copying *copying)
{
    const TfyFork *fork = copying->fork;
    uint32_t next = 1; /* next task to be born; the root exists */
    for (uint32_t i = 0; i < fork->records; i++) {
        TfyLogRecord record = fork->from->records[i];
        const uint32_t at = fork->from->record_tasks[i];
        const TfyStoreGap *gap = tfy__history_gap(fork->from, record.lsn);
        Payload payload;
        if (gap) copying->gaps[at] = gap;
        if (!is_copied(fork, &record)) continue;
        if (!make_payload(copying, i, &payload)) return TFY_E_NOMEM;
        record.payload = payload.text;
        record.payload_len = (uint32_t)payload.len;
        const bool base = is_base(fork, &record);
        const TfyTicket ticket = append_copy(copying, at, &record);
        free(payload.owned);
        if (ticket < 0) return (int)ticket;
        const int64_t lsn = copying->tasks[at].head;
        if (tfy__record_is_move(&record)) copying->run->moved_lsn = lsn;
        if (base) copying->run->base_lsn = lsn;
        if (tfy__record_is_options(&record)) copying->run->options_lsn = lsn;
        const int end = tfy__record_end(&record);
        if (end && record.type != TFY_R_TASK_COMPLETE) copying->tasks[at].state = end;
        if (!bear_born(copying, &fork->from->records[i], lsn, &next)) return TFY_E_NOMEM;
    }
    return 0;
}

static int append_doubt(Copying *copying, TfyLogTask *task, const TfyLogRecord *start)
{
    char key[TFY_KEY_SIZE], own[TFY_KEY_SIZE], why[160];
    TfyPayload begun;
    tfy__payload_open(&begun, start);
    const char *tool = tfy__payload_text(&begun, TFY_P_TOOL), *used = tfy__payload_text(&begun, TFY_P_KEY);
    tfy__record_key(copying->from_uuid, task->path, start->step, own);
    tfy__record_key(copying->uuid, task->path, start->step, key);
    snprintf(why, sizeof why, "the run was forked while %.100s ran", tool ? tool : "it");
    const bool chosen = used && strcmp(used, own) != 0;
    const TfyTicket ticket = tfy__in_flight_doubt(copying->log, task, start, chosen ? NULL : key, why);
    tfy__payload_close(&begun);
    return ticket < 0 ? (int)ticket : 0;
}

static int append_resolution(Copying *copying)
{
    const TfyFork *fork = copying->fork;
    const TfyLogRecord *last = &fork->from->records[fork->resolved];
    const TfyTicket ticket =
        tfy__log_append(copying->log, &copying->tasks[fork->from->record_tasks[fork->resolved]], TFY_R_RESOLVED,
                        last->step, last->point, fork->resolution, strlen(fork->resolution));
    return ticket < 0 ? (int)ticket : 0;
}

/* The other run may have done the steps in flight, or may be doing them now. */
static int settle_in_flight(Copying *copying)
{
    const TfyFork *fork = copying->fork;
    const TfyLogRecord **open = tfy__in_flight(fork->from, fork->records);
    const uint32_t resolved = fork->resolved == UINT32_MAX ? UINT32_MAX : fork->from->record_tasks[fork->resolved];
    int code = open ? 0 : TFY_E_NOMEM;
    for (uint32_t i = 0; i < fork->from->task_count && !code; i++) {
        if (i == resolved)
            code = append_resolution(copying);
        else if (open[i])
            code = append_doubt(copying, &copying->tasks[i], open[i]);
    }
    free(open);
    return code;
}

/* Queues the run's row once more, with what its records have made of it. */
static int finish_run(const Copying *copying)
{
    TfyLogRun *run = copying->run;
    if (copying->log->shared) return tfy__log_hand_on(copying->log, run);
    return run->moved_lsn || run->base_lsn || run->options_lsn ? tfy__log_change_run(copying->log, run) : 0;
}

static int write_run(Copying *copying)
{
    const TfyHistory *from = copying->fork->from;
    TfyLogRun *run = copying->run;
    if (copying->log->shared)
        tfy__shared_own_tasks(copying->log, run, from);
    else
        run->root = tfy__log_next_tid(copying->log, NULL);
    int code = tfy__log_begin_run(copying->log, run);
    if (!code && !bear(copying, 0, 0)) code = TFY_E_NOMEM;
    if (!code) code = copy_records(copying);
    if (!code) code = settle_in_flight(copying);
    if (!code) code = finish_run(copying);
    for (uint32_t i = 0; i < from->task_count; i++) {
        if (copying->tasks[i].path) tfy__log_forget_task(copying->log, &copying->tasks[i]);
        free(copying->tasks[i].path);
    }
    return code;
}

int tfy__fork_write(TfyLog *log, const TfyFork *fork, TfyLogRun *made, char *error_text)
{
    Copying copying = {.log = log, .fork = fork, .run = made};
    const TfyHistory *from = fork->from;
    *made = (TfyLogRun){.program = tfy__history_program(from, fork->records - 1),
                        .origin_lsn = from->records[fork->records - 1].lsn,
                        .started_ms = log->wall_ms(log->clock_state)};
    memcpy(made->origin, from->run.uuid, sizeof made->origin);
    tfy__uuid_text(from->run.uuid, copying.from_uuid);
    if (!draw_identity(&copying)) return tfy__log_refuse(error_text, TFY_E_IO, "the system gives no random numbers");
    if (fork->place) {
        const int placed = fork->place->place(fork->place->state, made, error_text);
        if (placed) return placed;
    }
    copying.tasks = calloc(from->task_count, sizeof *copying.tasks);
    copying.gaps = calloc(from->task_count, sizeof *copying.gaps);
    if (!copying.tasks || !copying.gaps) {
        free(copying.tasks);
        free(copying.gaps);
        return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory to fork the run");
    }
    /* Half a fork must not be committed: any failure after this line is a failure of the log. */
    const int code = write_run(&copying);
    free(copying.tasks);
    free(copying.gaps);
    if (!code) return 0;
    tfy__writer_fail(log, code, "a fork could not be written");
    return tfy__log_refuse(error_text, code, "the fork could not be written%s",
                           code == TFY_E_NOMEM ? ": no memory" : "; the log says why");
}

const char *tfy__fork_starter(const TfyPayload *birth)
{
    const json_t *forks = tfy__payload_get(birth, TFY_P_FORK_OF);
    return forks ? tfy__member_text(json_array_get(forks, json_array_size(forks) - 1), TFY_P_BY)
                 : tfy__payload_text(birth, TFY_P_BY);
}

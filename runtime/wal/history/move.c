#include "wal/history/move.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tfy_program.h"
#include "wal/history/compat.h"
#include "wal/history/snapshot_map.h"
#include "wal/store/store.h"
#include "wal/rows/payload.h"
#include "wal/log/root.h"
#include "wal/history/history.h"

/* ---- earlier programs ---- */

static bool read_hash(const TfyPayload *payload, TfyMember member, uint8_t hash[16])
{
    const char *text = tfy__payload_text(payload, member);
    bool ok = text && strlen(text) == 32;
    for (int i = 0; ok && i < 16; i++) ok = sscanf(text + 2 * i, "%2hhx", &hash[i]) == 1;
    return ok;
}

bool tfy__record_is_move(const TfyLogRecord *record)
{
    return record->type == TFY_R_MOVED && tfy__record_has(record, TFY_P_FROM);
}

bool tfy__move_hashes(const TfyLogRecord *record, uint8_t from[16], uint8_t to[16])
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const bool ok = read_hash(&payload, TFY_P_FROM, from) && read_hash(&payload, TFY_P_TO, to);
    tfy__payload_close(&payload);
    return ok;
}

static void free_move(TfyHistoryMove *move)
{
    free(move->tfyc);
    free(move->source);
    free(move->layout);
}

int tfy__history_add_move(TfyHistory *history, uint32_t index, const TfyStoreProgram *from)
{
    if (!GROW(history->moves, history->move_cap, history->move_count + 1, 2)) return TFY_E_NOMEM;
    TfyHistoryMove *move = &history->moves[history->move_count];
    *move = (TfyHistoryMove){.index = index,
                             .program = from->id,
                             .tfyc = strdup(from->tfyc),
                             .source = strdup(from->source),
                             .layout = strdup(from->layout)};
    memcpy(move->hash, from->hash, sizeof move->hash);
    if (move->tfyc && move->source && move->layout) {
        history->move_count++;
        return 0;
    }
    free_move(move);
    return TFY_E_NOMEM;
}

void tfy__history_forget_moves(TfyHistory *history)
{
    while (history->move_count) free_move(&history->moves[--history->move_count]);
    free(history->moves);
    history->moves = NULL;
}

bool tfy__history_moves_fit(const TfyHistory *history)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        uint8_t from[16], to[16];
        if (!tfy__record_is_move(record)) continue;
        if (found == history->move_count || !tfy__move_hashes(record, from, to)) return false;
        const TfyHistoryMove *move = &history->moves[found++];
        const uint8_t *next = found < history->move_count ? move[1].hash : history->program_hash;
        if (move->index != i || memcmp(from, move->hash, 16) != 0 || memcmp(to, next, 16) != 0) return false;
    }
    return found == history->move_count;
}

/* ---- numbers of points ---- */

static int adapt_part(TfyHistory *history, uint32_t from, uint32_t to, const char *old, const char *new)
{
    TfyCompat *compat;
    if (from == to || strcmp(old, new) == 0) return 0;
    const int code = tfy__compat_new(old, new, &compat);
    for (uint32_t i = from; !code && i < to; i++)
        history->records[i].point = tfy__compat_number(compat, history->records[i].point);
    tfy__compat_free(compat);
    return code;
}

int tfy__history_adapt(TfyHistory *history, const char *layout)
{
    uint32_t from = 0;
    if (!history->move_count && strcmp(history->program_layout, layout) == 0) return 0;
    char *own = strdup(layout);
    int code = own ? 0 : TFY_E_NOMEM;
    for (uint32_t i = 0; !code && i < history->move_count; i++) {
        code = adapt_part(history, from, history->moves[i].index, history->moves[i].layout, layout);
        from = history->moves[i].index;
    }
    if (!code) code = adapt_part(history, from, history->record_count, history->program_layout, layout);
    if (code) {
        free(own);
        return code;
    }
    tfy__history_forget_moves(history);
    free(history->program_layout);
    history->program_layout = own;
    return 0;
}

int tfy__history_take_snapshot(TfyHistory *history, json_t *snapshot, const char *layout)
{
    char *own = strdup(layout);
    if (!own) {
        json_decref(snapshot);
        return TFY_E_NOMEM;
    }
    free(history->snapshot_layout);
    history->snapshot_layout = own;
    json_decref(history->snapshot);
    history->snapshot = snapshot;
    return 0;
}

const char *tfy__history_layout(const TfyHistory *history, uint32_t index)
{
    for (uint32_t i = 0; i < history->move_count; i++)
        if (index < history->moves[i].index) return history->moves[i].layout;
    return history->program_layout;
}

int64_t tfy__history_program(const TfyHistory *history, uint32_t index)
{
    for (uint32_t i = 0; i < history->move_count; i++)
        if (index < history->moves[i].index) return history->moves[i].program;
    return history->run.program;
}

/* ---- what the layouts alone say ---- */

/* Refuses a recorded step whose point is missing in the new program. */
static int check_points(const TfyHistory *history, const TfyCompat *compat, char *error_text)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (tfy__compat_number(compat, record->point) != TFY_NO_POINT) continue;
        const TfyCompatPoint *point = record->point <= compat->count ? &compat->points[record->point - 1] : NULL;
        snprintf(error_text, TFY_ERROR_TEXT, "step %lld of task %s was %.100s (line %.60s), and %.200s",
                 (long long)record->step, history->tasks[history->record_tasks[i]].path, point ? point->id : "?",
                 point ? point->place : "?", point ? point->reason : "that is not known");
        return TFY_E_DIVERGED;
    }
    return 0;
}

/* Tasks that finished before the snapshot are looked up in the log on demand, by the name of their workflow. */
static int check_ended(const TfyHistory *history, const TfyCompat *compat, char *error_text)
{
    for (uint32_t i = 0; history->snapshot && i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        if (task->state < TFY_TASK_COMPLETED || task->head > history->snapshot_lsn) continue;
        const TfyCompatRoutine *routine = tfy__compat_routine(compat, history->task_workflows[i]);
        if (routine && (routine->inner || !routine->reason)) continue;
        snprintf(error_text, TFY_ERROR_TEXT,
                 "task %s (%.100s) has ended, another task may still join it, and the program cannot read its result: "
                 "%.200s",
                 task->path, history->task_workflows[i], routine ? routine->reason : "the workflow is gone");
        return TFY_E_DIVERGED;
    }
    return 0;
}

/* A compacted run starts at its snapshot, which an earlier program of the run may have written. */
static int check_snapshot(const TfyHistory *history, const char *layout, char *error_text)
{
    TfyCompat *compat;
    json_t *mapped = NULL;
    if (!history->snapshot || strcmp(history->snapshot_layout, layout) == 0) return 0;
    int code = tfy__compat_new(history->snapshot_layout, layout, &compat);
    if (code) return code;
    code = tfy__snapshot_map(compat, history->snapshot, &mapped, error_text);
    json_decref(mapped);
    tfy__compat_free(compat);
    return code;
}

int tfy__move_fits(const TfyHistory *history, const char *layout, char *error_text)
{
    TfyCompat *compat;
    snprintf(error_text, TFY_ERROR_TEXT, "the two programs cannot be compared");
    int code = tfy__compat_new(history->program_layout, layout, &compat);
    if (code) return code;
    code = check_points(history, compat, error_text);
    if (!code) code = check_ended(history, compat, error_text);
    if (!code) code = check_snapshot(history, layout, error_text);
    tfy__compat_free(compat);
    return code;
}

/* ---- moving ---- */

static void hash_text(const uint8_t hash[16], char out[33])
{
    for (int i = 0; i < 16; i++) sprintf(out + 2 * i, "%02x", hash[i]);
}

static TfyTicket append_moved(TfyLog *log, TfyLogTask *root, const char *from, const char *to)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_FROM, from);
    tfy__put_text(&out, TFY_P_TO, to);
    tfy__put_end(&out);
    return tfy__log_append_payload(log, root, TFY_R_MOVED, root->step, 0, &out);
}

int tfy__move_append(TfyLog *log, TfyHistory *history, const uint8_t hash[16], int64_t program)
{
    char from[33], to[33];
    TfyLogTask *root = history->tasks;
    while (root->tid != history->run.root) root++;
    hash_text(history->program_hash, from);
    hash_text(hash, to);
    const TfyTicket ticket = append_moved(log, root, from, to);
    if (ticket < 0) return (int)ticket;
    history->run.program = program;
    history->run.moved_lsn = root->head;
    tfy__log_forget_task(log, root);
    return 0;
}

int tfy__move_write(TfyLog *log, TfyHistory *history, const TfyMoveTarget *to)
{
    const int64_t program = tfy__log_program(log, to->hash, to->tfyc, to->source, to->layout);
    int code = program < 0 ? (int)program : tfy__move_append(log, history, to->hash, program);
    if (!code) code = tfy__log_change_run(log, &history->run);
    return code ? code : tfy__log_sync(log);
}

int tfy__root_move(TfyLog *log, TfyHistory *history, const TfyRoot *to)
{
    TfyBuffer out = {0};
    TfyLogTask *root = history->tasks;
    while (root->tid != history->run.root) root++;
    tfy__put_begin(&out);
    tfy__put(&out, TFY_P_ROOT);
    tfy__root_write(&out, to);
    tfy__put_end(&out);
    const TfyTicket ticket = tfy__log_append_payload(log, root, TFY_R_MOVED, root->step, 0, &out);
    if (ticket < 0) return (int)ticket;
    tfy__log_forget_task(log, root);
    return tfy__log_sync(log);
}

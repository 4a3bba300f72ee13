/* carry.c: see carry.h. */
#include "cli/cluster/carry.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "hub/ending.h"
#include "tfy.h"
#include "wal/history/move.h"
#include "wal/rows/payload.h"
#include "wal/store/pg.h"
#include "wal/store/pg_cluster.h"
#include "wal/store/pg_schema.h"

/* No tool works in this session, so it may be silent for as long as a large run takes. */
enum { LEASE_MS = 60000, PAUSE_MS = 100 };

static int failed(const TfyCarry *carry, int64_t code, char *error_text)
{
    return tfy__log_refuse(error_text, tfy__cluster_code(code), "%s", carry->cluster->error);
}

int tfy__carry_open(const char *address, const char *command, TfyCarry *carry, char *error_text)
{
    *carry = (TfyCarry){0};
    int code = tfy__pg_cluster_open(&carry->cluster, &(TfyPgOpen){.address = address}, error_text);
    if (code) return code;
    if ((code = carry->cluster->ops->check_standbys(carry->cluster))) return failed(carry, code, error_text);
    const TfyNewSession session = {.worker = command, .version = tfy_version(), .lease_ms = LEASE_MS};
    int64_t lease_ms;
    carry->session = carry->cluster->ops->open_session(carry->cluster, &session, &lease_ms);
    if (carry->session < 0) return failed(carry, carry->session, error_text);
    TfyLogOptions options = {.session = carry->session, .lease_ms = lease_ms, .no_thread = true};
    const TfyPgOpen open = {.address = address, .session = carry->session, .lease_ms = lease_ms};
    code = tfy__pg_open(&options.store, &open, error_text);
    return code ? code : tfy__log_open(&carry->log, &options, error_text);
}

/* ---- placing ---- */

static int fits(const TfyHistory *history, char *error_text)
{
    for (uint32_t i = 0; i < history->task_count; i++) {
        const int64_t distance = history->tasks[i].tid - history->run.root;
        if (distance < 0 || distance >= INT32_MAX)
            return tfy__log_refuse(error_text, TFY_E_DATA, "PostgreSQL cannot hold the numbers of its tasks");
    }
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->payload_len > TFY_PG_PAYLOAD_MOST)
            return tfy__log_refuse(error_text, TFY_E_DATA,
                                   "record %" PRId64 " has %" PRIu32 " MB, and PostgreSQL holds records of %d MB",
                                   record->lsn, record->payload_len >> 20, TFY_PG_PAYLOAD_MOST >> 20);
    }
    return 0;
}

static int64_t keep(TfyCarry *carry, const uint8_t hash[16], const char *tfyc, const char *source, const char *layout)
{
    TfyStoreProgram program = {.tfyc = tfyc, .source = source, .layout = layout};
    memcpy(program.hash, hash, sizeof program.hash);
    return carry->cluster->ops->keep_program(carry->cluster, &program);
}

/* The row id of the newest of them. */
static int64_t keep_programs(TfyCarry *carry, const TfyHistory *history)
{
    int64_t id = 0;
    for (uint32_t i = 0; id >= 0 && i < history->move_count; i++) {
        const TfyHistoryMove *move = &history->moves[i];
        id = keep(carry, move->hash, move->tfyc, move->source, move->layout);
    }
    if (id < 0) return id;
    return keep(carry, history->program_hash, history->program_tfyc, history->program_source, history->program_layout);
}

int tfy__carry_place(TfyCarry *carry, TfyHistory *history, char *error_text)
{
    TfyCluster *cluster = carry->cluster;
    TfyLogRun *run = &history->run;
    char uuid[37];
    const int code = fits(history, error_text);
    if (code) return code;
    run->claims = tfy__history_greatest(history, TFY_R_CLAIMED, TFY_P_CLAIMS); /* it grows, wherever the run was */
    run->queue = 0;
    run->id = cluster->ops->number(cluster, run->uuid);
    tfy__uuid_text(run->uuid, uuid);
    if (run->id == TFY_E_STATE)
        return tfy__log_refuse(error_text, TFY_E_STATE, "the database already has run %s; nothing was imported", uuid);
    if (run->id < 0) return failed(carry, run->id, error_text);
    const int64_t program = keep_programs(carry, history);
    if (program < 0) return failed(carry, program, error_text);
    if (run->state < TFY_TASK_COMPLETED) run->queue = cluster->ops->queue(cluster, "default", program);
    return run->queue < 0 ? failed(carry, run->queue, error_text) : 0;
}

/* ---- committing ---- */

int tfy__carry_sync(TfyCarry *carry)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    int code = tfy__log_sync(carry->log);
    for (int left = LEASE_MS / PAUSE_MS; code == TFY_E_STATE && left; left--) {
        nanosleep(&pause, NULL);
        code = tfy__log_sync(carry->log);
    }
    return code;
}

int tfy__carry_close(TfyCarry *carry, char *error_text)
{
    const int code = tfy__log_close_saying(carry->log, true, error_text);
    if (carry->session > 0)
        tfy__end_finished(
            carry->cluster,
            &(TfySessionEnd){.session = carry->session, .by = carry->session, .why = "it is done", .in_order = true});
    if (carry->cluster) carry->cluster->ops->close(carry->cluster);
    *carry = (TfyCarry){0};
    return code;
}

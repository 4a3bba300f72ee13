/* fork.c: see fork.h. */
#include "cli/cluster/fork.h"

#include "cli/cluster/carry.h"
#include "cli/program/fork.h"
#include "wal/history/fork.h"

#include <stdio.h>

/* Where the new run goes. */
typedef struct Place {
    TfyCluster *cluster;
    int64_t from; /* the run that is copied */
} Place;

static int place_run(void *state, TfyLogRun *made, char *error_text)
{
    const Place *place = state;
    TfyCluster *cluster = place->cluster;
    made->id = cluster->ops->number(cluster, made->uuid);
    made->queue = made->id < 0 ? made->id : cluster->ops->queue_beside(cluster, place->from, made->program);
    if (made->queue > 0) return 0;
    return tfy__log_refuse(error_text, tfy__cluster_code(made->queue), "%s", cluster->error);
}

static int write_fork(TfyCarry *carry, const TfyHistory *history, const json_t *request, TfyDelivery *delivery)
{
    Place place = {carry->cluster, history->run.id};
    const TfyForkPlace how = {place_run, &place};
    char made[37] = "";
    int code = tfy__fork_request(carry->log, history, request, &how, made, delivery->text);
    if (code && made[0]) code = tfy__carry_sync(carry); /* it is queued, and the database was away */
    if (code) return code;
    snprintf(delivery->run, sizeof delivery->run, "%s", made);
    return TFY_OK;
}

static int read_run(const char *address, const char *run, TfyHistory **history, char *error_text)
{
    TfyLog *log;
    int code = tfy__shared_log_open(address, &log, error_text);
    if (code) return code;
    code = tfy__history_read_stored(log, run, history, error_text);
    tfy__log_close(log, false);
    return code;
}

int tfy__cluster_fork(const char *address, const json_t *request, TfyDelivery *delivery)
{
    TfyHistory *history = NULL;
    TfyCarry carry;
    char closing[TFY_ERROR_TEXT] = "";
    const char *run = json_string_value(json_object_get(request, "run"));
    *delivery = (TfyDelivery){.live = true};
    int code = read_run(address, run, &history, delivery->text);
    if (code) return code;
    code = tfy__carry_open(address, "tfy fork", &carry, delivery->text);
    if (!code) code = write_fork(&carry, history, request, delivery);
    const int closed = tfy__carry_close(&carry, closing);
    if (!code && closed) snprintf(delivery->text, sizeof delivery->text, "%s", closing);
    tfy__history_free(history);
    return code ? code : closed;
}

/* nats.c: "nats://[USER@]HOST[:PORT]?stream=NAME&max=N": a stream of NATS JetStream.
 *
 * A message has the subject STREAM.PROGRAM.WORKFLOW.TYPE and the header "Nats-Msg-Id: DB/LSN", by which the server drops
 * repeats within the stream's duplicate window. A whole batch is in flight at once. The stream is made if no stream takes these
 * subjects.
 *
 * The library has threads of its own. They only note what was acknowledged, under the mutex; the follower's thread waits. */
#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "publish/target.h"

enum { PORT = 4222, MAX_USUAL = 1000000, PAUSE_MOST_MS = 30000, SUBJECT_MOST = 512, NAME_MOST = 64 };

struct TfyPublishTarget {
    const TfyFollow *follow;
    const char *stream;
    int64_t max;
    natsConnection *connection; /* NULL: not connected */
    jsCtx *js;
    pthread_mutex_t mutex;                               /* held for: */
    const TfyBatch *batch;                               /* what is in flight; NULL: nothing */
    enum { SENT, TAKEN, REFUSED } state[TFY_BATCH_MOST]; /* of its messages */
    char why[160];                                       /* the first error; "": none */
};

static const char *const parameters[] = {"stream", "max", NULL};

/* ---- what the server says of a message, on threads of the library ---- */

/* The place of the message with this number in the batch; count: it is none of these. */
static size_t find(const TfyBatch *batch, int64_t lsn)
{
    size_t low = 0, high = batch->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (batch->items[middle].lsn < lsn)
            low = middle + 1;
        else
            high = middle;
    }
    return low < batch->count && batch->items[low].lsn == lsn ? low : batch->count;
}

/* Larger than the stream takes: it never will be in it. */
static bool is_refused(const jsPubAckErr *error)
{
    return error->Err == NATS_MAX_PAYLOAD || error->ErrCode == JSStreamMessageExceedsMaximumErr;
}

static void note(TfyPublishTarget *target, int64_t lsn, const jsPubAckErr *error)
{
    const size_t at = target->batch ? find(target->batch, lsn) : 0;
    if (!target->batch || at == target->batch->count) return;
    if (!error || is_refused(error))
        target->state[at] = error ? REFUSED : TAKEN;
    else if (!*target->why)
        snprintf(target->why, sizeof target->why, "%s",
                 error->ErrText ? error->ErrText : natsStatus_GetText(error->Err));
}

static void on_ack(jsCtx *js, natsMsg *message, jsPubAck *ack, jsPubAckErr *error, void *closure)
{
    TfyPublishTarget *target = closure;
    const char *id = NULL;
    int64_t lsn;
    if (natsMsgHeader_Get(message, "Nats-Msg-Id", &id) == NATS_OK && sscanf(id, "%*[^/]/%" SCNd64, &lsn) == 1) {
        pthread_mutex_lock(&target->mutex);
        note(target, lsn, error);
        pthread_mutex_unlock(&target->mutex);
    }
    natsMsg_Destroy(message);
}

/* ---- connecting ---- */

static void disconnect(TfyPublishTarget *target)
{
    jsCtx_Destroy(target->js);
    natsConnection_Destroy(target->connection);
    target->js = NULL;
    target->connection = NULL;
}

static void fail(TfyPublishTarget *target, TfySent how, const char *what, const char *why, TfyDelivery *result)
{
    tfy__delivery_fail(result, how, "%s %s: %.160s", target->follow->address.shown, what, why);
    disconnect(target);
}

static natsStatus set_options(const TfyPublishTarget *target, natsOptions *options)
{
    const TfyAddress *address = &target->follow->address;
    char url[400];
    const bool six = strchr(address->host, ':');
    snprintf(url, sizeof url, "nats://%s%.255s%s:%u", six ? "[" : "", address->host, six ? "]" : "",
             address->port ? address->port : PORT);
    natsStatus status = natsOptions_SetURL(options, url);
    if (status == NATS_OK) status = natsOptions_SetAllowReconnect(options, false);
    if (status == NATS_OK) status = natsOptions_SetTimeout(options, TFY_TARGET_WAIT_MS);
    if (status == NATS_OK) status = natsOptions_SetName(options, "tfy publish");
    if (status != NATS_OK || !target->follow->secret) return status;
    return address->user ? natsOptions_SetUserInfo(options, address->user, target->follow->secret)
                         : natsOptions_SetToken(options, target->follow->secret);
}

static natsStatus connect_to(TfyPublishTarget *target)
{
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK) status = set_options(target, options);
    if (status == NATS_OK) status = natsConnection_Connect(&target->connection, options);
    natsOptions_Destroy(options);
    return status;
}

static natsStatus open_stream(TfyPublishTarget *target)
{
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = TFY_TARGET_WAIT_MS;
    options.PublishAsync.MaxPending = TFY_BATCH_MOST;
    options.PublishAsync.StallWait = TFY_TARGET_WAIT_MS;
    options.PublishAsync.AckHandler = on_ack;
    options.PublishAsync.AckHandlerClosure = target;
    return natsConnection_JetStream(&target->js, target->connection, &options);
}

/* Makes the stream unless there is one, or another one takes its subjects. */
static natsStatus make_stream(TfyPublishTarget *target)
{
    jsErrCode code = 0;
    jsStreamInfo *info = NULL;
    jsStreamConfig config;
    char subject[SUBJECT_MOST];
    snprintf(subject, sizeof subject, "%s.>", target->stream);
    natsStatus status = js_GetStreamInfo(&info, target->js, target->stream, NULL, &code);
    if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr) {
        jsStreamConfig_Init(&config);
        config.Name = target->stream;
        config.Subjects = (const char *[]){subject};
        config.SubjectsLen = 1;
        config.MaxMsgs = target->max;
        status = js_AddStream(&info, target->js, &config, NULL, &code);
        if (code == JSStreamSubjectOverlapErr || code == JSStreamNameExistErr) status = NATS_OK;
    }
    jsStreamInfo_Destroy(info);
    return status;
}

static void begin(TfyPublishTarget *target, int64_t *lsn, TfyDelivery *result)
{
    disconnect(target);
    natsStatus status = connect_to(target);
    if (status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED) {
        fail(target, TFY_SENT_STOP, "refuses this follower", natsStatus_GetText(status), result);
    } else if (status != NATS_OK) {
        fail(target, TFY_SENT_AGAIN, "cannot be reached", natsStatus_GetText(status), result);
    } else if ((status = open_stream(target)) != NATS_OK || (status = make_stream(target)) != NATS_OK) {
        fail(target, TFY_SENT_AGAIN, "has no JetStream that takes messages (nats-server -js)",
             natsStatus_GetText(status), result);
    }
}

/* ---- messages ---- */

/* A name as a part of a subject. */
static size_t add_part(char *subject, size_t used, const char *name)
{
    subject[used++] = '.';
    if (!*name) subject[used++] = '_';
    for (size_t i = 0; name[i] && i < NAME_MOST; i++)
        subject[used++] = strchr(".*> \t\r\n", name[i]) || (unsigned char)name[i] < ' ' ? '_' : name[i];
    subject[used] = '\0';
    return used;
}

static void subject_of(const TfyPublishTarget *target, const TfyMessage *message, char subject[SUBJECT_MOST])
{
    size_t used = (size_t)snprintf(subject, SUBJECT_MOST, "%s", target->stream);
    used = add_part(subject, used, message->run ? message->run->program : "");
    used = add_part(subject, used, message->run ? message->run->workflow : "");
    add_part(subject, used, message->type ? tfy__record_type_name(message->type) : "gap");
}

static natsStatus send_one(TfyPublishTarget *target, const TfyBatch *batch, const TfyMessage *message)
{
    char subject[SUBJECT_MOST], id[64];
    natsMsg *sent = NULL;
    jsPubOptions options;
    jsPubOptions_Init(&options);
    snprintf(id, sizeof id, "%s/%" PRId64, target->follow->db_id, message->lsn);
    options.MsgId = id;
    subject_of(target, message, subject);
    natsStatus status = natsMsg_Create(&sent, subject, NULL, batch->texts.data + message->at, (int)message->len);
    if (status == NATS_OK) status = js_PublishMsgAsync(target->js, &sent, &options);
    natsMsg_Destroy(sent);
    return status;
}

static void begin_batch(TfyPublishTarget *target, const TfyBatch *batch)
{
    pthread_mutex_lock(&target->mutex);
    target->batch = batch;
    memset(target->state, 0, sizeof target->state);
    *target->why = '\0';
    pthread_mutex_unlock(&target->mutex);
}

/* Counts the messages that are done with, from the first on. */
static bool end_batch(TfyPublishTarget *target, size_t first, TfyDelivery *result, char why[160])
{
    pthread_mutex_lock(&target->mutex);
    const size_t count = target->batch->count - first;
    for (size_t at = first; result->done < count && target->state[at] != SENT; at++) {
        result->done++;
        result->dropped += target->state[at] == REFUSED;
    }
    memcpy(why, target->why, sizeof target->why);
    target->batch = NULL;
    pthread_mutex_unlock(&target->mutex);
    return result->done == count;
}

static void deliver(TfyPublishTarget *target, const TfyBatch *batch, size_t first, TfyDelivery *result)
{
    char why[160];
    natsStatus status = NATS_OK;
    jsPubOptions wait;
    jsPubOptions_Init(&wait);
    wait.MaxWait = TFY_TARGET_WAIT_MS;
    begin_batch(target, batch);
    for (size_t i = first; status == NATS_OK && i < batch->count; i++) {
        status = send_one(target, batch, &batch->items[i]);
        if (status != NATS_MAX_PAYLOAD) continue;
        target->state[i] = REFUSED; /* it was not sent, so that no other thread has it */
        status = NATS_OK;
    }
    const natsStatus ended = js_PublishAsyncComplete(target->js, &wait);
    if (!end_batch(target, first, result, why))
        fail(target, TFY_SENT_AGAIN, "does not take messages",
             *why ? why
                  : natsStatus_GetText(status != NATS_OK  ? status
                                       : ended != NATS_OK ? ended
                                                          : NATS_TIMEOUT),
             result);
}

/* ---- opening ---- */

static bool is_name(const char *name)
{
    return *name && strlen(name) <= NAME_MOST &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")];
}

static bool take_parameters(TfyPublishTarget *target, char *error)
{
    const TfyAddress *address = &target->follow->address;
    const char *stream = tfy__address_parameter(address, "stream");
    if (!tfy__address_number(address, "max", MAX_USUAL, 1, INT64_MAX, &target->max, error)) return false;
    target->stream = stream ? stream : "tfy";
    if (is_name(target->stream) && (!*address->path || strcmp(address->path, "/") == 0)) return true;
    snprintf(error, TFY_ERROR_TEXT,
             "it is not an address such as nats://127.0.0.1:4222?stream=tfy, where a stream has 1 to %d of a-z, A-Z, "
             "0-9, '_' "
             "and '-'",
             NAME_MOST);
    return false;
}

/* Once the library has ended, no thread has the target. */
static void close_nats(TfyPublishTarget *target)
{
    disconnect(target);
    nats_CloseAndWait(TFY_TARGET_WAIT_MS);
    pthread_mutex_destroy(&target->mutex);
    free(target);
}

static TfyPublishTarget *open_nats(const TfyFollow *follow, char *error)
{
    TfyPublishTarget *target = calloc(1, sizeof *target);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!target) return NULL;
    target->follow = follow;
    pthread_mutex_init(&target->mutex, NULL);
    if (nats_Open(-1) == NATS_OK && take_parameters(target, error)) return target;
    close_nats(target);
    return NULL;
}

const TfyTargetKind tfy__nats_kind = {
    .name = "nats",
    .parameters = parameters,
    .pause_most_ms = PAUSE_MOST_MS,
    .open = open_nats,
    .begin = begin,
    .deliver = deliver,
    .close = close_nats,
};

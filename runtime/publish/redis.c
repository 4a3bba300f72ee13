/* redis.c: "redis://[USER@]HOST[:PORT][/DATABASE]?stream=NAME&max=N": a Redis stream, with an entry for each message:
 *
 *   XADD tfy MAXLEN ~ 1000000 LSN-0 event {…}
 *
 * The id of an entry is the number of its record. Redis refuses an id that is not above the newest that the stream ever had,
 * also after entries were trimmed, so no message is there twice. And it knows the newest: that is the cursor. When Redis comes
 * back without its last second, as it may after a crash, what it lost is delivered again.
 *
 * A batch is one transaction. Without it Redis could refuse one entry, for lack of memory say, and take the next one, and
 * after that the first could never be added. */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "publish/target.h"

enum { PORT = 6379, MAX_USUAL = 1000000, PAUSE_MOST_MS = 30000, STREAM_MOST = 256 };

struct TfyPublishTarget {
    const TfyFollow *follow;
    redisContext *redis; /* NULL: not connected */
    const char *stream;
    char max[24];
    const char *database; /* its number; "": that of every connection */
};

static const char *const parameters[] = {"stream", "max", NULL};

/* ---- failures ---- */

static void disconnect(TfyPublishTarget *target)
{
    if (target->redis) redisFree(target->redis);
    target->redis = NULL;
}

static void fail_connection(TfyPublishTarget *target, TfyDelivery *result)
{
    const redisContext *redis = target->redis;
    const bool late = redis && redis->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK);
    tfy__delivery_fail(result, TFY_SENT_AGAIN, "%s cannot be reached: %.120s", target->follow->address.shown,
                       late    ? "it does not answer"
                       : redis ? redis->errstr
                               : "memory ran out");
    disconnect(target);
}

/* Whether a person has to do something about this error. */
static bool is_final(const char *error)
{
    static const char *const starts[] = {"WRONGPASS", "NOAUTH",       "NOPERM",         "WRONGTYPE",
                                         "ERR AUTH",  "ERR DB index", "ERR invalid DB", "ERR unknown command",
                                         NULL};
    for (const char *const *start = starts; *start; start++)
        if (strncmp(error, *start, strlen(*start)) == 0) return true;
    return false;
}

static void fail_reply(TfyPublishTarget *target, const redisReply *reply, TfyDelivery *result)
{
    tfy__delivery_fail(result, is_final(reply->str) ? TFY_SENT_STOP : TFY_SENT_AGAIN, "%s answered: %.200s",
                       target->follow->address.shown, reply->str);
    disconnect(target);
}

/* Sends one command. NULL: it failed, and the result says how. An error that begins like `but` is not a failure. */
static redisReply *ask(TfyPublishTarget *target, int count, const char **words, const char *but, TfyDelivery *result)
{
    redisReply *reply = redisCommandArgv(target->redis, count, words, NULL);
    if (!reply) {
        fail_connection(target, result);
    } else if (reply->type == REDIS_REPLY_ERROR && !(but && strncmp(reply->str, but, strlen(but)) == 0)) {
        fail_reply(target, reply, result);
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

static bool tell(TfyPublishTarget *target, int count, const char **words, TfyDelivery *result)
{
    redisReply *reply = ask(target, count, words, NULL, result);
    if (reply) freeReplyObject(reply);
    return reply;
}

/* ---- what the stream has ---- */

/* The value of a name in a list of names and values. */
static const redisReply *member(const redisReply *list, const char *name)
{
    for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i + 1 < list->elements; i += 2)
        if (list->element[i]->str && strcmp(list->element[i]->str, name) == 0) return list->element[i + 1];
    return NULL;
}

static void fail_foreign(TfyPublishTarget *target, TfyDelivery *result)
{
    tfy__delivery_fail(
        result, TFY_SENT_STOP,
        "the stream '%.80s' of %s has entries of another database or of somebody else: name another stream "
        "with ?stream=NAME in the address",
        target->stream, target->follow->address.shown);
    disconnect(target);
}

/* Its newest id, "58-0". */
static bool take_id(TfyPublishTarget *target, const redisReply *info, int64_t *lsn, TfyDelivery *result)
{
    const redisReply *id = member(info, "last-generated-id");
    unsigned sequence;
    char end;
    *lsn = 0;
    if (info->type == REDIS_REPLY_ERROR) return true; /* there is no such stream */
    if (id && id->str && sscanf(id->str, "%" SCNd64 "-%u%c", lsn, &sequence, &end) == 2 && !sequence && *lsn >= 0)
        return true;
    fail_foreign(target, result);
    return false;
}

/* [[id, [name, value, …]]]: whether that entry is a message of this database. */
static bool is_ours(const TfyPublishTarget *target, const redisReply *entries)
{
    if (entries->type != REDIS_REPLY_ARRAY || !entries->elements) return true; /* all were trimmed */
    const redisReply *entry = entries->element[0];
    const redisReply *text =
        entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 ? member(entry->element[1], "event") : NULL;
    json_t *event = text && text->str ? json_loadb(text->str, text->len, JSON_ALLOW_NUL, NULL) : NULL;
    const char *id = json_string_value(json_object_get(event, "id")), *db = target->follow->db_id;
    const bool ours = id && strncmp(id, db, strlen(db)) == 0 && id[strlen(db)] == '/';
    json_decref(event);
    return ours;
}

static bool look(TfyPublishTarget *target, int64_t *lsn, TfyDelivery *result)
{
    redisReply *info = ask(target, 3, (const char *[]){"XINFO", "STREAM", target->stream}, "ERR no such key", result);
    bool fine = info && take_id(target, info, lsn, result);
    if (info) freeReplyObject(info);
    if (!fine || !*lsn) return fine;
    redisReply *newest =
        ask(target, 6, (const char *[]){"XREVRANGE", target->stream, "+", "-", "COUNT", "1"}, NULL, result);
    fine = newest && is_ours(target, newest);
    if (newest && !fine) fail_foreign(target, result);
    if (newest) freeReplyObject(newest);
    return fine;
}

/* ---- connecting ---- */

static bool log_in(TfyPublishTarget *target, TfyDelivery *result)
{
    const char *user = target->follow->address.user, *secret = target->follow->secret;
    bool fine = true;
    if (secret && user)
        fine = tell(target, 3, (const char *[]){"AUTH", user, secret}, result);
    else if (secret)
        fine = tell(target, 2, (const char *[]){"AUTH", secret}, result);
    if (fine && *target->database) fine = tell(target, 2, (const char *[]){"SELECT", target->database}, result);
    return fine;
}

static void begin(TfyPublishTarget *target, int64_t *lsn, TfyDelivery *result)
{
    const TfyAddress *address = &target->follow->address;
    const struct timeval wait = {.tv_sec = TFY_TARGET_WAIT_MS / 1000};
    disconnect(target);
    target->redis = redisConnectWithTimeout(address->host, address->port ? (int)address->port : PORT, wait);
    if (!target->redis || target->redis->err || redisSetTimeout(target->redis, wait) != REDIS_OK)
        fail_connection(target, result);
    else if (log_in(target, result))
        look(target, lsn, result);
}

/* ---- messages ---- */

static bool append(TfyPublishTarget *target, int count, const char **words, const size_t *lens)
{
    return redisAppendCommandArgv(target->redis, count, words, lens) == REDIS_OK;
}

static bool append_message(TfyPublishTarget *target, const TfyBatch *batch, const TfyMessage *message)
{
    char id[32];
    snprintf(id, sizeof id, "%" PRId64 "-0", message->lsn);
    const char *words[] = {
        "XADD", target->stream, "MAXLEN", "~", target->max, id, "event", batch->texts.data + message->at};
    const size_t lens[] = {4, strlen(target->stream), 6, 1, strlen(target->max), strlen(id), 5, message->len};
    return append(target, 8, words, lens);
}

/* Sends all of it as one transaction. */
static bool append_batch(TfyPublishTarget *target, const TfyBatch *batch, size_t first)
{
    bool fine = append(target, 1, (const char *[]){"MULTI"}, NULL);
    for (size_t i = first; fine && i < batch->count; i++) fine = append_message(target, batch, &batch->items[i]);
    return fine && append(target, 1, (const char *[]){"EXEC"}, NULL);
}

/* An entry whose id is not above the newest is there already. */
static bool is_there(const redisReply *reply)
{
    return reply->type != REDIS_REPLY_ERROR || strstr(reply->str, "equal or smaller than the target stream top item");
}

/* What became of the transaction. */
static void judge(TfyPublishTarget *target, const redisReply *reply, size_t count, TfyDelivery *result)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        if (!is_there(reply->element[i])) {
            fail_reply(target, reply->element[i], result);
            return;
        }
    }
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == count)
        result->done = count;
    else if (reply->type == REDIS_REPLY_ERROR)
        fail_reply(target, reply, result);
    else
        fail_connection(target, result);
}

/* The replies before the last one only say that a command is queued; one that is not makes the transaction fail, and its error
 * says more. */
static void deliver(TfyPublishTarget *target, const TfyBatch *batch, size_t first, TfyDelivery *result)
{
    const size_t count = batch->count - first;
    redisReply *refused = NULL;
    bool fine = append_batch(target, batch, first);
    for (size_t i = 0; fine && i < count + 2; i++) {
        redisReply *reply = NULL;
        fine = redisGetReply(target->redis, (void **)&reply) == REDIS_OK && reply;
        if (fine && i == count + 1) judge(target, refused ? refused : reply, count, result);
        if (fine && i <= count && !refused && reply->type == REDIS_REPLY_ERROR)
            refused = reply;
        else if (reply)
            freeReplyObject(reply);
    }
    if (refused) freeReplyObject(refused);
    if (!fine) fail_connection(target, result);
}

/* ---- opening ---- */

static bool take_parameters(TfyPublishTarget *target, char *error)
{
    const TfyAddress *address = &target->follow->address;
    const char *stream = tfy__address_parameter(address, "stream");
    int64_t max;
    if (!tfy__address_number(address, "max", MAX_USUAL, 1, INT64_MAX, &max, error)) return false;
    snprintf(target->max, sizeof target->max, "%" PRId64, max);
    target->stream = stream ? stream : "tfy";
    target->database = address->path + (*address->path == '/');
    if (strlen(target->stream) <= STREAM_MOST && !target->database[strspn(target->database, "0123456789")]) return true;
    snprintf(error, TFY_ERROR_TEXT,
             "it is not an address such as redis://127.0.0.1:6379/0?stream=tfy, where 0 is the number of a database");
    return false;
}

static int idle_fd(const TfyPublishTarget *target)
{
    return target->redis ? target->redis->fd : -1;
}

static void close_redis(TfyPublishTarget *target)
{
    disconnect(target);
    free(target);
}

static TfyPublishTarget *open_redis(const TfyFollow *follow, char *error)
{
    TfyPublishTarget *target = calloc(1, sizeof *target);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!target) return NULL;
    target->follow = follow;
    if (take_parameters(target, error)) return target;
    close_redis(target);
    return NULL;
}

const TfyTargetKind tfy__redis_kind = {
    .name = "redis",
    .parameters = parameters,
    .pause_most_ms = PAUSE_MOST_MS,
    .open = open_redis,
    .begin = begin,
    .deliver = deliver,
    .idle_fd = idle_fd,
    .close = close_redis,
};

/* webhook.c: "https://…", and "http://…" on this machine: each message is a POST, signed as standard-webhooks has it:
 *
 *   webhook-id: DB/LSN    webhook-timestamp: SECONDS    webhook-signature: v1,BASE64(HMAC-SHA256(ID.SECONDS.BODY))
 *
 * One message at a time, so that they come in order. Any answer but 2xx is a failure; redirects are not followed, because
 * who can change where an address leads would get the messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hmac.h"
#include "publish/post.h"
#include "publish/waker.h"
#include "value/json.h"

enum {
    KEY_LEAST = 24, /* bytes, as standard-webhooks has it */
    KEY_MOST = 64,
    TURN_MS = 50, /* deliveries return so often, for the cursor to be saved */
    GIVE_UP_MS = 24 * 3600 * 1000,
    PAUSE_MOST_MS = 3600 * 1000,
};

struct TfyPublishTarget {
    const TfyFollow *follow;
    TfyPost post;
    unsigned char key[KEY_MOST + 3];
    size_t key_len;
};

/* ---- one message ---- */

/* "webhook-signature: v1,…". False: no memory. */
static bool sign(const TfyPublishTarget *target, const char *id, const char *when, const char *body, size_t len,
                 TfyBuffer *header)
{
    unsigned char mac[TFY_SHA256_SIZE];
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "%s.%s.", id, when);
    tfy__buffer_add(&text, body, len);
    const bool fine = !text.failed && tfy__hmac_sha256(target->key, target->key_len, text.data, text.len, mac);
    tfy__buffer_free(&text);
    tfy__buffer_text(header, "webhook-signature: v1,");
    if (fine) tfy__write_base64(header, mac, sizeof mac);
    return fine && !header->failed;
}

static struct curl_slist *headers_of(const TfyPublishTarget *target, const TfyMessage *message, const char *body)
{
    char id[64], when[24], line[128];
    TfyBuffer signature = {0};
    struct curl_slist *list = NULL;
    snprintf(id, sizeof id, "%s/%lld", target->follow->db_id, (long long)message->lsn);
    snprintf(when, sizeof when, "%lld", (long long)time(NULL));
    if (sign(target, id, when, body, message->len, &signature)) {
        list = curl_slist_append(list, "Content-Type: application/cloudevents+json; charset=utf-8");
        snprintf(line, sizeof line, "webhook-id: %s", id);
        list = curl_slist_append(list, line);
        snprintf(line, sizeof line, "webhook-timestamp: %s", when);
        list = curl_slist_append(list, line);
        list = curl_slist_append(list, signature.data);
    }
    tfy__buffer_free(&signature);
    return list;
}

/* What the answer means. */
static void judge(const TfyPublishTarget *target, bool answered, TfyDelivery *result)
{
    const TfyPost *post = &target->post;
    const char *shown = target->follow->address.shown;
    if (!answered) {
        tfy__delivery_fail(result, TFY_SENT_AGAIN, "%s cannot be reached: %s", shown, post->why);
    } else if (post->status < 200 || post->status > 299) {
        result->pause_ms = post->after_ms;
        tfy__delivery_fail(result, TFY_SENT_AGAIN, "%s answered %ld%s", shown, post->status,
                           post->status >= 300 && post->status < 400 ? ", and redirects are not followed" : "");
    }
}

static void post_one(TfyPublishTarget *target, const TfyBatch *batch, size_t at, TfyDelivery *result)
{
    const TfyMessage *message = &batch->items[at];
    const char *body = batch->texts.data + message->at;
    struct curl_slist *headers = headers_of(target, message, body);
    if (headers)
        judge(target, tfy__post_send(&target->post, target->follow->address.whole, headers, body, message->len),
              result);
    else
        tfy__delivery_fail(result, TFY_SENT_AGAIN, "memory ran out");
    curl_slist_free_all(headers);
}

static void deliver(TfyPublishTarget *target, const TfyBatch *batch, size_t first, TfyDelivery *result)
{
    const int64_t until = tfy__publish_ms() + TURN_MS;
    while (first + result->done < batch->count && !tfy__publish_ends()) {
        post_one(target, batch, first + result->done, result);
        if (result->how != TFY_SENT) return;
        result->done++;
        if (tfy__publish_ms() >= until) return;
    }
}

/* ---- opening ---- */

static bool read_key(TfyPublishTarget *target, char *error)
{
    const char *text = target->follow->secret;
    if (!text) {
        snprintf(
            error, TFY_ERROR_TEXT,
            "webhooks are signed: write a secret into a file, as in { printf whsec_; head -c 32 /dev/urandom | base64; "
            "} >hook.key, and name it with --secret-file");
        return false;
    }
    if (strncmp(text, "whsec_", 6) == 0) text += 6;
    const size_t len = strlen(text);
    const int64_t got = len <= KEY_MOST / 3 * 4 + 4 ? tfy__read_base64((char *)target->key, text, len) : -1;
    if (got >= KEY_LEAST && got <= KEY_MOST) {
        target->key_len = (size_t)got;
        return true;
    }
    snprintf(error, TFY_ERROR_TEXT, "the secret is not %d to %d bytes in base64, with or without whsec_ before it",
             KEY_LEAST, KEY_MOST);
    return false;
}

static bool set_up(TfyPublishTarget *target, char *error)
{
    const TfyAddress *address = &target->follow->address;
    const bool plain = strcmp(address->scheme, "http") == 0;
    if (plain && !tfy__address_is_loopback(address)) {
        snprintf(error, TFY_ERROR_TEXT, "http:// is for targets on this machine; use https://");
        return false;
    }
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!tfy__post_open(&target->post, plain)) return false;
    if (plain) curl_easy_setopt(target->post.easy, CURLOPT_NOPROXY, "*");
    return true;
}

static void close_webhook(TfyPublishTarget *target)
{
    tfy__post_close(&target->post);
    explicit_bzero(target->key, sizeof target->key);
    free(target);
}

static TfyPublishTarget *open_webhook(const TfyFollow *follow, char *error)
{
    TfyPublishTarget *target = calloc(1, sizeof *target);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!target) return NULL;
    target->follow = follow;
    if (read_key(target, error) && set_up(target, error)) return target;
    close_webhook(target);
    return NULL;
}

const TfyTargetKind tfy__webhook_kind = {
    .name = "webhook",
    .give_up_ms = GIVE_UP_MS,
    .pause_most_ms = PAUSE_MOST_MS,
    .open = open_webhook,
    .deliver = deliver,
    .close = close_webhook,
};

/* otlp.c: "otlp+http://HOST:PORT[/BASE]" and "otlp+https://…": traces, metrics and logs for OpenTelemetry, as JSON.
 *
 * A batch of records becomes up to three requests. 429, 502, 503 and 504 mean later; any other status but 200 to 299 means that
 * the collector will never take this, so it is counted and passed over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "publish/otlp_form.h"
#include "publish/post.h"

enum { PAUSE_MOST_MS = 60000, BASE_MOST = 2000 };

struct TfyPublishTarget {
    const TfyFollow *follow;
    TfyPost post;
    struct curl_slist *headers;
    char base[BASE_MOST + 1]; /* "http://127.0.0.1:4318", without a slash at its end */
};

/* ---- requests ---- */

static bool comes_again(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* What the collector took a part of says how many it did not. */
static int64_t rejected(const TfyPost *post)
{
    json_t *answer = json_loadb(post->answer.data ? post->answer.data : "", post->answer.len, 0, NULL);
    const json_t *part = json_object_get(answer, "partialSuccess");
    static const char *const names[] = {"rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"};
    int64_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *number = json_object_get(part, names[i]);
        count += json_is_string(number) ? strtoll(json_string_value(number), NULL, 10) : json_integer_value(number);
    }
    json_decref(answer);
    return count > 0 ? count : 0;
}

/* Sends one document with so many items. False: it must be sent again. */
static bool send_one(TfyPublishTarget *target, const char *path, const char *text, size_t items, TfyDelivery *result)
{
    TfyPost *post = &target->post;
    char url[BASE_MOST + 16];
    snprintf(url, sizeof url, "%s%s", target->base, path);
    if (!tfy__post_send(post, url, target->headers, text, strlen(text))) {
        tfy__delivery_fail(result, TFY_SENT_AGAIN, "%s cannot be reached: %s", target->follow->address.shown,
                           post->why);
        return false;
    }
    if (comes_again(post->status)) {
        result->pause_ms = post->after_ms;
        tfy__delivery_fail(result, TFY_SENT_AGAIN, "%s%s answered %ld", target->follow->address.shown, path,
                           post->status);
        return false;
    }
    const bool taken = post->status >= 200 && post->status < 300;
    result->dropped += taken ? rejected(post) : (int64_t)items;
    if (!taken && !*result->error)
        snprintf(result->error, sizeof result->error, "%s%s answered %ld, which drops %zu items",
                 target->follow->address.shown, path, post->status, items);
    return true;
}

static bool send_all(TfyPublishTarget *target, const TfyOtlp *otlp, TfyDelivery *result)
{
    const char *db = target->follow->db_id;
    bool failed = false;
    char *traces = tfy__otlp_traces(otlp, db, &failed), *metrics = tfy__otlp_metrics(otlp, db, &failed),
         *logs = tfy__otlp_logs(otlp, db, &failed);
    if (failed) tfy__delivery_fail(result, TFY_SENT_AGAIN, "memory ran out");
    const bool fine =
        !failed && (!traces || send_one(target, "/v1/traces", traces, json_array_size(otlp->spans), result)) &&
        (!metrics || send_one(target, "/v1/metrics", metrics,
                              json_array_size(otlp->durations) + json_array_size(otlp->tokens), result)) &&
        (!logs || send_one(target, "/v1/logs", logs, json_array_size(otlp->logs), result));
    free(traces);
    free(metrics);
    free(logs);
    return fine;
}

static void deliver(TfyPublishTarget *target, const TfyBatch *batch, size_t first, TfyDelivery *result)
{
    TfyOtlp otlp;
    bool fine = tfy__otlp_open(&otlp, target->follow->content);
    for (size_t i = first; fine && i < batch->count; i++)
        tfy__otlp_add(&otlp, &batch->items[i], batch->texts.data + batch->items[i].at);
    if (!fine)
        tfy__delivery_fail(result, TFY_SENT_AGAIN, "memory ran out");
    else if (send_all(target, &otlp, result))
        result->done = batch->count - first;
    if (!result->done) result->dropped = 0; /* all of it comes again */
    tfy__otlp_close(&otlp);
}

/* ---- opening ---- */

/* "Name: value", or the token of "Authorization: Bearer …". */
static bool add_secret(TfyPublishTarget *target)
{
    const char *secret = target->follow->secret;
    TfyBuffer line = {0};
    if (!secret) return true;
    if (!strstr(secret, ": ")) tfy__buffer_text(&line, "Authorization: Bearer ");
    tfy__buffer_text(&line, secret);
    struct curl_slist *headers = line.failed ? NULL : curl_slist_append(target->headers, line.data);
    tfy__buffer_free(&line);
    if (headers) target->headers = headers;
    return headers;
}

static bool set_up(TfyPublishTarget *target, char *error)
{
    const TfyAddress *address = &target->follow->address;
    const bool plain = strcmp(address->scheme, "otlp+http") == 0, near = tfy__address_is_loopback(address);
    if (plain && target->follow->secret && !near) {
        snprintf(error, TFY_ERROR_TEXT, "a secret does not go to another machine without TLS: use otlp+https://");
        return false;
    }
    snprintf(target->base, sizeof target->base, "%s", address->whole + strlen("otlp+"));
    for (size_t len = strlen(target->base); len && target->base[len - 1] == '/';) target->base[--len] = '\0';
    target->headers = curl_slist_append(NULL, "Content-Type: application/json");
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!target->headers || !add_secret(target) || !tfy__post_open(&target->post, plain)) return false;
    if (near) curl_easy_setopt(target->post.easy, CURLOPT_NOPROXY, "*");
    return true;
}

static void close_otlp(TfyPublishTarget *target)
{
    tfy__post_close(&target->post);
    curl_slist_free_all(target->headers);
    free(target);
}

static TfyPublishTarget *open_otlp(const TfyFollow *follow, char *error)
{
    TfyPublishTarget *target = calloc(1, sizeof *target);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!target) return NULL;
    target->follow = follow;
    if (set_up(target, error)) return target;
    close_otlp(target);
    return NULL;
}

static const char *const parameters[] = {NULL};

const TfyTargetKind tfy__otlp_kind = {
    .name = "otlp",
    .parameters = parameters,
    .events_whole = true,
    .pause_most_ms = PAUSE_MOST_MS,
    .open = open_otlp,
    .deliver = deliver,
    .close = close_otlp,
};

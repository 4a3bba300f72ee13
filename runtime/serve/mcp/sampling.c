/* sampling.c: `--llm client`: what runs ask models is put to the clients that wait for these runs.
 *
 *   loop's thread   ask ──letter──▶ it is open ──▶ a client answers ──post──▶ done
 *                   cancel ─letter─▶ it is not, any more
 *
 * A sample has two users, the loop's thread and the host's; each takes one part of it (TfyMcpSample), and the last one
 * frees it. The host's gives up its own with the answer that it posts, or when it hears that nobody waits. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "effects/llm_client.h"
#include "mcp/server/sampling.h"
#include "serve/mcp/turn.h"

enum { KEY = 320 };

typedef struct TfyMcpSample {
    _Atomic int users;
    TfyServer *server;
    char run[37], key[KEY];
    TfyBuffer body; /* … until the host reads it */
    /* the loop's */
    TfyLlmDone done; /* NULL: nobody waits */
    void *arg;
    /* the host's */
    struct TfyMcpSample *prev, *next;
    bool open; /* it is in the host's list */
    json_t *params;
    /* the host's, and with the answer that it posts the loop's */
    json_t *result; /* NULL: it is refused: */
    int64_t code;
    char why[160];
} Sample;

static void drop(Sample *sample)
{
    if (atomic_fetch_sub(&sample->users, 1) > 1) return;
    tfy__buffer_free(&sample->body);
    json_decref(sample->params);
    json_decref(sample->result);
    free(sample);
}

/* ---- from the loop to the host ---- */

static void close_sample(TfyMcpHost *host, Sample *sample)
{
    LIST2_REMOVE(&host->samples, sample, prev, next);
    sample->open = false;
}

static void on_open(TfyMcpHost *host, void *arg)
{
    Sample *sample = arg;
    sample->params = tfy__mcp_sampling_params(sample->body.data, sample->body.len);
    tfy__buffer_free(&sample->body);
    sample->open = true;
    LIST2_APPEND(&host->samples, sample, prev, next);
    tfy__run_asks(host, sample->run);
}

static void on_cancel(TfyMcpHost *host, void *arg)
{
    Sample *sample = arg;
    if (sample->open) {
        close_sample(host, sample);
        drop(sample);
    }
    drop(sample);
}

/* On the loop's thread, like cancel. No attempt of a step has the key of another one. */
static void *ask(void *state, const TfyCall *call, TfyBuffer *body, TfyLlmDone done, void *arg)
{
    TfyServer *server = state;
    Sample *sample = server->mcp && !server->draining ? calloc(1, sizeof *sample) : NULL;
    if (!sample) return NULL;
    *sample = (Sample){.users = 2, .server = server, .body = *body, .done = done, .arg = arg};
    *body = (TfyBuffer){.len = 0};
    snprintf(sample->run, sizeof sample->run, "%s", tfy__run_uuid(call->task));
    const int len = snprintf(sample->key, KEY, "%.280s/%lld", tfy__task_path(call->task), (long long)call->step);
    if (call->attempt > 1) snprintf(sample->key + len, KEY - (size_t)len, "#%u", call->attempt);
    if (tfy__mcp_host_post(server->mcp, on_open, sample)) return sample;
    sample->users = 1;
    drop(sample);
    return NULL;
}

static void cancel(void *asked)
{
    Sample *sample = asked;
    sample->done = NULL;
    if (!tfy__mcp_host_post(sample->server->mcp, on_cancel, sample)) drop(sample);
}

bool tfy__mcp_samples_open(TfyServer *server, TfyLlmClient *client)
{
    *client = (TfyLlmClient){.form = &tfy__mcp_sampling, .ask = ask, .cancel = cancel, .state = server};
    return tfy__llm_set_client(server->loop, client);
}

void tfy__samples_free(TfyMcpHost *host)
{
    for (Sample *sample; (sample = host->samples.first);) {
        close_sample(host, sample);
        drop(sample);
    }
}

/* ---- from the host to the loop ---- */

/* What is no answer is an error of the step, as that of an endpoint would be. */
static void tell(const Sample *sample)
{
    TfyLlmReply reply = {.answer = NULL};
    if (sample->result && tfy__mcp_sampled(sample->result, &reply))
        sample->done(sample->arg, &reply, 0, NULL);
    else if (sample->result)
        sample->done(sample->arg, NULL, EBADMSG, "the client's model gave neither a text nor a call");
    else
        sample->done(sample->arg, NULL, sample->code, sample->why);
    tfy__llm_reply_clear(&reply);
}

static void on_answer(TfyLoop *loop, void *arg)
{
    Sample *sample = arg;
    const bool waits = loop && sample->done;
    if (waits) tell(sample);
    if (waits) drop(sample); /* the loop's: it is told once */
    drop(sample);
}

static void answer(TfyMcpHost *host, Sample *sample)
{
    close_sample(host, sample);
    if (tfy__command_post(host->server, on_answer, sample) != TFY_OK) drop(sample);
}

/* Nobody answers any more. What is asked again when the server starts again has the same keys. */
void tfy__samples_leave(TfyMcpHost *host)
{
    for (Sample *sample; (sample = host->samples.first);) {
        sample->code = TFY_LLM_NOT_NOW;
        answer(host, sample);
    }
}

static Sample *find(const TfyMcpHost *host, const char *run, const char *key)
{
    for (Sample *sample = host->samples.first; sample; sample = sample->next)
        if (strcmp(sample->run, run) == 0 && (!key || strcmp(sample->key, key) == 0)) return sample;
    return NULL;
}

bool tfy__samples_any(const TfyMcpHost *host, const char *run)
{
    return find(host, run, NULL);
}

/* What a client says belongs to the host's thread, so the loop gets a copy. */
static void take_result(Sample *sample, const json_t *result)
{
    sample->result = json_deep_copy(result);
    sample->code = ENOMEM;
}

void tfy__sample_answer(TfyMcpHost *host, const char *run, const char *key, const json_t *result)
{
    Sample *sample = find(host, run, key);
    if (!sample) return;
    take_result(sample, result);
    answer(host, sample);
}

void tfy__sample_refuse(TfyMcpHost *host, const char *run, const char *key, int64_t code, const char *why)
{
    Sample *sample = find(host, run, key);
    if (!sample) return;
    sample->code = code;
    snprintf(sample->why, sizeof sample->why, "the client lets no model answer: %.120s", why ? why : "");
    answer(host, sample);
}

uint32_t tfy__samples_reply(TfyMcpTurn *turn)
{
    uint32_t count = 0;
    for (Sample *sample = turn->host->samples.first, *next; sample; sample = next) {
        const json_t *result = json_object_get(turn->replies, sample->key);
        next = sample->next;
        if (!result || strcmp(sample->run, turn->run) != 0) continue;
        take_result(sample, result);
        json_object_del(turn->replies, sample->key);
        answer(turn->host, sample); /* which may free it */
        count++;
    }
    return count;
}

/* ---- to clients ---- */

json_t *tfy__samples_lack(const TfyMcpTurn *turn)
{
    for (const Sample *sample = turn->host->samples.first; sample; sample = sample->next) {
        if (strcmp(sample->run, turn->run) != 0) continue;
        if (!turn->client.samples) return json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling");
        if (!turn->client.samples_tools && tfy__mcp_sampling_offers(sample->params))
            return json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "sampling", "tools");
    }
    return NULL;
}

void tfy__samples_requests(const TfyMcpTurn *turn, json_t *requests)
{
    for (const Sample *sample = turn->host->samples.first; sample; sample = sample->next)
        if (strcmp(sample->run, turn->run) == 0)
            json_object_set_new(requests, sample->key,
                                json_pack("{s:s, s:O}", "method", "sampling/createMessage", "params", sample->params));
}

static bool was_put(const TfyMcpTurn *turn, const char *key)
{
    for (const TfyMcpPut *put = turn->put.first; put; put = put->next)
        if (put->sample && strcmp(put->sample, key) == 0) return true;
    return false;
}

void tfy__samples_put(TfyMcpTurn *turn)
{
    for (const Sample *sample = turn->host->samples.first; sample; sample = sample->next) {
        if (strcmp(sample->run, turn->run) != 0 || was_put(turn, sample->key)) continue;
        TfyMcpPut *put = tfy__turn_put(turn, "sampling/createMessage", sample->params);
        if (put) put->sample = strdup(sample->key);
    }
}

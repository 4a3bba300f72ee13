/* llm.c: the performer of llm() and of prompts.
 *
 * The source of answers is chosen once per loop: --llm cassette:FILE, --llm record:FILE, --llm client, or (none of them) the
 * endpoint in TFY_LLM_URL. Nothing is ever invented: without a source the call fails and says what to set.
 *
 * llm_sent keeps what was sent, and llm_memory what the next request at a place needs. */
#include "effects/llm.h"
#include "effects/llm_client.h"
#include "effects/llm_files.h"
#include "effects/llm_memory.h"
#include "effects/llm_models.h"
#include "effects/llm_says.h"
#include "effects/llm_sent.h"
#include "effects/llm_turn.h"
#include "effects/secret.h"
#include "wal/rows/payload.h"

#include "value/json.h"
#include "value/thread.h"
#include "wal/rows/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS    10000   /* until the connection is established */
#define REQUEST_MS    300000  /* one HTTP request; of an answer that streams, the longest silence */
#define STREAM_MS     3600000 /* … and all of it */
#define PAUSE_MS      1000    /* before the second one of an attempt; doubles */
#define PATIENCE_MS   30000   /* above it another model is asked, if there is one, or the step waits */
#define REQUESTS_MOST 3       /* of an attempt */
#define MODELS_USUAL  ".tfy/models.json"
#define ANSWER_MAX    ((size_t)8 << 20) /* bytes of a response */

typedef enum Mode { MODE_ENDPOINT, MODE_CASSETTE, MODE_RECORD, MODE_CLIENT } Mode;

/* The family's data with its loop. */
typedef struct Llm {
    TfyLoop *loop;
    Mode mode;
    const char *path;           /* of the cassette; part of the loop's options */
    TfyCassette *cassette;      /* NULL for an endpoint */
    TfyLlmModels *models;       /* of the file of models; NULL: there is none */
    TfyLlmHttp *http;           /* made by the first request that needs it */
    const TfyLlmClient *client; /* who answers in place of endpoints; NULL: nobody does */
    TfyLlmLimits limits;
    const TfySending *sends; /* of prompts with files; NULL: none was asked */
    TfyLlmKept kept;
    TfyLlmMemory memory;
    bool prepared; /* the source was chosen; a replay never needs one and opens nothing */
    int status;    /* of prepare: TFY_OK, or why no call can work */
    char why[TFY_ERROR_TEXT];
} Llm;

/* One request in flight. */
typedef struct Asking {
    TfyCall *call;
    Llm *llm;
    TfyLlmReading *reading; /* of the files that it sends; NULL: not now */
    TfyLlmAsk *ask;         /* NULL once it has finished */
    void *shown;            /* to the client; NULL: it is not, or was answered */
    TfyLlmRequest request;
    const TfyLlmEntry *entry; /* who answers; NULL: the endpoint of the environment, or a session */
    const TfyLlmEntry *first; /* … who was asked first */
    int64_t start_ns;         /* monotonic */
    uint32_t tries;           /* HTTP requests before the last one, also of those asked before */
    uint32_t before;          /* … in attempts that a wait ended: those of the entry that is asked first now */
    TfyLlmSays says;
} Asking;

/* ---- the module ---- */

/* A file that is named must be there; the usual one may be missing. */
static int read_models(Llm *llm)
{
    const char *named = tfy__models_option(llm->loop), *path = named ? named : getenv("TFY_MODELS");
    const bool usual = !path || !*path;
    bool missing;
    llm->models = tfy__llm_models_open(usual ? MODELS_USUAL : path, &missing, llm->why);
    if (llm->models || (usual && missing)) {
        llm->why[0] = '\0';
        return TFY_OK;
    }
    return missing ? TFY_E_ABSENT : TFY_E_DATA;
}

static int choose_source(Llm *llm)
{
    const char *option = tfy__llm_option(llm->loop);
    const bool played = option && strncmp(option, "cassette:", 9) == 0;
    if (option && strcmp(option, "client") == 0 && tfy__is_served(llm->loop)) {
        llm->mode = MODE_CLIENT;
        return TFY_OK;
    }
    const int code = played ? TFY_OK : read_models(llm);
    if (code != TFY_OK || !option || !option[0]) return code;
    bool record = strncmp(option, "record:", 7) == 0;
    if (!record && strncmp(option, "cassette:", 9) != 0) {
        snprintf(
            llm->why, sizeof llm->why,
            "unknown source of model answers '%.100s'; use cassette:FILE or record:FILE, or client for `tfy mcp serve`",
            option);
        return TFY_E_INVALID;
    }
    llm->mode = record ? MODE_RECORD : MODE_CASSETTE;
    llm->path = strchr(option, ':') + 1;
    return tfy__cassette_open(&llm->cassette, llm->path, record, llm->why);
}

static Llm *find_llm(TfyLoop *loop)
{
    void **place = tfy__effect_slot(loop, TFY_M_LLM);
    if (*place) return *place;
    Llm *llm = tfy__sys_calloc(1, sizeof *llm);
    if (!llm) return NULL;
    llm->loop = loop;
    llm->limits = (TfyLlmLimits){.connect_ms = CONNECT_MS,
                                 .total_ms = REQUEST_MS,
                                 .stream_ms = STREAM_MS,
                                 .wait_ms = PAUSE_MS,
                                 .wait_max_ms = PATIENCE_MS,
                                 .tries = REQUESTS_MOST,
                                 .body_max = ANSWER_MAX};
    return *place = llm;
}

int tfy__llm_prepare(TfyLoop *loop, char *error)
{
    Llm *llm = find_llm(loop);
    if (llm && !llm->prepared) llm->status = choose_source(llm);
    if (llm) llm->prepared = true;
    snprintf(error, TFY_ERROR_TEXT, "%s", llm ? llm->why : "memory ran out");
    return llm ? llm->status : TFY_E_NOMEM;
}

bool tfy__llm_set_client(TfyLoop *loop, const TfyLlmClient *client)
{
    Llm *llm = find_llm(loop);
    if (llm) llm->client = client;
    return llm;
}

TfyLlmLimits *tfy__llm_limits(TfyLoop *loop)
{
    Llm *llm = find_llm(loop);
    return llm ? &llm->limits : NULL;
}

/* ---- finishing a call ---- */

static void free_asking(Asking *asking)
{
    asking->call->state = NULL;
    tfy__llm_says_end(&asking->says, true);
    tfy__llm_request_clear(&asking->llm->kept, &asking->request);
    free(asking);
}

/* In millionths; -1: nobody knows it. */
static int64_t cost_of(const TfyLlmEntry *entry, const TfyLlmReply *reply)
{
    const bool counted = reply->prompt_tokens >= 0 && reply->completion_tokens >= 0;
    return counted ? tfy__llm_cost(entry, reply->prompt_tokens, reply->cached_tokens, reply->completion_tokens) : -1;
}

/* Who had no time before. */
static void write_failed(const Asking *asking, TfyBuffer *extra)
{
    json_t *names = json_array();
    for (const TfyLlmEntry *entry = asking->first; entry && entry != asking->entry; entry = entry->then)
        json_array_append_new(names, json_string(entry->name));
    if (names) tfy__put_tree(extra, TFY_P_FAILED, names);
    json_decref(names);
}

/* The answer takes the place of all messages but these. */
static void write_compact(const TfyCall *call, TfyBuffer *extra)
{
    const TfyObj *chat = call->args[0].o;
    tfy__put_text(extra, TFY_P_WHY, "compact");
    tfy__put_int(extra, TFY_P_KEPT, tfy_list_len(chat) - tfy__thread_cut(call->task, chat, call->args[1].i) + 1);
}

/* The members of LLMPlan. They are written for misfits too: replay decodes the answer again and fails in the same
 * way. */
static void write_extra(const Asking *asking, const TfyLlmReply *reply, uint32_t occurrence)
{
    TfyBuffer *extra = &asking->call->extra;
    tfy__put_text(extra, TFY_P_MODEL, reply->model);
    if (asking->entry) tfy__put_text(extra, TFY_P_ENTRY, asking->entry->name);
    if (asking->entry != asking->first) write_failed(asking, extra);
    if (reply->prompt_tokens >= 0) tfy__put_int(extra, TFY_P_PROMPT_TOKENS, reply->prompt_tokens);
    if (asking->entry && reply->cached_tokens >= 0) tfy__put_int(extra, TFY_P_CACHED_TOKENS, reply->cached_tokens);
    if (reply->completion_tokens >= 0) tfy__put_int(extra, TFY_P_COMPLETION_TOKENS, reply->completion_tokens);
    const int64_t cost = cost_of(asking->entry, reply);
    if (cost >= 0) tfy__put_int(extra, TFY_P_COST, cost);
    tfy__put_text(extra, TFY_P_FINISH_REASON, reply->finish_reason);
    tfy__put_int(extra, TFY_P_MS, (tfy__now_ns(asking->call->loop) - asking->start_ns) / 1000000);
    if (asking->tries) tfy__put_int(extra, TFY_P_TRIES, asking->tries + 1);
    tfy__put_int(extra, TFY_P_ATTEMPT, asking->call->attempt);
    tfy__llm_request_record(&asking->request, extra);
    tfy__put_int(extra, TFY_P_OCCURRENCE, occurrence);
    if (reply->window) tfy__put_int(extra, TFY_P_WINDOW, reply->window);
    if (asking->call->tool->compacts) write_compact(asking->call, extra);
    if (reply->too_long)
        tfy__put_text(extra, TFY_P_TOO_LONG, reply->too_long);
    else
        tfy__put_bytes(extra, TFY_P_ANSWER, reply->answer, reply->answer_len);
    if (reply->calls) tfy__put_json(extra, TFY_P_CALLS, reply->calls, strlen(reply->calls));
    if (reply->opaque) tfy__put_json(extra, TFY_P_OPAQUE, reply->opaque, strlen(reply->opaque));
    if (reply->refusal) tfy__put_text(extra, TFY_P_REFUSAL, reply->refusal);
}

/* "$.a[1]: expected …" is a path and a message; without a path the whole value is meant. */
static const char *split_path(char *error, const char **path)
{
    char *colon = error[0] == '$' ? strstr(error, ": ") : NULL;
    *path = colon ? error : "$";
    if (!colon) return error;
    *colon = '\0';
    return colon + 2;
}

static void complete_turn(TfyCall *call, const TfyLlmReply *reply)
{
    json_t *opaque = reply->opaque ? json_loads(reply->opaque, JSON_ALLOW_NUL, NULL) : NULL;
    const TfyAnswer answer = {.text = reply->answer,
                              .len = reply->answer_len,
                              .calls = reply->call_list,
                              .opaque = opaque,
                              .cut = tfy__llm_is_long(reply->finish_reason),
                              .too_long = reply->too_long,
                              .tokens = reply->prompt_tokens,
                              .window = reply->window};
    TfyValue value;
    if (reply->opaque && !opaque) tfy__starved(call->task);
    if (!call->task->error && tfy__turn_decode(call->task, call->tool, &answer, &value))
        tfy__call_done(call, value);
    else
        tfy__call_panicked(call);
    json_decref(opaque);
}

/* A reply that is not an answer fails with the error in its record. An answer, also one that does not fit, is decoded
 * again by a replay. An agent goes on with what it got of one that was cut off, also of a summary. */
static void complete(Llm *llm, TfyCall *call, const TfyLlmReply *reply)
{
    TfyTask *task = call->task;
    TfyValue value;
    char error[TFY_ERROR_TEXT];
    const char *path, *message;
    int64_t code;
    const bool goes_on = call->tool->agent && !reply->refusal && tfy__llm_is_long(reply->finish_reason);
    if (!goes_on && tfy__llm_is_refused(reply, &code, error)) {
        tfy__call_tool_error(call, code, "%s", error);
        return;
    }
    call->value_in_extra = true;
    uint32_t mark = tfy_mark(task);
    if (tfy__is_turn(call->tool)) {
        complete_turn(call, reply);
        tfy_cut(task, mark);
        return;
    }
    if (tfy__llm_decode(task, call->result, reply->answer, reply->answer_len, &value, error)) {
        tfy__llm_forget(&llm->memory, task);
        tfy__call_done(call, value);
    } else if (task->error) {
        tfy__call_panicked(call);
    } else {
        tfy__llm_remember(&llm->memory, task, call->site, reply->answer, reply->answer_len, error);
        message = split_path(error, &path);
        tfy__call_bad_value(call, path, message);
    }
    tfy_cut(task, mark);
}

/* Without a count, what was put down stays charged. */
static void settle(TfyCall *call, int64_t asked, int64_t answered, int64_t cost)
{
    tfy__budget_settle(call, asked >= 0 && answered >= 0 ? asked + answered : -1, cost);
}

/* The answer is there: counts it, records it in the session, and finishes the call. */
static void take_reply(Asking *asking, const TfyLlmReply *given)
{
    TfyLlmReply whole = *given, *reply = &whole; /* borrows the texts */
    reply->answer = (char *)tfy__llm_without_thoughts(given->answer, &reply->answer_len);
    Llm *llm = asking->llm;
    TfyCall *call = asking->call;
    tfy__llm_says_end(&asking->says, false);
    if (asking->entry) whole.window = asking->entry->window;
    if (!tfy__is_turn(call->tool)) { /* nobody would look at them */
        whole.window = 0;
        whole.opaque = NULL;
    }
    uint32_t *answered = tfy__llm_answered(&llm->memory, call->task, asking->request.digest);
    uint32_t occurrence = answered ? ++*answered : 0;
    bool kept =
        llm->mode != MODE_RECORD || tfy__cassette_append(llm->cassette, &asking->request, occurrence, reply) == TFY_OK;
    int why = errno;
    call->occurrence = occurrence;
    tfy__sent_record(call, asking->request.talk);
    if (kept) write_extra(asking, reply, occurrence);
    settle(call, reply->prompt_tokens, reply->completion_tokens, cost_of(asking->entry, reply));
    tfy__count_answer(call->loop, asking->entry ? asking->entry->name : reply->model,
                      (const int64_t[]){reply->prompt_tokens, reply->cached_tokens, reply->completion_tokens},
                      cost_of(asking->entry, reply));
    free_asking(asking);
    if (reply->completion_tokens >= 0)
        tfy__activity(call->task, "Tokens", "%s: %lld in, %lld out", call->tool->name, (long long)reply->prompt_tokens,
                      (long long)reply->completion_tokens);
    if (kept)
        complete(llm, call, reply);
    else
        tfy__call_tool_error(call, why, "cannot write the model's answer to the recorded session %s: %s", llm->path,
                             strerror(why));
}

/* A file or socket that could not be opened for lack of room does not count as an answer. asking: its request was sent,
 * as far as anybody knows, and it is freed; NULL: nothing was sent. */
static void fail(TfyCall *call, Asking *asking, int64_t code, const char *error)
{
    const int no_room = code == ENOMEM || code == EMFILE || code == ENFILE ? (int)code : tfy__room_for_descriptor();
    if (asking && !no_room) tfy__sent_record(call, asking->request.talk);
    if (asking) free_asking(asking);
    if (no_room) {
        tfy__call_no_room(call, no_room);
        return;
    }
    tfy__call_tool_error(call, code, "%s", error);
}

static void on_answer(void *arg, const TfyLlmReply *reply, int64_t code, const char *error);

/* A piece of an answer that streams, or its loss. */
static void on_said(void *arg, const char *text, size_t len)
{
    TfyLlmSays *says = &((Asking *)arg)->says;
    if (text)
        tfy__llm_says_add(says, text, len);
    else
        tfy__llm_says_end(says, true);
}

/* The endpoint is busy or broken: the client asks again by itself. */
static void on_again(void *arg, int64_t status, int64_t wait_ms, uint32_t tries)
{
    Asking *asking = arg;
    TfyCall *call = asking->call;
    char why[32] = "no connection";
    if (status) snprintf(why, sizeof why, "HTTP %lld", (long long)status);
    asking->tries++;
    tfy__count_repeat(call->loop);
    tfy__activity(call->task, "WaitingForLLM", "%s: %s, asked again in %.1f s (%u of %u requests sent)",
                  call->tool->name, why, (double)wait_ms / 1000, tries, asking->llm->limits.tries);
}

/* … for long, or when the request, which may have been worked on, is put down once more: the step waits, and its run may
 * leave memory. */
static void on_wait(void *arg, int64_t status, int64_t wait_ms, uint32_t tries)
{
    Asking *asking = arg;
    TfyCall *call = asking->call;
    on_again(arg, status, wait_ms, tries);
    const uint32_t sent = asking->tries;
    free_asking(asking);
    tfy__budget_leave_off(call, !status);
    tfy__call_wait(call, wait_ms, sent, !status);
}

/* ---- the sources ---- */

/* The entry, or the endpoint of the environment (NULL). */
static TfyLlmTarget target_of(const TfyLlmEntry *entry)
{
    if (entry) return (TfyLlmTarget){.form = entry->form, .url = entry->url, .named = entry->name, .from = entry->name};
    return (TfyLlmTarget){.form = &tfy__llm_chat,
                          .url = getenv("TFY_LLM_URL"),
                          .named = "TFY_LLM_URL",
                          .from = "",
                          .from_environment = true};
}

/* Who answers to the name of a model: an entry of the file, or the endpoint of the environment, whose name is "default".
 * Without a file the environment's answers to every name. False: error says why nobody does. */
static bool find_target(const Llm *llm, const char *name, TfyLlmTarget *target, const TfyLlmEntry **entry, char *error)
{
    const char *url = getenv("TFY_LLM_URL");
    const bool is_default = strcmp(name, "default") == 0, has_url = url && url[0];
    *entry = is_default && has_url ? NULL : tfy__llm_models_find(llm->models, name);
    *target = target_of(*entry);
    if (*entry && !(*entry)->form) {
        snprintf(error, TFY_ERROR_TEXT, "'%s' is a model for embeddings; a prompt needs one that answers",
                 (*entry)->name);
        return false;
    }
    if (*entry) return true;
    if (llm->models && !(is_default && has_url)) {
        snprintf(error, TFY_ERROR_TEXT, "there is no model '%.60s' in the file of models; there are: %.300s", name,
                 tfy__llm_models_names(llm->models));
        return false;
    }
    if (has_url) return true;
    strcpy(error, "no model: set TFY_LLM_URL to an OpenAI-compatible endpoint such as http://127.0.0.1:8080/v1, name "
                  "one in .tfy/models.json, or answer from a recorded session with --llm cassette:FILE");
    return false;
}

/* Sends the request to the target, with its key. */
static bool send_to(Asking *asking, TfyLlmTarget *target, const char *model, int64_t *code, char *error)
{
    Llm *llm = asking->llm;
    static const TfyLlmHeard heard = {.again = on_again, .wait = on_wait, .done = on_answer, .said = on_said};
    TfyBuffer body = {0};
    if (!llm->http) llm->http = tfy__llm_http_new(llm->loop, &llm->limits);
    target->model = model;
    target->streams = (!asking->entry || asking->entry->streams) && tfy__llm_http_streams(llm->http, target);
    *code = ENOMEM;
    strcpy(error, "memory ran out before the model was asked");
    const TfyLlmAsked asked = {.model = model,
                               .name = asking->call->tool->name,
                               .effort = asking->entry ? asking->entry->effort : NULL,
                               .streams = target->streams};
    if (llm->http && tfy__llm_request_body(&asking->request, target->form, target->from, &asked, &body))
        asking->ask = tfy__llm_http_ask(llm->http, target, &body, &heard, asking, code, error);
    tfy__buffer_free(&body);
    return asking->ask;
}

/* An endpoint that asks for a long wait every time is asked as often as one that asks for short ones. */
static uint32_t tries_before(uint32_t tries, const TfyLlmLimits *limits)
{
    return tries < limits->tries ? tries : limits->tries - 1;
}

/* Under a budget each request that may break is an attempt of its own, so it depends on their number who is asked: each
 * entry as often as the limit says, then the one that takes its place. *tries: those of the entry, afterwards. */
static void pass_over(Asking *asking, uint32_t *tries)
{
    const uint32_t most = asking->llm->limits.tries;
    if (!tfy__budget_holds(asking->call)) return;
    for (; asking->entry && asking->entry->then && *tries >= most; *tries -= most) asking->entry = asking->entry->then;
}

/* Asks the entry, or the endpoint of the environment. The key is looked for anew each time. False: nobody was asked, and
 * error says why; unless the call was answered, or waits for the key. */
static bool ask_target(Asking *asking, TfyLlmTarget *target, int64_t *code, char *error, bool *answered)
{
    TfyCall *call = asking->call;
    const TfyLlmEntry *entry = asking->entry;
    const char *named = getenv("TFY_LLM_MODEL"), *model = asking->request.model;
    TfySecrets secrets = {.count = 0};
    if (!entry && strcmp(model, "default") == 0 && named && named[0]) model = named;
    if (entry && entry->key) target->key = tfy__secrets_named(&secrets, call, entry->key);
    target->has_other = entry && entry->then;
    target->offers = asking->request.tools;
    target->bound = tfy__budget_holds(call);
    target->tries = target->has_other && !target->bound ? 0 : tries_before(asking->before, &asking->llm->limits);
    *answered = entry && entry->key && !target->key;
    bool sent = false;
    if (*answered) {
        free_asking(asking);
        tfy__secrets_fail(call, &secrets);
    } else {
        sent = send_to(asking, target, entry ? entry->model : model, code, error);
    }
    if (sent) tfy__secrets_used(call, &secrets);
    tfy__secrets_free(&secrets);
    return sent;
}

/* A conversation that goes on from an earlier call has not been counted by an endpoint yet, and some cut off what is too
 * long without a word. So its first question is measured here, and refused as an endpoint would. */
static bool is_over_window(const Asking *asking)
{
    TfyCall *call = asking->call;
    const TfyObj *chat = tfy__is_turn(call->tool) ? call->args[0].o : NULL;
    const int64_t window = asking->entry ? asking->entry->window : 0;
    return chat && window && tfy_thread_size(chat, 0, -1) > window && tfy__turn_continues(call->task, chat);
}

static void refuse_long(Asking *asking)
{
    char none[] = "", why[160];
    snprintf(why, sizeof why, "the conversation is longer than the window of the model '%.60s'", asking->entry->name);
    take_reply(asking, &(TfyLlmReply){.answer = none, .model = none, .finish_reason = none, .too_long = why});
}

static void ask_endpoint(Asking *asking)
{
    TfyCall *call = asking->call;
    char error[TFY_ERROR_TEXT];
    int64_t code = ENOTCONN;
    TfyLlmTarget target;
    bool answered = false;
    if (find_target(asking->llm, asking->request.model, &target, &asking->entry, error)) {
        asking->first = asking->entry;
        pass_over(asking, &asking->before);
        if (is_over_window(asking)) {
            refuse_long(asking);
            return;
        }
        if (asking->entry != asking->first) target = target_of(asking->entry);
        if (ask_target(asking, &target, &code, error, &answered) || answered) return;
    }
    free_asking(asking);
    fail(call, NULL, code, error);
}

/* The endpoint has no time, or cannot be reached: nothing is wrong with the request. */
static bool is_away(int64_t code)
{
    return code == 408 || code == 429 || (code >= 500 && code < 600) || code == ECONNREFUSED || code == ECONNRESET ||
           code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH || code == EPIPE;
}

/* The endpoint may have worked on the request. */
static bool is_lost(int64_t code)
{
    return code == ECONNRESET || code == ETIMEDOUT || code == EPIPE;
}

/* Under a budget, what was put down covers the request that broke, and no other one. So the attempt starts again, and
 * somebody else is asked. False: nobody else is there, or nothing is bounded. */
static bool ask_another_anew(Asking *asking, int64_t code)
{
    TfyCall *call = asking->call;
    uint32_t asked = asking->llm->limits.tries, sent = asking->tries;
    if (!tfy__budget_holds(call) || !is_lost(code) || !asking->entry || !asking->entry->then) return false;
    for (const TfyLlmEntry *entry = asking->first; entry != asking->entry; entry = entry->then)
        asked += asking->llm->limits.tries;
    free_asking(asking);
    tfy__budget_leave_off(call, true);
    tfy__call_wait(call, 0, sent > asked ? sent : asked, true);
    return true;
}

/* The same once more, in one piece; otherwise as ask_another. */
static bool ask_unstreamed(Asking *asking, int64_t *code, char *error)
{
    TfyLlmTarget target = target_of(asking->entry);
    bool answered;
    return ask_target(asking, &target, code, error, &answered) || answered;
}

/* Somebody else is asked in its place, or the one after it if that cannot be asked at all. False: nobody is left; code
 * and error say what became of the last one. */
static bool ask_another(Asking *asking, int64_t *code, char *error)
{
    bool answered = false, away = is_away(*code);
    while (away && asking->entry && asking->entry->then) {
        const TfyLlmEntry *then = asking->entry->then;
        TfyLlmTarget target = target_of(then);
        tfy__activity(asking->call->task, "WaitingForLLM", "%s: %s cannot answer now, %s is asked",
                      asking->call->tool->name, asking->entry->name, then->name);
        asking->entry = then;
        if (ask_target(asking, &target, code, error, &answered) || answered) return true;
        away = *code != ENOMEM;
    }
    return false;
}

static void on_answer(void *arg, const TfyLlmReply *reply, int64_t code, const char *error)
{
    Asking *asking = arg;
    TfyCall *call = asking->call;
    char why[TFY_ERROR_TEXT];
    const bool shown = asking->shown; /* nobody else is asked */
    asking->ask = NULL;
    asking->shown = NULL;
    if (shown && code == TFY_LLM_NOT_NOW) {
        free_asking(asking);
        tfy__call_no_room(call, 0);
        return;
    }
    if (reply && (!reply->too_long || tfy__is_turn(call->tool))) {
        take_reply(asking, reply);
        return;
    }
    snprintf(why, sizeof why, "%s", error);
    if (!shown && code == TFY_LLM_NO_STREAM && ask_unstreamed(asking, &code, why)) return;
    asking->tries++;
    if (!shown && (ask_another_anew(asking, code) || ask_another(asking, &code, why))) return;
    tfy__buffer_reset(&call->extra);
    if (asking->tries > 1) tfy__put_int(&call->extra, TFY_P_TRIES, asking->tries);
    fail(call, asking, code, why);
}

static void ask_cassette(Asking *asking)
{
    Llm *llm = asking->llm;
    TfyCall *call = asking->call;
    const uint32_t *answered = tfy__llm_answered(&llm->memory, call->task, asking->request.digest);
    uint32_t occurrence = answered ? *answered + 1 : 1;
    const TfyLlmReply *reply = tfy__cassette_find(llm->cassette, asking->request.digest, occurrence);
    char begin[80];
    if (reply) {
        take_reply(asking, reply);
        return;
    }
    const uint64_t digest = asking->request.digest;
    tfy__talk_begins(asking->request.talk, begin, sizeof begin);
    free_asking(asking);
    tfy__call_tool_error(
        call, ENOENT,
        "the recorded session %s has no answer for this request (digest %016llx, occurrence %u, begins \"%s\"); "
        "record it with TFY_LLM_URL set and --llm record:%s",
        llm->path, (unsigned long long)digest, occurrence, begin, llm->path);
}

static void ask_client(Asking *asking)
{
    TfyCall *call = asking->call;
    const TfyLlmClient *client = asking->llm->client;
    const TfyLlmAsked asked = {.model = asking->request.model, .name = call->tool->name};
    TfyBuffer body = {0};
    if (tfy__llm_request_body(&asking->request, client->form, "", &asked, &body))
        asking->shown = client->ask(client->state, call, &body, on_answer, asking);
    tfy__buffer_free(&body);
    if (asking->shown) return;
    free_asking(asking);
    tfy__call_no_room(call, 0);
}

static Asking *new_asking(Llm *llm, TfyCall *call)
{
    Asking *asking = tfy__sys_calloc(1, sizeof *asking);
    if (!asking) return NULL;
    asking->call = call;
    asking->llm = llm;
    asking->says.task = call->task;
    asking->tries = asking->before = call->tries;
    asking->start_ns = tfy__now_ns(call->loop);
    call->state = asking;
    return asking;
}

/* files: that are sent along, which it takes; NULL: none. */
static void ask(void *arg, TfyLlmFiles *files)
{
    Asking *asking = arg;
    TfyCall *call = asking->call;
    Llm *llm = asking->llm;
    asking->reading = NULL;
    if (!tfy__llm_request(&llm->kept, call, tfy__llm_recall(&llm->memory, call), files, &asking->request)) {
        free_asking(asking);
        tfy__call_panicked(call);
        return;
    }
    if (tfy__budget_holds(call)) asking->request.bound = TFY_LLM_MOST; /* as was put down for the answer */
    if (llm->mode == MODE_CASSETTE)
        ask_cassette(asking);
    else if (llm->mode == MODE_CLIENT)
        ask_client(asking);
    else
        ask_endpoint(asking);
}

static void drop_asking(void *arg)
{
    free_asking(arg);
}

/* Reads the files first. */
static void ask_with_files(Asking *asking)
{
    TfyCall *call = asking->call;
    asking->llm->sends = call->tool->sends;
    TfyLlmReading *reading = call->tool->sends->read(call, ask, drop_asking, asking);
    if (reading) asking->reading = reading;
}

static void start(TfyCall *call)
{
    char error[TFY_ERROR_TEXT];
    int status = tfy__llm_prepare(call->loop, error);
    if (tfy__budget_refuses(call)) return;
    call->record_type = TFY_R_LLM_PLAN;
    /* and it stays so: a question, however it ends, leaves nothing behind that could be undone */
    call->outcome = TFY_NOT_DONE;
    if (status != TFY_OK) {
        fail(call, NULL, status == TFY_E_NOMEM ? ENOMEM : EINVAL, error);
        return;
    }
    Llm *llm = find_llm(call->loop);
    Asking *asking = new_asking(llm, call);
    if (call->tool->compacts)
        tfy__activity(call->task, "WaitingForLLM", "%s: a summary takes the place of older messages", call->tool->name);
    if (!asking)
        tfy__call_starved(call);
    else if (call->tool->files)
        ask_with_files(asking);
    else
        ask(asking, NULL);
}

static bool is_played(Llm *llm)
{
    char error[TFY_ERROR_TEXT];
    return tfy__llm_prepare(llm->loop, error) == TFY_OK && llm->mode == MODE_CASSETTE;
}

/* What the request may cost, whoever of those that may be asked answers it. -1: one of them has no price. */
static int64_t most_of(const TfyLlmEntry *entry, int64_t in, int64_t out)
{
    int64_t most = tfy__llm_cost(entry, in, 0, out);
    for (const TfyLlmEntry *then = entry ? entry->then : NULL; then && most >= 0; then = then->then) {
        const int64_t cost = tfy__llm_cost(then, in, 0, out);
        if (cost < 0 || cost > most) most = cost;
    }
    return most;
}

/* Three bytes of the request count as a token. A model that nobody answers for, and a row that cannot be evaluated, are
 * reported when it is asked. */
static bool reserve(TfyCall *call, TfyAmount *most, TfyBuffer *members)
{
    Llm *llm = find_llm(call->loop);
    TfyLlmRequest request = {.talk = NULL};
    TfyLlmTarget target;
    const TfyLlmEntry *entry = NULL;
    char error[TFY_ERROR_TEXT];
    int64_t files = 0;
    const bool sized = !call->tool->files || call->tool->sends->reserve(call, &files);
    if (!llm || !sized || !tfy__llm_request(&llm->kept, call, tfy__llm_recall(&llm->memory, call), NULL, &request)) {
        if (!llm) tfy__loop_fail(call->loop, TFY_E_NOMEM, "memory ran out before a model was asked");
        tfy_drop(call->task, tfy_take_error(call->task));
        *most = (TfyAmount){.calls = 1};
        return llm;
    }
    const int64_t in = (int64_t)(tfy__llm_request_size(&request) / 3) + files,
                  out = request.most ? request.most : TFY_LLM_MOST;
    const bool played = is_played(llm);
    if (!played) find_target(llm, request.model, &target, &entry, error);
    *most = (TfyAmount){.tokens = in + out, .cost = played ? 0 : most_of(entry, in, out), .calls = 1};
    tfy__put_hex(members, TFY_P_REQUEST, request.digest);
    if (entry) tfy__put_text(members, TFY_P_ENTRY, entry->name);
    tfy__llm_request_clear(&llm->kept, &request);
    return true;
}

static const TfyAmount *bound_of_day(TfyLoop *loop)
{
    Llm *llm = find_llm(loop);
    return llm && !is_played(llm) ? tfy__llm_models_day(llm->models) : NULL;
}

static void abort_call(TfyCall *call)
{
    Asking *asking = call->state;
    if (!asking) return;
    if (asking->reading) asking->llm->sends->let_go(asking->reading);
    if (asking->ask) tfy__llm_http_cancel(asking->ask);
    if (asking->shown) asking->llm->client->cancel(asking->shown);
    free_asking(asking);
}

static void close_llm(TfyLoop *loop)
{
    void **place = tfy__effect_slot(loop, TFY_M_LLM);
    Llm *llm = *place;
    tfy__sent_close(loop);
    tfy__budget_close(loop);
    if (!llm) return;
    *place = NULL;
    if (llm->sends) llm->sends->close(loop);
    tfy__llm_http_free(llm->http);
    tfy__llm_models_free(llm->models);
    tfy__cassette_free(llm->cassette);
    tfy__llm_kept_close(&llm->kept);
    tfy__llm_memory_close(&llm->memory);
    free(llm);
}

/* ---- replay ---- */

static void count_again(Llm *llm, TfyTask *task, const TfyPayload *payload)
{
    const int64_t occurrence = tfy__payload_int(payload, TFY_P_OCCURRENCE);
    const bool asked = tfy__payload_text(payload, TFY_P_REQUEST);
    uint32_t *answered = asked ? tfy__llm_answered(&llm->memory, task, tfy__payload_hex(payload, TFY_P_REQUEST)) : NULL;
    if (answered && occurrence > *answered) *answered = (uint32_t)occurrence;
}

static int64_t count_in(const TfyPayload *payload, TfyMember member)
{
    return tfy__payload_get(payload, member) ? tfy__payload_int(payload, member) : -1;
}

/* Also of a reply that was not an answer, which replay does not see. */
static void recorded(TfyCall *call, const TfyPayload *payload)
{
    tfy__sent_recorded(call, payload);
    Llm *llm = tfy__payload_get(payload, TFY_P_REQUEST) ? find_llm(call->loop) : NULL;
    if (llm) count_again(llm, call->task, payload);
    settle(call, count_in(payload, TFY_P_PROMPT_TOKENS), count_in(payload, TFY_P_COMPLETION_TOKENS),
           count_in(payload, TFY_P_COST));
}

static bool fail_again(TfyTask *task, const TfySite *site, char *error)
{
    const char *path, *message = split_path(error, &path);
    TfyObj *words = tfy_string_of(task, message, strlen(message)), *where = tfy_string_of(task, path, strlen(path));
    TfyValue fields[] = {{.o = words}, {.o = where}};
    return words && where && tfy_fail(task, &tfy_type_bad_value, site->point->line, fields);
}

static bool decode_turn(TfyTask *task, const TfyTool *tool, const TfyPayload *payload, const json_t *text,
                        TfyValue *out)
{
    const char *bytes = json_string_value(text),
               *reason = json_string_value(tfy__payload_get(payload, TFY_P_FINISH_REASON));
    const TfyAnswer answer = {.text = bytes ? bytes : "",
                              .len = json_string_length(text),
                              .calls = tfy__payload_get(payload, TFY_P_CALLS),
                              .opaque = tfy__payload_get(payload, TFY_P_OPAQUE),
                              .cut = reason && tfy__llm_is_long(reason),
                              .too_long = tfy__payload_text(payload, TFY_P_TOO_LONG),
                              .tokens = count_in(payload, TFY_P_PROMPT_TOKENS),
                              .window = tfy__payload_int(payload, TFY_P_WINDOW)};
    return tfy__turn_decode(task, tool, &answer, out);
}

static bool replay(TfyTask *task, const TfySite *site, const TfyPayload *payload, TfyValue *out)
{
    char error[TFY_ERROR_TEXT] = "the record has no answer";
    Llm *llm = find_llm(task->loop);
    const json_t *answer = tfy__payload_get(payload, TFY_P_ANSWER);
    bool ok = false;
    if (!llm || !payload->json) {
        tfy__starved(task);
    } else {
        const char *bytes = json_is_string(answer) ? json_string_value(answer) : "";
        count_again(llm, task, payload);
        if (tfy__is_turn(site->tool))
            return (answer || tfy__payload_get(payload, TFY_P_TOO_LONG)) &&
                   decode_turn(task, site->tool, payload, answer, out);
        if (tfy__payload_int(payload, TFY_P_ATTEMPT) <= 1) tfy__llm_forget(&llm->memory, task);
        ok = answer && tfy__llm_decode(task, site->result, bytes, json_string_length(answer), out, error);
        if (ok) tfy__llm_forget(&llm->memory, task);
        if (!ok && !task->error && answer)
            tfy__llm_remember(&llm->memory, task, site, bytes, json_string_length(answer), error);
        if (!ok && !task->error) fail_again(task, site, error);
    }
    return ok;
}

/* ---- snapshots ---- */

static void save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out)
{
    const Llm *llm = *tfy__effect_slot(loop, TFY_M_LLM);
    tfy__put_begin(out);
    tfy__llm_memory_save(llm ? &llm->memory : NULL, run_uuid, out);
    tfy__sent_save(loop, run_uuid, out);
    tfy__budget_save(loop, run_uuid, out);
    tfy__put_end(out);
}

static void restore(TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    Llm *llm = tfy__llm_memory_is_saved(json) ? find_llm(loop) : NULL;
    if (llm) tfy__llm_memory_restore(&llm->memory, loop, run_uuid, json);
    tfy__sent_restore(loop, run_uuid, json);
    tfy__budget_restore(loop, run_uuid, json);
}

static void forget(TfyLoop *loop, const char *run_uuid)
{
    Llm *llm = *tfy__effect_slot(loop, TFY_M_LLM);
    if (llm) tfy__llm_memory_leave(&llm->memory, run_uuid);
    tfy__sent_leave(loop, run_uuid);
}

/* A session or a file of models that the command line names is read before anything runs; whatever the environment says, when it is used. */
static int prepare_chosen(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const bool chosen = tfy__llm_option(loop) || tfy__models_option(loop);
    return chosen ? tfy__llm_prepare(loop, error_text) : TFY_OK;
}

const TfyPerformer tfy__perform_llm = {.name = "llm",
                                       .start = start,
                                       .request = tfy__budget_request,
                                       .requested = tfy__budget_requested,
                                       .reserve = reserve,
                                       .day = bound_of_day,
                                       .abort = abort_call,
                                       .close = close_llm,
                                       .prepare = prepare_chosen,
                                       .replay = replay,
                                       .recorded = recorded,
                                       .tell = tfy__llm_tell,
                                       .save = save,
                                       .restore = restore,
                                       .forget = forget};

/* llm_http.c: POST to an OpenAI-compatible endpoint, on the loop's thread, without blocking it.
 *
 * Only 429 and 5xx are tried again within one call, because then the endpoint itself says that nothing was done. A
 * broken connection may have cost money; whether to pay again is the program's decision (`retry`). Redirects are
 * not followed: the key would go with them. */
#include "effects/llm.h"

#include "effects/http_client.h"
#include "effects/known.h"
#include "value/json.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_MAX 4096 /* bytes */
/* bytes; shorter ones are placeholders for local servers and would be found in any text */
#define KEY_MIN 8

struct TfyLlmHttp {
    TfyLoop *loop;              /* its timers measure the pauses between tries */
    const TfyLlmLimits *limits; /* owned by the caller; read anew for each request */
    TfyHttp *client;            /* owned */
};

struct TfyLlmAsk {
    TfyLlmHttp *http;
    TfyTransfer transfer; /* active: curl works on it; otherwise it waits for its timer */
    struct curl_slist *headers;
    char *url; /* as messages may show it: without user, password and query */
    char *body;
    TfyBuffer answer;      /* the response body */
    bool too_big;          /* the response exceeded the limit */
    bool offers;           /* the request offers tools: an answer without a text is one, too */
    uint32_t tries;        /* requests sent */
    uint64_t timer;        /* before the next try; 0: none */
    char key[KEY_MAX + 1]; /* wiped with the ask; kept so long to search the response for it */
    TfyLlmAgain again;
    TfyLlmDone done;
    void *arg;
};

/* ---- the key ---- */

static bool read_key_file(const char *path, char *key, char *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, key, KEY_MAX + 1);
    if (n < 0)
        snprintf(error, TFY_ERROR_TEXT, "cannot read the file that TFY_LLM_KEY_FILE names, %s: %s", path,
                 strerror(errno));
    if (fd >= 0) close(fd);
    if (n > KEY_MAX)
        snprintf(error, TFY_ERROR_TEXT, "the file that TFY_LLM_KEY_FILE names, %s, is too long for a key", path);
    if (n < 0 || n > KEY_MAX) return false;
    key[n] = '\0';
    while (n > 0 && isspace((unsigned char)key[n - 1])) key[--n] = '\0';
    return true;
}

/* Reads the present key, so that it can be changed while a program runs. "": there is none. */
static bool read_key(char *key, char *error)
{
    const char *path = getenv("TFY_LLM_KEY_FILE"), *plain = tfy__known_variable("TFY_LLM_KEY");
    key[0] = '\0';
    if (path && path[0]) {
        if (!read_key_file(path, key, error)) return false;
    } else if (plain && strlen(plain) <= KEY_MAX) {
        strcpy(key, plain);
    }
    for (const char *c = key; *c; c++) {
        if ((unsigned char)*c > ' ' && *c != 0x7f) continue;
        snprintf(error, TFY_ERROR_TEXT,
                 "the model's key holds a space or a control character; put only the key into TFY_LLM_KEY_FILE or "
                 "TFY_LLM_KEY");
        return false;
    }
    if (strlen(key) < KEY_MIN || tfy__known_add("key", key, strlen(key))) return true;
    snprintf(error, TFY_ERROR_TEXT, "memory ran out while the model's key was read");
    return false;
}

/* A copy of the text with every secret masked, the key first: endpoints often quote it in their refusals. */
static char *without_key(const char *text, size_t len, size_t *out_len)
{
    TfyBuffer masked = {0};
    if (!tfy__known_mask(text, len, false, &masked)) tfy__buffer_add(&masked, text, len);
    if (masked.failed) tfy__buffer_free(&masked);
    if (out_len) *out_len = masked.len;
    return masked.data;
}

/* ---- addresses ---- */

static bool ends_with(const char *text, const char *tail)
{
    size_t len = strlen(text), tail_len = strlen(tail);
    return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

/* "" and "/" become /v1/chat/completions, /v1 gets /chat/completions, and a path that ends with that stays. */
static char *complete_path(const char *path)
{
    static const char tail[] = "/chat/completions";
    size_t len = strlen(path);
    char *full = tfy__sys_malloc(len + sizeof "/v1" + sizeof tail);
    if (!full) return NULL;
    memcpy(full, path, len + 1);
    while (len > 0 && full[len - 1] == '/') full[--len] = '\0';
    if (ends_with(full, tail)) return full;
    if (len == 0) strcat(full, "/v1");
    return strcat(full, tail);
}

char *tfy__llm_endpoint(const char *url)
{
    CURLU *parts = tfy__http_parse_url(url);
    if (!parts) return NULL;
    char *path = NULL, *full = NULL, *endpoint = NULL;
    if (curl_url_get(parts, CURLUPART_PATH, &path, 0) == CURLUE_OK) full = complete_path(path);
    if (full && curl_url_set(parts, CURLUPART_PATH, full, 0) == CURLUE_OK) endpoint = tfy__http_take_url(parts);
    free(full);
    curl_free(path);
    curl_url_cleanup(parts);
    return endpoint;
}

/* ---- the end of a request ---- */

static void free_ask(TfyLlmAsk *ask)
{
    tfy__http_stop(ask->http->client, &ask->transfer);
    if (ask->timer) tfy__timer_del(ask->http->loop, ask->timer);
    if (ask->transfer.easy) curl_easy_cleanup(ask->transfer.easy);
    for (struct curl_slist *header = ask->headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(ask->headers);
    tfy__buffer_free(&ask->answer);
    free(ask->url);
    free(ask->body);
    explicit_bzero(ask->key, sizeof ask->key);
    free(ask);
}

void tfy__llm_http_cancel(TfyLlmAsk *ask)
{
    free_ask(ask);
}

__attribute__((format(printf, 3, 4))) static void fail(TfyLlmAsk *ask, int64_t code, const char *format, ...)
{
    char text[TFY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    TfyLlmDone done = ask->done;
    void *arg = ask->arg;
    free_ask(ask);
    done(arg, NULL, code, text);
}

/* ---- reading the response ---- */

static char *public_text(const TfyLlmAsk *ask, const json_t *text, size_t *len)
{
    const char *bytes = json_string_value(text);
    return without_key(bytes ? bytes : "", bytes ? json_string_length(text) : 0, len);
}

static int64_t token_count(const json_t *usage, const char *name)
{
    const json_t *count = json_object_get(usage, name);
    return json_is_integer(count) && json_integer_value(count) >= 0 ? json_integer_value(count) : -1;
}

/* The texts of a message's content, joined: a string, or a list of parts. NULL: it has none. */
static json_t *content_text(const json_t *message)
{
    const json_t *content = json_object_get(message, "content"), *part;
    TfyBuffer text = {0};
    bool found = false;
    size_t i;
    if (json_is_string(content)) return json_incref((json_t *)content);
    json_array_foreach(content, i, part)
    {
        const json_t *one = json_object_get(part, "text");
        if (!json_is_string(one)) continue;
        found = true;
        tfy__buffer_add(&text, json_string_value(one), json_string_length(one));
    }
    json_t *joined = found && !text.failed ? json_stringn(text.data ? text.data : "", text.len) : NULL;
    tfy__buffer_free(&text);
    return joined;
}

/* Why the model does not answer: a member of its own, or a part of the content. NULL: it does not say so. */
static const json_t *refusal_of(const json_t *message)
{
    const json_t *refusal = json_object_get(message, "refusal"), *part;
    size_t i;
    json_array_foreach(json_object_get(message, "content"), i, part)
    {
        if (!json_is_string(refusal)) refusal = json_object_get(part, "refusal");
    }
    return json_is_string(refusal) && json_string_length(refusal) ? refusal : NULL;
}

enum { CALL_DEPTH = 2 }; /* levels of a list of calls around the arguments of one */

/* Arguments that are no JSON, or nest deeper than a record may, stay the text that they are: they do not fit. */
static json_t *args_of(const json_t *text)
{
    if (!text || (json_is_string(text) && !json_string_length(text))) return json_object();
    json_t *args = json_is_string(text) ? json_loadb(json_string_value(text), json_string_length(text),
                                                     JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
                                        : json_incref((json_t *)text);
    if (args && tfy__json_is_shallow(args, CALL_DEPTH)) return args;
    json_decref(args);
    return json_incref((json_t *)(json_is_string(text) ? text : json_null()));
}

static json_t *call_of(const json_t *given)
{
    const json_t *function = json_object_get(given, "function");
    json_t *args = args_of(json_object_get(function, "arguments"));
    json_t *call = json_pack("{s:s*, s:s*, s:O}", "id", json_string_value(json_object_get(given, "id")), "tool",
                             json_string_value(json_object_get(function, "name")), "args", args);
    json_decref(args);
    return call;
}

/* The calls of tools; *out is NULL when there is none. False: no memory. */
static bool read_calls(const TfyLlmAsk *ask, const json_t *message, char **out)
{
    const json_t *given = json_object_get(message, "tool_calls"), *one;
    json_t *calls = json_array_size(given) ? json_array() : NULL;
    size_t i;
    *out = NULL;
    if (!json_array_size(given)) return true;
    json_array_foreach(given, i, one) json_array_append_new(calls, call_of(one));
    char *text = json_dumps(calls, JSON_COMPACT);
    if (text) *out = without_key(text, strlen(text), NULL);
    free(text);
    json_decref(calls);
    return *out;
}

static bool read_reply(const TfyLlmAsk *ask, const json_t *response, const json_t *content, TfyLlmReply *reply)
{
    const json_t *choice = json_array_get(json_object_get(response, "choices"), 0),
                 *usage = json_object_get(response, "usage"), *words = refusal_of(json_object_get(choice, "message"));
    if (words && !(reply->refusal = public_text(ask, words, NULL))) return false;
    if (!read_calls(ask, json_object_get(choice, "message"), &reply->calls)) return false;
    reply->answer = public_text(ask, content, &reply->answer_len);
    reply->model = public_text(ask, json_object_get(response, "model"), NULL);
    reply->finish_reason = public_text(ask, json_object_get(choice, "finish_reason"), NULL);
    reply->prompt_tokens = token_count(usage, "prompt_tokens");
    reply->completion_tokens = token_count(usage, "completion_tokens");
    return reply->answer && reply->model && reply->finish_reason;
}

static void succeed(TfyLlmAsk *ask, const json_t *response, const json_t *content)
{
    TfyLlmReply reply = {0};
    if (!read_reply(ask, response, content, &reply)) {
        tfy__llm_reply_clear(&reply);
        fail(ask, ENOMEM, "memory ran out while the model's answer was read");
        return;
    }
    TfyLlmDone done = ask->done;
    void *arg = ask->arg;
    free_ask(ask);
    done(arg, &reply, 0, NULL);
    tfy__llm_reply_clear(&reply);
}

static void take_response(TfyLlmAsk *ask)
{
    json_error_t where;
    json_t *response = json_loadb(ask->answer.len ? ask->answer.data : "", ask->answer.len, JSON_ALLOW_NUL, &where);
    const json_t *choice = json_array_get(json_object_get(response, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");
    json_t *content = content_text(message);
    char *reason = public_text(ask, json_object_get(choice, "finish_reason"), NULL);
    const bool judged = reason && tfy__llm_is_cut(reason); /* without a text, too */
    if (!response)
        fail(ask, EBADMSG, "the model's endpoint %s answered with something that is not JSON (line %d, column %d)",
             ask->url, where.line, where.column);
    else if (content || judged || refusal_of(message) || (ask->offers && json_is_object(message)))
        succeed(ask, response, content);
    else if (reason && reason[0])
        fail(ask, EBADMSG, "the model returned no text (finish_reason %.40s) at %s", reason, ask->url);
    else
        fail(ask, EBADMSG, "the answer of the model's endpoint %s has no choices[0].message.content", ask->url);
    free(reason);
    json_decref(content);
    json_decref(response);
}

/* The endpoint's reason for a refusal: error.message, or error, or message, depending on the server. */
static char *words_of_failure(const TfyLlmAsk *ask)
{
    json_t *response = json_loadb(ask->answer.len ? ask->answer.data : "", ask->answer.len, JSON_ALLOW_NUL, NULL);
    const json_t *error = json_object_get(response, "error"), *text = json_object_get(error, "message");
    if (!text) text = json_is_string(error) ? error : json_object_get(response, "message");
    char *words = public_text(ask, text, NULL);
    json_decref(response);
    return words;
}

static void fail_status(TfyLlmAsk *ask, long status)
{
    char *words = words_of_failure(ask);
    bool has = words && words[0];
    if (status >= 300 && status < 400)
        fail(ask, status,
             "the model's endpoint %s answered with a redirect (HTTP %ld), which is not followed; set TFY_LLM_URL to "
             "the final address",
             ask->url, status);
    else
        fail(ask, status, "the model's endpoint %s answered HTTP %ld%s%s%.300s", ask->url, status,
             ask->tries > 1 ? " repeatedly" : "", has ? ": " : "", has ? words : "");
    free(words);
}

static void fail_transport(TfyLlmAsk *ask, CURLcode result)
{
    long os_error = 0;
    const int no_room = tfy__http_no_room(&ask->transfer);
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_OS_ERRNO, &os_error);
    if (no_room)
        fail(ask, no_room, "there is no room to ask the model's endpoint %s: %s", ask->url, strerror(no_room));
    else if (ask->too_big)
        fail(ask, EFBIG, "the answer of the model's endpoint %s is longer than %zu bytes", ask->url,
             ask->http->limits->body_max);
    else if (ask->answer.failed)
        fail(ask, ENOMEM, "memory ran out while the model's answer was read");
    else if (result == CURLE_OPERATION_TIMEDOUT)
        fail(ask, ETIMEDOUT, "the model's endpoint %s did not answer in time", ask->url);
    else if (result == CURLE_PARTIAL_FILE || result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR)
        fail(ask, ECONNRESET, "the model's endpoint %s closed the connection in the middle of its answer", ask->url);
    else
        fail(ask, os_error ? os_error : EPROTO, "cannot reach the model's endpoint %s: %s%s%s", ask->url,
             curl_easy_strerror(result), os_error ? ", " : "", os_error ? strerror((int)os_error) : "");
}

/* ---- sending ---- */

static bool send_ask(TfyLlmAsk *ask)
{
    tfy__buffer_reset(&ask->answer);
    ask->tries++;
    return tfy__http_start(ask->http->client, &ask->transfer);
}

static void try_again(void *arg)
{
    TfyLlmAsk *ask = arg;
    ask->timer = 0;
    if (!send_ask(ask)) fail(ask, ENOMEM, "memory ran out before the model was asked again");
}

/* How long to wait after 429 or 5xx: the endpoint's delay, else a doubling wait; never longer than the limit. */
static int64_t wait_of(const TfyLlmAsk *ask)
{
    const TfyLlmLimits *limits = ask->http->limits;
    curl_off_t seconds = 0;
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_RETRY_AFTER, &seconds);
    int64_t ms = seconds <= 0     ? limits->wait_ms << (ask->tries - 1)
                 : seconds > 3600 ? 3600000
                                  : (int64_t)seconds * 1000;
    return ms < limits->wait_max_ms ? ms : limits->wait_max_ms;
}

static void finish(void *arg, CURLcode result)
{
    TfyLlmAsk *ask = arg;
    TfyLlmHttp *http = ask->http;
    long status = 0;
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    bool again = result == CURLE_OK && (status == 429 || status >= 500) && ask->tries < http->limits->tries;
    if (again) {
        const int64_t wait_ms = wait_of(ask);
        ask->timer = tfy__timer_add(http->loop, tfy__now_ns(http->loop) + wait_ms * 1000000, try_again, ask);
        ask->again(ask->arg, status, wait_ms, ask->tries);
    } else if (result != CURLE_OK)
        fail_transport(ask, result);
    else if (status != 200)
        fail_status(ask, status);
    else
        take_response(ask);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    TfyLlmAsk *ask = arg;
    size_t len = size * count;
    ask->too_big = ask->answer.len + len > ask->http->limits->body_max;
    if (ask->too_big) return 0;
    tfy__buffer_add(&ask->answer, bytes, len);
    return ask->answer.failed ? 0 : len;
}

/* ---- public functions ---- */

TfyLlmHttp *tfy__llm_http_new(TfyLoop *loop, const TfyLlmLimits *limits)
{
    TfyLlmHttp *http = tfy__sys_calloc(1, sizeof *http);
    if (!http) return NULL;
    *http = (TfyLlmHttp){.loop = loop, .limits = limits, .client = tfy__http_new(loop)};
    if (http->client) return http;
    free(http);
    return NULL;
}

void tfy__llm_http_free(TfyLlmHttp *http)
{
    if (!http) return;
    tfy__http_free(http->client);
    free(http);
}

/* "Expect:" keeps curl from waiting for a permission that many small servers never give. */
static bool add_headers(TfyLlmAsk *ask)
{
    static const char *const fixed[] = {"Content-Type: application/json", "Accept: application/json", "Expect:"};
    char bearer[KEY_MAX + 32];
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", ask->key);
    size_t from = ask->key[0] ? 0 : 1;
    bool ok = true;
    for (size_t i = from; ok && i <= sizeof fixed / sizeof *fixed; i++) {
        struct curl_slist *longer = curl_slist_append(ask->headers, i == 0 ? bearer : fixed[i - 1]);
        ok = longer != NULL;
        if (ok) ask->headers = longer;
    }
    explicit_bzero(bearer, sizeof bearer);
    return ok;
}

static bool set_options(TfyLlmAsk *ask, const char *endpoint)
{
    CURL *easy = ask->transfer.easy;
    const TfyLlmLimits *limits = ask->http->limits;
    return curl_easy_setopt(easy, CURLOPT_URL, endpoint) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, ask->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(ask->body)) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)limits->connect_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)limits->total_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, ask) == CURLE_OK;
}

/* Fills a new ask. False: error is set. */
static bool prepare(TfyLlmAsk *ask, const char *url, const json_t *body, int64_t *code, char *error)
{
    char *endpoint = tfy__llm_endpoint(url);
    *code = EINVAL;
    if (!endpoint) {
        snprintf(error, TFY_ERROR_TEXT, "TFY_LLM_URL is not an http or https address");
        return false;
    }
    if (!read_key(ask->key, error)) {
        free(endpoint);
        return false;
    }
    *code = ENOMEM;
    snprintf(error, TFY_ERROR_TEXT, "memory ran out before the model was asked");
    ask->url = tfy__http_public_url(endpoint);
    ask->body = json_dumps(body, JSON_COMPACT);
    ask->transfer = (TfyTransfer){.easy = curl_easy_init(), .ended = finish, .arg = ask};
    bool ok =
        ask->url && ask->body && ask->transfer.easy && add_headers(ask) && set_options(ask, endpoint) && send_ask(ask);
    free(endpoint);
    return ok;
}

TfyLlmAsk *tfy__llm_http_ask(TfyLlmHttp *http, const char *url, const json_t *body, TfyLlmAgain again, TfyLlmDone done,
                             void *arg, int64_t *code, char *error)
{
    TfyLlmAsk *ask = tfy__sys_calloc(1, sizeof *ask);
    if (!ask) {
        *code = ENOMEM;
        snprintf(error, TFY_ERROR_TEXT, "memory ran out before the model was asked");
        return NULL;
    }
    *ask =
        (TfyLlmAsk){.http = http, .again = again, .done = done, .arg = arg, .offers = json_object_get(body, "tools")};
    if (prepare(ask, url, body, code, error)) return ask;
    free_ask(ask);
    return NULL;
}

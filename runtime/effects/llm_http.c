/* llm_http.c: POST to the endpoint of a model, on the loop's thread, without blocking it.
 *
 * 408, 429, 5xx and connections that are refused or break are tried again within one call. An endpoint that names a time
 * is asked then, and not before: a wait above the limit is for another one, if there is another, and otherwise for the
 * step, which may wait for days. Redirects are not followed: the key would go with them.
 *
 * An answer may stream. Its type says so, and not what was asked for: many servers answer in one piece whatever they are
 * asked. A stream that ends before the answer is complete, or that holds something else than events of an answer, counts
 * as a broken connection. It may take long, as long as it is never silent for long. */
#include "effects/llm.h"
#include "effects/llm_client.h"

#include "base/grow.h"
#include "effects/http_client.h"
#include "effects/known.h"
#include "effects/llm_address.h"
#include "effects/llm_stream.h"
#include "effects/sse.h"
#include "value/json.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define KEY_MAX 4096 /* bytes */
/* bytes; shorter ones are placeholders for local servers and would be found in any text */
#define KEY_MIN   8
#define LINGER_MS 200 /* a connection may end so long after a complete answer; it is closed then */
/* the longest wait that an endpoint can ask for: 30 days; longer ones are not meant */
#define WAIT_MOST_MS (INT64_C(30) * 86400 * 1000)

struct TfyLlmHttp {
    TfyLoop *loop;              /* its timers measure the pauses between tries */
    const TfyLlmLimits *limits; /* owned by the caller; read anew for each request */
    TfyHttp *client;            /* owned */
    TfyLlmAddresses addresses;
    uint64_t *unstreamed; /* endpoints and models that refused a stream, as hashes of both */
    uint32_t unstreamed_count, unstreamed_cap;
};

struct TfyLlmAsk {
    TfyLlmHttp *http;
    TfyTransfer transfer;   /* active: curl works on it; otherwise it waits for its timer */
    TfyLlmAddress *address; /* NULL: none is used yet */
    const TfyLlmForm *form;
    TfyBuffer body;
    bool sent;             /* the present try has left, or begun to */
    TfyBuffer answer;      /* the response body, unless it streams */
    bool too_big;          /* the response exceeded the limit */
    uint64_t target;       /* a hash of its endpoint and model */
    bool streams;          /* as in its target */
    bool streaming;        /* the response is a stream */
    TfySse events;         /* … these */
    TfyLlmStream stream;   /* … of this answer */
    const char *broke;     /* what is wrong with the stream; NULL: nothing */
    int64_t heard_ns;      /* when the last bytes came */
    uint64_t silence;      /* a timer: the request is under way, and may be silent for so long; 0: none */
    const char *from;      /* as in its target */
    bool has_other, bound; /* … */
    bool offers;           /* the request offers tools: an answer without a text is one, too */
    uint32_t tries;        /* requests sent, also before a wait */
    uint64_t timer;        /* before the next try; 0: none */
    TfyLlmHeard heard;
    void *arg; /* of heard */
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

/* It goes into a header. */
static bool is_key(const char *key)
{
    for (const char *c = key; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f) return false;
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
    if (!is_key(key)) {
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

/* ---- the end of a request ---- */

static void stop_transfer(TfyLlmAsk *ask)
{
    tfy__http_stop(ask->http->client, &ask->transfer);
    if (ask->silence) tfy__timer_del(ask->http->loop, ask->silence);
    ask->silence = 0;
}

static void free_ask(TfyLlmAsk *ask)
{
    stop_transfer(ask);
    if (ask->timer) tfy__timer_del(ask->http->loop, ask->timer);
    tfy__llm_address_easy_free(&ask->http->addresses, ask->address, ask->transfer.easy);
    tfy__llm_address_leave(&ask->http->addresses, ask->address);
    tfy__buffer_free(&ask->answer);
    tfy__sse_free(&ask->events);
    tfy__llm_stream_free(&ask->stream);
    tfy__buffer_free(&ask->body);
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
    TfyLlmDone done = ask->heard.done;
    void *arg = ask->arg;
    free_ask(ask);
    done(arg, NULL, code, text);
}

/* ---- reading the response ---- */

static char *public_text(const json_t *text, size_t *len)
{
    const char *bytes = json_string_value(text);
    return without_key(bytes ? bytes : "", bytes ? json_string_length(text) : 0, len);
}

/* JSON, without secrets; *out is NULL when there is none. False: no memory. */
static bool keep_json(const json_t *json, char **out)
{
    *out = NULL;
    if (!json) return true;
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    if (text) *out = without_key(text, strlen(text), NULL);
    free(text);
    return *out;
}

/* As keep_json. Where no secret was masked, the text need not be parsed again. */
static bool keep_calls(json_t *calls, TfyLlmReply *reply)
{
    TfyBuffer text = {0}, masked = {0};
    if (!calls) return true;
    const bool written = tfy__encode_json(&text, calls);
    const bool secret = written && tfy__known_mask(text.data, text.len, false, &masked);
    if (secret && !masked.failed) reply->call_list = json_loadb(masked.data, masked.len, JSON_ALLOW_NUL, NULL);
    if (written && !secret) reply->call_list = json_incref(calls);
    reply->calls = secret ? masked.data : text.data;
    if (secret) tfy__buffer_free(&text);
    return reply->call_list;
}

enum { OPAQUE_DEPTH = 2 }; /* levels around it in a record */

/* What nests too deeply for a record is left out. */
static bool keep_opaque(const char *from, json_t *items, char **out)
{
    *out = NULL;
    if (!items) return true;
    json_t *opaque = json_pack("{s:s, s:O}", "from", from, "items", items);
    const bool ok = opaque && (!tfy__json_is_shallow(opaque, OPAQUE_DEPTH) || keep_json(opaque, out));
    json_decref(opaque);
    return ok;
}

bool tfy__llm_keep_parts(const TfyLlmParts *parts, const char *from, TfyLlmReply *reply)
{
    if (parts->refusal && !(reply->refusal = public_text(parts->refusal, NULL))) return false;
    if (!keep_calls(parts->calls, reply) || !keep_opaque(from, parts->opaque, &reply->opaque)) return false;
    reply->answer = public_text(parts->text, &reply->answer_len);
    reply->model = public_text(parts->model, NULL);
    reply->finish_reason = without_key(parts->finish_reason, strlen(parts->finish_reason), NULL);
    reply->prompt_tokens = parts->prompt_tokens;
    reply->completion_tokens = parts->completion_tokens;
    reply->cached_tokens = parts->cached_tokens;
    return reply->answer && reply->model && reply->finish_reason;
}

static void succeed(TfyLlmAsk *ask, const TfyLlmParts *parts)
{
    TfyLlmReply reply = {0};
    if (!tfy__llm_keep_parts(parts, ask->from, &reply)) {
        tfy__llm_reply_clear(&reply);
        fail(ask, ENOMEM, "memory ran out while the model's answer was read");
        return;
    }
    TfyLlmDone done = ask->heard.done;
    void *arg = ask->arg;
    free_ask(ask);
    done(arg, &reply, 0, NULL);
    tfy__llm_reply_clear(&reply);
}

/* The answer in one piece, however it came; NULL: there is none. */
static json_t *response_of(TfyLlmAsk *ask, json_error_t *where)
{
    if (ask->streaming) return tfy__llm_stream_response(&ask->stream);
    return tfy__json_read(ask->answer.len ? ask->answer.data : "", ask->answer.len, JSON_ALLOW_NUL, where);
}

static void take_response(TfyLlmAsk *ask)
{
    json_error_t where = {.line = 0};
    json_t *response = response_of(ask, &where);
    TfyLlmParts parts = {.finish_reason = ""};
    const TfyLlmForm *form = ask->form;
    const bool has = response && form->read(response, &parts);
    const bool judged = tfy__llm_is_cut(parts.finish_reason); /* without a text, too */
    char *reason = without_key(parts.finish_reason, strlen(parts.finish_reason), NULL);
    if (!response && ask->streaming)
        fail(ask, ENOMEM, "memory ran out while the model's answer was read");
    else if (!response)
        fail(ask, EBADMSG, "the model's endpoint %s answered with something that is not JSON (line %d, column %d)",
             ask->address->shown, where.line, where.column);
    else if (parts.text || judged || parts.refusal || (ask->offers && has))
        succeed(ask, &parts);
    else if (reason && reason[0])
        fail(ask, EBADMSG, "the model returned no text (finish_reason %.40s) at %s", reason, ask->address->shown);
    else
        fail(ask, EBADMSG, "the answer of the model's endpoint %s has no %s", ask->address->shown, form->place);
    free(reason);
    json_decref(parts.text);
    json_decref(parts.calls);
    json_decref(parts.opaque);
    json_decref(response);
}

/* The endpoint's reason for a refusal: error.message, or error, or message, depending on the server. */
static char *words_of_failure(const TfyLlmAsk *ask)
{
    json_t *response = ask->stream.error
                           ? json_pack("{s:O}", "error", ask->stream.error)
                           : json_loadb(ask->answer.len ? ask->answer.data : "", ask->answer.len, JSON_ALLOW_NUL, NULL);
    const json_t *error = json_object_get(response, "error"), *text = json_object_get(error, "message");
    if (!text) text = json_is_string(error) ? error : json_object_get(response, "message");
    char *words = public_text(text, NULL);
    json_decref(response);
    return words;
}

/* Whether the endpoint refuses the request because the model cannot read so much. There is no common code for it. */
static bool is_too_long(const TfyLlmAsk *ask, long status)
{
    static const char *const signs[] = {"context_length", "context length",  "context size",       "context_size",
                                        "context window", "maximum context", "prompt is too long", "too many tokens"};
    const char *text = ask->answer.len ? ask->answer.data : "";
    if (status == 413) return true;
    for (size_t i = 0; status == 400 && i < sizeof signs / sizeof *signs; i++)
        if (strcasestr(text, signs[i])) return true;
    return false;
}

static void fail_too_long(TfyLlmAsk *ask, long status, const char *words)
{
    char text[TFY_ERROR_TEXT], none[] = "";
    snprintf(text, sizeof text, "the model's endpoint %s answered HTTP %ld: %.300s", ask->address->shown, status,
             words && words[0] ? words : "it is too large");
    const TfyLlmReply reply = {.answer = none,
                               .model = none,
                               .finish_reason = none,
                               .too_long = text,
                               .prompt_tokens = -1,
                               .completion_tokens = -1,
                               .cached_tokens = -1};
    TfyLlmDone done = ask->heard.done;
    void *arg = ask->arg;
    free_ask(ask);
    done(arg, &reply, status, text);
}

static uint64_t hash_of(const TfyLlmTarget *target)
{
    return XXH3_64bits_withSeed(target->url, strlen(target->url), XXH3_64bits(target->model, strlen(target->model)));
}

bool tfy__llm_http_streams(const TfyLlmHttp *http, const TfyLlmTarget *target)
{
    for (uint32_t i = 0; http && i < http->unstreamed_count; i++)
        if (http->unstreamed[i] == hash_of(target)) return false;
    return true;
}

/* Without memory it is asked for a stream once more. */
static void note_unstreamed(TfyLlmHttp *http, uint64_t target)
{
    if (GROW(http->unstreamed, http->unstreamed_cap, http->unstreamed_count + 1, 4))
        http->unstreamed[http->unstreamed_count++] = target;
}

/* An endpoint, or a model of it, that gives no streams says so. */
static bool refuses_stream(const TfyLlmAsk *ask, long status)
{
    return ask->streams && !ask->streaming && (status == 400 || status == 422 || status == 501) && ask->answer.len &&
           strcasestr(ask->answer.data, "stream");
}

static void fail_status(TfyLlmAsk *ask, long status)
{
    char *words = words_of_failure(ask);
    bool has = words && words[0];
    if (is_too_long(ask, status)) {
        fail_too_long(ask, status, words);
        free(words);
        return;
    }
    const bool unstreamed = refuses_stream(ask, status);
    if (unstreamed) note_unstreamed(ask->http, ask->target);
    if (unstreamed)
        fail(ask, TFY_LLM_NO_STREAM, "the model's endpoint %s gives no streams", ask->address->shown);
    else if (ask->stream.error)
        fail(ask, status, "the model's endpoint %s gave up in the middle of its answer%s%.300s", ask->address->shown,
             has ? ": " : "", has ? words : "");
    else if (status >= 300 && status < 400)
        fail(ask, status,
             "the model's endpoint %s answered with a redirect (HTTP %ld), which is not followed; set TFY_LLM_URL to "
             "the final address",
             ask->address->shown, status);
    else
        fail(ask, status, "the model's endpoint %s answered HTTP %ld%s%s%.300s", ask->address->shown, status,
             ask->tries > 1 ? " repeatedly" : "", has ? ": " : "", has ? words : "");
    free(words);
}

static void fail_transport(TfyLlmAsk *ask, CURLcode result)
{
    long os_error = 0;
    const int no_room = tfy__http_no_room(&ask->transfer);
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_OS_ERRNO, &os_error);
    if (no_room)
        fail(ask, no_room, "there is no room to ask the model's endpoint %s: %s", ask->address->shown,
             strerror(no_room));
    else if (ask->too_big)
        fail(ask, EFBIG, "the answer of the model's endpoint %s is longer than %zu bytes", ask->address->shown,
             ask->http->limits->body_max);
    else if (ask->answer.failed)
        fail(ask, ENOMEM, "memory ran out while the model's answer was read");
    else if (ask->broke)
        fail(ask, ECONNRESET, "the stream of the model's endpoint %s broke: %s", ask->address->shown, ask->broke);
    else if (result == CURLE_OPERATION_TIMEDOUT)
        fail(ask, ETIMEDOUT, "the model's endpoint %s did not answer in time", ask->address->shown);
    else if (result == CURLE_PARTIAL_FILE || result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR ||
             result == CURLE_ABORTED_BY_CALLBACK)
        fail(ask, ECONNRESET, "the model's endpoint %s closed the connection in the middle of its answer",
             ask->address->shown);
    else
        fail(ask, os_error ? os_error : EPROTO, "cannot reach the model's endpoint %s: %s%s%s", ask->address->shown,
             curl_easy_strerror(result), os_error ? ", " : "", os_error ? strerror((int)os_error) : "");
}

/* ---- sending ---- */

static void finish(void *arg, CURLcode result);

static void await_sound(TfyLlmAsk *ask, int64_t due_ns);

/* The endpoint has been silent for too long, or keeps a connection on which nothing more comes. */
static void on_silence(void *arg)
{
    TfyLlmAsk *ask = arg;
    const int64_t due_ns = ask->heard_ns + ask->http->limits->total_ms * 1000000;
    ask->silence = 0;
    if (!ask->stream.ended && tfy__now_ns(ask->http->loop) < due_ns) {
        await_sound(ask, due_ns);
        return;
    }
    tfy__http_stop(ask->http->client, &ask->transfer);
    finish(ask, ask->stream.ended ? CURLE_OK : CURLE_OPERATION_TIMEDOUT);
}

static void await_sound(TfyLlmAsk *ask, int64_t due_ns)
{
    if (ask->silence) tfy__timer_del(ask->http->loop, ask->silence);
    ask->silence = tfy__timer_add(ask->http->loop, due_ns, on_silence, ask);
}

/* curl sends a request again on its own when a connection that it kept breaks before the answer begins. The endpoint
 * may have taken it, so every request is one of ours: counted, and within the budget. */
static int send_once(void *arg, char *to, char *from, int to_port, int from_port)
{
    TfyLlmAsk *ask = arg;
    const bool again = ask->sent;
    ask->sent = true;
    return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static bool send_ask(TfyLlmAsk *ask)
{
    ask->sent = false;
    tfy__buffer_reset(&ask->answer);
    tfy__sse_free(&ask->events);
    tfy__llm_stream_free(&ask->stream);
    ask->streaming = false;
    ask->broke = NULL;
    ask->tries++;
    ask->heard_ns = tfy__now_ns(ask->http->loop);
    if (ask->streams) await_sound(ask, ask->heard_ns + ask->http->limits->total_ms * 1000000);
    return tfy__http_start(ask->http->client, &ask->transfer);
}

static void try_again(void *arg)
{
    TfyLlmAsk *ask = arg;
    ask->timer = 0;
    if (!send_ask(ask)) fail(ask, ENOMEM, "memory ran out before the model was asked again");
}

/* A header of the response; NULL: it is not there. Borrowed from the transfer. */
static const char *header_of(const TfyLlmAsk *ask, const char *name)
{
    struct curl_header *header;
    return curl_easy_header(ask->transfer.easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value : NULL;
}

/* A number that fills the whole text, times scale; -1: it is not one, or is above WAIT_MOST_MS. */
static int64_t number_of(const char *text, double scale)
{
    char *end;
    if (!text || !isdigit((unsigned char)*text) || text[strspn(text, "0123456789.")]) return -1;
    const double number = strtod(text, &end) * scale;
    return !*end && number <= (double)WAIT_MOST_MS ? (int64_t)number : -1;
}

/* What the endpoint asks for: retry-after-ms, or Retry-After in seconds or as a date. -1: nothing that can be meant. */
static int64_t wait_asked(const TfyLlmAsk *ask)
{
    const char *after = header_of(ask, "Retry-After");
    int64_t ms = number_of(header_of(ask, "retry-after-ms"), 1);
    if (ms < 0) ms = number_of(after, 1000);
    const time_t date = ms < 0 && after ? curl_getdate(after, NULL) : -1, now = time(NULL);
    if (date >= now && date - now <= WAIT_MOST_MS / 1000) ms = (int64_t)(date - now) * 1000;
    return ms;
}

/* How long to wait before the next try: the endpoint's delay, else a doubling wait. */
static int64_t wait_of(const TfyLlmAsk *ask, bool busy)
{
    const int64_t asked = busy ? wait_asked(ask) : -1;
    return asked >= 0 ? asked : ask->http->limits->wait_ms << (ask->tries - 1);
}

/* The connection was refused, or broke. */
static bool is_broken(const TfyLlmAsk *ask, CURLcode result)
{
    return !tfy__http_no_room(&ask->transfer) && !ask->too_big && !ask->answer.failed &&
           (ask->broke || result == CURLE_COULDNT_CONNECT || result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
            result == CURLE_GOT_NOTHING || result == CURLE_PARTIAL_FILE || result == CURLE_HTTP2 ||
            result == CURLE_HTTP2_STREAM || result == CURLE_ABORTED_BY_CALLBACK);
}

/* What the end of a connection is for a stream: it depends on what was read before. */
static CURLcode end_of_stream(TfyLlmAsk *ask, CURLcode result)
{
    if (!ask->streaming || ask->too_big || ask->answer.failed) return result;
    if (ask->stream.error || ask->stream.complete) return CURLE_OK;
    if (!ask->broke && result == CURLE_OK) ask->broke = "it ended before the answer did";
    return ask->broke ? CURLE_PARTIAL_FILE : result;
}

/* An error in a stream, whose head was sent before, stands for a status. */
static long status_of(const TfyLlmAsk *ask)
{
    long status = 0;
    if (ask->stream.error) return tfy__llm_error_status(ask->stream.error);
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* A short pause is a timer's here, a long one the caller's; so is one after a request that was sent and broke under a
 * budget, which has to hold the next one, too. */
static void pause_ask(TfyLlmAsk *ask, int64_t status, int64_t wait_ms, bool lost)
{
    TfyLlmHttp *http = ask->http;
    const TfyLlmHeard heard = ask->heard;
    void *arg = ask->arg;
    const uint32_t tries = ask->tries;
    const bool is_callers = wait_ms > http->limits->wait_max_ms || (lost && ask->bound);
    if (is_callers)
        free_ask(ask);
    else
        ask->timer = tfy__timer_add(http->loop, tfy__now_ns(http->loop) + wait_ms * 1000000, try_again, ask);
    (is_callers ? heard.wait : heard.again)(arg, status, wait_ms, tries);
}

static void finish(void *arg, CURLcode given)
{
    TfyLlmAsk *ask = arg;
    TfyLlmHttp *http = ask->http;
    const CURLcode result = end_of_stream(ask, given);
    const long status = status_of(ask);
    const bool busy = result == CURLE_OK && (status == 408 || status == 429 || status >= 500);
    const bool again = (busy || (result != CURLE_OK && is_broken(ask, result))) && ask->tries < http->limits->tries;
    const int64_t wait_ms = again ? wait_of(ask, busy) : 0;
    stop_transfer(ask);
    if (ask->streaming && (result != CURLE_OK || status != 200)) ask->heard.said(ask->arg, NULL, 0);
    if (again && !(wait_ms > http->limits->wait_max_ms && ask->has_other))
        pause_ask(ask, busy ? status : 0, wait_ms, result != CURLE_OK && result != CURLE_COULDNT_CONNECT);
    else if (result != CURLE_OK)
        fail_transport(ask, result);
    else if (status != 200)
        fail_status(ask, status);
    else
        take_response(ask);
}

/* ---- receiving ---- */

/* An event of the stream. False: nothing more of it is wanted. */
static bool take_event(void *arg, const char *data, size_t len)
{
    TfyLlmAsk *ask = arg;
    TfyLlmStream *stream = &ask->stream;
    if (!tfy__llm_stream_take(stream, data, len)) ask->broke = "an event is not a JSON object";
    if (stream->said.len) ask->heard.said(ask->arg, stream->said.data, stream->said.len);
    tfy__buffer_reset(&stream->said);
    ask->too_big = stream->too_long;
    ask->answer.failed |= stream->failed;
    return !ask->broke && !stream->error && !stream->too_long && !stream->failed;
}

static bool take_bytes(TfyLlmAsk *ask, const char *bytes, size_t len)
{
    const bool more = tfy__sse_feed(&ask->events, bytes, len, take_event, ask);
    const bool starved = ask->events.line.starved || ask->events.data.starved;
    ask->answer.failed |= starved;
    if (ask->events.failed && !starved) ask->broke = "an event is too long";
    if (ask->stream.ended) await_sound(ask, ask->heard_ns + LINGER_MS * INT64_C(1000000));
    return more;
}

static bool is_stream(const TfyLlmAsk *ask)
{
    static const char STREAM[] = "text/event-stream";
    const char *type = NULL;
    long status = 0;
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(ask->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    return status == 200 && type && strncasecmp(type, STREAM, sizeof STREAM - 1) == 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    TfyLlmAsk *ask = arg;
    const size_t len = size * count;
    ask->heard_ns = tfy__now_ns(ask->http->loop);
    ask->streaming = ask->streaming || (!ask->answer.len && is_stream(ask));
    if (ask->streaming) return take_bytes(ask, bytes, len) ? len : 0;
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
    http->addresses.http = http->client;
    if (http->client) return http;
    free(http);
    return NULL;
}

void tfy__llm_http_free(TfyLlmHttp *http)
{
    if (!http) return;
    tfy__llm_addresses_close(&http->addresses);
    tfy__http_free(http->client);
    free(http->unstreamed);
    free(http);
}

static bool set_options(TfyLlmAsk *ask)
{
    CURL *easy = ask->transfer.easy;
    const TfyLlmLimits *limits = ask->http->limits;
    return curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body.len) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->body.data) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, send_once) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, ask) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)limits->connect_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(ask->streams ? limits->stream_ms : limits->total_ms)) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, ask) == CURLE_OK;
}

/* A key of another place than the environment; its value is known as a secret already. */
static bool take_key(const TfyLlmTarget *target, char key[KEY_MAX + 1], char *error)
{
    key[0] = '\0';
    if (target->from_environment) return read_key(key, error);
    if (!target->key) return true;
    if (strlen(target->key) > KEY_MAX || !is_key(target->key)) {
        snprintf(error, TFY_ERROR_TEXT, "the key for %s is too long, or holds a space or a control character",
                 target->named);
        return false;
    }
    strcpy(key, target->key);
    return true;
}

static int set_up(TfyLlmAsk *ask, const TfyLlmTarget *target, const char *key)
{
    TfyLlmAddresses *addresses = &ask->http->addresses;
    const int code = tfy__llm_address(addresses, target->form, target->url, key, &ask->address);
    if (code) return code;
    ask->transfer = (TfyTransfer){.easy = tfy__llm_address_easy(addresses, ask->address), .ended = finish, .arg = ask};
    return ask->transfer.easy && set_options(ask) && send_ask(ask) ? 0 : ENOMEM;
}

/* Fills a new ask. False: error is set. */
static bool prepare(TfyLlmAsk *ask, const TfyLlmTarget *target, int64_t *code, char *error)
{
    char key[KEY_MAX + 1];
    const bool has_key = take_key(target, key, error);
    *code = has_key ? set_up(ask, target, key) : EINVAL;
    if (key[0]) explicit_bzero(key, sizeof key);
    if (has_key && *code == EINVAL)
        snprintf(error, TFY_ERROR_TEXT, "%s is not an http or https address", target->named);
    else if (has_key && *code)
        snprintf(error, TFY_ERROR_TEXT, "memory ran out before the model was asked");
    return !*code;
}

TfyLlmAsk *tfy__llm_http_ask(TfyLlmHttp *http, const TfyLlmTarget *target, TfyBuffer *body, const TfyLlmHeard *heard,
                             void *arg, int64_t *code, char *error)
{
    TfyLlmAsk *ask = tfy__sys_calloc(1, sizeof *ask);
    if (!ask) {
        tfy__buffer_free(body);
        *code = ENOMEM;
        snprintf(error, TFY_ERROR_TEXT, "memory ran out before the model was asked");
        return NULL;
    }
    *ask = (TfyLlmAsk){.http = http,
                       .form = target->form,
                       .heard = *heard,
                       .arg = arg,
                       .tries = target->tries,
                       .has_other = target->has_other,
                       .target = hash_of(target),
                       .bound = target->bound,
                       .streams = target->streams,
                       .events = {.most = http->limits->body_max},
                       .stream = {.form = target->form, .most = http->limits->body_max},
                       .from = target->from,
                       .offers = target->offers,
                       .body = *body};
    *body = (TfyBuffer){.data = NULL};
    if (prepare(ask, target, code, error)) return ask;
    free_ask(ask);
    return NULL;
}

/* http.c: see http.h.
 *
 *   libcurl ──bytes──▶ pending ──timer──▶ event or body ──▶ message
 *                                end of the exchange ──▶ message, resume, or ended
 *
 * Bytes are only kept inside libcurl's callbacks, which forbid to start or stop anything. */
#include "mcp/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "effects/http_client.h"
#include "effects/known.h"
#include "effects/sse.h"
#include "mcp/login/login.h"
#include "mcp/message.h"
#include "mcp/schema.h"

#define CONNECT_MS     30000L
#define RETRY_MS       1000  /* before a stream is gone on with, unless the server says otherwise */
#define RETRY_MOST_MS  60000 /* … when it breaks again and again */
#define TRIES_MOST     10    /* breaks in a row, without any event, until a call fails */
#define LINGER_MS      200   /* an exchange may end so long after its answer; it is closed then */
#define SESSION_MOST   1024  /* bytes of a session's id */
#define CHALLENGE_MOST ((size_t)8192)
#define NS_PER_MS      INT64_C(1000000)

struct TfyMcpPost {
    TfyMcpPost *prev, *next;
    TfyMcpHttp *http;
    TfyTransfer transfer;
    struct curl_slist *headers;
    TfyBuffer body; /* what is sent */
    bool once;
    void *call;    /* NULL: nobody waits for an answer */
    bool standing; /* the stream for what the server says unasked */
    bool gets;     /* it asks for (the rest of) a stream, and sends nothing */
    bool session;  /* it is of the present session */
    bool sent;
    bool held;      /* it waits until the login is renewed */
    bool renewed;   /* it has met HTTP 401, and is made once more */
    uint32_t token; /* the number of the token that went with it */
    bool too_big;
    TfyBuffer pending; /* came since the last turn */
    bool typed;        /* streams is known */
    bool streams;
    TfySse events;
    TfyBuffer answer; /* the response, unless it streams */
    int tries;        /* breaks since the newest event */
    uint64_t soon;    /* timer: to take what is pending; 0: none */
    uint64_t later;   /* timer: to go on with the stream, or to close it; 0: none */
    bool left;        /* it was answered, and lingers */
    int busy;         /* functions that work with it */
    bool stopped;     /* it is freed behind the outermost of them */
};

struct TfyMcpHttp {
    TfyLoop *loop;
    const TfyMcpSpec *spec;
    TfyMcpHttpTakes takes;
    TfyHttp *client;
    TfyMcpLogin *login;   /* NULL: none is used */
    const char *revision; /* NULL: not known yet */
    char *session;        /* NULL: none */
    LIST(TfyMcpPost) posts;
};

/* ---- the end ---- */

static void drop_headers(TfyMcpPost *post)
{
    tfy__http_headers_free(post->headers);
    post->headers = NULL;
}

static void drop_timers(TfyMcpPost *post)
{
    if (post->soon) tfy__timer_del(post->http->loop, post->soon);
    if (post->later) tfy__timer_del(post->http->loop, post->later);
    post->soon = post->later = 0;
}

static void free_post(TfyMcpPost *post)
{
    LIST2_REMOVE(&post->http->posts, post, prev, next);
    drop_timers(post);
    tfy__http_stop(post->http->client, &post->transfer);
    tfy__http_easy_free(post->http->client, post->transfer.easy);
    drop_headers(post);
    tfy__buffer_free(&post->body);
    tfy__buffer_free(&post->pending);
    tfy__buffer_free(&post->answer);
    tfy__sse_free(&post->events);
    free(post);
}

void tfy__mcp_post_stop(TfyMcpPost *post)
{
    if (post->busy)
        post->stopped = true;
    else
        free_post(post);
}

static void on_lingered(void *arg)
{
    TfyMcpPost *post = arg;
    post->later = 0;
    free_post(post);
}

void tfy__mcp_post_leave(TfyMcpPost *post)
{
    TfyLoop *loop = post->http->loop;
    post->call = NULL;
    post->left = true;
    if (!post->later) post->later = tfy__timer_add(loop, tfy__now_ns(loop) + LINGER_MS * NS_PER_MS, on_lingered, post);
}

/* ---- what goes out ---- */

static bool add_header(void *arg, const char *line)
{
    TfyMcpPost *post = arg;
    struct curl_slist *longer = curl_slist_append(post->headers, line);
    if (longer) post->headers = longer;
    return longer;
}

static bool add_value(TfyMcpPost *post, const char *name, const char *value)
{
    TfyBuffer line = {0};
    tfy__buffer_printf(&line, "%s: ", name);
    tfy__mcp_header_value(&line, value, strlen(value));
    const bool ok = !line.failed && add_header(post, line.data);
    tfy__buffer_free(&line);
    return ok;
}

/* Text that a header can hold as it is. */
static bool is_visible(const char *text, size_t len, size_t most)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~') return false;
    return len && len <= most;
}

static const char *last_id(const TfyMcpPost *post)
{
    const TfyBuffer *id = &post->events.last_id;
    return is_visible(id->data, id->len, TFY_SSE_ID_MOST) ? id->data : NULL;
}

static bool add_place(TfyMcpPost *post)
{
    const TfyMcpHttp *http = post->http;
    const char *id = post->gets ? last_id(post) : NULL;
    bool ok = add_header(post, "User-Agent: tfy/" TFY_VERSION) && add_header(post, "Expect:");
    for (const char *const *line = http->spec->headers; ok && line && *line; line++) ok = add_header(post, *line);
    if (ok && http->revision) ok = add_value(post, "MCP-Protocol-Version", http->revision);
    if (ok && http->session) ok = add_value(post, "Mcp-Session-Id", http->session);
    if (ok && id) ok = add_value(post, "Last-Event-ID", id);
    return ok &&
           add_header(post, post->gets ? "Accept: text/event-stream" : "Accept: application/json, text/event-stream");
}

/* What a message is about, for its header Mcp-Name; NULL: nothing. */
static const char *name_in(const TfyMcpPosted *posted)
{
    static const char *const sources[][2] = {{"tools/call", "name"},     {"prompts/get", "name"},
                                             {"resources/read", "uri"},  {"tasks/get", "taskId"},
                                             {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"}};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(posted->method, sources[i][0]) == 0)
            return json_string_value(json_object_get(posted->params, sources[i][1]));
    return NULL;
}

static bool add_modern(TfyMcpPost *post, const TfyMcpPosted *posted)
{
    const char *name = name_in(posted);
    const json_t *arguments = json_object_get(posted->params, "arguments");
    return add_value(post, "Mcp-Method", posted->method) && (!name || add_value(post, "Mcp-Name", name)) &&
           (!posted->schema || tfy__mcp_param_headers(posted->schema, arguments, add_header, post));
}

/* ---- what comes in ---- */

static void on_soon(void *arg);

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    TfyMcpPost *post = arg;
    TfyLoop *loop = post->http->loop;
    const size_t len = size * count;
    post->too_big |= post->pending.len + post->answer.len + len > TFY_MCP_MESSAGE_MOST;
    if (post->too_big) return 0;
    tfy__buffer_add(&post->pending, bytes, len);
    if (!post->soon) post->soon = tfy__timer_add(loop, tfy__now_ns(loop), on_soon, post);
    return post->pending.failed ? 0 : len;
}

static int on_sent(void *arg, char *there, char *here, int there_port, int here_port)
{
    (void)there, (void)here, (void)there_port, (void)here_port;
    ((TfyMcpPost *)arg)->sent = true;
    return CURL_PREREQFUNC_OK;
}

static long status_of(const TfyMcpPost *post)
{
    long status = 0;
    curl_easy_getinfo(post->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_type(const TfyMcpPost *post, const char *wanted)
{
    const char *type = NULL;
    curl_easy_getinfo(post->transfer.easy, CURLINFO_CONTENT_TYPE, &type);
    return type && strncasecmp(type, wanted, strlen(wanted)) == 0;
}

/* A session begins with the answer to initialize; later ones repeat its id. */
static void take_session(TfyMcpPost *post)
{
    TfyMcpHttp *http = post->http;
    struct curl_header *header;
    if (http->session || post->gets || status_of(post) != 200) return;
    if (curl_easy_header(post->transfer.easy, "Mcp-Session-Id", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return;
    if (is_visible(header->value, strlen(header->value), SESSION_MOST)) http->session = tfy__sys_strdup(header->value);
}

static void give(TfyMcpPost *post, const char *text, size_t len)
{
    const TfyMcpHttpTakes *takes = &post->http->takes;
    takes->message(takes->arg, post->call, text, len);
}

/* Events without data only keep a stream open, or give an id. */
static bool take_event(void *arg, const char *data, size_t len)
{
    TfyMcpPost *post = arg;
    post->tries = 0;
    if (len) give(post, data, len);
    return !post->stopped && !post->left;
}

/* Takes what came since the last turn. What comes behind an answer is wanted by nobody. */
static void take(TfyMcpPost *post)
{
    TfyBuffer bytes = post->pending;
    post->pending = (TfyBuffer){.data = NULL};
    if (!post->typed) post->streams = status_of(post) == 200 && is_type(post, "text/event-stream");
    post->typed = true;
    take_session(post);
    if (!post->streams)
        tfy__buffer_add(&post->answer, bytes.data, bytes.len);
    else if (!post->left && !tfy__sse_feed(&post->events, bytes.data, bytes.len, take_event, post))
        post->too_big |= post->events.failed;
    tfy__buffer_free(&bytes);
}

/* ---- starting ---- */

static void finish(TfyMcpPost *post, CURLcode result);

/* Leaves a function that works with a post. */
static void leave(TfyMcpPost *post)
{
    if (--post->busy == 0 && post->stopped) free_post(post);
}

static void end_post(TfyMcpPost *post, CURLcode result)
{
    post->busy++;
    finish(post, result);
    leave(post);
}

static void on_end(void *arg, CURLcode result)
{
    end_post(arg, result);
}

static void on_soon(void *arg)
{
    TfyMcpPost *post = arg;
    post->soon = 0;
    post->busy++;
    take(post);
    if (post->too_big && post->transfer.active) {
        tfy__http_stop(post->http->client, &post->transfer);
        finish(post, CURLE_WRITE_ERROR);
    }
    leave(post);
}

static bool set_sending(TfyMcpPost *post)
{
    CURL *easy = post->transfer.easy;
    if (post->gets) return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    bool ok = curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->body.len) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post->body.data) == CURLE_OK;
    /* a new connection and a protocol without retransmission: curl sends nothing twice by itself */
    if (post->once)
        ok = ok && curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    return ok;
}

static bool set_options(TfyMcpPost *post)
{
    CURL *easy = post->transfer.easy;
    return curl_easy_setopt(easy, CURLOPT_URL, post->http->spec->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, post->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sent) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, post) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, post) == CURLE_OK && set_sending(post);
}

static bool set_token(TfyMcpPost *post, const char *token)
{
    CURL *easy = post->transfer.easy;
    return curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, token) == CURLE_OK;
}

/* Starts the transfer with the token of the login, or waits for it. False: no memory. */
static bool start(TfyMcpPost *post)
{
    const TfyMcpHttp *http = post->http;
    const char *token = NULL;
    post->held = http->login && http->spec->logins->token(http->login, &token, &post->token) == TFY_LOGIN_WAIT;
    if (post->held) return true;
    return set_options(post) && (!token || set_token(post, token)) && tfy__http_start(http->client, &post->transfer);
}

/* Makes an exchange from its beginning, with the same content. */
static void start_again(TfyMcpPost *post)
{
    post->typed = post->streams = post->sent = false;
    tfy__buffer_reset(&post->answer);
    curl_easy_reset(post->transfer.easy);
    if (!start(post)) end_post(post, CURLE_OUT_OF_MEMORY);
}

static TfyMcpPost *first_held(const TfyMcpHttp *http)
{
    TfyMcpPost *post = http->posts.first;
    while (post && !post->held) post = post->next;
    return post;
}

/* The login is renewed, or it cannot be: what waits for it goes on. */
static void on_login(void *arg)
{
    TfyMcpHttp *http = arg;
    const char *token;
    uint32_t number;
    for (TfyMcpPost *post; (post = first_held(http));) {
        if (http->spec->logins->token(http->login, &token, &number) == TFY_LOGIN_WAIT) return;
        start_again(post);
    }
}

static TfyMcpPost *new_post(TfyMcpHttp *http)
{
    TfyMcpPost *post = tfy__sys_calloc(1, sizeof *post);
    if (!post) return NULL;
    *post = (TfyMcpPost){.http = http, .session = http->session, .events = {.most = TFY_MCP_MESSAGE_MOST}};
    post->transfer = (TfyTransfer){.easy = tfy__http_easy(http->client), .ended = on_end, .arg = post};
    LIST2_APPEND(&http->posts, post, prev, next);
    if (post->transfer.easy) return post;
    free_post(post);
    return NULL;
}

TfyMcpPost *tfy__mcp_post(TfyMcpHttp *http, const TfyMcpPosted *posted)
{
    TfyMcpPost *post = new_post(http);
    if (!post) return NULL;
    post->once = posted->once;
    post->call = posted->call;
    tfy__buffer_add(&post->body, posted->text, posted->len);
    if (!post->body.failed && add_place(post) && add_header(post, "Content-Type: application/json") &&
        (!posted->modern || !posted->method || add_modern(post, posted)) && start(post))
        return post;
    free_post(post);
    return NULL;
}

/* ---- going on with a stream ---- */

/* Asks for the rest of a stream, or for the standing one. */
static void ask_again(void *arg)
{
    TfyMcpPost *post = arg;
    post->later = 0;
    post->gets = true;
    post->typed = post->streams = post->too_big = false;
    drop_headers(post);
    tfy__buffer_reset(&post->answer);
    tfy__buffer_reset(&post->events.line);
    tfy__buffer_reset(&post->events.data);
    post->events.begun = post->events.after_cr = false;
    curl_easy_reset(post->transfer.easy);
    if (!add_place(post) || !start(post)) end_post(post, CURLE_OUT_OF_MEMORY);
}

static void ask_later(TfyMcpPost *post)
{
    TfyLoop *loop = post->http->loop;
    int64_t wait_ms = post->events.retry_ms ? post->events.retry_ms : RETRY_MS;
    for (int i = 1; i < post->tries && wait_ms < RETRY_MOST_MS; i++) wait_ms *= 2;
    post->later = tfy__timer_add(loop, tfy__now_ns(loop) + wait_ms * NS_PER_MS, ask_again, post);
}

/* Whether a stream that broke goes on: only a session has streams that can. */
static bool can_resume(const TfyMcpPost *post, CURLcode result)
{
    const long status = status_of(post);
    if (post->too_big || !post->session || !post->http->session || post->tries > TRIES_MOST) return false;
    if (post->standing) return status == 0 || status == 200 || status >= 500;
    if (post->gets && !post->streams) return last_id(post) && (result != CURLE_OK || status >= 500);
    return post->streams && last_id(post);
}

void tfy__mcp_http_listen(TfyMcpHttp *http)
{
    TfyMcpPost *post = http->session ? new_post(http) : NULL;
    if (!post) return;
    post->standing = true;
    ask_again(post);
}

/* ---- the end of an exchange ---- */

/* An exchange that met HTTP 401 is made once more, with a token that the server has not refused yet. */
static bool is_made_again(TfyMcpPost *post)
{
    const TfyMcpHttp *http = post->http;
    if (status_of(post) != 401 || !http->login || post->renewed) return false;
    const TfyLoginNow now = http->spec->logins->refused(http->login, post->token);
    if (now == TFY_LOGIN_NONE) return false;
    post->renewed = true;
    post->held = now == TFY_LOGIN_WAIT;
    if (!post->held) start_again(post);
    return true;
}

/* What the server says about logins: all its headers, with commas between them. */
static void read_challenge(const TfyMcpPost *post, TfyBuffer *out)
{
    struct curl_header *header;
    CURL *easy = post->transfer.easy;
    for (size_t i = 0; curl_easy_header(easy, "WWW-Authenticate", i, CURLH_HEADER, -1, &header) == CURLHE_OK; i++) {
        const size_t len = strlen(header->value);
        if (out->len + len > CHALLENGE_MOST) break;
        if (i) tfy__buffer_text(out, ", ");
        tfy__buffer_add(out, header->value, len);
    }
}

/* What the server wrote beside a status, one line of it. */
static void quote(const TfyMcpPost *post, TfyMcpPostEnd *end)
{
    TfyBuffer text = {0};
    const size_t used = strlen(end->why);
    if (!post->answer.len || is_type(post, "text/html")) return;
    tfy__buffer_add(&text, post->answer.data, strcspn(post->answer.data, "\r\n"));
    tfy__known_mask_in(&text, false);
    if (text.len && !text.failed)
        snprintf(end->why + used, sizeof end->why - used, ": %.*s", text.len < 200 ? (int)text.len : 200, text.data);
    tfy__buffer_free(&text);
}

/* A login of a person may be what is missing. False: there is nothing to say about that. */
static bool explain_login(const TfyMcpPost *post, TfyMcpPostEnd *end)
{
    const TfyMcpHttp *http = post->http;
    if (!http->login || (end->status != 401 && end->status != 403)) return false;
    end->login = http->spec->logins->explain(http->login, end->status, end->challenge, end->why);
    return *end->why;
}

static void explain_status(const TfyMcpPost *post, TfyMcpPostEnd *end)
{
    const long status = end->status;
    if (status == 401)
        snprintf(end->why, sizeof end->why, "wants a login (HTTP 401)");
    else if (status == 403)
        snprintf(end->why, sizeof end->why, "refuses access (HTTP 403)");
    else if (status >= 300 && status < 400)
        snprintf(end->why, sizeof end->why, "answered with a redirect (HTTP %ld), which is not followed", status);
    else if (status >= 200 && status < 300)
        snprintf(end->why, sizeof end->why,
                 post->streams ? "ended its stream before it answered" : "answered HTTP %ld without a message", status);
    else
        snprintf(end->why, sizeof end->why, "answered HTTP %ld", status);
    quote(post, end);
}

static void explain(const TfyMcpPost *post, CURLcode result, const TfyBuffer *challenge, TfyMcpPostEnd *end)
{
    *end = (TfyMcpPostEnd){.status = status_of(post), .sent = post->sent, .challenge = challenge->data};
    end->no_session = end->status == 404 && post->session;
    end->no_room = result != CURLE_OK && !post->sent && tfy__http_no_room(&post->transfer);
    if (post->too_big)
        snprintf(end->why, sizeof end->why, "sent a message above 8 MiB");
    else if (result == CURLE_OUT_OF_MEMORY)
        snprintf(end->why, sizeof end->why, "cannot be asked: memory ran out");
    else if (result != CURLE_OK && !post->sent)
        snprintf(end->why, sizeof end->why, "cannot be reached: %s", curl_easy_strerror(result));
    else if (result != CURLE_OK)
        snprintf(end->why, sizeof end->why, "broke off its answer: %s", curl_easy_strerror(result));
    else if (!explain_login(post, end))
        explain_status(post, end);
}

/* Whether the server refuses whoever asks, whatever it writes beside that. */
static bool is_turned_away(const TfyMcpPost *post)
{
    struct curl_header *header;
    const long status = status_of(post);
    return status == 401 || (status == 403 && curl_easy_header(post->transfer.easy, "WWW-Authenticate", 0, CURLH_HEADER,
                                                               -1, &header) == CURLHE_OK);
}

/* Whether the body of an answer may be a message. That of a refusal often is another kind of JSON. */
static bool has_message(const TfyMcpPost *post)
{
    const char *text = post->answer.data;
    if (post->streams || !post->answer.len || post->too_big || is_turned_away(post)) return false;
    if (status_of(post) != 200) return text[0] == '{' && strstr(text, "\"jsonrpc\"");
    return is_type(post, "application/json") || text[0] == '{';
}

static bool is_over(const TfyMcpPost *post)
{
    return post->stopped || post->left;
}

/* The transfer has ended. Only a stream that goes on outlives it. */
static void finish(TfyMcpPost *post, CURLcode result)
{
    const TfyMcpHttpTakes *takes = &post->http->takes;
    TfyBuffer challenge = {0};
    TfyMcpPostEnd end;
    if (post->soon) tfy__timer_del(post->http->loop, post->soon);
    post->soon = 0;
    take(post);
    if (!is_over(post) && can_resume(post, result)) {
        post->tries++;
        ask_later(post);
        return;
    }
    if (!is_over(post) && result == CURLE_OK && is_made_again(post)) return;
    if (!is_over(post) && post->call && result == CURLE_OK && has_message(post))
        give(post, post->answer.data, post->answer.len);
    if (!is_over(post) && post->call) {
        read_challenge(post, &challenge);
        explain(post, result, &challenge, &end);
        takes->ended(takes->arg, post->call, &end);
        tfy__buffer_free(&challenge);
    }
    post->stopped = true;
}

/* ---- one server ---- */

/* Whether the headers of the spec say who asks. */
static bool has_authorization(const TfyMcpSpec *spec)
{
    static const char name[] = "Authorization:";
    for (const char *const *line = spec->headers; line && *line; line++)
        if (strncasecmp(*line, name, sizeof name - 1) == 0) return true;
    return false;
}

TfyMcpHttp *tfy__mcp_http_new(TfyLoop *loop, const TfyMcpSpec *spec, const TfyMcpHttpTakes *takes)
{
    TfyMcpHttp *http = tfy__sys_calloc(1, sizeof *http);
    if (!http) return NULL;
    *http = (TfyMcpHttp){.loop = loop, .spec = spec, .takes = *takes, .client = tfy__http_new(loop)};
    const bool wanted = spec->logins && !has_authorization(spec);
    if (http->client && wanted) http->login = spec->logins->open(loop, spec, on_login, http);
    if (http->client && (http->login || !wanted)) return http;
    tfy__http_free(http->client);
    free(http);
    return NULL;
}

void tfy__mcp_http_free(TfyMcpHttp *http)
{
    if (!http) return;
    while (http->posts.first) free_post(http->posts.first);
    if (http->login) http->spec->logins->close(http->login);
    tfy__http_free(http->client);
    free(http->session);
    free(http);
}

void tfy__mcp_http_revision(TfyMcpHttp *http, const char *revision)
{
    http->revision = revision;
}

bool tfy__mcp_http_has_session(const TfyMcpHttp *http)
{
    return http->session;
}

void tfy__mcp_http_forget_session(TfyMcpHttp *http)
{
    free(http->session);
    http->session = NULL;
    for (TfyMcpPost *post = http->posts.first, *next; post; post = next) {
        next = post->next;
        post->session = false;
        if (post->standing) tfy__mcp_post_stop(post);
    }
}

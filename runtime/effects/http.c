/* http.c: the effect http and http tools: one request per attempt, its response turned into a value.
 *
 * The promises depend on the repeat class. A pure request may be redirected, and curl may send it again on a
 * connection that turned out to be dead. Every other request is sent on a fresh connection, exactly once, is never
 * redirected, and carries the step's key as Idempotency-Key.
 *
 * A result of type HttpResponse takes any status. Any other result type is the body of a 2xx response; every other
 * status is a ToolError.
 *
 * A request was certainly not done if it was never sent (the name is unknown, nothing listens, no secure
 * connection was established), or if a complete 4xx response refuses it. Every other failure is unknown: a server
 * that breaks off, 5xx, a 2xx body that does not fit, and 3xx, which may mean "done, see there" as well as
 * "request it there". */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "effects/http_client.h"
#include "effects/http_parts.h"
#include "effects/known.h"
#include "effects/output.h"
#include "effects/process.h"
#include "effects/secret.h"
#include "effects/secret_source.h"
#include "effects/told.h"
#include "value/heap.h"

#define HEAD_MAX     ((size_t)64 << 10) /* bytes of a response's headers */
#define HEADERS_MAX  200                /* of a response */
#define CONNECT_MS   30000L             /* until the connection is established */
#define STALL_S      120L               /* without a byte; then the request is given up */
#define TOTAL_MS     3600000L           /* a request as a whole */
#define REDIRECT_MAX 10L
#define QUOTE_MAX    300 /* bytes of a body, quoted in an error */

enum { ARG_METHOD, ARG_URL, ARG_HEADERS, ARG_BODY, ARG_COUNT }; /* of the built-in http */

/* The request to send. All its texts are owned and wiped. */
typedef struct Wanted {
    char method[16];
    TfyBuffer url;
    char *shown; /* the address for messages */
    struct curl_slist *headers;
    char *body; /* NULL: none */
    size_t body_len;
} Wanted;

typedef struct Request {
    TfyCall *call;
    TfyHttp *client;
    TfyTransfer transfer;
    TfySecrets secrets; /* inserted into the request, masked in the response */
    Wanted wanted;
    TfyBuffer head; /* the header lines of the newest response, each ended by a newline */
    TfyBuffer body;
    bool cut;       /* the body was longer than the limit */
    bool head_full; /* the headers were longer than the limit */
    bool bounded;   /* the command line says which hosts may be reached: a redirect is not followed */
} Request;

/* ---- releasing ---- */

static void free_request(Request *request)
{
    Wanted *wanted = &request->wanted;
    if (request->transfer.easy) {
        tfy__http_stop(request->client, &request->transfer);
        tfy__http_easy_free(request->client, request->transfer.easy);
    }
    tfy__http_headers_free(wanted->headers);
    if (wanted->body) explicit_bzero(wanted->body, wanted->body_len);
    free(wanted->body);
    free(wanted->shown);
    tfy__buffer_wipe(&wanted->url);
    tfy__secrets_free(&request->secrets);
    tfy__buffer_free(&request->head);
    tfy__buffer_free(&request->body);
    free(request);
}

/* ---- the request line; the helpers return false after the call has failed ---- */

static bool fail_memory(const Request *request)
{
    tfy__call_starved(request->call);
    return false;
}

static const char *text_of(Request *request, const TfyObj *string, size_t *len)
{
    const char *text = tfy__secrets_fill(&request->secrets, request->call, string, len);
    if (!text) tfy__secrets_fail(request->call, &request->secrets);
    return text;
}

static bool is_escape(const char *text, size_t len)
{
    return len >= 3 && *text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
}

/* A value becomes one part of the address, whatever it contains; or, reserved, what RFC 6570 makes of {+value}: its
 * delimiters and escapes stay. */
static void add_encoded(TfyBuffer *out, const char *text, size_t len, bool reserved)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (isalnum(c) || (c && strchr(reserved ? "-._~:/?#[]@!$&'()*+,;=" : "-._~", c)) ||
            (reserved && is_escape(text + i, len - i)))
            tfy__buffer_char(out, (char)c);
        else
            tfy__buffer_printf(out, "%%%02X", c);
    }
}

/* "GET https://host/", a value, and a value that may have delimiters in turn. */
static bool join_pieces(Request *request, const TfyObj *pieces, TfyBuffer *line)
{
    for (int64_t i = 0; i < tfy_list_len(pieces); i++) {
        size_t len;
        const char *text = text_of(request, tfy_list_item(pieces, i).o, &len);
        if (!text) return false;
        if (i % 3)
            add_encoded(line, text, len, i % 3 == 2);
        else
            tfy__buffer_add(line, text, len);
    }
    return !line->failed || fail_memory(request);
}

static bool set_method(Request *request, const char *text, size_t len)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strlen(methods[i]) != len || memcmp(methods[i], text, len) != 0) continue;
        strcpy(request->wanted.method, methods[i]);
        return true;
    }
    tfy__call_tool_error(request->call, EINVAL,
                         "'%.*s' is not a method; use GET, HEAD, OPTIONS, PUT, DELETE, POST and PATCH",
                         len > 40 ? 40 : (int)len, text);
    return false;
}

/* If the address contains a secret, only its host is shown. */
static char *shown_url(const Request *request)
{
    char *url = tfy__http_public_url(request->wanted.url.data);
    char *host = url && request->secrets.count ? strstr(url, "://") : NULL;
    if (host) host[3 + strcspn(host + 3, "/")] = '\0';
    return url;
}

/* No control character, blank or NUL gets into a request line. */
static bool set_url(Request *request, const char *url, size_t len)
{
    Wanted *wanted = &request->wanted;
    bool plain = true;
    for (size_t i = 0; i < len; i++) plain &= (unsigned char)url[i] > ' ' && url[i] != 0x7f;
    tfy__buffer_add(&wanted->url, url, len);
    if (wanted->url.failed) return fail_memory(request);
    wanted->shown = plain && len ? shown_url(request) : NULL;
    if (wanted->shown) return true;
    tfy__call_tool_error(request->call, EINVAL,
                         "'%s' needs an address that starts with http:// or https:// and has no blanks",
                         request->call->tool->name);
    return false;
}

static bool set_line(Request *request, const TfyObj *pieces)
{
    TfyBuffer line = {0};
    bool ok = join_pieces(request, pieces, &line);
    if (ok) {
        const char *space = memchr(line.data ? line.data : "", ' ', line.len);
        size_t method = space ? (size_t)(space - line.data) : line.len, rest = space ? method + 1 : method;
        ok = set_method(request, line.data ? line.data : "", method) &&
             set_url(request, line.data + rest, line.len - rest);
    }
    tfy__buffer_wipe(&line);
    return ok;
}

/* ---- headers and body ---- */

static bool add_line(Request *request, const char *line)
{
    struct curl_slist *longer = curl_slist_append(request->wanted.headers, line);
    if (!longer) return fail_memory(request);
    request->wanted.headers = longer;
    return true;
}

static bool add_header(Request *request, const TfyObj *name, const TfyObj *value)
{
    char *line = tfy__http_header_line(request->call, &request->secrets, name, value);
    if (!line) return false;
    const bool ok = add_line(request, line);
    explicit_bzero(line, strlen(line));
    free(line);
    return ok;
}

static bool has_header(const Request *request, const char *name)
{
    size_t len = strlen(name);
    for (const struct curl_slist *header = request->wanted.headers; header; header = header->next)
        if (strncasecmp(header->data, name, len) == 0 && (header->data[len] == ':' || header->data[len] == ';'))
            return true;
    return false;
}

static bool add_default(Request *request, const char *name, const char *value)
{
    char line[640];
    if (has_header(request, name)) return true;
    snprintf(line, sizeof line, "%s: %s", name, value);
    return add_line(request, line);
}

/* The step's key, as one word. */
static bool add_key(Request *request)
{
    TfyBuffer key = {0};
    bool ok = true;
    for (const char *c = request->call->key; *c; c++) {
        if ((unsigned char)*c > ' ' && (unsigned char)*c < 0x7f && *c != '"' && *c != '%')
            tfy__buffer_char(&key, *c);
        else
            tfy__buffer_printf(&key, "%%%02X", (unsigned char)*c);
    }
    ok = key.failed ? fail_memory(request) : add_default(request, "Idempotency-Key", key.data ? key.data : "");
    tfy__buffer_free(&key);
    return ok;
}

/* Former owners of the run have smaller numbers. */
static bool add_fence(Request *request)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)request->call->fence);
    return !request->call->fence || add_default(request, "Tfy-Fence", number);
}

static bool is_pure(const TfyCall *call)
{
    return call->tool->repeat == TFY_PURE;
}

/* Without a body no type is sent: curl would otherwise send one of its own. */
static bool set_content_type(Request *request)
{
    if (request->wanted.body) return add_default(request, "Content-Type", "application/json");
    return has_header(request, "Content-Type") || add_line(request, "Content-Type:");
}

/* "Expect:" keeps curl from waiting for a permission that many small servers never give. */
static bool set_headers(Request *request, const TfyObj *map)
{
    for (int64_t i = 0; map && i < tfy_map_len(map); i++)
        if (!add_header(request, tfy_map_key_at(map, i).o, tfy_map_value_at(map, i).o)) return false;
    return (is_pure(request->call) || (add_key(request) && add_fence(request))) && set_content_type(request) &&
           add_default(request, "User-Agent", "tfy/" TFY_VERSION) &&
           (has_header(request, "Expect") || add_line(request, "Expect:"));
}

static bool set_body(Request *request, const TfyObj *body)
{
    Wanted *wanted = &request->wanted;
    if (!body) return true;
    if (strcmp(wanted->method, "GET") == 0 || strcmp(wanted->method, "HEAD") == 0) {
        tfy__call_tool_error(request->call, EINVAL, "a %s has no body", wanted->method);
        return false;
    }
    const char *text = text_of(request, body, &wanted->body_len);
    if (!text) return false;
    wanted->body = tfy__sys_malloc(wanted->body_len + 1);
    if (!wanted->body) return fail_memory(request);
    memcpy(wanted->body, text, wanted->body_len);
    return true;
}

/* ---- the response ---- */

/* Header lines come one by one, including those of redirects and interim responses: a status line starts a new
 * response. */
static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    Request *request = arg;
    size_t len = size * count;
    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0) {
        tfy__buffer_reset(&request->head);
        tfy__buffer_reset(&request->body);
        return len;
    }
    request->head_full = request->head.len + len > HEAD_MAX;
    if (request->head_full) return 0;
    tfy__buffer_add(&request->head, bytes, len);
    return request->head.failed ? 0 : len;
}

/* Beyond the limit the connection is closed: waiting for bytes that are not kept is useless. */
static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    Request *request = arg;
    size_t len = size * count, room = tfy__output_most(request->call->loop) - request->body.len;
    request->cut = len > room;
    tfy__buffer_add(&request->body, bytes, request->cut ? room : len);
    return request->cut || request->body.failed ? 0 : len;
}

/* One "Name: value" line as key and value; names in lower case. False: the line is not one, or a panic is pending. */
static bool read_header(TfyTask *task, const char *line, size_t len, TfyValue *name, TfyValue *value)
{
    char small[256];
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : 0;
    if (!name_len || name_len >= sizeof small) return false;
    for (size_t i = 0; i < name_len; i++) small[i] = (char)tolower((unsigned char)line[i]);
    const char *text = colon + 1, *end = line + len;
    while (text < end && (*text == ' ' || *text == '\t')) text++;
    while (end > text && strchr("\r\n \t", end[-1])) end--;
    name->o = tfy_string_of(task, small, name_len);
    value->o = name->o ? tfy_string_of(task, text, (size_t)(end - text)) : NULL;
    return value->o;
}

static bool same_text(TfyValue a, TfyValue b)
{
    const TfyString *x = (const TfyString *)a.o, *y = (const TfyString *)b.o;
    return x->byte_len == y->byte_len && memcmp(x->bytes, y->bytes, x->byte_len) == 0;
}

/* A header that comes twice becomes one, its values joined by commas. */
static bool keep_header(TfyTask *task, TfyValue *keys, TfyValue *values, uint32_t *count, TfyValue name, TfyValue value)
{
    uint32_t at = 0;
    while (at < *count && !same_text(keys[at], name)) at++;
    if (at < *count) {
        TfyObj *comma = tfy_string_of(task, ", ", 2);
        TfyObj *parts[] = {values[at].o, comma, value.o};
        value.o = comma ? tfy_concat(task, 0, 3, parts) : NULL;
    }
    if (!value.o || at == HEADERS_MAX) return value.o;
    keys[at] = name;
    values[at] = value;
    *count += at == *count;
    return true;
}

static TfyObj *headers_of(TfyTask *task, const TfyBuffer *head)
{
    TfyValue keys[HEADERS_MAX], values[HEADERS_MAX], name, value;
    uint32_t count = 0;
    const char *at = head->data ? head->data : "", *end = at + head->len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline ? newline + 1 : end;
        if (read_header(task, at, (size_t)(next - at), &name, &value) &&
            !keep_header(task, keys, values, &count, name, value))
            return NULL;
        if (task->error) return NULL;
        at = next;
    }
    return tfy_map_of(task, &tfy_type_map_string_string, count, keys, values);
}

static bool give_response(TfyCall *call, const Request *request, long status)
{
    TfyTask *task = call->task;
    bool lossy = false;
    TfyObj *headers = headers_of(task, &request->head);
    TfyObj *body = headers ? tfy__process_text(task, &request->body, request->cut, &lossy) : NULL;
    if (!body) return false;
    TfyValue fields[] = {tfy_of_int(status), tfy_of_obj(headers), tfy_of_obj(body), tfy_of_bool(request->cut),
                         tfy_of_bool(lossy)};
    TfyObj *result = tfy_record_of(task, &tfy_type_http_response, fields);
    if (result) tfy__call_done(call, tfy_of_obj(result));
    return result;
}

/* The start of a body for a message: one line, no control characters. */
static int quote(const TfyBuffer *body, char *out)
{
    int len = 0;
    for (size_t i = 0; i < body->len && len < QUOTE_MAX; i++)
        out[len++] = (unsigned char)body->data[i] < ' ' || body->data[i] == 0x7f ? ' ' : body->data[i];
    while (len && out[len - 1] == ' ') len--;
    return len;
}

static bool fail_status(TfyCall *call, const Request *request, long status)
{
    char words[QUOTE_MAX];
    int len = quote(&request->body, words);
    tfy__call_tool_error(call, status, "%s %s answered HTTP %ld%s%.*s", request->wanted.method, request->wanted.shown,
                         status, len ? ": " : "", len, words);
    return true;
}

static bool give_answer(TfyCall *call, Request *request, long status)
{
    if (status >= 400 && status <= 499 && !request->cut) call->outcome = TFY_NOT_DONE;
    tfy__known_mask_in(&request->head, false);
    tfy__known_mask_in(&request->body, request->cut);
    if (call->result == &tfy_type_http_response) return give_response(call, request, status);
    if (status < 200 || status > 299) return fail_status(call, request, status);
    return tfy__output_give(call, &request->body, request->cut, "an HttpResponse");
}

/* ---- failures ---- */

/* No byte of the request was sent: the connection was never established. */
static bool was_never_sent(const Request *request)
{
    curl_off_t ready_us = 0;
    curl_easy_getinfo(request->transfer.easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    return ready_us == 0;
}

static int64_t code_of(CURLcode result, long os_error)
{
    switch (result) {
    case CURLE_OPERATION_TIMEDOUT: return ETIMEDOUT;
    case CURLE_TOO_MANY_REDIRECTS: return ELOOP;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR: return ECONNRESET;
    case CURLE_COULDNT_RESOLVE_HOST: return EHOSTUNREACH;
    case CURLE_COULDNT_CONNECT: return os_error ? os_error : ECONNREFUSED;
    default: return os_error ? os_error : EPROTO;
    }
}

static const char *words_of(CURLcode result)
{
    switch (result) {
    case CURLE_TOO_MANY_REDIRECTS: return "it was redirected more than 10 times";
    case CURLE_UNSUPPORTED_PROTOCOL: return "the server does not speak HTTP";
    default: return curl_easy_strerror(result);
    }
}

static bool fail_transfer(TfyCall *call, const Request *request, CURLcode result, long status)
{
    const Wanted *wanted = &request->wanted;
    long os_error = 0;
    curl_easy_getinfo(request->transfer.easy, CURLINFO_OS_ERRNO, &os_error);
    if (request->head_full) {
        tfy__call_tool_error(call, EFBIG, "%s %s answered with more than %zu bytes of headers", wanted->method,
                             wanted->shown, HEAD_MAX);
        return true;
    }
    if (was_never_sent(request)) call->outcome = TFY_NOT_DONE;
    tfy__call_tool_error(call, code_of(result, os_error), "%s %s: %s%s", wanted->method, wanted->shown,
                         status && result != CURLE_TOO_MANY_REDIRECTS ? "the response broke off: " : "",
                         words_of(result));
    return true;
}

static void on_end(void *arg, CURLcode result)
{
    Request *request = arg;
    TfyCall *call = request->call;
    TfyTask *task = call->task; /* the call may be gone when it is answered */
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    long status = 0;
    int no_room;
    bool answered = true;
    curl_easy_getinfo(request->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    call->state = NULL;
    if (request->body.failed || request->head.failed)
        fail_memory(request);
    else if (result == CURLE_OK || request->cut)
        answered = give_answer(call, request, status);
    /* a pure request can also lack room at the target of a redirect */
    else if ((no_room = tfy__http_no_room(&request->transfer)) ||
             (is_pure(call) && (no_room = request->transfer.no_room)))
        tfy__call_no_room(call, no_room);
    else
        answered = fail_transfer(call, request, result, status);
    if (!answered) tfy__output_panicked(call);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
    free_request(request);
}

/* ---- the start ---- */

/* A request with a secret must not carry it on to another address that the server names. */
static bool may_redirect(const Request *request)
{
    const char *method = request->wanted.method;
    return is_pure(request->call) && !request->secrets.count && !request->bounded &&
           (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
}

static bool set_sending(Request *request)
{
    CURL *easy = request->transfer.easy;
    const Wanted *wanted = &request->wanted;
    bool once = !is_pure(request->call), ok = true;
    if (strcmp(wanted->method, "HEAD") == 0)
        ok = curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    else if (strcmp(wanted->method, "GET") != 0 && (wanted->body || wanted->method[0] == 'P'))
        ok = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)wanted->body_len) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_POSTFIELDS, wanted->body ? wanted->body : "") == CURLE_OK;
    if (strcmp(wanted->method, "HEAD") != 0 && strcmp(wanted->method, "GET") != 0)
        ok = ok && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, wanted->method) == CURLE_OK;
    /* a new connection and a protocol without retransmission: curl sends nothing twice by itself */
    if (once)
        ok = ok && curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
    return ok && curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, may_redirect(request) ? 1L : 0L) == CURLE_OK;
}

static bool set_options(Request *request)
{
    CURL *easy = request->transfer.easy;
    return curl_easy_setopt(easy, CURLOPT_URL, request->wanted.url.data) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECT_MAX) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->wanted.headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, TOTAL_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, STALL_S) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, request) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, request) == CURLE_OK && set_sending(request);
}

static TfyHttp *client_of(TfyLoop *loop)
{
    void **place = tfy__effect_slot(loop, TFY_M_HTTP);
    if (!*place) *place = tfy__http_new(loop);
    return *place;
}

/* May the run reach this address? False after the call has failed. */
static bool is_within(Request *request)
{
    char what[512];
    snprintf(what, sizeof what, "%s %s", request->wanted.method, request->wanted.shown);
    return tfy__http_is_within(request->call, request->wanted.url.data, what, &request->bounded);
}

/* False after the call has failed. */
static bool send_request(Request *request)
{
    request->client = client_of(request->call->loop);
    request->transfer = (TfyTransfer){.ended = on_end, .arg = request};
    if (request->client) request->transfer.easy = tfy__http_easy(request->client);
    bool ok = request->transfer.easy && set_options(request) && tfy__http_start(request->client, &request->transfer);
    if (ok) request->call->outcome = TFY_UNKNOWN;
    if (ok) tfy__secrets_used(request->call, &request->secrets);
    return ok || fail_memory(request);
}

/* What a tool's declaration says of a request. */
typedef struct Declared {
    TfyValue line, headers, body;
} Declared;

static bool declared_parts(TfyTask *task, const TfyTool *tool, const TfyValue *args, Declared *out)
{
    *out = (Declared){.line = {.o = NULL}};
    return tool->argv(task, args, &out->line) && (!tool->env || tool->env(task, args, &out->headers)) &&
           (!tool->input || tool->input(task, args, &out->body));
}

static bool set_declared(Request *request)
{
    TfyCall *call = request->call;
    Declared parts;
    if (!declared_parts(call->task, call->tool, call->args, &parts)) {
        tfy__output_panicked(call);
        return false;
    }
    return set_line(request, parts.line.o) && set_body(request, parts.body.o) && set_headers(request, parts.headers.o);
}

static bool set_given(Request *request)
{
    const TfyValue *args = request->call->args;
    size_t method_len, url_len;
    const char *method = text_of(request, args[ARG_METHOD].o, &method_len);
    const char *url =
        method && set_method(request, method, method_len) ? text_of(request, args[ARG_URL].o, &url_len) : NULL;
    return url && set_url(request, url, url_len) && set_body(request, args[ARG_BODY].o) &&
           set_headers(request, args[ARG_HEADERS].o);
}

static void start(TfyCall *call)
{
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    Request *request = tfy__sys_calloc(1, sizeof *request);
    call->outcome = TFY_NOT_DONE;
    if (!request) {
        tfy__call_starved(call);
        return;
    }
    request->call = call;
    if ((call->tool->argv ? set_declared(request) : set_given(request)) && is_within(request) && send_request(request))
        call->state = request;
    else
        free_request(request);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void abort_request(TfyCall *call)
{
    if (call->state) free_request(call->state);
    call->state = NULL;
}

static void close_client(TfyLoop *loop)
{
    void **place = tfy__effect_slot(loop, TFY_M_HTTP);
    tfy__http_free(*place);
    *place = NULL;
    tfy__secret_close(loop);
}

/* A part of the address; a secret stays the name that it has in the program. */
static void add_shown(TfyBuffer *line, const TfyString *text, bool reserved)
{
    const TfyStretch *stretches = tfy__string_secrets(&text->head);
    uint32_t at = 0;
    for (uint32_t i = 0; i < text->secrets; i++) {
        add_encoded(line, text->bytes + at, stretches[i].at - at, reserved);
        tfy__buffer_add(line, text->bytes + stretches[i].at, stretches[i].len);
        at = stretches[i].at + stretches[i].len;
    }
    add_encoded(line, text->bytes + at, text->byte_len - at, reserved);
}

/* The request line as the tool declares it, with a NUL behind its method; secrets stay names. Returns the address. */
static const char *declared_line(const TfyObj *pieces, TfyBuffer *line)
{
    for (int64_t i = 0; i < tfy_list_len(pieces); i++) {
        const TfyString *piece = (const TfyString *)tfy_list_item(pieces, i).o;
        if (i % 3)
            add_shown(line, piece, i % 3 == 2);
        else
            tfy__buffer_add(line, piece->bytes, piece->byte_len);
    }
    char *blank = line->failed || !line->data ? NULL : strchr(line->data, ' ');
    if (!blank) return "";
    *blank = '\0';
    return blank + 1;
}

static void show_pieces(const TfyObj *pieces, TfyBuffer *out)
{
    TfyBuffer line = {0};
    const char *url = declared_line(pieces, &line), *method = line.failed || !line.data ? "" : line.data;
    out->failed |= line.failed;
    out->starved |= line.starved;
    tfy__show_word(out, method, strlen(method));
    tfy__show_word(out, url, strlen(url));
    tfy__buffer_free(&line);
}

bool tfy__show_http(TfyTask *task, const TfyAsked *asked, const TfyValue *args, TfyBuffer *out)
{
    const TfyTool *tool = asked->tool;
    Declared parts;
    if (tool && !declared_parts(task, tool, args, &parts)) return false;
    if (!tool) parts = (Declared){.headers = args[ARG_HEADERS], .body = args[ARG_BODY]};
    tfy__show_row(out, "sends");
    if (tool)
        show_pieces(parts.line.o, out);
    else
        for (int i = 0; i < 2; i++) tfy__show_text(out, args[i].o);
    tfy__buffer_char(out, ']');
    tfy__show_entries(out, "header", ": ", parts.headers.o);
    if (!parts.body.o) return true;
    tfy__show_row(out, "body");
    tfy__show_text(out, parts.body.o);
    tfy__buffer_char(out, ']');
    return true;
}

static void tell_line(const TfyObj *pieces, TfyBuffer *out)
{
    TfyBuffer line = {0};
    const char *url = declared_line(pieces, &line), *method = line.failed || !line.data ? "" : line.data;
    tfy__buffer_text(out, "\"method\":");
    tfy__buffer_json_string(out, method, strlen(method));
    tfy__buffer_text(out, ",\"url\":");
    tfy__told_string(out, url, strlen(url));
    out->failed |= line.failed;
    tfy__buffer_free(&line);
}

static bool tell(TfyCall *call, const json_t *messages, TfyBuffer *out)
{
    const TfyValue *args = call->args;
    Declared parts;
    (void)messages;
    if (call->tool->argv) {
        if (!declared_parts(call->task, call->tool, args, &parts)) return false;
        tell_line(parts.line.o, out);
    } else {
        parts = (Declared){.headers = args[ARG_HEADERS], .body = args[ARG_BODY]};
        tfy__told_text(out, "method", args[ARG_METHOD].o);
        tfy__told_text(out, "url", args[ARG_URL].o);
    }
    tfy__told_names(out, "headers", parts.headers.o);
    tfy__told_text(out, "body", parts.body.o);
    return true;
}

const TfyPerformer tfy__perform_http = {.name = "http",
                                        .start = start,
                                        .abort = abort_request,
                                        .close = close_client,
                                        .tell = tell,
                                        .prepare = tfy__secrets_prepare};

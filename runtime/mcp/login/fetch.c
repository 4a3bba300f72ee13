/* fetch.c: see fetch.h. */
#include "mcp/login/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "effects/http_client.h"
#include "value/json.h"

#define CONNECT_MS 10000L
#define SAID_MOST  200 /* bytes of what an issuer says about an error */

/* ---- what is sent ---- */

void tfy__fetch_add(TfyFetch *fetch, const char *name, const char *value)
{
    fetch->type = TFY_FETCH_FORM;
    if (fetch->body.len) tfy__buffer_char(&fetch->body, '&');
    tfy__buffer_text(&fetch->body, name);
    tfy__buffer_char(&fetch->body, '=');
    tfy__buffer_url_part(&fetch->body, value, strlen(value));
}

static bool add_header(TfyFetch *fetch, const char *line)
{
    struct curl_slist *longer = curl_slist_append(fetch->headers, line);
    if (longer) fetch->headers = longer;
    return longer;
}

/* Both are encoded as in a form before they are joined (RFC 6749, 2.3.1). */
static bool add_basic(TfyFetch *fetch, const char *id, const char *secret)
{
    TfyBuffer pair = {0}, line = {0};
    tfy__buffer_url_part(&pair, id, strlen(id));
    tfy__buffer_char(&pair, ':');
    tfy__buffer_url_part(&pair, secret, strlen(secret));
    tfy__buffer_text(&line, "Authorization: Basic ");
    if (!pair.failed) tfy__write_base64(&line, pair.data, pair.len);
    const bool ok = !pair.failed && !line.failed && add_header(fetch, line.data);
    tfy__buffer_wipe(&pair);
    tfy__buffer_wipe(&line);
    return ok;
}

bool tfy__fetch_show(TfyFetch *fetch, const json_t *client)
{
    const char *id = json_string_value(json_object_get(client, "id"));
    const char *secret = json_string_value(json_object_get(client, "secret"));
    const char *method = json_string_value(json_object_get(client, "method"));
    if (secret && method && strcmp(method, "client_secret_basic") == 0) return add_basic(fetch, id ? id : "", secret);
    tfy__fetch_add(fetch, "client_id", id ? id : "");
    if (secret && method && strcmp(method, "client_secret_post") == 0) tfy__fetch_add(fetch, "client_secret", secret);
    return !fetch->body.failed;
}

/* ---- the transfer ---- */

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    TfyFetch *fetch = arg;
    const size_t len = size * count;
    fetch->too_big |= fetch->answer.len + len > TFY_FETCH_MOST;
    if (fetch->too_big) return 0;
    tfy__buffer_add(&fetch->answer, bytes, len);
    return fetch->answer.failed ? 0 : len;
}

static bool set_body(TfyFetch *fetch, CURL *easy)
{
    char line[80];
    if (!fetch->type) return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    snprintf(line, sizeof line, "Content-Type: %s", fetch->type);
    return add_header(fetch, line) && !fetch->body.failed && curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body.len) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, fetch->body.data) == CURLE_OK;
}

bool tfy__fetch_set(TfyFetch *fetch, CURL *easy, const char *url)
{
    return set_body(fetch, easy) && add_header(fetch, "Accept: application/json") &&
           add_header(fetch, "User-Agent: tfy/" TFY_VERSION) && add_header(fetch, "Expect:") &&
           curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT, TFY_FETCH_S) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch) == CURLE_OK;
}

/* ---- the answer ---- */

json_t *tfy__fetch_json(const TfyFetch *fetch)
{
    json_t *json =
        fetch->answer.len ? json_loadb(fetch->answer.data, fetch->answer.len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(json)) return json;
    json_decref(json);
    return NULL;
}

bool tfy__fetch_is_error(const TfyFetch *fetch, const char *error)
{
    json_t *json = tfy__fetch_json(fetch);
    const char *said = json_string_value(json_object_get(json, "error"));
    const bool is = said && strcmp(said, error) == 0;
    json_decref(json);
    return is;
}

/* What an issuer says in its JSON, not in a page. */
static void quote(const TfyFetch *fetch, char *why)
{
    json_t *json = tfy__fetch_json(fetch);
    const char *error = json_string_value(json_object_get(json, "error"));
    const char *more = json_string_value(json_object_get(json, "error_description"));
    const size_t used = strlen(why);
    if (error)
        snprintf(why + used, TFY_ERROR_TEXT - used, ": %.60s%s%.*s", error, more ? ": " : "", SAID_MOST,
                 more ? more : "");
    json_decref(json);
}

long tfy__fetch_ended(const TfyFetch *fetch, CURL *easy, CURLcode result, char *why)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    *why = '\0';
    if (fetch->too_big)
        snprintf(why, TFY_ERROR_TEXT, "answered more than %zu KiB", TFY_FETCH_MOST >> 10);
    else if (result == CURLE_OPERATION_TIMEDOUT)
        snprintf(why, TFY_ERROR_TEXT, "did not answer within %ld s", TFY_FETCH_S);
    else if (result != CURLE_OK)
        snprintf(why, TFY_ERROR_TEXT, "cannot be reached: %s", curl_easy_strerror(result));
    else if (status >= 300 && status < 400)
        snprintf(why, TFY_ERROR_TEXT, "answered with a redirect (HTTP %ld), which is not followed", status);
    else if (status < 200 || status >= 300)
        snprintf(why, TFY_ERROR_TEXT, "answered HTTP %ld", status);
    if (*why && result == CURLE_OK && !fetch->too_big) quote(fetch, why);
    return result == CURLE_OK ? status : 0;
}

void tfy__fetch_free(TfyFetch *fetch)
{
    tfy__http_headers_free(fetch->headers);
    tfy__buffer_wipe(&fetch->body);
    tfy__buffer_wipe(&fetch->answer);
    *fetch = (TfyFetch){.type = NULL};
}

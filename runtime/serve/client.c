/* client.c: see client.h. */
#include "serve/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/frame/cli.h"

enum { TIMEOUT_S = 150, TOKEN_MOST = 256 };

/* A request under way. */
typedef struct Asking {
    CURL *curl;
    struct curl_slist *headers;
    TfyBuffer got;
    char token[TOKEN_MOST];
    char said[CURL_ERROR_SIZE];
} Asking;

static size_t collect(char *bytes, size_t size, size_t count, void *arg)
{
    tfy__buffer_add(arg, bytes, size * count);
    return size * count;
}

/* ---- where it is ---- */

static bool refuse(TfyReply *reply, const char *format, const char *text, const char *why)
{
    snprintf(reply->error, sizeof reply->error, format, text, why);
    return false;
}

/* A file that others can read keeps no secret. */
static bool read_token(char token[TOKEN_MOST], TfyReply *reply)
{
    const char *path = getenv("TFY_TOKEN_FILE");
    struct stat st;
    if (!path) return refuse(reply, "%s%s", "--server needs a token: name the file that has it in $TFY_TOKEN_FILE", "");
    FILE *file = fopen(path, "re");
    if (!file) return refuse(reply, "cannot read %.200s: %s", path, strerror(errno));
    const bool own = fstat(fileno(file), &st) == 0 && !(st.st_mode & 077);
    const bool read = own && fgets(token, TOKEN_MOST, file);
    fclose(file);
    if (!own) return refuse(reply, "others can read %.200s; type: chmod 600 %.200s", path, path);
    if (!read) return refuse(reply, "there is no token in %.200s%s", path, "");
    token[strcspn(token, "\r\n")] = '\0';
    return true;
}

static void add_header(Asking *asking, const char *name, const char *value)
{
    TfyBuffer line = {0};
    tfy__buffer_printf(&line, "%s: %s", name, value);
    if (!line.failed) asking->headers = curl_slist_append(asking->headers, line.data);
    tfy__buffer_free(&line);
}

static bool aim_elsewhere(Asking *asking, const TfyClient *client, const char *path, TfyReply *reply)
{
    TfyBuffer url = {0}, bearer = {0};
    const size_t len = strlen(client->url);
    const bool secure = strncmp(client->url, "https://", 8) == 0;
    if (!secure && strncmp(client->url, "http://", 7) != 0)
        return refuse(reply, "'%.200s' is not a URL such as https://tfy.example.org%s", client->url, "");
    if (!read_token(asking->token, reply)) return false;
    tfy__buffer_printf(&url, "%.*s%s", (int)(len - (client->url[len - 1] == '/')), client->url, path);
    tfy__buffer_printf(&bearer, "Bearer %s", asking->token);
    if (!url.failed) curl_easy_setopt(asking->curl, CURLOPT_URL, url.data);
    if (!bearer.failed) add_header(asking, "Authorization", bearer.data);
    tfy__buffer_free(&url);
    tfy__buffer_free(&bearer);
    return true;
}

/* The directory belongs to the server's user, and so does the socket in it; its path may be longer than one of a socket, so
 * it is named from inside. */
static bool aim_here(Asking *asking, const TfyClient *client, const char *path, TfyReply *reply)
{
    char live[4096], url[512];
    snprintf(live, sizeof live, "%s-live", client->db);
    reply->absent = chdir(live) != 0;
    if (reply->absent) return refuse(reply, "no server of %.300s runs%s", client->db, "");
    snprintf(url, sizeof url, "http://tfy%.480s", path);
    curl_easy_setopt(asking->curl, CURLOPT_UNIX_SOCKET_PATH, "http");
    curl_easy_setopt(asking->curl, CURLOPT_URL, url);
    return true;
}

/* ---- asking ---- */

static void send_it(Asking *asking, const TfyClient *client, const char *method, const char *body, TfyReply *reply)
{
    char wait[32];
    add_header(asking, "Content-Type", "application/json");
    if (client->key) add_header(asking, "Idempotency-Key", client->key);
    snprintf(wait, sizeof wait, "wait=%d", client->wait_s);
    if (client->wait_s) add_header(asking, "Prefer", wait);
    curl_easy_setopt(asking->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(asking->curl, CURLOPT_HTTPHEADER, asking->headers);
    curl_easy_setopt(asking->curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
    curl_easy_setopt(asking->curl, CURLOPT_ERRORBUFFER, asking->said);
    curl_easy_setopt(asking->curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(asking->curl, CURLOPT_WRITEDATA, &asking->got);
    if (body) curl_easy_setopt(asking->curl, CURLOPT_POSTFIELDS, body);
    const CURLcode code = curl_easy_perform(asking->curl);
    if (code == CURLE_OK) curl_easy_getinfo(asking->curl, CURLINFO_RESPONSE_CODE, &reply->status);
    reply->absent = code == CURLE_COULDNT_CONNECT && !client->url;
    if (reply->absent)
        refuse(reply, "no server of %.300s runs%s", client->db, "");
    else if (!reply->status)
        refuse(reply, "%.200s does not answer: %s", client->url ? client->url : client->db,
               *asking->said ? asking->said : curl_easy_strerror(code));
    if (reply->status) reply->json = json_loadb(asking->got.data, asking->got.len, JSON_ALLOW_NUL, NULL);
}

TfyReply tfy__client_ask(const TfyClient *client, const char *method, const char *path, const json_t *body)
{
    TfyReply reply = {.error = "memory ran out"};
    char here[4096];
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    Asking asking = {.curl = curl_easy_init()};
    const bool back = getcwd(here, sizeof here);
    bool aimed = asking.curl && (text || !body) && back;
    if (aimed)
        aimed = client->url ? aim_elsewhere(&asking, client, path, &reply) : aim_here(&asking, client, path, &reply);
    if (aimed) send_it(&asking, client, method, text, &reply);
    if (back) (void)!chdir(here);
    curl_slist_free_all(asking.headers);
    if (asking.curl) curl_easy_cleanup(asking.curl);
    tfy__buffer_free(&asking.got);
    free(text);
    return reply;
}

void tfy__client_free(TfyReply *reply)
{
    json_decref(reply->json);
    reply->json = NULL;
}

/* ---- what it says ---- */

static int status_of(long status)
{
    switch (status) {
    case 400:
    case 401:
    case 403:
    case 409:
    case 412:
    case 413:
    case 422: return EXIT_USAGE;
    case 404: return EXIT_MISSING;
    case 429:
    case 503: return EXIT_WAITING;
    default: return EXIT_LOG;
    }
}

/* Every mistake of the arguments is a line of its own. */
static void say_mistakes(const json_t *problem)
{
    const json_t *mistake;
    size_t i;
    json_array_foreach(json_object_get(problem, "errors"), i, mistake)
        tfy__say("%s: %s", json_string_value(json_object_get(mistake, "path")),
                 json_string_value(json_object_get(mistake, "detail")));
}

int tfy__client_judge(const TfyClient *client, const TfyReply *reply)
{
    const char *title = json_string_value(json_object_get(reply->json, "title")),
               *detail = json_string_value(json_object_get(reply->json, "detail")),
               *messages = json_string_value(json_object_get(reply->json, "messages"));
    if (reply->absent)
        return tfy__fail(EXIT_MISSING, "%s; 'tfy serve' starts one, and --server URL names another", reply->error);
    if (!reply->status) return tfy__fail(EXIT_MISSING, "%s", reply->error);
    if (reply->status < 400) return EXIT_DONE;
    if (messages) tfy__say_text("%s", messages);
    say_mistakes(reply->json);
    if (!json_object_get(reply->json, "errors"))
        tfy__say("%s", detail ? detail : title ? title : "the server answered what no server of tfy does");
    return status_of(reply->status);
}

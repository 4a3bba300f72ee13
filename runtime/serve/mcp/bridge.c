/* bridge.c: see bridge.h. A thread for each request, since an answer may take as long as a run; the greeting of an older
 * client is answered before the next line is read, because what follows is of the session that it opens. */
#include "serve/mcp/bridge.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "mcp/schema.h"
#include "mcp/server/asked.h"
#include "serve/clock.h"

enum { SESSION_MOST = 64, LAST_MS = 2000, SOCKET_PATH = 64 };

typedef struct Bridge {
    int out;
    char socket[SOCKET_PATH]; /* through the descriptor of its directory: a socket's path is short */
    pthread_mutex_t mutex;    /* held for: */
    pthread_cond_t idle;
    uint32_t under_way;
    char session[SESSION_MOST]; /* of an older client; "": none yet */
    char revision[32];
} Bridge;

/* A message on its way. */
typedef struct Handing {
    Bridge *bridge;
    TfyMcpMessage message;
    TfyBuffer text; /* of the message */
    TfyBuffer got;  /* of its answer: all of it, or the line of a stream that has not ended */
    struct curl_slist *headers;
    bool streams, greets;
    char session[SESSION_MOST];
} Handing;

/* ---- the socket ---- */

static bool name_socket(const char *db, char path[SOCKET_PATH])
{
    char live[4096];
    const int dir = snprintf(live, sizeof live, "%s-live", db) < (int)sizeof live
                        ? open(live, O_PATH | O_DIRECTORY | O_CLOEXEC)
                        : -1;
    if (dir >= 0) snprintf(path, SOCKET_PATH, "/proc/self/fd/%d/http", dir);
    return dir >= 0;
}

bool tfy__mcp_bridge_has(const char *db)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[SOCKET_PATH];
    if (!name_socket(db, path)) return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const bool has = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0) close(fd);
    close((int)strtol(path + sizeof "/proc/self/fd/" - 1, NULL, 10));
    return has;
}

/* ---- to the client ---- */

static void write_line(Bridge *bridge, const char *text, size_t len)
{
    TfyBuffer line = {0};
    tfy__buffer_add(&line, text, len);
    tfy__buffer_char(&line, '\n');
    pthread_mutex_lock(&bridge->mutex);
    for (size_t sent = 0; !line.failed && sent < line.len;) {
        const ssize_t written = write(bridge->out, line.data + sent, line.len - sent);
        if (written <= 0) break;
        sent += (size_t)written;
    }
    pthread_mutex_unlock(&bridge->mutex);
    tfy__buffer_free(&line);
}

static void refuse(Handing *handing, const char *why)
{
    TfyMcpRefusal refusal = {.code = 0};
    TfyBuffer text = {0};
    if (handing->message.kind != TFY_MCP_REQUEST) return;
    tfy__refusal_set(&refusal, 500, TFY_MCP_INTERNAL, "%s", why);
    tfy__refusal_write(&text, handing->message.id, &refusal);
    if (!text.failed) write_line(handing->bridge, text.data, text.len);
    tfy__buffer_free(&text);
}

/* ---- an answer ---- */

static void take_events(Handing *handing)
{
    TfyBuffer *got = &handing->got;
    for (char *feed; got->len && (feed = memchr(got->data, '\n', got->len));) {
        const size_t len = (size_t)(feed - got->data);
        if (len > 6 && memcmp(got->data, "data: ", 6) == 0) write_line(handing->bridge, got->data + 6, len - 6);
        memmove(got->data, feed + 1, got->len - len - 1);
        got->len -= len + 1;
    }
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    Handing *handing = arg;
    tfy__buffer_add(&handing->got, bytes, size * count);
    if (handing->streams && !handing->got.failed) take_events(handing);
    return size * count;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    Handing *handing = arg;
    static const char session[] = "Mcp-Session-Id: ", stream[] = "Content-Type: text/event-stream";
    const size_t len = size * count;
    if (len > sizeof session && strncasecmp(bytes, session, sizeof session - 1) == 0)
        snprintf(handing->session, sizeof handing->session, "%.*s", (int)strcspn(bytes + sizeof session - 1, "\r\n"),
                 bytes + sizeof session - 1);
    if (len > sizeof stream && strncasecmp(bytes, stream, sizeof stream - 1) == 0) handing->streams = true;
    return len;
}

/* What is no message of the protocol is why the server refused: a problem, with its detail. */
static void finish(Handing *handing)
{
    json_t *json = json_loadb(handing->got.data ? handing->got.data : "", handing->got.len, 0, NULL);
    const char *detail = json_string_value(json_object_get(json, "detail"));
    if (json_object_get(json, "jsonrpc"))
        write_line(handing->bridge, handing->got.data, handing->got.len);
    else if (!handing->streams)
        refuse(handing, detail ? detail : "the server of the database gave no answer");
    if (handing->greets) {
        const json_t *result = json_object_get(json, "result");
        const char *revision = json_string_value(json_object_get(result, "protocolVersion"));
        if (*handing->session) snprintf(handing->bridge->session, SESSION_MOST, "%s", handing->session);
        snprintf(handing->bridge->revision, sizeof handing->bridge->revision, "%s", revision ? revision : "");
    }
    json_decref(json);
}

/* ---- a request ---- */

static void add_header(Handing *handing, const char *name, const char *value)
{
    TfyBuffer line = {0};
    tfy__buffer_printf(&line, "%s: ", name);
    tfy__mcp_header_value(&line, value, strlen(value));
    if (!line.failed) handing->headers = curl_slist_append(handing->headers, line.data);
    tfy__buffer_free(&line);
}

static void add_headers(Handing *handing)
{
    static const char *const members[] = {"name", "uri", "taskId"};
    const TfyMcpMessage *message = &handing->message;
    const json_t *meta = json_object_get(message->params, "_meta");
    const char *revision = json_string_value(json_object_get(meta, "io.modelcontextprotocol/protocolVersion"));
    handing->headers = curl_slist_append(NULL, "Content-Type: application/json");
    handing->headers = curl_slist_append(handing->headers, "Accept: application/json, text/event-stream");
    if (!revision && *handing->bridge->session) {
        add_header(handing, "Mcp-Session-Id", handing->bridge->session);
        add_header(handing, "MCP-Protocol-Version", handing->bridge->revision);
        return;
    }
    add_header(handing, "MCP-Protocol-Version", revision ? revision : TFY_MCP_NEWEST);
    if (message->method) add_header(handing, "Mcp-Method", message->method);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *value = json_string_value(json_object_get(message->params, members[i]));
        if (!value) continue;
        add_header(handing, "Mcp-Name", value);
        return;
    }
}

static void ask(Handing *handing)
{
    CURL *curl = curl_easy_init();
    add_headers(handing);
    if (!curl) return;
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, handing->bridge->socket);
    curl_easy_setopt(curl, CURLOPT_URL, "http://tfy/mcp");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handing->headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, handing->text.data);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)handing->text.len);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, handing);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, handing);
    curl_easy_perform(curl);
    curl_easy_cleanup(curl);
}

static void *hand_over(void *arg)
{
    Handing *handing = arg;
    Bridge *bridge = handing->bridge;
    ask(handing);
    finish(handing);
    curl_slist_free_all(handing->headers);
    tfy__mcp_message_free(&handing->message);
    tfy__buffer_free(&handing->text);
    tfy__buffer_free(&handing->got);
    free(handing);
    pthread_mutex_lock(&bridge->mutex);
    bridge->under_way--;
    pthread_cond_signal(&bridge->idle);
    pthread_mutex_unlock(&bridge->mutex);
    return NULL;
}

static void take_line(Bridge *bridge, const char *line, size_t len)
{
    pthread_t thread;
    Handing *handing = len ? calloc(1, sizeof *handing) : NULL;
    if (!handing) return;
    handing->bridge = bridge;
    tfy__buffer_add(&handing->text, line, len);
    tfy__mcp_read(line, len, &handing->message);
    handing->greets = handing->message.kind == TFY_MCP_REQUEST && strcmp(handing->message.method, "initialize") == 0;
    pthread_mutex_lock(&bridge->mutex);
    bridge->under_way++;
    pthread_mutex_unlock(&bridge->mutex);
    if (handing->greets || pthread_create(&thread, NULL, hand_over, handing) != 0)
        hand_over(handing);
    else
        pthread_detach(thread);
}

/* ---- all of it ---- */

static void await_answers(Bridge *bridge)
{
    const struct timespec until = tfy__deadline(LAST_MS);
    int waited = 0;
    pthread_mutex_lock(&bridge->mutex);
    while (bridge->under_way && !waited) waited = pthread_cond_timedwait(&bridge->idle, &bridge->mutex, &until);
    pthread_mutex_unlock(&bridge->mutex);
}

int tfy__mcp_bridge_run(const char *db, int in, int out)
{
    static Bridge bridge = {.mutex = PTHREAD_MUTEX_INITIALIZER}; /* threads may outlive this function */
    FILE *lines = fdopen(in, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    bridge.out = out;
    tfy__cond_init(&bridge.idle);
    if (!lines || !name_socket(db, bridge.socket) || curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return tfy__fail(EXIT_MISSING, "the server of %s cannot be asked", db);
    tfy__say("%s is served already, by a process that takes the calls", db);
    while ((len = getline(&line, &room, lines)) > 0 && (size_t)len <= TFY_MCP_MESSAGE_MOST)
        take_line(&bridge, line, (size_t)len - (line[len - 1] == '\n'));
    free(line);
    await_answers(&bridge);
    return EXIT_DONE;
}

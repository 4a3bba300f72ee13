/* http_server.c: a server on loopback that answers by the path it is asked for, well and badly.
 *
 *   http_server [--log FILE] [--port N]
 *
 * It prints its address on one line and serves until it is killed; every request it has read is one line METHOD PATH in the log.
 *
 *   /echo        200, the request as it came: head and body
 *   /json        200, {"city": "…", "temp": 21}; the city is the rest of the path, decoded by nobody; for "nothing" it is no string
 *   /text        200, "line one\nline two\n"
 *   /empty       204
 *   /status/N    status N with a body that says so
 *   /to/PATH     302 to /PATH;  /circle goes to itself
 *   /drip        200, a byte at a time
 *   /hang        reads the request and never answers
 *   /reset       reads the request and resets the connection
 *   /half        200, half of what Content-Length says, then the end
 *   /huge        200, a body without end
 *   /heads       200, headers without end
 *   /garbage     no HTTP at all
 *   /twice       200, one header twice, and bytes that are no UTF-8 */
#pragma GCC diagnostic ignored "-Wunused-function" /* of what server.h brings */
#include "../llm/server.h"

static bool put(const Client *client, const char *text)
{
    return send_all(client->fd, text, strlen(text));
}

static void answer_with(const Client *client, const char *status, const char *more, const char *body, size_t len)
{
    char head[1024];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n", status, len, more);
    if (put(client, head)) send_all(client->fd, body, len);
}

static void answer_text(const Client *client, const char *status, const char *more, const char *body)
{
    answer_with(client, status, more, body, strlen(body));
}

static void reset(const Client *client)
{
    struct linger now = {.l_onoff = 1};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static void send_json(const Client *client, const char *path)
{
    char body[512];
    const char *city = strlen(path) > 6 ? path + 6 : "nowhere";
    snprintf(body, sizeof body, "{\"city\": \"%.200s\", \"temp\": 21}", city);
    answer_text(client, "200 OK", "Content-Type: application/json\r\n", body);
}

static void send_status_of(const Client *client, const char *path)
{
    char status[32], body[64];
    snprintf(status, sizeof status, "%.3s Scripted", path + 8);
    snprintf(body, sizeof body, "this is %.3s,\nas asked for", path + 8);
    answer_text(client, status, "", body);
}

static void redirect(const Client *client, const char *to)
{
    char more[512];
    snprintf(more, sizeof more, "Location: %s\r\n", to);
    answer_text(client, "302 Found", more, "elsewhere");
}

static void send_heads(const Client *client)
{
    if (!put(client, "HTTP/1.1 200 OK\r\n")) return;
    while (put(client, "X-More: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")) {}
}

static void send_drip(const Client *client)
{
    static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ndrops";
    drip(client, whole, sizeof whole - 1);
}

static void serve_path(const Client *client, const char *path)
{
    if (strcmp(path, "/echo") == 0)
        answer_with(client, "200 OK", "Content-Type: text/plain\r\n", client->request, client->len);
    else if (strcmp(path, "/json/nothing") == 0)
        answer_text(client, "200 OK", "", "{\"city\": 3}");
    else if (strncmp(path, "/json", 5) == 0)
        send_json(client, path);
    else if (strcmp(path, "/text") == 0)
        answer_text(client, "200 OK", "", "line one\nline two\n");
    else if (strcmp(path, "/empty") == 0)
        (void)put(client, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    else if (strncmp(path, "/status/", 8) == 0)
        send_status_of(client, path);
    else if (strncmp(path, "/to/", 4) == 0)
        redirect(client, path + 3);
    else if (strcmp(path, "/circle") == 0)
        redirect(client, path);
    else if (strcmp(path, "/drip") == 0)
        send_drip(client);
    else if (strcmp(path, "/hang") == 0)
        wait_for_close(client);
    else if (strcmp(path, "/reset") == 0)
        reset(client);
    else if (strcmp(path, "/half") == 0)
        (void)put(client, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    else if (strcmp(path, "/huge") == 0)
        send_large(client);
    else if (strcmp(path, "/heads") == 0)
        send_heads(client);
    else if (strcmp(path, "/garbage") == 0)
        (void)put(client, "SSH-2.0-what\r\n\r\n");
    else if (strcmp(path, "/twice") == 0)
        answer_text(client, "200 OK", "X-A: one\r\nX-A: two\r\n",
                    "a\xff"
                    "b");
    else
        answer_text(client, "404 Not Found", "", "there is nothing here");
}

static void *serve_client(void *arg)
{
    Client *client = arg;
    char method[16], path[1024];
    if (read_request(client) && sscanf(client->request, "%15s %1023s", method, path) == 2) {
        pthread_mutex_lock(&client->server->lock);
        if (client->server->log) fprintf(client->server->log, "%s %s\n", method, path);
        if (client->server->log) fflush(client->server->log);
        pthread_mutex_unlock(&client->server->lock);
        serve_path(client, path);
    }
    close(client->fd);
    free(client->request);
    free(client);
    return NULL;
}

int main(int argc, char **argv)
{
    Server server;
    const char *log = NULL;
    int port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--log") == 0) log = argv[i + 1];
        if (strcmp(argv[i], "--port") == 0) port = atoi(argv[i + 1]);
    }
    signal(SIGPIPE, SIG_IGN);
    if (!server_open(&server, port)) return 69;
    if (log) server.log = fopen(log, "a");
    printf("http://127.0.0.1:%d\n", server.port);
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        Client *client = calloc(1, sizeof *client);
        if (!client) return 70;
        *client = (Client){.server = &server, .fd = accept(server.fd, NULL, NULL)};
        if (client->fd < 0 || pthread_create(&thread, NULL, serve_client, client) != 0) return 70;
        pthread_detach(thread);
    }
}

#include "cli/program/owner.h"
#include "base/grow.h"
#include "cli/frame/cli.h"
#include "cli/program/fork.h"
#include "cli/program/sent.h"
#include "core/effect.h"
#include "core/served.h"
#include "core/world.h"
#include "observe/pal.h"
#include "base/buffer.h"
#include "wal/history/history.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_MAX     64 /* clients at once; further ones wait in the socket's queue */
#define WATCHER_MAX    48 /* clients that watch; the remaining places always serve requests */
#define CHUNK_BYTES    65536
#define REQUEST_MAX    (1u << 20)          /* bytes of one request: the result of a resolved step may be long */
#define CLIENT_TIME_NS INT64_C(5000000000) /* time that a client has to send its line */
#define REPLY_TIME_MS  30000               /* time that a client waits for its answer */
#define SOCKET_NAME    "owner"

typedef struct Client {
    TfyOwner *owner;
    int fd; /* -1: free */
    int64_t watch;
    uint64_t timer;
    uid_t uid;  /* of the peer */
    char *line; /* the part of the request received so far, owned */
    size_t len, cap;
    /* the output: */
    TfyBuffer out;        /* whole lines */
    size_t sent;          /* bytes of `out` already sent */
    TfyTicket out_ticket; /* out is sent once this is durable; 0: at once */
    bool blocked;         /* the socket is full: the client waits until it is writable */
    bool watching;        /* subscribed to events */
    bool following;       /* gets a line whenever more is durable */
    bool closing;         /* no more output follows */
    TfyPalCursor cursor;
    char *filter; /* TFY_PAL_FILTER bytes, owned; NULL: not subscribed */
} Client;

struct TfyOwner {
    TfyLoop *loop;
    int dir_fd;     /* "<db>-live" */
    char *dir_path; /* owned */
    int fd;         /* the listening socket */
    int64_t watch;
    int followers;
    TfyOwnerMay *may; /* whether a request may be obeyed; NULL: all may */
    void *may_state;
    Client clients[CLIENT_MAX];
};

/* ---- the socket's address ---- */

static char *live_dir(const char *db_path)
{
    char *path = NULL;
    return asprintf(&path, "%s-live", db_path) < 0 ? NULL : path;
}

/* Builds the socket's address through the directory's descriptor. */
static void socket_address(int dir_fd, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", dir_fd, SOCKET_NAME);
}

/* Opens the directory and checks that it belongs to this user only. -1: it does not. */
static int open_dir(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0) return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* ---- requests ---- */

static const char *text_member(const json_t *request, const char *name)
{
    return json_string_value(json_object_get(request, name));
}

/* The run has ended, or does not belong to this process. Returns code if the log does not have the signal either. */
static int look_sent(TfyLoop *loop, const char *run, const char *id, int code, char *note)
{
    TfyHistory *history = NULL;
    char text[TFY_ERROR_TEXT];
    TfyLog *log = tfy__loop_log(loop);
    const bool sent = tfy__log_sync(log) == TFY_OK && tfy__history_read_stored(log, run, &history, text) == TFY_OK &&
                      tfy__sent_before(history, id, text);
    tfy__history_free(history);
    if (sent) snprintf(note, TFY_ERROR_TEXT, "%s", text);
    return sent ? TFY_OK : code;
}

static int obey_arrival(TfyLoop *loop, const json_t *request, const char *run, const char *by, char *error)
{
    const char *what = text_member(request, "do"), *id = text_member(request, "id");
    const int code = tfy__arrive_request(loop, run, request, by, error);
    const bool may_be_there = (code == TFY_E_STATE || code == TFY_E_ABSENT) && id && strcmp(what, "signal") == 0;
    return may_be_there ? look_sent(loop, run, id, code, error) : code;
}

/* The process that resumes the new run owns it; this process only holds the log. */
static int obey_fork(TfyLoop *loop, const json_t *request, const char *run, char made[37], char *error)
{
    TfyHistory *history = NULL;
    TfyLog *log = tfy__loop_log(loop);
    int code = tfy__log_sync(log); /* a fork may use every record that people can see */
    if (code == TFY_OK) code = tfy__history_read_stored(log, run, &history, error);
    if (code == TFY_OK) code = tfy__fork_request(log, history, request, NULL, made, error);
    tfy__history_free(history);
    return code;
}

/* made: the uuid of a run that the request created. */
static int obey(const TfyOwner *owner, const json_t *request, const char *by, char made[37], char *error)
{
    TfyLoop *loop = owner->loop;
    const char *what = text_member(request, "do"), *run = text_member(request, "run");
    if (!what || !run) {
        snprintf(error, TFY_ERROR_TEXT, "the request is not understood");
        return TFY_E_INVALID;
    }
    if (owner->may && !owner->may(owner->may_state, what, run, by, error)) return TFY_E_STATE;
    if (strcmp(what, "thin") == 0) return tfy__arrive_thin(loop, request, error);
    if (strcmp(what, "fork") == 0) return obey_fork(loop, request, run, made, error);
    return obey_arrival(loop, request, run, by, error);
}

static void on_connection(void *arg, uint32_t events);

/* A place for a client is free again: clients that connected meanwhile waited in the socket's queue. */
static void listen_again(TfyOwner *owner)
{
    if (owner->fd >= 0 && owner->watch < 0)
        owner->watch = tfy__watch_add(owner->loop, owner->fd, TFY_FD_READ, on_connection, owner);
}

static void close_client(Client *client)
{
    tfy__timer_del(client->owner->loop, client->timer);
    tfy__watch_del(client->owner->loop, client->watch);
    close(client->fd);
    free(client->line);
    tfy__buffer_free(&client->out);
    free(client->filter);
    if (client->watching) tfy__pal(client->owner->loop)->subscribers--;
    client->owner->followers -= client->following;
    *client = (Client){.owner = client->owner, .fd = -1};
    listen_again(client->owner);
}

/* ---- sending ---- */

static void on_client(void *arg, uint32_t events);

/* Watches for writability only while the socket is full: a poller that always reports it would never sleep. */
static bool listen_for(Client *client, bool blocked)
{
    TfyLoop *loop = client->owner->loop;
    if (client->blocked == blocked) return true;
    client->blocked = blocked;
    tfy__watch_del(loop, client->watch);
    client->watch =
        tfy__watch_add(loop, client->fd, blocked ? TFY_FD_READ | TFY_FD_WRITE : TFY_FD_READ, on_client, client);
    return client->watch >= 0;
}

/* Returns false if the client has disconnected. */
static bool send_out(Client *client)
{
    while (client->sent < client->out.len) {
        ssize_t sent = send(client->fd, client->out.data + client->sent, client->out.len - client->sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return listen_for(client, true);
        if (sent <= 0) return false;
        client->sent += (size_t)sent;
    }
    tfy__buffer_reset(&client->out);
    client->sent = 0;
    return listen_for(client, false);
}

/* Takes all the lines that are available, up to one chunk. */
static void take_events(Client *client)
{
    TfyPal *pal = tfy__pal(client->owner->loop);
    const TfyPalEvent *event;
    uint64_t from;
    TfyPalFound found;
    while (client->out.len < CHUNK_BYTES &&
           (found = tfy__pal_read(pal, &client->cursor, &event, &from)) != TFY_PAL_NONE) {
        if (found == TFY_PAL_EVENT)
            tfy__buffer_add(&client->out, event->text, event->len);
        else
            tfy__buffer_printf(&client->out, "{\"gap\":true,\"from\":%llu,\"to\":%llu}", (unsigned long long)from,
                               (unsigned long long)client->cursor.next - 1);
        tfy__buffer_char(&client->out, '\n');
    }
}

/* Sends as much as the socket accepts. Returns false if the client has disconnected. */
static bool pump(Client *client)
{
    if (client->out_ticket > tfy__log_durable(tfy__loop_log(client->owner->loop))) return true;
    client->out_ticket = 0;
    for (;;) {
        if (!send_out(client)) return false;
        if (client->blocked) return true;
        if (client->watching) take_events(client);
        if (client->out.failed) return false;
        if (!client->out.len) return !client->closing;
    }
}

static void on_published(void *state)
{
    TfyOwner *owner = state;
    for (int i = 0; i < CLIENT_MAX; i++) {
        Client *client = &owner->clients[i];
        if (client->fd >= 0 && (client->watching || client->closing) && !pump(client)) close_client(client);
    }
}

/* ---- answering ---- */

static uint64_t first_wanted(const TfyPal *pal, const json_t *request, int64_t epoch)
{
    const json_t *since = json_object_get(request, "since"), *of = json_object_get(request, "epoch");
    if (!json_is_integer(since) || (json_is_integer(of) && json_integer_value(of) != epoch)) return pal->first;
    json_int_t number = json_integer_value(since);
    if (number < 1) return pal->first;
    return (uint64_t)number < pal->next ? (uint64_t)number : pal->next;
}

/* Subscribes the client to events. */
static int begin_watching(Client *client, const json_t *request, char *error)
{
    TfyLoop *loop = client->owner->loop;
    TfyPal *pal = tfy__pal(loop);
    int64_t epoch = tfy__log_epoch(tfy__loop_log(loop));
    TfyBuffer snapshot = {0};
    if (!pal || pal->subscribers + (uint32_t)client->owner->followers >= WATCHER_MAX) {
        snprintf(error, TFY_ERROR_TEXT, "%s",
                 pal ? "too many watch this process already" : "this process keeps no events");
        return TFY_E_STATE;
    }
    if (!client->filter && !(client->filter = malloc(TFY_PAL_FILTER))) {
        snprintf(error, TFY_ERROR_TEXT, "this process has no memory for another one that watches");
        return TFY_E_NOMEM;
    }
    int code = tfy__pal_subscribe(loop, text_member(request, "run"), text_member(request, "task"), client->filter,
                                  &snapshot, &client->out_ticket, error);
    if (code == TFY_OK) {
        client->cursor = (TfyPalCursor){.next = first_wanted(pal, request, epoch), .filter = client->filter};
        tfy__buffer_printf(&client->out, "{\"code\":0,\"epoch\":%lld,\"pid\":%ld,\"first\":%llu,\"next\":%llu}\n",
                           (long long)epoch, (long)getpid(), (unsigned long long)pal->first,
                           (unsigned long long)pal->next);
        tfy__buffer_add(&client->out, snapshot.data, snapshot.len);
        client->watching = true;
        pal->subscribers++;
        tfy__timer_del(loop, client->timer);
        client->timer = 0;
    }
    tfy__buffer_free(&snapshot);
    return code;
}

/* From now on it gets a line whenever more is durable. */
static int begin_following(Client *client, char *error)
{
    TfyOwner *owner = client->owner;
    const TfyPal *pal = tfy__pal(owner->loop);
    if ((pal ? pal->subscribers : 0) + (uint32_t)owner->followers >= WATCHER_MAX) {
        snprintf(error, TFY_ERROR_TEXT, "too many follow this process already");
        return TFY_E_STATE;
    }
    client->following = true;
    owner->followers++;
    tfy__timer_del(owner->loop, client->timer);
    client->timer = 0;
    return TFY_OK;
}

static void say_metrics(Client *client)
{
    TfyBuffer text = {0};
    tfy__metrics_text(client->owner->loop, &text, &client->out_ticket);
    tfy__buffer_text(&client->out, "{\"code\":0,\"text\":");
    tfy__buffer_json_string(&client->out, text.data, text.len);
    tfy__buffer_text(&client->out, "}\n");
    client->closing = true;
    tfy__buffer_free(&text);
}

/* Answers with the tasks in their current states, and with nothing that happens later. */
static int say_tasks(Client *client, const json_t *request, char *error)
{
    char filter[TFY_PAL_FILTER];
    TfyBuffer tasks = {0};
    const int code = tfy__pal_subscribe(client->owner->loop, text_member(request, "run"), NULL, filter, &tasks,
                                        &client->out_ticket, error);
    if (code == TFY_OK) {
        tfy__buffer_text(&client->out, "{\"code\":0}\n");
        tfy__buffer_add(&client->out, tasks.data, tasks.len);
        client->closing = true;
    }
    tfy__buffer_free(&tasks);
    return code;
}

/* The line is short enough for the socket's buffer; a client that does not read it harms only itself. */
static void send_line(int fd, const char *text)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)text, strlen(text)}, {(char[]){'\n'}, 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    (void)!sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void on_durable(TfyLoop *loop, void *arg)
{
    TfyOwner *owner = arg;
    if (!owner->followers) return;
    for (int i = 0; i < CLIENT_MAX; i++)
        if (owner->clients[i].following) (void)!send(owner->clients[i].fd, "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Returns false when the client is finished. */
static bool answer(Client *client)
{
    char error[TFY_ERROR_TEXT] = "", by[64], made[37] = "";
    json_error_t json_error;
    json_t *request = json_loadb(client->line, client->len, JSON_REJECT_DUPLICATES, &json_error);
    tfy__user_name(client->uid, by, sizeof by); /* the kernel vouches for the uid */
    const char *what = text_member(request, "do");
    bool figures = what && strcmp(what, "metrics") == 0;
    if (figures) say_metrics(client);
    int code = figures                               ? TFY_OK
               : what && strcmp(what, "watch") == 0  ? begin_watching(client, request, error)
               : what && strcmp(what, "tasks") == 0  ? say_tasks(client, request, error)
               : what && strcmp(what, "follow") == 0 ? begin_following(client, error)
                                                     : obey(client->owner, request, by, made, error);
    json_decref(request);
    if (client->watching || client->closing) return pump(client);
    json_t *reply = json_pack("{s:i}", "code", code);
    if (*error) json_object_set_new(reply, code ? "error" : "note", json_string(error));
    if (!code && *made) json_object_set_new(reply, "run", json_string(made));
    char *text = json_dumps(reply, JSON_COMPACT);
    json_decref(reply);
    if (text) send_line(client->fd, text);
    free(text);
    return client->following;
}

static bool room(Client *client)
{
    if (client->len < client->cap) return true;
    return client->cap < REQUEST_MAX && GROW(client->line, client->cap, client->len + 1, 4096);
}

static void on_client(void *arg, uint32_t events)
{
    Client *client = arg;
    if ((client->watching || client->closing) && events & TFY_FD_WRITE && !pump(client)) {
        close_client(client);
        return;
    }
    for (;;) {
        if (client->watching || client->closing || client->following)
            client->len = 0; /* further input is ignored; only its disconnect matters */
        if (!room(client)) break;
        ssize_t got = recv(client->fd, client->line + client->len, client->cap - client->len, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) break;
        char *end = memchr(client->line + client->len, '\n', (size_t)got);
        client->len += (size_t)got;
        if (end && !client->watching && !client->closing && !client->following) {
            client->len = (size_t)(end - client->line);
            if (!answer(client)) break;
        }
    }
    close_client(client);
}

static void on_slow(void *arg)
{
    Client *client = arg;
    client->timer = 0;
    close_client(client);
}

static Client *free_client(TfyOwner *owner)
{
    for (int i = 0; i < CLIENT_MAX; i++) {
        if (owner->clients[i].fd < 0) return &owner->clients[i];
    }
    return NULL;
}

static bool may_ask(int fd, uid_t *uid)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) return false;
    *uid = peer.uid;
    return peer.uid == geteuid() || peer.uid == 0;
}

static void take_client(TfyOwner *owner, Client *client, int fd, uid_t uid)
{
    *client = (Client){.owner = owner, .fd = fd, .uid = uid};
    client->watch = tfy__watch_add(owner->loop, fd, TFY_FD_READ, on_client, client);
    if (client->watch < 0) {
        close(fd);
        client->fd = -1;
        return;
    }
    client->timer = tfy__timer_add(owner->loop, tfy__now_ns(owner->loop) + CLIENT_TIME_NS, on_slow, client);
}

/* When all places are taken, the process neither accepts nor refuses clients: it stops polling until a place
 * is free. */
static void on_connection(void *arg, uint32_t events)
{
    TfyOwner *owner = arg;
    Client *client;
    (void)events;
    while ((client = free_client(owner))) {
        int fd = accept4(owner->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        uid_t uid;
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0) return;
        if (may_ask(fd, &uid))
            take_client(owner, client, fd, uid);
        else
            close(fd);
    }
    tfy__watch_del(owner->loop, owner->watch);
    owner->watch = -1;
}

/* ---- listening ---- */

static int listen_in(int dir_fd)
{
    struct sockaddr_un address;
    socket_address(dir_fd, &address);
    unlinkat(dir_fd, SOCKET_NAME, 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && fchmodat(dir_fd, SOCKET_NAME, 0600, 0) == 0 &&
        listen(fd, CLIENT_MAX) == 0)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

TfyOwner *tfy__owner_start(TfyLoop *loop, const char *db_path)
{
    TfyOwner *owner = calloc(1, sizeof *owner);
    if (!owner) return NULL;
    owner->loop = loop;
    owner->dir_fd = owner->fd = -1;
    owner->watch = -1;
    for (int i = 0; i < CLIENT_MAX; i++) owner->clients[i] = (Client){.owner = owner, .fd = -1};
    owner->dir_path = live_dir(db_path);
    if (!owner->dir_path) goto failed;
    if (mkdir(owner->dir_path, 0700) != 0 && errno != EEXIST) goto failed;
    owner->dir_fd = open_dir(owner->dir_path);
    if (owner->dir_fd < 0) goto failed;
    owner->fd = listen_in(owner->dir_fd);
    if (owner->fd < 0) goto failed;
    owner->watch = tfy__watch_add(loop, owner->fd, TFY_FD_READ, on_connection, owner);
    if (owner->watch >= 0 && tfy__pal_open(loop, on_published, owner) == 0) {
        tfy__on_durable(loop, on_durable, owner);
        return owner;
    }
failed:
    tfy__say("this process cannot be reached by approve, signal, kill and resolve while it runs: %s-live: %s", db_path,
             strerror(errno));
    tfy__owner_stop(owner);
    return NULL;
}

void tfy__owner_guard(TfyOwner *owner, TfyOwnerMay *may, void *state)
{
    if (!owner) return;
    owner->may = may;
    owner->may_state = state;
}

/* Sends the last line if the socket accepts everything before it. */
static void say_end(Client *client)
{
    if (!pump(client) || client->blocked || client->out_ticket) return;
    tfy__buffer_printf(&client->out, "{\"end\":true,\"next\":%llu}\n", (unsigned long long)client->cursor.next);
    (void)!send_out(client);
}

static const char NOT_OBEYED[] = "{\"code\":-1,\"error\":\"the process ends\",\"ended\":true}";

/* Stops accepting connections. A client that is connected but whose request was not read gets a message that says so,
 * and may then send its request elsewhere without a duplicate. */
static void turn_away(TfyOwner *owner)
{
    if (owner->watch >= 0) tfy__watch_del(owner->loop, owner->watch);
    owner->watch = -1;
    if (owner->fd < 0) return;
    unlinkat(owner->dir_fd, SOCKET_NAME, 0);
    shutdown(owner->fd, SHUT_RD);
    for (int fd; (fd = accept4(owner->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR;) {
        if (fd < 0) continue;
        send_line(fd, NOT_OBEYED);
        close(fd);
    }
    close(owner->fd);
    owner->fd = -1;
    rmdir(owner->dir_path);
}

void tfy__owner_stop(TfyOwner *owner)
{
    if (!owner) return;
    tfy__off_durable(owner->loop, owner);
    turn_away(owner);
    for (int i = 0; i < CLIENT_MAX; i++) {
        if (owner->clients[i].fd < 0) continue;
        Client *client = &owner->clients[i];
        if (client->watching) say_end(client);
        if (!client->watching && !client->closing) send_line(client->fd, NOT_OBEYED);
        close_client(&owner->clients[i]);
    }
    tfy__pal_close(owner->loop);
    if (owner->dir_fd >= 0) close(owner->dir_fd);
    free(owner->dir_path);
    free(owner);
}

/* ---- the client's side ---- */

static int connect_to(const char *db_path)
{
    struct sockaddr_un address;
    struct stat st;
    char *path = live_dir(db_path);
    int dir_fd = path ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    free(path);
    if (dir_fd < 0) return -1;
    int fd = -1;
    /* Only the database's owner gets an answer: root may send requests to every user's process, others only to their
     * own. */
    if (fstat(dir_fd, &st) == 0 && (st.st_uid == geteuid() || geteuid() == 0))
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socket_address(dir_fd, &address);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    close(dir_fd);
    return fd;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* Reads one line of at most size - 1 bytes; false when none arrived in time. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t len = 0;
    while (len + 1 < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, REPLY_TIME_MS) <= 0) return false;
        ssize_t got = recv(fd, line + len, size - 1 - len, 0);
        if (got <= 0) return false;
        len += (size_t)got;
        line[len] = '\0';
        if (strchr(line, '\n')) return true;
    }
    return false;
}

int tfy__owner_connect(const char *db_path, const json_t *request)
{
    int fd = connect_to(db_path);
    char *text = fd >= 0 ? json_dumps(request, JSON_COMPACT) : NULL;
    bool sent = text && send_all(fd, text, strlen(text)) && send_all(fd, "\n", 1);
    free(text);
    if (sent || fd < 0) return fd;
    close(fd);
    return -1;
}

/* Two cases count as if no process were there: a reply that the request was not read, and no reply to a request that
 * may be sent twice. */
static bool read_reply(int fd, const json_t *request, int *code, char run[37], char *text)
{
    char line[4 * TFY_ERROR_TEXT];
    if (!read_line(fd, line, sizeof line)) return text_member(request, "id") == NULL;
    json_t *reply = json_loads(line, 0, NULL);
    const bool heard = !json_is_true(json_object_get(reply, "ended"));
    if (heard && json_is_integer(json_object_get(reply, "code"))) {
        *code = (int)json_integer_value(json_object_get(reply, "code"));
        const char *sentence = text_member(reply, *code ? "error" : "note"), *made = text_member(reply, "run");
        snprintf(text, TFY_ERROR_TEXT, "%s", sentence ? sentence : "");
        snprintf(run, 37, "%s", made ? made : "");
    }
    json_decref(reply);
    return heard;
}

int tfy__owner_request(const char *db_path, const json_t *request, bool *live, char run[37], char *error_text)
{
    int code = TFY_E_IO;
    int fd = tfy__owner_connect(db_path, request);
    *live = fd >= 0;
    if (fd < 0) return TFY_E_ABSENT;
    snprintf(error_text, TFY_ERROR_TEXT,
             "the running process did not answer; look with 'inspect' whether the request arrived");
    *live = read_reply(fd, request, &code, run, error_text);
    close(fd);
    return *live ? code : TFY_E_ABSENT;
}

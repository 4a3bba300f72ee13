#include "cli/owner.h"
#include "cli/cli.h"
#include "core/effect.h"
#include "core/world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_MAX     16
#define REQUEST_MAX    (1u << 20)          /* bytes of one request: a resolved step's result may be long */
#define CLIENT_TIME_NS INT64_C(5000000000) /* a client has this long for its line */
#define REPLY_TIME_MS  30000               /* how long a client waits for its answer */
#define SOCKET_NAME    "owner"

typedef struct Client {
    TfyOwner *owner;
    int fd; /* -1: free */
    int64_t watch;
    uint64_t timer;
    uid_t uid;  /* of the peer */
    char *line; /* what came so far, owned */
    size_t len, cap;
} Client;

struct TfyOwner {
    TfyLoop *loop;
    int dir_fd;     /* "<db>-live" */
    char *dir_path; /* owned */
    int fd;         /* listening */
    int64_t watch;
    Client clients[CLIENT_MAX];
};

/* ---- the socket's address ---- */

static char *live_dir(const char *db_path)
{
    char *path = NULL;
    return asprintf(&path, "%s-live", db_path) < 0 ? NULL : path;
}

/* The socket's address, by way of the directory's descriptor. */
static void socket_address(int dir_fd, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", dir_fd, SOCKET_NAME);
}

/* Opens the directory and makes sure that it is ours and nobody else's. -1: it is not. */
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

/* Who asks, for the log: the peer's user name as the kernel vouches for it. */
static void name_of(uid_t uid, char *out, size_t size)
{
    struct passwd *user = getpwuid(uid);
    if (user) {
        snprintf(out, size, "%s", user->pw_name);
    } else {
        snprintf(out, size, "uid %u", (unsigned)uid);
    }
}

static int obey_resolve(TfyLoop *loop, const json_t *request, const char *run, const char *task, const char *by,
                        char *error)
{
    const json_t *value = json_object_get(request, "value");
    const char *how = text_member(request, "how");
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    int code = tfy__arrive_resolve(loop, run, task, json_integer_value(json_object_get(request, "step")),
                                   how ? how : "", text, by, error);
    free(text);
    return code;
}

static int obey_signal(TfyLoop *loop, const json_t *request, const char *run, const char *by, char *error)
{
    const json_t *value = json_object_get(request, "value");
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    int code = tfy__arrive_signal(loop, run, text_member(request, "name"), text, text_member(request, "id"), by, error);
    free(text);
    return code;
}

static int obey(TfyLoop *loop, const json_t *request, const char *by, char *error)
{
    const char *what = text_member(request, "do"), *run = text_member(request, "run"),
               *task = text_member(request, "task");
    const json_t *given = json_object_get(request, "answer"); /* none: yes */
    if (what && run && strcmp(what, "approve") == 0 && (!given || json_is_string(given))) {
        return tfy__arrive_approval(loop, run, task, json_integer_value(json_object_get(request, "step")),
                                    text_member(request, "answer"), by, error);
    }
    if (what && run && strcmp(what, "kill") == 0) {
        return tfy__arrive_kill(loop, run, task, json_is_true(json_object_get(request, "force")), by, error);
    }
    if (what && run && strcmp(what, "signal") == 0 && text_member(request, "name"))
        return obey_signal(loop, request, run, by, error);
    if (what && run && strcmp(what, "resolve") == 0) return obey_resolve(loop, request, run, task, by, error);
    snprintf(error, TFY_ERROR_TEXT, "the request is not understood");
    return TFY_E_INVALID;
}

static void close_client(Client *client)
{
    tfy__timer_del(client->owner->loop, client->timer);
    tfy__watch_del(client->owner->loop, client->watch);
    close(client->fd);
    free(client->line);
    *client = (Client){.owner = client->owner, .fd = -1};
}

static void answer(Client *client)
{
    char error[TFY_ERROR_TEXT] = "", by[64];
    json_error_t json_error;
    json_t *request = json_loadb(client->line, client->len, JSON_REJECT_DUPLICATES, &json_error);
    name_of(client->uid, by, sizeof by);
    int code = obey(client->owner->loop, request, by, error);
    json_decref(request);
    json_t *reply = json_pack("{s:i}", "code", code);
    if (code) json_object_set_new(reply, "error", json_string(error));
    char *text = json_dumps(reply, JSON_COMPACT);
    json_decref(reply);
    if (text) {
        /* Short, so it fits the socket's buffer: a client that does not read it only hurts itself. */
        struct iovec parts[2] = {{text, strlen(text)}, {(char[]){'\n'}, 1}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        (void)!sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    free(text);
}

static bool room(Client *client)
{
    if (client->len < client->cap) return true;
    size_t cap = client->cap ? 2 * client->cap : 4096;
    char *line = cap > REQUEST_MAX ? NULL : realloc(client->line, cap);
    if (!line) return false;
    client->line = line;
    client->cap = cap;
    return true;
}

static void on_client(void *arg, uint32_t events)
{
    Client *client = arg;
    (void)events;
    for (;;) {
        if (!room(client)) break;
        ssize_t got = recv(client->fd, client->line + client->len, client->cap - client->len, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) break;
        char *end = memchr(client->line + client->len, '\n', (size_t)got);
        client->len += (size_t)got;
        if (end) {
            client->len = (size_t)(end - client->line);
            answer(client);
            break;
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

static void on_connection(void *arg, uint32_t events)
{
    TfyOwner *owner = arg;
    (void)events;
    for (;;) {
        int fd = accept4(owner->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            return;
        }
        Client *client = free_client(owner);
        uid_t uid;
        if (!client || !may_ask(fd, &uid)) {
            close(fd);
            continue;
        }
        *client = (Client){.owner = owner, .fd = fd, .uid = uid};
        client->watch = tfy__watch_add(owner->loop, fd, TFY_FD_READ, on_client, client);
        if (client->watch < 0) {
            close(fd);
            client->fd = -1;
            continue;
        }
        client->timer = tfy__timer_add(owner->loop, tfy__now_ns(owner->loop) + CLIENT_TIME_NS, on_slow, client);
    }
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
    if (owner->watch >= 0) return owner;
failed:
    tfy__say("this process cannot be reached by approve, signal, kill and resolve while it runs: %s-live: %s", db_path,
             strerror(errno));
    tfy__owner_stop(owner);
    return NULL;
}

void tfy__owner_stop(TfyOwner *owner)
{
    if (!owner) return;
    for (int i = 0; i < CLIENT_MAX; i++) {
        if (owner->clients[i].fd >= 0) close_client(&owner->clients[i]);
    }
    if (owner->watch >= 0) tfy__watch_del(owner->loop, owner->watch);
    if (owner->fd >= 0) {
        close(owner->fd);
        unlinkat(owner->dir_fd, SOCKET_NAME, 0);
        rmdir(owner->dir_path);
    }
    if (owner->dir_fd >= 0) close(owner->dir_fd);
    free(owner->dir_path);
    free(owner);
}

/* ---- the asking side ---- */

static int connect_to(const char *db_path)
{
    struct sockaddr_un address;
    struct stat st;
    char *path = live_dir(db_path);
    int dir_fd = path ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    free(path);
    if (dir_fd < 0) return -1;
    int fd = -1;
    /* An answer goes to nobody but the database's owner: root may ask everybody, others only themselves. */
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

/* Reads one line of at most size - 1 bytes; false when none came in time. */
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

int tfy__owner_request(const char *db_path, const json_t *request, bool *live, char *error_text)
{
    char line[4 * TFY_ERROR_TEXT];
    int code = TFY_E_IO;
    int fd = connect_to(db_path);
    *live = fd >= 0;
    if (fd < 0) return TFY_E_ABSENT;
    char *text = json_dumps(request, JSON_COMPACT);
    snprintf(error_text, TFY_ERROR_TEXT,
             "the running process did not answer; look with 'inspect' whether the request arrived");
    if (text && send_all(fd, text, strlen(text)) && send_all(fd, "\n", 1) && read_line(fd, line, sizeof line)) {
        json_error_t json_error;
        json_t *reply = json_loads(line, 0, &json_error);
        if (json_is_integer(json_object_get(reply, "code"))) {
            code = (int)json_integer_value(json_object_get(reply, "code"));
            const char *sentence = text_member(reply, "error");
            snprintf(error_text, TFY_ERROR_TEXT, "%s", sentence ? sentence : "");
        }
        json_decref(reply);
    }
    free(text);
    close(fd);
    return code;
}

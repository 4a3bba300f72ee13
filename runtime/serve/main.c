/* main.c: tfy-serve: opens the database, loads the programs, and turns the loop until a signal ends it.
 *
 * tfy-serve [--db FILE] [NAME=]FILE.so …   with programs that `tfy build --shared` made */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "cli/program/owner.h"
#include "serve/child.h"
#include "serve/openapi.h"
#include "serve/serve.h"
#include "serve/stream.h"

enum { DRAIN_MS = 30000, BACKLOG = 1024 };

typedef struct Main {
    TfyServer server;
    TfyShared **shared; /* one for each program */
    int shared_count;
    TfyOwner *owner;
    char error[TFY_ERROR_TEXT];
} Main;

static _Atomic(TfyLoop *) signalled;
static TfyServer *the_server; /* written before signals are caught */

static void on_signal(int number)
{
    TfyLoop *loop = signalled;
    the_server->draining = true;
    if (loop) tfy_drain(loop, DRAIN_MS);
}

static void catch_signals(TfyServer *server)
{
    const struct sigaction action = {.sa_handler = on_signal};
    the_server = server;
    tfy__drain_by(server->loop, &signalled);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- programs ---- */

/* "shop=/path/of/it.so", or "build/shop.so", which is the program shop, too. *path: the object's. */
static char *name_of(const char *word, const char **path)
{
    const char *equal = strchr(word, '='), *slash = strrchr(word, '/'), *start = slash ? slash + 1 : word;
    *path = equal ? equal + 1 : word;
    return equal ? strndup(word, (size_t)(equal - word)) : strndup(start, strcspn(start, "."));
}

static bool is_program_name(const char *name)
{
    return *name >= 'a' && *name <= 'z' && strlen(name) < 64 &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

static bool refuse(Main *it, const char *word, const char *why)
{
    snprintf(it->error, sizeof it->error, "%.200s: %s", word, why);
    return false;
}

static bool open_program(Main *it, TfyServed *served, const char *path)
{
    TfyShared **shared = &it->shared[it->shared_count];
    if (tfy_shared_open(shared, path, it->error) != 0) return false;
    it->shared_count++;
    served->program = tfy_shared_program(*shared);
    const uint8_t *hash = (const uint8_t *)served->program->hash;
    for (int i = 0; i < 6; i++) snprintf(served->version + 2 * i, 3, "%02x", hash[i]);
    return true;
}

static bool add_program(Main *it, const char *word)
{
    TfyServed *served = calloc(1, sizeof *served);
    const char *path;
    bool twice = false;
    if (!served) return false;
    served->name = name_of(word, &path);
    for (const TfyServed *other = it->server.programs.first; other && served->name; other = other->next)
        twice |= strcmp(other->name, served->name) == 0;
    LIST_APPEND(&it->server.programs, served, next);
    if (!served->name || !is_program_name(served->name))
        return refuse(
            it, served->name ? served->name : word,
            "the name of a program starts with a small letter, and has only a-z, 0-9, '_' and '-', 63 more at most");
    return twice ? refuse(it, served->name, "another program has this name") : open_program(it, served, path);
}

static bool add_programs(Main *it, char **paths, int count)
{
    it->shared = calloc((size_t)count + 1, sizeof *it->shared);
    for (int i = 0; i < count; i++)
        if (!it->shared || !add_program(it, paths[i])) return false;
    return true;
}

static void on_event(void *arg, const char *json, size_t len)
{
    const TfyServer *server = arg;
    tfy__hub_tell(server->hub, json, len);
}

/* 0, or a negative code with a sentence. */
static int open_loop(Main *it)
{
    const TfyOptions options = {
        .db_path = it->server.db, .stay = true, .served = true, .on_event = on_event, .state = &it->server};
    int code = tfy_open(&it->server.loop, it->server.programs.first->program, &options, it->error);
    for (const TfyServed *served = it->server.programs.first; served && !code; served = served->next)
        code = tfy_load(it->server.loop, served->program, NULL, it->error);
    if (code) return code;
    tfy__leave_rootless(it->server.loop);
    return tfy__resume_all(it->server.loop, it->error);
}

/* ---- the socket ---- */

/* "<db>-live/http", in the owner's directory, which nobody else may enter. */
static int listen_at(const char *db, char *error)
{
    char dir[4096];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(dir, sizeof dir, "%s-live", db);
    const int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int fd = dir_fd < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        unlinkat(dir_fd, "http", 0);
        snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/http", dir_fd);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && fchmodat(dir_fd, "http", 0600, 0) == 0 &&
            listen(fd, BACKLOG) == 0) {
            close(dir_fd);
            return fd;
        }
        close(fd);
    }
    snprintf(error, TFY_ERROR_TEXT, "cannot listen at %.300s/http: %s", dir, strerror(errno));
    if (dir_fd >= 0) close(dir_fd);
    return -1;
}

static void stop_listening(const char *db)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s-live/http", db) < (int)sizeof path) unlink(path);
}

static void wake_readers(TfyLoop *loop, void *arg)
{
    const TfyServer *server = arg;
    if (!loop) return;
    tfy__tail_wake(server->tail);
    tfy__hub_wake(server->hub, tfy__log_durable(tfy__loop_log(loop)));
}

static bool open_server(Main *it)
{
    TfyServer *server = &it->server;
    const TfyGate gate = {.hosts = NULL};
    it->owner = tfy__owner_start(server->loop, server->db);
    if (!(server->openapi = tfy__openapi_text(server))) return false;
    if (!(server->tail = tfy__tail_open(server, it->error))) return false;
    if (!(server->hub = tfy__hub_open(server, it->error))) return false;
    if (!(server->children = tfy__children_open())) return false;
    if (!(server->readers = tfy__readers_open(server, it->error))) return false;
    const int listener = listen_at(server->db, it->error);
    if (listener < 0) return false;
    server->http = tfy__http_open(server, listener, &gate, it->error);
    tfy__on_durable(server->loop, wake_readers, server);
    return server->http;
}

/* ---- the end ---- */

/* Requests that the loop has are answered by tfy_close, so HTTP ends after it. */
static int close_all(Main *it, int status)
{
    TfyServer *server = &it->server;
    server->draining = true;
    if (server->http) stop_listening(server->db);
    tfy__owner_stop(it->owner);
    if (server->loop) tfy_close(server->loop);
    tfy__tail_quit(server->tail);
    tfy__hub_quit(server->hub);
    tfy__children_quit(server->children);
    if (server->http) tfy__http_quit(server->http);
    tfy__http_close(server->http);
    tfy__readers_close(server->readers);
    tfy__tail_close(server->tail);
    tfy__hub_close(server->hub);
    tfy__children_close(server->children);
    free(server->openapi);
    tfy__table_free(&server->starting);
    for (TfyServed *served; (served = LIST_TAKE(&server->programs, next));) {
        free(served->name);
        free(served);
    }
    while (it->shared_count) tfy_shared_close(it->shared[--it->shared_count]);
    free(it->shared);
    return status;
}

static int serve(Main *it)
{
    int code = open_loop(it);
    if (code || !open_server(it)) {
        tfy__say("%s", it->error);
        return close_all(it, code ? tfy__exit_status(code) : EXIT_MISSING);
    }
    catch_signals(&it->server);
    tfy__say("serving %s at %s-live/http", it->server.db, it->server.db);
    code = tfy_run(it->server.loop);
    const bool drained = code == TFY_E_STATE || code == 0;
    if (!drained) tfy__say("%s", tfy__failure(it->server.loop));
    return close_all(it, drained ? EXIT_DONE : tfy__exit_status(code));
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"db", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0}};
    Main it = {.error = ""};
    int option;
    tfy__set_program_name("tfy serve");
    tfy_hide_secrets(false);
    it.server.db = getenv("TFY_DB") ? getenv("TFY_DB") : ".tfy/runs.db";
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'd') return EXIT_USAGE;
        it.server.db = optarg;
    }
    if (optind == argc) return tfy__fail(EXIT_USAGE, "name a program that `tfy build --shared` made");
    if (!add_programs(&it, argv + optind, argc - optind)) {
        tfy__say("%s", *it.error ? it.error : "memory ran out");
        return close_all(&it, EXIT_MISSING);
    }
    return serve(&it);
}

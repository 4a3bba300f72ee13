/* server.c: see server.h. */
#include "serve/shared/server.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "serve/child.h"
#include "serve/entrance.h"
#include "serve/http_figures.h"
#include "serve/notify.h"
#include "serve/programs.h"
#include "serve/reader.h"
#include "serve/shared/events.h"
#include "serve/shared/reader.h"
#include "wal/store/pg.h"
#include "wal/store/pg_overview.h"

enum { PLACE_SIZE = 64, READY_MS = 3000 };

typedef struct TfySharedServer {
    TfyServer *server;
    char place[PLACE_SIZE];
    int lock; /* the directory beside the place, locked; -1: it is not */
    struct TfySharedPrograms *programs;
    struct TfySharedWaits *waits;
    struct TfySharedEvents *events;
} TfySharedServer;

struct TfySharedEvents *tfy__shared_events_of(const TfyServer *server)
{
    return server->shared->events;
}

void tfy__shared_look(TfyServer *server)
{
    tfy__shared_programs_look(server->shared->programs);
}

void tfy__shared_hold(TfyRequest *request)
{
    tfy__shared_waits_hold(request->server->shared->waits, request);
}

/* ---- signals ---- */

static sem_t ends; /* posted when a signal says so */

static void on_signal(int number)
{
    sem_post(&ends);
}

static void on_hangup(int number)
{
    tfy__entrance_again();
}

static void catch_signals(void)
{
    const struct sigaction end = {.sa_handler = on_signal}, reread = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGHUP, &reread, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the database ---- */

/* Logs of readers wait no longer than their lists: a third of this. */
static int open_log(const char *address, TfyLog **log, char *error)
{
    TfyLogOptions options = {.read_only = true, .existing = true};
    const TfyPgOpen how = {.address = address, .lease_ms = 3 * TFY_SHARED_PATIENCE_MS};
    const int code = tfy__pg_open(&options.store, &how, error);
    return code ? code : tfy__log_open(log, &options, error);
}

static int find_database(TfyServer *server, char *error)
{
    TfyPgAddress address;
    TfyPgLink link;
    int code = tfy__pg_reach(&link, &address, server->db, TFY_SHARED_PATIENCE_MS, error);
    if (!code) code = tfy__pg_link_first(&link, error);
    if (!code) memcpy(server->uuid, link.db, sizeof server->uuid);
    tfy__pg_leave(&link, &address);
    return code;
}

/* ---- its place ---- */

static bool refuse(char *error, const char *path, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "%.200s: %s", path, why);
    return false;
}

static bool take_place(TfySharedServer *self, char *error)
{
    const uint8_t *id = self->server->uuid;
    char path[PLACE_SIZE + 8];
    snprintf(self->place, sizeof self->place, ".tfy/serve-%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
    snprintf(path, sizeof path, "%s-live", self->place);
    self->server->place = self->place;
    if (mkdir(".tfy", 0777) != 0 && errno != EEXIST) return refuse(error, ".tfy", strerror(errno));
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return refuse(error, path, strerror(errno));
    self->lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (self->lock < 0) return refuse(error, path, strerror(errno));
    if (flock(self->lock, LOCK_EX | LOCK_NB) == 0) return true;
    return refuse(error, path, "another tfy serve of this database runs here; start this one in another directory");
}

/* ---- opening and closing ---- */

static bool open_all(TfySharedServer *self, char *error)
{
    TfyServer *server = self->server;
    server->shared = self;
    server->lists = &tfy__shared_lists;
    server->closed = true; /* nothing is posted to a loop */
    tfy__db_open_shared = open_log;
    if (!take_place(self, error)) return false;
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!(server->programs = tfy__programs_new())) return false;
    if (!(server->figures = tfy__http_figures_new())) return false;
    if (!(server->children = tfy__children_open())) return false;
    if (!(self->programs = tfy__shared_programs_open(server, error))) return false;
    if (!(self->waits = tfy__shared_waits_open(server, error))) return false;
    if (!(self->events = tfy__shared_events_open(server, error))) return false;
    if (!(server->readers = tfy__readers_open(server, error))) return false;
    if (!(server->senders = tfy__readers_open(server, error))) return false;
    return tfy__entrance_open(server, error);
}

static void close_all(TfySharedServer *self)
{
    TfyServer *server = self->server;
    server->draining = true;
    tfy__children_quit(server->children);
    tfy__shared_waits_quit(self->waits);
    tfy__shared_events_quit(self->events);
    tfy__entrance_quit(server);
    tfy__readers_close(server->senders);
    tfy__readers_close(server->readers);
    tfy__shared_waits_close(self->waits);
    tfy__shared_events_close(self->events);
    tfy__shared_programs_close(self->programs);
    tfy__children_close(server->children);
    tfy__entrance_close(server);
    free(server->openapi);
    tfy__http_figures_free(server->figures);
    tfy__programs_close(server->programs);
    if (self->lock >= 0) close(self->lock);
}

int tfy__shared_serve(TfyServer *server, bool opens)
{
    TfySharedServer self = {.server = server, .lock = -1};
    char error[TFY_ERROR_TEXT] = "";
    int status = EXIT_DONE;
    const int code = find_database(server, error);
    if (code) status = tfy__fail(tfy__exit_status(code), "%s", error);
    sem_init(&ends, 0, 0);
    catch_signals();
    if (!code && !open_all(&self, error)) status = tfy__fail(EXIT_MISSING, "%s", error);
    if (status == EXIT_DONE) {
        tfy__entrance_tell(server, opens);
        while (sem_wait(&ends) != 0 && errno == EINTR) continue;
        tfy__notify("STOPPING=1");
    }
    close_all(&self);
    return status;
}

/* ---- how it is ---- */

void tfy__shared_health(TfyRequest *request)
{
    tfy__request_json(request, 200, json_pack("{s:s}", "status", "ok"));
}

/* Ready is a server whose programs thread has heard from the database a moment ago; nothing is waited for here. */
void tfy__shared_ready(TfyRequest *request)
{
    const TfySharedServer *self = request->server->shared;
    if (request->server->draining)
        tfy__problem(&request->problem, TFY_PROBLEM_DRAINING, "it is about to end");
    else if (!tfy__shared_programs_heard(self->programs, READY_MS))
        tfy__lists_failed(request, TFY_STORE_AWAY, "");
    else
        tfy__shared_health(request);
}

void tfy__shared_metrics(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    tfy__http_figures_text(request->server->figures, &request->answer);
    tfy__buffer_printf(&request->answer,
                       "# HELP tfy_build_info The version of the server.\n"
                       "# TYPE tfy_build_info gauge\ntfy_build_info{version=\"%s\"} 1\n",
                       tfy_version());
    request->type = "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- workers and queues ---- */

static json_t *part_of(const char *text)
{
    return text ? json_loads(text, 0, NULL) : NULL;
}

void tfy__shared_overview(TfyRequest *request)
{
    TfyPgOverview overview = {0};
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    if (*request->caller.only) {
        tfy__problem(&request->problem, TFY_PROBLEM_FORBIDDEN, "workers are of all workflows, and %s sees some of them",
                     request->caller.name);
        return;
    }
    const int code = tfy__pg_overview_read(&request->reader->shared->link, &overview);
    if (code == TFY_OK)
        tfy__request_json(request, 200,
                          json_pack("{s:o, s:o, s:o, s:o}", "workers", part_of(overview.workers), "queues",
                                    part_of(overview.queues), "programs", part_of(overview.programs), "takeovers",
                                    part_of(overview.takeovers)));
    else
        tfy__lists_failed(request, tfy__shared_code(code), "the workers cannot be read");
    tfy__pg_overview_free(&overview);
}

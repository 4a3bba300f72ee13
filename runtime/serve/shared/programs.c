/* programs.c: see server.h: the programs that are deployed in the database. Their tables alone are compiled, since nothing of them is
 * executed here but the defaults of parameters: so the interface has their workflows, and starts their arguments.
 *
 * The thread looks every second, and a start may before that (tfy__shared_programs_look). One of them at a time loads programs. A
 * program that does not compile here is told once for each version, and is not served. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster/program.h"
#include "cli/frame/cli.h"
#include "serve/programs.h"
#include "serve/shared/server.h"
#include "wal/store/pg_cluster.h"
#include "wal/store/pg_link.h"

enum { LOOK_MS = 1000, PATIENCE_MS = 5000, REFUSED_MOST = 64 };

typedef struct TfySharedPrograms {
    TfyServer *server;
    TfyPgAddress address;
    TfyPgLink link;           /* which programs are deployed … */
    TfyCluster *cluster;      /* … and their sources; NULL: it is not open */
    _Atomic int64_t heard_ms; /* when the database answered last; monotonic; 0: it has not */
    pthread_t thread;
    bool started;
    pthread_mutex_t loading; /* held by whoever looks */
    pthread_mutex_t mutex;   /* held for: */
    pthread_cond_t ending;
    bool ends;
    char refused[REFUSED_MOST][33]; /* hashes that do not compile here; the oldest make room */
    uint32_t refused_count;
} Programs;

/* ---- loading ---- */

static bool was_refused(const Programs *self, const char *hash)
{
    for (uint32_t i = 0; i < self->refused_count && i < REFUSED_MOST; i++)
        if (strcmp(self->refused[i], hash) == 0) return true;
    return false;
}

static void note_refused(Programs *self, const char *hash)
{
    snprintf(self->refused[self->refused_count++ % REFUSED_MOST], sizeof self->refused[0], "%s", hash);
}

/* The version that was loaded before; NULL: it was not. */
static const TfyServed *loaded(const Programs *self, const char *name, const char *hash)
{
    const TfyServed *served = self->server->programs->versions.first;
    while (served && (strcmp(served->hash, hash) != 0 || strcmp(served->name, name) != 0)) served = served->next;
    return served;
}

/* What is deployed may change meanwhile; then the next look finds that. */
static const TfyServed *load(Programs *self, const char *name, const char *hash)
{
    TfyShared *shared = NULL;
    int64_t id;
    char error[TFY_ERROR_TEXT] = "";
    if (!self->cluster && tfy__pg_cluster_open(&self->cluster, &(TfyPgOpen){.address = self->server->db}, error) != 0)
        return NULL;
    if (tfy__program_deployed(self->cluster, name, &shared, &id) != EXIT_DONE) {
        if (tfy__pg_link_lives(&self->link)) note_refused(self, hash);
        return NULL;
    }
    return tfy__served_new(self->server->programs, name, shared);
}

static void take(Programs *self, const char *name, const char *hash)
{
    const TfyServed *now = tfy__served_named(self->server, name);
    if ((now && strcmp(now->hash, hash) == 0) || was_refused(self, hash)) return;
    const TfyServed *served = loaded(self, name, hash);
    if (!served) served = load(self, name, hash);
    if (served) (void)tfy__served_activate(self->server->programs, served);
}

/* ---- looking ---- */

static const char deployed_text[] =
    "SELECT d.name, encode(p.hash, 'hex') FROM tfy.deployment d JOIN tfy.program p ON p.id = d.program ORDER BY d.name";

static bool is_among(const TfyPgApi *api, const TfyPgResult *result, const char *name)
{
    for (int i = 0; i < api->ntuples(result); i++)
        if (strcmp(api->getvalue(result, i, 0), name) == 0) return true;
    return false;
}

static void take_all(Programs *self, const TfyPgResult *result)
{
    const TfyPgApi *api = self->link.api;
    const TfyCatalog *catalog = tfy__catalog(self->server);
    for (size_t i = 0; i < catalog->count; i++)
        if (!is_among(api, result, catalog->served[i]->name))
            (void)tfy__served_retire(self->server->programs, catalog->served[i]);
    for (int i = 0; i < api->ntuples(result); i++) take(self, api->getvalue(result, i, 0), api->getvalue(result, i, 1));
}

static int look(Programs *self)
{
    TfyPgAsk ask;
    TfyPgResult *result = NULL;
    pthread_mutex_lock(&self->loading);
    int code = tfy__pg_link_open(&self->link);
    tfy__pg_ask_text(&ask, deployed_text, "read what is deployed");
    if (!code) code = tfy__pg_one(&self->link, &ask, &result);
    if (!code) {
        self->heard_ms = tfy__monotonic_ms();
        take_all(self, result);
        self->link.api->clear(result);
        self->heard_ms = tfy__monotonic_ms();
    }
    pthread_mutex_unlock(&self->loading);
    return code;
}

void tfy__shared_programs_look(Programs *self)
{
    (void)look(self);
}

bool tfy__shared_programs_heard(const Programs *self, int64_t within_ms)
{
    return self->heard_ms && tfy__monotonic_ms() - self->heard_ms < within_ms;
}

/* ---- the thread ---- */

static void *work(void *arg)
{
    Programs *self = arg;
    pthread_setname_np(pthread_self(), "tfy programs");
    pthread_mutex_lock(&self->mutex);
    while (!self->ends) {
        const struct timespec until = tfy__deadline(LOOK_MS);
        pthread_cond_timedwait(&self->ending, &self->mutex, &until);
        if (self->ends) break;
        pthread_mutex_unlock(&self->mutex);
        (void)look(self);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

void tfy__shared_programs_close(Programs *self)
{
    if (!self) return;
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_signal(&self->ending);
    pthread_mutex_unlock(&self->mutex);
    if (self->started) pthread_join(self->thread, NULL);
    if (self->cluster) self->cluster->ops->close(self->cluster);
    tfy__pg_leave(&self->link, &self->address);
    pthread_mutex_destroy(&self->loading);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->ending);
    free(self);
}

Programs *tfy__shared_programs_open(TfyServer *server, char *error)
{
    Programs *self = calloc(1, sizeof *self);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!self) return NULL;
    self->server = server;
    pthread_mutex_init(&self->loading, NULL);
    pthread_mutex_init(&self->mutex, NULL);
    tfy__cond_init(&self->ending);
    int code = tfy__pg_reach(&self->link, &self->address, server->db, PATIENCE_MS, error);
    if (!code) code = look(self);
    if (code) snprintf(error, TFY_ERROR_TEXT, "%s", self->link.error);
    self->started = !code && pthread_create(&self->thread, NULL, work, self) == 0;
    if (self->started) return self;
    tfy__shared_programs_close(self);
    return NULL;
}

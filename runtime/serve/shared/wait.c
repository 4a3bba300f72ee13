/* wait.c: starts that wait for the end of their run (Prefer: wait=N). One thread asks for all of them at once, several times a
 * second. A database that is away ends no wait before its time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "serve/shared/reader.h"
#include "serve/shared/server.h"
#include "serve/start.h"

enum { LOOK_MS = 200, TOGETHER = 1000 };

typedef struct TfySharedWaits {
    TfyServer *server;
    TfySharedReader reader; /* its connection */
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    LIST(TfyRequest) held;
    bool ends;
} Waits;

void tfy__shared_waits_hold(Waits *waits, TfyRequest *request)
{
    request->until_ms = tfy__monotonic_ms() + request->wait_s * 1000;
    request->wait_s = 0;
    request->then = tfy__serve_waited;
    pthread_mutex_lock(&waits->mutex);
    LIST_APPEND(&waits->held, request, next);
    pthread_cond_signal(&waits->more);
    pthread_mutex_unlock(&waits->mutex);
}

/* Which of them have ended; NULL: none, or nobody knows. */
static TfyPgResult *ask(Waits *waits, const TfyRequest *first)
{
    TfySharedQuery query;
    TfyPgResult *result = NULL;
    int count = 0;
    tfy__shared_query_start(&query);
    tfy__buffer_text(&query.sql, "SELECT uuid::text FROM tfy.run WHERE state >= 12 AND uuid IN (");
    for (const TfyRequest *request = first; request && count < TOGETHER; request = request->next)
        tfy__buffer_printf(&query.sql, "%s'%s'", count++ ? ", " : "", request->starting->run);
    tfy__buffer_char(&query.sql, ')');
    (void)tfy__shared_ask(&waits->reader, &query, "look for ends", &result);
    tfy__shared_query_free(&query);
    return result;
}

static bool is_among(const TfyPgApi *api, const TfyPgResult *result, const char *run)
{
    for (int i = 0; result && i < api->ntuples(result); i++)
        if (strcmp(api->getvalue(result, i, 0), run) == 0) return true;
    return false;
}

/* Hands over those whose wait is over, and keeps the others. */
static void look(Waits *waits, TfyRequest *request, bool ends)
{
    const TfyPgApi *api = waits->reader.link.api;
    TfyPgResult *ended = request && !ends ? ask(waits, request) : NULL;
    for (TfyRequest *next; request; request = next) {
        next = request->next;
        if (ends || tfy__monotonic_ms() >= request->until_ms || is_among(api, ended, request->starting->run)) {
            tfy__readers_ask(waits->server->readers, request);
            continue;
        }
        pthread_mutex_lock(&waits->mutex);
        LIST_APPEND(&waits->held, request, next);
        pthread_mutex_unlock(&waits->mutex);
    }
    if (ended) api->clear(ended);
}

static void *work(void *arg)
{
    Waits *waits = arg;
    bool ends = false;
    pthread_setname_np(pthread_self(), "tfy waits");
    while (!ends) {
        pthread_mutex_lock(&waits->mutex);
        while (!waits->held.first && !waits->ends) pthread_cond_wait(&waits->more, &waits->mutex);
        const struct timespec until = tfy__deadline(LOOK_MS);
        if (!waits->ends) pthread_cond_timedwait(&waits->more, &waits->mutex, &until);
        TfyRequest *held = waits->held.first;
        waits->held.first = waits->held.last = NULL;
        ends = waits->ends;
        pthread_mutex_unlock(&waits->mutex);
        look(waits, held, ends);
    }
    return NULL;
}

void tfy__shared_waits_quit(Waits *waits)
{
    if (!waits || !waits->started) return;
    pthread_mutex_lock(&waits->mutex);
    waits->ends = true;
    pthread_cond_signal(&waits->more);
    pthread_mutex_unlock(&waits->mutex);
    pthread_join(waits->thread, NULL);
    waits->started = false;
}

void tfy__shared_waits_close(Waits *waits)
{
    if (!waits) return;
    tfy__shared_waits_quit(waits);
    tfy__pg_leave(&waits->reader.link, &waits->reader.address);
    pthread_mutex_destroy(&waits->mutex);
    pthread_cond_destroy(&waits->more);
    free(waits);
}

Waits *tfy__shared_waits_open(TfyServer *server, char *error)
{
    Waits *waits = calloc(1, sizeof *waits);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!waits) return NULL;
    waits->server = server;
    pthread_mutex_init(&waits->mutex, NULL);
    tfy__cond_init(&waits->more);
    const int code =
        tfy__pg_reach(&waits->reader.link, &waits->reader.address, server->db, TFY_SHARED_PATIENCE_MS, error);
    waits->started = !code && pthread_create(&waits->thread, NULL, work, waits) == 0;
    if (waits->started) return waits;
    tfy__shared_waits_close(waits);
    return NULL;
}

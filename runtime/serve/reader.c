/* reader.c: the threads that answer what is only read, with handles of their own of the log and the index. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/sys_memory.h"
#include "cli/look/event.h"
#include "serve/reader.h"
#include "wal/store/store.h"

enum { READERS = 2, SHARED = 4, REST_MS = 2000, LATE_US = 8000000 }; /* SHARED: over a database that may be slow */

struct TfyReaders {
    TfyServer *server;
    TfyReader readers[SHARED];
    pthread_t threads[SHARED];
    int count;             /* of threads that run */
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    LIST(TfyRequest) waiting;
    bool ends;
};

static void rest(TfyReader *reader)
{
    tfy__log_rest(reader->log);
    reader->lists->rest(reader);
    if (reader->events) tfy__events_rest(reader->events);
    tfy__sys_trim();
}

/* The mutex is held. False: nothing came for a while. */
static bool await_work(struct TfyReaders *readers)
{
    const struct timespec until = tfy__deadline(REST_MS);
    while (!readers->waiting.first && !readers->ends)
        if (pthread_cond_timedwait(&readers->more, &readers->mutex, &until) == ETIMEDOUT) return false;
    return true;
}

/* NULL: it ends. */
static TfyRequest *take(TfyReader *reader)
{
    struct TfyReaders *readers = reader->of;
    pthread_mutex_lock(&readers->mutex);
    if (!await_work(readers)) {
        pthread_mutex_unlock(&readers->mutex);
        rest(reader);
        pthread_mutex_lock(&readers->mutex);
    }
    while (!readers->waiting.first && !readers->ends) pthread_cond_wait(&readers->more, &readers->mutex);
    TfyRequest *request = LIST_TAKE(&readers->waiting, next);
    pthread_mutex_unlock(&readers->mutex);
    return request;
}

/* Behind others that wait for a database which does not answer: nobody waits for it that long. */
static bool is_too_late(TfyRequest *request)
{
    const TfyServer *server = request->server;
    if (!server->shared || request->then || tfy__monotonic_us() - request->begun_us < LATE_US) return false;
    tfy__lists_failed(request, TFY_STORE_AWAY, "");
    return true;
}

static void *work(void *arg)
{
    TfyReader *reader = arg;
    pthread_setname_np(pthread_self(), "tfy reader");
    for (TfyRequest *request; (request = take(reader));) {
        const bool late = is_too_late(request);
        TfyServe *serve = request->then ? request->then : tfy__request_serve(request);
        request->then = NULL;
        request->reader = reader;
        request->pass = tfy__request_done;
        if (!late) serve(request);
        request->reader = NULL;
        request->pass(request); /* and whoever gets it may have freed it */
    }
    return NULL;
}

void tfy__readers_ask(struct TfyReaders *readers, TfyRequest *request)
{
    pthread_mutex_lock(&readers->mutex);
    LIST_APPEND(&readers->waiting, request, next);
    pthread_cond_signal(&readers->more);
    pthread_mutex_unlock(&readers->mutex);
}

struct TfyEvents *tfy__reader_events(TfyRequest *request)
{
    TfyReader *reader = request->reader;
    char error[TFY_ERROR_TEXT];
    if (!reader->events) reader->events = tfy__events_open(request->server->db, error);
    if (!reader->events) tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "%s", error);
    return reader->events;
}

bool tfy__lists_failed(TfyRequest *request, int code, const char *sentence)
{
    if (code != TFY_STORE_AWAY) return tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "%s", sentence);
    request->retry_after_s = 1;
    return tfy__problem(&request->problem, TFY_PROBLEM_DATABASE_AWAY, "ask again in a moment");
}

static bool open_one(struct TfyReaders *readers, TfyReader *reader, char *error)
{
    reader->of = readers;
    reader->server = readers->server;
    reader->lists = readers->server->lists;
    return tfy__events_log(readers->server->db, &reader->log, error) == TFY_OK && reader->lists->open(reader, error);
}

struct TfyReaders *tfy__readers_open(TfyServer *server, char *error)
{
    struct TfyReaders *readers = calloc(1, sizeof *readers);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!readers) return NULL;
    readers->server = server;
    pthread_mutex_init(&readers->mutex, NULL);
    tfy__cond_init(&readers->more);
    while (readers->count < (server->shared ? SHARED : READERS)) {
        TfyReader *reader = &readers->readers[readers->count];
        if (!open_one(readers, reader, error) ||
            pthread_create(&readers->threads[readers->count], NULL, work, reader) != 0) {
            tfy__readers_close(readers);
            return NULL;
        }
        readers->count++;
    }
    return readers;
}

void tfy__readers_close(struct TfyReaders *readers)
{
    if (!readers) return;
    pthread_mutex_lock(&readers->mutex);
    readers->ends = true;
    pthread_cond_broadcast(&readers->more);
    pthread_mutex_unlock(&readers->mutex);
    for (int i = 0; i < readers->count; i++) pthread_join(readers->threads[i], NULL);
    for (int i = 0; i < SHARED; i++) {
        if (readers->readers[i].lists) readers->readers[i].lists->close(&readers->readers[i]);
        tfy__events_close(readers->readers[i].events);
        if (readers->readers[i].log) tfy__log_close(readers->readers[i].log, false);
    }
    pthread_mutex_destroy(&readers->mutex);
    pthread_cond_destroy(&readers->more);
    free(readers);
}

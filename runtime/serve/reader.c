/* reader.c: the threads that answer what is only read, with handles of their own of the log and the index. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "cli/look/event.h"
#include "serve/reader.h"

enum { READERS = 2 };

struct TfyReaders {
    TfyServer *server;
    TfyReader readers[READERS];
    pthread_t threads[READERS];
    int count;             /* of threads that run */
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    LIST(TfyRequest) waiting;
    bool ends;
};

static TfyRequest *take(struct TfyReaders *readers)
{
    pthread_mutex_lock(&readers->mutex);
    while (!readers->waiting.first && !readers->ends) pthread_cond_wait(&readers->more, &readers->mutex);
    TfyRequest *request = LIST_TAKE(&readers->waiting, next);
    pthread_mutex_unlock(&readers->mutex);
    return request;
}

static void *work(void *arg)
{
    TfyReader *reader = arg;
    for (TfyRequest *request; (request = take(reader->of));) {
        void (*serve)(TfyRequest * request) = request->then ? request->then : request->route->serve;
        request->then = NULL;
        request->reader = reader;
        request->pass = tfy__request_done;
        serve(request);
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

static bool open_one(struct TfyReaders *readers, TfyReader *reader, char *error)
{
    const TfyLogOptions options = {.path = readers->server->db, .read_only = true, .existing = true};
    reader->of = readers;
    if (tfy__log_open(&reader->log, &options, error) != TFY_OK ||
        tfy__log_open(&reader->names, &options, error) != TFY_OK)
        return false;
    reader->index = tfy__index_reader_open(readers->server->db, error);
    return reader->index;
}

struct TfyReaders *tfy__readers_open(TfyServer *server, char *error)
{
    struct TfyReaders *readers = calloc(1, sizeof *readers);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!readers) return NULL;
    readers->server = server;
    pthread_mutex_init(&readers->mutex, NULL);
    pthread_cond_init(&readers->more, NULL);
    while (readers->count < READERS) {
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
    for (int i = 0; i < READERS; i++) {
        tfy__index_reader_close(readers->readers[i].index);
        tfy__events_close(readers->readers[i].events);
        if (readers->readers[i].names) tfy__log_close(readers->readers[i].names, false);
        if (readers->readers[i].log) tfy__log_close(readers->readers[i].log, false);
    }
    pthread_mutex_destroy(&readers->mutex);
    pthread_cond_destroy(&readers->more);
    free(readers);
}

/* reader.h: what a request has while a reader answers it. */
#ifndef SERVE_READER_H
#define SERVE_READER_H

#include "serve/lists.h"
#include "serve/serve.h"
#include "wal/log/log.h"

typedef struct TfyReader {
    struct TfyReaders *of;
    TfyServer *server;
    const TfyLists *lists;          /* the server's */
    TfyLog *log;                    /* read-only */
    TfyIndexReader *index;          /* of a file … */
    struct TfySharedReader *shared; /* … or of a shared database (shared/reader.h) */
    struct TfyEvents *events;       /* cli/look/event.h; NULL: nobody has asked for any yet */
} TfyReader;

/* The reader's events, opened when they are first asked for. NULL: the problem says that the log cannot be read. */
struct TfyEvents *tfy__reader_events(TfyRequest *request);

#endif

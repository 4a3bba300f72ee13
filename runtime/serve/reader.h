/* reader.h: what a request has while a reader answers it. */
#ifndef SERVE_READER_H
#define SERVE_READER_H

#include "serve/index.h"
#include "serve/serve.h"
#include "wal/log/log.h"

typedef struct TfyReader {
    struct TfyReaders *of;
    TfyLog *log;   /* read-only … */
    TfyLog *names; /* … and another one, for what is looked up while records of it are shown */
    TfyIndexReader *index;
    struct TfyEvents *events; /* cli/look/event.h; NULL: nobody has asked for any yet */
} TfyReader;

#endif

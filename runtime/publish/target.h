/* target.h: what a follower gives to, and what each kind of target must do.
 *
 * tfy-publish reads the records of a database behind a cursor, and delivers them to one target:
 *
 *   log --feed.c--> batch of messages --target--> acknowledged --cursor.c--> DATABASE-follow/NAME
 *
 * What holds:
 *   - A name has one process: it holds the lock of the cursor's file.
 *   - Messages are delivered in the order of the log. One that is not acknowledged is delivered again, and nothing after it
 *     is acknowledged before it is, or is given up and counted.
 *   - The cursor never passes a message that is neither acknowledged nor given up. So whatever ends, the follower or the
 *     target, nothing is missing afterwards; some messages may come again.
 *   - The id of a message follows from its record alone, "DB/LSN". A repeat has the same id, by which it can be dropped.
 *   - A message depends on nothing but its record: texts are masked when they are recorded, and nothing else is read. */
#ifndef PUBLISH_TARGET_H
#define PUBLISH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/look/event.h"
#include "publish/address.h"

enum {
    TFY_BATCH_MOST = 512,       /* messages of a batch … */
    TFY_BATCH_BYTES = 4 << 20,  /* … and about so many bytes */
    TFY_TARGET_WAIT_MS = 10000, /* how long a target may take to answer */
    TFY_SECRET_FILE_MAX = 4096, /* bytes */
};

typedef struct TfyMessage {
    int64_t lsn;      /* of its record; of a gap, the last of the records that were removed */
    int64_t ts_ms;    /* of the record, since 1970; of a gap, that of the record after it */
    int type;         /* TfyRecordType; 0: a gap */
    TfyEventRun *run; /* kept; NULL: it is of the database itself, or a gap */
    size_t at, len;   /* its text in the batch, without the NUL after it */
    int64_t missed;   /* of a gap: how many records were removed */
} TfyMessage;

typedef struct TfyBatch {
    TfyMessage items[TFY_BATCH_MOST];
    size_t count;
    TfyBuffer texts;
    int64_t lsn; /* each record up to this one has a message here or before, or is not wanted */
} TfyBatch;

/* What a follower is asked to do. All is borrowed. */
typedef struct TfyFollow {
    const char *db;     /* the path of the database … */
    char db_id[37];     /* … and its uuid, once it is open */
    const char *name;   /* NULL: that of the kind */
    TfyAddress address; /* of the target */
    uint64_t types;     /* bits by TfyRecordType; 0: all */
    const char *secret; /* the text of the file of --secret-file, without the line end; NULL: none was named */
    bool content;       /* texts of prompts and answers may leave */
} TfyFollow;

typedef enum TfySent {
    TFY_SENT,       /* `done` messages were acknowledged; deliver the rest */
    TFY_SENT_AGAIN, /* the next one was not, and may be later */
    TFY_SENT_STOP,  /* it never will be: a person has to do something */
} TfySent;

typedef struct TfyDelivery {
    TfySent how;
    size_t done;                /* messages from the first of those asked for that need not be delivered again */
    int64_t dropped;            /* … of which the target refused so many for good */
    int64_t pause_ms;           /* AGAIN: the target asks for this pause; 0: for none */
    char error[TFY_ERROR_TEXT]; /* one sentence without a secret; "": nothing was wrong */
} TfyDelivery;

typedef struct TfyPublishTarget TfyPublishTarget;

typedef struct TfyTargetKind {
    const char *name;              /* "redis", as address.c has it; also the follower's name where nobody gave one */
    const char *package;           /* of the library that this build lacks; NULL: it lacks none */
    const char *const *parameters; /* what the address's query may have; NULL: the query is the target's own */
    bool events_whole;             /* a text is the whole event; else a CloudEvent, with long payloads cut */
    int64_t give_up_ms;            /* a message that failed for so long is given up; 0: none is */
    int64_t pause_most_ms;         /* pauses after failures double up to this */
    /* NULL: error (TFY_ERROR_TEXT bytes) says what is wrong with the request. Nothing is connected yet. */
    TfyPublishTarget *(*open)(const TfyFollow *follow, char *error);
    /* Called before the first delivery and after each failure. *lsn is the cursor's; a target that knows itself what it has
     * changes it. NULL: there is nothing to do. */
    void (*begin)(TfyPublishTarget *target, int64_t *lsn, TfyDelivery *result);
    /* Delivers messages of the batch from this one on, all or some. Delivery starts as all zero. */
    void (*deliver)(TfyPublishTarget *target, const TfyBatch *batch, size_t first, TfyDelivery *result);
    /* A descriptor that is readable while nothing is delivered if the connection has ended; below 0: there is none. Then the
     * target begins again, since it may have lost what it had. NULL: none. */
    int (*idle_fd)(const TfyPublishTarget *target);
    void (*close)(TfyPublishTarget *target);
} TfyTargetKind;

/* The kind for the address. NULL: error (TFY_ERROR_TEXT bytes) says which there are, or which package is missing. */
const TfyTargetKind *tfy__target_kind(const TfyAddress *address, char *error);

/* For the function of a kind: sets how, and the sentence. */
void tfy__delivery_fail(TfyDelivery *result, TfySent how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A person has asked this process to end. */
bool tfy__publish_ends(void);

extern const TfyTargetKind tfy__webhook_kind, tfy__redis_kind, tfy__nats_kind, tfy__otlp_kind;

#endif

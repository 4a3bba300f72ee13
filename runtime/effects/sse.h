/* sse.h: server-sent events: a stream of bytes, cut anywhere, into the data of its events.
 *
 * The framing is that of the HTML standard: lines end with LF, CR or CRLF, a line that begins with a colon is a
 * comment, the lines `data` of an event are joined with line feeds, an empty line ends it, and a byte order mark at the
 * start is passed over. An event without data is none, and neither is one that the end of the stream cuts off. The
 * field `event` is passed over: all that speak this here repeat in the data what kind of event it is. `id` and `retry`
 * are kept for those that go on with a stream that broke. */
#ifndef EFFECTS_SSE_H
#define EFFECTS_SSE_H

#include "base/buffer.h"

#define TFY_SSE_ID_MOST    1024 /* bytes of an `id`; a longer one is passed over */
#define TFY_SSE_RETRY_MOST 3600000

/* All zero, but for `most`, before the first byte. */
typedef struct TfySse {
    size_t most;       /* bytes of an event, and of a line; above it the stream has failed */
    TfyBuffer line;    /* the beginning of a line whose end has not come */
    TfyBuffer data;    /* of the event, a line feed after each line */
    TfyBuffer id;      /* the newest `id`, which counts at the end of its event */
    TfyBuffer last_id; /* of the newest event that has ended; empty: none */
    int64_t retry_ms;  /* the newest `retry`; 0: none */
    bool begun;        /* the first line was read, or begins with something else than a byte order mark */
    bool after_cr;     /* the byte before was a CR: an LF belongs to it */
    bool failed;       /* no memory, or too long */
} TfySse;

/* An event; the data is NUL-terminated, and valid during the call. False: nothing more is wanted. */
typedef bool TfySseTake(void *arg, const char *data, size_t len);

/* Takes the next bytes. False: the stream has failed, or `take` wants no more. */
bool tfy__sse_feed(TfySse *sse, const char *bytes, size_t len, TfySseTake *take, void *arg);
void tfy__sse_free(TfySse *sse); /* keeps `most`: ready for another stream */

#endif

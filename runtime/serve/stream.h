/* stream.h: GET /v1/events: the records of the database as they become durable, to many listeners, as server-sent events.
 *
 *   hub thread   follows the log with handles of its own while anybody listens, and keeps the newest events in a ring
 *   listeners    are cursors: a position in the ring, or a record of the log that they have got so far. What the ring has
 *                dropped, or never had, a reader takes out of the log in pages. So a slow listener costs no memory,
 *                and makes nobody wait.
 *
 * Invariants
 *   - Records come in the order of their lsn, each once: a listener gets none up to `lsn`, and passes over none that it wants.
 *   - The ring has every record from `from` to `cursor` that exists and is of a type that any listener wants, in order; live
 *     events stand among them, and may be missed. A listener that is the first to want a type enters behind `cursor`.
 *   - A listener that waits is suspended in HTTP, and wanted nothing that the ring has; whoever wakes it takes it out of
 *     the wait first, under the mutex. While it does not wait, only its request's owner touches it (serve.h). */
#ifndef SERVE_STREAM_H
#define SERVE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "serve/serve.h"

/* The loop must be open. NULL: error (TFY_ERROR_TEXT bytes) says why. */
struct TfyHub *tfy__hub_open(TfyServer *server, char *error);
/* On the loop's thread: more is durable, up to this record; and a live event (observe/pal.h). */
void tfy__hub_wake(struct TfyHub *hub, int64_t durable);
void tfy__hub_tell(struct TfyHub *hub, const char *json, size_t len);
/* The log's last records were written: those who listen get them, and are told that this is the end. */
void tfy__hub_quit(struct TfyHub *hub);
void tfy__hub_close(struct TfyHub *hub);
uint32_t tfy__hub_listeners(struct TfyHub *hub);

/* The next bytes for the client, at most `most`: how many; 0: there are none yet, and the connection is suspended; -1: the
 * stream has ended. On the thread of HTTP. */
ssize_t tfy__stream_take(TfyRequest *request, char *bytes, size_t most);
/* The request has ended, however it did. NULL: it was no stream. */
void tfy__stream_free(struct TfyStream *stream);

void tfy__serve_events(TfyRequest *request);
extern const char *const tfy__events_parameters[];

#endif

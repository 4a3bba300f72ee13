/* owner.h: how people reach a run whose process is alive.
 *
 * The process that writes a database listens on a Unix socket, "<db>-live/owner": one line of JSON in, one line back. Requests are
 *   {"do":"approve","run":R,"task":P?,"step":N?,"answer":A?}   {"do":"kill","run":R,"task":P?,"force":B}
 *   {"do":"resolve","run":R,"task":P?,"step":N,"how":"done"|"retry"|"fail","value":V?}
 *   {"do":"signal","run":R,"name":S,"value":V?,"id":S?}
 * and the answer is {"code":0} or {"code":TFY_E_…,"error":"a sentence"}; code 0 is sent after what arrived is durable.
 *
 * Only the same user and root may ask: the directory is 0700, the socket 0600, and the peer's credentials are looked at besides. Clients
 * are bounded in number, bytes and time, so that none can hold up the loop. The socket is reached through the directory's descriptor,
 * because a socket's own path may have 107 bytes only and a database's path may be longer. */
#ifndef TFY_CLI_OWNER_H
#define TFY_CLI_OWNER_H

#include <jansson.h>

#include "core/loop.h"

typedef struct TfyOwner TfyOwner;

/* Starts listening. The caller holds the writer lock, so a socket that is still there is a dead process's and is replaced. NULL after a
 * message: the run goes on without. */
TfyOwner *tfy__owner_start(TfyLoop *loop, const char *db_path);
/* Removes the socket; before the loop is closed, while the writer lock is still held. NULL is fine. */
void tfy__owner_stop(TfyOwner *owner);

/* Sends a request to the live owner of a database, if there is one (*live), and answers its code; error_text has its sentence. */
int tfy__owner_request(const char *db_path, const json_t *request, bool *live, char *error_text);

#endif

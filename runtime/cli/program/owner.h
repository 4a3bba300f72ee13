/* owner.h: how people reach a run whose process is alive.
 *
 * The process that writes a database listens on a Unix socket, "<db>-live/owner": one line of JSON in, one line back.
 * Requests are
 *   {"do":"approve","run":R,"task":P?,"step":N?,"answer":A?}   {"do":"kill","run":R,"task":P?,"force":B}
 *   {"do":"resolve","run":R,"task":P?,"step":N,"how":"done"|"retry"|"fail","value":V?}
 *   {"do":"signal","run":R,"name":S,"value":V?,"id":S?}
 *   {"do":"fork","run":R,"task":P?,"step":N,"value":V?}
 *   {"do":"watch","run":R?,"task":P?,"since":N?,"epoch":E?}
 *   {"do":"metrics"}
 * and the answer is {"code":0} or {"code":TFY_E_…,"error":"a sentence"}; code 0 is sent after what arrived is
 * durable. A fork's answer has the new run's uuid as "run". An answer with "note" says what became of a signal that
 * had come before under its id. {"ended":true} says that the process ends and has not heard the request.
 *
 * To metrics it is {"code":0,"text":T}, T in Prometheus' text format.
 *
 * To watch, the answer {"code":0,"epoch":E,"pid":P,"first":N,"next":N} begins a stream of lines that ends with the
 * process: {"live":true,…} for each task as it stands; the live events that are still kept, from number N on; then
 * each as it happens; {"gap":true,"from":A,"to":B} instead of those that a slow reader missed; and
 * {"end":true,"next":N} before an orderly end. E numbers the openings of the database, and event numbers begin anew
 * with each: with another E than ours, N means nothing and all are sent. No subscriber makes the process wait: what
 * the socket does not take stays in the ring (observe/pal.h) or becomes a gap.
 *
 * Only the same user and root may ask: the directory is 0700, the socket 0600, and the peer's credentials are looked
 * at besides. Clients are bounded in number, bytes and time, so that none can hold up the loop. The socket is reached
 * through the directory's descriptor, because a socket's own path may have 107 bytes only and a database's path may
 * be longer. */
#ifndef CLI_PROGRAM_OWNER_H
#define CLI_PROGRAM_OWNER_H

#include <jansson.h>

#include "core/loop.h"

typedef struct TfyOwner TfyOwner;

/* Starts listening. The caller holds the writer lock, so a socket that is still there is a dead process's and is
 * replaced. NULL after a message: the run goes on without. */
TfyOwner *tfy__owner_start(TfyLoop *loop, const char *db_path);
/* Removes the socket; before the loop is closed, while the writer lock is still held. NULL is fine. */
void tfy__owner_stop(TfyOwner *owner);

/* Sends a request to the live owner of a database, if there is one that hears it (*live), and answers its code;
 * error_text has its sentence, with 0 the note or "". run gets the uuid of a run that came into being, else "". */
int tfy__owner_request(const char *db_path, const json_t *request, bool *live, char run[37], char *error_text);

/* Sends a request and answers the descriptor to read the lines of the answer from; -1: no process owns the database. */
int tfy__owner_connect(const char *db_path, const json_t *request);

#endif

/* owner.h: how people reach a run whose process is alive.
 *
 * The process that writes a database listens on a Unix socket, "<db>-live/owner": one line of JSON in, one line back.
 * Requests are
 *   {"do":"approve","run":R,"task":P?,"step":N?,"answer":A?}   {"do":"kill","run":R,"task":P?,"force":B}
 *   {"do":"resolve","run":R,"task":P?,"step":N,"how":"done"|"retry"|"fail","value":V?}
 *   {"do":"signal","run":R,"name":S,"value":V?,"id":S?}
 *   {"do":"fork","run":R,"task":P?,"step":N,"value":V?}
 *   {"do":"thin","run":R,…} (wal/keep/thin.h)
 *   {"do":"watch","run":R?,"task":P?,"since":N?,"epoch":E?}
 *   {"do":"tasks","run":R?}   {"do":"metrics"}   {"do":"follow"}
 * and the answer is {"code":0} or {"code":TFY_E_…,"error":"a sentence"}; the process sends code 0 after the request
 * is durable. A fork's answer has the new run's uuid as "run". An answer with "note" reports what happened to an
 * earlier signal with the same id. {"ended":true} says that the process is ending and has not read the request.
 *
 * The answer to tasks is {"code":0} and, for each task in its current state, a line as watch has it. The answer to
 * metrics is {"code":0,"text":T}, T in Prometheus' text format.
 *
 * The answer to watch, {"code":0,"epoch":E,"pid":P,"first":N,"next":N}, starts a stream of lines that ends with the
 * process: {"live":true,…} for each task in its current state; the live events that are still kept, from number N on;
 * then each event as it happens; {"gap":true,"from":A,"to":B} in place of events that a slow reader missed; and
 * {"end":true,"next":N} before an orderly end. E numbers the openings of the database, and event numbers restart with
 * each opening: if E is not the current one, N means nothing and all events are sent. No subscriber makes the process
 * wait: events that the socket does not accept stay in the ring (observe/pal.h) or become a gap.
 *
 * The answer to follow, {"code":0}, starts a stream of empty lines: one whenever more records are durable, unless the
 * socket is full, and then the follower has not read the ones before. What became durable is in the log.
 *
 * Only the same user and root may send requests: the directory is 0700, the socket 0600, and the process also checks
 * the peer's credentials. Clients are limited in number, bytes and time, so that none can block the loop. The socket
 * is reached through the directory's descriptor, because a socket's own path may have only 107 bytes and a database's
 * path may be longer. */
#ifndef CLI_PROGRAM_OWNER_H
#define CLI_PROGRAM_OWNER_H

#include <jansson.h>

#include "core/loop.h"

typedef struct TfyOwner TfyOwner;

/* Starts listening. The caller holds the writer lock, so an existing socket belongs to a dead process and is
 * replaced. Returns NULL after a message: the run continues without it. */
TfyOwner *tfy__owner_start(TfyLoop *loop, const char *db_path);
/* Asks may before it obeys a request about a run: what is "approve", "kill", …, and by the user who sent it. False: error
 * (TFY_ERROR_TEXT bytes) says why not, and nothing is done. */
typedef bool TfyOwnerMay(void *state, const char *what, const char *run, const char *by, char *error);
void tfy__owner_guard(TfyOwner *owner, TfyOwnerMay *may, void *state);
/* Removes the socket; call it before closing the loop, while the writer lock is still held. NULL is allowed. */
void tfy__owner_stop(TfyOwner *owner);

/* Sends a request to the live owner of a database, if there is one that reads it (*live), and returns its code;
 * error_text gets its sentence, on 0 the note or "". run gets the uuid of a run that the request created, else "". */
int tfy__owner_request(const char *db_path, const json_t *request, bool *live, char run[37], char *error_text);

/* Sends a request and returns the descriptor from which the lines of the answer are read; -1: no process owns the
 * database. */
int tfy__owner_connect(const char *db_path, const json_t *request);

#endif

/* mail.h: requests to runs of a database of PostgreSQL, which any worker may take. */
#ifndef CLI_CLUSTER_MAIL_H
#define CLI_CLUSTER_MAIL_H

#include <jansson.h>

#include "cli/answer/delivery.h"
#include "wal/log/log.h"
#include "wal/store/cluster.h"

/* Sends a request to its run, and waits so long for what becomes of it. 0: it was taken; TFY_E_HELD: it is in the database, and
 * will be taken later; another code with a message: why the run did not take it, or why it could not be sent.
 *
 * It is sent once, however often the connection breaks: it has an id, the sender's own or a random one. A signal has none
 * unless its sender gave it one, since a run remembers those of all signals; if the answer got lost, the message says so. */
int tfy__mail_request(const char *address, const json_t *request, const char *by, int64_t patience_ms,
                      TfyDelivery *delivery);

/* The same for those who send often, over connections of their own. */
typedef struct TfyMailWay {
    TfyLog *log;
    TfyCluster *cluster;
} TfyMailWay;
int tfy__mail_send(const TfyMailWay *way, const json_t *request, const char *by, int64_t patience_ms,
                   TfyDelivery *delivery);

#endif

/* pg_notice.h: hints by NOTIFY, in channel tfy: that something was sent to runs of a session (s41), and that runs of a queue
 * are ready (q7), and that permits are given back or wanted (p, and a hash of their name). They are no part of a transaction,
 * since they would make commits wait for each other; one that gets lost is made up for within a second. A pooler in transaction
 * mode passes none on, so nobody listens through it (tfy_prepare=0). */
#ifndef WAL_STORE_PG_NOTICE_H
#define WAL_STORE_PG_NOTICE_H

#include "wal/store/cluster.h"
#include "wal/store/pg_link.h"

/* Tells the run's owner, or those who may claim it. Nothing is said of a failure. */
void tfy__pg_notify_run(TfyPgLink *link, int64_t run);
/* … those who use permits whose name has this hash. */
void tfy__pg_notify_permit(TfyPgLink *link, int64_t hash);
void tfy__pg_notify_queues(TfyPgLink *link, const int64_t *queues, uint32_t count);

/* A descriptor that is readable when there may be notices; -1: there is none now. */
int tfy__pg_listen(TfyPgLink *link);
/* The next one that has arrived; false: none. */
bool tfy__pg_next_notice(TfyPgLink *link, TfyNotice *notice);

#endif

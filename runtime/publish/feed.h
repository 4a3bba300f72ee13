/* feed.h: records of the log as batches of messages.
 *
 * A message is a CloudEvent 1.0 in JSON whose data is the event as a server's stream has it (cli/look/event.h); or it is that
 * event itself, whole, with "since_ms", "version" and "key". Records that were removed before they could be read are one message of the type "tfy.gap". */
#ifndef PUBLISH_FEED_H
#define PUBLISH_FEED_H

#include "publish/target.h"

/* Fills the batch, whose lsn is where it starts, with what is wanted of one page of the log. 0: all that is durable was
 * looked at; 1: there is more; negative: the log cannot be read. */
int tfy__feed(TfyEvents *events, const TfyFollow *follow, const TfyTargetKind *kind, TfyBatch *batch);
void tfy__batch_empty(TfyBatch *batch); /* keeps its lsn */

/* 1: the log has this record, or a later one; 0: it does not; negative: it cannot be read. */
int tfy__feed_reaches(TfyEvents *events, int64_t lsn);

#endif

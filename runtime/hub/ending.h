/* ending.h: the end of a session, and what becomes of its runs. */
#ifndef HUB_ENDING_H
#define HUB_ENDING_H

#include "wal/store/cluster.h"

/* Makes the runs of an ended session ready; 0: those of all that have ended. 0, or a negative code. */
int tfy__free_runs(TfyCluster *cluster, int64_t session);
/* Ends a session that has had end->beat commits, and no more, and makes its runs ready. 1: it has ended by this; 0: by somebody
 * else, or it has had more; or a negative code. */
int tfy__end_silent(TfyCluster *cluster, const TfySessionEnd *end);
/* The same for a session that commits nothing more, whatever it has had (end->beat is ignored). What cannot be done is done by
 * others, when it has been silent long enough. */
int tfy__end_finished(TfyCluster *cluster, const TfySessionEnd *end);

#endif

/* ahead.h: rows of runs that were read before anybody asked for them, by another thread over another connection.
 *
 * They are right as long as nobody writes these runs: from when their session has claimed them until it takes them up. A store
 * that is given them (TfyStoreOps.use_ahead) answers from them what it finds there, and asks the database for the rest. */
#ifndef WAL_STORE_AHEAD_H
#define WAL_STORE_AHEAD_H

typedef struct TfyAhead {
    void (*free)(struct TfyAhead *ahead);
} TfyAhead;

#endif

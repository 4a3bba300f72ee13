/* observe.h: which sessions of a shared database have to be ended, because they have committed nothing for too long.
 *
 * Every session reads the beats of all that live, now and then. A session is silent since the first answer that showed its
 * present beat, by the monotonic clock of the process that reads: clocks are never compared with those of other machines or
 * the database's. After its lease and a tenth it is to be ended, on condition that it still has that beat. By then its
 * tools are dead: its own deadline is nine tenths of a lease behind the time when it sent that commit, so clocks whose rates
 * differ by 5 % do no harm.
 *
 * Invariants
 *   - A session that commits at least once in a lease and a tenth, as the reader's clock counts, is never named.
 *   - A session that commits no more is named by the first answer that comes a lease and a tenth behind the first one with
 *     its newest beat. */
#ifndef HUB_OBSERVE_H
#define HUB_OBSERVE_H

#include "wal/store/cluster.h"

/* A session that lives, and since when it has been seen so. */
typedef struct TfySeenBeat {
    TfyLiving beat;
    int64_t since_ms;
} TfySeenBeat;

typedef struct TfyObserver {
    int64_t session;   /* of this process, which does not end itself */
    TfySeenBeat *seen; /* by their ids, owned */
    uint32_t count;
    uint32_t lower; /* of those, how many have lower ids than this process */
} TfyObserver;

void tfy__observer_free(TfyObserver *observer);

/* An answer: the sessions that live, by their ids, and when it arrived. *late, of `room`, gets those that are to be ended, with
 * the beats on which that depends; more than `room` are named by the next answer. Their number, or TFY_E_NOMEM, and nothing
 * was taken in. */
int tfy__observer_see(TfyObserver *observer, const TfyLiving *beats, uint32_t count, int64_t now_ms, TfyLiving *late,
                      uint32_t room);

/* How long to wait for the next reading: longer if many others have lower ids, so that a thousand sessions do not read a
 * thousand rows each every second. */
int64_t tfy__observer_pause_ms(const TfyObserver *observer);

#endif

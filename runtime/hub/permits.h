/* permits.h: `limit` and `rate` of tools, which hold for all sessions of a shared database together: how the database lends what they
 * allow, by name, and what a session does with it. A name is that of a program and its tool, or of what `http` asks.
 *
 * `limit N`: a session has a row with the number of steps that it may have under way (lent) and that it could use (wants). What is
 * lent to all that live is N at most. It is shared out evenly; sessions that want less leave the rest to the others, and where a share
 * is not whole, those that have none come before the others, the longest wait first. A session lowers its own number when it has
 * more than its share; until so many of its steps have ended, the row keeps those that are under way. What a session had comes back
 * when it has ended, which is when its tools are dead.
 *
 * `rate N/D`: a session that has steps to begin asks for so many uses. What is granted at time t may begin until t + g, and counts
 * until t + g + D: so in any period D no more than N begin, however long an answer was on its way. g is a quarter of D, but 100 ms at
 * least and 1 s at most.
 *
 * Invariants
 *   - Each write was decided on what the one before it has left (limiter.turn): a request that comes late changes nothing, or what it
 *     was decided on still holds.
 *   - in_use ≤ the row's `lent`, as far as any request that was ever sent could have changed it. So what is given back is taken from
 *     the loop first and written then; what was got is written first.
 *   - Time is the database's. A grant is older here than there: it counts from when it was asked for, by a clock that may be 5 % slow.
 *   - Who waits says so again every second; a row that is older than three waits no more, and keeps what it has. */
#ifndef HUB_PERMITS_H
#define HUB_PERMITS_H

#include <pthread.h>

#include "base/list.h"
#include "hub/hub.h"
#include "wal/store/cluster.h"

struct TfyPermit {
    TfyPermit *next;
    TfyPermitKind kind; /* name owned */
    int64_t hash;       /* of the name, for notices */
    /* With the book's mutex. */
    uint32_t in_use;                   /* steps that have one and did not give it back */
    uint32_t peak;                     /* the most of them since the last round */
    uint32_t waits;                    /* steps that need one */
    uint32_t waits_of[TFY_LOOPS_MOST]; /* … of each loop */
    uint32_t users;                    /* loops that have not dropped it */
    uint32_t lent;                     /* one more may be taken while fewer are in use */
    uint32_t units;                    /* uses of the rate that may begin … */
    int64_t fresh_ms;                  /* … until then */
    bool asked;                        /* the row asks for more of these */
    bool dropped;                      /* no loop has a use for it any more */
    bool hurried;                      /* there is something to do for it at once */
    /* Of those who do the rounds. */
    bool settled;   /* its row is as the last round left it … */
    bool empty;     /* … with nothing in it, or there is none */
    bool contested; /* others wait, or did a moment ago */
    int64_t due_ms; /* of the next round */
};

/* All that a session has. */
typedef struct TfyPermitBook {
    TfyPermits base; /* must be first */
    pthread_mutex_t mutex;
    LIST(TfyPermit) all;            /* with the mutex; removed by those who do the rounds */
    int64_t (*now_ms)(void *state); /* a clock that goes on while the machine sleeps */
    void (*hurry)(void *state);     /* from a loop: a round is due at once */
    void (*wake)(void *state); /* from a loop: others of the session may have what it gave back; NULL: there are none */
    void *state;
} TfyPermitBook;

void tfy__permits_init(TfyPermitBook *book, int64_t (*now_ms)(void *state), void (*hurry)(void *state),
                       void (*wake)(void *state), void *state);
void tfy__permits_free(TfyPermitBook *book);

/* Does the rounds that are due: asks the database for what is needed, and gives back what is not. *more: the loop may take some that
 * it could not before. The milliseconds until the next one, or a negative code. */
int64_t tfy__permits_work(TfyPermitBook *book, TfyCluster *cluster, int64_t session, bool *more);
/* A notice has come. True: a round is due at once. */
bool tfy__permits_hear(TfyPermitBook *book, int64_t hash);

#endif

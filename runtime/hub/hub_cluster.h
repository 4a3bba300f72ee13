/* hub_cluster.h: the hubs of the loops of a process that works on a shared database (wal/store/cluster.h), in memory or on a server.
 *
 * A thread speaks with the database, and the loops ask the thread's results (seat.h): they never wait. The thread
 *   - claims runs while a loop has room, and reads what had been sent to them,
 *   - reads what is sent to the session's runs meanwhile,
 *   - watches the other sessions and ends those that are silent (observe.h), whose runs it makes ready,
 *   - if no living session is older than its own, makes due runs ready. That is a hint, not an office: each of these calls
 *     finds nothing to do if another session was first,
 *   - looks for runs that need a process of their own, since one has died of them (TfyBlame), and reports that to whoever starts
 *     such processes. The hub of such a process claims only these, one at a time.
 *
 * Invariants
 *   - Nothing here is true for longer than the database says: a claim or mail that is handed over may be old, and the
 *     conditions of the log's commits decide.
 *   - A claim is handed over once. If its answer got lost, the session's runs are compared with those that were handed over.
 *   - The mail of a run is handed over in its order.
 *   - No lock is held while the database is asked. */
#ifndef HUB_HUB_CLUSTER_H
#define HUB_HUB_CLUSTER_H

#include "hub/hub.h"
#include "wal/store/cluster.h"

struct TfyStore;

typedef struct TfyHubOpen {
    TfyCluster *cluster; /* for the thread; becomes the hub's, also if it cannot be opened */
    /* A handle for the log of the session, as TfyHubOps.join; session 0: for reading alone, by one of its other loops. */
    int (*join)(void *state, int64_t session, int64_t lease_ms, struct TfyStore **store, char *error_text);
    void *state;
    TfyNewSession session;
    const char *pool; /* of the queues that it claims from; NULL: "default" */
    uint32_t loops;   /* of the process; 0: one */
    bool leased;      /* the process and its tools end at the deadline (base/lease.h) */
    bool solo;        /* it works on runs that need a process of their own, one at a time */
    /* A run of its program waits for such a process. In the thread; NULL: nobody wants to know. */
    void (*solo_waits)(void *state);
    /* A solo hub has found no such run for a while. In the thread. */
    void (*solo_idle)(void *state);
    /* The tables have a format for newer programs, at each reading: the process should end. In the thread; NULL: nobody wants to
     * know. */
    void (*outdated)(void *state);
    /* A run was held. In the thread; NULL: nobody wants to know. */
    void (*blame)(void *state, const TfyBlame *blame);
    /* Simulations: there is no thread, tfy__hub_cluster_work does its work, and this is the monotonic clock. */
    int64_t (*by_hand_ms)(void *state);
} TfyHubOpen;

/* Opens a session and starts the thread. 0, or a negative code with a message (TFY_ERROR_TEXT bytes). */
int tfy__hub_cluster_open(TfyHub **hub, const TfyHubOpen *open, char *error_text);
/* The hub of another loop, from 0; *hub was that of the first. Whoever opens the loops sets its `with`. */
TfyHub *tfy__hub_cluster_loop(TfyHub *hub, uint32_t loop);
/* Without a thread: does what is due, and returns when something is due next. */
int64_t tfy__hub_cluster_work(TfyHub *hub);
/* After tfy_close of all loops. Ends the session, if `done`: nothing of its tools is left. Otherwise others end it for its silence. NULL is
 * ignored. */
void tfy__hub_cluster_close(TfyHub *hub, bool done);

#endif

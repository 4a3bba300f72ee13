/* hub_memory.h: the hub of a database in memory that several loops of one thread share, for tests and simulations. */
#ifndef HUB_HUB_MEMORY_H
#define HUB_HUB_MEMORY_H

#include "hub/hub.h"
#include "hub/permits.h"
#include "wal/store/shared.h"

typedef struct TfyHubMemory {
    TfyHub hub; /* must be first */
    TfyShared *shared;
    /* The database's clock. */
    int64_t (*now_ms)(void *state);
    void *clock_state;
    int64_t program; /* what the loop has room for */
    uint32_t room;
    size_t asked;    /* runs that this round of `news` has looked at */
    int64_t sent_ns; /* of the newest renewal; 0: none yet */
    TfyCluster *cluster;
    TfyPermitBook permits;
} TfyHubMemory;

/* Opens a session. 0, or a negative code. */
int tfy__hub_memory_open(TfyHubMemory *hub, TfyShared *shared, int64_t lease_ms, int64_t (*now_ms)(void *state),
                         void *clock_state);
/* Frees what it has; its session goes on. */
void tfy__hub_memory_free(TfyHubMemory *hub);

#endif

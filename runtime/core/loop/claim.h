/* claim.h: runs of a shared database, of a loop that has a hub (hub/hub.h). */
#ifndef CORE_LOOP_CLAIM_H
#define CORE_LOOP_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct Run;
struct TfyLoop;
struct TfyLogOptions;

/* Only for loops that have a hub, whose `claims` this is: tfy__claims (hub/hub.h). */
typedef struct TfyClaimOps {
    /* What its log is opened with. */
    int (*join)(struct TfyLoop *loop, struct TfyLogOptions *options, char *error_text);
    /* The hub may outlive the loop. */
    void (*end)(struct TfyLoop *loop);
    /* Arms the next renewal of the lease. */
    void (*beat)(struct TfyLoop *loop);
    /* tfy__sched_run_ready for a loop that has a hub, which hears which run is executed. */
    uint32_t (*run)(struct TfyLoop *loop, uint32_t count);
    /* A run is executed from now on, by its row id; 0: none. Returns the one before. */
    int64_t (*execute)(struct TfyLoop *loop, int64_t run);
    /* The first record of a run that is being claimed. False: it could not be appended. */
    bool (*note)(struct Run *run);
    /* Takes up the runs that were claimed, and those that were to leave and stayed, and takes mail; how many of these. */
    uint32_t (*take)(struct TfyLoop *loop);
    /* Queues that a run leaves: it has ended, or its newest record is a snapshot. False: the loop fails. */
    bool (*leave)(struct Run *run, int64_t due_ms);
} TfyClaimOps;

#endif

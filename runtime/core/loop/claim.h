/* claim.h: runs of a shared database, of a loop that has a hub (hub/hub.h). */
#ifndef CORE_LOOP_CLAIM_H
#define CORE_LOOP_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct Run;
struct TfyLogOptions;

/* What its log is opened with. */
int tfy__claims_join(TfyLoop *loop, struct TfyLogOptions *options, char *error_text);
/* The hub may outlive the loop. */
void tfy__claims_end(TfyLoop *loop);
/* Arms the next renewal of the lease. */
void tfy__claims_beat(TfyLoop *loop);
/* tfy__sched_run_ready for a loop that has a hub, which hears which run is executed. */
uint32_t tfy__claims_run(TfyLoop *loop, uint32_t count);
/* A run is executed from now on, by its row id; 0: none. Returns the one before. */
int64_t tfy__claims_execute(TfyLoop *loop, int64_t run);
/* The first record of a run that is being claimed. False: it could not be appended. */
bool tfy__claim_note(struct Run *run);
/* Takes up the runs that were claimed, and those that were to leave and stayed, and takes mail; how many of these. */
uint32_t tfy__claims_take(TfyLoop *loop);
/* Queues that a run leaves: it has ended, or its newest record is a snapshot. False: the loop fails. */
bool tfy__claim_leave(struct Run *run, int64_t due_ms);

#endif

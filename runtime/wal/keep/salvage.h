/* salvage.h: what can be read of a damaged database, into a new one.
 *
 * Nothing but records and programs is needed: an InstructionStart says which run begins, a TaskSpawn which task, and
 * each record proves by its chain that it follows. A run is taken up to the first record of it that is lost or
 * changed, in the order of the log, so that what is there was once all that there was. A run that lost something ends
 * as failed: what it did after that nobody knows, and going on by itself it could do it twice.
 *
 * Of a run that was compacted a gap is taken where a record proves it; if the run has come further than the snapshot
 * it begins at, it comes out as it is, compacted. Else nothing is left of it but what comes before the first gap. */
#ifndef WAL_KEEP_SALVAGE_H
#define WAL_KEEP_SALVAGE_H

#include <stdbool.h>

#include "wal/log/log.h"

/* What became of a run. */
typedef struct TfySalvagedRun {
    char uuid[37];
    uint32_t kept, lost; /* records; lost counts those that were read and not taken */
    bool cut;            /* it ends as failed behind the last that was kept */
    bool no_program;     /* its program could not be read: it can be looked at, not replayed */
    char *refused;       /* why it is not in the new one, owned; NULL: it is */
} TfySalvagedRun;

typedef struct TfySalvaged {
    TfySalvagedRun *runs; /* owned */
    uint32_t count;
    int64_t records;    /* that could be read */
    int64_t unreadable; /* numbers whose row could not be read or was not there */
    int64_t orphans;    /* records of no run that could be found */
    int64_t doubts;     /* steps that are in doubt now */
} TfySalvaged;

/* `to` must not exist. A run that is none, whatever its chains say, keeps the others from nothing. */
int tfy__salvage(const char *from, const char *to, const char *version, TfySalvaged *salvaged, char *error_text);
void tfy__salvaged_free(TfySalvaged *salvaged);

#endif

/* salvage.h: copies what can be read of a damaged database into a new one.
 *
 * Only records and programs are needed: an InstructionStart starts a run, a TaskSpawn starts a task, and each record
 * proves by its chain that it follows. The records of a run are kept up to the first one that is lost or changed, in
 * the order of the log, so that the result is a state in which the run once was. A run that lost something ends as
 * failed: nobody knows what it did after that, and if it continued by itself, it could do it twice.
 *
 * In a compacted run, a gap is kept if a record proves it; if the run has come further than the snapshot at which it
 * starts, the result is compacted, too. Otherwise only the part before the first gap is left. */
#ifndef WAL_KEEP_SALVAGE_H
#define WAL_KEEP_SALVAGE_H

#include <stdbool.h>

#include "wal/log/log.h"

/* The result for one run. */
typedef struct TfySalvagedRun {
    char uuid[37];
    uint32_t kept, lost; /* records; lost counts those that were read but not kept */
    bool cut;            /* it ends as failed after the last kept record */
    bool no_program;     /* its program could not be read: inspect it, but do not replay it */
    char *refused;       /* why it is not in the new database, owned; NULL: it is */
} TfySalvagedRun;

typedef struct TfySalvaged {
    TfySalvagedRun *runs; /* owned */
    uint32_t count;
    int64_t records;    /* readable ones */
    int64_t unreadable; /* numbers whose row was unreadable or missing */
    int64_t orphans;    /* records whose run could not be found */
    int64_t doubts;     /* steps that are in doubt now */
} TfySalvaged;

/* `to` must not exist. A run that is inconsistent despite its chains does not affect the others. */
int tfy__salvage(const char *from, const char *to, const char *version, TfySalvaged *salvaged, char *error_text);
void tfy__salvaged_free(TfySalvaged *salvaged);

#endif

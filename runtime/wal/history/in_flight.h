/* in_flight.h: `once` steps that had begun where a history ends, and nobody knows whether they happened.
 *
 * While such a step waits for its tool, its StepStart is the newest record of its task that says anything about that
 * task. Whatever comes behind it settles it: even a kill, or the end of a time limit around it, cancels it when the
 * run is taken up. */
#ifndef WAL_HISTORY_IN_FLIGHT_H
#define WAL_HISTORY_IN_FLIGHT_H

#include "wal/history/history.h"

/* By task (malloc'ed): the StepStart that is open behind the first `records` records, or NULL. NULL: no memory. */
const TfyLogRecord **tfy__in_flight(const TfyHistory *history, uint32_t records);

/* Appends the InDoubt of such a step. key: NULL: the one it began with. An lsn, or a negative code. */
int64_t tfy__in_flight_doubt(TfyLog *log, TfyLogTask *task, const TfyLogRecord *start, const char *key,
                             const char *why);

#endif

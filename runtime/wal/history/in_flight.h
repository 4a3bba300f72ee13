/* in_flight.h: `once` steps that had started where a history ends, so that nobody knows whether they happened.
 *
 * While such a step waits for its tool, its StepStart is the newest record about its task. Any later record settles
 * it: even a kill, or the expiry of an enclosing time limit, cancels it when the run resumes. */
#ifndef WAL_HISTORY_IN_FLIGHT_H
#define WAL_HISTORY_IN_FLIGHT_H

#include "wal/history/history.h"

/* By task (malloc'ed): the StepStart that is open after the first `records` records, or NULL. NULL: out of memory. */
const TfyLogRecord **tfy__in_flight(const TfyHistory *history, uint32_t records);

/* Appends the InDoubt of such a step. key NULL: the one it started with. Returns its ticket, or a negative code. */
TfyTicket tfy__in_flight_doubt(TfyLog *log, TfyLogTask *task, const TfyLogRecord *start, const char *key,
                               const char *why);

#endif

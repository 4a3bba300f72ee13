/* doubt.h: whether a run waits for a person to say what happened to a step. Only the newest records of its tasks are
 * read, not its history. */
#ifndef WAL_KEEP_DOUBT_H
#define WAL_KEEP_DOUBT_H

#include "wal/log/log.h"

/* Whether a step of an unfinished run is in doubt, as inspect shows it. 0, or TFY_E_…. */
int tfy__run_in_doubt(TfyLog *log, const TfyLogRun *run, bool *doubt);

#endif

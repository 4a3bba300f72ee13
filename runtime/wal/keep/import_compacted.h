/* import_compacted.h: what is to be checked of a run that comes from outside without all of its records (compact.h). */
#ifndef WAL_KEEP_IMPORT_COMPACTED_H
#define WAL_KEEP_IMPORT_COMPACTED_H

#include "wal/keep/import.h"
#include "wal/history/history.h"

/* Does the run begin at a snapshot in its root's chain, whose tasks are there and stood then where it says? The
 * chains were checked before. */
int tfy__import_check_base(const TfyHistory *history, char *error_text);

/* Up to which step a task has lost records. */
typedef struct TfyLostSteps {
    const char *path; /* the history's */
    int64_t upto;     /* 0: it has lost none */
} TfyLostSteps;

/* Of all tasks, by path (malloc'ed). NULL: no memory. */
TfyLostSteps *tfy__import_lost(const TfyHistory *history);
/* Can the record of this step be among those that are missing? A task that is not there has lost all of its own. */
bool tfy__import_is_lost(const TfyHistory *history, const TfyLostSteps *lost, const char *path, int64_t step);

#endif

/* import_compacted.h: checks of a run that comes from outside without all of its records (compact.h). */
#ifndef WAL_KEEP_IMPORT_COMPACTED_H
#define WAL_KEEP_IMPORT_COMPACTED_H

#include "wal/keep/import.h"
#include "wal/history/history.h"

/* Whether the run starts at a snapshot in its root's chain whose tasks exist and were then at the places that it
 * states. The chains must have been checked before. */
int tfy__import_check_base(const TfyHistory *history, char *error_text);

/* The step up to which a task has lost records. */
typedef struct TfyLostSteps {
    const char *path; /* owned by the history */
    int64_t upto;     /* 0: it has lost none */
} TfyLostSteps;

/* For all tasks, by path (malloc'ed). NULL: out of memory. */
TfyLostSteps *tfy__import_lost(const TfyHistory *history);
/* Whether the record of this step may be among the missing ones. A missing task has lost all of its records. */
bool tfy__import_is_lost(const TfyHistory *history, const TfyLostSteps *lost, const char *path, int64_t step);

#endif

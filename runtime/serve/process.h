/* process.h: tfy in a process of its own: it is bounded in time, memory and output, and ends with this one. */
#ifndef SERVE_PROCESS_H
#define SERVE_PROCESS_H

#include <sys/types.h>

#include "base/buffer.h"

typedef struct TfyProcess {
    const char *const *words; /* "tfy" first; NULL ends them */
    int deadline_ms;
    /* Told its number when it has started, and -1 before the number is free for others. False: it ends at once. NULL:
     * nobody wants to know. */
    bool (*born)(void *arg, pid_t pid);
    void *arg;
    TfyBuffer out, err; /* what it printed, 16 MiB and 64 KiB at most; owned by the caller */
} TfyProcess;

typedef enum TfyProcessEnd {
    TFY_PROCESS_ENDED,
    TFY_PROCESS_LATE, /* it was killed at its deadline, or because `born` said so */
    TFY_PROCESS_NONE, /* it could not be started */
} TfyProcessEnd;

/* Runs it, and waits. *status: its exit status; -1: a signal ended it. */
TfyProcessEnd tfy__process_run(TfyProcess *process, int *status);
/* Whether it printed as much as is kept of it, or more. */
bool tfy__process_is_cut(const TfyProcess *process);
void tfy__process_free(TfyProcess *process); /* what it printed */

#endif

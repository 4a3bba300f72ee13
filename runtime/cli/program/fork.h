/* fork.h: tfy fork: what is asked for, found in the history, checked, and written as a new run. The same for a
 * process that runs and for the command alone: whoever holds the log does it. */
#ifndef CLI_PROGRAM_FORK_H
#define CLI_PROGRAM_FORK_H

#include <jansson.h>

#include "wal/history/history.h"

/* request: {"do":"fork","run":R,"task":P?,"step":N,"value":V?} (owner.h). Appends the fork and waits until it is
 * durable; run gets its uuid. 0, or TFY_E_… with a sentence. */
int tfy__fork_request(TfyLog *log, const TfyHistory *history, const json_t *request, char run[37], char *error_text);

#endif

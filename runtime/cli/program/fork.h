/* fork.h: tfy fork: finds the requested step in the history, checks it, and writes a new run. A live process and the
 * command alone share this code: the process that holds the log runs it. */
#ifndef CLI_PROGRAM_FORK_H
#define CLI_PROGRAM_FORK_H

#include <jansson.h>

#include "base/seldom.h"
#include "wal/history/fork.h"

/* request: {"do":"fork","run":R,"task":P?,"step":N,"value":V?} (owner.h), and of a server "by" and "via", which are
 * recorded. place: in a shared database (history/fork.h); else NULL. Appends the fork and waits until it is durable; run
 * gets its uuid, also if it is appended and the wait failed. Returns 0, or TFY_E_… with a sentence. */
int tfy__fork_request(TfyLog *log, const TfyHistory *history, const json_t *request, const TfyForkPlace *place,
                      char run[37], char *error_text) TFY_SELDOM;

#endif

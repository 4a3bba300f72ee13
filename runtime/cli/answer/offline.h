/* offline.h: a person's answer to a run that has no live process.
 *
 * The command appends the answer to the chain of the task it concerns, exactly as a live process would record it; the
 * next resume reads it there. The command first checks everything that it can check without the program: that the
 * task asks a question, or is in doubt, or has not ended, and that a result has the step's type. */
#ifndef CLI_ANSWER_OFFLINE_H
#define CLI_ANSWER_OFFLINE_H

#include <jansson.h>

/* Takes the writer lock, appends the request (its form is in owner.h), and syncs. Returns 0, or TFY_E_… with a
 * sentence in error_text; on 0 error_text is empty or reports what happened to an earlier signal with the same id.
 * run (37 bytes) gets the run's uuid; after a fork, the new run's. */
int tfy__offline_request(const char *db_path, const json_t *request, const char *by, char run[37], char *error_text);

#endif

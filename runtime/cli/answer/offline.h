/* offline.h: answers from people to a run whose process is not alive.
 *
 * The answer is appended to the chain of the task it concerns, exactly as a live process would have recorded it, and
 * waits there for the next resume. What can be known without the program is checked first: that the task asks, or is
 * in doubt, or has not ended, and that a result is of the step's type. */
#ifndef CLI_ANSWER_OFFLINE_H
#define CLI_ANSWER_OFFLINE_H

#include <jansson.h>

/* Takes the writer lock, appends what the request (of owner.h's form) says, and syncs. 0, or TFY_E_… with a sentence;
 * with 0 error_text is empty, or says what became of a signal that was sent before. run (37 bytes) gets the run's
 * uuid, after a fork that of the new one. */
int tfy__offline_request(const char *db_path, const json_t *request, const char *by, char run[37], char *error_text);

#endif

/* request.h: building a request to a run (owner.h has the forms) and sending it to the right place. */
#ifndef CLI_ANSWER_REQUEST_H
#define CLI_ANSWER_REQUEST_H

#include <jansson.h>

#include "cli/answer/delivery.h"
#include "cli/frame/cli.h"
#include "tfy.h"

/* Builds a request about the run, and the task, that a command names. Returns NULL after a message. */
json_t *tfy__request_new(const TfyArgs *args, const char *what);
/* Adds a text from the command line; NULL adds nothing. Returns false after a message: JSON cannot hold a text that
 * is not UTF-8. */
bool tfy__request_text(json_t *request, const char *name, const char *text);

/* Adds a value from the command line that is JSON; a NULL text adds nothing. Returns false after a message, which
 * starts with `what`. */
bool tfy__request_json(json_t *request, const char *name, const char *text, const char *what);

/* Sends a request to the run's live process if there is one, else appends it to the log. Commands like this one hold
 * the log for a moment, one at a time: each waits up to --timeout until the log is free or a process listens. To a run of a
 * database of PostgreSQL it is mail (cluster/mail.h). Returns a code of the runtime, TFY_E_HELD when neither happened. */
int tfy__request_send(const TfyArgs *args, const json_t *request, TfyDelivery *delivery);

#endif

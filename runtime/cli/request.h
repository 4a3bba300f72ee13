/* request.h: what people ask of a run (owner.h has the forms), and to whom it goes. */
#ifndef TFY_CLI_REQUEST_H
#define TFY_CLI_REQUEST_H

#include <jansson.h>

#include "cli/cli.h"
#include "tfy.h"

/* A request about the run, and the task, that a command names. NULL after a message. */
json_t *tfy__request_new(const TfyArgs *args, const char *what);
/* Adds a text that was typed; NULL adds nothing. False after a message: JSON has no place for what is not UTF-8. */
bool tfy__request_text(json_t *request, const char *name, const char *text);

/* To the run's live process where there is one (*live), else into its log. A code with a sentence; run as for tfy__owner_request. */
int tfy__request_send(const char *db_path, const json_t *request, bool *live, char run[37], char *error_text);

#endif

/* request.h: what people ask of a run (owner.h has the forms), and to whom it goes. */
#ifndef CLI_ANSWER_REQUEST_H
#define CLI_ANSWER_REQUEST_H

#include <jansson.h>

#include "cli/frame/cli.h"
#include "tfy.h"

/* A request about the run, and the task, that a command names. NULL after a message. */
json_t *tfy__request_new(const TfyArgs *args, const char *what);
/* Adds a text that was typed; NULL adds nothing. False after a message: JSON has no place for what is not UTF-8. */
bool tfy__request_text(json_t *request, const char *name, const char *text);

/* Adds a value that was typed as JSON; text NULL adds nothing. False after a message, which `what` begins. */
bool tfy__request_json(json_t *request, const char *name, const char *text, const char *what);

/* What became of a request. */
typedef struct TfyDelivery {
    bool live;                 /* a live process took it */
    char run[37];              /* the run's uuid; of a live process only that of a run it made */
    char text[TFY_ERROR_TEXT]; /* why not; of one that was delivered what became of an earlier one, or "" */
} TfyDelivery;

/* To the run's live process where there is one, else into its log. Commands like this one hold the log for a moment,
 * one after the other: each waits up to --timeout until the log is free or a process listens. A code of the runtime,
 * TFY_E_HELD when neither came about. */
int tfy__request_send(const TfyArgs *args, const json_t *request, TfyDelivery *delivery);

#endif

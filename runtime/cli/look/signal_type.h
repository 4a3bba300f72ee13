/* signal_type.h: whether a signal's value fits a wait for it. The program is not available, but its layout in the log
 * has the types. */
#ifndef CLI_LOOK_SIGNAL_TYPE_H
#define CLI_LOOK_SIGNAL_TYPE_H

#include <jansson.h>

#include "cli/look/db.h"

/* Whether the wait at this point cannot take the value; error_text says where. A type that the layout does not have (an
 * older compiler wrote it) takes any value. */
bool tfy__signal_misfit(const TfySourceMap *map, uint32_t point, const json_t *value, char *error_text);

/* A value must fit a task that waits for the name; if none does, any wait of the program. Returns 0, or TFY_E_DATA with
 * a sentence. A live process applies the same rule (core/task/signal.c). */
int tfy__signal_check(const TfyHistory *history, const char *name, const json_t *value, char *error_text);

#endif

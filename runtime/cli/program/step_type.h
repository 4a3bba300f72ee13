/* step_type.h: checks that a result given for a recorded step has the type that its place in the source returns. The
 * program is not available, but its layout in the log has the type. Without this check the mistake would appear only
 * at the resume, as a step that is in doubt again. */
#ifndef CLI_PROGRAM_STEP_TYPE_H
#define CLI_PROGRAM_STEP_TYPE_H

#include <jansson.h>

#include "wal/history/history.h"

/* index: a record of the step in the history. A NULL value means that none was given. Returns 0, or TFY_E_DATA with a
 * sentence. A type that the layout does not have (an older compiler wrote it) is accepted; the resume
 * checks again. */
int tfy__step_type_check(const TfyHistory *history, uint32_t index, const json_t *value, char *error_text);

#endif

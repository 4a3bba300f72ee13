/* step_type.h: whether a result that somebody gives for a recorded step is one that its place in the source can
 * return. The program is not at hand: its layout in the log knows the type. Without this the mistake would show only
 * when the run is resumed, as a step that is in doubt again. */
#ifndef CLI_PROGRAM_STEP_TYPE_H
#define CLI_PROGRAM_STEP_TYPE_H

#include <jansson.h>

#include "wal/history/history.h"

/* index: a record of the step in the history. value NULL: none was given. 0, or TFY_E_DATA with a sentence. What the
 * layout does not tell (an older compiler's) is accepted; the resume looks again. */
int tfy__step_type_check(const TfyHistory *history, uint32_t index, const json_t *value, char *error_text);

#endif
